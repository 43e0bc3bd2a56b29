"""Axes of what is observed: their names in a model, and labels that agree with the model's own."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pymc as pm

from bayesrank.data.read.labels import label_repr

__all__ = ["AXES", "EXAMPLE", "add_coord", "label_axis", "same_labels", "two_names"]

AXES = ("ranking", "slot")  # coords of a Rankings, and the dims by default
EXAMPLE = ("race", "place")  # other names for them


def two_names(
    name: str,
    dims: Sequence[str] | None,
    axes: tuple[str, str] = AXES,
    example: tuple[str, str] = EXAMPLE,
) -> tuple[str, str]:
    """Check names for two axes; by default they are called what they are."""
    names = axes if dims is None else tuple(dims)
    if isinstance(dims, str) or len(names) != 2 or not all(isinstance(d, str) for d in names):
        raise ValueError(
            f"`dims` of {name!r} is {dims!r}: name two axes, such as dims={example}. "
            f"The first has one label per {axes[0]}, the second one per {axes[1]}."
        )
    return names


def add_coord(
    model: pm.Model,
    name: str,
    dim: str,
    labels: Any,
    source: str = "rankings",
    example: tuple[str, str] = EXAMPLE,
) -> None:
    """Add a coord, or check that the model's own has these labels."""
    if dim not in model.coords:
        model.add_coord(dim, labels)
        return
    present = model.coords[dim]
    if present is not None and not np.array_equal(np.asarray(present), np.asarray(labels)):
        raise ValueError(
            f"The model's coord {dim!r} has {len(present)} labels that are not the {len(labels)} "
            f"of the {source} of {name!r}. Build the model with pm.Model(coords={source}.coords), "
            f"or give a second collection of {source} its own dims={example}."
        )


def label_axis(
    model: pm.Model, name: str, axis: str, labels: Any, source: str, *, known: bool
) -> str:
    """Name the dim of the labels of an axis, a new one if the model's own has others.

    Where the axis is `known`, as that of the items is if each has a utility, as many others under
    its name are a mistake: the utilities would be those of others.
    """
    present = model.coords.get(axis)
    if present is not None and known and len(present) == len(labels):
        same_labels(f"the model's coord {axis!r}", name, np.asarray(present), labels, source)
    dim = axis if present is None or np.array_equal(present, labels) else f"{name}_{axis}s"
    if dim not in model.coords:
        model.add_coord(dim, labels)
    return dim


def same_labels(whose: str, name: str, present: Any, labels: Any, source: str) -> None:
    """Raise where the items of data are not those of the model."""
    if np.array_equal(present, labels):
        return
    what = f"has {len(present)} labels, and they have {len(labels)}"
    if len(present) == len(labels):
        row = int((np.asarray(present) != np.asarray(labels)).argmax())
        what = f"has {label_repr(present[row])} where they have {label_repr(labels[row])}"
    raise ValueError(
        f"The items of the {source} of {name!r} are not those of {whose}, which {what}. Read the "
        f"{source} with items=, in the order of the model."
    )
