"""The four models of pair outcomes by their definitions, and matches to try them on."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pymc as pm
from scipy.stats import multinomial, norm

import bayesrank as br


class Family(NamedTuple):
    """A distribution, its parameter of ties, and the probabilities of its outcomes.

    These are given the worths a and b of the first and the second item, and the parameter.
    """

    distribution: Any
    parameter: Mapping[str, float]
    definition: Callable[[Any, Any, Any], Any]

    @property
    def n_outcomes(self) -> int:
        return 3 if self.parameter else 2

    @property
    def tie(self) -> float:
        return next(iter(self.parameter.values()), 0.0)

    def options(self, tie: Any) -> dict[str, Any]:
        """The parameter of ties at another value."""
        return dict.fromkeys(self.parameter, tie)

    def probabilities(self, lead: Any, tie: Any = None) -> np.ndarray:
        """Probabilities of the outcomes (..., n_outcomes)."""
        worth, tie = np.exp(np.asarray(lead)), self.tie if tie is None else tie
        weights = np.broadcast_arrays(*self.definition(worth, 1.0, tie))
        return np.stack(weights, axis=-1) / np.sum(weights, axis=0)[..., None]

    def logp(self, counts: Any, lead: Any, tie: Any = None) -> np.ndarray:
        """Log-probability of counts (..., n_outcomes)."""
        counts = np.asarray(counts)
        p = np.broadcast_to(self.probabilities(lead, tie), counts.shape)
        return multinomial.logpmf(counts, counts.sum(axis=-1), p)


FAMILIES = {
    "BradleyTerry": Family(br.BradleyTerry, {}, lambda a, b, _: (a, b)),
    "Thurstone": Family(
        br.Thurstone, {}, lambda a, b, _: (norm.cdf(np.log(a / b)), norm.cdf(np.log(b / a)))
    ),
    "Davidson": Family(br.Davidson, {"nu": 0.7}, lambda a, b, nu: (a, b, nu * np.sqrt(a * b))),
    "RaoKupper": Family(
        br.RaoKupper,
        {"theta": 1.6},
        lambda a, b, t: (
            a * (b + t * a) / (b + a * t),
            b * (a + t * b) / (b + a * t),
            (t**2 - 1) * a * b / (b + t * a),
        ),
    ),
}
WITH_TIES = [name for name, family in FAMILIES.items() if family.parameter]


def outcome_logs(family, lead, tie):
    """Logarithms of the probabilities of the outcomes of one match, by the definitions."""
    return np.log(FAMILIES[family.__name__].probabilities(lead, tie))


def table(total: int, n_outcomes: int) -> np.ndarray:
    """All counts of outcomes with a total."""
    grid = np.indices((total + 1,) * n_outcomes).reshape(n_outcomes, -1).T
    return grid[grid.sum(axis=1) == total]


# Four items; a and b also met the other way round, before another judge, and in another category

MATCHES = pd.DataFrame(
    [
        ("a", "b", "u", "x", 3, 1, 2), ("a", "b", "u", "y", 1, 0, 0), ("a", "b", "v", "x", 0, 2, 1),
        ("b", "a", "u", "x", 2, 2, 0), ("b", "c", "v", "x", 4, 1, 1), ("d", "c", "v", "y", 0, 0, 3),
        ("c", "a", "v", "y", 1, 5, 0), ("a", "d", "u", "x", 2, 2, 2),
    ],
    columns=["one", "two", "who", "kind", "first", "second", "tie"],
)  # fmt: skip


def pairs_of(matches: pd.DataFrame = MATCHES, *, ties: bool = True, **options: Any) -> br.Pairs:
    """Read matches; without ties, as models without them need."""
    outcomes = ["first", "second", "tie"][: 3 if ties else 2]
    keys = [name for name in matches.columns if name not in ("first", "second", "tie")]
    long = matches.melt(keys, outcomes, var_name="outcome", value_name="n")
    return br.Pairs.from_frame(
        long, first="one", second="two", outcome="outcome", count="n", judge="who", by=["kind"],
        items=list("abcd"), **options,
    )  # fmt: skip


UTILITY = np.array([0.4, -0.3, 1.1, 0.0])


def pairs_model(
    family: str, pairs: br.Pairs | None = None, *, order_effect: Any = None, **options: Any
) -> pm.Model:
    """Flat utilities and parameters, so that the log density is the likelihood."""
    kind = FAMILIES[family]
    pairs = pairs_of(ties=kind.n_outcomes == 3) if pairs is None else pairs
    with pm.Model(coords=pairs.coords) as model:
        utility = pm.Flat("utility", dims="item")
        parameter = {name: pm.Flat(name) for name in kind.parameter}
        if order_effect == "one":
            options["order_effect"] = pm.Flat("order_effect")
        elif order_effect == "each":
            options["order_effect"] = pm.Flat("order_effect", dims="pair")
        kind.distribution("y", utility, observed=pairs, **parameter, **options)
    return model
