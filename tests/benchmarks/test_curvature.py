"""Second derivatives by PyMC, and the quick posterior of many matches."""

import time

import numpy as np
import pandas as pd
import pytest

import bayesrank as br
from bayesrank.inference import quick_matches, quick_posterior
from bayesrank.leaderboard import leaderboard_model
from tests.benchmarks.book import Book, run_fresh, time_text

N_SYSTEMS, N_MATCHES = 150, 1_000_000


def matches() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    worth = rng.normal(size=N_SYSTEMS)
    one = rng.integers(0, N_SYSTEMS, N_MATCHES)
    other = (one + rng.integers(1, N_SYSTEMS, N_MATCHES)) % N_SYSTEMS
    won = rng.random(N_MATCHES) < 1 / (1 + np.exp(worth[other] - worth[one]))
    names = np.array([f"system {i:03d}" for i in range(N_SYSTEMS)])
    outcome = np.where(rng.random(N_MATCHES) < 0.2, "tie", np.where(won, "first", "second"))
    return pd.DataFrame({"left": names[one], "right": names[other], "outcome": outcome})


def read(table: pd.DataFrame) -> br.Pairs:
    return br.Pairs.from_frame(table, first="left", second="right", outcome="outcome")


@pytest.mark.parametrize("form", ["normal", "per item", "per slot", "mean", "harmonic"])
def test_pymc_compiles_second_derivatives_of_a_small_model_in_seconds(form, book, tmp_path):
    for kept, at_most in (("kernels and all else", np.inf), ("all else, the kernels kept", 10.0)):
        flags = f"base_compiledir={tmp_path / kept.replace(' ', '_')}"
        environment = {"NUMBA_CACHE_DIR": str(tmp_path / "kernels"), "PYTENSOR_FLAGS": flags}
        cost = run_fresh(environment, "first_hessian", form)
        what = f"PyMC's Hessian of 4 rankings of 4, {form}: compiling {kept}"
        book.budget(what, cost["cpu"], time_text, wall=cost["wall"], at_most=at_most)


def test_from_a_million_rows_to_scores_and_intervals(book: Book):
    table = matches()
    mine = book.once(lambda: br.rank_summary(quick_matches(read(table))))
    pairs = read(table)
    quick_posterior(leaderboard_model(pairs), draws=10)  # compiles the kernels
    start = time.process_time()
    quick_posterior(leaderboard_model(pairs))
    general = time.process_time() - start
    book.budget(
        "a million rows to scores and intervals, from their counts",
        mine.cpu,
        time_text,
        wall=mine.wall,
        peer=f"{time_text(general)} by quick_posterior",
        ratio=general / mine.cpu,
    )
