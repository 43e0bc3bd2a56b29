"""Scores from any table: items run on cases, such as models on tasks, with folds or seeds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import pandas as pd

from bayesrank.data import Rankings
from bayesrank.data.read import quoted
from bayesrank.tables.cells import labels, refuse_rows, words_of
from bayesrank.tables.opening import Table
from bayesrank.tables.rankings import RESULTS
from bayesrank.tables.select import Selection, Settings, Texts, merged, split_codes, texts_of
from bayesrank.tables.words import MissingColumnsError, TableError, spelled

# Words in the names of scores that suggest that low is good; the user says whether it is
LOW = RESULTS | frozenset(
    (
        "errors", "losses", "costs", "times", "rmse", "mae", "mse", "mape", "nll", "logloss",
        "brier", "perplexity", "ppl", "wer", "cer", "fid", "regret", "deviance", "distance",
    )
)  # fmt: skip
FAMILY = "cluster"  # group of the families, as `read_rankings` names its group

type Ropes = float | Texts | Mapping[str, float] | Callable[[Any], float]


@dataclass(frozen=True)
class ScoreColumns:
    """What the columns of a table of scores are; see `read_scores`."""

    item: str | None = None
    case: str | None = None
    score: str | None = None
    column: Texts = ()
    fold: str | None = None
    rope: Ropes = 0.0
    lower_is_better: Texts = ()
    higher_is_better: Texts = ()
    weight: str | None = None
    family: str | None = None

    @property
    def roles(self) -> dict[str, str]:
        """Columns by the role that they have in the data; the columns of a wide table are cases."""
        case = self.case or "case"
        roles = {"item": self.item, "ranker": case, "case": case, "fold": self.fold}
        roles |= {"cluster": self.family}
        return {role: column for role, column in roles.items() if column is not None}

    @property
    def given(self) -> bool:
        """Whether anything says what the columns are."""
        return any((self.item, self.case, self.score))

    def check(self) -> None:
        """Refuse arguments that exclude each other, or that do not say what the columns are."""
        if self.score is not None:
            for name in ("item", "case"):
                if getattr(self, name) is None:
                    raise MissingColumnsError(f"Missing: {name}=COLUMN.")
            if texts_of(self.column):
                raise TableError("`column` is for tables without `score`. Leave one of them out.")
        elif self.item is not None and self.case is not None:
            raise MissingColumnsError(
                "Missing: score=COLUMN. If each row is an item and each other column a case, leave "
                "`case` out. If each row is a case, leave `item` out."
            )
        elif self.case is None:
            if self.item is None:
                raise MissingColumnsError("Missing: item=COLUMN, case=COLUMN and score=COLUMN.")
            for name in ("weight", "family"):
                if getattr(self, name) is not None:
                    raise TableError(
                        f"`{name}` describes cases, but each row is an item. Give a table with a "
                        "row per case or per score."
                    )


class ScoreReader:
    """Read scores in any form."""

    def __init__(self, table: Table, columns: ScoreColumns, settings: Settings) -> None:
        self.columns, self.settings = columns, settings
        self.selection = Selection(table, settings)

    def read(self) -> Rankings:
        """Read the scores."""
        c = self.columns
        if self.settings.missing == "last":
            raise TableError(
                "missing='last' is for rankings. An item without a score was not run, so it is not "
                "in the ranking."
            )
        named = [x for x in (c.item, c.case, c.score, c.fold, c.weight, c.family) if x is not None]
        frame = self.selection.frame(named, every=c.score is None)
        axes = [x for x in (c.item, c.case, c.fold, c.family) if x is not None]
        if self.settings.missing == "drop":
            frame = self._with_labels(frame, axes)
        for name in axes:
            frame = frame.assign(**{name: labels(frame[name])})
        scores = [c.score] if c.score is not None else self._scores_at(frame, named)
        frame = frame[[*dict.fromkeys([*named, *scores])]]
        for name in scores:
            frame = frame.assign(**{name: self._numbers(frame[name])})
        if c.weight is not None:
            frame = frame.assign(**{c.weight: self.selection.read_weights(frame[c.weight])})
        for axis, what in ((c.item, "items"), (c.case, "cases")):
            if axis is not None:
                alike = self.selection.one_spelling(frame[axis], what)
                frame = frame.assign(**{axis: merged(frame[axis], alike)})
        if c.family is not None:
            if FAMILY in frame.columns and c.family != FAMILY:
                raise TableError(
                    f"With `family`, no other column may have the name {FAMILY!r}. Rename it with "
                    "`rename`."
                )
            frame = frame.assign(**{FAMILY: frame[c.family]})
        cases = frame[c.case].unique().tolist() if c.case is not None else scores
        found = Rankings.from_scores(
            frame, item=c.item, case=c.case, score=c.score, fold=c.fold,
            column=scores if c.score is None else None, rope=self._rope(cases),
            lower_is_better=self._lower(cases), weight=c.weight,
            by=[FAMILY] if c.family is not None else (),
        )  # fmt: skip
        return found._with(notes=(*self.selection.notes, *found.notes))

    def _with_labels(self, frame: pd.DataFrame, axes: list[str]) -> pd.DataFrame:
        """Leave out rows without a label."""
        incomplete = frame[axes].isna().any(axis=1)
        if n := int(incomplete.sum()):
            where = " or ".join(map(repr, axes))
            self.selection.note(
                f"Rows without a label in {where} are left out: {n:,} of {len(frame):,}."
            )
        return frame[~incomplete]

    def _scores_at(self, frame: pd.DataFrame, named: Sequence[str]) -> list[str]:
        """Find the columns of scores of a wide table."""
        texts = texts_of(self.columns.column)
        if texts:
            return [str(frame.columns[n]) for n in self.selection.chosen(frame, texts, named)]
        return [str(name) for name in frame.columns if name not in named]

    def _numbers(self, values: pd.Series) -> pd.Series:
        """Read a column of scores, NaN for missing ones."""
        read = self.selection.read_numbers(values, "score")
        if self.settings.missing == "refuse":
            must = "With missing='refuse' each cell needs a score"
            refuse_rows(read.isna(), values, must, "Leave `missing` out if the item was not run.")
        return read

    def _rope(self, cases: Sequence[str]) -> Any:
        """Read the ropes: a number for all cases, and others such as 'case=0.02'."""
        rope = self.columns.rope
        if not isinstance(rope, str | list | tuple):
            return rope
        every, apart = 0.0, dict[str, float]()
        for text in texts_of(rope):
            name, is_apart, number = text.rpartition("=")
            try:
                width = float(number)
            except ValueError:
                raise TableError(
                    f"`rope` must be a number such as 0.01, or one of a case such as 'case=0.01'; "
                    f"got {text!r}."
                ) from None
            if not is_apart:
                every = width
            elif name not in cases:
                raise TableError(
                    f"`rope` names the case {name!r}; the cases are {quoted(cases, 20)}."
                )
            else:
                apart[name] = width
        return {case: apart.get(case, every) for case in cases}

    def _lower(self, cases: Sequence[str]) -> list[str]:
        """Find the cases in which low scores are good; a name that may mean it must be decided."""
        c = self.columns
        lower, higher = (
            self._cases(name, cases) for name in ("lower_is_better", "higher_is_better")
        )
        if both := [case for case in cases if case in lower and case in higher]:
            raise TableError(
                f"`lower_is_better` and `higher_is_better` both name {quoted(both)}. Name each "
                "case once."
            )
        of_score = {*words_of(c.score or "")} & LOW
        open_cases = [
            case for case in cases
            if (of_score or {*words_of(case)} & LOW) and case not in lower and case not in higher
        ]  # fmt: skip
        if open_cases:
            names = ["*"] if len(open_cases) == len(cases) else open_cases
            ways = [{"lower_is_better": names}, {"higher_is_better": names}]
            what = f"column {c.score!r}" if of_score else f"the cases {quoted(open_cases)}"
            raise TableError(
                f"Low scores may be good in {what}, by the name. Say whether they are: "
                f"{spelled(**ways[0])} or {spelled(**ways[1])}.",
                ways,
            )
        rest = len(cases) - len(lower)
        if not lower:
            self.selection.note(f"High scores are good in all {rest:,} cases.")
        elif rest:
            self.selection.note(
                f"Low scores are good in {quoted(lower, 10)}. High scores are good in the others, "
                f"{rest:,} of {len(cases):,} cases."
            )
        else:
            self.selection.note(f"Low scores are good in all {len(cases):,} cases.")
        return lower

    def _cases(self, option: str, cases: Sequence[str]) -> list[str]:
        """Find cases by their names or patterns."""
        found = dict[str, None]()
        for text in split_codes(getattr(self.columns, option), cases):
            fits = [text] if text in cases else [x for x in cases if fnmatchcase(x, text)]
            if not fits:
                raise TableError(
                    f"`{option}` must name cases; {text!r} is none. The cases are "
                    f"{quoted(cases, 20)}."
                )
            found |= dict.fromkeys(fits)
        return list(found)
