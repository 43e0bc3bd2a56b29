"""From the file that a command is given to rankings, with a sentence for all that was done to it.

Every way of writing rankings down becomes one long table of text first: a row per item in a
ranking, with what stood in its cell. What is missing, what stands twice and what codes mean is
settled there, once.
"""

import re
from collections.abc import Callable, Collection
from pathlib import Path

import numpy as np
import pandas as pd

from bayesrank.cli.options import RankColumns, Written, is_preflib, shown
from bayesrank.data import Rankings
from bayesrank.data.read import (
    BROKEN,
    LINE,
    content,
    label_repr,
    label_times,
    read_preflib,
    require_columns,
    require_names,
    row_name,
    table_with_findings,
    text_numbers,
)

type Note = Callable[[str], None]  # what a sentence is said with

PLACES = ("rank", "ranking", "place", "pos", "position")  # what ratings are not called
MOST_CODES = 6  # that an error names
NO_NUMBER = ("na", "n/a", "#n/a", "nan", "null", "none")  # spellings of a missing number
MARKED = {  # how numbers are marked: as places, some of them shared, and as shares
    "rank": re.compile(r"(?:t|=)?\s*(\d+)\s*(?:st|nd|rd|th|=|\.)?", re.IGNORECASE),
    "rating": re.compile(r"([-+]?\d[\d.,]*)\s*%"),
}
_NESTED = (list, tuple, dict, bytes, np.ndarray)
MOST_ENTRIES = 50_000_000  # items in rankings
JUDGED = re.compile(r"\s*[-+.\d]+\s+qid:\d")  # how a LETOR file begins


def read_cells(
    file: Path, how: Written, note: Note, columns: Collection[str], *, every: bool = False
) -> pd.DataFrame:
    """Read the required columns, or all of them; notes report what the file looks like."""
    separator = {"tab": "\t", "\\t": "\t"}.get(how.separator or "", how.separator)
    found = table_with_findings(
        file, encoding=how.encoding, separator=separator, columns=None if every else set(columns)
    )
    if found.said:
        note(f"{shown(file)} is read with {', '.join(found.said)}.")
    require_names(found.names, columns, shown(file))
    frame = _plain_cells(found.frame, shown(file))
    if not how.empty:
        return frame
    empty = frame.apply(lambda column: column.isin(how.empty))
    n, codes = int(empty.to_numpy().sum()), ", ".join(how.empty)
    note(
        f"{n:,} {'cell holds' if n == 1 else 'cells hold'} {codes} and "
        f"{'is' if n == 1 else 'are'} taken for empty."
        if n
        else f"No cell holds {codes}: --empty changes nothing."
    )
    return frame.mask(empty)


def _plain_cells(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """Make plain cells of categories, and refuse lists, structs and bytes: Parquet has them all."""
    if frame.index.name == LINE:  # cells of text
        return frame
    frame = frame.astype(dict.fromkeys(frame.select_dtypes("category"), object))
    for column, cells in frame.select_dtypes(object).items():
        for n, cell in enumerate(cells):
            if isinstance(cell, _NESTED):
                found = cell.tolist() if isinstance(cell, np.ndarray) else cell
                raise ValueError(
                    f"Column {column!r} of {name} must hold text, numbers or dates; it has "
                    f"{label_repr(found)} in {row_name(frame.index, n)}. Name another column, or "
                    "write its content as text."
                )
    return frame


def read_numbers(values: pd.Series, what: str, how: Written, note: Note) -> pd.Series:
    """Read a column of numbers, NaN where there is none."""
    lower = values.astype("string").str.strip().str.lower()
    known = values.mask(lower.isin(NO_NUMBER).fillna(False).astype(bool))
    read, commas = text_numbers(_unmarked(known, what, note), what, decimal=how.decimal)
    if commas and how.decimal is None:
        note(f"Column {values.name!r} is read with decimal commas.")
    return read


def read_times(dates: pd.Series, name: str) -> np.ndarray:
    """Read a column of dates; of one that cannot be read, the sentence says in which row it is."""
    code, labels = pd.factorize(dates)
    try:
        return label_times(pd.Index(labels), name)[code]
    except ValueError as error:
        for n, label in enumerate(labels):
            try:
                label_times(pd.Index([label]), name)
            except ValueError:
                where = row_name(dates.index, int(np.flatnonzero(code == n)[0]))
                raise ValueError(f"In {where}: {error}") from None
        raise


def _unmarked(values: pd.Series, what: str, note: Note) -> pd.Series:
    """Take the marks off a column of which each number has one, or may: 2nd, T3, =4, 50%."""
    given = values.dropna()
    if what not in MARKED or not all(isinstance(value, str) for value in given):
        return values
    cells = given.unique()
    found = {cell: mark for cell in cells if (mark := MARKED[what].fullmatch(cell.strip()))}
    bare = {cell: str(mark[1]) for cell, mark in found.items()}
    marked = [cell for cell in bare if bare[cell] != cell.strip()]
    alike = what == "rank" or len(bare) == len(cells)  # what is 0.5 beside 50%?
    if not marked or not alike:
        return values
    note(f"Column {values.name!r} is read with {marked[0]!r} as {bare[marked[0]]}, and so on.")
    return values.replace(bare)


def read_rankings(file: Path, columns: RankColumns, how: Written, note: Note) -> Rankings:
    """Read rankings; what was done to the table is said by `note`."""
    if is_preflib(file):
        orders = read_preflib(file)
        named = [
            sum(len(block) if isinstance(block, frozenset) else 1 for block in order)
            for order in orders.orderings
        ]
        _require_choice(pd.Series(named, [f"order {n}" for n in range(1, len(named) + 1)]), how)
        rest = "items" if how.missing == "last" else ()
        return Rankings.from_orderings(
            orders.orderings, rest=rest, items=orders.alternatives, weight=orders.voters
        )
    _refuse_judged(file)
    all_of_them = columns.wide is not None and not columns.column
    frame = read_cells(file, how, note, columns.names, every=all_of_them)
    if how.missing == "drop":
        frame = _with_labels(frame, columns, note)
    if columns.ballot:
        long = _of_ballots(frame, columns)
    elif columns.wide == "places":
        long = _of_places(frame, columns, note)
    elif columns.wide:
        long = _of_items(frame, columns, how, note)
    else:
        long = _of_rows(frame, columns, how, note)
    long["weight"] = 1.0
    if columns.weight:
        weight = read_numbers(frame[columns.weight], "weight", how, note)
        if weight.isna().any():
            _missing_weight(columns.weight, weight)
        long["weight"] = weight.reindex(long.index)
    named_groups = (("category", columns.by), ("date", columns.date))
    groups = {group: column for group, column in named_groups if column is not None}
    for group, column in groups.items():
        labels = text_labels(frame[column])
        if group == "date":
            read_times(labels, column)
        long[group] = labels.reindex(long.index)
    long = _without_repeats(_settled(long, columns, how, note), note)
    # rankings need names of their own where a ranker has several
    each = long[["ranker", "ranking"]].drop_duplicates()
    several = "ranking" if each["ranker"].duplicated().any() else None
    for group, column in groups.items():
        refuse_mixed(long, group, column)
    return Rankings.from_long_ranks(
        long, ranker="ranker", item="item", rank="cost", ranking=several, weight="weight",
        by=list(groups),
    )  # fmt: skip


def _with_labels(frame: pd.DataFrame, columns: RankColumns, note: Note) -> pd.DataFrame:
    """Leave out rows that do not say who, what or when."""
    named = (columns.ranker, columns.ranking, columns.item, columns.by, columns.date)
    labels = list(dict.fromkeys(name for name in named if name is not None))
    incomplete = frame[labels].isna().any(axis=1)
    if incomplete.any():
        note(
            f"{_rows(int(incomplete.sum()), len(frame))} without a label in {_either(labels)}, "
            "and left out."
        )
    return frame[~incomplete]


# One row per item in a ranking: ranker, ranking, item, cell, its cost, and whether it is last


def _of_rows(frame: pd.DataFrame, columns: RankColumns, how: Written, note: Note) -> pd.DataFrame:
    """Make a long table of one with a row per ranker and item."""
    # checked by the options: they are given
    ranking, ranker = (
        str(columns.ranking or columns.ranker),
        str(columns.ranker or columns.ranking),
    )
    value, item = str(columns.rating or columns.rank), str(columns.item)
    if columns.rating and value.casefold() in PLACES:
        note(f"Column {value!r} is read as a rating, high being good: if 1 is best, it is --rank.")
    return pd.DataFrame(
        {
            "ranker": text_labels(frame[ranker]),
            "ranking": text_labels(frame[ranking]),
            "item": text_labels(frame[item]),
            "cell": frame[value],
            **_costs(frame[value], columns, how, note),
        }
    )


def _of_items(frame: pd.DataFrame, columns: RankColumns, how: Written, note: Note) -> pd.DataFrame:
    """Make a long table of one with a column per item, or per ranker and a row per item."""
    names, who = _wide(frame, columns)
    parts = []
    for name in names:
        where = {**who, "item": name}
        if columns.item:
            where = {"ranker": name, "ranking": name, "item": text_labels(frame[columns.item])}
        cells = {"cell": frame[name], **_costs(frame[name], columns, how, note)}
        parts.append(pd.DataFrame({**where, **cells}))
    if columns.wide == "ranks" and not columns.item:
        _refuse_turned(pd.DataFrame({n: p["cost"] for n, p in zip(names, parts, strict=True)}))
    return pd.concat(parts)


def _refuse_turned(costs: pd.DataFrame) -> None:
    """Refuse ranks that go down the columns, and not along the rows."""
    n_rows, n_columns = costs.shape
    whole = np.arange(1, n_rows + 1)[:, None]
    down = (np.sort(costs.to_numpy(np.float64), axis=0) == whole).all()
    if n_rows > 2 and down and (costs.max(axis=1) > n_columns).any():
        raise ValueError(
            f"Each column has the ranks 1 to {n_rows}, and the rows have not: a row is an item "
            "here, and a column a ranker. Say so: --item COLUMN, with the names of the items."
        )


def _of_places(frame: pd.DataFrame, columns: RankColumns, note: Note) -> pd.DataFrame:
    """Make a long table of one with a column per place."""
    places, who = _wide(frame, columns)
    if n := int(frame[places].isna().all(axis=1).sum()):
        note(f"{_rows(n, len(frame), 'ranking', 'rankings')} without an item, and left out.")
    parts = [
        pd.DataFrame({**who, "item": frame[place], "cost": n, "last": False, "cell": place})
        for n, place in enumerate(places, start=1)
    ]
    long = pd.concat(parts)
    found = long["item"].notna()
    return long[found].assign(item=text_labels(long["item"][found]))


def _of_ballots(frame: pd.DataFrame, columns: RankColumns) -> pd.DataFrame:
    """Make a long table of ballots such as "a > b = c"."""
    ballots = frame[columns.ballot].astype("string")
    if ballots.isna().any():
        n = int(ballots.isna().to_numpy().argmax())
        raise ValueError(
            f"Column {columns.ballot!r} has no ballot in {row_name(frame.index, n)}: write one, or "
            "leave the row out."
        )
    by = ">" if ballots.str.contains(">").any() else ","
    who = _who(frame, columns)
    rows, items, costs, cells = [], [], [], []
    for n, ballot in enumerate(ballots):
        for place, block in enumerate(ballot.split(by), start=1):
            for item in block.split("="):
                if not item.strip():
                    raise ValueError(
                        f"Column {columns.ballot!r} has {ballot!r} in {row_name(frame.index, n)}; "
                        "a ballot must read 'a > b = c', best first, with an item between signs."
                    )
                rows.append(n)
                items.append(item.strip())
                costs.append(float(place))
                cells.append(f"place {place}")
    long = pd.DataFrame({name: values.iloc[rows] for name, values in who.items()})
    return long.assign(item=items, cost=costs, last=False, cell=cells)


def _wide(frame: pd.DataFrame, columns: RankColumns) -> tuple[list[str], dict[str, pd.Series]]:
    """Find the columns of items or places, and who ranked."""
    used = {columns.ranker, columns.item, columns.weight, columns.by, columns.date}
    chosen = list(columns.column) or [name for name in frame.columns if name not in used]
    require_columns(frame, chosen)
    if len(chosen) < 2:
        raise ValueError(
            f"A table that is --wide needs two columns of {columns.wide} or more; it has "
            f"{', '.join(map(repr, chosen)) or 'none'}."
        )
    return chosen, _who(frame, columns)


def _who(frame: pd.DataFrame, columns: RankColumns) -> dict[str, pd.Series]:
    """Name the ranker of each row; without a column, by the row."""
    names = [f"{frame.index.name or 'row'} {n}" for n in frame.index.tolist()]
    row = pd.Series(names, frame.index)
    if columns.ranker is None:
        return {"ranker": row, "ranking": row}
    return {"ranker": text_labels(frame[columns.ranker]), "ranking": row}


def text_labels(values: pd.Series) -> pd.Series:
    """Labels of a column as text; a missing one is refused."""
    missing = values.isna().to_numpy()
    if missing.any():
        row = row_name(values.index, int(missing.argmax()))
        rows = int(missing.sum())
        raise ValueError(
            f"Column {values.name!r} has a missing label in {row}"
            + (f" and in {rows - 1:,} more rows" if rows > 1 else "")
            + ". Write it, or leave such rows out with --missing drop."
        )
    return values.map(str)


def _costs(
    values: pd.Series, columns: RankColumns, how: Written, note: Note
) -> dict[str, pd.Series]:
    """Read ranks, or ratings as their negatives, and which cells are codes of the last block."""
    codes = {code.casefold() for code in columns.last_block}
    text = values.astype("string").str.strip().str.casefold()
    last = text.isin(codes).fillna(False).astype(bool)
    try:
        numbers = read_numbers(values.mask(last), columns.of, how, note)
    except ValueError as error:
        words = [str(cell) for cell in values.mask(last).dropna().unique() if not _digits(cell)]
        if not words or "must be a finite number" not in str(error):
            raise
        if "No value in it is one" in str(error):
            if not columns.wide:
                raise
            way_out = "Name those of items or rankers, --column for each."
        else:
            some = ",".join(words[:MOST_CODES])
            way_out = (
                f"If such a cell means that an item came in last, as DNF does, name it: "
                f"--last-block '{some}'. If it says nothing: --empty '{some}'."
            )
        raise ValueError(f"{error} {way_out}") from None
    return {"cost": -numbers if columns.of == "rating" else numbers, "last": last}


def _digits(cell: object) -> bool:
    return any(char.isdigit() for char in str(cell))


# What is settled


def _settled(long: pd.DataFrame, columns: RankColumns, how: Written, note: Note) -> pd.DataFrame:
    """Do what is to be done with cells that are empty, and with codes of the last block."""
    n = len(long)
    if columns.ballot or columns.wide in ("places", "ranks"):
        named = long[long["cost"].notna() | long["last"]].groupby("ranking", sort=False)["cost"]
        # places in a longer list may be any, and tell nothing of what is not in it
        if (named.max().fillna(1) <= named.size()).all():
            _require_choice(named.size(), how)
    # places instead of numbers, since those may have more digits than a number that may be missing
    long = long.assign(cost=long["cost"].rank(method="dense"))
    last = long["last"]
    if columns.last_block:
        codes = ", ".join(columns.last_block)
        note(
            f"{_rows(int(last.sum()), n, 'entry', 'entries')} put last in their rankings, in one "
            f"block: {codes}."
            if last.any()
            else f"No cell holds {codes}: --last-block changes nothing."
        )
    missing = long["cost"].isna() & ~last
    long_form = not (columns.wide or columns.ballot)
    policy = how.missing or ("refuse" if long_form and columns.of == "rank" else "drop")
    n_missing = int(missing.sum())
    if n_missing:
        first = long.index[int(missing.to_numpy().argmax())]
        where = f"{long.index.name or 'row'} {first}"
        what = f"{_rows(n_missing, n, 'entry', 'entries', verb=('has', 'have'))} no {columns.of}"
        if policy == "refuse":
            raise ValueError(
                f"{what}, the first in {where}. Say what that means: --missing drop, they were "
                f"not ranked; --missing last, they come after all that have a {columns.of}."
            )
        if policy == "last":
            note(f"{what}: they are put last in their rankings, in one block.")
            long = long.assign(last=last | missing)
        else:
            note(
                f"{what} and {'is' if n_missing == 1 else 'are'} left out, as not ranked; with "
                f"--missing last {'it' if n_missing == 1 else 'they'} would come last."
            )
            rankings = _n_rankings(long)
            long = long[~missing]
            if gone := rankings - _n_rankings(long):
                note(f"{_rows(gone, rankings, 'ranking', 'rankings')} left out with them.")
    if policy == "last" and (columns.ballot or columns.wide == "places"):
        long = _completed(long, note)
    if not len(long):
        raise ValueError(f"No row has a {columns.of}, so the data say nothing about ranks.")
    behind = long["cost"].max() + 1 if long["cost"].notna().any() else 1.0
    return long.assign(cost=long["cost"].mask(long["last"], behind))


def _require_choice(named: pd.Series, how: Written) -> None:
    """Refuse rankings that stop at different places, unless it is said what that means."""
    if how.missing in ("drop", "last") or named.nunique() < 2:
        return
    one, other = named.index[0], named.index[int((named != named.iloc[0]).to_numpy().argmax())]
    raise ValueError(
        f"Rankings leave out items and differ in length: {one} names {named.iloc[0]} and {other} "
        f"names {named[other]}. Say what it means to be left out. With --missing last, these "
        "items come after all that the ranking names, as on a ballot whose voter stopped. With "
        "--missing drop, they were not presented, and the ranking says nothing about them."
    )


def _n_rankings(long: pd.DataFrame) -> int:
    return len(long[["ranker", "ranking"]].drop_duplicates())


def _completed(long: pd.DataFrame, note: Note) -> pd.DataFrame:
    """Put the items that a ballot does not name below those that it names."""
    row, first = np.unique(long.index.to_numpy(), return_index=True)
    code, items = pd.factorize(long["item"])
    if len(row) * len(items) > MOST_ENTRIES:
        raise ValueError(
            f"{len(row):,} rankings of {len(items):,} items each are more than are put last: use "
            "--missing drop."
        )
    there = np.zeros((len(row), len(items)), dtype=bool)
    there[np.searchsorted(row, long.index.to_numpy()), code] = True
    r, i = np.nonzero(~there)
    more = long.iloc[first[r]].assign(item=np.asarray(items)[i], last=True, cell="not named")
    if len(more):
        note(
            f"Items that a ballot does not name are put last in it, in one block: {len(more):,} in "
            "all."
        )
    return pd.concat([long, more])


def _without_repeats(long: pd.DataFrame, note: Note) -> pd.DataFrame:
    """Leave out rows that say the same again; those that say something else are refused."""
    keys = ["ranker", "ranking", "item"]
    again = long.duplicated(keys)
    if not again.any():
        return long
    same = long.duplicated([*keys, "cost", "weight"])
    if (again & ~same).any():
        other = long[again & ~same].iloc[0]
        of_item = long[(long[keys] == other[keys]).all(axis=1)]
        name = long.index.name or "row"
        (one, first), (two, second) = (
            (of_item.index[k], of_item["cell"].iloc[k])
            for k in (0, int((of_item["cost"] != of_item["cost"].iloc[0]).to_numpy().argmax()))
        )
        who = other["ranking"] if other["ranker"] == other["ranking"] else (
            f"{other['ranker']}, {other['ranking']}"
        )  # fmt: skip
        way_out = (
            "leave one of the rows out, or, if the ranker ranked several times, name the rankings "
            "with --ranking COLUMN."
            if one != two
            else f"leave one out. If that stands for no item: --empty '{other['item']}'."
        )
        raise ValueError(
            f"Ranking {who!r} holds item {other['item']!r} twice, with {first} in {name} {one} and "
            f"{second} in {name} {two}. An item has one place in a ranking: {way_out}"
        )
    n = int(again.sum())
    repeat = (
        "row repeats another exactly and is" if n == 1 else "rows repeat others exactly and are"
    )
    note(f"{n:,} {repeat} left out.")
    return long[~again]


def _refuse_judged(file: Path) -> None:
    """Refuse LETOR files, of which utilities per item cannot be learned."""
    if file.suffix.lower() not in (".txt", ".dat", ".letor", ".svm", ".svmlight"):
        return
    try:
        head = content(file, 1000).decode("latin-1")
    except BROKEN:
        return
    if JUDGED.match(head):
        raise ValueError(
            f"{shown(file)} holds judged documents (LETOR). Each query has documents of its own, "
            "so that a utility per document cannot be learned from others: a model of their "
            "features is wanted. Read the file with bayesrank.Rankings.from_letor in Python; "
            "models/context has examples."
        )


def refuse_mixed(long: pd.DataFrame, group: str, column: str) -> None:
    """Refuse a ranking in two categories, or at two dates."""
    each = long.groupby(["ranker", "ranking"], sort=False)[group]
    mixed = (long[group] != each.transform("first")).to_numpy()
    if mixed.any():
        n = int(mixed.argmax())
        row = long.iloc[n]
        raise ValueError(
            f"A ranking is {'at one date' if group == 'date' else 'in one category'}; ranking "
            f"{row['ranking']!r} has {row[group]!r} in "
            f"column {column!r} of {row_name(long.index, n)}, and another one before. If the "
            "ranker has a ranking in each, name the rankings with --ranking COLUMN, which may be "
            "the same column."
        )


def _missing_weight(column: str, weight: pd.Series) -> None:

    n = int(weight.isna().to_numpy().argmax())
    raise ValueError(
        f"A weight must be a finite number; column {column!r} is empty in "
        f"{row_name(weight.index, n)}. Write 1 for a ranking that counts once."
    )


def _rows(
    n: int, of: int, one: str = "row", more: str = "rows", verb: tuple[str, str] = ("is", "are")
) -> str:
    return f"{n:,} of {of:,} {one if of == 1 else more} {verb[n != 1]}"


def _either(names: list[str]) -> str:
    quoted = [repr(name) for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"
