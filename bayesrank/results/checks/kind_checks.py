"""Predictive checks of mixtures by kind: whether rankers of each kind rank as the model says.

A mixture may predict all rankings together well, and yet put into one kind people who do not
belong together. So checks are made for every kind, of rankings that count as much as they are of
it.

>>> kind_checks(posterior, br.membership(model, posterior, predicted=True))  # doctest: +SKIP
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bayesrank.results.checks.ranking_checks import Found, check_table, found_rankings, weak_orders
from bayesrank.results.draws import SAMPLE, check_probability
from bayesrank.schema import RANKER, TURNS, Kept

__all__ = ["kind_checks"]

Floats = NDArray[np.float64]


def kind_checks(
    data: xr.DataTree,
    membership: xr.Dataset,
    *,
    var: str = "y",
    order: str | None = None,
    prob: float = 0.94,
    max_pairs: int = 50,
) -> pd.DataFrame:
    r"""Compare observed rankings with predicted ones, component by component.

    In every draw t each ranking is of component g with a probability :math:`r_{ug}` given its order
    and the parameters of the draw, its weight in

    .. math:: T_g(y, \theta_t) = \frac{\sum_u r_{ug}(y_u, \theta_t) \, s(y_u)}
                                      {\sum_u r_{ug}(y_u, \theta_t)}

    The same is computed of the rankings predicted in that draw (a realised discrepancy). The
    statistics are

    ==================  ========================================================================
    share               of the rankings that are of the component
    top item            share of those with an item that put it first; k items on the first place
                        count 1/k each
    pair order          share of those with both items that put i above j ("i > j"); a tie counts
                        one half
    Kendall distance    share of the pairs of a ranking that are not in the order of the component
    in
                        that draw, a tie counting one half: "mean" and standard deviation, "spread"
    ==================  ========================================================================

    Parameters
    ----------
    data : DataTree
        Posterior of a mixture, relabelled by `bayesrank.relabel`, with the group
        posterior_predictive.
    membership : Dataset
        From ``br.membership(model, data, predicted=True)``.
    var : str
        The mixture.
    order : str, optional
        A variable of the posterior by component and item, from whose orders distances are taken:
        ranks if it holds whole numbers, else the highest is first. By default "utility" or
        "consensus"; without either there are no distances.
    prob : float
        Probability of the intervals, in (0, 1): equal tails.
    max_pairs : int
        Number of pairs to check, those most often presented together.

    Returns
    -------
    DataFrame
        As `bayesrank.ranking_checks`, indexed by statistic, label and component.

    Raises
    ------
    ValueError
        If predictions are missing, memberships are of others, or the variable of the orders is not
        by component and item.

    References
    ----------
    Gelman, Meng and Stern, Posterior predictive assessment of model fitness via realized
    discrepancies, Statistica Sinica 1996.

    Examples
    --------
    >>> table = kind_checks(posterior, who)  # doctest: +SKIP
    >>> table[table["surprising"]]  # doctest: +SKIP
    """
    check_probability("prob", prob, 0.0)
    if max_pairs < 1 or max_pairs % 1:
        raise ValueError(f"`max_pairs` is {max_pairs!r}; it must be a whole number, 1 or more.")
    found = found_rankings(data, var, None)
    shares, kinds = _shares(membership, data, var, found)
    orders = _orders(data, membership, order, found, kinds)
    pairs = _pairs(found, max_pairs)
    labels = [("share", "of the rankings")]
    labels += [("top item", item) for item in found.items]
    names = found.items
    labels += [("pair order", f"{names[i]} > {names[j]}") for i, j in zip(*pairs, strict=True)]
    if orders is not None:
        labels += [("Kendall distance", "mean"), ("Kendall distance", "spread")]

    of_observed = _Parts.of(found, found.observed, pairs)
    realised, predicted = [], []
    for t, (ranks, seen, drawn) in enumerate(_draws(found, shares, var)):
        own = None if orders is None else orders[t]
        realised.append(_statistics(of_observed, seen, found, pairs, own))
        predicted.append(_statistics(_Parts.of(found, ranks, pairs), drawn, found, pairs, own))
    # (n_labels, n_kinds, n_draws), of which nothing is said where nobody has an item
    here, there = (np.stack(x, axis=-1).reshape(-1, len(realised)) for x in (realised, predicted))
    known = np.isfinite(here).all(axis=1) & np.isfinite(there).all(axis=1)
    keys = [(*label, kind) for label in labels for kind in kinds]
    keys = [key for key, is_known in zip(keys, known, strict=True) if is_known]
    here, there = here[known], there[known]
    centre = here.mean(axis=1)
    table = check_table(keys, centre, there + centre[:, None] - here, None, prob)
    table.index = table.index.set_names("kind", level=2)
    table.attrs |= {"n_draws": len(realised), "prob": prob, "n_pairs": len(pairs[0])}
    return table.drop(columns="note")


class _Parts(NamedTuple):
    """Numbers of rankings, of which statistics are weighted means."""

    first: NDArray[Any]  # (n_rankings, n_items) share of the first place
    present: NDArray[Any]  # (n_rankings, n_items)
    above: NDArray[Any]  # (n_rankings, n_pairs) whether the one is above the other, a tie a half
    both: NDArray[Any]  # (n_rankings, n_pairs)
    below: NDArray[Any]  # (n_rankings, n_items, n_items) whether i is below j, a tie a half

    @classmethod
    def of(cls, found: Found, ranks: NDArray[Any], pairs: tuple[Any, Any]) -> "_Parts":
        n = len(found.items)
        by_item = np.zeros((len(ranks), n), np.int64)
        row = np.broadcast_to(np.arange(len(ranks))[:, None], ranks.shape)
        by_item[row[found.used], found.item[found.used]] = ranks[found.used]
        present = by_item > 0
        first = by_item == 1
        i, j = (by_item[:, k] for k in pairs)
        both = (i > 0) & (j > 0)
        above = np.where(both, (i < j) + 0.5 * (i == j), 0.0)
        one, other = by_item[:, :, None], by_item[:, None, :]
        below = (one > other) + 0.5 * (one == other)
        below *= present[:, :, None] & present[:, None, :]
        top = first / np.maximum(first.sum(axis=1, keepdims=True), 1)
        return cls(top, present * 1.0, above, both * 1.0, below)


def _statistics(parts: _Parts, share: Floats, found: Found, pairs: Any, orders: Any) -> Floats:
    """Statistics of every kind, (n_labels, n_kinds)."""
    weight = share * found.weight[:, None]  # (n_rankings, n_kinds)
    with np.errstate(invalid="ignore", divide="ignore"):
        rows = [
            (weight.sum(axis=0) / found.weight.sum())[None],
            (parts.first.T @ weight) / (parts.present.T @ weight),
            (parts.above.T @ weight) / (parts.both.T @ weight),
        ]
        if orders is not None:
            distance = np.stack([_distance(parts, order) for order in orders], axis=1)
            several = found.used.sum(axis=1) > 1
            own = weight[several] / weight[several].sum(axis=0)
            mean = (own * distance[several]).sum(axis=0)
            spread = np.sqrt((own * (distance[several] - mean) ** 2).sum(axis=0))
            rows.append(np.stack([mean, spread]))
    return np.concatenate(rows)


def _distance(parts: _Parts, order: Any) -> Floats:
    """Share of the pairs of every ranking that are not in an order, (n_rankings,)."""
    n = parts.present.sum(axis=1)
    before = np.less.outer(order, order)  # i should be above j
    wrong = parts.below.reshape(len(n), -1) @ before.ravel()
    return np.asarray(2.0 * wrong / np.maximum(n * (n - 1), 1))


def _draws(found: Found, shares: Any, var: str) -> Iterator[tuple[Any, Floats, Floats]]:
    """Give predicted rankings, and memberships of observed and predicted ones, draw by draw."""
    for t in range(len(found.predicted)):
        yield weak_orders(found, t, 1, var)[0], shares[0][t], shares[1][t]


def _shares(
    membership: Any, data: xr.DataTree, var: str, found: Found
) -> tuple[tuple[Floats, Floats], list[Any]]:
    """Memberships of rankings, (n_draws, n_rankings, n_kinds), observed and predicted; kinds."""
    named = getattr(membership, "data_vars", ())
    if not {"observed", "predicted"} <= set(named):
        raise ValueError(
            "`membership` has no memberships by draw, of observed and of predicted rankings: make "
            "it by br.membership(model, data, predicted=True)."
        )
    *sample, _, kind = map(str, membership["observed"].dims)
    y = data["posterior_predictive"].dataset[var]
    same = all(np.array_equal(membership[d], y[d]) for d in SAMPLE)
    if sample != [*SAMPLE] or not same:
        raise ValueError(
            "`membership` is of other draws than the predictions: make it by br.membership(model, "
            "data, predicted=True) of the same data."
        )
    values = [membership[x].to_numpy() for x in ("observed", "predicted")]
    flat = [x.reshape(-1, *x.shape[2:]) for x in values]
    kept = Kept(data, var)
    if TURNS in kept:  # of rankers: what each of their rankings is of
        flat = [x[:, kept[RANKER].to_numpy()] for x in flat]
    return (flat[0], flat[1]), membership[kind].to_numpy().tolist()


def _pairs(found: Found, most: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of items that are presented together most often."""
    n = len(found.items)
    present = np.zeros((len(found.item), n))
    row = np.broadcast_to(np.arange(len(found.item))[:, None], found.item.shape)
    present[row[found.used], found.item[found.used]] = 1.0
    together = present.T @ (present * found.weight[:, None])
    i, j = np.triu_indices(n, 1)
    often = np.argsort(-together[i, j], kind="stable")[:most]
    often = np.sort(often[together[i, j][often] > 0])
    return i[often], j[often]


def _orders(
    data: xr.DataTree, membership: xr.Dataset, order: str | None, found: Found, kinds: list[Any]
) -> Any:
    """Places of the items in the order of every kind, (n_draws, n_kinds, n_items), or None."""
    posterior = data["posterior"].dataset
    kind = str(membership["observed"].dims[-1])
    known = {}
    for name in ("utility", "consensus") if order is None else (order,):
        x = posterior.get(name, xr.DataArray(0.0))
        dims = [str(d) for d in x.dims if d not in (*SAMPLE, kind)]
        if kind in x.dims and len(dims) == 1 and x.sizes[dims[0]] == len(found.items):
            known[name] = x.transpose(*SAMPLE, kind, *dims)
    if not known:
        if order is None:
            return None
        raise ValueError(
            f"The posterior has no variable {order!r} by {kind} and item; it has "
            f"{sorted(map(str, posterior.data_vars))}."
        )
    x = next(iter(known.values())).sel({d: membership[d] for d in SAMPLE})
    values = x.to_numpy().reshape(-1, len(kinds), len(found.items))
    return values if values.dtype.kind in "iu" else -values
