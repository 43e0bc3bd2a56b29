"""Observed rankings of Mallows and generalised Mallows models."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.scalar.basic import Cast
from pytensor.tensor import TensorVariable
from pytensor.tensor.elemwise import Elemwise
from pytensor.tensor.shape import SpecifyShape

from bayesrank.data import Rankings
from bayesrank.data.read import label_repr
from bayesrank.distributions.by_name import (
    Named,
    by_axes,
    by_row,
    in_rows,
    in_slots,
    rankings_axes,
    utility_by_name,
)
from bayesrank.distributions.mallows_variables import (
    NO_BLOCKS,
    PARAMETERS,
    STAGE,
    SUMMED_OUT,
    GeneralizedMallowsRV,
    MallowsRV,
    StagesSummedOutRV,
    SummedOutRV,
    are_ranks,
    checked,
    distance_number,
    name_of_distance,
    refuse_no_ranks,
    refuse_real_numbers,
    with_n_slots,
)
from bayesrank.distributions.observed import (
    Record,
    check_length,
    is_observed,
    known_value,
    observe,
)
from bayesrank.distributions.orders import ObservedRankingsRV, fits
from bayesrank.likelihoods.mallows import (
    Curve,
    check_partial,
    check_summed_out,
    consensus_costs,
    consensus_curve,
    known_items,
    mallows_logp,
    partial_logp,
    stages_logp,
    summed_out_along_curve,
)
from bayesrank.schema import ITEM, RANKER

__all__ = [
    "ObservedMallowsRV",
    "ObservedStagesRV",
    "alpha_by_name",
    "check_lists",
    "observe_mallows",
    "observe_stages",
]

RANKING = "ranking"
OUTCOME = "weak orders given their block sizes"  # includes full rankings


class _ObservedRV(MallowsRV, ObservedRankingsRV):
    """Observed rankings, with a check that their probability can be computed."""

    @classmethod
    def record(cls, name: str, data: Rankings, p: SimpleNamespace) -> Record:
        cls.check(name, data, name_of_distance(p.distance))
        return super().record(name, data, p)

    @classmethod
    def check(cls, name: str, data: Rankings, distance: str) -> None:
        """Raise if the probability of a ranking cannot be computed."""
        raise NotImplementedError

    @classmethod
    def check_new(cls, model: pm.Model, name: str, data: Rankings, p: SimpleNamespace) -> None:
        if p.alpha.ndim > cls.by_stage and p.alpha.type.shape != (1,):
            check_length(name, "alpha", p.alpha, data.n_rankings, cls.data_name, "of them")


# ---------------------------------------------------------------------------------------------
# Around a consensus
# ---------------------------------------------------------------------------------------------


class ObservedMallowsRV(_ObservedRV):
    """Full and partial rankings observed around a consensus."""

    parameters = PARAMETERS | {"ranks": "slot", "weight": "", "is_ranking": ""}
    gathered = ("consensus", "alpha")
    value_axes = "slot"

    @classmethod
    def check(cls, name: str, data: Rankings, distance: str) -> None:
        row = check_partial(distance, data.ranks, data.n_items)
        if row is not None:
            raise ValueError(
                f"{name!r} sums over the full rankings that complete partial ones. Under "
                f"distance={distance!r} the sum has more than 2^22 terms: {_described(data, row)}. "
                "Use the footrule, which has no limit for rankings without ties, or drop items "
                "with drop_items()."
            )

    @classmethod
    def logp(cls, value: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        logp = cls.logp_around(value, p, int(p.n_items.data))
        if not is_observed(value, p.ranks):
            logp = pt.switch(fits(value, p.where, p.sizes), logp, -pt.inf)
        return p.weight * checked(logp, p.alpha, p.is_ranking)

    @classmethod
    def logp_around(cls, value: TensorVariable, p: SimpleNamespace, n: int) -> TensorVariable:
        """Return the log-probability of each ranking, all of them possible."""
        distance = name_of_distance(p.distance)
        return partial_logp(value, p.consensus, p.alpha, distance=distance, n_items=n)


class ObservedFullRV(ObservedMallowsRV):
    """Full rankings observed around a consensus, without a sum over completions."""

    @classmethod
    def check(cls, name: str, data: Rankings, distance: str) -> None:
        _refuse_partial(name, data)

    @classmethod
    def _shown(cls, ranks: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        return ranks

    @classmethod
    def logp_around(cls, value: TensorVariable, p: SimpleNamespace, n: int) -> TensorVariable:
        consensus = with_n_slots(p.consensus, n)
        return mallows_logp(value, consensus, p.alpha, distance=name_of_distance(p.distance))


class ObservedStagesRV(GeneralizedMallowsRV, ObservedMallowsRV):
    """Full rankings and top-k lists observed around a consensus, chosen stage by stage."""

    rows_apart = True
    parameters = ObservedMallowsRV.parameters | {"alpha": STAGE}
    value_axes = "slot"

    @classmethod
    def check(cls, name: str, data: Rankings, distance: str) -> None:
        check_lists(name, data)

    @classmethod
    def logp_around(cls, value: TensorVariable, p: SimpleNamespace, n: int) -> TensorVariable:
        return stages_logp(value, with_n_slots(p.consensus, n), p.alpha)


# ---------------------------------------------------------------------------------------------
# Without a consensus
# ---------------------------------------------------------------------------------------------


class ObservedSummedOutRV(SummedOutRV, _ObservedRV):
    """Observed rankings of all items, with a marginalised consensus."""

    parameters = SUMMED_OUT | {"ranks": "ranking,slot", "weight": "ranking"}
    gathered = ("alpha", "item")
    value_axes = "ranking,slot"

    @classmethod
    def check(cls, name: str, data: Rankings, distance: str) -> None:
        row: int | None
        if distance == "kendall":
            left_out = data.n_items - data.mask.sum(axis=1)
            row = int(left_out.argmax()) if left_out.any() else None
            supported = "rankings of all items"
        else:
            row = _first_partial(data)
            supported = f"full rankings without ties under distance={distance!r}"
        if row is not None:
            raise ValueError(
                f"{name!r} marginalises its consensus, which needs {supported}: "
                f"{_described(data, row)}. Give a consensus, such as "
                "br.PlackettLuce('consensus', zeros, dims='item'), and sample it with "
                "br.LeapAndShift. Under 'kendall', from_orderings(..., rest=) puts missing items "
                "last; otherwise drop items with drop_items()."
            )

    @classmethod
    def check_new(cls, model: pm.Model, name: str, data: Rankings, p: SimpleNamespace) -> None:
        super().check_new(model, name, data, p)
        if p.sizes.type.shape[-1] == 0:  # the normaliser has no blocks
            _refuse_partial(name, data)


class ObservedStagesSummedOutRV(StagesSummedOutRV, ObservedSummedOutRV):
    """Observed full rankings and top-k lists, with a marginalised consensus."""

    parameters = ObservedSummedOutRV.parameters | {"alpha": STAGE}
    value_axes = "ranking,slot"

    @classmethod
    def check(cls, name: str, data: Rankings, distance: str) -> None:
        check_lists(name, data)


class SharedSummedOutRV(ObservedSummedOutRV):
    """Observed rankings with one concentration, along which the sum over orders is interpolated."""

    parameters = ObservedSummedOutRV.parameters | {
        "cost": "of,at",
        "series": "piece,power",
        "axis": "number",
    }
    derives_weights = True

    @classmethod
    def record(cls, name: str, data: Rankings, p: SimpleNamespace) -> Record:
        found = super().record(name, data, p)
        by_item = _by_item(data.item, data.ranks)
        cost, curve = consensus_curve(by_item, data.weight, name_of_distance(p.distance))
        return found._replace(derived={"cost": cost, **curve._asdict()})

    @classmethod
    def logp(cls, value: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        if not is_observed(value, p.ranks) or not _is_current(p):
            return super().logp(value, p)
        logp = summed_out_along_curve(
            p.alpha[0],
            Curve(p.series, p.axis),
            p.weight,
            n_items=known_items(p.item),
            distance=name_of_distance(p.distance),
            sizes=None if p.sizes.type.shape[-1] == 0 else p.sizes,
        )
        return checked(logp, p.alpha)


def _by_item(item: Any, ranks: Any) -> Any:
    """Return ranks by item (n_rankings, n_items) from ranks by slot."""
    out = np.empty(ranks.shape, np.int64)
    np.put_along_axis(out, item.astype(np.int64), ranks.astype(np.int64), axis=1)
    return out


def _is_current(p: SimpleNamespace) -> bool:
    """Tell whether the costs belong to the current data of the model.

    If data were replaced, for example by some of their rows, every evaluation computes the sum over
    orders.
    """
    item, ranks, weight, cost = map(_known, (p.item, p.ranks, p.weight, p.cost))
    if item is None or ranks is None or weight is None or cost is None:
        return False
    distance = name_of_distance(p.distance)
    costs = consensus_costs(_by_item(item, ranks), distance).eval(mode="FAST_COMPILE")
    return np.array_equal(np.tensordot(weight, costs, 1), cost)


def _known(x: TensorVariable) -> Any:
    """Return the value of data, under casts and shape specifications in any order."""
    while x.owner is not None and isinstance(x.owner.op, SpecifyShape | Elemwise):
        if isinstance(x.owner.op, Elemwise) and not isinstance(x.owner.op.scalar_op, Cast):
            return None
        x = x.owner.inputs[0]
    return known_value(x)


# ---------------------------------------------------------------------------------------------
# Into a model
# ---------------------------------------------------------------------------------------------


def observe_mallows(
    name: str,
    around: tuple[Any, Any],
    alpha: Named,
    rankings: Rankings,
    distance: str,
    options: dict[str, Any],
) -> TensorVariable:
    """Add rankings and the `Mallows` variable that observes them to the model in context.

    `around` holds the consensus, or None, and its dims; `options` are those of `observe`.
    """
    is_partial = _first_partial(rankings) is not None
    if around[0] is None:
        summed_out = ObservedSummedOutRV if alpha.axes else SharedSummedOutRV
        return _observe_jointly(summed_out, name, alpha, rankings, distance, is_partial, options)
    rv_type = ObservedMallowsRV if is_partial else ObservedFullRV
    return _observe_around(rv_type, name, around, alpha, rankings, distance, options)


def observe_stages(
    name: str, around: tuple[Any, Any], alpha: Named, rankings: Rankings, options: dict[str, Any]
) -> TensorVariable:
    """Add rankings and the `GeneralizedMallows` variable that observes them to the model."""
    if around[0] is not None:
        rv_type = ObservedStagesRV
        return _observe_around(rv_type, name, around, alpha, rankings, "kendall", options)
    if alpha.axes != (STAGE,):
        raise ValueError(
            f"The alpha of {name!r} is by {' and '.join(alpha.axes)}; without a consensus "
            "it must be by stage only. Give a consensus."
        )
    summed_out = ObservedStagesSummedOutRV
    return _observe_jointly(summed_out, name, alpha, rankings, "kendall", True, options)


def _observe_around(
    rv_type: type[ObservedMallowsRV],
    name: str,
    around: tuple[Any, Any],
    alpha: Named,
    rankings: Rankings,
    distance: str,
    options: dict[str, Any],
) -> TensorVariable:
    given = {"distance": distance_number(distance)}
    by_name, is_ranking = _consensus_by_name(name, *around, rankings, options.get("dims"))

    def with_data(data: SimpleNamespace) -> dict[str, TensorVariable]:
        return {
            "consensus": pt.cast(in_slots(by_name, vars(data)), "int64"),
            "alpha": in_rows(alpha, vars(data)),
            "where": data.ranks > 0,
            "sizes": pt.cast(data.sizes, "int64"),
            "n_items": rankings.n_items,
            "is_ranking": is_ranking,
            "ranks": pt.cast(data.ranks, "int64"),
            "weight": data.weight,
        }

    return observe(
        rv_type,
        name,
        rankings,
        given,
        with_data,
        outcome=OUTCOME,
        items_known=ITEM in by_name.axes,
        **options,
    )


def _observe_jointly(
    rv_type: type[ObservedSummedOutRV],
    name: str,
    alpha: Named,
    rankings: Rankings,
    distance: str,
    has_blocks: bool,
    options: dict[str, Any],
) -> TensorVariable:
    n = rankings.n_items
    check_summed_out(distance, n)
    if options.get("total_size") is not None:
        raise ValueError(
            f"{name!r} got total_size= without a consensus: the joint log-probability of the "
            "rankings is not a sum over rows. Give a consensus."
        )

    def with_data(data: SimpleNamespace) -> dict[str, TensorVariable]:
        return {
            "sizes": pt.cast(data.sizes, "int64") if has_blocks else pt.constant(NO_BLOCKS),
            "alpha": pt.atleast_1d(in_rows(alpha, vars(data))),
            "item": with_n_slots(data.item, n),
            "ranks": pt.cast(data.ranks, "int64"),
            "weight": data.weight,
        }

    given = {"distance": distance_number(distance)}
    return observe(rv_type, name, rankings, given, with_data, outcome=OUTCOME, **options)


def _consensus_by_name(
    name: str, consensus: Any, consensus_dims: Any, rankings: Rankings, dims: Any
) -> tuple[Named, TensorVariable]:
    """Read the axes of a consensus, and check that it holds the ranks of all items."""
    refuse_real_numbers(consensus)
    by_name = utility_by_name(
        name, consensus, rankings, utility_dims=consensus_dims, dims=dims, parameter="consensus"
    )
    item_axis = [k for k, axis in enumerate(by_name.axes) if axis in (ITEM, "slot")]
    if not item_axis:
        raise ValueError(
            f"The consensus of {name!r} is by {' and '.join(by_name.axes)}; it must be by item."
        )
    known = known_value(by_name.value)
    if known is not None:
        refuse_no_ranks(np.moveaxis(known, item_axis[0], -1).astype(np.int64))
    by_row = pt.moveaxis(by_name.value, item_axis[0], -1)
    return by_name, pt.all(are_ranks(by_row, rankings.n_items))


def alpha_by_name(
    name: str, alpha: Any, rankings: Rankings, alpha_dims: Any, dims: Any, *, by_stage: bool = False
) -> Named:
    """Read the axes of a concentration: ranking, ranker or groups, and the stage."""
    last = (STAGE,) if by_stage else ()
    return by_axes(
        name,
        "alpha",
        alpha,
        {last: "one per stage" if by_stage else "one for all"} | by_row(rankings, *last),
        rankings_axes(
            rankings,
            dims,
            {STAGE: np.arange(1, max(rankings.n_items, 2))} if by_stage else {},
            says=not by_stage,
            first=last,
        ),
        also=(RANKING, RANKER, *rankings.groups),
        given_dims=alpha_dims,
    )


def check_lists(name: str, rankings: Rankings) -> None:
    """Raise if a ranking is neither full nor a top-k list of all items."""
    # before the last block, one item was chosen per rank
    last = rankings.ranks.max(axis=1, keepdims=True)
    chosen = (rankings.mask & (rankings.ranks < last)).sum(axis=1)
    bad = (rankings.mask.sum(axis=1) < rankings.n_items) | (chosen != last[:, 0] - 1)
    if bad.any():
        raise ValueError(
            f"{name!r} needs rankings of all items, with ties in the last block only: "
            f"{_described(rankings, int(bad.argmax()))}. Put missing items last with "
            "from_orderings(..., rest=), or use br.Mallows(..., distance='kendall')."
        )


def _refuse_partial(name: str, data: Rankings) -> None:
    if (row := _first_partial(data)) is not None:
        raise ValueError(
            f"{name!r} was built with full rankings without ties: {_described(data, row)}. Build "
            "the model with partial rankings, so that it accepts them."
        )


def _first_partial(data: Rankings) -> int | None:
    """Return the position of the first partial ranking; None if all are full."""
    if data.n_slots < data.n_items:
        return 0
    partial = (data.ranks != np.arange(1, data.n_items + 1)).any(axis=1)
    return int(partial.argmax()) if partial.any() else None


def _described(data: Rankings, row: int) -> str:
    """Describe how many items and ranks a ranking has."""
    ranked, n_ranks = int(data.mask[row].sum()), int(data.ranks[row].max())
    return (
        f"ranking {label_repr(data.labels[row])} has {ranked} of the {data.n_items} items, on "
        f"{n_ranks} different ranks"
    )
