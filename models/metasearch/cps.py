r"""Metasearch by the coset-permutation stagewise model, CPS (Qin, Geng & Liu 2010).

Story: a ranking of a query's documents is made place by place. The probability of the next document
depends on the distance of the resulting ranking from the ranking :math:`\sigma_m` of each engine.
This distance is a mean over all orders of the remaining documents (the coset of permutations with
the same beginning),

.. math:: P(\pi \mid \theta) = \prod_k
          \frac{\exp(-\sum_m \theta_m d_k(\pi_k, \sigma_m))}
               {\sum_{i \in R_k} \exp(-\sum_m \theta_m d_k(i, \sigma_m))},

where :math:`R_k` are the documents that remain before place k is filled. Only the part of the mean
distance that depends on the candidate matters. For n documents and the places p after k, it is

=========  ==================================================================================
kendall    :math:`\#\{j \in R_k : \sigma_m(j) < \sigma_m(i)\}`
spearman   :math:`(\sigma_m(i) - k)^2 - \operatorname{mean}_p (\sigma_m(i) - p)^2`
footrule   :math:`|\sigma_m(i) - k| - \operatorname{mean}_p |\sigma_m(i) - p|`
=========  ==================================================================================

Each stage is a multinomial logit whose features are these distances, so that the log-likelihood is
concave in :math:`\theta`. A negative weight reverses an engine. The consensus is also made place by
place: the most probable document comes next.

The paper leaves two choices open that these data require. Grades do not order equally relevant
documents, so their order is drawn once, and stages whose remaining documents all have one grade are
left out. An unlisted document gets the mean place of an engine's ranking ("missing"), or is tied
with the other unlisted ones at its end ("last").

Two engines give places to three documents:

>>> places = np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 3.0]])
>>> consensus(places, np.array([1.0, 0.5]), "kendall").tolist()
[-1.0, -2.0, -3.0]

References
----------
Qin, Geng & Liu, A new probabilistic model for rank aggregation, NIPS 2010.
"""

from collections.abc import Callable
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import minimize

from models.shared.letor import turns

__all__ = ["DISTANCES", "consensus", "fit", "log_likelihood", "score"]

Floats = NDArray[np.float64]
Distance = Literal["kendall", "spearman", "footrule"]

# d_k of the remaining documents, (n_left, n_engines), from their places in the engines' rankings,
# the place k to fill, and the last place n
Distances = Callable[[Floats, int, int], Floats]


def _kendall(places: Floats, k: int, n: int) -> Floats:
    """Count the remaining documents before each one; equal places count half."""
    lower = (places[:, None] > places).sum(axis=1)
    equal = (places[:, None] == places).sum(axis=1) - 1
    return lower + equal / 2


def _spearman(places: Floats, k: int, n: int) -> Floats:
    rest = np.arange(k + 1.0, n + 1)
    mean = (places - rest.mean()) ** 2 + rest.var() if len(rest) else 0.0
    return (places - k) ** 2 - mean


def _footrule(places: Floats, k: int, n: int) -> Floats:
    first, last = k + 1.0, float(n)
    if first > last:
        return np.abs(places - k)
    # sums of |place - p| for p up to the place and for p above it: two arithmetic series
    split = np.clip(np.floor(places), first - 1, last)  # the last p not above the place
    below, above = split - first + 1, last - split
    total = below * (places - (first + split) / 2) + above * ((split + 1 + last) / 2 - places)
    return np.abs(places - k) - total / (last - first + 1)


DISTANCES: dict[str, Distances] = {
    "kendall": _kendall,
    "spearman": _spearman,
    "footrule": _footrule,
}


def places_of(table: pd.DataFrame, unlisted: Literal["missing", "last"]) -> Floats:
    """Return places of a query's documents in the ranking of each engine, (n_documents, n_engines).

    Tied documents share their mean place. An unlisted document is at the mean of all places
    ("missing"), or at the mean of the last places ("last"). With "missing", the listed documents
    are spread over all places.
    """
    engines = [name for name in table.columns if name.startswith("engine")]
    rank, n = table[engines], len(table)
    place = rank.rank()
    listed = rank.notna().sum()
    if unlisted == "missing":
        # expected places if the m listed documents are drawn at random from the n
        spread = place * (n + 1) / (listed + 1)
        return spread.fillna((n + 1) / 2).to_numpy()
    return place.fillna((listed + 1 + n) / 2).to_numpy()


def log_likelihood(
    places: Floats, order: NDArray[np.int64], weight: Floats, distance: Distance, depth: int
) -> float:
    """Compute the log-probability of the first `depth` documents of an order of all."""
    x, chosen, starts = _stages(places, order, distance, depth)
    return _logit(weight, x, chosen, starts)[0]


def _stages(
    places: Floats, order: NDArray[np.int64], distance: Distance, depth: int
) -> tuple[Floats, NDArray[np.int64], NDArray[np.int64]]:
    """Return features of all candidates by stage, the chosen rows, and the start of each stage."""
    n = len(order)
    rows = [DISTANCES[distance](places[order[k - 1 :]], k, n) for k in range(1, depth + 1)]
    starts = np.cumsum([0, *[len(x) for x in rows[:-1]]])
    return np.concatenate(rows), starts.copy(), starts  # each stage starts with the chosen one


def _logit(
    weight: Floats, x: Floats, chosen: NDArray[np.int64], starts: NDArray[np.int64]
) -> tuple[float, Floats]:
    """Compute the log-likelihood of choices, and its gradient."""
    size = np.diff(starts, append=len(x))
    u = -x @ weight
    top = np.repeat(np.maximum.reduceat(u, starts), size)
    worth = np.exp(u - top)
    total = np.add.reduceat(worth, starts)
    share = worth / np.repeat(total, size)
    value = (u[chosen] - top[chosen] - np.log(total)).sum()
    return float(value), share @ x - x[chosen].sum(axis=0)


def fit(
    table: pd.DataFrame,
    *,
    distance: Distance = "kendall",
    unlisted: Literal["missing", "last"] = "last",
    seed: int = 1,
) -> Floats:
    """Estimate the weights of the engines by maximum likelihood on judged queries.

    Parameters
    ----------
    table : DataFrame
        Training documents, as `models.metasearch.data.read_aggregation_parts` returns them.
    distance : str
        One of `DISTANCES`.
    unlisted : {"missing", "last"}
        Treatment of documents that an engine does not list.
    seed : int
        Seed for the order of documents with equal grades.

    Returns
    -------
    array, (n_engines,)

    Raises
    ------
    ValueError
        If no query has documents of different grades.
    """
    rng = np.random.default_rng(seed)
    pieces, chosen, starts, n_rows = [], [], [], 0
    for _, query in table.groupby("query", sort=False):
        grade = query["label"].to_numpy()
        depth = int((grade > grade.min()).sum())
        if not depth:
            continue
        order = np.lexsort((rng.random(len(grade)), -grade))
        x, first, start = _stages(places_of(query, unlisted), order, distance, depth)
        pieces.append(x)
        chosen.append(first + n_rows)
        starts.append(start + n_rows)
        n_rows += len(x)
    if not pieces:
        raise ValueError("No query of `table` has documents of different grades to learn from.")
    x = np.concatenate(pieces)
    size = x.std(axis=0).max()  # one unit for all features, for the optimiser
    data = x / size, np.concatenate(chosen), np.concatenate(starts)

    def loss(weight: Floats) -> tuple[float, Floats]:
        value, gradient = _logit(weight, *data)
        return -value / len(data[2]), -gradient / len(data[2])

    found = minimize(loss, np.zeros(x.shape[1]), jac=True, method="L-BFGS-B")
    return found.x / size


def consensus(places: Floats, weight: Floats, distance: Distance) -> Floats:
    """Place the most probable document next; return minus the places, with ties."""
    n = len(places)
    left, score = np.arange(n), np.empty(n)
    while len(left):
        k = n - len(left) + 1
        u = -DISTANCES[distance](places[left], k, n) @ weight
        best = u >= u.max() - 1e-9 * max(1.0, np.abs(u).max())
        score[left[best]] = -k
        left = left[~best]
    return score


def score(
    table: pd.DataFrame,
    *,
    distance: Distance,
    unlisted: Literal["missing", "last"],
    seed: int = 1,
) -> list[Floats]:
    """Score all documents in each fold, with the weights from its training queries."""
    rows = list(table.groupby("query", sort=False).indices.values())
    places = [places_of(table.iloc[row], unlisted) for row in rows]
    found = []
    for turn in turns(table["part"]):
        weight = fit(table[turn.train], distance=distance, unlisted=unlisted, seed=seed)
        scores = np.empty(len(table))
        for row, place in zip(rows, places, strict=True):
            scores[row] = consensus(place, weight, distance)
        found.append(scores)
    return found
