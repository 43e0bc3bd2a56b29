r"""Plan matches from a posterior: which to play next, and how many more the leaderboard needs.

**Which.** The question is which items belong to the best k. Let :math:`T_i` indicate whether item i
does, and let Y be the outcome of a match of two items. The expected gain of the match is the
mutual information, summed over items, in nats:

.. math:: \text{gain} = \sum_i I(Y; T_i)
          = \sum_i \bigl[ \mathrm{H}(T_i) - \mathrm{E}_Y \, \mathrm{H}(T_i \mid Y) \bigr]

It is computed from averages over draws. In a batch, the gain of a match is conditional on the
matches already chosen. Their outcomes are simulated from some of the draws, and reweight all draws.

**How many.** The posterior is approximated by a normal distribution with covariance C. More matches
add their expected information J, a weighted Laplacian of the graph of matches. The covariance
shrinks to :math:`C' = (C^{-1} + J)^{-1}`, and the mean moves by a normal vector with covariance
:math:`C - C'`. `tied_with_leader` is applied to each simulated future.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr, rel_entr
from threadpoolctl import threadpool_limits

from bayesrank.results.draws import check_probability, check_tops, check_whole, ranks_of
from bayesrank.results.matches.separation import (
    Matches,
    check_numbers,
    least_enough,
    matches_of,
)
from bayesrank.results.ranks.rank_table import find_leader

__all__ = ["Settling", "matches_to_settle", "next_matches"]

DRAWS = 2000  # most draws to average over
FUTURES = 32  # simulated outcomes of the matches already chosen in a batch
BLOCK = 2**22  # numbers in a block
AT = (100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000)

Floats = NDArray[np.float64]


def next_matches(
    data: Any,
    n: int = 10,
    *,
    top: int = 1,
    cost: ArrayLike | pd.DataFrame | Mapping[Any, Any] | None = None,
    var: str = "utility",
    nu: str = "nu",
    dim: str = "item",
    random_seed: int | None = None,
) -> pd.DataFrame:
    """Choose the most informative matches for finding the best items.

    Parameters
    ----------
    data, var, nu, dim
        As in `match_probability`.
    n : int
        Number of matches to choose, 1 or more. The same two items may meet more than once.
    top : int
        Number of best items to find: 1 for only the leader; fewer than all items.
    cost : DataFrame, DataArray, dict of dicts or array, shape (n_items, n_items), optional
        Cost of a match of two items, positive and symmetric; the diagonal is ignored. Labelled
        costs are matched with the items by label. By default all matches cost the same. Matches are
        chosen by gain per cost.
    random_seed : int, optional
        Random seed of the simulated outcomes.

    Returns
    -------
    DataFrame
        One row per match, in the order of choice, with the columns item and item_other. ``gain`` is
        the expected gain in nats, given the matches above. ``doubt`` is the total uncertainty in
        nats before any of them, the same in all rows. ``p_better`` is the probability that `item`
        is better than `item_other`.

    Raises
    ------
    ValueError
        As `match_probability`; if `n` or `top` are out of range, or costs are not positive and
        symmetric.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> draws = xr.DataArray(rng.normal([2.0, 1.5, 1.4, -2.0], 0.3, (1, 2000, 4)),
    ...                      dims=("chain", "draw", "item"), coords={"item": list("abcd")})
    >>> next_matches(draws, 1, top=2, random_seed=0)[["item", "item_other"]].values.tolist()
    [['b', 'c']]
    """
    check_whole(n=n)
    posterior, labels = matches_of(data, var, nu, dim)
    n_items, n_draws = posterior.utility.shape
    (k,) = check_tops(top)
    if k >= n_items:
        raise ValueError(f"`top` is {k}; it must be less than the number of items, {n_items}.")
    one, other = np.triu_indices(n_items, 1)
    price = _prices(cost, labels)[one, other]

    kept = np.unique(np.linspace(0, n_draws - 1, min(n_draws, DRAWS)).astype(int))
    draws = _some(posterior, kept)
    member = (ranks_of(draws.utility.T) <= k).astype(np.float64)  # (n_draws, n_items)
    unsure = (member.mean(0) > 0) & (member.mean(0) < 1)
    member = member[:, unsure]
    doubt = float((entr(member.mean(0)) + entr(1 - member.mean(0))).sum())

    rng = np.random.default_rng(random_seed)
    weight = np.full((1, len(kept)), 1 / len(kept))  # (n_futures, n_draws)
    truth = rng.integers(len(kept), size=FUTURES)
    log_weight = np.zeros((FUTURES, len(kept)))
    rows = []
    for _ in range(n):
        # with threads, hundreds of small products are much slower
        with threadpool_limits(1, "blas"):
            gain = _gains(draws, member, weight, one, other)
        best = int((gain / price).argmax())
        i, j = int(one[best]), int(other[best])
        p_better = float((posterior.utility[i] > posterior.utility[j]).mean())
        if p_better < 0.5:
            i, j, p_better = j, i, 1 - p_better
        rows.append((labels[i], labels[j], float(gain[best]), doubt, p_better))
        # simulate its outcome in every future, and reweight the draws
        p = draws.outcomes(i, j)
        result = (rng.random((FUTURES, 1)) > p[truth].cumsum(1)[:, :-1]).sum(1)
        log_weight += np.log(np.maximum(p[:, result].T, np.finfo(float).tiny))
        weight = np.exp(log_weight - log_weight.max(1, keepdims=True))
        weight /= weight.sum(1, keepdims=True)
    return pd.DataFrame(rows, columns=[dim, f"{dim}_other", "gain", "doubt", "p_better"])


def _prices(cost: ArrayLike | pd.DataFrame | Mapping[Any, Any] | None, labels: Any) -> Floats:
    """Return the cost of a match of every two items, (n_items, n_items)."""
    n_items = len(labels)
    if cost is None:
        return np.ones((n_items, n_items))
    frame = cost.to_pandas() if isinstance(cost, xr.DataArray) else cost
    frame = pd.DataFrame(cost).T if isinstance(cost, Mapping) else frame
    if isinstance(frame, pd.DataFrame):
        for side, given in (("index", frame.index), ("columns", frame.columns)):
            if len(given) != n_items or {*given} != {*labels}:
                raise ValueError(
                    f"The {side} of `cost` must be the labels of the {n_items} items, each once; "
                    f"got {given.tolist()}."
                )
        frame = frame.loc[list(labels), list(labels)]
    found = np.asarray(frame, dtype=np.float64)
    if found.shape != (n_items, n_items):
        raise ValueError(f"`cost` has shape {found.shape}; it must be {(n_items, n_items)}.")
    i, j = np.triu_indices(n_items, 1)
    if not ((found[i, j] > 0) & np.isfinite(found[i, j])).all():
        raise ValueError("`cost` must be positive and finite for every two items.")
    odd = np.flatnonzero(~np.isclose(found[i, j], found[j, i]))
    if len(odd):
        i, j = i[odd[0]], j[odd[0]]
        raise ValueError(
            f"`cost` must be symmetric: row {i}, column {j} contains {found[i, j]:g}, but row {j}, "
            f"column {i} contains {found[j, i]:g}."
        )
    return found


def _some(draws: Matches, kept: NDArray[np.intp]) -> Matches:
    """Select draws."""
    nu = None if draws.nu is None else draws.nu[kept]
    effect = draws.effect if draws.effect.shape[1] == 1 else draws.effect[:, kept]
    return Matches(draws.utility[:, kept], nu, effect)


def _gains(draws: Matches, member: Floats, weight: Floats, one: Any, other: Any) -> Floats:
    """Compute the expected gain of a match of every pair, (n_pairs,), over the futures."""
    n_draws, n_unsure = member.shape
    out = np.zeros(len(one))
    if not n_unsure:
        return out
    n_outcomes = 2 if draws.nu is None else 3
    step = max(1, BLOCK // (n_draws * n_outcomes))
    inside = [(w @ member, w[:, None] * member) for w in weight]
    for start in range(0, len(one), step):
        pairs = slice(start, start + step)
        p = draws.outcomes(one[pairs], other[pairs])
        p = p.transpose(1, 0, 2).reshape(n_draws, -1)  # (n_draws, n_pairs * n_outcomes)
        for w, (share, weighted) in zip(weight, inside, strict=True):
            overall = w @ p
            joint = weighted.T @ p  # P(outcome, the item is among the best)
            information = rel_entr(joint, share[:, None] * overall)
            # rounding can make a probability of zero negative
            rest = np.maximum(overall - joint, 0.0)
            information += rel_entr(rest, (1 - share[:, None]) * overall)
            out[pairs] += information.sum(0).reshape(-1, n_outcomes).sum(1)
    return np.maximum(out, 0.0) / len(weight)


@dataclass(frozen=True)
class Settling:
    """How many more matches would settle which item leads.

    Attributes
    ----------
    matches : float
        The smallest number of matches in `at` with which at most `at_most` items are tied for the
        lead, with probability `power` or more. It is 0 if this is true now, infinite if no number
        suffices.
    now : int
        Number of items tied for the lead now, including the leader.
    table : DataFrame
        Indexed by the number of matches. Its columns are p_settled, and members, the mean number
        of items tied for the lead.
    """

    matches: float
    now: int
    table: pd.DataFrame
    at_most: int
    power: float
    prob: float

    def __str__(self) -> str:
        goal = "no other item" if self.at_most == 1 else f"at most {self.at_most - 1} other items"
        goal = "at most one other item" if self.at_most == 2 else goal
        others = "one other item" if self.now == 2 else f"{self.now - 1} other items"
        now = f"The leader is tied with {others} now"
        if self.now == 1:
            now = "No other item is tied with the leader now"
        if self.matches == 0:
            return f"{now}; no more matches are needed."
        if np.isinf(self.matches):
            last = self.table.iloc[-1]
            return (
                f"{now}. Even with {self.table.index[-1]:,} more matches, it would be tied with "
                f"{goal} only with probability {last['p_settled']:.2f}. On average, "
                f"{last['members']:.1f} items would be tied for the lead."
            )
        row = self.table.loc[self.matches]
        return (
            f"{now}. After about {int(self.matches):,} more matches, it would be tied with {goal} "
            f"with probability {row['p_settled']:.2f}."
        )


def matches_to_settle(
    data: Any,
    *,
    at_most: int = 1,
    among: Literal["all", "tied"] = "all",
    at: Sequence[int] = AT,
    prob: float = 0.95,
    power: float = 0.8,
    var: str = "utility",
    nu: str = "nu",
    dim: str = "item",
    random_seed: int | None = None,
) -> Settling:
    """Estimate how many more matches are needed until few items are tied with the leader.

    Parameters
    ----------
    data, var, nu, dim
        As in `match_probability`.
    at_most : int
        Largest number of items tied for the lead that settles it, including the leader; 1 or more.
    among : {"all", "tied"}
        Items that play: all items, or only those tied with the leader now. All pairs of them play
        equally often.
    at : sequence of int
        Total numbers of matches to try, ascending, 1 or more.
    prob : float
        As in `tied_with_leader`, in (0.5, 1).
    power : float
        Probability with which the lead must be settled, in (0, 1).
    random_seed : int, optional
        Random seed of the simulated futures.

    Raises
    ------
    ValueError
        As `match_probability`; if `at_most`, `among`, `at`, `prob` or `power` are out of range.

    Notes
    -----
    This is a projection. It approximates the posterior by a normal distribution, and assumes a
    typical judge with adherence one. It simulates 200 futures, so probabilities have a standard
    error of at most 0.035.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> draws = xr.DataArray(rng.normal([1.0, 0.6, -1.0], 0.3, (1, 2000, 3)),
    ...                      dims=("chain", "draw", "item"), coords={"item": list("abc")})
    >>> print(matches_to_settle(draws, random_seed=0))
    The leader is tied with one other item now. After about 2,000 more matches, it would be ...
    """
    check_probability("prob", prob, 0.5)
    check_probability("power", power, 0.0)
    check_whole(at_most=at_most)
    if among not in ("all", "tied"):
        raise ValueError(f"`among` is {among!r}; it must be 'all' or 'tied'.")
    numbers = check_numbers(at)
    posterior, labels = matches_of(data, var, nu, dim)
    draws = (posterior.utility - posterior.utility.mean(0)).T
    tied = find_leader(draws, ranks_of(draws).mean(0), prob).tied
    now = int(tied.sum())
    # a single tied item has no opponents, so all items play
    meet = np.flatnonzero(tied) if among == "tied" and now > 1 else np.arange(len(labels))
    future = _Futures(draws, _information(posterior, meet), random_seed)
    rows = []
    for m in numbers:
        sizes = future.tied_after(m, prob)
        rows.append(((sizes <= at_most).mean(), sizes.mean()))
    index = pd.Index(numbers, name="matches")
    table = pd.DataFrame(rows, columns=["p_settled", "members"], index=index)
    matches = 0.0 if now <= at_most else least_enough(table["p_settled"], power)
    return Settling(matches, now, table, at_most, power, prob)


def _information(draws: Matches, meet: Any) -> Floats:
    """Compute the expected information of a match among the items `meet`, (n_items, n_items)."""
    out = np.zeros((len(draws.utility), len(draws.utility)))
    n_pairs = len(meet) * (len(meet) - 1) / 2
    for a, i in enumerate(meet[:-1]):
        others = meet[a + 1 :]
        p = draws.outcomes(i, others)
        win, loss = p[..., 0], p[..., -1]
        # variance of the score with respect to the lead: a win changes the log odds by one half
        information = ((win + loss) - (win - loss) ** 2).mean(1) / 4 / n_pairs
        out[i, others] -= information
        out[others, i] -= information
        out[i, i] += information.sum()
        out[others, others] += information
    return out


class _Futures:
    """Normal posterior after more matches, in coordinates in which the covariances are diagonal."""

    futures = 200
    draws = 1000

    def __init__(self, draws: Floats, information: Floats, random_seed: int | None) -> None:
        self.mean = draws.mean(0)
        values, vectors = np.linalg.eigh(np.cov(draws, rowvar=False))
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        self.information, turn = np.linalg.eigh(root.T @ information @ root)
        self.information = np.maximum(self.information, 0.0)
        root = root @ turn  # the covariance is root @ root.T
        # fix the sign of eigenvectors, which is arbitrary, so that futures do not depend on it
        self.root = root * np.where(np.arange(1, len(root) + 1) @ root < 0, -1.0, 1.0)
        rng = np.random.default_rng(random_seed)
        # the same random numbers for every number of matches, so that the table is smooth
        self.moves = rng.normal(size=(self.futures, len(self.mean)))
        self.noise = rng.normal(size=(self.draws, len(self.mean)))

    def tied_after(self, matches: int, prob: float) -> NDArray[np.int64]:
        """Count the items tied for the lead in every future."""
        # share of the variance that the matches remove
        known = matches * self.information / (1 + matches * self.information)
        spread = (self.noise * np.sqrt(1 - known)) @ self.root.T
        sizes = np.empty(self.futures, dtype=np.int64)
        for k, move in enumerate(self.moves):
            draws = self.mean + self.root @ (move * np.sqrt(known)) + spread
            # sorted by mean utility, which for a normal posterior nearly equals the mean rank order
            sizes[k] = find_leader(draws, -draws.mean(0), prob).tied.sum()
        return sizes
