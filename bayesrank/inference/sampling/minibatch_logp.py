"""A log posterior as a function of some of its data, evaluated batch by batch."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
from numpy.typing import NDArray
from pymc.blocking import DictToArrayBijection, RaveledVars
from pytensor.compile.mode import get_mode
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Apply
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.replace import clone_replace
from pytensor.graph.rewriting.basic import WalkingGraphRewriter, node_rewriter
from pytensor.graph.traversal import ancestors
from pytensor.tensor.math import Sum

__all__ = ["Batch", "Divided", "divided"]

Batch = dict[str, NDArray[Any]]  # rows of the data, by name


class Divided(NamedTuple):
    """The parts of a log posterior, and the data that are divided into batches."""

    model: pm.Model
    dim: str
    data: dict[str, SharedVariable]
    prior: Any  # scalar
    per_row: list[Any]  # log-likelihoods, (n_rows,)
    summed: list[Any]  # potentials that depend on the data, of any shape
    n_rows: int

    def rows(self, index: NDArray[np.int64]) -> Batch:
        """Take rows of all data."""
        return {name: x.get_value(borrow=True)[index] for name, x in self.data.items()}

    def compile_slope(
        self, size: int, n_training: int, at: RaveledVars, mode: str | None
    ) -> Callable[[NDArray[np.float64], Batch], tuple[float, NDArray[np.float64]]]:
        """Compile the mean log posterior of batches of `size`, and its gradient."""
        terms = [x.sum() for x in (*self.per_row, *self.summed)]
        lengths = [x.shape[0] for x in self.per_row]
        value = self.prior / n_training + pt.add(pt.zeros(()), *terms) / size
        with self._batch_of(size):
            (value, *lengths), point, data = self._as_function([value, *lengths], size, at)
            slopes = pytensor.grad(value, point)
            compiled = pytensor.function(
                [*point, *data], [value, *lengths, *slopes], mode=_training_mode(mode)
            )

        def evaluate(x: NDArray[np.float64], batch: Batch) -> tuple[float, NDArray[np.float64]]:
            with self._batch_of(size):
                value, *rest = compiled(*self._arguments(x, batch, at))
                n_rows, slopes = rest[: len(lengths)], rest[len(lengths) :]
                if any(int(n) != size for n in n_rows):
                    raise ValueError(f"It has {int(max(n_rows))} log-likelihoods.")
            return float(value), np.concatenate([np.ravel(x) for x in slopes])

        return evaluate

    @contextmanager
    def _batch_of(self, size: int) -> Iterator[None]:
        """Name the likely cause if a batch does not match the rest of the model."""
        try:
            yield
        except (ValueError, TypeError, AssertionError) as error:
            raise ValueError(
                f"A batch of {size} cannot be evaluated: {error} All data along {self.dim!r}, with "
                f"its {self.n_rows} labels, must be pm.Data with this dim first."
            ) from error

    def compile_score(
        self, size: int, at: RaveledVars, mode: str | None
    ) -> Callable[[NDArray[np.float64], Batch], float]:
        """Compile the mean log-likelihood of `size` rows."""
        terms = [x.sum() for x in (*self.per_row, *self.summed)]
        (value,), point, data = self._as_function([pt.add(pt.zeros(()), *terms)], size, at)
        compiled = pytensor.function([*point, *data], value, on_unused_input="ignore", mode=mode)
        return lambda x, batch: float(compiled(*self._arguments(x, batch, at))) / size

    def _arguments(self, x: NDArray[np.float64], batch: Batch, at: RaveledVars) -> list[Any]:
        point = DictToArrayBijection.rmap(at._replace(data=x))
        return [*point.values(), *(batch[name] for name in self.data)]

    def _as_function(
        self, outputs: list[Any], size: int, at: RaveledVars
    ) -> tuple[list[Any], list[Any], list[Any]]:
        """Turn variables and data into inputs of known shape, as JAX requires."""
        values = {value.name: value for value in self.model.value_vars}
        point = {
            values[name]: pt.tensor(name, dtype=x.dtype, shape=x.shape)
            for name, x in DictToArrayBijection.rmap(at).items()
        }
        data = {
            x: pt.tensor(
                name, dtype=x.type.dtype, shape=(size, *x.get_value(borrow=True).shape[1:])
            )
            for name, x in self.data.items()
        }
        lengths = {
            length: pt.constant(size if dim == self.dim else _value(length), dtype="int64")
            for dim, length in self.model.dim_lengths.items()
        }
        replaced = clone_replace(outputs, point | data | lengths)
        return replaced, list(point.values()), list(data.values())


def divided(model: pm.Model, dim: str) -> Divided:
    """Split the log posterior into a prior and terms of the divided data."""
    if dim not in model.coords:
        raise ValueError(f"The model has no dim {dim!r}; it has {sorted(model.coords)}.")
    dims = {name: dims or (None,) for name, dims in model.named_vars_to_dims.items()}
    free = [rv.name for rv in model.free_RVs if dim in dims.get(rv.name, ())]
    if free:
        raise ValueError(
            f"The free variable {free[0]!r} has the dim {dim!r}, which is divided into batches: a "
            "batch determines only its own values. Sample the model with pm.sample."
        )
    data = {
        name: model[name]
        for name, axes in dims.items()
        if axes[0] == dim and isinstance(model[name], SharedVariable)
    }
    observed = [rv for rv in model.observed_RVs if dims.get(rv.name, (None,))[0] == dim]
    others = [rv for rv in model.basic_RVs if rv not in observed]
    per_row = model.logp(vars=observed, sum=False, jacobian=False) if observed else []
    for rv, terms in zip(observed, per_row, strict=True):
        if not set(data.values()) & set(ancestors([terms])):
            raise ValueError(
                f"The log-likelihood of {rv.name!r} does not depend on data along {dim!r}, so "
                "there is nothing to divide into batches. With one utility per item, use "
                "pymc.find_MAP, which is fast."
            )
    potentials = model.logp(vars=model.potentials, sum=False) if model.potentials else []
    summed = [x for x in potentials if set(data.values()) & set(ancestors([x]))]
    if not per_row and not summed:
        raise ValueError(
            f"Expected an observed variable or a potential along {dim!r}; there is none."
        )
    prior = [x.sum() for x in model.logp(vars=others, sum=False, jacobian=False)] if others else []
    prior += [x.sum() for x in potentials if x not in summed]
    used = set(ancestors([*per_row, *summed]))
    data = {name: x for name, x in data.items() if x in used}
    n_rows = _value(model.dim_lengths[dim])
    return Divided(model, dim, data, pt.add(pt.zeros(()), *prior), per_row, summed, n_rows)


def _training_mode(mode: str | None) -> Any:
    return get_mode(mode).register(
        (WalkingGraphRewriter(single_sums), 90.0)
    )  # after all rewrites that add sums


@node_rewriter([Sum])
def single_sums(fgraph: FunctionGraph, node: Apply) -> list[Any] | None:
    """Sum float32 in float32; PyTensor would use double precision."""
    (x,), op = node.inputs, node.op
    if x.dtype != "float32" or op.acc_dtype != "float64" or op.dtype != "float32":
        return None
    return [Sum(axis=op.axis, dtype="float32", acc_dtype="float32")(x)]


def _value(length: Any) -> int:
    """Return the length of a dim."""
    return int(length.eval(mode="FAST_COMPILE"))
