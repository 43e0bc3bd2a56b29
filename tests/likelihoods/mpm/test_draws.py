"""Exact draws of MPM: frequencies against listed tables, on every backend.

A frequency test raises a false alarm once in 10^8, and each has a twin that must not pass.
"""

import functools

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from scipy.stats import norm

from bayesrank.likelihoods.mpm.draw_kernels import (
    _pick,
    draw_counts_kernel,
    draw_net_counts_kernel,
)
from bayesrank.likelihoods.mpm.op import CountsDraw, NetCountsDraw
from bayesrank.likelihoods.ops.splitmix import uniform
from tests.likelihoods.count_tables import count_tables, log_pair_probabilities, table_logp
from tests.likelihoods.loops import for_each
from tests.oracles import frequency_p_value

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
    return draw_counts_kernel(score, columns(variance, n_draws), theta, T, seeds)


def position(tables, drawn):
    """Where in the list each drawn table is."""
    where = {table.tobytes(): i for i, table in enumerate(tables)}
    return np.array([where[table.tobytes()] for table in drawn])


@for_each("form", FORMS)
@for_each(("adherence", "total"), [(1.0, 1), (0.6, 2), (2.0, 3), (0.0, 2)])
def test_tables_come_as_often_as_they_are_probable(form, adherence, total):
    tables, g = count_tables(3, total), FORMS[form]
    drawn = position(tables, draws(SCORE, adherence, g, total))
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
    net = draw_net_counts_kernel(
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
def test_numbers_that_are_none_are_refused_instead_of_drawn_for_ever(form, score, adherence):
    with pytest.raises(ValueError, match="MPM can only draw with scores and adherences that are"):
        draws(np.array(score), adherence, FORMS[form], 3, n_draws=1)


@for_each("variance", [[0.5, 0.0, 1.0], [0.5, -1.0, 1.0], [0.5, np.nan, 1.0]])
def test_variances_that_are_none_are_refused(variance):
    with pytest.raises(ValueError, match="variances > 0"):
        draws(SCORE, 1.0, np.array(variance), 3, n_draws=1)


def test_a_seed_is_a_ranker_whoever_else_there_is():
    seeds, theta = np.array([5, 9, 5]), np.ones(3)
    score, T = np.tile(SCORE, (3, 1)), np.full(3, 40)
    for g in FORMS.values():
        all_three = draw_counts_kernel(score, columns(g, 3), theta, T, seeds)
        np.testing.assert_array_equal(all_three[0], all_three[2])
        assert (all_three[0] != all_three[1]).any()
        alone = draw_counts_kernel(score[:1], columns(g, 1), theta[:1], T[:1], seeds[1:2])
        np.testing.assert_array_equal(alone[0], all_three[1])


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


@for_each("variance", [np.zeros(0), FIVE_VARIANCES])
def test_net_counts_are_those_of_the_tables_of_every_problem(variance):
    # one problem after the other from one seed: their tables by themselves, with the same numbers
    seed, theta = np.array([11]), np.array([0.8])
    for p, total in ((0, 30), (1, 500)):
        totals = np.zeros((2, 1), dtype=np.int64)
        totals[p] = total
        net = draw_net_counts_kernel(
            FIVE, variance, theta, ITEM, WHERE, cells(totals), seed, np.zeros((1, 5))
        )[0]
        used = ITEM[p, WHERE[p]]
        g = variance[used][None] if variance.size else np.zeros((1, 0))
        table = draw_counts_kernel(FIVE[used][None], g, theta, totals[p], seed)[0]
        expected = np.zeros(5)
        expected[used] = table.sum(axis=1) - table.sum(axis=0)
        np.testing.assert_array_equal(net, expected)


def test_rankers_of_other_groups_have_other_scores_for_the_same_items():
    both, rows = np.concatenate([FIVE, -FIVE]), np.concatenate([ITEM, ITEM + 5])
    table = np.array([[0, 0, 1, 1], [0, 1, 2, 3], [0, 0, 0, 0], [30, 60, 30, 60]])
    seed, rate, like = np.array([3, 3]), np.array([0.8]), np.zeros((2, 5))
    net = draw_net_counts_kernel(
        both, np.zeros(0), rate, rows, np.tile(WHERE, (2, 1)), table, seed, like
    )
    for n, score in enumerate((FIVE, -FIVE)):
        alone = cells([[30], [60]])
        expected = draw_net_counts_kernel(
            score, np.zeros(0), rate, ITEM, WHERE, alone, seed[:1], like[:1]
        )
        np.testing.assert_array_equal(net[n : n + 1], expected)


@for_each("variance", [np.zeros(0), FIVE_VARIANCES])
def test_net_counts_have_the_means_of_their_pairs(variance):
    n = 4000
    seeds = np.random.default_rng(3).integers(0, 2**62, n)
    totals = np.repeat([[7], [12]], n, axis=1)
    net = draw_net_counts_kernel(
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


# Uniform numbers


def test_uniform_numbers_are_those_of_splitmix64_and_never_one():
    # the first outputs of the reference program from the state 1234567
    state = np.array([1234567], dtype=np.uint64)
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    for z in expected:
        assert uniform(state) == ((z >> 12) + 0.5) * 2.0**-52
    assert (2.0**52 - 1 + 0.5) * 2.0**-52 < 1.0


def test_the_last_position_is_the_last_that_weighs_something():
    # a sum so small that rounding makes every product the sum itself
    tiny = np.nextafter(0.0, 1.0)
    for cumulative, last in (([tiny, tiny], 0), ([0.0, 2 * tiny, 2 * tiny], 1)):
        state = np.array([1], dtype=np.uint64)
        picked = {_pick(np.array(cumulative), state) for _ in range(50)}
        assert picked == {last}


# Backends


@functools.cache
def compiled(op, unequal, mode):
    if op is CountsDraw:
        inputs = pt.dmatrix("s"), pt.dmatrix("g"), pt.dvector(), pt.lvector(), pt.lvector()
    else:
        inputs = (
            pt.dvector("s"), pt.dvector("g"), pt.dvector(), pt.lmatrix(), pt.matrix(dtype="bool"),
            pt.lmatrix(), pt.lvector(), pt.dmatrix(),
        )  # fmt: skip
    return pytensor.function(inputs, op()(*inputs), mode=mode)


@pytest.mark.slow
@for_each("mode", ["FAST_COMPILE", "JAX"])
@for_each("unequal", [False, True])
def test_every_backend_draws_the_same(mode, unequal):
    n, seeds = 6, np.arange(6)
    g = VARIANCE if unequal else None
    inputs = [np.tile(SCORE, (n, 1)), columns(g, n), np.linspace(0, 2, n), np.arange(n), seeds]
    found = np.asarray(compiled(CountsDraw, unequal, mode)(*inputs))
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, draw_counts_kernel(*inputs))
    np.testing.assert_array_equal(found.sum(axis=(1, 2)), np.arange(n))

    totals = np.random.default_rng(0).integers(0, 20, (2, n))
    g = FIVE_VARIANCES if unequal else np.zeros(0)
    like = np.zeros((n, 5))
    inputs = [FIVE, g, np.linspace(0, 2, n), ITEM, WHERE, cells(totals), seeds, like]
    found = np.asarray(compiled(NetCountsDraw, unequal, mode)(*inputs))
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, draw_net_counts_kernel(*inputs))


def test_shapes_are_known_without_drawing():
    score, seeds = pt.dmatrix(), pt.lvector()
    counts = CountsDraw()(score, np.zeros((2, 0)), np.ones(2), np.ones(2, dtype=np.int64), seeds)
    f = pytensor.function(
        [score, seeds], counts.shape, mode="FAST_COMPILE", on_unused_input="ignore"
    )
    assert CountsDraw not in {type(node.op) for node in f.maker.fgraph.toposort()}
    assert f(np.zeros((2, 3)), np.zeros(2, dtype=np.int64)).tolist() == [2, 3, 3]
    item = pt.lmatrix()
    net = NetCountsDraw()(
        score[0], np.zeros(0), np.ones(4), item, item > 0, item, seeds, np.zeros((4, 3))
    )
    f = pytensor.function(
        [score, item, seeds], net.shape, mode="FAST_COMPILE", on_unused_input="ignore"
    )
    assert NetCountsDraw not in {type(node.op) for node in f.maker.fgraph.toposort()}
    assert f(np.zeros((2, 3)), ITEM, np.zeros(4, dtype=np.int64)).tolist() == [4, 3]


def test_draws_have_no_gradient():
    score = pt.dmatrix("score")
    counts = CountsDraw()(
        score, np.zeros((1, 0)), np.ones(1), np.ones(1, np.int64), np.ones(1, np.int64)
    )
    with pytest.raises(pytensor.gradient.DisconnectedInputError):
        pytensor.grad(pt.cast(counts, "float64").sum(), score)
