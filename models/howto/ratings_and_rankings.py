r"""How do I combine ratings and rankings of the same judges?

Story: judges rate items on a scale of five grades, and later rank some of the items. Both come
from the same utilities. Each likelihood is one observed variable of the model.

    utility[i]            ~ Normal(0, 1), summing to zero
    grade of judge j      ~ OrderedLogistic(sharpness utility[i] + severity[j], cutpoints)
    ranking of judge j    ~ PlackettLuce(utility)

A severe judge has a negative `severity` and gives low grades to all items. This does not matter in
rankings, so `severity` is a parameter of the grades only. `sharpness` says how strongly grades
follow the utilities, compared with rankings.

Check whether both sources agree before you combine them: fit each alone, and compare the ranks.

Run ``python ratings_and_rankings.py`` for ten simulated judges of eight items.

The intervals use both sources. Compare ``mean`` with the column ``truth``: the estimates are
centred, as the true utilities are.
"""

import numpy as np
import pandas as pd
import pymc as pm
import xarray as xr

import bayesrank as br

GRADES = 5


def simulate(n_judges: int = 10, *, seed: int = 1) -> tuple[pd.DataFrame, br.Rankings, xr.Dataset]:
    """Simulate a table of grades, the rankings of five items per judge, and the true parameters."""
    rng = np.random.default_rng(seed)
    items, judges = list("abcdefgh"), [f"judge {j}" for j in range(n_judges)]
    utility, severity = np.linspace(1.5, -1.5, 8), 0.8 * rng.normal(size=n_judges)
    latent = 1.5 * utility + severity[:, None] + rng.logistic(size=(n_judges, 8))
    grades = pd.DataFrame(
        {
            "judge": np.repeat(judges, 8),
            "item": np.tile(items, n_judges),
            "grade": np.digitize(latent, [-3.0, -1.0, 1.0, 3.0]).ravel(),
        }
    )
    shown = [rng.permutation(8)[:5] for _ in judges]
    orderings = [
        [items[i] for i in some[np.argsort(-(utility[some] + rng.gumbel(size=5)))]]
        for some in shown
    ]
    rankings = br.Rankings.from_orderings(orderings, rankers=judges, items=items)
    truth = xr.Dataset(
        {"utility": ("item", utility), "severity": ("ranker", severity), "sharpness": 1.5},
        coords={"item": items, "ranker": judges},
    )
    return grades, rankings, truth


def build(grades: pd.DataFrame, rankings: br.Rankings) -> pm.Model:
    """Build the model of grades 0 to 4 and of rankings, which share the utilities."""
    item = rankings.items.get_indexer(pd.Index(grades["item"]))
    judge = rankings.rankers.get_indexer(pd.Index(grades["judge"]))
    with pm.Model(coords=rankings.coords) as model:
        utility = pm.ZeroSumNormal("utility", 1, dims="item")
        severity = pm.Normal("severity", 0, 1, dims="ranker")
        sharpness = pm.LogNormal("sharpness", 0, 0.5)
        # the lowest cutpoint and the positive steps between them keep the cutpoints in order
        low, step = pm.Normal("low", -3, 1), pm.HalfNormal("step", 2, shape=GRADES - 2)
        cutpoints = pm.math.concatenate([low[None], low + pm.math.cumsum(step)])
        pm.OrderedLogistic(
            "grade",
            eta=sharpness * utility[item] + severity[judge],
            cutpoints=cutpoints,
            observed=grades["grade"],
            compute_p=False,
        )
        br.PlackettLuce("y", utility, observed=rankings)
    return model


if __name__ == "__main__":
    grades, rankings, truth = simulate()
    with build(grades, rankings):
        posterior = pm.sample(random_seed=1)
    summary = br.rank_summary(posterior)
    print(summary.assign(truth=truth["utility"].to_series()).round(2).to_string())
