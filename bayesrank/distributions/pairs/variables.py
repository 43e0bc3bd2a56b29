"""Random variables of matches: draws and log-probabilities of counts of outcomes.

The parameters are the *lead* of the first item, a tie parameter (0 in models without ties) and the
total number of matches, if known. Without a total, a draw has one match and any value is possible.
Models of ordered grades have the cutpoints between the grades as tie parameter.
"""

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytensor.tensor as pt
from pymc.distributions.dist_math import check_parameters
from pytensor.tensor import TensorVariable

from bayesrank.distributions.core.drawn import DrawnRV, name_parameters
from bayesrank.distributions.core.observed import check_numbers
from bayesrank.likelihoods.pairs import (
    FAMILIES,
    DavidsonTotal,
    GradedTotal,
    GroundedTotal,
    LogProbabilities,
    PairTotal,
    RaoKupperTotal,
    ThurstoneTotal,
    bradley_terry_log_probabilities,
    davidson_log_probabilities,
    grade_log_probabilities,
    grounded_log_probabilities,
    outcome_counts_logp,
    rao_kupper_log_probabilities,
    thurstone_log_probabilities,
)

__all__ = [
    "BradleyTerryRV",
    "DavidsonRV",
    "GroundedRaoKupperRV",
    "OrderedPairRV",
    "PairRV",
    "RaoKupperRV",
    "ThurstoneRV",
    "check_pair_parameters",
    "check_tie_given",
    "check_tie_parameter",
    "counts_logp",
    "outcome_of_grades",
]


WITHOUT_TIES = "pair outcomes given the pairs"
WITH_TIES = "pair outcomes with ties given the pairs"
WITH_BOTH_BAD = "pair outcomes with ties and both bad given the pairs"


class PairRV(DrawnRV):
    """Draw the ties, and then the winners of the other matches."""

    parameters: ClassVar[Mapping[str, str]] = {"lead": "", "tie": "", "total": ""}
    value_axes = "result"
    outcomes = WITHOUT_TIES
    n_outcomes: ClassVar[int] = 2
    tie_parameter: ClassVar[str] = ""  # name of the tie parameter
    tie_least: ClassVar[float] = 0.0  # lower bound of the tie parameter
    total_op: ClassVar[type[PairTotal]]  # log-likelihood of all observed pairs
    formula: ClassVar[Callable[..., LogProbabilities]]  # function of the lead and tie parameter
    finite: ClassVar[tuple[str, ...]] = ("lead",)  # other parameters of a match

    @classmethod
    def log_probabilities(cls, p: SimpleNamespace) -> LogProbabilities:
        """Return the log-probabilities of the outcomes of one match."""
        return cls.formula(p.lead, p.tie) if cls.tie_parameter else cls.formula(p.lead)

    @classmethod
    def total_of(cls, p: SimpleNamespace) -> TensorVariable:
        """Return the log-likelihood of all observed pairs, as a sum over cells."""
        within, tying = p.layout.n_terms
        return cls.total_op(within=within, tying=tying)(
            p.utilities, p.adherences, p.order_effects, p.ties, p.effects,
            p.cell_first, p.cell_second, p.cell_group, p.cell_which, p.cell_size, p.cell_counts,
        )  # fmt: skip

    @classmethod
    def tie_condition(cls, tie: Any, p: SimpleNamespace) -> tuple[list[Any], str]:
        """Return the conditions that tie parameters must meet, and the message about them."""
        if not cls.tie_parameter:
            return [], ""
        condition = pt.all(pt.isfinite(tie) & (tie >= cls.tie_least))
        return [condition], f", {cls.tie_parameter} finite and >= {cls.tie_least:g}"

    @classmethod
    def draw(cls, rng: Any, size: Any, p: SimpleNamespace) -> tuple[Any, TensorVariable]:
        first, second, *tied = cls.log_probabilities(p)
        next_rng, decided, ties = rng, 1 if p.total is None else p.total, []
        for logp in tied:
            # rounding may exceed 1
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
        return counts_logp(cls, value, p)

    @classmethod
    def support_point(cls, rv: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        """Return counts with which the first item wins all matches."""
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


class GroundedRaoKupperRV(PairRV):
    """Outcomes under grounded Rao-Kupper; the level is the mean utility above the threshold."""

    name = "grounded_rao_kupper"
    _print_name = ("GroundedRaoKupper", "\\operatorname{GroundedRaoKupper}")
    parameters: ClassVar[Mapping[str, str]] = {"lead": "", "tie": "", "level": "", "total": ""}
    outcomes = WITH_BOTH_BAD
    n_outcomes = 4
    tie_parameter = "theta"
    tie_least = 1.0
    finite = ("lead", "level")

    @classmethod
    def log_probabilities(cls, p: SimpleNamespace) -> LogProbabilities:
        return grounded_log_probabilities(p.lead, p.level, p.tie)

    @classmethod
    def total_of(cls, p: SimpleNamespace) -> TensorVariable:
        return GroundedTotal(*p.layout.n_terms)(
            p.utilities, p.adherences, p.order_effects, p.ties, p.thresholds, p.effects,
            p.cell_first, p.cell_second, p.cell_group, p.cell_which, p.cell_size, p.cell_counts,
        )  # fmt: skip

    @classmethod
    def draw(cls, rng: Any, size: Any, p: SimpleNamespace) -> tuple[Any, TensorVariable]:
        return draw_in_turn(rng, size, cls.log_probabilities(p), p.total)


class OrderedPairRV(PairRV):
    """Ordered grades; the tie parameter is the cutpoints, and the structure has the family."""

    name = "ordered_pairs"
    _print_name = ("OrderedPairs", "\\operatorname{OrderedPairs}")
    parameters: ClassVar[Mapping[str, str]] = {"lead": "", "tie": "cut", "total": ""}
    tie_parameter = "cutpoints"

    @classmethod
    def rv_op(cls, *parameters: Any, family: str = FAMILIES[0], **options: Any) -> TensorVariable:
        return cls.build({"family": family}, *parameters, **options)

    @classmethod
    def log_probabilities(cls, p: SimpleNamespace) -> LogProbabilities:
        return grade_log_probabilities(p.lead, p.tie, p.family)

    @classmethod
    def total_of(cls, p: SimpleNamespace) -> TensorVariable:
        within, _ = p.layout.n_terms
        n_grades = 1 + p.tie.type.shape[-1]
        return GradedTotal(p.family, n_grades, within)(
            p.utilities, p.adherences, p.order_effects, p.ties[:, ::-1], p.effects,
            p.cell_first, p.cell_second, p.cell_group, p.cell_which, p.cell_size, p.cell_counts,
        )  # fmt: skip

    @classmethod
    def tie_condition(cls, tie: Any, p: SimpleNamespace) -> tuple[list[Any], str]:
        conditions, must = [pt.all(pt.isfinite(tie))], "finite"
        if p.family != "adjacent_logit":
            conditions.append(pt.all(tie[..., 1:] > tie[..., :-1]))
            must = "finite and increasing"
        return conditions, f", cutpoints {must}"

    @classmethod
    def draw(cls, rng: Any, size: Any, p: SimpleNamespace) -> tuple[Any, TensorVariable]:
        return draw_in_turn(rng, size, cls.log_probabilities(p), p.total)

    @classmethod
    def outcome(cls, *parameters: Any) -> str:
        known = name_parameters(cls.parameters, parameters)
        return "" if not parameters else outcome_of_grades(1 + known.tie.type.shape[-1])


def outcome_of_grades(n_grades: int) -> str:
    """Return the label of the outcome space of grades; two or three of them say who won."""
    known = {2: WITHOUT_TIES, 3: WITH_TIES}
    return known.get(n_grades, f"pair outcomes of {n_grades} grades given the pairs")


def draw_in_turn(
    rng: Any, size: Any, log_probabilities: LogProbabilities, total: Any
) -> tuple[Any, TensorVariable]:
    """Draw how many of the matches that are left have the next outcome."""
    *logp, rest = log_probabilities
    rests = [rest]  # log-probabilities of an outcome and all later ones
    for one in reversed(logp):
        rests.append(pt.logaddexp(one, rests[-1]))
    left, found = 1 if total is None else total, []
    for one, all_left in zip(logp, rests[:0:-1], strict=True):
        share = pt.minimum(pt.exp(one - all_left), 1.0)  # rounding may exceed 1
        rng, drawn = pt.random.binomial(left, share, size=size, rng=rng, return_next_rng=True)
        found.append(drawn)
        left = left - drawn
    return rng, pt.stack([*found, left], axis=-1)


def counts_logp(op: Any, value: Any, p: SimpleNamespace) -> TensorVariable:
    """Return one log-probability per pair, with the multinomial coefficient."""
    counts = pt.switch(value < 0, 0, value)
    ways = pt.gammaln(pt.sum(counts, axis=-1) + 1.0) - pt.sum(pt.gammaln(counts + 1.0), axis=-1)
    logp = ways + outcome_counts_logp(counts, op.log_probabilities(p))
    possible = pt.all(value >= 0, axis=-1)
    if p.total is not None:
        possible = possible & pt.eq(pt.sum(value, axis=-1), p.total)
    finite = [getattr(p, name) for name in op.finite]
    return check_pair_parameters(op, pt.switch(possible, logp, -np.inf), finite, p.tie, p)


def check_pair_parameters(
    op: Any, logp: TensorVariable, finite: Sequence[Any], tie: Any, p: SimpleNamespace
) -> TensorVariable:
    """Return the log-probability, -inf for parameters out of range."""
    conditions, message = op.tie_condition(tie, p)
    conditions = [*(pt.all(pt.isfinite(x)) for x in finite), *conditions]
    return check_parameters(logp, *conditions, msg=f"utilities and effects must be finite{message}")


def check_tie_given(op_type: type[PairRV], arguments: Mapping[str, Any]) -> str:
    """Return the name of the tie parameter, "" if there is none; raise if it is missing."""
    parameter = op_type.tie_parameter
    if parameter and arguments.get(parameter) is None:
        class_name = op_type._print_name[0]
        raise TypeError(f"{class_name} needs {parameter}=, its tie parameter.")
    return parameter


def check_tie_parameter(op_type: type[PairRV], given: Any, read: TensorVariable) -> None:
    """Raise for invalid tie parameters; `logp` checks tensors."""
    name, least = op_type.tie_parameter, op_type.tie_least
    if op_type is OrderedPairRV:
        check_numbers(name, given, read, np.isfinite, "finite")
    elif name:
        need = f"finite and at least {least:g}. At {least:g}, there are no ties (Bradley-Terry)"
        check_numbers(name, given, read, lambda x: x >= least, need)
