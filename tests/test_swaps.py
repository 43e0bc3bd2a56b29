"""Votes in both orders: found by content, joined by a deviation, and counted as flips."""

import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr
from click.testing import CliRunner
from scipy import integrate, stats
from scipy.special import expit

import bayesrank as br
from bayesrank.cli import main
from bayesrank.data.read import ONE_ORDER

ROWS = [
    ("a", "b", "first", "m1", "p"),
    ("b", "a", "first", "m1", "p"),  # the first of both orders wins: a flip
    ("c", "b", "second", "m1", "p"),
    ("a", "b", "first", "m1", "q"),
    ("b", "a", "second", "m1", "q"),
    ("b", "c", "tie", "ann", "p"),
    ("a", "c", "first", "ann", "q"),
]
TABLE = pd.DataFrame(ROWS, columns=["x", "y", "won", "judge", "prompt"])
NAMED = {"first": "x", "second": "y", "outcome": "won"}


def votes_of(table=TABLE, **more):
    return br.Pairs.from_frame(table, **NAMED, **({"judge": "judge", "prompt": "prompt"} | more))


def label_of(votes, row):
    return votes.group_labels("swap")[votes.group_idx("swap")[row]]


# The data


def test_votes_on_a_pair_in_both_orders_get_one_label():
    votes = votes_of(collapse=False)
    labels = [label_of(votes, n) for n in range(len(votes))]
    assert labels == [
        "m1: p: a - b",
        "m1: p: a - b",
        "m1: p: b - c",  # this judge saw other pairs in both orders
        "m1: q: a - b",
        "m1: q: a - b",
        ONE_ORDER,
        ONE_ORDER,
    ]


def test_rows_need_not_be_next_to_each_other_and_one_judge_needs_no_name():
    shuffled = TABLE.sample(frac=1, random_state=1)
    assert votes_of(shuffled) == votes_of()
    alone = votes_of(TABLE[TABLE["judge"] == "m1"], judge=None)
    assert label_of(alone, 0) == "p: a - b"
    assert br.Pairs.from_frame(alone.to_frame(), by="swap") == alone


def test_another_judge_or_prompt_is_no_swap():
    for change in ({"prompt": range(7)}, {"judge": range(7)}):
        with pytest.raises(ValueError, match="in both orders, but no judge saw any"):
            votes_of(TABLE.assign(**change))
    with pytest.raises(ValueError, match="`by` has 'swap', the name of the group"):
        votes_of(TABLE.assign(swap=1), by="swap")


def test_tables_are_read_with_a_prompt():
    read = br.read_matches(TABLE, **NAMED, judge="judge", prompt="prompt")
    assert read == votes_of()
    assert "judges saw 2 pairs in both orders" in " ".join(read.notes)
    with pytest.raises(ValueError, match="Without an order, no pair is seen in both orders"):
        br.read_matches(TABLE, **NAMED, judge="judge", prompt="prompt", order=False)


def test_the_command_needs_votes_in_both_orders(tmp_path):
    TABLE.iloc[5:].to_csv(tmp_path / "votes.csv", index=False)
    options = ["--first", "x", "--second", "y", "--outcome", "won", "--prompt", "prompt"]
    found = CliRunner().invoke(main, ["matches", str(tmp_path / "votes.csv"), *options])
    assert found.exit_code != 0
    assert "in both orders, but no judge saw any. Judges saw all 2 comb" in " ".join(
        found.output.split()
    )


# The model


def test_the_likelihood_of_two_orders_is_the_integral_over_their_deviation():
    table = pd.DataFrame({"x": ["a", "b"], "y": ["b", "a"], "won": "first", "prompt": "p"})
    votes = votes_of(table, judge=None)
    w, order, adherence, spread = np.array([0.4, -0.1]), 0.3, 1.5, 2.0
    with pm.Model(coords=votes.coords) as model:
        utility = pm.Normal("utility", 0, 1, dims="item")
        apart = pm.Normal("apart", 0, spread, dims="swap")
        br.BradleyTerry(
            "y",
            utility,
            adherence=adherence,
            order_effect=order,
            deviation=apart,
            observed=votes,
        )
    logp = model.compile_logp(vars=[model["y"], apart], mode="FAST_COMPILE")
    grid = np.linspace(-14, 14, 561)
    density = [np.exp(logp({"utility": w, "apart": np.array([e])})) for e in grid]
    found = np.trapezoid(density, grid)

    def both(e):  # the first wins in both orders
        lead = adherence * (w[0] - w[1] + e)
        return expit(lead + order) * expit(-lead + order) * stats.norm.pdf(e, 0, spread)

    assert found == pytest.approx(integrate.quad(both, -14, 14)[0], rel=1e-6)


def test_deviations_of_the_lead_follow_the_order_and_spare_other_judges():
    votes = votes_of(collapse=False)
    model = br.leaderboard_model(votes, utility_scale=1.0, order_effect=False, opinions=False)
    assert model.named_vars_to_dims["swap_deviation"] == ("swap",)
    logp = model.compile_logp(vars=[model["y"]], sum=False, mode="FAST_COMPILE")
    start = model.initial_point()
    zero = {name: np.zeros_like(x) for name, x in start.items()}
    labels = [*model.coords["swap"]]
    moved = np.zeros(len(labels))
    moved[labels.index("m1: p: a - b")] = 1.0
    moved[labels.index(ONE_ORDER)] = 5.0
    (base,), (found,) = (logp(zero | {"swap_z": z}) for z in (0 * moved, moved))
    # at zero the log of a half-normal spread is 0, so the spread is 1; ties have nu = 1
    expected = np.exp([0.5, -0.5, 0.5]) / (np.exp([0.5, -0.5]).sum() + 1)
    np.testing.assert_allclose(found - base, [*np.log(expected[:2] * 3), 0, 0, 0, 0, 0], atol=1e-12)


def test_votes_in_both_orders_may_be_left_apart():
    votes = votes_of()
    assert "swap_spread" in br.leaderboard_model(votes).named_vars
    assert "swap_spread" not in br.leaderboard_model(votes, swaps=False).named_vars
    with pytest.raises(ValueError, match="`swaps` is True, but the pairs do not say"):
        br.leaderboard_model(br.Pairs.from_frame(TABLE, **NAMED), swaps=True)


def test_people_as_the_target_need_no_swaps():
    table = TABLE.assign(kind=np.where(TABLE["judge"] == "ann", "people", "machines"))
    votes = votes_of(table, by="kind")
    model = br.leaderboard_model(votes, target="people")
    assert {"swap_spread", "bias_spread"} <= model.named_vars.keys()
    from bayesrank.analysis.matches import MatchAnalysis

    mine, theirs = MatchAnalysis(votes, target="people").of_kinds()
    assert not mine.joins
    assert theirs.joins
    assert [*theirs.pairs.group_labels("swap")] == ["m1: p: a - b", "m1: p: b - c", "m1: q: a - b"]


# Flips


def tree_of(table, drawn=None, **more):
    votes = votes_of(table, collapse=False, **more)
    with pm.Model(coords=votes.coords) as model:
        utility = pm.Normal("utility", 0, 1, dims="item")
        br.Davidson("y", utility, nu=1.0, observed=votes)
    from bayesrank.inference import data_groups

    groups = data_groups(model)
    counts = votes.counts if drawn is None else drawn
    y = xr.Dataset(
        {"y": (("chain", "draw", "pair", "result"), np.broadcast_to(counts, (1, 2, *counts.shape)))}
    )
    return xr.DataTree.from_dict({**groups, "posterior_predictive": y})


def test_a_flip_is_a_change_of_who_wins():
    table = pd.DataFrame(
        [
            ("a", "b", "first", "m", 1), ("b", "a", "first", "m", 1),  # reversed
            ("a", "b", "first", "m", 2), ("b", "a", "second", "m", 2),  # the same
            ("a", "b", "tie", "m", 3), ("b", "a", "first", "m", 3),  # from a tie
            ("a", "b", "tie", "m", 4), ("b", "a", "tie", "m", 4),  # the same
            ("a", "b", "first", "n", 1), ("b", "a", "tie", "n", 1),
            ("a", "b", "first", "n", 1),  # twice in this order: two pairs of votes, both flip
            ("b", "c", "first", "ann", 1),
        ],
        columns=["x", "y", "won", "judge", "prompt"],
    )  # fmt: skip
    found = br.flip_rates(tree_of(table))
    assert found.index.tolist() == ["n", "m"]
    assert found["pairs"].tolist() == [1, 4]
    assert found["flips"].tolist() == [1.0, 0.5]
    assert found["reversed"].tolist() == [0.0, 0.25]
    assert found["expected"].tolist() == found["flips"].tolist()
    assert found["p_more"].tolist() == [1.0, 1.0]


def test_expected_flips_are_those_of_simulated_votes():
    table = TABLE[TABLE["judge"] == "m1"].drop(index=2)
    never = np.array([[1, 0, 0], [0, 1, 0]] * 2)
    found = br.flip_rates(tree_of(table, never, judge=None))
    assert found.loc["all", "flips"] == 0.5
    assert found.loc["all", ["expected", "high", "p_more"]].tolist() == [0, 0, 0]


def test_flips_need_prompts_and_predictions():
    tree = tree_of(TABLE)
    del tree["posterior_predictive"]
    with pytest.raises(ValueError, match="The posterior has no predictions"):
        br.flip_rates(tree)
    with pytest.raises(ValueError, match="'y' is not grouped by 'pairs'"):
        br.flip_rates(tree, group="pairs")


def test_only_the_group_of_swaps_has_a_label_without_a_deviation():
    table = TABLE.assign(tone=[ONE_ORDER, *["other"] * (len(TABLE) - 1)])
    pairs = votes_of(table, by="tone", prompt=None)
    with pm.Model(coords=pairs.coords) as model:
        apart = pm.Flat("apart", dims="tone")
        br.Davidson("y", np.zeros(3), nu=1.0, deviation=apart, observed=pairs)
    logp = model.compile_logp(vars=model["y"])
    place = list(model.coords["tone"]).index(ONE_ORDER)
    assert logp({"apart": np.eye(2)[place]}) != pytest.approx(logp({"apart": np.zeros(2)}))
