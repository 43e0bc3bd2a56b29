"""The compiled Ops on slots: against their graphs, in every mode and to the second derivative."""

import functools

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

from bayesrank.likelihoods.plackett_luce.bounds import plackett_luce_bound
from bayesrank.likelihoods.plackett_luce.graph import (
    logp_of_matrix,
    need_quadrature,
    plackett_luce_logp,
)
from bayesrank.likelihoods.plackett_luce.per_slot import (
    WeakOrderBound,
    WeakOrderLogp,
    weak_order_bound,
    weak_order_logp,
)
from tests.likelihoods.loops import for_each
from tests.oracles import gradient

GRAPHS = {
    "exact": (weak_order_logp, plackett_luce_logp),
    "bound": (weak_order_bound, plackett_luce_bound),
}
UTILITY = np.array([[0.4, -1.2, 2.0, 0.1, -0.7, 5.0], [0.3, 0.0, -0.9, 1.1, -2.0, 0.5]])
RANKS = np.array([[2, 1, 1, 3, 0, 1], [1, 2, 3, 4, 4, 2]])


@functools.cache
def derivatives(name, mode):
    """Values, slope of the sum of their squares, and product of its Hessian with a matrix."""
    compiled, _ = GRAPHS[name]
    # JAX has to know the shapes of what a graph in a graph computes
    u, v, ranks = pt.dmatrix("u"), pt.dmatrix("v"), pt.constant(RANKS)
    logp = compiled(u, ranks)
    slope = pt.grad(pt.sum(logp**2), u)
    return pytensor.function([u, v], [logp, slope, pt.grad(pt.sum(slope * v), u)], mode=mode)


@pytest.mark.slow
@for_each("mode", ["FAST_COMPILE", "JAX"])
@for_each("name", GRAPHS)
def test_values_are_those_of_the_graph_and_two_derivatives_those_of_differences(rng, name, mode):
    f, graph = derivatives(name, mode), GRAPHS[name][1]
    v = rng.normal(size=UTILITY.shape)
    logp, slope, product = f(UTILITY, v)
    np.testing.assert_allclose(logp, graph(UTILITY, RANKS).eval(), rtol=1e-9)
    numeric = gradient(lambda u: float((f(u, v)[0] ** 2).sum()), UTILITY)
    np.testing.assert_allclose(slope, numeric, atol=1e-6)
    along = gradient(lambda u: float((f(u, v)[1] * v).sum()), UTILITY, step=1e-4)
    np.testing.assert_allclose(product, along, atol=1e-5)


@for_each("far", [1.0, 300.0, 1e3])
def test_the_bound_is_its_graph_on_every_scale(rng, far):
    u = far * rng.normal(size=UTILITY.shape)
    w = pt.dmatrix("w")
    forms = [
        pytensor.function([w], [form(w, RANKS), pt.grad(pt.sum(form(w, RANKS)), w)])(u)
        for form in GRAPHS["bound"]
    ]
    for ours, theirs in zip(*forms, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


def test_ranks_that_are_not_dense_are_impossible_in_both_forms_of_the_bound():
    for form in GRAPHS["bound"]:
        values = form(np.zeros((4, 3)), [[1, 3, 3], [1, 1, 2], [0, 0, 0], [2, 2, 2]]).eval()
        np.testing.assert_allclose(values, [-np.inf, np.log(2 / 9), 0.0, -np.inf])


def test_shapes_are_known_without_values():
    matrix, ranks = pt.dmatrix("matrix"), pt.lmatrix("ranks")
    f = pytensor.function(
        [matrix, ranks], weak_order_logp(matrix, ranks).shape, mode="FAST_COMPILE"
    )
    assert WeakOrderLogp not in {type(node.op) for node in f.maker.fgraph.toposort()}


def test_the_ops_take_matrices_only():
    for op in (WeakOrderLogp(), WeakOrderBound()):
        name = type(op).__name__
        message = rf"^{name} takes inputs with the axes \(r,s\),\(r,s\); got \[1, 1\] dimensions\.$"
        with pytest.raises(TypeError, match=message):
            op(pt.dvector(), pt.lvector())


def test_ops_of_different_nodes_and_of_different_kinds_differ():
    assert WeakOrderLogp(48) == WeakOrderLogp(48)
    assert WeakOrderLogp(48) != WeakOrderLogp(24)
    assert WeakOrderLogp(48) != WeakOrderBound(48)


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
