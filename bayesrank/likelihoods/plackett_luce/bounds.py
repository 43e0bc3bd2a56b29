r"""A lower bound that is maximised in place of the exact likelihood of weak orders.

It costs one sort and a few passes over the slots. `weak_order_bound` of
`bayesrank.likelihoods.plackett_luce.per_slot` evaluates it without a sort, in one compiled pass.

>>> utility, ranks = [0.0, 0.0, 0.0], [1, 1, 2]
>>> round(float(plackett_luce_bound(utility, ranks).exp().eval()), 4)  # 2!/3²; the exact is 1/3
0.2222

For pairs of long rankings see `bayesrank.likelihoods.pairs.of_rankings`.

References
----------
Ma et al., Learning-to-rank with partitioned preference: fast estimation for the Plackett-Luce
model, AISTATS 2021.
"""

from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.tensor import TensorVariable

from bayesrank.likelihoods.ops.arrays import over_rows, valid_ranks
from bayesrank.likelihoods.plackett_luce.graph import BestFirst, best_first
from bayesrank.likelihoods.plackett_luce.remainders import log_remainder

__all__ = ["bound_of_matrix", "plackett_luce_bound"]


def plackett_luce_bound(utility: Any, ranks: Any) -> TensorVariable:
    r"""Lower bound of the log-probability of weak orders under Plackett-Luce (PL-LB).

    .. math:: \sum_{m<M} \Bigl( \log |S_m|! + \sum_{i \in S_m} \log
              \frac{e^{w_i}}{\sum_{j \in R_m} e^{w_j}} \Bigr) \le \log P(S_1 > \dots > S_M)

    The items of a block are chosen as if those chosen before were still there: in each of the
    :math:`|S_m|!` orders no denominator is larger than that of the whole remainder :math:`R_m`.

    Parameters
    ----------
    utility : tensor_like of float, (..., n_slots)
        Log worth of the item in each slot; any value in empty slots.
    ranks : tensor_like of int, (..., n_slots)
        Dense ranks in any order of slots: 1 = best, equal = one block, 0 = empty slot.

    Returns
    -------
    TensorVariable, (...)
        At most `plackett_luce_logp`, and equal to it where all blocks but the last are of one item;
        0 for a ranking of one block, -inf where the ranks are not dense.

    Notes
    -----
    Its maximum is not that of the likelihood, however many rankings there are: to chosen items it
    gives too little.

    References
    ----------
    Ma et al., AISTATS 2021.

    Examples
    --------
    >>> plackett_luce_bound([[0.0, 0.0, 0.0]], [[2, 1, 3]]).eval().round(4).tolist()  # -log 6
    [-1.7918]
    """
    return over_rows(bound_of_matrix, utility, ranks)


def bound_of_matrix(utility: TensorVariable, ranks: TensorVariable) -> TensorVariable:
    """`plackett_luce_bound` of matrices (n_rankings, n_slots) of equal shape."""
    slots = best_first(utility, ranks)
    stage = _in_stages(slots)

    # Where each block starts, and so the place of each slot inside its block: |S|! = ∏ places
    slot = pt.cumsum(pt.ones_like(slots.rank, dtype="int64"), axis=1) - 1
    before = pt.cumsum(slots.sizes, axis=1) - slots.sizes
    start = pt.cast(before[slots.block], "int64")
    place = pt.switch(stage, slot - start + 1, 1)
    among = log_remainder(slots.utility)[slots.row, pt.switch(stage, start, slot)]
    each = pt.switch(stage, pt.log(place) + slots.utility - among, 0.0)
    return pt.switch(valid_ranks(ranks), pt.sum(each, axis=1), -np.inf)


def _in_stages(slots: BestFirst) -> TensorVariable:
    """Whether a slot is chosen from others: not in the last block, not empty."""
    return (slots.rank > 0) & (slots.rank < pt.max(slots.rank, axis=-1, keepdims=True))
