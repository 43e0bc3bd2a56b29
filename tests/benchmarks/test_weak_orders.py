"""MovieLens 100K as weak orders: 943 rankings of 20 to 737 movies, each in up to five blocks.

No two rankings share a stage, so the kernel's speed is all there is. Peers: the package's own graph
form, which JAX and second derivatives use, and the paper's rule, block by block and value only.
"""

from pathlib import Path

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from scipy.special import logsumexp

import bayesrank as br
from bayesrank.data.derive import Stages
from bayesrank.likelihoods.plackett_luce.per_item import StageTotal
from bayesrank.likelihoods.plackett_luce.per_slot import WeakOrderLogp
from tests.benchmarks.book import Book, gradient_function, megabytes, run_fresh, time_text
from tests.benchmarks.peers import our_model, paper_rule

WHAT = "MovieLens as weak orders"


@pytest.fixture(scope="module")
def movielens(data_dir: Path) -> br.Rankings:
    return br.load_movielens(data_dir / "ml-100k")


@pytest.fixture(scope="module")
def stages(movielens: br.Rankings) -> Stages:
    return movielens.stages


def graph_function(stages: Stages):
    """Value and gradient by the graph of the compiled Op."""
    table = [pytensor.shared(x) for x in stages]
    fields = dict(zip(Stages._fields, table, strict=True))
    weights = [fields[name] for name in ("item_weight", "node_weight", "block_weight")]
    utility = pt.dvector("utility")
    total = StageTotal()
    inputs = [utility, *weights, *table[:6], *table[6:10]]
    value = total.graph(*inputs)
    return pytensor.function([utility], [value, pytensor.grad(value, utility)], mode="NUMBA")


def test_value_and_gradient_take_forty_milliseconds(
    book: Book, movielens: br.Rankings, stages: Stages
):
    ours = gradient_function(our_model(movielens, pm.Normal))
    graph = graph_function(stages)
    utility = np.random.default_rng(1).normal(size=movielens.n_items)
    prior = -0.5 * (utility @ utility + utility.size * np.log(2 * np.pi))
    value, gradient = ours(utility)
    its_value, its_gradient = graph(utility)
    np.testing.assert_allclose(value - prior, its_value, rtol=1e-8)
    np.testing.assert_allclose(gradient + utility, its_gradient, atol=1e-4)

    least = book.race(lambda: ours(utility), 15, min, graph=lambda: graph(utility))
    what = f"value and gradient, {WHAT}"
    book.ratio(what, least["ours"], least["graph"], "graph form", at_least=2)
    book.budget(what, least["ours"].cpu, time_text, wall=least["ours"].wall, at_most=0.04)


def test_a_utility_per_slot_is_twice_as_fast_as_the_graph(book: Book, movielens: br.Rankings):
    utility, ranks = pt.dmatrix("utility"), pytensor.shared(movielens.ranks.astype(np.int64))
    given = np.random.default_rng(1).normal(size=movielens.ranks.shape)
    functions = {}
    for what, logp in {"ours": WeakOrderLogp(), "graph": WeakOrderLogp().graph}.items():
        value = logp(utility, ranks).sum()
        functions[what] = pytensor.function(
            [utility], [value, pytensor.grad(value, utility)], mode="NUMBA"
        )
    ours, graph = functions["ours"], functions["graph"]
    np.testing.assert_allclose(ours(given)[0], graph(given)[0], rtol=1e-8)
    what = f"value and gradient, {WHAT}, a utility per slot"
    book.beat(what, lambda: ours(given), "graph form", lambda: graph(given), rounds=5, at_least=2)


def test_the_papers_rule_on_every_block(book: Book, movielens: br.Rankings, stages: Stages):
    utility = np.random.default_rng(1).normal(size=movielens.n_items)
    flat_item, flat_rank = stages.slot_item.ravel(), stages.slot_rank
    n_slots = flat_rank.shape[1]
    length = (flat_rank > 0).sum(1)
    blocks = []
    for start, end, below in zip(
        stages.block_start, stages.block_start[1:], stages.block_below, strict=False
    ):
        row, slot = divmod(int(stages.node_slot[below]), n_slots)
        remainder = flat_item[row * n_slots + slot : row * n_slots + length[row]]
        blocks.append(utility[stages.block_item[start:end]] - logsumexp(utility[remainder]))
    ours = gradient_function(our_model(movielens, pm.Normal))
    what, peer = f"value and gradient, {WHAT}", "paper's rule, value only"
    theirs = lambda: [paper_rule(w) for w in blocks]  # noqa: E731
    book.beat(what, lambda: ours(utility), peer, theirs, rounds=1, at_least=100)


def test_memory_above_the_data_is_at_most_200_megabytes(book: Book, data_dir: Path):
    found: list[dict[str, float]] = []
    book.benchmark.pedantic(
        lambda: found.append(run_fresh({}, "movielens_memory", str(data_dir / "ml-100k"))),
        rounds=3,
    )
    worst = max(found, key=lambda run: run["everything"])
    book.budget(f"peak memory of an evaluation, {WHAT}", worst["evaluation"], megabytes)
    book.budget(
        f"peak memory above the data, {WHAT}: model, compilation, evaluation",
        worst["everything"],
        megabytes,
        at_most=200e6,
    )
