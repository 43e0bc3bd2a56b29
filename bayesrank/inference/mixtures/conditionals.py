r"""The conditional distribution of a consensus that is a parameter, given everything else.

The step method for a consensus and the EM algorithm both use it. The graph of the model shows which
rankings depend on each row of the variable, and their sufficient statistics are read once. In a
mixture, the component of a ranking is unknown: a step draws components with their probabilities,
and EM uses these probabilities as weights.

* `Statistics` holds the rankings that depend on one row.
* `Conditional` is the distribution of this row, given concentrations and weights.
* `MallowsData` and `MixtureData` hold an observed variable: the statistics of all rows, and the
  graphs of its concentrations.
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
from scipy.special import softmax

from bayesrank.distributions.mallows.observed import ObservedMallowsRV
from bayesrank.distributions.mixture.components import GeneralizedMallowsComponent, MallowsComponent
from bayesrank.distributions.mixture.mixture import MixtureRV
from bayesrank.inference.mixtures.metropolis import climb_by_pairs, improve_ranking
from bayesrank.likelihoods.mallows import COST_TYPE, DISTANCES, PLACES, total_costs
from bayesrank.likelihoods.mallows.completion_kernels import completions_kernel
from bayesrank.likelihoods.mallows.stage_kernels import stage_pairs_kernel
from bayesrank.likelihoods.mixture import joint_logp

__all__ = [
    "Conditional",
    "ConsensusData",
    "MallowsData",
    "MixtureData",
    "Statistics",
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

    `ranks` (n_rankings, n_slots) are dense from 1, and 0 in empty slots. `item` maps each slot to
    an item of the consensus. Both are in the order of the items if `cost_type` is not None, which
    means that costs are known. `distance` is a position in `DISTANCES`. `n_stages` is 0, except in
    generalised models.
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
        return total_costs(self.ranks[used], weight[used], DISTANCES[self.distance])[None]

    def conditional(self, row: int, t: Any, weight: Floats) -> "Conditional":
        """Return the conditional, given the cost of a unit step: common, by ranking or by stage."""
        if self.n_stages:
            return Conditional(row, self, NONE, NONE, np.tensordot(t, self.costs(weight), 1))
        by_ranking = np.broadcast_to(t, weight.shape)
        cost = None if self.cost_type is None else self.costs(by_ranking * weight)[0]
        return Conditional(row, self, by_ranking, weight, cost)


class Conditional(NamedTuple):
    """Distribution of one row of a variable, given the rankings around it and their weights."""

    row: int
    statistics: Statistics
    t: Floats  # (n_rankings,) cost of a unit step of distance; unused if `cost` is complete
    weight: Floats  # (n_rankings,) number of times that each ranking counts
    cost: Floats | None  # (n, n) cost of the consensus, if it is a sum over items or pairs

    def climb(self, rho: Ints) -> None:
        """Change a consensus to a mode of the probability of the rankings, in place.

        With costs of places, the mode is global. Otherwise it is local: no leap of one item and,
        without costs, no exchange of two items is better.
        """
        if self.cost is None:
            improve_ranking(rho, self.log_likelihood)
        elif self.statistics.cost_type != PLACES:
            climb_by_pairs(rho, self.cost)
        else:
            item, place = linear_sum_assignment(self.cost)
            least, now = self.cost[item, place].sum(), self.cost[item, rho - 1].sum()
            if least < now * (1 - 1e-12):  # keep the current order if it is equally good
                rho[item] = place + 1

    def log_likelihood(self, rho: Ints) -> float:
        """Return the log-likelihood of all rankings given a consensus, without normalisers."""
        used, data = self.weight > 0, self.statistics
        ranks, consensus = data.ranks[used], rho[data.item[used]]
        terms, _ = completions_kernel(self.t[used], ranks, consensus, rho.size, data.distance)
        return float(self.weight[used] @ terms)


@dataclass(frozen=True)
class MallowsData:
    """An observed variable of rankings whose consensus is a random variable.

    `graphs` holds its concentration: by ranking, common to all, or (n_stages,) in a generalised
    model. Each of `rows` holds the row of the random variable, the positions of its rankings, and
    their statistics. `weight` is the number of times each ranking counts, and `n` is the number of
    items.
    """

    graphs: list[Any]
    rows: list[tuple[int, Ints, Statistics]]
    weight: Floats
    n: int

    @functools.cached_property
    def _costs(self) -> list[Any]:
        """Costs by row, for concentrations of one."""
        return [
            None if data.cost_type is None else data.costs(self.weight[which]) / self.n
            for _, which, data in self.rows
        ]

    def conditionals(self, values: Sequence[Any], rng: Any) -> list[Conditional]:
        """Return the conditional of every row, given the concentrations (values of the graphs)."""
        alpha = np.atleast_1d(np.asarray(values[0], dtype=np.float64))
        found = []
        for (row, which, data), costs in zip(self.rows, self._costs, strict=True):
            if costs is not None and len(alpha) == len(costs):
                cost = np.tensordot(alpha, costs, 1)
                found.append(Conditional(row, data, NONE, NONE, cost))
            else:
                t = np.broadcast_to(alpha / self.n, self.weight.shape)[which]
                found.append(data.conditional(row, t, self.weight[which]))
        return found


@dataclass(frozen=True)
class MixtureData:
    """A mixture in which a random variable is the consensus of components.

    `graphs` holds the log-probability of each unit with each component, and the concentrations of
    the components. Each of `rows` holds the row of the random variable, the component, its slice of
    the concentrations, and the statistics. `unit` (n_rankings,) is the unit of each ranking,
    `weight` (n_units,) is the number of times a unit counts, and `n` is the number of items.
    """

    graphs: list[Any]
    rows: list[tuple[int, int, slice, Statistics]]
    unit: Ints
    weight: Floats
    n: int

    @property
    def is_counted(self) -> bool:
        """Return whether weights are counts of identical units, each with its own component."""
        return bool((self.weight == np.round(self.weight)).all())

    def conditionals(self, values: Sequence[Any], rng: Any) -> list[Conditional]:
        """Return conditionals as `MallowsData` does, given random draws of the components."""
        joint, alpha = values[0], np.concatenate([np.ravel(x) for x in values[1:]])
        counts = rng.multinomial(self.weight.astype(np.int64), softmax(joint, axis=1))
        return self.weighted(counts.astype(np.float64), alpha)

    def weighted(self, probability: Floats, alpha: Floats) -> list[Conditional]:
        """Return conditionals, given component probabilities by unit, and concentrations."""
        return [
            data.conditional(row, alpha[which] / self.n, probability[self.unit, component])
            for row, component, which, data in self.rows
        ]


ConsensusData = MallowsData | MixtureData


def depending(model: pm.Model, variable: Any) -> ConsensusData | None:
    """Find the data that depend on a variable of full rankings.

    Returns None if the rankings are not equally likely a priori, or unless exactly one variable
    depends on them, which observes rankings.
    """
    others = [rv for rv in model.basic_RVs if rv is not variable]
    dependent = [x for x in [*others, *model.potentials] if variable in ancestors([x])]
    if len(dependent) != 1 or not is_flat(variable):
        return None
    op = getattr(dependent[0].owner, "op", None)
    if isinstance(op, MixtureRV):
        return _mixture_data(model, dependent[0], variable)
    return _mallows_data(dependent[0], variable) if isinstance(op, ObservedMallowsRV) else None


def is_flat(variable: Any) -> bool:
    """Return whether all full rankings are equally likely a priori."""
    op, inputs = variable.owner.op, variable.owner.inputs[2:]
    if getattr(op, "name", None) != "plackett_luce" or len(inputs) != 3:
        return False
    utility, mask, sizes = inputs
    if _is_random(utility):
        return False
    u, used, block_sizes = (x.eval(mode=MODE) for x in (utility, mask, sizes))
    return bool(used.all() and (block_sizes == 1).all() and (u == u[..., :1]).all())


def _mallows_data(rv: Any, variable: Any) -> MallowsData | None:
    """Read the rankings that a variable observes; None if more depends on the consensus."""
    op = rv.owner.op
    p = op.named(rv.owner.inputs[2:])
    entry = _entries(p.consensus, variable)
    if entry is None or variable in set(ancestors([p.alpha, p.ranks, p.weight])):
        return None
    if p.alpha.ndim > 1:  # concentrations by stage and by ranking
        return None
    ranks, weight = (x.eval(mode=MODE) for x in (p.ranks, p.weight))
    n = _length(variable)
    row, item = divmod(np.broadcast_to(entry, ranks.shape), n)
    n_stages = p.alpha.type.shape[-1] if op.by_stage else 0
    rows = []
    for number in np.unique(row[:, 0]):
        which = np.flatnonzero(row[:, 0] == number)
        statistics = _statistics(ranks[which], item[which], int(p.distance.data), n, n_stages)
        rows.append((int(number), which, statistics))
    return MallowsData([p.alpha], rows, np.asarray(weight, dtype=np.float64), n)


def _mixture_data(model: pm.Model, rv: Any, variable: Any) -> MixtureData | None:
    """Read a mixture in which the consensus of each component is a row of the variable."""
    op = rv.owner.op
    p = op.named(rv.owner.inputs[2:])
    n = _length(variable)
    if variable in set(ancestors([p.weights, p.ranks, p.item])):
        return None
    ranks, item = (x.eval(mode=MODE).astype(np.int64) for x in (p.ranks, p.item))
    alphas: list[Any] = []
    rows: list[tuple[int, int, slice, Statistics]] = []
    first = which = 0
    for family, parameters in op.components(p):
        utilities = getattr(parameters, family.by_item)
        n_components = int(utilities.shape[0].eval(mode=MODE))
        dependent = [
            name for name, x in vars(parameters).items() if variable in set(ancestors([x]))
        ]
        if dependent:
            entry = _entries(parameters.consensus, variable) if dependent == ["consensus"] else None
            if entry is None or not issubclass(family, WITH_CONSENSUS):
                return None
            row, places = divmod(entry, n)
            n_stages = parameters.alpha.type.shape[1] if parameters.alpha.ndim > 1 else 0
            size = max(n_stages, 1)
            distance = DISTANCES.index("kendall") if n_stages else int(parameters.distance.data)
            for g in range(n_components):
                item_of = places[g][item]
                statistics = _statistics(ranks, item_of, distance, n, n_stages)
                rows.append((int(row[g, 0]), first + g, slice(which, which + size), statistics))
                which += size
            alphas.append(parameters.alpha)
        first += n_components
    if len({row for row, *_ in rows}) < len(rows):
        return None  # several components share a consensus
    (terms,) = model.logp(vars=[rv], sum=False, jacobian=False)
    unit = np.arange(len(ranks))
    unit = p.ranker.eval(mode=MODE).astype(np.int64) if op.by_ranker else unit
    weight = type(op).unit_weight(p).eval(mode=MODE)
    return MixtureData([joint_logp(terms), *alphas], rows, unit, np.asarray(weight, np.float64), n)


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
    """Find the entries of a variable that a consensus takes unchanged; None if it changes them."""
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
    """Return whether a graph contains random variables, except one and its ancestors."""
    above = ancestors([x], blockers=None if but is None else [but])
    made = [y.owner.op for y in above if y is not but and y.owner is not None]
    return any(isinstance(op, MeasurableOp) for op in made)
