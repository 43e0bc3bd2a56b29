"""Kernels by their address: what is called is what was written, in this process and in others."""

import os
import subprocess
import sys

import numba
import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.mode import Mode
from pytensor.link.numba.dispatch.basic import numba_funcify_and_cache_key

import bayesrank as br
from bayesrank.likelihoods.ops.by_address import by_address
from bayesrank.likelihoods.ops.compiled import KernelOp
from bayesrank.likelihoods.plackett_luce.per_item import StageTotal


@numba.njit(error_model="numpy")
def weighted_kernel(x, weight, power):
    if weight.min() < 0.0:
        raise ValueError("weights are not negative")
    return (x**power * weight).sum(axis=1), x.T.copy()


class Weighted(KernelOp):
    """Weighted sums of the rows of a table."""

    __props__ = ("power",)
    kernel = staticmethod(weighted_kernel)
    signature = "(r,c),(c)->(r)"
    constants = (2,)

    def __init__(self, power):
        self.power = power

    def output_types(self, inputs):
        return [*super().output_types(inputs), inputs[0].type()]

    def infer_shape(self, node, shapes):
        return [*super().infer_shape(node, shapes), shapes[0][::-1]]


def test_tables_in_any_order_and_locked_ones_are_read_as_they_are():
    x, weight = pt.dmatrix("x"), pt.dvector("weight")
    f = pytensor.function([x, weight], Weighted(2)(x.T[::2], weight[::-1]), mode="NUMBA")
    table, w = np.arange(12.0).reshape(3, 4), np.array([1.0, 2.0, 3.0])
    table.flags.writeable = False
    total, turned = f(table, w)
    np.testing.assert_array_equal(total, (table.T[::2] ** 2) @ w[::-1])
    np.testing.assert_array_equal(turned, table[:, ::2])
    with pytest.raises(ValueError, match="weights are not negative"):
        f(table, -w)


def test_machine_code_is_kept_under_the_symbol_that_it_calls():
    table, weight = pt.dmatrix("table"), pt.dvector("weight")
    nodes = [Weighted(2).make_node(x, weight) for x in (table, pt.dmatrix(), pt.fmatrix())]
    one, same, other = (numba_funcify_and_cache_key(n.op, node=n)[1] for n in nodes)
    assert one == same
    assert one != other


def test_other_types_than_it_was_compiled_for_are_refused():
    vector = numba.types.Array(numba.float64, 1, "C")

    @numba.njit
    def total_kernel(x):
        return x.sum()

    total, _ = by_address(total_kernel, [vector], "tests.total.1")

    @numba.njit
    def of(x):
        return total(x)

    assert of(np.ones(3)) == 3.0
    with pytest.raises(numba.TypingError, match=r"The kernel tests\.total\.1 takes \(Array"):
        of(np.ones(3, dtype=np.int32))


def test_the_gradient_is_not_computed_for_second_derivatives():
    rankings = br.Rankings.from_orderings([["a", "b", "c"], ["b", {"a", "c"}]])
    with pm.Model(coords=rankings.coords) as model:
        br.PlackettLuce("y", pm.Normal("u", dims="item"), observed=rankings)
    second = model.d2logp(negate_output=False)
    at, found = {"u": np.array([0.3, -1.0, 2.0])}, []
    mode = Mode("py", "fast_run")
    for each in (mode, mode.excluding("bayesrank_scan_remove_unused")):
        f = model.compile_fn(second, mode=each)
        found.append(f(at))
        nodes = f.f.maker.fgraph.apply_nodes
        assert any(isinstance(n.op, StageTotal) for n in nodes) == (each is not mode)
    np.testing.assert_allclose(*found, rtol=1e-12)


SCRIPT = """
import numpy as np, pymc as pm, bayesrank as br
from bayesrank.likelihoods.ops import by_address
rankings = br.Rankings.from_orderings([["a", "b", "c"], ["b", {"a", "c"}]])
with pm.Model(coords=rankings.coords) as model:
    br.PlackettLuce("y", pm.Normal("u", dims="item"), observed=rankings)
f = model.logp_dlogp_function(ravel_inputs=True)
f.set_extra_values({})
value, slope = f(np.array([0.3, -1.0, 2.0]))
inner = f._pytensor_function.vm.jit_fn
print(value, *slope, inner.stats.cache_hits.total() if hasattr(inner, "stats") else -1)
"""


@pytest.mark.slow
def test_machine_code_on_disk_finds_the_kernel_in_another_process(tmp_path):
    environment = os.environ | {"PYTENSOR_FLAGS": f"base_compiledir={tmp_path}"}
    command = [sys.executable, "-W", "ignore", "-c", SCRIPT]
    said = [
        subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    (*first, compiled), (*second, loaded) = (text.split() for text in said)
    assert first == second
    assert (compiled, loaded) == ("0", "1")
