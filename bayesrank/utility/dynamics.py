r"""Dynamics of utilities: Gaussian processes as state-space models with exact transitions.

A *dynamics* is a sum of parts. Each part has a short state vector s. Two times differ by
:math:`\Delta`. Between them, and when an item enters,

.. math:: s' = F(\Delta) s + \varepsilon, \qquad \varepsilon \sim N(0, Q(\Delta)), \qquad
          s_1 \sim N(0, P), \qquad u = \sum_{\text{parts}} s_{[0]}

============= ============================== ====================================================
part          hyperparameters                meaning
============= ============================== ====================================================
`constant`    scale                          constant over time
`random_walk` scale, drift                   variance scale², growing by drift² per unit of time
`trend`       scale, drift, slope,           random walk whose slope is a random walk
              slope_drift
`matern12`    scale, length                  mean-reverting; correlation exp(-gap / length)
`matern32`    scale, length                  smooth: has a slope
`matern52`    scale, length                  smoother: has a curvature
============= ============================== ====================================================

The states of the last two parts contain derivatives, in units of
:math:`\lambda = \sqrt{2\nu}/\ell`.

The prior of the hyperparameters depends on the span, the time from the first to the last
observation. The unit of time therefore does not matter.

============= ============================= ====================================================
name          prior                         the median, in log odds
============= ============================= ====================================================
scale         HalfCauchy(1)                 a good item beats an average one in 3 of 4 matches
drift         HalfCauchy(0.5 / span^0.5)    a strength changes by half the scale in the span
slope         HalfCauchy(0.5 / span)        the slope changes it by as much
slope_drift   HalfCauchy(0.5 / span^1.5)    changes of the slope change it by about as much
length        LogNormal(log 0.3 span, 1.5)  a strength is forgotten after a third of the span
============= ============================= ====================================================

The scale of a half-Cauchy distribution is its median. One value in eight is above five times the
median, and one in eight is below a fifth. If strengths change fast, the better item wins nearly all
matches, and matches hardly limit the drift. With a thin tail, such as a half-normal's, intervals
would then be too narrow.

References
----------
Gelman, Prior distributions for variance parameters in hierarchical models, Bayesian Analysis 2006.

Hartikainen & Särkkä, Kalman filtering and smoothing solutions to temporal Gaussian process
regression models, MLSP 2010.

Maystre et al., Pairwise comparisons with flexible time-dynamics, KDD 2019.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["PARTS", "Dynamics", "Part"]

Floats = NDArray[np.float64]
Transitions = tuple[Floats, Floats, Floats]  # F and Q, (n, size, size), and P, (size, size)


class Part(NamedTuple):
    """A process: its hyperparameters with their priors, and its transitions."""

    hyperparameters: dict[str, tuple[float, float]]  # median if times span 1; power of the span
    size: int  # length of the state
    transitions: Callable[..., Transitions]  # takes the gaps, (n,), and the hyperparameters


def _matrices(gap: Floats, rows: list[list[Any]]) -> Floats:
    """Build one matrix per gap, from rows of numbers and arrays (n,)."""
    return np.stack([np.stack([x + 0.0 * gap for x in row], axis=-1) for row in rows], axis=-2)


def _random_walk(gap: Floats, scale: float, drift: float = 0.0) -> Transitions:
    return _matrices(gap, [[1.0]]), _matrices(gap, [[drift**2 * gap]]), np.array([[scale**2]])


def _trend(
    gap: Floats, scale: float, drift: float, slope: float, slope_drift: float
) -> Transitions:
    q = slope_drift**2
    level, both = drift**2 * gap + q * gap**3 / 3, q * gap**2 / 2
    F, Q = _matrices(gap, [[1.0, gap], [0.0, 1.0]]), [[level, both], [both, q * gap]]
    return F, _matrices(gap, Q), np.diag([scale**2, slope**2])


def _matern12(gap: Floats, scale: float, length: float) -> Transitions:
    return _stationary(_matrices(gap, [[np.exp(-gap / length)]]), scale**2 * np.eye(1))


def _matern32(gap: Floats, scale: float, length: float) -> Transitions:
    x = 3**0.5 * gap / length
    F = np.exp(-x)[:, None, None] * _matrices(gap, [[1 + x, x], [-x, 1 - x]])
    return _stationary(F, scale**2 * np.eye(2))


def _matern52(gap: Floats, scale: float, length: float) -> Transitions:
    # exp(A x) = exp(-x) (1 + N x + N² x² / 2), where N = A + 1 and N³ = 0
    x = 5**0.5 * gap / length
    h = x * x / 2
    rows = [[1 + x + h, x + 2 * h, h], [-h, 1 + x - 2 * h, x - h]]
    rows.append([h - x, 2 * h - 3 * x, 1 - 2 * x + h])
    P = scale**2 * np.array([[1, 0, -1 / 3], [0, 1 / 3, 0], [-1 / 3, 0, 1]])
    return _stationary(np.exp(-x)[:, None, None] * _matrices(gap, rows), P)


def _stationary(F: Floats, P: Floats) -> Transitions:
    """Add the noise that keeps the covariance constant: P - F P F'."""
    return F, P - F @ P @ F.transpose(0, 2, 1), P


SCALE = {"scale": (1.0, 0.0)}
DRIFT = {"drift": (0.5, -0.5)}
LENGTH = {"length": (0.3, 1.0)}
PARTS = {
    "constant": Part(SCALE, 1, _random_walk),
    "random_walk": Part(SCALE | DRIFT, 1, _random_walk),
    "trend": Part(SCALE | DRIFT | {"slope": (0.5, -1.0), "slope_drift": (0.5, -1.5)}, 2, _trend),
    "matern12": Part(SCALE | LENGTH, 1, _matern12),
    "matern32": Part(SCALE | LENGTH, 2, _matern32),
    "matern52": Part(SCALE | LENGTH, 3, _matern52),
}
LENGTH_SD = 1.5  # standard deviation of the logarithm of a length


class Dynamics:
    """A model of changing utilities: a sum of parts.

    Parameters
    ----------
    text : str
        Names of parts, joined by plus signs: "constant", "random_walk", "trend", "matern12",
        "matern32" or "matern52". An example is "constant + matern32".

    Attributes
    ----------
    parts : tuple of str
    names : tuple of str
        Names of the hyperparameters: "scale", or "matern32_scale" if there are several parts. All
        are positive.
    size : int
        Length of the state.
    readout : array of 0 and 1, (size,)
        Weights of the state; the weighted sum is the utility.

    See Also
    --------
    fit_dynamic, utility.random_walk

    Examples
    --------
    >>> import numpy as np
    >>> import bayesrank as br
    >>> walk = br.utility.Dynamics("constant + matern32")
    >>> walk.names
    ('constant_scale', 'matern32_scale', 'matern32_length')
    >>> F, Q, P = walk.transitions([0.5, 1.0, 2.0], np.array([0.1]))
    >>> F.shape, bool(np.allclose(F[0] @ P @ F[0].T + Q[0], P))
    ((1, 3, 3), True)
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.parts = tuple(part.strip() for part in str(text).split("+"))
        for part in self.parts:
            if part not in PARTS:
                raise ValueError(
                    f"Unknown dynamics {part!r}; expected one of {', '.join(PARTS)}, or a sum such "
                    "as 'constant + matern32'."
                )
            if self.parts.count(part) > 1:
                raise ValueError(
                    f"The dynamics {text!r} contains {part!r} twice; name each part once."
                )
        many = len(self.parts) > 1
        usual = {
            f"{part}_{name}" if many else name: value
            for part in self.parts
            for name, value in PARTS[part].hyperparameters.items()
        }
        self.names = tuple(usual)
        self.is_length = np.array([name.endswith("length") for name in usual])
        self._medians, self._powers = np.array([*usual.values()]).T
        self.size = sum(PARTS[part].size for part in self.parts)
        self.readout = np.concatenate([np.eye(PARTS[part].size)[0] for part in self.parts])

    def __repr__(self) -> str:
        return f"Dynamics({self.text!r})"

    def medians(self, span: float) -> Floats:
        """Return the medians of the prior of the hyperparameters.

        `span`, the positive time from the first to the last observation, makes the prior
        independent of the unit.

        >>> import bayesrank as br
        >>> br.utility.Dynamics("matern32").medians(10.0)
        array([1., 3.])
        """
        return self._medians * span**self._powers

    def log_prior(self, log_values: ArrayLike, span: float) -> float:
        r"""Evaluate a weak prior at logarithms of the hyperparameters, up to a constant.

        Standard deviations (scale, drift, slope, slope_drift) are half-Cauchy, and lengths are
        log-normal. Let x be the logarithm of a standard deviation over its median. Its log density
        is :math:`x - \log(1 + e^{2x})`, which falls by one per unit in both tails.

        Examples
        --------
        >>> import numpy as np
        >>> import bayesrank as br
        >>> walk = br.utility.Dynamics("random_walk")
        >>> at_medians = np.log(walk.medians(10.0))
        >>> walk.log_prior(at_medians, 10.0) > walk.log_prior(at_medians + 1, 10.0)
        True
        """
        x = np.asarray(log_values) - np.log(self.medians(span))
        half_cauchy = x - np.logaddexp(0, 2 * x)
        return float(np.where(self.is_length, -((x / LENGTH_SD) ** 2) / 2, half_cauchy).sum())

    def transitions(self, values: ArrayLike, gap: Floats) -> Transitions:
        """Compute F and Q, (n, size, size), and P, (size, size), of the whole state.

        `values` are hyperparameters in the order of `names`, and `gap`, (n,), is the time since the
        previous node.
        """
        F, Q = np.zeros((2, gap.size, self.size, self.size))
        P = np.zeros((self.size, self.size))
        rest, first = [*np.asarray(values, dtype=float)], 0
        for name in self.parts:
            part = PARTS[name]
            n, block = len(part.hyperparameters), slice(first, first + part.size)
            found = part.transitions(gap, *rest[:n])
            F[:, block, block], Q[:, block, block], P[block, block] = found
            rest, first = rest[n:], block.stop
        return F, Q, P
