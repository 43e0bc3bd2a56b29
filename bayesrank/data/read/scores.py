"""The scores that rankings were made from, for models of the scores themselves."""

from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

__all__ = ["Scores"]


class Scores(NamedTuple):
    """The scores of a table, with the high ones good: low-is-better scores have the sign changed.

    >>> import bayesrank as br
    >>> table = pd.DataFrame({"model": ["a", "b"], "mnli": [0.9, 0.8], "rmse": [2.0, 3.0]})
    >>> r = br.Rankings.from_scores(table, item="model", lower_is_better=["rmse"])
    >>> r.scores.values.tolist()
    [[0.9, 0.8], [-2.0, -3.0]]
    """

    items: pd.Index  # labels of the columns of `values`
    values: NDArray[np.float64]  # (n_rankings, n_items), NaN if the item was not run
    rope: NDArray[np.float64]  # (n_rankings,) region of practical equivalence of the case

    def take(self, rows: NDArray[Any]) -> Self:
        """Return the scores of some rankings."""
        return self._replace(values=self.values[rows], rope=self.rope[rows])

    def of(self, items: pd.Index) -> NDArray[np.float64]:
        """Return the scores in the order of other items, NaN for items without scores."""
        padded = np.pad(self.values, ((0, 0), (0, 1)), constant_values=np.nan)
        return padded[:, self.items.get_indexer(items)]  # -1 is the column of NaN
