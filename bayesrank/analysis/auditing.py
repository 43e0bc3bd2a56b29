"""Audit of a leaderboard: checks of its matches before you trust it.

Eight probes examine the matches, not the ranks. Each computes a number, its expected value if
nothing is wrong, and a sentence. A probe *fires* if the number exceeds a stated limit, or if chance
produces such a number in at most one of a thousand boards. The docstring of `audit` lists them.

Expected outcomes are those of Davidson's model (Bradley-Terry's without ties) at the mode, with an
order effect. A probe is a contrast of the residuals of the counts that its defect would make large.

A probe that fires tells you where to look. It does not prove cheating. A model may include what it
finds, such as groups of votes. `bayesrank.results.match_checks` looks for effects that a fitted
model misses.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from scipy.stats import norm

from bayesrank.data import Pairs
from bayesrank.data.derive import pair_totals
from bayesrank.data.read import name_some
from bayesrank.inference import MatchFit, fit_matches
from bayesrank.results import column_checks

__all__ = ["PROBES", "audit"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

RARE = 1e-3  # probability with which a probe fires where nothing is wrong
CERTAIN = 20  # matches of a judge from which one answer to all may be more than chance
ENOUGH = 5.0  # variance of a contrast of votes from which it is about normal
ACROSS = 30  # matches across a cut: the offset of two groups has a standard error of about 0.4
SHARE = 0.01  # if fewer of the leader's matches change the leader, it is fragile
MANY = 20  # labels from which a group has many small ones, such as prompts
MOST_ITEMS = 40  # items with the most matches, among which cycles are searched
DRAWS = 1000  # simulated boards
PERMUTED = 50  # permuted boards for the mean and spread of repeats
LEVEL = 1e-6  # difference of utilities below which neither leads: the precision of modes
SCALE = 3.0  # prior standard deviation of utilities in the fits: weak
CHANCE = ", which may be chance."


def audit(
    pairs: Pairs,
    *,
    time: str | None = None,
    order_effect: bool = True,
    leader: Hashable | None = None,
    probes: Sequence[str] | None = None,
    random_seed: int | None = None,
) -> pd.DataFrame:
    r"""Look for reasons why a leaderboard is less reliable than its intervals suggest.

    Each probe computes a value from the matches and compares it with its expected value, or with a
    limit.

    ===========  ===================================================  ============================
    probe        value                                                expected
    ===========  ===================================================  ============================
    connection   matches between the two groups of items that the     limit: at least 30
                 fewest matches connect
    cycles       largest z such that i beats j, j beats k and k       median of simulated boards
                 beats i, each by z standard errors
    judges       z of the judge whose votes are furthest from those   0
                 of all, against the order or in favour of an item
    answers      matches of a judge who gives one answer in all of    limit: at most 19
                 them
    clusters     z of the agreement of votes of one group, such as    0
                 a prompt, on the same two items
    duplicates   z of the number of matches that repeat another       0
                 match in all respects
    drift        z of changes of strengths over time, at least 0, by  0
                 the test of `bayesrank.column_checks`
    fragility    fewest matches whose removal changes the leader      limit: at least 1 % of the
                                                                      matches of the leader
    ===========  ===================================================  ============================

    Parameters
    ----------
    pairs : Pairs
        Matches, with users, prompts, days or categories as groups. Of grades, and of votes that
        both items are bad, only who won counts.
    time : str, optional
        The group whose labels are times, numbers or dates, for the probe of drift.
    order_effect : bool
        Whether the first item of a pair may have an advantage.
    leader : label, optional
        The item that leads your ranking, for the probe of fragility; by default the best one under
        the weak prior of the audit.
    probes : sequence of str, optional
        Names of probes in the table; by default all.
    random_seed : int, optional
        Seed of simulated and permuted boards.

    Returns
    -------
    DataFrame
        Indexed by probe, with the columns ``fires``, ``value``, ``expected``, ``p`` and ``says``.
        ``fires`` is True if the value is beyond the limit, or if ``p`` is below 0.001. ``p`` is the
        probability of a value this large by chance (NaN for the limits of connection and
        fragility). ``says`` is a sentence. A probe that the data do not allow has the value NaN.

    Raises
    ------
    ValueError
        If a group or probe does not exist, labels are not times, or no match was played.

    See Also
    --------
    match_checks, column_checks, leaderboard_model

    Examples
    --------
    >>> import numpy as np
    >>> import bayesrank as br
    >>> rng = np.random.default_rng(0)
    >>> wins = rng.binomial(40, [[0, 0.6, 0.7], [0, 0, 0.6], [0, 0, 0]])
    >>> wins += np.triu(40 - wins, 1).T
    >>> found = br.audit(
    ...     br.Pairs.from_matrix(wins, items=["a", "b", "c"]), order_effect=False, random_seed=0
    ... )
    >>> found["fires"].any()
    np.False_
    """
    names = list(PROBES) if probes is None else list(probes)
    for name in names:
        if name not in PROBES:
            raise ValueError(f"There is no probe {name!r}; they are {', '.join(PROBES)}.")
    if not pairs.n_matches:
        raise ValueError("All counts are 0: no match was played, and there is nothing to audit.")
    if time is not None:
        pairs.group_labels(time)  # raises if there is none
    board = _Board(pairs, time, order_effect, np.random.default_rng(random_seed))
    board.leader = leader
    found = [PROBES[name](board) for name in names]
    columns = ["fires", "value", "expected", "p", "says"]
    return pd.DataFrame(found, pd.Index(names, name="probe"), columns)


@dataclass(frozen=True)
class _Found:
    """Result of a probe."""

    says: str
    value: float = np.nan
    expected: float = np.nan
    p: float = np.nan
    fires: bool = False


def _found(
    what: str,
    consequence: str,
    value: float,
    expected: float = 0.0,
    p: float = np.nan,
    *,
    fires: bool | None = None,
    otherwise: str = ".",
) -> _Found:
    """Say what was found, and the consequence if the probe fires: by default, if p is rare."""
    fires = bool(p < RARE if fires is None else fires)
    says = f"{what}: {consequence}." if fires else what + otherwise
    return _Found(says, float(value), float(expected), float(p), fires)


class _Board:
    """The matches, what is expected of them, and what all probes look at."""

    def __init__(
        self, pairs: Pairs, time: str | None, order_effect: bool, rng: np.random.Generator
    ) -> None:
        # whatever their evidence is worth: each match was played once; of a stated probability
        # the more probable outcome counts
        if pairs.votes is not None:
            pairs = replace(pairs[pairs.votes > 0], votes=None)
        pairs = replace(pairs, weight=np.ones(pairs.n_pairs))
        self.pairs, self.time, self.rng, self.order_effect = pairs, time, rng, order_effect
        self.leader: Hashable | None = None
        self.pooled = _pooled(pairs)
        self.fit = self.refit(self.pooled)
        self.first, self.second = (x.astype(np.int64) for x in (pairs.first, pairs.second))
        self.n = pairs.counts.sum(axis=1)
        self.lead = self.fit.utility[self.first] - self.fit.utility[self.second]
        self.p = self.fit.probabilities(self.lead)  # (n_pairs, 3): first, second, tie
        low, high = np.minimum(self.first, self.second), np.maximum(self.first, self.second)
        _, self.meeting = np.unique(low * pairs.n_items + high, return_inverse=True)
        self.sign = np.where(self.first < self.second, 1.0, -1.0)  # towards the lower number
        self.meetings = np.zeros((pairs.n_items, pairs.n_items))  # matches of two items
        np.add.at(self.meetings, (self.first, self.second), self.n)
        self.meetings += self.meetings.T
        self.matches = self.meetings.sum(axis=1)

    def refit(self, pairs: Pairs) -> MatchFit:
        """Fit some of the matches."""
        near = getattr(self, "fit", None)
        return fit_matches(pairs, utility_scale=SCALE, order_effect=self.order_effect, near=near)

    @cached_property
    def duplicates(self) -> _Found:
        """What is found of matches that repeat others, which other probes leave out."""
        return _duplicates(self)

    @staticmethod
    def moments(p: Floats) -> tuple[Floats, Floats]:
        """Mean and variance of the points of a match: a half, minus a half, or nothing."""
        mean = (p[:, 0] - p[:, 1]) / 2
        return mean, (p[:, 0] + p[:, 1]) / 4 - mean**2

    def single_matches(self, *, once: bool = False) -> tuple[Ints, Ints]:
        """Row and outcome of each match; with `once`, equal matches count as one."""
        row, outcome = np.nonzero(self.pairs.counts)
        times = 1 if once else self.pairs.counts[row, outcome]
        return np.repeat(row, times), np.repeat(outcome, times)

    def name(self, item: int) -> str:
        return str(self.pairs.items[item])

    def groupings(self) -> dict[str, tuple[pd.Index, Ints]]:
        """Return labels and codes of judges and groups that have several labels."""
        return {
            name: (self.pairs.group_labels(name), self.pairs.group_idx(name).astype(np.int64))
            for name in ("judge", *self.pairs.groups)
            if len(self.pairs.group_labels(name)) > 1
        }


# Who met whom


def _connection(board: _Board) -> _Found:
    """Find the cut of the board into two groups that the fewest matches cross."""
    played = np.flatnonzero(board.matches)
    table = board.meetings[np.ix_(played, played)]
    n_parts, part = connected_components(table > 0, directed=False)
    if n_parts > 1:
        small = [board.name(i) for i in played[part != np.bincount(part).argmax()]]
        what = f"The board falls into {n_parts} parts that never met"
        consequence = f"nothing but the prior compares {name_some(small, 3)} with the others"
        return _found(what, consequence, 0.0, ACROSS, fires=True)
    if len(played) < 4:
        return _Found("There are fewer than four items, so there are no two groups to compare.")
    # along the second eigenvector of the normalised Laplacian lie the sparsest cuts
    scale = 1 / np.sqrt(table.sum(axis=1))
    _, vectors = np.linalg.eigh(np.eye(len(played)) - scale[:, None] * table * scale)
    order = (scale * vectors[:, 1]).argsort(kind="stable")
    ordered = table[np.ix_(order, order)]
    crossing = [ordered[:k, k:].sum() for k in range(2, len(played) - 1)]
    k = int(np.argmin(crossing)) + 2
    across = float(crossing[k - 2])
    sides = [[board.name(i) for i in played[side]] for side in (order[:k], order[k:])]
    small = min(sides, key=len)
    others = len(played) - len(small)
    return _found(
        f"{across:,.0f} of {board.n.sum():,} matches join {name_some(small, 3)} to the other "
        f"{others} items",
        "how the two groups compare hangs on these",
        across,
        ACROSS,
        fires=across < ACROSS,
    )


def _duplicates(board: "_Board") -> _Found:
    """Count matches that repeat another one in all respects."""
    groups = board.groupings()
    if not groups:
        return _Found("Nothing tells matches of the same two items apart: name users or prompts.")
    key = board.first * board.pairs.n_items + board.second
    row, outcome = board.single_matches()
    ended = 3 * key[row] + outcome
    who = np.zeros(len(ended), dtype=np.int64)
    for labels, idx in groups.values():
        _, who = np.unique(who * len(labels) + idx[row], return_inverse=True)
    n_who = int(who.max()) + 1

    def repeats(whose: Ints) -> int:
        cell = np.sort(ended * n_who + whose)
        return int((cell[1:] == cell[:-1]).sum())

    value = repeats(who)
    permuted = np.array([repeats(board.rng.permutation(who)) for _ in range(PERMUTED)], dtype=float)
    mean, sd = permuted.mean(), max(permuted.std(ddof=1), np.sqrt(permuted.mean() + 1))
    z = (value - mean) / sd
    p = float(norm.sf(z))
    *respects, last = ["items", "outcome", *groups]
    what = (
        f"{value:,} of {len(ended):,} matches repeat another with the same "
        f"{', '.join(respects)} and {last}; {mean:,.0f} are expected by chance"
    )
    fires = bool(p < RARE and value - mean > SHARE * len(ended))
    return _found(what, "votes may have been counted twice", z, p=p, fires=fires)


# How they ended


def _cycles(board: _Board) -> _Found:
    """Find the clearest cycle of three items, and how clear a cycle would be by chance."""
    items = np.sort(np.argsort(-board.matches, kind="stable")[:MOST_ITEMS])
    items = items[board.matches[items] > 0]
    if len(items) < 3:
        return _Found("There are fewer than three items: no cycle is possible.")
    pairs = board.pooled
    inside = pairs.counts.any(axis=1) & np.isin((pairs.first, pairs.second), items).all(axis=0)
    first, second = (np.searchsorted(items, side[inside]) for side in (pairs.first, pairs.second))
    n = pairs.counts[inside].sum(axis=1)
    lead = board.fit.utility[items][first] - board.fit.utility[items][second]
    p = board.fit.probabilities(lead)
    even, _ = board.moments(board.fit.probabilities(np.zeros_like(lead)))

    def table(values: Floats, mirrored: float) -> Floats:
        """Sum by the two items: (n_items, n_items), with its mirror image times a sign."""
        cell = np.bincount(first * len(items) + second, values, len(items) ** 2)
        square = cell.reshape(len(items), len(items))
        return np.asarray(square + mirrored * square.T)

    width = np.sqrt(table(n * board.moments(p)[1], 1.0))
    i, j, k = np.array(list(combinations(range(len(items)), 3))).T
    whole = (width[i, j] > 0) & (width[j, k] > 0) & (width[k, i] > 0)
    if not whole.any():
        return _Found("No three items all met each other: no cycle can be seen.")
    i, j, k = i[whole], j[whole], k[whole]

    def clearest(counts: NDArray[Any]) -> tuple[float, list[int]]:
        """Find the three items of the clearest cycle, and the least z of its three sides."""
        points = table((counts[:, 0] - counts[:, 1]) / 2 - n * even, -1.0)
        z = points / np.where(width > 0, width, 1.0)
        sides = np.stack([z[i, j], z[j, k], z[k, i]])
        around = np.maximum(sides.min(axis=0), -sides.max(axis=0))
        best = int(around.argmax())
        cycle = [int(x[best]) for x in (i, j, k)]
        return float(around[best]), cycle if sides[0, best] > 0 else cycle[::-1]

    value, cycle = clearest(pairs.counts[inside])
    one, other, third = (board.name(x) for x in items[cycle])
    drawn = np.array([clearest(board.rng.multinomial(n, p))[0] for _ in range(DRAWS)])
    rarity, typical = (1 + (drawn >= value).sum()) / (1 + DRAWS), float(np.median(drawn))
    if value <= 0:
        return _Found("No three items beat one another in a circle.", value, typical, rarity)
    what = (
        f"{one} beats {other}, {other} beats {third} and {third} beats {one}, each by {value:.1f} "
        "standard errors or more"
    )
    consequence = (
        f"without cycles, {typical:.1f} would be typical. One scale of strength does not describe "
        "these items"
    )
    return _found(what, consequence, value, typical, rarity, otherwise=CHANCE)


def _judges(board: _Board) -> _Found:
    """Find a judge whose votes go against those of all, or who favours an item."""
    labels, idx = board.pairs.judges, board.pairs.judge_idx.astype(np.int64)
    n_judges, n_items = len(labels), board.pairs.n_items
    if n_judges < 2:
        return _Found("There is one judge only.")
    # matches that are decided: how readily a judge calls ties is another question
    first, second = board.pairs.counts[:, 0], board.pairs.counts[:, 1]
    wins = board.p[:, 0] / (board.p[:, 0] + board.p[:, 1])
    points, variance = first * (1 - wins) - second * wins, (first + second) * wins * (1 - wins)
    one, other = (idx * n_items + side for side in (board.first, board.second))
    n_cells = n_judges * n_items
    favour = np.bincount(one, points, n_cells) - np.bincount(other, points, n_cells)
    spread = np.bincount(one, variance, n_cells) + np.bincount(other, variance, n_cells)
    against = np.bincount(idx, board.lead * points, n_judges)
    width = np.bincount(idx, board.lead**2 * variance, n_judges)
    off, widths = np.concatenate([against, favour]), np.concatenate([width, spread])
    tests = int((widths >= ENOUGH).sum())
    if not tests:
        return _Found("No judge has enough matches to compare it with the others.")
    all_z = np.where(widths < ENOUGH, 0.0, off / np.sqrt(np.maximum(widths, ENOUGH)))
    k = int(np.abs(all_z).argmax())
    z, p = float(all_z[k]), min(1.0, tests * 2 * float(norm.sf(abs(all_z[k]))))
    if k < n_judges:
        how = "more against" if z < 0 else "more closely with"
        what = f"{labels[k]} votes {how} the order of all others than chance explains"
    else:
        judge, item = divmod(k - n_judges, n_items)
        how = "favours" if z > 0 else "disfavours"
        what = f"{labels[judge]} {how} {board.name(item)}"
    what = f"{what}, by {abs(z):.1f} standard errors"
    return _found(what, "look at the ranks without this judge", z, p=p, otherwise=CHANCE)


def _answers(board: _Board) -> _Found:
    """Find a judge who gives one answer to everything, which the adherence cannot describe."""
    judges, counts = board.pairs.judges, board.pairs.counts
    if len(judges) < 2:
        return _Found("There is one judge only.")
    sides = counts[:, :2].any(axis=0).all()  # else the table has the winner in one column
    answers = np.stack(
        [np.bincount(board.pairs.judge_idx, c, len(judges)) for c in counts.T], axis=1
    )
    same = np.flatnonzero((answers > 0).sum(axis=1) == 1)
    same = same[sides | (answers[same, 2] > 0)]
    if not len(same):
        return _Found("No judge gives one answer in all matches.", value=0.0, expected=CERTAIN - 1)
    log_p = np.log(np.maximum(board.fit.probabilities(board.lead), np.finfo(float).tiny))
    log_likelihood = np.bincount(board.pairs.judge_idx, (counts * log_p).sum(axis=1), len(judges))[
        same
    ]
    n = answers[same].sum(axis=1)
    k = (
        int(np.where(n >= CERTAIN, log_likelihood, 0.0).argmin())
        if n.max() >= CERTAIN
        else int(n.argmax())
    )
    p = min(1.0, answers.size * np.exp(log_likelihood[k]))
    answer = ["the first", "the second", "a tie"][int(answers[same[k]].argmax())]
    more = len(same) - 1
    give = "judges give" if more > 1 else "judge gives"
    others = f", and {more} more {give} only one answer" if more else ""
    return _found(
        f"Judge {judges[same[k]]} answers {answer!r} in all {n[k]:,.0f} matches{others}",
        "these votes tell little about the reliability of the judge, so the prior decides the "
        "adherence. Look at the ranks without this judge",
        n[k],
        CERTAIN - 1,
        p,
        fires=n[k] >= CERTAIN and p < RARE,
        otherwise=CHANCE,
    )


def _clusters(board: _Board) -> _Found:
    """Say whether votes of one prompt, user or day on the same two items agree."""
    groups = {k: v for k, v in board.groupings().items() if len(v[0]) >= MANY}
    if not groups:
        return _Found(f"No group has {MANY} labels or more, such as prompts or users.")
    found = (
        _together(board, name, idx, len(labels), len(groups))
        for name, (labels, idx) in groups.items()
    )
    return min(found, key=lambda one: one.p)


def _together(board: _Board, name: str, idx: Ints, n_labels: int, tests: int) -> _Found:
    """Compare the agreement of votes inside a group with the agreement of all votes."""
    row, ended = board.single_matches(once=board.duplicates.fires)
    mean, _ = board.moments(board.p)
    value = board.sign[row] * (np.array([0.5, -0.5, 0.0])[ended] - mean[row])
    met, who = board.meeting[row], idx[row]

    cell = met * n_labels + who
    if len(np.unique(cell)) == len(cell):
        return _Found(f"No {name} votes twice on the same two items.", p=1.0)
    excess, variance = _agreement(value, met, cell)
    z = excess / max(float(np.sqrt(variance)), 1e-12)
    p = min(1.0, tests * norm.sf(z))
    share = excess / max(float((value**2).sum()), 1e-12)
    what = (
        f"Votes of one {name} on the same two items agree more than votes of several, by "
        f"{z:.1f} standard errors"
    )
    consequence = (
        f"together they vary {1 + share:.1f} times as much as independent ones, and intervals that "
        "take them for independent are too narrow"
    )
    return _found(what, consequence, z, p=p, otherwise=CHANCE)


def _agreement(value: Floats, met: Ints, cell: Ints) -> tuple[float, float]:
    r"""Sum of products of two values of one cell, less its mean under permutations; its variance.

    Values are permuted among the votes on the same two items. For two votes, a is 1 if they share
    their cell, and b is the product of their values. The moments of the sum of :math:`a b` over
    ordered pairs depend on three sums of each. S sums all values and T their squares; R sums the
    squares of the sums of each vote. See Mantel, Cancer Research 27, 1967, pp. 209-220.
    """
    _, first, cell, size = np.unique(
        cell, return_index=True, return_inverse=True, return_counts=True
    )
    whose = met[first]
    seen = (np.bincount(cell, value) ** 2).sum() - (value**2).sum()

    n = np.bincount(met).astype(np.float64)
    one, two, three, four = (np.bincount(met, value**k) for k in (1, 2, 3, 4))
    s_b, t_b = one**2 - two, two**2 - four
    r_b = one**2 * two - 2 * one * three + four
    s_a = t_a = np.bincount(whose, size * (size - 1.0), len(n))
    r_a = np.bincount(whose, size * (size - 1.0) ** 2, len(n))

    # ordered choices of two, three and four votes; where there are none, what they divide is 0
    pairs_of_votes, triples_of_votes, quadruples_of_votes = (
        np.maximum(np.prod([n - j for j in range(k)], axis=0), 1.0) for k in (2, 3, 4)
    )
    mean = s_a * s_b / pairs_of_votes
    square = 2 * t_a * t_b / pairs_of_votes + 4 * (r_a - t_a) * (r_b - t_b) / triples_of_votes
    square += (s_a**2 + 2 * t_a - 4 * r_a) * (s_b**2 + 2 * t_b - 4 * r_b) / quadruples_of_votes
    return float(seen - mean.sum()), max(float((square - mean**2).sum()), 0.0)


# What the ranks depend on


def _drift(board: _Board) -> _Found:
    """Say whether strengths change over time, by the test of columns."""
    if board.time is None:
        return _Found("No group is said to be the time of the matches.")
    pairs = replace(board.pairs, ordered=board.order_effect)
    clusters = [name for name in pairs.groups if name != board.time]
    seed = int(board.rng.integers(2**32))
    found = column_checks(pairs, [], times=[board.time], clusters=clusters, random_seed=seed)
    if note := found["note"].item():
        return _Found(f"Changes over {board.time} are not tested: {note}.")
    p = found["p"].item()
    what = f"Strengths change over {board.time} (p = {p:.4f})"
    consequence = "one strength for all times does not describe them"
    z = float(norm.isf(min(p, 0.5)))  # finite also where no sign gives a smaller statistic
    return _found(what, consequence, z, p=p, otherwise=CHANCE)


def _fragility(board: _Board) -> _Found:
    """Count the fewest matches without which another item leads."""
    utility = np.where(board.matches > 0, board.fit.utility, -np.inf)
    leader = int(utility.argmax())
    if board.leader not in (None, board.pairs.items[leader]):
        return _Found(f"Under a weak prior {board.name(leader)} leads instead of {board.leader}.")
    rivals = [int(i) for i in np.argsort(-utility)[1:6] if np.isfinite(utility[i])]
    if not rivals:
        return _Found("There is one item only.")
    rows, outcome = np.nonzero(board.pooled.counts)
    times = board.pooled.counts[rows, outcome]
    name, least = board.name(leader), SHARE * float(board.matches[leader])
    fewest, other = max(int(0.5 * board.matches[leader]), 1) + 1, -1
    for rival in rivals:
        effect = board.fit.influence(board.pooled, leader, rival)[rows, outcome]
        order = np.argsort(-effect)
        order = order[effect[order] > 0]
        if (effect * times)[order].sum() < utility[leader] - utility[rival]:
            continue
        removed = _removed(board, leader, rows[order], outcome[order], fewest - 1)
        if removed is not None:
            fewest, other = removed, rival
    if other < 0:
        says = f"Another leader than {name} needs more than half of its matches taken away."
        return _Found(says, np.inf, least)
    matches = "match" if fewest == 1 else "matches"
    what = (
        f"Without {fewest:,} {matches} of {board.n.sum():,}, {board.name(other)} would lead "
        f"instead of {name}"
    )
    fires = fewest < least or fewest <= 2
    return _found(what, "that is very few", fewest, least, fires=fires)


def _removed(board: _Board, leader: int, rows: Ints, outcome: Ints, limit: int) -> int | None:
    """Count the matches, the most influential first, without which another item leads."""
    counts = board.pooled.counts
    times = counts[rows, outcome]
    before = times.cumsum() - times

    def flips(n: int) -> bool:
        left = counts.copy()
        left[rows, outcome] -= np.clip(n - before, 0, times)
        if not left.any():
            return True
        fit = board.refit(board.pooled.with_counts(left))
        others = np.where(board.matches > 0, fit.utility, -np.inf)
        return bool(others.max() > fit.utility[leader] + LEVEL)

    low, high = 0, min(limit, int(times.sum()))
    if high < 1 or not flips(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if flips(middle) else (middle, high)
    return high


def _pooled(pairs: Pairs) -> Pairs:
    """Sum the counts of two items, each order by itself, over judges and whatever else there is."""
    ones = np.ones(pairs.n_pairs)
    cells = pair_totals(pairs.first, pairs.second, pairs.counts, ones, ordered=True)
    return pairs.with_counts(
        np.rint(cells.counts.T).astype(np.int64),
        judges=pairs.judges[:1],
        first=cells.first,
        second=cells.second,
        weight=np.ones(len(cells.first)),
        judge_idx=np.zeros(len(cells.first), dtype=np.int32),
        groups={},
        features=None,
        feature_names=None,
    )


PROBES: dict[str, Callable[[_Board], _Found]] = {
    "connection": _connection,
    "cycles": _cycles,
    "judges": _judges,
    "answers": _answers,
    "clusters": _clusters,
    "duplicates": lambda board: board.duplicates,
    "drift": _drift,
    "fragility": _fragility,
}
"""The probes, by their names."""
