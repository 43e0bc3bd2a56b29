"""Second derivatives of compiled Ops: they are those of the graphs, in every mode."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

from bayesrank.likelihoods.ops.compiled import CompiledOp
from bayesrank.likelihoods.plackett_luce.per_slot import WeakOrderLogp
from tests.likelihoods.compiled_ops import EXAMPLES, RANKS, UTILITY, Example


class Cubes(CompiledOp):
    """Cubes in one pass."""

    signature = "(r,c)->(r)"
    kernel = staticmethod(lambda x: ((x**3).sum(axis=1), 3 * x**2))

    def graph(self, *inputs):
        return pt.sum(inputs[0] ** 3, axis=1)


class Products(CompiledOp):
    """Matrix times vector, by a pullback kernel."""

    signature = "(r,c),(c)->(r)"
    kernel = staticmethod(lambda x, y: x @ y)
    pullback_kernel = staticmethod(lambda x, y, bar: (np.outer(bar, y), bar @ x))
    wrt = (0, 1)

    def graph(self, *inputs):
        return pt.sum(inputs[0] * inputs[1], axis=1)


TABLE, ROW = np.array([[0.3, -1.0], [2.0, 0.5]]), np.array([1.5, -0.5])
CASES = {
    "one pass": Example(Cubes(), [TABLE], (0,)),
    "pullback kernel": Example(Products(), [TABLE, ROW], (0, 1)),
    "stages": EXAMPLES["StageTotal"],
    "slots": Example(WeakOrderLogp(), [UTILITY, RANKS], (0,)),
}
# those of counts are in `mpm/test_op.py`


def changes(example, mode, of=None):
    """How a nonlinear function of the output, and its gradient, change along a direction."""
    values = [np.asarray(x) for x in example.values]
    # JAX asks which lengths are one, or none
    inputs = [
        pt.tensor(dtype=x.dtype, shape=tuple(n if n < 2 else None for n in x.shape)) for x in values
    ]
    cost = pt.sum((of or example.apply)(*inputs) ** 2)
    points = [inputs[i] for i in example.wrt]
    rng = np.random.default_rng(3)
    along = [pt.constant(rng.normal(size=values[i].shape)) for i in example.wrt]
    slopes = pt.grad(cost, points)
    outputs = pt.grad(sum((g * v).sum() for g, v in zip(slopes, along, strict=True)), points)
    return pytensor.function(inputs, outputs, mode=mode, on_unused_input="ignore")(*values)


@pytest.mark.parametrize(
    "name", [pytest.param(x, marks=[pytest.mark.slow] * (x == "slots")) for x in CASES]
)
def test_they_are_those_of_the_graph(name):
    example = CASES[name]
    expected = changes(example, "FAST_COMPILE", of=example.apply.graph)
    for found, exact in zip(changes(example, "FAST_COMPILE"), expected, strict=True):
        assert abs(exact).max() > 0.1  # there is something to see
        np.testing.assert_allclose(found, exact, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("mode", "names"),
    [
        ("JAX", ["one pass", "pullback kernel"]),
        pytest.param("JAX", ["stages"], marks=pytest.mark.slow),
        pytest.param("NUMBA", ["one pass", "pullback kernel", "stages"], marks=pytest.mark.slow),
    ],
)
def test_compiling_modes_have_what_perform_gives(mode, names):
    for name in names:
        expected = changes(CASES[name], "FAST_COMPILE")
        for found, exact in zip(changes(CASES[name], mode), expected, strict=True):
            np.testing.assert_allclose(found, exact, rtol=1e-6, atol=1e-6)


def test_impossible_rankings_have_none():
    gap = np.array([[1, 3, 0, 0, 0, 0]])
    u = pt.dmatrix("u")
    slope = pt.grad(WeakOrderLogp()(u, pt.constant(gap)).sum(), u)
    bend = pt.grad((slope * u).sum(), u, consider_constant=[u])
    assert not bend.eval({u: UTILITY[:1]}).any()


def test_the_step_is_that_of_the_largest_entry_of_a_direction():
    x, v = pt.dmatrix("x"), pt.dmatrix("v")
    slope = pt.grad(Cubes()(x).sum(), x)
    product = pt.grad((slope * v).sum(), x, consider_constant=[v])
    found = product.eval({x: TABLE, v: 1e8 * np.ones((2, 2))})
    np.testing.assert_allclose(found, 6e8 * TABLE, rtol=1e-6)
