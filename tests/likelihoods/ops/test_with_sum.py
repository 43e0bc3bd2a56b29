"""Terms that know another graph of their sum: which of the two graphs is evaluated, and where."""

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.mode import get_mode

from bayesrank.likelihoods.ops.with_sum import WithSum, with_sum
from tests.likelihoods.loops import for_each

X = np.array([0.3, -1.2, 0.8])


def graphs():
    """Terms, their sum, and a sum that says so by being 1000 more."""
    x = pt.dvector("x")
    terms = pt.exp(x)
    return x, terms, with_sum(terms, 1000.0 + pt.sum(2.0 * x))


@for_each("mode", ["FAST_COMPILE", "JAX"])
def test_the_sum_is_the_known_one_and_the_terms_are_themselves(mode):
    x, _, both = graphs()
    total, terms, weighted = pytensor.function(
        [x], [both.sum(), both, (both * [1.0, 2.0, 3.0]).sum()], mode=mode
    )(X)
    assert float(total) == pytest.approx(1000.0 + 2 * X.sum())
    np.testing.assert_allclose(terms, np.exp(X), rtol=1e-14)
    assert float(weighted) == pytest.approx(np.exp(X) @ [1.0, 2.0, 3.0])


def test_nothing_of_it_is_left_in_what_is_compiled():
    x, _, both = graphs()
    for output in (both.sum(), both):
        f = pytensor.function([x], output, mode="NUMBA")
        assert not any(isinstance(node.op, WithSum) for node in f.maker.fgraph.toposort())


def test_the_gradient_of_the_sum_is_that_of_the_known_one_in_a_model():
    with pm.Model() as model:
        x = pm.Flat("x", shape=3)
        pm.Potential("y", with_sum(pt.exp(x), 1000.0 + pt.sum(2.0 * x)))
    np.testing.assert_allclose(model.compile_dlogp()({"x": X}), [2.0, 2.0, 2.0])


def test_outside_a_model_the_gradient_is_that_of_the_terms():
    x, _, both = graphs()
    f = pytensor.function([x], pt.grad((both * [1.0, 2.0, 3.0]).sum(), x))
    np.testing.assert_allclose(f(X), np.exp(X) * [1.0, 2.0, 3.0])


def test_a_sum_along_an_axis_is_that_of_the_terms():
    x = pt.dmatrix("x")
    out = with_sum(x, pt.constant(1000.0)).sum(axis=0)
    f = pytensor.function([x], out)
    np.testing.assert_allclose(f(np.ones((2, 3))), [2.0, 2.0, 2.0])


@for_each("linker", ["FAST_COMPILE", "JAX"])
def test_graphs_that_are_not_rewritten_have_the_terms(linker):
    x, _, both = graphs()
    mode = get_mode(linker).excluding("canonicalize", "specialize")
    found = pytensor.function([x], both.sum(), mode=mode)(X)
    assert float(found) == pytest.approx(np.exp(X).sum())
