"""Matches and rankings as observations of utilities over time.

Every observation has *rows* of a design matrix: the lead and tie parameter of a match, or the
utilities in a ranking's slots. The columns are the unknowns: utilities at *nodes*, and effects
*common* to all times, such as the order effect. A node is an item at a time at which it is
observed. The log-probability of an observation is a function of its rows. Its curvature is a small
matrix for each observation.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bayesrank.data import Pairs, Rankings
from bayesrank.likelihoods.plackett_luce.per_slot_kernel import per_slot_kernel
from bayesrank.match_outcomes import outcome_curvature

__all__ = ["Common", "Evaluated", "Nodes", "Observations", "observations_of"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def _itself(x: Any) -> Any:
    return x


def _exp_exp(x: Any) -> Any:
    return np.exp(np.exp(x))


class Common(NamedTuple):  # its functions have names, so that a fit can be pickled
    """An effect that is constant over time, with a normal prior."""

    name: str
    mean: float
    sd: float
    value: Callable[[Any], Any] = _itself  # transformation to the parameter in the results


ORDER = Common("order_effect", 0.0, 0.5)
AT_ONCE = 100_000  # rows evaluated at once, which bounds memory
STEP = 1e-4  # step of differences of gradients, for errors below 1e-7
TIES = {  # tie parameter by likelihood
    "bradley_terry": None,
    "davidson": Common("nu", 0.0, 1.0, np.exp),
    "rao_kupper": Common("theta", -0.5, 1.0, _exp_exp),
}


class Nodes(NamedTuple):
    """Items at times: chain after chain, each in the order of time."""

    item: Ints  # (n_nodes,)
    time: Floats  # (n_nodes,)

    @property
    def start(self) -> Ints:
        """First node of every chain, and the end of the last chain; an item is a chain."""
        return np.append(np.flatnonzero(np.diff(self.item, prepend=-1)), self.item.size)

    @property
    def gap(self) -> Floats:
        """Time since the previous node, 0 for the first node of a chain."""
        gap = np.diff(self.time, prepend=0.0)
        gap[self.start[:-1]] = 0.0
        return gap

    def places(self, item: Ints, time: Floats) -> Ints:
        """Find positions of items at times among the nodes, -1 if missing."""
        mine = pd.MultiIndex.from_arrays([self.item, self.time])
        return mine.get_indexer(pd.MultiIndex.from_arrays([item, time])).astype(np.int64)


def nodes_of(item: Ints, time: Floats) -> tuple[Nodes, Ints]:
    """Make sorted distinct nodes, and return the position of each item and time."""
    times, code = np.unique(time, return_inverse=True)
    key, place = np.unique(item * times.size + code, return_inverse=True)
    return Nodes(key // times.size, times[key % times.size]), place


class Evaluated(NamedTuple):
    """The log-probabilities of observations at some values of their rows."""

    logp: Floats  # (n_observations,)
    slope: Floats  # (n_rows,)
    curvature: Floats  # minus the second derivatives: a ravelled matrix for each observation


class Observations(NamedTuple):
    """The design matrix of observations, and their log-probabilities given its rows."""

    nodes: Nodes
    common: tuple[Common, ...]
    design: csr_array  # (n_rows, n)
    first_row: Ints  # (n_observations + 1,)
    time: Floats  # (n_observations,)
    evaluate: Callable[..., Evaluated]  # takes the rows of some observations, and their positions

    def head(self, n: int) -> "Observations":
        """Keep the first n observations, and all nodes."""
        return self._replace(
            design=self.design[: self.first_row[n]],
            first_row=self.first_row[: n + 1],
            time=self.time[:n],
            evaluate=lambda rows, some=slice(None): self.evaluate(rows, np.arange(n)[some]),
        )

    def tail(self, n: int) -> "Observations":
        """Drop the first n observations; log-probabilities of the others are not available."""
        return self._replace(
            design=self.design[self.first_row[n] :],
            first_row=self.first_row[n:] - self.first_row[n],
            time=self.time[n:],
        )

    @property
    def n(self) -> int:
        """Number of unknowns."""
        return self.nodes.item.size + len(self.common)

    @property
    def means(self) -> Floats:
        """Prior means of the unknowns, (n,)."""
        return np.append(np.zeros(self.nodes.item.size), [one.mean for one in self.common])

    def rows(self, x: Floats) -> Floats:
        """Compute the rows at x, the unknowns minus their prior means."""
        return np.asarray(self.design @ (x + self.means))

    def at_columns(self, x: Floats) -> Iterator[Evaluated]:
        """Evaluate at the columns of x, (n, m), several at once; each part has one row a column."""
        n, at_once = len(self.first_row) - 1, max(1, AT_ONCE // self.design.shape[0])
        for first in range(0, x.shape[1], at_once):
            some = x[:, first : first + at_once]
            rows = self.design @ (some + self.means[:, None])
            found = self.evaluate(rows.T.ravel(), np.tile(np.arange(n), some.shape[1]))
            yield Evaluated(*(one.reshape(some.shape[1], -1) for one in found))

    def logp(self, x: Floats) -> Floats:
        """Sum the log-probabilities at each column of x, (n, m); the result is (m,)."""
        return np.concatenate([found.logp.sum(axis=1) for found in self.at_columns(x)])

    def block_diagonal(self, blocks: Floats) -> csr_array:
        """Make a block-diagonal matrix with one block per observation, ravelled in `blocks`."""
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
    covariates: Mapping[str, Floats] | None = None,
    also: tuple[Ints, Floats] | None = None,
) -> Observations:
    """Build the design matrix and the log-probabilities.

    Parameters
    ----------
    data : Pairs or Rankings
    time : array, (n_pairs,) or (n_rankings,)
    likelihood, order_effect, covariates
        See `fit_dynamic`.
    also : tuple of array, optional
        Items and times of further nodes.
    """
    item, sign, when = _rows_of_items(data, time)
    extra_item, extra_time = also or (np.zeros(0, dtype=np.int64), np.zeros(0))
    nodes, place = nodes_of(
        np.append(item.ravel(), extra_item).astype(np.int64),
        np.append(np.repeat(when, item.shape[1]), extra_time),
    )
    columns, values = [place[: item.size].reshape(item.shape)], [np.tile(sign, (len(item), 1))]
    common: list[Common] = []

    def add(effect: Common, value: Any) -> None:
        columns.append(np.full((len(item), 1), nodes.item.size + len(common)))
        values.append(np.broadcast_to(value, len(item))[:, None])
        common.append(effect)

    if order_effect and isinstance(data, Pairs):
        add(ORDER, 1.0)
    for name, x in (covariates or {}).items():
        effect = ORDER if name == ORDER.name else Common(name, 0.0, 1.0)
        add(effect, x if isinstance(data, Pairs) else x[data.mask])
    tie = TIES.get(likelihood)
    if tie is not None:
        add(tie, 1.0)
    column, value = np.concatenate(columns, axis=1), np.concatenate(values, axis=1)
    pointer = np.arange(len(item) + 1) * column.shape[1]
    if tie is not None:  # the last entry is a separate row
        pointer = np.append(np.stack([pointer[:-1], pointer[1:] - 1], axis=1), column.size)
    shape = (pointer.size - 1, nodes.item.size + len(common))
    design = csr_array((value.ravel(), column.ravel(), pointer), shape=shape)
    if isinstance(data, Pairs):
        n_rows, counts = (1 if tie is None else 2), data.counts * data.weight[:, None]
        evaluate = partial(_evaluate_pairs, counts, n_rows, likelihood != "rao_kupper")
        first_row = np.arange(data.n_pairs + 1) * n_rows
    else:
        evaluate = partial(_evaluate_rankings, data)
        first_row = np.append(0, data.mask.sum(axis=1).cumsum())
    return Observations(nodes, tuple(common), design, first_row, time, evaluate)


def _rows_of_items(data: Pairs | Rankings, time: Floats) -> tuple[Any, Floats, Floats]:
    """Return the items of every lead or slot, (n, 2) or (n, 1), their signs, and the times."""
    if isinstance(data, Pairs):
        return np.stack([data.first, data.second], axis=1), np.array([1.0, -1.0]), time
    row, _ = np.nonzero(data.mask)
    return data.item[data.mask][:, None], np.array([1.0]), time[row]


def _evaluate_pairs(
    counts: Floats, n_rows: int, davidson: bool, rows: Floats, some: Any = slice(None)
) -> Evaluated:
    parts = rows.reshape(-1, n_rows)
    tie = parts[:, 1] if n_rows == 2 else -np.inf
    logp, slope, curvature = outcome_curvature(parts[:, 0], tie, counts[some], davidson)
    return Evaluated(logp, slope[:, :n_rows].ravel(), curvature[:, :n_rows, :n_rows].ravel())


def _evaluate_rankings(rankings: Rankings, rows: Floats, some: Any = slice(None)) -> Evaluated:
    used, weight = rankings.mask[some], rankings.evidence[some]
    # numba would compile again for read-only arrays and other integer types
    ranks = np.array(rankings.ranks[some], dtype=np.int64)
    utility = np.zeros(used.shape)
    utility[used] = rows
    logp, slope = per_slot_kernel(utility, ranks)
    hessian = np.empty((*used.shape, used.shape[1]))
    for j in range(used.shape[1]):
        step = np.zeros(used.shape)
        step[:, j] = STEP * used[:, j]
        ahead, behind = (per_slot_kernel(at, ranks)[1] for at in (utility + step, utility - step))
        hessian[:, :, j] = (ahead - behind) / (2 * STEP)
    curvature = -weight[:, None, None] * (hessian + hessian.transpose(0, 2, 1)) / 2
    both = used[:, :, None] & used[:, None, :]
    return Evaluated(weight * logp, (slope * weight[:, None])[used], curvature[both])
