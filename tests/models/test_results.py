"""Tables of studies: their form, their markers, the command that writes them."""

import re

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from models.shared import results
from tests.builders import GALLERY, ROOT

# Studies whose commands write their tables
STUDIES = [
    "bpr",
    "context",
    "history",
    "metasearch",
    "mpm",
    "multilabel",
    "partitioned_preference",
    "pmop_collaborative",
    "pmop_documents",
    "ties",
]

OURS = pd.DataFrame({"N@1": [50.123, 40.0], "who": ["all", "some"]}, index=["a", "b"])
THEIRS = pd.DataFrame({"N@1": [51.0, 7.5]}, index=["a", "c"])


def test_published_values_stand_beside_ours():
    assert results.Table(OURS, THEIRS, digits=1, corner="row").markdown().splitlines() == [
        "| row | N@1 | who |",
        "|---|---:|---|",
        "| a | 50.1 (51.0) | all |",
        "| b | 40.0 | some |",
        "| c | (7.5) |  |",
    ]


def test_a_table_is_written_between_its_markers_and_on_the_page_of_papers(tmp_path):
    (tmp_path / "models/made_up").mkdir(parents=True)
    (tmp_path / "docs").mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "data/A1.txt").write_text("x")
    path, papers = tmp_path / "models/made_up/RESULTS.md", tmp_path / "docs/papers.md"
    path.write_text("before <!-- table one -->old<!-- end of one --> after")
    papers.parent.mkdir(exist_ok=True)
    papers.write_text("<!-- table made_up: one --><!-- end of made_up: one -->")
    seen = []

    def one(how):
        seen.append(how)
        figure = plt.figure()
        return results.Table(OURS, shown=OURS.loc[["a"], ["N@1"]], figures={"one.png": figure})

    folder = str(tmp_path / "data")
    options = {"data": "nothing", "root": tmp_path}
    results.run("made_up", {"one": one}, arguments=[folder, "--quick"], **options)
    assert "old" in path.read_text()
    results.run("made_up", {"one": one}, arguments=[folder], **options)
    assert [how.quick for how in seen[:2]] == [True, False]
    text = path.read_text()
    assert re.fullmatch(
        r"before <!-- table one -->\n\|.*?<!-- end of one --> after", text, re.DOTALL
    )
    assert re.search(r"\*Seed 1; A1.txt of [-0-9]{10} \(sha256 2d711642\); \d+ CPU s; comp", text)
    assert "| a | 50.12 |\n<!-- end" in papers.read_text()
    papers.write_text("no place for it")
    results.run("made_up", {"one": one}, arguments=[folder], **options)
    assert papers.read_text() == "no place for it"
    assert (tmp_path / "docs/one.png").stat().st_size > 100
    assert results.between(text, "two") is None
    with pytest.raises(ValueError, match=r"has 0 pairs of markers of 'two'; put '<!-- table two"):
        results.replace_between(path, "two", "x")


def test_markers_hold_tables_that_a_study_has():
    texts = {paper: (GALLERY / paper / "RESULTS.md").read_text("utf-8") for paper in STUDIES}
    papers = (ROOT / "docs/papers.md").read_text("utf-8")
    for paper, text in texts.items():
        study = "".join(path.read_text("utf-8") for path in (GALLERY / paper).glob("*.py"))
        names = re.findall(r"<!-- table (\w+) -->", text)
        shown = re.findall(rf"<!-- table {paper}: (\w+) -->", papers)
        assert names
        for name in names + shown:
            assert re.search(rf'[ {{]"{name}": ', study), name
        for name in names:
            table = results.between(text, name)
            assert "|---" in table, name
            assert "CPU s; computed on 20" in table, name
            text = text.replace(table, "")
        assert "|---" not in text, f"{paper} has a table that no command wrote"
        for name in shown:
            assert "|---" in results.between(papers, f"{paper}: {name}"), name
