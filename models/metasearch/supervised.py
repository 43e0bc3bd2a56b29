r"""Metasearch with grades: documents as an ordered partition, engines as features.

Story: the place of a document in an engine's list is evidence about its relevance, and so is its
absence from the list. Some engines are more informative than others, and some are misleading. The
utility of a document is linear in the engines' features; each grade is a block of documents.

    rank[i, e]       = -log2(rank of i in the list of e), minus its mean;
                       0 if unlisted
    unlisted[i, e]   = 1 if e does not list i, 0 if it does
    coefficient[f]   ~ Normal(0, coefficient_scale), per standardised column
    utility[i]       = sum over columns of column x coefficient
    blocks of query q ~ PMOP(utility[documents of q])

======================  =========================  ===============
symbol                  variable                   dims
======================  =========================  ===============
:math:`\beta`           ``coefficient``            feature
weak order              ``y``                      ranking, slot
======================  =========================  ===============

`models.metasearch.study` compares it with other methods, and writes ``RESULTS.md``.

References
----------
Volkovs & Zemel, A flexible generative model for preference aggregation, WWW 2012 (data and
protocol).

Tran, Phung & Venkatesh, Modelling human preferences for ranking and collaborative filtering: a
probabilistic ordered partition approach (likelihood).
"""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

import bayesrank as br
from models.pmop_documents.model import build, map_path
from models.pmop_documents.study import evaluate as validate
from models.shared.letor import Part, folds, turns

# Prior scales of the coefficients of standardised columns; the validation part chooses one
SCALES = (0.01, 0.02, 0.03, 0.06, 0.1, 0.2, 0.3)
METHODS = ("PMOP mean", "Plackett-Luce")
COLUMNS = ("mean", "low", "high")  # columns of the summary of a weight


def features(table: pd.DataFrame, ranks: Literal["log", "share"] = "log") -> pd.DataFrame:
    """Return columns of documents: part, query, grade, and the features of every engine.

    Parameters
    ----------
    table : DataFrame
        As `read_aggregation_parts` returns it.
    ranks : {"log", "share"}
        "log" uses -log2 of the rank, so that halving a rank is a step of 1. "share" uses the share
        of the query's documents that the engine does not place before this one. The mean over the
        listed documents is subtracted, so that 0 is a typical rank.

    Returns
    -------
    DataFrame
        Its columns are part, query, grade, "engine1 rank", "engine1 unlisted", ...; all but the
        first three enter the utility.
    """
    if ranks not in ("log", "share"):
        raise ValueError(f"`ranks` is {ranks!r}; it is 'log' or 'share'.")
    engines = [name for name in table.columns if name.startswith("engine")]
    columns: dict[str, Any] = {
        "part": table["part"], "query": table["query"], "grade": table["label"].astype(float)
    }  # fmt: skip
    queries = table.groupby("query")
    for engine in engines:
        rank = table[engine]
        if ranks == "log":
            place = -np.log2(rank)
        else:
            place = 1 - (queries[engine].rank() - 1) / queries[engine].transform("size")
        columns[f"{engine} rank"] = (place - place.mean()).fillna(0.0)
        columns[f"{engine} unlisted"] = rank.isna().astype(float)
    return pd.DataFrame(columns)


def scores(part: Part, coefficient: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute the utility of every document, in the order of the parts."""
    found = np.empty(len(part.features))
    found[part.rankings.item[part.rankings.mask]] = part.features @ coefficient
    return found


def compare(
    table: pd.DataFrame,
    methods: Iterable[str] = METHODS,
    *,
    ranks: Literal["log", "share"] = "log",
    scales: Sequence[float] = SCALES,
) -> tuple[dict[str, NDArray[np.float64]], dict[str, list[float]]]:
    """Score all documents in the fold that tests them; also return the chosen prior scales.

    The chosen scale maximises the mean NDCG and ERR of the validation part, at the posterior mode.
    """
    documents = features(table, ranks)
    parts = list(turns(documents["part"]))
    tested: dict[str, NDArray[np.float64]] = {}
    chosen: dict[str, list[float]] = {}
    for method in methods:
        found, chosen[method] = np.zeros(len(table)), []
        for turn, fold in zip(parts, folds(documents, StandardScaler()), strict=True):
            path = map_path(build(fold.train, method), scales)
            gains = [validate(fold.validation, beta).mean().sum() for beta in path]
            best = int(np.argmax(gains))
            chosen[method].append(scales[best])
            found[turn.test] = scores(fold.test, path[best])
        tested[method] = found
    return tested, chosen


def posterior(
    table: pd.DataFrame, scale: float, *, method: str = "PMOP mean", **sampling: Any
) -> pd.DataFrame:
    """Sample the weights of the engines by NUTS, from the training queries of the first fold.

    Parameters
    ----------
    table : DataFrame
        As `read_aggregation_parts` returns it.
    scale : float
        Prior standard deviation of the coefficients of standardised columns.
    method : str
        One of the methods of `models.pmop_documents.model`.
    **sampling
        Options of `pm.sample`.

    Returns
    -------
    DataFrame
        One row per draw. The column (engine, "halved rank") is the gain in utility if the rank of
        a document is halved. The column (engine, "listed") is the gain of a document at the
        engine's typical rank over an unlisted document.
    """
    documents = features(table)
    turn = next(turns(documents["part"]))
    model = build(next(folds(documents, StandardScaler())).train, method, coefficient_scale=scale)
    options = {"draws": 1000, "tune": 500, "chains": 2, "random_seed": 1} | sampling
    with model:
        trace = br.inference.sample(**options)
    draws = trace["posterior"]["coefficient"]
    values = (
        draws.transpose("chain", "draw", "feature").to_numpy().reshape(-1, draws.sizes["feature"])
    )
    names = draws["feature"].to_index()
    per_unit = values / documents.loc[turn.train, names].std(ddof=0).to_numpy()
    engines = pd.MultiIndex.from_tuples([tuple(name.split(" ")) for name in names])
    weights = pd.DataFrame(per_unit, columns=engines)
    weights.loc[:, (slice(None), "unlisted")] *= -1
    return weights.rename(columns={"rank": "halved rank", "unlisted": "listed"}, level=1)


def summarise(weights: pd.DataFrame, prob: float = 0.94) -> pd.DataFrame:
    """Compute the mean and equal-tailed interval of every weight, by engine."""
    tail = (1 - prob) / 2
    rows = weights.quantile([tail, 1 - tail]).set_axis(["low", "high"])
    rows.loc["mean"] = weights.mean()
    weights_of = {kind: rows.xs(kind, axis=1, level=1).T for kind in ("listed", "halved rank")}
    return pd.concat(weights_of, axis=1)[[(kind, c) for kind in weights_of for c in COLUMNS]]
