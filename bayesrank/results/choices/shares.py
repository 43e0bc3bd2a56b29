r"""Shares of preference: how often each item or profile of a set would be chosen.

One function is also the simulator of a market. All sets use the same draws, so that the difference
of two sets is a posterior of the change.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr

from bayesrank.data.read import as_frame, axis_index, locate
from bayesrank.results.draws import SAMPLE, posterior_utilities
from bayesrank.schema import FEATURE, ITEM, RANKER

__all__ = ["By", "over_rankers", "select_features", "share_of_preference"]

By = Literal["ranker"] | None
Offer = Sequence[Hashable] | pd.DataFrame


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

    where :math:`u_{ri}` is the utility of item i for ranker r of R, and S a set on offer. With one
    utility per ranker, this is the average of the shares of the rankers. The share at the average
    utility describes a ranker who may not exist.

    Parameters
    ----------
    data : DataTree, Dataset or DataArray
        Posterior with the dims chain, draw, `dim`, and perhaps ranker and others, such as groups.
    var_name : str
        The utilities of items, or the part-worths of features.
    sets : sequence of labels, table, or mapping of these, optional
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
        If a set is empty, repeats an item, or names unknown items or features.

    See Also
    --------
    attribute_importance, willingness_to_pay, place_probability

    Notes
    -----
    If an item stands for "none of these", put it into the set as any other item. Among profiles, it
    is a row of zeros if its utility is zero in the model.

    Shares assume that people choose as consistently as in the survey. An added item takes the same
    proportion of each other item's share from a given ranker.

    Examples
    --------
    >>> import numpy as np
    >>> import xarray as xr
    >>> import bayesrank as br
    >>> u = xr.DataArray(np.log([[[4.0, 2.0, 2.0]]]), dims=("chain", "draw", "item"),
    ...                  coords={"item": ["a", "b", "c"]})
    >>> br.share_of_preference(u).values
    array([[[0.5 , 0.25, 0.25]]])
    >>> shares = br.share_of_preference(u, sets={"now": ["b", "c"], "new": ["a", "b", "c"]})
    >>> (shares.sel(set="new") - shares.sel(set="now")).sel(item=["a", "b"]).values
    array([[[ 0.5 , -0.25]]])
    """
    several = isinstance(sets, Mapping)
    offers: dict[Any, Any] = dict(sets) if isinstance(sets, Mapping) else {0: sets}
    offers = {name: as_frame(offer) for name, offer in offers.items()}
    tables = {isinstance(offer, pd.DataFrame) for offer in offers.values()}
    if len(tables) != 1:
        raise ValueError(
            "`sets` must be lists of items only, or tables of profiles only; it "
            f"{'has both' if tables else 'is empty'}."
        )
    are_profiles = tables.pop()
    dim = dim or (FEATURE if are_profiles else ITEM)
    utility = posterior_utilities(data, var_name, dim)
    utility = utility.assign_coords({dim: utility[dim].to_numpy()})
    across = dim
    if are_profiles:
        across = next((str(x.index.name) for x in offers.values() if x.index.name), "profile")
    taken = [*map(str, utility.dims), *(["set"] if several else [])]
    taken += [across] if are_profiles else []
    if twice := [name for name in taken if taken.count(name) > 1]:
        raise ValueError(
            f"The shares would have two dims {twice[0]!r}. Rename this dim of the utilities or "
            "part-worths, or the index of the profiles."
        )

    known, shares = pd.Index(utility[dim].to_numpy()), []
    union: dict[Any, None] = {}
    for name, offer in offers.items():
        what = f"sets[{name!r}]" if several else "sets"
        listed: Any = known if offer is None else offer.index if are_profiles else offer
        labels = axis_index(listed, what)
        if labels.empty:
            raise ValueError(f"`{what}` is empty. Give at least one label.")
        if are_profiles:
            features = select_features(offer, known, dim, f"`{what}`")
            u = xr.dot(utility, xr.DataArray(features.to_numpy(), dims=(across, dim)), dim=dim)
        else:
            u = utility.isel({dim: locate(labels, known, dim)})
        worth: Any = np.exp(u - u.max(across))
        share = over_rankers(worth / worth.sum(across), by, "mean")
        shares.append(share.assign_coords({across: labels}))
        union |= dict.fromkeys(labels)
    if not several:
        return shares[0].transpose(*SAMPLE, ..., across).rename("share")
    shares = [share.reindex({across: [*union]}) for share in shares]
    found = xr.concat(shares, pd.Index([*offers], name="set")).fillna(0.0)
    return found.transpose(*SAMPLE, ..., "set", across).rename("share")


def select_features(table: pd.DataFrame, labels: Any, dim: Hashable, what: str) -> pd.DataFrame:
    """Take the columns of a table that are the features of the model, as finite numbers."""
    if not table.columns.is_unique:
        twice = table.columns[table.columns.duplicated()].tolist()
        raise ValueError(f"{what} has two columns {twice[0]!r}; keep one of them.")
    extra, lacking = table.columns.difference(labels), pd.Index(labels).difference(table.columns)
    if len(extra) or len(lacking):
        raise ValueError(
            f"{what} must have one column for each label of {dim!r}; it lacks "
            f"{lacking.tolist()}, and {extra.tolist()} are not features. Code profiles as the "
            "data of the model, such as with rankings.attributes.code(table)."
        )
    try:
        numbers = table[list(labels)].astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{what} has values that are not numbers: {error}. Code profiles as the data of the "
            "model, such as with rankings.attributes.code(table)."
        ) from error
    if not np.isfinite(numbers.to_numpy()).all():
        raise ValueError(f"{what} has values that are not finite. Fill in all features.")
    return numbers


def over_rankers(values: xr.DataArray, by: By, how: Literal["mean", "median"]) -> xr.DataArray:
    """Reduce the dim of the rankers by a mean or median, unless `by` is "ranker"."""
    if by not in (None, RANKER) or (by is not None and RANKER not in values.dims):
        raise ValueError(
            f"`by` must be None, or 'ranker' if the variable has this dim; got {by!r} for the dims "
            f"{[str(d) for d in values.dims]}."
        )
    return values if by or RANKER not in values.dims else getattr(values, how)(RANKER)
