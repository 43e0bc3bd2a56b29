"""Leaderboards with judges: gradients in one pass against the graph that JAX evaluates, by numba.

The graph is what the likelihood was before it had a kernel: leads, probabilities of all outcomes
and their sum as PyTensor's Ops, fused as far as PyTensor does. The 20,000 matches of 150 systems
are decided by 300 judges, nearly each match a cell.
"""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

from bayesrank.likelihoods.pairs import DavidsonTotal, PairTotal, RaoKupperTotal, ThurstoneTotal
from tests.benchmarks.book import Book

N_CELLS, N_ITEMS, N_JUDGES = 20_000, 150, 300
# at least so many times as fast as the graph
DEMANDS = {DavidsonTotal: 2.0, RaoKupperTotal: 3.0, ThurstoneTotal: 2.5}


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


def gradients(of, given):
    """Compile value and gradients by the parameters, of data that are kept."""
    parameters = [pt.dvector() for _ in given[:5]]
    data = [pytensor.shared(x) for x in given[5:]]
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


# Of what terms are: two features with a slope of every judge; the answers of 4,000 prompts; both;
# opinions that all judges have of all systems; ties by item or strength; by prompt, which goes with
# its answers. How many features, of deviations and of effects on ties a match has, and how many
# labels there are of which an item deviates. Each at most doubles the gradient, so that two take
# four times at most.
TERMS = {
    "two features": (2, 0, 0, 0),
    "prompts": (0, 2, 0, 8000),
    "opinions": (0, 2, 0, N_JUDGES * N_ITEMS),
    "ties by item or strength": (0, 0, 2, N_ITEMS),
    "prompts, ties included": (0, 2, 1, 8000),
    "two features and prompts": (2, 2, 0, 8000),
}
AT_LEAST = dict.fromkeys(TERMS, 0.5) | {"two features and prompts": 0.25}


@pytest.mark.parametrize("what", TERMS)
def test_features_and_groups_at_most_double_the_gradient_each(book: Book, given, what: str):
    rng = np.random.default_rng(2)
    n_features, within, tying, n_labels = TERMS[what]
    one, other, judge = (x.astype(np.int64) for x in given[5:8])
    if what == "opinions":
        which = [judge * N_ITEMS + one, judge * N_ITEMS + other]
    elif what == "ties by item or strength":
        which = [one, other]
    else:
        which = [rng.integers(0, n_labels, N_CELLS) for _ in range(within + tying)]
    which += [n_labels + judge * n_features + k for k in range(n_features)]
    size = [np.full(N_CELLS, sign) for sign in (*(1.0, -1.0)[:within], *(1.0, 1.0)[:tying])]
    size += [rng.normal(size=N_CELLS) for _ in range(n_features)]
    effects = 0.3 * rng.normal(size=n_labels + N_JUDGES * n_features)
    terms = [np.array(which, dtype=np.int32), np.array(size)]
    more = [*given[:4], effects, *given[5:8], *terms, given[-1]]
    plain = gradients(DavidsonTotal(), given)
    ours = gradients(DavidsonTotal(within, tying), more)
    cost = book.race(lambda: ours(*more[:5]), 9, min, plain=lambda: plain(*given[:5]))
    per_cell = cost["ours"].per(N_CELLS).cpu * 1e9
    book.ratio(
        f"gradient of DavidsonTotal with {what}, match by match: {per_cell:.1f} ns a cell",
        cost["ours"], cost["plain"], "without them", at_least=AT_LEAST[what],
    )  # fmt: skip
