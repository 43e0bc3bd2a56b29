"""Posterior predictive checks of rankings: whether a model makes rankings like the observed.

Rankings drawn from the posterior predictive distribution are compared with the observed ones by
what users of rankings look at: which item is on top, who is above whom, how large blocks are, how
far lists are from the consensus.

>>> ranking_checks(idata)  # doctest: +SKIP
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bayesrank.results.check_data import consensus_places, found_rankings, weak_orders
from bayesrank.results.check_statistics import (
    BlockSizes,
    KendallDistance,
    Lists,
    PairOrders,
    Statistic,
    TopItem,
)
from bayesrank.results.draws import check_probability

__all__ = ["GIVEN", "ranking_checks"]

GIVEN = "given, not predicted"
AT_ONCE = 2**22  # ranks of a block of draws, which stay near the cache
CLOSE = 1e-9  # sums of the same shares in another order differ by less


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

    A model may say what is wrong with it only in the spread: who ranks carefully and who does not
    may cancel out in the mean, to which the model was fitted.

    Parameters
    ----------
    data : DataTree
        Of a model that observes a `Rankings`, with the group posterior_predictive:
        ``pm.sample_posterior_predictive(idata, extend_inferencedata=True)``.
    var : str
        The observed variable.
    consensus : str or sequence of labels, optional
        The order from which distances are taken: a variable with the dims chain, draw and items,
        by the posterior mean of its ranks; or all items, best first. By default "utility" if there
        is such a variable, else the mean place of items in the predicted lists.
    prob : float
        Probability of the intervals, in (0, 1): equal tails.
    max_pairs : int
        Check so many pairs, those most often presented together. Of equally frequent ones
        neighbours in the consensus come first.
    by_length : bool
        Whether to take Kendall distances also by the number of items in a list; more than eight
        lengths are put into eight groups of about as many lists each.
    draws : int, optional
        Use so many draws, evenly spaced; None uses all. ``table.attrs["n_draws"]`` says how many
        were used.

    Returns
    -------
    DataFrame
        Indexed by statistic, label and n_items ("all", a length or a range such as "5 to 8"),
        with the columns

        - observed : the statistic of the observed rankings;
        - mean, low, high : of the predicted ones, with the ends of their interval;
        - p : two-sided tail probability of the observed among the predicted, equal ones counting
          half (1 in the middle, 0 beyond all draws);
        - surprising : whether the observed lies outside the interval;
        - note : "given, not predicted" for block sizes that are no part of the outcome; they have
          no p.

        Its ``attrs`` are n_draws, prob, consensus (where the order comes from) and n_pairs (how
        many there are).

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
    The model has seen the data it is checked with. Checks of a right model are surprising less
    often than 1 - `prob`; how much less depends on how closely the statistic was fitted.

    References
    ----------
    Gelman, Meng and Stern, Posterior predictive assessment of model fitness via realized
    discrepancies, Statistica Sinica 1996.

    Examples
    --------
    >>> y = np.array([[1, 2], [1, 2]])  # a above b, twice
    >>> drawn = np.array([[[[1, 2], [1, 2]], [[1, 2], [2, 1]], [[1, 2], [2, 1]]]])
    >>> dims = ("ranking", "slot")
    >>> tree = xr.DataTree.from_dict({
    ...     "observed_data": xr.Dataset({"y": (dims, y)}),
    ...     "posterior_predictive": xr.Dataset({"y": (("chain", "draw", *dims), drawn)}),
    ...     "constant_data": xr.Dataset(
    ...         {"y_item": (dims, [[0, 1], [0, 1]]), "y_weight": ("ranking", [1.0, 1.0])},
    ...         coords={"item": ["a", "b"]}),
    ... })
    >>> table = ranking_checks(tree, by_length=False)
    >>> table.loc["pair order", ["observed", "mean", "p"]].round(2)
                   observed  mean     p
    label n_items
    a > b all           1.0  0.67  0.33
    """
    check_probability("prob", prob, 0.0)
    for name, value in (("max_pairs", max_pairs), ("draws", draws)):
        if value is not None and (value < 1 or value % 1):
            raise ValueError(f"`{name}` is {value!r}; it must be a whole number, 1 or more.")
    found = found_rankings(data, var, draws)
    place, how = consensus_places(data, found, consensus)

    # items by their place in the consensus, slots in its order, empty ones last
    slots = np.where(found.used, place[found.item], len(place)).argsort(axis=1, kind="stable")
    lists = Lists(
        item=np.take_along_axis(place[found.item], slots, 1),
        used=np.take_along_axis(found.used, slots, 1),
        weight=found.weight,
        items=found.items[place.argsort()],
    )
    pairs = PairOrders(lists, max_pairs)
    families: list[Statistic] = [
        TopItem(lists),
        pairs,
        BlockSizes(lists),
        KendallDistance(lists, by_length),
    ]

    def statistics(ranks: NDArray[Any]) -> NDArray[np.float64]:
        return np.concatenate([family(ranks) for family in families])

    kind = np.int16 if lists.item.shape[1] < 2**14 else np.int32
    observed = statistics(np.take_along_axis(found.observed, slots, 1)[:, :, None].astype(kind))
    n_draws = len(found.predicted)
    step = max(1, AT_ONCE // max(found.item.size, 1))
    predicted = np.empty((len(observed), n_draws))
    for start in range(0, n_draws, step):
        some = weak_orders(found, start, step, var)
        some = np.ascontiguousarray(some.transpose(1, 2, 0), dtype=kind)
        some = np.take_along_axis(some, slots[:, :, None], 1)
        predicted[:, start : start + step] = statistics(some)

    keys = [(family.name, *label) for family in families for label in family.labels]
    given = np.array([found.sizes_given and key[0] == BlockSizes.name for key in keys])
    table = _table(keys, observed[:, 0], predicted, given, prob)
    table.attrs |= {"n_draws": n_draws, "prob": prob, "consensus": how, "n_pairs": pairs.n_pairs}
    return table


def _index(keys: list[tuple[Any, ...]]) -> pd.MultiIndex:
    """Index of the rows, each level in its order of appearance, for which rows are sorted."""
    columns = [np.empty(len(keys), dtype=object) for _ in range(3)]
    for column, values in zip(columns, zip(*keys, strict=True), strict=True):
        column[:] = values
    codes, levels = zip(*map(pd.factorize, columns), strict=True)
    return pd.MultiIndex(levels, codes, names=["statistic", "label", "n_items"])


def _table(
    keys: list[tuple[Any, ...]],
    observed: NDArray[np.float64],
    predicted: NDArray[np.float64],
    given: NDArray[np.bool_],
    prob: float,
) -> pd.DataFrame:
    """Place observed values (n_rows,) among predicted ones (n_rows, n_draws)."""
    tail = (1 - prob) / 2
    low, high = np.quantile(predicted, [tail, 1 - tail], axis=1, method="inverted_cdf")
    below = (predicted < observed[:, None] - CLOSE).mean(axis=1)
    above = (predicted > observed[:, None] + CLOSE).mean(axis=1)
    p = 2 * np.minimum(below, above) + (1 - below - above)
    table = pd.DataFrame(
        {
            "observed": observed,
            "mean": predicted.mean(axis=1),
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
