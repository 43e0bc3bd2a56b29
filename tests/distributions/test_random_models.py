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
from tests.builders import evaluator
from tests.distributions.mpm_examples import tables_by_loop
from tests.distributions.pair_examples import outcome_logs

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
    how, model = rng.integers(3), pm.modelcontext(None)
    # labels tell what it is, and numbers from 0 do not
    if how == 2 and len(dims) == 1 and dims not in (("slot",), ("problem",)):
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


def check(compiled, exact, message):
    found, total, _ = compiled({})
    np.testing.assert_allclose(found, exact, atol=1e-9, err_msg=message)
    assert float(total) == pytest.approx(np.sum(exact), abs=1e-9), message


TIES = {br.Davidson: ("nu", 0.0), br.RaoKupper: ("theta", 1.0)}


def check_pairs(seed):
    rng = np.random.default_rng(seed)
    family = [br.BradleyTerry, br.Thurstone, br.Davidson, br.RaoKupper][rng.integers(4)]
    pairs = some_pairs(rng, ties=family in TIES)
    labels = {dim: len(x) for dim, x in pairs.coords.items()} | {"side": 2}

    def some_groups(*required):
        beside = rng.permutation([*GROUPS])[: rng.choice([0, 0, 1, 1, 2, 3])]
        return tuple(rng.permutation([*required, *beside]).tolist())

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
        by_pair = {name: values[name][by_match(pairs, dims[name], row)] for name in parameters}
        one, other = (values["utility"][by_match(pairs, dims["utility"], row, s)] for s in (0, 1))
        lead = by_pair["adherence"] * (one - other) + by_pair["order_effect"]
        logs = outcome_logs(family, lead, by_pair.get(TIES[family][0]) if family in TIES else None)
        counts = counts[: len(logs)]
        ways = lgamma(counts.sum() + 1) - sum(lgamma(c + 1) for c in counts)
        exact.append(ways + counts @ logs)
    check(evaluator(model), exact, f"{seed} {family.__name__} {dims}")


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
    people = pd.DataFrame({"who": RANKERS[:n_rankers]})
    people["region"] = rng.choice(["north", "south"], n_rankers)
    people["age"] = rng.choice([20, 40, 60], n_rankers)
    counts = br.PairCounts.from_frame(
        frame, first="one", second="other", count="times", ranker="who", problem="problem"
    )
    axes = {"item": counts.items, "ranker": counts.rankers, "problem": counts.problems}
    return counts.grouped(people.set_index("who").to_dict()).reindex(
        {axis: labels.take(rng.permutation(len(labels))) for axis, labels in axes.items()}
    )


COUNT_AXES = ["ranker", "region", "age", "problem"]


def check_counts(seed):
    rng = np.random.default_rng(seed)
    counts = some_counts(rng)

    def some_axes(*required):
        beside = rng.permutation(COUNT_AXES)[: rng.choice([0, 0, 1, 1, 2, 3])]
        return tuple(rng.permutation([*required, *beside]).tolist())

    dims = {"score": some_axes("item")}
    if rng.integers(2):
        dims["variance"] = some_axes(*(["item"] if rng.integers(3) else []))
    if rng.integers(3):
        dims["adherence"] = some_axes()
    values = {
        name: rng.normal(size=[len(counts.coords[d]) for d in axes]) for name, axes in dims.items()
    }
    values |= {name: np.exp(values[name]) for name in dims if name != "score"}
    with pm.Model(coords=counts.coords) as model:
        p = {name: given(rng, name, values[name], by) for name, by in dims.items()}
        br.MPM("y", p.pop("score"), **p, observed=counts)
    message = f"{seed} {dims}"
    exact = tables_by_loop(counts, values, dims)
    compiled = evaluator(model)
    check(compiled, exact, message)
    if seed % 4 == 0:  # others, which what is compiled takes
        kept = rng.permutation(counts.rankers)
        new = counts.reindex({"ranker": kept}).weighted(2.0)
        br.set_observed("y", new, model=model)
        check(compiled, 2.0 * exact, message)
    draws = pm.draw(model["y"], random_seed=seed, mode=QUICK)
    margins = np.abs(draws).sum(axis=1)
    assert (margins <= 2 * counts.total()).all(), message
    for p in range(len(counts.problems)):
        assert not draws[:, counts.problem_idx == p].sum(axis=1).any(), message


CHECKS = [check_pairs, check_counts]


@pytest.mark.parametrize("check", CHECKS)
def test_random_models_agree_with_a_loop(check):
    for seed in range(4):
        check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS)
def test_seven_hundred_random_models_agree_with_a_loop(check):
    for seed in range(8, 708):
        check(seed)
