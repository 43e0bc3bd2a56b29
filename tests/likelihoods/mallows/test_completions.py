"""Partial rankings under Mallows models: sums over what completes them, against enumeration."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from scipy.special import logsumexp

from bayesrank.likelihoods.mallows import DISTANCES, check_partial, mallows_logp
from bayesrank.likelihoods.mallows.completion_kernels import (
    FOOTRULE,
    SPEARMAN,
    _footrule_without_ties,
    _over_ideals,
    completions_kernel,
)
from bayesrank.likelihoods.mallows.order_kernels import PLACES, log_total_of_orders
from tests.likelihoods.loops import for_each
from tests.likelihoods.mallows.permutations import DEFINITIONS, completions

# weak orders, top-k lists, some items, with ties and without, one item, nothing said
PARTIAL = [
    [2, 1, 2, 2, 3],
    [1, 3, 2, 3, 3],
    [1, 1, 1, 1, 1],
    [4, 2, 5, 1, 3],
    [0, 2, 0, 1, 3],
    [2, 0, 1, 0, 0],
    [1, 0, 2, 1, 2],
    [0, 0, 1, 0, 0],
    [0, 0, 0, 0, 0],
]
RHO = [3, 5, 1, 2, 4]
KINDS = range(len(DISTANCES))


@for_each("kind", KINDS)
@for_each("t", [0.0, 0.3, 2.0, 60.0])
def test_sums_and_derivatives_are_those_of_all_completions(kind, t):
    ranks = np.array(PARTIAL)
    times, rho = np.full(len(ranks), t), np.tile(RHO, (len(ranks), 1))
    value, slope = completions_kernel(times, ranks, rho, 5, kind)
    for row, y in enumerate(ranks):
        distance = DEFINITIONS[DISTANCES[kind]]
        d = np.array([distance(x, RHO) for x in completions(y).tolist()], dtype=float)
        log_sum = logsumexp(-t * d)
        share = np.exp(-t * d - log_sum)
        assert value[row] == pytest.approx(log_sum, rel=1e-13, abs=1e-10)
        assert slope[row] == pytest.approx(-share @ d, abs=1e-10)


def test_rankings_with_too_many_completions_are_found_beforehand():
    ranks = np.array(PARTIAL)
    first = {name: check_partial(name, ranks, 5) for name in DISTANCES}
    assert first == dict.fromkeys(DISTANCES)
    pairs = np.array([[1, 2, 0], [2, 1, 3], [1, 1, 2]])
    assert check_partial("footrule", pairs, 100) == 2
    assert check_partial("kendall", pairs, 100) == 0
    assert check_partial("kendall", pairs[1:2], 100) == 0
    assert check_partial("kendall", np.ones((1, 100), int), 100) is None
    assert check_partial("spearman", np.ones((1, 100), int), 100) == 0


def blocks(n, sizes, rng):
    """A consensus, and ranks of blocks of these sizes."""
    return rng.permutation(n) + 1, np.repeat(np.arange(len(sizes)) + 1, sizes)


@for_each("kind", [FOOTRULE, SPEARMAN])
def test_blocks_of_many_items_are_permanents(kind, rng):
    rho, ranks = blocks(30, [3, 1, 11, 10, 1, 4], rng)
    cost = {
        FOOTRULE: lambda x: np.abs(x),
        SPEARMAN: lambda x: x**2,
    }[kind](rho[:, None] - np.arange(1, 31)).astype(float)
    t = 0.2
    expected = sum(
        log_total_of_orders(t * cost[np.ix_(block, block)], PLACES)
        for block in (np.flatnonzero(ranks == b) for b in range(1, 7))
    )
    found, _ = completions_kernel(np.array([t]), ranks[None], rho[None], 30, kind)
    assert found[0] == pytest.approx(expected, rel=1e-12)


def test_top_k_lists_have_the_closed_form_of_fligner_and_verducci(rng):
    # stage j: as many of the remaining items that the consensus has before the one that is taken
    n, k, alpha = 60, 7, 9.0
    rho, ranks = blocks(n, [1] * k + [n - k], rng)
    t = alpha / n
    expected = 0.0
    for j in range(k):
        skipped = (rho[j + 1 :] < rho[j]).sum()
        expected += -t * skipped - np.log(np.exp(-t * np.arange(n - j)).sum())
    found = mallows_logp(ranks[None], rho[None], alpha, distance="kendall", n_items=n)
    assert found.eval()[0] == pytest.approx(expected, rel=1e-12)


def test_under_the_footrule_some_items_are_scanned_as_they_are_summed_by_sets(rng):
    n, t = 11, 0.4
    for s in (1, 3, 10):
        place = rng.permutation(n)[:s] + 1
        found = _footrule_without_ties(t, place, n)
        expected = _over_ideals(t, place, np.arange(s + 1), n, FOOTRULE)
        np.testing.assert_allclose(found, expected, rtol=1e-11)


def test_both_orders_of_two_items_have_total_probability_one():
    rho, ranks = np.array([[70, 9]] * 2), np.array([[1, 2], [2, 1]])
    logp = mallows_logp(ranks, rho, 30.0, distance="footrule", n_items=80).eval()
    assert np.logaddexp(*logp) == pytest.approx(0.0, abs=1e-10)
    assert logp[1] > np.log(0.9)


def test_invalid_partial_rankings_are_impossible():
    ranks = np.array([[1, 3, 0], [2, 2, 3], [-1, 1, 2], [1, 2, 3]])
    rho = np.array([[1, 2, 3]] * 3 + [[1, 2, 2]])
    for kind in KINDS:
        value, _ = completions_kernel(np.ones(4), ranks, rho, 3, kind)
        assert np.isneginf(value).all()


@pytest.mark.slow  # JAX compiles
def test_jax_calls_the_kernel_and_differentiates_it():
    alpha = pt.dscalar("alpha")
    logp = mallows_logp(PARTIAL, [RHO] * 9, alpha, distance="footrule", n_items=5).sum()
    outputs = [logp, pytensor.grad(logp, alpha)]
    found = pytensor.function([alpha], outputs, mode="JAX")(2.0)
    np.testing.assert_allclose(found, pytensor.function([alpha], outputs)(2.0), rtol=1e-10)
    jax = pytest.importorskip("jax")
    f = pytensor.function([alpha], logp, mode="JAX").vm.jit_fn
    np.testing.assert_allclose(jax.grad(lambda a: f(a)[0])(2.0), found[1], rtol=1e-10)
