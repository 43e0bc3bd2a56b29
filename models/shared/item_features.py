"""Check features of items, and put them in the order of the items.

>>> table = pd.DataFrame({"price": [2.0, 1.0]}, index=["tea", "ale"])
>>> aligned(table, pd.Index(["ale", "tea"]))["price"].tolist()
[1.0, 2.0]
"""

import numpy as np
import pandas as pd

__all__ = ["aligned", "check_scales"]


def aligned(features: pd.DataFrame, items: pd.Index) -> pd.DataFrame:
    """Take the rows of the items, in their order.

    Parameters
    ----------
    features : DataFrame
        One row per item (the index are the items; rows of other items are not used), one column
        per feature.
    items : pandas.Index
        The item axis.

    Returns
    -------
    DataFrame of float, (n_items, n_features)

    Raises
    ------
    ValueError
        If an item has no row or several, or a feature is not finite.
    """
    missing = items.difference(features.index)
    if len(missing):
        raise ValueError(f"`features` has no row for the items {list(missing)[:5]}.")
    repeated = features.index[features.index.duplicated()].intersection(items)
    if len(repeated):
        raise ValueError(f"`features` has several rows for the items {list(repeated)[:5]}.")
    features = features.loc[items].astype(float)
    x = features.to_numpy()
    for i, f in np.argwhere(~np.isfinite(x)):
        raise ValueError(
            f"Feature {features.columns[f]!r} of item {items[i]!r} is {x[i, f]}; it must be a "
            "finite number."
        )
    return features


def check_scales(**scales: float) -> None:
    """Raise for a standard deviation of a prior that is not positive.

    Examples
    --------
    >>> check_scales(prior_scale=0)
    Traceback (most recent call last):
    ValueError: `prior_scale` is 0; it must be positive.
    """
    for name, scale in scales.items():
        if not scale > 0:
            raise ValueError(f"`{name}` is {scale}; it must be positive.")
