"""Posterior predictive checks of rankings: whether a model makes rankings like the observed."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bayesrank.results.checks.predicted import item_names, ranks_in
from bayesrank.results.checks.statistics import (
    BlockSizes,
    Found,
    KendallDistance,
    PairOrders,
    TopItem,
)
from bayesrank.results.draws import SAMPLE, check_probability, check_whole
from bayesrank.results.ranks.rank_table import rank_draws
from bayesrank.schema import ITEM, RANKER, TURNS, WEIGHT, Kept

__all__ = [
    "GIVEN",
    "Fits",
    "check_table",
    "compared",
    "evenly",
    "found_rankings",
    "places",
    "ranking_checks",
    "worst_checks",
]

GIVEN = "given, not predicted"
AT_ONCE = 2**22  # ranks of a block of draws, which stay near the cache
# A difference is not chance beyond this many standard deviations: among thousands of checks, and
# of the mean distance to the consensus
FAR, DISTANCE = 5, 3
CLOSE = 1e-9  # sums of the same shares in another order differ by less

Floats = NDArray[np.float64]


def ranking_checks(
    data: xr.DataTree,
    *,
    var: str = "y",
    consensus: str | Sequence[Any] | None = None,
    prob: float = 0.94,
    max_pairs: int = 300,
    by_length: bool = True,
    draws: int | None = 1000,
) -> pd.DataFrame:
    r"""Compare observed rankings with those that the posterior predicts.

    The observed statistic :math:`T(y)` is placed among the :math:`T(y_t)` of rankings drawn with
    each draw t of the posterior. The statistics are

    ==================  ========================================================================
    top item            share of the lists with an item that put it in the first block; a first
                        block of k items counts 1/k for each
    pair order          share of the lists with both items that put i above j ("i > j"); a tie
                        counts one half
    block size          share of the blocks that have "1 item", "2 items", ...; "blocks per item" of
                        a list, 1 without ties: mean and standard deviation over lists
    Kendall distance    share of the pairs of a list that are not in the order of the consensus, a
                        tie counting one half: "mean" and standard deviation ("spread") over lists
    ==================  ========================================================================

    Lists of one item count for block sizes only. Every list counts with its weight.

    Parameters
    ----------
    data : DataTree
        Of a model that observes a `Rankings`, with the group posterior_predictive:
        ``pm.sample_posterior_predictive(idata, extend_inferencedata=True)``.
    var : str
        The observed variable.
    consensus : str or sequence of labels, optional
        The order from which distances are taken: a variable of the posterior by item, in each draw
        by its order there; or all items, best first. By default "utility" if there is such a
        variable, else the mean place of items in the predicted lists.
    prob : float
        Probability of the intervals, in (0, 1): equal tails.
    max_pairs : int
        Number of pairs to check, those most often presented together.
    by_length : bool
        Whether to take Kendall distances also by the number of items in a list; more than eight
        lengths are put into eight groups.
    draws : int, optional
        Number of draws to use, evenly spaced; None uses all.

    Returns
    -------
    DataFrame
        Indexed by statistic, label and n_items ("all", a length or a range such as "5 to 8"),
        with the columns observed; mean, sd, low and high of the predicted, with the ends of their
        interval; p, the two-sided tail probability, equal values counting half; surprising, whether
        the observed lies outside the interval; and note, "given, not predicted" for block sizes
        that are no part of the outcome, which have no p. Its ``attrs`` are n_draws, prob, consensus
        (the source of the order) and n_pairs (of all).

    Raises
    ------
    ValueError
        If predictions, observations or the variable are missing, they are not rankings, a
        predicted one is not a weak order, `consensus` is not an order of the items, or `prob`,
        `max_pairs` or `draws` are out of range.
    TypeError
        If `data` is not a DataTree.

    Notes
    -----
    Distances to the order of a draw are compared in that draw (a realised discrepancy):
    ``observed`` is their mean over the draws, and ``mean``, ``low`` and ``high`` are that plus the
    differences in each draw. The model has seen the data it is checked with, so checks of a right
    model are surprising less often than 1 - `prob`.

    References
    ----------
    Gelman, Meng and Stern, Posterior predictive assessment of model fitness via realized
    discrepancies, Statistica Sinica 1996.

    Examples
    --------
    >>> table = ranking_checks(idata)  # doctest: +SKIP
    >>> table[table["surprising"]]  # doctest: +SKIP
    """
    check_probability("prob", prob, 0.0)
    check_whole(max_pairs=max_pairs, draws=1 if draws is None else draws)
    found = found_rankings(data, var, draws)
    place, source, by_draw = _consensus(data, var, found, consensus)

    # items are numbered in the order of the consensus
    best_first = place.argsort()
    found = found._replace(item=place[found.item], items=found.items[best_first])
    pairs, distance = PairOrders(found, max_pairs), KendallDistance(found, by_length)
    order = np.arange(len(place))[:, None] if by_draw is None else by_draw[:, best_first].T
    weights = found.weight[:, None], found.weight[:, None]
    others: list[Any] = [TopItem(found), pairs, BlockSizes(found)]
    columns = [compared(statistic, found, weights) for statistic in others]
    columns.append(compared(distance, found, weights, order))
    observed, predicted = (np.concatenate(x) for x in zip(*columns, strict=True))

    keys = [(family.name, *label) for family in (*others, distance) for label in family.labels]
    given = np.array([found.sizes_given and key[0] == BlockSizes.name for key in keys])
    table = check_table(keys, observed, predicted, given, prob)
    n_draws, n_pairs = predicted.shape[1], pairs.n_pairs
    table.attrs |= {"n_draws": n_draws, "prob": prob, "consensus": source, "n_pairs": n_pairs}
    return table


def compared(
    statistic: Callable[..., Floats], found: Found, weights: tuple[Floats, Floats], *places: Any
) -> tuple[Floats, Floats]:
    """Compute a statistic of observed rankings (n_rows,) and of predicted ones (n_rows, n_draws).

    `weights` (n_rankings, n_draws) are those of the observed and of the predicted, `places`
    (n_items, n_draws) those of the consensus, for a statistic that needs it; with one column if all
    draws have the same. If they differ by draw, the observed values are means over the draws, and
    the predicted ones are these plus the differences within each draw.
    """
    step = max(1, AT_ONCE // max(found.item.size, 1))

    def values(*arrays: NDArray[Any]) -> Floats:
        n_draws = max(x.shape[-1] for x in arrays)
        parts = [slice(start, start + step) for start in range(0, n_draws, step)]
        return np.concatenate(
            [
                statistic(*(x if x.shape[-1] == 1 else x[..., part] for x in arrays))
                for part in parts
            ],
            axis=1,
        )

    observed = values(found.observed[:, :, None], weights[0], *places)
    predicted = values(found.predicted, weights[1], *places)
    centre = observed.mean(axis=1)
    return centre, predicted + (centre[:, None] - observed)


class Fits(NamedTuple):
    """What checks say of a model altogether.

    Attributes
    ----------
    n, failed : int
        Checks of numbers that are predicted and are not always the same; those that fail.
    by_chance : float
        How many fail at most on average, if the model is right.
    worst : DataFrame
        The failures, those that decide first, then the others by the column far: by how many
        standard deviations of the predicted values the observed one is away from their mean.
    ok : bool
        False if clearly more checks fail than by chance (by two standard deviations, if they were
        independent), or the mean distance to the consensus is three standard deviations off, or
        anything is five off and beyond all that is predicted.
    """

    n: int
    failed: int
    by_chance: float
    worst: pd.DataFrame
    ok: bool

    def said(self, prob: float) -> str:
        """Return how many checks fail, and how many would fail by chance."""
        chance = f"About {self.by_chance:.0f}" if self.by_chance >= 1 else "None or one"
        return (
            f"{self.failed} of {self.n} checks {'fails' if self.failed == 1 else 'fail'}: the "
            f"observed value lies outside the {100 * prob:g}% interval of the predictions. "
            f"{chance} would fail by chance."
        )


def worst_checks(table: pd.DataFrame) -> Fits:
    """Count the checks that fail, and put the worst first.

    Parameters
    ----------
    table : DataFrame
        From `ranking_checks`.

    Examples
    --------
    >>> worst_checks(ranking_checks(idata)).failed  # doctest: +SKIP
    3
    """
    odd = table["surprising"]
    varies = (table["note"] != GIVEN) & ((table["low"] < table["high"]) | odd)
    worst = table[odd]
    off = (worst["observed"] - worst["mean"]).abs()
    far = off / worst["sd"].where(worst["sd"] > 0, CLOSE)
    worst = worst.assign(far=far)
    distance = worst.index.isin([(KendallDistance.name, "mean", "all")])
    enough = ((far > FAR) & (worst["p"] == 0)) | (distance & (far > DISTANCE))
    # what says by itself that the model is wrong leads; of many checks some are four deviations
    # off, and counts, which are skewed, more. What is never predicted has no standard deviation: of
    # such the largest difference counts
    worst = worst.iloc[np.lexsort((-off, -far.clip(upper=1e6), ~enough))]
    n, failed = int(varies.sum()), int(odd.sum())
    by_chance = (1 - float(table.attrs["prob"])) * n
    most = by_chance + 2 * np.sqrt(by_chance * float(table.attrs["prob"]))
    ok = bool(failed <= most and not enough.any())
    return Fits(n, failed, by_chance, worst, ok)


def _index(keys: list[tuple[Any, ...]]) -> pd.MultiIndex:
    """Index of the rows, each level in its order of appearance, for which rows are sorted."""
    columns = [np.empty(len(keys), dtype=object) for _ in range(3)]
    for column, values in zip(columns, zip(*keys, strict=True), strict=True):
        column[:] = values
    codes, levels = zip(*map(pd.factorize, columns), strict=True)
    return pd.MultiIndex(levels, codes, names=["statistic", "label", "n_items"])


def check_table(
    keys: list[tuple[Any, ...]],
    observed: NDArray[np.float64],
    predicted: NDArray[np.float64],
    given: NDArray[np.bool_] | None,
    prob: float,
) -> pd.DataFrame:
    """Place observed values (n_rows,) among predicted ones (n_rows, n_draws).

    `given` says which are no part of what is predicted, none by default.
    """
    given = np.zeros(len(keys), dtype=bool) if given is None else given
    tail = (1 - prob) / 2
    low, high = np.quantile(predicted, [tail, 1 - tail], axis=1, method="inverted_cdf")
    below = (predicted < observed[:, None] - CLOSE).mean(axis=1)
    above = (predicted > observed[:, None] + CLOSE).mean(axis=1)
    p = 2 * np.minimum(below, above) + (1 - below - above)
    table = pd.DataFrame(
        {
            "observed": observed,
            "mean": predicted.mean(axis=1),
            "sd": predicted.std(axis=1),
            "low": low,
            "high": high,
            "p": np.where(given, np.nan, p),
            "surprising": ~given & ((observed < low - CLOSE) | (observed > high + CLOSE)),
            "note": np.where(given, GIVEN, ""),
        },
        index=_index(keys),
    )
    # no list has such a block, nor could one be drawn
    never = (observed < CLOSE) & (predicted < CLOSE).all(axis=1)
    return table[~(never & (table.index.get_level_values("statistic") == BlockSizes.name))]


# What the checks need of a DataTree: rankings, their predictions and a consensus


def found_rankings(data: xr.DataTree, var: str, draws: int | None) -> Found:
    """Find the rankings of a DataTree, observed and predicted."""
    y, rankings = (ranks_in(data, x, var) for x in ("posterior_predictive", "observed_data"))
    kept = Kept(data, var)
    outcome = kept.outcome or ""
    if ITEM not in kept:
        what = f"It holds {outcome}" if outcome else "Its items are not known"
        raise ValueError(
            f"{var!r} was not observed as rankings. {what}: these checks are of distributions "
            "with observed=Rankings."
        )
    dims = rankings.dims
    if set(y.dims) != {*SAMPLE, *dims} or any(y.sizes[d] != rankings.sizes[d] for d in dims):
        raise ValueError(
            f"The predictions of {var!r} have the sizes {dict(y.sizes)}, the observed rankings "
            f"{dict(rankings.sizes)}: predict the rankings that were observed."
        )
    if TURNS in kept:
        y, rankings = (_by_ranking(x.transpose(..., *dims), kept) for x in (y, rankings))
    values = y.transpose(*SAMPLE, *rankings.dims).values.reshape(-1, *rankings.shape)
    if not len(values):
        raise ValueError(f"The predictions of {var!r} hold no draw.")
    chosen = evenly(len(values), draws)
    values = values if len(chosen) == len(values) else values[chosen]
    observed, item = rankings.values, kept[ITEM].values.astype(np.int64)
    _check_weak_orders(values, rankings, var)
    ranks = np.int16 if item.shape[1] < 2**14 else np.int32
    return Found(
        item=item,
        used=observed > 0,
        weight=kept[WEIGHT].values.astype(np.float64),
        observed=observed.astype(ranks),
        predicted=np.ascontiguousarray(values.transpose(1, 2, 0), dtype=ranks),
        draws=chosen,
        items=item_names(kept, int(item.max()) + 1),
        sizes_given="given their block sizes" in outcome,
    )


def evenly(n: int, most: int | None) -> NDArray[np.intp]:
    """Choose at most so many of n draws, evenly spaced."""
    return np.linspace(0, n - 1, n if most is None else min(n, most)).round().astype(np.intp)


def _by_ranking(x: xr.DataArray, kept: Kept) -> xr.DataArray:
    """Take rankings (..., ranker, turn, slot) in the order of the data, (..., ranking, slot)."""
    *_, of_ranker, of_turn, slot = map(str, x.dims)
    ranker = kept[RANKER].drop_vars(of_ranker, errors="ignore")
    codes = pd.Series(ranker.to_numpy())
    turn = ranker.copy(data=codes.groupby(codes).cumcount())
    found = x.drop_vars([of_ranker, of_turn], errors="ignore").isel(
        {of_ranker: ranker, of_turn: turn}
    )
    return found.transpose(..., *ranker.dims, slot)


def _check_weak_orders(values: NDArray[Any], rankings: xr.DataArray, var: str) -> None:
    """Raise unless the predictions (n_draws, n_rankings, n_slots) are weak orders."""
    observed = rankings.values
    step = max(1, AT_ONCE // max(observed.size, 1))
    for start in range(0, len(values), step):
        ranks = values[start : start + step]
        dense = np.diff(np.sort(ranks, axis=2), axis=2, prepend=0) <= 1
        fine = dense & ((ranks > 0) == (observed > 0)) & (ranks >= 0) & (ranks % 1 == 0)
        fine = fine.all(axis=2)
        if not fine.all():
            draw, row = (int(k[0]) for k in np.nonzero(~fine))
            label = rankings[rankings.dims[0]].values.tolist()[row]
            raise ValueError(
                f"Predictions of {var!r} must be weak orders of the items presented, with dense "
                f"ranks; ranking {label!r} has ranks {ranks[draw, row].tolist()} in one draw, "
                f"where its observed ranks are {observed[row].tolist()}."
            )


def _consensus(
    data: xr.DataTree, var: str, found: Found, consensus: str | Sequence[Any] | None
) -> tuple[NDArray[np.intp], str, NDArray[np.intp] | None]:
    """Find the place of every item in the consensus, from 0, and where that order comes from.

    If it comes from a variable, also the places in the draws of the predictions (n_draws, n_items).
    """
    n_items = len(found.items)
    if consensus is not None and not isinstance(consensus, str):
        place = found.items.get_indexer(pd.Index(consensus))
        if sorted(place) != list(range(n_items)):
            raise ValueError(
                f"`consensus` must hold each of the {n_items} items once, best first; it holds "
                f"{len(place)} labels, of which {len(set(place) - {-1})} are different items."
            )
        return place.argsort(), "as given", None
    utility = consensus or "utility"
    posterior = data["posterior"].to_dataset() if "posterior" in data.children else xr.Dataset()
    dims = [str(d) for d in posterior.get(utility, xr.DataArray(0)).dims if d not in SAMPLE]
    # labelled as the items are, or numbered
    known = [found.items.tolist(), list(range(n_items))]
    if len(dims) == 1 and posterior[dims[0]].values.tolist() in known:
        ranks = rank_draws(posterior, utility, dim=dims[0]).transpose(*SAMPLE, dims[0])
        place = places(ranks.mean(SAMPLE).values)
        by_draw = _places_drawn(data["posterior_predictive"].dataset[var], ranks, found)
        return place, f"the order of each draw by {utility!r}", by_draw
    if consensus is not None:
        raise ValueError(
            f"The posterior has no variable {consensus!r} with one value per item; it has "
            f"{sorted(map(str, posterior.data_vars))}. Name another one, give the items best "
            "first, or leave `consensus` out."
        )
    # relative places, since lists have different lengths
    relative = found.predicted.mean(axis=2) / found.used.sum(axis=1, keepdims=True)
    weight = np.where(found.used, found.weight[:, None], 0.0)
    total = np.bincount(found.item.ravel(), weight.ravel(), n_items)
    sums = np.bincount(found.item.ravel(), (weight * relative).ravel(), n_items)
    mean = np.divide(sums, total, out=np.full(n_items, np.inf), where=total > 0)
    return places(mean), "mean place in the predicted lists", None


def places(values: NDArray[Any]) -> NDArray[np.intp]:
    """Places from 0, the lowest value first, along the last axis."""
    return values.argsort(axis=-1, kind="stable").argsort(axis=-1)


def _places_drawn(y: xr.DataArray, ranks: xr.DataArray, found: Found) -> NDArray[np.intp] | None:
    """Places of the items in the draws that the predictions are of; None if they are of others."""
    try:
        ranks = ranks.sel({d: y[d] for d in SAMPLE})
    except KeyError:
        return None
    return places(ranks.values.reshape(-1, ranks.shape[-1])[found.draws])
