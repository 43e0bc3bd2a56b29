"""What only `PMOP` has: a `Rankings` observed, tie prevalences, rank weights; the rest is in the
battery."""

import functools

import arviz as az
import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from pymc.sampling.jax import get_jaxified_logp

import bayesrank as br
from tests.cases import RANKINGS
from tests.oracles import gradient, partition_logp

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
    logp = [
        partition_logp(
            utility[item[ranks > 0]],
            ranks[ranks > 0],
            aggregate,
            given_sizes=given_sizes,
            log_weight=log_weight,
        )
        for item, ranks in zip(rankings.item, rankings.ranks, strict=True)
    ]
    return rankings.weight * np.array(logp)


def model_of(per="item", rankings=RANKINGS, **options):
    """Flat utilities, so that the model's log density is the likelihood."""
    with pm.Model(coords=rankings.coords) as model:
        utility = pm.Flat("utility", dims="item")
        given = utility if per == "item" else utility[rankings.item]
        br.PMOP("y", given, observed=rankings, **options)
    return model


@functools.cache
def compiled(form):
    model = model_of(**FORMS[form])
    return model.compile_logp(sum=False), model.compile_dlogp()


def at(utility, **others):
    return {"utility": np.array(utility, dtype=np.float64)} | others


def of_posterior(utility):
    """Samples of a posterior, (chain, draw, item)."""
    return az.from_dict(
        {"posterior": {"utility": utility}},
        dims={"utility": ["item"]},
        coords={"item": [*"abcdef"]},
    )


# Rankings as observed data


@pytest.mark.parametrize("form", FORMS)
def test_every_ranking_has_the_log_probability_of_the_oracle_times_its_weight(form):
    logp, _ = compiled(form)
    exact = exact_logp(UTILITY, **FORMS[form])
    np.testing.assert_allclose(logp(at(UTILITY))[-1], exact, atol=1e-10)


@pytest.mark.parametrize("form", FORMS)
def test_the_gradient_is_that_of_the_weighted_sum(form):
    _, slope = compiled(form)
    exact = gradient(lambda u: exact_logp(u, **FORMS[form]).sum(), UTILITY)
    np.testing.assert_allclose(slope(at(UTILITY)), exact, atol=1e-8)
    assert slope(at(UTILITY))[5] == 0.0  # nobody ranks f


def test_a_utility_per_slot_gives_the_same_as_one_per_item():
    logp = model_of("slot", **FORMS["geometric, ties"]).compile_logp(sum=False)
    per_item, _ = compiled("geometric, ties")
    np.testing.assert_array_equal(logp(at(UTILITY))[-1], per_item(at(UTILITY))[-1])


def test_names_and_dims_are_what_a_user_looks_for():
    model = model_of()
    assert model.named_vars_to_dims["y"] == ("ranking", "slot")
    assert {"y_ranks", "y_weight", "y_item", "y_sizes"} <= set(model.named_vars)
    assert model["y"].shape.eval(mode="FAST_COMPILE").tolist() == [6, 5]


def test_two_collections_in_one_model_have_dims_of_their_own():
    other = br.Rankings.from_orderings(
        [["c", "a"], ["e", {"f", "b"}]], items=list("abcdef"), rest=()
    )
    with pm.Model(coords=RANKINGS.coords) as model:
        utility = pm.Flat("utility", dims="item")
        br.PMOP("y", utility, observed=RANKINGS)
        br.PMOP("z", utility, aggregate="min", observed=other, dims=("match", "place"))
    assert model.named_vars_to_dims["z"] == ("match", "place")
    logp = model.compile_logp(sum=False)(at(UTILITY))
    np.testing.assert_allclose(logp[-2], exact_logp(UTILITY, aggregate="mean"), atol=1e-10)
    np.testing.assert_allclose(logp[-1], exact_logp(UTILITY, other, aggregate="min"), atol=1e-10)


def test_new_rankings_are_used_by_what_is_compiled():
    # more blocks, fewer slots, another number of rankings
    other = br.Rankings.from_orderings(
        [["f", "a", "b", "c"], [{"b", "f"}, "c"]], items=list("abcdef"), weight=[1, 4], rest=()
    )
    model = model_of(**FORMS["harmonic"])
    logp, slope = model.compile_logp(sum=False), model.compile_dlogp()
    br.set_observed("y", other, model=model)
    exact = functools.partial(exact_logp, rankings=other, aggregate="harmonic")
    np.testing.assert_allclose(logp(at(UTILITY))[-1], exact(UTILITY), atol=1e-10)
    numeric = gradient(lambda u: exact(u).sum(), UTILITY)
    np.testing.assert_allclose(slope(at(UTILITY)), numeric, atol=1e-8)


def test_a_total_size_scales_the_sum():
    model = model_of(total_size=18)  # three times the six that are there
    logp = float(model.compile_logp()(at(UTILITY)))
    assert logp == pytest.approx(3 * exact_logp(UTILITY, aggregate="mean").sum(), abs=1e-8)


def test_rankings_of_one_block_say_something_unless_the_sizes_are_given():
    with pytest.warns(UserWarning, match="say nothing, but to a model that predicts ties"):
        tied = br.Rankings.from_orderings([[{"a", "b", "c"}]] * 2, weight=[1, 5])
    free = model_of(rankings=tied).compile_logp(sum=False)
    equal, unequal = at([0.0, 0.0, 0.0]), at([2.0, 0.0, -2.0])
    np.testing.assert_allclose(free(equal)[-1], np.log(1 / 7) * tied.weight, atol=1e-12)
    given = model_of(rankings=tied, given_sizes=True).compile_logp(sum=False)
    np.testing.assert_array_equal(given(unequal)[-1], [0.0, 0.0])
    # a tie is evidence of equality where an unequal set is worth less than its parts
    geometric = model_of(rankings=tied, aggregate="geometric").compile_logp()
    assert geometric(equal) > geometric(unequal) + 1


# Draws and pointwise results


def test_predictions_have_random_numbers_of_blocks():
    posterior = of_posterior(np.tile(UTILITY, (1, 300, 1)))
    with model_of(**FORMS["geometric, ties"]):
        idata = pm.sample_posterior_predictive(posterior, progressbar=False, random_seed=1)
    drawn = idata.posterior_predictive["y"]
    assert drawn.dims == ("chain", "draw", "ranking", "slot")
    drawn = drawn.values[0]
    assert (drawn[:, ~RANKINGS.mask] == 0).all()
    assert (drawn[:, RANKINGS.mask] > 0).all()
    for row, n in enumerate(RANKINGS.mask.sum(axis=1)):
        n_blocks = drawn[:, row].max(axis=1)
        # blocks of up to three items, so two or more for four and five of them
        least = int(np.ceil(n / 3))
        assert set(n_blocks) == set(range(least, n + 1))
        assert all(len(set(r[r > 0])) == m for r, m in zip(drawn[:, row], n_blocks, strict=True))
        largest = max(np.bincount(r[r > 0]).max() for r in drawn[:, row])
        assert largest == 3


def test_predictions_given_sizes_have_these_sizes():
    posterior = of_posterior(np.tile(UTILITY, (1, 40, 1)))
    with model_of(**FORMS["max, given sizes"]):
        idata = pm.sample_posterior_predictive(posterior, progressbar=False, random_seed=1)
    drawn = idata.posterior_predictive["y"].values[0]
    assert len(np.unique(drawn[:, 0], axis=0)) > 5
    for m in range(1, RANKINGS.n_blocks + 1):
        counts = (drawn == m).sum(axis=-1)
        np.testing.assert_array_equal(counts, np.tile(RANKINGS.block_sizes[:, m - 1], (40, 1)))


def test_the_log_likelihood_has_one_number_per_ranking():
    draws = np.random.default_rng(3).normal(size=(2, 5, 6))
    idata = of_posterior(draws)
    with model_of(**FORMS["mean"]):
        pm.compute_log_likelihood(idata, progressbar=False)
    pointwise = idata.log_likelihood["y"]
    assert pointwise.dims == ("chain", "draw", "ranking")
    exact = exact_logp(draws[1, 3], aggregate="mean")
    np.testing.assert_allclose(pointwise[1, 3], exact, atol=1e-10)


@pytest.mark.parametrize(
    ("arguments", "shape"),
    [
        ({"utility": np.zeros(4)}, (4,)),
        ({"utility": np.zeros((2, 1, 4))}, (2, 1, 4)),
        ({"utility": np.zeros(4), "size": 3}, (3, 4)),
        ({"utility": np.zeros(4), "tie_prevalence": np.ones((3, 2))}, (3, 4)),
        ({"utility": np.zeros((3, 4)), "tie_prevalence": 0.5}, (3, 4)),
        ({"utility": np.zeros(4), "given_sizes": True, "sizes": [[1, 3], [2, 2]]}, (2, 4)),
        ({"utility": np.zeros(1)}, (1,)),
        ({"utility": np.zeros((0, 4))}, (0, 4)),
    ],
)
def test_shapes_follow_from_the_parameters(arguments, shape):
    dist = br.PMOP.dist(**arguments)
    assert tuple(dist.shape.eval(mode="FAST_COMPILE")) == shape
    assert pm.draw(dist, random_seed=1).shape == shape


# Tie prevalence


def probabilities(values, utility=(0.0, 0.0, 0.0), **options):
    return pm.logp(br.PMOP.dist(np.array(utility), **options), values).exp().eval()


def test_the_prevalence_of_two_equal_items_is_that_of_the_tie():
    # each before the other with weight 1, both together with weight 2
    found = probabilities([[1, 2], [2, 1], [1, 1]], (0.0, 0.0), tie_prevalence=[2.0])
    np.testing.assert_allclose(found, [1 / 4, 1 / 4, 1 / 2], atol=1e-14)


def test_a_number_is_a_prevalence_of_ties_of_two():
    values = [[1, 2, 3], [1, 2, 2], [2, 1, 1], [1, 1, 1]]
    for nu in (0.7, np.float64(0.7), pt.constant(0.7)):
        found = probabilities(values, UTILITY[:3], aggregate="geometric", tie_prevalence=nu)
        vector = probabilities(values, UTILITY[:3], aggregate="geometric", tie_prevalence=[0.7])
        np.testing.assert_array_equal(found, vector)
        assert found[-1] == 0.0  # three are more than two


def test_no_prevalences_are_no_ties():
    found = probabilities([[1, 2, 3], [1, 2, 2]], tie_prevalence=[])
    np.testing.assert_allclose(found, [1 / 6, 0.0], atol=1e-14)


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


@pytest.fixture(scope="module")
def posterior():
    with tied_model():
        idata = pm.sample(
            400,
            tune=400,
            chains=2,
            cores=1,
            nuts_sampler="nutpie",
            progressbar=False,
            random_seed=20020217,
            compute_convergence_checks=False,
        )
        pm.compute_log_likelihood(idata, progressbar=False)
    return idata


@pytest.mark.slow
def test_a_random_prevalence_is_sampled(posterior):
    assert int(posterior.sample_stats["diverging"].sum()) == 0
    drawn = posterior.posterior["prevalence"]
    assert (drawn > 0).all()
    assert (az.rhat(posterior, var_names=["prevalence"])["prevalence"] < 1.05).all()


@pytest.mark.slow
def test_sampled_rankings_have_their_log_likelihoods(posterior):
    pointwise = posterior.log_likelihood["y"]
    assert pointwise.dims == ("chain", "draw", "ranking")
    draw = posterior.posterior.isel(chain=1, draw=7)
    exact = exact_logp(
        draw["utility"].values, aggregate="geometric", tie_prevalence=draw["prevalence"].values
    )
    np.testing.assert_allclose(pointwise[1, 7], exact, atol=1e-10)


# Second derivatives, JAX


@pytest.mark.slow
@pytest.mark.parametrize("form", ["mean", "geometric, ties"])
def test_second_derivatives_inside_a_model_are_differences_of_the_first(form):
    # JAX, because a C compiler takes minutes for the graph of the geometric mean
    model = model_of(**FORMS[form])
    hessian = model.compile_d2logp(negate_output=False, mode="JAX")(at(UTILITY))
    _, slope = compiled(form)
    numeric = gradient(lambda u: slope(at(u)), UTILITY, step=1e-4)
    np.testing.assert_allclose(hessian, numeric, atol=1e-6)


@pytest.fixture(scope="module")
def jax():
    return pytest.importorskip("jax")


def test_numpyro_has_the_value_and_the_gradients_of_a_random_prevalence(jax):
    model = tied_model()
    logp = get_jaxified_logp(model)
    point = [UTILITY, np.log(PREVALENCE)]
    value, slopes = jax.jit(jax.value_and_grad(lambda x: logp(x)))(point)
    there = {"utility": point[0], "prevalence_log__": point[1]}
    assert float(value) == pytest.approx(float(model.compile_logp()(there)), abs=1e-8)
    np.testing.assert_allclose(np.concatenate(slopes), model.compile_dlogp()(there), atol=1e-8)


@pytest.mark.slow
def test_numpyro_samples_a_set_function_that_is_a_quadrature(jax):
    pytest.importorskip("numpyro")
    with pm.Model(coords=RANKINGS.coords):
        utility = pm.Normal("utility", 0, 1, dims="item")
        br.PMOP("y", utility, aggregate="harmonic", observed=RANKINGS)
        idata = pm.sample(
            100,
            tune=100,
            chains=1,
            nuts_sampler="numpyro",
            progressbar=False,
            random_seed=1,
            compute_convergence_checks=False,
        )
    drawn = idata.posterior["utility"]
    assert drawn.shape == (1, 100, 6)
    assert np.isfinite(drawn).all()
    assert int(idata.sample_stats["diverging"].sum()) == 0
    mean = drawn.mean(("chain", "draw"))
    assert mean.sel(item="b") > mean.sel(item="d")  # b is first in five of nine, d is often last


# Rank weights


def test_weights_of_one_change_nothing():
    plain = compiled("mean")[0](at(UTILITY))[-1]
    ones = model_of(rank_weights=np.ones(4)).compile_logp(sum=False)
    np.testing.assert_array_equal(ones(at(UTILITY))[-1], plain)


def test_weights_are_exponents_of_the_stages():
    # of two stages of two items, the second is certain unless the sizes are free
    values = [[1, 2, 3], [1, 1, 2]]
    first = probabilities(values, UTILITY[:3], rank_weights=[1, 0, 0])
    both = probabilities(values, UTILITY[:3])
    half = probabilities(values, UTILITY[:3], rank_weights=[1.0, 0.5, 0.5])
    np.testing.assert_allclose(half, np.sqrt(first * both), rtol=1e-12)
    assert first[0] > half[0] > both[0]


def test_weights_may_be_data():
    alpha = np.array([1.0, 0.8, 0.5, 0.0])
    numbers = model_of(rank_weights=alpha).compile_logp(sum=False)(at(UTILITY))[-1]
    with pm.Model(coords=RANKINGS.coords) as model:
        weights = pm.Data("weights", np.ones(4))
        br.PMOP("y", pm.Flat("utility", dims="item"), rank_weights=weights, observed=RANKINGS)
    logp = model.compile_logp(sum=False)
    plain = exact_logp(UTILITY, aggregate="mean")
    np.testing.assert_allclose(logp(at(UTILITY))[-1], plain, atol=1e-10)
    with model:
        pm.set_data({"weights": alpha})
    np.testing.assert_allclose(logp(at(UTILITY))[-1], numbers, atol=1e-12)


def test_random_weights_are_refused():
    message = "`rank_weights` depends on the random strength: exponents cannot be estimated"
    with pm.Model():
        weights = pt.exp(-pm.HalfNormal("strength") * np.arange(4))
        with pytest.raises(ValueError, match=message):
            br.PMOP("y", np.zeros(6), rank_weights=weights, observed=RANKINGS)


# Bad input

UNKNOWN = r"`aggregate` is 'median'; it is one of 'mean', 'max', 'min', 'geometric', 'harmonic'\."
BAD_OPTIONS = [
    ({"aggregate": "median"}, UNKNOWN),
    ({"tie_prevalence": [0.5, 0.0]}, "`tie_prevalence` holds 0.0; it must be positive and finite"),
    ({"tie_prevalence": -0.5}, "`tie_prevalence` holds -0.5; it must be positive"),
    ({"tie_prevalence": [np.nan, 1]}, "`tie_prevalence` holds nan; it must be positive"),
    ({"tie_prevalence": [np.inf, 1]}, "`tie_prevalence` holds inf; it must be positive"),
    (
        {"tie_prevalence": [0.5, 0.5], "given_sizes": True},
        r"tie_prevalence= and given_sizes=True: given their sizes, .* cancel. Leave one",
    ),
    ({"rank_weights": [1, 1, 2, 1]}, r"`rank_weights` is \[1. 1. 2. 1.\]; .* must not increase"),
    ({"rank_weights": [1, 1, 0, -1]}, r"`rank_weights` is .*; weights .* must not be negative"),
    ({"rank_weights": pt.constant([1, 2])}, r"`rank_weights` is \[1. 2.\]; .* must not increase"),
    ({"rank_weights": [np.inf, 1, 1, 1]}, r"`rank_weights` is .*; weights must be finite"),
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
        r"`tie_prevalence` has 1 entries, for blocks of up to 2 items; ranking 3 has a block of 3. "
        r"Give 2 entries, or none for equal weights"
    )
    with pm.Model(), pytest.raises(ValueError, match=message):
        br.PMOP("y", np.zeros(6), tie_prevalence=0.5, observed=RANKINGS)


def test_too_few_rank_weights_are_refused():
    message = "`rank_weights` has 3 entries for rankings of up to 4 blocks; give one for every rank"
    with pm.Model(), pytest.raises(ValueError, match=message):
        br.PMOP("y", np.zeros(6), rank_weights=[1, 1, 1], observed=RANKINGS)
    message = "`rank_weights` has 3 entries for rankings of up to 4 slots"
    with pytest.raises(ValueError, match=message):
        br.PMOP.dist(np.zeros(4), rank_weights=[1, 1, 1])


def test_sizes_are_refused_unless_they_are_given():
    message = r"sizes= and given_sizes=False, .* Pass given_sizes=True, or leave sizes= out"
    with pytest.raises(ValueError, match=message):
        br.PMOP.dist(np.zeros(3), sizes=[1, 2])


@pytest.mark.parametrize("argument", ["where", "sizes", "shape"])
def test_what_the_rankings_bring_cannot_be_given_again(argument):
    message = f"PMOP got both observed=Rankings and {argument}="
    with pm.Model(), pytest.raises(TypeError, match=message):
        br.PMOP("y", np.zeros(6), observed=RANKINGS, **{argument: (6, 5)})


def test_unknown_arguments_are_refused():
    with pm.Model(), pytest.raises(TypeError, match="temperature"):
        br.PMOP("y", np.zeros(6), observed=RANKINGS, temperature=2.0)
    with pytest.raises(TypeError, match="temperature"):
        br.PMOP.dist(np.zeros(6), temperature=2.0)


# Weights of blocks by what rankings differ in

TWO_AT_MOST = br.Rankings.from_orderings(
    [[{"a", "b"}, "c", "d"], ["d", {"a", "c"}, "b"], ["b", "a", {"c", "d"}]],
    rankers=["v", "u", "w"], items=list("abcd"),
)  # fmt: skip


def by_ranker(prevalence, rankings=TWO_AT_MOST):
    """Log-likelihood with a weight of pairs for each ranker."""
    each = zip(rankings.ranks, rankings.item, rankings.ranker_idx, strict=True)
    worth = np.array([0.4, -0.3, 1.1, 0.2])
    return [
        partition_logp(worth[item], ranks, "mean", log_weight=np.log([1.0, prevalence[ranker]]))
        for ranks, item, ranker in each
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
    of_new = by_ranker(prevalence, new.reindex({"ranker": TWO_AT_MOST.rankers}))
    np.testing.assert_allclose(logp({})[0], of_new, rtol=1e-12)
    message = r"^'y' has its tie_prevalence by ranker, and the new rankings have others"
    with pytest.raises(ValueError, match=message):
        br.set_observed("y", br.Rankings.from_orderings([["a", "b"]], rankers=["z"]), model=model)


def test_a_tie_prevalence_without_names_is_refused_if_it_can_be_read_in_two_ways():
    message = (
        r"^The tie_prevalence of 'y' has shape \(3,\) and no names for its axes: it could be one "
        r"per size of block from 2 on, or one per ranking, of blocks of two\. Say which, or give"
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
    with pm.Model(), pytest.raises(ValueError, match=r"are grouped by 'size', .* Rename that col"):
        br.PMOP("y", np.zeros(4), tie_prevalence=x, observed=rankings)
