"""Does company matter: real and made-up menus, models with and without it, and the comparison."""

import numpy as np
import pandas as pd
import pymc as pm
import pytensor
import pytest

import bayesrank as br
from bayesrank.inference import posterior_modes
from models.context.fate import fate_network
from models.context.model import build
from models.context.sushi import compare, correlations, cross_validate, density, judge, table
from models.context.sushi_menus import (
    GROUPS,
    build_kinds,
    crowd,
    crowding,
    menus,
    planted,
    with_features,
)

KINDS = ("raw", "rolled", "fried")
# compiled in no time, and fast enough for toys
TOY = {"mode": "FAST_COMPILE", "epochs": 20, "batch_size": 64}


@pytest.fixture(scope="module")
def toy():
    """Menus of five of twelve items, which are of three kinds, and the worth of the items."""
    rng = np.random.default_rng(1)
    item = rng.permuted(np.tile(np.arange(12), (2000, 1)), axis=1)[:, :5]
    rankings = br.Rankings(item, np.tile(np.arange(1, 6), (2000, 1)), items=range(12))
    kinds = pd.DataFrame(np.eye(3)[np.arange(12) % 3], columns=KINDS)
    return with_features(rankings, kinds), rng.normal(0, 0.7, 12)


# Data


def test_features_of_items_go_into_slots_and_padding_is_zero():
    rankings = br.Rankings.from_orderings([["b", "a"], ["c", "a", "b"]], rest=())
    features = pd.DataFrame({"price": [1.0, 2.0, 3.0]}, index=["a", "b", "c"])
    found = with_features(rankings, features)
    assert found.features[..., 0].tolist() == [[2, 1, 0], [3, 1, 2]]
    assert found.coords["feature"].tolist() == ["price"]
    with pytest.raises(ValueError, match=r"`features` has no row for the items \['c'\]"):
        with_features(rankings, features.drop(index="c"))
    features.loc["a", "price"] = np.nan
    with pytest.raises(ValueError, match=r"^Feature 'price' of item 'a' is nan; it must be"):
        with_features(rankings, features)


def test_a_crowd_is_the_others_of_the_same_group():
    features = pd.DataFrame([[1, 0], [1, 0], [0, 1]], index=list("abc"), columns=["roll", "soup"])
    rankings = with_features(br.Rankings.from_orderings([["c", "a", "b"]]), features)
    assert crowd(rankings, ("roll", "soup")).tolist() == [[0, 1, 1]]
    with pytest.raises(
        ValueError, match=r"^The rankings have no feature 'stew'; they have roll, soup\."
    ):
        crowd(rankings, ("roll", "stew"))


def test_made_up_people_rank_the_same_menus_and_a_crowd_is_shunned(toy):
    sets, worth = toy
    found = planted(sets, 0 * worth, 100.0, like=KINDS)
    assert (np.sort(found.item, axis=1) == np.sort(sets.item, axis=1)).all()
    assert (np.diff(crowd(found, KINDS), axis=1) >= 0).all()
    assert found.labels.equals(sets.labels)
    np.testing.assert_array_equal(found.features.argmax(axis=-1), found.item % 3)
    # and without an effect the best is the one of most worth
    found = planted(sets, 1000 * worth, 0.0, like=KINDS)
    assert (np.diff(worth[found.item], axis=1) <= 0).all()


# Models


@pytest.mark.slow
def test_one_kind_of_people_is_plackett_luce_and_two_are_their_mixture(toy):
    sets = planted(*toy, 0.0, like=KINDS).subset(np.arange(20))
    worth = np.stack([toy[1], -toy[1]])
    plain = [density(u[sets.item], sets.ranks) for u in worth]
    one, two = build_kinds(sets), build_kinds(sets, 2)

    def value(model, point):
        start = {**model.initial_point(), **point}
        return model.compile_logp(vars=model["y"], sum=False, mode="FAST_COMPILE")(start)[0]

    np.testing.assert_allclose(value(one, {"worth": worth[:1]}), plain[0], rtol=1e-12)
    both = value(two, {"worth": worth, "share_simplex__": np.array([0.0])})  # half and half
    np.testing.assert_allclose(both, np.logaddexp(*plain) - np.log(2), rtol=1e-12)


@pytest.mark.parametrize("orderings", [[["a", {"b", "c"}]], [["a", "b", "c"], ["b", "a"]]])
def test_ties_and_lengths_that_differ_are_none_of_the_model_of_kinds(orderings):
    with pytest.raises(ValueError, match=r"^The rankings have ties or differ in length: the model"):
        build_kinds(br.Rankings.from_orderings(orderings, rest=()), 2)


def test_a_scale_of_nothing_raises():
    with pytest.raises(ValueError, match=r"^`item_scale` is 0; it must be positive"):
        build_kinds(br.Rankings.from_orderings([["a", "b"]]), item_scale=0)


@pytest.mark.slow
def test_an_item_has_a_worth_of_its_own_beside_its_features(toy):
    network = fate_network(3, set_widths=(2,), score_widths=(2,))
    sets = toy[0].subset(np.arange(30))
    model = build(sets, network, item_scale=2.0)
    assert model.named_vars_to_dims["worth"] == ("item",)
    # with weights of zero it is all there is
    point = {name: np.zeros_like(x) for name, x in model.initial_point().items()}
    logp = model.compile_logp(vars=model["y"], mode="FAST_COMPILE")
    expected = density(toy[1][sets.item], sets.ranks).sum()
    assert logp(point | {"worth": toy[1]}) == pytest.approx(expected)
    assert "worth" not in build(sets, network).named_vars
    with pytest.raises(ValueError, match=r"^`item_scale` is -1; it must be positive"):
        build(sets, network, item_scale=-1)


def test_a_feature_that_is_no_number_is_named_with_its_item():
    features = [[[1.0, 2.0], [1.0, np.nan]]]
    names = {"items": ["uni", "ebi"], "feature_names": ["price", "weight"]}
    with pytest.raises(ValueError, match=r"^Feature 'weight' .* it is nan for item 'uni"):
        br.Rankings([[1, 0]], [[1, 2]], features=features, **names)


@pytest.mark.slow
def test_items_alone_are_fitted_to_about_the_mode(toy):
    sets = planted(*toy, 0.0, like=KINDS)
    train, test = sets.split(0.7, seed=1)
    with pm.Model(coords=train.coords) as model:
        utility = pm.Normal("utility", 0, 1, dims="item")
        br.PlackettLuce("y", utility, observed=train)
    mode = posterior_modes(model)[0]["utility"]
    exact = density(mode[test.item], test.ranks)
    settings = {"prior_scale": 1.0, "learning_rate": 0.03, **TOY}
    held_back, found, utility = judge("items", train, test, **settings)
    # but for the tenth that is held back
    assert found.mean() == pytest.approx(exact.mean(), abs=0.005)
    assert held_back == pytest.approx(exact.mean(), abs=0.3)
    np.testing.assert_allclose(density(utility, test.ranks), found, rtol=1e-10)


# The comparison


@pytest.mark.slow
@pytest.mark.parametrize(
    ("effect", "least", "most"),
    [pytest.param(1.0, 0.3, 0.7, marks=pytest.mark.slow), (0.0, -0.02, 0.0)],
)
def test_company_is_found_where_it_matters_and_not_where_it_does_not(toy, effect, least, most):
    train, test = planted(*toy, effect, like=KINDS).split(0.5, seed=1)
    settings = {"prior_scale": 1.0, "learning_rate": 0.03, **TOY}
    alone, seeing = (judge(name, train, test, **settings)[1] for name in ("items", "items + FATE"))
    gain, error = (seeing - alone).mean(), (seeing - alone).std() / np.sqrt(len(test))
    assert least < gain < most
    assert (gain > 5 * error) == (effect > 0)


@pytest.mark.parametrize("effect", [0.0, 0.3])
def test_what_another_of_the_group_takes_off_is_found(toy, effect):
    with pytensor.config.change_flags(mode="FAST_COMPILE"):
        draws = crowding(planted(*toy, effect, like=KINDS), like=KINDS, draws=200)
    assert draws.shape == (200,)
    assert abs(draws.mean() + effect) < 2 * draws.std()
    assert draws.std() < 0.05


def test_a_table_pairs_the_rankings():
    lines = pd.DataFrame({"logp": [-1.0, -3.0], "spearman": [0.5, np.nan]}, index=["p", "q"])
    # the order in which they were judged does not matter
    better = pd.DataFrame({"logp": [-2.0, -0.5], "spearman": [1.0, 0.0]}, index=["q", "p"])
    found = table({"one": lines, "other": better}, "one")
    assert found.loc["one"].tolist() == [-2, 0, 0, 0.5]
    # gains of 0.5 and 1: a standard deviation of 0.3536 over the root of two
    assert found.loc["other"].tolist() == pytest.approx([-1.25, 0.75, 0.25, 0.5])


def test_rank_correlations_by_hand():
    utility = np.array([[3.0, 2.0, 9.0], [1.0, 2.0, 3.0], [0.0, 0.0, 1.0]])
    ranks = np.array([[1, 2, 0], [1, 2, 3], [1, 1, 1]])
    found = correlations(utility, ranks)
    assert found[:2].tolist() == pytest.approx([1, -1])
    assert np.isnan(found[2])  # an order of which nothing is known


def test_settings_are_chosen_by_what_is_held_back(toy, monkeypatch):
    # the first is best on what it should not see
    scores = {0.3: (-2.0, -1.0), 1.0: (-1.0, -2.0)}

    def judged(name, train, test, *, prior_scale, learning_rate, seed):
        held_back, logp = scores[prior_scale]
        assert not set(train.labels) & set(test.labels)
        return held_back, np.full(len(test), logp), 1.0 * test.item

    monkeypatch.setattr("models.context.sushi.judge", judged)
    found = cross_validate("dense", toy[0], n_folds=2)
    assert (found["scale"] == 1.0).all()
    assert (found["logp"] == -2.0).all()
    assert sorted(found.index) == sorted(toy[0].labels)
    assert found["fold"].value_counts().to_dict() == {0: 1000, 1: 1000}


def test_rows_are_compared_with_the_first(toy, monkeypatch):
    def judged(name, train, test, **settings):
        return 0.0, np.full(len(test), {"linear": -3.0, "FATE": -1.0}[name]), 1.0 * test.item

    monkeypatch.setattr("models.context.sushi.judge", judged)
    found = compare(["linear", "FATE"], toy[0], n_folds=2)
    assert found["log density"].tolist() == [-3, -1]
    assert found["gain"].tolist() == [0, 2]


# With the data


def test_menus_of_sushi(data_dir):
    found = menus(data_dir / "sushi3")
    assert found.features.shape == (5000, 10, 17)
    at = np.unique(found.item, return_index=True)[1]
    x = found.features.reshape(-1, 17)[at]
    np.testing.assert_allclose(x[:, :4].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(x[:, :4].std(axis=0), 1)
    assert x[:, 4].sum() == 13
    assert x[:, 5:].sum(axis=0).tolist() == [15, 10, 11, 3, 14, 4, 7, 9, 6, 1, 5, 15]
    names = found.coords["feature"].tolist()
    egg = found.items.get_loc("tamago (egg)")
    assert {name for name, on in zip(names, x[egg], strict=True) if on == 1} == {"egg"}
    assert set(GROUPS) < set(names)
