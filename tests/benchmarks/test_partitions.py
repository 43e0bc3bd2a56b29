"""Two blocks of up to 100,000 items: the exact likelihood against its lower bound and pairs.

As in data of many labels, a sample prefers a few (positive) items to all others. A step is the
value and the gradient with respect to the utilities of a batch of 20 samples; the figures of the
table are for 1,000 steps, of which fewer are timed where they are long.

All are compiled by PyTensor in one process, to the same backend. The lower bound of Ma et al. is
written out for two blocks, where it is a softmax without any sort; so are pairs (RankNet), each
positive item against each other one.
"""

from functools import partial

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.tensor import TensorVariable
from scipy.special import gammaln

from bayesrank.likelihoods.partition_objectives import plackett_luce_bound
from bayesrank.likelihoods.stage_op import weak_order_logp
from tests.benchmarks.book import Book, megabytes, plain, run_fresh, time_text

BATCH = 20
STEPS = 1_000
POSITIVES = 20
LENGTHS = (100, 1_000, 10_000, 100_000)
MOST_BOUNDS = 1.5  # times the lower bound that the exact likelihood may take
MOST_EXPONENT = 1.15  # of its time in the items; caches are left behind on the way


def batch(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Utilities (20, n), ranks (20, n), and the positive items (20, POSITIVES)."""
    rng = np.random.default_rng(n)
    utility = rng.normal(size=(BATCH, n))
    positive = np.array([rng.choice(n, POSITIVES, replace=False) for _ in range(BATCH)])
    ranks = np.full((BATCH, n), 2)
    np.put_along_axis(ranks, positive, 1, axis=1)
    return utility, ranks, positive


def exact(utility: TensorVariable, ranks: TensorVariable, positive: TensorVariable):
    return weak_order_logp(utility, ranks)


def any_bound(utility: TensorVariable, ranks: TensorVariable, positive: TensorVariable):
    return plackett_luce_bound(utility, ranks)


def bound(utility: TensorVariable, ranks: TensorVariable, positive: TensorVariable):
    of_positive = utility[pt.arange(BATCH)[:, None], positive]
    top = pt.max(utility, axis=1)
    log_total = top + pt.log(pt.sum(pt.exp(utility - top[:, None]), axis=1))
    log_orders = gammaln(POSITIVES + 1)
    return log_orders + pt.sum(of_positive, axis=1) - POSITIVES * log_total


def pairs(utility: TensorVariable, ranks: TensorVariable, positive: TensorVariable):
    of_positive = utility[pt.arange(BATCH)[:, None], positive]
    lead = of_positive[:, :, None] - utility[:, None, :]
    among = -pt.softplus(of_positive[:, None, :] - of_positive[:, :, None])
    return -pt.sum(pt.softplus(-lead), axis=(1, 2)) - pt.sum(among, axis=(1, 2))


OBJECTIVES = {"exact": exact, "bound": bound, "any_bound": any_bound, "pairs": pairs}
PEERS = {"bound": "PL-LB, two blocks", "any_bound": "PL-LB, any blocks", "pairs": "RankNet"}


def step(name: str):
    """Compile a step: from utilities, ranks and positive items to value and gradient."""
    utility, ranks, positive = pt.dmatrix("utility"), pt.lmatrix("ranks"), pt.lmatrix("positive")
    value = pt.sum(OBJECTIVES[name](utility, ranks, positive))
    outputs = [value, pytensor.grad(value, utility)]
    return pytensor.function(
        [utility, ranks, positive],
        outputs,
        mode="NUMBA",
        trust_input=True,
        on_unused_input="ignore",
    )


@pytest.fixture(scope="module")
def steps():
    return {name: step(name) for name in OBJECTIVES}


def test_what_is_raced_is_what_it_is_called(steps):
    given = batch(100)
    values = {name: float(call(*given)[0]) for name, call in steps.items()}
    assert values["bound"] == pytest.approx(values["any_bound"])
    assert values["bound"] < values["exact"]
    # pairs by the definition
    utility, ranks, _ = given
    lead = utility[:, :, None] - utility[:, None, :]
    wins = (ranks[:, :, None] == 1) & (ranks[:, None, :] == 2)
    assert values["pairs"] == pytest.approx(-np.logaddexp(0, -lead[wins]).sum())


@pytest.fixture(scope="module")
def seconds():
    """CPU seconds of 1,000 steps by length and objective, as the tests find them."""
    return {}


@pytest.mark.parametrize("n", LENGTHS)
def test_the_exact_likelihood_costs_little_more_than_its_lower_bound(
    book: Book, steps, seconds, n: int
):
    calls = {name: partial(call, *batch(n)) for name, call in steps.items()}
    times = book.race(calls.pop("exact"), 3 if n > 10_000 else 9, min, **calls)
    took = {name: time.cpu * STEPS for name, time in times.items()}
    took["exact"] = took.pop("ours")
    seconds[n] = took
    for name, what in PEERS.items():
        demanded = n == LENGTHS[-1] and name == "bound"
        book.budget(
            f"{STEPS:,} steps of {BATCH}, {n:,} items",
            took["exact"],
            time_text,
            peer=f"{what}: {time_text(took[name])}",
            ratio=took[name] / took["exact"],
            at_most=MOST_BOUNDS * took[name] if demanded else np.inf,
        )


@pytest.mark.parametrize("name", OBJECTIVES)
def test_time_grows_no_faster_than_the_items(book: Book, seconds, name: str):
    if len(seconds) < len(LENGTHS):
        pytest.skip("needs the times of all lengths")
    longer = [n for n in LENGTHS if n >= 1_000]  # below, the positive items are not few
    found = np.log([seconds[n][name] for n in longer])
    slope = float(np.polyfit(np.log(longer), found, 1)[0])
    book.once(lambda: slope)
    at_most = MOST_EXPONENT if name == "exact" else np.inf
    book.budget(f"exponent of time in items, {name}", slope, plain, at_most=at_most)


@pytest.mark.parametrize("name", ["exact", "bound", "pairs"])
def test_peak_memory(book: Book, name: str):
    found: dict[str, float] = {}
    book.once(lambda: found.update(run_fresh({}, "partitions_memory", name, str(LENGTHS[-1]))))
    at_most = 300e6 if name == "exact" else np.inf
    book.budget(
        f"memory of steps of {BATCH}, {LENGTHS[-1]:,} items, {name}",
        found["bytes"],
        megabytes,
        at_most=at_most,
    )
