"""Translations to JAX: there for JAX's mode, and JAX is not imported before."""

import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("jax")

CODE = """
import sys
import numpy as np, pytensor.tensor as pt
import bayesrank.inference
from bayesrank.likelihoods.plackett_luce.remainders import log_remainder
print("jaxlib" in sys.modules)
x = pt.dvector("x")
print(*log_remainder(x).eval({x: np.zeros(3)}, mode="JAX").tolist())
"""


def test_jax_is_imported_by_those_who_use_it_only():
    run = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    imported, *sums = run.stdout.split()
    assert imported == "False"
    assert [*map(float, sums)] == pytest.approx(np.log([3, 2, 1]))
