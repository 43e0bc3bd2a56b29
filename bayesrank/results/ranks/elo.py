"""Utilities on the scale of Elo ratings."""

from collections.abc import Hashable
from typing import Any

import numpy as np
import xarray as xr

from bayesrank.results.draws import posterior_utilities

__all__ = ["elo_scale"]

POINTS = 400 / np.log(10)


def elo_scale(
    data: Any,
    var_name: str = "utility",
    *,
    dim: str = "item",
    anchor: Hashable | None = None,
    at: float = 1000.0,
) -> xr.DataArray:
    r"""Put draws of utilities on the scale of Elo ratings.

    .. math:: R_i = R_0 + \frac{400}{\log 10} \, (w_i - w_0)

    where :math:`w_0` is the utility of the anchor, or the mean of all items, which has the rating
    :math:`R_0`. An item that is d points ahead beats the other, if they do not tie, with
    probability :math:`1 / (1 + 10^{-d / 400})`.

    Parameters
    ----------
    data, var_name, dim
        Posterior, variable and dim of the items, as in `rank_draws`. The difference of two
        utilities must be the log odds that one item beats the other, as in Bradley-Terry,
        Davidson, Rao-Kupper and Plackett-Luce models. In `leaderboard_model` they are the log odds
        with a typical judge.
    anchor : label, optional
        The item that has `at` points in every draw. By default the mean of all items has `at`
        points. Uncertainty of a rating is the uncertainty of its distance from the anchor.
    at : float
        Points of the anchor, finite.

    Returns
    -------
    DataArray
        Ratings in every draw, with the dims of the utilities and the name "elo".

    Raises
    ------
    ValueError
        For the reasons of `rank_draws`, or if `anchor` is not an item, or `at` is not finite.

    See Also
    --------
    rank_summary, resample_location

    Examples
    --------
    >>> import xarray as xr
    >>> import bayesrank as br
    >>> draws = xr.DataArray([[[1.0, 0.0], [2.0, 0.0]]], dims=("chain", "draw", "item"),
    ...                      coords={"item": ["a", "b"]})
    >>> br.elo_scale(draws).mean(("chain", "draw")).round(1).values
    array([1130.3,  869.7])
    """
    if not np.isfinite(at):
        raise ValueError(f"`at` is {at}; the points of the anchor must be finite.")
    utility = posterior_utilities(data, var_name, dim)
    if anchor is None:
        zero = utility.mean(dim)
    else:
        known = utility[dim].values.tolist()
        if anchor not in known:
            raise ValueError(
                f"`anchor` is {anchor!r}; it must be one of the {dim}s: "
                f"{', '.join(map(str, known))}."
            )
        zero = utility.isel({dim: known.index(anchor)}, drop=True)
    return (at + POINTS * (utility - zero)).rename("elo").transpose(*utility.dims)
