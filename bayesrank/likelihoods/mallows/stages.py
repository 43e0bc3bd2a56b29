r"""Generalised Mallows models: Kendall's distance with one concentration per stage.

.. math:: P(\pi \mid \rho, \alpha) = \prod_{j=1}^{n-1}
              \frac{e^{-t_j V_j(\pi, \rho)}}{\sum_{v=0}^{n-j} e^{-t_j v}},
          \qquad t_j = \frac{\alpha_j}{n}

where V_j is the number of remaining items at stage j that precede the chosen item in the consensus
:math:`\rho`. Their sum is Kendall's distance, so equal concentrations give the Mallows model under
that distance. Top-k lists end after k stages. The cost of each stage is a sum over pairs of the
chosen item and a remaining one. Therefore the sum over all consensus orders is also exact.

>>> ranks, consensus = [[2, 1, 3], [1, 2, 3]], [[1, 2, 3]] * 2
>>> stages_logp(ranks, consensus, [3.0, 3.0]).exp().eval().round(4).tolist()
[0.1789, 0.4863]
"""

from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.tensor import TensorLike, TensorVariable
from scipy.special import gammaln

from bayesrank.likelihoods.mallows.op import (
    LogSumOverOrders,
    PassedOver,
    check_marginal,
    known_items,
    n_chosen,
)
from bayesrank.likelihoods.mallows.order_kernels import PAIRS
from bayesrank.likelihoods.mallows.stage_kernels import stage_pairs_kernel
from bayesrank.likelihoods.ops import KernelOp

__all__ = [
    "StagePairs",
    "log_normaliser_of_stages",
    "marginal_stages_logp",
    "stages_logp",
]


class StagePairs(KernelOp):
    """Pairs by stage, (j, n, n). Inputs: t (j), ranks by item (r, n) and weights (r)."""

    kernel = staticmethod(stage_pairs_kernel)
    signature = "(j),(r,n),(r)->(j,n,n)"


def _log_z_of_stages(t: Any, n: int) -> TensorVariable:
    """Logarithm of the normaliser of each stage, (..., j)."""
    passed, stage = np.arange(n), np.arange(t.type.shape[-1])
    possible = passed < n - stage[:, None]
    costs = -t[..., None] * passed
    return pt.log(pt.sum(pt.switch(possible, pt.exp(costs), 0.0), axis=-1))


def stages_logp(ranks: TensorLike, consensus: TensorLike, alpha: TensorLike) -> TensorVariable:
    """Log-probability of full rankings and top-k lists, (n_rankings,), by the formula above.

    Parameters
    ----------
    ranks : tensor_like of int, (n_rankings, n)
        Dense ranks from 1 of all items; only the last block may have several items.
    consensus : tensor_like of int, (n_rankings, n)
        Ranks of the same items. The number of items must be known.
    alpha : tensor_like of float, (n_stages,) or (n_rankings, n_stages)
        Non-negative concentrations of the first stages; it is zero at later stages.

    References
    ----------
    Fligner & Verducci, Multistage ranking models, JASA 1988.

    Examples
    --------
    The list names the best of three items:

    >>> stages_logp([[1, 2, 2]], [[1, 2, 3]], [3.0, 3.0]).exp().eval().round(4).tolist()
    [0.6652]
    """
    ranks, consensus = (pt.cast(pt.as_tensor_variable(x), "int64") for x in (ranks, consensus))
    n = known_items(ranks, consensus)
    alpha = pt.cast(pt.as_tensor_variable(alpha), "float64")
    n_stages = min(alpha.type.shape[-1], n - 1)
    t = alpha[..., :n_stages] / n
    passed = PassedOver()(pt.zeros(n_stages), pt.specify_shape(ranks, (None, n)), consensus)
    return -pt.sum(t * passed, axis=1) - log_normaliser_of_stages(alpha, n, n_chosen(ranks))


def log_normaliser_of_stages(
    alpha: TensorLike, n_items: int, chosen: TensorVariable
) -> TensorVariable:
    """Logarithm of the normaliser of each ranking, (n_rankings,): the product over its stages.

    `alpha` is (n_stages,) or (n_rankings, n_stages). `chosen` is the number of items that each
    ranking chooses, k or n.
    """
    alpha = pt.as_tensor_variable(alpha)
    n_stages = min(alpha.type.shape[-1], n_items - 1)
    log_z = _log_z_of_stages(alpha[..., :n_stages] / n_items, n_items)
    used = pt.ge(chosen[:, None], np.arange(1, n_stages + 1))
    # after the stages with a concentration, all orders of the remaining items are equally likely
    first = pt.minimum(chosen, n_stages)
    rest = pt.gammaln(n_items - first + 1.0) - pt.gammaln(n_items - chosen + 1.0)
    return pt.sum(pt.switch(used, log_z, 0.0), axis=1) + rest


def marginal_stages_logp(
    ranks: TensorLike, alpha: TensorLike, weight: TensorLike | None = None
) -> TensorVariable:
    r"""Log-probability of all rankings together, the consensus marginalised over a flat prior.

    The cost of a consensus is a sum over pairs. Putting i after k costs :math:`\sum_j t_j m_j`,
    with the number :math:`m_j` of choices of i at stage j while k remained. `ranks` are as in
    `stages_logp`, by item. `alpha` is (n_stages,), and `weight` says how often each ranking counts.

    Examples
    --------
    >>> float(marginal_stages_logp([[1, 2], [1, 2]], [1.0]).exp().eval().round(4))
    0.265
    """
    ranks = pt.cast(pt.as_tensor_variable(ranks), "int64")
    n = known_items(ranks)
    check_marginal("kendall", n)
    alpha = pt.cast(pt.as_tensor_variable(alpha), "float64")
    weight = pt.ones_like(ranks[:, 0], dtype="float64") if weight is None else weight
    pairs = StagePairs()(alpha, ranks, pt.as_tensor_variable(weight))
    cost = pt.sum((alpha / n)[:, None, None] * pairs, axis=0)
    log_z = log_normaliser_of_stages(alpha, n, n_chosen(ranks))
    total = LogSumOverOrders(PAIRS)(pt.specify_shape(cost, (n, n))[None])[0]
    return total - gammaln(n + 1.0) - pt.sum(weight * log_z)
