"""Exact draws of MPM: frequencies against listed tables.

A frequency test raises a false alarm once in 10^8, and each has a twin that must not pass.
"""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from scipy.stats import norm

from bayesrank.likelihoods.mpm import draws as draws_of_mpm
from bayesrank.likelihoods.mpm.draws import draw_counts, draw_net_counts
from bayesrank.likelihoods.mpm.op import CountsDraw
from tests.likelihoods.count_tables import count_tables, log_pair_probabilities, table_logp
from tests.likelihoods.loops import for_each
from tests.oracles import frequency_p_value, places_in

FALSE_ALARM = 1e-8
SIGMAS = norm.isf(FALSE_ALARM / 100)  # of each of up to fifty numbers
N_DRAWS = 40_000
SCORE = np.array([0.3, 1.2, -0.5])
VARIANCE = np.array([0.5, 0.8, 0.3])
OTHER = np.array([0.0, 0.1, 0.0])  # off by so much must be told apart
FORMS = {"equal": None, "variances": VARIANCE}


def columns(variance, n):
    """Variances of n rankers, or none."""
    return np.zeros((n, 0)) if variance is None else np.tile(variance, (n, 1))


def draws(score, adherence, variance, total, n_draws=N_DRAWS, seed=1):
    score = np.tile(score, (n_draws, 1))
    theta, T = np.full(n_draws, adherence), np.full(n_draws, total)
    seeds = np.random.default_rng(seed).integers(0, 2**62, n_draws)
    return draw_counts(score, columns(variance, n_draws), theta, T, seeds)


@for_each("form", FORMS)
@for_each(("adherence", "total"), [(1.0, 1), (0.6, 2), (2.0, 3), (0.0, 2)])
def test_tables_come_as_often_as_they_are_probable(form, adherence, total):
    tables, g = count_tables(3, total), FORMS[form]
    drawn = places_in(tables, draws(SCORE, adherence, g, total))
    p = np.exp([table_logp(table, SCORE, adherence, g) for table in tables])
    assert frequency_p_value(drawn, p) > FALSE_ALARM
    # and other scores, or another adherence, are told apart
    other = np.exp([table_logp(table, SCORE + OTHER, adherence + 0.1, g) for table in tables])
    assert frequency_p_value(drawn, other) < FALSE_ALARM


@for_each("form", FORMS)
def test_millions_of_counts_spread_over_the_pairs_in_proportion(form, rng):
    score, g, total = rng.normal(size=7), rng.gamma(5.0, 0.1, size=7), 2_000_000
    g = None if form == "equal" else g
    counts = draws(score, 0.7, g, total, n_draws=1)[0]
    assert counts.sum() == total
    assert (np.diagonal(counts) == 0).all()
    pairs = ~np.eye(7, dtype=bool)
    p = np.exp(log_pair_probabilities(score, 0.7, g))[pairs]
    z = (counts[pairs] - total * p) / np.sqrt(total * p * (1 - p))
    assert np.abs(z).max() < SIGMAS
    assert z.std() > 0.5  # nor are they rounded expectations


@for_each("form", FORMS)
def test_a_probability_too_small_to_be_seen_is_never_drawn(form):
    # 1000 over -1000 with probability one, to all digits
    score, g = np.array([-1000.0, 0.0, 1000.0]), FORMS[form]
    counts = draws(score, 1.0, g, 50, n_draws=20)
    np.testing.assert_array_equal(counts[:, 2, 0], 50)
    assert counts.sum() == 1000
    flat = draws(score, 0.0, g, 6000, n_draws=1)[0]
    assert (np.abs(flat - 1000 * (1 - np.eye(3))) < SIGMAS * np.sqrt(1000)).all()


@for_each("form", FORMS)
def test_equal_items_and_two_items_come_to_an_end(form):
    g = None if form == "equal" else np.array([0.5, 2.0])
    counts = draws(np.zeros(2), 1.0, g, 10_000, n_draws=1)[0]
    assert counts.sum() == 10_000
    assert abs(counts[0, 1] - 5000) < SIGMAS * 50


def test_nothing_is_drawn_of_a_total_of_zero_or_of_one_item():
    assert draws(SCORE, 1.0, None, 0, n_draws=5).sum() == 0
    assert draws(np.zeros(1), 1.0, None, 3, n_draws=5).sum() == 0
    net = draw_net_counts(
        SCORE,
        np.zeros(0),
        np.array([1.0]),
        np.array([[1, 0], [0, 2]]),
        np.array([[True, False], [True, True]]),
        cells([[4], [0]]),
        np.array([7]),
        np.zeros((1, 3)),
    )
    np.testing.assert_array_equal(net, np.zeros((1, 3)))


@for_each("form", FORMS)
@for_each(
    ("score", "adherence"),
    [([0.0, np.nan, 1.0], 1.0), ([0.0, np.inf, 1.0], 1.0), ([0, 1.0, 2.0], np.nan)],
)
def test_parameters_that_are_not_finite_are_refused(form, score, adherence):
    with pytest.raises(ValueError, match="MPM can only draw with scores and adherences that are"):
        draws(np.array(score), adherence, FORMS[form], 3, n_draws=1)


@for_each("variance", [[0.5, 0.0, 1.0], [0.5, -1.0, 1.0], [0.5, np.nan, 1.0]])
def test_variances_that_are_not_positive_are_refused(variance):
    with pytest.raises(ValueError, match="variances > 0"):
        draws(SCORE, 1.0, np.array(variance), 3, n_draws=1)


@for_each("form", FORMS)
def test_a_draw_is_a_function_of_the_seeds(form):
    one, again, other = (draws(SCORE, 1.0, FORMS[form], 40, 5, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert (one != other).any()


# Net counts

# Two problems of five items
ITEM = np.array([[3, 0, 0], [1, 4, 2]])
WHERE = np.array([[True, True, False], [True, True, True]])
FIVE = np.array([0.3, -1.0, 0.8, 1.1, 0.0])
FIVE_VARIANCES = np.array([0.5, 0.8, 0.3, 1.2, 0.4])


def cells(totals):
    """Cells of all rankers, each with a rate of its own, and all problems, which are the rows."""
    ranker, problem = np.indices(np.transpose(totals).shape).reshape(2, -1)
    return np.stack([ranker, problem, ranker, np.transpose(totals).ravel()])


def test_rankers_of_other_groups_have_other_scores_for_the_same_items():
    # 1000 over -1000 with probability one; the second group has the opposite scores
    score = np.array([0.0, -1000.0, 0.0, 0.0, 1000.0])
    rows, table = np.array([[1, 4], [6, 9]]), np.array([[0, 1], [0, 1], [0, 0], [30, 60]])
    net = draw_net_counts(
        np.concatenate([score, -score]), np.zeros(0), np.array([0.8]), rows,
        np.ones((2, 2), dtype=bool), table, np.array([3, 3]), np.zeros((2, 5)),
    )  # fmt: skip
    np.testing.assert_array_equal(net, [[0, -30, 0, 0, 30], [0, 60, 0, 0, -60]])


@for_each("variance", [np.zeros(0), FIVE_VARIANCES])
def test_net_counts_have_the_means_of_their_pairs(variance):
    n = 4000
    seeds = np.random.default_rng(3).integers(0, 2**62, n)
    totals = np.repeat([[7], [12]], n, axis=1)
    net = draw_net_counts(
        FIVE, variance, np.full(n, 0.8), ITEM, WHERE, cells(totals), seeds, np.zeros((n, 5))
    )
    mean, square = np.zeros(5), np.zeros(5)
    for p, total in ((0, 7), (1, 12)):
        used = ITEM[p, WHERE[p]]
        g = variance[used] if variance.size else None
        chance = np.exp(log_pair_probabilities(FIVE[used], 0.8, g))
        lead, any_ = chance.sum(1) - chance.sum(0), chance.sum(1) + chance.sum(0)
        mean[used], square[used] = total * lead, total * (any_ - lead**2)
    z = (net.mean(axis=0) - mean) / np.sqrt(square / n)
    assert np.abs(z).max() < SIGMAS
    np.testing.assert_allclose(net.var(axis=0) / square, 1.0, atol=0.2)
    assert (net[:, [0, 3]].sum(axis=1) == 0).all()
    assert (net[:, [1, 2, 4]].sum(axis=1) == 0).all()


@for_each("variance", [np.zeros(0), FIVE_VARIANCES])
def test_parts_of_the_cells_and_of_the_pairs_are_added(variance, monkeypatch):
    inputs = np.linspace(0, 2, 6), ITEM, WHERE, cells(np.full((2, 6), 20)), np.arange(6)
    monkeypatch.setattr(draws_of_mpm, "AT_ONCE", 30)
    net = draw_net_counts(FIVE, variance, *inputs, np.zeros((6, 5)))
    assert (net[:, [0, 3]].sum(axis=1) == 0).all()
    assert (np.abs(net).sum(axis=1) > 0).all()
    flat = draw_counts(np.zeros((6, 3)), np.zeros((6, 0)), np.ones(6), np.full(6, 50), np.arange(6))
    np.testing.assert_array_equal(flat.sum(axis=(1, 2)), 50)


# The Op


def test_draws_have_no_gradient():
    score = pt.dmatrix("score")
    counts = CountsDraw()(
        score, np.zeros((1, 0)), np.ones(1), np.ones(1, np.int64), np.ones(1, np.int64)
    )
    with pytest.raises(pytensor.gradient.DisconnectedInputError):
        pytensor.grad(pt.cast(counts, "float64").sum(), score)
