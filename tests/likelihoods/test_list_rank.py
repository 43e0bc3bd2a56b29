"""Top-one cross-entropy: by hand, its gradient as printed and by finite differences, extremes."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from scipy.optimize import check_grad
from scipy.special import expit, softmax
from scipy.stats import entropy

from bayesrank.likelihoods.losses import list_rank_loss

# Two lists, told apart by an index in no order
RANKING = np.array([0, 1, 0, 1, 1, 0])
RATING = np.array([1.0, 0.2, 0.4, 0.6, 1.0, 0.8])
LISTS = [np.flatnonzero(n == RANKING) for n in (0, 1)]


def loss_function(rating=RATING, ranking=RANKING, n_rankings=2):
    """Losses and gradient of their sum as functions of the utilities."""
    w = pt.dvector("w")
    losses = list_rank_loss(w, rating, ranking, n_rankings=n_rankings)
    return pytensor.function([w], [losses, pt.grad(losses.sum(), w)], mode="FAST_COMPILE")


def test_the_loss_by_hand():
    # p = (e, 1) / (e + 1), and so is q in the limit: the entropy of p
    p = np.array([np.e, 1]) / (np.e + 1)
    assert list_rank_loss([99.0, -99.0], [1.0, 0.0], [0, 0], n_rankings=1).eval() == (
        pytest.approx([entropy(p)])
    )
    # the other way round: -p log q with q = (1, e) / (e + 1)
    expected = -(p[0] * np.log(1 / (np.e + 1)) + p[1] * np.log(np.e / (np.e + 1)))
    assert list_rank_loss([-99.0, 99.0], [1.0, 0.0], [0, 0], n_rankings=1).eval() == (
        pytest.approx([expected])
    )


def test_the_loss_is_the_cross_entropy_of_each_list(rng):
    w = rng.normal(size=6)
    losses, _ = loss_function()(w)
    for n, of_list in enumerate(LISTS):
        p, q = softmax(RATING[of_list]), softmax(expit(w[of_list]))
        assert losses[n] == pytest.approx(-p @ np.log(q), rel=1e-14)
        assert losses[n] > entropy(p)


def test_the_gradient_is_the_one_printed(rng):
    w = rng.normal(size=6)
    _, slope = loss_function()(w)
    for of_list in LISTS:
        p, g = softmax(RATING[of_list]), expit(w[of_list])
        expected = (np.exp(g) / np.exp(g).sum() - p) * g * (1 - g)
        np.testing.assert_allclose(slope[of_list], expected, rtol=1e-12)


def test_the_gradient_agrees_with_finite_differences(rng):
    f = loss_function()
    error = check_grad(lambda w: f(w)[0].sum(), lambda w: f(w)[1], rng.normal(size=6))
    assert error < 1e-6


def test_the_loss_is_least_where_the_shares_are_alike():
    shares = np.array([0.9, 0.3, 0.5, 0.7])  # logits give these back
    best = np.log(shares / (1 - shares))
    f = loss_function(shares, np.zeros(4, int), 1)
    (loss,), slope = f(best)
    assert loss == pytest.approx(entropy(softmax(shares)), rel=1e-12)
    np.testing.assert_allclose(slope, 0, atol=1e-15)


def test_a_list_without_ratings_costs_nothing():
    w = np.array([0.3, -1.0, 2.0, 0.1, 0.5, -0.4])
    losses, slope = loss_function(ranking=2 * RANKING, n_rankings=4)(w)
    assert losses[[1, 3]].tolist() == [0, 0]
    np.testing.assert_allclose(losses[[0, 2]], loss_function()(w)[0], rtol=1e-15)
    assert np.isfinite(slope).all()


def test_a_list_of_one_rating_costs_nothing():
    losses, slope = loss_function([0.7], [0], 1)(np.array([1.3]))
    assert losses == pytest.approx(0, abs=1e-15)
    assert slope == pytest.approx(0, abs=1e-15)


def test_utilities_of_any_size_have_a_finite_loss_and_gradient():
    losses, slope = loss_function()(np.array([1e3, -1e3, -1e3, 1e3, 0, 0]))
    assert np.isfinite(losses).all()
    assert np.isfinite(slope).all()
