"""ListRank-MF: the paper's objective and gradient, the mode, bad input."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from scipy.stats import spearmanr

from bayesrank.inference import objective
from models.list_rank_mf.model import build, fit_map, scores
from models.pmop_collaborative.protocol import split, to_rankings
from tests.models.rated import QUICK, TWO, taste


def papers_objective(U, V, lists, ridge):
    """Loss and its gradients, sum by sum; lists are of (item, rating) by user."""
    loss = ridge / 2 * (np.sum(U**2) + np.sum(V**2))
    U_slope, V_slope = ridge * U, ridge * V
    for i, user_ratings in enumerate(lists):
        ratings = sum(np.exp(R) for _, R in user_ratings)
        worths = sum(np.exp(expit(U[i] @ V[j])) for j, _ in user_ratings)
        for j, R in user_ratings:
            g = expit(U[i] @ V[j])
            loss -= np.exp(R) / ratings * np.log(np.exp(g) / worths)
            factor = (np.exp(g) / worths - np.exp(R) / ratings) * g * (1 - g)
            U_slope[i] = U_slope[i] + factor * V[j]
            V_slope[j] = V_slope[j] + factor * U[i]
    return loss, U_slope, V_slope


# Of TWO, by items a, b, c: what Ann and Bo gave
LISTS = [[(0, 3), (1, 3), (2, 5)], [(1, 4), (2, 1)]]


@pytest.mark.parametrize(("divide_by", "divisor"), [(None, 5), (1.0, 1)])
def test_the_objective_and_its_gradient_are_the_papers(rng, divide_by, divisor):
    model = build(TWO, n_factors=2, ridge=0.3, divide_by=divide_by)
    U, V = rng.normal(size=(2, 2)), rng.normal(size=(3, 2))
    lists = [[(j, R / divisor) for j, R in user_ratings] for user_ratings in LISTS]
    loss, U_slope, V_slope = papers_objective(U, V, lists, 0.3)
    constant = 10 * np.log(0.3 / (2 * np.pi)) / 2  # of ten normal densities
    logp = model.logp_dlogp_function(ravel_inputs=True, mode=QUICK)
    value, slope = logp(np.concatenate([U.ravel(), V.ravel()]))
    assert value == pytest.approx(constant - loss, rel=1e-12)
    expected = -np.concatenate([U_slope.ravel(), V_slope.ravel()])
    np.testing.assert_allclose(slope, expected, rtol=1e-10)


def test_the_mode_of_each_ridge_has_no_slope_and_finds_held_out_tastes():
    ratings = taste()
    items = pd.Index(range(30))
    train, _ = split(ratings, [20], at_least=30, seed=1)
    rankings = to_rankings(train, items)
    model = build(rankings, n_factors=2, ridge=0.01)
    weak, strong = fit_map(model, [0.003, 10.0], max_iterations=2000)
    slope = objective(model, random_seed=1)[0]
    at = slope(np.concatenate([strong[name].ravel() for name in ("ranker_factor", "item_factor")]))
    assert np.abs(at[1]).max() < 1e-2
    assert np.abs(strong["ranker_factor"]).max() < 1e-3  # a mode without factors

    known = set(zip(train["user"], train["movie"], strict=True))
    rest = ratings[[(u, m) not in known for u, m in zip(ratings.user, ratings.movie, strict=True)]]
    agreement = [
        spearmanr(scores(weak)(u)[held["movie"]], held["rating"]).statistic
        for u, held in rest.groupby("user")
    ]
    assert np.mean(agreement) > 0.5
