"""Comparisons of two items: models of their outcomes, BPR, and rankings as pairs."""

from bayesrank.likelihoods.pairs.graph import (
    FIRST,
    bradley_terry_logp,
    davidson_logp,
    rao_kupper_logp,
    thurstone_logp,
)
from bayesrank.likelihoods.pairs.of_rankings import pairs_logp, weak_order_pairs

__all__ = [
    "FIRST",
    "bradley_terry_logp",
    "davidson_logp",
    "pairs_logp",
    "rao_kupper_logp",
    "thurstone_logp",
    "weak_order_pairs",
]
