"""Time and memory are linear in the number of entries, at three sizes, each six times the last.

Rankings of 10 of 5,000 items, in full or in blocks of 3, 4 and 3; no two share more than their
ends, so nothing is saved by stages in common. Linear means that the slope of log time (log memory)
on log entries is within 0.3 of one: an entry costs more once tables outgrow the caches.
"""

import numpy as np
import pymc as pm
import pytest

import bayesrank as br
from tests.benchmarks.book import Book, gradient_function, megabytes, run_fresh, time_text
from tests.benchmarks.peers import our_model, random_rankings

SIZES = (10_000, 60_000, 360_000)  # rankings
N_SLOTS = 10


def slope(figures: list[float]) -> float:
    """Exponent of the power of the size that fits best."""
    return float(np.polyfit(np.log(SIZES), np.log(figures), 1)[0])


def check(book: Book, what: str, figures: list[float], unit) -> None:
    steps = ", ".join(unit(x) for x in figures)
    entries = ", ".join(f"{n * N_SLOTS:,}" for n in SIZES)
    book.budget(
        f"{what}: exponent over {entries} entries",
        slope(figures),
        "{:.2f}".format,
        at_least=0.7,
        at_most=1.3,
        peer=steps,
    )


@pytest.fixture(scope="module", params=["no ties", "ties"])
def ties(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def arrays(ties: str) -> list[tuple[np.ndarray, np.ndarray]]:
    return [random_rankings(n, n_slots=N_SLOTS, ties=ties == "ties") for n in SIZES]


def build(item: np.ndarray, ranks: np.ndarray) -> br.Rankings:
    rankings = br.Rankings(item, ranks, items=range(5_000))
    rankings.stages  # noqa: B018, made when asked for
    return rankings


def test_building_takes_time_linear_in_the_entries(book: Book, ties: str, arrays):
    small, middle, large = arrays
    least = book.race(
        lambda: build(*large), 3, min, small=lambda: build(*small), middle=lambda: build(*middle)
    )
    figures = [least[name].cpu for name in ("small", "middle", "ours")]
    check(book, f"Rankings and stage table, {ties}", figures, time_text)


def test_value_and_gradient_take_time_linear_in_the_entries(book: Book, ties: str, arrays):
    utility = np.random.default_rng(1).normal(size=5_000)
    functions = [gradient_function(our_model(build(*pair), pm.Normal)) for pair in arrays]
    small, middle, large = ((lambda f=f: f(utility)) for f in functions)
    least = book.race(large, 5, min, small=small, middle=middle)
    figures = [least[name].cpu for name in ("small", "middle", "ours")]
    check(book, f"value and gradient, {ties}", figures, time_text)


def test_memory_is_linear_in_the_entries(book: Book, ties: str):
    figures: list[float] = []
    sizes = iter(SIZES)
    book.benchmark.pedantic(
        lambda: figures.append(run_fresh({}, "growth_memory", str(next(sizes)), ties)["bytes"]),
        rounds=len(SIZES),
    )
    check(book, f"peak memory of data, model and gradient, {ties}", figures, megabytes)
