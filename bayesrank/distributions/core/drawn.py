"""The base of the random variables of all families."""

from collections.abc import Iterable, Mapping, Sequence
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

__all__ = ["DrawnRV", "batch_shape", "name_parameters", "signature"]


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


def name_parameters(names: Iterable[str], values: Sequence[Any], **more: Any) -> SimpleNamespace:
    """Name the parameters; missing ones are None."""
    known = dict(zip(names, values, strict=False))
    return SimpleNamespace(**dict.fromkeys(names) | known | more)


class DrawnRV(SymbolicRandomVariable):
    """A random variable with named parameters; the last of them may be missing.

    `parameters` maps each name to its axes, `value_axes` are the axes of a draw, and `outcomes` is
    the label of the outcome space. The *structure* of an instance holds what is not numeric, such
    as the axes of its utilities, by name. All class methods find it in `p`, with the parameters.
    """

    parameters: ClassVar[Mapping[str, str]] = MappingProxyType({})
    value_axes: ClassVar[str] = ""
    outcomes: ClassVar[str] = ""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "parameters" in vars(cls):
            cls.extended_signature = signature(cls.parameters, cls.value_axes)

    def __init__(self, *args: Any, structure: Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.structure = {**structure}  # a plain mapping can be pickled

    def __eq__(self, other: object) -> bool:
        # draws may agree where the log-probabilities differ
        alike = isinstance(other, DrawnRV) and self.structure == other.structure
        return alike and super().__eq__(other)

    __hash__ = SymbolicRandomVariable.__hash__

    @classmethod
    def list_parameters(cls, structure: Mapping[str, Any]) -> Mapping[str, str]:
        """Return the axes of all parameters, by their names."""
        return cls.parameters

    @classmethod
    def rv_op(
        cls, *parameters: Any, size: Any = None, rng: Any = None, **unknown: Any
    ) -> TensorVariable:
        for option in unknown:
            raise TypeError(
                f"The distribution got an unexpected keyword argument {option!r}. It takes its "
                "parameters, and shape=, size= and rng=."
            )
        return cls.build({}, *parameters, size=size, rng=rng)

    @classmethod
    def build(
        cls, structure: Mapping[str, Any], *parameters: Any, size: Any = None, rng: Any = None
    ) -> TensorVariable:
        """Make a variable with a structure, given its parameters."""
        names = cls.list_parameters(structure)
        params = [pt.as_tensor_variable(x) for x in parameters]
        rng = normalize_rng_param(rng)
        size = normalize_size_param(size)
        shape = None if rv_size_is_none(size) else tuple(size)
        outputs = [*cls.draw(rng, shape, name_parameters(names, params, **structure))]
        signed = signature(dict(islice(names.items(), len(params))), cls.value_axes)
        inputs = [rng, size, *params]
        return cls(inputs, outputs, extended_signature=signed, structure=structure)(*inputs)

    def rebuild_rv(self, *args: Any, **kwargs: Any) -> TensorVariable:
        return self.build(self.structure, *args, **kwargs)

    def named(self, parameters: Sequence[Any]) -> SimpleNamespace:
        """Name the parameters, and add the structure."""
        return name_parameters(self.list_parameters(self.structure), parameters, **self.structure)

    @classmethod
    def draw(cls, rng: Any, size: Any, p: SimpleNamespace) -> tuple[Any, TensorVariable]:
        """Return the next generator and a draw; `size` is None or the shape of leading axes."""
        raise NotImplementedError

    @classmethod
    def logp(cls, value: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        """Return one log-probability per draw, given the named parameters."""
        raise NotImplementedError

    @classmethod
    def check_value(cls, value: TensorVariable, p: SimpleNamespace) -> None:
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
    p = op.named(parameters)
    op.check_value(values[0], p)
    return maybe_resize(op.logp(values[0], p), size)


@_support_point.register(DrawnRV)
def _some_value(
    op: DrawnRV, rv: TensorVariable, rng: Any, size: Any, *parameters: Any
) -> TensorVariable:
    return op.support_point(rv, op.named(parameters))
