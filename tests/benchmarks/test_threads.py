"""What threads gain in a value and gradient by itself, as a search for a mode takes many of.

Seconds of the wall, the least of some, with all threads that numba may use (``NUMBA_NUM_THREADS``)
against one, in turn. They say something where the cores have nothing else to do, and so what is
demanded is demanded of CPU seconds: that threads cost little.
"""

import math
from collections.abc import Callable

import numba
import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest

import bayesrank as br
from bayesrank.inference import objective
from bayesrank.likelihoods.mpm import log_normaliser_table
from tests.benchmarks.book import Book, plain, time_text
from tests.benchmarks.devices import matches, of_matches, rankings
from tests.benchmarks.peers import our_model

SIZES = (100_000, 1_000_000, 10_000_000)
N_ITEMS = 20  # of a problem of MPM
THETA = np.linspace(0.2, 0.9, 25)


def per_item(n_entries: int, *, ties: bool) -> pm.Model:
    return our_model(rankings(n_entries, ties=ties), pm.Normal)


def per_slot(n_entries: int, *, ties: bool) -> pm.Model:
    data = rankings(n_entries, ties=ties)
    with pm.Model(coords=data.coords) as model:
        slots = pm.Normal("utility", dims="item")[pm.Data("item_of_slot", data.item)]
        br.PlackettLuce("y", slots, utility_dims=("ranking", "slot"), observed=data)
    return model


def partitions(n_entries: int) -> pm.Model:
    data = rankings(n_entries, ties=True)
    with pm.Model(coords=data.coords) as model:
        br.PMOP("y", pm.Normal("utility", dims="item"), observed=data)
    return model


def problems(n_entries: int) -> pm.Model:
    """Normalisers of MPM; what counts add to them is little."""
    coords = {"problem": range(n_entries // N_ITEMS), "slot": range(N_ITEMS)}
    with pm.Model(coords=coords) as model:
        score = pm.Normal("score", dims=("problem", "slot"))
        where = pm.Data("where", np.ones((n_entries // N_ITEMS, N_ITEMS), dtype=bool))
        pm.Potential("y", -log_normaliser_table(score, THETA, where=where).sum())
    return model


def one_problem(n_pairs: int) -> pm.Model:
    """One problem of items with variances, whose pairs are the entries."""
    n_items = math.isqrt(2 * n_pairs)
    with pm.Model(coords={"item": range(n_items)}) as model:
        score, log_g = pm.Normal("score", dims="item"), pm.Normal("log_variance", dims="item")
        where = pm.Data("where", np.ones((1, n_items), dtype=bool))
        table = log_normaliser_table(score[None], THETA, pt.exp(log_g)[None], where=where)
        pm.Potential("y", -table.sum())
    return model


MODELS: dict[str, Callable[[int], pm.Model]] = {
    "Davidson matches": lambda n: of_matches(matches(n)),
    "Plackett-Luce, in full": lambda n: per_item(n, ties=False),
    "Plackett-Luce, in blocks": lambda n: per_item(n, ties=True),
    "Plackett-Luce by slot, in full": lambda n: per_slot(n, ties=False),
    "Plackett-Luce by slot, in blocks": lambda n: per_slot(n, ties=True),
    "PMOP by means": partitions,
    "MPM of 25 rankers in problems of 20 items": problems,
    "MPM of 25 rankers with variances in one problem": one_problem,
}


@pytest.mark.parametrize("n_entries", SIZES)
@pytest.mark.parametrize("name", MODELS)
def test_threads_cost_little(book: Book, name: str, n_entries: int):
    model, n_threads = MODELS[name](n_entries), numba.config.NUMBA_NUM_THREADS
    functions = {}
    for n in {1, n_threads}:
        numba.set_num_threads(n)
        functions[n], start = objective(model)
    x = start.data + np.random.default_rng(1).normal(scale=0.3, size=start.data.size)
    expected, found = (functions[n](x) for n in (1, n_threads))
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-9, atol=1e-9)

    rounds = int(np.clip(3e8 / n_entries, 5, 30)) if "MPM" not in name else 5
    least = book.race(lambda: functions[n_threads](x), rounds, min, one=lambda: functions[1](x))
    one, all_ = least["one"], least["ours"]
    book.budget(
        f"{name}, {n_entries:,} entries: CPU seconds of {n_threads} threads in those of one",
        all_.cpu / one.cpu,
        plain,
        at_most=1.5,
        peer=f"wall: {time_text(one.wall)} by one, {time_text(all_.wall)}",
        ratio=one.wall / all_.wall,
    )
