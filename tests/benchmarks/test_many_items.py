"""Many items: time and peak memory of the quick answers, in fresh processes.

Each size runs with this build and, if a checkout of another one is named, with that one in turn:

    git worktree add ../before COMMIT
    BAYESRANK_BEFORE=../before ./dev run python -m pytest tests/benchmarks/test_many_items.py

The other build gets at most `PATIENCE` seconds. Both read the same data, and compile before.
"""

import os
import subprocess
from pathlib import Path

import pytest

from tests.benchmarks.book import Book, megabytes, run_fresh, time_text

SIZES = (1_000, 5_000, 20_000)  # items; three matches for each
PATIENCE = 120.0
FILMS = ("9066", "671", "100004")  # films, people and ratings, as in MovieLens (small, 2016)


@pytest.fixture(scope="module")
def before() -> Path | None:
    """Find the checkout of another build."""
    named = os.environ.get("BAYESRANK_BEFORE")
    return None if named is None else Path(named).resolve(strict=True)


def other(before: Path | None, *arguments: str) -> str:
    """Run the same in the other checkout, and write what it took."""
    if before is None:
        return ""
    try:
        found = run_fresh({}, *arguments, checkout=before, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return f"the other build: no answer in {PATIENCE:.0f} s"
    except subprocess.CalledProcessError:
        return "the other build: failed, as without memory"
    return f"the other build: {time_text(found['cpu'])}, {megabytes(found['peak'])}"


def test_matches_of_many_items_take_linear_time_and_memory(book: Book, before: Path | None):
    figures: list[dict[str, float]] = []
    sizes = iter(SIZES)
    book.benchmark.pedantic(
        lambda: figures.append(run_fresh({}, "many_items", "matches", str(next(sizes)))),
        rounds=len(SIZES),
    )
    for n, found in zip(SIZES, figures, strict=True):
        what = f"fit_pairs, {n:,} items, {3 * n:,} matches: 4,000 draws, mode alone"
        peer = other(before, "many_items", "matches", str(n))
        cpu = f"{time_text(found['cpu'])}, {time_text(found['mode'])}"
        book.note(f"{what}; {peer}", cpu, time_text(found["seconds"]))
        book.budget(f"{what}, peak memory of the process", found["peak"], megabytes, at_most=1.2e9)
    large = [found["cpu"] for found in figures[1:]]
    book.exponent("fit_pairs, 5,000 to 20,000 items, time", SIZES[1:], large, at_most=1.3)


@pytest.mark.parametrize("function", ["fit_rankings", "fit_inla"])
def test_ten_grades_of_nine_thousand_films(book: Book, before: Path | None, function: str):
    figures: list[dict[str, float]] = []
    book.once(lambda: figures.append(run_fresh({}, "many_items", function, *FILMS)))
    (found,) = figures
    what = f"{function}, 100,004 ratings of 9,066 films by 671 people in ten grades"
    peer = other(before, "many_items", function, *FILMS)
    book.note(f"{what}; {peer}", time_text(found["cpu"]), time_text(found["seconds"]))
    book.budget(f"{what}, peak memory of the process", found["peak"], megabytes, at_most=2e9)
