"""Draws of nested Laplace: from the mixture over the nodes, corrected by importance sampling.

Given the hyperparameters, latent variables with few data are skewed. In small models, importance
sampling corrects this. Proposals come from the nodes, with the tails of a t distribution. They are
resampled with weights proportional to the exact density divided by the proposal density.

References
----------
Vehtari, Simpson, Gelman, Yao & Gabry, Pareto smoothed importance sampling, JMLR 25, 2024.
"""

from typing import cast

import arviz  # noqa: F401  (registers azstats)
import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.special import logsumexp

from bayesrank.inference.approximation.block_precision import Dense
from bayesrank.inference.approximation.hyper_marginal import HyperNodes
from bayesrank.inference.approximation.inner_gaussian import Joint
from bayesrank.inference.approximation.nodes import node_of_draws

__all__ = ["mixture_draws", "resampled_draws"]

Floats = NDArray[np.float64]
Draws = tuple[Floats, NDArray[np.int64]]  # (n_draws, n), and the node of each

AT_ONCE = 64  # draws made together, which bounds memory
# The variance of log weights grows with the number of variables: in large models, a few draws
# would carry all weight.
MOST_WEIGHED = 30  # variables
PILOT = 200  # draws at the heaviest node, to detect skewness
NORMAL = 0.1  # sd of log weights below which draws need none: no mean is off by more than 0.1 sd
PROPOSALS = 4  # proposals per draw
TAIL = 4  # degrees of freedom of proposals: tails must be heavier than the posterior's
WIDE = 1.2  # standard deviation of proposed latent variables, relative to the inner Gaussian
JITTER_SCALE = 6.0  # variance of proposed hyperparameters around a node, relative to the jitter
GOOD_K = 0.7  # Pareto k from which weights are unreliable


def mixture_draws(nodes: HyperNodes, joint: Joint, n_draws: int, rng: np.random.Generator) -> Draws:
    """Draw from the mixture over the nodes, in random order."""
    mean = np.exp(nodes.log_weight) @ nodes.hyper
    values, vectors = np.linalg.eigh(nodes.jitter)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    shrunken = nodes.hyper + (nodes.shrink - 1) * (nodes.hyper - mean)
    return _draws_at(shrunken, nodes, joint, root, n_draws, rng)


def _draws_at(
    hyper: Floats, nodes: HyperNodes, joint: Joint, root: Floats, n_draws: int,
    rng: np.random.Generator, *, heavy: bool = False,
) -> Draws:  # fmt: skip
    """Draw around `hyper`, (n_nodes, n_hyper), from normals or, if `heavy`, t distributions."""
    node = node_of_draws(nodes.log_weight, n_draws, rng)
    at_once = n_draws if heavy else AT_ONCE
    found = np.empty((n_draws, joint.start.size))
    for k, inner in enumerate(nodes.inner):
        rows = np.flatnonzero(node == k)
        for some in np.split(rows, np.arange(at_once, rows.size, at_once)):
            n = some.size
            moved = rng.normal(size=(n, joint.hyper.size)) @ root.T
            if heavy:
                moved /= _t_divisor(n, rng)
            moved += hyper[k] - nodes.hyper[k]
            noise = inner.precision.noise(n, rng).T
            if heavy:
                noise *= WIDE / _t_divisor(n, rng)
            drawn = np.tile(inner.x, (n, 1))
            drawn[:, joint.hyper] += moved
            drawn[:, joint.latent] += noise + moved @ inner.shift.T
            found[some] = drawn
    return found, node


def resampled_draws(
    nodes: HyperNodes, joint: Joint, n_draws: int, rng: np.random.Generator
) -> Draws | None:
    """Draw from the posterior by importance sampling.

    Returns None if the posterior is nearly normal given the hyperparameters, has blocks or too many
    variables, or if the weights are too uneven.
    """
    if joint.blocks is not None or joint.start.size > MOST_WEIGHED or joint.latent.size == 0:
        return None
    if _is_normal(nodes, joint, rng):
        return None
    try:
        root = np.linalg.cholesky(nodes.jitter * (JITTER_SCALE if nodes.shrink else 1.0))
    except np.linalg.LinAlgError:  # one node has all the weight
        return None
    n_proposals = PROPOSALS * n_draws
    found, node = _draws_at(nodes.hyper, nodes, joint, root, n_proposals, rng, heavy=True)
    log_weight = _log_density(joint, found) - _log_proposal(nodes, joint, root, found)
    log_weight = np.maximum(log_weight - log_weight.max(), np.log(np.finfo(float).tiny))
    smooth, k = xr.DataArray(-log_weight, dims="draw").azstats.psislw(dim="draw")
    if not float(k) < GOOD_K:
        return None
    chosen = node_of_draws(smooth.to_numpy() - logsumexp(smooth.to_numpy()), n_draws, rng)
    return found[chosen], node[chosen]


def _is_normal(nodes: HyperNodes, joint: Joint, rng: np.random.Generator) -> bool:
    """Return whether draws at the heaviest node hardly need weights."""
    heaviest = nodes.inner[int(nodes.log_weight.argmax())]
    pilot = joint.draw(heaviest, PILOT, rng)
    z = (pilot - heaviest.x)[:, joint.latent] @ cast(Dense, heaviest.precision).factor
    return bool(np.std(_log_density(joint, pilot) + (z**2).sum(axis=1) / 2) < NORMAL)


def _t_divisor(n: int, rng: np.random.Generator) -> Floats:
    """Draw the divisors, (n, 1), that turn normals into t variables."""
    return np.sqrt(rng.chisquare(TAIL, size=(n, 1)) / TAIL)


def _log_proposal(nodes: HyperNodes, joint: Joint, root: Floats, points: Floats) -> Floats:
    """Compute the log density of the proposals, up to a constant."""
    out = np.empty((len(nodes.inner), len(points)))
    for k, inner in enumerate(nodes.inner):
        moved = points[:, joint.hyper] - nodes.hyper[k]
        noise = points[:, joint.latent] - inner.x[joint.latent] - moved @ inner.shift.T
        noise = noise @ cast(Dense, inner.precision).factor / WIDE
        if joint.hyper.size:
            moved = solve_triangular(root, moved.T, lower=True).T
        out[k] = nodes.log_weight[k] + inner.precision.log_det / 2
        for z in (noise, moved):
            out[k] -= (TAIL + z.shape[1]) / 2 * np.log1p((z**2).sum(axis=1) / TAIL)
    return np.asarray(logsumexp(out, axis=0))


def _log_density(joint: Joint, points: Floats) -> Floats:
    """Compute the log density at each point, minus infinity where it is not a number."""
    with np.errstate(all="ignore"):
        found = np.array([float(joint.logp(x)[0]) for x in points])
    return np.where(np.isnan(found), -np.inf, found)
