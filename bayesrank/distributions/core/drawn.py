"""The base of the random variables of all families."""

from collections.abc import Mapping, Sequence
from itertools import islice
from types import MappingProxyType, SimpleNamespace
from typing import Any, ClassVar

import pytensor.tensor as pt
from pymc.distributions.distribution import SymbolicRandomVariable, _support_point
from pymc.distributions.shape_utils import maybe_resize, rv_size_is_none
from pymc.logprob.abstract import _logprob
from pymc.pytensorf import normalize_rng_param
from pytensor.tensor import TensorVariable
from pytensor.tensor.random.utils import normalize_size_param

__all__ = ["DrawnRV", "batch_shape", "signature"]


def batch_shape(*parameters: TensorVariable) -> tuple[Any, ...]:
    """Return the broadcast shape of all axes but the last.

    If one parameter has all axes, its shape is used: JAX needs concrete shapes, not computed ones.
    """
    batches = [(tuple(p.shape)[:-1], p.type.broadcastable[:-1]) for p in parameters]
    deepest = max(len(shape) for shape, _ in batches)
    for shape, broadcastable in batches:
        if len(shape) == deepest and not any(broadcastable):
            return shape
    # constants for lengths of one; otherwise PyTensor forbids broadcasting along the axis
    shapes = [
        tuple(1 if one else n for n, one in zip(shape, broadcastable, strict=True))
        for shape, broadcastable in batches
    ]
    return tuple(pt.broadcast_shape(*shapes, arrays_are_shapes=True))


def signature(parameters: Mapping[str, str], value: str) -> str:
    """Compose the signature of a random variable from the axes of its parameters and of a draw.

    Examples
    --------
    >>> signature({"utility": "slot", "nodes": ""}, "slot")
    '[rng],[size],(slot),()->[rng],(slot)'
    """
    inputs = ",".join(f"({axes})" for axes in parameters.values())
    return f"[rng],[size],{inputs}->[rng],({value})"


class DrawnRV(SymbolicRandomVariable):
    """A random variable with named parameters; the last of them may be missing.

    `parameters` maps each name to its axes, `value_axes` are the axes of a draw, and `outcomes` is
    the label of the outcome space.
    """

    parameters: ClassVar[Mapping[str, str]] = MappingProxyType({})
    value_axes: ClassVar[str] = ""
    outcomes: ClassVar[str] = ""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "parameters" in vars(cls):
            cls.extended_signature = signature(cls.parameters, cls.value_axes)

    @classmethod
    def rv_op(cls, *parameters: Any, size: Any = None, rng: Any = None) -> TensorVariable:
        params = [pt.as_tensor_variable(x) for x in parameters]
        rng = normalize_rng_param(rng)
        size = normalize_size_param(size)
        shape = None if rv_size_is_none(size) else tuple(size)
        next_rng, value = cls.draw(rng, shape, cls.named(params))
        outputs: list[Any] = [next_rng, value]
        given = dict(islice(cls.parameters.items(), len(params)))
        op_signature = signature(given, cls.value_axes)
        op = cls(inputs=[rng, size, *params], outputs=outputs, extended_signature=op_signature)
        return op(rng, size, *params)

    @classmethod
    def named(cls, parameters: Sequence[Any]) -> SimpleNamespace:
        """Name the parameters; missing ones are None."""
        known = dict(zip(cls.parameters, parameters, strict=False))
        return SimpleNamespace(**dict.fromkeys(cls.parameters) | known)

    @classmethod
    def draw(cls, rng: Any, size: Any, p: SimpleNamespace) -> tuple[Any, TensorVariable]:
        """Return the next generator and a draw; `size` is None or the shape of leading axes."""
        raise NotImplementedError

    @classmethod
    def logp(cls, value: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        """Return one log-probability per draw, given the named parameters."""
        raise NotImplementedError

    @classmethod
    def check_value(cls, value: TensorVariable) -> None:
        """Raise if a given value can be misunderstood."""

    @classmethod
    def support_point(cls, rv: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        """Return a possible value."""
        return pt.zeros_like(rv)

    @classmethod
    def outcome(cls, *parameters: Any) -> str:
        """Return the label of the outcome space, over which probabilities sum to one."""
        return cls.outcomes


@_logprob.register(DrawnRV)
def _logp(
    op: DrawnRV, values: Any, rng: Any, size: Any, *parameters: Any, **kwargs: Any
) -> TensorVariable:
    op.check_value(values[0])
    return maybe_resize(op.logp(values[0], op.named(parameters)), size)


@_support_point.register(DrawnRV)
def _some_value(
    op: DrawnRV, rv: TensorVariable, rng: Any, size: Any, *parameters: Any
) -> TensorVariable:
    return op.support_point(rv, op.named(parameters))
