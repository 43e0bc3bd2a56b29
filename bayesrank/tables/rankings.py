"""Rankings from any table: one form of table after the other, then what it leaves open.

Each form becomes a long table of text, with one row per item in a ranking. Its columns are ranker,
ranking, item, cell, cost (low is good), and last (whether the item is in the last block). Missing
values, repeated rows and codes are handled there, once.
"""

import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal

import numpy as np
import pandas as pd

from bayesrank.data import Rankings
from bayesrank.data.read import label_repr, quoted, row_name
from bayesrank.tables.ballots import Ballots, Listed, entries_of
from bayesrank.tables.cells import (
    date_text,
    labels,
    over_distinct,
    read_times,
    refuse_rows,
    words_of,
)
from bayesrank.tables.opening import Orders, Table, label_text
from bayesrank.tables.select import (
    Selection,
    Settings,
    Texts,
    counts_rows,
    joined_text,
    merged,
    one_of,
    read_places,
    refuse_disorder,
    split_codes,
    texts_of,
)
from bayesrank.tables.unused import constant_columns, rankings_with
from bayesrank.tables.words import MissingColumnsError, TableError, spelled

WIDE = ("ranks", "ratings", "results", "places")
# Words in the names of columns that say what their numbers are
RANKS = frozenset(("rank", "ranking", "place", "placing", "pos", "position", "finish"))
RATINGS = frozenset(
    (
        "rating",
        "score",
        "stars",
        "points",
        "pts",
        "grade",
        "accuracy",
        "auc",
        "percent",
        "liking",
        "acceptance",
        "satisfaction",
    )
)
RESULTS = frozenset(
    ("time", "seconds", "error", "loss", "cost", "penalty", "strokes", "latency", "runtime")
)
# Codes of items that did not take part, and items that are none
NOT_RANKED = ("dns", "dsq", "dq", "w", "wd", "ex", "f", "dnq", "dnpq", "did not start", "withdrawn",
              "disqualified", "excluded", "did not qualify", "n/a", "-")  # fmt: skip
NOTHING = ("skipped", "overvote", "undervote", "blank", "exhausted", "-", "na", "n/a", "#n/a",
           "nan", "null", "none", "no vote", "uwi", "write-in", "writein")  # fmt: skip
NINES = (99, 999, 9999)  # common codes for no number
SUMS = ("total", "grand total", "sum", "mean", "average", "avg")  # names of columns and rows
MOST_CODES = 20  # most codes in a message
MOST_TRIED, MOST_WAYS = 6, 3  # columns that may tell repeated entries apart, and remedies
MOST_ENTRIES = 50_000_000  # most items in all rankings together
_GRID = re.compile(r"(.*)\[([^\[\]]+)\]\s*")  # columns of one question in a form
FIT = 0.8  # share of rankings that must be ranks, before one column is called odd


@dataclass(frozen=True)
class RankingColumns:
    """What the columns of a table of rankings are; see `read_rankings`."""

    ranker: str | None = None
    item: str | None = None
    rating: str | None = None
    rank: str | None = None
    result: str | None = None
    ranking: Texts = ()
    wide: Literal["ranks", "ratings", "results", "places"] | None = None
    ballot: str | None = None
    between: str | None = None
    listed: Listed = None
    column: Texts = ()
    count: str | None = None
    weight: str | None = None
    category: str | None = None
    group: str | None = None
    date: str | None = None
    last_block: Texts = ()

    @property
    def roles(self) -> dict[str, str]:
        """Columns by the role that they have in the data."""
        roles = {"item": self.item, "ranker": self.ranker, "ballot": self.ballot, "date": self.date}
        roles |= {"category": self.category, "cluster": self.group}
        return {role: column for role, column in roles.items() if column is not None}

    @property
    def value(self) -> str:
        """Column of the numbers of a table with one row per ranker and item."""
        return str(self.rating or self.rank or self.result)

    @property
    def of(self) -> Literal["rating", "rank", "result"]:
        """Quantity of the numbers."""
        if self.rating or self.wide == "ratings":
            return "rating"
        return "result" if self.result or self.wide == "results" else "rank"

    @property
    def rankings(self) -> list[str]:
        """Columns that separate the rankings of a ranker."""
        return texts_of(self.ranking or ())

    @property
    def given(self) -> bool:
        """Whether anything says what the columns are."""
        named = (
            self.ranker,
            self.item,
            self.rating,
            self.rank,
            self.result,
            self.wide,
            self.ballot,
        )
        return any(named) or bool(self.ranking or self.column)

    @property
    def rows_are_lists(self) -> bool:
        """Whether rows are lists of items, which may omit some."""
        return self.ballot is not None or self.wide == "places"

    @property
    def turned(self) -> bool:
        """Whether each row is an item, and each column a ranker."""
        return self.wide in ("ranks", "ratings", "results") and self.item is not None

    def check(self) -> None:
        """Refuse arguments that exclude each other, or that do not say what the columns are."""
        one_of("wide", self.wide, WIDE)
        one_of("listed", self.listed, ("ranked", "ticked"))
        forms = (self.rating, self.rank, self.result, self.wide, self.ballot)
        if sum(form is not None for form in forms) != 1:
            raise MissingColumnsError(
                "If the table has one row per ranker and item, give rating=COLUMN (high is good), "
                "rank=COLUMN (1 is best) or result=COLUMN (low is good). If it has one row per "
                "ranking, give wide='ranks', wide='ratings', wide='results' or wide='places', or "
                "ballot=COLUMN."
            )
        if self.ballot is None:
            _leave_out(self, "between listed", "needs ballot=COLUMN")
        if self.turned:
            more = "ranker ranking count weight category group date"
            _leave_out(self, more, "says nothing here: each row is an item, each column a ranker")
        elif self.wide or self.ballot:
            _leave_out(self, "item ranking", "says nothing here: each row is a ranking")
        elif self.item is None or not (self.ranker or self.rankings):
            lacking = "item" if self.item is None else "ranker"
            raise MissingColumnsError(f"Missing: {lacking}=COLUMN.")
        if self.wide is None:
            _leave_out(self, "column", "needs wide=")


def _leave_out(columns: Any, names: str, why: str) -> None:
    """Refuse arguments that mean nothing together with the others."""
    for name in names.split():
        if getattr(columns, name):
            raise TableError(f"`{name}` {why}. Leave it out.")


class RankingReader:
    """Read rankings in any form."""

    def __init__(self, table: Table, columns: RankingColumns, settings: Settings) -> None:
        self.columns, self.settings = columns, settings
        self.selection = Selection(table, settings)
        self.note, self.table = self.selection.note, table
        self.may_repeat = True  # whether rows that repeat others may be left out
        self.items_at: list[str] = []  # columns of items, places or rankers

    def read(self) -> Rankings:
        """Read the rankings."""
        c = self.columns
        named = [
            c.ranker,
            c.item,
            c.rating,
            c.rank,
            c.result,
            *c.rankings,
            c.count,
            c.weight,
            c.ballot,
        ]
        single = [name for name in (*named, c.category, c.group, c.date) if name is not None]
        lists = () if c.ballot is None else (c.ballot,)
        frame = self.selection.frame(single, every=c.wide is not None, others=True, lists=lists)
        if self.settings.missing == "drop":
            frame = self._with_labels(frame)
        long = self._long(frame)
        if c.count:
            long["count"] = self.selection.read_times(frame[c.count]).reindex(long.index)
        elif "count" not in long:
            long["count"] = 1
        long["weight"] = 1.0
        if c.weight:
            weight = self.selection.read_weights(frame[c.weight])
            long["weight"] = weight.reindex(long.index)
        long = self._given(long)
        names = {"category": c.category, "cluster": c.group, "date": c.date}
        groups = {group: column for group, column in names.items() if column is not None}
        for group, column in groups.items():
            cells, day_first = frame[column], self.settings.day_first
            read = date_text(cells, day_first, self.note) if group == "date" else labels(cells)
            long[group] = read.reindex(long.index)
        long = self._merged(long)
        long = self._without_repeats(self._settled(long))
        for group, column in groups.items():
            refuse_mixed(long, group, column)
        # rankings need separate names if a ranker has several
        who = long[["ranker", "ranking"]].drop_duplicates()
        several = "ranking" if who["ranker"].duplicated().any() else None
        labeled, timed = self._unused(frame, single, long, groups)
        both = labeled | timed
        unused = {f"unused {k}": name for k, name in enumerate(both)}
        more: dict[str, Any] = {key: both[name].to_numpy(object) for key, name in unused.items()}
        rankings = Rankings.from_long_ranks(
            long.assign(**more), ranker="ranker", item="item", rank="cost", ranking=several,
            count="count", weight="weight", by=[*groups, *unused],
        )  # fmt: skip
        rankings = rankings_with(rankings, labeled, timed, unused)
        if c.ranker is None:
            rankings = without_rankers(rankings)
        return rankings._with(notes=self.selection.notes)

    def _given(self, long: pd.DataFrame) -> pd.DataFrame:
        """Leave out rankings that were given 0 times."""
        never = long["count"] == 0
        if not never.any():
            return long
        if never.all():
            raise TableError("All counts are 0, so no ranking was given.")
        n = len(long[never][["ranker", "ranking"]].drop_duplicates())
        self.note(f"Rankings that were given 0 times are left out: {n:,}.")
        return long[~never]

    def _unused(
        self, frame: pd.DataFrame, named: Sequence[str], long: pd.DataFrame, groups: Iterable[str]
    ) -> tuple[dict[str, pd.Series], dict[str, pd.Series]]:
        """Return the columns that no argument names, with labels and with times."""
        c = self.columns
        if c.date is not None or c.turned:
            return {}, {}
        rest = [name for name in frame.columns if name not in (*named, *self.items_at)]
        others = frame[rest] if c.wide is not None else self.selection.others
        return constant_columns(long, others, self.settings.day_first, groups)

    def _merged(self, long: pd.DataFrame) -> pd.DataFrame:
        """Merge items and rankers that differ only in their spelling, or note them."""
        items = self.selection.one_spelling(long["item"], "items")
        long = long.assign(item=merged(long["item"], items))
        if self.columns.ranker is None:
            return long
        rankers = self.selection.one_spelling(long["ranker"], "rankers")
        names = ["ranker"] if self.columns.rankings else ["ranker", "ranking"]
        return long.assign(**{name: merged(long[name], rankers) for name in names})

    def _with_labels(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Leave out rows without a label."""
        c = self.columns
        named = [
            x for x in (c.ranker, *c.rankings, c.item, c.category, c.group, c.date) if x is not None
        ]
        incomplete = frame[list(dict.fromkeys(named))].isna().any(axis=1)
        if n := int(incomplete.sum()):
            where = " or ".join(map(repr, dict.fromkeys(named)))
            self.note(f"Rows without a label in {where} are left out: {n:,} of {len(frame):,}.")
        return frame[~incomplete]

    # The forms: one row per item in a ranking

    def _long(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Make a long table from any form."""
        if self.columns.ballot:
            return self._from_ballots(frame)
        if self.columns.wide is None:
            return self._from_rows(frame)
        frame, names = self._wide(frame)
        if self.columns.wide == "places":
            return self._from_places(frame, names)
        return self._from_items(frame, names)

    def _from_rows(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Read one row per ranker and item."""
        c = self.columns
        words = {*words_of(c.value)}
        own, other = (RATINGS, RANKS | RESULTS) if c.of == "rating" else (RANKS | RESULTS, RATINGS)
        if words & other and not words & own:
            high = "high" if c.of == "rating" else "low"
            turned = {"rank": c.value} if c.of == "rating" else {"rating": c.value}
            self.note(
                f"Column {c.value!r} is read as a {c.of}, so {high} values are good. If not, use "
                f"{spelled(**turned)}."
            )
        who = c.ranker or c.rankings[0]
        within = [labels(frame[name]) for name in (c.rankings or [who])]
        ranking = joined_text(within, "/")
        return pd.DataFrame({
            "ranker": labels(frame[who]), "ranking": ranking, "item": labels(frame[str(c.item)]),
            **self._costs(frame[c.value]),
        })  # fmt: skip

    def _from_items(self, frame: pd.DataFrame, names: list[str]) -> pd.DataFrame:
        """Read one column per item, or one per ranker."""
        who, parts = self._who(frame), []
        for name in names:
            where: dict[str, Any] = {**who, "item": name}
            if self.columns.turned:
                item = labels(frame[str(self.columns.item)])
                where = {"ranker": name, "ranking": name, "item": item}
            parts.append(pd.DataFrame({**where, **self._costs(frame[name])}))
        costs = pd.DataFrame({n: p["cost"] for n, p in zip(names, parts, strict=True)})
        if not texts_of(self.columns.column):
            self._ask_about_columns(frame, costs)
        if self.columns.wide == "ranks":
            for name, part in zip(names, parts, strict=True):
                self._refuse_no_ranks(part["cost"], part["cell"].rename(name))
            if not self.columns.turned:
                self._refuse_turned(costs)
        return pd.concat(parts)

    def _from_places(self, frame: pd.DataFrame, names: list[str]) -> pd.DataFrame:
        """Read one column per place."""
        columns = [label_text(frame[name]) for name in names]
        table = pd.concat(columns, axis=1)
        if n := int(table.isna().all(axis=1).sum()):
            self.note(f"Rankings without an item are left out: {n:,} of {len(frame):,}.")
        if not texts_of(self.columns.column) and self.columns.ranker is None:
            self._ask_about_first_place(table)
        who = self._who(frame)
        parts = [
            pd.DataFrame({**who, "item": column, "cost": float(n), "last": False, "cell": name})
            for n, (name, column) in enumerate(zip(names, columns, strict=True), start=1)
        ]
        long = pd.concat(parts).dropna(subset=["item"])
        again = long.set_index("item", append=True).index.duplicated()
        self._refuse_no_items(long, again)
        if n := int(again.sum()):
            self.note(f"An item that a ballot names again counts where it is first: {n:,}.")
        return long[~again]

    def _from_ballots(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Read ballots such as "a > b = c"."""
        c = self.columns
        ballots = Ballots(frame[str(c.ballot)], c.between, c.listed, self.note)
        if ballots.counts is not None and c.count:
            raise TableError(
                f"The ballots in {c.ballot!r} have counts, and column {c.count!r} too. Leave "
                f"`count` out, or remove the counts.",
            )
        rows, places, item = zip(*entries_of(ballots), strict=True)
        at, place = np.array(rows), np.array(places, dtype=float)
        who = {name: cells.iloc[at] for name, cells in self._who(frame).items()}
        index = frame.index[at]
        long = pd.DataFrame({**who, "item": list(item), "cost": place, "last": False}, index=index)
        long["cell"] = [f"place {n:g}" for n in place]
        if ballots.counts is not None:
            long["count"] = ballots.counts.iloc[at].to_numpy()
        return long

    def _refuse_no_items(self, long: pd.DataFrame, again: np.ndarray) -> None:
        """Refuse a ballot that names twice what seems to be no item, such as skipped."""
        none = over_distinct(long["item"], lambda item: item.casefold() in NOTHING).astype(bool)
        rows = np.flatnonzero(again & none.to_numpy())
        if len(rows):
            item = str(long["item"].iloc[rows[0]])
            codes = [str(x) for x in long["item"][none.to_numpy()].unique()]
            ways: list[dict[str, Any]] = [
                {"empty": codes, "missing": missing} for missing in ("last", "drop")
            ]
            raise TableError(
                f"A ballot names {item!r} twice, in {row_name(long.index, int(rows[0]))}, so it "
                f"seems to mean that no item was named. If so, say what the omitted items mean: "
                f"{spelled(**ways[0])} if they come last, or {spelled(**ways[1])} if they were not "
                "offered.",
                ways,
            )

    def _wide(self, frame: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
        """Find the columns of items, places or rankers."""
        c = self.columns
        used = [
            x
            for x in (c.ranker, c.item, c.count, c.weight, c.category, c.group, c.date)
            if x is not None
        ]
        if texts_of(c.column):
            chosen = self.selection.chosen(frame, c.column, used)
        else:
            chosen = [n for n, name in enumerate(frame.columns) if name not in used]
            left = frame.columns[chosen]
            if (twice := left[left.duplicated()]).size:
                raise TableError(
                    f"{self.table.name} has several columns called {twice[0]!r}. Choose columns by "
                    "number, such as column='8-13'."
                )
        self.items_at = [str(name) for name in frame.columns[chosen]]
        frame, names = self._without_question(frame, chosen)
        if len(names) < 2:
            raise TableError(
                f"A table with wide={c.wide!r} needs two columns of {c.wide} or more; it has "
                f"{', '.join(map(repr, names)) or 'none'}."
            )
        if c.wide == "places":
            refuse_disorder(names, "column")
        elif not texts_of(c.column):
            for name, n in zip(names, chosen, strict=True):
                if counts_rows(name, frame.iloc[:, n]):
                    rest = [other for other in names if other != name]
                    turned = "rankers" if c.turned else "items"
                    remedies: list[dict[str, Any]] = [{"column": rest}]
                    named = c.turned or c.ranker
                    also = "" if named else f", or give {spelled(ranker=name)}"
                    remedies += [] if named else [{"ranker": name}]
                    raise TableError(
                        f"Column {name!r} seems to number the rows, but all columns without an "
                        f"argument are {turned}. Name the columns of {turned}: "
                        f"{spelled(column=rest)}{also}.",
                        remedies,
                    )
        others = [n for n, name in enumerate(frame.columns) if name in used and n not in chosen]
        return frame.iloc[:, [*others, *chosen]], names

    def _without_question(
        self, frame: pd.DataFrame, chosen: list[int]
    ) -> tuple[pd.DataFrame, list[str]]:
        """Name columns such as "Rank these [Ale]" and "Rank these [Bock]" by their items.

        The names, or the questions below them in a survey export, contain the items.
        """
        names = [str(frame.columns[n]) for n in chosen]
        texts = [self.table.questions.get(name, "") for name in names]
        asked = all(re.search(r"\S - \S", text) for text in texts)  # as Qualtrics writes items
        written = [re.sub(r"^(.*) - (.*)$", r"\1[\2]", text) for text in texts] if asked else names
        found = [_GRID.fullmatch(name) for name in written]
        short = [match[2].strip() for match in found if match is not None]
        questions = {match[1] for match in found if match is not None}
        if len(short) == len(names) > 1 and len(questions) == 1 and len({*short}) == len(short):
            self.note(f"Columns of the question {questions.pop().strip()!r} are named by items.")
            renamed = dict(zip(chosen, short, strict=True))
            columns = [renamed.get(n, name) for n, name in enumerate(frame.columns)]
            return frame.set_axis(columns, axis=1), short
        return frame, names

    def _who(self, frame: pd.DataFrame) -> dict[str, pd.Series]:
        """Name the ranker of each row, by its number if there is no column."""
        names = [f"{frame.index.name or 'row'} {n}" for n in frame.index.tolist()]
        row = pd.Series(names, frame.index, dtype=object)
        ranker = self.columns.ranker
        return {"ranker": row if ranker is None else labels(frame[ranker]), "ranking": row}

    def _costs(self, values: pd.Series) -> dict[str, pd.Series]:
        """Read ranks, results or negative ratings, and find codes of the last block."""
        of, cells = self.columns.of, values
        last = pd.Series(False, values.index)
        if texts_of(self.columns.last_block):
            text = over_distinct(label_text(values), str.casefold)
            last = text.isin([code.casefold() for code in self._last_codes(values)])
            cells = values.astype(object).mask(last)
        if grades := self.table.grades.get(str(values.name)):
            numbers = pd.Series(pd.Index(grades).get_indexer(pd.Index(cells)) + 1.0, values.index)
            numbers = numbers.where(numbers > 0)
            self.note(f"Column {values.name!r} has the grades {quoted(grades)}, in this order.")
        else:
            try:
                numbers = self.selection.read_numbers(cells, of)
            except TableError:
                raise
            except ValueError as error:
                raise self._about_codes(cells, error) from None
        if of == "rank" and self.columns.wide is None:
            self._refuse_no_ranks(numbers, values)
        return {"cell": values, "cost": -numbers if of == "rating" else numbers, "last": last}

    def _last_codes(self, values: pd.Series) -> list[str]:
        """Split the codes of the last block; a code may contain a comma."""
        cells = {str(cell) for cell in label_text(values).dropna().unique()}
        return split_codes(self.columns.last_block, cells)

    def _about_codes(self, values: pd.Series, error: ValueError) -> TableError:
        """Say what to do about cells without a number."""
        cells = [str(cell) for cell in label_text(values).dropna().unique()]
        words = [cell for cell in cells if not re.search(r"\d", cell)]
        clock = any(re.fullmatch(r"[\d.,:]+:[\d.,:]+", cell) for cell in cells)
        if clock and self.columns.of != "result" and self.columns.wide is None:
            turned, given = {"result": self.columns.value}, {self.columns.of: self.columns.value}
            text = (
                f"{error} If the cells are times, low is good: give {spelled(**turned)} instead of "
                f"{spelled(**given)}."
            )
            return TableError(text, [{**turned, self.columns.of: None}])
        if clock and self.columns.wide in ("ranks", "ratings"):
            text = f"{error} If the cells are times, low is good: use wide='results'."
            return TableError(text, [{"wide": "results"}])
        hopeless = len(words) == len(cells)
        if not words:
            return TableError(str(error))
        if hopeless and not self.columns.wide:
            return TableError(str(error))
        if hopeless:
            what = "rankers" if self.columns.turned else "items"
            who = {} if self.columns.turned or self.columns.ranker else {"ranker": str(values.name)}
            more = f" If {values.name!r} says who ranks, give {spelled(**who)}." if who else ""
            return TableError(
                f"{error} Name the columns of {what} with `column`.{more}", [who] if who else []
            )
        words = words[:MOST_CODES]
        also = {"missing": "drop"} if self.columns.of != "rating" else {}
        last, none = {"last_block": words}, {"empty": words, **also}
        remedies: list[dict[str, Any]] = [last, none]
        text = (
            f"{error} If such a cell means that an item came last, such as DNF, name it: "
            f"{spelled(**last)}. If it means nothing: {spelled(**none)}."
        )
        missed = [word for word in words if word.casefold().strip() in NOT_RANKED]
        behind = [word for word in words if word not in missed]
        if missed and behind:
            both = {"last_block": behind, "empty": missed, **also}
            remedies.append(both)
            text += (
                " To rank those who failed last, and to leave out those who did not start or were "
                f"disqualified: {spelled(**both)}."
            )
        return TableError(text, remedies)

    # What a wide table leaves open

    def _ask_about_columns(self, frame: pd.DataFrame, costs: pd.DataFrame) -> None:
        """Ask about a column of totals, and about tables whose rows and columns have one name."""
        names = [str(name) for name in costs.columns]
        values = costs.to_numpy(np.float64)
        odd = [name for name in names if name.casefold() in SUMS]
        if not odd and self.columns.of != "rank" and len(names) > 2 and len(values) > 2:
            for k, name in enumerate(names):
                rest = np.delete(values, k, axis=1)
                known = ~np.isnan(rest).any(axis=1)
                sums = rest.sum(axis=1), rest.mean(axis=1)
                if known.sum() > 2 and any(np.allclose(values[known, k], s[known]) for s in sums):
                    odd = [name]
                    break
        why = "may be the sum or the mean of the others"
        if not odd and self.columns.of == "rank":
            odd = (_odd_rankers if self.columns.turned else _odd_item)(names, values)
            why = "has values that are not ranks"
        if odd:
            others = [name for name in names if name not in odd]
            all_of_them = " If it belongs to them, name all columns with `column`."
            raise TableError(
                f"Column {odd[0]!r} {why}. Leave it out with {spelled(column=others)}."
                f"{all_of_them if self.columns.of != 'rank' else ''}",
                [{"column": others}, *([{"column": names}] if self.columns.of != "rank" else [])],
            )
        if not self.columns.turned:
            return
        rows = labels(frame[str(self.columns.item)]).tolist()
        diagonal = [values[rows.index(name), k] for k, name in enumerate(names) if name in rows]
        if {*rows} == {*names} and all(np.isnan(x) or x == 0 for x in diagonal):
            raise TableError(
                "Rows and columns have the same names, and nothing stands on the diagonal, as in a "
                "matrix of wins. Read it with br.read_matches(..., matrix=True), on the command "
                "line with `bayesrank matches`. If each column is a ranker, name the columns: "
                f"{spelled(column=names)}.",
                [{"column": names}],
            )

    def _ask_about_first_place(self, table: pd.DataFrame) -> None:
        """Ask whether the first column names rankers, if its labels are in no other column."""
        names = [str(name) for name in table.columns]
        unnamed = all(re.fullmatch(r"column \d+", name) for name in names)
        if len(names) < 3 or (read_places(names) is not None and not unnamed):
            return
        first, *others = ({*table[name].dropna()} for name in names)
        rest = set().union(*others)
        if len(first) > 1 and not first & rest and others[0] & set().union(*others[1:]):
            remedies: list[dict[str, Any]] = [{"ranker": names[0]}, {"column": names}]
            raise TableError(
                f"Column {names[0]!r} may name the rankings, because its labels are in no other "
                f"column. If so, give {spelled(ranker=names[0])}. If it is the first place, name "
                f"all places: {spelled(column=names)}.",
                remedies,
            )

    def _refuse_turned(self, costs: pd.DataFrame) -> None:
        """Refuse ranks that run down the columns instead of along the rows."""
        n_rows, n_columns = costs.shape
        whole = np.arange(1, n_rows + 1)[:, None]
        down = (np.sort(costs.to_numpy(np.float64), axis=0) == whole).all()
        if n_rows > 2 and down and (costs.max(axis=1) > n_columns).any():
            raise TableError(
                f"Each column has the ranks 1 to {n_rows}, but the rows do not. So a row is an "
                "item here, and a column is a ranker. Name the column of items with item=COLUMN."
            )

    # Missing values, codes and repeated rows

    def _settled(self, long: pd.DataFrame) -> pd.DataFrame:
        """Handle missing values and codes of the last block."""
        c, n = self.columns, len(long)
        if c.rows_are_lists or c.wide == "ranks":
            named = long[long["cost"].notna() | long["last"]].groupby("ranking", sort=False)["cost"]
            # Ranks from a longer list may have gaps; then their number means nothing.
            if c.rows_are_lists or (named.max().fillna(1) <= named.size()).all():
                ask_about_omitted(
                    named.size(), long["item"].nunique(), self.settings.missing, self.note,
                    silent=c.wide == "ranks",
                )  # fmt: skip
        self._note_doubtful(long)
        # Dense places replace the numbers, which may have more digits than a float.
        long = long.assign(cost=long["cost"].rank(method="dense"))
        if texts_of(c.last_block):
            codes = self._last_codes(long["cell"])
            found, listed = int(long["last"].sum()), ", ".join(codes)
            self.note(
                f"Entries with {listed} are placed last in their rankings, in one block: "
                f"{found:,} of {n:,}."
                if found
                else f"No cell contains {listed}, so {spelled(last_block=codes)} has no effect."
            )
        long = self._without_missing(long)
        if self.settings.missing == "last" and c.rows_are_lists:
            long = self._completed(long)
        if not len(long):
            raise TableError(f"No row has a {c.of}, so the data say nothing about ranks.")
        behind = long["cost"].max() + 1 if long["cost"].notna().any() else 1.0
        return long.assign(cost=long["cost"].mask(long["last"], behind))

    def _refuse_no_ranks(self, cost: pd.Series, cells: pd.Series) -> None:
        """Refuse numbers that cannot be ranks: fractions, and 0, which may mean a missing rank."""
        c = self.columns
        turned: list[dict[str, Any]] = (
            [{"rating": c.value, "rank": None}, {"result": c.value, "rank": None}]
            if c.wide is None
            else [{"wide": "ratings"}, {"wide": "results"}]
        )
        high, low = ({k: v for k, v in one.items() if v} for one in turned)
        other = f"If high is good, give {spelled(**high)}; if low is good, {spelled(**low)}"
        must = "A rank must be a whole number, or end in .5 if it is shared"
        fraction = cost.notna() & ~(cost % 1).isin([0, 0.5])
        refuse_rows(fraction, cells, must, f"{other}.", turned)
        code = cells[cost < 1].iloc[0] if (cost < 1).any() else ""
        code = label_text(pd.Series([code])).iloc[0]
        none: list[dict[str, Any]] = [
            {"empty": [code], "missing": missing} for missing in ("drop", "last")
        ]
        refuse_rows(
            cost < 1,
            cells,
            "A rank must be 1 or more",
            f"If it means that there is no rank: {spelled(**none[0])} or {spelled(**none[1])}. "
            f"{other}.",
            [*none, *turned],
        )

    def _note_doubtful(self, long: pd.DataFrame) -> None:
        """Note items and ratings that may mean that there is none, and sums."""
        c = self.columns
        columns = {"ranker": None if c.turned else c.ranker, "item": c.item}
        for role, column in columns.items():
            for name in long[role].unique():
                if column is not None and name.casefold() in SUMS:
                    self.note(
                        f"{name!r} in column {column!r} may be a sum or a mean of the others. If "
                        f"so, leave it out with {spelled(where=f'{column}!={name}')}."
                    )
        if c.rows_are_lists:
            for item in long["item"].unique():
                if item.casefold() in NOTHING:
                    self.note(
                        f"Item {item!r} may mean that no item was named. If so, use "
                        f"{spelled(empty=item)}, with missing='last' or missing='drop'."
                    )
            return
        values = -long["cost"] if c.of == "rating" else long["cost"]
        distinct, n = np.unique(values.dropna(), return_counts=True)
        far = []
        if len(distinct) > 2 and n[0] > 1 and distinct[0] < 0 <= distinct[1] and distinct[-1] > 1:
            far = [distinct[0]]  # ratings of -1, 0 and 1 may all be meant
        elif len(distinct) > 2 and distinct[-1] in NINES and distinct[-1] > 3 * distinct[-2]:
            far = [distinct[-1]]
        for cell in long.loc[values.isin(far), "cell"].head(1):
            self.note(
                f"The {c.of} {cell} is far from the others. If it means that there is no {c.of}, "
                f"use {spelled(empty=str(cell))}."
            )

    def _without_missing(self, long: pd.DataFrame) -> pd.DataFrame:
        """Refuse entries without a value, put them last, or leave them out."""
        c, missing = self.columns, long["cost"].isna() & ~long["last"]
        if not missing.any():
            return long
        asks = c.of == "result" or (c.of == "rank" and c.wide is None and c.ballot is None)
        policy = self.settings.missing or ("refuse" if asks else "drop")
        share = f"{missing.sum():,} of {len(long):,}"
        if policy == "refuse":
            where = row_name(long.index, int(missing.to_numpy().argmax()))
            drop, last = {"missing": "drop"}, {"missing": "last"}
            raise TableError(
                f"Entries without a {c.of}: {share}, the first in {where}. Say what they mean: "
                f"{spelled(**drop)} if they were not ranked, or {spelled(**last)} if they come "
                f"after all entries with a {c.of}.",
                [drop, last],
            )
        if policy == "last":
            self.note(
                f"Entries without a {c.of} are placed last in their rankings, in one block: "
                f"{share}."
            )
            return long.assign(last=long["last"] | missing)
        self.note(
            f"Entries without a {c.of} are left out, as not ranked: {share}. With missing='last' "
            "they would come last."
        )
        before, long = _n_rankings(long), long[~missing]
        if gone := before - _n_rankings(long):
            self.note(f"Rankings without other entries are left out: {gone:,} of {before:,}.")
        return long

    def _completed(self, long: pd.DataFrame) -> pd.DataFrame:
        """Put the items that a ballot does not name in its last block."""
        row, first = np.unique(long.index.to_numpy(), return_index=True)
        code, items = pd.factorize(long["item"])
        if len(row) * len(items) > MOST_ENTRIES:
            raise TableError(
                f"{len(row):,} rankings of {len(items):,} items each are too many to place items "
                "last. Use missing='drop'.",
                [{"missing": "drop"}],
            )
        named = np.zeros((len(row), len(items)), dtype=bool)
        named[np.searchsorted(row, long.index.to_numpy()), code] = True
        r, i = np.nonzero(~named)
        more = long.iloc[first[r]].assign(item=np.asarray(items)[i], last=True, cell="not named")
        if len(more):
            self.note(
                "Items that a ballot does not name are placed last in it, in one block: "
                f"{len(more):,} in all."
            )
        return pd.concat([long, more])

    def _without_repeats(self, long: pd.DataFrame) -> pd.DataFrame:
        """Leave out exact repetitions, and refuse contradictory ones."""
        keys = ["ranker", "ranking", "item"]
        again = long.duplicated(keys)
        if not again.any():
            return long
        if not self.may_repeat:
            raise TableError("An item has one place in a ranking.")
        different = again & ~long.duplicated([*keys, "cost", "count", "weight"])
        if different.any():
            self._refuse_repeat(long[(long[keys] == long[different].iloc[0][keys]).all(axis=1)])
        self.note(f"Rows that repeat others exactly are left out: {again.sum():,}.")
        return long[~again]

    def _refuse_repeat(self, entries: pd.DataFrame) -> None:
        """Refuse contradictory entries of an item, and name the column in which they differ."""
        first = entries.iloc[0]
        other = int((entries["cost"] != first["cost"]).to_numpy().argmax())
        one, two = (row_name(entries.index, k) for k in (0, other))
        same = first["ranker"] == first["ranking"]
        ranking = first["ranking"] if same else f"{first['ranker']}, {first['ranking']}"
        message = (
            f"Ranking {ranking!r} contains item {first['item']!r} twice, with {first['cell']} in "
            f"{one} and {entries['cell'].iloc[other]} in {two}, but an item has one place in a "
            "ranking."
        )
        remedies = self._tell_apart(entries.iloc[[0, other]])
        if remedies:
            ways = " or ".join(spelled(**one) for one in remedies)
            raise TableError(f"{message} The two rows differ in another column: {ways}.", remedies)
        raise TableError(
            f"{message} Remove one of the rows. If the ranker ranked several times, name the "
            "rankings with ranking=COLUMN."
        )

    def _tell_apart(self, entries: pd.DataFrame) -> list[dict[str, Any]]:
        """Find columns that tell two entries apart, as names of rankings or as conditions."""
        c = self.columns
        if c.wide is not None or c.ballot is not None:
            return []
        used = [c.ranker, c.item, c.value, *c.rankings, c.count, c.weight]
        table = self.selection.table.cells()
        names = [self.settings.renamed.get(name, name) for name in table.columns]
        found: dict[str, list[str]] = {}
        for k, name in enumerate(names):
            cells = table.iloc[:, k].loc[entries.index]
            if name not in used and names.count(name) == 1 and not cells.isna().any():
                found[name] = label_text(cells).tolist()
        differ = [name for name, (one, other) in found.items() if one != other]
        several = [[*c.rankings, name] for name in differ[:MOST_TRIED]]
        pairs = combinations([name for name in found if name not in used][:MOST_TRIED], 2)
        rankings = [x for x in several if self._reads({"ranking": x})] or [
            x for pair in pairs if self._reads({"ranking": (x := [*c.rankings, *pair])})
        ]
        remedies: list[dict[str, Any]] = [{"ranking": x} for x in rankings[:MOST_WAYS]]
        for name in differ[:MOST_TRIED]:
            ways = [{"where": [f"{name}={value}"]} for value in found[name]]
            remedies += [one for one in ways if self._reads(one)][:MOST_WAYS]
        return remedies

    def _reads(self, remedy: dict[str, Any]) -> bool:
        """Whether the table can be read with other arguments."""
        where = [*texts_of(self.settings.where), *remedy.get("where", ())]
        if isinstance(self.settings.where, dict) and "where" in remedy:
            return False
        settings = replace(self.settings, where=where or self.settings.where)
        rankings = {"ranking": remedy["ranking"]} if "ranking" in remedy else {}
        columns = replace(self.columns, **rankings)
        reader = RankingReader(self.table, columns, settings)
        reader.may_repeat = False
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                reader.read()
        except ValueError:
            return False
        return True

    # Future rankings

    def coming(self, table: Table, rankings: Rankings) -> pd.DataFrame:
        """Read future rankings of items that were ranked before, sorted by date."""
        c, selection = self.columns, Selection(table, self.settings)
        who = list(dict.fromkeys(x for x in (c.ranker, *c.rankings) if x is not None))
        item, date = str(c.item), str(c.date)
        frame = selection.frame([*who, item, date])
        names = [labels(frame[column]) for column in who]
        ranking = joined_text(names, ", ")
        dates = date_text(frame[date], self.settings.day_first)
        coming = pd.DataFrame({"ranking": ranking, "item": labels(frame[item]), "date": dates})
        refuse_mixed(coming.assign(ranker=ranking), "date", date)
        twice = coming.duplicated(["ranking", "item"])
        must = f"A ranking of {table.name} must contain an item once"
        refuse_rows(twice, coming["item"], must, "Remove one of the rows.")
        refuse_new(coming["item"], rankings.items, table.name)
        refuse_past(coming, rankings.groups["date"].labels, table.name)
        return in_order_of_time(coming)


def without_rankers(rankings: Rankings) -> Rankings:
    """Replace the names of rankers by numbers if rows count rankings of unknown rankers."""
    if (rankings.count == 1).all():
        return rankings
    n = len(rankings)
    return rankings._with(rankers=pd.RangeIndex(n), ranker_idx=np.arange(n, dtype=np.int32))


def read_orders(orders: Orders, settings: Settings) -> Rankings:
    """Read a file of orders."""
    named = [
        sum(len(block) if isinstance(block, frozenset) else 1 for block in order)
        for order in orders.orderings
    ]
    names = [f"order {n}" for n in range(1, len(named) + 1)]
    notes = list(orders.notes)
    rest: Any = orders.rest
    if settings.missing is not None or rest is None:
        n_items = len(orders.alternatives)
        ask_about_omitted(pd.Series(named, names), n_items, settings.missing, notes.append)
        rest = "items" if settings.missing == "last" else ()
    rankings = Rankings.from_orderings(
        orders.orderings, rest=rest, items=orders.alternatives, count=orders.voters,
        weight=orders.weights,
    )  # fmt: skip
    return rankings._with(notes=tuple(notes))


def ask_about_omitted(
    named: pd.Series,
    n_items: int,
    missing: str | None,
    note: Callable[[str], None],
    *,
    silent: bool = False,
) -> None:
    """Refuse rankings that omit items, unless all omit equally many or the caller has decided."""
    if missing in ("drop", "last"):
        return
    last, drop = {"missing": "last"}, {"missing": "drop"}
    if (named != named.iloc[0]).any():
        other = int((named != named.iloc[0]).to_numpy().argmax())
        raise TableError(
            f"Rankings omit items and differ in length: {named.index[0]} names {named.iloc[0]} and "
            f"{named.index[other]} names {named.iloc[other]}. Say what an omitted item means. Use "
            f"{spelled(**last)} if it comes after all named items, as on a ballot whose voter "
            f"stopped. Use {spelled(**drop)} if it was not offered, so that the ranking says "
            "nothing about it.",
            [last, drop],
        )
    if named.max() < n_items and not silent:
        size = f"Each ranking names {named.iloc[0]:,} of {n_items:,} items."
        if missing == "refuse":
            raise TableError(
                f"{size} Say what an omitted item means. Use {spelled(**last)} if it comes after "
                f"all named items. Use {spelled(**drop)} if it was not offered.",
                [last, drop],
            )
        note(
            f"{size} The other items are read as not presented, as with {spelled(**drop)}. If they "
            f"come after all named items, use {spelled(**last)}."
        )


def refuse_mixed(long: pd.DataFrame, group: str, column: str) -> None:
    """Refuse a ranking with two categories, groups or dates."""
    first = long.groupby(["ranker", "ranking"], sort=False)[group].transform("first")
    rows = np.flatnonzero(long[group] != first)
    if len(rows):
        noun = "label" if group == "cluster" else group
        n = int(rows[0])
        raise TableError(
            f"A ranking must have one {noun}. Ranking {label_repr(long['ranking'].iloc[n])} has "
            f"{label_repr(long[group].iloc[n])} in column {column!r} of {row_name(long.index, n)}, "
            "and another one before. If the ranker has one ranking for each, name the rankings "
            f"with {spelled(ranking=column)}.",
            [{"ranking": [column]}],
        )


def refuse_new(items: pd.Series, known: pd.Index, name: str) -> None:
    """Refuse future items without data."""
    must = f"An item of {name} must have been seen before"
    refuse_rows(~items.isin(known), items, must, "Remove the row.")


def refuse_past(table: pd.DataFrame, seen: pd.Index, name: str) -> None:
    """Refuse future matches or rankings that are dated before the data end."""
    times = read_times(pd.Series([*seen, *table["date"]], name="date"))
    last = int(times[: len(seen)].argmax())
    must = f"The dates of {name} must be in the future, after {label_repr(seen[last])}"
    refuse_rows(times[len(seen) :] < times[last], table["date"], must, "Remove the known rows.")


def in_order_of_time(table: pd.DataFrame) -> pd.DataFrame:
    """Sort future matches or rankings by date."""
    order = np.argsort(read_times(table["date"]), kind="stable")
    return table.iloc[order].reset_index(drop=True)


def _n_rankings(long: pd.DataFrame) -> int:
    return len(long[["ranker", "ranking"]].drop_duplicates())


def _odd_item(names: Sequence[str], values: np.ndarray) -> list[str]:
    """Find the one column of items without which the rows are ranks."""
    if len(names) < 3 or are_weak_orders(values).mean() >= FIT:
        return []
    rest = (np.delete(values, k, axis=1) for k in range(len(names)))
    without = [are_weak_orders(one).mean() for one in rest]
    return [names[int(np.argmax(without))]] if max(without) >= FIT else []


def _odd_rankers(names: Sequence[str], values: np.ndarray) -> list[str]:
    """Find the columns of rankers that are not ranks, if most others are."""
    fine = are_weak_orders(values.T)
    return (
        [name for name, ok in zip(names, fine, strict=True) if not ok] if fine.mean() > 0.5 else []
    )


def are_weak_orders(table: np.ndarray) -> np.ndarray:
    """Whether the numbers in each row are ranks, perhaps shared; zeros are not looked at."""
    known = np.sort(np.where(table > 0, table, np.nan), axis=1)
    if not known.shape[1]:
        return np.ones(len(known), dtype=bool)
    step = np.diff(known, axis=1, prepend=0)
    place = np.arange(1, known.shape[1] + 1)
    shared = np.maximum.accumulate(np.where(step > 0, place, 0), axis=1)
    missing = np.isnan(known)
    dense = ((step <= 1) | missing).all(axis=1)  # 1, 2, 2, 3
    gaps = ((known == shared) | missing).all(axis=1)  # 1, 2, 2, 4
    middle = pd.DataFrame(known).rank(axis=1).to_numpy()
    mid = ((known == middle) | missing).all(axis=1)  # 1, 2.5, 2.5, 4
    return np.asarray(dense | gaps | mid)
