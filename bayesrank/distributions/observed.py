"""Data in a PyMC model: what ``observed=`` does for every family, and `set_observed` after it.

A family is a subclass of `ObservedRV`:

==================  ==========================================================================
`data_types`        what it observes, such as `Rankings`, and `noun`, what that is called
`axes`              the axes of the variable, and their dims by default
`parameters`        names of the parameters, with the axes of each; `value` is the observed one
`record`            a pure function of the data: the `Record` of what is registered as `pm.Data`,
                    of what is *derived* and kept in shared variables, and of the outcome space
`check_new`         raises for data that cannot replace the observed ones
`on_axes`           puts other data on the axes of the model
`derives_weights`   whether derived numbers depend on the weights
`logp`              the log-probability, given the parameters by their names
==================  ==========================================================================

Structure that is no number, such as the axes of parameters, is a class attribute of a subclass that
`ObservedRV.structured` makes. `observe` registers the data, and `set_observed` replaces them with
all that was derived from them, which `pm.set_data` on one part cannot do.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from types import MappingProxyType, SimpleNamespace
from typing import Any, ClassVar, NamedTuple, Self, TypedDict

import numpy as np
import pandas as pd
import pymc as pm
import pytensor
import pytensor.tensor as pt
import xarray as xr
from numpy.typing import NDArray
from pymc.logprob.abstract import MeasurableOp
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Apply, Constant, Variable, equal_computations
from pytensor.graph.traversal import ancestors, graph_inputs
from pytensor.scalar.basic import Cast
from pytensor.tensor import TensorVariable
from pytensor.tensor.elemwise import Elemwise
from pytensor.tensor.sharedvar import TensorSharedVariable
from pytensor.xtensor.type import XTensorType

from bayesrank.data import Interactions, PairCounts, Pairs, Rankings
from bayesrank.data.read import has_labels, label_repr
from bayesrank.distributions.drawn import DrawnRV
from bayesrank.distributions.outcomes import SCALED, write_outcome
from bayesrank.schema import ITEM, OUTCOME, OUTCOMES, WEIGHT, groups_of, name_of

__all__ = [
    "DistOptions",
    "ObservedRV",
    "Options",
    "Part",
    "Record",
    "as_double",
    "check_counts",
    "check_length",
    "check_numbers",
    "check_rows",
    "given_numbers",
    "in_order",
    "is_labelled",
    "is_observed",
    "known_value",
    "label_axis",
    "names_of_axes",
    "observe",
    "observed_counts",
    "observed_options",
    "outcome_of",
    "refuse_labelled",
    "refuse_labels",
    "refuse_other_data",
    "refuse_single_precision",
    "same_labels",
    "same_value",
    "set_observed",
    "uncast",
    "with_given",
]


class Options(TypedDict, total=False):
    """What every variable of a model takes, as those of PyMC do."""

    dims: Any
    total_size: Any
    shape: Any
    initval: Any
    transform: Any
    default_transform: Any
    rng: Any


class DistOptions(TypedDict, total=False):
    """What every distribution takes that is made by ``dist``."""

    shape: Any
    size: Any
    rng: Any


class Part(NamedTuple):
    """A part of the data, and its axes."""

    value: Any
    axes: tuple[str, ...] = ()


class Record(NamedTuple):
    """What a model keeps of data."""

    labels: Mapping[str, Any]  # of every axis
    parts: Mapping[str, Part]  # registered as `pm.Data`
    derived: Mapping[str, NDArray[Any]]  # shared variables, by the names of parameters
    outcome: str | None = None  # the label of the outcome space; None: the data do not tell


class PartOfObserved(TensorSharedVariable):
    """A part of observed data, which is replaced only together with the others."""

    replaceable = False

    def set_value(self, new_value: Any, borrow: bool = False) -> None:
        same = np.array_equal(new_value, self.get_value(borrow=True))
        if not same and not self.replaceable:
            raise ValueError(
                f"{self.name!r} is a part of observed data, and pm.set_data cannot replace it "
                "alone. Replace all of the data by br.set_observed."
            )
        super().set_value(new_value, borrow=borrow)


class ObservedRV(DrawnRV):
    """A random variable with what was observed among its parameters; a family is a subclass."""

    data_types: ClassVar[tuple[type, ...]] = ()
    noun: ClassVar[str] = ""  # of the data
    axes: ClassVar[tuple[str, ...]] = ()
    example: ClassVar[tuple[str, ...]] = ()  # other names for them
    value: ClassVar[str] = ""
    derives_weights: ClassVar[bool] = False
    rows_apart: ClassVar[bool] = False  # whether rows can be cut up, and evaluated on any device

    @classmethod
    def structured(cls, parameters: Mapping[str, str], **structure: Any) -> type[Self]:
        """Return the subclass with a static structure, such as the axes of its parameters.

        `parameters` are further parameters, and `structure` class attributes, which are hashable.
        """
        found: type[Self] = _structured(
            cls,  # type: ignore[arg-type]
            tuple(parameters.items()),
            tuple(structure.items()),
        )
        return found

    def dist_params(self, node: Apply) -> list[Variable]:
        """Return the parameters that a model prints: random ones that no other is made of."""
        inputs = node.inputs[2:]
        above = {x: set(ancestors([x])) for x in inputs}
        random = [x for x in inputs if any(_is_random(y) for y in above[x])]
        made = {x for x in random if any(y in above[x] for y in random if y is not x)}
        return [x for x in random if x not in made]

    @classmethod
    def record(cls, name: str, data: Any, p: SimpleNamespace) -> Record:
        """Say what a model keeps of the data, given the parameters that are not data."""
        raise NotImplementedError

    @classmethod
    def check_new(cls, model: pm.Model, name: str, data: Any, p: SimpleNamespace) -> None:
        """Raise where data cannot take the place of those that the model observes."""

    @classmethod
    def on_axes(cls, model: pm.Model, name: str, data: Any, p: SimpleNamespace) -> Any:
        """Put data in the order of the model's labels, or raise where they have others."""
        return data

    @classmethod
    def logp_by_row(cls, value: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        """One log-probability per row, of the data of that row alone: rows may be cut up."""
        return cls.logp(value, p)


@cache
def _structured(rv_type: Any, parameters: tuple[Any, ...], structure: tuple[Any, ...]) -> Any:
    members = dict(structure) | {
        "__props__": tuple(dict(structure)),
        "__module__": rv_type.__module__,
    }
    if parameters:
        members["parameters"] = {**rv_type.parameters, **dict(parameters)}
    return type(rv_type.__name__, (rv_type,), members)


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
    outcome: str | None = None,
    items_known: bool = False,
    without: Collection[str] = (),
    dims: Sequence[str] | str | None = None,
    total_size: Any = None,
) -> TensorVariable:
    """Add data and the variable that observes them to the model in context.

    Data that stand in the model under the same names are used if they have the same values.

    Parameters
    ----------
    rv_type, name, data
        The family, the name of the variable, and what it observes.
    given : mapping
        Parameters that are not data.
    with_data : callable
        Returns the parameters that are neither given nor derived, from the registered parts.
    outcome : str, optional
        Label of the outcome space, if the data do not tell.
    items_known : bool
        Whether each item has a utility, so that as many other items are a mistake.
    without : collection of str
        Parts to leave out.
    dims, total_size
        As in PyMC.
    """
    model = pm.modelcontext(None)
    record = rv_type.record(name, data, SimpleNamespace(**given))
    dim_of = dict(zip(rv_type.axes, names_of_axes(rv_type, name, dims), strict=True))
    for axis, dim in dim_of.items():
        _add_coord(rv_type, model, name, dim, record.labels[axis])

    parts = {}
    for part, (value, axes) in record.parts.items():
        if part in without:
            continue
        for axis in axes:
            if axis not in dim_of:
                known = items_known and axis == ITEM
                labels = record.labels[axis]
                dim_of[axis] = label_axis(rv_type, model, name, axis, labels, known=known)
        parts[part] = _data(model, name, part, value, tuple(dim_of[axis] for axis in axes), rv_type)
        replaceable = part == WEIGHT and not (record.derived and rv_type.derives_weights)
        if isinstance(parts[part], TensorSharedVariable) and not replaceable:
            parts[part].__class__ = PartOfObserved
    n = len(record.labels[rv_type.axes[0]])
    write_outcome(name, outcome or record.outcome or "", n, total_size=total_size)

    derived = {
        field: pytensor.shared(value, name=f"{model.name_for(name)}_{field}", borrow=True)
        for field, value in record.derived.items()
    }
    p = {**given, **with_data(SimpleNamespace(**parts)), **derived}
    rv = rv_type.rv_op(*(p[field] for field in rv_type.parameters))
    variable_dims = tuple(dim_of[axis] for axis in rv_type.axes)
    return model.register_rv(
        rv, name, observed=p[rv_type.value], dims=variable_dims, total_size=total_size
    )


def set_observed(name: str, data: Any, *, model: pm.Model | None = None) -> None:
    """Replace the data that a model observes, with all that was derived from them.

    What was compiled stays compiled: a loop over folds, days or problems compiles once.

    Parameters
    ----------
    name : str
        Name of the distribution that observes the data.
    data : Rankings, Pairs, PairCounts or Interactions
        The new data, of the type that the variable observes. Labels in another order are put in
        the order of the model. *Rankings* are over the same items if utilities are by item, and of
        the same rankers if they are by ranker. *Pairs* are on an axis of the same items and have
        the same groups; the labels of a group may be others if nothing else in the model has them.
        The rankers and items of *PairCounts* may be others, in any number, if every parameter by
        ranker or item has these dims; the coords are replaced. As many rows as before are needed
        only where something is one per row by its shape.
    model : pm.Model, optional
        Default the model in context.

    Raises
    ------
    ValueError
        If the model observes no such variable, or the data do not fit the rest of the model:
        nothing is changed then.

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
    model = pm.modelcontext(model)
    name = model.name_for(name)
    rv_type, p = _found(model, name)
    if not isinstance(data, rv_type.data_types):
        types = " or ".join(each.__name__ for each in rv_type.data_types)
        raise TypeError(f"{name!r} observes {types}, and cannot observe {type(data).__name__}.")
    data = rv_type.on_axes(model, name, data, p)
    rv_type.check_new(model, name, data, p)
    with model:
        record = rv_type.record(name, data, p)

    parts = {name_of(name, part): of_part for part, of_part in record.parts.items()}
    for group in groups_of(name, model.named_vars_to_dims):
        if name_of(name, group) not in parts:  # else it would stay that of the old data
            raise ValueError(
                f"The model keeps the {group} of all that {name!r} observes, and the new data have "
                f"none. Read them with their {group}, as those were that the model was made with."
            )
    for full_name, (value, axes) in parts.items():
        if full_name in model.named_vars:
            dims = model.named_vars_to_dims.get(full_name, ())
            coords = {dim: record.labels[axis] for dim, axis in zip(dims, axes, strict=True)}
            part = model[full_name]
            part.replaceable = True
            model.set_data(full_name, value, coords=coords)
            part.replaceable = False
    label = None if record.outcome is None else {name_of(name, OUTCOME): [record.outcome]}
    if model.coords.get(name_of(name, OUTCOME)) == (SCALED,):  # total_size still does
        label = None
    n = len(record.labels[rv_type.axes[0]])
    model.set_data(name_of(name, OUTCOMES), [n], coords=label)
    for field, value in record.derived.items():
        getattr(p, field).set_value(value, borrow=True)


def outcome_of(rv_type: Any, weight: NDArray[np.floating]) -> str:
    """Return the label of the outcome space of data with evidence weights."""
    if (weight != 1).any():
        return "nothing: evidence weights make a pseudo-likelihood"
    return str(rv_type.outcome())


def _found(model: pm.Model, name: str) -> tuple[type[ObservedRV], SimpleNamespace]:
    """Find a variable that observes data, and its parameters."""
    known = sorted(rv.name for rv in model.observed_RVs)
    variable = model.named_vars.get(name)
    while variable is not None and variable.owner is not None:
        if isinstance(variable.owner.op, ObservedRV):
            rv_type = type(variable.owner.op)
            return rv_type, rv_type.named(variable.owner.inputs[2:])
        # PyMC wraps a variable that has a total size
        variable = next(iter(variable.owner.inputs), None) if name in known else None
    raise ValueError(
        f"The model has no Rankings, Pairs, PairCounts or Interactions observed as {name!r}; it "
        f"observes {known}. Arrays are replaced by pm.set_data, if they are pm.Data."
    )


def _data(
    model: pm.Model, name: str, part: str, value: Any, dims: tuple[str, ...], rv_type: Any
) -> TensorVariable:
    """Register data, or find them in the model."""
    present = model.named_vars.get(model.name_for(name_of(name, part)))
    if present is None:
        return pm.Data(name_of(name, part), value, dims=dims or None)
    if same_value(present, pt.as_tensor_variable(value)):
        return present
    raise ValueError(
        f"The model has a variable {present.name!r}, but the {rv_type.noun} of {name!r} register "
        "other data under this name. Give it their values, or another name."
    )


# ---------------------------------------------------------------------------------------------
# Axes
# ---------------------------------------------------------------------------------------------


def names_of_axes(rv_type: type[ObservedRV], name: str, dims: Any) -> tuple[str, ...]:
    """Check names for the axes; by default they are called what they are."""
    if dims is None:
        return rv_type.axes
    names = (dims,) if isinstance(dims, str) and len(rv_type.axes) == 1 else dims
    fits = isinstance(names, Sequence) and not isinstance(names, str)
    if not fits or len(names) != len(rv_type.axes) or not all(isinstance(d, str) for d in names):
        number = {1: "one axis", 2: "two axes", 3: "3 axes"}[len(rv_type.axes)]
        raise ValueError(
            f"`dims` of {name!r} is {dims!r}: name {number}, such as dims={rv_type.example}. There "
            f"is one label per {', and one per '.join(rv_type.axes)}."
        )
    return tuple(names)


def _add_coord(
    rv_type: type[ObservedRV], model: pm.Model, name: str, dim: str, labels: Any
) -> None:
    """Add a coord, or check that the model's own has these labels."""
    if dim not in model.coords:
        model.add_coord(dim, labels)
        return
    present = model.coords[dim]
    if present is not None and not np.array_equal(np.asarray(present), np.asarray(labels)):
        what = f"that are not the {len(labels)}"
        if set(present) == set(labels):
            what = "in another order than those"
        raise ValueError(
            f"The model's coord {dim!r} has {len(present)} labels {what} "
            f"of the {rv_type.noun} of {name!r}. Build the model with pm.Model(coords="
            f"{rv_type.noun}.coords), or give a second collection of {rv_type.noun} its own "
            f"dims={rv_type.example}."
        )


def label_axis(
    rv_type: type[ObservedRV], model: pm.Model, name: str, axis: str, labels: Any, *, known: bool
) -> str:
    """Name the dim of the labels of an axis, a new one if the model's own has others."""
    present = model.coords.get(axis)
    if known and present is not None and len(present) == len(labels) and {*present} != {*labels}:
        same_labels(f"the model's coord {axis!r}", name, present, labels, rv_type.noun)
    dim = axis if present is None or np.array_equal(present, labels) else f"{name}_{axis}s"
    if dim not in model.coords:
        model.add_coord(dim, labels)
    return dim


def in_order(data: Any, coords: Mapping[str, Any]) -> Any:
    """Put data in the order of the coords that have the same labels in another order."""
    moved = {
        axis: coords[axis]
        for axis, labels in data.coords.items()
        if coords.get(axis) is not None
        and set(coords[axis]) == set(labels)
        and not np.array_equal(coords[axis], labels)
    }
    return data.reindex(moved) if moved else data


def same_labels(
    whose: str, name: str, present: Any, labels: Any, noun: str, axis: str = "items"
) -> None:
    """Raise where the items (or what the axis is of) of data are not those of the model."""
    if np.array_equal(present, labels):
        return
    what = f"has {len(present)} labels, and they have {len(labels)}"
    if len(present) == len(labels):
        row = int((np.asarray(present) != np.asarray(labels)).argmax())
        what = f"has {label_repr(present[row])} where they have {label_repr(labels[row])}"
    way_out = f"Read the {noun} with {axis}=, in the order of the model."
    if axis not in ("items", "users"):
        way_out = f"Put them in the order of the model with {noun}.reindex({{{axis[:-1]!r}: ...}})."
    raise ValueError(
        f"The {axis} of the {noun} of {name!r} are not those of {whose}, which {what}. {way_out}"
    )


# ---------------------------------------------------------------------------------------------
# Parameters and options
# ---------------------------------------------------------------------------------------------


def is_labelled(value: Any) -> bool:
    """Tell whether a constant has labels that a tensor would lose."""
    labelled = isinstance(value, pd.Series | pd.DataFrame | xr.DataArray | Mapping)
    return labelled and bool(np.ndim(value) or isinstance(value, Mapping))


def with_given(rv: TensorVariable, **given: Any) -> TensorVariable:
    """Keep the parameters of a distribution as they were given, with their names and labels."""
    rv.tag.given = given
    return rv


def refuse_labelled(what: str, value: Any) -> None:
    """Raise for a constant with labels where there is nothing to align them with."""
    if is_labelled(value):
        raise TypeError(
            f"{what} is a {type(value).__name__}, and its labels would be lost: there are none to "
            "align it with. Give an array of its values, in the order of the data."
        )


def as_double(value: Any, what: str = "A parameter") -> TensorVariable:
    """Return a tensor of double precision; PyTensor makes single ones of the numbers that fit.

    Labels, which a tensor would lose, are refused in a sentence about `what`.
    """
    refuse_labelled(what, value)
    if isinstance(getattr(value, "type", None), XTensorType):
        value = value.values
    if not isinstance(value, Variable | list | tuple):  # lists may hold variables
        value = np.asarray(value, dtype=np.float64)
    return pt.cast(pt.as_tensor_variable(value), "float64")


def observed_counts(observed: Any, reader: str, noun: str = "counts") -> NDArray[Any]:
    """Return an array of numbers as one, and raise for what has none, with the way out."""
    try:
        counts = np.asarray(observed)
    except ValueError:  # lists of different lengths
        counts = np.asarray("")
    if counts.dtype.kind not in "biufO":
        raise TypeError(
            f"The observed {noun} are {label_repr(observed)}, which is no array of numbers. Read "
            f"labels and lists of different lengths with {reader}."
        )
    return counts


def check_counts(
    counts: NDArray[Any], meaning: str, more: Mapping[str, NDArray[np.bool_]] = MappingProxyType({})
) -> None:
    """Raise for numbers that are no counts, with the first wrong one.

    `meaning` says what counts are, and `more` has further mistakes and where they are.
    """
    wrong = {
        "not a whole number": (counts != np.round(counts)) | np.isinf(counts),
        "negative": counts < 0,
        **more,
    }
    for what, bad in wrong.items():
        if bad.any():
            where = tuple(int(i) for i in np.argwhere(bad)[0])
            raise ValueError(
                f"The observed count {counts[where]:g} at {list(where)} is {what}: {meaning}."
            )


def check_rows(
    class_name: str, rows: Sequence[int], noun: str, parameters: Mapping[str, tuple[Any, int]]
) -> None:
    """Raise where leading axes of parameters do not fit those of an observed array.

    `rows` are the lengths of the leading axes of the array, whose rows are one `noun` each.
    `parameters` are each parameter, or None, and its number of axes in a row.
    """
    for what, (x, n_axes) in parameters.items():
        if x is None:
            continue
        shape = pt.as_tensor_variable(x).type.shape
        lead = shape[: len(shape) - n_axes]
        pairs = zip(reversed(lead), reversed(rows), strict=False)
        if len(lead) > len(rows) or any(a not in (None, 1, b) for a, b in pairs if b != 1):
            raise ValueError(
                f"{class_name} got {noun} of shape {tuple(rows)} in observed=, and `{what}` of "
                f"shape {shape}: give one for all {noun}, or one for each."
            )


def check_length(name: str, what: str, x: TensorVariable, n: int, noun: str, unit: str) -> None:
    """Raise where a parameter is one per unit, by its shape, of another number of them."""
    length = x.type.shape[0] if x.ndim else None
    if length not in (None, 0, n):  # of length 0: it is not there
        raise ValueError(
            f"{name!r} has {length} {what}, but the new {noun} have {n} {unit}. Declare the {what} "
            "with dims, which set_observed can change, instead of a shape."
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

    Options that are None were not given. The family `takes` some, and the data bring others
    (`brings`), which are refused in a sentence that ends with `instead`. Raises TypeError for any
    other option.
    """
    options = {name: value for name, value in options.items() if value is not None}
    collection = type(data).__name__
    for taken in (*brings, "shape"):
        if taken in options:
            raise TypeError(
                f"{class_name} got both observed={collection} and {taken}=: "
                f"{collection} brings its own. Leave {taken}= out"
                f"{instead}."
            )
    for unknown in options.keys() - {*takes, "dims", "total_size"}:
        raise TypeError(f"{class_name} got an unexpected keyword argument {unknown!r}.")
    own = {name: options.pop(name) for name in takes if name in options}
    return own, options


OBSERVED_BY = {
    Rankings: "PlackettLuce, PMOP, Mallows, Mixture and BPR",
    Pairs: "BradleyTerry, Thurstone, Davidson and RaoKupper",
    PairCounts: "MPM",
    Interactions: "BPR",
}
FROM_RANKINGS = {Pairs: "rankings.pairs()", PairCounts: "rankings.counts()"}


def refuse_other_data(class_name: str, observed: Any, wanted: type, reader: str) -> None:
    """Raise TypeError for other data than `wanted` and for tables, with the `reader` of tables.

    Arrays and tensors pass.
    """
    refuse_labels(class_name, observed, reader)
    for data_type, others in OBSERVED_BY.items():
        if isinstance(observed, data_type):
            way = ""
            if data_type is Rankings and wanted in FROM_RANKINGS:
                way = f" Give observed={FROM_RANKINGS[wanted]}."
            raise TypeError(
                f"{class_name} observes {wanted.__name__}, and got {data_type.__name__}, which "
                f"{others} observe{'' if ' ' in others else 's'}.{way}"
            )


def refuse_labels(class_name: str, observed: Any, reader: str) -> None:
    """Raise for tables, DataArrays and whatever else has labels, with the way to read them."""
    of_xarray = hasattr(observed, "dims") and hasattr(observed, "coords")
    if of_xarray or hasattr(observed, "columns") or has_labels(observed):
        as_table = ", as a DataFrame: observed.to_pandas()" if of_xarray else ""
        raise TypeError(
            f"{class_name} got a {type(observed).__name__} as observed=, and its labels would be "
            f"lost. Read it with {reader}, which keeps them{as_table}."
        )


def refuse_single_precision() -> None:
    """Raise if PyTensor is set to float32, which would also store item numbers in 16 bits."""
    if pytensor.config.floatX != "float64":
        raise ValueError(
            f"pytensor.config.floatX is {pytensor.config.floatX!r}: bayesrank computes in double "
            "precision, and item numbers beyond 32,767 would wrap around. Set "
            "pytensor.config.floatX = 'float64'."
        )


# ---------------------------------------------------------------------------------------------
# Values that are known
# ---------------------------------------------------------------------------------------------


def known_value(x: Any) -> NDArray[Any] | None:
    """Value of a shared variable or constant; None of anything that is computed."""
    x = uncast(x)
    value = x.get_value(borrow=True) if isinstance(x, SharedVariable) else getattr(x, "data", None)
    return None if value is None else np.asarray(value)


def given_numbers(given: Any, read: TensorVariable) -> NDArray[Any] | None:
    """Values of a parameter that was given as numbers, once it is read; None of tensors."""
    if isinstance(given, Variable) or not all(
        isinstance(each, Constant) for each in graph_inputs([read])
    ):
        return None
    return np.asarray(read.eval(mode="FAST_COMPILE"))


def check_numbers(
    name: str, given: Any, read: TensorVariable, valid: Callable[[Any], Any], need: str
) -> None:
    """Raise where a parameter was given as numbers that are not finite or not `valid`."""
    known = given_numbers(given, read)
    numbers = np.ravel([] if known is None else known)
    wrong = numbers[~(np.isfinite(numbers) & valid(numbers))]
    if wrong.size:
        raise ValueError(f"`{name}` holds {wrong[0]:g}; it must be {need}.")


def same_value(x: TensorVariable, y: TensorVariable) -> bool:
    """Whether two variables have the same value, and both have one."""
    known_x, known_y = known_value(x), known_value(y)
    return known_x is not None and known_y is not None and np.array_equal(known_x, known_y)


def is_observed(value: TensorVariable, data: TensorVariable) -> bool:
    """Whether the value of a log-probability is the data that was registered, whatever its cast.

    By structure or by content: freezing or cloning a model makes new variables.
    """
    return equal_computations([uncast(value)], [uncast(data)]) or same_value(value, data)


def uncast(x: TensorVariable) -> TensorVariable:
    """Return what was cast, or the variable itself."""
    while (
        x.owner is not None
        and isinstance(x.owner.op, Elemwise)
        and isinstance(x.owner.op.scalar_op, Cast)
    ):
        x = x.owner.inputs[0]
    return x
