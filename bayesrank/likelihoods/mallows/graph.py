"""What the compiled Ops of Mallows models compute, as graphs.

The graphs are for JAX and for second derivatives; the kernels must agree with them.
"""

import functools
from itertools import combinations
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.tensor import TensorVariable

from bayesrank.likelihoods.mallows.order_kernels import PLACES

__all__ = ["footrule_log_normaliser", "log_sum_over_orders"]


def footrule_log_normaliser(t: Any, n: int) -> TensorVariable:
    """Logarithm of the normaliser of the footrule, (r,), by the scan of `footrule_kernel`.

    Parameters
    ----------
    t : tensor_like of float, (r,)
    n : int

    Returns
    -------
    TensorVariable, (r,)

    Examples
    --------
    >>> footrule_log_normaliser([0.0], 3).exp().eval().round(6).tolist()
    [6.0]
    """
    k = np.arange(n // 2 + 1)
    keep, close = np.log(2.0 * k + 1.0), 2.0 * np.log(k[1:])
    t = pt.as_tensor_variable(t)[:, None]
    f = pt.zeros_like(t)  # of k = 0, 1, ... up to as many as can be closed again
    for s in range(1, n + 1):
        most, before = min(s, n - s), min(s - 1, n - s + 1) + 1
        columns = []
        for j in range(most + 1):
            terms = [f[:, j] + keep[j]] if j < before else []
            terms += [f[:, j - 1]] if 0 < j <= before else []
            terms += [f[:, j + 1] + close[j]] if j + 1 < before else []
            columns.append(functools.reduce(pt.logaddexp, terms))
        f = pt.stack(columns, axis=1) - 2.0 * t * k[: most + 1]
    return f[:, 0]


def log_sum_over_orders(cost: TensorVariable, kind: int) -> TensorVariable:
    """Logarithm of the sum over orders of exp(-cost), (r,), one size of sets after the other.

    Parameters
    ----------
    cost : TensorVariable of float, (r, n, n)
        With a number of items that is known.
    kind : {PLACES, PAIRS}
        Whether costs are of item and place, or of an item and one before it.

    Returns
    -------
    TensorVariable, (r,)
    """
    n = cost.type.shape[-1]
    f = cost[:, 0, :1] * 0.0
    position: dict[tuple[int, ...], int] = {(): 0}
    for size in range(1, n + 1):
        sets = list(combinations(range(n), size))
        last = np.array(sets)
        before = np.array([[position[s[:i] + s[i + 1 :]] for i in range(size)] for s in sets])
        if kind == PLACES:
            own = cost[:, last, size - 1]
        else:
            others = np.array([[s[:i] + s[i + 1 :] for i in range(size)] for s in sets], dtype=int)
            own = pt.sum(cost[:, last[..., None], others], axis=-1)
        f = pt.logsumexp(f[:, before] - own, axis=-1)
        position = {s: i for i, s in enumerate(sets)}
    return f[:, 0]
