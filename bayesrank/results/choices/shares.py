r"""Shares of preference: how often each item or profile of a set would be chosen.

One function is also the simulator of a market. Its sets are the scenarios: a market now, with
another product, without one, at another price. All sets use the same draws, so that the difference
of two sets is a posterior of the change.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayesrank.results.choices.rankers import By, in_parts, over_rankers, positions
from bayesrank.results.draws import posterior_utilities

__all__ = ["feature_columns", "share_of_preference"]

Offer = Sequence[Hashable] | pd.DataFrame
OFFERED = "offered"  # the dim of what is on offer, until it gets its name


def share_of_preference(
    data: Any,
    var_name: str = "utility",
    *,
    sets: Offer | Mapping[Any, Offer] | None = None,
    by: By = None,
    dim: str | None = None,
) -> xr.DataArray:
    r"""Compute the share of each item or profile among those on offer, in every draw.

    .. math:: P_r(i \mid S) = \frac{e^{u_{ri}}}{\sum_{j \in S} e^{u_{rj}}}, \qquad
              P(i \mid S) = \frac{1}{R} \sum_r P_r(i \mid S)

    for ranker r of R and a set S on offer. With one utility per ranker, this is the average of the
    shares of the rankers. The share at the average utility is something else: it describes a ranker
    who may not exist. Suppose that half of the rankers love a and hate b, the others the reverse,
    and all rank c between them. Nearly nobody chooses c, but at the average utility the three items
    have equal shares.

    Parameters
    ----------
    data : DataTree, Dataset or DataArray
        Posterior with the dims chain, draw, `dim`, and perhaps ranker and others, such as groups.
    var_name : str
        The utilities of items, or the part-worths of features.
    sets : sequence of labels, DataFrame, or mapping of these, optional
        What is on offer, by default all items. It is a list of items, or a table with one row per
        profile and one column per feature, as ``rankings.attributes.code`` returns it. A mapping
        names several sets.
    by : "ranker", optional
        By default one share for all rankers. "ranker" keeps their shares separate; the mean over
        some of them is the share of their group.
    dim : str, optional
        The dim of the items, by default "item"; for tables the dim of the features, by default
        "feature".

    Returns
    -------
    DataArray, (chain, draw, ..., set, item)
        Shares, which sum to one over the items of a set; 0 for items that are not on offer. The dim
        set exists only for a mapping. For tables the last dim has the name of their index, or
        "profile". For means and intervals use ``az.summary(shares, kind="stats")``.

    Raises
    ------
    ValueError
        For the reasons of `rank_draws`, or if a set is empty, repeats an item, or names unknown
        items or features.

    Notes
    -----
    If an item stands for "none of these", put it into the set as any other item. Among profiles, it
    is a row of zeros if its utility is zero in the model.

    Shares are those of the scale of the survey: people may choose more or less consistently in a
    shop. They also assume that an added item takes the same proportion of each other item's share
    from a given ranker.

    Examples
    --------
    >>> u = xr.DataArray(np.log([[[4.0, 2.0, 2.0]]]), dims=("chain", "draw", "item"),
    ...                  coords={"item": ["a", "b", "c"]})
    >>> share_of_preference(u).values
    array([[[0.5 , 0.25, 0.25]]])
    >>> shares = share_of_preference(u, sets={"now": ["b", "c"], "new": ["a", "b", "c"]})
    >>> (shares.sel(set="new") - shares.sel(set="now")).sel(item=["a", "b"]).values
    array([[[ 0.5 , -0.25]]])

    Two profiles, and part-worths of two rankers:

    >>> part_worth = xr.DataArray(np.log([[[[3.0, 2.0], [1.0, 2.0]]]]),
    ...     dims=("chain", "draw", "ranker", "feature"), coords={"feature": ["red", "large"]})
    >>> cars = pd.DataFrame({"red": [1, 0], "large": [0, 1]}, index=["one", "other"])
    >>> share_of_preference(part_worth, sets=cars, by="ranker").sel(profile="one").values
    array([[[0.6       , 0.33333333]]])
    """
    several = isinstance(sets, Mapping)
    offers: dict[Any, Any] = dict(sets) if isinstance(sets, Mapping) else {0: sets}
    tables = {isinstance(offer, pd.DataFrame) for offer in offers.values()}
    if len(tables) != 1:
        raise ValueError(
            "`sets` must be lists of items only, or tables of profiles only; it "
            f"{'has both' if tables else 'is empty'}."
        )
    are_profiles = tables.pop()
    dim = dim or ("feature" if are_profiles else "item")
    utility = posterior_utilities(data, var_name, dim)
    utility = utility.assign_coords({dim: utility[dim].to_numpy()})
    across = dim
    if are_profiles:
        across = next((str(x.index.name) for x in offers.values() if x.index.name), "profile")
    for new in {across, "set"} - {dim} if several else {across} - {dim}:
        if new in utility.dims:
            raise ValueError(f"{var_name!r} has a dim {new!r}, which the result needs. Rename it.")

    known = utility[dim].to_numpy()
    labels: dict[Any, list[Any]] = {}
    on_offer = {}  # features of profiles, or positions of items
    for name, offer in offers.items():
        what = f"The set {name!r}" if several else "`sets`"
        if are_profiles:
            labels[name] = list(offer.index)
            positions(offer.index, offer.index, dim, what)
            features = feature_columns(offer, known, dim, what)
            on_offer[name] = xr.DataArray(features.to_numpy(), dims=(OFFERED, dim))
        else:
            labels[name] = list(known if offer is None else offer)
            at = positions(labels[name], known, dim, what)
            on_offer[name] = xr.DataArray(at, dims=OFFERED)
    union = list(dict.fromkeys(x for listed in labels.values() for x in listed))

    def shares(draws: xr.DataArray) -> xr.DataArray:
        found = []
        for name, x in on_offer.items():
            u = xr.dot(draws, x, dim=dim) if are_profiles else draws.isel({dim: x}).drop_vars(dim)
            u = u.rename({OFFERED: across})
            worth: Any = np.exp(u - u.max(across))
            share = over_rankers(worth / worth.sum(across), by, "mean")
            found.append(share.assign_coords({across: labels[name]}).reindex({across: union}))
        return xr.concat(found, pd.Index(list(on_offer), name="set")).fillna(0.0)

    found = in_parts(shares, utility, len(on_offer)).transpose(..., "set", across).rename("share")
    return found if several else found.isel(set=0, drop=True)


def feature_columns(table: pd.DataFrame, labels: Any, dim: Hashable, what: str) -> pd.DataFrame:
    """Take the columns of a table that are the features of the model, as finite numbers."""
    extra, lacking = table.columns.difference(labels), pd.Index(labels).difference(table.columns)
    if len(extra) or len(lacking):
        raise ValueError(
            f"{what} must have one column for each label of {dim!r}; it lacks "
            f"{lacking.tolist()}, and {extra.tolist()} are not features. Code profiles as the "
            "data of the model, such as with rankings.attributes.code(table)."
        )
    numbers = table[list(labels)].astype(np.float64)
    if not np.isfinite(numbers.to_numpy()).all():
        raise ValueError(f"{what} has values that are not finite. Fill in all features.")
    return numbers
