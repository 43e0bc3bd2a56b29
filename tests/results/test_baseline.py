"""Random ranking: probabilities that need no parameters."""

from math import comb, log

import numpy as np
import pymc as pm
import pytest
import xarray as xr

import bayesrank as br
from bayesrank.results import baseline_elpd
from bayesrank.results.evaluation.baseline import log_n_weak_orders
from tests.builders import model_of
from tests.distributions.mpm_examples import PAIRS
from tests.distributions.pair_examples import pairs_of, table
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


RANKINGS = br.Rankings.from_orderings(
    [["a", "b", "c", "d"], ["b", {"a", "c"}], [{"a", "d"}, {"b", "c"}]], weight=[1, 2, 1], rest=()
)


def evaluated(family, observed, **options):
    """Values of a model at equal utilities, and those of random ranking."""
    model = model_of(observed, family, **options)
    (exact,) = model.compile_logp(vars=model["y"], sum=False)(
        {"utility": np.zeros(len(observed.items))}
    )
    return exact, baseline_elpd(constants(model))


@pytest.mark.parametrize(
    ("family", "observed", "options"),
    [
        (br.PlackettLuce, RANKINGS, {}),
        (br.BradleyTerry, pairs_of(ties=False), {}),
        (br.Thurstone, pairs_of(ties=False), {}),
        (br.Davidson, pairs_of(), {"nu": 1.0}),
        (br.MPM, PAIRS, {"adherence": 0.0}),
    ],
)
def test_random_ranking_is_the_model_with_equal_utilities(family, observed, options):
    exact, found = evaluated(family, observed, **options)
    np.testing.assert_allclose(found, exact, rtol=1e-9)
    (dim,) = found.dims
    assert dim not in observed.coords or found[dim].values.tolist() == list(observed.coords[dim])


def test_random_ranking_is_no_partition_model_with_equal_utilities():
    other, found = evaluated(br.PMOP, RANKINGS)
    np.testing.assert_allclose(found, [-log(75), -2 * log(13), -log(75)])
    assert np.abs(found.to_numpy() - other).min() > 0.1


# Pairs and counts


@pytest.mark.parametrize("n_outcomes", [2, 3])
def test_probabilities_of_pair_outcomes_sum_to_one(n_outcomes):
    counts = table(5, n_outcomes)
    ties = " with ties" if n_outcomes == 3 else ""
    found = baseline_elpd(data(f"pair outcomes{ties} given the pairs", "pair", counts=counts))
    assert found.dims == ("pair",)
    assert np.exp(found).sum() == pytest.approx(1, abs=1e-12)


def test_net_counts_alone_do_not_tell():
    tree = data("counts of ordered pairs given their sum", "ranker", net=[[1, -1]])
    with pytest.raises(ValueError, match=r"^The results contain only net counts of 'y', which do"):
        baseline_elpd(tree)


def test_a_pseudo_likelihood_has_no_random_ranking():
    tree = data("nothing: rank_weights make a pseudo-likelihood", ranks=[[1, 2]], weight=[1.0])
    with pytest.raises(ValueError, match=r"^'y' describes nothing: rank_weights make a .*no prob"):
        baseline_elpd(tree)
