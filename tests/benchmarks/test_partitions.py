"""Two blocks of up to 100,000 items: the exact likelihood against its lower bound and pairs.

As in data of many labels, a sample prefers a few (positive) items to all others. A step is the
value and the gradient with respect to the utilities of the next batch of 20 samples. CPU seconds of
1,000 steps, taken in ten rounds in turn, one thread of BLAS; with a star from fewer steps (550 of
the bound in PyTensor, 10 to 180 of RankNet). In brackets the peak of memory above the data, in a
process of its own, three steps.

=================  =============  =============  =============  ==============
items              100            1,000          10,000         100,000
=================  =============  =============  =============  ==============
exact              0.05 (0 MB)    0.09 (0 MB)    0.46 (3 MB)    4.1 (48 MB)
PL-LB              0.03 (0 MB)    0.21 (0 MB)    2.1 (3 MB)     39* (64 MB)
PL-LB in JAX       0.06 (0 MB)    0.25 (1 MB)    0.70 (5 MB)    5.9 (64 MB)
RankNet            1.2 (0 MB)     11 (0 MB)      111* (3 MB)    1,090* (48 MB)
=================  =============  =============  =============  ==============

Time and memory of the exact likelihood are linear in the items (exponent of time 0.8). At 100,000
items it takes a tenth of the time of its lower bound compiled by PyTensor to the same backend, and
0.7 times that of the bound in JAX; 1.5 times is demanded below.

The lower bound of Ma et al. is written out for two blocks, where it is a softmax without any sort;
so are pairs (RankNet), each positive item against each other one.
"""

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from itertools import cycle
from typing import Any

import numpy as np
import pytest

from tests.benchmarks.book import Book, megabytes, run_fresh, seconds, time_text
from tests.benchmarks.partition_steps import (
    BATCH,
    OBJECTIVES,
    batch,
    step,
)

STEPS = 1_000
ROUNDS = 10  # of as many steps each, the objectives in turn
LONGEST = 20.0  # CPU seconds of all rounds of one objective; of what takes longer, fewer steps
N_BATCHES = 4
LENGTHS = (100, 1_000, 10_000, 100_000)
MOST_BOUNDS = 1.5  # times the lower bound that the exact likelihood may take
MOST_EXPONENT = 1.15  # of its time in the items; caches are left behind on the way


PEERS = {
    "bound": "PL-LB, two blocks",
    "bound_in_jax": "PL-LB, two blocks, JAX",
    "pairs": "RankNet",
}
NAMES = [name for name in ("exact", *PEERS) if name in OBJECTIVES or find_spec("jax")]


def over_batches(name: str, call: Callable[..., Any], n: int) -> Callable[[], object]:
    """Take a step of the next of a few batches, which are in the arrays of the library."""
    batches = [batch(n, seed) for seed in range(N_BATCHES)]
    if name == "bound_in_jax":
        import jax

        batches = jax.device_put(batches)
    turn = cycle(batches)
    return lambda: call(*next(turn))


@pytest.fixture(scope="module")
def steps():
    return {name: step(name) for name in NAMES}


def test_what_is_raced_is_what_it_is_called(steps):
    given = batch(100)
    values = {name: float(call(*given)[0]) for name, call in steps.items()}
    slopes = {name: np.asarray(call(*given)[1]) for name, call in steps.items()}
    for name in NAMES:
        if "bound" in name:
            assert values[name] == pytest.approx(values["bound"], rel=1e-12)
            np.testing.assert_allclose(slopes[name], slopes["bound"], atol=1e-12)
    assert values["bound"] < values["exact"]
    # pairs by the definition
    utility, ranks, _ = given
    lead = utility[:, :, None] - utility[:, None, :]
    wins = (ranks[:, :, None] == 1) & (ranks[:, None, :] == 2)
    assert values["pairs"] == pytest.approx(-np.logaddexp(0, -lead[wins]).sum())


@pytest.fixture(scope="module")
def cpu():
    """CPU seconds of 1,000 steps by length and objective, as the tests find them."""
    return {}


@pytest.mark.parametrize("n", LENGTHS)
def test_the_exact_likelihood_costs_little_more_than_its_lower_bound(
    book: Book, steps, cpu, n: int
):
    rounds, numbers = {}, {}
    for name, call in steps.items():
        each = over_batches(name, call, n)
        each()
        fitting = LONGEST / ROUNDS / seconds(each).cpu
        numbers[name] = number = max(1, min(STEPS // ROUNDS, int(fitting)))
        rounds[name] = partial(repeat, each, number)
    times = book.race(rounds.pop("exact"), ROUNDS, **rounds)
    times["exact"] = times.pop("ours")
    took = {name: time.cpu / numbers[name] * STEPS for name, time in times.items()}
    cpu[n] = took
    for name in NAMES[1:]:
        fewer = numbers[name] * ROUNDS
        demanded = n == LENGTHS[-1] and name in ("bound", "bound_in_jax")
        book.budget(
            f"{STEPS:,} steps of {BATCH}, {n:,} items",
            took["exact"],
            time_text,
            peer=f"{PEERS[name]}: {time_text(took[name])}"
            + f", from {fewer} steps" * (fewer < STEPS),
            ratio=took[name] / took["exact"],
            at_most=MOST_BOUNDS * took[name] if demanded else np.inf,
        )


def repeat(call: Callable[[], object], number: int) -> None:
    for _ in range(number):
        call()


@pytest.mark.parametrize("name", NAMES)
def test_time_grows_no_faster_than_the_items(book: Book, cpu, name: str):
    if len(cpu) < len(LENGTHS):
        pytest.skip("needs the times of all lengths")
    longer = [n for n in LENGTHS if n >= 1_000]  # below, the positive items are not few
    figures = [cpu[n][name] for n in longer]
    book.once(lambda: figures)
    at_most = MOST_EXPONENT if name == "exact" else np.inf
    book.exponent(f"time in items, {name}", longer, figures, at_most=at_most)


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("name", NAMES)
def test_peak_memory(book: Book, name: str, n: int):
    found: dict[str, float] = {}
    book.once(lambda: found.update(run_fresh({}, "partitions_memory", name, str(n))))
    at_most = 300e6 if name == "exact" and n == LENGTHS[-1] else np.inf
    book.budget(
        f"memory of steps of {BATCH}, {n:,} items, {name}",
        found["bytes"],
        megabytes,
        at_most=at_most,
    )
