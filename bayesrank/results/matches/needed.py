r"""Estimate how many more matches or rankings would show which item is better.

Those for matches use quasi-random numbers (scrambled Sobol points), the same for every number of
matches. So the probabilities are smooth in it, and nearly the same for every seed.

**Two items.** Suppose draw t of the posterior is the truth, and simulate n more matches. Each draw
s then gets as weight the probability of the simulated counts in s. The weighted share of draws in
which one item is better is the new probability that it is better. Two items are *separated* if that
probability is at least 0.95 or at most 0.05. The share of truths t with this result estimates the
probability that n matches separate them. The only approximation is the finite number of draws.

**The lead.** The posterior is approximated by a normal distribution with covariance C. More matches
add their expected information J, a weighted Laplacian of the graph of matches. The covariance
shrinks to :math:`C' = (C^{-1} + J)^{-1}`, and the mean moves by a normal vector with covariance
:math:`C - C'`. `tied_with_leader` is applied to each simulated future.

**More rankings.** If future rankings are like those so far, each adds the same information about
the difference of two items on average. So the precision of the normal posterior grows in
proportion, and the probability that it separates them has a closed form.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import binom, norm
from scipy.stats.qmc import Sobol

from bayesrank.data.read import check_whole
from bayesrank.results.draws import check_probability, places_of, single_group
from bayesrank.results.matches.outcomes import Matches, matches_of
from bayesrank.results.ranks.rank_table import find_behind, find_status

__all__ = ["MatchesNeeded", "matches_needed", "rankings_needed"]

PAIR_AT = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
LEAD_AT = (100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000)
SIMULATIONS = 2**11  # simulated results of the matches of two items
ROWS = 32  # tables of counts in a block, whose weights fit in the cache
FEW = 20.0
"""With fewer effective draws behind a typical entry, the table is called rough."""

TINY = np.finfo(float).tiny
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class MatchesNeeded:
    """The number of further matches that would answer a question; `str()` puts it into words.

    From `rankings_needed`, they are further rankings.

    Attributes
    ----------
    matches : float
        The number of matches that settles the question with probability `power`. It is interpolated
        between the numbers in `at`, on a logarithmic scale, and rounded up to two digits. It is the
        first of them if that suffices, 0 if the question is settled now, and infinite if no number
        suffices.
    table : DataFrame
        Indexed by the number of matches. For two items, ``p_separated`` is the probability that
        these matches separate them, and ``p_right`` that they also find the better item.
        ``effective_draws`` is the number of effective draws behind a typical entry of the row. For
        the lead, ``p_settled`` is the probability that few items are tied, and ``members`` the mean
        number of tied items.
    prob, power : float
        The values that were given.
    p_better : float or None
        For two items, the probability now that the first is better than the second.
    now : int or None
        The number of items that are tied for the lead now, including the leader.
    """

    matches: float
    table: pd.DataFrame
    prob: float
    power: float
    sentence: str
    p_better: float | None = None
    now: int | None = None

    def __str__(self) -> str:
        return self.sentence


def matches_needed(
    data: Any,
    var_name: str = "utility",
    *,
    between: tuple[Hashable, Hashable] | None = None,
    at_most: int = 1,
    among: Literal["all", "tied"] | Sequence[Hashable] = "all",
    at: Sequence[int] | None = None,
    prob: float = 0.95,
    power: float = 0.8,
    nu: str = "nu",
    dim: str = "item",
    random_seed: int | None = None,
) -> MatchesNeeded:
    """Estimate how many more matches would separate two items, or the leader from the others.

    Parameters
    ----------
    data, var_name, nu, dim
        As in `match_probability`.
    between : tuple of two labels, optional
        Two items that play each other: how many matches show which one is better? By default the
        question is how many matches show which item leads.
    at_most : int
        Largest number of items tied for the lead that settles it, including the leader; 1 or more.
        Not with `between`.
    among : {"all", "tied"} or sequence of labels
        Items that play for the lead: all items, only those tied with the leader now, or two or more
        named ones. All pairs of them play equally often. Not with `between`.
    at : sequence of int, optional
        Total numbers of matches to try, ascending, 1 or more; the result is interpolated between
        them. By default 10 to 10,000 for two items and 100 to 100,000 for the lead.
    prob : float
        Two items are separated if one of them is better with at least this probability. For the
        lead, the probability of `tied_with_leader`. In (0.5, 1).
    power : float
        Probability with which the question must be settled, in (0, 1).
    random_seed : int, optional
        Random seed of the simulated matches.

    Raises
    ------
    ValueError
        For the reasons of `match_probability`, or if an item of `between` does not exist, or its
        two items are the same. If `at_most`, `among`, `at`, `prob` or `power` are out of range, or
        do not apply.

    See Also
    --------
    next_matches, match_probability

    Notes
    -----
    Matches of two items are simulated 2,048 times in draws that are evenly spaced in the difference
    of the items. If n matches are much more informative than all data so far, few draws carry the
    weight; see the column effective_draws.

    For the lead, the result is a projection. It approximates the posterior by a normal
    distribution, and assumes a typical judge with adherence one. It simulates 1,024 futures.

    With other seeds, probabilities vary with a standard deviation of at most 0.005 for two items,
    and 0.02 for the lead.

    Examples
    --------
    >>> import numpy as np
    >>> import bayesrank as br
    >>> import xarray as xr
    >>> rng = np.random.default_rng(0)
    >>> draws = xr.DataArray(rng.normal([1.0, 0.6, -1.0], 0.3, (1, 2000, 3)),
    ...                      dims=("chain", "draw", "item"), coords={"item": list("abc")})
    >>> print(br.matches_needed(draws, random_seed=0))
    The leader is tied with one other item now. After about 1,100 more matches, it would be ...
    >>> round(br.matches_needed(draws, between=("a", "b"), random_seed=0).matches, -2)
    500.0
    """
    check_probability("prob", prob, 0.5)
    check_probability("power", power, 0.0)
    check_whole(at_most=at_most)
    if isinstance(among, str) and among not in ("all", "tied"):
        raise ValueError(f"`among` is {among!r}; it must be 'all', 'tied' or names of {dim}s.")
    if between is not None and (at_most, among) != (1, "all"):
        raise ValueError(
            "`at_most` and `among` are about the lead, but `between` names two items. Give one or "
            "the other."
        )
    at = at if at is not None else LEAD_AT if between is None else PAIR_AT
    numbers = _numbers_at(at)
    posterior, labels = matches_of(data, var_name, nu, dim)
    rng = np.random.default_rng(random_seed)
    index = pd.Index(numbers, name="matches")

    if between is not None:
        if len(between) != 2:
            raise ValueError(f"`between` is {between!r}; name two different {dim}s.")
        i, j = _numbers_of(between, list(labels), dim)
        lead = posterior.utility[i] - posterior.utility[j]
        order = lead.argsort(kind="stable")
        lead, outcomes = lead[order], posterior.decided(i, j)[order]
        better = (lead > 0) + 0.5 * (lead == 0)
        points = Sobol(3, rng=rng).random(SIMULATIONS)
        table = pd.DataFrame(
            [_separated(better, outcomes, n, prob, points) for n in numbers],
            columns=["p_separated", "p_right", "effective_draws"],
            index=index,
        )
        p_better = float(better.mean())
        separated = max(p_better, 1 - p_better) >= prob
        matches = 0.0 if separated else _least_enough(table["p_separated"], power)
        sentence = _about_two(between, p_better, matches, table, prob, power)
        return MatchesNeeded(matches, table, prob, power, sentence, p_better=p_better)

    draws = (posterior.utility - posterior.utility.mean(0)).T
    tied = find_status(draws, places_of(draws).mean_rank, prob).tied
    now = int(tied.sum())
    # a single tied item has no opponents, so all items play
    meet = np.flatnonzero(tied) if among == "tied" and now > 1 else np.arange(len(labels))
    if not isinstance(among, str):
        meet = np.array(_numbers_of(among, list(labels), dim))
    future = _Futures(draws, _information(posterior, meet), rng)
    sizes = np.array([future.tied_after(n, prob) for n in numbers])
    columns = {"p_settled": (sizes <= at_most).mean(1), "members": sizes.mean(1)}
    table = pd.DataFrame(columns, index=index)
    matches = 0.0 if now <= at_most else _least_enough(table["p_settled"], power)
    sentence = _about_the_lead(now, at_most, matches, table, power)
    return MatchesNeeded(matches, table, prob, power, sentence, now=now)


def rankings_needed(
    data: Any,
    so_far: float,
    var_name: str = "utility",
    *,
    between: tuple[Hashable, Hashable] | None = None,
    prior_sd: float | None = None,
    at: Sequence[int] = PAIR_AT,
    prob: float = 0.95,
    power: float = 0.8,
    dim: str = "item",
) -> MatchesNeeded:
    r"""Estimate how many more rankings would separate two items, such as two models.

    Let m and v be the posterior mean and variance of the difference of the two utilities, and
    :math:`v_0` its variance under the prior. The rankings so far, :math:`n_0` of them, added the
    information :math:`1/v - 1/v_0`. If n more are like them, then

    .. math::

        \frac{1}{v'} = \frac{1}{v} + \frac{n}{n_0} \Bigl(\frac{1}{v} - \frac{1}{v_0}\Bigr), \quad
        m' \sim \operatorname{Normal}(m, v - v').

    The items are separated if :math:`|m'| \ge z \sqrt{v'}` with
    :math:`\Phi(z)` = `prob`.

    Parameters
    ----------
    data, var_name, dim
        Posterior, variable and dim of the items, as in `rank_draws`, without other dims.
    so_far : float
        Number of independent rankings that compared the two, such as data sets that both were run
        on. Folds of a data set are not independent.
    between : tuple of two labels, optional
        The two items, by default those with the lowest mean ranks.
    prior_sd : float, optional
        Prior standard deviation of the utilities. By default the prior has no information.
    at : sequence of int
        Numbers of further rankings to try, ascending, 1 or more.
    prob, power : float
        As in `matches_needed`.

    Returns
    -------
    MatchesNeeded
        ``matches`` is the number of further rankings; the table is indexed by it and has the column
        ``p_separated``.

    Raises
    ------
    ValueError
        For the reasons of `rank_draws`, or if an argument is out of range or names no item.

    See Also
    --------
    matches_needed, win_probability

    Notes
    -----
    This is a projection by a normal distribution, if further rankings have the same items, ties and
    missing items as those so far.

    Examples
    --------
    >>> import numpy as np
    >>> import xarray as xr
    >>> import bayesrank as br
    >>> rng = np.random.default_rng(0)
    >>> draws = xr.DataArray(rng.normal([1.0, 0.6, -1.0], 0.3, (1, 2000, 3)),
    ...                      dims=("chain", "draw", "item"), coords={"item": list("abc")})
    >>> print(br.rankings_needed(draws, so_far=30))
    a is better than b with probability 0.82. About 560 more rankings like those so far would ...
    """
    check_probability("prob", prob, 0.5)
    check_probability("power", power, 0.0)
    if not 0 < so_far < np.inf:
        raise ValueError(f"`so_far` is {so_far}; it must be a positive number of rankings.")
    if prior_sd is not None and not 0 < prior_sd < np.inf:
        raise ValueError(f"`prior_sd` is {prior_sd}; it must be positive and finite.")
    numbers = _numbers_at(at)
    draws, labels = single_group(data, var_name, dim)
    if between is None:
        best = np.argsort(places_of(draws).mean_rank, kind="stable")[:2]
        between = tuple(labels[best].tolist())
    if len(between) != 2:
        raise ValueError(f"`between` is {between!r}; name two different {dim}s.")
    i, j = _numbers_of(between, list(labels), dim)
    lead = draws[:, i] - draws[:, j]
    p_better = float(((lead > 0) + 0.5 * (lead == 0)).mean())
    mean, variance = lead.mean(), lead.var(ddof=1)
    prior = 0.0 if prior_sd is None else 1 / (2 * prior_sd**2)
    each = max(1 / variance - prior, 0.0) / so_far
    later = 1 / (1 / variance + np.array(numbers) * each)
    moved = np.sqrt(np.maximum(variance - later, TINY))
    bound = norm.ppf(prob) * np.sqrt(later)
    p_separated = norm.cdf((mean - bound) / moved) + norm.cdf((-mean - bound) / moved)
    table = pd.DataFrame({"p_separated": p_separated}, index=pd.Index(numbers, name="rankings"))
    separated = max(p_better, 1 - p_better) >= prob
    needed = 0.0 if separated else _least_enough(table["p_separated"], power)
    more = "rankings like those so far"
    sentence = _about_two(between, p_better, needed, table, prob, power, more)
    return MatchesNeeded(needed, table, prob, power, sentence, p_better=p_better)


def _numbers_at(at: Sequence[int]) -> list[int]:
    """Return the numbers of matches to try, checked."""
    numbers = [int(n) for n in at]
    if not numbers or numbers[0] < 1 or np.any(np.diff(numbers) <= 0) or numbers != list(at):
        raise ValueError(f"`at` is {tuple(at)}; it must be ascending whole numbers, 1 or more.")
    return numbers


def _numbers_of(named: Sequence[Hashable], labels: list[Any], dim: str) -> list[int]:
    """Return the numbers of the named items, two or more different ones."""
    for label in named:
        if label not in labels:
            names = ", ".join(map(str, labels))
            raise ValueError(f"There is no {dim} {label!r}; the {dim}s are {names}.")
    if len({*named}) < max(len(named), 2):
        raise ValueError(f"Got {named!r}; name two or more different {dim}s.")
    return [labels.index(label) for label in named]


def _least_enough(probability: pd.Series, power: float) -> float:
    """Find the number of matches with this probability, or infinity; two digits, rounded up."""
    numbers = probability.index.to_numpy()
    rising = np.maximum.accumulate(probability.to_numpy())
    if rising[-1] < power:
        return np.inf
    k = int((rising >= power).argmax())
    if k == 0:
        return float(numbers[0])
    log_n = np.interp(power, rising[k - 1 : k + 1], np.log(numbers[k - 1 : k + 1]))
    digit = 10.0 ** max(np.floor(log_n / np.log(10)) - 1, 0)
    return float(min(digit * np.ceil(np.exp(log_n) / digit - 1e-9), numbers[k]))


def _about_two(
    items: tuple[Hashable, Hashable],
    p_better: float,
    matches: float,
    table: pd.DataFrame,
    prob: float,
    power: float,
    more: str = "matches between them",
) -> str:
    """Say how many matches separate two items."""
    one, other = items if p_better >= 0.5 else items[::-1]
    p = max(p_better, 1 - p_better)
    if matches == 0:
        return f"{one} and {other} are already separated: {one} is better with probability {p:.3f}."
    separated, goal = table["p_separated"], f"(one better with probability {prob:g})"
    text = f"{one} is better than {other} with probability {p:.2f}. "
    if np.isinf(matches):
        text += (
            f"Even {table.index[-1]:,} more {more} would separate them {goal} only "
            f"with probability {separated.iloc[-1]:.2f}."
        )
    else:
        reached = separated[matches] if matches in separated.index else power
        text += (
            f"About {int(matches):,} more {more} would separate them {goal} with "
            f"probability {reached:.2f}"
        )
        fewer = separated[separated.index < matches]
        text += f", {fewer.index[-1]:,} with {fewer.iloc[-1]:.2f}." if len(fewer) else "."
    if "effective_draws" not in table:
        return text
    quoted = table.index[-1] if np.isinf(matches) else matches
    effective = table["effective_draws"].loc[quoted:].iloc[0]  # of the last row that was used
    if effective < FEW:
        text += f" This is rough, because it rests on only {effective:.0f} effective draws."
    return text


def _about_the_lead(
    now: int, at_most: int, matches: float, table: pd.DataFrame, power: float
) -> str:
    """Say how many matches settle the lead."""
    goal = "no other item" if at_most == 1 else f"at most {at_most - 1} other items"
    goal = "at most one other item" if at_most == 2 else goal
    others = "one other item" if now == 2 else f"{now - 1} other items"
    text = f"The leader is tied with {others} now"
    if now == 1:
        text = "No other item is tied with the leader now"
    if matches == 0:
        return f"{text}; no more matches are needed."
    if np.isinf(matches):
        last = table.iloc[-1]
        return (
            f"{text}. Even with {table.index[-1]:,} more matches, it would be tied with {goal} "
            f"only with probability {last['p_settled']:.2f}. On average, {last['members']:.1f} "
            "items would be tied for the lead."
        )
    reached = table["p_settled"][matches] if matches in table.index else power
    return (
        f"{text}. After about {int(matches):,} more matches, it would be tied with {goal} with "
        f"probability {reached:.2f}."
    )


def _simulated(p: Floats, n: int, points: Floats) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Simulate n matches at points (n_points, 3) of the unit cube.

    Returns the draw that is the truth, and the counts of the outcomes (n_points, n_outcomes). The
    first coordinate chooses the draw, the second the ties, and the third the wins.
    """
    true = (points[:, 0] * len(p)).astype(np.intp)
    win, loss = p[true, 0], p[true, -1]
    n_ties = np.zeros(len(true))
    if p.shape[1] == 3:
        n_ties = binom.ppf(points[:, 1], n, p[true, 1].clip(0, 1))
    n_wins = binom.ppf(points[:, 2], n - n_ties, win / np.maximum(win + loss, TINY))
    counts = [n_wins, n - n_ties - n_wins]
    if p.shape[1] == 3:
        counts.insert(1, n_ties)
    return true, np.stack(counts, axis=1).astype(np.int64)


def _separated(
    better: Floats, p: Floats, n: int, prob: float, points: Floats
) -> tuple[float, float, float]:
    """Return the probabilities to separate the two, and to do so rightly, and effective draws."""
    true, counts = _simulated(p, n, points)
    # many draws have the same counts, especially if n is small
    distinct, which = np.unique(counts, axis=0, return_inverse=True)
    log_p = np.log(np.maximum(p, TINY)).T
    belief, effective = np.empty(len(distinct)), np.empty(len(distinct))
    for start in range(0, len(distinct), ROWS):
        rows = slice(start, start + ROWS)
        log_weight = distinct[rows] @ log_p
        log_weight -= log_weight.max(axis=1, keepdims=True)
        weight = np.exp(log_weight.astype(np.float32))  # at most one, to six digits
        total = weight.sum(axis=1)
        belief[rows] = weight @ better.astype(np.float32) / total
        effective[rows] = total**2 / np.einsum("ij,ij->i", weight, weight)
    belief, effective = belief[which], effective[which]
    known_better, known_worse = belief >= prob, belief <= 1 - prob
    right = (known_better & (better[true] == 1)) | (known_worse & (better[true] == 0))
    separated = known_better | known_worse
    return separated.mean(), right.mean(), float(np.median(effective))


def _information(draws: Matches, meet: Any) -> Floats:
    """Compute the expected information of a match among the items `meet`, (n_items, n_items)."""
    out = np.zeros((len(draws.utility), len(draws.utility)))
    n_pairs = len(meet) * (len(meet) - 1) / 2
    for a, i in enumerate(meet[:-1]):
        others = meet[a + 1 :]
        information = draws.information(i, others) / n_pairs
        out[i, others] -= information
        out[others, i] -= information
        out[i, i] += information.sum()
        out[others, others] += information
    return out


class _Futures:
    """Normal posterior after more matches, in coordinates in which the covariances are diagonal."""

    futures = 2**10
    draws = 2**9  # of each future
    blocks = 2**4  # of futures with the same draws, so that the errors of the draws average out

    def __init__(self, draws: Floats, information: Floats, rng: np.random.Generator) -> None:
        self.mean = draws.mean(0)
        values, vectors = np.linalg.eigh(np.cov(draws, rowvar=False))
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        known, turn = np.linalg.eigh(root.T @ information @ root)
        # the most informative directions first, as the first coordinates of Sobol points are best
        self.information = np.maximum(known[::-1], 0.0)
        root = root @ turn[:, ::-1]  # the covariance is root @ root.T
        # fix the sign of eigenvectors, which is arbitrary, so that futures do not depend on it
        self.root = root * np.where(np.arange(1, len(root) + 1) @ root < 0, -1.0, 1.0)
        # the same random numbers for every number of matches, so that the table is smooth
        self.moves = _normal(self.futures, len(self.mean), rng)
        self.noise = _normal(self.blocks * self.draws, len(self.mean), rng)

    def tied_after(self, matches: int, prob: float) -> NDArray[np.int64]:
        """Count the items tied for the lead in every future."""
        # share of the variance that the matches remove
        known = matches * self.information / (1 + matches * self.information)
        means = self.mean + (self.moves * np.sqrt(known)) @ self.root.T
        sizes = []
        for mean, noise in zip(
            np.split(means, self.blocks), np.split(self.noise, self.blocks), strict=True
        ):
            spread = self.root @ (noise * np.sqrt(1 - known)).T  # (n_items, n_draws)
            sizes += [_n_tied(center, spread, prob) for center in mean]
        return np.array(sizes)


def _n_tied(mean: Floats, spread: Floats, prob: float) -> int:
    """Count the items tied for the lead, from the draws mean + spread (n_items, n_draws)."""
    # sorted by mean utility, which for a normal posterior nearly equals the mean rank order
    leader = int(mean.argmax())
    worse = spread - spread[leader] < (mean[leader] - mean)[:, None]
    return len(mean) - int(find_behind(worse, -mean, leader, prob).sum())


def _normal(n: int, dims: int, rng: np.random.Generator) -> Floats:
    """Draw n quasi-random points (n, dims) of a standard normal distribution."""
    points = Sobol(dims, rng=rng).random(n)
    return np.asarray(norm.ppf(points.clip(1e-12, 1 - 1e-12)))
