"""One block of unknown order: value and gradient against the paper's rule, which has a value only.

Utilities are measured from the remainder: a block of nothing special has utilities around 0, one
of favourites above, one of outsiders below; the spread is their standard deviation. Times are
means over all 25 settings.
"""

import numba
import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

from bayesrank.likelihoods.plackett_luce.block_kernel import block_kernel, workspace
from bayesrank.likelihoods.plackett_luce.per_slot import WeakOrderLogp
from tests.benchmarks.book import Book, plain
from tests.benchmarks.peers import paper_rule, paper_rule_in_powers
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


def function():
    """The same through PyTensor: a ranking per row, with one item of worth 1 below the block."""
    utility, ranks = pt.dmatrix("utility"), pt.imatrix("ranks")
    logp = WeakOrderLogp()(utility, ranks)
    slope = pytensor.grad(logp.sum(), utility)
    return pytensor.function([utility, ranks], [logp, slope], mode="NUMBA", trust_input=True)


@pytest.mark.parametrize("n", LENGTHS)
def test_a_block_of_twenty_is_a_hundred_times_faster_than_by_the_papers_rule(book: Book, n: int):
    blocks = settings(n)
    gradient = np.empty_like(blocks)
    compiled = function()
    utility = np.hstack([blocks, np.zeros((len(blocks), 1))])
    ranks = np.hstack([np.ones_like(blocks), np.full((len(blocks), 1), 2)]).astype(np.int32)
    np.testing.assert_allclose(compiled(utility, ranks)[0], kernel(blocks, gradient), atol=1e-10)

    times = book.race(
        lambda: kernel(blocks, gradient),
        function=lambda: compiled(utility, ranks),
        rule=lambda: [paper_rule(w) for w in blocks],
        powers=lambda: [paper_rule_in_powers(w) for w in blocks],
    )
    one = {name: t.per(len(blocks)) for name, t in times.items()}
    what = f"value and gradient of a block of {n}"
    rule, powers = "paper's rule in logs, value only", "paper's rule in powers, value only"
    book.ratio(f"{what}, function", one["function"], one["rule"], rule)
    book.ratio(f"{what}, kernel", one["ours"], one["powers"], powers, at_least=DEMANDED[n])
    book.ratio(f"{what}, kernel", one["ours"], one["rule"], rule, at_least=DEMANDED[n])


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
