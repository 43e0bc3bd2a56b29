"""Probabilities of the outcomes of matches: definitions, special cases, graphs and differences."""

import numpy as np
import pytest
from scipy import stats

from bayesrank.likelihoods.pairs import (
    bradley_terry_log_probabilities,
    davidson_log_probabilities,
    rao_kupper_log_probabilities,
)
from bayesrank.match_outcomes import (
    FAMILIES,
    davidson_probabilities,
    grade_derivatives,
    grade_probabilities,
    outcome_curvature,
    outcome_probabilities,
    rao_kupper_probabilities,
)

LEADS = np.array([-1400.0, -30.0, -1.0, 0.0, 0.3, 8.0, 1400.0])
NEAR = LEADS[1:-1]  # where worths do not overflow
CUTS = np.array([-1.1, -0.2, 0.4, 1.5])  # of five grades, not symmetric
each_family = pytest.mark.parametrize("family", FAMILIES)


def of_graph(log_probabilities):
    return [np.exp(x.eval()) for x in log_probabilities]


def test_davidsons_probabilities_are_those_of_the_graph():
    for nu in np.array([0.0, 1e-8, 0.7, 1e9]):
        found = davidson_probabilities(LEADS, nu)
        expected = of_graph(davidson_log_probabilities(LEADS, nu))
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-300)
        np.testing.assert_allclose(np.sum(found, axis=0), 1, rtol=1e-15)
    two = davidson_probabilities(LEADS)[:2]
    expected = of_graph(bradley_terry_log_probabilities(LEADS))
    np.testing.assert_allclose(two, expected, rtol=1e-12, atol=1e-300)


def test_rao_and_kuppers_probabilities_are_those_of_the_graph():
    for theta in np.array([1.0, 1 + 1e-9, 1.8, 1e6]):
        found = rao_kupper_probabilities(LEADS, np.log(theta))
        expected = of_graph(rao_kupper_log_probabilities(LEADS, theta))
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-300)
        np.testing.assert_allclose(np.sum(found, axis=0), 1, rtol=1e-14)


@pytest.mark.parametrize("probabilities", [davidson_probabilities, rao_kupper_probabilities])
def test_arguments_broadcast(probabilities):
    found = probabilities(np.zeros((3, 1)), np.ones(2))
    assert [p.shape for p in found] == [(3, 2)] * 3


def test_five_grades_are_those_of_their_definitions():
    # from the best for the first item: boundaries from the highest cutpoint to the lowest
    d, c = NEAR[:, None], CUTS[::-1]
    for family, cdf in (("cumulative_logit", stats.logistic.cdf), ("cumulative_probit", None)):
        cdf = cdf or stats.norm.cdf
        at_least = np.pad(cdf(d - c), ((0, 0), (1, 1)), constant_values=((0, 0), (0, 1)))
        # differences of probabilities near one lose digits
        found = grade_probabilities(NEAR, CUTS, family)
        np.testing.assert_allclose(found, np.diff(at_least, axis=1), rtol=1e-9, atol=1e-15)
    odds = np.exp((d - c) / 4)  # of each grade and the next one
    terms = np.concatenate([np.ones_like(d), np.cumprod(1 / odds, axis=1)], axis=1)
    expected = terms / terms.sum(axis=1, keepdims=True)
    found = grade_probabilities(NEAR, CUTS, "adjacent_logit")
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_two_and_three_grades_are_the_models_of_who_won():
    a = np.exp(NEAR)  # the worth of the first item, and 1 of the second
    expected = np.stack([a / (a + 1), 1 / (a + 1)], axis=1)
    for family in ("cumulative_logit", "adjacent_logit"):
        np.testing.assert_allclose(grade_probabilities(NEAR, [0.0], family), expected, rtol=1e-12)
    np.testing.assert_allclose(
        outcome_probabilities(NEAR, model="bradley_terry"), expected, rtol=1e-12
    )
    thurstone = np.stack([stats.norm.cdf(NEAR), stats.norm.cdf(-NEAR)], axis=1)
    found = grade_probabilities(NEAR, [0.0], "cumulative_probit")
    np.testing.assert_allclose(found, thurstone, rtol=1e-12)

    theta = 1.7
    ties = (theta**2 - 1) * a / ((a + theta) * (theta * a + 1))
    three = np.stack([a / (a + theta), ties, 1 / (theta * a + 1)], axis=1)
    cuts = np.log(theta) * np.array([-1, 1])
    np.testing.assert_allclose(
        grade_probabilities(NEAR, cuts, "cumulative_logit"), three, rtol=1e-12
    )
    found = outcome_probabilities(NEAR, np.log(theta), "rao_kupper")
    np.testing.assert_allclose(found, three[:, [0, 2, 1]], rtol=1e-12)

    nu = 0.6
    three = np.stack([a, nu * np.sqrt(a), np.ones_like(a)], axis=1)
    three /= three.sum(axis=1, keepdims=True)
    cuts = 2 * np.log(nu) * np.array([-1, 1])
    np.testing.assert_allclose(grade_probabilities(NEAR, cuts, "adjacent_logit"), three, rtol=1e-12)
    found = outcome_probabilities(NEAR, nu, "davidson")
    np.testing.assert_allclose(found, three[:, [0, 2, 1]], rtol=1e-12)


@each_family
def test_grades_sum_to_one_and_turn_round_with_the_items(family):
    p = grade_probabilities(LEADS, CUTS, family)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-13)
    turned = grade_probabilities(-LEADS, -CUTS[::-1], family)
    np.testing.assert_allclose(p, turned[:, ::-1], rtol=1e-11, atol=1e-300)
    logp, *rest = grade_derivatives(LEADS, CUTS, family)
    np.testing.assert_allclose(np.exp(logp), p, rtol=1e-12, atol=1e-300)
    assert all(np.isfinite(x).all() for x in (logp, *rest))


@each_family
def test_score_and_curvature_by_the_lead_are_differences(family):
    d, h = np.array([-3.0, -0.7, 0.0, 0.2, 2.5]), 1e-4
    _, score, curvature = grade_derivatives(d, CUTS, family)
    ahead, behind = (grade_derivatives(d + x, CUTS, family) for x in (h, -h))
    np.testing.assert_allclose(score, (ahead[0] - behind[0]) / (2 * h), atol=1e-6)
    np.testing.assert_allclose(curvature, (behind[1] - ahead[1]) / (2 * h), atol=1e-6)


@pytest.mark.parametrize("davidson", [True, False])
def test_slopes_and_curvatures_by_lead_and_tie_parameter_are_differences(davidson):
    d, tau, h = np.array([-2.0, -0.3, 0.0, 1.4]), -0.4, 1e-4
    counts = np.array([[2.0, 1.0, 3.0], [0.0, 4.0, 0.5], [1.0, 1.0, 0.0], [5.0, 0.0, 2.0]])

    def at(lead, tie):
        return outcome_curvature(d + lead, tau + tie, counts, davidson)

    logp, slope, curvature = at(0, 0)
    p = outcome_probabilities(d, np.exp(tau), "davidson" if davidson else "rao_kupper")
    np.testing.assert_allclose(logp, (counts * np.log(p)).sum(axis=1), rtol=1e-12)
    for k, step in enumerate([(h, 0), (0, h)]):
        (up, ahead, _), (down, behind, _) = at(*step), at(*(-x for x in step))
        np.testing.assert_allclose(slope[:, k], (up - down) / (2 * h), atol=1e-6)
        bend = (behind - ahead) / (2 * h)
        if k == 1 and not davidson:  # the slope by κ is left out: κ'' = κ
            bend[:, 1] += slope[:, 1]
        np.testing.assert_allclose(curvature[:, k], bend, atol=1e-5)
