"""PyTensor's C mode: every compiled Op and its gradient among what a C compiler has made."""

import numpy as np
import pytensor
import pytest

from tests.flags import compiler
from tests.likelihoods.compiled_ops import EXAMPLES, outputs

# their kernels are others', or their forms
LEFT_OUT = {"StageTotal", "CountsDraw", "RaoKupperTotal", "ThurstoneTotal"}
IN_C = [name for name in EXAMPLES if name not in LEFT_OUT]


@pytest.mark.slow  # a C compiler works ten seconds before the first
@pytest.mark.parametrize("name", IN_C)
def test_c_mode_has_every_op(name):
    example = EXAMPLES[name]
    inputs, graphs = outputs(example)
    settings = {"on_unused_input": "ignore"}
    with pytensor.config.change_flags(cxx=compiler()):
        compiled = pytensor.function(inputs, graphs, mode="CVM", **settings)(*example.values)
    called = pytensor.function(inputs, graphs, mode="FAST_COMPILE", **settings)(*example.values)
    for found, expected in zip(compiled, called, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)
