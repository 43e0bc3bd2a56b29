"""Meta-search: the scores of all queries of MQ2008-agg by one optimiser, compiled once."""

from pathlib import Path

import numpy as np
import pytest

import bayesrank as br
from bayesrank.inference import climb, objective
from models.metasearch.data import read_aggregation_parts
from models.metasearch.model import build, modes, to_counts
from tests.benchmarks.book import Book, gradient_function

THETA = np.linspace(0.2, 0.9, 25)  # of the engines


@pytest.fixture(scope="module")
def counts(data_dir: Path) -> br.PairCounts:
    return to_counts(read_aggregation_parts(data_dir / "MQ2008-agg"), "below")


def test_the_gradient_of_all_queries(book: Book, counts: br.PairCounts):
    model = build(counts, THETA)
    function, point = gradient_function(model), model.initial_point()["z"]
    what = "value and gradient, MQ2008-agg (784 queries, 15,211 documents, 25 engines)"
    book.cost(what, lambda: function(point), at_most=0.02)


def test_the_scores_of_all_queries_take_less_than_a_second(book: Book, counts: br.PairCounts):
    logp, start = objective(build(counts, THETA), random_seed=1)  # compiles
    climb(
        logp, start.data, max_iterations=1, tolerance=np.inf
    )  # makes the machine code of the kernels
    what = "scores of the 784 queries by MPM with given adherences, one search for all"
    book.cost(what, lambda: climb(logp, start.data), rounds=5, at_most=1.0)


def test_five_sets_of_adherences_share_one_compilation(book: Book, counts: br.PairCounts):
    model = build(counts, THETA)
    thetas = [THETA**power for power in (0.5, 1, 1.5, 2, 3)]
    what = "the same for five sets of adherences, compilation included"
    book.cost(what, lambda: modes(model, thetas), rounds=1, at_most=30.0)
