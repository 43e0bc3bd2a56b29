"""Adherence to labels: pairs counted by hand, problems, rankers that say nothing, bad labels."""

import numpy as np
import pandas as pd
import pytest

from bayesrank.data import PairCounts, UninformativeRankingWarning
from models.metasearch.label_agreement import label_agreement, supervised_adherence


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


def test_a_ranker_that_orders_no_such_pair_has_one_half_and_a_warning(queries):
    tied = dict.fromkeys(queries.items, 1)
    with pytest.warns(
        UninformativeRankingWarning,
        match=r"2 of the 2 rankers order no two items of different labels \('u', 'v'\): .* 0\.5",
    ):
        assert supervised_adherence(queries, tied).to_dict() == {"u": 0.5, "v": 0.5}
