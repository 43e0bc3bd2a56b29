"""Multilabel networks: what is learned at toy size, by every objective, and what is refused."""

import math

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from scipy.sparse import csr_array

from bayesrank.likelihoods.pairs.graph import FIRST, bradley_terry_log_probabilities
from bayesrank.likelihoods.plackett_luce.bounds import plackett_luce_bound
from bayesrank.likelihoods.plackett_luce.graph import plackett_luce_logp
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
    expected = plackett_luce_logp(utility, data.ranks().astype(int)).eval().sum()
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


@pytest.mark.parametrize("scale", [1, 30, 1000])
@pytest.mark.parametrize("objective", ["bound", "RankNet", "RankSVM"])
def test_the_fast_forms_are_sums_over_pairs_and_the_bound(objective, scale):
    rng = np.random.default_rng(1)
    w = scale * rng.normal(size=30)
    w[5:8] = w[4]
    has = np.arange(30) < np.array([1, 3, 5, 6, 13, 29])[:, None]
    has = rng.permuted(has, axis=1)
    ranks = np.where(has, 1, 2)

    u = pt.vector("u")
    pairs = has[:, :, None] & ~has[:, None, :]
    of_pair = {
        "RankNet": lambda better, worse: bradley_terry_log_probabilities(better - worse)[FIRST],
        "RankSVM": lambda better, worse: -pt.maximum(1 - (better - worse), 0.0),
    }
    if objective == "bound":
        expected = plackett_luce_bound(pt.tile(u[None, :], (6, 1)), ranks)
    else:
        terms = of_pair[objective](u[:, None], u[None, :])
        expected = pt.sum(pt.where(pairs, terms, 0.0), axis=(1, 2))
    slow = pytensor.function([u], [expected, pt.grad(expected.sum(), u)], mode="FAST_COMPILE")
    for got, value in zip(evaluate(objective, w, has.astype(int)), slow(w), strict=True):
        np.testing.assert_allclose(got, value, rtol=1e-9, atol=1e-9)


def test_ranknet_of_samples_near_and_far_in_one_batch():
    rng = np.random.default_rng(2)
    x = np.array([[0.3], [500], [1], [0], [20000]])
    has = rng.permuted(np.arange(9) < np.array([2, 3, 0, 9, 7])[:, None], axis=1)
    model = build(Multilabel(csr_array(x), csr_array(has)), objective="RankNet", n_units=1)
    W, b = rng.normal(size=(1, 9)), rng.normal(size=9)
    point = {"hidden_0_W": np.ones((1, 1)), "hidden_0_b": np.zeros(1), "label_W": W, "label_b": b}
    utility = x @ W + b
    lead = utility[:, None, :] - utility[:, :, None]
    pairs = has[:, :, None] & ~has[:, None, :]
    expected = -np.where(pairs, np.logaddexp(0, lead), 0).sum(axis=(1, 2))
    (terms,) = model.logp(vars=model.potentials, sum=False)
    fn = model.compile_fn([terms], inputs=model.value_vars, mode="FAST_COMPILE")
    np.testing.assert_allclose(fn(point)[0], expected, rtol=1e-12)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_samples_with_no_label_or_all_of_them_contribute_zero(objective):
    terms, slope = evaluate(objective, [0.3, -1, 2, 0], [[0, 0, 0, 0], [1, 0, 0, 1], [1, 1, 1, 1]])
    assert abs(terms[1]) > 0.1
    np.testing.assert_allclose(terms[[0, 2]], 0, atol=1e-12)
    _, alone = evaluate(objective, [0.3, -1, 2, 0], [[1, 0, 0, 1]])
    np.testing.assert_allclose(slope, alone, atol=1e-12)


def test_an_unknown_objective_is_named():
    with pytest.raises(ValueError, match=r"`objective` must be one of 'exact'.*got 'ListNet'"):
        build(toy(3, 1), objective="ListNet")


def test_features_of_another_length_are_refused():
    fitted = fit(
        toy(4, 1),
        n_units=1,
        epochs=1,
        batch_size=4,
        validation=0,
        progressbar=False,
        mode="FAST_COMPILE",
    )
    with pytest.raises(ValueError, match="`features` has 2 columns; the model was fitted to 3"):
        predict(fitted, np.ones((1, 2)))


@pytest.mark.parametrize("name", ["weight_scale", "n_units"])
def test_what_is_not_positive_is_refused(name):
    with pytest.raises(ValueError, match=rf"`{name}`"):
        build(toy(3, 1), **{name: 0})


def test_the_model_divides_into_batches_all_that_belongs_to_samples():
    model = build(toy(7, 1), objective="RankNet", n_units=2)
    assert isinstance(model, pm.Model)
    of_samples = {n for n, d in model.named_vars_to_dims.items() if d and d[0] == "ranking"}
    assert {"features", "ranks", "positive"} <= of_samples
