"""Data in a PyMC model: ``observed=`` of every family, and `set_observed`.

A family is a subclass of `ObservedRV`:

==================  ==========================================================================
`data_types`        types of data that it observes, such as `Rankings`
`data_name`         name of the data in messages
`axes`              axes of the variable, and their dims by default
`parameters`        names of the parameters, with the axes of each
`value`             name of the observed parameter
`record`            a pure function of the data that returns a `Record`: parts to register in one
                    table, *derived* data to keep in shared variables, and the outcome space
`check_new`         raises for data that cannot replace the observed data
`on_axes`           puts new data on the axes of the model
`derives_weights`   whether derived data depend on the weights
`logp`              log-probability, given the named parameters
==================  ==========================================================================

Structure that is not numeric, such as the axes of parameters, belongs to the instance (`DrawnRV`).
`observe` registers one node of data, a table whose columns are the parts (`bayesrank.schema`).
`set_observed` replaces the table and all derived data. `pm.set_data` cannot do that.
"""

import gc
from collections.abc import Callable, Collection, Mapping, MutableMapping, Sequence
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any, ClassVar, NamedTuple, TypedDict
from weakref import WeakKeyDictionary, WeakSet

import numpy as np
import pandas as pd
import pymc as pm
import pytensor
import pytensor.tensor as pt
import xarray as xr
from numpy.typing import NDArray
from pymc.logprob.abstract import MeasurableOp
from pymc.pytensorf import convert_data
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Apply, Constant, Variable, equal_computations
from pytensor.graph.traversal import ancestors, graph_inputs
from pytensor.scalar.basic import Cast
from pytensor.tensor import TensorVariable
from pytensor.tensor.elemwise import Elemwise
from pytensor.tensor.shape import SpecifyShape
from pytensor.tensor.sharedvar import TensorSharedVariable
from pytensor.tensor.subtensor import Subtensor, indices_from_subtensor
from pytensor.tensor.type import TensorType
from pytensor.xtensor.type import XTensorType

from bayesrank.data import Interactions, PairCounts, Pairs, Rankings
from bayesrank.data.read import has_labels, label_repr, quoted
from bayesrank.distributions.core.drawn import DrawnRV
from bayesrank.distributions.core.outcomes import SCALED, contents_of, outcome_label
from bayesrank.schema import (
    CONTENTS,
    DATA,
    ITEM,
    WEIGHT,
    StoredPart,
    are_reordered,
    groups_of,
    name_of,
    packed,
    place_columns,
    stored_labels,
)

__all__ = [
    "DataPart",
    "DistOptions",
    "ObservedRV",
    "Options",
    "Record",
    "as_double",
    "check_coords",
    "check_counts",
    "check_length",
    "check_numbers",
    "check_rows",
    "data_dims",
    "given_numbers",
    "hold_data",
    "is_labelled",
    "is_observed",
    "known_value",
    "label_axis",
    "label_outcome",
    "names_of_axes",
    "new_table",
    "observe",
    "observed_counts",
    "observed_options",
    "refuse_labelled",
    "refuse_labels",
    "refuse_other_data",
    "refuse_single_precision",
    "refuse_text",
    "reorder_data",
    "same_labels",
    "same_value",
    "set_observed",
    "uncast",
    "with_given",
]

_PACKAGE = str(Path(__file__).parents[1])


class Options(TypedDict, total=False):
    """Options of every variable of a model, as in PyMC."""

    dims: Any
    total_size: Any
    shape: Any
    initval: Any
    transform: Any
    default_transform: Any
    rng: Any


class DistOptions(TypedDict, total=False):
    """Options of every distribution that ``dist`` returns."""

    shape: Any
    size: Any
    rng: Any


class DataPart(NamedTuple):
    """A part of the data, and its axes."""

    value: Any
    axes: tuple[str, ...] = ()


class Record(NamedTuple):
    """The data that a model stores."""

    labels: Mapping[str, Any]  # labels of every axis
    parts: Mapping[str, DataPart]  # in the table; the weights have only the axis of its rows
    derived: Mapping[str, NDArray[Any]]  # shared variables, by the names of parameters
    outcome: str | None = None  # label of the outcome space, if the data determine it


class ObservedTable(TensorSharedVariable):
    """Observed data, which can be replaced only with all derived data."""

    replaceable = False

    def set_value(self, new_value: Any, borrow: bool = False) -> None:
        same = np.array_equal(new_value, self.get_value(borrow=True))
        if not same and not self.replaceable:
            raise ValueError(
                f"{self.name!r} holds observed data, and pm.set_data cannot replace all that is "
                "derived from them. Replace the data with br.set_observed."
            )
        super().set_value(new_value, borrow=borrow)


class DerivedData(TensorSharedVariable):
    """Data derived from observed data. PyMC copies a model with the same derived data.

    `clones` are the variables of other models and of compiled functions with the same values.
    """

    clones: ClassVar[MutableMapping[Any, WeakSet[Variable]]] = WeakKeyDictionary()
    harmless: ClassVar[WeakSet[Variable]] = WeakSet()  # those that belong to no other model

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.clones.setdefault(self.container, WeakSet()).add(self)


def hold_data(name: str, value: Any, dims: Sequence[str]) -> ObservedTable:
    """Register data that only `set_observed` can replace in the model in context.

    Data with the name of a part, such as ``y_judge``, take the place of this part in the table of
    ``y``. The variable ``y`` is added later, and must observe the same values.
    """
    model = pm.modelcontext(None)
    array = convert_data(value)
    data = ObservedTable(
        TensorType(str(array.dtype), (None,) * array.ndim), array, True, name=model.name_for(name)
    )
    model.register_data_var(data, dims=tuple(dims))
    return data


class ObservedRV(DrawnRV):
    """A random variable with the observed data among its parameters; families are subclasses."""

    data_types: ClassVar[tuple[type, ...]] = ()
    data_name: ClassVar[str] = ""  # name of the data in messages
    axes: ClassVar[tuple[str, ...]] = ()
    example: ClassVar[tuple[str, ...]] = ()  # other names for the axes
    value: ClassVar[str] = ""
    derives_weights: ClassVar[bool] = False
    rows_apart: ClassVar[bool] = False  # whether rows can be split between devices

    def dist_params(self, node: Apply) -> list[Variable]:
        """Return the parameters that a model prints: random ones, without their random inputs."""
        inputs = node.inputs[2:]
        above = {x: set(ancestors([x])) for x in inputs}
        random = [x for x in inputs if any(_is_random(y) for y in above[x])]
        made = {x for x in random if any(y in above[x] for y in random if y is not x)}
        return [x for x in random if x not in made]

    @classmethod
    def record(cls, name: str, data: Any, p: SimpleNamespace) -> Record:
        """Return the data that a model stores, given the parameters that are not data."""
        raise NotImplementedError

    @classmethod
    def check_new(cls, model: pm.Model, name: str, data: Any, p: SimpleNamespace) -> None:
        """Raise if new data cannot replace those that the model observes."""

    @classmethod
    def on_axes(cls, model: pm.Model, name: str, data: Any, p: SimpleNamespace) -> Any:
        """Put data in the order of the model's labels, or raise if the labels differ."""
        return data

    @classmethod
    def logp_by_row(cls, value: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        """Return one log-probability per row that depends only on this row: rows can be split."""
        return cls.logp(value, p)


def _is_random(x: Variable) -> bool:
    return x.owner is not None and isinstance(x.owner.op, MeasurableOp)


# ---------------------------------------------------------------------------------------------
# Into a model
# ---------------------------------------------------------------------------------------------


def observe(
    rv_type: type[ObservedRV],
    name: str,
    data: Any,
    given: Mapping[str, Any],
    with_data: Callable[[SimpleNamespace], Mapping[str, Any]],
    *,
    structure: Mapping[str, Any] = MappingProxyType({}),
    outcome: str | None = None,
    items_known: bool = False,
    without: Collection[str] = (),
    more: Mapping[str, StoredPart] = MappingProxyType({}),
    dims: Sequence[str] | str | None = None,
    total_size: Any = None,
) -> TensorVariable:
    """Add data and the variable that observes them to the model in context.

    Data that the model already has under the same names are used if their values are equal.

    Parameters
    ----------
    rv_type, name, data
        The family, the name of the variable, and the data that it observes.
    given : mapping
        Parameters that are not data.
    with_data : callable
        Function of the registered parts that returns the parameters neither given nor derived.
    structure : mapping
        What is not numeric, such as the axes of parameters.
    outcome : str, optional
        Label of the outcome space, if the data do not determine it.
    items_known : bool
        Whether each item has a utility, so that an equal number of other items is an error.
    without : collection of str
        Parts to leave out.
    more : mapping
        Parts without rows and with dims of the model, which the data do not determine.
    dims, total_size
        As in PyMC.
    """
    model = pm.modelcontext(None)
    record = rv_type.record(name, data, SimpleNamespace(**given, **structure))
    dim_of = dict(zip(rv_type.axes, names_of_axes(rv_type, name, dims), strict=True))
    for axis, dim in dim_of.items():
        _add_coord(rv_type, model, name, dim, record.labels[axis])

    stored = {}
    for part, (value, axes) in record.parts.items():
        if part in without:
            continue
        for axis in axes:
            if axis not in dim_of:
                known = items_known and axis == ITEM
                labels = record.labels[axis]
                dim_of[axis] = label_axis(rv_type, model, name, axis, labels, known=known)
        stored[part] = StoredPart(np.asarray(value), tuple(dim_of[axis] for axis in axes))
    n = len(record.labels[rv_type.axes[0]])
    label = outcome_label(outcome or record.outcome or "", n, total_size)
    coords = {dim: record.labels[axis] for axis, dim in dim_of.items()}
    coords |= {dim: model.coords[dim] for x in more.values() for dim in x.dims}
    also = _dims_with_labels_of(model, record, rv_type.axes[0])
    coords |= {dim: model.coords[dim] for dim in also}
    # nothing else depends on these weights, so pm.set_data may replace them
    free = not (record.derived and rv_type.derives_weights)
    parts = _register(rv_type, name, {**stored, **more}, coords, label, also, free_weights=free)
    derived = {
        field: _hold_derived(f"{model.name_for(name)}_{field}", value)
        for field, value in record.derived.items()
    }
    p = {**given, **derived, **with_data(SimpleNamespace(**parts, **derived))}
    names = rv_type.list_parameters(structure)
    rv = rv_type.build(structure, *(p[field] for field in names))
    variable_dims = tuple(dim_of[axis] for axis in rv_type.axes)
    return model.register_rv(
        rv, name, observed=p[rv_type.value], dims=variable_dims, total_size=total_size
    )


def _dims_with_labels_of(model: pm.Model, record: Record, rows: str) -> list[str]:
    """List the coords with the labels of an axis: parameters may be along them."""
    axes = [labels for axis, labels in record.labels.items() if axis != rows]
    return [
        dim
        for dim, present in model.coords.items()
        if any(np.array_equal(present, x) or are_reordered(present, x) for x in axes)
    ]


def check_coords(model: pm.Model) -> pm.Model:
    """Return a model; raise if the labels of a coord are no longer those of its parameters."""
    for rv in model.observed_RVs:
        for dim, labels in stored_labels(contents_of(model, rv.name) or {"labels": {}}).items():
            present = model.coords.get(dim)
            if present is not None and not np.array_equal(present, labels):
                raise ValueError(
                    f"The labels of the coord {dim!r} changed after {rv.name!r} was declared: "
                    f"{quoted(labels)}, and now {quoted(present)}. The parameters were read by "
                    "the old labels. Build the model again with the new ones."
                )
    return model


def _hold_derived(name: str, value: NDArray[Any]) -> DerivedData:
    """Keep derived data, whole numbers as int64: pymc-bart compiles no other integers."""
    if value.dtype.kind in "iu":
        value = value.astype(np.int64, copy=False)
    return DerivedData(
        TensorType(str(value.dtype), (None,) * value.ndim), value, strict=False, name=name
    )


def set_observed(name: str, data: Any, *, model: pm.Model | None = None) -> None:
    """Replace the data that a model observes, and all data derived from them.

    Compiled functions stay valid: a loop over folds, days or problems compiles once.

    Parameters
    ----------
    name : str
        Name of the distribution that observes the data.
    data : Rankings, Pairs, PairCounts or Interactions
        The new data, of the type that the variable observes. Labels in another order are put in the
        order of the model. The number of rows may change, unless a variable of the model has a
        fixed shape with one entry per row.

        *Rankings* need the same items if utilities are by item, and the same rankers if they are by
        ranker. *Pairs* need the same items and groups; the labels of a group may change if nothing
        else in the model uses them. *PairCounts* may have any rankers and items if every parameter
        by ranker or item has these dims; the coords are replaced.
    model : pm.Model, optional
        By default the model in context.

    Raises
    ------
    ValueError
        If the model observes no such variable, or the data do not fit the rest of the model. Also
        if a copy of the model, as from `pm.do`, would change with it. The model is then unchanged.

    See Also
    --------
    find_MAP_many, kfold, DynamicFit.with_data

    Examples
    --------
    >>> import bayesrank as br, pymc as pm
    >>> both = br.Rankings.from_orderings([["a", "b", "c"], ["b", "a", "c"]])
    >>> one = both.subset([0])
    >>> with pm.Model(coords=both.coords) as model:
    ...     y = br.PlackettLuce("y", pm.Normal("utility", 0, 1, dims="item"), observed=both)
    >>> logp = model.compile_logp(vars=y)
    >>> br.set_observed("y", one, model=model)
    >>> round(float(logp({"utility": [0.0, 0.0, 0.0]})), 4)
    -1.7918
    """
    if not isinstance(name, str):
        raise TypeError(
            f"`name` is {type(name).__name__}; it must be the name of the variable, which comes "
            "before the data: br.set_observed('y', data)."
        )
    model = check_coords(pm.modelcontext(model))
    name = model.name_for(name)
    rv_type, p = _find_observed(model, name)
    if not isinstance(data, rv_type.data_types):
        types = " or ".join(data_type.__name__ for data_type in rv_type.data_types)
        raise TypeError(
            f"{name!r} observes {types}, not {type(data).__name__}. Read the new data first, such "
            f"as by br.{rv_type.data_types[0].__name__}.from_frame."
        )
    if not isinstance(model[name_of(name, DATA)], ObservedTable):
        raise TypeError(
            f"The data of {name!r} are constants, because the model is frozen. Replace them in "
            "the model that was frozen, or build the model again."
        )
    data = rv_type.on_axes(model, name, data, p)
    rv_type.check_new(model, name, data, p)
    with model:
        record = rv_type.record(name, data, p)
    # not every family has the sizes of blocks
    found = {x: getattr(p, x, None) for x in record.derived}
    tensors = {field: uncast(x) for field, x in found.items() if x is not None}
    derived = {field: x for field, x in tensors.items() if isinstance(x, SharedVariable)}
    _refuse_to_share(model, name, derived.values())

    stored, coords, outcome = _stored_anew(model, name, rv_type, record)
    full_name = name_of(name, DATA)
    rows, *others = model.named_vars_to_dims[full_name]
    table, names, contents = packed(stored, rows, coords, outcome, coords)
    new = {rows: coords[rows], others[0]: names, others[1]: [contents]}
    _replace(model, full_name, table, new)
    for part, x in stored.items():
        if (full_name := name_of(name, part)) in model.named_vars:
            dims = model.named_vars_to_dims.get(full_name, ())
            _replace(model, full_name, x.value, {dim: coords[dim] for dim in dims})
    for dim, values in coords.items():
        if not np.array_equal(model.coords[dim], values):
            model.set_dim(dim, len(values), values)
    for field, variable in derived.items():
        variable.set_value(record.derived[field], borrow=True)


def _refuse_to_share(model: pm.Model, name: str, derived: Collection[Any]) -> None:
    """Raise if another model has the same derived data, which PyMC does not copy."""
    containers = {x.container for x in derived}
    clones = {x for c in containers for x in DerivedData.clones.get(c, ())} - {*derived}
    if all(x in DerivedData.harmless for x in clones):
        return
    if _are_in_other_models(model, clones):
        gc.collect()  # models that nothing refers to any more
    if not _are_in_other_models(model, clones):
        DerivedData.harmless.update(clones)
        return
    raise ValueError(
        f"A copy of the model, as from pm.do or model.copy(), shares data derived from those of "
        f"{name!r}, and would change too. Replace them in a model of its own: "
        "cloudpickle.loads(cloudpickle.dumps(model)). Or delete the other model first."
    )


def _are_in_other_models(model: pm.Model, clones: Collection[Variable]) -> bool:
    """Tell whether a variable of another model depends on one of the clones."""
    models = [x for x in gc.get_objects() if issubclass(type(x), pm.Model) and x is not model]
    nodes = [rv.owner for other in models for rv in other.basic_RVs if rv.owner]
    return any(uncast(x) in clones for node in nodes for x in node.inputs)


def _stored_anew(
    model: pm.Model, name: str, rv_type: type[ObservedRV], record: Record
) -> tuple[dict[str, StoredPart], dict[str, Any], str]:
    """Return new parts for a table of the model, the labels of their dims, and the outcome."""
    contents = contents_of(model, name)
    assert contents is not None  # for the type checker
    for group in groups_of(name, data_dims(model, name)):
        if group not in record.parts:  # otherwise the old group would remain
            raise ValueError(
                f"The model stores the {group} of the data of {name!r}, but the new data have no "
                f"{group}. Read them with it, as the original data were."
            )
    labels = dict(zip(model.named_vars_to_dims[name], rv_type.axes, strict=True))
    stored = {}
    for part, x in contents["parts"].items():
        dims = tuple(x["dims"])
        if part in record.parts:
            value, axes = record.parts[part]
            labels |= dict(zip(dims, axes, strict=True))
            stored[part] = StoredPart(np.asarray(value), dims)
        else:
            stored[part] = StoredPart(np.asarray(x["values"], dtype=x["dtype"]), dims)
    known = {dim for x in stored.values() for dim in x.dims}.union(contents["labels"])
    coords = {dim: model.coords[dim] for dim in known}
    coords |= {dim: record.labels[axis] for dim, axis in labels.items()}
    outcome = contents["outcome"]
    if record.outcome is not None and outcome != SCALED:  # total_size still applies
        outcome = record.outcome
    return stored, coords, outcome


def new_table(
    model: pm.Model, name: str, rv_type: type[ObservedRV], record: Record
) -> NDArray[np.float64]:
    """Return the table of new data for a variable of the model, without a change of the model."""
    stored, coords, outcome = _stored_anew(model, name, rv_type, record)
    rows, *_ = model.named_vars_to_dims[name_of(name, DATA)]
    return packed(stored, rows, coords, outcome)[0]


def _replace(model: pm.Model, name: str, value: Any, coords: Mapping[str, Any]) -> None:
    """Replace registered data."""
    data: Any = model[name]
    data.replaceable = True
    try:
        model.set_data(name, value, coords=dict(coords))
    finally:
        data.replaceable = False


def data_dims(model: pm.Model, name: str) -> dict[str, tuple[str, ...]]:
    """Return the dims of the parts of a variable's data, by their full names."""
    parts = (contents_of(model, name) or {"parts": {}})["parts"]
    return {name_of(name, part): tuple(x["dims"]) for part, x in parts.items()}


def label_outcome(rv_type: Any, weight: NDArray[np.floating]) -> str:
    """Return the label of the outcome space of data with evidence weights."""
    if (weight != 1).any():
        return "nothing: evidence weights make a pseudo-likelihood"
    return str(rv_type.outcome())


def _find_observed(model: pm.Model, name: str) -> tuple[type[ObservedRV], SimpleNamespace]:
    """Find the variable that observes data, and its parameters."""
    known = sorted(rv.name for rv in model.observed_RVs)
    variable = model.named_vars.get(name)
    while variable is not None and variable.owner is not None:
        if isinstance(variable.owner.op, ObservedRV):
            op = variable.owner.op
            return type(op), op.named(variable.owner.inputs[2:])
        # PyMC wraps a variable that has a total size
        variable = next(iter(variable.owner.inputs), None) if name in known else None
    raise ValueError(
        f"The model has no Rankings, Pairs, PairCounts or Interactions observed as {name!r}; it "
        f"observes {known}. To replace an array, make it a pm.Data and use pm.set_data."
    )


def _register(
    rv_type: type[ObservedRV],
    name: str,
    stored: Mapping[str, StoredPart],
    coords: Mapping[str, Any],
    outcome: str,
    also: Collection[str],
    *,
    free_weights: bool,
) -> dict[str, Any]:
    """Register the table of all parts, and return the parts by row as its columns.

    Data from `hold_data` under the name of a part take the place of its columns. With
    `free_weights`, so does any variable under the name of the weights.
    """
    model = pm.modelcontext(None)
    (rows,) = stored[WEIGHT].dims
    table, names, contents = packed(stored, rows, coords, outcome, also)
    dims = (rows, name_of(name, "column"), name_of(name, CONTENTS))
    for dim, labels in zip(dims[1:], (names, [contents]), strict=True):
        model.add_coord(dim, labels)
    data = hold_data(name_of(name, DATA), table, dims)
    found: dict[str, Any] = {}
    for part, columns in place_columns(stored, rows).items():
        value = stored[part].value
        present = model.named_vars.get(model.name_for(name_of(name, part)))
        if present is None:
            found[part] = data[:, columns, 0]
            if value.dtype.kind in "iub":
                found[part] = pt.cast(found[part], "int64")
            found[part].name = model.name_for(name_of(name, part))
        elif (
            isinstance(present, ObservedTable) or (part == WEIGHT and free_weights)
        ) and same_value(present, pt.as_tensor_variable(value)):
            found[part] = present
        else:
            raise ValueError(
                f"The model has a variable {present.name!r}, but the {rv_type.data_name} of "
                f"{name!r} need this name. Give the variable another name. Only weights may stand "
                "in the model, with the values of the data, if nothing is derived from them."
            )
    return found


# ---------------------------------------------------------------------------------------------
# Axes
# ---------------------------------------------------------------------------------------------


def names_of_axes(rv_type: type[ObservedRV], name: str, dims: Any) -> tuple[str, ...]:
    """Check the names of the axes; by default those of the family."""
    if dims is None:
        return rv_type.axes
    names = (dims,) if isinstance(dims, str) and len(rv_type.axes) == 1 else dims
    fits = isinstance(names, Sequence) and not isinstance(names, str)
    if not fits or len(names) != len(rv_type.axes) or not all(isinstance(d, str) for d in names):
        number = {1: "one axis", 2: "two axes", 3: "3 axes"}[len(rv_type.axes)]
        raise ValueError(
            f"`dims` of {name!r} is {dims!r}. Name {number}, such as dims={rv_type.example}. There "
            f"is one label per {', and one per '.join(rv_type.axes)}."
        )
    return tuple(names)


def _add_coord(
    rv_type: type[ObservedRV], model: pm.Model, name: str, dim: str, labels: Any
) -> None:
    """Add a coord, or check that the coord of the model has these labels."""
    if dim not in model.coords:
        model.add_coord(dim, labels)
        return
    present = model.coords[dim]
    if present is not None and not np.array_equal(np.asarray(present), np.asarray(labels)):
        difference = f"that are not the {len(labels)}"
        if set(present) == set(labels):
            difference = "in another order than those"
        raise ValueError(
            f"The model's coord {dim!r} has {len(present)} labels {difference} "
            f"of the {rv_type.data_name} of {name!r}. Build the model with pm.Model(coords="
            f"{rv_type.data_name}.coords), or give a second collection of {rv_type.data_name} its "
            f"own dims={rv_type.example}."
        )


def label_axis(
    rv_type: type[ObservedRV], model: pm.Model, name: str, axis: str, labels: Any, *, known: bool
) -> str:
    """Return the dim of an axis, a new one if the model has other labels for the axis."""
    present = model.coords.get(axis)
    if known and present is not None and len(present) == len(labels) and {*present} != {*labels}:
        same_labels(f"the model's coord {axis!r}", name, present, labels, rv_type.data_name)
    dim = axis if present is None or np.array_equal(present, labels) else f"{name}_{axis}s"
    if dim not in model.coords:
        model.add_coord(dim, labels)
    return dim


def reorder_data(data: Any, coords: Mapping[str, Any]) -> Any:
    """Reorder data to the coords that have the same labels in another order."""
    moved = {
        axis: coords[axis]
        for axis, labels in data.coords.items()
        if coords.get(axis) is not None
        and set(coords[axis]) == set(labels)
        and not np.array_equal(coords[axis], labels)
    }
    return data.reindex(moved) if moved else data


def same_labels(
    whose: str, name: str, present: Any, labels: Any, data_name: str, axis: str = "items"
) -> None:
    """Raise if the labels of data on an axis differ from those of the model."""
    if np.array_equal(present, labels):
        return
    difference = f"has {len(present)} labels, and they have {len(labels)}"
    if len(present) == len(labels):
        row = int((np.asarray(present) != np.asarray(labels)).argmax())
        difference = f"has {label_repr(present[row])} where they have {label_repr(labels[row])}"
    way_out = f"Read the {data_name} with {axis}=, in the order of the model."
    if axis not in ("items", "users"):
        way_out = (
            f"Put them in the order of the model with {data_name}.reindex({{{axis[:-1]!r}: ...}})."
        )
    raise ValueError(
        f"The {axis} of the {data_name} of {name!r} are not those of {whose}, which {difference}. "
        f"{way_out}"
    )


# ---------------------------------------------------------------------------------------------
# Parameters and options
# ---------------------------------------------------------------------------------------------


def is_labelled(value: Any) -> bool:
    """Tell whether a constant has labels that a tensor would lose."""
    labelled = isinstance(value, pd.Series | pd.DataFrame | xr.DataArray | Mapping)
    return labelled and bool(np.ndim(value) or isinstance(value, Mapping))


def with_given(rv: TensorVariable, **given: Any) -> TensorVariable:
    """Attach the parameters as given, with their names and labels, to a distribution."""
    rv.tag.given = given
    return rv


def refuse_labelled(what: str, value: Any) -> None:
    """Raise for a constant with labels if there is nothing to align them with."""
    if is_labelled(value):
        raise TypeError(
            f"{what} is a {type(value).__name__}, and its labels would be lost here. For a "
            "mixture, give a variable whose dims have these labels: model.add_coord('item', "
            "labels), then pm.Data('values', values, dims='item'). For data without labels, give "
            "an array of its values, in the order of the data."
        )


def as_double(value: Any, what: str = "A parameter") -> TensorVariable:
    """Return a tensor of double precision; PyTensor would choose a smaller type.

    A tensor would lose labels, so that labelled values are refused; `what` names the value.
    """
    refuse_labelled(what, value)
    if isinstance(getattr(value, "type", None), XTensorType):
        value = value.values
    refuse_text(value, what)
    if not isinstance(value, Variable | list | tuple):  # lists may hold variables
        value = np.asarray(value, dtype=np.float64)
    return pt.cast(pt.as_tensor_variable(value), "float64")


def refuse_text(value: Any, what: str) -> None:
    """Raise for a constant that holds labels instead of numbers."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "OUS":
        value = value.ravel().tolist()
    for x in value if isinstance(value, list | tuple) else ():
        if isinstance(x, str):
            raise TypeError(
                f"{what} holds the text {label_repr(x)}; it must hold numbers, in the order of "
                "the data."
            )
        refuse_text(x, what)


def observed_counts(observed: Any, reader: str, data_name: str = "counts") -> NDArray[Any]:
    """Return an array of numbers, or raise an error that names the `reader` to use."""
    try:
        counts = np.asarray(observed)
    except ValueError:  # lists of different lengths
        counts = np.asarray("")
    if counts.dtype.kind not in "biufO":
        raise TypeError(
            f"The observed {data_name} are {label_repr(observed)}, which is not an array of "
            f"numbers. Read labels and lists of different lengths with {reader}."
        )
    return counts


def check_counts(
    counts: NDArray[Any], meaning: str, more: Mapping[str, NDArray[np.bool_]] = MappingProxyType({})
) -> None:
    """Raise for numbers that are not counts, and show the first one.

    `meaning` describes a valid count, and `more` maps further mistakes to their places.
    """
    wrong = {
        "not a whole number": (counts != np.round(counts)) | np.isinf(counts),
        "negative": counts < 0,
        **more,
    }
    for mistake, bad in wrong.items():
        if bad.any():
            where = tuple(int(i) for i in np.argwhere(bad)[0])
            raise ValueError(
                f"The observed count {counts[where]:g} at {list(where)} is {mistake}: {meaning}."
            )


def check_rows(
    class_name: str, rows: Sequence[int], data_name: str, parameters: Mapping[str, tuple[Any, int]]
) -> None:
    """Raise if leading axes of parameters do not fit those of an observed array.

    `rows` holds the lengths of the leading axes of the array, and `data_name` names its rows.
    `parameters` maps names to a parameter, or None, and its number of axes within a row.
    """
    for parameter, (x, n_axes) in parameters.items():
        if x is None:
            continue
        shape = pt.as_tensor_variable(x).type.shape
        lead = shape[: len(shape) - n_axes]
        pairs = zip(reversed(lead), reversed(rows), strict=False)
        if len(lead) > len(rows) or any(a not in (None, 1, b) for a, b in pairs if b != 1):
            raise ValueError(
                f"{class_name} got {data_name} of shape {tuple(rows)} in observed=, and "
                f"`{parameter}` of shape {shape}. Give one for all {data_name}, or one for each."
            )


def check_length(
    name: str, what: str, x: TensorVariable, n: int, data_name: str, unit: str
) -> None:
    """Raise if a parameter has one entry per unit by its shape, and the number changes."""
    length = x.type.shape[0] if x.ndim else None
    if length not in (None, 0, n):  # length 0: the parameter is missing
        raise ValueError(
            f"{name!r} has {length} {what}, but the new {data_name} have {n} {unit}. Declare the "
            f"{what} with dims, which set_observed can change, instead of a shape."
        )


def observed_options(
    class_name: str,
    data: Any,
    options: Mapping[str, Any],
    *,
    takes: Collection[str] = (),
    brings: Collection[str] = (),
    instead: str = "",
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split the options that go with data into those of the family and those of `observe`.

    Options that are None were not given. The family takes the options in `takes`. The data bring
    those in `brings`, which are refused in a message that ends with `instead`. Any other option
    raises TypeError.
    """
    options = {name: value for name, value in options.items() if value is not None}
    collection = type(data).__name__
    for taken in (*brings, "shape"):
        if taken in options:
            raise TypeError(
                f"{class_name} got both observed={collection} and {taken}=. "
                f"{collection} determines it: leave {taken}= out"
                f"{instead}."
            )
    for unknown in options.keys() - {*takes, "dims", "total_size"}:
        raise TypeError(f"{class_name} got an unexpected keyword argument {unknown!r}.")
    family_options = {name: options.pop(name) for name in takes if name in options}
    return family_options, options


OBSERVED_BY = {
    Rankings: "PlackettLuce, MaxDiff, PMOP, Mallows and Mixture",
    Pairs: "BradleyTerry, Thurstone, Davidson and RaoKupper",
    PairCounts: "MPM",
    Interactions: "BPR",
}
FROM_RANKINGS = {Pairs: "rankings.pairs()", PairCounts: "rankings.counts()"}


def refuse_other_data(class_name: str, observed: Any, wanted: type, reader: str) -> None:
    """Raise TypeError for data of other types than `wanted`, and for tables.

    Arrays and tensors pass. `reader` names the function that reads tables.
    """
    refuse_labels(class_name, observed, reader)
    for data_type, others in OBSERVED_BY.items():
        if isinstance(observed, data_type):
            way = ""
            if data_type is Rankings and wanted in FROM_RANKINGS:
                way = f" Give observed={FROM_RANKINGS[wanted]}."
            raise TypeError(
                f"{class_name} observes {wanted.__name__}, but got {data_type.__name__}, which "
                f"{others} observe{'' if ' ' in others else 's'}.{way}"
            )


def refuse_labels(class_name: str, observed: Any, reader: str) -> None:
    """Raise for tables, DataArrays and other labelled data, and name their `reader`."""
    is_xarray = hasattr(observed, "dims") and hasattr(observed, "coords")
    if is_xarray or hasattr(observed, "columns") or has_labels(observed):
        as_table = ", as a DataFrame: observed.to_pandas()" if is_xarray else ""
        raise TypeError(
            f"{class_name} got a {type(observed).__name__} as observed=, and its labels would be "
            f"lost. Read it with {reader}, which keeps them{as_table}."
        )


def refuse_single_precision() -> None:
    """Raise if PyTensor is set to float32, which would also store item numbers in 16 bits."""
    if pytensor.config.floatX != "float64":
        raise ValueError(
            f"pytensor.config.floatX is {pytensor.config.floatX!r}: bayesrank computes in double "
            "precision, and item numbers beyond 32,767 would overflow. Set "
            "pytensor.config.floatX = 'float64'."
        )


# ---------------------------------------------------------------------------------------------
# Known values
# ---------------------------------------------------------------------------------------------


def known_value(x: Any) -> NDArray[Any] | None:
    """Return the value of a shared variable, a constant, or columns of these; otherwise None."""
    dtype, x = x.type.dtype, uncast(x)
    if x.owner is not None and isinstance(x.owner.op, Subtensor):
        table, *index = x.owner.inputs
        value = known_value(table)
        if value is None or not all(isinstance(i, Constant) for i in index):
            return None
        places = indices_from_subtensor([int(i.data) for i in index], x.owner.op.idx_list)
        # contiguous, as the data were when numbers were derived from them: sums round alike
        return np.ascontiguousarray(value[places], dtype=dtype)
    value = x.get_value(borrow=True) if isinstance(x, SharedVariable) else getattr(x, "data", None)
    return None if value is None else np.asarray(value)


def given_numbers(given: Any, read: TensorVariable) -> NDArray[Any] | None:
    """Return the values of a parameter given as numbers, after reading; None for tensors."""
    if isinstance(given, Variable) or not all(
        isinstance(x, Constant) for x in graph_inputs([read])
    ):
        return None
    return np.asarray(read.eval(mode="FAST_COMPILE"))


def check_numbers(
    name: str, given: Any, read: TensorVariable, valid: Callable[[Any], Any], need: str
) -> None:
    """Raise if a parameter was given as numbers that are not finite or not `valid`."""
    known = given_numbers(given, read)
    numbers = np.ravel([] if known is None else known)
    wrong = numbers[~(np.isfinite(numbers) & valid(numbers))]
    if wrong.size:
        raise ValueError(f"`{name}` holds {wrong[0]:g}; it must be {need}.")


def same_value(x: TensorVariable, y: TensorVariable) -> bool:
    """Tell whether two variables have known and equal values."""
    known_x, known_y = known_value(x), known_value(y)
    return known_x is not None and known_y is not None and np.array_equal(known_x, known_y)


def is_observed(value: TensorVariable, data: TensorVariable) -> bool:
    """Tell whether the value of a log-probability is the registered data, apart from casts.

    Compares structure or content, because freezing or cloning a model creates new variables.
    """
    return equal_computations([uncast(value)], [uncast(data)]) or same_value(value, data)


def uncast(x: TensorVariable) -> TensorVariable:
    """Return the variable under any casts and specified shapes."""
    while x.owner is not None and (
        isinstance(x.owner.op, SpecifyShape)
        or (isinstance(x.owner.op, Elemwise) and isinstance(x.owner.op.scalar_op, Cast))
    ):
        x = x.owner.inputs[0]
    return x
