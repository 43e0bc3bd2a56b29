r"""How did utilities change from season to season?

Story: every season has a few rankings. An item is about as good as in the season before, and the
model learns how much it changes. Two priors describe this: a random walk, and a smooth function of
time. The smooth function is a Gaussian process in PyMC's Hilbert space approximation, which is
cheap and interpolates.

    walk      utility[i, 0]   ~ Normal(0, 1)
              utility[i, t]   ~ Normal(utility[i, t - 1], step),          step ~ HalfNormal(0.5)
    smooth    utility[i, :]   ~ GP(0, eta^2 Matern52(length)),            eta ~ HalfNormal(1.5)
    ranking in season t       ~ PlackettLuce(utility[:, t])

The utility has the dims item and season, in the order that `pm.GaussianRandomWalk` requires. The
likelihood reads dims by name.

Use the walk if form changes from one season to the next, for example after transfers. Use the
smooth function if there are many seasons or if they are not equally spaced. `br.compare` compares
both by LOO.

Run ``python seasons.py`` for ten simulated seasons of five items.

Each row is a season of item ``a``. Both priors follow the true utility within about two standard
deviations (``sd``). The estimates of one season borrow from its neighbours.
"""

from typing import Literal

import numpy as np
import pandas as pd
import pymc as pm
import xarray as xr

import bayesrank as br


def simulate(
    n_seasons: int = 10, n_each: int = 20, *, seed: int = 1
) -> tuple[br.Rankings, xr.DataArray]:
    """Simulate rankings of five items in every season, and the utilities they come from."""
    rng = np.random.default_rng(seed)
    items, seasons = list("abcde"), np.arange(2001, 2001 + n_seasons)
    steps = rng.normal(size=(5, n_seasons)) * np.where(np.arange(n_seasons), 0.5, 1.0)
    utility = steps.cumsum(axis=1)
    noisy = utility.T[:, None] + rng.gumbel(size=(n_seasons, n_each, 5))
    ratings = pd.DataFrame(
        {
            "race": np.repeat(np.arange(n_seasons * n_each), 5),
            "season": np.repeat(seasons, n_each * 5),
            "item": np.tile(items, n_seasons * n_each),
            "rating": noisy.ravel(),
        }
    )
    rankings = br.Rankings.from_ratings(
        ratings, ranker="race", item="item", rating="rating", by="season"
    )
    truth = xr.DataArray(
        utility, dims=("item", "season"), coords={"item": items, "season": seasons}, name="utility"
    )
    return rankings, truth - truth.mean("item")


def build(rankings: br.Rankings, prior: Literal["walk", "smooth"] = "walk") -> pm.Model:
    """Build the model of rankings that are grouped by season."""
    with pm.Model(coords=rankings.coords) as model:
        if prior == "walk":
            step = pm.HalfNormal("step", 0.5)
            first = pm.Normal.dist(0, 1)
            utility = pm.GaussianRandomWalk(
                "utility", sigma=step, init_dist=first, dims=("item", "season")
            )
        else:
            year = rankings.coords["season"].astype(float)
            length = pm.InverseGamma("length", mu=4, sigma=2)
            eta = pm.HalfNormal("eta", 1.5)
            kernel = eta**2 * pm.gp.cov.Matern52(1, ls=length)
            gp = pm.gp.HSGP(m=[12], c=2.0, cov_func=kernel)
            basis, scale = gp.prior_linearized((year - year.mean())[:, None])
            model.add_coord("basis", range(12))
            weight = pm.Normal("weight", 0, 1, dims=("item", "basis"))
            utility = pm.Deterministic(
                "utility", (weight * scale) @ basis.T, dims=("item", "season")
            )
        br.PlackettLuce("y", utility, observed=rankings)
    return model


def centred(posterior: xr.DataTree) -> xr.DataArray:
    """Subtract the mean of each season from the draws, because rankings do not determine it."""
    utility = posterior["posterior"].dataset["utility"]
    return utility - utility.mean("item")


if __name__ == "__main__":
    rankings, truth = simulate()
    columns = {"truth": truth.sel(item="a")}
    for prior in ("walk", "smooth"):
        with build(rankings, prior):
            utility = centred(pm.sample(nuts={"target_accept": 0.9}, random_seed=1)).sel(item="a")
        columns[prior] = utility.mean(["chain", "draw"])
        columns[f"{prior}, sd"] = utility.std(["chain", "draw"])
    print(xr.Dataset(columns).drop_vars("item").to_dataframe().round(2).to_string())
