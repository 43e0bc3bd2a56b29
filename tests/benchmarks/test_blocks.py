"""One block of unknown order: value and gradient against the paper's rule, which has a value only.

Utilities are measured from the remainder: a block of nothing special has utilities around 0, one
of favourites above, one of outsiders below; the spread is their standard deviation. Times are
means over all 25 settings.
"""

import numba
import numpy as np
import pytest

from bayesrank.likelihoods.plackett_luce.block_kernel import (
    CHUNK,
    _integral_twice,
    _ratios,
    block_hessian_kernel,
    block_kernel,
    hessian_workspace,
    workspace,
)
from tests.benchmarks.book import Book, plain
from tests.benchmarks.peers import paper_rule
from tests.oracles import dense_trapezoid

LENGTHS = (5, 20, 100)
OFFSETS = (-7.0, -2.0, 0.0, 3.0, 8.0)
SPREADS = (0.0, 0.5, 1.0, 2.0, 4.0)
DEMANDED = {5: 0.0, 20: 100.0, 100: 0.0}
ROUNDING = 1e-11  # what a sum of hundreds of logarithms may lose


def settings(n: int) -> np.ndarray:
    """Blocks of every offset and spread, one per row."""
    rng = np.random.default_rng(n)
    return np.array([rng.normal(offset, spread, n) for offset in OFFSETS for spread in SPREADS])


@numba.njit
def kernel(w, gradient):
    """All rows, called from compiled code as in the package; the log-probabilities."""
    out, work = np.empty(len(w)), workspace(w.shape[1])
    for k in range(len(w)):
        out[k] = block_kernel(w[k], gradient[k], work)
    return out


@pytest.mark.parametrize("n", LENGTHS)
def test_a_block_of_twenty_is_a_hundred_times_faster_than_by_the_papers_rule(book: Book, n: int):
    blocks = settings(n)
    gradient = np.empty_like(blocks)
    times = book.race(
        lambda: kernel(blocks, gradient), rule=lambda: [paper_rule(w) for w in blocks]
    )
    one = {name: t.per(len(blocks)) for name, t in times.items()}
    what, rule = f"value and gradient of a block of {n}", "paper's rule in logs, value only"
    book.ratio(what, one["ours"], one["rule"], rule, at_least=DEMANDED[n])


@numba.njit
def hessian_kernel(w, gradient, hessian, by_integral):
    """Second derivatives of all rows, as in the package or by the integral for any length."""
    n = w.shape[1]
    work, m = hessian_workspace(n), -(-n // CHUNK) * CHUNK
    for k in range(len(w)):
        if by_integral:
            _ratios(work[:m], w[k])
            _integral_twice(work[:m], gradient[k], hessian[k], work[m:])
        else:
            block_hessian_kernel(w[k], gradient[k], hessian[k], work)


@pytest.mark.parametrize("n", [2, 3, 5])
def test_sums_over_subsets_are_faster_than_the_integral_for_second_derivatives(book: Book, n: int):
    blocks = settings(n)
    gradient, hessians = np.empty_like(blocks), np.empty((2, *blocks.shape, n))
    times = book.race(
        lambda: hessian_kernel(blocks, gradient, hessians[0], False),
        integral=lambda: hessian_kernel(blocks, gradient, hessians[1], True),
    )
    np.testing.assert_allclose(hessians[0], hessians[1], atol=1e-9)
    one = {name: t.per(len(blocks)) for name, t in times.items()}
    what = f"second derivatives of a block of {n}"
    book.ratio(what, one["ours"], one["integral"], "our integral", at_least=2)


@pytest.mark.parametrize("n", LENGTHS)
def test_a_block_is_never_less_accurate_than_by_the_papers_rule(book: Book, n: int):
    blocks = settings(n)
    exact = np.array([dense_trapezoid(w) for w in blocks])
    ours = np.abs(kernel(blocks, np.empty_like(blocks)) - exact)
    rule = np.abs([paper_rule(w) for w in blocks] - exact)
    book.once(lambda: kernel(blocks, np.empty_like(blocks)))
    book.budget(
        f"largest error of log P of a block of {n}",
        ours.max(),
        plain,
        at_most=min(rule.max(), ROUNDING),
        peer=f"paper's rule: {plain(rule.max())}",
    )
    # setting by setting, up to the rounding that both have
    worse = ours > np.maximum(rule, ROUNDING)
    assert not worse.any(), f"less accurate than the rule at {blocks[worse].tolist()}"
