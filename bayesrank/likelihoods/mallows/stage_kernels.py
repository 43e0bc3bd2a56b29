"""Stages of generalised Mallows models in numba: items passed over, and pairs chosen and left."""

import numba
import numpy as np

__all__ = ["passed_over_kernel", "stage_pairs_kernel"]


@numba.njit(cache=True, error_model="numpy")
def _choices(ranks, slots):  # type: ignore[no-untyped-def]
    """Fill the slots by stage; return how many items are chosen before a last block of several."""
    n = ranks.size
    last, n_last = ranks.max(), 0
    for s in range(n):
        n_last += ranks[s] == last
    k = last if n_last == 1 else last - 1
    for s in range(n):
        if 1 <= ranks[s] <= k:
            slots[ranks[s] - 1] = s
    return min(k, n)


@numba.njit(cache=True, error_model="numpy")
def passed_over_kernel(t, ranks, consensus):  # type: ignore[no-untyped-def]
    """Count the remaining items that precede the chosen item in the consensus, by stage, (r, j).

    `t` (j,) has one entry per stage. `ranks` (r, n) are dense from 1, and only the last block may
    have several items. `consensus` (r, n) holds ranks of the same items. Counts are 0 at stages
    after the last choice.
    """
    n_rows, n = ranks.shape
    out = np.zeros((n_rows, t.size))
    slots = np.zeros(n, np.int64)
    for r in range(n_rows):
        for j in range(min(_choices(ranks[r], slots), t.size)):
            chosen_rank = consensus[r, slots[j]]
            for s in range(n):
                out[r, j] += ranks[r, s] > j + 1 and consensus[r, s] < chosen_rank
    return out


@numba.njit(cache=True, error_model="numpy")
def stage_pairs_kernel(t, ranks, weight):  # type: ignore[no-untyped-def]
    """Count how often an item was chosen at a stage while another remained, (j, n, n).

    `t` and `ranks` are as in `passed_over_kernel`, by item. `weight` (r,) says how often each
    ranking counts.
    """
    n_rows, n = ranks.shape
    out = np.zeros((t.size, n, n))
    slots = np.zeros(n, np.int64)
    for r in range(n_rows):
        for j in range(min(_choices(ranks[r], slots), t.size, n - 1)):
            for other in range(n):
                if ranks[r, other] > j + 1:
                    out[j, slots[j], other] += weight[r]
    return out
