r"""How do I analyse a ranked conjoint survey, and can I trust its intervals?

Story: each of 30 people ranks the four offers of six tasks, best first. An offer has a brand (A, B
or C) and a price. People differ in how much they like brands B and C compared with A, and in how
much a higher price displeases them. A higher price pleases nobody.

    mean[k]           ~ Normal(0, 1)              for brand[B] and brand[C]
    spread            ~ HalfNormal(0.7)
    part_worth[r, k]  ~ Normal(mean[k], spread)
    log_price         ~ Normal(0, 0.5)
    part_worth[r, price] = -exp(log_price + 0.3 Normal(0, 1))
    u[t, s]           = sum_k x[t, s, k] part_worth[r(t), k]
    ranking of t      ~ PlackettLuce(u[t])

`coverage` draws the truth from the prior, simulates a survey and counts the intervals that contain
the truth. It checks the intervals of

- the part-worths of the population and of each person,
- the shares of preference of three new offers, and their change at a lower price,
- the importance of the attributes,
- the willingness to pay of the median person.

If the functions and the sampler are right, intervals of probability 0.9 contain the truth in 90% of
all surveys.

Run ``python conjoint.py`` for 30 surveys. The table gives the number of values, and the shares of
true values inside, below and above their intervals.

Intervals have probability 0.9. ``inside`` should be close to it, and ``below`` and ``above`` close
to 0.05 each. The standard error with 40 values is 0.05.
"""

import sys

import numpy as np
import nutpie
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
import xarray as xr

import bayesrank as br

PEOPLE, TASKS, SHOWN = 30, 6, 4
FEATURES = ["brand[B]", "brand[C]", "price"]
OFFERS = pd.DataFrame([[0, 0, 1.0], [1, 0, 1.5], [0, 1, 2.0]], list("abc"), FEATURES)
SETS = {"now": OFFERS, "cheaper": OFFERS.assign(price=[1.0, 1.0, 2.0])}


def design(rng: np.random.Generator) -> np.ndarray:
    """Draw the features of all offers, (task, slot, feature)."""
    brand = rng.integers(0, 3, (PEOPLE * TASKS, SHOWN))
    price = rng.choice([0.5, 1.0, 1.5, 2.0], brand.shape)
    return np.stack([brand == 1, brand == 2, price], axis=-1).astype(float)


def build(offers: np.ndarray) -> pm.Model:
    """Build the model of offers whose slots are sorted, best first."""
    coords = {"feature": FEATURES, "level": FEATURES[:2], "ranker": range(PEOPLE)}
    with pm.Model(coords=coords) as model:
        x = pm.Data("offers", offers)
        mean = pm.Normal("mean", 0, 1, dims="level")
        spread = pm.HalfNormal("spread", 0.7)
        brands = mean + spread * pm.Normal("brand_z", 0, 1, dims=("ranker", "level"))
        log_price = pm.Normal("log_price", 0, 0.5)
        price = -pt.exp(log_price + 0.3 * pm.Normal("price_z", 0, 1, dims="ranker"))
        part_worth = pm.Deterministic(
            "part_worth",
            pt.concatenate([brands, price[:, None]], axis=1),
            dims=("ranker", "feature"),
        )
        utility = (x * pt.repeat(part_worth, TASKS, axis=0)[:, None, :]).sum(axis=-1)
        br.PlackettLuce("y", utility, observed=np.tile(range(1, SHOWN + 1), (len(offers), 1)))
    return model


def answer(offers: np.ndarray, part_worth: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Sort the offers of each task by utility and Gumbel noise, best first."""
    utility = np.einsum("tsk,tk->ts", offers, np.repeat(part_worth, TASKS, axis=0))
    order = np.argsort(-(utility + rng.gumbel(size=utility.shape)), axis=1)
    return np.take_along_axis(offers, order[..., None], axis=1)


def quantities(posterior: xr.Dataset) -> dict[str, xr.DataArray]:
    """Compute everything whose intervals are checked, with chains and draws."""
    shares = br.share_of_preference(posterior, "part_worth", sets=SETS)
    part_worth = posterior["part_worth"]
    ratio = -part_worth.isel(feature=[0, 1]) / part_worth.isel(feature=2)
    return {
        "mean part-worth": posterior["mean"],
        "part-worth of a person": part_worth,
        "share": shares.sel(set="now"),
        "change of share": shares.sel(set="cheaper") - shares.sel(set="now"),
        "importance": br.attribute_importance(posterior, profiles=OFFERS),
        "willingness to pay": ratio.median("ranker"),
    }


def coverage(n_surveys: int = 30, *, ci_prob: float = 0.9, seed: int = 1) -> pd.DataFrame:
    """Count the intervals of simulated surveys that contain the truth.

    Parameters
    ----------
    n_surveys : int
        Number of surveys; the model is compiled once.
    ci_prob : float
        Probability of the intervals, with equal tails.
    seed : int
        Seed of truths, surveys and draws.

    Returns
    -------
    DataFrame
        One row per quantity: number of values, shares inside, below and above the interval.
    """
    rng = np.random.default_rng(seed)
    offers = design(rng)
    model = build(offers)
    truths = pm.sample_prior_predictive(n_surveys, model=model, random_seed=seed)["prior"].dataset
    compiled = nutpie.compile_pymc_model(model)
    counts: dict[str, list[np.ndarray]] = {}
    for k in range(n_surveys):
        truth = truths.isel(draw=[k])
        ranked = answer(offers, truth["part_worth"].values[0, 0], rng)
        draws = nutpie.sample(
            compiled.with_data(offers=ranked),
            draws=400, tune=400, chains=2, cores=1, seed=seed + k, progress_bar=False,
        )["posterior"].dataset  # fmt: skip
        tail = (1 - ci_prob) / 2
        for (name, found), true in zip(
            quantities(draws).items(), quantities(truth).values(), strict=True
        ):
            low, high = found.quantile([tail, 1 - tail], ("chain", "draw")).transpose(
                "quantile", ...
            )
            value = true.isel(chain=0, draw=0, drop=True).transpose(*low.dims).values
            counts.setdefault(name, []).append(
                np.stack([value < low.values, value > high.values]).reshape(2, -1)
            )
    rows = {}
    for name, several in counts.items():
        below, above = np.concatenate(several, axis=1)
        inside = 1 - below.mean() - above.mean()
        rows[name] = {"values": len(below), "inside": inside, "truth below": below.mean()}
        rows[name]["truth above"] = above.mean()
    return pd.DataFrame(rows).T.astype({"values": int})


if __name__ == "__main__":
    print(coverage(int(sys.argv[1]) if sys.argv[1:] else 30).round(3).to_string())
