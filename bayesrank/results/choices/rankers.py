"""Summarise a quantity over rankers in each draw: over all of them, or one by one."""

from collections.abc import Callable, Hashable
from typing import Any, Literal

import pandas as pd
import xarray as xr

from bayesrank.data.read import quoted
from bayesrank.results.draws import SAMPLE
from bayesrank.schema import RANKER

__all__ = ["By", "in_parts", "over_rankers", "positions"]

By = Literal["ranker"] | None

CHUNK = 2**22
"""Numbers treated at once: with several copies, some hundred megabytes."""


def over_rankers(values: xr.DataArray, by: By, how: Literal["mean", "median"]) -> xr.DataArray:
    """Reduce the dim of the rankers by a mean or median, unless `by` is "ranker"."""
    if by not in (None, RANKER) or (by is not None and RANKER not in values.dims):
        raise ValueError(
            f"`by` must be None, or 'ranker' if the variable has this dim; got {by!r} for the dims "
            f"{[str(d) for d in values.dims]}."
        )
    return values if by or RANKER not in values.dims else getattr(values, how)(RANKER)


def in_parts(
    function: Callable[[xr.DataArray], xr.DataArray], draws: xr.DataArray, n_values: int
) -> xr.DataArray:
    """Apply a function to some draws at a time; it makes `n_values` of each value of a ranker."""
    values_per_draw = (
        draws.isel(dict.fromkeys(SAMPLE, 0)).size * draws.sizes["chain"] * max(n_values, 1)
    )
    step, n_draws = max(1, CHUNK // values_per_draw), draws.sizes["draw"]
    if step >= n_draws:
        found = function(draws)
    else:
        parts = [function(draws.isel(draw=slice(k, k + step))) for k in range(0, n_draws, step)]
        found = xr.concat(parts, "draw")
    return found.transpose(*SAMPLE, ...)


def positions(wanted: Any, known: Any, dim: Hashable, what: str) -> list[int]:
    """Find labels on an axis; raise if there are none, or some are missing or repeated."""
    wanted, axis = pd.Index(wanted), pd.Index(known)
    if not len(wanted):
        raise ValueError(f"{what} is empty. Give at least one label.")
    if wanted.has_duplicates:
        raise ValueError(f"{what} names {quoted(wanted[wanted.duplicated()])} twice.")
    at = axis.get_indexer(wanted)
    if (at < 0).any():
        raise ValueError(
            f"{what} names {quoted(wanted[at < 0])}, but the dim {dim!r} has {quoted(axis)}."
        )
    return [int(k) for k in at]
