r"""Collaborative filtering with ordered partitions (Tran et al., section on factor models).

Story: a ranker rates a few of many items with stars. What they like is what the items have times
what they care for, beside what everybody likes. Stars sort the items into blocks; beside the
order, the stars themselves are data, by a penalty.

    ranker_factor[u, k] ~ Normal(0, ranker_scale)
    item_factor[i, k]   ~ Normal(0, item_scale)
    item_bias[i]        ~ Normal(0, item_bias_scale)               unless the scale is None
    ranker_level[u]     ~ Normal(mean rating, level_scale)         unless the scale is None
    utility[r, s]       = item_bias[i] + sum_k ranker_factor[u, k] item_factor[i, k]
    blocks of ranking r ~ PMOP(utility[r, :])^beta                 or another of `LIKELIHOODS`
    rating[r, s]        ~ Normal(ranker_level[u] + utility[r, s], 1)^(1 - beta)

with the ranker u of ranking r and the item i in its slot s. The mode is the maximum of eq. 25,

.. math:: \beta \sum_r \log P(S^r) - \frac{1 - \beta}{2} \sum_{ui} (r_{ui} - w_{ui})^2
          - \text{ridge terms} .

======================  =========================  ===============
symbol                  variable                   dims
======================  =========================  ===============
:math:`W`               ``ranker_factor``          ranker, factor
:math:`H`               ``item_factor``            item, factor
:math:`b`               ``item_bias``              item
level of :math:`r`      ``ranker_level``           ranker
weak order              ``y``                      ranking, slot
======================  =========================  ===============

Differs from the paper in item biases and ranker levels, in the constants of the likelihood, in
the sign of the squared errors, printed as a reward, and in what it stands beside: the exact
Plackett-Luce likelihood of weak orders. Order and stars are the same data twice: eq. 25 is an
objective and not a likelihood, except for beta of one, and has no LOO.

References
----------
Tran, Phung & Venkatesh, Modelling human preferences for ranking and collaborative filtering: a
probabilistic ordered partition approach.
Koren, Bell & Volinsky, Matrix factorization techniques for recommender systems, Computer 42, 2009.
Rendle et al., BPR: Bayesian personalized ranking from implicit feedback, UAI 2009.

Run ``python -m models.pmop_collaborative FOLDER`` with the folder of MovieLens 100K, by default
``ml-100k`` below ``BAYESRANK_DATA``: tables for 10 and 50 training ratings, and a figure.
"""

import math
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pymc as pm
import pytensor
import pytensor.tensor as pt
from matplotlib.axes import Axes
from numpy.typing import NDArray
from pymc.blocking import DictToArrayBijection, RaveledVars
from pytensor.tensor import TensorVariable
from scipy.optimize import minimize

import bayesrank as br
from bayesrank.likelihoods.composite import pairs_logp, weak_order_pairs
from bayesrank.likelihoods.cumulative import NOTHING, log_remainder
from bayesrank.likelihoods.pairwise import bradley_terry_logp
from bayesrank.likelihoods.pmop_op import pmop_logp
from bayesrank.likelihoods.stage_op import weak_order_logp
from bayesrank.results.metrics import query_metrics
from bayesrank.utility import factor_utility

Point = Mapping[str, NDArray[np.float64]]  # values of the variables
Scales = Mapping[str, float]
TOP = 5  # stars


# ---------------------------------------------------------------------------------------------
# Likelihoods: what the utilities of the slots say about the order
# ---------------------------------------------------------------------------------------------


def distribution(utility: TensorVariable, rankings: br.Rankings, beta: Any, **more: Any) -> None:
    """Observe the rankings; their weights carry beta, which minibatches then keep."""
    kind = more.pop("kind")
    kind("y", utility, observed=rankings, total_size=rankings.n_rankings, **more)
    pm.set_data({"y_weight": float(beta.get_value()) * rankings.weight})


def pairs(utility: TensorVariable, rankings: br.Rankings, beta: Any) -> None:
    """BPR: all pairs of different stars, each as if compared by itself."""
    listed = weak_order_pairs(rankings.ranks, ties="drop")
    pm.Potential("y", beta * pt.sum(pairs_logp(utility, listed, bradley_terry_logp)))


def tied_denominators(utility: TensorVariable, rankings: br.Rankings, beta: Any) -> None:
    """Bound Plackett-Luce: every item of a block is chosen from the whole remainder."""
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
    """Order the items of a block as they stand on the item axis: ties broken by sort."""
    return br.Rankings(
        rankings.item,
        np.where(rankings.mask, np.arange(1, rankings.n_slots + 1), 0),
        items=rankings.items,
        rankers=rankings.rankers,
        ranker_idx=rankings.ranker_idx,
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
        What was observed.
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
        Standard deviations of the factors, positive. Only their product is seen in the utilities.
    item_bias_scale : float, optional
        Standard deviation of the item biases; None leaves them out.
    level_scale : float, optional
        Standard deviation of the rankers' levels around the mean rating; with None the ratings
        are predicted by the utilities alone, as in the paper.
    hierarchical : bool
        Give the scales half-normal priors with these scales, instead of fixing them. For
        samplers: a mode with free scales is where they vanish, so `fit_map` refuses.

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
    stars = _ratings(rankings, rating) if beta < 1 else None
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
        bias = None
        if item_bias_scale is not None:
            bias = prior("item_bias", "item_bias_scale", ("item",))
        utility = factor_utility(W, H, item, ranker=ranker, item_bias=bias)
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


def _ratings(rankings: br.Rankings, rating: str) -> NDArray[np.float64]:
    names = [] if rankings.feature_names is None else list(rankings.feature_names)
    if rankings.features is None or rating not in names:
        raise ValueError(
            f"With a beta below 1 ratings are data too, but `rankings` has no feature {rating!r} "
            f"(it has {names}). Keep them with from_ratings(..., features=[{rating!r}])."
        )
    return rankings.features[..., names.index(rating)]


# ---------------------------------------------------------------------------------------------
# Fitting
# ---------------------------------------------------------------------------------------------


def fit_map(
    model: pm.Model, scales: Iterable[Scales] = ({},), *, seed: int = 1, max_iterations: int = 300
) -> list[Point]:
    """Find the mode by L-BFGS, for each of some scales; compiled once.

    Parameters
    ----------
    model : pm.Model
        From `build`.
    scales : list of dict
        Values for `ranker_scale` and its like, in turn; by default those of the model.
    seed : int
        Of the start, small factors at random: without factors the objective has a saddle.
    max_iterations : int
        Of each fit.

    Returns
    -------
    list of dict
        Values of the variables.
    """
    logp, start = _objective(model, seed)

    def loss(x: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        value, slope = logp(x)
        return -float(value), -slope

    found = []
    for values in scales:
        pm.set_data(dict(values), model=model)
        x = minimize(
            loss,
            start.data,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": max_iterations, "maxfun": 2 * max_iterations},
        ).x
        found.append(DictToArrayBijection.rmap(RaveledVars(x, start.point_map_info)))
    return found


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
        From `build`, of a likelihood that is a distribution. Holds all rankings again afterwards.
    rankings : Rankings
        Those it was built with.
    batch_size : int
        Rankings in a step; their terms count as many times as makes them stand for all.
    n_epochs : int
        How often every ranking is seen.
    learning_rate : float
        Of the first step; falls to zero along a half cosine, so that the noise dies out.
    rating : str
        The feature that holds the ratings.
    seed : int
        Of the start and the minibatches.

    Returns
    -------
    dict
        Values of the variables.

    References
    ----------
    Kingma & Ba, Adam: a method for stochastic optimization, ICLR 2015.
    """
    rng = np.random.default_rng(seed)
    logp, start = _objective(model, seed)
    x = start.data.copy()
    mean, square = np.zeros_like(x), np.zeros_like(x)
    n_batches = math.ceil(rankings.n_rankings / batch_size)
    n_steps = n_epochs * n_batches
    for step in range(n_steps):
        if step % n_batches == 0:
            batches = np.array_split(rng.permutation(rankings.n_rankings), n_batches)
        observe(model, rankings.subset(np.sort(batches[step % n_batches])), rating=rating)
        slope = logp(x)[1]
        mean += 0.1 * (slope - mean)
        square += 0.001 * (slope**2 - square)
        # both start at zero, which the powers make good
        m, v = mean / (1 - 0.9 ** (step + 1)), square / (1 - 0.999 ** (step + 1))
        rate = learning_rate * (1 + math.cos(math.pi * step / n_steps)) / 2
        x += rate * m / (np.sqrt(v) + 1e-8)
    observe(model, rankings, rating=rating)
    return DictToArrayBijection.rmap(RaveledVars(x, start.point_map_info))


def observe(model: pm.Model, rankings: br.Rankings, *, rating: str = "rating") -> None:
    """Put other rankings, of the same rankers and items, into the model; nothing is compiled."""
    if "y_weight" not in model.named_vars:
        raise ValueError(
            "The likelihood of this model is no distribution, its data are fixed: minibatches "
            "need one of 'pmop', 'pmop_given_sizes' and 'plackett_luce'."
        )
    br.set_rankings("y", rankings, model=model)
    data = {
        "slot_item": rankings.item,
        "ranking_ranker": rankings.ranker_idx,
        "y_weight": float(model["beta"].get_value()) * rankings.weight,
    }
    if "slot_rating" in model.named_vars:
        data |= {
            "slot_rating": _ratings(rankings, rating),
            "slot_used": rankings.mask.astype(float),
        }
    pm.set_data(data, model=model)


def _objective(model: pm.Model, seed: int) -> tuple[Any, RaveledVars]:
    """Value and gradient, compiled, and where to start."""
    free = [rv.name for rv in model.free_RVs if rv.name.endswith("_scale")]
    if free:
        raise ValueError(
            f"The scales {free} are free, and at the mode they vanish. Build the model with "
            "hierarchical=False, or sample it with pm.sample."
        )
    start = DictToArrayBijection.map(model.initial_point())
    noise = 0.1 * np.random.default_rng(seed).normal(size=start.data.size)
    return model.logp_dlogp_function(ravel_inputs=True), start._replace(data=start.data + noise)


def predict(point: Point, ranker: NDArray[Any], item: NDArray[Any]) -> NDArray[np.float64]:
    """Give the utility of each of these items for the ranker beside it."""
    utility = np.sum(point["ranker_factor"][ranker] * point["item_factor"][item], axis=-1)
    return utility + point["item_bias"][item] if "item_bias" in point else utility


# ---------------------------------------------------------------------------------------------
# Comparison methods that know only ratings
# ---------------------------------------------------------------------------------------------


def als(
    rankings: br.Rankings,
    *,
    rating: str = "rating",
    n_factors: int = 5,
    ranker_scale: float = 0.1,
    item_scale: float = 1.0,
    item_bias_scale: float = 0.3,
    level_scale: float = 0.5,
    n_sweeps: int = 100,
    seed: int = 1,
) -> Point:
    """Biased matrix factorisation of ratings by alternating least squares.

    The objective is that of `build` with a beta of zero: given the items' part, every ranker is a
    ridge regression, and the other way round.
    """
    row, slot = np.nonzero(rankings.mask)
    u, i = rankings.ranker_idx[row], rankings.item[row, slot]
    stars = _ratings(rankings, rating)[row, slot]
    mean = stars.mean()
    n_rankers, n_items = len(rankings.rankers), rankings.n_items
    rng = np.random.default_rng(seed)
    ranker = 0.1 * rng.normal(size=(n_rankers, 1 + n_factors))  # level, factors
    item = 0.1 * rng.normal(size=(n_items, 1 + n_factors))  # bias, factors
    ranker_ridge = np.array([level_scale, *[ranker_scale] * n_factors]) ** -2.0
    item_ridge = np.array([item_bias_scale, *[item_scale] * n_factors]) ** -2.0
    for _ in range(n_sweeps):
        ranker = _ridge(u, n_rankers, item[i], stars - mean - item[i, 0], ranker_ridge)
        item = _ridge(i, n_items, ranker[u], stars - mean - ranker[u, 0], item_ridge)
    return {
        "ranker_level": mean + ranker[:, 0],
        "ranker_factor": ranker[:, 1:],
        "item_bias": item[:, 0],
        "item_factor": item[:, 1:],
    }


def _ridge(
    group: NDArray[Any],
    n_groups: int,
    other: NDArray[np.float64],
    target: NDArray[np.float64],
    ridge: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Regress within each group on a constant and the factors of the other side."""
    x = np.column_stack([np.ones(len(other)), other[:, 1:]])
    products = np.zeros((n_groups, x.shape[1], x.shape[1]))
    np.add.at(products, group, x[:, :, None] * x[:, None, :])
    moments = np.zeros((n_groups, x.shape[1]))
    np.add.at(moments, group, x * target[:, None])
    return np.linalg.solve(products + np.diag(ridge), moments[..., None])[..., 0]


def item_mean(
    rankings: br.Rankings, *, item_bias_scale: float = 0.3, rating: str = "rating"
) -> Point:
    """Mean rating of every item, shrunken towards the mean of all: a model without rankers."""
    stars, item = _ratings(rankings, rating)[rankings.mask], rankings.item[rankings.mask]
    excess = np.bincount(item, stars - stars.mean(), rankings.n_items)
    shrunken = excess / (np.bincount(item, minlength=rankings.n_items) + item_bias_scale**-2.0)
    nothing = np.zeros((1, 1))
    return {
        "ranker_factor": np.broadcast_to(nothing, (len(rankings.rankers), 1)),
        "item_factor": np.broadcast_to(nothing, (rankings.n_items, 1)),
        "item_bias": shrunken,
    }


# ---------------------------------------------------------------------------------------------
# The study
# ---------------------------------------------------------------------------------------------

Fit = Callable[[br.Rankings, Sequence[Scales]], list[Point]]


def modes(
    rankings: br.Rankings, scales: Sequence[Scales], *, sort: bool = False, **options: Any
) -> list[Point]:
    """Fit `build(rankings, **options)` for each of the scales."""
    return fit_map(build(break_ties(rankings) if sort else rankings, **options), scales)


def each(method: Callable[..., Point]) -> Fit:
    """Fit a method for each of the scales."""
    return lambda rankings, scales: [method(rankings, **values) for values in scales]


def grid(**scales: Sequence[float]) -> list[Scales]:
    """All combinations of scales."""
    return [dict(zip(scales, values, strict=True)) for values in product(*scales.values())]


STARS = grid(item_bias_scale=(0.15, 0.3), ranker_scale=(0.07, 0.1, 0.14))
# Blocks chosen whole say little about their items: utilities must differ more before it shows.
SETS = grid(item_bias_scale=(0.25, 0.5, 1.0), ranker_scale=(0.35, 0.7))

METHODS: dict[str, tuple[Fit, list[Scales]]] = {
    "shrunken item mean": (each(item_mean), grid(item_bias_scale=(0.15, 0.2, 0.3, 0.5))),
    "rating factors (ALS)": (each(als), STARS),
    "pairs (BPR)": (
        partial(modes, likelihood="pairs"),
        grid(item_bias_scale=(0.1, 0.2), ranker_scale=(0.01, 0.02)),
    ),
    "PMOP, no item bias": (
        partial(modes, item_bias_scale=None), grid(ranker_scale=(0.35, 0.7, 1.4))
    ),
    "PMOP": (modes, SETS),
    "PMOP, beta 0.01": (partial(modes, beta=0.01), STARS),
    "PMOP, beta 0.3": (partial(modes, beta=0.3), STARS),
    "Plackett-Luce, ties sorted": (partial(modes, likelihood="plackett_luce", sort=True), STARS),
    "Plackett-Luce, tied denominators": (partial(modes, likelihood="tied_denominators"), STARS),
    "Plackett-Luce": (partial(modes, likelihood="plackett_luce"), STARS),
    "Plackett-Luce, beta 0.3": (
        partial(modes, likelihood="plackett_luce", beta=0.3), STARS
    ),
}  # fmt: skip


def movielens(folder: str | Path, *, min_ratings: int = 10, min_entropy: float = 1.0) -> Any:
    """Ratings (user, movie, rating) of the movies about which users differ.

    Parameters
    ----------
    folder : path
        With ``u.data``.
    min_ratings : int
        Movies with fewer ratings are left out.
    min_entropy : float
        Movies are left out of which the stars have less entropy (in nats, at most log 5 = 1.61).
    """
    names = ["user", "movie", "rating", "time"]
    ratings = pd.read_csv(Path(folder) / "u.data", sep="\t", names=names)
    counts = pd.crosstab(ratings["movie"], ratings["rating"]).to_numpy()
    share = counts / counts.sum(axis=1, keepdims=True)
    entropy = -np.sum(share * np.log(np.where(share > 0, share, 1.0)), axis=1)
    kept = (counts.sum(axis=1) >= min_ratings) & (entropy >= min_entropy)
    movies = np.unique(ratings["movie"])[kept]
    return ratings.loc[ratings["movie"].isin(movies), names[:3]]


def split(
    ratings: pd.DataFrame, sizes: Sequence[int], *, at_least: int, seed: int
) -> list[pd.DataFrame]:
    """Split the ratings of each user at random into parts of these sizes, and the rest.

    Users with fewer than `at_least` ratings are left out.
    """
    enough = ratings.groupby("user")["rating"].transform("size") >= at_least
    shuffled = ratings[enough].sample(frac=1, random_state=seed)
    place = shuffled.groupby("user").cumcount()
    edges = [0, *np.cumsum(sizes), len(ratings)]
    return [
        shuffled[(place >= start) & (place < end)].sort_values(["user", "movie"])
        for start, end in pairwise(edges)
    ]


def to_rankings(ratings: pd.DataFrame, items: pd.Index) -> br.Rankings:
    """Rank the movies of each user, and keep the stars as a feature."""
    return br.Rankings.from_ratings(
        ratings, ranker="user", item="movie", rating="rating", items=items, features=["rating"]
    )


def evaluate(point: Point, rankings: br.Rankings) -> pd.DataFrame:
    """ERR and NDCG of each user."""
    score = predict(point, rankings.ranker_idx[:, None], rankings.item)
    return query_metrics(
        _ratings(rankings, "rating"),
        score,
        where=rankings.mask,
        labels=rankings.rankers,
        max_grade=TOP,
    ).queries


def compare(
    ratings: pd.DataFrame,
    n_train: int,
    at_least: int,
    *,
    methods: Mapping[str, tuple[Fit, Sequence[Scales]]] = METHODS,
    seeds: Iterable[int] = (1,),
    reference: str = "rating factors (ALS)",
) -> pd.DataFrame:
    """Metrics of each method, trained on `n_train` ratings of each user, tested on the rest.

    The scales are chosen across users: for each fifth of them, by the test ratings of the others.
    Splits of several seeds share their users, so that `se` is then somewhat too small.
    """
    items = pd.Index(np.unique(ratings["movie"]))
    tested: dict[str, list[pd.DataFrame]] = {method: [] for method in methods}
    for seed in seeds:
        parts = split(ratings, [n_train], at_least=at_least, seed=seed)
        train, test = (to_rankings(part, items) for part in parts)
        fifth = np.random.default_rng(seed).permutation(test.n_rankings) % 5
        for method, (fit, scales) in methods.items():
            results = [evaluate(point, test) for point in fit(train, scales)]
            for part in range(5):
                marks = [result[fifth != part].mean().sum() for result in results]
                tested[method].append(results[int(np.argmax(marks))][fifth == part])
    joined = {method: pd.concat(queries) for method, queries in tested.items()}
    return pd.DataFrame(
        {method: _row(queries, joined[reference]) for method, queries in joined.items()}
    ).T


def _row(queries: pd.DataFrame, reference: pd.DataFrame) -> dict[str, float]:
    lead = queries["ndcg@5"] - reference["ndcg@5"]
    return {str(name): float(mean) for name, mean in queries.mean().items()} | {
        "ndcg@5 lead": float(lead.mean()),
        "se": float(lead.std()) / math.sqrt(len(lead)),
    }


# ---------------------------------------------------------------------------------------------
# Figure 2: what the models say about movies not seen
# ---------------------------------------------------------------------------------------------

# Name: what is fitted (likelihood, ties broken by sort?), what is asked of it
SCORES: dict[str, tuple[str, bool, str]] = {
    "PMOP mean": ("pmop", False, "pmop"),
    "Plackett-Luce, ties sorted": ("plackett_luce", True, "plackett_luce"),
    "PMOP mean, given sizes": ("pmop_given_sizes", False, "pmop_given_sizes"),
    "Plackett-Luce, given sizes": ("plackett_luce", False, "plackett_luce"),
}
FREE = ("PMOP mean", "Plackett-Luce, ties sorted")  # the paper's; the others are on equal terms
GAPS = grid(item_bias_scale=(0.3, 1.0), ranker_scale=(0.1, 0.2, 0.5))
OUTCOMES: dict[str, Callable[..., TensorVariable]] = {
    "pmop": pmop_logp,
    "pmop_given_sizes": partial(pmop_logp, given_sizes=True),
    "plackett_luce": weak_order_logp,
}


def log_likelihood(point: Point, rankings: br.Rankings, outcome: str) -> NDArray[np.float64]:
    """Log-probability of each ranking, (n_rankings,)."""
    utility = predict(point, rankings.ranker_idx[:, None], rankings.item)
    ranks = rankings.ranks.astype("int64")
    return _compiled(outcome)(np.where(rankings.mask, utility, 0.0), ranks)


@cache
def _compiled(outcome: str) -> Callable[..., NDArray[np.float64]]:
    utility, ranks = pt.dmatrix(), pt.lmatrix()
    return pytensor.function([utility, ranks], OUTCOMES[outcome](utility, ranks))


def figure_table(
    ratings: pd.DataFrame,
    sizes: Sequence[int] = (5, 10, 20, 30),
    *,
    scales: Sequence[Scales] = GAPS,
    seed: int = 1,
) -> pd.DataFrame:
    """Held-out log-likelihood per user, trained on n movies of each user, tested on n others.

    The users are the same throughout, those with twice the largest size. One in five chooses the
    scales, by the same test. Beside each column stands what equal utilities give: outcome spaces
    differ, so only columns of one space may be compared, and each with its own zero.
    """
    items = pd.Index(np.unique(ratings["movie"]))
    rows: dict[int, dict[str, float]] = {}
    for n in sizes:
        train, test, _ = split(ratings, [n, n], at_least=2 * max(sizes), seed=seed)
        fitted, asked = to_rankings(train, items), to_rankings(test, items)
        chooses = np.random.default_rng(seed).random(asked.n_rankings) < 0.2
        rows[n] = {}
        for name, (likelihood, sort, outcome) in SCORES.items():
            target = break_ties(asked) if sort else asked
            points = modes(fitted, scales, sort=sort, likelihood=likelihood)
            logps = [log_likelihood(point, target, outcome) for point in points]
            best = int(np.argmax([logp[chooses].mean() for logp in logps]))
            nothing = {name: np.zeros_like(value) for name, value in points[best].items()}
            equal = log_likelihood(nothing, target, outcome)
            rows[n][name] = logps[best][~chooses].mean()
            rows[n][f"{name}: equal utilities"] = equal[~chooses].mean()
    return pd.DataFrame(rows).T.rename_axis("movies")


def plot_figure(table: pd.DataFrame) -> Sequence[Axes]:
    """Draw the table: the paper's comparison, equal terms, and what utilities gain over none."""
    given = [name for name in SCORES if name not in FREE]
    _, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained", sharex=True)
    for ax, names in zip(axes, (FREE, given, SCORES), strict=True):
        for name in names:
            colour = "#0072B2" if name.startswith("PMOP") else "#D55E00"
            style = {"color": colour, "marker": "o", "mfc": "w" if name in FREE else colour}
            equal = table[f"{name}: equal utilities"]
            if ax is axes[2]:
                ax.plot(table.index, table[name] - equal, label=name, **style)
            else:
                ax.plot(table.index, table[name], label=name, **style)
                ax.plot(table.index, equal, ":", color=colour, label="the same, equal utilities")
        ax.set(xlabel="Movies per user, to train and to test", xticks=table.index)
        ax.legend(fontsize=8, frameon=False)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set(
        title="As in the paper: different outcomes", ylabel="Held-out log-likelihood per user"
    )
    axes[1].set(title="Weak orders given their sizes")
    axes[2].set(title="Gain over equal utilities")
    return axes


if __name__ == "__main__":
    default = Path(os.environ.get("BAYESRANK_DATA", "."), "ml-100k")
    ratings = movielens(sys.argv[1] if len(sys.argv) > 1 else default)
    for n_train, at_least in ((10, 20), (50, 60)):
        print(f"{n_train} training ratings, users with at least {at_least}")
        print(compare(ratings, n_train, at_least).round(4).to_string())
    table = figure_table(ratings)
    print(table.round(3).to_string())
    plot_figure(table)
    plt.savefig("pmop_collaborative.png", dpi=150)
