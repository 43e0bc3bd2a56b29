r"""Plackett-Luce for weak orders, as graphs.

A ranking is a weak order :math:`S_1 > S_2 > \dots > S_M` of the items presented: blocks of items,
best first, with an unknown order inside each block. Let :math:`R_m = S_m \cup \dots \cup S_M` be
the remainders. Then

.. math:: \log P(S_1 > \dots > S_M) = \sum_{m < M} \log P(S_m > R_{m+1})

is the Plackett-Luce probability of all orderings that are consistent with it, given the block
sizes. Blocks of one item form a full ranking. Singletons followed by one block form a top-k list.
Two blocks represent clicks.

A block of one item needs no integral: :math:`\log P = w_i - \log\sum_{j\in R_m} e^{w_j}`. Larger
blocks use the stage integral of `bayesrank.likelihoods.plackett_luce.quadrature`.

Leading axes are rankings, and the last axis is the slots of one ranking. `ranks` are dense
(1 = best, equal = one block, 0 = empty slot) and aligned with `utility`.

>>> logp = logp_of_matrix(pt.constant([[0.0, 0.0, 0.0]]), pt.constant([[1, 2, 2]]))
>>> logp.exp().eval().round(6).tolist()
[0.333333]

JAX and the tests use these graphs. `bayesrank.likelihoods.plackett_luce.per_slot` and `per_item`
compute the same numbers in one compiled pass.
"""

import numpy as np
import pytensor.tensor as pt
from pytensor.tensor import TensorVariable

from bayesrank.likelihoods.ops.arrays import NOTHING, segment_sum, valid_ranks
from bayesrank.likelihoods.plackett_luce.quadrature import PADDING, block_logp
from bayesrank.likelihoods.plackett_luce.remainders import log_remainder

__all__ = [
    "logp_of_matrix",
    "need_quadrature",
    "stage_terms",
]


def need_quadrature(ranks: TensorVariable) -> TensorVariable:
    """Return whether any row has a block of several items before its last block."""
    ordered = pt.sort(ranks, axis=-1)
    tied = pt.eq(pt.diff(ordered, axis=-1), 0) & (ordered[..., 1:] > 0)
    return pt.any(tied & (ordered[..., 1:] < pt.max(ranks, axis=-1, keepdims=True)))


def logp_of_matrix(
    utility: TensorVariable, ranks: TensorVariable, *, quadrature: bool = True
) -> TensorVariable:
    """Compute `weak_order_logp` for matrices (n_rankings, n_slots) of equal shape.

    Quadrature may be switched off if `need_quadrature` returns False.
    """
    # Sort slots best first, empty slots last; take_along_axis does not translate to JAX here
    row = pt.cumsum(pt.ones_like(ranks, dtype="int64"), axis=0) - 1
    after = pt.max(ranks, axis=-1, keepdims=True) + 1
    order = pt.argsort(pt.switch(ranks > 0, ranks, after), axis=-1)
    rank = ranks[row, order]
    used = rank > 0
    u = pt.switch(used, utility[row, order], NOTHING)

    # Sizes of the blocks, and where each slot's block ends
    n_rows, n_slots = ranks.shape
    index, shape = (row, pt.clip(rank - 1, 0, n_slots - 1)), (n_rows, n_slots)
    sizes = segment_sum(pt.cast(used, "float64"), index, shape)
    size = sizes[index]
    end = pt.cast(pt.cumsum(sizes, axis=1)[index], "int64")
    last = end >= pt.sum(used, axis=1, keepdims=True)

    # Log of the remainder from each slot, and of the remainder below each slot's block
    remainder = log_remainder(u)
    below = remainder[row, pt.minimum(end, n_slots - 1)]

    stage = used & ~last
    single = pt.switch(stage & pt.eq(size, 1), u - remainder, 0.0)
    if not quadrature:
        return pt.switch(valid_ranks(ranks), pt.sum(single, axis=1), -np.inf)
    blocked = stage & (size > 1)
    w = pt.switch(blocked, u - below, PADDING)
    n_blocked = segment_sum(pt.cast(blocked, "float64"), index, shape)
    block = pt.switch(n_blocked > 0, block_logp(w, index, shape), 0.0)
    return pt.switch(valid_ranks(ranks), pt.sum(single + block, axis=1), -np.inf)


def stage_terms(
    utility: TensorVariable,
    block_item: TensorVariable,
    block_below: TensorVariable,
    block_entry: TensorVariable,
    slot_item: TensorVariable,
    slot_rank: TensorVariable,
    node_slot: TensorVariable,
) -> tuple[TensorVariable, TensorVariable]:
    r"""Remainders and block stages of a collection of rankings.

    Utilities are (n_components, n_items). The other arguments are fields of
    `bayesrank.data.derive.stages.Stages`. The first output is the log worth of every distinct
    remainder, (n_components, n_nodes). The second is the log-probability of every distinct block
    over its remainder.
    """
    u = pt.switch(slot_rank > 0, utility[:, slot_item], NOTHING)
    n_components, n_slots = utility.shape[0], slot_rank.shape[1]
    log_total = log_remainder(u)[:, node_slot // n_slots, node_slot % n_slots]
    w = utility[:, block_item] - log_total[:, block_below][:, block_entry]
    component = pt.cumsum(pt.ones_like(w, dtype="int64"), axis=0) - 1
    index = component, pt.zeros_like(component) + block_entry
    return log_total, block_logp(w, index, (n_components, block_below.shape[0]))
