"""Opening: every format gives columns of text as it is written."""

import bz2
import csv
import datetime
import decimal
import gzip
import io
import json
import lzma
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bayesrank.data import Rankings
from bayesrank.tables.opening import label_text, open_table
from bayesrank.tables.words import TableError


def texts(table):
    """Labels of all columns, by name."""
    frame = open_table(table).cells()
    return {name: label_text(frame[name]).tolist() for name in frame}


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
    frame = open_table(file(name, text)).cells()
    assert frame["user"].tolist() == ["NA", "x"]
    assert frame.index.tolist() == [2, 3]  # lines of the file
    assert frame["stars"].tolist() == ["1", "2"]


def test_parquet_and_compressed_tables_are_read(tmp_path):
    frame = pd.DataFrame({"user": ["a", "b"], "stars": [1.5, 2.0]})
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_csv(tmp_path / "t.csv.gz", index=False)
    for name in ("t.parquet", "t.csv.gz"):
        read = open_table(tmp_path / name).cells()
        assert read["user"].tolist() == ["a", "b"]
        assert label_text(read["stars"]).tolist() == ["1.5", "2.0"]


def test_an_empty_cell_is_a_missing_value(file):
    frame = open_table(file("t.csv", "user,stars\nx,\ny,2\n")).cells()
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
        open_table(file(name, text)).cells()


@pytest.mark.parametrize("separator", ["ab", "", '"', "\n"])
def test_a_separator_is_one_character(file, separator):
    path = file("t.csv", "user;stars\nx;1\n")
    with pytest.raises(ValueError, match="A separator must be one character, such as ';'"):
        open_table(path, separator=separator)
    assert open_table(path, separator=";").cells()["user"].tolist() == ["x"]


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
    frame = open_table(file("t.csv", text.format(long=long))).cells()
    assert frame["stars"].tolist() == ["1"]
    assert long in (*frame.columns, *frame.iloc[0])
    assert csv.field_size_limit() == before


def test_only_the_columns_that_are_asked_for_are_read(tmp_path):
    """A row that is empty in them is still a row, and lines are counted over ends of lines."""
    text = 'user,note,stars,\n x ,"two\nlines",1,\n,only,,\n,,,\ny,,2\n'
    (tmp_path / "t.csv").write_text(text)
    table = open_table(tmp_path / "t.csv")
    found = table.cells({"user", "stars", "other"})
    assert found.columns.tolist() == ["user", "stars"]
    assert table.names.tolist() == ["user", "note", "stars"]
    assert found.index.tolist() == [2, 4, 6]
    assert found["user"].tolist() == ["x", np.nan, "y"]
    assert table.notes == ["Removed spaces around 1 cell."]
    frame = pd.DataFrame({"user": ["a", None], "big": pd.array([2**60 + 1, None], dtype="Int64")})
    frame.assign(other=1).to_parquet(tmp_path / "t.parquet")
    table = open_table(tmp_path / "t.parquet")
    found = table.cells({"user", "big"})
    assert found.columns.tolist() == ["user", "big"]
    assert table.names.tolist() == ["user", "big", "other"]
    assert found["big"].tolist() == [2**60 + 1, pd.NA]


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
    assert open_table(path).cells()["user"].tolist() == ["x"]
    monkeypatch.setattr("bayesrank.data.read.text.MOST_UNPACKED", 5_000_000)
    path.write_bytes(compressed(kind, bytes(60_000_000)))
    with pytest.raises(ValueError, match=rf"unpacks to more than 5 MB, .* a \.{kind} file\. If"):
        open_table(path)


def test_small_files_of_millions_of_equal_rows_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "t.parquet"
    pd.DataFrame({"user": np.zeros(3_000_000, np.int8)}).to_parquet(path)
    monkeypatch.setattr("bayesrank.data.read.formats.MOST_CELLS", 2**20)
    for read in (
        open_table,
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
        open_table(tmp_path / "t.csv.zip")


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
        open_table(path)


def test_a_file_that_is_no_sheet_is_refused(tmp_path):
    (tmp_path / "t.xlsx").write_bytes(b"no archive")
    with pytest.raises(ValueError, match=r"t\.xlsx is not a readable xlsx table: it is not an Ex"):
        open_table(tmp_path / "t.xlsx")


def test_a_message_of_another_library_is_one_short_line(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("user,stars\n" + "x,1\n" * 10 + f"x,1,{'y\n' * 300}")
    with pytest.raises(ValueError, match=r"t\.csv is not a .*Expected 2 columns") as caught:
        Rankings.from_ratings(path, ranker="user", item="user", rating="stars")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600


def test_a_table_in_another_encoding_is_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("user\nJosé\n".encode("latin-1"))
    with pytest.raises(
        TableError,
        match=r"not UTF-8: line 2 has the byte 0xe9\. In Latin-1 .* 'José'.*encoding='latin-1'",
    ) as caught:
        open_table(path)
    (remedy,) = caught.value.remedies
    assert open_table(path, **remedy).cells()["user"].tolist() == ["José"]


def test_a_compressed_table_that_is_cut_off_is_refused(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"user,stars\n" + b"x,1\n" * 1000)[:30])
    with pytest.raises(ValueError, match=r"t\.csv\.gz is not a readable csv table: .* ended"):
        open_table(path)


# Separators, headers and encodings are detected


@pytest.mark.parametrize("text", ["a;b\n1,5;2\n", "a\tb\n1,5\t2\n", "a|b\n1,5|2\n"])
def test_separators_are_detected(file, text):
    assert open_table(file("t.csv", text)).cells().to_dict("list") == {"a": ["1,5"], "b": ["2"]}


def test_rows_are_known_by_their_lines(file):
    frame = open_table(file("t.csv", '\nuser,x\n\n"two\nlines",1\n,\nz,2\n')).cells()
    assert frame.index.name == "line"
    assert frame.index.tolist() == [4, 7]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32"])
def test_encodings_of_unicode_are_detected(tmp_path, encoding):
    (tmp_path / "t.csv").write_bytes("user,x\nJosé,1\n".encode(encoding))
    assert open_table(tmp_path / "t.csv").cells()["user"].tolist() == ["José"]


@pytest.mark.parametrize("text", ["user\0,x\na,1\n", "user,x\nb,2\n" + "a\0,1\n"])
def test_a_byte_of_zero_in_utf8_is_refused_with_its_line(file, text):
    line = 1 + text.count("\n", 0, text.index("\0"))
    with pytest.raises(ValueError, match=rf"line {line} contains a zero byte, .* remove it"):
        open_table(file("t.csv", text))


# Separators and headers of texts


def table_of(file, text, name="t.txt", **settings):
    """Names and rows of a text."""
    table = open_table(file(name, text), **settings)
    frame = table.cells()
    return frame.columns.tolist(), frame.astype(object).where(frame.notna(), "").to_numpy().tolist()


@pytest.mark.parametrize(
    ("text", "names", "first"),
    [
        (
            "\t\tleg1\t\tleg2\nNight Owl\t1\t2\nWren\t\t3\t3\n",
            ["column 1", "leg1", "leg2"],
            "Night Owl",
        ),
        ("leg1\t\tleg2\nNight Owl\t1\t2\nWren\t\t3\t3\n", ["row", "leg1", "leg2"], "Night Owl"),
        ("item year\n ash 2003\n   elm   2004\n", ["item", "year"], "ash"),
        ("item\tyear\nash  2003\nelm\t\t2004\n", ["item", "year"], "ash"),
        ('"J1" "J2"\n"the \\"ash\\"" 1 2\n"elm" 2 1\n', ["row", "J1", "J2"], 'the "ash"'),
        ('"x"\n"1" 5\n"2" 6\n', ["row", "x"], "1"),
        ("J1\tJ2\nash\t1\t2\nelm\t2\t1\n", ["row", "J1", "J2"], "ash"),
        ('"J1","J2"\n"ash",1,2\n"elm",2,1\n', ["row", "J1", "J2"], "ash"),
    ],
)
def test_runs_of_blanks_and_names_of_rows_are_understood(file, text, names, first):
    found, rows = table_of(file, text)
    assert found == names
    assert rows[0][0] == first
    assert all(cell for row in rows for cell in row)


def test_runs_of_tabs_that_do_not_agree_are_refused(file):
    with pytest.raises(TableError, match="If several tabs separate two columns"):
        open_table(file("t.txt", "item\tleg1\t\tleg2\nash\t1\t2\nelm\t\t3\n"))


def test_a_column_of_words_stays_one_column(file):
    assert table_of(file, "vote\nash elm\nelm ash\n", "t.csv")[0] == ["vote"]
    assert table_of(file, "my vote\nash elm\nelm ash\n", "t.csv")[0] == ["my vote"]
    assert table_of(file, "my vote\nash > elm\nelm > ash\n")[0] == ["my vote"]
    assert table_of(file, "winner loser\nash elm\nelm ash\n")[0] == ["winner", "loser"]
    assert table_of(file, "a b\n1 x\n2 y\n", "t.csv", separator=",")[0] == ["a b"]


@pytest.mark.parametrize(
    ("text", "readings"),
    [
        (
            "last, first\tscore\nSmith, John\t3\nDoe, Ann\t2\n",
            [["last", "first\tscore"], ["last, first", "score"]],
        ),
        (
            "first name  score\nAnn Lee  3\nBob Cox  4\n",
            [["first", "name", "score"], ["first name", "score"]],
        ),
    ],
)
def test_two_separators_that_fit_are_asked_about(file, text, readings):
    path = file("t.csv", text)
    with pytest.raises(TableError, match=r"it can be split at .* or at .* Say which") as caught:
        open_table(path)
    found = [open_table(path, **remedy).names.tolist() for remedy in caught.value.remedies]
    assert found == readings


def test_aligned_numbers_need_no_answer(file):
    text = "   item  grade n\n helles      4 1\n    ale    5.5 2\n"
    assert table_of(file, text) == (
        ["item", "grade", "n"],
        [["helles", "4", "1"], ["ale", "5.5", "2"]],
    )


def test_decimal_commas_and_lists_in_cells_do_not_matter(file):
    assert table_of(file, "a;b\n1,5;2\n1,6;3\n", "t.csv")[0] == ["a", "b"]
    names = ["id", "one (x|y)", "other"]
    found = table_of(file, "id,one (x|y),other\n1,2|3,5\n2,3|4,6\n", "t.csv")
    assert found == (names, [["1", "2|3", "5"], ["2", "3|4", "6"]])


def test_the_longest_line_gives_the_columns_if_there_is_no_header(file):
    text = "w1,ash,elm\nw1,elm\nw2,ash,fir,elm,,\n"
    path = file("t.csv", text)
    with pytest.raises(TableError, match=r"line 3 has 6 fields.* use header=0") as caught:
        open_table(path).cells()
    assert caught.value.remedies == ({"header": 0},)
    frame = open_table(path, header=0).cells()
    assert frame.columns.tolist() == ["column 1", "column 2", "column 3", "column 4"]
    assert frame.iloc[1].isna().tolist() == [False, False, True, True]


def test_a_title_above_the_header_is_found(file):
    path = file("t.csv", "Results,2024\nid,a,b\n1,x,y\n2,z,w\n")
    with pytest.raises(TableError, match=r"If line 1 is a title, use header=2\.") as caught:
        open_table(path).cells()
    assert caught.value.remedies == ({"header": 2}, {"header": 0})
    assert open_table(path, header=2).cells().columns.tolist() == ["id", "a", "b"]
    assert open_table(path, header=0).cells().shape == (4, 3)


@pytest.mark.parametrize("text", ["3,1,2\n1,2,3\n", "ash,elm\nelm,fir\nash,oak\nfir,elm\n"])
def test_a_first_line_that_may_be_a_row_is_asked_about(file, text):
    path = file("t.csv", text)
    with pytest.raises(TableError, match=r"line 1 holds .*header=0.*header=1") as caught:
        open_table(path)
    rows, names = (open_table(path, **remedy) for remedy in caught.value.remedies)
    assert rows.cells().iloc[0].tolist() == text.split("\n")[0].split(",")
    assert names.names.tolist() == text.split("\n")[0].split(",")


def test_a_line_longer_than_the_header_is_explained(file):
    path = file("t.csv", "a,b\nash,1,2\nelm,2,1\n")
    with pytest.raises(TableError, match="If each line begins with the name of a row, begin"):
        open_table(path).cells()


def test_an_unnamed_column_is_kept_if_it_has_cells(file):
    table = open_table(file("t.csv", ",a,,b,,\n0,x,,y,,\n1,z,,w,,\n"))
    assert table.names.tolist() == ["column 1", "a", "column 3", "b"]  # numbers of columns hold
    assert table.cells().columns.tolist() == ["column 1", "a", "b"]


# Quotation marks


@pytest.mark.parametrize(
    "text",
    [
        'item,note\nash,"two\nlines, and\n\na third"\nelm,x\n',
        'item,note\nash,"one\nmore ""word"" here"\nelm,x\n',
        'item,note\n"ash","I like it, really\nvery, very much"\nelm,"x"\n',
        'item,size\npipe,5"\nrod,7" long\n',
        'item,note\nash,"Well,\nI like it, really\nbye"\nelm,x\n',
    ],
)
def test_quoted_cells_of_several_lines_are_read(file, text):
    frame = open_table(file("t.csv", text)).cells()
    assert len(frame) == 2
    assert frame.notna().all(axis=None)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('item,size\nash,1\n"elm,2\nfir,3\n"oak,4\nyew,5\n', 3),
        ('item,size\nash,1\n"elm,2\nfir,3\noak",4\nyew,5\n', 3),
        ('item,size\nash,"1\nfir,"3\n', 2),
        ('item,size,note\nash,"1,x\nfir,3,y"\n', 2),
    ],
)
def test_a_stray_mark_that_joins_lines_is_refused(file, text, line):
    with pytest.raises(TableError, match=rf"line {line} opens a cell with a quotation mark that c"):
        open_table(file("t.csv", text)).cells()
    with pytest.raises(TableError, match=r"line 2 opens a cell .* never closed"):
        open_table(file("t.csv", 'a,b\n"x,1\ny,2\n')).cells()


# Archives and folders


def test_hidden_files_of_an_archive_are_ignored(tmp_path):
    path = tmp_path / "download.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("games/games.tsv", "a\tb\nx\t1\n")
        archive.writestr("__MACOSX/games/._games.tsv", b"\0\5")
        archive.writestr("games/.DS_Store", b"\0")
    assert texts(path) == {"a": ["x"], "b": ["1"]}
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("more.csv", "a")
    with pytest.raises(ValueError, match=r"download\.zip is not a supported table"):
        open_table(path)


def test_the_tables_of_a_folder_are_read_as_one(tmp_path):
    (tmp_path / "2024.05.csv").write_text("winner,loser\nash,elm\n")
    (tmp_path / "2024.06.csv").write_text("winner,loser,\nelm,ash,\n")
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(b",winner,loser\n0,fir,ash\n"))
    (tmp_path / ".hidden.csv").write_text("x")
    (tmp_path / "notes.md").write_text("x")
    table = open_table(tmp_path)
    assert table.names.tolist() == ["winner", "loser", "file"]
    frame = table.cells()
    assert frame["file"].tolist() == ["2024.05", "2024.06", "b"]
    assert frame["winner"].tolist() == ["ash", "elm", "fir"]
    assert frame.index.tolist() == ["2 of 2024.05.csv", "2 of 2024.06.csv", "2 of b.csv.gz"]
    assert table.cells({"file"}).columns.tolist() == ["file"]
    assert table.notes == [
        f"3 tables of the folder {tmp_path} are read as one.",
        "Columns without a name that only some tables have are left out.",
    ]
    (tmp_path / "c.csv").write_text("winner,judge\nash,elm\n")
    with pytest.raises(
        TableError, match=r"'(judge|loser)' is not in both 2024\.05\.csv and c\.csv"
    ):
        open_table(tmp_path)


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(TableError, match="contains no tables"):
        open_table(tmp_path)


# JSON


def test_numbers_of_json_are_written_as_they_are(file):
    rows = '{"id":1,"v":1.10},{"id":1.0,"v":1.1},{"id":9007199254740993},{"id":"1"},{"id":null}'
    ids = ["1", "1.0", "9007199254740993", "1", np.nan]
    for name, text in [("t.json", f"[{rows}]"), ("t.jsonl", rows.replace("},", "}\n"))]:
        found = texts(file(name, text))
        assert found["id"] == ids
        assert found["v"][:2] == ["1.10", "1.1"]


def test_json_is_laid_out_by_names(file):
    text = '\n{"a":{"b":[1,"x",2.50],"c":true},"d":" e "}\n\n{"a":{"c":false},"d":"\u2028f\u0085g"}'
    table = open_table(file("t.jsonl", text))
    frame = table.cells()
    assert frame.columns.tolist() == ["a.b", "a.c", "d"]
    assert frame["a.b"].iloc[0] == ["1", "x", "2.50"]
    assert frame["a.c"].tolist() == ["true", "false"]
    assert frame["d"].tolist() == ["e", "f\u0085g"]
    assert frame.index.tolist() == [2, 4]
    assert [frame.index.name, table.rows_are] == ["line", "line"]
    assert table.notes == ["Removed spaces around 2 cells."]
    assert open_table(file("t.json", '{"n": 1, "rows": [{"a": 1}]}')).cells().index.name == "row"


@pytest.mark.parametrize("orient", ["columns", "list", "split", "records", "table"])
def test_json_of_pandas_is_laid_out_in_rows(tmp_path, orient):
    frame = pd.DataFrame({"a": ["007", "7"], "b": [1.5, 2.5]})
    path = tmp_path / "t.json"
    path.write_text(
        json.dumps(frame.to_dict("list")) if orient == "list" else frame.to_json(orient=orient)
    )
    found = texts(path)
    assert [found["a"], found["b"]] == [["007", "7"], ["1.5", "2.5"]]


def test_one_object_is_one_row(file):
    text = '{"home": {"name": "ash", "goals": 2}, "away": {"name": "elm", "goals": 1}}'
    assert open_table(file("t.json", text)).cells().iloc[0].tolist() == ["ash", "2", "elm", "1"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"a": 1, "a": 2}]', "an object has the name 'a' twice"),
        ('{"a": 1}\n{"a": 1, "a": 2}', "an object has the name 'a' twice"),
        ("[1, 2]", "must contain a list of objects"),
        ("[]", "is empty"),
        ("", "is empty"),
        ("{", "is not JSON"),
    ],
)
def test_json_that_is_no_table_is_refused(file, text, message):
    with pytest.raises(TableError, match=message):
        open_table(file("t.json", text))


# Parquet, Arrow and frames


def test_a_saved_index_is_a_column(tmp_path):
    frame = pd.DataFrame({"b": [1, 2]}, index=["x", "y"])
    paths = {
        "index": frame,
        "name": frame.rename_axis("name"),
        "id": frame.set_index(pd.RangeIndex(10, -4, -7, name="id")),
        None: frame.reset_index(drop=True),
    }
    for name, one in paths.items():
        one.to_parquet(tmp_path / "t.parquet")
        of_file, of_frame = open_table(tmp_path / "t.parquet"), open_table(one)
        assert {*of_file.names} == {*of_frame.names} == {"b", *([name] if name else [])}
        if name:
            ids = ["10", "3"] if name == "id" else ["x", "y"]
            for table in (of_file, of_frame):
                assert label_text(table.cells({name})[name]).tolist() == ids
        assert of_file.cells().index.tolist() == [0, 1]
        assert of_file.cells().index.name == of_file.rows_are == "row"


def test_an_index_of_numbers_without_a_name_is_none():
    frame = pd.DataFrame({"a": ["x", "y"]}, index=[3, 7])
    assert open_table(frame).names.tolist() == ["a"]
    by = pd.MultiIndex.from_tuples([("u", 1), ("v", 2)], names=["user", None])
    assert texts(frame.set_axis(by)) == {"user": ["u", "v"], "index 2": ["1", "2"], "a": ["x", "y"]}
    assert texts(frame.set_axis(by).reset_index(level=0).set_axis(["user", "a"], axis=1))["user"]
    columns = pd.MultiIndex.from_tuples([("m", "x"), ("m", "")])
    assert open_table(pd.DataFrame([[1, 2]], columns=columns)).names.tolist() == ["m.x", "m"]


def sources(frame, folder):
    """Tables with the same cells in the formats that have types."""
    polars = pytest.importorskip("polars")
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    pq.write_table(arrow, folder / "t.parquet")
    return {
        "pandas": frame,
        "arrow": arrow,
        "polars": polars.from_arrow(arrow),
        "parquet": folder / "t.parquet",
    }


def test_labels_are_the_same_in_every_typed_format(tmp_path):
    frame = pd.DataFrame(
        {
            "id": pd.array([2**60 + 1, None], dtype="Int64"),
            "part": [7.0, np.nan],
            "half": [1.5, 2.0],
            "name": [" ash ", "  "],
            "price": [decimal.Decimal("1.10"), decimal.Decimal("2.00")],
            "day": [datetime.date(2024, 1, 31), None],
            "time": pd.to_datetime(["2024-01-31 12:30:00", None]),
            "yes": pd.array([True, None], dtype="boolean"),
            "nothing": [None, None],
            "list": [["a", "b"], []],
        }
    )
    expected = {
        "id": ["1152921504606846977", np.nan],
        "part": ["7", np.nan],
        "half": ["1.5", "2.0"],
        "name": ["ash", np.nan],
        "price": ["1.10", "2.00"],
        "day": ["2024-01-31", np.nan],
        "time": ["2024-01-31 12:30:00", np.nan],
        "yes": ["True", np.nan],
        "nothing": [np.nan, np.nan],
        "list": [["a", "b"], []],
    }
    for source in sources(frame, tmp_path).values():
        assert texts(source) == expected
        table = open_table(source)
        table.cells()
        assert table.notes == ["Removed spaces around 2 cells."]


def test_large_labels_stored_as_floats_are_refused():
    table = open_table(pd.DataFrame({"id": [2.0**60, np.nan]}))
    with pytest.raises(
        ValueError, match=r"Column 'id' has the label 1152921504606846976, stored as"
    ):
        label_text(table.cells()["id"])


def test_ordered_categories_are_known(tmp_path):
    grades = pd.Categorical(["good", "bad", None], ["bad", "good"], ordered=True)
    frame = pd.DataFrame({"grade": grades, "kind": pd.Categorical(["x", "y", "x"])})
    for source in sources(frame, tmp_path).values():
        table = open_table(source)
        assert table.cells()["grade"].tolist() == ["good", "bad", np.nan]
        assert table.cells()["kind"].tolist() == ["x", "y", "x"]
    for source in (frame, pa.Table.from_pandas(frame)):
        table = open_table(source)
        table.cells()
        assert table.grades == {"grade": ["bad", "good"]}


def test_nested_columns_and_bytes_of_parquet_are_read(tmp_path):
    table = pa.table({"a": [{"x": {"y": 1}, "z": "b"}], "raw": [b"ash"], "a.z": ["c"]})
    pq.write_table(table, tmp_path / "t.parquet")
    opened = open_table(tmp_path / "t.parquet")
    assert opened.names.tolist() == ["a.x.y", "a.z", "raw", "a.z"]
    assert opened.cells({"raw"})["raw"].tolist() == ["ash"]


def test_a_list_of_dicts_is_a_table():
    found = texts([{"a": 2**60 + 1, "b": {"c": 1}}, {"b": {"c": 1.5}}])
    assert found == {"a": ["1152921504606846977", np.nan], "b.c": ["1", "1.5"]}
    table = open_table([{"a": "x"}])
    assert open_table(table) is table
    assert [table.name, table.rows_are] == ["the table", "row"]


@pytest.mark.parametrize("source", [5, None, [1], "empty frame"])
def test_what_is_no_table_is_refused(source):
    if source == "empty frame":
        source = pd.DataFrame({"a": []})
    with pytest.raises(TableError, match=r"Expected a path, .*; got|The table has no rows"):
        open_table(source)


# Excel


def sheet(path, rows, *more):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for title in more:
        book.create_sheet(title)
    book.save(path)
    return path


def test_cells_of_a_sheet_are_text(tmp_path):
    rows = [
        ["id", "version", "x ", None, "day", "time"],
        [7, "1.10", 2.0, None, datetime.datetime(2024, 1, 31), datetime.time(1, 2, 3)],
        ["007", 1.1, " a", "beside", datetime.datetime(2024, 1, 31, 12), None],
        [None, None, None],
        [True, "NA", 1e-7],
    ]
    table = open_table(sheet(tmp_path / "t.xlsx", rows, "other"))
    assert table.names.tolist() == ["id", "version", "x", "column 4", "day", "time"]
    frame = table.cells()
    assert frame["id"].tolist() == ["7", "007", "True"]
    assert frame["version"].tolist() == ["1.10", "1.1", "NA"]
    assert frame["x"].tolist() == ["2", "a", "1e-07"]
    assert frame["column 4"].tolist() == [np.nan, "beside", np.nan]
    assert frame["day"].tolist() == ["2024-01-31", "2024-01-31 12:00:00", np.nan]
    assert frame["time"].tolist() == ["01:02:03", np.nan, np.nan]
    assert frame.index.tolist() == [2, 3, 5]
    assert table.notes == [
        "Only the first of 2 sheets, 'Sheet', is read.",
        "Removed spaces around 2 cells.",
    ]


def test_long_numbers_of_a_sheet_are_noted(tmp_path):
    table = open_table(
        sheet(tmp_path / "t.xlsx", [["id", "n"], [12345678901234567, 1.5], ["x", 2]])
    )
    assert table.cells()["id"].tolist() == ["12345678901234570", "x"]  # as it is stored
    assert table.notes == ["Numbers with more digits than the 15 that Excel keeps: 1."]


def test_the_header_of_a_sheet_may_be_lower_or_missing(tmp_path):
    path = sheet(tmp_path / "t.xlsx", [["Title"], ["a", "b"], [1, 2]])
    assert open_table(path, header=2).cells().to_dict("list") == {"a": ["1"], "b": ["2"]}
    assert open_table(path, header=0).cells().shape == (3, 2)


# All formats


@pytest.mark.parametrize("suffix", ["csv", "tsv", "xlsx", "parquet", "frame", "arrow"])
def test_a_repeated_name_is_refused_if_it_is_used(tmp_path, suffix):
    frame = pd.DataFrame([["x", "y", "z"]], columns=["a", "a", "b"])
    source = tmp_path / f"t.{suffix}"
    arrow = pa.Table.from_arrays([pa.array([v]) for v in "xyz"], names=["a", "a", "b"])
    match suffix:
        case "csv" | "tsv":
            frame.to_csv(source, index=False, sep="," if suffix == "csv" else "\t")
        case "xlsx":
            sheet(source, [["a", "a", "b"], ["x", "y", "z"]])
        case "parquet":
            pq.write_table(arrow, source)
        case _:
            source = frame if suffix == "frame" else arrow
    table = open_table(source)
    assert table.names.tolist() == ["a", "a", "b"]
    assert table.cells().iloc[0].tolist() == ["x", "y", "z"]
    assert table.cells({"b"})["b"].tolist() == ["z"]
    with pytest.raises(TableError, match=r"has 2 columns called 'a'; rename them\."):
        table.cells({"a", "b"})


@pytest.mark.parametrize("suffix", ["csv", "json", "xlsx", "parquet", "frame"])
def test_spaces_are_removed_alike(tmp_path, suffix):
    frame = pd.DataFrame([[" x", "y"], ["z ", " "]], columns=["a ", "b"])
    source = tmp_path / f"t.{suffix}"
    match suffix:
        case "csv":
            frame.to_csv(source, index=False)
        case "json":
            source.write_text(json.dumps(frame.to_dict("records")))
        case "xlsx":
            sheet(source, [frame.columns.tolist(), *frame.to_numpy().tolist()])
        case "parquet":
            frame.to_parquet(source)
        case "frame":
            source = frame
    table = open_table(source)
    assert table.names.tolist() == ["a", "b"]
    for _ in range(2):
        found = table.cells()
        assert found["a"].tolist() == ["x", "z"]
        assert found["b"].tolist() == ["y", np.nan]
        assert table.notes == ["Removed spaces around 4 cells."]


# Labels


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        (pd.Series([3, 1, 3]), ["3", "1", "3"]),
        (pd.Series([1.0, None]), ["1", np.nan]),
        (pd.Series([1.0, 1.1]), ["1.0", "1.1"]),
        (pd.Series([0.1, -0.0], dtype="float32"), ["0.1", "-0.0"]),
        (pd.Series([1.0, np.inf]), ["1.0", "inf"]),
        (pd.Series(pd.array([1.0, None], dtype="Float64")), ["1", np.nan]),
        (pd.Series([True, False]), ["True", "False"]),
        (pd.Series(["a", None], dtype="string"), ["a", np.nan]),
        (pd.Series(["a", "1", None], dtype=object), ["a", "1", np.nan]),
        (pd.Series(["b", 2.0, 1], dtype=object), ["b", "2", "1"]),
        (pd.Series([3, 1], dtype="category"), ["3", "1"]),
        (pd.Series([[1, "a"], np.nan]), [["1", "a"], np.nan]),
        (pd.Series([pd.Timedelta("01:02:03")]), ["0 days 01:02:03"]),
        (pd.Series(pd.to_datetime(["2024-01-31", None])), ["2024-01-31", np.nan]),
        (
            pd.Series(pd.to_datetime(["2024-01-31 00:00", "2024-01-31 12:00"])),
            ["2024-01-31 00:00:00", "2024-01-31 12:00:00"],
        ),
    ],
)
def test_labels_are_text(values, labels):
    found = label_text(values)
    assert found.tolist() == labels
    assert found.dtype == object
