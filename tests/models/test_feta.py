"""FETA as a model: both forms, sets of any size."""

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
