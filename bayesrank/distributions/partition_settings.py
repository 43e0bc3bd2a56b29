"""Settings of `PMOP` that are not data: which mean, and how sizes of blocks and stages weigh.

Whatever is a number is checked when the distribution is made, in full sentences; what is random can
only be checked at each evaluation, and `PMOP.logp` does.

>>> PartitionSettings(aggregate="max", given_sizes=True).outcome
'weak orders given their block sizes'
"""

from typing import Any

import numpy as np
import pytensor.tensor as pt
from pymc.pytensorf import rvs_in_graph
from pytensor.tensor import TensorVariable

from bayesrank.data.rankings import Rankings
from bayesrank.distributions.observed import known_value
from bayesrank.likelihoods.pmop.set_kernels import AGGREGATES

__all__ = ["PartitionSettings"]


class PartitionSettings:
    """The set function and the weights of sizes and stages, checked.

    Parameters
    ----------
    aggregate, tie_prevalence, given_sizes, rank_weights, nodes
        As in `PMOP`.

    Attributes
    ----------
    log_weight : TensorVariable, (..., n_sizes)
        Logarithms of the weights of sizes 1, 2, ...; of length 0 for equal ones.
    rank_weights : TensorVariable, (..., n_stages), or None
        Exponents of the stages, if there are any.
    constants : list of TensorConstant
        Position in `AGGREGATES`, whether sizes are given, and the number of nodes.

    Raises
    ------
    ValueError
        As `PMOP` does.
    """

    def __init__(
        self,
        aggregate: str = "mean",
        tie_prevalence: Any = None,
        given_sizes: bool = False,
        rank_weights: Any = None,
        nodes: int = 48,
    ) -> None:
        if aggregate not in AGGREGATES:
            known = ", ".join(map(repr, AGGREGATES))
            raise ValueError(f"`aggregate` is {aggregate!r}; it is one of {known}.")
        if given_sizes and tie_prevalence is not None:
            raise ValueError(
                "PMOP got tie_prevalence= and given_sizes=True: given their sizes, the weights of "
                "blocks cancel. Leave one of the two out."
            )
        self.log_weight = pt.zeros((0,))
        if tie_prevalence is not None:
            _check_positive("tie_prevalence", tie_prevalence)
            prevalence = pt.cast(pt.atleast_1d(pt.as_tensor_variable(tie_prevalence)), "float64")
            self.log_weight = _after_zero(pt.log(prevalence))
        self.rank_weights = None
        if rank_weights is not None:
            _check_falling("rank_weights", rank_weights)
            weights = pt.atleast_1d(pt.as_tensor_variable(rank_weights))
            self.rank_weights = pt.cast(weights, "float64")
        self.constants = [
            pt.constant(AGGREGATES.index(aggregate)),
            pt.constant(int(given_sizes)),
            pt.constant(nodes),
        ]

    @property
    def outcome(self) -> str:
        """What the log-probability is one of."""
        if self.rank_weights is not None:
            return "nothing: rank_weights make a pseudo-likelihood"
        given_sizes = self.constants[1].data
        return "weak orders given their block sizes" if given_sizes else "weak orders"

    def parameters(self, like: TensorVariable) -> list[TensorVariable]:
        """Log weights of sizes, weights of stages (default ones, shaped as `like`), constants."""
        weights = pt.ones_like(like) if self.rank_weights is None else self.rank_weights
        return [self.log_weight, weights, *self.constants]

    def check_stages(self, n_stages: int | None, what: str) -> None:
        """Raise if there are fewer rank weights than stages."""
        n_weights = None if self.rank_weights is None else self.rank_weights.type.shape[-1]
        if n_weights is not None and n_stages is not None and n_weights < n_stages:
            raise ValueError(
                f"`rank_weights` has {n_weights} entries for rankings of up to {n_stages} {what}; "
                "give one for every rank."
            )

    def check_blocks(self, rankings: Rankings) -> None:
        """Raise if observed blocks are more, or larger, than there are weights for."""
        self.check_stages(rankings.n_blocks, "blocks")
        n_sizes = self.log_weight.type.shape[-1]
        largest = int(rankings.block_sizes.max())
        if n_sizes and largest > n_sizes:
            row = int(np.argmax(rankings.block_sizes.max(axis=1)))
            raise ValueError(
                f"`tie_prevalence` has {n_sizes - 1} entries, for blocks of up to {n_sizes} items; "
                f"ranking {rankings.labels[row]!r} has a block of {largest}. Give {largest - 1} "
                f"entries, or none for equal weights."
            )


def _after_zero(x: TensorVariable) -> TensorVariable:
    """Put a zero before the entries of the last axis.

    By a sum, because JAX has no gradient of joining x to something if the length is not known.
    """
    place = pt.cumsum(pt.ones_like(x, dtype="int64"), axis=-1)
    zero = pt.sum(pt.zeros_like(place), axis=-1, keepdims=True)
    here = pt.eq(pt.concatenate([zero, place], axis=-1)[..., :, None], place[..., None, :])
    return pt.sum(pt.switch(here, x[..., None, :], 0.0), axis=-1)


def _check_positive(name: str, value: Any) -> None:
    if not isinstance(value, TensorVariable):
        bad = [
            x for x in np.atleast_1d(np.asarray(value, dtype=float)).ravel() if not 0 < x < np.inf
        ]
        if bad:
            raise ValueError(f"`{name}` holds {bad[0]}; it must be positive and finite.")


def _check_falling(name: str, value: Any) -> None:
    if isinstance(value, TensorVariable):
        if random := sorted(str(rv) for rv in rvs_in_graph([value])):
            raise ValueError(
                f"`{name}` depends on the random {', '.join(random)}: exponents cannot be "
                "estimated, because a pseudo-likelihood grows as they fall to zero. Pass numbers."
            )
        value = known_value(value)
        if value is None:
            return
    weights = np.atleast_1d(np.asarray(value, dtype=float))
    if not (np.isfinite(weights) & (weights >= 0)).all() or (np.diff(weights, axis=-1) > 0).any():
        raise ValueError(
            f"`{name}` is {np.array2string(weights, threshold=6)}; weights must be finite, must "
            "not be negative, and must not increase from the first rank to the last."
        )
