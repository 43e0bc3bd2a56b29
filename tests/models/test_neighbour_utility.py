"""Adaptive nearest neighbours: utilities by hand, gradients on the backends."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

from models.bpr.neighbours import neighbour_utility, symmetric_correlations
from tests.oracles import gradient

HAVE = np.array([[1, 0, 1, 1], [0, 0, 0, 0], [0, 1, 0, 0]], dtype=bool)


def by_definition(below, bias):
    C = np.zeros((4, 4))
    C[np.tril_indices(4, -1)] = below
    C = C + C.T
    return np.array(
        [
            [
                bias[i] + sum(C[i, mine] for mine in np.flatnonzero(has) if mine != i)
                for i in range(4)
            ]
            for has in HAVE
        ]
    )


# a large product: without BLAS, as the C backend may be, it is not meant to run
@pytest.mark.parametrize("mode", ["FAST_COMPILE", "JAX"])
def test_an_item_is_worth_what_the_other_items_of_the_user_say(rng, mode):
    below, bias = pt.dvector("below"), pt.dvector("bias")
    utility = neighbour_utility(symmetric_correlations(below, 4), HAVE, item_bias=bias)
    wrt = [below, bias]
    f = pytensor.function(wrt, [utility, *pt.grad(pt.sum(utility**2), wrt)], mode=mode)
    point = rng.normal(size=10)
    value, *slopes = (np.asarray(x) for x in f(point[:6], point[6:]))
    np.testing.assert_allclose(value, by_definition(point[:6], point[6:]), rtol=1e-12)
    numeric = gradient(lambda x: float(np.sum(by_definition(x[:6], x[6:]) ** 2)), point)
    np.testing.assert_allclose(np.concatenate(slopes), numeric, rtol=1e-6, atol=1e-8)


def test_the_item_itself_does_not_count():
    C = np.ones((4, 4)) + 100 * np.eye(4)
    expected = [[2, 3, 2, 2], [0, 0, 0, 0], [1, 0, 1, 1]]
    np.testing.assert_array_equal(neighbour_utility(C, HAVE).eval(), expected)
