"""Probabilities of the next match, by hand."""

import numpy as np
import pytest
import xarray as xr

from bayesrank.results import match_probability, outcome_probability
from bayesrank.results.matches.outcomes import Matches


def test_outcomes_are_those_of_davidson():
    # worths 4 and 1, nu = 1/2: 4, 1/2 sqrt(4) = 1 and 1
    np.testing.assert_allclose(outcome_probability(np.log(4), 0.5), [4 / 6, 1 / 6, 1 / 6])
    np.testing.assert_allclose(outcome_probability(-np.log(4), 0.5), [1 / 6, 1 / 6, 4 / 6])
    np.testing.assert_allclose(outcome_probability(np.log(4)), [0.8, 0.2])
    np.testing.assert_allclose(outcome_probability([0.0, 0.0], [0.0, 1.0])[:, 1], [0, 1 / 3])
    np.testing.assert_array_equal(outcome_probability([2000.0, -2000.0], 1.0)[:, 0], [1, 0])


def posterior(**more):
    u = np.log([[[4.0, 1.0, 1.0], [1.0, 4.0, 1.0]]])
    draws = {"utility": (("chain", "draw", "item"), u)} | more
    return xr.Dataset(draws, coords={"item": ["a", "b", "c"]})


def test_the_next_match_is_the_mean_over_the_draws():
    found = match_probability(posterior(nu=(("chain", "draw"), [[0.5, 0.5]])))
    assert found.dims == ("item", "item_other", "result")
    assert found["result"].values.tolist() == ["win", "tie", "loss"]
    np.testing.assert_allclose(found.sel(item="a", item_other="b"), [5 / 12, 1 / 6, 5 / 12])
    # a against c: 4/6 in the first draw; in the second, equal worths, 1 in 2.5
    np.testing.assert_allclose(found.sel(item="a", item_other="c")[0], (4 / 6 + 1 / 2.5) / 2)
    np.testing.assert_allclose(found.sel(item="c", item_other="a")[2], (4 / 6 + 1 / 2.5) / 2)
    sums = found.sum("result", skipna=False).values
    np.testing.assert_allclose(sums[~np.eye(3, dtype=bool)], 1)
    assert np.isnan(np.diag(sums)).all()


def test_a_tie_parameter_with_other_dims_raises():
    with pytest.raises(ValueError, match=r"^'nu' has the dims \['chain', 'draw', 'judge'\]; it"):
        match_probability(posterior(nu=(("chain", "draw", "judge"), np.ones((1, 2, 2)))))


def observed(n_outcomes, graded=False, **more):
    data = {"y_counts": (("pair", "result"), np.ones((1, n_outcomes)))}
    if graded:
        data["y_grade"] = ("result", np.arange(n_outcomes))
    return xr.DataTree.from_dict(
        {"posterior": posterior(**more), "constant_data": xr.Dataset(data)}
    )


def test_ties_are_those_of_the_observed_matches():
    # the nu of a model without ties is another parameter, such as degrees of freedom
    found = match_probability(observed(2, nu=(("chain", "draw"), [[9.0, 9.0]])))
    assert found["result"].values.tolist() == ["win", "loss"]
    with pytest.raises(ValueError, match="may end in ties, but the posterior has no 'nu'"):
        match_probability(observed(3))
    with pytest.raises(ValueError, match="'nu' is -1 in one draw; a tie parameter is 0 or more"):
        match_probability(posterior(nu=(("chain", "draw"), [[1.0, -1.0]])))


def test_grades_are_wins_and_ties_of_rao_and_kupper():
    theta = {"tie_theta": (("chain", "draw"), [[3.0, 3.0]])}
    found = match_probability(observed(5, **theta))
    lead = observed(5)["posterior"]["utility"].values[0]
    lead = lead[:, 0] - lead[:, 1]
    win = (1 / (1 + 3.0 * np.exp(-lead))).mean()
    loss = (1 / (1 + 3.0 * np.exp(lead))).mean()
    np.testing.assert_allclose(found.values[0, 1], [win, 1 - win - loss, loss])
    # without a middle grade nothing ties
    never = match_probability(observed(4, True, tie_theta=(("chain", "draw"), [[1.0, 1.0]])))
    assert never["result"].values.tolist() == ["win", "loss"]
    with pytest.raises(ValueError, match="have 5 grades, but the posterior has no 'tie_theta'"):
        match_probability(observed(5))
    with pytest.raises(
        ValueError, match=r"'tie_theta' is 0\.5 in one draw; a tie parameter is 1 or"
    ):
        match_probability(observed(5, tie_theta=(("chain", "draw"), [[0.5, 2.0]])))


def test_votes_of_both_bad_are_those_of_the_definition():
    parts = {"tie_theta": 1.5, "threshold": 0.7}
    parts = {name: (("chain", "draw"), [[x, x]]) for name, x in parts.items()}
    for data in (posterior(**parts), observed(4, **parts)):
        found = match_probability(data)
        assert found["result"].values.tolist() == ["win", "tie", "both bad", "loss"]
        p, q = np.exp(posterior()["utility"].values[0, :, :2].T - 0.7)
        win, loss, bad = p / (p + 1.5 * q + 1), q / (q + 1.5 * p + 1), 1 / (1 + p + q)
        expected = np.stack([win, 1 - win - loss - bad, bad, loss]).mean(axis=1)
        np.testing.assert_allclose(found.values[0, 1], expected)
        np.testing.assert_allclose(found.values[1, 0], expected[[3, 1, 2, 0]])
    with pytest.raises(ValueError, match="the posterior has no 'tie_theta' and 'threshold'"):
        match_probability(observed(4))


def test_the_information_of_a_match_is_the_mean_square_of_its_score():
    rng = np.random.default_rng(1)
    utility, kappa = rng.normal(size=(2, 50)), np.abs(rng.normal(size=50))
    step = 1e-5
    bar = rng.normal(size=50)
    models = ((kappa, False, None), (kappa, True, None), (None, True, None), (kappa, False, bar))
    for tie, davidson, threshold in models:
        half, none = np.array([[0.5], [-0.5]]), np.zeros((2, 1))
        draws = [
            Matches(utility + move * half, tie, none, davidson, threshold)
            for move in (-step, 0.0, step)
        ]
        low, p, high = (one.outcomes(0, 1) for one in draws)
        score = (np.log(high) - np.log(low)) / (2 * step)
        np.testing.assert_allclose(
            draws[1].information(0, 1), (p * score**2).sum(-1).mean(), rtol=1e-6
        )


def test_further_dims_of_the_utilities_raise():
    draws = posterior().expand_dims(category=2)
    with pytest.raises(ValueError, match=r"^'utility' has the additional dims \['category'\]\."):
        match_probability(draws)
