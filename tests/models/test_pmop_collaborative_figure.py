"""Figure 2: the probabilities of what is held out by counting, and what is drawn."""

import numpy as np

import models.pmop_collaborative.figure as figure
from tests.models.rated import TWO, nothing_for


def test_equal_utilities_have_the_log_likelihood_of_counting():
    nothing = nothing_for(TWO)
    # 7 and then 3 subsets; 3 subsets. Given sizes: one of three; one of two.
    for outcome, expected in (("pmop", [1 / 21, 1 / 3]), ("plackett_luce", [1 / 3, 1 / 2])):
        ours = figure.log_likelihood(nothing, TWO, outcome)
        np.testing.assert_allclose(np.exp(ours), expected, rtol=1e-10)


def test_given_sizes_or_not_pmop_mean_gains_as_much():
    point = {"ranker_factor": np.ones((2, 1)), "item_factor": np.array([[0.3], [-1.0], [0.8]])}
    free, given = (
        figure.log_likelihood(point, TWO, outcome)
        - figure.log_likelihood(nothing_for(TWO), TWO, outcome)
        for outcome in ("pmop", "pmop_given_sizes")
    )
    np.testing.assert_allclose(free, given, rtol=1e-10)
    assert (np.abs(free) > 0.05).all()
