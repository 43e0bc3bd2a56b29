"""Spellings of a parameter, and what a model makes of each.

Each parameter is written in many ways: dims in every order, labels in another order, without names,
as a labelled constant, with labels that are wrong or missing, and along an axis of the same length
that it cannot have. What is not refused must have the log-probabilities of a loop over the data,
which takes every value by its label.
"""

import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pymc as pm
import pymc.dims as pmd
import xarray as xr


class Parameter(NamedTuple):
    """A parameter of a family, the axes that it may be along, and the values that a loop finds."""

    family: str
    what: str
    along: list[tuple[str, ...]]
    impossible: list[tuple[str, ...]]  # of the same lengths as others that it may be along
    build: Callable[..., Any]  # in a model
    exact: Callable[[xr.DataArray], Any]  # log-probabilities, or their sum
    coords: Mapping[str, Any]  # of the data
    constants: bool = True  # whether labelled constants are aligned
    dims_option: str = ""
    kind: str = "real"  # or "order", "weights" or "above one"


class Cell(NamedTuple):
    """A parameter in one spelling."""

    parameter: Parameter
    along: tuple[str, ...]
    spelling: str
    spell: Callable[[xr.DataArray], Any]  # what is given, in the model
    expected: str  # equal, refused, or either
    reversed_coords: tuple[str, ...] = ()  # of the model
    dims: tuple[str, ...] | None = None

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


# A variable in an expression, of one to three operations; its values stay the same
EXPRESSIONS: dict[str, Callable[[Any], Any]] = {
    "times one": lambda v: v * 1,
    "minus zero": lambda v: v - 0 * v.sum(),
    "zero plus": lambda v: 0 + 1 * v.T.T,
}


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
            if parameter.dims_option:
                yield cell(
                    f"stated {order}", lambda x, o=order: x.transpose(*o).values, dims=order
                )  # fmt: skip
        for axis in along:
            # numbers under another name may be those of components as well
            labelled = not (in_mixture and axis in ("stage", "size"))
            yield cell(
                f"{axis} by another name",
                lambda x, a=axis: by_another_name(x, a),
                "equal" if labelled else "either",
            )
            for what, expression in EXPRESSIONS.items():
                yield cell(
                    f"{axis} by another name, {what}",
                    lambda x, a=axis, e=expression: e(by_another_name(x, a)),
                    "equal" if labelled else "either",
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
            options = {parameter.dims_option: cell.dims} if cell.dims else {}
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
    exact = parameter.exact(labelled)
    found = model.logp(vars=y, sum=np.ndim(exact) == 0)
    found = found.eval() if np.ndim(exact) == 0 else found[0].eval()
    np.testing.assert_allclose(found, exact, atol=1e-8, err_msg=cell.name)


def check_some(parameter: Parameter) -> None:
    """Check half of the spellings that are refused, and one of the others."""
    cells = [*cells_of(parameter)]
    for cell in [cell for cell in cells if cell.expected == "refused"][::2]:
        check(cell)
    right = [cell for cell in cells if cell.expected == "equal"]
    check(right[np.random.default_rng(len(parameter.what)).integers(len(right))])


def check_all(parameter: Parameter) -> None:
    """Check every spelling."""
    for cell in cells_of(parameter):
        check(cell)
