r"""PL-LB: a lower bound of the exact likelihood of weak orders, to maximise instead of it.

.. math:: \sum_{m<M} \Bigl( \log |S_m|! + \sum_{i \in S_m} \log
          \frac{e^{w_i}}{\sum_{j \in R_m} e^{w_j}} \Bigr) \le \log P(S_1 > \dots > S_M)

The bound treats each item of a block as chosen from the whole remainder :math:`R_m`. In each of the
:math:`|S_m|!` orders, no denominator is larger than the sum over the whole remainder. The maximum
of the bound differs from the maximum of the likelihood for any number of rankings: it
underestimates the utilities of chosen items.

>>> round(float(weak_order_bound([[0.0, 0.0, 0.0]], [[1, 1, 2]]).exp().eval()[0]), 4)  # 2!/3²
0.2222

References
----------
Ma et al., Learning-to-rank with partitioned preference: fast estimation for the Plackett-Luce
model, AISTATS 2021.
"""

from typing import Any

import pytensor.tensor as pt
from pytensor.tensor import TensorVariable

from bayesrank.likelihoods.ops import segment_sum, stop_gradient

__all__ = ["weak_order_bound"]


def weak_order_bound(utility: Any, ranks: Any) -> TensorVariable:
    """Lower bound of the log-probability of weak orders under Plackett-Luce.

    Parameters
    ----------
    utility : tensor_like of float, (n_rankings, n_slots)
        Log worth of the item in each slot, within 700 of each other; any value in empty slots.
    ranks : tensor_like of int, (n_rankings, n_slots)
        Dense ranks in any order of slots: 1 = best, equal = one block, 0 = empty slot.

    Returns
    -------
    TensorVariable, (n_rankings,)
        At most the log-probability, and equal to it where all blocks but the last are of one item.
    """
    utility, ranks = pt.as_tensor_variable(utility), pt.as_tensor_variable(ranks)
    used = pt.gt(ranks, 0)
    highest = stop_gradient(pt.max(pt.switch(used, utility, -1e30), axis=-1, keepdims=True))
    lead = pt.switch(used, utility - highest, 0.0)

    # worth of each block, and of the remainder from it on
    row = pt.zeros_like(ranks) + pt.arange(ranks.shape[0])[:, None]
    block, shape = (row, pt.maximum(ranks - 1, 0)), (ranks.shape[0], pt.max(ranks))
    worth = segment_sum(pt.switch(used, pt.exp(lead), 0.0), block, shape)
    remainder = pt.cumsum(worth[:, ::-1], axis=1)[:, ::-1]

    staged = used & pt.lt(ranks, pt.max(ranks, axis=-1, keepdims=True))
    size = segment_sum(pt.cast(staged, "float64"), block, shape)
    terms = pt.switch(staged, lead - pt.log(remainder[block]), 0.0)
    return pt.sum(terms, axis=1) + pt.sum(pt.gammaln(size + 1.0), axis=1)
