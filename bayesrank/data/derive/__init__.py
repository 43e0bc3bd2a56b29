"""What is derived from data: grouping, layout, stages, totals, connectivity, parts.

Pure functions of arrays, which import none of the classes that hold them.

This room may import numpy, pandas, scipy and the room data.read.
"""

from bayesrank.data.derive.graph import Connectivity, connectivity
from bayesrank.data.derive.grouping import group, grouped, starts, stretches
from bayesrank.data.derive.layout import (
    Layout,
    UninformativeRankingWarning,
    arrange,
    block_sizes,
    lay_out,
)
from bayesrank.data.derive.parts import all_pairs, folds, held_out, identical, positions
from bayesrank.data.derive.stages import Stages, stage_table
from bayesrank.data.derive.totals import PairTotals, log_multinomial, pair_totals

__all__ = [
    "Connectivity",
    "Layout",
    "PairTotals",
    "Stages",
    "UninformativeRankingWarning",
    "all_pairs",
    "arrange",
    "block_sizes",
    "connectivity",
    "folds",
    "group",
    "grouped",
    "held_out",
    "identical",
    "lay_out",
    "log_multinomial",
    "pair_totals",
    "positions",
    "stage_table",
    "starts",
    "stretches",
]
