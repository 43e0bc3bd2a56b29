"""Collaborative filtering: the objective by hand, two ways to each mode, the study at toy size."""

import functools
import re

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pymc as pm
import pytest
from scipy.special import logsumexp
from scipy.stats import kendalltau, norm

import bayesrank as br
import models.pmop_collaborative as study
from models.pmop_collaborative import als, build, fit_adam, fit_map, observe, predict

QUICK = "FAST_COMPILE"  # for what is evaluated a few times only

# Ann: c (5 stars), then a and b (3 stars). Bo: b (4), then c (1).
STARS = pd.DataFrame(
    {"user": ["Ann"] * 3 + ["Bo"] * 2, "movie": list("abcbc"), "rating": [3, 3, 5, 4, 1]}
)
TWO = br.Rankings.from_ratings(
    STARS, ranker="user", item="movie", rating="rating", features=["rating"]
)


def taste(n_users=60, n_movies=30, seed=3):
    """Ratings of all by all, where two factors move the stars more than the movies' biases."""
    rng = np.random.default_rng(seed)
    W, H = rng.normal(size=(n_users, 2)), rng.normal(size=(n_movies, 2))
    liking = 3 + W @ H.T + 0.3 * rng.normal(size=n_movies)
    user, movie = np.indices(liking.shape)
    return pd.DataFrame(
        {
            "user": user.ravel(),
            "movie": movie.ravel(),
            "rating": np.clip(np.round(liking + 0.3 * rng.normal(size=liking.shape)), 1, 5).ravel(),
        }
    )


@functools.cache
def six():
    """Six users of five movies each, of eight, and the model with all its parts."""
    ratings = taste(6, 8)
    (part, _) = study.split(ratings, [5], at_least=8, seed=1)
    rankings = study.to_rankings(part, pd.Index(range(8)))
    return rankings, build(rankings, n_factors=2, beta=0.3, ranker_scale=0.5)


@functools.cache
def six_objective():
    return six()[1].logp_dlogp_function(ravel_inputs=True, mode=QUICK)


def log_mean_worth_stage(chosen, remainder):
    """Equation of the arithmetic mean: log mean worth over the sum for all subsets."""
    n = len(remainder)
    score = logsumexp(chosen) - np.log(len(chosen))
    return score - (np.log(2**n - 1) - np.log(n) + logsumexp(remainder))


def test_the_objective_is_equation_25():
    W, H = np.array([[0.5, -1.0], [2.0, 0.3]]), np.array([[1.0, 0.2], [-0.4, 0.7], [0.1, -1.5]])
    model = build(
        TWO, n_factors=2, beta=0.2, ranker_scale=0.5, item_scale=2.0,
        item_bias_scale=None, level_scale=None,
    )  # fmt: skip
    w = W @ H.T
    (a, b, c), (_, bo_b, bo_c) = w
    log_p = log_mean_worth_stage([c], [a, b, c]) + log_mean_worth_stage([a, b], [a, b])
    log_p += log_mean_worth_stage([bo_b], [bo_b, bo_c])  # what is left then is certain
    squares = np.sum((np.array([3, 3, 5, 4, 1]) - [a, b, c, bo_b, bo_c]) ** 2)
    ridge = np.sum(W**2) / (2 * 0.25) + np.sum(H**2) / (2 * 4.0)
    constant = 4 * np.log(0.5) + 6 * np.log(2.0) + 10 * np.log(2 * np.pi) / 2
    ours = model.compile_logp(mode=QUICK)({"ranker_factor": W, "item_factor": H})
    assert ours == pytest.approx(0.2 * log_p - 0.4 * squares - ridge - constant, rel=1e-12)


def test_biases_move_utilities_and_levels_only_the_ratings():
    rankings, model = six()
    point = {rv.name: rv.eval() for rv in model.free_RVs}
    objective = model.compile_logp(sum=False, mode=QUICK)(point)
    names = [v.name for v in (*model.basic_RVs, *model.potentials)]
    terms = dict(zip(names, objective, strict=True))
    utility = predict(point, rankings.ranker_idx[:, None], rankings.item)
    mean = rankings.features[..., 0].mean()
    error = rankings.features[..., 0] - utility - point["ranker_level"][:, None]
    logps = study.log_likelihood(point, rankings, "pmop")
    np.testing.assert_allclose(terms["y"], 0.3 * logps, rtol=1e-10)
    np.testing.assert_allclose(terms["rating"], -0.35 * np.sum(error**2), rtol=1e-10)
    np.testing.assert_allclose(
        terms["ranker_level"], norm(mean, 0.5).logpdf(point["ranker_level"]), rtol=1e-10
    )
    np.testing.assert_allclose(
        terms["item_bias"], norm(0, 0.3).logpdf(point["item_bias"]), rtol=1e-10
    )


def test_minibatches_that_make_up_the_whole_have_its_gradient_on_average(rng):
    rankings, model = six()
    logp = six_objective()
    x = rng.normal(size=6 * 2 + 8 * 2 + 8 + 6)
    whole, slope = logp(x)
    parts = []
    for rows in ([0, 3], [1, 5], [2, 4]):
        observe(model, rankings.subset(rows))
        parts.append(logp(x))
    observe(model, rankings)
    np.testing.assert_allclose(np.mean([value for value, _ in parts]), whole, rtol=1e-10)
    np.testing.assert_allclose(np.mean([s for _, s in parts], axis=0), slope, rtol=1e-8, atol=1e-9)
    assert not np.allclose(parts[0][1], slope)
    assert logp(x)[0] == pytest.approx(whole, rel=1e-12)


def test_adam_on_minibatches_finds_the_mode_of_l_bfgs():
    rankings, model = six()
    scales = {"ranker_scale": 0.05, "item_scale": 0.05}  # factors vanish: one mode
    (by_newton,) = fit_map(model, [scales])
    by_steps = fit_adam(model, rankings, batch_size=2, n_epochs=400, learning_rate=0.05)
    pm.set_data({"ranker_scale": 0.5, "item_scale": 1.0}, model=model)
    for name in ("item_bias", "ranker_level", "ranker_factor"):
        np.testing.assert_allclose(by_steps[name], by_newton[name], atol=0.01)
    assert np.ptp(by_newton["item_bias"]) > 0.2


def test_alternating_least_squares_ends_where_the_objective_without_order_is_flat():
    rankings, model = six()
    found = als(rankings, n_factors=2, ranker_scale=0.5, n_sweeps=3000)
    pm.set_data({"beta": 0.0, "y_weight": 0 * rankings.weight}, model=model)
    start = pm.blocking.DictToArrayBijection.map({rv.name: found[rv.name] for rv in model.free_RVs})
    slope = six_objective()(start.data)[1]
    pm.set_data({"beta": 0.3, "y_weight": 0.3 * rankings.weight}, model=model)
    np.testing.assert_allclose(slope, 0, atol=1e-6)
    assert np.abs(found["ranker_factor"]).max() > 0.1


def test_item_means_are_shrunken_towards_the_mean_of_all():
    # mean 3.2; a has 3 alone, b 3 and 4, c 5 and 1; the prior counts as 1 / 0.5^2 = 4 ratings
    found = study.item_mean(TWO, item_bias_scale=0.5)
    np.testing.assert_allclose(found["item_bias"], [-0.2 / 5, 0.6 / 6, -0.4 / 6])


@pytest.mark.parametrize("likelihood", ["pmop", "plackett_luce"])
def test_factors_tell_what_item_means_cannot(likelihood):
    train, test = study.split(taste(), [20], at_least=30, seed=1)
    items = pd.Index(range(30))
    rankings, held_out = study.to_rankings(train, items), study.to_rankings(test, items)
    (found,) = fit_map(
        build(rankings, likelihood=likelihood, n_factors=2, ranker_scale=1.0, beta=0.5)
    )

    def agreement(point):
        score = predict(point, held_out.ranker_idx[:, None], held_out.item)
        taus = [
            kendalltau(s[m], -r[m]).statistic
            for s, r, m in zip(score, held_out.ranks, held_out.mask, strict=True)
        ]
        return np.mean(taus)

    assert agreement(found) > 0.7
    assert agreement(study.item_mean(rankings)) < 0.3


def test_ties_are_broken_in_the_order_of_the_items():
    full = study.break_ties(TWO)
    assert full.ranks.tolist() == [[1, 2, 3], [1, 2, 0]]
    np.testing.assert_array_equal(full.item, TWO.item)
    np.testing.assert_array_equal(full.features, TWO.features)


def test_tied_denominators_leave_tied_items_in_each_others_remainder():
    model = build(TWO, likelihood="tied_denominators", n_factors=1)
    point = {rv.name: np.zeros(rv.shape.eval()) for rv in model.free_RVs}
    point["item_bias"] = np.array([0.3, -0.2, 1.0])
    a, b, c = point["item_bias"]
    ann = (c - logsumexp([a, b, c])) + (a - logsumexp([a, b])) + (b - logsumexp([a, b]))
    bo = b - logsumexp([b, c])
    logp = dict(
        zip(
            [v.name for v in (*model.basic_RVs, *model.potentials)],
            model.compile_logp(sum=False, mode=QUICK)(point),
            strict=True,
        )
    )
    assert float(logp["y"]) == pytest.approx(ann + bo, rel=1e-12)


def test_the_table_in_the_docstring_names_the_variables():
    named = set(re.findall(r"``(\w+)`` +\w", study.__doc__))
    assert named == {v.name for v in six()[1].basic_RVs}


def test_scales_may_be_free_for_samplers_but_not_for_the_mode():
    model = build(TWO, hierarchical=True)
    assert "ranker_scale" in {rv.name for rv in model.free_RVs}
    with pytest.raises(ValueError, match=r"\['ranker_scale', .*at the mode they vanish"):
        fit_map(model)


def test_minibatches_of_a_likelihood_with_fixed_data_are_refused():
    with pytest.raises(ValueError, match="its data are fixed"):
        observe(build(TWO, likelihood="pairs"), TWO)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"likelihood": "pl"}, "`likelihood` is 'pl'; it is one of 'pmop', "),
        ({"n_factors": 0}, "`n_factors` is 0"),
        ({"beta": 1.5}, "`beta` is 1.5; a weight lies between 0 and 1"),
        ({"item_scale": 0.0}, "`item_scale` is 0.0; it must be positive"),
        ({"beta": 0.1, "rating": "stars"}, r"no feature 'stars' \(it has \['rating'\]\)"),
    ],
)
def test_bad_arguments_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        build(TWO, **options)


# The study


def test_movies_rated_rarely_or_by_all_alike_are_left_out(tmp_path):
    stars = {1: [1, 2, 3, 4], 2: [5, 5, 5, 4], 3: [1, 5]}  # entropies log 4, 0.56, log 2
    lines = [f"{u}\t{m}\t{r}\t0" for m, rs in stars.items() for u, r in enumerate(rs)]
    (tmp_path / "u.data").write_text("\n".join(lines))
    kept = study.movielens(tmp_path, min_ratings=3, min_entropy=1.0)
    assert kept["movie"].unique().tolist() == [1]
    assert study.movielens(tmp_path, min_ratings=2, min_entropy=0.6)["movie"].nunique() == 2


def test_a_split_gives_each_user_as_many_and_none_twice():
    parts = study.split(taste(4, 9), [3, 2], at_least=9, seed=1)
    assert [part.groupby("user").size().unique().tolist() for part in parts] == [[3], [2], [4]]
    assert not pd.concat(parts)[["user", "movie"]].duplicated().any()
    assert all(part.empty for part in study.split(taste(4, 9), [3], at_least=10, seed=1))


def test_the_study_sees_what_the_item_means_do_not():
    names = ("shrunken item mean", "rating factors (ALS)")
    methods = {name: study.METHODS[name] for name in names}
    methods[names[1]] = (methods[names[1]][0], [{"ranker_scale": 1.0}])
    table = study.compare(taste(40, 20), 12, 20, methods=methods)
    assert table.columns.tolist() == ["err", "ndcg@1", "ndcg@5", "ndcg@5 lead", "se"]
    assert table.loc[names[0], "ndcg@5"] < table.loc[names[1], "ndcg@5"] - 0.05
    assert table.loc[names[1], "ndcg@5 lead"] == 0


def test_equal_utilities_have_the_log_likelihood_of_counting():
    nothing = nothing_for(TWO)
    # 7 and then 3 subsets; 3 subsets. Given sizes: one of three; one of two.
    for outcome, expected in (("pmop", [1 / 21, 1 / 3]), ("plackett_luce", [1 / 3, 1 / 2])):
        ours = study.log_likelihood(nothing, TWO, outcome)
        np.testing.assert_allclose(np.exp(ours), expected, rtol=1e-10)


def test_the_figure_stands_beside_what_equal_utilities_give(monkeypatch):
    monkeypatch.setattr(study, "SCORES", {"PMOP mean": study.SCORES["PMOP mean"]})
    monkeypatch.setattr(study, "modes", lambda rankings, scales, **_: [nothing_for(rankings)])
    table = study.figure_table(taste(20, 12), sizes=(6,), scales=[{}])
    assert table.index.tolist() == [6]
    assert table.columns.tolist() == ["PMOP mean", "PMOP mean: equal utilities"]
    assert table.iloc[0, 0] == table.iloc[0, 1] < 0


def nothing_for(rankings):
    return {
        "ranker_factor": np.zeros((len(rankings.rankers), 1)),
        "item_factor": np.zeros((rankings.n_items, 1)),
    }


def test_the_figure_draws_each_model_and_its_zero():
    names = [*study.SCORES, *(f"{name}: equal utilities" for name in study.SCORES)]
    table = pd.DataFrame({name: [-2.0 - i, -5.0] for i, name in enumerate(names)}, index=[5, 10])
    paper, given, gain = study.plot_figure(table)
    assert [len(ax.lines) for ax in (paper, given, gain)] == [4, 4, 4]
    np.testing.assert_allclose(gain.lines[0].get_ydata(), [4.0, 0.0])
    plt.close(paper.figure)
