"""Predictive checks by component: against the definition, and on components that are not what they
seem.
"""

import functools

import numpy as np
import pymc as pm
import pytest
import xarray as xr

import bayesrank as br
from tests.likelihoods.loops import for_each

ITEMS = list("abcd")
UTILITY = np.array([[2.0, 1.0, -1.0, -2.0], [-1.5, 0.0, 0.0, 1.5]])
N_DRAWS = 40


def people(n=150, turns=1, odd=False, seed=3):
    """Rankings of two components; if odd, those of the second disagree about all but the last."""
    rng = np.random.default_rng(seed)
    component = (np.arange(n) % 3 == 0).astype(int)
    u = UTILITY[component]
    if odd:  # of the second component half put b before all others, half c: no one order
        second = np.flatnonzero(component == 1)
        u = u.copy()
        u[second] = np.where(
            (np.arange(len(second)) % 2 == 0)[:, None],
            [-3.0, 9.0, -9.0, 3.0],
            [-3.0, -9.0, 9.0, 3.0],
        )
    noisy = np.repeat(u, turns, axis=0) + rng.gumbel(size=(n * turns, 4))
    orderings = [[ITEMS[i] for i in row] for row in np.argsort(-noisy, axis=1)]
    return br.Rankings.from_orderings(orderings, rankers=np.repeat(range(n), turns), items=ITEMS)


@functools.cache
def checked(odd=False, turns=1):
    """Draws of what the rankings were made with, with predictions, and memberships."""
    rankings = people(150 // turns, turns, odd)
    unit = "ranking" if turns == 1 else "ranker"
    with pm.Model(coords={**rankings.coords, "component": ["one", "other"]}) as model:
        weights = pm.Dirichlet("weights", [2.0, 2.0], dims="component")
        utility = pm.Normal("utility", 0, 1.5, dims=("component", "item"))
        br.Mixture("y", weights, br.PlackettLuce.dist(utility), observed=rankings, unit=unit)
    rng = np.random.default_rng(1)
    draws = xr.Dataset(
        {
            "weights": (("chain", "draw", "component"), np.tile([2 / 3, 1 / 3], (1, N_DRAWS, 1))),
            "utility": (
                ("chain", "draw", "component", "item"),
                UTILITY + rng.normal(0, 0.1, (1, N_DRAWS, 2, 4)),
            ),
        },
        coords={"chain": [0], "draw": range(N_DRAWS), "component": ["one", "other"], "item": ITEMS},
    )
    data = pm.sample_prior_predictive(1, var_names=["y"], random_seed=1, model=model)
    data["posterior"] = xr.DataTree(draws)
    with model:
        found = pm.sample_posterior_predictive(data, random_seed=2, progressbar=False)
    data["posterior_predictive"] = found["posterior_predictive"]
    return data, br.component_probabilities(data, predicted=True, model=model), rankings, model


def test_variables_are_read_by_label_and_labels_in_another_order_are_refused():
    data, who, _, model = checked()
    moved = data.copy()
    draws = data["posterior"].to_dataset()
    moved["posterior"] = draws.transpose("item", ...)
    found = br.component_probabilities(moved, model=model)
    xr.testing.assert_allclose(found, br.component_probabilities(data, model=model))
    table = br.component_checks(data, who)
    for tree, memberships in ((moved, who), (data, who.isel(component=[1, 0]))):
        other = br.component_checks(tree, memberships).reindex(table.index)
        np.testing.assert_allclose(other["observed"], table["observed"])
    for dim, order in (("component", [1, 0]), ("item", [2, 0, 3, 1])):  # as by pm.set_data
        moved["posterior"] = draws.isel({dim: order})
        with pytest.raises(ValueError, match=f"labels of '{dim}' .* in another order than"):
            br.component_checks(moved, who)
    moved["posterior"] = draws.isel(item=[0, 1, 2])
    with pytest.raises(ValueError, match="'utility' has the labels 'a', 'b', 'c' of 'item' in the"):
        br.component_probabilities(moved, model=model)


@for_each("turns", [1, 3])
@pytest.mark.slow
def test_memberships_of_predicted_rankings_are_those_of_rankings_that_are_observed(turns):
    data, who, _, model = checked(turns=turns)
    one = data.copy()
    one["posterior"] = xr.DataTree(data["posterior"].dataset.isel(draw=[7]))
    exact = br.component_probabilities(one, model=model)
    np.testing.assert_allclose(who["observed"][0, 7], exact, atol=1e-12)
    # where what is predicted is what was observed
    same = data.copy()
    y = data["observed_data"].dataset["y"].expand_dims(chain=[0], draw=range(N_DRAWS))
    same["posterior_predictive"] = xr.DataTree(y.to_dataset())
    who = br.component_probabilities(same, predicted=True, model=model)
    np.testing.assert_allclose(who["predicted"], who["observed"], atol=1e-12)
    table = br.component_checks(same, who)
    np.testing.assert_allclose(table["observed"], table["mean"], atol=1e-12)
    np.testing.assert_allclose(table["sd"], 0.0, atol=1e-12)


def test_statistics_are_weighted_by_membership():
    data, who, rankings, _ = checked()
    table = br.component_checks(data, who)
    by_item = np.argsort(rankings.item, axis=1) + 1
    for k, component in enumerate(("one", "other")):
        share = who["observed"].to_numpy()[0, :, :, k]  # (n_draws, n_rankings)
        total = share.sum(axis=1)
        exact = {
            ("share", "of the rankings"): (total / rankings.n_rankings).mean(),
            ("top item", "a"): (share @ (by_item[:, 0] == 1) / total).mean(),
            ("pair order", "b > d"): (share @ (by_item[:, 1] < by_item[:, 3]) / total).mean(),
        }
        for key, value in exact.items():
            assert table.loc[(*key, component), "observed"] == pytest.approx(value, abs=1e-12)
        order = (-data["posterior"]["utility"].to_numpy()[0, :, k]).argsort(axis=1).argsort(axis=1)
        later = order[:, :, None] < order[:, None, :]
        wrong = (by_item[:, :, None] > by_item[:, None, :]).reshape(len(by_item), -1)
        distance = later.reshape(N_DRAWS, -1) @ (1.0 * wrong).T / 6
        mean = ((share * distance).sum(axis=1) / total).mean()
        found = table.loc[("Kendall distance", "mean", component), "observed"]
        assert found == pytest.approx(mean, abs=1e-12)


def test_components_that_are_right_pass_and_a_component_of_two_fails():
    for turns in (1, 3):
        data, who, *_ = checked(turns=turns)
        table = br.component_checks(data, who)
        assert table["surprising"].mean() < 0.25  # draws are of the truth, and not fitted
        assert table.index.names == ["statistic", "label", "component"]
    data, who, *_ = checked(odd=True)
    table = br.component_checks(data, who)
    far = (table["observed"] - table["mean"]).abs() / table["sd"]
    by_component = far.groupby(level="component").max()
    assert by_component["other"] > 8


def test_probabilities_of_other_draws_are_refused():
    data, who, _, model = checked()
    with pytest.raises(ValueError, match="must have the variables 'observed' and 'predicted'"):
        br.component_checks(data, br.component_probabilities(data, model=model))
    with pytest.raises(ValueError, match="have different draws"):
        br.component_checks(data, who.isel(draw=slice(5)))
    with pytest.raises(
        ValueError, match="The posterior has no variable 'height' by component and item"
    ):
        br.component_checks(data, who, order="height")
    with pytest.raises(ValueError, match="`max_pairs` is 0"):
        br.component_checks(data, who, max_pairs=0)
    bare = xr.DataTree.from_dict({"posterior": data["posterior"].dataset})
    with pytest.raises(ValueError, match="The data have no predictions of 'y'"):
        br.component_probabilities(bare, predicted=True, model=model)
    other = data.copy()
    y = data["posterior_predictive"].dataset.assign_coords(draw=range(100, 100 + N_DRAWS))
    other["posterior_predictive"] = xr.DataTree(y)
    with pytest.raises(ValueError, match="come from draws that the posterior does not have"):
        br.component_probabilities(other, predicted=True, model=model)
