"""The compiled Op on slots: against its graph, in every mode and to the second derivative."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

from bayesrank.likelihoods.plackett_luce.graph import (
    logp_of_matrix,
    need_quadrature,
)
from bayesrank.likelihoods.plackett_luce.per_slot import WeakOrderLogp, weak_order_logp

UTILITY = np.array([[0.4, -1.2, 2.0, 0.1, -0.7, 5.0], [0.3, 0.0, -0.9, 1.1, -2.0, 0.5]])
RANKS = np.array([[2, 1, 1, 3, 0, 1], [1, 2, 3, 4, 4, 2]])


def test_the_op_takes_matrices_only():
    axes = r"the axes \(r,s\),\(r,s\); got \[1, 1\] dimensions\.$"
    with pytest.raises(TypeError, match=rf"^WeakOrderLogp takes inputs with {axes}"):
        WeakOrderLogp()(pt.dvector(), pt.lvector())


@pytest.mark.slow
def test_jax_needs_no_quadrature_but_for_ties_and_asks_every_time():
    # compiled once; full rankings, top-k lists and padding, then a tie in front
    utility = np.array([[0.4, -1.2, 2.0, 0.1], [-0.7, 5.0, 0.3, 0.0]])
    full = np.array([[2, 1, 3, 3], [1, 3, 2, 0]])
    tied = np.array([[2, 1, 3, 3], [1, 1, 2, 0]])
    assert [bool(need_quadrature(pt.constant(r)).eval()) for r in (full, tied)] == [False, True]
    u, ranks = pt.tensor("u", shape=(2, 4)), pt.tensor("r", shape=(2, 4), dtype="int64")
    logp = weak_order_logp(u, ranks)
    slope = pt.grad(logp.sum(), u)
    jax, compiled = (
        pytensor.function([u, ranks], [logp, slope, logp.sum()], mode=mode)
        for mode in ("JAX", "FAST_COMPILE")
    )
    for data in (full, tied, full):
        for one, other in zip(jax(utility, data), compiled(utility, data), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def test_ranks_that_are_not_dense_need_no_quadrature_to_be_impossible():
    u, ranks = pt.constant(np.zeros((2, 3))), pt.constant([[1, 2, 4], [1, 2, 3]])
    short = logp_of_matrix(u, ranks, quadrature=False).eval()
    assert short.tolist() == pytest.approx([-np.inf, -np.log(6)])
