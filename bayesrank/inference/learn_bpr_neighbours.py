r"""LearnBPR of correlations: adaptive nearest neighbours, each item against all (BPR-kNN).

.. math:: x_{ui} = b_i + \sum_{l \in I_u^+ \setminus \{i\}} C_{il}, \qquad C_{il} = C_{li}

A step on the triple (u, i, j) adds the learning rate times, with
:math:`g = \sigma(x_{uj} - x_{ui})`,

================  ================================  ==============================
:math:`C_{il}`    :math:`g - \lambda_+ C_{il}`      l of :math:`I_u^+` but not i
:math:`C_{jl}`    :math:`-g - \lambda_- C_{jl}`     l of :math:`I_u^+`
:math:`b_i`       :math:`g - \lambda_b b_i`
:math:`b_j`       :math:`-g - \lambda_b b_j`
================  ================================  ==============================

and the same to :math:`C_{li}` and :math:`C_{lj}`. As many numbers as the user has items, and
memory for the square of the number of items: a method for some thousands of them.

References
----------
Rendle et al., BPR: Bayesian personalized ranking from implicit feedback, UAI 2009, section 4.3.2.
"""

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesrank.data.interactions import Interactions
from bayesrank.inference.bpr_kernels import climb_neighbours
from bayesrank.inference.learn_bpr import ascend, check_finite, check_numbers, per_label

__all__ = ["NeighbourFit", "NeighbourPenalties", "learn_bpr_neighbours"]


class NeighbourFit(NamedTuple):
    """Correlations of items, and biases."""

    correlation: NDArray[Any]  # (n_items, n_items), symmetric, with a diagonal of zeros
    item_bias: NDArray[Any]  # (n_items,)

    def utility(self, have: ArrayLike) -> NDArray[Any]:
        """Utilities of all items to users who have some, (n_items,) or (n, n_items) of bool."""
        return np.asarray(have, dtype=self.correlation.dtype) @ self.correlation + self.item_bias


class NeighbourPenalties(NamedTuple):
    """Half of each times the square is taken off in every triple in which the parameter occurs.

    Numbers >= 0, or arrays with one of them for each item.
    """

    positive: ArrayLike = 0.01  # correlations of the item that the user has
    negative: ArrayLike = 0.01  # correlations of the item that the user has not
    bias: ArrayLike = 0.01  # biases of both items


def learn_bpr_neighbours(
    interactions: Interactions,
    *,
    n_epochs: float = 30,
    learning_rate: float = 0.01,
    last_rate: float | None = None,
    penalties: NeighbourPenalties = NeighbourPenalties(),  # noqa: B008  (immutable)
    item_bias: bool = True,
    dtype: Literal["float32", "float64"] = "float32",
    seed: int = 1,
) -> NeighbourFit:
    """Learn symmetric correlations of items from interactions, by LearnBPR.

    Parameters
    ----------
    interactions : Interactions
        Who has what.
    n_epochs : float
        How many triples are drawn, in units of the number of interactions.
    learning_rate : float
        Of the first step, positive. A step moves as many correlations as the user has items:
        smaller than that of factors.
    last_rate : float, optional
        Of the last step; the rate changes linearly in between. By default it stays.
    penalties : NeighbourPenalties
        On the correlations of the positive and the negative item, and on the biases.
    item_bias : bool
        Whether items have biases, which all users share.
    dtype : "float32" or "float64"
        Of the result.
    seed : int
        Of the triples; the result is the same for the same seed.

    Returns
    -------
    NeighbourFit

    Raises
    ------
    ValueError
        If there are no triples, a number is out of its range, or the steps ran away to infinity.

    Examples
    --------
    Who has a has b as well:

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
    last = learning_rate if last_rate is None else last_rate
    kind = check_numbers(n_epochs, learning_rate, last, dtype)
    on = [per_label(name, value, n_items, kind) for name, value in penalties._asdict().items()]
    fit = NeighbourFit(np.zeros((n_items, n_items), dtype=kind), np.zeros(n_items, dtype=kind))
    ascend(
        interactions,
        lambda where, *steps: climb_neighbours(*fit, *where, *on, item_bias, *steps),
        (n_epochs, learning_rate, last, seed),
    )
    check_finite(fit, learning_rate)
    return fit
