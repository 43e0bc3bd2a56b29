"""What the distributions of pair outcomes share: draws, log-probability and checks.

A variable holds counts of outcomes, the last axis being the outcomes, of so many matches each. Its
parameters are the lead of the first item, the one number beyond it that models of ties have
(0 in the others), and the number of matches.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pytensor.tensor as pt
from pymc.distributions.dist_math import check_parameters
from pymc.distributions.distribution import SymbolicRandomVariable
from pymc.distributions.distribution import _support_point as support_point_of
from pymc.distributions.shape_utils import rv_size_is_none
from pymc.logprob.abstract import _logprob as logprob_of
from pymc.pytensorf import normalize_rng_param
from pytensor.graph.basic import Variable
from pytensor.tensor import TensorVariable
from pytensor.tensor.random.utils import normalize_size_param

from bayesrank.likelihoods.pairs.graph import (
    LogProbabilities,
    bradley_terry_log_probabilities,
    davidson_log_probabilities,
    outcome_counts_logp,
    rao_kupper_log_probabilities,
    thurstone_log_probabilities,
)

__all__ = [
    "ANY",
    "BradleyTerryRV",
    "DavidsonRV",
    "PairRV",
    "RaoKupperRV",
    "ThurstoneRV",
    "as_double",
    "check_outcomes",
    "check_parameters_of",
    "check_tie_parameter",
    "counts_logp",
    "logprob_of",
    "observed_options",
]

ANY = -1  # as a total: whatever the value sums to, and draws of one match


class PairRV(SymbolicRandomVariable):
    """Draw whether matches are ties, then who wins the others."""

    extended_signature = "[rng],[size],(),(),()->[rng],(o)"

    n_outcomes: ClassVar[int] = 2
    tie_parameter: ClassVar[str] = ""  # its name, and the least it may be
    tie_least: ClassVar[float] = 0.0

    @classmethod
    def rv_op(cls, *parameters: Any, size: Any = None, rng: Any = None) -> TensorVariable:
        params = [pt.as_tensor_variable(x) for x in parameters]
        lead, tie, total = params[:3]
        rng = normalize_rng_param(rng)
        size = normalize_size_param(size)
        shape = None if rv_size_is_none(size) else tuple(size)
        first, second, *tied = cls.log_probabilities(lead, tie)

        next_rng, decided, ties = rng, _at_random(total), []
        for logp in tied:
            # 1 at most, which rounding may exceed
            next_rng, draws = pt.random.binomial(
                decided, pt.minimum(pt.exp(logp), 1.0), size=shape, rng=rng, return_next_rng=True
            )
            decided, ties = decided - draws, [draws]
        next_rng, won = pt.random.binomial(
            decided, pt.sigmoid(first - second), size=shape, rng=next_rng, return_next_rng=True
        )
        counts = pt.stack([won, decided - won, *ties], axis=-1)
        return cls(inputs=[rng, size, *params], outputs=[next_rng, counts])(rng, size, *params)

    @classmethod
    def log_probabilities(cls, lead: Any, tie: Any) -> LogProbabilities:
        """Log-probabilities of the outcomes of one match."""
        raise NotImplementedError


class BradleyTerryRV(PairRV):
    """Outcomes under Bradley-Terry."""

    name = "bradley_terry"
    _print_name = ("BradleyTerry", "\\operatorname{BradleyTerry}")

    @classmethod
    def log_probabilities(cls, lead: Any, tie: Any) -> LogProbabilities:
        return bradley_terry_log_probabilities(lead)


class ThurstoneRV(PairRV):
    """Outcomes under Thurstone's model."""

    name = "thurstone"
    _print_name = ("Thurstone", "\\operatorname{Thurstone}")

    @classmethod
    def log_probabilities(cls, lead: Any, tie: Any) -> LogProbabilities:
        return thurstone_log_probabilities(lead)


class DavidsonRV(PairRV):
    """Outcomes under Davidson's model."""

    name = "davidson"
    _print_name = ("Davidson", "\\operatorname{Davidson}")
    n_outcomes = 3
    tie_parameter = "nu"

    @classmethod
    def log_probabilities(cls, lead: Any, tie: Any) -> LogProbabilities:
        return davidson_log_probabilities(lead, tie)


class RaoKupperRV(PairRV):
    """Outcomes under Rao and Kupper's model."""

    name = "rao_kupper"
    _print_name = ("RaoKupper", "\\operatorname{RaoKupper}")
    n_outcomes = 3
    tie_parameter = "theta"
    tie_least = 1.0

    @classmethod
    def log_probabilities(cls, lead: Any, tie: Any) -> LogProbabilities:
        return rao_kupper_log_probabilities(lead, tie)


@logprob_of.register(PairRV)
def _pair_logp(
    op: PairRV, values: Any, rng: Any, size: Any, lead: Any, tie: Any, total: Any, **kwargs: Any
) -> TensorVariable:
    return counts_logp(op, values[0], lead, tie, total)


@support_point_of.register(PairRV)
def _pair_support_point(
    op: PairRV, rv: TensorVariable, rng: Any, size: Any, lead: Any, tie: Any, total: Any, *_: Any
) -> TensorVariable:
    """All matches won by the first item."""
    return pt.set_subtensor(pt.zeros_like(rv)[..., 0], _at_random(total))


def counts_logp(op: PairRV, value: Any, lead: Any, tie: Any, total: Any) -> TensorVariable:
    """One log-probability per pair, the number of orders included."""
    counts = pt.switch(value < 0, 0, value)
    ways = pt.gammaln(pt.sum(counts, axis=-1) + 1.0) - pt.sum(pt.gammaln(counts + 1.0), axis=-1)
    logp = ways + outcome_counts_logp(counts, op.log_probabilities(lead, tie))
    possible = pt.all(value >= 0, axis=-1) & (
        pt.eq(total, ANY) | pt.eq(pt.sum(value, axis=-1), total)
    )
    return check_parameters_of(op, pt.switch(possible, logp, -np.inf), [lead], tie)


def as_double(value: Any) -> TensorVariable:
    """Return a tensor of double precision; PyTensor makes single ones of the numbers that fit."""
    known = value if isinstance(value, Variable) else np.asarray(value, dtype=np.float64)
    return pt.cast(pt.as_tensor_variable(known), "float64")


def _at_random(total: TensorVariable) -> TensorVariable:
    """Count the matches of a draw: one where nothing was said."""
    return pt.switch(pt.eq(total, ANY), 1, total)


# ---------------------------------------------------------------------------------------------
# Checks
# ---------------------------------------------------------------------------------------------


def check_parameters_of(
    op: PairRV, logp: TensorVariable, finite: Sequence[Any], tie: Any
) -> TensorVariable:
    """Make the log-probability depend on parameters that it exists for."""
    conditions = [pt.all(pt.isfinite(x)) for x in finite]
    message = "utility and order_effect must be finite"
    if op.tie_parameter:
        conditions.append(pt.all(pt.isfinite(tie) & (tie >= op.tie_least)))
        message += f", {op.tie_parameter} finite and >= {op.tie_least:g}"
    return check_parameters(logp, *conditions, msg=message)


def check_tie_parameter(op_type: type[PairRV], value: Any) -> None:
    """Raise for numbers that `op_type` does not exist for; of tensors, `logp` knows."""
    if isinstance(value, Variable):
        return
    numbers = np.atleast_1d(np.asarray(value, dtype=float)).ravel()
    wrong = numbers[~(np.isfinite(numbers) & (numbers >= op_type.tie_least))]
    if wrong.size:
        raise ValueError(
            f"`{op_type.tie_parameter}` holds {wrong[0]:g}; it must be finite and "
            f"{op_type.tie_least:g} or more. {op_type.tie_least:g} is no ties, Bradley-Terry."
        )


def observed_options(
    op_type: type[PairRV], class_name: str, options: dict[str, Any]
) -> dict[str, Any]:
    """Return the options that go with observed `Pairs`, the parameter of ties as `tie`."""
    options = {name: value for name, value in options.items() if value is not None}
    parameter = op_type.tie_parameter
    for taken in ("total", "shape"):
        if taken in options:
            raise TypeError(
                f"{class_name} got both observed=Pairs and {taken}=: a Pairs brings its own. "
                f"Leave {taken}= out."
            )
    if parameter and parameter not in options:
        raise TypeError(f"{class_name} needs {parameter}=, its parameter of ties.")
    for unknown in options.keys() - {parameter, "order_effect", "dims", "total_size"}:
        raise TypeError(f"{class_name} got an unexpected keyword argument {unknown!r}.")
    return {"tie": options.pop(parameter, 0.0), **options}


def check_outcomes(op_type: type[PairRV], observed: Any) -> None:
    """Raise for numbers that are no counts of outcomes; of tensors, `logp` knows."""
    if isinstance(observed, Variable):
        return
    counts = np.asarray(observed)
    names = ("first wins", "second wins", "ties")[: op_type.n_outcomes]
    if counts.ndim < 1 or counts.shape[-1] != len(names):
        without = counts.ndim and counts.shape[-1] == 3
        raise ValueError(
            f"The observed counts have shape {counts.shape}; their last axis must be the "
            f"{len(names)} outcomes: {', '.join(names)}."
            + (" Davidson and RaoKupper have ties." if without else "")
        )
    cells = {
        "not a whole number": (counts != np.round(counts)) | np.isinf(counts),
        "negative": counts < 0,
    }
    for what, bad in cells.items():
        if bad.any():
            where = tuple(int(i) for i in np.argwhere(bad)[0])
            raise ValueError(
                f"The observed count {counts[where]:g} at {list(where)} is {what}: counts say how "
                "often each outcome came."
            )
