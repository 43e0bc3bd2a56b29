"""Scores at rank two: exact recovery, orientation, means over rankers, problems."""

import numpy as np
import pandas as pd
import pytest

from bayesrank.data import PairCounts
from models.metasearch.svd import svd_scores


def differences(scores):
    """Counts of one ranker by how much each score is above each other."""
    return np.maximum(np.subtract.outer(scores, scores), 0)


@pytest.mark.parametrize("n_items", [2, 3, 4, 9])
def test_scores_are_recovered_exactly_if_preferences_are_their_differences(rng, n_items):
    s = rng.integers(100, size=n_items)
    found = svd_scores(PairCounts.from_matrix(differences(s)))
    np.testing.assert_allclose(found, s - s.mean(), atol=1e-8)


def test_the_approximation_is_the_part_with_the_largest_singular_value(rng):
    C = rng.integers(10, size=(6, 6)) * (1 - np.eye(6, dtype=int))
    U, sigma, Vt = np.linalg.svd(C - C.T)
    rank_two = (U[:, :2] * sigma[:2]) @ Vt[:2]
    np.testing.assert_allclose(
        svd_scores(PairCounts.from_matrix(C)), rank_two.mean(axis=1), atol=1e-8
    )
    # its negative twin: these preferences are not of rank two
    assert np.abs((C - C.T).mean(axis=1) - rank_two.mean(axis=1)).max() > 0.1


def test_each_problem_has_its_own_scores():
    frame = pd.DataFrame(
        {"who": "u", "q": [1, 1, 2, 2, 2], "what": list("ababc"), "stars": [1, 3, 9, 3, 0]}
    )
    items = [(2, "c"), (1, "b"), (2, "a"), (1, "a"), (2, "b")]
    c = PairCounts.from_ratings(
        frame, ranker="who", item="what", rating="stars", problem="q", items=items
    )
    found = svd_scores(c)
    assert found.index.tolist() == items
    np.testing.assert_allclose(found, [-4, 1, 5, -1, -1], atol=1e-8)
