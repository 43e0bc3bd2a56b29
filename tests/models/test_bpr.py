"""The model of BPR: its density, fits, recommendations against brute force, what is refused."""

import functools
import math

import numpy as np
import pandas as pd
import pymc as pm
import pytest
from scipy.special import expit

import bayesrank as br
from bayesrank.results.evaluation.recommendation import recommendation_metrics
from models.bpr.learn_bpr import learn_bpr
from models.bpr.model import build, fit_advi, fit_map, fold_in, recommend, recommend_new
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


def test_minibatches_of_triples_climb_the_same_posterior(rng):
    have = tastes()
    point = {
        "user_factor": rng.normal(size=(13, 2)),
        "item_factor": rng.normal(size=(10, 2)),
        "item_bias": rng.normal(size=10),
    }
    whole = float(build(have, n_factors=2).compile_logp(mode=QUICK)(point))
    part = build(have, n_factors=2, batch_size=50, n_triples=20_000).compile_logp()
    some = [float(part(point)) for _ in range(500)]
    assert abs(np.mean(some) - whole) < 5 * np.std(some) / math.sqrt(500)


def test_learn_bpr_climbs_to_a_mode_of_the_model():
    have, scales = tastes(), {"user_scale": 0.8, "item_scale": 1.2, "bias_scale": 0.5}
    found = fit_map(have, n_factors=1, n_epochs=40_000, learning_rate=0.01, **scales)
    model = build(have, n_factors=1, **scales)
    slope = model.compile_dlogp(mode=QUICK)
    point = {rv.name: found["posterior"][rv.name].values[0, 0] for rv in model.free_RVs}
    assert np.abs(slope(point)).max() < 0.05
    assert np.abs(slope({name: 1.1 * x for name, x in point.items()})).max() > 0.3
    assert (point["user_factor"][12] == 0).all()


def test_a_mode_and_a_posterior_hold_the_same_groups():
    have = tastes()
    model = build(have, n_factors=2, batch_size=20, n_triples=500)
    drawn = fit_advi(model, mode(), n_steps=200, draws=7)
    assert drawn["posterior"].sizes["draw"] == 7
    for name, x in mode()["posterior"].data_vars.items():
        assert drawn["posterior"][name].dims == x.dims
        assert float(abs(drawn["posterior"][name].mean("draw") - x[:, 0]).max()) < 2
    for name in mode()["constant_data"].data_vars:
        np.testing.assert_array_equal(drawn["constant_data"][name], mode()["constant_data"][name])
    assert len(recommend(drawn, "u0", 3)) == 3


# Recommendations


def test_what_is_recommended_is_to_the_users_taste_and_new():
    for user in ("u0", "u1"):
        best = recommend(mode(), user, 1).index[0]
        assert best not in tastes().items_of(user)
        assert int(best[1:]) % 2 == int(user[1:]) % 2


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


def test_of_a_mode_the_best_are_certain():
    assert (recommend(mode(), "u5", 2)["top_k"] == 1).all()


def test_a_user_without_items_gets_what_all_like_and_a_warning():
    with pytest.warns(UserWarning, match="User 'Zoe' has no items: what is recommended is what al"):
        table = recommend(mode(), "Zoe", 10)
    bias = mode()["posterior"]["item_bias"].values[0, 0]
    np.testing.assert_allclose(table["utility"], np.sort(bias)[::-1])


# Someone new


def test_a_new_user_with_the_items_of_an_old_one_gets_the_same_taste():
    items = tastes().items_of("u2")
    new, old = recommend_new(mode(), items, 5), recommend(mode(), "u2", 5)
    assert set(new.index[:1]) == set(old.index[:1])
    assert set(new.index) == set(old.index)


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


# Bad input


@pytest.mark.parametrize(
    ("user", "k", "message"),
    [
        ("Ann", 3, r"Unknown user 'Ann': the users are .*recommend_new\(idata, items\)"),
        ("u0", 0, "`k` is 0, but user 'u0' has all but 6 of 10 items"),
        ("u0", 7, "`k` is 7, but user 'u0' has all but 6 of 10 items: k must be between 1 and th"),
        ("u0", 1.5, "`k` is 1.5"),
    ],
)
def test_what_cannot_be_recommended_raises(user, k, message):
    with pytest.raises(ValueError, match=message):
        recommend(mode(), user, k)


@pytest.mark.parametrize(
    ("items", "k", "message"),
    [
        (["p0", "q"], 3, "Unknown item 'q': the items are .* and others"),
        ([], 3, "has 0 of 10 items: with none there is nothing to go by but `item_bias`"),
        (
            [f"p{n}" for n in range(10)],
            3,
            "has 10 of 10 items: .* with all there is nothing to rec",
        ),
        (["p0"], 10, "`k` is 10, but the new user has all but 9 of 10 items"),
    ],
)
def test_a_new_user_who_cannot_be_recommended_to_raises(items, k, message):
    with pytest.raises(ValueError, match=message):
        recommend_new(mode(), items, k)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_factors": 0}, "`n_factors` is 0; give at least one"),
        ({"item_scale": 0.0}, "`item_scale` is 0.0; it must be positive"),
        ({"evidence": -1}, "`evidence` is -1; it must be positive"),
        ({"batch_size": 0}, "`batch_size` is 0; give at least one"),
    ],
)
def test_bad_arguments_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        build(tastes(), **options)


@pytest.mark.parametrize("make", [build, fit_map])
def test_ratings_are_refused_with_the_way_out(make):
    with pytest.raises(
        TypeError, match=r"got DataFrame\. A table of ratings becomes some with br\."
    ):
        make(pd.DataFrame({"user": [1], "item": [2], "rating": [3]}))


def test_full_posteriors_of_small_data_are_sampled_as_any_other():
    with build(tastes(), n_factors=1):
        idata = pm.sample_prior_predictive(3, random_seed=1)
    assert idata["prior"]["user_factor"].dims == ("chain", "draw", "user", "factor")
    assert idata["prior_predictive"]["y"].dims == ("chain", "draw", "triple")


def test_the_only_item_left_has_no_other_to_be_preferred_to():
    table = pd.DataFrame({"user": ["a", "a", "b", "b", "c"], "item": ["x", "y", "y", "z", "x"]})
    mode = fit_map(br.Interactions.from_frame(table, user="user", item="item"), n_factors=2)
    (row,) = recommend(mode, "a", 1).itertuples()
    assert (row.Index, row.top_k) == ("z", 1.0)
    assert np.isnan(row.preferred)
