"""What predictive checks need of a DataTree: rankings, their predictions and a consensus."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bayesrank.results.check_statistics import block_counts
from bayesrank.results.ranks import rank_draws
from bayesrank.schema import ITEM, WEIGHT, Kept

__all__ = ["Found", "consensus_places", "found_rankings", "weak_orders"]

SAMPLE = ("chain", "draw")
GROUPS = {  # and what to do without
    "posterior_predictive": (
        "With the model: pm.sample_posterior_predictive(idata, extend_inferencedata=True)."
    ),
    "observed_data": "Pass what pm.sample() returned, extended by predictions.",
    "constant_data": "Pass what pm.sample() returned, extended by predictions.",
}


class Found(NamedTuple):
    """Rankings in a DataTree, slots in the order they have there."""

    item: NDArray[np.int64]  # (n_rankings, n_slots)
    used: NDArray[np.bool_]  # (n_rankings, n_slots)
    weight: NDArray[np.float64]  # (n_rankings,)
    observed: NDArray[Any]  # (n_rankings, n_slots)
    predicted: NDArray[Any]  # (n_draws, n_rankings, n_slots)
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

    y, dims = drawn[var], seen[var].dims
    if set(y.dims) != {*SAMPLE, *dims} or any(y.sizes[d] != seen[var].sizes[d] for d in dims):
        raise ValueError(
            f"The predictions of {var!r} have the sizes {dict(y.sizes)}, the observed rankings "
            f"{dict(seen[var].sizes)}: predict the rankings that were observed."
        )
    values = y.transpose(*SAMPLE, *dims).values.reshape(-1, *seen[var].shape)
    if not len(values):
        raise ValueError(f"The predictions of {var!r} hold no draw.")
    if draws is not None and draws < len(values):
        values = values[np.linspace(0, len(values) - 1, draws).round().astype(int)]
    observed = seen[var].values
    item = kept[ITEM].values.astype(np.int64)
    items = _item_labels(kept, int(item.max()) + 1)
    names = seen[dims[0]].values if dims[0] in seen.coords else np.arange(len(observed))
    return Found(
        item=item,
        used=observed > 0,
        weight=kept[WEIGHT].values.astype(np.float64),
        observed=observed,
        predicted=values,
        items=items,
        rankings=pd.Index(names),
        sizes_given="given their block sizes" in outcome,
    )


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
    data: xr.DataTree, found: Found, consensus: str | Sequence[Any] | None
) -> tuple[NDArray[np.int64], str]:
    """Find the place of every item in the consensus, from 0, and where that order comes from."""
    n_items = len(found.items)
    if consensus is not None and not isinstance(consensus, str):
        place = found.items.get_indexer(pd.Index(consensus))
        if sorted(place) != list(range(n_items)):
            raise ValueError(
                f"`consensus` must hold each of the {n_items} items once, best first; it holds "
                f"{len(place)} labels, of which {len(set(place) - {-1})} are different items."
            )
        return place.argsort(), "as given"
    var = consensus or "utility"
    posterior = data["posterior"].to_dataset() if "posterior" in data.children else xr.Dataset()
    dims = [str(d) for d in posterior[var].dims if d not in SAMPLE] if var in posterior else []
    # labelled as the items are, or numbered
    known = [found.items.tolist(), list(range(n_items))]
    if len(dims) == 1 and posterior[dims[0]].values.tolist() in known:
        mean = rank_draws(posterior, var, dim=dims[0]).mean(SAMPLE).values
        return mean.argsort(kind="stable").argsort(), f"posterior mean rank by {var!r}"
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
    return mean.argsort(kind="stable").argsort(), "mean place in the predicted lists"
