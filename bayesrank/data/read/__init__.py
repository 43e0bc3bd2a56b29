"""Readers: tables, lists, matrices and files, checked as they are read.

Pure functions convert user input to arrays and axes. `labels` builds axes, and `aligned` sorts
labelled values into their order. `frames` converts tables of other libraries. `columns` reads
numbers, and `times` reads dates. `text` decodes files, `formats` knows their suffixes, and `orders`
reads files of rankings. `streams` reads large files in batches. `entries` reads the input of
`Rankings`, `pair_entries` of `Pairs`, and `count_entries` of `PairCounts`. `score_entries` makes
rankings of scores.

The functions do not import the data classes. Other rooms use the names below.

This room may import fsspec, numpy, pandas and pyarrow, and no other room of bayesrank.
"""

from bayesrank.data.read.aligned import has_labels
from bayesrank.data.read.columns import (
    float_array,
    numbers,
    require_columns,
    require_names,
    text_numbers,
)
from bayesrank.data.read.count_entries import assign_problems
from bayesrank.data.read.entries import Entries, per_row
from bayesrank.data.read.formats import suffix_of
from bayesrank.data.read.frames import as_frame
from bayesrank.data.read.labels import (
    LINE,
    Group,
    Unused,
    axis_index,
    check_whole,
    coord_values,
    counted,
    label_repr,
    locate,
    name_some,
    plain_index,
    quoted,
    row_name,
    warn,
)
from bayesrank.data.read.orders import read_preflib
from bayesrank.data.read.pair_entries import (
    BOTH_BAD,
    BOUNDARY,
    ONE_ORDER,
    OUTCOMES,
    PREFERENCE,
    PROBABILITY,
    SWAP,
    check_grades,
    who_won,
)
from bayesrank.data.read.scores import Scores
from bayesrank.data.read.text import BROKEN, content, read_lines
from bayesrank.data.read.times import (
    TimeError,
    are_dates,
    are_instants,
    label_times,
    seasons_in_full,
    time_coordinates,
)

__all__ = [
    "BOTH_BAD",
    "BOUNDARY",
    "BROKEN",
    "LINE",
    "ONE_ORDER",
    "OUTCOMES",
    "PREFERENCE",
    "PROBABILITY",
    "SWAP",
    "Entries",
    "Group",
    "Scores",
    "TimeError",
    "Unused",
    "are_dates",
    "are_instants",
    "as_frame",
    "assign_problems",
    "axis_index",
    "check_grades",
    "check_whole",
    "content",
    "coord_values",
    "counted",
    "float_array",
    "has_labels",
    "label_repr",
    "label_times",
    "locate",
    "name_some",
    "numbers",
    "per_row",
    "plain_index",
    "quoted",
    "read_lines",
    "read_preflib",
    "require_columns",
    "require_names",
    "row_name",
    "seasons_in_full",
    "suffix_of",
    "text_numbers",
    "time_coordinates",
    "warn",
    "who_won",
]
