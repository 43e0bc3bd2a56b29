"""Mallows models: distances, normalisers, stages, and the marginalised consensus.

This wing may import the wing ops.
"""

from bayesrank.likelihoods.mallows.curve import Curve, curve_value, interpolated
from bayesrank.likelihoods.mallows.op import (
    COST_TYPE,
    DISTANCES,
    check_distance,
    check_marginal,
    check_partial,
    consensus_costs,
    consensus_curve,
    draw_rankings,
    known_items,
    log_normaliser,
    log_normaliser_given_sizes,
    log_sum_of_completions,
    mallows_logp,
    marginal_logp,
    marginal_logp_on_curve,
    n_chosen,
    total_costs,
)
from bayesrank.likelihoods.mallows.order_kernels import PAIRS, PLACES
from bayesrank.likelihoods.mallows.stages import (
    log_normaliser_of_stages,
    marginal_stages_logp,
    stages_logp,
)

__all__ = [
    "COST_TYPE",
    "DISTANCES",
    "PAIRS",
    "PLACES",
    "Curve",
    "check_distance",
    "check_marginal",
    "check_partial",
    "consensus_costs",
    "consensus_curve",
    "curve_value",
    "draw_rankings",
    "interpolated",
    "known_items",
    "log_normaliser",
    "log_normaliser_given_sizes",
    "log_normaliser_of_stages",
    "log_sum_of_completions",
    "mallows_logp",
    "marginal_logp",
    "marginal_logp_on_curve",
    "marginal_stages_logp",
    "n_chosen",
    "stages_logp",
    "total_costs",
]
