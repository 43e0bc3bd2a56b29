"""Streams: tables in files are read batch by batch into what the same table in memory becomes."""

import gzip

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from bayesrank.data import Interactions, PairCounts, Pairs, Rankings
from bayesrank.data.read import streams

STARS = {"ranker": "user", "item": "film", "rating": "stars"}
ONE_ITEM = pytest.mark.filterwarnings("ignore::bayesrank.data.UninformativeRankingWarning")


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    """Take three rows at a time, so that labels and types differ from batch to batch."""
    monkeypatch.setattr(streams, "BATCH", 3)
    monkeypatch.setattr(streams, "TOGETHER", 2)


def ratings(n=60):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "user": [f"u{k:02}" for k in rng.permutation(np.repeat(np.arange(n // 6), 6))],
            "stars": rng.integers(1, 11, size=n) / 2,
            "year": 2020 + rng.integers(3, size=n),
            "other": 1,
        }
    )
    film = (frame.groupby("user").cumcount() * 7 + frame["user"].str[1:].astype(int)) % 11
    frame["film"] = np.array(list("kjihgfedcba"))[film]
    frame["day"] = pd.to_datetime("2020-01-01") + pd.to_timedelta(film, "D")
    return frame


def parts(frame, n=3):
    return [frame.iloc[k : k + len(frame) // n] for k in range(0, len(frame), len(frame) // n)]


def one_text(frame, folder, name="t.csv", **options):
    frame.to_csv(folder / name, index=False, **options)
    return folder / name


def one_parquet(frame, folder):
    frame.to_parquet(folder / "t.parquet", row_group_size=17)
    return folder / "t.parquet"


def several(frame, folder):
    paths = [folder / f"{k}.parquet" for k in range(3)]
    for part, path in zip(parts(frame), paths, strict=True):
        part.to_parquet(path, index=False)
    return paths


def folder_of_parquet(frame, folder):
    several(frame, folder)
    (folder / "_SUCCESS").touch()
    return str(folder)


def dataset(frame, folder):
    return ds.dataset(several(frame, folder))


def url(frame, folder):
    pytest.importorskip("fsspec")
    return one_parquet(frame, folder).as_uri()


def store(frame, folder):
    """Put a folder of files into a store that is no disk, as s3:// is none."""
    fsspec = pytest.importorskip("fsspec")
    at = f"memory://{folder.name}/"
    for path in several(frame, folder):
        with fsspec.open(at + path.name, "wb") as file:
            file.write(path.read_bytes())
        path.unlink()
    return at


IN_PARQUET = [one_parquet, several, folder_of_parquet, dataset, url, store]
ONE_OF_EACH = [one_parquet, one_text]  # all classes read the same streams


@ONE_ITEM
@pytest.mark.parametrize("source", IN_PARQUET)
def test_rankings_are_those_of_the_table_in_memory(source, tmp_path):
    frame = ratings()
    options = STARS | {"by": "user", "weight": "other", "features": ["year"]}
    found = Rankings.from_ratings(source(frame, tmp_path), **options)
    assert found == Rankings.from_ratings(frame, **options)
    assert found.items.dtype == Rankings.from_ratings(frame, **options).items.dtype
    ranked = STARS | {"ranker": "user", "ranking": "year"}
    assert Rankings.from_ratings(source(frame, tmp_path), **ranked) == Rankings.from_ratings(
        frame, **ranked
    )


def folder_of_text(frame, folder):
    for k, part in enumerate(parts(frame)):
        one_text(part, folder, f"{k}.csv")
    return folder


IN_TEXT = {
    "commas": one_text,
    "tabs, compressed": lambda f, d: one_text(f, d, "t.tsv.gz", sep="\t"),
    "semicolons": lambda f, d: one_text(f, d, sep=";"),
    "decimal commas": lambda f, d: one_text(f, d, sep=";", decimal=","),
    "UTF-16": lambda f, d: one_text(f, d, encoding="utf-16"),
    "a byte order mark": lambda f, d: one_text(f, d, encoding="utf-8-sig"),
    "a folder": folder_of_text,
}


@pytest.mark.parametrize("write", IN_TEXT.values(), ids=IN_TEXT)
def test_text_is_read_as_written(write, tmp_path):
    frame = ratings().assign(film=lambda t: " 0" + t["film"] + "é ")
    given = write(frame, tmp_path)
    found = Rankings.from_ratings(given, by="other", **STARS)
    one = one_text(frame, tmp_path, "all.csv")
    whole = pd.read_csv(one, dtype={"user": str, "film": str, "other": str}, skipinitialspace=True)
    whole["film"] = whole["film"].str.strip()
    assert found == Rankings.from_ratings(whole, by="other", **STARS)
    assert found.items[0] == "0aé"


@ONE_ITEM
def test_parts_of_paths_are_columns(tmp_path):
    frame = ratings()
    for year, part in frame.groupby("year"):
        (tmp_path / f"year={year}").mkdir()
        part.drop(columns="year").to_parquet(tmp_path / f"year={year}" / "t.parquet")
    found = Rankings.from_ratings(tmp_path, ranking="year", **STARS)
    in_order = frame.sort_values("year", kind="stable", ignore_index=True)
    assert found == Rankings.from_ratings(in_order, ranking="year", **STARS)


@pytest.mark.parametrize(
    "labels",
    [
        lambda t: t["day"],
        lambda t: t["day"].dt.date,
        lambda t: t["day"].dt.day,
        lambda t: t["day"].dt.day / 4,
        lambda t: pd.Categorical(t["film"], list("zcbadefghijk")),
        lambda t: pd.Series(pd.NA, t.index, dtype="string").fillna("x") + t["film"],
    ],
    ids=["instants", "dates", "integers", "floats", "categories", "strings"],
)
def test_labels_of_any_type_stand_in_their_order(labels, tmp_path):
    frame = ratings().assign(film=labels)
    found = Rankings.from_ratings(dataset(frame, tmp_path), **STARS)
    assert found == Rankings.from_ratings(frame, **STARS)
    assert found.items.dtype == Rankings.from_ratings(frame, **STARS).items.dtype


@pytest.mark.parametrize(
    "stars",
    [
        np.arange(60) % 7 > 2,
        np.arange(60) * 2**40,
        np.arange(60, dtype=np.uint8),
        np.arange(60) / 7,
        np.linspace(-1e300, 1e300, 60),
        pd.array([pa.scalar(k).as_py() for k in range(60)], dtype="Int64"),
        np.where(np.arange(60) < 30, np.arange(60.0), 1e-3 * np.arange(60)),
    ],
    ids=["booleans", "wide", "unsigned", "sevenths", "huge", "nullable", "types that differ"],
)
def test_numbers_stay_exact(stars, tmp_path):
    frame = ratings().assign(stars=stars)
    read_back = streams.table_of(
        one_parquet(frame, tmp_path), "rows", labels=["user"], numbers=["stars"]
    )
    np.testing.assert_array_equal(
        read_back["stars"].to_numpy(np.float64), frame["stars"].to_numpy(np.float64)
    )
    with np.errstate(all="raise"):
        found = Rankings.from_ratings(tmp_path / "t.parquet", **STARS)
    assert found == Rankings.from_ratings(frame, **STARS)


def test_missing_labels_keep_their_rows(tmp_path):
    labels = pa.array(["b", None, "a", "b", None, "c", "a", "b"])
    kept = pa.DictionaryArray.from_arrays(labels.dictionary_encode().indices, ["b", "a", "c", "z"])
    for column in (labels, kept):
        pq.write_table(pa.table({"user": column}), tmp_path / "t.parquet")
        found = streams.table_of(tmp_path / "t.parquet", "rows", labels=["user"])["user"]
        assert found.astype(object).equals(pd.Series(column.to_pandas()).astype(object))


def test_columns_take_the_narrowest_types(tmp_path):
    frame = ratings().assign(year=lambda t: t["year"] - 2000)
    table = streams.table_of(
        one_parquet(frame, tmp_path), "rows", labels=["user", "film"], numbers=["stars", "year"]
    )
    assert [*table.columns] == ["user", "film", "stars", "year"]
    assert table["user"].cat.codes.dtype == np.int8
    assert table.dtypes[["stars", "year"]].tolist() == [np.float16, np.int8]


def matches(n=90):
    rng = np.random.default_rng(1)
    first = rng.integers(7, size=n)
    names = np.array(list("gfedcba"))
    return pd.DataFrame(
        {
            "x": names[first],
            "y": names[(first + rng.integers(1, 7, size=n)) % 7],
            "won": rng.choice(["first", "second", "tie"], n),
            "who": rng.choice(["ann", "bob"], n),
            "day": rng.integers(3, size=n),
            "n": rng.integers(4, size=n),
            "w": rng.integers(1, 3, size=n) / 2,
        }
    )


@pytest.mark.parametrize("source", ONE_OF_EACH)
@pytest.mark.parametrize(
    "options",
    [{}, {"judge": "who", "by": "day", "count": "n"}, {"weight": "w", "collapse": False}],
    ids=str,
)
def test_pairs_are_those_of_the_table_in_memory(source, options, tmp_path):
    frame = matches().assign(day=lambda t: t["day"].astype(str))
    columns = {"first": "x", "second": "y", "outcome": "won"} | options
    found = Pairs.from_frame(source(frame, tmp_path), **columns)
    assert found == Pairs.from_frame(frame, **columns)


@pytest.mark.parametrize("source", ONE_OF_EACH)
@pytest.mark.parametrize("more", [{}, {"ranker": "who"}, {"problem": "day"}], ids=str)
def test_counts_are_those_of_the_table_in_memory(source, more, tmp_path):
    frame = matches().assign(day=lambda t: t["day"].astype(str))
    columns = {"first": "x", "second": "y", "count": "n"} | more
    found = PairCounts.from_frame(source(frame, tmp_path), **columns)
    assert found.to_frame().equals(PairCounts.from_frame(frame, **columns).to_frame())
    stars = ratings().assign(stars=lambda t: 2 * t["stars"])
    found = PairCounts.from_ratings(source(stars, tmp_path), **STARS)
    assert found.to_frame().equals(PairCounts.from_ratings(stars, **STARS).to_frame())


@pytest.mark.parametrize("source", ONE_OF_EACH)
def test_interactions_are_those_of_the_table_in_memory(source, tmp_path):
    frame = ratings()
    given = source(frame, tmp_path)
    columns = {"user": "user", "item": "film"}
    assert Interactions.from_frame(given, **columns) == Interactions.from_frame(frame, **columns)
    high = columns | {"rating": "stars", "at_least": 2}
    assert Interactions.from_ratings(given, **high) == Interactions.from_ratings(frame, **high)


# What is refused


@pytest.mark.parametrize("source", [several, one_text])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"film": None}, r"Column 'film' has a missing label in row 0"),
        ({"user": lambda t: t["user"].where(t.index != 41)},
         r"Column 'user' has a missing label in row 41"),
        ({"stars": lambda t: t["stars"].where(t.index != 50)},
         r"column 'stars' is missing in row 50"),
        ({"stars": lambda t: t["stars"].astype(str).where(t.index != 50, "good")},
         r"must be a finite number; column 'stars' has '.*' in row"),
        ({"film": "a"}, r"Ranking 'u\d\d' contains item 'a' twice"),
    ],
)  # fmt: skip
def test_streams_are_refused_for_the_reasons_of_tables_in_memory(source, change, message, tmp_path):
    frame = ratings().assign(**change)
    given = source(frame, tmp_path)
    with pytest.raises(ValueError, match=message):
        Rankings.from_ratings(frame, **STARS)
    with pytest.raises(ValueError, match=message):
        Rankings.from_ratings(given, **STARS)


def test_a_missing_column_is_named_with_the_existing_columns(tmp_path):
    frame = ratings()
    for given in (one_parquet(frame, tmp_path), dataset(frame, tmp_path)):
        with pytest.raises(ValueError, match=r"has no column 'movie'; its columns are 'user', "):
            Rankings.from_ratings(given, **STARS | {"item": "movie"})


def test_tables_without_rows_are_refused(tmp_path):
    for empty in (
        one_parquet(ratings().iloc[:0], tmp_path),
        one_text(ratings().iloc[:0], tmp_path),
    ):
        with pytest.raises(ValueError, match="There are no rankings"):
            Rankings.from_ratings(empty, **STARS)
    with pytest.raises(ValueError, match="There are no pairs"):
        Pairs.from_frame(
            one_parquet(matches().iloc[:0], tmp_path), first="x", second="y", outcome="won"
        )


def test_unreadable_tables_are_refused(tmp_path):
    def reading(source):
        return Rankings.from_ratings(source, **STARS)

    with pytest.raises(FileNotFoundError, match=r"There is no file .*none\.csv"):
        reading(tmp_path / "none.csv")
    with pytest.raises(ValueError, match="There are no files in the folder"):
        reading(tmp_path)
    with pytest.raises(ValueError, match="list of paths is empty"):
        reading([])
    with pytest.raises(TypeError, match=r"Expected a path, .*; got dict"):
        reading({"user": [1]})
    (tmp_path / "t.xml").write_text("")
    with pytest.raises(ValueError, match=r"t\.xml is not a supported table; expected \.csv"):
        reading(tmp_path / "t.xml")
    (tmp_path / "t.json").write_text("{}")
    with pytest.raises(ValueError, match=r"files with several suffixes, '\.json', '\.parquet'"):
        reading([tmp_path / "t.json", one_parquet(ratings(), tmp_path)])
    with pytest.raises(
        ValueError, match=r"All files must be in one store; got 's3://a\.csv', 'b\.csv'"
    ):
        reading(["s3://a.csv", "b.csv"])
    for name in ("t.csv.xz", "t.csv.zip"):
        with pytest.raises(ValueError, match=r"cannot be read in batches\. .*_rankings, .*unpack"):
            reading([one_text(ratings(), tmp_path, name)])
    (tmp_path / "only.json").write_text("[]")
    with pytest.raises(ValueError, match=r"only\.json cannot be read in batches\. .*_choices\."):
        reading(tmp_path / "only.json")
    (tmp_path / "t.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(ValueError, match=r"t\.parquet is not a readable parquet table"):
        reading(tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_bytes(gzip.compress(b"user,film,stars\n"))
    with pytest.raises(ValueError, match="it is not text, but a file compressed by gzip"):
        reading(tmp_path / "t.csv")
    (tmp_path / "t.csv").write_text("sep=;\nuser;film;stars\n1;a;2\n")
    with pytest.raises(ValueError, match=r"its first line, written by Excel, .* Remove the line"):
        reading(tmp_path / "t.csv")
    (tmp_path / "t.csv").write_text("user,film,stars\n1,a,2\n1,b,2,3\n")
    with pytest.raises(ValueError, match=r"t\.csv is not a readable csv table: .*Expected 3 c"):
        reading(tmp_path / "t.csv")


@pytest.mark.parametrize("column", ["user", "film", "stars"])
def test_columns_of_lists_and_structs_are_refused(tmp_path, column):
    columns = {"user": ["ann"], "film": ["ale"], "stars": [1]} | {column: [[1]]}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    message = f"Column '{column}' must contain text, numbers or dates; in .* it contains list<"
    with pytest.raises(ValueError, match=message):
        Rankings.from_ratings(tmp_path / "t.parquet", **STARS)
    pq.write_table(pa.table(columns | {column: [{"x": 1}]}), tmp_path / "t.parquet")
    with pytest.raises(ValueError, match=r"it contains struct<.* Name another column"):
        Rankings.from_ratings(tmp_path / "t.parquet", **STARS)
