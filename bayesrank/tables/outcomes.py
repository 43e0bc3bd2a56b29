"""Outcomes: what the codes in a column of outcomes mean.

Codes are read only if one table of codes has all of them, or if names of columns say what they
mean. Otherwise the caller must name the codes.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from bayesrank.data.read import BOTH_BAD as BAD
from bayesrank.data.read import OUTCOMES, label_repr, row_name
from bayesrank.tables.cells import words_of
from bayesrank.tables.words import TableError, spelled

MEANINGS = dict(zip(OUTCOMES, ("the first wins", "the second wins", "a tie"), strict=True))
MEANINGS[BAD] = "both are bad"
TIES = ("tie", "draw", "drawn", "tied", "d", "t", "x", "=")  # if a column names the winner
LOSERS = frozenset(("loser", "lost", "loses", "worse", "worst", "least", "rejected"))
WINNERS = frozenset(("winner", "win", "won", "wins", "better", "best"))

# Codes for a win of the first item, a win of the second, and a tie
type Codes = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]
FLAGS: tuple[Codes, ...] = (
    (("1",), ("0",), ("0.5", ".5", "0,5", "1/2")),
    (("1",), ("-1",), ("0",)),
    (("w", "win", "won"), ("l", "loss", "lost"), ("d", "draw", "t", "tie")),
    (("true", "yes", "t", "y"), ("false", "no", "f", "n"), ("tie", "draw")),
)
CODES: tuple[Codes, ...] = (
    (("first",), ("second",), ("tie", "draw")),
    *FLAGS,
    (("1",), ("2",), ("x", "0", "tie", "draw")),
    (("1-0", "white"), ("0-1", "black"), ("1/2-1/2", "0.5-0.5", "1/2", "draw", "tie")),
    (("h", "home"), ("a", "away"), ("d", "draw")),
    (("a",), ("b",), ("tie", "draw")),
    (("left",), ("right",), ("tie", "draw", "equal", "both")),
    (("[[a]]",), ("[[b]]",), ("[[c]]",)),  # verdicts of MT-bench
    (("model_a",), ("model_b",), ("tie", "tie (bothbad)", "tie (both bad)", "both_bad")),
)
SHARES = 3  # most different numbers between 0 and 1 that may be codes of outcomes
BOTH_BAD = frozenset(("tie (bothbad)", "tie (both bad)", "both_bad"))
VERDICTS = ("A>>B", "A>B", "A=B", "B>A", "B>>A")
"""Published grades of judges whose order is known, also in double brackets: [[A>>B]]."""
TIE_WORDS = frozenset(word for *_, ties in CODES for word in ties if word.isalpha() and word[1:])
_SCORES = re.compile(r"(\d+)\s*[-:x\N{EN DASH}]\s*(\d+)")


def fold_code(value: Any) -> str:
    """Normalise an outcome for comparison: ignore case, blanks and dashes, and compare numbers."""
    text = re.sub(r"\s*[\N{EN DASH}\N{EM DASH}\N{MINUS SIGN}-]\s*", "-", str(value).strip())
    text = text.casefold().replace("\N{VULGAR FRACTION ONE HALF}", "1/2")
    try:
        return f"{float(text):g}"
    except ValueError:
        return text


def known_grades(values: Collection[Any]) -> list[str]:
    """Return the grades that have all values, in order; empty if their order is not known.

    >>> known_grades(["[[B>A]]", "[[A>>B]]"])
    ['[[A>>B]]', '[[A>B]]', '[[A=B]]', '[[B>A]]', '[[B>>A]]']
    >>> known_grades(["good", "bad"])
    []
    """
    for grades in (VERDICTS, tuple(f"[[{grade}]]" for grade in VERDICTS)):
        if len(values) and {*map(str, values)} <= {*grades}:
            return list(grades)
    return []


def meanings_of(codes: Codes) -> dict[str, str]:
    """Return the outcome that each code means."""
    return {
        fold_code(word): side for side, words in zip(OUTCOMES, codes, strict=True) for word in words
    }


def covers(codes: Codes, values: Collection[Any]) -> bool:
    """Whether a table of codes has all values of a column."""
    known = meanings_of(codes)
    return all(fold_code(value) in known for value in values)


class Outcomes:
    """Read a column of outcomes as first, second and tie.

    Parameters
    ----------
    column : Series of str
    table : DataFrame
        The columns first and second of the items.
    sides : (str, str)
        Names of these columns in the table that was given.
    said : mapping of str to str
        Meaning of those codes that arguments name.
    """

    def __init__(
        self,
        column: pd.Series,
        table: pd.DataFrame,
        sides: tuple[str, str],
        said: Mapping[str, str],
        notes: list[str],
    ) -> None:
        self.column, self.table, self.sides, self.said = column, table, sides, said
        self.name, self.notes = str(column.name), notes
        self.at, self.distinct = pd.factorize(column)

    def read(self) -> pd.Series:
        """Return the outcome of each row, or refuse the first one without a meaning."""
        said = [_said(str(value), self.said) for value in self.distinct]
        if None not in said:
            return self._coded(said)
        rest = [value for value, meaning in zip(self.distinct, said, strict=True) if not meaning]
        codes = codes_of(rest, self.name, self.sides, self._refuse_two)
        meanings = meanings_of(codes) if codes is not None else {}
        meant = [
            meaning or meanings.get(fold_code(value))
            for value, meaning in zip(self.distinct, said, strict=True)
        ]
        named = None if any(said) else winners(self.column, self.table)
        if named is not None:
            return self._of_names(named, codes, meant)
        if codes is None:
            scores = [
                meaning or of_scores(value)
                for value, meaning in zip(self.distinct, said, strict=True)
            ]
            if len(scores) and all(scores):
                self.notes.append(
                    f"Column {self.name!r} is read as two scores, such as {self.distinct[0]}: the "
                    "score of the first item comes first. The higher one wins, by any margin."
                )
                return self._coded(scores)
            self._refuse_unknown(self._odd_row())
        elif codes is not CODES[0]:
            pairs = sorted(zip(map(str, meant), map(str, self.distinct), strict=True))
            read = ", ".join(f"{value} as {MEANINGS[meaning]}" for meaning, value in pairs)
            self.notes.append(f"Column {self.name!r} is read with {read}.")
            tied = [str(x) for x, is_ in zip(self.distinct, meant, strict=True) if is_ == "tie"]
            if bad := [value for value in tied if fold_code(value) in BOTH_BAD]:
                self.notes.append(
                    f"{bad[0]!r} counts as a tie: the two items are equal, but not how bad they "
                    f"are. To model it as an outcome, give {spelled(both_bad=bad[0])}."
                )
        return self._coded(meant)

    def _of_names(
        self, named: pd.Series, codes: Codes | None, meant: Sequence[str | None]
    ) -> pd.Series:
        """Read a column that names the winner, or the loser."""
        decided = codes is not None and {*meant} != {"tie"}
        by_code = np.array(meant, dtype=object)[self.at]
        if decided and (named.to_numpy() != by_code).any():
            said = self._arguments(codes)
            raise TableError(
                f"Column {self.name!r} may contain names of winners, or say whether the first or "
                f"the second won. If it contains names, give {spelled(winner=self.name)} instead "
                f"of `outcome`. Otherwise, give {spelled(**said)}.",
                [{"outcome": None, "winner": self.name}, said],
            )
        lost = is_lost(self.name)
        self.notes.append(
            f"Column {self.name!r} is read as the name of the {'loser' if lost else 'winner'}."
        )
        return named.replace({"first": "second", "second": "first"}) if lost else named

    def _odd_row(self) -> int:
        """Find a row whose code has no meaning, by the codes that most rows fit."""
        text, table = self.column, self.table
        told = np.array([_said(str(x), self.said) is not None for x in self.distinct])[self.at]
        labels = self._labels()
        meant: list[list[Any]] = [
            [meanings_of(codes).get(fold_code(x)) for x in self.distinct] for codes in CODES
        ]
        meant.append([self._by_name(str(value)) for value in self.distinct])
        meant.append([of_scores(value) for value in self.distinct])
        best = max(meant, key=lambda one: sum(x is not None for x in one))
        known = np.array([meaning is not None for meaning in best])[self.at]
        tie = text.str.casefold().isin(TIES).to_numpy()
        named = np.array([value in labels for value in self.distinct])[self.at] | tie
        if named.sum() > known.sum():  # names of winners
            played = ((text == table["first"]) | (text == table["second"])).to_numpy() | tie
            known = played if named.all() else named
        if (known | told).all():
            known[:] = False
        return int((~(known | told)).argmax())

    def _by_name(self, value: str) -> str | None:
        """Read a code that consists of words of one of the two columns."""
        first, second = ({*words_of(side)} for side in self.sides)
        if fold_code(value).split(" (")[0] in TIE_WORDS:
            return "tie"
        return (
            "first"
            if _names(value, first, second)
            else ("second" if _names(value, second, first) else None)
        )

    def _coded(self, meant: Sequence[str | None]) -> pd.Series:
        """Return the meaning of each row, and refuse codes without one."""
        unknown = np.array([meaning is None for meaning in meant])[self.at]
        if unknown.any():
            self._refuse_unknown(int(unknown.argmax()))
        return pd.Series(np.array(meant, dtype=object)[self.at], index=self.column.index)

    def _refuse_unknown(self, n: int) -> None:
        """Refuse an outcome without a known meaning."""
        code = str(self.column.iloc[n])
        if known_grades(self.distinct):
            raise TableError(
                f"An outcome says who won, but column {self.name!r} has ordered grades, such as "
                f"{label_repr(code)} in {row_name(self.column.index, n)}. Give "
                f"{spelled(grade=self.name)} instead of `outcome`.",
                [{"outcome": None, "grade": self.name}],
            )
        numbers = pd.to_numeric(pd.Series(self.distinct), errors="coerce")
        if numbers.between(0, 1).all() and numbers.nunique() > SHARES:
            raise TableError(
                f"An outcome says who won, but column {self.name!r} has numbers between 0 and 1, "
                f"such as {label_repr(code)} in {row_name(self.column.index, n)}. If they are "
                "probabilities that the first item is better, give "
                f"{spelled(probability=self.name)} instead of `outcome`.",
                [{"outcome": None, "probability": self.name}],
            )
        if numbers.between(1, 2).all() and (numbers % 1 != 0).any():
            raise TableError(
                f"An outcome says who won, but column {self.name!r} has numbers from 1 to 2, such "
                f"as {label_repr(code)} in {row_name(self.column.index, n)}. If they are "
                "preferences, from 1 (first) to 2 (second), write 2 minus the preference into a "
                "column. Name it in `probability` instead of `outcome`."
            )
        none = {"empty": [code], "missing": "drop"}
        remedies: list[dict[str, Any]] = [
            {"first_wins": [code]}, {"second_wins": [code]}, {"tie": [code]}
        ]  # fmt: skip
        ways = [f"{spelled(**one)}" for one in remedies]
        message = (
            f"An outcome must be a known code, such as 'first', 'second' or 'tie', or the name of "
            f"the winner; column {self.name!r} has {label_repr(code)} in "
            f"{row_name(self.column.index, n)}. Say what it means: {' or '.join(ways)}."
        )
        # the name of an item is not a missing result; without its only code a column is empty
        if code not in self._labels() and len(self.distinct) > 1:
            remedies.append(none)
            message += f" If it means that there is no result: {spelled(**none)}."
        if re.search(r"\d\D+\d", code):
            message += (
                " If cells contain several scores, write who won into a column, or write a column "
                "for each side and use `score_a` and `score_b`."
            )
        raise TableError(message, remedies)

    def _labels(self) -> set[str]:
        return {*self.table["first"], *self.table["second"]}

    def _arguments(self, codes: Codes | None) -> dict[str, list[str]]:
        """Write the codes of a table, as far as the column has them, as arguments."""
        meanings, said = meanings_of(codes or CODES[0]), dict[str, list[str]]()
        option = dict(zip(OUTCOMES, ("first_wins", "second_wins", "tie"), strict=True))
        for value in self.distinct:
            if (meaning := meanings.get(fold_code(value))) is not None:
                said.setdefault(option[meaning], []).append(str(value))
        return said

    def _refuse_two(self, one: Codes, other: Codes) -> None:
        """Refuse codes that two tables of codes read differently."""
        odd = next(
            value
            for value in self.distinct
            if meanings_of(one).get(fold_code(value)) != meanings_of(other).get(fold_code(value))
        )
        remedies = []
        ways = []
        for codes in (one, other):
            meanings, said = meanings_of(codes), self._arguments(codes)
            remedies.append(said)
            ways.append(
                f"{spelled(**said)} if {odd!r} means that {MEANINGS[meanings[fold_code(odd)]]}"
            )
        n = int((self.at == list(self.distinct).index(odd)).argmax())
        raise TableError(
            f"Codes must have one meaning; column {self.name!r} has {label_repr(odd)} in "
            f"{row_name(self.column.index, n)}, which has two. Give {'; or '.join(ways)}.",
            remedies,
        )


def codes_of(
    values: Sequence[Any],
    column: str,
    sides: tuple[str, str],
    refuse_two: Any = None,
) -> Codes | None:
    """Find the codes for a win of the first item, a win of the second, and a tie.

    They are words in the names of the two columns, or a row of `CODES`. The row is turned if a name
    says that the codes are about the second item, such as home, black or away_won. None if no row
    has all values.
    """
    first, second = ({*words_of(side)} for side in sides)
    ahead = tuple(value for value in values if _names(value, first, second))
    behind = tuple(value for value in values if _names(value, second, first))
    ties = tuple(value for value in values if fold_code(value).split(" (")[0] in TIE_WORDS)
    fitting = [codes for codes in CODES if covers(codes, values)]
    lost = is_lost(column)
    if CODES[0] not in fitting and ahead + behind and {*ahead, *behind, *ties} >= {*values}:
        named = _turned((ahead, behind, ties), turn=lost)
        # yes may be a win, or begin with the letter of a column y
        by_letter = any(not {*words_of(value)} <= first | second for value in ahead + behind)
        flags = [_turned(codes, turn=lost) for codes in FLAGS if by_letter and codes in fitting]
        return _agreed([named, *flags], values, refuse_two)
    # a table of codes that has both a win of the first and one of the second fits better: 1 and 0
    # are a win and a loss, not a win and a tie
    both = [codes for codes in fitting if {*OUTCOMES[:2]} <= {*_meant(codes, values)}]
    found = [
        _turned(codes, turn=_is_turned(codes, {*words_of(column)}, first, second) != lost)
        for codes in both or fitting
    ]
    return _agreed(found, values, refuse_two)


def _agreed(found: Sequence[Codes], values: Sequence[str], refuse_two: Any) -> Codes | None:
    """Return the first codes if all others mean the same; None, or an error, otherwise."""
    for other in found[1:]:
        one, two = meanings_of(found[0]), meanings_of(other)
        if any(one[fold_code(value)] != two[fold_code(value)] for value in values):
            if refuse_two is not None:
                refuse_two(found[0], other)
            return None
    return found[0] if found else None


def _meant(codes: Codes, values: Sequence[Any]) -> list[str]:
    known = meanings_of(codes)
    return [known[fold_code(value)] for value in values]


def _turned(codes: Codes, *, turn: bool) -> Codes:
    return (codes[1], codes[0], codes[2]) if turn else codes


def is_lost(column: str) -> bool:
    """Whether a column of outcomes is about the loser."""
    words = words_of(column)
    return not LOSERS.isdisjoint(words) and WINNERS.isdisjoint(words)


def _names(code: Any, words: set[str], others: set[str]) -> bool:
    """Whether a code consists of words of one name, or begins with its letter."""
    of_code = {*words_of(str(code))}
    mine, theirs = words - others, others - words
    if len(of_code) == len(mine) == len(theirs) == 1:
        (one,), (word,), (other,) = of_code, mine, theirs
        if 1 in (len(one), len(word)) and word[0] != other[0] and one[:1] == word[:1]:
            return True  # W for white, or red for R
    return of_code <= words and not of_code <= others and not re.search(r"[^\w\s]", str(code))


def _is_turned(codes: Codes, column: set[str], first: set[str], second: set[str]) -> bool:
    """Whether names say that the codes for a win of the first item are about the second."""
    if codes in FLAGS:
        ahead, behind = {"first"} | first - second, {"second"} | second - first
        return bool(column & behind) and not column & ahead
    ahead, behind = ({word for word in words if word[1:]} for words in codes[:2])
    return bool(ahead & second or behind & first) and not (ahead & first or behind & second)


def _said(value: str, said: Mapping[str, str]) -> str | None:
    """Interpret an outcome by its exact code, or else ignoring case."""
    alike = {meaning for text, meaning in said.items() if fold_code(text) == fold_code(value)}
    return said.get(value) or (alike.pop() if len(alike) == 1 else None)


def of_scores(value: Any) -> str | None:
    """Interpret two scores in one cell, such as 2-1 or 2:1; the first item has the first."""
    found = _SCORES.fullmatch(str(value).strip())
    if found is None:
        return None
    a, b = int(found[1]), int(found[2])
    return "first" if a > b else "second" if a < b else "tie"


def winners(text: pd.Series, table: pd.DataFrame) -> pd.Series | None:
    """Read a column that names the winner; None if it contains other names."""
    first = text == table["first"]
    second = text == table["second"]
    tie = text.str.casefold().isin(TIES) & ~first & ~second
    if not (first | second | tie).all() or not (first | second).any():
        return None
    outcome = np.select([first.to_numpy(bool), second.to_numpy(bool)], OUTCOMES[:2], OUTCOMES[2])
    return pd.Series(outcome, index=text.index)
