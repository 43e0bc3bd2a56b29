"""Terms that are meaningful only as a sum.

The terms of a composite likelihood are not independent. A sampler can use their sum, but no single
term is the probability of an observation. Terms from `only_sum` may be scaled, summed and
differentiated. A function that returns the individual terms raises a ValueError instead.

>>> import pytensor.tensor as pt
>>> x = pt.dvector("x")
>>> terms = 3.0 * only_sum(pt.exp(x), "These terms say nothing by themselves.")
>>> float(terms.sum().eval({x: [0.0, 0.0]}))
6.0
>>> terms.eval({x: [0.0, 0.0]})  # doctest: +IGNORE_EXCEPTION_DETAIL
Traceback (most recent call last):
ValueError: These terms say nothing by themselves.
"""

from typing import Any

import numpy as np
from pytensor.compile.mode import optdb
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.rewriting.basic import graph_rewriter
from pytensor.raise_op import CheckAndRaise
from pytensor.scalar.basic import Second
from pytensor.tensor import TensorLike, TensorVariable
from pytensor.tensor.elemwise import CAReduce, Elemwise
from pytensor.tensor.shape import Shape, Shape_i

from bayesrank.likelihoods.ops.compiled import FirstInput

__all__ = ["OnlySum", "only_sum"]


class OnlySum(FirstInput):
    """The first input, which a function may only return as a sum; use `only_sum`."""

    __props__: tuple[str, ...] = ("sentence",)

    def __init__(self, sentence: str) -> None:
        self.sentence = sentence

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:
        return list(cotangents)

    def pushforward(self, inputs: Any, outputs: Any, tangents: Any) -> list[Any]:
        return list(tangents)


class Refused(CheckAndRaise):
    """An Op that raises the message when it is evaluated."""

    def perform(self, node: Apply, inputs: Any, outputs: Any) -> None:
        raise ValueError(self.msg)


def only_sum(terms: TensorLike, sentence: str) -> TensorVariable:
    """Return the terms, marked as meaningful only in sum.

    A function that returns them raises a ValueError with the given sentence.
    """
    return OnlySum(sentence)(terms)


@graph_rewriter
def refuse_terms(fgraph: FunctionGraph) -> None:
    """Replace terms that reach an output without being summed by an Op that raises an error.

    This rewrite runs first, because other rewrites may fuse Ops on the way. It does not raise the
    error itself, because PyTensor catches and prints exceptions in rewrites.
    """
    if not any(isinstance(node.op, OnlySum) for node in fgraph.apply_nodes):
        return
    nodes = [x.owner for x in fgraph.outputs if x.owner and getattr(x.type, "ndim", 0)]
    seen: set[Apply] = set()
    while nodes:
        node = nodes.pop()
        if node in seen:
            continue
        seen.add(node)
        if isinstance(node.op, OnlySum):
            refused = Refused(ValueError, node.op.sentence)(node.inputs[0], np.bool_(False))
            fgraph.replace(node.outputs[0], refused, reason="refuse_terms", import_missing=True)
        nodes += [x.owner for x in _values(node) if x.owner]


def _values(node: Apply) -> list[Variable]:
    """Return the inputs whose entries may appear in the outputs."""
    if isinstance(node.op, CAReduce | Shape | Shape_i):
        return []
    if isinstance(node.op, Elemwise) and isinstance(node.op.scalar_op, Second):
        return list(node.inputs[1:])  # the first input only provides the shape
    return list(node.inputs)


optdb.register("refuse_terms", refuse_terms, "fast_run", "fast_compile", position=-0.5)
