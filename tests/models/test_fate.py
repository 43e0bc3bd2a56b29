"""FATE as a model: learning more than an item by itself tells, and predicting sets of any size."""

import numpy as np
import pandas as pd
import pytest

import bayesrank as br
from models.context.fate import PRIOR_SCALE, build, fate_network, fit, predict
from models.context.model import metrics, square_symmetries, swaps
from models.context.simulate import medoid_distances, simulate_medoid

NETWORK = fate_network(2, set_widths=(16, 16), score_widths=(16,))


def trained(n_sets, epochs):
    return fit(
        simulate_medoid(n_sets, seed=1),
        NETWORK,
        prior_scale=PRIOR_SCALE,
        epochs=epochs,
        batch_size=64,
        learning_rate=0.01,
        augment=square_symmetries,
        progressbar=False,
    )


@pytest.fixture(scope="module")
def fitted():
    return trained(1_500, epochs=40)


@pytest.fixture(scope="module")
def begun():
    """Weights of two rounds, for what holds of any weights."""
    return trained(128, epochs=2)


@pytest.mark.slow
def test_company_tells_more_than_the_best_score_of_an_item_by_itself(fitted):
    new = simulate_medoid(2_000, seed=2)
    alone = -((new.features - 0.5) ** 2).sum(axis=-1)  # near the middle of the square
    blind, seeing = (metrics(u, new.ranks) for u in (alone, predict(fitted, NETWORK, new.features)))
    assert blind["RA"] == pytest.approx(0.68, abs=0.02)
    assert seeing["RA"] > blind["RA"] + 0.05
    assert seeing["ACC"] > 1.5 * blind["ACC"]


@pytest.mark.slow
@pytest.mark.parametrize("n_items", [2, 3, 9])
def test_sets_of_other_sizes_are_predicted(fitted, n_items):
    new = simulate_medoid(500, n_items, seed=3)
    u = predict(fitted, NETWORK, new.features)
    assert u.shape == (500, n_items)
    if n_items > 2:  # of two either is a medoid
        assert metrics(u, new.ranks)["RA"] > 0.65


@pytest.mark.slow
def test_the_order_of_the_items_makes_no_difference(fitted, rng):
    x, order = rng.uniform(size=(4, 6, 2)), rng.permutation(6)
    u = predict(fitted, NETWORK, x)
    np.testing.assert_allclose(predict(fitted, NETWORK, x[:, order]), u[:, order], rtol=1e-10)


@pytest.mark.slow
def test_a_mask_is_removal(fitted, rng):
    x = rng.uniform(size=(2, 5, 2))
    x[:, 3:] = np.nan
    mask = np.arange(5) < 3
    u = predict(fitted, NETWORK, x, np.tile(mask, (2, 1)))
    np.testing.assert_allclose(u[:, :3], predict(fitted, NETWORK, x[:, :3]), rtol=1e-10)
    assert (u[:, 3:] == 0).all()


def test_one_set_and_many_chunks_of_sets_are_predicted_alike(begun, rng, monkeypatch):
    x = rng.uniform(size=(7, 3, 2))
    together = predict(begun, NETWORK, x)
    np.testing.assert_allclose(predict(begun, NETWORK, x[2]), together[2], rtol=1e-10)
    monkeypatch.setattr("models.context.model.CHUNK", 3)
    np.testing.assert_allclose(predict(begun, NETWORK, x), together, rtol=1e-10)


def test_sets_of_different_sizes_in_one_model():
    features = pd.DataFrame([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], index=list("abc"))
    sets = br.Rankings.from_orderings([["a", "b", "c"], ["b", "a"]], features=features, rest=())
    model = build(sets, NETWORK)
    assert model["mask"].get_value().tolist() == [[True, True, True], [True, True, False]]
    # weights of zero: all orders alike
    point = {name: np.zeros_like(value) for name, value in model.initial_point().items()}
    logp = model.compile_logp(vars=model["y"], mode="FAST_COMPILE")(point)
    assert logp == pytest.approx(-np.log(6) - np.log(2))


def test_the_scale_of_the_prior_is_that_of_the_weights_times_what_is_given():
    sets = simulate_medoid(5, seed=1)
    sigma = [
        build(sets, NETWORK, prior_scale=scale)["score_out_W"].owner.inputs[3].eval()
        for scale in (1, 3)
    ]
    np.testing.assert_allclose(sigma[1], 3 * sigma[0])


# What they are judged by


def test_metrics_by_hand():
    # of (a, b, c), all in order; a and c exchanged; b and c exchanged
    found = metrics([[3, 2, 1], [1, 2, 3], [3, 1, 2]], np.tile([1, 2, 3], (3, 1)))
    assert found == pytest.approx({"RA": (1 + 0 + 2 / 3) / 3, "ACC": 1 / 3, "Spearman": 0.5 / 3})


def test_equal_utilities_are_no_order():
    found = metrics(np.zeros((2, 3)), np.tile([1, 2, 3], (2, 1)))
    assert found == {"RA": 0.5, "ACC": 0.0, "Spearman": 0.0}


def test_symmetries_keep_the_order_and_are_all_eight(rng):
    sets = simulate_medoid(2_000, n_items=3, seed=1)
    one = np.tile([[0.1, 0.3], [0.2, 0.2], [0.9, 0.4]], (2_000, 1, 1))
    turned = square_symmetries(rng, {"features": one})["features"]
    assert len(np.unique(turned.round(6), axis=0)) == 8
    x = square_symmetries(rng, {"features": sets.features})["features"]
    np.testing.assert_allclose(medoid_distances(x), medoid_distances(sets.features), atol=1e-12)
    exchanged = swaps(rng, {"features": one})["features"]
    assert len(np.unique(exchanged, axis=0)) == 2


# Bad input


def test_another_number_of_features_raises(begun):
    with pytest.raises(ValueError, match=r"^`features` must have shape \(\.\.\., n_slots, 2\)"):
        predict(begun, NETWORK, np.zeros((4, 5, 3)))
    with pytest.raises(ValueError, match=r"^`features` must have shape \(\.\.\., n_slots, 3\)"):
        build(simulate_medoid(5, seed=1), fate_network(3))


def test_an_empty_set_and_a_feature_that_is_no_number_raise(begun):
    with pytest.raises(ValueError, match=r"^Set 1 is empty: it needs an item\.$"):
        predict(begun, NETWORK, np.zeros((2, 2, 2)), [[True, True], [False, False]])
    with pytest.raises(ValueError, match=r"^Feature 1 must be finite; it is nan for the item in "):
        predict(begun, NETWORK, [[[0.0, np.nan], [0.0, 1.0]]])


def test_rankings_without_features_and_a_scale_of_nothing_raise():
    with pytest.raises(ValueError, match=r"^The rankings have no features"):
        build(br.Rankings.from_orderings([["a", "b"]]), NETWORK)
    with pytest.raises(ValueError, match=r"^`prior_scale` is 0; it must be positive\.$"):
        build(simulate_medoid(5, seed=1), NETWORK, prior_scale=0)


def test_labels_that_are_not_ranks_raise():
    with pytest.raises(ValueError, match=r"ranks"):
        br.Rankings([[0, 1, 2]], [[1, 3, 4]], items=range(3), features=np.zeros((1, 3, 2)))
