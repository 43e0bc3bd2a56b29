"""Read LETOR's collections for rank aggregation: documents as search engines ranked them.

Queries are problems, engines are rankers, and the documents of a query are its items. Documents are
numbered 0, 1, 2, ... in the order of the file, so the label of an item is (query, document). An
engine gives the place of a document in its list of results, which also contains other documents. If
an engine does not list a document, you choose what this means:

- ``unlisted="missing"``: the engine gives no information about the document;
- ``unlisted="last"``: the document has one place after the last listed document of the query, tied
  with all other unlisted ones.

>>> table = pd.DataFrame(
...     {"query": 7, "document": [0, 1, 2], "label": [0, 1, 0], "engine1": [3, 1, np.nan]}
... )
>>> columns = ["first", "second", "count"]
>>> metasearch_counts(table, unlisted="missing").to_frame()[columns]
   first  second  count
0      1       0    2.0
>>> metasearch_counts(table, unlisted="last").to_frame()[columns]
   first  second  count
0      0       2    1.0
1      1       0    2.0
2      1       2    3.0
"""

import re
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesrank.data import PairCounts, Rankings
from bayesrank.data.read import (
    Entries,
    assign_problems,
    axis_index,
    label_repr,
    numbers,
    plain_index,
    require_columns,
    row_name,
)
from models.shared.letor import N_PARTS

__all__ = [
    "metasearch_counts",
    "metasearch_rankings",
    "read_aggregation",
    "read_aggregation_parts",
]

COLUMNS = ["part", "query", "document", "label"]
MEANINGS = ("missing", "last")

_LINE = re.compile(r"(?P<label>\d+) qid:(?P<query>\d+) (?P<ranks>(?:\d+:(?:\d+|NULL)\s*)+)(?:#.*)?")


class Places(NamedTuple):
    """Places of documents, by engine."""

    items: pd.Index  # (query, document)
    queries: pd.Index  # query of each item
    engines: pd.Index
    item: NDArray[np.int64]
    engine: NDArray[np.int64]
    rank: NDArray[np.float64]  # low is good


def read_aggregation(path: str | Path) -> pd.DataFrame:
    """Read a file of documents with their ranks in several lists.

    Parameters
    ----------
    path : path
        A file with lines ``label qid:10002 1:30 2:NULL ... # comment``, such as A1.txt. Comments,
        which contain the ids of the documents, are ignored.

    Returns
    -------
    DataFrame
        One row per query and document, in the order of the file: query, document (its position in
        the query: 0, 1, ...), label (grade of relevance), and the ranks engine1, engine2, ...
        (1 = best, NaN = not listed).

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is empty or a line does not parse.

    Examples
    --------
    >>> read_aggregation("A1.txt").shape  # doctest: +SKIP
    (2933, 28)
    """
    rows, n_engines = [], None
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), start=1):
        match = _LINE.fullmatch(line.strip())
        if match is None:
            raise ValueError(
                f"{path}, line {number} must read 'label qid:1 1:30 2:NULL ...'; got "
                f"{label_repr(line)}."
            )
        fields = [field.partition(":") for field in match["ranks"].split()]
        n_engines = n_engines or len(fields)
        if [int(name) for name, _, _ in fields] != list(range(1, n_engines + 1)):
            raise ValueError(
                f"{path}, line {number} must have ranks 1 to {n_engines}, as line 1 does; it has "
                f"{', '.join(name for name, _, _ in fields)}."
            )
        ranks = [np.nan if rank == "NULL" else float(rank) for _, _, rank in fields]
        rows.append([int(match["query"]), int(match["label"]), *ranks])
    if not rows:
        raise ValueError(f"{path} is empty.")
    engines = [f"engine{n}" for n in range(1, (n_engines or 0) + 1)]
    table = pd.DataFrame(rows, columns=["query", "label", *engines])
    document = table.groupby("query").cumcount()
    return table.assign(document=document)[["query", "document", "label", *engines]]


def read_aggregation_parts(folder: str | Path) -> pd.DataFrame:
    """Read the five parts of a collection: A1.txt to A5.txt, or Fold1/test.txt to Fold5/test.txt.

    Parameters
    ----------
    folder : path
        Folder of the files. Fold k of LETOR trains on the parts k to k + 2 and tests on k + 4,
        modulo 5, so that the five test parts make up the collection.

    Returns
    -------
    DataFrame
        The table of `read_aggregation`, with a first column part (0 to 4).
        `models.shared.letor.turns` makes a cross-validation from it.

    Raises
    ------
    FileNotFoundError
        If a file is missing.
    ValueError
        If a file does not parse, or the parts differ in the number of engines.

    Examples
    --------
    >>> read_aggregation_parts("MQ2008-agg").shape  # doctest: +SKIP
    (15211, 29)
    """
    folder = Path(folder)
    paths = [folder / f"A{n + 1}.txt" for n in range(N_PARTS)]
    if not paths[0].exists() and (folder / "Fold1").is_dir():
        # fold n + 1 (from zero) tests part n
        paths = [folder / f"Fold{(n + 1) % N_PARTS + 1}" / "test.txt" for n in range(N_PARTS)]
    tables = [read_aggregation(path) for path in paths]
    widths = [table.shape[1] for table in tables]
    if len(set(widths)) > 1:
        raise ValueError(
            f"The parts in {folder} have {', '.join(str(n - 3) for n in widths)} engines; they "
            "must belong to one collection."
        )
    for number, table in enumerate(tables):
        table.insert(0, "part", number)
    return pd.concat(tables, ignore_index=True)


def metasearch_counts(
    table: pd.DataFrame,
    kind: Literal["difference", "binary"] = "difference",
    *,
    unlisted: Literal["missing", "last"],
) -> PairCounts:
    """Count how strongly each engine prefers one document to another, in every query.

    Parameters
    ----------
    table : DataFrame
        Columns query and document, and one column per engine with its ranks (low is good, NaN =
        not listed); part and label are ignored.
    kind : "difference" or "binary"
        Count the difference of the ranks, or 1.
    unlisted : "missing" or "last"
        Meaning of a document that an engine does not list: nothing is known, or its place is one
        after the last listed document of this query.

    Returns
    -------
    PairCounts
        Problems are the queries, rankers the engines, items (query, document).

    Raises
    ------
    ValueError
        If a column is missing, a rank is not a number, a document occurs twice in a query, or a
        query has one document.

    Examples
    --------
    >>> table = pd.DataFrame({"query": [7, 7], "document": [0, 1], "engine1": [4, np.nan]})
    >>> metasearch_counts(table, unlisted="last")
    PairCounts: 1 ordered pair of 2 items by 1 ranker, 1 in all
    """
    places = _places(table, unlisted)
    axis = assign_problems(places.items, places.queries)
    return PairCounts.from_rating_arrays(
        axis, places.engines, places.engine, places.item, -places.rank, kind
    )


def metasearch_rankings(table: pd.DataFrame, *, unlisted: Literal["missing", "last"]) -> Rankings:
    """Collect the rankings of the documents of each query by each engine.

    Parameters
    ----------
    table, unlisted
        As in `metasearch_counts`; with ``unlisted="last"``, the unlisted documents are the last
        block.

    Returns
    -------
    Rankings
        One ranking per engine and query, labelled ``engine1/10002``; items are (query, document).
        An engine that lists no document of a query has no ranking of it.

    Raises
    ------
    ValueError
        As in `metasearch_counts`, or if no engine lists a document.

    Warns
    -----
    UninformativeRankingWarning
        If a ranking has one item, because an engine lists one document of a query.

    Examples
    --------
    >>> table = pd.DataFrame({"query": [7, 7], "document": [0, 1], "engine1": [4, np.nan]})
    >>> metasearch_rankings(table, unlisted="last").to_frame()
         ranking   ranker    item  rank  weight
    0  engine1/7  engine1  (7, 0)     1     1.0
    1  engine1/7  engine1  (7, 1)     2     1.0
    """
    places = _places(table, unlisted)
    queries = axis_index(places.queries.unique(), "query")
    key = places.engine * len(queries) + queries.get_indexer(places.queries)[places.item]
    ranking, row = np.unique(key, return_inverse=True)
    who = ranking // len(queries)
    names = zip(places.engines.take(who), queries.take(ranking % len(queries)), strict=True)
    return Rankings._from_entries(
        Entries(
            row,
            places.item,
            places.rank,
            items=places.items,
            rankers=places.engines,
            ranker_idx=who,
            labels=axis_index([f"{engine}/{query}" for engine, query in names], "labels"),
        )
    )


def _places(table: pd.DataFrame, unlisted: str) -> Places:
    """Read the ranks of a table, and rank unlisted documents as chosen."""
    if unlisted not in MEANINGS:
        raise ValueError(
            f"`unlisted` must be {MEANINGS[0]!r} (nothing is known about the document) or "
            f"{MEANINGS[1]!r} (it is below all listed documents); got {unlisted!r}."
        )
    require_columns(table, ["query", "document"])
    engines = axis_index([name for name in table.columns if name not in COLUMNS], "engines")
    if not len(table) or not len(engines):
        raise ValueError("The table must have at least one row and one column of ranks.")
    queries = plain_index(table["query"], "query")
    both = zip(queries, plain_index(table["document"], "document"), strict=True)
    items = axis_index(pd.Index(list(both), tupleize_cols=False), "(query, document)")

    rank = np.column_stack([numbers(table[engine], "rank") for engine in engines]).astype(float)
    if np.isinf(rank).any():
        n, e = np.argwhere(np.isinf(rank))[0]
        raise ValueError(
            f"A rank must be a finite number, or missing; column {engines[e]!r} has {rank[n, e]} "
            f"in {row_name(table.index, int(n))}."
        )
    if unlisted == "last":
        worst = pd.DataFrame(rank).groupby(queries.to_numpy()).transform("max").to_numpy()
        rank = np.where(np.isnan(rank), worst + 1, rank)
    engine, item = np.nonzero(~np.isnan(rank.T))  # still NaN where the engine lists nothing
    return Places(items, queries, engines, item, engine, rank[item, engine])
