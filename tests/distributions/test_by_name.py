"""Utilities by the names of their dims, against a loop over the rankings; and what is no name."""

import warnings

import cloudpickle
import numpy as np
import pandas as pd
import pymc as pm
import pymc.dims as pmd
import pytensor.tensor as pt
import pytest

import bayesrank as br
from bayesrank.data import UninformativeRankingWarning
from bayesrank.distributions.core import observed
from tests.builders import evaluator, stored
from tests.oracles import partition_logp
from tests.oracles import weak_order_logp as sum_over_orderings

TWO = br.Rankings.from_orderings([["b", "a", "c"], ["c", "b", "a"]])
U = np.array([[0.0, 5.0, -5.0], [-5.0, 0.0, 5.0]])  # of the one, and of the other

FAMILIES = {
    "PlackettLuce": (br.PlackettLuce, sum_over_orderings),
    "PMOP": (br.PMOP, lambda u, ranks: partition_logp(u, ranks, "mean")),
}
DIMS = [
    ("item",),
    ("ranker", "item"),
    ("item", "ranker"),
    ("ranking", "item"),
    ("ranking", "slot"),
    ("slot", "ranking"),
    ("item", "ranking"),
    ("slot", "item"),
    ("ranker", "slot"),
    ("slot",),
    ("season", "item"),
    ("item", "region", "season"),
    ("region", "item", "ranker"),
    ("slot", "season"),
]


def some_rankings(rng):
    """Rankings of some items of some rankers, with ties."""
    n_items, n_rankers = rng.integers(2, 5), rng.integers(1, 4)
    items = rng.permutation(list("abcd")[:n_items])
    rankers = rng.permutation(["ann", "bob", "cy"][:n_rankers])
    rows = []
    for _ in range(rng.integers(1, 5)):
        chosen = rng.permutation(items)[: rng.integers(2, n_items + 1)]
        block = np.sort(rng.integers(0, len(chosen), size=len(chosen)))
        rows.append([set(chosen[block == b].tolist()) for b in np.unique(block)])
    who = rng.choice(rankers, size=len(rows))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UninformativeRankingWarning)
        rankings = br.Rankings.from_orderings(rows, rest=(), items=items, rankers=who)
    season = rng.choice([2024, 2025, 2026], size=len(rows))
    return rankings.grouped({"season": season, "region": {"ann": "n", "bob": "s", "cy": "n"}})


def other_rankings(rng, rankings):
    """New ones by some of the same rankers, with axes of their own, in any order."""
    kept = rng.permutation(rankings.n_rankings)[: rng.integers(1, rankings.n_rankings + 1)]
    part = rankings.subset(kept)
    axes = {"ranker": rng.permutation(part.rankers), "item": rng.permutation(part.items)}
    return part.reindex(axes | {"season": [2030, *rng.permutation(part.groups["season"].labels)]})


def rankings_on(old, new):
    """The new ones, on the axes of the old."""
    axes = {"item": old.items, "ranker": old.rankers}
    return new.reindex(axes | {name: group.labels for name, group in old.groups.items()})


def by_loop(rankings, utility, dims, oracle):
    """Log-probabilities, one ranking after the other."""
    out = []
    for row in range(rankings.n_rankings):
        at = {"ranking": row, "ranker": rankings.ranker_idx[row]}
        at |= {name: idx[row] for name, (_, idx) in rankings.groups.items()}
        used = np.flatnonzero(rankings.mask[row])
        u = [
            utility[tuple({**at, "item": rankings.item[row, s], "slot": s}[d] for d in dims)]
            for s in used
        ]
        out.append(oracle(np.array(u), rankings.ranks[row, used]))
    return np.array(out)


def check_models(seeds):
    for seed in seeds:
        rng = np.random.default_rng(seed)
        rankings, dims = some_rankings(rng), DIMS[rng.integers(len(DIMS))]
        name = list(FAMILIES)[rng.integers(2)]
        family, oracle = FAMILIES[name]
        shape = [len(rankings.coords[dim]) for dim in dims]
        value = rng.normal(scale=2.0, size=shape)
        how = rng.integers(4)
        with pm.Model(coords=rankings.coords) as model:
            if how == 0:
                family("y", pm.Flat("u", dims=dims), observed=rankings)
            elif how == 1:
                family("y", 1.0 * pm.Flat("u", shape=shape), utility_dims=dims, observed=rankings)
            elif how == 2:
                family("y", 1.0 * pmd.Flat("u", dims=dims), observed=rankings)
            else:
                family("y", value, utility_dims=dims, observed=rankings)
        point = {} if how == 3 else {"u": value}
        compiled = evaluator(model)
        exact = by_loop(rankings, value, dims, oracle)
        tried = f"{seed} {name} {dims} {how}"
        np.testing.assert_allclose(compiled(point)[0], exact, atol=1e-9, err_msg=tried)
        if "item" in dims and "ranking" not in dims and "slot" not in dims:
            new = other_rankings(rng, rankings)
            br.set_observed("y", new, model=model)
            found, total, _ = compiled(point)
            exact = by_loop(rankings_on(rankings, new), value, dims, oracle)
            np.testing.assert_allclose(found, exact, atol=1e-9, err_msg=tried)
            assert float(total) == pytest.approx(exact.sum(), abs=1e-9), tried


def test_random_models_agree_with_a_loop_over_rankings():
    check_models(range(8))


@pytest.mark.slow
def test_two_thousand_random_models_agree_with_a_loop_over_rankings():
    check_models(range(30, 2060))


def test_a_matrix_without_names_is_refused_where_it_can_be_read_in_two_ways():
    message = (
        r"^The utility of 'y' has shape \(2, 3\) and no names for its axes. It could be one per "
        r"slot, best first \(utility_dims=\('ranking', 'slot'\)\), or one per ranking and item \("
    )
    for utility in (U, 2 * pm.Flat.dist(shape=(2, 3))):
        with pm.Model(coords=TWO.coords), pytest.raises(ValueError, match=message):
            br.PlackettLuce("y", utility, observed=TWO)


def test_dims_of_other_things_are_refused():
    cases = {
        "region": (
            ["north", "south"],
            r"'south'\) match no axis of the rankings: \[",
        ),
        "kind": (
            None,
            r"has the dim 'kind', which has no labels and is not one of \['item', 'rank",
        ),
        "both": (
            ["a", "b", "c"],
            r"match more than one axis of the rankings: \['item', 'rank",
        ),
    }
    for dim, (labels, message) in cases.items():
        rankings = TWO if dim != "both" else br.Rankings.from_orderings(
            [["b", "a", "c"]] * 3, rankers=["a", "b", "c"]
        )  # fmt: skip
        with pm.Model(coords=rankings.coords) as model:
            model.add_coord(dim, labels, length=None if labels else 3)
            with pytest.raises(ValueError, match=message):
                br.PlackettLuce("y", pm.Flat("u", dims=dim), observed=rankings)


def test_as_many_names_as_axes_and_each_once():
    with pm.Model(coords=TWO.coords):
        with pytest.raises(ValueError, match=r"has 2 axes, but utility_dims=\('item',\) names 1"):
            br.PlackettLuce("y", U, utility_dims="item", observed=TWO)
        with pytest.raises(ValueError, match=r"has shape \(3, 2\); .* the shape must be \(2"):
            br.PlackettLuce("y", U.T, utility_dims=("ranker", "item"), observed=TWO)
        with pytest.raises(
            ValueError, match=r"Two dims .* \('item', 'item'\), match the same axis 'item'\."
        ):
            br.PlackettLuce("y", np.zeros((3, 3)), utility_dims=("item", "item"), observed=TWO)


def test_labels_are_not_numbers():
    with pm.Model(coords=TWO.coords):
        with pytest.raises(
            TypeError, match="`utility` of 'y' holds the text 'a'; it must hold num"
        ):
            br.PlackettLuce("y", [*"abc"], observed=TWO)
        with pytest.raises(TypeError, match="`consensus` holds the text 'a'; it must hold numbers"):
            br.Mallows("y", [*"abc"], alpha=1.0, observed=TWO)


# New rankings


def test_new_rankings_of_other_items_or_rankers_are_refused_and_nothing_is_changed():
    others = br.Rankings.from_orderings([["b", "a", "d"], ["d", "b", "a"]])
    who = br.Rankings.from_orderings([["b", "a", "c"]], rankers=["zoe"])
    with pm.Model(coords=TWO.coords) as model:
        br.PMOP("y", pm.Flat("u", dims=("ranker", "item")), observed=TWO)
    for new, part, label in ((others, "item", "d"), (who, "ranker", "zoe")):
        message = (
            rf"^'y' has utility by {part}, and the new rankings have other labels\. Unknown "
            rf"{part} '{label}'"
        )
        with pytest.raises(ValueError, match=message):
            br.set_observed("y", new, model=model)
    nobody = br.Rankings.from_orderings([["b", "a", "c"]])
    with pytest.raises(ValueError, match=r"have no rankers. Read them with rankers= of"):
        br.set_observed("y", nobody, model=model)
    assert list(model.coords["item"]) == ["a", "b", "c"]
    np.testing.assert_array_equal(stored(model, "ranks"), TWO.ranks)


def test_groups_that_no_utility_follows_do_not_stay_those_of_other_rankings():
    grouped = TWO.grouped({"season": [2001, 2002]})
    with pm.Model(coords=grouped.coords) as model:
        br.PlackettLuce("y", pm.Flat("u", dims="item"), observed=grouped)
    with pytest.raises(ValueError, match=r"^The model stores the season of the data of 'y', but "):
        br.set_observed("y", TWO.subset([1]), model=model)
    br.set_observed("y", grouped.subset([1]), model=model)
    np.testing.assert_array_equal(stored(model, "season"), [1])


def test_stages_that_seasons_share_are_evaluated_once():
    rankings = br.Rankings.from_orderings([["a", "b", "c"]] * 6).grouped({"season": [1, 2] * 3})
    with pm.Model(coords=rankings.coords) as model:
        y = br.PlackettLuce("y", pm.Flat("u", dims=("season", "item")), observed=rankings)
    _, p = observed._find_observed(model, "y")
    assert p.groups == ("season",)
    assert p.item_weight.get_value().shape == (6,)
    assert p.single_item.get_value().size == 4  # two stages in each season
    loaded = cloudpickle.loads(cloudpickle.dumps(model))
    at = {"u": np.arange(6.0).reshape(2, 3) ** 2}
    assert loaded.compile_logp(vars=loaded["y"])(at) == model.compile_logp(vars=y)(at)


def test_utilities_gathered_outside_of_the_model_cannot_follow():
    with pm.Model(coords=TWO.coords) as model:
        u = pm.Flat("u", dims="item")[TWO.item] * np.ones((2, 3))
        br.PlackettLuce("y", u, utility_dims=("ranking", "slot"), observed=TWO)
    message = (
        r"^The utility of 'y' has one entry per slot of the original rankings, and does not "
        r"depend on the new data\. Give one per item, or gather it by "
        r"a pm\.Data named 'y_item', which set_observed "
    )
    for new in (TWO, TWO.subset([0])):
        with pytest.raises(ValueError, match=message):
            br.set_observed("y", new, model=model)


# What is not observed


@pytest.mark.parametrize("family", [br.PlackettLuce, br.PMOP])
def test_a_ranking_that_is_not_observed_is_full_in_draws_and_in_probability(family):
    more = {"given_sizes": True} if family is br.PMOP else {}
    where = np.array([True, True, False, True])
    with pm.Model():
        y = family("y", np.array([0.3, -1.0, 9.0, 2.0]), where=where, **more)
    ranks = np.indices((4, 4, 1, 4)).reshape(4, -1).T
    value = pt.lvector("value")
    logp = pm.compile([value], pm.logp(y, value))
    p = np.exp([logp(r) for r in ranks])
    assert p.sum() == pytest.approx(1.0)
    full = np.sort(ranks[p > 0], axis=1)
    np.testing.assert_array_equal(full, np.tile([0, 1, 2, 3], (6, 1)))
    assert sorted(pm.draw(y, random_seed=1)) == [0, 1, 2, 3]


def test_labels_that_are_tuples_are_compared_as_models_name_them():
    one, two = [("x", 1), ("x", 2)], [("x", 2), ("x", 1)]
    rankings = br.Rankings([[0, 1], [1, 0]], [[1, 2], [1, 2]], items=one)
    with pm.Model(coords=rankings.coords) as model:
        y = br.PlackettLuce("y", pm.Flat("u", dims=("ranker", "item")), observed=rankings)
    logp = model.compile_logp(vars=y)
    at = {"u": np.array([[0.0, 1.0], [0.0, 3.0]])}
    before = float(logp(at))
    same = br.Rankings([[1, 0], [0, 1]], [[1, 2], [1, 2]], items=two)
    br.set_observed("y", same, model=model)
    assert float(logp(at)) == pytest.approx(before)


def test_new_rankings_bring_their_groups_to_concentrations_and_weights():
    old = br.Rankings.from_orderings(
        [["a", "b", "c"], ["c", "a", "b"], ["b", "a", "c"]], rankers=["x", "y", "x"]
    ).grouped({"season": np.array([2, 1, 2])})
    new = (
        br.Rankings.from_orderings(
            [["c", "b", "a"], ["b", "c", "a"]], rankers=["y", "z"], items=["c", "b", "a"]
        )
        .grouped({"season": np.array([1, 2])})
        .reindex({"season": [2, 1]})
    )
    alpha = np.array([[3.0, 1.0], [0.5, 2.0]])
    weights = np.array([[0.9, 0.1], [0.3, 0.7]])
    utility = np.array([[0.0, 1.0, 3.0], [2.0, 0.5, 0.0]])

    def build(rankings, unit=None):
        with pm.Model(coords=rankings.coords) as model:
            if unit is None:
                by = pm.Flat("by", dims=("season", "stage"), shape=(2, 2))
                br.GeneralizedMallows("y", [1, 2, 3], by, observed=rankings)
            else:
                by = pm.Flat("by", dims=("season", "kind"), shape=(2, 2))
                component = br.PlackettLuce.dist(pm.Data("u", utility, dims=("kind", "item")))
                br.Mixture("y", by, component, observed=rankings, unit=unit)
        return model

    for unit, value in ((None, alpha), ("ranking", weights), ("ranker", weights)):
        model = build(old, unit)
        logp = model.compile_logp(vars=model["y"])
        on_old = new.reindex({"item": old.items, "season": old.groups["season"].labels})
        if unit == "ranker":  # the same rankers
            on_old = old.subset([1, 2])
            br.set_observed("y", on_old.reindex({"item": ["c", "b", "a"]}), model=model)
        else:
            br.set_observed("y", new, model=model)
        other = build(on_old, unit)
        expected = other.compile_logp(vars=other["y"])({"by": value})
        assert float(logp({"by": value})) == pytest.approx(float(expected), abs=1e-12), unit


def test_weights_by_group_are_refused_where_a_ranker_is_in_two_groups():
    rankings = br.Rankings.from_orderings(
        [["a", "b"], ["b", "a"]], rankers=["x", "x"]
    ).grouped({"season": np.array([1, 2])})  # fmt: skip
    with pm.Model(coords=rankings.coords | {"component": [0, 1]}):
        weights = pm.Data("weights", [[0.5, 0.5], [0.1, 0.9]], dims=("season", "component"))
        component = br.PlackettLuce.dist(np.zeros((2, 2)))
        with pytest.raises(ValueError, match="rankings of 'x' have more than one season"):
            br.Mixture("y", weights, component, observed=rankings, unit="ranker")


def test_labels_of_two_axes_are_distinguished_by_the_name_of_the_index():
    rankings = br.Rankings.from_orderings([["b", "a"], ["a", "b"]], rankers=["b", "a"])
    alpha = pd.Series({"a": 1.0, "b": 3.0})
    utility = pd.Series({"b": 1.0, "a": 3.0})
    with pm.Model(coords=rankings.coords) as model:
        with pytest.raises(ValueError, match=r"more than one axis of the rankings: \['item', 'ran"):
            br.PlackettLuce("z", utility, observed=rankings)
        br.PlackettLuce("y", utility.rename_axis("item"), observed=rankings)
        br.Mallows("x", [1, 2], alpha, observed=rankings)
    found = [x.eval() for x in model.logp(vars=[model["y"], model["x"]], sum=False)]
    np.testing.assert_allclose(found[0], [-np.log1p(np.exp(2)), -np.log1p(np.exp(-2))])
    np.testing.assert_allclose(found[1], [-3 - np.log1p(np.exp(-3)), -np.log1p(np.exp(-1))])


ONE_BY_ONE = br.Rankings.from_orderings([["a", "b", "c"], ["b", "c", "a"]], rankers=["u", "v"])
PER_ITEM = {
    "PlackettLuce": lambda u, data: br.PlackettLuce("y", u, observed=data),
    "PMOP": lambda u, data: br.PMOP("y", u, observed=data),
    "BradleyTerry": lambda u, data: br.BradleyTerry("y", u, observed=data.pairs()),
    "MPM": lambda u, data: br.MPM("y", u, observed=data.counts()),
    "Mixture": lambda u, data: br.Mixture(
        "y", [0.5, 0.5], [br.PlackettLuce.dist(u)] * 2, observed=data
    ),
    "Mallows": lambda u, data: br.Mallows(
        "y", pt.argsort(pt.argsort(u)) + 1, 1.0, distance="kendall", observed=data
    ),
}


@pytest.mark.parametrize("family", PER_ITEM.values(), ids=PER_ITEM)
def test_an_expression_is_read_by_the_labels_of_its_variable(family):
    """The dim has the name of the axis or its own, and its labels stand in any order."""
    by_label = {"a": 0.3, "b": -1.0, "c": 0.7}
    found = []
    for dim in ("item", "driver"):
        for items in ("abc", "cab"):
            with pm.Model(coords={dim: [*items]}) as model:
                u = pm.Flat("u", dims=dim)
                ranked = pt.argsort(pt.argsort(u)) if family is PER_ITEM["Mallows"] else 2 * u
                if items == "cab" and family is PER_ITEM["Mallows"]:  # sorting loses the names
                    with pytest.raises(ValueError, match=f"coord '{dim}' has .* another order"):
                        family(ranked, ONE_BY_ONE)
                    continue
                y = family(ranked, ONE_BY_ONE)
            found.append(model.compile_logp(vars=y)({"u": [by_label[item] for item in items]}))
    np.testing.assert_allclose(found, found[0], rtol=1e-12)


@pytest.mark.parametrize("dim", ["item", "driver"])
def test_values_without_names_are_refused_if_a_coord_has_the_labels_in_another_order(dim):
    with pm.Model(coords={dim: [*"cab"]}) as model:
        u = pm.Flat("u", dims=dim)
        for utility in (np.zeros(3), pm.Flat("v", shape=3), u[::-1], pt.concatenate([[0], u[1:]])):
            with pytest.raises(ValueError, match=f"coord '{dim}' has .* in another order"):
                br.PlackettLuce("y", utility, observed=ONE_BY_ONE)
        said = br.PlackettLuce("x", u[::-1], utility_dims="item", observed=ONE_BY_ONE)
        named = pm.Deterministic("w", u[::-1], dims=dim)
        by_name = br.PlackettLuce("y", named, observed=ONE_BY_ONE)
    by_label = [1.0, 3.0, 0.0]  # a dim that the model knows has its labels
    stated = by_label if dim == "item" else [0.0, 1.0, 3.0]
    for y, expected in ((said, stated), (by_name, by_label)):
        logp = float(model.logp(vars=y).eval({model.rvs_to_values[u]: np.array([3.0, 1.0, 0.0])}))
        rows = zip(ONE_BY_ONE.item, ONE_BY_ONE.ranks, strict=True)
        exact = sum(sum_over_orderings(np.array(expected)[item], ranks) for item, ranks in rows)
        assert logp == pytest.approx(exact, abs=1e-12)


def test_a_dim_of_another_name_with_numbers_from_0_is_not_taken_for_rankings_or_rankers():
    rankings = br.Rankings.from_orderings([["a", "b"], ["b", "a"], ["a", "b"]])
    with pm.Model(coords={"season": range(3), "item": ["a", "b"]}):
        by_season = pm.Normal("by_season", dims=("season", "item"))
        for utility in (by_season, 2 * by_season):
            with pytest.raises(
                ValueError,
                match=r"labels of the dim 'season' .* match no axis .* identify no axis: name the",
            ):
                br.PlackettLuce("y", utility, observed=rankings)
        alpha = pm.HalfNormal("alpha", dims="season")
        with pytest.raises(ValueError, match=r"labels of the dim 'season' .* match no axis"):
            br.Mallows("y", [1, 2], alpha, observed=rankings)
        with pytest.raises(ValueError, match=r"labels of the dim 'season' .* match no axis"):
            br.MPM("y", by_season, observed=rankings.counts())
        seen = br.Interactions.from_rankings(rankings)
        assert [*seen.users] == [0, 1, 2]
        with pytest.raises(ValueError, match=r"labels of the dim 'season' .* match no axis"):
            br.BPR("y", by_season, observed=seen)


def test_components_in_a_list_must_have_the_labels_that_the_weights_have_in_their_places():
    coords = TWO.coords | {"kind": ["p", "q"], "one": ["p"], "other": ["q"]}
    with pm.Model(coords=coords) as model:
        weights = pm.Data("weights", [0.2, 0.8], dims="kind")
        first = br.PlackettLuce.dist(pm.Data("u", U[:1], dims=("one", "item")))
        second = br.PlackettLuce.dist(pm.Data("v", U[1:], dims=("other", "item")))
        y = br.Mixture("y", weights, [first, second], observed=TWO)
        with pytest.raises(
            ValueError, match=r"weights of 'z' have the labels 'p' where a component"
        ):
            br.Mixture("z", weights, [second, first], observed=TWO)
    rows = list(zip(TWO.item, TWO.ranks, strict=True))
    logps = [[sum_over_orderings(u[item], ranks) for u in U] for item, ranks in rows]
    exact = [np.log(np.exp(logp) @ [0.2, 0.8]) for logp in logps]
    np.testing.assert_allclose(model.logp(vars=y, sum=False)[0].eval(), exact, atol=1e-12)
