"""The audit of a board: eight boards with one defect each, and one without."""

from itertools import permutations, product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import bayesrank as br
from bayesrank.analysis.auditing import PROBES, _agreement, audit

SYSTEMS = [f"s{k:02d}" for k in range(12)]
STRENGTH = np.array([1.7, *np.linspace(1.0, -1.2, 11)])
JUDGES = [f"j{k}" for k in range(7)]  # six, and one more where that is said
NU = 0.5


def matches(rng, n=6000, strength=STRENGTH, order=0.0):
    """Votes of six judges on random pairs of systems, with prompts and days."""
    first = rng.integers(12, size=n)
    second = (first + rng.integers(1, 12, size=n)) % 12
    table = pd.DataFrame(
        {
            "first": first,
            "second": second,
            "judge": rng.integers(6, size=n),
            "prompt": rng.integers(400, size=n),
            "day": np.sort(rng.integers(30, size=n)),
        }
    )
    table["lead"] = strength[first] - strength[second] + order
    return table


def vote(rng, lead, nu=NU):
    """Draw outcomes: 0 the first, 1 the second, 2 a tie."""
    weights = np.stack([np.exp(lead / 2), np.exp(-lead / 2), np.broadcast_to(nu, lead.shape)])
    return (rng.random(len(lead)) > (weights / weights.sum(0)).cumsum(0)[:2]).sum(0)


def board(table, rng):
    if "outcome" not in table:
        table["outcome"] = vote(rng, table["lead"].to_numpy())
    named = table.assign(
        first=np.array(SYSTEMS)[table["first"]],
        second=np.array(SYSTEMS)[table["second"]],
        judge=np.array(JUDGES)[table["judge"]],
        outcome=np.array(["first", "second", "tie"])[table["outcome"]],
    )
    names = {name: name for name in ("first", "second", "outcome", "judge")}
    return br.Pairs.from_frame(named, **names, by=["prompt", "day"])


def clean(rng):
    return matches(rng)


def connection(rng):
    """Two halves of the board, joined by a dozen matches."""
    table = matches(rng)
    apart = (table["first"] < 6) != (table["second"] < 6)
    return pd.concat([table[~apart], table[apart][:12]])


def cycles(rng):
    """Three systems in the middle beat each other in a circle."""
    table = matches(rng)
    around = {(4, 5): 2.0, (5, 6): 2.0, (6, 4): 2.0}
    for (i, j), lead in around.items():
        table.loc[(table["first"] == i) & (table["second"] == j), "lead"] = lead
        table.loc[(table["first"] == j) & (table["second"] == i), "lead"] = -lead
    return table


def judges(rng):
    """One judge votes the other way round."""
    table = matches(rng)
    table.loc[table["judge"] == 3, "lead"] *= -1
    return table


def answers(rng):
    """A seventh judge names the first in each of its matches."""
    table = matches(rng)
    table["outcome"] = vote(rng, table["lead"].to_numpy())
    return pd.concat([table, table.sample(24, random_state=1).assign(judge=6, outcome=0)])


def clusters(rng):
    """Prompts favour one system or another, and many votes are on the same prompt."""
    table = matches(rng)
    table["prompt"] = rng.integers(60, size=len(table))
    taste = rng.normal(0, 1.2, (60, 12))
    table["lead"] += (
        taste[table["prompt"], table["first"]] - taste[table["prompt"], table["second"]]
    )
    return table


def duplicates(rng):
    """A tenth of the votes were sent twice."""
    table = matches(rng)
    table["outcome"] = vote(rng, table["lead"].to_numpy())
    return pd.concat([table, table.sample(frac=0.1, random_state=1)])


def drift(rng):
    """Two systems trade places half way."""
    table = matches(rng)
    late = table["day"] >= 15
    changed = STRENGTH.copy()
    changed[[4, 9]] = changed[[9, 4]]
    lead = changed[table["first"]] - changed[table["second"]]
    return table.assign(lead=np.where(late, lead, table["lead"]))


def fragility(rng):
    """Two systems at the top are equally strong."""
    strength = STRENGTH.copy()
    strength[1] = strength[0]
    for _ in range(100):  # until the leader leads by a vote or two
        table = matches(rng, strength=strength)
        table["outcome"] = vote(rng, table["lead"].to_numpy())
        fit = br.inference.fit_matches(board(table, rng), utility_scale=3.0)
        gap = abs(fit.utility[0] - fit.utility[1])
        if gap < 0.003:
            break
    return table


PLANTED = {name: globals()[name] for name in PROBES}


def audited(defect, seed=1):
    rng = np.random.default_rng(seed)
    return br.audit(board(defect(rng), rng), time="day", random_seed=0)


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_defect_fires_its_own_probe_and_no_other(name):
    found = audited(PLANTED[name])
    assert found.index[found["fires"]].tolist() == [name], found["says"].to_dict()


def test_a_judge_who_prefers_its_own_family_is_named():
    """Systems 6 and 7 and judge 3 are of one family; whoever else prefers them does so by votes."""
    rng = np.random.default_rng(3)
    table = matches(rng)
    favour = table["first"].isin([6, 7]) * 1.0 - table["second"].isin([6, 7])
    table["lead"] += 1.5 * favour * (table["judge"] == 3)
    found = br.audit(board(table, rng), time="day", random_seed=0)
    assert found.index[found["fires"]].tolist() == ["judges"], found["says"].to_dict()
    assert found.loc["judges", "says"].startswith(("j3 favours s06", "j3 favours s07"))


def test_a_board_without_defects_fires_nothing():
    found = audited(clean)
    assert not found["fires"].any(), found["says"].to_dict()
    assert found["value"].notna().all()


def test_drift_is_the_test_of_columns():
    rng = np.random.default_rng(5)
    pairs = board(matches(rng, n=600), rng)
    found = br.audit(pairs, time="day", probes=["drift"], random_seed=0).loc["drift"]
    seed = int(np.random.default_rng(0).integers(2**32))
    p = br.column_checks(pairs, [], times=["day"], clusters=["prompt"], random_seed=seed)[
        "p"
    ].item()
    assert found["p"] == p
    assert found["value"] == pytest.approx(max(norm.isf(p), 0))
    assert found["says"] == f"Strengths change over day (p = {p:.4f}), which may be chance."


def test_drift_needs_times_and_enough_data():
    few = br.audit(small(day=["1", "2", "3"]), time="day", probes=["drift"], random_seed=0)
    assert few.loc["drift", "says"] == "Changes over day are not tested: too little data."
    with pytest.raises(ValueError, match="The day 'a' is not an unambiguous date"):
        br.audit(pairs_on(["b", "a"]), time="day", probes=["drift"])


def pairs_on(days):
    """Ten matches of x and y on each day."""
    rows = [("x", "y", "first", day) for day in days for _ in range(10)]
    table = pd.DataFrame(rows, columns=["x", "y", "won", "day"])
    return br.Pairs.from_frame(table, first="x", second="y", outcome="won", by=["day"])


@pytest.mark.slow
def test_false_alarms_are_as_rare_as_stated():
    """Six probes that each fire once in a thousand clean boards, and two limits."""
    n = 200
    fired = sum(int(audited(clean, seed)["fires"].sum()) for seed in range(1000, 1000 + n))
    # Poisson of mean 1.2: 10 or more once in two million
    assert fired <= 9


COLUMNS = {"first": "x", "second": "y", "outcome": "won"}


def probed(pairs, probe, *, order_effect=False):
    """Audit by one probe."""
    return br.audit(pairs, order_effect=order_effect, probes=[probe], random_seed=0).loc[probe]


def judged(table):
    """Read matches of x and y, won by either, judged by who."""
    return br.Pairs.from_frame(table, **COLUMNS, judge="who")


def small(**columns):
    table = {"first": list("aab"), "second": list("bcc"), "outcome": ["first"] * 3, **columns}
    options = {"judge": "judge"} if "judge" in columns else {}
    by = [name for name in columns if name != "judge"]
    names = {"first": "first", "second": "second", "outcome": "outcome"}
    return br.Pairs.from_frame(pd.DataFrame(table), **names, by=by, **options)


def test_no_probes_find_nothing():
    table = pd.DataFrame({"a": ["x"], "b": ["y"], "won": ["first"]})
    pairs = br.Pairs.from_frame(table, first="a", second="b", outcome="won")
    assert br.audit(pairs, probes=[], random_seed=0)["fires"].tolist() == []


def test_probes_that_the_data_do_not_allow_are_reported():
    found = br.audit(small(), order_effect=False, random_seed=0)
    assert not found["fires"].drop(["fragility", "connection"]).any()
    says = found["says"]
    assert "fewer than four items" in says["connection"]
    assert says["judges"] == says["answers"] == "There is one judge only."
    assert "No group has 20 labels" in says["clusters"]
    assert "Nothing tells matches" in says["duplicates"]
    assert "No group is said to be the time" in says["drift"]
    assert found.loc["drift"].drop(["says", "fires"]).isna().all()


def test_a_board_in_one_order_has_no_circle():
    pairs = br.Pairs.from_matrix([[0, 20, 30], [2, 0, 20], [1, 2, 0]])
    found = probed(pairs, "cycles")
    assert found["value"] < 0
    assert found["says"] == "No three items beat one another in a circle."


def test_parts_that_never_met():
    table = pd.DataFrame({"x": list("ac"), "y": list("bd"), "won": "first"})
    found = probed(br.Pairs.from_frame(table, **COLUMNS), "connection")
    assert found["fires"]
    assert found["value"] == 0
    assert "falls into 2 parts that never met" in found["says"]


@pytest.mark.parametrize(
    ("answer", "n", "fires"),
    [("first", 40, True), ("second", 40, True), ("tie", 40, True), ("tie", 19, False)],
)
@pytest.mark.parametrize("order", [True, False])
def test_a_judge_with_one_answer_is_named(answer, n, fires, order):
    table = pd.DataFrame({"x": list("abcd") * 10, "y": list("bcda") * 10})
    table["who"], table["won"] = "ann", np.resize(["first", "second", "tie"], 40)
    table = pd.concat([table, table.tail(n).assign(who="zed", won=answer)])
    found = probed(judged(table), "answers", order_effect=order)
    assert found["value"] == n
    assert found["fires"] == fires
    words = "a tie" if answer == "tie" else f"the {answer}"
    assert found["says"].startswith(f"Judge zed answers '{words}' in all {n} matches")


def test_winners_in_the_first_column_are_not_a_constant_answer():
    table = pd.DataFrame({"x": list("abcd") * 20, "y": list("bcda") * 20})
    table["who"] = ["ann"] * 40 + ["zed"] * 40
    table["won"] = ["first"] * 30 + ["tie"] * 10 + ["first"] * 40
    found = probed(judged(table), "answers")
    assert found["value"] == 0
    assert found["says"] == "No judge gives one answer in all matches."


def test_a_judge_whose_answers_are_expected_is_not_named():
    """Nobody doubts who wins: a judge who says so may have looked."""
    table = pd.DataFrame({"x": ["a"] * 400, "y": ["b"] * 400, "won": "first", "who": "ann"})
    table.loc[:3, "won"] = "second"
    table.loc[380:, "who"] = "zed"
    found = probed(judged(table), "answers")
    assert found["value"] == 20
    assert not found["fires"]
    assert found["says"] == "Judge zed answers 'the first' in all 20 matches, which may be chance."


def test_two_votes_decide():
    pairs = br.Pairs.from_matrix([[0, 6], [5, 0]], items=["a", "b"])
    found = probed(pairs, "fragility")
    assert found["fires"]
    assert "Without 2 matches of 11, b would lead instead of a" in found["says"]
    found = audit(pairs, leader="b", probes=["fragility"]).loc["fragility"]
    assert found["says"] == "Under a weak prior a leads instead of b."
    assert not found["fires"]


def test_weights_are_not_votes():
    rng = np.random.default_rng(0)
    pairs = board(clean(rng).head(300), rng)
    light = type(pairs)(**{**vars(pairs), "weight": np.full(pairs.n_pairs, 1e-3)})
    pd.testing.assert_frame_equal(br.audit(pairs, random_seed=0), br.audit(light, random_seed=0))


def test_refusals():
    table = pd.DataFrame({"x": ["a"], "y": ["b"], "won": ["first"], "n": [0]})
    with pytest.warns(br.data.UncomparedItemWarning):
        empty = br.Pairs.from_frame(table, **COLUMNS, count="n")
    for pairs, options, message in (
        (small(), {"probes": ["luck"]}, "There is no probe 'luck'; they are connection, cycles"),
        (small(), {"time": "day"}, "There is no group 'day'"),
        (empty, {}, "no match was played"),
    ):
        with pytest.raises(ValueError, match=message):
            br.audit(pairs, **options)


def test_agreement_is_that_of_all_permutations():
    """Moments against each of the 5! x 3! orders in which the votes may have come."""
    met = np.array([0, 0, 0, 0, 0, 2, 2, 2, 1, 1])
    cell = np.array([0, 0, 1, 0, 1, 7, 7, 7, 5, 6])
    value = np.array([0.5, -0.3, 0.9, 0.1, -0.7, 0.2, 1.0, -0.4, 0.3, 0.6])

    def together(value):
        return (np.bincount(cell, value) ** 2).sum() - (value**2).sum()

    orders = [np.array(list(permutations(np.flatnonzero(met == k)))) for k in (0, 2, 1)]
    every = [together(value[np.concatenate(parts)]) for parts in product(*orders)]
    excess, variance = _agreement(value, met, cell)
    np.testing.assert_allclose(excess, together(value) - np.mean(every), atol=1e-12)
    np.testing.assert_allclose(variance, np.var(every), rtol=1e-12)


def test_a_board_that_one_scale_does_not_describe_need_not_have_a_circle():
    votes = pd.DataFrame({"x": list("abbcc") * 130, "y": list("bacab") * 130})
    votes["won"] = ["first", "tie", "first", "second", "first"] * 130
    found = probed(br.Pairs.from_frame(votes, **COLUMNS), "cycles", order_effect=True)
    assert found["value"] < 0
    assert found["p"] < 0.001
    assert not found["fires"]
    assert found["says"] == "No three items beat one another in a circle."
