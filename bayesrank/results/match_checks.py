"""Posterior predictive checks of matches: whether a model makes matches like the observed.

Matches drawn from the posterior predictive distribution, as many of each pair as were played, are
compared with the observed ones by what users of matches look at: how many points an item makes, who
beats whom, how often the first wins and how often nobody does.

>>> match_checks(idata)  # doctest: +SKIP
"""

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bayesrank.results.checks import check_table
from bayesrank.results.draws import check_probability
from bayesrank.schema import COUNTS, FIRST, SECOND, Kept

__all__ = ["match_checks"]

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
) -> pd.DataFrame:
    r"""Compare observed matches with those that the posterior predicts.

    For a statistic :math:`T`, the observed :math:`T(y)` is placed among the :math:`T(y_t)` of
    matches drawn with each draw t of the posterior. The statistics are

    ==========  ================================================================================
    points      of each item: the share of its matches that it won, a tie counting one half
    pair        of each two items: the share of their matches that i won ("i > j"), a tie
                counting one half, whoever stood first, judged, and in whatever category
    outcome     the shares of all matches that the first won, the second won, and nobody
    ==========  ================================================================================

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
        Check so many pairs of items, those that met most often.
    draws : int, optional
        Use so many draws, evenly spaced; None uses all.

    Returns
    -------
    DataFrame
        As `ranking_checks` returns it; in its index n_items is "all".

    Raises
    ------
    ValueError
        If predictions are missing, the variable was not observed as pairs, or `prob`, `max_pairs`
        or `draws` are out of range.

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
    kept = Kept(data, var)
    if COUNTS not in kept or "posterior_predictive" not in data.children:
        raise ValueError(
            f"{var!r} must be observed as Pairs and predicted: with the model, "
            "pm.sample_posterior_predictive(idata, extend_inferencedata=True)."
        )
    observed = kept[COUNTS].values.astype(np.float64)
    predicted = data["posterior_predictive"][var].transpose(*SAMPLE, *kept[COUNTS].dims).values
    predicted = predicted.reshape(-1, *observed.shape)
    if draws is not None and draws < len(predicted):
        predicted = predicted[np.linspace(0, len(predicted) - 1, draws).round().astype(int)]

    first, second = (kept[part].values.astype(np.int64) for part in (FIRST, SECOND))
    items = _items(data, kept, int(max(first.max(), second.max())) + 1)
    sums = _Sums(first, second, observed.sum(axis=1), len(items), max_pairs)
    step = max(1, AT_ONCE // max(observed.size, 1))
    drawn = [sums(predicted[start : start + step]) for start in range(0, len(predicted), step)]
    keys = [("points", items[i], "all") for i in sums.played]
    keys += [("pair", f"{items[i]} > {items[j]}", "all") for i, j in sums.pairs]
    keys += [("outcome", name, "all") for name in OUTCOMES[: observed.shape[1]]]
    table = check_table(keys, sums(observed[None])[:, 0], np.concatenate(drawn, axis=1), None, prob)
    table.attrs |= {"n_draws": len(predicted), "prob": prob, "n_pairs": sums.n_pairs}
    return table


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


def _items(data: xr.DataTree, kept: Kept, n_items: int) -> list[str]:
    """Labels of the items: of the data, or else of the utilities, or numbers."""
    labels = kept.items
    if labels is None and "posterior" in data.children:
        posterior = data["posterior"].dataset
        labels = posterior.indexes.get("item")
    found = range(n_items) if labels is None or len(labels) < n_items else labels
    return [str(label) for label in found]
