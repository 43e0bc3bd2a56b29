"""Pages that teach: below each program stands what it gives, and all of them tell one truth."""

import ast
import re
import runpy

import numpy as np
import pytest

import bayesrank as br
from tests.builders import PACKAGE

ROOT = PACKAGE.parent
DOCS = ROOT / "docs"
OUTPUTS = runpy.run_path(str(DOCS / "outputs.py"))
GUIDES = sorted((ROOT / "models/howto").glob("*.py"))
NOT_STORED = {  # guides without a stored output, and why
    "bart": "needs a package that the environment of the tests lacks",
    "calibration": "simulates and fits 200 data sets",
    "conjoint": "the tutorial on ranked conjoint shows its table",
    "shards": "needs several devices to show anything",
}


def pages():
    found = [*OUTPUTS["pages"]()]
    return pytest.mark.parametrize(
        "page", found, ids=lambda page: f"{page.parent.name}/{page.stem}"
    )


def shows(code):
    """Whether a program prints, or ends in a value."""
    calls = {
        node.func.id
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    return "print" in calls or isinstance(ast.parse(code).body[-1], ast.Expr)


@pages()
def test_what_a_program_gives_stands_below_it(page):
    for block in OUTPUTS["programs"](page.read_text("utf-8")):
        if block["language"] == "bash" or shows(block["code"]):
            assert block["output"] or block["image"], block["code"]


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.stem)
def test_a_guide_has_a_short_model_its_output_and_a_way_to_read_it(guide):
    text = guide.read_text("utf-8")
    tree = ast.parse(text)
    story = ast.get_docstring(tree)
    *_, after = re.split(rf"(?s)\nRun ``python {guide.stem}\.py``.*?\n\n", story)
    assert len(after.split()) > 10
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == "build":
            assert node.end_lineno - node.lineno < 25
    assert guide.with_suffix(".txt").exists() == (guide.stem not in NOT_STORED)
    imported = re.findall(r"(?m)^(?:from|import) ([\w.]+)", text)
    assert not any(name.startswith(("models", "tests")) for name in imported)


@pytest.mark.parametrize(
    "page", sorted((DOCS / "howto").glob("[!i]*.md")), ids=lambda page: page.stem
)
def test_a_question_is_found_by_other_words_than_its_title(page):
    (words,) = re.findall(r"(?m)^# .+\n\n<!-- search: (.+) -->$", page.read_text("utf-8"))
    assert len(words.split(", ")) >= 2


def test_what_a_program_prints_and_its_last_value_become_its_output(tmp_path):
    page = tmp_path / "page.md"
    code = "import pandas as pd\nprint('one')\npd.Series([1.5], ['a'])\n"
    page.write_text(
        f"# A page\n\n```python\n{code}```\n\nText.\n\n```bash\necho no\n```\n", "utf-8"
    )
    new = OUTPUTS["with_outputs"](page)
    assert f"```python\n{code}```\n\n```output\none\na    1.5\ndtype: float64\n```\n\nText." in new
    assert new.endswith("```bash\necho no\n```\n")  # a command without an output is not run
    page.write_text(new, "utf-8")
    assert OUTPUTS["with_outputs"](page) == new


def test_a_warning_is_part_of_the_output_and_a_long_sentence_is_broken():
    code = "import warnings\nwarnings.warn('be careful ' * 12)\n"
    text = OUTPUTS["run_python"](code, {}).text
    assert text.startswith("UserWarning: be careful")
    assert max(map(len, text.splitlines())) <= 80 < len(text)


def test_a_plot_without_an_image_below_it_is_refused(tmp_path):
    page = tmp_path / "page.md"
    code = (
        "import bayesrank as br\nimport numpy as np\nimport xarray as xr\n"
        "u = xr.DataArray(np.random.default_rng(0).normal(size=(2, 9, 3)), "
        "dims=('chain', 'draw', 'item'))\nbr.plot_ranks(u)\n"
    )
    page.write_text(f"```python\n{code}```\n", "utf-8")
    with pytest.raises(RuntimeError, match=r"page\.md: no image follows the plot of this program"):
        OUTPUTS["with_outputs"](page)


# One season, one truth: the tables of the documentation and what the command prints

ROW = re.compile(
    r"(?m)^(?P<item>[A-Z][\w. ]+?)  +(?P<mean>\d+\.\d) +(?P<low>\d+)-(?P<high>\d+) .*?"
    r"(?P<status>leads|tied|unclear|behind)$"
)


def printed(text):
    return {row["item"]: row for row in ROW.finditer(text)}


def table_of(page):
    return printed((ROOT / page).read_text("utf-8"))


def test_readme_and_tutorial_print_the_same_rows():
    readme, tutorial = table_of("README.md"), table_of("docs/start/table.md")
    assert len(readme) >= 3
    assert {name: row[0] for name, row in readme.items()}.items() <= {
        name: row[0] for name, row in tutorial.items()
    }.items()


def test_the_two_tutorials_give_the_drivers_the_same_status():
    command = table_of("docs/start/table.md")
    text = (DOCS / "start/model.md").read_text("utf-8")
    model = dict(re.findall(r"(?m)^([A-Z][\w. ]+?)  +[\d. ]+ +(leads|tied|unclear|behind)\b", text))
    first = [name for name, row in command.items() if row["status"] == "leads"]
    assert len(model) >= 4
    # two drivers share the lead within the Monte Carlo error; all others have one status
    leaders = {"Rusty Wallace", "Mark Martin"}
    assert {*first, *(name for name, status in model.items() if status == "leads")} <= leaders
    for name, status in model.items():
        assert name in leaders or command[name]["status"] == status


@pytest.mark.slow
def test_the_table_in_the_documentation_is_what_the_command_prints():
    posterior = br.fit(br.ranking_model(br.load_nascar()), method="nuts", random_seed=2)
    summary = br.rank_summary(posterior)
    ranks = br.rank_draws(posterior)
    for name, row in table_of("docs/start/table.md").items():
        # both means are estimates from at least 1,000 effective draws
        error = float(ranks.sel(item=name).std()) * np.sqrt(2 / 1000)
        assert abs(summary.loc[name, "mean_rank"] - float(row["mean"])) < 5.5 * error + 0.05
        if name not in ("Rusty Wallace", "Mark Martin", "Dave Blaney", "Michael Waltrip"):
            assert summary.loc[name, "status"] == row["status"]
