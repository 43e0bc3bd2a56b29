r"""How did strengths change from day to day?

Story: matches take place on days that are not equally spaced. A strength is a smooth function of
time: one Gaussian process per item, in PyMC's Hilbert space approximation. The approximation is a
sum of `m` waves, whose number does not depend on the number of days. It supports sums of
covariance functions with a `power_spectral_density`. For periods, use `pm.gp.HSGPPeriodic`.

    weight[i, k]   ~ Normal(0, 1)
    utility[t, i]  = sum_k wave[k](t) sqrt(spectrum[k]) weight[i, k]
    eta, length    ~ HalfNormal(1.5), InverseGamma(mean 1, sd 0.5), in years
    first wins     ~ BradleyTerry(utility[day, first] - utility[day, second])

`br.fit_dynamic` uses Matérn processes without this approximation, only at the days on which an item
plays. It optimises two hyperparameters instead of sampling them, so thousands of matches take
seconds. Use `pm.gp.HSGP` for other processes, or as part of a larger model.

Choose enough waves for the shortest plausible length. ``approx_hsgp_hyperparams`` in
`pm.gp.hsgp_approx` computes their number and the factor `c` by which they must extend beyond the
data.

Run ``python days.py`` for three simulated years of four items.

Each row is a day of item ``a``: the true utility, and mean and standard deviation by both methods.
They agree where there are many matches.
"""

import numpy as np
import pandas as pd
import pymc as pm
import xarray as xr

import bayesrank as br

WAVES, BEYOND = 20, 1.5  # m and c: good for lengths from 0.3 of the years to 3


def simulate(n_days: int = 60, n_each: int = 8, *, seed: int = 1) -> tuple[br.Pairs, xr.DataArray]:
    """Simulate matches of four items on days of three years, and the utilities behind them."""
    rng = np.random.default_rng(seed)
    start, items = pd.Timestamp("2021-01-01"), list("abcd")
    days = start + pd.to_timedelta(np.sort(rng.choice(3 * 365, n_days, replace=False)), "D")
    years = ((days - start) / pd.Timedelta("365.25D")).to_numpy()
    phase = np.arange(4) * np.pi / 2
    utility = 1.5 * np.sin(2 * np.pi * years[:, None] / 3 + phase)
    day = np.repeat(np.arange(n_days), n_each)
    first = rng.integers(4, size=day.size)
    second = (first + rng.integers(1, 4, size=day.size)) % 4
    lead = utility[day, first] - utility[day, second]
    won = np.where(rng.random(day.size) < 1 / (1 + np.exp(-lead)), "first", "second")
    names, dates = np.array(items), days.strftime("%Y-%m-%d")
    table = pd.DataFrame(
        {"x": names[first], "y": names[second], "won": won, "day": np.array(dates)[day]}
    )
    pairs = br.Pairs.from_frame(table, first="x", second="y", outcome="won", by="day", items=items)
    coords = {"day": list(dates), "item": items}
    return pairs, xr.DataArray(utility, dims=("day", "item"), coords=coords, name="utility")


def build(pairs: br.Pairs) -> pm.Model:
    """Build the model of matches that are grouped by day."""
    with pm.Model(coords={**pairs.coords, "wave": range(WAVES)}) as model:
        day = pd.to_datetime(pairs.coords["day"])
        year = ((day - day.min()) / pd.Timedelta("365.25D")).to_numpy()
        eta = pm.HalfNormal("eta", 1.5)
        length = pm.InverseGamma("length", mu=1, sigma=0.5)
        kernel = eta**2 * pm.gp.cov.Matern52(1, ls=length)
        gp = pm.gp.HSGP(m=[WAVES], c=BEYOND, cov_func=kernel)
        waves, scale = gp.prior_linearized(year[:, None])
        weight = pm.Normal("weight", 0, 1, dims=("item", "wave"))
        utility = pm.Deterministic("utility", waves @ (weight * scale).T, dims=("day", "item"))
        br.BradleyTerry("y", utility, observed=pairs)
    return model


def by_history(pairs: br.Pairs) -> xr.DataArray:
    """Draw the same utilities by `br.fit_dynamic`, after subtracting the mean of the items."""
    fit = br.fit_dynamic(pairs, time="day", dynamics="matern52", order_effect=False, random_seed=1)
    return fit.draws(at=list(pairs.coords["day"]), random_seed=1)["posterior"].to_dataset()[
        "utility"
    ]


if __name__ == "__main__":
    pairs, truth = simulate()
    with build(pairs):
        smooth = pm.sample(random_seed=1)["posterior"]["utility"]
    smooth = (smooth - smooth.mean("item")).assign_coords(day=truth["day"])
    states = by_history(pairs).assign_coords(day=truth["day"])
    columns = {"truth": truth - truth.mean("item")}
    for name, draws in {"HSGP": smooth, "history": states}.items():
        columns |= {
            name: draws.mean(["chain", "draw"]),
            f"{name}, sd": draws.std(["chain", "draw"]),
        }
    some = xr.Dataset(columns).sel(item="a", day=truth["day"][::6]).drop_vars("item")
    print(some.to_dataframe().round(2).to_string())
