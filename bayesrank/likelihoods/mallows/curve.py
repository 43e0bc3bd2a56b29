r"""Smooth functions of the cost t of one unit of distance, interpolated for fast evaluation.

A log normaliser is smooth in t, and so is the log sum over all orders whose costs are t times a
matrix. A sum over sets takes up to 0.2 s, and a sampler needs thousands of evaluations. Therefore
the function is computed at a few hundred points that are equally spaced in

.. math:: u = \operatorname{arcsinh}(t / t_0),

which is linear in t below the scale :math:`t_0` and logarithmic above it. A spline of degree 9
through them is accurate to about 1e-11, and the graph of its pieces runs on every backend.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt
from numpy.typing import NDArray
from pytensor.tensor import TensorVariable
from scipy.interpolate import make_interp_spline

from bayesrank.likelihoods.mallows.order_kernels import log_sum_of_orders, log_total_of_orders

__all__ = ["Curve", "curve_of_orders", "curve_value", "interpolated"]

Floats = NDArray[np.float64]
DEGREE = 9
WIDTH = 0.05  # of a piece, in u
FLAT = 1e-11  # how much a sum over orders may still change beyond the last point
MOST_DOUBLINGS = 60  # of t, in the search for the last point


class Curve(NamedTuple):
    """A function of t: a spline in u, constant beyond its end, minus a multiple of t."""

    series: Floats  # (n_pieces, DEGREE + 1) coefficients of the powers of u from each left end
    axis: Floats  # (3,): the scale of t, the width of the pieces, and the multiple of t


def interpolated(f: Callable[[Floats], Floats], scale: float, last: float) -> Curve:
    """Interpolate a function of t that is smooth on the scale `scale` and constant from `last` on.

    Examples
    --------
    >>> curve = interpolated(lambda t: np.exp(-t), 1.0, 40.0)
    >>> round(float(curve_value(0.5, *curve).eval()), 8)
    0.60653066
    """
    end = math.asinh(last / scale)
    n_pieces = max(math.ceil(end / WIDTH), DEGREE)
    u = np.linspace(0.0, end, n_pieces + 1)
    spline = make_interp_spline(u, f(scale * np.sinh(u)), k=DEGREE)
    powers = [spline(u[:-1], nu=k) / math.factorial(k) for k in range(DEGREE + 1)]
    return Curve(np.stack(powers, axis=1), np.array([scale, end / n_pieces, 0.0]))


def curve_value(t: Any, series: Any, axis: Any) -> TensorVariable:
    """Evaluate a `Curve`, given by its fields, at a non-negative `t`."""
    t, series, axis = (pt.as_tensor_variable(x) for x in (t, series, axis))
    scale, width, multiple = axis[0], axis[1], axis[2]
    last = series.shape[0] - 1
    u = pt.clip(pt.arcsinh(t / scale), 0.0, width * (last + 1.0))
    piece = pt.clip(pt.cast(u / width, "int64"), 0, last)
    x, powers = u - piece * width, series[piece]
    # the first power is separate: the power rule divides by zero in its second derivative at x = 0
    higher = pt.sum(powers[..., 2:] * x[..., None] ** np.arange(2, DEGREE + 1), axis=-1)
    return powers[..., 0] + powers[..., 1] * x + higher - multiple * t


def curve_of_orders(cost: Floats, cost_type: int) -> Curve:
    """Interpolate the log sum over all orders of exp(-t cost), for costs (n, n) of a `cost_type`.

    The multiple of t is the cost of the cheapest order.
    """

    def mean_cost(t: float) -> float:
        return -float((log_sum_of_orders(t * cost, cost_type)[1] * cost).sum())

    scale = last = 1.0 / max(float(np.ptp(cost)) * len(cost), 1e-300)
    least = mean_cost(last)
    for _ in range(MOST_DOUBLINGS):
        before, last = least, 2.0 * last
        least = mean_cost(last)
        if (before - least) * last < FLAT:
            break

    def above_the_cheapest(points: Floats) -> Floats:
        return np.array([log_total_of_orders(t * cost, cost_type) + t * least for t in points])

    curve = interpolated(above_the_cheapest, scale, last)
    return curve._replace(axis=np.array([*curve.axis[:2], least]))
