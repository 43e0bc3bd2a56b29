"""Rankings of some of the items by Plackett-Luce."""

from typing import Any

import pymc as pm

import bayesrank as br


def make_model(data: dict[str, Any]) -> pm.Model:
    """Build the model of posteriordb's data."""
    rankings = br.Rankings.from_orderings(data["ordering"], items=range(1, data["N"] + 1))
    with pm.Model(coords=rankings.coords) as model:
        utility = pm.Normal("utility", 0, 1, dims="item")
        br.PlackettLuce("y", utility, observed=rankings)
    return model
