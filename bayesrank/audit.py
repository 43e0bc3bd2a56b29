r"""Audit of a board of matches: what a careful reader would want to know before trusting it.

Eleven probes look at the matches, not at the ranks. Each gives a number, what would be expected of
it if nothing were wrong, and a sentence; it *fires* if the number is further off than chance makes
it once in a thousand boards, or beyond a limit that is stated.

===========  ==================================================================  ===================
probe        number                                                              expected
===========  ==================================================================  ===================
connection   matches across the weakest cut of the board into two groups         30 or more
cycles       largest z such that i beats j, j beats k and k beats i by z          simulated
order        log odds that being the first adds, in standard errors              within 3.3
ties         judge or group whose share of ties is furthest off, in z            normal, of so many
judges       judge whose decided votes go furthest against those of all, in z    normal, of so many
answers      most matches of a judge who gives one answer in all          19, or by chance
clusters     z of votes of one group on one pair going together                  permuted
selection    item whose opponents are fewer than its matches would give, in z    simulated
duplicates   matches that repeat another one in all respects, in z               permuted
drift        :math:`\chi^2` of strengths in the first half against the second     its degrees
fragility    fewest matches whose removal changes the leader, of the leader's    1 % or more
===========  ==================================================================  ===================

What is expected of outcomes is what Davidson's model says (Bradley-Terry's if nothing ties) at the
mode, with an order effect. The residuals of the counts of a pair,
:math:`\tfrac12 (c_1 - c_2) - \tfrac n2 (p_1 - p_2)`, have the variance that the model gives them,
and a probe is a contrast of them that the defect it looks for would make large. So each answers to
its own defect: a judge who contradicts all others makes no cycles, and votes that go together by
prompt do not look like a judge's.

With the posterior of a model of these matches, what is expected is what that model predicts, and
the probes of cycles, order, ties, judges and clusters say what it leaves open: contrasts of the
matches are compared with those of matches drawn from the posterior, whose variance includes what is
not known of the parameters. What the model knows of, opinions of judges or prompts, fires no more.

A probe that fires does not say that anybody cheated. It says what to look at.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.stats import chi2, gumbel_r, norm, t

from bayesrank.data import Pairs
from bayesrank.data.derive import pair_totals
from bayesrank.inference import MatchFit, fit_matches
from bayesrank.results.checks.match_checks import predicted_counts
from bayesrank.schema import COUNTS, FIRST, SECOND

__all__ = ["PROBES", "audit"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

RARE = 1e-3  # probability with which a probe fires where nothing is wrong
CERTAIN = 20  # matches of a judge from which one answer to all may be more than chance
ENOUGH = 5.0  # variance of a contrast of votes from which it is about normal
ACROSS = 30  # matches across a cut: the offset of two groups has a standard error of about 0.4
SHARE = 0.01  # of the leader's matches; if fewer of them change the leader, it is fragile
MANY = 20  # labels from which a group is one of many small ones, such as prompts
MOST_ITEMS = 40  # that are looked at for cycles: those with the most matches
DRAWS = 1000  # of simulated boards
PERMUTED = 50  # boards of which the mean and spread of repeats are taken
LEVEL = 1e-6  # difference of utilities below which neither leads: searches for modes are as exact
SCALE = 3.0  # prior standard deviation of utilities in the fits: little beside a few matches


def audit(
    pairs: Pairs,
    posterior: xr.DataTree | None = None,
    *,
    var: str = "y",
    time: str | None = None,
    order_effect: bool = True,
    probes: Sequence[str] | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Look for what makes a board of matches less trustworthy than its intervals say.

    Parameters
    ----------
    pairs : Pairs
        Matches, with their judges and whatever else tells them apart (user, prompt, day, category)
        as groups.
    posterior : DataTree, optional
        Of a model that observes these pairs, such as `leaderboard_model` or one's own of
        `Davidson`, with the group posterior_predictive:
        ``pm.sample_posterior_predictive(idata, extend_inferencedata=True)``. Then the probes of
        cycles, order, ties, judges and clusters say what this model leaves open, instead of what
        one without judges and groups would. Answers, drift and fragility are of that one in any
        case, and the others of no model.
    var : str
        The variable of that model that observes the pairs.
    time : str, optional
        The group whose labels are in order of time. Without it there is no probe of drift.
    order_effect : bool
        Whether the first item of a pair is one that stood first. False where the order means
        nothing, such as winner and loser; then there is no probe of it.
    probes : sequence of str, optional
        Which ones, by their names; by default all that the data allow.
    seed : int
        Of simulated and permuted boards.

    Returns
    -------
    DataFrame
        Indexed by probe: ``fires``; ``value`` and ``expected``, numbers of the kind that the table
        of the module `bayesrank.audit` lists, ``p``, how probable so large a value would be where
        nothing is wrong (NaN where there is a limit instead), and ``says``, a sentence. A probe
        that the data do not allow has NaN for a value and says why.

    Raises
    ------
    ValueError
        If there is no such group or probe, nothing was played, or the posterior is not one of
        these pairs or without predictions of them.

    Notes
    -----
    Judges have one adherence in what is expected, 1: that they differ in care is for
    `leaderboard_model` to say; the probe of judges fires where one votes against the others.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> wins = rng.binomial(40, [[0, 0.6, 0.7], [0, 0, 0.6], [0, 0, 0]])
    >>> wins += np.triu(40 - wins, 1).T
    >>> found = audit(Pairs.from_matrix(wins, items=["a", "b", "c"]), order_effect=False)
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
    drawn = None if posterior is None else _predicted(pairs, posterior, var)
    board = _Board(pairs, time, order_effect, np.random.default_rng(seed), drawn)
    found = [PROBES[name](board) for name in names]
    columns = ["fires", "value", "expected", "p", "says"]
    rows = [(f.fires, f.value, f.expected, f.p, f.says) for f in found]
    return pd.DataFrame(rows, columns=columns, index=pd.Index(names, name="probe"))


@dataclass(frozen=True)
class _Found:
    """What a probe found."""

    says: str
    value: float = np.nan
    expected: float = np.nan
    p: float = np.nan
    fires: bool = False


class _Board:
    """The matches, what is expected of them, and what all probes look at."""

    def __init__(
        self,
        pairs: Pairs,
        time: str | None,
        order_effect: bool,
        rng: np.random.Generator,
        drawn: NDArray[np.integer] | None,
    ) -> None:
        # whatever their evidence is worth: each match was played once
        pairs = replace(pairs, weight=np.ones(pairs.n_pairs))
        self.pairs, self.time, self.rng, self.order_effect = pairs, time, rng, order_effect
        self.pooled = _pooled(pairs)
        self.fit = self.refit(self.pooled)
        self.first, self.second = (x.astype(np.int64) for x in (pairs.first, pairs.second))
        self.n = pairs.counts.sum(axis=1)
        self.lead = self.fit.utility[self.first] - self.fit.utility[self.second]
        self.drawn = drawn  # (draws, n_pairs, 3): matches as the posterior predicts them
        self.p = self.fit.probabilities(self.lead)  # (n_pairs, 3): first, second, tie
        if drawn is not None:
            # and one match as at the mode, so that nothing is impossible, nor are pairs empty
            self.p = (drawn.sum(axis=0) + self.p) / (len(drawn) * self.n[:, None] + 1)
        low, high = np.minimum(self.first, self.second), np.maximum(self.first, self.second)
        self.met, self.meeting = np.unique(low * pairs.n_items + high, return_inverse=True)
        self.sign = np.where(self.first < self.second, 1.0, -1.0)  # towards the lower number
        self.matches = _played(pairs)

    def refit(self, pairs: Pairs) -> MatchFit:
        """Fit some of the matches."""
        near = getattr(self, "fit", None)
        return fit_matches(pairs, utility_scale=SCALE, order_effect=self.order_effect, near=near)

    @cached_property
    def duplicates(self) -> _Found:
        """What is found of matches that repeat others, which other probes leave out."""
        return _repeated(self)

    def sums(
        self, cells: Sequence[Ints], signs: Sequence[float], size: int, weights: Floats,
        variance: Floats,
    ) -> tuple[Floats, Floats]:  # fmt: skip
        """Sum weighted counts over the pairs of each cell: how far off they are, and the variance.

        The weights are one for each outcome of each pair, and `variance` that of their sum in the
        pair where nothing but chance moves it, which the posterior's draws say themselves.
        """

        def of(counts: NDArray[Any]) -> Floats:
            each = (weights * counts).sum(axis=1)
            return np.asarray(
                sum(s * np.bincount(k, each, size) for k, s in zip(cells, signs, strict=True))
            )

        seen = of(self.pairs.counts)
        if self.drawn is None:
            by_chance = sum(np.bincount(k, variance, size) for k in cells)
            return seen - of(self.n[:, None] * self.p), np.asarray(by_chance)
        drawn = np.stack([of(counts) for counts in self.drawn])
        # the mean of some draws is off by chance as well as the matches that were played
        return seen - drawn.mean(axis=0), drawn.var(axis=0, ddof=1) * (1 + 1 / len(drawn))

    def z(self, off: Floats, variance: Floats, enough: float = ENOUGH) -> Floats:
        """Standardise sums, to be normal where nothing is wrong; 0 where the variance is little.

        One that some draws say is known no better than that, which Student's t allows for.
        """
        z = np.where(variance < enough, 0.0, off / np.sqrt(np.maximum(variance, enough)))
        if self.drawn is None:
            return np.asarray(z)
        tail = t.sf(np.abs(z), len(self.drawn) - 1)
        return np.asarray(np.sign(z) * norm.isf(np.maximum(tail, np.finfo(float).tiny)))

    @staticmethod
    def moments(p: Floats) -> tuple[Floats, Floats]:
        """Mean and variance of the points of a match: a half, minus a half, or nothing."""
        mean = (p[:, 0] - p[:, 1]) / 2
        return mean, (p[:, 0] + p[:, 1]) / 4 - mean**2

    def name(self, item: int) -> str:
        return str(self.pairs.items[item])

    def groupings(self) -> dict[str, tuple[pd.Index, Ints]]:
        """Return judges, if there are several, and all groups of several labels."""
        names = ["judge", *self.pairs.groups]
        found = {k: (self.pairs.group_labels(k), self.pairs.group_idx(k)) for k in names}
        return {
            k: (labels, idx.astype(np.int64))
            for k, (labels, idx) in found.items()
            if len(labels) > 1
        }


# ---------------------------------------------------------------------------------------------
# Who met whom
# ---------------------------------------------------------------------------------------------


def _connection(board: _Board) -> _Found:
    """Find the cut of the board into two groups that the fewest matches cross."""
    n_items = board.pairs.n_items
    played = np.flatnonzero(board.matches)
    between = coo_array((board.n, (board.first, board.second)), shape=(n_items, n_items))
    table = (between + between.T).toarray()[np.ix_(played, played)].astype(np.float64)
    n_parts, part = connected_components(table > 0, directed=False)
    if n_parts > 1:
        small = [board.name(i) for i in played[part != np.bincount(part).argmax()]]
        return _Found(
            f"The board falls into {n_parts} parts that never met: nothing but the prior compares "
            f"{_some(small)} with the others.",
            value=0.0,
            expected=ACROSS,
            fires=True,
        )
    if len(played) < 4:
        return _Found("There are fewer than four items: no two groups to be told apart.")
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
    return _Found(
        f"{across:,.0f} of {board.n.sum():,} matches join {_some(small)} to the other "
        f"{len(played) - len(small)} items"
        + (": how the two groups compare hangs on these." if across < ACROSS else "."),
        value=across,
        expected=ACROSS,
        fires=across < ACROSS,
    )


def _selection(board: _Board) -> _Found:
    """Find an item that met fewer opponents than its matches would give."""
    n_items = board.pairs.n_items
    low, high = np.divmod(board.met, n_items)
    times = np.bincount(board.meeting, board.n)
    of_item = np.concatenate([low, high]).argsort(kind="stable")
    ends = np.bincount(np.concatenate([low, high]), minlength=n_items).cumsum()
    opponents = np.split(np.tile(times, 2)[of_item], ends[:-1])
    enough = np.flatnonzero(board.matches >= 10)
    if len(enough) < 5:
        return _Found("Fewer than five items have ten matches: nobody's opponents stand out.")
    count = np.array([_effective(opponents[i]) for i in enough])
    # boards are made by design, which spares pairs: it is who differs from the others that counts
    relative = np.log(count)
    centre = np.median(relative)
    spread = 1.4826 * np.median(np.abs(relative - centre))
    apart = (centre - relative) / max(spread, 0.1)
    k = int(apart.argmax())
    item, p = int(enough[k]), float(min(1.0, len(enough) * norm.sf(apart[k])))
    fires = p < RARE
    if fires:  # nor did it happen by chance, with few matches
        others = np.where(np.arange(n_items) == item, 0.0, board.matches)
        drawn = board.rng.multinomial(int(board.matches[item]), others / others.sum(), size=200)
        by_chance = np.log([_effective(times) for times in drawn])
        z = (by_chance.mean() - relative[k]) / max(by_chance.std(), 1e-3)
        fires = z > norm.isf(RARE / len(enough))
    met = np.exp(centre)
    return _Found(
        f"{board.name(item)} met as many opponents as if it had met {count[k]:.1f} of them "
        f"equally often; the median of all items is {met:.1f}"
        + (": its place rests on a selection of opponents." if fires else "."),
        value=float(apart[k]),
        expected=0.0,
        p=p,
        fires=bool(fires),
    )


def _duplicates(board: _Board) -> _Found:
    return board.duplicates


def _repeated(board: "_Board") -> _Found:
    """Count matches that repeat another one in all respects."""
    groups = board.groupings()
    if not groups:
        return _Found("Nothing tells matches of the same two items apart: name users or prompts.")
    key = board.first * board.pairs.n_items + board.second
    rows, outcome = np.nonzero(board.pairs.counts)
    times = board.pairs.counts[rows, outcome]
    match = np.repeat(np.arange(len(rows)), times)
    what = 3 * key[rows][match] + outcome[match]
    who = np.zeros(len(what), dtype=np.int64)
    for labels, idx in groups.values():
        _, who = np.unique(who * len(labels) + idx[rows][match], return_inverse=True)
    n_who = int(who.max()) + 1

    def repeats(whose: Ints) -> int:
        cell = np.sort(what * n_who + whose)
        return int((cell[1:] == cell[:-1]).sum())

    value = repeats(who)
    permuted = np.array([repeats(board.rng.permutation(who)) for _ in range(PERMUTED)], dtype=float)
    mean, sd = permuted.mean(), max(permuted.std(ddof=1), np.sqrt(permuted.mean() + 1))
    z = (value - mean) / sd
    p = float(norm.sf(z))
    fires = p < RARE and value - mean > SHARE * len(what)
    return _Found(
        f"{value:,} of {len(what):,} matches repeat another with the same "
        f"{_and(['items', 'outcome', *groups])}; {mean:,.0f} would by chance"
        + (": votes may have been counted twice." if fires else "."),
        value=float(z),
        expected=0.0,
        p=p,
        fires=bool(fires),
    )


# ---------------------------------------------------------------------------------------------
# How they ended
# ---------------------------------------------------------------------------------------------


def _cycles(board: _Board) -> _Found:
    """Find the clearest cycle of three items, and how clear a cycle would be by chance."""
    items = np.sort(np.argsort(-board.matches, kind="stable")[:MOST_ITEMS])
    items = items[board.matches[items] > 0]
    if len(items) < 3:
        return _Found("There are fewer than three items: no cycle is possible.")
    sides = board.pooled.first, board.pooled.second
    mine = board.pooled.counts.any(axis=1) & np.isin(sides, items).all(axis=0)
    one, other = (np.searchsorted(items, side[mine]) for side in sides)
    counts = board.pooled.counts[mine].T.astype(np.float64)
    low, high = np.minimum(one, other), np.maximum(one, other)
    met, meeting = np.unique(low.astype(np.int64) * len(items) + high, return_inverse=True)
    at = np.full(len(items) ** 2, -1)
    at[met] = np.arange(len(met))
    triads = np.array(list(combinations(range(len(items)), 3)))
    ij, jk, ik = (at[triads[:, a] * len(items) + triads[:, b]] for a, b in ((0, 1), (1, 2), (0, 2)))
    whole = (ij >= 0) & (jk >= 0) & (ik >= 0)
    if not whole.any():
        return _Found("No three items all met each other: no cycle can be seen.")
    triads, ij, jk, ik = (x[whole] for x in (triads, ij, jk, ik))

    # of each two that met: the points of the one beyond those that the order gives
    sign = np.where(one < other, 1.0, -1.0)
    n = counts.sum(axis=0).astype(np.int64)
    utility = board.fit.utility[items]
    lead = utility[one] - utility[other]
    p = board.fit.probabilities(lead)
    even, _ = board.moments(board.fit.probabilities(np.zeros_like(lead)))
    _, variance = board.moments(p)
    width = np.sqrt(np.bincount(meeting, n * variance))

    def clearest(counts: Floats) -> tuple[float, int]:
        points = (counts[0] - counts[1]) / 2 - n * even
        z = np.bincount(meeting, sign * points) / width
        sides = np.stack([z[ij], z[jk], -z[ik]])
        around = np.maximum(sides.min(axis=0), -sides.max(axis=0))
        best = int(around.argmax())
        return float(around[best]), best if z[ij[best]] > 0 else -1 - best

    value, best = clearest(counts)
    if board.drawn is None:
        boards = (board.rng.multinomial(n, p).T for _ in range(DRAWS))
    else:
        key = board.first * board.pairs.n_items + board.second
        keys = (sides[0].astype(np.int64) * board.pairs.n_items + sides[1])[mine]
        place = np.full(board.pairs.n_items**2, len(keys))  # those of other items come last
        place[keys] = np.arange(len(keys))
        boards = (
            np.stack([np.bincount(place[key], c, len(keys) + 1)[:-1] for c in one_board.T])
            for one_board in board.drawn
        )
    drawn = np.array([clearest(each.astype(np.float64))[0] for each in boards])
    rarity = _tail(value, drawn)
    around = triads[best] if best >= 0 else triads[-1 - best][::-1]
    i, j, m = (board.name(x) for x in items[around])
    what = f"{i} beats {j}, {j} beats {m} and {m} beats {i}, each by {value:.1f} standard errors"
    chance = f"; a board without cycles has {np.median(drawn):.1f} there"
    return _Found(
        "No three items beat one another in a circle."
        if value <= 0
        else f"{what} or more{chance}: one scale of strength does not describe these."
        if rarity < RARE
        else f"{what} or more, which may be chance.",
        value=value,
        expected=float(np.median(drawn)),
        p=rarity,
        fires=value > 0 and rarity < RARE,
    )


def _order(board: _Board) -> _Found:
    """Say whether being the first is an advantage."""
    if not board.order_effect:
        return _Found("The order of the items means nothing here.")
    if board.drawn is not None:
        return _order_left(board)
    value, error = board.fit.order_effect
    z = value / error
    p = float(2 * norm.sf(abs(z)))
    gain = 1 / (1 + np.exp(-value)) - 0.5
    known = ": a model without an order effect is wrong about those who often stand first"
    return _Found(
        f"Being the first adds {value:+.2f} (standard error {error:.2f}) to the log odds, and "
        f"{100 * gain:+.1f} % to the share of decided matches of equal items"
        + (f"{known}." if p < RARE else "."),
        value=z,
        expected=0.0,
        p=p,
        fires=p < RARE,
    )


def _order_left(board: _Board) -> _Found:
    """Say whether the first wins more often than the posterior predicts."""
    one = np.zeros(board.pairs.n_pairs, dtype=np.int64)
    weights = np.tile([0.5, -0.5, 0.0], (len(one), 1))
    z = float(board.z(*board.sums([one], [1.0], 1, weights, board.n / 4), ENOUGH / 4)[0])  # halves
    p = float(2 * norm.sf(abs(z)))
    return _Found(
        f"The first wins {'more' if z > 0 else 'less'} than the model predicts, by {abs(z):.1f} "
        "standard errors"
        + (": it does not take account of the order." if p < RARE else ", which may be chance."),
        value=z,
        expected=0.0,
        p=p,
        fires=p < RARE,
    )


def _ties(board: _Board) -> _Found:
    """Find who calls ties more or less readily than the others."""
    groups = {k: v for k, v in board.groupings().items() if len(v[0]) < MANY}
    if not board.pairs.counts[:, 2].any():
        return _Found("Nothing ties.")
    if not groups:
        return _Found("There is one judge and no group of few labels: nobody to compare.")
    p_tie = board.p[:, 2]
    label, z, p = _furthest(board, groups, board.n * p_tie * (1 - p_tie))
    if label is None:
        return _Found("Nobody has matches enough to compare their ties.")
    return _Found(
        f"{label} {'calls ties more often' if z > 0 else 'calls ties less often'} than the "
        f"closeness of its matches explains, by {abs(z):.1f} standard errors"
        + (": what a tie is differs by who judges." if p < RARE else ", which may be chance."),
        value=z,
        expected=0.0,
        p=p,
        fires=p < RARE,
    )


def _judges(board: _Board) -> _Found:
    """Find a judge whose votes go against those of all, or who favours an item."""
    groups = {k: v for k, v in board.groupings().items() if k == "judge"}
    if not groups:
        return _Found("There is one judge only.")
    labels, idx = groups["judge"]
    n_judges, n_items = len(labels), board.pairs.n_items
    # matches that are decided: how readily a judge calls ties is another question
    first, second = board.pairs.counts[:, 0], board.pairs.counts[:, 1]
    wins = board.p[:, 0] / (board.p[:, 0] + board.p[:, 1])
    off = np.stack([1 - wins, -wins, np.zeros_like(wins)], axis=1)
    variance = (first + second) * wins * (1 - wins)
    lead = board.lead
    against, width = board.sums([idx], [1.0], n_judges, lead[:, None] * off, lead**2 * variance)
    cells = [idx * n_items + side for side in (board.first, board.second)]
    favour, spread = board.sums(cells, [1.0, -1.0], n_judges * n_items, off, variance)
    widths = np.concatenate([width, spread])
    z = board.z(np.concatenate([against, favour]), widths)
    tests = int((widths >= ENOUGH).sum())
    if not tests:
        return _Found("No judge has matches enough to be compared with the others.")
    k = int(np.abs(z).argmax())
    p = _at_least_one(z[k], tests)
    if k < n_judges:
        how = "more against" if z[k] < 0 else "more closely with"
        what = f"{labels[k]} votes {how} the order of all others than chance explains"
    else:
        judge, item = divmod(k - n_judges, n_items)
        how = "favours" if z[k] > 0 else "disfavours"
        what = f"{labels[judge]} {how} {board.name(item)}"
    return _Found(
        f"{what}, by {abs(z[k]):.1f} standard errors"
        + (": look at the ranks without this judge." if p < RARE else ", which may be chance."),
        value=float(z[k]),
        expected=0.0,
        p=p,
        fires=p < RARE,
    )


def _answers(board: _Board) -> _Found:
    """Find a judge who gives one answer to everything.

    Where each two items always stand in the same order, a judge who always names the first follows
    an order perfectly, by however much adherence: of three judges with 120 matches each one had
    4.6 ± 20 with 116 divergences. Where sides are drawn it is near the prior, 0.9 ± 0.2.
    """
    judges, counts = board.pairs.judges, board.pairs.counts
    if len(judges) < 2:
        return _Found("There is one judge only.")
    sides = counts[:, :2].any(axis=0).all()  # else the table has the winner in one column
    said = np.stack([np.bincount(board.pairs.judge_idx, c, len(judges)) for c in counts.T], axis=1)
    same = np.flatnonzero((said > 0).sum(axis=1) == 1)
    same = same[sides | (said[same, 2] > 0)]
    if not len(same):
        return _Found("No judge gives one answer in all matches.", value=0.0, expected=CERTAIN - 1)
    log_p = np.log(np.maximum(board.fit.probabilities(board.lead), np.finfo(float).tiny))
    each = np.bincount(board.pairs.judge_idx, (counts * log_p).sum(axis=1), len(judges))[same]
    n = said[same].sum(axis=1)
    k = int(np.where(n >= CERTAIN, each, 0.0).argmin()) if n.max() >= CERTAIN else int(n.argmax())
    p = float(min(1.0, said.size * np.exp(each[k])))
    fires = bool(n[k] >= CERTAIN and p < RARE)
    answer = ["the first", "the second", "a tie"][int(said[same[k]].argmax())]
    others = f", and {len(same) - 1} more give one answer each" if len(same) > 1 else ""
    return _Found(
        f"Judge {judges[same[k]]} answers {answer!r} in all {n[k]:,.0f} matches{others}"
        + (
            ": that says next to nothing of its care, so its adherence is hardly known but from "
            "the prior. Look at the ranks without it."
            if fires
            else ", which may be chance."
        ),
        value=float(n[k]),
        expected=CERTAIN - 1,
        p=p,
        fires=fires,
    )


def _clusters(board: _Board) -> _Found:
    """Say whether votes of one prompt, user or day on the same two items go together."""
    groups = {k: v for k, v in board.groupings().items() if len(v[0]) >= MANY}
    if not groups:
        return _Found(f"No group has {MANY} labels or more, such as prompts or users.")
    best: _Found | None = None
    for name, (labels, idx) in groups.items():
        found = _together(board, name, idx, len(labels), len(groups))
        if best is None or not best.p <= found.p:
            best = found
    assert best is not None
    return best


def _together(board: _Board, name: str, idx: Ints, n_labels: int, tests: int) -> _Found:
    """Compare the agreement of votes inside a group with that of votes of anybody."""
    rows, outcome = np.nonzero(board.pairs.counts)
    times = 1 if board.duplicates.fires else board.pairs.counts[rows, outcome]
    match = np.repeat(np.arange(len(rows)), times)
    row, ended = rows[match], outcome[match]
    mean, _ = board.moments(board.p)
    value = board.sign[row] * (np.array([0.5, -0.5, 0.0])[ended] - mean[row])
    met, who = board.meeting[row], idx[row]

    cell = met * n_labels + who
    if len(np.unique(cell)) == len(cell):
        return _Found(f"No {name} votes twice on the same two items.", p=1.0)
    excess, variance = _agreement(value, met, cell)
    z = excess / max(float(np.sqrt(variance)), 1e-12)
    p = float(min(1.0, tests * norm.sf(z)))
    share = excess / max(float((value**2).sum()), 1e-12)
    return _Found(
        f"Votes of one {name} on the same two items agree more than votes of several, by "
        f"{z:.1f} standard errors"
        + (
            f": together they vary {1 + share:.1f} times as much as independent ones, and "
            "intervals that take them for independent are too narrow."
            if p < RARE
            else ", which may be chance."
        ),
        value=z,
        expected=0.0,
        p=p,
        fires=p < RARE,
    )


def _agreement(value: Floats, met: Ints, cell: Ints) -> tuple[float, float]:
    r"""Sum of products of two values of one cell, less its mean under permutations; its variance.

    Values are permuted among the votes on the same two items. With a of two votes saying whether
    they share their cell and b the product of their values, the sum over ordered pairs of :math:`a
    b` has moments that three sums of each know: S of all, T of their squares, and R of the squares
    of the sums of each vote (Mantel, Cancer Research 27, 1967, pp. 209-220).
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
    of_two, of_three, of_four = (
        np.maximum(np.prod([n - j for j in range(k)], axis=0), 1.0) for k in (2, 3, 4)
    )
    mean = s_a * s_b / of_two
    square = 2 * t_a * t_b / of_two + 4 * (r_a - t_a) * (r_b - t_b) / of_three
    square += (s_a**2 + 2 * t_a - 4 * r_a) * (s_b**2 + 2 * t_b - 4 * r_b) / of_four
    return float(seen - mean.sum()), max(float((square - mean**2).sum()), 0.0)


# ---------------------------------------------------------------------------------------------
# What the ranks hang on
# ---------------------------------------------------------------------------------------------


def _drift(board: _Board) -> _Found:
    """Compare strengths in the first half of the matches with those in the second."""
    if board.time is None:
        return _Found("No group is said to be the time of the matches.")
    idx = board.pairs.group_idx(board.time)
    by_time = np.bincount(idx, board.n).cumsum()
    cut = int(np.searchsorted(by_time, by_time[-1] / 2)) + 1
    if cut >= len(by_time):
        return _Found(f"All matches have one {board.time}.")
    halves = [_only(board.pairs, idx < cut), _only(board.pairs, idx >= cut)]
    fits = [board.refit(half) for half in halves]
    both = np.flatnonzero(np.logical_and(*(_played(half) > 0 for half in halves)))
    if len(both) < 2:
        return _Found("Fewer than two items have matches in both halves.")
    moved = fits[1].utility[both] - fits[0].utility[both]
    moved = moved - moved.mean()
    contrasts = np.zeros((len(both) - 1, fits[0].mode.size))  # to the last of them
    contrasts[range(len(both) - 1), both[:-1]], contrasts[:, both[-1]] = 1.0, -1.0
    covariance = sum(contrasts @ fit.solve(contrasts.T) for fit in fits)
    apart = moved[:-1] - moved[-1]
    value, degrees = float(apart @ np.linalg.solve(covariance, apart)), len(apart)
    p = float(chi2.sf(value, degrees))
    most = int(np.abs(moved).argmax())
    return _Found(
        f"Strengths before and after {board.pairs.group_labels(board.time)[cut]} differ by "
        f"{value:.0f} where {degrees} is expected; {board.name(both[most])} "
        f"moved most, {moved[most]:+.2f}"
        + (": one strength for all times does not describe them." if p < RARE else "."),
        value=value,
        expected=float(degrees),
        p=p,
        fires=p < RARE,
    )


def _fragility(board: _Board) -> _Found:
    """Count the fewest matches without which another item leads."""
    utility = np.where(board.matches > 0, board.fit.utility, -np.inf)
    leader = int(utility.argmax())
    rivals = [int(i) for i in np.argsort(-utility)[1:6] if np.isfinite(utility[i])]
    if not rivals:
        return _Found("There is one item only.")
    rows, outcome = np.nonzero(board.pooled.counts)
    limit = max(int(0.5 * board.matches[leader]), 1)
    best: tuple[int, int] | None = None
    for rival in rivals:
        effect = board.fit.influence(board.pooled, leader, rival)[rows, outcome]
        order = np.argsort(-effect)
        order = order[effect[order] > 0]
        told = effect[order] * board.pooled.counts[rows, outcome][order]
        if told.sum() < utility[leader] - utility[rival]:
            continue
        removed = _removed(board, leader, rows[order], outcome[order], effect[order], limit, rival)
        if removed is not None and (best is None or removed < best[0]):
            best = (removed, rival)
            limit = removed
    name = board.name(leader)
    if best is None:
        return _Found(
            f"Another leader than {name} needs more than half of its matches taken away.",
            value=float("inf"),
            expected=SHARE * float(board.matches[leader]),
        )
    least = SHARE * float(board.matches[leader])
    n, other = best[0], board.name(best[1])
    fires = n < least or n <= 2
    return _Found(
        f"Without {n:,} {'match' if n == 1 else 'matches'} of {board.n.sum():,}, {other} would "
        f"lead instead of {name}" + (": that is very few." if fires else "."),
        value=float(n),
        expected=least,
        fires=bool(fires),
    )


def _removed(
    board: _Board, leader: int, rows: Ints, outcome: Ints, effect: Floats, limit: int, rival: int
) -> int | None:
    """Count the matches, the most telling first, without which the leader is another one."""
    counts = board.pooled.counts
    times = counts[rows, outcome]
    before = times.cumsum() - times

    def flips(n: int) -> bool:
        left = counts.copy()
        left[rows, outcome] -= np.clip(n - before, 0, times)
        if not left.any():
            return True
        fit = board.refit(replace(board.pooled, counts=left))
        others = np.where(board.matches > 0, fit.utility, -np.inf)
        return bool(others.max() > fit.utility[leader] + LEVEL)

    gap = float(board.fit.utility[leader] - board.fit.utility[rival])
    reached = np.minimum((effect * times).cumsum(), np.inf)
    k = int(np.searchsorted(reached, gap))
    guess = (
        int(times.sum())
        if k >= len(times)
        else int(before[k] + np.ceil((gap - (reached[k] - effect[k] * times[k])) / effect[k]))
    )
    low, high = 0, min(max(guess, 1), limit)
    while not flips(high):  # one step says roughly how many; fits say whether they are enough
        low, high = high, 2 * high
        if low >= limit or low >= times.sum():
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if flips(middle) else (middle, high)
    return high


def _pooled(pairs: Pairs) -> Pairs:
    """Sum the counts of two items, each order by itself, over judges and whatever else there is."""
    ones = np.ones(pairs.n_pairs)
    cells = pair_totals(pairs.first, pairs.second, pairs.counts, ones, ordered=True)
    return replace(
        pairs,
        judges=pairs.judges[:1],
        first=cells.first,
        second=cells.second,
        counts=np.rint(cells.counts.T).astype(np.int64),
        weight=np.ones(len(cells.first)),
        judge_idx=np.zeros(len(cells.first), dtype=np.int32),
        groups={},
        features=None,
        feature_names=None,
    )


def _predicted(pairs: Pairs, posterior: xr.DataTree, var: str) -> NDArray[np.integer]:
    """Read the matches that a posterior predicts: (draws, n_pairs, 3)."""
    kept, drawn = predicted_counts(posterior, var, DRAWS)
    n_outcomes = drawn.shape[2]
    groups = [  # a model may know of fewer judges than the pairs
        name
        for name in sorted(kept.groups.keys() & {"judge", *pairs.groups})
        if {*map(str, kept.labels(name))} == {*map(str, pairs.coords[name])}
    ]
    mine = [pairs.first, pairs.second, *pairs.counts[:, :n_outcomes].T]
    theirs = [kept[FIRST].to_numpy(), kept[SECOND].to_numpy(), *kept[COUNTS].to_numpy().T]
    if kept.items is not None:
        mine[:2] = (pairs.coords["item"][item] for item in mine[:2])
        theirs[:2] = (kept.items.to_numpy()[item] for item in theirs[:2])
    mine += [pairs.coords[name][pairs.group_idx(name)] for name in groups]
    theirs += [kept.labels(name)[kept.codes(name)] for name in groups]
    asked, known = (pd.MultiIndex.from_arrays([x.astype(str) for x in y]) for y in (mine, theirs))
    order = np.arange(len(asked))
    if not asked.equals(known):
        matched = len(asked) == len(known) and asked.is_unique and known.is_unique
        order = known.get_indexer(asked) if matched else np.array([-1])
    if (order < 0).any():
        raise ValueError(
            f"The posterior is of other matches ({len(known):,} rows of "
            f"{kept[COUNTS].to_numpy().sum():,} matches) than these pairs ({len(asked):,} rows of "
            f"{pairs.counts[:, :n_outcomes].sum():,}), or rows that are alike are in another "
            "order. Give the pairs that its model observes."
        )
    if pairs.counts[:, n_outcomes:].any():
        raise ValueError(
            "These pairs have ties and the posterior is of a model without: take Davidson."
        )
    return np.pad(drawn[:, order], [(0, 0), (0, 0), (0, 3 - n_outcomes)])


def _played(pairs: Pairs) -> Floats:
    """How many matches each item is in."""
    n = pairs.counts.sum(axis=1)
    first, second = (np.bincount(side, n, pairs.n_items) for side in (pairs.first, pairs.second))
    return np.asarray(first + second)


def _only(pairs: Pairs, rows: NDArray[np.bool_]) -> Pairs:
    """Set the counts of all other pairs to 0."""
    return replace(pairs, counts=np.where(rows[:, None], pairs.counts, 0))


def _furthest(
    board: _Board, groups: dict[str, tuple[pd.Index, Ints]], variance: Floats
) -> tuple[str | None, float, float]:
    """Find the label whose ties are furthest off: its name, z, and p for so many labels."""
    names, z = [], []
    tied = np.tile([0.0, 0.0, 1.0], (board.pairs.n_pairs, 1))
    for name, (labels, idx) in groups.items():
        sums, width = board.sums([idx], [1.0], len(labels), tied, variance)
        each = board.z(sums, width)
        for k in np.flatnonzero(width >= ENOUGH).tolist():
            names.append(str(labels[k]) if name == "judge" else f"{name} {labels[k]}")
            z.append(each[k])
    if not names:
        return None, np.nan, np.nan
    furthest = int(np.abs(z).argmax())
    return names[furthest], float(z[furthest]), _at_least_one(z[furthest], len(z))


def _at_least_one(z: float, tests: int) -> float:
    """Probability, or a bound of it, that one of so many normals is so far from 0."""
    return float(min(1.0, tests * 2 * norm.sf(abs(z))))


def _tail(value: float, drawn: Floats) -> float:
    """Share of simulated boards that are as extreme, this one counted among them.

    Where they are few and none is, the tail of Gumbel's distribution, which that of the greatest of
    many falls faster than.
    """
    share = float((1 + (drawn >= value).sum()) / (1 + len(drawn)))
    if len(drawn) >= DRAWS or value <= drawn.max():
        return share
    scale = max(float(drawn.std()), 1e-12) * np.sqrt(6) / np.pi
    return min(share, float(gumbel_r.sf(value, drawn.mean() - np.euler_gamma * scale, scale)))


def _effective(times: NDArray[Any]) -> float:
    """Return how many opponents, met equally often, are as many as these."""
    share = times[times > 0] / times.sum()
    return float(np.exp(-(share * np.log(share)).sum()))


def _and(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _some(names: Sequence[str]) -> str:
    """Name a few of them."""
    return _and(names) if len(names) <= 4 else f"{', '.join(names[:3])} and {len(names) - 3} others"


PROBES: dict[str, Callable[[_Board], _Found]] = {
    "connection": _connection,
    "cycles": _cycles,
    "order": _order,
    "ties": _ties,
    "judges": _judges,
    "answers": _answers,
    "clusters": _clusters,
    "selection": _selection,
    "duplicates": _duplicates,
    "drift": _drift,
    "fragility": _fragility,
}
"""The probes, by their names."""
