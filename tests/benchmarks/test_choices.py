"""Best-worst tasks by the exact likelihood, and by a graph that sums over the orders of the middle.

Value and gradient by utilities of slots, per task. The graph sums (K - 2)! terms, as Stan programs
for best-worst data do.
"""

from itertools import permutations

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

from bayesrank.likelihoods.plackett_luce import weak_order_logp
from tests.benchmarks.book import Book, time_text

N_TASKS = 300
DEMANDED = {6: 3.0, 7: 15.0, 8: 100.0}


def tasks(k: int) -> tuple[np.ndarray, np.ndarray]:
    """Utilities and ranks of the slots, the best item first and the worst one last."""
    utility = np.random.default_rng(k).normal(0.0, 1.5, (N_TASKS, k))
    ranks = np.tile(np.array([1, *[2] * (k - 2), 3]), (N_TASKS, 1))
    return utility, ranks


def exact(k: int):
    utility, ranks = pt.dmatrix("utility"), pt.constant(tasks(k)[1])
    return function(utility, weak_order_logp(utility, ranks))


def summed(k: int):
    """All orders of the middle items, each a product of choices."""
    orders = np.array([[0, *middle, k - 1] for middle in permutations(range(1, k - 1))])
    utility = pt.dmatrix("utility")
    w = utility[:, orders]
    peak = pt.max(utility, axis=1)[:, None, None]
    remainder = peak + pt.log(pt.cumsum(pt.exp(w - peak)[:, :, ::-1], axis=2)[:, :, ::-1])
    logps = pt.sum(w - remainder, axis=2)
    return function(utility, pt.logsumexp(logps, axis=1))


def function(utility, logp):
    slope = pytensor.grad(logp.sum(), utility)
    return pytensor.function([utility], [logp, slope], mode="NUMBA", trust_input=True)


@pytest.mark.parametrize("k", DEMANDED)
def test_the_exact_likelihood_is_faster_than_the_sum_over_orders(book: Book, k: int):
    utility, _ = tasks(k)
    ours, theirs = exact(k), summed(k)
    for found, expected in zip(ours(utility), theirs(utility), strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    times = book.race(lambda: ours(utility), orders=lambda: theirs(utility))
    one = {name: t.per(N_TASKS) for name, t in times.items()}
    what = f"value and gradient of a best-worst task of {k}"
    name = f"graph of {len(list(permutations(range(k - 2))))} orders"
    book.ratio(what, one["ours"], one["orders"], name, at_least=DEMANDED[k])


@pytest.mark.parametrize("k", [10, 20])
def test_sets_of_twenty_cost_microseconds(book: Book, k: int):
    utility, _ = tasks(k)
    ours = exact(k)
    one = book.race(lambda: ours(utility))["ours"].per(N_TASKS)
    what = f"value and gradient of a best-worst task of {k}"
    book.budget(what, one.cpu, time_text, wall=one.wall, at_most=1e-5)
