"""MPM of MovieLens 100K, 943 rankers of 1,682 items: against the double sum over all pairs.

The double sum takes minutes for all rankers: it is timed for four of them and multiplied.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pymc as pm
import pytest

import bayesrank as br
from tests.benchmarks.book import Book, Seconds, gradient_function

N_DIRECT = 4  # rankers of which the double sum is timed


@pytest.fixture(scope="module")
def movielens(data_dir: Path) -> br.PairCounts:
    """Differences of ratings: 7 million ordered pairs."""
    names = ["user", "movie", "rating", "time"]
    ratings = pd.read_csv(data_dir / "ml-100k" / "u.data", sep="\t", names=names)
    counts = br.PairCounts.from_ratings(ratings, ranker="user", item="movie", rating="rating")
    assert (len(counts.rankers), len(counts.items)) == (943, 1682)
    return counts


def full_model(counts: br.PairCounts, unequal: bool) -> pm.Model:
    """Scores, adherences and, if asked, variances, all learned."""
    with pm.Model(coords=counts.coords) as model:
        score = pm.Normal("score", 0, 1, dims="item")
        adherence = pm.HalfNormal("adherence", 1, dims="ranker")
        variance = pm.LogNormal("variance", -0.7, 0.3, dims="item") if unequal else None
        br.MPM("y", score, variance=variance, adherence=adherence, observed=counts)
    return model


def by_all_pairs(
    score: np.ndarray, variance: np.ndarray | None, adherence: float, counts: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray, float]:
    """Log-probability of one ranker, less its constant, and gradients, from the matrix of pairs."""
    scale = 1.0 if variance is None else variance[:, None] + variance
    D = (score[:, None] - score) / scale
    x = adherence * D
    top = x.max()
    E = np.exp(x - top)
    np.fill_diagonal(E, 0.0)
    total, Z = counts.sum(), E.sum()
    slope = counts - (total / Z) * E
    by_adherence = float((slope * D).sum())
    lead = adherence * slope / scale
    by_score = lead.sum(axis=1) - lead.sum(axis=0)
    lead *= D
    by_variance = -lead.sum(axis=1) - lead.sum(axis=0)
    value = float(adherence * (counts * D).sum() - total * (top + np.log(Z)))
    return value, by_score, by_variance, by_adherence


@pytest.mark.parametrize("unequal", [False, True], ids=["equal variances", "variances"])
def test_movielens_is_faster_than_the_double_sum(
    book: Book, movielens: br.PairCounts, unequal: bool
):
    rng = np.random.default_rng(1)
    score, adherence = rng.normal(size=1682), rng.gamma(4.0, 0.2, size=943)
    variance = 0.5 * np.exp(0.3 * rng.normal(size=1682)) if unequal else None
    model = full_model(movielens, unequal)
    ours = gradient_function(model)
    parts = [score, np.log(adherence), *([np.log(variance)] if unequal else [])]
    point = np.concatenate(parts)
    some = movielens.rankers[:N_DIRECT]
    tables = [movielens.dense(ranker) for ranker in some]

    def direct() -> list[tuple[float, np.ndarray, np.ndarray, float]]:
        return [
            by_all_pairs(score, variance, theta, table)
            for theta, table in zip(adherence, tables, strict=False)
        ]

    # the same numbers: log-probabilities of these rankers, and slopes by their adherences
    names = ["score", "adherence_log__", "variance_log__"]
    logp = model.compile_logp(vars=[model["y"]], sum=False)(dict(zip(names, parts, strict=False)))
    values = np.array([value for value, *_ in direct()])
    ways = movielens.log_multinomial()[:N_DIRECT]
    np.testing.assert_allclose(logp[0][:N_DIRECT], values + ways, rtol=1e-9)
    slopes = np.array([by_adherence for *_, by_adherence in direct()])
    prior = 1.0 - adherence[:N_DIRECT] ** 2  # on the logarithmic scale
    found = ours(point)[1][1682 : 1682 + N_DIRECT]
    np.testing.assert_allclose(found, adherence[:N_DIRECT] * slopes + prior, rtol=1e-8, atol=1e-6)

    times = book.race(lambda: ours(point), 5, direct=direct)
    for_all = Seconds(*(x * 943 / N_DIRECT for x in vars(times["direct"]).values()))
    book.ratio(
        f"value and gradient, MovieLens 100K, {'' if unequal else 'equal '}variances",
        times["ours"],
        for_all,
        f"double sum, {N_DIRECT} rankers measured, times 943 / {N_DIRECT}",
        at_least=20,
    )
