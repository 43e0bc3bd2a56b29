"""The stage integral: two oracles that agree, the kernel and the graph against both."""

import functools

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

from bayesrank.likelihoods.ops.arrays import segment_sum
from bayesrank.likelihoods.plackett_luce.block_kernel import (
    FEW,
    _integral,
    block_hessian_kernel,
    block_kernel,
    hessian_workspace,
    workspace,
)
from bayesrank.likelihoods.plackett_luce.quadrature import PADDING, block_logp
from tests.likelihoods.loops import for_each
from tests.oracles import dense_trapezoid, gradient, inclusion_exclusion

LENGTHS = "n <= 15", "n <= 150", "n <= 800"


def kernel(w):
    gamma = np.empty(len(w))
    return block_kernel(np.asarray(w, dtype=float), gamma, workspace(len(w))), gamma


@functools.cache
def graph_function(nodes=48):
    """Value of every block and gradient of their sum, blocks one after the other in `w`."""
    w, block, n_blocks = pt.dvector("w"), pt.lvector("block"), pt.lscalar("n_blocks")
    logp = block_logp(w, (block,), (n_blocks,), nodes=nodes)
    return pytensor.function([w, block, n_blocks], [logp, pt.grad(logp.sum(), w)])


def graph(blocks, nodes=48):
    sizes = [len(w) for w in blocks]
    logp, slope = graph_function(nodes)(
        np.concatenate(blocks), np.repeat(np.arange(len(blocks)), sizes), len(blocks)
    )
    return logp, np.split(slope, np.cumsum(sizes)[:-1])


def blocks_of(rng, lengths):
    """Utilities spread with sd 0 to 6, offsets -7 to 12: from hopeless to certain."""
    return [rng.normal(rng.uniform(-7, 12), rng.uniform(0, 6), size=n) for n in lengths]


@functools.cache
def small_cases():
    """120 blocks of 2 to 12 items with exact log-probabilities."""
    rng = np.random.default_rng(270)
    blocks = blocks_of(rng, rng.integers(2, 13, size=120))
    return blocks, np.array([inclusion_exclusion(w) for w in blocks])


@functools.cache
def large_cases(n_blocks):
    """Blocks of 2 to 800 items, lengths log-uniform, with 4,000 nodes each."""
    rng = np.random.default_rng(700)
    blocks = blocks_of(rng, np.exp(rng.uniform(np.log(2), np.log(801), size=n_blocks)).astype(int))
    return blocks, np.array([dense_trapezoid(w) for w in blocks])


def worst_by_length(error, blocks):
    """Largest error up to 15, from 16 to 150, and from 151 items on."""
    group = np.digitize([len(w) for w in blocks], [16, 151])
    return {name: np.abs(error)[group == k].max() for k, name in enumerate(LENGTHS)}


# Oracles


def test_inclusion_exclusion_of_two_equals_the_fraction_by_hand():
    # worths 1 and 2 against 1: 1 - 1/2 - 1/3 + 1/4 = 5/12
    assert inclusion_exclusion(np.log([1.0, 2.0])) == pytest.approx(np.log(5 / 12), abs=1e-15)


def test_the_dense_trapezoid_is_inclusion_exclusion():
    blocks, exact = small_cases()
    error = np.array([dense_trapezoid(w) for w in blocks]) - exact
    assert np.abs(error).max() < 1e-12


# Accuracy


def test_the_kernel_is_exact_to_1e10_on_small_blocks():
    blocks, exact = small_cases()
    assert np.abs(np.array([kernel(w)[0] for w in blocks]) - exact).max() < 1e-11


def test_blocks_of_a_few_items_are_exact_to_the_last_digits():
    cases = [(w, e) for w, e in zip(*small_cases(), strict=True) if len(w) <= FEW]
    assert {len(w) for w, _ in cases} == set(range(2, FEW + 1))
    found, exact = np.array([(kernel(w)[0], e) for w, e in cases]).T
    np.testing.assert_allclose(found, exact, rtol=2e-15, atol=2e-15)


@for_each("n", range(1, FEW + 1))
def test_the_integral_of_a_few_items_is_the_sum_over_their_subsets(rng, n):
    for w in [*blocks_of(rng, [n] * 20), np.full(n, -40.0), np.full(n, 60.0), np.zeros(n)]:
        summed, slope = kernel(w)
        worth, gamma = np.exp(np.pad(w, (0, 8 - n), constant_values=PADDING)), np.empty(n)
        assert _integral(worth, gamma, workspace(8)) == pytest.approx(summed, rel=1e-12, abs=1e-11)
        np.testing.assert_allclose(gamma, slope, atol=1e-11)


every_number = pytest.mark.parametrize("n_blocks", [150, pytest.param(700, marks=pytest.mark.slow)])


@every_number
def test_the_kernel_is_exact_to_1e10_up_to_800_items(n_blocks):
    blocks, exact = large_cases(n_blocks)
    worst = worst_by_length(np.array([kernel(w)[0] for w in blocks]) - exact, blocks)
    assert max(worst.values()) < 1e-10, worst


@every_number
def test_the_graph_is_exact_to_1e8_up_to_15_items_and_to_1e6_up_to_800(n_blocks):
    (small, small_exact), (large, large_exact) = small_cases(), large_cases(n_blocks)
    error = graph([*small, *large])[0] - np.concatenate([small_exact, large_exact])
    worst = worst_by_length(error, [*small, *large])
    assert worst["n <= 15"] < 1e-8, worst
    assert max(worst.values()) < 1e-6, worst


@for_each("offset", [-7.0, 0.0, 6.0, 12.0])
def test_500_equal_items_lose_nothing(offset):
    w = np.full(500, offset)
    exact = dense_trapezoid(w)
    value, gamma = kernel(w)
    assert value == pytest.approx(exact, abs=1e-10)
    assert graph([w])[0][0] == pytest.approx(exact, abs=1e-6)
    # equal items have equal derivatives
    np.testing.assert_allclose(gamma, gamma[0], rtol=1e-12)


def test_a_block_of_one_has_the_closed_form():
    for w in (-300.0, -5.0, 0.0, 3.0, 50.0):
        value, gamma = kernel([w])
        assert value == pytest.approx(-np.logaddexp(0.0, -w), abs=1e-11)
        assert gamma[0] == pytest.approx(1 / (1 + np.exp(w)), abs=1e-11)


# Gradients


def test_the_gradient_of_the_kernel_is_that_of_inclusion_exclusion(rng):
    for w in blocks_of(rng, [2, 3, 5, 8]):
        exact = gradient(inclusion_exclusion, w, step=1e-4)
        np.testing.assert_allclose(kernel(w)[1], exact, atol=1e-8)


@for_each("n", [1, FEW, FEW + 1, 12])
@for_each("w", [15.0, 25.0, 35.0])
def test_items_that_are_certain_to_come_first_have_no_gradient(n, w):
    # P(S > R) >= 1 - sum of 1 / (1 + a): the gradient is below n e^-w
    assert (np.abs(kernel(np.full(n, w))[1]) <= 2 * n * np.exp(-w) + 1e-15).all()


def test_the_gradient_of_the_kernel_is_that_of_its_differences(rng):
    for w in blocks_of(rng, [3, 40, 300]):
        exact = gradient(lambda x: kernel(x)[0], w, step=1e-4)
        np.testing.assert_allclose(kernel(w)[1], exact, atol=1e-6)


# Extremes


def test_strong_items_are_certain_to_come_first():
    value, gamma = kernel([1000.0, 1000.0])
    assert value == pytest.approx(0.0, abs=1e-11)
    np.testing.assert_allclose(gamma, 0.0, atol=1e-11)
    logp, (slope,) = graph([np.array([1000.0, 1000.0])])
    np.testing.assert_allclose(logp, 0.0, atol=1e-8)
    np.testing.assert_array_equal(slope, 0.0)


def test_weak_items_cost_their_utilities():
    # P -> a b ∫ (log u)² du = 2ab for tiny a, b
    w = [-1000.0, -990.0]
    value, gamma = kernel(w)
    assert value == pytest.approx(np.log(2) - 1990, abs=1e-10)
    np.testing.assert_allclose(gamma, 1.0, atol=1e-11)
    logp, (slope,) = graph([np.array(w)])
    assert logp[0] == pytest.approx(np.log(2) - 1990, abs=1e-8)
    np.testing.assert_allclose(slope, 1.0, atol=1e-8)


def test_a_weak_item_beside_strong_ones_costs_its_utility_and_no_more():
    # with every other factor one, P -> a ∫ -log u du = a
    assert kernel([-1000.0, 500.0, 500.0])[0] == pytest.approx(-1000.0, abs=1e-10)


@for_each("w", [[-np.inf, 0.0], [-np.inf, -np.inf], [0.3, 1.0, -np.inf]])
def test_an_item_without_worth_makes_the_block_impossible(w):
    value, gamma = kernel(w)
    assert value == -np.inf
    assert np.isfinite(gamma).all()
    assert graph([np.array(w)])[0][0] == -np.inf


@for_each("n_padded", [1, 7, 100])
def test_padding_contributes_nothing(rng, n_padded):
    w = rng.normal(size=6)
    padded = np.concatenate([w, np.full(n_padded, PADDING)])
    bare, slope = kernel(w)
    value, gamma = kernel(padded)
    assert value == pytest.approx(bare, abs=1e-11)
    np.testing.assert_allclose(gamma, [*slope, *[0.0] * n_padded], atol=1e-11)

    (graph_bare, graph_padded), (bare_slope, padded_slope) = graph([w, padded])
    assert graph_padded == pytest.approx(graph_bare, abs=1e-10)
    np.testing.assert_allclose(padded_slope, [*bare_slope, *[0.0] * n_padded], atol=1e-10)


def test_nan_gives_nan():
    value, gamma = kernel([0.0, np.nan, 1.0])
    assert np.isnan(value)
    assert np.isnan(gamma).all()
    logp, _ = graph([np.array([0.0, np.nan, 1.0]), np.array([0.0, 1.0])])
    assert np.isnan(logp[0])
    assert np.isfinite(logp[1])


# Segments


def test_segments_sum_their_entries_and_an_empty_one_is_zero():
    x = pt.constant(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    out = segment_sum(x, (pt.constant([2, 0, 2]),), (4,)).eval()
    np.testing.assert_array_equal(out, [[3.0, 4.0], [0.0, 0.0], [6.0, 8.0], [0.0, 0.0]])


def test_blocks_may_lie_on_two_axes():
    # rankings by blocks; pairs of equal worth a against one: 1 - 2/(1 + a) + 1/(1 + 2a)
    w = np.log([1.0, 1.0, 2.0, 2.0])
    logp = block_logp(w, ([0, 0, 1, 1], [1, 1, 0, 0]), (2, 2)).eval()
    exact = np.log([[1.0, 1 / 3], [1 - 2 / 3 + 1 / 5, 1.0]])
    np.testing.assert_allclose(logp, exact, atol=1e-9)


def test_all_second_derivatives_are_differences_of_gradients():
    def slope(w):
        gamma = np.empty(w.size)
        block_kernel(w, gamma, workspace(w.size))
        return gamma

    rng = np.random.default_rng(2)
    for w in [*blocks_of(rng, [1, 2, 3, 6, 7, 9, 20]), np.full(3, -1000.0), np.full(8, 900.0)]:
        n, step = len(w), 1e-4
        gamma, hessian = np.empty(n), np.empty((n, n))
        block_hessian_kernel(w, gamma, hessian, hessian_workspace(n))
        axes = step * np.eye(n)
        numeric = [(slope(w + v) - slope(w - v)) / (2 * step) for v in axes]
        np.testing.assert_allclose(gamma, slope(w), atol=1e-11)
        np.testing.assert_allclose(hessian, numeric, atol=2e-7)
        np.testing.assert_array_equal(hessian, hessian.T)


def test_second_derivatives_at_nan_are_nan():
    gamma, hessian = np.empty(2), np.empty((2, 2))
    block_hessian_kernel(np.array([0.0, np.nan]), gamma, hessian, hessian_workspace(2))
    assert np.isnan(gamma).all()
    assert np.isnan(hessian).all()
