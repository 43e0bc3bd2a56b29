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


def test_only_the_bounded_form_has_a_bias_of_its_bound():
    names = {
        b: {rv.name for rv in build(simulate_medoid(5, seed=1), n).free_RVs}
        for b, n in FORMS.items()
    }
    assert names[True] - names[False] == {"pair_out_b"}


# Studies


@pytest.mark.slow
def test_sets_of_any_size_in_any_order_are_predicted(form, rng):
    network, fitted = form
    for n_items in (1, 2, 7):
        x, order = rng.uniform(size=(3, n_items, 2)), rng.permutation(n_items)
        u = predict(fitted, network, x)
        again = predict(fitted, network, x[:, order])
        np.testing.assert_allclose(again, u[:, order], rtol=1e-9, atol=1e-12)
        padded = np.pad(x, ((0, 0), (0, 2), (0, 0)), constant_values=np.nan)  # a mask is removal
        masked = predict(fitted, network, padded, np.tile(np.arange(n_items + 2) < n_items, (3, 1)))
        np.testing.assert_allclose(masked[:, :n_items], u, rtol=1e-9, atol=1e-12)
