"""Draws of nested Laplace: from the mixture over the nodes, or exact by importance sampling.

Given the hyperparameters, the posterior of the latent variables is close to the inner Gaussian, so
importance weights can correct the difference. Hyperparameters are proposed from a continuous
density around the nodes, and latent variables from the inner Gaussian at each proposal. A weight is
the exact density divided by the density of the proposal. It corrects all approximations at once:
the nodes, the marginal of the hyperparameters, and the normals.

Draws are *certified* if the weights say that they are those of the posterior, up to Monte Carlo
error: by the effective number of draws, the Pareto k and the largest weight. Weights cannot see
what the proposals never reach. Proposals of hyperparameters therefore have the tails of a t
distribution, which are heavier than the exponential tails of logarithms of scales.

References
----------
Vehtari, Simpson, Gelman, Yao & Gabry, Pareto smoothed importance sampling, JMLR 25, 2024.
"""

from typing import NamedTuple, cast

import arviz  # noqa: F401  (registers azstats)
import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.stats import qmc, t

from bayesrank.inference.approximation.block_precision import Dense
from bayesrank.inference.approximation.hyper_marginal import HyperNodes
from bayesrank.inference.approximation.inner_gaussian import InnerGaussian, Joint
from bayesrank.inference.approximation.nodes import node_of_draws

__all__ = ["Resampled", "mixture_draws", "n_proposals", "resampled_draws"]

Floats = NDArray[np.float64]
Draws = tuple[Floats, NDArray[np.int64]]  # (n_draws, n), and the node of each

AT_ONCE = 64  # draws made together, which bounds memory
MOST_WEIGHED = 400  # variables: each proposal of hyperparameters needs a dense inner Gaussian
N_HYPER, N_SEVERAL = 256, 1024  # proposals of one hyperparameter, and of several
FEW, N_OF_MANY = 60, 128  # with more variables, one hyperparameter is known better: fewer proposals
LEAST_PROPOSALS = 1000  # of latent variables, however few draws: the Pareto k needs a tail
MOST_ROUNDS = 4  # proposals of latent variables, relative to the draws
HEAVY = 30  # variables up to which latent variables have heavy tails as well
TAIL = 4  # degrees of freedom of heavy tails: they must be heavier than the posterior's
HYPER_TAIL = 2  # of hyperparameters: logarithms of scales near zero fall slowly, by exp(log scale)
WIDE = 1.2  # standard deviation of proposals with heavy tails, relative to the approximation
SIDES = 0.5, 2.0  # least and largest ratio of one side's standard deviation to that of both
PILOT = 100  # draws at the heaviest node that predict the effective share
LEAST_SHARE = 0.05  # predicted effective share below which weights are useless
NORMAL = 0.98  # predicted effective share from which tails need not be heavy
EVEN = 0.999  # effective share from which weights have no tail
GOOD_K = 0.7  # Pareto k from which weights are unreliable
LEAST_ESS = 400  # effective draws of every variable, below which weights are useless
CERTAIN = 1000  # effective draws by the weights in a certified answer
LARGEST = 0.02  # weight of one draw in a certified answer


class Resampled(NamedTuple):
    """Draws that were chosen in proportion to importance weights."""

    found: Floats  # (n_draws, n)
    node: NDArray[np.int64]  # (n_draws,) the nearest node
    n_effective: float  # by the weights
    ess: float  # smallest effective number of draws of a variable
    pareto_k: float
    largest: float  # weight, as a share of the sum

    @property
    def is_certified(self) -> bool:
        """Whether the draws are those of the posterior, up to Monte Carlo error."""
        many = self.n_effective >= min(CERTAIN, len(self.found) / 2)
        return many and self.pareto_k < GOOD_K and self.largest <= LARGEST


def mixture_draws(nodes: HyperNodes, joint: Joint, n_draws: int, rng: np.random.Generator) -> Draws:
    """Draw from the mixture over the nodes, in random order."""
    mean = np.exp(nodes.log_weight) @ nodes.hyper
    values, vectors = np.linalg.eigh(nodes.jitter)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    shrunken = nodes.hyper + (nodes.shrink - 1) * (nodes.hyper - mean)
    node = node_of_draws(nodes.log_weight, n_draws, rng)
    found = np.empty((n_draws, joint.start.size))
    for k, inner in enumerate(nodes.inner):
        rows = np.flatnonzero(node == k)
        for some in np.split(rows, np.arange(AT_ONCE, rows.size, AT_ONCE)):
            moved = rng.normal(size=(some.size, joint.hyper.size)) @ root.T
            moved += shrunken[k] - nodes.hyper[k]
            drawn = np.tile(inner.x, (some.size, 1))
            drawn[:, joint.hyper] += moved
            drawn[:, joint.latent] += inner.precision.noise(some.size, rng).T
            drawn[:, joint.latent] += moved @ inner.shift.T
            found[some] = drawn
    return found, node


def n_proposals(joint: Joint) -> int:
    """Count the proposals of hyperparameters; without any, draws have no weights.

    Each needs a dense inner Gaussian, so that there are none with blocks or many variables.
    """
    n, n_hyper = joint.start.size, joint.hyper.size
    if joint.blocks is not None or n > MOST_WEIGHED or joint.latent.size == 0:
        return 0
    if n_hyper < 2:
        return 1 if not n_hyper else N_HYPER if n <= FEW else N_OF_MANY
    return N_SEVERAL


def resampled_draws(
    nodes: HyperNodes, joint: Joint, n_draws: int, rng: np.random.Generator
) -> Resampled | None:
    """Draw from the posterior by importance sampling.

    Returns None if the model has blocks or too many variables, or if the weights are useless.
    """
    if not n_proposals(joint):
        return None
    heaviest = nodes.inner[int(nodes.log_weight.argmax())]
    is_small = joint.start.size <= HEAVY
    share = _expected_share(heaviest, joint, rng, heavy=False)
    is_heavy = is_small and share < NORMAL
    if is_heavy:
        share = _expected_share(heaviest, joint, rng, heavy=True)
    if share < LEAST_SHARE:
        return None
    hyper, log_q = _propose_hyper(nodes, joint, rng)
    apart = ((hyper[:, None] - nodes.hyper) ** 2).sum(axis=2)
    node = apart.argmin(axis=1)
    inner = [_inner_at(joint, x, nodes.inner[k]) for x, k in zip(hyper, node, strict=True)]
    each = -(-max(n_draws, LEAST_PROPOSALS) // len(inner))
    found, log_weight = np.empty((0, joint.start.size)), np.empty(0)
    of_hyper = np.empty(0, np.int64)
    for _ in range(MOST_ROUNDS):
        parts = [_propose_latent(given, joint, each, rng, heavy=is_heavy) for given in inner]
        new = np.concatenate([points for points, _ in parts])
        log_proposal = np.concatenate([x + y for (_, x), y in zip(parts, log_q, strict=True)])
        found = np.concatenate([found, new])
        log_weight = np.concatenate([log_weight, _log_density(joint, new) - log_proposal])
        of_hyper = np.concatenate([of_hyper, np.repeat(np.arange(len(inner)), each)])
        relative = log_weight - np.logaddexp.reduce(log_weight)
        weight = np.exp(relative)
        n_effective = 1 / float(weight @ weight)
        if n_effective >= n_draws / 2:
            break
    pareto_k = _pareto_k(relative) if n_effective < EVEN * len(weight) else -np.inf
    if not pareto_k < GOOD_K:
        return None
    is_stratified = joint.hyper.size == 1
    ess = _effective_draws(found, weight, of_hyper, is_stratified=is_stratified)
    ess = min(ess, n_effective, float(n_draws))
    if ess < min(LEAST_ESS, n_draws / 5):  # their errors would exceed those of the approximation
        return None
    chosen = node_of_draws(relative, n_draws, rng)
    found, node = found[chosen], node[of_hyper[chosen]]
    return Resampled(found, node, n_effective, ess, pareto_k, float(weight.max()))


def _pareto_k(log_weight: Floats) -> float:
    # psislw takes minus the logarithms of the weights
    given = xr.DataArray(-np.maximum(log_weight, np.log(np.finfo(float).tiny)), dims="draw")
    return float(given.azstats.psislw(dim="draw")[1])


def _inner_at(joint: Joint, hyper: Floats, near: InnerGaussian) -> InnerGaussian:
    """Find the inner Gaussian; weights correct a rough one far from the mode."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # at scales beyond all reason
            return joint.gaussian(hyper, near)
    except ValueError:
        return joint.moved(near, hyper)


def _effective_draws(
    found: Floats, weight: Floats, of_hyper: NDArray[np.int64], *, is_stratified: bool
) -> float:
    """Estimate the smallest effective number of draws of a variable.

    Draws that share a proposal of the hyperparameters are not independent, so their errors are
    added before they are squared. A single hyperparameter is stratified: each proposal differs from
    the next only by the error.
    """
    apart = found - weight @ found
    spread = weight @ apart**2
    error = np.zeros((of_hyper.max() + 1, found.shape[1]))
    np.add.at(error, of_hyper, weight[:, None] * apart)
    if is_stratified:
        error = np.diff(error, axis=0) / np.sqrt(2)
    moving = spread > 0
    if len(error) == 1 or not moving.any():  # no hyperparameters
        return float(len(found))
    return float((spread / (error**2).sum(axis=0))[moving].min())


def _expected_share(
    given: InnerGaussian, joint: Joint, rng: np.random.Generator, *, heavy: bool
) -> float:
    """Predict the effective share of weights from few draws at one node."""
    points, log_proposal = _propose_latent(given, joint, PILOT, rng, heavy=heavy)
    log_weight = _log_density(joint, points) - log_proposal
    weight = np.exp(log_weight - log_weight.max())
    return float(weight.sum() ** 2 / (weight @ weight) / PILOT)


def _propose_hyper(
    nodes: HyperNodes, joint: Joint, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Propose hyperparameters, (n, n_hyper), and return their log densities up to a constant.

    Along each axis of the nodes' covariance, both sides of the median have a t distribution.
    Proposals are evenly spread: a single hyperparameter is stratified, and in order.
    """
    n_hyper = nodes.hyper.shape[1]
    if not n_hyper:
        return np.zeros((1, 0)), np.zeros(1)
    weight = np.exp(nodes.log_weight)
    apart = nodes.hyper - weight @ nodes.hyper
    values, vectors = np.linalg.eigh(nodes.shrink**2 * (apart.T * weight) @ apart + nodes.jitter)
    axes = vectors * np.sqrt(np.maximum(values, values.max() * 1e-12))
    at = apart @ np.linalg.inv(axes).T
    centre, sides = np.zeros(n_hyper), np.ones((2, n_hyper))
    if len(at) > 1:
        for k, z in enumerate(at.T):
            order = np.argsort(z)
            middle = np.cumsum(weight[order]) - weight[order] / 2
            centre[k] = np.interp(0.5, middle, z[order])
            for side, beyond in zip(sides, (z < centre[k], z > centre[k]), strict=True):
                if (mass := weight[beyond].sum()) > 0:
                    side[k] = np.sqrt(weight[beyond] @ (z[beyond] - centre[k]) ** 2 / mass)
        sides = np.clip(sides, *SIDES)
    n = n_proposals(joint)
    if n_hyper == 1:
        uniform = ((np.arange(n) + rng.uniform()) / n)[:, None]
    else:
        uniform = qmc.Sobol(n_hyper, rng=rng).random(n)
    z = t.ppf(uniform, HYPER_TAIL)
    side = WIDE * np.where(z < 0, sides[0], sides[1])
    log_density = -(HYPER_TAIL + 1) / 2 * np.log1p(z**2 / HYPER_TAIL) - np.log(side)
    hyper = weight @ nodes.hyper + (centre + z * side) @ axes.T
    return hyper, log_density.sum(axis=1)


def _propose_latent(
    given: InnerGaussian, joint: Joint, n: int, rng: np.random.Generator, *, heavy: bool
) -> tuple[Floats, Floats]:
    """Propose variables, (n, n_variables), around an inner mode, with their log densities."""
    drawn = joint.draw(given, n, rng)
    if heavy:
        drawn = given.x + (drawn - given.x) * WIDE / np.sqrt(rng.chisquare(TAIL, (n, 1)) / TAIL)
    z = (drawn - given.x)[:, joint.latent] @ cast(Dense, given.precision).factor
    distance = (z**2).sum(axis=1)
    log_density = -distance / 2
    if heavy:
        log_density = -(TAIL + z.shape[1]) / 2 * np.log1p(distance / TAIL / WIDE**2)
    return drawn, log_density + given.precision.log_det / 2


def _log_density(joint: Joint, points: Floats) -> Floats:
    """Compute the log density at each point, minus infinity where it is not a number."""
    with np.errstate(all="ignore"):
        found = np.array([float(joint.logp(x)[0]) for x in points])
    return np.where(np.isnan(found), -np.inf, found)
