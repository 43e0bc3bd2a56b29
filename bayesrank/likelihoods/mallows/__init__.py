"""Mallows models: distances, normalisers, stages, and the marginalised consensus.

This wing may import the wing ops.
"""

from bayesrank.likelihoods.mallows.curve import Curve, curve_value, interpolated
from bayesrank.likelihoods.mallows.op import (
    COST_TYPE,
    DISTANCES,
    check_distance,
    check_partial,
    check_summed_out,
    consensus_costs,
    consensus_curve,
    draw_rankings,
    known_items,
    log_normaliser,
    log_normaliser_given_sizes,
    log_sum_of_completions,
    mallows_logp,
    n_chosen,
    partial_logp,
    summed_out_along_curve,
    summed_out_logp,
)
from bayesrank.likelihoods.mallows.order_kernels import PAIRS, PLACES
from bayesrank.likelihoods.mallows.stages import (
    log_normaliser_of_stages,
    stages_logp,
    summed_out_stages_logp,
)

__all__ = [
    "COST_TYPE",
    "DISTANCES",
    "PAIRS",
    "PLACES",
    "Curve",
    "check_distance",
    "check_partial",
    "check_summed_out",
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
    "n_chosen",
    "partial_logp",
    "stages_logp",
    "summed_out_along_curve",
    "summed_out_logp",
    "summed_out_stages_logp",
]
