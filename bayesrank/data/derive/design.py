"""The design of a survey: how often items and pairs were presented, and what is not compared."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bayesrank.data.derive.graph import Connectivity
from bayesrank.data.read.labels import counted, label_repr

__all__ = ["Design", "design"]


@dataclass(frozen=True, eq=False)
class Design:
    """How often items and pairs of items were presented.

    Attributes
    ----------
    items : DataFrame
        One row per item, with the columns shown (number of rankings that contain the item) and
        rankers (number of rankers who saw it).
    pairs : DataFrame
        Table of items by items: the number of rankings that contain both; zero on the diagonal.
    connectivity : Connectivity
        The items that the answers make comparable, as `Rankings.connectivity` returns it.
    """

    items: pd.DataFrame
    pairs: pd.DataFrame
    connectivity: Connectivity

    @property
    def message(self) -> str:
        """The balance of the design, and what it cannot compare, in sentences."""
        return " ".join([*self.balance, *self.connectivity.warnings()])

    @property
    def balance(self) -> list[str]:
        """How often items and pairs were shown, in sentences."""
        shown, labels = self.items["shown"].to_numpy(), self.items.index
        first, second = np.triu_indices(len(labels), 1)
        times = self.pairs.to_numpy()[first, second]
        sentences = [f"Each of {counted(len(labels), 'item')} was shown in {_span(shown)}."]
        never = np.flatnonzero(times == 0)
        if len(never):
            one, other = (label_repr(labels[x[never[0]]]) for x in (first, second))
            sentences.append(
                f"{len(never)} of {counted(len(times), 'pair')} "
                f"{'was' if len(never) == 1 else 'were'} never shown together, such as {one} and "
                f"{other}. Only other items can link such a pair."
            )
        if len(times):
            sentences.append(f"Each pair was shown in {_span(times)}.")
        return sentences


def design(
    connectivity: Connectivity,
    item: NDArray[np.int32],
    mask: NDArray[np.bool_],
    ranker: NDArray[np.int32] | None,
    count: NDArray[np.int64],
) -> Design:
    """Count items and pairs; the arrays are as in `Rankings`, None if all rankers differ."""
    row, slot = np.nonzero(mask)
    who, labels = item[row, slot], connectivity.items.rename("item")
    presented = csr_array((np.ones(len(row)), (row, who)), shape=(len(item), len(labels)))
    together = (presented.T @ presented.multiply(count[:, None])).toarray().astype(np.int64)
    shown = together.diagonal().copy()
    np.fill_diagonal(together, 0)
    rankers = shown
    if ranker is not None:
        seen = np.unique(np.stack([ranker[row], who]), axis=1)[1]
        rankers = np.bincount(seen, minlength=len(labels))
    items = pd.DataFrame({"shown": shown, "rankers": rankers}, index=labels)
    return Design(items, pd.DataFrame(together, labels, labels.rename(None)), connectivity)


def _span(values: NDArray[Any]) -> str:
    low, high = values.min(), values.max()
    return f"{low:g} to {high:g} rankings" if low < high else counted(low.item(), "ranking")
