"""Read the saved posterior of a run, so that its report can be written again.

The file may be damaged or come from a stranger. Settings must have known names and types. The
options in its command are read as if they were typed. Every other problem becomes an error message.
"""

import json
import shlex
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, cast

import numpy as np
import pandas as pd
import xarray as xr

from bayesrank.cli.job import Job
from bayesrank.cli.options import MatchColumns, RankColumns
from bayesrank.cli.places import FILES, POSTERIOR, UNFINISHED
from bayesrank.data import Pairs, Rankings
from bayesrank.data.read import Group
from bayesrank.results import plain
from bayesrank.schema import (
    COUNT,
    COUNTS,
    EFFECT_SIZE,
    FIRST,
    ITEM,
    JUDGE,
    RANKER,
    RANKS,
    SECOND,
    TURN,
    WEIGHT,
    Kept,
    name_of,
)

HUGE = 1e100  # larger draws are damaged, and their squares overflow


@dataclass(frozen=True)
class Saved:
    """A saved posterior with the command and the settings of its run."""

    posterior: xr.DataTree
    command: str
    notes: list[str]
    settings: dict[str, Any]  # fields of `Fit`


def saved_run(file: Path) -> Saved:
    """Read a posterior that a command has saved."""
    try:
        with xr.open_datatree(file, engine="netcdf4") as tree:
            posterior = tree.load()
    except Exception as error:  # HDF5, netCDF and xarray do not document their errors
        raise ValueError(f"{file} is not a readable netCDF file: {error}") from error
    if "bayesrank" not in posterior.attrs or "posterior" not in posterior.children:
        raise ValueError(
            f"{file} was not saved by `bayesrank rank`, `matches`, `choices` or `quickstart`. For "
            "other posteriors use bayesrank.rank_summary in Python."
        )
    try:
        settings = json.loads(posterior.attrs["bayesrank"])
        _check(settings)
    except (RecursionError, TypeError, ValueError) as error:
        raise ValueError(
            f"{file} has settings that no run of this version saves: {error}"
        ) from error
    return Saved(posterior, settings["command"], settings.pop("notes"), settings)


def _check(settings: Any) -> None:
    """Check the names and values of settings."""
    if not isinstance(settings, dict):
        raise ValueError("they are not a JSON object.")
    if missing := VALID.keys() - settings.keys():
        raise ValueError(f"{min(missing)!r} is missing.")
    for name, value in settings.items():
        if name not in VALID:
            raise ValueError(f"{plain(name)!r:.80} is unknown.")
        if not VALID[name](value):
            raise ValueError(f"{name!r} cannot be {plain(repr(value)):.80}.")


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_command(text: Any) -> bool:
    """Whether a shell reads a text as a single call of bayesrank."""
    try:
        words = shlex.split(text)
    except (AttributeError, TypeError, ValueError):
        return False
    return words[:1] == ["bayesrank"] and shlex.join(words) == text


VALID: dict[str, Callable[[Any], bool]] = {
    "command": _is_command,
    "notes": lambda value: isinstance(value, list) and all(map(_is_text, value)),
    "seed": _is_count,
    "draws": _is_count,
    "tune": _is_count,
    "quick": lambda value: isinstance(value, bool),
    "made": _is_text,
    "version": _is_text,
}


def saved_data(file: Path, saved: Saved, columns: RankColumns | MatchColumns) -> Any:
    """Read the rankings or matches that a posterior was made from."""
    try:
        if isinstance(columns, MatchColumns):
            return _pairs(saved.posterior, columns.groups)
        return _rankings(saved.posterior)
    except Exception as error:  # a damaged file can raise anything
        why = f"{type(error).__name__}: {str(error).rstrip('.')}"
        raise ValueError(_damaged(file, why, saved)) from error


def check_saved(file: Path, job: Job, saved: Saved) -> None:
    """Refuse a posterior that does not match the model of the data in the same file."""
    from bayesrank.inference import data_groups

    if job.drawn:
        try:
            job.resume(saved.posterior)
        except Exception as error:  # a damaged file can raise anything
            raise ValueError(_damaged(file, str(error).rstrip("."), saved)) from error
        return
    model = job.pymc_model

    def refuse(name: str, why: str) -> NoReturn:
        raise ValueError(_damaged(file, f"{name} {why}", saved))

    draws = _group(saved.posterior, "posterior")
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
    pairs = {
        group: (_group(saved.posterior, group), expected) for group, expected in groups.items()
    }
    pairs["constant_data"] = Kept(saved.posterior, "y").constant, expected_data
    for found, expected in pairs.values():
        for name, values in expected.variables.items():
            if name == name_of("y", TURN):  # earlier versions did not save it
                continue
            if (
                name not in found.variables
                or found[name].dims != values.dims
                or not _same(found[name].to_numpy(), values.to_numpy())
            ):
                refuse(str(name), "does not agree with the other data")


def are_draws(values: Any) -> bool:
    """Whether an array contains draws that are finite and not huge."""
    return values.dtype.kind == "f" and values.size > 0 and bool((np.abs(values) < HUGE).all())


def _damaged(file: Path, why: str, saved: Saved) -> str:
    return f"{file} is damaged: {why}. Run the command again: {saved.command}"


def _group(posterior: xr.DataTree, name: str) -> xr.Dataset:
    return posterior[name].to_dataset() if name in posterior.children else xr.Dataset()


def _same(found: Any, expected: Any) -> bool:
    """Whether two arrays have the same type and, up to rounding, the same values."""
    if found.shape != expected.shape:
        return False
    if expected.dtype.kind in "biuf":
        return found.dtype.kind in "biuf" and np.allclose(found, expected, 1e-6, equal_nan=True)
    return bool((found.astype(str) == expected.astype(str)).all())


def folder_of(file: Path) -> Path:
    """Return the folder for the report of a posterior."""
    folder = file.absolute().parent
    if file.name == POSTERIOR:
        if folder.name.startswith(UNFINISHED):
            return folder.parent
        if all(path.name in FILES or path.name.startswith(UNFINISHED) for path in folder.iterdir()):
            return folder
    return Path(f"{file.stem}-ranks")


def tidy(file: Path) -> None:
    """Remove the hidden folder of an interrupted run after its files were moved."""
    folder = file.absolute().parent
    if folder.name.startswith(UNFINISHED) and all(path.name in FILES for path in folder.iterdir()):
        shutil.rmtree(folder)


def _rankings(posterior: xr.DataTree) -> Rankings:
    kept = Kept(posterior, "y")
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
    found = [group for group in ("category", "cluster", "date") if group in kept]
    return rankings.grouped(
        {group: pd.Index(kept.labels(group))[kept.codes(group)] for group in found}
    )


def _pairs(posterior: xr.DataTree, apart: Sequence[str]) -> Pairs:
    kept = Kept(posterior, "y")
    n = len(kept[FIRST])
    counts = kept[COUNTS].to_numpy().astype(np.int64)
    if counts.shape[1] == 2:  # a model without ties
        counts = np.column_stack([counts, np.zeros(n, dtype=np.int64)])
    judged = JUDGE in kept
    groups = {
        name: Group(pd.Index(kept.labels(name)), kept.codes(name).astype(np.int32))
        for name in ("category", "neutral", "date", *apart)
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
    )
