"""EigenRank: similarity, preferences, both orders by hand and by second routes, bad input."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.stats import kendalltau

from models.bpr.eigenrank import (
    eigenrank,
    greedy_scores,
    kendall_similarity,
    preferences,
    stationary_scores,
)
from models.bpr.rating_neighbours import Neighbours, nearest


def made_up(rng, n_users=12, n_items=15, share=0.6, levels=5):
    stars = rng.integers(1, levels + 1, size=(n_users, n_items))
    return csr_array((stars * (rng.random((n_users, n_items)) < share)).astype(float))


def antisymmetric(rng, n):
    upper = np.triu(rng.normal(size=(n, n)), 1)
    return upper - upper.T


# Similarity


def test_without_ties_similarity_is_kendalls_tau_on_common_items(rng):
    order = np.array([rng.permutation(10) + 1.0 for _ in range(8)])
    has = rng.random((8, 10)) < 0.7
    similarity, common = kendall_similarity(csr_array(order * has), 2)
    for v in (0, 1, 3, 4, 5, 6, 7):
        both = has[2] & has[v]
        assert common[v] == both.sum()
        tau = kendalltau(order[2, both], order[v, both]).statistic
        assert similarity[v] == pytest.approx(tau, abs=1e-14)
    assert similarity[2] == 0


# Preferences


def test_preferences_by_hand():
    ratings = csr_array([[5.0, 3, 0], [2, 4, 1]])
    psi = preferences(ratings, Neighbours(np.array([0, 1]), np.array([0.5, 1.0])), np.arange(3))
    a_over_b = (0.5 * 2 + 1 * -2) / 1.5
    assert psi == pytest.approx(np.array([[0, a_over_b, 1], [-a_over_b, 0, 3], [-1, -3, 0]]))


# Greedy order


def test_the_greedy_order_by_hand():
    # Potentials 2 (2 - 1) = 2, 2 (-2 + 1) = -2 and 0: a is first. Of b and c, b is preferred.
    psi = [[0, 2, -1], [-2, 0, 1], [1, -1, 0]]
    assert greedy_scores(psi).tolist() == [0, -1, -2]
    # The highest potential at the start is not enough: by sums alone c would come before b.
    assert np.argsort(-np.sum(psi, axis=1)).tolist() == [0, 2, 1]


def test_equal_potentials_are_ties_and_no_item_gains_by_where_it_stands(rng):
    cycle = np.array([[0, 1, -1], [-1, 0, 1], [1, -1, 0]])
    assert greedy_scores(cycle).tolist() == [0, 0, 0]
    alike = np.array([0, 1, 1, 1, 2, 3, 3])
    psi = antisymmetric(rng, 4)[np.ix_(alike, alike)]
    score = greedy_scores(psi)
    assert len(set(score)) == 4
    assert score[1] == score[2] == score[3]
    order = rng.permutation(7)
    assert greedy_scores(psi[np.ix_(order, order)]).tolist() == score[order].tolist()


# Random walk


@pytest.mark.parametrize("epsilon", [0.5, 0.85, 1])
def test_the_stationary_distribution_is_the_eigenvector(rng, epsilon):
    psi = antisymmetric(rng, 7)
    move = np.array([[np.exp(psi[j, i]) for j in range(7)] for i in range(7)])  # from i to j
    move = epsilon * move / move.sum(axis=1, keepdims=True) + (1 - epsilon) / 7
    value, vector = np.linalg.eig(move.T)
    leading = vector[:, np.argmax(value.real)].real
    ours = stationary_scores(psi, epsilon)
    assert ours == pytest.approx(leading / leading.sum(), rel=1e-7)


# The whole


@pytest.mark.parametrize("order", ["greedy", "walk"])
def test_scores_are_those_of_all_unrated_items(rng, order):
    ratings = made_up(rng, share=0.3)
    for u in range(12):
        unrated = np.flatnonzero(ratings.toarray()[u] == 0)
        asked = nearest(kendall_similarity(ratings, u), 3, 5)
        psi = preferences(ratings, asked, unrated)
        expected = greedy_scores(psi) if order == "greedy" else stationary_scores(psi, 0.6)
        ours = eigenrank(ratings, u, order=order, n_neighbours=3, significance=5, epsilon=0.6)
        # the walk has six digits, in single precision
        assert ours[unrated] == pytest.approx(expected, rel=1e-5 if order == "walk" else 1e-7)
        assert np.isnan(ours).sum() == 15 - len(unrated)


@pytest.mark.parametrize("order", ["greedy", "walk"])
def test_movielens_puts_better_rated_movies_first(data_dir, order):
    table = pd.read_csv(data_dir / "ml-100k" / "ua.base", sep="\t", header=None)
    ratings = csr_array((table[2].astype(float), (table[0] - 1, table[1] - 1)), shape=(943, 1682))
    held = pd.read_csv(data_dir / "ml-100k" / "ua.test", sep="\t", header=None)
    agreement = []
    for u in range(0, 943, 40):
        test = held[held[0] == u + 1]
        score = eigenrank(ratings, u, order=order)[test[1] - 1]
        agreement.append(kendalltau(score, test[2]).statistic)
    assert np.nanmean(agreement) > 0.2
