r"""The conditional distribution of a consensus that is a parameter, given everything else.

A step method of a consensus and the EM algorithm both need it. The graph of the model says which
rankings depend on each row of the variable; their sufficient statistics are read once. Under a
mixture the component of a ranking is unknown: a step draws components with their probabilities, and
EM takes these as weights.

=============================  ==================================================================
`Statistics`                   the rankings that depend on one row
`Conditional`                  the distribution of that row, given concentrations and weights
`MallowsData`, `MixtureData`   an observed variable: the statistics of all its rows, and the graphs
                               of its concentrations
=============================  ==================================================================
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
from bayesrank.distributions.mixture import MixtureRV
from bayesrank.distributions.observed_mallows import ObservedMallowsRV
from bayesrank.inference.mixtures.metropolis import climb, metropolis_sweep
from bayesrank.likelihoods.mallows import COST_TYPE, DISTANCES, PAIRS, PLACES
from bayesrank.likelihoods.mallows.completion_kernels import completions_kernel
from bayesrank.likelihoods.mallows.stage_kernels import stage_pairs_kernel
from bayesrank.likelihoods.mallows.step_kernels import (
    cheapest_order_kernel,
    consensus_sweep_kernel,
)
from bayesrank.likelihoods.mixture import joint_of

__all__ = [
    "Conditional",
    "ConsensusData",
    "MallowsData",
    "MixtureData",
    "Statistics",
    "combined",
    "depending",
    "is_flat",
]

MODE = "FAST_COMPILE"
WITH_CONSENSUS = (MallowsComponent, GeneralizedMallowsComponent)
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
NONE = np.zeros(0)


@dataclass(frozen=True)
class Statistics:
    """Sufficient statistics of the rankings around one row of a variable.

    `ranks` (n_rankings, n_slots) are dense from 1, and 0 of empty slots; `item` is which item of
    the consensus each slot has. Both are by item if costs are known, so that `cost_type` is not
    None. `distance` is a position in `DISTANCES`. `n_stages` is 0, except in generalised models.
    """

    ranks: Ints
    item: Ints
    distance: int
    cost_type: int | None
    n_stages: int = 0

    def costs(self, weight: Floats) -> Any:
        """Return the costs of the consensus for a unit step, (1 or n_stages, n, n)."""
        if self.n_stages:
            return stage_pairs_kernel(np.zeros(self.n_stages), self.ranks, weight)
        used = weight != 0
        ranks, weight, n = self.ranks[used], weight[used], self.ranks.shape[1]
        if self.cost_type == PAIRS:  # how often an item is ranked before another
            return np.array([[weight @ (own[:, None] < ranks) for own in ranks.T]])
        cell = np.arange(n) * n + ranks - 1
        often = np.bincount(cell.ravel(), np.repeat(weight, n), n * n).reshape(n, n)
        apart = abs(np.subtract.outer(np.arange(n), np.arange(n)))
        return (often @ apart ** (1 + self.distance))[None]  # footrule 0, Spearman 1

    def conditional(self, row: int, t: Any, weight: Floats) -> "Conditional":
        """Return the conditional, given the costs of a step: one, by ranking or by stage."""
        if self.n_stages:
            return Conditional(row, self, NONE, NONE, np.tensordot(t, self.costs(weight), 1))
        by_ranking = np.broadcast_to(t, weight.shape)
        cost = None if self.cost_type is None else self.costs(by_ranking * weight)[0]
        return Conditional(row, self, by_ranking, weight, cost)


class Conditional(NamedTuple):
    """Distribution of one row of a variable, given the rankings around it and their weights."""

    row: int
    statistics: Statistics
    t: Floats  # (n_rankings,) what a step of distance costs each, unless `cost` says all
    weight: Floats  # (n_rankings,) how often each counts
    cost: Floats | None  # (n, n) of the consensus, if it is a sum over items or pairs

    def sweep(self, rho: Ints, leap: int, rng: np.random.Generator) -> float:
        """Change a consensus by a sweep of steps, in place; the share that was taken."""
        if self.cost is None:
            return metropolis_sweep(rho, self.log_likelihood, leap, rng, exchanges=True)
        seed = int(rng.integers(0, 2**62))
        return float(consensus_sweep_kernel(self.cost, self.statistics.cost_type, rho, leap, seed))

    def climb(self, rho: Ints) -> None:
        """Change a consensus to one around which the rankings are most probable, in place.

        Under costs of places that is the best of all; otherwise of those that a leap of one item,
        or, where there are no costs, an exchange of two leads to.
        """
        if self.cost is None:
            climb(rho, self.log_likelihood)
        elif self.statistics.cost_type != PLACES:
            cheapest_order_kernel(self.cost, self.statistics.cost_type, rho)
        else:
            item, place = linear_sum_assignment(self.cost)
            least, now = self.cost[item, place].sum(), self.cost[item, rho - 1].sum()
            if least < now * (1 - 1e-12):  # of equally good ones stay
                rho[item] = place + 1

    def log_likelihood(self, rho: Ints) -> float:
        """Log-likelihood of all rankings around a consensus, without normalisers."""
        used, own = self.weight > 0, self.statistics
        ranks, consensus = own.ranks[used], rho[own.item[used]]
        terms, _ = completions_kernel(self.t[used], ranks, consensus, rho.size, own.distance)
        return float(self.weight[used] @ terms)


def combined(conditionals: Sequence[Conditional], n: int) -> Conditional:
    """Combine the conditionals of one row: none, one, or several with costs of one type."""
    if len(conditionals) == 1:
        return conditionals[0]
    if not conditionals:
        no_slots = np.zeros((0, n), np.int64)
        return Conditional(
            0, Statistics(no_slots, no_slots, 0, PLACES), NONE, NONE, np.zeros((n, n))
        )
    return conditionals[0]._replace(cost=np.sum([x.cost for x in conditionals], axis=0))


@dataclass(frozen=True)
class MallowsData:
    """An observed variable of rankings around one that is random.

    `graphs` is its concentration: of each ranking, of all, or (n_stages,) of a generalised model.
    `rows` are the row of the random variable, the rankings around it, and their statistics;
    `weight` is how often each ranking counts, and `n` the number of items.
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
    def _costs(self) -> list[Any]:
        """By row, for concentrations of one."""
        return [
            None if own.cost_type is None else own.costs(self.weight[which]) / self.n
            for _, which, own in self.rows
        ]

    def conditionals(self, values: Sequence[Any], rng: Any) -> list[Conditional]:
        """Return the conditional of every row, given concentrations, the values of the graphs."""
        alpha = np.atleast_1d(np.asarray(values[0], dtype=np.float64))
        found = []
        for (row, which, own), costs in zip(self.rows, self._costs, strict=True):
            if costs is not None and len(alpha) == len(costs):
                cost = np.tensordot(alpha, costs, 1)
                found.append(Conditional(row, own, NONE, NONE, cost))
            else:
                t = np.broadcast_to(alpha / self.n, self.weight.shape)[which]
                found.append(own.conditional(row, t, self.weight[which]))
        return found


@dataclass(frozen=True)
class MixtureData:
    """A mixture of which components lie around a variable that is random.

    `graphs` are the log-probability of each unit with each component, and the concentrations of the
    components. `rows` are the row of the random variable, the component, its part of the
    concentrations, and the rankings. `unit` (n_rankings,) is whose each ranking is, `weight`
    (n_units,) how often a unit counts, and `n` the number of items.
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
        """Whether weights are how many units said the same, of which each is of a component."""
        return bool((self.weight == np.round(self.weight)).all())

    def conditionals(self, values: Sequence[Any], rng: Any) -> list[Conditional]:
        """As `MallowsData`, given components drawn with their probabilities."""
        joint, alpha = values[0], np.concatenate([np.ravel(x) for x in values[1:]])
        share = np.exp(joint - joint.max(axis=1, keepdims=True))
        share /= share.sum(axis=1, keepdims=True)
        members = rng.multinomial(self.weight.astype(np.int64), share).astype(np.float64)
        return self.weighted(members, alpha)

    def weighted(self, members: Floats, alpha: Floats) -> list[Conditional]:
        """As `conditionals`, given memberships (n_units, n_components) and concentrations."""
        return [
            own.conditional(row, alpha[which] / self.n, members[self.unit, component])
            for row, component, which, own in self.rows
        ]


ConsensusData = MallowsData | MixtureData


def depending(model: pm.Model, variable: Any) -> list[ConsensusData] | None:
    """Return what depends on a variable of full rankings; None if that is not all known.

    It is None if the rankings are not equally likely a priori, or if anything but rankings around
    them depends on them.
    """
    if not is_flat(variable) or any(variable in ancestors([x]) for x in model.potentials):
        return None
    found: list[ConsensusData] = []
    for rv in model.basic_RVs:
        if rv is variable or variable not in ancestors([rv]):
            continue
        part: ConsensusData | None = None
        if isinstance(rv.owner.op, MixtureRV):
            part = _mixture_data(model, rv, variable)
        elif isinstance(rv.owner.op, ObservedMallowsRV):
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
    """Read the rankings that a variable observes; None if more depends on the consensus."""
    op = rv.owner.op
    p = op.named(rv.owner.inputs[2:])
    entry = _entries(p.consensus, variable)
    if entry is None or variable in set(ancestors([p.alpha, p.ranks, p.weight])):
        return None
    if p.alpha.ndim > 1:  # stages, by ranking
        return None
    ranks, weight = (x.eval(mode=MODE) for x in (p.ranks, p.weight))
    n = _length(variable)
    row, item = divmod(np.broadcast_to(entry, ranks.shape), n)
    n_stages = p.alpha.type.shape[-1] if op.by_stage else 0
    rows = []
    for own in np.unique(row[:, 0]):
        which = np.flatnonzero(row[:, 0] == own)
        statistics = _statistics(ranks[which], item[which], int(p.distance.data), n, n_stages)
        rows.append((int(own), which, statistics))
    return MallowsData([p.alpha], rows, np.asarray(weight, dtype=np.float64), n)


def _mixture_data(model: pm.Model, rv: Any, variable: Any) -> MixtureData | None:
    """Rankings of a mixture in which each component has a row of the variable as its consensus."""
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
        n_components = int(of_items.shape[0].eval(mode=MODE))
        here = [name for name, x in vars(own).items() if variable in set(ancestors([x]))]
        if here:
            entry = _entries(own.consensus, variable) if here == ["consensus"] else None
            if entry is None or not issubclass(family, WITH_CONSENSUS):
                return None
            row, places = divmod(entry, n)
            n_stages = own.alpha.type.shape[1] if own.alpha.ndim > 1 else 0
            size = max(n_stages, 1)
            distance = DISTANCES.index("kendall") if n_stages else int(own.distance.data)
            for g in range(n_components):
                item_of = places[g][item]
                statistics = _statistics(ranks, item_of, distance, n, n_stages)
                rows.append((int(row[g, 0]), first + g, slice(which, which + size), statistics))
                which += size
            alphas.append(own.alpha)
        first += n_components
    if len({row for row, *_ in rows}) < len(rows):
        return None  # components that share a consensus
    (terms,) = model.logp(vars=[rv], sum=False, jacobian=False)
    unit = np.arange(len(ranks))
    unit = p.ranker.eval(mode=MODE).astype(np.int64) if op.by_ranker else unit
    weight = type(op).unit_weight(p).eval(mode=MODE)
    return MixtureData([joint_of(terms), *alphas], rows, unit, np.asarray(weight, np.float64), n)


def _statistics(ranks: Any, item: Any, distance: int, n: int, n_stages: int) -> Statistics:
    ranks, item = (np.ascontiguousarray(x, dtype=np.int64) for x in (ranks, item))
    full = ranks.shape[1] == n and bool((np.sort(ranks, axis=1) == np.arange(1, n + 1)).all())
    if not full and not n_stages:
        return Statistics(ranks, item, distance, None)
    by_item = np.empty_like(ranks)
    np.put_along_axis(by_item, item, ranks, axis=1)
    items = np.broadcast_to(np.arange(n), ranks.shape)
    return Statistics(by_item, items, distance, COST_TYPE[DISTANCES[distance]], n_stages)


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
