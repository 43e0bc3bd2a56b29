"""The base of the random variables of all families."""

from collections.abc import Sequence
from typing import Any

import pytensor.tensor as pt
from pymc.distributions.distribution import SymbolicRandomVariable
from pymc.distributions.shape_utils import rv_size_is_none
from pymc.pytensorf import normalize_rng_param
from pytensor.tensor import TensorVariable
from pytensor.tensor.random.utils import normalize_size_param

__all__ = ["DrawnRV"]


class DrawnRV(SymbolicRandomVariable):
    """A random variable that `draw` draws."""

    @classmethod
    def rv_op(cls, *parameters: Any, size: Any = None, rng: Any = None) -> TensorVariable:
        params = [pt.as_tensor_variable(x) for x in parameters]
        rng = normalize_rng_param(rng)
        size = normalize_size_param(size)
        next_rng, value = cls.draw(rng, None if rv_size_is_none(size) else tuple(size), *params)
        outputs: list[Any] = [next_rng, value]
        own = cls.signature_of(params)
        op = cls(inputs=[rng, size, *params], outputs=outputs, extended_signature=own)
        return op(rng, size, *params)

    @classmethod
    def draw(cls, rng: Any, size: Any, *parameters: Any) -> tuple[Any, TensorVariable]:
        """Return the next generator and a draw; `size` is None or lengths of leading axes."""
        raise NotImplementedError

    @classmethod
    def signature_of(cls, parameters: Sequence[Any]) -> str | None:
        """Return the signature for these parameters, None for that of the class."""
        return None
