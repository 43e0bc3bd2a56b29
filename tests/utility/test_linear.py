"""Linear utilities and factor models: by hand, against the full matrix, gradients."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

from bayesrank.utility import factor_utility, linear_utility
from tests.oracles import gradient

BACKENDS = ("FAST_COMPILE", "JAX")

# The graph


@pytest.mark.parametrize("mode", BACKENDS)
@pytest.mark.parametrize("shape", [(5, 3), (2, 4, 3)])
def test_a_utility_is_the_sum_of_features_times_coefficients(rng, mode, shape):
    x, beta = rng.normal(size=shape), rng.normal(size=3)
    features, coefficient = pt.constant(x), pt.dvector("coefficient")
    u = linear_utility(features, coefficient)
    f = pytensor.function([coefficient], [u, pt.grad(pt.sum(u**2), coefficient)], mode=mode)
    value, slope = f(beta)
    np.testing.assert_allclose(value, np.einsum("...f,f->...", x, beta), rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(
        slope, gradient(lambda b: float(np.sum((x @ b) ** 2)), beta), rtol=1e-7
    )


@pytest.mark.parametrize(
    ("utility", "is_product"), [(linear_utility, False), (lambda x, beta: x @ beta, True)]
)
def test_no_matrix_product_is_left_to_threads(utility, is_product):
    features, coefficient = pt.dmatrix("features"), pt.dvector("coefficient")
    u = utility(features, coefficient)
    f = pytensor.function([features, coefficient], [u, pt.grad(pt.sum(u**2), coefficient)])
    names = {str(node.op).lower() for node in f.maker.fgraph.apply_nodes}
    assert any(blas in name for name in names for blas in ("dot", "gemv", "gemm")) is is_product


# Factors

ITEM = np.array([[3, 0, 2], [1, 3, 1], [0, 1, 0]])  # items may stand in several slots
RANKER = np.array([1, 0, 1])


@pytest.fixture
def factors(rng):
    return rng.normal(size=(2, 2)), rng.normal(size=(4, 2)), rng.normal(size=4)


def full_matrix(x):
    """Bias plus products of all rankers and items, of one flat vector; then the slots."""
    W, H, b = x[:4].reshape(2, 2), x[4:12].reshape(4, 2), x[12:]
    return (b + W @ H.T)[RANKER[:, None], ITEM]


@pytest.mark.parametrize("mode", ["FAST_COMPILE", "JAX"])
def test_slots_hold_entries_of_the_full_matrix_and_gradients_add_up(factors, mode):
    W, H, b = pt.dmatrix("W"), pt.dmatrix("H"), pt.dvector("b")
    u = factor_utility(W, H, ITEM, ranker=RANKER, item_bias=b)
    f = pytensor.function([W, H, b], [u, *pt.grad(pt.sum(u**2), [W, H, b])], mode=mode)
    value, *slopes = f(*factors)
    point = np.concatenate([part.ravel() for part in factors])
    np.testing.assert_allclose(value, full_matrix(point), rtol=1e-13)
    slope = np.concatenate([np.ravel(part) for part in slopes])
    expected = gradient(lambda x: float(np.sum(full_matrix(x) ** 2)), point)
    np.testing.assert_allclose(slope, expected, rtol=1e-6, atol=1e-8)


def test_without_rankers_each_ranking_has_a_row_of_its_own(factors):
    W, H, _ = factors
    ours = factor_utility(W[[1, 0, 1]], H, ITEM).eval()
    np.testing.assert_allclose(ours, factor_utility(W, H, ITEM, ranker=RANKER).eval())


def test_without_a_bias_items_of_no_factors_are_worth_nothing():
    assert factor_utility([[5.0]], [[0.0], [2.0]], [[0, 1]]).eval().tolist() == [[0.0, 10.0]]
