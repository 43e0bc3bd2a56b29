r"""ListRank-MF: matrix factorisation of lists of ratings (Shi, Larson & Hanjalic 2010).

Story: a softmax turns a user's ratings into shares of attention. It does the same with the
predictions of the factors. The loss compares the two lists of shares. Unlike regression on ratings,
it needs no level per user. Unlike losses on pairs, its cost is linear in the number of ratings.

    ranker_factor[u, k] ~ Normal(0, 1 / sqrt(ridge))
    item_factor[i, k]   ~ Normal(0, 1 / sqrt(ridge))
    utility[e]          = sum_k ranker_factor[u, k] item_factor[i, k]
                          u, i: user and item of rating e
    y                   = -sum_u cross-entropy of the shares of u,
                          from exp(rating) and exp(g(utility))

with the logistic function g and the ratings divided by the highest one. The mode is the minimum of
the paper's

.. math:: L = -\sum_u \sum_{i \in I_u} p_{ui} \log q_{ui}
              + \frac\lambda2 (\|U\|^2 + \|V\|^2),

with :math:`p_{ui} \propto e^{R_{ui}}` and :math:`q_{ui} \propto e^{g(U_u^T V_i)}`. Both sum to one
over the items :math:`I_u` that user u rated.

======================  =========================  ===============
symbol                  variable                   dims
======================  =========================  ===============
:math:`U`               ``ranker_factor``          ranker, factor
:math:`V`               ``item_factor``            item, factor
:math:`\lambda`         ``ridge``
======================  =========================  ===============

The loss is not a likelihood. Draws from this "posterior" show how flat the objective is, not how
uncertain the utilities are, and LOO is not defined. Users who give all items the same rating also
have shares, and contribute to the loss.

`models.bpr.study` compares the model with other methods on MovieLens 100K.

References
----------
Shi, Y., Larson, M., & Hanjalic, A. (2010). List-wise learning to rank with matrix factorization for
collaborative filtering. RecSys, 269-272.
"""

from collections.abc import Callable, Iterable

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray

import bayesrank as br
from bayesrank.inference import Point
from models.shared.losses import list_rank_loss
from models.shared.modes import posterior_modes
from models.shared.rating_factors import ratings_of

JITTER = 0.1  # of the starting values: where all factors are 0, the objective has a saddle


def build(
    rankings: br.Rankings,
    *,
    rating: str = "rating",
    n_factors: int = 5,
    ridge: float = 0.01,
    divide_by: float | None = None,
) -> pm.Model:
    """Build the model.

    Parameters
    ----------
    rankings : Rankings
        Observed rankings, with the ratings as a feature, for example from
        ``Rankings.from_ratings(..., rating="rating", features=["rating"])``.
    rating : str
        Name of that feature.
    n_factors : int
        Number of factors, 1 or more.
    ridge : float
        The paper's lambda, positive: one over the variance of a factor.
    divide_by : float, optional
        Divisor of the ratings, positive; by default the highest rating. With it, shares within a
        list differ by at most a factor of e.

    Returns
    -------
    pm.Model
        With the variables of the table above.

    Raises
    ------
    ValueError
        If the rankings have no ratings, or a number is out of its range.

    Examples
    --------
    >>> import pandas as pd
    >>> stars = pd.DataFrame({"user": [1, 1, 2, 2], "movie": list("abbc"), "rating": [5, 2, 4, 1]})
    >>> columns = {"ranker": "user", "item": "movie", "rating": "rating"}
    >>> r = br.Rankings.from_ratings(stars, **columns, features=["rating"])
    >>> [rv.name for rv in build(r, n_factors=2).free_RVs]
    ['ranker_factor', 'item_factor']
    """
    if n_factors < 1:
        raise ValueError(f"`n_factors` is {n_factors}; give at least one.")
    row, slot = np.nonzero(rankings.mask)
    stars = ratings_of(rankings, rating)[row, slot]
    top = float(stars.max()) if divide_by is None else divide_by
    for name, value in (("ridge", ridge), ("divide_by", top)):
        if not 0 < value < np.inf:
            raise ValueError(f"`{name}` is {value}; it must be positive.")
    coords = {**rankings.coords, "factor": np.arange(n_factors)}

    with pm.Model(coords=coords) as model:
        scale = pm.Data("ridge", ridge) ** -0.5
        U = pm.Normal("ranker_factor", 0, scale, dims=("ranker", "factor"))
        V = pm.Normal("item_factor", 0, scale, dims=("item", "factor"))

        ranking = pm.Data("rating_ranking", row)
        ranker = pm.Data("rating_ranker", rankings.ranker_idx[row])
        item = pm.Data("rating_item", rankings.item[row, slot])
        utility = pt.sum(U[ranker] * V[item], axis=-1)

        share = pm.Data("rating", stars / top)
        loss = list_rank_loss(
            utility,
            rankings.ranks[row, slot],
            labels=share,
            segments=ranking,
            n_rankings=rankings.n_rankings,
        )
        pm.Potential("y", -pt.sum(pm.Data("ranking_weight", rankings.evidence) * loss))
    return model


def fit_map(
    model: pm.Model, ridges: Iterable[float], *, seed: int = 1, max_iterations: int = 300
) -> list[Point]:
    """Find the mode by L-BFGS for several ridges, from one start and with one compilation.

    Parameters
    ----------
    model : pm.Model
        The model from `build`.
    ridges : list of float
        Values of lambda.
    seed : int
        Random seed of the starting values, which are small random factors.
    max_iterations : int
        Maximum number of iterations of each fit.

    Returns
    -------
    list of dict
        Values of the factors.
    """
    settings = [{"ridge": ridge} for ridge in ridges]
    return posterior_modes(
        model, settings, warm=False, jitter=JITTER, random_seed=seed, max_iterations=max_iterations,
        tolerance=np.inf,
    )  # fmt: skip


def scores(point: Point) -> Callable[[int], NDArray[np.float64]]:
    """Return the utilities of all items as a function of the user."""
    return lambda user: point["item_factor"] @ point["ranker_factor"][user]
