"""The table of families that the battery in `tests/distributions/test_battery.py` goes through.

A new sibling is a row or more of `CASES`: how to make the distribution, an oracle for its
log-probability, all values it can draw, and what it must refuse. A case is one ranking; the
battery makes batches, masks and paddings of it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import permutations
from typing import Any, Self

import numpy as np

import bayesrank as br
from bayesrank.likelihoods.pmop.set_kernels import AGGREGATES
from tests.oracles import block_sizes, partition_logp, weak_order_logp, weak_orders

BACKENDS = ("NUMBA", "CVM", "JAX")
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
    support: np.ndarray  # (number, n_slots), all values that can be drawn
    parameters: Mapping[str, np.ndarray] = field(default_factory=dict)  # without leading axes
    more_values: np.ndarray | None = None  # (number, n_slots), accepted but never drawn
    bad_values: Mapping[str, Any] = field(default_factory=dict)  # what is wrong: value
    # what is wrong: message, and the arguments that it is about
    bad_parameters: Mapping[str, tuple[str, Mapping[str, Any]]] = field(default_factory=dict)
    backends: tuple[str, ...] = BACKENDS

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
        used = self.where
        real = {"utility": self.utility} | self.real_parameters | changed
        u = real.pop("utility")[used]
        return np.array([self.oracle(u, value[used], **real) for value in values])

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
        backends=_of_sizes_under(aggregate),
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
        backends=_of_sizes_under(aggregate),
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
        backends=_of_sizes_under(aggregate),
    )


def _of_sizes_under(aggregate: str) -> tuple[str, ...]:
    """Backends for sizes that are given or weighted.

    Not JAX for the harmonic mean, where the graph has an array of rankings x stages x sizes x items
    x nodes of the integral x nodes of the circle: seconds and gigabytes for each evaluation. The
    tests of the graph have its values and gradients.
    """
    return tuple(mode for mode in BACKENDS if (aggregate, mode) != ("harmonic", "JAX"))


# Given sizes of the extremes are tested with three items; four would be two more functions.
PMOP = [
    *map(_all_weak_orders, AGGREGATES),
    *map(_pairs_tie, AGGREGATES),
    *map(_first_and_two, AGGREGATES),
    *map(_given_sizes, ("mean", "geometric", "harmonic")),
]

CASES = [*PLACKETT_LUCE, *PMOP]
