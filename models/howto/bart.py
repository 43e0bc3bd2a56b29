r"""How do I learn a utility of any shape from features of the items?

Story: the utility of an item is an unknown function of its features, with thresholds and
interactions. Bayesian additive regression trees (BART) learn it without a formula.

    f               ~ BART(features)
    utility[i]      = f(features[i])
    ranking         ~ PlackettLuce(utility)

`pymc-bart` provides the trees (``pip install pymc-bart``, which is not a dependency of bayesrank).
It samples the trees with a separate step method and the other parameters with NUTS. To predict
for new items, make the features ``pm.Data`` and replace them, as its documentation shows.

Use a linear utility if it is plausible: it needs fewer data and extrapolates. See
``models/howto/horseshoe.py``.

Run ``python bart.py`` for 300 simulated rankings of sixty items with three features.

The posterior means follow the truth, although no formula for the utility was given. Shrinkage
pulls extreme items towards the middle.
"""

import numpy as np
import pymc as pm
import xarray as xr

import bayesrank as br


def simulate(n_rankings: int = 300, *, seed: int = 1) -> tuple[br.Rankings, xr.Dataset]:
    """Simulate rankings of 8 of 60 items, the features of the items, and their true utilities."""
    rng = np.random.default_rng(seed)
    items = [f"item {i}" for i in range(60)]
    features = rng.uniform(size=(60, 3))
    x, z = features[:, 0], features[:, 1]
    utility = 3 * (x > 0.5) * z + np.sin(2 * np.pi * z)  # the third feature does not matter
    shown = np.array([rng.permutation(60)[:8] for _ in range(n_rankings)])
    noisy = utility[shown] + rng.gumbel(size=shown.shape)
    order = np.take_along_axis(shown, np.argsort(-noisy, axis=1), axis=1)
    rankings = br.Rankings.from_orderings([[items[i] for i in row] for row in order], items=items)
    truth = xr.Dataset(
        {
            "utility": ("item", utility - utility.mean()),
            "features": (("item", "feature"), features),
        },
        coords={"item": items, "feature": ["x", "z", "other"]},
    )
    return rankings, truth


def build(rankings: br.Rankings, features: xr.DataArray) -> pm.Model:
    """Build the model of rankings of items with features."""
    import pymc_bart as pmb

    table = features.sel(item=rankings.items).to_numpy()
    with pm.Model(coords=rankings.coords) as model:
        # trees start at the mean of the second argument and have its scale
        start = np.linspace(-1, 1, len(table))
        utility = pmb.BART("utility", table, start, m=30, dims="item")
        br.PlackettLuce("y", utility, observed=rankings)
    return model


if __name__ == "__main__":
    rankings, truth = simulate()
    with build(rankings, truth["features"]):
        posterior = pm.sample(tune=300, draws=300, chains=2, cores=1, random_seed=1)
    mean = posterior["posterior"]["utility"].mean(["chain", "draw"])
    table = xr.Dataset({"truth": truth["utility"], "posterior mean": mean - mean.mean()})
    print(table.to_dataframe().round(2).to_string())
    print("correlation", round(float(xr.corr(truth["utility"], mean)), 3))
