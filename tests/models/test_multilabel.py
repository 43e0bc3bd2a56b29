"""Multilabel networks: files, metrics, objectives by hand, and the study."""

import math

import numpy as np
import pytensor.tensor as pt
import pytest
from scipy.sparse import csr_array

import models.multilabel.study as study
from bayesrank.likelihoods.plackett_luce import weak_order_logp
from models.multilabel.data import Multilabel, read_multilabel
from models.multilabel.metrics import label_propensities, multilabel_metrics
from models.multilabel.model import OBJECTIVES, build, fit, predict
from models.multilabel.study import held_back

TEXT = "3 4 3\n2,0 0:0.5 3:1\n1 2:-2e-1\n0\n"


@pytest.fixture
def file(tmp_path):
    """Write text to a file and return its path."""

    def write(text):
        path = tmp_path / "data.txt"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_labels_and_features_are_sparse_matrices_of_the_samples(file):
    data = read_multilabel(file(TEXT))
    assert data.features.toarray().tolist() == [[0.5, 0, 0, 1], [0, 0, -0.2, 0], [0, 0, 0, 0]]
    assert data.labels.toarray().tolist() == [[1, 0, 1], [0, 1, 0], [1, 0, 0]]
    assert isinstance(data.features, csr_array)
    assert (data.n_samples, data.n_features, data.n_labels) == (3, 4, 3)
    assert repr(data) == "Multilabel: 3 samples with 4 features, 1 to 2 of 3 labels each"


def test_the_labels_of_a_sample_are_a_block_before_all_others(file):
    data = read_multilabel(file(TEXT))
    assert data.ranks().tolist() == [[1, 2, 1], [2, 1, 2], [1, 2, 2]]
    assert data.ranks([2, 0]).tolist() == [[1, 2, 2], [1, 2, 1]]
    rankings = data.to_rankings([2, 0])
    assert rankings.rankers.tolist() == [2, 0]
    assert rankings.item.tolist() == [[0, 1, 2], [0, 2, 1]]
    assert rankings.ranks.tolist() == [[1, 2, 2], [1, 1, 2]]


LABELS = [
    [1, 0, 0, 0, 1, 0, 0, 0],
    [0, 1, 0, 0, 0, 1, 0, 0],
    [0, 1, 1, 1, 0, 1, 1, 0],
    [0, 0, 0, 1, 0, 0, 0, 1],
    [1, 0, 0, 0, 1, 0, 0, 0],
    [0, 0, 0, 0, 0, 0, 0, 0],
]
SCORES = np.sin(1 + 3.7 * np.arange(6)[:, None] + 2.3 * np.arange(8))


def test_precision_by_hand():
    # places of the positives: 1 and 3; 2
    scores, labels = [[0.9, 0.1, 0.5], [0.8, 0.3, 0.2]], [[1, 1, 0], [0, 1, 0]]
    means = multilabel_metrics(scores, labels, k=[1, 2, 3])
    expected = {"precision@1": 1 / 2, "precision@2": 2 / 4, "precision@3": 3 / 6}
    d2, d3 = 1 / np.log2([3, 4])
    # of at best 1 and 1 + d2, and of 1
    expected |= {"ndcg@1": 1 / 2, "ndcg@2": (1 / (1 + d2) + d2) / 2}
    expected |= {"ndcg@3": ((1 + d3) / (1 + d2) + d2) / 2}
    assert means.to_dict() == pytest.approx(expected)


def test_figures_of_napkinxc():
    # napkinxc 0.7.2: Jain_et_al_propensity, precision_at_k, psprecision_at_k(1 / p)
    p = label_propensities(csr_array(LABELS))
    assert p.round(6).tolist() == [0.603138 if n == 2 else 0.558111 for n in np.sum(LABELS, axis=0)]
    means = multilabel_metrics(SCORES, csr_array(LABELS), k=range(1, 6), propensities=p)
    precision, _, psp, _ = means.to_numpy().reshape(4, 5).round(6).tolist()
    assert precision == [0.166667, 0.166667, 0.222222, 0.291667, 0.333333]
    assert psp == [0.193748, 0.195274, 0.362984, 0.578391, 0.773449]


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
        ("exact", "FAST_COMPILE"),
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


@pytest.mark.slow
def test_the_study_in_its_reduced_size(data_dir):
    tables = study.main([str(data_dir), "--quick", "--row", "Bibtex"])
    assert list(tables) == ["precision", "propensities", "fits"]
    rows = tables["precision"].rows
    assert list(rows.index) == [f"Bibtex, {word}" for word in study.WORDS.values()]
    # from 600 samples little is learned, but far more than which labels are frequent
    assert all(float(cell.split()[0]) > 15 for cell in rows["P@1"])
    assert "±" not in rows.to_string()
