"""Names of the data that a model and its results store.

A variable ``y`` that observes data of bayesrank stores one table, ``y_data``, in the group
constant_data of its results. Its rows are rankings, pairs or rankers, and `Kept` reads the parts
from its columns. The only label of its last axis, ``y_contents``, is a JSON text. It has the
outcome space, the columns of every part, the parts without rows, and the labels of all axes.

=================  ====================  ======================================================
part               axes                  content
=================  ====================  ======================================================
weight             row                   what multiplies the log-likelihood: evidence weights,
                                         times the counts of rankings
count              row                   of rankings: number of independent rankings
ranks, item        row, slot             of rankings: ranks and items of the slots
turn               row                   of rankings: number of earlier rankings by the ranker, if
                                         all rankings of a ranker share one log-likelihood
components         component             of a mixture: numbers of the components
counts             row, result           of pairs: counts of the outcomes
grade              result                of graded pairs: positions of the results, from the best
                                         for the first item on
first, second      row                   of pairs: the items
effect,            row, pair_term        of pairs: further terms of leads, as positions
effect_size                              among the effects, and their factors
net                row, item             of counts: net counts
at_random          row                   of counts: log-probability at random
user, positive,    row                   of pairs of items that users have and lack
negative
ranker, judge ...  row                   label of each row in a *group*
ranker_rankings,   group                 numbers of rankings or matches of the labels of
judge_matches ...                        a group
item_rankings,     item                  numbers of rankings or matches of items
item_matches
=================  ====================  ======================================================

A variable with the name of a part, such as ``y_weight``, takes the place of the part in the table.
An observed array has only the label of its outcome space and the number of outcomes,
``y_outcomes``. `Kept` reads the rest from observed_data.

This file may import numpy, pandas and xarray, and no room.

>>> import numpy as np
>>> table = xr.Dataset({"y_judge": ("pair", [0, 1, 1]), "y_judge_matches": ("judge", [1, 2])})
>>> groups_of("y", {str(name): x.dims for name, x in table.items()})
{'judge': 'judge'}
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "AT_RANDOM",
    "COMPONENTS",
    "CONTENT",
    "CONTENTS",
    "COUNT",
    "COUNTED",
    "COUNTS",
    "DATA",
    "EFFECT",
    "EFFECT_SIZE",
    "FEATURE",
    "FIRST",
    "GRADE",
    "ITEM",
    "JUDGE",
    "MATCHES",
    "NEGATIVE",
    "NET",
    "OUTCOME",
    "OUTCOMES",
    "POSITIVE",
    "RANKER",
    "RANKINGS",
    "RANKS",
    "SECOND",
    "TABLES",
    "TURN",
    "USER",
    "WEIGHT",
    "Kept",
    "StoredPart",
    "are_numbers",
    "are_reordered",
    "groups_of",
    "joined",
    "name_count",
    "name_of",
    "packed",
    "place_columns",
    "refuse_moved_labels",
    "spell_label",
    "stored_labels",
]

OUTCOME, OUTCOMES, WEIGHT = "outcome", "outcomes", "weight"
COUNT = "count"  # of rankings: how many each row stands for
RANKS, ITEM, RANKER = "ranks", "item", "ranker"  # of rankings
TURN, COMPONENTS = "turn", "components"  # of mixtures
COUNTS, FIRST, SECOND, JUDGE = "counts", "first", "second", "judge"  # of pairs
GRADE = "grade"  # of graded pairs
EDGE = "edge"  # of grades that are margins: the smallest margin of each
VOTES = "votes"  # of pairs with stated probabilities
EFFECT, EFFECT_SIZE, FEATURE = "effect", "effect_size", "feature"
NET, AT_RANDOM = "net", "at_random"  # of counts
TABLES = "tables"  # of counts that are observed as an array
USER, POSITIVE, NEGATIVE = "user", "positive", "negative"  # of what users have

OF_TWO = {  # outcomes of weak orders of two items, as outcomes of pairs
    "weak orders given their block sizes": "pair outcomes given the pairs",
    "weak orders": "pair outcomes with ties given the pairs",
}

DATA, CONTENTS = "data", "contents"  # the table of all parts, and its description
CONTENT = "content"  # stored with the predictions of K folds: `Kept.contents`

RANKINGS, MATCHES = "rankings", "matches"
COUNTED = (MATCHES, RANKINGS)  # units that are counted per label of a group
OF_ARRAYS = {"weak": RANKS, "pair": COUNTS, "counts": TABLES}  # by the first word of the outcome


def name_of(var: str, part: str) -> str:
    """Return the name of a part of the data of a variable."""
    return f"{var}_{part}"


def name_count(group: str, unit: str) -> str:
    """Name the part that counts the rankings or matches of the labels of a group."""
    return f"{group}_{unit}"


def groups_of(
    var: str, dims: Mapping[str, Sequence[Any]], rows: str | None = None
) -> dict[str, str]:
    """Find the groups of the rows of a variable.

    Items are also counted, but are not a group, because a row has several items.

    Returns
    -------
    dict
        The dim of the labels of every group.
    """
    found = {}
    for name in dims:
        for unit in COUNTED:
            group = name.removeprefix(f"{var}_").removesuffix(f"_{unit}")
            codes = dims.get(name_of(var, group), ())
            is_count = name == name_of(var, name_count(group, unit))
            if is_count and len(codes) == 1 and rows in (None, codes[0]):
                found[group] = str(dims[name][0])
    return found


class StoredPart(NamedTuple):
    """A part of the data, and the dims of its axes."""

    value: NDArray[Any]
    dims: tuple[str, ...]


def place_columns(parts: Mapping[str, StoredPart], rows: str) -> dict[str, int | slice]:
    """Place the parts whose first dim is `rows` in the columns of a table.

    Parts with one column come first. Parts with the same second dim alternate, and the last of
    these dims may change its length.
    """
    single = [part for part, x in parts.items() if x.dims == (rows,)]
    columns: dict[str, int | slice] = {part: k for k, part in enumerate(single)}
    start = len(single)
    along: dict[str, list[str]] = {}
    for part, x in parts.items():
        if len(x.dims) == 2 and x.dims[0] == rows:
            along.setdefault(x.dims[1], []).append(part)
    for k, names in enumerate(along.values(), start=1):
        stop = start + len(names) * parts[names[0]].value.shape[1]
        for i, part in enumerate(names):
            columns[part] = slice(start + i, None if k == len(along) else stop, len(names))
        start = stop
    return columns


def packed(
    parts: Mapping[str, StoredPart],
    rows: str,
    coords: Mapping[str, Any],
    outcome: str,
    also: Collection[str] = (),
) -> tuple[NDArray[np.float64], list[str], str]:
    """Return a table of the parts with the dim `rows`, the names of its columns, and contents.

    The contents hold the labels of all dims but `rows`, and of the dims in `also`.
    """
    n = len(parts[WEIGHT].value)
    columns = place_columns(parts, rows)
    blocks = {part: parts[part].value.reshape(n, -1) for part in columns}
    table = np.empty((n, sum(block.shape[1] for block in blocks.values()), 1))
    names = np.empty(table.shape[1], dtype=object)
    about: dict[str, dict[str, Any]] = {}
    for part, x in parts.items():
        about[part] = {"dims": x.dims, "dtype": str(x.value.dtype)}
        if part not in columns:
            about[part]["values"] = x.value.tolist()
            continue
        k = columns[part]
        table[:, k, 0] = x.value
        if isinstance(k, int):
            about[part]["columns"], names[k] = k, part
        else:
            about[part]["columns"] = [k.start, k.stop, k.step]
            names[k] = [f"{part} {label}" for label in coords[x.dims[1]]]
    dims = {dim for x in parts.values() for dim in x.dims}.union(also) - {rows}
    labels = {dim: _list_labels(coords[dim]) for dim in sorted(dims)}
    contents = {"outcome": outcome, "rows": rows, "parts": about, "labels": labels}
    return table, names.tolist(), json.dumps(contents, default=str)


def _list_labels(labels: Any) -> dict[str, Any]:
    """Return labels as a list, with their type."""
    x = np.asarray(labels)
    if x.dtype.kind in "mM":
        return {"dtype": str(x.dtype), "values": x.astype(np.int64).tolist()}
    return {"dtype": "O" if x.dtype.kind == "O" else x.dtype.kind, "values": x.tolist()}


def stored_labels(contents: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Return the labels of every dim that the data of a variable were read by."""
    return {dim: np.array(x["values"]).astype(x["dtype"]) for dim, x in contents["labels"].items()}


def are_reordered(present: Any, labels: Any) -> bool:
    """Tell whether labels are the same in another order; missing labels are not."""
    if present is None or len(present) != len(labels) or np.array_equal(present, labels):
        return False
    return {*present} == {*labels}


def refuse_moved_labels(data: xr.DataTree) -> None:
    """Raise if a dim of the posterior has its labels in another order than the observed data.

    The parameters were matched to the data when the model was built. Labels that `pm.set_data`
    moves later name the wrong parameters.
    """
    if not {"posterior", "constant_data"} <= {*data.children}:
        return
    posterior, constant = data["posterior"], data["constant_data"].to_dataset()
    for name, table in constant.items():
        if table.ndim != 3 or not str(table.dims[2]).endswith(f"_{CONTENTS}"):
            continue
        for dim, labels in stored_labels(_contents(table)).items():
            found = posterior.indexes.get(dim)
            if found is not None and are_reordered(found, labels):
                var = str(name).removesuffix(f"_{DATA}")
                place = int((found.to_numpy() != labels).argmax())
                present, before = spell_label(found[place]), spell_label(labels[place])
                raise ValueError(
                    f"The labels of {dim!r} in the posterior stand in another order than when "
                    f"{var!r} was declared: {present} has replaced {before}. If pm.set_data "
                    "moved the coords of the model, build it with the new coords, and sample "
                    "again. If you reordered the results, pass only the variable, such as "
                    "results.posterior['utility']."
                )


def _contents(table: xr.DataArray) -> dict[str, Any]:
    """Return the description of a table of parts, which the label of its last axis holds."""
    return _read_contents(str(table[table.dims[2]].values[0]))


@lru_cache(maxsize=8)
def _read_contents(text: str) -> dict[str, Any]:
    """Read a description once: many functions read the description of one posterior."""
    contents: dict[str, Any] = json.loads(text)
    return contents


def _unpacked(constant: xr.Dataset, var: str) -> xr.Dataset:
    """Replace the table of a variable by its parts."""
    table = constant[name_of(var, DATA)]
    contents = _contents(table)
    values = table.to_numpy()[:, :, 0]
    found = {}
    for part, x in contents["parts"].items():
        k = x.get("columns")
        if k is not None:
            k = k if isinstance(k, int) else slice(*k)
        value = np.array(x["values"]) if k is None else values[:, k]
        if (name := name_of(var, part)) not in constant:
            found[name] = (tuple(x["dims"]), value.astype(x["dtype"]))
    dims = {dim for x in contents["parts"].values() for dim in x["dims"]} - {*constant.coords}
    labels = {dim: x for dim, x in stored_labels(contents).items() if dim in dims}
    rest = constant.drop_vars([str(table.name), *map(str, table.dims[1:])])
    coords = {name_of(var, OUTCOME): [contents["outcome"]], **labels}
    return rest.assign(found).assign_coords(coords)


class Kept:
    """The data of one variable in the results of a model.

    Parameters
    ----------
    data : DataTree
        Result of `pm.sample`.
    var : str
        The observed variable.
    group : str
        Group of the data: "predictions_constant_data" for the data of predictions.

    Attributes
    ----------
    constant : Dataset
        The group, empty if it is missing; for observed arrays, their contents.

    Examples
    --------
    >>> tree = xr.DataTree.from_dict(
    ...     {"constant_data": xr.Dataset({"y_weight": ("ranking", [1.0, 2.0])})}
    ... )
    >>> kept = Kept(tree, "y")
    >>> "weight" in kept, "ranks" in kept, kept["weight"].sum().item()
    (True, False, 3.0)
    """

    def __init__(self, data: xr.DataTree, var: str, group: str = "constant_data") -> None:
        refuse_moved_labels(data)
        self.constant = data[group].to_dataset() if group in data.children else xr.Dataset()
        self.var = var
        if DATA in self:
            self.constant = _unpacked(self.constant, var)
        self._item_of_posterior = None
        if "posterior" in data.children and ITEM in data["posterior"].coords:
            self._item_of_posterior = pd.Index(data["posterior"][ITEM].to_numpy())
        self._read_array(data)

    def _read_array(self, data: xr.DataTree) -> None:
        """Find an observed array, which is not among the constant data."""
        if self.outcome is None or "observed_data" not in data.children:
            return
        part, seen = OF_ARRAYS.get(self.outcome.split()[0]), data["observed_data"].to_dataset()
        known = {name_of(self.var, name) for name in (RANKS, ITEM, COUNTS, NET, WEIGHT)}
        if part is None or self.var not in seen or known & {*map(str, self.constant)}:
            return
        values = seen[self.var]
        if values.ndim == (3 if part == TABLES else 2):  # otherwise it is one row, or nested rows
            weight = xr.ones_like(values.isel(dict.fromkeys(values.dims[1:], 0), drop=True), float)
            parts = {part: values, WEIGHT: weight}
            self.constant = self.constant.assign(
                {name_of(self.var, name): x for name, x in parts.items()}
            )

    def __contains__(self, part: str) -> bool:
        return name_of(self.var, part) in self.constant

    def __getitem__(self, part: str) -> xr.DataArray:
        return self.constant[name_of(self.var, part)]

    @property
    def outcome(self) -> str | None:
        """Label of the outcome space, if the results have it."""
        name = name_of(self.var, OUTCOME)
        coords = self.constant.coords
        return str(coords[name].values[0]) if name in coords else None

    @property
    def is_by_ranker(self) -> bool:
        """Whether all rankings of a ranker share one log-likelihood."""
        return TURN in self

    @property
    def outcome_of_two(self) -> str | None:
        """The outcome, named as for pairs if all rankings have two items."""
        if RANKS in self and ((self[RANKS].to_numpy() > 0).sum(axis=1) == 2).all():
            return OF_TWO.get(str(self.outcome), self.outcome)
        return self.outcome

    def rows(self) -> xr.DataArray:
        """Return the labels of the rows, or numbers if they have none."""
        for part in (RANKS, COUNTS, NET, TABLES, USER, AT_RANDOM):
            if part in self:
                return self[part][self[part].dims[0]]
        raise ValueError(
            f"{self.var!r} is observed as a single value without an axis of rankings, pairs or "
            "rankers. Add an axis of length 1 to the array."
        )

    @property
    def groups(self) -> dict[str, str]:
        """The dim of the labels of every group."""
        dims = {str(name): x.dims for name, x in self.constant.items()}
        return groups_of(self.var, dims)

    def contents(self, items: ArrayLike | None = None) -> NDArray[Any] | None:
        """Describe the observed data of every row, independently of the order of rows and items.

        Returns
        -------
        array of str, or None
            ``'a' > 'b' = 'c'`` for rankings and pairs that met once, ``'a' 3 : 1 'b'`` for other
            pairs, and ``'a' +2, 'c' -2`` for net counts. The count of a ranking and the weight are
            added if they are not 1. None for an array whose slots have no labels, because it has no
            items.
        """
        if RANKS in self:
            ranks = self[RANKS].to_numpy()
            if ITEM not in self and self.items is None:
                return None
            codes = self[ITEM].to_numpy() if ITEM in self else np.indices(ranks.shape)[1]
            names = _names(items, codes)
            texts = [_order_text(names[row], k) for row, k in zip(codes, ranks, strict=True)]
        elif COUNTS in self and FIRST in self:
            ends = np.stack([self[FIRST].to_numpy(), self[SECOND].to_numpy()], axis=1)
            names = _names(items, ends)
            counts = self[COUNTS].to_numpy()
            text: Callable[..., str] = _match_text
            if GRADE in self and counts.shape[1] == 3:  # first, tie, second
                counts = counts[:, [0, 2, 1]]
            elif counts.shape[1] > 3:
                text = _grades_text
            texts = [
                text(*names[pair], *row) for pair, row in zip(ends, counts.tolist(), strict=True)
            ]
        elif NET in self:
            net = self[NET].to_numpy()
            names = _names(items, [net.shape[1] - 1])
            texts = [
                ", ".join(sorted(f"{names[i]} {row[i]:+d}" for i in np.flatnonzero(row)))
                for row in net
            ]
        else:
            return None
        evidence = self[WEIGHT].to_numpy()
        times = self[COUNT].to_numpy() if COUNT in self else np.ones(len(evidence), dtype=int)
        for row in np.flatnonzero((evidence != 1) | (times != 1)):
            texts[row] += f" × {times[row]}" if times[row] != 1 else ""
            weight = evidence[row] / times[row]
            texts[row] += f", weight {weight:.9g}" if weight != 1 else ""
        return np.array(texts, dtype=object)

    def times(self, dim: str) -> xr.DataArray | None:
        """Return how many independent observations each unit of a dim stands for.

        Units are rankings or, if rankers have only numbers and ranked once, rankers. None if every
        unit is one observation, or is left out as a whole.
        """
        if COUNT not in self or (self[COUNT] == 1).all():
            return None
        (rows,), times = self[COUNT].dims, self[COUNT].to_numpy()
        if dim == rows:
            return xr.DataArray(times, {dim: self[RANKS][dim]}, dim)
        if dim != self.groups.get(RANKER):
            return None
        labels, codes = self.labels(RANKER), self.codes(RANKER)
        if not are_numbers(labels) or len(np.unique(codes)) < len(codes):
            return None
        of_rankers = np.ones(len(labels), dtype=np.int64)
        of_rankers[codes] = times
        return xr.DataArray(of_rankers, {dim: labels}, dim)

    def codes(self, group: str) -> NDArray[Any]:
        """Return the label positions of a group, one per row."""
        return self[group].to_numpy()

    def labels(self, group: str) -> NDArray[Any]:
        """Return the labels of a group, or numbers if the results have no labels."""
        axis = self.groups[group]
        if axis in self.constant.coords:
            return self.constant[axis].to_numpy()
        return np.arange(self.codes(group).max() + 1)

    @property
    def item_axis(self) -> str | None:
        """Dim of the items, if the results have one."""
        for unit in COUNTED:
            if (part := name_count(ITEM, unit)) in self:
                return str(self[part].dims[0])
        return str(self[NET].dims[-1]) if NET in self else None

    @property
    def items(self) -> pd.Index | None:
        """Labels of the items, if the results name them."""
        if RANKS in self and ITEM not in self:
            slots = self[RANKS][self[RANKS].dims[1]].to_numpy()
            return None if are_numbers(slots) else pd.Index(slots)
        axis = self.item_axis
        if axis is None or axis not in self.constant.coords:
            return self._item_of_posterior
        return pd.Index(self.constant[axis].to_numpy())


def _names(items: ArrayLike | None, codes: Any) -> NDArray[Any]:
    """Return the labels of items as texts, or the numbers of the codes."""
    labels = np.arange(np.max(codes, initial=0) + 1) if items is None else np.asarray(items)
    return np.array([spell_label(label) for label in labels], dtype=object)


def _order_text(names: NDArray[Any], ranks: NDArray[Any]) -> str:
    blocks: dict[int, list[str]] = {}
    for name, rank in zip(names.tolist(), ranks.tolist(), strict=True):
        if rank:
            blocks.setdefault(rank, []).append(name)
    return " > ".join(" = ".join(sorted(blocks[rank])) for rank in sorted(blocks))


def _match_text(one: str, other: str, first: int, second: int, ties: int = 0) -> str:
    if first + second + ties == 1:
        return _order_text(np.array([one, other]), np.array([1 + second, 1 + first]))
    return f"{one} {first} : {second} {other}" + (f" ({ties} ties)" if ties else "")


def _grades_text(one: str, other: str, *counts: int) -> str:
    return f"{one} {' : '.join(map(str, counts))} {other}"


def joined(contents: NDArray[Any], unit: NDArray[Any], n_units: int) -> NDArray[Any]:
    """Join the contents (n_rows,) of the rows of every unit (n_rows,), in sorted order."""
    rows: list[list[str]] = [[] for _ in range(n_units)]
    for text, where in zip(contents.tolist(), unit.tolist(), strict=True):
        rows[where].append(text)
    return np.array(["; ".join(sorted(texts)) for texts in rows], dtype=object)


def spell_label(label: Any) -> str:
    """Return the `repr` of a label, without the names of NumPy's types."""
    return repr(label.item() if isinstance(label, np.generic) else label)


def are_numbers(labels: NDArray[Any]) -> bool:
    """Tell whether labels are 0, 1, 2, ... in any order, as for rows without labels."""
    present = np.unique(labels)
    return present.dtype.kind in "iu" and np.array_equal(present, np.arange(len(present)))
