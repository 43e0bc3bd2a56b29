r"""Mallows models: distances, their normalisers, and the consensus summed out.

.. math:: P(\pi \mid \rho, \alpha) = \frac{e^{-t d(\pi, \rho)}}{Z_n(t)}, \qquad
          t = \frac{\alpha}{n}, \qquad Z_n(t) = \sum_\sigma e^{-t d(\sigma, \mathrm{id})}

for full rankings of n items, with the scale :math:`\alpha / n` of Vitelli et al. (2018). All
distances are right-invariant: they stay when the items are renamed, so that the normaliser does not
depend on the consensus :math:`\rho`, and ranks may be aligned with slots as well as with items.

============  ===============================  =====================================================
distance      :math:`d(\pi, \rho)`             :math:`Z_n(t)`
============  ===============================  =====================================================
footrule      :math:`\sum|\pi_i - \rho_i|`     a scan of positions, :math:`O(n^2)`
spearman      :math:`\sum(\pi_i - \rho_i)^2`   a permanent, by sets of items: up to 22 items
kendall       discordant pairs                 :math:`\prod_{j=1}^n \sum_{k<j} e^{-kt}`
cayley        exchanges of two items           :math:`\prod_{j=0}^{n-1} (1 + j e^{-t})`
hamming       items with other ranks           :math:`\sum_k \binom nk D_k e^{-kt}`, of the
                                               :math:`D_k` permutations that fix none of k
ulam          items to move                    :math:`\sum_\lambda (f^\lambda)^2
                                               e^{-(n - \lambda_1) t}`, by hooks: up to 60 items
============  ===============================  =====================================================

Numba and C modes run the kernels; JAX and second derivatives run the graphs of
`bayesrank.likelihoods.mallows.graph`, which must agree.

>>> ranks, consensus = [[2, 1, 3], [1, 2, 3]], [1, 2, 3]
>>> mallows_logp(ranks, consensus, 3.0, distance="kendall").exp().eval().round(4).tolist()
[0.1789, 0.4863]
"""

from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.tensor import TensorVariable
from scipy.special import gammaln

from bayesrank.likelihoods.mallows.distance_kernels import (
    CAYLEY,
    KENDALL,
    ULAM,
    distances_kernel,
)
from bayesrank.likelihoods.mallows.draw_kernels import draw_rankings_kernel
from bayesrank.likelihoods.mallows.graph import (
    footrule_log_normaliser,
    log_sum_over_orders,
    logs_of_counts,
)
from bayesrank.likelihoods.mallows.normaliser_kernels import footrule_kernel
from bayesrank.likelihoods.mallows.order_kernels import MOST_ITEMS, PAIRS, PLACES, orders_kernel
from bayesrank.likelihoods.mallows.ray import LogSumAlongRay, Ray, ray_of_costs
from bayesrank.likelihoods.ops import CompiledOp, KernelOp

__all__ = [
    "DISTANCES",
    "MOST_ITEMS_OF",
    "SUMMED_OUT",
    "FootruleLogNormaliser",
    "LogSumOverOrders",
    "RankingsDraw",
    "WholeDistance",
    "consensus_costs",
    "distance_between",
    "draw_rankings",
    "log_normaliser",
    "mallows_logp",
    "ray_of_rankings",
    "summed_out_along_ray",
    "summed_out_logp",
]

DISTANCES = ("footrule", "spearman", "kendall", "cayley", "hamming", "ulam")
MOST_ITEMS_OF = {"spearman": MOST_ITEMS, "ulam": 60}  # where sets, or shapes, become too many
# Distances of which the sum over all consensus orders is known, and how its items cost there
SUMMED_OUT = {"footrule": PLACES, "spearman": PLACES, "hamming": PLACES, "kendall": PAIRS}
_KERNELS = {"kendall": KENDALL, "cayley": CAYLEY, "ulam": ULAM}


class FootruleLogNormaliser(CompiledOp):
    """Logarithm of the normaliser of the footrule, (r,), of what a step costs, (r,)."""

    __props__ = ("n_items",)
    kernel = staticmethod(footrule_kernel)
    signature = "(r)->(r)"

    def __init__(self, n_items: int) -> None:
        self.n_items = n_items

    @property
    def constants(self) -> tuple[int]:
        return (self.n_items,)

    def graph(self, t: Any) -> TensorVariable:
        return footrule_log_normaliser(t, self.n_items)


class LogSumOverOrders(CompiledOp):
    """Logarithm of the sum over orders of exp(-cost), (r,), of costs, (r, n, n)."""

    __props__ = ("kind",)
    kernel = staticmethod(orders_kernel)
    signature = "(r,n,n)->(r)"

    def __init__(self, kind: int) -> None:
        self.kind = kind

    @property
    def constants(self) -> tuple[int]:
        return (self.kind,)

    def graph(self, cost: Any) -> TensorVariable:
        return log_sum_over_orders(cost, self.kind)


class WholeDistance(KernelOp):
    """Distances (r,) of rows of ranks (r, n) from those of a consensus (r, n)."""

    __props__ = ("kind",)
    kernel = staticmethod(distances_kernel)
    signature = "(r,n),(r,n)->(r)"

    def __init__(self, kind: int) -> None:
        self.kind = kind

    @property
    def constants(self) -> tuple[int]:
        return (self.kind,)


class RankingsDraw(KernelOp):
    """Rankings (r, n) of int64; the inputs of `draw_rankings_kernel`."""

    __props__ = ("kind",)
    kernel = staticmethod(draw_rankings_kernel)
    signature = "(r),(r,n),(r),(m)->(r,n)"
    dtype = "int64"

    def __init__(self, kind: int) -> None:
        self.kind = kind

    @property
    def constants(self) -> tuple[int]:
        return (self.kind,)


# ---------------------------------------------------------------------------------------------
# Graphs
# ---------------------------------------------------------------------------------------------


def distance_between(ranks: Any, consensus: Any, distance: str) -> TensorVariable:
    """Distance between full rankings.

    Parameters
    ----------
    ranks, consensus : tensor_like of int, (..., n)
        Ranks from 1 of the same items; leading axes broadcast.
    distance : {"footrule", "spearman", "kendall", "cayley", "hamming", "ulam"}
        Which one.

    Returns
    -------
    TensorVariable of float, (...)
        Of what is no ranking, any number or nan.

    Examples
    --------
    >>> ranks, consensus = [3, 1, 2, 4], [1, 2, 3, 4]
    >>> {name: float(distance_between(ranks, consensus, name).eval()) for name in DISTANCES}
    {'footrule': 4.0, 'spearman': 6.0, 'kendall': 2.0, 'cayley': 2.0, 'hamming': 3.0, 'ulam': 1.0}
    """
    ranks, consensus = (pt.cast(pt.as_tensor_variable(x), "int64") for x in (ranks, consensus))
    apart = ranks - consensus
    if distance == "footrule":
        found = pt.sum(pt.abs(apart), axis=-1)
    elif distance == "spearman":
        found = pt.sum(apart**2, axis=-1)
    elif distance == "hamming":
        found = pt.sum(pt.neq(apart, 0), axis=-1)
    else:
        # sums of both give them the same leading axes; broadcasting would compute shapes
        rows = [x + pt.zeros_like(apart) for x in (ranks, consensus)]
        flat = [x if x.ndim == 2 else x.reshape((-1, x.shape[-1])) for x in rows]
        found = WholeDistance(_KERNELS[distance])(*flat)
        found = found if apart.ndim == 2 else found.reshape(apart.shape[:-1])
    return pt.cast(found, "float64")


def log_normaliser(alpha: Any, n_items: int, distance: str) -> TensorVariable:
    r"""Logarithm of the normaliser :math:`Z_n(\alpha / n)`, exact.

    Parameters
    ----------
    alpha : tensor_like of float, (...)
        Concentration, finite and not negative.
    n_items : int
        How many items are ranked.
    distance : {"footrule", "spearman", "kendall", "cayley", "hamming", "ulam"}
        Which one.

    Returns
    -------
    TensorVariable, (...)

    Raises
    ------
    ValueError
        If the distance is unknown, or the items are too many for it.

    References
    ----------
    Fligner, Verducci, Distance based ranking models, JRSS B 1986 (Kendall, Cayley); Vitelli et al.,
    Probabilistic preference learning with the Mallows rank model, JMLR 2018.

    Examples
    --------
    >>> round(float(log_normaliser(3.0, 10, "kendall").eval()), 8)
    9.69641008
    """
    check_distance(distance, n_items)
    t = pt.as_tensor_variable(alpha) / n_items
    if distance == "kendall":
        # the sums grow along the axis, all terms are positive, and at zero they are whole numbers
        sums = pt.cumsum(pt.exp(-t[..., None] * np.arange(n_items)), axis=-1)
        return pt.sum(pt.log(sums), axis=-1)
    if distance == "cayley":
        return pt.sum(pt.log1p(np.arange(n_items) * pt.exp(-t[..., None])), axis=-1)
    if distance in ("hamming", "ulam"):
        logs = logs_of_counts(distance, n_items)
        (found,) = np.nonzero(np.isfinite(logs))
        return pt.logsumexp(logs[found] - t[..., None] * found, axis=-1)
    rows = t.reshape((-1,))
    if distance == "footrule":
        found = FootruleLogNormaliser(n_items)(rows)
    else:
        place = np.arange(n_items)
        squares = (place[:, None] - place[None, :]) ** 2.0
        found = LogSumOverOrders(PLACES)(rows[:, None, None] * squares)
    return found.reshape(t.shape)


def check_distance(distance: str, n_items: int) -> None:
    """Raise where there is no such distance, or no normaliser of it for so many items."""
    if distance not in DISTANCES:
        known = ", ".join(map(repr, DISTANCES))
        raise ValueError(f"`distance` is {distance!r}; it is one of {known}.")
    most = MOST_ITEMS_OF.get(distance)
    if most is not None and n_items > most:
        raise ValueError(
            f"The normaliser of distance={distance!r} is summed up to {most} items; there are "
            f"{n_items}. The footrule, Kendall, Cayley and Hamming distances have no limit."
        )


def mallows_logp(
    ranks: Any, consensus: Any, alpha: Any, *, distance: str = "footrule"
) -> TensorVariable:
    r"""Log-probability of full rankings, :math:`-\frac{\alpha}{n} d(\pi, \rho) - \log Z_n`.

    Parameters
    ----------
    ranks : tensor_like of int, (..., n)
        Ranks from 1 of all items, in any order of the items.
    consensus : tensor_like of int, (..., n)
        Ranks of the same items; leading axes broadcast. The number of items must be known.
    alpha : tensor_like of float, (...)
        Concentration, not negative: of each ranking, or of all.
    distance : {"footrule", "spearman", "kendall", "cayley", "hamming", "ulam"}
        Which one.

    Returns
    -------
    TensorVariable, (...)
        One number per ranking; of what is no ranking of all items, any.

    Raises
    ------
    ValueError
        As `log_normaliser` does, and if the number of items is not known.

    Examples
    --------
    >>> float(mallows_logp([1, 2, 3], [1, 2, 3], 0.0).exp().eval().round(6))
    0.166667
    """
    ranks, consensus = pt.as_tensor_variable(ranks), pt.as_tensor_variable(consensus)
    alpha = pt.cast(pt.as_tensor_variable(alpha), "float64")
    n = known_items(ranks, consensus)
    d = distance_between(ranks, consensus, distance)
    return -alpha / n * d - log_normaliser(alpha, n, distance)


def draw_rankings(consensus: Any, alpha: Any, seed: Any, *, distance: str) -> TensorVariable:
    """Draw full rankings, exactly.

    Parameters
    ----------
    consensus : tensor_like of int, (..., n)
        Ranks from 1.
    alpha : tensor_like of float, (...)
        Concentration.
    seed : tensor_like of int, (...)
        A 64-bit seed for each ranking; `consensus` and `alpha` broadcast to these.
    distance : str
        One of `DISTANCES`.

    Returns
    -------
    TensorVariable of int64, (..., n)

    Examples
    --------
    >>> draw_rankings([3, 1, 2], 1e6, [1, 2], distance="cayley").eval().tolist()
    [[3, 1, 2], [3, 1, 2]]
    """
    seed, consensus = pt.as_tensor_variable(seed), pt.as_tensor_variable(consensus)
    n = known_items(consensus)
    check_distance(distance, n)
    logs = logs_of_counts("hamming", n) if distance == "hamming" else np.zeros(1)
    zero = pt.zeros_like(seed)
    t = (pt.cast(pt.as_tensor_variable(alpha), "float64") / n + zero).reshape((-1,))
    rows = (pt.cast(consensus, "int64") + zero[..., None]).reshape((-1, n))
    found = RankingsDraw(DISTANCES.index(distance))(t, rows, seed.reshape((-1,)), logs)
    return found.reshape((*seed.shape, n))


def known_items(*ranks: TensorVariable) -> int:
    """Give the length of the last axis; raise where it is not known."""
    for x in ranks:
        if (n := x.type.shape[-1]) is not None:
            return n
    raise ValueError(
        "The number of items must be known where a Mallows model is made: give the ranks or the "
        "consensus a static shape, such as by pt.specify_shape."
    )


def consensus_costs(ranks: Any, distance: str) -> TensorVariable:
    """Give what each ranking adds to the costs of a consensus.

    Parameters
    ----------
    ranks : tensor_like of int, (n_rankings, n)
        Ranks from 1 of all items, by item.
    distance : {"footrule", "spearman", "hamming", "kendall"}
        One whose sum over the consensus is known.

    Returns
    -------
    TensorVariable of float, (n_rankings, n, n)
        Distance of an item's rank from each place; for Kendall, whether the item of the row is
        ranked before that of the column, after which a consensus would put it.
    """
    ranks = pt.as_tensor_variable(ranks)
    if distance == "kendall":
        found = ranks[:, :, None] < ranks[:, None, :]
    else:
        apart = ranks[:, :, None] - np.arange(1, known_items(ranks) + 1)
        of = {"footrule": pt.abs, "spearman": pt.sqr, "hamming": lambda x: pt.neq(x, 0)}
        found = of[distance](apart)
    return pt.cast(found, "float64")


def summed_out_logp(
    ranks: Any, alpha: Any, *, distance: str = "footrule", weight: Any = None
) -> TensorVariable:
    r"""Log-probability of all rankings together, the consensus summed out: all are equally likely.

    .. math:: P(\pi_1, \dots, \pi_N \mid \alpha) = \frac{1}{n!} \sum_\rho
              \prod_m \frac{e^{-t_m d(\pi_m, \rho)}}{Z_n(t_m)}

    Distances from a consensus are sums over its items and their places (footrule, Spearman,
    Hamming) or over its pairs (Kendall), so the sum is one over sets of items: time
    :math:`2^n n` once, however many rankings there are.

    Parameters
    ----------
    ranks : tensor_like of int, (n_rankings, n)
        Ranks from 1 of all items, by item. The number of items must be known.
    alpha : tensor_like of float, () or (1,) or (n_rankings,)
        Concentration, not negative: of all rankings, or of each.
    distance : {"footrule", "spearman", "hamming", "kendall"}
        Which one.
    weight : tensor_like of float, (n_rankings,), optional
        How often each ranking counts; default once.

    Returns
    -------
    TensorVariable, scalar

    Raises
    ------
    ValueError
        If the sum is not known for the distance, or the items are too many.

    Examples
    --------
    Two rankings that agree are more probable than two that do not.

    >>> [round(float(summed_out_logp([[1, 2], x], 1.0).exp().eval()), 4) for x in ([1, 2], [2, 1])]
    [0.3034, 0.1966]
    """
    ranks = pt.as_tensor_variable(ranks)
    alpha = pt.cast(pt.as_tensor_variable(alpha), "float64")
    n = known_items(ranks)
    check_summed_out(distance, n)
    costs = consensus_costs(ranks, distance)
    weight = pt.ones_like(costs[:, 0, 0]) if weight is None else pt.as_tensor_variable(weight)
    # alpha outside of the sum over rankings where it can be, which is then one of data
    if all(alpha.type.broadcastable):
        cost = alpha.squeeze() / n * pt.sum(weight[:, None, None] * costs, axis=0)
    else:
        cost = pt.sum((weight * alpha / n)[:, None, None] * costs, axis=0)
    log_z = pt.sum(weight * log_normaliser(alpha, n, distance))
    return LogSumOverOrders(SUMMED_OUT[distance])(cost[None])[0] - gammaln(n + 1.0) - log_z


def ray_of_rankings(ranks: Any, weight: Any, distance: str) -> Ray:
    """Sum over all consensus orders of some rankings, by the one concentration that they have.

    Parameters
    ----------
    ranks : array of int, (n_rankings, n)
        Ranks from 1 of all items, by item.
    weight : array of float, (n_rankings,)
        How often each counts.
    distance : {"footrule", "spearman", "hamming", "kendall"}
        Which one.

    Returns
    -------
    Ray
    """
    each = consensus_costs(ranks, distance).eval(mode="FAST_COMPILE")
    return ray_of_costs(np.tensordot(weight, each, 1), SUMMED_OUT[distance])


def summed_out_along_ray(alpha: Any, ray: Ray, weight: Any, *, distance: str) -> TensorVariable:
    """Log-probability of all rankings together, as `summed_out_logp`, of one concentration.

    Parameters
    ----------
    alpha : tensor_like of float, scalar
        Concentration, not negative.
    ray : Ray
        From `ray_of_rankings`; variables may stand for its arrays.
    weight : tensor_like of float, (n_rankings,)
        How often each ranking counts.
    distance : {"footrule", "spearman", "hamming", "kendall"}
        Which one.

    Returns
    -------
    TensorVariable, scalar
    """
    n = known_items(pt.as_tensor_variable(ray.cost))
    total = LogSumAlongRay(SUMMED_OUT[distance])((alpha / n)[None], *ray)[0]
    return total - gammaln(n + 1.0) - pt.sum(weight) * log_normaliser(alpha, n, distance)


def check_summed_out(distance: str, n_items: int) -> None:
    """Raise where the sum over all consensus orders is not known, or too long."""
    check_distance(distance, n_items)
    if distance not in SUMMED_OUT:
        known = ", ".join(map(repr, SUMMED_OUT))
        raise ValueError(
            f"The consensus cannot be summed out for distance={distance!r}: there is no sum of it "
            f"over items or pairs, as there is for {known}. Give a consensus."
        )
    if n_items > MOST_ITEMS:
        raise ValueError(
            f"The consensus is summed out over all sets of items, up to {MOST_ITEMS} of them; "
            f"there are {n_items}. Give a consensus."
        )
