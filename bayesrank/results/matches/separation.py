r"""The next match of two items, and how many more would tell them apart, read off a posterior.

Suppose draw t of the posterior is the truth. Then n more matches come out with certain counts,
which give every draw s a new weight: the probability of these counts in s. The weight of the draws
in which the one is better is then the probability that it is better. The two are *separated* when
that is at least 0.95 or at most 0.05. Over all draws t as truths, this is the probability that n
matches separate them. It is exact but for the number of draws: matches of two items depend on the
posterior only through the probabilities of their outcomes.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from bayesrank.results.draws import SAMPLE, check_probability, single_group

__all__ = [
    "Matches",
    "Separation",
    "check_numbers",
    "least_enough",
    "match_probability",
    "matches_between",
    "matches_of",
    "matches_to_separate",
    "outcome_probability",
]

AT = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
TRUTHS = 1000  # draws in which matches are simulated
ROWS = 32  # tables of counts at a time, whose weights stay in the cache
FEW = 20.0
"""Effective draws behind a typical entry under which the table is called rough."""

Floats = NDArray[np.float64]


def outcome_probability(lead: ArrayLike, nu: ArrayLike | None = None) -> Floats:
    r"""Probabilities of the outcomes of a match.

    They are those of Davidson's model, with :math:`\nu = 0` Bradley-Terry's, for a judge of
    adherence one, where no item is favoured for standing first:

    .. math:: (\text{win}, \text{tie}, \text{loss}) \propto (e^{d/2}, \nu, e^{-d/2})

    Parameters
    ----------
    lead : array, shape (...)
        Utility of the one item less that of the other.
    nu : array, shape (...), optional
        Tie parameter of Davidson's model, >= 0; without it there are no ties.

    Returns
    -------
    array of float, shape (..., 3) or (..., 2)
        Win, tie and loss of the one item; without `nu` win and loss.

    Examples
    --------
    >>> outcome_probability(0.0, 1.0).round(3)
    array([0.333, 0.333, 0.333])
    """
    d = np.asarray(lead, dtype=np.float64)
    if nu is None:
        return np.stack([expit(d), expit(-d)], axis=-1)
    # of the better one: over the greatest weight, so that nothing overflows
    half = np.exp(-0.5 * np.abs(d))
    level = np.asarray(nu, dtype=np.float64) * half
    total = 1 + half**2 + level
    ahead = d >= 0
    win, loss = np.where(ahead, 1, half**2) / total, np.where(ahead, half**2, 1) / total
    return np.stack([win, level / total, loss], axis=-1)


def match_probability(
    data: Any, var: str = "utility", *, nu: str = "nu", dim: str = "item"
) -> xr.DataArray:
    """Probability of the outcomes of the next match, for every two items.

    It does not go to 0 or 1 as data come in; `win_probability` says which item is better.

    Parameters
    ----------
    data : DataTree, Dataset or DataArray
        Posterior with dims chain, draw and `dim` and no others.
    var : str
        The utilities.
    nu : str
        The tie parameter; if the posterior has no such variable, there are no ties. What items add
        to its logarithm is looked for as ``item_tie_effect``, if `dim` is item.
    dim : str
        The dim of the items.

    Returns
    -------
    DataArray, (dim, dim + "_other", result)
        Posterior means. The results are win, tie and loss of the item of the row; without ties win
        and loss. It is NaN where an item would meet itself.

    Raises
    ------
    ValueError
        As `rank_draws`; if there are further dims, or `nu` has dims of its own.

    Examples
    --------
    >>> draws = xr.Dataset({"utility": (("chain", "draw", "item"), [[[0.0, 0.0], [1.0, 1.0]]]),
    ...                     "nu": (("chain", "draw"), [[1.0, 2.0]])})
    >>> match_probability(draws).sel(result="tie").values.round(3)
    array([[  nan, 0.417],
           [0.417,   nan]])
    """
    draws, labels = matches_of(data, var, nu, dim)
    results = ["win", "loss"] if draws.nu is None else ["win", "tie", "loss"]
    n = len(labels)
    out = np.full((n, n, len(results)), np.nan)
    for i in range(n - 1):
        out[i, i + 1 :] = draws.outcomes(i, np.arange(i + 1, n)).mean(1)
        out[i + 1 :, i] = out[i, i + 1 :, ::-1]
    return xr.DataArray(
        out,
        dims=(dim, f"{dim}_other", "result"),
        coords={dim: labels, f"{dim}_other": labels, "result": results},
        name="match_probability",
    )


class Matches(NamedTuple):
    """Draws of what the matches of any two items depend on."""

    utility: Floats  # (n_items, n_draws)
    nu: Floats | None  # (n_draws,) the tie parameter, if there are ties
    effect: Floats  # (n_items, n_draws or 1) what an item adds to its logarithm

    def outcomes(self, one: Any, other: Any) -> Floats:
        """Probabilities of the outcomes of matches, (..., n_draws, n_outcomes)."""
        lead = self.utility[one] - self.utility[other]
        if self.nu is None:
            return outcome_probability(lead)
        nu = self.nu * np.exp(self.effect[one] + self.effect[other])
        return outcome_probability(lead, nu)


def matches_of(data: Any, var: str, nu: str, dim: str) -> tuple[Matches, NDArray[Any]]:
    """Read from a posterior what matches depend on, and the labels of the items."""
    draws, labels = single_group(data, var, dim)
    utility = np.ascontiguousarray(draws.T)
    none = np.zeros((len(labels), 1))
    if isinstance(data, xr.DataTree):
        data = (data["posterior"] if "posterior" in data.children else data).to_dataset()
    if not isinstance(data, xr.Dataset) or nu not in data:
        return Matches(utility, None, none), labels
    if set(data[nu].dims) != {*SAMPLE}:
        raise ValueError(
            f"{nu!r} has the dims {list(map(str, data[nu].dims))}; one tie parameter per draw is "
            "needed, with the dims chain and draw."
        )
    level = data[nu].transpose(*SAMPLE).values.reshape(-1)
    effect = data.get(f"{dim}_tie_effect")
    if effect is not None:
        none = effect.transpose(dim, *SAMPLE).values.reshape(len(labels), -1)
    return Matches(utility, level, none), labels


@dataclass(frozen=True)
class Separation:
    """How many more matches would separate two items.

    Attributes
    ----------
    items : tuple of two labels
    p_better : float
        Probability that the first of them is the better one, before any further match.
    matches : float
        The least number of those asked for that separates them with probability `power` or more:
        0 if they are separated already, infinite if none does.
    table : DataFrame
        Indexed by the number of matches: p_separated, p_right (separated, and the better one is
        the one that is better) and effective_draws, behind a typical entry of the row.
    prob, power : float
        As they were asked for.
    """

    items: tuple[Hashable, Hashable]
    p_better: float
    matches: float
    table: pd.DataFrame
    prob: float
    power: float

    def __str__(self) -> str:
        one, other = self.items if self.p_better >= 0.5 else self.items[::-1]
        p = max(self.p_better, 1 - self.p_better)
        if self.matches == 0:
            return (
                f"{one} and {other} are separated already: {one} is better with probability "
                f"{p:.3f}."
            )
        now = f"{one} is better than {other} with probability {p:.2f}."
        said = self._said()
        few = self.table["effective_draws"].loc[: self.matches].iloc[-1]  # of the row that is told
        if few < FEW:
            said += f" Only {few:.0f} effective draws are behind this: it is rough."
        return f"{now} {said}"

    def _said(self) -> str:
        table, prob = self.table["p_separated"], f"(one better with probability {self.prob:g})"
        if np.isinf(self.matches):
            return (
                f"Not even {table.index[-1]:,} more matches between them are likely to separate "
                f"them {prob}: they do with probability {table.iloc[-1]:.2f}."
            )
        place = int((table.index < self.matches).sum())
        before = (
            "" if place == 0 else f", {table.index[place - 1]:,} with {table.iloc[place - 1]:.2f}"
        )
        return (
            f"{int(self.matches):,} more matches between them would separate them {prob} with "
            f"probability {table.iloc[place]:.2f}{before}."
        )


def matches_to_separate(
    lead: ArrayLike,
    probability: ArrayLike,
    *,
    at: Sequence[int] = AT,
    prob: float = 0.95,
    power: float = 0.8,
    random_seed: int | None = 0,
    items: tuple[Hashable, Hashable] = ("the one", "the other"),
) -> Separation:
    """Find how many more matches of two items would tell which one is better.

    Parameters
    ----------
    lead : array, shape (n_draws,)
        Utility of the one item less that of the other, in every draw of the posterior.
    probability : array, shape (n_draws, n_outcomes)
        Probabilities of the outcomes of a match in every draw: rows sum to one.
    at : sequence of int
        Numbers of matches to try, ascending, 1 or more.
    prob : float
        The two are separated when one of them is better with at least this probability, in
        (0.5, 1).
    power : float
        With which probability they are to be separated, in (0, 1).
    random_seed : int, optional
        Seed of the simulated matches.
    items : tuple of two labels
        For the sentence, `str()` of the result.

    Raises
    ------
    ValueError
        If the shapes do not match, the probabilities are none, `at` does not ascend, or `prob` or
        `power` are out of range.

    Notes
    -----
    Matches are simulated in 1,000 of the draws, evenly spaced, or in all if they are fewer. The
    error of the probabilities is about 0.5 / sqrt(1000). Where n matches say much more than all
    data so far, few draws share the weight, and the row says how many.

    Examples
    --------
    >>> lead = np.linspace(-0.5, 1.5, 400)
    >>> print(matches_to_separate(lead, outcome_probability(lead), at=(100, 1000), items="AB"))
    A is better than B with probability 0.75. 1,000 more matches between them would separate ...
    """
    check_probability("prob", prob, 0.5)
    check_probability("power", power, 0.0)
    d, p = np.asarray(lead, dtype=np.float64), np.asarray(probability, dtype=np.float64)
    if d.ndim != 1 or not d.size or p.ndim != 2 or len(p) != len(d):
        raise ValueError(
            f"`lead` must have shape (n_draws,) and `probability` (n_draws, n_outcomes); got "
            f"{d.shape} and {p.shape}."
        )
    if not ((p >= 0).all() and np.allclose(p.sum(1), 1)):
        raise ValueError("`probability` must have rows of probabilities, which sum to one.")
    numbers = check_numbers(at)

    better = (d > 0) + 0.5 * (d == 0)
    rng = np.random.default_rng(random_seed)
    rows = [_separated(better, p, n, prob, rng) for n in numbers]
    columns = ["p_separated", "p_right", "effective_draws"]
    table = pd.DataFrame(rows, columns=columns, index=pd.Index(numbers, name="matches"))
    p_better = float(better.mean())
    already = max(p_better, 1 - p_better) >= prob
    matches = 0.0 if already else least_enough(table["p_separated"], power)
    return Separation(items, p_better, matches, table, prob, power)


def check_numbers(at: Sequence[int]) -> list[int]:
    """Return numbers of matches to try; raise unless they are whole, 1 or more, and ascend."""
    numbers = [int(n) for n in at]
    if not numbers or numbers[0] < 1 or np.any(np.diff(numbers) <= 0) or numbers != list(at):
        raise ValueError(f"`at` is {tuple(at)}; it must hold ascending whole numbers, 1 or more.")
    return numbers


def least_enough(probability: pd.Series, power: float) -> float:
    """Find the least number of matches with at least this probability; infinite if none has."""
    enough = probability.index[probability >= power]
    return float(enough[0]) if len(enough) else np.inf


def _separated(
    better: Floats, p: Floats, n: int, prob: float, rng: np.random.Generator
) -> tuple[float, float, float]:
    """Return how probably n matches separate the two, rightly so, and the effective draws."""
    true = np.linspace(0, len(p) - 1, min(len(p), TRUTHS)).astype(int)
    counts = rng.multinomial(n, p[true] / p[true].sum(1, keepdims=True))
    # many draws share a table of counts, above all where n is small
    distinct, which = np.unique(counts, axis=0, return_inverse=True)
    log_p = np.log(np.maximum(p, np.finfo(float).tiny)).T
    belief, effective = np.empty(len(distinct)), np.empty(len(distinct))
    for start in range(0, len(distinct), ROWS):
        rows = slice(start, start + ROWS)
        log_weight = distinct[rows] @ log_p
        log_weight -= log_weight.max(axis=1, keepdims=True)
        weight = np.exp(log_weight.astype(np.float32))  # of numbers at most one, to six digits
        total = weight.sum(axis=1)
        belief[rows] = weight @ better.astype(np.float32) / total
        effective[rows] = total**2 / np.einsum("ij,ij->i", weight, weight)
    belief, effective = belief[which], effective[which]
    known_better, known_worse = belief >= prob, belief <= 1 - prob
    right = (known_better & (better[true] == 1)) | (known_worse & (better[true] == 0))
    separated = known_better | known_worse
    return separated.mean(), right.mean(), float(np.median(effective))


def matches_between(
    data: Any,
    one: Hashable,
    other: Hashable,
    *,
    var: str = "utility",
    nu: str = "nu",
    dim: str = "item",
    **options: Any,
) -> Separation:
    """Find how many more matches of two items of a posterior would tell which one is better.

    Parameters
    ----------
    data : DataTree, Dataset or DataArray
        Posterior with dims chain, draw and `dim` and no others, as of `leaderboard_model`.
    one, other : labels
        The items.
    var, nu, dim : str
        As in `match_probability`.
    **options
        Passed to `matches_to_separate`.

    Raises
    ------
    ValueError
        As `match_probability` and `matches_to_separate`; if there is no such item, or the two are
        one.

    Examples
    --------
    >>> u = xr.DataArray(np.random.default_rng(0).normal([1, 0.5], 0.5, (2, 500, 2)),
    ...                  dims=("chain", "draw", "item"), coords={"item": ["a", "b"]})
    >>> matches_between(u, "a", "b").matches
    200.0
    """
    draws, labels = matches_of(data, var, nu, dim)
    known = list(labels)
    for label in (one, other):
        if label not in known:
            raise ValueError(f"There is no {dim} {label!r}; they are {', '.join(map(str, known))}.")
    if one == other:
        raise ValueError(f"There are no matches of {one!r} and itself: name two items.")
    i, j = known.index(one), known.index(other)
    lead = draws.utility[i] - draws.utility[j]
    return matches_to_separate(lead, draws.outcomes(i, j), items=(one, other), **options)
