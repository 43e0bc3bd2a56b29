r"""Best and worst of a set as a PyMC distribution, for best-worst scaling (MaxDiff).

The value has one ranking per task, as in `PlackettLuce`. Rank 1 is the best item, the last rank is
the worst one, and all others have the rank between.
"""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, ClassVar, Literal, Unpack

import numpy as np
import pytensor.tensor as pt
from numpy.typing import NDArray
from pymc.distributions.dist_math import check_parameters
from pytensor.tensor import TensorLike, TensorVariable

from bayesrank.data import Rankings
from bayesrank.data.read import label_repr
from bayesrank.distributions.core.by_name import Named
from bayesrank.distributions.core.drawn import batch_shape
from bayesrank.distributions.core.observed import (
    DistOptions,
    Record,
    is_observed,
    observe,
    refuse_single_precision,
    with_given,
)
from bayesrank.distributions.rankings.orders import (
    ObservedRankingsRV,
    WeakOrderRV,
    WeakOrders,
    ranks_from_scores,
    slot_order_ranks,
    slot_parameters,
)
from bayesrank.likelihoods.choices import METHODS, best_score, best_worst_logp
from bayesrank.schema import ITEM

__all__ = ["MaxDiff", "MaxDiffRV", "check_best_worst"]

PARAMETERS = {"utility": "slot", "where": "slot", "method": ""}


class MaxDiffRV(WeakOrderRV):
    """Draw the best item, and then the worst one from the rest, by Gumbel noise."""

    name = "max_diff"
    parameters: ClassVar[Mapping[str, str]] = PARAMETERS
    _print_name = ("MaxDiff", "\\operatorname{MaxDiff}")
    outcomes = "weak orders given their block sizes"

    @classmethod
    def draw(cls, rng: Any, size: Any, p: SimpleNamespace) -> tuple[Any, TensorVariable]:
        batch = batch_shape(p.utility, p.where) if size is None else size
        shape = (2, *batch, p.utility.shape[-1])
        next_rng, noise = pt.random.gumbel(0, 1, size=shape, rng=rng, return_next_rng=True)
        u = pt.switch(p.where, p.utility, 0.0)
        best = _highest(best_score(u, p.where, method=method_of(p)) + noise[0], p.where)
        worst = _highest(noise[1] - u, p.where & ~best)
        score = pt.cast(best, "int64") - pt.cast(worst, "int64")
        return next_rng, ranks_from_scores(score, p.where, _sizes(p.where))

    @classmethod
    def logp(cls, value: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        """Return one log-probability per ranking."""
        utility = pt.switch(p.where, p.utility, 0.0)
        logp = best_worst_logp(utility, value, method=method_of(p))
        return check_parameters(
            pt.switch(pt.all(pt.eq(value > 0, p.where), axis=-1), logp, -pt.inf),
            pt.all(~p.where | pt.isfinite(p.utility)),
            msg="utility must be finite in the slots in use",
        )

    @classmethod
    def support_point(cls, rv: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        return slot_order_ranks(rv, p.where, _sizes(p.where))


class MaxDiff(WeakOrders):
    r"""Log-likelihood of best-worst choices (MaxDiff), sequential or by Marley's maxdiff model.

    .. math:: P_\text{sequential}(b, w) = \frac{e^{u_b}}{\sum_{i \in C} e^{u_i}} \cdot
              \frac{e^{-u_w}}{\sum_{j \in C \setminus b} e^{-u_j}}, \qquad
              P_\text{marley}(b, w) = \frac{e^{u_b - u_w}}{\sum_{i \ne j} e^{u_i - u_j}}

    where b is the best and w the worst item of the set C, and :math:`u_i` the utility of item i.
    Both probabilities sum to one over the K (K - 1)
    ordered pairs of K items. A third likelihood of the same data is the *rank-ordered logit with
    ties*, which is `PlackettLuce` with the same `Rankings`. The person then orders all items, and
    reports only the first and the last. `bayesrank.compare` shows which one predicts best.

    Values are weak orders {best} > {others} > {worst} of the slots in use, on the last axis. Sets
    of two items have two blocks. The leading axes are rankings.

    Parameters
    ----------
    name : str
        Name of the variable.
    utility : tensor_like of float, (..., n_slots), or variable with dims
        Log worth, as in `PlackettLuce`. Under ``"marley"``, the utilities of two items differ half
        as much: their set of two is Bradley-Terry with twice the difference.
    method : {"sequential", "marley"}
        Sequential: the person chooses the best item, and then the worst one from the rest. For the
        worst item first, negate the utilities and reverse the rankings. Marley: the person compares
        all pairs at once.
    where, utility_dims, observed, **kwargs
        As in `PlackettLuce`.

    Returns
    -------
    TensorVariable of int, (..., n_slots)
        The ranks, as in `PlackettLuce`.

    Raises
    ------
    ValueError
        If the method is unknown, or a ranking is not a best-worst choice.

    See Also
    --------
    PlackettLuce, part_worths, Rankings.from_best_worst, Rankings.from_choices

    References
    ----------
    Marley & Louviere, Some probabilistic models of best, worst, and best-worst choices, Journal of
    Mathematical Psychology 2005.

    Examples
    --------
    >>> import bayesrank as br, pymc as pm
    >>> tasks = br.Rankings.from_orderings([["a", {"b", "c"}, "d"], ["b", {"c", "d"}, "a"]])
    >>> with pm.Model(coords=tasks.coords) as model:
    ...     utility = pm.ZeroSumNormal("utility", 1.0, dims="item")
    ...     y = br.MaxDiff("y", utility, method="marley", observed=tasks)
    >>> model.named_vars_to_dims["y"]
    ('ranking', 'slot')
    """

    rv_type = MaxDiffRV
    rv_op = MaxDiffRV.rv_op

    settings = ("method",)

    @classmethod
    def observe(
        cls, name: str, utility: Named, rankings: Rankings, settings: Any, options: Any
    ) -> TensorVariable:
        return observe(
            ObservedMaxDiffRV,
            name,
            rankings,
            {"method": _number_of(**settings)},
            lambda data: ObservedMaxDiffRV.slot_values(utility, data),
            outcome=MaxDiffRV.outcomes,
            items_known=ITEM in utility.axes,
            **options,
        )

    @classmethod
    def check_ranks(cls, name: str, ranks: NDArray[Any], options: Mapping[str, Any]) -> None:
        check_best_worst(name, ranks, np.arange(len(ranks)))

    @classmethod
    def dist(
        cls,
        utility: TensorLike,
        *,
        method: Literal["sequential", "marley"] = "sequential",
        where: TensorLike | None = None,
        **kwargs: Unpack[DistOptions],
    ) -> TensorVariable:
        """Create an unnamed distribution, to draw from or to use in other distributions.

        The parameters are those of the class, with `shape`, `size` and `rng` as in PyMC. `utility`
        and draws have shape (..., n_slots).

        Examples
        --------
        >>> import bayesrank as br, pymc as pm
        >>> y = br.MaxDiff.dist([1.0, 0.0], method="marley")
        >>> round(float(pm.logp(y, [1, 2]).exp().eval()), 4)
        0.8808
        """
        refuse_single_precision()
        utilities, where, _ = slot_parameters(utility, where, None)
        rv = super().dist([utilities, where, _number_of(method)], **kwargs)
        return with_given(rv, utility=utility)


class ObservedMaxDiffRV(ObservedRankingsRV, MaxDiffRV):
    """Observed best-worst choices, validated only once."""

    rows_apart = True
    parameters = PARAMETERS | {"ranks": "slot", "weight": ""}

    @classmethod
    def record(cls, name: str, data: Rankings, p: SimpleNamespace) -> Record:
        check_best_worst(name, data.ranks, data.labels)
        return super().record(name, data, p)

    @classmethod
    def logp(cls, value: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        if is_observed(value, p.ranks):
            return p.weight * best_worst_logp(p.utility, value, method=method_of(p))
        return p.weight * MaxDiffRV.logp(value, p)


def check_best_worst(name: str, ranks: NDArray[Any], labels: Any) -> None:
    """Raise unless one item of each ranking is the best, one the worst, and others are between."""
    last = ranks.max(axis=1)
    n_best, n_worst = (ranks == 1).sum(axis=1), (ranks == last[:, None]).sum(axis=1)
    bad = (last != np.minimum((ranks > 0).sum(axis=1), 3)) | (n_best > 1) | (n_worst > 1)
    bad &= last > 0
    if bad.any():
        row = int(bad.argmax())
        sizes = ", ".join(map(str, np.bincount(ranks[row][ranks[row] > 0])[1:]))
        raise ValueError(
            f"{name!r} needs best-worst choices: one best item, one worst item, and all others on "
            f"one rank between. Ranking {label_repr(labels[row])} has blocks of {sizes} items. "
            "Use br.PlackettLuce, which accepts any ranking."
        )


def _number_of(method: str = "sequential") -> TensorVariable:
    """Return the number of a method, as a parameter."""
    if method not in METHODS:
        known = " or ".join(map(repr, METHODS))
        raise ValueError(
            f"`method` is {method!r}; it must be {known}. For the rank-ordered logit with "
            "ties, use br.PlackettLuce."
        )
    return pt.constant(METHODS.index(method))


def method_of(p: SimpleNamespace) -> str:
    """Return the method of parameters."""
    return METHODS[int(p.method.data)]


def _highest(score: TensorVariable, where: TensorVariable) -> TensorVariable:
    """Tell which slot in use has the highest score, (..., n_slots)."""
    slot = pt.cumsum(pt.ones_like(score, dtype="int64"), axis=-1) - 1
    found = pt.argmax(pt.switch(where, score, -np.inf), axis=-1, keepdims=True)
    return pt.eq(slot, found) & where


def _sizes(where: TensorVariable) -> TensorVariable:
    """Return the sizes of the blocks of the best item, the others and the worst, (..., 3)."""
    n = pt.sum(pt.cast(where, "int64"), axis=-1)
    return pt.stack([pt.minimum(n, 1), pt.switch(n > 2, n - 2, n - 1), pt.ones_like(n)], axis=-1)
