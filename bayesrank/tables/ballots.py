"""Ballots: whole rankings in one cell, such as ``a > b = c``, ``a, b, c * 37`` or a list."""

import re
from collections.abc import Callable, Iterator, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any, Literal

import numpy as np
import pandas as pd

from bayesrank.data.read import label_repr, quoted, row_name
from bayesrank.tables.cells import refuse_rows
from bayesrank.tables.opening import label_text
from bayesrank.tables.words import TableError, spelled

LISTS = (list, tuple, np.ndarray)
OTHER_SEPARATORS = (";", "|", "/", "\t", "\n", " ")  # offered if a ballot has neither > nor ,
LEAST_LISTS = 3  # different lists in one order that may have been ticked
_BEHIND = re.compile(r"(.*?)\s*(?:\*\s*(\d{1,15})|:\s*(\d{1,15})|\((\d{1,15})\))", re.DOTALL)
_BEFORE = re.compile(r"(\d{1,15})\s*[:*x\N{MULTIPLICATION SIGN}]\s*(.*)", re.DOTALL)
_IN_BRACKETS = re.compile(r".*\(\d+\)")

type Listed = Literal["ranked", "ticked"] | None


class Ballots:
    """The ballots of a column: their blocks of items, best first, and how often each was cast.

    Attributes
    ----------
    blocks : list of list of list of str
        The blocks of each ballot.
    counts : Series or None
        How often each ballot was cast, if the cells say it.
    """

    def __init__(
        self,
        column: pd.Series,
        between: str | None,
        listed: Listed,
        note: Callable[[str], None],
    ) -> None:
        self.note, self.listed = note, listed
        refuse_rows(column.isna(), column, "Each row needs a ballot", "Write one, or remove it.")
        self.counts: pd.Series | None = None
        if column.map(lambda cell: isinstance(cell, LISTS)).any():
            self.column, self.between = column, ">"
            self.blocks = [_from_list(cell) for cell in column]
            return
        text = label_text(column)
        self.column = self._counted(text)
        self.between = between or self._separator()
        self.blocks = [self._split(cell) for cell in self.column]
        self._refuse_gaps()
        if self.between != ">":
            self._ask_about_order()

    def _counted(self, text: pd.Series) -> pd.Series:
        """Find counts before or behind all ballots, and remove them."""
        for pattern, ballot, where in ((_BEHIND, 0, "behind"), (_BEFORE, 1, "before")):
            found = [pattern.fullmatch(cell) for cell in text]
            if not all(found) or (where == "behind" and _end_in_brackets(text)):
                continue
            groups = [match.groups() for match in found if match is not None]
            numbers = [
                float(next(x for k, x in enumerate(one) if x and k != ballot)) for one in groups
            ]
            self.counts = pd.Series(numbers, text.index, name=text.name)
            self.note(f"The number {where} each ballot in {text.name!r} is its count.")
            return pd.Series([one[ballot] for one in groups], text.index, name=text.name)
        return text

    def _separator(self) -> str:
        """Find the sign between the items, or name those that it may be."""
        text = self.column
        if text.str.contains(">", regex=False).any():
            return ">"
        found = [sign for sign in (",", *OTHER_SEPARATORS) if _several(text, sign)]
        if found == [" "] or (found and found[-1] == " "):
            found = found[:-1] or found  # a blank may be inside a name
        if found == [","] or (not found and text.str.contains("=", regex=False).any()):
            return ","
        remedies = [{"between": sign} for sign in found]
        signs = " or ".join(spelled(**remedy) for remedy in remedies)
        way_out = (
            f"Name the sign between items: {signs}."
            if found
            else "A ballot must look like 'a > b = c' or 'a, b, c', best first."
        )
        first = int(np.argmax([any(sign in cell for sign in found) for cell in text]))
        raise TableError(
            f"The sign between items must be known; column {text.name!r} has "
            f"{label_repr(text.iloc[first])} in {row_name(text.index, first)}. {way_out}",
            remedies,
        )

    def _split(self, cell: str) -> list[list[str]]:
        """Split a ballot into blocks of items."""
        parts = cell.split(None if self.between == " " else self.between)
        if self.between != ">":  # lists may end with a separator
            parts = parts[:-1] if len(parts) > 1 and not parts[-1].strip() else parts
        if self.listed == "ticked":
            return [[part.strip() for part in parts]]
        return [[item.strip() for item in part.split("=")] for part in parts]

    def _refuse_gaps(self) -> None:
        """Refuse ballots with nothing between two signs, or with an open bracket."""
        wrong = []
        for blocks in self.blocks:
            items = [item for block in blocks for item in block]
            opened = any(
                len(re.findall(r"[\[({]", x)) != len(re.findall(r"[\])}]", x)) for x in items
            )
            dashed = self.between == ">" and any(item.endswith("-") for item in items)
            wrong.append("" in items or opened or dashed)
        refuse_rows(
            wrong,
            self.column,
            "A ballot must look like 'a > b = c' or 'a, b, c', best first, with an item between "
            "signs",
            "Correct the row.",
        )

    def _ask_about_order(self) -> None:
        """Ask what lists mean that all follow one order, as ticked boxes do."""
        if self.listed is not None:
            return
        lists = [list(dict.fromkeys(x for b in blocks for x in b)) for blocks in self.blocks]
        order = _common_order(lists)
        if order is None or len({*map(tuple, lists)}) < LEAST_LISTS:
            return
        ticked, ranked = {"listed": "ticked"}, {"listed": "ranked"}
        raise TableError(
            f"All {len(lists):,} lists in column {self.column.name!r} have the items in one order, "
            f"{quoted(order)}, as ticked boxes have. Say {spelled(**ticked)} if the items of a "
            f"list were ticked and form one block. Say {spelled(**ranked)} if the best comes "
            "first.",
            [ticked, ranked],
        )


def entries_of(ballots: Ballots) -> Iterator[tuple[int, int, str]]:
    """Yield the row, the place and the item of each entry; the first mention of an item counts."""
    again = 0
    for row, blocks in enumerate(ballots.blocks):
        seen: set[str] = set()
        place = 0
        for block in blocks:
            new = [item for item in dict.fromkeys(block) if item not in seen]
            again += len(block) - len(new)
            seen.update(new)
            place += bool(new)
            yield from ((row, place, item) for item in new)
    if again:
        ballots.note(f"An item that a ballot names again counts where it is first: {again:,}.")


def _end_in_brackets(text: pd.Series) -> bool:
    """Whether items before the last one also end with a number in brackets, as years of films."""
    parts = [re.split("[>,;=]", cell)[:-1] for cell in text]
    return any(_IN_BRACKETS.fullmatch(part.strip()) for one in parts for part in one)


def _several(text: pd.Series, sign: str) -> bool:
    """Whether cells contain a sign between two items."""
    return any(len([part for part in cell.split(sign) if part.strip()]) > 1 for cell in text)


def _from_list(cell: Any) -> list[list[str]]:
    """Read a list of items, in which tied items may form a list of their own."""
    if not isinstance(cell, LISTS):
        return [[str(cell)]]
    return [[*map(str, block)] if isinstance(block, LISTS) else [str(block)] for block in cell]


def _common_order(lists: Sequence[Sequence[str]]) -> list[str] | None:
    """Find an order of all items that every list follows, if there is one."""
    before: dict[str, set[str]] = {}
    for one in lists:
        for n, item in enumerate(one):
            before.setdefault(item, set()).update(one[n - 1 : n])
    try:
        return list(TopologicalSorter(before).static_order())
    except CycleError:
        return None
