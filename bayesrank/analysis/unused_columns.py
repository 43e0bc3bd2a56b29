"""Tests of the columns of a table that a model does not use."""

import json
from typing import Any

import pandas as pd
import xarray as xr

from bayesrank.data import Pairs, Rankings
from bayesrank.results import column_checks

__all__ = ["GROUP", "check_columns", "keep_columns"]

GROUP = "columns"  # of a saved posterior
OWN = ("category", "neutral", "date")  # groups that are not clusters


def check_columns(data: Rankings | Pairs, seed: int) -> pd.DataFrame:
    """Test the columns that the reader of the data did not use."""
    groups = data.groups
    several = "category" in groups and len(groups["category"].labels) > 1
    return column_checks(
        data,
        category="category" if several else None,
        neutral="neutral" if "neutral" in groups else None,
        clusters=[name for name in groups if name not in OWN],
        random_seed=seed,
    )


def keep_columns(posterior: Any, table: pd.DataFrame) -> None:
    """Store the tests with a posterior, if there are any, so that its report can be repeated."""
    if table["p"].notna().any():
        leaders = [json.dumps({str(k): str(v) for k, v in x.items()}) for x in table["leaders"]]
        kept = table.assign(leaders=leaders).astype({"kind": object, "note": object})
        posterior[GROUP] = xr.DataTree(kept.to_xarray())
