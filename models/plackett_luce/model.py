r"""Plackett-Luce with item features (Hunter 2004; Yildiz et al. 2020).

Story: every item has a utility, which its features explain in part. A ranker orders the presented
items by utility plus Gumbel noise. If the table contains ties, the order inside a tie is unknown.

    coefficient[f] ~ Normal(0, coefficient_scale)
    item_effect[i] ~ Normal(0, prior_scale), optionally summing to zero
    utility[i]     = sum_f features[i, f] coefficient[f] + item_effect[i]
    ranking[r]     = order of utility[item[r]] + Gumbel, cut into blocks

======================  =========================  ===============
symbol                  variable                   dims
======================  =========================  ===============
:math:`w_i`             ``utility``                item
:math:`\beta`           ``coefficient``            feature
:math:`v_i`             ``item_effect``            item
weak order              ``y``                      ranking, slot
======================  =========================  ===============

The model differs from the papers in two ways. It has priors, so that items that never lose have
finite utilities, and it treats ties exactly.

Run ``python -m models.plackett_luce.model`` for the ten best drivers of the NASCAR 2002 season.

References
----------
Hunter, MM algorithms for generalized Bradley-Terry models, Annals of Statistics 32, 2004.

Yildiz et al., Fast and accurate ranking regression, AISTATS 2020.
"""

from typing import Literal

import pandas as pd
import pymc as pm

import bayesrank as br
from bayesrank.inference import sample
from bayesrank.priors import utility_prior
from models.shared.item_features import aligned, check_scales


def build(
    rankings: br.Rankings,
    features: pd.DataFrame | None = None,
    *,
    prior: Literal["normal", "zero-sum"] = "normal",
    prior_scale: float = 1.0,
    coefficient_scale: float = 1.0,
) -> pm.Model:
    """Build the model.

    Parameters
    ----------
    rankings : Rankings
        Observed rankings.
    features : DataFrame, optional
        One row per item, with the items as index, and one column per feature. Standardise the
        features. Rows of other items are ignored.
    prior : {"normal", "zero-sum"}
        Prior of the item effects. "normal", the default, suits sparse data. "zero-sum" suits many
        long rankings. It removes the sum of the effects, which rankings do not determine.
    prior_scale : float
        Standard deviation of the item effects, positive.
    coefficient_scale : float
        Standard deviation of the coefficients, positive.

    Returns
    -------
    pm.Model
        Model with the variables of the table above.

    Raises
    ------
    ValueError
        If an item has no features or several rows of them, a feature is not finite, a scale is
        not positive, or the prior is unknown.

    Examples
    --------
    >>> model = build(br.Rankings.from_orderings([["a", "b"], ["b", "c"]]))
    >>> [rv.name for rv in model.free_RVs]
    ['item_effect']
    """
    check_scales(prior_scale=prior_scale, coefficient_scale=coefficient_scale)
    coords = dict(rankings.coords)
    if features is not None:
        features = aligned(features, rankings.items)
        coords["feature"] = features.columns.to_numpy()

    with pm.Model(coords=coords) as model:
        effect = utility_prior(prior, "item_effect", sigma=prior_scale, dims="item")
        utility = effect
        if features is not None:
            x = pm.Data("features", features.to_numpy(), dims=("item", "feature"))
            coefficient = pm.Normal("coefficient", 0, coefficient_scale, dims="feature")
            utility = effect + (x * coefficient).sum(axis=-1)
        utility = pm.Deterministic("utility", utility, dims="item")
        br.PlackettLuce("y", utility, observed=rankings)
    return model


if __name__ == "__main__":
    with build(br.load_nascar()):
        # The sum of independent utilities is a stiff direction, which the low-rank matrix finds.
        posterior = sample(nuts={"adaptation": "low_rank"}, random_seed=1)
    print(br.rank_summary(posterior).head(10).round(2).to_string())
