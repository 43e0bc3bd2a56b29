"""The compiled Ops of MPM: against their graphs on every backend, to the second derivatives."""

import functools

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from scipy.special import logsumexp

from bayesrank.likelihoods.mpm.kernels import (
    _expands,
    pair_normalisers_kernel,
    pair_normalisers_pullback_kernel,
)
from bayesrank.likelihoods.mpm.op import LogNormalisers, agreement, log_normaliser_table
from tests.likelihoods.count_tables import log_pair_probabilities
from tests.likelihoods.loops import for_each
from tests.oracles import gradient

QUICK = "FAST_COMPILE"
BACKENDS = (QUICK, "JAX")

# Three problems of 6, 2 and 4 items
WHERE = np.array([[1, 1, 1, 1, 1, 1], [0, 1, 0, 0, 1, 0], [1, 1, 0, 1, 0, 1]], dtype=bool)
SCORE = np.random.default_rng(1).normal(size=WHERE.shape)
VARIANCE = np.random.default_rng(2).gamma(5.0, 0.1, size=WHERE.shape)
ADHERENCE = np.array([0.3, 0.0, 2.0, 1.0])
EQUAL = np.zeros((1, 0))
EVERYONE = np.ones((1, 0), dtype=bool)
BAR = np.array([[0.3, -1.0, 2.0, 0.5], [1.0, 0.7, -0.2, 0.0], [-3.0, 0.1, 1.0, 0.9]])


def direct(score, variance, adherence, where):
    """Log Z by the definition, pair by pair: the first pair's D less its log probability."""
    out = np.full((len(score), len(adherence)), -np.inf)
    for p, n in np.ndindex(*out.shape):
        s = score[p, where[p]]
        g = variance[p, where[p]] if variance.shape[1] else np.full(s.size, 0.5)
        if s.size > 1:
            D = (s[0] - s[1]) / (g[0] + g[1])
            log_p = log_pair_probabilities(s, adherence[n], g)[0, 1]
            out[p, n] = adherence[n] * D - log_p
    return out


def slopes(f, x, step=1e-5):
    """Central differences by several arrays."""
    return [
        gradient(lambda z, i=i: f(*x[:i], z, *x[i + 1 :]), x[i], step)
        for i in range(len(x))
        if x[i].size
    ]


@functools.cache
def function(mode, unequal, graph=False):
    """Log Z, gradients of a weighted sum, and of a sum of functions of these."""
    score, variance, adherence = pt.dmatrix("score"), pt.dmatrix("variance"), pt.dvector("theta")
    op = LogNormalisers().graph if graph else LogNormalisers()
    variances = variance if unequal else pt.zeros((1, 0))
    log_Z = op(score, variances, adherence, pt.constant(WHERE), pt.constant(EVERYONE))
    wrt = [score, adherence, *([variance] if unequal else [])]
    first = pytensor.grad((BAR * log_Z).sum(), wrt)
    second = pytensor.grad(sum(pt.sin(x).sum() for x in first), wrt)
    inputs = [score, variance, adherence]
    return pytensor.function(inputs, [log_Z, *first, *second], mode=mode, on_unused_input="ignore")


@for_each("mode", BACKENDS)
@for_each("unequal", [False, True])
def test_normalisers_and_their_derivatives_are_those_of_the_graph(mode, unequal):
    outputs = function(mode, unequal)(SCORE, VARIANCE, ADHERENCE)
    graph = function(QUICK, unequal, graph=True)(SCORE, VARIANCE, ADHERENCE)
    n_first = 1 + len(outputs) // 2  # second derivatives are differences
    for k, (found, expected) in enumerate(zip(outputs, graph, strict=True)):
        atol = 1e-11 if k < n_first else 1e-6
        np.testing.assert_allclose(found, expected, rtol=1e-6 if k >= n_first else 1e-7, atol=atol)
    np.testing.assert_allclose(
        outputs[0], direct(SCORE, VARIANCE if unequal else EQUAL, ADHERENCE, WHERE), rtol=1e-12
    )
    assert (outputs[1][~WHERE] == 0).all()


# The two routes of the kernels


def problem(n_items, scale, unequal, seed=5):
    rng = np.random.default_rng(seed)
    score = rng.normal(size=(1, n_items)) * scale
    variance = rng.gamma(5.0, 0.1, size=(1, n_items)) if unequal else EQUAL
    return score, variance, np.ones((1, n_items), dtype=bool)


def rates(n_rankers, seed=6):
    return np.random.default_rng(seed).gamma(2.0, 0.5, size=n_rankers)


def dense(score, variance, adherence, bar):
    """Log Z of one problem, and gradients of a weighted sum, from the matrix of all pairs."""
    scale = variance[0][:, None] + variance[0] if variance.size else 1.0
    D = (score[0][:, None] - score[0]) / scale
    pairs = ~np.eye(len(D), dtype=bool)
    log_Z, by_D, by_adherence = [], np.zeros(D.shape), []
    for theta, weight in zip(adherence, bar[0], strict=True):
        x = np.where(pairs, theta * D, -np.inf)
        log_Z.append(logsumexp(x))
        p = np.exp(x - log_Z[-1])
        by_D += weight * theta * p
        by_adherence.append(weight * (p * D).sum())
    lead = by_D / scale  # of the first items over the second
    by_score = (lead - lead.T).sum(axis=1)
    by_variance = -(lead * D + (lead * D).T).sum(axis=1) * bool(variance.size)
    return np.array([log_Z]), by_score[None], by_variance[None], np.array(by_adherence)


@pytest.mark.slow
@for_each("unequal", [False, True])
@for_each("scale", [0.0, 1e-8, 1.0, 10.0])
@for_each("n_rankers", [1, 2000])
def test_one_ranker_and_thousands_have_the_values_and_slopes_of_all_pairs(
    unequal, scale, n_rankers
):
    score, variance, where = problem(100, scale, unequal)
    theta = rates(n_rankers)
    theta[0] = 0.0 if n_rankers > 1 else 2.0
    n_points, share = (4950, 0.5) if unequal else (100, 1.0)
    reach = theta.max() * np.ptp(score)
    assert _expands(2 * reach, share, n_points, n_rankers) == (
        n_rankers > 1 or (scale < 1 and unequal)
    )
    bar = np.zeros((1, n_rankers))
    bar[0, : min(n_rankers, 5)] = [1.0, -2.0, 0.5, 3.0, -0.1][:n_rankers]
    bar[0, theta.argmax()] = 2.0
    table = pair_normalisers_kernel(score, variance, theta, where, EVERYONE)
    pulled = pair_normalisers_pullback_kernel(score, variance, theta, where, EVERYONE, bar)
    log_Z, by_score, by_variance, by_adherence = dense(score, variance, theta, bar)
    np.testing.assert_allclose(table, log_Z, rtol=1e-12)
    exact = by_score, by_variance if unequal else EQUAL, by_adherence
    for found, expected in zip(pulled, exact, strict=True):
        bound = 1e-11 * max(1.0, np.abs(expected).max(initial=0.0))
        np.testing.assert_allclose(found, expected, atol=bound)


@for_each("unequal", [False, True])
@for_each("n_rankers", [3, 2000])
def test_gradients_are_finite_differences_of_the_definition(unequal, n_rankers):
    score, variance, where = problem(8, 1.0, unequal)
    theta = rates(n_rankers)
    bar = np.zeros((1, n_rankers))
    bar[0, :3] = [0.7, -1.3, 2.0]

    def weighted(s, t, *g):
        return (bar[:, :3] * direct(s, g[0] if g else EQUAL, t, where)).sum()

    by_score, by_variance, by_theta = pair_normalisers_pullback_kernel(
        score, variance, theta, where, EVERYONE, bar
    )
    exact = slopes(weighted, [score, theta[:3], *([variance] if unequal else [])])
    np.testing.assert_allclose(by_score, exact[0], atol=1e-7)
    np.testing.assert_allclose(by_theta[:3], exact[1], atol=1e-7)
    np.testing.assert_array_equal(by_theta[3:], 0.0)
    if unequal:
        np.testing.assert_allclose(by_variance, exact[2], atol=1e-7)


@for_each("unequal", [False, True])
@for_each("n_rankers", [1, 500])
def test_scores_of_plus_and_minus_1000_stay_exact(unequal, n_rankers):
    score, variance, where = problem(30, 0.0, unequal)
    score[0, :4] = [1000.0, -1000.0, 1000.0, 3.0]
    theta = np.linspace(0.0, 2.0, n_rankers + 1)[1:]
    table = pair_normalisers_kernel(score, variance, theta, where, EVERYONE)
    some = slice(None, None, -(-n_rankers // 20))
    exact = direct(score, variance, theta[some], where)
    np.testing.assert_allclose(table[:, some], exact, rtol=1e-12)
    pulled = pair_normalisers_pullback_kernel(
        score, variance, theta, where, EVERYONE, np.ones((1, n_rankers))
    )
    assert all(np.isfinite(x).all() for x in pulled)


@for_each("unequal", [False, True])
@for_each("n_rankers", [1, 500])
@for_each("bad", [np.nan, np.inf, -np.inf, 1e300])
@for_each("what", ["score", "adherence"])
def test_numbers_beyond_all_bounds_do_not_stop_a_sampler(unequal, n_rankers, bad, what):
    # a diverging trajectory comes by: what matters is that it comes back
    score, variance, where = problem(30, 1.0, unequal)
    theta = rates(n_rankers) + 0.1
    (score[0] if what == "score" else theta)[-1] = bad
    table = pair_normalisers_kernel(score, variance, theta, where, EVERYONE)
    pulled = pair_normalisers_pullback_kernel(
        score, variance, theta, where, EVERYONE, np.ones((1, n_rankers))
    )
    assert table.shape == (1, n_rankers)
    assert [x.shape for x in pulled] == [score.shape, variance.shape, theta.shape]
    if np.isnan(bad):
        assert np.isnan(table[0, -1])


@for_each("unequal", [False, True])
def test_no_rankers_have_no_normalisers(unequal):
    score, variance, where = problem(5, 1.0, unequal)
    nobody, nothing = np.zeros(0), np.zeros((1, 0))
    assert pair_normalisers_kernel(score, variance, nobody, where, EVERYONE).shape == (1, 0)
    by_score, by_variance, by_theta = pair_normalisers_pullback_kernel(
        score, variance, nobody, where, EVERYONE, nothing
    )
    np.testing.assert_array_equal(by_score, 0.0)
    np.testing.assert_array_equal(by_variance, np.zeros_like(variance))
    assert by_theta.shape == (0,)


@for_each("unequal", [False, True])
def test_problems_of_fewer_than_two_items_have_no_gradient(unequal):
    where = np.array([[1, 0, 0], [0, 0, 0], [1, 1, 0]], dtype=bool)
    score = np.random.default_rng(0).normal(size=(3, 3))
    variance = np.full((3, 3), 0.3) if unequal else EQUAL
    theta, bar = np.array([0.5, 1.0]), np.ones((3, 2))
    table = pair_normalisers_kernel(score, variance, theta, where, EVERYONE)
    np.testing.assert_array_equal(np.isneginf(table), [[True] * 2, [True] * 2, [False] * 2])
    by_score, *_ = pair_normalisers_pullback_kernel(score, variance, theta, where, EVERYONE, bar)
    np.testing.assert_array_equal(by_score != 0, [[0, 0, 0], [0, 0, 0], [1, 1, 0]])


NEEDED = np.array([[1, 0, 1, 1], [0, 0, 0, 0], [0, 1, 0, 1]], dtype=bool)


@for_each(("unequal", "mode"), [(True, QUICK), (False, "JAX")])
def test_rankers_that_a_problem_does_not_need_have_zeros_and_no_gradient(unequal, mode):
    variance = VARIANCE if unequal else None
    score, theta = pt.dmatrix("score"), pt.dvector("theta")
    table = log_normaliser_table(score, theta, variance, where=WHERE, needed=NEEDED)
    whole = log_normaliser_table(score, theta, variance, where=WHERE)
    outputs = [table, *pt.grad((BAR * table).sum(), [score, theta])]
    expected = [NEEDED * whole, *pt.grad((BAR * NEEDED * whole).sum(), [score, theta])]
    found = pytensor.function([score, theta], outputs + expected, mode=mode)(SCORE, ADHERENCE)
    for part, in_whole in zip(found[:3], found[3:], strict=True):
        np.testing.assert_allclose(part, in_whole, rtol=1e-12, atol=1e-14)


# Agreement of counts

RANKER = np.array([0, 0, 1, 3, 3, 3])
FIRST = np.array([0, 5, 2, 1, 1, 0])
SECOND = np.array([1, 0, 3, 0, 4, 5])
COUNT = np.array([2.0, 1.0, 4.0, 1.0, 3.0, 5.0])
ENTRIES = (RANKER, FIRST, SECOND, COUNT)
LIKE = np.zeros(5)
WEIGHTS = np.array([1.0, -2.0, 5.0, 0.3, 7.0])


def agreed(s, g=None):
    out = np.zeros(5)
    for n, i, j, c in zip(*ENTRIES, strict=True):
        out[n] += c * (s[i] - s[j]) / (1.0 if g is None else g[i] + g[j])
    return out


@functools.cache
def agreement_function(mode, unequal):
    score, variance = pt.dvector("score"), pt.dvector("variance")
    # the ranks of rankers and items as a model has them, in 32 bits
    entries = [pt.constant(x.astype(np.int32)) for x in ENTRIES[:3]] + [pt.constant(COUNT)]
    out = agreement(score, variance if unequal else None, entries, like=pt.constant(LIKE))
    wrt = [score, *([variance] if unequal else [])]
    first = pytensor.grad((WEIGHTS * out).sum(), wrt)
    second = pytensor.grad(sum((x**2).sum() for x in first), wrt, disconnected_inputs="ignore")
    return pytensor.function(
        [score, variance], [out, *first, *second], mode=mode, on_unused_input="ignore"
    )


@for_each("mode", BACKENDS)
@for_each("unequal", [False, True])
def test_agreements_are_sums_over_the_entries(mode, unequal):
    s, g = SCORE[0], VARIANCE[0]
    known = [g] if unequal else []
    out, *rest = agreement_function(mode, unequal)(s, g)
    np.testing.assert_allclose(out, agreed(s, *known), atol=1e-13)
    assert out[2] == out[4] == 0.0  # these have no entries
    n = len(known) + 1
    exact = slopes(lambda *x: WEIGHTS @ agreed(*x), [s, *known])
    for found, numeric in zip(rest[:n], exact, strict=True):
        np.testing.assert_allclose(found, numeric, atol=1e-7)

    def squares(*x):
        pulled = agreement_function(QUICK, unequal)(x[0], x[1] if unequal else g)[1 : n + 1]
        return sum((y**2).sum() for y in pulled)

    for found, numeric in zip(rest[n:], slopes(squares, [s, *known]), strict=True):
        np.testing.assert_allclose(found, numeric, rtol=1e-7, atol=1e-6)


# Shapes and types


def test_integers_are_numbers_too():
    score, variance = pt.constant([[1, 0, 3]]), pt.constant([[1, 2, 1]])
    table = log_normaliser_table(score, pt.constant([1, 0]), variance)
    exact = direct(score.data, variance.data, np.array([1, 0]), np.ones((1, 3), dtype=bool))
    np.testing.assert_allclose(table.eval(mode=QUICK), exact, rtol=1e-14)


def test_the_mask_of_items_has_no_gradient():
    where = pt.dmatrix("where")
    table = log_normaliser_table(SCORE, ADHERENCE, where=pt.gt(where, 0))
    with pytest.raises(pytensor.gradient.DisconnectedInputError):
        pt.grad(table.sum(), where)
