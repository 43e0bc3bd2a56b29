r"""Plackett-Luce as a PyMC distribution: rankings, top-k lists and weak orders.

The value has one weak order per ranking: dense `ranks` aligned with the slots. Rank 1 is the best,
and 0 marks an empty slot. Equal ranks form a block whose inner order is unknown. The last axis is
the slots, the leading axes are rankings, and `logp` returns one number per ranking.

The class has two forms. With arrays, `utility` has one entry per slot and the value stays symbolic.
With ``observed=`` a `Rankings`, the class registers the data and names the dims. If `utility` has
one entry per item, stages that rankings share are then evaluated once.

>>> import pymc as pm
>>> round(float(pm.logp(PlackettLuce.dist([0.3, 1.2, -0.5]), [2, 1, 1]).exp().eval()), 6)
0.276799
"""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, ClassVar, Unpack

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray
from pymc.distributions.dist_math import check_parameters
from pytensor.tensor import TensorLike, TensorVariable

from bayesrank.data import Rankings
from bayesrank.data.derive import Stages, stage_table
from bayesrank.data.read import label_repr
from bayesrank.distributions.core.by_name import (
    STAGE,
    Named,
    by_items,
    by_stage,
    flat_places,
    in_rows,
)
from bayesrank.distributions.core.drawn import batch_shape
from bayesrank.distributions.core.observed import (
    DistOptions,
    Record,
    as_double,
    check_length,
    check_numbers,
    is_observed,
    known_value,
    observe,
    refuse_single_precision,
    same_value,
    with_given,
)
from bayesrank.distributions.rankings.orders import (
    ObservedRankingsRV,
    WeakOrderRV,
    WeakOrders,
    fits_sizes,
    ranks_from_scores,
    slot_parameters,
)
from bayesrank.likelihoods.choices import chosen_in_turn, scaled_stages_logp, stage_scores
from bayesrank.likelihoods.plackett_luce import ranking_logp, weak_order_logp
from bayesrank.schema import ITEM, RANKER

__all__ = ["PlackettLuce"]

PARAMETERS = {
    "utility": "slot",
    "where": "slot",
    "sizes": "block",  # length 0 means full rankings
}
NOT_NEGATIVE = "finite and not negative"
OBSERVED = PARAMETERS | {"ranks": "slot", "weight": ""}
STAGES = dict.fromkeys(Stages._fields, "one") | {
    "slot_item": "ranking,slot_of_ranking",
    "slot_rank": "ranking,slot_of_ranking",
}


class PlackettLuceRV(WeakOrderRV):
    """Draw rankings: sort utility + Gumbel noise, and cut the order by the block sizes."""

    name = "plackett_luce"
    parameters: ClassVar[Mapping[str, str]] = PARAMETERS
    _print_name = ("PlackettLuce", "\\operatorname{PlackettLuce}")
    outcomes = "weak orders given their block sizes"

    @classmethod
    def draw(cls, rng: Any, size: Any, p: SimpleNamespace) -> tuple[Any, TensorVariable]:
        batch = batch_shape(p.utility, p.where, p.sizes) if size is None else size
        shape = (*batch, p.utility.shape[-1])
        next_rng, noise = pt.random.gumbel(0, 1, size=shape, rng=rng, return_next_rng=True)
        return next_rng, ranks_from_scores(p.utility + noise, p.where, p.sizes)

    @classmethod
    def logp(cls, value: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        """Return one log-probability per ranking."""
        if value.dtype.startswith(("int", "uint")):
            value = pt.cast(value, "int64")  # so that one kernel is compiled
        utility = pt.switch(p.where, p.utility, 0.0)
        logp = weak_order_logp(utility, value)
        return check_parameters(
            pt.switch(fits_sizes(value, p.where, p.sizes), logp, -pt.inf),
            pt.all(~p.where | pt.isfinite(p.utility)),
            msg="utility must be finite in the slots in use",
        )


class StagedPlackettLuceRV(PlackettLuceRV):
    """Rankings with a scale at each stage: each stage has new noise."""

    parameters: ClassVar[Mapping[str, str]] = PARAMETERS | {"stage_scale": STAGE}

    @classmethod
    def draw(cls, rng: Any, size: Any, p: SimpleNamespace) -> tuple[Any, TensorVariable]:
        batch = batch_shape(*vars(p).values()) if size is None else size
        n = p.utility.shape[-1]
        next_rng, noise = pt.random.gumbel(0, 1, size=(*batch, n, n), rng=rng, return_next_rng=True)
        utility = pt.switch(p.where, p.utility, 0.0)
        stage = chosen_in_turn(stage_scores(utility, p.stage_scale) + noise, p.where)
        return next_rng, ranks_from_scores(-stage, p.where, p.sizes)

    @classmethod
    def logp(cls, value: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        logp = scaled_stages_logp(pt.switch(p.where, p.utility, 0.0), value, p.stage_scale)
        return check_parameters(
            pt.switch(fits_sizes(value, p.where, p.sizes), logp, -pt.inf),
            pt.all(~p.where | pt.isfinite(p.utility)),
            pt.all((p.stage_scale >= 0) & pt.isfinite(p.stage_scale)),
            msg=f"utility must be finite in the slots in use, stage_scale must be {NOT_NEGATIVE}",
        )


class PlackettLuce(WeakOrders):
    r"""Plackett-Luce log-likelihood of rankings, top-k lists and weak orders.

    .. math:: P(S_1 > \dots > S_M) = \prod_{m<M} \int_0^1 \prod_{i \in S_m}
              \left(1 - u^{a_i}\right) du, \qquad
              a_i = \frac{e^{w_i}}{\sum_{j \in S_{m+1} \cup \dots \cup S_M} e^{w_j}}

    where :math:`w_i` is the utility of item i. The blocks :math:`S_1, S_2, \dots` are ordered, best
    first, and the order inside each block is unknown. The probability is the sum of the
    Plackett-Luce probabilities of all orderings consistent with the blocks, exact to 1e-10. With
    blocks of one item, it is the usual product of choices
    :math:`e^{w_i} / \sum_{j \in R} e^{w_j}` from the remaining items R.

    Values are weak orders of the slots in use, on the last axis. The leading axes are rankings.

    Parameters
    ----------
    name : str
        Name of the variable.
    utility : tensor_like of float, (..., n_slots), or variable with dims
        Log worth. Only differences matter, so that it needs a proper prior. Use `pm.ZeroSumNormal`
        with many long rankings, and `pm.Normal` if some items are rarely compared. With a
        `Rankings`, it has ``dims="item"``, and may also have ranker, ranking or slot, such as
        ``dims=("ranker", "item")``.
    utility_dims : str or sequence of str, optional
        With a `Rankings`, dims of a utility without named dims. ``("ranking", "slot")`` means one
        per slot, best first. Variables of the model and of `pymc.dims` have names. Without names,
        the shape is used if only one reading fits.
    where : tensor_like of bool, (..., n_slots), optional
        Slots in use; default all. Not for a `Rankings`, which knows its slots.
    sizes : tensor_like of int, (..., n_blocks), optional
        Sizes of the blocks in draws, best first, 0 after the last. By default, draws are full
        rankings, and an unobserved variable has only such values. Observed values with ties do not
        need `sizes`.
    stage_scale : tensor_like of float, (..., n_stages), optional
        Scales s of the utilities, at least 0: the choice at stage m has the utilities
        :math:`s_m w_i`. Choices after the last scale are random, as with a scale of 0. Fix one
        scale, such as the first at 1, because the utilities have a scale as well. All blocks but
        the last must have one item. With a `Rankings`, dims are ``"stage"`` and those of rankings,
        as in `GeneralizedMallows`.
    observed : Rankings or array_like of int, optional
        A `Rankings` registers its data as one table, ``{name}_data``. Utilities by item are
        gathered into slots. The dims are (ranking, slot), or `dims`. An array holds ranks aligned
        with `utility`.
    **kwargs
        Options of PyMC variables. With a `Rankings`, only ``dims`` and ``total_size``; with an
        array, also ``shape``, ``initval``, ``transform`` and ``rng``.

    Returns
    -------
    TensorVariable of int, (..., n_slots)
        The ranks. `logp` and the pointwise log-likelihood have one number per ranking, times its
        weight.

    Raises
    ------
    ValueError
        If the dims, labels or shape of `utility` do not fit the `Rankings`, or are ambiguous. Also
        if `stage_scale` is not defined for a ranking.

    See Also
    --------
    PMOP, MaxDiff, Mallows, Mixture, Rankings, fit_rankings

    References
    ----------
    Plackett, The analysis of permutations, Applied Statistics 1975; Ma et al.,
    Learning-to-rank with partitioned preference, AISTATS 2021, eq. 4.

    Examples
    --------
    >>> import bayesrank as br, pymc as pm
    >>> rankings = br.Rankings.from_orderings([["a", "b", "c"], ["b", {"a", "c"}]])
    >>> with pm.Model(coords=rankings.coords) as model:
    ...     utility = pm.ZeroSumNormal("utility", 1.0, dims="item")
    ...     y = br.PlackettLuce("y", utility, observed=rankings)
    >>> model.named_vars_to_dims["y"]
    ('ranking', 'slot')
    """

    rv_type = PlackettLuceRV

    given_sizes = True
    settings = ("stage_scale",)
    by_row = ("stage_scale",)

    @classmethod
    def rv_op(cls, *parameters: Any, **options: Any) -> TensorVariable:
        """Make a variable; the parameter after the block sizes is `stage_scale`."""
        staged = len(parameters) > len(PARAMETERS)
        return (StagedPlackettLuceRV if staged else PlackettLuceRV).rv_op(*parameters, **options)

    @classmethod
    def check_ranks(cls, name: str, ranks: NDArray[Any], options: Mapping[str, Any]) -> None:
        if options.get("stage_scale") is not None:
            check_staged(name, ranks, np.arange(len(ranks)))

    @classmethod
    def observe(
        cls, name: str, utility: Named, rankings: Rankings, settings: Any, options: Any
    ) -> TensorVariable:
        rv_type: type[SlotPlackettLuceRV] = SlotPlackettLuceRV
        given: dict[str, Any] = {}
        structure: dict[str, tuple[str, ...]] = {}
        scales: dict[str, Named] = {}
        if "stage_scale" in settings:
            rv_type, scale = ObservedStagedRV, settings["stage_scale"]
            found = by_stage(name, "stage_scale", scale, rankings, options.get("dims"))
            check_numbers("stage_scale", scale, found.value, lambda x: x >= 0, NOT_NEGATIVE)
            scales["stage_scale"] = found
        elif (spread := by_items(utility)) is not None:
            given["item_utility"], structure["groups"] = spread
            rv_type = ItemPlackettLuceRV
        return observe(
            rv_type,
            name,
            rankings,
            given,
            lambda data: {
                **rv_type.slot_values(utility, data),
                "item": data.item,
                **{_code_of(group): vars(data)[group] for group in structure.get("groups", ())},
                **{parameter: in_rows(x, vars(data)) for parameter, x in scales.items()},
            },
            structure=structure,
            outcome=rv_type.outcomes,
            items_known=ITEM in utility.axes,
            **options,
        )

    @classmethod
    def dist(
        cls,
        utility: TensorLike,
        *,
        where: TensorLike | None = None,
        sizes: TensorLike | None = None,
        stage_scale: TensorLike | None = None,
        **kwargs: Unpack[DistOptions],
    ) -> TensorVariable:
        """Create an unnamed distribution, to draw from or to use in other distributions.

        The parameters are those of the class, with `shape`, `size` and `rng` as in PyMC. `utility`
        and draws have shape (..., n_slots).

        Examples
        --------
        >>> import bayesrank as br, pymc as pm
        >>> y = br.PlackettLuce.dist([2.0, 0.0, 1.0])
        >>> round(float(pm.logp(y, [1, 3, 2]).exp().eval()), 3)
        0.486
        """
        refuse_single_precision()
        parameters = slot_parameters(utility, where, sizes)
        if stage_scale is not None:
            scale = as_double(stage_scale, "`stage_scale`")
            check_numbers("stage_scale", stage_scale, scale, lambda x: x >= 0, NOT_NEGATIVE)
            if scale.ndim == 0:
                raise ValueError("`stage_scale` needs one scale per stage, but is a single number.")
            parameters.append(scale)
        rv = super().dist(parameters, **kwargs)
        return with_given(rv, utility=utility, stage_scale=stage_scale)


class SlotPlackettLuceRV(ObservedRankingsRV, PlackettLuceRV):
    """Observed rankings with one utility per slot, validated only once."""

    rows_apart = True
    parameters = OBSERVED

    @classmethod
    def logp(cls, value: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        if is_observed(value, p.ranks):
            return p.weight * weak_order_logp(p.utility, value)
        return p.weight * PlackettLuceRV.logp(value, p)


class ItemPlackettLuceRV(SlotPlackettLuceRV):
    """Observed rankings with one utility per item: shared stages are evaluated once.

    With utilities by `groups` (outermost first) and item, one axis holds all items of all groups,
    so that the rankings of a group share stages.
    """

    parameters = OBSERVED | {"item": "slot", "lengths": "axis", "item_utility": "item"} | STAGES
    derives_weights = True

    @classmethod
    def list_parameters(cls, structure: Mapping[str, Any]) -> Mapping[str, str]:
        return {**cls.parameters, **{_code_of(group): "" for group in structure["groups"]}}

    @classmethod
    def record(cls, name: str, data: Rankings, p: SimpleNamespace) -> Record:
        stages, lengths = data.stages, [data.n_items]
        if p.groups:
            axes = {RANKER: (data.rankers, data.ranker_idx), **data.groups}
            labels, codes = zip(*(axes[group] for group in p.groups), strict=True)
            lengths = [*map(len, labels), data.n_items]
            place = _places(lengths, codes, data.item)
            stages = stage_table(place, data.ranks, data.evidence, int(np.prod(lengths)))
        record = super().record(name, data, p)
        derived = {**record.derived, **stages._asdict(), "lengths": np.array(lengths)}
        return record._replace(derived=derived)

    @classmethod
    def logp(cls, value: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        if not is_observed(value, p.ranks) or not cls._is_current(p):
            return p.weight * PlackettLuceRV.logp(value, p)
        stages = tuple(getattr(p, field) for field in Stages._fields)
        return ranking_logp(p.item_utility, stages)

    @classmethod
    def logp_by_row(cls, value: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        return SlotPlackettLuceRV.logp(value, p)  # rankings share stages

    @classmethod
    def _is_current(cls, p: SimpleNamespace) -> bool:
        """Tell whether the stages belong to the current data.

        If not, for example because some rows replaced the data, the log-probability evaluates the
        rankings one by one.
        """
        if not same_value(p.ranks, p.slot_rank) or not same_value(p.weight, p.ranking_weight):
            return False
        codes = (getattr(p, _code_of(group)) for group in p.groups)
        known = [known_value(x) for x in (p.slot_item, p.lengths, p.item, *codes)]
        if any(x is None for x in known):
            return False
        before, lengths, item, *now = known
        return np.array_equal(_places(lengths, now, item), before)  # type: ignore[arg-type]


class ObservedStagedRV(SlotPlackettLuceRV, StagedPlackettLuceRV):
    """Observed rankings with a scale at each stage, validated only once."""

    gathered = ("utility", "stage_scale")
    parameters = OBSERVED | {"stage_scale": STAGE}

    @classmethod
    def record(cls, name: str, data: Rankings, p: SimpleNamespace) -> Record:
        check_staged(name, data.ranks, data.labels)
        return super().record(name, data, p)

    @classmethod
    def check_new(cls, model: pm.Model, name: str, data: Rankings, p: SimpleNamespace) -> None:
        if p.stage_scale.ndim == 2:
            n = data.n_rankings
            check_length(name, "stage_scale", p.stage_scale, n, cls.data_name, "of them")

    @classmethod
    def logp(cls, value: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        return p.weight * StagedPlackettLuceRV.logp(value, p)


def check_staged(name: str, ranks: NDArray[Any], labels: Any) -> None:
    """Raise if another block than the last has several items."""
    last = ranks.max(axis=1, keepdims=True)
    bad = ((ranks > 0) & (ranks < last)).sum(axis=1) > np.maximum(last[:, 0] - 1, 0)
    if bad.any():
        row = int(bad.argmax())
        rank = int((np.bincount(ranks[row][ranks[row] > 0])[1:] > 1).argmax()) + 1
        raise ValueError(
            f"{name!r} has stage_scale=, which needs full rankings or top-k lists: ranking "
            f"{label_repr(labels[row])} has several items on rank {rank}, before its last rank. "
            "Each order of these items has other scales, so their block has no such probability. "
            "Leave stage_scale= out."
        )


def _code_of(group: str) -> str:
    """Name the parameter that holds the group label of every ranking."""
    return f"{group}_of_ranking"


def _places(lengths: Any, codes: Sequence[Any], item: Any) -> NDArray[Any]:
    """Return the position of every slot's item among the items of all groups."""
    place = flat_places([*(code[:, None] for code in codes), item], lengths)
    return place.astype(np.int32 if np.prod(lengths) < 2**31 else np.int64)
