"""Columns that no model uses: whether they decide the order of the items."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from scipy.stats import kstest

import bayesrank as br
from bayesrank.results import column_checks, column_notes
from bayesrank.results.checks.columns import _comparisons
from bayesrank.results.checks.interaction_score import Comparisons, fitted

SEEDS = 25


def matches(seed, *, effect=0.0, n=240, n_items=5, ties=False, by=("scene",)):
    """Draw matches whose strengths differ by scene, and further columns that do not matter."""
    rng = np.random.default_rng([seed, n])
    table = pd.DataFrame({"first": rng.integers(n_items, size=n)})
    table["second"] = (table["first"] + rng.integers(1, n_items, size=n)) % n_items
    scene = rng.integers(3, size=n)
    table["scene"] = np.array(["day", "dusk", "night"])[scene]
    strength = rng.normal(size=n_items) + effect * rng.normal(size=(3, n_items))
    lead = strength[scene, table["first"]] - strength[scene, table["second"]] + 0.4
    outcome = np.where(rng.random(n) < expit(lead), "first", "second")
    table["outcome"] = np.where(rng.random(n) < (0.3 if ties else 0), "tie", outcome)
    return table, br.Pairs.from_frame(table, by=list(by))


def ballots(seed, *, effect=0.0, n=60, n_items=5, places=4):
    """Draw rankings of some items whose utilities differ by camp."""
    rng = np.random.default_rng([seed, n, places])
    camp = rng.integers(2, size=n)
    utility = rng.normal(size=n_items) + effect * rng.normal(size=(2, n_items))
    orders = []
    for k in range(n):
        shown = rng.permutation(n_items)[:places]
        orders.append(shown[np.argsort(-utility[camp[k], shown] - rng.gumbel(size=places))])
    rankings = br.Rankings.from_orderings([[*map(int, order)] for order in orders], rest=())
    return rankings.grouped({"camp": camp})


def p_values(data_of, column):
    return np.array(
        [column_checks(data_of(seed), [column], random_seed=seed)["p"].item() for seed in range(80)]
    )


@pytest.mark.parametrize(
    ("data_of", "column"),
    [
        (lambda seed: matches(seed)[1], "scene"),
        (lambda seed: matches(seed, ties=True)[1], "scene"),
        (ballots, "camp"),
    ],
)
def test_p_values_are_uniform_if_nothing_differs(data_of, column):
    p = p_values(data_of, column)
    assert kstest(p, "uniform").pvalue > 1e-6
    assert (p <= 0.05).mean() < 0.05 + 5 * np.sqrt(0.05 * 0.95 / len(p))


@pytest.mark.parametrize(
    ("data_of", "column"),
    [
        (lambda seed: matches(seed, effect=1.0)[1], "scene"),
        (lambda s: ballots(s, effect=1.0), "camp"),
    ],
)
def test_utilities_that_differ_by_label_are_seen(data_of, column):
    found = [
        column_checks(data_of(seed), [column], random_seed=0)["fires"].item() for seed in range(20)
    ]
    assert np.mean(found) >= 0.8


def test_labels_that_decide_which_items_meet_are_no_reason():
    """Easy and hard leagues: the label is a function of both items, or shifts who is shown."""
    fires = []
    for seed in range(SEEDS):
        rng = np.random.default_rng([seed, 7])
        league = rng.integers(2, size=300)
        first = rng.integers(5, size=300) + np.where(
            rng.random(300) < 0.2, 5 - 5 * league, 5 * league
        )
        second = np.where(first < 5, 0, 5) + (first % 5 + rng.integers(1, 5, size=300)) % 5
        strength = np.linspace(-2, 2, 10)
        table = pd.DataFrame({"first": first, "second": second, "league": league.astype(str)})
        won = rng.random(300) < expit(strength[first] - strength[second])
        table["outcome"] = np.where(won, "first", "second")
        table["both"] = np.where(first < 5, "low", "high")
        pairs = br.Pairs.from_frame(table, by=["league", "both"])
        found = column_checks(pairs, ["league", "both"], random_seed=0)
        fires.append(found["fires"].any())
    assert np.mean(fires) <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / SEEDS)


@pytest.mark.parametrize("nested", [True, False])
def test_opinions_of_judges_are_no_reason_for_a_label(nested):
    """Judges differ, and each has one label or several."""
    p = []
    for seed in range(SEEDS):
        rng = np.random.default_rng([seed, nested])
        judge = rng.integers(12, size=360)
        strength = rng.normal(size=5) + rng.normal(size=(12, 5))
        first = rng.integers(5, size=360)
        second = (first + rng.integers(1, 5, size=360)) % 5
        table = pd.DataFrame({"first": first, "second": second, "judge": judge})
        table["site"] = np.where(
            (judge if nested else rng.integers(2, size=360)) % 2 == 0, "a", "b"
        )
        won = rng.random(360) < expit(strength[judge, first] - strength[judge, second])
        table["outcome"] = np.where(won, "first", "second")
        pairs = br.Pairs.from_frame(
            table, first="first", second="second", outcome="outcome", judge="judge", by="site"
        )
        found = column_checks(pairs, ["site"], random_seed=0).loc["site"]
        assert found["n_units"] == 12
        p.append(found["p"])
    assert np.mean(np.array(p) <= 0.05) <= 0.05 + 4.5 * np.sqrt(0.05 * 0.95 / SEEDS)


def test_strengths_that_change_over_time_are_seen():
    fires = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n, walk = 900, rng.normal(size=(40, 6)).cumsum(axis=0) / np.sqrt(40)
        year = np.sort(rng.integers(40, size=n))
        first = rng.integers(6, size=n)
        second = (first + rng.integers(1, 6, size=n)) % 6
        strength = rng.normal(size=6) + walk
        won = rng.random(n) < expit(strength[year, first] - strength[year, second])
        table = pd.DataFrame({"first": first, "second": second, "year": 1980 + year})
        table["outcome"] = np.where(won, "first", "second")
        pairs = br.Pairs.from_frame(table, by="year")
        fires.append(column_checks(pairs, [], times=["year"], random_seed=0)["fires"].item())
    assert np.mean(fires) >= 0.8


def test_several_columns_share_the_false_alarms():
    table, _ = matches(3, effect=0.6)
    rng = np.random.default_rng(0)
    more = {f"c{k}": rng.choice(["x", "y"], size=len(table)) for k in range(9)}
    pairs = br.Pairs.from_frame(table.assign(**more), by=["scene", *more])
    found = column_checks(pairs, ["scene", *more], random_seed=0)
    np.testing.assert_array_equal(found["fires"], found["p"] * 10 <= 0.05)


@pytest.mark.parametrize(
    ("column", "note"),
    [
        ("winner", "names items"),
        ("country", "property of an item"),
        ("home", "property of an item"),
        ("goals", "records the outcome"),
        ("one", "too little data"),
    ],
)
def test_columns_that_are_no_categories_are_left_out(column, note):
    table, _ = matches(1, n_items=6)
    won = table["outcome"] == "first"
    winner = table["first"].where(won, table["second"])
    rng = np.random.default_rng(1)
    table["winner"] = winner.astype(str)
    table["country"] = np.where(winner % 3 == 0, "NO", "SE")
    table["home"] = np.where(table["first"] % 2 == 0, "north", "south")
    table["goals"] = (won * 2 + rng.integers(2, size=len(table))).astype(str)
    table["one"] = "same"
    pairs = br.Pairs.from_frame(table, by=column)
    found = column_checks(pairs, [column], random_seed=0).loc[column]
    assert found["note"] == note
    assert np.isnan(found["p"])
    assert not found["fires"]


def test_rows_without_a_label_are_left_out():
    table, pairs = matches(5, effect=1.0)
    half = pd.concat([table, table.assign(scene="", outcome="first")])
    some = br.Pairs.from_frame(half, by="scene")
    alone, found = (column_checks(x, ["scene"], random_seed=0).loc["scene"] for x in (pairs, some))
    assert found["n_labels"] == 3
    assert found["fires"]
    assert list(found["leaders"]) == ["day", "dusk", "night"]
    assert found["statistic"] == pytest.approx(alone["statistic"])


def test_a_row_that_counts_is_as_many_rows():
    rankings = ballots(1)
    counted = rankings._with(count=np.full(len(rankings), 3))
    again = counted.expand()
    one, other = (column_checks(x, ["camp"], random_seed=0).loc["camp"] for x in (counted, again))
    assert one["statistic"] == pytest.approx(other["statistic"])
    assert one["n_units"] == 180
    assert other["n_units"] == 180


def test_utilities_maximise_the_penalised_likelihood():
    _, pairs = matches(2)
    data = _comparisons(pairs, None, None, np.random.default_rng(0)).data
    times = data.times.astype(float)
    utility, advantage = fitted(data, times)

    def value(x):
        lead = x[data.ahead] - x[data.behind] + x[-1] * data.home
        return times[data.row] @ np.log(expit(lead)) - (x @ x) / 18

    best = np.append(utility, advantage)
    steps = 1e-4 * np.vstack([np.eye(6), -np.eye(6)])
    assert all(value(best + step) < value(best) for step in steps)
    assert isinstance(data, Comparisons)


def test_readers_keep_unused_columns():
    table, _ = matches(4, effect=1.5)
    rng = np.random.default_rng(0)
    table = table.assign(
        day=[f"20{k:02}-03-01" for k in rng.integers(10, 30, size=len(table))],
        age=rng.integers(60, size=len(table)),
        room=rng.choice(["a", "b", None], size=len(table)),
    )
    sides = {"first": "first", "second": "second", "outcome": "outcome"}
    pairs = br.read_matches(table, **sides)
    assert pairs.unused.columns == ("scene", "room")
    assert pairs.unused.times == ("day",)
    assert pairs.unused.data.n_matches == pairs.n_matches
    assert pairs == br.read_matches(table[[*sides]], **sides)
    assert pickle.loads(pickle.dumps(pairs)) == pairs
    assert pairs[:3].unused is None
    found = br.column_checks(pairs, random_seed=0)
    assert list(found.index) == ["scene", "room", "day"]
    assert found["fires"].tolist() == [True, False, False]
    (note,) = column_notes(found)
    assert note.startswith("The strengths of the items differ by 'scene' (p = 0.0001). In 'day' ")
    assert note.endswith("Add category='scene'.")
    assert br.read_matches(table, **sides, category="scene").unused.columns == ("room",)


def test_unused_columns_of_rankings_are_constant_in_each_ranking():
    rows = [
        {"who": k, "item": item, "place": place, "camp": "xy"[k % 2], "row": "pq"[place % 2]}
        for k in range(30)
        for place, item in enumerate("abc" if k % 2 else "cba", 1)
    ]
    rankings = br.read_rankings(rows, ranker="who", item="item", rank="place")
    assert rankings.unused.columns == ("camp",)
    found = br.column_checks(rankings[:20], random_seed=0).loc["camp"]
    assert found["n_units"] == 20
    assert found["leaders"] == {"x": "c", "y": "a"}
    wide = [{"a": 1 + k % 2, "b": 2 - k % 2, "camp": "xy"[k % 2]} for k in range(30)]
    read = br.read_rankings(wide, wide="ranks", column=["a", "b"])
    assert read.unused.columns == ("camp",)
    assert rankings.collapse().unused is None


def test_rankers_with_several_rankings_keep_their_columns():
    rows = [
        {"who": who, "year": 2000 + k, "camp": "xy"[k % 2], "item": item, "place": place}
        for who in ("ann", "bo", "cy")
        for k in range(8)
        for place, item in enumerate("abc" if k % 2 else "cba", 1)
    ]
    how = {"ranker": "who", "ranking": ["who", "year"], "item": "item", "rank": "place"}
    rankings = br.read_rankings(rows, **how)
    labels, idx = rankings.unused.data.groups["camp"]
    expected = ["x" if order[0] == "c" else "y" for order in rankings]
    assert labels[idx].tolist() == expected
    assert [*rankings.groups] == []


def test_data_without_unused_columns_have_no_checks():
    _, pairs = matches(0)
    found = column_checks(pairs)
    assert found.empty
    assert column_notes(found) == []
    with pytest.raises(ValueError, match="There is no group 'colour'; the groups are 'scene'"):
        column_checks(pairs, ["colour"])


def test_changes_over_time_propose_a_date():
    table = pd.DataFrame({"kind": "time", "p": 0.0002, "fires": True, "leaders": [{}]}, ["year"])
    expected = "The strengths of the items change over 'year' (p = 0.0002). Add date='year'."
    assert column_notes(table) == [expected]


SIDES = {"winner": "winner", "loser": "loser"}


def seasons(n, first=1888):
    """A league of three teams in n seasons; the best team becomes the worst."""
    rng = np.random.default_rng(3)
    rows = []
    for k in range(n):
        year = first + k
        strength = np.array([1.5, 0, -1.5]) * (1 - 2 * k / (n - 1))
        for one, other in [(0, 1), (0, 2), (1, 2)] * 2:
            won = rng.random() < expit(strength[one] - strength[other])
            sides = (one, other) if won else (other, one)
            rows.append((f"{year}-{(year + 1) % 100:02}", *("abc"[side] for side in sides)))
    return pd.DataFrame(rows, columns=["season", "winner", "loser"])


def test_seasons_are_times_and_the_proposed_date_works():
    table = seasons(98)
    pairs = br.read_matches(table, **SIDES)
    assert not pairs.unused.data.ordered
    assert pairs.unused.times == ("season",)
    assert pairs.unused.columns == ()
    (note,) = column_notes(br.column_checks(pairs, random_seed=0))
    assert note.endswith("Add date='season'.")
    dated = br.read_matches(table, **SIDES, date="season")
    assert dated.groups["date"].labels.tolist() == [str(year) for year in range(1888, 1986)]
    assert dated.notes == ("Column 'season' contains seasons: '1888-89' is 1888.",)
    fit = br.fit_dynamic(dated, time="date", hyperparameters={"scale": 1.0, "drift": 0.3})
    utility = fit.draws(at=["1888-89", "1985-1986"], random_seed=0)["posterior"]["utility"]
    assert utility.mean(("chain", "draw")).argmax("item").values.tolist() == [0, 2]


def test_the_first_item_has_no_advantage_if_the_order_means_nothing():
    table = seasons(98)  # of two items, the first by name wins early and loses late
    table["era"] = np.where(table["season"] < "1937", "old", "new")
    pairs = br.read_matches(table, **SIDES)
    found = br.column_checks(pairs, random_seed=0)
    assert found["note"].tolist() == ["", ""]
    assert found["fires"].all()
    assert found.loc["era", "leaders"] == {"new": "c", "old": "a"}
    # other names for the items change nothing
    turned = table.replace({"winner": {"a": "z"}, "loser": {"a": "z"}})
    again = br.column_checks(br.read_matches(turned, **SIDES), random_seed=0)
    np.testing.assert_allclose(again["statistic"], found["statistic"], rtol=1e-6)


@pytest.mark.parametrize(
    ("form", "is_time"),
    [
        (lambda year: f"{year}/{(year + 1) % 100:02}", True),
        (lambda year: f"{year}-{year + 1}", True),
        (lambda year: f"{year}/{year + 1}", True),
        (lambda year: f"{year}\N{EN DASH}{(year + 1) % 100:02}", True),
        (lambda year: f"{year}-01-01", True),
        (lambda year: f"{year}-{(year + 2) % 100:02}", False),
        (lambda year: f"{year} to {year + 1}", False),
    ],
)
def test_times_are_what_the_argument_date_reads(form, is_time):
    table = seasons(8, 2007)
    table["season"] = table["season"].str[:4].astype(int).map(form)
    pairs = br.read_matches(table, **SIDES)
    assert pairs.unused.times == (("season",) if is_time else ())
    if is_time:
        dated = br.read_matches(table, **SIDES, date="season")
        first = dated.groups["date"].labels[0]
        assert first in ("2007", "2007-01-01")
    else:
        with pytest.raises(ValueError, match="not an unambiguous date"):
            br.read_matches(table, **SIDES, date="season")


def test_seasons_that_may_be_months_are_refused_until_they_are_written_in_full():
    table = seasons(3, 2009)
    assert br.read_matches(table, **SIDES).unused.times == ()
    message = (
        "In row 0: The season '2009-10' may be a month or a season of two years. Write months as "
        "2010-11-01, and seasons as 2010-2011."
    )
    with pytest.raises(ValueError, match=message):
        br.read_matches(table, **SIDES, date="season")
    year = table["season"].str[:4].astype(int)
    for written, label in [
        (year.map(lambda x: f"{x}-{x + 1}"), "2009"),
        (year.map(lambda x: f"{x}-{(x + 1) % 100:02}-01"), "2009-10-01"),
    ]:
        read = br.read_matches(table.assign(season=written), **SIDES, date="season")
        assert read.groups["date"].labels[0] == label


def test_an_error_about_a_date_names_its_row():
    table = seasons(3, 2009)
    table["season"] = ["2010-11", "2010-12", "soon"] * 6  # months
    with pytest.raises(ValueError, match="In row 2: The season 'soon' is not an unambiguous date"):
        br.read_matches(table, **SIDES, date="season")


def test_tasks_keep_the_columns_that_no_argument_names():
    rng = np.random.default_rng(1)
    rows = []
    for who in range(60):
        strength = np.array([2.0, 0.0, -2.0]) * (1 if who % 2 else -1)
        for task in range(3):
            order = np.argsort(-strength - rng.gumbel(size=3))
            for k, item in enumerate("abc"):
                best, worst = int(order[0] == k), int(order[-1] == k)
                rows.append((who, task, item, best, worst, "xy"[who % 2], "pq"[task % 2]))
    names = ["who", "task", "item", "best", "worst", "segment", "screen"]
    table = pd.DataFrame(rows, columns=names).astype(str)
    columns = {"respondent": "who", "task": "task", "item": "item", "best": "best"}
    tasks = br.read_choices(table, **columns, worst="worst")
    assert set(tasks.unused.columns) == {"segment", "screen"}
    assert tasks.groups == {}
    found = column_checks(tasks, random_seed=0)
    assert found.index[found["fires"]].tolist() == ["segment"]
    assert found.loc["segment", "leaders"] == {"x": "c", "y": "a"}
    assert set(br.read_choices(table, **columns, category="segment").unused.columns) == {"screen"}
