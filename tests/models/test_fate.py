"""FATE as a model: learning more than an item by itself tells, and predicting sets of any size."""

import numpy as np
import pytest

from models.context.fate import PRIOR_SCALE, fate_network, fit, predict
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


# What they are judged by


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


# Bad input


def test_an_empty_set_and_a_feature_that_is_no_number_raise(begun):
    with pytest.raises(ValueError, match=r"^Set 1 is empty: it needs an item\.$"):
        predict(begun, NETWORK, np.zeros((2, 2, 2)), [[True, True], [False, False]])
    with pytest.raises(ValueError, match=r"^Feature 1 must be finite; it is nan for the item in "):
        predict(begun, NETWORK, [[[0.0, np.nan], [0.0, 1.0]]])


# Studies


@pytest.mark.slow
def test_a_mask_is_removal(fitted, rng):
    x = rng.uniform(size=(2, 5, 2))
    x[:, 3:] = np.nan
    mask = np.arange(5) < 3
    u = predict(fitted, NETWORK, x, np.tile(mask, (2, 1)))
    np.testing.assert_allclose(u[:, :3], predict(fitted, NETWORK, x[:, :3]), rtol=1e-10)
    assert (u[:, 3:] == 0).all()
