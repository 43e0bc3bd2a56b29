r"""Omnibus checks: whether the model describes a whole family of statistics, such as the winners.

Some of many checks fail by chance, and a few decisive ones drown among them. So each family of
checks has a few statistics of its own, computed for the observed data and for every prediction:

=============  =====================================================================================
all            :math:`\sum_k ((x_k - m_k) / s_k)^2` over the rows k of the family, where m and s are
               mean and standard deviation over the predictions
largest        :math:`\max_k |x_k - m_k| / s_k`
one label      the largest sum over the rows of one label of a group, such as a judge
others         of the winners the number of different items and the largest share, of pairs the
               number of cyclic triples, of distances the mean and the spread, of rankers the
               variance between them
=============  =====================================================================================

The tail probability of such a statistic accounts for the dependence between rows. A family fails
if its smallest tail probability, times the number of omnibus checks of all families, is below 0.05
(Bonferroni).

Suppose that the data differ from the predictions by 0.1 in each row of a family, up or down at
random. The family *had power* if it would then fail with probability 0.8 or more. For a variance
between groups, twice the variance takes the place of 0.1. Otherwise the family has too little data:
that it does not fail says nothing.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import chi2, norm

__all__ = [
    "FAMILIES",
    "OMNIBUS",
    "Whole",
    "cyclic_triples",
    "omnibus_columns",
    "tail_probability",
    "verdicts",
    "whole_rows",
]

OMNIBUS = "omnibus"  # note of the rows
FALSE_ALARMS = 0.05  # probability that a family fails although the model is right
MOST_TRIPLES = 5_000
CLOSE = 1e-9  # rounding error of sums of shares
SHIFT = 0.1  # difference between data and predictions that the checks should see
TWICE = 2.0  # ratio of variances between groups that they should see

FAMILIES = {  # families by the statistics of their rows
    "top item": "winners",
    "last item": "losers",
    "pair order": "pairs",
    "Kendall distance": "distances",
    "block size": "ties",
    "points": "items",
    "pair": "pairs",
    "outcome": "outcomes",
    "group outcome": "groups",
    "group points": "groups",
    "share": "shares",
}

Floats = NDArray[np.float64]


class Whole(NamedTuple):
    """An omnibus statistic: its value of the data, then of every prediction, (1 + n_draws,)."""

    family: str
    label: str
    values: Floats
    two_sided: bool = True
    shifted: Floats | None = None  # of predictions that are off by `SHIFT`, (n_draws,)


def whole_rows(
    family: str,
    rows: Floats,
    labels: Sequence[str] = ("all",),
    groups: Sequence[str] | None = None,
) -> list[Whole]:
    """Compute "all", "largest" or "one label" of the rows of a family, (n_rows, 1 + n_draws).

    The first column holds the data. It counts for means and standard deviations as well, so that
    data and predictions are treated alike.

    >>> rows = np.array([[3.0, 1, -1, 1, -1], [0.0, 1, -1, 1, -1]])
    >>> [whole.values.round(1).tolist() for whole in whole_rows("pairs", rows, ["largest"])]
    [[1.6, 1.1, 1.1, 1.1, 1.1]]
    """
    sd = rows.std(axis=1)
    varies = sd > CLOSE
    rows, sd = rows[varies], sd[varies]
    if not len(rows):
        return []
    z = (rows - rows.mean(axis=1, keepdims=True)) / sd[:, None]
    signs = np.random.default_rng(0).choice([-SHIFT, SHIFT], size=len(sd))
    both = np.concatenate([z, z[:, 1:] + (signs / sd)[:, None]], axis=1)
    values = {"all": (both**2).sum(axis=0), "largest": np.abs(both).max(axis=0)}
    if groups is not None:
        codes, _ = pd.factorize(np.asarray(groups)[varies])
        sums = np.zeros((codes.max() + 1, both.shape[1]))
        np.add.at(sums, codes, both**2)
        values["one label"] = sums.max(axis=0)
    n = z.shape[1]
    return [Whole(family, x, values[x][:n], False, values[x][n:]) for x in labels]


def cyclic_triples(pairs: Sequence[tuple[int, int]], shares: Floats) -> Floats | None:
    """Count triples of items of which each is ahead of the next; None without triples.

    `shares` (n_pairs, n_draws) says how often the first item of a pair (i < j) is ahead.

    >>> cyclic_triples([(0, 1), (1, 2), (0, 2)], np.array([[0.9, 0.9], [0.8, 0.8], [0.1, 0.7]]))
    array([1., 0.])
    """
    row = {pair: k for k, pair in enumerate(pairs)}
    ahead: dict[int, set[int]] = {}
    for i, j in pairs:
        ahead.setdefault(i, set()).add(j)
    triples = []
    for i, others in ahead.items():
        for j, k in combinations(sorted(others), 2):
            if (j, k) in row:
                triples.append((row[i, j], row[j, k], row[i, k]))
                if len(triples) == MOST_TRIPLES:
                    break
        if len(triples) == MOST_TRIPLES:
            break
    if not triples:
        return None
    side = np.sign(shares - 0.5).round().astype(np.int8)
    side[np.abs(shares - 0.5) < CLOSE] = 0
    one, two, both = np.array(triples).T
    # i before j before k before i, or the reverse
    return ((side[one] == side[two]) & (side[one] * side[both] < 0)).sum(axis=0).astype(float)


def tail_probability(values: Floats, *, two_sided: bool) -> float:
    """Compute how often a prediction is at least as extreme as the data, which come first.

    The data count as one of the predictions. If no prediction is as extreme, the tail beyond them
    is normal. If only large values are extreme, it is a scaled chi-square.

    >>> tail_probability(np.array([2.0, 0.0, 1.0, 2.0, 3.0]), two_sided=False)
    0.6
    """
    return float(_tails(values[:1], values[1:], two_sided=two_sided)[0])


def _tails(observed: Floats, drawn: Floats, *, two_sided: bool) -> Floats:
    """Compute the tail probability of each of several values."""
    ordered, n = np.sort(drawn), 1 + len(drawn)
    above = (n - np.searchsorted(ordered, observed - CLOSE, side="left")) / n
    below = (1 + np.searchsorted(ordered, observed + CLOSE, side="right")) / n
    p = np.minimum(1.0, 2 * np.minimum(above, below)) if two_sided else above
    least = (1 + two_sided) / n
    mean, sd = float(drawn.mean()), float(drawn.std())
    if sd <= CLOSE:
        return p
    if two_sided:
        far = 2 * norm.sf(np.abs(observed - mean) / sd)
    else:
        freedom = 2 * (mean / sd) ** 2
        far = chi2.sf(observed * freedom / mean, freedom)
    return np.where(p > least, p, np.minimum(p, far))


def omnibus_columns(wholes: Sequence[Whole]) -> Mapping[str, Any]:
    """Return the tail probability, whether the check fails, the note, and the family's power."""
    p = np.array([tail_probability(x.values, two_sided=x.two_sided) for x in wholes])
    seen: dict[str, NDArray[np.bool_]] = {}  # whether a shifted prediction fails, by family
    for x in wholes:
        if x.shifted is not None:
            tails = _tails(x.shifted, x.values[1:], two_sided=x.two_sided)
            seen[x.family] = seen.get(x.family, False) | (tails * len(p) < FALSE_ALARMS)
    power = [seen[x.family].mean() if x.family in seen else np.nan for x in wholes]
    return {"p": p, "surprising": p * len(p) < FALSE_ALARMS, "note": OMNIBUS, "power": power}


def verdicts(table: pd.DataFrame) -> pd.DataFrame:
    """Return the smallest tail probability of each family, its check and power, worst first."""
    rows = table[table["note"] == OMNIBUS]
    out = pd.DataFrame(
        {
            "family": rows.index.get_level_values("statistic"),
            "check": rows.index.get_level_values("label"),
            **{
                name: rows[name].to_numpy()
                for name in ("observed", "mean", "low", "high", "p", "power")
            },
            "fails": rows["surprising"].to_numpy(),
        }
    )
    out = out.sort_values("p", kind="stable").drop_duplicates("family")
    return out.set_index("family")
