"""Mixtures of observed rankings: probabilities by enumeration, draws, new data, bad input."""

import functools

import numpy as np
import pandas as pd
import pymc as pm
import pytest
from scipy.special import logsumexp

import bayesrank as br
from bayesrank.likelihoods.plackett_luce.per_item import RankingLogp
from bayesrank.likelihoods.plackett_luce.per_slot import WeakOrderLogp
from tests.builders import evaluator
from tests.cases import RANKINGS
from tests.likelihoods.mallows.permutations import log_probability
from tests.oracles import (
    each_ranking,
    frequency_p_value,
    gradient,
    partition_logp,
    places_in,
    weak_order_logp,
    weak_orders,
)

BACKENDS = ("FAST_COMPILE", pytest.param("JAX", marks=pytest.mark.slow))
UNITS = ("ranking", "ranker")

# Two of ann, three of bob, one of cy; some items left out, ties
BY_RANKER = br.Rankings.from_orderings(
    [
        ["a", "b", "c", "d"],
        ["b", "a", {"c", "d"}],
        [{"a", "b"}, "c", "e"],
        [{"c", "d", "e"}, {"a", "b"}],
        ["e", {"b", "c"}, "a"],
        ["b", "a", {"c", "d"}],
    ],
    items=list("abcdef"),
    rankers=["ann", "bob", "bob", "ann", "cy", "bob"],
    rest=(),
)
ITEMS = BY_RANKER.n_items
UTILITY = np.random.default_rng(3).normal(size=(2, ITEMS))
WEIGHTS = np.array([0.3, 0.7])


def row_logps(logp, utility=UTILITY, rankings=BY_RANKER):
    """Log-probability of every ranking under every component, (n_rankings, n_components)."""
    return np.stack([each_ranking(logp, u, rankings) for u in utility], axis=1)


def exact_logp(unit, weights=WEIGHTS, utility=UTILITY, rankings=BY_RANKER, logp=weak_order_logp):
    """Log-probability of every unit, from the definition."""
    logps = row_logps(logp, utility, rankings)
    if unit == "ranker":
        logps = pd.DataFrame(logps).groupby(rankings.ranker_idx).sum().to_numpy()
    return logsumexp(np.log(weights) + logps, axis=1)


def model_of(unit="ranking", rankings=BY_RANKER, family=br.PlackettLuce.dist, prior=pm.Flat):
    """Utilities, flat unless they are to be drawn, and weights that are data."""
    with pm.Model(coords={**rankings.coords, "component": ["one", "other"]}) as model:
        weights = pm.Data("weights", WEIGHTS, dims="component")
        utility = prior("utility", dims=("component", "item"))
        br.Mixture("y", weights, family(utility), observed=rankings, unit=unit)
    return model


@functools.cache
def compiled(unit, mode):
    return evaluator(model_of(unit), mode)


def at(utility):
    return {"utility": np.array(utility, dtype=np.float64)}


# Values


@pytest.mark.parametrize("mode", BACKENDS)
@pytest.mark.parametrize("unit", UNITS)
def test_every_unit_has_the_log_of_the_weighted_sum_of_its_probabilities(unit, mode):
    def total(u):
        return float(exact_logp(unit, utility=u.reshape(2, ITEMS)).sum())

    rows, _, slope = compiled(unit, mode)(at(UTILITY))
    np.testing.assert_allclose(rows, exact_logp(unit), atol=1e-9)
    np.testing.assert_allclose(slope, gradient(total, UTILITY.ravel()), atol=1e-8)


def test_stages_that_rankings_share_are_evaluated_once_for_each_component():
    found = {type(x.op) for x in compiled("ranking", "FAST_COMPILE").f.maker.fgraph.toposort()}
    assert WeakOrderLogp not in found
    assert RankingLogp in found


def test_one_component_is_no_mixture():
    with pm.Model(coords=RANKINGS.coords) as model:
        utility = pm.Flat("utility", dims="item")
        br.PlackettLuce("y", utility, observed=RANKINGS)
        br.Mixture("z", [1.0], br.PlackettLuce.dist(utility), observed=RANKINGS)
    alone, mixture = model.compile_logp(sum=False)(at(UTILITY[0]))[-2:]
    np.testing.assert_allclose(mixture, alone, atol=1e-12)


def test_evidence_weights_are_of_rankings_whatever_their_component():
    logp = model_of(rankings=RANKINGS).compile_logp(sum=False)(at(UTILITY))[-1]
    np.testing.assert_allclose(
        logp, RANKINGS.weight * exact_logp("ranking", rankings=RANKINGS), atol=1e-9
    )


def test_components_may_be_of_pmop_and_of_several_variables():
    prevalence = np.array([[0.5, 0.2], [1.0, 2.0]])

    def partition(given):
        def family(utility):
            options = {"given_sizes": True} if given else {"tie_prevalence": prevalence}
            return br.PMOP.dist(utility, aggregate="geometric", **options)

        return family

    def logp(g):
        def of(u, ranks):
            weight = np.concatenate([[1.0], prevalence[g]])
            return partition_logp(u, ranks, "geometric", log_weight=np.log(weight))

        return of

    logps = np.stack([row_logps(logp(g))[:, g] for g in range(2)], axis=1)
    exact = logsumexp(np.log(WEIGHTS) + logps, axis=1)
    found = model_of(family=partition(False)).compile_logp(sum=False)(at(UTILITY))[-1]
    np.testing.assert_allclose(found, exact, atol=1e-8)

    def both(utility):  # outcomes are the same if sizes are given
        return [br.PlackettLuce.dist(utility[0]), partition(True)(utility[1])]

    given = [
        row_logps(weak_order_logp)[:, 0],
        row_logps(lambda u, r: partition_logp(u, r, "geometric", given_sizes=True))[:, 1],
    ]
    exact = logsumexp(np.log(WEIGHTS) + np.stack(given, axis=1), axis=1)
    found = model_of(family=both).compile_logp(sum=False)(at(UTILITY))[-1]
    np.testing.assert_allclose(found, exact, atol=1e-8)


CONSENSUS = np.array([[1, 2, 3, 4, 5, 6], [3, 6, 1, 2, 5, 4]])
ALPHA = np.array([2.0, 9.0])


def mallows(distance="footrule", rankings=BY_RANKER, unit="ranking"):
    """Components around orders that are parameters, with concentrations of their own."""
    with pm.Model(coords={**rankings.coords, "component": ["one", "other"]}) as model:
        consensus = br.PlackettLuce("consensus", np.zeros((2, ITEMS)), dims=("component", "item"))
        component = br.Mallows.dist(consensus, ALPHA, distance=distance)
        br.Mixture("y", WEIGHTS, component, observed=rankings, unit=unit)
    return model


def exact_mallows(distance, rankings=BY_RANKER):
    ranks = np.zeros((rankings.n_rankings, ITEMS), int)
    row, slot = np.nonzero(rankings.mask)
    ranks[row, rankings.item[row, slot]] = rankings.ranks[row, slot]
    components = list(zip(CONSENSUS.tolist(), ALPHA, strict=True))
    return np.array([[log_probability(y, *of, distance) for of in components] for y in ranks])


def test_components_may_be_of_mallows_with_an_order_for_each_component():
    for distance in ("footrule", "kendall"):
        found = mallows(distance).compile_logp(sum=False)({"consensus": CONSENSUS})[-1]
        exact = logsumexp(np.log(WEIGHTS) + exact_mallows(distance), axis=1)
        np.testing.assert_allclose(found, exact, atol=1e-11)
    y = mallows("kendall", unit="ranker")["y"]
    drawn = pm.draw(y, random_seed=1)
    bobs_ranks = BY_RANKER.ranks[[1, 2, 5]]
    np.testing.assert_array_equal(np.sort(drawn[1], axis=1), np.sort(bobs_ranks, axis=1))


# Weights


def test_a_component_without_weight_counts_nothing_and_its_gradient_is_a_number():
    with pm.Model(coords=BY_RANKER.coords) as model:
        utility = pm.Flat("utility", shape=(2, ITEMS))
        br.Mixture("y", [0.0, 1.0], br.PlackettLuce.dist(utility), observed=BY_RANKER)
    found = model.compile_logp(sum=False)(at(UTILITY))[-1]
    np.testing.assert_allclose(found, row_logps(weak_order_logp)[:, 1], atol=1e-9)
    slope = model.compile_dlogp()(at(UTILITY)).reshape(2, ITEMS)
    assert (slope[0] == 0).all()
    assert np.isfinite(slope[1]).all()


# Other values, and draws

TWICE = br.Rankings.from_orderings([["a", "b", "c"], ["c", "a", "b"]], rankers=["ann", "ann"])
OF_THREE = np.array([[1.0, 0.2, -0.5], [-0.7, 0.9, 0.0]])


def test_probabilities_of_all_that_a_ranker_can_say_sum_to_one_and_draws_follow_them():
    with pm.Model(coords=TWICE.coords):
        y = br.Mixture("y", WEIGHTS, br.PMOP.dist(OF_THREE), observed=TWICE, unit="ranker")
    value = y.type("value")
    logp = pm.compile([value], pm.logp(y, value))
    orders = weak_orders(3)
    values = np.array([[[one, other]] for one in orders for other in orders])
    found = np.array([logp(x)[0] for x in values])
    # of every value, both rankings and both components
    logps = np.array(
        [
            [
                [partition_logp(u[TWICE.item[t]], v[0, t], "mean") for u in OF_THREE]
                for t in range(2)
            ]
            for v in values
        ]
    )
    np.testing.assert_allclose(
        found, logsumexp(np.log(WEIGHTS) + logps.sum(axis=1), axis=1), atol=1e-9
    )
    assert np.exp(found).sum() == pytest.approx(1, abs=1e-10)

    many = br.Rankings.from_orderings(
        [["a", "b", "c"], ["c", "a", "b"]] * 4000, rankers=np.repeat(range(4000), 2)
    )
    with pm.Model(coords=many.coords):
        y = br.Mixture("y", WEIGHTS, br.PMOP.dist(OF_THREE), observed=many, unit="ranker")
    outcomes = places_in(values, pm.draw(y, 5, random_seed=1).reshape(20_000, -1))
    assert frequency_p_value(outcomes, np.exp(found)) > 1e-6
    # two rankings, each of a component of its own, would be drawn with other probabilities
    apart = logsumexp(np.log(WEIGHTS) + logps, axis=2).sum(axis=1)
    assert frequency_p_value(outcomes, np.exp(apart)) < 1e-6


@pytest.mark.parametrize("unit", UNITS)
def test_values_that_are_not_the_observed_ones_have_the_same_log_probability(unit):
    model = model_of(unit)
    y = model["y"]
    value = y.type("value")
    (found,) = model.replace_rvs_by_values([pm.logp(y, value)])
    utility = model.rvs_to_values[model["utility"]]
    f = pm.compile([utility, value], found)
    values = model.rvs_to_values[y].eval()
    np.testing.assert_allclose(f(UTILITY, values), exact_logp(unit), atol=1e-9)
    wrong = values.copy()
    wrong[wrong == 2] = 7
    assert (f(UTILITY, wrong) == -np.inf).all()


def test_arrays_have_no_unit():
    component = br.PlackettLuce.dist(OF_THREE)
    with pytest.raises(TypeError, match=r"unit='ranker' and observed=list"), pm.Model():
        br.Mixture("y", WEIGHTS, component, observed=[[2, 1, 3]], unit="ranker")


# New data, and what is computed from them


@pytest.mark.parametrize("unit", UNITS)
def test_new_rankings_take_the_place_of_the_observed_ones(unit):
    model = model_of(unit)
    logp = model.compile_logp(sum=False)
    others = br.Rankings.from_orderings(
        [["c", "a"], [{"a", "d"}, "f"], ["e", "c", "b"]],
        items=list("fedcba"),
        rankers=["ann", "dan", "ann"],
        rest=(),
    )
    br.set_observed("y", others, model=model)
    same = others.reindex({"item": BY_RANKER.items})
    np.testing.assert_allclose(logp(at(UTILITY))[-1], exact_logp(unit, rankings=same), atol=1e-9)
    with pytest.raises(ValueError, match=r"^'y_data' holds observed data"):
        model.set_data("y_data", model["y_data"].get_value() + 1)


def test_weights_of_rankings_that_follow_no_data_keep_their_rankings():
    with pm.Model(coords=BY_RANKER.coords) as model:
        br.Mixture("y", np.full((6, 2), 0.5), br.PlackettLuce.dist(UTILITY), observed=BY_RANKER)
    with pytest.raises(ValueError, match="one row for each original ranking"):
        br.set_observed("y", BY_RANKER.subset([0]), model=model)


# Bad input


def test_invalid_mixtures_raise():
    with pm.Model(coords={**BY_RANKER.coords, "component": range(2), "other": list("fedcbx")}):
        utility = pm.Flat("utility", dims=("component", "item"))
        component = br.PlackettLuce.dist(utility)

        def mixture(weights=WEIGHTS, components=component, **options):
            return br.Mixture("y", weights, components, **({"observed": BY_RANKER} | options))

        for message, error, arguments in [
            ("`unit` is 'judge'; it is one of", ValueError, {"unit": "judge"}),
            (
                r"`weights` of 'y' have shape \(3,\); .* they are one per component, shape \(2,\)",
                ValueError,
                {"weights": np.ones(3) / 3},
            ),
            ("got an empty list of components", ValueError, {"components": []}),
            ("is a result of Elemwise. Create components", TypeError, {"components": utility * 2}),
            (
                "different outcomes",
                ValueError,
                {"components": [br.PlackettLuce.dist(utility[0]), br.PMOP.dist(utility[1])]},
            ),
            (
                r"The utility of a component of 'y' has shape \(2, 5\);.* shape \(2, 6\)",
                ValueError,
                {"components": br.PlackettLuce.dist(utility[:, 1:])},
            ),
            (
                "with where=",
                TypeError,
                {"components": br.PlackettLuce.dist(utility, where=[[True] * 6])},
            ),
            (
                "with sizes=",
                TypeError,
                {"components": br.PlackettLuce.dist(utility, sizes=[1, 5])},
            ),
            ("give them as count=", ValueError, {"observed": RANKINGS, "unit": "ranker"}),
        ]:
            with pytest.raises(error, match=message):
                mixture(**arguments)
