"""The balance of a design: counts that one checks by eye."""

import pandas as pd

import bayesrank as br


def test_items_and_pairs_are_counted_in_the_rankings_that_contain_them():
    rankings = br.Rankings.from_orderings(
        [["a", "b", "c"], ["c", {"a", "b"}], ["a", "c"]], rest=(), rankers=["x", "x", "y"]
    )
    found = rankings.design()
    assert found.items["shown"].to_dict() == {"a": 3, "b": 2, "c": 3}
    assert found.items["rankers"].to_dict() == {"a": 2, "b": 1, "c": 2}
    assert found.pairs.to_numpy().tolist() == [[0, 2, 3], [2, 0, 2], [3, 2, 0]]
    assert found.message.startswith(
        "Each of 3 items was shown in 2 to 3 rankings. Each pair was shown in 2 to 3 rankings."
    )


def test_a_balanced_design_says_so():
    message = br.Rankings.from_orderings([["a", "b"], ["b", "c"], ["c", "a"]]).design().message
    assert message == "Each of 3 items was shown in 2 rankings. Each pair was shown in 1 ranking."


def test_counts_are_multiplicities_and_weights_are_not():
    counted = br.Rankings.from_orderings([["a", "b"], ["b", "c"]], count=[2, 1], weight=[0.5, 3])
    found, expanded = counted.design(), counted.expand().design()
    assert found.items["shown"].tolist() == found.items["rankers"].tolist() == [2, 3, 1]
    assert found.pairs.loc["a", "b"] == 2
    pd.testing.assert_frame_equal(found.items, expanded.items)
    assert found.message == expanded.message


def test_it_names_what_is_not_compared():
    found = br.Rankings.from_orderings([["a", "b"], ["b", "a"], ["c", "d"], ["d", "c"]]).design()
    assert "4 of 6 pairs were never shown together, such as 'a' and 'c'. " in found.message
    assert "The comparison graph has 2 components ({'a', 'b'}, {'c', 'd'})" in found.message
    alone = br.Rankings.from_orderings([["a", "b"], ["b", "a"]], items=list("abc")).design()
    assert alone.items["shown"].tolist() == [2, 2, 0]
    assert "2 of 3 pairs were never shown together, such as 'a' and 'c'." in alone.message
