"""A `Rankings` as observed data: the same numbers by items, by slots and by arrays."""

import functools

import arviz as az
import cloudpickle
import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from pymc.model.fgraph import clone_model
from pymc.model.transform.optimization import freeze_dims_and_data
from pymc.sampling.jax import get_jaxified_logp
from pytensor.gradient import disconnected_grad

import bayesrank as br
from bayesrank.likelihoods.plackett_luce import quadrature
from bayesrank.likelihoods.plackett_luce.graph import plackett_luce_logp
from bayesrank.likelihoods.plackett_luce.per_item import RankingLogp, StageTotal
from bayesrank.likelihoods.plackett_luce.per_slot import WeakOrderLogp
from tests.cases import RANKINGS
from tests.oracles import gradient
from tests.oracles import weak_order_logp as sum_over_orderings
from tests.verbs import FAMILIES

BACKENDS = ("FAST_COMPILE", "JAX")
FORMS = ("item", "slot", "array")

UTILITY = np.array([0.4, -1.2, 2.0, 0.1, -0.7, 5.0])


def exact_logp(utility, rankings=RANKINGS):
    """Log-probability of every ranking times its weight."""
    logp = [
        sum_over_orderings(utility[item[ranks > 0]], ranks[ranks > 0])
        for item, ranks in zip(rankings.item, rankings.ranks, strict=True)
    ]
    return rankings.weight * np.array(logp)


def exact_total(utility):
    return float(exact_logp(utility).sum())


def model_of(form, rankings=RANKINGS, **kwargs):
    """Flat utilities, so that the model's log density is the likelihood."""
    with pm.Model(coords=rankings.coords) as model:
        utility = pm.Flat("utility", dims="item")
        if form == "item":
            br.PlackettLuce("y", utility, observed=rankings, **kwargs)
        elif form == "slot":
            br.PlackettLuce("y", utility[rankings.item], observed=rankings, **kwargs)
        else:
            # a Potential carries the weights, which arrays do not
            y = br.PlackettLuce.dist(utility[rankings.item], where=rankings.mask)
            logp = rankings.weight * pm.logp(y, pt.constant(rankings.ranks))
            pm.Potential("y", logp)
    return model


@functools.cache
def compiled(form, mode):
    model = model_of(form)
    return model.compile_logp(sum=False, mode=mode), model.compile_dlogp(mode=mode)


def at(utility):
    return {"utility": np.array(utility, dtype=np.float64)}


def ops(function):
    return {type(node.op) for node in function.f.maker.fgraph.toposort()}


# Values and derivatives


# JAX compiles half as long again for values alone, and gradients are of them
@pytest.mark.parametrize("mode", ["FAST_COMPILE", pytest.param("JAX", marks=pytest.mark.slow)])
@pytest.mark.parametrize("form", FORMS)
def test_items_slots_and_arrays_have_the_same_log_probabilities(form, mode):
    logp, _ = compiled(form, mode)
    np.testing.assert_allclose(logp(at(UTILITY))[-1], exact_logp(UTILITY), atol=1e-9)


@pytest.mark.parametrize("mode", BACKENDS)
@pytest.mark.parametrize("form", FORMS)
def test_items_slots_and_arrays_have_the_same_gradient(form, mode):
    _, slope = compiled(form, mode)
    np.testing.assert_allclose(slope(at(UTILITY)), gradient(exact_total, UTILITY), atol=1e-8)
    assert slope(at(UTILITY))[5] == 0.0  # nobody ranks f


@pytest.mark.parametrize("form", ["item", "slot"])
def test_utilities_of_plus_and_minus_1000_stay_finite(form):
    logp, slope = compiled(form, "FAST_COMPILE")
    for scale in (200.0, 500.0):
        utility = UTILITY * scale
        np.testing.assert_allclose(logp(at(utility))[-1], exact_logp(utility), rtol=1e-10)
        assert np.isfinite(slope(at(utility))).all()


@pytest.mark.parametrize("form", ["item", "slot"])
def test_second_derivatives_inside_a_model_are_differences_of_the_first(form):
    model, along = model_of(form), pt.dvector("along")
    (value,) = model.value_vars
    # products with directions, as `compile_d2logp` would give row by row in a scan of a minute
    product = pytensor.grad(pt.sum(model.dlogp() * along), value)
    f = model.compile_fn([product], inputs=[value, along], point_fn=False)
    hessian = [f(UTILITY, direction)[0] for direction in np.eye(UTILITY.size)]
    slope = compiled("item", "FAST_COMPILE")[1]
    np.testing.assert_allclose(
        hessian, gradient(lambda u: slope(at(u)), UTILITY, step=1e-4), atol=1e-6
    )


@pytest.fixture(scope="module")
def jax():
    return pytest.importorskip("jax")


@pytest.mark.slow
@pytest.mark.parametrize("form", ["item", pytest.param("slot", marks=pytest.mark.slow)])
def test_first_and_second_derivatives_of_what_numpyro_samples(form, jax):
    logp = get_jaxified_logp(model_of(form))
    slope = jax.jit(jax.grad(lambda u: logp([u])))
    np.testing.assert_allclose(float(logp([UTILITY])), exact_total(UTILITY), atol=1e-8)
    np.testing.assert_allclose(slope(UTILITY), gradient(exact_total, UTILITY), atol=1e-8)
    v = np.linspace(-1.0, 2.0, UTILITY.size)  # by a product, of which the whole Hessian has as many
    _, product = jax.jit(lambda u: jax.jvp(slope, (u,), (v,)))(UTILITY)
    numeric = gradient(lambda h: np.asarray(slope(UTILITY + h[0] * v)), np.zeros(1), step=1e-4)
    np.testing.assert_allclose(product, numeric[..., 0], atol=1e-6)


@pytest.mark.slow
def test_numpyro_keeps_the_nodes_of_the_quadrature_fixed_and_disconnected_grad_would_not(
    jax, monkeypatch
):
    # With so few nodes it shows whether they move with the utilities when these are differentiated.
    # A bare graph, differentiated before any rewrite, holds them fixed with either way to say so.
    utility = pt.dvector("utility")
    logp = plackett_luce_logp(utility[RANKINGS.item], RANKINGS.ranks, nodes=8)
    held = pt.grad((RANKINGS.weight * logp).sum(), utility).eval({utility: UTILITY})

    def slope():
        logp = get_jaxified_logp(model_of("item", nodes=8))
        return np.asarray(jax.jit(jax.grad(lambda u: logp([u])))(UTILITY))

    np.testing.assert_allclose(slope(), held, atol=1e-12)
    monkeypatch.setattr(quadrature, "stop_gradient", disconnected_grad)
    assert abs(slope() - held).max() > 0.01


# Stages once


def test_the_sum_evaluates_stages_and_not_rankings():
    logp, slope = compiled("item", "FAST_COMPILE")
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


def test_two_collections_in_one_model_have_dims_of_their_own():
    other = br.Rankings.from_orderings([["c", "a"], ["f", "b"]], items=list("abcdef"))
    with pm.Model(coords=RANKINGS.coords) as model:
        utility = pm.Flat("utility", dims="item")
        br.PlackettLuce("y", utility, observed=RANKINGS)
        br.PlackettLuce("z", utility, observed=other, dims=("match", "place"))
    assert model.named_vars_to_dims["z"] == ("match", "place")
    assert list(model.coords["match"]) == list(other.coords["ranking"])
    logp = model.compile_logp(sum=False)(at(UTILITY))
    np.testing.assert_allclose(logp[-2], exact_logp(UTILITY), atol=1e-9)
    np.testing.assert_allclose(logp[-1], exact_logp(UTILITY, other), atol=1e-12)


def test_a_model_in_a_model_prefixes_the_names():
    with pm.Model(name="season") as model:
        utility = pm.Flat("utility", shape=6)
        br.PlackettLuce("y", utility, observed=RANKINGS)
    assert {"season::y", "season::y_ranks", "season::y_item"} <= set(model.named_vars)
    slope = model.compile_dlogp()
    assert StageTotal in ops(slope)
    np.testing.assert_allclose(
        slope({"season::utility": UTILITY}), gradient(exact_total, UTILITY), atol=1e-8
    )


def test_where_nothing_is_singled_out_the_gradient_is_that_of_blocks():
    clicks = br.Rankings.from_orderings([[{"a", "b"}, {"c", "d"}], [{"c", "b"}, "a"]], rest=())
    assert {clicks.stages.item_weight.dtype, clicks.stages.node_weight.dtype} == {np.dtype(float)}
    with pm.Model(coords=clicks.coords) as model:
        br.PlackettLuce("y", pm.Flat("utility", dims="item"), observed=clicks)
    slope = model.compile_dlogp()(at(UTILITY[:4]))
    exact = gradient(lambda u: float(exact_logp(u, clicks).sum()), UTILITY[:4])
    assert np.abs(exact).max() > 0.1
    np.testing.assert_allclose(slope, exact, atol=1e-8)


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


def test_what_stages_were_derived_from_cannot_be_set_by_hand():
    # compiled functions use the stages, and would keep the old ones
    model = model_of("item")
    for data in (model, clone_model(model), cloudpickle.loads(cloudpickle.dumps(model))):
        for name in ("y_ranks", "y_item", "y_weight"):
            value = data[name].get_value()
            with pytest.raises(
                ValueError,
                match=rf"^'{name}' is a part of observed data, .* br\.set_observed\.$",
            ):
                pm.set_data({name: value + 1}, model=data)
            pm.set_data({name: value}, model=data)  # the same, as programs do that put data back


@pytest.mark.parametrize("name", FAMILIES)
def test_no_family_lets_a_part_of_its_data_be_replaced_alone(name):
    family = FAMILIES[name]()
    model = family.observed(family.data)
    others = {"y_weight", "y_outcomes", "y_kinds"}  # weights may change, the rest is no data
    parts = [x for x in model.data_vars if x.name.startswith("y_") and x.name not in others]
    assert parts
    for part in parts:
        other = part.get_value() + 1
        message = f"^'{part.name}' is a part of observed data, and pm.set_data cannot replace it"
        if other.size:
            with pytest.raises(ValueError, match=message):
                pm.set_data({part.name: other}, model=model)


def test_weights_of_slots_set_by_hand_are_used():
    model = model_of("slot")
    with model:
        pm.set_data({"y_weight": np.ones(6)})
    logp = model.compile_logp(sum=False)
    np.testing.assert_allclose(
        logp(at(UTILITY))[-1], exact_logp(UTILITY) / RANKINGS.weight, atol=1e-9
    )


def test_new_rankings_need_a_model_that_observes_some():
    with pytest.raises(ValueError, match=r"no Rankings, .* observed as 'z'; it observes \['y'\]"):
        br.set_observed("z", RANKINGS, model=model_of("item"))


def test_new_rankings_may_have_fewer_of_the_items():
    fewer = br.Rankings.from_orderings([["f", "b"], ["b", "a"]])
    model = model_of("item")
    logp = model.compile_logp(sum=False)
    br.set_observed("y", fewer, model=model)
    lead = UTILITY[[5, 1]] - UTILITY[[1, 0]]
    np.testing.assert_allclose(logp(at(UTILITY))[-1], -np.log1p(np.exp(-lead)), atol=1e-12)


def test_other_kinds_of_data_are_refused_by_name():
    pairs = br.Pairs.from_matrix([[0, 3], [1, 0]], items=["a", "b"])
    have = br.Interactions.from_rankings(br.Rankings.from_orderings([["a", {"b", "c"}]]))
    model = model_of("item")
    for data, kind in ((pairs, "Pairs"), (have, "Interactions"), (RANKINGS.ranks, "ndarray")):
        message = f"^'y' observes Rankings, and cannot observe {kind}\\.$"
        with pytest.raises(TypeError, match=message):
            br.set_observed("y", data, model=model)
    with pm.Model() as other:
        br.BPR("y", np.zeros(3), observed=have)
    with pytest.raises(TypeError, match=r"^'y' observes Interactions or Rankings, and"):
        br.set_observed("y", pairs, model=other)


def test_arrays_that_are_observed_have_another_way_out():
    with pm.Model() as model:
        br.PlackettLuce("y", np.zeros(3), observed=[1, 2, 3])
    with pytest.raises(ValueError, match=r"observes \['y'\]\. Arrays are replaced by pm"):
        br.set_observed("y", RANKINGS, model=model)


def test_a_total_size_does_not_hide_what_is_observed():
    model = model_of("item", total_size=18)
    logp, other = model.compile_logp(), RANKINGS.subset([1, 3, 4])
    br.set_observed("y", other, model=model)
    exact = 18 / 3 * exact_logp(UTILITY, other).sum()
    assert float(logp(at(UTILITY))) == pytest.approx(exact, abs=1e-7)
    assert model["y_outcomes"].get_value().tolist() == [3]


def test_data_that_stand_in_the_model_are_used_and_follow():
    one, other = RANKINGS.subset([0, 1]), RANKINGS.subset([2, 3, 4])
    with pm.Model(coords=one.coords) as model:
        item = pm.Data("y_item", one.item, dims=("ranking", "slot"))
        br.PlackettLuce("y", pm.Flat("utility", dims="item")[item], observed=one)
    assert model["y_item"] is item
    logp = model.compile_logp(sum=False)
    br.set_observed("y", other, model=model)
    np.testing.assert_allclose(logp(at(UTILITY))[-1], exact_logp(UTILITY, other), atol=1e-9)


def test_data_of_the_same_name_and_other_values_are_refused():
    with pm.Model(coords=RANKINGS.coords):
        pm.Data("y_weight", np.zeros(6), dims="ranking")
        with pytest.raises(ValueError, match="a variable 'y_weight' that is not what the rankings"):
            br.PlackettLuce("y", np.zeros(6), observed=RANKINGS)


def test_names_of_axes_are_two():
    for dims in ("race", ("race",), ("race", 2)):
        message = r"`dims` of 'y' is .*: name two axes, such as dims=\('race', 'place'\)\. There is"
        with pm.Model(), pytest.raises(ValueError, match=message):
            br.PlackettLuce("y", np.zeros(6), observed=RANKINGS, dims=dims)


# Who ranked what

BY_RANKER = br.Rankings.from_orderings(
    [["a", "b"], ["b", "c"], ["c", "a"]], rankers=["ann", "bob", "ann"]
)


def data_of(model, part):
    dims = model.named_vars_to_dims[part]
    values = model[part].get_value().tolist()
    return dict(zip(model.coords[dims[0]], values, strict=True))


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


def test_as_many_items_under_other_labels_are_refused():
    message = (
        r"^The labels of the dim 'item' of the utility of 'y' are not those of the axis 'item' of "
        r"the rankings: missing: 'a'; unknown: 'x'\. Give one value for each label\.$"
    )
    with pm.Model(coords={"item": ["x", "b", "c"]}):
        utility = pm.Flat("utility", dims="item")
        with pytest.raises(ValueError, match=message):
            br.PlackettLuce("y", utility, observed=BY_RANKER)


# Draws and pointwise results


def test_names_dims_and_data_are_what_a_user_looks_for():
    model = model_of("item")
    assert model.named_vars_to_dims["y"] == ("ranking", "slot")
    assert {"y_ranks", "y_weight", "y_item", "y_sizes"} <= set(model.named_vars)
    assert model.initial_point()["utility"].shape == (6,)
    shape = model["y"].shape.eval(mode="FAST_COMPILE").tolist()
    assert shape == [RANKINGS.n_rankings, RANKINGS.n_slots]


@pytest.mark.parametrize("form", ["item", "slot"])
def test_predictions_are_weak_orders_of_the_same_items_and_sizes(form):
    posterior = az.from_dict(
        {"posterior": {"utility": np.tile(UTILITY, (1, 40, 1))}},
        dims={"utility": ["item"]},
        coords={"item": list("abcdef")},
    )
    with model_of(form):
        idata = pm.sample_posterior_predictive(posterior, progressbar=False, random_seed=1)
    drawn = idata.posterior_predictive["y"]
    assert drawn.dims == ("chain", "draw", "ranking", "slot")
    drawn = drawn.values[0]
    assert len(np.unique(drawn[:, 0], axis=0)) > 5
    for m in range(1, RANKINGS.n_blocks + 1):
        counts = (drawn == m).sum(axis=-1)
        np.testing.assert_array_equal(counts, np.tile(RANKINGS.block_sizes[:, m - 1], (40, 1)))
    assert (drawn[:, ~RANKINGS.mask] == 0).all()


@pytest.mark.slow  # half a minute of compilation each
@pytest.mark.parametrize("form", ["item", "slot"])
def test_numba_compiles_models_to_the_same(form):
    for function, called in zip(
        compiled(form, "NUMBA"), compiled(form, "FAST_COMPILE"), strict=True
    ):
        for found, expected in zip(function(at(UTILITY)), called(at(UTILITY)), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)


def test_the_log_likelihood_has_one_number_per_ranking():
    draws = np.random.default_rng(3).normal(size=(2, 5, 6))
    idata = az.from_dict({"posterior": {"utility": draws}}, dims={"utility": ["item"]})
    with model_of("item"):
        pm.compute_log_likelihood(idata, progressbar=False)
    pointwise = idata.log_likelihood["y"]
    assert pointwise.dims == ("chain", "draw", "ranking")
    np.testing.assert_allclose(pointwise[1, 3], exact_logp(draws[1, 3]), atol=1e-9)


# Bad input


def test_a_utility_of_another_length_says_which_two_fit():
    message = (
        r"`utility` of 'y' has shape \(5,\); with these rankings it is one per item, shape "
        r"\(6,\), or one per slot, best first, shape \(6, 5\), or one per ranking and item"
    )
    with pm.Model(), pytest.raises(ValueError, match=message):
        br.PlackettLuce("y", pm.Flat("utility", shape=5), observed=RANKINGS)


@pytest.mark.parametrize("argument", ["where", "sizes", "shape"])
def test_what_the_rankings_bring_cannot_be_given_again(argument):
    message = f"PlackettLuce got both observed=Rankings and {argument}="
    with pm.Model(), pytest.raises(TypeError, match=message):
        br.PlackettLuce("y", np.zeros(6), observed=RANKINGS, **{argument: (6, 5)})


@pytest.mark.parametrize("dims", ["ranking", ("a", "b", "c"), (0, 1)])
def test_dims_are_two_names(dims):
    with pm.Model(), pytest.raises(ValueError, match=r"`dims` of 'y' is .* name two axes"):
        br.PlackettLuce("y", np.zeros(6), observed=RANKINGS, dims=dims)


def test_coords_of_other_rankings_are_refused():
    message = "coord 'ranking' has 2 labels that are not the 6 of the rankings of 'y'"
    with pm.Model(coords={"ranking": ["x", "y"]}), pytest.raises(ValueError, match=message):
        br.PlackettLuce("y", np.zeros(6), observed=RANKINGS)


def test_an_unknown_argument_is_refused():
    with pm.Model(), pytest.raises(TypeError, match="temperature"):
        br.PlackettLuce("y", np.zeros(6), observed=RANKINGS, temperature=2.0)


def test_single_precision_is_refused():
    message = r"floatX is 'float32': bayesrank computes in double precision"
    with pytensor.config.change_flags(floatX="float32"):
        with pytest.raises(ValueError, match=message):
            br.PlackettLuce.dist(np.zeros(3))
        with pm.Model(), pytest.raises(ValueError, match=message):
            br.PlackettLuce("y", np.zeros(6), observed=RANKINGS)
