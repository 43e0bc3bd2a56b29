"""Preference counts as matches: the data of Bradley-Terry models of the same counts.

>>> import bayesrank as br
>>> pairs_of_counts(br.PairCounts.from_matrix([[0, 2], [1, 0]], items=["a", "b"])).counts
array([[2, 1, 0]])
"""

import numpy as np

import bayesrank as br

__all__ = ["pairs_of_counts"]


def pairs_of_counts(counts: br.PairCounts) -> br.Pairs:
    """Return the pairs that each ranker compared; the judges are the rankers."""
    compared = counts.compared()
    n = np.stack([compared.won, compared.compared - compared.won, np.zeros(len(compared.won))])
    return br.Pairs(
        items=counts.items,
        judges=counts.rankers,
        first=compared.first,
        second=compared.second,
        counts=np.ascontiguousarray(n.T).astype(np.int64),
        weight=counts.weight[compared.ranker_idx],
        judge_idx=compared.ranker_idx,
        groups={},
        collapsed=True,
    )
