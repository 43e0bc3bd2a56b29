"""Random variables of Mallows models: rankings around a consensus that is given or marginalised.

A generalised Mallows model is one under Kendall's distance, with an axis of stages in `alpha`.
"""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytensor.tensor as pt
from numpy.typing import NDArray
from pymc.distributions.dist_math import check_parameters
from pytensor.tensor import TensorVariable

from bayesrank.distributions.drawn import DrawnRV
from bayesrank.distributions.observed import known_value, signature
from bayesrank.distributions.orders import batch_shape, fits, ranks_from_scores
from bayesrank.likelihoods.mallows import (
    DISTANCES,
    check_distance,
    draw_rankings,
    known_items,
    summed_out_logp,
    summed_out_stages_logp,
)

__all__ = [
    "NO_BLOCKS",
    "PARAMETERS",
    "STAGE",
    "SUMMED_OUT",
    "GeneralizedMallowsRV",
    "MallowsRV",
    "StagesSummedOutRV",
    "SummedOutRV",
    "are_ranks",
    "checked",
    "distance_number",
    "is_full",
    "name_of_distance",
    "of_items",
    "refuse_no_ranks",
]

STAGE = "stage"
ALPHA_IS_WRONG = "alpha must be finite and not negative"
CONSENSUS_IS_WRONG = "consensus must hold the ranks 1 to n"

# `n_items` is that of the consensus. Blocks of length 0: full rankings of the slots in use
PARAMETERS = {
    "consensus": "slot",
    "alpha": "",
    "distance": "",
    "where": "slot",
    "sizes": "block",
    "n_items": "",
}
# An alpha of length one is that of all rankings
SUMMED_OUT = {
    "alpha": "one_or_ranking",
    "item": "ranking,slot",
    "distance": "",
    "sizes": "row,block",
}
NO_BLOCKS = np.zeros((1, 0), np.int64)


class MallowsRV(DrawnRV):
    """Draw full rankings around a consensus, and show the order of the slots in use, in blocks."""

    name = "mallows"
    drawn_by: ClassVar[Sequence[str]] = tuple(PARAMETERS)
    extended_signature = signature(PARAMETERS, "slot")
    _print_name = ("Mallows", "\\operatorname{Mallows}")
    by_stage: ClassVar[bool] = False

    @classmethod
    def draw(cls, rng: Any, size: Any, *parameters: Any) -> tuple[Any, TensorVariable]:
        p = SimpleNamespace(**dict(zip(cls.drawn_by, parameters, strict=False)))
        seed_rng, consensus, batch = cls._consensus(p, size, rng)
        next_rng, seed = pt.random.integers(0, 2**62, rng=seed_rng, return_next_rng=True)
        ranks = draw_rankings(
            consensus,
            p.alpha,
            seed,
            shape=batch,
            distance=name_of_distance(p.distance),
            n_items=cls._n_items(p),
            by_stage=cls.by_stage,
        )
        return next_rng, cls._shown(ranks, p)

    @classmethod
    def _consensus(cls, p: SimpleNamespace, size: Any, rng: Any) -> tuple[Any, TensorVariable, Any]:
        """Return a generator, the consensus, and the shape of the rankings to draw around it."""
        if size is None:
            alpha = p.alpha if cls.by_stage else p.alpha[..., None]
            size = batch_shape(p.consensus, alpha, p.where, p.sizes)
        return rng, p.consensus, size

    @classmethod
    def _n_items(cls, p: SimpleNamespace) -> int:
        return int(p.n_items.data)

    @classmethod
    def _shown(cls, ranks: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        """Return the order of the slots in use, in blocks."""
        if is_full(p.where, p.sizes):
            return ranks
        return ranks_from_scores(-ranks, p.where, p.sizes)


class GeneralizedMallowsRV(MallowsRV):
    """Draw rankings stage by stage, with a concentration for each."""

    name = "generalized_mallows"
    extended_signature = signature(PARAMETERS | {"alpha": STAGE}, "slot")
    _print_name = ("GeneralizedMallows", "\\operatorname{GeneralizedMallows}")
    by_stage = True


class SummedOutRV(MallowsRV):
    """Draw one consensus, and rankings around it."""

    name = "mallows_summed_out"
    drawn_by = tuple(SUMMED_OUT)
    extended_signature = signature(SUMMED_OUT, "ranking,slot")

    @classmethod
    def _consensus(cls, p: SimpleNamespace, size: Any, rng: Any) -> tuple[Any, TensorVariable, Any]:
        batch = () if size is None else size
        shape = (*batch, cls._n_items(p))
        next_rng, score = pt.random.uniform(size=shape, rng=rng, return_next_rng=True)
        consensus = 1 + pt.argsort(pt.argsort(score, axis=-1), axis=-1)
        return next_rng, consensus[..., p.item], (*batch, p.item.shape[0])

    @classmethod
    def _n_items(cls, p: SimpleNamespace) -> int:
        return known_items(p.item)

    @classmethod
    def _shown(cls, ranks: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        if p.sizes.type.shape[-1] == 0:
            return ranks
        return ranks_from_scores(-ranks, pt.ones_like(ranks, dtype=bool), p.sizes)

    @classmethod
    def joint_logp(
        cls, value: Any, p: SimpleNamespace, weight: Any = None, *, known: bool = False
    ) -> TensorVariable:
        """Log-probability of all rankings together; `known` ones are not checked."""
        if value.ndim != 2:
            raise ValueError(
                "A Mallows model without a consensus has the log-probability of one matrix of "
                f"rankings at a time; the value has {value.ndim} axes."
            )
        n, value = cls._n_items(p), pt.cast(value, "int64")
        rows = pt.arange(p.item.shape[0])[:, None]
        by_item = of_items(pt.zeros_like(p.item)[rows, p.item].set(value), n)
        sizes = None if p.sizes.type.shape[-1] == 0 else p.sizes
        if cls.by_stage:
            logp = summed_out_stages_logp(by_item, p.alpha, weight)
        else:
            distance = name_of_distance(p.distance)
            logp = summed_out_logp(by_item, p.alpha, distance=distance, weight=weight, sizes=sizes)
        if not known:
            everywhere = pt.ones_like(value, dtype=bool)
            possible = are_ranks(value, n) if sizes is None else fits(value, everywhere, sizes)
            logp = pt.switch(pt.all(possible), logp, -pt.inf)
        return checked(logp, p.alpha)


class StagesSummedOutRV(SummedOutRV):
    """Draw one consensus, and rankings around it, stage by stage."""

    name = "generalized_mallows_summed_out"
    extended_signature = signature(SUMMED_OUT | {"alpha": STAGE}, "ranking,slot")
    _print_name = GeneralizedMallowsRV._print_name
    by_stage = True


# ---------------------------------------------------------------------------------------------
# Parameters and values
# ---------------------------------------------------------------------------------------------


def is_full(where: Any, sizes: Any) -> bool:
    """Whether all slots are in use, and no blocks are given."""
    used = known_value(where)
    return sizes.type.shape[-1] == 0 and used is not None and bool(used.all())


def are_ranks(ranks: Any, n: int) -> TensorVariable:
    """Whether each row holds the ranks 1 to n, (...)."""
    return pt.all(pt.eq(pt.sort(ranks, axis=-1), np.arange(1, n + 1)), axis=-1)


def checked(logp: Any, alpha: Any, is_ranking: Any = None) -> TensorVariable:
    """Check the parameters where values are known: -inf in a model, an error elsewhere."""
    if is_ranking is not None:
        logp = check_parameters(logp, pt.all(is_ranking), msg=CONSENSUS_IS_WRONG)
    fine = pt.all(pt.isfinite(alpha) & (alpha >= 0))
    return check_parameters(logp, fine, msg=ALPHA_IS_WRONG)


def of_items(x: TensorVariable, n: int) -> TensorVariable:
    """Whole numbers of as many slots as there are items."""
    return pt.specify_shape(pt.cast(x, "int64"), (None, n))


def refuse_no_ranks(known: NDArray[Any]) -> None:
    """Raise where a row of a known consensus does not hold the ranks 1 to n."""
    ordered = np.sort(known, axis=-1)
    if known.size and (ordered != np.arange(1, known.shape[-1] + 1)).any():
        raise ValueError(
            f"`consensus` is {np.array2string(known, threshold=6)}; it holds every rank from 1 "
            f"to {known.shape[-1]} once."
        )


def distance_number(distance: str) -> TensorVariable:
    """Return the position of a distance in `DISTANCES`."""
    check_distance(distance)
    return pt.constant(DISTANCES.index(distance))


def name_of_distance(distance: TensorVariable) -> str:
    """Return the name of a distance, from its position."""
    return DISTANCES[int(distance.data)]
