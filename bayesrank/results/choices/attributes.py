"""What attributes are worth: their importance, and willingness to pay for them."""

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayesrank.data import Rankings
from bayesrank.data.read import locate, warn
from bayesrank.results.choices.shares import By, over_rankers, select_features
from bayesrank.results.draws import SAMPLE, described, interval_probability, posterior_utilities
from bayesrank.schema import FEATURE

__all__ = ["PriceWarning", "attribute_importance", "willingness_to_pay"]

NEGLIGIBLE = 0.01  # a tenth of what an interval of probability 0.9 leaves out


class PriceWarning(UserWarning):
    """The coefficient of the price may be zero or positive, so that ratios have no meaning."""


def attribute_importance(
    data: Any,
    var_name: str = "part_worth",
    *,
    profiles: pd.DataFrame | Rankings,
    by: By = None,
) -> xr.DataArray:
    r"""Compute how much each attribute can move a utility, as a share, in every draw.

    .. math:: I_a = \frac{\max_x f_a(x) - \min_x f_a(x)}
                         {\sum_b \left(\max_x f_b(x) - \min_x f_b(x)\right)}, \qquad
              f_a(x) = \sum_{k \in a} x_k \beta_k

    where x runs over the profiles and k over the features of attribute a. It is computed for each
    ranker, and then averaged.

    Parameters
    ----------
    data, by
        As in `share_of_preference`.
    var_name : str
        The part-worths, with the dim feature. Features such as ``brand[A]`` and ``brand[B]`` belong
        to one attribute, whose name is the feature without the brackets.
    profiles : DataFrame or Rankings
        The profiles whose range counts, coded as in the model: a table with one column per feature,
        or the rankings with their features. A price from 1 to 9 is more important than a price from
        4 to 6.

    Returns
    -------
    DataArray, (chain, draw, ..., attribute)
        Shares that sum to one. An attribute with noisy part-worths has a positive share even if it
        does not matter, because a range is never negative.

    Raises
    ------
    ValueError
        If the profiles lack a feature, or are all alike.

    See Also
    --------
    willingness_to_pay, share_of_preference, part_worths

    Examples
    --------
    >>> import pandas as pd
    >>> import xarray as xr
    >>> import bayesrank as br
    >>> part_worth = xr.DataArray([[[1.0, 3.0, -0.5]]], dims=("chain", "draw", "feature"),
    ...                           coords={"feature": ["brand[B]", "brand[C]", "price"]})
    >>> cars = pd.DataFrame({"brand[B]": [0, 1, 0], "brand[C]": [0, 0, 1], "price": [10, 12, 16]})
    >>> found = br.attribute_importance(part_worth, profiles=cars)
    >>> found["attribute"].values.tolist(), found.values.tolist()
    (['brand', 'price'], [[[0.5, 0.5]]])
    """
    part_worth = posterior_utilities(data, var_name, FEATURE)
    labels = part_worth[FEATURE].to_numpy()
    if isinstance(profiles, Rankings):
        if profiles.features is None:
            raise ValueError("The rankings have no features. Pass a table of profiles.")
        profiles = pd.DataFrame(profiles.features[profiles.mask], columns=profiles.feature_names)
    table = select_features(profiles, labels, FEATURE, "`profiles`")
    attribute = pd.Series(table.columns.astype(str)).str.replace(r"\[.*?\]", "", regex=True)
    levels = {}
    for name, columns in attribute.groupby(attribute, sort=False).indices.items():
        values = table.iloc[:, columns].drop_duplicates()
        if len(columns) == 1:  # the ends suffice
            values = values.agg(["min", "max"])
        levels[name] = xr.DataArray(values, dims=("level", FEATURE))
    if all((x == x[0]).all() for x in levels.values()):
        raise ValueError("The profiles are identical, so no attribute can change a utility.")
    part_worth = part_worth.assign_coords({FEATURE: labels})
    moved = []
    for level in levels.values():
        effect = xr.dot(part_worth.sel({FEATURE: level[FEATURE]}), level, dim=FEATURE)
        moved.append(effect.max("level") - effect.min("level"))
    ranges = xr.concat(moved, pd.Index(list(levels), name="attribute"))
    found = over_rankers(ranges / ranges.sum("attribute"), by, "mean")
    return found.transpose(*SAMPLE, ..., "attribute").rename("importance")


def willingness_to_pay(
    data: Any,
    price: Any,
    var_name: str = "part_worth",
    *,
    by: By = None,
    ci_prob: float | None = None,
) -> pd.DataFrame:
    r"""Compute the price that one unit of each feature is worth: median and interval.

    .. math:: W_k = -\beta_k / \beta_{\text{price}}

    where :math:`\beta_k` is the part-worth of feature k in a draw. The mean of this ratio does not
    exist if the density of the price's coefficient is positive at zero, as under a normal prior.
    The median and the ends of an interval of equal tails always exist.

    Parameters
    ----------
    data, var_name
        As in `attribute_importance`.
    price : label
        The feature that is the price. The result is in its units. If the price was standardised,
        multiply the result by its standard deviation (``rankings.attributes.units``).
    by : "ranker", optional
        By default, the median over all rankers in each draw; with "ranker", the ratio of each.
    ci_prob : float, optional
        Probability of the interval, in (0, 1), with equal tails. By default
        ``arviz.rcParams["stats.ci_prob"]``.

    Returns
    -------
    DataFrame
        One row per feature other than the price, and per group or ranker. The columns are median,
        low and high. A level such as ``brand[A]`` is compared with the reference of the
        coding: the reference level, or the average of all levels.

    Raises
    ------
    ValueError
        If `price` is not a feature or is the only one, or `ci_prob` is out of range.

    Warns
    -----
    PriceWarning
        If the coefficient of the price is zero or positive in more than 1% of draws (and rankers).

    See Also
    --------
    attribute_importance, share_of_preference, part_worths

    Examples
    --------
    >>> import xarray as xr
    >>> import bayesrank as br
    >>> part_worth = xr.DataArray([[[2.0, -1.0], [2.0, -2.0], [2.0, -4.0]]],
    ...     dims=("chain", "draw", "feature"), coords={"feature": ["sunroof", "price"]})
    >>> br.willingness_to_pay(part_worth, "price", ci_prob=0.5)
             median   low  high
    feature
    sunroof     1.0  0.75   1.5
    """
    ci_prob = interval_probability(ci_prob)
    part_worth = posterior_utilities(data, var_name, FEATURE)
    labels = part_worth[FEATURE].to_numpy()
    at = locate(pd.Index([price]), pd.Index(labels), FEATURE)
    if len(labels) == 1:
        raise ValueError(f"{described(data, var_name)[0]} has no feature besides {price!r}.")
    share = float((part_worth.isel({FEATURE: at[0]}) >= 0).mean())
    if share > NEGLIGIBLE:
        warn(
            f"The coefficient of {price!r} is zero or positive in {share:.1%} of draws. There a "
            "higher price makes an item better, and the ratio is not a willingness to pay. The "
            "mean of the ratio does not exist, and its interval may not be useful. If a higher "
            "price cannot please, give minus the coefficient a positive prior, such as "
            "pm.LogNormal.",
            PriceWarning,
        )
    draws = part_worth.assign_coords({FEATURE: labels})
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = -draws.drop_isel({FEATURE: at}) / draws.isel({FEATURE: at[0]}, drop=True)
        worth = over_rankers(ratio, by, "median")
    tail = (1 - ci_prob) / 2
    names = ["median", "low", "high"]
    groups = [d for d in worth.dims if d not in (*SAMPLE, FEATURE)]
    ends = worth.quantile([0.5, tail, 1 - tail], SAMPLE).transpose(..., *groups, FEATURE)
    found = xr.Dataset({name: x.drop_vars("quantile") for name, x in zip(names, ends, strict=True)})
    return found.to_dataframe(dim_order=[*groups, FEATURE])[names]
