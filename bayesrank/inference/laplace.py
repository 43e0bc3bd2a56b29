r"""Laplace's approximation: a normal posterior around the mode.

The normal is that of the unconstrained variables, the space of the samplers: logarithms of what is
positive. Its precision is the Hessian of the log posterior, by differences of the compiled
gradient: it needs no second derivatives, two gradients per variable, and as much memory as the
square of their number.

>>> import pymc as pm
>>> with pm.Model() as model:
...     x = pm.Normal("x", 0, 1)
...     y = pm.Normal("y", x, 1, observed=3.0)
>>> posterior = laplace(model, draws=4000)["posterior"]["x"]
>>> round(float(posterior.mean()), 1), round(float(posterior.std()), 1)
(1.5, 0.7)
"""

from typing import Any

import numpy as np
import pymc as pm
from numpy.typing import NDArray
from pymc.blocking import DictToArrayBijection
from scipy.linalg import LinAlgError, cho_factor, solve_triangular

from bayesrank.inference.modes import Point, constrained, objective, posterior_modes

__all__ = ["hessian", "laplace"]


def laplace(
    model: pm.Model,
    *,
    mode: Point | None = None,
    draws: int = 1000,
    step: float = 1e-4,
    seed: int = 1,
) -> Any:
    """Draw from the normal approximation around the posterior mode.

    Parameters
    ----------
    model : pm.Model
        With continuous free variables only.
    mode : dict, optional
        Unconstrained values of the free variables at the mode, as `posterior_modes` returns them;
        by default it is searched for.
    draws : int
        Number of draws, of one chain: they are independent.
    step : float
        Of the differences, positive; error of the Hessian about its square.
    seed : int
        Of the draws.

    Returns
    -------
    DataTree
        Group ``posterior`` with the variables and deterministics of the model.

    Raises
    ------
    ValueError
        If the Hessian is not negative definite: the point is no isolated mode.
    """
    if mode is None:
        mode = posterior_modes(model)[0]
    logp, start = objective(model)
    names = [name for name, *_ in start.point_map_info]
    x = DictToArrayBijection.map({name: np.asarray(mode[name]) for name in names}).data
    precision = -hessian(lambda at: logp(at)[1], x, step=step)
    try:
        factor, _ = cho_factor(precision, lower=True)
    except LinAlgError as error:
        lowest = np.linalg.eigvalsh(precision)[0]
        raise ValueError(
            f"The log posterior does not curve downwards in every direction at the given point "
            f"(least curvature {lowest:.2g}): it is no isolated mode. Give every variable a proper "
            "prior, or sample with pm.sample."
        ) from error
    noise = np.random.default_rng(seed).normal(size=(x.size, draws))
    found = x + solve_triangular(factor, noise, lower=True, trans="T").T
    return constrained(model, start, found)


def hessian(slope: Any, x: NDArray[np.float64], *, step: float = 1e-4) -> NDArray[np.float64]:
    """Hessian by central differences of the gradient.

    Parameters
    ----------
    slope : callable
        From (n,) to the gradient there, (n,).
    x : array, (n,)
        Where.
    step : float
        Of the differences.

    Returns
    -------
    array, (n, n)
        Symmetric.

    Examples
    --------
    >>> hessian(lambda x: np.array([2 * x[0] + x[1], x[0]]), np.zeros(2)).round(6)
    array([[2., 1.],
           [1., 0.]])
    """
    rows = np.empty((x.size, x.size))
    for i in range(x.size):
        ahead, behind = x.copy(), x.copy()
        ahead[i] += step
        behind[i] -= step
        rows[i] = (slope(ahead) - slope(behind)) / (ahead[i] - behind[i])
    return (rows + rows.T) / 2
