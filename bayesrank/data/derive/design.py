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
    together : sparse array, shape (n_items, n_items)
        Number of rankings that contain both items; zero on the diagonal.
    connectivity : Connectivity
        The items that the answers make comparable, as `Rankings.connectivity` returns it.
    """

    items: pd.DataFrame
    together: csr_array
    connectivity: Connectivity

    @property
    def pairs(self) -> pd.DataFrame:
        """Table of items by items: the number of rankings that contain both."""
        labels = self.items.index
        return pd.DataFrame(self.together.toarray(), labels, labels.rename(None))

    @property
    def message(self) -> str:
        """The balance of the design, and what it cannot compare, in sentences."""
        return " ".join([*self.balance, *self.connectivity.warnings()])

    @property
    def balance(self) -> list[str]:
        """How often items and pairs were shown, in sentences."""
        shown, n = self.items["shown"].to_numpy(), len(self.items)
        sentences = [f"Each of {counted(n, 'item')} was shown in {_span(shown)}."]
        n_pairs, times = n * (n - 1) // 2, self.together.data
        never = n_pairs - len(times) // 2
        if never:
            one, other = self._never()
            sentences.append(
                f"{never} of {counted(n_pairs, 'pair')} {'was' if never == 1 else 'were'} never "
                f"shown together, such as {one} and {other}. Only other items can link such a pair."
            )
            times = np.append(times, 0)
        if n_pairs:
            sentences.append(f"Each pair was shown in {_span(times)}.")
        return sentences

    def _never(self) -> tuple[str, str]:
        """Name the first pair that was never shown together."""
        n = len(self.items)
        i = int(np.argmax(np.diff(self.together.indptr) < n - 1))
        known = np.append(self.together.indices[slice(*self.together.indptr[i : i + 2])], i)
        j = int(np.setdiff1d(np.arange(n), known)[0])
        return label_repr(self.items.index[i]), label_repr(self.items.index[j])


def design(
    connectivity: Connectivity,
    item: NDArray[np.int32],
    mask: NDArray[np.bool_],
    ranker: NDArray[np.int32],
    weight: NDArray[np.float64],
) -> Design:
    """Count items and pairs; the arrays are as in `Rankings`."""
    row, slot = np.nonzero(mask)
    who, n_items = item[row, slot], len(connectivity.items)
    presented = csr_array((np.ones(len(row)), (row, who)), shape=(len(item), n_items))
    together: Any = csr_array(presented.T @ presented.multiply(weight[:, None]))
    shown = together.diagonal()
    together.setdiag(0.0)
    together.eliminate_zeros()
    seen = np.unique(np.stack([ranker[row], who]), axis=1)[1]
    table = pd.DataFrame(
        {"shown": shown, "rankers": np.bincount(seen, minlength=n_items)},
        index=connectivity.items.rename("item"),
    )
    if (shown % 1 == 0).all():
        table["shown"], together = shown.astype(np.int64), csr_array(together, dtype=np.int64)
    return Design(table, together, connectivity)


def _span(values: NDArray[Any]) -> str:
    low, high = values.min(), values.max()
    return f"{low:g} to {high:g} rankings" if low < high else counted(low.item(), "ranking")
