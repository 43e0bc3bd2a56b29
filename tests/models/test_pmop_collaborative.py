"""Collaborative filtering: the objective by hand, its modes, CoFiRank, and the study."""

import functools
from itertools import permutations

import numpy as np
import pandas as pd
import pymc as pm
import pytest
from pymc.blocking import DictToArrayBijection
from scipy.optimize import approx_fprime
from scipy.special import logsumexp
from scipy.stats import kendalltau

import bayesrank as br
import models.pmop_collaborative.figure as figure
import models.pmop_collaborative.study as study
from models.pmop_collaborative import protocol
from models.pmop_collaborative.cofi_rank import cofi_rank_loss, ordinal_loss, regression_loss
from models.pmop_collaborative.model import build, fit_map, observe, predict
from models.pmop_collaborative.protocol import split, to_rankings
from models.shared.rating_factors import als, item_mean
from tests.models.rated import QUICK, TWO, taste


@functools.cache
def six():
    """Six users of five movies each, of eight, and the model with all its parts."""
    ratings = taste(6, 8)
    (part, _) = split(ratings, [5], at_least=8, seed=1)
    rankings = to_rankings(part, pd.Index(range(8)))
    return rankings, build(rankings, n_factors=2, beta=0.3, ranker_scale=0.5)


@functools.cache
def six_objective():
    """Value and gradient of that model, compiled."""
    return six()[1].logp_dlogp_function(ravel_inputs=True, mode=QUICK)


# Equal utilities of the items of TWO
EQUAL = {"ranker_factor": np.zeros((2, 1)), "item_factor": np.zeros((3, 1))}


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


@pytest.mark.parametrize("likelihood", ["pmop", "plackett_luce"])
def test_factors_tell_what_item_means_cannot(likelihood):
    train, test = split(taste(), [20], at_least=30, seed=1)
    items = pd.Index(range(30))
    rankings, held_out = to_rankings(train, items), to_rankings(test, items)
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
    assert agreement(item_mean(rankings)) < 0.3


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


def test_alternating_least_squares_ends_where_the_objective_without_order_is_flat():
    rankings, model = six()
    found = als(rankings, n_factors=2, ranker_scale=0.5, n_sweeps=3000)
    pm.set_data({"beta": 0.0, "y_weight": 0 * rankings.weight}, model=model)
    start = DictToArrayBijection.map({rv.name: found[rv.name] for rv in model.free_RVs})
    slope = six_objective()(start.data)[1]
    pm.set_data({"beta": 0.3, "y_weight": 0.3 * rankings.weight}, model=model)
    np.testing.assert_allclose(slope, 0, atol=1e-6)
    assert np.abs(found["ranker_factor"]).max() > 0.1


def by_enumeration(utility, stars):
    """Find the largest over all orders, the right order being the one nearest to the utilities."""
    discount = 1 / np.log2(np.arange(len(stars)) + 2)
    c = 1 / np.arange(1, len(stars) + 1) ** 0.25
    gain = 2**stars - 1
    ideal = max(gain[list(p)] @ discount for p in permutations(range(len(stars))))
    orders = [list(p) for p in permutations(range(len(stars)))]
    right = max(c @ utility[p] for p in orders if (np.diff(stars[p]) <= 0).all())
    return max(1 - gain[p] @ discount / ideal + c @ utility[p] for p in orders) - right


@pytest.mark.parametrize("stars", [[5, 4, 3, 2, 1], [1, 3, 3, 5, 1], [2, 2, 2, 2, 2], [4]], ids=str)
def test_cofi_ranks_loss_is_the_largest_of_all_orders_and_has_its_slope(stars, rng):
    stars = np.array(stars, dtype=float)
    for scale in (0.0, 0.3, 3.0):
        utility = scale * rng.normal(size=len(stars))
        loss, slope = cofi_rank_loss(utility, stars)
        assert loss == pytest.approx(by_enumeration(utility, stars), abs=1e-12)
        # what it stands for
        assert loss >= 1 - br.ndcg(stars, utility) - 1e-12
        numeric = approx_fprime(utility, lambda x: cofi_rank_loss(x, stars)[0], 1e-7)
        assert scale == 0 or np.allclose(slope, numeric, atol=1e-5)  # no slope where all are equal


def test_cofi_ranks_other_losses_by_hand_and_their_slopes(rng):
    stars = np.array([5.0, 3, 3, 1])
    assert regression_loss(np.array([2.0, 0, 0, 0]), stars) == (2.0, pytest.approx([0, 0, 0, 2]))
    # of five pairs, the first movie leads two by 1.5 and these lead the last by 0.5 only
    assert ordinal_loss(np.array([2.0, 0.5, 0.5, 0]), stars)[0] == pytest.approx(2 * 0.5 / 5)
    assert ordinal_loss(np.ones(2), np.ones(2)) == (0.0, pytest.approx([0, 0]))
    for loss in (regression_loss, ordinal_loss):
        utility = rng.normal(size=4)
        numeric = approx_fprime(utility, lambda x, loss=loss: loss(x, stars)[0], 1e-7)
        np.testing.assert_allclose(loss(utility, stars)[1], numeric, atol=1e-5)


def test_equal_utilities_have_the_log_likelihood_of_counting():
    # 7 and then 3 subsets; 3 subsets. Given sizes: one of three; one of two.
    for outcome, expected in (("pmop", [1 / 21, 1 / 3]), ("plackett_luce", [1 / 3, 1 / 2])):
        ours = figure.log_likelihood(EQUAL, TWO, outcome)
        np.testing.assert_allclose(np.exp(ours), expected, rtol=1e-10)


def test_a_split_gives_each_user_as_many_and_none_twice():
    parts = protocol.split(taste(4, 9), [3, 2], at_least=9, seed=1)
    assert [part.groupby("user").size().unique().tolist() for part in parts] == [[3], [2], [4]]
    assert not pd.concat(parts)[["user", "movie"]].duplicated().any()
    assert all(part.empty for part in protocol.split(taste(4, 9), [3], at_least=10, seed=1))


def test_metrics_are_those_of_the_stars():
    marks = study.evaluate(EQUAL | {"item_bias": np.array([2.0, 1.0, 3.0])}, TWO)
    assert marks.index.tolist() == ["Ann", "Bo"]
    # Ann is shown c, a, b as she likes them; Bo c (1 star) before b (4 stars), gains 1 and 15
    assert marks["ndcg@1"].tolist() == pytest.approx([1.0, 1 / 15])
    ideal = 15 + 1 / np.log2(3)
    assert marks["ndcg@5"].tolist() == pytest.approx([1.0, (1 + 15 / np.log2(3)) / ideal])


# two users gave the same stars to all that they are trained on
@pytest.mark.filterwarnings("ignore:.*hold one item or one block:UserWarning")
@pytest.mark.slow
def test_the_study_in_its_reduced_size(data_dir):
    folder = str(data_dir / "ml-100k")
    wanted = ("--table", "ten", "--table", "fifty", "--table", "size")
    tables = study.main([folder, "--quick", *wanted])
    assert (tables["size"].rows["peak MB"] > 0).all()
    rows = tables["ten"].rows
    assert list(rows.index) == list(study.QUICK)
    # one split and one scale of each kind; with 50 ratings there are many modes
    expected = [0.6767, 0.6693, 0.6621, 0.6850, 0.6815]
    np.testing.assert_allclose(rows["NDCG@5"].astype(float), expected, atol=0.005)
    expected = [0.6858, 0.6803, 0.6777, 0.7035, 0.6849]
    np.testing.assert_allclose(tables["fifty"].rows["NDCG@5"].astype(float), expected, atol=0.01)
