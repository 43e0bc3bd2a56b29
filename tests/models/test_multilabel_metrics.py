"""Metrics of multilabel predictions: by hand, by another program, and where scores are tied."""

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


def test_figures_of_napkinxc():
    # napkinxc 0.7.2: Jain_et_al_propensity, precision_at_k, psprecision_at_k(1 / p)
    p = label_propensities(csr_array(LABELS))
    assert p.round(6).tolist() == [0.603138 if n == 2 else 0.558111 for n in np.sum(LABELS, axis=0)]
    means = multilabel_metrics(SCORES, csr_array(LABELS), k=range(1, 6), propensities=p)
    precision, _, psp, _ = means.to_numpy().reshape(4, 5).round(6).tolist()
    assert precision == [0.166667, 0.166667, 0.222222, 0.291667, 0.333333]
    assert psp == [0.193748, 0.195274, 0.362984, 0.578391, 0.773449]


def test_propensities_by_hand():
    # C = (log 4 - 1) 2.5^0.55 = 0.63942; labels of 3 and of 1
    expected = 1 / (1 + 0.63942 * np.array([4.5, 2.5]) ** -0.55)
    labels = [[1, 0], [1, 0], [1, 0], [0, 1]]
    np.testing.assert_allclose(label_propensities(labels), expected, rtol=1e-4)
    rarer = label_propensities(labels, a=0.5, b=0.4)
    assert rarer[0] > rarer[1]
