"""The posterior of a consensus that was summed out, against enumeration."""

import arviz as az
import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy.special import logsumexp

import bayesrank as br
from bayesrank.inference.mixtures.sampled_consensus import _interpolated
from bayesrank.results.evaluation.loo import loo_of
from tests.likelihoods.loops import for_each
from tests.likelihoods.mallows.permutations import (
    every_ranking,
    log_probabilities,
    log_sum_over_consensus,
)
from tests.oracles import frequency_p_value, places_in

ORDERINGS = [list("bacd"), list("abdc"), list("dacb"), list("badc"), list("bacd")]
R = br.Rankings.from_orderings(ORDERINGS, rankers=list("xyxzy"), weight=[1, 2, 1, 1, 1])
RANKS = np.array([[o.index(item) + 1 for item in "abcd"] for o in ORDERINGS])  # by item


def model_of(distance="footrule", dims=None):
    with pm.Model(coords=R.coords) as model:
        log_alpha = pm.Normal("log_alpha", 0, 1, dims=dims)
        br.Mallows(
            "y", alpha=pm.math.exp(log_alpha), alpha_dims=dims, distance=distance, observed=R
        )
    return model


def posterior_of(alpha, dims=()):
    """Draws of two chains."""
    alpha = np.array(alpha, dtype=float)
    draws = xr.Dataset({"log_alpha": (("chain", "draw", *dims), np.log([alpha, alpha]))})
    return xr.DataTree.from_dict({"posterior": draws.assign_coords(chain=[0, 1])})


def weights(alpha, distance):
    """Posterior of each consensus, by the definition."""
    alpha = np.broadcast_to(alpha, len(RANKS))
    logps = sum(
        w * log_probabilities(r, every_ranking(4), a, distance)
        for r, a, w in zip(RANKS, alpha, R.weight, strict=True)
    )
    return np.exp(logps - logsumexp(logps))


@for_each("distance", ["footrule", "spearman", "kendall"])
def test_places_have_their_posterior_probabilities(distance):
    by_ranker = np.array([0.5, 2.0, 4.0])
    shapes = [((), 2.0, 2.0), (("ranker",), by_ranker, by_ranker[R.ranker_idx])]
    for dims, alpha, row_alpha in shapes[: 1 if distance == "spearman" else 2]:
        data = posterior_of([alpha, alpha], dims)
        found = br.sample_consensus(data, model=model_of(distance, dims or None), random_seed=1)
        share = weights(row_alpha, distance)
        expected = [[share @ (every_ranking(4)[:, i] == r) for r in range(1, 5)] for i in range(4)]
        place = found["place_probability"]
        assert place.dims == ("chain", "draw", "item", "place")
        for chain in range(2):
            np.testing.assert_allclose(place[chain, 1], expected, atol=1e-12)
        assert place.coords["item"].values.tolist() == list("abcd")
        assert place.coords["place"].values.tolist() == [1, 2, 3, 4]


def test_draws_have_the_frequencies_of_the_posterior():
    data = posterior_of(np.full(4000, 1.5))
    found = br.sample_consensus(data, model=model_of("kendall"), random_seed=2)["consensus"]
    assert found.dims == ("chain", "draw", "item")
    drawn = places_in(every_ranking(4), found.values.reshape(-1, 4))
    assert frequency_p_value(drawn, weights(1.5, "kendall")) > 1e-8
    again = br.sample_consensus(data, model=model_of("kendall"), random_seed=2)["consensus"]
    xr.testing.assert_equal(found, again)


def test_draws_are_what_summaries_of_ranks_take():
    data = posterior_of(np.full(300, 6.0))
    found = br.sample_consensus(data, model=model_of(), random_seed=3)
    table = br.rank_summary(-found["consensus"])
    assert table.index[0] == "b"
    mean = (found["place_probability"] * found["place"]).sum("place").mean(("chain", "draw"))
    np.testing.assert_allclose(table["mean_rank"].loc[list("abcd")], mean, atol=0.3)
    shares = br.place_probability(-found["consensus"]).to_numpy()
    exact = found["place_probability"].mean(("chain", "draw")).to_numpy()
    np.testing.assert_allclose(shares, exact, atol=0.12)  # 600 draws: 5.8 standard errors


@for_each("distance", ["footrule", "kendall"])
def test_each_ranking_is_predicted_from_the_others(distance):
    by_ranker = np.array([[0.5, 2.0, 4.0], [1.0, 1.0, 3.0]])
    for dims, draws in (((), [0.7, 3.0]), (("ranker",), by_ranker)):
        data = posterior_of(draws, dims)
        found = br.consensus_log_likelihood(data, model=model_of(distance, dims or None))
        pointwise = found["log_likelihood"]["y"]
        assert pointwise.dims == ("chain", "draw", "ranking")
        assert "log_likelihood" not in data.children
        for draw, alpha in enumerate(draws):
            row_alpha = np.broadcast_to(alpha if not dims else alpha[R.ranker_idx], 5)
            all_of_them = log_sum_over_consensus(RANKS.tolist(), row_alpha, distance, R.weight)
            for m in range(5):
                others = np.delete(np.arange(5), m)
                rest = log_sum_over_consensus(
                    RANKS[others].tolist(), row_alpha[others], distance, R.weight[others]
                )
                assert pointwise[1, draw, m] == pytest.approx(all_of_them - rest, abs=1e-9)


def test_many_draws_are_interpolated_and_loo_takes_them(rng):
    alpha = rng.gamma(20.0, 0.1, size=500)
    model = model_of()
    found = br.consensus_log_likelihood(posterior_of(alpha), model=model)
    few = br.consensus_log_likelihood(posterior_of(alpha[:5]), model=model)
    np.testing.assert_allclose(
        found["log_likelihood"]["y"][:, :5], few["log_likelihood"]["y"], atol=1e-9
    )
    loo = az.loo(found, pointwise=True)
    assert loo.elpd_i.sizes == {"ranking": 5}
    # the harmonic mean of the predictive probabilities, which is what is smoothed
    raw = logsumexp(-found["log_likelihood"]["y"].values, axis=(0, 1)) - np.log(1000)
    np.testing.assert_allclose(loo.elpd_i, -raw, atol=0.05)


def test_interpolation_of_what_is_not_smooth_falls_back_to_every_point(rng):
    x = rng.random(40)
    seen = []

    def f(points):
        seen.append(len(points))
        return np.abs(points - 0.5)[:, None]

    np.testing.assert_array_equal(_interpolated(f, x)[:, 0], np.abs(x - 0.5))
    assert seen[-1] == 40
    assert _interpolated(np.exp, np.full(50, 2.0)).tolist() == [np.exp(2.0)] * 50


def test_other_variables_are_refused():
    data = posterior_of([1.0])
    with pm.Model(coords=R.coords) as given:
        br.Mallows("y", [1, 2, 3, 4], 1.0, observed=R)
        br.PlackettLuce("z", np.zeros(4), observed=R)
    for var_name in ("y", "z", "nothing"):
        with pytest.raises(
            ValueError, match=f"'{var_name}' is not a Mallows variable of the model"
        ):
            br.sample_consensus(data, var_name=var_name, model=given)


def test_a_posterior_of_another_model_is_refused():
    model = model_of()
    with pytest.raises(ValueError, match="has no variable 'log_alpha', on which the concentration"):
        br.sample_consensus(
            xr.DataTree.from_dict({"posterior": xr.Dataset({"x": (("chain", "draw"), [[1.0]])})}),
            model=model,
        )
    with pytest.raises(ValueError, match="The DataTree has no posterior"):
        br.consensus_log_likelihood(xr.DataTree(), model=model)


def test_one_number_for_all_rankings_is_no_log_likelihood_of_each():
    model, data = model_of(), posterior_of([1.0, 2.0])
    with model:
        pm.compute_log_likelihood(data, progressbar=False)
    together = data["log_likelihood"]["y"]
    assert together.dims == ("chain", "draw")
    expected = log_sum_over_consensus(RANKS.tolist(), 2.0, "footrule", R.weight)
    np.testing.assert_allclose(together[:, 1], expected)
    with pytest.raises(ValueError, match="has one value for all rankings together"):
        loo_of(data, "y")
