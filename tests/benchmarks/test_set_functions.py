"""PMOP's five set functions: against the paper's Metropolis-Hastings, by length, and on MQ2008."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import bayesrank as br
from bayesrank.data import UninformativeRankingWarning
from bayesrank.likelihoods.pmop.set_kernels import AGGREGATES, FREE, set_normaliser_kernel
from models.pmop_sampling.model import SET_FUNCTIONS
from models.pmop_sampling.sampling import metropolis_sets
from models.shared.letor import read_parts
from tests.benchmarks.book import Book, gradient_function, seconds
from tests.builders import model_of

LENGTHS = (10, 30, 100, 300, 1000)
SAMPLES = 1_000  # of the paper's Monte Carlo estimate of a gradient
NO_WEIGHTS = np.empty(0)


def exact(w: np.ndarray, aggregate: str) -> tuple[float, np.ndarray]:
    """Logarithm of the normaliser and its gradient."""
    gradient = np.empty_like(w)
    code = AGGREGATES.index(aggregate)
    value = set_normaliser_kernel(w, code, FREE, NO_WEIGHTS, gradient, NO_WEIGHTS)
    return value, gradient


def by_sampling(w: np.ndarray, seed: int) -> np.ndarray:
    """Estimate the gradient of the geometric mean: the mean of membership / size."""
    sets = metropolis_sets(
        SET_FUNCTIONS["geometric"], w, draws=SAMPLES, tune=100, chains=1, rng=seed
    ).reshape(-1, w.size)
    return (sets / sets.sum(axis=1, keepdims=True)).mean(axis=0)


@pytest.mark.parametrize("n", [10, 30, 100])
def test_the_geometric_mean_is_faster_than_a_thousand_samples_and_exact(book: Book, n: int):
    w = np.random.default_rng(n).normal(size=n)
    gradient = exact(w, "geometric")[1]
    estimates = [by_sampling(w, seed) - gradient for seed in range(20)]
    error = np.sqrt(np.mean(np.square(estimates))) / np.sqrt(np.mean(gradient**2))
    book.beat(
        f"value and gradient of log Z, geometric mean of {n}",
        lambda: exact(w, "geometric"),
        f"Metropolis-Hastings, 1,000 samples, gradient only, error {error:.0%}",
        lambda: by_sampling(w, 0),
        rounds=5,
        at_least=10,
    )


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_the_cost_of_a_remainder_by_its_length(book: Book, aggregate: str):
    book.once(lambda: exact(np.zeros(10), aggregate))
    figures = []
    for n in LENGTHS:
        w = np.random.default_rng(n).normal(size=n)
        number = max(1, 20_000 // n**2)
        figures.append(min(seconds(lambda w=w: exact(w, aggregate), number).cpu for _ in range(3)))
    what = f"log Z and gradient, {aggregate} of {', '.join(map(str, LENGTHS[1:]))}"
    at_most = 2.1 if aggregate == "geometric" else 1.3
    book.exponent(what, LENGTHS[1:], figures[1:], at_most=at_most)


@pytest.fixture(scope="module")
def queries(data_dir: Path) -> br.Rankings:
    """Rank the 15,211 documents of 784 queries in grades."""
    documents = read_parts(data_dir / "MQ2008").rename_axis("document").reset_index()
    with warnings.catch_warnings():
        # queries of one grade: they count, because the sizes of blocks are part of the outcome
        warnings.simplefilter("ignore", UninformativeRankingWarning)
        return br.Rankings.from_ratings(documents, ranker="query", item="document", rating="grade")


@pytest.mark.parametrize("given_sizes", [False, True], ids=["free", "sizes given"])
@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_the_documents_of_mq2008(book: Book, queries: br.Rankings, aggregate: str, given_sizes):
    model = model_of(queries, br.PMOP, aggregate=aggregate, given_sizes=given_sizes)
    function = gradient_function(model)
    point = np.random.default_rng(0).normal(size=queries.n_items)
    sizes = "sizes given" if given_sizes else "free"
    what = f"value and gradient, MQ2008 (784 queries, 15,211 documents), {aggregate}, {sizes}"
    book.cost(what, lambda: function(point), rounds=5, at_most=0.2)
