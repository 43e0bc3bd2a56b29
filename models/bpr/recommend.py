"""Recommend items from the posterior of `models.bpr.model` or `.choice`, also to new users.

Results contain the draws, the items of each user, and the evidence weight of a pair.
"""

import warnings
from collections.abc import Callable, Hashable, Iterable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, log_expit, log_softmax, softmax

from bayesrank.inference import climb
from models.bpr.learn_bpr import FactorFit

__all__ = ["fold_in", "recommend", "recommend_new"]

Array = NDArray[Any]


def recommend(idata: Any, user: Hashable, k: int = 10) -> pd.DataFrame:
    """Recommend items that a user does not have.

    Parameters
    ----------
    idata : DataTree
        Results of `fit_map`, `fit_advi`, or `pm.sample` of a model from `build`.
    user : label
        The user.
    k : int
        Number of items, 1 or more.

    Returns
    -------
    DataFrame
        One row per item, best first by mean utility. The columns are ``utility``; ``top_k``, the
        probability that the item is among the k best of the user's new items; and ``preferred``,
        the probability that the user prefers it to another, random new item (NaN if there is no
        other). A mode is one draw: its ``top_k`` is 1.

    Raises
    ------
    ValueError
        If there is no such user, or k is not between 1 and the number of the user's new items.

    Warns
    -----
    UserWarning
        If the user has no items.

    Examples
    --------
    >>> import bayesrank as br
    >>> from models.bpr.model import fit_map
    >>> clicks = br.Rankings.from_orderings([[{"a", "b"}, {"c", "d"}], [{"b", "c"}, {"a", "d"}]])
    >>> mode = fit_map(br.Interactions.from_rankings(clicks), n_factors=2)
    >>> recommend(mode, 0, 1).index.tolist()
    ['c']
    """
    users = idata["posterior"]["user"].values
    at = np.flatnonzero(users == user)
    if not len(at):
        raise ValueError(
            f"Unknown user {user!r}: the users are {users[:5].tolist()}"
            f"{' and others' if len(users) > 5 else ''}. For a new user, use "
            f"recommend_new(idata, items)."
        )
    data = idata["constant_data"]
    start = data["known_start"].values
    known = data["known_item"].values[start[at[0]] : start[at[0] + 1]]
    if not len(known):
        warnings.warn(
            f"User {user!r} has no items: these are the most popular items.", stacklevel=2
        )
    fits = _draws(idata)
    utility = np.stack([fit.utility(at[0]) for fit in fits])
    return _best(idata, utility, known, k, f"user {user!r}")


def recommend_new(
    idata: Any, items: Iterable[Hashable], k: int = 10, *, seed: int = 1
) -> pd.DataFrame:
    """Recommend items to a new user, without fitting the model again.

    Parameters
    ----------
    idata : DataTree
        As in `recommend`.
    items : sequence of labels
        Items of the user.
    k : int
        Number of items to recommend, 1 or more.
    seed : int
        Random seed of the user's factors: see `fold_in`.

    Returns
    -------
    DataFrame
        The table of `recommend`.

    Raises
    ------
    ValueError
        If an item is unknown, there are none, the user has them all, or k is out of its range.

    Examples
    --------
    >>> import bayesrank as br
    >>> from models.bpr.model import fit_map
    >>> clicks = br.Rankings.from_orderings([[{"a", "b"}, {"c", "d"}], [{"b", "c"}, {"a", "d"}]])
    >>> mode = fit_map(br.Interactions.from_rankings(clicks), n_factors=2)
    >>> recommend_new(mode, ["a"], 1).index.tolist()
    ['b']
    """
    known = _positions(idata, items)
    W = fold_in(idata, items, seed=seed)
    fits = _draws(idata)
    utility = np.stack(
        [fit.item_factor @ w + fit.item_bias for fit, w in zip(fits, W, strict=True)]
    )
    return _best(idata, utility, known, k, "the new user")


def fold_in(idata: Any, items: Iterable[Hashable], *, seed: int = 1) -> NDArray[np.float64]:
    """Draw the factors of a new user.

    Given the factors of the items in a draw, the user's factors are the coefficients of a logistic
    regression of pairs or of choices. They are drawn from the normal approximation around its
    mode. A posterior of one draw is a mode, so the mode itself is returned.

    Parameters
    ----------
    idata : DataTree
        As in `recommend`.
    items : sequence of labels
        Items of the user.
    seed : int
        Random seed of the draws.

    Returns
    -------
    array, (n_draws, n_factors)

    Raises
    ------
    ValueError
        If an item is unknown, there are none, or the user has them all.
    """
    known = _positions(idata, items)
    data = idata["constant_data"]
    ridge = float(data["user_scale"]) ** -2
    weight = float(data["pair_weight"]) if "pair_weight" in data else None
    fits = _draws(idata)
    rng = np.random.default_rng(seed)
    found = np.empty((len(fits), fits[0].item_factor.shape[1]))
    for n, (_, H, b) in enumerate(fits):
        bend = partial(_choices, H, b, known) if weight is None else partial(
            _pairs, H, b, known, weight
        )  # fmt: skip

        def logp(w: Array, bend: Callable[[Array], Bend] = bend) -> Any:
            value, slope, _ = bend(w)
            return value - ridge * w @ w / 2, slope - ridge * w

        w = climb(logp, np.zeros(H.shape[1]))
        if len(fits) > 1:
            precision = bend(w)[2] + ridge * np.eye(len(w))
            w = w + np.linalg.solve(np.linalg.cholesky(precision).T, rng.normal(size=len(w)))
        found[n] = w
    return found


Bend = tuple[float, Array, Array]  # log-likelihood of a user's factors, slope, curvature


def _pairs(H: Array, b: Array, known: Array, weight: float, w: Array) -> Bend:
    """Pair each item that the user has with each other item, as in BPR."""
    had, other = H[known], np.delete(H, known, axis=0)
    lead = (b[known] + had @ w)[:, None] - np.delete(b, known) - other @ w
    g = expit(-lead)
    slope = weight * (g.sum(axis=1) @ had - g.sum(axis=0) @ other)
    s = weight * g * (1 - g)
    cross = had.T @ s @ other
    precision = (had.T * s.sum(axis=1)) @ had + (other.T * s.sum(axis=0)) @ other
    return weight * log_expit(lead).sum(), slope, precision - cross - cross.T


def _choices(H: Array, b: Array, known: Array, w: Array) -> Bend:
    """Treat each item that the user has as a choice among all items."""
    x, n = b + H @ w, len(known)
    share = softmax(x)
    mean = share @ H
    precision = n * ((H.T * share) @ H - np.outer(mean, mean))
    return log_softmax(x)[known].sum(), H[known].sum(axis=0) - n * mean, precision


def _draws(idata: Any) -> list[FactorFit]:
    """List the draws of all chains."""
    posterior = idata["posterior"]
    parts = [posterior[name].values for name in FactorFit._fields]
    flat = [x.reshape(-1, *x.shape[2:]) for x in parts]
    return [FactorFit(*draw) for draw in zip(*flat, strict=True)]


def _positions(idata: Any, items: Iterable[Hashable]) -> NDArray[np.int64]:
    axis = pd.Index(idata["posterior"]["item"].values)
    wanted = pd.Index(list(items)).unique()
    position = axis.get_indexer(wanted)
    if (position < 0).any():
        raise ValueError(
            f"Unknown item {wanted[position < 0][0]!r}: the items are {axis[:5].tolist()}"
            f"{' and others' if len(axis) > 5 else ''}."
        )
    if not 0 < len(wanted) < len(axis):
        raise ValueError(
            f"The new user has {len(wanted)} of {len(axis)} items. Without items, `item_bias` "
            f"gives the most popular ones; with all items, there is nothing to recommend."
        )
    return position.astype(np.int64)


def _best(idata: Any, utility: Array, known: Array, k: int, whom: str) -> pd.DataFrame:
    """Return the k best new items as a table, from utilities (n_draws, n_items)."""
    new = np.delete(np.arange(utility.shape[1]), known)
    if k % 1 or not 1 <= k <= len(new):
        raise ValueError(
            f"`k` is {k}, but {whom} has all but {len(new)} of {utility.shape[1]} items: "
            f"k must be between 1 and {len(new)}."
        )
    x = utility[:, new]
    chosen = np.argsort(-x.mean(axis=0), kind="stable")[:k]
    kth = -np.partition(-x, k - 1, axis=1)[:, k - 1 : k]
    # one item at a time: all pairs at once would need draws times k times items numbers
    ahead = [expit(x[:, [i]] - x).sum(axis=1).mean() - 0.5 for i in chosen]
    return pd.DataFrame(
        {
            "utility": x.mean(axis=0)[chosen],
            "top_k": (x[:, chosen] >= kth).mean(axis=0),
            "preferred": np.array(ahead) / (len(new) - 1) if len(new) > 1 else np.nan,
        },
        index=pd.Index(idata["posterior"]["item"].values[new[chosen]], name="item"),
    )
