"""Read matches from an input file, and note every change."""

import re
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bayesrank.tables.clusters import clusters
from bayesrank.cli.options import SIDES, MatchColumns, shown
from bayesrank.cli.read_cells import (
    NESTED,
    Reader,
    date_labels,
    in_order_of_time,
    read_times,
    refuse_new,
    refuse_past,
    refuse_rows,
    text_labels,
    without_words,
    words_of,
)
from bayesrank.cli.texts import sentence
from bayesrank.data import Pairs
from bayesrank.data.read import row_name

TIES = ("tie", "draw", "drawn", "tied", "d", "t", "x", "=")  # if a column names the winner
TIED = frozenset(("tie", "ties", "tied", "draw", "draws", "drawn"))  # in other columns
LEAST_MIRRORED = 4  # fewest matches that may stand twice in a table
MEANINGS = dict(zip(SIDES, ("the first wins", "the second wins", "a tie"), strict=True))
YES = ("1", "yes", "y", "true", "t", "x", "neutral")
NO = ("0", "no", "n", "false", "f", "")

# Codes for a win of the first item, a win of the second, and a tie. The first row that contains all
# values of a column applies.
type Way = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]
FLAGS: tuple[Way, ...] = (
    (("1",), ("0",), ("0.5", ".5", "0,5", "1/2", "½")),
    (("1",), ("-1",), ("0",)),
    (("w", "win", "won"), ("l", "loss", "lost"), ("d", "draw", "t", "tie")),
    (("true", "yes"), ("false", "no"), ("tie", "draw")),
)
WAYS: tuple[Way, ...] = (
    (("first",), ("second",), ("tie", "draw")),
    *FLAGS,
    (("1",), ("2",), ("x", "tie", "draw")),
    (("1-0", "white"), ("0-1", "black"), ("1/2-1/2", "½-½", "0.5-0.5", "1/2", "½", "draw", "tie")),
    (("h", "home"), ("a", "away"), ("d", "draw")),
    (("a",), ("b",), ("tie", "draw")),
    (("left",), ("right",), ("tie", "draw", "equal", "both")),
    (("model_a",), ("model_b",), ("tie", "tie (bothbad)")),
)
TIE_WORDS = frozenset(word for *_, ties in WAYS for word in ties if word.isalpha() and word[1:])
WINNERS = frozenset(("winner", "win", "won", "wins", "better", "best"))
LOSERS = frozenset(("loser", "lost", "loses", "worse", "worst", "least", "rejected"))


def read_matches(
    file: Path, columns: MatchColumns, note: Callable[[str], None]
) -> tuple[Pairs, pd.DataFrame | None]:
    """Read matches, and with --date also future matches.

    Future matches are the rows dated last without an outcome, and those of --next.

    Returns
    -------
    pairs : Pairs
        Possibly grouped by "category", "neutral" and "date".
    coming : DataFrame or None
        Columns first, second, date and, with --neutral, neutral; sorted by date.
    """
    reader, date = MatchReader(columns, note), str(columns.date)
    frame = reader.cells(file, columns.names)
    for score in (columns.score_a, columns.score_b):
        if score is not None:
            frame[score] = without_words(frame[score])
    if columns.date is None:
        return reader.pairs(frame), None
    read_times(frame[date].dropna(), date)
    waiting = _waiting(frame, columns)
    if n := int(waiting.sum()):
        note(
            "Matches without an outcome, dated after all others, are forecast: "
            f"{n:,} of {len(frame):,}."
        )
    pairs = reader.pairs(frame[~waiting])
    tables = [reader.coming(frame[waiting], pairs, shown(file))]
    if columns.coming is not None:
        name = shown(columns.coming)
        also = [] if columns.neutral is None else [columns.neutral]
        more = reader.cells(columns.coming, [*columns.sides, date, *also])
        tables.append(reader.coming(more, pairs, name))
        refuse_past(tables[1], pairs, name, date)
    return pairs, in_order_of_time(pd.concat(tables), date)


class MatchReader(Reader[MatchColumns]):
    """Read matches with outcomes in any notation."""

    looks_beside = True

    def pairs(self, frame: pd.DataFrame) -> Pairs:
        """Make matches from a table of text; the group of dates is called "date"."""
        columns, frame = self.columns, self._complete(frame)
        table = self._two_items(frame)
        table["outcome"] = self._outcomes(frame, table)
        sides = ["first", "second"]
        if alike := self.one_spelling(
            pd.concat([table[side] for side in ("first", "second")]), "items"
        ):
            table[sides] = table[sides].replace(alike)
            same = table["first"] == table["second"]
            refuse_rows(same, table["first"], "itself", sides=columns.sides)
        if columns.count is not None:
            table["count"] = counts = self.numbers(frame[columns.count], "count")
            refuse_rows(~(counts >= 0) | (counts % 1 != 0), counts, "no_count")
        if columns.date is not None:
            table["date"] = date_labels(frame[columns.date])
        for group in ("judge", "category"):
            if (column := getattr(columns, group)) is not None:
                labels = text_labels(frame[column])
                alike = self.one_spelling(labels, "judges") if group == "judge" else {}
                table[group] = labels.replace(alike) if alike else labels
        if columns.neutral is not None:
            table["neutral"] = _neutral(frame[columns.neutral])
        for group in columns.groups:
            table[group] = text_labels(frame[group])
        if columns.winner is not None:
            _refuse_ties(self.others.loc[table.index], columns.sides)
        elif columns.count is None and _is_mirrored(table):
            self.note(sentence("mirrored"))
        if columns.count is None and columns.date is None and len(self.others):
            self._look_beside(table)
        # the column of a feature may have the name of another column
        features = {name: f"feature {name}" for name in columns.features}
        for name, both in columns.features.items():
            one, *other = (self.numbers(frame[side], f"feature {name!r}") for side in both)
            table[features[name]] = one - other[0] if other else one
        if not columns.ordered:
            _sort_sides(table, list(features.values()))
        groups = [group for group in ("category", "neutral", "date") if group in table]
        return Pairs.from_frame(
            table,
            first="first",
            second="second",
            outcome="outcome",
            count="count" if columns.count is not None else None,
            judge="judge" if columns.judge is not None else None,
            by=[*groups, *columns.groups],
            features=features,
        )

    def _look_beside(self, table: pd.DataFrame) -> None:
        """Note columns that group dependent matches, and that the options do not name."""
        flat = [name for name in self.others if not isinstance(self.others[name].iloc[0], NESTED)]
        if found := clusters(table, self.others.loc[table.index, flat]):
            self.note(sentence("repeats", columns=found))

    def coming(self, frame: pd.DataFrame, pairs: Pairs, name: str) -> pd.DataFrame:
        """Read future matches; all items must have played before."""
        table = self._two_items(frame)
        table["date"] = date_labels(frame[str(self.columns.date)])
        if self.columns.neutral is not None:
            table["neutral"] = _neutral(frame[self.columns.neutral])
        for side in ("first", "second"):
            refuse_new(table[side], pairs, name)
        return table

    def _two_items(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Read the items of each match into the columns first and second."""
        sides = self.columns.sides
        first, second = (text_labels(frame[side]) for side in sides)
        refuse_rows(first == second, first, "itself", sides=sides)
        return pd.DataFrame({"first": first, "second": second})

    def _complete(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Leave out matches without an outcome or a label, or refuse them."""
        columns = self.columns
        drop = columns.missing == "drop"
        watched = [*columns.results, *(columns.labels if drop else ())]
        incomplete = frame[watched].isna().any(axis=1).to_numpy()
        if not incomplete.any():
            return frame
        share = f"{incomplete.sum():,} of {len(frame):,}"
        if not drop:
            column = next(c for c in columns.results if frame[c].isna().any())
            row = row_name(frame.index, int(incomplete.argmax()))
            raise ValueError(sentence("no_outcome", column=column, row=row, share=share))
        self.note(f"Matches with an empty cell are left out: {share}.")
        return frame[~incomplete]

    def _outcomes(self, frame: pd.DataFrame, table: pd.DataFrame) -> Any:
        """Return outcomes as first, second and tie."""
        columns = self.columns
        if columns.winner is not None:
            return "first"
        if columns.outcome is not None:
            return self._meant(frame[columns.outcome], table)
        a, b = (self.numbers(frame[name], "score") for name in columns.results)
        self.note(sentence("signs", columns=columns.results))
        return np.select([a > b, a < b], SIDES[:2], SIDES[2])

    def _meant(self, column: pd.Series, table: pd.DataFrame) -> pd.Series:
        """Interpret a column of outcomes, by the codes of the options or the usual ones."""
        text = column.astype("string").str.strip()
        codes, distinct = pd.factorize(text)
        spelled = self.columns.spelled
        if spelled:
            meant = [_meaning(str(value), spelled) for value in distinct]
        else:
            way = way_of(distinct, str(column.name), self.columns.sides)
            meant = [_meanings(way or WAYS[0]).get(_folded(value)) for value in distinct]
            named = winners(text, table)
            if named is not None:
                decided = way is not None and set(meant) != {"tie"}
                if decided and (named.to_numpy() != np.array(meant)[codes]).any():
                    raise ValueError(sentence("names_or_sides", column=column.name))
                lost = _is_lost(str(column.name))
                who = "loser" if lost else "winner"
                self.note(f"Column {column.name!r} is read as the name of the {who}.")
                return named.replace({"first": "second", "second": "first"}) if lost else named
            if way is not None and way is not WAYS[0]:
                pairs = sorted(zip(map(str, meant), map(str, distinct), strict=True))
                codings = [f"{value} as {MEANINGS[meaning]}" for meaning, value in pairs]
                self.note(f"Column {column.name!r} is read with {', '.join(codings)}.")
            scores = [_of_scores(value) for value in distinct]
            if way is None and any(scores):
                meant = scores
                if all(scores):
                    words = {"column": column.name, "score": str(distinct[0])}
                    self.note(sentence("scores_in_cells", **words))
        _refuse_unknown(column, np.array([meaning is None for meaning in meant])[codes], spelled)
        return pd.Series(np.array(meant, dtype=object)[codes], index=column.index)


def _folded(value: Any) -> str:
    """Normalise an outcome for comparison: ignore case, and write equal numbers alike."""
    text = str(value).strip().casefold().replace("\N{EN DASH}", "-")
    try:
        return f"{float(text):g}"
    except ValueError:
        return text


def _meaning(value: str, spelled: Mapping[str, str]) -> str | None:
    """Interpret an outcome by its exact code, or else ignoring case."""
    alike = {meaning for text, meaning in spelled.items() if _folded(text) == _folded(value)}
    return spelled.get(value) or (alike.pop() if len(alike) == 1 else None)


def _meanings(way: Way) -> dict[str, str]:
    return {_folded(word): side for side, words in zip(SIDES, way, strict=True) for word in words}


def way_of(values: Any, column: str, sides: tuple[str, str]) -> Way | None:
    """Find the codes for a win of the first item, a win of the second, and a tie.

    They are words in the names of the two columns, or a row of `WAYS`. The row is turned if a name
    says that the codes are about the second item, such as home, black or away_won.
    """
    first, second = ({*words_of(side)} for side in sides)
    way = next((way for way in WAYS if covers(way, values)), None)
    turned = way is not None and _is_turned(way, {*words_of(column)}, first, second)
    ahead = tuple(value for value in values if _names(value, first, second))
    behind = tuple(value for value in values if _names(value, second, first))
    ties = tuple(value for value in values if _folded(value).split(" (")[0] in TIE_WORDS)
    if way is not WAYS[0] and ahead + behind and {*ahead, *behind, *ties} >= {*values}:
        way, turned = (ahead, behind, ties), False
    return way if way is None or turned == _is_lost(column) else (way[1], way[0], way[2])


def _is_lost(column: str) -> bool:
    """Whether a column of outcomes is about the loser."""
    words = words_of(column)
    return not LOSERS.isdisjoint(words) and WINNERS.isdisjoint(words)


def _names(code: Any, words: set[str], others: set[str]) -> bool:
    """Whether a code consists of words of one name and differs from the other."""
    of_code = {*words_of(str(code))}
    return of_code <= words and not of_code <= others and not re.search(r"[^\w\s]", str(code))


def _is_turned(way: Way, column: set[str], first: set[str], second: set[str]) -> bool:
    """Whether names say that the codes for a win of the first item are about the second."""
    if way in FLAGS:
        ahead, behind = {"first"} | first - second, {"second"} | second - first
        return bool(column & behind) and not column & ahead
    ahead, behind = ({word for word in words if word[1:]} for words in way[:2])
    return bool(ahead & second or behind & first) and not (ahead & first or behind & second)


def _of_scores(value: Any) -> str | None:
    """Interpret two scores in one cell, such as 2-1 or 2:1; the first item has the first."""
    found = re.fullmatch(r"(\d+)\s*[-:x\N{EN DASH}]\s*(\d+)", str(value).strip())
    if found is None:
        return None
    a, b = int(found[1]), int(found[2])
    return SIDES[0] if a > b else SIDES[1] if a < b else SIDES[2]


def are_scores(values: Any) -> bool:
    """Whether all values are two scores in one cell."""
    return len(values) > 0 and None not in map(_of_scores, values)


def covers(way: Way, values: Any) -> bool:
    """Whether a row of `WAYS` has all values of a column."""
    known = _meanings(way)
    return all(_folded(value) in known for value in values)


def winners(text: pd.Series, table: pd.DataFrame) -> pd.Series | None:
    """Read a column that names the winner; None if it contains other names."""
    first = text == table["first"]
    second = text == table["second"]
    tie = text.str.casefold().isin(TIES) & ~first & ~second
    if not (first | second | tie).all() or not (first | second).any():
        return None
    outcome = np.select([first.to_numpy(bool), second.to_numpy(bool)], SIDES[:2], SIDES[2])
    return pd.Series(outcome, index=text.index)


def _refuse_ties(others: pd.DataFrame, sides: tuple[str, str]) -> None:
    """Refuse a tie that another column states, because each match must have a winner here."""
    for name, cells in others.items():
        text = cells.dropna().map(str).str.strip()
        tie = text.str.casefold().isin(TIED)
        if not TIED.isdisjoint(words_of(str(name))):
            tie |= text.str.casefold().isin(YES)
        codes = {which: list(dict.fromkeys(text[tie == which])) for which in (True, False)}
        words: dict[str, Any] = {"codes": codes, "sides": sides, "name": str(name)}
        words["quote"] = shlex.quote
        refuse_rows(tie, text, "tie_beside", empty=len(text) < len(cells), **words)


def _is_mirrored(table: pd.DataFrame) -> bool:
    """Whether each match also stands in the table with its items exchanged."""
    counts = table.groupby(["first", "second", "outcome"]).size().to_dict()
    exchanged = {"first": "second", "second": "first", "tie": "tie"}
    keys: Any = counts
    same = (counts.get((b, a, exchanged[won])) == counts[a, b, won] for a, b, won in keys)
    return len(table) >= LEAST_MIRRORED and all(same)


def _refuse_unknown(column: pd.Series, unknown: np.ndarray, spelled: Mapping[str, str]) -> None:
    """Refuse outcomes without a known meaning."""
    known = spelled or {side: side for side in SIDES}
    words: dict[str, Any] = {
        side: [repr(text) for text in known if known[text] == side] for side in SIDES
    }
    ways = [f"{' or '.join(words[side])} ({MEANINGS[side]})" for side in SIDES]
    code = str(column[unknown].iloc[0]) if unknown.any() else ""
    scores = re.search(r"\d\D+\d", code) is not None
    words |= {"ways": ", ".join(ways), "code": shlex.quote(code), "scores": scores}
    refuse_rows(unknown, column, "unknown_outcome", **words)


def _neutral(column: pd.Series) -> pd.Series:
    """Read whether the ground is neutral, as "no" and "yes"."""
    text = column.astype("string").fillna("").str.strip().str.casefold()
    yes = text.isin(YES)
    refuse_rows(~(yes | text.isin(NO)), column, "neither_yes_nor_no")
    return yes.map({True: "yes", False: "no"}).astype(object)


def _sort_sides(table: pd.DataFrame, features: list[str]) -> None:
    """Sort the two items of each match by name, because their order has no meaning."""
    turned = table["first"] > table["second"]
    sides = table[["first", "second"]].to_numpy(object)
    table["first"], table["second"] = sides.min(axis=1), sides.max(axis=1)
    swapped = table["outcome"].replace({"first": "second", "second": "first"})
    table["outcome"] = table["outcome"].mask(turned, swapped)
    table[features] = table[features].mask(turned, -table[features])


def _waiting(frame: pd.DataFrame, columns: MatchColumns) -> np.ndarray:
    """Mark rows without an outcome that are dated after all others."""
    date = frame[str(columns.date)]
    undecided = frame[columns.results].isna().all(axis=1).to_numpy()
    known = date.notna().to_numpy()
    times = np.full(len(frame), -np.inf)
    times[known] = read_times(date[known], str(date.name))
    waiting = undecided & known
    if not columns.results or waiting.all():
        return np.zeros(len(frame), dtype=bool)
    return waiting & (times > times[~waiting].max(initial=-np.inf))
