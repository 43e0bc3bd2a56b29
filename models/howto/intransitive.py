r"""How do I model an item that beats one rival but loses to a weaker one?

Story: besides its utility, every item has a style. Some styles beat others, as in rock, paper,
scissors. A style is a point in a plane. An item has the largest advantage over an opponent whose
style is a quarter turn ahead of its own.

    utility[i]     ~ Normal(0, 1), summing to zero
    style[i, :]    ~ Normal(0, 1)
    size           ~ HalfNormal(1)
    cycle          = size (style[first, 0] style[second, 1] - style[first, 1] style[second, 0])
    first wins     ~ BradleyTerry(utility[first] - utility[second] + cycle)

`cycle` changes its sign if the two items swap sides, so the order of the items does not matter.
It enters as an order effect with one value per pair. If `size` is near zero, no item beats a
stronger one systematically. Ranks of the utilities are then the full answer; otherwise also read
the probabilities of single matches.

Rotating all styles by the same angle does not change `cycle`. So read `cycle`, not the styles.

Run ``python intransitive.py`` for 900 simulated matches of six items.

The first table ranks the items as usual. The second is the mean of the cyclic effect for each
pair: how far the row does better against the column than their strengths say. The third is the
simulated truth, and has the same pattern of signs.
"""

import numpy as np
import pymc as pm
import xarray as xr
from scipy.special import expit

import bayesrank as br


def simulate(n_each: int = 60, *, seed: int = 1) -> tuple[br.Pairs, xr.Dataset]:
    """Simulate matches of six items, three of them in a cycle, and the true effects."""
    rng = np.random.default_rng(seed)
    items = list("abcdef")
    utility = np.array([0.5, 0.4, 0.3, -0.2, -0.4, -0.6])
    turn = np.array([0, 1, 2, 0, 0, 0]) * 2 * np.pi / 3
    style = 1.2 * np.array([1, 1, 1, 0, 0, 0])[:, None] * np.stack([np.cos(turn), np.sin(turn)], 1)
    cycle = np.outer(style[:, 0], style[:, 1]) - np.outer(style[:, 1], style[:, 0])
    lead = utility[:, None] - utility + cycle
    won = np.triu(rng.binomial(n_each, expit(lead)), 1)
    lost = np.triu(n_each - won, 1)
    pairs = br.Pairs.from_matrix(won + lost.T, items=items)
    truth = xr.Dataset(
        {"utility": ("item", utility), "cycle": (("item", "item_other"), cycle)},
        coords={"item": items, "item_other": items},
    )
    return pairs, truth


def build(pairs: br.Pairs) -> pm.Model:
    """Build the model with a utility and a style of every item."""
    coords = {**pairs.coords, "axis": [0, 1], "item_other": pairs.items}
    with pm.Model(coords=coords) as model:
        utility = pm.ZeroSumNormal("utility", 1, dims="item")
        size = pm.HalfNormal("size", 1)
        style = pm.Normal("style", 0, 1, dims=("item", "axis"))
        x, y = size * style[:, 0], style[:, 1]
        cycle = pm.Deterministic(
            "cycle", x[:, None] * y[None] - y[:, None] * x[None], dims=("item", "item_other")
        )
        br.BradleyTerry("y", utility, order_effect=cycle[pairs.first, pairs.second], observed=pairs)
    return model


if __name__ == "__main__":
    pairs, truth = simulate()
    with build(pairs):
        posterior = pm.sample(random_seed=1)
    print(br.rank_summary(posterior).round(2).to_string())
    effects = posterior["posterior"]["cycle"].mean(["chain", "draw"])
    print(effects.to_pandas().round(2).to_string())
    print(truth["cycle"].to_pandas().round(2).to_string())
