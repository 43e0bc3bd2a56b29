r"""Products of a model's Hessian with many directions.

One direction costs a pass over the data. Where a compiled likelihood f gives its second derivatives
by its own inputs :math:`\theta(x)` whole (a method ``hessian``, see
`bayesrank.likelihoods.pairs.total`), one pass is enough for all directions v of the variables x:

.. math:: \nabla^2_x \log p \; v = J^\top \nabla^2_\theta f \, (J v)
          + \nabla^2_x \bigl[\log p - f + \langle \nabla_\theta f, \theta(x) \rangle\bigr]\, v,
          \qquad J = \partial \theta / \partial x,

the slopes in the brackets being constants. What is left to differentiate are the priors and how
inputs are made of the variables, which does not grow with the data.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
from numpy.typing import NDArray
from pymc.pytensorf import compile as compile_pytensor
from pymc.pytensorf import rewrite_pregrad
from pytensor.graph.basic import Apply
from pytensor.graph.replace import graph_replace
from pytensor.graph.traversal import ancestors

from bayesrank.inference.modes import hessian_product, join_inputs

__all__ = ["likelihoods_of", "many_products"]

Floats = NDArray[np.float64]
_IGNORED: Any = {"disconnected_inputs": "ignore"}


def likelihoods_of(logp: Any) -> list[Apply]:
    """Find what gives its second derivatives whole, in the graph of a log density."""
    owners = {x.owner: None for x in ancestors([logp]) if x.owner is not None}
    return [owner for owner in owners if hasattr(owner.op, "hessian")]


def many_products(model: pm.Model) -> Callable[[Floats], Callable[[Floats], Floats]]:
    """Compile products with the Hessian of the log posterior.

    Parameters
    ----------
    model : pm.Model
        What to compile.

    Returns
    -------
    callable
        From the free variables, ravelled as `objective` does, (n,), to a function from directions,
        (n, columns), to the Hessian times each, (n, columns).

    Examples
    --------
    >>> with pm.Model() as model:
    ...     x = pm.Normal("x", 0, [1.0, 2.0])
    >>> many_products(model)(np.zeros(2))(np.ones((2, 1)))
    array([[-1.  ],
           [-0.25]])
    """
    logp = rewrite_pregrad(model.logp())
    nodes = likelihoods_of(logp)
    if not nodes:
        product = hessian_product(model)

        def one_by_one(x: Floats) -> Callable[[Floats], Floats]:
            return lambda directions: np.stack([product(x, v) for v in directions.T], axis=1)

        return one_by_one

    inputs = [node.inputs[i] for node in nodes for i in node.op.wrt]
    slopes = [x.type() for x in inputs]
    weighted = [pt.sum(slope * x) for slope, x in zip(slopes, inputs, strict=True)]
    n_inputs = [len(node.op.wrt) for node in nodes]
    ends = np.cumsum([0, *n_inputs])
    linear = {
        node.outputs[0]: pt.add(*weighted[a:b], pt.zeros(()))
        for node, a, b in zip(nodes, ends[:-1], ends[1:], strict=True)
    }
    replaced = graph_replace(logp, [*linear.items()], strict=True)
    everything = [x for node in nodes for x in node.inputs]
    outputs = [replaced, *inputs, *everything]
    outputs, at = join_inputs(model.initial_point(), outputs, model.continuous_value_vars)
    surrogate, *made = outputs[: 1 + len(inputs)]
    everything = outputs[1 + len(inputs) :]

    along = at.type("along")
    slope = pytensor.grad(surrogate, at)
    bend = pytensor.grad(pt.sum(slope * along), at, consider_constant=[along], **_IGNORED)
    # J v, as the derivative of v' J' y by y
    weights = [x.type() for x in inputs]
    total = pt.add(*(pt.sum(y * x) for y, x in zip(weights, made, strict=True)), pt.zeros(()))
    pulled = pytensor.grad(total, at)
    pushed = pytensor.grad(pt.sum(pulled * along), weights, return_disconnected="zero", **_IGNORED)
    # linear in y, whatever y is
    anywhere = [(y, pt.zeros_like(x)) for y, x in zip(weights, made, strict=True)]
    pushed = graph_replace(pushed, anywhere, strict=False)
    options: Any = {"trust_input": True, "on_unused_input": "ignore"}
    values_at = compile_pytensor([at], everything, **options)
    forward = compile_pytensor([at, along, *slopes], [bend, *pushed], **options)
    backward = compile_pytensor([at, *slopes], slope, **options)

    def at_point(x: Floats) -> Callable[[Floats], Floats]:
        values = values_at(x)
        here, hessians = [], []
        for node in nodes:
            mine, values = values[: len(node.inputs)], values[len(node.inputs) :]
            mine = [np.array(value, order="C") for value in mine]
            here += node.op.kernel(*mine, *node.op.constants)[1:]
            hessians.append(node.op.hessian(*mine))
        nothing = backward(x, *(np.zeros_like(g) for g in here))

        def products(directions: Floats) -> Floats:
            bent, *pushed = zip(*(forward(x, v, *here) for v in _columns(directions)), strict=True)
            into = [np.stack(columns, axis=1) for columns in pushed]
            changed: list[Floats] = []
            for hessian, a, b in zip(hessians, ends[:-1], ends[1:], strict=True):
                changed += hessian.dot(into[a:b])
            back = zip(*(_columns(change) for change in changed), strict=True)
            found = [b + backward(x, *g) - nothing for b, g in zip(bent, back, strict=True)]
            return np.stack(found, axis=1)

        return products

    return at_point


def _columns(matrix: Floats) -> list[Floats]:
    return list(np.ascontiguousarray(matrix.T))
