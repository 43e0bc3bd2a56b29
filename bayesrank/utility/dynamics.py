r"""How a utility changes with time: Gaussian processes as states with exact transitions.

A *dynamics* is a sum of parts. Each part has a state s of a few numbers, and between two times that
are :math:`\Delta` apart

.. math:: s' = F(\Delta) s + \varepsilon, \qquad \varepsilon \sim N(0, Q(\Delta)), \qquad
          s_1 \sim N(0, P), \qquad u = \sum_{\text{parts}} s_{[0]}

where :math:`s_1` is the state when an item enters. The transitions are exact for any gap.

============= ============================== ====================================================
part          hyperparameters                what it says
============= ============================== ====================================================
`constant`    scale                          the same at all times
`random_walk` scale, drift                   the variance, first scale², grows by drift² in a unit
`trend`       scale, drift, slope,           a random walk with a slope that is a random walk
              slope_drift
`matern12`    scale, length                  returns to the mean; correlation exp(-gap / length)
`matern32`    scale, length                  smooth, with a slope
`matern52`    scale, length                  smoother, with a curvature
============= ============================== ====================================================

The derivatives in the states of the last two are in units of :math:`\lambda = \sqrt{2\nu}/\ell`.

References: Hartikainen & Särkkä, Kalman filtering and smoothing solutions to temporal Gaussian
process regression models, MLSP 2010; Maystre et al., Pairwise comparisons with flexible
time-dynamics, KDD 2019.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["PARTS", "Dynamics", "Part"]

Matrix = list[list[Any]]  # rows of arrays, or of symbols


class Part(NamedTuple):
    """A process: its hyperparameters with their priors, and its transitions."""

    hyperparameters: dict[str, tuple[float, float]]  # median where times span 1, power of the span
    size: int  # of the state
    transitions: Callable[..., tuple[Matrix, Matrix, Matrix]]


def _constant(exp: Any, gap: Any, scale: Any) -> tuple[Matrix, Matrix, Matrix]:
    return [[1.0]], [[0.0]], [[scale**2]]


def _random_walk(exp: Any, gap: Any, scale: Any, drift: Any) -> tuple[Matrix, Matrix, Matrix]:
    return [[1.0]], [[drift**2 * gap]], [[scale**2]]


def _trend(
    exp: Any, gap: Any, scale: Any, drift: Any, slope: Any, slope_drift: Any
) -> tuple[Matrix, Matrix, Matrix]:
    q = slope_drift**2
    level, both = drift**2 * gap + q * gap**3 / 3, q * gap**2 / 2
    noise = [[level, both], [both, q * gap]]
    return [[1.0, gap], [0.0, 1.0]], noise, [[scale**2, 0.0], [0.0, slope**2]]


def _matern12(exp: Any, gap: Any, scale: Any, length: Any) -> tuple[Matrix, Matrix, Matrix]:
    F, P = [[exp(-gap / length)]], [[scale**2]]
    return F, _stationary(F, P), P


def _matern32(exp: Any, gap: Any, scale: Any, length: Any) -> tuple[Matrix, Matrix, Matrix]:
    x = 3**0.5 * gap / length
    e, v = exp(-x), scale**2
    F, P = [[e * (1 + x), e * x], [-e * x, e * (1 - x)]], [[v, 0.0], [0.0, v]]
    return F, _stationary(F, P), P


def _matern52(exp: Any, gap: Any, scale: Any, length: Any) -> tuple[Matrix, Matrix, Matrix]:
    # exp(A x) = exp(-x) (1 + N x + N² x² / 2), where N = A + 1 and N³ = 0
    x = 5**0.5 * gap / length
    e, v, h = exp(-x), scale**2, x * x / 2
    F = [
        [e * (1 + x + h), e * (x + 2 * h), e * h],
        [-e * h, e * (1 + x - 2 * h), e * (x - h)],
        [e * (h - x), e * (2 * h - 3 * x), e * (1 - 2 * x + h)],
    ]
    P = [[v, 0.0, -v / 3], [0.0, v / 3, 0.0], [-v / 3, 0.0, v]]
    return F, _stationary(F, P), P


def _stationary(F: Matrix, P: Matrix) -> Matrix:
    """Noise that keeps the covariance as it is: P - F P F'."""
    n = range(len(P))
    return [
        [P[i][j] - sum(F[i][k] * P[k][m] * F[j][m] for k in n for m in n) for j in n] for i in n
    ]


SCALE = {"scale": (1.0, 0.0)}
DRIFT = {"drift": (0.5, -0.5)}
LENGTH = {"length": (0.3, 1.0)}
PARTS = {
    "constant": Part(SCALE, 1, _constant),
    "random_walk": Part(SCALE | DRIFT, 1, _random_walk),
    "trend": Part(SCALE | DRIFT | {"slope": (0.5, -1.0), "slope_drift": (0.5, -1.5)}, 2, _trend),
    "matern12": Part(SCALE | LENGTH, 1, _matern12),
    "matern32": Part(SCALE | LENGTH, 2, _matern32),
    "matern52": Part(SCALE | LENGTH, 3, _matern52),
}
LENGTH_SD = 1.5  # standard deviation of the logarithm of a length
HALF_NORMAL_MEDIAN = 0.67449  # where its scale is 1


class Dynamics:
    """How utilities change: a sum of `PARTS`.

    Parameters
    ----------
    text : str
        Names of parts joined by plus signs, such as "random_walk" or "constant + matern32".

    Attributes
    ----------
    parts : tuple of str
    names : tuple of str
        Hyperparameters, all positive: "scale", or "matern32_scale" if there are several parts.
    size : int
        Length of the state.
    readout : array of 0 and 1, (size,)
        Weights of the state whose sum is the utility.

    Examples
    --------
    >>> walk = Dynamics("constant + matern32")
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
                    f"There is no dynamics {part!r}; there are {', '.join(PARTS)}, and sums of "
                    "them, such as 'constant + matern32'."
                )
            if self.parts.count(part) > 1:
                raise ValueError(f"The dynamics {text!r} has the part {part!r} twice.")
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

    def medians(self, span: float) -> NDArray[np.float64]:
        """Return the medians of the prior of the hyperparameters.

        The span from the first time to the last, positive, makes it free of the unit of time.

        >>> Dynamics("matern32").medians(10.0)
        array([1., 3.])
        """
        return self._medians * span**self._powers

    def log_prior(self, log_values: ArrayLike, span: float) -> float:
        r"""Evaluate a weak prior at logarithms of the hyperparameters, up to a constant.

        Standard deviations (scale, drift, slope, slope_drift) are half-normal, and lengths are
        log-normal. With :math:`x = \log \sigma` the former have the log density
        :math:`x - e^{2x} / (2 s^2)`, whose s follows from the median.
        """
        x = np.asarray(log_values) - np.log(self.medians(span))
        half_normal = x - np.exp(2 * x) * HALF_NORMAL_MEDIAN**2 / 2
        return float(np.where(self.is_length, -((x / LENGTH_SD) ** 2) / 2, half_normal).sum())

    def entries(self, values: Sequence[Any], gap: Any, exp: Any) -> list[Any]:
        """Give F, Q and P of every part, as rows of numbers or of symbols.

        `values` are hyperparameters in the order of `names`, `gap` (n,) is the time since the one
        before, and `exp` is the exponential function for their types.
        """
        found, first = [], 0
        for part in self.parts:
            n = len(PARTS[part].hyperparameters)
            found.append(PARTS[part].transitions(exp, gap, *values[first : first + n]))
            first += n
        return found

    def transitions(
        self, values: ArrayLike, gap: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Compute F and Q (n, size, size), and P (size, size), of the whole state."""
        F, Q = np.zeros((2, gap.size, self.size, self.size))
        P = np.zeros((self.size, self.size))
        first = 0
        for of_part in self.entries(list(np.asarray(values, dtype=float)), gap, np.exp):
            at = slice(first, first + len(of_part[2]))
            for whole, rows in zip((F[:, at, at], Q[:, at, at], P[at, at]), of_part, strict=True):
                for i, row in enumerate(rows):
                    for j, entry in enumerate(row):
                        whole[..., i, j] = entry
            first = at.stop
        return F, Q, P
