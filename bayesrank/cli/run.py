"""Run an analysis: fit, save, print and write."""

import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from bayesrank.analysis.analysis import Analysis, Settings
from bayesrank.cli.caches import find_cache
from bayesrank.cli.console import Talk
from bayesrank.cli.loading import load_pymc
from bayesrank.cli.options import Fit
from bayesrank.cli.places import (
    POSTERIOR,
    check_places,
    left_by_others,
    new_folder,
    put_in_place,
    show_path,
    signals_later,
)
from bayesrank.texts import sentence as text_of

# PyMC takes seconds to import. Functions import what they need, so that --help is instant.


def run(
    analysis: Analysis,
    fit: Fit,
    talk: Talk,
    saved: tuple[Any, Settings, Path] | None = None,
    readings: Mapping[str, Any] | None = None,
) -> None:
    """Fit unless a saved posterior is given, save it, and print and write the report.

    `saved` has a posterior, its settings and its file, if there is no fit.
    """
    if fit.tables == "xlsx" and find_spec("openpyxl") is None:
        raise ValueError(
            "Excel files need the package openpyxl. Install it with pip install "
            "'bayesrank[excel]', or use --tables csv or md."
        )
    check_places(fit.folder, fit.save, force=fit.force, source=saved[2] if saved else None)
    if saved is None:
        for left in left_by_others(fit.folder):
            talk.stage(left)
    if sentence := find_cache():
        talk.stage(sentence)
    talk.result(analysis.data_text)
    if fit.anchor is not None and fit.anchor not in analysis.data.coords["item"]:
        raise ValueError(f"--anchor must be an item, but there is no {fit.anchor!r}.")
    for sentence in analysis.cautions():
        talk.note(analysis.named(sentence))
    if saved is None:
        posterior, settings = _fit(analysis, fit, talk, readings or {})
    else:
        posterior, settings, _ = saved
    document, names = _save_and_report(analysis, fit, talk, posterior, settings)
    if talk.data:
        talk.document(json.dumps(document | {"files": names}, indent=1))
    talk.result("\n".join(["\nWritten:", *(f"  {name}" for name in names)]))
    talk.stage("Done.")
    if fit.open:
        click.launch(str((fit.folder / "report.html").absolute()))


def _fit(
    analysis: Analysis, fit: Fit, talk: Talk, readings: Mapping[str, Any]
) -> tuple[Any, Settings]:
    """Fit, and store in the posterior what `bayesrank report` needs."""
    from bayesrank.analysis.fit import record_fit
    from bayesrank.analysis.fitting import fit_analysis
    from bayesrank.analysis.readings import keep_readings

    if not analysis.accuracy:
        talk.stage("Loading PyMC ...")
        load_pymc()
    posterior = fit_analysis(analysis, fit.settings, talk)
    keep_readings(posterior, readings)
    more = fit.layout._asdict()
    return posterior, record_fit(posterior, analysis, fit.settings, talk.notes, **more)


def _save_and_report(
    analysis: Analysis,
    fit: Fit,
    talk: Talk,
    posterior: Any,
    settings: Settings,
) -> tuple[dict[str, Any], list[str]]:
    """Save the posterior, write the report, and put both in place; return the file names."""
    import matplotlib as mpl

    from bayesrank.reporting.report import Report

    mpl.use("agg")  # pictures go to files, so no display is needed
    try:
        made = new_folder(fit.folder)
    except OSError as error:
        _save_elsewhere(posterior, talk)
        raise OSError(
            f"Folder {show_path(fit.folder)} cannot be made: {error.strerror}."
        ) from error
    try:
        saved = _save(posterior, made / POSTERIOR, talk)
        talk.heed()  # interrupted sampling returns the draws so far
        report = Report(posterior, analysis, settings, fit.layout, talk)
        _print_ranks(report, talk)
        _print_sections(report, talk)
        for name, content in report.files():
            _write(made / name, content)
        if not saved and (fit.folder / POSTERIOR).exists():
            raise OSError(f"The earlier results in {show_path(fit.folder)} are unchanged.")
        files = sorted(path.name for path in made.iterdir())
    except BaseException as error:
        _rescue(posterior, made, fit, talk, error)
        if not (made / POSTERIOR).exists():
            shutil.rmtree(made, ignore_errors=True)
        raise
    with signals_later():
        try:
            put_in_place(made)
        except OSError as error:
            _rescue(posterior, made, fit, talk, error)
            raise
        finally:  # the posterior is moved first
            if talk.kept == made / POSTERIOR and not talk.kept.exists():
                talk.kept = fit.folder / POSTERIOR
    written = [fit.folder / name for name in files]
    if fit.save is not None:
        _write_posterior(posterior, fit.save)
        written.append(fit.save)
    return report.document, [show_path(path) for path in written]


def _print_ranks(report: Any, talk: Talk) -> None:
    """Print the table of ranks, the verdict, and whether the chains have converged."""
    from bayesrank.reporting.page.report import table_text

    talk.result(f"\n{table_text(report.summary, talk.width)}\n")
    talk.result(report.verdict, brief=True)
    text, doubtful = " ".join(report.convergence), report.quick or not report.converged
    talk.result(text if report.converged else f"Warning: {text}", brief=doubtful)


def _print_sections(report: Any, talk: Talk) -> None:
    """Print whether the model fits, warnings, and sections."""
    parts = report.parts
    for sentence in report.failures:
        talk.result(f"Warning: {sentence}", brief=True)
    if report.good_fit:
        talk.result(report.good_fit, brief=True)
    for sentence in report.warnings:
        talk.result(f"Warning: {sentence}", brief=True)
    for part in parts:
        if part.printed:
            talk.result(f"\n{part.text(talk.width)}")


def _write(path: Path, content: bytes) -> None:
    """Write a file; an error names it, even on a full disk."""
    try:
        path.write_bytes(content)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from error


def _rescue(posterior: Any, made: Path, fit: Fit, talk: Talk, error: BaseException) -> None:
    """Save the posterior elsewhere if the folder of the run was removed, and say so."""
    if made.is_dir():
        return
    if talk.kept is not None and not talk.kept.exists():
        _save_elsewhere(posterior, talk)
    if isinstance(error, OSError):
        raise OSError(text_of("folder_removed", folder=show_path(fit.folder))) from error


def _save(posterior: Any, path: Path, talk: Talk) -> bool:
    """Save the posterior before anything else, in a temporary folder if necessary."""
    try:
        _write_posterior(posterior, path)
    except (OSError, RuntimeError, ValueError) as error:
        why = (getattr(error, "strerror", None) or str(error)).rstrip(".")
    else:
        talk.kept = path
        return True
    failed = f"The posterior could not be saved to {show_path(path)}: {why}"
    if not _save_elsewhere(posterior, talk):
        talk.failed.append(f"{failed}.")
        return False
    assert talk.kept is not None
    talk.failed.append(f"{failed}; it is in {show_path(talk.kept)}.")
    return True


def _save_elsewhere(posterior: Any, talk: Talk) -> bool:
    """Save the posterior in the folder for temporary files, and return whether that worked."""
    talk.kept = None
    try:
        handle, name = tempfile.mkstemp(prefix="bayesrank-", suffix=Path(POSTERIOR).suffix)
        os.close(handle)
    except OSError:
        return False
    try:
        _write_posterior(posterior, Path(name))
    except (OSError, RuntimeError, ValueError):
        Path(name).unlink(missing_ok=True)
        return False
    talk.kept = Path(name)
    return True


def _write_posterior(posterior: Any, path: Path) -> None:
    """Write a posterior completely or not at all."""
    from bayesrank.reporting.page.files import whole_file

    with whole_file(path) as unfinished:
        try:
            posterior.to_netcdf(unfinished, engine="netcdf4")
        except UnicodeEncodeError:  # netCDF needs names that are valid text
            with tempfile.TemporaryDirectory() as folder:
                posterior.to_netcdf(Path(folder, POSTERIOR), engine="netcdf4")
                shutil.copyfile(Path(folder, POSTERIOR), unfinished)
