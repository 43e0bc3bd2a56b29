r"""PMOP, probabilistic model over ordered partitions: Plackett-Luce that chooses sets.

A ranking is a weak order :math:`S_1 > S_2 > \dots > S_M`: blocks of items judged equal, best first.
Stage :math:`m` chooses the block :math:`S_m` among all non-empty subsets of the remaining items,
:math:`R_m = S_m \cup \dots \cup S_M`:

.. math:: P(S_1 > \dots > S_M) = \prod_m \frac{\delta_{|S_m|} \Phi(S_m)}{Z(R_m)}, \qquad
          Z(R) = \sum_{\emptyset \ne S \subseteq R} \delta_{|S|} \Phi(S) .

:math:`\Phi` is a mean of the worths :math:`e^{w_i}` of the block. The weights :math:`\delta` of
sizes are one unless tie prevalences are given. Given the sizes, the sum is over subsets of the same
size. The normalisers of a remainder of n items are:

==========  =====================================================================================
mean        :math:`\frac{1}{n} \sum_m \delta_m \binom{n}{m} \sum_i e^{w_i}`
max         :math:`\sum_i c_{k_i} e^{w_i}` with :math:`k_i` the number of items below i, and
            :math:`c_k = \sum_m \delta_m \binom{k}{m-1}` (:math:`2^k` for equal weights)
min         the same with the number of items above
geometric   :math:`\sum_m \delta_m e_m(e^{w/m})`, :math:`e_m` the elementary symmetric polynomials
harmonic    :math:`\int_0^\infty \sum_m \delta_m m\, e_m(q) dt` with
            :math:`q_i = \exp(-t e^{-w_i})`; for equal weights the integrand is
            :math:`\prod_i (1 + q_i) \sum_j q_j / (1 + q_j)`
==========  =====================================================================================

The kernels of `bayesrank.likelihoods.pmop.set_kernels` compute the value and the gradients in one
pass. JAX calls them on the host.

>>> float(pmop_logp([0.0, 0.0], [1, 1]).exp().eval().round(6))
0.333333
"""

import pytensor.tensor as pt
from pytensor.tensor import TensorLike, TensorVariable

from bayesrank.likelihoods.ops.arrays import over_rows
from bayesrank.likelihoods.ops.compiled import CompiledOp, KernelOp
from bayesrank.likelihoods.pmop.draw_kernels import draw_weak_orders_kernel
from bayesrank.likelihoods.pmop.set_kernels import AGGREGATES, ordered_partitions_kernel

__all__ = ["OrderedPartitionDraw", "OrderedPartitionLogp", "pmop_logp"]


class OrderedPartitionLogp(CompiledOp):
    """Log-probability of every ranking, (n_rankings,), and its gradients.

    Inputs: utility (n_rankings, n_slots), ranks (n_rankings, n_slots), log_weight (n_rankings,
    n_sizes) of block sizes, stage_weight (n_rankings, n_stages). The outputs after the first are
    the gradients by utility and by log_weight.
    """

    __props__ = ("aggregate", "given_sizes")
    kernel = staticmethod(ordered_partitions_kernel)
    signature = "(r,s),(r,s),(r,z),(r,t)->(r)"
    version = 6
    wrt = (0, 2)

    def __init__(self, aggregate: str, given_sizes: bool) -> None:
        self.aggregate = aggregate
        self.given_sizes = given_sizes

    @property
    def constants(self) -> tuple[int, bool]:
        return AGGREGATES.index(self.aggregate), self.given_sizes


class OrderedPartitionDraw(KernelOp):
    """Weak orders (r, n_slots) of int64; the inputs of `draw_weak_orders_kernel`.

    A draw is a
    function of one 64-bit seed per ranking, so one compiled function serves numba, C and, through a
    callback, JAX.
    """

    __props__ = ("aggregate",)
    kernel = staticmethod(draw_weak_orders_kernel)
    signature = "(r,s),(r,s),(r,b),(r,z),(r)->(r,s)"
    version = 8
    dtype = "int64"

    def __init__(self, aggregate: str) -> None:
        self.aggregate = aggregate

    @property
    def constants(self) -> tuple[int]:
        return (AGGREGATES.index(self.aggregate),)


def pmop_logp(
    utility: TensorLike,
    ranks: TensorLike,
    *,
    aggregate: str = "mean",
    given_sizes: bool = False,
    log_weight: TensorLike | None = None,
    stage_weight: TensorLike | None = None,
) -> TensorVariable:
    r"""Log-probability of weak orders under PMOP, compiled.

    Parameters
    ----------
    utility : tensor_like of float, (..., n_slots)
        Log worth of the item in each slot.
    ranks : tensor_like of int, (..., n_slots)
        Dense ranks in any order of slots: 1 = best, equal = one block, 0 = empty slot.
    aggregate : {"mean", "max", "min", "geometric", "harmonic"}
        The set function.
    given_sizes : bool
        Whether the sizes of the blocks are given; otherwise they are part of the outcome.
    log_weight : tensor_like of float, (..., n_sizes), optional
        Log weights of block sizes 1 to n_sizes; larger blocks are impossible. By default all sizes
        have the same weight.
    stage_weight : tensor_like of float, (..., n_stages), optional
        Exponents of the stages; default one. A ranking has at most n_stages stages.

    Returns
    -------
    TensorVariable, (...)
        One number per ranking, -inf if its ranks are not dense.

    References
    ----------
    Tran, Phung & Venkatesh, Modelling human preferences for ranking and collaborative filtering: a
    probabilistic ordered partition approach (the likelihood of an ordered partition).

    Examples
    --------
    With two equal items, each of the three outcomes has probability one third:

    >>> float(pmop_logp([0.0, 0.0], [1, 1]).exp().eval().round(6))
    0.333333
    """
    utility = pt.as_tensor_variable(utility)
    log_weight = pt.zeros((0,)) if log_weight is None else pt.as_tensor_variable(log_weight)
    stage_weight = (
        pt.ones_like(utility, dtype="float64")
        if stage_weight is None
        else pt.as_tensor_variable(stage_weight)
    )
    op = OrderedPartitionLogp(aggregate, given_sizes)
    return over_rows(op, utility, ranks, log_weight, stage_weight)
