"""The posterior mode by L-BFGS, in one jitted loop, with rows on one or many devices."""

import os
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.flatten_util import ravel_pytree
from scipy.optimize import LbfgsInvHessProduct

from bayesrank.inference.approximation.modes import newton, one_blas_thread
from bayesrank.jax.checkpoints import Checkpoint
from bayesrank.jax.log_density import LogDensity

__all__ = ["JaxMode", "find_map"]

EVERY = 20  # iterations between checkpoints


class JaxMode(NamedTuple):
    """Result of a search for the mode, which `find_map` returns.

    Attributes
    ----------
    values : dict
        Values in the space of the sampler, for the methods of `LogDensity`.
    point : dict
        Free variables and deterministics, on the original scale.
    log_density : float
        Log density at the end of the search.
    missing : float
        How much higher the mode may be: half of the gain that the last Newton step predicts.
    n_iterations : int
        Number of iterations of L-BFGS.

    See Also
    --------
    jax.find_map
    """

    values: dict[str, Any]
    point: dict[str, Any]
    log_density: float
    missing: float
    n_iterations: int


class _State(NamedTuple):
    x: Any
    optimiser: Any
    missing: Any
    stuck: Any  # whether no step gains
    n: Any


def find_map(
    density: LogDensity,
    data: Mapping[str, Any],
    *,
    start: Mapping[str, Any] | None = None,
    max_iterations: int = 1000,
    tolerance: float = 1e-6,
    checkpoint: str | os.PathLike[str] | None = None,
) -> JaxMode:
    r"""Find the maximum of the log density, the posterior mode.

    Optax's L-BFGS runs in one program. Newton's method follows, because L-BFGS ends far from the
    mode if variables have different scales. Every process runs the same steps.

    Parameters
    ----------
    density : LogDensity
        Log density from `compile`.
    data : dict
        Data from `LogDensity.put`.
    start : mapping of str to array, optional
        Starting values; by default, PyMC's initial point.
    max_iterations : int
        Largest number of iterations of each method.
    tolerance : float
        Largest accepted gap in log density between the end of the search and the mode, positive.
        The default is a thousandth of a standard deviation.
    checkpoint : path, optional
        A file that the first process writes every 20 iterations and at the end. If it exists, the
        search continues from it. The result is the same as without interruption: exactly in one
        process, and up to rounding with several.

    Returns
    -------
    JaxMode

    Raises
    ------
    ValueError
        If the file belongs to another model or other data.

    Warns
    -----
    UserWarning
        If the search ends further from the mode than `tolerance`.

    See Also
    --------
    jax.compile, jax.LogDensity, find_MAP_many

    Examples
    --------
    >>> import bayesrank as br, pymc as pm
    >>> rankings = br.Rankings.from_orderings([["a", "b"], ["a", "b"], ["b", "a"]])
    >>> with pm.Model(coords=rankings.coords) as model:
    ...     _ = br.PlackettLuce("y", pm.Normal("utility", dims="item"), observed=rankings)
    >>> density = br.jax.compile(model)
    >>> mode = br.jax.find_map(density, density.put())
    >>> mode.point["utility"].round(3)
    array([ 0.202, -0.202])
    """
    first, unravel = ravel_pytree(density.in_order(start or density.start()))
    kept = Checkpoint(checkpoint, density, data)
    begin, climb = _climbing(lambda x, data: density.ordered_logp(unravel(x), data), tolerance)
    climb = jax.jit(climb)
    found = kept.read(jax.tree.map(np.asarray, begin(first)))
    while found.n < max_iterations and not found.missing <= tolerance and not found.stuck:
        until = max_iterations if checkpoint is None else min(found.n + EVERY, max_iterations)
        # as local arrays, which do not change when saved and loaded
        found = jax.tree.map(np.asarray, climb(found, until, dict(data)))
        kept.write(found)
    x, missing, n = found.x, float(found.missing), int(found.n)
    if missing <= tolerance or found.stuck:
        value_and_slope = jax.jit(
            jax.value_and_grad(lambda x, data: density.ordered_logp(unravel(x), data))
        )

        def logp(x: Any) -> tuple[float, Any]:
            value, slope = value_and_slope(x, dict(data))
            return float(value), np.asarray(slope)

        with one_blas_thread():
            x, missing = newton(logp, x, _multiply_learned(found), max_iterations, tolerance)
    values = dict(zip(density.names, map(np.asarray, unravel(x)), strict=True))
    if not missing <= tolerance:
        warnings.warn(
            f"The search for the mode did not converge in {n} iterations: the log density may "
            f"still rise by {missing:.2g} (tolerance {tolerance:.2g}). Give the variables similar "
            "scales, or increase `max_iterations` or `tolerance`.",
            UserWarning,
            stacklevel=2,
        )
    height = float(jax.jit(density.logp)(values, data))
    return JaxMode(values, density.posterior_values(values), height, missing, n)


def _multiply_learned(state: _State) -> Callable[[Any], Any]:
    """Multiply by the inverse curvature that L-BFGS has learned."""
    memory = state.optimiser[0]
    m = len(memory.weights_memory)
    oldest_first = [k % m for k in range(int(memory.count), int(memory.count) + m)]
    met = [k for k in oldest_first if memory.weights_memory[k] > 0]
    steps, changes = memory.diff_params_memory[met], memory.diff_updates_memory[met]
    return LbfgsInvHessProduct(steps, changes).matvec


def _climbing(
    logp: Callable[[Any, Any], Any], tolerance: float
) -> tuple[Callable[[Any], _State], Callable[[_State, Any, Any], _State]]:
    """Return the initial state of L-BFGS as a function, and a loop that JAX compiles."""
    optimiser = optax.lbfgs()

    def begin(first: Any) -> _State:
        return _State(first, optimiser.init(first), jnp.inf, False, 0)

    def climb(state: _State, until: Any, data: Any) -> _State:
        def loss(x: Any) -> Any:
            return -logp(x, data)

        value_and_slope = optax.value_and_grad_from_state(loss)

        def step(state: _State) -> _State:
            value, slope = value_and_slope(state.x, state=state.optimiser)
            move, optimiser_state = optimiser.update(
                slope, state.optimiser, state.x, value=value, grad=slope, value_fn=loss
            )
            # predicted gain of the full step; the line search may have shortened it
            gain = -jnp.vdot(slope, move) / (2 * optimiser_state[-1].learning_rate)
            # a first step has learned nothing
            missing = jnp.where(state.n == 0, jnp.inf, gain)
            missing = jnp.where(slope.any(), missing, 0.0)
            return _State(
                optax.apply_updates(state.x, move),
                optimiser_state,
                missing,
                ~move.any(),
                state.n + 1,
            )

        def goes_on(state: _State) -> Any:
            return (state.n < until) & ~(state.missing <= tolerance) & ~state.stuck

        return jax.lax.while_loop(goes_on, step, state)

    return begin, climb
