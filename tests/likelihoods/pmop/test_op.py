"""The compiled Op of PMOP: against choices among listed sets on every backend, to the Hessian."""

import functools

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

from bayesrank.likelihoods.ops.arrays import broadcast_batch
from bayesrank.likelihoods.pmop.op import OrderedPartitionLogp, pmop_logp
from bayesrank.likelihoods.pmop.set_kernels import AGGREGATES
from tests.likelihoods.loops import for_each
from tests.oracles import gradient, partition_logp

UTILITY = np.array(
    [
        [0.4, -1.2, 2.0, 0.1, -0.7],
        [3.0, 2.9, -4.0, 1.0, 0.0],
        [0.0, 1.0, 2.0, 3.0, 4.0],
        [5.0, -5.0, 4.0, -4.0, 0.3],
    ]
)  # none equal: there the maximum and the minimum have no derivative
RANKS = np.array([[1, 2, 2, 3, 3], [2, 1, 1, 3, 0], [1, 2, 3, 4, 5], [2, 2, 1, 0, 1]])
LOG_WEIGHT = np.array([[0.0, 0.5, -1.0], [0.0, -2.0, 1.0], [0.0, 3.0, 0.0], [0.2, 0.1, 0.0]])
STAGE_WEIGHT = np.array([[1.0] * 5, [2.0, 1.0, 0.5, 0.0, 0.0], [1.0] * 5, [0.5] * 5])

FREE, GIVEN, WEIGHTED = "free", "given", "weighted"


def settings(kind, log_weight=LOG_WEIGHT):
    return {"given_sizes": kind == GIVEN, "log_weight": log_weight if kind == WEIGHTED else None}


def exact_logp(utility, aggregate, kind, log_weight=LOG_WEIGHT):
    """Every stage times its weight."""
    out = []
    for u, ranks, d, alpha in zip(utility, RANKS, log_weight, STAGE_WEIGHT, strict=True):
        stage_logps = [
            partition_logp(
                u,
                np.maximum(ranks - m, 0),
                aggregate,
                given_sizes=kind == GIVEN,
                log_weight=d if kind == WEIGHTED else None,
            )
            for m in range(ranks.max() + 1)
        ]
        out.append(-np.diff(stage_logps) @ alpha[: ranks.max()])
    return np.array(out)


@functools.cache
def function(mode, aggregate, kind):
    """Values, and gradients of the sum of their squares by utilities and by weights."""
    utility, log_weight = pt.dmatrix("utility"), pt.dmatrix("log_weight")
    logp = pmop_logp(
        utility,
        pt.constant(RANKS),
        aggregate=aggregate,
        stage_weight=pt.constant(STAGE_WEIGHT),
        **settings(kind, log_weight),
    )
    slopes = pt.grad(
        (logp**2).sum(), [utility, log_weight], disconnected_inputs="ignore"
    )  # with no weights: of no effect
    inputs = [utility, log_weight]
    return pytensor.function(inputs, [logp, *slopes], mode=mode, on_unused_input="ignore")


def close(mode):
    return 1e-9 if mode == "JAX" else 1e-11


CASES = [  # one kernel for all, which JAX calls
    *(("FAST_COMPILE", a, WEIGHTED) for a in AGGREGATES),
    ("FAST_COMPILE", "mean", FREE),
    ("JAX", "geometric", GIVEN),
    ("JAX", "harmonic", WEIGHTED),
]


@for_each(("mode", "aggregate", "kind"), CASES)
def test_values_and_gradients_are_those_of_choices_among_sets(mode, aggregate, kind):
    logp, by_utility, by_weight = function(mode, aggregate, kind)(UTILITY, LOG_WEIGHT)
    exact = exact_logp(UTILITY, aggregate, kind)
    np.testing.assert_allclose(logp, exact, atol=close(mode))

    def squares(u, d):
        return exact_logp(UTILITY + u, aggregate, kind, LOG_WEIGHT + d) ** 2

    # a ranking has slots of its own, so one difference is that of a slot of all rankings
    zero = np.zeros(5), np.zeros(3)
    numeric = gradient(lambda u: squares(u, zero[1]), zero[0])
    np.testing.assert_allclose(by_utility, numeric, atol=1e-6)
    numeric = gradient(lambda d: squares(zero[0], d), zero[1]) if kind == WEIGHTED else 0.0
    np.testing.assert_allclose(by_weight, numeric, atol=1e-6)


# Shapes


def test_weights_without_columns_and_one_ranking_without_others():
    # a vector is one ranking; there is nothing to reshape in zero columns
    assert pmop_logp([0.0, 0.0], [1, 1]).exp().eval() == pytest.approx(1 / 3, abs=1e-12)
    assert pmop_logp([0.0, 0.0], [1, 2], given_sizes=True).exp().eval() == pytest.approx(0.5)
    alone = pmop_logp([0.0, 0.0], [1, 1], log_weight=np.log([1.0, 4.0])).exp().eval()
    assert alone == pytest.approx(4 / 6, abs=1e-12)


@for_each("dtype", [np.int32, np.int8, np.uint8])  # that of `pm.Data`; unsigned ones have no -1
def test_ranks_of_any_integer_type_are_ranks(dtype):
    logp = pmop_logp(np.zeros(2), np.array([[1, 2], [1, 1]], dtype=dtype)).eval()
    np.testing.assert_allclose(np.exp(logp), np.full(2, 1 / 3), atol=1e-12)


def test_broadcasting_leaves_the_last_axes_alone():
    a, b, c = broadcast_batch(
        pt.constant(np.arange(6.0).reshape(3, 2)), pt.zeros((0,)), pt.ones((4, 1, 5), dtype="int64")
    )
    shapes = [x.eval().shape for x in (a, b, c)]
    assert shapes == [(4, 3, 2), (4, 3, 0), (4, 3, 5)]
    assert c.dtype == "int64"
    np.testing.assert_array_equal(a.eval()[3], np.arange(6.0).reshape(3, 2))


def test_ops_of_different_settings_differ():
    assert OrderedPartitionLogp("mean", False) == OrderedPartitionLogp("mean", False)
    others = [("max", False), ("mean", True)]
    assert all(OrderedPartitionLogp("mean", False) != OrderedPartitionLogp(*o) for o in others)


def test_ranks_and_weights_of_stages_have_no_gradient():
    ranks, alpha = pt.lmatrix("ranks"), pt.dmatrix("alpha")
    logp = pmop_logp(np.zeros((2, 3)), ranks, stage_weight=alpha).sum()
    with pytest.raises(pytensor.gradient.DisconnectedInputError):
        pt.grad(logp, alpha)
