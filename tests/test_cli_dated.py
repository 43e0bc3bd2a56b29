"""The commands with `--date`: who is best today, who is rising, and what the next matches bring.

Rising is an item by its matches, falling another; those of the others are chance.
"""

import io
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayesrank as br
from bayesrank.analysis.analysis import Settings
from bayesrank.analysis.dynamic import DynamicAnalysis
from bayesrank.analysis.listener import Listener
from bayesrank.cli.options import MatchColumns, RankColumns
from bayesrank.cli.reading import opened, read
from bayesrank.reporting import match_sections
from bayesrank.reporting.dynamic_sections import _DynamicSections, _table_of
from bayesrank.reporting.options import Layout
from bayesrank.tables.cells import time_text
from tests.commands import ran, run

MATCHES = ("--first", "home", "--second", "away", "--outcome", "result", "--date", "played")
COLUMNS = MatchColumns(first="home", second="away", outcome="result", date="played")
SETTINGS = Settings(draws=100, tune=50, chains=2, random_seed=1)
DAYS = pd.date_range("2021-01-03", periods=24, freq="30D")


def simulated(n_matches=10, seed=1):
    """Matches of five, of which "riser" gets better as "faller" gets worse."""
    rng = np.random.default_rng(seed)
    rows = []
    for k, day in enumerate(DAYS):
        level = np.array([4 * k / 23 - 2, 2 - 4 * k / 23, 0.0, 0.0, 0.0])
        for _ in range(n_matches):
            i, j = rng.choice(5, size=2, replace=False)
            z = np.array([(level[i] - level[j]) / 2, (level[j] - level[i]) / 2, -0.5])
            outcome = rng.choice(["first", "second", "tie"], p=np.exp(z) / np.exp(z).sum())
            rows.append((day.date().isoformat(), i, j, outcome))
    table = pd.DataFrame(rows, columns=["played", "home", "away", "result"])
    names = np.array(["riser", "faller", "x", "y", "z"])
    return table.assign(home=names[table["home"]], away=names[table["away"]])


TABLES = {
    "m.csv": simulated().to_csv(index=False),
    "next.csv": "played,home,away\n2023-02-01,riser,faller\n2023-01-01,x,y\n",
}


def edited(**values):
    """Write the table with other values in its last row."""
    table = simulated()
    for name, value in values.items():
        table.loc[table.index[-1], name] = value
    table.to_csv("m.csv", index=False)


def job_of(folder, coming=None):
    notes = []
    columns = replace(COLUMNS, coming=coming)
    pairs, ahead = read(opened(Path("m.csv"), columns), columns)
    notes += pairs.notes
    return analysis_of(pairs, ahead), notes


def analysis_of(data, coming=None, **options):
    neutral = "neutral" if "neutral" in data.groups else None
    analysis = DynamicAnalysis(data, coming=coming, neutral=neutral, **options)
    analysis.random_seed = 1
    return analysis


def sections_of(analysis, settings=SETTINGS):
    report = SimpleNamespace(settings=settings, layout=Layout.of(None), listener=Listener())
    return _DynamicSections(report, analysis)


# Whole runs


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Run it all once."""
    folder = tmp_path_factory.mktemp("dated")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        simulated().to_csv("m.csv", index=False)
        Path("next.csv").write_text("played,home,away\n2023-02-01,riser,faller\n")
        result = run("matches", "m.csv", *MATCHES, "--next", "next.csv", "--seed", 3)
    assert result.exit_code == 0, result.output
    return folder / "m-ranks", result


@pytest.mark.slow
def test_a_run_says_who_is_best_today_who_rises_and_what_comes_next(whole):
    folder, result = whole
    lines = result.stdout.splitlines()
    assert lines[3].split()[0] == "riser"
    headings = [lines[n + 1] for n, line in enumerate(lines[:-1]) if not line]
    assert headings[2:] == [
        "The next matches", "Who is rising", "Who was best when",
        "The leader and its closest rivals", "How well it predicts", "Written:",
    ]  # fmt: skip
    assert re.search(r"Rising since [-\d]+, with probability 0.95 or more: ", result.stdout)
    names = [
        "audit.csv", "best.svg", "changes.csv", "checks.csv", "checks.svg", "forecasts.csv",
        "history.csv", "history.svg", "leader.csv", "places.svg", "posterior.nc",
        "predictions.csv", "ranks.csv", "ranks.svg", "report.html", "wins.svg",
    ]  # fmt: skip
    assert sorted(path.name for path in folder.iterdir()) == names


@pytest.mark.slow
def test_the_page_and_the_files_of_a_run_have_it_all(whole):
    folder, _ = whole
    page = (folder / "report.html").read_text(encoding="utf-8")
    sections = [part.split("</h2>")[0] for part in re.split("<h2[^>]*>", page)[1:]]
    assert sections == [
        "How to read this", "The next matches", "What it misses", "Who is rising", "Over time",
        "Who was best when", "The leader and its closest rivals", "How well it predicts",
        "What the result depends on", "Probability of each rank", "Who beats whom",
        "How this was made",
    ]  # fmt: skip
    assert "Quick answer" not in page
    assert "strengths that follow a random walk from date to date" in page
    history = pd.read_csv(folder / "history.csv")
    assert list(history.columns) == ["date", "item", "mean", "low", "high", "p_best"]
    np.testing.assert_allclose(history.groupby("date")["p_best"].sum(), 1)
    assert (history["low"] < history["mean"]).all()
    changes = pd.read_csv(folder / "changes.csv", index_col="item")
    assert changes["p_rising"].idxmax() == "riser"
    forecast = pd.read_csv(folder / "forecasts.csv").iloc[0]
    assert forecast["p_first"] > 0.7
    assert forecast[["p_first", "p_second", "p_tie"]].sum() == pytest.approx(1)
    with xr.open_datatree(folder / "posterior.nc") as tree:
        assert tree["posterior"]["utility"].sizes == {"chain": 4, "draw": 1000, "item": 5}
    before = {path.name: path.read_bytes() for path in folder.glob("*.csv")}
    ran("report", folder / "posterior.nc")
    for name, content in before.items():
        one, other = (pd.read_csv(io.BytesIO(x)) for x in (content, (folder / name).read_bytes()))
        pd.testing.assert_frame_equal(one, other, atol=0.02)  # of a mode that was found again


def test_changing_strengths_are_a_finding_only_for_a_model_without_them(folder):
    pairs = read(opened(Path("m.csv"), COLUMNS), COLUMNS)[0]
    assert match_sections.audit_of_dated(pairs, order=True).notes == []
    notes = match_sections.audit_of(pairs, ["date"], order=True).notes
    (note,) = [note for note in notes if "Strengths change over date" in note]
    assert note.endswith("Use `time='date'` instead of `groups` to let them change.")


@pytest.mark.parametrize(
    ("labels", "found"),
    [
        (["2024-05-01", "2024-05-02"], "prompt"),
        (["2024-05", "2024-06-02 10:00"], "prompt"),
        (["20240501", "20240502"], None),  # as numbers of prompts may be
        (["1", "2"], None),
        (["2011-12", "2012-13"], None),  # the first may be a month
        (["2012-13", "2013-14"], "prompt"),
        (["2024-05-01", "soon"], None),
        (["2024-05-01", "2024-15-01"], None),
        (["2024-05-01", "2024-05-01"], None),
    ],
)
def test_groups_of_dates_are_known_from_prompts(labels, found):
    table = pd.DataFrame({"x": list("ab"), "y": list("ba"), "won": "first", "prompt": labels})
    pairs = br.Pairs.from_frame(table, first="x", second="y", outcome="won", by=["prompt"])
    assert match_sections.dated_group(pairs, ["prompt"]) == found


@pytest.mark.slow
def test_races_have_a_history_as_well(folder):
    rng = np.random.default_rng(2)
    rows = [
        (f"race {k}", driver, place, 1 + k)
        for k in range(20)
        for place, driver in enumerate(np.argsort(rng.gumbel(size=4) - np.arange(4)), start=1)
    ]
    table = pd.DataFrame(rows, columns=["race", "driver", "place", "day"])
    table.to_csv("races.csv", index=False)
    columns = ("--ranker", "race", "--item", "driver", "--rank", "place", "--date", "day")
    Path("next.csv").write_text("race,driver,day\nlast,0,30\nlast,3,30\n")
    result = ran("rank", "races.csv", *columns, "--next", "next.csv", "--seed", 1, "--draws", 200)
    assert "The next rankings" in result.stdout
    assert "Who was best when" in result.stdout
    assert "Rising since 15, with" in result.stdout
    assert "Quick answer" not in Path("races-ranks/checks.svg").read_text("utf-8")
    assert {"history.svg", "changes.csv", "predictions.csv"} <= {
        path.name for path in Path("races-ranks").iterdir()
    }


# What is said


@pytest.mark.slow
def test_items_that_may_have_left_are_reported_and_not_plotted(folder):
    table = simulated()
    early = table[(table["home"] == "x") | (table["away"] == "x")]
    table.drop(early.index[early["played"] > "2022-06-01"]).to_csv("m.csv", index=False)
    job, _ = job_of(folder)
    (sentence,) = job.cautions()
    assert sentence.startswith("x was not seen since 2022-09-25, in the last tenth of the time")
    posterior = job.draw(SETTINGS, print)
    assert job.last_seen()["x"] == "2022-05-28"
    assert job.leader_left(posterior) == ""
    posterior["posterior"]["utility"].loc[{"item": "x"}] += 9
    assert job.leader_left(posterior).startswith("x was last seen at 2022-05-28, and is ranked")
    strength, when = sections_of(job)._over_time(posterior)
    history = strength.files["history.csv"].reset_index()
    assert history.loc[history["item"] == "x", "date"].max() == pd.Timestamp("2022-05-28")
    np.testing.assert_allclose(history.groupby("date")["p_best"].sum(), 1)
    assert "; at the last date riser " in strength.alt
    assert " from 20" in when.alt
    chosen = analysis_of(job.data, since="2021-06-01")
    assert chosen.cautions() == []


def test_pictures_begin_when_those_are_there_who_come_in_first(folder):
    table = simulated()
    first = table["played"] == "2021-01-03"
    two = table["home"].isin(["x", "y"]) & table["away"].isin(["x", "y"])
    table[~first | two].to_csv("m.csv", index=False)
    job, _ = job_of(folder)
    assert sections_of(job)._moments()[0] == DAYS[1]


@pytest.fixture
def races(folder):
    """Twelve races of four drivers, and what reads those to come."""
    rows = [
        (f"race {k}", driver, place, 1 + k)
        for k in range(12)
        for place, driver in enumerate("abcd" if k % 3 else "bacd", start=1)
    ]
    table = pd.DataFrame(rows, columns=["race", "driver", "place", "day"])
    table.to_csv("r.csv", index=False)
    columns = RankColumns(ranker="race", item="driver", rank="place", date="day")
    columns = replace(columns, coming=Path("next.csv"))

    def read_races(text):
        Path("next.csv").write_text(f"race,driver,day\n{text}\n")
        return *read(opened(Path("r.csv"), columns), columns), columns

    return read_races


@pytest.mark.slow
def test_rankings_to_come_are_forecast(folder, races):
    rankings, ahead, _ = races("far,a,90\nfar,d,90\nnear,d,13\nnear,a,13\nnear,b,13")
    job = analysis_of(rankings, ahead)
    (part,) = sections_of(job, SETTINGS._replace(draws=1000))._forecasts()
    found = part.files["forecasts.csv"].reset_index()
    assert found["ranking"].tolist() == ["near"] * 3 + ["far"] * 2
    assert found["item"].tolist() == ["a", "b", "d", "a", "d"]
    by_ranking = found.groupby("ranking")
    np.testing.assert_allclose(by_ranking["p_first"].sum(), 1)
    np.testing.assert_allclose(by_ranking["mean_rank"].sum(), [3, 6])
    far = found[found["ranking"] == "far"]
    np.testing.assert_allclose(far["mean_rank"], 2 - far["p_first"])  # of two
    # an independent route: orders drawn by the model at the last date but one
    drawn = job.dynamic_fit.draws(at=13, draws=1000, chains=2, random_seed=1)["posterior"][
        "utility"
    ]
    noise = np.random.default_rng(1).gumbel(size=(2, 1000, 3))
    order = (-(drawn.sel(item=[*"abd"]).to_numpy() + noise)).argsort(axis=2)
    share = (order[..., 0] == np.arange(3)[:, None, None]).mean(axis=(1, 2))
    near = found[found["ranking"] == "near"].set_index("item").loc[[*"abd"]]
    assert abs(share - near["p_first"]).max() < 5 * np.sqrt(0.25 / 2000)
    places = 1 + order.argsort(axis=2).mean(axis=(0, 1))
    assert abs(places - near["mean_rank"]).max() < 5 * np.sqrt(1 / 2000)


def test_changes_and_forecasts_are_those_of_the_history(folder):
    job, _ = job_of(folder, Path("next.csv"))
    posterior = job.draw(SETTINGS, print)
    (changes,) = sections_of(job)._changes()
    table = changes.files["changes.csv"]
    assert table.index[0] == "riser"
    assert table["change"]["riser"] > 0.3 > -0.3 > table["change"]["faller"]
    assert table["mean_rank_now"]["riser"] <= table["mean_rank_then"]["riser"]
    assert changes.paragraphs[0].startswith("Rising since 2022-06-04, with pro")
    forecast = sections_of(job)._forecasts()[0].table
    assert forecast.index.tolist() == ["2023-01-01", "2023-02-01"]
    shares = forecast[["First wins", "Tie", "Second wins"]].astype(float)
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=0.011)
    assert shares["First wins"].iloc[1] > 0.7
    # what is known of a strength of today before the data
    nodes = job.dynamic_fit.nodes
    wanted = np.sqrt(nodes["scale"] ** 2 + nodes["drift"] ** 2 * 690 / 365.25)
    sd = posterior["posterior"]["utility_scale"].to_numpy()
    np.testing.assert_allclose(sd, wanted.to_numpy()[posterior["sample_stats"]["node"]], rtol=1e-3)
    assert len(np.unique(sd)) > 2


def test_the_picture_is_of_days_where_there_are_no_hours(folder, monkeypatch):
    monkeypatch.setattr("bayesrank.reporting.dynamic_sections.MOMENTS", 5)
    moments = sections_of(job_of(folder)[0])._moments()
    assert [moment.normalize() for moment in moments] == moments
    assert (moments[0], moments[-1], len(moments)) == (DAYS[0], DAYS[-1], 5)


def test_the_past_predicts_the_last_fifth_better_than_chance(folder):
    job, _ = job_of(folder)
    part = sections_of(job)._tested()
    assert not part.failures
    found = re.search(r"mean gain per match is ([\d.]+) ± (\d+\.\d+)", part.paragraphs[1])
    gain, error = map(float, found.groups())
    assert gain > 2 * error
    assert 40 < part.files["predictions.csv"].reset_index()["count"].sum() <= 60


# Fit, neutral grounds, saved runs


def test_the_fit_is_checked_and_circles_are_found(folder):
    part = sections_of(job_of(folder)[0])._checks()
    assert part.heading == "What it misses"
    assert not part.failures
    assert part.fit
    # x always beats y, y beats z, and z beats x
    table = simulated()
    rank = table[["home", "away"]].apply(lambda names: names.map({"x": 0, "y": 1, "z": 2}))
    ahead = (rank["away"] - rank["home"]) % 3
    table["result"] = table["result"].mask(ahead == 1, "first").mask(ahead == 2, "second")
    table.to_csv("m.csv", index=False)
    part = sections_of(job_of(folder)[0])._checks()
    assert part.failures[0].startswith("The model does not describe the order of pairs of items")
    assert part.failures[0].endswith("Treat the ranks as a rough order only.")


def test_neither_item_has_an_advantage_in_a_neutral_match_to_come(folder):
    table = simulated()
    rng = np.random.default_rng(3)
    table["ground"] = np.where(rng.random(len(table)) < 0.3, "yes", "no")
    home = (table["ground"] == "no") & (rng.random(len(table)) < 0.6)
    table["result"] = table["result"].mask(home, "first")
    table.to_csv("m.csv", index=False)
    Path("next.csv").write_text(
        "played,home,away,ground\n2023-02-01,x,y,no\n2023-02-01,x,y,yes\n2023-02-01,y,x,yes\n"
    )
    columns = replace(COLUMNS, neutral="ground", coming=Path("next.csv"))
    columns.check()
    pairs, ahead = read(opened(Path("m.csv"), columns), columns)
    job = analysis_of(pairs, ahead)
    found = sections_of(job)._forecasts()[0].files["forecasts.csv"].reset_index()
    assert found["neutral"].tolist() == ["no", "yes", "yes"]
    first, second = found["p_first"], found["p_second"]
    assert first[1] == pytest.approx(second[2], abs=1e-3)
    assert first[0] > first[1] + 0.1
    assert "except on neutral ground" in job.description
    # a saved run has all that its report needs
    posterior = job.draw(SETTINGS, lambda *_: None)
    other = analysis_of(pairs)
    other.resume(posterior, SETTINGS)
    assert other.items == job.items
    again = sections_of(other)._forecasts()[0].files["forecasts.csv"].reset_index()
    np.testing.assert_allclose(again["p_first"], first, atol=1e-3)
    posterior["coming"] = xr.DataTree(
        posterior["coming"].to_dataset().assign(first=("index", ["z?"] * 3))
    )
    with pytest.raises(ValueError, match="names items that the data do not have"):
        other.resume(posterior, SETTINGS)
    posterior["posterior"]["utility"].loc[{"item": "x"}] = np.nan
    with pytest.raises(ValueError, match="utility has invalid draws"):
        other.resume(posterior, SETTINGS)


# What is read


def test_dates_have_one_form(folder):
    table = simulated()
    table["played"] = table["played"].str.replace("-", "")
    table.to_csv("m.csv", index=False)
    Path("next.csv").write_text("played,home,away\n2023-02-01 00:00:00,riser,faller\n")
    job, _ = job_of(folder, Path("next.csv"))
    labels = job.data.groups["date"].labels
    assert labels[0] == "2021-01-03"
    assert job.coming["date"].tolist() == ["2023-02-01"]
    assert time_text(np.datetime64("2024-05-01T10:30")) == "2024-05-01 10:30"
    assert time_text(2024.0) == "2024"


def test_rows_without_an_outcome_behind_all_others_are_to_come(folder):
    edited(result=None, played="2024-01-01")
    job, notes = job_of(folder)
    assert job.coming["date"].tolist() == ["2024-01-01"]
    assert job.data.n_pairs > 100
    assert notes == ["Matches without an outcome, dated after all others, are forecast: 1 of 240."]


def test_the_history_is_relative_to_the_items_present_and_equal_items_share_the_best_place():
    values = np.zeros((1, 4, 2, 3))  # four draws, two dates, items a b c
    values[..., 0, :] = [2.0, 2.0, -1.0]  # a and b are equal
    values[..., 1, :] = [np.nan, 4.0, 2.0]  # a has left
    values += np.arange(4.0)[None, :, None, None] * 100  # a common level
    drawn = xr.DataArray(
        values, dims=("chain", "draw", "date", "item"), coords={"date": [1, 2], "item": [*"abc"]}
    )
    table = _table_of(drawn, 0.9).set_index(["date", "item"])
    assert table["p_best"].to_dict() == {
        (1, "a"): 0.5, (1, "b"): 0.5, (1, "c"): 0.0, (2, "b"): 1.0, (2, "c"): 0.0
    }  # fmt: skip
    for name in ("mean", "low", "high"):
        np.testing.assert_allclose(table[name], [1, 1, -2, 1, -1], atol=1e-9)
