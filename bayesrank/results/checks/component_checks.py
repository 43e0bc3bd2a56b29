"""Predictive checks of mixtures by component.

A mixture may predict all rankings together well, and yet assign people to the same component who do
not belong together.
"""

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bayesrank.data.read import check_whole
from bayesrank.results.checks.families import FAMILIES, whole_rows
from bayesrank.results.checks.ranking_checks import (
    check_table,
    compared,
    find_places,
    found_rankings,
    with_omnibus,
)
from bayesrank.results.checks.statistics import EndItem, Found, KendallDistance, PairOrders
from bayesrank.results.draws import SAMPLE, interval_probability
from bayesrank.schema import RANKER, Kept

__all__ = ["component_checks"]

Floats = NDArray[np.float64]


def component_checks(
    data: xr.DataTree,
    probabilities: xr.Dataset,
    var_name: str = "y",
    *,
    order: str | None = None,
    ci_prob: float | None = None,
    max_pairs: int = 50,
) -> pd.DataFrame:
    r"""Compare observed rankings with predicted ones, component by component.

    In draw t, each ranking belongs to component g with probability :math:`r_{ug}`, given its order
    and the parameters. This probability is the weight of the ranking in the statistic

    .. math:: T_g(y, \theta_t) = \frac{\sum_u r_{ug}(y_u, \theta_t) \, s(y_u)}
                                      {\sum_u r_{ug}(y_u, \theta_t)}

    The same statistic is computed for the rankings predicted in that draw (a realised discrepancy).
    The statistics are

    ==================  ========================================================================
    share               Share of the rankings that belong to the component.
    top item            Share of the rankings with the item that put it first, among those of two
                        or more items. If k items share the first place, each counts 1/k.
    pair order          Share of the rankings with both items that put i above j ("i > j"). A tie
                        counts one half.
    Kendall distance    Share of the pairs of a ranking that contradict the order of the component
                        in that draw. A tie counts one half. Rows: "mean" and "spread" (standard
                        deviation).
    ==================  ========================================================================

    Parameters
    ----------
    data : DataTree
        Posterior of a mixture, relabelled by `bayesrank.relabel_components`, with the group
        posterior_predictive.
    probabilities : Dataset
        From ``br.component_probabilities(data, predicted=True, model=model)``.
    var_name : str
        The mixture.
    order : str, optional
        A variable of the posterior by component and item. Distances are computed to its orders.
        Integers are ranks; of other numbers, the highest is first. By default "utility" or
        "consensus"; if neither exists, there are no distances.
    ci_prob : float, optional
        Probability of the intervals, in (0, 1): equal tails. By default,
        ``arviz.rcParams["stats.ci_prob"]``.
    max_pairs : int
        Number of pairs to check: those most often presented together.

    Returns
    -------
    DataFrame
        As `bayesrank.ranking_checks`, indexed by statistic, label and component. Omnibus checks are
        about all components together.

    Raises
    ------
    ValueError
        If predictions are missing, `probabilities` has other draws, or `order` is not a variable
        by component and item.

    See Also
    --------
    ranking_checks, component_probabilities, relabel_components

    References
    ----------
    Gelman, Meng and Stern, Posterior predictive assessment of model fitness via realized
    discrepancies, Statistica Sinica 1996.

    Examples
    --------
    >>> import xarray as xr
    >>> import bayesrank as br, pymc as pm
    >>> rankings = br.Rankings.from_orderings([["a", "b", "c"]] * 7 + [["c", "b", "a"]] * 3)
    >>> with pm.Model(coords=rankings.coords | {"component": ["x", "y"]}) as model:
    ...     share = pm.Dirichlet("share", [2, 2], dims="component")
    ...     utility = pm.ZeroSumNormal("utility", 2, dims=("component", "item"))
    ...     y = br.Mixture("y", share, br.PlackettLuce.dist(utility), observed=rankings)
    >>> draws = xr.Dataset({
    ...     "share": (("chain", "draw", "component"), [[[0.7, 0.3]]]),
    ...     "utility": (("chain", "draw", "component", "item"), [[[[3, 0, -3], [-3, 0, 3]]]]),
    ... }, coords={"component": ["x", "y"], "item": ["a", "b", "c"]})
    >>> idata = xr.DataTree.from_dict({"posterior": draws})
    >>> with model:
    ...     _ = pm.sample_posterior_predictive(idata, extend_inferencedata=True,
    ...                                        progressbar=False)
    ...     probabilities = br.component_probabilities(idata, predicted=True)
    >>> table = br.component_checks(idata, probabilities)
    >>> table.loc["top item", "observed"].round(2)
    label  component
    a      x            1.0
           y            0.0
    b      x            0.0
           y            0.0
    c      x            0.0
           y            1.0
    Name: observed, dtype: float64
    """
    ci_prob = interval_probability(ci_prob)
    check_whole(max_pairs=max_pairs)
    found = found_rankings(data, var_name, None)
    weights, components = _weights(probabilities, data, var_name, found)
    orders = _orders(data, probabilities, order, found, components)
    pairs = PairOrders(found, max_pairs)
    statistics: list[Any] = [Share(found.weight.sum()), EndItem(found), pairs]
    if orders is not None:
        statistics.append(KendallDistance(found, by_length=False))

    columns = []
    for k in range(len(components)):
        component_weights = weights[0][..., k], weights[1][..., k]
        for statistic in statistics:
            order_places = [orders[:, k].T] if isinstance(statistic, KendallDistance) else []
            with np.errstate(invalid="ignore", divide="ignore"):
                columns.append(compared(statistic, found, component_weights, *order_places))
    observed, predicted = (np.concatenate(x) for x in zip(*columns, strict=True))
    keys = [
        (s.name, label, component)
        for component in components
        for s in statistics
        for label, _ in s.labels
    ]
    # sorted by statistic, without items that no ranking of a component contains
    n = len(keys) // len(components)
    known = np.isfinite(observed) & np.isfinite(predicted).all(axis=1)
    rows = [row for row in np.arange(len(keys)).reshape(-1, n).T.ravel() if known[row]]
    table = check_table([keys[k] for k in rows], observed[rows], predicted[rows], None, ci_prob)
    values, wholes = np.column_stack([observed, predicted]), []
    for name in dict.fromkeys(key[0] for key in keys):
        some = [row for row in rows if keys[row][0] == name]
        labels = ["all", "largest"] if len(some) > 1 else ["all"]
        wholes += whole_rows(FAMILIES[name], values[some], labels)
    table = with_omnibus(table, wholes, ci_prob)
    table.index = table.index.set_names("component", level=2)
    table.attrs |= {"n_draws": predicted.shape[1], "ci_prob": ci_prob, "n_pairs": len(pairs.labels)}
    return table


class Share:
    """Share of the rankings that belong to a component."""

    name = "share"
    labels = (("of the rankings", "all"),)

    def __init__(self, total: float) -> None:
        self._total = total

    def __call__(self, _: NDArray[Any], weight: Floats) -> Floats:
        return weight.sum(axis=0)[None] / self._total


def _weights(
    probabilities: Any, data: xr.DataTree, var_name: str, found: Found
) -> tuple[list[Floats], list[Any]]:
    """Return weights (n_rankings, n_draws, n_components) by group, and the components."""
    named = getattr(probabilities, "data_vars", ())
    if not {"observed", "predicted"} <= set(named):
        raise ValueError(
            "`probabilities` must have the variables 'observed' and 'predicted'. Compute them with "
            "br.component_probabilities(data, predicted=True, model=model)."
        )
    *sample, _, component = map(str, probabilities["observed"].dims)
    y = data["posterior_predictive"].dataset[var_name]
    same = all(np.array_equal(probabilities[d], y[d]) for d in SAMPLE)
    if sample != [*SAMPLE] or not same:
        raise ValueError(
            "`probabilities` and the predictions have different draws. Compute both from the same "
            "data, with br.component_probabilities(data, predicted=True, model=model)."
        )
    values = [probabilities[x].to_numpy() for x in ("observed", "predicted")]
    flat = [x.reshape(-1, *x.shape[2:]) for x in values]
    kept = Kept(data, var_name)
    if kept.is_by_ranker:  # from rankers to rankings
        flat = [x[:, kept[RANKER].to_numpy()] for x in flat]
    weights = [x.swapaxes(0, 1) * found.weight[:, None, None] for x in flat]
    return weights, probabilities[component].to_numpy().tolist()


def _orders(
    data: xr.DataTree,
    probabilities: xr.Dataset,
    order: str | None,
    found: Found,
    components: list[Any],
) -> Any:
    """Return the places of the items in each component, (n_draws, n_components, n_items)."""
    posterior = data["posterior"].dataset
    component = str(probabilities["observed"].dims[-1])
    known = {}
    for name in ("utility", "consensus") if order is None else (order,):
        x = posterior.get(name, xr.DataArray(0.0))
        dims = [str(d) for d in x.dims if d not in (*SAMPLE, component)]
        if component in x.dims and len(dims) == 1 and x.sizes[dims[0]] == len(found.items):
            x = x.transpose(*SAMPLE, component, *dims)
            for dim, labels in ((component, components), (dims[0], found.items.tolist())):
                if {*x.indexes.get(dim, ())} == {*labels}:  # perhaps in another order
                    x = x.sel({dim: labels})
            known[name] = x
    if not known:
        if order is None:
            return None
        raise ValueError(
            f"The posterior has no variable {order!r} by {component} and item; it has "
            f"{sorted(map(str, posterior.data_vars))}."
        )
    x = next(iter(known.values())).sel({d: probabilities[d] for d in SAMPLE})
    values = x.to_numpy().reshape(-1, len(components), len(found.items))
    return find_places(values if values.dtype.kind in "iu" else -values)
