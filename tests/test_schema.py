"""The names of what a model keeps of its data: written by models, read in their results."""

import numpy as np
import pymc as pm
import xarray as xr

import bayesrank as br
from bayesrank.schema import Kept, groups_of

RANKINGS = br.Rankings.from_orderings(
    [["a", "b"], ["b", "c"], ["c", "a"]], rankers=["ann", "bob", "ann"]
)
PAIRS = br.Pairs.from_matrix([[0, 3], [1, 0]], items=["a", "b"])


def kept_of(distribution, data, name="utility"):
    with pm.Model(coords=data.coords):
        distribution("y", pm.Normal(name, 0, 1, dims="item"), observed=data)
        return Kept(pm.sample_prior_predictive(2, random_seed=1), "y")


def test_rankings_are_read_as_written():
    kept = kept_of(br.PlackettLuce, RANKINGS)
    assert kept.outcome == "weak orders given their block sizes"
    assert kept.groups == {"ranker": "ranker"}  # items are counted, and are no group
    assert kept.codes("ranker").tolist() == [0, 1, 0]
    assert kept.labels("ranker").tolist() == ["ann", "bob"]
    assert kept.items.tolist() == ["a", "b", "c"]
    assert kept.rows().to_numpy().tolist() == [0, 1, 2]
    np.testing.assert_array_equal(kept["ranks"], RANKINGS.ranks)
    assert ("weight" in kept, "counts" in kept) == (True, False)


def test_pairs_and_counts_are_read_as_written():
    kept = kept_of(br.BradleyTerry, PAIRS)
    assert kept.outcome == "pair outcomes given the pairs"
    assert kept.groups == {"judge": "judge"}
    assert kept.items.tolist() == ["a", "b"]
    counts = kept_of(br.MPM, RANKINGS.counts())
    assert counts.item_axis == "item"
    assert counts.items.tolist() == ["a", "b", "c"]
    assert counts.groups == {}


def test_a_variable_for_every_part_is_read():
    kept = kept_of(br.PlackettLuce, RANKINGS)
    assert "y_ranks" in kept.constant
    assert "y_data" not in kept.constant
    again = Kept(xr.DataTree.from_dict({"constant_data": kept.constant}), "y")
    assert again.constant.equals(kept.constant)
    assert (again.outcome, again.groups) == (kept.outcome, kept.groups)


def test_results_without_data_keep_nothing():
    kept = Kept(xr.DataTree(), "y")
    assert (kept.outcome, kept.groups, kept.item_axis, kept.items) == (None, {}, None, None)
    assert "weight" not in kept


def test_a_group_has_codes_of_the_rows_and_no_others():
    dims = {"y_judge": ("pair",), "y_judge_matches": ("judge",), "y_day_matches": ("day",)}
    assert groups_of("y", dims) == {"judge": "judge"}
    assert groups_of("y", dims, "pair") == {"judge": "judge"}
    assert groups_of("y", dims, "match") == {}
    assert groups_of("z", dims) == {}


def test_labels_that_results_do_not_name_are_numbers():
    table = xr.Dataset({"y_judge": ("pair", [0, 2]), "y_judge_matches": ("judge", [1, 0, 1])})
    kept = Kept(xr.DataTree.from_dict({"constant_data": table}), "y")
    assert kept.labels("judge").tolist() == [0, 1, 2]
    assert kept.items is None
