r"""Contrastive divergence: gradients for set functions with unknown normalising constants.

A weak order :math:`S_1 > \dots > S_M` is a product of choices. The model chooses each block
:math:`S_m` from the remainder :math:`R_m = S_m \cup \dots \cup S_M`, with probability
:math:`\Phi(S_m) / Z(R_m)`. The gradient in the utilities is

.. math:: \nabla \log P(S \mid R) = \nabla \log \Phi(S)
          - \sum_{T \subseteq R} P(T \mid R) \nabla \log \Phi(T) .

CD-k replaces the sum by one set, k steps of a chain away from the observed block. If the model is
right, the result has no bias, because chains that start at draws of the model remain draws of it.
Otherwise it is biased, and more steps reduce the bias. With enough steps, the chain forgets its
start, and CD-k is maximum likelihood by stochastic gradients. ``RESULTS.md`` shows the bias.

>>> import numpy as np
>>> from bayesrank.data import Rankings
>>> from models.pmop_sampling.model import SET_FUNCTIONS
>>> orderings = [["a", {"b", "c"}], [{"a", "b"}, "c"], ["b", "a", "c"]]
>>> rankings = Rankings.from_orderings(orderings)
>>> geometric = SET_FUNCTIONS["geometric"]
>>> fit = fit_cd(geometric, rankings, epochs=200, ridge=1.0, rng=1)
>>> rankings.items[int(fit.coefficient.argmin())]
'c'
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from bayesrank.data import Rankings
from models.pmop_sampling.chains import Seed, Sets, kernel_named
from models.pmop_sampling.model import Bools, Floats, LogPhi, evaluate, set_gradient

__all__ = ["CDFit", "cd_gradient", "choices", "fit_cd"]

Ints = npt.NDArray[np.int64]


class CDFit(NamedTuple):
    """Result of `fit_cd`."""

    coefficient: Floats  # (n_coefficients,) mean over the second half of the epochs
    path: Floats  # (epochs, n_coefficients) at the end of each epoch


def choices(ranks: npt.NDArray[np.integer]) -> tuple[Ints, Bools, Bools]:
    """Write weak orders as choices of a block from the remaining items.

    The last block is also a choice, because part of it could have been chosen, unless one item is
    left.

    Parameters
    ----------
    ranks : array of int, (n_rankings, n_slots)
        Dense ranks, 1 = best, equal = one block, 0 = empty slot.

    Returns
    -------
    row : array of int, (n_choices,)
        The ranking of each choice.
    member, where : array of bool, (n_choices, n_slots)
        The block, and the remainder it was chosen from.

    Examples
    --------
    >>> row, member, where = choices(np.array([[1, 2, 2, 0]]))
    >>> row.tolist(), member.astype(int).tolist(), where.astype(int).tolist()
    ([0, 0], [[1, 0, 0, 0], [0, 1, 1, 0]], [[1, 1, 1, 0], [0, 1, 1, 0]])
    """
    stage = np.arange(1, ranks.max(initial=0) + 1)[:, None, None]
    where = (ranks >= stage) & (ranks > 0)
    at, row = np.nonzero(where.sum(axis=-1) > 1)
    return row, ranks[row] == stage[at, 0], where[at, row]


def cd_gradient(
    log_phi: LogPhi,
    utility: npt.ArrayLike,
    member: npt.ArrayLike,
    where: npt.ArrayLike | None = None,
    *,
    steps: int = 1,
    kernel: Literal["gibbs", "metropolis"] = "gibbs",
    rng: Seed = None,
) -> Floats:
    r"""Compute a stochastic gradient of :math:`\log P(S \mid R)` by contrastive divergence.

    .. math:: \frac{\partial \log \Phi(S)}{\partial w} - \frac{\partial \log \Phi(S_k)}{\partial w},
              \qquad S_k \text{ k steps of a chain from } S_0 = S

    Parameters
    ----------
    log_phi : callable or SetFunction
        The set function. A `SetFunction` contains its gradient; for other functions, central
        differences approximate it.
    utility : array, (..., n_items)
        Log worths.
    member : array of bool, (..., n_items)
        The sets observed, not empty.
    where : array of bool, (..., n_items), optional
        The remainders they were chosen from; all items by default.
    steps : int
        Steps k of the chain: sweeps over all items for "gibbs".
    kernel : "gibbs" or "metropolis"
        The kernel that moves the chain.
    rng : Generator, int or None
        Generator or seed.

    Returns
    -------
    array, (..., n_items)
        One gradient per set, in the utilities.

    Raises
    ------
    ValueError
        If shapes do not fit, a set is empty, has an item outside its remainder or has Φ = 0, or an
        option is out of range.

    References
    ----------
    Hinton, Neural Computation 2002; Tran, Phung and Venkatesh, *Modelling human preferences for
    ranking and collaborative filtering*.

    Examples
    --------
    >>> def product(utility, member):
    ...     return np.where(member, utility, 0.0).sum(axis=-1)
    >>> w = np.array([1000.0, -1000.0])  # the chain goes to the first item and stays
    >>> cd_gradient(product, w, [[True, True], [True, False]], rng=1).round(6).tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    if steps < 1 or steps % 1:
        raise ValueError(f"`steps` is {steps!r}; it must be a whole number, 1 or more.")
    step = kernel_named(kernel)
    u, observed, mask = _check_sets(utility, member, where)
    rng = np.random.default_rng(rng)
    sets = Sets(observed, evaluate(log_phi, u, observed))
    if np.isneginf(sets.log_phi).any():
        first = observed[np.isneginf(sets.log_phi)][0]
        raise ValueError(
            f"The observed set of items {np.flatnonzero(first).tolist()} has Φ = 0: the set "
            "function says that it cannot be chosen."
        )
    for _ in range(steps):
        sets = step(log_phi, u, sets, rng, where=mask)
    return set_gradient(log_phi, u, observed) - set_gradient(log_phi, u, sets.member)


def fit_cd(
    log_phi: LogPhi,
    rankings: Rankings,
    *,
    by: Literal["item", "feature"] = "item",
    steps: int = 1,
    kernel: Literal["gibbs", "metropolis"] = "gibbs",
    epochs: int = 100,
    batch_size: int = 32,
    learning_rate: float = 1.0,
    ridge: float = 0.0,
    rng: Seed = None,
) -> CDFit:
    r"""Fit utilities, or weights of features, by contrastive divergence.

    Stochastic gradient ascent maximises the log-likelihood of the rankings (block sizes included)
    less a ridge penalty, per unit of weight:

    .. math:: \frac1{\sum_n v_n} \Bigl(\sum_n v_n \log P(\text{ranking } n)
              - \frac\lambda2 \sum_j c_j^2\Bigr)

    with the weights v of the rankings. The rate of epoch e is ``learning_rate`` / √e.

    Parameters
    ----------
    log_phi : callable or SetFunction
        The set function; see `models.pmop_sampling.model`.
    rankings : Rankings
        Weak orders; ties are judged equal.
    by : "item" or "feature"
        Whether each item has a coefficient (its utility), or each feature of
        ``rankings.features`` (the utility of a slot is the weighted sum of its features).
    steps, kernel : int, "gibbs" or "metropolis"
        The chain of `cd_gradient`.
    epochs : int
        Passes over the data.
    batch_size : int
        Rankings per gradient.
    learning_rate : float
        Length of the first step, positive.
    ridge : float
        The penalty λ, the precision of a normal prior; 0 or more.
    rng : Generator, int or None
        Generator or seed.

    Returns
    -------
    CDFit
        The coefficients, averaged over the second half of the epochs, and their path. Use the
        result only if the path has levelled off. If a constant in all utilities adds a constant
        to log Φ, only differences of utilities matter.

    Raises
    ------
    ValueError
        If features are wanted and there are none, an option is out of range, or the coefficients
        diverge.

    References
    ----------
    Tran, Phung and Venkatesh, *Modelling human preferences for ranking and collaborative
    filtering*.

    Examples
    --------
    >>> from models.pmop_sampling.model import each_set
    >>> rankings = Rankings.from_orderings([["a", {"b", "c"}], [{"a", "b"}, "c"]])
    >>> fit = fit_cd(each_set(np.median), rankings, epochs=4, rng=1)
    >>> fit.path.shape
    (4, 3)
    """
    if by not in DESIGNS:
        raise ValueError(f"`by` is {by!r}; it is one of {', '.join(map(repr, DESIGNS))}.")
    if by == "feature" and rankings.features is None:
        raise ValueError(
            "The rankings have no features. Use by='item', or build them with features=."
        )
    _check_options(epochs, batch_size, learning_rate, ridge)
    n_coefficients, to_slots, from_slots = DESIGNS[by]
    rng = np.random.default_rng(rng)
    coefficient = np.zeros(n_coefficients(rankings))
    path = np.empty((epochs, coefficient.size))
    total_weight = rankings.evidence.sum()
    n_batches = -(-rankings.n_rankings // batch_size)

    for epoch in range(epochs):
        rate = learning_rate / np.sqrt(epoch + 1)
        for batch in np.array_split(rng.permutation(rankings.n_rankings), n_batches):
            row, member, where = choices(rankings.ranks[batch])
            at = batch[row]
            u = to_slots(coefficient, rankings, at)
            slope = cd_gradient(log_phi, u, member, where, steps=steps, kernel=kernel, rng=rng)
            slope = from_slots(rankings.evidence[at, None] * slope, rankings, at)
            slope = slope * rankings.n_rankings / batch.size - ridge * coefficient
            coefficient = coefficient + rate * slope / total_weight
        if not np.abs(coefficient).max() < 1e100:
            raise ValueError(
                f"The coefficients diverged in epoch {epoch + 1}: learning_rate={learning_rate} is "
                f"too large for ridge={ridge}. Make it smaller."
            )
        path[epoch] = coefficient
    return CDFit(path[epochs // 2 :].mean(axis=0), path)


class Design(NamedTuple):
    """Map coefficients to utilities of slots, and gradients of slots back to coefficients."""

    n_coefficients: Callable[[Rankings], int]
    to_slots: Callable[[Floats, Rankings, Ints], Floats]
    from_slots: Callable[[Floats, Rankings, Ints], Floats]


def _features(rankings: Rankings) -> Floats:
    assert rankings.features is not None  # fit_cd checks it
    return rankings.features


DESIGNS = {
    "item": Design(
        lambda r: r.n_items,
        lambda c, r, at: c[r.item[at]],
        lambda g, r, at: np.bincount(r.item[at].ravel(), g.ravel(), minlength=r.n_items),
    ),
    "feature": Design(
        lambda r: _features(r).shape[-1],
        lambda c, r, at: _features(r)[at] @ c,
        lambda g, r, at: np.einsum("nj,njf->f", g, _features(r)[at]),
    ),
}


def _check_sets(
    utility: npt.ArrayLike, member: npt.ArrayLike, where: npt.ArrayLike | None
) -> tuple[Floats, Bools, Bools]:
    """Return the arguments as arrays of one shape."""
    u = np.asarray(utility, dtype=np.float64)
    observed = np.asarray(member)
    mask = np.ones(observed.shape, dtype=np.bool_) if where is None else np.asarray(where)
    for name, array in (("member", observed), ("where", mask)):
        if array.dtype != np.bool_:
            raise ValueError(
                f"`{name}` has dtype {array.dtype}; it must be bool, True for the items in the set."
            )
    try:
        shape = np.broadcast_shapes(u.shape, observed.shape, mask.shape)
    except ValueError:
        shape = ()
    if not shape:
        raise ValueError(
            f"`utility` {u.shape}, `member` {observed.shape} and `where` {mask.shape} do not fit: "
            "the last axis of each is the items, leading axes are sets."
        )
    u, observed, mask = (np.broadcast_to(x, shape) for x in (u, observed, mask))
    if not np.isfinite(u[mask]).all():
        raise ValueError("`utility` must be finite for the items of the remainders.")
    empty = ~observed.any(axis=-1)
    if empty.any():
        raise ValueError(
            f"{int(empty.sum())} of {empty.size} sets in `member` are empty; a block has an item."
        )
    outside = (observed & ~mask).any(axis=-1)
    if outside.any():
        raise ValueError(
            f"{int(outside.sum())} of {outside.size} sets in `member` have items that are not in "
            "their remainder `where`."
        )
    return u, observed, mask


def _check_options(epochs: int, batch_size: int, learning_rate: float, ridge: float) -> None:
    for name, value in (("epochs", epochs), ("batch_size", batch_size)):
        if value < 1 or value % 1:
            raise ValueError(f"`{name}` is {value!r}; it must be a whole number, 1 or more.")
    if not 0 < learning_rate < np.inf:
        raise ValueError(f"`learning_rate` is {learning_rate}; it must be positive and finite.")
    if not 0 <= ridge < np.inf:
        raise ValueError(f"`ridge` is {ridge}; it must be 0 or more, and finite.")
