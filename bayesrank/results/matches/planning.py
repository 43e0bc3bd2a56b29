r"""Which matches to play next, and how many more a whole board needs, read off a posterior.

**Which.** What is asked is who belongs to the best k items. Let :math:`T_i` say whether item i does
and Y be the outcome of a match of two items. What the match is expected to tell is the mutual
information, summed over items, in nats:

.. math:: \text{gain} = \sum_i I(Y; T_i)
          = \sum_i \bigl[ \mathrm{H}(T_i) - \mathrm{E}_Y \, \mathrm{H}(T_i \mid Y) \bigr]

All of it is made of averages over draws. In a batch, a match is worth what it tells beyond the
matches already chosen, whose outcomes are simulated in some of the draws, which weigh all others.

**How many.** In the normal approximation of the posterior, with covariance C, N more matches add
their expected information J, a weighted Laplacian of the graph of those who meet. The mean then
moves by a normal with covariance :math:`C - C'`, and the covariance shrinks to
:math:`C' = (C^{-1} + J)^{-1}`. `tied_with_leader` is applied to each simulated future.
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

DRAWS = 2000  # that averages are over
FUTURES = 32  # simulated outcomes of the matches of a batch that are chosen already
BLOCK = 2**22  # numbers at a time
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
    """Choose the matches that soonest tell which items are the best.

    Parameters
    ----------
    data, var, nu, dim
        As in `match_probability`.
    n : int
        Number of matches to choose, 1 or more. The same two items may meet more than once.
    top : int
        The best k items are sought: 1 for the leader alone; fewer than all items.
    cost : DataFrame, DataArray, dict of dicts or array, shape (n_items, n_items), optional
        Cost of a match of the two items, positive and symmetric; the diagonal is ignored. All but
        an array are read by the labels of the items. By default all cost the
        same. Matches are chosen by gain per cost.
    random_seed : int, optional
        Seed of the simulated outcomes of the chosen matches.

    Returns
    -------
    DataFrame
        One row per match, in the order of choice: item, item_other, ``gain`` (nats, beyond the
        matches above it), ``doubt`` (nats, of all before any of them, the same in all rows), and
        ``p_better``, the probability that `item` is the better one.

    Raises
    ------
    ValueError
        If `n` or `top` are out of range, costs are not positive or not symmetric, or the posterior
        is not as `match_probability` needs it.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> draws = xr.DataArray(rng.normal([2.0, 1.5, 1.4, -2.0], 0.3, (1, 2000, 4)),
    ...                      dims=("chain", "draw", "item"), coords={"item": list("abcd")})
    >>> next_matches(draws, 1, top=2)[["item", "item_other"]].values.tolist()
    [['b', 'c']]
    """
    check_whole(n=n)
    posterior, labels = matches_of(data, var, nu, dim)
    n_items, n_draws = posterior.utility.shape
    (k,) = check_tops(top)
    if k >= n_items:
        raise ValueError(f"`top` is {k}; of {n_items} items fewer than {n_items} can be sought.")
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
        # threads make hundreds of small products far slower
        with threadpool_limits(1, "blas"):
            gain = _gains(draws, member, weight, one, other)
        best = int((gain / price).argmax())
        i, j = int(one[best]), int(other[best])
        p_better = float((posterior.utility[i] > posterior.utility[j]).mean())
        if p_better < 0.5:
            i, j, p_better = j, i, 1 - p_better
        rows.append((labels[i], labels[j], float(gain[best]), doubt, p_better))
        # what it may say, in every future, and what that makes of the draws
        p = draws.outcomes(i, j)
        result = (rng.random((FUTURES, 1)) > p[truth].cumsum(1)[:, :-1]).sum(1)
        log_weight += np.log(np.maximum(p[:, result].T, np.finfo(float).tiny))
        weight = np.exp(log_weight - log_weight.max(1, keepdims=True))
        weight /= weight.sum(1, keepdims=True)
    return pd.DataFrame(rows, columns=[dim, f"{dim}_other", "gain", "doubt", "p_better"])


def _prices(cost: ArrayLike | pd.DataFrame | Mapping[Any, Any] | None, labels: Any) -> Floats:
    """Cost of a match of every two items, (n_items, n_items)."""
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
                    f"it is {given.tolist()}."
                )
        frame = frame.loc[list(labels), list(labels)]
    found = np.asarray(frame, dtype=np.float64)
    if found.shape != (n_items, n_items):
        raise ValueError(f"`cost` has the shape {found.shape}; it must be {(n_items, n_items)}.")
    i, j = np.triu_indices(n_items, 1)
    if not ((found[i, j] > 0) & np.isfinite(found[i, j])).all():
        raise ValueError("`cost` must be positive and finite for every two items.")
    odd = np.flatnonzero(~np.isclose(found[i, j], found[j, i]))
    if len(odd):
        i, j = i[odd[0]], j[odd[0]]
        raise ValueError(
            f"`cost` must be symmetric: a match of {i} and {j} costs {found[i, j]:g}, and of {j} "
            f"and {i} {found[j, i]:g}."
        )
    return found


def _some(draws: Matches, kept: NDArray[np.intp]) -> Matches:
    """Take some of the draws."""
    nu = None if draws.nu is None else draws.nu[kept]
    effect = draws.effect if draws.effect.shape[1] == 1 else draws.effect[:, kept]
    return Matches(draws.utility[:, kept], nu, effect)


def _gains(draws: Matches, member: Floats, weight: Floats, one: Any, other: Any) -> Floats:
    """Return the expected gain of a match of every pair, (n_pairs,), over the futures."""
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
            # of rounding, which makes a probability of zero negative
            rest = np.maximum(overall - joint, 0.0)
            information += rel_entr(rest, (1 - share[:, None]) * overall)
            out[pairs] += information.sum(0).reshape(-1, n_outcomes).sum(1)
    return np.maximum(out, 0.0) / len(weight)


@dataclass(frozen=True)
class Settling:
    """How many more matches would settle who leads.

    Attributes
    ----------
    matches : float
        The least number of those asked for with which the set tied with the leader has at most
        `at_most` members with probability `power` or more: 0 if it has now, infinite if none does.
    now : int
        Members of that set now, the leader included.
    table : DataFrame
        Indexed by the number of matches: p_settled, and members, the mean size of the set.
    """

    matches: float
    now: int
    table: pd.DataFrame
    at_most: int
    power: float
    prob: float

    def __str__(self) -> str:
        asked = "alone" if self.at_most == 1 else f"with at most {self.at_most - 1} beside it"
        few = f"tied with {self.now - 1} others" if self.now > 2 else "tied with one other"
        now = f"The leader is {'alone' if self.now == 1 else few} now"
        if self.matches == 0:
            return f"{now}: no more matches are needed."
        if np.isinf(self.matches):
            last = self.table.iloc[-1]
            return (
                f"{now}. Not even {self.table.index[-1]:,} more matches are likely to leave it "
                f"{asked}: they do with probability {last['p_settled']:.2f}, and leave "
                f"{last['members']:.1f} on the average."
            )
        row = self.table.loc[self.matches]
        return (
            f"{now}. About {int(self.matches):,} more matches would leave it {asked} with "
            f"probability {row['p_settled']:.2f}."
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
    """Estimate how many more matches the board needs until few are tied with the leader.

    Parameters
    ----------
    data, var, nu, dim
        As in `match_probability`.
    at_most : int
        Members of the set tied with the leader, itself included, that are wanted; 1 or more.
    among : {"all", "tied"}
        Who meets, all pairs equally often: all items, or those that are tied with the leader now.
    at : sequence of int
        Total numbers of matches to try, ascending, 1 or more.
    prob : float
        As in `tied_with_leader`, in (0.5, 1).
    power : float
        With which probability the set is to be so small, in (0, 1).
    random_seed : int, optional
        Seed of the simulated futures.

    Raises
    ------
    ValueError
        If `at_most`, `among`, `at`, `prob` or `power` are out of range, or the posterior is not as
        `match_probability` wants it.

    Notes
    -----
    A plan, not a promise: the posterior is taken as normal, and matches as judged by a typical
    judge of adherence one. 200 futures, so that probabilities have an error of 0.035 at most.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> draws = xr.DataArray(rng.normal([1.0, 0.6, -1.0], 0.3, (1, 2000, 3)),
    ...                      dims=("chain", "draw", "item"), coords={"item": list("abc")})
    >>> print(matches_to_settle(draws))
    The leader is tied with one other now. About 2,000 more matches would leave it alone with ...
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
    # while the set is as small as wanted, whoever meets
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
    """Return the expected information of a match of two of `meet`, (n_items, n_items)."""
    out = np.zeros((len(draws.utility), len(draws.utility)))
    n_pairs = len(meet) * (len(meet) - 1) / 2
    for a, i in enumerate(meet[:-1]):
        others = meet[a + 1 :]
        p = draws.outcomes(i, others)
        win, loss = p[..., 0], p[..., -1]
        # the variance of the score by the lead; without ties a win is one half more or less, too
        information = ((win + loss) - (win - loss) ** 2).mean(1) / 4 / n_pairs
        out[i, others] -= information
        out[others, i] -= information
        out[i, i] += information.sum()
        out[others, others] += information
    return out


class _Futures:
    """The posterior after more matches, as a normal, in coordinates in which both are diagonal."""

    futures = 200
    draws = 1000

    def __init__(self, draws: Floats, information: Floats, random_seed: int | None) -> None:
        self.mean = draws.mean(0)
        values, vectors = np.linalg.eigh(np.cov(draws, rowvar=False))
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        self.information, turn = np.linalg.eigh(root.T @ information @ root)
        self.information = np.maximum(self.information, 0.0)
        root = root @ turn  # the covariance is root @ root.T
        # the sign of an eigenvector is the library's choice; futures must not depend on it
        self.root = root * np.where(np.arange(1, len(root) + 1) @ root < 0, -1.0, 1.0)
        rng = np.random.default_rng(random_seed)
        # the same for every number of matches, so that the table is smooth
        self.moves = rng.normal(size=(self.futures, len(self.mean)))
        self.noise = rng.normal(size=(self.draws, len(self.mean)))

    def tied_after(self, matches: int, prob: float) -> NDArray[np.int64]:
        """Size of the set tied with the leader, in every future."""
        # the share of the variance that the matches take away
        known = matches * self.information / (1 + matches * self.information)
        spread = (self.noise * np.sqrt(1 - known)) @ self.root.T
        sizes = np.empty(self.futures, dtype=np.int64)
        for k, move in enumerate(self.moves):
            draws = self.mean + self.root @ (move * np.sqrt(known)) + spread
            # by mean utility: of a normal, its order is that of mean ranks but for a hair
            sizes[k] = find_leader(draws, -draws.mean(0), prob).tied.sum()
        return sizes
