"""Parts of judged documents: what the files say, and the turns of the cross-validation."""

from itertools import chain

import numpy as np
import pytest
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import bayesrank as br
from models.shared.letor import Part, folds, read_parts

# one query per part: the grades and the one feature of its documents
GRADES = [[0, 2, 0], [1, 0], [0, 0], [2, 1], [0, 1, 1]]
FEATURE = [[1.0, 2.0, 3.0], [4.0, 5.0], [6.0, 7.0], [8.0, 9.0], [10.0, 11.0, 12.0]]


@pytest.fixture
def documents(tmp_path):
    for part, (grades, feature) in enumerate(zip(GRADES, FEATURE, strict=True), start=1):
        lines = [
            f"{g} qid:{part}0 1:{x} #docid = D{x}" for g, x in zip(grades, feature, strict=True)
        ]
        (tmp_path / f"S{part}.txt").write_text("\n".join(lines) + "\n")
    return read_parts(tmp_path, n_features=2)


def test_the_five_files_become_one_table_in_their_order(documents):
    assert list(documents) == ["part", "query", "grade", "x1", "x2"]
    assert documents["part"].tolist() == [0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4]
    assert documents["query"].tolist() == [10, 10, 10, 20, 20, 30, 30, 40, 40, 50, 50, 50]
    assert documents["grade"].tolist() == list(chain(*GRADES))
    assert documents["x1"].tolist() == list(chain(*FEATURE))
    assert not documents["x2"].any()  # not in the files: zero, as sparse files mean it


def test_a_missing_file_raises(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"S1\.txt"):
        read_parts(tmp_path)


def test_three_parts_train_the_next_validates_and_the_last_tests_in_a_circle(documents):
    queries = [
        [part.rankings.rankers.tolist() for part in fold]
        for fold in folds(documents, StandardScaler())
    ]
    assert queries == [
        [[10, 20, 30], [40], [50]],
        [[20, 30, 40], [50], [10]],
        [[30, 40, 50], [10], [20]],
        [[10, 40, 50], [20], [30]],
        [[10, 20, 50], [30], [40]],
    ]


def test_grades_are_blocks_and_equal_ones_keep_the_order_of_the_file(documents):
    train = next(folds(documents, StandardScaler(with_mean=False, with_std=False))).train
    assert train.rankings.ranks.tolist() == [[1, 2, 2], [1, 2, 0], [1, 1, 0]]
    assert train.grades.tolist() == [[2, 0, 0], [1, 0, 0], [0, 0, 0]]
    # the document of grade 2 stood second, of the others 1.0 stood before 3.0
    assert train.features[:, 0].tolist() == [2.0, 1.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    assert train.rankings.features[..., 0].tolist() == [[2, 1, 3], [4, 5, 0], [6, 7, 0]]


def test_features_are_prepared_by_what_the_training_parts_know(documents):
    fold = next(folds(documents, MinMaxScaler()))
    assert fold.train.features[:, 0].min() == 0
    assert fold.train.features[:, 0].max() == pytest.approx(1)
    # training goes from 1 to 7; grade 2 of query 40 has 8 and grade 1 has 9
    np.testing.assert_allclose(fold.validation.features[:, 0], [7 / 6, 8 / 6])
    assert list(fold.test.rankings.feature_names) == ["x1", "x2"]


def test_a_transformer_given_is_not_fitted_itself(documents):
    prepare = StandardScaler()
    list(folds(documents, prepare))
    assert not hasattr(prepare, "mean_")


def test_a_part_without_features_raises():
    rankings = br.Rankings.from_orderings([["a", "b"]])
    with pytest.raises(ValueError, match=r"^The `rankings` of this part have no features"):
        _ = Part(rankings, np.array([[1.0, 0.0]])).features


def test_the_parts_of_mq2008_are_those_of_its_description(data_dir):
    documents = read_parts(data_dir / "MQ2008")
    assert documents.shape == (15_211, 3 + 46)
    assert documents.groupby("part")["query"].nunique().tolist() == [157, 157, 157, 157, 156]
    assert sorted(documents["grade"].unique()) == [0, 1, 2]
