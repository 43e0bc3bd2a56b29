"""Matches with ordered grades or weights, read from tables."""

import numpy as np
import pandas as pd
import pytest

import bayesrank as br
from bayesrank.tables import TableError

VERDICTS = ["A>>B", "A>B", "A=B", "B>A", "B>>A"]
SIDES = {"first": "model_a", "second": "model_b"}


def votes(verdicts=("A>>B", "B>A", "A=B"), **more):
    sides = {"model_a": ["x", "z", "y"], "model_b": ["y", "x", "z"]}
    return pd.DataFrame(sides).assign(verdict=list(verdicts), **more)


@pytest.mark.parametrize("form", ["{}", "[[{}]]"])
def test_the_order_of_published_verdicts_is_known(form):
    grades = [form.format(grade) for grade in VERDICTS]
    table = votes([form.format(grade) for grade in ("A>>B", "B>A", "A=B")])
    pairs = br.read_matches(table, **SIDES, grade="verdict")
    assert pairs.grades.tolist() == grades
    listed = br.read_matches(table, **SIDES, grade="verdict", grades=",".join(grades))
    assert listed == pairs == br.read_matches(table, **SIDES, grade="verdict", grades=grades)
    assert pairs == br.Pairs.from_frame(table, **SIDES, outcome="verdict", grades=grades)
    assert pairs.notes == (
        f"Column 'verdict' is read as 5 ordered grades: {grades[0]} is the best for the first "
        f"item, {grades[-1]} the best for the second.",
    )
    (fit,) = br.look(table).forms
    assert fit.arguments == {**SIDES, "grade": "verdict"}


def test_another_order_of_grades_must_be_given():
    words = ["much better", "better", "worse", "much worse"]
    table = votes(words[:3])
    with pytest.raises(TableError, match="The order of the grades must be known; column 'verd"):
        br.read_matches(table, **SIDES, grade="verdict")
    assert br.read_matches(table, **SIDES, grade="verdict", grades=words).grades.tolist() == words
    with pytest.raises(TableError, match=r"column 'verdict' has 'worse' in row 2\. Add it to `gra"):
        br.read_matches(table, **SIDES, grade="verdict", grades=words[:2])
    with pytest.raises(TableError, match="The grade 'A=B' says that the items are equal, but it"):
        br.read_matches(votes(), **SIDES, grade="verdict", grades=VERDICTS[:4])
    with pytest.raises(TableError, match="Missing: grade=COLUMN, the column of the grades that"):
        br.read_matches(table, **SIDES, outcome="verdict", grades=words)
    with pytest.raises(TableError, match=r"`grade` says more than who won\. Leave `tie` out"):
        br.read_matches(table, **SIDES, grade="verdict", grades=words, tie="A=B")


def test_grades_in_the_place_of_outcomes_are_refused_with_the_remedy():
    with pytest.raises(TableError, match="has ordered grades, such as 'A>>B' in row 0") as error:
        br.read_matches(votes(), **SIDES, outcome="verdict")
    assert error.value.remedies == ({"outcome": None, "grade": "verdict"},)


def test_items_without_an_order_exchange_their_grades():
    pairs = br.read_matches(votes(), **SIDES, grade="verdict", order=False)
    found = {(r["first"], r["second"]): max(r["count"], key=r["count"].get) for r in pairs}
    # z against x was B>A: x was better
    assert found == {("x", "y"): "A>>B", ("x", "z"): "A>B", ("y", "z"): "A=B"}
    assert not pairs.ordered


def test_weights_of_matches_are_evidence_weights():
    table = votes(weight=["0.5", "2", "1"])
    pairs = br.read_matches(table, **SIDES, grade="verdict", weight="weight")
    assert sorted(pairs.weight) == [0.5, 1.0, 2.0]
    assert pairs.n_matches == 3
    with pytest.raises(TableError, match="A weight must be 0 or more; column 'weight' has -1"):
        br.read_matches(votes(weight=[1, -1, 1]), **SIDES, grade="verdict", weight="weight")
    whole = br.read_matches(votes(weight=[1, 3, 1]), **SIDES, grade="verdict", weight="weight")
    assert (
        "If its whole numbers say how often a match was given, use count='weight'" in whole.notes[1]
    )


def test_a_note_states_the_effective_sample_size_of_weights():
    pairs = br.read_matches(votes(weight=[0.5, 2, 1]), **SIDES, grade="verdict", weight="weight")
    # 3.5² / (0.25 + 4 + 1)
    assert "Their total is 3.5, but the effective sample size is 2.3 rows" in pairs.notes[1]


def test_a_stated_probability_is_two_weighted_outcomes_of_one_match():
    table = votes(p=["0.7", "0.25", "1"])
    pairs = br.read_matches(table, **SIDES, probability="p")
    assert pairs.n_matches == 3
    assert pairs.matches_by_item.tolist() == [2, 2, 2]
    rows = {
        (r["first"], r["second"], k): r["weight"] for r in pairs for k, n in r["count"].items() if n
    }
    assert rows == {
        ("x", "y", "first"): 0.7, ("x", "y", "second"): pytest.approx(0.3),
        ("z", "x", "first"): 0.25, ("z", "x", "second"): 0.75, ("y", "z", "first"): 1.0,
    }  # fmt: skip
    sorted_by_name = br.read_matches(table, **SIDES, probability="p", order=False)
    rows = [(r["first"], r["second"], r["weight"]) for r in sorted_by_name if r["count"]["first"]]
    assert ("x", "z", 0.75) in rows
    for bad in ("1.2", "-0.1"):
        with pytest.raises(TableError, match=f"between 0 and 1; column 'p' has {bad} in row 2. It"):
            br.read_matches(votes(p=["0.7", "0.25", bad]), **SIDES, probability="p")


@pytest.mark.parametrize("bad", ["tie (bothbad)", "both_bad"])
def test_both_bad_is_read_as_a_tie_and_said(bad):
    table = votes().assign(winner=["model_a", bad, "tie"])
    pairs = br.read_matches(table, **SIDES, outcome="winner")
    assert pairs.counts.sum(axis=0).tolist() == [1, 0, 2]
    assert pairs.notes[-1].startswith(f"{bad!r} counts as a tie")
    with pytest.raises(TableError, match=r"has codes, such as 'model_a'\. Give outcome='winner'"):
        br.read_matches(table, **SIDES, winner="winner")


def test_both_bad_that_is_named_is_an_outcome():
    table = votes().assign(winner=["model_a", "tie (bothbad)", "tie"])
    pairs = br.read_matches(table, **SIDES, outcome="winner", both_bad="Tie (bothbad)")
    assert pairs.with_both_bad.sum(axis=0).tolist() == [1, 0, 1, 1]
    assert "tie (bothbad) as both are bad" in pairs.notes[0]
    assert not any("counts as a tie" in note for note in pairs.notes)
    # items without an order are exchanged, and both stay bad
    turned = br.read_matches(
        table, **SIDES, outcome="winner", both_bad="tie (bothbad)", order=False
    )
    assert turned.with_both_bad.sum(axis=0).tolist() == [1, 0, 1, 1]
    words = table.assign(winner=["left", "neither", "neither"])
    codes = {"first_wins": "left", "both_bad": ["neither"]}
    assert br.read_matches(words, **SIDES, outcome="winner", **codes).both_bad.sum() == 2


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"grade": "verdict"}, r"`grade` says more than who won\. Leave `both_bad` out"),
        ({"winner": "verdict"}, r"`both_bad` is a code in the column of `outcome`\. Name that col"),
        ({"outcome": "verdict", "tie": "x"}, "'x' cannot mean both tie and both bad"),
    ],
)
def test_both_bad_is_a_code_of_an_outcome(told, message):
    with pytest.raises(TableError, match=message):
        br.read_matches(votes(), **SIDES, both_bad="x", **told)


def test_verdicts_in_brackets_say_who_won():
    pairs = br.read_matches(votes(["[[A]]", "[[B]]", "[[C]]"]), **SIDES, outcome="verdict")
    np.testing.assert_array_equal(pairs.counts.sum(axis=0), [1, 1, 1])


def test_margins_of_scores_are_grades():
    table = votes(a=["3", "1", "0"], b=["1", "1", "1"])
    pairs = br.read_matches(table, **SIDES, score_a="a", score_b="b", margins=True)
    assert pairs.grades.tolist() == ["+2 or more", "+1", "0", "-1", "-2 or less"]
    assert "is read as 5 grades: '+2 or more', '+1', '0', '-1', '-2 or less'" in pairs.notes[0]
    sides = {"first": "model_a", "second": "model_b"}
    direct = br.Pairs.from_frame(votes(m=[2, 0, -1]), **sides, margin="m")
    assert pairs == direct
    plain = br.read_matches(table, **SIDES, score_a="a", score_b="b", margins=True, order=False)
    assert plain.grade_counts.sum(axis=0).tolist() == [1, 0, 1, 1, 0]
    with pytest.raises(
        TableError, match=r"Missing: score_a=COLUMN\. `margins` are differences of th"
    ):
        br.read_matches(votes(), **SIDES, grade="verdict", margins=True)
    with pytest.raises(TableError, match="A score must be a finite number; column 'a' has 'won'"):
        br.read_matches(votes(a="won", b="1"), **SIDES, score_a="a", score_b="b", margins=True)


def test_numbers_that_are_no_outcomes_are_refused_with_the_way_out():
    table = pd.concat([votes(p=["0.1", "0.7", "0.6"]), votes(p=["0.2", "0.9", "0.5"])])
    table = table.reset_index(drop=True)
    with pytest.raises(
        TableError, match=r"has numbers between 0 and 1, such as '0\.1' in"
    ) as error:
        br.read_matches(table, **SIDES, outcome="p")
    assert error.value.remedies == ({"outcome": None, "probability": "p"},)
    with pytest.raises(TableError, match=r"has numbers from 1 to 2, such as '1\.5' in row 1\. If"):
        br.read_matches(votes(p=["1.0", "1.5", "2.0"]), **SIDES, outcome="p")
