r"""Steps of Markov chains over the non-empty sets.

A kernel moves any number of chains at once, each over the subsets of the given items. It leaves the
distribution with probabilities proportional to :math:`\Phi(S)^\beta` invariant. Leading axes are
chains, and the last axis is items.

The empty set is not a state. Gibbs sampling rejects a flip to it, and the proposals of
Metropolis-Hastings have at least one item.

>>> import numpy as np
>>> from models.pmop_sampling.model import SET_FUNCTIONS
>>> w, rng = np.array([1.0, 0.0, -1.0]), np.random.default_rng(1)
>>> sets = Sets(np.array([[True, False, False]]), np.array([1.0]))
>>> gibbs_sweep(SET_FUNCTIONS["max"], w, sets, rng).member.shape
(1, 3)
"""

from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from scipy.special import expit, gammaln

from models.pmop_sampling.model import Bools, Floats, LogPhi, evaluate

__all__ = [
    "KERNELS",
    "Kernel",
    "Seed",
    "Sets",
    "gibbs_sweep",
    "kernel_named",
    "metropolis_step",
    "uniform_sets",
]

Seed = np.random.Generator | int | None


class Sets(NamedTuple):
    """States of chains: the sets, and log Φ of each."""

    member: Bools  # (..., n_items)
    log_phi: Floats  # (...)


class Kernel(Protocol):
    """One step of all chains, which leaves the distribution ∝ Φ^power invariant."""

    def __call__(
        self,
        log_phi: LogPhi,
        utility: Floats,
        sets: Sets,
        rng: np.random.Generator,
        *,
        where: Bools | None = None,
        power: float = 1.0,
    ) -> Sets:
        """Return the next states."""


def uniform_sets(size: npt.NDArray[Any], mask: Bools, rng: np.random.Generator) -> Bools:
    """Draw sets of given sizes; all sets of one size are equally likely.

    Parameters
    ----------
    size : array of int, (...)
        Sizes, at most the number of available items.
    mask : array of bool, (..., n_items)
        Available items.
    rng : Generator
        Random number generator.

    Returns
    -------
    array of bool, (..., n_items)

    Examples
    --------
    >>> mask = np.array([[True, False, True]])
    >>> uniform_sets(np.array([2]), mask, np.random.default_rng(1)).tolist()
    [[True, False, True]]
    """
    key = np.where(mask, rng.random(mask.shape), np.inf)
    place: npt.NDArray[np.int64] = key.argsort(axis=-1).argsort(axis=-1)
    return place < size[..., None]


def _log_binomial(n: npt.NDArray[Any], m: npt.NDArray[Any]) -> Floats:
    value: Floats = gammaln(n + 1) - gammaln(m + 1) - gammaln(n - m + 1)
    return value


def gibbs_sweep(
    log_phi: LogPhi,
    utility: Floats,
    sets: Sets,
    rng: np.random.Generator,
    *,
    where: Bools | None = None,
    power: float = 1.0,
) -> Sets:
    r"""Put every item in turn in or out, with its probability given the others.

    .. math:: P(\text{flip } i) = 1 / (1 + (\Phi(S) / \Phi(S'))^{\beta}), \qquad
              S' = S \mathbin{\triangle} \{i\}; \quad 0 \text{ if } S' = \emptyset

    Parameters
    ----------
    log_phi : callable
        The set function; see `models.pmop_sampling.model`.
    utility : array, (..., n_items)
        Log worths.
    sets : Sets
        Present states: no set is empty, log Φ is finite.
    rng : Generator
        Random number generator.
    where : array of bool, (..., n_items), optional
        Available items; the others stay out. All by default.
    power : float
        The exponent β.

    Returns
    -------
    Sets

    Examples
    --------
    >>> def product(utility, member):
    ...     return np.where(member, utility, 0.0).sum(axis=-1)
    >>> only = Sets(np.array([[True, False]]), np.array([1000.0]))
    >>> w, rng = np.array([1000.0, -1000.0]), np.random.default_rng(1)
    >>> gibbs_sweep(product, w, only, rng).member.tolist()
    [[True, False]]
    """
    member, value = sets
    size = member.sum(axis=-1)
    for i in range(member.shape[-1]):
        out = ~member[..., i]
        allowed = out | (size > 1)
        if where is not None:
            allowed &= where[..., i]
        # A flip that is not allowed is evaluated as no flip: Φ never sees the empty set.
        other = member.copy()
        other[..., i] ^= allowed
        other_value = evaluate(log_phi, utility, other)
        flip = allowed & (rng.random(value.shape) < expit(power * (other_value - value)))
        member = np.where(flip[..., None], other, member)
        value = np.where(flip, other_value, value)
        size = size + np.where(flip, np.where(out, 1, -1), 0)
    return Sets(member, value)


def metropolis_step(
    log_phi: LogPhi,
    utility: Floats,
    sets: Sets,
    rng: np.random.Generator,
    *,
    where: Bools | None = None,
    power: float = 1.0,
    size: int | None = None,
    as_printed: bool = False,
) -> Sets:
    r"""Propose a size, then a uniform set of that size, and accept or stay.

    .. math:: P(\text{accept}) = \min\left(1, \frac{\Phi(S')^\beta \binom N{|S'|}}
              {\Phi(S)^\beta \binom N{|S|}}\right)

    Parameters
    ----------
    log_phi : callable
        The set function; see `models.pmop_sampling.model`.
    utility : array, (..., n_items)
        Log worths.
    sets : Sets
        Present states: no set is empty, log Φ is finite.
    rng : Generator
        Random number generator.
    where : array of bool, (..., n_items), optional
        Available items; the others stay out. All by default.
    power : float
        The exponent β.
    size : int, optional
        Propose only sets of this size. The present sets must have it.
    as_printed : bool
        Omit the binomials, as the paper does. The chain then converges to
        :math:`\Phi(S)^\beta / \binom N{|S|}`.

    Returns
    -------
    Sets

    Examples
    --------
    >>> def product(utility, member):
    ...     return np.where(member, utility, 0.0).sum(axis=-1)
    >>> only = Sets(np.array([[True, False]]), np.array([1000.0]))
    >>> w, rng = np.array([1000.0, -1000.0]), np.random.default_rng(1)
    >>> metropolis_step(product, w, only, rng).member.tolist()
    [[True, False]]
    """
    member, value = sets
    mask = np.ones(member.shape, dtype=np.bool_) if where is None else where
    n = mask.sum(axis=-1)
    m = rng.integers(1, n + 1) if size is None else np.full(n.shape, size)
    other = uniform_sets(m, mask, rng)
    other_value = evaluate(log_phi, utility, other)

    log_ratio = power * (other_value - value)
    if not as_printed:
        log_ratio += _log_binomial(n, m) - _log_binomial(n, member.sum(axis=-1))
    accept = -rng.exponential(size=value.shape) < log_ratio  # log of a uniform, never log 0
    return Sets(np.where(accept[..., None], other, member), np.where(accept, other_value, value))


# The kernels by name
KERNELS: dict[str, Kernel] = {"gibbs": gibbs_sweep, "metropolis": metropolis_step}


def kernel_named(name: str) -> Kernel:
    """Look up a kernel by its name.

    Parameters
    ----------
    name : str
        A row of `KERNELS`.

    Returns
    -------
    Kernel

    Raises
    ------
    ValueError
        If no kernel has that name.

    Examples
    --------
    >>> kernel_named("gibbs") is gibbs_sweep
    True
    """
    if name not in KERNELS:
        raise ValueError(f"`kernel` is {name!r}; it is one of {', '.join(map(repr, KERNELS))}.")
    return KERNELS[name]
