"""EigenRank: similarity, preferences, both orders by hand and by second routes, bad input."""

from itertools import combinations, permutations

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


def test_ties_count_as_agreement(rng):
    ratings = made_up(rng, share=0.9, levels=3)
    dense = ratings.toarray()
    similarity = kendall_similarity(ratings, 0).similarity
    for v in range(1, 12):
        pairs = list(combinations(np.flatnonzero((dense[0] > 0) & (dense[v] > 0)), 2))
        opposite = sum(
            (dense[0, i] - dense[0, j]) * (dense[v, i] - dense[v, j]) < 0 for i, j in pairs
        )
        assert similarity[v] == pytest.approx(1 - 2 * opposite / len(pairs), abs=1e-14)


def test_similarity_by_hand():
    # a > b > c against a > b = c (no pair opposite), against c > a > b (two of three)
    ratings = csr_array([[5.0, 3, 1], [4, 2, 2], [2, 1, 3]])
    assert kendall_similarity(ratings, 0).similarity == pytest.approx([0, 1, -1 / 3])


def test_users_with_fewer_than_two_common_items_are_not_similar():
    ratings = csr_array([[5.0, 3, 0], [4, 0, 1], [0, 0, 2]])
    similarity, common = kendall_similarity(ratings, 0)
    assert similarity.tolist() == [0, 0, 0]
    assert common.tolist() == [2, 1, 0]


# Preferences


def test_preferences_by_hand():
    ratings = csr_array([[5.0, 3, 0], [2, 4, 1]])
    psi = preferences(ratings, Neighbours(np.array([0, 1]), np.array([0.5, 1.0])), np.arange(3))
    a_over_b = (0.5 * 2 + 1 * -2) / 1.5
    assert psi == pytest.approx(np.array([[0, a_over_b, 1], [-a_over_b, 0, 3], [-1, -3, 0]]))


def test_preferences_are_the_weighted_mean_difference_over_those_who_rated_both(rng):
    ratings = made_up(rng, share=0.3)
    dense = ratings.toarray()
    users, weight, items = np.array([1, 4, 5, 9]), rng.random(4), np.array([0, 3, 4, 8, 9, 14])
    psi = preferences(ratings, Neighbours(users, weight), items)
    for a, b in permutations(range(6), 2):
        i, j = items[a], items[b]
        both = (dense[users, i] > 0) & (dense[users, j] > 0)
        difference = dense[users[both], i] - dense[users[both], j]
        expected = np.average(difference, weights=weight[both]) if both.any() else 0.0
        assert psi[a, b] == pytest.approx(expected, abs=1e-14)
    np.testing.assert_array_equal(psi, -psi.T)
    assert (psi == 0).sum() > 6  # some pairs that nobody rated


# Greedy order


def test_the_greedy_order_by_hand():
    # Potentials 2 (2 - 1) = 2, 2 (-2 + 1) = -2 and 0: a is first. Of b and c, b is preferred.
    psi = [[0, 2, -1], [-2, 0, 1], [1, -1, 0]]
    assert greedy_scores(psi).tolist() == [0, -1, -2]
    # The highest potential at the start is not enough: by sums alone c would come before b.
    assert np.argsort(-np.sum(psi, axis=1)).tolist() == [0, 2, 1]


def test_the_greedy_order_takes_the_highest_potential_among_those_left(rng):
    psi = rng.normal(size=(20, 20))  # need not be antisymmetric
    left, order = list(range(20)), []
    while left:
        potential = [sum(psi[i, j] - psi[j, i] for j in left) for i in left]
        order.append(left.pop(int(np.argmax(potential))))
    assert np.argsort(-greedy_scores(psi)).tolist() == order


def test_the_greedy_order_agrees_with_half_of_all_preferences_at_least(rng):
    for _ in range(20):
        psi = antisymmetric(rng, 8)
        score = greedy_scores(psi)
        agreed = psi[(score[:, None] > score) & (psi > 0)].sum()
        assert agreed >= psi[psi > 0].sum() / 2


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


@pytest.mark.parametrize("epsilon", [0, 0.3, 0.85, 1])
def test_the_stationary_distribution_of_two_items_by_hand(epsilon):
    # To a with 3/4, from a with 1/4 by preference; 1/2 by jump: P(a) = P(b to a).
    psi = [[0, np.log(3)], [-np.log(3), 0]]
    expected = epsilon * 3 / 4 + (1 - epsilon) / 2
    assert stationary_scores(psi, epsilon) == pytest.approx([expected, 1 - expected], rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.5, 0.85, 1])
def test_the_stationary_distribution_is_the_eigenvector(rng, epsilon):
    psi = antisymmetric(rng, 7)
    move = np.array([[np.exp(psi[j, i]) for j in range(7)] for i in range(7)])  # from i to j
    move = epsilon * move / move.sum(axis=1, keepdims=True) + (1 - epsilon) / 7
    value, vector = np.linalg.eig(move.T)
    leading = vector[:, np.argmax(value.real)].real
    ours = stationary_scores(psi, epsilon)
    assert ours == pytest.approx(leading / leading.sum(), rel=1e-7)


def test_copies_of_an_item_stand_for_rows_alike(rng):
    psi = antisymmetric(rng, 4)
    which = np.array([0, 1, 1, 1, 2, 3, 3])
    written_out = stationary_scores(psi[np.ix_(which, which)], 0.7)
    copies = stationary_scores(psi, 0.7, copies=[1, 3, 1, 2])
    assert written_out == pytest.approx(copies[which], rel=1e-7)
    assert written_out.sum() == pytest.approx(1)


@pytest.mark.parametrize("tolerance", [1e-9, 1e-6])
def test_strong_preferences_do_not_overflow(tolerance):
    psi = np.array([[0, 900.0], [-900, 0]])
    assert stationary_scores(psi, 0.8, tolerance=tolerance) == pytest.approx([0.9, 0.1])


@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_single_precision_has_six_digits_and_keeps_what_is_rare(rng, scale):
    # around a cycle against all odds, without jumps: moves of e^-100 decide
    psi = scale * antisymmetric(rng, 6)
    exact = stationary_scores(psi, 0.99, tolerance=1e-12)
    assert stationary_scores(psi, 0.99, tolerance=1e-6) == pytest.approx(exact, rel=1e-4)


def test_single_precision_is_as_near_as_it_says(rng):
    psi = antisymmetric(rng, 300)
    exact = stationary_scores(psi, tolerance=1e-13)
    assert stationary_scores(psi, tolerance=1e-6) == pytest.approx(exact, rel=1e-6)


def test_items_alike_are_tied_in_single_precision_too(rng):
    which = np.array([0, 1, 1, 2, 3, 3, 3])
    score = stationary_scores(antisymmetric(rng, 4)[np.ix_(which, which)], tolerance=1e-6)
    assert len(set(score)) == 4


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
def test_a_user_whom_nobody_resembles_or_without_ratings_has_equal_scores(order):
    ratings = csr_array([[5.0, 3, 0, 0], [0, 0, 2, 1], [0, 0, 0, 0]])
    ratings.eliminate_zeros()
    ours = eigenrank(ratings, 0, order=order)
    assert np.isnan(ours[:2]).all()
    assert ours[2] == ours[3]
    assert len(set(eigenrank(ratings, 2, order=order))) == 1


@pytest.mark.parametrize("order", ["greedy", "walk"])
def test_a_user_who_has_rated_everything_has_no_scores(order):
    ratings = csr_array([[5.0, 3], [4, 1]])
    assert np.isnan(eigenrank(ratings, 0, order=order)).all()


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


# Bad input


def test_an_unknown_order_is_named():
    with pytest.raises(ValueError, match="`order` is 'best'; it is 'greedy' or 'walk'"):
        eigenrank(csr_array([[1.0, 2]]), 0, order="best")


@pytest.mark.parametrize("epsilon", [-0.1, 1.1, np.nan])
def test_an_epsilon_that_is_no_probability_is_named(epsilon):
    with pytest.raises(ValueError, match=f"`epsilon` is {epsilon}; a probability"):
        stationary_scores(np.zeros((2, 2)), epsilon)


def test_preferences_of_another_shape_or_not_finite_are_refused():
    with pytest.raises(ValueError, match=r"`psi` has shape \(2, 3\); expected \(n, n\)"):
        greedy_scores(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="`psi` holds a number that is not finite"):
        stationary_scores([[0, np.inf], [-np.inf, 0]])
    with pytest.raises(ValueError, match=r"`copies` is \[1\]; give 2 numbers, 1 or more"):
        stationary_scores(np.zeros((2, 2)), copies=[1])


@pytest.mark.parametrize("function", [eigenrank, kendall_similarity])
def test_a_dense_table_and_an_unknown_user_are_refused(function):
    with pytest.raises(ValueError, match="`ratings` is a list; give a sparse array"):
        function([[1.0, 2]], 0)
    with pytest.raises(ValueError, match="`user` is 1; there are users 0 to 0"):
        function(csr_array([[1.0, 2]]), 1)
