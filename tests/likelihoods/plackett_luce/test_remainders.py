"""Running logsumexp from the end: values, gradients and what padding does."""

import functools

import numpy as np
import pytensor
import pytensor.tensor as pt

from bayesrank.likelihoods.ops.arrays import NOTHING
from bayesrank.likelihoods.plackett_luce.remainders import log_remainder
from tests.likelihoods.loops import for_each
from tests.oracles import gradient

BACKENDS = ("FAST_COMPILE", "JAX")


def by_definition(x):
    return np.stack([np.logaddexp.reduce(x[..., j:], axis=-1) for j in range(x.shape[-1])], axis=-1)


@functools.cache
def weighted(mode):
    """Value, gradient of a weighted sum, and that gradient's own directional derivative."""
    x, weight = pt.dmatrix("x"), pt.dmatrix("weight")
    c = log_remainder(x)
    slope = pt.grad((weight * c).sum(), x)
    outputs = [c, slope, pt.grad((slope * np.cos(np.arange(4.0))).sum(), x)]
    return pytensor.function([x, weight], outputs, mode=mode)


@for_each("mode", BACKENDS)
def test_values_and_two_derivatives_are_those_of_the_definition(rng, mode):
    # both signs and zeros among the weights: the gradient sums them apart
    weight = np.array([[1.0, -2.0, 0.0, 0.5], [0.0, 0.0, 0.0, 0.0], [-1.0, 3.0, 1.0, -0.5]])
    x = rng.normal(scale=3.0, size=(3, 4))
    f = weighted(mode)

    def slope(x):
        return gradient(lambda y: float((weight * by_definition(y)).sum()), x)

    value, first, second = (np.asarray(out) for out in f(x, weight))
    np.testing.assert_allclose(value, by_definition(x), rtol=1e-13)
    np.testing.assert_allclose(first, slope(x), atol=1e-8)
    direction = np.cos(np.arange(4.0))
    exact = gradient(lambda y: float((np.asarray(f(y, weight)[1]) * direction).sum()), x)
    np.testing.assert_allclose(second, exact, atol=1e-8)
    assert np.asarray(first).dtype == np.float64


@for_each("mode", BACKENDS)
def test_padding_at_the_end_counts_for_nothing_and_keeps_gradients_finite(mode):
    x = np.array([[0.3, -0.2, NOTHING, NOTHING], [NOTHING] * 4, [1.0, 2.0, 3.0, 4.0]])
    value, first, second = (np.asarray(out) for out in weighted(mode)(x, np.ones((3, 4))))
    np.testing.assert_allclose(value[0, :2], by_definition(np.array([0.3, -0.2])), rtol=1e-13)
    assert np.isfinite(first).all()
    assert np.isfinite(second).all()
    bare = gradient(lambda y: float(by_definition(y).sum()), np.array([0.3, -0.2]))
    np.testing.assert_allclose(first[0, :2], bare, atol=1e-8)


def test_nothing_is_lost_between_utilities_of_1000_and_minus_1000():
    x = [[1000.0, -1000.0, 1000.0, -1000.0]]
    expected = [1000 + np.log(2), 1000.0, 1000.0, -1000.0]
    np.testing.assert_allclose(log_remainder(x).eval()[0], expected, rtol=1e-15)


def test_flat_cumulative_sums_would_lose_it():
    x = np.array([[40.0, 0.0, 0.0]])
    flat = np.log(np.exp(x).sum(axis=1, keepdims=True) - np.cumsum(np.exp(x), axis=1) + np.exp(x))
    assert abs(flat[0, 1] - np.log(2)) > 0.5
    np.testing.assert_allclose(log_remainder(x).eval(), by_definition(x), rtol=1e-14)


@for_each("shape", [(4,), (2, 4), (2, 3, 4), (2, 1, 3, 4)])
def test_leading_axes_are_a_batch(rng, shape):
    x = rng.normal(size=shape)
    np.testing.assert_allclose(log_remainder(x).eval(), by_definition(x), rtol=1e-14)
