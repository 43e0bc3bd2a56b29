"""Consensus orderings and their distance: by hand, and against all permutations."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from bayesrank.results import consensus_ordering, expected_kendall
from bayesrank.results.ranks.consensus_ordering import (
    _shared_places,
    cheapest_order,
    kemeny_ordering,
)
from tests.results.small_posteriors import noise, orders, posterior

METHODS = ("mean_rank", "copeland", "kendall")


def best_first(u, method):
    places = consensus_ordering(u, method=method)
    assert sorted(places.values.tolist()) == list(range(1, places.size + 1))
    return "".join(places.sortby(places)["item"].values)


def test_the_methods_differ_where_a_majority_has_a_favourite_that_others_put_last():
    # mean ranks: a (3 + 6) / 5, b (6 + 2) / 5, c (9 + 4) / 5; a is above b and c in 3 of 5
    u = orders("abc", "abc", "abc", "bca", "bca")
    assert {m: best_first(u, m) for m in METHODS} == {
        "mean_rank": "bac", "copeland": "abc", "kendall": "abc"
    }  # fmt: skip


def test_a_pair_that_is_even_counts_half_for_copeland():
    # a and b are even, a and c are even, b is above c: scores 1, 1.5, 0.5
    assert best_first(orders("abc", "bca"), "copeland") == "bac"


def test_copeland_and_kendall_differ_where_majorities_contradict_each_other():
    # a beats b and c, b beats c and d, c beats d, d beats a; mean ranks are 7/3, 2, 3 and 8/3
    u = orders("abcd", "dabc", "bcda")
    assert best_first(u, "copeland") == "badc"
    assert best_first(u, "kendall") == "abcd"


@pytest.mark.parametrize("method", METHODS)
def test_exact_ties_share_a_place(method):
    def places(u):
        return consensus_ordering(u, method=method).values.tolist()

    assert places(orders("abc", "cba")) == [1, 1, 1]
    # a cycle with mean rank 2 each: two of three draws put a above b
    cycle = places(orders("abc", "bca", "cab"))
    assert cycle == ([1, 2, 3] if method == "kendall" else [1, 1, 1])
    # bock is first in both draws, ale and cider share the other places
    assert places(posterior([[[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]])) == [2, 1, 2]
    # copies of an item have its place
    u = noise(30, 5)
    copied = places(u.isel(item=[0, 1, 2, 3, 4, 0, 2]))
    assert (copied[5], copied[6]) == (copied[0], copied[2])
    assert len({*copied}) == 5


def test_all_pairs_of_a_shared_place_are_ties():
    # a and b are ties and so are b and c, but not a and c
    assert _shared_places(np.array([[1, 1, 0], [1, 1, 1], [0, 1, 1]]) == 1).tolist() == [1, 1, 3]


def test_an_unknown_method_raises():
    with pytest.raises(
        ValueError, match=r"^`method` is 'borda'; it must be 'mean_rank' or 'copeland' or"
    ):
        consensus_ordering(posterior(), method="borda")


# Least expected distance, against all permutations


def contradicted(above, ordering):
    """Draws against the order, over all pairs."""
    return sum(
        above[after][before] for k, before in enumerate(ordering) for after in ordering[k + 1 :]
    )


def in_a_cycle(above):
    """Whether some items beat each other in a circle: their majorities reach themselves."""
    majority = above > above.T
    reach = np.linalg.matrix_power(majority + np.eye(len(above), dtype=int), len(above)) > 0
    return bool((reach & reach.T & ~np.eye(len(above), dtype=bool)).any())


@pytest.mark.parametrize("n", [3, 4, 5, 6, 7])
def test_kemenys_ordering_is_the_best_of_all_permutations(n):
    rng = np.random.default_rng(n)
    circular = 0
    for _ in range(12 if n < 7 else 4):
        above = rng.integers(0, 8, (n, n))  # odd counts and even ones, wins and exact halves
        np.fill_diagonal(above, 0)
        circular += in_a_cycle(above)
        ordering = kemeny_ordering(above)
        assert sorted(ordering.tolist()) == list(range(n))
        least = min(contradicted(above, p) for p in permutations(range(n)))
        assert contradicted(above, ordering) == least
    assert circular >= 3


@pytest.mark.parametrize("seed", range(6))
def test_the_kendall_consensus_has_the_least_expected_distance_of_all_orderings(seed):
    u = noise(7, 5, seed)  # seven draws of noise: majorities that contradict each other
    every = [expected_kendall(u, p).item() for p in permutations(range(1, 6))]
    found = consensus_ordering(u, method="kendall")
    assert expected_kendall(u, found).item() == pytest.approx(min(every), abs=1e-12)
    for method in ("mean_rank", "copeland"):
        other = expected_kendall(u, consensus_ordering(u, method=method)).item()
        assert other >= min(every) - 1e-12


def test_of_several_best_orders_the_one_with_the_first_items_first_is_found():
    rng = np.random.default_rng(0)
    for _ in range(20):
        cost = rng.integers(0, 3, (5, 5))
        costs = {p: contradicted(cost.T, p) for p in permutations(range(5))}
        least = min(p for p, c in costs.items() if c == min(costs.values()))
        assert tuple(cheapest_order(cost).tolist()) == least


def test_cycles_among_many_items_are_ordered_inside_and_the_rest_by_majority():
    # a hundred items in a chain, of which 10 11 12 and 60 61 62 63 are in cycles
    above = np.triu(np.full((100, 100), 5), 1)
    for first, last in ((10, 12), (60, 63)):
        above[first, last], above[last, first] = 0, 9
    ordering = kemeny_ordering(above)
    # the last before the first costs 5 of every pair between them, rather than 9
    expected = [*range(10), 10, 11, 12, *range(13, 100)]
    for cycle in ([10, 11, 12], [60, 61, 62, 63]):
        best = min(permutations(cycle), key=lambda p: contradicted(above, p))
        expected[cycle[0] : cycle[-1] + 1] = best
    assert ordering.tolist() == expected
    assert expected != list(range(100))


def rotations(n):
    """Draws that put the items in a circle: each is above the next in all but one."""
    return xr.DataArray(
        [[np.roll(np.arange(n, 0.0, -1.0), k) for k in range(n)]], dims=("chain", "draw", "item")
    )


def test_more_items_in_a_cycle_raise_and_the_way_out_works():
    u = rotations(19)
    with pytest.raises(
        ValueError,
        match=r"^19 items form a cycle of majorities; method=\"kendall\" can order at most 18\. "
        r"Select fewer items, .* method=\"copeland\"\.$",
    ):
        consensus_ordering(u, method="kendall")
    assert consensus_ordering(u, method="copeland").values.tolist() == [1] * 19
    fewer = consensus_ordering(u.isel(item=slice(18)), method="kendall")
    assert fewer.values.tolist() == list(range(1, 19))


# Expected distance


def test_the_expected_distance_is_counted_by_hand():
    # against a b c: no pair, one pair (b a), all three
    u = orders("abc", "bac", "cba")
    assert expected_kendall(u, [1, 2, 3]).item() == pytest.approx((0 + 1 + 3) / 3)
    assert expected_kendall(u, [3, 2, 1]).item() == pytest.approx((3 + 2 + 0) / 3)


def test_a_pair_equal_in_one_counts_half_and_in_both_nothing():
    u = posterior([[[2.0, 2.0, 1.0]]])
    assert expected_kendall(u, [1, 2, 3]).item() == 0.5  # ale and bock are equal in the draw
    assert expected_kendall(u, [1, 1, 2]).item() == 0  # and here too
    assert expected_kendall(u, [2, 1, 1]).item() == 0.5 + 1 + 0.5
    assert expected_kendall(u, [1, 1, 1]).item() == 1  # two pairs, each equal here only
    assert expected_kendall(posterior(), [1, 1, 1]).item() == 1.5


def test_places_are_matched_with_items_by_label():
    u = posterior()
    by_hand = expected_kendall(u, [2, 1, 3])
    labelled = pd.Series({"cider": 3, "ale": 2, "bock": 1})
    assert expected_kendall(u, labelled).equals(by_hand)
    assert expected_kendall(u, labelled.rename_axis("item").to_xarray()).equals(by_hand)
    assert by_hand.item() != expected_kendall(u, [3, 2, 1]).item()


def test_each_group_may_have_places_of_its_own():
    u = xr.concat([orders("abc"), orders("cba")], xr.IndexVariable("year", [2001, 2002]))
    assert expected_kendall(u, consensus_ordering(u)).values.tolist() == [0, 0]
    turned = consensus_ordering(u).isel(year=[1, 0], item=[2, 0, 1]).transpose("item", "year")
    assert expected_kendall(u, turned).values.tolist() == [0, 0]
    assert expected_kendall(u, [1, 2, 3])["year"].values.tolist() == [2001, 2002]


@pytest.mark.parametrize(
    ("places", "message"),
    [
        (
            pd.Series({"ale": 1, "bock": 2}),
            r"^`places` and the draws have different labels of 'item': \['cider'\]\. Give each",
        ),
        (
            pd.Series({"ale": 1, "bock": 2, "cider": 3, "dunkel": 4}),
            r"^`places` and the draws have different labels of 'item': \['dunkel'\]\. Give each",
        ),
        (
            pd.Series([1, 2, 3, 4], index=["ale", "bock", "cider", "ale"]),
            r"^`places` and the draws have different labels of 'item': \['ale'\]\. Give each",
        ),
        ([1, 2], r"^`places` has size 2 along 'item'; the draws have size 3\.$"),
        ([1, 2, np.nan], r"^`places` contains NaN or infinite values; give every item a place\.$"),
        ([[1, 2, 3]], r"^`places` has the dims \['dim_0', 'dim_1'\]; it must have 'item', and"),
        (5, r"^`places` has the dims \[\]; it must have 'item', and may have \[\]\.$"),
        (
            xr.DataArray([[1, 2, 3]], dims=("year", "item")),
            r"^`places` has the dims \['year', 'item'\]; it must have 'item', and may have",
        ),
        (xr.DataArray([1, 2, 3], dims="team"), r"^`places` has the dims \['team'\]; it must have"),
    ],
)
def test_places_that_are_not_those_of_the_items_raise(places, message):
    with pytest.raises(ValueError, match=message):
        expected_kendall(posterior(), places)


def test_places_are_numbers():
    with pytest.raises(TypeError, match="`places` must be numbers, the place of each item"):
        expected_kendall(noise(5, 3), ["b", "a", "c"])
