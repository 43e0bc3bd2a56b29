"""The tables of families that the battery in `tests/distributions/battery.py` goes through.

A new sibling is a table: how to make the distribution, an oracle for its log-probability, all
values it can draw, and what it must refuse. A case is one ranking, pair or table of counts; the
battery makes batches, and masks and paddings of rankings, of it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import permutations
from typing import Any, Self

import numpy as np
import pytensor.tensor as pt
from scipy.special import gammaln, log_expit, log_ndtr

import bayesrank as br
from bayesrank.likelihoods.pmop.set_kernels import AGGREGATES
from tests.likelihoods.count_tables import count_tables, table_logp
from tests.oracles import block_sizes, partition_logp, weak_order_logp, weak_orders

# Without a compiler, and the independent graph. Numba, the mode of samplers, takes half a minute
# for each random variable: one case of each that has compiled Ops of its own asks for it.
BACKENDS = ("FAST_COMPILE", "JAX")
WITH_NUMBA = (*BACKENDS, "NUMBA")
FINITE_UTILITY = "utility must be finite in the slots in use"
POSITIVE_PREVALENCE = "tie_prevalence must be positive and finite"


@dataclass(frozen=True)
class Case:
    """One family at one set of parameters, for a single ranking."""

    name: str
    dist: Callable[..., Any]
    utility: np.ndarray  # (n_slots,)
    # utility and value of the slots in use, and parameters that are real numbers by their names
    oracle: Callable[..., float]
    support: np.ndarray  # (number, n_slots), or of another shape; all values that can be drawn
    parameters: Mapping[str, np.ndarray] = field(default_factory=dict)  # without leading axes
    more_values: np.ndarray | None = None  # like the support, accepted but never drawn
    bad_values: Mapping[str, Any] = field(default_factory=dict)  # what is wrong: value
    # what is wrong: message, and the arguments that it is about
    bad_parameters: Mapping[str, tuple[str, Mapping[str, Any]]] = field(default_factory=dict)
    backends: tuple[str, ...] = BACKENDS
    largest: float = 1000.0  # utility that it must stand
    has_slots: bool = True  # of which any may be left out
    absolute: bool = False  # a shift of all utilities changes the log-probability
    quick: bool = True  # or only in the slow set: its formula has tests below the distributions

    @property
    def family(self) -> str:
        """First word of the name."""
        return self.name.split()[0].rstrip(":")

    @property
    def where(self) -> np.ndarray:
        """Slots in use."""
        return self.parameters.get("where", np.ones(self.utility.size, dtype=bool))

    @property
    def values(self) -> np.ndarray:
        """All values with a log-probability."""
        more = [] if self.more_values is None else [self.more_values]
        return np.concatenate([self.support, *more])

    @property
    def real_parameters(self) -> dict[str, np.ndarray]:
        """Parameters with a gradient, besides the utility."""
        return {name: x for name, x in self.parameters.items() if x.dtype == np.float64}

    def exact(self, values: np.ndarray, **changed: np.ndarray) -> np.ndarray:
        """Log-probability of each value by the oracle; masked slots are left out."""
        real = {"utility": self.utility} | self.real_parameters | changed
        u, used = real.pop("utility"), self.where
        if not self.has_slots:
            return np.array([self.oracle(u, value, **real) for value in values])
        return np.array([self.oracle(u[used], value[used], **real) for value in values])

    def relabelled(self, order: np.ndarray) -> Self:
        """The same with its items in another order."""
        return self.on_slots(order)

    def on_slots(self, slots: Any, **changed: np.ndarray) -> Self:
        """Select or reorder slots in everything that has a slot axis."""
        parameters = dict(self.parameters)
        if "where" in parameters:
            parameters["where"] = parameters["where"][slots]
        return replace(
            self,
            utility=self.utility[slots],
            support=self.support[:, slots],
            more_values=None if self.more_values is None else self.more_values[:, slots],
            parameters=parameters | changed,
            bad_values={},
            bad_parameters={},
        )


# Singletons, blocks in every place, shared stages, unequal lengths, weights, one item unranked
RANKINGS = br.Rankings.from_orderings(
    [
        ["a", "b", "c", "d"],
        ["b", "a", {"c", "d"}],
        [{"a", "b"}, "c", "e"],
        [{"c", "d", "e"}, {"a", "b"}],
        ["e", {"b", "c"}, "a"],
        ["b", "a", {"c", "d"}],
    ],
    items=list("abcdef"),
    weight=[1, 2, 1, 3, 1, 1],
    rest=(),
)


# Plackett-Luce


def _full_rankings(n: int) -> np.ndarray:
    return np.array(list(permutations(range(1, n + 1))))


def _of_sizes(*sizes: int) -> np.ndarray:
    return np.array([r for r in weak_orders(sum(sizes)) if block_sizes(r) == sizes])


def _spread(ranks: np.ndarray, where: np.ndarray) -> np.ndarray:
    """Put ranks into the slots in use, 0 into the others."""
    out = np.zeros((len(ranks), where.size), dtype=np.int64)
    out[:, where] = ranks
    return out


NO_RANKS = {
    "a gap": [1, 3, 4, 4],
    "no first": [2, 2, 3, 4],
    "a negative rank": [1, 2, -1, 3],
    "an empty slot in use": [1, 2, 0, 3],
}
NOT_FINITE = {
    "nan": (FINITE_UTILITY, {"utility": [0.5, np.nan, 0.0, 1.0]}),
    "inf": (FINITE_UTILITY, {"utility": [np.inf, 0.2, 0.0, 1.0]}),
    "-inf": (FINITE_UTILITY, {"utility": [0.5, 0.2, 0.0, -np.inf]}),
}
MASK = np.array([True, False, True, True, False, True])

PLACKETT_LUCE = [
    Case(
        "PlackettLuce: full rankings",
        br.PlackettLuce.dist,
        np.array([0.3, 1.2, -0.5, 0.1]),
        weak_order_logp,
        _full_rankings(4),
        more_values=np.array([r for r in weak_orders(4) if r.max() < 4]),
        bad_values=NO_RANKS,
        bad_parameters=NOT_FINITE,
    ),
    Case(
        "PlackettLuce: full rankings of some slots",
        br.PlackettLuce.dist,
        np.array([0.3, -9.0, 1.2, -0.5, 20.0, 0.1]),
        weak_order_logp,
        _spread(_full_rankings(4), MASK),
        {"where": MASK},
        more_values=_spread(np.array([r for r in weak_orders(4) if r.max() < 4]), MASK),
        bad_values={
            "a gap": [1, 0, 3, 4, 0, 4],
            "a ranked slot that is not in use": [1, 2, 3, 4, 0, 5],
            "an empty slot in use": [1, 0, 2, 3, 0, 0],
        },
        bad_parameters={
            "nan": (FINITE_UTILITY, {"utility": [0.3, -9.0, np.nan, -0.5, 20.0, 0.1]}),
        },
    ),
    Case(
        "PlackettLuce: weak orders of sizes 1, 2, 1",
        br.PlackettLuce.dist,
        np.array([0.8, -1.2, 0.5, 0.0]),
        weak_order_logp,
        _of_sizes(1, 2, 1),
        {"where": np.ones(4, dtype=bool), "sizes": np.array([1, 2, 1])},
        bad_values=NO_RANKS
        | {
            "other sizes": [1, 1, 2, 3],
            "a full ranking": [1, 2, 3, 4],
            "one block": [1, 1, 1, 1],
        },
        bad_parameters=NOT_FINITE,
    ),
    Case(
        "PlackettLuce: the best two of five",
        br.PlackettLuce.dist,
        np.array([0.8, -1.2, 2.5, 0.0, 0.3]),
        weak_order_logp,
        _of_sizes(1, 1, 3),
        {"where": np.ones(5, dtype=bool), "sizes": np.array([1, 1, 3])},
        bad_values={"the best three": [1, 2, 3, 4, 4], "the best two as a block": [1, 1, 2, 2, 2]},
    ),
    Case(
        "PlackettLuce: clicks on some slots",
        br.PlackettLuce.dist,
        np.array([0.3, -9.0, 1.2, -0.5, 20.0, 0.1]),
        weak_order_logp,
        _spread(_of_sizes(2, 2), MASK),
        {"where": MASK, "sizes": np.array([2, 2, 0])},
        bad_values={
            "other sizes": [1, 0, 2, 2, 0, 2],
            "another block": [1, 0, 1, 2, 0, 3],
            "slots that are not in use": [0, 1, 1, 2, 2, 0],
        },
        bad_parameters={
            "inf": (FINITE_UTILITY, {"utility": [0.3, -9.0, np.inf, -0.5, 20.0, 0.1]}),
        },
    ),
]

BAD_SCALES = {
    f"a scale of {value}": (
        "stage_scale must be finite and not negative",
        {"stage_scale": [1.0, value]},
    )
    for value in (-0.1, np.nan, np.inf)
}


def _staged_logp(utility: np.ndarray, ranks: np.ndarray, stage_scale: np.ndarray) -> float:
    """Choice after choice, each with its scale; the rest of a ranking at random."""
    scale = np.append(stage_scale, np.zeros(ranks.size))
    terms = [scale[m] * utility[ranks >= m + 1] for m in range(ranks.max(initial=1) - 1)]
    chosen = [float(scale[m] * utility[ranks == m + 1][0]) for m in range(len(terms))]
    return sum(chosen) - sum(float(np.logaddexp.reduce(u)) for u in terms)


PLACKETT_LUCE += [
    Case(
        "PlackettLuce: scales of two stages",
        br.PlackettLuce.dist,
        np.array([0.3, 1.2, -0.5, 0.1]),
        _staged_logp,
        _full_rankings(4),
        {"stage_scale": np.array([1.5, 0.6])},
        more_values=np.concatenate([_of_sizes(1, 3), _of_sizes(1, 1, 2)]),
        bad_values=NO_RANKS | {"two bests": [1, 1, 2, 3], "a block between": [1, 2, 2, 3]},
        bad_parameters=NOT_FINITE | BAD_SCALES,
    ),
    Case(
        "PlackettLuce: scales, the best two of some slots",
        br.PlackettLuce.dist,
        np.array([0.3, -9.0, 1.2, -0.5, 20.0, 0.1]),
        _staged_logp,
        _spread(_of_sizes(1, 1, 2), MASK),
        {
            "where": MASK,
            "sizes": np.array([1, 1, 2]),
            "stage_scale": np.array([1.0, 0.4, 0.2, 0.1, 3.0]),
        },
        bad_values={
            "a full ranking": [1, 0, 2, 3, 0, 4],
            "the best one": [1, 0, 2, 2, 0, 2],
            "slots that are not in use": [0, 1, 2, 3, 3, 0],
        },
    ),
]


# MaxDiff. A function for every method, because functions are compiled once for each.

MARLEY = partial(br.MaxDiff.dist, method="marley")


def _best_worst(ranks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return ranks == 1, (ranks == ranks.max(initial=0)) & (ranks > 1)


def _sequential_logp(utility: np.ndarray, ranks: np.ndarray) -> float:
    best, worst = _best_worst(ranks)
    first = utility[best][0] - np.logaddexp.reduce(utility)
    return float(first - utility[worst][0] - np.logaddexp.reduce(-utility[~best]))


def _marley_logp(utility: np.ndarray, ranks: np.ndarray) -> float:
    best, worst = _best_worst(ranks)
    pairs = [x - y for x, y in permutations(utility, 2)]
    return float(utility[best][0] - utility[worst][0] - np.logaddexp.reduce(pairs))


NO_CHOICES = {
    "two bests": [1, 1, 2, 3],
    "two worsts": [1, 2, 3, 3],
    "a full ranking": [1, 2, 3, 4],
    "only the best": [1, 2, 2, 2],
    "one block": [1, 1, 1, 1],
}

MAX_DIFF = [
    case
    for method, dist, oracle in (
        ("sequential", br.MaxDiff.dist, _sequential_logp),
        ("marley", MARLEY, _marley_logp),
    )
    for case in (
        Case(
            f"MaxDiff {method}: four items",
            dist,
            np.array([0.3, 1.2, -0.5, 0.1]),
            oracle,
            _of_sizes(1, 2, 1),
            bad_values=NO_RANKS | NO_CHOICES,
            bad_parameters=NOT_FINITE,
            quick=method == "sequential",
        ),
        Case(
            f"MaxDiff {method}: some slots",
            dist,
            np.array([0.3, -9.0, 1.2, -0.5, 20.0, 0.1]),
            oracle,
            _spread(_of_sizes(1, 2, 1), MASK),
            {"where": MASK},
            bad_values={
                "slots that are not in use": [0, 1, 2, 2, 3, 0],
                "an empty slot in use": [1, 0, 2, 3, 0, 0],
                "only the best": [1, 0, 2, 2, 0, 2],
            },
            bad_parameters={
                "nan": (FINITE_UTILITY, {"utility": [0.3, -9.0, np.nan, -0.5, 20.0, 0.1]}),
            },
        ),
        Case(
            f"MaxDiff {method}: a set of two",
            dist,
            np.array([0.3, 1.2]),
            oracle,
            _full_rankings(2),
            bad_values={"one block": [1, 1], "only one": [1, 0]},
            quick=method == "sequential",
        ),
    )
]


# PMOP. A function for every form, because functions are compiled once for each.

FREE = {name: partial(br.PMOP.dist, aggregate=name) for name in AGGREGATES}
GIVEN_SIZES = {name: partial(dist, given_sizes=True) for name, dist in FREE.items()}
SMALL_MASK = np.array([True, False, True, True, False])


def _prevalence_logp(
    utility: np.ndarray, ranks: np.ndarray, aggregate: str, tie_prevalence: np.ndarray
) -> float:
    log_weight = np.append(0.0, np.log(tie_prevalence))
    return partition_logp(utility, ranks, aggregate, log_weight=log_weight)


def _all_weak_orders(aggregate: str) -> Case:
    return Case(
        f"PMOP {aggregate}: all weak orders",
        FREE[aggregate],
        np.array([0.8, -1.2, 2.5, 0.1]),
        partial(partition_logp, aggregate=aggregate),
        weak_orders(4),
        bad_values=NO_RANKS,
        bad_parameters=NOT_FINITE,
        quick=aggregate in ("mean", "harmonic"),
    )


def _pairs_tie(aggregate: str) -> Case:
    used = np.array([r for r in weak_orders(3) if max(block_sizes(r)) <= 2])
    return Case(
        f"PMOP {aggregate}: ties of two in some slots",
        FREE[aggregate],
        np.array([0.3, -9.0, 1.2, -0.5, 20.0]),
        partial(_prevalence_logp, aggregate=aggregate),
        _spread(used, SMALL_MASK),
        {"where": SMALL_MASK, "tie_prevalence": np.array([0.7])},
        bad_values={
            "a tie of three": [1, 0, 1, 1, 0],
            "a gap": [1, 0, 3, 3, 0],
            "a ranked slot that is not in use": [1, 2, 3, 4, 0],
            "an empty slot in use": [1, 0, 2, 0, 0],
        },
        bad_parameters={
            "nan": (FINITE_UTILITY, {"utility": [0.3, -9.0, np.nan, -0.5, 20.0]}),
            "no prevalence": (POSITIVE_PREVALENCE, {"tie_prevalence": [0.0]}),
            "a negative prevalence": (POSITIVE_PREVALENCE, {"tie_prevalence": [-0.7]}),
            "nan prevalence": (POSITIVE_PREVALENCE, {"tie_prevalence": [np.nan]}),
            "inf prevalence": (POSITIVE_PREVALENCE, {"tie_prevalence": [np.inf]}),
        },
        quick=aggregate in ("mean", "geometric"),
    )


def _first_and_two(aggregate: str) -> Case:
    return Case(
        f"PMOP {aggregate}: given sizes 1, 2 of some slots",
        GIVEN_SIZES[aggregate],
        np.array([0.3, -9.0, 1.2, -0.5, 20.0]),
        partial(partition_logp, aggregate=aggregate, given_sizes=True),
        _spread(_of_sizes(1, 2), SMALL_MASK),
        {"where": SMALL_MASK, "sizes": np.array([1, 2, 0])},
        bad_values={
            "other sizes": [1, 0, 1, 2, 0],
            "a full ranking": [1, 0, 2, 3, 0],
            "one block": [1, 0, 1, 1, 0],
            "slots that are not in use": [0, 1, 2, 2, 0],
        },
        backends=WITH_NUMBA if aggregate == "max" else BACKENDS,
        quick=aggregate in ("mean", "max"),
    )


def _given_sizes(aggregate: str) -> Case:
    return Case(
        f"PMOP {aggregate}: given sizes, full rankings drawn",
        GIVEN_SIZES[aggregate],
        np.array([0.3, 1.2, -0.5, 0.1]),
        partial(partition_logp, aggregate=aggregate, given_sizes=True),
        _full_rankings(4),
        more_values=np.array([r for r in weak_orders(4) if r.max() < 4]),
        bad_values=NO_RANKS,
        bad_parameters=NOT_FINITE,
        quick=aggregate == "geometric",
    )


# Given sizes of the extremes are tested with three items; four would be two more functions.
PMOP = [
    *map(_all_weak_orders, AGGREGATES),
    *map(_pairs_tie, AGGREGATES),
    *map(_first_and_two, AGGREGATES),
    *map(_given_sizes, ("mean", "geometric", "harmonic")),
]

# Pair outcomes: the utilities are those of the first and the second item, values are counts


class PairCase(Case):
    """Outcomes of a pair."""

    def relabelled(self, order: np.ndarray) -> Self:
        """The same pair the other way round."""
        swap = [1, 0, 2][: self.support.shape[1]]
        effect = {"order_effect": -self.parameters["order_effect"]}
        return replace(
            self,
            utility=self.utility[::-1],
            support=self.support[:, swap],
            parameters={**self.parameters, **effect},
            bad_values={},
            bad_parameters={},
        )


def _of_outcomes(log_probabilities: Callable[..., Any]) -> Callable[..., float]:
    """Oracle of counts from the log-probabilities of one outcome, given the lead."""

    def oracle(utility: np.ndarray, counts: np.ndarray, order_effect: float, **tie: float) -> float:
        logp = log_probabilities(utility[0] - utility[1] + order_effect, **tie)
        terms = [n * x for n, x in zip(counts, logp, strict=True) if n]
        return float(gammaln(sum(counts) + 1) - gammaln(counts + 1.0).sum() + sum(terms))

    return oracle


def _davidson(lead: float, nu: float) -> list[float]:
    logs = np.array([lead / 2, -lead / 2, np.log(nu)])
    return list(logs - np.logaddexp.reduce(logs))


def _rao_kupper(lead: float, theta: float) -> list[float]:
    first, second = log_expit(lead - np.log(theta)), log_expit(-lead - np.log(theta))
    return [first, second, np.log(theta**2 - 1) + first + second]


def _counts_of(total: int, n_outcomes: int) -> np.ndarray:
    """All counts of outcomes with a total."""
    grid = np.indices((total + 1,) * n_outcomes).reshape(n_outcomes, -1).T
    return grid[grid.sum(axis=1) == total]


FINITE_PAIR = "utilities and effects must be finite"


def _pair(
    name: str,
    log_probabilities: Callable[..., Any],
    bad_ties: tuple[float, ...] = (),
    **tie: float,
) -> PairCase:
    n = 3 if tie else 2
    least = 0 if "nu" in tie else 1
    tie_fields = {
        f"a {parameter} of {value}": (
            f"must be finite, {parameter} finite and >= {least}",
            {parameter: value},
        )
        for parameter in tie
        for value in bad_ties
    }
    return PairCase(
        f"{name}: two matches",
        getattr(br, name).dist,
        np.array([0.7, 0.2]),
        _of_outcomes(log_probabilities),
        _counts_of(2, n),
        {
            "order_effect": np.array(0.3),
            **{parameter: np.array(value) for parameter, value in tie.items()},
            "total": np.array(2),
        },
        bad_values={
            "a negative count": [3, -1, 0][:n],
            "more matches": [1, 2, 0][:n],
            "fewer matches": [1, 0, 0][:n],
        },
        bad_parameters={
            "nan": (FINITE_PAIR, {"utility": [np.nan, 0.0]}),
            "inf": (FINITE_PAIR, {"utility": [0.0, np.inf]}),
            "an infinite effect": (FINITE_PAIR, {"order_effect": np.inf}),
            **tie_fields,
        },
        has_slots=False,
    )


PAIRS = [
    _pair("BradleyTerry", lambda lead: [log_expit(lead), log_expit(-lead)]),
    _pair("Thurstone", lambda lead: [log_ndtr(lead), log_ndtr(-lead)]),
    _pair("Davidson", _davidson, (-0.1, np.inf, np.nan), nu=0.7),
    _pair("RaoKupper", _rao_kupper, bad_ties=(0.9, np.inf, np.nan), theta=1.6),
]


class GradedCase(PairCase):
    """Ordered grades of a pair."""

    def relabelled(self, order: np.ndarray) -> Self:
        """The same pair the other way round, with the grades in the other order."""
        changed = {
            "order_effect": -self.parameters["order_effect"],
            "cutpoints": -self.parameters["cutpoints"][::-1],
        }
        return replace(
            self,
            utility=self.utility[::-1],
            support=self.support[:, ::-1],
            parameters={**self.parameters, **changed},
            bad_values={},
            bad_parameters={},
        )


def _cumulative(log_cdf: Callable[[Any], Any]) -> Callable[..., Any]:
    """Log-probabilities of grades, from the best: differences of a symmetric distribution."""

    def logs(lead: float, cutpoints: np.ndarray) -> np.ndarray:
        z = np.array([-np.inf, *cutpoints, np.inf]) - lead
        low, high = z[:-1], z[1:]
        turned = low + high > 0  # to the side where the differences are exact
        low, high = np.where(turned, -high, low), np.where(turned, -low, high)
        top = log_cdf(high)
        return np.asarray(top + np.log(-np.expm1(log_cdf(low) - top)))[::-1]

    return logs


def _adjacent(lead: float, cutpoints: np.ndarray) -> np.ndarray:
    odds = (lead - cutpoints) / len(cutpoints)  # log odds of a grade and the next worse one
    logs = np.array([0.0, *np.cumsum(odds)])[::-1]
    return np.asarray(logs - np.logaddexp.reduce(logs))


def _graded(family: str, log_probabilities: Callable[..., Any], must: str) -> GradedCase:
    return GradedCase(
        f"OrderedPairs: {family}",
        partial(br.OrderedPairs.dist, family=family),
        np.array([0.7, 0.2]),
        _of_outcomes(log_probabilities),
        _counts_of(2, 4),
        {
            "order_effect": np.array(0.3),
            "cutpoints": np.array([-0.9, 0.2, 1.4]),
            "total": np.array(2),
        },
        bad_values={
            "a negative count": [3, -1, 0, 0],
            "more matches": [1, 2, 0, 0],
            "fewer matches": [1, 0, 0, 0],
        },
        bad_parameters={
            "nan": (FINITE_PAIR, {"utility": [np.nan, 0.0]}),
            "cutpoints": (f"cutpoints {must}", {"cutpoints": [0.0, np.inf, 0.0]}),
        },
        has_slots=False,
    )


GRADED = [
    _graded("cumulative_logit", _cumulative(log_expit), "finite and increasing"),
    replace(
        _graded("cumulative_probit", _cumulative(log_ndtr), "finite and increasing"), quick=False
    ),
    replace(_graded("adjacent_logit", _adjacent, "finite"), quick=False),
]


# Both bad: the level of the utilities matters


class GroundedCase(PairCase):
    """Outcomes of a pair. The last one says that both are bad."""

    def relabelled(self, order: np.ndarray) -> Self:
        """The same pair the other way round."""
        found = super().relabelled(order)
        return replace(found, support=self.support[:, [1, 0, 2, 3]])


def _grounded(
    utility: np.ndarray, counts: np.ndarray, order_effect: float, theta: float, threshold: float
) -> float:
    first, second = utility + order_effect * np.array([0.5, -0.5]) - threshold
    tied, equal, either = np.log(theta), np.log(theta - 1), np.logaddexp(first, second)
    all_in = np.logaddexp(0, either)
    over = np.logaddexp(0, np.logaddexp(first, second + tied))
    under = np.logaddexp(0, np.logaddexp(second, first + tied))
    # pq (θ − 1) / (1 + p + q) times the sum of the two 1 / (1 + p + θq)
    tie = first + second + equal - all_in + np.logaddexp(-over, -under)
    logp = [first - over, second - under, tie, -all_in]
    terms = [n * x for n, x in zip(counts, logp, strict=True) if n]
    return float(gammaln(sum(counts) + 1) - gammaln(counts + 1.0).sum() + sum(terms))


GROUNDED = [
    GroundedCase(
        "GroundedRaoKupper: two matches",
        br.GroundedRaoKupper.dist,
        np.array([0.7, 0.2]),
        _grounded,
        _counts_of(2, 4),
        {
            "order_effect": np.array(0.3),
            "theta": np.array(1.6),
            "threshold": np.array(0.4),
            "total": np.array(2),
        },
        bad_values={
            "a negative count": [3, -1, 0, 0],
            "more matches": [1, 2, 0, 0],
            "fewer matches": [1, 0, 0, 0],
        },
        bad_parameters={
            "nan": (FINITE_PAIR, {"utility": [np.nan, 0.0]}),
            "an infinite threshold": (FINITE_PAIR, {"threshold": np.inf}),
            "a theta of 0.9": ("theta finite and >= 1", {"theta": 0.9}),
        },
        has_slots=False,
        absolute=True,
    )
]


# MPM: values are tables of counts


class TableCase(Case):
    """Counts of ordered pairs."""

    def relabelled(self, order: np.ndarray) -> Self:
        """The same with its items in another order."""
        items = {"variance", "total"} & {name for name, x in self.parameters.items() if np.ndim(x)}
        moved = {
            name: self.parameters[name][np.ix_(*[order] * self.parameters[name].ndim)]
            for name in items
        }
        return replace(
            self,
            utility=self.utility[order],
            support=self.support[:, order][:, :, order],
            parameters={**self.parameters, **moved},
            bad_values={},
            bad_parameters={},
        )


SCORE = np.array([0.3, 1.2, -0.5])
VARIANCE = np.array([0.5, 0.8, 0.3])
NO_TABLES = {
    "another total": [[0, 1, 0], [0, 0, 0], [0, 0, 0]],
    "a negative count": [[0, 3, -1], [0, 0, 0], [0, 0, 0]],
    "a diagonal": [[0, 1, 0], [0, 1, 0], [0, 0, 0]],
}
NO_NUMBERS = "score must be finite, adherence finite and >= 0, variance finite and > 0"
NOT_POSSIBLE = {
    "nan": (NO_NUMBERS, {"utility": [0.0, np.nan, 1.0]}),
    "inf": (NO_NUMBERS, {"utility": [0.0, np.inf, 1.0]}),
}
NO_ADHERENCE = {
    "a negative adherence": (NO_NUMBERS, {"adherence": -0.1}),
    "an infinite adherence": (NO_NUMBERS, {"adherence": np.inf}),
}
NO_VARIANCE = {
    "no variance": (NO_NUMBERS, {"variance": [0.5, 0.0, 1.0]}),
    "a negative variance": (NO_NUMBERS, {"variance": [0.5, -1.0, 1.0]}),
}


def _tables(
    form: str,
    parameters: Mapping[str, np.ndarray],
    bad: Mapping[str, Any] = {},
    *,
    backends: tuple[str, ...] = BACKENDS,
) -> TableCase:
    return TableCase(
        f"MPM: {form}",
        br.MPM.dist,
        SCORE,
        _table_logp,
        count_tables(3, 2),
        {**parameters, "total": np.array(2)},
        bad_values=NO_TABLES,
        bad_parameters=NOT_POSSIBLE | dict(bad),
        backends=backends,
        largest=8.0,  # beyond, graphs with variances interpolate more than they promise
        has_slots=False,
        quick=form != "variances",
    )


def _table_logp(score: np.ndarray, counts: np.ndarray, **parameters: Any) -> float:
    return table_logp(counts, score, **parameters)


ADHERENCE = {"adherence": np.array(0.4)}
BOTH = {"variance": VARIANCE, "adherence": np.array(1.5)}
MPM = [
    _tables("equal", {}),
    _tables("adherence", ADHERENCE, NO_ADHERENCE, backends=WITH_NUMBA),
    _tables("variances", {"variance": VARIANCE}, NO_VARIANCE),
    _tables("both", BOTH, NO_ADHERENCE | NO_VARIANCE),
]


# Mixtures of arrays, which are PyMC's own; tests/distributions/test_mixture.py has the observed

SHARES = np.array([0.3, 0.7])


def _opposite(utility: Any, **options: Any) -> Any:
    """Two components, one the other's contrary."""
    components = pt.stack(
        [pt.as_tensor_variable(utility), -pt.as_tensor_variable(utility)], axis=-2
    )
    return br.Mixture.dist(SHARES, br.PlackettLuce.dist(components), **options)


def _opposite_logp(utility: np.ndarray, ranks: np.ndarray) -> float:
    logps = [weak_order_logp(u, ranks) for u in (utility, -utility)]
    return float(np.logaddexp.reduce(np.log(SHARES) + logps))


MIXTURE = [
    Case(
        "Mixture: two components of full rankings",
        _opposite,
        np.array([0.3, 1.2, -0.5, 0.1]),
        _opposite_logp,
        _full_rankings(4),
        more_values=np.array([r for r in weak_orders(4) if r.max() < 4]),
        # no bad values: if all components are impossible, the gradient of PyMC's mixture is NaN
        bad_parameters=NOT_FINITE,
        backends=("FAST_COMPILE",),
        has_slots=False,
    ),
]


CASES = [*PLACKETT_LUCE, *MAX_DIFF, *PMOP, *PAIRS, *GRADED, *GROUNDED, *MPM, *MIXTURE]
