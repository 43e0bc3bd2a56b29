"""Probabilities of the outcomes of matches: the arrays against the graphs."""

import numpy as np
import pytest

from bayesrank.likelihoods.pairs import (
    bradley_terry_log_probabilities,
    davidson_log_probabilities,
    rao_kupper_log_probabilities,
)
from bayesrank.match_outcomes import davidson_probabilities, rao_kupper_probabilities

LEADS = np.array([-1400.0, -30.0, -1.0, 0.0, 0.3, 8.0, 1400.0])


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
