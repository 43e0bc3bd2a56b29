r"""Bayesian personalised ranking: what to recommend to whom, with how much confidence.

Story: users have some of many items, and of the others nothing is known. What a user has is, more
often than not, preferred to what the user has not: because all like it, or because the user cares
for what it has.

    item_bias[i]      ~ Normal(0, bias_scale)
    user_factor[u, k] ~ Normal(0, user_scale)
    item_factor[i, k] ~ Normal(0, item_scale)
    utility[u, i]     = item_bias[i] + sum_k user_factor[u, k] item_factor[i, k]
    y                 ~ BPR(utility), each i that u has against each j that u has not

==================  ====================  ============
symbol              variable              dims
==================  ====================  ============
:math:`W`           ``user_factor``       user, factor
:math:`H`           ``item_factor``       item, factor
:math:`b`           ``item_bias``         item
==================  ====================  ============

Differs from the paper in what the pairs count for. MovieLens 100K has 130 million of them: as many
coins would leave no doubt about anything. Here all pairs together count as one comparison for
every interaction (``evidence``), which is also about what the customary penalties come to. The
paper's penalties on whatever occurs in a triple are priors that are the narrower the more often it
does; `fit_map` climbs the posterior of the model above, whose scales are the same for all.

It is a composite likelihood: the posterior is no frequency that could be relied on without looking,
and there is no LOO.

RESULTS

References
----------
Rendle et al., BPR: Bayesian personalized ranking from implicit feedback, UAI 2009.
"""

import math
import warnings
from collections.abc import Hashable, Iterable
from typing import Any

import arviz as az
import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray
from scipy.special import expit, log_expit

import bayesrank as br
from bayesrank.inference.learn_bpr import FactorFit, learn_bpr, prior_penalties
from bayesrank.inference.modes import climb

Array = NDArray[Any]


def build(
    interactions: br.Interactions,
    *,
    n_factors: int = 64,
    user_scale: float = 1.0,
    item_scale: float = 1.0,
    bias_scale: float = 0.5,
    evidence: float | None = None,
    batch_size: int | None = None,
    n_triples: int | None = None,
    seed: int = 1,
) -> pm.Model:
    """Build the model.

    Parameters
    ----------
    interactions : Interactions
        Who has what.
    n_factors : int
        Number of factors, 1 or more.
    user_scale, item_scale, bias_scale : float
        Standard deviations, positive. Of those of the factors only the product is seen.
    evidence : float, optional
        As how many comparisons all pairs together count; by default as many as interactions.
    batch_size : int, optional
        Triples in each step of `pm.fit`, drawn from `n_triples` of them. By default all pairs are
        written out, for small data.
    n_triples : int, optional
        How many triples to draw; by default 20 for each interaction.
    seed : int
        Of the triples.

    Returns
    -------
    pm.Model
        With the variables of the table above, and the interactions as data, so that results know
        what `recommend` needs.

    Raises
    ------
    ValueError
        If there is nothing to learn, or a number is out of its range.

    Examples
    --------
    >>> clicks = br.Rankings.from_orderings([[{"a", "b"}, "c"], ["b", {"a", "c"}]])
    >>> model = build(br.Interactions.from_rankings(clicks), n_factors=2)
    >>> [rv.name for rv in model.free_RVs]
    ['user_factor', 'item_factor', 'item_bias']
    """
    scales = {"user_scale": user_scale, "item_scale": item_scale, "bias_scale": bias_scale}
    total = _check(interactions, n_factors, scales, evidence)
    for what, number in (("batch_size", batch_size), ("n_triples", n_triples)):
        if number is not None and number < 1:
            raise ValueError(f"`{what}` is {number}; give at least one.")

    with pm.Model(coords={**interactions.coords, "factor": np.arange(n_factors)}) as model:
        for name, value in _data(interactions, scales, total).items():
            pm.Data(name, value)
        W = pm.Normal("user_factor", 0, user_scale, dims=("user", "factor"))
        H = pm.Normal("item_factor", 0, item_scale, dims=("item", "factor"))
        b = pm.Normal("item_bias", 0, bias_scale, dims="item")
        if batch_size is None:
            utility = pt.sum(W[:, None, :] * H, axis=-1) + b
            br.BPR("y", utility, observed=interactions, weight=total / interactions.n_triples)
        else:
            n = 20 * len(interactions) if n_triples is None else n_triples
            triples = interactions.sample_triples(n, seed=seed).astype("int32")
            user, *both = pm.Minibatch(*triples.T, batch_size=batch_size)
            pair = pt.stack(both, axis=-1)
            utility = pt.sum(W[user][:, None, :] * H[pair], axis=-1) + b[pair]
            br.BPR("y", utility, observed=np.zeros(batch_size, dtype=int), total_size=total)
    return model


def _data(
    interactions: br.Interactions, scales: dict[str, float], total: float
) -> dict[str, NDArray[Any]]:
    """Give what `recommend` has to know beside the posterior."""
    return {
        "known_start": interactions.start,
        "known_item": interactions.item,
        "user_scale": np.array(scales["user_scale"], dtype=float),
        "pair_weight": np.array(total / interactions.n_triples),
    }


def _check(
    interactions: br.Interactions,
    n_factors: int,
    scales: dict[str, float],
    evidence: float | None,
) -> float:
    if not isinstance(interactions, br.Interactions):
        raise TypeError(
            f"Expected Interactions; got {type(interactions).__name__}. A table of ratings becomes "
            f"some with br.Interactions.from_ratings(frame, user=..., item=..., rating=..., "
            f"at_least=...), a table of clicks with from_frame."
        )
    interactions.check_triples()
    if n_factors < 1:
        raise ValueError(f"`n_factors` is {n_factors}; give at least one.")
    total = len(interactions) if evidence is None else evidence
    for name, value in {**scales, "evidence": total}.items():
        if not 0 < value < math.inf:
            raise ValueError(f"`{name}` is {value}; it must be positive.")
    return total


# ---------------------------------------------------------------------------------------------
# Fitting
# ---------------------------------------------------------------------------------------------


def fit_map(
    interactions: br.Interactions,
    *,
    n_factors: int = 64,
    user_scale: float = 1.0,
    item_scale: float = 1.0,
    bias_scale: float = 0.5,
    evidence: float | None = None,
    n_epochs: float = 100,
    learning_rate: float = 0.05,
    seed: int = 1,
) -> Any:
    """Climb to a posterior mode of the model by LearnBPR.

    Parameters
    ----------
    interactions, n_factors, user_scale, item_scale, bias_scale, evidence
        As in `build`.
    n_epochs, learning_rate, seed
        As in `learn_bpr`; the learning rate falls to zero.

    Returns
    -------
    DataTree
        Group ``posterior`` with the mode as its only draw, and ``constant_data``.

    Examples
    --------
    >>> clicks = br.Rankings.from_orderings([[{"a", "b"}, "c"], ["b", {"a", "c"}]])
    >>> mode = fit_map(br.Interactions.from_rankings(clicks), n_factors=2)
    >>> dict(mode["posterior"]["item_factor"].sizes)
    {'chain': 1, 'draw': 1, 'item': 3, 'factor': 2}
    """
    scales = {"user_scale": user_scale, "item_scale": item_scale, "bias_scale": bias_scale}
    total = _check(interactions, n_factors, scales, evidence)
    fit = learn_bpr(
        interactions, n_factors=n_factors, n_epochs=n_epochs, learning_rate=learning_rate,
        last_rate=0.0, penalties=prior_penalties(interactions, **scales, evidence=total), seed=seed,
    )  # fmt: skip
    values = {name: x[None, None].astype(float) for name, x in fit._asdict().items()}
    dims = {"user_factor": ["user", "factor"], "item_factor": ["item", "factor"]}
    return az.from_dict(
        {"posterior": values, "constant_data": _data(interactions, scales, total)},
        coords={**interactions.coords, "factor": np.arange(n_factors)},
        dims={**dims, "item_bias": ["item"], "known_start": ["bound"], "known_item": ["known"]},
    )


def fit_advi(
    model: pm.Model,
    start: Any = None,
    *,
    n_steps: int = 20_000,
    draws: int = 200,
    learning_rate: float = 0.01,
    seed: int = 1,
) -> Any:
    """Approximate the posterior by independent normals (mean-field ADVI).

    Parameters
    ----------
    model : pm.Model
        From `build`, with a `batch_size` if the data are not small.
    start : DataTree, optional
        From `fit_map`, where the means begin: far fewer steps are then needed.
    n_steps, draws : int
        Of the optimiser, and of the result.
    learning_rate : float
        Of Adam.
    seed : int
        Of steps and draws.

    Returns
    -------
    DataTree
        As that of `fit_map`, with `draws` draws.
    """
    point = None
    if start is not None:
        point = {rv.name: start["posterior"][rv.name].values[0, 0] for rv in model.free_RVs}
    with model:
        advi = pm.ADVI(start=point, random_seed=seed)
        optimiser = pm.adam(learning_rate=learning_rate)
        advi.fit(n_steps, obj_optimizer=optimiser, progressbar=False)
        return advi.approx.sample(draws, random_seed=seed)


# ---------------------------------------------------------------------------------------------
# Recommending
# ---------------------------------------------------------------------------------------------


def recommend(idata: Any, user: Hashable, k: int = 10) -> pd.DataFrame:
    """Recommend items that a user has not yet.

    Parameters
    ----------
    idata : DataTree
        From `fit_map`, `fit_advi`, or `pm.sample` of a model from `build`.
    user : label
        Whom to.
    k : int
        How many, 1 or more.

    Returns
    -------
    DataFrame
        One row per item, best first by mean utility: ``utility``; ``top_k``, the probability that
        the item is among the k best of the user's new ones; ``preferred``, the probability that
        the user prefers it to another of them at random. A mode is one draw: its ``top_k`` is 1.

    Raises
    ------
    ValueError
        If there is no such user, or k is not between 1 and the number of items the user has not.

    Warns
    -----
    UserWarning
        If the user has no items.

    Examples
    --------
    >>> clicks = br.Rankings.from_orderings([[{"a", "b"}, {"c", "d"}], [{"b", "c"}, {"a", "d"}]])
    >>> mode = fit_map(br.Interactions.from_rankings(clicks), n_factors=2)
    >>> recommend(mode, 0, 1).index.tolist()
    ['c']
    """
    users = idata["posterior"]["user"].values
    at = np.flatnonzero(users == user)
    if not len(at):
        raise ValueError(
            f"Unknown user {user!r}: the users are {list(users[:5])}"
            f"{' and others' if len(users) > 5 else ''}. Recommend to someone new with "
            f"recommend_new(idata, items)."
        )
    data = idata["constant_data"]
    start = data["known_start"].values
    known = data["known_item"].values[start[at[0]] : start[at[0] + 1]]
    if not len(known):
        warnings.warn(
            f"User {user!r} has no items: what is recommended is what all like.", stacklevel=2
        )
    fits = _draws(idata)
    utility = np.stack([fit.utility(at[0]) for fit in fits])
    return _best(idata, utility, known, k, f"user {user!r}")


def recommend_new(
    idata: Any, items: Iterable[Hashable], k: int = 10, *, seed: int = 1
) -> pd.DataFrame:
    """Recommend to someone who was not there when the model was fitted; nothing is refitted.

    Parameters
    ----------
    idata : DataTree
        As in `recommend`.
    items : sequence of labels
        What the user has.
    k : int
        How many, 1 or more.
    seed : int
        Of the user's factors: see `fold_in`.

    Returns
    -------
    DataFrame
        As that of `recommend`.

    Raises
    ------
    ValueError
        If an item is unknown, there are none, the user has them all, or k is out of its range.

    Examples
    --------
    >>> clicks = br.Rankings.from_orderings([[{"a", "b"}, {"c", "d"}], [{"b", "c"}, {"a", "d"}]])
    >>> mode = fit_map(br.Interactions.from_rankings(clicks), n_factors=2)
    >>> recommend_new(mode, ["a"], 1).index.tolist()
    ['b']
    """
    known = _positions(idata, items)
    W = fold_in(idata, items, seed=seed)
    fits = _draws(idata)
    utility = np.stack(
        [fit.item_factor @ w + fit.item_bias for fit, w in zip(fits, W, strict=True)]
    )
    return _best(idata, utility, known, k, "the new user")


def fold_in(idata: Any, items: Iterable[Hashable], *, seed: int = 1) -> NDArray[np.float64]:
    """Draw the factors of a user who was not there when the model was fitted.

    Given the items' part of a draw, the user's factors are a logistic regression: one is drawn from
    the normal approximation around its mode. Of a posterior of one draw, which is a mode, the mode
    itself is returned.

    Parameters
    ----------
    idata : DataTree
        As in `recommend`.
    items : sequence of labels
        What the user has.
    seed : int
        Of the draws.

    Returns
    -------
    array, (n_draws, n_factors)

    Raises
    ------
    ValueError
        If an item is unknown, there are none, or the user has them all.
    """
    known = _positions(idata, items)
    data = idata["constant_data"]
    weight, ridge = float(data["pair_weight"]), float(data["user_scale"]) ** -2
    fits = _draws(idata)
    rng = np.random.default_rng(seed)
    found = np.empty((len(fits), fits[0].item_factor.shape[1]))
    for n, (_, H, b) in enumerate(fits):
        had, other = H[known], np.delete(H, known, axis=0)
        lead_b = b[known][:, None] - np.delete(b, known)

        def logp(w: Array, had: Array = had, other: Array = other, lead_b: Array = lead_b) -> Any:
            lead = lead_b + (had @ w)[:, None] - other @ w
            g = expit(-lead)
            slope = weight * (g.sum(axis=1) @ had - g.sum(axis=0) @ other) - ridge * w
            return weight * log_expit(lead).sum() - ridge * w @ w / 2, slope

        w = climb(logp, np.zeros(H.shape[1]))
        if len(fits) > 1:
            g = expit(-(lead_b + (had @ w)[:, None] - other @ w))
            s = weight * g * (1 - g)
            cross = had.T @ s @ other
            precision = (had.T * s.sum(axis=1)) @ had + (other.T * s.sum(axis=0)) @ other
            precision += ridge * np.eye(len(w)) - cross - cross.T
            w = w + np.linalg.solve(np.linalg.cholesky(precision).T, rng.normal(size=len(w)))
        found[n] = w
    return found


def _draws(idata: Any) -> list[FactorFit]:
    """List the draws of all chains."""
    posterior = idata["posterior"]
    parts = [posterior[name].values for name in FactorFit._fields]
    flat = [x.reshape(-1, *x.shape[2:]) for x in parts]
    return [FactorFit(*draw) for draw in zip(*flat, strict=True)]


def _positions(idata: Any, items: Iterable[Hashable]) -> NDArray[np.int64]:
    axis = pd.Index(idata["posterior"]["item"].values)
    wanted = pd.Index(list(items)).unique()
    position = axis.get_indexer(wanted)
    if (position < 0).any():
        raise ValueError(
            f"Unknown item {wanted[position < 0][0]!r}: the items are {list(axis[:5])}"
            f"{' and others' if len(axis) > 5 else ''}."
        )
    if not 0 < len(wanted) < len(axis):
        raise ValueError(
            f"The new user has {len(wanted)} of {len(axis)} items: with none there is nothing to "
            f"go by but `item_bias`, what all like, and with all there is nothing to recommend."
        )
    return position.astype(np.int64)


def _best(idata: Any, utility: Array, known: Array, k: int, whom: str) -> pd.DataFrame:
    """Make the table of the k best items that are not known, from utilities (n_draws, n_items)."""
    new = np.delete(np.arange(utility.shape[1]), known)
    if k % 1 or not 1 <= k <= len(new):
        raise ValueError(
            f"`k` is {k}, but {whom} has all but {len(new)} of {utility.shape[1]} items: "
            f"k must be between 1 and that."
        )
    x = utility[:, new]
    chosen = np.argsort(-x.mean(axis=0), kind="stable")[:k]
    kth = -np.partition(-x, k - 1, axis=1)[:, k - 1 : k]
    # item by item: all pairs at once would be draws times k times items
    ahead = [expit(x[:, [i]] - x).sum(axis=1).mean() - 0.5 for i in chosen]
    return pd.DataFrame(
        {
            "utility": x.mean(axis=0)[chosen],
            "top_k": (x[:, chosen] >= kth).mean(axis=0),
            "preferred": np.array(ahead) / max(len(new) - 1, 1),
        },
        index=pd.Index(idata["posterior"]["item"].values[new[chosen]], name="item"),
    )
