r"""Plackett-Luce with item features (Hunter 2004; Yildiz et al. 2020).

Story: every item has a utility, which its features explain in part. A ranker orders the items
presented by utility plus Gumbel noise; where the table has ties, the order inside is unknown.

    coefficient[f] ~ Normal(0, coefficient_scale)
    item_effect[i] ~ Normal(0, prior_scale)
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

Differs from the papers in having priors, so that items that never lose have finite utilities,
and in the exact treatment of ties.

References
----------
Hunter, MM algorithms for generalized Bradley-Terry models, Annals of Statistics 32, 2004.
Yildiz et al., Fast and accurate ranking regression, AISTATS 2020.

Run ``python -m models.plackett_luce``: the ten best drivers of the NASCAR 2002 season.
"""

import pandas as pd
import pymc as pm
import pytensor.tensor as pt

import bayesrank as br


def build(
    rankings: br.Rankings,
    features: pd.DataFrame | None = None,
    *,
    prior_scale: float = 1.0,
    coefficient_scale: float = 1.0,
) -> pm.Model:
    """Build the model.

    Parameters
    ----------
    rankings : Rankings
        What was observed.
    features : DataFrame, optional
        One row per item (the index are the items), one column per feature, best standardised.
    prior_scale : float
        Standard deviation of the item effects, positive.
    coefficient_scale : float
        Standard deviation of the coefficients, positive.

    Returns
    -------
    pm.Model
        With the variables of the table above.

    Raises
    ------
    ValueError
        If an item has no features.

    Examples
    --------
    >>> model = build(br.Rankings.from_orderings([["a", "b"], ["b", "c"]]))
    >>> [rv.name for rv in model.free_RVs]
    ['item_effect']
    """
    coords = dict(rankings.coords)
    if features is not None:
        missing = rankings.items.difference(features.index)
        if len(missing):
            raise ValueError(f"`features` has no row for the items {list(missing)[:5]}.")
        features = features.loc[rankings.items]
        coords["feature"] = features.columns.to_numpy()

    with pm.Model(coords=coords) as model:
        effect = pm.Normal("item_effect", 0, prior_scale, dims="item")
        utility = effect
        if features is not None:
            x = pm.Data("features", features.to_numpy(dtype=float), dims=("item", "feature"))
            coefficient = pm.Normal("coefficient", 0, coefficient_scale, dims="feature")
            utility = effect + pt.sum(x * coefficient, axis=-1)  # a small matrix: no threaded BLAS
        utility = pm.Deterministic("utility", utility, dims="item")
        br.PlackettLuce("y", utility, observed=rankings)
    return model


if __name__ == "__main__":
    with build(br.load_nascar()):
        posterior = pm.sample(nuts_sampler="nutpie", random_seed=1)
    print(br.rank_summary(posterior).head(10).round(2))
