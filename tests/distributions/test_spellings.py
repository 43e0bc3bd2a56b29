"""Every spelling of every parameter of rankings: read by its labels, or refused in a sentence."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr
from scipy.special import logsumexp

import bayesrank as br
from tests.cases import _staged_logp
from tests.distributions.spellings import Parameter, cells_of, check, check_all
from tests.likelihoods.mallows.permutations import log_probability, staged_logp
from tests.oracles import partition_logp, weak_order_logp

# As many items as rankers, and as many stages as seasons, sizes and components; none of the labels
# of rankings stand in the order in which they are sorted.
ORDERINGS = ["cadb", "adcb", "bcda", "cbad", "dacb", "dbca"]
READ = br.Rankings.from_orderings([*map(list, ORDERINGS)], rankers=[*"zxywxz"])
RANKINGS = br.Rankings(
    READ.item, READ.ranks, items=READ.items, rankers=READ.rankers, ranker_idx=READ.ranker_idx,
    labels=["r4", "r2", "r6", "r1", "r3", "r5"],
).grouped(
    {
        "season": np.array([2026, 2024, 2025, 2024, 2024, 2025]),
        "region": {"z": 7, "x": 5, "y": 6, "w": 7},
    }
)  # fmt: skip
COORDS = {name: list(labels) for name, labels in RANKINGS.coords.items()}
COORDS |= {"stage": [1, 2, 3], "size": [2, 3, 4], "component": ["p", "q", "r"]}
AT = [
    {
        "ranking": RANKINGS.labels[row],
        "ranker": RANKINGS.rankers[RANKINGS.ranker_idx[row]],
        **{name: labels[codes[row]] for name, (labels, codes) in RANKINGS.groups.items()},
    }
    for row in range(RANKINGS.n_rankings)
]
RANKS = np.argsort(RANKINGS.item, axis=1) + 1  # by item
ONE, OTHER = [3, 1, 4, 2], [1, 2, 3, 4]  # ranks of the items
ORDERS = np.array([ONE, OTHER, [4, 3, 2, 1], [2, 1, 4, 3]])


def row_logps(logp: Callable[..., float]) -> Callable[..., np.ndarray]:
    """Log-probabilities of rankings, given what each has of a parameter."""
    return lambda of: np.array([logp(ranks, of(row)) for row, ranks in enumerate(RANKS)])


def mixed(logp: Callable[..., float]) -> Callable[..., np.ndarray]:
    """Log-probabilities under a mixture, given those under every component of each ranking."""

    def exact(of: Callable[[int], np.ndarray]) -> np.ndarray:
        return np.array(
            [
                logsumexp([np.log(WEIGHTS[g]) + logp(ranks, g, of(row)) for g in range(3)])
                for row, ranks in enumerate(RANKS)
            ]
        )

    return exact


WEIGHTS = np.array([0.2, 0.5, 0.3])
UTILITY = np.array([[0.3, 1.0, -0.5, 0.0], [0.0, 2.0, 0.1, 0.4], [1.0, -1.0, 0.5, 0.2]])
SIZES = np.array([0.5, 2.0, 0.7])


def mixture(component: Any, weights: Any = None, **options: Any) -> Any:
    if weights is None:
        weights = pm.Data("pi", WEIGHTS, dims="component")
    return br.Mixture("y", weights, component, observed=RANKINGS, **options)


def known(values: Any) -> Any:
    return pm.Data("known", values, dims=("component", "item"))


def partition(ranks: Any, utility: Any, sizes: Any) -> float:
    return partition_logp(utility, ranks, "mean", log_weight=np.log([1.0, *sizes]))


def weighted(weights_of: Callable[[int], np.ndarray]) -> np.ndarray:
    logps = [[weak_order_logp(u, ranks) for u in UTILITY] for ranks in RANKS]
    weights = np.array([weights_of(row) for row in range(len(RANKS))])
    return logsumexp(np.log(weights) + logps, axis=1)


def by_ranker(weights_of: Callable[[int], np.ndarray]) -> np.ndarray:
    logps = np.array([[weak_order_logp(u, ranks) for u in UTILITY] for ranks in RANKS])
    sums = pd.DataFrame(logps).groupby(RANKINGS.ranker_idx).sum().to_numpy()
    first = [int(np.flatnonzero(RANKINGS.ranker_idx == ranker)[0]) for ranker in range(4)]
    return logsumexp(np.log([weights_of(row) for row in first]) + sums, axis=1)


BY_ITEM = [("item",), ("ranker", "item"), ("season", "item"), ("ranking", "item")]
BY_ROW: list[tuple[str, ...]] = [("ranker",), ("season",), ("ranking",), ("season", "ranker")]
NOT_BY_ITEM = [("ranker",), ("stage",), ("component", "item")]
IN_MIXTURES = [("ranker", "item"), ("season", "item"), ("ranker",)]


def parameter_of_rankings(
    family: str,
    what: str,
    along: Any,
    impossible: Any,
    build: Any,
    exact: Any,
    row_axes: Any,
    **more: Any,
) -> Parameter:
    """Make a parameter of `RANKINGS`; `own` are the axes in which rankings do not differ."""

    def exact_at(x: xr.DataArray) -> np.ndarray:
        kept = [axis for axis in row_axes if axis in x.dims]
        differs = [axis for axis in x.dims if axis not in row_axes]

        def of(row: int) -> np.ndarray:
            return x.sel({axis: AT[row][axis] for axis in differs}).transpose(*kept).values

        return exact(of)

    return Parameter(family, what, along, impossible, build, exact_at, COORDS, **more)


PARAMETERS = [
    parameter_of_rankings(
        "PlackettLuce", "utility", [*BY_ITEM, ("season", "ranker", "item")], NOT_BY_ITEM,
        lambda x, **dims: br.PlackettLuce("y", x, observed=RANKINGS, **dims),
        row_logps(lambda ranks, u: weak_order_logp(u, ranks)), ("item",),
        dims_option="utility_dims",
    ),
    parameter_of_rankings(
        "PMOP", "utility", BY_ITEM, NOT_BY_ITEM,
        lambda x, **dims: br.PMOP("y", x, observed=RANKINGS, **dims),
        row_logps(lambda ranks, u: partition_logp(u, ranks, "mean")), ("item",),
        dims_option="utility_dims",
    ),
    parameter_of_rankings(
        "Mallows", "consensus", BY_ITEM, NOT_BY_ITEM,
        lambda x, **dims: br.Mallows("y", x, 2.0, observed=RANKINGS, **dims),
        row_logps(lambda ranks, rho: log_probability(ranks, rho, 2.0, "footrule")), ("item",),
        dims_option="consensus_dims", kind="order",
    ),
    parameter_of_rankings(
        "Mallows", "alpha", BY_ROW, [("item",), ("stage",), ("component",)],
        lambda x, **dims: br.Mallows("y", ONE, x, observed=RANKINGS, **dims),
        row_logps(lambda ranks, a: log_probability(ranks, ONE, a, "footrule")), (),
        dims_option="alpha_dims",
    ),
    parameter_of_rankings(
        "GeneralizedMallows", "consensus", BY_ITEM, NOT_BY_ITEM,
        lambda x, **dims: br.GeneralizedMallows("y", x, [3.0, 1.0, 2.0], observed=RANKINGS, **dims),
        row_logps(lambda ranks, rho: staged_logp(ranks, rho, [3.0, 1.0, 2.0])), ("item",),
        dims_option="consensus_dims", kind="order",
    ),
    parameter_of_rankings(
        "GeneralizedMallows", "alpha", [("stage",), *((*row, "stage") for row in BY_ROW)],
        [("ranker",), ("season",), ("component",), ("item",), ("season", "item")],
        lambda x: br.GeneralizedMallows("y", ONE, x, observed=RANKINGS),
        row_logps(lambda ranks, a: staged_logp(ranks, ONE, a)), ("stage",),
    ),
    parameter_of_rankings(
        "Mixture", "weights",
        [("component",), *((*row, "component") for row in BY_ROW)],
        [("season",), ("item", "component"), ("ranker", "season")],
        lambda x: mixture(br.PlackettLuce.dist(known(UTILITY)), x), weighted, ("component",),
        kind="weights",
    ),
    parameter_of_rankings(
        "Mixture of rankers", "weights",
        [("component",), ("ranker", "component"), ("region", "component")],
        [("season",), ("season", "component"), ("ranking", "component")],
        lambda x: mixture(br.PlackettLuce.dist(known(UTILITY)), x, unit="ranker"), by_ranker,
        ("component",), kind="weights",
    ),
    parameter_of_rankings(
        "Mixture of PlackettLuce", "utility", [("component", "item"), ("item",)], IN_MIXTURES,
        lambda x: mixture(br.PlackettLuce.dist(x), *([] if np.ndim(x) > 1 else [[1.0]])),
        mixed(lambda ranks, g, u: weak_order_logp(u[g] if u.ndim > 1 else u, ranks)),
        ("component", "item"), constants=False,
    ),
    parameter_of_rankings(
        "Mixture of PMOP", "tie_prevalence", [("component", "size"), ("size",)],
        [("component",), ("season",), ("ranker", "size")],
        lambda x: mixture(br.PMOP.dist(known(UTILITY), tie_prevalence=x)),
        mixed(lambda ranks, g, t: partition(ranks, UTILITY[g], t[g] if t.ndim > 1 else t)),
        ("component", "size"), constants=False,
    ),
    parameter_of_rankings(
        "Mixture of Mallows", "consensus", [("component", "item"), ("item",)], IN_MIXTURES,
        lambda x: mixture(br.Mallows.dist(x, 2.0), *([] if np.ndim(x) > 1 else [[1.0]])),
        mixed(lambda ranks, g, r: log_probability(ranks, r[g] if r.ndim > 1 else r, 2.0,
                                                  "footrule")),
        ("component", "item"), constants=False, kind="order",
    ),
    parameter_of_rankings(
        "Mixture of Mallows", "alpha", [("component",)], [("season",), ("ranker",), ("stage",)],
        lambda x: mixture(br.Mallows.dist(known(ORDERS[:3]), x)),
        mixed(lambda ranks, g, a: log_probability(ranks, ORDERS[g], a[g], "footrule")),
        ("component",), constants=False,
    ),
    parameter_of_rankings(
        "Mixture of GeneralizedMallows", "consensus", [("component", "item"), ("item",)],
        IN_MIXTURES,
        lambda x: mixture(
            br.GeneralizedMallows.dist(x, [3.0, 1.0, 2.0]), *([] if np.ndim(x) > 1 else [[1.0]])
        ),
        mixed(lambda ranks, g, r: staged_logp(ranks, r[g] if r.ndim > 1 else r, [3.0, 1.0, 2.0])),
        ("component", "item"), constants=False, kind="order",
    ),
    parameter_of_rankings(
        "Mixture of GeneralizedMallows", "alpha", [("component", "stage"), ("stage",)],
        [("component",), ("season",), ("ranker", "stage"), ("season", "stage")],
        lambda x: mixture(br.GeneralizedMallows.dist(known(ORDERS[:3]), x)),
        mixed(lambda ranks, g, a: staged_logp(ranks, ORDERS[g], a[g] if a.ndim > 1 else a)),
        ("component", "stage"), constants=False,
    ),
    parameter_of_rankings(
        "PlackettLuce", "stage_scale", [("stage",), *((*row, "stage") for row in BY_ROW)],
        [("component",), ("item",), ("season", "item")],
        lambda x: br.PlackettLuce(
            "y", pm.Data("known", UTILITY[0], dims="item"), stage_scale=x, observed=RANKINGS
        ),
        row_logps(lambda ranks, scale: _staged_logp(UTILITY[0], ranks, scale)), ("stage",),
    ),
]  # fmt: skip


def test_some_spellings_are_read_by_label_or_refused():
    rng = np.random.default_rng(43)
    for parameter in PARAMETERS:
        cells = [*cells_of(parameter)]
        for k in rng.choice(len(cells), 1):
            check(cells[k])


@pytest.mark.slow
@pytest.mark.parametrize("parameter", PARAMETERS, ids=[f"{p.family} {p.what}" for p in PARAMETERS])
def test_every_spelling_is_read_by_label_or_refused(parameter):
    check_all(parameter)
