r"""Meta-search by MPM: one ranking per query from those of many engines.

Story: a query is a problem of its own, whose documents have consensus scores. An engine ranks some
of them, and follows the consensus more or less closely, in all queries alike: adherences are what
the queries share.

    adherence[n]     given, or learned: log adherence[n] ~ Normal(log_typical, spread),
                     log_typical ~ Normal(0, 1), spread ~ HalfNormal(1)
    score[i]         ~ Normal(0, 1) if given; with a root mean square of 1 if learned
    variance[i]      = 1/2, or ~ LogNormal(log 1/2, log_variance_scale)
    counts of engine n in query q ~ MPM(score[of q], variance[of q], adherence[n])

======================  =========================  ===============
symbol                  variable                   dims
======================  =========================  ===============
:math:`s`               ``score``                  item
:math:`\gamma`          ``variance``               item
:math:`\theta`          ``adherence``              ranker
:math:`C_n`             ``y`` (net counts)         ranker, item
======================  =========================  ===============

Results on MQ2008-agg
---------------------
NDCG in percent, means over the 784 test queries of five folds (gain 2^grade - 1; queries without a
relevant document count as 0; standard errors 1.7 at 1 and 1.4 at 5). The paper's row is that of its
supervised MPM. What it means that an engine does not list a document is most of the difference:
nothing ("missing"), below all that it lists ("last"), or further below, in roots of ranks
("below").

================================  =====  =====  =====  =====  =====
method                            @1     @2     @3     @4     @5
================================  =====  =====  =====  =====  =====
paper, supervised MPM             38.17  40.57  42.19  43.07  43.99
Borda, last                       38.37  39.61  42.15  44.30  46.04
MPM, last                         39.07  40.88  42.52  44.35  46.19
MPM, below                        40.22  41.52  43.27  45.25  46.92
learned MPM, last                 38.90  40.45  42.47  44.03  46.02
learned MPM, below                39.75  41.07  43.06  44.79  46.86
  posterior mean                  39.63  40.98  42.94  44.69  46.78
supervised MPM, missing           38.18  39.30  40.39  41.24  42.48
supervised MPM, last              39.54  40.98  42.80  44.34  46.35
supervised MPM, below             40.18  41.29  43.45  45.44  47.00
supervised MPM, below, 2a - 1     40.18  41.92  43.71  45.34  47.19
supervised MPM, chosen            40.39  41.74  43.58  45.39  47.14
================================  =====  =====  =====  =====  =====

Adherences that are learned without grades do not help here: engines that agree with each other
need not agree with the judges. Those from grades do, a little.
"""

import argparse
import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import ArrayLike, NDArray

import bayesrank as br
from bayesrank.aggregation import borda, label_agreement, mean_agreement, svd_scores
from bayesrank.data.letor import N_PARTS, turns
from bayesrank.data.letor_aggregation import (
    metasearch_counts,
    metasearch_rankings,
    read_aggregation_parts,
)
from bayesrank.data.rankings import UninformativeRankingWarning
from bayesrank.inference import posterior_modes
from models.metasearch_metrics import evaluate

EVIDENCE = 20.0  # draws that the counts of an engine in a query pass for, on average
BELOW = 3.0  # in roots of ranks, unlisted documents are three times as far down as the last listed
LOG_VARIANCE_SCALE = 0.5  # of the models with variances

Scores = NDArray[np.float64]  # one per document, in the order of the table
Counting = Literal["missing", "last", "below"]


# ---------------------------------------------------------------------------------------------
# Counts and models
# ---------------------------------------------------------------------------------------------


def to_counts(table: pd.DataFrame, unlisted: Counting, below: float = BELOW) -> br.PairCounts:
    """Count how far engines put documents apart.

    Parameters
    ----------
    table : DataFrame
        Documents of queries with their ranks, as `read_aggregation_parts` returns them.
    unlisted : {"missing", "last", "below"}
        What it means that an engine does not list a document. "missing" and "last" are those of
        `metasearch_counts`, with differences of ranks. "below" takes roots of ranks (tenths of
        them), so that places 1 and 4 are as far apart as 64 and 81, and puts unlisted documents at
        `below` times the root of the engine's last listed rank in the query.
    below : float
        At least 1, at which they are tied with the last.

    Returns
    -------
    PairCounts
        Problems are the queries, rankers the engines, items the documents in their order.
    """
    if unlisted != "below":
        return metasearch_counts(table, unlisted=unlisted)
    engines = [name for name in table.columns if name.startswith("engine")]
    roots: pd.DataFrame = table[engines] ** 0.5
    last = roots.groupby(table["query"]).transform("max")
    places = (10 * roots.where(roots.notna(), below * last)).round()
    return metasearch_counts(table.assign(**places), unlisted="missing")


def build(
    counts: br.PairCounts,
    adherence: ArrayLike | Literal["learned"] = 1.0,
    *,
    evidence: float = EVIDENCE,
    log_variance_scale: float | None = None,
    given_pairs: bool = False,
) -> pm.Model:
    """Build the model.

    Parameters
    ----------
    counts : PairCounts
        Of engines (rankers) in queries (problems).
    adherence : float, array of shape (n_rankers,), or "learned"
        Not negative; the data variable of this name.
    evidence : float
        How many draws the counts of an engine in a query pass for on average, positive: the
        evidence weight. They are sums of distances, of hundreds or thousands, from one list.
    log_variance_scale : float, optional
        Standard deviation of the logarithm of the variances, positive; with None they are 1/2.
    given_pairs : bool
        Whether it is given how often each pair is compared: Bradley-Terry on the same counts.

    Returns
    -------
    pm.Model
        With the variables of the table above.

    Raises
    ------
    ValueError
        If an adherence is negative or not known, or `evidence` or `log_variance_scale` is not
        positive.
    """
    learned = isinstance(adherence, str) and adherence == "learned"
    if not learned and (isinstance(adherence, str) or not np.min(np.asarray(adherence)) >= 0):
        raise ValueError(
            f"`adherence` is {adherence!r}; it is 'learned', or a number from 0 for every engine."
        )
    for name, value in {"evidence": evidence, "log_variance_scale": log_variance_scale}.items():
        if value is not None and not 0 < value < np.inf:
            raise ValueError(f"`{name}` is {value}; it must be positive.")
    totals = counts.totals()
    weight = evidence / totals[totals > 0].mean()

    # How far data and prior bend the log posterior in a score, about the same within a query but
    # not across queries: in these units the optimiser needs a tenth of the steps.
    size = np.bincount(counts.problem_idx)
    bend = weight * totals.sum(axis=1) * 4 / size + 1.0
    per_z = 1 / np.sqrt(bend[counts.problem_idx])
    start = weight * counts.net().sum(axis=0) * per_z  # Newton's step from zero

    with pm.Model(coords=counts.coords) as model:
        unit = pm.Data("unit", per_z, dims="item")
        z = pm.Normal("z", 0, 1 / unit, dims="item", initval=start)
        score = z * unit
        if learned:
            square = pt.mean(score**2)
            score = score / pt.sqrt(square)
            # The size of z is now without effect; with this its density has a mode, and not at 0.
            pm.Potential("size", len(counts.items) / 2 * pt.log(square))
            typical = pm.Normal("log_typical", 0, 1)
            spread = pm.HalfNormal("spread", 1)
            pull = np.sqrt(np.maximum(weight * counts.total(), 1.0))
            x = pm.Normal("x", typical * pull, spread * pull, dims="ranker", initval=-pull)
            theta = pm.Deterministic("adherence", pt.exp(x / pull), dims="ranker")
        else:
            each = np.broadcast_to(np.asarray(adherence, float), len(counts.rankers))
            theta = pm.Data("adherence", each, dims="ranker")
        variance = None
        if log_variance_scale is not None:
            variance = pm.LogNormal("variance", np.log(0.5), log_variance_scale, dims="item")
        score = pm.Deterministic("score", score, dims="item")
        br.MPM(
            "y",
            score,
            variance=variance,
            adherence=theta,
            given_pairs=given_pairs,
            observed=counts.weighted(weight),
        )
    return model


def modes(model: pm.Model, adherences: Iterable[ArrayLike] = ()) -> list[Scores]:
    """Scores at the posterior mode for each of some adherences; compiled once, for all queries."""
    found = posterior_modes(model, [{"adherence": theta} for theta in adherences] or [{}])
    unit = model["unit"].get_value()
    return [mode["z"] * unit for mode in found]


# ---------------------------------------------------------------------------------------------
# Methods: scores of all documents, one vector or one for each turn of the cross-validation
# ---------------------------------------------------------------------------------------------


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

# What the validation part chooses from
CANDIDATES = [name for name in METHODS if name.startswith("supervised MPM")]


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


def posterior(table: pd.DataFrame, **sampling: Any) -> Any:
    """Sample scores and adherences without any grades, by NUTS; `sampling` is `pm.sample`'s."""
    options = {"draws": 500, "tune": 500, "chains": 2, "random_seed": 1} | sampling
    with build(to_counts(table, "below"), "learned"):
        return pm.sample(nuts_sampler="nutpie", **options)


def percent(tested: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Means over queries, in percent."""
    return pd.DataFrame({name: queries.mean() * 100 for name, queries in tested.items()}).T


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Aggregate the rankings of search engines.")
    parser.add_argument("folder", nargs="?", help="with A1.txt to A5.txt of MQ2008-agg")
    parser.add_argument("method", nargs="*", help="which; default all")
    parser.add_argument("--posterior", metavar="FIGURE", help="sample as well; draw adherences")
    arguments = parser.parse_args()
    folder = arguments.folder or Path(os.environ.get("BAYESRANK_DATA", ".")) / "MQ2008-agg"

    table = read_aggregation_parts(folder)
    tested = compare(table, arguments.method or METHODS)
    if arguments.posterior:
        draws = posterior(table)
        mean = draws["posterior"]["score"].mean(("chain", "draw")).to_numpy()
        tested["learned MPM, below, posterior mean"] = evaluate(table, mean)
        print(br.adherence_summary(draws, relative=True).round(2).to_string())
        br.plot_adherence(draws, relative=True)
        plt.savefig(arguments.posterior, dpi=150)
    print(percent(tested).round(2).to_string())
