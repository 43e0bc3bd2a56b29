"""A run again: from the posterior that it saved, to what was to be said of it."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayesrank.cli.places import FILES, POSTERIOR, UNFINISHED
from bayesrank.cli.run import Fit
from bayesrank.data import Pairs, Rankings
from bayesrank.data.read import Group
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


@dataclass(frozen=True)
class Saved:
    """What a posterior remembers of its run."""

    posterior: xr.DataTree
    command: str
    title: str
    notes: list[str]
    fit: dict[str, Any]
    data: Any  # Rankings or Pairs
    settings: dict[str, Any]  # of the job


def saved_run(file: Path) -> Saved:
    """Read a posterior that a command has saved."""
    try:
        with xr.open_datatree(file, engine="netcdf4") as tree:
            posterior = tree.load()
    except (OSError, RuntimeError, ValueError) as error:
        raise ValueError(f"{file} is not a readable netCDF file: {error}") from error
    if "bayesrank" not in posterior.attrs or "posterior" not in posterior.children:
        raise ValueError(
            f"{file} was not saved by `bayesrank rank`, `matches` or `quickstart`. Of other "
            "posteriors bayesrank.rank_summary makes a table, in Python."
        )
    told = json.loads(posterior.attrs["bayesrank"])
    if told.get("dated"):
        raise ValueError(
            f"{file} is of strengths that change (--date), of which it has the last date alone. "
            f"Run the command again: {told['fit']['command']}"
        )
    fit = {name: value for name, value in told["fit"].items()
           if name in Fit.__dataclass_fields__}  # fmt: skip
    settings = {
        name: told[name]
        for name in ("kinds", "order", "judged", "groups", "opinions", "ties_by")
        if name in told
    }
    return Saved(
        posterior,
        told["command"],
        told["title"],
        told["notes"],
        fit,
        _rankings(posterior)
        if told["command"] == "rank"
        else _pairs(posterior, settings.get("groups", ())),
        settings,
    )


def folder_of(file: Path) -> Path:
    """Return the folder that a report of this posterior belongs to."""
    folder = file.absolute().parent
    if file.name == POSTERIOR:
        if folder.name.startswith(UNFINISHED):
            return folder.parent
        if all(path.name in FILES or path.name.startswith(UNFINISHED) for path in folder.iterdir()):
            return folder
    return Path(f"{file.stem}-ranks")


def tidy(file: Path) -> None:
    """Remove the hidden folder of a run that was cut short, of which all is in its place now."""
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
    if "feature_unit" in kept.constant:  # the last terms of leads
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
