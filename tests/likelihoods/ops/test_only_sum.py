"""Terms of which only the sum may leave a function."""

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest

from bayesrank.likelihoods.ops import only_sum

X = np.array([0.3, -1.2, 0.8])
SENTENCE = "These say nothing."
MODES = ["FAST_COMPILE", "JAX"]


def graphs():
    x = pt.dvector("x")
    return x, only_sum(pt.exp(x), SENTENCE)


@pytest.mark.parametrize("mode", [*MODES, pytest.param("NUMBA", marks=pytest.mark.slow)])
def test_sums_and_their_derivatives_are_as_without(mode):
    x, terms = graphs()
    total = 2.0 + (3.0 * terms).sum()
    slope = pytensor.grad(total, x)
    outputs = [total, slope, pytensor.grad(slope.sum(), x), pt.stack([total, terms.sum()])]
    value, *slopes, both = pytensor.function([x], outputs, mode=mode)(X)
    assert float(value) == pytest.approx(2 + 3 * np.exp(X).sum())
    np.testing.assert_allclose(slopes, np.tile(3 * np.exp(X), (2, 1)), rtol=1e-12)
    np.testing.assert_allclose(both, [2 + 3 * np.exp(X).sum(), np.exp(X).sum()], rtol=1e-12)


@pytest.mark.parametrize("mode", [*MODES, pytest.param("NUMBA", marks=pytest.mark.slow)])
def test_terms_are_refused_whatever_becomes_of_them_one_by_one(mode):
    x, terms = graphs()
    for output in (terms, pt.exp(2.0 * terms)[:, None], pt.concatenate([terms, x])[1:]):
        with pytest.raises(ValueError, match=rf"^{SENTENCE}"):
            pytensor.function([x], [output, terms.sum()], mode=mode)(X)


def test_their_number_may_be_asked_for():
    x, terms = graphs()
    outputs = [terms.shape, pt.zeros_like(terms)]
    shape, zeros = pytensor.function([x], outputs, mode="FAST_COMPILE")(X)
    assert shape.tolist() == [3]
    assert zeros.tolist() == [0, 0, 0]


def test_a_model_is_sampled_by_the_sum_and_vectorised():
    with pm.Model() as model:
        x = pm.Normal("x", shape=3)
        pm.Potential("y", only_sum(-pt.exp(x), SENTENCE))
    many = pytensor.graph.vectorize_graph(model.logp(), {model.value_vars[0]: pt.dmatrix("many")})
    f = pytensor.function(list(pytensor.graph.traversal.explicit_graph_inputs(many)), many)
    expected = [float(model.compile_logp()({"x": value})) for value in (X, X + 1)]
    np.testing.assert_allclose(f(np.stack([X, X + 1])), expected)
    with pytest.raises(ValueError, match=rf"^{SENTENCE}"):
        model.compile_fn(model.logp(sum=False))({"x": X})
