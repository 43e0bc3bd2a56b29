"""What people run, stage by stage, in processes of their own.

A run is *cold* where neither PyTensor nor numba have compiled anything before, and *warm* in the
second process. Demands are on the wall seconds of a whole warm run, and of a cold one in brackets,
with two cores of an AMD EPYC (Zen 4) to itself; on a busy machine CPU seconds take their place.
"""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.benchmarks.book import Book, run_fresh, time_text
from tests.benchmarks.peers import random_matches

BUSY = 0.5  # processes that are waiting for each core, from which the machine is busy


def matches(file: Path, n: int, n_items: int, n_judges: int) -> list[str]:
    """Write simulated matches, and say how they are read."""
    table = random_matches(n, n_items)
    columns = ["--first", "left", "--second", "right", "--outcome", "judged"]
    if n_judges > 1:
        table["judge"] = np.random.default_rng(2).integers(0, n_judges, n)
        columns += ["--judge", "judge"]
    table.drop(columns="winner").to_csv(file, index=False)
    return ["matches", str(file), *columns]


def ratings(file: Path, n_rankers: int, n_items: int, n_ratings: int) -> list[str]:
    """Write simulated ratings of one to five stars, and say how they are read."""
    rng = np.random.default_rng(1)
    worth = rng.normal(size=n_items)
    ranker = np.repeat(np.arange(n_rankers), n_ratings)
    # other items for each place, so that none is rated twice
    item = n_ratings * rng.integers(0, n_items // n_ratings, ranker.size) + np.tile(
        np.arange(n_ratings), n_rankers
    )
    stars = np.clip(np.round(3 + 0.7 * worth[item] + rng.normal(size=item.size)), 1, 5)
    pd.DataFrame({"user": ranker, "film": item, "stars": stars.astype(int)}).to_csv(
        file, index=False
    )
    return ["rank", str(file), "--ranker", "user", "--item", "film", "--rating", "stars"]


JUDGED = (200_000, 150, 2_000)
COMMANDS = {  # at most so many seconds, warm and cold
    "quickstart": (None, [], 10, 30),
    "4 matches, 2 judges": ((4, 3, 2), [], 10, 40),
    "the same four, quick": ((4, 3, 2), ["--quick"], 10, 40),
    "765 matches, 25 judges": ((765, 8, 25), [], 15, 40),
    "20,000 matches, 300 judges": ((20_000, 150, 300), [], 60, 90),
    "1,000,000 matches, no judges": ((1_000_000, 150, 1), [], 25, 50),
    "200,000 matches, 2,000 judges": (JUDGED, [], 360, 390),
    "the same, quick": (JUDGED, ["--quick"], 20, 50),
    "1,000,000 ratings, 100,000 rankers": ((100_000, 1_000, 10), ["--quick"], 20, 50),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_stage_by_stage(book: Book, tmp_path: Path, name: str):
    size, options, warm_limit, cold_limit = COMMANDS[name]
    table = tmp_path / "table.csv"
    if size is None:
        command = ["quickstart"]
    else:
        command = ratings(table, *size) if "ratings" in name else matches(table, *size)
    command += [*options, "--seed", "1", "--output-dir", str(tmp_path / "out"), "--force"]
    flags = f"{os.environ['PYTENSOR_FLAGS']},base_compiledir={tmp_path / 'compiled'}"
    fresh = {"PYTENSOR_FLAGS": flags, "NUMBA_CACHE_DIR": str(tmp_path / "kernels")}
    cold, warm = (run_fresh(fresh, "command_stages", *command) for _ in range(2))
    stages = [stage for stage in warm if not stage.endswith("wall") and stage != "total"]
    for stage in (*stages, "total"):
        cpu, wall = (f"{warm[key]:.1f} s ({cold[key]:.1f})" for key in (stage, f"{stage} wall"))
        book.note(f"{name}: {stage}", cpu, wall)
    clock = "total" if os.getloadavg()[0] > BUSY * (os.cpu_count() or 1) + 2 else "total wall"
    for run, found, at_most in (("warm", warm, warm_limit), ("cold", cold, cold_limit)):
        book.budget(f"{name}, {run}", found[clock], time_text, at_most=at_most)


LISTED = 12  # functions that take longest


@pytest.mark.parametrize("options", [[], ["--quick"]], ids=["full", "quick"])
def test_what_a_cold_command_compiles(book: Book, tmp_path: Path, options: list[str]):
    command = matches(tmp_path / "table.csv", 4, 3, 2)
    command += [*options, "--seed", "1", "--output-dir", str(tmp_path / "out"), "--force"]
    flags = f"{os.environ['PYTENSOR_FLAGS']},base_compiledir={tmp_path / 'compiled'}"
    fresh = {"PYTENSOR_FLAGS": flags, "NUMBA_CACHE_DIR": str(tmp_path / "kernels")}
    found: dict[str, float] = {}
    book.once(lambda: found.update(run_fresh(fresh, "compiled_functions", *command)))
    found.pop("wall")
    what = f"4 matches, 2 judges {' '.join(options)}: compiles".replace(" :", ":")
    for name in sorted(found, key=found.__getitem__, reverse=True)[:LISTED]:
        book.note(f"{what} {name}", time_text(found[name]), "")
    book.note(f"{what} {len(found)} functions in all", time_text(sum(found.values())), "")
