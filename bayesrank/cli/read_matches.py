"""From the file that a command is given to matches, with a sentence for all that was done to it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from bayesrank.cli.options import SIDES, MatchColumns, Written
from bayesrank.cli.read_rankings import Note, read_cells, read_numbers, text_labels
from bayesrank.data import Pairs
from bayesrank.data.read import label_repr, row_name

TIES = ("tie", "draw", "drawn", "tied", "d", "t", "x", "=")  # beside the name of the winner
YES = ("1", "yes", "y", "true", "t", "x", "neutral")
NO = ("0", "no", "n", "false", "f", "")

# Ways to write the outcome: of the first item, of the second, of neither. The first that has all
# that a column holds is meant.
WAYS: tuple[tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]], ...] = (
    (("first",), ("second",), ("tie", "draw")),
    (("1",), ("0",), ("0.5", ".5", "0,5", "1/2", "½")),
    (("1",), ("2",), ("x", "tie", "draw")),
    (("1",), ("-1",), ("0",)),
    (("1-0",), ("0-1",), ("1/2-1/2", "½-½", "0.5-0.5")),
    (("h", "home"), ("a", "away"), ("d", "draw")),
    (("w", "win", "won"), ("l", "loss", "lost"), ("d", "draw", "t", "tie")),
    (("a",), ("b",), ("tie", "draw")),
    (("left",), ("right",), ("tie", "draw", "equal", "both")),
    (("white",), ("black",), ("draw", "tie")),
    (("true", "yes"), ("false", "no"), ("tie", "draw")),
    (("model_a",), ("model_b",), ("tie", "tie (bothbad)")),
)


def read_pairs(file: Path, columns: MatchColumns, how: Written, note: Note) -> Pairs:
    """Read the table; the group of the categories, if there are any, is called category."""
    return pairs_of(read_cells(file, how, note, columns.names), columns, how, note)


def pairs_of(frame: pd.DataFrame, columns: MatchColumns, how: Written, note: Note) -> Pairs:
    """Make matches of a table of text; the group of the dates is called date."""
    frame = _complete(frame, columns, how, note)

    table = two_items(frame, columns)
    if columns.winner is not None:
        table["outcome"] = "first"
    elif columns.outcome is not None:
        table["outcome"] = _outcomes(frame[columns.outcome], table, columns, note)
    else:
        a, b = (
            read_numbers(frame[name], "score", how, note)
            for name in (columns.score_a, columns.score_b)
        )
        table["outcome"] = np.select([a > b, a < b], ["first", "second"], "tie")
    if columns.count is not None:
        table["count"] = read_numbers(frame[columns.count], "count", how, note)
        _refuse_counts(table["count"], columns.count)
    for group in ("judge", "category", "date"):
        if (column := getattr(columns, group)) is not None:
            table[group] = text_labels(frame[column])
    if columns.neutral is not None:
        table["neutral"] = _neutral(frame[columns.neutral])
    for group in columns.groups:
        table[group] = text_labels(frame[group])
    for name, sides in columns.features.items():
        one, *other = (read_numbers(frame[side], f"feature {name!r}", how, note) for side in sides)
        table[_feature(name)] = one - other[0] if other else one
    features = {name: _feature(name) for name in columns.features}
    if not columns.ordered:
        _sort_sides(table, list(features.values()))
    return Pairs.from_frame(
        table,
        first="first",
        second="second",
        outcome="outcome",
        count="count" if columns.count is not None else None,
        judge="judge" if columns.judge is not None else None,
        by=[
            *(group for group in ("category", "neutral", "date") if group in table),
            *columns.groups,
        ],
        features=features,
    )


def _feature(name: str) -> str:
    """Name the column of a feature, which may have the name of another column."""
    return f"feature {name}"


def two_items(frame: pd.DataFrame, columns: MatchColumns) -> pd.DataFrame:
    """Read who met whom, as columns first and second."""
    one, other = columns.sides
    table = pd.DataFrame({"first": text_labels(frame[one]), "second": text_labels(frame[other])})
    _refuse_itself(table, one, other)
    return table


def _complete(frame: pd.DataFrame, columns: MatchColumns, how: Written, note: Note) -> pd.DataFrame:
    """Leave out matches without an outcome or a label, or refuse them."""
    results = columns.results
    labels = [columns.first, columns.second, columns.winner, columns.loser, columns.judge]
    labels += [columns.category, columns.date, *columns.groups]
    labels += [name for sides in columns.features.values() for name in sides]
    watched = list(results)
    if how.missing == "drop":
        watched += [name for name in labels if name is not None]
    incomplete = frame[watched].isna().any(axis=1).to_numpy()
    if not incomplete.any():
        return frame
    n = int(incomplete.sum())
    what = f"{n:,} of {len(frame):,} {'match' if len(frame) == 1 else 'matches'}"
    if how.missing != "drop":
        column = next(c for c in results if frame[c].isna().any())
        raise ValueError(
            f"Column {column!r} is empty in {row_name(frame.index, int(incomplete.argmax()))}: "
            f"{what} {'has' if n == 1 else 'have'} no outcome. With --missing drop "
            f"{'it is' if n == 1 else 'they are'} left out."
        )
    note(f"{what} {'has' if n == 1 else 'have'} an empty cell and "
                 f"{'is' if n == 1 else 'are'} left out.")  # fmt: skip
    return frame[~incomplete]


def _outcomes(
    column: pd.Series, table: pd.DataFrame, columns: MatchColumns, note: Note
) -> pd.Series:
    """Outcomes as first, second and tie."""
    text = column.astype("string").str.strip()
    codes, distinct = pd.factorize(text)
    spelled = columns.spelled
    if spelled:
        meant = [_meaning(str(value), spelled) for value in distinct]
    else:
        way = next((way for way in WAYS if _covers(way, distinct)), None)
        meant = [_meanings(way or WAYS[0]).get(_folded(value)) for value in distinct]
        named = _winners(text, table)
        if named is not None:
            decided = way is not None and set(meant) != {"tie"}
            if decided and (named.to_numpy() != np.array(meant)[codes]).any():
                raise ValueError(
                    f"Column {column.name!r} may hold the names of the winners, or say whether the "
                    "first or the second won. Say which: give the columns as --winner and "
                    "--loser, or what is written with --first-wins and --second-wins."
                )
            note(f"Column {column.name!r} is read as the name of the winner.")
            return named
        if way is not None and way is not WAYS[0]:
            pairs = sorted(zip(map(str, meant), map(str, distinct), strict=True))
            said = [
                f"{value} as {'a tie' if meaning == 'tie' else f'the {meaning} wins'}"
                for meaning, value in pairs
            ]
            note(f"Column {column.name!r} is read with {', '.join(said)}.")
    wrong = np.array([meaning is None for meaning in meant])
    if wrong.any():
        _refuse(column, int(wrong[codes].argmax()), spelled)
    return pd.Series(np.array(meant, dtype=object)[codes], index=column.index)


def _folded(value: Any) -> str:
    """Write an outcome as it is compared: without regard to case, numbers as numbers."""
    text = str(value).strip().casefold()
    try:
        return f"{float(text):g}"
    except ValueError:
        return text


def _meaning(value: str, spelled: Mapping[str, str]) -> str | None:
    """Find what an outcome means: as it is spelled, or else without regard to case."""
    alike = {meaning for text, meaning in spelled.items() if _folded(text) == _folded(value)}
    return spelled.get(value) or (alike.pop() if len(alike) == 1 else None)


def _meanings(way: tuple[tuple[str, ...], ...]) -> dict[str, str]:
    return {_folded(word): side for side, words in zip(SIDES, way, strict=True) for word in words}


def _covers(way: tuple[tuple[str, ...], ...], values: Any) -> bool:
    known = _meanings(way)
    return all(_folded(value) in known for value in values)


def _winners(text: pd.Series, table: pd.DataFrame) -> pd.Series | None:
    """Read a column that names the winner; None if some other name stands in it."""
    first = text == table["first"]
    second = text == table["second"]
    tie = text.str.casefold().isin(TIES) & ~first & ~second
    if not (first | second | tie).all() or not (first | second).any():
        return None
    outcome = np.select([first.to_numpy(bool), second.to_numpy(bool)], SIDES[:2], SIDES[2])
    return pd.Series(outcome, index=text.index)


def _neutral(column: pd.Series) -> pd.Series:
    """Read whether the ground is neutral, as no and yes."""
    text = column.astype("string").fillna("").str.strip().str.casefold()
    yes, known = text.isin(YES), text.isin((*YES, *NO))
    if not known.all():
        n = int((~known).to_numpy().argmax())
        raise ValueError(
            f"--neutral must name a column of yes and no; column {column.name!r} has "
            f"{label_repr(column.iloc[n])} in {row_name(column.index, n)}."
        )
    return yes.map({True: "yes", False: "no"}).astype(object)


def _sort_sides(table: pd.DataFrame, features: list[str]) -> None:
    """Put the two items of each match in the order of their names, as it means nothing."""
    turned = (table["first"] > table["second"]).to_numpy()
    one, other = table["first"].to_numpy(object), table["second"].to_numpy(object)
    outcome = table["outcome"].to_numpy(object)
    swapped = np.select([outcome == "first", outcome == "second"], SIDES[1::-1], "tie")
    table["first"] = np.where(turned, other, one)
    table["second"] = np.where(turned, one, other)
    table["outcome"] = np.where(turned, swapped, outcome)
    for name in features:
        table[name] = np.where(turned, -table[name], table[name])


def _refuse_itself(table: pd.DataFrame, one: str, other: str) -> None:

    same = (table["first"] == table["second"]).to_numpy()
    if same.any():
        n = int(same.argmax())
        raise ValueError(
            f"Columns {one!r} and {other!r} compare item {label_repr(table['first'].iloc[n])} "
            f"with itself in {row_name(table.index, n)}."
        )


def _refuse_counts(counts: pd.Series, column: str) -> None:

    wrong = ~(counts >= 0) | (counts % 1 != 0)
    if wrong.any():
        n = int(wrong.to_numpy().argmax())
        value = counts.iloc[n]
        raise ValueError(
            f"A count must be a whole number, 0 or more; column {column!r} "
            f"{'is empty' if np.isnan(value) else f'has {value:g}'} in "
            f"{row_name(counts.index, n)}."
        )


def _refuse(column: pd.Series, row: int, spelled: dict[str, str]) -> NoReturn:

    value, where = column.iloc[row], row_name(column.index, row)
    known = spelled or {side: side for side in SIDES}
    ways = [
        " or ".join(repr(text) for text, meaning in known.items() if meaning == outcome)
        + f" ({meant})"
        for outcome, meant in zip(
            SIDES, ("the first wins", "the second wins", "a tie"), strict=True
        )
    ]
    raise ValueError(
        f"An outcome must be {', '.join(ways)}, or the name of the winner; column {column.name!r} "
        f"has {label_repr(value)} in {where}. If outcomes are written otherwise, say how with "
        "--first-wins, --second-wins and --tie, each as often as there are ways."
    )
