r"""Do groups of rankers differ, and how much do rankers of one group differ?

Story: items have a common utility. Regions deviate from it, and rankers deviate from their region.
The model learns the size of these deviations, so a region or ranker with little data stays close to
the level above.

    between, within     ~ HalfNormal(1)
    consensus[i]        ~ Normal(0, 1), summing to zero, as do the others over the items
    by_region[g, i]     = consensus[i] + Normal(0, between)
    utility[r, i]       = by_region[region[r], i] + Normal(0, within)
    ranking of ranker r ~ PlackettLuce(utility[r])

The utility has the dims ranker and item, so every ranking uses the utility of its ranker. If only
groups differ, omit the last level and use a utility with ``dims=("region", "item")``: the
likelihood finds the group of each ranking by the name of the dim.

A covariate of the rankers, such as their age, enters as ``pm.Data("age", rankings.align(age,
"ranker"), dims="ranker")``. Rankers are in order of first appearance, whereas ``groupby`` sorts
them. Without ``align``, rankers would get the ages of other rankers.

Run ``python groups.py`` for two simulated regions of ten rankers each.

Each row of the first table is a region and an item: a region has its own leader and its own
intervals. The second table has quantiles of the two spreads. Both were simulated as 1.0 and 0.5.
Here regions differ more than the rankers of one region.
"""

import numpy as np
import pandas as pd
import pymc as pm
import xarray as xr

import bayesrank as br


def simulate(
    n_rankers: int = 20, n_each: int = 5, *, seed: int = 1
) -> tuple[br.Rankings, xr.Dataset]:
    """Simulate rankings of six items by rankers of two regions, and the true parameters."""
    rng = np.random.default_rng(seed)
    items, regions = list("abcdef"), ["north", "south"]
    region = np.arange(n_rankers) % 2
    consensus = rng.normal(size=6)
    by_region = consensus + rng.normal(size=(2, 6))
    utility = by_region[region] + 0.5 * rng.normal(size=(n_rankers, 6))
    names = [f"ranker {r}" for r in range(n_rankers)]
    noisy = utility[:, None] + rng.gumbel(size=(n_rankers, n_each, 6))
    ratings = pd.DataFrame(
        {
            "ranker": np.repeat(names, n_each * 6),
            "region": np.repeat(np.array(regions)[region], n_each * 6),
            "session": np.tile(np.repeat(np.arange(n_each), 6), n_rankers),
            "item": np.tile(items, n_rankers * n_each),
            "rating": noisy.ravel(),
        }
    )
    rankings = br.Rankings.from_ratings(
        ratings, ranker="ranker", item="item", rating="rating", ranking="session", by="region"
    )
    truth = xr.Dataset(
        {
            "region_utility": (("region", "item"), by_region),
            "utility": (("ranker", "item"), utility),
        },
        coords={"item": items, "region": regions, "ranker": names},
    )
    return rankings, truth - truth.mean("item")


def build(rankings: br.Rankings) -> pm.Model:
    """Build the model of rankings that are grouped by region."""
    region_of = np.zeros(len(rankings.rankers), dtype=int)
    region_of[rankings.ranker_idx] = rankings.groups["region"].idx
    with pm.Model(coords=rankings.coords) as model:
        between, within = pm.HalfNormal("between", 1), pm.HalfNormal("within", 1)
        consensus = pm.ZeroSumNormal("consensus", 1, dims="item")
        region_effect = pm.ZeroSumNormal("region_effect", 1, dims=("region", "item"))
        ranker_effect = pm.ZeroSumNormal("ranker_effect", 1, dims=("ranker", "item"))
        by_region = pm.Deterministic(
            "region_utility", consensus + between * region_effect, dims=("region", "item")
        )
        utility = pm.Deterministic(
            "utility", by_region[region_of] + within * ranker_effect, dims=("ranker", "item")
        )
        br.PlackettLuce("y", utility, observed=rankings)
    return model


if __name__ == "__main__":
    rankings, truth = simulate()
    with build(rankings):
        posterior = pm.sample(nuts={"target_accept": 0.9}, random_seed=1)
    print(br.rank_summary(posterior, "region_utility").round(2).to_string())
    draws = posterior["posterior"].dataset
    print(draws[["between", "within"]].quantile([0.05, 0.5, 0.95]).to_dataframe().round(2))
