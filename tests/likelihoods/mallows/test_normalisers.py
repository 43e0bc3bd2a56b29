"""Normalisers of Mallows models: against enumeration, closed forms, and each other."""

import functools

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from scipy.special import gammaln

from bayesrank.likelihoods.mallows import (
    DISTANCES,
    PLACES,
    distance_between,
    draw_rankings,
    log_normaliser,
)
from bayesrank.likelihoods.mallows.op import FootruleLogNormaliser
from bayesrank.likelihoods.mallows.order_kernels import log_sum_of_orders
from bayesrank.likelihoods.mallows.path import path_log_normaliser, spearman_path
from tests.likelihoods.loops import for_each
from tests.likelihoods.mallows.permutations import DEFINITIONS, distances, every_ranking, log_z
from tests.oracles import gradient

ALPHA = np.array([0.0, 1e-9, 0.7, 4.0, 25.0])


@functools.cache
def normaliser(n, distance, mode="FAST_COMPILE"):
    """Log normaliser of several alpha, and its gradient."""
    alpha = pt.dvector("alpha")
    found = log_normaliser(alpha, n, distance)
    return pytensor.function([alpha], [found, pytensor.grad(found.sum(), alpha)], mode=mode)


@for_each("distance", DISTANCES)
def test_distances_are_what_their_names_say(distance):
    ranks = every_ranking(5)[::3]
    for consensus in ([1, 2, 3, 4, 5], [4, 1, 5, 3, 2]):
        expected = [DEFINITIONS[distance](x, consensus) for x in ranks.tolist()]
        found = distance_between(ranks, consensus, distance).eval()
        np.testing.assert_array_equal(found, expected)


@for_each("distance", DISTANCES)
def test_distances_stay_when_items_are_renamed(distance, rng):
    ranks, consensus = (rng.permuted(np.tile(np.arange(1, 31), (50, 1)), axis=1) for _ in "ab")
    names = rng.permutation(30)
    here = distance_between(ranks, consensus, distance).eval()
    there = distance_between(ranks[:, names], consensus[:, names], distance).eval()
    np.testing.assert_array_equal(here, there)
    assert np.ptp(here) > 0


def test_what_is_no_ranking_has_no_distance():
    ranks = np.array([[1, 1, 3], [0, 1, 2], [1, 2, 4], [1, 2, 3]])
    found = distance_between(ranks, [1, 2, 3], "kendall").eval()
    np.testing.assert_array_equal(np.isnan(found), [True, True, True, False])


@for_each("distance", DISTANCES)
@for_each("n", [1, 2, 6])
def test_normalisers_are_sums_over_all_rankings(distance, n):
    value, slope = normaliser(n, distance)(ALPHA)
    expected = [log_z(alpha, n, distance) for alpha in ALPHA]
    np.testing.assert_allclose(value, expected, rtol=0, atol=1e-10)
    # the slope is less the expected distance, over n
    d = distances(distance, n)
    mean = [np.exp(-a / n * d - z) @ d for a, z in zip(ALPHA, expected, strict=True)]
    np.testing.assert_allclose(slope, np.divide(mean, -n), atol=1e-10)


@pytest.mark.slow
@for_each("distance", DISTANCES)
def test_normalisers_of_eight_items_are_sums_over_all_rankings(distance):
    value, _ = normaliser(8, distance)(ALPHA)
    np.testing.assert_allclose(value, [log_z(a, 8, distance) for a in ALPHA], rtol=0, atol=1e-10)


@for_each("distance", DISTANCES)
def test_huge_alpha_leaves_one_ranking(distance):
    value, slope = normaliser(7, distance)(np.array([1e4, 1e12, 1e300]))
    np.testing.assert_allclose(value, 0.0, atol=1e-12)
    np.testing.assert_allclose(slope, 0.0, atol=1e-12)


@for_each(("distance", "n"), [("footrule", 200), ("spearman", 16), ("kendall", 200)])
def test_at_alpha_zero_it_counts_the_rankings(distance, n):
    value, slope = normaliser(n, distance)(np.zeros(1))
    np.testing.assert_allclose(value, gammaln(n + 1.0), rtol=1e-13)
    # expected distances of random rankings: (n^2 - 1) / 3, n (n^2 - 1) / 6, n (n - 1) / 4, ...
    expected = {
        "footrule": (n**2 - 1) / 3,
        "spearman": n * (n**2 - 1) / 6,
        "kendall": n * (n - 1) / 4,
    }
    np.testing.assert_allclose(slope, -expected[distance] / n, rtol=1e-12)


def test_kendall_matches_the_figure_of_bayesmallows():
    # BayesMallows 2.2, tests/testthat/test-partition_function.R: n = 10, alpha = 3
    value, _ = normaliser(10, "kendall")(np.array([3.0]))
    assert value[0] == pytest.approx(9.69641008, abs=5e-9)


def test_footrule_slopes_are_differences_of_its_values():
    found = FootruleLogNormaliser(60)
    t = pt.dvector("t")
    f = pytensor.function([t], [found(t), pytensor.grad(found(t).sum(), t)])
    at = np.array([0.0, 0.03, 0.5])
    numeric = gradient(lambda x: float(f(x)[0].sum()), at, step=1e-6)
    np.testing.assert_allclose(f(at)[1], numeric, rtol=1e-6)


@for_each(("distance", "n"), [("footrule", 5), ("spearman", 4), ("kendall", 4)])
def test_second_derivatives_are_variances_of_the_distance(distance, n):
    alpha = pt.dscalar("alpha")
    slope = pytensor.grad(log_normaliser(alpha, n, distance), alpha)
    found = pytensor.grad(slope, alpha).eval({alpha: 2.0})
    d = distances(distance, n) / n
    p = np.exp(-2.0 * d - log_z(2.0, n, distance))
    assert found == pytest.approx(p @ d**2 - (p @ d) ** 2, rel=1e-9)


@pytest.mark.slow  # JAX compiles each; the graph of the footrule is tested by its derivatives above
@for_each(("distance", "n"), [("footrule", 6), ("spearman", 5)])
def test_jax_agrees(distance, n):
    for found, expected in zip(
        normaliser(n, distance, "JAX")(ALPHA), normaliser(n, distance)(ALPHA), strict=True
    ):
        np.testing.assert_allclose(found, expected, atol=1e-11)


def test_numbers_are_of_double_precision_even_if_single_ones_hold_them():
    exact = sum(np.log(np.exp(-np.arange(j)).sum()) for j in range(1, 13))
    assert float(log_normaliser(12.0, 12, "kendall").eval()) == pytest.approx(exact, abs=1e-13)


def test_an_unknown_distance_is_refused():
    known = "must be one of 'footrule', 'spearman', 'kendall'"
    with pytest.raises(ValueError, match=f"`distance` is 'foot'; it {known}.$"):
        log_normaliser(1.0, 5, "foot")
    with pytest.raises(ValueError, match="It was removed; the R package BayesMallows has it"):
        log_normaliser(1.0, 5, "cayley")


# Spearman's normaliser beyond the sums over sets


def estimated(n, t, seed=1):
    """Along a path: value and slope by t, and the standard error at the nodes."""
    path = spearman_path(n, seed)
    at = pt.dvector("t")
    found = path_log_normaliser(at, path)
    f = pytensor.function([at], [found, pytensor.grad(found.sum(), at)], mode="FAST_COMPILE")
    return f(t), path


@for_each("n", [5, 9, 13])
def test_an_estimate_along_a_path_is_as_near_as_it_says(n, monkeypatch):
    monkeypatch.setattr("bayesrank.likelihoods.mallows.path.N_EXCHANGES", 8_000_000)
    spearman_path.cache_clear()
    t = np.exp(spearman_path(n).at[::3])
    (value, slope), path = estimated(n, t)
    spearman_path.cache_clear()
    squares = np.subtract.outer(np.arange(n), np.arange(n)) ** 2.0
    exact = [log_sum_of_orders(x * squares, PLACES) for x in t]
    off = (value - [v for v, _ in exact]) / path.error[::3]
    assert abs(off).max() < 5.5
    assert 0.3 < np.sqrt((off**2).mean()) < 2.5  # and not much nearer
    warm = t < 1.0
    slopes = np.array([(g * squares).sum() for _, g in exact])
    np.testing.assert_allclose(slope[warm], slopes[warm], rtol=0.1)


@for_each("n", [5, 9])
def test_beyond_the_ends_of_the_path_the_normaliser_is_known(n, monkeypatch):
    monkeypatch.setattr("bayesrank.likelihoods.mallows.path.N_EXCHANGES", 1_000_000)
    spearman_path.cache_clear()
    low = np.exp(spearman_path(n).breaks[0])
    t = np.array([0.0, low / 100, low * 0.999, 6.001, 9.0, 1e5])
    (value, slope), _ = estimated(n, t)
    spearman_path.cache_clear()
    squares = np.subtract.outer(np.arange(n), np.arange(n)) ** 2.0
    exact = [log_sum_of_orders(x * squares, PLACES) for x in t]
    np.testing.assert_allclose(value, [v for v, _ in exact], atol=1e-8)
    np.testing.assert_allclose(slope, [(g * squares).sum() for _, g in exact], rtol=1e-3)


@pytest.mark.slow  # the long chains
def test_the_normaliser_of_thirty_items_says_its_error():
    alpha = np.array([0.5, 3.0, 20.0])
    with pytest.warns(UserWarning, match="30 items is estimated: the standard error"):
        value, slope = normaliser(30, "spearman")(alpha)
    (other, _), path = estimated(30, alpha / 30, seed=2)
    assert path.error.max() < 0.02
    np.testing.assert_allclose(value, other, atol=8 * path.error.max())
    # distances of draws, which are chains from another start
    for a, s in zip(alpha, slope, strict=True):
        drawn = draw_rankings([*range(1, 31)], a, np.arange(2000) * 7**15, distance="spearman")
        d = ((drawn.eval() - np.arange(1, 31)) ** 2).sum(axis=1)
        assert abs(d.mean() + 30 * s) < 5.5 * d.std() / np.sqrt(2000) + 0.01 * d.mean()
