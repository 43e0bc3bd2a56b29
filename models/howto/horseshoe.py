r"""Which of many features of the items matter?

Story: the utility of an item is a linear function of its features, and most features have no
effect. The regularised horseshoe prior shrinks small effects towards zero and leaves large effects
alone.

    shrinkage        ~ HalfCauchy(m0 / (n_features - m0) / sqrt(n_rankings)), m0 guessed as relevant
    local[f]         ~ HalfCauchy(1)
    slab^2           ~ InverseGamma(2, 2)
    width[f]         = slab shrinkage local[f] / sqrt(slab^2 + shrinkage^2 local[f]^2)
    coefficient[f]   ~ Normal(0, width[f])
    utility[i]       = sum_f features[i, f] coefficient[f]

Standardise the features, so that widths have the same meaning for all of them. To separate
correlated features you need many items per feature, not only many rankings. Add an effect per item
(see ``models/plackett_luce``) if features leave much unexplained.

Run ``python horseshoe.py`` to see an example: of 20 simulated features, three matter.

Each row is a feature, with quantiles of its coefficient and the simulated truth. The three
features that matter have intervals away from zero. All others are close to zero, although nobody
named them.

References
----------
Piironen and Vehtari, Sparsity information and regularization in the horseshoe and other shrinkage
priors, Electronic Journal of Statistics 11, 2017.
"""

import numpy as np
import pandas as pd
import pymc as pm

import bayesrank as br

EFFECTS = {"x0": 1.2, "x1": -0.8, "x2": 0.6}


def simulate(
    n_rankings: int = 100, n_features: int = 20, *, seed: int = 1
) -> tuple[br.Rankings, pd.DataFrame]:
    """Simulate rankings of six out of 40 items, and the features of which `EFFECTS` matter."""
    rng = np.random.default_rng(seed)
    names = [f"x{f}" for f in range(n_features)]
    items = pd.Index([f"item {i}" for i in range(40)], name="item")
    features = pd.DataFrame(rng.normal(size=(40, n_features)), items, names)
    features = (features - features.mean()) / features.std()
    utility = features[[*EFFECTS]] @ pd.Series(EFFECTS)
    orderings = []
    for _ in range(n_rankings):
        some = rng.choice(40, 6, replace=False)
        noisy = utility.to_numpy()[some] + rng.gumbel(size=6)
        orderings.append(items[some[np.argsort(-noisy)]])
    return br.Rankings.from_orderings(orderings, items=items), features


def build(rankings: br.Rankings, features: pd.DataFrame, *, relevant: int = 3) -> pm.Model:
    """Build the model; `relevant` is a guess of how many features matter."""
    n_features = features.shape[1]
    coords = rankings.coords | {"feature": features.columns.to_numpy()}
    with pm.Model(coords=coords) as model:
        x = pm.Data("features", rankings.align(features, "item"), dims=("item", "feature"))
        guess = relevant / (n_features - relevant) / np.sqrt(rankings.n_rankings)
        shrinkage = pm.HalfCauchy("shrinkage", guess)
        local = pm.HalfCauchy("local", 1, dims="feature")
        slab2 = pm.InverseGamma("slab2", 2, 2)
        wide = shrinkage * local
        z = pm.Normal("z", 0, 1, dims="feature")
        width = wide * pm.math.sqrt(slab2 / (slab2 + wide**2))
        coefficient = pm.Deterministic("coefficient", z * width, dims="feature")
        utility = pm.Deterministic("utility", x @ coefficient, dims="item")
        br.PlackettLuce("y", utility, observed=rankings)
    return model


if __name__ == "__main__":
    rankings, features = simulate()
    with build(rankings, features):
        # the funnels of the horseshoe want small steps
        posterior = pm.sample(nuts={"target_accept": 0.98}, random_seed=1)
    draws = posterior["posterior"]["coefficient"]
    table = draws.quantile([0.05, 0.5, 0.95], ["chain", "draw"]).T.to_pandas()
    table["truth"] = pd.Series(EFFECTS)
    print(table.fillna(0).round(2).to_string())
