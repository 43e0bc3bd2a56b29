"""Weak orders: what the distributions of rankings share, draws and observed `Rankings`."""

from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.graph.traversal import ancestors
from pytensor.tensor import TensorVariable

from bayesrank.data import Rankings
from bayesrank.distributions.by_name import Named, in_slots
from bayesrank.distributions.observed import ObservedRV, Part, Record, same_labels
from bayesrank.schema import ITEM, RANKER, RANKINGS, RANKS, SIZES, WEIGHT, counted, name_of

__all__ = [
    "ObservedRankingsRV",
    "batch_shape",
    "blocks_of_one",
    "fits",
    "ranks_from_scores",
    "slot_order_ranks",
]


def batch_shape(*parameters: TensorVariable) -> tuple[Any, ...]:
    """Broadcast shape of the axes before the last.

    Taken from one parameter where one has them all, because JAX needs shapes to be concrete and
    a computed one is not.
    """
    batches = [(tuple(p.shape)[:-1], p.type.broadcastable[:-1]) for p in parameters]
    deepest = max(len(shape) for shape, _ in batches)
    for shape, broadcastable in batches:
        if len(shape) == deepest and not any(broadcastable):
            return shape
    # lengths of one as constants, without which an axis is taken for one that must not broadcast
    shapes = [
        tuple(1 if one else n for n, one in zip(shape, broadcastable, strict=True))
        for shape, broadcastable in batches
    ]
    return tuple(pt.broadcast_shape(*shapes, arrays_are_shapes=True))


def ranks_from_scores(score: Any, where: Any, sizes: Any) -> TensorVariable:
    """Rank slots by falling score and cut the order into blocks.

    Parameters
    ----------
    score : TensorVariable of float, (..., n_slots)
        The highest is first.
    where : TensorVariable of bool, (..., n_slots)
        Slots in use; others get rank 0.
    sizes : TensorVariable of int, (..., n_blocks)
        Block sizes, best first; ``n_blocks == 0`` is a full ranking.

    Returns
    -------
    TensorVariable of int64, (..., n_slots)
        Dense ranks.
    """
    order = pt.argsort(pt.switch(where, -score, np.inf), axis=-1)
    place = pt.cast(pt.argsort(order, axis=-1), "int64")  # from 0
    return pt.switch(where, 1 + _blocks_before(place, sizes), 0)


def slot_order_ranks(rv: TensorVariable, where: Any, sizes: Any) -> TensorVariable:
    """Rank the slots in use from left to right and cut that order into blocks; shape of `rv`."""
    place = pt.cumsum(pt.cast(where, "int64"), axis=-1) - 1
    ranks = pt.switch(where, 1 + _blocks_before(place, sizes), 0)
    return pt.zeros_like(rv) + ranks


def fits(value: TensorVariable, where: TensorVariable, sizes: TensorVariable) -> TensorVariable:
    """Whether the slots in use, and no others, have ranks, and blocks the sizes given, (...)."""
    out = pt.all(pt.eq(value > 0, where), axis=-1)
    if sizes.type.shape[-1] == 0:
        return out
    block = pt.cumsum(pt.ones_like(sizes), axis=-1)
    counts = pt.sum(pt.eq(value[..., :, None], block[..., None, :]), axis=-2)
    return out & pt.all(pt.eq(counts, sizes), axis=-1)


def blocks_of_one(utility: Any, where: Any = None) -> TensorVariable:
    """Sizes of a full ranking of the slots in use, (..., n_slots)."""
    if where is None:
        return pt.ones_like(pt.atleast_1d(pt.as_tensor_variable(utility)), dtype="int64")
    return -pt.sort(-pt.cast(pt.as_tensor_variable(where), "int64"), axis=-1)


def _blocks_before(place: TensorVariable, sizes: TensorVariable) -> TensorVariable:
    """Count the blocks that end at or before each place."""
    if sizes.type.shape[-1] == 0:
        return place
    ends = pt.cumsum(sizes, axis=-1)
    # an empty block after the last ends where the slots in use do, which no place reaches
    return pt.sum(place[..., :, None] >= ends[..., None, :], axis=-1, dtype="int64")


# ---------------------------------------------------------------------------------------------
# Observed rankings
# ---------------------------------------------------------------------------------------------


class ObservedRankingsRV(ObservedRV):
    """Ranks of the slots, with the observed ones and what belongs to them as parameters."""

    data_types = (Rankings,)
    noun = "rankings"
    axes: ClassVar[tuple[str, ...]] = ("ranking", "slot")
    example: ClassVar[tuple[str, ...]] = ("race", "place")
    value = "ranks"

    @classmethod
    def record(cls, name: str, data: Rankings, p: SimpleNamespace) -> Record:
        # who ranked, and how many rankings rankers and items have, for what is read off the results
        by_ranker = np.bincount(data.ranker_idx, minlength=len(data.rankers))
        by_item = np.bincount(data.item[data.mask], minlength=data.n_items)
        return Record(
            labels=data.coords,
            parts={
                RANKS: Part(data.ranks, cls.axes),
                ITEM: Part(data.item, cls.axes),
                SIZES: Part(data.block_sizes),
                WEIGHT: Part(data.weight, ("ranking",)),
                RANKER: Part(data.ranker_idx, ("ranking",)),
                counted(RANKER, RANKINGS): Part(by_ranker, ("ranker",)),
                counted(ITEM, RANKINGS): Part(by_item, ("item",)),
            },
            derived={},
        )

    @classmethod
    def on_axes(cls, model: pm.Model, name: str, data: Rankings, p: SimpleNamespace) -> Rankings:
        follows = cls._followed(model, name, p)
        if RANKER in follows:
            rankers = _labels_of(model, name, counted(RANKER, RANKINGS))
            same_labels(
                f"the utilities of {name!r}",
                name,
                rankers,
                data.coords[RANKER],
                cls.noun,
                "rankers",
            )
        if ITEM not in follows:
            return data
        items = _labels_of(model, name, counted(ITEM, RANKINGS))
        if len(items) != data.n_items:
            raise ValueError(
                f"{name!r} has {len(items)} utilities, but the new rankings have {data.n_items} "
                "items. Put them on the same axis, such as with subset()."
            )
        place = {label: i for i, label in enumerate(data.coords[ITEM])}
        if place.keys() != set(items):
            same_labels(f"the utilities of {name!r}", name, items, data.coords[ITEM], cls.noun)
        return data.reorder_items(data.items.take([place[label] for label in items]))

    @classmethod
    def _followed(cls, model: pm.Model, name: str, p: SimpleNamespace) -> set[str]:
        """Name the parts by which utilities are gathered; raise where new data change nothing."""
        graph = set(ancestors([p.utility]))
        parts = {part: model.named_vars.get(name_of(name, part)) for part in (ITEM, RANKER)}
        own = {part for part, data in parts.items() if data in graph}
        rows = model.named_vars_to_dims[name][0]
        if own or not graph.isdisjoint([*model.data_vars, model.dim_lengths[rows]]):
            return own
        raise ValueError(
            f"The utility of {name!r} is one per slot of the rankings that it was made with, and "
            "follows no others. Give one per item, or gather it by "
            f"model[{name_of(name, ITEM)!r}], which set_observed replaces."
        )

    @classmethod
    def of_slots(cls, utility: Named, data: SimpleNamespace) -> dict[str, TensorVariable]:
        """Parameters that all distributions of rankings have, from the registered data."""
        # cast here: pm.Data stores 32 bits, and cumulative sums of those do not fold (PyTensor 3.3)
        ranks = pt.cast(data.ranks, "int64")
        return {
            "utility": in_slots(utility, vars(data)),
            "where": ranks > 0,
            "sizes": pt.cast(data.sizes, "int64"),
            "ranks": ranks,
            "weight": data.weight,
        }

    @classmethod
    def support_point(cls, rv: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        return slot_order_ranks(rv, p.where, p.sizes)


def _labels_of(model: pm.Model, name: str, part: str) -> Any:
    """Labels of the axis of what a model keeps."""
    (dim,) = model.named_vars_to_dims[name_of(name, part)]
    return model.coords[dim]
