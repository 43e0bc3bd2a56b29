"""Posterior predictive checks of rankings: whether a model makes rankings like the observed.

Rankings drawn from the posterior predictive distribution are compared with the observed ones by
what users of rankings look at: which item is on top, who is above whom, how large blocks are, how
far lists are from the consensus.

>>> ranking_checks(idata)  # doctest: +SKIP
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bayesrank.results.checks.statistics import (
    BlockSizes,
    KendallDistance,
    Lists,
    PairOrders,
    Statistic,
    TopItem,
    block_counts,
)
from bayesrank.results.draws import check_probability
from bayesrank.results.ranks.rank_table import rank_draws
from bayesrank.schema import ITEM, RANKER, TURNS, WEIGHT, Kept

__all__ = ["GIVEN", "Fits", "check_table", "ranking_checks", "worst_checks"]

GIVEN = "given, not predicted"
AT_ONCE = 2**22  # ranks of a block of draws, which stay near the cache
# Standard deviations, beyond which a difference is no chance: among thousands of checks, and alone
FAR, DISTANCE = 5, 3
CLOSE = 1e-9  # sums of the same shares in another order differ by less
SAMPLE = ("chain", "draw")
GROUPS = {  # and what to do without
    "posterior_predictive": (
        "With the model: pm.sample_posterior_predictive(idata, extend_inferencedata=True)."
    ),
    "observed_data": "Pass what pm.sample() returned, extended by predictions.",
    "constant_data": "Pass what pm.sample() returned, extended by predictions.",
}


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

    For a statistic :math:`T`, the observed :math:`T(y)` is placed among the :math:`T(y_t)` of
    rankings drawn with each draw t of the posterior. The statistics are

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
        The order from which distances are taken: a variable with the dims chain, draw and items,
        in each draw by its order there; or all items, best first. By default "utility" if there is
        such a variable, else the mean place of items in the predicted lists.
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
        with the columns

        - observed : the statistic of the observed rankings;
        - mean, sd, low, high : of the predicted ones, with the ends of their interval;
        - p : two-sided tail probability of the observed among the predicted, equal ones counting
          half;
        - surprising : whether the observed lies outside the interval;
        - note : "given, not predicted" for block sizes that are no part of the outcome; they have
          no p.

        Its ``attrs`` are n_draws, prob, consensus (the source of the order) and n_pairs (of all).

    Raises
    ------
    ValueError
        If predictions, observations or the variable are missing, they are not rankings, a
        predicted one is no weak order, `consensus` is no order of the items, or `prob`,
        `max_pairs` or `draws` are out of range.
    TypeError
        If `data` is not a DataTree.

    Notes
    -----
    Distances to the order of a draw are compared in that draw (a realised discrepancy):
    ``observed`` is the mean of those of the observed rankings over the draws, and ``mean``, ``low``
    and ``high`` are that plus the differences in each draw.

    The model has seen the data it is checked with: checks of a right model are surprising less
    often than 1 - `prob`.

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
    for name, value in (("max_pairs", max_pairs), ("draws", draws)):
        if value is not None and (value < 1 or value % 1):
            raise ValueError(f"`{name}` is {value!r}; it must be a whole number, 1 or more.")
    found = found_rankings(data, var, draws)
    place, how, by_draw = consensus_places(data, var, found, consensus)

    # items by their place in the consensus, slots in its order, empty ones last
    slots = np.where(found.used, place[found.item], len(place)).argsort(axis=1, kind="stable")
    lists = Lists(
        item=np.take_along_axis(place[found.item], slots, 1),
        used=np.take_along_axis(found.used, slots, 1),
        weight=found.weight,
        items=found.items[place.argsort()],
    )
    pairs = PairOrders(lists, max_pairs)
    distance = KendallDistance(lists, by_length)
    others: list[Statistic] = [TopItem(lists), pairs, BlockSizes(lists)]
    families = [*others, distance]

    def statistics(ranks: NDArray[Any], of: Sequence[Statistic]) -> NDArray[np.float64]:
        return np.concatenate([family(ranks) for family in of])

    kind = np.int16 if lists.item.shape[1] < 2**14 else np.int32
    once = np.take_along_axis(found.observed, slots, 1)[:, :, None].astype(kind)
    observed = statistics(once, families)
    n_draws = len(found.predicted)
    step = max(1, AT_ONCE // max(found.item.size, 1))
    predicted = np.empty((len(observed), n_draws))
    # the same rankings from the order of each draw
    realised = np.zeros((len(distance.labels), n_draws))
    for start in range(0, n_draws, step):
        part = slice(start, start + step)
        some = weak_orders(found, start, step, var)
        some = np.ascontiguousarray(some.transpose(1, 2, 0), dtype=kind)
        ordered = np.take_along_axis(some, slots[:, :, None], 1)
        if by_draw is None:
            predicted[:, part] = statistics(ordered, families)
        else:
            predicted[: -len(realised), part] = statistics(ordered, others)
            drawn = np.where(found.used[:, :, None], by_draw[part].T[found.item], len(place))
            order = drawn.argsort(axis=1, kind="stable")
            seen = np.broadcast_to(found.observed[:, :, None].astype(kind), some.shape)
            realised[:, part] = distance(np.take_along_axis(seen, order, 1))
            predicted[-len(realised) :, part] = distance(np.take_along_axis(some, order, 1))
    if by_draw is not None:
        # what counts is the difference in each draw
        centre = realised.mean(axis=1)
        observed[-len(realised) :, 0] = centre
        predicted[-len(realised) :] += centre[:, None] - realised

    keys = [(family.name, *label) for family in families for label in family.labels]
    given = np.array([found.sizes_given and key[0] == BlockSizes.name for key in keys])
    table = check_table(keys, observed[:, 0], predicted, given, prob)
    table.attrs |= {"n_draws": n_draws, "prob": prob, "consensus": how, "n_pairs": pairs.n_pairs}
    return table


class Fits(NamedTuple):
    """What checks say of a model altogether.

    Attributes
    ----------
    n : int
        Checks that could fail: of numbers that are predicted and are not always the same.
    failed : int
        Those outside their intervals.
    by_chance : float
        How many fail at most on average, if the model is right.
    worst : DataFrame
        The failures, the worst first: those that are too many for chance by themselves (see `ok`),
        then the others, by how many standard deviations of the predicted values the observed one is
        away from their mean, in the column far.
    ok : bool
        False if clearly more checks fail than by chance (by two standard deviations, if they were
        independent), or the mean distance to the consensus is three standard deviations off, or
        anything five and beyond all that is predicted: what is rare, such as that the last is above
        the first, is many standard deviations off when it happens.
    """

    n: int
    failed: int
    by_chance: float
    worst: pd.DataFrame
    ok: bool

    def said(self, prob: float) -> str:
        """Say how many fail, and how many would by chance."""
        chance = f"about {self.by_chance:.0f}" if self.by_chance >= 1 else "none or one"
        return (
            f"{self.failed} of {self.n} checks {'fails' if self.failed == 1 else 'fail'} (the "
            f"observed lies outside the {100 * prob:g}% interval of the predicted); by chance it "
            f"would be {chance} or fewer."
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
    never = (observed == 0) & (predicted == 0).all(axis=1)
    return table[~(never & (table.index.get_level_values("statistic") == BlockSizes.name))]


# What the checks need of a DataTree: rankings, their predictions and a consensus


class Found(NamedTuple):
    """Rankings in a DataTree, slots in the order they have there."""

    item: NDArray[np.int64]  # (n_rankings, n_slots)
    used: NDArray[np.bool_]  # (n_rankings, n_slots)
    weight: NDArray[np.float64]  # (n_rankings,)
    observed: NDArray[Any]  # (n_rankings, n_slots)
    predicted: NDArray[Any]  # (n_draws, n_rankings, n_slots)
    draws: NDArray[np.int64]  # (n_draws,) which they are of all predictions
    items: pd.Index
    rankings: pd.Index
    sizes_given: bool


def found_rankings(data: xr.DataTree, var: str, draws: int | None) -> Found:
    """Find the rankings of a DataTree, observed and predicted."""
    if not isinstance(data, xr.DataTree):
        raise TypeError(
            f"Expected a DataTree with the group posterior_predictive; got {type(data).__name__}."
        )
    for group, remedy in GROUPS.items():
        if group not in data.children:
            raise ValueError(
                f"The DataTree has no {group}; it has {sorted(map(str, data.children))}. {remedy}"
            )
    drawn, seen = (data[group].to_dataset() for group in ("posterior_predictive", "observed_data"))
    for group, dataset in (("posterior_predictive", drawn), ("observed_data", seen)):
        if var not in dataset:
            raise ValueError(
                f"{group} has no variable {var!r}; it has "
                f"{sorted(map(str, dataset.data_vars))}. Name the rankings with var=."
            )
    kept = Kept(data, var)
    outcome = kept.outcome or ""
    if ITEM not in kept:
        what = f"It holds {outcome}" if outcome else "Its items are not known"
        raise ValueError(
            f"{var!r} was not observed as rankings. {what}: these checks are of distributions "
            "with observed=Rankings."
        )

    y, rankings = drawn[var], seen[var]
    dims = rankings.dims
    if set(y.dims) != {*SAMPLE, *dims} or any(y.sizes[d] != rankings.sizes[d] for d in dims):
        raise ValueError(
            f"The predictions of {var!r} have the sizes {dict(y.sizes)}, the observed rankings "
            f"{dict(rankings.sizes)}: predict the rankings that were observed."
        )
    if TURNS in kept:
        y, rankings = (_by_ranking(x.transpose(..., *dims), kept) for x in (y, rankings))
        dims = rankings.dims
    values = y.transpose(*SAMPLE, *dims).values.reshape(-1, *rankings.shape)
    if not len(values):
        raise ValueError(f"The predictions of {var!r} hold no draw.")
    chosen = np.arange(len(values))
    if draws is not None and draws < len(values):
        chosen = np.linspace(0, len(values) - 1, draws).round().astype(int)
        values = values[chosen]
    observed = rankings.values
    item = kept[ITEM].values.astype(np.int64)
    items = _item_labels(kept, int(item.max()) + 1)
    names = rankings[dims[0]].values
    return Found(
        item=item,
        used=observed > 0,
        weight=kept[WEIGHT].values.astype(np.float64),
        observed=observed,
        predicted=values,
        draws=chosen,
        items=items,
        rankings=pd.Index(names),
        sizes_given="given their block sizes" in outcome,
    )


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


def _item_labels(kept: Kept, n_items: int) -> pd.Index:
    """Labels of the items, or numbers where the data do not name them."""
    dim, constant = kept.item_axis or "item", kept.constant
    named = dim in constant.coords and constant.sizes[dim] >= n_items
    return pd.Index(constant.coords[dim].values if named else np.arange(n_items))


def weak_orders(found: Found, start: int, step: int, var: str) -> NDArray[Any]:
    """Return some predicted rankings, (n_draws, n_rankings, n_slots), if they are weak orders."""
    ranks = found.predicted[start : start + step]
    n_slots = ranks.shape[2]
    fine = ((ranks > 0) == found.used) & (ranks >= 0) & (ranks <= n_slots) & (ranks % 1 == 0)
    fine = fine.all(axis=2)
    if fine.all():
        counts = block_counts(ranks.transpose(1, 2, 0).astype(np.int64))[:, :, 1:]
        # dense: as many blocks as the last one says
        fine = ((counts > 0).sum(axis=2) == ranks.max(axis=2).T).T
    if not fine.all():
        draw, row = (int(k[0]) for k in np.nonzero(~fine))
        raise ValueError(
            f"Predictions of {var!r} must be weak orders of the items presented, with dense ranks; "
            f"ranking {found.rankings.tolist()[row]!r} has ranks {ranks[draw, row].tolist()} in "
            f"one draw, where its observed ranks are {found.observed[row].tolist()}."
        )
    return ranks


def consensus_places(
    data: xr.DataTree, var: str, found: Found, consensus: str | Sequence[Any] | None
) -> tuple[NDArray[np.int64], str, NDArray[np.int64] | None]:
    """Find the place of every item in the consensus, from 0, and where that order comes from.

    If it comes from a variable, the places in the draws of the predictions, too, (n_draws,
    n_items).
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
    dims = []
    if utility in posterior:
        dims = [str(d) for d in posterior[utility].dims if d not in SAMPLE]
    # labelled as the items are, or numbered
    known = [found.items.tolist(), list(range(n_items))]
    if len(dims) == 1 and posterior[dims[0]].values.tolist() in known:
        ranks = rank_draws(posterior, utility, dim=dims[0]).transpose(*SAMPLE, dims[0])
        place = ranks.mean(SAMPLE).values.argsort(kind="stable").argsort()
        how = f"the order of each draw by {utility!r}"
        return place, how, _places_drawn(data, var, ranks, found)
    if consensus is not None:
        raise ValueError(
            f"The posterior has no variable {consensus!r} with one value per item; it has "
            f"{sorted(map(str, posterior.data_vars))}. Name another one, give the items best "
            "first, or leave `consensus` out."
        )
    # relative places, since lists have different lengths
    length = found.used.sum(axis=1, keepdims=True)
    relative = found.predicted.mean(axis=0) / length
    weight = np.where(found.used, found.weight[:, None], 0.0)
    total = np.bincount(found.item.ravel(), weight.ravel(), n_items)
    sums = np.bincount(found.item.ravel(), (weight * relative).ravel(), n_items)
    mean = np.divide(sums, total, out=np.full(n_items, np.inf), where=total > 0)
    return mean.argsort(kind="stable").argsort(), "mean place in the predicted lists", None


def _places_drawn(
    data: xr.DataTree, var: str, ranks: xr.DataArray, found: Found
) -> NDArray[np.int64] | None:
    """Places of the items in the draws that the predictions are of; None if they are of others."""
    y = data["posterior_predictive"][var]
    try:
        ranks = ranks.sel({d: y[d] for d in SAMPLE})
    except KeyError:
        return None
    drawn = ranks.values.reshape(-1, ranks.shape[-1])
    return drawn[found.draws].argsort(axis=1, kind="stable").argsort(axis=1)
