"""Restore an analysis from a posterior that `bayesrank.fit` recorded.

The posterior may come from a damaged file or from a stranger. The record must have known names and
types, and the data must agree with the draws. Every other problem becomes an error message.
"""

import json
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn, cast

import numpy as np
import pandas as pd
import xarray as xr

from bayesrank.analysis.analysis import Analysis, Settings
from bayesrank.analysis.fit import METHODS, RECORD
from bayesrank.analysis.models import KINDS, analysis_with
from bayesrank.data import Pairs, Rankings, UninformativeRankingWarning
from bayesrank.data.read import SWAP, Group, who_won
from bayesrank.priors import PRIORS
from bayesrank.schema import (
    COUNT,
    COUNTS,
    EDGE,
    EFFECT_SIZE,
    FIRST,
    GRADE,
    ITEM,
    JUDGE,
    RANKER,
    RANKS,
    SECOND,
    VOTES,
    WEIGHT,
    Kept,
)

__all__ = ["FitRecord", "are_draws", "check_draws", "read_data", "read_record", "restore"]

HUGE = 1e100  # larger draws are damaged, and their squares overflow


class FitRecord(NamedTuple):
    """What `bayesrank.fit` recorded, and what the command added."""

    kind: str
    arguments: dict[str, Any]
    columns: dict[str, str]
    ordered: bool
    settings: Settings
    notes: list[str]
    more: dict[str, Any]


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_name(value: Any) -> bool:
    return value is None or _is_text(value)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _are_columns(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_text, value.values()))


def _is_scale(value: Any) -> bool:
    return value is None or (type(value) in (int, float) and 0 < value < np.inf)


Check = Callable[[Any], bool]
ARGUMENTS: dict[str, Check] = {
    "category": _is_name,
    "cluster": _is_name,
    "components": lambda value: type(value) is int and value > 1,
    "contrary": _is_flag,
    "features": _is_flag,
    "groups": _are_texts,
    "neutral": _is_name,
    "opinions": lambda value: value is None or _is_flag(value),
    "order_effect": _is_flag,
    "prior": lambda value: value in PRIORS,
    "kind": _is_name,
    "since": _is_name,
    "swaps": lambda value: value is None or _is_flag(value),
    "target": _is_name,
    "tasks": _is_flag,
    "threshold": _is_flag,
    "ties_by": _are_texts,
    "time": _is_text,
    "utility_scale": _is_scale,
}
SETTINGS: dict[str, Check] = {
    "method": lambda value: value in METHODS,
    **dict.fromkeys(("draws", "tune", "chains", "random_seed", "top"), _is_count),
}
RECORDED: dict[str, Check] = {
    "kind": lambda value: value in KINDS,
    "arguments": lambda value: isinstance(value, dict),
    "columns": _are_columns,
    "ordered": _is_flag,
    "settings": lambda value: isinstance(value, dict),
    "notes": _are_texts,
}


def read_record(posterior: Any, more: dict[str, Check]) -> FitRecord:
    """Read and check the record of a posterior.

    Parameters
    ----------
    posterior : DataTree
        From `bayesrank.fit`.
    more : dict
        Names of further settings that the record may contain, each with its check.

    Raises
    ------
    ValueError
        If the posterior has no record, or the record is invalid.
    """
    if RECORD not in posterior.attrs or "posterior" not in posterior.children:
        raise ValueError(
            "The posterior does not come from br.fit or from a command of bayesrank. Summarise "
            "others with br.rank_summary."
        )
    try:
        record = json.loads(posterior.attrs[RECORD])
        _check(record, RECORDED, more)
        arguments, settings = record["arguments"], record["settings"]
        _check(settings, SETTINGS, {})
        _check(arguments, {name: ARGUMENTS[name] for name in KINDS[record["kind"]].ARGUMENTS}, {})
    except (RecursionError, TypeError, ValueError) as error:
        raise ValueError(f"The posterior has a record that no fit writes: {error}") from error
    known = {name: record.pop(name) for name in RECORDED}
    return FitRecord(**{**known, "settings": Settings(**settings), "more": record})


def _check(found: Any, needed: dict[str, Check], more: dict[str, Check]) -> None:
    """Check the names and values of a JSON object."""
    if not isinstance(found, dict):
        raise ValueError("it is not a JSON object.")
    if missing := needed.keys() - found.keys():
        raise ValueError(f"{min(missing)!r} is missing.")
    for name, value in found.items():
        check = (needed | more).get(name)
        if check is None:
            raise ValueError(f"{name!r:.80} is unknown.")
        if not check(value):
            raise ValueError(f"{name!r} cannot be {value!r:.80}.")


def read_data(posterior: xr.DataTree, record: FitRecord) -> Any:
    """Read the rankings or matches that a posterior was made from.

    Raises
    ------
    ValueError
        If they are damaged.
    """
    arguments = record.arguments
    try:
        kept = Kept(posterior, "y")
        named = [arguments.get(name) for name in ("category", "cluster", "kind", "neutral", "time")]
        named += [SWAP] if arguments.get("swaps", False) is not False else []
        groups = [name for name in (*named, *arguments.get("groups", ())) if name is not None]
        with warnings.catch_warnings():  # the notes of the fit say so already
            warnings.simplefilter("ignore", UninformativeRankingWarning)
            data: Any = _pairs(kept, groups) if FIRST in kept else _rankings(kept, groups)
        data = data._with(roles=record.columns, notes=tuple(record.notes))
        return data._with(ordered=record.ordered) if isinstance(data, Pairs) else data
    except Exception as error:  # a damaged file can raise anything
        raise ValueError(f"{type(error).__name__}: {str(error).rstrip('.')}") from error


def restore(posterior: xr.DataTree, record: FitRecord) -> Analysis:
    """Make the analysis of a posterior from its data and its record.

    Raises
    ------
    ValueError
        If the data or the record are damaged.
    """
    data = read_data(posterior, record)
    try:
        analysis = analysis_with(record.kind, data, record.arguments)
        if analysis.accuracy:
            analysis.resume(posterior, record.settings)
    except Exception as error:  # a damaged file can raise anything
        raise ValueError(f"{type(error).__name__}: {str(error).rstrip('.')}") from error
    return analysis


def check_draws(posterior: xr.DataTree, analysis: Analysis) -> None:
    """Refuse a posterior that does not match the model of the data in it.

    Raises
    ------
    ValueError
        If a variable is missing, has other dims or labels, or invalid draws, or the data disagree.
    """
    from bayesrank.inference import data_groups

    if analysis.accuracy:
        return
    model = analysis.model

    def refuse(name: str, why: str) -> NoReturn:
        raise ValueError(f"{name} {why}")

    draws = _group(posterior, "posterior")
    for variable in (*model.free_RVs, *model.deterministics):
        name, dims = variable.name, tuple(model.named_vars_to_dims.get(variable.name, ()))
        if name not in draws or draws[name].dims != ("chain", "draw", *dims):
            refuse(name, f"has no draws with dims {', '.join(('chain', 'draw', *dims))}")
        values = draws[name].to_numpy()
        if not are_draws(values):
            refuse(name, "has invalid draws")
        for dim in dims:
            if not _same(draws[dim].to_numpy(), np.asarray(model.coords[dim])):
                refuse(dim, "has other labels in the posterior than in the data")
    groups = data_groups(model)
    expected_data = Kept(xr.DataTree.from_dict({"posterior": xr.Dataset(), **groups}), "y").constant
    pairs = {group: (_group(posterior, group), expected) for group, expected in groups.items()}
    pairs["constant_data"] = Kept(posterior, "y").constant, expected_data
    for found, expected in pairs.values():
        for name, values in expected.variables.items():
            if (
                name not in found.variables
                or found[name].dims != values.dims
                or not _same(found[name].to_numpy(), values.to_numpy())
            ):
                refuse(str(name), "does not agree with the other data")


def are_draws(values: Any) -> bool:
    """Whether an array contains draws that are finite and not huge."""
    return values.dtype.kind == "f" and values.size > 0 and bool((np.abs(values) < HUGE).all())


def _group(posterior: xr.DataTree, name: str) -> xr.Dataset:
    return posterior[name].to_dataset() if name in posterior.children else xr.Dataset()


def _same(found: Any, expected: Any) -> bool:
    """Whether two arrays have the same type and, up to rounding, the same values."""
    if found.shape != expected.shape:
        return False
    if expected.dtype.kind in "biuf":
        return found.dtype.kind in "biuf" and np.allclose(found, expected, 1e-6, equal_nan=True)
    return bool((found.astype(str) == expected.astype(str)).all())


def _rankings(kept: Kept, groups: Sequence[str]) -> Rankings:
    constant = kept.constant
    rankings = Rankings(
        kept[ITEM].to_numpy(),
        kept[RANKS].to_numpy(),
        items=cast(pd.Index, kept.items),
        rankers=constant["ranker"].to_numpy(),
        ranker_idx=kept[RANKER].to_numpy(),
        count=kept[COUNT].to_numpy(),
        weight=kept[WEIGHT].to_numpy() / kept[COUNT].to_numpy(),
        labels=constant["ranking"].to_numpy(),
    )
    found = [group for group in groups if group in kept]
    return rankings.grouped(
        {group: pd.Index(kept.labels(group))[kept.codes(group)] for group in found}
    )


def _pairs(kept: Kept, apart: Sequence[str]) -> Pairs:
    n = len(kept[FIRST])
    counts = kept[COUNTS].to_numpy().astype(np.int64)
    grades = bad = None
    if GRADE not in kept and counts.shape[1] == 4:
        counts, bad = counts[:, :3].copy(), counts[:, 3]
        counts[:, 2] += bad
    if GRADE in kept:
        grades, of_grades = pd.Index(kept.constant[kept[COUNTS].dims[1]].to_numpy()), counts
        counts = who_won(of_grades)
    elif counts.shape[1] == 2:  # a model without ties
        counts = np.column_stack([counts, np.zeros(n, dtype=np.int64)])
    judged = JUDGE in kept
    groups = {
        name: Group(pd.Index(kept.labels(name)), kept.codes(name).astype(np.int32))
        for name in apart
        if name in kept
    }
    features = names = None
    if "feature_unit" in kept.constant:  # features are the last terms
        names = pd.Index(kept.constant["feature"].to_numpy())
        features = kept[EFFECT_SIZE].to_numpy()[:, -len(names) :]
    return Pairs(
        items=cast(pd.Index, kept.items),
        judges=pd.Index(kept.labels(JUDGE) if judged else ["all"]),
        first=kept[FIRST].to_numpy().astype(np.int32),
        second=kept[SECOND].to_numpy().astype(np.int32),
        counts=counts,
        weight=kept[WEIGHT].to_numpy() if WEIGHT in kept else np.ones(n),
        judge_idx=kept.codes(JUDGE).astype(np.int32) if judged else np.zeros(n, dtype=np.int32),
        groups=groups,
        collapsed=True,
        features=features,
        feature_names=names,
        grades=grades,
        grade_counts=None if grades is None else of_grades,
        both_bad=bad,
        edges=kept[EDGE].to_numpy()[-2::-1] if EDGE in kept else None,
        votes=kept[VOTES].to_numpy().astype(np.int64) if VOTES in kept else None,
    )
