"""Posterior predictive checks of rankings: compare predicted with observed rankings."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bayesrank.data.read import check_whole
from bayesrank.results.checks.families import (
    FAMILIES,
    OMNIBUS,
    SHIFT,
    TWICE,
    Whole,
    cyclic_triples,
    omnibus_columns,
    verdicts,
    whole_rows,
)
from bayesrank.results.checks.predicted import item_names, ranks_in, refuse_counts
from bayesrank.results.checks.statistics import (
    Between,
    BlockSizes,
    EndItem,
    Found,
    KendallDistance,
    PairOrders,
)
from bayesrank.results.draws import (
    SAMPLE,
    interval_probability,
    refuse_other_labels,
)
from bayesrank.results.ranks.rank_table import rank_draws
from bayesrank.schema import ITEM, RANKER, WEIGHT, Kept

__all__ = [
    "GIVEN",
    "Fits",
    "check_table",
    "compared",
    "evenly",
    "find_places",
    "found_rankings",
    "ranking_checks",
    "with_omnibus",
    "worst_checks",
]

GIVEN = "given, not predicted"
PREDICT = "Predict the data that were observed, with extend_inferencedata=True."
AT_ONCE = 2**22  # ranks in a block of draws, small enough for the cache
POWER = 0.8  # probability of failing from which a family of checks would have seen a difference
CLOSE = 1e-9  # rounding error of sums of shares

Floats = NDArray[np.float64]


def ranking_checks(
    data: xr.DataTree,
    var_name: str = "y",
    *,
    consensus: str | Sequence[Any] | None = None,
    ci_prob: float | None = None,
    max_pairs: int = 300,
    draws: int | None = 1000,
) -> pd.DataFrame:
    r"""Compare observed rankings with rankings that the posterior predicts.

    The observed statistic :math:`T(y)` is compared with :math:`T(y_t)`, the statistic of rankings
    predicted in draw t of the posterior. The statistics are

    ==================  ========================================================================
    top item            Share of the lists with the item that put it in the first block. If the
                        first block has k items, each counts 1/k.
    last item           Share of the lists with the item that put it last, if every list has one
                        last item and some have ties in the middle, as best-worst choices have.
    pair order          Share of the lists with both items that put i above j ("i > j"). A tie
                        counts one half.
    block size          Share of the blocks that have "1 item", "2 items", ... Also "blocks per
                        item" of a list, 1 without ties: mean and standard deviation over lists.
    Kendall distance    Share of the pairs of a list that contradict the consensus. A tie counts
                        one half. Rows: "mean" and "spread" (standard deviation) over lists, also
                        by the number of items in a list, in at most eight groups.
    ==================  ========================================================================

    Lists of one item count only for block sizes. Every list counts with its sampling weight. A
    list with a count needs as many predictions, from ``rankings.expand()``.

    The last rows are omnibus checks, one or more for each family of these statistics:

    ===============  ===========================================================================
    losers           All shares of last places at once.
    winners          All shares of first places at once ("all"), the number of different items
                     that are first in a list, and the largest share of all first places.
    pairs            All pair orders at once, the largest deviation, and the number of cyclic
                     triples of items.
    distances        Mean and spread of the distances, and those by length at once.
    ties             All block sizes at once, if they are predicted.
    rankers, ...     For rankers with several lists, and for each group of lists: the variance
                     between them of the relative places of the items.
    ===============  ===========================================================================

    Parameters
    ----------
    data : DataTree
        Results of a model that observes a `Rankings`, with the group posterior_predictive:
        ``pm.sample_posterior_predictive(idata, extend_inferencedata=True)``.
    var_name : str
        The observed variable.
    consensus : str or sequence of labels, optional
        Distances are computed to this order. Name a posterior variable by item, to use its order
        in each draw, or list all items, best first. By default "utility" if it exists, else the
        mean place of items in the predicted lists.
    ci_prob : float, optional
        Probability of the intervals, in (0, 1): equal tails. By default,
        ``arviz.rcParams["stats.ci_prob"]``.
    max_pairs : int
        Number of pairs to check: those most often presented together.
    draws : int, optional
        Number of draws to use, evenly spaced; None uses all.

    Returns
    -------
    DataFrame
        Indexed by statistic, label and n_items ("all", a length or a range such as "5 to 8"). Its
        ``attrs`` are n_draws, ci_prob, consensus (the source of the order) and n_pairs (their total
        number). The columns are

        observed
            The observed statistic.

        mean, sd, low, high
            Mean, standard deviation and interval of the predicted statistic.

        p
            Two-sided tail probability; equal values count one half. NaN for given block sizes.

        surprising
            Whether the observed statistic lies outside the interval.

        note
            "given, not predicted" for block sizes that are not part of the outcome, "omnibus" for
            omnibus checks. Their p is the share of predictions at least as extreme as the data.
            They are surprising if p times the number of omnibus checks is below 0.05.

        power
            For omnibus checks, the probability that the family would fail if each of its rows
            were off by 0.1, up or down at random. For a variance between groups: if it were twice
            as large. NaN for other rows.

    Raises
    ------
    ValueError
        If predictions, observations or the variable are missing, or are not rankings. If a row
        with a count was predicted only once, instead of once for each of its rankings. If a
        predicted ranking is not a weak order, or `consensus` is not an order of the items. If
        `ci_prob`, `max_pairs` or `draws` are out of range.
    TypeError
        If `data` is not a DataTree.

    See Also
    --------
    plot_ranking_checks, worst_checks, match_checks, predicted_ranks, column_checks

    Notes
    -----
    Distances to the order of a draw are compared within that draw (a realised discrepancy). Then
    ``observed`` is their mean over the draws; ``mean``, ``low`` and ``high`` add the predicted
    minus the observed distance of each draw. The model was fitted to the data that check it. So
    checks of a correct model are surprising less often than 1 - `ci_prob`.

    References
    ----------
    Gelman, Meng and Stern, Posterior predictive assessment of model fitness via realized
    discrepancies, Statistica Sinica 1996.

    Examples
    --------
    >>> import bayesrank as br, pymc as pm
    >>> rankings = br.Rankings.from_orderings([["a", "b", "c"]] * 7 + [["c", "a", "b"]] * 3)
    >>> with pm.Model(coords=rankings.coords):
    ...     utility = pm.ZeroSumNormal("utility", dims="item")
    ...     y = br.PlackettLuce("y", utility, observed=rankings)
    ...     idata = pm.sample(draws=100, tune=100, chains=2, cores=1, random_seed=1,
    ...                       progressbar=False)
    ...     _ = pm.sample_posterior_predictive(idata, extend_inferencedata=True,
    ...                                        progressbar=False)
    >>> table = br.ranking_checks(idata)
    >>> table.loc["top item", "observed"]
    label  n_items
    a      all        0.7
    b      all        0.0
    c      all        0.3
    Name: observed, dtype: float64
    >>> table[table["surprising"]].empty
    True
    """
    ci_prob = interval_probability(ci_prob)
    check_whole(max_pairs=max_pairs, draws=1 if draws is None else draws)
    found = found_rankings(data, var_name, draws)
    place, source, by_draw = _consensus(data, var_name, found, consensus)

    # items are numbered in the order of the consensus
    best_first = place.argsort()
    found = found._replace(item=place[found.item], items=found.items[best_first])
    pairs, distance = PairOrders(found, max_pairs), KendallDistance(found, by_length=True)
    order = np.arange(len(place))[:, None] if by_draw is None else by_draw[:, best_first].T
    weights = found.weight[:, None], found.weight[:, None]
    top = EndItem(found)
    others: list[Any] = [top, pairs, BlockSizes(found)]
    if _are_best_worst(found):
        others.append(EndItem(found, last=True))
    columns = [compared(statistic, found, weights) for statistic in others]
    columns.append(compared(distance, found, weights, order))
    observed, predicted = (np.concatenate(x) for x in zip(*columns, strict=True))

    keys = [(family.name, *label) for family in (*others, distance) for label in family.labels]
    given = np.array([found.sizes_given and key[0] == BlockSizes.name for key in keys])
    table = check_table(keys, observed, predicted, given, ci_prob)
    rows = [np.column_stack(column) for column in columns]
    losers = whole_rows("losers", rows[3]) if len(others) > 3 else []
    wholes = _wholes(top, pairs, [*rows[:3], rows[-1]], distance, sizes_given=found.sizes_given)
    wholes += losers
    for family, group in _groups(data, var_name, found).items():
        values = np.column_stack(compared(Between(found, group), found, weights))
        wholes.append(Whole(family, "between", values[0], shifted=TWICE * values[0][1:]))
    table = with_omnibus(table, wholes, ci_prob)
    n_draws, n_pairs = predicted.shape[1], pairs.n_pairs
    table.attrs |= {"n_draws": n_draws, "ci_prob": ci_prob, "consensus": source, "n_pairs": n_pairs}
    return table


def _are_best_worst(found: Found) -> bool:
    """Whether all lists have one item last, and some have ties between the first and the last."""
    ranks = found.observed[found.compared]
    last = ranks.max(axis=1, keepdims=True)
    between = ((ranks > 1) & (ranks < last)).sum(axis=1)
    return bool(((ranks == last).sum(axis=1) == 1).all() and (between > last[:, 0] - 2).any())


def _wholes(
    top: EndItem,
    pairs: PairOrders,
    rows: Sequence[Floats],
    distance: KendallDistance,
    *,
    sizes_given: bool,
) -> list[Whole]:
    """Compute the omnibus statistics of the rows of each statistic, (n_rows, 1 + n_draws)."""
    top_rows, pair_rows, sizes, distances = rows
    wins = top_rows * top.held[:, None]
    total = np.maximum(wins.sum(axis=0), CLOSE)
    out = whole_rows("winners", top_rows)
    out.append(Whole("winners", "different items", (wins > CLOSE).sum(axis=0).astype(float)))
    out.append(_off("winners", "largest share", wins.max(axis=0) / total))
    out += whole_rows("pairs", pair_rows, ["all", "largest"])
    if (cycles := cyclic_triples(pairs.items, pair_rows)) is not None:
        out.append(Whole("pairs", "cyclic triples", cycles))
    for row, (label, n_items) in enumerate(distance.labels):
        if n_items == "all" and np.ptp(distances[row]) > CLOSE:
            out.append(_off("distances", label, distances[row]))
    if len(distance.labels) > 2:
        out += whole_rows("distances", distances)
    if not sizes_given:
        out += whole_rows("ties", sizes)
    return out


def _off(family: str, label: str, values: Floats) -> Whole:
    """Return an omnibus statistic that is a share."""
    return Whole(family, label, values, shifted=values[1:] + SHIFT)


def _groups(data: xr.DataTree, var_name: str, found: Found) -> dict[str, NDArray[np.integer]]:
    """Return the codes of the rankers and groups with several of the lists, by family."""
    kept, out = Kept(data, var_name), {}
    for name in dict.fromkeys((RANKER, *kept.groups)):
        if name not in kept or not found.compared.any():
            continue
        codes = kept[name].to_numpy()
        sizes = np.bincount(codes[found.compared])
        if len(codes) == len(found.item) and (sizes > 0).sum() > 1 and sizes.max() > 1:
            out["rankers" if name == RANKER else f"groups by {name}"] = codes
    return out


def with_omnibus(table: pd.DataFrame, wholes: Sequence[Whole], ci_prob: float) -> pd.DataFrame:
    """Add the rows of the omnibus checks to a table of checks."""
    if not wholes:
        return table
    values = np.array([whole.values for whole in wholes])
    keys = [(whole.family, whole.label, "all") for whole in wholes]
    more = check_table(keys, values[:, 0], values[:, 1:], None, ci_prob)
    more = more.assign(**omnibus_columns(wholes))
    out = pd.concat([table, more])
    return out.set_axis(_index([*table.index, *keys]))


def compared(
    statistic: Callable[..., Floats], found: Found, weights: tuple[Floats, Floats], *places: Any
) -> tuple[Floats, Floats]:
    """Compute a statistic of observed (n_rows,) and predicted rankings (n_rows, n_draws).

    `weights` (n_rankings, n_draws) holds the weights of observed and of predicted rankings;
    `places` (n_items, n_draws) is the consensus, if the statistic needs one. Arrays that are the
    same in all draws have one column. If they differ by draw, observed values are means over the
    draws. Predicted values then add to these the differences within each draw.
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
    """Overall result of the checks of a model.

    Attributes
    ----------
    n, failed : int
        Number of checks whose predicted values vary, and number of checks that fail; without
        omnibus checks.
    by_chance : float
        Upper bound on the expected number of failures if the model is right.
    worst : DataFrame
        The failed checks: those of failing families first, then sorted by the column far. This is
        the distance of the observed value from the predicted mean, in standard deviations.
    families : DataFrame
        By family, the worst first: its omnibus check with the smallest tail probability p, and the
        values of this check. Also the power of the family, and whether it fails.
    ok : bool
        Whether no family fails. A correct model has a failing family with probability 0.05 or less.
    seen, unseen : tuple of str
        Families with power: they would fail with probability 0.8 or more if the data differed from
        the predictions by 0.1 in each row. And families with too little data for that.
    """

    n: int
    failed: int
    by_chance: float
    worst: pd.DataFrame
    families: pd.DataFrame
    ok: bool
    seen: tuple[str, ...]
    unseen: tuple[str, ...]

    @property
    def fits(self) -> bool | None:
        """False if a family fails; otherwise true, or None if no family had power."""
        return (True if self.seen else None) if self.ok else False

    def message(self, ci_prob: float) -> str:
        """Return a sentence with the number of failed checks, and the number expected by chance."""
        chance = f"About {self.by_chance:.0f}" if self.by_chance >= 1 else "None or one"
        return (
            f"{self.failed} of {self.n} checks {'fails' if self.failed == 1 else 'fail'}: the "
            f"observed value lies outside the {100 * ci_prob:g}% interval of the predictions. "
            f"{chance} would fail by chance."
        )


def worst_checks(table: pd.DataFrame) -> Fits:
    """Give a verdict for each family of checks, and sort failed checks by severity.

    Parameters
    ----------
    table : DataFrame
        From `ranking_checks` or `match_checks`.

    Returns
    -------
    Fits
        The named tuple ``(n, failed, by_chance, worst, families, ok, seen, unseen)``. Its field
        ``ok`` is false if a family fails. ``families`` has one row per family, and ``worst`` lists
        the checks that fail. ``seen`` are the families that could have failed.

    See Also
    --------
    ranking_checks, match_checks, column_checks

    Examples
    --------
    >>> import bayesrank as br, pymc as pm
    >>> rankings = br.Rankings.from_orderings([["a", "b", "c"]] * 7 + [["c", "a", "b"]] * 3)
    >>> with pm.Model(coords=rankings.coords):
    ...     utility = pm.ZeroSumNormal("utility", dims="item")
    ...     y = br.PlackettLuce("y", utility, observed=rankings)
    ...     idata = pm.sample(draws=100, tune=100, chains=2, cores=1, random_seed=1,
    ...                       progressbar=False)
    ...     _ = pm.sample_posterior_predictive(idata, extend_inferencedata=True,
    ...                                        progressbar=False)
    >>> verdict = br.worst_checks(br.ranking_checks(idata))
    >>> verdict.ok, verdict.failed
    (True, 0)
    """
    families = verdicts(table)
    table, ci_prob = table[table["note"] != OMNIBUS], float(table.attrs["ci_prob"])
    odd = table["surprising"]
    varies = (table["note"] != GIVEN) & ((table["low"] < table["high"]) | odd)
    worst = table[odd]
    off = (worst["observed"] - worst["mean"]).abs()
    far = off / worst["sd"].where(worst["sd"] > 0, CLOSE)
    worst = worst.assign(far=far)
    family = worst.index.get_level_values("statistic").map(FAMILIES)
    order = {name: k for k, name in enumerate(families.index[families["fails"]])}
    place = family.map(lambda name: order.get(name, len(order))).to_numpy()
    # A value that is never predicted has no standard deviation, so these are sorted by their
    # difference.
    worst = worst.iloc[np.lexsort((-off, -far.clip(upper=1e6), place))]
    n, failed = int(varies.sum()), int(odd.sum())
    by_chance = (1 - ci_prob) * n
    ok, power = not families["fails"].any(), families["power"]
    seen, unseen = (tuple(power.index[which]) for which in (power >= POWER, power < POWER))
    return Fits(n, failed, by_chance, worst, families, ok, seen, unseen)


def _index(keys: list[tuple[Any, ...]]) -> pd.MultiIndex:
    """Build the index of the rows, with each level in order of appearance."""
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
    ci_prob: float,
) -> pd.DataFrame:
    """Compare observed values (n_rows,) with predicted values (n_rows, n_draws).

    `given` marks rows that the model conditions on instead of predicting, by default none.
    """
    given = np.zeros(len(keys), dtype=bool) if given is None else given
    tail = (1 - ci_prob) / 2
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
            "power": np.nan,
        },
        index=_index(keys),
    )
    # drop block sizes that occur in neither observed nor predicted lists
    never = (observed < CLOSE) & (predicted < CLOSE).all(axis=1)
    return table[~(never & (table.index.get_level_values("statistic") == BlockSizes.name))]


# Reading rankings, their predictions and a consensus from a DataTree


def found_rankings(data: xr.DataTree, var_name: str, draws: int | None) -> Found:
    """Find the observed and predicted rankings of a DataTree."""
    y, rankings = (ranks_in(data, x, var_name) for x in ("posterior_predictive", "observed_data"))
    kept = Kept(data, var_name)
    outcome = kept.outcome or ""
    if ITEM not in kept:
        content = f"It holds {outcome}" if outcome else "Its items are not known"
        raise ValueError(
            f"{var_name!r} was not observed as rankings. {content}. These checks need a "
            "distribution with observed=Rankings."
        )
    dims = rankings.dims
    if set(y.dims) != {*SAMPLE, *dims} or any(y.sizes[d] != rankings.sizes[d] for d in dims):
        raise ValueError(
            f"The predictions of {var_name!r} have the sizes {dict(y.sizes)}, but the observed "
            f"rankings have {dict(rankings.sizes)}. Predict the rankings that were observed."
        )
    refuse_counts(kept, var_name)
    refuse_other_labels(y, rankings, f"The predictions of {var_name!r} have", PREDICT)
    refuse_other_labels(rankings, kept[ITEM], f"observed_data of {var_name!r} have", PREDICT)
    if kept.is_by_ranker:
        y, rankings = (_by_ranking(x.transpose(..., *dims), kept) for x in (y, rankings))
    values = y.transpose(*SAMPLE, *rankings.dims).values.reshape(-1, *rankings.shape)
    if not len(values):
        raise ValueError(f"The predictions of {var_name!r} contain no draws.")
    chosen = evenly(len(values), draws)
    values = values if len(chosen) == len(values) else values[chosen]
    observed, item = rankings.values, kept[ITEM].values.astype(np.int64)
    _check_weak_orders(values, rankings, var_name)
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
    """Choose at most `most` of n draws, evenly spaced."""
    return np.linspace(0, n - 1, n if most is None else min(n, most)).round().astype(np.intp)


def _by_ranking(x: xr.DataArray, kept: Kept) -> xr.DataArray:
    """Reshape rankings (..., ranker, turn, slot) to the order of the data, (..., ranking, slot)."""
    *_, ranker_dim, turn_dim, slot = map(str, x.dims)
    ranker = kept[RANKER].drop_vars(ranker_dim, errors="ignore")
    codes = pd.Series(ranker.to_numpy())
    turn = ranker.copy(data=codes.groupby(codes).cumcount())
    found = x.drop_vars([ranker_dim, turn_dim], errors="ignore").isel(
        {ranker_dim: ranker, turn_dim: turn}
    )
    return found.transpose(..., *ranker.dims, slot)


def _check_weak_orders(values: NDArray[Any], rankings: xr.DataArray, var_name: str) -> None:
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
                f"Predictions of {var_name!r} must be weak orders of the items presented, with "
                f"dense ranks. Ranking {label!r} is predicted as {ranks[draw, row].tolist()} in "
                f"one draw; its observed ranks are {observed[row].tolist()}."
            )


def _consensus(
    data: xr.DataTree, var_name: str, found: Found, consensus: str | Sequence[Any] | None
) -> tuple[NDArray[np.intp], str, NDArray[np.intp] | None]:
    """Return the place of every item in the consensus, from 0, and the source of that order.

    If the source is a variable, also return the places in each draw of the predictions (n_draws,
    n_items).
    """
    n_items = len(found.items)
    if consensus is not None and not isinstance(consensus, str):
        place = found.items.get_indexer(pd.Index(consensus))
        if sorted(place) != list(range(n_items)):
            raise ValueError(
                f"`consensus` must contain each of the {n_items} items once, best first. It has "
                f"{len(place)} labels, for {len(set(place) - {-1})} different items."
            )
        return place.argsort(), "as given", None
    utility = consensus or "utility"
    posterior = data["posterior"].to_dataset() if "posterior" in data.children else xr.Dataset()
    dims = [str(d) for d in posterior.get(utility, xr.DataArray(0)).dims if d not in SAMPLE]
    # the labels of the items, or numbers
    known = [found.items.tolist(), list(range(n_items))]
    if len(dims) == 1 and posterior[dims[0]].values.tolist() in known:
        ranks = rank_draws(posterior, utility, dim=dims[0]).transpose(*SAMPLE, dims[0])
        place = find_places(ranks.mean(SAMPLE).values)
        by_draw = _places_drawn(data["posterior_predictive"].dataset[var_name], ranks, found)
        return place, f"the order of each draw by {utility!r}", by_draw
    if consensus is not None:
        raise ValueError(
            f"The posterior has no variable {consensus!r} with one value per item; it has "
            f"{sorted(map(str, posterior.data_vars))}. Name another variable, list the items best "
            "first, or omit `consensus`."
        )
    # relative places, since lists have different lengths
    relative = found.predicted.mean(axis=2) / found.used.sum(axis=1, keepdims=True)
    weight = np.where(found.used, found.weight[:, None], 0.0)
    total = np.bincount(found.item.ravel(), weight.ravel(), n_items)
    sums = np.bincount(found.item.ravel(), (weight * relative).ravel(), n_items)
    mean = np.divide(sums, total, out=np.full(n_items, np.inf), where=total > 0)
    return find_places(mean), "mean place in the predicted lists", None


def find_places(values: NDArray[Any]) -> NDArray[np.intp]:
    """Return places from 0 along the last axis; the lowest value is first."""
    return values.argsort(axis=-1, kind="stable").argsort(axis=-1)


def _places_drawn(y: xr.DataArray, ranks: xr.DataArray, found: Found) -> NDArray[np.intp] | None:
    """Return the places of the items in the predicted draws; None if the draws do not match."""
    try:
        ranks = ranks.sel({d: y[d] for d in SAMPLE})
    except KeyError:
        return None
    return find_places(ranks.values.reshape(-1, ranks.shape[-1])[found.draws])
