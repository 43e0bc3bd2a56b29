"""Matches of two that may tie, by Davidson's model."""

from typing import Any

import pandas as pd
import pymc as pm

import bayesrank as br


def make_model(data: dict[str, Any]) -> pm.Model:
    """Build the model of posteriordb's data."""
    counts = pd.DataFrame(data["counts"], columns=["first", "second", "tie"])
    table = counts.assign(one=data["first"], other=data["second"]).melt(
        ["one", "other"], var_name="outcome", value_name="count"
    )
    pairs = br.Pairs.from_frame(
        table,
        first="one",
        second="other",
        outcome="outcome",
        count="count",
        items=range(1, data["N"] + 1),
    )
    with pm.Model(coords=pairs.coords) as model:
        utility = pm.Normal("utility", 0, 1, dims="item")
        nu = pm.LogNormal("nu", 0, 1)
        br.Davidson("y", utility, nu=nu, observed=pairs)
    return model
