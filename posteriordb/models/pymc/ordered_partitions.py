"""Rankings whose places are shared by PMOP, given how many share each."""

from itertools import pairwise
from typing import Any

import numpy as np
import pymc as pm

import bayesrank as br


def make_model(data: dict[str, Any]) -> pm.Model:
    """Build the model of posteriordb's data."""
    partitions = [
        [set(ordering[i:j]) for i, j in pairwise(np.cumsum([0, *size]))]
        for ordering, size in zip(data["ordering"], data["size"], strict=True)
    ]
    rankings = br.Rankings.from_orderings(partitions, items=range(1, data["N"] + 1))
    with pm.Model(coords=rankings.coords) as model:
        utility = pm.Normal("utility", 0, 1, dims="item")
        br.PMOP("y", utility, aggregate="geometric", given_sizes=True, observed=rankings)
    return model
