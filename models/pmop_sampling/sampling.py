r"""Draw sets, and compute the normalising constant of any set function.

A non-empty set :math:`S` of :math:`N` items has probability :math:`\Phi(S) / Z`, where
:math:`Z = \sum_S \Phi(S)` over :math:`2^N - 1` sets. The paper that introduced the model has these
estimators, which need only :math:`\Phi`:

===================  =============================================================================
Gibbs                It puts every item in turn in or out, with its conditional probability. The
                     empty set is not a state, so the last member stays.
Metropolis-Hastings  It proposes a uniform size from 1 to :math:`N`, and then a uniform set
                     :math:`T` of that size. This proposal is not uniform over sets, so the ratio of
                     acceptance is :math:`\Phi(T) \binom N{|T|} / \Phi(S) \binom N{|S|}`.
AIS                  Annealed importance sampling follows :math:`\Phi^\beta` from the uniform
                     distribution, where :math:`Z = 2^N - 1`.
===================  =============================================================================

The paper's Algorithm 2 prints the ratio without the binomials. Such chains converge to
:math:`\Phi(S) / \binom N{|S|}` instead. With the mean of 10 items, they choose all ten items once
in 10 draws instead of once in 1,023 draws. ``as_printed=True`` shows this.

The package computes exact constants and exact draws for the largest worth, the smallest worth, and
the arithmetic, geometric and harmonic means. Use the estimators for other functions, such as the
product of the worths, and as a check. For the product below, the constant is
:math:`\prod_i (1 + e^{w_i}) - 1 = 9.1723`.

>>> import numpy as np
>>> def product(utility, member):
...     return np.where(member, utility, 0.0).sum(axis=-1)
>>> w = np.array([1.0, 0.0, -1.0])
>>> sets = gibbs_sets(product, w, draws=500, chains=8, rng=1)
>>> sets.shape, bool(sets.any(axis=-1).all())
((8, 500, 3), True)
>>> estimate = ais_log_normaliser(product, w, rng=1)
>>> round(float(np.exp(estimate.log_normaliser)), 1)
9.2
>>> estimate.standard_error < 0.01
True
"""

from collections.abc import Callable
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from models.pmop_sampling.chains import (
    Seed,
    Sets,
    gibbs_sweep,
    kernel_named,
    metropolis_step,
    uniform_sets,
)
from models.pmop_sampling.model import Bools, Floats, LogPhi, evaluate

__all__ = ["AISEstimate", "ais_log_normaliser", "gibbs_sets", "metropolis_sets"]


class AISEstimate(NamedTuple):
    """Estimate of a normalising constant by annealed importance sampling."""

    log_normaliser: float  # log Z
    standard_error: float  # of log Z, from the spread of the runs
    log_weights: Floats  # (runs,): Z is the mean of their exponentials


def gibbs_sets(
    log_phi: LogPhi,
    utility: npt.ArrayLike,
    *,
    draws: int = 1000,
    tune: int = 100,
    chains: int = 4,
    rng: Seed = None,
) -> Bools:
    r"""Draw sets with probability :math:`\Phi(S) / Z` by Gibbs sampling over membership.

    Chains start at single items drawn at random. A draw costs one evaluation of Φ per item, for
    all chains at once; successive draws depend on each other.

    Parameters
    ----------
    log_phi : callable
        The set function; see `models.pmop_sampling.model`.
    utility : array, (n_items,)
        Log worths.
    draws, tune : int
        Sweeps kept per chain, and sweeps before them.
    chains : int
        Independent chains.
    rng : Generator, int or None
        Generator or seed.

    Returns
    -------
    array of bool, (chains, draws, n_items)
        The members of each set; no set is empty.

    Raises
    ------
    ValueError
        If an argument is out of range, or the set function does not return one number per set.

    References
    ----------
    Tran, Phung and Venkatesh, *Modelling human preferences for ranking and collaborative
    filtering*.

    Examples
    --------
    >>> from models.pmop_sampling.model import each_set
    >>> sets = gibbs_sets(each_set(np.median), [2.0, 0.0, -2.0], draws=300, rng=1)
    >>> sets.shape
    (4, 300, 3)
    """
    return _chains(gibbs_sweep, log_phi, utility, draws, tune, chains, rng)


def metropolis_sets(
    log_phi: LogPhi,
    utility: npt.ArrayLike,
    *,
    draws: int = 1000,
    tune: int = 100,
    chains: int = 4,
    size: int | None = None,
    as_printed: bool = False,
    rng: Seed = None,
) -> Bools:
    r"""Draw sets with probability :math:`\Phi(S) / Z` by Metropolis-Hastings over whole sets.

    A draw costs one evaluation of Φ for any number of items. But proposals do not depend on Φ, so
    chains reject most of them if there are many items, or utilities far apart.

    Parameters
    ----------
    log_phi : callable
        The set function; see `models.pmop_sampling.model`.
    utility : array, (n_items,)
        Log worths.
    draws, tune : int
        Steps kept per chain, and steps before them.
    chains : int
        Independent chains.
    size : int, optional
        Draw sets of this size only, with probability proportional to Φ.
    as_printed : bool
        Omit the proposal's binomials, as the paper's Algorithm 2 does. Draws then follow
        :math:`\Phi(S) / \binom N{|S|}`. Use it only to show the bias.
    rng : Generator, int or None
        Generator or seed.

    Returns
    -------
    array of bool, (chains, draws, n_items)
        The members of each set; no set is empty.

    Raises
    ------
    ValueError
        If an argument is out of range, or the set function does not return one number per set.

    References
    ----------
    Tran, Phung and Venkatesh, *Modelling human preferences for ranking and collaborative
    filtering*, Algorithm 2.

    Examples
    --------
    >>> from models.pmop_sampling.model import SET_FUNCTIONS
    >>> sets = metropolis_sets(SET_FUNCTIONS["mean"], [2.0, 0.0, -2.0], size=2, draws=50, rng=1)
    >>> set(sets.sum(axis=-1).ravel().tolist())
    {2}
    """
    utility = _check_utility(utility)
    if size is not None and not (1 <= size <= utility.size and size % 1 == 0):
        raise ValueError(
            f"`size` is {size!r}; it must be a whole number from 1 to the {utility.size} items."
        )
    step = partial(metropolis_step, size=size, as_printed=as_printed)
    return _chains(step, log_phi, utility, draws, tune, chains, rng, size or 1)


def ais_log_normaliser(
    log_phi: LogPhi,
    utility: npt.ArrayLike,
    *,
    temperatures: int = 100,
    runs: int = 200,
    kernel: Literal["gibbs", "metropolis"] = "gibbs",
    rng: Seed = None,
) -> AISEstimate:
    r"""Estimate :math:`\log Z = \log \sum_S \Phi(S)` by annealed importance sampling.

    .. math:: \hat Z = (2^N - 1) \frac1K \sum_k \exp \sum_{t=1}^{T}
              (\beta_t - \beta_{t-1}) \log \Phi(S_{k,t-1}), \qquad \beta_t = t / T

    where :math:`S_{k,0}` is uniform, and :math:`S_{k,t}` is one step away from :math:`S_{k,t-1}`,
    by a kernel that leaves :math:`\Phi^{\beta_t}` invariant. :math:`\hat Z` has no bias. Its
    logarithm is low by about half the squared standard error.

    Parameters
    ----------
    log_phi : callable
        The set function; see `models.pmop_sampling.model`.
    utility : array, (n_items,)
        Log worths.
    temperatures : int
        Number T of steps from the uniform distribution to Φ; 1 is plain importance sampling.
    runs : int
        Number K of independent runs, at least 2.
    kernel : "gibbs" or "metropolis"
        The kernel that moves the sets between temperatures.
    rng : Generator, int or None
        Generator or seed.

    Returns
    -------
    AISEstimate
        log_normaliser, its standard_error, and the log_weights of the runs.

    Raises
    ------
    ValueError
        If an argument is out of range, no run met a set with Φ > 0, or the set function does not
        return one number per set.

    References
    ----------
    Neal, Statistics and Computing 2001; Tran, Phung and Venkatesh, *Modelling human
    preferences for ranking and collaborative filtering*.

    Examples
    --------
    >>> from models.pmop_sampling.model import SET_FUNCTIONS
    >>> w = [1.0, 0.0, -1.0]  # mean: Z = (2^3 - 1) (e + 1 + 1/e) / 3, log Z = 2.2551
    >>> round(ais_log_normaliser(SET_FUNCTIONS["mean"], w, rng=1).log_normaliser, 1)
    2.3
    """
    utility = _check_utility(utility)
    _check_count("temperatures", temperatures, 1)
    _check_count("runs", runs, 2)
    step = kernel_named(kernel)
    rng = np.random.default_rng(rng)
    beta = np.linspace(0.0, 1.0, temperatures + 1)

    # Start uniform over the sets that are not empty: redraw those that are
    member = rng.random((runs, utility.size)) < 0.5
    while (empty := ~member.any(axis=1)).any():
        member[empty] = rng.random((int(empty.sum()), utility.size)) < 0.5
    sets = Sets(member, evaluate(log_phi, utility, member))

    # A run that starts where Φ = 0 has weight 0 and ends there
    alive = np.isfinite(sets.log_phi)
    if not alive.any():
        raise ValueError(
            f"None of {runs} uniform sets has Φ > 0: annealing cannot start. Draw more `runs`, or "
            "enumerate the few sets that can be chosen."
        )
    sets = Sets(sets.member[alive], sets.log_phi[alive])
    log_weight = beta[1] * sets.log_phi
    for t in range(1, temperatures):
        sets = step(log_phi, utility, sets, rng, power=float(beta[t]))
        log_weight += (beta[t + 1] - beta[t]) * sets.log_phi

    # log(2^N - 1), and the weights relative to their mean
    log_weights = np.full(runs, -np.inf)
    log_weights[alive] = log_weight + utility.size * np.log(2) + np.log1p(-(0.5**utility.size))
    log_normaliser = float(logsumexp(log_weights) - np.log(runs))
    relative = np.exp(log_weights - log_normaliser)
    error = float(relative.std(ddof=1) / np.sqrt(runs))
    return AISEstimate(log_normaliser, error, log_weights)


def _chains(
    step: Callable[[LogPhi, Floats, Sets, np.random.Generator], Sets],
    log_phi: LogPhi,
    utility: npt.ArrayLike,
    draws: int,
    tune: int,
    chains: int,
    rng: Seed,
    start_size: int = 1,
) -> Bools:
    """Run chains in parallel from uniform sets of one size."""
    utility = _check_utility(utility)
    _check_count("draws", draws, 1)
    _check_count("tune", tune, 0)
    _check_count("chains", chains, 1)
    rng = np.random.default_rng(rng)
    mask = np.ones((chains, utility.size), dtype=np.bool_)
    start = uniform_sets(np.full(chains, start_size), mask, rng)
    sets = Sets(start, evaluate(log_phi, utility, start))
    if np.isneginf(sets.log_phi).any():
        first = start[np.isneginf(sets.log_phi)][0]
        raise ValueError(
            f"Chains start at sets of size {start_size} drawn at random, and the set of items "
            f"{np.flatnonzero(first).tolist()} has Φ = 0. Give it a small positive Φ, so that "
            "chains can leave it."
        )
    out = np.empty((chains, draws, utility.size), dtype=np.bool_)
    for t in range(-tune, draws):
        sets = step(log_phi, utility, sets, rng)
        if t >= 0:
            out[:, t] = sets.member
    return out


def _check_utility(utility: npt.ArrayLike) -> Floats:
    array = np.asarray(utility, dtype=np.float64)
    if array.ndim != 1 or not array.size:
        raise ValueError(
            f"`utility` has shape {array.shape}; it must be one number for each of one or more "
            "items, shape (n_items,)."
        )
    if not np.isfinite(array).all():
        i = int(np.flatnonzero(~np.isfinite(array))[0])
        raise ValueError(f"`utility` must be finite; item {i} has {array[i]}.")
    return array


def _check_count(name: str, value: int, lowest: int) -> None:
    if value < lowest or value % 1:
        raise ValueError(f"`{name}` is {value!r}; it must be a whole number, {lowest} or more.")
