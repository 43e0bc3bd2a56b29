r"""Newton's method with backtracking, for all searches of modes.

A step :math:`p = -H^{-1} g` promises to gain :math:`g \cdot p / 2` in log density. It is halved
until the log density rises by a share of that gain. Callers compute the step in their own way: from
a factor of the Hessian H, or by conjugate gradients.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Climbed", "Step", "climb_by_newton"]

Floats = NDArray[np.float64]

SHARE = 1e-4  # of the promised gain that a step must reach (Armijo's rule)
ROUNDING = 1e-12  # relative error of a log density, which is a sum
MOST_HALVINGS = 40


class Step(NamedTuple):
    """A step of Newton's method."""

    step: Floats  # as the point
    gain: float  # g p / 2, the expected gain in log density
    concave: bool = True  # whether the Hessian is negative along all directions that were tried


class Climbed(NamedTuple):
    """The end of a search."""

    x: Floats
    found: tuple[Any, ...]  # what `height` returns at x
    missing: float  # estimate of how much higher the mode is; infinite if unknown


def climb_by_newton(
    height: Callable[[Floats], tuple[Any, ...]],
    step_at: Callable[[Floats, Any], Step],
    x: Floats,
    *,
    enough: float,
    most_steps: int,
    found: tuple[Any, ...] | None = None,
) -> Climbed:
    """Climb to the mode of a log density by Newton's method.

    Parameters
    ----------
    height : callable
        From a point to a tuple that begins with the log density.
    step_at : callable
        From a point, and the tuple there, to a `Step`.
    x : array
        Start of the search.
    enough : float
        The search ends after a full step that promised at most this gain. The remaining error is
        then of the order of its square.
    most_steps : int
        Largest number of steps.
    found : tuple, optional
        What `height` returns at x, if it is known.

    Returns
    -------
    Climbed

    Examples
    --------
    >>> def height(x):
    ...     return -np.cosh(x - 2).sum(), -np.sinh(x - 2), np.cosh(x - 2)
    >>> def step_at(x, found):
    ...     _, slope, bend = found
    ...     return Step(slope / bend, float((slope**2 / bend).sum()) / 2)
    >>> end = climb_by_newton(height, step_at, np.zeros(1), enough=1e-6, most_steps=20)
    >>> end.x.round(6), end.missing < 1e-6
    (array([2.]), True)
    """
    found = height(x) if found is None else found
    missing = np.inf
    for _ in range(most_steps):
        step, gain, concave = step_at(x, found)
        if not gain >= 0 or (gain == 0 and not concave):
            return Climbed(x, found, np.inf)
        if concave and gain <= SHARE * enough:
            return Climbed(x, found, gain)
        value = float(found[0])
        rounding = ROUNDING * (1 + abs(value))
        for length in 0.5 ** np.arange(MOST_HALVINGS):
            candidate = x + length * step
            reached = height(candidate)
            if reached[0] >= value + SHARE * length * gain - rounding:
                break
        else:
            return Climbed(x, found, gain)
        x, found = candidate, reached
        # a promised gain is reliable only near the mode
        missing = gain if length == 1 and concave else np.inf
        if missing <= enough:
            break
    return Climbed(x, found, missing)
