"""The command `bayesrank matches`: what it reads, prints and writes, and how it refuses.

Most tests put draws of their own in the place of the sampler, which takes seconds to compile.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr

import bayesrank
from bayesrank import texts
from bayesrank.analysis import leaderboard
from bayesrank.analysis.auditing import PROBES
from bayesrank.data import Pairs
from bayesrank.reporting import match_sections, next_matches
from bayesrank.reporting.options import Layout
from bayesrank.results.ranks.counted import PairWins
from tests.builders import stored
from tests.commands import asked, command, data_of, few, few_predicted, no_sampling, notes, ran, run

HEAD = "left,right,result,who,kind,times\n"
MATCHES = f"""{HEAD}ale,bock,first,ann,taste,3
bock,ale,tie,ben,look,1
bock,cider,first,ann,look,2
cider,ale,second,cat,taste,2
cider,bock,first,ben,taste,1
"""
TABLES = {"m.csv": MATCHES}
COLUMNS = ("--first", "left", "--second", "right", "--outcome", "result")
COUNTED = (*COLUMNS, "--count", "times")
ALL = (*COUNTED, "--judge", "who", "--category", "kind")
PLAIN_FILES = [
    "audit.csv", "checks.csv", "checks.svg", "counts.csv", "leader.csv", "next.csv", "pairs.csv",
    "places.svg", "posterior.nc", "predictions.csv", "ranks.csv", "ranks.svg", "report.html",
    "wins.svg",
]  # fmt: skip
OUT = Path("m-ranks")


@pytest.fixture
def sampler(monkeypatch):
    """Make draws up instead of sampling a posterior, and record what was asked for."""
    seen = []

    def sample(**settings):
        seen.append(settings | {"model": pm.modelcontext(None)})
        draws = few(**settings)
        settings["enough"](draws["posterior"].to_dataset())  # which looks at what it has
        return draws

    no_sampling(monkeypatch, sample)
    return seen


def edited(old, new):
    assert old in MATCHES
    return MATCHES.replace(old, new)


# A whole run


QUICK = ("--draws", 100, "--tune", 50, "--chains", 2, "--seed", 3)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Run it all once, with a judge and a category."""
    folder = tmp_path_factory.mktemp("matches")
    (folder / "m.csv").write_text(MATCHES, encoding="utf-8")
    places = ("--output-dir", folder / "out", "--save", folder / "draws.nc")
    with pytest.MonkeyPatch.context() as patch:
        no_sampling(patch, few)
        result = run("matches", folder / "m.csv", *ALL, *QUICK, *places)
    assert result.exit_code == 0, result.output
    return folder, result


@pytest.mark.slow
def test_a_whole_run_finds_the_better_ones(folder):
    places = ("--output-dir", folder / "out")
    output = data_of(command("matches", folder / "m.csv", *ALL, *QUICK, *places, "--json"))
    assert not output["quick"]
    assert output["ranks"][-1]["item"] == "cider"
    assert pd.read_csv(folder / "out" / "ranks.csv")["item"].tolist()[-1] == "cider"


def test_the_files_read_back(whole):
    folder, _ = whole
    assert sorted(path.name for path in (folder / "out").iterdir()) == sorted(
        ["adherence.svg", "categories.csv", "differences.csv", "judges.csv", *PLAIN_FILES]
    )  # fmt: skip
    leader = pd.read_csv(folder / "out" / "leader.csv", index_col="item")
    np.testing.assert_allclose(leader[["p_win", "p_tie", "p_loss"]].sum(axis=1), 1)
    judges = pd.read_csv(folder / "out" / "judges.csv", index_col="judge")
    assert judges["matches"].to_dict() == {"ann": 5, "ben": 2, "cat": 2}
    assert {"mean", "outlier", "order_effect", "order_effect_sd", "agrees"} <= set(judges.columns)
    by_category = pd.read_csv(folder / "out" / "categories.csv", index_col=["kind", "item"])
    assert len(by_category) == 6
    with xr.open_datatree(folder / "draws.nc") as tree:
        utility = tree["posterior"]["category_utility"]
        assert utility.sizes == {"chain": 2, "draw": 100, "category": 2, "item": 3}
        scale = float(tree["posterior"]["utility_scale"].mean())
        summary = bayesrank.rank_summary(tree, prior_sd=scale)
    table = pd.read_csv(folder / "out" / "ranks.csv", index_col="item")
    assert table.pop("matches").to_dict() == {"ale": 6, "bock": 7, "cider": 5}
    assert table["status"].iloc[0] == "leads"
    pd.testing.assert_frame_equal(summary, table, check_names=False, check_index_type=False)


def test_judges_categories_and_the_audit_are_data_too(whole, monkeypatch):
    few_predicted(monkeypatch)
    folder, _ = whole
    out = ("--output-dir", folder / "again")
    output = data_of(run("report", folder / "out" / "posterior.nc", "--json", *out))
    assert sorted(row["judge"] for row in output["judges"]) == ["ann", "ben", "cat"]
    assert all(-1 <= row["agrees"] <= 1 for row in output["judges"])
    assert {row["category"] for row in output["categories"]} == {"look", "taste"}
    played = output["next_matches"]
    assert sum(row["matches"] for row in played) == next_matches.BATCH
    assert all(row["p_better"] >= 0.5 for row in played)
    assert {row["among"] for row in output["settling"]} == {"all", "tied"}
    assert "ties" not in output
    assert len(output["audit"]) == len(PROBES)
    assert not any(row["fires"] for row in output["audit"])


# What is fitted


def test_counts_and_ties_reach_the_model(folder, monkeypatch):
    found = asked(monkeypatch, "matches", "m.csv", *COUNTED)
    model = found["model"]
    assert {rv.name for rv in model.free_RVs} == {
        "utility_scale", "utility_z", "order_effect", "nu"
    }  # fmt: skip
    # sorted by the two items: ale-bock, bock-ale, bock-cider, cider-ale, cider-bock
    assert stored(model, "counts").tolist() == [
        [3, 0, 0], [0, 0, 1], [2, 0, 0], [0, 2, 0], [1, 0, 0]
    ]  # fmt: skip
    assert found["nuts"] == {}
    assert model["utility_z"].owner.op.__class__.__name__ == "ZeroSumNormalRV"


def test_options_reach_the_model_and_the_sampler(folder, monkeypatch):
    options = ("--seed", 7, "--draws", 30, "--tune", 60, "--chains", 3, "--no-order")
    options += ("--prior", "normal", "--prior-scale", 0.5)
    found = asked(monkeypatch, "matches", "m.csv", *ALL, *options)
    model = found["model"]
    assert "order_effect" not in model.named_vars
    point = model.initial_point() | {"utility": np.zeros(3)}
    logp = model.compile_logp(vars=model["utility"], mode="FAST_COMPILE")(point)
    assert logp == pytest.approx(-3 * (0.5 * np.log(2 * np.pi) + np.log(0.5)))
    assert [found[key] for key in ("random_seed", "draws", "tune", "chains")] == [7, 30, 60, 3]
    assert found["nuts"] == {"target_accept": 0.95}


# Data to be told about


@pytest.mark.slow
def test_judges_with_one_match_are_kept_without_a_note(folder, sampler):
    (folder / "m.csv").write_text(f"{MATCHES}ale,cider,first,dan,look,1\n", encoding="utf-8")
    assert notes(run("matches", "m.csv", *ALL)) == []
    assert pd.read_csv(OUT / "judges.csv")["judge"].tolist().count("dan") == 1


def test_items_never_compared_and_a_judge_who_may_decide_alone_are_noted(
    folder, sampler, monkeypatch
):
    (folder / "m.csv").write_text(f"{MATCHES}ale,mead,first,ann,look,0\n", encoding="utf-8")
    monkeypatch.setattr(leaderboard, "MOST_OPINIONS", 3)
    found = " ".join(notes(run("matches", "m.csv", *ALL)))
    assert "'ann' has 56 % of the matches, and may decide the ranks alone." in found
    assert "judge_deviation" not in sampler[-1]["model"].named_vars
    predictions = pd.read_csv(OUT / "predictions.csv", index_col="pair")
    assert predictions["n"].tolist()[-1] == 0
    assert np.isnan(predictions["gain"].iloc[-1])


@pytest.mark.slow
def test_a_group_of_judges_gives_them_opinions(folder, sampler, monkeypatch):
    monkeypatch.setattr(leaderboard, "MOST_OPINIONS", 3)
    assert notes(run("matches", "m.csv", *ALL, "--group", "who")) == []
    assert "judge_deviation" in sampler[-1]["model"].named_vars


@pytest.mark.slow
def test_many_judges_are_cut_on_the_page_but_not_in_the_file(folder, sampler):
    frame = pd.concat([pd.read_csv("m.csv").assign(who=f"judge {n}") for n in range(130)])
    frame.to_csv("m.csv", index=False)
    assert notes(run("matches", "m.csv", *COUNTED, "--judge", "who")) == []
    page = (OUT / "report.html").read_text(encoding="utf-8")
    cut = "The table shows 100 of 130 judges; the file has all of them."
    assert cut in " ".join(page.split())
    table = pd.read_csv(OUT / "judges.csv")
    assert len(table) == 130
    first = int(table["outlier"].sum()) + 10  # the others fold, in a table of all
    assert page.count('<th scope="row">judge ') == 100 + first
    assert sampler[-1]["nuts"] == {}


def test_a_long_list_of_judges_folds_to_outliers_and_ten(monkeypatch):
    drawn = []
    monkeypatch.setattr(match_sections, "marked_svg", lambda plot, _: drawn.append(plot))
    rng = np.random.default_rng(0)
    level = np.ones(30)
    level[[3, 15]] = 0.05
    a = xr.DataArray(
        rng.gamma(100 * level, 0.01, size=(2, 100, 30)),
        dims=("chain", "draw", "judge"), coords={"judge": np.arange(30)},
    )  # fmt: skip
    posterior = xr.DataTree.from_dict({"posterior": xr.Dataset({"adherence": a})})
    votes = pd.DataFrame({"first": "x", "second": "y", "outcome": "first", "judge": range(30)})
    pairs = Pairs.from_frame(votes)
    part = match_sections.judges(posterior, pairs, 100, Layout.of(None))
    assert {*part.table.index[:2]} == {"Judge 3", "Judge 15"}
    assert part.first == 12
    labels = drawn[0].get_target("adherence", {}).get_yticklabels()
    assert {label.get_text() for label in labels} == {*part.table.index[:12]}
    assert "outliers: less than half" in " ".join(part.paragraphs)
    assert "Judge 15" in " ".join(part.paragraphs)
    assert {*part.files["judges.csv"].index.astype(int)} == {*range(30)}
    short = posterior.isel(judge=slice(0, 20))
    pairs = Pairs.from_frame(votes[:20])
    assert match_sections.judges(short, pairs, 100, Layout.of(None)).first == 0


@pytest.mark.slow
def test_a_report_of_matches_is_that_of_the_run(folder, sampler):
    decided = edited("tie", "first")
    tied = (*COUNTED, *TIES)
    for text, columns in ((MATCHES, ALL), (decided, (*COUNTED, "--no-order")), (MATCHES, tied)):
        (folder / "m.csv").write_text(text, encoding="utf-8")
        assert run("matches", "m.csv", *columns, "--seed", 1, "--force").exit_code == 0
        before = {path.name: path.read_bytes() for path in OUT.glob("*.csv")}
        ran("report", OUT / "posterior.nc")
        assert {path.name: path.read_bytes() for path in OUT.glob("*.csv")} == before
    assert len(sampler) == 3


# Features held equal, and matches that go together

STYLED = """left,right,result,who,prompt,len_l,len_r
ale,bock,first,ann,1,5,2
bock,ale,tie,ben,1,2.5,4
bock,cider,first,ann,2,1,3
cider,ale,second,cat,2,6,2
cider,bock,first,ben,3,4,1
"""
HELD = ("--feature", "len_l,len_r", "--group", "prompt")


@pytest.fixture
def styled(folder, sampler):
    """A table with the length of answers."""
    (folder / "m.csv").write_text(STYLED, encoding="utf-8")
    return sampler


@pytest.mark.slow
def test_features_are_held_equal_and_groups_go_together(folder, styled):
    result = ran("matches", "m.csv", *COLUMNS, "--judge", "who", *HELD, *QUICK, "--json")
    output = data_of(result)
    model, without = (given["model"] for given in styled)
    assert "feature_effect" not in without.named_vars
    pairs_of_first = stored(model, "effect_size")[:, -1]
    assert sorted(pairs_of_first) == [-2.0, -1.5, 3.0, 3.0, 4.0]
    assert "len_l" not in output["described"]
    assert "adjusted for len by judge, deviations by prompt" in output["described"]
    (feature,) = output["features"]
    assert feature["feature"] == "len"
    assert feature["unit"] == pytest.approx(np.sqrt(np.mean(np.square(pairs_of_first))))
    assert feature["low"] < feature["mean"] < feature["high"]
    assert {row["judge"] for row in output["features_by_judge"]} == {"ann", "ben", "cat"}
    assert {row["item"] for row in output["ranks_as_they_are"]} == {"ale", "bock", "cider"}
    (group,) = output["groups"]
    assert (group["labels"], group["spread"] > 0) == (3, True)
    # and again, from the posterior
    again = data_of(run("report", OUT / "posterior.nc", "--json", "--output-dir", "again"))
    assert again["features"] == output["features"]
    assert again["groups"] == output["groups"]


@pytest.mark.parametrize(
    ("groups", "opinions"), [([], False), (["prompt"], False), (["prompt"], True)]
)
def test_an_effect_that_the_model_includes_is_not_noted(groups, opinions):
    """Votes of a prompt are the same."""
    rng = np.random.default_rng(0)
    pairs = rng.permuted(np.tile(["ale", "bock", "cider"], (200, 1)), axis=1)[:, :2]
    prompts = pd.DataFrame(pairs, columns=["x", "y"]).assign(prompt=range(200))
    prompts["won"] = np.where(rng.random(200) < 0.8, "first", "second")
    votes = pd.concat([prompts.assign(judge=f"j{k}") for k in range(4)])
    names = {"first": "x", "second": "y", "outcome": "won", "judge": "judge", "by": ["prompt"]}
    pairs = bayesrank.Pairs.from_frame(votes, **names)
    part = match_sections.audit_of(pairs, groups, order=True, opinions=opinions)
    assert part.table.loc["Clusters", "Found"] == ("in the model" if groups else "look at this")
    assert part.table.loc["Clusters", "In words"].endswith("groups these matches.") == bool(groups)
    assert part.data["audit"].loc["clusters", "in_model"] == bool(groups)
    assert any("Votes of one prompt" in note for note in part.notes) == (not groups)


BOTH_ORDERS = """left,right,result,who,prompt
ale,bock,first,m1,1
bock,ale,first,m1,1
ale,cider,first,m1,2
cider,ale,second,m1,2
bock,cider,tie,m2,1
cider,bock,second,m2,1
ale,bock,first,ann,1
bock,cider,first,ben,2
cider,ale,tie,ann,3
"""
PEOPLE = ("--judge", "who", "--machines", "m1", "--machines", "m2", "--target", "people")


@pytest.mark.slow
def test_people_are_the_target_and_votes_in_both_orders_are_joined(folder, sampler):
    (folder / "m.csv").write_text(BOTH_ORDERS, encoding="utf-8")
    options = (*COLUMNS, *PEOPLE, "--prompt", "prompt", "--seed", 1)
    output = data_of(run("matches", "m.csv", *options, "--json"))
    models = [given["model"] for given in sampler]
    assert ["bias" in model.named_vars for model in models] == [True, False, False]
    assert ["swap_spread" in model.named_vars for model in models] == [True, False, True]
    assert [len(model.coords["judge"]) for model in models] == [4, 2, 2]
    (target,) = output["target"]
    assert (target["target"], target["votes"], target["others"]) == ("people", 3, 6)
    assert target["gain"] == pytest.approx(target["loss_alone"] - target["loss"], abs=1e-5)
    assert {row["votes_of"] for row in output["ranks_by_kind"]} == {"both", "target", "others"}
    flips = {row["judge"]: row for row in output["flips"]}
    assert (flips["m1"]["pairs"], flips["m1"]["flips"], flips["m1"]["reversed"]) == (2, 0.5, 0.5)
    assert (flips["m2"]["pairs"], flips["m2"]["flips"], flips["m2"]["reversed"]) == (1, 1, 0)
    assert "a bias of other judges than people" in output["described"]
    page = (OUT / "report.html").read_text(encoding="utf-8")
    assert "Ranks by people, by machines, and by both" in page
    assert "Let judges of people judge them" in page or "certain" in page
    assert "target=&#39;people&#39;" in page or "target='people'" in page
    again = data_of(run("report", OUT / "posterior.nc", "--json", "--output-dir", "again"))
    assert again["target"] == output["target"]
    assert again["flips"] == output["flips"]


@pytest.mark.slow
def test_judges_of_families_are_counted(folder, sampler):
    table = pd.concat([pd.read_csv("m.csv")] * 3)
    table["who"] = [f"j{k % 4}" for k in range(len(table))]
    table["kin"] = (table["who"] < "j2").map({True: "old", False: "new"})
    table.to_csv("m.csv", index=False)
    families = ("--judge", "who", "--group", "kin", "--group", "kind", "--interval", 0.5)
    output = data_of(run("matches", "m.csv", *COLUMNS, *families, "--json"))
    kin, kind = output["groups"]
    assert 2 <= kin["effective_judges"] <= 4
    assert kind["effective_judges"] is None  # all judges are in each of these
    page = (OUT / "report.html").read_text(encoding="utf-8")
    assert f"the 4 judges count like {kin['effective_judges']:.1f} independent judges" in page
    assert "From and To with probability 0.5" in page  # of adherences


@pytest.mark.parametrize(
    ("ale", "sentence"),
    [(0.04, "No item moves by a tenth of a rank"), (0.26, "ale moves the most, by 0.3 ranks")],
)
def test_items_that_do_not_move_are_not_reported(ale, sentence):
    text = texts.sentence("as_they_are", item="ale", most=ale, least=match_sections.LEAST_MOVE)
    assert sentence in text


def test_without_an_order_features_turn_with_the_sides(folder, monkeypatch):
    (folder / "m.csv").write_text(STYLED, encoding="utf-8")
    found = asked(monkeypatch, "matches", "m.csv", *COLUMNS, "--no-order", *HELD[:2])
    size = stored(found["model"], "effect_size")[:, -1]
    # ale - bock twice, ale - cider, bock - cider twice
    assert sorted(size) == [-4.0, -3.0, -2.0, 1.5, 3.0]


# Ties of items and of strength, and the order of the table


TIES = ("--ties-by", "item", "--ties-by", "strength")


@pytest.mark.slow
def test_ties_of_items_and_of_strength_are_reported(folder, sampler):
    result = ran("matches", "m.csv", *COUNTED, *TIES, "--sort", "lower", "--json", "--seed", 1)
    output = data_of(result)
    model = sampler[-1]["model"]
    assert {"item_tie_effect", "strength_tie_slope"} <= set(model.named_vars)
    # three matches of ale and bock, two of cider with each; one of ale and bock was a tie
    tied = {row["item"]: row["tied"] for row in output["ties"]}
    assert tied == {
        "ale": pytest.approx(1 / 6, abs=1e-6),
        "bock": pytest.approx(1 / 7, abs=1e-6),
        "cider": 0,
    }
    with xr.open_datatree(OUT / "posterior.nc") as tree:
        draws = tree["posterior"].to_dataset().load()
    for row in output["ties"]:
        mine = draws["item_tie_effect"].sel(item=row["item"])
        assert row["mean"] == pytest.approx(float(mine.mean()), abs=1e-5)
        assert row["low"] == pytest.approx(float(mine.quantile(0.03)), abs=1e-5)
    (slope,) = output["ties_by_strength"]
    assert slope["mean"] == pytest.approx(float(draws["strength_tie_slope"].mean()), abs=1e-5)
    # the table by the lower end, the verdict by mean rank
    low = (draws["utility"] - draws["utility"].mean("item")).quantile(0.03, ("chain", "draw"))
    assert [row["item"] for row in output["ranks"]] == list(low["item"][(-low).argsort()].values)
    assert [row["lower"] for row in output["ranks"]] == pytest.approx(sorted(low.values)[::-1])


# What to play next


def board(means, sd=0.1, n=1000):
    """Posterior of a board whose utilities are known so well, and what `rank_summary` says."""
    draws = np.random.default_rng(5).normal(means, sd, (2, n, len(means)))
    items = [f"i{k}" for k in range(len(means))]
    utility = xr.DataArray(draws, dims=("chain", "draw", "item"), coords={"item": items})
    posterior = xr.DataTree.from_dict({"posterior": utility.to_dataset(name="utility")})
    return posterior, bayesrank.rank_summary(posterior)


def next_of(means, **how):
    part = next_matches.coming(*board(means, **how), 3, [])
    return " ".join(part.paragraphs), part


def test_tied_leaders_are_to_meet_and_how_often():
    text, part = next_of([1.0, 0.98, 0.0, -1.0])
    assert part.table.to_dict("records") == [
        {"Against": "i1", "Of the next 10": "10", "P(item better)": "0.56"}
    ]
    assert text.startswith("One other item may be better than the leader now. If all pairs meet")
    settled = part.data["settling"]["p_settled"]
    assert (settled["tied"] >= settled["all"] - 0.1).all()
    assert text.count("more than 100,000") + text.count("about") >= 2
    assert "10 matches that are expected to be most informative about the leader" in text
    assert "next.csv" in part.files


def test_the_best_three_are_sought_if_the_leader_is_known():
    text, part = next_of([3.0, 2.0, 1.0, 0.98, -1.0])
    assert text.startswith(
        "The leader is known, so no more matches are needed for that. The table shows"
    )
    assert "about the best 3" in text
    assert set(part.data) == {"next_matches"}
    (pair,) = part.data["next_matches"].itertuples()
    assert (pair.Index, pair.item_other, pair.matches) == ("i2", "i3", 10)


def test_no_matches_are_needed_if_all_is_known():
    text, part = next_of([3.0, 2.0, 1.0, 0.0])
    assert text.endswith(
        "The best 3 are certain: the place of each item inside or outside this group is sure."
    )
    assert (part.table, part.file, part.files, part.data) == (None, "", {}, {})
    # of three items all are among the best three
    text, part = next_of([3.0, 2.0, 1.0])
    assert text == "The leader is known, so no more matches are needed for that."


def test_of_many_items_those_in_doubt_are_chosen_from():
    text, part = next_of([5.0, 4.9, *np.linspace(1, -2, 118)], sd=0.3, n=300)
    assert "How many more matches" not in text
    assert set(part.data) == {"next_matches"}
    (pair,) = part.data["next_matches"].itertuples()
    assert {pair.Index, pair.item_other} == {"i0", "i1"}
    # places among the best that are left for those in doubt
    posterior, _ = board([9.0, 8.0, *[1.0] * 40], sd=0.3)
    chance = bayesrank.rank_summary(posterior, top=5)["p_top5"]
    chosen, _ = next_matches._chosen(posterior["posterior"].to_dataset(), chance, 5)
    assert not {"i0", "i1"} & {*chosen.index, *chosen["item_other"]}
    assert chosen["matches"].sum() == 10


def test_items_behind_a_thin_bridge_meet_the_leader_although_the_model_finds_them_worse():
    posterior, _ = board([1.0, 0.98, 0.0, 0.5, 0.4, 0.3])
    wins = np.kron(np.eye(2), 15 * (1 - np.eye(3)))  # three items and three others
    wins[2, 3] = wins[3, 2] = 1.0  # met in two matches only
    items = posterior["posterior"]["item"].to_index()
    compared = PairWins(items, wins, np.zeros_like(wins))
    summary = bayesrank.rank_summary(posterior, compared=compared)
    part = next_matches.coming(posterior, summary, 3, [])
    assert part.paragraphs[0].startswith("4 other items may be better than the leader now.")
    table = part.data["next_matches"]
    assert table["item_other"].tolist() == ["i3", "i4", "i5", "i1"]
    assert table["matches"].tolist() == [1, 1, 1, 7]
    assert "Too few matches link i3, i4, i5 with the leader" in part.paragraphs[-1]
    posterior["posterior"]["utility"].loc[{"item": "i0"}] += 2.0  # now it is better in all draws
    found, _ = next_matches._chosen(
        posterior["posterior"].to_dataset(),
        bayesrank.rank_summary(posterior)["p_best"],
        1,
        summary["p_leader_better"][["i3", "i4"]],
    )
    assert found["matches"].tolist() == [2, 2]


def test_checks_of_every_judge_and_category_are_in_the_file_and_in_words(whole):
    folder, _ = whole
    table = pd.read_csv(folder / "out" / "checks.csv", index_col=["statistic", "label"])
    assert ("group outcome", "tie, judge ann") in table.index
    assert ("group points", "ale, category look") in table.index


@pytest.mark.parametrize(
    ("judged", "groups", "sentence"),
    [
        (False, [], "It assumes no change in the match-ups."),
        (True, [], "It assumes typical judges and no change in the match-ups."),
        (False, ["prompt", "user"], "treats matches with the same prompt or user as independent."),
    ],
)
def test_a_plan_says_what_it_assumes(judged, groups, sentence):
    posterior, summary = board([1.0, 0.98, 0.0])
    if judged:
        posterior["posterior"]["adherence"] = ("judge", [1.0])
    assert sentence in next_matches.coming(posterior, summary, 3, groups).text()
