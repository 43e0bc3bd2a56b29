"""People as the target: utilities of one kind of judge, with votes of other kinds as evidence.

A table may have few votes of people and many of machines, while the question is what people prefer.
`bayesrank.leaderboard_model` with ``target="people"`` then has the utilities of people, and a bias
of machines by item. This file finds the kinds of the judges, and adds the parts of the model in
which kinds differ.
"""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray
from pytensor.tensor import TensorVariable

from bayesrank.analysis.registry import find_group
from bayesrank.data import Pairs
from bayesrank.data.read import ONE_ORDER, SWAP, coord_values, label_repr, quoted
from bayesrank.schema import JUDGE

__all__ = ["KIND", "Kinds", "kinds_of", "of_kinds"]

KIND = "kind"
"""Name of the group of kinds that `bayesrank.read_matches` makes."""

OTHER_KIND, OTHER_JUDGE, TARGET_JUDGE = "other_kind", "other_judge", "target_judge"
"""Dims of the parameters of judges of other kinds than the target, and of the target."""


class Kinds(NamedTuple):
    """The kinds of the judges. One of them is the target."""

    group: str
    target: str
    others: pd.Index  # other kinds with votes
    of_judge: NDArray[np.int64]  # (n_judges,) position among the other kinds, or -1: the target

    @property
    def is_target(self) -> NDArray[np.bool_]:
        """Whether each judge is of the target."""
        return self.of_judge < 0


def kinds_of(pairs: Pairs, target: str, kind: str | None = None) -> Kinds:
    """Find the kind of each judge.

    Parameters
    ----------
    pairs : Pairs
    target : str
        The kind whose utilities are sought.
    kind : str, optional
        The group of the pairs with the kinds of the judges, or the column that it was read from;
        ``"kind"`` by default.

    Raises
    ------
    ValueError
        If there is no such group or kind, a judge is of two kinds, or all votes are of one kind.

    Examples
    --------
    >>> table = pd.DataFrame({"a": ["x", "y"], "b": ["y", "x"], "won": "first"})
    >>> table["judge"], table["kind"] = ["Ann", "gpt"], ["people", "machines"]
    >>> votes = Pairs.from_frame(
    ...     table, first="a", second="b", outcome="won", judge="judge", by="kind"
    ... )
    >>> kinds_of(votes, "people").is_target.tolist()
    [True, False]
    """
    if kind is None and KIND not in pairs.groups:
        raise ValueError(
            f"`target` is {label_repr(target)}, but the pairs do not say which judges are of this "
            "kind. Name the column of kinds with `kind`, or list the judges that are machines with "
            "`machines`, when you read the table."
        )
    group = find_group(pairs, KIND, kind) or KIND
    group = group if group in pairs.groups else KIND
    labels, codes = pairs.group_labels(group), pairs.group_idx(group)
    played = pairs.matches > 0
    if target not in labels:
        raise ValueError(
            f"`target` is {label_repr(target)}, but the kinds of judge are {quoted(labels)}. Name "
            "one of these."
        )
    both = pd.DataFrame({"judge": pairs.judge_idx, "kind": codes})[played].drop_duplicates()
    if (twice := both["judge"].duplicated(keep=False)).any():
        judge = int(both["judge"][twice].iloc[0])
        of_two = labels[both["kind"][both["judge"] == judge].to_numpy()]
        raise ValueError(
            f"The judge {label_repr(pairs.judges[judge])} is of the kinds {quoted(of_two)}, but "
            "each judge must be of one kind. Give the judges of different kinds different names."
        )
    sought = labels.get_loc(target)
    for is_one, what in (
        (both["kind"] == sought, "no vote is"),
        (both["kind"] != sought, "all are"),
    ):
        if not is_one.any():
            raise ValueError(
                f"`target` is {label_repr(target)}, but {what} of judges of this kind. The target "
                "needs votes of its judges and of others. Without `target`, all judges are equal."
            )
    others = np.unique(both["kind"][both["kind"] != sought])
    place = np.full(len(labels), -1)
    place[others] = np.arange(len(others))
    of_judge = np.full(len(pairs.judges), -1)
    of_judge[both["judge"]] = place[both["kind"]]
    return Kinds(group, target, labels[others], of_judge)


def of_kinds(pairs: Pairs, kinds: Kinds) -> tuple[Pairs, Pairs]:
    """Return the votes of the judges of the target, and the votes of all others.

    Both keep the items, in the order of the rows, and only the judges that they have.
    """
    is_target = kinds.is_target[pairs.judge_idx] & (pairs.matches > 0)
    found = []
    for rows in (is_target, ~is_target & (pairs.matches > 0)):
        some = pairs[rows]
        axes = {JUDGE: some.judges[np.unique(some.judge_idx)]}
        if SWAP in some.groups:
            swaps = some.group_labels(SWAP)[np.unique(some.group_idx(SWAP))]
            axes[SWAP] = swaps
            if [*swaps] == [ONE_ORDER]:
                some = some._with(groups={k: x for k, x in some.groups.items() if k != SWAP})
                del axes[SWAP]
        found.append(some.reindex(axes))
    return found[0], found[1]


def log_adherences(kinds: Kinds, spread_scale: float) -> TensorVariable:
    """Add logarithms of adherences, whose mean over the judges of the target is zero.

    Each other kind has a separate mean: machines may be more or less consistent than people.
    """
    model, judges = pm.modelcontext(None), np.asarray(pm.modelcontext(None).coords[JUDGE])
    is_target = kinds.is_target
    _add_coords(model, kinds, judges)
    spread = pm.HalfNormal("adherence_spread", spread_scale)
    out = pt.zeros(len(judges))
    if is_target.sum() > 1:
        mine = pm.ZeroSumNormal("adherence_z", 1, dims=TARGET_JUDGE)
        out = out[np.flatnonzero(is_target)].set(spread * mine)
    mean = pm.Normal("other_adherence", 0, 1, dims=OTHER_KIND)
    theirs = spread * pm.Normal("other_adherence_z", 0, 1, dims=OTHER_JUDGE)
    of_judge = kinds.of_judge[~is_target]
    return out[np.flatnonzero(~is_target)].set(mean[of_judge] + theirs)


def biases(pairs: Pairs, kinds: Kinds, scale: Any) -> TensorVariable:
    """Add the bias of each other kind by item, and return deviations by kind and item.

    A bias sums to zero over the items, because the data do not identify its mean.
    """
    model = pm.modelcontext(None)
    spread = pm.HalfNormal("bias_spread", scale)
    z = pm.ZeroSumNormal("bias_z", 1, dims=(OTHER_KIND, "item"), n_zerosum_axes=1)
    bias = pm.Deterministic("bias", spread * z, dims=(OTHER_KIND, "item"))
    seen, labels = pairs.seen(kinds.group), pairs.group_labels(kinds.group)
    of_label = np.zeros(len(seen.labels), dtype=np.int64)
    codes = pairs.group_idx(kinds.group)
    of_label[seen.first], of_label[seen.second] = codes, codes
    row = kinds.others.get_indexer(labels)[of_label]
    dim = f"{kinds.group}_item"
    model.add_coord(dim, coord_values(seen.labels))
    theirs = np.flatnonzero(row >= 0)
    apart = pt.zeros(len(row))[theirs].set(bias[row[theirs], seen.item[theirs]])
    return pm.Deterministic(f"{kinds.group}_deviation", apart, dims=dim)


def opinions(pairs: Pairs, kinds: Kinds, scale: Any, *, of_target: bool) -> TensorVariable | None:
    """Add deviations of judges by item: of the judges of the target, if asked, and of others.

    The two have different spreads. The only judge of another kind has only the bias of its
    kind. Returns None if no judge deviates.
    """
    model, seen = pm.modelcontext(None), pairs.seen(JUDGE)
    whose = np.zeros(len(seen.labels), dtype=np.int64)
    whose[seen.first], whose[seen.second] = pairs.judge_idx, pairs.judge_idx
    alone = np.bincount(kinds.of_judge[~kinds.is_target], minlength=len(kinds.others)) == 1
    is_target = kinds.is_target[whose]
    other = ~is_target & ~alone[kinds.of_judge[whose]]
    parts = [("judge", TARGET_JUDGE, is_target)] if of_target else []
    parts += [("other", OTHER_JUDGE, other)] if other.any() else []
    if not parts:
        return None
    dim, labels = f"{JUDGE}_item", coord_values(seen.labels)
    model.add_coord(dim, labels)
    out = pt.zeros(len(whose))
    for name, judge, which in parts:
        rows = np.flatnonzero(which)
        model.add_coord(f"{judge}_item", labels[rows])
        spread = pm.HalfNormal(f"{name}_spread", scale)
        z = pm.Normal(f"{name}_item_z", 0, 1, dims=f"{judge}_item")
        out = out[rows].set(spread * z)
    return pm.Deterministic(f"{JUDGE}_deviation", out, dims=dim)


def _add_coords(model: Any, kinds: Kinds, judges: NDArray[Any]) -> None:
    model.add_coord(OTHER_KIND, coord_values(kinds.others))
    model.add_coord(OTHER_JUDGE, judges[~kinds.is_target])
    model.add_coord(TARGET_JUDGE, judges[kinds.is_target])
