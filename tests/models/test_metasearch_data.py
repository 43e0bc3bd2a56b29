"""Rank aggregation collections: what the files say, and what an unlisted document means."""

import numpy as np
import pandas as pd
import pytest

from bayesrank.data import UninformativeRankingWarning
from models.metasearch.data import (
    metasearch_counts,
    metasearch_rankings,
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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("0 qid:10 1:7 2:NULL\n0 1:7 2:3\n", "line 2 must read 'label qid:1 1:30 2:NULL ...'"),
        ("0 qid:10 1:7 2:-3\n", "line 1 must read .*; got '0 qid:10 1:7 2:-3'"),
        ("0 qid:10 1:7 2:3\n0 qid:10 1:7\n", "line 2 must have ranks 1 to 2, as line 1 does"),
        ("0 qid:10 2:7 1:3\n", "line 1 must have ranks 1 to 2, .*; it has 2, 1"),
    ],
)
def test_a_file_that_does_not_parse_is_refused(tmp_path, text, message):
    (tmp_path / "A1.txt").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_aggregation(tmp_path / "A1.txt")


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


def test_counts_from_what_engines_list_compare_no_other_documents(table):
    counts = metasearch_counts(table, unlisted="missing")
    assert told(counts) == [("engine1", 10, 1, 0, 5), ("engine1", 11, 0, 1, 2)]
    assert counts.items.tolist() == [(10, 0), (10, 1), (10, 2), (11, 0), (11, 1)]
    assert counts.problems.tolist() == [10, 11]
    assert counts.rankers.tolist() == ["engine1", "engine2"]  # with or without entries


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


def test_rankings_end_with_the_unlisted_documents_or_without_them(table):
    last = metasearch_rankings(table, unlisted="last")
    assert last.labels.tolist() == ["engine1/10", "engine1/11", "engine2/10"]
    assert last.rankers.tolist() == ["engine1", "engine2"]
    assert last.ranks.tolist() == [[1, 2, 3], [1, 2, 0], [1, 2, 2]]
    assert last.item.tolist() == [[1, 0, 2], [3, 4, 0], [2, 0, 1]]
    assert last.items[3] == (11, 0)
    with pytest.warns(UninformativeRankingWarning, match="1 of 3 rankings holds one item"):
        missing = metasearch_rankings(table, unlisted="missing")
    assert missing.ranks.tolist() == [[1, 2], [1, 2], [1, 0]]
    assert missing.item.tolist() == [[1, 0], [3, 4], [2, 0]]


def test_binary_counts_are_those_of_the_rankings(table):
    rankings = metasearch_rankings(table, unlisted="last")
    counts = metasearch_counts(table, "binary", unlisted="last")
    assert rankings.counts("binary", problem=[q for q, _ in rankings.items]) == counts


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"document": [0, 1, 1, 0, 1]}, r"`\(query, document\)` .*, but \(10, 1\) occurs twice"),
        ({"engine1": [7, 2, NAN, 1, np.inf]}, "column 'engine1' has inf in row 4"),
        ({"engine1": list("abcde")}, "A rank must be a finite number; column 'engine1' has 'a'"),
        ({"query": [10, 10, 10, 10, 11], "document": [0, 1, 2, 3, 1]}, "Problem 11 has one item"),
    ],
)
def test_a_table_of_engines_is_checked(table, change, message):
    with pytest.raises(ValueError, match=message):
        metasearch_counts(table.assign(**change), unlisted="last")


def test_the_meaning_of_unlisted_must_be_chosen_by_name(table):
    with pytest.raises(
        ValueError, match=r"`unlisted` must be 'missing' .* or 'last' .*; got 'low'"
    ):
        metasearch_counts(table, unlisted="low")
    with pytest.raises(TypeError, match="unlisted"):
        metasearch_rankings(table)
    with pytest.raises(ValueError, match="The table must have a document and an engine"):
        metasearch_counts(table[["query", "document", "label"]], unlisted="last")


def test_a_table_in_which_no_engine_lists_a_document_has_no_counts(table):
    counts = metasearch_counts(table.assign(engine1=NAN, engine2=NAN), unlisted="last")
    assert len(counts) == 0
    assert counts.total().tolist() == [0, 0]


def test_the_folds_of_letor_hold_the_parts_as_their_tests(tmp_path):
    for n in range(5):
        (tmp_path / f"Fold{n + 1}").mkdir()
        # fold 1 tests on the last part
        line = f"{n % 2} qid:{(n + 4) % 5} 1:1\n"
        (tmp_path / f"Fold{n + 1}/test.txt").write_text(line)
    table = read_aggregation_parts(tmp_path)
    assert table["query"].tolist() == table["part"].tolist() == [0, 1, 2, 3, 4]
    (tmp_path / "Fold3/test.txt").write_text("0 qid:1 1:1 2:NULL\n")
    with pytest.raises(ValueError, match="have 1, 2, 1, 1, 1 engines; they must be those of one"):
        read_aggregation_parts(tmp_path)


def test_the_parts_of_mq2008_agg_are_those_of_its_description(data_dir):
    table = read_aggregation_parts(data_dir / "MQ2008-agg")
    assert table.shape == (15_211, 4 + 25)
    assert table.groupby("part")["query"].nunique().tolist() == [157, 157, 157, 157, 156]
    counts = metasearch_counts(table, unlisted="last")
    assert (len(counts.problems), len(counts.rankers), len(counts)) == (784, 25, 4_219_198)
