r"""Mallows models: distances, normalisers, partial rankings, and the marginalised consensus.

.. math:: P(\pi \mid \rho, \alpha) = \frac{e^{-t d(\pi, \rho)}}{Z_n(t)}, \qquad
          t = \frac{\alpha}{n}, \qquad Z_n(t) = \sum_\sigma e^{-t d(\sigma, \mathrm{id})}

for full rankings of n items, with the scale :math:`\alpha / n` of Vitelli et al. (2018). All
distances are right-invariant: they do not change when the items are renamed. Therefore the
normaliser does not depend on the consensus :math:`\rho`. Ranks may be aligned with slots or with
items.

============  ===============================  =====================================================
distance      :math:`d(\pi, \rho)`             :math:`Z_n(t)`
============  ===============================  =====================================================
footrule      :math:`\sum|\pi_i - \rho_i|`     a scan of positions
spearman      :math:`\sum(\pi_i - \rho_i)^2`   a permanent, by sets of up to 22 items
kendall       discordant pairs                 :math:`\prod_{j=1}^n \sum_{k<j} e^{-kt}`
============  ===============================  =====================================================

The first two normalisers are interpolated to 1e-11. The probability of a partial ranking is the sum
over the full rankings that complete it.

>>> ranks, consensus = [[2, 1, 3], [1, 2, 3]], [[1, 2, 3]] * 2
>>> mallows_logp(ranks, consensus, 3.0, "kendall").exp().eval().round(4).tolist()
[0.1789, 0.4863]
"""

import functools
import math
from itertools import combinations
from typing import Any

import numpy as np
import pytensor.tensor as pt
from numpy.typing import NDArray
from pytensor.tensor import TensorLike, TensorVariable
from scipy.special import gammaln

from bayesrank.likelihoods.mallows.completion_kernels import completions_kernel
from bayesrank.likelihoods.mallows.curve import (
    Curve,
    curve_of_orders,
    curve_value,
    interpolated,
)
from bayesrank.likelihoods.mallows.draw_kernels import draw_rankings_kernel
from bayesrank.likelihoods.mallows.footrule import footrule_table
from bayesrank.likelihoods.mallows.order_kernels import (
    MOST_ITEMS,
    PAIRS,
    PLACES,
    log_total_of_orders,
    orders_kernel,
)
from bayesrank.likelihoods.mallows.stage_kernels import passed_over_kernel
from bayesrank.likelihoods.ops import CompiledOp, KernelOp

__all__ = [
    "COST_TYPE",
    "DISTANCES",
    "LogSumOfCompletions",
    "LogSumOverOrders",
    "PassedOver",
    "RankingsDraw",
    "check_distance",
    "check_marginal",
    "check_partial",
    "consensus_costs",
    "consensus_curve",
    "draw_rankings",
    "known_items",
    "log_normaliser",
    "log_normaliser_given_sizes",
    "log_sum_of_completions",
    "mallows_logp",
    "marginal_logp",
    "marginal_logp_on_curve",
    "n_chosen",
    "total_costs",
]

DISTANCES = ("footrule", "spearman", "kendall")
COST_TYPE = {"footrule": PLACES, "spearman": PLACES, "kendall": PAIRS}
FAR = 20.0  # t beyond which all rankings but the consensus have a probability below 1e-15


class LogSumOverOrders(CompiledOp):
    """Logarithm of the sum over orders of exp(-cost), (r,), from costs (r, n, n)."""

    __props__ = ("cost_type",)
    kernel = staticmethod(orders_kernel)
    signature = "(r,n,n)->(r)"

    def __init__(self, cost_type: int) -> None:
        self.cost_type = cost_type

    @property
    def constants(self) -> tuple[int]:
        return (self.cost_type,)

    def graph(self, cost: Any) -> TensorVariable:
        return _log_sum_over_orders(cost, self.cost_type)


def _log_sum_over_orders(cost: TensorVariable, cost_type: int) -> TensorVariable:
    """Sum over orders as a graph for JAX, from the smallest sets to the largest."""
    n = cost.type.shape[-1]
    f = cost[:, 0, :1] * 0.0
    position: dict[tuple[int, ...], int] = {(): 0}
    for size in range(1, n + 1):
        sets = list(combinations(range(n), size))
        last = np.array(sets)
        before = np.array([[position[s[:i] + s[i + 1 :]] for i in range(size)] for s in sets])
        if cost_type == PLACES:
            last_cost = cost[:, last, size - 1]
        else:
            others = np.array([[s[:i] + s[i + 1 :] for i in range(size)] for s in sets], dtype=int)
            last_cost = pt.sum(cost[:, last[..., None], others], axis=-1)
        f = pt.logsumexp(f[:, before] - last_cost, axis=-1)
        position = {s: i for i, s in enumerate(sets)}
    return f[:, 0]


class _DistanceOp(KernelOp):
    """Base of Ops with a number of items and the position of a distance in `DISTANCES`."""

    __props__: tuple[str, ...] = ("n_items", "cost_type")

    def __init__(self, n_items: int, cost_type: int) -> None:
        self.n_items, self.cost_type = n_items, cost_type

    @property
    def constants(self) -> tuple[int, int]:
        return self.n_items, self.cost_type


class LogSumOfCompletions(_DistanceOp, CompiledOp):
    """Log sum over full rankings, (r,). Inputs: t (r,), ranks (r, s) and consensus (r, s)."""

    kernel = staticmethod(completions_kernel)
    signature = "(r),(r,s),(r,s)->(r)"
    version = 4


class RankingsDraw(_DistanceOp):
    """Rankings (r, s); the inputs of `draw_rankings_kernel`."""

    kernel = staticmethod(draw_rankings_kernel)
    signature = "(r,j),(r,s),(1)->(r,s)"
    dtype = "int64"
    version = 6


class PassedOver(CompiledOp):
    """Items passed over, (r, j). Inputs: costs of the stages (j), ranks and consensus (r, n)."""

    __props__ = ()
    kernel = staticmethod(passed_over_kernel)
    signature = "(j),(r,n),(r,n)->(r,j)"
    wrt = ()

    def __init__(self) -> None:
        pass

    def graph(self, t: Any, ranks: Any, consensus: Any) -> TensorVariable:
        later = pt.lt(ranks[:, :, None], ranks[:, None, :])
        before = pt.gt(consensus[:, :, None], consensus[:, None, :])
        passed = pt.sum(later & before, axis=2)
        chosen = pt.eq(ranks[:, :, None], np.arange(1, t.type.shape[-1] + 1))
        chosen &= pt.le(ranks, n_chosen(ranks)[:, None])[:, :, None]
        return pt.cast(pt.sum(chosen * passed[:, :, None], axis=1), "float64")


def n_chosen(ranks: Any) -> TensorVariable:
    """Return the number of items chosen one by one, (...): all, or those before the last block."""
    ranks = pt.as_tensor_variable(ranks)
    last = pt.max(ranks, axis=-1)
    n_last = pt.sum(pt.eq(ranks, last[..., None]), axis=-1)
    return pt.switch(pt.eq(n_last, 1), last, last - 1)


# ---------------------------------------------------------------------------------------------
# Normalisers
# ---------------------------------------------------------------------------------------------


def log_normaliser(alpha: TensorLike, n_items: int, distance: str) -> TensorVariable:
    r"""Logarithm of the normaliser :math:`Z_n(\alpha / n)`, shape of `alpha`.

    References
    ----------
    Fligner, Verducci, Distance based ranking models, JRSS B 1986 (Kendall); Vitelli et al.,
    Probabilistic preference learning with the Mallows rank model, JMLR 2018.

    Examples
    --------
    >>> round(float(log_normaliser(3.0, 10, "kendall").eval()), 8)
    9.69641008
    """
    check_distance(distance, n_items)
    # PyTensor stores constants that fit in single precision
    t = pt.cast(pt.as_tensor_variable(alpha), "float64") / n_items
    if distance == "kendall":
        return _kendall_log_normalisers(t, n_items)[..., -1]
    return curve_value(t, *_normaliser_curve(n_items, distance))


@functools.cache
def _normaliser_curve(n: int, distance: str) -> Curve:
    """Interpolate the log normaliser of the footrule, or of Spearman's distance, over t."""
    if distance == "footrule":
        # one over the standard deviation of the distance of a random ranking
        scale = 1.0 / math.sqrt(max((n + 1) * (2 * n**2 + 7) / 45, 1.0))
        return interpolated(lambda t: np.array([footrule_table(x, n)[n, 0] for x in t]), scale, FAR)
    squares = np.subtract.outer(np.arange(n), np.arange(n)) ** 2.0
    scale = 6.0 / (n * (n + 1) * math.sqrt(max(n - 1, 1)))
    return interpolated(
        lambda t: np.array([log_total_of_orders(x * squares, PLACES) for x in t]), scale, FAR
    )


def _kendall_log_normalisers(t: TensorVariable, n_items: int) -> TensorVariable:
    """Log normalisers of 1, 2, ..., n items, (..., n)."""
    # the sums grow along the axis, all terms are positive, and at t = 0 the sums are integers
    sums = pt.cumsum(pt.exp(-t[..., None] * np.arange(n_items)), axis=-1)
    return pt.cumsum(pt.log(sums), axis=-1)


def check_distance(distance: str, n_items: int) -> None:
    """Raise if there is no such distance, or no exact normaliser of it."""
    if distance not in DISTANCES:
        known = ", ".join(map(repr, DISTANCES))
        raise ValueError(f"`distance` is {distance!r}; it must be one of {known}.")
    if distance == "spearman" and n_items > MOST_ITEMS:
        raise ValueError(
            f"Spearman's distance needs at most {MOST_ITEMS} items, because its normaliser sums "
            f"over sets of items; there are {n_items}. Use 'footrule' or 'kendall'."
        )


# ---------------------------------------------------------------------------------------------
# Rankings around a consensus
# ---------------------------------------------------------------------------------------------


def mallows_logp(
    ranks: TensorLike,
    consensus: TensorLike,
    alpha: TensorLike,
    distance: str = "footrule",
    *,
    n_items: int | None = None,
) -> TensorVariable:
    r"""Log-probability of full and partial rankings, (n_rankings,): a sum over completions.

    .. math:: \log \sum_{\pi \text{ completes } y} e^{-\frac{\alpha}{n} d(\pi, \rho)} - \log Z_n

    A full ranking completes a partial one if it keeps the order of its items. Tied items may have
    any order, and items that are left out any place. The result is -inf for rows that are not
    rankings.

    Parameters
    ----------
    ranks : tensor_like of int, (n_rankings, n_slots)
        Dense ranks from 1; 0 in empty slots.
    consensus : tensor_like of int, (n_rankings, n_slots)
        Ranks of the same items among all n; any value in empty slots.
    alpha : tensor_like of float, () or (n_rankings,)
        Non-negative concentration, of all rankings or of each.
    distance : {"footrule", "spearman", "kendall"}
        `check_partial` finds rankings whose sum is too long.
    n_items : int, optional
        Number of items in the consensus; by default, the number of slots.

    Examples
    --------
    The best of three items, and the order of two items out of three:

    >>> rows = [[1, 2, 2], [2, 1, 0]], [[1, 2, 3], [1, 3, 2]]
    >>> mallows_logp(*rows, 3.0, "kendall").exp().eval().round(4).tolist()
    [0.6652, 0.1558]
    """
    ranks = pt.as_tensor_variable(ranks)
    alpha = pt.cast(pt.as_tensor_variable(alpha), "float64")
    n_items = known_items(ranks) if n_items is None else n_items
    total = log_sum_of_completions(ranks, consensus, alpha, distance, n_items=n_items)
    return total - log_normaliser(alpha, n_items, distance)


def log_sum_of_completions(
    ranks: TensorLike, consensus: TensorLike, alpha: TensorVariable, distance: str, *, n_items: int
) -> TensorVariable:
    """Return the log sum over completions, without the normaliser; arguments of `mallows_logp`."""
    ranks, consensus = (pt.cast(pt.as_tensor_variable(x), "int64") for x in (ranks, consensus))
    t = alpha / n_items + pt.zeros_like(ranks[:, 0], dtype="float64")
    return LogSumOfCompletions(n_items, DISTANCES.index(distance))(t, ranks, consensus)


def check_partial(distance: str, ranks: Any, n_items: int) -> int | None:
    """Return the position of the first ranking whose sum over completions is too long, or None.

    `ranks`, (n_rankings, n_slots), are dense from 1, with 0 in empty slots.
    """
    size = (ranks[:, :, None] == np.arange(1, ranks.shape[1] + 1)).sum(axis=1)  # of each block
    n_out = n_items - (ranks > 0).sum(axis=1)
    n_tied = (size > 1).sum(axis=1)
    log_ideals = n_out + np.log2(1.0 + (2.0 ** np.minimum(size, 99) - 1.0).sum(axis=1))
    by_ideals = np.full(len(ranks), distance == "spearman") | (n_out > 0)
    by_ideals &= (distance != "footrule") | (n_tied > 0)
    bad = by_ideals & (log_ideals > MOST_ITEMS)
    return int(bad.argmax()) if bad.any() else None


def draw_rankings(
    consensus: TensorLike,
    alpha: TensorLike,
    seed: TensorLike,
    *,
    shape: Any,
    distance: str,
    n_items: int | None = None,
    by_stage: bool = False,
) -> TensorVariable:
    """Draw full rankings: ranks among all items, (..., n_slots).

    Parameters
    ----------
    consensus : tensor_like of int, (..., n_slots)
        Ranks from 1, of all items or of some.
    alpha : tensor_like of float, (...) or (..., n_stages)
        Concentration, or with `by_stage` concentrations of the stages of Kendall's distance.
    seed : tensor_like of int, scalar
    shape : tuple
        Shape of the rankings; `consensus` and `alpha` broadcast to it.
    distance : str
    n_items : int, optional
        Number of items in the consensus; by default the number of slots.
    by_stage : bool
        Whether the last axis of `alpha` holds the stages.

    Examples
    --------
    >>> draw_rankings([3, 1, 2], 1e6, 1, shape=(2,), distance="kendall").eval().tolist()
    [[3, 1, 2], [3, 1, 2]]
    """
    consensus, alpha = pt.as_tensor_variable(consensus), pt.as_tensor_variable(alpha)
    zero = pt.zeros(shape)[..., None]
    n = known_items(consensus) if n_items is None else n_items
    check_distance(distance, n)
    if not by_stage:
        n_stages = max(n - 1, 1) if distance == "kendall" else 1
        alpha = alpha[..., None] + np.zeros(n_stages)
    t = pt.cast(alpha, "float64") / n + zero
    rows = pt.cast(consensus, "int64") + pt.cast(zero, "int64")
    flat = [x.reshape((-1, x.shape[-1])) for x in (t, rows)]
    drawn = RankingsDraw(n, DISTANCES.index(distance))(*flat, pt.as_tensor(seed)[None])
    return drawn.reshape(rows.shape)


def known_items(*ranks: TensorVariable) -> int:
    """Return the length of the last axis; raise if it is not known."""
    for x in ranks:
        if (n := x.type.shape[-1]) is not None:
            return n
    raise ValueError(
        "A Mallows model needs a known number of items. Give the ranks or the consensus a static "
        "shape, for example with pt.specify_shape."
    )


# ---------------------------------------------------------------------------------------------
# The marginalised consensus
# ---------------------------------------------------------------------------------------------


def consensus_costs(ranks: TensorLike, distance: str) -> TensorVariable:
    """Return what each ranking adds to the costs of a consensus, (n_rankings, n, n).

    Under the footrule and Spearman's distance, it is the distance between an item's rank and each
    place. Under Kendall's distance, it is one if the ranking puts the item of the row before the
    item of the column. A consensus with the opposite order pays this cost. `ranks`,
    (n_rankings, n), are the ranks of all items, by item.
    """
    ranks = pt.as_tensor_variable(ranks)
    if distance == "kendall":
        found = ranks[:, :, None] < ranks[:, None, :]
    else:
        apart = ranks[:, :, None] - np.arange(1, known_items(ranks) + 1)
        found = pt.abs(apart) if distance == "footrule" else pt.sqr(apart)
    return pt.cast(found, "float64")


def total_costs(ranks: Any, weight: Any, distance: str) -> NDArray[np.float64]:
    """Sum the `consensus_costs` of rankings, times their weights, (n, n).

    Examples
    --------
    >>> total_costs(np.array([[1, 2], [2, 1], [1, 2]]), np.ones(3), "footrule").tolist()
    [[1.0, 2.0], [2.0, 1.0]]
    """
    n = ranks.shape[1]
    if distance == "kendall":
        return np.array([weight @ (rank[:, None] < ranks) for rank in ranks.T])
    cell = np.arange(n) * n + ranks - 1
    counts = np.bincount(cell.ravel(), np.repeat(weight, n), n * n).reshape(n, n)
    apart = abs(np.subtract.outer(np.arange(n), np.arange(n)))
    return np.asarray(counts @ (apart**2 if distance == "spearman" else apart))


def marginal_logp(
    ranks: TensorLike,
    alpha: TensorLike,
    distance: str = "footrule",
    *,
    weight: TensorLike | None = None,
    sizes: TensorLike | None = None,
) -> TensorVariable:
    r"""Log-probability of all rankings together, the consensus marginalised over a flat prior.

    .. math:: P(\pi_1, \dots, \pi_N \mid \alpha) = \frac{1}{n!} \sum_\rho
              \prod_m \frac{e^{-t_m d(\pi_m, \rho)}}{Z_n(t_m)}

    Distances from a consensus are sums over its items and their places (footrule, Spearman) or over
    its pairs (Kendall). The sum over orders is therefore a sum over sets of items. It takes time
    :math:`2^n n`, for any number of rankings.

    Parameters
    ----------
    ranks : tensor_like of int, (n_rankings, n)
        Ranks from 1 of all items, by item; dense ranks if `sizes` are given. The number of items
        must be known.
    alpha : tensor_like of float, () or (1,) or (n_rankings,)
        Non-negative concentration, of all rankings or of each.
    distance : {"footrule", "spearman", "kendall"}
    weight : tensor_like of float, (n_rankings,), optional
        How often each ranking counts; default once.
    sizes : tensor_like of int, (n_rankings, n_blocks), optional
        Block sizes of rankings with ties, 0 for absent blocks. Only for Kendall's distance, under
        which tied pairs cost nothing for any consensus.

    Examples
    --------
    Two rankings that agree are more probable than two that do not.

    >>> [round(float(marginal_logp([[1, 2], x], 1.0).exp().eval()), 4) for x in ([1, 2], [2, 1])]
    [0.3034, 0.1966]
    """
    ranks = pt.as_tensor_variable(ranks)
    alpha = pt.cast(pt.as_tensor_variable(alpha), "float64")
    n = known_items(ranks)
    check_marginal(distance, n)
    costs = consensus_costs(ranks, distance)
    weight = pt.ones_like(costs[:, 0, 0]) if weight is None else pt.as_tensor_variable(weight)
    # if alpha is one number, take it out of the sum over rankings, which is then a sum of data
    if all(alpha.type.broadcastable):
        cost = alpha.squeeze() / n * pt.sum(weight[:, None, None] * costs, axis=0)
    else:
        cost = pt.sum((weight * alpha / n)[:, None, None] * costs, axis=0)
    log_z = pt.sum(weight * log_normaliser_given_sizes(alpha, n, distance, sizes))
    return LogSumOverOrders(COST_TYPE[distance])(cost[None])[0] - gammaln(n + 1.0) - log_z


def consensus_curve(ranks: Any, weight: Any, distance: str) -> tuple[Any, Curve]:
    """Return the costs of a consensus at t = 1, (n, n), and the log sum over orders by t.

    `ranks` (n_rankings, n) are by item. All rankings share one concentration; each counts `weight`
    times.
    """
    cost = total_costs(ranks, weight, distance)
    return cost, curve_of_orders(cost, COST_TYPE[distance])


def marginal_logp_on_curve(
    alpha: TensorVariable,
    curve: Curve,
    weight: TensorLike,
    *,
    n_items: int,
    distance: str,
    sizes: TensorLike | None = None,
) -> TensorVariable:
    """Compute `marginal_logp` for one `alpha` from a `Curve`, whose fields may be variables."""
    total = curve_value(alpha / n_items, *curve)
    log_z = pt.sum(weight * log_normaliser_given_sizes(alpha, n_items, distance, sizes))
    return total - gammaln(n_items + 1.0) - log_z


def log_normaliser_given_sizes(
    alpha: Any, n_items: int, distance: str, sizes: Any
) -> TensorVariable:
    r"""Logarithm of the normaliser of rankings with ties, given block sizes, () or (n_rankings,).

    Under Kendall's distance it is :math:`Z_n / \prod_j Z_{b_j}` with the block sizes b: the sum
    over the orders within a block is the same for any consensus. `alpha` is (), (1,) or
    (n_rankings,). `sizes` are (n_rankings, n_blocks), or None if no ranking has ties.
    """
    total = log_normaliser(alpha, n_items, distance)
    if sizes is None:
        return total
    log_z = _kendall_log_normalisers(pt.atleast_1d(alpha) / n_items, n_items)
    table = pt.concatenate([pt.zeros_like(log_z[:, :1]), log_z], axis=1)
    sizes = pt.as_tensor_variable(sizes)
    if table.type.broadcastable[0]:
        return total - pt.sum(table[0][sizes], axis=1)
    rows = pt.arange(sizes.shape[0])[:, None]
    return total - pt.sum(table[rows, sizes], axis=1)


def check_marginal(distance: str, n_items: int) -> None:
    """Raise if there is no such distance, or if the sum over all consensus orders is too long."""
    check_distance(distance, 0)
    if n_items > MOST_ITEMS:
        raise ValueError(
            f"The consensus can be marginalised for at most {MOST_ITEMS} items; there are "
            f"{n_items}. Pass `consensus`: a known ranking, or a br.PlackettLuce variable with "
            "equal utilities, which br.LeapAndShift samples next to NUTS. With full rankings its "
            "steps take microseconds."
        )
