"""Elementary symmetric polynomials as a graph: values, derivatives, and the Op that tilts them."""

import functools

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

from bayesrank.likelihoods.pmop import subset_kernels as subsets
from bayesrank.likelihoods.pmop.elementary_symmetric import Tilt, log_elementary_symmetric
from tests import oracles
from tests.likelihoods.loops import for_each
from tests.oracles import gradient

IMPOSSIBLE = -1e30


@functools.cache
def graph(nodes=48):
    """Value and gradient, without compiling."""
    v, member, m = pt.dmatrix("v"), pt.bmatrix("member"), pt.dvector("m")
    value = log_elementary_symmetric(v, pt.cast(member, "bool"), m, nodes=nodes)
    outputs = [value, pt.grad(value.sum(), v)]
    return pytensor.function([v, member, m], outputs, mode="FAST_COMPILE")


def evaluate(v, m, member=None, nodes=48):
    m = np.atleast_1d(np.asarray(m, dtype=float))
    v = np.array(np.broadcast_to(v, (m.size, np.shape(v)[-1])))
    member = np.ones(v.shape) if member is None else np.broadcast_to(member, v.shape)
    return graph(nodes)(v, member.astype(np.int8), m)


def kernel(v, m):
    share = np.empty(v.size)
    return subsets.elementary_symmetric_kernel(v, m, share, np.empty((2, v.size)), True), share


@for_each("spread", [0.0, 0.5, 1.0, 3.0, 5.0, 100.0])
@for_each("n", [1, 2, 3, 12, 66])
def test_every_size_is_exact_with_its_gradient(rng, n, spread):
    v, sizes = rng.normal(scale=spread, size=n), np.arange(1, n + 1)
    value, slope = evaluate(v, sizes)
    exact = [oracles.log_elementary_symmetric(v, m) for m in sizes]
    np.testing.assert_allclose(value, exact, atol=1e-11, rtol=1e-14)
    shares = [kernel(v, m)[1] for m in sizes]
    np.testing.assert_allclose(slope, shares, atol=1e-10)
    np.testing.assert_allclose(slope.sum(axis=1), sizes, atol=1e-10)


@for_each("spread", [0.0, 3.0])
def test_three_hundred_members_need_no_more_nodes(rng, spread):
    v, sizes = rng.normal(scale=spread, size=300), np.array([1, 2, 40, 150, 151, 299, 300])
    value, slope = evaluate(v, sizes)
    exact = [kernel(v, m) for m in sizes]
    np.testing.assert_allclose(value, [x for x, _ in exact], atol=1e-9)
    np.testing.assert_allclose(slope, [share for _, share in exact], atol=1e-9)
    # and with fewer they are lost: the figure is one of the number of nodes
    few = np.abs(evaluate(np.zeros(300), [150], nodes=6)[0] - evaluate(np.zeros(300), [150])[0])
    assert few.max() > 1e-6


def test_who_is_no_member_does_not_matter(rng):
    v = rng.normal(scale=2.0, size=(2, 9))
    member = np.array([1, 0, 1, 1, 0, 1, 1, 0, 1])
    v[1, member == 1] = v[0, member == 1]
    v[1, member == 0] = [1e6, -1e6, 1e300]
    for m in range(1, 7):
        value, slope = evaluate(v, [m, m], member)
        exact, share = kernel(v[0, member == 1], m)
        np.testing.assert_allclose(value, exact, atol=1e-12)
        np.testing.assert_allclose(slope[:, member == 1], [share, share], atol=1e-12)
        np.testing.assert_array_equal(slope[:, member == 0], 0.0)


def test_sets_larger_than_all_and_sets_of_nobody_are_impossible(rng):
    member = np.array([[1, 1, 1, 0], [1, 1, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0]])
    value, slope = evaluate(rng.normal(size=4), [4, 9, 1, 0, 2], member)
    np.testing.assert_array_equal(value, IMPOSSIBLE)
    np.testing.assert_array_equal(slope, 0.0)


def test_sizes_broadcast_against_utilities(rng):
    v, m = rng.normal(size=(3, 1, 5)), np.array([1.0, 2.0])
    value = log_elementary_symmetric(v, np.full(5, True), m).eval(mode="FAST_COMPILE")
    exact = [[oracles.log_elementary_symmetric(row, int(k)) for k in m] for row in v[:, 0]]
    np.testing.assert_allclose(value, exact, atol=1e-12)


def test_the_second_derivative_is_the_covariance_of_membership(rng):
    v = rng.normal(scale=2.0, size=6)
    x, direction = pt.dvector("x"), pt.dvector("direction")
    value = log_elementary_symmetric(x, np.full(6, True), pt.constant(3.0))
    product = pt.grad((pt.grad(value, x) * direction).sum(), x)
    f = pytensor.function([x, direction], product, mode="FAST_COMPILE")
    hessian = np.array([f(v, e) for e in np.eye(6)])
    np.testing.assert_allclose(hessian, gradient(lambda u: kernel(u, 3)[1], v), atol=1e-8)
    np.testing.assert_allclose(hessian, hessian.T, atol=1e-12)
    np.testing.assert_allclose(hessian.sum(axis=0), 0.0, atol=1e-12)  # the size does not vary


# The tilt


@functools.cache
def tilts(mode):
    v, member, m = pt.dmatrix("v"), pt.bmatrix("member"), pt.dvector("m")
    inputs = [v, member, m]
    return pytensor.function(inputs, Tilt()(v, pt.cast(member, "bool"), m), mode=mode)


@for_each("mode", ["FAST_COMPILE", "JAX"])
def test_the_tilt_centres_the_size_on_every_backend(mode, rng):
    v = rng.normal(scale=[[0.0], [1.0], [5.0], [300.0]], size=(4, 50))
    v[:, 40:] = 1e9  # no members
    member = np.broadcast_to(np.arange(50) < 40, v.shape).astype(np.int8)
    for m in (1.0, 7.0, 20.0, 39.0):
        x = np.asarray(tilts(mode)(v, member, np.full(4, m)))
        p = 1 / (1 + np.exp(np.clip(-(v[:, :40] + x[:, None]), None, 700.0)))
        deviation = np.sqrt((p * (1 - p)).sum(axis=1))
        assert (np.abs(p.sum(axis=1) - m) <= 2e-3 + 0.06 * deviation).all()


@for_each("mode", ["FAST_COMPILE", "JAX"])
def test_there_is_no_tilt_for_none_all_or_more(mode):
    member = np.array([[1, 1, 0]] * 4, dtype=np.int8)
    x = tilts(mode)(np.ones((4, 3)), member, np.array([0.0, 2.0, 3.0, -1.0]))
    np.testing.assert_array_equal(np.asarray(x), 0.0)


def test_the_tilt_takes_one_size_per_row():
    with pytest.raises(TypeError, match=r"Tilt takes .*; got \[2, 2, 2\] dimensions"):
        Tilt()(pt.dmatrix(), pt.bmatrix(), pt.dmatrix())
