"""Predicted ranks by item, from predictive draws by slot.

Slots are sorted by the observed ranks, best first, so slot 0 holds a different item in each
ranking.
"""

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayesrank.schema import ITEM, RANKS, Kept

__all__ = ["item_names", "predicted_ranks", "ranks_in"]

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

    Notes
    -----
    ArviZ plots predicted and observed ranks together if both are in a DataTree:

    >>> by_item = xr.DataTree.from_dict({
    ...     group: predicted_ranks(idata, group=group).sel(item="ale").to_dataset()
    ...     for group in ("posterior_predictive", "observed_data")
    ... })  # doctest: +SKIP
    >>> az.plot_ppc_dist(by_item, kind="ecdf")  # doctest: +SKIP

    Examples
    --------
    >>> tree = xr.DataTree.from_dict({
    ...     "posterior_predictive": xr.Dataset(
    ...         {"y": (("chain", "draw", "ranking", "slot"), [[[[2, 1], [1, 0]]]])}),
    ...     "constant_data": xr.Dataset(
    ...         {"y_item": (("ranking", "slot"), [[1, 0], [1, 0]]),
    ...          "y_ranks": (("ranking", "slot"), [[1, 2], [1, 0]]),
    ...          "y_item_rankings": ("item", [1, 2])},
    ...         coords={"item": ["ale", "bock"]}),
    ... })
    >>> predicted_ranks(tree).sel(chain=0, draw=0).to_pandas()
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


def item_names(kept: Kept, n_items: int) -> pd.Index:
    """Return labels of the items, or numbers if the results do not name them."""
    labels = kept.items
    return pd.Index(range(n_items)) if labels is None or len(labels) < n_items else labels
