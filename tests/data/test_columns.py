"""Columns: numbers of every type are read, and what is no number is named with its row."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from bayesrank.data.read.columns import numbers, require_columns
from tests.data.examples import STARS, from_stars


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
        (
            pd.Categorical(["poor", "good"]),
            r"'poor' in row 0\. For ordered .*frame\['stars'\]\.cat\.codes",
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
