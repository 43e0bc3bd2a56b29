"""Weighted nodes for a few parameters with a known log density, such as logarithms of scales.

The nodes lie around the mode and have importance weights, so a mixture over them integrates over
the parameters. `fit_inla` uses them for scales, and `fit_dynamic` for the hyperparameters of a
dynamics.
"""

import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, qmc

__all__ = [
    "KNOWN",
    "MOST_TIMES",
    "NODES",
    "Laid",
    "curvature_of",
    "node_of_draws",
    "weighted_nodes",
]

Floats = NDArray[np.float64]

MOST_AXES = 8  # axes with nodes, the most uncertain ones
NODES = {1: 8, 2: 16}  # number of nodes by number of axes; 32 for more axes
WIDER = 1.2  # standard deviation of the nodes, relative to the approximation around the mode
MOST = 2.0  # largest ratio of a side and the approximation, in either direction
ASIDE = 0.3  # add nodes if the mean is further than this (in sd) from their centre
SPREAD = 1.4  # add nodes if the ratio of the sd and the nodes' sd is larger
MOST_TIMES = 6  # largest number of rounds of nodes
LEAST = 1e-3  # weight below which a node is dropped
STEP = 0.2  # largest step of differences of log scales
KNOWN = 0.06  # if every log scale has a smaller sd, one node at the mode is enough


class Laid(NamedTuple):
    """Density of nodes in coordinates along axes: half-normals on both sides of a centre."""

    centre: Floats  # (n_axes,)
    sides: Floats  # (2, n_axes) standard deviations below and above it

    def points(self, z: Floats) -> Floats:
        """Transform standard normals."""
        return self.centre + z * np.where(z < 0, self.sides[0], self.sides[1])

    def log_density(self, at: Floats) -> Floats:
        """Compute the log density of points, up to a constant; each side has half the mass."""
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
    """Place weighted nodes around the mode.

    Logarithms of scales near zero have a long tail. Each side of each axis of the covariance
    therefore has a separate standard deviation, fitted to the fall of the log density. If the
    weights show that the nodes are off-centre, too close or too far apart, more nodes are added. A
    weight is the density divided by the mean of the densities from which nodes were placed.

    Parameters
    ----------
    peak : array, (n,)
        The mode.
    covariance : array, (n, n)
        Covariance of the normal approximation at the mode.
    top : float
        The log density at the mode, up to a constant.
    height : callable
        Computes the log density elsewhere, up to the same constant.
    found_at : callable
        Takes the parameters at a node, and the result at the nearest node so far or None. Returns a
        result whose attribute ``log_marginal`` is the log density.
    rounds : int
        Largest number of rounds of nodes.

    Returns
    -------
    numbers : array, (n_nodes, n)
    log_weight : array, (n_nodes,)
    found : list
        The result of `found_at` for each node.
    rest : array, (n, n)
        Covariance along the axes without nodes, if there are more than eight.

    References
    ----------
    Cornuet, Marin, Mira & Robert, Adaptive multiple importance sampling, Scandinavian Journal of
    Statistics 39, 2012.
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
        # if all nodes are to one side, few have weight, which says nothing about the width
        wide *= np.where(aside < ASIDE, spread, np.maximum(spread, 1.0))
        laid = Laid(mean, np.tile(wide, (2, 1)))
    return peak + at @ axes.T, log_weight, found, rest @ rest.T


def node_of_draws(log_weight: Floats, total: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Choose the node of every draw, (total,), in random order and in proportion to the weights."""
    weight = np.exp(log_weight)
    node = np.searchsorted(np.cumsum(weight), (np.arange(total) + rng.uniform()) / total)
    return rng.permutation(np.minimum(node, weight.size - 1))


def curvature_of(
    log_density: Callable[[Floats], float],
    x: Floats,
    top: float,
    *,
    length: Floats | None = None,
    diagonal: bool = False,
) -> tuple[Floats, Floats]:
    """Compute the gradient and minus the Hessian by differences; `top` is the log density at x.

    `length`, (n,), is the length of the differences, `STEP` by default. With `diagonal`, only the
    diagonal of the Hessian is computed.
    """
    length = np.full(x.size, STEP) if length is None else length
    steps = np.diag(length)
    ahead = np.array([log_density(x + step) for step in steps])
    behind = np.array([log_density(x - step) for step in steps])
    curvature = np.diag(2 * top - ahead - behind)
    for i, j in itertools.combinations(range(0 if diagonal else x.size), 2):
        both = log_density(x + steps[i] + steps[j])
        curvature[i, j] = curvature[j, i] = ahead[i] + ahead[j] - both - top
    return (ahead - behind) / (2 * length), curvature / np.outer(length, length)
