"""The model of a leaderboard: its variables, its likelihood written by hand, its replacement."""

import re

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
import pytest
from pymc.distributions.multivariate import ZeroSumNormalRV
from pymc.distributions.transforms import ZeroSumTransform
from scipy import stats

import bayesrank as br
import bayesrank.analysis.leaderboard
from bayesrank.analysis.leaderboard import (
    have_opinions,
    leaderboard_model,
    may_decide_alone,
    nuts_settings,
)
from bayesrank.priors import LEARNED
from tests.builders import stored

TABLE = pd.DataFrame(
    [
        ("a", "b", "first", "ann", "code", 3),
        ("b", "a", "tie", "bob", "prose", 1),
        ("b", "c", "second", "ann", "prose", 2),
        ("c", "a", "first", "bob", "code", 1),
        ("a", "b", "tie", "ann", "code", 2),
    ],
    columns=["first", "second", "outcome", "judge", "category", "count"],
)
JUDGED = {"judge": "judge"}
SORTED = {"by": "category"}
QUICK = "FAST_COMPILE"


STYLED = TABLE.assign(
    prompt=["p", "p", "q", "q", "p"], a=[3.0, 1.0, 0.0, 2.0, 5.0], b=[1.0, 1.0, 4.0, 2.5, 2.0]
)
LENGTH = {"features": {"length": ("a", "b")}}
PROMPTS = {"by": "prompt"}


def pairs_of(table=TABLE, **more):
    return br.Pairs.from_frame(
        table, first="first", second="second", outcome="outcome", count="count", **more
    )


def names(model):
    return {variable.name for variable in (*model.free_RVs, *model.deterministics)}


# Variables

UTILITY = ("utility", "utility_scale", "utility_z")


def test_ties_are_outcomes_of_davidson_and_without_ties_it_is_bradley_terry():
    tied = leaderboard_model(pairs_of())
    assert names(tied) == {*UTILITY, "order_effect", "nu"}
    assert tied["y"].type.shape[-1] in (None, 3)
    assert list(tied.coords["result"]) == ["first", "second", "tie"]
    decided = leaderboard_model(pairs_of(TABLE[TABLE["outcome"] != "tie"]))
    assert names(decided) == {*UTILITY, "order_effect"}
    assert list(decided.coords["result"]) == ["first", "second"]


def test_judges_and_categories_add_their_variables():
    model = leaderboard_model(pairs_of(**JUDGED, **SORTED), category="category")
    assert names(model) == {
        *UTILITY, "order_effect", "nu", "category_spread", "category_z", "category_utility",
        "adherence_spread", "adherence_z", "adherence", "order_spread", "order_z",
        "judge_order_effect", "tie_spread", "tie_z", "judge_nu",
        "judge_spread", "judge_item_z", "judge_deviation",
    }  # fmt: skip
    dims = model.named_vars_to_dims
    assert dims["category_utility"] == ("category", "item")
    assert dims["adherence"] == dims["judge_order_effect"] == ("judge",)
    assert list(model.coords["judge"]) == ["ann", "bob"]


def test_opinions_and_categories_may_differ_as_much_as_the_items():
    pairs = pairs_of(**JUDGED, **SORTED)
    model = leaderboard_model(pairs, category="category", utility_scale=2.0)
    for name in ("judge_spread", "category_spread"):
        point = {name: np.array([1.0, 3.0])}
        found = pm.logp(model[name], point[name]).eval()
        np.testing.assert_allclose(found, stats.halfnorm.logpdf(point[name], scale=2.0))


OPINIONS = {"judge_spread", "judge_item_z", "judge_deviation"}


def judged(share, n=40):
    """Votes of so many, of whom the first has that share, and the others one each."""
    n_first = round(share * n)
    table = pd.DataFrame({"first": "a", "second": "b", "outcome": "first", "count": 1}, range(n))
    return pairs_of(table.assign(judge=[0] * n_first + [*range(1, n - n_first + 1)]), **JUDGED)


@pytest.mark.parametrize(("share", "may"), [(0.025, False), (0.05, True), (0.5, True)])
def test_judges_have_opinions_where_one_might_decide_alone(share, may):
    pairs = judged(share)
    assert may_decide_alone(pairs) == have_opinions(pairs) == may
    assert (names(leaderboard_model(pairs)) >= OPINIONS) == may


def test_opinions_are_as_asked_for(monkeypatch):
    pairs = pairs_of(**JUDGED)
    assert not names(leaderboard_model(pairs, opinions=False)) & OPINIONS
    monkeypatch.setattr(
        bayesrank.analysis.leaderboard, "MOST_OPINIONS", 5
    )  # two judges have three items
    assert may_decide_alone(pairs)
    assert not have_opinions(pairs)
    assert not names(leaderboard_model(pairs)) & OPINIONS
    for asked in ({"opinions": True}, {"groups": ["judge"]}):
        assert names(leaderboard_model(pairs, **asked)) >= OPINIONS
    assert not names(leaderboard_model(pairs_of(), opinions=True)) & OPINIONS  # of one judge
    with pytest.raises(
        ValueError, match=r"`groups` has 'judge', which means opinions=True, but `op"
    ):
        leaderboard_model(pairs, groups=["judge"], opinions=False)


def test_the_table_in_the_docstring_names_the_variables():
    named = set(re.findall(r"(?m)^``(\w+)`` ", bayesrank.analysis.leaderboard.__doc__))
    pairs = pairs_of(
        STYLED.rename(columns={"prompt": "g"}), **LENGTH, **JUDGED, by=["category", "g"]
    )
    model = leaderboard_model(
        pairs, category="category", groups=["g"], ties_by=["item", "strength"]
    )
    graded = leaderboard_model(graded_pairs(**JUDGED))
    grounded = leaderboard_model(voted_pairs(**JUDGED))
    votes = pd.DataFrame({"first": ["a", "b"] * 3, "second": ["b", "a"] * 3, "outcome": "first"})
    votes = votes.assign(judge=[*"aabbcc"], kind=["p", "p", *"mmmm"], prompt=1, count=1)
    target = leaderboard_model(
        pairs_of(votes, judge="judge", by="kind", prompt="prompt"), target="p"
    )
    both = names(model) | names(graded) | names(leaderboard_model(margin_pairs()))
    both |= names(grounded) | names(target)
    assert named == {name for name in both if not name.endswith("_z")}


# Grades

GRADES = ["A>>B", "A>B", "A=B", "B>A", "B>>A"]
GRADED = TABLE.assign(outcome=["A>>B", "A=B", "B>A", "B>>A", "A>B"])


def graded_pairs(table=GRADED, grades=GRADES, **more):
    return pairs_of(table, grades=grades, **more)


def test_grades_are_modelled_as_ordered_outcomes_with_cutpoints_of_each_judge():
    pairs = graded_pairs(**JUDGED)
    model = leaderboard_model(pairs, opinions=False, utility_scale=1.0)
    assert [*model.coords["result"]] == GRADES
    assert not names(model) & {"nu", "judge_nu", "tie_spread"}
    point = model.initial_point()
    rng = np.random.default_rng(3)
    point = {name: rng.normal(0, 0.6, np.shape(x)) for name, x in point.items()}
    found = ("utility", "adherence", "judge_order_effect", "cutpoint", "judge_cutpoint")
    graphs = model.replace_rvs_by_values([model[x] for x in found])
    values = model.compile_fn(graphs, mode=QUICK, on_unused_input="ignore")(point)
    utility, adherence, order, cut, cuts = values
    np.testing.assert_allclose(cut, -cut[::-1])
    np.testing.assert_allclose(cuts, -cuts[:, ::-1])
    # a judge differs from the typical judge in every gap; the geometric mean is the typical one
    gaps, typical = (np.diff(x[..., 2:], prepend=0.0) for x in (cuts, cut))
    np.testing.assert_allclose(np.exp(np.log(gaps).mean(axis=0)), typical)
    assert np.ptp(np.log(gaps[0] / gaps[1])) > 0.01
    # by hand: P(grade better than the boundary) = 1 / (1 + exp(cutpoint - lead))
    by_hand = np.zeros(pairs.n_pairs)
    for k, (i, j, who) in enumerate(zip(pairs.first, pairs.second, pairs.judge_idx, strict=True)):
        lead = adherence[who] * (utility[i] - utility[j]) + order[who]
        better = np.concatenate([[0.0], 1 / (1 + np.exp(cuts[who][::-1] - lead)), [1.0]])
        by_hand[k] = stats.multinomial.logpmf(
            pairs.grade_counts[k], pairs.grade_counts[k].sum(), np.diff(better)
        )
    (logp,) = model.compile_fn(model.logp([model["y"]], sum=False), mode=QUICK)(point)
    np.testing.assert_allclose(logp, by_hand, rtol=1e-9)


def margin_pairs(**more):
    table = TABLE.assign(margin=[3, 0, -1, -2, 1])
    named = {"first": "first", "second": "second", "margin": "margin", "count": "count"}
    return br.Pairs.from_frame(table, **named, **more)


def test_cutpoints_of_margins_are_a_scale_times_their_edges():
    pairs = margin_pairs(**JUDGED)
    model = leaderboard_model(pairs, opinions=False)
    scale, cut, cuts, theta = pm.draw(
        [model[x] for x in ("cutpoint_margin", "cutpoint", "judge_cutpoint", "tie_theta")],
        random_seed=2,
        mode=QUICK,
    )
    np.testing.assert_allclose(cut, scale * pairs.edges / 2.5)
    np.testing.assert_allclose(np.exp(np.log(cuts[:, -1]).mean()), scale)
    np.testing.assert_allclose(cuts / cuts[:, -1:], np.tile(pairs.edges / 2.5, (2, 1)))
    np.testing.assert_allclose(np.log(theta), cut[3])
    with pm.Model(), pytest.raises(ValueError, match="Margins need the family 'cumulative_logit'"):
        br.cutpoints("cut", pairs, family="adjacent_logit")


def test_the_tie_parameter_of_grades_is_that_of_wins_and_ties():
    odd = leaderboard_model(graded_pairs())
    theta, cut = pm.draw([odd["tie_theta"], odd["cutpoint"]], random_seed=1, mode=QUICK)
    np.testing.assert_allclose(np.log(theta), cut[2])
    even = leaderboard_model(
        graded_pairs(GRADED[GRADED["outcome"] != "A=B"], GRADES[:2] + GRADES[3:])
    )
    assert pm.draw(even["tie_theta"], mode=QUICK) == 1.0


def test_two_and_three_grades_say_only_who_won():
    table = TABLE.assign(
        outcome=TABLE["outcome"].replace({"first": "1", "second": "2", "tie": "x"})
    )
    three = leaderboard_model(graded_pairs(table, ["1", "x", "2"]))
    plain = leaderboard_model(pairs_of())
    assert names(three) == names(plain)
    np.testing.assert_array_equal(stored(three, "counts"), stored(plain, "counts"))


def test_ties_of_grades_depend_on_nothing_else():
    with pytest.raises(
        ValueError, match=r"`ties_by` is \['item'\], but the outcomes have 5 grades"
    ):
        leaderboard_model(graded_pairs(), ties_by=["item"])


# Both bad

VOTED = TABLE.assign(outcome=["first", "tie", "bad", "second", "bad"])


def voted_pairs(table=VOTED, **more):
    return pairs_of(table, both_bad="bad", **more)


def test_both_bad_is_modelled_with_a_threshold_of_each_judge():
    pairs = voted_pairs(**JUDGED)
    model = leaderboard_model(pairs, opinions=False, utility_scale=1.0)
    assert [*model.coords["result"]] == ["first", "second", "tie", "both bad"]
    assert not names(model) & {"nu", "judge_nu"}
    point, rng = model.initial_point(), np.random.default_rng(3)
    point = {name: rng.normal(0, 0.6, np.shape(x)) for name, x in point.items()}
    found = ("utility", "adherence", "judge_order_effect", "judge_theta", "threshold")
    found += ("judge_threshold", "p_bad", "tie_theta")
    graphs = model.replace_rvs_by_values([model[x] for x in found])
    values = model.compile_fn(graphs, mode=QUICK, on_unused_input="ignore")(point)
    utility, adherence, order, theta, threshold, bar, p_bad, typical = values
    np.testing.assert_allclose(utility.sum(), 0, atol=1e-12)
    np.testing.assert_allclose(bar.mean(), threshold)
    np.testing.assert_allclose(np.exp(np.log(np.log(theta)).mean()), np.log(typical))
    np.testing.assert_allclose(p_bad, 1 / (1 + np.exp(utility - threshold)))
    by_hand = np.zeros(pairs.n_pairs)
    for k, (i, j, who) in enumerate(zip(pairs.first, pairs.second, pairs.judge_idx, strict=True)):
        half = order[who] * np.array([0.5, -0.5])
        p, q = np.exp(adherence[who] * utility[[i, j]] + half - bar[who])
        chances = [p / (p + theta[who] * q + 1), q / (q + theta[who] * p + 1), 1 / (1 + p + q)]
        chances.insert(2, 1 - sum(chances))
        counts = pairs.with_both_bad[k]
        by_hand[k] = stats.multinomial.logpmf(counts, counts.sum(), chances)
    (logp,) = model.compile_fn(model.logp([model["y"]], sum=False), mode=QUICK)(point)
    np.testing.assert_allclose(logp, by_hand, rtol=1e-9)


def test_without_ties_the_parameter_of_ties_is_one():
    model = leaderboard_model(voted_pairs(VOTED[VOTED["outcome"] != "tie"], **JUDGED))
    assert pm.draw(model["tie_theta"], mode=QUICK) == 1.0
    assert not names(model) & {"tie_gap", "judge_theta", "tie_spread"}


def test_ties_beside_both_bad_depend_on_nothing_else():
    message = r"`ties_by` is \['item'\], but the votes may say that both items are bad"
    with pytest.raises(ValueError, match=message):
        leaderboard_model(voted_pairs(), ties_by=["item"])


@pytest.mark.parametrize(
    ("table", "read", "options", "absent"),
    [
        (TABLE.assign(judge="ann", category="code"), JUDGED | SORTED, {"category": "category"},
         "judge|category"),
        (TABLE, SORTED, {}, "category"),
        (TABLE, JUDGED, {"order_effect": False}, "order"),
        (TABLE[TABLE["outcome"] != "tie"], JUDGED, {}, "nu|tie"),
    ],
    ids=["one judge and category", "categories not asked for", "no order effect", "no ties"],
)  # fmt: skip
def test_variables_that_nothing_needs_are_left_out(table, read, options, absent):
    pairs = pairs_of(table, **read)
    model = leaderboard_model(pairs, **options)
    assert not [name for name in names(model) if re.search(absent, name)]
    assert len(model.coords["pair"]) == pairs.n_pairs


def test_judges_with_one_match_are_kept():
    lone = TABLE.assign(judge=["ann", "bob", "cy", "dee", "ann"], count=1)
    model = leaderboard_model(pairs_of(lone, **JUDGED))
    assert list(model.coords["judge"]) == ["ann", "bob", "cy", "dee"]
    assert stored(model, "judge_matches").tolist() == [2, 1, 1, 1]


def test_priors_are_those_asked_for():
    model = leaderboard_model(pairs_of(), prior="normal", utility_scale=2.0)
    point = model.initial_point() | {"utility": np.array([1.0, 0.0, -3.0])}
    logp = model.compile_logp(vars=model["utility"], mode=QUICK)(point)
    assert logp == pytest.approx(stats.norm.logpdf([1, 0, -3], 0, 2).sum())
    assert isinstance(leaderboard_model(pairs_of())["utility_z"].owner.op, ZeroSumNormalRV)


def test_the_scale_of_the_utilities_is_learned_unless_it_is_given():
    model = leaderboard_model(pairs_of(), prior="normal")
    point = {"utility_scale_log__": np.log(2.0), "utility_z": np.array([1.0, 0.0, -3.0])}
    start = model.initial_point() | point
    (utility,) = model.replace_rvs_by_values([model["utility"]])
    utility = model.compile_fn(
        utility, inputs=model.value_vars, mode=QUICK, on_unused_input="ignore"
    )(start)
    np.testing.assert_allclose(utility, [2.0, 0.0, -6.0])
    scale = model.compile_logp(vars=model["utility_scale"], jacobian=False, mode=QUICK)(start)
    assert scale == pytest.approx(stats.halfnorm.logpdf(2.0, scale=LEARNED))


@pytest.mark.parametrize("prior", ["normal", "zero-sum"])
def test_utilities_that_data_determine_are_free_variables_with_the_same_prior(prior):
    few, many = (pairs_of(TABLE.assign(count=n * TABLE["count"])) for n in (1, 1000))
    standard, centred = (leaderboard_model(pairs, prior=prior) for pairs in (few, many))
    assert names(centred) == names(standard) - {"utility_z"}
    z, scale = np.array([1.0, 0.5, -1.5]), 2.0
    values = {"utility_scale_log__": np.log(scale)}
    if prior == "normal":
        free, at = 3, ({"utility_z": z}, {"utility": scale * z})
    else:
        contrast = ZeroSumTransform([0]).forward(pt.as_tensor(z)).eval()
        free = 2
        at = {"utility_z_zerosum__": contrast}, {"utility_zerosum__": scale * contrast}
    logps = [
        model.compile_logp(vars=[model["utility_scale"], model[name]], mode=QUICK)(
            model.initial_point() | values | point
        )
        for model, name, point in zip(
            (standard, centred), ("utility_z", "utility"), at, strict=True
        )
    ]
    assert logps[1] == pytest.approx(logps[0] - free * np.log(scale))


def test_being_first_gains_nothing_on_neutral_ground():
    table = TABLE.assign(away=["no", "yes", "no", "yes", "no"])
    pairs = pairs_of(table, by="away")
    model = leaderboard_model(pairs, neutral="away", utility_scale=1.0)
    logp = model.compile_logp(vars=model["y"], sum=False, mode=QUICK)
    at = model.initial_point()
    none, much = (logp(at | {"order_effect": np.array(x)})[0] for x in (0.0, 1.5))
    changed = ~np.isclose(none, much)
    np.testing.assert_array_equal(changed, pairs.groups["away"].idx == 0)
    with pytest.raises(ValueError, match="must have the labels 'no' and 'yes'; it has"):
        leaderboard_model(pairs_of(**SORTED), neutral="category")


def test_deviations_sum_to_zero():
    model = leaderboard_model(pairs_of(**JUDGED, **SORTED), category="category")
    variables = [model[name] for name in (
        "utility", "category_utility", "adherence", "order_effect", "judge_order_effect", "nu",
        "judge_nu",
    )]  # fmt: skip
    utility, by_category, adherence, order, orders, nu, nus = pm.draw(
        variables, random_seed=1, mode=QUICK
    )
    np.testing.assert_allclose(by_category.mean(axis=0), utility, atol=1e-12)
    np.testing.assert_allclose(by_category.mean(axis=1), 0, atol=1e-12)
    assert np.log(adherence).mean() == pytest.approx(0, abs=1e-12)
    assert orders.mean() == pytest.approx(order)
    assert np.log(nus).mean() == pytest.approx(np.log(nu))
    assert np.ptp(adherence) > 0
    assert np.ptp(by_category, axis=0).min() > 0


# The likelihood


def by_hand(table, utility, adherence, order, nu, opinion=None, **style):
    """Log-likelihood of every row: its outcome's probability, as often as it counts.

    `style` has slopes of judges, deviations of items at a prompt, and tie rates of prompts.
    """
    out = 0.0
    for _, row in table.iterrows():
        judge = row["judge"]
        w = utility[row["category"]]
        if opinion is not None:
            w = w + opinion[judge]
        lead, tie = w[row["first"]] - w[row["second"]], nu[judge]
        if style:
            deviation = style["deviation"]
            first, second = (deviation[row["prompt"] + row[side]] for side in ("first", "second"))
            lead, tie = lead + first - second, tie * style["tied"][row["prompt"]]
        lead = adherence[judge] * lead + order[judge]
        if style:
            lead += style["slope"][judge] * (row["a"] - row["b"])
        worth = {"first": np.exp(lead / 2), "second": np.exp(-lead / 2), "tie": tie}
        out += row["count"] * np.log(worth[row["outcome"]] / sum(worth.values()))
    return out


FIXED = {
    "category_utility": np.array([[1.5, 0.0, -1.5], [0.5, 0.4, -0.9]]),
    "adherence": np.array([0.5, 2.0]),
    "judge_order_effect": np.array([0.3, -0.1]),
    "nu": np.array(0.8),
    "judge_nu": np.array([0.4, 1.6]),
    "judge_deviation": np.array([0.2, -0.3, 0.1, -0.5, 0.4, 0.3]),  # of a, b, c: ann's and bob's
}
W = pd.DataFrame(FIXED["category_utility"].T, index=list("abc"), columns=["code", "prose"])
ADHERENCE = {"ann": 0.5, "bob": 2.0}
ORDER = {"ann": 0.3, "bob": -0.1}
NU = {"ann": 0.4, "bob": 1.6}
OPINION = pd.DataFrame(
    FIXED["judge_deviation"].reshape(2, 3).T, index=list("abc"), columns=["ann", "bob"]
)


def log_likelihood(model, **change):
    """Log-likelihood at the values above, or at others."""
    fixed = {name: value for name, value in (FIXED | change).items() if name in model.named_vars}
    model = pm.do(model, fixed)
    return float(model.compile_logp(vars=model["y"], mode=QUICK)(model.initial_point()))


def test_the_likelihood_is_that_of_the_story():
    model = leaderboard_model(pairs_of(**JUDGED, **SORTED), category="category")
    # three wins and two ties of a and b, of ann in code, come in ten orders
    expected = by_hand(TABLE, W, ADHERENCE, ORDER, NU, OPINION) + np.log(10)
    assert log_likelihood(model) == pytest.approx(expected)


def test_without_judges_and_categories_all_matches_are_alike():
    model = leaderboard_model(pairs_of())
    one = pd.DataFrame({"code": W["code"], "prose": W["code"]})
    same = {"ann": 1.0, "bob": 1.0}, {"ann": 0.3, "bob": 0.3}
    expected = by_hand(TABLE, one, *same, {"ann": 0.8, "bob": 0.8}) + np.log(10)
    values = {"utility": W["code"].to_numpy(), "order_effect": np.array(0.3)}
    assert log_likelihood(model, **values) == pytest.approx(expected)


STYLE = {
    "feature_effect": np.array([0.7]),
    "feature_slope": np.array([[0.4, -0.3]]),  # of a judge each
    "prompt_deviation": np.array([0.3, -0.2, 0.6, 0.1, 0.5, -0.7]),  # of a, b, c at p; at q
    "prompt_tie_effect": np.log([0.5, 3.0]),
}


@pytest.mark.parametrize("groups", [[], ["prompt"]], ids=str)
def test_features_and_groups_are_those_of_the_story(groups):
    pairs = pairs_of(STYLED, **LENGTH, **JUDGED, **PROMPTS)
    assert pairs.seen("prompt").labels.tolist() == ["p: a", "p: b", "q: a", "q: b", "q: c"]
    parameters = {"prompt_deviation": STYLE["prompt_deviation"][[0, 1, 3, 4, 5]]}
    model = leaderboard_model(pairs, groups=groups)
    found = log_likelihood(model, utility=W["code"].to_numpy(), **STYLE | parameters)
    deviation = dict.fromkeys(["pa", "pb", "qa", "qb", "qc"], 0.0)
    if groups:
        deviation = dict(zip(deviation, parameters["prompt_deviation"], strict=True))
    tied = {"p": 0.5, "q": 3.0} if groups else {"p": 1.0, "q": 1.0}
    same = pd.DataFrame({"code": W["code"], "prose": W["code"]})
    style = {"slope": {"ann": 0.4, "bob": -0.3}, "deviation": deviation, "tied": tied}
    assert found == pytest.approx(by_hand(STYLED, same, ADHERENCE, ORDER, NU, OPINION, **style))


@pytest.mark.parametrize("ties_by", [["item"], ["strength"]], ids=str)
@pytest.mark.parametrize("category", [None, "category"])
def test_ties_depend_on_items_and_on_strength(ties_by, category):
    pairs = pairs_of(**SORTED)
    fixed = {"strength_tie_slope": np.array(0.8)} if "strength" in ties_by else {}
    by_item = pd.Series([0.4, -0.6, 0.2], list("abc"))
    fixed |= {"item_tie_spread": np.array(2.0), "item_tie_z": by_item.to_numpy() / 2}
    utility = W if category else pd.DataFrame(dict.fromkeys(W.columns, W["code"]), W.index)
    fixed |= {
        "nu": np.array(0.9),
        "utility": W.mean(axis=1).to_numpy() if category else W["code"].to_numpy(),
    }
    if category:
        fixed["category_utility"] = W.T.to_numpy()
    model = leaderboard_model(pairs, category=category, ties_by=ties_by, order_effect=False)
    expected = np.log(10)
    for row in TABLE.itertuples():
        w = utility[row.category]
        strength = w - w.mean() if "strength" in ties_by else 0.0 * w
        one, other = row.first, row.second
        log_nu = (
            np.log(0.9)
            + by_item[one]
            + by_item[other]
            + 0.8 * (strength[one] + strength[other]) / 2
        )
        weights = {"first": np.exp(w[one] / 2 - w[other] / 2)}
        weights |= {"second": 1 / weights["first"], "tie": np.exp(log_nu)}
        expected += row.count * np.log(weights[row.outcome] / sum(weights.values()))
    model = pm.do(model, fixed)
    logp = model.compile_logp(vars=model["y"], mode=QUICK)
    assert logp(model.initial_point()) == pytest.approx(expected)


def test_effects_of_items_on_ties_are_of_the_typical_category():
    pairs = pairs_of(**SORTED)
    model = leaderboard_model(pairs, category="category", ties_by=["strength"])
    fixed = {"strength_tie_slope": np.array(0.8), "category_utility": W.T.to_numpy()}
    fixed |= {"utility": W.mean(axis=1).to_numpy(), "item_tie_z": np.zeros(len(W))}
    model = pm.do(model, fixed)
    expected = 0.4 * (fixed["utility"] - fixed["utility"].mean())
    np.testing.assert_allclose(model["item_tie_effect"].eval(), expected)
    np.testing.assert_allclose(model["category_tie_effect"].eval().mean(axis=0), expected)


@pytest.mark.parametrize(
    ("table", "ties_by", "message"),
    [
        (TABLE, "item", r"`ties_by` is 'item'; give a list, \['item'\]"),
        (TABLE, ["judge"], r"has 'judge'; it takes 'item' and 'strength'\. Ties depend on several"),
        (TABLE.assign(outcome="first"), ["item"], r"is \['item'\], but there are no ties in these"),
        (
            TABLE.assign(strength="x"), ["strength"],
            r"has 'strength', which is also a group of the pairs\. Rename that column",
        ),
    ],
)  # fmt: skip
def test_other_causes_of_ties_are_refused(table, ties_by, message):
    by = "strength" if "strength" in table else "category"
    with pytest.raises(ValueError, match=message):
        leaderboard_model(pairs_of(table, by=by), ties_by=ties_by)


def test_features_are_in_units_of_their_root_mean_square():
    pairs = pairs_of(STYLED, **LENGTH)
    model = leaderboard_model(pairs)
    unit = np.sqrt(np.average((STYLED["a"] - STYLED["b"]) ** 2, weights=STYLED["count"]))
    assert model["feature_unit"].get_value() == pytest.approx(unit)
    slope = pm.do(model, {"feature_effect": np.array([0.7])})["feature_slope"].eval()
    assert slope == pytest.approx(0.7 / unit)
    assert "feature_effect" not in names(leaderboard_model(pairs, features=False))


def test_contrary_judges_may_have_adherences_below_zero():
    model = leaderboard_model(pairs_of(**JUDGED), contrary=True)
    z = {"adherence_spread_log__": np.log(2.0), "adherence_z_zerosum__": np.array([1.5])}
    at = model.initial_point() | z
    (adherence,) = model.replace_rvs_by_values([model["adherence"]])
    found = model.compile_fn(
        adherence, inputs=model.value_vars, mode=QUICK, on_unused_input="ignore"
    )(at)
    assert found.mean() == pytest.approx(1)
    assert found.min() < 0


def test_new_matches_replace_the_old_ones_without_a_new_compilation():
    pairs = pairs_of(**JUDGED, **SORTED)
    model = pm.do(leaderboard_model(pairs, category="category"), FIXED)
    logp = model.compile_logp(vars=model["y"], mode=QUICK)
    new = TABLE.iloc[[0, 2, 3, 4]].assign(count=[1, 4, 2, 5])
    # one win and five ties come in six orders, three wins and two ties in ten
    for table, orders in ((new, 6), (TABLE, 10)):
        br.set_observed("y", pairs_of(table, **JUDGED, **SORTED), model=model)
        expected = by_hand(table, W, ADHERENCE, ORDER, NU, OPINION) + np.log(orders)
        assert logp(model.initial_point()) == pytest.approx(expected)


def test_new_matches_with_other_features_or_prompts_raise():
    pairs = pairs_of(STYLED, **LENGTH, **PROMPTS)
    model = leaderboard_model(pairs, groups=["prompt"])
    with pytest.raises(ValueError, match=r"have the features 'length', but the new pairs have 'a'"):
        br.set_observed("y", pairs_of(STYLED, features=["a"], **PROMPTS), model=model)
    other = pairs_of(STYLED.assign(prompt=list("pqpqp")), **LENGTH, **PROMPTS)
    with pytest.raises(ValueError, match=r"per item and prompt, but the prompt 'p: c' of"):
        br.set_observed("y", other, model=model)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"first": ["z", "b", "b", "c", "a"]}, r"^The items of the pairs of 'y' are not those of"),
        (
            {"judge": "ann"},
            r"^The judge axis .* 'ann', 'bob', but the new pairs have 'ann'\. Build",
        ),
        (
            {"category": list("ppppq")},
            r"^The category axis .* 'code', 'prose', .* 'p', 'q'\. Build",
        ),
    ],
)
def test_new_matches_on_other_axes_raise(change, message):
    model = leaderboard_model(pairs_of(**JUDGED, **SORTED), category="category")
    with pytest.raises(ValueError, match=message):
        br.set_observed("y", pairs_of(TABLE.assign(**change), **JUDGED, **SORTED), model=model)


# Settings and bad input


def test_settings_of_the_sampler_suit_the_model():
    low_rank, short = {"adaptation": "low_rank"}, {"target_accept": 0.95}
    assert nuts_settings(leaderboard_model(pairs_of())) == {}
    assert nuts_settings(leaderboard_model(pairs_of(), prior="normal")) == low_rank
    assert nuts_settings(leaderboard_model(pairs_of(**JUDGED))) == short
    alike = leaderboard_model(pairs_of(**JUDGED), opinions=False)
    assert nuts_settings(alike) == low_rank | short
    categories = leaderboard_model(pairs_of(**SORTED), category="category")
    assert nuts_settings(categories) == short
    many = pairs_of(pd.concat([TABLE.assign(judge=n) for n in range(101)]), **JUDGED, **SORTED)
    assert nuts_settings(leaderboard_model(many)) == {}
    assert nuts_settings(leaderboard_model(many, category="category")) == short
    for n, settings in ((3, {"target_accept": 0.99}), (21, {})):
        table = pd.concat([TABLE.assign(prompt=k) for k in range(n)])
        model = leaderboard_model(pairs_of(table, by=["prompt"]), groups=["prompt"])
        assert nuts_settings(model) == settings


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prior": "flat"}, r"^`prior` is 'flat'; it must be one of 'normal', 'zero-sum'\.$"),
        ({"utility_scale": 0.0}, r"^`utility_scale` is 0.0; it must be positive and finite\.$"),
        ({"category": "day"}, r"^`category` is 'day', but the groups of the data are none\. Name"),
        ({"groups": "day"}, r"^`groups` is 'day'; give a list, \['day'\]\.$"),
        ({"groups": ["day"]}, r"^There is no group 'day': the groups of these pairs are 'judge'"),
        ({"groups": ["order"]}, r"^`groups` has 'order', which is a name of the model"),
        ({}, r"^The feature 'length' is 0 in all matches"),
    ],
)
def test_wrong_arguments_raise(options, message):
    pairs = pairs_of() if options else pairs_of(STYLED.assign(a=0.0, b=0.0), **LENGTH)
    with pytest.raises(ValueError, match=message):
        leaderboard_model(pairs, **options)
