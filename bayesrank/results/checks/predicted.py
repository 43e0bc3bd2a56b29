"""Predicted ranks by item, from predictive draws by slot.

Slots are sorted by the observed ranks, best first, so slot 0 holds a different item in each
ranking.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayesrank.results.draws import SAMPLE
from bayesrank.schema import ITEM, RANKS, Kept

__all__ = ["item_names", "predicted_ranks", "predicted_statistic", "ranks_in", "refuse_counts"]

DRAWN = ("posterior_predictive", "prior_predictive")
SAME = 1e-10  # log-likelihoods this close are equal, up to rounding

# Groups of results, and what to do if they are missing
GROUPS = {
    "posterior_predictive": (
        "With the model: pm.sample_posterior_predictive(idata, extend_inferencedata=True)."
    ),
    "prior_predictive": "With the model: pm.sample_prior_predictive().",
    "predictions": "With the model: pm.sample_posterior_predictive(idata, predictions=True).",
    "observed_data": "Pass what pm.sample() returned.",
}


def predicted_ranks(
    data: xr.DataTree, var_name: str = "y", *, group: str = "posterior_predictive"
) -> xr.DataArray:
    r"""Return predicted ranks by item instead of by slot.

    .. math:: \text{rank}_{t,r,i} = y_{t,r,s} \quad\text{where slot } s \text{ of ranking } r
              \text{ holds item } i

    An item that is not in a ranking gets NaN, which means and plots skip.

    Parameters
    ----------
    data : DataTree
        Results of a model that observes a `Rankings`, with `group` and its data: constant_data,
        or predictions_constant_data for predictions.
    var_name : str
        The observed variable.
    group : {"posterior_predictive", "prior_predictive", "predictions", "observed_data"}
        Group that contains the ranks. Observed ranks have no dims chain and draw.

    Returns
    -------
    DataArray of float, (chain, draw, ranking, item)
        Dense ranks from 1; equal ranks are ties. Its name is `var_name`.

    Raises
    ------
    ValueError
        If the group or the variable is missing, the variable does not hold rankings, or it was
        drawn for other data.
    TypeError
        If `data` is not a DataTree.

    See Also
    --------
    predicted_statistic, ranking_checks

    Notes
    -----
    `predicted_statistic` returns predicted and observed ranks in the form that ArviZ plots.

    Examples
    --------
    >>> import xarray as xr
    >>> import bayesrank as br
    >>> tree = xr.DataTree.from_dict({
    ...     "posterior_predictive": xr.Dataset(
    ...         {"y": (("chain", "draw", "ranking", "slot"), [[[[2, 1], [1, 0]]]])}),
    ...     "constant_data": xr.Dataset(
    ...         {"y_item": (("ranking", "slot"), [[1, 0], [1, 0]]),
    ...          "y_ranks": (("ranking", "slot"), [[1, 2], [1, 0]]),
    ...          "y_item_rankings": ("item", [1, 2])},
    ...         coords={"item": ["ale", "bock"]}),
    ... })
    >>> br.predicted_ranks(tree).sel(chain=0, draw=0).to_pandas()
    item     ale  bock
    ranking
    0        1.0   2.0
    1        NaN   1.0
    """
    y, kept = _drawn(data, var_name, group)
    item, ranks = kept[ITEM], kept[RANKS]
    row, slot = (str(dim) for dim in item.dims)
    if any(y.sizes.get(dim) != item.sizes[dim] for dim in item.dims):
        difference = f"the sizes {dict(y.sizes)}, but its data have {dict(item.sizes)}"
    elif row in y.coords and row in item.coords and not np.array_equal(y[row], item[row]):
        difference = f"other {row} labels than its data"
    else:
        difference = ""
    if difference:
        raise ValueError(
            f"{var_name!r} in {group} has {difference}. It was drawn for other rankings. Predict "
            "new rankings with predictions=True, and use group='predictions'."
        )

    axis = kept.item_axis or "item"
    used_row, used_slot = np.nonzero(ranks.to_numpy() > 0)
    used_item = item.to_numpy()[used_row, used_slot]
    y = y.transpose(..., row, slot)
    others = y.dims[:-1]
    n_items = kept.constant.sizes[axis]
    by_item = np.full((*(y.sizes[dim] for dim in others), n_items), np.nan)
    by_item[..., used_row, used_item] = y.to_numpy()[..., used_row, used_slot]
    coords: dict[Any, Any] = {
        name: x for name, x in y.coords.items() if slot not in x.dims and name != axis
    }
    labels = item_names(kept, n_items).to_numpy()
    return xr.DataArray(
        by_item, dims=(*others, axis), coords=coords | {axis: labels}, name=var_name
    )


def predicted_statistic(
    data: xr.DataTree,
    statistic: Callable[[xr.DataArray], xr.DataArray],
    var_name: str = "y",
    *,
    group: str = "posterior_predictive",
) -> xr.DataTree:
    r"""Return one number per ranking, predicted and observed, for the checks of ArviZ.

    .. math:: T_{t,r} = T(\text{rank}_{t,r,1}, \dots, \text{rank}_{t,r,n}), \qquad
              \text{PIT}_r = P(T_{t,r} < T_r) + U_r \, P(T_{t,r} = T_r)

    where t is a draw, r a ranking, T the statistic, and :math:`U_r` is uniform. A ranking is one
    observation with several numbers, and the checks of ArviZ know one number per observation. The
    statistic makes one of them, such as the place of an item. With it these functions work:
    `arviz.plot_ppc_pit`, `plot_ppc_rootogram`, `plot_ppc_pava`, `plot_ppc_tstat`, `loo_pit`,
    `plot_loo_pit` and their siblings.

    Parameters
    ----------
    data : DataTree
        Results of a model that observes a `Rankings`, with `group`.
    statistic : callable
        Function of ranks by item, (..., ranking, item), as `predicted_ranks` returns them. It
        returns the same dims without the items. Rankings with an observed result of NaN are left
        out, such as those without an item.
    var_name : str
        The observed variable.
    group : {"posterior_predictive", "prior_predictive"}
        Group that contains the predicted ranks.

    Returns
    -------
    DataTree
        The statistic as `var_name`, in `group` and observed_data; integers if all are whole.
        With posterior predictions also the posterior and the log-likelihood of the same rankings,
        if `data` has them; `arviz.loo_pit` needs both. Then rankings with the same log-likelihood
        in all draws, such as those of one block, are left out. They say nothing about the model.

    Raises
    ------
    ValueError
        As `predicted_ranks`. Also if rows count several rankings, or the statistic does not return
        one number per ranking, or is observed in no ranking.

    See Also
    --------
    predicted_ranks, ranking_checks

    Examples
    --------
    Where was ale placed?

    >>> import xarray as xr
    >>> import bayesrank as br
    >>> tree = xr.DataTree.from_dict({
    ...     "posterior_predictive": xr.Dataset(
    ...         {"y": (("chain", "draw", "ranking", "slot"),
    ...                [[[[2, 1], [1, 0]], [[1, 2], [1, 0]]]])}),
    ...     "observed_data": xr.Dataset({"y": (("ranking", "slot"), [[1, 2], [1, 0]])}),
    ...     "constant_data": xr.Dataset(
    ...         {"y_item": (("ranking", "slot"), [[1, 0], [1, 0]]),
    ...          "y_ranks": (("ranking", "slot"), [[1, 2], [1, 0]]),
    ...          "y_item_rankings": ("item", [1, 2])},
    ...         coords={"item": ["ale", "bock"]}),
    ... })
    >>> found = br.predicted_statistic(tree, lambda ranks: ranks.sel(item="ale"))
    >>> found["posterior_predictive"]["y"].values.tolist()
    [[[1], [2]]]
    >>> found["observed_data"]["y"].values.tolist()
    [2]
    """
    if group not in DRAWN:
        raise ValueError(f"`group` is {group!r}; it must be one of {[*DRAWN]}.")
    predicted, observed = (
        _one_number(statistic, predicted_ranks(data, var_name, group=name))
        for name in (group, "observed_data")
    )
    refuse_counts(Kept(data, var_name), var_name)
    (row,) = observed.dims
    keep = ~np.isnan(observed.to_numpy())
    found = {group: predicted, "observed_data": observed}
    posterior = group == "posterior_predictive" and "posterior" in data.children
    weighted = posterior and "log_likelihood" in data.children
    if weighted and var_name in data["log_likelihood"].data_vars:
        logp = data["log_likelihood"].dataset[var_name]
        if row in logp.dims:  # otherwise rankings have a common log-likelihood, as those of rankers
            found["log_likelihood"] = logp
            keep &= (logp.max(SAMPLE) - logp.min(SAMPLE) > SAME).to_numpy()
    if not keep.any():
        raise ValueError(
            "The statistic is NaN in all observed rankings that the model predicts. Use only items "
            "that some of the rankings have."
        )
    found = {name: x.isel({row: keep}) for name, x in found.items()}
    numbers = [found[group], found["observed_data"]]
    if all(bool((x == x.round()).all()) for x in numbers):
        found |= {name: found[name].astype(np.int64) for name in (group, "observed_data")}
    tree = xr.DataTree.from_dict({name: x.to_dataset(name=var_name) for name, x in found.items()})
    if posterior:
        tree["posterior"] = data["posterior"].copy()
    return tree


def _one_number(
    statistic: Callable[[xr.DataArray], xr.DataArray], ranks: xr.DataArray
) -> xr.DataArray:
    """Compute a statistic of ranks by item, (..., ranking, item), and check its dims."""
    *dims, item = ranks.dims
    value = statistic(ranks)
    if not isinstance(value, xr.DataArray) or {*value.dims} != {*dims}:
        got = (
            f"the dims {[*map(str, value.dims)]}"
            if isinstance(value, xr.DataArray)
            else type(value)
        )
        raise ValueError(
            f"`statistic` must return a DataArray with the dims {[*map(str, dims)]}, one number "
            f"per ranking; it returned {got}. Select one item, such as ranks.sel({item}=...), or "
            f"reduce over the items, such as ranks.max({str(item)!r})."
        )
    return value.transpose(*dims).drop_vars(str(item), errors="ignore")


def _drawn(data: xr.DataTree, var_name: str, group: str) -> tuple[xr.DataArray, Kept]:
    """Find the ranks by slot, and the data that name the items of the slots."""
    if group not in GROUPS:
        raise ValueError(f"`group` is {group!r}; it must be one of {[*GROUPS]}.")
    drawn = ranks_in(data, group, var_name)
    constant = "predictions_constant_data" if group == "predictions" else "constant_data"
    kept = Kept(data, var_name, constant)
    if ITEM not in kept or RANKS not in kept:
        raise ValueError(
            f"{constant} does not name the items of the rankings {var_name!r}. Observe a Rankings: "
            "a distribution with observed=Rankings stores its items."
        )
    return drawn, kept


def ranks_in(data: xr.DataTree, group: str, var_name: str) -> xr.DataArray:
    """Find a variable in a group of results, drawn or observed."""
    if not isinstance(data, xr.DataTree):
        raise TypeError(f"Expected a DataTree with the group {group}; got {type(data).__name__}.")
    if group not in data.children:
        raise ValueError(
            f"The DataTree has no {group}; it has {sorted(map(str, data.children))}. "
            f"{GROUPS[group]}"
        )
    found = data[group].dataset
    if var_name not in found:
        raise ValueError(
            f"{group} has no variable {var_name!r}; it has {sorted(map(str, found.data_vars))}. "
            "Name the rankings with var_name=."
        )
    return found[var_name]


def refuse_counts(kept: Kept, var_name: str) -> None:
    """Raise if a row of rankings stands for several rankings, which are predicted once."""
    counts = kept.times(str(kept[ITEM].dims[0]))
    if counts is not None:
        raise ValueError(
            f"The rows of {var_name!r} count {int(counts.sum()):,} rankings, but each of the "
            f"{counts.size} rows was predicted once. Predict every ranking: in the model, "
            f"write `br.set_observed({var_name!r}, rankings.expand())`, then "
            "`pm.sample_posterior_predictive(idata, extend_inferencedata=True)`. If these are too "
            "many, use `rankings.split(0.1)[0].expand()`, a tenth of them."
        )


def item_names(kept: Kept, n_items: int) -> pd.Index:
    """Return labels of the items, or numbers if the results do not name them."""
    labels = kept.items
    return pd.Index(range(n_items)) if labels is None or len(labels) < n_items else labels
