"""Leaderboards with judges: gradients in one pass against the graph that JAX evaluates, by numba.

The graph is what the likelihood was before it had a kernel: leads, probabilities of all outcomes
and their sum as PyTensor's Ops, fused as far as PyTensor does. The 20,000 matches of 150 systems
are decided by 300 judges, nearly each match a cell.
"""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

from bayesrank.likelihoods.pairs import (
    DavidsonTotal,
    GradedTotal,
    GroundedTotal,
    PairTotal,
    RaoKupperTotal,
    ThurstoneTotal,
)
from tests.benchmarks.book import Book

N_CELLS, N_ITEMS, N_JUDGES = 20_000, 150, 300
# at least so many times as fast as the graph
DEMANDS = {DavidsonTotal: 2.0, RaoKupperTotal: 3.0, ThurstoneTotal: 2.5}

# five grades take at most so many times as long as three outcomes
MOST = 2.0
OF_THREE = {
    "cumulative_logit": RaoKupperTotal(),
    "cumulative_probit": GradedTotal("cumulative_probit", 3),
    "adjacent_logit": DavidsonTotal(),
}


@pytest.fixture(scope="module")
def given() -> list[np.ndarray]:
    """Parameters of the judges, and cells sorted by judge."""
    rng = np.random.default_rng(1)
    utility, order = rng.normal(size=N_ITEMS), 0.3 * rng.normal(size=N_JUDGES)
    adherence, tie = np.exp(0.3 * rng.normal(size=N_JUDGES)), 1 + rng.gamma(2, 0.5, N_JUDGES)
    first = rng.integers(0, N_ITEMS, N_CELLS)
    second = (first + rng.integers(1, N_ITEMS, N_CELLS)) % N_ITEMS
    judge = np.sort(rng.integers(0, N_JUDGES, N_CELLS))
    counts = np.zeros((3, N_CELLS))
    counts[rng.integers(0, 3, N_CELLS), np.arange(N_CELLS)] = 1
    cells = [x.astype(np.int32) for x in (first, second, judge)]
    none = [np.zeros((0, N_CELLS), np.int32), np.zeros((0, N_CELLS))]
    return [utility, adherence, order, tie, np.zeros(1), *cells, *none, counts]


def gradients(of, given, n=5):
    """Compile value and gradients by the n parameters, of data that are kept."""
    parameters = [pt.tensor(dtype="float64", shape=(None,) * x.ndim) for x in given[:n]]
    data = [pytensor.shared(x) for x in given[n:]]
    value = of(*parameters, *data)
    by = pt.grad(value, parameters, disconnected_inputs="ignore")
    return pytensor.function(
        parameters, [value, *by], mode="NUMBA", on_unused_input="ignore", trust_input=True
    )


@pytest.mark.parametrize("op", DEMANDS)
def test_a_gradient_in_one_pass_beats_the_graph(
    book: Book, given: list[np.ndarray], op: type[PairTotal]
):
    if op is ThurstoneTotal:
        given = [*given[:-1], given[-1] * [[1], [1], [0]]]
    ours, graph = gradients(op(), given), gradients(op().graph, given)
    for x, y in zip(ours(*given[:5]), graph(*given[:5]), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-9)
    cost = book.race(lambda: ours(*given[:5]), 9, min, graph=lambda: graph(*given[:5]))
    per_cell = cost["ours"].per(N_CELLS).cpu * 1e9
    book.ratio(
        f"gradient of {op.__name__}, {N_CELLS:,} cells of {N_JUDGES} judges: "
        f"{per_cell:.1f} ns a cell",
        cost["ours"], cost["graph"], "the graph", at_least=DEMANDS[op],
    )  # fmt: skip


def with_grades(given: list[np.ndarray], n: int) -> list[np.ndarray]:
    """Votes of n grades on the same pairs, with boundaries for each judge."""
    rng = np.random.default_rng(2)
    boundary = -np.sort(-rng.normal(0, 1.5, (N_JUDGES, n - 1)), axis=1)
    counts = np.zeros((n, N_CELLS))
    counts[rng.integers(0, n, N_CELLS), np.arange(N_CELLS)] = 1
    return [*given[:3], boundary, *given[4:-1], counts]


@pytest.mark.parametrize("family", OF_THREE)
def test_five_grades_cost_at_most_twice_three_outcomes(
    book: Book, given: list[np.ndarray], family: str
):
    op, other = GradedTotal(family, 5), OF_THREE[family]
    mine = with_grades(given, 5)
    theirs = with_grades(given, 3) if isinstance(other, GradedTotal) else given
    five, three = gradients(op, mine), gradients(other, theirs)
    cost = book.race(lambda: five(*mine[:5]), 9, min, three=lambda: three(*theirs[:5]))
    per_cell = cost["ours"].per(N_CELLS).cpu * 1e9
    book.ratio(
        f"gradient of five grades, {family}, {N_CELLS:,} cells of {N_JUDGES} judges: "
        f"{per_cell:.1f} ns a cell",
        cost["ours"], cost["three"], "three outcomes", at_least=1 / MOST,
    )  # fmt: skip


def test_both_bad_costs_at_most_twice_three_outcomes(book: Book, given: list[np.ndarray]):
    rng, op = np.random.default_rng(3), GroundedTotal()
    counts = np.zeros((4, N_CELLS))
    counts[rng.integers(0, 4, N_CELLS), np.arange(N_CELLS)] = 1
    mine = [*given[:4], rng.normal(size=N_JUDGES), *given[4:-1], counts]
    ours, graph = gradients(op, mine, 6), gradients(op.graph, mine, 6)
    three = gradients(RaoKupperTotal(), given)
    for x, y in zip(ours(*mine[:6]), graph(*mine[:6]), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-9)
    others = {"three": lambda: three(*given[:5]), "graph": lambda: graph(*mine[:6])}
    cost = book.race(lambda: ours(*mine[:6]), 9, min, **others)
    per_cell = cost["ours"].per(N_CELLS).cpu * 1e9
    title = (
        f"gradient of both bad, {N_CELLS:,} cells of {N_JUDGES} judges: {per_cell:.1f} ns a cell"
    )
    book.ratio(title, cost["ours"], cost["three"], "three outcomes", at_least=1 / MOST)
    book.ratio(title, cost["ours"], cost["graph"], "the graph", at_least=2.0)
