"""Checks of counts and of the parameters of `MPM`: of numbers at once, of tensors in `logp`."""

from typing import Any

import numpy as np
import pytensor.tensor as pt
from pymc.distributions.dist_math import check_parameters
from pytensor.graph.basic import Variable
from pytensor.tensor import TensorVariable

__all__ = ["check_counts", "check_numbers", "check_sign", "check_symmetric"]


def check_numbers(
    logp: TensorVariable, score: Any, variance: Any, adherence: Any
) -> TensorVariable:
    """Make the log-probability depend on parameters that it exists for."""
    return check_parameters(
        logp,
        pt.all(pt.isfinite(score)),
        pt.all(adherence >= 0) & pt.all(pt.isfinite(adherence)),
        pt.all(variance > 0) & pt.all(pt.isfinite(variance)),
        msg="score must be finite, adherence finite and >= 0, variance finite and > 0",
    )


def check_counts(observed: Any, score: Any) -> None:
    """Raise for numbers that are no counts; of tensors, `logp` knows."""
    if isinstance(observed, Variable):
        return
    counts = np.asarray(observed)
    if counts.ndim < 2 or counts.shape[-1] != counts.shape[-2]:
        raise ValueError(
            f"The observed counts have shape {counts.shape}; their last two axes must be the "
            "preferred and the other item."
        )
    n_items = pt.as_tensor_variable(score).type.shape[-1:]
    if n_items not in ((), (1,), (None,), counts.shape[-1:]):
        raise ValueError(
            f"The observed counts are of {counts.shape[-1]} items, but `score` has {n_items[0]}: "
            "give one score per item."
        )
    cells = {
        "not a whole number": (counts != np.round(counts)) | np.isinf(counts),
        "negative": counts < 0,
        "on the diagonal": (counts != 0) & np.eye(counts.shape[-1], dtype=bool),
    }
    for what, bad in cells.items():
        if bad.any():
            where = tuple(int(i) for i in np.argwhere(bad)[0])
            raise ValueError(
                f"The observed count {counts[where]:g} at {list(where)} is {what}: counts say how "
                "much the item of the row is preferred to that of the column."
            )


def check_symmetric(total: Any) -> None:
    """Raise for a table that cannot say how often pairs are compared."""
    if total is None or isinstance(total, Variable):
        return
    table = np.asarray(total)
    if table.ndim < 2 or table.shape[-1] != table.shape[-2]:
        raise ValueError(
            f"`total` has shape {table.shape}; with given_pairs=True it is a table of how often "
            "each pair is compared, (..., n_items, n_items)."
        )
    unequal = (table != table.swapaxes(-1, -2)) | ((table != 0) & np.eye(len(table.T), dtype=bool))
    if unequal.any():
        where = [int(i) for i in np.argwhere(unequal)[0]]
        raise ValueError(
            f"`total` is {table[tuple(where)]:g} at {where}: how often each pair is compared is a "
            "symmetric table with zeros on the diagonal."
        )


def check_sign(name: str, value: Any, *, positive: bool) -> None:
    """Raise for numbers that are no adherence or variance; of tensors, `logp` knows."""
    if value is None or isinstance(value, Variable):
        return
    numbers = np.atleast_1d(np.asarray(value, dtype=float)).ravel()
    wrong = numbers[~(np.isfinite(numbers) & ((numbers > 0) if positive else (numbers >= 0)))]
    if wrong.size:
        need = "positive" if positive else "zero or positive"
        raise ValueError(f"`{name}` holds {wrong[0]:g}; it must be finite and {need}.")
