r"""Posterior modes: L-BFGS and Newton's method, and Adam for noisy gradients.

L-BFGS stops where it gains little, which is far from the mode if variables have different scales.
Newton's method continues from there. Its steps solve :math:`-H p = g` by conjugate gradients.
Products with the Hessian H are differences of the gradient g. The term :math:`g \cdot p / 2`
estimates how much higher the mode is, for any scales of the variables.

>>> import pymc as pm
>>> with pm.Model() as model:
...     x = pm.Normal("x", 0, 1)
...     y = pm.Normal("y", x, 1, observed=3.0)
>>> logp, start = objective(model)
>>> climb(logp, start.data).round(3)
array([1.5])
"""

import functools
import math
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import arviz as az
import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import xarray as xr
from numpy.typing import NDArray
from pymc.backends.arviz import (
    coords_and_dims_for_inferencedata,
    find_constants,
    find_observations,
)
from pymc.blocking import DictToArrayBijection, RaveledVars
from pymc.pytensorf import compile as compile_pytensor
from pymc.pytensorf import rewrite_pregrad
from pytensor.graph.basic import Variable
from pytensor.graph.replace import clone_replace
from pytensor.scalar import upcast
from pytensor.tensor import TensorVariable
from scipy.optimize import minimize
from threadpoolctl import OpenBLASController, ThreadpoolController

from bayesrank.inference.approximation.newton import Step, climb_by_newton
from bayesrank.schema import ITEM, Kept

__all__ = [
    "Point",
    "adam",
    "climb",
    "compile_values",
    "constrained",
    "converter",
    "data_groups",
    "density_with_slope",
    "fixed_seed",
    "gradient_change",
    "join_inputs",
    "kept_of",
    "newton",
    "objective",
    "one_blas_thread",
    "tree_of",
]

Floats = NDArray[np.float64]
Point = Mapping[str, Floats]  # values of the free variables, by name
Density = Callable[[Floats], tuple[Any, Floats]]  # from (n,) to log density and gradient, (n,)


def objective(
    model: pm.Model, *, jitter: float = 0.0, random_seed: int | None = None
) -> tuple[Any, RaveledVars]:
    """Compile the log posterior and its gradient, and choose where to start.

    Parameters
    ----------
    model : pm.Model
    jitter : float
        Standard deviation of the noise added to the initial point, 0 or more. Some models have a
        saddle there, which no gradient leaves.
    random_seed : int, optional
        Seed of the noise.

    Returns
    -------
    callable
        From the ravelled free variables, (n,), to the log density and its gradient, (n,).
    RaveledVars
        The ravelled start, with the shapes of the variables.
    """
    point = model.initial_point()
    start = DictToArrayBijection.map(point)
    noise = jitter * np.random.default_rng(random_seed).normal(size=start.data.size)
    outputs, at = join_inputs(point, density_with_slope(model), model.value_vars)
    # as `compile_density` does: numba then loads for one what it compiled for the other
    with pytensor.config.change_flags(numba__fastmath=False):
        logp = compile_pytensor([at], outputs, trust_input=True)
    return logp, start._replace(data=start.data + noise)


def density_with_slope(model: pm.Model) -> list[TensorVariable]:
    """Return graphs of the log posterior and of its ravelled gradient.

    Raises
    ------
    ValueError
        If there are no free variables, or one is discrete.
    """
    if not model.value_vars:
        raise ValueError("The model has no free variables: all of them are data or constants.")
    for value in model.value_vars:
        if not str(value.dtype).startswith("float"):
            name = model.values_to_rvs[value].name
            raise ValueError(
                f"The free variable {name!r} is discrete: the log posterior has no gradient with "
                "respect to it. Marginalise it, or sample with pm.sample."
            )
    logp = rewrite_pregrad(model.logp())
    slopes = pytensor.grad(logp, model.value_vars, disconnected_inputs="ignore")
    return [logp, pt.concatenate([slope.ravel() for slope in slopes])]


def join_inputs(
    point: Point, outputs: Sequence[Variable], inputs: Sequence[TensorVariable]
) -> tuple[list[Any], TensorVariable]:
    """Replace several inputs of graphs by parts of one vector, in order.

    Unlike in PyMC's `join_nonshared_inputs`, the shapes of the inputs (from `point`) are data, so
    models of all sizes share one compiled function.
    """
    shapes = [np.shape(point[x.name]) for x in inputs]
    ends = pytensor.shared(np.cumsum([0, *map(math.prod, shapes)]), "ends")
    joined = pt.vector("joined", dtype=upcast(*(x.dtype for x in inputs)))
    parts = []
    for k, (x, shape) in enumerate(zip(inputs, shapes, strict=True)):
        part = joined[ends[k] : ends[k + 1]]
        if x.ndim != 1:
            part = part.reshape(pytensor.shared(np.array(shape, np.int64)), ndim=x.ndim)
        if any(n is not None for n in x.type.shape):
            part = pt.specify_shape(part, x.type.shape)
        parts.append((x, part.astype(x.dtype)))
    return clone_replace(list(outputs), dict(parts), rebuild_strict=False), joined


def fixed_seed(random_seed: int | None) -> int:
    """Return the seed, or a random seed for None, so that several uses share it."""
    return (
        int(np.random.SeedSequence().generate_state(1)[0]) if random_seed is None else random_seed
    )


def climb(
    logp: Density,
    start: Floats,
    *,
    max_iterations: int = 15_000,
    least_gain: float = 2.2e-9,
    tolerance: float = 1e-6,
) -> Floats:
    """Climb to the highest point of a log density, by L-BFGS and then by Newton's method.

    Parameters
    ----------
    logp : callable
        From a point, (n,), to the log density and its gradient, (n,): see `objective`.
    start : array, (n,)
    max_iterations : int
        Largest number of iterations of each method.
    least_gain : float
        L-BFGS ends when the relative gain of a step in log density is smaller.
    tolerance : float
        Largest accepted gap in log density between the end of the search and the mode, positive.
        The gap is estimated as half of the predicted gain of the last Newton step. The default is a
        thousandth of a standard deviation. If infinite, only L-BFGS runs, without a warning.

    Returns
    -------
    array, (n,)
        The mode.

    Warns
    -----
    UserWarning
        If the search ends further from the mode than the tolerance.

    Examples
    --------
    >>> scale = np.array([1.0, 1e5])
    >>> climb(lambda x: (-(((scale * (x - 2)) ** 2).sum()), -2 * scale**2 * (x - 2)), np.zeros(2))
    array([2., 2.])
    """

    def loss(x: Floats) -> tuple[float, Floats]:
        value, slope = logp(x)
        return -float(value), -slope

    options: Any = {"maxiter": max_iterations, "maxfun": 2 * max_iterations, "ftol": least_gain}
    with one_blas_thread():
        found = minimize(loss, start, jac=True, method="L-BFGS-B", options=options)
        if tolerance == np.inf or not start.size:
            return found.x
        learned: Any = found.hess_inv
        x, missing = newton(logp, found.x, learned.matvec, max_iterations, tolerance)
    if not missing <= tolerance:
        _, slope = logp(x)
        warnings.warn(
            f"The search for the mode did not converge. The log density may rise by "
            f"{missing:.2g} or more (tolerance {tolerance:.2g}), and its slope is up to "
            f"{abs(slope).max():.2g}. Give the variables similar scales (standardise the "
            "features), start elsewhere (`jitter`), or increase `max_iterations` or `tolerance`.",
            UserWarning,
            stacklevel=2,
        )
    return x


MOST_STEPS = 100  # steps of Newton's method; each is worth many steps of L-BFGS
FEW = 200  # up to this many variables, measure scales one by one; beyond, L-BFGS knows them
STEP = 1e-3  # step of differences, in standard deviations
RESIDUAL = 1e-2  # relative residual of the linear system; the next step improves its solution


def newton(
    logp: Density,
    x: Floats,
    learned: Callable[[Floats], Floats],
    max_iterations: int,
    tolerance: float,
) -> tuple[Floats, float]:
    """Climb by Newton's method from the end of L-BFGS: the second half of `climb`.

    `learned` multiplies a gradient by an approximate inverse of minus the Hessian. Returns the end
    of the search, and how much higher the mode may be (infinite if unknown).
    """
    inverse = learned if x.size > FEW else _by_axis(logp, x)

    def step_at(x: Floats, found: Any) -> Step:
        _, slope = found
        if not slope.any():
            return Step(slope, 0.0)
        step, concave = _newton_step(lambda x: logp(x)[1], x, slope, inverse)
        return Step(step, float(slope @ step) / 2, concave)

    most = min(max_iterations, MOST_STEPS)
    x, _, missing = climb_by_newton(logp, step_at, x, enough=tolerance, most_steps=most)
    return x, missing


def _by_axis(logp: Density, x: Floats) -> Callable[[Floats], Floats]:
    """Return a function that divides gradients by the curvature along each axis."""
    curvature = np.ones(x.size)
    for i, axis in enumerate(np.eye(x.size)):
        found = abs(gradient_change(lambda x: logp(x)[1], x, axis, guess=1.0)[i])
        if 0 < found < np.inf:
            curvature[i] = found
    return lambda slope: slope / curvature


def _newton_step(
    slope: Callable[[Floats], Floats],
    x: Floats,
    gradient: Floats,
    inverse: Callable[[Floats], Floats],
) -> tuple[Floats, bool]:
    """Solve ``-H p = gradient`` by conjugate gradients, preconditioned by `inverse`.

    Returns p, and whether H is negative in all directions tried. If not, p is the solution so far,
    or the offending direction if there is none yet.
    """
    step, left = np.zeros_like(x), gradient.copy()
    along = inverse(left)
    size = left @ along
    enough = RESIDUAL**2 * size
    for _ in range(2 * x.size + 10):
        if not size > 0:
            return step, False
        bent = -gradient_change(slope, x, along, guess=float(size))
        curvature = along @ bent
        if not curvature > 0:
            return (step if step.any() else along), False
        step += size / curvature * along
        left -= size / curvature * bent
        near = inverse(left)
        size, before = left @ near, size
        if size <= enough:
            break
        along = near + size / before * along
    return step, True


def gradient_change(
    slope: Callable[[Floats], Floats],
    x: Floats,
    along: Floats,
    guess: float = 1.0,
) -> Floats:
    """Multiply the Hessian and a direction; `guess` is its approximate curvature.

    Far from all mass, slopes may overflow or not differ, and the product is not finite or zero.
    """
    step = STEP / math.sqrt(guess)
    for _ in range(5):  # until the step is about STEP standard deviations in this direction
        with np.errstate(over="ignore", invalid="ignore"):
            change = (slope(x + step * along) - slope(x - step * along)) / (2 * step)
            curvature = float(abs(along @ change))
        if 0.01 * guess < curvature < 100 * guess or not 0 < curvature < math.inf:
            break
        step, guess = STEP / math.sqrt(curvature), curvature
    return change


_within: list[Any] = []  # one entry for each active context: the limit that the first one set
_entering = threading.Lock()
# From threadpoolctl 3.8 on, a thread that sets the limit prevents others from setting it.
_let_others_set = getattr(OpenBLASController, "clear_controlling_thread", lambda: None)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread within a context: several threads would wait busily for each other.

    The limit belongs to the process. If contexts of several threads overlap, the first one sets the
    limit, and the last one restores it.
    """
    with _entering:
        if _within:
            limit = _within[0]
        else:
            limit = _pools().limit(limits=1, user_api="blas")
            _let_others_set()
        _within.append(limit)
    try:
        yield
    finally:
        with _entering:
            _within.pop()
            if not _within:
                limit.restore_original_limits()
                _let_others_set()


@functools.cache
def _pools() -> Any:
    """Find the thread pools once, because this takes as long as a small search."""
    return ThreadpoolController()


def adam(
    slope: Callable[[Floats], Floats],
    start: Floats,
    *,
    n_steps: int,
    learning_rate: float = 0.05,
    after: Callable[[int, Floats], bool] | None = None,
) -> Floats:
    """Climb by Adam, with a noisy gradient, such as that from a minibatch.

    Parameters
    ----------
    slope : callable
        From a point, (n,), to an estimate of the gradient, (n,). Called once per step.
    start : array, (n,)
    n_steps : int
    learning_rate : float
        Positive: about how far each coordinate moves in the first step. It falls to zero along a
        half cosine, so that the noise dies out.
    after : callable, optional
        Called after every step with its number and the new point. The search stops if it returns
        true.

    Returns
    -------
    array, (n,)
        The last point.

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
        # both start at zero, and the powers correct for it
        m, v = mean / (1 - 0.9 ** (step + 1)), square / (1 - 0.999 ** (step + 1))
        rate = learning_rate * (1 + math.cos(math.pi * step / n_steps)) / 2
        x += rate * m / (np.sqrt(v) + 1e-8)
        if after is not None and after(step, x):
            break
    return x


def data_groups(model: pm.Model) -> dict[str, xr.Dataset]:
    """Return the observations and data of a model, as groups for the DataTree of its posterior."""
    coords, dims = coords_and_dims_for_inferencedata(model)
    groups = {"constant_data": find_constants(model), "observed_data": find_observations(model)}
    groups = {name: group for name, group in groups.items() if group}
    tree = az.from_dict(groups, coords=coords, dims=dims, sample_dims=[])
    return {str(name): group.to_dataset() for name, group in tree.children.items()}


def kept_of(model: pm.Model, name: str) -> Kept:
    """Read the data of a variable, in the form that its results will have."""
    coords, _ = coords_and_dims_for_inferencedata(model)
    items = {ITEM: coords[ITEM]} if ITEM in coords else {}
    posterior = {"posterior": xr.Dataset(coords=items)}
    return Kept(xr.DataTree.from_dict({**posterior, **data_groups(model)}), name)


def compile_values(model: pm.Model, **options: Any) -> Callable[[Any], dict[str, NDArray[Any]]]:
    """Compile a function from a point to the free variables and deterministics, by name."""
    names = {rv.name for rv in model.unobserved_RVs}
    shown = [x for x in model.unobserved_value_vars if x.name in names]  # no transformed ones
    compiled = model.compile_fn(shown, inputs=model.value_vars, point_fn=True, **options)
    return lambda point: {
        str(x.name): np.asarray(value) for x, value in zip(shown, compiled(point), strict=True)
    }


def constrained(model: pm.Model, start: RaveledVars, found: Floats) -> Any:
    """Put unconstrained draws of one chain, (n_draws, n), into a DataTree, as PyMC does."""
    return tree_of(model, converter(model, start, 1, len(found))(found))


def converter(
    model: pm.Model, start: RaveledVars, chains: int, most: int
) -> Callable[[Floats], dict[str, NDArray[Any]]]:
    """Compile a function that turns unconstrained draws into the model's variables.

    Each call takes further draws, (chains * draws, n), and returns all draws so far by name,
    (chain, draw, ...). A chain has at most `most` draws.
    """
    values_of = compile_values(model)
    values: dict[str, Any] = {}
    done = 0

    def convert(found: Floats) -> dict[str, NDArray[Any]]:
        nonlocal done
        more = len(found) // chains
        for k, row in enumerate(found):
            chain, draw = divmod(k, more)
            point = values_of(DictToArrayBijection.rmap(start._replace(data=row)))
            for name, value in point.items():
                if name not in values:
                    values[name] = np.empty((chains, most, *value.shape), value.dtype)
                values[name][chain, done + draw] = value
        done += more
        return {name: x[:, :done] for name, x in values.items()}

    return convert


def tree_of(model: pm.Model, values: Mapping[str, NDArray[Any]], *, with_data: bool = True) -> Any:
    """Put draws of the model's variables, (chain, draw, ...) each, into a DataTree."""
    coords, dims = coords_and_dims_for_inferencedata(model)
    out = az.from_dict({"posterior": values}, coords=coords, dims=dims)
    if with_data:
        out.update({name: xr.DataTree(group) for name, group in data_groups(model).items()})
    return out
