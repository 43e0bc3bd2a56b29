"""Plackett-Luce on weak orders: graphs, the stage integral, compiled Ops per item and per slot."""

from bayesrank.likelihoods.plackett_luce.per_slot import weak_order_bound, weak_order_logp
from bayesrank.likelihoods.plackett_luce.remainders import log_remainder

__all__ = ["log_remainder", "weak_order_bound", "weak_order_logp"]
