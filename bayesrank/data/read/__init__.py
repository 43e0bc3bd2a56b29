"""Readers: tables, lists, matrices and files, checked as they are read.

Pure functions, from what a user writes down to arrays and axes. `labels` has axes and the words of
messages, `aligned` values with labels, `columns` numbers, `times` dates, `text` the cells of text
files, `formats` files; `entries` and `preferences` read what becomes `Rankings`,
`pair_entries` what becomes `Pairs`, `count_entries` what becomes `PairCounts`; `streams` reads
tables that are not in memory, a batch at a time, and `partitions` counts the rows of tables that
are in several places. They import none of these classes. Other rooms use the names below.

This room may import dask, fsspec, numpy, pandas, pyarrow, rich and scikit-learn, and no other room
of bayesrank.
"""

from bayesrank.data.read.aligned import has_labels
from bayesrank.data.read.columns import (
    float_array,
    numbers,
    require_columns,
    require_names,
    text_numbers,
)
from bayesrank.data.read.count_entries import of_problems
from bayesrank.data.read.entries import Entries, per_row
from bayesrank.data.read.formats import (
    read_letor,
    read_lines,
    read_preflib,
    read_table,
    table_with_findings,
)
from bayesrank.data.read.labels import (
    LINE,
    Group,
    axis_index,
    coord_values,
    counted,
    label_repr,
    locate,
    plain_index,
    quoted,
    row_name,
    warn,
)
from bayesrank.data.read.pair_entries import OUTCOMES
from bayesrank.data.read.text import BROKEN, content
from bayesrank.data.read.times import are_instants, label_times, time_coordinates

__all__ = [
    "BROKEN",
    "LINE",
    "OUTCOMES",
    "Entries",
    "Group",
    "are_instants",
    "axis_index",
    "content",
    "coord_values",
    "counted",
    "float_array",
    "has_labels",
    "label_repr",
    "label_times",
    "locate",
    "numbers",
    "of_problems",
    "per_row",
    "plain_index",
    "quoted",
    "read_letor",
    "read_lines",
    "read_preflib",
    "read_table",
    "require_columns",
    "require_names",
    "row_name",
    "table_with_findings",
    "text_numbers",
    "time_coordinates",
    "warn",
]
