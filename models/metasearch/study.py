r"""Meta-search compared: MPM, Bradley-Terry, Plackett-Luce, Borda and SVD on search engines' lists.

Results on MQ2008-agg
---------------------
Percent, means over the 784 test queries of five folds: NDCG (N; gain 2^grade - 1), precision (P;
grade 2 is relevant, 0 and 1 are not) and mean average precision. Queries without a relevant
document count as 0. Standard errors of NDCG are 1.7 at 1 and 1.4 at 5, and of a difference between
rows less, for the queries are the same. What an unlisted document means is in the name: nothing
("missing"), below all that the engine lists ("last"), or further below, in roots of ranks
("below"). Where grades are used, adherences are agreements a, or 2a - 1, of the training parts;
"chosen" has the row with the best validation part in each turn.

================================ ===== ===== ===== ===== ===== ===== ===== ===== ===== ===== =====
method                           N@1   N@2   N@3   N@4   N@5   P@1   P@2   P@3   P@4   P@5   MAP
================================ ===== ===== ===== ===== ===== ===== ===== ===== ===== ===== =====
paper, supervised MPM            38.17 40.57 42.19 43.07 43.99
Borda, missing                   15.84 20.64 24.61 27.93 31.16  7.28  9.32  9.26  9.66  9.43 16.16
Borda, last                      38.37 39.61 42.15 44.30 46.04 19.77 17.12 15.88 14.48 13.25 23.91
SVD, missing                     32.40 35.00 37.17 38.73 40.52 15.31 15.34 14.31 12.94 11.89 21.14
SVD, last                        39.07 40.88 42.52 44.35 46.19 19.32 17.57 16.07 14.45 13.16 23.83
SVD, below                       40.22 41.52 43.27 45.25 46.92 20.28 17.92 15.99 14.38 13.24 24.14
Bradley-Terry, missing           33.76 35.20 35.81 37.32 38.81 16.20 14.99 13.18 12.05 11.07 20.71
Bradley-Terry, last              39.46 41.01 42.63 44.46 46.22 19.77 17.60 16.11 14.51 13.04 23.92
Plackett-Luce, missing           31.80 33.01 34.74 36.02 37.57 15.69 14.80 13.78 12.24 11.20 19.94
Plackett-Luce, last              38.90 39.87 42.33 44.74 46.44 20.28 17.41 15.94 14.70 13.29 24.04
MPM, missing                     38.82 39.21 40.33 41.21 42.36 19.13 17.25 15.60 13.65 12.51 22.91
MPM, last                        39.07 40.88 42.52 44.35 46.19 19.32 17.57 16.07 14.45 13.16 23.83
MPM, below                       40.22 41.52 43.27 45.25 46.92 20.28 17.92 15.99 14.38 13.24 24.14
learned MPM, missing             37.29 39.19 40.21 40.82 42.07 18.24 17.54 15.62 13.74 12.26 22.50
learned MPM, last                38.90 40.45 42.47 44.03 46.02 19.64 17.67 16.33 14.54 13.24 23.99
learned MPM, below               39.75 41.07 43.06 44.81 46.86 19.52 18.18 16.11 14.54 13.47 23.99
  posterior mean                 39.88 41.19 43.24 45.03 46.96 19.64 18.11 16.20 14.64 13.47 24.07
supervised MPM, missing          38.18 39.30 40.39 41.24 42.48 18.88 17.44 15.86 13.87 12.56 22.98
supervised MPM, last             39.54 40.98 42.80 44.34 46.35 19.39 17.98 16.28 14.41 13.27 24.03
supervised MPM, below            40.18 41.29 43.45 45.44 47.00 20.15 17.92 16.07 14.54 13.32 24.11
supervised MPM, below, 2a - 1    40.18 41.92 43.71 45.34 47.19 19.77 18.69 16.41 14.80 13.53 24.30
supervised MPM, below, variances 40.18 41.29 43.45 45.44 47.00 20.15 17.92 16.07 14.54 13.32 24.11
supervised MPM, chosen           40.39 41.74 43.58 45.39 47.14 20.15 18.49 16.07 14.60 13.40 24.36
Plackett-Luce, last, 2a - 1      39.29 40.86 42.85 45.00 46.67 20.03 17.98 16.28 14.92 13.32 24.18
================================ ===== ===== ===== ===== ===== ===== ===== ===== ===== ===== =====

Why they differ from the paper's row: with unlisted documents missing ours is as good at
1 and 1.5 less at 5. That row has variances, which change no place among the first five here (prior
scale 0.5; nor do 1 or ten times the evidence). What an unlisted document means is worth more than
everything else: with it the supervised rows are ahead at every truncation, and even those without
grades. With equal adherences MPM orders documents by their net counts, as SVD does where every
engine compares everything, so that those rows are the same. Adherences that are learned without
grades do not help here: engines that agree with each other need not agree with the judges. Those
from grades do, a little.

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
from bayesrank.data.rankings import UninformativeRankingWarning
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
        if chance is not None:
            given = adherences(table, to_counts(table, unlisted), chance)
            adherence = pm.Data("adherence", given[0], dims="ranker")
            utility = score[rankings.item] * adherence[rankings.ranker_idx][:, None]
        br.PlackettLuce("y", utility, observed=rankings)
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
