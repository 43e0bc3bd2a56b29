"""Log-likelihoods by judge, prompt or day: what to leave out together.

Leave-one-out asks how well a model predicts what it has not seen. What that is, is a choice: one
more match between known judges, or the matches of a judge who was never asked before.
"""

from typing import Any

import numpy as np
import xarray as xr

__all__ = ["group_log_likelihood"]


def group_log_likelihood(data: xr.DataTree, group: str, *, var: str = "y") -> xr.DataTree:
    r"""Sum the pointwise log-likelihood over what belongs together.

    .. math:: \log p(y_g \mid \theta) = \sum_{k \in g} \log p(y_k \mid \theta)

    Parameters
    ----------
    data : DataTree
        What `pm.sample` returned, with the group log_likelihood (`pm.compute_log_likelihood`).
    group : str
        "judge", or a column that was named in ``by`` of `Pairs.from_frame`.
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
        If there is no log-likelihood of `var` or no such group; the sentence lists those there are.

    Notes
    -----
    The more there is in a group, the more the posterior changes without it, and the less can
    importance sampling tell: heed the warnings about Pareto k.

    Examples
    --------
    >>> import arviz as az
    >>> az.loo(group_log_likelihood(posterior, "judge"))  # doctest: +SKIP
    """
    if "log_likelihood" not in data.children or var not in data["log_likelihood"]:
        raise ValueError(
            f"There is no log-likelihood of {var!r}: call pm.compute_log_likelihood() in its model "
            "first, or name the observed variable with var=."
        )
    constant = data["constant_data"].dataset if "constant_data" in data.children else xr.Dataset()
    if f"{var}_{group}_matches" not in constant or f"{var}_{group}" not in constant:
        ends = (f"{var}_", "_matches")
        names = [str(x).removeprefix(ends[0]).removesuffix(ends[1]) for x in constant
                 if str(x).startswith(ends[0]) and str(x).endswith(ends[1])]  # fmt: skip
        there = [name for name in names if f"{var}_{name}" in constant]
        raise ValueError(
            f"{var!r} is not grouped by {group!r}: "
            + (f"there is {', '.join(map(repr, there))}." if there else "it has no groups.")
            + " Name its column when the Pairs are read."
        )
    pointwise: Any = data["log_likelihood"][var]
    codes = constant[f"{var}_{group}"].to_numpy()
    axis = constant[f"{var}_{group}_matches"].dims[0]
    labels = constant[axis].to_numpy() if axis in constant.coords else np.arange(codes.max() + 1)

    order = np.argsort(codes, kind="stable")
    present, start = np.unique(codes[order], return_index=True)
    values = pointwise.transpose("chain", "draw", ...).to_numpy()[..., order]
    summed = xr.DataArray(
        np.add.reduceat(values, start, axis=-1),
        dims=("chain", "draw", group),
        coords={name: pointwise[name] for name in ("chain", "draw") if name in pointwise.coords}
        | {group: labels[present]},
    )
    out = data.copy()
    others = data["log_likelihood"].dataset.drop_vars(var)
    out["log_likelihood"] = xr.DataTree(others.assign({var: summed}))
    return out
