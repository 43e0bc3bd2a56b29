"""Choices from any table: best-worst tasks (MaxDiff), choices of one item, counts of choices."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from bayesrank.data import Rankings
from bayesrank.data.read import label_repr, quoted, row_name
from bayesrank.tables.cells import labels
from bayesrank.tables.opening import Table, label_text
from bayesrank.tables.rankings import without_rankers
from bayesrank.tables.select import (
    Selection,
    Settings,
    Texts,
    merged,
    refuse_disorder,
    texts_of,
)
from bayesrank.tables.unused import constant_columns, rankings_with
from bayesrank.tables.words import MissingColumnsError, TableError, spelled

DISPLAY = frozenset(("do", "display", "order"))  # words in the names of columns of display order


@dataclass(frozen=True)
class ChoiceColumns:
    """What the columns of a table of choices are; see `read_choices`."""

    respondent: str | None = None
    task: str | None = None
    item: Texts = ()
    best: str | None = None
    worst: str | None = None
    codes: Texts = ()
    best_code: str | None = None
    worst_code: str | None = None
    counts: bool = False
    positions: bool = False
    several: bool = False
    threshold: str | None = None
    count: str | None = None
    weight: str | None = None
    category: str | None = None

    @property
    def roles(self) -> dict[str, str]:
        """Columns by the role that they have in the data."""
        shown = texts_of(self.item or ())
        roles = {"ranker": self.respondent, "category": self.category, "threshold": self.threshold}
        roles |= {"item": shown[0] if len(shown) == 1 else None}
        return {role: column for role, column in roles.items() if column is not None}

    @property
    def given(self) -> bool:
        """Whether anything says what the columns are."""
        return any((self.respondent, self.item, self.best, self.worst, self.codes, self.counts))

    def check(self) -> None:
        """Refuse arguments that exclude each other, or that do not say what the columns are."""
        if self.counts:
            names = (
                "task best worst codes positions several threshold count weight category respondent"
            )
            for name in names.split():
                if getattr(self, name):
                    raise TableError(
                        f"With counts=True each row is a set of items, and each cell a count. "
                        f"Leave `{name}` out."
                    )
            return
        if self.respondent is None:
            raise MissingColumnsError("Missing: respondent=COLUMN.")
        if not texts_of(self.item) and not self.several_codes:
            raise MissingColumnsError("Missing: item=COLUMN.")
        if not (self.best or self.worst or texts_of(self.codes)):
            raise MissingColumnsError("Missing: best=COLUMN.")
        if (self.best_code or self.worst_code) and not texts_of(self.codes):
            raise TableError("`best_code` and `worst_code` need codes=COLUMN.")

    @property
    def several_codes(self) -> bool:
        """Whether each item of each task has its own column of codes."""
        codes = texts_of(self.codes)
        return bool(codes) and not texts_of(self.item)


class ChoiceReader:
    """Read tasks in any form."""

    def __init__(self, table: Table, columns: ChoiceColumns, settings: Settings) -> None:
        self.table, self.columns, self.settings = table, columns, settings
        self.selection = Selection(table, settings)

    def read(self) -> Rankings:
        """Read the tasks."""
        if self.settings.missing == "last":
            raise TableError(
                "missing='last' is for rankings. With missing='drop', tasks without an answer are "
                "left out."
            )
        if self.columns.counts:
            found = self._from_counts()
        elif self.columns.several_codes:
            found = self._from_survey()
        else:
            found = self._from_tasks()
        return found._with(notes=self.selection.notes)

    def _from_tasks(self) -> Rankings:
        """Read one row per item shown, or one row per task."""
        c = self.columns
        codes = texts_of(c.codes)
        named = [
            c.respondent,
            c.task,
            c.best,
            c.worst,
            *codes,
            c.threshold,
            c.count,
            c.weight,
            c.category,
        ]
        single = [name for name in named if name is not None]
        frame = self.selection.frame(single, every=True)
        at = self.selection.chosen(frame, c.item, single)
        items = [str(frame.columns[n]) for n in at]
        named_at = [n for n, name in enumerate(frame.columns) if name in single and n not in at]
        unused = frame.iloc[:, [n for n in range(frame.shape[1]) if n not in (*named_at, *at)]]
        frame = frame.iloc[:, [*named_at, *at]]
        if c.positions:
            refuse_disorder(items, "item")
            for name in filter(None, (c.best, c.worst)):  # A is the first item
                text = label_text(frame[name])
                letters = {chr(65 + n): str(n + 1) for n in range(len(items))}
                frame = frame.assign(**{name: text.replace(letters)})
        for name in filter(None, (c.respondent, c.task, c.category)):
            frame = frame.assign(**{name: labels(frame[name])})
        for name in filter(None, (*items, c.best, c.worst, *codes, c.threshold)):
            text = label_text(frame[name]).astype(object)
            frame = frame.assign(**{name: text.where(text.notna(), None)})
        frame = self._one_spelling(frame, items)
        task = range(len(frame)) if c.task is None and len(items) > 1 else 0
        rows = pd.DataFrame({"ranker": frame[str(c.respondent)]}, frame.index).assign(
            ranking=task if c.task is None else frame[c.task]
        )
        labeled, timed = constant_columns(rows, unused, self.settings.day_first, ["category"])
        both = labeled | timed
        names = {f"unused {k}": name for k, name in enumerate(both)}
        frame = frame.assign(**{key: both[name].to_numpy(object) for key, name in names.items()})
        found = self._made(frame, items[0] if len(items) == 1 else items, codes, names)
        return rankings_with(found, labeled, timed, names)

    def _made(
        self,
        frame: pd.DataFrame,
        item: str | list[str],
        codes: Sequence[str],
        more: Iterable[str] = (),
    ) -> Rankings:
        """Make rankings of a tidy table of tasks; `more` names further columns of groups."""
        c = self.columns
        if c.count is not None:
            times = self.selection.read_times(frame[c.count])
            frame = frame.assign(**{c.count: times})[(times > 0).to_numpy()]
            if frame.empty:
                raise TableError("All counts are 0, so no answer was given.")
            if n := int((times == 0).sum()):
                self.selection.note(f"Rows that were given 0 times are left out: {n:,}.")
        if c.weight is not None:
            frame = frame.assign(**{c.weight: self.selection.read_weights(frame[c.weight])})
        by: dict[str, Any] = {} if c.category is None else {"category": frame[c.category]}
        if c.category not in (None, "category") and "category" in frame.columns:
            raise TableError(
                "With `category`, no other column may have the name 'category'. Rename it with "
                "`rename`."
            )
        frame = frame.assign(**by)
        same: dict[str, Any] = {
            "respondent": str(c.respondent), "task": c.task, "best": c.best, "worst": c.worst,
            "missing": "drop" if self.settings.missing == "drop" else "raise",
            "threshold": c.threshold, "count": c.count, "weight": c.weight, "by": [*by, *more],
        }  # fmt: skip
        try:
            if isinstance(item, list):
                if codes:
                    raise TableError("A table with one row per task has no `codes`; name `best`.")
                if c.several:
                    raise TableError(
                        "A table with one row per task has one best and one worst item."
                    )
                return Rankings.from_best_worst_wide(
                    frame, items_shown=item, positions=c.positions, **same
                )
            code: dict[str, Any] = {"codes": codes[0]} if codes else {}
            spelling = {"best_code": c.best_code, "worst_code": c.worst_code}
            code |= {name: value for name, value in spelling.items() if value is not None}
            return Rankings.from_best_worst(frame, item=item, several=c.several, **same, **code)
        except TableError:
            raise
        except ValueError as error:
            raise self._with_remedies(error) from None

    def _with_remedies(self, error: ValueError) -> TableError:
        """Attach to an error about tasks the arguments that it names."""
        text, remedies = str(error), list[dict[str, Any]]()
        if re.search(r"one of those shown; .* has '[A-Z]' in", text):
            text += " If the letters are the places of the items, give positions=True."
        for words, remedy in (
            ("missing='drop'", {"missing": "drop"}),
            ("several=True", {"several": True}),
            ("positions=True", {"positions": True}),
        ):
            if words in text:
                remedies.append(remedy)
        text = text.replace("give positions=False", "leave `positions` out")
        text = re.sub(
            r"use Rankings\.from_best_worst_wide or Rankings\.from_choices_wide",
            "name the columns of the items shown with `item`",
            text,
        )
        return TableError(text, remedies)

    def _one_spelling(self, frame: pd.DataFrame, items: list[str]) -> pd.DataFrame:
        """Merge items and respondents that differ only in their spelling, or note them."""
        c, who = self.columns, str(self.columns.respondent)
        chosen = () if c.positions or len(items) == 1 else (c.best, c.worst)
        cells = [*items, *filter(None, chosen)]
        every = frame[cells].melt()["value"].dropna()
        alike = self.selection.one_spelling(every, "items")
        rankers = self.selection.one_spelling(frame[who], "respondents")
        frame = frame.assign(**{who: merged(frame[who], rankers)})
        return frame.assign(**{name: merged(frame[name], alike) for name in cells} if alike else {})

    def _from_survey(self) -> Rankings:
        """Read a survey with one row per respondent, and a column for each item of each task."""
        c, who = self.columns, str(self.columns.respondent)
        single = [name for name in (who, c.count, c.weight, c.category) if name is not None]
        frame = self.selection.frame(single, every=True)
        names = [str(frame.columns[n]) for n in self.selection.chosen(frame, c.codes, single)]
        shown = {name for name in names if DISPLAY & {*re.split(r"[_ .\-]", name.casefold())}}
        answers = [name for name in names if name not in shown]
        described = {name: self._question(name) for name in answers}
        parts = []
        for name in answers:
            task, item = described[name]
            part = pd.DataFrame({"task": task, "item": item, "code": label_text(frame[name])})
            part = part.assign(**{one: frame[one] for one in single})
            order = self._display(name, shown)
            if order is not None:
                part = part[frame[order].notna()]
            parts.append(part)
        long = pd.concat(parts)
        known = [c.best_code or "best", c.worst_code or "worst"]
        codes = [*dict.fromkeys(long["code"].dropna())]
        odd = [code for code in codes if code not in (*known, "0")]
        if odd and len(codes) == 2 and not (c.best_code or c.worst_code):
            one, two = codes
            ways: list[dict[str, Any]] = [
                {"best_code": one, "worst_code": two}, {"best_code": two, "worst_code": one}
            ]  # fmt: skip
            raise TableError(
                f"The columns {quoted(answers, 3)} have the codes {one!r} and {two!r}. Say which "
                f"means best: {spelled(**ways[0])} or {spelled(**ways[1])}.",
                ways,
            )
        if odd:
            row = row_name(long.index, int((long["code"] == odd[0]).to_numpy().argmax()))
            raise TableError(
                f"A code must be {known[0]!r} (best), {known[1]!r} (worst) or empty; the columns "
                f"{quoted(answers, 3)} have {label_repr(odd[0])} in {row}. Correct it, or name the "
                "codes with `best_code` and `worst_code`."
            )
        long[who] = labels(long[who])
        answered = long["code"].isin(known).groupby([long[who], long["task"]]).transform("any")
        if n := int((~answered).groupby([long[who], long["task"]]).first().sum()):
            self.selection.note(f"Tasks without an answer are left out: {n:,}.")
        long = long[answered.to_numpy()]
        meaning = {known[0]: "best", known[1]: "worst", "0": None}
        long["code"] = long["code"].map(meaning).astype(object).where(long["code"].notna(), None)
        reader = ChoiceReader.__new__(ChoiceReader)
        reader.__dict__ |= self.__dict__
        reader.columns = ChoiceColumns(
            who,
            "task",
            "item",
            codes="code",
            several=c.several,
            count=c.count,
            weight=c.weight,
            category=c.category,
        )
        return reader._made(long, "item", ["code"])

    def _question(self, name: str) -> tuple[str, str]:
        """Split the name of a column into the task and the item, such as Q1 and 3."""
        parts = re.split(r"[_ .\-](?=[^_ .\-]+$)", name)
        if len(parts) != 2 or not all(parts):
            raise TableError(
                f"The name of a column of codes must tell the task and the item, such as Q1_3; it "
                f"is {name!r}. Rename it with `rename`."
            )
        task, item = parts
        text = self.table.questions.get(name, "")
        found = re.search(r" - ([^-]+)$", text)  # as Qualtrics writes the text of an item
        return task, found[1].strip() if found else item

    def _display(self, name: str, shown: set[str]) -> str | None:
        """Find the column with the display order of an item: empty if it was not shown."""
        task, item = re.split(r"[_ .\-](?=[^_ .\-]+$)", name)
        return next((x for x in shown if x.startswith(task) and x.endswith(f"_{item}")), None)

    def _from_counts(self) -> Rankings:
        """Read sets of items, with counts of how often each was chosen."""
        every = texts_of(self.columns.item)
        frame = self.selection.frame([], every=True)
        at = self.selection.chosen(frame, every, []) if every else [*range(frame.shape[1])]
        names = [str(frame.columns[n]) for n in at]
        if len(names) < 2:
            raise TableError(f"A table of counts needs two columns of items; it has {len(names)}.")
        parts = [
            self.selection.read_numbers(frame.iloc[:, n].rename(name), "count")
            for n, name in zip(at, names, strict=True)
        ]
        table = np.column_stack([part.to_numpy(np.float64) for part in parts])
        wrong = ~np.isnan(table) & ((table < 0) | (table % 1 != 0))
        if wrong.any():
            row, k = np.argwhere(wrong)[0]
            raise TableError(
                f"A count must be a whole number, 0 or more; column {names[k]!r} has "
                f"{table[row, k]:g} in {row_name(frame.index, int(row))}."
            )
        shown = ~np.isnan(table)
        few = np.flatnonzero(shown.sum(axis=1) < 2)
        if len(few):
            raise TableError(
                f"A set must show two items or more; the one in "
                f"{row_name(frame.index, int(few[0]))} shows {int(shown[few[0]].sum())}."
            )
        orderings, times, sets = [], [], []
        for row, k in np.argwhere(table > 0):
            rest = frozenset(names[n] for n in np.flatnonzero(shown[row]) if n != k)
            orderings.append([names[k], next(iter(rest)) if len(rest) == 1 else rest])
            times.append(table[row, k])
            sets.append(f"{row_name(frame.index, int(row))}, {names[k]}")
        if not orderings:
            raise TableError("All counts are 0, so the data say nothing about ranks.")
        self.selection.note(
            f"{len(table):,} sets of items with {int(np.nansum(table)):,} choices are read: each "
            "cell counts how often its item was chosen from the items of its row."
        )
        rankings = Rankings.from_orderings(
            orderings, rest=(), items=sorted(names), rankers=sets, count=times
        )
        return without_rankers(rankings)
