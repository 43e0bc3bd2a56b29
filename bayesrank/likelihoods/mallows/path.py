r"""The normaliser of Spearman's distance beyond sums over sets: an estimate with its error.

With :math:`z = \log t`, the slope of the normaliser is an expected distance (path sampling; Gelman
& Meng, Statistical Science 1998),

.. math:: \log Z(t) = \log n! - \int_{-\infty}^{\log t} g(z) \, dz, \qquad
          g(z) = e^z \, E_{e^z}[d] .

Chains of exchanges estimate g along a path, with standard errors from means of batches. A spline is
fitted to them, such that its integral between the ends is what it must be, and integrated. The ends
are known: before them by the first cumulants of the distance of a random ranking, of which the
third is zero, and beyond them by the few rankings next to the consensus. The error of the whole
follows from those of the nodes, of which the chains go on from each other, but long after.
"""

import functools
import math
from typing import NamedTuple

import numba
import numpy as np
import pytensor.tensor as pt
from numpy.typing import NDArray
from pytensor.tensor import TensorVariable
from scipy.interpolate import BSpline, PPoly
from scipy.special import comb, gammaln

from bayesrank.likelihoods.ops.splitmix import uniform

__all__ = ["SpearmanPath", "exchange_kernel", "path_log_normaliser", "spearman_path"]

Floats = NDArray[np.float64]
N_NODES, N_PIECES, ORDER = 90, 28, 5
N_EXCHANGES = 400_000_000  # proposed, in all nodes together: ten seconds
N_BATCHES = 40
FIRST, LAST = 0.01, 6.0  # t at the ends: in standard deviations of the distance, and as it is


class SpearmanPath(NamedTuple):
    """Logarithm of a normaliser by log t, and how certain it is."""

    n_items: int
    breaks: Floats  # (n_pieces + 1,) of log t
    series: Floats  # (order + 2, n_pieces), coefficients of log Z from the start of each piece
    at: Floats  # log t of the nodes
    error: Floats  # standard error of log Z there


@numba.njit(cache=True, error_model="numpy")
def exchange_kernel(t, x, n_exchanges, reach, state):  # type: ignore[no-untyped-def]
    """Metropolis' exchanges of two places; the mean distance on the way.

    Parameters
    ----------
    t : float
        What a step of distance costs.
    x : ndarray of int, (n,)
        A permutation, which is changed.
    n_exchanges : int
        How many are proposed.
    reach : int
        How far the two are apart, at most.
    state : ndarray of uint64, (1,)
        Of the generator; advanced.
    """
    n = x.size
    d, total = 0, 0.0
    for i in range(n):
        d += (x[i] - i) ** 2
    for _ in range(n_exchanges):
        i = int(n * uniform(state))
        j = i + 1 + int(reach * uniform(state))
        if j < n:
            more = 2 * (x[j] - x[i]) * (j - i)
            if more <= 0 or uniform(state) < math.exp(-t * more):
                x[i], x[j] = x[j], x[i]
                d += more
        total += d
    return total / n_exchanges


@numba.njit(cache=True, error_model="numpy")
def reach_of(t, n):  # type: ignore[no-untyped-def]
    """How far exchanges should go: about as far as items are from their places."""
    return int(min(max(1.5 / math.sqrt(max(t, 1e-12)), 1.0), n - 1.0))


@numba.njit(cache=True, error_model="numpy")
def _expected_distances(t, n, n_batches, n_exchanges, seed):  # type: ignore[no-untyped-def]
    """Means of batches at falling t, (n_nodes, n_batches), each from where the last one ended."""
    out = np.empty((t.size, n_batches))
    state = np.empty(1, np.uint64)
    state[0] = np.uint64(seed)
    x = np.arange(n)
    for k in range(t.size - 1, -1, -1):
        reach = reach_of(t[k], n)
        exchange_kernel(t[k], x, n_exchanges * n_batches // 10, reach, state)
        for b in range(n_batches):
            out[k, b] = exchange_kernel(t[k], x, n_exchanges, reach, state)
    return out


@functools.cache
def spearman_path(n: int, seed: int = 1) -> SpearmanPath:
    """Estimate the normaliser of Spearman's distance for all concentrations.

    Parameters
    ----------
    n : int
        Items, 4 or more.
    seed : int
        Of the chains.

    Returns
    -------
    SpearmanPath

    Examples
    --------
    >>> spearman_path(30).error.max().round(3)  # doctest: +SKIP
    """
    first = FIRST / math.sqrt(_cumulants(n)[1])
    breaks = np.linspace(math.log(first), math.log(LAST), N_PIECES + 1)
    at = breaks[0] + (breaks[-1] - breaks[0]) * (np.arange(N_NODES) + 0.5) / N_NODES
    size = N_EXCHANGES // (N_NODES * N_BATCHES)
    g = np.exp(at)[:, None] * _expected_distances(np.exp(at), n, N_BATCHES, size, seed)
    value, spread = g.mean(axis=1), g.std(axis=1, ddof=1) / math.sqrt(N_BATCHES)
    spread = np.maximum(spread, 1e-6 * value.max())  # what happens seldom may not have been seen

    # weighted least squares, with the integral as one more equation, which is all but exact
    ends = [breaks[[0] * ORDER], breaks[[-1] * ORDER]]
    knots = np.concatenate([ends[0], breaks, ends[1]])
    basis = BSpline(knots, np.eye(len(knots) - ORDER - 1), ORDER)
    integral = basis.antiderivative()
    start = _before(first, n)
    exact = start - _beyond(LAST, n)
    rows = np.vstack([basis(at) / spread[:, None], integral(breaks[-1])[None] / 1e-8])
    q, r = np.linalg.qr(rows)
    found = np.linalg.solve(r, q.T @ np.append(value / spread, exact / 1e-8))
    pieces = PPoly.from_spline(BSpline(knots, found, ORDER).antiderivative().tck)
    series = -pieces.c[:, ORDER + 1 : -ORDER - 1]  # without those of length zero
    series[-1] += start
    error = np.linalg.norm(integral(at) @ np.linalg.inv(r), axis=1)
    return SpearmanPath(n, breaks, series, at, error)


def path_log_normaliser(t: TensorVariable, path: SpearmanPath) -> TensorVariable:
    """Logarithm of an estimated normaliser, shape of `t`, differentiable.

    Parameters
    ----------
    t : TensorVariable of float, (...)
        What a step of distance costs.
    path : SpearmanPath

    Returns
    -------
    TensorVariable
    """
    breaks, n = path.breaks, path.n_items
    low, high = math.exp(breaks[0]), LAST
    is_low, is_high = t < low, t > high
    z = pt.log(pt.switch(is_low | is_high, 1.0, t))
    width = (breaks[-1] - breaks[0]) / N_PIECES
    piece = pt.clip(pt.cast((z - breaks[0]) / width, "int64"), 0, N_PIECES - 1)
    x = z - pt.constant(breaks)[piece]
    between = pt.zeros_like(x)
    for c in path.series:  # Horner's rule
        between = between * x + pt.constant(c)[piece]
    t_low, t_high = pt.switch(is_low, t, low), pt.switch(is_high, t, high)
    return pt.switch(is_low, _before(t_low, n), pt.switch(is_high, _beyond(t_high, n), between))


def _cumulants(n: int) -> tuple[float, float]:
    """Mean and variance of the distance of a random ranking."""
    return n * (n**2 - 1) / 6, (n * (n + 1) / 6) ** 2 * (n - 1)


def _before(t, n):  # type: ignore[no-untyped-def]
    """Log normaliser of small t."""
    mean, variance = _cumulants(n)
    return float(gammaln(n + 1.0)) - mean * t + variance * t**2 / 2


def _beyond(t, n):  # type: ignore[no-untyped-def]
    """Log normaliser of large t, from the rankings at distance 2, 4 and 6.

    Neighbours exchange, two or three pairs of them, or three in a row go round.
    """
    ways = n - 1.0, comb(n - 2, 2), comb(n - 3, 3) + 2.0 * (n - 2)
    log1p, exp = (np.log1p, np.exp) if isinstance(t, float) else (pt.log1p, pt.exp)
    return log1p(sum(float(w) * exp(-2.0 * k * t) for k, w in enumerate(ways, start=1)))
