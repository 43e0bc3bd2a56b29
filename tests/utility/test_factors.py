"""Utilities of factor models: by hand, against the full matrix, gradients on two backends."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.mode import get_mode

from bayesrank.utility import factor_utility
from tests.oracles import gradient

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


def test_no_product_goes_to_blas():
    W, H, b = pt.dmatrix("W"), pt.dmatrix("H"), pt.dvector("b")
    u = factor_utility(W, H, ITEM, ranker=RANKER, item_bias=b)
    # what all backends make of it, and in Python, so that nothing is compiled
    mode = get_mode("CVM").clone(linker="py")
    compiled = pytensor.function([W, H, b], u, mode=mode)
    names = {type(node.op).__name__ for node in compiled.maker.fgraph.toposort()}
    assert names.isdisjoint({"Dot", "Gemm", "Dot22", "BatchedDot", "Gemv"})
