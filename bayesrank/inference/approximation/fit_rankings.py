r"""Rankings by one utility per item: posterior mode and normal approximation.

The model is Plackett-Luce for weak orders, with one utility :math:`u_i` per item:

.. math:: u_i \sim \text{Normal}(0, \sigma), \qquad
          \text{ranking} \sim \text{PlackettLuce}(u)

A ranking is an order of :math:`u_i` plus Gumbel noise, so its log-probability is concave in u, with
ties too. Newton's method takes about five passes over the distinct stages of the rankings
(`bayesrank.data.derive.stages`), with exact second derivatives.

A learned scale :math:`\sigma` is integrated over: for each of a few scales, Laplace's approximation
of the evidence,

.. math:: \log p(y \mid \sigma) \approx \log p(y, \hat u \mid \sigma)
          - \tfrac12 \log \lvert -H \rvert + \text{const},

gives the weight of the normal around the mode :math:`\hat u` (`approximation.nodes`).

With many items, H is known by its products, and time and memory are linear in items and entries
(`approximation.krylov`). The determinant then has a Monte Carlo error, which is the same at all
scales.
"""

import math
from typing import Any, NamedTuple

import arviz as az
import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from bayesrank.data import Rankings
from bayesrank.data.read import check_whole
from bayesrank.inference.approximation.block_precision import Dense
from bayesrank.inference.approximation.krylov import Krylov
from bayesrank.inference.approximation.modes import one_blas_thread
from bayesrank.inference.approximation.newton import Step, climb_by_newton
from bayesrank.inference.approximation.nodes import (
    KNOWN,
    curvature_of,
    node_of_draws,
    weighted_nodes,
)
from bayesrank.likelihoods.ops.arrays import MOST_DENSE
from bayesrank.likelihoods.plackett_luce.per_item import TABLE, StageTotal
from bayesrank.priors import LEARNED

__all__ = ["fit_rankings"]

Floats = NDArray[np.float64]

ENOUGH = 1e-7  # nats gained by the last step; the remaining error is of the order of its square
MOST_STEPS = 200
SCALES = (1e-4, 1e2)  # bounds of the mode of a learned scale, far beyond the prior's
NEAR = 0.02  # tolerance of the mode of the log scale, far below its uncertainty
AT_ONCE = 4_000  # draws made together, which bounds memory
LEAST_BEND = 0.5  # smallest curvature assumed at the mode, about the prior's curvature


def fit_rankings(
    rankings: Rankings,
    *,
    utility_scale: float | None = None,
    draws: int = 1000,
    chains: int = 4,
    random_seed: int | None = None,
) -> xr.DataTree:
    """Approximate the posterior of Plackett-Luce with one utility per item, in a tenth of a second.

    Parameters
    ----------
    rankings : Rankings
        Rankings, with or without ties. All rankers share the utilities, and groups are ignored.
    utility_scale : float, optional
        Standard deviation of the utilities, positive. By default, it is learned with the prior
        HalfNormal(3), as in the command line.
    draws, chains, random_seed
        As in `fit_inla`.

    Returns
    -------
    DataTree
        Group ``posterior`` with draws of ``utility``, centred, and of ``utility_scale`` if it is
        learned. They come from the normal around the mode; with a learned scale, from a mixture of
        such normals.

    Raises
    ------
    ValueError
        If the scale is not positive.
    TypeError
        If the data are not rankings.

    See Also
    --------
    fit_pairs, fit_inla, ranking_model

    Examples
    --------
    >>> import bayesrank as br
    >>> rankings = br.Rankings.from_orderings([["a", "b"]] * 30 + [["b", "a"]] * 10)
    >>> posterior = br.fit_rankings(rankings, utility_scale=9, random_seed=1)["posterior"]
    >>> lead = posterior["utility"].sel(item="a") - posterior["utility"].sel(item="b")
    >>> round(float(lead.mean()), 1), round(float(lead.std()), 1)  # log 3, and about √(1/30 + 1/10)
    (1.1, 0.4)
    """
    check_whole(draws=draws, chains=chains)
    if not isinstance(rankings, Rankings):
        raise TypeError(
            f"Expected Rankings; got {type(rankings).__name__}. Use fit_pairs for Pairs, and "
            "fit_inla for other models."
        )
    if utility_scale is not None and not 0 < utility_scale < np.inf:
        raise ValueError(f"`utility_scale` is {utility_scale}; it must be positive and finite.")
    problem = _Utilities(rankings)
    with one_blas_thread():
        if utility_scale is None:
            nodes, log_weight = _nodes(problem)
        else:
            nodes, log_weight = [problem.node(math.log(utility_scale))], np.zeros(1)
        rng = np.random.default_rng(random_seed)
        which = node_of_draws(log_weight, draws * chains, rng)
        found = np.empty((draws * chains, problem.n_items))
        for k, node in enumerate(nodes):
            mine = np.flatnonzero(which == k)
            for some in np.split(mine, range(AT_ONCE, mine.size, AT_ONCE)):
                found[some] = node.mode + node.precision.noise(some.size, rng).T
    found -= found.mean(axis=1, keepdims=True)  # in place: the draws are the largest array
    values = {"utility": found}
    if utility_scale is None:
        values["utility_scale"] = np.exp([node.log_scale for node in nodes])[which]
    out = az.from_dict(
        {"posterior": {k: v.reshape(chains, -1, *v.shape[1:]) for k, v in values.items()}},
        coords={"item": rankings.coords["item"]},
        dims={"utility": ["item"]},
    )
    out["posterior"].attrs.update({"inference_library": "bayesrank", "approximation": "Laplace"})
    return out


class _Node(NamedTuple):
    """The normal approximation given a scale."""

    log_scale: float
    mode: Floats
    precision: Dense | Krylov
    log_marginal: float  # log density of the log scale, up to a constant


class _Utilities:
    """The log-probability of rankings by one utility per item."""

    def __init__(self, rankings: Rankings) -> None:
        self.n_items = rankings.n_items
        table = rankings.stages
        fields = ("item_weight", "node_weight", "block_weight", *TABLE)
        # numba would compile again for read-only arrays
        self.table = [np.array(getattr(table, field)) for field in fields]

    def node(self, log_scale: float, near: _Node | None = None) -> _Node:
        """Find the mode given a scale, from the mode at a scale nearby."""
        by_prior = math.exp(-2 * log_scale)
        total = StageTotal()
        precision: Any = None

        def height(x: Floats) -> tuple[Any, ...]:
            value, slope = total.kernel(x, *self.table)
            return value - by_prior * (x @ x) / 2, slope - by_prior * x

        def step_at(x: Floats, found: Any) -> Step:
            nonlocal precision
            H = total.hessian(x, *self.table)
            if self.n_items > MOST_DENSE:
                precision = Krylov(lambda v: by_prior * v - H.product(v), by_prior - H.diagonal)
            else:
                precision = Dense(by_prior * np.eye(self.n_items) - H.toarray())
            step = precision.solve(found[1])
            return Step(step, float(found[1] @ step) / 2)

        start = np.zeros(self.n_items) if near is None else near.mode
        x, (value, _), _ = climb_by_newton(
            height, step_at, start, enough=ENOUGH, most_steps=MOST_STEPS
        )
        evidence = value - self.n_items * log_scale - precision.log_det / 2
        prior = log_scale - math.exp(2 * log_scale) / LEARNED**2 / 2  # half-normal
        return _Node(log_scale, x, precision, float(evidence) + prior)


def _nodes(problem: _Utilities) -> tuple[list[_Node], Floats]:
    """Find weighted nodes of a learned scale."""
    last: _Node | None = None

    def log_density(log_scale: Any) -> float:
        nonlocal last
        last = problem.node(float(np.squeeze(log_scale)), last)
        return last.log_marginal

    found: Any = minimize_scalar(
        lambda x: -log_density(x), bounds=np.log(SCALES), method="bounded", options={"xatol": NEAR}
    )
    peak, top = np.array([found.x]), -float(found.fun)
    _, curvature = curvature_of(log_density, peak, top)
    covariance = 1 / np.maximum(curvature, LEAST_BEND)
    if covariance[0, 0] < KNOWN**2:
        return [problem.node(peak[0], last)], np.zeros(1)
    _, log_weight, nodes, _ = weighted_nodes(
        peak, covariance, top, log_density, lambda x, near: problem.node(float(x[0]), near)
    )
    return nodes, log_weight
