"""Tables: any table of rankings, matches, choices or scores, read by its form and never guessed.

A reading has five steps. `opening` gives named columns of text from any source. `select` chooses
rows and columns. A *form* says what the columns are: `rankings`, `matches`, `choices` and `scores`
have one function for each. What can be read in two ways is an argument; without it, the reader
refuses and names both readings. The last step makes a `Rankings` or a `Pairs`, with notes. `look`
tries the forms on a table, and prints those that fit.

This room may import fsspec, numpy, pandas, pyarrow, openpyxl and the room data.
"""

from bayesrank.tables.coming import read_coming
from bayesrank.tables.look import Look, look
from bayesrank.tables.opening import Table, open_table
from bayesrank.tables.readers import read_choices, read_matches, read_rankings, read_scores
from bayesrank.tables.words import MissingColumnsError, TableError

__all__ = [
    "Look",
    "MissingColumnsError",
    "Table",
    "TableError",
    "look",
    "open_table",
    "read_choices",
    "read_coming",
    "read_matches",
    "read_rankings",
    "read_scores",
]
