"""FETA as a model: both forms, sets of any size."""

import numpy as np
import pytest

from models.context.fate import PRIOR_SCALE
from models.context.feta import build, feta_network, fit, predict
from models.context.model import metrics, square_symmetries
from models.context.simulate import simulate_medoid

FORMS = {
    bounded: feta_network(2, item_widths=(8,), pair_widths=(16, 16), bounded=bounded)
    for bounded in (True, False)
}


@pytest.fixture(scope="module", params=[False, pytest.param(True, marks=pytest.mark.slow)])
def form(request):
    """A network and its fit."""
    network = FORMS[request.param]
    fitted = fit(
        simulate_medoid(1_500, seed=1),
        network,
        prior_scale=PRIOR_SCALE,
        epochs=40,
        batch_size=64,
        learning_rate=0.01,
        augment=square_symmetries,
        progressbar=False,
    )
    return network, fitted


@pytest.mark.slow
def test_company_tells_more_than_the_best_score_of_an_item_by_itself(form):
    network, fitted = form
    new = simulate_medoid(2_000, seed=2)
    blind = metrics(-((new.features - 0.5) ** 2).sum(axis=-1), new.ranks)["RA"]
    assert metrics(predict(fitted, network, new.features), new.ranks)["RA"] > blind + 0.02


@pytest.mark.slow
def test_sets_of_any_size_in_any_order_are_predicted(form, rng):
    network, fitted = form
    for n_items in (1, 2, 7):
        x, order = rng.uniform(size=(3, n_items, 2)), rng.permutation(n_items)
        u = predict(fitted, network, x)
        again = predict(fitted, network, x[:, order])
        np.testing.assert_allclose(again, u[:, order], rtol=1e-9, atol=1e-12)


@pytest.mark.slow
def test_a_mask_is_removal(form, rng):
    network, fitted = form
    x = rng.uniform(size=(2, 5, 2))
    u = predict(fitted, network, x, np.tile(np.arange(5) < 3, (2, 1)))
    np.testing.assert_allclose(u[:, :3], predict(fitted, network, x[:, :3]), rtol=1e-9)


def test_only_the_bounded_form_has_a_bias_of_its_bound():
    names = {
        b: {rv.name for rv in build(simulate_medoid(5, seed=1), n).free_RVs}
        for b, n in FORMS.items()
    }
    assert names[True] - names[False] == {"pair_out_b"}


def test_the_item_by_itself_may_be_left_out():
    network = feta_network(2, item_widths=None, pair_widths=(4,))
    assert not [name for name in network.weights if name.startswith("item")]


@pytest.mark.slow  # it fits
def test_another_number_of_features_and_an_empty_set_raise(form):
    network, fitted = form
    with pytest.raises(ValueError, match=r"^`features` must have shape \(\.\.\., n_slots, 2\)"):
        predict(fitted, network, np.zeros((4, 5, 1)))
    with pytest.raises(ValueError, match=r"^Set 0 is empty: it needs an item\.$"):
        predict(fitted, network, np.zeros((1, 2, 2)), [[False, False]])
