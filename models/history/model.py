r"""Strengths that change, as a PyMC model: utilities with daily random walks.

Story: the strength of a club changes with time, and longer gaps allow larger changes. The result of
a match depends on the strengths on that day, on which club plays at home, and on how often equal
clubs draw.

    scale, drift    ~ HalfNormal(1)
    utility[t1, i]  ~ Normal(0, scale), t1: first date of i
    utility[t', i]  ~ Normal(utility[t, i], drift sqrt(t' - t))
    outcome         ~ Davidson(
                        utility[t, first] - utility[t, second] + order_effect, nu)

=======================  =========================  ===============
symbol                   variable                   dims
=======================  =========================  ===============
:math:`u_i(t)`           ``utility``                date, item
:math:`\delta`           ``order_effect``
:math:`\nu`              ``nu``
outcomes                 ``y``                      pair, result
=======================  =========================  ===============

This model has a utility for every date and item, and NUTS can sample several hundred of them.
`br.fit_dynamic` fits the same model by Laplace's approximation. It has utilities only at the times
when an item plays, and handles hundreds of thousands of them. See `models.history.study` and
``RESULTS.md``.

References
----------
Glickman, Parameter estimation in large dynamic paired comparison experiments, Applied Statistics
48, 1999.

Maystre, Kristof & Grossglauser, Pairwise comparisons with flexible time-dynamics, KDD 2019.
"""

import pymc as pm

import bayesrank as br
from bayesrank.utility import random_walk

__all__ = ["build"]


def build(pairs: br.Pairs, *, time: str = "date") -> pm.Model:
    """Build the model of matches that are grouped by time.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"x": [*"ab"], "y": [*"ba"], "won": ["first", "tie"]})
    >>> table["date"] = ["2024-01-01", "2024-02-01"]
    >>> pairs = br.Pairs.from_frame(table, first="x", second="y", outcome="won", by="date")
    >>> [rv.name for rv in build(pairs).free_RVs]
    ['scale', 'drift', 'utility_steps', 'order_effect', 'nu']
    """
    with pm.Model(coords=pairs.coords) as model:
        scale, drift = pm.HalfNormal("scale", 1), pm.HalfNormal("drift", 1)
        utility = random_walk("utility", scale, drift, dims=(time, "item"), data=pairs)
        order = pm.Normal("order_effect", 0, 0.5)
        nu = pm.LogNormal("nu", 0, 1)
        br.Davidson("y", utility, nu=nu, order_effect=order, observed=pairs)
    return model
