"""Rank aggregation collections: what the files say, and what an unlisted document means."""

import numpy as np
import pandas as pd
import pytest

from models.metasearch.data import (
    metasearch_counts,
    read_aggregation,
    read_aggregation_parts,
)
from models.shared.letor import turns

FILE = """\
0 qid:10 1:7 2:NULL #docid = GX1 inc = 1 prob = 0.1
2 qid:10 1:2 2:NULL #docid = GX2 inc = 1 prob = 0.1
1 qid:10 1:NULL 2:5 #docid = GX3 inc = 1 prob = 0.1
0 qid:11 1:1 2:NULL
1 qid:11 1:3 2:NULL
"""

NAN = np.nan


@pytest.fixture
def table(tmp_path):
    (tmp_path / "A1.txt").write_text(FILE)
    return read_aggregation(tmp_path / "A1.txt")


def test_a_file_becomes_a_table_with_a_column_per_engine(table):
    expected = pd.DataFrame(
        {
            "query": [10, 10, 10, 11, 11],
            "document": [0, 1, 2, 0, 1],
            "label": [0, 2, 1, 0, 1],
            "engine1": [7, 2, NAN, 1, 3],
            "engine2": [NAN, NAN, 5, NAN, NAN],
        }
    )
    pd.testing.assert_frame_equal(table, expected)


def test_the_five_files_become_one_table_with_their_parts(tmp_path):
    for part in range(5):
        (tmp_path / f"A{part + 1}.txt").write_text(FILE.replace("qid:1", f"qid:{part}1"))
    table = read_aggregation_parts(tmp_path)
    assert table["part"].tolist() == [part for part in range(5) for _ in range(5)]
    assert list(table) == ["part", "query", "document", "label", "engine1", "engine2"]
    turn = list(turns(table["part"]))[1]  # trains on the parts 1, 2, 3
    assert [table["part"][rows].unique().tolist() for rows in turn] == [[1, 2, 3], [4], [0]]
    (tmp_path / "A4.txt").unlink()
    with pytest.raises(FileNotFoundError, match=r"A4\.txt"):
        read_aggregation_parts(tmp_path)


def told(counts):
    """Entries as (engine, query, first, second, count)."""
    return list(counts.to_frame().itertuples(index=False, name=None))


def test_unlisted_documents_come_one_place_after_the_last_that_is_listed(table):
    assert told(metasearch_counts(table, unlisted="last")) == [
        ("engine1", 10, 0, 2, 1),  # 7 and then 8
        ("engine1", 10, 1, 0, 5),
        ("engine1", 10, 1, 2, 6),
        ("engine1", 11, 0, 1, 2),
        ("engine2", 10, 2, 0, 1),  # 5 and then 6, twice: tied among themselves
        ("engine2", 10, 2, 1, 1),
    ]
    binary = metasearch_counts(table, "binary", unlisted="last")
    assert binary.count.tolist() == [1] * 6
