"""Log-likelihoods by ranker, judge, prompt or day, for leave-one-group-out."""

from typing import Any

import numpy as np
import xarray as xr

from bayesrank.results.draws import SAMPLE, refuse_other_labels
from bayesrank.schema import RANKS, WEIGHT, Kept

__all__ = ["group_log_likelihood", "observed_dim", "pointwise_log_likelihood", "sum_by_group"]


def group_log_likelihood(data: xr.DataTree, var_name: str = "y", *, group: str) -> xr.DataTree:
    """Sum the pointwise log-likelihood within each group; it then has the dim `group`."""
    pointwise = pointwise_log_likelihood(data, var_name)
    if group in pointwise.dims:  # counts already have one log-likelihood per ranker
        return data
    summed = sum_by_group(pointwise, data, group, var_name=var_name)
    out = data.copy()
    others = data["log_likelihood"].dataset.drop_vars(var_name)
    out["log_likelihood"] = xr.DataTree(others.assign({var_name: summed}))
    return out


def pointwise_log_likelihood(
    data: xr.DataTree, var_name: str, *, whose: str = "The results"
) -> xr.DataArray:
    """Return the pointwise log-likelihood with chains and draws first."""
    if "log_likelihood" not in data.children or not data["log_likelihood"].data_vars:
        raise ValueError(
            f"{whose} have no log-likelihood. Compute it with `with model: "
            "pm.compute_log_likelihood(idata)`."
        )
    known = data["log_likelihood"].dataset
    if var_name not in known:
        names = ", ".join(repr(str(name)) for name in known)
        raise ValueError(
            f"{whose} have a log-likelihood of {names}, but not of {var_name!r}. Name the observed "
            "variable with var_name=."
        )
    kept = Kept(data, var_name)
    if WEIGHT in kept:
        remedy = "Compute it again, for these data."
        subject = f"The log-likelihood of {var_name!r} has"
        refuse_other_labels(known[var_name], kept[WEIGHT], subject, remedy)
    return known[var_name].transpose(*SAMPLE, ...)


def observed_dim(pointwise: xr.DataArray, var_name: str) -> str:
    """Return the name of the dim of the observations, such as ranking."""
    dims = [str(dim) for dim in pointwise.dims if dim not in SAMPLE]
    if len(dims) != 1:
        remedy = (
            ""
            if dims
            else (
                " A Mallows model that marginalises its consensus has one value for all rankings "
                "together; use bayesrank.consensus_log_likelihood to get one for each."
            )
        )
        raise ValueError(
            f"The log-likelihood of {var_name!r} has the dims {list(map(str, pointwise.dims))}. "
            "Besides chain and draw, it must have exactly one dim, of rankings, pairs or rankers."
            f"{remedy}"
        )
    return dims[0]


def sum_by_group(
    values: xr.DataArray, data: xr.DataTree, group: str, *, var_name: str = "y"
) -> xr.DataArray:
    """Sum values per ranking or pair by the labels of `group`, which becomes the last dim."""
    kept = Kept(data, var_name)
    if group not in kept.groups:
        axes = ", ".join(map(repr, kept.groups))
        known = f"its groups are {axes}." if axes else "it has no groups."
        remedy = "" if RANKS in kept else " Name the column in by= when you create the Pairs."
        raise ValueError(f"{var_name!r} is not grouped by {group!r}; {known}{remedy}")
    observed_dim(values, var_name)  # raises unless there is exactly one
    codes, labels = kept.codes(group), kept.labels(group)

    order = np.argsort(codes, kind="stable")
    present, start = np.unique(codes[order], return_index=True)
    *others, last = values.dims
    coords: dict[Any, Any] = {
        name: x for name, x in values.coords.items() if last not in x.dims and name != group
    }
    return xr.DataArray(
        np.add.reduceat(values.to_numpy()[..., order], start, axis=-1),
        dims=(*others, group),
        coords=coords | {group: labels[present]},
    )
