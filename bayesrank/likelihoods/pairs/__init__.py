"""Comparisons of two items: models of their outcomes, BPR, and rankings as pairs."""

from bayesrank.likelihoods.pairs.bpr import triple_logp
from bayesrank.likelihoods.pairs.graph import (
    bradley_terry_log_probabilities,
    davidson_log_probabilities,
    outcome_counts_logp,
    rao_kupper_log_probabilities,
    thurstone_log_probabilities,
)
from bayesrank.likelihoods.pairs.of_rankings import weak_order_pairs

__all__ = [
    "bradley_terry_log_probabilities",
    "davidson_log_probabilities",
    "outcome_counts_logp",
    "rao_kupper_log_probabilities",
    "thurstone_log_probabilities",
    "triple_logp",
    "weak_order_pairs",
]
