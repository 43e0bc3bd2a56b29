"""Metrics of multilabel predictions: by hand, by another program, and where scores are tied."""

import sys
from itertools import permutations

import numpy as np
import pytest
from scipy.sparse import csr_array

from models.multilabel.metrics import label_propensities, multilabel_metrics

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


def test_scored_by_propensity_a_rare_label_counts_for_more_and_the_best_order_is_one():
    scores, labels, p = [[0.9, 0.1, 0.5]], [[1, 1, 0]], [0.5, 0.25, 1.0]
    means = multilabel_metrics(scores, labels, k=[1, 2, 3], propensities=p)
    # weights 2 and 4: found 2, 2, 6 of at best 4, 6, 6
    assert means[["psp@1", "psp@2", "psp@3"]].tolist() == pytest.approx([1 / 2, 1 / 3, 1])
    # weights 2, 0, 4 by place, of at best 4, 2
    d2, d3 = 1 / np.log2([3, 4])
    expected = [2 / 4, 2 / (4 + 2 * d2), (2 + 4 * d3) / (4 + 2 * d2)]
    assert means[["psndcg@1", "psndcg@2", "psndcg@3"]].tolist() == pytest.approx(expected)


def test_figures_of_napkinxc():
    # napkinxc 0.7.2: Jain_et_al_propensity, precision_at_k, psprecision_at_k(1 / p)
    p = label_propensities(csr_array(LABELS))
    assert p.round(6).tolist() == [0.603138 if n == 2 else 0.558111 for n in np.sum(LABELS, axis=0)]
    means = multilabel_metrics(SCORES, csr_array(LABELS), k=range(1, 6), propensities=p)
    precision, _, psp, _ = means.to_numpy().reshape(4, 5).round(6).tolist()
    assert precision == [0.166667, 0.166667, 0.222222, 0.291667, 0.333333]
    assert psp == [0.193748, 0.195274, 0.362984, 0.578391, 0.773449]


def test_tied_scores_give_the_mean_over_their_orders():
    labels, p = [[1, 0, 1, 0]], [0.5, 1.0, 0.2, 0.7]
    tied = multilabel_metrics([[1.0, 1.0, 1.0, 0.0]], labels, k=[1, 2], propensities=p)
    orders = [
        multilabel_metrics([[*order, 0.0]], labels, k=[1, 2], propensities=p)
        for order in permutations([3.0, 2.0, 1.0])
    ]
    assert tied.tolist() == pytest.approx(np.mean(orders, axis=0).tolist())


def test_looking_at_parts_changes_nothing(monkeypatch):
    p = label_propensities(LABELS)
    whole = multilabel_metrics(SCORES, LABELS, k=[3, 1], propensities=p)
    # the room exports a function of the name of its file
    monkeypatch.setattr(sys.modules["models.multilabel.metrics"], "CHUNK", 1)
    parts = multilabel_metrics(SCORES, LABELS, k=[3, 1], propensities=p)
    names = ("precision", "ndcg", "psp", "psndcg")
    assert whole.index.tolist() == [f"{name}@{k}" for name in names for k in (3, 1)]
    np.testing.assert_allclose(parts, whole)


def test_propensities_by_hand():
    # C = (log 4 - 1) 2.5^0.55 = 0.63942; labels of 3 and of 1
    expected = 1 / (1 + 0.63942 * np.array([4.5, 2.5]) ** -0.55)
    labels = [[1, 0], [1, 0], [1, 0], [0, 1]]
    np.testing.assert_allclose(label_propensities(labels), expected, rtol=1e-4)
    rarer = label_propensities(labels, a=0.5, b=0.4)
    assert rarer[0] > rarer[1]


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"scores": [[0.1, 0.2]]}, r"`scores` has shape \(1, 2\) and `labels` \(1, 3\)"),
        ({"scores": [[0.1, np.nan, 0.2]]}, "finite number; got nan for label 1 of sample 0"),
        ({"labels": [[1, 4, 0]]}, "`labels` holds 4; it says who has which label"),
        ({"labels": [[0, 0, 0]]}, "No sample of `labels` has a label"),
        ({"k": [4]}, "`k` has 4; depths are whole numbers from 1 to 3"),
        ({"k": [0]}, "`k` has 0"),
        ({"propensities": [0.5, 0.5]}, r"`propensities` has shape \(2,\) for 3 labels"),
        ({"propensities": [0.5, 0.0, 1]}, r"probability in \(0, 1\]; got 0\.0"),
        ({"propensities": [0.5, 1.5, 1]}, r"probability in \(0, 1\]; got 1\.5"),
    ],
)
def test_what_makes_no_sense_is_refused(change, match):
    given = {"scores": [[0.1, 0.2, 0.3]], "labels": [[1, 0, 0]], "k": [1]} | change
    with pytest.raises(ValueError, match=match):
        multilabel_metrics(**given)


def test_propensities_need_three_samples():
    with pytest.raises(ValueError, match="`labels` has 2 samples; propensities need 3 or more"):
        label_propensities([[1], [1]])
