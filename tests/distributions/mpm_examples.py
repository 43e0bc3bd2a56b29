"""Four rankers of three items as tables of counts and as `PairCounts`, and models of both."""

from typing import Any

import numpy as np
import pymc as pm

import bayesrank as br
from tests.likelihoods.count_tables import table_logp

SCORE = np.array([0.3, 1.2, -0.5])
VARIANCE = np.array([0.5, 0.8, 0.3])
FORMS = {
    "equal": {},
    "adherence": {"adherence": 0.4},
    "variances": {"variance": VARIANCE},
    "both": {"variance": VARIANCE, "adherence": 2.5},
}

# Four rankers of three items
COUNTS = np.array(
    [
        [[0, 1, 2], [0, 0, 4], [0, 0, 0]],
        [[0, 0, 0], [5, 0, 1], [2, 0, 0]],
        [[0, 1, 0], [1, 0, 0], [0, 0, 0]],
        [[0, 0, 3], [0, 0, 0], [7, 2, 0]],
    ]
)
ADHERENCE = np.array([0.2, 1.0, 0.0, 1.7])
PAIRS = br.PairCounts.from_matrix(COUNTS, items=["a", "b", "c"], rankers=["w", "x", "y", "z"])


def exact_logp(
    score: np.ndarray = SCORE,
    adherence: Any = 1.0,
    variance: np.ndarray | None = None,
    counts: np.ndarray = COUNTS,
) -> np.ndarray:
    """Log-probability of every table by the definition."""
    theta = np.broadcast_to(adherence, len(counts))
    return np.array([table_logp(c, score, t, variance) for c, t in zip(counts, theta, strict=True)])


def model_of(observed: Any = PAIRS, **options: Any) -> pm.Model:
    """Flat scores and adherences, so that the model's log density is the likelihood."""
    coords = PAIRS.coords if observed is COUNTS else observed.coords
    with pm.Model(coords=coords) as model:
        score = pm.Flat("score", dims="item")
        adherence = pm.Flat("adherence", dims="ranker")
        br.MPM("y", score, adherence=adherence, observed=observed, **options)
    return model


POINT = {"score": SCORE, "adherence": ADHERENCE}


def tables_by_loop(counts, values, dims):
    """Log-probabilities, one ranker and problem after the other."""
    exact = np.zeros(len(counts.rankers))
    for n, ranker in enumerate(counts.rankers):
        whole = counts.dense(ranker)
        for p in range(len(counts.problems)):
            inside = np.flatnonzero(counts.problem_idx == p)
            at = {by: group.idx[n] for by, group in counts.groups.items()}
            at |= {"ranker": n, "problem": p}
            parameters = {
                name: np.array([
                    x[tuple({**at, "item": i}[d] for d in dims[name])] for i in inside
                ])
                for name, x in values.items()
            }  # fmt: skip
            theta, variance = parameters.get("adherence", [1.0])[0], parameters.get("variance")
            table = whole[np.ix_(inside, inside)]
            exact[n] += (
                table_logp(table, parameters["score"], theta, variance) if table.any() else 0.0
            )
    return exact
