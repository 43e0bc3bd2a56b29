"""Translations to JAX: there for JAX's mode, and JAX is not imported before."""

import subprocess
import sys

import pytest

pytest.importorskip("jax")

CODE = """
import sys
import numpy as np, pytensor.tensor as pt
import bayesrank.inference
from bayesrank.likelihoods.plackett_luce.per_slot import weak_order_logp
print("jaxlib" in sys.modules)
u = pt.dvector("u")
logp = weak_order_logp(u[None, :], np.array([[1, 2, 2]]))
print(float(logp.sum().eval({u: np.zeros(3)}, mode="JAX")))
"""


def test_jax_is_imported_by_those_who_use_it_only():
    """First of three, the other two level: a third of all orders."""
    run = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    imported, logp = run.stdout.split()
    assert imported == "False"
    assert float(logp) == pytest.approx(-1.0986122886681098, abs=1e-9)
