"""People as the target: the model written by hand, the worth of other votes, and held-out votes."""

import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr
from click.testing import CliRunner

import bayesrank as br
from bayesrank.analysis.leaderboard import nuts_settings
from bayesrank.analysis.matches import MatchAnalysis
from bayesrank.analysis.targets import kinds_of, of_kinds
from bayesrank.cli import main
from bayesrank.match_outcomes import davidson_probabilities
from bayesrank.results.evaluation.loo import loo_of

ROWS = [
    ("a", "b", "first", "ann", "people"),
    ("b", "c", "tie", "bob", "people"),
    ("c", "a", "second", "ann", "people"),
    ("a", "b", "second", "m1", "machines"),
    ("b", "c", "first", "m1", "machines"),
    ("c", "a", "tie", "m2", "machines"),
    ("b", "a", "first", "m2", "machines"),
]
TABLE = pd.DataFrame(ROWS, columns=["x", "y", "won", "judge", "kind"])


def votes_of(table=TABLE, **more):
    columns = {"judge": "judge", "by": "kind"} | more
    return br.Pairs.from_frame(table, first="x", second="y", outcome="won", **columns)


# The model


def test_machines_see_the_utilities_with_a_bias_and_people_without():
    votes = votes_of()
    model = br.leaderboard_model(votes, target="people", utility_scale=1.0, opinions=False)
    rng = np.random.default_rng(1)
    start = model.initial_point()
    point = {name: np.asarray(rng.normal(0, 0.5, np.shape(x))) for name, x in start.items()}
    names = ["utility", "adherence", "bias", "judge_deviation", "judge_nu", "judge_order_effect"]
    found = model.replace_rvs_by_values([model[name] for name in names])
    compute = model.compile_fn(found, mode="FAST_COMPILE", on_unused_input="ignore")
    values = dict(zip(names, compute(point), strict=True))
    bias = pd.Series(values["bias"][0], votes.items)
    utility = pd.Series(values["utility"], votes.items)
    adherence = pd.Series(values["adherence"], votes.judges)
    nu, order = (pd.Series(values[x], votes.judges) for x in ("judge_nu", "judge_order_effect"))
    opinion = pd.Series(values["judge_deviation"], votes.seen("judge").labels)
    assert bias.sum() == pytest.approx(0, abs=1e-12)
    assert np.log(adherence[["ann", "bob"]]).sum() == pytest.approx(0, abs=1e-12)
    assert (opinion[["ann: a", "ann: b", "bob: c"]] == 0).all()
    total = 0.0
    for x, y, won, judge, kind in ROWS:

        def seen(item, judge=judge, kind=kind):
            of_kind = bias[item] if kind == "machines" else 0.0
            return utility[item] + of_kind + opinion[f"{judge}: {item}"]

        lead = adherence[judge] * (seen(x) - seen(y)) + order[judge]
        p = davidson_probabilities(lead, nu[judge])
        total += np.log(p[["first", "second", "tie"].index(won)])
    logp = model.compile_logp(vars=[model["y"]], mode="FAST_COMPILE")
    assert float(logp(point)) == pytest.approx(total, abs=1e-10)


def test_the_only_machine_has_no_opinions_beside_its_bias():
    table = TABLE.assign(judge=TABLE["judge"].replace({"m2": "m1"}))
    model = br.leaderboard_model(votes_of(table), target="people", opinions=False)
    assert "judge_deviation" not in model.named_vars
    assert "other_spread" not in model.named_vars
    assert model.named_vars_to_dims["bias"] == ("other_kind", "item")


def test_people_have_opinions_of_a_spread_of_their_own():
    model = br.leaderboard_model(votes_of(), target="people", opinions=True)
    assert {"judge_spread", "other_spread"} <= model.named_vars.keys()
    assert len(model.coords["target_judge_item"]) == 5  # ann saw three items, and bob two
    assert len(model.coords["other_judge_item"]) == 6


def test_each_other_kind_has_a_bias_and_an_adherence():
    kind = TABLE["kind"].mask(TABLE["judge"] == "m2", "experts")
    votes = votes_of(TABLE.assign(kind=kind))
    model = br.leaderboard_model(votes, target="people", opinions=False)
    assert [*model.coords["other_kind"]] == ["experts", "machines"]
    assert model.named_vars_to_dims["other_adherence"] == ("other_kind",)
    assert nuts_settings(model) == {"adaptation": "low_rank", "target_accept": 0.95}


def test_a_target_needs_no_people_with_several_names():
    judge = TABLE["judge"].mask(TABLE["kind"] == "people", "crowd")
    model = br.leaderboard_model(votes_of(TABLE.assign(judge=judge)), target="people")
    adherence = pm.draw(model["adherence"], random_seed=1)
    assert adherence[[*model.coords["judge"]].index("crowd")] == 1


def test_contrary_judges_and_grades_also_take_a_target():
    grades = ["first", "rather first", "rather second", "second"]
    table = TABLE.assign(won=TABLE["won"].replace({"tie": "rather first"}))
    votes = votes_of(table, grades=grades)
    model = br.leaderboard_model(votes, target="people", contrary=True)
    logp = model.compile_logp(vars=[model["y"]], mode="FAST_COMPILE")
    assert np.isfinite(logp(model.initial_point()))


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({}, {"target": "human"}, "`target` is 'human', but the kinds of judge are 'machines', "),
        ({}, {"kind": "kind"}, "`kind` is 'kind', but no `target` says"),
        ({}, {"target": "people", "kind": "type"}, "`kind` is 'type', but the groups of the data"),
        ({}, {"target": "people", "groups": ["kind"]}, "`groups` has 'kind', but `target` already"),
        ({"kind": "people"}, {"target": "people"}, "'people', but all are of judges of this kind"),
        (
            {"judge": "ann"},
            {"target": "people"},
            "judge 'ann' is of the kinds 'machines', 'people'",
        ),
    ],
)
def test_wrong_targets_raise(change, options, message):
    with pytest.raises(ValueError, match=message):
        br.leaderboard_model(votes_of(TABLE.assign(**change)), **options)


def test_a_target_without_votes_raises():
    table = TABLE.assign(n=(TABLE["kind"] == "machines").astype(int))
    votes = votes_of(table, count="n")
    with pytest.raises(ValueError, match="'people', but no vote is of judges of this kind"):
        kinds_of(votes, "people")


def test_a_target_without_kinds_raises():
    votes = votes_of(by=[])
    with pytest.raises(ValueError, match="but the pairs do not say which judges are of this kind"):
        br.leaderboard_model(votes, target="people")


def test_votes_of_each_kind_keep_their_rows_and_only_their_judges():
    votes = votes_of()
    mine, theirs = of_kinds(votes, kinds_of(votes, "people"))
    assert [*mine.judges] == ["ann", "bob"]
    assert [*theirs.judges] == ["m1", "m2"]
    assert mine.n_matches == 3
    assert [*mine.items] == [*theirs.items] == ["a", "b", "c"]


def test_the_analysis_of_people_alone_has_no_target():
    analysis = MatchAnalysis(votes_of(), target="people")
    mine, theirs = analysis.of_kinds()
    assert mine.target is theirs.target is None
    assert mine.judges
    assert "a bias of other judges than people" in analysis.description
    assert analysis.arguments["kind"] == "kind"


# Readers and options


def test_machines_are_read_by_name_or_from_a_column():
    table = TABLE.drop(columns="kind")
    known = {"first": "x", "second": "y", "outcome": "won", "judge": "judge"}
    named = br.read_matches(table, **known, machines=["m1", "m2"])
    column = br.read_matches(TABLE, **known, kind="kind")
    assert named == column
    assert named.roles["judge"] == "judge"
    assert column.roles["kind"] == "kind"
    assert "Judges that are machines: 'm1', 'm2', with 4 of 7 rows" in named.notes[-1]
    assert [*br.leaderboard_model(column, target="people", kind="kind").coords["kind"]] == [
        "machines",
        "people",
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"machines": ["m3"]}, "`machines` names 'm3', but the judges in column 'judge' are 'ann'"),
        ({"machines": ["m1"], "kind": "kind"}, "`kind` names the column with the kind of each"),
        ({"machines": ["m1"], "judge": None}, "Missing: judge=COLUMN, the judges whose kinds"),
    ],
)
def test_wrong_kinds_are_refused(options, message):
    known = {"first": "x", "second": "y", "outcome": "won", "judge": "judge"}
    with pytest.raises(ValueError, match=message):
        br.read_matches(TABLE, **(known | options))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target", "people"], "--target needs the kinds of the judges. Give --kind COLUMN"),
        (["--kind", "kind"], "--kind and --machines need --target"),
        (
            ["--judge", "judge", "--kind", "kind", "--target", "human"],
            "`target` is 'human', but the kinds of judge are 'machines', 'people'",
        ),
    ],
)
def test_the_command_refuses_wrong_targets(tmp_path, options, message):
    TABLE.to_csv(tmp_path / "votes.csv", index=False)
    columns = ["--first", "x", "--second", "y", "--outcome", "won"]
    found = CliRunner().invoke(main, ["matches", str(tmp_path / "votes.csv"), *columns, *options])
    assert found.exit_code != 0
    assert message.replace("`target`", "--target") in " ".join(found.output.split())


# What the votes of others are worth


def fitted(covariance, counts, first=(0,), second=(1,)):
    """Make a posterior with exactly this covariance of the utilities of two or more items."""
    n = len(covariance)
    rng = np.random.default_rng(0)
    draws = rng.normal(size=(4000, n))
    draws = (draws - draws.mean(0)) @ np.linalg.inv(np.linalg.cholesky(np.cov(draws.T))).T
    values, vectors = np.linalg.eigh(covariance)
    draws = draws @ (vectors * np.sqrt(np.maximum(values, 0))).T
    utility = xr.DataArray(
        draws[None], dims=("chain", "draw", "item"), coords={"item": [*"abc"][:n]}
    )
    data = {
        "y_first": ("pair", [*first]),
        "y_second": ("pair", [*second]),
        "y_counts": (("pair", "result"), counts),
    }
    return xr.DataTree.from_dict(
        {"posterior": utility.to_dataset(name="utility"), "constant_data": xr.Dataset(data)}
    )


def test_votes_are_worth_those_that_would_give_the_same_variance():
    apart = np.array([[1.0, -1.0], [-1.0, 1.0]])
    alone, joint = fitted(0.01 * apart, [[60, 40]]), fitted(0.004 * apart, [[700, 400]])
    worth = br.votes_worth(joint, alone)
    lead = alone["posterior"]["utility"].diff("item").to_numpy()
    p = 1 / (1 + np.exp(lead))
    each = (p * (1 - p)).mean()  # information of a vote about the difference
    assert worth.worth == pytest.approx((1 / 0.016 - 1 / 0.04) / each, rel=1e-6)
    assert (worth.votes, worth.others) == (100, 1000)
    assert worth.per_thousand == worth.worth
    assert worth.sd_alone == pytest.approx(0.2)
    assert worth.sd == pytest.approx(np.sqrt(0.016))


def test_votes_that_add_nothing_are_worth_nothing_and_missing_pairs_cannot_be_made_up():
    apart = np.eye(3) - 1 / 3
    alone = fitted(0.02 * apart, [[60, 40]])  # c was never compared
    assert br.votes_worth(fitted(0.03 * apart, [[70, 50]]), alone).worth == 0
    assert br.votes_worth(fitted(0.0001 * apart, [[70, 50]]), alone).worth == np.inf


def test_wrong_posteriors_have_no_worth():
    apart = np.eye(2) - 1 / 2
    one, three = fitted(apart, [[3, 2]]), fitted(np.eye(3) - 1 / 3, [[3, 2]])
    with pytest.raises(ValueError, match="all votes are 5, no more"):
        br.votes_worth(one, one)
    with pytest.raises(ValueError, match="different items, 3 and 2"):
        br.votes_worth(three, one)


# Held-out votes


def likelihoods(counts, kinds, rng):
    """Make random log-likelihoods of pairs with these counts, by kind."""
    logp = np.log(rng.uniform(0.3, 0.9, (2, 200, len(counts))))
    labels, codes = np.unique(kinds, return_inverse=True)
    data = xr.Dataset(
        {
            "y_counts": (("pair", "result"), counts),
            "y_kind": ("pair", codes),
            "y_kind_matches": ("kind", np.bincount(codes)),
        },
        coords={"kind": labels, "pair": np.arange(len(counts))},
    )
    known = xr.Dataset({"y": (("chain", "draw", "pair"), logp)}, {"pair": np.arange(len(counts))})
    return xr.DataTree.from_dict({"log_likelihood": known, "constant_data": data})


def test_the_gain_is_the_difference_of_leave_one_out():
    rng = np.random.default_rng(1)
    counts = np.array([[1, 0, 0], [0, 2, 1], [5, 0, 0], [1, 1, 0]])
    kinds = ["people", "people", "machines", "people"]
    joint = likelihoods(counts, kinds, rng)
    alone = likelihoods(counts[[0, 1, 3]], ["people"] * 3, rng)
    found = br.target_check(joint, alone, target="people")
    gains = loo_of(joint, "y").elpd_i.values[[0, 1, 3]] - loo_of(alone, "y").elpd_i.values
    assert found.votes == 6
    assert found.gain == pytest.approx(gains.sum() / 6)
    assert found.se == pytest.approx(np.sqrt(3) * gains.std(ddof=1) / 6)
    assert found.loss_alone - found.loss == pytest.approx(found.gain)
    # without the number of orders in which the votes of a pair may come
    ways = np.log([3, 2]).sum()
    elpd = loo_of(joint, "y").elpd_i.values[[0, 1, 3]].sum()
    assert found.loss == pytest.approx(-(elpd - ways) / 6)


def test_wrong_votes_are_not_compared():
    rng = np.random.default_rng(1)
    counts = np.array([[1, 0, 0], [0, 2, 1]])
    joint = likelihoods(counts, ["people", "machines"], rng)
    with pytest.raises(ValueError, match="'y' is not grouped by 'type'; its groups are 'kind'"):
        br.target_check(joint, joint, target="people", kind="type")
    with pytest.raises(ValueError, match="No vote is of the kind 'human'"):
        br.target_check(joint, joint, target="human")
    with pytest.raises(ValueError, match="The 1 vote of the kind 'people' in the first"):
        br.target_check(joint, likelihoods(counts[1:], ["people"], rng), target="people")


def test_rows_about_other_items_are_not_compared():
    def about(items, order):
        rng = np.random.default_rng(1)
        tree = likelihoods(np.array([[1, 0, 0]] * 2), ["people"] * 2, rng)
        place = {item: k for k, item in enumerate(order)}
        first, second = np.array([[place[x] for x in pair] for pair in items]).T
        data = tree["constant_data"].to_dataset()
        data["y_first"], data["y_second"] = ("pair", first), ("pair", second)
        data["y_item_matches"] = ("item", [2, 1, 1])
        tree["constant_data"] = xr.DataTree(data.assign_coords(item=list(order)))
        return tree

    one, other = about(["ab", "ac"], "abc"), about(["ab", "ac"], "cba")
    assert br.target_check(one, other, target="people").votes == 2
    with pytest.raises(ValueError, match="Fit the same rows, in the same order"):
        br.target_check(one, about(["ac", "ab"], "abc"), target="people")
