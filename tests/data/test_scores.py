"""Scores of items in cases: directions, blocks within the rope, folds, and missing scores."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import bayesrank as br

from_scores = br.Rankings.from_scores
WIDE = pd.DataFrame({"model": list("abc"), "x": [0.90, 0.91, 0.70], "y": [5.0, 3.0, 4.0]})
LONG = WIDE.melt("model", var_name="task", value_name="score")


def wide_as_long(**more):
    return from_scores(LONG, item="model", case="task", score="score", **more)


@pytest.mark.parametrize("rope", [0.0, 0.01])
@pytest.mark.parametrize("lower", [(), ["y"]])
def test_three_layouts_are_the_same_rankings(rope, lower):
    more = {"rope": rope, "lower_is_better": lower}
    expected = wide_as_long(**more)
    rows_of_cases = WIDE.set_index("model").T.rename_axis("task").reset_index()
    assert from_scores(WIDE, item="model", **more) == expected
    assert from_scores(rows_of_cases, case="task", **more) == expected
    assert list(expected)[1] == (["b", "c", "a"] if lower else ["a", "c", "b"])
    # 0.91 and 0.9 differ by slightly more than 0.01 in floating point
    assert next(iter(expected)) == ([{"a", "b"}, "c"] if rope else ["b", "a", "c"])


def blocks_by_definition(scores, rope):
    """Open a block with the best score left, and take all scores within the rope of it."""
    left, found = dict(scores), []
    while left:
        best = max(left.values())
        block = {item for item, score in left.items() if best - score <= rope}
        found.append(block)
        left = {item: score for item, score in left.items() if item not in block}
    return found


def tied_by_chains(scores, rope):
    """Number of pairs that a chain links, by the connected components of near scores."""
    items = {item: {item} for item in scores}
    for a, b in combinations(scores, 2):
        if abs(scores[a] - scores[b]) <= rope:
            joined = items[a] | items[b]
            for item in joined:
                items[item] = joined
    groups = {frozenset(group) for group in items.values()}
    return sum(len(group) * (len(group) - 1) // 2 for group in groups)


def test_blocks_and_counts_of_pairs_are_those_of_the_definitions():
    rng = np.random.default_rng(2)
    table = pd.DataFrame(rng.integers(0, 60, (12, 30)), columns=[f"c{k}" for k in range(30)])
    rankings = from_scores(table.assign(item=range(12)), item="item", rope=4)
    of_rule = np.zeros(3, dtype=int)
    for ordering, name in zip(rankings, table, strict=True):
        scores = table[name].to_dict()
        blocks = blocks_by_definition(scores, 4)
        assert [{*x} if isinstance(x, set) else {x} for x in ordering] == blocks
        complete = sum(len(block) * (len(block) - 1) // 2 for block in blocks)
        alone = sum(abs(scores[a] - scores[b]) <= 4 for a, b in combinations(scores, 2))
        of_rule += [complete, tied_by_chains(scores, 4), alone]
    complete, single, alone = of_rule.tolist()
    assert complete < alone < single
    assert f"equivalent: {complete:,} of {30 * 66:,}." in rankings.notes[0]
    more = f"add {single - complete:,}, and judging each pair alone adds {alone - complete:,}."
    assert rankings.notes[1].endswith(more)


def test_a_rope_may_differ_by_case():
    both = wide_as_long(rope={"x": 0.01, "y": 1})
    assert list(both) == [[{"a", "b"}, "c"], [{"a", "c"}, "b"]]
    assert wide_as_long(rope=pd.Series({"y": 1, "x": 0.01})) == both
    assert wide_as_long(rope=lambda scores: np.ptp(scores) / 2) == both
    assert not wide_as_long().notes


def test_folds_share_the_weight_of_their_case():
    rows = [("a", "x", 1, 3.0, 2.0), ("b", "x", 1, 2.0, 2.0), ("a", "x", 2, 1.0, 2.0)]
    rows += [("b", "x", 2, 2.0, 2.0), ("a", "y", 1, 1.0, 5.0), ("b", "y", 1, 2.0, 5.0)]
    table = pd.DataFrame(rows, columns=["item", "case", "seed", "score", "w"])
    named = {"item": "item", "case": "case", "score": "score", "fold": "seed"}
    plain, weighted = (from_scores(table, **named, weight=w) for w in (None, "w"))
    assert plain.weight.tolist() == [0.5, 0.5, 1.0]
    assert weighted.weight.tolist() == [1.0, 1.0, 5.0]
    assert plain.rankers[plain.ranker_idx].tolist() == ["x", "x", "y"]
    assert "Cases have 1 to 2 folds" in plain.notes[-1]
    families = from_scores(table.assign(family="f"), **named, by="family")
    assert families.groups["family"].labels.tolist() == ["f"]
    with pytest.raises(
        ValueError, match=r"Item 'a' in case 'x' has 3 in row 0 and 1 in row 2.*fold="
    ):
        from_scores(table, item="item", case="case", score="score")
    again = pd.concat([table, table[:1]], ignore_index=True)
    with pytest.raises(ValueError, match=r"one score in a case and fold.*in fold 1 has 3 in row 0"):
        from_scores(again, **named)


def test_missing_scores_are_counted():
    cells = LONG.assign(score=LONG["score"].where(LONG.index != 5))
    rows = cells.dropna()
    named = {"item": "model", "case": "task", "score": "score"}
    empty, absent = (from_scores(table, **named) for table in (cells, rows))
    assert empty == absent
    assert list(empty)[1] == ["a", "b"]
    assert empty.notes == absent.notes
    assert empty.notes[0].startswith("Missing scores: 1 of 6.")
    never = pd.concat([LONG, pd.DataFrame([{"model": "d", "task": "x"}])])
    assert from_scores(never, **named).notes == ("Items without any score are left out: 1.",)


@pytest.mark.parametrize("weaker", [True, False])
def test_a_note_says_if_weaker_items_have_more_missing_scores(weaker):
    rng = np.random.default_rng(3)
    strength = np.linspace(1, -1, 15)
    table = strength[:, None] + rng.normal(0, 0.3, (15, 40))
    lacking = np.linspace(0, 0.8, 15) if weaker else np.linspace(0.8, 0, 15)
    table[rng.random(table.shape) < lacking[:, None]] = np.nan
    frame = pd.DataFrame(table).assign(item=range(15))
    said = any("Weaker items have more" in note for note in from_scores(frame, item="item").notes)
    assert said == weaker


REFUSED = {
    "one case": (WIDE[["model", "x"]], {"item": "model"}, r"several cases.*only case 'x'"),
    "one item": (WIDE[:1], {"item": "model"}, r"two items or more.*only 'a'"),
    "text": (WIDE.assign(x=["good", "1", "2"]), {"item": "model"}, r"score.*'x'.*'good' in row 0"),
    "infinite": (WIDE.assign(x=np.inf), {"item": "model"}, r"finite number; .*inf in row 0"),
    "negative rope": (WIDE, {"item": "model", "rope": -1}, r"0 or more.*case 'x' it is -1"),
    "no rope": (WIDE, {"item": "model", "rope": {"x": 1}}, r"number for each case.*none for 'y'"),
    "equal": (WIDE.assign(x=1, y=2), {"item": "model"}, r"All scores of each case are equal"),
    "wide rope": (WIDE, {"item": "model", "rope": 9}, r"lie within its rope.*smaller rope"),
    "unknown case": (WIDE, {"item": "model", "lower_is_better": ["z"]}, r"cases; 'z' are none"),
    "no axis": (WIDE, {}, r"Name the column of scores with score="),
    "no item": (LONG, {"case": "task", "score": "score"}, r"name the columns of both"),
    "column of a long table": (
        LONG, {"item": "model", "case": "task", "score": "score", "column": ["x"]}, "wide tables"
    ),
    "weights of items": (WIDE.assign(w=1), {"item": "model", "weight": "w"}, "describe cases"),
    "nothing": (WIDE[["model"]], {"item": "model"}, "no columns of scores"),
}  # fmt: skip


@pytest.mark.parametrize(("table", "given", "match"), REFUSED.values(), ids=REFUSED)
def test_tables_that_are_no_benchmark_get_a_sentence(table, given, match):
    with pytest.raises(ValueError, match=match):
        from_scores(table, **given)
