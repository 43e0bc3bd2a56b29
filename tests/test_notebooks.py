"""The notebooks run, hold what they claim, and are stored executed, small and tidy."""

import re

import nbformat
import pytest
from nbclient.exceptions import CellExecutionError

import bayesrank as br
from notebooks.execute import FOLDER, execute, notebooks, tidy, write
from tests.flags import flags_of_users

LARGEST = 400_000  # bytes
PATHS = re.compile(r"/(?:tmp|root|home|work|Users|var|opt|usr)/|ipykernel_\d")

every_notebook = pytest.mark.parametrize("path", notebooks(), ids=lambda path: path.stem)


def code_cells(path):
    stored = nbformat.read(path, as_version=4)
    return [cell for cell in stored.cells if cell.cell_type == "code"]


@pytest.mark.slow
@every_notebook
def test_it_runs_as_a_user_runs_it(path, monkeypatch, request):
    if "load_sushi" in path.read_text(encoding="utf-8"):
        request.getfixturevalue("data_dir")  # skips without it
    monkeypatch.setenv("PYTENSOR_FLAGS", flags_of_users())
    execute(path, toy=True)


@every_notebook
def test_it_is_stored_executed_from_top_to_bottom(path):
    counts = [cell.execution_count for cell in code_cells(path)]
    assert counts == list(range(1, len(counts) + 1))


@every_notebook
def test_it_uses_public_names_only(path):
    code = "\n".join(cell.source for cell in code_cells(path))
    assert re.findall(r"(?m)^(?:from bayesrank|import bayesrank\.).*", code) == []
    used = set(re.findall(r"\bbr\.(\w+)", code))
    assert used
    assert used <= set(br.__all__)


@every_notebook
def test_no_stored_output_is_an_error_or_a_warning(path):
    outputs = [output for cell in code_cells(path) for output in cell.outputs]
    assert [x for x in outputs if x.output_type == "error" or x.get("name") == "stderr"] == []


@every_notebook
def test_it_is_stored_with_its_figures_each_once(path):
    figures = [
        output.data["image/png"]
        for cell in code_cells(path)
        for output in cell.outputs
        if "image/png" in output.get("data", {})
    ]
    assert figures
    assert len(set(figures)) == len(figures)


@every_notebook
def test_it_asserts_what_it_claims(path):
    claims = re.findall(r"(?m)^assert .+", code_cells(path)[-1].source)
    assert len(claims) >= 3


@every_notebook
def test_its_file_is_small_and_names_no_place_on_a_machine(path):
    text = path.read_text(encoding="utf-8")
    assert len(text) <= LARGEST
    assert PATHS.findall(re.sub(r'"image/png": "[^"]*"', "", text)) == []


@every_notebook
def test_facts_about_the_machine_are_not_stored(path, tmp_path):
    again = tmp_path / path.name
    write(tidy(nbformat.read(path, as_version=4)), again)
    assert again.read_text(encoding="utf-8") == path.read_text(encoding="utf-8")


def test_the_index_lists_every_notebook_in_order():
    listed = re.findall(r"\]\((\w+\.ipynb)\)", (FOLDER / "README.md").read_text(encoding="utf-8"))
    assert listed == [path.name for path in notebooks()]


def stored(folder, *sources):
    """Write a notebook with these cells."""
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    path = folder / "made_up.ipynb"
    write(nbformat.v4.new_notebook(cells=cells), path)
    return path


@pytest.mark.parametrize(
    ("source", "message"),
    [
        pytest.param(
            "assert 1 == 2, 'One is not two.'",
            "(?s)AssertionError.*One is not two",
            marks=pytest.mark.slow,
        ),
        ("import warnings\nwarnings.warn('careful')", "(?s)UserWarning.*careful"),
    ],
)
def test_a_claim_that_does_not_hold_or_a_warning_stops_it(source, message, tmp_path):
    with pytest.raises(CellExecutionError, match=message):
        execute(stored(tmp_path, source), toy=True)


def test_a_notebook_knows_whether_it_is_of_toy_size(tmp_path):
    path = stored(tmp_path, "import os", "print(os.environ['BAYESRANK_TOY'])")
    executed = tidy(execute(path, toy=True))
    assert [cell.execution_count for cell in executed.cells] == [1, 2]
    assert executed.cells[1].outputs[0].text == "1\n"


def test_a_file_that_cannot_be_written_whole_is_left_as_it_was(tmp_path, monkeypatch):
    path = stored(tmp_path, "1")
    before = path.read_bytes()
    monkeypatch.setattr(nbformat, "writes", lambda notebook: "\ud800")  # not to be encoded
    with pytest.raises(UnicodeEncodeError):
        write(nbformat.v4.new_notebook(), path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
