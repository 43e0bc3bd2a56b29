"""Read the saved posterior of a run, so that its report can be written again.

The file may be damaged or come from a stranger. Settings must have known names, types and ranges,
and every other problem becomes an error message.
"""

import json
import shlex
import shutil
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import click
import numpy as np
import pandas as pd
import xarray as xr

from bayesrank.cli.options import FORGOTTEN, Fit, Output, parameters
from bayesrank.cli.places import FILES, POSTERIOR, UNFINISHED
from bayesrank.cli.rank import COMPONENTS
from bayesrank.data import Pairs, Rankings
from bayesrank.data.read import Group
from bayesrank.results import plain
from bayesrank.schema import (
    COUNTS,
    EFFECT_SIZE,
    FIRST,
    ITEM,
    JUDGE,
    RANKER,
    RANKS,
    SECOND,
    WEIGHT,
    Kept,
)

HUGE = 1e100  # larger draws are damaged, and their squares overflow
INFINITE = (float("inf"), float("-inf"))

# Tells whether a run saves such a value
Rule = Callable[[Any], bool]


def _valid(param_type: click.ParamType[Any]) -> Rule:
    """Accept values that an option would read unchanged."""

    def accepts(value: Any) -> bool:
        try:
            read = param_type(value)  # None stays None
        except (ArithmeticError, TypeError, ValueError, click.ClickException):
            return False
        # This refuses True for 1, NaN (which differs from itself) and infinity.
        same = type(read) is type(value) and read == value
        return same and value is not None and value not in INFINITE

    return accepts


def _or_none(rule: Rule) -> Rule:
    return lambda value: value is None or rule(value)


def _list_of(rule: Rule) -> Rule:
    return lambda value: isinstance(value, list) and all(map(rule, value))


def _options(*settings: type) -> dict[str, Rule]:
    """Accept values that options read, and None for options without a default."""
    found = {option.name: option for option in parameters(*settings)}
    rules = {str(name): _valid(option.type) for name, option in found.items()}
    return {
        name: _or_none(rule) if found[name].default is None else rule
        for name, rule in rules.items()
        if name not in FORGOTTEN
    }


TEXT, YES_OR_NO = _valid(click.STRING), _valid(click.BOOL)
RUN: dict[str, Rule] = {
    "command": _valid(click.Choice(["rank", "matches"])),
    "title": TEXT,
    "notes": _list_of(TEXT),
    "fit": lambda value: isinstance(value, dict),
}
FIT: dict[str, Rule] = _options(Output, Fit) | {
    "seed": _valid(click.IntRange(min=0)),
    "tune": _valid(click.IntRange(min=0)),
    "made": TEXT,
    "version": TEXT,
    "command": lambda value: isinstance(value, str) and _is_command(value),
}
MATCHES: dict[str, Rule] = {
    "order": YES_OR_NO,
    "judged": YES_OR_NO,
    "groups": _list_of(TEXT),
    "opinions": YES_OR_NO,
    "ties_by": _list_of(_valid(click.Choice(["item", "strength"]))),
}
MIXTURE: dict[str, Rule] = {"components": _valid(COMPONENTS.type)}
DATED: dict[str, Rule] = {"dated": lambda value: value is True}


@dataclass(frozen=True)
class Saved:
    """A saved posterior with the settings and data of its run."""

    posterior: xr.DataTree
    command: str
    title: str
    notes: list[str]
    fit: dict[str, Any]
    data: Any  # Rankings or Pairs
    settings: dict[str, Any]  # settings of the job


def saved_run(file: Path) -> Saved:
    """Read a posterior that a command has saved."""
    try:
        with xr.open_datatree(file, engine="netcdf4") as tree:
            posterior = tree.load()
    except Exception as error:  # HDF5, netCDF and xarray do not document their errors
        raise ValueError(f"{file} is not a readable netCDF file: {error}") from error
    if "bayesrank" not in posterior.attrs or "posterior" not in posterior.children:
        raise ValueError(
            f"{file} was not saved by `bayesrank rank`, `matches` or `quickstart`. For other "
            "posteriors use bayesrank.rank_summary in Python."
        )
    run = _settings(file, posterior.attrs["bayesrank"])
    if run.get("dated"):
        raise ValueError(
            f"{file} contains only the last date of a run with --date, so its report cannot be "
            f"written again. Run the command again: {run['fit']['command']}"
        )
    try:
        data = (
            _rankings(posterior) if run["command"] == "rank" else _pairs(posterior, run["groups"])
        )
    except Exception as error:  # a damaged file can raise anything
        why = f"{type(error).__name__}: {str(error).rstrip('.')}"
        raise ValueError(_damaged(file, why, run["fit"])) from error
    settings = {name: run[name] for name in (*MATCHES, *MIXTURE) if name in run}
    return Saved(posterior, run["command"], run["title"], run["notes"], run["fit"], data, settings)


def _settings(file: Path, text: Any) -> dict[str, Any]:
    """Read the settings of a run, and refuse unknown ones."""
    try:
        run = json.loads(text)
        if not isinstance(run, dict):
            raise ValueError("they are not a JSON object.")
        if "dated" in run:
            _check("run", run, RUN | DATED)
        elif run.get("command") == "matches":
            _check("run", run, RUN | MATCHES)
        else:
            _check("run", run, RUN | MIXTURE, optional=MIXTURE)
        _check("fit", run["fit"], FIT)
    except (RecursionError, TypeError, ValueError) as error:
        raise ValueError(
            f"{file} has settings that no run of this version saves: {error}"
        ) from error
    return run


def _check(
    part: str, settings: dict[str, Any], rules: dict[str, Rule], optional: Collection[str] = ()
) -> None:
    """Check the names and values of settings."""
    for name in rules:
        if name not in settings and name not in optional:
            raise ValueError(f"{name!r} of the {part} is missing.")
    for name, value in settings.items():
        if name not in rules:
            raise ValueError(f"{plain(name)!r:.80} of the {part} is unknown.")
        if not rules[name](value):
            raise ValueError(f"{name!r} of the {part} cannot be {plain(repr(value)):.80}.")


def _is_command(text: str) -> bool:
    """Whether a shell reads a text as a single call of bayesrank."""
    try:
        words = shlex.split(text)
    except ValueError:
        return False
    return words[:1] == ["bayesrank"] and shlex.join(words) == text


def check_saved(file: Path, model: Any, saved: Saved) -> None:
    """Refuse a posterior that does not match the model of the data in the same file."""
    from bayesrank.inference import data_groups

    def refuse(name: str, why: str) -> NoReturn:
        raise ValueError(_damaged(file, f"{name} {why}", saved.fit))

    draws = _group(saved.posterior, "posterior")
    for variable in (*model.free_RVs, *model.deterministics):
        name, dims = variable.name, tuple(model.named_vars_to_dims.get(variable.name, ()))
        if name not in draws or draws[name].dims != ("chain", "draw", *dims):
            refuse(name, f"has no draws with dims {', '.join(('chain', 'draw', *dims))}")
        values = draws[name].to_numpy()
        if values.dtype.kind != "f" or values.size == 0 or not (np.abs(values) < HUGE).all():
            refuse(name, "has invalid draws")
        for dim in dims:
            if not _same(draws[dim].to_numpy(), np.asarray(model.coords[dim])):
                refuse(dim, "has other labels in the posterior than in the data")
    for group, expected in data_groups(model).items():
        found = _group(saved.posterior, group)
        for name, values in expected.variables.items():
            if (
                name not in found.variables
                or found[name].dims != values.dims
                or not _same(found[name].to_numpy(), values.to_numpy())
            ):
                refuse(str(name), "does not agree with the other data")


def _damaged(file: Path, why: str, fit: dict[str, Any]) -> str:
    return f"{file} is damaged: {why}. Run the command again: {fit['command']}"


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
        items=posterior["posterior"]["item"].to_numpy(),
        rankers=constant["ranker"].to_numpy(),
        ranker_idx=kept[RANKER].to_numpy(),
        weight=kept[WEIGHT].to_numpy(),
        labels=constant["ranking"].to_numpy(),
    )
    if "category" not in kept:
        return rankings
    labels = pd.Index(kept.labels("category"))
    return rankings.grouped({"category": labels[kept.codes("category")]})


def _pairs(posterior: xr.DataTree, apart: Sequence[str]) -> Pairs:
    kept = Kept(posterior, "y")
    n = len(kept[FIRST])
    counts = kept[COUNTS].to_numpy().astype(np.int64)
    if counts.shape[1] == 2:  # a model without ties
        counts = np.column_stack([counts, np.zeros(n, dtype=np.int64)])
    judged = JUDGE in kept
    groups = {
        name: Group(pd.Index(kept.labels(name)), kept.codes(name).astype(np.int32))
        for name in ("category", "neutral", *apart)
        if name in kept
    }
    features = names = None
    if "feature_unit" in kept.constant:  # features are the last terms
        names = pd.Index(kept.constant["feature"].to_numpy())
        features = kept[EFFECT_SIZE].to_numpy()[:, -len(names) :]
    return Pairs(
        items=pd.Index(posterior["posterior"]["item"].to_numpy()),
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
