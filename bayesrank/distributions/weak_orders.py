"""What `PlackettLuce` and `PMOP` share: a utility for each slot, and rankings, arrays or draws."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, ClassVar, Unpack

import numpy as np
import pytensor.tensor as pt
from pymc.distributions.distribution import Discrete
from pytensor.tensor import TensorVariable

from bayesrank.data import Rankings
from bayesrank.distributions.by_name import Named, utility_by_name
from bayesrank.distributions.drawn import DrawnRV
from bayesrank.distributions.observed import (
    Options,
    as_double,
    check_rows,
    observed_options,
    refuse_single_precision,
)
from bayesrank.distributions.orders import (
    blocks_of_one,
    observed_ranks,
    refuse_utility_dims,
    slot_order_ranks,
)
from bayesrank.distributions.outcomes import labelled

__all__ = ["WeakOrderRV", "WeakOrders", "slot_parameters"]


class WeakOrderOptions(Options, total=False):
    """What distributions of weak orders take."""

    where: Any
    sizes: Any
    nodes: int
    aggregate: str
    tie_prevalence: Any
    given_sizes: bool
    rank_weights: Any


class WeakOrderRV(DrawnRV):
    """Ranks of slots."""

    value_axes = "slot"

    @classmethod
    def support_point(cls, rv: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        """Return the items in the order of their slots, cut by the block sizes."""
        return slot_order_ranks(rv, p.where, p.sizes)


class WeakOrders(Discrete):
    """A distribution of the ranks of slots."""

    settings: ClassVar[Sequence[str]] = ()  # options of observed rankings
    by_row: ClassVar[Sequence[str]] = ()  # those that rankings may have of their own
    given_sizes: ClassVar[bool] = False  # whether the sizes of blocks are no part of the outcome

    def __new__(
        cls,
        name: str,
        utility: Any,
        *,
        observed: Any = None,
        utility_dims: str | Sequence[str] | None = None,
        **kwargs: Unpack[WeakOrderOptions],
    ) -> TensorVariable:
        refuse_single_precision()
        options: dict[str, Any] = {**kwargs}
        if isinstance(observed, Rankings):
            settings, options = observed_options(
                cls.__name__,
                observed,
                options,
                takes=cls.settings,
                brings=("where", "sizes"),
                instead=", or pass observed=rankings.ranks",
            )
            dims = options.get("dims")
            read = utility_by_name(name, utility, observed, utility_dims=utility_dims, dims=dims)
            return cls.observe(name, read, observed, settings, options)
        refuse_utility_dims(cls.__name__, utility_dims)
        if observed is not None:
            observed, options = observed_ranks(cls.__name__, observed, utility, options)
            if isinstance(observed, np.ndarray):
                weights = {what: (options.get(what), 1) for what in cls.by_row}
                check_rows(cls.__name__, observed.shape[:-1], "rankings", weights)
        elif options.get("given_sizes", cls.given_sizes) and options.get("sizes") is None:
            # what is not observed has the values that are drawn
            options["sizes"] = blocks_of_one(utility, options.get("where"))
        rv = super().__new__(cls, name, utility, observed=observed, **options)
        return rv if observed is None else labelled(name, rv)

    @classmethod
    def observe(
        cls, name: str, utility: Named, rankings: Rankings, settings: Any, options: Any
    ) -> TensorVariable:
        """Add observed rankings to the model in context; `settings` are those given."""
        raise NotImplementedError


def slot_parameters(utility: Any, where: Any, sizes: Any) -> list[TensorVariable]:
    """Return utilities, slots in use and sizes of blocks, by default of length 0, as tensors."""
    utility = pt.atleast_1d(as_double(utility, "`utility`"))
    where = pt.ones_like(utility, dtype=bool) if where is None else where
    sizes = pt.zeros((0,), dtype="int64") if sizes is None else sizes
    where = pt.cast(pt.as_tensor_variable(where), "bool")
    return [utility, where, pt.cast(pt.as_tensor_variable(sizes), "int64")]
