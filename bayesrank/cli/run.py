"""Run a job: fit, save, print and write."""

import json
import shutil
import tempfile
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from bayesrank.cli.caches import find_cache
from bayesrank.cli.console import Talk
from bayesrank.cli.fitting import fitted
from bayesrank.cli.job import Job
from bayesrank.cli.options import Fit
from bayesrank.cli.places import (
    POSTERIOR,
    UNFINISHED,
    check_places,
    left_by_others,
    name_of,
    new_folder,
    put_in_place,
    signals_later,
)

# PyMC takes seconds to import. Functions import what they need, so that --help is instant.

# What `bayesrank report` needs in addition to the options of the command
REMEMBERED = ("command", "seed", "draws", "tune", "quick", "made", "version")


def run(job: Job, talk: Talk, posterior: Any = None) -> None:
    """Fit unless a posterior is given, save it, and print and write the report."""
    fit = job.fit
    if fit.tables == "xlsx" and find_spec("openpyxl") is None:
        raise ValueError(
            "Excel files need the package openpyxl. Install it with pip install "
            "'bayesrank[excel]', or use --tables csv or md."
        )
    check_places(fit.folder, fit.save, force=fit.force)
    if posterior is None:
        for left in left_by_others(fit.folder):
            talk.stage(left)
    if sentence := find_cache():
        talk.stage(sentence)
    talk.result(job.data_text)
    if fit.anchor is not None and fit.anchor not in job.data.coords["item"]:
        raise ValueError(f"--anchor must be an item, but there is no {fit.anchor!r}.")
    for sentence in job.cautions():
        talk.note(sentence)
    if posterior is None:
        posterior = fitted(job, talk)
        fit = _remember(posterior, job, talk)
        if job.has_categories:
            from bayesrank.cli.column_sections import keep_columns, tested_columns

            keep_columns(posterior, tested_columns(job.data, fit.seed))
    document, names = _save_and_report(job, fit, talk, posterior)
    if talk.data:
        talk.document(json.dumps(document | {"files": names}, indent=1))
    talk.result("\n".join(["\nWritten:", *(f"  {name}" for name in names)]))
    talk.stage("Done.")
    if fit.open:
        click.launch(str((fit.folder / "report.html").absolute()))


def _remember(posterior: Any, job: Job, talk: Talk) -> Fit:
    """Store in a posterior what `bayesrank report` needs, and return the actual settings."""
    drawn = posterior["posterior"]
    fit = replace(
        job.fit,
        draws=drawn.sizes["draw"],
        tune=drawn.attrs.get("tuning_steps", job.fit.tune),
        quick="approximation" in drawn.attrs,
    )
    remembered = {name: getattr(fit, name) for name in REMEMBERED} | {"notes": talk.notes}
    posterior.attrs["bayesrank"] = json.dumps(remembered)
    return fit


def _save_and_report(
    job: Job, fit: Fit, talk: Talk, posterior: Any
) -> tuple[dict[str, Any], list[str]]:
    """Save the posterior, write the report, and put both in place; return the file names."""
    from bayesrank.cli.report import Report

    made = new_folder(fit.folder)
    try:
        saved = _save(posterior, made / POSTERIOR, talk)
        talk.heed()  # interrupted sampling returns the draws so far
        report = Report(job, fit, talk, posterior)
        report.print_ranks()
        report.write(made)
        if not saved and (fit.folder / POSTERIOR).exists():
            raise OSError(f"The earlier results in {name_of(fit.folder)} are unchanged.")
    except BaseException:
        if not (made / POSTERIOR).exists():
            shutil.rmtree(made, ignore_errors=True)
        raise
    files = sorted(path.name for path in made.iterdir())
    with signals_later():
        kept, talk.kept = talk.kept, None
        put_in_place(made)
        talk.kept = fit.folder / POSTERIOR if POSTERIOR in files else kept
    written = [fit.folder / name for name in files]
    if fit.save is not None:
        _write_posterior(posterior, fit.save)
        written.append(fit.save)
    return report.document(), [name_of(path) for path in written]


def _save(posterior: Any, path: Path, talk: Talk) -> bool:
    """Save the posterior before anything else, in a temporary folder if necessary."""
    try:
        _write_posterior(posterior, path)
    except (OSError, RuntimeError, ValueError) as error:
        why = (getattr(error, "strerror", None) or str(error)).rstrip(".")
    else:
        talk.kept = path
        return True
    name = path.parent.name.replace(UNFINISHED, "bayesrank-") + path.suffix
    failed = f"The posterior could not be saved to {name_of(path)}: {why}"
    try:
        elsewhere = Path(tempfile.gettempdir(), name)
        _write_posterior(posterior, elsewhere)
    except (OSError, RuntimeError, ValueError):
        talk.failed.append(f"{failed}.")
        return False
    talk.kept = elsewhere
    talk.failed.append(f"{failed}; it is in {name_of(elsewhere)}.")
    return True


def _write_posterior(posterior: Any, path: Path) -> None:
    """Write a posterior completely or not at all."""
    from bayesrank.results import whole_file

    with whole_file(path) as unfinished:
        try:
            posterior.to_netcdf(unfinished, engine="netcdf4")
        except UnicodeEncodeError:  # netCDF needs names that are valid text
            with tempfile.TemporaryDirectory() as folder:
                posterior.to_netcdf(Path(folder, POSTERIOR), engine="netcdf4")
                shutil.copyfile(Path(folder, POSTERIOR), unfinished)
