r"""The next match of two items: how it may come out, read off a posterior.

Let :math:`w_{it}` be the utility of an item and :math:`\nu_t` the tie parameter in draw t. In that
draw a match of i and j has the outcomes of Davidson's model,

.. math:: (\text{win}, \text{tie}, \text{loss}) \propto (e^{d/2}, \nu_t, e^{-d/2}),
    \qquad d = w_{it} - w_{jt}

with :math:`\nu = 0` Bradley-Terry's: judged by a judge of adherence one, no item being favoured for
standing first.

>>> outcome_probability(np.log(4.0)).round(3)
array([0.8, 0.2])
"""

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from bayesrank.results.draws import posterior_utilities

__all__ = ["item_draws", "match_probability", "outcome_probability", "tie_draws"]

Floats = NDArray[np.float64]


def outcome_probability(lead: ArrayLike, nu: ArrayLike | None = None) -> Floats:
    """Probabilities of the outcomes of a match.

    Parameters
    ----------
    lead : array, shape (...)
        Utility of the one item less that of the other.
    nu : array, shape (...), optional
        Tie parameter of Davidson's model, >= 0; without it there are no ties.

    Returns
    -------
    array of float, shape (..., 3) or (..., 2)
        Win, tie and loss of the one item; without `nu` win and loss.

    Examples
    --------
    >>> outcome_probability(0.0, 1.0).round(3)
    array([0.333, 0.333, 0.333])
    """
    d = np.asarray(lead, dtype=np.float64)
    # of the better one: over the greatest weight, so that nothing overflows
    half = np.exp(-0.5 * np.abs(d))
    level = 0.0 if nu is None else np.asarray(nu, dtype=np.float64) * half
    total = 1 + half**2 + level
    ahead = d >= 0
    win, loss = np.where(ahead, 1, half**2) / total, np.where(ahead, half**2, 1) / total
    return np.stack([win, loss] if nu is None else [win, level / total, loss], axis=-1)


def match_probability(
    data: Any, var: str = "utility", *, nu: str = "nu", dim: str = "item"
) -> xr.DataArray:
    """Probability of the outcomes of the next match, for every two items.

    It is about the next match, and does not go to 0 or 1 as data come in; which item is better is
    what `win_probability` says.

    Parameters
    ----------
    data : DataTree, Dataset or DataArray
        Posterior with dims chain, draw and `dim` and no others.
    var : str
        The utilities.
    nu : str
        The tie parameter; if the posterior has no such variable, there are no ties.
    dim : str
        The dim of the items.

    Returns
    -------
    DataArray, (dim, dim + "_other", result)
        Posterior means. The results are win, tie and loss of the item of the row; without ties win
        and loss. It is NaN where an item would meet itself.

    Raises
    ------
    ValueError
        If the variable or a dim is missing or there are more, there is no draw or one is not
        finite, or `nu` has dims of its own.

    Examples
    --------
    >>> draws = xr.Dataset({"utility": (("chain", "draw", "item"), [[[0.0, 0.0], [1.0, 1.0]]]),
    ...                     "nu": (("chain", "draw"), [[1.0, 2.0]])})
    >>> match_probability(draws).sel(result="tie").values.round(3)
    array([[  nan, 0.417],
           [0.417,   nan]])
    """
    by_item, labels = item_draws(data, var, dim)
    level = tie_draws(data, nu)
    results = ["win", "loss"] if level is None else ["win", "tie", "loss"]
    n = len(by_item)
    out = np.full((n, n, len(results)), np.nan)
    for i in range(n - 1):
        out[i, i + 1 :] = outcome_probability(by_item[i] - by_item[i + 1 :], level).mean(1)
        out[i + 1 :, i] = out[i, i + 1 :, ::-1]
    return xr.DataArray(
        out,
        dims=(dim, f"{dim}_other", "result"),
        coords={dim: labels, f"{dim}_other": labels, "result": results},
        name="match_probability",
    )


def item_draws(data: Any, var: str, dim: str) -> tuple[Floats, NDArray[Any]]:
    """Draws of the utilities (n_items, n_draws), and labels of the items."""
    found = posterior_utilities(data, var, dim)
    extra = [str(d) for d in found.dims if d not in ("chain", "draw", dim)]
    if extra:
        raise ValueError(
            f"{var!r} has the further dims {extra}: select one group of each first, such as "
            f"idata.posterior[{var!r}].isel({extra[0]}=0)."
        )
    by_item = found.transpose(dim, "chain", "draw").values.reshape(found.sizes[dim], -1)
    return by_item, found[dim].values if dim in found.coords else np.arange(len(by_item))


def tie_draws(data: Any, name: str) -> Floats | None:
    """Draws of the tie parameter (n_draws,), if there is one."""
    if isinstance(data, xr.DataTree):
        data = data["posterior"] if "posterior" in data.children else data
        data = data.to_dataset()
    if not isinstance(data, xr.Dataset) or name not in data:
        return None
    if set(data[name].dims) != {"chain", "draw"}:
        raise ValueError(
            f"{name!r} has the dims {list(map(str, data[name].dims))}; one tie parameter per draw "
            "is needed, with the dims chain and draw."
        )
    return data[name].transpose("chain", "draw").values.reshape(-1)
