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

from bayesrank.results.checks.ranking_checks import check_table
from bayesrank.results.draws import check_probability
from bayesrank.schema import COUNTS, FIRST, SECOND, Kept

__all__ = ["match_checks", "predicted_counts"]

SAMPLE = ("chain", "draw")
OUTCOMES = ("first", "second", "tie")
AT_ONCE = 2**22  # counts of a block of draws


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
    first, second = (kept[part].values.astype(np.int64) for part in (FIRST, SECOND))
    for group in by:
        if group not in kept.groups:
            known = ", ".join(map(repr, kept.groups)) or "none"
            raise ValueError(f"There is no group {group!r} to check by; the groups are {known}.")
    items = _items(data, kept, int(max(first.max(), second.max())) + 1)
    n = observed.sum(axis=1)
    sums = _Sums(first, second, n, len(items), max_pairs)
    groups = [_At(kept.codes(group), first, second, n, len(items), max_pairs) for group in by]
    step = max(1, AT_ONCE // max(observed.size, 1))

    def statistics(counts: NDArray[Any]) -> NDArray[np.float64]:
        return np.concatenate([sums(counts), *(at(counts) for at in groups)])

    drawn = [
        statistics(predicted[start : start + step]) for start in range(0, len(predicted), step)
    ]
    keys = [("points", items[i], "all") for i in sums.played]
    keys += [("pair", f"{items[i]} > {items[j]}", "all") for i, j in sums.pairs]
    outcomes = OUTCOMES[: observed.shape[1]]
    keys += [("outcome", name, "all") for name in outcomes]
    for group, at in zip(by, groups, strict=True):
        labels = [f"{group} {label}" for label in kept.labels(group)]
        of_label = [(name, labels[k]) for name in outcomes for k in at.labels]
        keys += [("group outcome", ", ".join(pair), "all") for pair in of_label]
        cells = [divmod(int(cell), len(items)) for cell in at.cells]
        keys += [("group points", f"{items[i]}, {labels[k]}", "all") for k, i in cells]
    table = check_table(
        keys, statistics(observed[None])[:, 0], np.concatenate(drawn, axis=1), None, prob
    )
    table.attrs |= {"n_draws": len(predicted), "prob": prob, "n_pairs": sums.n_pairs}
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


class _Sums:
    """Shares of points, as functions of counts (n_draws, n_rows, n_outcomes)."""

    def __init__(
        self,
        first: NDArray[np.int64],
        second: NDArray[np.int64],
        n: NDArray[np.float64],
        n_items: int,
        most: int,
    ) -> None:
        self.first, self.second, self.n, self.n_items = first, second, n, n_items
        matches = np.bincount(first, n, n_items) + np.bincount(second, n, n_items)
        self.played = np.flatnonzero(matches)
        self.matches = matches[self.played]
        low, high = np.minimum(first, second), np.maximum(first, second)
        met, self.pair = np.unique(low * n_items + high, return_inverse=True)
        self.turned = first > second
        times = np.bincount(self.pair, n)
        self.chosen = np.lexsort((met, -times))[:most]
        self.chosen = self.chosen[times[self.chosen] > 0]
        self.times = times[self.chosen]
        self.pairs = [divmod(int(met[k]), n_items) for k in self.chosen]
        self.n_pairs = int((times > 0).sum())

    def __call__(self, counts: NDArray[np.floating]) -> NDArray[np.float64]:
        """Compute all statistics: (n_statistics, n_draws)."""
        ties = counts[:, :, 2] if counts.shape[2] == 3 else 0.0
        points = counts[:, :, 0] + ties / 2
        out = np.empty((len(self.played) + len(self.pairs) + counts.shape[2], len(counts)))
        for t, mine in enumerate(points):
            theirs = self.n - mine
            total = np.bincount(self.first, mine, self.n_items)
            total += np.bincount(self.second, theirs, self.n_items)
            won = np.bincount(self.pair, np.where(self.turned, theirs, mine))
            out[:, t] = np.concatenate(
                [
                    total[self.played] / self.matches,
                    won[self.chosen] / self.times,
                    counts[t].sum(axis=0) / self.n.sum(),
                ]
            )
        return out


class _At:
    """Shares of outcomes at every label of a group, and of points of every item there."""

    def __init__(
        self,
        codes: NDArray[np.integer],
        first: NDArray[np.int64],
        second: NDArray[np.int64],
        n: NDArray[np.float64],
        n_items: int,
        most: int,
    ) -> None:
        self.codes, self.n = codes.astype(np.int64), n
        self.n_labels = int(self.codes.max()) + 1
        self.sides = self.codes * n_items + first, self.codes * n_items + second
        self.size = self.n_labels * n_items
        at_label = np.bincount(self.codes, n, self.n_labels)
        in_cell = np.bincount(np.concatenate(self.sides), np.tile(n, 2), self.size)
        self.labels, self.cells = _largest(at_label, most), _largest(in_cell, most)
        self.at_label, self.in_cell = at_label[self.labels], in_cell[self.cells]

    def __call__(self, counts: NDArray[np.floating]) -> NDArray[np.float64]:
        """Compute all statistics: (n_statistics, n_draws)."""
        n_outcomes = counts.shape[2]
        out = np.empty((n_outcomes * len(self.labels) + len(self.cells), len(counts)))
        for t, ended in enumerate(counts):
            shares = [
                np.bincount(self.codes, ended[:, k], self.n_labels)[self.labels] / self.at_label
                for k in range(n_outcomes)
            ]
            mine = ended[:, 0] + (ended[:, 2] / 2 if n_outcomes == 3 else 0.0)
            points = np.bincount(self.sides[0], mine, self.size)
            points += np.bincount(self.sides[1], self.n - mine, self.size)
            out[:, t] = np.concatenate([*shares, points[self.cells] / self.in_cell])
        return out


def _largest(n: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    """Where so many of the largest numbers above 0 are, in their order."""
    chosen = np.argsort(-n, kind="stable")[:most]
    return np.sort(chosen[n[chosen] > 0])


def _items(data: xr.DataTree, kept: Kept, n_items: int) -> list[str]:
    """Labels of the items: of the data, or else of the utilities, or numbers."""
    labels = kept.items
    if labels is None and "posterior" in data.children:
        posterior = data["posterior"].dataset
        labels = posterior.indexes.get("item")
    found = range(n_items) if labels is None or len(labels) < n_items else labels
    return [str(label) for label in found]
