"""Plackett-Luce on weak orders: graphs, the stage integral, compiled Ops per item and per slot."""

from bayesrank.likelihoods.plackett_luce.per_item import ranking_logp
from bayesrank.likelihoods.plackett_luce.per_slot import weak_order_logp

__all__ = ["ranking_logp", "weak_order_logp"]
