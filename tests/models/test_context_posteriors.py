"""Posteriors of a small FATE: held-out densities, and a last layer given the rest."""

import numpy as np
import pytest

from bayesrank.utility import draw_weights, fate_weights
from models.context.posteriors import LAST, build, fit_last_layer, held_out
from models.context.simulate import simulate_medoid
from tests.builders import results

SPECS = fate_weights(2, (4,), (4,))


def tree(point, n_draws=1):
    """Draws that are all the same point."""
    axes = {name: [f"{name}_{axis}" for axis in range(x.ndim)] for name, x in point.items()}
    draws = {name: np.repeat(x[None], n_draws, axis=0) for name, x in point.items()}
    return results(posterior={name: (axes[name], x) for name, x in draws.items()})


@pytest.fixture(scope="module")
def mode():
    return tree(draw_weights(SPECS, 1))


def test_the_last_layer_is_drawn_given_the_rest(mode):
    model = build(simulate_medoid(60, seed=1), SPECS)
    draws = fit_last_layer(model, mode, method="laplace", draws=200)
    assert list(draws["posterior"].data_vars) == [LAST]
    assert draws["posterior"][LAST].shape == (1, 200, 4)
    # sixty sets say something: the posterior is narrower than the prior
    spread = draws["posterior"][LAST].std(("chain", "draw")).to_numpy()
    assert (spread < 1.05 * SPECS[LAST].scale).all()
    assert spread.min() < 0.9 * SPECS[LAST].scale


# Studies


@pytest.mark.slow
def test_draws_that_are_the_mode_have_its_density(mode):
    test = simulate_medoid(20, seed=2)
    at_mode = held_out(test, mode)
    assert at_mode.shape == (20,)
    same = tree({LAST: mode["posterior"][LAST].values[0, 0]}, n_draws=3)
    np.testing.assert_allclose(held_out(test, mode, same), at_mode, rtol=1e-12)
    # a score of nothing is random order
    nothing = tree({LAST: np.zeros(4)})
    np.testing.assert_allclose(held_out(test, mode, nothing), -np.log(120), rtol=1e-12)
