"""Posterior modes: L-BFGS along a path of settings, such as prior scales, and noisy gradients.

A scale chosen on validation data needs a mode for each candidate. The model keeps its scales in
data variables, and then everything is compiled once; `pymc.find_MAP` compiles at every call.

>>> import pymc as pm
>>> with pm.Model() as model:
...     scale = pm.Data("scale", 1.0)
...     x = pm.Normal("x", 0, scale)
...     y = pm.Normal("y", x, 1, observed=3.0)
>>> [round(float(mode["x"]), 3) for mode in posterior_modes(model, [{"scale": 1}, {"scale": 2}])]
[1.5, 2.4]
"""

import functools
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import arviz as az
import numpy as np
import pymc as pm
from numpy.typing import NDArray
from pymc.backends.arviz import coords_and_dims_for_inferencedata
from pymc.blocking import DictToArrayBijection, RaveledVars
from scipy.optimize import minimize
from threadpoolctl import ThreadpoolController

__all__ = ["Point", "adam", "climb", "constrained", "objective", "posterior_modes"]

Point = Mapping[str, NDArray[np.float64]]  # values of the free variables, by name


def objective(model: pm.Model, *, jitter: float = 0.0, seed: int = 1) -> tuple[Any, RaveledVars]:
    """Compile the log posterior and its gradient, and choose where to start.

    Parameters
    ----------
    model : pm.Model
        What to compile.
    jitter : float
        Standard deviation of the noise added to the initial point, 0 or more. Some models have a
        saddle there, which no gradient leaves.
    seed : int
        Of the noise.

    Returns
    -------
    callable
        From the free variables, ravelled, (n,), to the log density and its gradient, (n,).
    RaveledVars
        The start, ravelled, with what it takes to make it a point again.
    """
    start = DictToArrayBijection.map(model.initial_point())
    noise = jitter * np.random.default_rng(seed).normal(size=start.data.size)
    return model.logp_dlogp_function(ravel_inputs=True), start._replace(data=start.data + noise)


def posterior_modes(
    model: pm.Model,
    settings: Iterable[Mapping[str, Any]] = ({},),
    *,
    warm: bool = True,
    jitter: float = 0.0,
    seed: int = 1,
    max_iterations: int = 15_000,
) -> list[Point]:
    """Find the posterior mode by L-BFGS for each of some settings.

    Parameters
    ----------
    model : pm.Model
        Afterwards it holds the last of the settings.
    settings : list of dict
        Values for data variables of the model, in turn; by default those it has.
    warm : bool
        Start each search where the last one ended, and not all at the same point. Quicker where
        there is one mode; where there are several, a mode then depends on the settings before it.
    jitter : float
        Standard deviation of the noise added to the initial point, 0 or more.
    seed : int
        Of the noise.
    max_iterations : int
        Where each search ends at the latest.

    Returns
    -------
    list of dict
        Values of the free variables for each of the settings, in the space of the sampler (the
        logarithm of what is positive).
    """
    logp, start = objective(model, jitter=jitter, seed=seed)
    found, x = [], start.data
    for setting in settings:
        pm.set_data(dict(setting), model=model)
        mode = climb(logp, x, max_iterations=max_iterations)
        found.append(DictToArrayBijection.rmap(start._replace(data=mode)))
        x = mode if warm else start.data
    return found


def climb(
    logp: Callable[[NDArray[np.float64]], tuple[Any, NDArray[np.float64]]],
    start: NDArray[np.float64],
    *,
    max_iterations: int = 15_000,
    tolerance: float = 2.2e-9,
) -> NDArray[np.float64]:
    """Climb by L-BFGS to where a log density is highest.

    Parameters
    ----------
    logp : callable
        From where one is, (n,), to the log density and its gradient, (n,): see `objective`.
    start : array, (n,)
        Where to start.
    max_iterations : int
        Where to end at the latest.
    tolerance : float
        Relative gain in log density of a step that is taken to be the last.

    Returns
    -------
    array, (n,)
        The mode.
    """

    def loss(x: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        value, slope = logp(x)
        return -float(value), -slope

    options: Any = {"maxiter": max_iterations, "maxfun": 2 * max_iterations, "ftol": tolerance}
    # Its vectors are too small for threads, which would wait busily for each other: up to 100 times
    # slower beside other work.
    with _threads().limit(limits=1, user_api="blas"):
        return minimize(loss, start, jac=True, method="L-BFGS-B", options=options).x


@functools.cache
def _threads() -> Any:
    """Find the thread pools, which takes as long as a small search: once."""
    return ThreadpoolController()


def adam(
    slope: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    start: NDArray[np.float64],
    *,
    n_steps: int,
    learning_rate: float = 0.05,
    after: Callable[[int, NDArray[np.float64]], bool] | None = None,
) -> NDArray[np.float64]:
    """Climb by Adam, the gradient being known up to noise, as from a minibatch.

    Parameters
    ----------
    slope : callable
        From where one is, (n,), to an estimate of the gradient there, (n,). Called once per step.
    start : array, (n,)
        Where to start.
    n_steps : int
        How many steps.
    learning_rate : float
        Of the first step, positive: about how far each coordinate moves in it. It falls to zero
        along a half cosine, so that the noise dies out.
    after : callable, optional
        Called after every step with its number and where it ended; true to stop there.

    Returns
    -------
    array, (n,)
        Where the last step ends.

    References
    ----------
    Kingma & Ba, Adam: a method for stochastic optimization, ICLR 2015.

    Examples
    --------
    >>> adam(lambda x: 3 - x, np.zeros(1), n_steps=500).round(3)
    array([3.])
    """
    x = start.copy()
    mean, square = np.zeros_like(x), np.zeros_like(x)
    for step in range(n_steps):
        gradient = slope(x)
        mean += 0.1 * (gradient - mean)
        square += 0.001 * (gradient**2 - square)
        # both start at zero, which the powers make good
        m, v = mean / (1 - 0.9 ** (step + 1)), square / (1 - 0.999 ** (step + 1))
        rate = learning_rate * (1 + math.cos(math.pi * step / n_steps)) / 2
        x += rate * m / (np.sqrt(v) + 1e-8)
        if after is not None and after(step, x):
            break
    return x


def constrained(model: pm.Model, start: RaveledVars, found: NDArray[np.float64]) -> Any:
    """Put unconstrained draws (n_draws, n) into a DataTree of the model's variables."""
    names = {rv.name for rv in model.unobserved_RVs}
    shown = [x for x in model.unobserved_value_vars if x.name in names]  # without transformed ones
    convert = model.compile_fn(shown, inputs=model.value_vars, point_fn=True)
    rows = [convert(DictToArrayBijection.rmap(start._replace(data=row))) for row in found]
    values = {x.name: np.stack([row[i] for row in rows])[None] for i, x in enumerate(shown)}
    coords, dims = coords_and_dims_for_inferencedata(model)
    return az.from_dict({"posterior": values}, coords=coords, dims=dims)
