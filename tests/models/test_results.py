"""Tables of studies: their form, their markers, the command that writes them."""

import importlib
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
    "scores",
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
    assert re.search(r"\*Seed 1; A1.txt \(sha256 2d711642\); \d+ CPU s; comp", text)
    assert "| a | 50.12 |\n<!-- end" in papers.read_text()
    papers.write_text("no place for it")
    results.run(
        "made_up", {"one": lambda how: one(how)._replace(files=())}, arguments=[folder], **options
    )
    assert re.search(r"\n\*Seed 1; \d+ CPU s; comp", path.read_text())  # simulated
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
            assert "CPU s; computed on 20" in table or "nothing was computed" in table, name
            text = text.replace(table, "")
        assert "|---" not in text, f"{paper} has a table that no command wrote"
        for name in shown:
            assert "|---" in results.between(papers, f"{paper}: {name}"), name


# Rows of the papers' tables: Volkovs & Zemel 1 (twice six), 2 and 3; Tran et al. 2 (twice twelve)
# and 3; Ma et al. 1 and 2; Pfannschmidt et al. 1 (twice six) and 2. SVP and theta-MPM stand twice.
N_PUBLISHED = {
    "metasearch": {"table1": 8, "table1_2007": 8, "script": 4, "theta": 1, "steps": 2},
    "mpm": {"best": 10, "filled": 3, "halved": 6},
    "pmop_documents": {"likelihoods": 7, "estimators": 3, "ties": 2, "products": 12},
    "pmop_collaborative": {"fifty": 4},
    "multilabel": {"precision": 6, "propensities": 6, "elsewhere": 12},
    "context": {"medoid": 6, "many": 6, "depth": 7},
}


@pytest.mark.parametrize("paper", N_PUBLISHED)
def test_every_published_row_stands_on_a_page(paper):
    published = importlib.import_module(f"models.{paper}.study").PUBLISHED
    assert {name: len(rows) for name, rows in published.items()} == N_PUBLISHED[paper]
    text = (GALLERY / paper / "RESULTS.md").read_text("utf-8")
    for name, rows in published.items():
        lines = [results._cells(line) for line in results.between(text, name).splitlines()]
        cells = {line[0]: dict(zip(lines[1], line, strict=True)) for line in lines[3:] if line[1:]}
        for row in rows.index:
            for column, value in rows.loc[row].dropna().items():
                cell = cells[str(row)][str(column)]
                if isinstance(value, str):
                    assert cell.endswith(f"({value})"), (row, column)
                else:
                    assert float(cell.rpartition("(")[2].rstrip(")")) == value, (row, column)


def test_published_values_are_written_anew_without_computing(tmp_path):
    (tmp_path / "models/made_up").mkdir(parents=True)
    (tmp_path / "docs").mkdir()
    path, papers = tmp_path / "models/made_up/RESULTS.md", tmp_path / "docs/papers.md"
    old = results.Table(OURS, THEIRS + 1, digits=1).markdown()
    path.write_text(f"<!-- table one -->\n{old}\n\n*Seed 1.*\n<!-- end of one -->")
    papers.write_text(
        "<!-- table made_up: one -->\n| method | N@1 |\n|---|---:|\n| a | 1 |\n"
        "<!-- end of made_up: one -->"
    )
    options = {"published": {"one": THEIRS}, "root": tmp_path, "arguments": ["--published"]}
    assert results.run("made_up", {"one": lambda how: None}, **options) == {}
    new = results.Table(OURS, THEIRS, digits=1).markdown()
    assert path.read_text() == f"<!-- table one -->\n{new}\n\n*Seed 1.*\n<!-- end of one -->"
    assert "| a | 50.1 (51.0) |\n| c | (7.5) |\n<!--" in papers.read_text()
