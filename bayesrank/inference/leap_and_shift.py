r"""A step method for a ranking among the parameters of a model, such as a consensus.

NUTS samples what is continuous, and PyMC's Metropolis, which adds whole numbers to ranks, never
proposes another ranking. This one does: an item leaps to another place, and the items between shift
by one to make room (Vitelli et al. 2018). Any model with a variable of full rankings can take it.

Where all that depends on the variable are full rankings observed around it, under a distance that
is a sum over items or pairs, the data are a matrix of costs to it. Then a step is compiled as a
whole, takes microseconds however many the rankings, and draws windows of places anew, exactly.
"""

from typing import Any, ClassVar, NamedTuple

import numpy as np
import pymc as pm
from numpy.typing import NDArray
from pymc.blocking import RaveledVars
from pymc.logprob.abstract import MeasurableOp
from pymc.pytensorf import join_nonshared_inputs, make_shared_replacements
from pymc.step_methods.arraystep import ArrayStepShared
from pymc.step_methods.compound import Competence
from pymc.util import get_value_vars_from_user_vars
from pytensor.graph.traversal import ancestors

from bayesrank.likelihoods.mallows import DISTANCES, SUMMED_OUT
from bayesrank.likelihoods.mallows.step_kernels import consensus_sweep_kernel, place_costs_kernel

__all__ = ["LeapAndShift"]

MODE = "FAST_COMPILE"


class LeapAndShift(ArrayStepShared):
    r"""Metropolis steps of a full ranking: an item leaps, the items between shift.

    Each of the n items is given a chance in turn: a leap of 1 to `leap` places up or down, both
    equally likely, which is refused if it ends beyond the first or the last place. To leap back is
    as likely, so a step is accepted with probability :math:`\min(1, p(\rho') / p(\rho))`. One step
    takes n + 1 evaluations of the log-probability of the model.

    Parameters
    ----------
    vars : list of variables
        One variable whose last axis holds the ranks 1 to n.
    leap : int, optional
        The longest leap; default a fifth of the items.
    model : pm.Model, optional
        Default the model in context.
    initial_point, compile_kwargs, blocked, rng
        As PyMC's step methods have them.

    Raises
    ------
    ValueError
        If there is more than one variable, its first value holds no ranks, or `leap` is less than
        one.

    Notes
    -----
    Steps are local, so chains mix slowly where rankings agree much and items are many: look at
    R-hat and the effective number of draws, of ranks as well. Up to 22 items `Mallows` without a
    consensus needs no such chain. Make the step anew where data are replaced.

    Examples
    --------
    >>> import bayesrank as br
    >>> rankings = br.Rankings.from_orderings([["a", "b", "c"], ["b", "a", "c"]])
    >>> with pm.Model(coords=rankings.coords):
    ...     consensus = br.PlackettLuce("consensus", np.zeros(3), dims="item")
    ...     y = br.Mallows("y", consensus, 2.0, observed=rankings)
    ...     step = LeapAndShift([consensus], rng=1)
    >>> point, stats = step.step({"consensus": np.array([1, 2, 3])})
    >>> sorted(point["consensus"].tolist())
    [1, 2, 3]
    """

    name = "leap_and_shift"
    default_blocked = True
    stats_dtypes_shapes: ClassVar[dict[str, tuple[type, list[int]]]] = {
        "accepted": (np.float64, [])
    }

    def __init__(
        self,
        vars: Any,  # noqa: A002, PyMC's name
        *,
        leap: int | None = None,
        model: pm.Model | None = None,
        initial_point: Any = None,
        compile_kwargs: dict[str, Any] | None = None,
        blocked: bool = True,
        rng: Any = None,
    ) -> None:
        model = pm.modelcontext(model)
        start = model.initial_point() if initial_point is None else initial_point
        values = get_value_vars_from_user_vars(vars, model)
        if len(values) != 1:
            raise ValueError(
                f"LeapAndShift takes one variable; got {[v.name for v in values]}. Give each a "
                "step of its own."
            )
        (value,) = values
        first = np.atleast_1d(start[value.name])
        n = first.shape[-1]
        if (np.sort(first, axis=-1) != np.arange(1, n + 1)).any() or value.dtype[0] not in "iu":
            raise ValueError(
                f"{value.name!r} begins with {np.array2string(first, threshold=6)}, which is no "
                "full ranking: LeapAndShift is for variables of the ranks 1 to n, such as a "
                "PlackettLuce that is not observed."
            )
        self.leap = max(1, n // 5) if leap is None else leap
        if self.leap < 1:
            raise ValueError(f"`leap` is {leap}; an item leaps by one place at least.")
        self.shape = first.shape
        shared = make_shared_replacements(start, values, model)
        self.costs = _costs_of(model, value, first)
        concentrations = [] if self.costs is None else [x.alpha for x in self.costs]
        outputs = model.replace_rvs_by_values(concentrations) or [model.logp()]
        outputs, flat = join_nonshared_inputs(start, outputs, values, shared)
        # of alpha a small graph, in which nothing is to be compiled
        options = {"mode": MODE} if concentrations else {}
        outputs = outputs if concentrations else outputs[0]
        options |= {"on_unused_input": "ignore", **(compile_kwargs or {})}
        self.evaluate = pm.compile([flat], outputs, **options)
        self.evaluate.trust_input = True
        super().__init__(values, shared, blocked=blocked, rng=rng)

    def astep(self, q0: RaveledVars) -> tuple[RaveledVars, list[dict[str, float]]]:
        """Give every item a chance to leap."""
        if self.costs is None:
            return self._by_logp(q0)
        ranks = q0.data.reshape(-1, self.shape[-1]).astype(np.int64)
        alpha = self.evaluate(q0.data)
        cost = np.sum([x.at(a) for x, a in zip(self.costs, alpha, strict=True)], axis=0)
        kind, seeds = self.costs[0].kind, self.rng.integers(0, 2**62, size=len(ranks))
        taken = [
            consensus_sweep_kernel(own, kind, row, self.leap, seed)
            for own, row, seed in zip(cost, ranks, seeds, strict=True)
        ]
        flat = ranks.ravel().astype(q0.data.dtype)
        return RaveledVars(flat, q0.point_map_info), [{"accepted": float(np.mean(taken))}]

    def _by_logp(self, q0: RaveledVars) -> tuple[RaveledVars, list[dict[str, float]]]:
        """Leap by the log-probability of the model."""
        flat = q0.data.copy()
        ranks = flat.reshape(-1, self.shape[-1])  # a view
        n_rows, n = ranks.shape
        current, accepted = float(self.evaluate(flat)), 0
        for row in range(n_rows):
            for item in self.rng.permutation(n):
                here = ranks[row, item]
                there = here + self.rng.integers(1, self.leap + 1) * self.rng.choice((-1, 1))
                log_u = np.log(self.rng.random())
                if not 1 <= there <= n:
                    continue
                before = ranks[row].copy()
                _leap(ranks[row], item, there)
                proposed = float(self.evaluate(flat))
                if log_u < proposed - current:
                    current, accepted = proposed, accepted + 1
                else:
                    ranks[row] = before
        return RaveledVars(flat, q0.point_map_info), [{"accepted": accepted / (n_rows * n)}]

    @staticmethod
    def competence(var: Any, has_grad: bool) -> Competence:
        """Leave it to the user: not every variable of whole numbers is a ranking."""
        return Competence.INCOMPATIBLE


class _Costs(NamedTuple):
    """What full rankings cost a consensus, by the concentration of each or of all."""

    alpha: Any  # as a graph
    kind: int  # of the costs
    distance: int
    ranks: NDArray[np.int64]  # (n_rankings, n)
    row: NDArray[np.int64]  # of the consensus, of each slot, and its item
    item: NDArray[np.int64]
    weight: NDArray[np.float64]
    n_rows: int
    of_one: NDArray[np.float64]  # for a concentration of one

    def at(self, alpha: Any) -> NDArray[np.float64]:
        """Costs (n_rows, n, n)."""
        return self.of_one * alpha if np.ndim(alpha) == 0 else self.of_each(alpha)

    def of_each(self, alpha: Any) -> NDArray[np.float64]:
        """Costs of rankings with concentrations of their own."""
        n = self.ranks.shape[1]
        cost = np.zeros((self.n_rows, n, n))
        t = np.asarray(self.weight * alpha / n)
        place_costs_kernel(t, self.ranks, self.row, self.item, self.distance, cost)
        return cost


def _costs_of(model: pm.Model, value: Any, first: NDArray[Any]) -> list[_Costs] | None:
    """Costs of all that depends on a variable, if they are what its log-probability is made of."""
    variable = model.values_to_rvs[value]
    if not _is_flat(variable) or any(variable in ancestors([x]) for x in model.potentials):
        return None
    found = []
    for rv in model.basic_RVs:
        if rv is variable or variable not in ancestors([rv]):
            continue
        costs = _costs_of_rankings(rv, variable, first)
        if costs is None:
            return None
        found.append(costs)
    return found if len({x.kind for x in found}) == 1 else None


def _is_flat(variable: Any) -> bool:
    """Whether all full rankings are equally likely a priori."""
    op, inputs = variable.owner.op, variable.owner.inputs[2:]
    if getattr(op, "name", None) != "plackett_luce" or len(inputs) != 4:
        return False
    utility, where, sizes, _ = inputs
    if _is_random(utility):
        return False
    u, used, of_blocks = (x.eval(mode=MODE) for x in (utility, where, sizes))
    return bool(used.all() and (of_blocks == 1).all() and (u == u[..., :1]).all())


def _costs_of_rankings(rv: Any, variable: Any, first: NDArray[Any]) -> _Costs | None:
    """Costs of a variable that observes full rankings around another, or None."""
    op = rv.owner.op
    if getattr(op, "name", None) != "mallows" or "is_ranking" not in getattr(op, "parameters", ()):
        return None
    p = op.named(rv.owner.inputs[2:])
    distance = DISTANCES[int(p.distance.data)]
    others = ancestors([p.alpha, p.ranks, p.weight])
    if "where" in op.parameters or distance not in SUMMED_OUT or variable in set(others):
        return None
    # the consensus of the slots, if they take its entries and do nothing to them
    entry = np.arange(first.size).reshape(first.shape)
    if _is_random(p.consensus, but=variable):
        return None
    found, moved = (p.consensus.eval({variable: x}, mode=MODE) for x in (entry, entry[..., ::-1]))
    n = first.shape[-1]
    if not np.array_equal(moved, entry[..., ::-1].ravel()[found]):
        return None
    ranks, weight = (x.eval(mode=MODE) for x in (p.ranks, p.weight))
    shape = ranks.shape
    row, item = (np.ascontiguousarray(np.broadcast_to(x, shape)) for x in divmod(found, n))
    kind, n_rows = SUMMED_OUT[distance], first.size // n
    costs = _Costs(
        p.alpha, kind, DISTANCES.index(distance), ranks.astype(np.int64), row, item,
        np.asarray(weight, dtype=np.float64), n_rows, np.zeros(0),
    )  # fmt: skip
    return costs._replace(of_one=costs.of_each(1.0))


def _is_random(x: Any, but: Any = None) -> bool:
    """Whether a graph has random variables in it, but for one and what that is of."""
    above = ancestors([x], blockers=None if but is None else [but])
    made = [y.owner.op for y in above if y is not but and y.owner is not None]
    return any(isinstance(op, MeasurableOp) for op in made)


def _leap(ranks: Any, item: int, there: int) -> None:
    """Move an item to another place, and those between by one, in place."""
    here = ranks[item]
    if there > here:
        ranks[(ranks > here) & (ranks <= there)] -= 1
    else:
        ranks[(ranks < here) & (ranks >= there)] += 1
    ranks[item] = there
