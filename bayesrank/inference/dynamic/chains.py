r"""The normal posterior of many chains of states, given observations that link chains.

Newton steps, draws and the evidence need the matrix :math:`A = K^{-1} + H`. Here K is the prior
covariance of the utilities at the nodes, block by block, and H is the curvature of the
observations. The factors of A are dense if many items play each other, so A is never factored.
`Information.solve` uses conjugate gradients, preconditioned by the smoother
:math:`S = (K^{-1} + W)^{-1}` of each single item, where W is the diagonal of H:

* A Newton step towards the mode takes one solution.
* A draw is :math:`f - A^{-1} (H f + H^{1/2} \varepsilon)` with f from the prior: one solution.
* The evidence needs :math:`\log |1 + K H|`, the sum of :math:`\log |1 + K W|`, from the filters,
  and :math:`\log |1 + R^{1/2} E R^{1/2}|`, by stochastic Lanczos quadrature. Here
  :math:`R = W^{1/2} S W^{1/2}` and :math:`E = W^{-1/2} H W^{-1/2} - 1`.

All costs are linear in the number of nodes and of observations.

References
----------
Papandreou & Yuille, Gaussian sampling by local perturbations, NeurIPS 2010.

Ubaru, Chen & Saad, Fast estimation of tr(f(A)) via stochastic Lanczos quadrature, SIMAX 2017.
"""

import warnings
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
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
    "Mode",
    "beyond_laplace",
    "covariance_root",
    "find_mode",
    "log_evidence",
    "posterior_draws",
    "row_moments",
]

Floats = NDArray[np.float64]

MOST_STEPS = 50  # steps of Newton's method
MOST_SOLVING = 500  # steps of conjugate gradients
LANCZOS = 12  # steps of Lanczos' method, about as many as solutions need
AT_ONCE = 16  # draws per solution
PAIRS = 32  # antithetic pairs of draws that correct Laplace's approximation
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

    def solve(self, b: Floats, tolerance: float) -> tuple[Floats, Floats]:
        """Solve A x = b for the columns of b, (n, m), by preconditioned conjugate gradients.

        Ends when the residuals have shrunk by `tolerance`, in the norm of S. Returns x, and the
        product of x and the inverse of K. The product follows from products with the inverse of S,
        so K may be singular.
        """
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


class Mode(NamedTuple):
    """The mode of the posterior given the hyperparameters."""

    x: Floats  # (n,) utilities at the nodes, then common effects minus their means
    dual: Floats  # (n,) the product of x and the inverse of K
    logp: float  # sum over the observations
    information: Information


def find_mode(
    chains: Chains, observations: Observations, dual: Floats | None = None, tolerance: float = 1e-4
) -> Mode:
    """Climb to the mode by Newton's method.

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
    Mode
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
    return Mode(x, dual, float(found.logp.sum()), information)


class Evidence(NamedTuple):
    """Laplace's approximation of the log-probability of the data, given the hyperparameters."""

    value: float
    error: float  # standard error of the part estimated from probes


def log_evidence(
    mode: Mode, *, probes: int | None = None, random_seed: int | None = None
) -> Evidence:
    """Approximate the evidence; with equal seeds, differences have much smaller errors."""
    information = mode.information
    rng = np.random.default_rng(random_seed)
    if probes is None:
        probes = next(some for most, some in PROBES.items() if mode.x.size <= most)
    by_probe = _log_det_coupling(information, probes, rng)
    log_det = information.filtered.log_det + by_probe.mean()
    value = mode.logp - mode.x @ mode.dual / 2 - log_det / 2
    return Evidence(float(value), float(by_probe.std(ddof=1) / 2 / np.sqrt(probes)))


def beyond_laplace(mode: Mode, *, pairs: int = PAIRS, random_seed: int | None = None) -> float:
    r"""Estimate the error of Laplace's approximation of the log evidence.

    The draws z come from the normal around the mode. If r(z) is the posterior's log density minus
    the normal's, the error is :math:`\log E\, e^{r(z)}`. The mean is taken over antithetic pairs, z
    and -z.
    """
    o, rng = mode.information.observations, np.random.default_rng(random_seed)
    centre = o.rows(mode.x)
    slope = o.evaluate(centre).slope
    left_out = []
    for first in range(0, pairs, AT_ONCE):
        z = posterior_draws(mode, min(AT_ONCE, pairs - first), rng) - mode.x[:, None]
        bent = column_dots(z, mode.information.H @ z)
        for one, curvature in zip(z.T, bent, strict=True):
            away = o.rows(mode.x + one) - centre
            for step in (away, -away):
                logp = float(o.evaluate(centre + step).logp.sum())
                left_out.append(logp - mode.logp - slope @ step + curvature / 2)
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
    mode: Mode,
    n_draws: int,
    rng: np.random.Generator,
    *,
    keep: NDArray[np.int64] | slice = slice(None),
    at_once: int = AT_ONCE,
    tolerance: float = 1e-2,
) -> Floats:
    """Draw from the normal around the mode, (n_kept, n_draws).

    Only the nodes of `keep` are kept, because draws of all nodes may take many gigabytes.
    `tolerance` is passed to `Information.solve`. With a relative error of 0.01 in a draw, variances
    change by a factor of about 1.0001.
    """
    information = mode.information
    out = np.empty((mode.x[keep].size, n_draws))
    for first in range(0, n_draws, at_once):
        n = min(at_once, n_draws - first)
        f, _ = information.chains.draw(n, rng)
        b = information.H @ f + information.noise(n, rng)
        away, _ = information.solve(b, tolerance)
        out[:, first : first + n] = (mode.x[:, None] + f - away)[keep]
    return out


def row_moments(
    mode: Mode, ahead: Observations, *, at_once: int = 32, tolerance: float = 1e-3
) -> tuple[Floats, list[Floats]]:
    """Compute the means, (n_rows,), and the covariances of the rows of later observations.

    Parameters
    ----------
    mode : Mode
    ahead : Observations
        Later observations on the same nodes.
    at_once : int
        Number of rows per solution.
    tolerance : float
        See `Information.solve`.
    """
    information, chains = mode.information, mode.information.chains
    Z = ahead.design
    first = ahead.first_row
    covariance: list[Floats] = []
    step = max(1, at_once // max(1, int(np.diff(first).max(initial=1))))
    for start in range(0, len(first) - 1, step):
        some = first[start : start + step + 1]
        rows = Z[some[0] : some[-1]]
        K = chains.covariance(np.asarray(rows.toarray(), dtype=float).T)
        HK = information.H @ K
        x, dual = information.solve(HK, tolerance)
        # HK' A^-1 HK, in a form whose error is the square of the solution's error
        A_x = dual + information.H @ x
        whole: Any = rows @ K - K.T @ HK + x.T @ HK + HK.T @ x - x.T @ A_x
        covariance += [
            whole[a:b, a:b] for a, b in zip(some[:-1] - some[0], some[1:] - some[0], strict=True)
        ]
    return ahead.rows(mode.x), covariance
