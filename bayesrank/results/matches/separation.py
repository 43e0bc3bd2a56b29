r"""Predict the next match of two items, and how many more matches would separate the two.

Suppose draw t of the posterior is the truth, and simulate n more matches. Each draw s then gets as
weight the probability of the simulated counts in s. The weighted share of draws in which one item
is better is the new probability that it is better. Two items are *separated* if that probability
is at least 0.95 or at most 0.05. The share of truths t with this result estimates the probability
that n matches separate them. The only approximation is the finite number of draws.
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
ROWS = 32  # tables of counts in a block, whose weights fit in the cache
FEW = 20.0
"""With fewer effective draws behind a typical entry, the table is called rough."""

Floats = NDArray[np.float64]


def outcome_probability(lead: ArrayLike, nu: ArrayLike | None = None) -> Floats:
    r"""Compute the probabilities of the outcomes of a match.

    It uses Davidson's model, which is Bradley-Terry's if :math:`\nu = 0`. The judge has adherence
    one, and the order of the two items has no effect:

    .. math:: (\text{win}, \text{tie}, \text{loss}) \propto (e^{d/2}, \nu, e^{-d/2})

    Parameters
    ----------
    lead : array, shape (...)
        Utility of the first item minus the utility of the second item.
    nu : array, shape (...), optional
        Tie parameter of Davidson's model, >= 0; without it there are no ties.

    Returns
    -------
    array of float, shape (..., 3) or (..., 2)
        Win, tie and loss of the first item; without `nu`, win and loss.

    Examples
    --------
    >>> outcome_probability(0.0, 1.0).round(3)
    array([0.333, 0.333, 0.333])
    """
    d = np.asarray(lead, dtype=np.float64)
    if nu is None:
        return np.stack([expit(d), expit(-d)], axis=-1)
    # divided by the weight of a win of the better item, so that nothing overflows
    half = np.exp(-0.5 * np.abs(d))
    level = np.asarray(nu, dtype=np.float64) * half
    total = 1 + half**2 + level
    ahead = d >= 0
    win, loss = np.where(ahead, 1, half**2) / total, np.where(ahead, half**2, 1) / total
    return np.stack([win, level / total, loss], axis=-1)


def match_probability(
    data: Any, var: str = "utility", *, nu: str = "nu", dim: str = "item"
) -> xr.DataArray:
    """Compute the probabilities of the outcomes of the next match, for every two items.

    They do not tend to 0 or 1 as data accumulate. Use `win_probability` for the probability that
    one item is better.

    Parameters
    ----------
    data : DataTree, Dataset or DataArray
        Posterior with the dims chain, draw and `dim`, and no others.
    var : str
        The utilities.
    nu : str
        The tie parameter. If the posterior lacks this variable, there are no ties. Effects of items
        on its logarithm are read from ``item_tie_effect`` (if `dim` is item).
    dim : str
        The dim of the items.

    Returns
    -------
    DataArray, (dim, dim + "_other", result)
        Posterior means. The results are win, tie and loss of the row's item; without ties, win and
        loss. The diagonal is NaN.

    Raises
    ------
    ValueError
        As `rank_draws`; if there are other dims, or `nu` has dims other than chain and draw.

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
    """Draws of the parameters of matches."""

    utility: Floats  # (n_items, n_draws)
    nu: Floats | None  # (n_draws,) tie parameter, if there are ties
    effect: Floats  # (n_items, n_draws or 1) effect of an item on its logarithm

    def outcomes(self, one: Any, other: Any) -> Floats:
        """Compute the probabilities of the outcomes of matches, (..., n_draws, n_outcomes)."""
        lead = self.utility[one] - self.utility[other]
        if self.nu is None:
            return outcome_probability(lead)
        nu = self.nu * np.exp(self.effect[one] + self.effect[other])
        return outcome_probability(lead, nu)


def matches_of(data: Any, var: str, nu: str, dim: str) -> tuple[Matches, NDArray[Any]]:
    """Read the parameters of matches and the labels of the items from a posterior."""
    draws, labels = single_group(data, var, dim)
    utility = np.ascontiguousarray(draws.T)
    effects = np.zeros((len(labels), 1))
    if isinstance(data, xr.DataTree):
        data = (data["posterior"] if "posterior" in data.children else data).to_dataset()
    if not isinstance(data, xr.Dataset) or nu not in data:
        return Matches(utility, None, effects), labels
    if set(data[nu].dims) != {*SAMPLE}:
        raise ValueError(
            f"{nu!r} has the dims {list(map(str, data[nu].dims))}; it must have only chain and "
            "draw, one tie parameter per draw."
        )
    level = data[nu].transpose(*SAMPLE).values.reshape(-1)
    effect = data.get(f"{dim}_tie_effect")
    if effect is not None:
        effects = effect.transpose(dim, *SAMPLE).values.reshape(len(labels), -1)
    return Matches(utility, level, effects), labels


@dataclass(frozen=True)
class Separation:
    """How many more matches would separate two items.

    Attributes
    ----------
    items : tuple of two labels
    p_better : float
        Probability that the first item is better than the second, before any further match.
    matches : float
        The smallest number of matches in `at` that separates them with probability `power` or
        more. It is 0 if they are already separated, infinite if no number suffices.
    table : DataFrame
        Indexed by the number of matches. ``p_separated`` is the probability that these matches
        separate the items; ``p_right`` is the probability that they also find the better item.
        ``effective_draws`` is the number of effective draws behind a typical entry of the row.
    prob, power : float
        The values that were given.
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
                f"{one} and {other} are already separated: {one} is better with probability "
                f"{p:.3f}."
            )
        now = f"{one} is better than {other} with probability {p:.2f}."
        forecast = self._forecast()
        effective = self.table["effective_draws"].loc[: self.matches].iloc[-1]  # of the quoted row
        if effective < FEW:
            forecast += f" This is rough, because it rests on only {effective:.0f} effective draws."
        return f"{now} {forecast}"

    def _forecast(self) -> str:
        table, prob = self.table["p_separated"], f"(one better with probability {self.prob:g})"
        if np.isinf(self.matches):
            return (
                f"Even {table.index[-1]:,} more matches between them would separate them {prob} "
                f"only with probability {table.iloc[-1]:.2f}."
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
    """Find how many more matches of two items would show which one is better.

    Parameters
    ----------
    lead : array, shape (n_draws,)
        Utility of the first item minus the utility of the second, in every draw of the posterior.
    probability : array, shape (n_draws, n_outcomes)
        Probabilities of the outcomes of a match in every draw; rows sum to one.
    at : sequence of int
        Numbers of matches to try, ascending, 1 or more.
    prob : float
        The two are separated if one of them is better with at least this probability, in (0.5, 1).
    power : float
        Probability with which they must be separated, in (0, 1).
    random_seed : int, optional
        Random seed of the simulated matches.
    items : tuple of two labels
        Names of the items in `str()` of the result.

    Raises
    ------
    ValueError
        If the shapes do not match, rows of `probability` are not probabilities, or `at` does not
        ascend. If `prob` or `power` are out of range.

    Notes
    -----
    Matches are simulated in at most 1,000 evenly spaced draws, so probabilities have a standard
    error of about 0.016. If n matches are much more informative than all data so far, few draws
    carry the weight; see the column effective_draws.

    Examples
    --------
    >>> lead = np.linspace(-0.5, 1.5, 400)
    >>> needed = matches_to_separate(
    ...     lead, outcome_probability(lead), at=(100, 1000), items="AB", random_seed=0
    ... )
    >>> print(needed)
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
        raise ValueError(
            "The rows of `probability` must be non-negative and sum to one. Pass the result of "
            "outcome_probability."
        )
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
        raise ValueError(f"`at` is {tuple(at)}; it must be ascending whole numbers, 1 or more.")
    return numbers


def least_enough(probability: pd.Series, power: float) -> float:
    """Find the smallest number of matches with at least this probability, or infinity."""
    enough = probability.index[probability >= power]
    return float(enough[0]) if len(enough) else np.inf


def _separated(
    better: Floats, p: Floats, n: int, prob: float, rng: np.random.Generator
) -> tuple[float, float, float]:
    """Return the probabilities to separate the two, and to do so rightly, and effective draws."""
    true = np.linspace(0, len(p) - 1, min(len(p), TRUTHS)).astype(int)
    counts = rng.multinomial(n, p[true] / p[true].sum(1, keepdims=True))
    # many draws have the same counts, especially if n is small
    distinct, which = np.unique(counts, axis=0, return_inverse=True)
    log_p = np.log(np.maximum(p, np.finfo(float).tiny)).T
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


def matches_between(
    data: Any,
    one: Hashable,
    other: Hashable,
    *,
    var: str = "utility",
    nu: str = "nu",
    dim: str = "item",
    random_seed: int | None = None,
    **options: Any,
) -> Separation:
    """Find how many more matches of two items would show which one is better, from a posterior.

    Parameters
    ----------
    data : DataTree, Dataset or DataArray
        Posterior with the dims chain, draw and `dim`, and no others, as from `leaderboard_model`.
    one, other : labels
        The items.
    var, nu, dim : str
        As in `match_probability`.
    random_seed : int, optional
        Random seed of the simulated matches.
    **options
        Passed to `matches_to_separate`.

    Raises
    ------
    ValueError
        As `match_probability` and `matches_to_separate`; if an item does not exist, or the two are
        the same.

    Examples
    --------
    >>> u = xr.DataArray(np.random.default_rng(0).normal([1, 0.5], 0.5, (2, 500, 2)),
    ...                  dims=("chain", "draw", "item"), coords={"item": ["a", "b"]})
    >>> matches_between(u, "a", "b", random_seed=0).matches
    200.0
    """
    draws, labels = matches_of(data, var, nu, dim)
    known = list(labels)
    for label in (one, other):
        if label not in known:
            names = ", ".join(map(str, known))
            raise ValueError(f"There is no {dim} {label!r}; the {dim}s are {names}.")
    if one == other:
        raise ValueError(f"Both items are {one!r}; name two different items.")
    i, j = known.index(one), known.index(other)
    lead = draws.utility[i] - draws.utility[j]
    outcomes = draws.outcomes(i, j)
    return matches_to_separate(
        lead, outcomes, items=(one, other), random_seed=random_seed, **options
    )
