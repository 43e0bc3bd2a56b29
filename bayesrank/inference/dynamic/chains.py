r"""The normal posterior of many chains of states, given observations that link chains.

Newton steps, draws and the evidence need the matrix :math:`A = K^{-1} + H`. Here K is the prior
covariance of the utilities at the nodes, block by block, and H is the curvature of the
observations. The factors of A are dense if many items play each other, so A is never factored.
`Information.solve` uses conjugate gradients, preconditioned by the smoother
:math:`S = (K^{-1} + W)^{-1}` of each single item, where W is the diagonal of H:

* A Newton step towards the mode takes one solution.
* A draw is :math:`f - A^{-1} (H f + H^{1/2} \varepsilon)` with f from the prior: one solution.
* The mean and the averaged curvature of the nearest normal follow from draws (`nearest_normal`).
* The evidence needs :math:`\log |1 + K H|`, the sum of :math:`\log |1 + K W|`, from the filters,
  and :math:`\log |1 + R^{1/2} E R^{1/2}|`, by stochastic Lanczos quadrature. Here
  :math:`R = W^{1/2} S W^{1/2}` and :math:`E = W^{-1/2} H W^{-1/2} - 1`.

All costs are linear in the number of nodes and of observations. With few nodes, a dense factor of
:math:`1 + L^\top H L`, where :math:`K = L L^\top`, is as fast and exact. It is needed if the prior
is much wider than the posterior.

References
----------
Murray, Adams & MacKay, Elliptical slice sampling, AISTATS 2010.

Opper & Archambeau, The variational Gaussian approximation revisited, Neural Computation 21, 2009.

Papandreou & Yuille, Gaussian sampling by local perturbations, NeurIPS 2010.

Ubaru, Chen & Saad, Fast estimation of tr(f(A)) via stochastic Lanczos quadrature, SIMAX 2017.
"""

import warnings
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solve_triangular
from scipy.sparse import csr_array

from bayesrank.inference.approximation.newton import Step, climb_by_newton
from bayesrank.inference.dynamic.chain_kernels import (
    kalman_filter,
    prior_draws,
    rts_smooth,
)
from bayesrank.inference.dynamic.observations import Evaluated, Nodes, Observations
from bayesrank.utility.dynamics import Dynamics

__all__ = [
    "Chains",
    "Evidence",
    "Information",
    "NormalStates",
    "beyond_normal",
    "covariance_root",
    "exact_draws",
    "find_mode",
    "log_evidence",
    "nearest_normal",
    "posterior_draws",
    "row_moments",
]

Floats = NDArray[np.float64]

SMALL = 256  # size of all states up to which factors are dense
MOST_STEPS = 50  # steps of Newton's method
MOST_SOLVING = 500  # steps of conjugate gradients
LANCZOS = 12  # steps of Lanczos' method, about as many as solutions need
SLICES = 6  # steps from the nearest normal to the posterior
AT_ONCE = 16  # draws per solution
PAIRS = {20_000: 32, np.inf: 8}  # antithetic pairs of draws in averages, by the number of nodes
MOST_ROUNDS = 6  # rounds of `nearest_normal`, each with a step of the mean and a new precision
SETTLED = 0.02  # `nearest_normal` ends when a step of the mean gains fewer nats
PROBES = {20_000: 16, np.inf: 4}  # probes, by the largest number of nodes: large data need fewer


class Chains:
    """The prior: items with a dynamics, then effects that are constant over time.

    Parameters
    ----------
    nodes : Nodes
    common : sequence of Common
        The effects, chains of one node each.
    dynamics : Dynamics
    values : array
        Hyperparameters of the dynamics.
    """

    def __init__(self, nodes: Nodes, common: Any, dynamics: Dynamics, values: ArrayLike) -> None:
        n_common, d = len(common), dynamics.size
        F, Q, P = dynamics.transitions(values, nodes.gap)
        first = nodes.start[:-1]
        F[first], Q[first] = 0.0, P
        self.F = np.concatenate([F, np.zeros((n_common, d, d))])
        self.Q = np.concatenate([Q, np.zeros((n_common, d, d))])
        self.Q[nodes.item.size :, 0, 0] = [one.sd**2 for one in common]
        self.readout = dynamics.readout
        self.n = len(self.F)
        self._prior = self.filtered(np.zeros(self.n))

    def filtered(self, weight: Floats) -> "Filtered":
        """Filter the covariances, given the precision of the observation at every node, (n,)."""
        return Filtered(self, weight, *kalman_filter(self.F, self.Q, self.readout, weight))

    def covariance(self, b: Floats) -> Floats:
        """Multiply the columns of b, (n, m), by K."""
        return self._prior.smooth(b)

    def draw(self, n_draws: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Draw from the prior, (n, n_draws), and return the noise, (n, size of state, n_draws)."""
        noise = rng.standard_normal((self.n, self.readout.size, n_draws))
        return prior_draws(self.F, self._noise_root, self.readout, noise), noise

    @cached_property
    def _noise_root(self) -> Floats:
        return covariance_root(self.Q)

    @cached_property
    def root(self) -> Floats | None:
        """The root L of K, (n, size of all states), or None if it is large."""
        size = self.n * self.readout.size
        if size > SMALL:
            return None
        noise = np.eye(size).reshape(self.n, self.readout.size, size)
        return prior_draws(self.F, self._noise_root, self.readout, noise)


class Filtered(NamedTuple):
    """Kalman gains given precisions w, for the smoother S = (K^-1 + diag w)^-1."""

    chains: Chains
    weight: Floats  # (n,) w
    gain: Floats  # (n, size of a state)
    shrink: Floats  # (n,)
    log_det: float  # log |1 + K diag(w)|

    def smooth(self, b: Floats) -> Floats:
        """Multiply the columns of b, (n, m), by S."""
        b = np.ascontiguousarray(b)
        out, innovation = np.empty_like(b), np.empty_like(b)
        c = self.chains
        readout = tuple(c.readout.tolist())
        rts_smooth(c.F, readout, self.weight, self.gain, self.shrink, b, out, innovation)
        return out


def covariance_root(covariance: Floats) -> Floats:
    """Compute roots of covariances, which may be slightly indefinite after rounding."""
    if covariance.shape[-1] == 1:
        return np.sqrt(np.maximum(covariance, 0.0))
    values, vectors = np.linalg.eigh(covariance)
    return vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]


class Information:
    """The information H of the observations, from the `curvature` of `Evaluated`."""

    def __init__(self, chains: Chains, observations: Observations, curvature: Floats) -> None:
        self.chains, self.observations, self.curvature = chains, observations, curvature
        Z = observations.design
        self.H = (Z.T @ (observations.block_diagonal(curvature) @ Z)).tocsr()
        self.weight = np.maximum(self.H.diagonal(), 0.0)
        self.filtered = chains.filtered(self.weight)

    @cached_property
    def dense(self) -> tuple[Floats, float] | None:
        """A root of the inverse of A, (n, size), and log |1 + K H|, or None if they are large."""
        L = self.chains.root
        if L is None:
            return None
        try:
            factor = np.linalg.cholesky(np.eye(L.shape[1]) + L.T @ (self.H @ L))
        except np.linalg.LinAlgError:  # far from the mode, Rao and Kupper's H may be indefinite
            return None
        log_det = 2 * float(np.log(np.diag(factor)).sum())
        return solve_triangular(factor, L.T, lower=True).T, log_det

    def solve(self, b: Floats, tolerance: float) -> tuple[Floats, Floats]:
        """Solve A x = b for the columns of b, (n, m), by preconditioned conjugate gradients.

        Ends when the residuals have shrunk by `tolerance`, in the norm of S. Returns x, and the
        product of x and the inverse of K. The product follows from products with the inverse of S,
        so K may be singular. With dense factors, the solution is exact.
        """
        if self.dense is not None:
            root, _ = self.dense
            x = root @ (root.T @ b)
            return x, b - self.H @ x
        w = self.weight[:, None]
        residual = np.array(b)
        x, direction = np.zeros_like(residual), np.zeros_like(residual)
        # S^-1 times the direction, and S^-1 times x
        S_direction, S_x = np.zeros_like(residual), np.zeros_like(residual)
        size, enough = np.zeros(b.shape[1]), None
        for _ in range(MOST_SOLVING):
            z = self.filtered.smooth(residual)
            size, before = column_dots(residual, z), size
            enough = tolerance**2 * size if enough is None else enough
            if (size <= enough).all():
                break
            ratio = np.divide(size, before, out=np.zeros_like(size), where=before > 0)
            direction = z + ratio * direction
            S_direction = residual + ratio * S_direction
            A_direction = S_direction + self.H @ direction - w * direction
            curvature = column_dots(direction, A_direction)
            length = np.divide(size, curvature, out=np.zeros_like(size), where=curvature > 0)
            x += length * direction
            S_x += length * S_direction
            residual -= length * A_direction
        return x, S_x - w * x

    @cached_property
    def _root(self) -> csr_array:
        """Roots of the blocks of the curvature."""
        o = self.observations
        sizes = np.diff(o.first_row)
        first = np.append(0, (sizes**2).cumsum())[:-1]
        out = np.empty_like(self.curvature)
        for n in np.unique(sizes):
            at = first[sizes == n, None] + np.arange(n * n)
            out[at] = covariance_root(self.curvature[at].reshape(-1, n, n)).reshape(at.shape)
        return o.block_diagonal(out)

    def noise(self, n_draws: int, rng: np.random.Generator) -> Floats:
        """Draw normals with the covariance H, (n, n_draws)."""
        Z = self.observations.design
        return np.asarray(Z.T @ (self._root @ rng.standard_normal((Z.shape[0], n_draws))))


def column_dots(a: Floats, b: Floats) -> Floats:
    """Sum the products of two matrices over each column."""
    return np.asarray(np.einsum("ij,ij->j", a, b))


class NormalStates(NamedTuple):
    """A normal approximation of the posterior given the hyperparameters."""

    x: Floats  # (n,) its mean: utilities at the nodes, then common effects minus their means
    dual: Floats  # (n,) the product of x and the inverse of K
    logp: float  # sum over the observations
    information: Information


def find_mode(
    chains: Chains, observations: Observations, dual: Floats | None = None, tolerance: float = 1e-4
) -> NormalStates:
    """Climb to the mode of the posterior by Newton's method.

    Parameters
    ----------
    chains : Chains
    observations : Observations
    dual : array, optional
        Start of the search: the dual of a mode for other hyperparameters or fewer observations.
    tolerance : float
        Largest accepted gap in log density between the end of the search and the mode.

    Returns
    -------
    NormalStates
        Its mean is the mode, and its precision is the curvature there.
    """
    o = observations

    def height(at: Floats) -> tuple[float, Evaluated]:
        x, dual = at
        found = o.evaluate(o.rows(x))
        return float(found.logp.sum() - x @ dual / 2), found

    # with the dual of a much narrower prior, the prior mean may be a better start
    starts = []
    for start in [np.zeros(chains.n)] if dual is None else [np.zeros(chains.n), dual]:
        x = chains.covariance(start[:, None])[:, 0]
        at = np.stack([x, start])
        starts.append((at, height(at)))
    start, reached = max(starts, key=lambda start: start[1][0])
    information: Any = None  # at the start of the last step

    def step_at(at: Floats, reached: Any) -> Step:
        nonlocal information
        _, found = reached
        information = Information(chains, o, found.curvature)
        slope = o.design.T @ found.slope - at[1]
        step = information.solve(slope[:, None], 1e-3)
        return Step(np.stack(step)[..., 0], float(slope @ step[0][:, 0]) / 2)

    (x, dual), (_, found), missing = climb_by_newton(
        height, step_at, start, enough=tolerance, most_steps=MOST_STEPS, found=reached
    )
    if information.curvature is not found.curvature:
        information = Information(chains, o, found.curvature)
    if missing > tolerance:
        warnings.warn(
            f"The search for the mode did not converge within {MOST_STEPS} steps: the log density "
            f"may rise by {missing:.2g} or more.",
            stacklevel=2,
        )
    return NormalStates(x, dual, float(found.logp.sum()), information)


def nearest_normal(normal: NormalStates, *, random_seed: int | None = None) -> NormalStates:
    r"""Move a normal to the one with the smallest Kullback-Leibler divergence from the posterior.

    If the better item wins most matches, the posterior is skewed, and its mode is far from its
    mean. At the nearest normal, the gradient averages to zero, and the curvature averages to the
    precision:

    .. math:: E\, Z^\top \nabla \log p(y \mid Z x) = K^{-1} E\, x, \qquad
              H = E\, {-\nabla^2} \log p(y \mid Z x)

    The averages are over draws of the normal in antithetic pairs. Newton's method takes one or two
    steps from the mode.
    """
    chains, o = normal.information.chains, normal.information.observations
    for _ in range(MOST_ROUNDS):
        z = _deviations(normal, random_seed)
        found = o.at_columns(normal.x[:, None] + np.concatenate([z, -z], axis=1))
        sums = [(part.slope.sum(axis=0), part.curvature.sum(axis=0)) for part in found]
        slope, curvature = (sum(parts) / (2 * z.shape[1]) for parts in zip(*sums, strict=True))
        information = Information(chains, o, curvature)
        gradient = o.design.T @ slope - normal.dual
        step, step_dual = information.solve(gradient[:, None], 1e-3)
        x, dual = normal.x + step[:, 0], normal.dual + step_dual[:, 0]
        logp = float(o.evaluate(o.rows(x)).logp.sum())
        normal = NormalStates(x, dual, logp, information)
        if gradient @ step[:, 0] < SETTLED:
            break
    return normal


def _deviations(normal: NormalStates, random_seed: int | None) -> Floats:
    """Draw from the normal minus its mean, (n, n_pairs)."""
    pairs = next(some for most, some in PAIRS.items() if normal.x.size <= most)
    rng = np.random.default_rng(random_seed)
    return posterior_draws(normal, pairs, rng) - normal.x[:, None]


class Evidence(NamedTuple):
    """A normal approximation of the log-probability of the data, given the hyperparameters."""

    value: float
    error: float  # standard error of the part estimated from probes


def log_evidence(
    normal: NormalStates, *, probes: int | None = None, random_seed: int | None = None
) -> Evidence:
    """Approximate the evidence by the posterior density and a normal's at the mean of the normal.

    Around the mode, this is Laplace's approximation. With equal seeds, differences have much
    smaller errors.
    """
    information = normal.information
    height = normal.logp - normal.x @ normal.dual / 2
    if information.dense is not None:
        return Evidence(float(height - information.dense[1] / 2), 0.0)
    rng = np.random.default_rng(random_seed)
    if probes is None:
        probes = next(some for most, some in PROBES.items() if normal.x.size <= most)
    by_probe = _log_det_coupling(information, probes, rng)
    log_det = information.filtered.log_det + by_probe.mean()
    return Evidence(float(height - log_det / 2), float(by_probe.std(ddof=1) / 2 / np.sqrt(probes)))


def beyond_normal(normal: NormalStates, *, random_seed: int | None = None) -> float:
    r"""Estimate the error of `log_evidence`.

    The draws z come from the normal. If r(z) is the posterior's log density minus the normal's, up
    to its value at the mean, the error is :math:`\log E\, e^{r(z)}`. The mean is taken over
    antithetic pairs, z and -z.
    """
    information = normal.information
    o, z = information.observations, _deviations(normal, random_seed)
    tilt, bent = normal.dual @ z, column_dots(z, information.H @ z)
    logp = o.logp(normal.x[:, None] + np.concatenate([z, -z], axis=1))
    left_out = logp - normal.logp - np.append(tilt, -tilt) + np.append(bent, bent) / 2
    return float(np.logaddexp.reduce(left_out) - np.log(len(left_out)))


def _log_det_coupling(information: Information, probes: int, rng: np.random.Generator) -> Floats:
    """Estimate log |1 + X|, X = R^(1/2) E R^(1/2), from each of several probes.

    A probe v is never formed. A draw of the chains gives its length and its product with R^(1/2),
    which are enough. Vectors of Lanczos' method are a v + R^(1/2) c with numbers a and vectors c.
    """
    w = information.weight[:, None]
    root = np.sqrt(w)
    inverse = np.divide(1.0, root, out=np.zeros_like(root), where=root > 0)
    f, noise = information.chains.draw(probes, rng)
    squared = column_dots(noise.reshape(-1, probes), noise.reshape(-1, probes))
    noisy = root * rng.standard_normal(f.shape)
    b = w * f + noisy
    smoothed = information.filtered.smooth(b)
    squared = squared - column_dots(f, w * f) - 2 * column_dots(f, noisy) + column_dots(b, smoothed)
    length = np.sqrt(squared)

    y = root * (f - smoothed) / length
    first, a, c = y, np.ones(probes), np.zeros_like(y)
    before: Any = None
    diagonal, off_diagonal = [], []
    for step in range(LANCZOS):
        scaled = inverse * y
        E_y = inverse * (information.H @ scaled - w * scaled)
        alpha = column_dots(y, E_y)
        diagonal.append(alpha)
        new_a, new_c = -alpha * a, E_y - alpha * c
        new_y = root * information.filtered.smooth(root * E_y) - alpha * y
        if before is not None:
            beta, old_a, old_c, old_y = before
            new_a, new_c, new_y = new_a - beta * old_a, new_c - beta * old_c, new_y - beta * old_y
        R_c = new_y - new_a * first
        norm2 = new_a**2 + 2 * new_a * column_dots(first, new_c) + column_dots(new_c, R_c)
        if step == LANCZOS - 1 or (norm2 < 1e-20).any():
            break
        beta = np.sqrt(norm2)
        off_diagonal.append(beta)
        before = beta, a, c, y
        a, c, y = new_a / beta, new_c / beta, new_y / beta
    T, k = np.zeros((probes, len(diagonal), len(diagonal))), np.arange(len(diagonal))
    T[:, k, k] = np.transpose(diagonal)
    T[:, k[1:], k[:-1]] = np.transpose(off_diagonal[: len(k) - 1]).reshape(probes, len(k) - 1)
    values, vectors = np.linalg.eigh(T)  # eigh reads the lower triangle
    # the trace of X is zero, so the estimates of the trace are noise: subtract them
    parts = vectors[:, 0] ** 2 * (np.log1p(np.maximum(values, -1 + 1e-12)) - values)
    return np.asarray(squared * parts.sum(axis=1))


def posterior_draws(
    normal: NormalStates,
    n_draws: int,
    rng: np.random.Generator,
    *,
    keep: NDArray[np.int64] | slice = slice(None),
    at_once: int = AT_ONCE,
    tolerance: float = 1e-3,
) -> Floats:
    """Draw from a normal approximation, (n_kept, n_draws).

    Only the nodes of `keep` are kept, because draws of all nodes may take many gigabytes.
    `tolerance` is passed to `Information.solve`. The error of a draw is relative to the prior,
    which may be a hundred times wider than the posterior.
    """
    information = normal.information
    if information.dense is not None:
        root, _ = information.dense
        return (normal.x[:, None] + root @ rng.standard_normal((root.shape[1], n_draws)))[keep]
    out = np.empty((normal.x[keep].size, n_draws))
    for first in range(0, n_draws, at_once):
        n = min(at_once, n_draws - first)
        f, _ = information.chains.draw(n, rng)
        b = information.H @ f + information.noise(n, rng)
        away, _ = information.solve(b, tolerance)
        out[:, first : first + n] = (normal.x[:, None] + f - away)[keep]
    return out


def exact_draws(normal: NormalStates, x: Floats, rng: np.random.Generator) -> Floats:
    """Move draws of a normal, (n, m), to draws of the posterior, given the hyperparameters.

    The nearest normal is not skewed and slightly too narrow. Each draw takes a few steps of
    elliptical slice sampling, which leave the posterior as it is. The normal has the part of the
    prior, and the ratio of the posterior and the normal has the part of the likelihood. This ratio
    is nearly constant, so a few steps are enough.
    """
    information, m = normal.information, x.shape[1]
    o, mean = information.observations, normal.x[:, None]

    def left_out(z: Floats) -> Floats:
        bent = column_dots(z, information.H @ z)
        return o.logp(mean + z) - normal.dual @ z + bent / 2

    z = x - mean
    value = left_out(z)
    for _ in range(SLICES):
        other = posterior_draws(normal, m, rng) - mean
        level: Floats = np.asarray(value + np.log(rng.random(m)))
        angle: Floats = np.asarray(2 * np.pi * rng.random(m))
        low, high, start, left = angle - 2 * np.pi, angle.copy(), z.copy(), np.arange(m)
        while left.size:
            turn = angle[left]
            turned = start[:, left] * np.cos(turn) + other[:, left] * np.sin(turn)
            found = left_out(turned)
            above = found > level[left]
            z[:, left[above]], value[left[above]] = turned[:, above], found[above]
            left, turn = left[~above], turn[~above]
            low[left] = np.where(turn < 0, turn, low[left])
            high[left] = np.where(turn > 0, turn, high[left])
            angle[left] = low[left] + (high[left] - low[left]) * rng.random(left.size)
    return mean + z


def row_moments(
    normal: NormalStates, ahead: Observations, *, at_once: int = 32, tolerance: float = 1e-4
) -> tuple[Floats, list[Floats]]:
    """Compute the means, (n_rows,), and the covariances of the rows of later observations.

    Parameters
    ----------
    normal : NormalStates
    ahead : Observations
        Later observations on the same nodes.
    at_once : int
        Number of rows per solution.
    tolerance : float
        See `Information.solve`.
    """
    information = normal.information
    Z = ahead.design
    first = ahead.first_row
    covariance: list[Floats] = []
    step = max(1, at_once // max(1, int(np.diff(first).max(initial=1))))
    for start in range(0, len(first) - 1, step):
        some = first[start : start + step + 1]
        rows = Z[some[0] : some[-1]]
        whole: Any
        if information.dense is not None:
            half = rows @ information.dense[0]
            whole = half @ half.T
        else:
            whole = _row_covariance(information, rows, tolerance)
        covariance += [
            whole[a:b, a:b] for a, b in zip(some[:-1] - some[0], some[1:] - some[0], strict=True)
        ]
    return ahead.rows(normal.x), covariance


def _row_covariance(information: Information, rows: csr_array, tolerance: float) -> Floats:
    """Compute the covariance of rows, (n_rows, n_rows)."""
    K = information.chains.covariance(np.asarray(rows.toarray(), dtype=float).T)
    HK = information.H @ K
    x, dual = information.solve(HK, tolerance)
    # HK' A^-1 HK, in a form whose error is the square of the solution's error
    A_x = dual + information.H @ x
    return np.asarray(rows @ K - K.T @ HK + x.T @ HK + HK.T @ x - x.T @ A_x)
