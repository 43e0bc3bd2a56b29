"""Recommendation on MovieLens 100K: LearnBPR beside `implicit`, EigenRank, and growing memory.

LearnBPR has 64 factors; `implicit`, if it is installed, has a bias as the 64th. One thread each.
"""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import bayesrank as br
from models.bpr.eigenrank import eigenrank
from models.bpr.learn_bpr import learn_bpr
from models.bpr.study import read_split
from tests.benchmarks.book import Book, megabytes, plain, run_fresh, time_text

N_FACTORS, N_EPOCHS = 64, 20
SIZES = (1_000_000, 3_000_000, 9_000_000)  # interactions


@pytest.fixture(scope="module")
def have(data_dir: Path) -> br.Interactions:
    return read_split(data_dir / "ml-100k").interactions()[0]


def test_learn_bpr_takes_millions_of_triples_in_a_second(book: Book, have: br.Interactions):
    learn = partial(learn_bpr, have, n_factors=N_FACTORS, n_epochs=N_EPOCHS)
    cost = book.race(learn, 5, min)["ours"]
    per_second = N_EPOCHS * len(have) / cost.cpu
    what = f"LearnBPR, {N_FACTORS} factors, triples in a CPU second"
    book.budget(what, per_second, plain, wall=cost.wall, at_least=5e6)


def test_learn_bpr_is_no_slower_than_implicit(book: Book, have: br.Interactions):
    bpr = pytest.importorskip("implicit.cpu.bpr", reason="needs implicit, to compare with")
    # copies, because it wants arrays that it may write to
    cells = np.ones(len(have), dtype=np.float32), have.item.copy(), have.start.copy()
    table = csr_matrix(cells, shape=(have.n_users, have.n_items))

    def theirs() -> None:
        model = bpr.BayesianPersonalizedRanking(
            factors=N_FACTORS - 1, iterations=N_EPOCHS, num_threads=1, random_state=1
        )
        model.fit(table, show_progress=False)

    ours = partial(learn_bpr, have, n_factors=N_FACTORS, n_epochs=N_EPOCHS)
    cost = book.race(ours, 5, implicit=theirs)
    what = f"{N_EPOCHS * len(have) / 1e6:.1f} million triples, {N_FACTORS} factors"
    book.ratio(what, cost["ours"], cost["implicit"], "implicit", at_least=1.0)


@pytest.mark.parametrize("order", ["greedy", "walk"])
def test_eigenrank_ranks_for_all_users_in_a_minute(book: Book, data_dir: Path, order: str):
    ratings, _ = read_split(data_dir / "ml-100k")
    eigenrank(ratings, 0, order=order)  # compiles
    users = range(ratings.shape[0])
    cost = book.once(lambda: [eigenrank(ratings, user, order=order) for user in users])
    what = f"EigenRank, {order}, all 943 users"
    book.budget(what, cost.cpu, time_text, wall=cost.wall, at_most=60.0)


def test_memory_is_linear_in_the_interactions(book: Book):
    figures: list[float] = []
    sizes = iter(SIZES)
    book.benchmark.pedantic(
        lambda: figures.append(run_fresh({}, "interactions_memory", str(next(sizes)))["bytes"]),
        rounds=len(SIZES),
    )
    exponent = float(np.polyfit(np.log(SIZES), np.log(figures), 1)[0])
    book.budget(
        f"memory of interactions and LearnBPR, {SIZES[0]:,} to {SIZES[-1]:,}: exponent",
        exponent,
        "{:.2f}".format,
        at_most=1.2,
        peer=", ".join(megabytes(x) for x in figures),
    )
