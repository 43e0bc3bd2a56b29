"""Multilabel networks: what is learned at toy size, by every objective, and what is refused."""

import numpy as np
import pymc as pm
import pytest
from scipy.sparse import csr_array

from bayesrank.data.multilabel import Multilabel
from bayesrank.likelihoods.plackett_luce import plackett_luce_logp
from bayesrank.results.multilabel_metrics import multilabel_metrics
from models.multilabel import OBJECTIVES, build, fit, predict
from models.multilabel_study import held_back, load, run


def toy(n, seed):
    """Six labels; which two a sample has is said by its first two features, by their signs."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    labels = np.zeros((n, 6), dtype=int)
    labels[np.arange(n), (x[:, 0] > 0).astype(int)] = 1
    labels[np.arange(n), 2 + (x[:, 1] > 0)] = 1
    return Multilabel(csr_array(x), csr_array(labels))


@pytest.mark.parametrize(
    "objective",
    # each compiles for half a minute
    [
        name if name == "exact" else pytest.param(name, marks=pytest.mark.slow)
        for name in OBJECTIVES
    ],
)
def test_every_objective_learns_which_labels_a_sample_has(objective):
    train, test = toy(600, 1), toy(200, 2)
    fitted = fit(
        train, objective=objective, learning_rate=0.03, n_units=8, epochs=12, batch_size=50,
        validation=held_back(train), progressbar=False,
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


def test_a_sample_without_labels_contributes_zero():
    data = toy(4, 1)
    labels = data.labels.toarray()
    labels[1:3] = [[0] * 6, [1] * 6]
    silenced = Multilabel(data.features, csr_array(labels))
    for objective in OBJECTIVES:
        model = build(silenced, objective=objective, n_units=2)
        point = {name: np.full_like(x, 0.3) for name, x in model.initial_point().items()}
        terms = model.observed_RVs or model.potentials
        logp = model.compile_fn(
            model.logp(vars=terms, sum=False), inputs=model.value_vars, mode="FAST_COMPILE"
        )(point)
        assert logp[0].shape == (4,)
        assert (np.abs(logp[0]) > 0.1).tolist() == [True, False, False, True]
        np.testing.assert_allclose(logp[0][1:3], 0, atol=1e-9)


def test_an_unknown_objective_is_named():
    with pytest.raises(ValueError, match=r"`objective` must be one of 'exact'.*got 'ListNet'"):
        build(toy(3, 1), objective="ListNet")


def test_features_of_another_length_are_refused():
    fitted = fit(toy(4, 1), n_units=1, epochs=1, batch_size=4, validation=0, progressbar=False)
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


def test_the_study_runs_on_a_part_of_the_published_data(data_dir):
    train, test = (
        Multilabel(data.features[:200], data.labels[:200]) for data in load(data_dir, "bibtex")
    )
    one = run(train, test, "exact", 1e-2, 1, epochs=2, n_units=4)
    assert one.means.index.tolist()[:2] == ["precision@1", "precision@3"]
    assert one.means.between(0, 1).all()
    assert 0 <= one.chosen_by <= 1
