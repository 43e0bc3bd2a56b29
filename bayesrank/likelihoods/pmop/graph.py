r"""PMOP, probabilistic model over ordered partitions: Plackett-Luce that chooses sets.

A ranking is a weak order :math:`S_1 > S_2 > \dots > S_M`: blocks of items judged equal, best first.
Stage :math:`m` chooses the block :math:`S_m` among all non-empty subsets of the remaining items,
:math:`R_m = S_m \cup \dots \cup S_M`:

.. math:: P(S_1 > \dots > S_M) = \prod_m \frac{\delta_{|S_m|} \Phi(S_m)}{Z(R_m)}, \qquad
          Z(R) = \sum_{\emptyset \ne S \subseteq R} \delta_{|S|} \Phi(S) .

:math:`\Phi` is a mean of the worths :math:`e^{w_i}` of the block. The weights :math:`\delta` of
sizes are one unless tie prevalences are given. Given the sizes, the sum is over subsets of the same
size. The normalisers of a remainder of n items are:

==========  =====================================================================================
mean        :math:`\frac{1}{n} \sum_m \delta_m \binom{n}{m} \sum_i e^{w_i}`
max         :math:`\sum_i c_{k_i} e^{w_i}` with :math:`k_i` the number of items below i, and
            :math:`c_k = \sum_m \delta_m \binom{k}{m-1}` (:math:`2^k` for equal weights)
min         the same with the number of items above
geometric   :math:`\sum_m \delta_m e_m(e^{w/m})`, :math:`e_m` the elementary symmetric polynomials
harmonic    :math:`\int_0^\infty \sum_m \delta_m m\, e_m(q) dt` with
            :math:`q_i = \exp(-t e^{-w_i})`; for equal weights the integrand is
            :math:`\prod_i (1 + q_i) \sum_j q_j / (1 + q_j)`
==========  =====================================================================================

Leading axes are rankings, and the last axis is the slots of one ranking. JAX and the tests use
these graphs; `bayesrank.likelihoods.pmop.op` computes the same numbers in one compiled pass. With
given or weighted sizes, these graphs suit only small sets under the geometric and harmonic means.
They allocate an array of stages x sizes x items x nodes for each ranking.

>>> import pytensor.tensor as pt
>>> sets = pt.constant([[True, True]])
>>> w, log_weight = pt.constant([[0.0, 0.0]]), pt.zeros((1, 0))
>>> float(log_set_normaliser(w, sets, "mean", None, log_weight).exp().eval()[0].round(6))
3.0
"""

from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.tensor import TensorVariable

from bayesrank.likelihoods.ops.arrays import NOTHING, valid_ranks
from bayesrank.likelihoods.ops.stable import softplus
from bayesrank.likelihoods.ops.stop_gradient import stop_gradient
from bayesrank.likelihoods.pmop.elementary_symmetric import log_elementary_symmetric
from bayesrank.likelihoods.pmop.set_kernels import LEFT
from bayesrank.likelihoods.pmop.subset_kernels import NEGLIGIBLE

__all__ = ["log_score", "log_set_normaliser", "pmop_logp_of_matrix"]

NODES = 160  # of the integral of the harmonic mean
LN2 = float(np.log(2.0))


def pmop_logp_of_matrix(
    utility: TensorVariable,
    ranks: TensorVariable,
    log_weight: TensorVariable,
    stage_weight: TensorVariable,
    *,
    aggregate: str,
    given_sizes: bool,
    nodes: int = 48,
) -> TensorVariable:
    """Log-probability of weak orders.

    Parameters
    ----------
    utility : TensorVariable of float, (n_rankings, n_slots)
        Log worth of the item in each slot.
    ranks : TensorVariable of int, (n_rankings, n_slots)
        Dense ranks in any order of slots, 0 in empty ones.
    log_weight : TensorVariable of float, (n_rankings, n_sizes)
        Log weights of block sizes 1, 2, ..., n_sizes; larger blocks are impossible. Without
        columns, all sizes have the same weight.
    stage_weight : TensorVariable of float, (n_rankings, n_stages)
        Exponents of the stages, one for a likelihood. A ranking has at most n_stages stages.
    aggregate : str
        "mean", "max", "min", "geometric" or "harmonic".
    given_sizes : bool
        Whether the sizes of the blocks are given.
    nodes : int
        Nodes on half the circle for the elementary symmetric polynomials.

    Returns
    -------
    TensorVariable, (n_rankings,)
        -inf if ranks are not dense, a block has an impossible size, or there are too many blocks.

    References
    ----------
    Tran, Phung & Venkatesh, Modelling human preferences for ranking and collaborative filtering: a
    probabilistic ordered partition approach (the likelihood of an ordered partition).
    """
    # Stages are a new axis: (n_rankings, n_stages, n_slots)
    stage = pt.cumsum(pt.ones_like(stage_weight, dtype="int64"), axis=1)[:, :, None]
    w = pt.switch(ranks > 0, utility, 0.0)[:, None, :]
    block = pt.eq(ranks[:, None, :], stage)
    remainder = ranks[:, None, :] >= stage
    w = w + pt.zeros_like(block, dtype="float64")
    size, left = pt.sum(block, axis=-1), pt.sum(remainder, axis=-1)
    log_weight = log_weight[:, None, :]

    score = log_score(w, block, aggregate)
    if not given_sizes and log_weight.type.shape[-1] != 0:
        score += _weight_of(size, log_weight)
    total = log_set_normaliser(
        w, remainder, aggregate, size if given_sizes else None, log_weight, nodes=nodes
    )
    all_left = pt.eq(size, left)
    certain = pt.eq(size, 0) | (all_left if given_sizes else all_left & pt.eq(left, 1))
    weighted = pt.switch(certain, 0.0, (score - total) * stage_weight)
    logp = pt.sum(weighted, axis=1)
    possible = valid_ranks(ranks) & (pt.max(ranks, axis=1) <= stage_weight.shape[1])
    return pt.switch(possible & (logp > NOTHING / 2), logp, -np.inf)


def log_score(w: TensorVariable, member: TensorVariable, aggregate: str) -> TensorVariable:
    r"""Logarithm of the set function, :math:`\log \Phi(S)`.

    Utilities (..., n_items) are finite everywhere. The result is arbitrary if the block is empty.
    """
    n = pt.maximum(pt.sum(member, axis=-1), 1)
    if aggregate == "mean":
        return _log_sum(w, member) - pt.log(n)
    if aggregate == "harmonic":
        return pt.log(n) - _log_sum(-w, member)
    if aggregate == "geometric":
        return pt.sum(pt.switch(member, w, 0.0), axis=-1) / n
    if aggregate == "max":
        return _highest(w, member)
    return -_highest(-w, member)


def _highest(w: TensorVariable, member: TensorVariable) -> TensorVariable:
    """Highest utility of the members; ties share the gradient, which `pt.max` gives to each."""
    peak = stop_gradient(pt.max(pt.switch(member, w, NOTHING), axis=-1))
    best = member & pt.eq(w, peak[..., None])
    n_best = pt.maximum(pt.sum(best, axis=-1), 1)
    return pt.sum(pt.switch(best, w, 0.0), axis=-1) / n_best


def log_set_normaliser(
    w: TensorVariable,
    member: TensorVariable,
    aggregate: str,
    size: TensorVariable | None,
    log_weight: TensorVariable,
    *,
    nodes: int = 48,
) -> TensorVariable:
    r"""Logarithm of the sum of the set function over subsets, :math:`\log Z(R)`.

    The sum is over subsets of the members of the given `size` (...). If `size` is None, it is over
    all subsets, with weights log_weight (..., n_sizes) as in `pmop_logp_of_matrix`. The result is
    finite, and arbitrary if there is no such subset.
    """
    n = pt.sum(member, axis=-1)
    if aggregate == "mean":
        ways = _log_subset_count(n, 0, size, log_weight)
        return ways - pt.log(pt.maximum(n, 1)) + _log_sum(w, member)
    if aggregate in ("max", "min"):
        # item i may be joined by items below (above) it, and by equal items that precede it
        place = pt.cumsum(pt.ones_like(w), axis=-1)
        x, y = (
            (w[..., :, None], w[..., None, :])
            if aggregate == "max"
            else (w[..., None, :], w[..., :, None])
        )
        joins = (y < x) | (pt.eq(x, y) & (place[..., None, :] < place[..., :, None]))
        k = pt.sum(joins & member[..., None, :], axis=-1)
        item_size = None if size is None else size[..., None]
        return _log_sum(w + _log_subset_count(k, 1, item_size, log_weight[..., None, :]), member)
    if size is not None:
        return _log_sum_of_size(w, member, pt.cast(size, "float64"), aggregate, nodes)
    if aggregate == "harmonic" and log_weight.type.shape[-1] == 0:
        return _harmonic(w, member)

    # Sizes are a new axis before the items
    sizes = pt.cumsum(pt.ones_like(w if log_weight.type.shape[-1] == 0 else log_weight), axis=-1)
    w = w[..., None, :] + pt.zeros_like(sizes[..., None])
    is_member = member[..., None, :] & pt.ones_like(w, dtype=bool)
    terms = _log_sum_of_size(w, is_member, sizes, aggregate, nodes)
    if log_weight.type.shape[-1] != 0:
        terms = terms + log_weight
    return _log_sum(terms, sizes <= n[..., None])


def _log_sum_of_size(
    w: TensorVariable, member: TensorVariable, m: TensorVariable, aggregate: str, nodes: int
) -> TensorVariable:
    """Log sum over the subsets of size m (...), for the geometric or the harmonic mean."""
    if aggregate == "geometric":
        return log_elementary_symmetric(w / pt.maximum(m, 1.0)[..., None], member, m, nodes=nodes)
    n = pt.maximum(pt.sum(member, axis=-1), 1)
    m = pt.clip(m, 1.0, n)  # if there is no such subset, the result is not used
    log_count = _log_binomial(n, m)
    highest, lowest = _extremes(w, member)
    x, log_step = _nodes(w, member, highest, log_count + lowest, log_count + pt.log(m))
    log_q = -pt.exp(pt.minimum(x[..., :, None] - w[..., None, :], 7.0))
    is_member = member[..., None, :] & pt.ones_like(log_q, dtype=bool)
    size = m[..., None] + pt.zeros_like(x)
    terms = x + log_step + log_elementary_symmetric(log_q, is_member, size, nodes=nodes)
    return pt.log(m) + _log_sum(terms, pt.ones_like(terms, dtype=bool))


def _harmonic(w: TensorVariable, member: TensorVariable) -> TensorVariable:
    """Log sum over the subsets of all sizes, for the harmonic mean."""
    n = pt.maximum(pt.sum(member, axis=-1), 1)
    highest, lowest = _extremes(w, member)
    log_count = n * LN2 + pt.log(n)
    least = n * LN2 + pt.log1p(-pt.exp(-n * LN2)) + lowest
    x, log_step = _nodes(w, member, highest, least, log_count)
    # log[ Π_i (1 + q_i) Σ_j q_j/(1 + q_j) ]
    log_q = -pt.exp(pt.minimum(x[..., :, None] - w[..., None, :], 7.0))
    is_member = member[..., None, :]
    product = pt.sum(pt.switch(is_member, softplus(log_q), 0.0), axis=-1)
    log_share = pt.switch(is_member, log_q - softplus(log_q), NOTHING)
    terms = x + log_step + product + _log_sum(log_share, log_share > NOTHING / 2)
    return _log_sum(terms, pt.ones_like(terms, dtype=bool))


def _nodes(
    w: TensorVariable,
    member: TensorVariable,
    highest: TensorVariable,
    least: TensorVariable,
    log_count: TensorVariable,
) -> tuple[TensorVariable, TensorVariable]:
    """Nodes x = log t and log weights (..., nodes) for an integral of at least exp(least)."""
    least = pt.maximum(least, highest - pt.log(pt.maximum(pt.sum(member, axis=-1), 1)))
    centre = -_log_sum(-w, member)
    low = pt.maximum(LEFT, least - log_count - NEGLIGIBLE - centre)
    high = highest + pt.log(NEGLIGIBLE + log_count) - centre
    high = high + pt.exp(-high)
    step = (high - low) / (NODES - 1)
    y = stop_gradient(low)[..., None] + stop_gradient(step)[..., None] * np.arange(NODES)
    x = stop_gradient(centre)[..., None] + y - pt.exp(-y)
    return x, pt.log1p(pt.exp(-y)) + pt.log(stop_gradient(step))[..., None]


def _extremes(w: TensorVariable, member: TensorVariable) -> tuple[TensorVariable, TensorVariable]:
    """Highest and lowest utility of the members; 0 if there are none."""
    some = pt.any(member, axis=-1)
    highest = pt.max(pt.switch(member, w, NOTHING), axis=-1)
    lowest = -pt.max(pt.switch(member, -w, NOTHING), axis=-1)
    return pt.switch(some, highest, 0.0), pt.switch(some, lowest, 0.0)


def _log_sum(x: TensorVariable, member: TensorVariable) -> TensorVariable:
    """Logarithm of the sum of exponentials of the members; 0 if there are none."""
    some = pt.any(member, axis=-1)
    peak = stop_gradient(pt.max(pt.switch(member, x, NOTHING), axis=-1))
    peak = pt.switch(some, peak, 0.0)
    terms = pt.exp(pt.switch(member, x, peak[..., None]) - peak[..., None])
    total = pt.sum(pt.switch(member, terms, 0.0), axis=-1)
    return peak + pt.log(pt.switch(some, total, 1.0))


def _log_subset_count(
    k: TensorVariable, extra: int, size: TensorVariable | None, log_weight: TensorVariable
) -> TensorVariable:
    """Logarithm of the weighted number of subsets of k items, each with `extra` others."""
    if size is not None:
        return _log_binomial(k, size - extra)
    if log_weight.type.shape[-1] == 0:
        all_subsets = k * LN2
        if extra:
            return all_subsets
        return all_subsets + pt.log1p(-pt.exp(-pt.maximum(k, 1) * LN2))
    sizes = pt.cumsum(pt.ones_like(log_weight), axis=-1)
    terms = log_weight + _log_binomial(k[..., None], sizes - extra)
    return _log_sum(terms, terms > NOTHING / 2)


def _log_binomial(n: Any, k: Any) -> TensorVariable:
    """Logarithm of the binomial coefficient; -1e30 where it is zero."""
    inside = (k >= 0) & (k <= n)
    k = pt.switch(inside, k, 0)
    out = pt.gammaln(n + 1.0) - pt.gammaln(k + 1.0) - pt.gammaln(n - k + 1.0)
    return pt.switch(inside, out, NOTHING)


def _weight_of(size: TensorVariable, log_weight: TensorVariable) -> TensorVariable:
    """Log weight of a size (...), -1e30 where it is impossible."""
    sizes = pt.cumsum(pt.ones_like(log_weight), axis=-1)
    chosen = pt.eq(sizes, size[..., None])
    return pt.switch(
        pt.any(chosen, axis=-1) | pt.eq(size, 0),
        pt.sum(pt.switch(chosen, log_weight, 0.0), axis=-1),
        NOTHING,
    )
