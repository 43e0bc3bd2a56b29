"""Files: tables and PrefLib, read as they are and refused with a sentence."""

import bz2
import csv
import gzip
import io
import lzma
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from bayesrank.data import Rankings, read_table
from bayesrank.data.read import table_with_findings

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
        ("t.csv", "user,stars\n", r"t\.csv has a header but no rows"),
        ("t.csv", "a,b\n1,2\n1,2,3\n", r"t\.csv is not a readable csv table: .*line 3"),
        ("t.parquet", "not parquet", r"t\.parquet is not a readable parquet table"),
        ("t.xlsx", "", r"t\.xlsx needs the package openpyxl|t\.xlsx is not a readable xlsx"),
        ("t.xls", "", r"t\.xls is not a supported table; expected \.csv, \.tsv, \.txt"),
        ("t.csv", "a,b\n1,2\n", r"t\.csv has no column 'user'; its columns are 'a', 'b'"),
        (
            "t.csv",
            "user,b\n1,2,3\n",
            r"line 2 has 3 fields, but the header in line 1 has 2 names: 'user,b'\. Correct line 2",
        ),
        ("t.csv.gz", "not compressed", r"t\.csv\.gz is not a readable csv table: Not a gzipped"),
        ("t.csv.zip", "not compressed", r"t\.csv\.zip is not a readable csv table: File is not a"),
    ],
)
def test_a_table_that_does_not_read_is_refused_with_its_name(file, name, text, message):
    with pytest.raises(ValueError, match=message):
        read_table(file(name, text), columns=["user"])


@pytest.mark.parametrize("separator", ["ab", "", '"', "\n"])
def test_a_separator_is_one_character(file, separator):
    path = file("t.csv", "user;stars\nx;1\n")
    with pytest.raises(ValueError, match="A separator must be one character, such as ';'"):
        read_table(path, separator=separator)
    assert read_table(path, separator=";")["user"].tolist() == ["x"]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("user,stars,{long}\nx,1,2\n", id="name"),
        pytest.param("user,stars,other\nx,1,{long}\n", id="cell"),
    ],
)
def test_a_long_cell_is_read(file, text):
    long = "z" * 140_000
    before = csv.field_size_limit()
    frame = read_table(file("t.csv", text.format(long=long)), ["user"], numbers=["stars"])
    assert frame["stars"].tolist() == [1]
    assert long in (*frame.columns, *frame.iloc[0])
    assert csv.field_size_limit() == before


def test_only_the_columns_that_are_asked_for_are_read(tmp_path):
    """A row that is empty in them is still a row, and lines are counted over ends of lines."""
    text = 'user,note,stars,\n x ,"two\nlines",1,\n,only,,\n,,,\ny,,2\n'
    (tmp_path / "t.csv").write_text(text)
    found = table_with_findings(tmp_path / "t.csv", columns={"user", "stars", "other"})
    assert found.frame.columns.tolist() == ["user", "stars"]
    assert found.names.tolist() == ["user", "note", "stars", "column 4"]
    assert found.frame.index.tolist() == [2, 4, 6]
    assert found.frame["user"].tolist() == ["x", np.nan, "y"]
    assert [found.findings, found.spaces] == [[], 1]
    table = pd.DataFrame({"user": ["a", None], "big": pd.array([2**60 + 1, None], dtype="Int64")})
    table.assign(other=1).to_parquet(tmp_path / "t.parquet")
    found = table_with_findings(tmp_path / "t.parquet", columns={"user", "big"})
    assert found.frame.columns.tolist() == ["user", "big"]
    assert found.names.tolist() == ["user", "big", "other"]
    assert found.frame["big"].tolist() == [2**60 + 1, pd.NA]


def compressed(kind, data):
    match kind:
        case "gz":
            return gzip.compress(data)
        case "bz2":
            return bz2.compress(data)
        case "xz":
            return lzma.compress(data)
        case "zst":
            return pa.compress(data, codec="zstd", asbytes=True)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("t.csv", data)
    return buffer.getvalue()


@pytest.mark.parametrize("kind", ["gz", "bz2", "xz", "zst", "zip"])
def test_a_compressed_file_is_unpacked_up_to_a_limit(tmp_path, monkeypatch, kind):
    path = tmp_path / f"t.csv.{kind}"
    path.write_bytes(compressed(kind, b"user,stars\nx,1\n"))
    assert read_table(path)["user"].tolist() == ["x"]
    monkeypatch.setattr("bayesrank.data.read.text.MOST_UNPACKED", 5_000_000)
    path.write_bytes(compressed(kind, bytes(60_000_000)))
    with pytest.raises(ValueError, match=rf"unpacks to more than 5 MB, .* a \.{kind} file\. If"):
        read_table(path)


def test_small_files_of_millions_of_equal_rows_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "t.parquet"
    pd.DataFrame({"user": np.zeros(3_000_000, np.int8)}).to_parquet(path)
    monkeypatch.setattr("bayesrank.data.read.formats.MOST_CELLS", 2**20)
    for read in (
        read_table,
        lambda p: Rankings.from_ratings(p, ranker="user", item="film", rating="stars"),
    ):
        with pytest.raises(ValueError, match=r"it has 3,000,000 rows in [\d,]+ bytes.* count"):
            read(path)


@pytest.mark.parametrize(
    ("header", "directory", "value", "message"),
    [
        (6, 8, 1, "is encrypted, password required"),
        (8, 10, 97, "compression method is not supported"),
    ],
)
def test_an_archive_that_python_cannot_open_is_refused(tmp_path, header, directory, value, message):
    data = bytearray(compressed("zip", b"user,stars\nx,1\n"))
    data[header] = data[data.index(b"PK\x01\x02") + directory] = value
    (tmp_path / "t.csv.zip").write_bytes(data)
    with pytest.raises(ValueError, match=rf"not a readable csv table: .*{message}"):
        read_table(tmp_path / "t.csv.zip")


@pytest.mark.parametrize("spoilt", ["xl/workbook.xml", "xl/worksheets/sheet1.xml", "none of it"])
def test_a_broken_sheet_is_refused(tmp_path, spoilt):
    pytest.importorskip("openpyxl")
    path = tmp_path / "t.xlsx"
    pd.DataFrame({"user": ["x"], "stars": [1]}).to_excel(path, index=False)
    with zipfile.ZipFile(path) as good:
        parts = {name: good.read(name) for name in good.namelist()}
    parts = {"hello.txt": b"x"} if spoilt == "none of it" else parts | {spoilt: b"<broken"}
    with zipfile.ZipFile(path, "w") as broken:
        for name, data in parts.items():
            broken.writestr(name, data)
    with pytest.raises(ValueError, match=r"t\.xlsx is not a readable xlsx table: .* it is broken:"):
        read_table(path)


def test_a_file_that_is_no_sheet_is_refused(tmp_path):
    (tmp_path / "t.xlsx").write_bytes(b"no archive")
    with pytest.raises(ValueError, match=r"t\.xlsx is not a readable xlsx table: it is not an Ex"):
        read_table(tmp_path / "t.xlsx")


def test_a_message_of_another_library_is_one_short_line(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("user,stars\n" + "x,1\n" * 10 + f"x,1,{'y\n' * 300}")
    with pytest.raises(ValueError, match=r"t\.csv is not a .*Expected 2 columns") as caught:
        Rankings.from_ratings(path, ranker="user", item="user", rating="stars")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize("number", ["1e99999999999999999999", "-1e400", "1e-99999999999999999999"])
def test_a_number_that_no_float_holds_is_refused(file, number):
    path = file("t.csv", f"user,stars\nx,1\ny,{number}\n")
    with pytest.raises(ValueError, match=r"between 1e-308 and 1e308, or 0; column 'stars'"):
        read_table(path, numbers=["stars"])


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


@pytest.mark.parametrize(
    ("read", "name"),
    [(read_table, "t.csv"), (Rankings.from_preflib, "t.soc")],
)
def test_a_missing_file_or_a_folder_is_named(tmp_path, read, name):
    with pytest.raises(FileNotFoundError, match=f"There is no file .*{name}"):
        read(tmp_path / name)
    (tmp_path / name).mkdir()
    with pytest.raises(ValueError, match=f"{name} is a folder, not a file"):
        read(tmp_path / name)


# PrefLib


def test_preflib_orders_become_weighted_rankings(file):
    r = Rankings.from_preflib(file("votes.toi", TOI), rest=())
    assert r.items.tolist() == ["Ann", "Bo: the second", "Cy", "Dee"]
    np.testing.assert_array_equal(r.weight, [3.0, 2.0, 1.0])
    np.testing.assert_array_equal(r.item, [[1, 0, 0, 0], [0, 2, 1, 0], [3, 0, 1, 2]])
    np.testing.assert_array_equal(r.ranks, [[1, 2, 0, 0], [1, 1, 2, 0], [1, 2, 2, 3]])


def test_preflib_alternatives_left_out_may_be_the_last_block(file):
    r = Rankings.from_preflib(file("votes.toi", TOI), rest="items")
    np.testing.assert_array_equal(r.item, [[1, 0, 2, 3], [0, 2, 1, 3], [3, 0, 1, 2]])
    np.testing.assert_array_equal(r.ranks, [[1, 2, 3, 3], [1, 1, 2, 3], [1, 2, 2, 3]])


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("v.toi", "", "contains no orders"),
        ("v.toi", HEADER, "contains no orders"),
        ("v.cat", TOI, "not a supported PrefLib file; expected .soc, .soi, .toc or .toi"),
        (
            "v.toi",
            TOI.replace("3: 2,1\n", ""),
            "announces 6 voters but contains 3. It may be truncated",
        ),
        ("v.toi", TOI.replace("3: 2,1", "3: 2,5"), "line 11 uses alternative 5, which the header"),
        ("v.toi", TOI.replace("3: 2,1", "3: 2;1"), "line 11 is not an order such as"),
        ("v.toi", TOI.replace("3: 2,1", "3: {2,1"), "line 11 is not an order such as"),
        ("v.toi", TOI.replace("3: 2,1", "3: {2,2},1"), "line 11 uses alternative 2 twice"),
        ("v.toi", TOI.replace("3: 2,1", "3: {},1"), "line 11 has an empty block"),
        ("v.toi", TOI.replace("3: 2,1", f"{'9' * 16}: 2,1"), "line 11 must read 'count: 1,2,"),
        ("v.toi", TOI.replace("3: 2,1", f"3: {{2,{'9' * 16}}},1"), "line 11 is not an order"),
        ("v.toi", TOI.replace("NAME 4", "NAME 3"), "line 10 names alternative 3 again"),
        ("v.toi", TOI.replace("3: 2,1", "3: 2,1,2"), "line 11 uses alternative 2 twice"),
        ("v.toi", TOI.replace("3: 2,1", "3,2,1"), "line 11 must read 'count: 1,2,"),
        ("v.soc", "2\n1,Ann\n2,Bo\n5,5,1\n5,1,2\n", "line 1 must read .* the old format"),
        ("v.toi", TOI.replace("3: 2,1", "0: 2,1").replace("RS: 6", "RS: 3"), "must be positive"),
    ],
)
def test_a_preflib_file_that_does_not_read_is_refused(file, name, text, message):
    with pytest.raises(ValueError, match=message):
        Rankings.from_preflib(file(name, text), rest=())


def test_orders_of_preflib_that_differ_in_length_need_a_rest(file):
    path = file("v.toi", TOI)
    with pytest.raises(ValueError, match=r"number 0 has 2 items, and number 1 has 3\. Use rest"):
        Rankings.from_preflib(path)
    assert Rankings.from_preflib(path, rest=()).mask.sum(axis=1).tolist() == [2, 3, 4]
    assert Rankings.from_preflib(path, rest="items").mask.sum(axis=1).tolist() == [4, 4, 4]
    assert Rankings.from_preflib(file("v.soc", HEADER + "6: 4,3,2,1\n")).n_rankings == 1


# What is found out about files


def test_cells_stay_text_but_in_columns_of_numbers(file):
    frame = read_table(file("t.csv", "user,id,stars\n007,1e1,3\n7,10,4\n"), numbers=["stars"])
    assert frame["user"].tolist() == ["007", "7"]
    assert frame["id"].tolist() == ["1e1", "10"]
    assert frame["stars"].tolist() == [3, 4]
    with pytest.raises(ValueError, match=r"A number must be .* column 'user' has 'x' in line 2"):
        read_table(file("u.csv", "user\nx\n1\n"), numbers=["user"])


@pytest.mark.parametrize("text", ["a;b\n1,5;2\n", "a\tb\n1,5\t2\n", "a|b\n1,5|2\n"])
def test_separators_are_detected(file, text):
    assert read_table(file("t.csv", text)).to_dict("list") == {"a": ["1,5"], "b": ["2"]}


def test_rows_are_known_by_their_lines(file):
    frame = read_table(file("t.csv", '\nuser,x\n\n"two\nlines",1\n,\nz,2\n'))
    assert frame.index.name == "line"
    assert frame.index.tolist() == [4, 7]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32"])
def test_encodings_of_unicode_are_detected(tmp_path, encoding):
    (tmp_path / "t.csv").write_bytes("user,x\nJosé,1\n".encode(encoding))
    assert read_table(tmp_path / "t.csv")["user"].tolist() == ["José"]


@pytest.mark.parametrize("text", ["user\0,x\na,1\n", "user,x\nb,2\n" + "a\0,1\n"])
def test_a_byte_of_zero_in_utf8_is_refused_with_its_line(file, text):
    line = 1 + text.count("\n", 0, text.index("\0"))
    with pytest.raises(ValueError, match=rf"line {line} contains a zero byte, .* remove it"):
        read_table(file("t.csv", text))


def test_names_of_preflib_may_hold_what_unicode_calls_an_end_of_line(file):
    text = TOI.replace("Bo: the second", "Bo\u2028the second").replace("Cy", "Cy\x85")
    assert Rankings.from_preflib(file("v.toi", text), rest=()).items[1] == "Bo\u2028the second"
