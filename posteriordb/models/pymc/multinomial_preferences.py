"""Rankers who follow common scores more or less closely, by MPM."""

from typing import Any

import numpy as np
import pandas as pd
import pymc as pm

import bayesrank as br


def make_model(data: dict[str, Any]) -> pm.Model:
    """Build the model of posteriordb's data."""
    counts = np.asarray(data["counts"])
    ranker, pair = np.nonzero(counts)
    table = pd.DataFrame(
        {
            "ranker": ranker + 1,
            "better": np.take(data["better"], pair),
            "worse": np.take(data["worse"], pair),
            "count": counts[ranker, pair],
        }
    )
    observed = br.PairCounts.from_frame(
        table,
        first="better",
        second="worse",
        count="count",
        ranker="ranker",
        items=range(1, data["N"] + 1),
    )
    with pm.Model(coords=observed.coords) as model:
        score = pm.Normal("score", 0, 1, dims="item")
        adherence = pm.LogNormal("adherence", 0, 0.5, dims="ranker")
        br.MPM("y", score, adherence=adherence, observed=observed)
    return model
