"""Connectivity: the items that rankings or matches make comparable.

In the graph of comparisons, an item *beats* the items in lower blocks of the same ranking.
Utilities are comparable within a weak component. They have a finite maximum-likelihood estimate if
and only if the whole graph is one strong component.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from bayesrank.data.read.labels import label_repr, quoted


@dataclass(frozen=True, eq=False)
class Connectivity:
    """Components of the graph of comparisons.

    Attributes
    ----------
    items : pandas.Index
        The item axis.
    weak, strong : array of int, shape (n_items,)
        Component of each item; component 0 is the largest. Two items are in the same weak component
        if a chain of comparisons links them. They are in the same strong component if each beats
        the other through a chain of wins.
    never_wins, never_loses : pandas.Index
        Compared items that never beat another item, or are never beaten.
    uncompared : pandas.Index
        Items that are never compared with another item.
    source : "rankings" or "pairs"
        The data that compare the items.
    """

    items: pd.Index
    weak: NDArray[np.int64]
    strong: NDArray[np.int64]
    never_wins: pd.Index
    never_loses: pd.Index
    uncompared: pd.Index
    source: Literal["rankings", "pairs"] = "rankings"

    @property
    def n_components(self) -> int:
        """Number of weak components."""
        return int(self.weak.max()) + 1

    @property
    def components(self) -> list[pd.Index]:
        """Items of each weak component, the largest first."""
        return [self.items[self.weak == c] for c in range(self.n_components)]

    @property
    def strong_components(self) -> list[pd.Index]:
        """Items of each strong component, the largest first."""
        return [self.items[self.strong == c] for c in range(int(self.strong.max()) + 1)]

    @property
    def is_connected(self) -> bool:
        """Whether chains of comparisons link all items."""
        return self.n_components == 1

    @property
    def is_strongly_connected(self) -> bool:
        """Whether the utilities have a finite maximum-likelihood estimate."""
        return not self.strong.any()

    def warnings(self) -> list[str]:
        """Explain problems of these data for a model; empty if there are none."""
        sentences = []
        if not self.is_connected:
            sentences.append(
                f"The comparison graph has {self.n_components} components "
                f"({_name_components(self.components)}): utilities are comparable only within one. "
                f"A proper prior ties them together."
            )
        for found, verb, where in (
            (self.never_loses, "loses", "infinite"),
            (self.never_wins, "wins", "minus infinite"),
        ):
            if len(found) == 1:
                name = label_repr(found[0])
                drop = "remove its matches"
                if self.source == "rankings":
                    drop = f"drop it with rankings.drop_items([{name}])"
                sentences.append(
                    f"Item {name} never {verb}: without a prior its utility is {where}. Give it "
                    f"a prior, or {drop}."
                )
            elif len(found):
                drop = "remove their matches"
                if self.source == "rankings":
                    drop = "drop them with rankings.drop_items"
                sentences.append(
                    f"{len(found)} items ({quoted(found)}) never {verb[:-1]}: without a prior "
                    f"their utilities are {where}. Give them a prior, or {drop}."
                )
        if self.is_connected and not self.is_strongly_connected and not sentences:
            groups = self.strong_components
            sentences.append(
                f"The items form {len(groups)} groups ({_name_components(groups)}), and the items "
                "of one always beat those of another: without a prior their utilities are "
                "infinitely far apart. Give all items a prior."
            )
        return sentences

    @property
    def message(self) -> str:
        """The warnings as one text, or a sentence that says that all is well."""
        if len(self.items) == 1:
            return (
                f"There is one item, {label_repr(self.items[0])}, and nothing to compare it with."
            )
        return " ".join(self.warnings()) or (
            f"All {len(self.items)} items are comparable, and each wins and loses."
        )


def _name_components(components: list[pd.Index]) -> str:
    """List up to four components with up to four items each."""
    shown = [f"{{{quoted(component, 4)}}}" for component in components[:4]]
    return ", ".join([*shown, "..."] if len(components) > 4 else shown)


def connectivity(
    items: pd.Index, item: NDArray[np.int32], ranks: NDArray[np.int32]
) -> Connectivity:
    """Find the components of the graph of comparisons; `item` and `ranks` are as in `Rankings`."""
    row, slot = np.nonzero(ranks)
    who, rank = item[row, slot], ranks[row, slot]
    last = ranks.max(axis=1)
    wins, loses = rank < last[row], rank > 1

    # An auxiliary node ("gate") between the blocks k and k + 1 of a ranking has edges from block k
    # and to block k + 1 and the next gate. The number of edges grows with the entries, not the
    # pairs.
    first_gate = len(items) + np.cumsum(last - 1) - (last - 1)
    gate = first_gate[row] + rank - 1
    chained = wins & loses & (np.diff(rank, prepend=0) != 0)
    source = np.concatenate([who[wins], gate[loses] - 1, gate[chained] - 1])
    target = np.concatenate([gate[wins], who[loses], gate[chained]])
    n = len(items) + int((last - 1).sum())
    graph = coo_array((np.ones(len(source)), (source, target)), shape=(n, n)).tocsr()

    def components(connection: Literal["weak", "strong"]) -> NDArray[np.int64]:
        _, label = connected_components(graph, directed=True, connection=connection)
        return _by_size(label[: len(items)])

    won, lost = np.zeros(len(items), dtype=bool), np.zeros(len(items), dtype=bool)
    won[who[wins]] = True
    lost[who[loses]] = True
    return Connectivity(
        items=items,
        weak=components("weak"),
        strong=components("strong"),
        never_wins=items[lost & ~won],
        never_loses=items[won & ~lost],
        uncompared=items[~won & ~lost],
    )


def _by_size(label: NDArray[Any]) -> NDArray[np.int64]:
    """Renumber components by decreasing size, and components of equal size by their first item."""
    _, first, group, size = np.unique(
        label, return_index=True, return_inverse=True, return_counts=True
    )
    order = np.lexsort((first, -size))
    number = np.empty_like(order)
    number[order] = np.arange(len(order))
    return number[group]
