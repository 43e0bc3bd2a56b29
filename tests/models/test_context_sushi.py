"""Does company matter: real and made-up menus, models with and without it, and the comparison."""

import numpy as np
import pandas as pd
import pymc as pm
import pytest

import bayesrank as br
from models.context.fate import fate_network
from models.context.model import build
from models.context.sushi import density, judge
from models.context.sushi_menus import (
    build_kinds,
    planted,
    with_features,
)
from models.shared.modes import posterior_modes

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


# The comparison


@pytest.mark.slow
@pytest.mark.parametrize(
    ("effect", "least", "most"),
    [pytest.param(1.0, 0.3, 0.7, marks=pytest.mark.slow), (0.0, -0.02, 0.0)],
)
def test_company_is_found_where_it_matters_and_not_where_it_does_not(toy, effect, least, most):
    train, test = planted(*toy, effect, like=KINDS).split(0.5, random_seed=1)
    settings = {"prior_scale": 1.0, "learning_rate": 0.03, **TOY}
    alone, seeing = (judge(name, train, test, **settings)[1] for name in ("items", "items + FATE"))
    gain, error = (seeing - alone).mean(), (seeing - alone).std() / np.sqrt(len(test))
    assert least < gain < most
    assert (gain > 5 * error) == (effect > 0)


# Studies


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


@pytest.mark.slow
def test_items_alone_are_fitted_to_about_the_mode(toy):
    sets = planted(*toy, 0.0, like=KINDS)
    train, test = sets.split(0.7, random_seed=1)
    with pm.Model(coords=train.coords) as model:
        utility = pm.Normal("utility", 0, 1, dims="item")
        br.PlackettLuce("y", utility, observed=train)
    mode = posterior_modes(model, random_seed=1)[0]["utility"]
    exact = density(mode[test.item], test.ranks)
    settings = {"prior_scale": 1.0, "learning_rate": 0.03, **TOY}
    held_back, found, utility = judge("items", train, test, **settings)
    # but for the tenth that is held back
    assert found.mean() == pytest.approx(exact.mean(), abs=0.005)
    assert held_back == pytest.approx(exact.mean(), abs=0.3)
    np.testing.assert_allclose(density(utility, test.ranks), found, rtol=1e-10)
