r"""Spearman's distance for too many items to sum over: Markov chains of exchanges.

The slope of the log normaliser is an expected distance (path sampling; Gelman & Meng, Statistical
Science 1998). With u as in `bayesrank.likelihoods.mallows.curve`,

.. math:: \log Z(u) = \log n! - \int_0^u g(v) \, dv, \qquad g(v) = E_t[d] \, \frac{dt}{dv} .

Chains estimate g at nodes along the path, with standard errors from batch means. A spline is fitted
to the estimates by weighted least squares. Its integral is exact at the end of the path, where only
the rankings closest to the consensus still matter.
"""

import functools
import math
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BSpline
from scipy.special import comb, gammaln

from bayesrank.likelihoods.mallows.curve import Curve, interpolated
from bayesrank.likelihoods.ops.splitmix import uniform

__all__ = ["Estimate", "estimated_normaliser", "exchange_kernel"]

Floats = NDArray[np.float64]
N_NODES, N_PIECES, ORDER = 64, 20, 5
N_EXCHANGES = 400_000_000  # proposed over all nodes, in about ten seconds
N_BATCHES = 40
LAST = 6.0  # t at the end of the path


class Estimate(NamedTuple):
    """An estimated log normaliser."""

    curve: Curve
    at: Floats  # (n_nodes,) t at the nodes
    error: Floats  # (n_nodes,) standard error of the log normaliser at the nodes


@numba.njit(cache=True, error_model="numpy")
def exchange_kernel(t, x, n_exchanges, state):  # type: ignore[no-untyped-def]
    """Make `n_exchanges` Metropolis steps that exchange two places; return the mean distance.

    `t` is the cost of one unit of distance. The permutation `x` (n,) is changed, and the `state`
    (1,) of the generator is advanced.
    """
    n = x.size
    # an exchange reaches about as far as items typically are from their places
    reach = int(min(max(1.5 / math.sqrt(max(t, 1e-12)), 1.0), n - 1.0))
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
def _mean_distances(t, n, n_batches, n_exchanges, seed):  # type: ignore[no-untyped-def]
    """Batch means at decreasing t, (n_nodes, n_batches); each batch starts where the last ended."""
    out = np.empty((t.size, n_batches))
    state = np.empty(1, np.uint64)
    state[0] = np.uint64(seed)
    x = np.arange(n)
    for k in range(t.size - 1, -1, -1):
        exchange_kernel(t[k], x, n_exchanges * n_batches // 10, state)
        for b in range(n_batches):
            out[k, b] = exchange_kernel(t[k], x, n_exchanges, state)
    return out


@functools.cache
def estimated_normaliser(n: int, seed: int = 1) -> Estimate:
    """Estimate the log normaliser of Spearman's distance between n items, at least 4.

    Examples
    --------
    >>> estimated_normaliser(30).error.max().round(3)  # doctest: +SKIP
    """
    # u = arcsinh(t / scale), where the scale is one over the standard deviation at t = 0
    scale = 6.0 / (n * (n + 1.0) * math.sqrt(n - 1.0))
    end = math.asinh(LAST / scale)
    u = end * (np.arange(N_NODES) + 0.5) / N_NODES
    at = scale * np.sinh(u)
    means = _mean_distances(at, n, N_BATCHES, N_EXCHANGES // (N_NODES * N_BATCHES), seed)
    g = means * np.hypot(at, scale)[:, None]
    spread = g.std(axis=1, ddof=1) / math.sqrt(N_BATCHES)
    spread = np.maximum(spread, 1e-6 * g.mean())  # chains may have missed rare events

    # equations for the nodes, the start and the integral; the last two are almost exact
    breaks = np.linspace(0.0, end, N_PIECES + 1)
    knots = np.concatenate([breaks[[0] * ORDER], breaks, breaks[[-1] * ORDER]])
    basis = BSpline(knots, np.eye(len(knots) - ORDER - 1), ORDER)
    integral = basis.antiderivative()
    start, known = float(gammaln(n + 1.0)), scale * n * (n**2 - 1) / 6
    exact = start - float(_log_normaliser_far_out(np.array(LAST), n))
    rows = np.vstack([basis(u) / spread[:, None], basis(0.0) / 1e-8, integral(end) / 1e-8])
    right = np.concatenate([g.mean(axis=1) / spread, [known / 1e-8, exact / 1e-8]])
    q, r = np.linalg.qr(rows)
    path = BSpline(knots, np.linalg.solve(r, q.T @ right), ORDER).antiderivative()
    error = np.linalg.norm(integral(u) @ np.linalg.inv(r), axis=1)

    def log_normaliser(t: Floats) -> Floats:
        inside = np.minimum(np.arcsinh(t / scale), end)
        return np.where(t < LAST, start - path(inside), _log_normaliser_far_out(t, n))

    return Estimate(interpolated(log_normaliser, scale, 20.0), at, error)


def _log_normaliser_far_out(t: Floats, n: int) -> Floats:
    """Log normaliser at large t, from the rankings at distance 2, 4 and 6.

    They exchange one, two or three pairs of neighbours, or rotate three items in a row.
    """
    ways = n - 1.0, comb(n - 2, 2), comb(n - 3, 3) + 2.0 * (n - 2)
    return np.log1p(sum(w * np.exp(-2.0 * k * t) for k, w in enumerate(ways, start=1)))
