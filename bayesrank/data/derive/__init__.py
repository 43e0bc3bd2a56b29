"""Quantities derived from data: grouping, layout, stages, totals, connectivity, parts.

These are pure functions of arrays and do not import the data classes. Other rooms use the names
below.

This room may import numpy, pandas, scipy and the room data.read.
"""

from bayesrank.data.derive.stages import Stages, stage_table
from bayesrank.data.derive.totals import log_multinomial, pair_totals

__all__ = ["Stages", "log_multinomial", "pair_totals", "stage_table"]
