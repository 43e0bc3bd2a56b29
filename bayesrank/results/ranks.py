"""Posteriors of ranks: who is best, how sure that is, and who is tied with the leader.

Every draw of the utilities is a complete order of the items, so the draws of the utilities are
draws of the ranks. What is read off them are statements such as "rank 3 to 9 with probability
0.94" or "best with probability 0.6", which means and standard deviations of utilities cannot
give.

Data are an ArviZ `DataTree` (what `pm.sample` returned, or one group of it), an xarray `Dataset`,
or a `DataArray`, with the dims chain and draw, one dim of items, and any others (groups, rankers),
which stay.

>>> import numpy as np, xarray as xr
>>> u = xr.DataArray([[[2.0, 1.0], [2.5, 3.0]]], dims=("chain", "draw", "item"),
...                  coords={"item": ["a", "b"]})
>>> rank_draws(u).values.tolist()
[[[1, 2], [2, 1]]]
"""

from collections.abc import Callable, Hashable
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from scipy.stats import rankdata

__all__ = [
    "check_probability",
    "posterior_utilities",
    "rank_draws",
    "rank_summary",
    "win_probability",
]

SAMPLE = ("chain", "draw")


def rank_draws(data: Any, var: str = "utility", *, dim: str = "item") -> xr.DataArray:
    """Rank the items in every draw.

    Parameters
    ----------
    data : DataTree, Dataset or DataArray
        Posterior with dims chain, draw and `dim`.
    var : str
        The variable to rank, highest first.
    dim : str
        The dim of the items.

    Returns
    -------
    DataArray of int32
        Same dims; 1 = best. Items equal in a draw (which has probability zero unless the model
        ties them) share the better rank.

    Raises
    ------
    ValueError
        If the variable or a dim is missing, there is no draw, or one is not finite.

    Examples
    --------
    >>> u = xr.DataArray([[[0.3, 1.2, -0.5]]], dims=("chain", "draw", "item"))
    >>> rank_draws(u).values.tolist()
    [[[2, 1, 3]]]
    """
    utility = posterior_utilities(data, var, dim)
    axis = utility.get_axis_num(dim)
    ranks = rankdata(-utility.values, method="min", axis=axis).astype(np.int32)
    return utility.copy(data=ranks).rename("rank")


def rank_summary(
    data: Any,
    var: str = "utility",
    *,
    dim: str = "item",
    top: int = 3,
    prob: float = 0.94,
    tied_prob: float = 0.95,
) -> pd.DataFrame:
    """Summarise the posterior of ranks, best mean rank first.

    Parameters
    ----------
    data : DataTree, Dataset or DataArray
        Posterior with dims chain, draw and `dim`.
    var : str
        The variable to rank, highest first.
    dim : str
        The dim of the items.
    top : int
        The k of the column ``p_top{k}``, at least 1; the column is 1 for k items or fewer.
    prob : float
        Probability of the rank interval, in (0, 1): equal tails, whole ranks.
    tied_prob : float
        An item is tied with the leader unless the leader is better with at least this
        probability, in (0.5, 1).

    Returns
    -------
    DataFrame
        One row per item (and per group, for other dims) with the columns mean_rank, rank_low,
        rank_high, p_best, p_top{k}, tied_with_leader, p_leader_better, mean and sd (of the
        variable). The leader has the lowest mean rank of its group; it is tied with itself.

    Raises
    ------
    ValueError
        If the variable or a dim is missing, there is no draw or one is not finite, or `top`,
        `prob` or `tied_prob` are out of range.

    Examples
    --------
    >>> u = xr.DataArray([[[2.0, 1.0, 0.0], [3.0, 1.0, 0.0], [0.0, 1.0, -1.0], [2.0, 1.0, 0.0]]],
    ...     dims=("chain", "draw", "item"), coords={"item": ["a", "b", "c"]})
    >>> rank_summary(u, top=2)[["mean_rank", "p_best", "p_top2", "tied_with_leader"]]
          mean_rank  p_best  p_top2  tied_with_leader
    item
    a          1.25    0.75     1.0              True
    b          1.75    0.25     1.0              True
    c          3.00    0.00     0.0             False
    """
    utility = posterior_utilities(data, var, dim)
    n_items = utility.sizes[dim]
    if top < 1 or top % 1:
        raise ValueError(f"`top` is {top!r}; it must be a whole number, 1 or more.")
    check_probability("prob", prob, 0.0)
    check_probability("tied_prob", tied_prob, 0.5)

    groups, draws = _by_group(utility, dim)
    labels = utility[dim].values if dim in utility.coords else np.arange(n_items)
    tables = [_summarise(group, top, prob, tied_prob) for group in draws]
    for table in tables:
        table.index = pd.Index(labels, name=dim)
    if not groups:
        return tables[0].sort_values("mean_rank", kind="stable")
    keys = pd.MultiIndex.from_product([utility[d].values for d in groups], names=groups)
    named = [table.sort_values("mean_rank", kind="stable") for table in tables]
    return pd.concat(named, keys=list(keys), names=[*groups, dim])


def _by_group(utility: xr.DataArray, dim: str) -> tuple[list[str], np.ndarray]:
    """Names of the dims beside draws and items, and the draws (n_groups, n_draws, n_items)."""
    groups = [str(d) for d in utility.dims if d not in (*SAMPLE, dim)]
    ordered = utility.transpose(*groups, *SAMPLE, dim)
    n_draws = utility.sizes["chain"] * utility.sizes["draw"]
    return groups, ordered.values.reshape(-1, n_draws, utility.sizes[dim])


def _summarise(utility: np.ndarray, top: int, prob: float, tied_prob: float) -> pd.DataFrame:
    """Summary of one group from draws (n_draws, n_items)."""
    rank = rankdata(-utility, method="min", axis=1).astype(np.int32)
    mean_rank = rank.mean(0)
    tail = (1 - prob) / 2
    low, high = np.quantile(rank, [tail, 1 - tail], axis=0, method="inverted_cdf")
    leader = int(np.argmin(mean_rank))
    better = (utility[:, [leader]] > utility).mean(0)
    return pd.DataFrame(
        {
            "mean_rank": mean_rank,
            "rank_low": low.astype(int),
            "rank_high": high.astype(int),
            "p_best": (rank == 1).mean(0),
            f"p_top{top}": (rank <= top).mean(0),
            "tied_with_leader": better < tied_prob,
            "p_leader_better": better,
            "mean": utility.mean(0),
            "sd": utility.std(0, ddof=1) if len(utility) > 1 else np.full(len(low), np.nan),
        }
    )


def win_probability(
    data: Any,
    var: str = "utility",
    *,
    dim: str = "item",
    of: Literal["utility", "match"] = "utility",
) -> xr.DataArray:
    r"""Probability that one item beats another, for every pair.

    Two questions are easily confused. ``of="utility"`` is about the items: the posterior
    probability that :math:`w_i > w_j`, which goes to 0 or 1 as data come in. ``of="match"`` is
    about the next comparison: the posterior mean of :math:`1/(1 + e^{w_j - w_i})`, which does not.

    Parameters
    ----------
    data : DataTree, Dataset or DataArray
        Posterior with dims chain, draw and `dim`.
    var : str
        The variable to compare.
    dim : str
        The dim of the items.
    of : {"utility", "match"}
        Which of the two probabilities.

    Returns
    -------
    DataArray, (..., dim, dim + "_other")
        Row beats column; one half on the diagonal.

    Raises
    ------
    ValueError
        If the variable or a dim is missing, there is no draw or one is not finite, or `of` is
        neither.

    Examples
    --------
    >>> u = xr.DataArray([[[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]],
    ...                  dims=("chain", "draw", "item"), coords={"item": ["a", "b"]})
    >>> float(win_probability(u).sel(item="a", item_other="b"))
    0.75
    """
    kernels: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
        "utility": lambda w, v: 0.5 * ((w > v).mean(1) + (w >= v).mean(1)),
        "match": lambda w, v: 0.5 + 0.5 * np.tanh(0.5 * (w - v)).mean(1),
    }
    if of not in kernels:
        raise ValueError(f"`of` is {of!r}; it is one of {', '.join(map(repr, kernels))}.")
    utility = posterior_utilities(data, var, dim)
    groups, draws = _by_group(utility, dim)
    n_items = draws.shape[2]
    out = np.empty((len(draws), n_items, n_items))
    for g, group in enumerate(draws):
        by_item = np.ascontiguousarray(group.T)  # one item against all at a time stays in cache
        for i, w in enumerate(by_item):
            out[g, i] = kernels[of](w, by_item)
    other = f"{dim}_other"
    coords: dict[Hashable, Any] = {d: utility[d] for d in groups if d in utility.coords}
    if dim in utility.coords:
        coords |= {dim: utility[dim].values, other: utility[dim].values}
    return xr.DataArray(
        out.reshape(*(utility.sizes[d] for d in groups), n_items, n_items),
        dims=(*groups, dim, other),
        coords=coords,
        name="win_probability",
    )


def posterior_utilities(data: Any, var: str, dim: str) -> xr.DataArray:
    """Find a variable in a posterior and check it.

    Parameters
    ----------
    data : DataTree, Dataset or DataArray
        Where to look.
    var, dim : str
        The variable, and the dim of the items it must have.

    Returns
    -------
    DataArray of float64
        With dims chain, draw, `dim` and perhaps others.

    Raises
    ------
    ValueError
        If something is missing (the message says what there is), there is no draw, or one is not
        finite.
    TypeError
        If `data` is nothing that holds draws.

    Examples
    --------
    >>> draws = xr.Dataset({"skill": (("chain", "draw", "player"), [[[2, 1]]])})
    >>> posterior_utilities(draws, "skill", "player").dims
    ('chain', 'draw', 'player')
    """
    if isinstance(data, xr.DataTree):
        if "posterior" in data.children:
            data = data["posterior"]
        elif not data.data_vars:  # a group by itself, such as idata.posterior, has variables
            raise ValueError(
                f"The DataTree has no posterior; it has {sorted(map(str, data.children))}. Pass "
                "what pm.sample() returned."
            )
        data = data.to_dataset()
    if isinstance(data, xr.Dataset):
        if var not in data:
            raise ValueError(
                f"The posterior has no variable {var!r}; it has {sorted(map(str, data.data_vars))}."
            )
        data = data[var]
    if not isinstance(data, xr.DataArray):
        raise TypeError(
            f"Expected a DataTree, a Dataset or a DataArray with draws; got {type(data).__name__}."
        )
    for needed, remedy in (
        ("chain", "Pass draws with the dims chain and draw, as pm.sample() returns them."),
        ("draw", "Pass draws with the dims chain and draw, as pm.sample() returns them."),
        (dim, "Name the one that is meant with dim=."),
    ):
        if needed not in data.dims:
            raise ValueError(
                f"{var!r} has no dim {needed!r}; it has {list(map(str, data.dims))}. {remedy}"
            )
    if not data.size:
        raise ValueError(f"{var!r} is empty; its sizes are {dict(data.sizes)}.")
    data = data.astype(np.float64, copy=False)
    per_draw = np.isfinite(data).all([d for d in data.dims if d not in SAMPLE])
    bad = int((~per_draw).sum())
    if bad:
        raise ValueError(
            f"{bad} of {per_draw.size} draws of {var!r} hold NaN or infinite values: the sampler "
            "has failed, and summaries of them would mean nothing."
        )
    return data


def check_probability(name: str, value: float, lowest: float) -> None:
    """Raise unless `value` lies strictly between `lowest` and 1."""
    if not lowest < value < 1:
        raise ValueError(f"`{name}` is {value}; it must lie between {lowest} and 1.")
