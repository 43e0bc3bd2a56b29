"""Multilabel files: read as written, with every fault named by file and line."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from models.multilabel.data import read_multilabel

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


@pytest.mark.parametrize(
    ("name", "part", "shape", "silent"),
    [
        ("delicious", "train", (12920, 500, 983), 10),
        ("delicious", "test", (3185, 500, 983), 4),
        ("bibtex", "train", (4880, 1836, 159), 0),
        ("bibtex", "test", (2515, 1836, 159), 0),
    ],
)
@pytest.mark.filterwarnings("ignore::bayesrank.data.UninformativeRankingWarning")
def test_the_published_sets_are_read_whole(data_dir, name, part, shape, silent):
    data = read_multilabel(data_dir / name / f"{name}-{part}.txt")
    assert (data.n_samples, data.n_features, data.n_labels) == shape
    assert data.is_uninformative.sum() == silent
    ranks = data.ranks()
    assert ranks.dtype == np.int8
    np.testing.assert_array_equal(
        (ranks == 1).sum(axis=1)[~data.is_uninformative],
        data.n_labels_of_sample[~data.is_uninformative],
    )
