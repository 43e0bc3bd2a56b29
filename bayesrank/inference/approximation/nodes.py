"""Weighted nodes over a few numbers with a known log density, such as logarithms of scales.

The nodes are laid around the mode and weighed by importance, so that a mixture over them integrates
over the numbers: scales in `fit_inla`, hyperparameters of a dynamics in `fit_dynamic`.
"""

import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, qmc

__all__ = ["KNOWN", "MOST_TIMES", "Laid", "curvature_of", "node_of_draws", "weighted_nodes"]

Floats = NDArray[np.float64]

MOST_AXES = 8  # axes with nodes: those that are known least
NODES = {1: 8, 2: 16}  # number of nodes by number of axes; 32 for more axes
WIDER = 1.2  # standard deviations of the nodes, in those of the approximation around the mode
MOST = 2.0  # largest ratio by which a side is wider or narrower than the approximation
ASIDE = 0.3  # deviations between the mean and the middle of the nodes, from which more are laid
SPREAD = 1.4  # ratio of the deviation and that of the nodes, from which more are laid
MOST_TIMES = 6  # rounds of nodes
LEAST = 1e-3  # weight below which a node is dropped
STEP = 0.2  # of differences in logarithms of scales: far above the noise of log densities
KNOWN = 0.06  # deviation of all logarithms of scales at which one node, their mode, is enough


class Laid(NamedTuple):
    """Density of nodes in coordinates along axes: half a normal on either side of a centre."""

    centre: Floats  # (n_axes,)
    sides: Floats  # (2, n_axes) deviations below and above it

    def points(self, z: Floats) -> Floats:
        """Transform standard normals."""
        return self.centre + z * np.where(z < 0, self.sides[0], self.sides[1])

    def log_density(self, at: Floats) -> Floats:
        """Log density of the points, up to a constant; each side has half of them."""
        off = at - self.centre
        side = np.where(off < 0, self.sides[0], self.sides[1])
        return np.asarray(-((off / side / WIDER) ** 2 / 2 + np.log(side)).sum(axis=1))


def weighted_nodes(
    peak: Floats,
    covariance: Floats,
    top: float,
    height: Callable[[Floats], float],
    found_at: Callable[[Floats, Any], Any],
    *,
    rounds: int = MOST_TIMES,
) -> tuple[Floats, Floats, list[Any], Floats]:
    """Lay nodes around the mode, and weigh them.

    Scales near zero have a long tail in logarithms, so each side of each axis of the covariance has
    a deviation of its own, from the fall of the log density. If the weights show that the nodes are
    off-centre, too close or too far apart, more are laid accordingly. All are weighed by the
    density over the mean of the densities they are laid by (Cornuet, Marin, Mira & Robert, Adaptive
    multiple importance sampling, Scandinavian Journal of Statistics 39, 2012).

    Parameters
    ----------
    peak : array, (n,)
        The mode.
    covariance : array, (n, n)
        Of the normal approximation there.
    top : float
        The log density at the mode, up to a constant.
    height : callable
        The log density elsewhere, up to the same constant.
    found_at : callable
        From the numbers at a node and the result at the nearest node so far, or None, to a result
        with the attribute ``log_marginal``, the log density there.
    rounds : int
        Most rounds of nodes.

    Returns
    -------
    numbers : array, (n_nodes, n)
    log_weight : array, (n_nodes,)
    found : list
        The result of `found_at` for each node.
    rest : array, (n, n)
        Covariance along the axes without nodes, if there are more than eight.
    """
    values, vectors = np.linalg.eigh(covariance)
    axes = vectors * np.sqrt(values)  # the longest last
    rest, axes = np.split(axes, [max(0, values.size - MOST_AXES)], axis=1)
    n = axes.shape[1]
    laid = Laid(np.zeros(n), np.empty((2, n)))
    for k, axis in enumerate(axes.T):
        for side, sign in zip(laid.sides, (-1, 1), strict=True):
            fall = top - height(peak + sign * math.sqrt(2) * axis)
            side[k] = np.clip(max(fall, 0.0), MOST**-2, MOST**2) ** -0.5
    n_nodes = NODES.get(n, 32)
    z = WIDER * norm.ppf(qmc.Sobol(n, seed=0).random(n_nodes) * (1 - 1e-3) + 5e-4)
    z = z[np.argsort((z**2).sum(axis=1))]  # from the middle outwards: each search starts near
    at, found, every = np.empty((0, n)), list[Any](), list[Laid]()
    for _ in range(rounds):
        every.append(laid)
        for new in laid.points(z):
            near = found[int(((at - new) ** 2).sum(axis=1).argmin())] if found else None
            found.append(found_at(peak + axes @ new, near))
            at = np.concatenate([at, new[None]])
        log_weight = np.array([given.log_marginal for given in found])
        log_weight -= np.logaddexp.reduce([one.log_density(at) for one in every])
        log_weight -= np.logaddexp.reduce(log_weight)
        kept = np.flatnonzero(log_weight > math.log(LEAST))
        at, found, log_weight = at[kept], [found[k] for k in kept.tolist()], log_weight[kept]
        log_weight -= np.logaddexp.reduce(log_weight)
        weight = np.exp(log_weight)
        mean = weight @ at
        deviation = np.sqrt(weight @ (at - mean) ** 2)
        were = laid.points(z)
        wide = were.std(axis=0) / WIDER
        aside = abs(mean - were.mean(axis=0)) / wide
        spread = np.clip(deviation / wide, 1 / MOST, MOST)
        if aside.max() < ASIDE and abs(np.log(spread)).max() < math.log(SPREAD):
            break
        # of nodes that are all to one side few have weight, which does not tell how wide it is
        wide *= np.where(aside < ASIDE, spread, np.maximum(spread, 1.0))
        laid = Laid(mean, np.tile(wide, (2, 1)))
    return peak + at @ axes.T, log_weight, found, rest @ rest.T


def node_of_draws(log_weight: Floats, total: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Choose the node of every draw, (total,), in random order and in proportion to the weights."""
    weight = np.exp(log_weight)
    node = np.searchsorted(np.cumsum(weight), (np.arange(total) + rng.uniform()) / total)
    return rng.permutation(np.minimum(node, weight.size - 1))


def curvature_of(
    log_density: Callable[[Floats], float], x: Floats, top: float, *, diagonal: bool = False
) -> tuple[Floats, Floats]:
    """Compute the gradient and minus the Hessian by differences; `top` is the log density at x.

    With `diagonal`, only the diagonal of the Hessian is computed.
    """
    steps = STEP * np.eye(x.size)
    ahead = np.array([log_density(x + step) for step in steps])
    behind = np.array([log_density(x - step) for step in steps])
    curvature = np.diag(2 * top - ahead - behind)
    for i, j in itertools.combinations(range(0 if diagonal else x.size), 2):
        both = log_density(x + steps[i] + steps[j])
        curvature[i, j] = curvature[j, i] = ahead[i] + ahead[j] - both - top
    return (ahead - behind) / (2 * STEP), curvature / STEP**2
