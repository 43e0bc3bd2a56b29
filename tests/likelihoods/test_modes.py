"""Modes that compile: every compiled Op and its gradient give what `perform` gives."""

import numpy as np
import pytensor
import pytest

from tests.flags import compiler
from tests.likelihoods.compiled_ops import EXAMPLES, outputs

# Numba takes half a minute for each of these. The draws are compiled by the tests of their
# distributions. The totals of pairs share a kernel. What is as simple as the others is quick, but
# adds up. A C compiler takes ten seconds before the first.
SLOW = {"OrderedPartitionDraw", "RaoKupperTotal", "ThurstoneTotal", "OrderedPartitionLogp"}
SLOW |= {
    "GroundedTotal",
    "GradedTotal",
    "GradedTotal, probit",
    "GradedTotal, adjacent",
    "WeakOrderLogp",
}
SLOW |= {"LogSumOfCompletions", "LogSumOverOrders"}
# in C: their kernels are those of other Ops
NOT_IN_C = {"StageTotal", "CountsDraw", "RaoKupperTotal", "ThurstoneTotal"}
NOT_IN_C |= {"GradedTotal, probit", "GradedTotal, adjacent"}
NUMBA = [pytest.param("NUMBA", n, marks=[pytest.mark.slow] * (n in SLOW)) for n in EXAMPLES]
IN_C = [pytest.param("CVM", n, marks=pytest.mark.slow) for n in EXAMPLES if n not in NOT_IN_C]


@pytest.mark.parametrize(("mode", "name"), [*NUMBA, *IN_C])
def test_compiled_ops_give_what_perform_gives(mode, name):
    example = EXAMPLES[name]
    inputs, graphs = outputs(example)
    values = [np.array(x) for x in example.values]
    with pytensor.config.change_flags(**{"cxx": compiler()} if mode == "CVM" else {}):
        compiled, called = (
            pytensor.function(inputs, graphs, mode=m, on_unused_input="ignore")(*values)
            for m in (mode, "FAST_COMPILE")
        )
    for found, expected in zip(compiled, called, strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)
