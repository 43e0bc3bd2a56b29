r"""What will be ranked first in a new set, with new items, by a new ranker?

Story: a utility is a function of features, plus an effect of the item and a taste of the ranker.

    utility[r, i]   = sum_f features[i, f] coefficient[f] + effect_scale effect[i] + taste[r, i]
    effect[i]       ~ Normal(0, 1)
    taste[r, i]     ~ Normal(0, taste_scale)

Every item and ranker that you will ask about needs a label on the axes of the model.
`Rankings.reindex` adds items and rankers without rankings. In the posterior, their effects and
tastes follow the prior, with the scales learned from the others. Then predict in four steps:

1. Write down the sets as full rankings in any order: `Rankings.from_orderings`.
2. Put them into the model with `br.set_observed`. It checks the labels and compiles nothing.
3. Draw with ``pm.sample_posterior_predictive(posterior, predictions=True)``.
4. Read the draws by item: ``br.predicted_ranks(drawn, group="predictions")``.

For items that the first model does not include, build a second model on the new data, with the same
names of variables. ``sample_vars=`` draws the variables by item or ranker again, and takes the
others from the posterior. The function `strangers` does this.

Run ``python new_data.py`` to predict the winner among two known items and a new one.

Each row is a new set of items, and each number is the probability that the item is ranked first.
``new`` and ``newer`` were never ranked: their numbers follow from their features alone.
"""

import numpy as np
import pandas as pd
import pymc as pm
import xarray as xr

import bayesrank as br

FEATURES = ["price", "year"]
COEFFICIENT = np.array([1.5, -1.0])


def simulate(
    n_items: int = 12, n_rankers: int = 10, n_each: int = 6, *, seed: int = 1
) -> tuple[br.Rankings, pd.DataFrame]:
    """Simulate rankings of five items at a time, and features of these and two more items."""
    rng = np.random.default_rng(seed)
    items = pd.Index([*(f"item {i:02}" for i in range(n_items)), "new", "newer"], name="item")
    features = pd.DataFrame(rng.normal(size=(n_items + 2, 2)), items, FEATURES)
    features.loc["new"] = [1.5, -1.0]  # a good one
    utility = features.to_numpy() @ COEFFICIENT + 0.3 * rng.normal(size=n_items + 2)
    taste = 0.5 * rng.normal(size=(n_rankers, n_items + 2))
    orderings, rankers = [], []
    for r in np.repeat(np.arange(n_rankers), n_each):
        some = rng.choice(n_items, 5, replace=False)
        noisy = (utility + taste[r])[some] + rng.gumbel(size=5)
        orderings.append(items[some[np.argsort(-noisy)]])
        rankers.append(f"ranker {r}")
    return br.Rankings.from_orderings(orderings, rankers=rankers), features


def with_strangers(
    rankings: br.Rankings, features: pd.DataFrame, rankers: tuple[str, ...] = ("stranger",)
) -> br.Rankings:
    """Add all items with features, and rankers without rankings, to the axes."""
    return rankings.reindex({"item": features.index, "ranker": [*rankings.rankers, *rankers]})


def build(rankings: br.Rankings, features: pd.DataFrame) -> pm.Model:
    """Build the model of all items and rankers that are on the axes of the rankings."""
    coords = rankings.coords | {"feature": FEATURES}
    with pm.Model(coords=coords) as model:
        x = pm.Data("features", rankings.align(features, "item"), dims=("item", "feature"))
        coefficient = pm.Normal("coefficient", 0, 1, dims="feature")
        effect_scale = pm.HalfNormal("effect_scale", 0.5)
        taste_scale = pm.HalfNormal("taste_scale", 0.5)
        effect = pm.Normal("effect", 0, 1, dims="item")
        taste = pm.Normal("taste", 0, 1, dims=("ranker", "item"))
        utility = x @ coefficient + effect_scale * effect + taste_scale * taste
        utility = pm.Deterministic("utility", utility, dims=("ranker", "item"))
        br.PlackettLuce("y", utility, observed=rankings)
    return model


def predict(model: pm.Model, posterior: xr.DataTree, new: br.Rankings) -> xr.DataArray:
    """Draw rankings of new sets by the named rankers: ranks by item, NaN for absent items."""
    with model:
        br.set_observed("y", new)
        drawn = pm.sample_posterior_predictive(
            posterior, predictions=True, random_seed=1, progressbar=False
        )
    return br.predicted_ranks(drawn, group="predictions")


def strangers(posterior: xr.DataTree, new: br.Rankings, features: pd.DataFrame) -> xr.DataArray:
    """Draw rankings by a second model, of items and rankers that the first one does not include."""
    with build(new, features):
        drawn = pm.sample_posterior_predictive(
            posterior,
            sample_vars=["effect", "taste", "y"],
            predictions=True,
            random_seed=1,
            progressbar=False,
        )
    return br.predicted_ranks(drawn, group="predictions")


if __name__ == "__main__":
    rankings, features = simulate()
    rankings = with_strangers(rankings, features)
    model = build(rankings, features)
    with model:
        posterior = pm.sample(nuts={"target_accept": 0.9}, random_seed=1)
    new = br.Rankings.from_orderings(
        [["new", "item 00", "item 01"], ["new", "newer"], ["item 00", "item 01", "item 02"]],
        rankers=["ranker 0", "stranger", "stranger"],
        rest=(),
    )
    ranks = predict(model, posterior, new)
    first = (ranks == 1).where(ranks > 0).mean(["chain", "draw"])
    print(first.dropna("item", how="all").to_pandas().round(2).to_string(na_rep=""))
