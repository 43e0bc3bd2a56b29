"""A pairwise model of the pairs of each ranking: a composite likelihood.

The pairs of one ranking are not independent: a before b and b before c imply a before c. Therefore
the likelihood does not sum to one over all weak orders, and its posteriors are too narrow. LOO
cannot compare it with models of whole rankings.

>>> from bayesrank.likelihoods.pairs import bradley_terry_log_probabilities
>>> pairs = weak_order_pairs([[1, 2, 2]], ties="drop")
>>> logp = pairs_logp([[1.0, 0.0, 0.5]], pairs, bradley_terry_log_probabilities)
>>> float(logp.eval()[0].round(4))
-0.7873
"""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
import pytensor.tensor as pt
from numpy.typing import ArrayLike
from pytensor.tensor import TensorVariable

from bayesrank.likelihoods.ops import segment_sum
from bayesrank.likelihoods.pairs import FIRST, TIE, LogProbabilities, outcome_logp

__all__ = ["WeakOrderPairs", "pairs_logp", "weak_order_pairs"]


class WeakOrderPairs(NamedTuple):
    """The pairs of a collection of rankings, as arrays or tensors."""

    ranking: Any  # (n_pairs,), the ranking of the pair, in ascending order
    first: Any  # (n_pairs,), slot of one item, the better one unless they are tied
    second: Any  # (n_pairs,), slot of the other item
    outcome: Any  # (n_pairs,), 0 = first wins, 2 = tie


def weak_order_pairs(ranks: ArrayLike, *, ties: Literal["keep", "drop"] = "keep") -> WeakOrderPairs:
    """List all pairs of items that were presented together, without empty slots.

    Parameters
    ----------
    ranks : array of int, shape (n_rankings, n_slots)
        1 = best, equal = tied, 0 = empty slot; slots in any order.
    ties : "keep" or "drop"
        Whether to keep two items of one block as outcome 2 (judged equal), or to drop the pair
        (order unknown). Under Bradley-Terry and Thurstone, ties have probability zero; drop them.

    Returns
    -------
    WeakOrderPairs
        Four arrays of length n_pairs; each pair appears once, with the better item first.

    Examples
    --------
    >>> pairs = weak_order_pairs([[2, 1, 2, 0]])
    >>> [array.tolist() for array in pairs]
    [[0, 0, 0], [1, 0, 1], [0, 2, 2], [0, 2, 0]]
    """
    ranks = np.asarray(ranks)
    if ties not in ("keep", "drop"):
        raise ValueError(f"`ties` must be 'keep' or 'drop'; got {ties!r}.")
    if ranks.ndim != 2 or ranks.dtype.kind not in "iu":
        raise ValueError(
            f"`ranks` must be a matrix of integers, (n_rankings, n_slots); got shape "
            f"{ranks.shape} of {ranks.dtype}."
        )
    if (ranks < 0).any():
        row = int((ranks < 0).any(axis=1).argmax())
        raise ValueError(
            f"`ranks` must be 1 (best) or more, or 0 in empty slots; row {row} contains "
            f"{ranks[row].min()}."
        )
    row, slot = np.nonzero(ranks)
    n_used = np.count_nonzero(ranks, axis=1)
    end = np.cumsum(n_used)[row]  # end of the ranking of each entry

    # pair each entry with every later entry of its ranking
    later = end - 1 - np.arange(len(row))
    one = np.repeat(np.arange(len(row)), later)
    other = np.arange(len(one)) - np.repeat(np.cumsum(later) - later, later) + one + 1

    lead = ranks[row[other], slot[other]].astype(np.int64) - ranks[row[one], slot[one]]
    one, other = np.where(lead >= 0, one, other), np.where(lead >= 0, other, one)
    kept = (lead != 0) | (ties == "keep")
    outcome = np.where(lead[kept] == 0, TIE, FIRST)
    return WeakOrderPairs(row[one[kept]], slot[one[kept]], slot[other[kept]], outcome)


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
