"""Random variables of Mallows models around a given consensus, and checks of their parameters.

A generalised Mallows model uses Kendall's distance, with an axis of stages in `alpha`.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytensor.tensor as pt
from numpy.typing import NDArray
from pymc.distributions.dist_math import check_parameters
from pytensor.graph.utils import MissingInputError
from pytensor.tensor import TensorConstant, TensorVariable
from pytensor.xtensor.type import XTensorType

from bayesrank.distributions.core.drawn import DrawnRV, batch_shape
from bayesrank.distributions.core.observed import known_value, refuse_labelled, refuse_text
from bayesrank.distributions.rankings.orders import fits_sizes, ranks_from_scores
from bayesrank.likelihoods.mallows import (
    DISTANCES,
    check_distance,
    draw_rankings,
    mallows_logp,
    stages_logp,
)

__all__ = [
    "PARAMETERS",
    "STAGE",
    "GeneralizedMallowsRV",
    "MallowsRV",
    "are_ranks",
    "check_mallows_parameters",
    "distance_number",
    "is_full",
    "logp_of_rows",
    "name_of_distance",
    "refuse_no_ranks",
    "refuse_real_numbers",
    "whole_ranks",
    "with_n_slots",
]

STAGE = "stage"
ALPHA_IS_WRONG = "alpha must be finite and not negative"
CONSENSUS_IS_WRONG = "consensus must hold the ranks 1 to n"

# `n_items` counts the items of the consensus. Blocks of length 0: full rankings of the slots in use
PARAMETERS = {
    "consensus": "slot",
    "alpha": "",
    "distance": "",
    "where": "slot",
    "sizes": "block",
    "n_items": "",
}


class MallowsRV(DrawnRV):
    """Draw full rankings around a consensus, and return the blocks of the slots in use."""

    name = "mallows"
    parameters: ClassVar[Mapping[str, str]] = PARAMETERS
    value_axes = "slot"
    _print_name = ("Mallows", "\\operatorname{Mallows}")
    by_stage: ClassVar[bool] = False

    @classmethod
    def draw(cls, rng: Any, size: Any, p: SimpleNamespace) -> tuple[Any, TensorVariable]:
        if size is None:
            alpha = p.alpha if cls.by_stage else p.alpha[..., None]
            size = batch_shape(p.consensus, alpha, p.where, p.sizes)
        return cls.draw_around(p.consensus, rng, size, p)

    @classmethod
    def draw_around(
        cls, consensus: TensorVariable, rng: Any, shape: Any, p: SimpleNamespace
    ) -> tuple[Any, TensorVariable]:
        """Return the next generator and rankings around a consensus."""
        next_rng, seed = pt.random.integers(0, 2**62, rng=rng, return_next_rng=True)
        ranks = draw_rankings(
            consensus,
            p.alpha,
            seed,
            shape=shape,
            distance=name_of_distance(p.distance),
            n_items=cls._n_items(p),
            by_stage=cls.by_stage,
        )
        return next_rng, cls._shown(ranks, p)

    @classmethod
    def _n_items(cls, p: SimpleNamespace) -> int:
        return int(p.n_items.data)

    @classmethod
    def _shown(cls, ranks: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        """Return the order of the slots in use, in blocks."""
        if is_full(p.where, p.sizes):
            return ranks
        return ranks_from_scores(-ranks, p.where, p.sizes)

    @classmethod
    def support_point(cls, rv: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        """Return the observed part of the consensus."""
        return pt.zeros_like(rv) + ranks_from_scores(-p.consensus, p.where, p.sizes)

    @classmethod
    def logp(cls, value: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        """Return one log-probability per ranking."""
        n = cls._n_items(p)
        full = is_full(p.where, p.sizes)
        possible = are_ranks(value, n) if full else fits_sizes(value, p.where, p.sizes)
        if cls.by_stage:
            logp = logp_of_rows(stages_logp, value, p.consensus, p.alpha)
        else:
            distance = name_of_distance(p.distance)
            logp = logp_of_rows(
                lambda y, rho, alpha: mallows_logp(y, rho, alpha[:, 0], distance, n_items=n),
                value,
                p.consensus,
                p.alpha[..., None],
            )
        logp = pt.switch(possible, logp, -pt.inf)
        return check_mallows_parameters(logp, p.alpha, are_ranks(p.consensus, n))


class GeneralizedMallowsRV(MallowsRV):
    """Draw rankings stage by stage, with a concentration for each."""

    name = "generalized_mallows"
    parameters = PARAMETERS | {"alpha": STAGE}
    _print_name = ("GeneralizedMallows", "\\operatorname{GeneralizedMallows}")
    by_stage = True


# ---------------------------------------------------------------------------------------------
# Parameters and values
# ---------------------------------------------------------------------------------------------


def logp_of_rows(
    f: Callable[..., TensorVariable], value: Any, consensus: Any, alpha: Any
) -> TensorVariable:
    """Apply a log-probability of rows to rankings of any shape, (...).

    `alpha` has an axis of stages, of length one if all stages have the same concentration.
    """
    n = consensus.type.shape[-1] or consensus.shape[-1]
    shape = batch_shape(value, consensus, alpha)
    lengths = (n, n, alpha.type.shape[-1])
    rows = [
        pt.broadcast_to(x, (*shape, length)).reshape((-1, length))
        for x, length in zip((value, consensus, alpha), lengths, strict=True)
    ]
    logp = f(*rows)
    return logp.reshape(shape) if shape else logp[0]


def is_full(where: Any, sizes: Any) -> bool:
    """Tell whether all slots are in use and no blocks are given."""
    used = known_value(where)
    return sizes.type.shape[-1] == 0 and used is not None and bool(used.all())


def are_ranks(ranks: Any, n: int) -> TensorVariable:
    """Tell whether each row holds the ranks 1 to n, (...)."""
    return pt.all(pt.eq(pt.sort(ranks, axis=-1), np.arange(1, n + 1)), axis=-1)


def check_mallows_parameters(logp: Any, alpha: Any, is_ranking: Any = None) -> TensorVariable:
    """Check the parameters: invalid ones give -inf in a model, an error elsewhere."""
    if is_ranking is not None:
        logp = check_parameters(logp, pt.all(is_ranking), msg=CONSENSUS_IS_WRONG)
    fine = pt.all(pt.isfinite(alpha) & (alpha >= 0))
    return check_parameters(logp, fine, msg=ALPHA_IS_WRONG)


def with_n_slots(x: TensorVariable, n: int) -> TensorVariable:
    """Cast to whole numbers with `n` slots, one per item."""
    return pt.specify_shape(pt.cast(x, "int64"), (None, n))


def refuse_no_ranks(known: NDArray[Any]) -> None:
    """Raise if a row of a known consensus does not hold the ranks 1 to n."""
    ordered = np.sort(known, axis=-1)
    if known.size and (ordered != np.arange(1, known.shape[-1] + 1)).any():
        raise ValueError(
            f"`consensus` is {np.array2string(known, threshold=6)}; it must hold every rank from 1 "
            f"to {known.shape[-1]} once."
        )


def whole_ranks(consensus: Any) -> TensorVariable:
    """Return a consensus as whole numbers, or raise for real ones."""
    refuse_labelled("`consensus`", consensus)
    if isinstance(getattr(consensus, "type", None), XTensorType):
        consensus = consensus.values
    refuse_real_numbers(consensus)
    x = pt.as_tensor_variable(consensus)
    if isinstance(x, TensorConstant):
        refuse_no_ranks(x.data)
    if x.ndim and x.type.shape[-1] is None:
        with suppress(MissingInputError):  # known for data and for variables with dims
            n = int(x.shape[-1].eval(mode="FAST_COMPILE"))
            x = pt.specify_shape(x, (*x.type.shape[:-1], n))
    return pt.cast(x, "int64")


def refuse_real_numbers(consensus: Any) -> None:
    """Raise for a consensus of real numbers, or of labels."""
    refuse_text(consensus, "`consensus`")
    if isinstance(consensus, Mapping):
        consensus = pd.Series(dict(consensus)).apply(pd.Series)
    elif not hasattr(consensus, "dtype") and not hasattr(consensus, "dtypes"):
        consensus = pt.as_tensor_variable(consensus)
    dtypes = consensus.dtypes if hasattr(consensus, "dtypes") else consensus.dtype
    if any(str(dtype).lower().startswith("float") for dtype in np.atleast_1d(np.asarray(dtypes))):
        raise TypeError(
            "`consensus` holds real numbers; it must hold the ranks of the items, whole numbers "
            "from 1. Turn utilities into ranks with bayesrank.rank_draws, or use PlackettLuce."
        )


def distance_number(distance: str, n_items: int) -> TensorVariable:
    """Return the position of a distance in `DISTANCES`; raise if it has no exact normaliser."""
    check_distance(distance, n_items)
    return pt.constant(DISTANCES.index(distance))


def name_of_distance(distance: TensorVariable) -> str:
    """Return the name of a distance, from its position."""
    return DISTANCES[int(distance.data)]
