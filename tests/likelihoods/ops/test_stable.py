"""Values and slopes at extremes, on every backend."""

import jax
import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.graph.fg import FunctionGraph
from pytensor.link.jax.dispatch import jax_funcify
from scipy import stats
from scipy.special import log_expit
from scipy.special import log_ndtr as scipy_log_ndtr

from bayesrank.likelihoods.ops.stable import log_ndtr, log_sigmoid, safe_log, softplus
from tests.likelihoods.loops import for_each

BACKENDS = ("FAST_COMPILE", "JAX")
FAR = np.array([-1e6, -1000.0, -710.0, -40.0, -34.5, -1.0, 0.0, 2.0, 34.0, 34.5, 40.0, 1000.0, 1e6])


@for_each("mode", BACKENDS)
def test_values_and_slopes_are_those_of_scipy_and_finite_where_the_value_is_not(mode):
    x, y = pt.dvector("x"), pt.dvector("y")
    values = [softplus(x), log_sigmoid(x), safe_log(y)]
    slopes = [pt.grad(value.sum(), x if value is not values[2] else y) for value in values]
    few = np.array([0.0, -1.0, 0.5, 4.0])
    exact = [
        (-log_expit(-FAR), stats.logistic.cdf(FAR)),
        (log_expit(FAR), stats.logistic.cdf(-FAR)),
        ([-np.inf, -np.inf, np.log(0.5), np.log(4.0)], [0.0, 0.0, 2.0, 0.25]),
    ]
    found = pytensor.function([x, y], [*values, *slopes], mode=mode)(FAR, few)
    for value, slope, (exact_value, exact_slope) in zip(found[:3], found[3:], exact, strict=True):
        np.testing.assert_allclose(value, exact_value, rtol=1e-14, atol=1e-300)
        np.testing.assert_allclose(slope, exact_slope, rtol=1e-12, atol=1e-300)


@for_each("function", [softplus, log_sigmoid, safe_log, log_ndtr])
def test_jax_can_differentiate_by_itself(function):
    # as its samplers do: jax.grad goes through every branch of a switch, taken or not
    x = pt.dvector("x")
    total = jax_funcify(FunctionGraph([x], [function(x).sum()], clone=True))
    slope = jax.grad(lambda z: total(z)[0])(np.array([-1000.0, -35.0, 0.0, 35.0, 1000.0]))
    assert np.isfinite(slope).all()


@for_each("mode", BACKENDS)
def test_the_logarithm_of_the_normal_distribution_function_is_that_of_scipy(mode):
    # across the borders of its three parts, where neither value nor slope may jump
    z = np.array([-1e6, -1000, -38, -30.001, -30, -29.999, -20, -5, -1, -1e-9, 0, 1e-9, 1, 8, 1000])
    x = pt.dvector("x")
    out = log_ndtr(x)
    value, slope = pytensor.function([x], [out, pt.grad(out.sum(), x)], mode=mode)(z)
    np.testing.assert_allclose(value, scipy_log_ndtr(z), rtol=1e-13)
    exact = np.exp(stats.norm.logpdf(z) - scipy_log_ndtr(z))
    exact[[0, 1]] = 1e6, 1000.000999998  # where the difference of logarithms has lost its digits
    np.testing.assert_allclose(np.asarray(slope), exact, rtol=1e-10)
