"""Find draws of utilities in results, check them, rank them, and split them into groups.

Data are an ArviZ `DataTree` (what `pm.sample` returned, or one group of it), an xarray `Dataset`,
or a `DataArray`. They have the dims chain and draw, one dim of items, and perhaps others. Each
combination of the other dims is a *group*; its draws are an array (n_draws, n_items). Draws without
chains have the dim draw or, as from `arviz.extract`, sample; they count as one chain.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from arviz import rcParams
from numpy.typing import NDArray
from scipy.stats import rankdata

from bayesrank.data.read import check_whole, label_repr
from bayesrank.schema import refuse_moved_labels

__all__ = [
    "SAMPLE",
    "Places",
    "as_chains",
    "by_group",
    "centred",
    "check_probability",
    "check_rope",
    "check_tops",
    "described",
    "each_group",
    "find_variable",
    "group_dims",
    "interval_probability",
    "places_of",
    "posterior_utilities",
    "ranks_of",
    "refuse_other_labels",
    "single_group",
]

SAMPLE = ("chain", "draw")
STACKED = "sample"  # dim of the draws of all chains, as `arviz.extract` names it
CHUNK = 2**17
"""Numbers ranked at once: one megabyte, so that sorting stays in the cache."""


def as_chains[Draws: (xr.DataArray, xr.Dataset)](draws: Draws) -> Draws:
    """Give draws of one dim, draw or sample, the dims chain and draw: they become one chain.

    A random subset of the draws, which `arviz.extract` may return, has no complete chains.

    >>> u = xr.DataArray([[0.3, 1.2]], dims=("item", "draw"))
    >>> as_chains(u).dims
    ('chain', 'item', 'draw')
    """
    if "chain" in draws.dims:
        return draws
    if "draw" not in draws.dims and STACKED in draws.dims:
        # the labels of chains and draws, which may be levels of the labels of samples
        labels = {name for name, x in draws.coords.items() if STACKED in x.dims}
        draws = draws.drop_vars(labels | {*SAMPLE} & {*draws.coords}).rename({STACKED: "draw"})
    return draws.expand_dims("chain") if "draw" in draws.dims else draws


def find_variable(data: Any, var_name: str) -> xr.DataArray:
    """Find a variable in a posterior, with the dims chain and draw if it has draws."""
    if isinstance(data, xr.DataTree):
        refuse_moved_labels(data)
        if "posterior" in data.children:
            data = data["posterior"]
        elif not data.data_vars:  # a single group, such as idata.posterior, has variables
            raise ValueError(
                f"The DataTree has no posterior; it has {sorted(map(str, data.children))}. Pass "
                "what pm.sample() returned."
            )
        data = data.to_dataset()
    if isinstance(data, xr.Dataset):
        if var_name not in data:
            raise ValueError(
                f"The posterior has no variable {var_name!r}; it has "
                f"{sorted(map(str, data.data_vars))}."
            )
        data = data[var_name]
    if not isinstance(data, xr.DataArray):
        raise TypeError(
            f"Expected a DataTree, a Dataset or a DataArray with draws; got {type(data).__name__}."
        )
    return as_chains(data)


def described(data: Any, var_name: str) -> tuple[str, str]:
    """Return how messages name a variable, and how code selects it."""
    if not isinstance(data, xr.DataArray):
        return repr(var_name), f"idata.posterior[{var_name!r}]"
    if data.name is None:
        return "The array", "draws"
    return repr(data.name), f"idata.posterior[{data.name!r}]"


def posterior_utilities(data: Any, var_name: str, dim: str) -> xr.DataArray:
    """Find a variable with dims chain, draw, `dim` and perhaps others, and check it."""
    (subject, source), data = described(data, var_name), find_variable(data, var_name)
    for needed, remedy in (
        ("chain", "Pass draws with the dims chain and draw, as pm.sample() returns them."),
        ("draw", "Pass draws with the dims chain and draw, as pm.sample() returns them."),
        (dim, "Name the dim of the items with dim=."),
    ):
        if needed not in data.dims:
            raise ValueError(
                f"{subject} has no dim {needed!r}; it has {list(map(str, data.dims))}. {remedy}"
            )
    if not data.size:
        raise ValueError(f"{subject} is empty; its sizes are {dict(data.sizes)}.")
    if dim in data.indexes and not (labels := data.indexes[dim]).is_unique:
        raise ValueError(
            f"{dim!r} has the label {label_repr(labels[labels.duplicated()][0])} twice; rename "
            "one of them."
        )
    _refuse_ranks(data, subject, source, dim)
    data = data.astype(np.float64, copy=False)
    per_draw = np.isfinite(data).all([d for d in data.dims if d not in SAMPLE])
    bad = int((~per_draw).sum())
    if bad:
        raise ValueError(
            f"{bad} of {per_draw.size} draws of {subject} contain NaN or infinite values. The "
            "sampler failed; check the model and its priors, and sample again."
        )
    return data


def refuse_other_labels(x: xr.DataArray, data: xr.DataArray, what: str, remedy: str) -> None:
    """Raise if `x` has other labels than the observed data on an axis that both have."""
    for d in data.dims:
        one, other = x.indexes.get(d), data.indexes.get(d)
        if one is not None and other is not None and not np.array_equal(one, other):
            raise ValueError(f"{what} other {d} labels than the observed data. {remedy}")


def _refuse_ranks(data: xr.DataArray, subject: str, source: str, dim: Hashable) -> None:
    """Raise if whole numbers are the ranks 1, 2, ... in every draw: the highest is not the best."""
    n = data.sizes[dim]
    if data.dtype.kind not in "iu" or n == 1:
        return
    values = np.sort(data.transpose(..., dim).to_numpy(), axis=-1)
    if (values == np.arange(1, n + 1)).all():
        raise ValueError(
            f"{subject} holds ranks, 1 = best, but the highest value would be ranked first. "
            f"Pass minus the variable, such as -{source}."
        )


def single_group(data: Any, var_name: str, dim: str) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return the draws (n_draws, n_items) of a variable with one group, and item labels."""
    found = posterior_utilities(data, var_name, dim)
    extra = [str(d) for d in group_dims(found, dim)]
    if extra:
        subject, source = described(data, var_name)
        raise ValueError(
            f"{subject} has the additional dims {extra}. Select one label of each first, such "
            f"as {source}.isel({extra[0]}=0)."
        )
    return next(each_group(found, dim)), found[dim].values


def check_probability(name: str, value: float, lowest: float) -> None:
    """Raise unless `value` lies strictly between `lowest` and 1."""
    if not lowest < value < 1:
        raise ValueError(f"`{name}` is {value}; it must lie between {lowest} and 1.")


def check_rope(rope: float) -> None:
    """Raise unless a difference of utilities without practical meaning is finite, 0 or more."""
    if not 0 <= rope < np.inf:
        raise ValueError(
            f"`rope` is {rope}; it must be a finite number, 0 or more: the largest difference of "
            "two utilities without practical meaning."
        )


def interval_probability(ci_prob: float | None) -> float:
    """Return the probability of an interval, by default ``arviz.rcParams["stats.ci_prob"]``."""
    value = float(rcParams["stats.ci_prob"]) if ci_prob is None else ci_prob
    check_probability("ci_prob", value, 0.0)
    return value


def check_tops(top: int | Sequence[int]) -> tuple[int, ...]:
    """Return `top` as a tuple; raise unless it has distinct whole numbers, 1 or more."""
    tops: tuple[Any, ...] = tuple(top) if isinstance(top, Sequence | np.ndarray) else (top,)
    for k in tops:
        check_whole(top=k)
    if not tops or len(set(tops)) < len(tops):
        raise ValueError(f"`top` is {top!r}; give at least one number, and no number twice.")
    return tuple(int(k) for k in tops)


def group_dims(utility: xr.DataArray, dim: Hashable) -> list[Hashable]:
    """Return the names of the dims other than draws and items."""
    return [d for d in utility.dims if d not in (*SAMPLE, dim)]


def each_group(utility: xr.DataArray, dim: Hashable) -> Iterator[NDArray[np.float64]]:
    """Yield the draws (n_draws, n_items) of each group; the last dim varies fastest."""
    groups = group_dims(utility, dim)
    values = utility.transpose(*groups, *SAMPLE, dim).values
    for at in np.ndindex(values.shape[: len(groups)]):
        yield values[at].reshape(-1, values.shape[-1])


def by_group(
    function: Callable[[NDArray[np.float64]], Any],
    utility: xr.DataArray,
    dim: str,
    results: Mapping[str, Sequence[str]],
    **labels: Any,
) -> list[xr.DataArray]:
    """Apply a function to the draws (n_draws, n_items) of every group.

    The function returns one array, or a tuple with one array per result. `results` maps the name of
    each result to its dims, which follow those of the groups. `labels` names the labels of each new
    dim, or None.
    """
    for d in labels:
        if d in utility.dims:
            raise ValueError(
                f"The draws have a dim {d!r}, but the result uses this name for a new dim. Rename "
                f"the dim of the draws, such as draws.rename({d}=...)."
            )
    found = xr.apply_ufunc(
        lambda draws: function(draws.reshape(-1, draws.shape[-1])),
        utility.drop_vars(labels, errors="ignore"),
        input_core_dims=[[*SAMPLE, dim]],
        output_core_dims=[list(dims) for dims in results.values()],
        vectorize=True,
    )
    arrays = found if isinstance(found, tuple) else (found,)
    coords = {d: x for d, x in labels.items() if x is not None}
    return [x.rename(name).assign_coords(coords) for name, x in zip(results, arrays, strict=True)]


def ranks_of(utility: NDArray[np.float64]) -> NDArray[np.int32]:
    """Rank the items in every draw (n_draws, n_items), 1 = highest; ties share the better rank."""
    ranks = np.empty(utility.shape, np.int32)
    step = max(1, CHUNK // utility.shape[1])
    for start in range(0, len(utility), step):
        some = slice(start, start + step)
        ranks[some] = rankdata(-utility[some], method="min", axis=1)
    return ranks


class Places(NamedTuple):
    """Places of the items in every draw, each (n_draws, n_items); 1 = best.

    m items that are equal in a draw have m places in common. Each of them has each of these places
    with probability 1/m, as if the draw ordered them at random. So the probabilities of being the
    best sum to one.
    """

    best: NDArray[np.int32]  # the best of the places of an item: 1 + number of better items
    worst: NDArray[np.int32]  # the worst of them; the same array if no draw has equal items

    @property
    def mean_rank(self) -> NDArray[np.float64]:
        """Mean place of every item, (n_items,)."""
        mean: NDArray[np.float64] = self.best.mean(0)
        return mean if self.worst is self.best else (mean + self.worst.mean(0)) / 2

    def among_best(self, k: int) -> NDArray[np.float64]:
        """Probability that an item is among the best k in a draw, (n_draws, n_items)."""
        if self.worst is self.best:
            return (self.best <= k).astype(np.float64)
        n_equal = self.worst - self.best + 1
        return ((k + 1 - self.best) / n_equal).clip(0, 1)

    def p_top(self, k: int) -> NDArray[np.float64]:
        """Probability that an item is among the best k, (n_items,); the sum over items is k."""
        if self.worst is self.best:
            return np.asarray((self.best <= k).mean(0))
        return np.asarray(self.among_best(k).mean(0))


def places_of(utility: NDArray[np.float64]) -> Places:
    """Find the places of the items in every draw (n_draws, n_items)."""
    best, n_items = ranks_of(utility), utility.shape[1]
    with_ties = best.sum(axis=1, dtype=np.int64) < n_items * (n_items + 1) // 2
    if not with_ties.any():
        return Places(best, best)
    worst = best.copy()
    worst[with_ties] = n_items + 1 - ranks_of(-utility[with_ties])
    return Places(best, worst)


def centred(utility: xr.DataArray, dim: str) -> xr.DataArray:
    """Subtract the mean of the items from every draw; items that are absent (NaN) do not count.

    Comparisons tell differences of utilities. Their common level comes from the prior, and would
    add its uncertainty to every utility.
    """
    return utility - utility.mean(dim)
