"""Random variables of matches: draws and log-probabilities of counts of outcomes.

A variable has the *lead* of the first item, a parameter of ties (0 in models without ties) and, if
it is known, the total number of matches. Without a total, a draw has one match and any value is
possible.
"""

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytensor.tensor as pt
from pymc.distributions.dist_math import check_parameters
from pytensor.tensor import TensorVariable

from bayesrank.distributions.drawn import DrawnRV
from bayesrank.distributions.observed import check_numbers
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
    "check_pair_parameters",
    "check_tie_given",
    "check_tie_parameter",
    "counts_logp",
]


WITH_TIES = "pair outcomes with ties given the pairs"


class PairRV(DrawnRV):
    """Draw whether matches are ties, and then who wins the others."""

    parameters: ClassVar[Mapping[str, str]] = {"lead": "", "tie": "", "total": ""}
    value_axes = "result"
    outcomes = "pair outcomes given the pairs"
    n_outcomes: ClassVar[int] = 2
    tie_parameter: ClassVar[str] = ""  # its name
    tie_least: ClassVar[float] = 0.0  # its lower bound
    total_op: ClassVar[type[PairTotal]]  # the log-likelihood of all observed pairs
    formula: ClassVar[Callable[..., LogProbabilities]]  # of the lead and the parameter of ties

    @classmethod
    def log_probabilities(cls, lead: Any, tie: Any) -> LogProbabilities:
        """Log-probabilities of the outcomes of one match."""
        return cls.formula(lead, tie) if cls.tie_parameter else cls.formula(lead)

    @classmethod
    def draw(cls, rng: Any, size: Any, p: SimpleNamespace) -> tuple[Any, TensorVariable]:
        first, second, *tied = cls.log_probabilities(p.lead, p.tie)
        next_rng, decided, ties = rng, 1 if p.total is None else p.total, []
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
    def logp(cls, value: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        return counts_logp(cls, value, p.lead, p.tie, p.total)

    @classmethod
    def support_point(cls, rv: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        """Return counts of pairs whose first item wins all matches."""
        return pt.set_subtensor(pt.zeros_like(rv)[..., 0], 1 if p.total is None else p.total)


class BradleyTerryRV(PairRV):
    """Outcomes under Bradley-Terry."""

    name = "bradley_terry"
    _print_name = ("BradleyTerry", "\\operatorname{BradleyTerry}")
    formula = staticmethod(bradley_terry_log_probabilities)
    total_op = DavidsonTotal  # without ties


class ThurstoneRV(PairRV):
    """Outcomes under Thurstone's model."""

    name = "thurstone"
    _print_name = ("Thurstone", "\\operatorname{Thurstone}")
    formula = staticmethod(thurstone_log_probabilities)
    total_op = ThurstoneTotal


class DavidsonRV(PairRV):
    """Outcomes under Davidson's model."""

    name = "davidson"
    _print_name = ("Davidson", "\\operatorname{Davidson}")
    formula = staticmethod(davidson_log_probabilities)
    total_op = DavidsonTotal
    outcomes = WITH_TIES
    n_outcomes = 3
    tie_parameter = "nu"


class RaoKupperRV(PairRV):
    """Outcomes under Rao and Kupper's model."""

    name = "rao_kupper"
    _print_name = ("RaoKupper", "\\operatorname{RaoKupper}")
    formula = staticmethod(rao_kupper_log_probabilities)
    total_op = RaoKupperTotal
    outcomes = WITH_TIES
    n_outcomes = 3
    tie_parameter = "theta"
    tie_least = 1.0


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


def check_tie_given(op_type: type[PairRV], arguments: Mapping[str, Any]) -> str:
    """Return the name of the parameter of ties, "" without, or raise where it is missing."""
    parameter = op_type.tie_parameter
    if parameter and arguments.get(parameter) is None:
        class_name = op_type._print_name[0]
        raise TypeError(f"{class_name} needs {parameter}=, its parameter of ties.")
    return parameter


def check_tie_parameter(op_type: type[PairRV], given: Any, read: TensorVariable) -> None:
    """Raise for numbers that are no parameter of ties; `logp` checks tensors."""
    name, least = op_type.tie_parameter, op_type.tie_least
    if name:
        need = f"finite and {least:g} or more. {least:g} is no ties, Bradley-Terry"
        check_numbers(name, given, read, lambda x: x >= least, need)
