"""Compiled Ops compare the lengths of their inputs before any kernel sees them.

A kernel that gets arrays of other lengths reads and writes memory of something else. Whatever is
called here with wrong lengths is therefore called in a process of its own.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

from bayesrank.likelihoods import choices
from bayesrank.likelihoods.mallows import op as mallows
from bayesrank.likelihoods.mallows import stages
from bayesrank.likelihoods.mallows.order_kernels import PAIRS
from bayesrank.likelihoods.mpm import op as mpm
from bayesrank.likelihoods.ops.compiled import CompiledOp, KernelOp, Pullback
from bayesrank.likelihoods.ops.signatures import LengthError, axes_of, check, rules_of
from bayesrank.likelihoods.pairs import graded, grounded, total
from bayesrank.likelihoods.plackett_luce import per_item, per_slot, remainders
from bayesrank.likelihoods.pmop import op as pmop

OPS = [
    mallows.LogSumOverOrders(PAIRS),
    mallows.LogSumOfCompletions(4, 0),
    mallows.RankingsDraw(4, 0),
    mallows.PassedOver(),
    stages.StagePairs(),
    mpm.LogNormalisers(),
    mpm.Agreement(),
    mpm.CountsDraw(),
    mpm.NetCountsDraw(),
    total.DavidsonTotal(),
    total.RaoKupperTotal(),
    total.ThurstoneTotal(),
    graded.GradedTotal("cumulative_logit", 4),
    grounded.GroundedTotal(),
    per_item.StageTotal(),
    per_item.RankingLogp(),
    per_slot.WeakOrderLogp(),
    remainders.LogRemainder(),
    pmop.OrderedPartitionLogp("mean", False),
    pmop.OrderedPartitionDraw("mean"),
    choices.ChosenInTurn(),
]
DERIVED = [Pullback(op) for op in OPS if getattr(op, "pullback_kernel", None) is not None]
# Under JAX these are graphs of a known number of items, or JAX's own functions: no kernel is called
ONLY_GRAPHS = {"LogSumOverOrders", "PassedOver", "LogRemainder"}
DTYPES = dict.fromkeys(("where", "member", "needed"), "bool") | dict.fromkeys(
    (
        *("ranks", "consensus", "seed", "item", "first", "second", "group", "which", "ranker"),
        *("cells", "sizes", "entry", "start", "child", "b_item", "b_start", "b_below", "b_entry"),
        *("slot_item", "slot_rank", "node_slot", "s_item", "s_node"),
        *("stage_of", "ranking_of"),
    ),
    "int64",
)
LENGTHS = {"n": 4, "s": 4}  # of axes; others have the length 3


def label(op):
    inner = getattr(op, "forward", getattr(op, "op", None))
    return type(op).__name__ + ("" if inner is None else f"-{type(inner).__name__}")


def shapes_of(op):
    """Shapes of the inputs that fit each other, and of the first output."""

    def length(axis):
        base, _, more = axis.partition("+")
        bases = {name: other for name, other, _ in op.or_length}
        base = bases.get(base, base)
        return int(base) if base.isdigit() else LENGTHS.get(base, 3) + int(more or 0)

    taken, given = axes_of(op.signature)
    return [tuple(map(length, axes)) for axes in taken], tuple(map(length, given))


def inputs_of(op):
    """Variables of the types that the kernel is used with."""
    shapes, _ = shapes_of(op)
    names = op.input_names[: len(shapes)]  # then constants
    return [
        pt.tensor(name, dtype=DTYPES.get(name, "float64"), shape=(None,) * len(shape))
        for name, shape in zip(names, shapes, strict=True)
    ]


def every_mismatch(op):
    """Shapes with one axis too long or too short, for every axis that has to be like another."""
    shapes, _ = shapes_of(op)
    for rule in op.rules():
        for change in (1, -1):
            other = [list(shape) for shape in shapes]
            other[rule.which][rule.axis] += change
            yield [tuple(shape) for shape in other]


def refuse_every_mismatch(op, call):
    """Call with every mismatch, and expect a sentence about two lengths each time."""
    n = 0
    for shapes in every_mismatch(op):
        with pytest.raises(
            LengthError, match=r"^Lengths .* the [\w ]+ has length \d+ along its axis \d, and "
        ) as e:
            call(shapes)
        assert len(str(e.value).splitlines()[0]) < 460
        n += 1
    return n


def in_python(op):
    def call(shapes):
        op.call(*(np.zeros(shape) for shape in shapes))

    return call


def in_mode(mode, op):
    inputs = inputs_of(op)
    f = pytensor.function(inputs, op(*inputs), mode=mode, on_unused_input="ignore")

    def call(shapes):
        f(*(np.zeros(shape, x.type.dtype) for shape, x in zip(shapes, inputs, strict=True)))

    return call


def run(mode, names):
    """Go through the Ops with these labels in another process, which must come to its end."""
    command = [sys.executable, "-m", "tests.likelihoods.ops.test_signatures", mode, *names]
    found = subprocess.run(command, cwd=Path(__file__).parents[3], capture_output=True, text=True)
    assert found.returncode == 0, found.stdout[-2000:] + found.stderr[-4000:]
    assert found.stdout.split() == list(names)


def test_all_ops_with_kernels_are_in_the_table():
    def subclasses(cls):
        return {cls} | {y for x in cls.__subclasses__() for y in subclasses(x)}

    ours = {x for x in subclasses(KernelOp) if x.__module__.startswith("bayesrank.")}
    public = {x for x in ours if not x.__name__.startswith("_")}
    bases = {KernelOp, CompiledOp, total.PairTotal}
    assert {type(op) for op in (*OPS, *DERIVED)} == public - bases


@pytest.mark.parametrize("op", [*OPS, *DERIVED], ids=label)
def test_every_op_refuses_every_mismatch_in_python_and_when_a_graph_is_made(op):
    ruled = refuse_every_mismatch(op, in_python(op))
    alone = {"LogRemainder"}  # one input, no axis twice
    assert ruled > 0 or type(op).__name__ in alone

    def known(shapes):
        op.make_node(*(pt.tensor(dtype="float64", shape=shape) for shape in shapes))

    assert refuse_every_mismatch(op, known) == ruled


@pytest.mark.parametrize("op", OPS, ids=label)
def test_shapes_of_the_outputs_are_known_without_values(op):
    inputs, (taken, given) = inputs_of(op), shapes_of(op)
    shapes = [x.shape for x in op(*inputs).owner.outputs]
    f = pytensor.function(inputs, shapes, mode="FAST_COMPILE", on_unused_input="ignore")
    assert type(op) not in {type(node.op) for node in f.maker.fgraph.toposort()}
    zeros = (np.zeros(shape, x.type.dtype) for shape, x in zip(taken, inputs, strict=True))
    first, *slopes = (tuple(shape) for shape in f(*zeros))
    assert first == given
    assert slopes == [taken[i] for i in op.wrt[: len(slopes)]]


def test_compiled_code_refuses_mismatches_and_goes_on():
    run("NUMBA", ["PassedOver"])


@pytest.mark.slow
@pytest.mark.parametrize("op", [*OPS, *DERIVED], ids=label)
def test_every_op_refuses_every_mismatch_in_compiled_code(op):
    run("NUMBA", [label(op)])


@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.slow), 24])
def test_every_op_refuses_every_mismatch_under_jax(every):
    found = [label(op) for op in (*OPS, *DERIVED) if type(op).__name__ not in ONLY_GRAPHS]
    run("JAX", found[::every])


def test_lengths_that_may_be_others_are_taken():
    rules = rules_of(
        "(p,k),(q,l),(a),(b)->(p)",
        (("q", "p", 1), ("l", "k", 0), ("a", "g", 1), ("b", "g", 1)),
    )

    def at(*shapes):
        check(rules, shapes, ["x", "y", "a", "b"])

    at((3, 4), (3, 4), (5,), (5,))
    at((3, 4), (1, 0), (1,), (5,))
    at((3, 4), (1, 4), (5,), (1,))
    at((3, None), (None, 7), (5,), (None,))  # what is not known is compared when it is
    for shapes, found in {
        ((3, 4), (2, 4), (5,), (5,)): "the y has length 2 along its axis 0, and the x has length 3",
        ((3, 4), (3, 1), (5,), (5,)): "the y has length 1 along its axis 1, and the x has length 4",
        ((3, 4), (3, 4), (5,), (6,)): "the b has length 6 along its axis 0, and the a has length 5",
    }.items():
        with pytest.raises(LengthError, match=f": {found}"):
            at(*shapes)


def test_lengths_that_are_numbers_or_one_more_are_compared():
    rules = rules_of("(3,c),(c+1)->()")
    check(rules, [(3, 5), (6,)], ["x", "y"])
    with pytest.raises(LengthError, match=r": the x has length 2 .*, and needs a length of 3\.$"):
        check(rules, [(2, 5), (6,)], ["x", "y"])
    with pytest.raises(LengthError, match=r"the x has length 5 .* The first must be 1 more\."):
        check(rules, [(3, 5), (5,)], ["x", "y"])


if __name__ == "__main__":
    every = {label(op): op for op in (*OPS, *DERIVED)}
    for name in sys.argv[2:]:
        refuse_every_mismatch(every[name], in_mode(sys.argv[1], every[name]))
        print(name)
