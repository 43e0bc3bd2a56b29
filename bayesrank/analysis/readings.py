"""Other readings of the same table, kept with a posterior for its report."""

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from bayesrank.data import Rankings, UninformativeRankingWarning

__all__ = ["keep_readings", "read_readings"]

GROUP = "readings"  # of a saved posterior
ROWS = ("ranking", "slot")


def keep_readings(posterior: Any, readings: Mapping[str, Rankings]) -> None:
    """Store rankings with another meaning of omitted items, by a label in words."""
    for k, (label, other) in enumerate(readings.items()):
        values = {name: (ROWS, np.asarray(getattr(other, name))) for name in ("item", "ranks")}
        rows = {name: (ROWS[:1], getattr(other, name)) for name in ("count", "weight")}
        kept = xr.Dataset(values | rows, {"item_label": other.coords["item"]}, {"label": label})
        posterior[f"{GROUP}/{k}"] = xr.DataTree(kept)


def read_readings(posterior: Any) -> dict[str, Rankings]:
    """Return the rankings that `keep_readings` stored.

    Raises
    ------
    ValueError
        If they are damaged.
    """
    if GROUP not in posterior.children:
        return {}
    found = {}
    try:
        for child in posterior[GROUP].children.values():
            kept = child.to_dataset()
            arrays = {name: kept[name].to_numpy() for name in ("item", "ranks", "count", "weight")}
            items = kept["item_label"].to_numpy()
            with warnings.catch_warnings():  # as when they were read
                warnings.simplefilter("ignore", UninformativeRankingWarning)
                found[str(kept.attrs["label"])] = Rankings(**arrays, items=items)
    except Exception as error:  # a damaged file can raise anything
        raise ValueError(f"Other readings in the posterior are damaged: {error}") from error
    return found
