"""Many problems at once: the modes of all of them in one program, where they have one shape."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax.flatten_util import ravel_pytree
from jax.scipy.sparse.linalg import cg

from bayesrank.inference.validation.map_fits import (
    Fit,
    fits_together,
    labelled_problems,
    warn_of_failures,
)
from bayesrank.jax.log_density import IS_ROW, LogDensity
from bayesrank.jax.modes import climbing

__all__ = ["map_fits"]

Arrays = dict[str, Any]

MOST_STEPS = 30  # of Newton's method
LENGTHS = 20  # of a step, each half of the one before
RESIDUAL = 1e-6  # of the linear system, relative to the slope


def map_fits(
    density: LogDensity,
    problems: Mapping[Hashable, Any] | Sequence[Any],
    *,
    var: str = "y",
    done: xr.Dataset | None = None,
    at_once: int = 1000,
    max_iterations: int = 1000,
    tolerance: float = 1e-6,
) -> xr.Dataset:
    """Find the posterior modes of many problems, all in one program.

    What `bayesrank.map_fits` does by processes, this does by vectorising: a thousand searches go
    side by side until the last one has arrived, on a GPU where there is one. It compiles once for
    each shape: rows are filled up to a power of two, and slots, say, are as many as the rankings of
    a problem have. As in `find_map`, Newton's method goes on from where L-BFGS takes itself to have
    arrived, which is not at the mode where variables have scales of their own.

    Parameters
    ----------
    density : LogDensity
        From `compile`, without a mesh.
    problems : mapping of label to data, or sequence of data
        What `var` observes in each problem, or a dict as `LogDensity.put` takes it. A sequence has
        the labels 0, 1, ...
    var : str
        The observed variable.
    done : Dataset, optional
        Fits of an earlier call, which are not done again unless they failed there.
    at_once : int
        How many problems are solved side by side, positive: memory grows with it.
    max_iterations, tolerance
        As in `find_map`.

    Returns
    -------
    Dataset
        As that of `bayesrank.map_fits`, whose modes are the same up to the tolerance.

    Raises
    ------
    ValueError
        If there are no problems, or the density has a mesh.

    Warns
    -----
    FitWarning
        If some problems have no fit, or the call was interrupted. All other fits are returned.

    Examples
    --------
    >>> import bayesrank as br, pymc as pm
    >>> one = br.Rankings.from_orderings([["a", "b"]] * 3)
    >>> other = br.Rankings.from_orderings([["b", "a"]] * 3)
    >>> with pm.Model(coords=one.coords) as model:
    ...     _ = br.PlackettLuce("y", pm.Normal("utility", dims="item"), observed=one)
    >>> fits = br.jax.map_fits(br.jax.compile(model), {"spring": one, "autumn": other})
    >>> fits["utility"].sel(problem="autumn").values.round(2)
    array([-0.65,  0.65])
    """
    if density.mesh is not None:
        raise ValueError(
            "The density divides rows among the devices of a mesh, and here it is problems that "
            "are many: compile it without mesh=."
        )
    if isinstance(at_once, bool) or at_once % 1 or at_once < 1:
        raise ValueError(f"`at_once` is {at_once!r}; it is a whole number, 1 or more.")
    labelled, fits = labelled_problems(problems, done)
    arrays: dict[Hashable, Arrays] = {}
    for label, problem in labelled.items():
        if label not in fits:
            try:
                given = problem if isinstance(problem, Mapping) else {var: problem}
                arrays[label] = density.rows_of(given)
            except (TypeError, ValueError) as error:
                fits[label] = Fit.failure(error)
    first, unravel = ravel_pytree(density.in_order(density.start()))  # once: it compiles
    solve = jax.jit(jax.vmap(_solver(density, first, unravel, max_iterations, tolerance)))
    n_before, rest = len(fits), ""
    try:
        for labels, stacked in _groups(arrays, at_once):
            found = zip(*map(np.asarray, solve(stacked)), strict=True)
            # the last ones fill up
            for label, (x, height, missing) in zip(labels, found, strict=False):
                values = dict(zip(density.names, unravel(jnp.asarray(x)), strict=True))
                fits[label] = _fit(density, values, float(height), float(missing), tolerance)
    except KeyboardInterrupt:
        rest = "interrupted"
    except Exception as error:  # such as for want of memory
        if len(fits) == n_before:
            raise
        rest = f"{type(error).__name__}: {error}"
    out = fits_together(density.model, labelled, fits, rest)
    warn_of_failures(out, interrupted=rest == "interrupted")
    return out


def _solver(
    density: LogDensity,
    first: Any,
    unravel: Callable[[Any], Any],
    max_iterations: int,
    tolerance: float,
) -> Callable[[Arrays], tuple[Any, Any, Any]]:
    """Make a function of the data of one problem: where it ends, how high, and what is missing."""

    def logp(x: Any, data: Any) -> Any:
        return density.ordered_logp(unravel(x), data)

    begin, climb = climbing(logp, tolerance)

    def solve(data: Arrays) -> tuple[Any, Any, Any]:
        state = climb(begin(first), max_iterations, data)
        near = (state.missing <= tolerance) | state.stuck
        x, missing = _newton(lambda x: logp(x, data), state.x, near, tolerance)
        return x, logp(x, data), jnp.where(near, missing, state.missing)

    return solve


class _Place(NamedTuple):
    x: Any  # (n,)
    missing: Any  # how much higher the mode may be: what the last step promised
    stuck: Any  # whether no step leads upwards
    n: Any  # steps


def _newton(logp: Callable[[Any], Any], x: Any, near: Any, tolerance: float) -> tuple[Any, Any]:
    """Climb by Newton's method from near the mode; where it ends, and what is missing there.

    As `inference.approximation.modes.newton`, but steps and lengths are choices here, so that
    many problems can go side by side.
    """
    lengths = 0.5 ** jnp.arange(LENGTHS)

    def step(place: _Place) -> _Place:
        (value, slope), change = jax.linearize(jax.value_and_grad(logp), place.x)
        way, _ = cg(lambda v: -change(v)[1], slope, tol=RESIDUAL, maxiter=2 * x.size + 10)
        gain = jnp.vdot(slope, way) / 2
        rounding = 1e-13 * (1 + abs(value))  # of the log density, which is a sum
        heights = jax.vmap(lambda length: logp(place.x + length * way))(lengths)
        higher = (heights >= value + 1e-4 * lengths * gain - rounding) & (gain >= 0)
        length = jnp.where(higher.any(), lengths[jnp.argmax(higher)], 0.0)
        # what a step promises is kept near the mode only
        missing = jnp.where(length == 1, gain, jnp.inf)
        return _Place(place.x + length * way, missing, length == 0, place.n + 1)

    def goes_on(place: _Place) -> Any:
        return near & (place.n < MOST_STEPS) & ~(place.missing <= tolerance) & ~place.stuck

    found = jax.lax.while_loop(goes_on, step, _Place(x, jnp.inf, False, 0))
    return found.x, found.missing


def _fit(
    density: LogDensity, values: Arrays, height: float, missing: float, tolerance: float
) -> Fit:
    if not missing <= tolerance:
        return Fit.failure(
            f"The search for the mode ends where the log density may rise by {missing:.2g}, which "
            f"is above the tolerance of {tolerance:.2g}"
        )
    return Fit(density.posterior_values(values), height, "")


def _groups(
    problems: Mapping[Hashable, Arrays], at_once: int
) -> Iterator[tuple[list[Hashable], Arrays]]:
    """Stack problems of one shape: (problem, block, row, ...), with one block each."""
    alike: dict[Any, list[Hashable]] = {}
    for label, arrays in problems.items():
        n = len(next(iter(arrays.values())))
        shape = 1 << (n - 1).bit_length(), *((name, x.shape[1:]) for name, x in arrays.items())
        alike.setdefault(shape, []).append(label)
    for (n, *_), labels in alike.items():
        size = min(at_once, len(labels))
        for k in range(0, len(labels), size):
            some = labels[k : k + size]
            filled = [_filled(problems[label], n) for label in some]
            filled += filled[:1] * (size - len(some))
            yield some, {name: np.stack([x[name] for x in filled]) for name in filled[0]}


def _filled(arrays: Arrays, n: int) -> Arrays:
    """Fill rows up to n by copies of the first one, which do not count, as one block."""
    there = len(next(iter(arrays.values())))
    row = np.r_[0:there, np.zeros(n - there, dtype=np.int64)]
    return {name: x[row][None] for name, x in arrays.items()} | {
        IS_ROW: (np.arange(n) < there)[None]
    }
