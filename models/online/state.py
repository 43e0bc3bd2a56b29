"""Summarise the posterior between days of matches by a normal (see `models.online.model`).

>>> state = start(["a", "b"])
>>> [round(float(x), 2) for x in drifted(state, 1.0).covariance.diagonal()]
[1.5, 1.5, 0.25, 1.0]
"""

from collections.abc import Hashable, Iterable
from typing import NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from models.shared.item_features import check_scales

OTHERS = ("order_effect", "log_nu")  # entries after the utilities


class State(NamedTuple):
    """A normal distribution of the utilities of all items, the order effect and log nu."""

    items: pd.Index
    mean: NDArray[np.float64]  # (n_items + 2,)
    covariance: NDArray[np.float64]  # (n_items + 2, n_items + 2)

    @property
    def factor(self) -> NDArray[np.float64]:
        """The lower Cholesky factor of the covariance."""
        return np.linalg.cholesky(self.covariance)

    def draws(self, n: int = 1000, *, seed: int = 1) -> xr.Dataset:
        """Draw ``utility``, ``order_effect`` and ``nu``, with the dims of a posterior."""
        noise = np.random.default_rng(seed).normal(size=(n, self.mean.size))
        x = self.mean + noise @ self.factor.T
        utility = xr.DataArray(
            x[None, :, :-2], dims=("chain", "draw", "item"), coords={"item": self.items.to_numpy()}
        )
        others = {"order_effect": x[:, -2], "nu": np.exp(x[:, -1])}
        return xr.Dataset(
            {"utility": utility} | {k: (("chain", "draw"), v[None]) for k, v in others.items()}
        )


def start(
    items: Iterable[Hashable], *, prior_scale: float = 1.0, order_scale: float = 0.5
) -> State:
    """Return the prior: utilities are Normal(0, prior_scale), and log nu is Normal(0, 1).

    Examples
    --------
    >>> start(["a", "b"], prior_scale=2.0).covariance.diagonal()
    array([4.  , 4.  , 0.25, 1.  ])
    """
    check_scales(prior_scale=prior_scale, order_scale=order_scale)
    axis = pd.Index(list(items))
    variance = np.append(np.full(len(axis), prior_scale**2), [order_scale**2, 1.0])
    return State(axis, np.zeros(len(axis) + 2), np.diag(variance))


def by_category(
    items: Iterable[Hashable],
    categories: Iterable[Hashable],
    *,
    prior_scale: float = 1.0,
    spread: float = 0.5,
    order_scale: float = 0.5,
) -> State:
    """Return a prior of items in categories, in which the utilities of an item are correlated.

    The utility of a cell is the utility of its item, Normal(0, prior_scale), plus
    Normal(0, spread). The items of the state are the cells, called "item / category". The items of
    the pairs need the same names.

    Examples
    --------
    >>> by_category("ab", ["maths", "prose"]).covariance[:2, :2]
    array([[1.25, 1.  ],
           [1.  , 1.25]])
    """
    check_scales(spread=spread)
    items, categories = list(items), list(categories)
    cells = [f"{item} / {category}" for item in items for category in categories]
    state = start(cells, prior_scale=prior_scale, order_scale=order_scale)
    n = len(cells)
    state.covariance[:n, :n] = prior_scale**2 * np.kron(
        np.eye(len(items)), np.ones((len(categories), len(categories)))
    ) + spread**2 * np.eye(n)
    return state


def with_items(state: State, new: Iterable[Hashable], *, prior_scale: float = 1.0) -> State:
    """Append new items with their prior to the state.

    Examples
    --------
    >>> with_items(start(["a", "c"]), ["b", "c"]).items.tolist()
    ['a', 'c', 'b']
    """
    fresh = pd.Index(list(new)).difference(state.items, sort=False)
    if not len(fresh):
        return state
    n, more = len(state.items), len(fresh)
    place = np.r_[:n, n + more, n + more + 1]  # the other two entries stay last
    mean, covariance = np.zeros(n + more + 2), np.zeros((n + more + 2,) * 2)
    mean[place] = state.mean
    covariance[np.ix_(place, place)] = state.covariance
    covariance[range(n, n + more), range(n, n + more)] = prior_scale**2
    return State(state.items.append(fresh), mean, covariance)


def drifted(state: State, drift: float) -> State:
    """Add a step of standard deviation `drift` to each item, minus the mean of the steps."""
    n = len(state.items)
    covariance = state.covariance.copy()
    covariance[:n, :n] += drift**2 * (np.eye(n) - 1 / n)
    return state._replace(covariance=covariance)


def from_draws(posterior: xr.DataTree) -> State:
    """Return the normal distribution with the mean and the covariance of posterior draws.

    Use many more draws than items, because their noise enters tomorrow's prior.
    """
    draws = posterior["posterior"].to_dataset()
    utility = draws["utility"].transpose("chain", "draw", "item")
    x = utility.to_numpy().reshape(-1, utility.sizes["item"])
    others = [draws["order_effect"].to_numpy().ravel(), np.log(draws["nu"].to_numpy().ravel())]
    x = np.column_stack([x, *others])
    return State(pd.Index(utility["item"].to_numpy()), x.mean(axis=0), np.cov(x.T))
