"""The model of BPR: its density, fits, recommendations against brute force, what is refused."""

import functools
import math

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import bayesrank as br
from bayesrank.results.evaluation.recommendation import recommendation_metrics
from models.bpr.learn_bpr import learn_bpr
from models.bpr.model import build, fit_map, fold_in, recommend
from models.bpr.study import MF, held_out_pairs, preferred, read_split
from tests.oracles import gradient

QUICK = "FAST_COMPILE"  # for what is evaluated a few times only


@functools.cache
def tastes():
    """Give what twelve users have of ten pages; even users like even pages. Zoe has nothing."""
    user, page = np.indices((12, 10))
    taken = ((user + page) % 2 == 0) & (page // 2 != user // 2 % 5)
    rows, columns = np.nonzero(taken)
    frame = pd.DataFrame({"user": [f"u{u}" for u in rows], "page": [f"p{p}" for p in columns]})
    users = [*(f"u{u}" for u in range(12)), "Zoe"]
    return br.Interactions.from_frame(frame, user="user", item="page", users=users)


@functools.cache
def mode():
    return fit_map(tastes(), n_factors=2, bias_scale=0.5, n_epochs=400)


@functools.cache
def posterior():
    """Give draws around the mode that is all the posterior a test of tables needs."""
    rng, one = np.random.default_rng(5), mode()
    many = one["posterior"].dataset.isel(draw=[0] * 30).assign_coords(draw=range(30))
    noisy = many.map(lambda x: x + 0.5 * rng.normal(size=x.shape))
    tree = one.copy()
    tree["posterior"] = noisy
    return tree


def utility_of(idata, user):
    draws = idata["posterior"].dataset.isel(chain=0)
    W = draws["user_factor"].sel(user=user)
    return ((W * draws["item_factor"]).sum("factor") + draws["item_bias"]).transpose("draw", ...)


# The model


def test_the_log_density_is_that_of_its_definition(rng):
    have = tastes()
    model = build(have, n_factors=2, user_scale=0.7, item_scale=1.3, bias_scale=0.4, evidence=30)
    W, H, b = rng.normal(size=(13, 2)), rng.normal(size=(10, 2)), rng.normal(size=10)
    u, i, j = have.all_triples().T
    x = W @ H.T + b
    pairs = 30 * np.log(expit(x[u, i] - x[u, j])).mean()

    def normal(z, scale):
        return (-(z**2) / 2 / scale**2 - math.log(scale) - math.log(2 * math.pi) / 2).sum()

    expected = pairs + normal(W, 0.7) + normal(H, 1.3) + normal(b, 0.4)
    point = {"user_factor": W, "item_factor": H, "item_bias": b}
    assert float(model.compile_logp(mode=QUICK)(point)) == pytest.approx(expected, rel=1e-10)


def test_learn_bpr_climbs_to_a_mode_of_the_model():
    have, scales = tastes(), {"user_scale": 0.8, "item_scale": 1.2, "bias_scale": 0.5}
    found = fit_map(have, n_factors=1, n_epochs=40_000, learning_rate=0.01, **scales)
    model = build(have, n_factors=1, **scales)
    slope = model.compile_dlogp(mode=QUICK)
    point = {rv.name: found["posterior"][rv.name].values[0, 0] for rv in model.free_RVs}
    assert np.abs(slope(point)).max() < 0.05
    assert np.abs(slope({name: 1.1 * x for name, x in point.items()})).max() > 0.3
    assert (point["user_factor"][12] == 0).all()


# Recommendations


def test_the_probabilities_are_those_of_the_draws():
    x = utility_of(posterior(), "u3")
    new = [page for page in tastes().items if page not in tastes().items_of("u3")]
    table = recommend(posterior(), "u3", 3)
    x = x.sel(item=new)
    mean = x.mean("draw").to_series().sort_values(ascending=False)
    assert table.index.tolist() == mean.index[:3].tolist()
    np.testing.assert_allclose(table["utility"], mean[:3])
    places = x.to_pandas().rank(axis=1, ascending=False)
    for page, row in table.iterrows():
        assert row["top_k"] == pytest.approx((places[page] <= 3).mean())
        others = [other for other in new if other != page]
        ahead = expit((x.sel(item=page) - x.sel(item=others)).values)
        assert row["preferred"] == pytest.approx(ahead.mean())
    assert 0 < table["top_k"].min() < 1


# Someone new


def test_a_new_users_factors_are_the_mode_given_the_items(rng):
    w = fold_in(mode(), ["p0", "p4"])[0]
    data = mode()["constant_data"]
    weight, scale = float(data["pair_weight"]), float(data["user_scale"])
    assert weight == pytest.approx(len(tastes()) / tastes().n_triples)
    H, b = (mode()["posterior"][name].values[0, 0] for name in ("item_factor", "item_bias"))
    others = [i for i in range(10) if i not in (0, 4)]

    def logp(w):
        x = H @ w + b
        leads = np.array([x[i] - x[j] for i in (0, 4) for j in others])
        return weight * np.log(expit(leads)).sum() - w @ w / 2 / scale**2

    np.testing.assert_allclose(gradient(logp, w), 0, atol=1e-4)


# MovieLens


def test_factors_find_held_out_movies_as_well_as_cornac_does(data_dir):
    # cornac 3.0.1, with biases: AUC 0.939, NDCG@10 0.273 (standard error about 0.006)
    have, test = read_split(data_dir / "ml-100k").interactions()
    fit = learn_bpr(have, n_factors=64, last_rate=0.0, penalties=MF["AUC"])
    found = recommendation_metrics(fit.utility(), test.to_matrix(), have.to_matrix(), k=10).means
    assert found["auc"] > 0.939
    assert found["ndcg@10"] > 0.28
    pairs = held_out_pairs(have, test)
    assert not have.to_matrix()[pairs[:, 0], pairs[:, 2]].any()
    assert test.to_matrix()[pairs[:, 0], pairs[:, 1]].all()
    assert -0.18 < np.log(preferred(fit.utility()[None], pairs)).mean() < -0.1


# Studies


@pytest.mark.slow
def test_of_a_posterior_a_new_user_is_uncertain_as_the_curvature_says():
    tree = mode().copy()
    tree["posterior"] = mode()["posterior"].dataset.isel(draw=[0] * 4000)
    w = fold_in(tree, ["p0", "p4"])
    H = mode()["posterior"]["item_factor"].values[0, 0]
    b = mode()["posterior"]["item_bias"].values[0, 0]
    center = fold_in(mode(), ["p0", "p4"])[0]
    x, weight = H @ center + b, float(mode()["constant_data"]["pair_weight"])
    precision = np.eye(2)
    for i in (0, 4):
        for j in set(range(10)) - {0, 4}:
            p, d = expit(x[i] - x[j]), H[i] - H[j]
            precision += weight * p * (1 - p) * np.outer(d, d)
    np.testing.assert_allclose(w.mean(axis=0), center, atol=0.06)
    np.testing.assert_allclose(np.cov(w.T), np.linalg.inv(precision), atol=0.06)
    np.testing.assert_array_equal(w, fold_in(tree, ["p0", "p4"]))
