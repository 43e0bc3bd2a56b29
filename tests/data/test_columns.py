"""Columns: numbers of every type are read, and what is no number is named with its row."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from bayesrank.data import Interactions, PairCounts, Rankings
from bayesrank.data.read.columns import numbers, require_columns
from tests.data.examples import STARS, from_places, from_stars, places


@pytest.mark.parametrize(
    ("values", "ranks"),
    [
        (np.array([0, 255, 7], dtype=np.uint8), [1, 2, 3]),
        (np.array([False, True, False]), [1, 2, 2]),
        (np.array([2**62 + 1, 2**62, -(2**63)]), [1, 2, 3]),
        (pd.array([3, 1, 2], dtype="Int64"), [1, 2, 3]),
        (pd.array([3.5, 1.5, 3.5], dtype="Float64"), [1, 1, 2]),
        (np.array([3, 1.5, 2], dtype=object), [1, 2, 3]),
        (np.array([True, 0.5, 2], dtype=object), [1, 2, 3]),
        (np.array([Decimal("0.2"), Decimal("0.1"), Decimal("0.2")]), [1, 1, 2]),
        (pd.array([3, 1, 2], dtype="int64[pyarrow]"), [1, 2, 3]),
        (pd.Categorical([3, 1, 2]), [1, 2, 3]),
    ],
)
def test_ratings_may_be_of_any_numeric_type(values, ranks):
    frame = pd.DataFrame({"user": 1, "film": list("abc"), "stars": values})
    np.testing.assert_array_equal(from_stars(frame).ranks, [ranks])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, np.nan], "A rating must be a finite number; column 'stars' is missing in row 1"),
        ([np.inf, 1.0], "A rating must be a finite number; column 'stars' has inf in row 0"),
        ([1.0, -np.inf], "column 'stars' has -inf in row 1"),
        (
            ["5", "4"],
            r"column 'stars' has '5' in row 0\. Convert the column with pandas\.to_numeric",
        ),
        (["5", "good"], r"'stars' has 'good' in row 1\. Correct or remove the 1 row without"),
        ([5, "good"], "column 'stars' has 'good' in row 1"),
        (["poor", "good"], "has 'poor' in row 0. The column has no numbers: name another column"),
        (pd.Categorical(["good", None], ["poor", "good"], ordered=True), "is missing in row 1"),
        (
            pd.Categorical([1, 2], [2, 1], ordered=True),
            r"'stars' are numbers in another order, 2, 1\. If the numbers count, use frame",
        ),
        (pd.Categorical(["9", "10"], ordered=True), "are numbers in another order, '10', '9'"),
        (
            pd.Categorical(["poor", "good"]),
            r"'poor' in row 0\. The .* worst first and best last: pandas\.Categorical\(",
        ),
        (pd.to_datetime(["2001", "2002"]), r"has Timestamp\('2001-01-01 00:00:00'\) in row 0"),
        ([1j, 2], "column 'stars' has 1j in row 0"),
        ([1, pd.NA], "column 'stars' is missing in row 1. Remove rows without a rating"),
        (pd.array([1, None], dtype="Int64"), "column 'stars' is missing in row 1"),
    ],
)
def test_ratings_must_be_finite_numbers(values, message):
    with pytest.raises(ValueError, match=message):
        from_stars(pd.DataFrame({"user": 1, "film": ["a", "b"], "stars": values}))


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "float64", "object", "double[pyarrow]"])
def test_missing_numbers_are_nan_where_they_may_be_missing(dtype):
    found = numbers(pd.Series([2, None, 1], dtype=dtype), "rank")
    np.testing.assert_array_equal(found, [2.0, np.nan, 1.0])
    assert found.dtype == np.float64


def test_a_missing_column_lists_the_existing_columns():
    message = "no column 'stars'; its columns are 'user', 'film', 'points'"
    with pytest.raises(ValueError, match=message):
        from_stars(STARS.rename(columns={"stars": "points"}))
    with pytest.raises(ValueError, match="no column 'day'"):
        from_stars(ranking="day")
    with pytest.raises(ValueError, match="no column 'size'"):
        from_stars(features=["size"])


def test_a_column_that_occurs_twice_is_refused():
    doubled = pd.concat([STARS, STARS["film"]], axis=1)
    with pytest.raises(ValueError, match="2 columns called 'film'"):
        from_stars(doubled)


def test_a_table_must_be_one():
    with pytest.raises(TypeError, match=r"Expected a path, .* or a list of dicts; got list"):
        from_stars([1, 2])
    with pytest.raises(TypeError, match=r"Expected a table of pandas, .*; got list"):
        require_columns([1, 2], [])


# Grades: ordered categories that are no numbers

SCALE = ["poor", "fair", "good"]
GRADES = pd.Categorical(["good", "poor", "good", "fair"], SCALE, ordered=True)
GRADED = pd.DataFrame({"user": 1, "film": list("abcd"), "stars": GRADES})


def test_ordered_categories_are_ratings_and_the_last_is_the_best():
    assert list(from_stars(GRADED)) == [[{"a", "c"}, "d", "b"]]
    frame = pd.DataFrame({"user": 1, "film": ["a", "b"], "stars": ["poor", "good"]})
    with pytest.raises(ValueError, match=r"worst first and best last: pandas\.Categorical"):
        from_stars(frame)
    # The remedy of the message, followed
    ordered = pd.Categorical(frame["stars"], categories=["poor", "good"], ordered=True)
    assert list(from_stars(frame.assign(stars=ordered))) == [["b", "a"]]


def test_numbers_of_ordered_categories_are_numbers_and_their_remedies_work():
    frame = pd.DataFrame({"user": 1, "film": ["a", "b", "c"]})
    frame["stars"] = pd.Categorical([1, 10, 9], [1, 9, 10], ordered=True)
    assert list(from_stars(frame)) == [["b", "c", "a"]]
    frame["stars"] = pd.Categorical(["1", "10", "9"], ordered=True)  # sorted as text: 1, 10, 9
    with pytest.raises(ValueError, match=r"use frame\['stars'\].astype\(float\)"):
        from_stars(frame)
    assert list(from_stars(frame.assign(stars=frame["stars"].astype(float)))) == [["b", "c", "a"]]
    words = frame["stars"].cat.rename_categories({"1": "low", "10": "middle", "9": "high"})
    assert list(from_stars(frame.assign(stars=words))) == [["c", "b", "a"]]


def test_the_first_of_ordered_categories_is_the_best_rank():
    medals = ["gold", "silver", "bronze"]
    table = places((1, "a", "silver"), (1, "b", "gold"), (2, "a", "gold"), (2, "b", "bronze"))
    with pytest.raises(ValueError, match="give their order, best first and worst last"):
        from_places(table)
    table["place"] = pd.Categorical(table["place"], medals, ordered=True)
    assert list(from_places(table)) == [["b", "a"], ["a", "b"]]
    wide = pd.DataFrame({"a": ["silver", "gold"], "b": ["gold", None]})
    wide = wide.astype(pd.CategoricalDtype(medals, ordered=True))
    with pytest.warns(UserWarning, match="one item"):
        assert list(Rankings.from_ranks(wide, rest=())) == [["b", "a"], ["a"]]
    wide["b"] = pd.Categorical([2, 1])
    with pytest.raises(ValueError, match=r"All columns of ranks .* those of 'a' and 'b' differ"):
        Rankings.from_ranks(wide)


def test_grades_have_no_differences_and_no_amounts():
    read = {"ranker": "user", "item": "film", "rating": "stars"}
    with pytest.raises(ValueError, match=r"have an order, but no differences.*method='binary'"):
        PairCounts.from_ratings(GRADED, **read)
    counts = PairCounts.from_ratings(GRADED, **read, method="binary")
    assert counts.dense(1).tolist() == [[0, 1, 0, 1], [0, 0, 0, 0], [0, 1, 0, 1], [0, 1, 0, 0]]
    with pytest.raises(ValueError, match=r"A feature must be a finite number; .* 'good' in row 0"):
        from_stars(GRADED.assign(grade=GRADED["stars"]), features=["grade"])


def test_interactions_begin_at_a_grade():
    read = {"user": "user", "item": "film", "rating": "stars"}
    for least, expected in (("good", ["a", "c"]), ("fair", ["a", "c", "d"])):
        have = Interactions.from_ratings(GRADED, **read, at_least=least)
        assert have.items_of(1).tolist() == expected
    with pytest.raises(ValueError, match="Unknown grade 'great': the grades are 'poor'"):
        Interactions.from_ratings(GRADED, **read, at_least="great")
    with pytest.raises(ValueError, match=r"No rating is 'good' or more: the largest .* is 'fair'"):
        Interactions.from_ratings(GRADED[GRADED["stars"] != "good"], **read, at_least="good")
    with pytest.raises(ValueError, match=r"`at_least` must be a number, .*; got 'good'"):
        Interactions.from_ratings(GRADED.assign(stars=[1, 2, 3, 4]), **read, at_least="good")


def test_ordered_categories_of_a_parquet_file_keep_their_order(tmp_path):
    grades = pd.Categorical(["good", "poor", "good", "fair"], [*SCALE, "best"], ordered=True)
    frame = GRADED.assign(stars=grades)
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=2)
    assert list(from_stars(tmp_path / "a.parquet")) == [[{"a", "c"}, "d", "b"]]
    missing = frame.assign(stars=frame["stars"].where(frame["film"] != "c"))
    missing.to_parquet(tmp_path / "missing.parquet")
    with pytest.raises(ValueError, match="'stars' is missing in row 2"):
        from_stars(tmp_path / "missing.parquet")
    other = frame["stars"].cat.reorder_categories(["best", *SCALE])
    frame.assign(user=2, stars=other).to_parquet(tmp_path / "b.parquet")
    with pytest.raises(ValueError, match="'stars' has several lists of ordered categories"):
        from_stars([tmp_path / "a.parquet", tmp_path / "b.parquet"])


def test_ranks_of_a_wide_table_of_choices_may_be_ordered_categories():
    scale = pd.CategoricalDtype(["first", "second", "third"], ordered=True)
    wide = pd.DataFrame({"rank_bus": ["second", "first"], "rank_car": ["first", "third"]})
    wide["rank_tram"] = ["third", "second"]
    rankings = Rankings.from_choices_wide(
        wide.astype(scale), alternatives=["bus", "car", "tram"], varying=["rank"], rank="rank",
        naming="{attribute}_{alternative}",
    )  # fmt: skip
    assert list(rankings) == [["car", "bus", "tram"], ["bus", "tram", "car"]]
