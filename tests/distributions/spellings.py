"""Spellings of a parameter: the same values with dims, with labels and without, and wrong ones.

A `Row` is a parameter of a family on data whose axes all have three labels, so that lengths tell
nothing. Its cells are spellings of one array. A cell has the likelihood of a loop over labels, or
is refused with a sentence that names the parameter.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pymc as pm
import pymc.dims as pmd
import pytest
import xarray as xr

REFUSED = (ValueError, TypeError)


class Row(NamedTuple):
    """A parameter of a family."""

    name: str  # of the parameter, as messages have it
    family: str
    coords: Mapping[str, Any]  # labels of all axes of the data
    axes: Sequence[tuple[str, ...]]  # that it may have
    build: Callable[[Any], Any]  # the observed variable y, of the parameter
    exact: Callable[[xr.DataArray], float]  # the log-likelihood, by labels
    foreign: str = ""  # an axis that it cannot have
    values: Callable[[np.ndarray], np.ndarray] = np.exp  # of normal numbers
    more: Mapping[str, Any] = {}  # coords of other axes, such as sizes


class Cell(NamedTuple):
    """A spelling of the parameter."""

    name: str
    spell: Callable[[], Any]  # called in the model
    wrong: bool = False  # must be refused
    unclear: bool = False  # may be refused


def true_values(row: Row, axes: tuple[str, ...]) -> xr.DataArray:
    """Values that differ at every label."""
    coords = {axis: np.asarray({**row.coords, **row.more}[axis]) for axis in axes}
    rng = np.random.default_rng(len(axes))
    numbers = np.asarray(rng.normal(scale=0.7, size=[len(x) for x in coords.values()]))
    return xr.DataArray(row.values(numbers), coords, axes)


def data(values: Any, dims: Sequence[str]) -> Any:
    """Make a variable of the model, with dims."""
    return pm.Data("x", np.asarray(values), dims=tuple(dims))


def turned(x: xr.DataArray) -> xr.DataArray:
    """Turn the labels of every axis around."""
    return x.isel({dim: slice(None, None, -1) for dim in x.dims})


def of_other_dims(x: xr.DataArray) -> Any:
    """Make a variable whose dims have names of their own, and the same labels turned around."""
    back, model = turned(x), pm.modelcontext(None)
    for dim in back.dims:
        model.add_coord(f"other_{dim}", back[dim].to_numpy())
    return data(back, [f"other_{dim}" for dim in back.dims])


def cells(row: Row, axes: tuple[str, ...]) -> Iterator[Cell]:
    """All spellings of a parameter with these axes."""
    x = true_values(row, axes)
    for dims in itertools.permutations(axes):
        y, name = x.transpose(*dims), " x ".join(dims) or "nothing"
        if dims:
            yield Cell(f"dims {name}", lambda y=y: data(y, y.dims))
        yield Cell(f"pymc.dims {name}", lambda y=y: pmd.as_xtensor(y.to_numpy(), dims=y.dims))
        yield Cell(f"DataArray {name}", lambda y=y: turned(y))
        yield Cell(f"array {name}", lambda y=y: y.to_numpy(), unclear=True)
        if 1 <= len(dims) <= 2:
            yield Cell(f"table {name}", lambda y=y: turned(y).to_pandas())
            plain = turned(y).to_pandas()
            nested = plain.T.to_dict() if len(dims) == 2 else plain.to_dict()
            yield Cell(f"dict {name}", lambda nested=nested: nested, unclear=True)
    if not axes:
        return
    yield Cell("dims of other names, turned around", lambda: of_other_dims(x))
    yield Cell("one label unknown", lambda: with_stranger(x), wrong=True)
    yield Cell("dims with a label unknown", lambda: of_other_dims(with_stranger(x)), wrong=True)
    if axes[0] not in row.more:  # of which the first are enough
        yield Cell("one label missing", lambda: x.isel({axes[0]: slice(0, -1)}), wrong=True)
    longer = np.concatenate([x.to_numpy()] * 3)[:7]
    yield Cell("array too long", lambda: longer, wrong=True)
    yield Cell("tensor too long", lambda: pm.Flat.dist(shape=longer.shape), wrong=True)
    if row.foreign and len(axes) == 1:
        labels = row.coords[row.foreign]
        other = x.rename({axes[0]: row.foreign}).assign_coords({row.foreign: labels})
        yield Cell("as long as another", lambda: data(x, [row.foreign]), wrong=True)
        yield Cell("labels of another", lambda: other, wrong=True)


def with_stranger(x: xr.DataArray) -> xr.DataArray:
    """Replace the first label of the first axis."""
    dim = x.dims[0]
    return x.assign_coords({dim: ["stranger", *x[dim].to_numpy()[1:].astype(str)]})


def check(row: Row, axes: tuple[str, ...], cell: Cell) -> None:
    """Raise where a cell is silently something else, or refused without its name."""
    tried = f"{row.family}, {row.name} by {axes}: {cell.name}"
    with pm.Model(coords={**row.coords}) as model:
        for axis in axes:
            if axis in row.more:
                model.add_coord(axis, row.more[axis])
        refusal = ""
        try:
            row.build(cell.spell())
        except REFUSED as error:
            refusal = str(error)
    if cell.wrong or refusal:
        assert row.name in refusal, f"{tried} is {refusal or 'accepted'}"
        assert cell.wrong or cell.unclear, f"{tried} is refused: {refusal}"
        return
    total = float(model.compile_logp(vars=model["y"], mode="FAST_COMPILE")({}))
    assert total == pytest.approx(row.exact(true_values(row, axes)), abs=1e-9), tried
