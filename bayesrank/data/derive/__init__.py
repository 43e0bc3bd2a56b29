"""What is derived from data: layout, stages, totals, connectivity, parts."""

from bayesrank.data.derive.pair_totals import PairTotals, log_ways, pair_totals
from bayesrank.data.derive.stages import Stages

__all__ = ["PairTotals", "Stages", "log_ways", "pair_totals"]
