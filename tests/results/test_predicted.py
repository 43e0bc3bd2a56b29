"""Drawn rankings by item: from slots by hand, from models, after new data, and in ArviZ's plots."""

from functools import cache

import arviz as az
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr

import bayesrank as br
from tests.fake_draws import fake_draws

DIMS = ("ranking", "slot")
GROUPS = ("posterior_predictive", "observed_data")
# b over a, then a tied with c, then c alone; the empty slot holds item 0
ITEM = [[1, 0], [0, 2], [2, 0]]
RANKS = [[1, 2], [1, 1], [1, 0]]
DRAWN = [[[1, 2], [1, 1], [1, 0]], [[2, 1], [1, 1], [1, 0]]]
NAN = np.nan
BY_ITEM = [[[2, 1, NAN], [1, NAN, 1], [NAN, NAN, 1]], [[1, 2, NAN], [1, NAN, 1], [NAN, NAN, 1]]]


def tree(drawn=DRAWN, dims=DIMS, group="posterior_predictive", constant="constant_data", **coords):
    values = (("chain", "draw", *dims), np.array([drawn]))
    return xr.DataTree.from_dict(
        {
            group: xr.Dataset({"y": values}, coords=coords),
            "observed_data": xr.Dataset({"y": (dims, np.array(RANKS))}),
            constant: xr.Dataset(
                {
                    "y_item": (dims, np.array(ITEM)),
                    "y_ranks": (dims, np.array(RANKS)),
                    "y_item_rankings": ("beer", [2, 1, 2]),
                },
                coords={"beer": ["ale", "bock", "cider"], dims[0]: list("xyz")},
            ),
        }
    )


def test_every_rank_is_that_of_the_item_in_its_slot_and_nan_without_one():
    ranks = br.predicted_ranks(tree())
    assert (ranks.name, ranks.dims) == ("y", ("chain", "draw", "ranking", "beer"))
    assert ranks["beer"].values.tolist() == ["ale", "bock", "cider"]
    np.testing.assert_array_equal(ranks.values, [BY_ITEM])


def test_those_observed_have_neither_chains_nor_draws():
    ranks = br.predicted_ranks(tree(), group="observed_data")
    assert ranks.dims == ("ranking", "beer")
    np.testing.assert_array_equal(ranks.values, BY_ITEM[0])


def test_axes_of_another_order_or_name_are_found():
    data = tree(dims=("race", "place"))
    turned = data["posterior_predictive"].to_dataset().transpose("place", "draw", "race", "chain")
    data["posterior_predictive"] = xr.DataTree(turned)
    ranks = br.predicted_ranks(data)
    assert ranks.dims == ("draw", "chain", "race", "beer")
    np.testing.assert_array_equal(ranks.transpose("chain", "draw", ...).values, [BY_ITEM])


def test_predictions_are_read_with_the_data_that_they_were_made_for():
    data = tree(group="predictions", constant="predictions_constant_data")
    np.testing.assert_array_equal(br.predicted_ranks(data, group="predictions").values, [BY_ITEM])
    with pytest.raises(ValueError, match=r"^constant_data does not name the items of the"):
        br.predicted_ranks(data, group="observed_data")


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (tree(), {"group": "prior_predictive"}, r"no prior_predictive; .*sample_prior_predictive"),
        (tree(), {"group": "posterior"}, "^`group` is 'posterior'; it must be one of"),
        (tree(), {"var_name": "rank"}, r"no variable 'rank'; it has \['y'\]. .* with var_name="),
        (tree([[[1, 2]]]), {}, r"^'y' in posterior_predictive has the sizes \{'chain': 1,"),
        (tree(ranking=list("xyw")), {}, "^'y' in posterior_predictive has other ranking labels"),
    ],
)
def test_missing_groups_and_other_sizes_or_labels_raise(data, options, message):
    with pytest.raises(ValueError, match=message):
        br.predicted_ranks(data, **options)


def test_results_that_are_not_a_tree_raise():
    with pytest.raises(TypeError, match=r"Expected a DataTree .*; got Dataset"):
        br.predicted_ranks(tree()["observed_data"].to_dataset())


# From models

ORDERS = [["b", "a", "c"], ["c", "d"], [{"a", "d"}, "b"], ["d", "a", "b", "c"]]
UTILITY = {"a": 0.0, "b": 60.0, "c": -60.0, "d": 120.0}  # draws have this order, almost surely
OTHERS = [["a", "d"], ["c", "b", "a"]]


def places(*wanted):
    """Ranks of the items of each ranking, as the utilities have them."""
    order = sorted(UTILITY, key=UTILITY.__getitem__, reverse=True)
    rows = [dict(zip(sorted(some, key=order.index), range(1, 9), strict=False)) for some in wanted]
    return pd.DataFrame(rows, columns=list("abcd"))


@cache
def drawn():
    """Predictive draws of a model of which the order is known, for its data and for others."""
    rankings = br.Rankings.from_orderings(ORDERS, rest=(), items=list("abcd"))
    posterior = xr.Dataset(
        {"utility": (("chain", "draw", "item"), [[[*UTILITY.values()]] * 3])},
        coords={"item": list(UTILITY)},
    )
    with pm.Model(coords=rankings.coords):
        utility = pm.Normal("utility", 0, 1, dims="item")
        br.PlackettLuce("y", utility, observed=rankings)
        options = {"progressbar": False, "random_seed": 1}
        data = pm.sample_posterior_predictive(posterior, **options)
        others = br.Rankings.from_orderings(OTHERS, rest=(), items=list("abcd"))
        br.set_observed("y", others)
        ahead = pm.sample_posterior_predictive(posterior, predictions=True, **options)
        data.update(ahead)
        again = pm.sample_posterior_predictive(posterior, **options)
    return data, again


def test_draws_of_a_model_are_in_the_order_of_its_utilities():
    data, _ = drawn()
    expected = places(*ORDERS[:2], "dab", ORDERS[3])
    # the sizes of blocks are given: of three, the two that are ahead are tied
    expected.loc[2, ["a", "b", "d"]] = [2, 1, 1]
    for one in br.predicted_ranks(data).to_numpy()[0]:
        np.testing.assert_array_equal(one, expected.to_numpy(float))


def test_new_rankings_are_read_by_their_own_items():
    data, again = drawn()
    for ranks in (br.predicted_ranks(data, group="predictions"), br.predicted_ranks(again)):
        assert dict(ranks.sizes) == {"chain": 1, "draw": 3, "ranking": 2, "item": 4}
        np.testing.assert_array_equal(ranks.values[0, 0], places(*OTHERS).to_numpy(float))


def test_arviz_draws_the_ranks_of_an_item_and_leaves_out_where_it_was_not():
    data, _ = drawn()
    ranks_of_a = {g: br.predicted_ranks(data, group=g).sel(item="a").to_dataset() for g in GROUPS}
    pc = az.plot_ppc_interval(xr.DataTree.from_dict(ranks_of_a))
    points = pc.viz["observed_markers"]["y"].item().get_offsets()
    np.testing.assert_array_equal(np.ma.filled(points[:, 1].astype(float), NAN), [2, NAN, 1, 2])
    plt.close("all")


# One number per ranking


def with_posterior(logp):
    data = tree()
    data["posterior"] = xr.DataTree(xr.Dataset({"s": (("chain", "draw"), [[0.0, 1.0]])}))
    values = (("chain", "draw", "ranking"), [logp])
    data["log_likelihood"] = xr.DataTree(
        xr.Dataset({"y": values}, coords={"ranking": list("xyz")})
    )  # fmt: skip
    return data


def test_a_statistic_is_of_the_rankings_that_have_its_items():
    found = br.predicted_statistic(tree(), lambda ranks: ranks.sel(beer="ale"))
    predicted, observed = found["posterior_predictive"]["y"], found["observed_data"]["y"]
    assert predicted.dims == ("chain", "draw", "ranking")
    assert predicted.values.tolist() == [[[2, 1], [1, 1]]]
    assert observed.values.tolist() == [2, 1]
    assert {predicted.dtype, observed.dtype} == {np.dtype(np.int64)}  # as rootograms need
    mean = br.predicted_statistic(tree(), lambda ranks: ranks.mean("beer"))
    assert mean["observed_data"]["y"].values.tolist() == [1.5, 1, 1]
    assert "log_likelihood" not in found.children


def test_a_constant_log_likelihood_leaves_its_ranking_out():
    data = with_posterior([[-1.0, -2.0, 0.0], [-1.5, -2.0, 0.0]])
    found = br.predicted_statistic(data, lambda ranks: ranks.max("beer"))
    assert found["observed_data"]["y"].values.tolist() == [2]
    assert found["log_likelihood"]["y"].values.tolist() == [[[-1.0], [-1.5]]]
    assert found["posterior"]["s"].equals(data["posterior"]["s"])
    assert found["posterior_predictive"]["y"].sizes["ranking"] == 1


def test_prior_predictions_have_neither_posterior_nor_log_likelihood():
    data = with_posterior([[-1.0, -2.0, 0.0], [-1.5, -2.0, 0.0]])
    data["prior_predictive"] = data["posterior_predictive"]
    found = br.predicted_statistic(
        data, lambda ranks: ranks.max("beer"), group="prior_predictive"
    )  # fmt: skip
    assert set(found.children) == {"prior_predictive", "observed_data"}
    assert found["observed_data"]["y"].sizes["ranking"] == 3


@pytest.mark.parametrize(
    ("statistic", "options", "message"),
    [
        (
            lambda ranks: ranks, {},
            r"^`statistic` must return .* the dims \['chain', 'draw', 'ranking'\], one number",
        ),
        (lambda ranks: ranks.to_numpy(), {}, r"it returned <class 'numpy.ndarray'>\. Select one"),
        (lambda ranks: ranks.sel(beer="ale") * NAN, {}, "^The statistic is NaN in all observed"),
        (
            lambda ranks: ranks.sel(beer="ale"), {"group": "predictions"},
            r"^`group` is 'predictions'; it must be one of \['posterior_predictive', 'prior_pr",
        ),
    ],
)  # fmt: skip
def test_a_statistic_that_is_no_number_of_a_ranking_raises(statistic, options, message):
    with pytest.raises(ValueError, match=message):
        br.predicted_statistic(tree(), statistic, **options)


def test_counted_rankings_have_no_statistic():
    data = tree()
    counted = data["constant_data"].to_dataset().assign(y_count=("ranking", [1, 3, 1]))
    data["constant_data"] = xr.DataTree(counted)
    with pytest.raises(ValueError, match=r"^The rows of 'y' count 5 rankings, but each of the 3"):
        br.predicted_statistic(data, lambda ranks: ranks.sel(beer="ale"))


def test_the_checks_of_arviz_take_a_statistic():
    rng = np.random.default_rng(1)
    rankings = br.Rankings.from_orderings([list(rng.permutation(list("abcd"))) for _ in range(40)])
    with pm.Model(coords=rankings.coords):
        br.PlackettLuce("y", pm.Normal("utility", dims="item"), observed=rankings)
        idata = fake_draws(chains=2, draws=100)
        pm.sample_posterior_predictive(
            idata, extend_inferencedata=True, random_seed=1, progressbar=False
        )
        pm.compute_log_likelihood(idata, progressbar=False)
    found = br.predicted_statistic(idata, lambda ranks: ranks.sel(item="a"))
    ranks = br.predicted_ranks(idata).sel(item="a")
    xr.testing.assert_equal(
        found["posterior_predictive"]["y"].astype(float), ranks.drop_vars("item")
    )
    pit = az.loo_pit(found)["y"]
    assert pit.dims == ("ranking",)
    assert ((pit >= 0) & (pit <= 1)).all()
    for plot in (az.plot_ppc_pit, az.plot_ppc_rootogram, az.plot_loo_pit, az.plot_ppc_tstat):
        plot(found)
        plt.close("all")
