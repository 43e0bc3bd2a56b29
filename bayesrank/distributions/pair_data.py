"""What a model holds of observed `Pairs`: labels and numbers, and checks that they fit."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pymc as pm
from numpy.typing import NDArray
from pytensor.tensor import TensorVariable

from bayesrank.data import Pairs
from bayesrank.data.read import OUTCOMES, counted, label_repr
from bayesrank.distributions.axes import same_labels
from bayesrank.distributions.pair_outcomes import as_double

__all__ = [
    "check_new",
    "check_ties",
    "counts_of",
    "group_names",
    "item_matches",
    "label_of",
    "matches_of",
    "pair_labels",
    "shaped",
]

TAKEN = ("first", "second", "weight", "counts", "outcome", "outcomes", "log_multinomial")


def pair_labels(pairs: Pairs, n_outcomes: int) -> tuple[Any, Any]:
    """Labels of the pairs and of their outcomes."""
    return pairs.coords["pair"], OUTCOMES[:n_outcomes]


def counts_of(name: str, pairs: Pairs, n_outcomes: int) -> NDArray[np.int32]:
    """Return the counts of the outcomes that the model has."""
    if pairs.counts.max(initial=0) > np.iinfo(np.int32).max:
        raise ValueError(
            f"A count of the pairs of {name!r} is {pairs.counts.max()}; models hold 32 bits of it. "
            "Divide the counts, and give the pairs an evidence weight instead."
        )
    return np.ascontiguousarray(pairs.counts[:, :n_outcomes], dtype=np.int32)


def label_of(pairs: Pairs, n_outcomes: int) -> str:
    """Say what the log-probability is one of, for `bayesrank.compare`."""
    if (pairs.weight != 1).any():
        return "nothing: evidence weights make a pseudo-likelihood"
    ties = " with ties" if n_outcomes == 3 else ""
    return f"pair outcomes{ties} given the pairs"


def group_names(name: str, pairs: Pairs) -> list[str]:
    """Name what keeps pairs apart: the judges and the groups."""
    for group in pairs.groups:
        if group in TAKEN:
            raise ValueError(
                f"The pairs of {name!r} are grouped by {group!r}, but {name}_{group} is another "
                "part of the model. Rename that column."
            )
    return ["judge", *pairs.groups]


def matches_of(pairs: Pairs, group: str) -> NDArray[np.int64]:
    """Count the matches of every label of a group."""
    n_labels, each = len(pairs.group_labels(group)), pairs.counts.sum(axis=1)
    return np.bincount(pairs.group_idx(group), each, n_labels).astype(np.int64)


def item_matches(pairs: Pairs) -> NDArray[np.int64]:
    """Count the matches of every item."""
    both, each = np.concatenate([pairs.first, pairs.second]), pairs.counts.sum(axis=1)
    return np.bincount(both, np.tile(each, 2), pairs.n_items).astype(np.int64)


# ---------------------------------------------------------------------------------------------
# Checks
# ---------------------------------------------------------------------------------------------


def check_ties(n_outcomes: int, name: str, pairs: Pairs) -> None:
    """Raise for ties in data of a model that has none."""
    if n_outcomes == 3 or not (ties := pairs.counts[:, 2]).any():
        return
    row = int((ties > 0).argmax())
    one, other = (label_repr(pairs.items[idx[row]]) for idx in (pairs.first, pairs.second))
    raise ValueError(
        f"The pairs of {name!r} have {counted(int(ties.sum()), 'tie')}, the first between {one} "
        f"and {other}, but BradleyTerry and Thurstone have no ties. Davidson and RaoKupper "
        "have them. pairs.split_ties() would count half a win of each item: a pseudo-likelihood, "
        "without LOO."
    )


def check_new(model: pm.Model, name: str, pairs: Pairs, per_pair: Sequence[Any]) -> None:
    """Raise where pairs cannot take the place of those that the model observes."""
    groups = group_names(name, pairs)
    data = (x.removeprefix(f"{name}_") for x in model.named_vars if x.startswith(f"{name}_"))
    known = {x.removesuffix("_matches") for x in data if x.endswith("_matches")}
    if known - {"item"} != set(groups):
        raise ValueError(
            f"The pairs of {name!r} are grouped by {sorted(known - {'item'})}, the new ones by "
            f"{sorted(groups)}: read them with the same columns `judge` and `by`."
        )
    if "item" in known:
        (axis,) = model.named_vars_to_dims[f"{name}_item_matches"]
        present = np.asarray(model.coords[axis])
        same_labels(f"the model's coord {axis!r}", name, present, pairs.coords["item"], "pairs")
    for x in per_pair:
        n = x.type.shape[0] if x.ndim else None
        if n not in (None, pairs.n_pairs):
            raise ValueError(
                f"{name!r} has a parameter for each of {n} pairs, but the new ones are "
                f"{pairs.n_pairs}. Declare it with dims, which set_pairs can change, instead of a "
                "shape."
            )


def shaped(
    name: str, what: str, value: Any, allowed: Mapping[tuple[int, ...], str]
) -> TensorVariable:
    """Return a parameter as a tensor, if it has one of the allowed shapes."""
    x = as_double(value)
    shape = tuple(int(n.eval(mode="FAST_COMPILE")) for n in x.shape)
    if shape not in allowed:
        ways = ", or ".join(f"{meaning}, shape {size}" for size, meaning in allowed.items())
        raise ValueError(f"`{what}` of {name!r} has shape {shape}; with these pairs it is {ways}.")
    return x
