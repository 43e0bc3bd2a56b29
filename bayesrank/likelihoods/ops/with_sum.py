"""Terms whose sum has a cheaper graph.

A sampler needs the sum of a log-likelihood many times; LOO needs its terms once. If many terms are
equal, their sum is a weighted sum of a few distinct terms. `with_sum` stores both graphs: a
canonicalisation replaces the sum of the terms by the other graph, and otherwise the terms remain.
PyMC canonicalises before it differentiates, so gradients also use the cheaper graph.

>>> import pytensor.tensor as pt
>>> x = pt.dvector("x")
>>> terms = with_sum(pt.exp(x[[0, 1, 0]]), pt.sum([2.0, 1.0] * pt.exp(x)))
>>> [part.eval({x: [0.0, 1.0]}).round(3).tolist() for part in (terms, terms.sum())]
[[1.0, 2.718, 1.0], 4.718]
"""

from typing import Any

from pytensor.gradient import disconnected_type
from pytensor.graph.basic import Apply
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.rewriting.basic import node_rewriter
from pytensor.tensor import TensorLike, TensorVariable
from pytensor.tensor.math import Sum
from pytensor.tensor.rewriting.basic import register_canonicalize, register_specialize

from bayesrank.likelihoods.ops.compiled import FirstInput

__all__ = ["WithSum", "with_sum"]


class WithSum(FirstInput):
    """The first input; the second input is its sum. Use `with_sum`."""

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True], [False]]

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:
        return [cotangents[0], disconnected_type()]

    def pushforward(self, inputs: Any, outputs: Any, tangents: Any) -> list[Any]:
        return [tangents[0]]


_with_sum = WithSum()


def with_sum(terms: TensorLike, total: TensorLike) -> TensorVariable:
    """Return terms with a second graph for their sum.

    If only the sum of the terms is used, the scalar `total` is evaluated instead. It must equal the
    sum for all inputs of the two graphs.
    """
    return _with_sum(terms, total)


@register_canonicalize
@node_rewriter([Sum])
def sum_is_the_known_one(fgraph: FunctionGraph, node: Apply) -> list[TensorVariable] | None:
    """Sum(WithSum(terms, total)) -> total."""
    terms = node.inputs[0]
    if terms.owner is None or not isinstance(terms.owner.op, WithSum) or node.outputs[0].ndim:
        return None
    return [terms.owner.inputs[1]]


@register_specialize
@node_rewriter([WithSum])
def terms_are_themselves(fgraph: FunctionGraph, node: Apply) -> list[TensorVariable]:
    """WithSum(terms, total) -> terms, after sums have been replaced."""
    return [node.inputs[0]]
