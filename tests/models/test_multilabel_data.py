"""Multilabel files: read as written, with every fault named by file and line."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array

from bayesrank.data import UninformativeRankingWarning
from models.multilabel.data import Multilabel, read_multilabel

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


def test_samples_without_labels_or_with_all_are_kept_and_counted(file):
    path = file("5 2 3\n 0:1\n0:1\n\n0,1,2 1:1\n1 1:1\n")
    with pytest.warns(UninformativeRankingWarning, match=r"4 of 5 samples .* in line 2:.*kept"):
        data = read_multilabel(path)
    assert data.n_labels_of_sample.tolist() == [0, 0, 0, 3, 1]
    assert data.is_uninformative.tolist() == [True, True, True, True, False]
    assert data.features.toarray().tolist() == [[1, 0], [1, 0], [0, 0], [0, 1], [0, 1]]
    assert data.ranks()[:4].tolist() == [[1, 1, 1]] * 4
    with pytest.warns(UninformativeRankingWarning, match="4 of 5 rankings"):
        assert data.to_rankings().n_rankings == 5


def test_nothing_is_warned_of_where_every_sample_prefers_some_labels(file):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_multilabel(file(TEXT)).n_samples == 3


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", r"data\.txt is empty"),
        ("3 4\n", r"data\.txt, line 1 must read 'samples features labels'.*'3 4'"),
        ("3 4 -1\n", r"line 1 must read"),
        ("0 0:1\n", r"line 1 must read"),
        ("2 4 3\n0 0:1\n", r"line 1 announces 2 samples, and 1 line follow.*cut off"),
        ("1 4 3\n0 0:1\n1 0:1\n", r"announces 1 sample, and 2 lines follow"),
        ("2 4 3\n0 0:1\n3 0:1\n", r"line 3 has label 3; the header announces 3 labels.* 0 to 2"),
        ("1 4 3\n-1 0:1\n", r"line 2 has label -1;"),
        ("1 4 3\n0 4:1\n", r"line 2 has feature 4; the header announces 4 features.* 0 to 3"),
        ("1 4 3\n0,x 1:1\n", r"line 2 has 'x' where a number belongs, among its labels"),
        ("1 4 3\n0,,1 1:1\n", r"line 2 has '' where a number belongs, among its labels"),
        ("1 4 3\n0 a:1\n", r"line 2 has 'a' where a number belongs, among its features"),
        ("1 4 3\n0 1:b\n", r"line 2 has 'b' where a number belongs, among its features"),
        ("1 4 3\n0 1:nan\n", r"line 2 has the value nan for feature 1; it must be finite"),
        ("1 4 3\n0 1:1 2\n", r"line 2 must read 'label,label feature:value \.\.\.'; got '2'"),
        ("1 4 3\n0, 1 1:1\n", r"line 2 has '' where a number belongs"),
        ("1 4 3\n1,0,1 1:1\n", r"line 2 has label 1 twice"),
        ("1 4 3\n0 1:1 1:2\n", r"line 2 has feature 1 twice"),
    ],
)
def test_a_fault_is_named_by_file_and_line(file, text, match):
    with pytest.raises(ValueError, match=match):
        read_multilabel(file(text))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no file"):
        read_multilabel(tmp_path / "none.txt")


def test_a_feature_of_value_zero_is_no_fault(file):
    assert read_multilabel(file("1 2 2\n1 0:0 1:3\n")).features.toarray().tolist() == [[0, 3]]


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


def test_a_multilabel_knows_its_name_without_samples():
    assert "0 samples" in repr(Multilabel(csr_array((0, 2)), csr_array((0, 3))))
