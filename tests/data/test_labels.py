"""Labels: axes and coords of labels of every kind, and what cannot be one."""

import pandas as pd
import pytest
import xarray as xr

from bayesrank.data import Rankings
from bayesrank.data.read import label_repr, plain_index, quoted, row_name
from tests.data.examples import STARS, from_stars

# Words


def test_labels_in_messages_are_whole_and_few():
    title = "Dr. Strangelove or: How I Learned to Stop Worrying and Love the Bomb (1963)"
    assert label_repr(title) == repr(title)
    assert len(label_repr("x" * 1000)) == 80
    assert quoted(["a", 1, 2.5], limit=2) == "'a', 1 and 1 more"


def test_rows_are_named_by_position_and_by_a_label_that_says_more():
    assert row_name(pd.RangeIndex(3), 1) == "row 1"
    assert row_name(pd.RangeIndex(1, 4), 1) == "row 1 (index 2)"
    assert row_name(pd.Index(["x", "y"]), 1) == "row 1 (index 'y')"


# Axes and coords


@pytest.mark.parametrize(
    ("labels", "axis", "coords"),
    [
        ([30, 4, 30, 4], [4, 30], [4, 30]),
        (["y", "x", "y", "x"], ["x", "y"], ["x", "y"]),
        (pd.Categorical(list("yxyx"), categories=["z", "y", "x"]), ["y", "x"], ["y", "x"]),
        (pd.Series(list("yxyx"), dtype="string"), ["x", "y"], ["x", "y"]),
        (pd.Series(list("yxyx"), dtype=object), ["x", "y"], ["x", "y"]),
        ([2, "x", 2, "x"], [2, "x"], ["2", "x"]),
        (
            pd.to_datetime(["2002-02-17", "2001-01-01"] * 2),
            [pd.Timestamp("2001-01-01"), pd.Timestamp("2002-02-17")],
            ["2001-01-01 00:00:00", "2002-02-17 00:00:00"],
        ),
    ],
    ids=["int", "str", "categorical", "string", "object", "mixed", "dates"],
)
def test_labels_of_every_type_become_axes_and_plain_coords(labels, axis, coords):
    frame = pd.DataFrame({"user": [1, 1, 2, 2], "film": labels, "stars": [1, 2, 2, 1]})
    r = from_stars(frame)
    assert r.items.tolist() == axis
    assert r.coords["item"].tolist() == coords
    assert r.coords["item"].dtype.kind in "iU"


@pytest.mark.parametrize(
    "items", [["a", "ü"], [1, 2], [0.5, 1.5], ["a", 2], list(pd.to_datetime(["2001", "2002"]))]
)
def test_coords_go_through_a_netcdf_file(items, tmp_path):
    coords = Rankings.from_orderings([items], items=items).coords
    xr.Dataset(coords=coords).to_netcdf(tmp_path / "coords.nc")
    with xr.open_dataset(tmp_path / "coords.nc") as again:
        for name, values in coords.items():
            assert again[name].values.tolist() == values.tolist()


@pytest.mark.parametrize(
    ("labels", "plain"),
    [
        (pd.MultiIndex.from_tuples([("x", 1), ("y", 2)]), [("x", 1), ("y", 2)]),
        (pd.Categorical(["b", "a"]), ["b", "a"]),
        (pd.Index([2, 1], dtype=object), [2, 1]),
        (pd.Series([2, 1], index=[5, 6], name="n"), [2, 1]),
        ((n for n in (2, 1)), [2, 1]),
    ],
    ids=["levels", "categories", "objects", "series", "generator"],
)
def test_an_axis_has_no_levels_categories_or_name(labels, plain):
    index = plain_index(labels)
    assert index.tolist() == plain
    assert index.name is None
    assert not isinstance(index, pd.CategoricalIndex | pd.MultiIndex)
    assert (index.inferred_type == "integer") == (plain == [2, 1])


@pytest.mark.parametrize("dtype", ["string[pyarrow]", "int64[pyarrow]"])
def test_labels_of_arrow_become_those_of_python(dtype):
    labels = pd.array([1, 2, 1, 2], dtype="int64[pyarrow]").astype(dtype)
    frame = pd.DataFrame({"user": labels, "film": labels[[0, 1, 1, 0]], "stars": [1, 2, 2, 1]})
    frame = frame.assign(user=["a", "a", "b", "b"])
    plain = frame.astype({"film": object if "string" in dtype else "int64"})
    r, same = from_stars(frame), from_stars(plain)
    assert r == same
    back = r.to_frame()
    again = Rankings.from_long_ranks(
        back, ranking="ranking", ranker="ranker", item="item", rank="rank", items=r.items
    )
    assert again == r


# What is refused

LISTS = STARS.assign(film=[["a"], ["b"], ["c"], ["a"], ["b"], ["c"], ["d"]])
MIXED = pd.DataFrame({"user": 1, "film": pd.Series([True, 1], dtype=object), "stars": [1, 2]})
ONE, TWO = [["a"]], [["a", "b"], ["b", "a"]]


@pytest.mark.parametrize(
    ("read", "argument", "message"),
    [
        (from_stars, {"items": list("abc")}, r"Unknown item 'd': the items are 'a', 'b', 'c'\."),
        (from_stars, {"items": 2}, "`items` must be a list of labels; got 2"),
        (from_stars, {"frame": LISTS}, r"Column 'film' has \['a'\] in row 0, which cannot be a"),
        (from_stars, {"frame": MIXED}, "has the labels True and 1, which are equal in Python"),
        (ONE, {"items": [1, 2]}, "Unknown item 'a': the items are 1, 2"),
        (ONE, {"items": ["a", "b", "a"]}, "`items` must be distinct, but 'a' occurs twice"),
        (ONE, {"items": ["a", None]}, "`items` has a missing label at position 1"),
        (ONE, {"items": "ab"}, r"`items` must be a list of labels; write \['ab'\]"),
        (ONE, {"items": ["a", False, 0]}, "has the labels False and 0, which are equal in Python"),
        (ONE, {"items": ["b", ["a"]]}, r"`items` has \['a'\] at position 1, which cannot be a lab"),
        (ONE, {"items": [["a"], ["b"]]}, r"`items` has \['a'\] at position 0, which cannot be a"),
        # one name in a netCDF file
        ([[1, "1"]], {}, r"must be distinct as strings; 1, '1' are not\. Give"),
        (TWO, {"rankers": ["x", None]}, "`rankers` has a missing label at position 1"),
        (TWO, {"rankers": pd.Categorical(["x", None])}, "`rankers` has a missing label at posit"),
    ],
)
def test_invalid_labels_are_named(read, argument, message):
    with pytest.raises(ValueError, match=message):
        read(**argument) if callable(read) else Rankings.from_orderings(read, **argument)


@pytest.mark.parametrize("column", ["user", "film"])
def test_missing_labels_are_refused(column):
    frame = STARS.copy()
    frame.loc[2, column] = None
    with pytest.raises(ValueError, match=f"Column '{column}' has a missing label in row 2"):
        from_stars(frame)
