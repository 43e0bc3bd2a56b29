"""The compiled Ops of MPM: normalisers of many rankers, and the agreement of counts with scores.

Numba and C modes run the kernels of `bayesrank.likelihoods.mpm.kernels`. JAX runs the equivalent
graphs of `bayesrank.likelihoods.mpm.graph`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.tensor import TensorLike, TensorVariable

from bayesrank.likelihoods.mpm.draws import draw_counts, draw_net_counts
from bayesrank.likelihoods.mpm.graph import log_pair_normaliser
from bayesrank.likelihoods.mpm.kernels import (
    agreements_kernel,
    agreements_pullback_kernel,
    pair_normalisers_kernel,
    pair_normalisers_pullback_kernel,
)
from bayesrank.likelihoods.ops.arrays import segment_sum
from bayesrank.likelihoods.ops.compiled import CompiledOp, KernelOp

__all__ = [
    "Agreement",
    "CountsDraw",
    "LogNormalisers",
    "NetCountsDraw",
    "agreement",
    "log_normaliser_table",
]


class LogNormalisers(CompiledOp):
    """Log normaliser of every problem and ranker, (n_problems, n_rankers).

    Inputs: score (n_problems, n_items), variance (n_problems, n_items), adherence (n_rankers,),
    where (n_problems, n_items), needed (n_problems, n_rankers). Instead of variance or needed, the
    Op takes an empty constant with the static shape (1, 0).
    """

    kernel = staticmethod(pair_normalisers_kernel)
    pullback_kernel = staticmethod(pair_normalisers_pullback_kernel)
    signature = "(p,k),(q,l),(n),(p,k),(u,v)->(p,n)"
    or_length = (("q", "p", 1), ("l", "k", 0), ("u", "p", 1), ("v", "n", 0))
    version = 6
    wrt = (0, 1, 2)

    def graph(
        self, score: Any, variance: Any, adherence: Any, where: Any, needed: Any
    ) -> TensorVariable:
        s, g, where = (x[:, None, :] for x in (score, variance, where))
        theta = pt.zeros_like(s[..., 0]) + adherence
        unequal = variance.type.shape[1] != 0
        log_Z = log_pair_normaliser(s, theta, g if unequal else None, where=where)
        return log_Z if needed.type.shape[1] == 0 else pt.switch(needed, log_Z, 0.0)


class Agreement(CompiledOp):
    r"""Agreement of counts with scores, :math:`\sum_{ij} C_n(i, j) D_{ij}`, (n_rankers,).

    Inputs: score (n_items,); variance (n_items,) or empty; ranker, first, second and count of each
    entry (n_entries,). Only the shape of the last input (n_rankers,) is used.
    """

    kernel = staticmethod(agreements_kernel)
    pullback_kernel = staticmethod(agreements_pullback_kernel)
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
    """Counts (n_rankers, n_items, n_items); the inputs of `draw_counts`."""

    kernel = staticmethod(draw_counts)
    signature = "(n,k),(n,l),(n),(n),(n)->(n,k,k)"
    or_length = (("l", "k", 0),)
    version = 4
    dtype = "int64"


class NetCountsDraw(KernelOp):
    """Net counts (n_rankers, n_items); the inputs of `draw_net_counts`."""

    kernel = staticmethod(draw_net_counts)
    signature = "(g),(l),(r),(p,s),(p,s),(4,c),(n),(n,k)->(n,k)"
    or_length = (("l", "g", 0),)
    version = 5
    dtype = "int64"


def log_normaliser_table(
    score: TensorLike,
    adherence: TensorLike,
    variance: TensorLike | None = None,
    *,
    where: TensorLike | None = None,
    needed: TensorLike | None = None,
) -> TensorVariable:
    """Log normaliser of every problem and ranker, compiled.

    Parameters
    ----------
    score : tensor_like of float, (n_problems, n_items)
    adherence : tensor_like of float, (n_rankers,)
        Of each ranker, in all problems.
    variance : tensor_like of float, (n_problems, n_items), optional
        Positive; default 1/2 for all items.
    where : tensor_like of bool, (n_problems, n_items), optional
        Items of each problem; default all.
    needed : tensor_like of bool, (n_problems, n_rankers), optional
        Rankers of each problem, the only ones that take time in compiled code; default all.

    Returns
    -------
    TensorVariable, (n_problems, n_rankers)
        -inf for problems with fewer than two items, 0 where it is not needed.
    """
    score = pt.cast(pt.as_tensor_variable(score), "float64")
    adherence = pt.cast(pt.as_tensor_variable(adherence), "float64")
    variance = pt.constant(np.zeros((1, 0))) if variance is None else variance
    variance = pt.cast(pt.as_tensor_variable(variance), "float64")
    where = pt.ones_like(score, dtype="bool") if where is None else pt.as_tensor_variable(where)
    everyone = pt.constant(np.ones((1, 0), dtype=bool))
    needed = everyone if needed is None else pt.as_tensor_variable(needed)
    return LogNormalisers()(score, variance, adherence, where, needed)


def agreement(
    score: TensorLike,
    variance: TensorLike | None,
    entries: Sequence[TensorLike],
    *,
    like: TensorLike,
) -> TensorVariable:
    """Agreement of the counts of every ranker with the scores, compiled.

    Scores and variances (by default 1/2) are (n_items,). The four `entries` (n_entries,) are the
    ranker, the preferred item, the other item and the count. The result has the length of `like`.
    """
    score = pt.cast(pt.as_tensor_variable(score), "float64")
    variance = pt.constant(np.zeros(0)) if variance is None else variance
    variance = pt.cast(pt.as_tensor_variable(variance), "float64")
    return Agreement()(score, variance, *entries, like)
