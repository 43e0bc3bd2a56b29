"""Tables of pandas, polars and pyarrow, and lists of dicts, are read alike."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from bayesrank.data import Interactions, PairCounts, Pairs, Rankings
from bayesrank.data.read.frames import as_frame

CONVERT = {
    "polars": lambda frame: pl.DataFrame(frame.to_dict("list")),
    "pyarrow": lambda frame: pa.table(frame.to_dict("list")),
    "pandas in pyarrow": pa.Table.from_pandas,
    "list of dicts": lambda frame: frame.to_dict("records"),
}
STARS = pd.DataFrame({"user": [7, 7, 8, 8], "film": list("abab"), "stars": [3.5, 5.0, 1.0, 0.5]})
MATCHES = pd.DataFrame(
    {"x": ["a", "b"], "y": ["b", "c"], "who": ["first", "tie"], "n": [2, 1], "far": [0.5, -1.0]}
)
CHOICES = pd.DataFrame(
    {
        "id": [1, 1, 2, 2],
        "mode": ["bus", "car", "bus", "car"],
        "cost": [2.0, 5.0, 3.0, 7.0],
        "chosen": [True, False, False, True],
    }
)
READ = {
    "ratings": (STARS, lambda x: Rankings.from_ratings(
        x, ranker="user", item="film", rating="stars", features=["stars"])),
    "long ranks": (STARS, lambda x: Rankings.from_long_ranks(
        x, ranker="user", item="film", rank="stars")),
    "ranks": (pd.DataFrame({"a": [1, 2], "b": [2, 1]}), Rankings.from_ranks),
    "matches": (MATCHES, lambda x: Pairs.from_frame(
        x, first="x", second="y", outcome="who", count="n", features=["far"])),
    "counts": (MATCHES, lambda x: PairCounts.from_frame(x, first="x", second="y", count="n")),
    "rated counts": (STARS, lambda x: PairCounts.from_ratings(
        x, ranker="user", item="film", rating="stars", method="binary")),
    "interactions": (STARS, lambda x: Interactions.from_frame(
        x, user="user", item="film", items=["a", "b", "c"])),
    "attributes": (CHOICES, lambda x: Rankings.from_choices(
        x, task="id", alternative="mode", chosen="chosen", attributes=["mode", "cost"])),
}  # fmt: skip


@pytest.mark.parametrize("library", CONVERT)
@pytest.mark.parametrize("data", READ)
def test_all_tables_are_read_as_a_dataframe_is(data, library):
    frame, read = READ[data]
    expected, found = read(frame), read(CONVERT[library](frame))
    assert found == expected
    for axis, labels in expected._axes().items():
        assert found._axes()[axis].dtype == labels.dtype


def test_whole_numbers_stay_exact_and_missing_values_stay_missing():
    large = 2**60 + 1
    columns = {
        "whole": [large, None, 3],
        "full": [1, 2, 3],
        "small": pl.Series([1, None, 255], dtype=pl.UInt8),
        "flag": [True, None, False],
        "share": [0.5, None, 2.0],
        "day": [datetime.date(2024, 5, 31), None, datetime.date(2024, 6, 1)],
        "text": ["a", None, "c"],
    }
    frame = as_frame(pl.DataFrame(columns))
    assert frame["whole"].tolist() == [large, pd.NA, 3]
    assert frame["full"].dtype == np.int64
    assert frame["small"].tolist() == [1, pd.NA, 255]
    assert frame["flag"].tolist() == [True, pd.NA, False]
    assert frame["share"].isna().tolist() == [False, True, False]
    assert frame["day"][0] == datetime.date(2024, 5, 31)
    assert frame["text"].dtype == pd.Series(["a"]).dtype
    listed = as_frame([{"id": large, "x": "a"}, {"id": None}, {"id": 3, "x": "c"}])
    assert listed["id"].tolist() == [large, None, 3]
    assert listed["x"].isna().tolist() == [False, True, False]
    assert as_frame([{"id": 1, "x": 0.5}])["id"].dtype == np.int64


def test_categories_keep_their_order():
    scale = ["poor", "fair", "good"]
    table = pl.DataFrame({"grade": pl.Series(["good", "poor", None], dtype=pl.Enum(scale))})
    frame = as_frame(table)
    assert frame["grade"].cat.ordered
    assert frame["grade"].cat.categories.tolist() == scale
    assert frame["grade"].isna().tolist() == [False, False, True]
    loose = as_frame(pl.DataFrame({"x": pl.Series(["b", "a"], dtype=pl.Categorical)}))
    assert not loose["x"].cat.ordered
    arrow = pa.table({"x": pa.array(["b", "a"]).dictionary_encode()})
    assert as_frame(arrow)["x"].tolist() == ["b", "a"]


def test_an_index_that_pandas_saved_is_an_index_again():
    frame = pd.DataFrame({"a": [1, 2], "b": [2, 1]}, index=["Ann", "Bo"])
    rankings = Rankings.from_ranks(pa.Table.from_pandas(frame))
    assert rankings.rankers.tolist() == ["Ann", "Bo"]


@pytest.mark.parametrize("library", ["polars", "pyarrow", "list of dicts"])
def test_a_table_by_item_needs_an_index(library):
    convert = CONVERT[library]
    table = convert(pd.DataFrame({"price": [1.0, 2.0], "film": ["a", "b"]}))
    message = "The index of `features` must name the items, but a .* has no index. Give a DataFrame"
    for read in (
        lambda x: Rankings.from_orderings([["a", "b"]], features=x),
        lambda x: Rankings.from_ratings(
            STARS, ranker="user", item="film", rating="stars", features=x
        ),
    ):
        with pytest.raises(ValueError, match=message) as refused:
            read(table)
        # The remedy works as it is written.
        remedy = str(refused.value).partition("such as ")[2].rstrip(".")
        assert read(eval(remedy, {"features": table, "pandas": pd})).features.shape[2] == 1
    message = "The index of `attributes` must name the items"
    with pytest.raises(ValueError, match=message):
        Rankings.from_choices(
            CHOICES, task="id", alternative="mode", chosen="chosen", attributes=table
        )
    wins = convert(pd.DataFrame({"a": [0, 1], "b": [2, 0]}))
    with pytest.raises(ValueError, match="The index of `wins` must name the items"):
        Pairs.from_matrix(wins)


def test_a_dataframe_by_item_whose_items_are_a_column_is_refused_with_a_remedy():
    features = pd.DataFrame({"price": [1.0, 2.0], "film": ["a", "b"]})
    message = r"no row for item 'a'. Make the items its index: features.set_index\('film'\)"
    with pytest.raises(ValueError, match=message):
        Rankings.from_orderings([["a", "b"]], features=features)
    rankings = Rankings.from_orderings([["a", "b"]], features=features.set_index("film"))
    assert rankings.features.tolist() == [[[1.0], [2.0]]]


def test_names_of_rankers_in_a_table_of_ranks_are_refused_with_a_remedy():
    columns = {"voter": ["Ann", "Bo"], "a": [1, 2], "b": [2, 1]}
    expected = Rankings.from_orderings([["a", "b"], ["b", "a"]], rankers=["Ann", "Bo"])
    message = r"column 'voter' has 'Ann' in row 0\..* and give rankers=frame\['voter'\]"
    for frame in (pl.DataFrame(columns), pd.DataFrame(columns), pa.table(columns)):
        with pytest.raises(ValueError, match=message):
            Rankings.from_ranks(frame)
        ranks = frame[["a", "b"]] if isinstance(frame, pd.DataFrame) else frame.select(["a", "b"])
        read = Rankings.from_ranks(ranks, rankers=frame["voter"])
        assert read == expected
        assert {type(label) for label in read.rankers} == {str}


def test_columns_and_lazy_tables_are_no_tables():
    with pytest.raises(TypeError, match="or a list of dicts; got Series"):
        READ["ratings"][1](pl.Series([1, 2]))
    with pytest.raises(TypeError, match=r"got LazyFrame. Collect it first: frame.collect\(\)"):
        READ["ratings"][1](pl.DataFrame(STARS.to_dict("list")).lazy())
    with pytest.raises(ValueError, match="one list of items per ranking; got a DataFrame"):
        Rankings.from_orderings(pl.DataFrame({"x": ["a", "b"], "y": ["b", "a"]}))
    orderings = pl.Series([["a", "b"], ["b", "a"]])
    assert list(Rankings.from_orderings(orderings)) == [["a", "b"], ["b", "a"]]


def test_a_repeated_column_of_pyarrow_is_refused():
    table = pa.table([[7, 7], ["a", "b"], [1, 2], [3, 4]], names=["user", "film", "stars", "stars"])
    with pytest.raises(ValueError, match="2 columns called 'stars'"):
        READ["ratings"][1](table)
