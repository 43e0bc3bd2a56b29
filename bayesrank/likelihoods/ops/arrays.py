"""Array functions for all families: sums by segment, rows of rankings, products of sparse rows."""

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytensor.tensor as pt
from numpy.typing import NDArray
from pytensor.raise_op import CheckAndRaise
from pytensor.tensor import TensorVariable
from scipy.sparse import csr_array, issparse

__all__ = [
    "MOST_DENSE",
    "NOTHING",
    "Index",
    "Shape",
    "as_rows_or_none",
    "broadcast_batch",
    "every_row",
    "over_rows",
    "rows_times",
    "segment_sum",
    "valid_ranks",
]

Index = Sequence[Any]


Shape = Sequence[Any]


SPARSE = 16  # entries per non-zero entry from which sparse products are faster

# Variables up to which a dense matrix of second derivatives has a Cholesky factor in a fraction of
# a second (n^3 / 3 operations). With more variables, products with the matrix take less time.
MOST_DENSE = 2_000

NOTHING = -1e30  # the logarithm of an empty sum, finite so that no gradient becomes NaN


def segment_sum(x: TensorVariable, index: Index, shape: Shape) -> TensorVariable:
    """Sum `x` by segment: ``out[s] = sum of x[e] with index[e] == s``.

    The graph increments an allocated NumPy zero. This form is fast on every backend, and it keeps
    float64 under JAX, where `pt.zeros` is weakly typed.

    Parameters
    ----------
    x : TensorVariable, (*entries, ...)
        What to sum; trailing axes are kept.
    index : tuple of TensorVariable of int, (*entries)
        Coordinates of the segment of each entry.
    shape : tuple of int or scalar tensor
        Shape of the segments, for example (n_rankings, n_blocks).

    Returns
    -------
    TensorVariable, (*shape, ...)
        Zero where a segment has no entry.
    """
    kept = [x.shape[axis] for axis in range(index[0].ndim, x.ndim)]
    zero = np.zeros((1,) * (len(shape) + len(kept)))
    return pt.alloc(zero, *shape, *kept)[tuple(index)].inc(x)


class RowsAgree(CheckAndRaise):
    """A check of lengths; JAX skips it, because it cannot broadcast lengths that differ anyway."""


DIFFERENT = (
    "A parameter has one value for each row of the observed data, but the number of rows has "
    "changed. Replace the parameter as well, or build the model again."
)


def every_row(x: TensorVariable, n: Any, axis: int = 0) -> TensorVariable:
    """Return the indices of a parameter that has one entry for each row of the data.

    Compiled code does not check indices, so it would read memory beyond a shorter parameter.

    `n` is the number of rows, and `axis` the axis of the parameter that holds them. If the lengths
    differ, evaluating the parameter raises a ValueError.
    """
    length = x.shape[axis]
    return pt.arange(RowsAgree(ValueError, DIFFERENT)(length, pt.eq(length, n)))


def broadcast_batch(*inputs: TensorVariable) -> list[TensorVariable]:
    """Broadcast the leading axes (all but the last) of all inputs.

    It adds zeros, because `pt.broadcast_arrays` would compute shapes, which JAX cannot trace. It
    adds them only to inputs that lack an axis, and takes them from the first complete input if
    there is one. Adding inputs of unknown shapes compares these, which JAX cannot trace either.
    """
    ndim = max(x.ndim for x in inputs)
    complete = [x.ndim == ndim and not any(x.type.broadcastable[:-1]) for x in inputs]
    sources = [x for x, whole in zip(inputs, complete, strict=True) if whole][:1] or inputs
    zeros = [pt.sum(pt.zeros_like(x), axis=-1) for x in sources]
    zero = functools.reduce(operator.add, zeros)
    return [
        x if whole else x + pt.cast(zero, x.dtype)[..., None]
        for x, whole in zip(inputs, complete, strict=True)
    ]


def over_rows(
    logp: Callable[..., TensorVariable], utility: Any, ranks: Any, *others: Any
) -> TensorVariable:
    """Apply a function of matrices (rows, ...) to arguments with any leading axes."""
    utility = pt.cast(pt.as_tensor_variable(utility), "float64")
    ranks = pt.as_tensor_variable(ranks).astype("int64")  # kernels are compiled for each type
    # ranks come first: they are data, so their shape is known
    ranks, *inputs = broadcast_batch(ranks, utility, *others)
    if ranks.ndim == 2:
        return logp(inputs[0], ranks, *inputs[1:])
    rows = [as_rows(x, ranks) for x in inputs]
    return logp(rows[0], as_rows(ranks, ranks), *rows[1:]).reshape(ranks.shape[:-1])


def as_rows(x: TensorVariable, like: TensorVariable) -> TensorVariable:
    """Return a matrix (rows, ...), with the rows of `like` if `x` has no columns."""
    if x.type.shape[-1] == 0:  # reshape cannot infer the number of rows without columns
        return pt.cast(as_rows(like, like)[:, :0], x.dtype)
    return x.reshape((-1, x.shape[-1]))


def as_rows_or_none(x: TensorVariable) -> TensorVariable:
    """Return a matrix (rows, ...), also if only the values show that `x` has no columns."""
    column = pt.zeros((*(x.shape[axis] for axis in range(x.ndim - 1)), 1), dtype=x.dtype)
    return pt.concatenate([x, column], axis=-1).reshape((-1, x.shape[-1] + 1))[:, :-1]


def valid_ranks(ranks: TensorVariable) -> TensorVariable:
    """Whether the used ranks (> 0) of each row are dense: 1, 2, ... without gaps."""
    ordered = pt.sort(ranks, axis=-1)
    step = pt.diff(ordered, axis=-1)
    return (
        pt.all((step >= 0) & (step <= 1), axis=-1) & (ordered[..., 0] >= 0) & (ordered[..., 0] <= 1)
    )


def rows_times(
    rows: NDArray[np.float64], matrix: NDArray[np.float64] | csr_array
) -> NDArray[np.float64]:
    """Return ``rows @ matrix``, fast if most entries of the rows or of the matrix are 0.

    Examples
    --------
    >>> rows_times(np.eye(20)[:1], np.arange(40.0).reshape(20, 2))
    array([[0., 1.]])
    """
    if issparse(matrix):
        return np.asarray(rows @ matrix)
    sparse = np.count_nonzero(rows) * SPARSE <= rows.size  # such as directions of single variables
    return np.asarray((csr_array(rows) if sparse else rows) @ matrix)
