r"""Scores of gradient ascent that stops early.

A hundred gradient steps from zero, without a prior, stop far from the maximum of the likelihood. If
a query has few lists, that maximum is often at infinity. Early stopping is a regularisation: the
learning rate times the number of steps sets its strength. After a few steps, the documents are in
the order of their net preferences. Tables label these scores as stopped early.

The unit of rank differences is the largest rank listed in the query ("share") or one place
("place"). "Binary" differences are always 1, and "log" uses the logarithms of ranks.
"""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray

import bayesrank as br
from models.metasearch.data import metasearch_counts
from models.metasearch.model import engine_names, ranked
from models.shared.pairs_of_counts import pairs_of_counts

__all__ = ["MEANS", "UNITS", "ascend", "bradley_terry", "mpm", "per_query", "plackett_luce"]

Floats = NDArray[np.float64]
Unit = Literal["share", "place", "binary", "log"]
UNITS: tuple[Unit, ...] = ("share", "place", "binary", "log")
STEPS = 100
PER_UNIT = 1000  # counts are whole numbers: thousandths of the unit, except for places


def counts_in(table: pd.DataFrame, unit: Unit) -> tuple[br.PairCounts, float]:
    """Count rank differences of listed documents; also return the counts per unit."""
    if unit not in UNITS:
        raise ValueError(f"`unit` is {unit!r}; it is one of {', '.join(map(repr, UNITS))}.")
    engines, places = engine_names(table), table.copy()
    if unit == "share":
        largest = table[engines].max(axis=1).groupby(table["query"]).transform("max")
        places[engines] = (PER_UNIT * table[engines].div(largest, axis=0)).round()
    elif unit == "log":
        places[engines] = (PER_UNIT * np.log(table[engines])).round()
    kind: Literal["difference", "binary"] = "binary" if unit == "binary" else "difference"
    counts = metasearch_counts(places, kind, unlisted="missing")
    return counts, PER_UNIT if unit in ("share", "log") else 1


MEANS = ("sum", "documents", "pairs")  # divisor of the gradient of a query: 1, ...


def per_query(table: pd.DataFrame, rate: float, mean: str) -> Floats:
    """Divide a rate by the number of documents or pairs of the query, for each item.

    >>> per_query(pd.DataFrame({"query": [1, 1, 1, 2]}), 0.3, "pairs").round(2).tolist()
    [0.1, 0.1, 0.1, 0.3]
    """
    if mean not in MEANS:
        raise ValueError(f"`mean` is {mean!r}; it is one of {', '.join(map(repr, MEANS))}.")
    n = table.groupby("query")["query"].transform("size").to_numpy()
    over = {"sum": np.ones(len(n)), "documents": n, "pairs": np.maximum(n * (n - 1) / 2, 1)}
    return rate / over[mean]


def ascend(model: pm.Model, rates: Sequence[Any], *, steps: int = STEPS) -> list[Floats]:
    """Return the scores after a number of steps from the initial point, for each rate.

    Parameters
    ----------
    model : pm.Model
        A model with a free variable ``score`` with a flat prior on the real line. Any other free
        variables must also be on the real line.
    rates : list of float, or of array
        Factors of the gradient of the log-probability: one number for all variables, or one per
        score if only scores are free.
    steps : int
        Number of steps.
    """
    gradient = model.compile_dlogp()
    names = [rv.name for rv in model.value_vars]
    found = []
    for rate in rates:
        point = model.initial_point()
        for _ in range(steps):
            slope, begin = gradient(point), 0
            for name in names:
                size = np.size(point[name])
                step = slope[begin : begin + size].reshape(np.shape(point[name]))
                point[name] = point[name] + rate * step
                begin += size
        found.append(np.asarray(point["score"]))
    return found


def bradley_terry(
    table: pd.DataFrame, rates: Sequence[Any], *, unit: Unit = "share"
) -> list[Floats]:
    """Score by Bradley-Terry, with rank differences as counts of comparisons."""
    counts, per_unit = counts_in(table, unit)
    with pm.Model(coords=counts.coords) as model:
        score = pm.Flat("score", dims="item", initval=np.zeros(len(counts.items)))
        br.BradleyTerry("y", score, observed=pairs_of_counts(counts))
    return ascend(model, [rate / per_unit for rate in rates])


def plackett_luce(table: pd.DataFrame, rates: Sequence[Any]) -> list[Floats]:
    """Score by Plackett-Luce on the engines' lists."""
    rankings = ranked(table, "missing")
    with pm.Model(coords=rankings.coords) as model:
        score = pm.Flat("score", dims="item", initval=np.zeros(rankings.n_items))
        br.PlackettLuce("y", score, observed=rankings)
    return ascend(model, rates)


def mpm(
    table: pd.DataFrame,
    adherence: pd.Series,
    rates: Sequence[float] = (0.001,),
    *,
    unit: Unit = "share",
    variances: bool = True,
) -> list[Floats]:
    """Score by MPM with given adherences; variances start at 1/2 and move on a log scale."""
    counts, per_unit = counts_in(table, unit)
    with pm.Model(coords=counts.coords) as model:
        score = pm.Flat("score", dims="item", initval=np.zeros(len(counts.items)))
        variance = None
        if variances:
            log = pm.Flat("log_variance", dims="item", initval=np.zeros(len(counts.items)))
            variance = pt.exp(log) / 2
        given = pm.Data("adherence", adherence.to_numpy(), dims="ranker")
        br.MPM("y", score, variance=variance, adherence=given, observed=counts)
    return ascend(model, [rate / per_unit for rate in rates])
