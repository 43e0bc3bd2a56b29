"""Files are written whole or not at all."""

import io
import os
import stat

import pandas as pd
import pytest
from matplotlib.figure import Figure

from bayesrank.reporting.page.files import figure_png, plain, table_bytes, whole_file


def write_whole(path, content):
    with whole_file(path) as temporary:
        temporary.write_bytes(content)


def test_a_picture_has_the_size_asked_for():
    png = figure_png(Figure(figsize=(2, 1)), dpi=50)
    assert png.startswith(b"\x89PNG")
    assert [int.from_bytes(png[i : i + 4]) for i in (16, 20)] == [100, 50]


def test_a_file_is_written_and_replaced(tmp_path):
    path = tmp_path / "page.html"
    write_whole(path, b"old")
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_has_the_permissions_of_any_new_file(tmp_path):
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "page.html", b"")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "page.html").stat().st_mode) == 0o640


@pytest.mark.parametrize("failure", [RuntimeError, KeyboardInterrupt])
def test_a_failing_write_leaves_the_old_file_and_no_other(tmp_path, failure):
    path = tmp_path / "page.html"
    path.write_bytes(b"old")

    def fail():
        with whole_file(path) as beside:
            assert beside.parent == tmp_path  # the same disk, so that the move is atomic
            beside.write_bytes(b"half")
            raise failure

    with pytest.raises(failure):
        fail()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failing_move_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    path.write_bytes(b"old")

    def replace(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", replace)
    with pytest.raises(OSError, match="No space left on device"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("cell", "written"),
    [("=1+1", "'=1+1"), ("@x", "'@x"), ("+x", "'+x"), ("-x", "'-x"), ("-5", "-5"),
     ("+.5e3", "+.5e3"), ("a=b", "a=b"), ("", "")],
)  # fmt: skip
def test_a_spreadsheet_runs_nothing(cell, written):
    table = pd.DataFrame({"x": [cell], "n": [-1]}, index=pd.Index([cell], name="item"))
    head, row, _ = table_bytes(table).decode().split("\n")
    assert head == "item,x,n"
    assert row == f"{written},{written},-1"


def test_a_table_neither_steers_a_terminal_nor_turns_the_direction_of_texts():
    texts = ["\x1b[31mred", "a\u202eb\u2066", "\x9b2J", "a\rb\x7f", "\r=1+1"]
    kept = ["a\tb\nc", "寿\U0010fffd", "ab\u200e", "\t=1"]  # LTR marks belong to names
    names = pd.Index([*texts, *kept], name="it\x1bem")
    table = pd.DataFrame({"\x1b]0;x": texts + kept, "=1+1": 0}, index=names)
    written = table_bytes(table).decode()
    found = pd.read_csv(io.StringIO(written), keep_default_na=False)
    assert found.columns.tolist() == ["it\ufffdem", "\ufffd]0;x", "'=1+1"]
    expected = [
        "\ufffd[31mred", "a\ufffdb\ufffd", "\ufffd2J", "a\ufffdb\ufffd", "\ufffd=1+1",
        *kept[:-1], "'\t=1",
    ]  # fmt: skip
    assert found.iloc[:, 0].tolist() == found.iloc[:, 1].tolist() == expected


def test_texts_do_not_steer_terminals():
    assert plain("a\tb\x07\u202ec\n寿司é") == "a\ufffdb\ufffd\ufffdc\n寿司é"
