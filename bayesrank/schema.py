"""What a model keeps of its data, and so its results: the names are written and read here.

A variable ``y`` that observes data of bayesrank leaves beside itself, in the group constant_data
of its results, ``y_`` and then

=================  ====================  ======================================================
part               dims                  what it is
=================  ====================  ======================================================
outcome            y_outcome             a coord: what the log-probability is one of
outcomes           y_outcome             how many of them there are
weight             row                   evidence weights
ranks, item        row, slot             of rankings: places, and the items in the slots
sizes                                    of rankings: block sizes
turns                 row, turn, slot    of rankings: places, by ranker, if a row is a ranker
kinds                 kind               of a mixture: numbers of the kinds
counts             row, result           of pairs: how often each outcome came
first, second      row                   of pairs: the items
net                row, item             of counts: net counts
at_random          row                   of counts: log-probability at random
user, positive,    row                   of pairs of what users have and have not
negative
ranker, judge ...  row                   whose each row is: a *group*, whose axis
ranker_rankings,   group                 has how many rankings
judge_matches ...                        or matches
item_rankings,     item                  how many rankings or matches an item is in
item_matches
=================  ====================  ======================================================

where a row is a ranking, a pair or a ranker: one log-likelihood.

This file may import numpy, pandas and xarray, and no room.

>>> import numpy as np
>>> table = xr.Dataset({"y_judge": ("pair", [0, 1, 1]), "y_judge_matches": ("judge", [1, 2])})
>>> groups_of("y", {str(name): x.dims for name, x in table.items()})
{'judge': 'judge'}
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

__all__ = [
    "AT_RANDOM",
    "COUNTED",
    "COUNTS",
    "FIRST",
    "ITEM",
    "ITEM_CODES",
    "JUDGE",
    "KINDS",
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
    "SIZES",
    "TURNS",
    "USER",
    "WEIGHT",
    "Kept",
    "counted",
    "groups_of",
    "name_of",
]

OUTCOME, OUTCOMES, WEIGHT = "outcome", "outcomes", "weight"
RANKS, ITEM, SIZES, RANKER = "ranks", "item", "sizes", "ranker"  # of rankings
TURNS, KINDS = "turns", "kinds"  # of mixtures
COUNTS, FIRST, SECOND, JUDGE = "counts", "first", "second", "judge"  # of pairs
NET, AT_RANDOM = "net", "at_random"  # of counts
USER, POSITIVE, NEGATIVE = "user", "positive", "negative"  # of what users have

RANKINGS, MATCHES = "rankings", "matches"
COUNTED = (MATCHES, RANKINGS)  # what the labels of a group have so many of
ITEM_CODES = (ITEM, FIRST, SECOND)  # positions on the axis of the items


def name_of(var: str, part: str) -> str:
    """Name what a variable keeps of its data.

    Parameters
    ----------
    var : str
        The observed variable.
    part : str
        One of the table above.

    Returns
    -------
    str
    """
    return f"{var}_{part}"


def counted(group: str, what: str) -> str:
    """Name the part that says how many rankings or matches the labels of a group have."""
    return f"{group}_{what}"


def groups_of(
    var: str, dims: Mapping[str, Sequence[Any]], rows: str | None = None
) -> dict[str, str]:
    """Find what the rows of a variable are grouped by.

    Items are counted, too, but are no group: a row is of more than one of them.

    Parameters
    ----------
    var : str
        The observed variable.
    dims : mapping of str to sequence of str
        Of everything in a model, or in its results.
    rows : str, optional
        Dim of the rows, if it is known.

    Returns
    -------
    dict
        The dim of the labels of every group.
    """
    found = {}
    for name in dims:
        for what in COUNTED:
            group = name.removeprefix(f"{var}_").removesuffix(f"_{what}")
            codes = dims.get(name_of(var, group), ())
            is_count = name == name_of(var, counted(group, what))
            if is_count and len(codes) == 1 and rows in (None, codes[0]):
                found[group] = str(dims[name][0])
    return found


class Kept:
    """What the results of a model hold of the data of one variable.

    Parameters
    ----------
    data : DataTree
        What `pm.sample` returned.
    var : str
        The observed variable.

    Attributes
    ----------
    constant : Dataset
        The group constant_data, empty where there is none.

    Examples
    --------
    >>> tree = xr.DataTree.from_dict(
    ...     {"constant_data": xr.Dataset({"y_weight": ("ranking", [1.0, 2.0])})}
    ... )
    >>> kept = Kept(tree, "y")
    >>> "weight" in kept, "ranks" in kept, kept["weight"].sum().item()
    (True, False, 3.0)
    """

    def __init__(self, data: xr.DataTree, var: str) -> None:
        there = "constant_data" in data.children
        self.constant = data["constant_data"].dataset if there else xr.Dataset()
        self.var = var

    def __contains__(self, part: str) -> bool:
        return name_of(self.var, part) in self.constant

    def __getitem__(self, part: str) -> xr.DataArray:
        return self.constant[name_of(self.var, part)]

    @property
    def outcome(self) -> str | None:
        """What the log-probability is one of, if the results say."""
        name = name_of(self.var, OUTCOME)
        coords = self.constant.coords
        return str(coords[name].values[0]) if name in coords else None

    @property
    def groups(self) -> dict[str, str]:
        """The dim of the labels of every group."""
        dims = {str(name): x.dims for name, x in self.constant.items()}
        return groups_of(self.var, dims)

    def parts(self, dim: str) -> Iterator[tuple[str, xr.DataArray]]:
        """Go through the parts that have a dim."""
        for name, x in self.constant.items():
            if str(name).startswith(f"{self.var}_") and dim in x.dims:
                yield str(name).removeprefix(f"{self.var}_"), x

    def codes(self, group: str) -> NDArray[Any]:
        """Positions of the labels of a group, one for every row."""
        return self[group].to_numpy()

    def labels(self, group: str) -> NDArray[Any]:
        """Labels of a group, or numbers where the results do not name them."""
        axis = self.groups[group]
        if axis in self.constant.coords:
            return self.constant[axis].to_numpy()
        return np.arange(self.codes(group).max() + 1)

    @property
    def item_axis(self) -> str | None:
        """Dim of the items, if the results have one."""
        for what in COUNTED:
            if (part := counted(ITEM, what)) in self:
                return str(self[part].dims[0])
        return str(self[NET].dims[-1]) if NET in self else None

    @property
    def items(self) -> pd.Index | None:
        """Labels of the items, if the results name them."""
        axis = self.item_axis
        if axis is None or axis not in self.constant.coords:
            return None
        return pd.Index(self.constant[axis].to_numpy())
