"""Posterior predictive checks of matches: compare predicted with observed matches."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from bayesrank.data.read import check_whole
from bayesrank.results.checks.families import Whole, cyclic_triples, whole_rows
from bayesrank.results.checks.predicted import item_names
from bayesrank.results.checks.ranking_checks import PREDICT, check_table, evenly, with_omnibus
from bayesrank.results.draws import (
    SAMPLE,
    interval_probability,
    refuse_other_labels,
)
from bayesrank.schema import COUNTS, FIRST, GRADE, SECOND, VOTES, WEIGHT, Kept

__all__ = ["match_checks", "predicted_counts"]

OUTCOMES = ("first", "second", "tie", "both bad")
POINTS = np.array([[1.0, 0.0, 0.5, 0.5], [0.0, 1.0, 0.5, 0.5]])  # of the two items
AT_ONCE = 2**22  # counts in a block of draws

Array = NDArray[Any]


def match_checks(
    data: xr.DataTree,
    var_name: str = "y",
    *,
    ci_prob: float | None = None,
    max_pairs: int = 300,
    draws: int | None = 1000,
    by: Sequence[str] = (),
) -> pd.DataFrame:
    r"""Compare observed matches with matches that the posterior predicts.

    The observed statistic :math:`T(y)` is compared with :math:`T(y_t)`, the statistic of matches
    predicted in draw t of the posterior. The statistics are

    =============  =============================================================================
    points         Share of its matches that an item won. A tie counts one half, also if both items
                   are bad. Of graded pairs, an item wins with any grade on its side of the middle.
    pair           Share of the matches of two items that i won ("i > j"), over all orders,
                   judges and categories. A tie counts one half.
    outcome        Shares of all matches won by the first item, won by the second, tied, and both
                   bad; of graded pairs, the share of each grade.
    group outcome  Shares of outcomes for each label of a group ("tie, judge ann").
    group points   Points of each item for each label of a group ("a, judge ann").
    =============  =============================================================================

    The last rows are omnibus checks of the families of these statistics: ``items`` (points),
    ``pairs``, ``outcomes``, and ``groups``. See `ranking_checks`.

    Parameters
    ----------
    data : DataTree
        Results of a model that observes `Pairs`, with the group posterior_predictive:
        ``pm.sample_posterior_predictive(idata, extend_inferencedata=True)``.
    var_name : str
        The observed variable.
    ci_prob : float, optional
        Probability of the intervals, in (0, 1): equal tails. By default,
        ``arviz.rcParams["stats.ci_prob"]``.
    max_pairs : int
        Number of pairs of items to check: those that met most often. It also limits the rows of
        each group.
    draws : int, optional
        Number of draws to use, evenly spaced; None uses all.
    by : sequence of str
        Groups of the matches, such as judge and category.

    Returns
    -------
    DataFrame
        As from `ranking_checks`; n_items in its index is "all".

    Raises
    ------
    ValueError
        If predictions are missing, the variable was not observed as pairs, or a group does not
        exist. Also if `ci_prob`, `max_pairs` or `draws` are out of range.

    See Also
    --------
    plot_match_checks, worst_checks, ranking_checks, audit

    Examples
    --------
    >>> import xarray as xr
    >>> import bayesrank as br
    >>> tree = xr.DataTree.from_dict({
    ...     "posterior_predictive": xr.Dataset(
    ...         {"y": (("chain", "draw", "pair", "result"), [[[[2, 0]], [[1, 1]], [[0, 2]]]])}),
    ...     "constant_data": xr.Dataset({
    ...         "y_first": ("pair", [0]), "y_second": ("pair", [1]),
    ...         "y_counts": (("pair", "result"), [[2, 0]]),
    ...         "y_item_matches": ("item", [2, 2])}, coords={"item": ["a", "b"]}),
    ... })
    >>> br.match_checks(tree).loc["pair", ["observed", "mean", "p"]].round(2)
                   observed  mean     p
    label n_items
    a > b all           1.0   0.5  0.33
    """
    ci_prob = interval_probability(ci_prob)
    check_whole(max_pairs=max_pairs, draws=1 if draws is None else draws)
    kept, predicted = predicted_counts(data, var_name, draws)
    observed = kept[COUNTS].values.astype(np.float64)
    if VOTES in kept:  # the two outcomes of a stated probability share one match
        share = kept[WEIGHT].values[:, None]
        observed, predicted = observed * share, predicted * share
    for group in by:
        if group not in kept.groups:
            known = ", ".join(map(repr, kept.groups)) or "none"
            raise ValueError(f"`by` names the group {group!r}; the groups are {known}.")
    keys, shares, pairs, n_pairs = _statistics(kept, observed, by, max_pairs)
    step = max(1, AT_ONCE // max(observed.size, 1))
    blocks = [predicted[start : start + step] for start in range(0, len(predicted), step)]
    drawn = [shares @ block.reshape(len(block), -1).T for block in blocks]
    predicted_shares = np.concatenate(drawn, axis=1)
    values = shares @ observed.ravel()
    table = check_table(keys, values, predicted_shares, None, ci_prob)
    table = with_omnibus(table, _wholes(keys, pairs, values, predicted_shares, by), ci_prob)
    table.attrs |= {"n_draws": len(predicted), "ci_prob": ci_prob, "n_pairs": n_pairs}
    return table


def predicted_counts(
    data: xr.DataTree, var_name: str = "y", draws: int | None = None
) -> tuple[Kept, NDArray[np.integer]]:
    """Read the posterior predictive draws of every pair.

    Returns the data of the observed matches, and predicted counts (draw, pair, result).
    """
    kept = Kept(data, var_name)
    predicted: Any = data["posterior_predictive"] if "posterior_predictive" in data.children else {}
    if COUNTS not in kept or var_name not in predicted:
        raise ValueError(
            f"{var_name!r} must be observed as Pairs and predicted. With the model, run "
            "pm.sample_posterior_predictive(idata, extend_inferencedata=True)."
        )
    refuse_other_labels(
        predicted[var_name], kept[COUNTS], f"The predictions of {var_name!r} have", PREDICT
    )
    counts = predicted[var_name].transpose(*SAMPLE, *kept[COUNTS].dims).values
    counts = counts.reshape(-1, *kept[COUNTS].shape)
    return kept, counts[evenly(len(counts), draws)]


def _statistics(
    kept: Kept, counts: Array, by: Sequence[str], most: int
) -> tuple[list[tuple[str, str, str]], csr_array, list[tuple[int, int]], int]:
    """Return keys of the statistics, their matrix, the pairs among them, and how many there are.

    The matrix (n_statistics, n_rows * n_outcomes) times the counts of a draw gives the statistics.
    """
    first, second = (kept[x].values.astype(np.int64) for x in (FIRST, SECOND))
    items = [str(x) for x in item_names(kept, 1 + int(max(first.max(), second.max())))]
    n_items, n_outcomes = len(items), counts.shape[1]
    for_first, for_second = POINTS[:, : counts.shape[1]]
    names_of_outcomes: Sequence[str] = OUTCOMES
    if GRADE in kept:
        place = kept[GRADE].to_numpy()
        for_second = 0.5 + 0.5 * np.sign(place - (n_outcomes - 1) / 2)
        for_first = 1.0 - for_second
        names_of_outcomes = [str(grade) for grade in kept[COUNTS][kept[COUNTS].dims[1]].to_numpy()]
    outcomes = list(zip(names_of_outcomes, np.eye(n_outcomes), strict=False))

    low, high = np.minimum(first, second), np.maximum(first, second)
    codes, pair = np.unique(low * n_items + high, return_inverse=True)
    sides_of = list(zip(*(x.tolist() for x in divmod(codes, n_items)), strict=True))
    pairs = [f"{items[i]} > {items[j]}" for i, j in sides_of]
    checked: list[tuple[int, int]] = []
    for_low = np.where((first > second)[:, None], for_second, for_first)
    # statistic, names of the cells, and for each side the cell of each row and its points
    tables: list[tuple[str, list[str], list[tuple[Array, Array]]]] = [
        ("points", items, [(first, for_first), (second, for_second)]),
        ("pair", pairs, [(pair, for_low)]),
        *(("outcome", [name], [(np.zeros_like(first), points)]) for name, points in outcomes),
    ]
    for group in by:
        codes = kept.codes(group).astype(np.int64)
        names = [f"{group} {label}" for label in kept.labels(group)]
        for outcome, points in outcomes:
            labels = [f"{outcome}, {name}" for name in names]
            tables.append(("group outcome", labels, [(codes, points)]))
        sides = [(codes * n_items + first, for_first), (codes * n_items + second, for_second)]
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
        if statistic not in ("points", "outcome"):  # keep the largest; sort pairs by size
            chosen = chosen[np.argsort(-total[chosen], kind="stable")[:most]]
            chosen = chosen if statistic == "pair" else np.sort(chosen)
        if statistic == "pair":
            checked = [sides_of[k] for k in chosen]
        keys += [(statistic, names[k], "all") for k in chosen]
        shares.append(won[chosen].multiply(1 / total[chosen, None]))
    return keys, vstack(shares, format="csr"), checked, n_pairs


def _wholes(
    keys: list[tuple[str, str, str]],
    pairs: list[tuple[int, int]],
    observed: Array,
    predicted: Array,
    by: Sequence[str],
) -> list[Whole]:
    """Compute the omnibus statistics of every family."""
    values = np.column_stack([observed, predicted])
    statistic = np.array([key[0] for key in keys])
    rows = values[statistic == "pair"]
    out = whole_rows("items", values[statistic == "points"], ["all", "largest"])
    out += whole_rows("pairs", rows, ["all", "largest"])
    if (cycles := cyclic_triples(pairs, rows)) is not None:
        out.append(Whole("pairs", "cyclic triples", cycles))
    out += whole_rows("outcomes", values[statistic == "outcome"])
    for group in by:
        named = np.array([f", {group} " in key[1] for key in keys])
        for of in ("outcome", "points"):
            chosen = named & (statistic == f"group {of}")
            # labels of a group that has its name in the label of the row, such as "a, judge ann"
            labels = [key[1].rpartition(f", {group} ")[2] for key in np.array(keys)[chosen]]
            found = whole_rows("groups", values[chosen], ["all", "one label"], labels)
            out += [x._replace(label=f"{of}, {group}: {x.label}") for x in found]
    return out


def _cells(sides: list[tuple[Array, Array]], shape: tuple[int, ...], n_cells: int) -> csr_array:
    """Return the matrix (n_cells, n_rows * n_outcomes) that sums points in each cell."""
    n = shape[0] * shape[1]
    points = np.concatenate([np.broadcast_to(x, shape).ravel() for _, x in sides])
    cells = np.concatenate([np.repeat(cell, shape[1]) for cell, _ in sides])
    return csr_array((points, (cells, np.tile(np.arange(n), len(sides)))), shape=(n_cells, n))
