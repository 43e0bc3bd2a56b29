"""Plackett-Luce for weak orders: graphs, the stage integral, compiled Ops per item and per slot.

This wing may import the wing ops.
"""

from bayesrank.likelihoods.plackett_luce.per_item import ranking_logp
from bayesrank.likelihoods.plackett_luce.per_slot import weak_order_logp
from bayesrank.likelihoods.plackett_luce.remainders import log_remainder

__all__ = [
    "log_remainder",
    "ranking_logp",
    "weak_order_logp",
]
