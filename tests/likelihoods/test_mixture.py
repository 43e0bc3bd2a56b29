"""The sum over components: by hand, at extremes, in every mode, to the second derivative."""

import functools

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from scipy.special import logsumexp, softmax

from bayesrank.likelihoods.mixture import component_probs, joint_logp, mixture_logp
from tests.likelihoods.loops import for_each
from tests.oracles import gradient

JOINT = np.random.default_rng(2).normal(0, 3, size=(5, 3))
BACKENDS = ("FAST_COMPILE", "JAX")


@functools.cache
def compiled(mode):
    joint, along = pt.dmatrix("joint"), pt.dmatrix("along")
    value = mixture_logp(joint)
    squares = pt.grad((value**2).sum(), joint)
    product = pt.grad((squares * along).sum(), joint)
    return pytensor.function(
        [joint, along], [value, component_probs(joint), squares, product], mode=mode
    )


@for_each("mode", BACKENDS)
def test_values_memberships_and_second_derivatives_are_those_of_the_definition(mode):
    f, along = compiled(mode), np.random.default_rng(3).normal(size=JOINT.shape)
    value, members, squares, product = f(JOINT, along)
    np.testing.assert_allclose(value, logsumexp(JOINT, axis=1), atol=1e-12)
    np.testing.assert_allclose(members, softmax(JOINT, axis=1), atol=1e-12)
    exact = gradient(lambda x: float((logsumexp(x, axis=1) ** 2).sum()), JOINT)
    np.testing.assert_allclose(squares, exact, atol=1e-6)
    numeric = gradient(lambda h: f(JOINT + h[0] * along, along)[2], np.zeros(1))[..., 0]
    np.testing.assert_allclose(product, numeric, atol=1e-6)


@for_each("mode", BACKENDS)
def test_impossible_components_do_not_count_and_nan_stays_nan(mode):
    joint = np.array(
        [
            [-np.inf, 0.5, 2000.0],
            [-np.inf] * 3,
            [np.nan, 0.0, 1.0],
            [np.nan] * 3,
            [-2000.0, -np.inf, -2000.0],
        ]
    )
    value, members, *_ = compiled(mode)(joint, joint)
    np.testing.assert_allclose(value, [2000.0, -np.inf, np.nan, np.nan, -2000.0 + np.log(2)])
    np.testing.assert_allclose(
        np.asarray(members)[[0, 1, 4]], [[0, 0, 1], [0, 0, 0], [0.5, 0, 0.5]]
    )


def test_the_joint_logp_a_log_likelihood_is_found():
    joint = pt.dmatrix("joint")
    assert joint_logp(2.0 * mixture_logp(joint)) is joint
    for terms, n in ((pt.exp(joint), 0), (mixture_logp(joint) + mixture_logp(2 * joint), 2)):
        with pytest.raises(ValueError, match=f"Expected one mixture .*; found {n}"):
            joint_logp(terms)
