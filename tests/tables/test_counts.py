"""Counts of rankings and sampling weights in tables: two names, and no guess."""

import numpy as np
import pytest

import bayesrank as br
from bayesrank.data.read import read_preflib
from bayesrank.tables.words import TableError

BALLOTS = [
    {"ballot": "a > b > c", "n": 5, "w": 0.5},
    {"ballot": "b > a > c", "n": 3, "w": 2.0},
    {"ballot": "c > a > b", "n": 0, "w": 1.0},
]


def test_a_count_is_a_number_of_rankings_and_a_weight_is_not():
    counted = br.read_rankings(BALLOTS, ballot="ballot", count="n")
    assert counted.count.tolist() == [5, 3]
    assert counted.weight.tolist() == [1.0, 1.0]
    assert (counted.are_anonymous, counted.n_rankers) == (True, 8)
    assert counted.labels.tolist() == ["row 0", "row 1"]
    assert "Rankings that were given 0 times are left out: 1." in counted.notes
    weighted = br.read_rankings(BALLOTS, ballot="ballot", weight="w")
    assert weighted.weight.tolist() == [0.5, 2.0, 1.0]
    assert weighted.count.tolist() == [1, 1, 1]
    both = br.read_rankings(BALLOTS, ballot="ballot", count="n", weight="w")
    assert both.evidence.tolist() == [2.5, 6.0]


def test_weights_that_look_like_counts_are_noted():
    some = [row for row in BALLOTS if row["n"]]
    rankings = br.read_rankings(some, ballot="ballot", weight="n")
    assert (
        "Column 'n' is read as sampling weights. If its whole numbers say how often a ranking was "
        "given, use count='n' instead." in rankings.notes
    )
    assert not any("sampling" in x for x in br.read_rankings(BALLOTS, ballot="ballot").notes)


@pytest.mark.parametrize("wrong", [1.5, -1, None])
def test_a_wrong_count_is_refused_and_its_row_is_named(wrong):
    rows = [*BALLOTS, {"ballot": "a > c > b", "n": wrong, "w": 1.0}]
    message = r"^A count must be a whole number, 0 or more: .* row 3\. .* give weight='n' instead\."
    with pytest.raises(TableError, match=message):
        br.read_rankings(rows, ballot="ballot", count="n")
    if wrong == 1.5:  # what the message says
        some = [row for row in rows if row["n"]]
        weighted = br.read_rankings(some, ballot="ballot", weight="n")
        assert weighted.weight.tolist() == [5.0, 3.0, 1.5]


def test_all_counts_may_not_be_zero():
    with pytest.raises(TableError, match=r"^All counts are 0, so no ranking was given\."):
        br.read_rankings([{**row, "n": 0} for row in BALLOTS], ballot="ballot", count="n")


def test_counts_in_cells_exclude_a_column_of_counts():
    cells = [{"ballot": "3: a > b", "n": 2}, {"ballot": "4: b > a", "n": 2}]
    counted = br.read_rankings(cells, ballot="ballot")
    assert counted.count.tolist() == [3, 4]
    assert counted.n_rankers == 7
    message = r"have counts, and column 'n' too\. Leave `count` out"
    with pytest.raises(TableError, match=message):
        br.read_rankings(cells, ballot="ballot", count="n")


def test_a_named_ranker_gave_its_ranking_so_many_times():
    rows = [{**row, "who": who} for row, who in zip(BALLOTS, "xyz", strict=True)]
    named = br.read_rankings(rows, ballot="ballot", ranker="who", count="n")
    assert named.rankers.tolist() == ["x", "y"]
    assert named.n_rankers == 2
    assert named.expand().ranker_idx.tolist() == [0] * 5 + [1] * 3


def test_long_tables_have_one_count_per_ranking():
    rows = [
        {"race": race, "car": car, "place": place, "times": times}
        for race, times in (("r", 2), ("s", 3))
        for place, car in enumerate("ab", start=1)
    ]
    columns = {"ranking": "race", "item": "car", "rank": "place", "count": "times"}
    assert br.read_rankings(rows, **columns).count.tolist() == [2, 3]
    rows[1]["times"] = 7
    with pytest.raises(ValueError, match=r"count of a ranking must be the same in all of its rows"):
        br.read_rankings(rows, **columns)


def test_answers_are_counted():
    rows = [
        {"id": 1, "A": "x", "B": "y", "C": "z", "best": "x", "worst": "z", "n": 4},
        {"id": 2, "A": "x", "B": "y", "C": "z", "best": "y", "worst": "z", "n": 0},
        {"id": 3, "A": "x", "B": "y", "C": "z", "best": "z", "worst": "x", "n": 2},
    ]
    columns = {"respondent": "id", "item": ["A", "B", "C"], "best": "best", "worst": "worst"}
    tasks = br.read_choices(rows, **columns, count="n")
    assert tasks.count.tolist() == [4, 2]
    assert "Rows that were given 0 times are left out: 1." in tasks.notes
    weighted = br.read_choices(rows[::2], **columns, weight="n")
    assert weighted.weight.tolist() == [4.0, 2.0]
    sets = br.read_choices([{"x": 3, "y": 2}, {"x": 1, "y": 0}], counts=True)
    assert sets.count.tolist() == [3, 2, 1]
    assert sets.n_rankers == 6


def test_files_of_orders_have_counts(tmp_path):
    path = tmp_path / "votes.toc"
    path.write_text("# ALTERNATIVE NAME 1: a\n# ALTERNATIVE NAME 2: b\n30: 1,2\n10: 2,1\n")
    assert read_preflib(path).voters == [30, 10]
    assert br.read_rankings(path).count.tolist() == [30, 10]
    votes = tmp_path / "votes.cvotes"
    votes.write_text("#/Weight Allowed: true\na > b ^7 * 4\nb > a\n")
    rankings = br.read_rankings(votes)
    assert rankings.count.tolist() == [4, 1]
    np.testing.assert_array_equal(rankings.weight, [7.0, 1.0])


@pytest.mark.parametrize(
    ("name", "option"), [("votes", "count"), ("n", "count"), ("weight", "weight")]
)
def test_the_name_of_a_column_decides_what_is_proposed(name, option):
    rows = [{"ballot": row["ballot"], name: row["n"] + 1} for row in BALLOTS]
    (form,) = br.look(rows).forms
    assert form.arguments == {"ballot": "ballot", option: name}
