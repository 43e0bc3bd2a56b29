"""How memory and time grow with the number of entries.

Memory, at three sizes, each six times the last: rankings of 10 of 5,000 items, in full or in blocks
of 3, 4 and 3. No two share more than their ends, so nothing is saved by stages in common. Linear
means that the slope of log memory on log entries is within 0.3 of one. Searches for modes are
timed, and nothing is demanded of them.

From Parquet to a mode, at 100,000, a million and ten million rows: time, less what a thousand rows
take, grows with an exponent of at most 1.1, the process has less than 8 GB, and reading takes at
most three times the arrays that it returns. The exponent of the last step alone is noted.
"""

from pathlib import Path

import pymc as pm
import pytest

import bayesrank as br
from bayesrank.inference import climb, objective
from tests.benchmarks.book import Book, megabytes, run_fresh, time_text
from tests.benchmarks.files import KINDS, write
from tests.benchmarks.peers import our_model, random_rankings

SIZES = (10_000, 60_000, 360_000)  # rankings
N_SLOTS = 10


@pytest.fixture(scope="module", params=["no ties", "ties"])
def ties(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.mark.parametrize("n_entries", [100_000, 1_000_000, 10_000_000])
def test_how_long_a_search_for_the_mode_takes(book: Book, ties: str, n_entries: int):
    """Utilities with a standard normal prior, from zero to a millionth below the mode."""
    arrays = random_rankings(n_entries // N_SLOTS, n_slots=N_SLOTS, ties=ties == "ties")
    rankings = br.Rankings(*arrays, items=range(5_000))
    logp, start = objective(our_model(rankings, pm.Normal), random_seed=1)
    asked: list[object] = []

    def search() -> None:
        asked.clear()
        climb(lambda x: asked.append(None) or logp(x), start.data)

    search()
    peer = f"{len(asked)} values and gradients"
    book.cost(f"search for the mode, {n_entries:,} entries, {ties}", search, rounds=3, peer=peer)


def test_memory_is_linear_in_the_entries(book: Book, ties: str):
    figures: list[float] = []
    sizes = iter(SIZES)
    book.benchmark.pedantic(
        lambda: figures.append(run_fresh({}, "growth_memory", str(next(sizes)), ties)["bytes"]),
        rounds=len(SIZES),
    )
    entries = ", ".join(f"{n * N_SLOTS:,}" for n in SIZES)
    what = f"peak memory of data, model and gradient, {ties}, {entries} entries"
    book.exponent(what, SIZES, figures, unit=megabytes, at_least=0.7, at_most=1.3)


ROWS = (100_000, 1_000_000, 10_000_000)


@pytest.mark.parametrize("kind", KINDS)
def test_ten_million_rows_become_a_mode_in_linear_time(book: Book, kind: str, tmp_path: Path):
    write(kind, 1_000, tmp_path / "toy.parquet")
    runs: list[dict[str, float]] = []

    def run(n: int) -> None:
        path = tmp_path / f"{n}.parquet"
        write(kind, n, path)
        runs.append(run_fresh({}, "from_files", kind, str(path), str(tmp_path / "toy.parquet")))
        path.unlink()

    sizes = iter(ROWS)
    book.benchmark.pedantic(lambda: run(next(sizes)), rounds=len(ROWS))
    for step in ("read", "build", "mode"):
        figures = [run[step] for run in runs]
        book.note(f"{kind}: {step}", ", ".join(map(time_text, figures)), "")
    total = [run["read"] + run["build"] + run["mode"] for run in runs]
    growing = [x - run["least"] for x, run in zip(total, runs, strict=True)]
    book.exponent(f"{kind}, from {ROWS[1]:,} to {ROWS[2]:,} rows", ROWS[1:], growing[1:])
    peaks = [run["peak"] for run in runs]
    peak_texts = ", ".join(map(megabytes, peaks))
    book.budget(f"{kind}, file to mode: memory", peaks[-1], megabytes, at_most=8e9, peer=peak_texts)
    book.budget(
        f"{kind}: memory of reading, in that of what is read",
        runs[-1]["reading"] / runs[-1]["held"],
        "{:.2f}".format,
        at_most=3.0,
        peer=f"{megabytes(runs[-1]['reading'])} for {megabytes(runs[-1]['held'])}",
    )
    what = f"{kind}, file to mode, {', '.join(f'{n:,}' for n in ROWS)} rows"
    book.exponent(what, ROWS, growing, at_most=1.1)
