"""Numba, the mode of samplers: every compiled Op and its gradient, as `perform` has them."""

import numpy as np
import pytensor
import pytest

from tests.likelihoods.compiled_ops import EXAMPLES, outputs

# Half a minute each to compile. The draws are compiled by the tests of their distributions. The
# totals of pairs share a kernel. What is as simple as the others is quick, but adds up.
SLOW = {
    "OrderedPartitionDraw",
}
SLOW |= {"RaoKupperTotal", "ThurstoneTotal", "OrderedPartitionLogp", "WeakOrderLogp"}
SLOW |= {
    "LogSumOfCompletions",
    "LogSumOverOrders",
}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (n in SLOW)) for n in EXAMPLES]
)
def test_numba_compiles_every_op_to_what_perform_gives(name):
    example = EXAMPLES[name]
    inputs, graphs = outputs(example)
    values = [np.array(x) for x in example.values]
    settings = {"on_unused_input": "ignore"}
    compiled = pytensor.function(inputs, graphs, mode="NUMBA", **settings)(*values)
    called = pytensor.function(inputs, graphs, mode="FAST_COMPILE", **settings)(*values)
    for found, expected in zip(compiled, called, strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)
