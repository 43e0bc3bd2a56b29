r"""The stage integral in numba: value and gradient of ``log P(S > R)`` for one block.

`bayesrank.likelihoods.plackett_luce.quadrature` describes the integrand and its window, and why the
trapezoidal rule suffices. Here the spacing of the nodes adapts to the block, and the loops over
items are simple enough for vector instructions.

Blocks of a few items need no integral. Removing the first item leaves a smaller block, so with
worths in units of the remainder's worth,

.. math:: P(T > R) = \frac{1}{1 + \sum_{i \in T} a_i} \sum_{i \in T} a_i P(T \setminus i > R).

These are sums of positive terms over the subsets T of the block, exact to the last digits.

`block_hessian_kernel` returns all second derivatives as moments under the normalised integrand:

.. math:: \frac{\partial^2 \log P}{\partial w_i \partial w_j} =
          \operatorname{Cov}(r_i, r_j) + 1_{i = j} E[r_i (1 - t_i - r_i)],
          \qquad r_i = \frac{t_i}{e^{t_i} - 1} .
"""

import math

import numba
import numpy as np

from bayesrank.likelihoods.ops.vector_exp import FARTHEST, vector_exp, vector_expm1
from bayesrank.likelihoods.plackett_luce.quadrature import LOWEST, PADDING

__all__ = [
    "block_hessian_kernel",
    "block_kernel",
    "block_root_kernel",
    "hessian_workspace",
    "workspace",
]

LN2 = math.log(2.0)
# Blocks are padded to a multiple of this number; otherwise the loops handle the rest one by one
CHUNK = 8
SMALLEST = 1e-290  # smallest accurate product; a chunk is above it, as factors are above exp(-80)
NEGLIGIBLE = 1e-19
ROUNDING = 1e-15  # share of a sum of variances
FEW = 6  # largest block that is summed over its subsets

# NaN is handled before, so sums and products may be reordered; 'nnan' and 'ninf' stay off
_reordered = numba.njit(
    cache=True, error_model="numpy", fastmath={"nsz", "arcp", "contract", "reassoc"}
)
# fastmath is set explicitly, because otherwise a function inherits it from its first caller
_as_written = numba.njit(cache=True, error_model="numpy", fastmath=False)


@_as_written
def workspace(largest):  # type: ignore[no-untyped-def]
    """Allocate the workspace of `block_kernel` for blocks of at most `largest` items."""
    return np.empty(max(3 * (largest + CHUNK), FEW + 3 * 2**FEW))


@_reordered
def block_kernel(w, gamma, work):  # type: ignore[no-untyped-def]
    r"""Value and gradient of ``log P(S > R)`` for one block, in one pass.

    Parameters
    ----------
    w : ndarray of float, (n,)
        Utilities minus the logsumexp of the remainder.
    gamma : ndarray, (n,)
        Overwritten with the gradient, :math:`\gamma_i = E[t_i / (e^{t_i} - 1)]` with
        :math:`t_i = a_i e^y` under the normalised integrand.
    work : ndarray
        From `workspace`, for at least n items; overwritten.

    Returns
    -------
    float
        ``log P(S > R)``, with an error below 1e-11.

    Notes
    -----
    It takes time O(n x nodes) and memory O(n). For at most six items, both are proportional to the
    number of subsets.
    """
    n = w.size
    below = 0.0
    for i in range(n):
        if math.isnan(w[i]):
            gamma[:n] = math.nan
            return math.nan
        below += min(w[i] - LOWEST, 0.0)
    if below == -math.inf:
        gamma[:n] = 0.0
        return -math.inf
    m = n if n <= FEW else -(-n // CHUNK) * CHUNK
    a, rest = work[:m], work[m:]
    _ratios(a, w)
    return below + (_over_subsets(a, gamma, rest) if n <= FEW else _integral(a, gamma, rest))


@_as_written
def _over_subsets(a, gamma, work):  # type: ignore[no-untyped-def]
    n, n_subsets = a.size, 1 << a.size
    # for every subset T: P(T > R), the worth of T and R, and d P(S > R) / d P(T > R)
    chance, worth = work[:n_subsets], work[n_subsets : 2 * n_subsets]
    bar = work[2 * n_subsets : 3 * n_subsets]
    chance[0] = worth[0] = 1.0
    for subset in range(1, n_subsets):
        chance[subset] = bar[subset] = 0.0
        for i in range(n):
            if subset >> i & 1:
                worth[subset] = worth[subset ^ (1 << i)] + a[i]
                chance[subset] += a[i] * chance[subset ^ (1 << i)]
        chance[subset] /= worth[subset]

    gamma[:n] = 0.0
    bar[n_subsets - 1] = 1.0 / chance[n_subsets - 1]
    for subset in range(n_subsets - 1, 0, -1):
        share = bar[subset] / worth[subset]
        for i in range(n):
            if subset >> i & 1:
                gamma[i] += share * (chance[subset ^ (1 << i)] - chance[subset])
                bar[subset ^ (1 << i)] += share * a[i]
    for i in range(n):
        gamma[i] *= a[i]
    return math.log(chance[n_subsets - 1])


@_reordered
def _integral(a, gamma, work):  # type: ignore[no-untyped-def]
    """Do the same by quadrature.

    The next octave doubles :math:`t`, and :math:`q = 1 - e^{-t}` satisfies
    :math:`q(2t) = q + q(1-q)`, which is stable in both tails. Therefore only the nodes of the first
    octave need an exponential per item.
    """
    n, m = gamma.size, a.size
    q, expected = work[:m], work[m : 2 * m]
    left, h, per_octave, octaves, peak = _window(a, q, n)

    mass = 0.0
    expected[:] = 0.0
    for first in range(per_octave):
        y = left + first * h
        s = math.exp(y)
        _chances(q, a, s)
        for octave in range(octaves):
            log_part, product = _product(q)
            p = math.exp(y - s + log_part - peak) * product
            mass += p
            if p > NEGLIGIBLE:
                p *= s
                for i in range(m):
                    expected[i] += p * (1.0 - q[i]) / q[i]
            if octave + 1 < octaves:
                _double_times(q)
            y += LN2
            s *= 2.0
    for i in range(n):
        gamma[i] = expected[i] * a[i] / mass
    return peak + math.log(mass * h)


@_reordered
def _window(a, q, n):  # type: ignore[no-untyped-def]
    """First node, spacing of nodes, nodes per octave, octaves, and the highest log g."""
    m = a.size
    # Newton's method for the mode, as in the graph
    z, curvature = 1.0, -1.0
    for _ in range(10):
        _chances(q, a, z)
        slope, bend = 1.0 - z, -z
        for i in range(m):
            x = a[i] * z
            r = x * (1.0 - q[i]) / q[i]
            slope += r
            bend += r * (1.0 - x - r)
        curvature = bend
        step = -slope * z / bend
        z += step
        if abs(step) < 0.02 * z:
            break
    log_z = math.log(z)

    # Window
    drop = 26.0
    c = drop / z
    right = log_z + math.log1p(c + math.sqrt(2.0 * c))
    d = c + 1.0 - math.exp(-(c + math.sqrt(2.0 * c)))
    d = c + 1.0 - math.exp(-d)
    left = log_z - d
    _chances(q, a, z)
    peak = log_z - z + _log_product(q)
    s = math.exp(left)
    _chances(q, a, s)
    value, slope = left - s + _log_product(q), 1.0 - s
    for i in range(m):
        slope += a[i] * s * (1.0 - q[i]) / q[i]
    if value < peak - drop:
        left = min(left + (peak - drop - value) / slope, log_z)

    # Nodes: `per_octave` per doubling of t, more for narrow and for homogeneous blocks
    sigma = 1.0 / math.sqrt(-curvature)
    widest = min(0.36, 0.5 * sigma, 0.25 / math.sqrt(math.log(n + 1.0)))
    per_octave = max(int(math.ceil(LN2 / widest)), 1)
    h = LN2 / per_octave
    octaves = (int(math.ceil((right - left) / h)) + per_octave) // per_octave
    return left, h, per_octave, octaves, peak


@_as_written
def block_hessian_kernel(w, gamma, hessian, work):  # type: ignore[no-untyped-def]
    """Gradient of ``log P(S > R)`` for one block, and all its second derivatives.

    Parameters
    ----------
    w : ndarray of float, (n,)
        Utilities minus the logsumexp of the remainder.
    gamma : ndarray, (n,)
        Overwritten with the gradient.
    hessian : ndarray, (n, n)
        Overwritten with the second derivatives.
    work : ndarray
        From `hessian_workspace`, for at least n items; overwritten.
    """
    n = w.size
    m = n if n <= FEW else -(-n // CHUNK) * CHUNK
    a, rest = work[:m], work[m:]
    _ratios(a, w)
    if np.isnan(w).any():
        gamma[:] = math.nan
        hessian[:] = math.nan
    elif n <= FEW:
        _over_subsets_twice(a, gamma, hessian, rest)
    else:
        _integral_twice(a, gamma, hessian, rest)


@_as_written
def block_root_kernel(w, gamma, slope, work):  # type: ignore[no-untyped-def]
    """Gradient of ``log P(S > R)`` for one block, and a root of its second derivatives.

    Parameters
    ----------
    w, gamma, work : ndarray
        As in `block_hessian_kernel`, for blocks of all sizes.
    slope : ndarray, (n,)
        Overwritten with the diagonal D of the formula.

    Returns
    -------
    ndarray, (rank, n)
        The root U: second derivatives are D + U' U. The rank is small, because r is a smooth
        function of the node. Pivoted Cholesky factorisation stops when only rounding errors are
        left.
    """
    n = w.size
    m = -(-n // CHUNK) * CHUNK
    a = work[:m]
    _ratios(a, w)
    if np.isnan(w).any():
        gamma[:] = math.nan
        slope[:] = math.nan
        return np.empty((0, n))
    rows = _moments(a, gamma, slope, work[m:])
    left, total = np.zeros(n), 0.0  # variances that the root has not explained
    for row in rows:
        for i in range(n):
            left[i] += row[i] * row[i]
    for i in range(n):
        total += left[i]
    root, rank = np.empty((min(n, len(rows)), n)), 0
    while rank < len(root) and left.sum() > ROUNDING * total:
        best, found = np.argmax(left), root[rank]
        scale = 1.0 / math.sqrt(left[best])
        found[:] = 0.0
        for row in rows:
            by = scale * row[best]
            for i in range(n):
                found[i] += by * row[i]
        for before in root[:rank]:
            by = scale * before[best]
            for i in range(n):
                found[i] -= by * before[i]
        for i in range(n):
            left[i] = max(left[i] - found[i] * found[i], 0.0)
        left[best] = 0.0
        rank += 1
    return root[:rank]


@_as_written
def hessian_workspace(largest):  # type: ignore[no-untyped-def]
    """Allocate the workspace of `block_hessian_kernel` for blocks of at most `largest` items."""
    return np.empty(max(5 * (largest + CHUNK), FEW + 2**FEW * (1 + FEW + FEW**2)))


@_as_written
def _over_subsets_twice(a, gamma, hessian, work):  # type: ignore[no-untyped-def]
    """First and second derivatives of `_over_subsets`: its recursion, differentiated twice."""
    n, n_subsets = a.size, 1 << a.size
    # for every subset T: P(T > R), and its derivatives by one and by two of the items
    chance = work[:n_subsets]
    slope = work[n_subsets : n_subsets * (1 + n)].reshape(n_subsets, n)
    curve = work[n_subsets * (1 + n) : n_subsets * (1 + n + n * n)].reshape(n_subsets, n, n)
    chance[0], slope[0], curve[0] = 1.0, 0.0, 0.0
    for subset in range(1, n_subsets):
        worth, total = 1.0, 0.0
        for i in range(n):
            if subset >> i & 1:
                worth += a[i]
                total += a[i] * chance[subset ^ (1 << i)]
        chance[subset] = total / worth
        for j in range(n):
            total = 0.0
            if subset >> j & 1:
                total = a[j] * (chance[subset ^ (1 << j)] - chance[subset])
                for i in range(n):
                    if i != j and subset >> i & 1:
                        total += a[i] * slope[subset ^ (1 << i), j]
            slope[subset, j] = total / worth
        for j in range(n):
            for k in range(j + 1):
                total = 0.0
                if subset >> j & 1 and subset >> k & 1:
                    if j == k:
                        gap = chance[subset ^ (1 << j)] - chance[subset]
                        total = a[j] * (gap - 2.0 * slope[subset, j])
                    else:
                        total = a[j] * (slope[subset ^ (1 << j), k] - slope[subset, k])
                        total += a[k] * (slope[subset ^ (1 << k), j] - slope[subset, j])
                    for i in range(n):
                        if i != j and i != k and subset >> i & 1:
                            total += a[i] * curve[subset ^ (1 << i), j, k]
                curve[subset, j, k] = total / worth
    last = n_subsets - 1
    for j in range(n):
        gamma[j] = slope[last, j] / chance[last]
        for k in range(j + 1):
            both = curve[last, j, k] / chance[last] - gamma[j] * gamma[k]
            hessian[j, k] = hessian[k, j] = both


@_as_written
def _integral_twice(a, gamma, hessian, work):  # type: ignore[no-untyped-def]
    """First and second moments of the r_i on the nodes of `_integral`."""
    n, m = gamma.size, a.size
    slope = work[2 * m : 2 * m + n]
    rows = _moments(a, gamma, slope, work)
    for i in range(n):
        for j in range(i + 1):
            hessian[i, j] = 0.0
    for row in rows:
        for i in range(n):
            for j in range(i + 1):
                hessian[i, j] += row[i] * row[j]
    for i in range(n):
        hessian[i, i] += slope[i]
        for j in range(i):
            hessian[j, i] = hessian[i, j]


@_as_written
def _moments(a, gamma, slope, work):  # type: ignore[no-untyped-def]
    """Means of r_i and of its slope, and deviations of r on the nodes, (n_nodes, n).

    The deviations have the roots of the nodes' probabilities as factors, so that their squares and
    products sum to the covariance.
    """
    n, m = gamma.size, a.size
    q, r = work[:m], work[m : m + n]
    left, h, per_octave, octaves, peak = _window(a, q, n)
    rows, used, mass = np.empty((per_octave * octaves, n)), 0, 0.0
    chance = np.empty(per_octave * octaves)
    gamma[:] = 0.0
    slope[:] = 0.0
    for k in range(per_octave * octaves):
        y = left + k * h
        s = math.exp(y)
        _chances(q, a, s)
        p = math.exp(y - s + _log_product(q) - peak)
        if p < NEGLIGIBLE:
            continue
        for i in range(n):
            r[i] = a[i] * s * (1.0 - q[i]) / q[i]
            slope[i] += p * r[i] * (1.0 - a[i] * s - r[i])
            gamma[i] += p * r[i]
            rows[used, i] = r[i]
        chance[used] = p
        mass += p
        used += 1
    for i in range(n):
        gamma[i] /= mass
        slope[i] /= mass
    for k in range(used):
        root = math.sqrt(chance[k] / mass)
        for i in range(n):
            rows[k, i] = root * (rows[k, i] - gamma[i])
    return rows[:used]


@_as_written
def _ratios(a, w):  # type: ignore[no-untyped-def]
    """Worths divided by the worth of the remainder, and padding."""
    for i in range(w.size):
        a[i] = vector_exp(min(max(w[i], LOWEST), PADDING))
    a[w.size :] = math.exp(PADDING)


@_as_written
def _chances(q, a, s):  # type: ignore[no-untyped-def]
    """Factors of the integrand, 1 - exp(-a s)."""
    for i in range(a.size):
        q[i] = -vector_expm1(-min(a[i] * s, FARTHEST))


@_as_written  # q(2 - q) would never round up to one
def _double_times(q):  # type: ignore[no-untyped-def]
    for i in range(q.size):
        q[i] += q[i] * (1.0 - q[i])


@_reordered
def _product(q):  # type: ignore[no-untyped-def]
    """Return the product as a logarithm and a factor, because logarithms are slow."""
    out, product = 0.0, 1.0
    for i in range(0, q.size, CHUNK):
        chunk = ((q[i] * q[i + 1]) * (q[i + 2] * q[i + 3])) * (
            (q[i + 4] * q[i + 5]) * (q[i + 6] * q[i + 7])
        )
        if product * chunk < SMALLEST:
            out += math.log(product)
            product = chunk
        else:
            product *= chunk
    return out, product


@_reordered
def _log_product(q):  # type: ignore[no-untyped-def]
    out, product = _product(q)
    return out + math.log(product)
