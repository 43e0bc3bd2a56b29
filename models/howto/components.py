r"""Are there unknown groups of rankers, and who belongs to which?

Story: rankers come from two components, and nobody knows which ranker belongs to which. All
rankings of a ranker come from the same component.

    weight              ~ Dirichlet(2, 2)
    utility[k, i]       ~ Normal(0, 1.5), summing to zero over the items
    component[r]        ~ Categorical(weight)
    ranking of ranker r ~ PlackettLuce(utility[component[r]])

The model marginalises the components, so the likelihood has one term per ranker. Its posterior has
two equivalent modes, because the components can be swapped, and some poorer modes. `br.fit_mixture`
searches for the best mode from many starts, and sampling starts there. `br.relabel_components`
gives the components the order of that mode in all draws. To choose the number of components,
compare models with `br.compare`.

Run ``python components.py`` for forty simulated rankers. Twelve of them belong to the smaller
component.

The first table has one block of rows for each component, with separate ranks. The second one shows
the first ten rankers: the probability of each component, and the component that was simulated.
"""

import numpy as np
import pymc as pm
import xarray as xr

import bayesrank as br


def simulate(
    n_rankers: int = 40, n_each: int = 3, *, seed: int = 1
) -> tuple[br.Rankings, xr.Dataset]:
    """Simulate rankings of five items by rankers of two components, and the true parameters."""
    rng = np.random.default_rng(seed)
    items = list("abcde")
    utility = np.array([[2.0, 1.0, 0.0, -1.0, -2.0], [-1.0, -2.0, 0.5, 2.0, 0.5]])
    component = (rng.permutation(n_rankers) < 0.3 * n_rankers).astype(int)
    names = [f"ranker {r}" for r in range(n_rankers)]
    noisy = np.repeat(utility[component], n_each, axis=0) + rng.gumbel(size=(n_rankers * n_each, 5))
    orderings = [[items[i] for i in row] for row in np.argsort(-noisy, axis=1)]
    rankings = br.Rankings.from_orderings(orderings, rankers=np.repeat(names, n_each), items=items)
    truth = xr.Dataset(
        {"utility": (("component", "item"), utility), "component_of": (("ranker",), component)},
        coords={"item": items, "ranker": names},
    )
    return rankings, truth


def build(rankings: br.Rankings, n_components: int = 2) -> pm.Model:
    """Build the mixture."""
    with pm.Model(coords={**rankings.coords, "component": range(n_components)}) as model:
        weight = pm.Dirichlet("weight", np.full(n_components, 2.0), dims="component")
        utility = pm.ZeroSumNormal("utility", 1.5, dims=("component", "item"))
        components = br.PlackettLuce.dist(utility)
        br.Mixture("y", weight, components, unit="ranker", observed=rankings)
    return model


def matched(found: xr.DataArray, truth: xr.DataArray) -> list[int]:
    """Match components with the true ones, because their order has no meaning."""
    straight = ((found - truth) ** 2).sum()
    turned = ((found.isel(component=[1, 0]).to_numpy() - truth) ** 2).sum()
    return [0, 1] if straight < turned else [1, 0]


if __name__ == "__main__":
    rankings, truth = simulate()
    model = build(rankings)
    mode = br.fit_mixture(random_seed=1, model=model)
    with model:
        posterior = pm.sample(initvals=mode.initvals, random_seed=1)
    posterior = br.relabel_components(posterior, mode.mode)
    print(br.rank_summary(posterior).round(2).to_string())
    chances = br.component_probabilities(posterior, model=model)
    table = chances.to_pandas().round(2)
    print(table.assign(truth=truth["component_of"].to_numpy()).head(10).to_string())
