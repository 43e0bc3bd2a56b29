"""Models of pairs, counts and interactions with random dims, against loops over what was observed.

Models of rankings are in `test_by_name`.
"""

import warnings
from math import lgamma

import numpy as np
import pandas as pd
import pymc as pm
import pymc.dims as pmd
import pytest

import bayesrank as br
from bayesrank.data import UncomparedItemWarning
from tests.distributions.loops import outcome_logs, tables_by_loop

QUICK = "FAST_COMPILE"
JUDGES, ITEMS = ["ann", "bob", "cy"], list("abcd")
RANKERS = [*JUDGES, "dee"]
GROUPS = {"judge": JUDGES, "season": [2024, 2025], "court": ["clay", "grass", "sand"]}


def some_pairs(rng, ties):
    """Matches of some items before some judges, in seasons and on courts."""
    items = rng.permutation(ITEMS)[: rng.integers(2, 5)]
    rows = []
    for _ in range(rng.integers(1, 9)):
        one, other = rng.permutation(items)[:2]
        row = {"one": one, "other": other} | {by: rng.choice(x) for by, x in GROUPS.items()}
        rows.append(row | {"won": rng.choice(["first", "second", "tie"][: 2 + ties])})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UncomparedItemWarning)
        return br.Pairs.from_frame(
            pd.DataFrame(rows), first="one", second="other", outcome="won", judge="judge",
            by=["season", "court"], items=rng.permutation(items),
        )  # fmt: skip


def given(rng, name, values, dims):
    """A parameter with dims, said in one way or another, or of a dim that its labels tell."""
    how = rng.integers(3)
    if how == 2 and len(dims) == 1 and dims != ("slot",):  # labels tell what it is
        model = pm.modelcontext(None)
        other = f"{dims[0]}_of_{name}"
        model.add_coord(other, model.coords[dims[0]])
        return pm.Data(name, values, dims=other)
    if how == 1:
        return pmd.as_xtensor(values, dims=dims)
    return pm.Data(name, values, dims=dims)


def by_match(pairs, dims, row, side=None):
    """Where the parameter of a pair is in an array with these dims."""
    at = {by: pairs.group_idx(by)[row] for by in GROUPS} | {"pair": row, "side": side}
    item = {0: pairs.first, 1: pairs.second}.get(side, pairs.first)[row]
    return tuple({**at, "item": item}[dim] for dim in dims)


def logp_of(model):
    (found,) = model.compile_logp(vars=model["y"], sum=False, mode=QUICK)({})
    total = model.compile_logp(vars=model["y"], mode=QUICK)({})
    assert float(total) == pytest.approx(np.sum(found), abs=1e-9)
    return found


TIES = {br.Davidson: ("nu", 0.0), br.RaoKupper: ("theta", 1.0)}


def check_pairs(seed):
    rng = np.random.default_rng(seed)
    family = [br.BradleyTerry, br.Thurstone, br.Davidson, br.RaoKupper][rng.integers(4)]
    pairs = some_pairs(rng, ties=family in TIES)
    labels = {dim: len(x) for dim, x in pairs.coords.items()} | {"side": 2}

    def some_groups(*own):
        beside = rng.permutation([*GROUPS])[: rng.choice([0, 0, 1, 1, 2, 3])]
        return tuple(rng.permutation([*own, *beside]).tolist())

    dims = {"utility": ("pair", "side") if rng.integers(6) == 0 else some_groups("item")}
    parameters = ["adherence", "order_effect", *([TIES[family][0]] if family in TIES else [])]
    same = some_groups()  # of all, which the sum is then over, or of each
    for name in parameters:
        dims[name] = [(), ("pair",), some_groups(), same, same, same][rng.integers(6)]
    values = {name: rng.normal(size=[labels[d] for d in by]) for name, by in dims.items()}
    if family in TIES:
        name, least = TIES[family]
        values[name] = least + np.exp(values[name])
    with pm.Model(coords=pairs.coords | {"side": ["first", "second"]}) as model:
        p = {name: given(rng, name, values[name], by) for name, by in dims.items()}
        family("y", p.pop("utility"), **p, observed=pairs)

    exact = []
    for row, counts in enumerate(pairs.counts):
        own = {name: values[name][by_match(pairs, dims[name], row)] for name in parameters}
        one, other = (values["utility"][by_match(pairs, dims["utility"], row, s)] for s in (0, 1))
        lead = own["adherence"] * (one - other) + own["order_effect"]
        logs = outcome_logs(family, lead, own.get(TIES[family][0]) if family in TIES else None)
        counts = counts[: len(logs)]
        ways = lgamma(counts.sum() + 1) - sum(lgamma(c + 1) for c in counts)
        exact.append(ways + counts @ logs)
    message = f"{seed} {family.__name__} {dims}"
    np.testing.assert_allclose(logp_of(model), exact, atol=1e-9, err_msg=message)


def some_counts(rng):
    """Counts of some rankers, in regions and of ages, and of items in one or two problems."""
    n, n_rankers = rng.integers(2, 5), rng.integers(1, 5)
    items = rng.permutation(ITEMS)[:n]
    problem = np.array([0] * n if n < 4 or rng.integers(2) else [0, 1, 0, 1])
    rows = []
    for who in RANKERS[:n_rankers]:
        for _ in range(rng.integers(0, 6)):
            i, j = rng.permutation(n)[:2]
            if problem[i] == problem[j]:
                rows.append((who, items[i], items[j], rng.integers(1, 4), problem[i]))
    i, j = np.flatnonzero(problem == problem[-1])[:2]
    rows += [(who, items[i], items[j], 1, problem[i]) for who in RANKERS[:n_rankers]]
    frame = pd.DataFrame(rows, columns=["who", "one", "other", "times", "problem"])
    own = pd.DataFrame({"who": RANKERS[:n_rankers]})
    own["region"] = rng.choice(["north", "south"], n_rankers)
    own["age"] = rng.choice([20, 40, 60], n_rankers)
    counts = br.PairCounts.from_frame(
        frame, first="one", second="other", count="times", ranker="who", problem="problem"
    )
    axes = {"item": counts.items, "ranker": counts.rankers, "problem": counts.problems}
    return counts.grouped(own.set_index("who").to_dict()).reindex(
        {axis: labels.take(rng.permutation(len(labels))) for axis, labels in axes.items()}
    )


COUNT_AXES = ["ranker", "region", "age", "problem"]


def check_counts(seed):
    rng = np.random.default_rng(seed)
    counts = some_counts(rng)

    def some_axes(*own):
        beside = rng.permutation(COUNT_AXES)[: rng.choice([0, 0, 1, 1, 2, 3])]
        return tuple(rng.permutation([*own, *beside]).tolist())

    dims = {"score": some_axes("item")}
    if rng.integers(2):
        dims["variance"] = some_axes(*(["item"] if rng.integers(3) else []))
    if rng.integers(3):
        dims["adherence"] = some_axes()
    values = {
        name: rng.normal(size=[len(counts.coords[d]) for d in own]) for name, own in dims.items()
    }
    values |= {name: np.exp(values[name]) for name in dims if name != "score"}
    given_pairs = bool(rng.integers(2))
    with pm.Model(coords=counts.coords) as model:
        p = {name: given(rng, name, values[name], by) for name, by in dims.items()}
        br.MPM("y", p.pop("score"), **p, given_pairs=given_pairs, observed=counts)
    message = f"{seed} {dims} {given_pairs}"
    exact = tables_by_loop(counts, values, dims, given_pairs)
    np.testing.assert_allclose(logp_of(model), exact, atol=1e-9, err_msg=message)
    if seed % 4 == 0:  # others, which what is compiled takes
        compiled = model.compile_logp(vars=model["y"], sum=False, mode=QUICK)
        kept = rng.permutation(counts.rankers)
        new = counts.reindex({"ranker": kept}).weighted(2.0)
        br.set_observed("y", new, model=model)
        np.testing.assert_allclose(compiled({})[0], 2.0 * exact, atol=1e-9, err_msg=message)
    draws = pm.draw(model["y"], random_seed=seed, mode=QUICK)
    each = np.abs(draws).sum(axis=1)
    assert (each <= 2 * counts.total()).all(), message
    for p in range(len(counts.problems)):
        assert not draws[:, counts.problem_idx == p].sum(axis=1).any(), message


RANKING_DIMS = [
    ("item",), ("ranking", "slot"), ("slot", "ranking"), ("ranking", "item"), ("ranker", "item"),
    ("item", "ranker"), ("season", "item"), ("item", "season"), ("court", "item", "season"),
    ("season", "ranker", "item"), ("slot", "court"), ("slot",), ("ranker", "slot", "season"),
]  # fmt: skip


def check_interactions(seed):
    rng = np.random.default_rng(seed)
    items = rng.permutation(ITEMS)[: rng.integers(2, 5)]
    rows = [rng.permutation(items) for _ in range(rng.integers(1, 5))]
    cuts = [rng.integers(1, len(items)) for _ in rows]
    blocks = [[set(x[:k].tolist()), set(x[k:].tolist())] for x, k in zip(rows, cuts, strict=True)]
    if rng.integers(2):
        who = rng.permutation(["u", "v", "w", "x"])[: len(rows)]
        data = br.Interactions.from_rankings(
            br.Rankings.from_orderings(blocks, rankers=who, items=rng.permutation(items))
        )
        dims = [("item",), ("user", "item"), ("item", "user")][rng.integers(3)]
        has = np.zeros((data.n_users, data.n_items), dtype=bool)
        has[data.user_idx, data.item] = True
    else:
        data = br.Rankings.from_orderings(
            blocks, rankers=rng.choice(JUDGES, len(rows)), items=rng.permutation(items)
        ).grouped({by: rng.choice([1, 2, 3], len(rows)) for by in ("season", "court")})
        dims = RANKING_DIMS[rng.integers(len(RANKING_DIMS))]
    values = rng.normal(size=[len(data.coords[dim]) for dim in dims])
    with pm.Model(coords=data.coords) as model:
        br.BPR("y", given(rng, "utility", values, dims), observed=data)

    exact = 0.0
    if isinstance(data, br.Interactions):
        for u in range(data.n_users):
            own = np.array([values[tuple({"user": u, "item": i}[d] for d in dims)]
                            for i in range(data.n_items)])  # fmt: skip
            exact -= np.log1p(np.exp(own[~has[u]] - own[has[u]][:, None])).sum()
    else:
        for r in range(data.n_rankings):
            at = {
                "ranking": r,
                "ranker": data.ranker_idx[r],
            } | {by: group.idx[r] for by, group in data.groups.items()}
            own = np.array([
                values[tuple({**at, "item": data.item[r, s], "slot": s}[d] for d in dims)]
                for s in range(data.n_slots)
            ])  # fmt: skip
            better = data.ranks[r] == 1
            exact -= np.log1p(np.exp(own[data.ranks[r] == 2] - own[better][:, None])).sum()
    total = float(model.compile_logp(vars=model["y"], mode=QUICK)({}))
    assert total == pytest.approx(exact, abs=1e-9), f"{seed} {dims}"


CHECKS = [check_pairs, check_counts, check_interactions]


@pytest.mark.parametrize("check", CHECKS)
def test_random_models_are_what_a_loop_says(check):
    for seed in range(8):
        check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS)
def test_seven_hundred_random_models_are_what_a_loop_says(check):
    for seed in range(8, 708):
        check(seed)


# ---------------------------------------------------------------------------------------------
# Labels are compared, not lengths
# ---------------------------------------------------------------------------------------------

MATCHES = br.Pairs.from_frame(
    pd.DataFrame(
        {"one": ["a", "b", "c"], "other": ["b", "c", "a"], "won": "first", "judge": ["z", "x", "y"]}
    ),
    first="one", second="other", outcome="won", judge="judge",
)  # fmt: skip
COUNTED = br.PairCounts.from_matrix(np.triu(np.ones((3, 3, 3)), 1), items=["a", "b", "c"],
                                    rankers=["x", "y", "z"])  # fmt: skip
HAD = br.Interactions.from_frame(
    pd.DataFrame({"u": ["x", "y", "z"], "i": ["a", "b", "c"]}), user="u", item="i"
)


@pytest.mark.parametrize(
    ("observed", "build", "dims", "message"),
    [
        (MATCHES, lambda x: br.BradleyTerry("y", np.zeros(3), adherence=x, observed=MATCHES),
         ("item",), r"adherence of 'y' is by item of the pairs; it is one for all, or one per "),
        (MATCHES, lambda x: br.BradleyTerry("y", x, observed=MATCHES),
         ("judge",), r"utility of 'y' is by judge of the pairs; it is one per item, or two per "),
        (COUNTED, lambda x: br.MPM("y", np.zeros(3), adherence=x, observed=COUNTED),
         ("item",), r"adherence of 'y' is by item of .* and by any of ranker, problem"),
        (COUNTED, lambda x: br.MPM("y", x, observed=COUNTED),
         ("ranker",), r"score of 'y' is by ranker of .* it is one per item, or one per ranker"),
        (COUNTED, lambda x: br.MPM("y", np.zeros(3), adherence=x, observed=COUNTED),
         ("strangers",), r"'strangers' of the adherence of 'y' \('p', 'q', 'r'\) are those of no"),
    ],
)  # fmt: skip
def test_what_is_as_long_and_of_something_else_is_refused(observed, build, dims, message):
    coords = observed.coords | {"strangers": ["p", "q", "r"]}
    with pm.Model(coords=coords), pytest.raises(ValueError, match=message):
        build(pm.Flat("x", dims=dims))


@pytest.mark.parametrize(
    ("observed", "build", "axis"),
    [
        (MATCHES, lambda x: br.BradleyTerry("y", np.arange(3.0), order_effect=x, observed=MATCHES),
         "judge"),
        (MATCHES, lambda x: br.BradleyTerry("y", x, observed=MATCHES), "item"),
        (COUNTED, lambda x: br.MPM("y", np.arange(3.0), adherence=x, observed=COUNTED), "ranker"),
        (HAD, lambda x: br.BPR("y", x, observed=HAD), "item"),
    ],
)  # fmt: skip
def test_labels_in_another_order_are_put_in_the_order_of_the_data(observed, build, axis):
    labels, values = observed.coords[axis], np.array([0.3, 1.0, 2.5])
    turned = [labels[2], labels[0], labels[1]]
    found = []
    for order in (labels, turned):
        with pm.Model(coords={"turned": order}) as model:
            build(pm.Flat("x", dims="turned"))
        of = dict(zip(labels, values, strict=True))
        at = {"x": np.array([of[label] for label in order])}
        found.append(float(model.compile_logp(mode=QUICK)(at)))
    constant = pd.Series(values, index=labels)[turned]
    with pm.Model() as model:
        build(constant)
    found.append(float(model.compile_logp(mode=QUICK)({})))
    np.testing.assert_allclose(found, found[0], rtol=1e-12)


def test_a_table_by_item_and_user_is_no_table_by_user_and_item():
    table = np.array([[0.0, 1.0, 2.0], [5.0, 5.0, 9.0], [1.0, 0.0, -3.0]])
    found = []
    for dims, values in ((("user", "item"), table), (("item", "user"), table.T)):
        with pm.Model(coords=HAD.coords) as model:
            br.BPR("y", pm.Data("x", values, dims=dims), observed=HAD)
        found.append(float(model.compile_logp(mode=QUICK)({})))
    assert found[0] == pytest.approx(found[1], rel=1e-12)


def test_new_interactions_of_other_items_are_refused():
    other = pd.DataFrame({"u": ["x", "y", "z"], "i": ["a", "b", "d"]})
    turned = pd.DataFrame({"u": ["x", "y", "z"], "i": ["c", "b", "a"]})
    for dims in (("item",), ("user", "item")):
        with pm.Model(coords=HAD.coords) as model:
            br.BPR("y", pm.Flat("x", dims=dims), observed=HAD)
        new = br.Interactions.from_frame(other, user="u", item="i", items=["a", "b", "d"])
        with pytest.raises(ValueError, match=r"^The items of the interactions of 'y' are"):
            br.set_observed("y", new, model=model)
        new = br.Interactions.from_frame(turned, user="u", item="i", items=["c", "b", "a"])
        br.set_observed("y", new, model=model)
        new = br.Interactions.from_frame(turned, user="u", item="i", items=["a", "b", "c"])
        br.set_observed("y", new, model=model)


def test_rankings_of_something_else_cannot_follow():
    with pm.Model(coords=HAD.coords) as model:
        br.BPR("y", pm.Flat("x", dims=("user", "item")), observed=HAD)
    with pytest.raises(ValueError, match=r"or they are by something else than these are\.$"):
        br.set_observed("y", HAD.to_rankings(), model=model)
    rankings = HAD.to_rankings()
    by_season = rankings.grouped({"season": [1, 2, 3]})
    with pm.Model(coords=by_season.coords) as model:
        br.BPR("y", pm.Flat("x", dims=("season", "item")), observed=by_season)
    for new in (rankings, rankings.grouped({"court": [1, 2, 3]})):
        with pytest.raises(ValueError, match=r"or they are by something else than these are\.$"):
            br.set_observed("y", new, model=model)
