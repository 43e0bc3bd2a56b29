"""Second derivatives of every compiled Op: differences of its gradients, and its graph."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

from bayesrank.likelihoods.mpm.op import Agreement, LogNormalisers
from bayesrank.likelihoods.ops.compiled import CompiledOp, Curvature
from bayesrank.likelihoods.plackett_luce.per_slot import WeakOrderBound, WeakOrderLogp
from bayesrank.likelihoods.pmop.op import OrderedPartitionLogp
from bayesrank.likelihoods.pmop.set_kernels import AGGREGATES
from tests.likelihoods.compiled_ops import (
    ADHERENCE,
    ENTRIES,
    EVERYONE,
    EXAMPLES,
    RANKS,
    RNG,
    SCORE,
    UTILITY,
    VARIANCE,
    WHERE,
    Example,
)

# blocks that are summed over their subsets, and one that is integrated
LONG = np.array([[1] * 9 + [2, 3, 3], [1, 2, 2, 2, 3, 3, 3, 4, 5, 5, 0, 0]])
FAR = np.array([[1000.0, -1000, 3, 40, 0, 2], [-1000, 1000, 0, 0, 1000, 5]])
TIED = np.array([[1, 1, 1, 1, 1, 1], [0, 0, 1, 0, 0, 0]])
LOG_WEIGHT, NO_WEIGHT = RNG.normal(size=(2, 4)), np.zeros((2, 0))
STAGES = np.array([[1.0, 0.5, 1, 1, 1, 1], [1, 1, 2, 0, 1, 1]])

CASES = {
    name: EXAMPLES[name]
    for name in ("StageTotal", "RankingLogp", "WeakOrderLogp", "WeakOrderBound")
}
CASES |= {
    "large block": Example(WeakOrderLogp(), [RNG.normal(size=LONG.shape), LONG], (0,)),
    "unlike items": Example(WeakOrderLogp(), [5 * RNG.normal(size=LONG.shape), LONG], (0,)),
    "equal variances": Example(
        LogNormalisers(), [SCORE, np.zeros((1, 0)), ADHERENCE, WHERE, EVERYONE], (0, 1, 2)
    ),
    "some rankers": Example(
        LogNormalisers(),
        [SCORE, VARIANCE, -ADHERENCE, WHERE, np.array([[1, 1, 0], [0, 1, 1]], dtype=bool)],
        (0, 1, 2),
    ),
    "variances": EXAMPLES["LogNormalisers"],
    "agreements": EXAMPLES["Agreement"],
    "agreements of equal variances": Example(
        Agreement(), [SCORE[0], np.zeros(0), *ENTRIES, np.zeros(4)], (0, 1)
    ),
}
for aggregate in AGGREGATES:
    op = OrderedPartitionLogp(aggregate, given_sizes=False)
    given = OrderedPartitionLogp(aggregate, given_sizes=True)
    CASES |= {
        f"{aggregate}, any sizes": Example(op, [UTILITY, RANKS, NO_WEIGHT, STAGES], (0, 2)),
        f"{aggregate}, weighted sizes": Example(op, [UTILITY, RANKS, LOG_WEIGHT, STAGES], (0, 2)),
        f"{aggregate}, sizes given": Example(given, [UTILITY, RANKS, NO_WEIGHT, STAGES], (0, 2)),
    }


def typed(values):
    """Inputs of which as much is known as the graphs ask: which lengths are one, or none."""
    return [
        pt.tensor(dtype=x.dtype, shape=tuple(n if n < 2 else None for n in x.shape)) for x in values
    ]


def compiled(example, values, mode="FAST_COMPILE"):
    """Function of the values, a cotangent and directions: value, gradients and their changes."""
    inputs = typed(values)
    value = example.apply(*inputs)
    bar, points = value.type(), [inputs[i] for i in example.wrt]
    directions = [x.type() for x in points]
    slopes = pt.grad((bar * value).sum(), points)
    along = sum((g * v).sum() for g, v in zip(slopes, directions, strict=True))
    changes = pt.grad(
        along, [bar, *points], consider_constant=directions, disconnected_inputs="ignore"
    )
    return pytensor.function(
        [*inputs, bar, *directions],
        [value, *slopes, *changes],
        mode=mode,
        on_unused_input="ignore",
    )


def drawn(example):
    """Values, a cotangent and a direction for each of `wrt`."""
    rng, values = np.random.default_rng(3), [np.array(x) for x in example.values]
    inputs = typed(values)
    f = pytensor.function(
        inputs, example.apply(*inputs), mode="FAST_COMPILE", on_unused_input="ignore"
    )
    bar = rng.normal(size=f(*values).shape)
    return values, bar, [rng.normal(size=values[i].shape) for i in example.wrt]


# the kernel of ordered partitions takes half a minute to compile
SLOW = {f"{a}, {k}" for a in AGGREGATES for k in ("any sizes", "weighted sizes", "sizes given")}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (n in SLOW)) for n in CASES]
)
def test_they_are_differences_of_values_and_gradients(name):
    example = CASES[name]
    values, bar, directions = drawn(example)
    f, n = compiled(example, values), len(example.wrt)
    assert any(isinstance(node.op, Curvature) for node in f.maker.fgraph.apply_nodes)

    def at(h):
        moved = list(values)
        for i, v in zip(example.wrt, directions, strict=True):
            moved[i] = values[i] + h * v
        return f(*moved, bar, *directions)

    step = 1e-3
    near, far = [[a - b for a, b in zip(at(h), at(-h), strict=True)] for h in (step, 2 * step)]
    numeric = [(8 * a - b) / (12 * step) for a, b in zip(near, far, strict=True)]
    for found, expected in zip(at(0.0)[1 + n :], numeric[: 1 + n], strict=True):
        np.testing.assert_allclose(found, expected, atol=2e-8)


@pytest.mark.parametrize("name", ["StageTotal", "large block", "WeakOrderBound", "some rankers"])
def test_they_are_those_of_the_graph(name):
    example = CASES[name]
    values, bar, directions = drawn(example)
    inputs = typed([*values, bar, *directions])
    curvature = Curvature(example.apply)
    outputs = [*curvature(*inputs), *curvature.graph(*inputs)]
    settings = {"mode": "FAST_COMPILE", "on_unused_input": "ignore"}
    found = pytensor.function(inputs, outputs, **settings)(*values, bar, *directions)
    half = len(found) // 2
    for mine, graphs in zip(found[:half], found[half:], strict=True):
        np.testing.assert_allclose(mine, graphs, atol=1e-8)


@pytest.mark.parametrize(
    ("op", "rest"),
    [
        (WeakOrderLogp(), []),
        (WeakOrderBound(), []),
        *(
            pytest.param(
                OrderedPartitionLogp(a, given_sizes=False),
                [np.zeros((6, 0)), np.ones((6, 6))],
                marks=pytest.mark.slow,
            )
            for a in ("mean", "geometric", "harmonic")
        ),
    ],
)
def test_extreme_utilities_have_finite_ones(op, rest):
    ranks = np.concatenate([RANKS, TIED, LONG[:, :6]])  # the last are not dense
    example = Example(op, [np.tile(FAR, (3, 1)), ranks, *rest], (0, 2) if rest else (0,))
    values, bar, directions = drawn(example)
    bar = np.where(np.isfinite(bar), bar, 0.0)
    for change in compiled(example, values)(*values, bar, *directions)[1 + len(example.wrt) :]:
        assert np.isfinite(change).all()


def test_one_item_or_one_block_has_none():
    example = Example(WeakOrderLogp(), [FAR, TIED], (0,))
    values, bar, directions = drawn(example)
    *_, along, bend = compiled(example, values)(*values, bar, *directions)
    assert not along.any()
    assert not bend.any()


def test_a_shift_of_all_utilities_changes_nothing():
    example = CASES["large block"]
    values, bar, _ = drawn(example)
    *_, along, bend = compiled(example, values)(*values, bar, np.ones(LONG.shape))
    np.testing.assert_allclose(along, 0, atol=1e-12)
    np.testing.assert_allclose(bend, 0, atol=1e-12)


def test_third_derivatives_are_differences_of_second_ones():
    u, v = pt.dmatrix("u"), pt.dmatrix("v")
    slope = pt.grad(WeakOrderLogp()(u, pt.constant(RANKS)).sum(), u)
    bend = pt.grad((slope * v).sum(), u, consider_constant=[v])
    third = pt.grad((bend * v).sum(), u, consider_constant=[v])
    f = pytensor.function([u, v], [bend, third], mode="FAST_COMPILE")
    direction, step = np.random.default_rng(0).normal(size=UTILITY.shape), 1e-4
    ahead, behind = (f(UTILITY + h * direction, direction)[0] for h in (step, -step))
    numeric = (ahead - behind) / (2 * step)
    np.testing.assert_allclose(f(UTILITY, direction)[1], numeric, atol=1e-6)


class NoKernel(CompiledOp):
    """Cubes, whose kernel knows their first derivative."""

    signature = "(n)->(n)"
    kernel = staticmethod(lambda x: (x**3, 3 * x**2))

    def graph(self, *inputs):
        return inputs[0] ** 3


def test_without_a_kernel_the_graph_is_differentiated():
    x = pt.dvector("x")
    second = pt.grad(pt.grad(NoKernel()(x).sum(), x).sum(), x)
    f = pytensor.function([x], second, mode="FAST_COMPILE")
    assert not any(isinstance(node.op, Curvature) for node in f.maker.fgraph.apply_nodes)
    np.testing.assert_allclose(f([1.0, -2.0]), [6.0, -12.0])


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["NUMBA", "JAX"])
@pytest.mark.parametrize(
    "name", ["StageTotal", "RankingLogp", "large block", "harmonic, weighted sizes", "some rankers"]
)
def test_compiling_modes_have_what_perform_gives(mode, name):
    example = CASES[name]
    values, bar, directions = drawn(example)
    mine = compiled(example, values, mode)(*values, bar, *directions)
    called = compiled(example, values)(*values, bar, *directions)
    for found, expected in zip(mine, called, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-8 if mode == "JAX" else 1e-12)


@pytest.mark.parametrize("scale", [1.0, 500.0])
def test_all_second_derivatives_of_stages_are_those_along_the_axes(scale):
    example = EXAMPLES["StageTotal"]
    utility, *rest = (np.asarray(x) for x in example.values)
    inputs = [scale * utility.astype(float), *rest]
    matrix = np.eye(utility.size)
    (whole,) = example.apply.hessian(*inputs).dot([matrix])
    one = np.ones(1)
    along = [example.apply.curvature_kernel(*inputs, one, axis)[1] for axis in matrix]
    np.testing.assert_allclose(whole, along, rtol=1e-9, atol=1e-11)
