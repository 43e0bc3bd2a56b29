"""A pairwise model of the pairs of each ranking: a composite likelihood.

>>> from bayesrank.likelihoods.pairs import bradley_terry_log_probabilities, weak_order_pairs
>>> pairs = weak_order_pairs([[1, 2, 2]], ties="drop")
>>> logp = pairs_logp([[1.0, 0.0, 0.5]], pairs, bradley_terry_log_probabilities)
>>> float(logp.eval()[0].round(4))
-0.7873
"""

from collections.abc import Callable
from typing import Any

import pytensor.tensor as pt
from pytensor.tensor import TensorVariable

from bayesrank.likelihoods.ops import segment_sum
from bayesrank.likelihoods.pairs import LogProbabilities, WeakOrderPairs, outcome_logp

__all__ = ["pairs_logp"]


def pairs_logp(
    utility: Any,
    pairs: WeakOrderPairs,
    log_probabilities: Callable[[TensorVariable], LogProbabilities],
) -> TensorVariable:
    r"""Sum of a pairwise log-probability over the pairs of each ranking.

    .. math:: \sum_{(i, j)} \log P(y_{ij} \mid w_i - w_j)

    A composite likelihood: fit with it, but compare it by LOO with nothing.

    Utilities are (n_rankings, n_slots), any value in empty slots. `log_probabilities` returns those
    of all outcomes at a lead, such as `bradley_terry_log_probabilities`. A ranking without pairs
    has zero.
    """
    utility = pt.as_tensor_variable(utility)
    ranking, first, second, outcome = (pt.as_tensor_variable(x) for x in pairs)
    lead = utility[ranking, first] - utility[ranking, second]
    terms = outcome_logp(outcome, log_probabilities(lead))
    return segment_sum(terms, (ranking,), (utility.shape[0],))
