"""What to_frame writes, from_frame reads back: in memory, through polars, and from files."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from bayesrank.data import Interactions, PairCounts, Pairs, Rankings
from tests.data.examples import STARS, random_rankings, rankings

MATCHES = pd.DataFrame(
    {
        "x": ["a", "b", "a", "c"],
        "y": ["b", "a", "b", "a"],
        "who": ["first", "tie", "second", "first"],
        "n": [2, 1, 1, 3],
        "judge": ["u", "u", "v", "v"],
        "season": [2025, 2026, 2025, 2026],
        "w": [1.0, 0.5, 1.0, 1.0],
        "rest": [0.5, -1.0, 2.0, 0.0],
    }
)
SIDES = {"first": "x", "second": "y", "outcome": "who"}


def through_a_file(frame, tmp_path):
    frame.to_parquet(tmp_path / "table.parquet", index=False)
    return tmp_path / "table.parquet"


@pytest.mark.parametrize("seed", range(5))
def test_rankings_are_read_back(seed, tmp_path):
    data = random_rankings(seed, n_features=2 if seed % 2 else None)
    rng = np.random.default_rng(seed)
    weight = rng.integers(1, 4, len(data)) / 2
    data = data._with(count=rng.integers(1, 4, len(data)), weight=weight)
    data = data.grouped({"season": rng.integers(3, size=len(data)), "when": rng.random(len(data))})
    named = {"items": data.items, "by": [*data.groups]}
    if data.features is not None:
        data = data._with(feature_names=pd.Index(["size", "price"]))
        named["features"] = [*data.feature_names]
    for convert in (lambda x: x, pl.from_pandas, lambda x: through_a_file(x, tmp_path)):
        assert Rankings.from_frame(convert(data.to_frame()), **named) == data


def test_rankings_without_groups_need_no_names():
    assert Rankings.from_frame(rankings().to_frame()) == rankings()
    bare = rankings().to_frame().drop(columns=["count", "weight"])
    assert Rankings.from_frame(bare) == rankings()._with(count=np.ones(3, dtype=int))
    one_each = Rankings.from_orderings([["b", "a"], ["a", "b"]], rankers=["Bo", "Ann"])
    assert Rankings.from_frame(one_each.to_frame().drop(columns="ranking")) == one_each
    numbered = Rankings.from_orderings([["b", "a"], ["a", "b"]], features=np.eye(2))
    assert Rankings.from_frame(numbered.to_frame(), features=numbered.feature_names) == numbered


def test_columns_of_other_names_are_named():
    expected = [[{"b", "c"}, "a"], ["c", "d", "a", "b"]]
    by_rating = Rankings.from_frame(STARS, ranker="user", item="film", rating="stars")
    assert list(by_rating) == expected
    by_rank = STARS.assign(place=-STARS["stars"], weight=7.0)  # not named, so not read
    read = Rankings.from_frame(by_rank, ranker="user", item="film", rank="place")
    assert read == by_rating
    with pytest.raises(ValueError, match="Give either rating=, where high is good, or rank="):
        Rankings.from_frame(by_rank, ranker="user", item="film", rank="place", rating="stars")
    with pytest.raises(ValueError, match=r"columns of the table: ranker= and rank= must be given"):
        Rankings.from_frame(STARS, item="film")
    with pytest.raises(ValueError, match="no column 'ranker'; its columns are 'user', 'film'"):
        Rankings.from_frame(STARS)
    with pytest.raises(ValueError, match=r"must be a list of columns; write \['x'\]"):
        Rankings.from_frame(STARS, features="x")


def test_pairs_are_read_back(tmp_path):
    data = Pairs.from_frame(
        MATCHES, **SIDES, count="n", judge="judge", by="season", weight="w", features=["rest"]
    )
    for convert in (lambda x: x, pl.from_pandas, lambda x: through_a_file(x, tmp_path)):
        frame = convert(data.to_frame())
        assert Pairs.from_frame(frame, by=["season"], features=["rest"]) == data
    plain = Pairs.from_frame(MATCHES, **SIDES)  # neither judges nor weights are named
    assert plain.judges.tolist() == ["all"]
    assert plain.n_matches == 4
    assert Pairs.from_frame(plain.to_frame()) == plain
    assert Pairs.from_frame(plain.to_frame().drop(columns=["count", "judge"])).n_matches == 4
    with pytest.raises(ValueError, match="columns of the table: second= and outcome= must be"):
        Pairs.from_frame(MATCHES, first="x")
    with pytest.raises(ValueError, match="no column 'first'"):
        Pairs.from_frame(MATCHES)


def test_counts_are_read_back(tmp_path):
    data = rankings().counts().grouped({"land": {"Ann": "se", "Bo": "no"}})
    frame = data.to_frame()
    assert frame.columns.tolist() == ["ranker", "land", "first", "second", "count"]
    for convert in (lambda x: x, pl.from_pandas, lambda x: through_a_file(x, tmp_path)):
        assert PairCounts.from_frame(convert(frame), by="land") == data
    problems = PairCounts.from_frame(
        MATCHES.replace({"y": {"b": "d"}}).assign(x="a", y=list("bcbc")),
        first="x", second="y", count="n", ranker="judge", problem="season",
    )  # fmt: skip
    assert PairCounts.from_frame(problems.to_frame()) == problems
    with pytest.raises(ValueError, match="columns of the table: second= and count= must be given"):
        PairCounts.from_frame(MATCHES, first="x")
    broken = frame.assign(land=[*frame["land"].iloc[:-1], "fi"])
    message = "The land of a ranker must be the same in all of its rows. Column 'land' has"
    with pytest.raises(ValueError, match=message):
        PairCounts.from_frame(broken, by="land")
    with pytest.raises(ValueError, match="`by` cannot name a column 'problem'"):
        PairCounts.from_frame(broken, by="problem")


def test_interactions_are_read_back(tmp_path):
    clicks = pd.DataFrame({"who": [9, 7, 9, 8], "page": list("cbaa")})
    data = Interactions.from_frame(clicks, user="who", item="page", items=list("dcba"))
    frame = data.to_frame()
    assert frame.to_dict("list") == {"user": [7, 8, 9, 9], "item": ["b", "a", "c", "a"]}
    for convert in (lambda x: x, pl.from_pandas, lambda x: through_a_file(x, tmp_path)):
        assert Interactions.from_frame(convert(frame), items=data.items) == data
    with pytest.raises(ValueError, match="columns of the table: item= must be given"):
        Interactions.from_frame(clicks, user="who")
