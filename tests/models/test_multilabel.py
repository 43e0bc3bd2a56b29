"""Multilabel networks: what is learned at toy size, by every objective, and what is refused."""

import math

import numpy as np
import pytensor.tensor as pt
import pytest
from scipy.sparse import csr_array

from bayesrank.likelihoods.plackett_luce import weak_order_logp
from models.multilabel.data import Multilabel
from models.multilabel.metrics import multilabel_metrics
from models.multilabel.model import OBJECTIVES, build, fit, predict
from models.multilabel.study import held_back


def toy(n, seed):
    """Six labels; which two a sample has is said by its first two features, by their signs."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    labels = np.zeros((n, 6), dtype=int)
    labels[np.arange(n), (x[:, 0] > 0).astype(int)] = 1
    labels[np.arange(n), 2 + (x[:, 1] > 0)] = 1
    return Multilabel(csr_array(x), csr_array(labels))


@pytest.mark.parametrize(
    ("objective", "mode"),
    # the default mode of fits compiles for half a minute
    [
        *((name, "FAST_COMPILE") for name in OBJECTIVES),
        *(pytest.param(name, "NUMBA", marks=pytest.mark.slow) for name in OBJECTIVES),
    ],
)
def test_every_objective_learns_which_labels_a_sample_has(objective, mode):
    train, test = toy(600, 1), toy(200, 2)
    fitted = fit(
        train, objective=objective, learning_rate=0.03, n_units=8, epochs=12, batch_size=50,
        validation=held_back(train), progressbar=False, mode=mode,
    )  # fmt: skip
    scores = predict(fitted, test.features)
    assert scores.shape == (200, 6)
    assert multilabel_metrics(scores, test.labels, k=[2])["precision@2"] > 0.9


def test_the_log_posterior_is_prior_and_exact_likelihood():
    data = toy(5, 3)
    model = build(data, n_units=4, weight_scale=1.0)
    rng = np.random.default_rng(1)
    point = {name: rng.normal(size=x.shape) for name, x in model.initial_point().items()}
    shapes = {name: x.shape for name, x in point.items()}
    assert shapes == {
        "hidden_0_W": (3, 4), "hidden_0_b": (4,), "label_W": (4, 6), "label_b": (6,)
    }  # fmt: skip
    hidden = np.maximum(data.features @ point["hidden_0_W"] + point["hidden_0_b"], 0)
    utility = hidden @ point["label_W"] + point["label_b"]
    expected = weak_order_logp(utility, data.ranks().astype(int)).eval().sum()
    got = model.compile_logp(model.observed_RVs)(point)
    assert got == pytest.approx(expected)


def evaluate(objective, utilities, labels):
    """Give the terms of samples with the same utilities, and the slopes of their sum."""
    labels = np.array(labels)
    data = Multilabel(csr_array((len(labels), 2)), csr_array(labels))
    model = build(data, objective=objective, n_units=1)
    point = {name: np.zeros_like(x) for name, x in model.initial_point().items()}
    point["label_b"] = np.array(utilities, dtype=float)
    (terms,) = model.logp(vars=model.observed_RVs or model.potentials, sum=False)
    (bias,) = (value for value in model.value_vars if value.name == "label_b")
    outputs = [terms, pt.grad(terms.sum(), bias)]
    return model.compile_fn(outputs, inputs=model.value_vars, mode="FAST_COMPILE")(point)


TOTAL = math.e + 1 + math.e**2
BY_HAND = {  # at the utilities 1, 0, 2; of a sample with the first label, and with first and last
    "exact": [
        1 - math.log(TOTAL),
        3 - math.log(TOTAL) + math.log(1 / (TOTAL - math.e) + 1 / (TOTAL - math.e**2)),
    ],
    "bound": [1 - math.log(TOTAL), math.log(2) + 3 - 2 * math.log(TOTAL)],
    "RankNet": [
        -math.log(1 + math.exp(-1)) - math.log(1 + math.exp(1)),
        -math.log(1 + math.exp(-1)) - math.log(1 + math.exp(-2)),
    ],
    "RankSVM": [-(0 + 2), 0],
}


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_objectives_of_three_labels_are_as_by_hand(objective):
    terms, _ = evaluate(objective, [1, 0, 2], [[1, 0, 0], [1, 0, 1]])
    np.testing.assert_allclose(terms, BY_HAND[objective], atol=1e-10)
