r"""Simulated tables of scores with a known truth, and the rules of other packages for "better".

Item i has in fold f of case c the score

.. math:: z_{icf} = a_c + u_i + d_{g(c), i} + e_{ic} + \varepsilon_{icf},

with deviations by case :math:`e_{ic}` that are Gumbel, so that the order in a case without folds
follows a Plackett-Luce model with the utilities u. All items of a table may be equal.

Rules of other packages, from their publications:

autorank
    Friedman's test of equality at the level 0.05, then Nemenyi's critical difference of mean ranks
    (Demšar 2006; Herbold 2020). It needs complete cases.
bbtcomp
    A Bradley-Terry model in which the pairs of items of all cases are independent matches. An item
    is better than another with probability 0.95 or more (Wainer 2023). Its scale of the utilities
    is the median of its prior, 1.
baycomp
    The Bayesian signed-rank test of each pair of items, with probability 0.95 or more (Benavoli,
    Corani, Demšar and Zaffalon 2017).

References
----------
Benavoli, Corani, Demšar and Zaffalon (2017). Time for a change: a tutorial for comparing multiple
classifiers through Bayesian analysis. Journal of Machine Learning Research 18, 77.

Demšar (2006). Statistical comparisons of classifiers over multiple data sets. Journal of Machine
Learning Research 7, 1-30.

Herbold (2020). Autorank: A Python package for automated ranking of classifiers. Journal of Open
Source Software 5, 2173.

Wainer (2023). A Bayesian Bradley-Terry model to compare multiple ML algorithms on multiple data
sets. Journal of Machine Learning Research 24, 341.
"""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import friedmanchisquare, rankdata, studentized_range

import bayesrank as br

__all__ = ["Scenario", "autorank", "baycomp", "bbtcomp", "simulate"]

Floats = NDArray[np.float64]
LEVEL = 0.05
PROB = 0.95


class Scenario(NamedTuple):
    """How tables are simulated."""

    utility: tuple[float, ...]
    n_cases: int = 20
    n_folds: int = 3
    families: int = 0  # cases share deviations in this many families
    hidden: float = 0.0  # probability that a low score is not reported
    hiders: int = 0  # number of items that hide low scores; 0 means all


def simulate(
    rng: np.random.Generator, scenario: Scenario
) -> tuple[br.Rankings, pd.DataFrame, Floats]:
    """Simulate a table: its rankings, its mean scores by case (rows) and item, and the truth."""
    utility = np.array(scenario.utility)
    n_items, n_cases, n_folds = len(utility), scenario.n_cases, scenario.n_folds
    deviation = rng.gumbel(size=(n_cases, n_items))
    if scenario.families:
        shared = rng.gumbel(size=(scenario.families, n_items))
        deviation = deviation / 2 + shared[np.arange(n_cases) % scenario.families]
    noise = 0.5 * rng.normal(size=(n_cases, n_folds, n_items)) if n_folds > 1 else 0.0
    score = rng.normal(size=(n_cases, 1, 1)) + (utility + deviation)[:, None] + noise
    hides = np.arange(n_items) < (scenario.hiders or n_items)
    low = deviation < np.quantile(deviation, 0.3)
    absent = low & hides & (rng.random((n_cases, n_items)) < scenario.hidden)
    score[np.broadcast_to(absent[:, None], score.shape)] = np.nan
    case, fold, item = np.nonzero(~np.isnan(score))
    frame = pd.DataFrame(
        {
            "item": np.char.add("i", item.astype(str)),
            "case": np.char.add("c", case.astype(str)),
            "fold": fold,
            "family": np.char.add("f", (case % max(scenario.families, 1)).astype(str)),
            "score": score[case, fold, item],
        }
    )
    rankings = br.Rankings.from_scores(
        frame, item="item", case="case", score="score", fold="fold" if n_folds > 1 else None,
        by=["family"] if scenario.families else (),
        items=[f"i{k}" for k in range(n_items)],
    )  # fmt: skip
    columns = [f"i{k}" for k in range(n_items)]
    return rankings, pd.DataFrame(score.mean(axis=1), columns=columns), utility


def autorank(means: pd.DataFrame) -> tuple[int, NDArray[np.bool_]]:
    """Return the best item and the items that it is better than, by mean ranks."""
    complete = means.dropna()
    n, k = complete.shape
    rank = rankdata(-complete.to_numpy(), axis=1).mean(axis=0)
    best = int(rank.argmin())
    none = np.zeros(k, dtype=bool)
    if n < 3 or friedmanchisquare(*complete.to_numpy().T).pvalue >= LEVEL:
        return best, none
    quantile = studentized_range.ppf(1 - LEVEL, k, np.inf) / np.sqrt(2)
    return best, rank - rank[best] > quantile * np.sqrt(k * (k + 1) / (6 * n))


def bbtcomp(means: pd.DataFrame, random_seed: int) -> tuple[int, NDArray[np.bool_]]:
    """Return the best item and the items that it is better than, by independent pairs."""
    z = means.to_numpy()
    wins = (z[:, :, None] > z[:, None]).sum(axis=0)  # a missing score wins and loses nothing
    pairs = br.Pairs.from_matrix(wins, items=list(means))
    fitted = br.fit_pairs(pairs, order_effect=False, draws=500, random_seed=random_seed)
    utility = fitted["posterior"]["utility"].sel(item=list(means.columns))
    best = int(utility.mean(("chain", "draw")).to_numpy().argmax())
    better = br.win_probability(utility).values[best] >= PROB
    return best, better


def baycomp(
    means: pd.DataFrame, rng: np.random.Generator, draws: int = 1000
) -> tuple[int, NDArray[np.bool_]]:
    """Return the best item and the items that it is better than, by signed-rank tests of pairs."""
    z = means.to_numpy()
    best = int(np.nanmean(z - np.nanmean(z, axis=1, keepdims=True), axis=0).argmax())
    better = np.zeros(z.shape[1], dtype=bool)
    for other in range(z.shape[1]):
        d = z[:, best] - z[:, other]
        # the prior is one observation of no difference, with the weight 1/2
        d = np.append(0.0, d[~np.isnan(d)])
        if other == best:
            continue
        weight = rng.dirichlet(np.append(0.5, np.ones(len(d) - 1)), size=draws)
        sums = d[:, None] + d
        above = np.einsum("ti,ij,tj->t", weight, (sums > 0).astype(float), weight)
        below = np.einsum("ti,ij,tj->t", weight, (sums < 0).astype(float), weight)
        better[other] = (above > below).mean() >= PROB
    return best, better


def describe(found: tuple[int, NDArray[np.bool_]], utility: Floats) -> dict[str, Any]:
    """Say whether an equal or better item is called worse, and which share of worse ones is."""
    best, better = found
    worse = utility < utility[best]
    return {
        "wrong": bool((better & ~worse).any()),
        "found": float(better[worse].mean()) if worse.any() else np.nan,
    }
