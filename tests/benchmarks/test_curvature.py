"""Second derivatives by PyMC, and the quick posterior of many matches."""

import time

import numpy as np
import pytest

import bayesrank as br
from bayesrank.inference import fit_inla, fit_pairs
from bayesrank.leaderboard import leaderboard_model
from tests.benchmarks.book import Book, run_fresh, time_text
from tests.benchmarks.peers import random_matches, read_matches

N_SYSTEMS, N_MATCHES = 150, 1_000_000


@pytest.mark.parametrize("form", ["normal", "per item", "per slot", "mean", "harmonic"])
def test_pymc_compiles_second_derivatives_of_a_small_model_in_seconds(form, book, tmp_path):
    for kept, at_most in (("kernels and all else", np.inf), ("all else, the kernels kept", 10.0)):
        flags = f"base_compiledir={tmp_path / kept.replace(' ', '_')}"
        environment = {"NUMBA_CACHE_DIR": str(tmp_path / "kernels"), "PYTENSOR_FLAGS": flags}
        cost = run_fresh(environment, "first_hessian", form)
        what = f"PyMC's Hessian of 4 rankings of 4, {form}: compiling {kept}"
        book.budget(what, cost["cpu"], time_text, wall=cost["wall"], at_most=at_most)


def test_from_a_million_rows_to_scores_and_intervals(book: Book):
    table = random_matches(N_MATCHES, N_SYSTEMS)
    mine = book.once(lambda: br.rank_summary(fit_pairs(read_matches(table), random_seed=1)))
    pairs = read_matches(table)
    fit_inla(draws=10, random_seed=1, model=leaderboard_model(pairs))  # compiles the kernels
    start = time.process_time()
    fit_inla(random_seed=1, model=leaderboard_model(pairs))
    general = time.process_time() - start
    book.budget(
        "a million rows to scores and intervals, from their counts",
        mine.cpu,
        time_text,
        wall=mine.wall,
        peer=f"{time_text(general)} by fit_inla",
        ratio=general / mine.cpu,
    )
