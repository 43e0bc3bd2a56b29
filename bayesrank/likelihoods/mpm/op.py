"""The compiled Ops of MPM: normalisers of many rankers, and how far counts agree with scores.

Numba and C modes run the kernels of `bayesrank.likelihoods.mpm.kernels`; JAX and third
derivatives run the graphs of `bayesrank.likelihoods.mpm.graph`, which must agree.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt
from numpy.typing import NDArray
from pytensor.tensor import TensorVariable

from bayesrank.likelihoods.mpm.curvature_kernels import (
    agreements_curvature_kernel,
    pair_normalisers_curvature_kernel,
)
from bayesrank.likelihoods.mpm.draw_kernels import draw_counts_kernel, draw_net_counts_kernel
from bayesrank.likelihoods.mpm.graph import interpolated_log_normaliser, log_pair_normaliser
from bayesrank.likelihoods.mpm.kernels import (
    agreements_kernel,
    agreements_pullback_kernel,
    largest_difference,
    log_of_pairs_kernel,
    n_even_terms,
    needed_rankers,
    pair_moments_kernel,
    pair_normalisers_kernel,
    pair_normalisers_pullback_kernel,
    pull_to_pairs_kernel,
    pull_to_rates_kernel,
)
from bayesrank.likelihoods.ops.arrays import segment_sum
from bayesrank.likelihoods.ops.compiled import CompiledOp, Division, Each, KernelOp

__all__ = [
    "Agreement",
    "CountsDraw",
    "LogNormalisers",
    "NetCountsDraw",
    "agreement",
    "log_normaliser_table",
]

PAIRS_OF_ENTRY = 4  # whose variances differ; an item among equals takes as long, or longer


class LogNormalisers(CompiledOp):
    """Log normaliser of every problem and ranker, (n_problems, n_rankers).

    Inputs: score (n_problems, n_items), variance (n_problems, n_items) or, known to be empty,
    (1, 0), adherence (n_rankers,), where (n_problems, n_items), needed (n_problems, n_rankers) or,
    known to be empty, (1, 0).
    """

    kernel = staticmethod(pair_normalisers_kernel)
    pullback_kernel = staticmethod(pair_normalisers_pullback_kernel)
    curvature_kernel = staticmethod(pair_normalisers_curvature_kernel)
    signature = "(p,k),(q,l),(n),(p,k),(u,v)->(p,n)"
    or_length = (("q", "p", 1), ("l", "k", 0), ("u", "p", 1), ("v", "n", 0))
    version = 5
    division = Division(frozenset("pqu"), entries=(3,), part=16_384)
    wrt = (0, 1, 2)

    def n_entries(self, sizes: Sequence[int], n_rows: int = 1) -> int:
        if sizes[1] == 0:
            return sizes[3]
        return sizes[3] ** 2 // (2 * n_rows * PAIRS_OF_ENTRY)

    @staticmethod
    def in_parts(each: Each, *inputs: NDArray[Any]) -> NDArray[np.float64] | None:
        """Divide the pairs, if there is one problem, with variances."""
        problem = _Problem.only_one(*inputs)
        if problem is None:
            return None
        out = np.zeros((1, inputs[2].size))
        out[0, problem.who] = log_of_pairs_kernel(*problem[:4], problem.moments(each))
        return out

    @staticmethod
    def pullback_in_parts(each: Each, *inputs: NDArray[Any]) -> tuple[NDArray[Any], ...] | None:
        """Divide the pairs likewise."""
        score, variance, adherence, *_, bar = inputs
        problem = _Problem.only_one(*inputs[:-1])
        if problem is None:
            return None
        of_who = bar[0, problem.who]
        by_rate, *series = pull_to_rates_kernel(*problem[:4], of_who, problem.moments(each))

        def pull(first: int, last: int) -> tuple[Any, Any]:
            return pull_to_pairs_kernel(*problem[:4], *series, *problem.rows(first, last))

        found = problem.divided(each, pull, summed=2 * score.size)
        by_score, by_variance = np.zeros_like(score), np.zeros_like(variance)
        by_score[0, problem.used], by_variance[0, problem.used] = np.sum(found, axis=0)
        by_adherence = np.zeros_like(adherence)
        by_adherence[problem.who] = np.sign(adherence[problem.who]) * by_rate
        return by_score, by_variance, by_adherence

    def graph(
        self, score: Any, variance: Any, adherence: Any, where: Any, needed: Any
    ) -> TensorVariable:
        unequal = variance.type.shape[1] != 0
        n_rankers = adherence.type.shape[0]
        if unequal and (n_rankers is None or n_rankers > self.nodes):
            log_Z = interpolated_log_normaliser(
                score, adherence, variance, where=where, nodes=self.nodes
            )
        else:
            s, g, here = (x[:, None, :] for x in (score, variance, where))
            theta = pt.zeros_like(s[..., 0]) + adherence
            log_Z = log_pair_normaliser(s, theta, g if unequal else None, where=here)
        return log_Z if needed.type.shape[1] == 0 else pt.switch(needed, log_Z, 0.0)


class _Problem(NamedTuple):
    """One problem with variances, whose pairs are to be divided."""

    score: NDArray[np.float64]
    variance: NDArray[np.float64]
    reach: float  # largest difference
    rate: NDArray[np.float64]
    used: NDArray[np.int64]  # items
    who: NDArray[np.int64]  # rankers

    @classmethod
    def only_one(
        cls,
        score: NDArray[Any],
        variance: NDArray[Any],
        adherence: NDArray[Any],
        where: NDArray[Any],
        needed: NDArray[Any],
    ) -> "_Problem | None":
        """Return the only problem, or None if there is another, or there are no variances."""
        used, who = np.flatnonzero(where[0]), needed_rankers(needed, 0, adherence.size)
        if len(score) > 1 or variance.shape[1] == 0 or used.size < 2 or who.size == 0:
            return None
        s, g = score[0, used], variance[0, used]
        return cls(s, g, largest_difference(s, g), np.abs(adherence[who]), used, who)

    @property
    def n_pairs(self) -> int:
        return self.used.size * (self.used.size - 1) // 2

    def moments(self, each: Each) -> NDArray[np.float64]:
        """Moments by which rates have their sums, if any."""
        terms = n_even_terms(self.reach * self.rate.max(), self.n_pairs, self.rate.size)
        if terms == 0:
            return np.empty(0)

        def of_rows(first: int, last: int) -> NDArray[np.float64]:
            return pair_moments_kernel(*self[:3], terms, *self.rows(first, last))

        return np.sum(self.divided(each, of_rows, summed=terms), axis=0)

    def rows(self, first: int, last: int) -> tuple[int, int]:
        """Rows of pairs in which those from the first to before the last begin."""
        ends = np.cumsum(np.arange(self.used.size)[::-1])
        begin, end = np.searchsorted(ends, [first, last], side="right")
        return int(begin), int(end)

    def divided(self, each: Each, task: Callable[[int, int], Any], summed: int) -> list[Any]:
        entries = self.n_pairs // PAIRS_OF_ENTRY
        return each(task, self.n_pairs, entries, LogNormalisers.division.part, summed)


class Agreement(CompiledOp):
    r"""Agreement of counts with scores, :math:`\sum_{ij} C_n(i, j) D_{ij}`, (n_rankers,).

    Inputs: score (n_items,), variance (n_items,) or empty, the entries' ranker, first, second and
    count (n_entries,), and an array (n_rankers,) of which only the shape is read.
    """

    kernel = staticmethod(agreements_kernel)
    pullback_kernel = staticmethod(agreements_pullback_kernel)
    curvature_kernel = staticmethod(agreements_curvature_kernel)
    signature = "(k),(l),(e),(e),(e),(e),(n)->(n)"
    or_length = (("l", "k", 0),)
    version = 2
    wrt = (0, 1)

    def graph(
        self, score: Any, variance: Any, ranker: Any, first: Any, second: Any, count: Any, like: Any
    ) -> TensorVariable:
        D = score[first] - score[second]
        if variance.type.shape[0] != 0:
            D = D / (variance[first] + variance[second])
        return segment_sum(count * D, (ranker,), (like.shape[0],))


class CountsDraw(KernelOp):
    """Counts (n_rankers, n_items, n_items); the inputs of `draw_counts_kernel`."""

    kernel = staticmethod(draw_counts_kernel)
    signature = "(n,k),(n,l),(n),(n),(n)->(n,k,k)"
    or_length = (("l", "k", 0),)
    version = 3
    dtype = "int64"


class NetCountsDraw(KernelOp):
    """Net counts (n_rankers, n_items); the inputs of `draw_net_counts_kernel`."""

    kernel = staticmethod(draw_net_counts_kernel)
    signature = "(g),(l),(r),(p,s),(p,s),(4,c),(n),(n,k)->(n,k)"
    or_length = (("l", "g", 0),)
    version = 4
    dtype = "int64"


# ---------------------------------------------------------------------------------------------
# Graphs
# ---------------------------------------------------------------------------------------------


def log_normaliser_table(
    score: Any,
    adherence: Any,
    variance: Any = None,
    *,
    where: Any = None,
    needed: Any = None,
    nodes: int = 32,
) -> TensorVariable:
    """Log normaliser of every problem and ranker, compiled.

    Parameters
    ----------
    score : tensor_like of float, (n_problems, n_items)
    adherence : tensor_like of float, (n_rankers,)
        Of each ranker, in all problems.
    variance : tensor_like of float, (n_problems, n_items), optional
        Positive; default 1/2, all equal.
    where : tensor_like of bool, (n_problems, n_items), optional
        Items of each problem; default all.
    needed : tensor_like of bool, (n_problems, n_rankers), optional
        Rankers of each problem; default all. The compiled cost is that of these.
    nodes : int
        Adherences from which JAX and third derivatives interpolate, if there are variances and
        more rankers than that.

    Returns
    -------
    TensorVariable, (n_problems, n_rankers)
        -inf for problems of fewer than two items, 0 where it is not needed.
    """
    score = pt.cast(pt.as_tensor_variable(score), "float64")
    adherence = pt.cast(pt.as_tensor_variable(adherence), "float64")
    variance = pt.constant(np.zeros((1, 0))) if variance is None else variance
    variance = pt.cast(pt.as_tensor_variable(variance), "float64")
    where = pt.ones_like(score, dtype="bool") if where is None else pt.as_tensor_variable(where)
    everyone = pt.constant(np.ones((1, 0), dtype=bool))
    needed = everyone if needed is None else pt.as_tensor_variable(needed)
    return LogNormalisers(nodes)(score, variance, adherence, where, needed)


def agreement(score: Any, variance: Any, entries: Sequence[Any], *, like: Any) -> TensorVariable:
    """Agreement of the counts of every ranker with the scores, compiled.

    Parameters
    ----------
    score : tensor_like of float, (n_items,)
    variance : tensor_like of float, (n_items,), optional
        Positive; default 1/2, all equal.
    entries : four tensor_like, (n_entries,)
        Ranker, preferred item, other item and count of each entry.
    like : tensor_like, (n_rankers,)
        Says how many rankers there are.

    Returns
    -------
    TensorVariable, (n_rankers,)
    """
    score = pt.cast(pt.as_tensor_variable(score), "float64")
    variance = pt.constant(np.zeros(0)) if variance is None else variance
    variance = pt.cast(pt.as_tensor_variable(variance), "float64")
    return Agreement()(score, variance, *entries, like)
