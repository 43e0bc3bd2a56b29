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
