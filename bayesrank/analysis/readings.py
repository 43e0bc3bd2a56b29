"""Other readings of the same table, and its scores, kept with a posterior for its report."""

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayesrank.data import Rankings, UninformativeRankingWarning
from bayesrank.data.read import Scores

__all__ = ["check_units", "keep_readings", "keep_scores", "read_readings", "with_scores"]

GROUP = "readings"  # of a saved posterior
ROWS = ("ranking", "slot")
SCORES = "scores"  # of a saved posterior
FAMILY = "cluster"  # group of the families of cases


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


def keep_scores(posterior: Any, data: Any) -> None:
    """Store the scores that rankings were made from, and the families of the cases."""
    scores = getattr(data, "scores", None)
    if scores is None:
        return
    kept = {
        "value": (("ranking", "scored_item"), scores.of(data.items)),
        "rope": (("ranking",), scores.rope),
    }
    if FAMILY in data.groups:
        group = data.groups[FAMILY]
        kept["family"] = (("ranking",), np.asarray(group.labels)[group.idx].astype(str))
    posterior[SCORES] = xr.DataTree(xr.Dataset(kept))


def with_scores(data: Any, posterior: Any) -> Any:
    """Return rankings with the scores and families that `keep_scores` stored.

    Raises
    ------
    ValueError
        If they are damaged.
    """
    if not isinstance(data, Rankings) or SCORES not in posterior.children:
        return data
    try:
        kept = posterior[SCORES].to_dataset()
        value, rope = (kept[name].to_numpy().astype(np.float64) for name in ("value", "rope"))
        if value.shape != (len(data), data.n_items) or rope.shape != (len(data),):
            raise ValueError("the numbers of scores and rankings differ")
        found = data._with(scores=Scores(data.items, value, rope))
        if "family" in kept and FAMILY not in data.groups:
            found = found.grouped({FAMILY: pd.Index(kept["family"].to_numpy().astype(str))})
    except Exception as error:  # a damaged file can raise anything
        raise ValueError(f"Scores in the posterior are damaged: {error}") from error
    return found


def check_units(data: Any) -> None:
    """Refuse a model of the scores if there are none, or if they cannot have the same units.

    Raises
    ------
    ValueError
        If the data have no scores, or their ropes differ.
    """
    scores = getattr(data, "scores", None)
    if scores is None:
        raise ValueError(
            "`same_units` is for rankings that were made from scores, by br.read_scores or "
            "Rankings.from_scores. Leave it out."
        )
    rope = scores.rope
    if (rope != rope[0]).any():
        raise ValueError(
            "With `same_units` all cases have the same rope, but the ropes range from "
            f"{rope.min():g} to {rope.max():g}. If they differ because the units do, leave "
            "`same_units` out."
        )
