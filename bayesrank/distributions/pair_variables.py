"""Random variables of matches: draws and log-probabilities of counts of outcomes.

A variable has the *lead* of the first item, a parameter of ties (0 in models without ties) and, if
it is known, the total number of matches. Without a total, a draw has one match and any value is
possible.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pytensor.tensor as pt
from pymc.distributions.dist_math import check_parameters
from pytensor.tensor import TensorVariable

from bayesrank.distributions.drawn import DrawnRV
from bayesrank.distributions.observed import (
    check_numbers,
    logprob_of,
    signature,
    support_point_of,
)
from bayesrank.likelihoods.pairs import (
    DavidsonTotal,
    LogProbabilities,
    PairTotal,
    RaoKupperTotal,
    ThurstoneTotal,
    bradley_terry_log_probabilities,
    davidson_log_probabilities,
    outcome_counts_logp,
    rao_kupper_log_probabilities,
    thurstone_log_probabilities,
)

__all__ = [
    "BradleyTerryRV",
    "DavidsonRV",
    "PairRV",
    "RaoKupperRV",
    "ThurstoneRV",
    "all_won_by_the_first",
    "check_pair_parameters",
    "check_tie_parameter",
    "counts_logp",
]

PARAMETERS = {"lead": "", "tie": "", "total": ""}


class PairRV(DrawnRV):
    """Draw whether matches are ties, and then who wins the others."""

    extended_signature = signature(PARAMETERS, "result")
    n_outcomes: ClassVar[int] = 2
    tie_parameter: ClassVar[str] = ""  # its name
    tie_least: ClassVar[float] = 0.0  # its lower bound
    total_op: ClassVar[type[PairTotal]]  # the log-likelihood of all observed pairs

    @classmethod
    def draw(cls, rng: Any, size: Any, *parameters: Any) -> tuple[Any, TensorVariable]:
        lead, tie, *rest = parameters
        first, second, *tied = cls.log_probabilities(lead, tie)
        next_rng, decided, ties = rng, rest[0] if rest else 1, []
        for logp in tied:
            # 1 at most, which rounding may exceed
            next_rng, draws = pt.random.binomial(
                decided, pt.minimum(pt.exp(logp), 1.0), size=size, rng=rng, return_next_rng=True
            )
            decided, ties = decided - draws, [draws]
        next_rng, won = pt.random.binomial(
            decided, pt.sigmoid(first - second), size=size, rng=next_rng, return_next_rng=True
        )
        return next_rng, pt.stack([won, decided - won, *ties], axis=-1)

    @classmethod
    def signature_of(cls, parameters: Sequence[Any]) -> str | None:
        return signature({"lead": "", "tie": ""}, "result") if len(parameters) == 2 else None

    @classmethod
    def outcome(cls, *parameters: Any) -> str:
        """Return the label of the outcome space."""
        ties = " with ties" if cls.n_outcomes == 3 else ""
        return f"pair outcomes{ties} given the pairs"

    @classmethod
    def log_probabilities(cls, lead: Any, tie: Any) -> LogProbabilities:
        """Log-probabilities of the outcomes of one match."""
        raise NotImplementedError


class BradleyTerryRV(PairRV):
    """Outcomes under Bradley-Terry."""

    name = "bradley_terry"
    _print_name = ("BradleyTerry", "\\operatorname{BradleyTerry}")
    total_op = DavidsonTotal  # without ties

    @classmethod
    def log_probabilities(cls, lead: Any, tie: Any) -> LogProbabilities:
        return bradley_terry_log_probabilities(lead)


class ThurstoneRV(PairRV):
    """Outcomes under Thurstone's model."""

    name = "thurstone"
    _print_name = ("Thurstone", "\\operatorname{Thurstone}")
    total_op = ThurstoneTotal

    @classmethod
    def log_probabilities(cls, lead: Any, tie: Any) -> LogProbabilities:
        return thurstone_log_probabilities(lead)


class DavidsonRV(PairRV):
    """Outcomes under Davidson's model."""

    name = "davidson"
    _print_name = ("Davidson", "\\operatorname{Davidson}")
    total_op = DavidsonTotal
    n_outcomes = 3
    tie_parameter = "nu"

    @classmethod
    def log_probabilities(cls, lead: Any, tie: Any) -> LogProbabilities:
        return davidson_log_probabilities(lead, tie)


class RaoKupperRV(PairRV):
    """Outcomes under Rao and Kupper's model."""

    name = "rao_kupper"
    _print_name = ("RaoKupper", "\\operatorname{RaoKupper}")
    total_op = RaoKupperTotal
    n_outcomes = 3
    tie_parameter = "theta"
    tie_least = 1.0

    @classmethod
    def log_probabilities(cls, lead: Any, tie: Any) -> LogProbabilities:
        return rao_kupper_log_probabilities(lead, tie)


@logprob_of.register(PairRV)
def _pair_logp(
    op: PairRV, values: Any, rng: Any, size: Any, lead: Any, tie: Any, *total: Any, **kwargs: Any
) -> TensorVariable:
    return counts_logp(op, values[0], lead, tie, *total)


@support_point_of.register(PairRV)
def _pair_support_point(
    op: PairRV, rv: TensorVariable, rng: Any, size: Any, lead: Any, tie: Any, *total: Any
) -> TensorVariable:
    return all_won_by_the_first(rv, *total)


def all_won_by_the_first(rv: TensorVariable, total: Any = 1) -> TensorVariable:
    """Return counts of pairs whose first item wins all matches."""
    return pt.set_subtensor(pt.zeros_like(rv)[..., 0], total)


def counts_logp(op: Any, value: Any, lead: Any, tie: Any, total: Any = None) -> TensorVariable:
    """One log-probability per pair, with the number of orders of its outcomes."""
    counts = pt.switch(value < 0, 0, value)
    ways = pt.gammaln(pt.sum(counts, axis=-1) + 1.0) - pt.sum(pt.gammaln(counts + 1.0), axis=-1)
    logp = ways + outcome_counts_logp(counts, op.log_probabilities(lead, tie))
    possible = pt.all(value >= 0, axis=-1)
    if total is not None:
        possible = possible & pt.eq(pt.sum(value, axis=-1), total)
    return check_pair_parameters(op, pt.switch(possible, logp, -np.inf), [lead], tie)


def check_pair_parameters(
    op: Any, logp: TensorVariable, finite: Sequence[Any], tie: Any
) -> TensorVariable:
    """Return the log-probability, -inf for parameters out of range."""
    conditions = [pt.all(pt.isfinite(x)) for x in finite]
    message = "utilities and effects must be finite"
    if op.tie_parameter:
        conditions.append(pt.all(pt.isfinite(tie) & (tie >= op.tie_least)))
        message += f", {op.tie_parameter} finite and >= {op.tie_least:g}"
    return check_parameters(logp, *conditions, msg=message)


def check_tie_parameter(op_type: type[PairRV], given: Any, read: TensorVariable) -> None:
    """Raise for numbers that are no parameter of ties; `logp` checks tensors."""
    name, least = op_type.tie_parameter, op_type.tie_least
    if name:
        need = f"finite and {least:g} or more. {least:g} is no ties, Bradley-Terry"
        check_numbers(name, given, read, lambda x: x >= least, need)
