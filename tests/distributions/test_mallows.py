"""Mallows models as distributions: values, shapes, observed rankings, what is refused."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from pymc.logprob.utils import ParameterValueError
from pymc.model.transform.optimization import freeze_dims_and_data
from pymc.sampling.jax import get_jaxified_logp

import bayesrank as br
from bayesrank.likelihoods.mallows import DISTANCES
from bayesrank.likelihoods.mallows.op import LogSumOverOrders
from tests.builders import evaluator
from tests.likelihoods.loops import for_each
from tests.likelihoods.mallows.permutations import (
    DEFINITIONS,
    every_ranking,
    log_probability,
    log_sum_over_consensus,
    log_z,
)
from tests.oracles import gradient

ORDERINGS = [list("bacd"), list("abdc"), list("dacb"), list("badc"), list("abcd")]
R = br.Rankings.from_orderings(ORDERINGS, rankers=list("xyxzy"), weight=[1, 2, 1, 1, 3])
RANKS = np.array([[o.index(item) + 1 for item in "abcd"] for o in ORDERINGS])  # by item
CONSENSUS = np.array([2, 1, 4, 3])
RANGE = np.arange(30) + 1


def exact(alpha, distance, consensus=CONSENSUS):
    alpha = np.broadcast_to(alpha, len(RANKS))
    return np.array(
        [
            -a / 4 * DEFINITIONS[distance](ranks, consensus.tolist()) - log_z(a, 4, distance)
            for ranks, a in zip(RANKS.tolist(), alpha, strict=True)
        ]
    )


def model_of(consensus, distance="footrule", dims=None, rankings=R):
    """Flat alpha, so that the density of the model is the likelihood."""
    with pm.Model(coords=rankings.coords) as model:
        alpha = pm.Flat("alpha", dims=dims)
        br.Mallows("y", consensus, alpha, distance=distance, observed=rankings)
    return model


# Values


@for_each("distance", DISTANCES)
def test_the_support_sums_to_one(distance):
    for n in (1, 4):
        ranks = every_ranking(n)
        dist = br.Mallows.dist(ranks[-1], [[0.0], [2.5]], distance=distance)
        total = pm.logp(dist, ranks).exp().sum(axis=1).eval()
        np.testing.assert_allclose(total, 1.0, atol=1e-12)


def test_the_support_sums_to_one_with_the_consensus_marginalised():
    ranks, two = every_ranking(3), br.Rankings.from_orderings([list("abc")] * 2)
    both = np.stack(np.broadcast_arrays(ranks[:, None], ranks[None]), axis=2).reshape(-1, 2, 3)
    for distance in ("footrule", "kendall"):
        with pm.Model(coords=two.coords):
            y = br.Mallows("y", alpha=[1.0, 4.0], distance=distance, observed=two)
        value = y.type("value")
        f = pm.compile([value], pm.logp(y, value))
        logp = [float(f(x)) for x in both]
        assert np.exp(logp).sum() == pytest.approx(1.0, abs=1e-12)
        assert np.ptp(logp) > 0.5
        assert f([[1, 1, 3], [1, 2, 3]]) == -np.inf


@for_each("distance", DISTANCES)
def test_the_consensus_is_marginalised_from_observed_rankings(distance):
    for dims, alpha in ((None, 2.0), ("ranker", np.array([0.5, 2.0, 4.0]))):

        def of(alpha, dims=dims, distance=distance):
            row_alpha = alpha if dims is None else alpha[R.ranker_idx]
            return log_sum_over_consensus(RANKS.tolist(), row_alpha, distance, R.weight)

        at = np.array(alpha)
        _, total, slope = evaluator(model_of(None, distance, dims))({"alpha": at})
        assert float(total) == pytest.approx(of(at), abs=1e-10)
        numeric = gradient(lambda x: of(x if x.size > 1 else x[0]), np.atleast_1d(at))
        np.testing.assert_allclose(slope, numeric, atol=1e-7)


def test_a_consensus_may_be_by_ranker():
    by_ranker = np.array([[1, 2, 3, 4], [2, 1, 3, 4], [4, 3, 2, 1]])
    with pm.Model(coords=R.coords) as model:
        br.Mallows(
            "y", by_ranker, 2.0, consensus_dims=("ranker", "item"), distance="kendall", observed=R
        )
    (found,) = model.compile_logp(vars=model["y"], sum=False)({})
    expected = [
        R.weight[m] * exact(2.0, "kendall", by_ranker[r])[m] for m, r in enumerate(R.ranker_idx)
    ]
    np.testing.assert_allclose(found, expected)


@for_each("consensus", [None, CONSENSUS])
def test_extremes_of_alpha_are_ordinary(consensus):
    f = evaluator(model_of(consensus))
    _, at_zero, _ = f({"alpha": np.array(0.0)})
    assert at_zero == pytest.approx(-R.weight.sum() * np.log(24))
    for alpha in (0.0, 1e-12, 1e5, 1e200):
        _, total, slope = f({"alpha": np.array(alpha)})
        assert np.isfinite(total)
        assert np.isfinite(slope).all()
    for alpha in (-1.0, np.nan, np.inf):
        assert f({"alpha": np.array(alpha)})[1] == -np.inf


@for_each("consensus", [None, [1]])
def test_one_item_has_probability_one(consensus):
    with pytest.warns(UserWarning, match="one item"):
        one = br.Rankings.from_orderings([["a"], ["a"]])
    model = model_of(consensus, rankings=one)
    for alpha in (0.0, 3.0):
        assert float(model.compile_logp()({"alpha": np.array(alpha)})) == pytest.approx(0.0)


@for_each(("consensus", "alpha", "message"), [
    ([1, 2, 3], -0.5, "alpha must be finite and not negative"),
    ([1, 2, 3], np.inf, "alpha must be finite and not negative"),
    ([1, 2, 2], 1.0, "consensus must hold the ranks 1 to n"),
    ([0, 1, 2], 1.0, "consensus must hold the ranks 1 to n"),
])  # fmt: skip
def test_parameters_out_of_their_range_name_their_condition(consensus, alpha, message):
    rho = pt.vector("rho", shape=(3,), dtype="int64")
    logp = pm.logp(br.Mallows.dist(rho, alpha), [1, 2, 3])
    with pytest.raises(ParameterValueError, match=message):
        logp.eval({rho: consensus})


def test_tied_or_incomplete_rankings_are_impossible():
    values = np.array([[1, 1, 3], [0, 1, 2], [2, 3, 4], [-1, 2, 3], [3, 1, 2]])
    for distance in DISTANCES:
        logp = pm.logp(br.Mallows.dist([1, 2, 3], 1.0, distance=distance), values).eval()
        np.testing.assert_array_equal(np.isneginf(logp), [True] * 4 + [False])


# Partial rankings

SOME = br.Rankings.from_orderings(
    [["b", "a", {"c", "d"}], ["d", {"a", "b"}], ["c", "a"], list("cabd")],
    rankers=list("xyxz"), weight=[1, 2, 1, 3], rest=())  # fmt: skip


def by_item(rankings):
    out = np.zeros((rankings.n_rankings, rankings.n_items), int)
    row, slot = np.nonzero(rankings.mask)
    out[row, rankings.item[row, slot]] = rankings.ranks[row, slot]
    return out


@for_each("distance", DISTANCES)
def test_partial_rankings_are_worth_all_that_complete_them(distance):
    for dims, alpha in ((None, 2.0), ("ranker", np.array([0.5, 2.0, 4.0]))):
        model = model_of(CONSENSUS, distance, dims, rankings=SOME)
        (found,) = model.compile_logp(vars=model["y"], sum=False)({"alpha": np.array(alpha)})
        row_alpha = np.broadcast_to(alpha if dims is None else alpha[SOME.ranker_idx], 4)
        expected = [
            log_probability(y, CONSENSUS, a, distance)
            for y, a in zip(by_item(SOME), row_alpha, strict=True)
        ]
        np.testing.assert_allclose(found, SOME.weight * expected, atol=1e-12)


def test_weak_orders_of_given_sizes_sum_to_one():
    where, sizes = [True, True, False, True], [2, 1]
    values = np.array([[1, 1, 0, 2], [1, 2, 0, 1], [2, 1, 0, 1], [1, 2, 0, 2], [1, 1, 2, 1]])
    for distance in ("footrule", "kendall"):
        dist = br.Mallows.dist(CONSENSUS, 3.0, distance=distance, where=where, sizes=sizes)
        logp = pm.logp(dist, values).eval()
        np.testing.assert_array_equal(np.isneginf(logp), [False] * 3 + [True] * 2)
        assert np.exp(logp).sum() == pytest.approx(1.0, abs=1e-12)
        number = 1500
        drawn = pm.draw(dist, number, random_seed=2)
        count = [(drawn == x).all(axis=1).sum() for x in values[:3]]
        expected = number * np.exp(logp[:3])
        assert sum(count) == number
        assert ((count - expected) ** 2 / expected).sum() < 40  # two degrees of freedom


def test_ties_are_summed_with_the_consensus_under_kendalls_distance():
    tied = br.Rankings.from_orderings(
        [["b", "a", {"c", "d"}], [{"d", "a"}, {"b", "c"}], list("cabd")],
        rankers=list("xyx"), weight=[1, 2, 3],
    )  # fmt: skip
    for dims, alpha in ((None, 2.0), ("ranker", np.array([0.5, 4.0]))):
        model = model_of(None, "kendall", dims, rankings=tied)
        f = evaluator(model)

        def of(alpha, dims=dims):
            row_alpha = alpha if dims is None else alpha[tied.ranker_idx]
            return log_sum_over_consensus(by_item(tied), row_alpha, "kendall", tied.weight)

        at = np.array(alpha)
        _, total, slope = f({"alpha": at})
        assert float(total) == pytest.approx(of(at), abs=1e-10)
        numeric = gradient(lambda x: of(x if x.size > 1 else x[0]), np.atleast_1d(at))
        np.testing.assert_allclose(slope, numeric, atol=1e-7)
        br.set_observed("y", tied.subset([1, 2]), model=model)
        row_alpha = alpha if dims is None else alpha[tied.ranker_idx[1:]]
        expected = log_sum_over_consensus(by_item(tied)[1:], row_alpha, "kendall", tied.weight[1:])
        assert float(f({"alpha": at})[1]) == pytest.approx(expected, abs=1e-10)


@for_each(("consensus", "rankings"), [(CONSENSUS, SOME), (None, SOME.subset([0, 3]))])
def test_partial_rankings_are_drawn_as_they_were_observed(consensus, rankings):
    with pm.Model(coords=rankings.coords) as model:
        y = br.Mallows("y", consensus, 1.0, distance="kendall", observed=rankings)
    point = model.initial_point()
    assert np.isfinite(model.compile_logp()(point))
    for drawn in pm.draw(y, 5, random_seed=1):
        for row in range(rankings.n_rankings):
            used, ranks = rankings.mask[row], rankings.ranks[row]
            np.testing.assert_array_equal(np.sort(drawn[row][used]), np.sort(ranks[used]))
            assert (drawn[row][~used] == 0).all()


# Draws and shapes


def test_draws_without_a_consensus_agree_with_one_that_is_drawn_anew():
    three = br.Rankings.from_orderings([list("abc")] * 3)
    with pm.Model(coords=three.coords):
        draws = pm.draw(br.Mallows("y", alpha=1e6, observed=three), 1800, random_seed=3)
    assert (draws == draws[:, :1]).all()
    _, count = np.unique(draws[:, 0], axis=0, return_counts=True)
    assert len(count) == 6
    assert ((count - 300) ** 2 / 300).sum() < 50  # chi-square with five degrees of freedom


@for_each("consensus", [None, CONSENSUS])
def test_predictive_draws_are_in_the_slots_of_the_rankings(consensus):
    with pm.Model(coords=R.coords) as model:
        br.Mallows("y", consensus, 1e6, distance="kendall", observed=R)
        prior = pm.sample_prior_predictive(draws=5, random_seed=1)
    draws = prior["prior_predictive"]["y"].values[0]
    assert draws.shape == (5, 5, 4)
    by_item = np.empty_like(draws)
    np.put_along_axis(by_item, np.broadcast_to(R.item, draws.shape), draws, axis=-1)
    assert (by_item == by_item[:, :1]).all()  # all agree
    if consensus is not None:
        assert (by_item == consensus).all()
    model.initial_point()


# Observed rankings in models


@for_each("consensus", [None, CONSENSUS])
def test_new_rankings_take_the_place_of_observed_ones(consensus):
    model = model_of(consensus, dims="ranker")
    logp, alpha = model.compile_logp(), np.array([0.5, 2.0, 4.0])
    fewer = R.subset([0, 3, 4])
    for new in (fewer, fewer.reindex({"item": fewer.items[[2, 0, 3, 1]]})):
        br.set_observed("y", new, model=model)
        kept = [0, 3, 4]
        row_alpha = alpha[R.ranker_idx][kept]
        expected = (
            log_sum_over_consensus(RANKS[kept].tolist(), row_alpha, "footrule", R.weight[kept])
            if consensus is None
            else (R.weight * exact(alpha[R.ranker_idx], "footrule"))[kept].sum()
        )
        assert float(logp({"alpha": alpha})) == pytest.approx(expected)


@for_each("dims", [None, "ranker"])
def test_a_marginalised_consensus_takes_no_new_ties_unless_it_was_made_with_ties(dims):
    tied = br.Rankings.from_orderings(
        [["a", "d", {"b", "c"}]] * R.n_rankings, items=R.items, rankers=R.rankers[R.ranker_idx]
    )
    for distance in ("kendall", "footrule"):
        with pytest.raises(ValueError, match=r"full rankings without ties.*: ranking"):
            br.set_observed("y", tied, model=model_of(None, distance, dims))


@for_each("consensus", [None, CONSENSUS])
def test_frozen_data_give_the_same(consensus):
    model = model_of(consensus)
    at = {"alpha": np.array(2.0)}
    frozen = freeze_dims_and_data(model).compile_logp()(at)
    assert float(frozen) == pytest.approx(float(model.compile_logp()(at)), rel=1e-13)


def test_of_one_concentration_the_sum_is_not_taken_at_every_evaluation():
    for dims, is_taken in ((None, False), ("ranker", True)):
        model = model_of(None, dims=dims)
        for variant in (model, freeze_dims_and_data(model)):
            function = variant.compile_dlogp()
            ops = {type(node.op) for node in function.f.maker.fgraph.toposort()}
            assert (LogSumOverOrders in ops) == is_taken


@pytest.mark.slow
@for_each("consensus", [None, CONSENSUS])
@for_each("distance", ["footrule", "kendall"])
def test_jax_gives_the_same(consensus, distance):
    model = model_of(consensus, distance)
    (found,) = [get_jaxified_logp(model)([np.array(2.0)])]
    expected = model.compile_logp()({"alpha": np.array(2.0)})
    assert float(found) == pytest.approx(float(expected), rel=1e-10)


# What is refused


@for_each(
    ("orderings", "consensus", "distance", "message"),
    [
        (
            ["abc", ["a", {"b", "c"}]],
            None,
            "footrule",
            "ranking 1 has 3 of the 3 items, on 2 ",
        ),
        (["ab", "bc"], None, "footrule", "ranking 0 has 2 of the 3 items, on 2 different"),
        (["ab"], None, "kendall", "needs rankings of all items: ranking 0 has 2 of the 3 items"),
        (["ab"], RANGE, "kendall", r"the sum has more than 2\^22 terms: ranking 0"),
    ],
)
def test_rankings_without_a_sum_are_refused(orderings, consensus, distance, message):
    items = ["a", "b", "c"] if consensus is None else [*map(str, range(28)), "a", "b"]
    rankings = br.Rankings.from_orderings([list(x) for x in orderings], items=items, rest=())
    with pm.Model(), pytest.raises(ValueError, match=message):
        br.Mallows("y", consensus, 1.0, distance=distance, observed=rankings)


def test_a_consensus_is_marginalised_only_of_observed_rankings():
    with pytest.raises(TypeError, match="Mallows without a consensus needs observed Rankings"):
        br.Mallows.dist(alpha=1.0, shape=(2, 3))
    with pm.Model(), pytest.raises(TypeError, match="got both observed=Rankings and sizes="):
        br.Mallows("y", alpha=1.0, sizes=[1, 3], observed=R)


@for_each(
    ("arguments", "error", "message"),
    [
        ({}, TypeError, "Mallows needs alpha="),
        (
            {"alpha": 1.0, "distance": "euclid"},
            ValueError,
            "`distance` is 'euclid'; it must be one",
        ),
        ({"alpha": 1.0, "distance": "ulam"}, ValueError, "must be one of 'footrule'"),
        ({"alpha": [1.0, 2.0]}, ValueError, r"`alpha` of 'y' has shape \(2,\); with these"),
        ({"alpha": 1.0, "utility": [1]}, TypeError, "unexpected keyword argument 'utility'"),
        ({"alpha": 1.0, "total_size": 9}, ValueError, "is not a sum over rows"),
        ({"alpha": 1.0, "consensus": [0.1] * 4}, TypeError, "`consensus` holds real numbers"),
        ({"alpha": 1.0, "consensus": [1, 2, 2, 3]}, ValueError, "every rank from 1 to 4 once"),
        ({"alpha": 1.0, "consensus": [1, 2, 3]}, ValueError, r"`consensus` of 'y' has shape \(3,"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments, error, message):
    with pm.Model(), pytest.raises(error, match=message):
        br.Mallows("y", observed=R, **arguments)


def test_arrays_are_observed_too():
    ranks, consensus = np.array([[1, 2, 3], [3, 1, 2]]), np.array([3, 1, 2])
    with pm.Model() as model:
        br.Mallows("y", consensus, 2.0, observed=ranks)
    total = -2 / 3 * np.abs(ranks - consensus).sum() - 2 * log_z(2.0, 3, "footrule")
    assert float(model.compile_logp()({})) == pytest.approx(total)
