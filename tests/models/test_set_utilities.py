"""Utilities that depend on the set: one battery for all networks, then what each is by hand."""

import math
from typing import Any, NamedTuple

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.graph.traversal import ancestors

from bayesrank.likelihoods.plackett_luce import weak_order_logp
from models.context.set_utilities import fate_utility, fate_weights, feta_utility, feta_weights
from models.shared.networks import dense_utility, dense_weights, draw_weights
from tests.oracles import gradient


class Network(NamedTuple):
    """A network of a toy size."""

    weights: Any
    utility: Any
    options: dict[str, Any]
    context: tuple[str, ...]  # ends of the names of the weights that see the others


NETWORKS = {
    "fate": Network(lambda: fate_weights(2, (4, 3), (5, 4)), fate_utility, {}, ("_V",)),
    "fate of the mean features, selu": Network(
        lambda: fate_weights(2, (), (5,), activation="selu"),
        fate_utility,
        {"activation": "selu"},
        ("_V",),
    ),
    "feta": Network(lambda: feta_weights(2, (4,), (5, 3)), feta_utility, {}, ("_V",)),
    "feta, unbounded": Network(
        lambda: feta_weights(2, None, (5, 3), bounded=False, mirrored=True, activation="silu"),
        feta_utility,
        {"bounded": False, "activation": "silu"},
        ("_V", "_M"),
    ),
}


@pytest.fixture(params=NETWORKS, scope="module")
def network(request):
    return NETWORKS[request.param]


@pytest.fixture(scope="module")
def weights(network):
    values = draw_weights(network.weights(), random_seed=8)
    rng = np.random.default_rng(9)
    # biases that are not zero, so that nothing hides behind them
    return {n: w + rng.normal(0, 0.3, w.shape) if n[-1] == "b" else w for n, w in values.items()}


@pytest.fixture(scope="module")
def utility(network, weights):
    """Utilities as a function of features (3 axes) and mask, compiled once."""
    x, mask = pt.dtensor3("x"), pt.matrix("mask", dtype="bool")
    u = network.utility(x, weights, mask=mask, **network.options)
    f = pytensor.function([x, mask], u, mode="FAST_COMPILE")

    def call(features, used=None):
        features = np.asarray(features, dtype=float)
        return f(features, np.ones(features.shape[:-1], bool) if used is None else used)

    return call


# What holds for all


def test_the_order_of_the_items_makes_no_difference(rng, utility):
    x = rng.normal(size=(3, 6, 2))
    order = rng.permutation(6)
    np.testing.assert_allclose(utility(x[:, order]), utility(x)[:, order], rtol=1e-12)


def test_company_makes_a_difference(rng, utility):
    x = rng.normal(size=(1, 4, 2))
    other = x.copy()
    other[0, 3] += 1.0
    change = np.diff(utility(other)[0, :3] - utility(x)[0, :3])
    assert np.abs(change).max() > 1e-4


@pytest.mark.parametrize("padding", [0.0, 7.0, np.nan, np.inf])
def test_a_mask_is_removal_and_padding_of_any_width_is_zero(rng, utility, padding):
    x = rng.normal(size=(2, 5, 2))
    used = np.array([[True, False, True, True, False], [False, True, True, False, True]])
    x[~used] = padding
    u = utility(x, used)
    np.testing.assert_allclose(u[used].reshape(2, 3), utility(x[used].reshape(2, 3, 2)), rtol=1e-12)
    assert (u[~used] == 0).all()
    wider = np.concatenate([x, np.full((2, 4, 2), padding)], axis=1)
    more = utility(wider, np.pad(used, ((0, 0), (0, 4))))
    np.testing.assert_allclose(more[:, :5], u, rtol=1e-12)


def test_any_number_of_leading_axes(rng, network, weights, utility):
    x = rng.normal(size=(2, 3, 4, 2))
    flat = utility(x.reshape(6, 4, 2))
    full = network.utility(x, weights, **network.options)
    np.testing.assert_allclose(full.eval(mode="FAST_COMPILE"), flat.reshape(2, 3, 4), rtol=1e-12)
    one = network.utility(x[1, 2], weights, **network.options)
    np.testing.assert_allclose(one.eval(mode="FAST_COMPILE"), flat[5], rtol=1e-12)


def test_without_weights_of_the_context_company_makes_no_difference(rng, network, weights):
    blind = {n: np.zeros_like(w) if n.endswith(network.context) else w for n, w in weights.items()}
    x = rng.normal(size=(5, 2))
    x[4] = x[3]
    both = [network.utility(x[s], blind, **network.options) for s in ([0, 1, 4], [0, 1, 2, 3])]
    few, many = (u.eval(mode="FAST_COMPILE") for u in both)
    np.testing.assert_allclose(few, many[[0, 1, 3]], rtol=1e-12)


def test_features_of_a_thousand_and_sets_that_are_empty_stay_finite(network, weights):
    names = [*weights]
    values = [
        pt.constant(30 * weights[n]) if n[-1] == "b" else pt.constant(weights[n]) for n in names
    ]
    x = pt.constant([[[1e3, -1e3], [-1e3, 1e3], [0.0, 1e3], [np.nan, np.inf]]])
    mask = np.array([[True, True, True, False]])
    x, mask = pt.concatenate([x, x]), np.concatenate([mask, np.zeros_like(mask)])
    u = network.utility(x, dict(zip(names, values, strict=True)), mask=mask, **network.options)
    score, *slopes = pytensor.function(
        [], [u, *pt.grad(pt.sum(pt.sin(u)), values)], mode="FAST_COMPILE"
    )()
    assert np.isfinite(score).all()
    assert (score[1] == 0).all()
    assert all(np.isfinite(slope).all() for slope in slopes)


SMALLEST = {
    "fate": (fate_utility, fate_weights(2, (3,), (3,))),
    "feta": (feta_utility, feta_weights(2, None, (3,))),
}


@pytest.mark.parametrize(
    ("name", "mode"),
    # numba compiles networks for minutes, of which nothing is ours
    [
        *((name, "FAST_COMPILE") for name in SMALLEST),
        pytest.param("fate", "NUMBA", marks=pytest.mark.slow),
    ],
)
def test_gradients_agree_with_finite_differences_under_all_backends(rng, name, mode):
    net, specs = SMALLEST[name]
    x, used = rng.normal(size=(2, 3, 2)), np.array([[True] * 3, [True, True, False]])
    point = np.concatenate([v.ravel() for v in draw_weights(specs, random_seed=3).values()])

    # all weights in one vector, of a length that JAX knows when it compiles
    flat, weights, end = pt.tensor("flat", dtype="float64", shape=point.shape), {}, 0
    for label, spec in specs.items():
        start, end = end, end + math.prod(spec.shape)
        weights[label] = flat[start:end].reshape(spec.shape)
    total = pt.sum(net(x, weights, mask=used) ** 2)
    slopes = []
    for backend in (mode, "JAX"):
        f = pytensor.function([flat], [total, pt.grad(total, flat)], mode=backend)
        slopes.append(np.asarray(f(point)[1]))
        numeric = gradient(lambda at, f=f: float(f(at)[0]), point)
        np.testing.assert_allclose(slopes[-1], numeric, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(*slopes, rtol=1e-10, atol=1e-13)


# PyTensor says that its checks of what broadcasts are not among what JAX compiles
@pytest.mark.filterwarnings("ignore:Skipping Assert")
@pytest.mark.parametrize(
    ("net", "n_axes"),
    [
        (fate_utility, 2),
        pytest.param(fate_utility, 4, marks=pytest.mark.slow),
        pytest.param(feta_utility, 3, marks=pytest.mark.slow),
    ],
)
def test_jax_needs_to_know_no_length_of_deep_networks(rng, net, n_axes):
    # lengths that are expressions of earlier layers took minutes and gigabytes to compile
    specs = {
        fate_utility: fate_weights(2, (3,) * 3, (3,) * 3),
        feta_utility: feta_weights(2, (3,) * 3, (3,) * 3),
    }[net]
    values = draw_weights(specs, random_seed=1)
    wrt = {n: pt.tensor(n, dtype="float64", shape=(None,) * v.ndim) for n, v in values.items()}
    x = pt.tensor("x", dtype="float64", shape=(None,) * n_axes)
    utility = net(x, wrt)
    slopes = pt.grad(pt.sum(utility**2), [*wrt.values()])
    at = rng.normal(size=(2, 3, 4, 2)[4 - n_axes :])
    by_mode = [
        pytensor.function([x, *wrt.values()], [utility, *slopes], mode=mode)(at, *values.values())
        for mode in ("JAX", "FAST_COMPILE")
    ]
    for one, other in zip(*by_mode, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


def test_a_set_of_one_item_has_a_utility_and_padding_does_not_change_it(rng, utility):
    x = rng.normal(size=(3, 1, 2))
    alone = utility(x)
    assert np.isfinite(alone).all()
    padded = np.concatenate([np.full((3, 2, 2), np.nan), x], axis=1)
    u = utility(padded, np.tile([False, False, True], (3, 1)))
    np.testing.assert_allclose(u[:, 2:], alone, rtol=1e-12)


# In single precision


@pytest.mark.parametrize("mode", ["FAST_COMPILE", pytest.param("JAX", marks=pytest.mark.slow)])
def test_utilities_beyond_what_single_precision_exponentiates_have_finite_densities(mode):
    # exp(89) is infinite in float32, and the network hands its utilities on in double
    x = np.tile([[1.0, 0.0], [0.0, 0.0], [-1.0, 0.0]], (4, 1, 1))
    ranks = np.array([[1, 2, 3], [3, 2, 1], [1, 3, 2], [2, 2, 1]])
    beta = pt.tensor("beta", dtype="float64", shape=(2,))
    utility = fate_utility(x, {"score_out_W": beta, "score_out_V": np.zeros(2)}, dtype="float32")
    logp = weak_order_logp(utility, ranks)
    f = pytensor.function([beta], [logp, pt.grad(pt.sum(logp), beta)], mode=mode)
    # an item that is taken before a better one costs how much the best that is left is better
    lost = np.array([0, 3, 1, 2])
    for top in (90.0, 1000.0):
        value, slope = f([top, 0.0])
        np.testing.assert_allclose(value, -lost * top, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(slope, [-lost.sum(), 0.0], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("name", "mode", "masked"),
    [
        ("fate", "JAX", True),
        ("feta", "FAST_COMPILE", False),
        ("dense", "FAST_COMPILE", False),
        pytest.param("fate", "NUMBA", False, marks=pytest.mark.slow),
    ],
)
def test_single_precision_agrees_in_value_and_gradient(rng, name, mode, masked):
    net, specs = (SMALLEST | {"dense": (dense_utility, dense_weights(2, (4,)))})[name]
    x, values = rng.normal(size=(2, 3, 2)), draw_weights(specs, random_seed=3)
    used = np.array([[True] * 3, [True, True, False]]) if masked else None
    wrt = {n: pt.tensor(n, dtype="float64", shape=v.shape) for n, v in values.items()}
    found = []
    for dtype, by in ((None, "FAST_COMPILE"), ("float32", mode)):
        u = net(x, wrt, dtype=dtype, **({"mask": used} if masked else {}))
        outputs = [u, *pt.grad(pt.sum(u**2), [*wrt.values()])]
        assert u.dtype == "float64"
        found.append(pytensor.function([*wrt.values()], outputs, mode=by)(*values.values()))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
    assert any((one != other).any() for one, other in zip(*found, strict=True))


@pytest.mark.parametrize("masked", [True, False])
def test_nothing_in_a_network_of_single_precision_is_double(network, weights, masked):
    x = pt.dtensor3("x")
    mask = pt.matrix("mask", dtype="bool") if masked else None
    wrt = {n: pt.tensor(n, dtype="float64", shape=v.shape) for n, v in weights.items()}
    graph = network.utility(x, wrt, mask=mask, dtype="float32", **network.options)
    parts = [v for v in ancestors([graph]) if v.owner is not None and v.dtype == "float64"]
    names = {type(getattr(v.owner.op, "scalar_op", v.owner.op)).__name__ for v in parts}
    assert names <= {"Cast", "Switch"}  # the way out, and the zeros of empty slots


@pytest.mark.parametrize(
    ("net", "specs"),
    [
        (dense_utility, dense_weights(2, ())),
        (fate_utility, fate_weights(2, (), ())),
        (feta_utility, feta_weights(2, None, ())),
    ],
)
def test_a_precision_that_is_not_known_raises(net, specs):
    with pytest.raises(ValueError, match=r"^`dtype` must be None or 'float32'; got 'float16'\."):
        net(np.zeros((3, 2)), draw_weights(specs, random_seed=1), dtype="float16")


# What each is by hand


def relu(x):
    return np.maximum(x, 0)


def test_fate_by_hand(rng):
    w = draw_weights(fate_weights(2, (4,), (5,)), random_seed=1)
    x = rng.normal(size=(3, 2))
    context = relu(x @ w["set_0_W"] + w["set_0_b"]).mean(axis=0)
    h = relu(
        np.array([[*row, *context] for row in x]) @ np.vstack([w["score_0_W"], w["score_0_V"]])
    )
    np.testing.assert_allclose(fate_utility(x, w).eval(), h @ w["score_out_W"], rtol=1e-12)


@pytest.mark.parametrize("bounded", [True, False])
def test_feta_by_hand(rng, bounded):
    w = draw_weights(feta_weights(2, (4,), (5,), bounded=bounded), random_seed=1)
    x = rng.normal(size=(3, 2))

    def beside(one, other):
        both = np.concatenate([one, other]) @ np.vstack([w["pair_0_W"], w["pair_0_V"]])
        u = relu(both) @ w["pair_out_W"]
        return 1 / (1 + np.exp(-u)) if bounded else u

    alone = relu(x @ w["item_0_W"]) @ w["item_out_W"]
    expected = [
        alone[i] + np.mean([beside(x[i], x[j]) for j in range(3) if j != i]) for i in range(3)
    ]
    np.testing.assert_allclose(feta_utility(x, w, bounded=bounded).eval(), expected, rtol=1e-12)


def test_feta_from_both_sides_by_hand(rng):
    w = draw_weights(feta_weights(2, None, (5,), mirrored=True), random_seed=1) | {
        "pair_out_b": 0.3
    }
    x = rng.normal(size=(3, 2))

    def hidden(one, other):
        return relu(np.concatenate([one, other]) @ np.vstack([w["pair_0_W"], w["pair_0_V"]]))

    def beside(one, other):
        u = hidden(one, other) @ w["pair_out_W"] + hidden(other, one) @ w["pair_out_M"] + 0.3
        return 1 / (1 + np.exp(-u))

    expected = [np.mean([beside(x[i], x[j]) for j in range(3) if j != i]) for i in range(3)]
    np.testing.assert_allclose(feta_utility(x, w).eval(), expected, rtol=1e-12)
    with pytest.raises(ValueError, match=r"`pair_widths` has none. Add a layer, or leave"):
        feta_weights(2, None, (), mirrored=True)


def test_feta_in_a_set_of_one_item_is_the_item_alone(rng):
    w = draw_weights(feta_weights(2, (4,), (5,)), random_seed=1)
    x = rng.normal(size=(3, 1, 2))
    alone = {n.replace("item", "score"): v for n, v in w.items() if n.startswith("item")}
    expected = dense_utility(x, alone).eval()
    np.testing.assert_allclose(feta_utility(x, w).eval(), expected, rtol=1e-12)


def test_feta_reproduces_preferences_that_turn_with_the_company():
    # a > b > c, but b > a > d: U1(a, c) = U1(b, d) = 1, U1(b, c) = U1(a, d) = 1/2, else none
    a, b, c, d = np.eye(4)
    likes = np.zeros((4, 4))
    likes[[0, 1, 1, 0], [2, 3, 2, 3]] = [1, 1, 0.5, 0.5]
    # one hidden unit for each pair, on only if both are there
    first, second = np.indices((4, 4)).reshape(2, -1)
    w = {
        "pair_0_W": np.eye(4)[:, first],
        "pair_0_V": np.eye(4)[:, second],
        "pair_0_b": np.full(16, -1.0),
        "pair_out_W": likes.ravel(),
    }
    u = feta_utility([[a, b, c], [a, b, d]], w, bounded=False).eval()
    np.testing.assert_allclose(u, [[0.5, 0.25, 0], [0.25, 0.5, 0]])
    # and bounded, where 0 is a half
    w |= {"pair_out_W": 8 * (likes.ravel() - 0.25), "pair_out_b": 0.0}
    u = feta_utility([[a, b, c], [a, b, d]], w).eval()
    assert u[0, 0] > u[0, 1] > u[0, 2]
    assert u[1, 1] > u[1, 0] > u[1, 2]


def test_fate_without_context_is_dense_and_without_layers_linear(rng):
    x, coefficient = rng.normal(size=(2, 3, 2)), np.array([2.0, -1.0])
    w = draw_weights(fate_weights(2, (4,), (5,)), random_seed=1)
    w["score_0_V"] *= 0
    score = {n: v for n, v in w.items() if n.startswith("score") and not n.endswith("V")}
    expected = dense_utility(x, score).eval()
    np.testing.assert_allclose(fate_utility(x, w).eval(), expected, rtol=1e-12)
    linear = {"score_out_W": coefficient, "score_out_V": np.zeros(2)}
    np.testing.assert_allclose(fate_utility(x, linear).eval(), x @ coefficient, rtol=1e-12)


# Bad input


FATE, FETA = fate_weights(2, (4,), (4,)), feta_weights(2, None, (4,))


@pytest.mark.parametrize(
    ("net", "specs", "without", "message"),
    [
        (
            fate_utility,
            fate_weights(3, (4,), (4,)),
            "",
            r"^Weight '\w+' expects 3 features; got 2\. P",
        ),
        (
            feta_utility,
            feta_weights(3, (4,), (4,)),
            "",
            r"^Weight '\w+' expects 3 features; got 2\. P",
        ),
        (feta_utility, FATE, "", r"'set_0_W', which this network does not use; .* or 'pair_'\.$"),
        (fate_utility, FATE, "score_0_V", r"^`weights` has no 'score_0_V'; it has set_0_W, "),
        (feta_utility, FETA, "pair_out_b", r"^`weights` has no 'pair_out_b'"),
    ],
)
def test_weights_that_do_not_fit_raise(net, specs, without, message):
    weights = draw_weights(specs, random_seed=1)
    weights.pop(without, None)
    with pytest.raises(ValueError, match=message):
        net(np.zeros((3, 2)), weights)


def test_a_bias_of_an_unbounded_pairwise_part_raises():
    weights = draw_weights(FETA, random_seed=1)
    with pytest.raises(ValueError, match=r"^`weights` has 'pair_out_b', .* set `bounded=True`"):
        feta_utility(np.zeros((3, 2)), weights, bounded=False)
