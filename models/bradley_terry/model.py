r"""Bradley-Terry with item features, random item effects and an order effect.

Story: every item has a utility, which its features explain in part; the rest is its own, and how
large such rests are is learned from all items. Two items meet, and the difference of their
utilities, with what the first gains by being the first, is the log odds that it wins.

    prior_scale    ~ HalfNormal(1), if it is not given
    item_effect[i] ~ Normal(0, prior_scale)
    coefficient[f] ~ Normal(0, coefficient_scale)
    utility[i]     = sum_f features[i, f] coefficient[f] + item_effect[i]
    order_effect   ~ Normal(0, order_scale), if asked for
    first wins     ~ Bernoulli(logistic(utility[first] - utility[second] + order_effect))

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

An item that was never compared has the utility that its features say, give or take
``prior_scale``: put it on the item axis of the pairs, or call `with_new_items` afterwards.

Differs from the papers in having a posterior: of the scale too, so that predictions for new items
are as wide as the items that were seen say.

**Baseball**, 1987, seven teams. Agresti's maximum likelihood has the home team ahead by 0.302
(standard error 0.13); the posterior has 0.28 (sd 0.13), positive with probability 0.99. By LOO
the model is ahead of that without it by 2.0 (standard error 2.3). Teams are drawn together as the
learned scale says: Milwaukee, the first, is ahead of Baltimore, the last, by 1.35, not by 1.62.

**Sushi**, 100 kinds, five matches of two from each of 5,000 people's rankings of ten. Without
features the scale of the item effects is 0.68 (sd 0.06); with how often people eat a kind
(coefficient 0.65 per standard deviation, sd 0.04), its price (0.19), how often it is sold (-0.14),
whether it is no roll (0.04) and how light it is (0.00), 0.19 (0.02): the features say 92% of the
variance. Take 20 kinds and their 9,871 matches away: what the features say of the 20 correlates
with what their own matches say at 0.96, and is within the 80% interval for 16 of them. The log
score of a match with one of them is -0.608; fitted to these very matches it is -0.604, that of a
coin -0.693. How often people eat a kind is of course much the same question.

References
----------
Bradley & Terry, Rank analysis of incomplete block designs I, Biometrika 39, 1952.
Springall, Response surface fitting using a generalization of the Bradley-Terry paired comparison
model, Applied Statistics 22, 1973.
Turner & Firth, Bradley-Terry models in R: the BradleyTerry2 package, Journal of Statistical
Software 48(9), 2012.

Run ``python -m models.bradley_terry.model``: baseball and the home advantage; or, with the folder
of the sushi data, ``python -m models.bradley_terry.model FOLDER``: what is known of a sushi never
compared.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
import xarray as xr

import bayesrank as br
from models.shared.item_features import aligned, check_scales

SUSHI_FEATURES = {2: "no roll", 5: "light", 6: "eaten", 7: "price", 8: "sold"}  # by column


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
        What was observed, without ties. Items that were never compared may be on the axis.
    features : DataFrame, optional
        One row per item (the index are the items; rows of other items are not used), one column
        per feature, best standardised.
    prior_scale : float, optional
        Standard deviation of the item effects, positive; by default it is learned.
    coefficient_scale : float
        Standard deviation of the coefficients, positive.
    order_effect : bool
        Whether it may matter who is the first: at home, with white, on the left. False where
        the order means nothing, as in the pairs of a matrix.
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
            utility = effect + pt.sum(x * coefficient, axis=-1)  # a small matrix: no threaded BLAS
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
    """Draw the utilities of items that the model has never seen, beside those that it has.

    Parameters
    ----------
    posterior : DataTree
        Of a model with features.
    features : DataFrame
        One row per new item, with the columns of the model; more are not used.
    prior_scale : float, optional
        The scale of the item effects if it was given to the model.
    seed : int
        Of the draws.

    Returns
    -------
    Dataset
        ``utility`` (chain, draw, item) of the old items and the new, for `bayesrank.rank_summary`
        and its like, and the other scalars of the posterior.

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


def sushi_features(folder: str | Path, items: pd.Index) -> pd.DataFrame:
    """Read what is known of 100 kinds of sushi, standardised; `folder` is that of `load_sushi`."""
    path = Path(folder) / "sushi3.idata"
    table = pd.read_csv(path, sep="\t", header=None, comment="#", encoding="utf-8")
    table = table[list(SUSHI_FEATURES)].rename(columns=SUSHI_FEATURES).set_axis(items)
    return (table - table.mean()) / table.std(ddof=0)


def sushi_matches(rankings: br.Rankings, *, seed: int = 1) -> br.Pairs:
    """Cut each ranking of ten into five matches of two, at random.

    Under Plackett-Luce every item has a noise of its own, so that matches without a common item
    are independent given the utilities, and each is one of Bradley-Terry. All 45 pairs of a
    ranking would be a composite likelihood, which takes one person's order for 45 opinions.

    Parameters
    ----------
    rankings : Rankings
        Full, of an even number of items.
    seed : int
        Of the choice.

    Returns
    -------
    Pairs
        The first item stands earlier on the axis: there is no order effect.
    """
    rng = np.random.default_rng(seed)
    slot = rng.permuted(np.tile(np.arange(rankings.n_slots), (rankings.n_rankings, 1)), axis=1)
    one, other = np.sort(slot.reshape(-1, 2), axis=1).T  # slots are best first
    ranking = np.repeat(np.arange(rankings.n_rankings), rankings.n_slots // 2)
    winner, loser = rankings.item[ranking, one], rankings.item[ranking, other]
    first = winner < loser
    table = pd.DataFrame(
        {
            "first": rankings.items.take(np.where(first, winner, loser)),
            "second": rankings.items.take(np.where(first, loser, winner)),
            "outcome": np.where(first, "first", "second"),
        }
    )
    return br.Pairs.from_frame(
        table, first="first", second="second", outcome="outcome", items=rankings.items
    )


def without(pairs: br.Pairs, items: pd.Index) -> br.Pairs:
    """Take items and their matches away."""
    rows = pairs.to_frame()
    rows = rows[~(rows["first"].isin(items) | rows["second"].isin(items))]
    others = pairs.items[~pairs.items.isin(items)]
    return br.Pairs.from_frame(
        rows, first="first", second="second", outcome="outcome", count="count", items=others
    )


def sampled(model: pm.Model, **options: Any) -> xr.DataTree:
    """Sample by NUTS; the sum of the utilities is a stiff direction, for the low-rank matrix."""
    options = {"chains": 2, "random_seed": 1, "nuts_sampler": "nutpie"} | options
    with model:
        return pm.sample(nuts={"adaptation": "low_rank", "target_accept": 0.9}, **options)


def baseball() -> None:
    """Print the teams, and what it is worth to be at home."""
    pairs = br.load_baseball()
    models = {"home advantage": build(pairs, order_effect=True), "none": build(pairs)}
    fitted = {name: sampled(model) for name, model in models.items()}
    for name, model in models.items():
        pm.compute_log_likelihood(fitted[name], model=model, progressbar=False)
    posterior = fitted["home advantage"]
    print(br.rank_summary(posterior).round(2).to_string())
    order = posterior["posterior"]["order_effect"]
    print(
        f"home advantage {order.mean():.2f}, sd {order.std():.2f}, P(> 0) {(order > 0).mean():.3f}"
    )
    print(br.compare(fitted).to_string())


def sushi(folder: str | Path, n_new: int = 20) -> None:
    """Print what features say of kinds of sushi whose matches were taken away."""
    rankings = br.load_sushi("b", folder)
    pairs, features = sushi_matches(rankings), sushi_features(folder, rankings.items)
    new = rankings.items[np.random.default_rng(1).permutation(rankings.n_items)[:n_new]]
    posterior = sampled(build(without(pairs, new), features))
    draws = posterior["posterior"]
    print(f"prior_scale {draws['prior_scale'].mean():.2f}")
    print(draws["coefficient"].mean(("chain", "draw")).to_series().round(2).to_string())
    told = br.rank_summary(with_new_items(posterior, features.loc[new]))["mean_rank"]
    played = br.rank_summary(sampled(build(pairs)))["mean_rank"]
    table = pd.DataFrame({"told by features": told, "played": played}).loc[new]
    print(table.sort_values("played").round(1).to_string())


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sushi(sys.argv[1])
    else:
        baseball()
