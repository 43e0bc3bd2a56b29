"""Adherence to labels: pairs counted by hand, problems, rankers that say nothing, bad labels."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau

from bayesrank.data import PairCounts, Rankings, UninformativeRankingWarning
from models.metasearch.label_agreement import label_agreement, mean_agreement, supervised_adherence


@pytest.fixture
def queries():
    """Return two queries; u ranks both, v the first only, and ties b with c."""
    rows = [
        ("q1", "u", "a", 3), ("q1", "u", "b", 2), ("q1", "u", "c", 1),
        ("q1", "v", "a", 1), ("q1", "v", "b", 2), ("q1", "v", "c", 2),
        ("q2", "u", "a", 1), ("q2", "u", "b", 2),
    ]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["query", "engine", "item", "rating"])
    return PairCounts.from_ratings(
        frame, ranker="engine", item="item", rating="rating", problem="query"
    )


LABELS = {("q1", "a"): 1, ("q1", "b"): 0, ("q1", "c"): 1, ("q2", "a"): 0, ("q2", "b"): 2}


def test_agreement_is_the_share_of_pairs_ordered_as_the_labels_order_them(queries):
    found = label_agreement(queries, LABELS)
    assert found.index.to_list() == ["q1", "q2"]
    # q1, of different labels a > b and c > b: u has a > b only; v has b > a and ties b with c
    np.testing.assert_array_equal(found["u"], [1 / 2, 1])
    np.testing.assert_array_equal(found["v"], [0, np.nan])


def test_adherence_is_the_mean_over_problems_in_which_the_ranker_orders_such_a_pair(queries):
    assert supervised_adherence(queries, LABELS).to_dict() == {"u": 0.75, "v": 0.0}


def test_it_is_one_less_the_normalised_kendall_distance(rng):
    orders = np.array([rng.permutation(7) for _ in range(5)])
    c = Rankings.from_orderings(orders.tolist()).counts()
    labels = rng.permutation(7)
    tau = [kendalltau(np.argsort(row), -labels).statistic for row in orders]
    np.testing.assert_allclose(supervised_adherence(c, labels), (1 + np.array(tau)) / 2)


def test_by_how_much_items_are_apart_and_weights_do_not_matter(queries):
    found = supervised_adherence(queries.weighted(0.1), LABELS)
    pd.testing.assert_series_equal(found, supervised_adherence(queries, LABELS))
    more = PairCounts.from_matrix([[0, 5, 9], [2, 0, 1], [0, 0, 0]])
    assert supervised_adherence(more, [2, 1, 0]).to_list() == [1.0]
    # counts both ways that are equal order nothing
    even = PairCounts.from_matrix([[0, 2, 1], [2, 0, 0], [0, 0, 0]])
    assert supervised_adherence(even, [0, 1, 2]).to_list() == [0.0]


def test_labels_are_found_by_item_or_by_place(queries):
    by_item = pd.Series(LABELS.values(), pd.Index(list(LABELS), tupleize_cols=False))
    by_place = [LABELS[item] for item in queries.items]
    for labels in (by_item, by_item.iloc[::-1], by_place):
        assert supervised_adherence(queries, labels).to_dict() == {"u": 0.75, "v": 0.0}


def test_a_ranker_that_orders_no_such_pair_has_one_half_and_a_warning(queries):
    tied = dict.fromkeys(queries.items, 1)
    with pytest.warns(
        UninformativeRankingWarning,
        match=r"2 of the 2 rankers order no two items of different labels \('u', 'v'\): .* 0\.5",
    ):
        assert supervised_adherence(queries, tied).to_dict() == {"u": 0.5, "v": 0.5}


def test_rows_of_the_table_give_the_adherences_of_some_problems(queries):
    table = label_agreement(queries, LABELS)
    some = queries.subset(problems=["q1"])
    pd.testing.assert_series_equal(
        mean_agreement(table.loc[["q1"]]), supervised_adherence(some, LABELS)
    )


@pytest.mark.parametrize(
    ("labels", "match"),
    [
        ({("q1", "a"): 1}, r"`labels` has none for item \('q1', 'b'\)"),
        ([1, 2], r"`labels` has shape \(2,\); there are 5 items"),
        ([1, 2, np.nan, 0, 1], r"must be a finite number; item \('q1', 'c'\) has nan"),
        (list("abcde"), "`labels` must be an array of numbers"),
    ],
    ids=["missing", "too few", "NaN", "text"],
)
def test_bad_labels_are_named(queries, labels, match):
    with pytest.raises(ValueError, match=match):
        label_agreement(queries, labels)
