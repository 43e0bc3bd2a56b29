"""A `Rankings` as observed data: the same numbers by items and by slots."""

import numpy as np
import pymc as pm
import pytensor
import pytest
import xarray as xr
from pymc.model.transform.optimization import freeze_dims_and_data
from pymc.model_graph import ModelGraph, NodeType
from pymc.pytensorf import rewrite_pregrad
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.traversal import ancestors
from pytensor.tensor import TensorType

import bayesrank as br
from bayesrank.distributions.core.observed import hold_data
from bayesrank.inference.approximation.modes import data_groups, kept_of
from bayesrank.likelihoods.plackett_luce.per_item import RankingLogp, StageTotal
from bayesrank.likelihoods.plackett_luce.per_slot import WeakOrderLogp
from tests.builders import evaluator, stored
from tests.cases import RANKINGS
from tests.oracles import each_ranking, gradient
from tests.oracles import weak_order_logp as sum_over_orderings
from tests.verbs import FAMILIES

UTILITY = np.array([0.4, -1.2, 2.0, 0.1, -0.7, 5.0])


def exact_logp(utility, rankings=RANKINGS):
    """Log-probability of every ranking times its weight."""
    return rankings.weight * each_ranking(sum_over_orderings, utility, rankings)


def exact_total(utility):
    return float(exact_logp(utility).sum())


def model_of(form, rankings=RANKINGS, **kwargs):
    """Flat utilities, so that the model's log density is the likelihood."""
    with pm.Model(coords=rankings.coords) as model:
        utility = pm.Flat("utility", dims="item")
        given = utility if form == "item" else utility[rankings.item]
        br.PlackettLuce("y", given, observed=rankings, **kwargs)
    return model


def at(utility):
    return {"utility": np.array(utility, dtype=np.float64)}


def ops(function):
    return {type(node.op) for node in function.f.maker.fgraph.toposort()}


# Values and derivatives


@pytest.mark.parametrize("mode", ["FAST_COMPILE", pytest.param("JAX", marks=pytest.mark.slow)])
@pytest.mark.parametrize("form", ["item", "slot"])
def test_items_and_slots_have_the_same_log_probabilities_and_gradient(form, mode):
    rows, total, slope = evaluator(model_of(form), mode)(at(UTILITY))
    np.testing.assert_allclose(rows, exact_logp(UTILITY), atol=1e-9)
    assert float(total) == pytest.approx(exact_total(UTILITY), abs=1e-9)
    np.testing.assert_allclose(slope, gradient(exact_total, UTILITY), atol=1e-8)
    assert slope[5] == 0.0  # nobody ranks f


# Stages once


def test_the_sum_evaluates_stages_and_not_rankings():
    model = model_of("item")
    logp, slope = model.compile_logp(sum=False), model.compile_dlogp()
    assert StageTotal in ops(slope)
    assert {RankingLogp, WeakOrderLogp}.isdisjoint(ops(slope))
    assert RankingLogp in ops(logp)  # one by one, where they are asked for


def test_freezing_dims_and_data_keeps_the_stages():
    slope = freeze_dims_and_data(model_of("item")).compile_dlogp()
    assert StageTotal in ops(slope)
    np.testing.assert_allclose(slope(at(UTILITY)), gradient(exact_total, UTILITY), atol=1e-8)


def test_a_total_size_scales_the_sum_and_keeps_the_stages():
    model = model_of("item", total_size=18)  # three times the six that are there
    slope = model.compile_dlogp()
    assert StageTotal in ops(slope)
    np.testing.assert_allclose(slope(at(UTILITY)), 3 * gradient(exact_total, UTILITY), atol=1e-7)
    logp = model.compile_logp()
    assert float(logp(at(UTILITY))) == pytest.approx(3 * exact_total(UTILITY), abs=1e-7)


def test_a_model_in_a_model_prefixes_the_names():
    with pm.Model(name="season") as model:
        utility = pm.Flat("utility", shape=6)
        br.PlackettLuce("y", utility, observed=RANKINGS)
    assert set(model.named_vars) == {"season::utility", "season::y", "season::y_data"}
    slope = model.compile_dlogp()
    assert StageTotal in ops(slope)
    np.testing.assert_allclose(
        slope({"season::utility": UTILITY}), gradient(exact_total, UTILITY), atol=1e-8
    )


# Data that change


def test_new_rankings_are_used_by_what_is_compiled():
    other = br.Rankings.from_orderings(
        [["f", "a"], [{"b", "f"}, "c"], ["d", "e", {"a", "b", "f"}]], items=list("abcdef"), rest=()
    )
    for form in ("item", "slot"):
        with pm.Model(coords=RANKINGS.coords) as model:
            utility = pm.Flat("utility", dims="item")
            item = pm.Data("item_of_slot", RANKINGS.item)
            given = utility if form == "item" else utility[item]
            br.PlackettLuce("y", given, observed=RANKINGS)
        logp, slope = model.compile_logp(sum=False), model.compile_dlogp()
        with model:
            br.set_observed("y", other)
            pm.set_data({"item_of_slot": other.item})
        assert list(model.coords["ranking"]) == [0, 1, 2]
        np.testing.assert_allclose(logp(at(UTILITY))[-1], exact_logp(UTILITY, other), atol=1e-9)
        exact = gradient(lambda u: float(exact_logp(u, other).sum()), UTILITY)
        np.testing.assert_allclose(slope(at(UTILITY)), exact, atol=1e-8)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_model_shows_one_node_of_data_for_each_likelihood(name):
    family = FAMILIES[name]()
    model = family.observed(family.data)
    shown = [line.split(" = ")[0].strip() for line in model.str_repr().splitlines() if "=" in line]
    nodes = [x.var.name for x in ModelGraph(model).nodes() if x.node_type == NodeType.DATA]
    assert shown == nodes == ["y_data"]
    other = model["y_data"].get_value() + 1
    with pytest.raises(ValueError, match=r"^'y_data' holds observed data, and pm\.set_data"):
        pm.set_data({"y_data": other}, model=model)


def test_weights_of_slots_set_by_hand_are_used():
    with pm.Model(coords=RANKINGS.coords) as model:
        pm.Data("y_weight", RANKINGS.weight, dims="ranking")
        utility = pm.Flat("utility", dims="item")
        br.PlackettLuce("y", utility[RANKINGS.item], observed=RANKINGS)
        pm.set_data({"y_weight": np.ones(6)})
    logp = model.compile_logp(sum=False)
    np.testing.assert_allclose(
        logp(at(UTILITY))[-1], exact_logp(UTILITY) / RANKINGS.weight, atol=1e-9
    )


def test_new_rankings_need_a_model_that_observes_some():
    with pytest.raises(ValueError, match=r"no Rankings, .* observed as 'z'; it observes \['y'\]"):
        br.set_observed("z", RANKINGS, model=model_of("item"))


def test_data_of_other_types_are_refused_by_name():
    pairs = br.Pairs.from_matrix([[0, 3], [1, 0]], items=["a", "b"])
    have = br.Interactions.from_rankings(br.Rankings.from_orderings([["a", {"b", "c"}]]))
    model = model_of("item")
    for data, kind in ((pairs, "Pairs"), (have, "Interactions"), (RANKINGS.ranks, "ndarray")):
        message = f"^'y' observes Rankings, not {kind}\\. Read .* br\\.Rankings\\.from_frame\\.$"
        with pytest.raises(TypeError, match=message):
            br.set_observed("y", data, model=model)


def test_arrays_that_are_observed_have_another_way_out():
    with pm.Model() as model:
        br.PlackettLuce("y", np.zeros(3), observed=[1, 2, 3])
    with pytest.raises(ValueError, match=r"observes \['y'\]\. To replace an array, make it a pm"):
        br.set_observed("y", RANKINGS, model=model)


def test_a_total_size_does_not_hide_what_is_observed():
    model = model_of("item", total_size=18)
    logp, other = model.compile_logp(), RANKINGS.subset([1, 3, 4])
    br.set_observed("y", other, model=model)
    exact = 18 / 3 * exact_logp(UTILITY, other).sum()
    assert float(logp(at(UTILITY))) == pytest.approx(exact, abs=1e-7)
    assert stored(model, "weight").tolist() == other.weight.tolist()


def test_data_that_stand_in_the_model_are_used_and_follow():
    one, other = RANKINGS.subset([0, 1]), RANKINGS.subset([2, 3, 4])
    with pm.Model(coords=one.coords) as model:
        item = hold_data("y_item", one.item, ("ranking", "slot"))
        weight = pm.Data("y_weight", one.weight, dims="ranking")
        br.PlackettLuce("y", pm.Flat("utility", dims="item")[item], observed=one)
    assert (model["y_item"], model["y_weight"]) == (item, weight)
    with pytest.raises(ValueError, match=r"^'y_item' holds observed data, and pm\.set_data"):
        pm.set_data({"y_item": one.item[:, ::-1]}, model=model)
    logp = model.compile_logp(sum=False)
    br.set_observed("y", other, model=model)
    np.testing.assert_allclose(logp(at(UTILITY))[-1], exact_logp(UTILITY, other), atol=1e-9)


@pytest.mark.parametrize(
    ("part", "value", "utility"),
    [
        ("weight", np.zeros(6), np.zeros(6)),  # other values
        ("item", RANKINGS.item, np.zeros(6)),  # no weights
        ("weight", RANKINGS.weight, None),  # the stages that rankings share depend on them
    ],
)
def test_data_of_the_same_name_are_refused(part, value, utility):
    with pm.Model(coords=RANKINGS.coords):
        pm.Data(f"y_{part}", value)
        utility = pm.Flat("utility", dims="item") if utility is None else utility
        with pytest.raises(
            ValueError, match=f"a variable 'y_{part}', but the rankings of 'y' need"
        ):
            br.PlackettLuce("y", utility, observed=RANKINGS)


def test_names_of_axes_are_two():
    for dims in ("race", ("race",), ("race", 2)):
        message = (
            r"`dims` of 'y' is .*\. Name two axes, such as dims=\('race', 'place'\)\. There is"
        )
        with pm.Model(), pytest.raises(ValueError, match=message):
            br.PlackettLuce("y", np.zeros(6), observed=RANKINGS, dims=dims)


# Who ranked what

BY_RANKER = br.Rankings.from_orderings(
    [["a", "b"], ["b", "c"], ["c", "a"]], rankers=["ann", "bob", "ann"]
)


def data_of(model, part):
    found = kept_of(model, part[0]).constant[part]
    return dict(
        zip(found[found.dims[0]].to_numpy().tolist(), found.to_numpy().tolist(), strict=True)
    )


def test_results_know_who_ranked_and_what():
    with pm.Model(coords=BY_RANKER.coords) as model:
        utility = pm.Flat("utility", dims="item")
        br.PlackettLuce("y", utility, observed=BY_RANKER)
    assert data_of(model, "y_ranker") == {0: 0, 1: 1, 2: 0}
    assert data_of(model, "y_ranker_rankings") == {"ann": 2, "bob": 1}
    assert data_of(model, "y_item_rankings") == {"a": 2, "b": 2, "c": 2}

    br.set_observed("y", BY_RANKER.subset([1]), model=model)
    assert data_of(model, "y_ranker") == {1: 1}
    assert data_of(model, "y_ranker_rankings") == {"ann": 0, "bob": 1}
    assert data_of(model, "y_item_rankings") == {"a": 0, "b": 1, "c": 1}


def test_rankers_and_items_of_a_second_collection_have_axes_of_their_own():
    other = br.Rankings.from_orderings([["d", "c"]], rankers=["cy"])
    with pm.Model(coords=BY_RANKER.coords) as model:
        br.PlackettLuce("y", pm.Flat("utility", dims="item"), observed=BY_RANKER)
        br.PlackettLuce("z", pm.Flat("v", shape=2), observed=other, dims=("race", "place"))
    assert data_of(model, "z_ranker_rankings") == {"cy": 1}
    assert data_of(model, "z_item_rankings") == {"c": 1, "d": 1}
    assert list(model.coords["ranker"]) == ["ann", "bob"]
    assert list(model.coords["item"]) == ["a", "b", "c"]


# Bad input


def test_a_utility_of_another_length_says_which_two_fit():
    message = (
        r"`utility` of 'y' has shape \(5,\); with these rankings it is one per item, shape "
        r"\(6,\), or one per slot, best first, shape \(6, 5\), or one per ranking and item"
    )
    with pm.Model(), pytest.raises(ValueError, match=message):
        br.PlackettLuce("y", pm.Flat("utility", shape=5), observed=RANKINGS)


@pytest.mark.parametrize("argument", ["where", "sizes", "shape"])
def test_arguments_that_the_rankings_contain_cannot_be_given_again(argument):
    message = f"PlackettLuce got both observed=Rankings and {argument}="
    with pm.Model(), pytest.raises(TypeError, match=message):
        br.PlackettLuce("y", np.zeros(6), observed=RANKINGS, **{argument: (6, 5)})


def test_coords_of_other_rankings_are_refused():
    message = "coord 'ranking' has 2 labels that are not the 6 of the rankings of 'y'"
    with pm.Model(coords={"ranking": ["x", "y"]}), pytest.raises(ValueError, match=message):
        br.PlackettLuce("y", np.zeros(6), observed=RANKINGS)


def test_single_precision_is_refused():
    message = r"floatX is 'float32': bayesrank computes in double precision"
    with pytensor.config.change_flags(floatX="float32"):
        with pytest.raises(ValueError, match=message):
            br.PlackettLuce.dist(np.zeros(3))
        with pm.Model(), pytest.raises(ValueError, match=message):
            br.PlackettLuce("y", np.zeros(6), observed=RANKINGS)


MOVED = br.Rankings.from_orderings([["a", "b", "c"], ["b", "a", "c"]])


def model_with_data(dim):
    with pm.Model(coords={dim: ["b", "a", "c"]}) as model:
        mean = pm.Data("mean", [1.0, 2.0, 3.0], dims=dim)
        br.PlackettLuce("y", 2 * pm.Normal("utility", mean, dims=dim), observed=MOVED)
    return model


@pytest.mark.parametrize("dim", ["item", "driver"])
def test_labels_moved_after_the_model_was_built_are_refused(dim):
    model = model_with_data(dim)
    br.set_observed("y", MOVED[:1], model=model)
    pm.set_data({"mean": [2.0, 1.0, 3.0]}, coords={dim: ["a", "b", "c"]}, model=model)
    said = (
        rf"The labels of the coord '{dim}' changed after 'y' was declared: 'b', 'a', 'c', and now "
        r"'a', 'b', 'c'\. .* Build the model again with the new ones\."
    )
    for use in (
        lambda: br.set_observed("y", MOVED, model=model),
        lambda: br.fit_inla(model=model),
        lambda: br.find_MAP_many({"all": MOVED}, model=model),
    ):
        with pytest.raises(ValueError, match=said):
            use()


@pytest.mark.parametrize("dim", ["item", "driver"])
def test_results_of_moved_labels_are_refused(dim):
    model = model_with_data(dim)
    pm.set_data({"mean": [2.0, 1.0, 3.0]}, coords={dim: ["a", "b", "c"]}, model=model)
    draws = np.zeros((1, 2, 3))
    results = xr.DataTree.from_dict(
        {
            "posterior": xr.Dataset(
                {"utility": (("chain", "draw", dim), draws)}, {dim: list(model.coords[dim])}
            ),
            "posterior_predictive": xr.Dataset(
                {"y": (("chain", "draw", "ranking", "slot"), np.ones((1, 2, 2, 3), int))}
            ),
            **data_groups(model),
        }
    )
    said = (
        rf"labels of '{dim}' in the posterior stand in another order than when 'y' was declared: "
        r"'a' has replaced 'b'\..* build it with the new coords, and sample again\."
    )
    for use in (
        lambda: br.rank_summary(results, "utility", dim=dim),
        lambda: br.ranking_checks(results, "y"),
        lambda: br.baseline_elpd(results, "y"),
    ):
        with pytest.raises(ValueError, match=said):
            use()
    assert len(br.rank_summary(results.posterior["utility"], "utility", dim=dim)) == 3


def test_ranks_of_other_rankings_cannot_be_observed_in_the_slots_of_the_old_ones():
    model = model_of("item")
    with pytest.raises(TypeError, match=r"br\.set_observed instead of pm\.observe"):
        pm.observe(model, {"y": RANKINGS})
    ascending = pm.observe(model, {"y": RANKINGS[::-1].ranks})
    with pytest.raises(ValueError, match=r"Here they would rank .* with br\.set_observed\."):
        ascending.compile_logp()
    # a draw ranks the items of the slots, and is read as before
    drawn = RANKINGS.ranks.copy()
    drawn[0, :2] = drawn[0, 1::-1]  # b before a
    logp = pm.observe(model, {"y": drawn}).compile_logp()({"utility": UTILITY})
    changed = br.Rankings.from_orderings([[*"bacd"]], items=[*"abcdef"], rest=())
    exact = exact_total(UTILITY) + (exact_logp(UTILITY, changed) - exact_logp(UTILITY)[0]).item()
    assert float(logp) == pytest.approx(exact, abs=1e-12)


def test_a_frozen_model_keeps_its_density_when_its_graph_is_rewritten():
    rankings = br.Rankings.from_orderings([[*"abc"], [*"bac"]])
    with pm.Model(coords=rankings.coords) as model:
        rows = ("ranking", "slot")
        x = pm.Data("x", np.arange(6.0).reshape(2, 3), dims=rows)
        br.PlackettLuce("y", x * pm.Normal("slope"), utility_dims=rows, observed=rankings)
    frozen = freeze_dims_and_data(model)
    rewrite_pregrad(frozen.logp())  # folds the observed ranks, in the graph of the model itself
    at = {"slope": 0.3}
    exact = model.compile_logp(mode="FAST_COMPILE")(at)
    assert frozen.compile_logp(mode="FAST_COMPILE")(at) == pytest.approx(exact, abs=1e-12)


# Other packages compile the same functions, and pymc-bart knows no other integers
@pytest.mark.parametrize("name", FAMILIES)
def test_stored_whole_numbers_are_int64_also_when_replaced(name):
    family = FAMILIES[name]()
    model = family.observed(family.data)
    br.set_observed("y", family.other, model=model)
    values = [
        x.get_value(borrow=True)
        for x in ancestors([model["y"]])
        if isinstance(x, SharedVariable) and isinstance(x.type, TensorType)
    ]
    assert values
    assert {str(x.dtype) for x in values} <= {"float64", "int64"}
