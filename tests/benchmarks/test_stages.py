"""What people run, stage by stage, in processes of their own: CPU seconds, once compiled.

A first run fills the caches and is not counted. Demands are on the whole, of two cores of an AMD
EPYC (Zen 4).
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.benchmarks.book import Book, run_fresh, time_text

STAGES = ("imports", "compiling", "NUTS", "predictions", "LOO", "rest")


def matches(file: Path, n: int, n_items: int, n_judges: int) -> list[str]:
    """Write made-up matches, and say how they are read."""
    rng = np.random.default_rng(1)
    worth = rng.normal(size=n_items)
    one = rng.integers(0, n_items, n)
    other = (one + rng.integers(1, n_items, n)) % n_items
    won = rng.random(n) < 1 / (1 + np.exp(worth[other] - worth[one]))
    outcome = np.where(rng.random(n) < 0.2, "tie", np.where(won, "first", "second"))
    table = pd.DataFrame({"left": one, "right": other, "result": outcome})
    columns = ["--first", "left", "--second", "right", "--outcome", "result"]
    if n_judges > 1:
        table["judge"] = rng.integers(0, n_judges, n)
        columns += ["--judge", "judge"]
    table.to_csv(file, index=False)
    return ["matches", str(file), *columns]


COMMANDS = {  # at most so many seconds
    "quickstart": (None, 20),
    "765 matches, 25 judges": ((765, 8, 25), 30),
    "20,000 matches, 300 judges": ((20_000, 150, 300), 120),
    "1,000,000 matches, no judges": ((1_000_000, 150, 1), 50),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_stage_by_stage(book: Book, tmp_path: Path, name: str):
    size, at_most = COMMANDS[name]
    command = ["quickstart"] if size is None else matches(tmp_path / "m.csv", *size)
    command += ["--seed", "1", "--output-dir", str(tmp_path / "out")]
    run_fresh({}, "command_stages", *command)
    found = run_fresh({}, "command_stages", *command)
    parts = ", ".join(f"{stage} {found[stage]:.1f}" for stage in STAGES)
    book.budget(f"{name}: {parts} s", found["total"], time_text, at_most=at_most)
