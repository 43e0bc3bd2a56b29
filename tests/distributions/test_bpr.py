"""BPR: all pairs of small data, triples of large ones, draws, and what is refused."""

from itertools import product

import numpy as np
import pandas as pd
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from pymc.logprob.utils import ParameterValueError

import bayesrank as br
from tests.builders import stored
from tests.cases import BACKENDS
from tests.oracles import gradient

RANKINGS = br.Rankings.from_orderings(
    [["b", {"a", "c", "d"}], [{"a", "d"}, {"b", "c"}], [{"b", "c", "d"}, "a"]]
)
HAVE = br.Interactions.from_rankings(RANKINGS)  # 3 + 4 + 3 triples
STARS = pd.DataFrame({"user": [1, 1], "movie": ["a", "b"], "stars": [2, 5]})


def observed_model(utility, observed, **options):
    """Model of one free tensor of utilities that nothing else is said of."""
    with pm.Model() as model:
        x = pm.Flat("x", shape=np.shape(utility))
        br.BPR("y", x, observed=observed, **options)
    return model


def total_and_slope(model, x):
    f = model.logp_dlogp_function(ravel_inputs=True)
    f.set_extra_values({})
    value, slope = f(np.ravel(x))
    return float(value), slope.reshape(np.shape(x))


# All pairs of small data


def test_interactions_have_one_number_per_pair_and_the_sum_of_the_composite(rng):
    x = rng.normal(size=(3, 4))
    model = observed_model(x, HAVE)
    value, slope = total_and_slope(model, x)
    has = HAVE.to_matrix()
    u, i, j = np.nonzero(has[:, :, None] & ~has[:, None, :])

    def total(y):
        return float(-np.logaddexp(0, y[u, j] - y[u, i]).sum())

    assert value == pytest.approx(total(x), rel=1e-12)
    numeric = gradient(total, x)
    np.testing.assert_allclose(slope, numeric, atol=1e-8)
    assert model.named_vars_to_dims["y"] == ("triple",)
    triples = np.stack([stored(model, part) for part in ("user", "positive", "negative")])
    np.testing.assert_array_equal(triples[:, np.lexsort(triples[::-1])], [u, i, j])


def test_one_utility_per_item_is_that_of_all_users(rng):
    x = rng.normal(size=4)
    value = total_and_slope(observed_model(x, HAVE), x)[0]
    same = np.tile(x, (3, 1))
    assert value == pytest.approx(total_and_slope(observed_model(same, HAVE), same)[0], rel=1e-12)


def test_total_size_or_the_weight_says_what_the_pairs_count_for(rng):
    x = rng.normal(size=(3, 4))
    one = total_and_slope(observed_model(x, HAVE), x)[0]
    for options in ({"total_size": 6}, {"weight": 0.6}):
        six = total_and_slope(observed_model(x, HAVE, **options), x)[0]
        assert six == pytest.approx(0.6 * one)


@pytest.mark.parametrize("by_user", [True, False])
def test_new_interactions_are_put_in_the_order_of_the_model(rng, by_user):
    x = rng.normal(size=(3, 4)) if by_user else rng.normal(size=4)
    model = observed_model(x, HAVE, weight=0.5)
    logp = model.compile_logp(vars=model.observed_RVs)
    expected = float(logp({"x": x}))
    lists = [["b", {"a", "c", "d"}], ["a", {"b", "c", "d"}], [{"b", "c", "d"}, "a"]]
    new = br.Interactions.from_rankings(br.Rankings.from_orderings(lists, items=HAVE.items))
    turned = HAVE.reindex({"user": HAVE.users[::-1], "item": HAVE.items[::-1]})
    for observed, value in ((new, None), (turned, expected), (HAVE, expected)):
        br.set_observed("y", observed, model=model)
        assert model["y"].shape.eval().tolist() == [observed.n_triples]
        if value is None:
            fresh = observed_model(x, observed, weight=0.5)
            value = float(fresh.compile_logp(vars=fresh.observed_RVs)({"x": x}))
        assert float(logp({"x": x})) == pytest.approx(value, rel=1e-12)
    fewer = br.Interactions.from_rankings(br.Rankings.from_orderings([["a", {"b"}]]))
    message = r"of 'y' have the axes \('.*',\) and shape \(.*4,\); the new .* need shape \(.*2"
    with pytest.raises(ValueError, match=message.replace(",", ",?")):
        br.set_observed("y", fewer, model=model)


# Triples


def test_minibatches_of_triples_climb_the_same_posterior():
    n, batch = 3, 6
    triples = HAVE.sample_triples(5000, random_seed=1).astype("int32")
    models = []
    for scale in ("all", "some"):
        with pm.Model(coords=HAVE.coords) as model:
            x = pm.Normal("x", 0, 1, dims=("user", "item"))
            if scale == "all":
                br.BPR("y", x, observed=HAVE, total_size=len(HAVE))
            else:
                user, *pair = pm.Minibatch(*triples.T, batch_size=batch)
                utility = x[user[:, None], pt.stack(pair, axis=-1)]
                br.BPR("y", utility, observed=[0] * batch, total_size=len(HAVE))
        models.append(model)
    logp = [model.compile_logp(vars=model.observed_RVs, sum=True) for model in models]
    point = {"x": np.random.default_rng(n).normal(size=(3, 4))}
    some = [float(logp[1](point)) for _ in range(3000)]
    assert np.ptp(some) > 0
    error = np.std(some) / np.sqrt(len(some))
    assert abs(np.mean(some) - float(logp[0](point))) < 5 * error


# Draws


# JAX copies the generator, and says so
@pytest.mark.filterwarnings("ignore:The RandomType SharedVariables:UserWarning")
@pytest.mark.parametrize("mode", BACKENDS)
def test_draws_are_coins_of_each_pair(mode):
    x = np.array([[1.0, 0.0], [0.0, 2.0], [0.5, 0.5]])
    draws = pm.draw(br.BPR.dist(x), 4000, random_seed=3, mode=mode)
    assert draws.shape == (4000, 3)
    chance = 1 / (1 + np.exp(x[:, 0] - x[:, 1]))
    np.testing.assert_allclose(draws.mean(axis=0), chance, atol=5 * 0.5 / np.sqrt(4000))
    independent = np.cov(draws.T)
    np.testing.assert_allclose(independent - np.diag(np.diag(independent)), 0, atol=0.02)


def test_a_weight_of_pairs_written_out_is_one_number():
    with (
        pm.Model(),
        pytest.raises(ValueError, match=r"`weight` of 'y' has shape \(10,\); give on"),
    ):
        br.BPR("y", np.zeros(4), observed=HAVE, weight=np.ones(10))


# What is refused


def modelled(kind):
    """Model of all pairs, of triples, or of batches of them."""
    triples = HAVE.sample_triples(50, random_seed=1).astype("int32")
    with pm.Model(coords=HAVE.coords) as model:
        x = pm.Normal("x", dims="item")
        if kind == "all":
            br.BPR("y", x, observed=HAVE, total_size=6)
        elif kind == "triples":
            br.BPR("y", x[triples[:, 1:]], observed=np.zeros(50, int), total_size=6)
        else:
            _, *pair = pm.Minibatch(*triples.T, batch_size=5)
            br.BPR("y", x[pt.stack(pair, axis=-1)], observed=[0] * 5, total_size=6)
    return model


@pytest.mark.parametrize(
    ("kind", "mode"), [*product(["all", "triples", "batches"], ["FAST_COMPILE"]), ("all", "JAX")]
)
def test_its_terms_are_no_log_likelihood(kind, mode):
    with modelled(kind) as model:
        tree = pm.sample_prior_predictive(3, random_seed=1)
        tree["posterior"] = tree["prior"]
        with pytest.raises(ValueError, match=r"^BPR is a composite likelihood of pairs of items"):
            pm.compute_log_likelihood(tree, progressbar=False, compile_kwargs={"mode": mode})
    with pytest.raises(ValueError, match=r"^'one' describes nothing: pairs of items make a comp"):
        br.compare({"one": tree})
    at = model.initial_point()
    exact = -6 * np.log(2) - 2 * np.log(2 * np.pi)  # of pairs that count for six, and the prior
    assert model.compile_logp(mode=mode)(at) == pytest.approx(exact)
    assert np.isfinite(model.compile_dlogp(mode=mode)(at)).all()


def test_parameters_out_of_range_are_named():
    for utility, weight in (([np.inf, 0.0], 1.0), ([0.0, 0.0], -1.0)):
        with pytest.raises(ParameterValueError, match="utility must be finite, weight >= 0"):
            pm.logp(br.BPR.dist(utility, weight=weight), 0).eval()


@pytest.mark.parametrize(
    ("utility", "observed", "message"),
    [
        (
            np.zeros((2, 4)),
            HAVE,
            r"shape \(2, 4\); .* one per item, shape \(4,\), or one per user ",
        ),
        (np.zeros((4, 3)), [0, 0, 0, 0], "Its last axis must hold the two items"),
        (
            np.zeros((2, 2)),
            [0, 3],
            r"preference at \[1\] is 3; it must be 0 or 1.*Interactions.from_ratings",
        ),
        (np.zeros((2, 2)), [0.0, np.nan], r"preference at \[1\] is nan; it must be 0 or 1"),
    ],
)
def test_data_and_utilities_that_do_not_fit_raise(utility, observed, message):
    with pm.Model(), pytest.raises(ValueError, match=message):
        br.BPR("y", utility, observed=observed)


@pytest.mark.parametrize(("observed", "message"), [
    (["a", "b"], r"preferences are \['a', 'b'\], which is not an array.*Interactions.from_frame"),
    (RANKINGS, r"got observed=Rankings.*Interactions.from_rankings\(rankings\).*PlackettLuce"),
    (RANKINGS.pairs(), "got observed=Pairs, which does not say which items.*BradleyTerry"),
    (RANKINGS.counts(), "got observed=PairCounts.*for preference counts MPM"),
])  # fmt: skip
def test_data_without_interactions_are_refused(observed, message):
    with pm.Model(), pytest.raises(TypeError, match=message):
        br.BPR("y", np.zeros((2, 2)), observed=observed)


def test_a_table_of_ratings_is_refused_with_the_way_out():
    with pm.Model(), pytest.raises(TypeError, match=r"from_ratings\(frame, .* rating="):
        br.BPR("y", np.zeros(2), observed=STARS)


def test_unknown_arguments_and_single_precision_are_refused():
    with pm.Model(), pytest.raises(TypeError, match="BPR got both observed=Interactions and shape"):
        br.BPR("y", np.zeros(4), observed=HAVE, shape=(10,))
    with (
        pytensor.config.change_flags(floatX="float32"),
        pytest.raises(ValueError, match="computes in double precision"),
    ):
        br.BPR.dist(np.zeros(2))


def test_a_square_table_without_names_is_refused_unless_its_dims_are_given():
    rows = pd.DataFrame({"u": ["x", "y"], "i": ["a", "b"]})
    have = br.Interactions.from_frame(rows, user="u", item="i")
    H, W = np.array([[1.0], [-0.5]]), np.array([[0.3], [2.0]])
    message = (
        r"^The utility of 'y' has shape \(2, 2\) and no names for its axes. It could be one per "
        r"user and item \(utility_dims=\('user', 'item'\)\), or one per item and user \(util"
    )
    with pm.Model(), pytest.raises(ValueError, match=message):
        br.BPR("y", H @ W.T, observed=have)
    with pm.Model() as model:
        br.BPR("y", H @ W.T, utility_dims=("item", "user"), observed=have)
    exact = -np.log1p(np.exp(0.3 * (-0.5 - 1.0))) - np.log1p(np.exp(2.0 * (1.0 + 0.5)))
    assert float(model.compile_logp()({})) == pytest.approx(exact)
