"""Generalised Mallows models as distributions: observed rankings, draws, steps, what is refused."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
import xarray as xr
from pymc.logprob.utils import ParameterValueError
from scipy.special import logsumexp

import bayesrank as br
from tests.builders import evaluator
from tests.likelihoods.loops import for_each
from tests.likelihoods.mallows.permutations import every_ranking, staged_logp
from tests.oracles import gradient

R = br.Rankings.from_orderings(
    [list("bacd"), ["a", "d", {"b", "c"}], list("dacb"), ["b", {"a", "c", "d"}]],
    weight=[1, 2, 1, 3],
)  # fmt: skip
RANKS = np.array([[2, 1, 3, 4], [1, 3, 3, 2], [2, 4, 3, 1], [2, 1, 2, 2]])  # by item
RHO, ALPHA = np.array([2, 1, 4, 3]), np.array([3.0, 1.0, 0.5])


def model_of(consensus, rankings=R, n_stages=3):
    coords = rankings.coords | {"stage": range(1, n_stages + 1)}
    with pm.Model(coords=coords) as model:
        alpha = pm.Flat("alpha", dims="stage")
        br.GeneralizedMallows("y", consensus, alpha, observed=rankings)
    return model


def summed(alpha, ranks=RANKS, weight=R.weight):
    logps = [
        sum(w * staged_logp(x, rho, alpha) for x, w in zip(ranks, weight, strict=True))
        for rho in every_ranking(ranks.shape[1])
    ]
    return logsumexp(logps) - np.log(len(logps))


def test_observed_rankings_have_the_log_probabilities_of_the_definition():
    model = model_of(RHO)
    exact = R.weight * [staged_logp(x, RHO, ALPHA) for x in RANKS]
    found, _, slope = evaluator(model)({"alpha": ALPHA})
    np.testing.assert_allclose(found, exact, atol=1e-12)
    numeric = gradient(lambda a: R.weight @ [staged_logp(x, RHO, a) for x in RANKS], ALPHA)
    np.testing.assert_allclose(slope, numeric, atol=1e-6)


def test_the_consensus_is_marginalised_and_new_rankings_replace_others():
    model = model_of(None)
    f = evaluator(model)
    _, total, slope = f({"alpha": ALPHA})
    assert float(total) == pytest.approx(summed(ALPHA), abs=1e-10)
    np.testing.assert_allclose(slope, gradient(summed, ALPHA), atol=1e-6)
    br.set_observed("y", R.subset([1, 3]), model=model)
    exact = summed(ALPHA, RANKS[[1, 3]], R.weight[[1, 3]])
    assert float(f({"alpha": ALPHA})[1]) == pytest.approx(exact, abs=1e-10)
    with pytest.raises(ValueError, match="ties in the last block only: ranking 0 has 4"):
        br.set_observed("y", br.Rankings.from_orderings([[{"a", "b"}, "c", "d"]]), model=model)


@for_each("consensus", [RHO, None])
def test_draws_are_rankings_with_the_blocks_of_the_observed_ones(consensus):
    model = model_of(consensus)
    with pm.do(model, {"alpha": np.array([1e6, 1e6, 1e6])}):
        drawn = pm.sample_prior_predictive(4, random_seed=1)["prior_predictive"]["y"].to_numpy()[0]
    for one in drawn:
        np.testing.assert_array_equal(np.sort(one, axis=1), np.sort(R.ranks, axis=1))
    if consensus is not None:
        by_item = np.empty_like(drawn[0])
        np.put_along_axis(by_item, R.item, drawn[0], axis=1)
        np.testing.assert_array_equal(by_item, np.minimum(RHO, R.ranks.max(axis=1)[:, None]))


def test_arrays_are_observed_too():
    tops = np.array([[1, 2, 2], [2, 1, 2]])
    with pm.Model() as model:
        br.GeneralizedMallows("y", [1, 2, 3], [3.0], sizes=[1, 2], observed=tops)
    found = model.compile_logp(sum=False)({})[0]
    np.testing.assert_allclose(found, [staged_logp(x, [1, 2, 3], [3.0]) for x in tops], atol=1e-12)


def posterior_of(alphas):
    alphas = np.array([alphas], dtype=float)
    draws = xr.Dataset({"alpha": (("chain", "draw", "stage"), alphas)})
    return xr.DataTree.from_dict({"posterior": draws})


@pytest.mark.slow
def test_a_marginalised_consensus_has_its_posterior_and_rankings_are_predicted():
    model, data = model_of(None), posterior_of([ALPHA, ALPHA / 2])
    every = every_ranking(4)
    place = br.sample_consensus(data, model=model, random_seed=1)["place_probability"]
    pointwise = br.consensus_log_likelihood(data, model=model)["log_likelihood"]["y"]
    for draw, alpha in enumerate((ALPHA, ALPHA / 2)):
        logps = [R.weight @ [staged_logp(x, rho, alpha) for x in RANKS] for rho in every]
        share = np.exp(logps - logsumexp(logps))
        exact = [[share @ (every[:, i] == r) for r in range(1, 5)] for i in range(4)]
        np.testing.assert_allclose(place[0, draw], exact, atol=1e-12)
        for m in range(4):
            rest = np.delete(np.arange(4), m)
            expected = summed(alpha) - summed(alpha, RANKS[rest], R.weight[rest])
            assert float(pointwise[0, draw, m]) == pytest.approx(expected, abs=1e-9)


# Components

WEIGHTS = np.array([0.3, 0.7])
BY_COMPONENT = np.array([[3.0, 1.0], [0.5, 4.0]])


def components_of(alpha, rankings=R, sizes=None):
    with pm.Model(coords=rankings.coords | {"component": range(2)}) as model:
        consensus = br.PlackettLuce("consensus", np.zeros((2, 4)), dims=("component", "item"))
        component = br.GeneralizedMallows.dist(consensus, alpha, sizes=sizes)
        br.Mixture("y", WEIGHTS, component, observed=rankings)
    return model


def mixture_logp(orders, alpha):
    """Log-probability of every ranking if its component is not known."""
    logps = [[staged_logp(x, *one) for one in zip(orders, alpha, strict=True)] for x in RANKS]
    return R.weight * logsumexp(np.log(WEIGHTS) + logps, axis=1)


@for_each("alpha", [BY_COMPONENT, BY_COMPONENT[0]])
def test_components_of_a_mixture_have_an_order_each_and_concentrations_of_their_own(alpha):
    model, orders = components_of(alpha), np.array([RHO, [4, 3, 1, 2]])
    found = model.compile_logp(vars=model["y"], sum=False)({"consensus": orders})[0]
    exact = mixture_logp(orders, np.broadcast_to(alpha, (2, 2)))
    np.testing.assert_allclose(found, exact, atol=1e-11)
    drawn = pm.draw(model["y"], random_seed=1)
    np.testing.assert_array_equal(np.sort(drawn, axis=1), np.sort(R.ranks, axis=1))


def test_the_orders_of_components_are_found():
    best = br.fit_mixture(
        n_starts=4, mode="FAST_COMPILE", random_seed=1, model=components_of(BY_COMPONENT)
    )
    every = every_ranking(4)
    logps = np.array(
        [[[staged_logp(x, rho, a) for x in RANKS] for rho in every] for a in BY_COMPONENT]
    )
    logps += np.log(WEIGHTS)[:, None, None]
    both = np.logaddexp(logps[0][:, None], logps[1][None]) @ R.weight
    assert best.log_likelihood == pytest.approx(both.max(), abs=1e-9)


# What is refused


@for_each(
    ("arguments", "error", "message"),
    [
        ({"alpha": 1.0}, ValueError, r"`alpha` of 'y' is one number. Its last axis must have one"),
        (
            {"alpha": [1.0] * 4},
            ValueError,
            r"`alpha` of 'y' has shape \(4,\).* one per stage, shape \(1 to 3,\)",
        ),
        ({}, TypeError, "GeneralizedMallows needs alpha="),
        ({"alpha": [1.0], "consensus": [1, 1, 2, 3]}, ValueError, "it must hold every rank from 1"),
        ({"alpha": [1.0], "sizes": [1, 3]}, TypeError, "sizes"),
        ({"alpha": [1.0], "total_size": 9}, ValueError, "'y' got total_size= without a consensus"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments, error, message):
    with pm.Model(coords=R.coords), pytest.raises(error, match=message):
        br.GeneralizedMallows("y", observed=R, **arguments)


def test_ties_before_the_last_block_and_items_that_are_left_out_are_refused():
    tied = br.Rankings.from_orderings([["a", {"b", "c"}, "d"]] * 2)
    for orderings, message in (
        ([["a", {"b", "c"}, "d"]], "'y' needs rankings of all items, with ties in the last"),
        ([["a", "b"], ["a", "b", "c"]], "ranking 0 has 2 of the 3 items, on 2 different ranks"),
    ):
        rankings = br.Rankings.from_orderings(orderings, rest=())
        with pm.Model(coords=rankings.coords), pytest.raises(ValueError, match=message):
            br.GeneralizedMallows("y", alpha=[1.0], observed=rankings)
    with pytest.raises(ValueError, match="in a generalised Mallows model, all blocks but the last"):
        br.GeneralizedMallows.dist([1, 2, 3], [1.0], sizes=[2, 1])
    with pytest.raises(TypeError, match="without a consensus needs observed Rankings"):
        br.GeneralizedMallows.dist(alpha=[1.0])
    with pm.Model(), pytest.raises(TypeError, match="consensus_dims= without Rankings"):
        br.GeneralizedMallows("y", [1, 2], [1.0], consensus_dims="item", observed=[[1, 2]])
    with pytest.raises(ParameterValueError, match="alpha must be finite and not negative"):
        pm.logp(br.GeneralizedMallows.dist([1, 2], [-1.0]), [1, 2]).eval(mode="FAST_COMPILE")
    for message, error, arguments in (
        ("is a GeneralizedMallows with sizes=", TypeError, {"alpha": [1.0], "sizes": [1, 3]}),
        (
            r"The alpha of a component of 'y' has shape \(1, 1, 1\)",
            ValueError,
            {"alpha": [[[1.0]]]},
        ),
        ("ties in the last block only", ValueError, {"alpha": [1.0], "rankings": tied}),
    ):
        with pytest.raises(error, match=message):
            components_of(**arguments)


def test_a_consensus_by_ranking_must_have_as_many_rows_as_there_are_rankings():
    orders = [list("abcd"), list("bacd"), list("cbad"), list("dcba"), list("abdc")]
    few, many = (br.Rankings.from_orderings(some) for some in (orders[:3], orders))
    with pm.Model(coords=few.coords) as model:
        rows = pm.Data("rows", np.tile([1, 2, 3, 4], (3, 1)))
        dims = {"consensus_dims": ("ranking", "item")}
        br.GeneralizedMallows("y", rows, alpha=[1.0, 2.0, 3.0], observed=few, **dims)
    for mode in ("FAST_COMPILE", "NUMBA"):
        logp = model.compile_fn(model.logp(sum=False), mode=mode, point_fn=False, inputs=[])
        br.set_observed("y", few, model=model)
        pm.set_data({"rows": np.tile([1, 2, 3, 4], (3, 1))}, model=model)
        first = logp()[0]
        br.set_observed("y", many, model=model)
        with pytest.raises(ValueError, match="one value for each row of the observed data"):
            logp()
        pm.set_data({"rows": np.tile([1, 2, 3, 4], (5, 1))}, model=model)
        np.testing.assert_allclose(logp()[0][:3], first)


def test_concentrations_of_known_length_may_come_from_an_input():
    alpha = pt.vector("alpha", shape=(2,))
    exact = staged_logp([2, 1, 3], [1, 2, 3], [3.0, 0.5])
    unknown = pt.vector("unknown")
    for given, x in ((alpha, alpha), (pt.specify_shape(unknown, (2,)), unknown)):
        logp = pm.logp(br.GeneralizedMallows.dist([1, 2, 3], given), [2, 1, 3])
        assert float(logp.eval({x: np.array([3.0, 0.5])})) == pytest.approx(exact, abs=1e-12)
    with pytest.raises(ValueError, match=r"stages of `alpha` is unknown.*pt\.specify_shape"):
        br.GeneralizedMallows.dist([1, 2, 3], unknown)
