r"""Matches day after day: yesterday's posterior is today's prior.

Story: matches arrive day by day, and fitting the whole past again every night is too expensive. A
normal distribution summarises the utilities, the order effect and the ties: its mean m and its
covariance, the square of a factor L. Every day is a separate model with this normal as its prior.
Utilities may change overnight.

    z[k]          ~ Normal(0, 1)
    state         = m + L z, of all utilities, the order effect and log nu
    outcome       ~ Davidson(utility[first] - utility[second] + order_effect, nu)
    overnight     utility[i] += Normal(0, drift), minus the mean of these steps

=======================  =========================  ===============
symbol                   variable                   dims
=======================  =========================  ===============
:math:`m`                ``prior_mean``             state
:math:`L`                ``prior_factor``           state, whitened
:math:`z`                ``z``                      whitened
:math:`w_i`              ``utility``                item
:math:`\delta`           ``order_effect``
:math:`\nu`              ``nu``
outcomes                 ``y``                      pair, result
=======================  =========================  ===============

Only drifts relative to the other items are determined, so the steps of a night sum to zero. A new
item has the prior that all items had on their first day, independently of them.

The model is compiled once. For each day, `br.set_observed` replaces the matches and `pm.set_data`
the prior. The posterior is Laplace's normal approximation around the mode; see `follow`. A day with
new items compiles again.

**With NUTS**: `from_draws` returns the normal distribution with the moments of the draws.

>>> model = build(state, today)                                        # doctest: +SKIP
>>> with model:                                                        # doctest: +SKIP
...     state = from_draws(pm.sample())
>>> set_day(model, state, tomorrow)                                    # doctest: +SKIP

Another way sets the prior without changing the model, but compiles again:

>>> prior = {"prior_mean": state.mean, "prior_factor": state.factor}   # doctest: +SKIP
>>> with pm.do(model, prior):                                          # doctest: +SKIP
...     posterior = pm.sample()

**Categories**: let each item be an item in a category, such as "Alder / maths". `by_category`
returns an initial state in which the utilities of an item in all categories are correlated. So
matches in one category inform the others.

``RESULTS.md`` shows its accuracy and how to choose the drift.

Run ``python -m models.online.model`` for an item that improves during a simulated season.

References
----------
Glickman, Parameter estimation in large dynamic paired comparison experiments, Applied Statistics
48, 1999. Chess ratings use this method item by item; this model keeps the covariance of all items.

Opper, A Bayesian approach to on-line learning, 1998: assumed density filtering.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray

import bayesrank as br
from bayesrank.inference import climb, objective
from models.online.state import OTHERS, State, by_category, drifted, from_draws, start, with_items
from models.shared.item_features import check_scales

__all__ = [
    "State",
    "build",
    "by_category",
    "drifted",
    "follow",
    "forecast",
    "from_draws",
    "on_axis",
    "set_day",
    "simulate",
    "start",
    "with_items",
]

Floats = NDArray[np.float64]


def on_axis(pairs: br.Pairs, items: pd.Index) -> br.Pairs:
    """Put pairs on another axis of items.

    Raises
    ------
    ValueError
        If the axis lacks an item of the pairs.
    """
    place = items.get_indexer(pairs.items).astype(np.int32)
    if (place < 0).any():
        raise ValueError(
            f"The state does not have the items {list(pairs.items[place < 0])[:5]}. Add them with "
            "with_items."
        )
    return replace(pairs, items=items, first=place[pairs.first], second=place[pairs.second])


def build(state: State, pairs: br.Pairs) -> pm.Model:
    """Build the model of a day.

    Parameters
    ----------
    state : State
        Prior of the day.
    pairs : Pairs
        The matches of the day, between items of the state.

    Returns
    -------
    pm.Model
        Model with the variables of the table above.

    Examples
    --------
    >>> pairs = br.load_pudding()
    >>> [rv.name for rv in build(start(pairs.items), pairs).free_RVs]
    ['z']
    """
    pairs = on_axis(pairs, state.items)
    names = [*map(str, state.items), *OTHERS]
    coords = pairs.coords | {"state": names, "whitened": range(len(names))}
    with pm.Model(coords=coords) as model:
        mean = pm.Data("prior_mean", state.mean, dims="state")
        factor = pm.Data("prior_factor", state.factor, dims=("state", "whitened"))
        z = pm.Normal("z", 0, 1, dims="whitened")
        x = mean + pt.sum(factor * z, axis=-1)  # a small matrix: no threaded BLAS
        utility = pm.Deterministic("utility", x[:-2], dims="item")
        order = pm.Deterministic("order_effect", x[-2])
        nu = pm.Deterministic("nu", pt.exp(x[-1]))
        br.Davidson("y", utility, order_effect=order, nu=nu, observed=pairs)
    return model


def set_day(model: pm.Model, state: State, pairs: br.Pairs) -> None:
    """Replace the prior and the matches of the model, without compiling again."""
    with model:
        pm.set_data({"prior_mean": state.mean, "prior_factor": state.factor})
        br.set_observed("y", on_axis(pairs, state.items))


def follow(
    days: Iterable[br.Pairs],
    state: State | None = None,
    *,
    drift: float = 0.0,
    prior_scale: float = 1.0,
) -> Iterator[State]:
    """Yield the state after each day of matches.

    Parameters
    ----------
    days : iterable of Pairs
        The matches of each day, with any items. The names of judges and groups must not change.
    state : State, optional
        State before the first day; by default the prior of `start`.
    drift : float
        Standard deviation of the overnight change of a utility, 0 or more.
    prior_scale : float
        Standard deviation of the utilities of new items, positive.

    Yields
    ------
    State
        The Laplace approximation of the posterior.
    """
    check_scales(prior_scale=prior_scale)
    if not drift >= 0:
        raise ValueError(f"`drift` is {drift}; it must be 0 or more.")
    model: Any = None
    for number, pairs in enumerate(days):
        if state is None:
            state = start(pairs.items, prior_scale=prior_scale)
        n_known = len(state.items)
        if number:
            state = drifted(state, drift)
        state = with_items(state, pairs.items, prior_scale=prior_scale)
        if model is None or len(state.items) > n_known:
            model = build(state, pairs)
            logp, at = objective(model, random_seed=1)
        else:
            set_day(model, state, pairs)
        # Whitened, the prior is standard normal, and z = 0 is yesterday's mean.
        z = climb(logp, np.zeros_like(at.data))
        precision = -_hessian(logp, z)
        factor = state.factor
        half = np.linalg.solve(np.linalg.cholesky(precision), factor.T)
        state = state._replace(mean=state.mean + factor @ z, covariance=half.T @ half)
        yield state


def _hessian(logp: Callable[[Floats], tuple[float, Floats]], z: Floats) -> Floats:
    """Compute second derivatives by central differences of gradients, where the scale is one."""
    steps = 1e-4 * np.eye(z.size)
    rows = np.array([(logp(z + step)[1] - logp(z - step)[1]) / 2e-4 for step in steps])
    return (rows + rows.T) / 2


def forecast(state: State, pairs: br.Pairs) -> float:
    """Compute the log score of future matches, at the mean of the state: higher is better."""
    state = with_items(state, pairs.items)
    p = on_axis(pairs, state.items)
    lead = state.mean[p.first] - state.mean[p.second] + state.mean[-2]
    weights = np.stack([lead / 2, -lead / 2, np.full(lead.size, state.mean[-1])], axis=1)
    log_p = weights - np.logaddexp.reduce(weights, axis=1, keepdims=True)
    return float((p.counts * log_p).sum())


# ---------------------------------------------------------------------------------------------
# A simulated season
# ---------------------------------------------------------------------------------------------


def simulate(
    n_items: int = 10,
    n_days: int = 60,
    n_matches: int = 40,
    *,
    drift: float = 0.1,
    order_effect: float = 0.3,
    nu: float = 0.6,
    seed: int = 1,
) -> tuple[list[br.Pairs], NDArray[np.float64]]:
    """Simulate a season; also return the utilities of each day (n_days, n_items)."""
    rng = np.random.default_rng(seed)
    nights = rng.normal(0, drift, (n_days, n_items)) if drift else np.zeros((n_days, n_items))
    utility = rng.normal(0, 1, n_items) + nights.cumsum(axis=0)
    names = np.array([f"item {i}" for i in range(n_items)])
    kinds = np.array(["first", "second", "tie"])
    first = rng.integers(n_items, size=(n_days, n_matches))
    second = (first + rng.integers(1, n_items, size=first.shape)) % n_items
    row = np.arange(n_days)[:, None]
    pair = np.stack([utility[row, first], utility[row, second]], axis=-1)
    outcomes = br.Davidson.dist(pair, nu=nu, order_effect=order_effect)
    result = pm.draw(outcomes, random_seed=rng).argmax(axis=-1)
    days = [
        br.Pairs.from_frame(
            pd.DataFrame({"first": names[one], "second": names[two], "outcome": kinds[k]}),
            first="first",
            second="second",
            outcome="outcome",
        )
        for one, two, k in zip(first, second, result, strict=True)
    ]
    return days, utility


def main() -> None:
    """Print the drift with the best forecasts, and the states of the item that moved most."""
    days, utility = simulate()
    best, found = -np.inf, []
    for drift in (0.0, 0.05, 0.1, 0.2, 0.4):
        states = list(follow(days, drift=drift))
        score = sum(map(forecast, states, days[1:]))
        print(f"drift {drift:.2f}: log score of the next days {score:.1f}")
        if score > best:
            best, found = score, states
    mover = int(np.abs(utility[-1] - utility[0]).argmax())
    print(f"\nitem {mover}, minus the mean of all items:\n day  true   mean    sd")
    for day in range(9, len(days), 10):
        state = found[day]
        n = len(state.items)
        contrast = (state.items == f"item {mover}") - 1 / n
        sd = np.sqrt(contrast @ state.covariance[:n, :n] @ contrast)
        true = utility[day, mover] - utility[day].mean()
        print(f"{day + 1:4} {true:5.2f}  {contrast @ state.mean[:n]:5.2f} {sd:5.2f}")


if __name__ == "__main__":
    main()
