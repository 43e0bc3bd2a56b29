r"""Do rankers want one of a few different things, and which of them does each want?

Story: there are two kinds of rankers, and nobody knows who is of which. All rankings of a ranker
are of the ranker's kind.

    weight              ~ Dirichlet(2, 2)
    utility[k, i]       ~ Normal(0, 1.5), summing to zero over the items
    kind[r]             ~ Categorical(weight)
    ranking of ranker r ~ PlackettLuce(utility[kind[r]])

The kinds are summed out, so that the likelihood has one term per ranker and its posterior two
modes, the kinds one way round or the other, beside poorer ones: `br.find_kinds` looks for the best
from many starts, where sampling begins, and `br.relabel` gives the kinds of all draws the order of
that mode. How many kinds there are is asked by `br.compare` of models with more of them or fewer.

Run ``python -m models.howto.kinds``: forty made-up rankers, twelve of the smaller kind.
"""

import numpy as np
import pymc as pm
import xarray as xr

import bayesrank as br


def simulate(
    n_rankers: int = 40, n_each: int = 3, *, seed: int = 1
) -> tuple[br.Rankings, xr.Dataset]:
    """Make up rankings of five items by rankers of two kinds, and what they come from."""
    rng = np.random.default_rng(seed)
    items = list("abcde")
    utility = np.array([[2.0, 1.0, 0.0, -1.0, -2.0], [-1.0, -2.0, 0.5, 2.0, 0.5]])
    kind = (rng.permutation(n_rankers) < 0.3 * n_rankers).astype(int)
    names = [f"ranker {r}" for r in range(n_rankers)]
    noisy = np.repeat(utility[kind], n_each, axis=0) + rng.gumbel(size=(n_rankers * n_each, 5))
    orderings = [[items[i] for i in row] for row in np.argsort(-noisy, axis=1)]
    rankings = br.Rankings.from_orderings(orderings, rankers=np.repeat(names, n_each), items=items)
    truth = xr.Dataset(
        {"utility": (("kind", "item"), utility), "kind_of": (("ranker",), kind)},
        coords={"item": items, "ranker": names},
    )
    return rankings, truth


def build(rankings: br.Rankings, n_kinds: int = 2) -> pm.Model:
    """Build the mixture."""
    with pm.Model(coords={**rankings.coords, "kind": range(n_kinds)}) as model:
        weight = pm.Dirichlet("weight", np.full(n_kinds, 2.0), dims="kind")
        utility = pm.ZeroSumNormal("utility", 1.5, dims=("kind", "item"))
        kinds = br.PlackettLuce.dist(utility)
        br.Mixture("y", weight, kinds, unit="ranker", observed=rankings)
    return model


def matched(found: xr.DataArray, truth: xr.DataArray) -> list[int]:
    """Say which kind that was found is which of the true ones: the order of kinds means nothing."""
    straight = ((found - truth) ** 2).sum()
    turned = ((found.isel(kind=[1, 0]).to_numpy() - truth) ** 2).sum()
    return [0, 1] if straight < turned else [1, 0]


if __name__ == "__main__":
    rankings, truth = simulate()
    model = build(rankings)
    mode = br.find_kinds(model)
    with model:
        posterior = pm.sample(initvals=mode.initvals, random_seed=1)
    posterior = br.relabel(posterior, mode.mode)
    print(br.rank_summary(posterior).round(2).to_string())
    chances = br.membership(model, posterior)
    table = chances.to_pandas().round(2)
    print(table.assign(truth=truth["kind_of"].to_numpy()).head(10).to_string())
