"""Constants of the gradient: on every route, and where PyTensor's own fails.

The probe is d/dx of stop(x²)·x at x = 2: 4 if x² is held fixed, 12 if it is not.
"""

import jax
import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from pymc.sampling.jax import get_jaxified_logp
from pytensor.gradient import disconnected_grad

from bayesrank.likelihoods.ops.stop_gradient import stop_gradient
from tests.likelihoods.loops import for_each

BACKENDS = ("FAST_COMPILE", "JAX")
HELD, LEAKED = 4.0, 12.0


def model_with(hold):
    """A model whose log density is stop(x²)·x."""
    with pm.Model() as model:
        x = pm.Flat("x")
        pm.Potential("probe", hold(x**2) * x)
    return model


@for_each("mode", BACKENDS)
def test_the_square_is_held_fixed_in_a_bare_graph(mode):
    x = pt.dscalar("x")
    y = stop_gradient(x**2) * x
    f = pytensor.function([x], [y, pt.grad(y, x)], mode=mode)
    value, slope = f(2.0)
    assert float(value) == 8.0
    assert float(slope) == HELD


@for_each("mode", BACKENDS)
def test_the_square_is_held_fixed_inside_a_model(mode):
    model = model_with(stop_gradient)
    assert model.compile_logp(mode=mode)({"x": 2.0}) == 8.0
    np.testing.assert_array_equal(model.compile_dlogp(mode=mode)({"x": 2.0}), [HELD])


def test_jax_holds_the_square_fixed_in_both_derivatives():
    logp = get_jaxified_logp(model_with(stop_gradient))
    assert logp([2.0]) == 8.0
    assert jax.grad(lambda x: logp([x]))(2.0) == HELD
    # a constant times x has no second derivative
    assert jax.hessian(lambda x: logp([x]))(2.0) == 0.0


@for_each(("hold", "second"), [(stop_gradient, 8.0), (disconnected_grad, 48.0)])
def test_the_second_derivative_inside_a_model_holds_it_fixed_too(hold, second):
    # d²/dx² of stop(x²)·x² at 2: 8; of x⁴: 48, which is what disconnected_grad gives
    with pm.Model() as model:
        x = pm.Flat("x")
        pm.Potential("probe", hold(x**2) * x**2)
    hessian = model.compile_d2logp(negate_output=False)
    np.testing.assert_array_equal(hessian({"x": 2.0}), [[second]])


def test_forward_mode_holds_the_square_fixed():
    x = pt.dvector("x")
    product = pytensor.gradient.pushforward(stop_gradient(x**2) * x, x, pt.ones_like(x))
    np.testing.assert_array_equal(product.eval({x: np.array([2.0])}), [HELD])


def test_values_and_shapes_pass_through():
    x = np.arange(6.0).reshape(2, 3)
    held = stop_gradient(x)
    np.testing.assert_array_equal(held.eval(), x)
    assert held.type.shape == (2, 3)
    assert held.shape.eval().tolist() == [2, 3]


def test_values_held_fixed_have_no_gradient():
    x = pt.dscalar("x")
    with pytest.raises(pytensor.gradient.DisconnectedInputError):
        pt.grad(stop_gradient(x), x)
