"""A step method for a ranking among the parameters of a model, such as a consensus.

NUTS samples only continuous variables. PyMC's Metropolis adds integers to ranks and never proposes
another ranking. If only full rankings depend on the variable, the data reduce to a matrix of costs,
and a step redraws windows of places exactly.
"""

from typing import Any, ClassVar

import numpy as np
import pymc as pm
from pymc.blocking import RaveledVars
from pymc.pytensorf import join_nonshared_inputs, make_shared_replacements
from pymc.step_methods.arraystep import ArrayStepShared
from pymc.step_methods.compound import Competence
from pymc.util import get_value_vars_from_user_vars

from bayesrank.distributions.core.observed import check_coords
from bayesrank.inference.mixtures.conditionals import ConsensusData, MixtureData, depending
from bayesrank.inference.mixtures.metropolis import gibbs_sweep, metropolis_sweep

__all__ = ["LeapAndShift"]

MODE = "FAST_COMPILE"


class LeapAndShift(ArrayStepShared):
    r"""Metropolis step for a full ranking: an item leaps, and the items between shift.

    Each of the n items in turn proposes a leap of 1 to `leap` places, up or down with equal
    probability. It then proposes an exchange with another item. Leaps beyond the first or the last
    place are rejected. A step is accepted with probability :math:`\min(1, p(\rho') / p(\rho))`. A
    sweep takes 2n + 1 evaluations of the model's log-probability. If only full rankings of one
    Mallows model or mixture depend on the variable, no evaluations are needed. A sweep then
    redraws eight items at a time exactly.

    Parameters
    ----------
    vars : list of variables
        One variable whose last axis holds the ranks 1 to n.
    leap : int, optional
        The longest leap; by default, a fifth of the number of items.
    model : pm.Model, optional
        By default, the model in context.
    initial_point, compile_kwargs, blocked, rng
        Parameters of PyMC's step methods.

    Raises
    ------
    ValueError
        If there are several variables, the variable does not start as a full ranking, or `leap` is
        below 1.

    See Also
    --------
    Mallows, GeneralizedMallows, sample_consensus

    Notes
    -----
    Steps are local, so check R-hat and the effective sample size of the ranks. Up to 22 items,
    `Mallows` can marginalise its consensus and needs no such step. Create a new step after
    replacing data.

    References
    ----------
    Vitelli et al., Probabilistic preference learning with the Mallows rank model, JMLR 2018.

    Examples
    --------
    >>> import numpy as np
    >>> import pymc as pm
    >>> import bayesrank as br
    >>> rankings = br.Rankings.from_orderings([["a", "b", "c"], ["b", "a", "c"]])
    >>> with pm.Model(coords=rankings.coords):
    ...     consensus = br.PlackettLuce("consensus", np.zeros(3), dims="item")
    ...     y = br.Mallows("y", consensus, 2.0, observed=rankings)
    ...     step = br.LeapAndShift([consensus], rng=1)
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
        model = check_coords(pm.modelcontext(model))
        start = model.initial_point() if initial_point is None else initial_point
        values = get_value_vars_from_user_vars(vars, model)
        if len(values) != 1:
            raise ValueError(
                f"LeapAndShift takes one variable; got {[v.name for v in values]}. Create "
                "one step for each."
            )
        (value,) = values
        first = np.atleast_1d(start[value.name])
        n = first.shape[-1]
        if (np.sort(first, axis=-1) != np.arange(1, n + 1)).any() or value.dtype[0] not in "iu":
            raise ValueError(
                f"LeapAndShift expects a full ranking, the ranks 1 to n; {value.name!r} starts "
                f"with {np.array2string(first, threshold=6)}. Use it for variables such as a "
                "PlackettLuce that is not observed."
            )
        self.leap = max(1, n // 5) if leap is None else leap
        if self.leap < 1:
            raise ValueError(f"`leap` is {leap}; it must be 1 or more.")
        self.shape = first.shape
        shared = make_shared_replacements(start, values, model)
        self.data = _data(model, value)
        graphs = [model.logp()] if self.data is None else self.data.graphs
        outputs = model.replace_rvs_by_values(graphs)
        outputs, flat = join_nonshared_inputs(start, outputs, values, shared)
        # the graph of concentrations is small and needs no compilation
        small = self.data is not None and not isinstance(self.data, MixtureData)
        options = {"mode": MODE} if small else {}
        options |= {"on_unused_input": "ignore", **(compile_kwargs or {})}
        self.evaluate = pm.compile([flat], outputs, **options)
        self.evaluate.trust_input = True
        super().__init__(values, shared, blocked=blocked, rng=rng)

    def astep(self, q0: RaveledVars) -> tuple[RaveledVars, list[dict[str, float]]]:
        """Draw new rankings."""
        if self.data is None:
            return self._by_logp(q0)
        n = self.shape[-1]
        conditionals = self.data.conditionals(self.evaluate(q0.data), self.rng)
        # rows on which no rankings depend: all orders are equally likely
        uniform = np.tile(np.arange(1, n + 1), (q0.data.size // n, 1))
        ranks, taken = self.rng.permuted(uniform, axis=1), []
        for x in conditionals:
            ranks[x.row] = q0.data.reshape(ranks.shape)[x.row]
            cost_type = x.statistics.cost_type
            taken.append(gibbs_sweep(ranks[x.row], x.cost, cost_type, self.leap, self.rng))
        flat = ranks.ravel().astype(q0.data.dtype)
        return RaveledVars(flat, q0.point_map_info), [{"accepted": float(np.mean(taken))}]

    def _by_logp(self, q0: RaveledVars) -> tuple[RaveledVars, list[dict[str, float]]]:
        """Propose leaps, and accept them by the log-probability of the model."""
        flat = q0.data.copy()
        rows = flat.reshape(-1, self.shape[-1])  # views
        taken = [
            metropolis_sweep(row, lambda _: float(self.evaluate(flat)[0]), self.leap, self.rng)
            for row in rows
        ]
        return RaveledVars(flat, q0.point_map_info), [{"accepted": float(np.mean(taken))}]

    @staticmethod
    def competence(var: Any, has_grad: bool) -> Competence:
        """Leave the choice to the user: not every integer variable is a ranking."""
        return Competence.INCOMPATIBLE


def _data(model: pm.Model, value: Any) -> ConsensusData | None:
    """Find the data that depend on a variable; None if they have no matrix of costs."""
    data = depending(model, model.values_to_rvs[value])
    if data is None or (isinstance(data, MixtureData) and not data.is_counted):
        return None
    has_costs = all(statistics.cost_type is not None for *_, statistics in data.rows)
    return data if has_costs else None
