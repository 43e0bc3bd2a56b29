r"""The conditional distribution of a consensus that is a parameter, given all else.

A step method of a consensus and the EM algorithm both need it. The graph of the model says which
rankings depend on each row of the variable; their sufficient statistics are read once. Under a
mixture the component of a ranking is unknown: a step draws components with their probabilities, and
EM takes these as weights.

====================  =======================================================================
`Statistics`          the rankings that depend on one row
`Conditional`         the distribution of that row, given concentrations and weights
`MallowsData`, ...    an observed variable: the statistics of all its rows, and the graphs of
                      its concentrations
====================  =======================================================================
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pymc as pm
from numpy.typing import NDArray
from pymc.logprob.abstract import MeasurableOp
from pytensor.graph.traversal import ancestors
from scipy.optimize import linear_sum_assignment

from bayesrank.distributions.components import GeneralizedMallowsComponent, MallowsComponent
from bayesrank.distributions.generalized_mallows import ObservedStagesRV
from bayesrank.distributions.mixture import MixtureRV
from bayesrank.likelihoods.kinds import joint_of
from bayesrank.likelihoods.mallows import COST_KIND, DISTANCES, PAIRS, PLACES
from bayesrank.likelihoods.mallows.stage_kernels import stage_pairs_kernel
from bayesrank.likelihoods.mallows.step_kernels import (
    cheapest_order_kernel,
    climb_sweep_kernel,
    consensus_sweep_kernel,
    leap_sweep_kernel,
    place_costs_kernel,
)

__all__ = [
    "Conditional",
    "ConsensusData",
    "GeneralizedMallowsData",
    "MallowsData",
    "MixtureData",
    "StageStatistics",
    "Statistics",
    "combined",
    "depending",
    "is_flat",
]

MODE = "FAST_COMPILE"
WITH_CONSENSUS = (
    MallowsComponent,
    GeneralizedMallowsComponent,
)  # families of which kinds have an order
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Statistics:
    """Sufficient statistics of the rankings around one row of a variable.

    Attributes
    ----------
    ranks, item : array of int, (n_rankings, n_slots)
        Dense ranks from 1, 0 of empty slots, and which item of the consensus each slot has.
    distance : int
        Position in `DISTANCES`.
    kind : int or None
        Of the costs, if all rankings are full and their distance is a sum over items or pairs.
    """

    ranks: Ints
    item: Ints
    distance: int
    kind: int | None

    def costs(self, t: Floats, n: int) -> Floats:
        """Costs (n, n) of the consensus, of what a step costs each ranking, times its weight."""
        out = np.zeros((1, n, n))
        there = t != 0
        ranks, item = self.ranks[there], self.item[there]
        place_costs_kernel(t[there], ranks, np.zeros_like(item), item, self.distance, out)
        return out[0]

    def conditional(self, row: int, t: Any, weight: Floats, n: int) -> "Conditional":
        """Return the conditional, given the cost of a step, one number or one per ranking."""
        each = np.broadcast_to(t, weight.shape)
        cost = None if self.kind is None else self.costs(each * weight, n)
        return Conditional(row, self, each, weight, cost)


@dataclass(frozen=True)
class StageStatistics(Statistics):
    """The same of full rankings and top-k lists, by item, with a concentration for every stage.

    Attributes
    ----------
    n_stages : int
    """

    n_stages: int

    def pairs(self, weight: Floats) -> Any:
        """Pairs by stage, (n_stages, n, n), of which the costs are sums."""
        return stage_pairs_kernel(np.zeros(self.n_stages), self.ranks, weight)

    def conditional(self, row: int, t: Any, weight: Floats, n: int) -> "Conditional":
        """Return the conditional, given the cost of an item passed over, (n_stages,)."""
        return self.of_pairs(row, t, self.pairs(weight))

    def of_pairs(self, row: int, t: Any, pairs: Any) -> "Conditional":
        """Return the conditional from pairs that are counted already."""
        none = np.zeros(0)
        return Conditional(row, self, none, none, np.tensordot(t, pairs, 1))


class Conditional(NamedTuple):
    """Distribution of one row of a variable, given the rankings around it and their weights."""

    row: int
    statistics: Statistics
    t: Floats  # (n_rankings,) what a step of distance costs each
    weight: Floats  # (n_rankings,) how often each counts
    cost: Floats | None  # (n, n) of the consensus, if it is a sum over items or pairs

    def sweep(self, rho: Ints, leap: int, seed: int) -> float:
        """Change a consensus by a sweep of steps, in place; the share that was taken."""
        if self.cost is not None and self.statistics.kind is not None:
            return float(consensus_sweep_kernel(self.cost, self.statistics.kind, rho, leap, seed))
        return float(leap_sweep_kernel(*self._counted(), rho, self.statistics.distance, leap, seed))

    def climb(self, rho: Ints) -> None:
        """Change a consensus to one around which the rankings are most probable, in place.

        Under costs of places that is the best of all; otherwise of those that a leap of one item,
        or, where there are no costs, an exchange of two leads to.
        """
        if self.cost is None:
            climb_sweep_kernel(*self._counted(), rho, self.statistics.distance)
        elif self.statistics.kind != PLACES:
            cheapest_order_kernel(self.cost, self.statistics.kind, rho)
        else:
            item, place = linear_sum_assignment(self.cost)
            least, now = self.cost[item, place].sum(), self.cost[item, rho - 1].sum()
            if least < now * (1 - 1e-12):  # of equally good ones stay
                rho[item] = place + 1

    def _counted(self) -> tuple[Floats, Floats, Ints, Ints]:
        there = self.weight > 0
        statistics = self.statistics
        return self.t[there], self.weight[there], statistics.ranks[there], statistics.item[there]


def combined(given: Sequence[Conditional], n: int) -> Conditional:
    """Combine the conditionals of one row: none, one, or several with costs of one kind."""
    if len(given) == 1:
        return given[0]
    if not given:
        none, no_slots = np.zeros(0), np.zeros((0, n), np.int64)
        return Conditional(
            0, Statistics(no_slots, no_slots, 0, PLACES), none, none, np.zeros((n, n))
        )
    return given[0]._replace(cost=np.sum([x.cost for x in given], axis=0))


@dataclass(frozen=True)
class MallowsData:
    """A variable of rankings around one that is random.

    Attributes
    ----------
    graphs : list of one variable
        Concentration of each ranking, or of all.
    rows : list of tuple
        Rows of the random variable that rankings lie around: which one, those rankings, and they.
    weight : array of float, (n_rankings,)
    n : int
        Items.
    """

    graphs: list[Any]
    rows: list[tuple[int, Ints, Statistics]]
    weight: Floats
    n: int

    @property
    def statistics(self) -> list[Statistics]:
        """All rankings, by row."""
        return [statistics for *_, statistics in self.rows]

    @functools.cached_property
    def _costs(self) -> list[Floats | None]:
        """For a concentration of one, which all rankings have."""
        each = self.weight / self.n
        return [
            None if statistics.kind is None else statistics.costs(each[of], self.n)
            for _, of, statistics in self.rows
        ]

    def conditionals(self, values: Sequence[Any], rng: Any) -> list[Conditional]:
        """Return the conditional of every row, given concentrations, the values of the graphs."""
        alpha = np.asarray(values[0], dtype=np.float64)
        each = np.broadcast_to(alpha / self.n, self.weight.shape)
        found = []
        for (row, of, statistics), cost in zip(self.rows, self._costs, strict=True):
            t, weight = each[of], self.weight[of]
            if cost is not None and alpha.size == 1:
                found.append(Conditional(row, statistics, t, weight, cost * alpha))
            else:
                found.append(statistics.conditional(row, t, weight, self.n))
        return found


@dataclass(frozen=True)
class GeneralizedMallowsData:
    """A variable of rankings around one that is random, with a concentration for every stage.

    Attributes
    ----------
    graphs : list of one variable
        Concentrations, (n_stages,).
    rows : list of tuple
        Row of the random variable, the rankings, and their pairs by stage, (n_stages, n, n).
    n : int
        Items.
    """

    graphs: list[Any]
    rows: list[tuple[int, StageStatistics, Floats]]
    n: int

    @property
    def statistics(self) -> list[Statistics]:
        """All rankings, by row."""
        return [statistics for _, statistics, _ in self.rows]

    def conditionals(self, values: Sequence[Any], rng: Any) -> list[Conditional]:
        """As `MallowsData`: costs of pairs."""
        t = np.asarray(values[0], dtype=np.float64) / self.n
        return [statistics.of_pairs(row, t, pairs) for row, statistics, pairs in self.rows]


@dataclass(frozen=True)
class MixtureData:
    """A mixture of which components lie around a variable that is random.

    Attributes
    ----------
    graphs : list of variables
        Log-probability of each unit with each kind, and the concentrations of the components.
    rows : list of tuple
        Row of the random variable, kind, its part of the concentrations, and the rankings.
    unit : array of int, (n_rankings,)
        Whose each ranking is.
    weight : array of float, (n_units,)
    n : int
        Items.
    """

    graphs: list[Any]
    rows: list[tuple[int, int, slice, Statistics]]
    unit: Ints
    weight: Floats
    n: int

    @property
    def statistics(self) -> list[Statistics]:
        """All rankings, by row."""
        return [statistics for *_, statistics in self.rows]

    @property
    def is_counted(self) -> bool:
        """Whether weights are how many units said the same, of which each is of a kind."""
        return bool((self.weight == np.round(self.weight)).all())

    def conditionals(self, values: Sequence[Any], rng: Any) -> list[Conditional]:
        """As `MallowsData`, given components drawn with their probabilities."""
        joint, alpha = values[0], np.concatenate([np.ravel(x) for x in values[1:]])
        share = np.exp(joint - joint.max(axis=1, keepdims=True))
        share /= share.sum(axis=1, keepdims=True)
        members = rng.multinomial(self.weight.astype(np.int64), share).astype(np.float64)
        return self.weighted(members, alpha)

    def weighted(self, members: Floats, alpha: Floats) -> list[Conditional]:
        """As `conditionals`, given memberships (n_units, n_kinds) and concentrations."""
        return [
            statistics.conditional(row, alpha[which] / self.n, members[self.unit, kind], self.n)
            for row, kind, which, statistics in self.rows
        ]


ConsensusData = MallowsData | GeneralizedMallowsData | MixtureData


def depending(model: pm.Model, variable: Any) -> list[ConsensusData] | None:
    """Find what depends on a variable of rankings; None if that is not all known.

    Parameters
    ----------
    model : pm.Model
    variable : random variable of the model
        Of full rankings.

    Returns
    -------
    list or None
        None if the rankings are not equally likely a priori, or anything else depends on them than
        rankings around them.
    """
    if not is_flat(variable) or any(variable in ancestors([x]) for x in model.potentials):
        return None
    found: list[ConsensusData] = []
    for rv in model.basic_RVs:
        if rv is variable or variable not in ancestors([rv]):
            continue
        op = rv.owner.op
        if isinstance(op, MixtureRV):
            part: ConsensusData | None = _mixture_data(model, rv, variable)
        elif isinstance(op, ObservedStagesRV):
            part = _generalized_mallows_data(rv, variable)
        else:
            part = _mallows_data(rv, variable)
        if part is None:
            return None
        found.append(part)
    return found


def is_flat(variable: Any) -> bool:
    """Whether all full rankings are equally likely a priori."""
    op, inputs = variable.owner.op, variable.owner.inputs[2:]
    if getattr(op, "name", None) != "plackett_luce" or len(inputs) != 4:
        return False
    utility, where, sizes, _ = inputs
    if _is_random(utility):
        return False
    u, used, of_blocks = (x.eval(mode=MODE) for x in (utility, where, sizes))
    return bool(used.all() and (of_blocks == 1).all() and (u == u[..., :1]).all())


def _mallows_data(rv: Any, variable: Any) -> MallowsData | None:
    """Rankings that a Mallows variable observes, or None if it is another."""
    op = rv.owner.op
    if getattr(op, "name", None) != "mallows" or "is_ranking" not in getattr(op, "parameters", ()):
        return None
    p = op.named(rv.owner.inputs[2:])
    if variable in set(ancestors([p.alpha, p.ranks, p.weight])):
        return None
    entry = _entries(p.consensus, variable)
    if entry is None:
        return None
    ranks, weight = (x.eval(mode=MODE) for x in (p.ranks, p.weight))
    n = _length(variable)
    row, item = divmod(np.broadcast_to(entry, ranks.shape), n)
    distance = int(p.distance.data)
    groups = []
    for each in np.unique(row[:, 0]):
        of = np.flatnonzero(row[:, 0] == each)
        groups.append((int(each), of, _statistics(ranks[of], item[of], distance, n)))
    return MallowsData([p.alpha], groups, np.asarray(weight, dtype=np.float64), n)


def _generalized_mallows_data(rv: Any, variable: Any) -> GeneralizedMallowsData | None:
    """Rankings that a generalised Mallows variable observes."""
    p = rv.owner.op.named(rv.owner.inputs[2:])
    entry = _entries(p.consensus, variable)
    if entry is None or p.alpha.ndim > 1 or variable in set(ancestors([p.alpha])):
        return None
    ranks, weight = (x.eval(mode=MODE) for x in (p.ranks, p.weight))
    n = _length(variable)
    row, item = divmod(np.broadcast_to(entry, ranks.shape), n)
    found = []
    for each in np.unique(row[:, 0]):
        of = row[:, 0] == each
        statistics = _stage_statistics(ranks[of], item[of], p.alpha)
        found.append((int(each), statistics, statistics.pairs(np.asarray(weight[of], np.float64))))
    return GeneralizedMallowsData([p.alpha], found, n)


def _mixture_data(model: pm.Model, rv: Any, variable: Any) -> MixtureData | None:
    """Rankings of a mixture whose components lie around rows of a variable, one for each kind."""
    op = rv.owner.op
    p = op.named(rv.owner.inputs[2:])
    n = _length(variable)
    if variable in set(ancestors([p.weights, p.ranks, p.item])):
        return None
    ranks, item = (x.eval(mode=MODE).astype(np.int64) for x in (p.ranks, p.item))
    alphas: list[Any] = []
    rows: list[tuple[int, int, slice, Statistics]] = []
    first = which = 0
    for family, own in op.components(p):
        of_items = getattr(own, family.of_items)
        n_kinds = int(of_items.shape[0].eval(mode=MODE))
        here = [name for name, x in vars(own).items() if variable in set(ancestors([x]))]
        if here:
            entry = _entries(own.consensus, variable) if here == ["consensus"] else None
            if entry is None or not issubclass(family, WITH_CONSENSUS):
                return None
            row, places = divmod(entry, n)
            size = own.alpha.type.shape[1] if own.alpha.ndim > 1 else 1
            for g in range(n_kinds):
                item_of = places[g][item]
                statistics = (
                    _stage_statistics(ranks, item_of, own.alpha)
                    if issubclass(family, GeneralizedMallowsComponent)
                    else _statistics(ranks, item_of, int(own.distance.data), n)
                )
                rows.append((int(row[g, 0]), first + g, slice(which, which + size), statistics))
                which += size
            alphas.append(own.alpha)
        first += n_kinds
    if len({row for row, *_ in rows}) < len(rows):
        return None  # kinds that share a consensus
    (terms,) = model.logp(vars=[rv], sum=False, jacobian=False)
    unit = np.arange(len(ranks))
    unit = p.ranker.eval(mode=MODE).astype(np.int64) if op.by_ranker else unit
    weight = type(op).unit_weight(p).eval(mode=MODE)
    return MixtureData([joint_of(terms), *alphas], rows, unit, np.asarray(weight, np.float64), n)


def _statistics(ranks: Any, item: Any, distance: int, n: int) -> Statistics:
    ranks, item = (np.ascontiguousarray(x, dtype=np.int64) for x in (ranks, item))
    full = ranks.shape[1] == n and bool((np.sort(ranks, axis=1) == np.arange(1, n + 1)).all())
    kind = COST_KIND[DISTANCES[distance]] if full else None
    return Statistics(ranks, item, distance, kind)


def _stage_statistics(ranks: Any, item: Any, alpha: Any) -> StageStatistics:
    by_item = np.empty(ranks.shape, np.int64)
    np.put_along_axis(by_item, item, ranks, axis=1)
    own = np.broadcast_to(np.arange(ranks.shape[1]), ranks.shape)
    return StageStatistics(by_item, own, DISTANCES.index("kendall"), PAIRS, alpha.type.shape[-1])


def _entries(consensus: Any, variable: Any) -> Ints | None:
    """Which entries of a variable a consensus takes, if it does nothing else to them."""
    if _is_random(consensus, but=variable):
        return None
    shape = tuple(int(x.eval(mode=MODE)) for x in variable.shape)
    entry = np.arange(int(np.prod(shape))).reshape(shape)
    found, moved = (consensus.eval({variable: x}, mode=MODE) for x in (entry, entry[..., ::-1]))
    if not np.array_equal(moved, entry[..., ::-1].ravel()[found]):
        return None
    same_row = (found // shape[-1] == found[..., :1] // shape[-1]).all()
    return found.astype(np.int64) if same_row else None


def _length(variable: Any) -> int:
    return int(variable.shape[-1].eval(mode=MODE))


def _is_random(x: Any, but: Any = None) -> bool:
    """Whether a graph has random variables in it, but for one and what that is of."""
    above = ancestors([x], blockers=None if but is None else [but])
    made = [y.owner.op for y in above if y is not but and y.owner is not None]
    return any(isinstance(op, MeasurableOp) for op in made)
