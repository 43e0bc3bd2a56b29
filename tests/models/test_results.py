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


def test_chosen_rows_are_put_into_the_table_and_all_others_stay(tmp_path, capsys):
    (tmp_path / "models/made_up").mkdir(parents=True)
    (tmp_path / "docs").mkdir()
    path, papers = tmp_path / "models/made_up/RESULTS.md", tmp_path / "docs/papers.md"
    path.write_text("<!-- table one --><!-- end of one -->")
    papers.write_text("<!-- table made_up: one --><!-- end of made_up: one -->")
    values = {"a": 1.0, "b": 2.0, "c": 3.0}

    def one(how):
        rows = pd.DataFrame({"x": values, "y": "z"}).loc[how.chosen(values)]
        shown = rows[["x"]].drop("c", errors="ignore")
        figures = {"one.png": plt.figure()}
        published = pd.DataFrame({"x": {"a": 0.5, "p": 9.0}})
        return results.Table(rows, published, shown=shown, digits=1, figures=figures)

    def tables():
        lines = path.read_text().splitlines(), papers.read_text().splitlines()
        return [[line for line in each if line.startswith("| ")] for each in lines]

    results.run("made_up", {"one": one}, arguments=[], root=tmp_path)
    whole, page = tables()
    assert whole == [
        "| method | x | y |", "| a | 1.0 (0.5) | z |", "| b | 2.0 | z |", "| c | 3.0 | z |",
        "| p | (9.0) |  |",
    ]  # fmt: skip
    assert page == ["| method | x |", "| a | 1.0 (0.5) |", "| b | 2.0 |"]
    drawn = (tmp_path / "docs/one.png").stat().st_mtime_ns

    values.update(a=7.0, b=8.0, c=9.0)
    for _ in range(2):
        results.run("made_up", {"one": one}, arguments=["--row", "b"], root=tmp_path)
    whole[2], page[2] = "| b | 8.0 | z |", "| b | 8.0 |"
    assert tables() == [whole, page]
    assert len(re.findall(r"\n\*Seed 1; .*\*\n", path.read_text())) == 1
    assert len(re.findall(r"\n\*b: Seed 1; .*\*\n", path.read_text())) == 1
    assert (tmp_path / "docs/one.png").stat().st_mtime_ns == drawn
    assert "docs/one.png stays as it is" in capsys.readouterr().out

    values = {"a": 7.0, "new": 5.0, "b": 8.0, "c": 9.0}  # a row that the table has not
    results.run("made_up", {"one": one}, arguments=["--row", "new", "--row", "b"], root=tmp_path)
    assert tables() == [
        [*whole[:2], "| new | 5.0 | z |", *whole[2:]],
        [*page[:2], "| new | 5.0 |", page[2]],
    ]
    results.run("made_up", {"one": one}, arguments=["--row", "c"], root=tmp_path)
    assert "| c | 9.0 | z |" in tables()[0]
    assert tables()[1] == [*page[:2], "| new | 5.0 |", page[2]]

    def other(how):
        return results.Table(pd.DataFrame({"w": {"b": 1.0}}))

    before = path.read_text()
    with pytest.raises(ValueError, match=r"has the columns .*'x', 'y'\], and its new rows .*'w'"):
        results.run("made_up", {"one": other}, arguments=["--row", "b"], root=tmp_path)
    assert path.read_text() == before


def test_a_table_on_demand_is_computed_only_if_it_is_named(tmp_path, capsys):
    seen = []
    tables = {
        name: lambda how, name=name: seen.append(name) or results.Table(OURS) for name in "ab"
    }
    options = {"on_demand": {"b": tables.pop("b")}, "root": tmp_path}
    results.run("made_up", tables, arguments=["--quick"], **options)
    assert seen == ["a"]
    results.run("made_up", tables, arguments=["--quick", "--table", "b"], **options)
    assert seen == ["a", "b"]
    with pytest.raises(SystemExit):
        results.run("made_up", tables, arguments=["--help"], module="other", **options)
    said = capsys.readouterr().out
    assert "python -m models.made_up.other" in said
    assert "all without, but b" in said


def test_a_table_without_a_place_is_refused_before_it_is_computed(tmp_path):
    (tmp_path / "models/made_up").mkdir(parents=True)
    (tmp_path / "models/made_up/RESULTS.md").write_text("nothing")
    with pytest.raises(ValueError, match=r"has 0 pairs of markers of 'one'"):
        results.run("made_up", {"one": pytest.fail}, arguments=[], root=tmp_path)


def test_a_folder_without_data_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit):
        results.run("made_up", {}, data="nothing", arguments=[str(tmp_path)], root=tmp_path)
    assert f"{tmp_path} has no files *; name the folder of the data." in capsys.readouterr().err


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
