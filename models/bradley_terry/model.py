r"""Bradley-Terry with item features, random item effects and an order effect.

Story: every item has a utility, which its features explain in part. The rest is an item effect, and
the model learns the scale of these effects. Two items meet. The log odds that the first wins are
the difference of the utilities plus the advantage of the first position.

    prior_scale    ~ HalfNormal(1), if it is not given
    item_effect[i] ~ Normal(0, prior_scale)
    coefficient[f] ~ Normal(0, coefficient_scale)
    utility[i]     = sum_f features[i, f] coefficient[f] + item_effect[i]
    order_effect   ~ Normal(0, order_scale), if asked for
    log odds       = utility[first] - utility[second] + order_effect
    first wins     ~ Bernoulli(logistic(log odds))

======================  =========================  ===============
symbol                  variable                   dims
======================  =========================  ===============
:math:`w_i`             ``utility``                item
:math:`\beta`           ``coefficient``            feature
:math:`v_i`             ``item_effect``            item
:math:`\sigma`          ``prior_scale``
:math:`\delta`          ``order_effect``
outcomes                ``y``                      pair, result
======================  =========================  ===============

For an item that was never compared, the features predict the utility, with the standard deviation
``prior_scale``. Put the item on the item axis of the pairs, or call `with_new_items` afterwards.

Unlike the papers' models, this one has a posterior, also of the scale. So the spread of the
observed items determines the width of predictions for new items.

`models.bradley_terry.study` fits the model to baseball, and `models.bradley_terry.sushi` fits it to
sushi. Both write ``RESULTS.md``.

References
----------
Bradley & Terry, Rank analysis of incomplete block designs I, Biometrika 39, 1952.

Springall, Response surface fitting using a generalization of the Bradley-Terry paired comparison
model, Applied Statistics 22, 1973.

Turner & Firth, Bradley-Terry models in R: the BradleyTerry2 package, Journal of Statistical
Software 48(9), 2012.
"""

import numpy as np
import pandas as pd
import pymc as pm
import xarray as xr

import bayesrank as br
from models.shared.item_features import aligned, check_scales


def build(
    pairs: br.Pairs,
    features: pd.DataFrame | None = None,
    *,
    prior_scale: float | None = None,
    coefficient_scale: float = 1.0,
    order_effect: bool = False,
    order_scale: float = 0.5,
) -> pm.Model:
    """Build the model.

    Parameters
    ----------
    pairs : Pairs
        The observed matches, without ties. The axis may have items that were never compared.
    features : DataFrame, optional
        One row per item (the index is the items; rows of other items are not used), one column
        per feature. Standardise the features.
    prior_scale : float, optional
        Standard deviation of the item effects, positive; by default it is learned.
    coefficient_scale : float
        Standard deviation of the coefficients, positive.
    order_effect : bool
        Whether the first position may have an advantage: at home, with white, on the left. Use
        False if the order does not mean anything, as in the pairs of a matrix.
    order_scale : float
        Standard deviation of the order effect, positive.

    Returns
    -------
    pm.Model
        With the variables of the table above.

    Raises
    ------
    ValueError
        If there are ties, an item has no features or several rows of them, a feature is not
        finite, or a scale is not positive.

    Examples
    --------
    >>> model = build(br.load_baseball(), order_effect=True)
    >>> [rv.name for rv in model.free_RVs]
    ['prior_scale', 'item_effect', 'order_effect']
    """
    given = {} if prior_scale is None else {"prior_scale": prior_scale}
    check_scales(**given, coefficient_scale=coefficient_scale, order_scale=order_scale)
    coords = dict(pairs.coords)
    if features is not None:
        features = aligned(features, pairs.items)
        coords["feature"] = features.columns.to_numpy()

    with pm.Model(coords=coords) as model:
        scale = pm.HalfNormal("prior_scale", 1.0) if prior_scale is None else prior_scale
        effect = pm.Normal("item_effect", 0, scale, dims="item")
        utility = effect
        if features is not None:
            x = pm.Data("features", features.to_numpy(), dims=("item", "feature"))
            coefficient = pm.Normal("coefficient", 0, coefficient_scale, dims="feature")
            utility = effect + (x * coefficient).sum(axis=-1)
        utility = pm.Deterministic("utility", utility, dims="item")
        order = pm.Normal("order_effect", 0, order_scale) if order_effect else None
        br.BradleyTerry("y", utility, order_effect=order, observed=pairs)
    return model


def with_new_items(
    posterior: xr.DataTree,
    features: pd.DataFrame,
    *,
    prior_scale: float | None = None,
    seed: int = 1,
) -> xr.Dataset:
    """Draw the utilities of new items, in addition to those of the observed items.

    Parameters
    ----------
    posterior : DataTree
        The posterior of a model with features.
    features : DataFrame
        One row per new item, with the columns of the model; other columns are not used.
    prior_scale : float, optional
        The scale of the item effects if it was given to the model.
    seed : int
        Random seed of the draws.

    Returns
    -------
    Dataset
        ``utility`` (chain, draw, item) of the old and the new items, for `bayesrank.rank_summary`
        and similar functions, and the other scalars of the posterior.

    Raises
    ------
    ValueError
        If a new item is an old one, occurs twice, or lacks a feature.
    """
    draws = posterior["posterior"].to_dataset()
    known = pd.Index(draws["item"].to_numpy())
    names = draws["feature"].to_numpy().tolist()
    if len(old := features.index.intersection(known)):
        raise ValueError(f"The items {list(old)[:5]} are not new: the posterior has them.")
    if len(lacking := set(names) - set(features.columns)):
        raise ValueError(f"`features` has no column {sorted(lacking)[0]!r}, which the model has.")
    features = aligned(features[names], features.index)
    x = xr.DataArray(features.to_numpy(), coords={"item": features.index, "feature": names})
    scale = draws["prior_scale"] if prior_scale is None else prior_scale
    expected = (x * draws["coefficient"]).sum("feature").transpose("chain", "draw", "item")
    noise = np.random.default_rng(seed).normal(size=expected.shape)
    new = expected + scale * xr.DataArray(noise, coords=expected.coords)
    scalars = draws[[str(name) for name, x in draws.items() if x.dims == ("chain", "draw")]]
    return scalars.assign(utility=xr.concat([draws["utility"], new], "item"))
