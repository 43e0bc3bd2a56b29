"""Best-worst choices by three likelihoods, and scales of stages; the rest is in the battery."""

import numpy as np
import pymc as pm
import pytest
from pymc.testing import assert_support_point_is_expected
from scipy.special import log_expit, logsumexp

import bayesrank as br
from tests.cases import _marley_logp, _sequential_logp, _staged_logp
from tests.fake_draws import fake_draws

FAST = {"mode": "FAST_COMPILE"}
ORACLES = {"sequential": _sequential_logp, "marley": _marley_logp}
TASKS = br.Rankings.from_orderings(
    [["a", {"b", "c"}, "d"], ["e", {"a", "d"}, "b"], ["c", "a"], ["d", {"b", "c", "e"}, "a"]],
    rankers=["x", "y", "x", "y"],
    items=list("abcde"),
    weight=[1, 2, 1, 3],
    rest=(),
)
LISTS = br.Rankings.from_orderings(
    [list("abcd"), ["b", {"a", "d"}], ["e", "d", {"a", "b", "c"}], list("cae")],
    rankers=["x", "y", "x", "y"],
    items=list("abcde"),
    weight=[1, 2, 1, 3],
    rest=(),
)
UTILITY = np.array([[0.3, 1.0, -0.5, 0.0, 0.8], [-1.0, 2.0, 0.1, 0.4, -0.6]])  # of x and of y
SCALE = np.array([[1.0, 0.5, 0.0], [2.0, 1.5, 0.3]])


def row_logps(data, logp):
    """Log-probability of each ranking from its items, ranks and ranker, times its weight."""
    rows = zip(data.item, data.ranks, data.ranker_idx, strict=True)
    logps = [logp(item[ranks > 0], ranks[ranks > 0], ranker) for item, ranks, ranker in rows]
    return data.weight * logps


# The likelihoods of a pair; the exact one is Plackett-Luce of a weak order


def test_a_set_of_two_is_bradley_terry_and_twice_the_difference_for_marley():
    lead = np.array([-3.0, -0.2, 0.0, 1.7])
    utility = np.stack([lead, np.zeros(4)], axis=1)
    dists = {
        1: br.MaxDiff.dist(utility),
        2: br.MaxDiff.dist(utility, method="marley"),
    }
    for times, dist in dists.items():
        found = pm.logp(dist, np.tile([1, 2], (4, 1))).eval()
        np.testing.assert_allclose(found, log_expit(times * lead), atol=1e-12)


@pytest.mark.parametrize("method", ORACLES)
def test_observed_choices_have_the_log_probability_of_each_task_by_person(method):
    with pm.Model(coords=TASKS.coords) as model:
        u = pm.Normal("u", dims=("ranker", "item"))
        y = br.MaxDiff("y", u, method=method, observed=TASKS)
        drawn = pm.draw(y, 50, random_seed=1)
    logp = model.compile_logp(vars=y, sum=False)
    oracle = ORACLES[method]

    def exact(tasks):
        return row_logps(tasks, lambda item, ranks, who: oracle(UTILITY[who][item], ranks))

    np.testing.assert_allclose(logp({"u": UTILITY})[0], exact(TASKS), atol=1e-12)
    best, worst = (drawn == 1).sum(axis=2), (drawn == TASKS.ranks.max(axis=1)[:, None]).sum(axis=2)
    assert (best == 1).all()
    assert (worst == 1).all()
    np.testing.assert_array_equal(drawn > 0, np.broadcast_to(TASKS.mask, drawn.shape))
    some = TASKS.subset([3, 1])
    br.set_observed("y", some, model=model)
    np.testing.assert_allclose(logp({"u": UTILITY})[0], exact(some), atol=1e-12)
    with pytest.raises(
        ValueError, match=r"'y' needs best-worst.* Ranking 'y' has blocks of 1, 2 items"
    ):
        br.set_observed(
            "y",
            br.Rankings.from_orderings(
                [["a", "b"], ["b", {"a", "c"}]],
                items=list("abcde"), rankers=["x", "y"], rest=(),
            ),
            model=model,
        )  # fmt: skip


def test_utilities_may_be_of_slots_and_of_an_array():
    slots = np.arange(TASKS.ranks.size, dtype=float).reshape(TASKS.ranks.shape) / 7
    with pm.Model(coords=TASKS.coords) as model:
        y = br.MaxDiff("y", slots, utility_dims=("ranking", "slot"), observed=TASKS)
        z = br.MaxDiff("z", slots, observed=TASKS.ranks)
    found = [x.eval() for x in model.logp(vars=[y, z], sum=False)]
    np.testing.assert_allclose(found[0], TASKS.weight * found[1], atol=1e-12)
    exact = [_sequential_logp(u[r > 0], r[r > 0]) for u, r in zip(slots, TASKS.ranks, strict=True)]
    np.testing.assert_allclose(found[1], exact, atol=1e-12)


def test_the_support_point_has_the_first_slot_as_the_best_and_the_last_as_the_worst():
    with pm.Model() as model:
        br.MaxDiff("x", np.zeros(5), where=[False, True, True, True, False])
    assert_support_point_is_expected(model, np.array([0, 1, 2, 3, 0]))
    with pm.Model() as model:
        br.MaxDiff("x", np.zeros(2), shape=(3, 2))
    assert_support_point_is_expected(model, np.tile([1, 2], (3, 1)))


def test_rankings_that_are_no_best_worst_choices_and_unknown_methods_are_refused():
    with (
        pm.Model(coords=LISTS.coords),
        pytest.raises(
            ValueError,
            match=r"others on one rank between. Ranking 0 has blocks of 1, 1, 1, 1 it",
        ),
    ):
        br.MaxDiff("y", np.zeros(5), observed=LISTS)
    with pm.Model(), pytest.raises(ValueError, match="Ranking 1 has blocks of 1, 2 items"):
        br.MaxDiff("y", np.zeros(3), observed=[[1, 2, 3], [2, 1, 2]])
    with pytest.raises(ValueError, match=r"`method` is 'exact'; .* use br.PlackettLuce"):
        br.MaxDiff.dist(np.zeros(3), method="exact")


@pytest.mark.filterwarnings("ignore:.*Pareto k")  # few tasks, and no posterior
def test_all_three_likelihoods_are_compared():
    trees = {}
    for name, family, options in (
        ("exact", br.PlackettLuce, {}),
        ("sequential", br.MaxDiff, {}),
        ("marley", br.MaxDiff, {"method": "marley"}),
    ):
        with pm.Model(coords=TASKS.coords):
            family("y", pm.Normal("utility", dims="item"), observed=TASKS, **options)
            trees[name] = fake_draws(draws=60)
            pm.compute_log_likelihood(trees[name], progressbar=False, compile_kwargs=FAST)
    table = br.compare(trees)
    assert {*table.index} == {*trees, "random ranking"}
    # one of K (K - 1) pairs
    pairs = sum(w * np.log(k * (k - 1)) for w, k in zip(TASKS.weight, [4, 4, 2, 5], strict=True))
    assert table.loc["random ranking", "elpd"] == pytest.approx(-pairs)


# Scales of stages


TOP = br.Rankings.from_orderings(
    [["a", {"b", "c", "d"}], ["b", {"a", "d"}], ["e", {"a", "b", "c", "d"}], ["c", {"a", "e"}]],
    rankers=["x", "y", "x", "y"],
    items=list("abcde"),
    weight=[1, 2, 1, 3],
    rest=(),
)  # the best items of the lists


def staged(item, ranks, who):
    return _staged_logp(UTILITY[who][item], ranks, SCALE[who])


def test_observed_lists_have_scales_by_stage_and_person():
    with pm.Model(coords=LISTS.coords | {"stage": [1, 2, 3]}) as model:
        u = pm.Normal("u", dims=("ranker", "item"))
        scale = pm.HalfNormal("scale", dims=("stage", "ranker"), default_transform=None)
        y = br.PlackettLuce("y", u, stage_scale=scale, observed=LISTS)
    drawn = pm.draw(y, 20, random_seed=1)
    np.testing.assert_array_equal(
        np.sort(drawn), np.broadcast_to(np.sort(LISTS.ranks), drawn.shape)
    )
    logp = model.compile_logp(vars=y, sum=False)
    at = {"u": UTILITY, "scale": SCALE.T}
    np.testing.assert_allclose(logp(at)[0], row_logps(LISTS, staged), atol=1e-12)
    some = LISTS.subset([2, 1])
    br.set_observed("y", some, model=model)
    np.testing.assert_allclose(logp(at)[0], row_logps(some, staged), atol=1e-12)


def test_equal_scales_are_plackett_luce_and_missing_ones_are_random():
    with pm.Model(coords=LISTS.coords) as model:
        u = pm.Data("u", UTILITY, dims=("ranker", "item"))
        plain = br.PlackettLuce("plain", u, observed=LISTS)
        scaled = br.PlackettLuce("scaled", u, stage_scale=np.ones(4), observed=LISTS)
        first = br.PlackettLuce("first", u, stage_scale=[1.0], observed=LISTS)
        top = br.PlackettLuce("top", u, observed=TOP)
    found = {x.name: x for x in model.observed_RVs}
    logps = [x.eval() for x in model.logp(vars=[*found.values()], sum=False)]
    plain, scaled, first, top = (logp / LISTS.weight for logp in logps)
    np.testing.assert_allclose(scaled, plain, atol=1e-12)
    # the second and third place at random: 3!, then none, 2 items of 4, then 2!
    others = [np.log(6), 0.0, np.log(4), np.log(2)]
    np.testing.assert_allclose(first, top - others, atol=1e-12)


def test_stages_are_drawn_with_the_scales_of_arrays():
    utility = np.array([4.0, 2.0, 0.0, -2.0])
    dist = br.PlackettLuce.dist(utility, stage_scale=[50.0, 0.0, 50.0], shape=(2000, 4))
    drawn = pm.draw(dist, random_seed=1)
    assert (drawn[:, 0] == 1).all()
    share = (drawn[:, 1:] == 2).mean(axis=0)
    np.testing.assert_allclose(share, 1 / 3, atol=0.05)
    left = np.where(drawn[:, 1] == 2, drawn[:, 2], drawn[:, 1])  # the better of the other two
    assert (left == 3).all()


def test_scales_are_refused_where_a_block_before_the_last_has_several_items():
    message = r"'y' has stage_scale=.*: ranking 0 has several items on rank 2, before its last"
    with pm.Model(coords=TASKS.coords), pytest.raises(ValueError, match=message):
        br.PlackettLuce("y", np.zeros(5), stage_scale=[1.0, 0.5], observed=TASKS)
    with pm.Model(), pytest.raises(ValueError, match="ranking 1 has several items on rank 1"):
        br.PlackettLuce("y", np.zeros(3), stage_scale=[1.0], observed=[[1, 2, 3], [1, 1, 2]])
    with (
        pm.Model(coords=LISTS.coords),
        pytest.raises(
            ValueError, match="`stage_scale` holds -1; it must be finite and not negative"
        ),
    ):
        br.PlackettLuce("y", np.zeros(5), stage_scale=[1.0, -1.0], observed=LISTS)


# Latent classes


COMPONENTS = {
    "sequential": (TASKS, br.MaxDiff.dist, {}),
    "marley": (TASKS, br.MaxDiff.dist, {"method": "marley"}),
    "scales": (LISTS, br.PlackettLuce.dist, {"stage_scale": SCALE}),
    "scales of all": (LISTS, br.PlackettLuce.dist, {"stage_scale": SCALE[0]}),
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(x, marks=[pytest.mark.slow] * (x in ("sequential", "scales of all")))
        for x in COMPONENTS
    ],
)
def test_components_of_mixtures_have_the_log_probabilities_of_the_families(name):
    data, dist, options = COMPONENTS[name]
    with pm.Model(coords=data.coords | {"component": ["p", "q"], "stage": [1, 2, 3]}) as model:
        u = pm.Normal("u", dims=("component", "item"))
        y = br.Mixture("y", [0.3, 0.7], dist(u, **options), observed=data)
    found = model.compile_logp(vars=y, sum=False)({"u": UTILITY})[0]

    def oracle(item, ranks, g):
        if name in ORACLES:
            return ORACLES[name](UTILITY[g][item], ranks)
        scale = SCALE[g] if name == "scales" else SCALE[0]
        return _staged_logp(UTILITY[g][item], ranks, scale)

    def mixed(item, ranks, who):
        return logsumexp([np.log(w) + oracle(item, ranks, g) for g, w in enumerate([0.3, 0.7])])

    np.testing.assert_allclose(found, row_logps(data, mixed), atol=1e-12)
    drawn = pm.draw(y, 20, random_seed=1)
    np.testing.assert_array_equal(np.sort(drawn), np.broadcast_to(np.sort(data.ranks), drawn.shape))
