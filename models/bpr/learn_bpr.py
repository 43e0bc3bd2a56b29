r"""LearnBPR: stochastic gradient ascent on triples (Rendle et al. 2009).

A step draws a triple: a user u, an item i that u has, and an item j that u does not have. It draws
uniformly and with replacement. Then it moves by the learning rate along the gradient of

.. math:: \log\sigma(x_{ui} - x_{uj}) - \text{penalties of the triple's parameters}, \qquad
          x_{ui} = b_i + \sum_k W_{uk} H_{ik}

With :math:`g = \sigma(x_{uj} - x_{ui})`, the gradient is

====================  ==================================================
:math:`W_u`           :math:`g (H_i - H_j) - \lambda_W W_u`
:math:`H_i`           :math:`g W_u - \lambda_{H+} H_i`
:math:`H_j`           :math:`-g W_u - \lambda_{H-} H_j`
:math:`b_i`           :math:`g - \lambda_b b_i`
:math:`b_j`           :math:`-g - \lambda_b b_j`
====================  ==================================================

Its expectation is the gradient of BPR-OPT, the sum over all triples, divided by their number. So
the penalty of a parameter has the weight of the triples that contain it. `prior_penalties` corrects
for this, so that the mode is the mode of a model with normal priors.

**Adaptive nearest neighbours** (BPR-kNN) uses correlations of each item with all others,

.. math:: x_{ui} = b_i + \sum_{l \in I_u^+ \setminus \{i\}} C_{il}, \qquad C_{il} = C_{li}

A step on the triple (u, i, j) adds the learning rate times these terms, with
:math:`g = \sigma(x_{uj} - x_{ui})`,

================  ================================  ==============================
:math:`C_{il}`    :math:`g - \lambda_+ C_{il}`      l of :math:`I_u^+` but not i
:math:`C_{jl}`    :math:`-g - \lambda_- C_{jl}`     l of :math:`I_u^+`
:math:`b_i`       :math:`g - \lambda_b b_i`
:math:`b_j`       :math:`-g - \lambda_b b_j`
================  ================================  ==============================

and the same to :math:`C_{li}` and :math:`C_{lj}`. A step changes about twice as many numbers as the
user has items. Memory grows with the square of the number of items, so use it for at most a few
thousand items.

References
----------
Rendle et al., BPR: Bayesian personalized ranking from implicit feedback, UAI 2009, figure 4 and
section 4.3.2.
"""

import math
from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesrank.data import Interactions
from bayesrank.data.read import float_array, per_row
from models.bpr.learn_bpr_kernels import climb_factors, climb_neighbours

__all__ = [
    "FactorFit",
    "NeighbourFit",
    "NeighbourPenalties",
    "Penalties",
    "learn_bpr",
    "learn_bpr_neighbours",
    "prior_penalties",
]

CHUNK = 2_000_000  # steps between which the keyboard can interrupt


class FactorFit(NamedTuple):
    """Factors and biases: the utility of item i to user u is ``b[i] + W[u] @ H[i]``."""

    user_factor: NDArray[Any]  # (n_users, n_factors)
    item_factor: NDArray[Any]  # (n_items, n_factors)
    item_bias: NDArray[Any]  # (n_items,)

    def utility(self, user_idx: Any = slice(None)) -> NDArray[Any]:
        """Return utilities of all items to some users, (n_items,) for one or (n, n_items)."""
        return self.user_factor[user_idx] @ self.item_factor.T + self.item_bias


class Penalties(NamedTuple):
    """Penalties: each triple subtracts half of the penalty times the square of its parameters.

    Give numbers >= 0, or arrays with one number for each user or item.
    """

    user: ArrayLike = 0.01  # factors of the user
    positive: ArrayLike = 0.01  # factors of the item that the user has
    negative: ArrayLike = 0.01  # factors of the item that the user does not have
    bias: ArrayLike = 0.1  # biases of both items


def learn_bpr(
    interactions: Interactions,
    *,
    n_factors: int = 64,
    n_epochs: float = 100,
    learning_rate: float = 0.05,
    last_rate: float = 0.0,
    penalties: Penalties = Penalties(),  # noqa: B008  (immutable)
    item_bias: bool = True,
    start: FactorFit | None = None,
    start_scale: float = 0.1,
    dtype: Literal["float32", "float64"] = "float32",
    seed: int = 1,
) -> FactorFit:
    """Learn factors and item biases from interactions, by LearnBPR.

    Parameters
    ----------
    interactions : Interactions
        The items of every user.
    n_factors : int
        Number of factors. With 0 factors and with biases, the fit learns popularity only.
    n_epochs : float
        Number of triples to draw, in units of the number of interactions.
    learning_rate : float
        Learning rate of the first step, positive.
    last_rate : float
        Learning rate of the last step; it changes linearly in between. With 0, the noise of the
        steps dies out.
    penalties : Penalties
        Penalties on the factors of the user, of the positive and of the negative item, and on the
        biases.
    item_bias : bool
        Whether items have biases, which all users share.
    start : FactorFit, optional
        Starting values; by default normal factors and zero biases.
    start_scale : float
        Standard deviation of ``W[u] @ H[i]`` at the default starting values.
    dtype : "float32" or "float64"
        Type of the result.
    seed : int
        Random seed of the starting values and the triples. The same seed gives the same result.

    Returns
    -------
    FactorFit
        Users with all items or none have no triple. Only penalties act on their factors, which are
        zero.

    Raises
    ------
    ValueError
        If there are no triples, a number is out of its range, a shape does not fit, or the steps
        diverge.

    Examples
    --------
    >>> import bayesrank as br
    >>> r = br.Rankings.from_orderings([[{"a", "b"}, "c"], ["b", {"a", "c"}]])
    >>> fit = learn_bpr(br.Interactions.from_rankings(r), n_factors=0)
    >>> [str(item) for item in r.items[np.argsort(-fit.item_bias)]]
    ['b', 'a', 'c']
    """
    interactions.check_triples()
    n_users, n_items = interactions.n_users, interactions.n_items
    if n_factors < 0 or n_factors % 1:
        raise ValueError(f"`n_factors` is {n_factors!r}; it must be a whole number, 0 or more.")
    kind = _check_numbers(n_epochs, learning_rate, last_rate, dtype)
    on = [
        _per_label(name, value, interactions, kind) for name, value in penalties._asdict().items()
    ]

    W, H, b = start or random_start(n_users, n_items, n_factors, start_scale, seed)
    if (W.shape, H.shape, b.shape) != ((n_users, n_factors), (n_items, n_factors), (n_items,)):
        raise ValueError(
            f"`start` has factors of shapes {W.shape} and {H.shape}; with {n_users} users, "
            f"{n_items} items and n_factors={n_factors} they must be {(n_users, n_factors)} and "
            f"{(n_items, n_factors)}."
        )
    fit = FactorFit(*(np.array(x, dtype=kind, order="C") for x in (W, H, b)))
    n_of_user = interactions.n_items_of_user
    fit.user_factor[(n_of_user == 0) | (n_of_user == n_items)] = 0

    _ascend(
        interactions,
        lambda where, *steps: climb_factors(*fit, *where, *on, item_bias, *steps),
        (n_epochs, learning_rate, last_rate, seed),
    )
    _check_finite(fit, learning_rate)
    return fit


def prior_penalties(
    interactions: Interactions,
    *,
    user_scale: float,
    item_scale: float,
    bias_scale: float,
    evidence: float | None = None,
) -> Penalties:
    r"""Return the penalties for which LearnBPR maximises a posterior with normal priors.

    .. math:: \frac{E}{T} \sum_{(u, i, j)} \log\sigma(x_{ui} - x_{uj})
              - \sum_\theta \frac{\theta^2}{2 s_\theta^2}

    with T triples, of which parameter :math:`\theta` occurs in a share :math:`p_\theta`: its
    penalty per triple is :math:`1 / (E p_\theta s_\theta^2)`.

    Parameters
    ----------
    interactions : Interactions
        The items of every user.
    user_scale, item_scale, bias_scale : float
        Standard deviations of the user factors, the item factors and the item biases.
    evidence : float, optional
        Number of independent comparisons E that all triples together count as. By default, it is
        the number of interactions. With `interactions.n_triples`, every triple counts in full.

    Returns
    -------
    Penalties
        Arrays, one number per user or item.

    Examples
    --------
    >>> import bayesrank as br
    >>> r = br.Rankings.from_orderings([[{"a", "b"}, "c"], ["b", {"a", "c"}]])
    >>> have = br.Interactions.from_rankings(r)
    >>> prior_penalties(have, user_scale=1, item_scale=0.5, bias_scale=1, evidence=4).user
    array([0.5, 0.5])
    """
    interactions.check_triples()
    n, n_items = interactions.n_items_of_user, interactions.n_items
    # Item i wins n_items - n[u] triples of every user u who chose it, and loses n[u] triples of
    # every other user.
    more = (n_items - 2 * n)[interactions.user_idx]
    times_item = n.sum() + np.bincount(interactions.item, weights=more, minlength=n_items)
    times_user = n * (n_items - n)
    weight = interactions.n_interactions if evidence is None else evidence

    def penalty(occurs: NDArray[Any], scale: float) -> NDArray[np.float64]:
        # parameters that never occur have no penalty
        share = np.where(occurs > 0, occurs, np.inf) / interactions.n_triples
        return 1 / (weight * share * scale**2)

    item = penalty(times_item, item_scale)
    return Penalties(penalty(times_user, user_scale), item, item, penalty(times_item, bias_scale))


# ---------------------------------------------------------------------------------------------
# Correlations of items
# ---------------------------------------------------------------------------------------------


class NeighbourFit(NamedTuple):
    """Correlations of items, and biases."""

    correlation: NDArray[Any]  # (n_items, n_items), symmetric, with a diagonal of zeros
    item_bias: NDArray[Any]  # (n_items,)

    def utility(self, have: ArrayLike) -> NDArray[Any]:
        """Return utilities of all items, (n_items,) or (n, n_items), given masks of the items."""
        return np.asarray(have, dtype=self.correlation.dtype) @ self.correlation + self.item_bias


class NeighbourPenalties(NamedTuple):
    """Penalties: each triple subtracts half of the penalty times the square of its parameters.

    Give numbers >= 0, or arrays with one number for each item.
    """

    positive: ArrayLike = 0.01  # correlations of the item that the user has
    negative: ArrayLike = 0.01  # correlations of the item that the user does not have
    bias: ArrayLike = 0.01  # biases of both items


def learn_bpr_neighbours(
    interactions: Interactions,
    *,
    n_epochs: float = 30,
    learning_rate: float = 0.01,
    last_rate: float = 0.0,
    penalties: NeighbourPenalties = NeighbourPenalties(),  # noqa: B008  (immutable)
    item_bias: bool = True,
    dtype: Literal["float32", "float64"] = "float32",
    seed: int = 1,
) -> NeighbourFit:
    """Learn symmetric correlations of items from interactions, by LearnBPR.

    Parameters
    ----------
    interactions : Interactions
        The items of every user.
    n_epochs : float
        Number of triples to draw, in units of the number of interactions.
    learning_rate : float
        Learning rate of the first step, positive. A step moves as many correlations as the user
        has items, so the rate must be smaller than for factors.
    last_rate : float
        Learning rate of the last step; it changes linearly in between.
    penalties : NeighbourPenalties
        Penalties on the correlations of the positive and the negative item, and on the biases.
    item_bias : bool
        Whether items have biases, which all users share.
    dtype : "float32" or "float64"
        Type of the result.
    seed : int
        Random seed of the triples. The same seed gives the same result.

    Returns
    -------
    NeighbourFit

    Raises
    ------
    ValueError
        If there are no triples, a number is out of its range, or the steps diverged.

    Examples
    --------
    Users with item a also have item b:

    >>> import bayesrank as br
    >>> r = br.Rankings.from_orderings([[{"a", "b"}, {"c", "d"}], [{"c", "d"}, {"a", "b"}]] * 3)
    >>> fit = learn_bpr_neighbours(br.Interactions.from_rankings(r))
    >>> (fit.correlation > 0).astype(int)
    array([[0, 1, 0, 0],
           [1, 0, 0, 0],
           [0, 0, 0, 1],
           [0, 0, 1, 0]])
    """
    interactions.check_triples()
    n_items = interactions.n_items
    kind = _check_numbers(n_epochs, learning_rate, last_rate, dtype)
    on = [
        _per_label(name, value, interactions, kind) for name, value in penalties._asdict().items()
    ]
    fit = NeighbourFit(np.zeros((n_items, n_items), dtype=kind), np.zeros(n_items, dtype=kind))
    _ascend(
        interactions,
        lambda where, *steps: climb_neighbours(*fit, *where, *on, item_bias, *steps),
        (n_epochs, learning_rate, last_rate, seed),
    )
    _check_finite(fit, learning_rate)
    return fit


# ---------------------------------------------------------------------------------------------
# Shared by all predictors: steps, and checks
# ---------------------------------------------------------------------------------------------


def _ascend(
    interactions: Interactions,
    climb: Callable[..., None],
    schedule: tuple[float, float, float, int],  # epochs, first and last rate, seed
) -> None:
    """Take all steps in batches."""
    n_epochs, rate, last, seed = schedule
    n_steps = math.ceil(n_epochs * interactions.n_interactions)
    state = np.random.SeedSequence(seed).generate_state(1, np.uint64)
    where = interactions.start, interactions.user_idx, interactions.item
    slope = (last - rate) / max(n_steps, 1)
    for first in range(0, n_steps, CHUNK):
        climb(where, first, min(first + CHUNK, n_steps), float(rate), slope, state)


def _check_finite(fit: Iterable[NDArray[Any]], rate: float) -> None:
    """Raise if the steps diverged."""
    if not all(np.isfinite(x).all() for x in fit):
        raise ValueError(
            f"The steps diverged with learning_rate={rate:g}: use a lower rate. The learning rate "
            f"times any penalty must stay below 1."
        )


def _check_numbers(n_epochs: float, rate: float, last: float, dtype: str) -> np.dtype[Any]:
    """Raise for numbers out of their range, and return the type of the result."""
    if not 0 <= n_epochs < math.inf:
        raise ValueError(f"`n_epochs` is {n_epochs!r}; it must be 0 or more.")
    if not 0 < rate < math.inf:
        raise ValueError(f"`learning_rate` is {rate!r}; it must be positive.")
    if not 0 <= last < math.inf:
        raise ValueError(f"`last_rate` is {last!r}; it must be 0 or more.")
    if dtype not in ("float32", "float64"):
        raise ValueError(f"`dtype` is {dtype!r}; it is 'float32' or 'float64'.")
    return np.dtype(dtype)


def _per_label(
    name: str, value: ArrayLike, interactions: Interactions, kind: np.dtype[Any]
) -> NDArray[Any]:
    """Return a penalty for each user or item."""
    what = "user" if name == "user" else "item"
    axis = interactions.users if what == "user" else interactions.items
    given, n = float_array(per_row(value, {what: axis}, name), name), len(axis)
    if given.shape not in ((), (n,)):
        raise ValueError(
            f"The penalty `{name}` has shape {given.shape}; give one number, or one for each of "
            f"{n} {what}s."
        )
    if not (np.isfinite(given) & (given >= 0)).all():
        raise ValueError(f"The penalty `{name}` must be finite and 0 or more.")
    return np.full(n, given, dtype=kind)


def random_start(n_users: int, n_items: int, n_factors: int, scale: float, seed: int) -> FactorFit:
    """Draw normal factors; `scale` is the standard deviation of a product of factors."""
    rng = np.random.default_rng(seed)
    spread = math.sqrt(scale / math.sqrt(max(n_factors, 1)))
    return FactorFit(
        spread * rng.normal(size=(n_users, n_factors)),
        spread * rng.normal(size=(n_items, n_factors)),
        np.zeros(n_items),
    )
