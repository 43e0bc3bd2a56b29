"""Models, fits and reports from Python: what the commands do, in four lines."""

import html
import json
import logging
from pathlib import Path

import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr

import bayesrank as br
from bayesrank import inference
from bayesrank.analysis import fitting, size
from bayesrank.analysis.fit import RECORD
from bayesrank.analysis.fitting import TOO_LONG
from bayesrank.analysis.matches import MatchAnalysis
from bayesrank.analysis.models import analysis_of
from bayesrank.analysis.rankings import RankingAnalysis
from bayesrank.analysis.saved import read_record, restore
from bayesrank.inference.approximation import nested, nested_draws
from bayesrank.reporting import match_sections
from bayesrank.reporting.options import LAYOUT, Layout
from bayesrank.reporting.python_calls import python_calls
from tests.commands import few, few_predicted, ran
from tests.fake_draws import fake_draws

BALLOTS = [
    {"voter": f"v{k}", "scene": "xy"[k % 2], "ballot": ballot}
    for k, ballot in enumerate(["a > b > c", "b > a > c", "a > c > b"] * 4)
]
GAMES = [
    {"w": one, "l": other, "kind": "xy"[k % 2], "by": "pq"[k % 3 == 0]}
    for k, (one, other) in enumerate([("ale", "bock"), ("bock", "cider"), ("ale", "cider")] * 5)
]


@pytest.fixture
def drawn(monkeypatch):
    """Have the sampler draw at once, and the predictions use few draws."""
    asked = []

    def sample(**settings):
        asked.append(settings)
        return few(**settings)

    monkeypatch.setattr(inference, "sample", sample)
    few_predicted(monkeypatch)
    return asked


def rankings(**more):
    return br.read_rankings(BALLOTS, ranker="voter", ballot="ballot", **more)


def matches(**more):
    return br.read_matches(GAMES, winner="w", loser="l", **more)


def graded():
    grades = ["A>>B", "A>B", "A=B", "B>A", "B>>A"]
    table = pd.DataFrame(GAMES).assign(verdict=np.resize(grades[:4], len(GAMES)))
    named = {"first": "w", "second": "l", "outcome": "verdict", "judge": "by"}
    return br.Pairs.from_frame(table, grades=grades, **named)


def voted():
    table = pd.DataFrame(GAMES).assign(
        vote=np.resize(["first", "bad", "tie", "bad", "second"], len(GAMES))
    )
    named = {"first": "w", "second": "l", "outcome": "vote", "judge": "by"}
    return br.Pairs.from_frame(table, both_bad="bad", **named)


MODELS = {
    "rankings": lambda: br.ranking_model(rankings()),
    "categories": lambda: br.ranking_model(rankings(category="scene"), category="scene"),
    "clusters": lambda: br.ranking_model(rankings(group="scene"), cluster="scene", opinions=True),
    "components": lambda: br.ranking_model(rankings(), components=2),
    "tasks": lambda: br.choice_model(rankings(), utility_scale=1.0),
    "matches": lambda: br.leaderboard_model(matches()),
    "judges": lambda: br.leaderboard_model(
        matches(judge="by", category="kind"), category="kind", opinions=True
    ),
    "grades": lambda: br.leaderboard_model(graded()),
    "both bad": lambda: br.leaderboard_model(voted()),
    "margins": lambda: br.leaderboard_model(
        br.Pairs.from_frame(
            pd.DataFrame(GAMES).assign(m=np.resize([3, -1, 0, 1], len(GAMES))),
            first="w",
            second="l",
            margin="m",
        )
    ),
    "stated": lambda: br.leaderboard_model(
        br.Pairs.from_frame(
            pd.DataFrame(GAMES).assign(p=np.resize([0.3, 0.8, 0.6], len(GAMES))),
            first="w",
            second="l",
            probability="p",
        )
    ),
}


SLOW = "grades", "stated"


@pytest.mark.parametrize(
    "name", [pytest.param(x, marks=[pytest.mark.slow] if x in SLOW else []) for x in MODELS]
)
def test_a_posterior_restores_the_analysis_that_made_it(name):
    model = MODELS[name]()
    made = analysis_of(model)
    assert made.model is model
    groups = inference.data_groups(model)
    posterior = xr.DataTree.from_dict({"posterior": xr.Dataset(), **groups})
    record = {
        "kind": made.KIND, "arguments": made.arguments, "columns": dict(made.columns),
        "ordered": getattr(made.data, "ordered", True), "notes": [],
        "settings": br.analysis.analysis.Settings()._asdict(),
    }  # fmt: skip
    posterior.attrs[RECORD] = json.dumps(record)
    found = restore(posterior, read_record(posterior, LAYOUT))
    assert type(found) is type(made)
    assert found.arguments == made.arguments
    assert found.description == made.description
    assert found.data_text == made.data_text
    assert found.columns == made.columns
    point = model.initial_point()
    assert found.model.compile_logp()(point) == pytest.approx(model.compile_logp()(point))


def test_winners_and_losers_have_no_order_effect_by_default():
    assert "order_effect" not in {rv.name for rv in MODELS["matches"]().free_RVs}
    sided = br.read_matches(GAMES, first="w", second="l", outcome="w")
    assert "order_effect" in {rv.name for rv in br.leaderboard_model(sided).free_RVs}
    assert not MatchAnalysis(matches()).order_effect


def test_counted_ballots_are_ballots_of_so_many_voters():
    cast = [{"vote": "a > b > c", "n": 1000}, {"vote": "b > a > c", "n": 200}]
    counted = br.read_rankings(cast, ballot="vote", count="n")
    about = RankingAnalysis(counted).data_text
    assert about.startswith("1,200 ballots, 2 different, of 3 items, ")
    named = [row | {"voter": f"v{k}"} for k, row in enumerate(cast)]
    about = RankingAnalysis(br.read_rankings(named, ballot="vote", ranker="voter")).data_text
    assert about.startswith("2 ballots of 3 items by 2 voters, ")


def test_a_group_is_named_as_the_column_or_as_itself():
    by_column = br.ranking_model(rankings(category="scene"), category="scene")
    by_name = br.ranking_model(rankings(category="scene"), category="category")
    assert by_column.named_vars_to_dims["category_utility"] == ("category", "item")
    assert [rv.name for rv in by_column.free_RVs] == [rv.name for rv in by_name.free_RVs]
    own = rankings().grouped({"scene": ["x", "y"] * 6})
    model = br.ranking_model(own, category="scene")
    assert model.named_vars_to_dims["category_utility"] == ("scene", "item")
    with pytest.raises(ValueError, match=r"^`category` is 'day', but the groups of the data are n"):
        br.ranking_model(rankings(), category="day")
    with pytest.raises(ValueError, match=r"so leave `opinions` out\.$"):
        br.ranking_model(rankings(), components=2, opinions=True)


def test_a_fit_records_its_settings_and_says_what_it_notes(drawn, caplog):
    with caplog.at_level(logging.INFO, logger="bayesrank"):
        posterior = br.fit(br.ranking_model(rankings()), random_seed=5, draws=300, chains=2)
    assert [drawn[0][name] for name in ("random_seed", "draws", "chains")] == [5, 300, 2]
    record = read_record(posterior, LAYOUT)
    assert (record.settings.random_seed, record.settings.method) == (5, "auto")
    assert record.columns == {"ranker": "voter", "ballot": "ballot"}
    assert record.notes == [one.getMessage() for one in caplog.records if "..." not in one.message]


def test_auto_takes_the_cheapest_method_that_is_accurate_enough(drawn, monkeypatch):
    """Seconds of NUTS, of the quick answer and of importance weights decide."""
    quick, certified = [], [True]

    def fit_inla(model, enough=None, **settings):
        quick.append(settings)
        with model:
            out = few(**settings)
        if not certified[0]:
            out["posterior"].attrs["approximation"] = "Laplace"
        return out

    monkeypatch.setattr(inference, "fit_inla", fit_inla)
    monkeypatch.setattr(inference, "compile_density", lambda _: None)
    monkeypatch.setattr("bayesrank.analysis.fitting.SURELY_SHORT", 0)
    model, much = br.ranking_model(rankings()), TOO_LONG + 1
    for method, seconds, plain, weighted, is_certified, expected in (
        ("auto", 20.0, 5.0, 10.0, True, (1, 0)),  # exact, and faster
        ("auto", 20.0, 5.0, 10.0, False, (1, 1)),  # the weights are too uneven
        ("auto", 20.0, 5.0, 30.0, True, (0, 1)),  # sampling is faster
        ("auto", much, 10.0, np.inf, False, (1, 0)),  # sampling takes too long
        ("auto", much, much + 1, np.inf, True, (0, 1)),  # so does the quick answer
        ("nuts", much, 10.0, 10.0, True, (0, 1)),
        ("inla", 1.0, 10.0, 10.0, False, (1, 0)),
    ):
        drawn.clear()
        quick.clear()
        certified[0] = is_certified
        monkeypatch.setattr(inference, "nuts_seconds", lambda *_, s=seconds, **__: s)
        monkeypatch.setattr(
            "bayesrank.analysis.fitting.seconds_of",
            lambda _, draws=0, both=(plain, weighted): both[draws > 0],
        )
        br.fit(model, method=method, random_seed=1)
        assert (len(quick), len(drawn)) == expected


def test_estimates_know_the_limits_of_importance_weights():
    for name in ("MOST_WEIGHED", "FEW", "N_HYPER", "N_OF_MANY"):
        assert getattr(size, name) == getattr(nested_draws, name)
    assert size.SMALL == nested.SMALL


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "laplace"}, r"^`method` is 'laplace'; it must be one of auto, nuts, inla\.$"),
        ({"draws": 0}, r"^`draws` is 0; it must be 1 or more\.$"),
        ({"chains": 0}, r"^`chains` is 0; it must be 1 or more\.$"),
    ],
)
def test_wrong_arguments_of_a_fit_raise(arguments, message):
    with pytest.raises(ValueError, match=message):
        br.fit(None, **arguments)


def test_other_models_and_posteriors_are_refused_with_a_way_out():
    with pm.Model() as model:
        pm.Normal("x")
    with pytest.raises(ValueError, match=r"must come from br\.ranking_model, .* br\.rank_summary"):
        br.fit(model)
    tree = xr.DataTree.from_dict({"posterior": xr.Dataset({"x": 1})})
    with pytest.raises(ValueError, match=r"does not come from br\.fit .* br\.rank_summary\.$"):
        br.report(tree)


def test_a_report_has_a_verdict_tables_and_files(drawn, tmp_path):
    posterior = br.fit(br.leaderboard_model(matches()), random_seed=1, draws=200, chains=2)
    report = br.report(posterior, tmp_path / "out", title="Beers", top=2)
    assert report.verdict.startswith(report.table.index[0])
    assert "p_top2" in report.table
    assert {"p", "fails"} <= set(report.checks)
    assert report._repr_html_().startswith("<iframe srcdoc=")
    assert "Beers" in report.page
    assert repr(report).endswith(report.verdict)
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"report.html", "ranks.csv", "ranks.svg", "posterior.nc", "pairs.csv"} <= names
    ranks = pd.read_csv(tmp_path / "out" / "ranks.csv", index_col="item")
    np.testing.assert_allclose(ranks["mean_rank"], report.table["mean_rank"])
    with pytest.raises(FileExistsError, match=r"contains files already\. .* with force=True\.$"):
        report.write(tmp_path / "out")
    report.write(tmp_path / "out", force=True)
    with pytest.raises(ValueError, match=r"`scale` is 'elf', .* must be one of utility, elo\.$"):
        br.report(posterior, scale="elf")
    with pytest.raises(ValueError, match=r"`anchor` must be an item, but there is no 'stout'\.$"):
        br.report(posterior, scale="elo", anchor="stout")


def test_a_report_says_how_probably_each_item_is_bad(drawn):
    posterior = br.fit(br.leaderboard_model(voted()), random_seed=1, draws=200, chains=2)
    report = br.report(posterior)
    (part,) = (part for part in report.parts if part.heading == "Both bad")
    csv, pairs = part.data["both_bad"], voted()
    np.testing.assert_allclose(
        csv["mean"], posterior["posterior"]["p_bad"].mean(("chain", "draw")).to_series()[csv.index]
    )
    seen = pairs.sum_by_item(pairs.both_bad) / pairs.matches_by_item
    np.testing.assert_allclose(csv["in_votes"], seen[csv.index])
    assert csv["mean"].is_monotonic_increasing
    assert csv["predicted"].between(0, 1).all()
    assert part.picture is not None
    assert b"P(bad)" in part.picture
    assert "Equals tie" in report.page
    (audit,) = (part for part in report.parts if "audit.csv" in part.files)
    assert audit.paragraphs[1] == "The probes use only who won, and not the votes of both bad."


@pytest.mark.slow
def test_a_report_of_grades_has_bars_by_pair_or_by_item(drawn, monkeypatch):
    posterior = br.fit(br.leaderboard_model(graded()), random_seed=1, draws=200, chains=2)
    (part,) = (part for part in br.report(posterior).parts if part.heading == "Grades")
    assert all(name in part.picture for name in (b"ale", b"B&gt;A", b"Share of votes"))
    assert "between two items" in part.paragraphs[-1]
    monkeypatch.setattr(match_sections, "MOST_BARS", 2)
    (part,) = (part for part in br.report(posterior).parts if part.heading == "Grades")
    assert "all votes on an item" in part.paragraphs[-1]


def test_a_report_leaves_the_figures_and_settings_of_the_user_alone(drawn):
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    figure = plt.figure()
    before = dict(mpl.rcParams)
    posterior = br.fit(br.ranking_model(rankings()), random_seed=1, draws=200, chains=2)
    assert br.report(posterior).picture
    assert plt.get_fignums() == [figure.number]
    assert dict(mpl.rcParams) == before
    plt.close(figure)


def test_the_python_calls_on_a_page_repeat_its_report(drawn, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(GAMES).to_csv("games.csv", index=False)
    options = ("--winner", "w", "--loser", "l", "--category", "kind", "--top", 2, "--interval", 0.8)
    ran("matches", "games.csv", *options, "--seed", 3, "--draws", 300, "--title", "Games")
    with xr.open_datatree("games-ranks/posterior.nc") as tree:
        recorded = read_record(tree.load(), LAYOUT)
    analysis = analysis_of(br.leaderboard_model(matches(category="kind"), category="kind"))
    layout = Layout(**recorded.more)
    code = python_calls(analysis, recorded.settings, layout)
    assert code.splitlines()[2:] == [
        "data = br.read_matches('games.csv', winner='w', loser='l', category='kind')",
        "model = br.leaderboard_model(data, category='category', order_effect=False)",
        "posterior = br.fit(model, draws=300, random_seed=3, top=2)",
        "report = br.report(posterior, \"report\", title='Games', top=2, ci_prob=0.8)",
    ]
    page = Path("games-ranks/report.html").read_text(encoding="utf-8")
    assert html.escape(code, quote=False) in page.replace("&#39;", "'").replace("&#34;", '"')
    names = {}
    exec(code, names)
    table = pd.read_csv("games-ranks/ranks.csv", index_col="item")
    np.testing.assert_allclose(names["report"].table["mean_rank"], table["mean_rank"])
    assert (Path("report") / "report.html").exists()


def test_few_predictive_draws_of_a_large_table_are_no_exchanged_dims(monkeypatch):
    model = br.ranking_model(rankings())
    analysis = analysis_of(model)
    monkeypatch.setattr(fitting, "MOST_NUMBERS", 8 * analysis.entries)
    monkeypatch.setattr(fitting, "FEWEST", 1)
    with model:
        posterior = fake_draws(chains=4, draws=100)
    found = fitting.predict(analysis, posterior, 1)  # warnings are errors
    assert found["posterior_predictive"].sizes["chain"] == 4
    assert found["posterior_predictive"].sizes["draw"] == 2
