"""Dense layers: names, shapes and scales of weights, values by hand, bad input."""

import numpy as np
import pytensor.tensor as pt
import pytest
from scipy.special import expit

from models.context.set_utilities import fate_weights, feta_weights
from models.shared.networks import (
    ACTIVATIONS,
    dense_utility,
    dense_weights,
    draw_weights,
    weight_coords,
)

SELU = (1.0507009873554805, 1.6732632423543772)
BY_HAND = {
    "relu": lambda x: np.where(x > 0, x, 0),
    "selu": lambda x: SELU[0] * np.where(x > 0, x, SELU[1] * np.expm1(np.minimum(x, 0))),
    "silu": lambda x: x * expit(x),
    "tanh": np.tanh,
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_by_hand_and_at_a_thousand(name):
    x = pt.dvector("x")
    y = ACTIVATIONS[name].function(x)
    at = np.array([-1000.0, -2.0, -0.1, 0.1, 3.0, 1000.0])
    np.testing.assert_allclose(y.eval({x: at}), BY_HAND[name](at), rtol=1e-14)
    slope = pt.grad(y.sum(), x).eval({x: at})
    step = (BY_HAND[name](at + 1e-6) - BY_HAND[name](at - 1e-6)) / 2e-6
    np.testing.assert_allclose(slope, step, rtol=1e-4, atol=1e-8)


def test_every_activation_has_a_test():
    assert set(BY_HAND) == set(ACTIVATIONS)


def test_layers_by_hand(rng):
    w = draw_weights(dense_weights(3, (4, 2)), random_seed=1)
    w["score_0_b"] += 0.3
    x = rng.normal(size=(2, 5, 3))
    h = BY_HAND["relu"](x @ w["score_0_W"] + 0.3)
    expected = BY_HAND["relu"](h @ w["score_1_W"]) @ w["score_out_W"]
    np.testing.assert_allclose(dense_utility(x, w).eval(), expected, rtol=1e-13)


def test_without_hidden_layers_it_is_linear(rng):
    x, beta = rng.normal(size=(5, 3)), rng.normal(size=3)
    found = dense_utility(x, {"score_out_W": beta}).eval()
    np.testing.assert_allclose(found, x @ beta, rtol=1e-13)


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize(
    "list_weights",
    [
        lambda a: dense_weights(10, (100, 50), activation=a),
        lambda a: fate_weights(10, (100,), (100, 50), activation=a),
        lambda a: feta_weights(10, (50,), (50,), activation=a),
    ],
)
def test_scales_are_about_one_over_the_root_of_the_inputs_and_dims_are_distinct(name, list_weights):
    specs = list_weights(name)
    assert set(weight_coords(specs)) == {dim for spec in specs.values() for dim in spec.dims}
    for label, spec in specs.items():
        assert len(spec.dims) == len(set(spec.dims)) == len(spec.shape)
        if not label.endswith("_b"):
            assert 0.25 <= spec.scale * spec.shape[0] ** 0.5 <= 1.5


def test_axes_of_one_name_have_one_length():
    for specs in (fate_weights(3, (4, 5), (6,)), feta_weights(3)):
        for spec in specs.values():
            for dim, n in zip(spec.dims, spec.shape, strict=True):
                assert weight_coords(specs)[dim] == range(n)


def test_equal_seeds_give_equal_weights_and_biases_start_at_zero():
    specs = fate_weights(2, (4,), (4,))
    one, same, other = (draw_weights(specs, seed) for seed in (1, np.random.default_rng(1), 2))
    for name, value in one.items():
        np.testing.assert_array_equal(value, same[name])
        assert (value == other[name]).all() == name.endswith("_b")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: dense_weights(2, (4, 0)), r"^`score_widths` must be positive whole .*; got 0\.$"),
        (lambda: fate_weights(2, (2.5,)), r"^`set_widths` must be positive whole .*; got 2\.5\.$"),
        (lambda: feta_weights(0), r"^`n_features` must be positive whole numbers; got 0\.$"),
        (
            lambda: dense_weights(2, (4,), activation="gelu"),
            r"^`activation` must be one of 'relu', 'selu', 'silu', 'tanh'; got 'gelu'\.$",
        ),
    ],
)
def test_invalid_weights_raise(call, message):
    with pytest.raises(ValueError, match=message):
        call()
