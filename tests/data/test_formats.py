"""Files: tables, LETOR and PrefLib, read as they are and refused with a sentence."""

import gzip

import numpy as np
import pandas as pd
import pytest

from bayesrank.data import Rankings, UninformativeRankingWarning, read_table

SVMLIGHT = """\
2 qid:10 1:0.5 2:1.0 # docid = x
0 qid:10 1:0.25
2 qid:10 3:4.0
0 qid:7 2:2.0
1 qid:7 1:1.0
"""

HEADER = """\
# FILE NAME: 00000-00000001.toi
# TITLE: Elections
# DATA TYPE: toi
# NUMBER ALTERNATIVES: 4
# NUMBER VOTERS: 6
# NUMBER UNIQUE ORDERS: 3
# ALTERNATIVE NAME 1: Ann
# ALTERNATIVE NAME 2: Bo: the second
# ALTERNATIVE NAME 3: Cy
# ALTERNATIVE NAME 4: Dee
"""
TOI = HEADER + "3: 2,1\n2: {1,3},2\n1: 4,{1, 2}, 3\n"


@pytest.fixture
def file(tmp_path):
    """Write text to a file of this name and return its path."""

    def write(name, text):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


# Tables


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.csv", "user,stars\nNA,1\nx,2\n"),
        ("t.CSV", "\ufeffuser,stars\nNA,1\nx,2\n"),
        ("t.tsv", "user\tstars\nNA\t1\nx\t2\n"),
        ("t.txt", "user\tstars\nNA\t1\nx\t2\n"),
    ],
)
def test_text_tables_are_read_and_na_is_a_label(file, name, text):
    frame = read_table(file(name, text), columns=["user"], numbers=["stars"])
    assert frame["user"].tolist() == ["NA", "x"]
    assert frame.index.tolist() == [2, 3]  # lines of the file
    assert frame["stars"].tolist() == [1, 2]


def test_parquet_and_compressed_tables_are_read(tmp_path):
    frame = pd.DataFrame({"user": ["a", "b"], "stars": [1.5, 2.0]})
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_csv(tmp_path / "t.csv.gz", index=False)
    for name in ("t.parquet", "t.csv.gz"):
        read = read_table(tmp_path / name, numbers=["stars"])
        assert read.to_dict("list") == frame.to_dict("list")


def test_an_empty_cell_is_a_missing_value(file):
    frame = read_table(file("t.csv", "user,stars\nx,\ny,2\n"))
    assert frame["stars"].isna().tolist() == [True, False]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.csv", "", r"t\.csv is empty"),
        ("t.csv", "user,stars\n", r"t\.csv has a header and no rows"),
        ("t.csv", "a,b\n1,2\n1,2,3\n", r"t\.csv is not a readable csv table: .*line 3"),
        ("t.parquet", "not parquet", r"t\.parquet is not a readable parquet table"),
        ("t.xlsx", "", r"t\.xlsx needs the package openpyxl|t\.xlsx is not a readable xlsx"),
        ("t.xls", "", r"t\.xls is none of the tables known: \.csv, \.tsv, \.txt"),
        ("t.csv", "a,b\n1,2\n", r"t\.csv has no column 'user'; its columns are 'a', 'b'"),
        (
            "t.csv",
            "user,b\n1,2,3\n",
            r"more fields than its header.* in line 2: '1', '2', '3'",
        ),
        ("t.csv.gz", "not compressed", r"t\.csv\.gz is not a readable csv table: Not a gzipped"),
        ("t.csv.zip", "not compressed", r"t\.csv\.zip is not a readable csv table: File is not a"),
    ],
)
def test_a_table_that_does_not_read_is_refused_with_its_name(file, name, text, message):
    with pytest.raises(ValueError, match=message):
        read_table(file(name, text), columns=["user"])


def test_a_table_in_another_encoding_is_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("user\nJosé\n".encode("latin-1"))
    with pytest.raises(
        ValueError,
        match=r"not UTF-8: line 2 has the byte 0xe9\. In Latin-1 .* 'José'",
    ):
        read_table(path)


def test_a_compressed_table_that_is_cut_off_is_refused(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"user,stars\n" + b"x,1\n" * 1000)[:30])
    with pytest.raises(ValueError, match=r"t\.csv\.gz is not a readable csv table: .* ended"):
        read_table(path)


def test_a_separator_at_the_end_of_each_row_shifts_nothing(file):
    frame = read_table(file("t.csv", "user,stars\nx,1,\ny,2,\n"), numbers=["stars"])
    assert frame.to_dict("list") == {"user": ["x", "y"], "stars": [1, 2]}


@pytest.mark.parametrize(
    ("read", "name"),
    [(read_table, "t.csv"), (Rankings.from_letor, "t.txt"), (Rankings.from_preflib, "t.soc")],
)
def test_a_missing_file_or_a_folder_is_named(tmp_path, read, name):
    with pytest.raises(FileNotFoundError, match=f"There is no file .*{name}"):
        read(tmp_path / name)
    (tmp_path / name).mkdir()
    with pytest.raises(ValueError, match=f"{name} is a folder, not a file"):
        read(tmp_path / name)


# LETOR


def test_judged_documents_are_ranked_per_query_with_their_features(file):
    r = Rankings.from_letor(file("letor.txt", SVMLIGHT))
    assert r.rankers.tolist() == r.labels.tolist() == [10, 7]
    assert r.items.tolist() == ["10/0", "10/1", "10/2", "7/0", "7/1"]
    np.testing.assert_array_equal(r.item, [[0, 2, 1], [4, 3, 0]])
    np.testing.assert_array_equal(r.ranks, [[1, 1, 2], [1, 2, 0]])
    np.testing.assert_array_equal(
        r.features,
        [[[0.5, 1, 0], [0, 0, 4], [0.25, 0, 0]], [[1, 0, 0], [0, 2, 0], [0, 0, 0]]],
    )
    assert r.feature_names.tolist() == [1, 2, 3]
    assert Rankings.from_letor(file("letor.txt", SVMLIGHT), n_features=5).features.shape[2] == 5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("2 1:0.5\n1 1:0.25\n", "has 2 rows and 0 of them a qid; each row needs one"),
        ("good qid:1 1:0.5\n", "is not a readable SVMlight file"),
        ("2 qid:1 1:0.5\nnan qid:1 1:1\n", "has nan in row 1"),
    ],
)
def test_a_letor_file_that_does_not_read_is_refused(file, text, message):
    with pytest.raises(ValueError, match=rf"letor\.txt {message}"):
        Rankings.from_letor(file("letor.txt", text))


# PrefLib


def test_preflib_orders_become_weighted_rankings(file):
    r = Rankings.from_preflib(file("votes.toi", TOI))
    assert r.items.tolist() == ["Ann", "Bo: the second", "Cy", "Dee"]
    np.testing.assert_array_equal(r.weight, [3.0, 2.0, 1.0])
    np.testing.assert_array_equal(r.item, [[1, 0, 0, 0], [0, 2, 1, 0], [3, 0, 1, 2]])
    np.testing.assert_array_equal(r.ranks, [[1, 2, 0, 0], [1, 1, 2, 0], [1, 2, 2, 3]])


def test_preflib_alternatives_left_out_may_be_the_last_block(file):
    r = Rankings.from_preflib(file("votes.toi", TOI), rest="items")
    np.testing.assert_array_equal(r.item, [[1, 0, 2, 3], [0, 2, 1, 3], [3, 0, 1, 2]])
    np.testing.assert_array_equal(r.ranks, [[1, 2, 3, 3], [1, 1, 2, 3], [1, 2, 2, 3]])


@pytest.mark.parametrize("kind", ["soc", "soi", "toc", "toi"])
def test_all_four_kinds_of_preflib_orders_read(file, kind):
    r = Rankings.from_preflib(file(f"votes.{kind}", HEADER + "6: 4,3,2,1\n"))
    np.testing.assert_array_equal(r.item, [[3, 2, 1, 0]])


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("v.toi", "", "holds no order"),
        ("v.toi", HEADER, "holds no order"),
        ("v.cat", TOI, "none of the PrefLib orders known: .soc, .soi, .toc or .toi"),
        ("v.toi", TOI.replace("3: 2,1\n", ""), "announces 6 voters and holds 3: it may be cut off"),
        ("v.toi", TOI.replace("3: 2,1", "3: 2,5"), "line 11 names alternative 5, which the header"),
        ("v.toi", TOI.replace("3: 2,1", "3: 2;1"), "line 11 is not an order such as"),
        ("v.toi", TOI.replace("3: 2,1", "3: {2,1"), "line 11 is not an order such as"),
        ("v.toi", TOI.replace("3: 2,1", "3: {2,2},1"), "line 11 names alternative 2 twice"),
        ("v.toi", TOI.replace("3: 2,1", "3: {},1"), "line 11 has an empty block"),
        ("v.toi", TOI.replace("3: 2,1", "3: 2,1,2"), "line 11 names alternative 2 twice"),
        ("v.toi", TOI.replace("3: 2,1", "3,2,1"), "line 11 must read 'count: 1,2,"),
        ("v.soc", "2\n1,Ann\n2,Bo\n5,5,1\n5,1,2\n", "line 1 must read .* the old format"),
        ("v.toi", TOI.replace("3: 2,1", "0: 2,1").replace("RS: 6", "RS: 3"), "must be positive"),
    ],
)
def test_a_preflib_file_that_does_not_read_is_refused(file, name, text, message):
    with pytest.raises(ValueError, match=message):
        Rankings.from_preflib(file(name, text))


def test_a_vote_for_one_alternative_says_nothing_and_is_counted(file):
    with pytest.warns(UninformativeRankingWarning, match="1 of 3 rankings holds one item"):
        Rankings.from_preflib(file("v.toi", TOI.replace("3: 2,1", "3: 2")))


def test_a_preflib_file_in_another_encoding_is_refused(tmp_path):
    path = tmp_path / "v.soc"
    path.write_bytes("# ALTERNATIVE NAME 1: José\n1: 1\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"v\.soc is not a readable text file: .*UTF-8: line 1"):
        Rankings.from_preflib(path)


# What is found out about files


def test_cells_stay_text_but_in_columns_of_numbers(file):
    frame = read_table(file("t.csv", "user,id,stars\n007,1e1,3\n7,10,4\n"), numbers=["stars"])
    assert frame["user"].tolist() == ["007", "7"]
    assert frame["id"].tolist() == ["1e1", "10"]
    assert frame["stars"].tolist() == [3, 4]
    with pytest.raises(ValueError, match=r"A number must be .* column 'user' has 'x' in line 2"):
        read_table(file("u.csv", "user\nx\n1\n"), numbers=["user"])


@pytest.mark.parametrize("text", ["a;b\n1,5;2\n", "a\tb\n1,5\t2\n", "a|b\n1,5|2\n"])
def test_separators_are_found_out(file, text):
    assert read_table(file("t.csv", text)).to_dict("list") == {"a": ["1,5"], "b": ["2"]}


def test_rows_are_known_by_their_lines(file):
    frame = read_table(file("t.csv", '\nuser,x\n\n"two\nlines",1\n,\nz,2\n'))
    assert frame.index.name == "line"
    assert frame.index.tolist() == [4, 7]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32"])
def test_encodings_of_unicode_are_found_out(tmp_path, encoding):
    (tmp_path / "t.csv").write_bytes("user,x\nJosé,1\n".encode(encoding))
    assert read_table(tmp_path / "t.csv")["user"].tolist() == ["José"]


def test_features_with_huge_numbers_are_refused(file):
    path = file("letor.txt", "2 qid:1 1:0.5\n0 qid:1 2000000000:1\n")
    with pytest.raises(ValueError, match=r"names feature 2,000,000,000 and has 2 rows: a table of"):
        Rankings.from_letor(path)
    path = file("letor.txt", "2 qid:1 1:0.5\n0 qid:1 9999999999999:1\n")
    with pytest.raises(ValueError, match=r"is not a readable SVMlight file: value too large"):
        Rankings.from_letor(path)


def test_names_of_preflib_may_hold_what_unicode_calls_an_end_of_line(file):
    text = TOI.replace("Bo: the second", "Bo\u2028the second").replace("Cy", "Cy\x85")
    assert Rankings.from_preflib(file("v.toi", text)).items[1] == "Bo\u2028the second"


def test_an_alternative_with_two_names_is_refused(file):
    with pytest.raises(ValueError, match=r"line 10 names alternative 3 again"):
        Rankings.from_preflib(file("v.toi", TOI.replace("NAME 4", "NAME 3")))
