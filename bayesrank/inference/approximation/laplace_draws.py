r"""Laplace's approximation: a normal posterior around the mode, in the space of the samplers.

>>> import pymc as pm
>>> with pm.Model() as model:
...     x = pm.Normal("x", 0, 1)
...     y = pm.Normal("y", x, 1, observed=3.0)
>>> posterior = laplace(model, draws=4000, random_seed=1)["posterior"]["x"]
>>> round(float(posterior.mean()), 1), round(float(posterior.std()), 1)
(1.5, 0.7)
"""

from typing import Any

import numpy as np
import pymc as pm
from numpy.typing import NDArray
from pymc.blocking import DictToArrayBijection

from bayesrank.inference.approximation.block_precision import Dense
from bayesrank.inference.approximation.modes import (
    Point,
    climb,
    constrained,
    gradient_change,
    objective,
)

__all__ = ["hessian", "laplace"]


def laplace(
    model: pm.Model, *, mode: Point | None = None, draws: int = 1000, random_seed: int | None = None
) -> Any:
    """Draw from the normal approximation around the posterior mode.

    Parameters
    ----------
    model : pm.Model
        A model whose free variables are all continuous.
    mode : dict, optional
        Unconstrained values of the free variables at the mode; by default, the mode is found first.
    draws : int
        Number of independent draws, in one chain.
    random_seed : int, optional
        Seed of the draws.

    Returns
    -------
    DataTree
        Group ``posterior`` with the variables and deterministics of the model, and
        ``observed_data`` and ``constant_data`` as from `pymc.sample`.

    Raises
    ------
    ValueError
        If the Hessian is not negative definite, so that the point is not an isolated mode.

    See Also
    --------
    bayesrank.inference.fit_inla : Approximate the posterior of models that learn scales as well.
    """
    logp, start = objective(model)
    if mode is None:
        x = climb(logp, start.data)
    else:
        names = [name for name, *_ in start.point_map_info]
        x = DictToArrayBijection.map({name: np.asarray(mode[name]) for name in names}).data
    precision = Dense(-hessian(lambda x: logp(x)[1], x))
    found = x + precision.noise(draws, np.random.default_rng(random_seed)).T
    return constrained(model, start, found)


def hessian(slope: Any, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the Hessian, by central differences of the gradient.

    Parameters
    ----------
    slope : callable
        Function that returns the gradient (n,) at a point (n,).
    x : array, (n,)

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
    rows = np.array([gradient_change(slope, x, axis) for axis in np.eye(x.size)])
    return (rows + rows.T) / 2
