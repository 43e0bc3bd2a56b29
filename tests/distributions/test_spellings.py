"""Every spelling of every parameter: read by its labels, or refused in a sentence that names it.

A row of `PARAMETERS` is a parameter of a family, and the axes that it may be along. Each is written
in many ways: dims in every order, labels in another order, without names, as a labelled constant,
with labels that are wrong or missing, and along an axis of the same length that it cannot have.
What is not refused must have the log-probabilities that a loop over the rankings finds, which takes
every value by its label.
"""

import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pymc as pm
import pymc.dims as pmd
import pytest
import xarray as xr
from scipy.special import logsumexp

import bayesrank as br
from tests.likelihoods.mallows.permutations import log_probability
from tests.likelihoods.mallows.test_stages import of_list
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


class Parameter(NamedTuple):
    """A parameter, its axes, and what the model and the loop make of it."""

    family: str
    what: str
    along: list[tuple[str, ...]]
    impossible: list[tuple[str, ...]]  # of the same lengths as others that it may be along
    build: Callable[[Any], Any]  # in a model
    exact: Callable[[Callable[[int], np.ndarray]], Any]  # by what each ranking has of it
    own: tuple[str, ...]  # axes that rankings do not differ in
    constants: bool = True  # whether labelled constants are aligned
    said: str = ""  # the option for its dims
    kind: str = "real"  # or "order", "weights", "above one" or "falling"
    coords: Mapping[str, Any] = COORDS  # of the data
    total: Callable[[xr.DataArray], float] | None = None  # instead of `exact`: by all values


def of_each(logp: Callable[..., float]) -> Callable[..., np.ndarray]:
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


def weighted(of_weights: Callable[[int], np.ndarray]) -> np.ndarray:
    each = [[weak_order_logp(u, ranks) for u in UTILITY] for ranks in RANKS]
    own = np.array([of_weights(row) for row in range(len(RANKS))])
    return logsumexp(np.log(own) + each, axis=1)


def by_ranker(of_weights: Callable[[int], np.ndarray]) -> np.ndarray:
    each = np.array([[weak_order_logp(u, ranks) for u in UTILITY] for ranks in RANKS])
    sums = pd.DataFrame(each).groupby(RANKINGS.ranker_idx).sum().to_numpy()
    first = [int(np.flatnonzero(RANKINGS.ranker_idx == ranker)[0]) for ranker in range(4)]
    return logsumexp(np.log([of_weights(row) for row in first]) + sums, axis=1)


BY_ITEM = [("item",), ("ranker", "item"), ("season", "item"), ("ranking", "item")]
BY_ROW: list[tuple[str, ...]] = [("ranker",), ("season",), ("ranking",), ("season", "ranker")]
NOT_BY_ITEM = [("ranker",), ("stage",), ("component", "item")]
IN_MIXTURES = [("ranker", "item"), ("season", "item"), ("ranker",)]

PARAMETERS = [
    Parameter(
        "PlackettLuce", "utility", [*BY_ITEM, ("season", "ranker", "item")], NOT_BY_ITEM,
        lambda x, **said: br.PlackettLuce("y", x, observed=RANKINGS, **said),
        of_each(lambda ranks, u: weak_order_logp(u, ranks)), ("item",), said="utility_dims",
    ),
    Parameter(
        "PMOP", "utility", BY_ITEM, NOT_BY_ITEM,
        lambda x, **said: br.PMOP("y", x, observed=RANKINGS, **said),
        of_each(lambda ranks, u: partition_logp(u, ranks, "mean")), ("item",), said="utility_dims",
    ),
    Parameter(
        "Mallows", "consensus", BY_ITEM, NOT_BY_ITEM,
        lambda x, **said: br.Mallows("y", x, 2.0, observed=RANKINGS, **said),
        of_each(lambda ranks, rho: log_probability(ranks, rho, 2.0, "footrule")), ("item",),
        said="consensus_dims", kind="order",
    ),
    Parameter(
        "Mallows", "alpha", BY_ROW, [("item",), ("stage",), ("component",)],
        lambda x, **said: br.Mallows("y", ONE, x, observed=RANKINGS, **said),
        of_each(lambda ranks, a: log_probability(ranks, ONE, a, "footrule")), (),
        said="alpha_dims",
    ),
    Parameter(
        "GeneralizedMallows", "consensus", BY_ITEM, NOT_BY_ITEM,
        lambda x, **said: br.GeneralizedMallows("y", x, [3.0, 1.0, 2.0], observed=RANKINGS, **said),
        of_each(lambda ranks, rho: of_list(ranks, rho, [3.0, 1.0, 2.0])), ("item",),
        said="consensus_dims", kind="order",
    ),
    Parameter(
        "GeneralizedMallows", "alpha", [("stage",), *((*row, "stage") for row in BY_ROW)],
        [("ranker",), ("season",), ("component",), ("item",), ("season", "item")],
        lambda x: br.GeneralizedMallows("y", ONE, x, observed=RANKINGS),
        of_each(lambda ranks, a: of_list(ranks, ONE, a)), ("stage",),
    ),
    Parameter(
        "Mixture", "weights",
        [("component",), *((*row, "component") for row in BY_ROW)],
        [("season",), ("item", "component"), ("ranker", "season")],
        lambda x: mixture(br.PlackettLuce.dist(known(UTILITY)), x), weighted, ("component",),
        kind="weights",
    ),
    Parameter(
        "Mixture of rankers", "weights",
        [("component",), ("ranker", "component"), ("region", "component")],
        [("season",), ("season", "component"), ("ranking", "component")],
        lambda x: mixture(br.PlackettLuce.dist(known(UTILITY)), x, unit="ranker"), by_ranker,
        ("component",), kind="weights",
    ),
    Parameter(
        "Mixture of PlackettLuce", "utility", [("component", "item"), ("item",)], IN_MIXTURES,
        lambda x: mixture(br.PlackettLuce.dist(x), *([] if np.ndim(x) > 1 else [[1.0]])),
        mixed(lambda ranks, g, u: weak_order_logp(u[g] if u.ndim > 1 else u, ranks)),
        ("component", "item"), constants=False,
    ),
    Parameter(
        "Mixture of PMOP", "tie_prevalence", [("component", "size"), ("size",)],
        [("component",), ("season",), ("ranker", "size")],
        lambda x: mixture(br.PMOP.dist(known(UTILITY), tie_prevalence=x)),
        mixed(lambda ranks, g, t: partition(ranks, UTILITY[g], t[g] if t.ndim > 1 else t)),
        ("component", "size"), constants=False,
    ),
    Parameter(
        "Mixture of Mallows", "consensus", [("component", "item"), ("item",)], IN_MIXTURES,
        lambda x: mixture(br.Mallows.dist(x, 2.0), *([] if np.ndim(x) > 1 else [[1.0]])),
        mixed(lambda ranks, g, r: log_probability(ranks, r[g] if r.ndim > 1 else r, 2.0,
                                                  "footrule")),
        ("component", "item"), constants=False, kind="order",
    ),
    Parameter(
        "Mixture of Mallows", "alpha", [("component",)], [("season",), ("ranker",), ("stage",)],
        lambda x: mixture(br.Mallows.dist(known(ORDERS[:3]), x)),
        mixed(lambda ranks, g, a: log_probability(ranks, ORDERS[g], a[g], "footrule")),
        ("component",), constants=False,
    ),
    Parameter(
        "Mixture of GeneralizedMallows", "consensus", [("component", "item"), ("item",)],
        IN_MIXTURES,
        lambda x: mixture(
            br.GeneralizedMallows.dist(x, [3.0, 1.0]), *([] if np.ndim(x) > 1 else [[1.0]])
        ),
        mixed(lambda ranks, g, r: of_list(ranks, r[g] if r.ndim > 1 else r, [3.0, 1.0])),
        ("component", "item"), constants=False, kind="order",
    ),
    Parameter(
        "Mixture of GeneralizedMallows", "alpha", [("component", "stage"), ("stage",)],
        [("component",), ("season",), ("ranker", "stage"), ("season", "stage")],
        lambda x: mixture(br.GeneralizedMallows.dist(known(ORDERS[:3]), x)),
        mixed(lambda ranks, g, a: of_list(ranks, ORDERS[g], a[g] if a.ndim > 1 else a)),
        ("component", "stage"), constants=False,
    ),
]  # fmt: skip


class Cell(NamedTuple):
    """A parameter in one spelling."""

    parameter: Parameter
    along: tuple[str, ...]
    spelling: str
    spell: Callable[[xr.DataArray], Any]  # what is given, in the model
    expected: str  # equal, refused, or either
    reversed_coords: tuple[str, ...] = ()  # of the model
    said: tuple[str, ...] | None = None

    @property
    def name(self) -> str:
        return f"{self.parameter.family} {self.parameter.what} {self.along}: {self.spelling}"


def values_of(parameter: Parameter, along: tuple[str, ...]) -> xr.DataArray:
    """Some values, with labels."""
    rng = np.random.default_rng(len(along))
    coords = {axis: parameter.coords[axis] for axis in along}
    shape = [len(labels) for labels in coords.values()]
    x = rng.uniform(0.2, 3.0, size=shape)
    if parameter.kind == "order":  # ranks of the items, which are the last axis
        x = 1 + np.argsort(np.argsort(x, axis=-1), axis=-1)
    if parameter.kind == "weights":  # of the components, which are the last axis
        x = x / x.sum(axis=-1, keepdims=True)
    if parameter.kind == "above one":
        x = 1 + x
    if parameter.kind == "falling":
        x = -np.sort(-x, axis=-1)
    return xr.DataArray(x, coords, along)


def shuffled(x: xr.DataArray) -> xr.DataArray:
    """Put the labels of every axis in another order."""
    return x.isel({axis: np.roll(np.arange(n)[::-1], 1) for axis, n in x.sizes.items()})


def as_data(x: xr.DataArray) -> Any:
    return pm.Data("x", x.values, dims=x.dims)


def as_table(x: xr.DataArray) -> Any:
    return x.to_pandas() if x.ndim < 3 else x


def without_names(x: xr.DataArray) -> Any:
    table = x.to_pandas()
    return table.rename_axis(None) if x.ndim == 1 else table.rename_axis(index=None, columns=None)


def as_dict(x: xr.DataArray) -> dict[Any, Any]:
    table = x.to_pandas()
    return dict(table) if x.ndim == 1 else table.to_dict(orient="index")


def by_another_name(x: xr.DataArray, axis: str) -> Any:
    """Make data whose dim has a name of its own, and the labels in another order."""
    x = x.isel({axis: np.roll(np.arange(x.sizes[axis])[::-1], 1)})
    pm.modelcontext(None).add_coord(f"other_{axis}", x[axis].values)
    return as_data(x.rename({axis: f"other_{axis}"}))


def with_a_new_label(x: xr.DataArray, axis: str) -> xr.DataArray:
    labels = list(x[axis].values)
    return x.assign_coords({axis: [*labels[:-1], 99 if np.ndim(labels[0] * 0) == 0 else "new"]})


def cells_of(parameter: Parameter) -> Iterator[Cell]:
    """All spellings of a parameter."""
    in_mixture = parameter.family.startswith("Mixture")
    constant = "equal" if parameter.constants else "refused"
    for along in parameter.along:

        def cell(
            spelling: str,
            spell: Callable[[xr.DataArray], Any],
            expected: str = "equal",
            along: tuple[str, ...] = along,
            **more: Any,
        ) -> Cell:
            return Cell(parameter, along, spelling, spell, expected, **more)

        yield cell("array", lambda x: x.values, "either")
        yield cell("pymc.dims", lambda x: pmd.Data("x", x.values, dims=x.dims))
        if len(along) < 3:
            yield cell("dict", lambda x: as_dict(shuffled(x)), constant)
            yield cell("table without names", lambda x: without_names(shuffled(x)), constant)
        for order in itertools.permutations(along):
            yield cell(f"dims {order}", lambda x, o=order: as_data(x.transpose(*o)))
            yield cell(
                f"table {order}", lambda x, o=order: as_table(shuffled(x.transpose(*o))), constant
            )
            yield cell(f"DataArray {order}", lambda x, o=order: shuffled(x.transpose(*o)), constant)
            if parameter.said:
                yield cell(
                    f"said {order}", lambda x, o=order: x.transpose(*o).values, said=order
                )  # fmt: skip
        for axis in along:
            # numbers under another name may be those of components as well
            told = not (in_mixture and axis in ("stage", "size"))
            yield cell(
                f"{axis} by another name",
                lambda x, a=axis: by_another_name(x, a),
                "equal" if told else "either",
            )
            if axis in ("stage", "size") or not (in_mixture or axis == "ranking"):
                yield cell(
                    f"coord {axis} reversed",
                    lambda x, a=axis: as_data(x.isel({a: slice(None, None, -1)})),
                    reversed_coords=(axis,),
                )
            yield cell(
                f"a new label of {axis} in a constant",
                lambda x, a=axis: as_table(with_a_new_label(x, a)),
                "refused",
            )
            yield cell(
                f"a new label of {axis} in a dim",
                lambda x, a=axis: by_another_name(with_a_new_label(x, a), a),
                "refused",
            )
            yield cell(
                f"{axis} lacks a label", lambda x, a=axis: x.isel({a: slice(1, None)}), "refused"
            )
            yield cell(
                f"array with {axis} too long",
                lambda x, a=axis: np.repeat(x.values, 3, axis=x.dims.index(a)),
                "refused",
            )
    for along in parameter.impossible:
        yield Cell(parameter, along, "impossible dims", as_data, "refused")
        yield Cell(parameter, along, "impossible constant", as_table, "refused")


def check(cell: Cell) -> None:
    """Compare a cell with the loop, or see what a refusal says."""
    parameter, labelled = cell.parameter, values_of(cell.parameter, cell.along)
    coords = {
        axis: labels[::-1] if axis in cell.reversed_coords else labels
        for axis, labels in parameter.coords.items()
    }
    with pm.Model(coords=coords) as model:
        try:
            options = {parameter.said: cell.said} if cell.said else {}
            y = parameter.build(cell.spell(labelled), **options)
        except (ValueError, TypeError) as error:
            message = str(error)
            assert cell.expected != "equal", f"{cell.name}: {message}"
            named = parameter.what in message or "weights of 'y'" in message
            assert named, f"{cell.name}: {message}"
            assert message.endswith("."), f"{cell.name}: {message}"
            assert not re.search(r"\bOp\b|axis \d|[Bb]roadcast|signature", message), message
            return
    assert cell.expected != "refused", cell.name
    if parameter.total is not None:
        found = float(model.logp(vars=y).eval())
        assert found == pytest.approx(parameter.total(labelled), abs=1e-8), cell.name
        return
    own = [axis for axis in parameter.own if axis in cell.along]

    def of(row: int) -> np.ndarray:
        here = {axis: AT[row][axis] for axis in cell.along if axis not in own}
        return labelled.sel(here).transpose(*own).values

    found = model.logp(vars=y, sum=False)[0].eval()
    np.testing.assert_allclose(found, parameter.exact(of), atol=1e-8, err_msg=cell.name)


SHORT = {
    "Mallows consensus ('item',): table without names",
    "Mallows alpha ('season', 'ranker'): dims ('ranker', 'season')",
    "GeneralizedMallows alpha ('season',): impossible dims",
    "GeneralizedMallows alpha ('ranker', 'stage'): dims ('stage', 'ranker')",
    "GeneralizedMallows alpha ('stage',): coord stage reversed",
    "Mixture weights ('ranker', 'component'): dims ('component', 'ranker')",
    "Mixture weights ('component',): component by another name",
    "Mixture of rankers weights ('region', 'component'): table ('component', 'region')",
    "Mixture of PlackettLuce utility ('season', 'item'): impossible dims",
    "Mixture of PMOP tie_prevalence ('component',): impossible dims",
    "Mixture of Mallows alpha ('season',): impossible dims",
    "Mixture of GeneralizedMallows alpha ('component', 'stage'): dims ('stage', 'component')",
    "Mixture of GeneralizedMallows alpha ('component',): impossible dims",
}


def test_some_spellings_are_read_by_label_or_refused():
    cells = {cell.name: cell for parameter in PARAMETERS for cell in cells_of(parameter)}
    assert cells.keys() >= SHORT
    for name in sorted(SHORT):
        check(cells[name])


@pytest.mark.slow
@pytest.mark.parametrize(
    "parameter", PARAMETERS, ids=[f"{each.family} {each.what}" for each in PARAMETERS]
)
def test_every_spelling_is_read_by_label_or_refused(parameter):
    for cell in cells_of(parameter):
        check(cell)
