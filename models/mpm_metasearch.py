r"""Meta-search by MPM: one ranking per query from those of many engines.

Story: a query is a problem of its own, whose documents have consensus scores. An engine ranks some
of them, and follows the consensus more or less closely, in all queries alike: adherences are what
the queries share.

    adherence[n]     given, or learned: ~ HalfNormal(typical), typical ~ HalfNormal(1)
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

RESULTS
"""

import argparse
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import ArrayLike, NDArray

import bayesrank as br
from bayesrank.aggregation import borda, label_agreement, mean_agreement, svd_scores
from bayesrank.data.letor import turns
from bayesrank.data.letor_aggregation import (
    metasearch_counts,
    metasearch_rankings,
    read_aggregation_parts,
)
from bayesrank.inference import posterior_modes
from bayesrank.results.metrics import query_metrics

DEPTHS = (1, 2, 3, 4, 5)
RELEVANT = 2  # grade from which a document counts as relevant to precision
EVIDENCE = 20.0  # draws that the counts of an engine in a query pass for, on average
BELOW = 3.0  # roots of ranks: an unlisted document is three times as far down as the last listed

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
        From 1, with which they are tied with the last.
    """
    if unlisted != "below":
        return metasearch_counts(table, unlisted=unlisted)
    engines = [name for name in table.columns if name.startswith("engine")]
    roots = np.sqrt(table[engines])
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
        If `evidence` or `log_variance_scale` is not positive.
    """
    for name, value in {"evidence": evidence, "log_variance_scale": log_variance_scale}.items():
        if value is not None and not 0 < value < np.inf:
            raise ValueError(f"`{name}` is {value}; it must be positive.")
    totals = counts.totals()
    weight = evidence / totals[totals > 0].mean()
    learned = isinstance(adherence, str)

    # How far data and prior bend the log posterior in a score, about the same within a query but
    # not across queries: in these units the optimiser needs a tenth of the steps.
    size = np.bincount(counts.problem_idx)
    bend = weight * totals.sum(axis=1) * 4 / size + 1.0
    unit = 1 / np.sqrt(bend[counts.problem_idx])
    start = weight * counts.net().sum(axis=0) * unit  # Newton's step from zero

    with pm.Model(coords=counts.coords) as model:
        unit = pm.Data("unit", unit, dims="item")
        if learned:
            z = pm.Normal("z", 0, 1, dims="item", initval=start)
            typical = pm.HalfNormal("typical", 1)
            theta = pm.HalfNormal("adherence", typical, dims="ranker")
            score = z * unit / pt.sqrt(pt.mean((z * unit) ** 2))
        else:
            z = pm.Normal("z", 0, 1 / unit, dims="item", initval=start)
            each = np.broadcast_to(np.asarray(adherence, float), len(counts.rankers))
            theta = pm.Data("adherence", each, dims="ranker")
            score = z * unit
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
