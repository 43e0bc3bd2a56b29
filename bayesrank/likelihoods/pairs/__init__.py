"""Paired comparisons: models of their outcomes, and BPR.

This wing may import the wing ops.
"""

from bayesrank.likelihoods.pairs.graded import GradedTotal
from bayesrank.likelihoods.pairs.graph import (
    FIRST,
    SECOND,
    TIE,
    LogProbabilities,
    bradley_terry_log_probabilities,
    davidson_log_probabilities,
    grade_log_probabilities,
    grounded_log_probabilities,
    outcome_counts_logp,
    outcome_logp,
    rao_kupper_log_probabilities,
    thurstone_log_probabilities,
    times_odds,
    triple_logp,
)
from bayesrank.likelihoods.pairs.grounded import GroundedTotal
from bayesrank.likelihoods.pairs.total import (
    DavidsonTotal,
    PairTotal,
    RaoKupperTotal,
    ThurstoneTotal,
)
from bayesrank.match_outcomes import FAMILIES

__all__ = [
    "FAMILIES",
    "FIRST",
    "SECOND",
    "TIE",
    "DavidsonTotal",
    "GradedTotal",
    "GroundedTotal",
    "LogProbabilities",
    "PairTotal",
    "RaoKupperTotal",
    "ThurstoneTotal",
    "bradley_terry_log_probabilities",
    "davidson_log_probabilities",
    "grade_log_probabilities",
    "grounded_log_probabilities",
    "outcome_counts_logp",
    "outcome_logp",
    "rao_kupper_log_probabilities",
    "thurstone_log_probabilities",
    "times_odds",
    "triple_logp",
]
