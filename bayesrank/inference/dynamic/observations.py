"""Matches and rankings as observations of utilities over time.

Every observation has *rows* of a design matrix: the lead and the parameter of ties of a match, or
the utilities in the slots of a ranking. Its columns are the unknowns: the utilities at the *nodes*,
an item at a time at which it is seen, and then the effects that are *common* to all times, such as
the order effect. The log-probability of an observation is a function of its rows, with a slope and
a curvature, a small matrix for each observation.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bayesrank.data import Pairs, Rankings
from bayesrank.likelihoods.pairs import outcome_curvature_kernel
from bayesrank.likelihoods.plackett_luce.per_slot_kernel import per_slot_kernel

__all__ = ["Common", "Evaluated", "Nodes", "Observations", "observations_of"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Common(NamedTuple):
    """An effect that is the same at all times: a name, and the mean and sd of its normal prior."""

    name: str
    mean: float
    sd: float


ORDER = Common("order_effect", 0.0, 0.5)
NEWCOMER = Common("newcomer", 0.0, 1.0)
TIES = {  # by likelihood: the parameter in the results, whose transform is normal
    "bradley_terry": None,
    "davidson": Common("nu", 0.0, 1.0),
    "rao_kupper": Common("theta", -0.5, 1.0),
}
TIE_VALUE: Mapping[str, Callable[[Any], Any]] = {
    "nu": np.exp,
    "theta": lambda x: np.exp(np.exp(x)),
}


class Nodes(NamedTuple):
    """Items at times: chain after chain, and in each the times in order."""

    item: Ints  # (n_nodes,)
    time: Floats  # (n_nodes,)

    @property
    def start(self) -> Ints:
        """First node of every chain, and where the last one ends; an item is a chain."""
        return np.append(np.flatnonzero(np.diff(self.item, prepend=-1)), self.item.size)

    @property
    def gap(self) -> Floats:
        """Time since the node before, 0 for the first of a chain."""
        gap = np.diff(self.time, prepend=0.0)
        gap[self.start[:-1]] = 0.0
        return gap

    def places(self, item: Ints, time: Floats) -> Ints:
        """Find where items at times are among them; -1 of what is not there."""
        mine = pd.MultiIndex.from_arrays([self.item, self.time])
        return mine.get_indexer(pd.MultiIndex.from_arrays([item, time])).astype(np.int64)


def nodes_of(item: Ints, time: Floats) -> tuple[Nodes, Ints]:
    """List the distinct ones in order, and which of them each is."""
    times, code = np.unique(time, return_inverse=True)
    key, place = np.unique(item * times.size + code, return_inverse=True)
    return Nodes(key // times.size, times[key % times.size]), place


class Evaluated(NamedTuple):
    """The log-probabilities of observations at some values of their rows."""

    logp: Floats  # (n_observations,)
    slope: Floats  # (n_rows,)
    curvature: Floats  # minus the second derivatives: a small matrix for each observation, raveled


class Observations(NamedTuple):
    """The design matrix of observations, and their log-probabilities given its rows."""

    nodes: Nodes
    common: tuple[Common, ...]
    design: csr_array  # (n_rows, n)
    first_row: Ints  # (n_observations + 1,)
    time: Floats  # (n_observations,)
    evaluate: Callable[..., Evaluated]  # from the rows, (n_rows,), of some observations

    def head(self, n: int) -> "Observations":
        """Keep the first n observations, and all nodes."""
        return self._replace(
            design=self.design[: self.first_row[n]],
            first_row=self.first_row[: n + 1],
            time=self.time[:n],
            evaluate=lambda rows: self.evaluate(rows, slice(n)),
        )

    def tail(self, n: int) -> "Observations":
        """Leave out the first n observations; log-probabilities of the others are not known."""
        return self._replace(
            design=self.design[self.first_row[n] :],
            first_row=self.first_row[n:] - self.first_row[n],
            time=self.time[n:],
        )

    @property
    def n(self) -> int:
        """Count the unknowns."""
        return self.nodes.item.size + len(self.common)

    @property
    def means(self) -> Floats:
        """Prior means of the unknowns, (n,)."""
        return np.append(np.zeros(self.nodes.item.size), [one.mean for one in self.common])

    def rows(self, x: Floats) -> Floats:
        """Compute the rows at x, the unknowns less their prior means."""
        return np.asarray(self.design @ (x + self.means))

    def block_diagonal(self, blocks: Floats) -> csr_array:
        """Make a matrix of one block for the rows of each observation, raveled in `blocks`."""
        sizes = np.diff(self.first_row)
        per_row = np.repeat(sizes, sizes)
        ends = np.append(0, per_row.cumsum())
        column = np.arange(ends[-1]) - np.repeat(ends[:-1], per_row)
        column += np.repeat(np.repeat(self.first_row[:-1], sizes), per_row)
        return csr_array((blocks, column, ends), shape=(len(per_row), len(per_row)))


def observations_of(
    data: Pairs | Rankings,
    time: Floats,
    likelihood: str,
    *,
    order_effect: bool = True,
    newcomers: bool = False,
    covariates: Mapping[str, Floats] | None = None,
    also: tuple[Ints, Floats] | None = None,
) -> Observations:
    """Lay out what is observed.

    Parameters
    ----------
    data : Pairs or Rankings
    time : array, (n_pairs,) or (n_rankings,)
    likelihood : str
        "bradley_terry", "davidson" or "rao_kupper" of pairs, "plackett_luce" of rankings.
    order_effect, newcomers : bool
        Whether the first item has an advantage, and whether items that are not there at the first
        time have a mean of their own.
    covariates : mapping of str to array, (n_pairs,) or (n_rankings, n_slots), optional
        What adds to the lead or to the utility in a slot, times a coefficient.
    also : tuple of array, optional
        Items and times that shall be nodes, too.

    Returns
    -------
    Observations
    """
    also = also or (np.zeros(0, dtype=np.int64), np.zeros(0))
    if isinstance(data, Pairs):
        return _of_pairs(data, time, likelihood, order_effect, newcomers, covariates or {}, also)
    return _of_rankings(data, time, newcomers, covariates or {}, also)


def _of_pairs(
    pairs: Pairs,
    time: Floats,
    likelihood: str,
    order_effect: bool,
    newcomers: bool,
    covariates: Mapping[str, Floats],
    also: tuple[Ints, Floats],
) -> Observations:
    n = pairs.n_pairs
    item = np.concatenate([pairs.first, pairs.second, also[0]]).astype(np.int64)
    nodes, place = nodes_of(item, np.concatenate([time, time, also[1]]))
    first, second = place[:n], place[n : 2 * n]

    one = np.ones(n)
    entries: list[tuple[Ints, Any]] = [(first, one), (second, -one)]
    common: list[Common] = []

    def add(what: Common, values: Any) -> None:
        entries.append((np.full(n, nodes.item.size + len(common)), values))
        common.append(what)

    if order_effect:
        add(ORDER, one)
    if newcomers and (late := _late(nodes)).any():
        add(NEWCOMER, 1.0 * late[pairs.first] - late[pairs.second])
    for name, values in covariates.items():
        add(Common(name, 0.0, 1.0), np.asarray(values, dtype=float))
    counts = pairs.counts * pairs.weight[:, None]
    tie, davidson = TIES[likelihood], likelihood != "rao_kupper"
    n_rows = 1 if tie is None else 2
    if tie is not None:
        entries.append((np.full(n, nodes.item.size + len(common)), one))
        common.append(tie)
    node, value = (np.stack(each, axis=1) for each in zip(*entries, strict=True))
    per_pair = node.shape[1]
    pointer = np.arange(n + 1) * per_pair
    if tie is not None:  # the last entry is a row of its own
        pointer = np.append(
            np.stack([pointer[:-1], pointer[:-1] + per_pair - 1], axis=1), n * per_pair
        )

    def evaluate(rows: Floats, of: Any = slice(None)) -> Evaluated:
        parts = rows.reshape(-1, n_rows)
        ties = parts[0, 1] if tie is not None and len(parts) else -np.inf
        logp, slope, curvature = outcome_curvature_kernel(
            np.ascontiguousarray(parts[:, 0]), ties, counts[of], davidson
        )
        return Evaluated(logp, slope[:, :n_rows].ravel(), curvature[:, :n_rows, :n_rows].ravel())

    shape = (n * n_rows, nodes.item.size + len(common))
    design = csr_array((value.ravel(), node.ravel(), pointer), shape=shape)
    return Observations(nodes, tuple(common), design, np.arange(n + 1) * n_rows, time, evaluate)


def _of_rankings(
    rankings: Rankings,
    time: Floats,
    newcomers: bool,
    covariates: Mapping[str, Floats],
    also: tuple[Ints, Floats],
) -> Observations:
    mask = rankings.mask
    row, _ = np.nonzero(mask)
    item = np.concatenate([rankings.item[mask], also[0]]).astype(np.int64)
    nodes, place = nodes_of(item, np.concatenate([time[row], also[1]]))
    place = place[: row.size]
    entries: list[tuple[Ints, Any]] = [(place, np.ones(place.size))]
    common: list[Common] = []
    if newcomers and (late := _late(nodes)).any():
        entries.append((np.full(place.size, nodes.item.size), 1.0 * late[rankings.item[mask]]))
        common.append(NEWCOMER)
    for name, values in covariates.items():
        entries.append((np.full(place.size, nodes.item.size + len(common)), values[mask]))
        common.append(Common(name, 0.0, 1.0))
    node, value = (np.stack(each, axis=1) for each in zip(*entries, strict=True))
    size = mask.sum(axis=1)
    first_row = np.append(0, size.cumsum())

    def evaluate(rows: Floats, of: Any = slice(None)) -> Evaluated:
        here, weight = mask[of], rankings.weight[of]
        # numba compiles anew for arrays that are locked, and for other integers
        ranks = np.array(rankings.ranks[of], dtype=np.int64)
        utility = np.zeros(here.shape)
        utility[here] = rows
        logp, slope = per_slot_kernel(utility, ranks)
        bent = _bend(utility, ranks, here, -weight)
        both = here[:, :, None] & here[:, None, :]
        return Evaluated(weight * logp, (slope * weight[:, None])[here], bent[both])

    pointer = np.arange(len(row) + 1) * node.shape[1]
    shape = (len(row), nodes.item.size + len(common))
    design = csr_array((value.ravel(), node.ravel(), pointer), shape=shape)
    return Observations(nodes, tuple(common), design, first_row, time, evaluate)


STEP = 1e-4  # of differences of gradients; their errors are below 1e-7


def _bend(
    utility: Floats, ranks: NDArray[np.int64], here: NDArray[np.bool_], weight: Floats
) -> Floats:
    """Weighted second derivatives of every ranking, (n_rankings, n_slots, n_slots)."""
    n_rankings, n_slots = here.shape
    bent = np.empty((n_rankings, n_slots, n_slots))
    for j in range(n_slots):
        step = np.zeros(here.shape)
        step[:, j] = STEP * here[:, j]
        ahead = per_slot_kernel(utility + step, ranks)[1]
        behind = per_slot_kernel(utility - step, ranks)[1]
        bent[:, :, j] = (ahead - behind) / (2 * STEP)
    return weight[:, None, None] * (bent + bent.transpose(0, 2, 1)) / 2


def _late(nodes: Nodes) -> NDArray[np.bool_]:
    """Which items are not there at the first time."""
    entry = nodes.start[:-1]
    late = np.zeros(nodes.item.max() + 1, dtype=bool)
    late[nodes.item[entry]] = nodes.time[entry] > nodes.time.min()
    return late
