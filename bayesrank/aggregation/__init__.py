"""Aggregation: scores by methods without a likelihood, and adherence to known labels.

This room may import numba, numpy, pandas, scipy, kernel_cache and the room data.
"""

from bayesrank.aggregation.borda import borda
from bayesrank.aggregation.counted import condorcet, first_places, pair_wins
from bayesrank.aggregation.eigenrank import (
    eigenrank,
    greedy_scores,
    kendall_similarity,
    preferences,
    stationary_scores,
)
from bayesrank.aggregation.rating_neighbours import pearson_similarity, predict_ratings
from bayesrank.aggregation.supervised import (
    label_agreement,
    mean_agreement,
    supervised_adherence,
)
from bayesrank.aggregation.svd import svd_scores

__all__ = [
    "borda",
    "condorcet",
    "eigenrank",
    "first_places",
    "greedy_scores",
    "kendall_similarity",
    "label_agreement",
    "mean_agreement",
    "pair_wins",
    "pearson_similarity",
    "predict_ratings",
    "preferences",
    "stationary_scores",
    "supervised_adherence",
    "svd_scores",
]
