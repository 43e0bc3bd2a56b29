"""Sources: addresses, standard input, pipes and files."""

import gc
import gzip
import io
import os
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pandas as pd
import pytest

from bayesrank.tables import sources
from bayesrank.tables.opening import is_orders, label_text, open_orders, open_table

CSV = b"winner,loser\n007,7\n7,008\n"
BLT = b'2 1\n3 1 2 0\n0\n"Ann"\n"Bob"\n"Ward"\n'


def packed(name, data):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(name, data)
    return buffer.getvalue()


def parquet():
    buffer = io.BytesIO()
    pd.DataFrame({"winner": ["007", "7"], "loser": ["7", "008"]}).to_parquet(buffer)
    return buffer.getvalue()


ANSWERS = {  # path: body, headers
    "/games.csv": (CSV, {}),
    "/games.csv.gz": (gzip.compress(CSV), {}),
    "/archive.zip": (packed("games.csv", CSV), {}),
    "/export": (CSV.replace(b",", b"\t"), {"Content-Type": "text/tab-separated-values"}),
    "/typed": (CSV, {"Content-Type": "text/csv; charset=utf-8"}),
    "/named": (CSV, {"Content-Disposition": 'attachment; filename="games.csv"'}),
    "/bytes": (parquet(), {"Content-Type": "application/octet-stream"}),
    "/lines": (b'{"winner":"007","loser":7}\n{"winner":7,"loser":"008"}\n', {}),
    "/encoded.csv": (gzip.compress(CSV), {"Content-Encoding": "gzip"}),
    "/games.csv?page=2": (CSV, {}),
    "/a%20folder/games.csv": (CSV, {}),
    "/votes.blt": (BLT, {}),
    "/broken.csv": (b"a,b\n1,2,3\n", {}),
    "/empty.csv": (b"", {}),
    "/page": (b"<!DOCTYPE html><p>No table", {"Content-Type": "text/html"}),
}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/games.csv")
            self.end_headers()
            return
        if self.path == "/stalls.csv":
            self.send_response(200)
            self.end_headers()
            self.wfile.write(CSV)
            self.wfile.flush()
            self.server.go_on.wait(20)
            return
        if self.path not in ("/short.csv", *ANSWERS):
            self.send_error(404)
            return
        body, headers = ANSWERS.get(self.path, (CSV, {}))
        self.send_response(200)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) + (self.path == "/short.csv")))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def server():
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as found:
        found.go_on = threading.Event()
        found.daemon_threads = True
        thread = threading.Thread(target=found.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{found.server_port}"
        found.go_on.set()
        found.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def copies(tmp_path_factory, monkeypatch):
    """Put copies into an empty folder, and return it."""
    folder = tmp_path_factory.mktemp("copies")
    monkeypatch.setattr(sources.tempfile, "tempdir", str(folder))
    return folder


def texts(table):
    frame = table.cells()
    return [label_text(frame[name]).tolist() for name in frame]


READ = [["007", "7"], ["7", "008"]]
OTHERS = ("/votes.blt", "/broken.csv", "/empty.csv", "/page")
OF_TABLES = [path for path in ANSWERS if path not in OTHERS]


@pytest.mark.parametrize("path", ["/moved", *OF_TABLES])
def test_an_address_is_read_several_times(server, copies, path):
    address = server + path
    table = open_table(address)
    assert table.name == address
    assert table.names.tolist() == ["winner", "loser"]
    assert texts(table) == texts(table) == READ
    assert len([*copies.iterdir()]) == 1
    del table
    gc.collect()
    assert [*copies.iterdir()] == []


def test_a_path_that_lost_a_slash_is_an_address(server):
    assert texts(open_table(Path(f"{server}/games.csv"))) == READ


def test_orders_are_read_from_an_address(server, copies):
    assert is_orders(f"{server}/votes.blt")
    assert not is_orders(f"{server}/games.csv")
    assert open_orders(f"{server}/votes.blt").orderings == [["Ann", "Bob"]]
    gc.collect()
    assert [*copies.iterdir()] == []


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/none.csv", r"cannot be read: Not Found\."),
        ("/short.csv", r"ended after 25 of 26 bytes\. Try again, or save it"),
        ("/empty.csv", r"cannot be read: .*/empty\.csv is empty|/empty\.csv is empty"),
        ("/page", r"is a web page, not a table\. Give the address of the file\."),
        ("/broken.csv", r"broken\.csv is not a readable csv table: line 2 has 3 fields"),
    ],
)
def test_what_cannot_be_read_is_named_by_its_address(server, copies, path, message):
    with pytest.raises(ValueError, match=message) as caught:
        open_table(server + path).cells()
    assert str(caught.value).startswith(server)
    assert str(copies) not in str(caught.value)
    del caught
    gc.collect()
    assert [*copies.iterdir()] == []


def test_a_server_that_stalls_is_left(server, copies, monkeypatch):
    monkeypatch.setattr(sources, "TIMEOUT", 0.3)
    with pytest.raises(ValueError, match=r"the server sent nothing for 0\.3 seconds"):
        open_table(f"{server}/stalls.csv")
    assert [*copies.iterdir()] == []


def test_a_server_that_does_not_answer_is_named():
    with pytest.raises(ValueError, match=r"http://127\.0\.0\.1:1/t\.csv cannot be read: .*refused"):
        open_table("http://127.0.0.1:1/t.csv")


@pytest.mark.parametrize("address", ["nosuch://bucket/t.csv", "http://", "http://[bad/t.csv"])
def test_an_address_that_nobody_knows_is_refused(address):
    with pytest.raises(ValueError, match=r"cannot be read: "):
        open_table(address)


def test_stores_of_fsspec_are_read():
    fsspec = pytest.importorskip("fsspec")
    with fsspec.open("memory://folder/games.csv", "wb") as out:
        out.write(CSV)
    assert texts(open_table("memory://folder/games.csv")) == READ
    with pytest.raises(ValueError, match=r"memory://folder/none\.csv cannot be read: "):
        open_table("memory://folder/none.csv")


def test_what_is_copied_has_a_limit(server, copies, monkeypatch, standard_input):
    monkeypatch.setattr(sources, "MOST_COPIED", 20)
    with pytest.raises(ValueError, match=r"games\.csv has more than 20 bytes, the limit"):
        open_table(f"{server}/games.csv")
    standard_input(CSV)
    with pytest.raises(ValueError, match=r"^standard input has more than 20 bytes"):
        open_table("-")
    assert [*copies.iterdir()] == []


# Standard input and pipes


INPUTS = {
    "text": CSV,
    "gzip": gzip.compress(CSV),
    "zip": packed("games.csv", CSV),
    "parquet": parquet(),
    "a byte order mark": b"\xef\xbb\xbf" + CSV,
    "json": b'[{"winner": "007", "loser": 7}, {"winner": 7, "loser": "008"}]',
}


@pytest.mark.parametrize("data", INPUTS.values(), ids=INPUTS)
def test_standard_input_is_read_several_times(standard_input, copies, data):
    standard_input(data)
    assert not is_orders("-")
    table = open_table("-")
    assert texts(table) == texts(table) == READ
    assert table.name == "standard input"
    with pytest.raises(ValueError, match=r"Standard input is empty\. It can be read once\."):
        open_table("-")
    del table
    gc.collect()
    assert [*copies.iterdir()] == []


def test_a_sheet_comes_by_standard_input(standard_input, tmp_path):
    pytest.importorskip("openpyxl")
    pd.DataFrame({"winner": ["007", "7"], "loser": [7, "008"]}).to_excel(
        tmp_path / "t.xlsx", index=False
    )
    standard_input((tmp_path / "t.xlsx").read_bytes())
    assert texts(open_table("-")) == READ


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names are of POSIX")
@pytest.mark.parametrize("name", ["games.csv", "pipe"])
def test_a_pipe_is_read_several_times(tmp_path, copies, name):
    path = tmp_path / name
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(CSV,))
    writer.start()
    table = open_table(path)
    writer.join()
    assert table.name == str(path)
    assert texts(table) == texts(table) == READ


# Files


def test_a_missing_file_comes_before_other_complaints(tmp_path):
    for path in (tmp_path / "t.csv", tmp_path / "t.unknown", f"file://{tmp_path}/t.csv"):
        with pytest.raises(FileNotFoundError, match=r"There is no file .*t\.\w+\.$"):
            open_table(path, separator="too long")


def test_an_address_of_a_file_is_a_path(tmp_path):
    (tmp_path / "games.csv").write_bytes(CSV)
    assert texts(open_table(f"file://{tmp_path}/games.csv")) == READ


def test_a_local_file_is_not_copied(tmp_path, copies):
    (tmp_path / "games.csv").write_bytes(CSV)
    table = open_table(str(tmp_path / "games.csv"))
    assert [*copies.iterdir()] == []
    del table
    gc.collect()
    assert (tmp_path / "games.csv").exists()
