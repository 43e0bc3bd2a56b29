"""MPM's graphs: against listed tables of counts, Bradley-Terry, and each other."""

import functools

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from scipy.special import gammaln

from bayesrank.likelihoods.mpm.graph import (
    differences,
    log_multinomial,
    log_pair_normaliser,
    mpm_logp,
)
from bayesrank.likelihoods.pairs.graph import bradley_terry_log_probabilities
from tests.likelihoods.count_tables import count_tables, log_pair_probabilities, table_logp
from tests.likelihoods.loops import for_each

QUICK = "FAST_COMPILE"

SCORE = np.array([0.3, 1.2, -0.5, 0.1])
VARIANCE = np.array([0.5, 0.8, 0.3, 1.7])
FORMS = {
    "equal": {},
    "adherence": {"adherence": 0.4},
    "variances": {"variance": VARIANCE},
    "both": {"variance": VARIANCE, "adherence": 2.5},
}


@functools.cache
def function(unequal):
    """Values (n_tables,), and gradients of the sum by score, adherence and variance."""
    counts, score = pt.dtensor3("counts"), pt.dvector("score")
    adherence, variance = pt.dscalar("adherence"), pt.dvector("variance")
    logp = mpm_logp(counts, score, adherence, variance if unequal else None)
    wrt = [score, adherence, *([variance] if unequal else [])]
    inputs = [counts, score, adherence, variance]
    outputs = [logp, *pytensor.grad(logp.sum(), wrt)]
    return pytensor.function(inputs, outputs, mode=QUICK, on_unused_input="ignore")


def evaluate(counts, score, adherence=1.0, variance=None):
    f = function(variance is not None)
    g = np.zeros(0) if variance is None else variance
    return f(np.asarray(counts, dtype=float), score, adherence, g)


def logp_of(counts, score, adherence=1.0, variance=None):
    return evaluate(counts, score, adherence, variance)[0]


# Probabilities


@for_each("form", FORMS)
@for_each(("n_items", "total"), [(3, 1), (3, 2), (3, 3), (4, 1), (4, 2)])
def test_all_tables_of_a_total_sum_to_one(form, n_items, total):
    options = FORMS[form] | ({"variance": VARIANCE[:n_items]} if "variance" in FORMS[form] else {})
    tables, score = count_tables(n_items, total), SCORE[:n_items]
    logp = logp_of(tables, score, **options)
    assert np.exp(logp).sum() == pytest.approx(1.0, abs=1e-13)
    exact = [table_logp(table, score, **options) for table in tables]
    np.testing.assert_allclose(logp, exact, atol=1e-13)


def test_two_items_by_hand():
    # P(a over b) = e^d / (e^d + e^-d) with d = log 2: 4/5
    score = np.array([np.log(2.0), 0.0])
    tables = [[[0, 1], [0, 0]], [[0, 0], [1, 0]], [[0, 2], [1, 0]]]
    expected = [4 / 5, 1 / 5, 3 * (4 / 5) ** 2 * (1 / 5)]
    np.testing.assert_allclose(np.exp(logp_of(tables, score)), expected, rtol=1e-14)
    # an adherence of 1/2, and variances that sum to 2, make d half of it: 2/3
    halved = [2 / 3, 1 / 3, 3 * (2 / 3) ** 2 * (1 / 3)]
    np.testing.assert_allclose(np.exp(logp_of(tables, score, 0.5)), halved, rtol=1e-14)
    unequal = logp_of(tables, score, variance=np.array([0.4, 1.6]))
    np.testing.assert_allclose(np.exp(unequal), halved, rtol=1e-14)


def test_three_items_by_hand():
    # worths 1, 2, 4: Z = 2 + 1/2 + 2 + 1/2 + 4 + 1/4 = 37/4, and the last over the first is 4 of it
    score = np.log([1.0, 2.0, 4.0])
    once, twice = np.zeros((3, 3)), np.zeros((3, 3))
    once[2, 0], twice[2, 0], twice[0, 1] = 1, 1, 1
    expected = [16 / 37, 2 * (16 / 37) * (2 / 37)]
    np.testing.assert_allclose(np.exp(logp_of([once, twice], score)), expected, rtol=1e-14)


def test_no_counts_are_certain():
    for options in FORMS.values():
        logp, *slopes = evaluate(np.zeros((1, 4, 4)), SCORE, **options)
        np.testing.assert_array_equal(logp, [0.0])
        assert all((np.asarray(slope) == 0).all() for slope in slopes)


def test_orders_of_the_draws_are_counted():
    counts = [[0, 3, 0], [1, 0, 2], [0, 0, 0]]  # 6! / (3! 1! 2!)
    assert log_multinomial(counts).exp().eval(mode=QUICK) == pytest.approx(60.0, rel=1e-13)
    assert log_multinomial(np.zeros((2, 3, 3))).eval(mode=QUICK).tolist() == [0.0, 0.0]


def test_differences_by_hand():
    D = differences([1.0, 0.0, 3.0], [0.5, 1.5, 0.25]).eval(mode=QUICK)
    expected = [[0, 0.5, -2 / 0.75], [-0.5, 0, -3 / 1.75], [2 / 0.75, 3 / 1.75, 0]]
    np.testing.assert_allclose(D, expected, rtol=1e-15)


MANY = np.random.default_rng(3).integers(0, 9, size=(5, 4, 4)) * (1 - np.eye(4, dtype=int))


@for_each("form", FORMS)
def test_the_counts_are_how_often_pairs_are_compared_and_then_bradley_terry(form):
    options = FORMS[form]
    p = np.exp(log_pair_probabilities(SCORE, **options))
    both = np.triu(MANY + MANY.swapaxes(1, 2))
    upper = np.triu(p + p.T, 1)
    log_upper = np.log(np.where(upper > 0, upper, 1.0))
    exact = gammaln(both.sum(axis=(1, 2)) + 1) + (both * log_upper - gammaln(both + 1)).sum((1, 2))
    theta, g = options.get("adherence", 1.0), options.get("variance")
    for i in range(4):
        for j in range(i + 1, 4):
            scale = 1.0 if g is None else g[i] + g[j]
            w = 2 * theta * SCORE / scale  # doubled scores
            log_p = [x.eval(mode=QUICK) for x in bradley_terry_log_probabilities(w[i] - w[j])]
            won, lost = MANY[:, i, j], MANY[:, j, i]
            exact += gammaln(won + lost + 1) - gammaln(won + 1) - gammaln(lost + 1)
            exact += won * log_p[0] + lost * log_p[1]
    np.testing.assert_allclose(logp_of(MANY, SCORE, **options), exact, rtol=1e-13)


# Normalisers and extremes; the battery of distributions has gradients and batches


@functools.cache
def normaliser(unequal):
    """Log Z (n_rankers,), and gradients of the sum by score, adherence and variance."""
    score, variance, where = pt.dvector("score"), pt.dvector("variance"), pt.bvector("where")
    theta = pt.dvector("theta")
    log_Z = log_pair_normaliser(
        score, theta, variance if unequal else None, where=pt.cast(where, "bool")
    )
    wrt = [score, theta, *([variance] if unequal else [])]
    outputs = [log_Z, *pytensor.grad(log_Z.sum(), wrt)]
    inputs = [score, theta, variance, where]
    return pytensor.function(inputs, outputs, mode=QUICK, on_unused_input="ignore")


@for_each("unequal", [False, True])
def test_masking_items_is_removing_them(unequal):
    f, theta = normaliser(unequal), np.array([0.0, 0.4, 3.0])
    bare = f(SCORE[1:], theta, VARIANCE[1:], np.ones(3, dtype=np.int8))
    for filler in (0.0, 1e6, np.nan, np.inf):
        score, variance = np.append(SCORE, filler), np.append(VARIANCE, filler)
        masked = f(score, theta, variance, np.array([0, 1, 1, 1, 0], dtype=np.int8))
        np.testing.assert_allclose(masked[0], bare[0], atol=1e-13)
        np.testing.assert_allclose(masked[1], [0.0, *bare[1], 0.0], atol=1e-13)
        np.testing.assert_allclose(masked[2], bare[2], atol=1e-13)
        if unequal:
            np.testing.assert_allclose(masked[3], [0.0, *bare[3], 0.0], atol=1e-13)


@for_each("unequal", [False, True])
@for_each("n_items", [0, 1])
def test_fewer_than_two_items_have_no_pair_and_no_gradient(unequal, n_items):
    where = (np.arange(4) < n_items).astype(np.int8)
    log_Z, *slopes = normaliser(unequal)(SCORE, np.array([0.0, 1.0]), VARIANCE, where)
    np.testing.assert_array_equal(log_Z, [-np.inf, -np.inf])
    for slope in slopes:
        np.testing.assert_array_equal(slope, np.zeros_like(slope))


@for_each("unequal", [False, True])
def test_equal_scores_leave_the_number_of_pairs(unequal):
    f, theta = normaliser(unequal), np.array([0.0, 1.0, 50.0])
    log_Z, slope, *_ = f(np.full(4, 7.0), theta, VARIANCE, np.ones(4, dtype=np.int8))
    np.testing.assert_allclose(log_Z, np.log(12.0), rtol=1e-14)
    np.testing.assert_allclose(slope, 0.0, atol=1e-12)


@for_each("unequal", [False, True])
def test_scores_of_plus_and_minus_1000_stay_exact(unequal):
    g = VARIANCE if unequal else None
    score = np.array([1000.0, -1000.0, 0.0, 3.0])
    logp, *slopes = evaluate(MANY, score, 1.0, g)
    exact = [table_logp(table, score, 1.0, g) for table in MANY]
    np.testing.assert_allclose(logp, exact, rtol=1e-12)
    assert all(np.isfinite(slope).all() for slope in slopes)
