"""Parts of judged documents: what the files say, and the turns of the cross-validation."""

from itertools import chain

import pytest
from sklearn.preprocessing import StandardScaler

from models.shared.letor import folds, read_parts

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
