"""What only `PMOP` has: a `Rankings` observed, tie prevalences; the rest is in the battery."""

import functools

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from pymc.sampling.jax import get_jaxified_logp

import bayesrank as br
from tests.builders import evaluator
from tests.cases import RANKINGS
from tests.oracles import each_ranking, gradient, partition_logp

UTILITY = np.array([0.4, -1.2, 2.0, 0.1, -0.7, 5.0])
PREVALENCE = np.array([0.6, 1.5])  # of blocks of two and three, the largest that are observed

# One quadrature, one closed form; with given sizes and with weights of sizes
FORMS = {
    "mean": {"aggregate": "mean"},
    "harmonic": {"aggregate": "harmonic"},
    "geometric, ties": {"aggregate": "geometric", "tie_prevalence": PREVALENCE},
    "max, given sizes": {"aggregate": "max", "given_sizes": True},
}


def exact_logp(utility, rankings=RANKINGS, *, aggregate, given_sizes=False, tie_prevalence=None):
    """Log-probability of every ranking times its weight."""
    log_weight = None if tie_prevalence is None else np.append(0.0, np.log(tie_prevalence))
    options = {"aggregate": aggregate, "given_sizes": given_sizes, "log_weight": log_weight}
    return rankings.weight * each_ranking(partition_logp, utility, rankings, **options)


def model_of(per="item", rankings=RANKINGS, **options):
    """Flat utilities, so that the model's log density is the likelihood."""
    with pm.Model(coords=rankings.coords) as model:
        utility = pm.Flat("utility", dims="item")
        given = utility if per == "item" else utility[rankings.item]
        br.PMOP("y", given, observed=rankings, **options)
    return model


@functools.cache
def compiled(form):
    return evaluator(model_of(**FORMS[form]))


def at(utility, **others):
    return {"utility": np.array(utility, dtype=np.float64)} | others


# Rankings as observed data


@pytest.mark.parametrize("form", FORMS)
def test_every_ranking_has_the_log_probability_of_the_oracle_times_its_weight(form):
    rows, _, slope = compiled(form)(at(UTILITY))
    np.testing.assert_allclose(rows, exact_logp(UTILITY, **FORMS[form]), atol=1e-10)
    exact = gradient(lambda u: exact_logp(u, **FORMS[form]).sum(), UTILITY)
    np.testing.assert_allclose(slope, exact, atol=1e-8)
    assert slope[5] == 0.0  # nobody ranks f


def test_a_utility_per_slot_gives_the_same_as_one_per_item():
    logp = model_of("slot", **FORMS["geometric, ties"]).compile_logp(sum=False)
    per_item, *_ = compiled("geometric, ties")(at(UTILITY))
    np.testing.assert_array_equal(logp(at(UTILITY))[-1], per_item)


# Tie prevalence


def probabilities(values, utility=(0.0, 0.0, 0.0), **options):
    return pm.logp(br.PMOP.dist(np.array(utility), **options), values).exp().eval()


def test_the_prevalence_of_two_equal_items_is_that_of_the_tie():
    # each before the other with weight 1, both together with weight 2
    found = probabilities([[1, 2], [2, 1], [1, 1]], (0.0, 0.0), tie_prevalence=[2.0])
    np.testing.assert_allclose(found, [1 / 4, 1 / 4, 1 / 2], atol=1e-14)


@functools.cache
def tied_model():
    with pm.Model(coords=RANKINGS.coords) as model:
        utility = pm.Normal("utility", 0, 1, dims="item")
        prevalence = pm.LogNormal("prevalence", 0, 1, shape=2)
        br.PMOP("y", utility, aggregate="geometric", tie_prevalence=prevalence, observed=RANKINGS)
    return model


def test_a_random_prevalence_has_its_gradient():
    model = tied_model()
    names = [v.name for v in model.value_vars]
    assert names == ["utility", "prevalence_log__"]
    y = model.logp(vars=[model["y"]])
    point = at(UTILITY, prevalence_log__=np.log(PREVALENCE))

    def exact(log_prevalence):
        ties = {"aggregate": "geometric", "tie_prevalence": np.exp(log_prevalence)}
        return exact_logp(UTILITY, **ties).sum()

    slope = model.compile_fn(pt.grad(y, model.value_vars[1]))
    np.testing.assert_allclose(slope(point), gradient(exact, np.log(PREVALENCE)), atol=1e-8)


def test_a_prevalence_out_of_its_range_has_probability_zero():
    with pm.Model(coords=RANKINGS.coords) as model:
        prevalence = pm.Flat("prevalence", shape=2)
        br.PMOP("y", np.zeros(6), tie_prevalence=prevalence, observed=RANKINGS)
    logp = model.compile_logp()
    assert np.isfinite(logp({"prevalence": [0.5, 2.0]}))
    for bad in ([0.5, -0.1], [0.0, 1.0], [np.nan, 1.0], [np.inf, 1.0]):
        assert logp({"prevalence": bad}) == -np.inf


# Second derivatives, JAX


@pytest.fixture(scope="module")
def jax():
    return pytest.importorskip("jax")


def test_numpyro_has_the_value_and_the_gradients_of_a_random_prevalence(jax):
    model = tied_model()
    logp = get_jaxified_logp(model)
    point = [UTILITY, np.log(PREVALENCE)]
    value, slopes = jax.jit(jax.value_and_grad(lambda x: logp(x)))(point)
    start = {"utility": point[0], "prevalence_log__": point[1]}
    assert float(value) == pytest.approx(float(model.compile_logp()(start)), abs=1e-8)
    np.testing.assert_allclose(np.concatenate(slopes), model.compile_dlogp()(start), atol=1e-8)


# Bad input

UNKNOWN = (
    r"`aggregate` is 'median'; it must be one of 'mean', 'max', 'min', 'geometric', 'harmonic'\."
)
BAD_OPTIONS = [
    ({"aggregate": "median"}, UNKNOWN),
    ({"tie_prevalence": [0.5, 0.0]}, "`tie_prevalence` holds 0; it must be positive and finite"),
    ({"tie_prevalence": -0.5}, "`tie_prevalence` holds -0.5; it must be positive"),
    ({"tie_prevalence": [np.nan, 1]}, "`tie_prevalence` holds nan; it must be positive"),
    ({"tie_prevalence": [np.inf, 1]}, "`tie_prevalence` holds inf; it must be positive"),
    (
        {"tie_prevalence": [0.5, 0.5], "given_sizes": True},
        r"tie_prevalence= and given_sizes=True. Given their sizes, .* cancel: leave one",
    ),
]


@pytest.mark.parametrize(("options", "message"), BAD_OPTIONS)
@pytest.mark.parametrize(
    "make",
    [
        functools.partial(br.PMOP, "y", np.zeros(6), observed=RANKINGS),
        functools.partial(br.PMOP.dist, np.zeros(4)),
    ],
    ids=["rankings", "arrays"],
)
def test_a_bad_option_is_refused_with_the_reason(make, options, message):
    with pm.Model(), pytest.raises(ValueError, match=message):
        make(**options)


def test_too_few_prevalences_for_the_observed_blocks_name_a_ranking():
    message = (
        r"`tie_prevalence` has 1 entries, for blocks of up to 2 items, but ranking 3 has a "
        r"block of 3. Give 2 entries, or none for equal weights"
    )
    with pm.Model(), pytest.raises(ValueError, match=message):
        br.PMOP("y", np.zeros(6), tie_prevalence=0.5, observed=RANKINGS)


# Weights of blocks by what rankings differ in

TWO_AT_MOST = br.Rankings.from_orderings(
    [[{"a", "b"}, "c", "d"], ["d", {"a", "c"}, "b"], ["b", "a", {"c", "d"}]],
    rankers=["v", "u", "w"], items=list("abcd"),
)  # fmt: skip


def by_ranker(prevalence, rankings=TWO_AT_MOST):
    """Log-likelihood with a weight of pairs for each ranker."""
    rows = zip(rankings.ranks, rankings.item, rankings.ranker_idx, strict=True)
    worth = np.array([0.4, -0.3, 1.1, 0.2])
    return [
        partition_logp(worth[item], ranks, "mean", log_weight=np.log([1.0, prevalence[ranker]]))
        for ranks, item, ranker in rows
    ]


def test_a_tie_prevalence_by_ranker_is_none_by_size():
    prevalence = np.array([0.2, 0.7, 3.0])
    worth = np.array([0.4, -0.3, 1.1, 0.2])
    with pm.Model(coords=TWO_AT_MOST.coords) as model:
        x = pm.Data("x", prevalence, dims="ranker")
        br.PMOP("y", worth, tie_prevalence=x, observed=TWO_AT_MOST)
    logp = model.compile_logp(vars=model["y"], sum=False)
    np.testing.assert_allclose(logp({})[0], by_ranker(prevalence), rtol=1e-12)
    new = TWO_AT_MOST.subset([2, 0])
    br.set_observed("y", new, model=model)
    expected = by_ranker(prevalence, new.reindex({"ranker": TWO_AT_MOST.rankers}))
    np.testing.assert_allclose(logp({})[0], expected, rtol=1e-12)
    message = r"^'y' has tie_prevalence by ranker, and the new rankings have other labels"
    with pytest.raises(ValueError, match=message):
        br.set_observed("y", br.Rankings.from_orderings([["a", "b"]], rankers=["z"]), model=model)


def test_a_tie_prevalence_without_names_is_refused_if_it_can_be_read_in_two_ways():
    message = (
        r"^The tie_prevalence of 'y' has shape \(3,\) and no names for its axes. It could be one "
        r"per block size from 2 on, or one per ranking, for blocks of two\. Choose one, or pass"
    )
    for x in (np.ones(3), pm.LogNormal.dist(0, 1, shape=3)):
        with pm.Model(coords=TWO_AT_MOST.coords), pytest.raises(ValueError, match=message):
            br.PMOP("y", np.zeros(4), tie_prevalence=x, observed=TWO_AT_MOST)


def test_new_rankings_need_as_many_weights():
    with pm.Model(coords=TWO_AT_MOST.coords) as model:
        x = pm.Data("x", np.ones((3, 2)), dims=("ranking", "size"))
        br.PMOP("y", np.zeros(4), tie_prevalence=1.0 * x, observed=TWO_AT_MOST)
        br.PMOP("z", np.zeros(4), tie_prevalence=np.ones((3, 2)), observed=TWO_AT_MOST)
    message = r"'z' has 3 tie_prevalence, but the new rankings have 2"
    with pytest.raises(ValueError, match=message):
        br.set_observed("z", TWO_AT_MOST.subset([0, 1]), model=model)


def test_groups_that_are_called_like_sizes_are_refused():
    rankings = TWO_AT_MOST.grouped({"size": [2, 3, 4]})
    x = {2: 1.0, 3: 1.0, 4: 1.0}
    with pm.Model(), pytest.raises(ValueError, match=r"have a group 'size', .* Rename that col"):
        br.PMOP("y", np.zeros(4), tie_prevalence=x, observed=rankings)
