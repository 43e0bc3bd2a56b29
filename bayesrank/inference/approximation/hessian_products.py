r"""Products of a model's Hessian with many directions.

Differences of gradients take two passes over the data for each direction. One pass is enough for
all directions v of the variables x if a compiled likelihood f has a method ``hessian`` (see
`bayesrank.likelihoods.pairs.total`). It returns the second derivatives by the inputs
:math:`\theta(x)`:

.. math:: \nabla^2_x \log p \; v = J^\top \nabla^2_\theta f \, (J v)
          + \nabla^2_x \bigl[\log p - f + \langle \nabla_\theta f, \theta(x) \rangle\bigr]\, v,
          \qquad J = \partial \theta / \partial x,

where the slopes in the brackets are constants. The rest is the Hessian of the priors and of
:math:`\theta(x)`, whose cost does not grow with the data.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
from numpy.typing import NDArray
from pymc.pytensorf import compile as compile_pytensor
from pymc.pytensorf import rewrite_pregrad
from pytensor.gradient import pushforward
from pytensor.graph.basic import Apply
from pytensor.graph.replace import graph_replace, vectorize_graph
from pytensor.graph.traversal import ancestors
from scipy.sparse import block_diag, csr_array

from bayesrank.inference.approximation.modes import gradient_change, join_inputs

__all__ = ["Links", "Products", "likelihoods_of", "many_products", "products_by_differences"]

Floats = NDArray[np.float64]
Products = Callable[..., Callable[[Floats], Floats]]
Links = Callable[[Floats, NDArray[np.int64]], csr_array | None]
_IGNORED: Any = {"disconnected_inputs": "ignore"}


def likelihoods_of(logp: Any) -> list[Apply]:
    """Find the compiled likelihoods with second derivatives in the graph of a log density."""
    owners = {x.owner: None for x in ancestors([logp]) if x.owner is not None}
    return [owner for owner in owners if hasattr(owner.op, "hessian")]


def products_by_differences(density: Callable[[Floats], tuple[Any, Floats]]) -> Products:
    """Return products with the Hessian as differences of the gradient, as from `many_products`.

    Relative errors are about 1e-6, and nothing is compiled.
    """

    def along(x: Floats, direction: Floats) -> Floats:
        # a step along a short direction would not move the point
        length = abs(direction).max() or 1.0
        return length * gradient_change(lambda x: density(x)[1], x, direction / length)

    def at_point(x: Floats, _: Floats | None = None) -> Callable[[Floats], Floats]:
        return lambda directions: np.stack([along(x, v) for v in directions])

    return at_point


AT_ONCE = 32  # directions per call, which bounds memory


def many_products(
    model: pm.Model, density: Callable[[Floats], tuple[Any, Floats]]
) -> tuple[Products, Links | None]:
    """Compile products with the Hessian of the log posterior.

    Parameters
    ----------
    model : pm.Model
    density : callable
        Its log density and gradient, from `objective`.

    Returns
    -------
    (callable, callable or None)
        From the ravelled free variables, (n,), to a function from directions, (n_directions, n), to
        the Hessian times each, (n_directions, n). With a second argument, (n,) or None, compiled
        likelihoods take their second derivatives there; the last ones are kept. Then a function
        that finds linked variables, or None without compiled likelihoods. From the variables, and
        positions of some, (m,), it returns a matrix, (m, m). An entry means that a term of the
        likelihood links two of them. It returns None if an input of a likelihood depends on several
        of them.
    """
    logp = rewrite_pregrad(model.logp())
    nodes = likelihoods_of(logp)
    if not nodes:
        return products_by_differences(density), None

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

    free = model.continuous_value_vars
    along = [x.type(x.name) for x in free]
    slope = pytensor.grad(replaced, free, **_IGNORED)
    bend = pytensor.grad(_inner(slope, along), free, consider_constant=along, **_IGNORED)
    # J v, as the derivative of v' J' y by y
    weights = [x.type() for x in inputs]
    pulled = pytensor.grad(_inner(weights, inputs), free, **_IGNORED)  # J' weights
    # one by one: PyTensor loses what an input depends on through another input
    pushed = [
        pushforward(x, free, along, disconnected_outputs="ignore", return_disconnected="zero")
        for x in inputs
    ]
    outputs = [_ravelled(pulled), _ravelled(bend), *pushed, *everything]
    point = model.initial_point()
    outputs, at = join_inputs(point, outputs, free)
    outputs, along = join_inputs(point, outputs, along)
    pulled, bend, *outputs = outputs
    pushed, everything = outputs[: len(inputs)], outputs[len(inputs) :]
    # one call for many directions takes a quarter of the time of a call for each
    many = [x.type.clone(shape=(None, *x.type.shape))() for x in (along, *weights)]
    forwards = vectorize_graph([bend, *pushed], {along: many[0]})
    backwards = vectorize_graph(pulled, dict(zip(weights, many[1:], strict=True)))
    options: Any = {"trust_input": True, "on_unused_input": "ignore"}
    values_at = compile_pytensor([at], everything, **options)
    forward = compile_pytensor([at, many[0], *slopes], forwards, **options)
    backward = compile_pytensor([at, *many[1:]], backwards, **options)

    last: list[tuple[Floats, list[Any]]] = []

    def inputs_at(x: Floats) -> list[list[Floats]]:
        values = iter(values_at(x))
        return [[np.array(next(values), order="C") for _ in node.inputs] for node in nodes]

    def slopes_at(x: Floats) -> list[Floats]:
        found = zip(nodes, inputs_at(x), strict=True)
        return [slope for node, mine in found for slope in node.op.call(*mine)[1:]]

    def hessians_at(x: Floats) -> list[Any]:
        if not last or not np.array_equal(last[0][0], x):
            found = zip(nodes, inputs_at(x), strict=True)
            last[:] = [(x.copy(), [node.op.hessian(*mine) for node, mine in found])]
        return last[0][1]

    def links(x: Floats, places: NDArray[np.int64]) -> csr_array | None:
        slopes_at_x, hessians = slopes_at(x), hessians_at(x)
        number = np.arange(1.0, places.size + 1)
        directions = np.zeros((3, x.size))
        directions[:, places] = number ** np.arange(3)[:, None]
        _, *pushed = forward(x, directions, *slopes_at_x)
        moved = np.concatenate(
            [np.broadcast_to(v, (3, g.size)) for v, g in zip(pushed, slopes_at_x, strict=True)], 1
        )
        # an input that depends on one variable moves in proportion to its number
        rows = np.flatnonzero(moved.any(axis=0))
        once, by_number, by_square = moved[:, rows]
        with np.errstate(divide="ignore", invalid="ignore"):
            which = by_number / once
            several = ~(abs(by_square / once - which**2) <= 1e-6 * which**2)
        if several.any():
            return None
        columns = np.rint(which).astype(np.int64) - 1
        shape = (moved.shape[1], places.size)
        to_inputs = csr_array((np.ones(rows.size), (rows, columns)), shape)
        sizes = [[g.size for g in slopes_at_x[a:b]] for a, b in pairwise(ends)]
        together = block_diag(
            [hessian.links(size) for hessian, size in zip(hessians, sizes, strict=True)], "csr"
        )
        return csr_array(to_inputs.T @ together @ to_inputs)

    def at_point(x: Floats, curved_at: Floats | None = None) -> Callable[[Floats], Floats]:
        slopes_at_x, hessians = slopes_at(x), hessians_at(x if curved_at is None else curved_at)

        def products(directions: Floats) -> Floats:
            out = np.empty(directions.shape)
            for first in range(0, len(out), AT_ONCE):
                some = directions[first : first + AT_ONCE]
                bend, *pushed = forward(x, some, *slopes_at_x)
                # inputs that do not depend on the variables are the same in all directions
                into = [
                    np.broadcast_to(v, (len(some), *g.shape))
                    for v, g in zip(pushed, slopes_at_x, strict=True)
                ]
                changed: list[Floats] = []
                for hessian, a, b in zip(hessians, ends[:-1], ends[1:], strict=True):
                    changed += hessian.dot(into[a:b])
                # another memory layout would compile the function again
                back = backward(x, *map(np.ascontiguousarray, changed))
                np.add(bend, back, out=out[first : first + AT_ONCE])
            return out

        return products

    return at_point, links


def _inner(one: Sequence[Any], other: Sequence[Any]) -> Any:
    """Inner product of two lists of variables."""
    return pt.add(*(pt.sum(x * y) for x, y in zip(one, other, strict=True)), pt.zeros(()))


def _ravelled(parts: Sequence[Any]) -> Any:
    return pt.concatenate([part.ravel() for part in parts])
