r"""Strengths of clubs from the margins of their matches, from grades of margins, or from who won.

Story: two clubs play, and the first one is ahead by a number of goals. Who wins is known from the
sign of that margin. A win by four goals may say more about the strengths than a win by one.

    utility_scale ~ HalfNormal(1.5)
    utility[i]    ~ Normal(0, utility_scale), summing to zero
    home          ~ Normal(0, 0.5)
    lead          = utility[first] - utility[second] + home
    outcome       ~ OrderedPairs(lead, cutpoint)

================  ==================================================================================
model             grades and cutpoints
================  ==================================================================================
who won           three grades, with Rao and Kupper's tie parameter: ``br.OrderedPairs``
Davidson          three grades, with Davidson's tie parameter
five grades       won by two goals or more, by one, drawn, and so on; two free cutpoints
eleven grades     each margin up to four, and five or more; five free cutpoints
margins           the same grades, with one free parameter: the cutpoints are proportional to the
                  margins between the grades. This is a margin with logistic noise.
margins, normal   the same with normal noise
================  ==================================================================================

=======================  =========================  ===============
symbol                   variable                   dims
=======================  =========================  ===============
:math:`w_i`              ``utility``                item
:math:`\sigma`           ``utility_scale``
:math:`c_g`              ``cutpoint``               boundary
home advantage           ``home``
outcomes                 ``y``                      pair, result
=======================  =========================  ===============

All models predict who wins: the probabilities of the grades are summed on each side of the draw.

Run ``python -m models.margins.study [FOLDER]`` for the football of England. It writes its table
into ``RESULTS.md``.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import pymc as pm
from numpy.typing import NDArray

import bayesrank as br
from bayesrank.match_outcomes import grade_probabilities

EDGES = (0.5, 1.5, 2.5, 3.5, 4.5)  # goals between two grades
LOGIT, PROBIT = "cumulative_logit", "cumulative_probit"
# number of edges, family, and whether cutpoints are proportional to the edges
MODELS: dict[str, tuple[int, str, bool]] = {
    "who won": (1, LOGIT, False),
    "Davidson": (1, "adjacent_logit", False),
    "five grades": (2, LOGIT, False),
    "eleven grades": (5, LOGIT, False),
    "margins": (5, LOGIT, True),
    "margins, normal": (5, PROBIT, True),
}


def pairs_of(table: pd.DataFrame, model: str) -> br.Pairs:
    """Read matches with the columns home, away and margin, in the grades of a model."""
    n_edges, _, proportional = MODELS[model]
    pairs = br.Pairs.from_frame(
        table, first="home", second="away", margin="margin", edges=EDGES[:n_edges]
    )
    return pairs if proportional else replace(pairs, edges=None)


def build(pairs: br.Pairs, model: str = "margins") -> pm.Model:
    """Declare one of the models.

    Parameters
    ----------
    pairs : Pairs
        Matches from `pairs_of`.
    model : str
        A row of the table above.

    Returns
    -------
    pm.Model
        With the variables of the second table.

    Examples
    --------
    >>> table = pd.DataFrame({"home": ["a", "b"], "away": ["b", "a"], "margin": [2, 0]})
    >>> [rv.name for rv in build(pairs_of(table, "margins")).free_RVs]
    ['utility_scale', 'utility_z', 'home', 'cutpoint_margin']
    """
    family = MODELS[model][1]
    with pm.Model(coords=pairs.coords) as built:
        scale = pm.HalfNormal("utility_scale", 1.5)
        utility = scale * pm.ZeroSumNormal("utility_z", 1.0, dims="item")
        utility = pm.Deterministic("utility", utility, dims="item")
        home = pm.Normal("home", 0, 0.5)
        cutpoint = br.cutpoints("cutpoint", pairs, family=family)
        br.OrderedPairs(
            "y", utility, cutpoints=cutpoint, family=family, order_effect=home, observed=pairs
        )
    return built


def who_wins(
    lead: NDArray[np.float64], cutpoint: NDArray[np.float64], family: str
) -> NDArray[np.float64]:
    """Sum the probabilities of grades to a win of the first, a draw, and a win of the second.

    Parameters
    ----------
    lead : array, (..., n_draws)
    cutpoint : array, (n_draws, n_grades - 1)
    family : str

    Returns
    -------
    array, (..., n_draws, 3)

    Examples
    --------
    >>> who_wins(np.zeros(1), np.array([[-np.log(3.0), np.log(3.0)]]), "cumulative_logit")
    array([[0.25, 0.5 , 0.25]])
    """
    p = grade_probabilities(lead, cutpoint, family)
    half = p.shape[-1] // 2
    sides = p[..., :half].sum(-1), p[..., half], p[..., half + 1 :].sum(-1)
    return np.stack(sides, axis=-1)
