"""Utilities that depend on the set: simulated sets, networks, last layers, menus, the study."""

import numpy as np
import pandas as pd
import pytest

import bayesrank as br
from models.context import fate, feta, posteriors, study, sushi
from models.context.conditional import given
from models.context.deep_sets import deep_sets_utility, deep_sets_weights
from models.context.model import metrics, square_symmetries, swaps
from models.context.posteriors import LAST
from models.context.set_utilities import fate_weights
from models.context.simulate import (
    hypervolume_contributions,
    medoid_distances,
    simulate_hypervolume,
    simulate_medoid,
)
from models.context.sushi import cross_validate, density, judge
from models.context.sushi_menus import build_mixture, planted, with_features
from models.shared.networks import draw_weights
from tests.builders import results

# Simulated sets


def test_medoid_by_hand():
    # sums of distances of 0, 1, 3, 7: 11, 9, 9, 17: the first of the two is the medoid
    assert medoid_distances([[0.0], [1.0], [3.0], [7.0]]).tolist() == [1, 0, 2, 6]
    # in the plane, (1, 1) is nearest to the others together
    points = [[0.0, 0.0], [1.0, 1.0], [1.0, 2.0], [4.0, 5.0]]
    expected = [2**0.5, 0, 1, 5]
    np.testing.assert_allclose(medoid_distances([points, points[::-1]])[0], expected)
    np.testing.assert_allclose(medoid_distances([points, points[::-1]])[1], expected[::-1])


def covered(points: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Whether places are dominated by a point: it is smaller in both numbers."""
    return (points[:, None] <= at).all(axis=-1).any(axis=0)


def test_contributions_are_what_no_other_point_covers(rng):
    at = -rng.uniform(size=(400_000, 2))
    for points in simulate_hypervolume(3, n_items=4, seed=2).features:
        by_hand = [
            np.mean(covered(points, at) & ~covered(np.delete(points, i, axis=0), at))
            for i in range(4)
        ]
        # standard errors of such shares are below 0.0008
        np.testing.assert_allclose(hypervolume_contributions(points), by_hand, atol=0.004)


# Deep sets


WEIGHTS = draw_weights(deep_sets_weights(2, 4, 2), random_seed=1)


def by_hand(x):
    h = x @ WEIGHTS["embed_W"]
    for k in range(2):
        a = np.maximum(h, 0)
        h = h + a @ WEIGHTS[f"layer_{k}_A"] + a.mean(axis=0) @ WEIGHTS[f"layer_{k}_B"]
    return np.maximum(h, 0) @ WEIGHTS["out_W"]


@pytest.mark.parametrize("dtype", [None, "float32"])
def test_utilities_by_hand_in_sets_of_several_sizes(rng, dtype):
    x = rng.normal(size=(3, 4, 2))
    mask = np.arange(4) < np.array([[4], [3], [1]])
    x[~mask] = np.nan
    utility = deep_sets_utility(x, WEIGHTS, mask=mask, dtype=dtype).eval(mode="FAST_COMPILE")
    tolerance = 1e-12 if dtype is None else 1e-5
    for row, used, found in zip(x, mask, utility, strict=True):
        np.testing.assert_allclose(found[used], by_hand(row[used]), rtol=tolerance, atol=tolerance)
        assert (found[~used] == 0).all()


# Networks that see the set


NETWORKS = {
    "FATE": (fate, fate.fate_network(2, set_widths=(16, 16), score_widths=(16,))),
    "FETA": (feta, feta.feta_network(2, item_widths=(8,), pair_widths=(16, 16), bounded=False)),
}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "gain"), [("FATE", 0.05), ("FETA", 0.02)])
def test_the_set_tells_more_than_the_best_score_of_an_item_by_itself(name, gain, rng):
    module, network = NETWORKS[name]
    fitted = module.fit(
        simulate_medoid(1_500, seed=1), network, prior_scale=fate.PRIOR_SCALE, epochs=40,
        batch_size=64, learning_rate=0.01, augment=square_symmetries, progressbar=False,
    )  # fmt: skip
    new = simulate_medoid(2_000, seed=2)
    alone = -((new.features - 0.5) ** 2).sum(axis=-1)  # near the middle of the square
    seeing = module.predict(fitted, network, new.features)
    assert metrics(seeing, new.ranks)["RA"] > metrics(alone, new.ranks)["RA"] + gain
    # sets of any size, in any order, with or without empty slots
    for n_items in (1, 2, 7):
        x, order = rng.uniform(size=(3, n_items, 2)), rng.permutation(n_items)
        u = module.predict(fitted, network, x)
        again = module.predict(fitted, network, x[:, order])
        np.testing.assert_allclose(again, u[:, order], rtol=1e-9, atol=1e-12)
        padded = np.pad(x, ((0, 0), (0, 2), (0, 0)), constant_values=np.nan)
        mask = np.tile(np.arange(n_items + 2) < n_items, (3, 1))
        masked = module.predict(fitted, network, padded, mask)
        np.testing.assert_allclose(masked[:, :n_items], u, rtol=1e-9, atol=1e-12)


def test_metrics_by_hand():
    # of (a, b, c), all in order; a and c exchanged; b and c exchanged
    found = metrics([[3, 2, 1], [1, 2, 3], [3, 1, 2]], np.tile([1, 2, 3], (3, 1)))
    assert found == pytest.approx({"RA": (1 + 0 + 2 / 3) / 3, "ACC": 1 / 3, "Spearman": 0.5 / 3})


def test_symmetries_keep_the_order_and_are_all_eight(rng):
    sets = simulate_medoid(2_000, n_items=3, seed=1)
    one = np.tile([[0.1, 0.3], [0.2, 0.2], [0.9, 0.4]], (2_000, 1, 1))
    turned = square_symmetries(rng, {"features": one})["features"]
    assert len(np.unique(turned.round(6), axis=0)) == 8
    x = square_symmetries(rng, {"features": sets.features})["features"]
    np.testing.assert_allclose(medoid_distances(x), medoid_distances(sets.features), atol=1e-12)
    exchanged = swaps(rng, {"features": one})["features"]
    assert len(np.unique(exchanged, axis=0)) == 2


# The last layer given the others


SPECS = fate_weights(2, (4,), (4,))
POINT = draw_weights(SPECS, 1)


@pytest.fixture(scope="module")
def small():
    """A small FATE on sixty sets."""
    return posteriors.build(simulate_medoid(60, seed=1), SPECS)


def test_the_density_of_what_is_free_is_that_of_all_with_the_rest_fixed(small):
    last = given(small, POINT, free=LAST)
    assert [rv.name for rv in last.free_RVs] == [LAST]
    logp, whole = last.compile_logp(mode="FAST_COMPILE"), small.compile_logp(mode="FAST_COMPILE")
    shifted = {LAST: POINT[LAST] + 0.3}
    change = logp(shifted) - logp({LAST: POINT[LAST]})
    assert change == pytest.approx(whole(POINT | shifted) - whole(POINT), rel=1e-9)
    assert len(small.free_RVs) == len(SPECS)


@pytest.mark.parametrize(
    ("values", "free", "message"),
    [
        ({"w": 1.0}, None, "The model has no free variable 'w'; it has "),
        (POINT, ["out"], "The model has no free variable 'out'; "),
        (POINT, None, "All variables have values; name those to leave free of"),
        ({LAST: np.zeros(2)}, None, rf"The value of '{LAST}' has shape \(2,\); in the model"),
        (results(posterior={LAST: (("unit",), np.zeros((3, 4)))}), None, "The posterior has 3"),
    ],
)
def test_values_that_do_not_fit_are_refused(small, values, free, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        given(small, values, **({} if free is None else {"free": free}))


def test_the_last_layer_is_drawn_given_the_rest(small):
    point = {
        name: ([f"{name}_{axis}" for axis in range(x.ndim)], x[None]) for name, x in POINT.items()
    }
    draws = posteriors.fit_last_layer(small, results(posterior=point), method="laplace", draws=200)
    assert list(draws["posterior"].data_vars) == [LAST]
    assert draws["posterior"][LAST].shape == (1, 200, 4)
    # sixty sets say something: the posterior is narrower than the prior
    spread = draws["posterior"][LAST].std(("chain", "draw")).to_numpy()
    assert (spread < 1.05 * SPECS[LAST].scale).all()
    assert spread.min() < 0.9 * SPECS[LAST].scale


# Menus of sushi


KINDS = ("raw", "rolled", "fried")
# compiled in no time, and fast enough for toys
TOY = {"mode": "FAST_COMPILE", "epochs": 20, "batch_size": 64}


@pytest.fixture(scope="module")
def menus():
    """Menus of five of twelve items, which are of three kinds, and the worth of the items."""
    rng = np.random.default_rng(1)
    item = rng.permuted(np.tile(np.arange(12), (2000, 1)), axis=1)[:, :5]
    rankings = br.Rankings(item, np.tile(np.arange(1, 6), (2000, 1)), items=range(12))
    kinds = pd.DataFrame(np.eye(3)[np.arange(12) % 3], columns=KINDS)
    return with_features(rankings, kinds), rng.normal(0, 0.7, 12)


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


@pytest.mark.parametrize("name", ["items", "dense"])
def test_every_menu_is_predicted_once_with_settings_from_other_folds(menus, name):
    sets = planted(*menus, 0.0, like=KINDS).subset(np.arange(60))
    options = {"n_folds": 2, "scales": [1.0], "rates": [0.03]} | TOY | {"epochs": 2}
    found = cross_validate(name, sets, **options)
    assert found.index.is_unique
    assert len(found) == 60
    assert found.groupby("fold")["scale"].nunique().tolist() == [1, 1]
    assert (found["logp"] < 0).all()


@pytest.mark.slow
def test_a_mixture_of_one_component_is_plackett_luce(menus):
    sets = planted(*menus, 0.0, like=KINDS).subset(np.arange(20))
    worth = np.stack([menus[1], -menus[1]])
    plain = [density(u[sets.item], sets.ranks) for u in worth]
    one, two = build_mixture(sets), build_mixture(sets, 2)

    def value(model, point):
        start = {**model.initial_point(), **point}
        return model.compile_logp(vars=model["y"], sum=False, mode="FAST_COMPILE")(start)[0]

    np.testing.assert_allclose(value(one, {"worth": worth[:1]}), plain[0], rtol=1e-12)
    both = value(two, {"worth": worth, "share_simplex__": np.array([0.0])})  # half and half
    np.testing.assert_allclose(both, np.logaddexp(*plain) - np.log(2), rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("effect", "least", "most"),
    [(1.0, 0.3, 0.7), (0.0, -0.02, 0.0)],
)
def test_company_is_found_where_it_matters_and_not_where_it_does_not(menus, effect, least, most):
    train, test = planted(*menus, effect, like=KINDS).split(0.5, random_seed=1)
    settings = {"prior_scale": 1.0, "learning_rate": 0.03, **TOY}
    alone, seeing = (judge(name, train, test, **settings)[1] for name in ("items", "items + FATE"))
    gain, error = (seeing - alone).mean(), (seeing - alone).std() / np.sqrt(len(test))
    assert least < gain < most
    assert (gain > 5 * error) == (effect > 0)


# The study


FAST = {"epochs": 3, "batch_size": 20, "mode": "FAST_COMPILE"}
SHORT_ROWS = ("ListNet", "dense")  # another loss, and none


@pytest.mark.parametrize(
    "row", [pytest.param(r, marks=[pytest.mark.slow] * (r not in SHORT_ROWS)) for r in study.ROWS]
)
def test_every_row_is_a_model_that_learns_from_its_sets(row):
    fitted, network, _ = study.train(row, "hypervolume", 1, n_train=60, **FAST)
    first, *_, last = fitted["training"]["log_posterior"].values
    assert last > first
    assert network.n_features == 2


@pytest.mark.slow
def test_the_study_in_its_reduced_size():
    tables = study.main(["--quick"])
    assert list(tables) == list(study.TABLES)
    for name in ("medoid", "hypervolume"):
        rows = tables[name].rows
        assert list(rows.index) == list(study.QUICK)
        assert rows.loc["FATE", "RA"] > rows.loc["linear", "RA"] + 0.05
    # a linear score does not know the medoid, and of the hypervolume 0.69, or less from few sets
    assert tables["medoid"].rows.loc["linear", "RA"] == pytest.approx(0.5, abs=0.02)
    assert 0.55 < tables["hypervolume"].rows.loc["linear", "RA"] < 0.7
    assert (tables["sizes"].rows > 0.5).all(axis=None)
    # from a hundred sets, the mode is worse than order at random, -4.787
    mode, laplace = (
        float(tables["posteriors"].rows.loc[name, "100 sets"].split()[0])
        for name in ("mode", "last, Laplace")
    )
    assert mode == pytest.approx(-4.81, abs=0.1)
    assert laplace > mode


@pytest.mark.slow
def test_the_study_of_sushi_in_its_reduced_size(data_dir):
    tables = sushi.main([str(data_dir / "sushi3"), "--quick"])
    density = tables["sushi"].rows["log density"]
    assert ((density > -15.1044) & (density < -13.5)).all()  # a random order; ten items
    crowding = tables["crowding"].rows["mean"]
    assert crowding["people"] == pytest.approx(0.0, abs=0.04)
    assert crowding["planted -0.2"] == pytest.approx(-0.2, abs=0.04)
