"""Read the saved posterior of a run, so that its report can be written again.

The file may be damaged or come from a stranger, so that every problem becomes an error message.
"""

import shutil
from pathlib import Path

import xarray as xr

from bayesrank.analysis.analysis import Analysis
from bayesrank.analysis.saved import FitRecord, check_draws, read_record, restore
from bayesrank.cli.places import FILES, POSTERIOR, UNFINISHED, show_path
from bayesrank.reporting.options import LAYOUT
from bayesrank.texts import sentence


def open_run(file: Path) -> tuple[xr.DataTree, FitRecord]:
    """Read a posterior that a command or `bayesrank.fit` has made, and its record."""
    try:
        with xr.open_datatree(file, engine="netcdf4") as tree:
            posterior = tree.load()
    except Exception as error:  # HDF5, netCDF and xarray do not document their errors
        raise ValueError(f"{file} is not a readable netCDF file: {error}") from error
    try:
        return posterior, read_record(posterior, LAYOUT)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from error


def restore_run(file: Path, posterior: xr.DataTree, record: FitRecord) -> Analysis:
    """Make the analysis of a run, and check that the draws belong to it."""
    try:
        analysis = restore(posterior, record)
        check_draws(posterior, analysis)
    except ValueError as error:
        again = record.more.get("command")
        way_out = f" Run the command again: {again}" if again else ""
        raise ValueError(f"{file} is damaged: {str(error).rstrip('.')}.{way_out}") from error
    return analysis


def folder_of(file: Path) -> Path:
    """Return the folder for the report of a posterior."""
    folder = file.absolute().parent
    if file.name == POSTERIOR:
        if folder.name.startswith(UNFINISHED):
            return folder.parent
        if all(path.name in FILES or path.name.startswith(UNFINISHED) for path in folder.iterdir()):
            return folder
    return Path(f"{file.stem}-ranks")


def posterior_in(path: Path) -> Path:
    """Return the posterior in the folder of a result; a path of a file stays."""
    if not path.is_dir():
        return path
    if not (file := path / POSTERIOR).exists():
        left = sorted(path.glob(f"{UNFINISHED}*/{POSTERIOR}"))
        raise ValueError(
            sentence(
                "no_posterior",
                folder=show_path(path),
                name=POSTERIOR,
                unfinished=show_path(left[-1]) if left else "",
            )
        )
    return file


def tidy(file: Path) -> None:
    """Remove the hidden folder of an interrupted run after its files were moved."""
    folder = file.absolute().parent
    if folder.name.startswith(UNFINISHED) and all(path.name in FILES for path in folder.iterdir()):
        shutil.rmtree(folder)
