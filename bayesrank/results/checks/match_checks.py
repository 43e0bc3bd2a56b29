"""Posterior predictive checks of matches: whether a model makes matches like the observed.

Matches drawn from the posterior predictive distribution, as many of each pair as were played, are
compared with the observed ones by what users of matches look at: how many points an item makes, who
beats whom, how often the first wins and how often nobody does, if asked for with every judge or in
every category, too.

>>> match_checks(idata)  # doctest: +SKIP
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bayesrank.results.checks.ranking_checks import check_table
from bayesrank.results.draws import check_probability
from bayesrank.schema import COUNTS, FIRST, SECOND, Kept

__all__ = ["match_checks", "predicted_counts"]

SAMPLE = ("chain", "draw")
OUTCOMES = ("first", "second", "tie")
AT_ONCE = 2**22  # counts of a block of draws

Array = NDArray[Any]


def match_checks(
    data: xr.DataTree,
    *,
    var: str = "y",
    prob: float = 0.94,
    max_pairs: int = 300,
    draws: int | None = 1000,
    by: Sequence[str] = (),
) -> pd.DataFrame:
    r"""Compare observed matches with those that the posterior predicts.

    For a statistic :math:`T`, the observed :math:`T(y)` is placed among the :math:`T(y_t)` of
    matches drawn with each draw t of the posterior. The statistics are

    =============  =============================================================================
    points         of each item: the share of its matches that it won, a tie counting one half
    pair           of each two items: the share of their matches that i won ("i > j"), a tie
                   counting one half, whoever stood first, judged, and in whatever category
    outcome        the shares of all matches that the first won, the second won, and nobody
    group outcome  the same of the matches of each label of a group ("tie, judge ann")
    group points   points of each item at each label of a group ("a, judge ann")
    =============  =============================================================================

    Parameters
    ----------
    data : DataTree
        Of a model that observes `Pairs`, with the group posterior_predictive:
        ``pm.sample_posterior_predictive(idata, extend_inferencedata=True)``.
    var : str
        The observed variable.
    prob : float
        Probability of the intervals, in (0, 1): equal tails.
    max_pairs : int
        Check so many pairs of items, those that met most often; and of a group so many labels, and
        so many items at a label, those with the most matches.
    draws : int, optional
        Use so many draws, evenly spaced; None uses all.
    by : sequence of str
        Groups of the matches, such as judge and category.

    Returns
    -------
    DataFrame
        As `ranking_checks` returns it; in its index n_items is "all".

    Raises
    ------
    ValueError
        If predictions are missing, the variable was not observed as pairs, there is no such group,
        or `prob`, `max_pairs` or `draws` are out of range.

    References
    ----------
    Gelman, Meng and Stern, Posterior predictive assessment of model fitness via realized
    discrepancies, Statistica Sinica 1996.

    Examples
    --------
    >>> tree = xr.DataTree.from_dict({
    ...     "posterior_predictive": xr.Dataset(
    ...         {"y": (("chain", "draw", "pair", "result"), [[[[2, 0]], [[1, 1]], [[0, 2]]]])}),
    ...     "constant_data": xr.Dataset({
    ...         "y_first": ("pair", [0]), "y_second": ("pair", [1]),
    ...         "y_counts": (("pair", "result"), [[2, 0]]),
    ...         "y_item_matches": ("item", [2, 2])}, coords={"item": ["a", "b"]}),
    ... })
    >>> match_checks(tree).loc["pair", ["observed", "mean", "p"]].round(2)
                   observed  mean     p
    label n_items
    a > b all           1.0   0.5  0.33
    """
    check_probability("prob", prob, 0.0)
    for name, value in (("max_pairs", max_pairs), ("draws", draws)):
        if value is not None and (value < 1 or value % 1):
            raise ValueError(f"`{name}` is {value!r}; it must be a whole number, 1 or more.")
    kept, predicted = predicted_counts(data, var, draws)
    observed = kept[COUNTS].values.astype(np.float64)
    for group in by:
        if group not in kept.groups:
            known = ", ".join(map(repr, kept.groups)) or "none"
            raise ValueError(f"There is no group {group!r} to check by; the groups are {known}.")
    shares = _Shares(data, kept, by, max_pairs)
    step = max(1, AT_ONCE // max(observed.size, 1))
    drawn = [shares(predicted[start : start + step]) for start in range(0, len(predicted), step)]
    table = check_table(
        shares.keys, shares(observed[None])[:, 0], np.concatenate(drawn, axis=1), None, prob
    )
    table.attrs |= {"n_draws": len(predicted), "prob": prob, "n_pairs": shares.n_pairs}
    return table


def predicted_counts(
    data: xr.DataTree, var: str = "y", draws: int | None = None
) -> tuple[Kept, NDArray[np.integer]]:
    """Read what was drawn of every pair from the posterior predictive distribution.

    Returns
    -------
    kept : Kept
        What the results hold of the matches that were observed.
    counts : array of int, (draw, pair, result)
        As often as the draw has each outcome of each pair.
    """
    kept = Kept(data, var)
    predicted: Any = data["posterior_predictive"] if "posterior_predictive" in data.children else {}
    if COUNTS not in kept or var not in predicted:
        raise ValueError(
            f"{var!r} must be observed as Pairs and predicted: with the model, "
            "pm.sample_posterior_predictive(idata, extend_inferencedata=True)."
        )
    counts = predicted[var].transpose(*SAMPLE, *kept[COUNTS].dims).values
    counts = counts.reshape(-1, *kept[COUNTS].shape)
    if draws is not None and draws < len(counts):
        counts = counts[np.linspace(0, len(counts) - 1, draws).round().astype(int)]
    return kept, counts


class _Shares:
    """Statistics as functions of counts (n_draws, n_rows, n_outcomes): shares of matches."""

    def __init__(self, data: xr.DataTree, kept: Kept, by: Sequence[str], most: int) -> None:
        self.first, self.second = (kept[x].values.astype(np.int64) for x in (FIRST, SECOND))
        observed = kept[COUNTS].values
        self.n = observed.sum(axis=1).astype(np.float64)
        items = _items(data, kept, int(max(self.first.max(), self.second.max())) + 1)
        self.n_items = len(items)
        self.groups = [kept.codes(group).astype(np.int64) for group in by]
        low, high = np.minimum(self.first, self.second), np.maximum(self.first, self.second)
        pairs, self.pair = np.unique(low * self.n_items + high, return_inverse=True)

        outcomes = OUTCOMES[: observed.shape[1]]
        labels = [("points", items), ("outcome", [*outcomes])]
        met = [divmod(int(pair), self.n_items) for pair in pairs]
        labels.insert(1, ("pair", [f"{items[i]} > {items[j]}" for i, j in met]))
        for group in by:
            names = [f"{group} {label}" for label in kept.labels(group)]
            labels += [("group outcome", [f"{x}, {name}" for name in names]) for x in outcomes]
            labels.append(("group points", [f"{i}, {name}" for name in names for i in items]))
        totals = [total for total, _ in self._tables(observed[None])]
        self.n_pairs = int((totals[1] > 0).sum())
        self.chosen, self.keys = [], []
        for (kind, names), total in zip(labels, totals, strict=True):
            chosen = np.flatnonzero(total > 0)
            if kind not in ("points", "outcome"):  # the largest, pairs in this order
                chosen = chosen[np.argsort(-total[chosen], kind="stable")[:most]]
            self.chosen.append(chosen if kind == "pair" else np.sort(chosen))
            self.keys += [(kind, names[k], "all") for k in self.chosen[-1]]

    def __call__(self, counts: Array) -> Array:
        """Compute all statistics: (n_statistics, n_draws)."""
        tables = zip(self.chosen, self._tables(counts), strict=True)
        return np.concatenate([share[chosen] for chosen, (_, share) in tables])

    def _tables(self, counts: Array) -> list[tuple[Array, Array]]:
        """Return the matches of each cell (size,), and the share won (size, n_draws)."""
        mine = counts[:, :, 0] + (counts[:, :, 2] / 2 if counts.shape[2] == 3 else 0.0)
        theirs = self.n - mine
        ended = list(np.moveaxis(counts, 2, 0))
        same = np.zeros_like(self.first)
        tables = [self._share([(self.first, mine), (self.second, theirs)])]
        tables.append(self._share([(self.pair, np.where(self.first > self.second, theirs, mine))]))
        shares = [self._share([(same, x)]) for x in ended]
        total, share = (np.concatenate(x) for x in zip(*shares, strict=True))
        tables.append((total, share))
        for codes in self.groups:
            tables += [self._share([(codes, x)]) for x in ended]
            cells = [codes * self.n_items + side for side in (self.first, self.second)]
            tables.append(self._share(list(zip(cells, (mine, theirs), strict=True))))
        return tables

    def _share(self, sides: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
        """Share of points, from the cell (n_rows,) and the points (n_draws, n_rows) of a side."""
        size = 1 + max(int(cell.max()) for cell, _ in sides)
        ones, row = np.ones(len(self.n)), np.arange(len(self.n))
        sums = [csr_array((ones, (cell, row)), shape=(size, len(row))) for cell, _ in sides]
        total = np.sum([cells @ self.n for cells in sums], axis=0)
        points = [cells @ x.T for cells, (_, x) in zip(sums, sides, strict=True)]
        won = np.sum(points, axis=0)
        return total, won / np.maximum(total, 1e-300)[:, None]


def _items(data: xr.DataTree, kept: Kept, n_items: int) -> list[str]:
    """Labels of the items: of the data, or else of the utilities, or numbers."""
    labels = kept.items
    if labels is None and "posterior" in data.children:
        posterior = data["posterior"].dataset
        labels = posterior.indexes.get("item")
    found = range(n_items) if labels is None or len(labels) < n_items else labels
    return [str(label) for label in found]
