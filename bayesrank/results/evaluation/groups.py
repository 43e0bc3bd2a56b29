"""Log-likelihoods by ranker, judge, prompt or day: what to leave out together."""

from typing import Any

import numpy as np
import xarray as xr

from bayesrank.results.draws import SAMPLE
from bayesrank.schema import RANKS, Kept

__all__ = ["group_log_likelihood", "grouped", "observed_dim", "pointwise_log_likelihood"]


def group_log_likelihood(data: xr.DataTree, group: str, *, var: str = "y") -> xr.DataTree:
    r"""Sum the pointwise log-likelihood over what belongs together.

    .. math:: \log p(y_g \mid \theta) = \sum_{k \in g} \log p(y_k \mid \theta)

    Parameters
    ----------
    data : DataTree
        What `pm.sample` returned, with the group log_likelihood (`pm.compute_log_likelihood`).
    group : str
        "ranker" of rankings; "judge" of pairs, or a column that was named in ``by`` of
        `Pairs.from_frame`.
    var : str
        The observed variable.

    Returns
    -------
    DataTree
        The same, but for the log-likelihood of `var`, which has the dim `group` and a number for
        every label that something belongs to; `arviz.loo` then leaves out one label at a time.

    Raises
    ------
    ValueError
        If there is no log-likelihood of `var` or no such group.

    Examples
    --------
    >>> az.loo(group_log_likelihood(posterior, "judge"))  # doctest: +SKIP
    """
    pointwise = pointwise_log_likelihood(data, var)
    if group in pointwise.dims:  # counts have one log-likelihood per ranker
        return data
    summed = grouped(pointwise, data, group, var=var)
    out = data.copy()
    others = data["log_likelihood"].dataset.drop_vars(var)
    out["log_likelihood"] = xr.DataTree(others.assign({var: summed}))
    return out


def pointwise_log_likelihood(
    data: xr.DataTree, var: str, *, whose: str = "The results"
) -> xr.DataArray:
    """Return the pointwise log-likelihood, chains and draws first."""
    if "log_likelihood" not in data.children or not data["log_likelihood"].data_vars:
        raise ValueError(
            f"{whose} have no log-likelihood. Add it in place: `with model: "
            "pm.compute_log_likelihood(idata)`."
        )
    known = data["log_likelihood"].dataset
    if var not in known:
        names = ", ".join(repr(str(name)) for name in known)
        raise ValueError(
            f"{whose} have no log-likelihood of {var!r}, but of {names}: name the observed "
            "variable with var=."
        )
    return known[var].transpose(*SAMPLE, ...)


def observed_dim(pointwise: xr.DataArray, var: str) -> str:
    """Name the one dim of what is observed, such as ranking."""
    dims = [str(dim) for dim in pointwise.dims if dim not in SAMPLE]
    if len(dims) != 1:
        way = (
            ""
            if dims
            else (
                " A Mallows model without a consensus has one number for all rankings together: "
                "bayesrank.consensus_log_likelihood adds one for each."
            )
        )
        raise ValueError(
            f"The log-likelihood of {var!r} has the dims {list(map(str, pointwise.dims))}: besides "
            f"chain and draw there must be one, of the rankings, pairs or rankers.{way}"
        )
    return dims[0]


def grouped(values: xr.DataArray, data: xr.DataTree, group: str, *, var: str = "y") -> xr.DataArray:
    """Sum numbers, one per ranking or pair, by the labels of `group`, which is the last dim."""
    kept = Kept(data, var)
    if group not in kept.groups:
        axes = ", ".join(map(repr, kept.groups))
        known = f"there is {axes}." if axes else "it has no groups."
        way = "" if RANKS in kept else " Name its column when the Pairs are read."
        raise ValueError(f"{var!r} is not grouped by {group!r}: {known}{way}")
    observed_dim(values, var)  # that there is one
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
