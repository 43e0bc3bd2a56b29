"""Posterior predictive checks of matches: whether a model makes matches like the observed."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from bayesrank.results.checks.predicted import item_names
from bayesrank.results.checks.ranking_checks import check_table, evenly
from bayesrank.results.draws import SAMPLE, check_probability, check_whole
from bayesrank.schema import COUNTS, FIRST, SECOND, Kept

__all__ = ["match_checks", "predicted_counts"]

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

    The observed statistic :math:`T(y)` is placed among the :math:`T(y_t)` of matches drawn with
    each draw t of the posterior. The statistics are

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
        Number of pairs of items to check, those that met most often; also of labels of a group and
        of items at a label.
    draws : int, optional
        Number of draws to use, evenly spaced; None uses all.
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
    check_whole(max_pairs=max_pairs, draws=1 if draws is None else draws)
    kept, predicted = predicted_counts(data, var, draws)
    observed = kept[COUNTS].values.astype(np.float64)
    for group in by:
        if group not in kept.groups:
            known = ", ".join(map(repr, kept.groups)) or "none"
            raise ValueError(f"There is no group {group!r} to check by; the groups are {known}.")
    keys, shares, n_pairs = _statistics(kept, by, max_pairs)
    step = max(1, AT_ONCE // max(observed.size, 1))
    blocks = [predicted[start : start + step] for start in range(0, len(predicted), step)]
    drawn = [shares @ block.reshape(len(block), -1).T for block in blocks]
    table = check_table(keys, shares @ observed.ravel(), np.concatenate(drawn, axis=1), None, prob)
    table.attrs |= {"n_draws": len(predicted), "prob": prob, "n_pairs": n_pairs}
    return table


def predicted_counts(
    data: xr.DataTree, var: str = "y", draws: int | None = None
) -> tuple[Kept, NDArray[np.integer]]:
    """Read what was drawn of every pair from the posterior predictive distribution.

    Returns what the results hold of the observed matches, and counts (draw, pair, result).
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
    return kept, counts[evenly(len(counts), draws)]


def _statistics(
    kept: Kept, by: Sequence[str], most: int
) -> tuple[list[tuple[str, str, str]], csr_array, int]:
    """Keys of the statistics, their matrix (n_statistics, n_rows * n_outcomes), number of pairs.

    Every statistic is a share of points: the matrix times the counts of a draw.
    """
    counts = kept[COUNTS].values
    first, second = (kept[x].values.astype(np.int64) for x in (FIRST, SECOND))
    items = [str(x) for x in item_names(kept, 1 + int(max(first.max(), second.max())))]
    n_items, n_outcomes = len(items), counts.shape[1]
    mine, theirs = np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]])[:, :n_outcomes]
    outcomes = list(zip(OUTCOMES, np.eye(n_outcomes), strict=False))

    low, high = np.minimum(first, second), np.maximum(first, second)
    codes, pair = np.unique(low * n_items + high, return_inverse=True)
    pairs = [f"{items[i]} > {items[j]}" for i, j in zip(*divmod(codes, n_items), strict=True)]
    of_low = np.where((first > second)[:, None], theirs, mine)
    # statistic, names of the cells, and for each side: the cell of every row, points of outcomes
    tables: list[tuple[str, list[str], list[tuple[Array, Array]]]] = [
        ("points", items, [(first, mine), (second, theirs)]),
        ("pair", pairs, [(pair, of_low)]),
        *(("outcome", [name], [(np.zeros_like(first), points)]) for name, points in outcomes),
    ]
    for group in by:
        codes = kept.codes(group).astype(np.int64)
        names = [f"{group} {label}" for label in kept.labels(group)]
        for outcome, points in outcomes:
            labels = [f"{outcome}, {name}" for name in names]
            tables.append(("group outcome", labels, [(codes, points)]))
        sides = [(codes * n_items + first, mine), (codes * n_items + second, theirs)]
        labels = [f"{item}, {name}" for name in names for item in items]
        tables.append(("group points", labels, sides))

    keys: list[tuple[str, str, str]] = []
    shares, n_pairs = [], 0
    for statistic, names, sides in tables:
        won = _cells(sides, counts.shape, len(names))
        met = _cells([(cell, np.ones(1)) for cell, _ in sides], counts.shape, len(names))
        total = met @ counts.ravel()
        chosen = np.flatnonzero(total > 0)
        if statistic == "pair":
            n_pairs = len(chosen)
        if statistic not in ("points", "outcome"):  # the largest, pairs in this order
            chosen = chosen[np.argsort(-total[chosen], kind="stable")[:most]]
            chosen = chosen if statistic == "pair" else np.sort(chosen)
        keys += [(statistic, names[k], "all") for k in chosen]
        shares.append(won[chosen].multiply(1 / total[chosen, None]))
    return keys, vstack(shares, format="csr"), n_pairs


def _cells(sides: list[tuple[Array, Array]], shape: tuple[int, ...], n_cells: int) -> csr_array:
    """Matrix (n_cells, n_rows * n_outcomes) that adds up the points of the rows of every cell."""
    n = shape[0] * shape[1]
    points = np.concatenate([np.broadcast_to(x, shape).ravel() for _, x in sides])
    cells = np.concatenate([np.repeat(cell, shape[1]) for cell, _ in sides])
    return csr_array((points, (cells, np.tile(np.arange(n), len(sides)))), shape=(n_cells, n))
