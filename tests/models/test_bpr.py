"""Recommendation: the model of BPR, ratings-based methods, and the study."""

import functools

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.special import expit, log_softmax
from scipy.stats import kendalltau, norm, pearsonr

import bayesrank as br
from models.bpr import choice, study
from models.bpr.eigenrank import (
    eigenrank,
    greedy_scores,
    kendall_similarity,
    preferences,
    stationary_scores,
)
from models.bpr.learn_bpr import FactorFit
from models.bpr.model import build, fit_map, fold_in, recommend
from models.bpr.rating_neighbours import Neighbours, nearest, pearson_similarity, predict_ratings
from models.bpr.study import METHODS, ease, judge, list_rank
from tests.models.rated import taste
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


def normal(z, scale):
    return norm.logpdf(z, scale=scale).sum()


def test_the_log_density_is_that_of_its_definition(rng):
    have = tastes()
    model = build(have, n_factors=2, user_scale=0.7, item_scale=1.3, bias_scale=0.4, evidence=30)
    W, H, b = rng.normal(size=(13, 2)), rng.normal(size=(10, 2)), rng.normal(size=10)
    u, i, j = have.all_triples().T
    x = W @ H.T + b
    pairs = 30 * np.log(expit(x[u, i] - x[u, j])).mean()

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


# Choices from the whole catalogue


def test_the_density_of_choices_is_that_of_its_definition_and_its_mode_is_found(rng):
    have, scales = tastes(), {"user_scale": 0.8, "item_scale": 1.2, "bias_scale": 0.5}
    model = choice.build(have, n_factors=2, **scales)
    density = model.compile_fn([model.logp(), model.dlogp()], mode=QUICK)

    point = {
        "user_factor": rng.normal(size=(13, 2)),
        "item_factor": rng.normal(size=(10, 2)),
        "item_bias": rng.normal(size=10),
    }
    share = log_softmax(FactorFit(**point).utility(), axis=1)
    priors = zip(point.values(), scales.values(), strict=True)
    expected = share[have.user_idx, have.item].sum() + sum(normal(x, s) for x, s in priors)
    assert float(density(point)[0]) == pytest.approx(expected, rel=1e-10)
    found = choice.learn_choice(have, n_factors=2, n_iterations=500, **scales)
    assert np.abs(density(found._asdict())[1]).max() < 0.01
    # Zoe has no interactions, so her factors are at the mode of the prior
    np.testing.assert_allclose(found.user_factor[12], 0, atol=1e-3)


def test_a_batch_of_choices_counts_as_much_as_all_of_them(rng):
    table = pd.DataFrame({"user": ["Ann"], "page": ["b"]})
    one = br.Interactions.from_frame(table, user="user", item="page", items=[*"abc"])
    models = [choice.build(one, n_factors=1, batch_size=size) for size in (None, 4)]
    point = {rv.name: rng.normal(size=rv.shape.eval()) for rv in models[0].free_RVs}
    values = [float(model.compile_logp(mode=QUICK)(point)) for model in models]
    assert values[0] == pytest.approx(values[1], rel=1e-10)


def test_a_batch_of_triples_counts_as_much_as_all_of_them(rng):
    table = pd.DataFrame({"user": ["Ann"], "page": ["b"]})
    one = br.Interactions.from_frame(table, user="user", item="page", items=[*"ab"])
    models = [build(one, n_factors=1, batch_size=size, evidence=2.5) for size in (None, 4)]
    point = {rv.name: rng.normal(size=rv.shape.eval()) for rv in models[0].free_RVs}
    values = [float(model.compile_logp(mode=QUICK)(point)) for model in models]
    assert values[0] == pytest.approx(values[1], rel=1e-10)


def test_a_new_users_factors_are_the_mode_of_their_choices():
    fit = choice.fit_map(tastes(), n_factors=2, user_scale=0.8)
    w = fold_in(fit, ["p0", "p4"])[0]
    H, b = (fit["posterior"][name].values[0, 0] for name in ("item_factor", "item_bias"))

    def logp(w):
        return log_softmax(b + H @ w)[[0, 4]].sum() - w @ w / 2 / 0.8**2

    np.testing.assert_allclose(gradient(logp, w), 0, atol=1e-4)


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


# Ann, Bo, Cy and Di on items a to d; Di has nothing in common with Ann
STARS = csr_array([[5.0, 3, 1, 0], [4, 3, 0, 5], [1, 2, 3, 4], [0, 0, 0, 2]])


def random_stars(rng, n_users=12, n_items=15, share=0.6, levels=5):
    stars = rng.integers(1, levels + 1, size=(n_users, n_items))
    return csr_array((stars * (rng.random((n_users, n_items)) < share)).astype(float))


def test_similarity_is_pearsons_correlation_on_common_items(rng):
    ratings = random_stars(rng, share=0.8)
    dense = ratings.toarray()
    for u in range(12):
        similarity, common = pearson_similarity(ratings, u)
        for v in range(12):
            both = (dense[u] > 0) & (dense[v] > 0)
            assert common[v] == both.sum()
            expected = 0.0 if u == v else pearsonr(dense[u, both], dense[v, both]).statistic
            assert similarity[v] == pytest.approx(expected, abs=1e-12)


def test_predictions_by_hand():
    # Ann and Bo: 5, 3 and 4, 3 correlate to 1; Cy, -1, is not asked. Bo's mean is 4, Ann's 3.
    predicted = predict_ratings(STARS, 0, significance=1)
    assert predicted == pytest.approx([3 + 0, 3 - 1, 3, 3 + 1])


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
    ratings = random_stars(rng, share=0.3)
    for u in range(12):
        unrated = np.flatnonzero(ratings.toarray()[u] == 0)
        asked = nearest(kendall_similarity(ratings, u), 3, 5)
        psi = preferences(ratings, asked, unrated)
        expected = greedy_scores(psi) if order == "greedy" else stationary_scores(psi, 0.6)
        ours = eigenrank(ratings, u, order=order, n_neighbours=3, significance=5, epsilon=0.6)
        # the walk has six digits, in single precision
        assert ours[unrated] == pytest.approx(expected, rel=1e-5 if order == "walk" else 1e-7)
        assert np.isnan(ours).sum() == 15 - len(unrated)


@pytest.fixture(scope="module")
def split(tmp_path_factory):
    """A small world of tastes, where chance decides on what is watched."""
    ratings = stars()
    return split_of(tmp_path_factory.mktemp("ua"), ratings.sample(frac=0.6, random_state=1))


def stars():
    return taste(40, 24)[["user", "movie", "rating"]] + [1, 1, 0]


def split_of(folder, ratings):
    """Hold four of what each watched out."""
    ratings = ratings.assign(time=0)
    test = ratings.groupby("user").head(4)
    test.to_csv(folder / "ua.test", sep="\t", header=False, index=False)
    ratings.drop(test.index).to_csv(folder / "ua.base", sep="\t", header=False, index=False)
    return study.read_split(folder)


def test_ease_is_a_ridge_regression_of_each_item_on_the_others(split):
    had = (split.train.toarray() > 0).astype(float)
    others = np.delete(had, 3, axis=1)
    gram = others.T @ others + study.EASE_RIDGE * np.eye(others.shape[1])
    expected = others @ np.linalg.solve(gram, others.T @ had[:, 3])
    np.testing.assert_allclose(ease(split)[:, 3], expected)


def test_als_regresses_ones_and_zeros_the_ones_with_more_weight(rng):
    had, other = csr_array((rng.random((4, 9)) < 0.4).astype(float)), rng.normal(size=(9, 3))
    found = study.ones_and_zeros(had, other, weight=3.0, ridge=0.7)
    for row, y in zip(found, had.toarray(), strict=True):
        slope = other.T @ ((1 + 3 * y) * (y - other @ row)) - 0.7 * row
        np.testing.assert_allclose(slope, 0, atol=1e-10)


def test_held_out_items_are_as_many_for_each_user_and_not_known(split):
    again = study.hold_out(split.train, 2, "again")
    assert (np.diff(again.test.indptr) == 2).all()
    assert (again.train + again.test != split.train).nnz == 0


TASTES = ("EigenRank, greedy", "EigenRank, walk", "ListRank-MF")
SHORT = ("popularity", "item mean", "Pearson neighbours", "EASE", *TASTES[:2])


def test_all_methods_answer_and_those_of_tastes_know_the_order(split, monkeypatch):
    monkeypatch.setitem(METHODS, "ListRank-MF", lambda s, _: list_rank(s, ridge=0.01, n_factors=2))
    rows = {name: judge(split, name, 1, k=5) for name in (*SHORT, "ListRank-MF")}
    for row in rows.values():
        assert all(0 <= row[name] <= 1 for name in ("AUC", "NDCG@5", "stars NDCG@5"))
        assert np.isnan(row["log score"])
    stars = {name: row["stars NDCG@5"] for name, row in rows.items()}
    assert all(stars[name] > stars["popularity"] for name in TASTES)


@pytest.mark.slow
def test_the_study_in_its_reduced_size(data_dir):
    wanted = [x for name in ("compared", "movies", "texts", "defaults") for x in ("--table", name)]
    tables = study.main([str(data_dir / "ml-100k"), "--quick", *wanted])
    rows = tables["compared"].rows
    assert list(rows.index) == list(study.QUICK)
    # a hundred users, from whom little is learned; who is ahead in which question is the same
    assert rows["NDCG@10"].idxmax() == "BPR, factors, by NDCG"
    assert rows.loc["popularity", "AUC"] == pytest.approx(0.83, abs=0.05)
    assert rows["stars NDCG@5"].idxmin() in ("popularity", "BPR, factors, by NDCG")
    assert set(tables["compared"].figures) == {"recommendation.png"}
    for data in ("movies", "texts"):
        assert list(tables[data].rows) == ["AUC", "NDCG@10", "recall@20", study.GAIN]
    assert list(tables["defaults"].rows.index.str.split(",").str[0]) == [*study.FAMILIES]
