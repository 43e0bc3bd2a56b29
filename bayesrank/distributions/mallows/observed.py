"""Observed rankings of Mallows and generalised Mallows models."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor import TensorVariable

from bayesrank.data import Rankings
from bayesrank.data.read import label_repr
from bayesrank.distributions.core.by_name import (
    Named,
    by_axes,
    by_row,
    in_rows,
    in_slots,
    rankings_axes,
    utility_by_name,
)
from bayesrank.distributions.core.observed import (
    Record,
    check_length,
    is_observed,
    known_value,
    observe,
)
from bayesrank.distributions.mallows.variables import (
    PARAMETERS,
    STAGE,
    GeneralizedMallowsRV,
    MallowsRV,
    are_ranks,
    check_mallows_parameters,
    distance_number,
    name_of_distance,
    refuse_no_ranks,
    refuse_real_numbers,
    with_n_slots,
)
from bayesrank.distributions.rankings.orders import (
    ObservedRankingsRV,
    fits_sizes,
    ranks_from_scores,
)
from bayesrank.likelihoods.mallows import (
    Curve,
    check_marginal,
    check_partial,
    consensus_curve,
    known_items,
    mallows_logp,
    marginal_logp,
    marginal_logp_on_curve,
    marginal_stages_logp,
    stages_logp,
    total_costs,
)
from bayesrank.schema import ITEM, RANKER

__all__ = [
    "MarginalMallowsRV",
    "ObservedMallowsRV",
    "ObservedStagesRV",
    "alpha_by_name",
    "check_lists",
    "observe_mallows",
    "observe_stages",
]

RANKING = "ranking"
OUTCOME = "weak orders given their block sizes"  # includes full rankings
# An alpha of length one holds for all rankings
MARGINAL = {
    "alpha": "one_or_ranking",
    "item": "ranking,slot",
    "distance": "",
    "sizes": "row,block",
    "ranks": "ranking,slot",
    "weight": "ranking",
}


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
                f"distance={distance!r} the sum has more than 2^22 terms: "
                f"{_describe_ranking(data, row)}. Use the footrule, which has no limit for "
                "rankings without ties, or drop items with drop_items()."
            )

    @classmethod
    def logp(cls, value: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        logp = cls.logp_around(value, p, int(p.n_items.data))
        if not is_observed(value, p.ranks):
            logp = pt.switch(fits_sizes(value, p.where, p.sizes), logp, -pt.inf)
        return p.weight * check_mallows_parameters(logp, p.alpha, p.is_ranking)

    @classmethod
    def logp_around(cls, value: TensorVariable, p: SimpleNamespace, n: int) -> TensorVariable:
        """Return the log-probability of each ranking, all of them possible."""
        distance = name_of_distance(p.distance)
        return mallows_logp(value, p.consensus, p.alpha, distance, n_items=n)


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


class MarginalMallowsRV(_ObservedRV):
    """Observed rankings of all items, with a marginalised consensus."""

    name = "mallows_marginal"
    parameters = MARGINAL
    gathered = ("alpha", "item")
    value_axes = "ranking,slot"

    @classmethod
    def draw(cls, rng: Any, size: Any, p: SimpleNamespace) -> tuple[Any, TensorVariable]:
        """Draw one consensus, and rankings around it."""
        batch = () if size is None else size
        shape = (*batch, cls._n_items(p))
        next_rng, score = pt.random.uniform(size=shape, rng=rng, return_next_rng=True)
        consensus = 1 + pt.argsort(pt.argsort(score, axis=-1), axis=-1)
        return cls.draw_around(consensus[..., p.item], next_rng, (*batch, p.item.shape[0]), p)

    @classmethod
    def _n_items(cls, p: SimpleNamespace) -> int:
        return known_items(p.item)

    @classmethod
    def _shown(cls, ranks: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        if p.sizes.type.shape[-1] == 0:
            return ranks
        return ranks_from_scores(-ranks, pt.ones_like(ranks, dtype=bool), p.sizes)

    @classmethod
    def support_point(cls, rv: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        """Return the observed part of the order of the items."""
        return cls._shown(pt.cumsum(pt.ones_like(rv), axis=-1), p)

    @classmethod
    def logp(cls, value: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        """Return the joint log-probability of all rankings."""
        n, sizes, ranks = cls._n_items(p), cls._sizes(p), pt.cast(value, "int64")
        rows = pt.arange(p.item.shape[0])[:, None]
        by_item = with_n_slots(pt.zeros_like(p.item)[rows, p.item].set(ranks), n)
        if cls.by_stage:
            logp = marginal_stages_logp(by_item, p.alpha, p.weight)
        else:
            distance = name_of_distance(p.distance)
            logp = marginal_logp(by_item, p.alpha, distance, weight=p.weight, sizes=sizes)
        if not is_observed(value, p.ranks):
            everywhere = pt.ones_like(ranks, dtype=bool)
            possible = (
                are_ranks(ranks, n) if sizes is None else fits_sizes(ranks, everywhere, sizes)
            )
            logp = pt.switch(pt.all(possible), logp, -pt.inf)
        return check_mallows_parameters(logp, p.alpha)

    @classmethod
    def _sizes(cls, p: SimpleNamespace) -> TensorVariable | None:
        return None if p.sizes.type.shape[-1] == 0 else p.sizes

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
                f"{_describe_ranking(data, row)}. Give a consensus, such as "
                "br.PlackettLuce('consensus', zeros, dims='item'), and sample it with "
                "br.LeapAndShift. Under 'kendall', from_orderings(..., rest=) puts missing items "
                "last; otherwise drop items with drop_items()."
            )

    @classmethod
    def check_new(cls, model: pm.Model, name: str, data: Rankings, p: SimpleNamespace) -> None:
        super().check_new(model, name, data, p)
        row = _first_partial(data)
        if row is not None and p.sizes.type.shape[-1] == 0:  # the normaliser has no blocks
            raise ValueError(
                f"{name!r} was built with full rankings without ties: "
                f"{_describe_ranking(data, row)}. Build the model with partial rankings, so that "
                "it accepts them."
            )


class MarginalStagesRV(MarginalMallowsRV):
    """Observed full rankings and top-k lists, chosen stage by stage."""

    name = "generalized_mallows_marginal"
    parameters = MARGINAL | {"alpha": STAGE}
    _print_name = GeneralizedMallowsRV._print_name
    by_stage = True

    @classmethod
    def check(cls, name: str, data: Rankings, distance: str) -> None:
        check_lists(name, data)


class MarginalOnCurveRV(MarginalMallowsRV):
    """Observed rankings with one concentration, along which the sum over orders is interpolated."""

    parameters = MARGINAL | {
        "cost": "of,at",
        "series": "piece,power",
        "axis": "number",
    }
    derives_weights = True

    @classmethod
    def record(cls, name: str, data: Rankings, p: SimpleNamespace) -> Record:
        found = super().record(name, data, p)
        by_item = _by_item(data.item, data.ranks)
        cost, curve = consensus_curve(by_item, data.evidence, name_of_distance(p.distance))
        return found._replace(derived={**found.derived, "cost": cost, **curve._asdict()})

    @classmethod
    def logp(cls, value: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        if not is_observed(value, p.ranks) or not _is_current(p):
            return super().logp(value, p)
        logp = marginal_logp_on_curve(
            p.alpha[0],
            Curve(p.series, p.axis),
            p.weight,
            n_items=known_items(p.item),
            distance=name_of_distance(p.distance),
            sizes=cls._sizes(p),
        )
        return check_mallows_parameters(logp, p.alpha)


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
    item, ranks, weight, cost = map(known_value, (p.item, p.ranks, p.weight, p.cost))
    if item is None or ranks is None or weight is None or cost is None:
        return False
    found = total_costs(_by_item(item, ranks), weight, name_of_distance(p.distance))
    return np.array_equal(found, cost)


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
    if around[0] is None:
        is_partial = _first_partial(rankings) is not None
        marginal = MarginalMallowsRV if alpha.axes else MarginalOnCurveRV
        return _observe_jointly(marginal, name, alpha, rankings, distance, is_partial, options)
    return _observe_around(ObservedMallowsRV, name, around, alpha, rankings, distance, options)


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
    return _observe_jointly(MarginalStagesRV, name, alpha, rankings, "kendall", True, options)


def _observe_around(
    rv_type: type[ObservedMallowsRV],
    name: str,
    around: tuple[Any, Any],
    alpha: Named,
    rankings: Rankings,
    distance: str,
    options: dict[str, Any],
) -> TensorVariable:
    given = {"distance": distance_number(distance, rankings.n_items)}
    by_name, is_ranking = _consensus_by_name(name, *around, rankings, options.get("dims"))

    def with_data(data: SimpleNamespace) -> dict[str, TensorVariable]:
        return {
            "consensus": pt.cast(in_slots(by_name, vars(data)), "int64"),
            "alpha": in_rows(alpha, vars(data)),
            "where": data.ranks > 0,
            "n_items": rankings.n_items,
            "is_ranking": is_ranking,
            "ranks": data.ranks,
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
    rv_type: type[MarginalMallowsRV],
    name: str,
    alpha: Named,
    rankings: Rankings,
    distance: str,
    has_blocks: bool,
    options: dict[str, Any],
) -> TensorVariable:
    n = rankings.n_items
    check_marginal(distance, n)
    if options.get("total_size") is not None:
        raise ValueError(
            f"{name!r} got total_size= without a consensus: the joint log-probability of the "
            "rankings is not a sum over rows. Give a consensus."
        )

    def with_data(data: SimpleNamespace) -> dict[str, TensorVariable]:
        return {
            "sizes": data.sizes if has_blocks else np.zeros((1, 0), np.int64),
            "alpha": pt.atleast_1d(in_rows(alpha, vars(data))),
            "item": with_n_slots(data.item, n),
            "ranks": data.ranks,
            "weight": data.weight,
        }

    given = {"distance": distance_number(distance, n)}
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


def alpha_by_name(name: str, alpha: Any, rankings: Rankings, alpha_dims: Any, dims: Any) -> Named:
    """Read the axes of a concentration: ranking, ranker or groups."""
    return by_axes(
        name,
        "alpha",
        alpha,
        {(): "one for all"} | by_row(rankings),
        rankings_axes(rankings, dims),
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
            f"{_describe_ranking(rankings, int(bad.argmax()))}. Put missing items last with "
            "from_orderings(..., rest=), or use br.Mallows(..., distance='kendall')."
        )


def _first_partial(data: Rankings) -> int | None:
    """Return the position of the first partial ranking; None if all are full."""
    if data.n_slots < data.n_items:
        return 0
    partial = (data.ranks != np.arange(1, data.n_items + 1)).any(axis=1)
    return int(partial.argmax()) if partial.any() else None


def _describe_ranking(data: Rankings, row: int) -> str:
    """Describe how many items and ranks a ranking has."""
    ranked, n_ranks = int(data.mask[row].sum()), int(data.ranks[row].max())
    return (
        f"ranking {label_repr(data.labels[row])} has {ranked} of the {data.n_items} items, on "
        f"{n_ranks} different ranks"
    )
