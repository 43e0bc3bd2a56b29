r"""Meta-search compared: MPM, Bradley-Terry, Plackett-Luce, Borda and SVD on search engines' lists.

What an unlisted document means is in the name of a method: nothing ("missing"), below all that the
engine lists ("last"), or further below, in roots of ranks ("below"). ``RESULTS.md`` has the
figures.

References
----------
Volkovs & Zemel, A flexible generative model for preference aggregation, WWW 2012, Table 1.

Run ``python -m models.metasearch.study FOLDER`` with the folder of MQ2008-agg (A1.txt to
A5.txt), by default ``MQ2008-agg`` below ``BAYESRANK_DATA``; with ``--posterior``, NUTS too.
"""

import argparse
import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pymc as pm

import bayesrank as br
from bayesrank.aggregation import borda, label_agreement, mean_agreement, svd_scores
from bayesrank.data import UninformativeRankingWarning
from bayesrank.inference import posterior_modes
from models.metasearch.data import metasearch_rankings, read_aggregation_parts
from models.metasearch.metrics import evaluate
from models.metasearch.model import Counting, Scores, build, modes, posterior, to_counts
from models.shared.letor import N_PARTS, turns

LOG_VARIANCE_SCALE = 0.5  # of the models with variances


def adherences(table: pd.DataFrame, counts: br.PairCounts, chance: float) -> list[pd.Series]:
    """Agreement of every engine with the grades of the training queries of each turn.

    What a ranker at random has, `chance`, becomes 0 and less than that too: with 1/2 agreements
    are rescaled to 2a - 1, with 0 they stay as they are.
    """
    agreement = label_agreement(counts, table["label"].to_numpy())
    found = []
    for turn in turns(table["part"]):
        mean = mean_agreement(agreement.loc[table["query"][turn.train].unique()])
        found.append(((mean - chance) / (1 - chance)).clip(lower=0))
    return found


def supervised(
    table: pd.DataFrame,
    *,
    unlisted: Counting = "below",
    chance: float = 0.0,
    log_variance_scale: float | None = None,
) -> list[Scores]:
    """Score by MPM with the adherences of each turn's training queries."""
    counts = to_counts(table, unlisted)
    given = adherences(table, counts, chance)
    return modes(build(counts, given[0], log_variance_scale=log_variance_scale), given)


def unsupervised(
    table: pd.DataFrame, *, unlisted: Counting = "below", **options: Any
) -> list[Scores]:
    """Score by MPM without any grades; the options are those of `build`."""
    return modes(build(to_counts(table, unlisted), **options))


def plackett_luce(
    table: pd.DataFrame, *, unlisted: Literal["missing", "last"], chance: float | None = None
) -> list[Scores]:
    """Score by Plackett-Luce; with `chance` given, adherences multiply the engines' utilities."""
    rankings = ranked(table, unlisted)
    given: list[pd.Series] = []
    with pm.Model(coords=rankings.coords) as model:
        score = utility = pm.Normal("score", 0, 1, dims="item")
        dims: tuple[str, ...] = ("item",)
        if chance is not None:
            given = adherences(table, to_counts(table, unlisted), chance)
            adherence = pm.Data("adherence", given[0], dims="ranker")
            utility, dims = adherence[:, None] * score, ("ranker", "item")
        br.PlackettLuce("y", utility, utility_dims=dims, observed=rankings)
    found = posterior_modes(model, [{"adherence": theta} for theta in given] or [{}])
    return [mode["score"] for mode in found]


def ranked(table: pd.DataFrame, unlisted: Literal["missing", "last"]) -> br.Rankings:
    """Rankings of the engines; lists of one document, which say nothing by themselves, may be."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UninformativeRankingWarning)
        return metasearch_rankings(table, unlisted=unlisted)


def by_borda(table: pd.DataFrame, *, unlisted: Literal["missing", "last"]) -> list[Scores]:
    """Score by the mean share of the documents beaten; what no engine ranks comes last."""
    return [borda(ranked(table, unlisted)).fillna(-1.0).to_numpy()]


def by_svd(table: pd.DataFrame, *, unlisted: Counting) -> list[Scores]:
    """Score by the mean preferences at rank two."""
    return [svd_scores(to_counts(table, unlisted)).to_numpy()]


METHODS: dict[str, Callable[[pd.DataFrame], list[Scores]]] = {
    "Borda, missing": partial(by_borda, unlisted="missing"),
    "Borda, last": partial(by_borda, unlisted="last"),
    "SVD, missing": partial(by_svd, unlisted="missing"),
    "SVD, last": partial(by_svd, unlisted="last"),
    "SVD, below": partial(by_svd, unlisted="below"),
    "Bradley-Terry, missing": partial(unsupervised, unlisted="missing", given_pairs=True),
    "Bradley-Terry, last": partial(unsupervised, unlisted="last", given_pairs=True),
    "Plackett-Luce, missing": partial(plackett_luce, unlisted="missing"),
    "Plackett-Luce, last": partial(plackett_luce, unlisted="last"),
    "MPM, missing": partial(unsupervised, unlisted="missing"),
    "MPM, last": partial(unsupervised, unlisted="last"),
    "MPM, below": unsupervised,
    "learned MPM, missing": partial(unsupervised, unlisted="missing", adherence="learned"),
    "learned MPM, last": partial(unsupervised, unlisted="last", adherence="learned"),
    "learned MPM, below": partial(unsupervised, adherence="learned"),
    "supervised MPM, missing": partial(supervised, unlisted="missing"),
    "supervised MPM, last": partial(supervised, unlisted="last"),
    "supervised MPM, below": supervised,
    "supervised MPM, missing, 2a - 1": partial(supervised, unlisted="missing", chance=0.5),
    "supervised MPM, last, 2a - 1": partial(supervised, unlisted="last", chance=0.5),
    "supervised MPM, below, 2a - 1": partial(supervised, chance=0.5),
    "supervised MPM, below, variances": partial(supervised, log_variance_scale=LOG_VARIANCE_SCALE),
    "supervised Plackett-Luce, last, 2a - 1": partial(plackett_luce, unlisted="last", chance=0.5),
}

# What the validation part chooses from, turn by turn
CANDIDATES = [name for name in METHODS if name.startswith("supervised MPM")]


# ---------------------------------------------------------------------------------------------
# Comparing
# ---------------------------------------------------------------------------------------------


def compare(table: pd.DataFrame, methods: Iterable[str]) -> dict[str, pd.DataFrame]:
    """Metrics of every test query under every method.

    If there are several of the `CANDIDATES`, a further row has in each turn the one with the
    highest NDCG of the validation queries, its mean over all depths.
    """
    scores = {}
    for name in methods:
        found = METHODS[name](table)
        scores[name] = found * N_PARTS if len(found) == 1 else found
    parts = list(turns(table["part"]))
    candidates = [name for name in CANDIDATES if name in scores]
    if len(candidates) > 1:
        picked = []
        for number, turn in enumerate(parts):
            rows = table[turn.validation]
            gain = [
                evaluate(rows, scores[name][number][turn.validation]).filter(like="ndcg").mean()
                for name in candidates
            ]
            picked.append(candidates[int(np.argmax([g.mean() for g in gain]))])
        print(f"chosen: {', '.join(picked)}")
        scores["supervised MPM, chosen"] = [
            scores[name][number] for number, name in enumerate(picked)
        ]
    tests = [turn.test for turn in parts]
    return {name: evaluate(table, np.select(tests, found)) for name, found in scores.items()}


def percent(tested: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Means over queries, in percent."""
    return pd.DataFrame({name: queries.mean() * 100 for name, queries in tested.items()}).T


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Aggregate the rankings of search engines.")
    parser.add_argument("folder", nargs="?", help="with A1.txt to A5.txt of MQ2008-agg")
    parser.add_argument("method", nargs="*", help="which; default all")
    parser.add_argument("--posterior", action="store_true", help="sample as well, for its means")
    arguments = parser.parse_args()
    folder = arguments.folder or Path(os.environ.get("BAYESRANK_DATA", ".")) / "MQ2008-agg"

    table = read_aggregation_parts(folder)
    tested = compare(table, arguments.method or METHODS)
    if arguments.posterior:
        draws = posterior(to_counts(table, "below"))
        mean = draws["posterior"]["score"].mean(("chain", "draw")).to_numpy()
        tested["learned MPM, below, posterior mean"] = evaluate(table, mean)
    print(percent(tested).round(2).to_string())
