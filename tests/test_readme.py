"""The README and the pages of the site do what they say: commands exist, Python runs."""

import functools
import re
import runpy
import shutil
import subprocess
import sys
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pymc as pm
import pytest

import bayesrank as br
from bayesrank.results import ParetoKWarning, PriceWarning
from tests.builders import PACKAGE
from tests.fake_draws import fake_draws

ROOT = PACKAGE.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = {
    path.relative_to(ROOT / "docs").as_posix(): path.read_text(encoding="utf-8")
    for path in (ROOT / "docs").rglob("*.md")
}

DRAWN = {  # their programs draw what they show, by docs/outputs.py
    "gallery.md",
    *(
        f"families/{name}.md"
        for name in ("bpr", "choices", "generalized_mallows", "mallows", "pmop")
    ),
}


QUESTIONS = {  # short pages, which tests/test_pages.py runs
    f"howto/{name}.md"
    for name in (
        "anchors", "benchmark", "borda_kemeny", "both_bad", "cite", "disconnected", "equal_ranks",
        "how_many", "item_covariates", "last_season", "margins", "misfit", "pairs_of_rankings",
        "people", "sampler", "saving", "swapped",
    )
}  # fmt: skip


def blocks(language, text=README):
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


def under(heading):
    (section,) = re.findall(rf"(?ms)^## {heading}\n(.*?)(?=^## |\Z)", README)
    return section


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize("heading", ["Quickstart", "Tests"])
def test_one_command_stands_under_the_heading_alone_in_its_block(heading):
    (block,) = blocks("bash", under(heading))
    (command,) = block.splitlines()
    script, name = command.split()
    usage = subprocess.run(
        ["bash", ROOT / script, "help"], capture_output=True, text=True, check=True
    ).stdout
    assert re.search(rf"(?m)^  {name}  ", usage)


def test_continuous_integration_runs_the_command_under_tests():
    (command,) = blocks("bash", under("Tests"))
    assert (ROOT / ".ci/run").read_text(encoding="utf-8").endswith("\n" + command)


@pytest.fixture
def few_draws(monkeypatch):
    """What the examples sample, in less time: JAX compiles in seconds."""
    small = functools.partial(
        pm.sample, 200, tune=200, chains=2, cores=1, progressbar=False,
        nuts_sampler="nutpie", backend="jax",
    )  # fmt: skip
    monkeypatch.setattr(pm, "sample", small)
    plt.close("all")
    yield
    plt.close("all")


def run(block, names):
    exec(compile(block, "a page", "exec"), names)
    return names


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(README, id="readme"),
        pytest.param(PAGES["start/table.md"], id="table", marks=pytest.mark.slow),
    ],
)
def test_four_lines_lead_from_a_table_to_a_verdict(text, capsys):
    block = blocks("python", text)[0]
    report = run(block, {})["report"]
    assert report.verdict in capsys.readouterr().out
    assert report.table["p_best"].sum() == pytest.approx(1)


def test_its_rankings_run_and_show_what_it_claims(few_draws):
    names = run(blocks("python")[1], {})
    summary = names["br"].rank_summary(names["posterior"])
    assert set(summary.index) == {"ale", "stout", "lager"}
    assert summary.index[0] == "stout"  # never worse than second, lager never first alone
    assert len(plt.get_fignums()) == 1  # for plt.show()


@pytest.mark.parametrize(
    ("page", "var"),
    [
        pytest.param("mixtures", "utility", marks=pytest.mark.slow),
        ("mpm", "score"),
        ("plackett_luce", "utility"),
    ],
)
def test_the_example_of_a_family_needs_nothing_but_its_page(few_draws, monkeypatch, page, var):
    if page != "mixtures":  # whose components are found in what is sampled
        monkeypatch.setattr(pm, "sample", lambda *_, **__: fake_draws())
    (block,) = blocks("python", PAGES[f"families/{page}.md"])
    names = run(block, {})
    assert names["br"].rank_draws(names["posterior"], var).sizes["item"] in (5, 87)


@pytest.mark.slow
def test_the_page_on_choices_compares_three_likelihoods(few_draws):
    (block,) = blocks("python", PAGES["families/choices.md"])
    table = run(block, {})["table"]
    assert {*table.index} == {"exact", "sequential", "marley", "random ranking"}


def tutorial(page):
    """Run the programs of a tutorial, one after another."""
    names = {}
    with warnings.catch_warnings():  # few draws: some rankings change the posterior
        warnings.simplefilter("ignore", ParetoKWarning)
        for block in blocks("python", PAGES[page]):
            run(block, names)
    return names


@pytest.fixture
def nothing_is_sampled(monkeypatch):
    monkeypatch.setattr(pm, "sample", lambda *_, **__: fake_draws())
    yield
    plt.close("all")


def test_the_tutorial_on_models_runs_with_draws_that_are_not_sampled(nothing_is_sampled):
    assert tutorial("start/model.md")["races"].n_rankings == 36


@pytest.mark.slow
def test_the_tutorial_on_checks_repairs_a_model_that_does_not_fit(few_draws):
    names = tutorial("start/checks.md")
    assert not br.worst_checks(names["checks"]).ok
    assert names["verdict"].ok
    summary = br.rank_summary(names["posterior"])
    assert set(summary.index[:2]) == {"Mark Martin", "Rusty Wallace"}
    assert br.rank_summary(names["better"]).index[0] == "Tony Stewart"
    assert {"scale 1", "learned scale", "random ranking"} == set(names["table"].index)
    assert names["table"].index[-1] == "random ranking"
    assert set(names["checks"].index.levels[0]) >= {"top item", "pair order"}


def gallery():
    """Run the notebook for the gallery of PyMC."""
    text = (ROOT / "notebooks/plackett_luce.myst.md").read_text(encoding="utf-8")
    assert text.startswith("---\njupytext:\n")
    for part in (":::{post} ", ":::{bibliography}", "## Authors", "## Watermark", "page_footer.md"):
        assert part in text
    cells = re.findall(r"```\{code-cell\} ipython3\n(?:---\n.*?---\n)?(.*?)```", text, re.DOTALL)
    code = "".join(re.sub(r"(?m)^%.*\n", "", cell) for cell in cells)
    return run(code.replace("pm.model_to_graphviz(model)", ""), {})


def test_the_notebook_for_the_gallery_of_pymc_has_its_form(nothing_is_sampled):
    assert gallery()["summary"].shape[0] == 87


@pytest.mark.slow
def test_the_notebook_for_the_gallery_of_pymc_runs(few_draws):
    names = gallery()
    assert {*names["summary"].index[:2]} == {"Mark Martin", "Rusty Wallace"}
    assert (names["summary"]["status"].iloc[:3] != "behind").all()


@pytest.mark.parametrize("page", ["best_worst", "conjoint"])
def test_the_tutorials_of_surveys_run_with_draws_that_are_not_sampled(monkeypatch, page):
    monkeypatch.setattr(pm, "sample", lambda **_: fake_draws())
    monkeypatch.setattr(pm, "compute_log_likelihood", lambda _: None)
    monkeypatch.setattr(br, "loo_by_ranker", lambda _: pd.DataFrame({"gain": [-1.0, 1.0]}))
    names = {}
    with warnings.catch_warnings():  # the price of such draws may please
        warnings.simplefilter("ignore", PriceWarning)
        for block in blocks("python", PAGES[f"start/{page}.md"]):
            run(block, names)
    np.testing.assert_allclose(names["shares"].sum(names["shares"].dims[-1]), 1)


@pytest.mark.slow
def test_a_best_worst_survey_has_shares_and_people_who_answer_at_random(few_draws):
    names = {}
    with warnings.catch_warnings():  # of few draws
        warnings.simplefilter("ignore", ParetoKWarning)
        for block in blocks("python", PAGES["start/best_worst.md"]):
            run(block, names)
    assert names["design"].message.startswith("Each of 8 items was shown in")
    assert names["ranks"].index[0] in {"apple", "bread"}
    by_set = names["shares"].mean(("chain", "draw")).to_series()
    assert by_set["no apple", "apple"] == 0 < by_set["all", "apple"]
    change = names["change"].sel(item="bread")
    assert float((change > 0).mean()) == 1  # all others gain
    assert len({"p36", "p37", "p38", "p39"} & set(names["people"].index[:6])) >= 3
    assert len(names["suspects"]) <= 8


@pytest.mark.slow
def test_a_conjoint_survey_has_prices_of_features_and_a_market(few_draws):
    names = {}
    for block in blocks("python", PAGES["start/conjoint.md"]):
        run(block, names)
    pay = names["pay"]
    truth = {"brand[Birke]": 0.5, "brand[Calla]": 1.0, "camera[two]": 1.5}
    for feature, price in truth.items():
        assert pay.loc[feature, "low"] - 0.3 < price < pay.loc[feature, "high"] + 0.3
    assert set(names["importance"]["attribute"].values) == {"brand", "camera", "price"}
    assert float((names["gain"] > 0).mean()) == 1
    assert "pay_person" in names["in_money"].named_vars


def test_parameters_of_another_model_are_ranked(nothing_is_sampled):
    (block,) = blocks("python", PAGES["howto/results.md"])
    assert run(block, {})["summary"].index.name == "school"


@pytest.mark.slow
def test_eight_schools_cannot_be_told_apart(few_draws):
    (block,) = blocks("python", PAGES["howto/results.md"])
    assert (run(block, {})["summary"]["status"] != "behind").all()


def test_its_matches_run_with_draws_that_are_not_sampled(nothing_is_sampled):
    names = run(blocks("python")[2], {})
    assert set(names["br"].rank_summary(names["posterior"]).index) == {"Alder", "Birch", "Cedar"}


@pytest.mark.slow
def test_its_matches_run_and_show_what_it_claims(few_draws, capsys):
    names = run(blocks("python")[2], {})
    assert set(names["br"].rank_summary(names["posterior"]).index) == {"Alder", "Birch", "Cedar"}
    sentence = r"Alder is better than Birch with probability 0\.\d+\. \d+ more matches"
    assert re.match(sentence, capsys.readouterr().out)


def test_the_page_on_pairs_fits_grades(monkeypatch):
    monkeypatch.setattr(pm, "sample", lambda *_, **__: fake_draws())
    block = blocks("python", PAGES["families/pairs.md"])[-1]
    names = run(block, {"br": br, "pd": pd, "pm": pm})
    assert names["posterior"]["posterior"]["cutpoint"].sizes["boundary"] == 4


def test_the_page_on_arenas_builds_its_model():
    (block,) = blocks("python", PAGES["howto/arena.md"])
    model = run(block, {})["model"]
    assert model.named_vars_to_dims["prompt_deviation"] == ("prompt_item",)
    assert model.named_vars_to_dims["judge_feature_effect"] == ("feature", "judge")


def test_the_page_of_forms_prints_what_it_shows(capsys):
    (block,), (shown,) = (blocks(x, PAGES["start/forms.md"]) for x in ("python", "output"))
    run(block, {})
    assert capsys.readouterr().out == shown


def test_pages_show_the_examples_of_the_readme_and_no_others_that_are_not_run():
    _, first, second = blocks("python")
    shown = {name: blocks("python", text) for name, text in PAGES.items()}
    assert "".join(shown.pop("start/model.md")[:2]) == first
    assert "".join(shown.pop("families/pairs.md")[:3]) == second
    run_above = {"start/checks.md", "families/mixtures.md", "families/mpm.md", "history.md"}
    run_above |= {"families/plackett_luce.md", "howto/results.md"}
    run_above |= {"howto/arena.md", "start/best_worst.md", "start/conjoint.md", *DRAWN}
    run_above |= {"start/forms.md", "start/table.md", *QUESTIONS}
    assert {name for name, code in shown.items() if code} == run_above


def test_the_table_of_measurements_names_the_benchmarks_that_are_there():
    named = set(re.findall(r"`(test_\w+\.py)`", PAGES["benchmarks.md"]))
    benchmarks = {path.name for path in (ROOT / "tests/benchmarks").glob("test_*.py")}
    assert named == benchmarks


def test_the_files_that_it_shows_and_links_to_are_there():
    linked = set(re.findall(r"\]\(([\w/.-]+)\)", README))
    assert {"docs/ranks.png", "docs/start/install.md", "CITATION.cff", "LICENSE"} <= linked
    assert [path for path in linked if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("command", ["rank", "matches", "choices"])
def test_the_command_lines_it_quotes_have_these_options(command):
    (quoted,) = re.findall(rf"`bayesrank ({command} FILE\.csv[^`]*)`", README)
    options = set(re.findall(r"--[\w-]+", quoted))
    usage = subprocess.run(
        [sys.executable, "-m", "bayesrank.cli", command, "--help"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert len(options) >= 3
    assert options <= set(re.findall(r"--[\w-]+", usage))


def test_every_picture_is_made_by_ten_lines_at_most():
    programs = blocks("python", PAGES["gallery.md"])
    drawn = [name for x in programs for name in re.findall(r"(?m)^(\w+) = br\.plot_", x)]
    shown = re.findall(r"!\[[^]]{20,}\]\((\w+)\.png\)", PAGES["gallery.md"])
    assert drawn == shown
    assert len(shown) == 10
    for program in programs:
        lines = [line for line in program.splitlines() if line and not line.startswith("import ")]
        assert len(lines) <= 10, program


@pytest.mark.parametrize("page", sorted(name for name in PAGES if name.startswith("families/")))
def test_every_family_has_a_picture_with_a_description(page):
    if page == "families/index.md":
        pytest.skip("a list of the others")
    shown = re.findall(r"!\[[^]]{20,}\]\(\.\./(\w+\.png)\)", PAGES[page])
    assert shown
    assert [name for name in shown if not (ROOT / "docs" / name).exists()] == []


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted(DRAWN))
def test_the_programs_of_the_pictures_run(few_draws, data_dir, page):
    run_page = runpy.run_path(str(ROOT / "docs/outputs.py"))["run_page"]
    path, matches = ROOT / "docs" / page, str(data_dir / "football" / "england.csv")
    pictures = 0
    for block, given in run_page(path, matches):
        if block["image"]:
            assert given.value.viz is not None, block["code"]
            assert (path.parent / block["file"]).exists()
            pictures += 1
    assert pictures


@pytest.mark.slow
def test_the_page_on_history_runs_as_it_stands():
    text = (ROOT / "docs" / "history.md").read_text(encoding="utf-8")
    first, second = blocks("python", text)
    names = run(first, {})
    with warnings.catch_warnings():  # five matches: each changes the posterior
        warnings.simplefilter("ignore", ParetoKWarning)
        run(second, names)
    assert set(names["draws"]) == {"constant", "random_walk"}
    plt.close("all")
