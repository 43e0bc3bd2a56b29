"""The posterior of ranks of 2,000 items from 4,000 draws: time, memory, and scipy beside it."""

from functools import partial

import numpy as np
import pytest
import xarray as xr
from scipy.stats import rankdata

import bayesrank as br
from bayesrank.results import place_probability, tied_with_leader
from tests.benchmarks.book import Book, megabytes, run_fresh, time_text

SIZE = "4,000 draws of 2,000 items"


@pytest.fixture(scope="module")
def utility() -> xr.DataArray:
    rng = np.random.default_rng(0)
    draws = rng.normal(np.linspace(0, 3, 2_000), 1, size=(4, 1_000, 2_000))
    return xr.DataArray(draws, dims=("chain", "draw", "item"), name="utility")


@pytest.mark.parametrize("simultaneous", [False, True])
def test_a_summary_takes_seconds(book: Book, utility: xr.DataArray, simultaneous: bool):
    summary = partial(br.rank_summary, utility, simultaneous=simultaneous)
    how = " with simultaneous intervals" if simultaneous else ""
    book.cost(f"rank_summary{how}, {SIZE}", summary, rounds=5, at_most=10.0)


@pytest.mark.parametrize("simultaneous", [False, True])
def test_a_summary_needs_little_memory_beside_the_draws(book: Book, simultaneous: bool):
    found = {}
    book.once(lambda: found.update(run_fresh({}, "rank_summary_memory", str(int(simultaneous)))))
    what = f"memory of rank_summary{' with simultaneous intervals' if simultaneous else ''}"
    book.budget(f"{what}, {SIZE} (64 MB)", found["bytes"], megabytes, at_most=2e9)


def test_ranks_take_less_time_than_scipys_draw_by_draw(book: Book, utility: xr.DataArray):
    draws = utility.values.reshape(-1, 2_000)

    def theirs() -> np.ndarray:
        return np.array([rankdata(-draw, method="min") for draw in draws])

    np.testing.assert_array_equal(br.rank_draws(utility).values.reshape(-1, 2_000), theirs())
    ours = partial(br.rank_draws, utility)
    book.beat(f"rank_draws, {SIZE}", ours, "rankdata", theirs, rounds=5, at_least=1.2)


def test_places_and_the_leaders_set_take_seconds(book: Book, utility: xr.DataArray):
    places, tied = partial(place_probability, utility), partial(tied_with_leader, utility)
    cost = book.race(places, 3, min, tied=tied)
    for name, one in (("place_probability", cost["ours"]), ("tied_with_leader", cost["tied"])):
        book.budget(f"{name}, {SIZE}", one.cpu, time_text, wall=one.wall, at_most=5.0)


def test_all_pairs_take_less_time_than_comparing_utilities(book: Book, utility: xr.DataArray):
    some = utility.isel(item=slice(0, 2_000, 4))
    by_item = np.ascontiguousarray(some.values.reshape(-1, 500).T)

    def plain() -> np.ndarray:
        return np.stack([(w > by_item).mean(1) for w in by_item])

    off_diagonal = ~np.eye(500, dtype=bool)
    ours = br.win_probability(some).values
    np.testing.assert_allclose(ours[off_diagonal], plain()[off_diagonal])
    what, ours = "win_probability, 4,000 draws of 500 items", partial(br.win_probability, some)
    book.beat(what, ours, "(w > v).mean(1)", plain, rounds=3, at_least=1.2)
