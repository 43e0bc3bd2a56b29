"""`bayesrank rank --components`: rankers of a few components, that nobody has named."""

from pathlib import Path

import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr

from bayesrank import inference
from bayesrank.analysis import mixtures
from bayesrank.reporting import sections
from bayesrank.results.checks.families import OMNIBUS
from bayesrank.results.checks.ranking_checks import check_table
from tests.commands import command, data_of, few, no_sampling, ran

TWO = ("--ranker", "who", "--item", "film", "--rank", "place", "--components", 2)
FILMS = ("new hope", "empire", "jedi", "menace", "clones")


def table(n_rankers, rankings=1):
    """Rankings by two components, which disagree about everything; the last third is other."""
    rng = np.random.default_rng(3)
    utility = np.linspace(2, -2, len(FILMS))
    rows = ["who,when,film,place"]
    for person in range(n_rankers):
        sign = 1 if person < 2 * n_rankers / 3 else -1
        for when in range(rankings):
            order = np.argsort(-(sign * utility + rng.gumbel(size=len(FILMS))))
            rows += [f"p{person},{when},{FILMS[i]},{k}" for k, i in enumerate(order, start=1)]
    return "\n".join(rows) + "\n"


TABLES = {"t.csv": table(9)}


@pytest.fixture
def sampler(folder, monkeypatch):
    """Make up draws of two components, one of them of two rankers in three."""
    asked = []

    def sample(**settings):
        asked.append(settings | {"model": pm.modelcontext(None)})
        tree = few(**settings)
        draws = tree["posterior"].to_dataset()
        utility = np.linspace(2, -2, 5)
        # the rarer one comes first, and the chains call them by different numbers
        means = np.stack([np.stack([-utility, utility]), np.stack([utility, -utility])])
        shares = np.array([[1 / 3, 2 / 3], [2 / 3, 1 / 3]])
        order = [list(FILMS).index(item) for item in draws["item"].to_numpy()]
        noise = np.random.default_rng(1).normal(0, 0.2, draws["component_utility"].shape)
        draws["component_utility"].values[:] = means[:, None, :, order] + noise
        draws["component_utility_z"].values[:] = draws["component_utility"].values
        draws["component_utility_scale"].values[:] = 1.0
        draws["share"].values[:] = shares[:, None]
        draws["utility"].values[:] = (
            (draws["share"] * draws["component_utility"]).sum("component").values
        )
        tree["posterior"] = draws
        return tree

    no_sampling(monkeypatch, sample)
    monkeypatch.setattr(mixtures, "first_components", lambda *_: {"share": np.array([0.5, 0.5])})
    return asked


def test_each_component_has_its_leader_its_share_and_its_people(folder, sampler):
    (folder / "t.csv").write_text(table(9, rankings=2), encoding="utf-8")
    result = ran("rank", "t.csv", *TWO, "--ranking", "when", "--json", "--seed", 1)
    (asked,) = sampler
    assert asked["initvals"]["share"].tolist() == [0.5, 0.5]
    output = data_of(result)
    assert "2 components of rankers: for 67% of them new hope leads (best with" in output["verdict"]
    assert ", for 33% of them clones leads (" in output["verdict"]
    assert [row["share"] for row in output["shares"]] == pytest.approx([2 / 3, 1 / 3])
    first = {row["component"]: row["item"] for row in reversed(output["components"])}
    assert first == {1: "new hope", 2: "clones"}
    who = pd.read_csv("t-ranks/component_probabilities.csv", index_col="ranker")
    assert who.index.tolist() == [f"p{k}" for k in range(9)]  # all rankings of each are of one
    assert who.sum(axis=1).to_numpy() == pytest.approx(1)
    p_first = who["component_1"] > 0.5
    assert p_first[[f"p{k}" for k in range(6)]].mean() > 0.8
    assert p_first[["p6", "p7", "p8"]].mean() < 0.4
    page = Path("t-ranks/report.html").read_text(encoding="utf-8")
    assert "of 9 rankers" in page.lower()
    for heading in ("Components", "Ranks by component", "Which ranker belongs to which component"):
        assert f">{heading}</h2>" in page
    assert ">What it misses within the components</h2>" in page
    checks = pd.read_csv("t-ranks/component_checks.csv")
    single = {"share", "top item", "pair order", "Kendall distance"}
    assert set(checks["statistic"]) == single | {"shares", "winners", "pairs", "distances"}
    assert set(checks["component"]) == {"1", "2", "all"}  # omnibus checks are about all
    assert "2 components of rankers with separate utilities" in page
    assert "for 67% of them new hope leads" in page.split("</header>")[0]


def test_a_component_that_does_not_fit_is_reported_with_advice(monkeypatch):
    keys = [("top item", item, component) for item in FILMS for component in (1, 2)]
    keys.append(("Kendall distance", "mean", 2))
    drawn = np.random.default_rng(1).normal(0.5, 0.01, (len(keys), 400))
    observed = np.full(len(keys), 0.5)
    observed[[0, -1]] = 0.9, 0.4
    table = check_table(keys, observed, drawn, None, 0.94)
    whole = table.iloc[[0]].assign(note=OMNIBUS, surprising=True, p=0.0)
    whole.index = pd.MultiIndex.from_tuples([("winners", "largest", 1)], names=table.index.names)
    table = pd.concat([table, whole])
    table.index = table.index.set_names("component", level=2)
    table.attrs["ci_prob"] = 0.94
    monkeypatch.setattr(sections, "component_checks", lambda *_, **__: table)
    part = sections.checks_of_components(None, xr.Dataset())
    (sentence,) = part.failures
    assert sentence.startswith(
        "The model does not describe which item is first within the components: how often new hope "
        "is first (component 1): observed 0.90, predicted"
    )
    assert "Try another number of `components`" in sentence
    assert part.table.index.tolist() == ["new hope, component 1", "mean over rankings, component 2"]


def test_a_ballot_that_counts_several_times_is_of_so_many_people(folder, sampler):
    ballots = ["new hope > empire > jedi > menace > clones,40"]
    ballots += ["clones > menace > jedi > empire > new hope,20", "clones > menace,1"]
    (folder / "b.csv").write_text("\n".join(["ballot,n", *ballots]), encoding="utf-8")
    columns = ("--ballot", "ballot", "--count", "n", "--missing", "drop")
    ran("rank", "b.csv", *columns, "--components", 2)
    page = Path("b-ranks/report.html").read_text(encoding="utf-8")
    assert "Of 61 rankers" in page


def test_starts_that_agree_and_starts_that_do_not(monkeypatch):
    def found(reached):
        def fit_mixture(model, **settings):
            assert settings == {"n_starts": 20, "random_seed": 7}
            return type("Found", (), {"n_reached": reached, "initvals": {"share": 1}})

        return fit_mixture

    messages = []
    for reached in (12, 1):
        monkeypatch.setattr(inference, "fit_mixture", found(reached))
        assert mixtures.first_components(None, 7, messages.append) == {"share": 1}
    (sentence,) = messages
    assert sentence.startswith("Only one of 20 starts reached the best components")


@pytest.mark.slow
def test_simulated_components_are_found(folder):
    (folder / "t.csv").write_text(table(60), encoding="utf-8")
    out = folder / "out"
    settings = ("--seed", 1, "--chains", 2, "--json", "--output-dir", out, "--force")
    result = command("rank", folder / "t.csv", *TWO, *settings)
    output = data_of(result)
    assert output["converged"]
    assert output["fits"], output["warnings"]
    shares = output["shares"]
    assert shares[0]["low"] < 2 / 3 < shares[0]["high"]
    first = {row["component"]: row["item"] for row in reversed(output["components"])}
    assert first == {1: "new hope", 2: "clones"}
    who = pd.read_csv(out / "component_probabilities.csv", index_col="ranker")["component_1"]
    right = np.where(np.arange(60) < 40, who > 0.5, who < 0.5)
    assert right.mean() > 0.9
    again = command("report", out / "posterior.nc", "--output-dir", folder / "again", "--json")
    assert data_of(again)["components"] == output["components"]
    before, now = (
        (path / "component_probabilities.csv").read_bytes() for path in (out, folder / "again")
    )
    assert now == before
    # one order for all of them does not fit, and says what may
    alone = data_of(command("rank", folder / "t.csv", *TWO[:-2], *settings))
    assert not alone["fits"]
    assert "find them with --components 2" in alone["warnings"][0]
