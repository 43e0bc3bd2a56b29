"""Random ranking: probabilities that need no parameters."""

from math import comb, log

import numpy as np
import pymc as pm
import pytest
import xarray as xr

import bayesrank as br
from bayesrank.results import baseline_elpd
from bayesrank.results.evaluation.baseline import log_n_weak_orders
from tests.distributions.mpm_examples import PAIRS
from tests.distributions.pair_examples import FAMILIES, pairs_of, table
from tests.oracles import N_WEAK_ORDERS, compositions, weak_orders

GIVEN_SIZES = "weak orders given their block sizes"


def data(outcome, dim="ranking", **parts):
    """The constant data of a model."""
    dims = {1: (dim,), 2: (dim, "slot")}
    values = {f"y_{name}": (dims[np.ndim(x)], np.asarray(x)) for name, x in parts.items()}
    n = len(next(iter(parts.values())))
    values |= {"y_outcomes": (("y_outcome",), [n])}
    constant = xr.Dataset(values, coords={"y_outcome": [outcome]})
    return xr.DataTree.from_dict({"constant_data": constant})


def baseline_logps(ranks, outcome, weight=None):
    """Log-probabilities of rankings at random."""
    weight = np.ones(len(ranks)) if weight is None else weight
    return baseline_elpd(data(outcome, ranks=ranks, weight=weight)).to_numpy()


def constants(model):
    """What the results of a model hold of its data, without sampling."""
    with model:
        return pm.sample_prior_predictive(draws=1, random_seed=0)


# Weak orders


@pytest.mark.parametrize("n", range(1, 6))
def test_probabilities_of_weak_orders_sum_to_one(n):
    everything = weak_orders(n)
    assert np.exp(baseline_logps(everything, "weak orders")).sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("n", range(1, 6))
def test_probabilities_given_block_sizes_sum_to_one_for_all_sizes(n):
    everything = weak_orders(n)
    total = np.exp(baseline_logps(everything, GIVEN_SIZES)).sum()
    assert total == pytest.approx(len(compositions(n)), abs=1e-11)


def test_empty_slots_and_weights_count_as_they_should():
    ranks = [[1, 2, 2, 0], [1, 1, 1, 1], [1, 0, 0, 0]]
    given = baseline_logps(ranks, GIVEN_SIZES, weight=[3.0, 1.0, 1.0])
    np.testing.assert_allclose(given, [3 * log(2 / 6), 0, 0], atol=1e-14)
    free = baseline_logps(ranks, "weak orders", weight=[3.0, 1.0, 1.0])
    np.testing.assert_allclose(free, [-3 * log(13), -log(75), 0], atol=1e-14)


def test_weak_orders_are_counted():
    assert [round(np.exp(log_n_weak_orders(n))) for n in range(7)] == list(N_WEAK_ORDERS)


@pytest.mark.parametrize("n", [7, 20, 60])
def test_many_weak_orders_are_counted_as_closely_as_few(n):
    # all ways to put n items into k blocks, by inclusion and exclusion, in whole numbers
    onto = [
        sum((-1) ** j * comb(k, j) * (k - j) ** n for j in range(k + 1)) for k in range(1, n + 1)
    ]
    assert log_n_weak_orders(n) == pytest.approx(log(sum(onto)), abs=2e-13)


def rankings_model(family, **options):
    rankings = br.Rankings.from_orderings(
        [["a", "b", "c", "d"], ["b", {"a", "c"}], [{"a", "d"}, {"b", "c"}]],
        weight=[1, 2, 1],
        rest=(),
    )
    with pm.Model(coords=rankings.coords) as model:
        utility = pm.Normal("utility", 0, 1, dims="item")
        family("y", utility, observed=rankings, **options)
    return model


def test_random_ranking_is_plackett_luce_with_equal_utilities():
    model = rankings_model(br.PlackettLuce)
    (exact,) = model.compile_logp(vars=model["y"], sum=False)({"utility": np.zeros(4)})
    np.testing.assert_allclose(baseline_elpd(constants(model)), exact, rtol=1e-9)


def test_random_ranking_is_no_partition_model_with_equal_utilities():
    model = rankings_model(br.PMOP)
    found = baseline_elpd(constants(model)).to_numpy()
    np.testing.assert_allclose(found, [-log(75), -2 * log(13), -log(75)])
    (other,) = model.compile_logp(vars=model["y"], sum=False)({"utility": np.zeros(4)})
    assert np.abs(found - other).min() > 0.1


# Pairs and counts


@pytest.mark.parametrize("n_outcomes", [2, 3])
def test_probabilities_of_pair_outcomes_sum_to_one(n_outcomes):
    counts = table(5, n_outcomes)
    ties = " with ties" if n_outcomes == 3 else ""
    found = baseline_elpd(data(f"pair outcomes{ties} given the pairs", "pair", counts=counts))
    assert found.dims == ("pair",)
    assert np.exp(found).sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("family", ["BradleyTerry", "Thurstone"])
def test_random_ranking_is_equal_utilities_in_models_of_pairs(family):
    pairs = pairs_of(ties=False)
    with pm.Model(coords=pairs.coords) as model:
        FAMILIES[family].distribution("y", pm.Normal("utility", dims="item"), observed=pairs)
    found = baseline_elpd(constants(model))
    (exact,) = model.compile_logp(vars=model["y"], sum=False)({"utility": np.zeros(4)})
    np.testing.assert_allclose(found, exact, rtol=1e-12)
    assert found["pair"].values.tolist() == list(pairs.coords["pair"])


def test_random_ranking_is_davidsons_model_with_a_tie_parameter_of_one():
    pairs = pairs_of()
    with pm.Model(coords=pairs.coords) as model:
        br.Davidson("y", pm.Normal("utility", dims="item"), nu=1.0, observed=pairs)
    (exact,) = model.compile_logp(vars=model["y"], sum=False)({"utility": np.zeros(4)})
    np.testing.assert_allclose(baseline_elpd(constants(model)), exact, rtol=1e-12)


def test_random_ranking_is_a_ranker_without_adherence():
    with pm.Model(coords=PAIRS.coords) as model:
        score = pm.Normal("score", dims="item")
        br.MPM("y", score, adherence=0.0, observed=PAIRS)
    found = baseline_elpd(constants(model))
    (exact,) = model.compile_logp(vars=model["y"], sum=False)({"score": np.array([0.5, 0, -2])})
    np.testing.assert_allclose(found, exact, rtol=1e-12)
    assert found["ranker"].values.tolist() == ["w", "x", "y", "z"]


def test_net_counts_alone_do_not_tell():
    tree = data("counts of ordered pairs given their sum", "ranker", net=[[1, -1]])
    with pytest.raises(ValueError, match=r"^The results contain only net counts of 'y', which do"):
        baseline_elpd(tree)


def test_a_pseudo_likelihood_has_no_random_ranking():
    tree = data("nothing: rank_weights make a pseudo-likelihood", ranks=[[1, 2]], weight=[1.0])
    with pytest.raises(ValueError, match=r"^'y' describes nothing: rank_weights make a .*no prob"):
        baseline_elpd(tree)
