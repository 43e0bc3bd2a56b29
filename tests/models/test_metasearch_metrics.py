"""Precision of rankings with ties, against all orders of the tied documents."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest

from models.metasearch.metrics import evaluate, precision, script_ndcg


def mean_over_orders(relevant, score):
    """Average precision, averaged over the orders that the scores leave open."""
    found = []
    for order in permutations(range(len(score))):
        y, s = np.array(relevant)[list(order)], np.array(score)[list(order)]
        if (np.diff(s) <= 0).all():
            at = np.cumsum(y) / np.arange(1, len(y) + 1)
            found.append({"p@2": at[1], "p@3": at[2], "ap": (at * y).sum() / max(y.sum(), 1)})
    return pd.DataFrame(found).mean()


@pytest.mark.parametrize(
    ("relevant", "score"),
    [
        ([1, 0, 1, 0, 1], [1, 1, 1, 0, 0]),
        ([1, 0, 0, 0, 1], [0, 0, 0, 0, 0]),
        ([0, 0, 1, 1, 0], [2, 2, 1, 3, 1]),
        ([1, 1, 1, 1, 1], [2, 2, 1, 3, 1]),
        ([0, 0, 0, 0, 0], [2, 2, 1, 3, 1]),
    ],
)
def test_ties_are_averaged_over_their_orders(relevant, score):
    found = precision(relevant, score, [2, 3])
    assert found == pytest.approx(mean_over_orders(relevant, score).to_dict())


def test_a_table_is_evaluated_query_by_query():
    table = pd.DataFrame({"query": [7, 7, 3, 3, 3], "label": [2, 0, 1, 2, 0]})
    found = evaluate(table, [0.1, 0.9, 0.5, 0.4, 0.3])
    assert found.index.to_list() == [7, 3]
    assert found["p@1"].to_list() == [0, 0]  # grade 1 is not relevant
    assert found["ap"].to_list() == [0.5, 0.5]
    assert found["ndcg@1"].to_list() == pytest.approx([0, 1 / 3])
    assert list(found) == [f"{m}@{k}" for m in ("ndcg", "p") for k in range(1, 6)] + ["ap"]


def test_the_script_of_letor_discounts_the_second_place_like_the_first():
    # gains 3, 1, 0, 0 stand as 1, 0, 3, 0; discounts 1, 1, log2(3), 2
    grades, score = np.array([2, 1, 0, 0]), np.array([0.5, 0.9, 0.7, 0.1])
    expected = {1: 1 / 3, 2: 1 / 4, 3: (1 + 3 / np.log2(3)) / 4, 4: (1 + 3 / np.log2(3)) / 4}
    found = script_ndcg(grades, score)
    assert [found[f"ndcg@{k}"] for k in expected] == pytest.approx([*expected.values()])
    tied = np.array([1.0, 1.0, 0.5, 0.5])  # each order of the tied documents is equally likely
    orders = [[0, 1, 2, 3], [1, 0, 2, 3], [0, 1, 3, 2], [1, 0, 3, 2]]
    each = [script_ndcg(grades[order], -np.arange(4.0)) for order in orders]
    assert script_ndcg(grades, tied) == pytest.approx(pd.DataFrame(each).mean().to_dict())
    assert set(script_ndcg([0, 0], [1, 2]).values()) == {0.0}
