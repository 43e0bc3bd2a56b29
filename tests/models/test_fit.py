"""Studies of the verdict of fit: the model in NumPy by enumeration, and small tables."""

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom, kstest

from models.fit import study
from models.fit.columns import BY_LABEL, OVER_TIME, rates
from models.fit.model import Ballots, draw_orders, log_likelihood, sample_opinions
from models.shared.results import Run


def test_probabilities_of_all_orders_sum_to_one():
    v = np.array([[0.3, -1.0, 2.0]])
    orders = np.array(list(permutations(range(3))))
    one = [np.exp(log_likelihood(v, Ballots(row[None], np.zeros(1, int), 3))[0]) for row in orders]
    assert sum(one) == pytest.approx(1)
    drawn = draw_orders(
        np.broadcast_to(v[0], (4000, 3)),
        np.broadcast_to(np.arange(3), (4000, 3)),
        np.random.default_rng(1),
    )
    shares = [(drawn == row).all(axis=1).mean() for row in orders]
    np.testing.assert_allclose(shares, one, atol=0.03)


def test_derivatives_agree_with_differences():
    rng = np.random.default_rng(2)
    item = np.array([rng.permutation(4)[:3] for _ in range(6)])
    ballots = Ballots(item, np.array([0, 0, 1, 1, 1, 0]), 4)
    v, h = rng.normal(size=(2, 4)), 1e-5
    _, gradient, hessian = log_likelihood(v, ballots)
    for r, i in np.ndindex(2, 4):
        ends = [v + sign * h * (np.indices(v.shape) == [[[r]], [[i]]]).all(0) for sign in (1, -1)]
        (up, slope_up, _), (down, slope_down, _) = (log_likelihood(x, ballots) for x in ends)
        assert (up - down) / (2 * h) == pytest.approx(gradient[r, i], abs=1e-6)
        np.testing.assert_allclose(-(slope_up - slope_down)[r] / (2 * h), hessian[r, i], atol=1e-6)


def test_opinions_widen_intervals_where_rankers_differ():
    rng = np.random.default_rng(4)
    utility = np.array([1.0, 0.0, -1.0])
    width = {}
    for sd in (0.0, 1.5):
        opinion = utility + sd * rng.normal(size=(20, 8, 1, 3))
        orders = np.argsort(-(opinion + rng.gumbel(size=(20, 8, 5, 3))), axis=-1)
        plain, opinions = (
            draw(orders, n_draws=200, rng=rng) for draw in (study.independent, sample_opinions)
        )
        apart = [np.diff(draws, axis=2).std(axis=0).mean() for draws in (plain, opinions)]
        width[sd] = apart[1] / apart[0]
    assert width[0.0] < 1.3
    assert width[1.5] > 1.5


def test_the_sampler_of_opinions_is_calibrated():
    # ranks of the truth among draws are uniform if scales, utilities and ballots follow the model
    n, rng = 120, np.random.default_rng(5)
    scale = np.abs(rng.normal(0, 3, n))
    spread = np.abs(rng.normal(0, scale))
    utility = scale[:, None] * rng.normal(size=(n, 3))
    v = utility[:, None] + spread[:, None, None] * rng.normal(size=(n, 4, 3))
    orders = np.argsort(-(v[:, :, None] + rng.gumbel(size=(n, 4, 3, 3))), axis=-1)
    draws = sample_opinions(orders, n_draws=200, rng=rng)
    for true, drawn in (
        (utility[:, 0], draws[..., 0]),
        (utility[:, 0] - utility[:, 1], draws[..., 0] - draws[..., 1]),
    ):
        rank = (drawn < true).mean(axis=0)
        assert kstest(rank, "uniform").pvalue > 1e-6


def test_intervals_contain_the_truth_if_three_rankers_differ_as_much_as_the_items():
    how = Run(Path(), quick=True, seed=4)
    n = 60
    covers = study._clusters(3, 1.0, n, how)["with opinions"][0]
    assert len(covers) == n
    # utilities of one table sum to zero; 100 draws know the ends of an interval by 0.03
    assert covers.mean() > binom.ppf(1e-6, n * 4, 0.87) / (n * 4)


def test_few_tables_of_the_model_fit_and_clear_misfits_do_not():
    for name in ("150 rankings of 5 items", "10 items, 400 matches"):
        assert all(study.RIGHT[name](np.random.default_rng([3, k])).ok for k in range(2))
    for name, family in (
        ("three of 20 items win 22 of 24 rankings", "winners"),
        ("items beat each other in a circle", "pairs"),
        ("one of six judges favours the first item", "groups"),
    ):
        fits = study.WRONG[name](np.random.default_rng(3))
        assert fits.families.index[0] == family
        assert not fits.ok or family == "groups"  # the study has the power for one judge of six


def test_columns_that_decide_are_named_in_few_tables():
    for one in (
        BY_LABEL["4 items, 600 matches, 2 labels"],
        OVER_TIME["6 items, 1,500 matches, random walk"],
    ):
        found = rates(one, {0.0: 4, 1.0: 4}, 1)
        assert found["0"] <= 0.5
        assert found["1"] >= 0.75


@pytest.mark.slow
def test_the_tables_keep_what_they_promise():
    how = Run(Path(), quick=False, seed=2)
    alarms = study.false_alarms(how).rows["fails"].astype(float)
    assert alarms["all"] <= 0.05
    assert alarms.max() <= 0.15
    for named, tables in ((study.columns(how), 100), (study.drift(how), 200)):
        rates_of = named.rows.drop(columns="tables").astype(float)
        n = tables * (len(rates_of) - 1)
        assert rates_of.loc["all", "0"] <= 0.05 + 5 * np.sqrt(0.05 * 0.95 / n)
        assert rates_of.loc["all", "1"] >= 0.5
    rows = study.ballots(how).rows.astype(float)
    opinions = rows[rows.index.str.endswith("with opinions")]
    assert (opinions["0.9 intervals contain"] > 0.9 - 4 * opinions["±"]).all()
    assert rows.loc["8 rankers, 0, with opinions", "width of intervals"] < 1.15
    assert study.power(how).rows["fails"].astype(float).iloc[0] > 0.95
