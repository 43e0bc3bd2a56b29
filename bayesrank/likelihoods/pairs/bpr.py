r"""BPR: what a user has is preferred to what the user has not, pair by pair.

.. math:: \log p(I_u^+ \mid x_u) = \sum_{i \in I_u^+} \sum_{j \notin I_u^+}
          \log\sigma(x_{ui} - x_{uj})

Each term is that of Bradley-Terry, and the sum is its composite likelihood of a weak order of two
blocks (see `bayesrank.likelihoods.pairs.of_rankings`): the terms of a user are not independent, so
that the sum of it over all sets of items is not one.

A triple is a user, an item the user has and an item the user has not. All of them are
`Interactions.all_triples`; where those are too many, some drawn at random stand for all.

>>> triples = np.array([[0, 0, 1], [0, 0, 2]])
>>> bpr_logp([[2.0, 0.0, 1.0]], triples).eval().round(4).tolist()
[-0.4402]
"""

from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.tensor import TensorVariable

from bayesrank.likelihoods.ops.arrays import segment_sum
from bayesrank.likelihoods.ops.stable import log_sigmoid

__all__ = ["bpr_logp", "triple_logp"]


def triple_logp(utility: Any, second: Any = 0) -> TensorVariable:
    r"""Log-probability of the preference of a triple, :math:`\log\sigma(\pm(x_{ui} - x_{uj}))`.

    Parameters
    ----------
    utility : tensor_like of float, (..., 2)
        Of the item that the user has, and of the one that the user has not.
    second : tensor_like of int, (...)
        0 if the first is preferred, as observed triples have it; 1 if the second is.

    Returns
    -------
    TensorVariable, (...)
        -inf for any other value.

    Examples
    --------
    >>> triple_logp([[np.log(3.0), 0.0]], [0]).exp().eval().round(6).tolist()
    [0.75]
    """
    utility, second = pt.as_tensor_variable(utility), pt.as_tensor_variable(second)
    lead = utility[..., 0] - utility[..., 1]
    logp = log_sigmoid(pt.switch(pt.eq(second, 0), lead, -lead))
    return pt.switch(pt.eq(second, 0) | pt.eq(second, 1), logp, -np.inf)


def bpr_logp(utility: Any, triples: Any) -> TensorVariable:
    """Sum the log-probabilities of the triples of each user.

    A composite likelihood: fit with it, but compare it by LOO with nothing.

    Parameters
    ----------
    utility : tensor_like of float, (n_users, n_items)
        Of every item to every user.
    triples : tensor_like of int, (n_triples, 3)
        User, an item the user has, an item the user has not, as `Interactions.all_triples` lists
        them.

    Returns
    -------
    TensorVariable, (n_users,)
        Zero for a user without triples.

    References
    ----------
    Rendle et al., BPR: Bayesian personalized ranking from implicit feedback, UAI 2009.

    Examples
    --------
    >>> bpr_logp(np.zeros((2, 2)), np.array([[1, 0, 1]])).eval().round(6).tolist()
    [0.0, -0.693147]
    """
    utility, triples = pt.as_tensor_variable(utility), pt.as_tensor_variable(triples)
    user = triples[:, 0]
    return segment_sum(
        triple_logp(utility[user[:, None], triples[:, 1:]]), (user,), (utility.shape[0],)
    )
