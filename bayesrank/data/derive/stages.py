r"""The distinct stages of a collection of rankings.

A weak order :math:`S_1 > S_2 > \dots > S_M` is a product of stages: at stage :math:`m`, the block
:math:`S_m` is chosen from the remainder :math:`R_m = S_m \cup R_{m+1}`. Rankings share remainders
and stages, and each is evaluated only once. For example, the 5,000 full rankings of 10 sushi have
45,000 stages, but only 3,684 distinct ones.

Remainders form an acyclic graph: each is one block on top of a smaller remainder. Storing a
remainder therefore takes only the items of its block. The whole table is linear in the number of
entries, even if no two rankings agree.

The example below shows the remainders ("nodes") of the rankings ``a > b > c``, ``b > a > c`` and
``a > c``. An arrow leads from a node to its child, the smaller remainder::

    node 3 {a, b, c}                    two stages: a or b is first

        | adds a
        v

    node 1 {b, c}    node 2 {a, c}      one stage each

        | adds b         | adds a
        v                v

    node 0 {c}  <--------+              no stage: the last block is certain

A block stage places several items above a node, `block_below`.

>>> import numpy as np
>>> item = np.array([[0, 1, 2], [1, 0, 2], [0, 2, 0]])
>>> ranks = np.array([[1, 2, 3], [1, 2, 3], [1, 2, 0]])
>>> stages = stage_table(item, ranks, np.ones(3), n_items=3)
>>> stages.n_stages, stages.single_item.tolist(), stages.stage_weight.tolist()
(4, [1, 0, 0, 1], [1.0, 1.0, 2.0, 1.0])
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

__all__ = ["Stages", "stage_table"]

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]


class Stages(NamedTuple):
    """Distinct remainders ("nodes") and stages; single stages come first, then blocks.

    Nodes are numbered so that ``node_child[n] < n``. Nodes of equal weight are adjacent, so the
    logarithm of their product is computed once. The last block of a ranking is a node without a
    child. It is not a stage, because its choice is certain.

    Let L be the values of the remainders and V those of the block stages. The total log-probability
    is the linear form ``item_weight @ utility + node_weight @ L + block_weight @ V``. A single
    stage contributes the utility of its item minus L of its node.
    """

    entry_item: Ints  # (n_entries,) items that the nodes add, node after node
    node_start: Ints  # (n_nodes + 1,) where the entries of each node begin
    node_child: Ints  # (n_nodes,) the next smaller remainder, -1 for none
    block_item: Ints  # (n_block_entries,) items of the blocks with at least two
    block_start: Ints  # (n_blocks + 1,) where the items of each block begin
    block_below: Ints  # (n_blocks,) the remainder that the block precedes
    block_entry: Ints  # (n_block_entries,) the block of each item, expanded from block_start
    slot_item: Ints  # (n_rankings, n_slots)
    slot_rank: Ints  # (n_rankings, n_slots), 0 in empty slots
    node_slot: Ints  # (n_nodes,) flat slot at which the remainder begins
    single_item: Ints  # (n_singles,) the item chosen first from the remainder single_node
    single_node: Ints  # (n_singles,)
    stage_of: Ints  # (n_uses,) stages of the rankings, ranking after ranking
    ranking_of: Ints  # (n_uses,)
    ranking_weight: Floats  # (n_rankings,)
    item_weight: Floats  # (n_items,)
    node_weight: Floats  # (n_nodes,)
    block_weight: Floats  # (n_blocks,)

    @property
    def n_stages(self) -> int:
        """Number of distinct stages."""
        return self.single_item.size + self.block_below.size

    @property
    def n_nodes(self) -> int:
        """Number of distinct remainders."""
        return self.node_child.size

    @property
    def stage_weight(self) -> Floats:
        """Summed weight of the rankings that use each stage."""
        used = self.ranking_weight[self.ranking_of]
        return _sums(self.stage_of, used, self.n_stages)


def stage_table(item: np.ndarray, ranks: np.ndarray, weight: np.ndarray, n_items: int) -> Stages:
    """Find the distinct remainders and stages of weak orders.

    `item`, `ranks` and `weight` are as in `Rankings`. Every returned array is C-contiguous. Time
    and memory grow with the number of slots.
    """
    n_rankings, n_slots = ranks.shape
    used = ranks > 0
    length = used.sum(1)

    # Blocks of every ranking from last to first, so that a remainder comes after its child
    first = used & (np.diff(ranks, axis=1, prepend=0) != 0)
    row, slot = np.nonzero(first[:, ::-1])
    slot = n_slots - 1 - slot
    # the next block of the ranking is the previous entry in this order
    is_last = np.ones(row.size, dtype=bool)
    is_last[1:] = row[1:] != row[:-1]
    end = np.empty_like(slot)
    end[1:] = slot[:-1]
    end[is_last] = length[row[is_last]]
    size = end - slot

    # Distinct remainders, by fingerprint, numbered by first occurrence
    code = _fingerprints(item, used)[row, slot]
    node, met = _number_by_first_occurrence(code)
    below = np.empty_like(node)
    below[1:] = node[:-1]
    below[is_last] = -1
    single_above = (size == 1) & ~is_last
    by_weight = _sums(node[single_above], weight[row[single_above]], met.size)
    order = np.lexsort((by_weight, length[row[met]] - slot[met]))  # by items, then weight
    number = np.empty(order.size + 1, dtype=order.dtype)
    number[order], number[-1] = np.arange(order.size), -1  # -1 (no remainder) stays -1
    node, below, met = number[node], number[below], met[order]
    entry, node_start = _ranges(row[met] * n_slots + slot[met], size[met])

    # Distinct stages: the pair (remainder, remainder below it)
    stage = np.flatnonzero(~is_last)
    pair = node[stage].astype(np.int64) * (node.max(initial=0) + 1) + below[stage]
    number, met_stage = _number_by_first_occurrence(pair)
    distinct = stage[met_stage]
    single = size[distinct] == 1
    order = np.argsort(~single, kind="stable")  # singles first
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    stage_of = place[number]
    singles, blocks = np.split(distinct[order], [int(single.sum())])
    block_slot, block_start = _ranges(row[blocks] * n_slots + slot[blocks], size[blocks])

    flat = np.ascontiguousarray(item, dtype=np.int32).ravel()
    ranking_of = row[stage]
    single_item = flat[row[singles] * n_slots + slot[singles]]
    single_node = node[singles].astype(np.int32)
    stage_weight = _sums(stage_of, weight[ranking_of], distinct.size)
    single_weight = stage_weight[: singles.size]
    return Stages(
        entry_item=flat[entry],
        node_start=node_start,
        node_child=below[met].astype(np.int32),
        block_item=flat[block_slot],
        block_start=block_start,
        block_below=below[blocks].astype(np.int32),
        block_entry=np.repeat(np.arange(blocks.size, dtype=np.int32), np.diff(block_start)),
        slot_item=flat.reshape(n_rankings, n_slots),
        slot_rank=np.ascontiguousarray(ranks, dtype=np.int32),
        node_slot=(row[met] * n_slots + slot[met]).astype(np.int32),
        single_item=single_item,
        single_node=single_node,
        stage_of=stage_of.astype(np.int32),
        ranking_of=ranking_of.astype(np.int32),
        ranking_weight=np.asarray(weight, dtype=np.float64),
        item_weight=_sums(single_item, single_weight, n_items),
        node_weight=-_sums(single_node, single_weight, met.size),
        block_weight=stage_weight[singles.size :],
    )


def _sums(group: np.ndarray, weight: np.ndarray, n: int) -> Floats:
    """Sum weights by group; `np.bincount` returns integers for empty input, hence the cast."""
    return np.bincount(group, weight, minlength=n).astype(np.float64, copy=False)


def _fingerprints(item: np.ndarray, used: np.ndarray) -> np.ndarray:
    """Return two 64-bit sums of random keys over the items from each slot to the end.

    The sums identify sets: two different remainders share both sums with probability 2**-128.
    """
    n_items = int(item.max(initial=0)) + 1
    keys = np.random.default_rng(20020217).integers(2**64, size=(2, n_items), dtype=np.uint64)
    code = np.empty(item.shape, dtype=[("low", np.uint64), ("high", np.uint64)])
    for field, key in zip(("low", "high"), keys, strict=True):
        value = np.where(used, key[item], np.uint64(0))
        code[field] = np.cumsum(value[:, ::-1], axis=1, dtype=np.uint64)[:, ::-1]
    return code


def _number_by_first_occurrence(code: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Assign numbers to the distinct codes, and return the first position of each number."""
    if code.dtype.names:  # hash one half, and both halves only if the first is not unique
        number, first = _number_by_first_occurrence(code["low"])
        if np.array_equal(code["high"][first][number], code["high"]):
            return number, first
        high, _ = _number_by_first_occurrence(code["high"])
        return _number_by_first_occurrence(number.astype(np.int64) * len(code) + high)
    number, distinct = pd.factorize(code)
    first = np.empty(len(distinct), dtype=np.int64)
    # written in reverse, so that the first of equal codes wins
    first[number[::-1]] = np.arange(len(code) - 1, -1, -1)
    return number, first


def _ranges(start: np.ndarray, size: np.ndarray) -> tuple[np.ndarray, Ints]:
    """Concatenate the ranges start..start+size, and return where each begins."""
    bounds = np.concatenate([[0], np.cumsum(size)])
    within = np.arange(bounds[-1]) - np.repeat(bounds[:-1], size)
    return np.repeat(start, size) + within, bounds.astype(np.int32)
