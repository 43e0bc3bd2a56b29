"""The marginal of the hyperparameters in nested Laplace: its mode, and weighted nodes around it."""

import math
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesrank.inference.approximation.block_precision import factor_of
from bayesrank.inference.approximation.inner_gaussian import InnerGaussian, Joint
from bayesrank.inference.approximation.nodes import (
    KNOWN,
    MOST_TIMES,
    STEP,
    curvature_of,
    weighted_nodes,
)

__all__ = ["HyperNodes", "hyper_mode", "hyper_nodes"]

Floats = NDArray[np.float64]

FAR = 30.0  # log scale beyond which the search has diverged
LONGEST = 1.0  # largest change of a logarithm in one step of the search
CLOSE = 3e-2  # the search ends when a step gains fewer nats
FLAT = 1e-2  # a direction of less curvature is treated as flat
MOST_STEPS = 40  # steps of the search
JITTER = 0.15  # share of the hyperparameters' variance between nodes, added back as noise


class HyperNodes(NamedTuple):
    """Weighted values of the hyperparameters, and the inner Gaussian at each."""

    hyper: Floats  # (n_nodes, n_hyper)
    log_weight: Floats  # (n_nodes,)
    inner: list[InnerGaussian]
    shrink: float  # factor that moves nodes towards their mean, so that jitter adds no variance
    jitter: Floats  # (n_hyper, n_hyper) covariance of the hyperparameters around a node


def hyper_mode(joint: Joint, names: Sequence[str]) -> tuple[Floats, Floats, InnerGaussian]:
    """Find the mode of the hyperparameters, and a normal around it.

    Returns the mode, (n_hyper,), a root of the covariance, (n_hyper, n_hyper), and the inner
    Gaussian at hyperparameters near the mode.

    Raises
    ------
    ValueError
        If the log marginal has no mode, or does not fall in every direction.
    """
    hyper, near, curvature = _climb(joint, names)
    # A joint difference of two may reach over a cliff, where inner modes are elsewhere, and look
    # like a direction that rises. Then use differences of single hyperparameters only.
    for known in (curvature, np.diag(np.diag(curvature))):
        try:
            root = np.linalg.inv(factor_of(known)).T
        except ValueError:
            continue
        return hyper, root, near
    raise ValueError(
        f"The approximate density of the scales {', '.join(names)} has no mode: it does not fall "
        "in every direction, because the data say too little about them. Sample with pm.sample."
    )


def _climb(joint: Joint, names: Sequence[str]) -> tuple[Floats, InnerGaussian, Floats]:
    """Climb to the mode of the log marginal, and return minus the Hessian there.

    Newton steps use the diagonal of the Hessian, by differences of rough log marginals. The last
    step uses the whole Hessian of the log marginal.
    """
    hyper = joint.start[joint.hyper]
    given = joint.gaussian(hyper)

    def log_marginal(hyper: Floats, *, roughly: bool = False) -> float:
        return joint.gaussian(hyper, given, roughly=roughly).log_marginal

    rough, reach = partial(log_marginal, roughly=True), None
    for _ in range(MOST_STEPS):
        differences = partial(curvature_of, x=hyper, top=given.log_marginal, length=reach)
        try:
            slope, curvature = differences(rough, diagonal=True)
        except ValueError:  # the second derivatives of `given` may be too far from those nearby
            slope, curvature = differences(log_marginal, diagonal=True)
        bend = np.maximum(abs(np.diag(curvature)), FLAT)
        # differences reach at most one standard deviation
        step, reach = slope / bend, np.minimum(STEP, bend**-0.5)
        if slope @ step < 2 * CLOSE:
            break
        step *= min(1.0, LONGEST / abs(step).max())
        for length in 0.5 ** np.arange(6):
            if abs(hyper + length * step).max() > FAR:
                raise ValueError(
                    f"The data do not determine the scales {', '.join(names)}: their approximate "
                    "density has no mode. Give them proper priors, or sample with pm.sample."
                )
            candidate = joint.gaussian(hyper + length * step, given)
            if candidate.log_marginal > given.log_marginal:
                break
        else:
            break
        hyper, given = hyper + length * step, candidate
    slope, curvature = curvature_of(log_marginal, hyper, given.log_marginal, length=reach)
    return _last_step(hyper, slope, curvature), given, curvature


def _last_step(hyper: Floats, slope: Floats, curvature: Floats) -> Floats:
    step = _positive_inverse(curvature) @ slope
    return hyper + step * min(1.0, LONGEST / abs(step).max())


def _positive_inverse(curvature: Floats) -> Floats:
    """Invert a curvature; take the absolute value in directions that curve upwards."""
    values, vectors = np.linalg.eigh(curvature)
    return (vectors / np.maximum(abs(values), FLAT)) @ vectors.T


def hyper_nodes(joint: Joint, names: Sequence[str]) -> HyperNodes:
    """Place weighted nodes around the mode of the hyperparameters."""
    if not joint.hyper.size:
        given = joint.gaussian(np.zeros(0))
        return HyperNodes(np.zeros((1, 0)), np.zeros(1), [given], 1.0, np.zeros((0, 0)))
    mode, root, near = hyper_mode(joint, names)
    covariance = root @ root.T
    if np.diag(covariance).max() < KNOWN**2:
        given = joint.moved(near, mode)
        return HyperNodes(mode[None], np.zeros(1), [given], 0.0, covariance)
    top = joint.gaussian(mode, near)

    def log_marginal(hyper: Floats) -> float:
        return joint.gaussian(hyper, top).log_marginal

    def inner_at(hyper: Floats, nearest: InnerGaussian | None) -> InnerGaussian:
        nearest = nearest or top
        if joint.blocks is None:
            return joint.averaged(joint.moved(nearest, hyper))
        return joint.gaussian(hyper, nearest)

    hyper, log_weight, inner, rest = weighted_nodes(
        mode, covariance, top.log_marginal, log_marginal, inner_at,
        rounds=MOST_TIMES if joint.blocks is None else 1,
    )  # fmt: skip
    apart = hyper - np.exp(log_weight) @ hyper
    jitter = JITTER * (apart.T * np.exp(log_weight)) @ apart + rest
    return HyperNodes(hyper, log_weight, inner, math.sqrt(1 - JITTER), jitter)
