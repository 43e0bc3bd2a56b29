r"""Posterior modes: L-BFGS and Newton's method for many settings, and Adam for noisy gradients.

L-BFGS stops where it gains little, which is far from the mode if variables have different scales.
Newton's method continues from there. Its steps solve :math:`-H p = g` by conjugate gradients, whose
products with the Hessian H are differences of the gradient g. :math:`g \cdot p / 2` estimates how
much higher the mode is, whatever the scales.

To choose a scale on validation data, keep it in a data variable of the model: all settings then
share one compilation.

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
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
    "hessian_product",
    "join_inputs",
    "newton",
    "objective",
    "one_blas_thread",
    "posterior_modes",
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
    logp = compile_pytensor([at], outputs, trust_input=True)
    return logp, start._replace(data=start.data + noise)


def density_with_slope(model: pm.Model) -> list[TensorVariable]:
    """Return graphs of the log posterior and of its ravelled gradient.

    Raises
    ------
    ValueError
        If a variable is discrete.
    """
    for value in model.value_vars:
        if not str(value.dtype).startswith("float"):
            name = model.values_to_rvs[value].name
            raise ValueError(
                f"The free variable {name!r} is discrete: the log posterior has no gradient by it. "
                "Sum it out, or sample with pm.sample."
            )
    logp = rewrite_pregrad(model.logp())
    slopes = pytensor.grad(logp, model.value_vars, disconnected_inputs="ignore")
    return [logp, pt.concatenate([slope.ravel() for slope in slopes])]


def join_inputs(
    point: Point, outputs: Sequence[Variable], inputs: Sequence[TensorVariable]
) -> tuple[list[Any], TensorVariable]:
    """Replace several inputs of graphs by parts of one vector, in their order.

    Unlike PyMC's `join_nonshared_inputs`, the shapes of the inputs (those of `point`) are data, so
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


def hessian_product(model: pm.Model) -> Any:
    """Compile products of a direction and the Hessian, by differences of gradients.

    Parameters
    ----------
    model : pm.Model

    Returns
    -------
    callable
        From the free variables and a direction, both ravelled, (n,), to the product, (n,).

    Examples
    --------
    >>> with pm.Model() as model:
    ...     x = pm.Normal("x", 0, [1.0, 2.0])
    >>> hessian_product(model)(np.zeros(2), np.ones(2)).round(6)
    array([-1.  , -0.25])
    """
    logp, _ = objective(model)
    return lambda x, along: gradient_change(lambda x: logp(x)[1], x, along)


def fixed_seed(random_seed: int | None) -> int:
    """Return the seed, or a random one instead of None, for uses that must agree."""
    return (
        int(np.random.SeedSequence().generate_state(1)[0]) if random_seed is None else random_seed
    )


def posterior_modes(
    model: pm.Model,
    settings: Iterable[Mapping[str, Any]] = ({},),
    *,
    warm: bool = True,
    jitter: float = 0.0,
    random_seed: int | None = None,
    max_iterations: int = 15_000,
    tolerance: float = 1e-6,
) -> list[Point]:
    """Find the posterior mode for each of some settings.

    Parameters
    ----------
    model : pm.Model
        Afterwards it holds the last of the settings.
    settings : list of dict
        Values for data variables of the model, in turn; by default those it has.
    warm : bool
        Start each search where the last one ended. This is quicker; if there are several modes, the
        one found depends on the settings before.
    jitter, random_seed
        As in `objective`.
    max_iterations, tolerance
        As in `climb`.

    Returns
    -------
    list of dict
        Values of the free variables for each of the settings, in the space of the sampler (the
        logarithm of a positive variable).

    Warns
    -----
    UserWarning
        If a search ends further from the mode than the tolerance.
    """
    logp, start = objective(model, jitter=jitter, random_seed=random_seed)
    found, x = [], start.data
    for setting in settings:
        pm.set_data(dict(setting), model=model)
        mode = climb(logp, x, max_iterations=max_iterations, tolerance=tolerance)
        found.append(DictToArrayBijection.rmap(start._replace(data=mode)))
        x = mode if warm else start.data
    return found


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
        Largest number of iterations of each of the two.
    least_gain : float
        Relative gain in log density of a step at which L-BFGS ends.
    tolerance : float
        How much higher in log density the mode may be than the end of the search, positive: half
        of the gain that Newton's last step promises. The default is a thousandth of a standard
        deviation. With infinity, L-BFGS alone, without a warning.

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
            f"The search for the mode ends where the log density has a slope of up to "
            f"{abs(slope).max():.2g} and may rise by {missing:.2g} or more, which is above the "
            f"tolerance of {tolerance:.2g}. Bring the variables to similar scales (standardise the "
            "features), start elsewhere (`jitter`), or allow for more with `max_iterations` or "
            "`tolerance`.",
            UserWarning,
            stacklevel=2,
        )
    return x


MOST_STEPS = 100  # of Newton's method; each is worth many of L-BFGS
FEW = 200  # most variables whose scales are measured one by one; else L-BFGS has learned them
STEP = 1e-3  # of differences, in standard deviations
RESIDUAL = 1e-2  # of the linear system, whose solution the next step improves


def newton(
    logp: Density,
    x: Floats,
    learned: Callable[[Floats], Floats],
    max_iterations: int,
    tolerance: float,
) -> tuple[Floats, float]:
    """Climb by Newton's method from the end of L-BFGS; the second half of `climb`.

    `learned` multiplies a gradient by about the inverse of minus the Hessian. Returned are the end
    of the search and how much higher the mode may be, infinite if that is not known.
    """
    inverse = learned if x.size > FEW else _by_axis(logp, x)
    value, slope = logp(x)
    missing = np.inf if slope.any() else 0.0
    for _ in range(min(max_iterations, MOST_STEPS)):
        if missing <= tolerance:
            break
        step, concave = _newton_step(lambda x: logp(x)[1], x, slope, inverse)
        missing = gain = float(slope @ step) / 2
        if not gain > 0:
            return x, np.inf
        rounding = 1e-13 * (1 + abs(float(value)))  # of the log density, which is a sum
        for shorter in 0.5 ** np.arange(40):
            reached, slope_there = logp(x + shorter * step)
            if reached >= value + 1e-4 * shorter * gain - rounding:
                break
        else:
            break
        x, value, slope = x + shorter * step, reached, slope_there
        if shorter < 1 or not concave:
            missing = np.inf  # what a step promises is kept near the mode only
    return x, missing


def _by_axis(logp: Density, x: Floats) -> Callable[[Floats], Floats]:
    """Divide gradients by the curvature along each axis, whatever the units are."""
    curvature = np.ones(x.size)
    for i, axis in enumerate(np.eye(x.size)):
        found = abs(gradient_change(lambda x: logp(x)[1], x, axis, guess=1.0)[i])
        if 0 < found < np.inf:
            curvature[i] = found
    return lambda slope: slope / curvature


def _newton_step(
    slope: Callable[[Floats], Floats],
    x: Floats,
    here: Floats,
    inverse: Callable[[Floats], Floats],
) -> tuple[Floats, bool]:
    """Solve ``-H p = here`` by conjugate gradients; `inverse` is about the inverse of -H.

    Returns p, and whether H curves downwards along all directions tried. If it does not, p is the
    solution so far, or that direction.
    """
    step, left = np.zeros_like(x), here.copy()
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
    """Multiply the Hessian and a direction, whose curvature is about the `guess`."""
    step = STEP / math.sqrt(guess)
    for _ in range(5):  # until it is about that many standard deviations in that direction
        change = (slope(x + step * along) - slope(x - step * along)) / (2 * step)
        curvature = float(abs(along @ change))
        if not 0.01 * guess < curvature < 100 * guess and curvature > 0:
            step, guess = STEP / math.sqrt(curvature), curvature
        else:
            break
    return change


_within: list[Any] = []  # of every context that was entered: what the first one has set
_entering = threading.Lock()
# From threadpoolctl 3.8 on, a thread that sets the number keeps others from doing so.
_let_others_set = getattr(OpenBLASController, "clear_controlling_thread", lambda: None)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep linear algebra to one thread, as a context: several would wait busily for each other.

    The number belongs to the process. If contexts of several threads overlap, the first one sets
    it, and the last one restores it.
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
    """Find the thread pools, which takes as long as a small search: once."""
    return ThreadpoolController()


def adam(
    slope: Callable[[Floats], Floats],
    start: Floats,
    *,
    n_steps: int,
    learning_rate: float = 0.05,
    after: Callable[[int, Floats], bool] | None = None,
) -> Floats:
    """Climb by Adam, with a noisy gradient, as from a minibatch.

    Parameters
    ----------
    slope : callable
        From a point, (n,), to an estimate of the gradient there, (n,). Called once per step.
    start : array, (n,)
    n_steps : int
    learning_rate : float
        Positive: about how far each coordinate moves in the first step. It falls to zero along a
        half cosine, so that the noise dies out.
    after : callable, optional
        Called after every step with its number and its end; true to stop there.

    Returns
    -------
    array, (n,)
        The end of the last step.

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


def data_groups(model: pm.Model) -> dict[str, xr.Dataset]:
    """Return the observations and data of a model, as groups of the DataTree of its posterior."""
    coords, dims = coords_and_dims_for_inferencedata(model)
    groups = {"constant_data": find_constants(model), "observed_data": find_observations(model)}
    groups = {name: group for name, group in groups.items() if group}
    tree = az.from_dict(groups, coords=coords, dims=dims, sample_dims=[])
    return {str(name): group.to_dataset() for name, group in tree.children.items()}


def compile_values(model: pm.Model, **options: Any) -> Callable[[Any], dict[str, NDArray[Any]]]:
    """Compile a function from a point to the free variables and deterministics, by name."""
    names = {rv.name for rv in model.unobserved_RVs}
    shown = [x for x in model.unobserved_value_vars if x.name in names]  # without transformed ones
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
    (chain, draw, ...). There are at most `most` draws of each chain.
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
