"""Datasets: the bundled ones against published facts, the others where their folder is set."""

import numpy as np
import pandas as pd
import pytest

from bayesrank.data import (
    load_baseball,
    load_movielens,
    load_nascar,
    load_pudding,
    load_sushi,
)


def test_nascar_has_36_races_of_43_of_87_drivers():
    r = load_nascar()
    assert (r.n_rankings, r.n_slots, r.n_items) == (36, 43, 87)
    assert r.labels.tolist() == list(range(1, 37))
    assert (r.block_sizes == 1).all()
    # The Daytona 500 of 2002
    assert r.items.take(r.item[0, :3]).tolist() == [
        "Ward Burton",
        "Elliott Sadler",
        "Geoffrey Bodine",
    ]


def test_four_nascar_drivers_never_beat_anyone():
    c = load_nascar().connectivity()
    assert c.is_connected
    assert c.never_loses.empty
    assert c.never_wins.tolist() == [
        "Andy Hillenburg",
        "Gary Bradberry",
        "Jason Hedlesky",
        "Randy Renfrow",
    ]
    kept = load_nascar().drop_items(c.never_wins)
    assert kept.n_items == 83
    assert kept.connectivity().is_strongly_connected


def test_baseball_has_13_games_of_each_two_teams():
    pairs = load_baseball()
    games = np.zeros((7, 7), dtype=int)
    np.add.at(games, (pairs.first, pairs.second), pairs.counts.sum(axis=1))
    assert (games + games.T == 13 * (1 - np.eye(7))).all()
    home = pairs.to_frame().query("first == 'Milwaukee' and second == 'Baltimore'")
    assert home[["outcome", "count"]].to_numpy().tolist() == [["first", 6]]
    assert pairs.counts.sum(axis=0).tolist() == [154, 119, 0]
    # the season's wins against these six teams, first to last
    wins = games_won(pairs)
    assert wins.sort_values(ascending=False).index[[0, -1]].tolist() == ["Milwaukee", "Baltimore"]


def games_won(pairs):
    rows = pairs.to_frame()
    winner = rows["first"].where(rows["outcome"] == "first", rows["second"])
    return rows["count"].groupby(winner).sum()


def test_puddings_are_the_published_table():
    pairs = load_pudding()
    assert pairs.items.tolist() == [1, 2, 3, 4, 5, 6]
    assert (pairs.n_pairs, pairs.counts.sum(axis=0).tolist()) == (15, [254, 289, 202])
    rows = pairs.to_frame().query("first == 2 and second == 4")
    assert rows["outcome"].tolist() == ["first", "second", "tie"]
    assert rows["count"].tolist() == [23, 19, 9]


def test_movielens_users_rank_20_to_737_movies(data_dir):
    r = load_movielens(data_dir / "ml-100k")
    assert (r.n_rankings, r.n_items, r.n_blocks) == (943, 1682, 5)
    length = r.mask.sum(axis=1)
    assert (length.min(), length.max(), length.sum()) == (20, 737, 100_000)
    assert r.items[0] == "Toy Story (1995)"
    assert "Chasing Amy (1997) [246]" in r.items
    assert "Chasing Amy (1997) [268]" in r.items


def test_movielens_wins_and_losses_are_those_counted_from_the_ratings(data_dir):
    r = load_movielens(data_dir / "ml-100k")
    counted = pd.read_csv(data_dir / "ml-100k" / "derived_won_lost.csv")
    pairs = r.pairs()
    tie = pairs.counts[:, 2] == 1
    n = r.n_items
    np.testing.assert_array_equal(np.bincount(pairs.first[~tie], minlength=n), counted["won"])
    np.testing.assert_array_equal(np.bincount(pairs.second[~tie], minlength=n), counted["lost"])
    tied = np.bincount(pairs.first[tie], minlength=n) + np.bincount(pairs.second[tie], minlength=n)
    np.testing.assert_array_equal(tied, counted["tied"])


def test_sushi_has_5000_full_rankings_of_10(data_dir):
    a, b = load_sushi("a", data_dir / "sushi3"), load_sushi("b", data_dir / "sushi3")
    assert (a.n_rankings, a.n_items, a.n_slots) == (5000, 10, 10)
    assert (b.n_rankings, b.n_items, b.n_slots) == (5000, 100, 10)
    np.testing.assert_array_equal(a.item[0], [5, 0, 3, 4, 6, 9, 8, 1, 7, 2])
    np.testing.assert_array_equal(b.item[0], [58, 4, 3, 44, 87, 60, 67, 1, 12, 74])
    # Fatty tuna is the favourite, cucumber roll comes last.
    mean = a.to_frame().groupby("item")["rank"].mean().sort_values()
    assert (mean.index[0], mean.index[-1]) == ("toro (fatty tuna)", "kappa-roll (cucumber-roll)")


def test_both_sushi_sets_use_the_same_names(data_dir):
    a, b = load_sushi("a", data_dir / "sushi3"), load_sushi("b", data_dir / "sushi3")
    ids = pd.read_csv(data_dir / "sushi3" / "itemset_A_to_B.csv")
    assert a.items.tolist() == b.items.take(ids["id_B"]).tolist()


def test_the_folder_is_found_through_the_environment(data_dir, monkeypatch):
    monkeypatch.setenv("BAYESRANK_DATA", str(data_dir))
    assert len(load_sushi("a")) == 5000
    assert len(load_movielens()) == 943


@pytest.mark.parametrize("load", [load_movielens, lambda: load_sushi("b")])
def test_without_a_folder_the_way_out_is_named(load, monkeypatch):
    monkeypatch.delenv("BAYESRANK_DATA", raising=False)
    with pytest.raises(
        FileNotFoundError, match=r"give the folder as path=, or set .* BAYESRANK_DATA"
    ):
        load()


def test_a_folder_without_the_files_names_them(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match=r"has no file u\.data and no file u\.item"):
        load_movielens(tmp_path)
    monkeypatch.setenv("BAYESRANK_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"sushi3 has no file sushi3a\.5000\.10\.order"):
        load_sushi("a")


def test_there_are_two_sushi_sets():
    with pytest.raises(ValueError, match="`which` must be 'a' or 'b'; got 'c'"):
        load_sushi("c")
