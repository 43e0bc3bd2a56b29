r"""Choices of the best and the worst item of a set, and choices with a scale at each stage.

A task shows a set C. The pair (b, w) of its best and its worst item has, with utilities u,

.. math:: P(b, w) = \frac{e^{v_b}}{\sum_{i \in C} e^{v_i}} \cdot
                    \frac{e^{-u_w}}{\sum_{j \in C \setminus b} e^{-u_j}}

for two methods that differ in the scores v of the best item. They are :math:`v_i = u_i`
(sequential) or :math:`v_i = u_i + \log \sum_{j \ne i} e^{-u_j}`. The latter is Marley's maxdiff
model, :math:`P(b, w) \propto e^{u_b - u_w}`.

Leading axes are rankings, and the last axis is the slots of one ranking, with `ranks` as in
`bayesrank.likelihoods.plackett_luce`.
"""

from functools import partial
from typing import Any

import numpy as np
import pytensor.tensor as pt
from numpy.typing import NDArray
from pytensor.tensor import TensorLike, TensorVariable

from bayesrank.likelihoods.ops import NOTHING, KernelOp, over_rows, stop_gradient, valid_ranks

__all__ = [
    "METHODS",
    "best_score",
    "best_worst_logp",
    "chosen_in_turn",
    "scaled_stages_logp",
    "stage_scores",
]

METHODS = ("sequential", "marley")


def _log_sum(x: TensorVariable, where: TensorVariable) -> TensorVariable:
    """Logarithm of the sum of ``exp(x)`` over the last axis; about -1e30 for an empty sum."""
    x = pt.switch(where, x, NOTHING)
    peak = stop_gradient(pt.max(x, axis=-1, keepdims=True))
    return peak[..., 0] + pt.log(pt.sum(pt.exp(x - peak), axis=-1))


def _sum(x: TensorVariable, where: TensorVariable) -> TensorVariable:
    return pt.sum(pt.switch(where, x, 0.0), axis=-1)


def utility_of(ranks: TensorVariable, utility: TensorVariable) -> TensorVariable:
    """Return the utilities of the slots in use, 0 in others, with the shape of the ranks.

    JAX cannot compare the lengths of two arrays, so that everything takes them from one.
    """
    row, slot = (pt.cumsum(pt.ones_like(ranks), axis=axis) - 1 for axis in (0, 1))
    return pt.switch(ranks > 0, utility[row, slot], 0.0)


# Best and worst


def best_score(utility: TensorVariable, where: TensorVariable, *, method: str) -> TensorVariable:
    """Return the scores v of the items as the best one, (..., n_slots)."""
    if method == "sequential":
        return utility
    slot = pt.cumsum(pt.ones_like(utility, dtype="int64"), axis=-1)
    others = pt.neq(slot[..., :, None], slot[..., None, :]) & where[..., None, :]
    return utility + _log_sum(-utility[..., None, :], others)


def best_worst_logp(utility: TensorLike, ranks: TensorLike, *, method: str) -> TensorVariable:
    """Log-probability of the best and the worst item of a set, one per ranking.

    In `ranks`, (..., n_slots), 1 is the best item, the largest rank the worst one, and the rank
    between all others. Other ranks have the log-probability -inf.

    >>> logp = best_worst_logp([1.0, 0.0, -1.0], [1, 2, 3], method="marley")
    >>> round(float(logp.eval()), 4)
    -0.6172
    """
    return over_rows(partial(_best_worst_of_rows, method=method), utility, ranks)


def _best_worst_of_rows(
    utility: TensorVariable, ranks: TensorVariable, *, method: str
) -> TensorVariable:
    used, last = ranks > 0, pt.max(ranks, axis=1, keepdims=True)
    best, worst = pt.eq(ranks, 1), pt.eq(ranks, last) & (last > 1)
    u, rest = utility_of(ranks, utility), used & ~best

    v = best_score(u, used, method=method)
    logp = _sum(v, best) - _log_sum(v, used) - _sum(u, worst) - _log_sum(-u, rest)

    n, n_best, n_worst = (pt.sum(x, axis=1) for x in (used, best, worst))
    possible = pt.eq(n_best, n > 0) & pt.eq(n_worst, n > 1) & (last[:, 0] <= 3)
    return pt.switch(possible & valid_ranks(ranks), pt.switch(n > 1, logp, 0.0), -np.inf)


# A scale at each stage


def stage_scores(utility: TensorVariable, scale: TensorVariable) -> TensorVariable:
    """Return the scaled utilities at every stage, (..., n_slots stages, n_slots).

    Stages after the last scale, (..., n_stages), have the scale 0.
    """
    stage = pt.cumsum(pt.ones_like(utility, dtype="int64"), axis=-1)[..., None, :]
    number = pt.cumsum(pt.ones_like(scale, dtype="int64"), axis=-1)[..., :, None]
    stage_scales = pt.sum(pt.switch(pt.eq(number, stage), scale[..., :, None], 0.0), axis=-2)
    return stage_scales[..., :, None] * utility[..., None, :]


def scaled_stages_logp(utility: TensorLike, ranks: TensorLike, scale: TensorLike) -> TensorVariable:
    r"""Log-probability of full rankings and top-k lists with a scale at each stage.

    .. math:: \log P = \sum_{m} \left( s_m w_{i_m} - \log \sum_{j \in R_m} e^{s_m w_j} \right)

    where :math:`i_m` is the item that is chosen at stage m from the items :math:`R_m` that remain.
    After the last of the scales s, (..., n_stages), choices are random. If another block than the
    last has several items, the log-probability is -inf. Memory and time grow with the square of the
    number of slots.

    >>> round(float(scaled_stages_logp([1.0, 0.0, 0.0], [1, 2, 3], [2.0]).exp().eval()), 4)
    0.3935
    """
    return over_rows(_stages_of_rows, utility, ranks, pt.as_tensor_variable(scale))


def _stages_of_rows(
    utility: TensorVariable, ranks: TensorVariable, scale: TensorVariable
) -> TensorVariable:
    # the scale of the stage at which each slot is chosen
    n_stages, row = scale.shape[1], pt.cumsum(pt.ones_like(ranks), axis=0) - 1
    s = pt.switch(ranks <= n_stages, scale[row, pt.clip(ranks - 1, 0, n_stages - 1)], 0.0)
    u, last = utility_of(ranks, utility), pt.max(ranks, axis=1, keepdims=True)

    chosen, remain = (ranks > 0) & (ranks < last), ranks[:, None, :] >= ranks[:, :, None]
    logp = _sum(s * u - _log_sum(s[:, :, None] * u[:, None, :], remain), chosen)

    possible = valid_ranks(ranks) & pt.eq(pt.sum(chosen, axis=1), pt.maximum(last[:, 0] - 1, 0))
    return pt.switch(possible, logp, -np.inf)


def in_turn_kernel(score: NDArray[np.float64], where: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Choose the item with the highest score of each stage that is left; stages from 0."""
    row, left = np.arange(len(score)), where.astype(bool)
    stage = np.zeros(left.shape, np.int64)
    for m in range(left.shape[1]):
        left[row, np.where(left, score[:, m], -np.inf).argmax(axis=1)] = False
        stage += left  # an item is left after all stages before its own
    return stage


class ChosenInTurn(KernelOp):
    """The stage at which each slot is chosen; use `chosen_in_turn`."""

    kernel = staticmethod(in_turn_kernel)
    signature = "(r,m,s),(r,s)->(r,s)"
    dtype = "int64"


def chosen_in_turn(score: TensorVariable, where: TensorVariable) -> TensorVariable:
    """Return the stage, from 0, at which each slot is chosen, (..., n_slots).

    At each stage, the slot in use with the highest score (..., n_slots stages, n_slots) is chosen
    from those that are left.
    """
    where = where | pt.zeros_like(score[..., 0, :], dtype="bool")
    rows: Any = (x.reshape((-1, *x.shape[n:])) for x, n in ((score, -2), (where, -1)))
    return ChosenInTurn()(*rows).reshape(where.shape)
