r"""What if some rankings are careless?

Story: with probability `lapse` a ranker is careless and gives a random order. All other rankings
follow the utilities. A model without careless rankings would estimate utilities that are too close
to each other.

    utility[i]   ~ Normal(0, 2), summing to zero
    lapse        ~ Beta(1, 9)
    ranking      ~ (1 - lapse) PlackettLuce(utility) + lapse PlackettLuce(0)

A Plackett-Luce distribution with equal utilities gives all orders the same probability. So the
model is a mixture of two components, and `br.component_probabilities` returns the probability that
each ranking is careless. Use ``unit="ranker"`` if a ranker is careless in all of the ranker's
rankings or in none.

Run ``python lapse.py`` for 150 simulated rankings, one in five of them careless.

``lapse`` is the estimated share of careless rankings, with an interval. The last table shows that
rankings that were simulated as careless get a higher probability of it. A single ranking of six
items seldom proves anything, so the two means are not 0 and 1.
"""

import numpy as np
import pymc as pm
import xarray as xr

import bayesrank as br


def simulate(
    n_rankings: int = 150, lapse: float = 0.2, *, seed: int = 1
) -> tuple[br.Rankings, xr.Dataset]:
    """Simulate rankings of six items, some of them random, and the true parameters."""
    rng = np.random.default_rng(seed)
    items, utility = list("abcdef"), np.linspace(2.5, -2.5, 6)
    careless = rng.random(n_rankings) < lapse
    noisy = np.where(careless[:, None], 0.0, utility) + rng.gumbel(size=(n_rankings, 6))
    orderings = [[items[i] for i in row] for row in np.argsort(-noisy, axis=1)]
    rankings = br.Rankings.from_orderings(orderings, items=items)
    truth = xr.Dataset(
        {"utility": ("item", utility), "lapse": lapse, "careless": ("ranking", careless)},
        coords={"item": items},
    )
    return rankings, truth


def build(rankings: br.Rankings) -> pm.Model:
    """Build the model of careful and careless rankings."""
    with pm.Model(coords={**rankings.coords, "component": ["careful", "careless"]}) as model:
        utility = pm.ZeroSumNormal("utility", 2, dims="item")
        lapse = pm.Beta("lapse", 1, 9)
        weights = pm.Deterministic("weights", pm.math.stack([1 - lapse, lapse]), dims="component")
        components = [
            br.PlackettLuce.dist(utility),
            br.PlackettLuce.dist(np.zeros(len(rankings.items))),
        ]
        br.Mixture("y", weights, components, observed=rankings)
    return model


if __name__ == "__main__":
    rankings, truth = simulate()
    model = build(rankings)
    with model:
        posterior = pm.sample(random_seed=1)
    print(br.rank_summary(posterior).round(2).to_string())
    print("lapse", posterior["posterior"]["lapse"].quantile([0.05, 0.5, 0.95]).values.round(2))
    chances = br.component_probabilities(posterior, model=model).sel(component="careless")
    print("mean probability of a lapse, by truth:")
    print(chances.to_series().groupby(truth["careless"].to_numpy()).mean().round(2).to_string())
