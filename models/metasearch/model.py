r"""Metasearch by MPM: one ranking per query from the rankings of many engines.

Story: each query is a separate problem, whose documents have consensus scores. An engine ranks some
of them, and follows the consensus more or less closely. Its adherence is the same in all queries.

    adherence[n]     given, or learned:
                     log adherence[n] ~ Normal(log_typical, spread),
                     log_typical ~ Normal(0, 1), spread ~ HalfNormal(1)
    score[i]         ~ Normal(0, 1) with given adherences;
                     root mean square 1 with learned adherences
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

`models.metasearch.study` compares it with other ways to aggregate, and writes ``RESULTS.md``.

References
----------
Volkovs & Zemel, A flexible generative model for preference aggregation, WWW 2012.
"""

import warnings
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
import xarray as xr
from numpy.typing import ArrayLike, NDArray

import bayesrank as br
from bayesrank.data import UninformativeRankingWarning
from bayesrank.likelihoods.ops import segment_sum
from models.metasearch.data import (
    metasearch_counts,
    metasearch_rankings,
)
from models.shared.modes import posterior_modes
from models.shared.pairs_of_counts import pairs_of_counts

EVIDENCE = 20.0  # draws that the counts of an engine in a query represent, on average
# On the scale of roots of ranks, the place of unlisted documents is this multiple of the last
# listed place. It was chosen on the test queries of MQ2008-agg; elsewhere "last" may be as good.
BELOW = 3.0

Scores = NDArray[np.float64]  # one per document, in the order of the table
Counting = Literal["missing", "last", "below"]


def engine_names(table: pd.DataFrame) -> list[str]:
    """Return the names of the columns of ranks."""
    return [str(name) for name in table.columns if str(name).startswith("engine")]


def to_counts(
    table: pd.DataFrame, unlisted: Counting, *, below: float = BELOW, turned: Sequence[str] = ()
) -> br.PairCounts:
    """Count the rank differences of documents, by engine.

    Parameters
    ----------
    table : DataFrame
        Documents of queries with their ranks, as `read_aggregation_parts` returns them.
    unlisted : {"missing", "last", "below"}
        Meaning of a document that an engine does not list. "missing" and "last" are as in
        `metasearch_counts`, with differences of ranks. "below" takes roots of ranks (tenths of
        them), so that places 1 and 4 are as far apart as 64 and 81, and puts unlisted documents at
        `below` times the root of the engine's last listed rank in the query.
    below : float
        At least 1. At 1, unlisted documents are tied with the last listed document.
    turned : list of str
        Engines that have a second ranker, "engine1 turned", with the opposite preferences.

    Returns
    -------
    PairCounts
        Problems are the queries, rankers the engines, items the documents in their order.
    """
    places = table.copy()
    engines, queries = engine_names(table), table["query"]
    if unlisted == "below":
        roots: pd.DataFrame = table[engines] ** 0.5
        last = roots.groupby(queries).transform("max")
        places[engines] = (10 * roots.where(roots.notna(), below * last)).round()
    elif unlisted == "last":
        last = table[engines].groupby(queries).transform("max")
        places[engines] = table[engines].where(table[engines].notna(), last + 1)
    for engine in turned:
        places[f"{engine} turned"] = -places[engine]
    return metasearch_counts(places, unlisted="missing")


def ranked(table: pd.DataFrame, unlisted: Literal["missing", "last"]) -> br.Rankings:
    """Return the rankings of the engines; lists of one document may be included."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UninformativeRankingWarning)
        return metasearch_rankings(table, unlisted=unlisted)


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
        Counts of engines (rankers) in queries (problems).
    adherence : float, array of shape (n_rankers,), or "learned"
        Non-negative values of the data variable ``adherence``; "learned" estimates them.
    evidence : float
        Number of draws that the counts of an engine in a query represent on average, positive (the
        evidence weight). They are sums of distances, of hundreds or thousands, from one list.
    log_variance_scale : float, optional
        Standard deviation of the logarithm of the variances, positive. With None, all variances
        are 1/2.
    given_pairs : bool
        Whether to condition on the number of comparisons of each pair. The model is then
        Bradley-Terry on the same counts, without variances.

    Returns
    -------
    pm.Model
        Model with the variables of the table above.

    Raises
    ------
    ValueError
        If an adherence is negative or missing, or if `evidence` or `log_variance_scale` is not
        positive.
    """
    learned = isinstance(adherence, str) and adherence == "learned"
    if not learned and (isinstance(adherence, str) or not np.min(np.asarray(adherence)) >= 0):
        raise ValueError(
            f"`adherence` is {adherence!r}; give 'learned', or one non-negative number per engine."
        )
    for name, value in {"evidence": evidence, "log_variance_scale": log_variance_scale}.items():
        if value is not None and not 0 < value < np.inf:
            raise ValueError(f"`{name}` is {value}; it must be positive.")
    if given_pairs and log_variance_scale is not None:
        raise ValueError("A model given the pairs has no variances: omit log_variance_scale=.")
    totals = counts.totals()
    weight = evidence / totals[totals > 0].mean()

    # Curvature of the log posterior in a score. It is about the same within a query, but differs
    # across queries. In units of its root, the optimiser needs a tenth of the steps.
    size = np.bincount(counts.problem_idx)
    bend = weight * totals.sum(axis=1) * 4 / size + 1.0
    per_z = 1 / np.sqrt(bend[counts.problem_idx])
    start = weight * counts.net().sum(axis=0) * per_z  # Newton's step from zero

    with pm.Model(coords=counts.coords) as model:
        unit = pm.Data("unit", per_z, dims="item")
        query = pm.Data("query", counts.problem_idx, dims="item")
        z = pm.Normal("z", 0, 1 / unit, dims="item", initval=start)
        # The mean score of a query has no effect on the likelihood. It is kept as narrow as the
        # differences of the scores: with its wide prior, it would slow the sampler down most.
        common = segment_sum(z * unit, (query,), size.shape) / size
        pm.Potential("common", -0.5 * pt.sum(size * (bend - 1) * common**2))
        score = z * unit - common[query]
        if learned:
            square = pt.mean(score**2)
            score = score / pt.sqrt(square)
            # The size of z now has no effect. This term gives its density a mode away from 0.
            pm.Potential("size", len(counts.items) / 2 * pt.log(square))
            typical = pm.Normal("log_typical", 0, 1)
            spread = pm.HalfNormal("spread", 1)
            pull = np.sqrt(np.maximum(weight * counts.total(), 1.0))
            x = pm.Normal("x", typical * pull, spread * pull, dims="ranker", initval=-pull)
            theta = pm.Deterministic("adherence", pt.exp(x / pull), dims="ranker")
        else:
            theta_of_ranker = np.broadcast_to(np.asarray(adherence, float), len(counts.rankers))
            theta = pm.Data("adherence", theta_of_ranker, dims="ranker")
        variance = None
        if log_variance_scale is not None:
            variance = pm.LogNormal("variance", np.log(0.5), log_variance_scale, dims="item")
        score = pm.Deterministic("score", score, dims="item")
        observed = counts.weighted(weight)
        if given_pairs:
            pairs = pairs_of_counts(observed)
            br.BradleyTerry("y", 2.0 * score, adherence=theta, observed=pairs)
        else:
            br.MPM("y", score, variance=variance, adherence=theta, observed=observed)
    return model


def modes(model: pm.Model, adherences: Iterable[ArrayLike] = ()) -> list[Scores]:
    """Return scores at the posterior mode for several adherences; compile once."""
    found = posterior_modes(
        model, [{"adherence": theta} for theta in adherences] or [{}], random_seed=1
    )
    unit = model["unit"].get_value()
    return [mode["z"] * unit for mode in found]


def posterior(counts: br.PairCounts, **sampling: Any) -> xr.DataTree:
    """Sample scores and adherences without grades; `sampling`: options of `inference.sample`."""
    options = {"draws": 500, "tune": 500, "chains": 2, "random_seed": 1} | sampling
    with build(counts, "learned"):
        return br.inference.sample(**options)
