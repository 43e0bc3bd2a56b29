"""Numba compiles a kernel once for calls from Python and from compiled functions."""

import numba
import numpy as np
import pytensor
import pytensor.tensor as pt

from bayesrank.likelihoods.ops.compiled import KernelOp


@numba.njit
def kernel(x, n, flip):
    return np.asarray(-x[n] if flip else x[n])


class Entry(KernelOp):
    kernel = staticmethod(kernel)
    signature = "(i)->()"
    constants = (1, True)


def test_constants_have_the_same_types_in_all_calls():
    x = pt.dvector("x")
    function = pytensor.function([x], Entry()(x), mode="NUMBA")
    at = np.array([1.0, 2.0])
    assert function(at) == Entry().call(at) == -2.0
    assert len(kernel.signatures) == 1
