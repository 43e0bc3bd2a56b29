"""Observed `Pairs`: against the definitions, changed data, and what comes after sampling."""

import copy
import math

import cloudpickle
import numpy as np
import pandas as pd
import pymc as pm
import pytest
from pymc.model.transform.optimization import freeze_dims_and_data
from pymc.sampling.jax import get_jaxified_logp

import bayesrank as br
from bayesrank.data.derive import log_multinomial
from bayesrank.distributions.core.observed import data_dims, known_value
from bayesrank.likelihoods.ops.with_sum import WithSum
from tests.builders import evaluator, stored
from tests.distributions.pair_examples import (
    FAMILIES,
    MATCHES,
    UTILITY,
    WITH_TIES,
    pairs_model,
    pairs_of,
)
from tests.oracles import gradient

QUICK = "FAST_COMPILE"
EFFECTS = {None: 0.0, "one": 0.3, "each": np.linspace(-0.6, 0.8, len(MATCHES))}


def point_of(family, order_effect=None):
    point = {"utility": UTILITY} | dict(FAMILIES[family].parameter)
    return point if order_effect is None else point | {"order_effect": EFFECTS[order_effect]}


def exact_logp(family, pairs, utility=UTILITY, tie=None, order_effect=0.0):
    """Log-probability of every pair by the definition."""
    counts = pairs.counts[:, : FAMILIES[family].n_outcomes]
    lead = utility[pairs.first] - utility[pairs.second] + order_effect
    return pairs.weight * FAMILIES[family].logp(counts, lead, tie)


def exact_slope(family, pairs, point):
    """Its gradient, by finite differences."""
    sizes = np.cumsum([np.size(x) for x in point.values()])[:-1]

    def total(flat):
        x = dict(zip(point, np.split(flat, sizes), strict=True))
        tie = next((x[name] for name in FAMILIES[family].parameter), None)
        return exact_logp(family, pairs, x["utility"], tie, x.get("order_effect", 0.0)).sum()

    return gradient(total, np.concatenate([np.ravel(x) for x in point.values()]))


def check(f, point, exact):
    """Compare log-probabilities of pairs and their sum with the definition; return the slope."""
    rows, total, slope = f(point)
    np.testing.assert_allclose(rows, exact, rtol=1e-12)
    assert float(total) == pytest.approx(exact.sum(), rel=1e-12)
    return slope


# all effects of one family, and one effect of the others
every_family_and_effect = pytest.mark.parametrize(
    ("family", "effect"),
    [
        pytest.param(f, e, marks=[] if f == "Davidson" or e == "one" else [pytest.mark.slow])
        for f in FAMILIES
        for e in EFFECTS
    ],
)


# Pairs as observed data


@every_family_and_effect
def test_values_and_gradients_are_those_of_the_definition(family, effect):
    pairs = pairs_of(ties=family in WITH_TIES)
    model, point = pairs_model(family, pairs, order_effect=effect), point_of(family, effect)
    exact = exact_logp(family, pairs, order_effect=EFFECTS[effect])
    slope = check(evaluator(model), point, exact)
    np.testing.assert_allclose(slope, exact_slope(family, pairs, point), atol=1e-7)


def cells(model):
    """Counts of what the sum is over."""
    node = model["y"].owner
    counts = node.op.named(node.inputs[2:]).cell_counts.get_value()
    assert counts.sum() == pairs_of().n_matches
    (rows,) = model.logp(vars=model["y"], sum=False)
    assert isinstance(rows.owner.op, WithSum)
    return counts


def test_the_sum_is_over_distinct_pairs_of_items_where_only_items_matter():
    n_distinct = {None: 5, "one": 6, "each": 8}  # a-b, b-a, b-c, d-c, c-a, a-d
    for effect, n in n_distinct.items():
        assert cells(pairs_model("Davidson", order_effect=effect)).shape == (3, n)


# What there is one of for each label of a group, by the names of dims

JUDGES = {"adherence": np.array([0.5, 1.8]), "order_effect": np.array([0.3, -0.2])}
TIES = np.array([1.6, 1.1])  # of each judge


def test_new_pairs_have_the_labels_of_parameters_whatever_their_dims_are_called():
    pairs, others = pairs_of(), pairs_of(MATCHES.replace({"who": {"v": "w"}}))
    effect = np.array([0.3, -0.2])
    with pm.Model(coords={"reader": ["u", "v"]}) as named:
        br.Davidson("y", UTILITY, nu=pm.Data("nu", TIES, dims="reader"), observed=pairs)
    with pm.Model(coords=pairs.coords | {"reader": ["u", "v"]}) as apart:
        nu, kind = pm.Data("nu", TIES, dims="reader"), pm.Data("kinds", effect, dims="kind")
        br.Davidson("y", UTILITY, nu=nu, order_effect=kind, observed=pairs)
    with pm.Model() as constant:
        br.Davidson("y", UTILITY, nu={"v": 1.1, "u": 1.6}, observed=pairs)
    for model in (named, apart, constant):
        with pytest.raises(
            ValueError, match=r"^The judge axis of the model has the labels 'u', 'v"
        ):
            br.set_observed("y", others, model=model)


def test_the_sum_is_over_what_groups_with_parameters_tell_apart():
    pairs = pairs_of()
    with pm.Model(coords=pairs.coords) as model:
        nu = pm.Flat("nu", dims="judge")
        br.Davidson("y", pm.Flat("utility", dims="item"), nu=nu, observed=pairs)
    # a-b by u and by v, b-c by v, c-d by v, a-c by v, a-d by u; of kinds nothing is known
    assert cells(model).shape == (3, 6)
    utility = np.array([0.3, -0.2, 0.9, 0.0])
    exact = exact_logp("Davidson", pairs, utility, tie=TIES[pairs.judge_idx])
    check(evaluator(model), {"utility": utility, "nu": TIES}, exact)


LONG = MATCHES.assign(
    length=[0.0, 1.0, -0.5, 2.0, 0.3, 1.0, -1.0, 0.0], bold=[1, 0, 0, 1, 0, 1, 0, 0]
)


def featured(family, pairs, *, slope_by=(), judged=True):
    """Slopes of two features, all alike or of a group each, and deviations at every kind."""
    slope = np.linspace(-0.7, 1.2, 2 ** (len(slope_by) + 1)).reshape(*[2] * len(slope_by), 2)
    deviation = np.linspace(-0.8, 0.9, len(pairs.seen("kind").labels))
    coords = pairs.coords | {"kind_item": pairs.seen("kind").labels}
    with pm.Model(coords=coords) as model:
        adherences = {x: pm.Data(x, JUDGES[x], dims="judge") for x in JUDGES} if judged else {}
        FAMILIES[family].distribution(
            "y", pm.Data("utility", UTILITY, dims="item"), observed=pairs, **adherences,
            slope=pm.Data("slope", slope, dims=(*slope_by, "feature")),
            deviation=pm.Data("deviation", deviation, dims="kind_item"),
            **FAMILIES[family].parameter,
        )  # fmt: skip
    seen, judge = pairs.seen("kind"), pairs.judge_idx
    gap = UTILITY[pairs.first] - UTILITY[pairs.second]
    gap = gap + deviation[seen.first] - deviation[seen.second]
    adherence, effect = (JUDGES[x][judge] for x in JUDGES) if judged else (1.0, 0.0)
    slopes = slope[tuple(pairs.group_idx(by) for by in slope_by)] if slope_by else slope
    lead = adherence * gap + effect + (slopes * pairs.features).sum(axis=1)
    return model, FAMILIES[family].logp(pairs.counts[:, : FAMILIES[family].n_outcomes], lead)


@pytest.mark.parametrize(
    ("family", "slope_by", "judged"),
    [
        ("BradleyTerry", (), False),
        ("Davidson", ("judge",), True),
        ("Davidson", ("kind", "judge"), True),
    ]
    + [
        pytest.param(family, by, True, marks=pytest.mark.slow)
        for family, by in [
            *((family, ("judge",)) for family in FAMILIES if family != "Davidson"),
            ("Davidson", ()),
            ("Davidson", ("kind",)),
        ]
    ],
)
def test_features_and_deviations_are_part_of_the_lead(family, slope_by, judged):
    features = {"features": ["length", "bold"]}
    pairs = pairs_of(LONG, ties=family in WITH_TIES, **features)
    model, exact = featured(family, pairs, slope_by=slope_by, judged=judged)
    f = evaluator(model)
    check(f, {}, exact)
    # others of the same kinds, of which one has no matches
    new = LONG.assign(length=LONG["length"][::-1].to_numpy(), first=[0, *LONG["first"][1:]])
    new = pairs_of(new, ties=family in WITH_TIES, **features)
    _, exact = featured(family, new, slope_by=slope_by, judged=judged)
    br.set_observed("y", new, model=model)
    check(f, {}, exact)


def test_pairs_alike_in_their_features_are_one_cell_and_mirrored_ones_turn_them():
    rows = [["a", "b", "first", 2.0], ["b", "a", "second", -2.0], ["a", "b", "second", 1.0]]
    columns = ["one", "two", "result", "length"]
    pairs = br.Pairs.from_frame(
        pd.DataFrame(rows, columns=columns), first="one", second="two", outcome="result",
        features=["length"],
    )  # fmt: skip
    with pm.Model(coords=pairs.coords) as model:
        slope = pm.Data("slope", [0.5], dims="feature")
        br.BradleyTerry("y", pm.Data("w", [0.3, 0.0], dims="item"), slope=slope, observed=pairs)
    node = model["y"].owner
    derived = node.op.named(node.inputs[2:])
    assert derived.cell_counts.get_value().T.tolist() == [[0, 1, 0], [2, 0, 0]]
    assert derived.cell_size.get_value().tolist() == [[1.0, 2.0]]
    exact = -2 * np.log1p(np.exp(-1.3)) - np.log1p(np.exp(0.8))
    assert float(model.compile_logp(mode=QUICK)({})) == pytest.approx(exact, rel=1e-13)


TIE_EFFECTS = {
    ("item",): np.array([0.5, -0.4, 0.2, -0.3]),
    ("kind",): np.array([0.6, -0.8]),
    ("judge", "item"): np.array([[0.1, 0.7, -0.2, 0.4], [-0.5, 0.3, 0.9, -0.1]]),
    ("kind", "judge", "item"): np.linspace(-0.7, 0.8, 16).reshape(2, 2, 4),
}


def tied(family, pairs, chosen, **parameters):
    """A model whose ties depend on items or groups, and the parameter of ties of every pair."""
    with pm.Model(coords=pairs.coords) as model:
        effects = [pm.Data("by_" + "_".join(dims), TIE_EFFECTS[dims], dims=dims) for dims in chosen]
        FAMILIES[family].distribution(
            "y", pm.Data("utility", UTILITY, dims="item"), observed=pairs, tie_effect=effects,
            **FAMILIES[family].parameter, **parameters,
        )  # fmt: skip
    s = np.zeros(pairs.n_pairs)
    for dims in chosen:
        x = TIE_EFFECTS[dims]
        groups = tuple(pairs.group_idx(dim) for dim in dims if dim != "item")
        if dims[-1] == "item":
            s += x[(*groups, pairs.first)] + x[(*groups, pairs.second)]
        else:
            s += x[groups]
    least = 1.0 if family == "RaoKupper" else 0.0
    return model, least + (FAMILIES[family].tie - least) * np.exp(s)


@pytest.mark.parametrize("family", WITH_TIES)
@pytest.mark.parametrize("chosen", [[*TIE_EFFECTS], [("item",)]], ids=["all", "item"])
def test_ties_depend_on_items_and_groups(family, chosen):
    pairs = pairs_of()
    model, tie = tied(family, pairs, chosen)
    f = evaluator(model)
    check(f, {}, exact_logp(family, pairs, tie=tie))
    if len(chosen) == 1:  # nothing but the items keeps pairs apart, in either order
        assert cells(model).shape == cells(pairs_model(family)).shape
    new = pairs_of(MATCHES.assign(first=[0, *MATCHES["first"][1:]]))
    br.set_observed("y", new, model=model)
    check(f, {}, exact_logp(family, new, tie=tie))


def test_an_effect_on_ties_that_is_not_of_items_or_groups_is_refused():
    pairs = pairs_of(LONG, features=["length", "bold"])
    with pm.Model(coords=pairs.coords):
        with pytest.raises(
            ValueError, match=r"An effect on ties of 'y' has no dims. .* 'item' and 'judge', 'kind'"
        ):
            br.Davidson("y", UTILITY, nu=1.0, tie_effect=[0.1], observed=pairs)
        effect = pm.Data("effect", [0.1, 0.2], dims="feature")
        with pytest.raises(
            ValueError, match=r"The tie_effect of 'y' has the axes \('feature',\) of the pairs"
        ):
            br.Davidson("y", UTILITY, nu=1.0, tie_effect=effect, observed=pairs)
        with pytest.raises(TypeError, match=r"tie_effect"):
            br.Thurstone("y", UTILITY, tie_effect=effect, observed=pairs_of(ties=False))
    with pm.Model(), pytest.raises(TypeError, match=r"takes tie_effect= only with observed=Pairs"):
        br.Davidson("y", UTILITY[:2], nu=1.0, tie_effect=[0.1], observed=[1, 0, 0])


def test_gradients_of_features_and_deviations_are_those_of_differences():
    pairs = pairs_of(LONG, features=["length", "bold"])
    coords = pairs.coords | {"kind_item": pairs.seen("kind").labels}
    with pm.Model(coords=coords) as model:
        br.Davidson(
            "y", pm.Flat("utility", dims="item"), nu=0.7, observed=pairs,
            adherence=pm.Flat("adherence", dims="judge"),
            slope=pm.Flat("slope", dims=("judge", "feature")),
            deviation=[pm.Flat("deviation", dims="kind_item")],
            tie_effect=pm.Flat("tie_effect", dims="item"),
        )  # fmt: skip
    point = {"utility": UTILITY, "adherence": JUDGES["adherence"], "slope": np.full((2, 2), 0.3)}
    point["deviation"] = np.linspace(-0.8, 0.9, len(coords["kind_item"]))
    point["tie_effect"] = TIE_EFFECTS["item",]
    point["slope"][0, 1] = -0.6
    f = evaluator(model)
    sizes = np.cumsum([np.size(x) for x in point.values()])[:-1]

    def total(flat):
        parts = zip(point.items(), np.split(flat, sizes), strict=True)
        return float(f({name: x.reshape(np.shape(at)) for (name, at), x in parts})[1])

    flat = np.concatenate([np.ravel(x) for x in point.values()])
    np.testing.assert_allclose(f(point)[2], gradient(total, flat), atol=1e-6)


def test_deviations_and_slopes_are_read_by_their_labels():
    pairs = pairs_of(LONG, features=["length", "bold"])
    seen = pairs.seen("kind")
    deviation = np.linspace(-0.8, 0.9, len(seen.labels))
    slope = pd.DataFrame({"bold": [0.4, -0.7], "length": [0.1, 1.2]}, index=["v", "u"])
    row_slope = slope.loc[["u", "v"], ["length", "bold"]].to_numpy()[pairs.judge_idx]
    lead = UTILITY[pairs.first] - UTILITY[pairs.second]
    lead = (
        lead + deviation[seen.first] - deviation[seen.second] + (row_slope * pairs.features).sum(1)
    )
    exact = FAMILIES["Davidson"].logp(pairs.counts, lead)
    back = pd.Series(deviation, pd.Index(seen.labels, name="kind_item"))[::-1]
    for known in ({}, {"kind_item": seen.labels[::-1]}):
        with pm.Model(coords=pairs.coords | known) as model:
            given = pm.Data("given", back.to_numpy(), dims="kind_item") if known else back
            br.Davidson("y", UTILITY, nu=0.7, deviation=given, slope=slope, observed=pairs)
        f = evaluator(model)
        check(f, {}, exact)
        br.set_observed("y", pairs, model=model)
        check(f, {}, exact)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"slope": [0.1]}, r"^'y' has slopes, but the pairs have no features. Read them with fea"),
        ({"deviation": [0.1]}, r"^A deviation of 'y' has no dims. .* 'judge_item', 'kind_item'"),
    ],
)
def test_slopes_and_deviations_need_features_and_groups(options, message):
    pairs = pairs_of()
    with pm.Model(coords=pairs.coords), pytest.raises(ValueError, match=message):
        br.Davidson("y", UTILITY, nu=1.0, observed=pairs, **options)
    with (
        pm.Model(),
        pytest.raises(TypeError, match=r"takes (slope|deviation)= only with observed=Pairs"),
    ):
        br.Davidson("y", UTILITY[:2], nu=1.0, observed=[1, 0, 0], **options)


@pytest.mark.parametrize("effect", ["one", "each"])
def test_evidence_weights_are_powers_of_pairs(effect):
    matches = MATCHES.assign(evidence=[0.5, 1.0, 2.0, 0.0, 1.0, 0.1, 1.0, 3.0])
    pairs = pairs_of(matches, weight="evidence", collapse=True)
    model, point = pairs_model("Davidson", pairs, order_effect=effect), point_of("Davidson", effect)
    if effect == "each":
        point["order_effect"] = np.linspace(-0.6, 0.8, pairs.n_pairs)
    exact = exact_logp("Davidson", pairs, order_effect=point.get("order_effect", 0.0))
    assert len(set(pairs.weight)) > 3
    check(evaluator(model), point, exact)


@pytest.mark.parametrize(("family", "tie"), [("Davidson", -0.1), ("RaoKupper", 0.9)])
def test_a_parameter_out_of_its_range_gives_minus_infinity(family, tie):
    (name,) = FAMILIES[family].parameter
    rows, total, _ = evaluator(pairs_model(family))({"utility": UTILITY, name: tie})
    assert total == -np.inf
    assert np.isneginf(rows).all()


# Names


def test_judges_and_groups_are_data_with_their_labels_and_matches():
    pairs = pairs_of()
    model = pairs_model("Davidson", pairs)
    for group, labels in {"judge": ["u", "v"], "kind": ["x", "y"]}.items():
        assert data_dims(model, "y")[f"y_{group}"] == ("pair",)
        np.testing.assert_array_equal(stored(model, group), pairs.group_idx(group))
        assert data_dims(model, "y")[f"y_{group}_matches"] == (group,)
        assert list(model.coords[group]) == labels
    column = {"judge": "who", "kind": "kind"}
    for group, name in column.items():
        played = MATCHES.groupby(name)[["first", "second", "tie"]].sum().sum(axis=1)
        assert stored(model, f"{group}_matches").tolist() == played.tolist()
    assert stored(model, "item_matches").tolist() == [26, 20, 15, 9]
    assert data_dims(model, "y")["y_item_matches"] == ("item",)


# What is refused


def test_ties_in_models_without_ties_are_refused_with_the_way_out():
    for family in ("BradleyTerry", "Thurstone"):
        message = (
            r"The pairs of 'y' have 9 ties, the first between 'a' and 'b', .* Use Davidson or "
            r"RaoKupper\. Or count half a win for each item with pairs\.split_ties\(\)"
        )
        with pytest.raises(ValueError, match=message):
            pairs_model(family, pairs_of())


BAD_SHAPES = [
    (
        {"utility": np.zeros(3)},
        r"`utility` of 'y' has shape \(3,\); .* one per item, shape \(4,\), or two per pair, "
        r"shape \(8, 2\)",
    ),
    ({"utility": np.zeros((2, 8))}, r"`utility` of 'y' has shape \(2, 8\)"),
    (
        {"order_effect": np.zeros(3)},
        r"`order_effect` of 'y' has shape \(3,\); .* one for all, shape \(\), or one per pair, "
        r"shape \(8,\), or one per judge, shape \(2,\), or one per kind, shape \(2,\)",
    ),
    (
        {"order_effect": np.zeros(2)},
        r"The order_effect of 'y' has shape \(2,\) and no names for its axes. It could be one per "
        r"judge, or one per kind",
    ),
    ({"nu": np.ones(3)}, r"`nu` of 'y' has shape \(3,\); with these pairs it is one for all"),
    ({"nu": -1.0}, "`nu` holds -1; it must be finite and at least 0"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD_SHAPES)
def test_parameters_must_fit_the_pairs(arguments, message):
    with pm.Model(), pytest.raises(ValueError, match=message):
        br.Davidson("y", **{"utility": UTILITY, "nu": 1.0} | arguments, observed=pairs_of())


def test_counts_beyond_32_bits_are_refused():
    huge = br.Pairs.from_matrix(np.array([[0, 3_000_000_000], [0, 0]]))
    with pm.Model(), pytest.raises(ValueError, match="is 3000000000, but models store 32 bits"):
        br.BradleyTerry("y", np.zeros(2), observed=huge)


@pytest.mark.parametrize("group", ["side", "term", "effects"])
def test_groups_have_any_other_name(group):
    rows = pd.DataFrame({"one": list("abca"), "two": list("bcab"), group: list("xyxz")})
    columns = {"first": "one", "second": "two", "outcome": "won"}
    pairs = br.Pairs.from_frame(rows.assign(won="first"), by=[group], **columns)
    adherence, utility = np.array([0.5, 1.0, 2.0]), np.array([1.0, 0.0, 3.0])
    with pm.Model(coords=pairs.coords) as model:
        by_group = pm.Data("adherence", adherence, dims=group)
        br.BradleyTerry("y", utility, adherence=by_group, observed=pairs)
    lead = adherence[pairs.group_idx(group)] * (utility[pairs.first] - utility[pairs.second])
    check(evaluator(model), {}, -np.log1p(np.exp(-lead)))
    (dim,) = data_dims(model, "y")[f"y_{group}_matches"]
    assert [*model.coords[dim]] == ["x", "y", "z"]


def test_a_group_that_is_called_like_other_data_is_refused():
    pairs = pairs_of()
    groups = {"counts": pairs.groups["kind"]}
    other = type(pairs)(**{**vars(pairs), "groups": groups})
    with pm.Model(), pytest.raises(ValueError, match="grouped by 'counts', but y_counts is"):
        br.Davidson("y", UTILITY, nu=1.0, observed=other)


# Other data in the same model

MORE = MATCHES.assign(first=[1, 0, 4, 0, 2, 7, 0, 3])
LESS = MATCHES.iloc[[0, 3, 6, 7]].replace({"who": {"u": "w"}})


@pytest.mark.parametrize("effect", [None, "one"])
@pytest.mark.parametrize("matches", [MORE, LESS], ids=["as many", "fewer"])
def test_new_pairs_are_used_by_what_is_compiled(matches, effect):
    model, point = pairs_model("Davidson", order_effect=effect), point_of("Davidson", effect)
    f = evaluator(model)
    f(point)
    pairs = pairs_of(matches)
    br.set_observed("y", pairs, model=model)
    slope = check(f, point, exact_logp("Davidson", pairs, order_effect=EFFECTS[effect]))
    np.testing.assert_allclose(slope, exact_slope("Davidson", pairs, point), atol=1e-7)
    fresh = pairs_model("Davidson", pairs, order_effect=effect)
    assert list(model.coords["pair"]) == list(pairs.labels)
    assert list(model.coords["judge"]) == list(pairs.judges)
    np.testing.assert_array_equal(model["y_data"].get_value(), fresh["y_data"].get_value())
    assert model.coords["y_contents"] == fresh.coords["y_contents"]
    drawn = pm.draw(pm.do(model, point)["y"], random_seed=1, mode=QUICK)
    np.testing.assert_array_equal(drawn.sum(axis=1), pairs.counts.sum(axis=1))


def test_new_pairs_are_put_in_the_order_of_the_model():
    model, point = pairs_model("Davidson", order_effect="one"), point_of("Davidson", "one")
    before = {name: list(labels) for name, labels in model.coords.items()}
    logp = model.compile_logp()
    expected = float(logp(point))
    pairs = pairs_of()
    other = {"item": pairs.items, "judge": pairs.judges, "kind": pairs.group_labels("kind")}
    turned = pairs.reindex({axis: labels[::-1] for axis, labels in other.items()})
    assert list(turned.items) != list(pairs.items)
    br.set_observed("y", turned, model=model)
    assert float(logp(point)) == pytest.approx(expected, rel=1e-12)
    assert {name: list(labels) for name, labels in model.coords.items()} == before


def test_new_pairs_that_do_not_fit_are_refused_before_anything_changes():
    model = pairs_model("BradleyTerry", order_effect="each")
    before = stored(model, "counts")
    plain = br.Pairs.from_matrix(np.ones((4, 4)) - np.eye(4), items=list("abcd"))
    cases = [
        (pairs_of(), "The pairs of 'y' have 9 ties"),
        (plain, r"grouped by \['judge', 'kind'\], but the new pairs by \['judge'\]"),
    ]
    for pairs, message in cases:
        with pytest.raises(ValueError, match=message):
            br.set_observed("y", pairs, model=model)
    np.testing.assert_array_equal(stored(model, "counts"), before)


def test_new_pairs_of_other_items_or_numbers_are_refused():
    one = br.Pairs.from_matrix([[0, 3, 1], [1, 0, 1], [1, 1, 0]], items=["a", "b", "c"])
    cases = [
        (br.Pairs.from_matrix([[0, 3], [1, 0]], items=["a", "b"]), "has 3 labels, and they have 2"),
        (
            br.Pairs.from_matrix([[0, 3, 1], [1, 0, 1], [1, 1, 0]], items=["a", "x", "c"]),
            "'item', which has 'b' where they have 'x'. Read the pairs with items=",
        ),
        (
            br.Pairs.from_matrix([[0, 3, 0], [1, 0, 1], [0, 1, 0]], items=["a", "b", "c"]),
            "'y' has 3 order effects, but the new pairs have 2 rows. Declare the order effects",
        ),
    ]
    with pm.Model(coords=one.coords) as model:
        utility, effect = pm.Flat("utility", dims="item"), pm.Flat("effect", shape=3)
        br.BradleyTerry("y", utility, order_effect=effect, observed=one)
    for pairs, message in cases:
        with pytest.raises(ValueError, match=message):
            br.set_observed("y", pairs, model=model)
    np.testing.assert_array_equal(stored(model, "counts"), one.counts[:, :2])


def test_values_that_are_not_the_observed_have_their_probability_too():
    pairs = pairs_of()
    with pm.Model():
        y = br.Davidson("y", UTILITY, nu=0.7, observed=pairs)
    value = pairs.counts[:, [1, 0, 2]]
    lead = UTILITY[pairs.second] - UTILITY[pairs.first]
    exact = FAMILIES["Davidson"].logp(pairs.counts, lead)
    np.testing.assert_allclose(pm.logp(y, value).eval(mode=QUICK), exact, rtol=1e-12)
    negative = np.where(value == 5, -5, value)
    found = pm.logp(y, negative).eval(mode=QUICK)
    assert np.isneginf(found).tolist() == (value == 5).any(axis=1).tolist()


@pytest.mark.parametrize("effect", ["one", "each"])
def test_transformed_models_keep_their_probabilities_and_draws(effect):
    model, point = pairs_model("Davidson", order_effect=effect), point_of("Davidson", effect)
    exact = exact_logp("Davidson", pairs_of(), order_effect=EFFECTS[effect])
    for other in (freeze_dims_and_data(model), model.copy()):
        check(evaluator(other), point, exact)
    rest = {name: x for name, x in point.items() if name != "nu"}
    check(evaluator(pm.do(model, {"nu": 0.7})), rest, exact)
    assert pm.draw(pm.do(model, point)["y"], random_seed=1, mode=QUICK).shape == (8, 3)


@pytest.mark.parametrize("copy_of", [pm.Model.copy, copy.deepcopy, freeze_dims_and_data])
def test_new_data_are_refused_while_another_model_would_change_with_them(copy_of):
    model, new = pairs_model("Davidson"), pairs_of()[:3]
    other = copy_of(copy_of(model)) if copy_of is pm.Model.copy else copy_of(model)
    for one in (model, other) if copy_of is not freeze_dims_and_data else (model,):
        with pytest.raises(ValueError, match=r"A copy .* would change too\. .* cloudpickle"):
            br.set_observed("y", new, model=one)
        own = cloudpickle.loads(cloudpickle.dumps(one))
        br.set_observed("y", new, model=own)
        check(evaluator(own), point_of("Davidson"), exact_logp("Davidson", new))
    for one in (model, other):
        check(evaluator(one), point_of("Davidson"), exact_logp("Davidson", pairs_of()))
    del other, one
    br.set_observed("y", new, model=model)
    check(evaluator(model), point_of("Davidson"), exact_logp("Davidson", new))


def test_variables_that_draw_alike_differ_by_the_axes_of_their_parameters():
    def op_of(group):
        with pm.Model(coords=pairs_of(ties=False).coords) as model:
            adherence = pm.HalfNormal("adherence", 1.0, dims=group)
            data = pairs_of(ties=False)
            br.BradleyTerry("y", UTILITY, adherence=adherence, observed=data)
        return model["y"].owner.op

    op, again, other = op_of("judge"), op_of("judge"), op_of("kind")
    assert op == again
    assert hash(op) == hash(again)
    assert op.fgraph == other.fgraph
    assert op != other


# Samplers and what comes after them


@pytest.mark.parametrize(
    ("family", "effect"),
    # one of each Op in the slow set
    [("Davidson", "each")]
    + [pytest.param(f, "one", marks=pytest.mark.slow) for f in ("Thurstone", "RaoKupper")],
)
def test_jax_has_the_value_and_the_gradient(family, effect):
    jax = pytest.importorskip("jax")
    pairs = pairs_of(ties=family in WITH_TIES)
    model, point = pairs_model(family, pairs, order_effect=effect), point_of(family, effect)
    inputs = [np.asarray(point[v.name], dtype=float) for v in model.value_vars]
    logp = get_jaxified_logp(model)
    value, slopes = jax.jit(jax.value_and_grad(lambda x: logp(x)))(inputs)
    exact = exact_logp(family, pairs, order_effect=EFFECTS[effect])
    assert float(value) == pytest.approx(exact.sum(), rel=1e-12)
    flat = np.concatenate([np.ravel(slope) for slope in slopes])
    np.testing.assert_allclose(flat, exact_slope(family, pairs, point), atol=1e-7)


def test_the_constant_of_the_sum_over_pairs_is_exact():
    """A BLAS product's last digit depends on threads, and derived numbers are compared exactly."""
    rng = np.random.default_rng(5)
    matches = pd.DataFrame({"a": rng.integers(0, 75, 9_000), "b": rng.integers(75, 150, 9_000)})
    matches["winner"] = rng.choice(["first", "second"], 9_000)
    pairs = br.Pairs.from_frame(matches.astype(str), first="a", second="b", outcome="winner")
    model = pairs_model("BradleyTerry", pairs)
    inputs = {x.name: x for x in model["y"].owner.inputs}
    constant = known_value(inputs["y_cell_log_multinomial"])
    assert constant == math.fsum(pairs.weight * log_multinomial(pairs.counts))
