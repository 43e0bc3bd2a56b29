"""Follow the dims of the variables of a model through the expressions made of them.

PyMC keeps the dims of variables that it knows by name. ``u - u.mean()``, ``mu + s * z`` and
``x @ b`` have none, although each of their axes is an axis of a variable with dims. `follow_dims`
finds it through elementwise operations, sums, products of matrices, transposes and indices. Other
operations, such as a reversal, a sort or a reshape, leave an axis without a name.
"""

from collections.abc import Iterable

import numpy as np
import pymc as pm
from pytensor.compile.ops import ViewOp
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.traversal import toposort
from pytensor.raise_op import CheckAndRaise
from pytensor.tensor.basic import Alloc, Join
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.elemwise import CAReduce, DimShuffle, Elemwise
from pytensor.tensor.extra_ops import CumOp
from pytensor.tensor.math import Dot
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.shape import SpecifyShape
from pytensor.tensor.special import LogSoftmax, Softmax
from pytensor.tensor.subtensor import (
    AdvancedIncSubtensor,
    AdvancedSubtensor,
    IncSubtensor,
    Subtensor,
    indices_from_subtensor,
)
from pytensor.xtensor.basic import TensorFromXTensor

from bayesrank.data.read import quoted

__all__ = ["Names", "follow_dims"]

Names = tuple[str | None, ...]

# Their output has the axes of their first input
ALIKE = (
    AdvancedIncSubtensor,
    CheckAndRaise,
    IncSubtensor,
    LogSoftmax,
    Softmax,
    SpecifyShape,
    ViewOp,  # pm.Deterministic
)


def follow_dims(model: pm.Model, x: Variable, what: str) -> Names | None:
    """Return the dim of every axis of an expression, with None for an axis without a name.

    Parameters
    ----------
    model : pm.Model
        The model whose variables have dims.
    x : Variable
        A variable of the model, or a tensor made of such variables.
    what : str
        Name of the expression in messages.

    Returns
    -------
    tuple of str or None, or None
        None if no axis has a name.

    Raises
    ------
    ValueError
        If an operation combines two dims that have the same labels in different orders.

    Examples
    --------
    >>> import numpy as np, pymc as pm
    >>> with pm.Model(coords={"driver": ["b", "a"], "feature": ["age"]}) as model:
    ...     x = pm.Data("x", np.zeros((2, 1)), dims=("driver", "feature"))
    ...     b = pm.Normal("b", dims="feature")
    >>> follow_dims(model, 2 * (x @ b), "The utility"), follow_dims(model, x.T, "The utility")
    (('driver',), ('feature', 'driver'))
    """
    dims = _Followed(model, what).of(x)
    return None if {*dims} <= {None} else dims


class _Followed:
    """The names of the axes of variables, as far as they were followed."""

    def __init__(self, model: pm.Model, what: str) -> None:
        self.coords, self.what = model.coords, what
        self.found: dict[Variable, Names] = {
            model.named_vars[name]: tuple(dims)
            for name, dims in model.named_vars_to_dims.items()
            if name in model.named_vars
        }

    def of(self, x: Variable) -> Names:
        """Return the names of the axes of an expression."""
        known = [v for v, dims in self.found.items() if None not in dims]
        for node in toposort([x], blockers=known):
            names = self._through(node)
            for out in node.outputs:
                if names is not None and len(names) == getattr(out.type, "ndim", -1):
                    stated = self.found.get(out, names)
                    self.found[out] = tuple(a or b for a, b in zip(stated, names, strict=True))
        return self.names(x)

    def names(self, x: Variable) -> Names:
        """Return the names of the axes of a variable that was reached."""
        return self.found.get(x) or (None,) * getattr(x.type, "ndim", 0)

    def _through(self, node: Apply) -> Names | None:
        """Return the names of the axes of a node's output; None for other operations."""
        op, inputs = node.op, node.inputs
        given = self.names(inputs[0]) if inputs else ()
        if isinstance(op, ALIKE) or (isinstance(op, CumOp) and op.axis is not None):
            return given
        if isinstance(op, TensorFromXTensor):
            return tuple(map(str, inputs[0].type.dims))
        if isinstance(op, Elemwise):
            return self._aligned(inputs)
        if isinstance(op, DimShuffle):
            return tuple(None if axis == "x" else given[axis] for axis in op.new_order)
        if isinstance(op, CAReduce):
            dropped = range(len(given)) if op.axis is None else op.axis
            return tuple(name for axis, name in enumerate(given) if axis not in dropped)
        if isinstance(op, Subtensor | AdvancedSubtensor):
            return self._indexed(node)
        if isinstance(op, Dot) or (isinstance(op, Blockwise) and isinstance(op.core_op, Dot)):
            return self._multiplied(*inputs)
        if isinstance(op, Alloc):
            return self._aligned([inputs[0], node.outputs[0]])
        if isinstance(op, Join):
            joined = self._aligned(inputs)
            return (*joined[: op.axis], None, *joined[op.axis + 1 :])
        if isinstance(op, RandomVariable) and not op.ndim_supp:
            params = op.dist_params(node)
            by_place = [x for x, n in zip(params, op.ndims_params, strict=True) if not n]
            return self._aligned([node.outputs[1], *by_place])
        return None

    def _aligned(self, inputs: Iterable[Variable], core: int = 0) -> Names:
        """Return the names of axes that broadcast together, without the last `core` axes."""
        parts = []
        for x in inputs:
            kept = x.type.ndim - core
            parts.append([*zip(x.type.shape[:kept], self.names(x)[:kept], strict=True)])
        names = []
        for place in range(-max(map(len, parts), default=0), 0):
            axes = [part[place] for part in parts if len(part) >= -place]
            stretched = any(length != 1 for length, _ in axes)
            names.append(self._one(name for n, name in axes if n != 1 or not stretched))
        return tuple(names)

    def _one(self, names: Iterable[str | None]) -> str | None:
        """Return the name of axes that an operation combines; None if their labels differ."""
        distinct = [*dict.fromkeys(name for name in names if name is not None)]
        if len(distinct) < 2:
            return distinct[0] if distinct else None
        labelled = {
            name: np.asarray(self.coords[name])
            for name in distinct
            if self.coords.get(name) is not None
        }
        if not labelled:
            return None
        first, *others = labelled
        for other in others:
            a, b = labelled[first], labelled[other]
            if np.array_equal(a, b):
                continue
            if {*a} == {*b}:
                raise ValueError(
                    f"{self.what} combines the dims {first!r} and {other!r} place by place, but "
                    f"their labels stand in different orders: {quoted(a)}; and {quoted(b)}. Give "
                    "both variables the same dim."
                )
            return None
        return first

    def _multiplied(self, x: Variable, y: Variable) -> Names:
        """Return the names of the axes of a product of matrices."""
        rows, inner = self.names(x)[-2:]
        also_inner, columns = self.names(y)[-2:]
        self._one([inner, also_inner])
        return (*self._aligned([x, y], core=2), rows, columns)

    def _indexed(self, node: Apply) -> Names | None:
        """Return the names after indices: each array of them brings its own dims."""
        x, *flat = node.inputs
        names = self.names(x)
        indices = [*indices_from_subtensor(flat, node.op.idx_list)]
        indices += [slice(None)] * (len(names) - len(indices))
        arrays = [place for place, i in enumerate(indices) if isinstance(i, Variable)]
        if any(indices[place].type.dtype == "bool" for place in arrays):
            return None
        kept = [
            (place, names[place] if index == slice(None) else None)
            for place, index in enumerate(indices)
            if isinstance(index, slice)
        ]
        gathered = self._aligned(
            indices[place] for place in arrays if hasattr(indices[place].type, "ndim")
        )
        # NumPy puts the axes of separated arrays first
        adjacent = bool(arrays) and arrays[-1] - arrays[0] == len(arrays) - 1
        start = arrays[0] if adjacent else 0
        before = tuple(name for place, name in kept if place < start)
        return (*before, *gathered, *(name for place, name in kept if place >= start))
