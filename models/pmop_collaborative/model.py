r"""Collaborative filtering with ordered partitions (Tran et al., section on factor models).

Story: a ranker rates a few of many items with stars. The utility of an item is its general appeal
plus the product of its factors and the ranker's factors. Stars sort the items into blocks. A
penalty also uses the stars themselves as data, in addition to the order.

    ranker_factor[u, k] ~ Normal(0, ranker_scale)
    item_factor[i, k]   ~ Normal(0, item_scale)
    item_bias[i]        ~ Normal(0, item_bias_scale), unless the scale is None
    ranker_level[u]     ~ Normal(mean rating, level_scale), unless the scale is None
    utility[r, s]       = item_bias[i] + sum_k ranker_factor[u, k] item_factor[i, k]
    blocks of ranking r ~ PMOP(utility[r, :])^beta, or another of `LIKELIHOODS`
    rating[r, s]        ~ Normal(ranker_level[u] + utility[r, s], 1)^(1 - beta)

with the ranker u of ranking r and the item i in its slot s. The mode is the maximum of eq. 25,

.. math:: \beta \sum_r \log P(S_r) - \frac{1 - \beta}{2} \sum_{u,i} (x_{ui} - w_{ui})^2 - R

with the weak order :math:`S_r` of ranking r, the ratings x less the levels, the utilities w, and
the ridge terms R of the priors.

======================  =========================  ===============
symbol                  variable                   dims
======================  =========================  ===============
:math:`W`               ``ranker_factor``          ranker, factor
:math:`H`               ``item_factor``            item, factor
:math:`b`               ``item_bias``              item
level                   ``ranker_level``           ranker
order                   ``y``                      ranking, slot
======================  =========================  ===============

The model differs from the paper's in item biases and ranker levels, and in the constants of the
likelihood. The squared errors have the other sign, because the paper prints them as a reward. The
comparison includes the exact Plackett-Luce likelihood of weak orders. Order and stars use the same
data twice. So eq. 25 is not a likelihood unless beta is one, and LOO is not defined.

`models.pmop_collaborative.study` compares the likelihoods on MovieLens, and writes ``RESULTS.md``.

References
----------
Tran, Phung & Venkatesh, Modelling human preferences for ranking and collaborative filtering: a
probabilistic ordered partition approach.

Rendle et al., BPR: Bayesian personalized ranking from implicit feedback, UAI 2009.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray
from pymc.blocking import DictToArrayBijection
from pytensor.tensor import TensorVariable

import bayesrank as br
from bayesrank.inference import Point, adam, objective
from bayesrank.likelihoods.ops import NOTHING
from bayesrank.likelihoods.pairs import bradley_terry_log_probabilities
from bayesrank.likelihoods.plackett_luce import log_remainder
from models.shared.modes import posterior_modes
from models.shared.pairs_of_rankings import pairs_logp, weak_order_pairs
from models.shared.rating_factors import ratings_of

Scales = Mapping[str, float]
JITTER = 0.1  # of the start: where all factors are 0, the objective has a saddle


# ---------------------------------------------------------------------------------------------
# Likelihoods: what the utilities of the slots say about the order
# ---------------------------------------------------------------------------------------------


def distribution(utility: TensorVariable, rankings: br.Rankings, beta: Any, **more: Any) -> None:
    """Observe the rankings; their weights include beta, also for minibatches."""
    kind = more.pop("kind")
    more["utility_dims"] = ("ranking", "slot")
    pm.Data("y_weight", rankings.evidence, dims="ranking")  # takes the place of the weights of y
    kind("y", utility, observed=rankings, total_size=rankings.n_rankings, **more)
    pm.set_data({"y_weight": float(beta.get_value()) * rankings.evidence})


def pairs(utility: TensorVariable, rankings: br.Rankings, beta: Any) -> None:
    """Use all pairs of different stars, each as a separate comparison (BPR)."""
    listed = weak_order_pairs(rankings.ranks, ties="drop")
    pm.Potential("y", beta * pt.sum(pairs_logp(utility, listed, bradley_terry_log_probabilities)))


def tied_denominators(utility: TensorVariable, rankings: br.Rankings, beta: Any) -> None:
    """Bound Plackett-Luce by choosing every item of a block from the whole remainder."""
    slot, row = np.arange(rankings.n_slots), np.arange(rankings.n_rankings)[:, None]
    opens = np.diff(rankings.ranks, axis=1, prepend=-1) != 0
    opening = np.maximum.accumulate(np.where(opens, slot, 0), axis=1)
    remainder = log_remainder(pt.switch(rankings.mask, utility, NOTHING))[row, opening]
    terms = pt.switch(rankings.mask, utility - remainder, 0.0)
    pm.Potential("y", beta * pt.sum(terms))


LIKELIHOODS: dict[str, Callable[[TensorVariable, br.Rankings, Any], None]] = {
    "pmop": partial(distribution, kind=br.PMOP),
    "pmop_given_sizes": partial(distribution, kind=br.PMOP, given_sizes=True),
    "plackett_luce": partial(distribution, kind=br.PlackettLuce),
    "tied_denominators": tied_denominators,
    "pairs": pairs,
}


def break_ties(rankings: br.Rankings) -> br.Rankings:
    """Break ties by sorting: order the items of a block as on the item axis."""
    return br.Rankings(
        rankings.item,
        np.where(rankings.mask, np.arange(1, rankings.n_slots + 1), 0),
        items=rankings.items,
        rankers=rankings.rankers,
        ranker_idx=rankings.ranker_idx,
        count=rankings.count,
        weight=rankings.weight,
        labels=rankings.labels,
        features=rankings.features,
        feature_names=rankings.feature_names,
    )


def build(
    rankings: br.Rankings,
    *,
    likelihood: str = "pmop",
    rating: str = "rating",
    n_factors: int = 5,
    beta: float = 1.0,
    ranker_scale: float = 0.1,
    item_scale: float = 1.0,
    item_bias_scale: float | None = 0.3,
    level_scale: float | None = 0.5,
    hierarchical: bool = False,
) -> pm.Model:
    """Build the model.

    Parameters
    ----------
    rankings : Rankings
        The observed rankings.
    likelihood : str
        One of `LIKELIHOODS`.
    rating : str
        The feature of `rankings` that holds the ratings, as from
        ``Rankings.from_ratings(..., rating="rating", features=["rating"])``. Only read for a beta
        below one.
    n_factors : int
        Number of factors, 1 or more.
    beta : float
        Weight of the order against the ratings, from 0 to 1.
    ranker_scale, item_scale : float
        Standard deviations of the factors, positive. The utilities depend only on their product.
    item_bias_scale : float, optional
        Standard deviation of the item biases; None leaves them out.
    level_scale : float, optional
        Standard deviation of the rankers' levels around the mean rating. With None, only the
        utilities predict the ratings, as in the paper.
    hierarchical : bool
        Give the scales half-normal priors with these scales, instead of fixing them. Use it with
        samplers. At the mode, free scales vanish, so `fit_map` refuses them.

    Returns
    -------
    pm.Model
        With the variables of the table above, and the scales.

    Raises
    ------
    ValueError
        If the likelihood is unknown, a number is out of its range, or the rankings have no
        ratings where they are needed.

    Examples
    --------
    >>> model = build(br.Rankings.from_orderings([["a", "b"], ["b", "c"]]), n_factors=2)
    >>> [rv.name for rv in model.free_RVs]
    ['ranker_factor', 'item_factor', 'item_bias']
    """
    scales = {
        "ranker_scale": ranker_scale,
        "item_scale": item_scale,
        "item_bias_scale": item_bias_scale,
        "level_scale": level_scale,
    }
    _check(likelihood, n_factors, beta, scales)
    stars = ratings_of(rankings, rating) if beta < 1 else None
    coords = {**rankings.coords, "factor": np.arange(n_factors)}

    with pm.Model(coords=coords) as model:
        weight = pm.Data("beta", beta)
        item = pm.Data("slot_item", rankings.item)
        ranker = pm.Data("ranking_ranker", rankings.ranker_idx)

        def prior(name: str, scale: str, dims: tuple[str, ...], mean: float = 0.0) -> Any:
            make = pm.HalfNormal if hierarchical else pm.Data
            return pm.Normal(name, mean, make(scale, scales[scale]), dims=dims)

        W = prior("ranker_factor", "ranker_scale", ("ranker", "factor"))
        H = prior("item_factor", "item_scale", ("item", "factor"))
        # slot by slot, without a matrix of all rankers by all items
        utility = (W[ranker][:, None] * H[item]).sum(axis=-1)
        if item_bias_scale is not None:
            utility += prior("item_bias", "item_bias_scale", ("item",))[item]
        LIKELIHOODS[likelihood](utility, rankings, weight)
        if stars is None:
            return model

        expected = utility
        if level_scale is not None:
            mean = float(stars[rankings.mask].mean())
            level = prior("ranker_level", "level_scale", ("ranker",), mean)
            expected = utility + level[ranker][:, None]
        used = pm.Data("slot_used", rankings.mask.astype(float))
        error = used * (pm.Data("slot_rating", stars) - expected)
        share = rankings.n_rankings / ranker.shape[0]  # of which the minibatch is one
        pm.Potential("rating", -(1 - weight) / 2 * share * pt.sum(error**2))
    return model


def _check(
    likelihood: str, n_factors: int, beta: float, scales: Mapping[str, float | None]
) -> None:
    if likelihood not in LIKELIHOODS:
        known = ", ".join(map(repr, LIKELIHOODS))
        raise ValueError(f"`likelihood` is {likelihood!r}; it is one of {known}.")
    if n_factors < 1:
        raise ValueError(f"`n_factors` is {n_factors}; give at least one.")
    if not 0 <= beta <= 1:
        raise ValueError(f"`beta` is {beta}; a weight lies between 0 and 1.")
    for name, scale in scales.items():
        if scale is not None and not 0 < scale < math.inf:
            raise ValueError(f"`{name}` is {scale}; it must be positive.")


# ---------------------------------------------------------------------------------------------
# Fitting and predicting
# ---------------------------------------------------------------------------------------------


def fit_map(
    model: pm.Model, scales: Iterable[Scales] = ({},), *, seed: int = 1, max_iterations: int = 300
) -> list[Point]:
    """Find the mode by L-BFGS for several scales, from one start and with one compilation.

    Parameters
    ----------
    model : pm.Model
        The model from `build`.
    scales : list of dict
        Values of `ranker_scale` and the other scales, in turn; by default the values of the model.
    seed : int
        Random seed of the start, which has small factors.
    max_iterations : int
        Maximum number of iterations of each fit.

    Returns
    -------
    list of dict
        Values of the variables.
    """
    _check_fixed_scales(model)
    return posterior_modes(
        model, scales, warm=False, jitter=JITTER, random_seed=seed, max_iterations=max_iterations,
        tolerance=np.inf,
    )  # fmt: skip


def fit_adam(
    model: pm.Model,
    rankings: br.Rankings,
    *,
    batch_size: int = 64,
    n_epochs: int = 100,
    learning_rate: float = 0.05,
    rating: str = "rating",
    seed: int = 1,
) -> Point:
    """Find the mode by Adam on minibatches of rankings.

    Parameters
    ----------
    model : pm.Model
        The model from `build`, whose likelihood is a distribution. Afterwards it contains all
        rankings.
    rankings : Rankings
        The rankings that the model was built with.
    batch_size : int
        Rankings in a step; their terms are scaled up to the number of all rankings.
    n_epochs : int
        Number of passes over the rankings.
    learning_rate : float
        Learning rate of the first step; see `adam`.
    rating : str
        The feature that holds the ratings.
    seed : int
        Random seed of the start and the minibatches.

    Returns
    -------
    dict
        Values of the variables.
    """
    _check_fixed_scales(model)
    logp, start = objective(model, jitter=JITTER, random_seed=seed)
    rng = np.random.default_rng(seed)
    n_batches = math.ceil(rankings.n_rankings / batch_size)
    batches = (
        rankings.subset(np.sort(rows))
        for _ in range(n_epochs)
        for rows in np.array_split(rng.permutation(rankings.n_rankings), n_batches)
    )

    def slope(x: NDArray[np.float64]) -> NDArray[np.float64]:
        observe(model, next(batches), rating=rating)
        return logp(x)[1]

    x = adam(slope, start.data, n_steps=n_epochs * n_batches, learning_rate=learning_rate)
    observe(model, rankings, rating=rating)
    return DictToArrayBijection.rmap(start._replace(data=x))


def observe(model: pm.Model, rankings: br.Rankings, *, rating: str = "rating") -> None:
    """Put other rankings, of the same rankers and items, into the model; nothing is compiled."""
    if "y_weight" not in model.named_vars:
        raise ValueError(
            "This likelihood is not a distribution, so its data are fixed: minibatches "
            "need one of 'pmop', 'pmop_given_sizes' and 'plackett_luce'."
        )
    br.set_observed("y", rankings, model=model)
    data = {
        "slot_item": rankings.item,
        "ranking_ranker": rankings.ranker_idx,
        "y_weight": float(model["beta"].get_value()) * rankings.evidence,
    }
    if "slot_rating" in model.named_vars:
        data["slot_rating"] = ratings_of(rankings, rating)
        data["slot_used"] = rankings.mask.astype(float)
    pm.set_data(data, model=model)


def _check_fixed_scales(model: pm.Model) -> None:
    free = [rv.name for rv in model.free_RVs if rv.name.endswith("_scale")]
    if free:
        raise ValueError(
            f"The scales {free} are free, and at the mode they vanish. Build the model with "
            "hierarchical=False, or sample it with pm.sample."
        )


def predict(point: Point, ranker: NDArray[Any], item: NDArray[Any]) -> NDArray[np.float64]:
    """Return the utility of each item for the ranker in the same position."""
    utility = np.sum(point["ranker_factor"][ranker] * point["item_factor"][item], axis=-1)
    return utility + point["item_bias"][item] if "item_bias" in point else utility
