r"""CoFiRank's loss: a margin between the observed order of a user's movies and other orders.

Sort the movies of a user by their stars, :math:`y_1 \ge y_2 \ge \dots`. With their utilities
:math:`f`, the loss of the user is

.. math:: \max_\pi \; 1 - \mathrm{NDCG}(\pi, y) + \sum_k c_k (f_{\pi(k)} - f_k)

over all orders :math:`\pi`, with :math:`c_k = k^{-1/4}`. For the order of the utilities, the sum is
at least zero. So the loss is at least one minus the NDCG of this order. An assignment of movies to
places finds the maximising :math:`\pi`.

With equal utilities, the loss is one minus the NDCG of the wrong order, which is
:math:`(1 + 31 / \log_2 3) / (31 + 1 / \log_2 3)` here. If the order is right by a margin, the loss
is zero:

>>> import numpy as np
>>> stars = np.array([5.0, 1.0])
>>> loss, slope = cofi_rank_loss(np.zeros(2), stars)
>>> round(loss, 3)
0.35
>>> loss, slope = cofi_rank_loss(np.array([4.0, 1.0]), stars)
>>> float(loss), slope.tolist()
(0.0, [0.0, 0.0])

The paper has two other losses. The regression loss is half the squared distance between the
utilities and the centred stars, :math:`\frac12 \sum_i (f_i - y_i + \bar y)^2` (`regression_loss`).
The ordinal loss is a margin for each pair of movies with different stars, the mean of
:math:`\max(0, 1 - f_i + f_j)` over pairs with :math:`y_i > y_j` (`ordinal_loss`).

The module differs from the paper and the paper's program in the order of movies with equal stars.
It uses the order of the utilities, not the order of the file. It also has biases of the movies.
Adam minimises over all factors together, and the paper's bundle methods over each set in turn.

References
----------
Weimer, Karatzoglou, Le & Smola, CoFiRank: maximum margin matrix factorization for collaborative
ranking, NIPS 2007.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from pymc.blocking import DictToArrayBijection
from scipy.optimize import linear_sum_assignment

import bayesrank as br
from bayesrank.inference import Point, adam
from models.shared.rating_factors import ratings_of

__all__ = ["cofi_rank_loss", "fit_cofi_rank", "ordinal_loss", "regression_loss"]

Floats = NDArray[np.float64]
FALL = -0.25  # exponent of the weights of places, as in the paper
JITTER = 0.1  # of the start: where all factors are 0, the objective has a saddle


def cofi_rank_loss(utility: Floats, stars: Floats) -> tuple[float, Floats]:
    """Return the loss of one user, and its slope.

    Parameters
    ----------
    utility, stars : array, (n,)
        Utilities and stars of the user's movies; some stars are above zero.

    Returns
    -------
    float
        At least zero.
    array, (n,)
        A subgradient with respect to the utilities. If several orders attain the maximum, it
        belongs to one of them.
    """
    right = np.lexsort((-utility, -stars))
    f, gain = utility[right], 2.0 ** stars[right] - 1
    place = np.arange(len(f))
    c, discount = (place + 1.0) ** FALL, 1 / np.log2(place + 2)
    profit = np.outer(c, f) - np.outer(discount / (discount @ gain), gain)
    where, chosen = linear_sum_assignment(profit, maximize=True)
    slope = np.empty(len(f))
    slope[right[chosen]] = c[where]
    slope[right] -= c
    return float(1 + profit[where, chosen].sum() - c @ f), slope


def regression_loss(utility: Floats, stars: Floats) -> tuple[float, Floats]:
    """Return half the squared distance from the stars less their mean, and its slope."""
    error = utility - (stars - stars.mean())
    return float(error @ error) / 2, error


def ordinal_loss(utility: Floats, stars: Floats) -> tuple[float, Floats]:
    """Return the mean hinge of all pairs with different stars, and a subgradient."""
    better = stars[:, None] > stars
    short = better * np.maximum(0, 1 - utility[:, None] + utility)
    within, n = short > 0, max(int(better.sum()), 1)
    return float(short.sum()) / n, (within.sum(axis=0) - within.sum(axis=1)) / n


def fit_cofi_rank(
    rankings: br.Rankings,
    *,
    loss: Callable[[Floats, Floats], tuple[float, Floats]] = cofi_rank_loss,
    n_factors: int = 5,
    ranker_scale: float = 0.3,
    item_scale: float = 1.0,
    item_bias_scale: float = 1.0,
    n_steps: int = 200,
    learning_rate: float = 0.05,
    seed: int = 1,
) -> Point:
    """Minimise the losses of all users, and a ridge for each of the scales.

    Parameters
    ----------
    rankings : Rankings
        One ranking of each user, with the feature rating.
    loss : callable
        Function of the utilities and stars of a user, which returns the loss and its slope.
    n_factors : int
        Number of factors.
    ranker_scale, item_scale, item_bias_scale : float
        Prior scales as in `models.pmop_collaborative.model.build`, positive.
    n_steps, learning_rate : int, float
        Settings of Adam.
    seed : int
        Random seed of the start.

    Returns
    -------
    dict
        Values of the variables, for `models.pmop_collaborative.model.predict`.
    """
    rng = np.random.default_rng(seed)
    scales = {
        "ranker_factor": ranker_scale, "item_factor": item_scale, "item_bias": item_bias_scale
    }  # fmt: skip
    n_rankers, n_items = len(rankings.rankers), rankings.n_items
    shapes = (n_rankers, n_factors), (n_items, n_factors), (n_items,)
    start = DictToArrayBijection.map(
        {n: JITTER * rng.normal(size=shape) for n, shape in zip(scales, shapes, strict=True)}
    )
    stars = ratings_of(rankings)
    users = [
        (u, item[used], given[used])
        for u, item, given, used in zip(
            rankings.ranker_idx, rankings.item, stars, rankings.mask, strict=True
        )
    ]

    def parts(x: Floats) -> Point:
        return DictToArrayBijection.rmap(start._replace(data=x))

    def slope(x: Floats) -> Floats:
        at = parts(x)
        out = {name: -value / scales[name] ** 2 for name, value in at.items()}
        for u, items, given in users:
            W, H = at["ranker_factor"][u], at["item_factor"][items]
            _, by_utility = loss(H @ W + at["item_bias"][items], given)
            out["ranker_factor"][u] -= by_utility @ H
            out["item_factor"][items] -= np.outer(by_utility, W)
            out["item_bias"][items] -= by_utility
        return DictToArrayBijection.map(out).data

    return parts(adam(slope, start.data, n_steps=n_steps, learning_rate=learning_rate))
