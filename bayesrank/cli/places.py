"""Output folders: a run writes into a hidden folder inside the output folder, then moves files up.

All files are written before any is moved. They never leave the output folder, because it may be
the only writable place, a mount point, or a link to another file system.
"""

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from bayesrank.cli.console import stopping
from bayesrank.texts import sentence

# All files that a run may write. Other files in the folder are not touched.
FILES: tuple[str, ...] = (
    "adherence.svg", "audit.csv", "best.svg", "categories.csv", "changes.csv", "checks.csv",
    "checks.svg", "counts.csv", "features.csv", "features_by_judge.csv", "forecasts.csv",
    "groups.csv", "history.csv", "history.svg", "judges.csv", "component_checks.csv",
    "components.csv", "component_probabilities.csv", "component_probabilities.svg", "columns.csv",
    "design.csv", "differences.csv",
    "leader.csv", "next.csv", "opinions.csv", "pairs.csv", "places.svg", "posterior.nc",
    "predictions.csv", "ranks.csv", "ranks.svg",
    "ranks_as_they_are.csv", "report.html", "shares.csv", "threshold.csv",
    "ties.csv", "wins.svg",
)  # fmt: skip
FILES = (
    *FILES,
    *(f"{name.removesuffix('.csv')}.{form}" for name in FILES if name.endswith(".csv")
      for form in ("md", "xlsx")),
)  # fmt: skip
POSTERIOR = "posterior.nc"
UNFINISHED = ".unfinished-"  # prefix of hidden folders
OLD = 3600  # seconds since the last change after which no run is still writing


def check_places(
    folder: Path, save: Path | None, *, force: bool, source: Path | None = None
) -> None:
    """Check before sampling that all files can be written, and that no result is overwritten.

    `source` is the saved posterior, if its report is written again. That report may replace files
    in the folder of the posterior.
    """
    if save is not None and not save.parent.is_dir():
        raise ValueError(
            f"The folder {show_path(save.parent)} does not exist. Make it, or choose another one."
        )
    files = [folder / name for name in FILES]
    for path in (*files, *([save] if save else [])):
        if path.is_dir():
            raise ValueError(
                f"{show_path(path)} is a folder, but a file with this name must be written."
            )
    if folder.is_dir() and not force:
        earlier = sorted(path.name for path in files if path.exists())
        if earlier and not (source is not None and _holds(folder, source)):
            words = {"first": earlier[0], "more": len(earlier) - 1}
            raise ValueError(sentence("earlier_result", folder=show_path(folder), **words))
        hidden = _unfinished(folder)
        others = sorted(
            path.name for path in folder.iterdir() if path.name not in FILES and path not in hidden
        )
        if others:
            words = {"first": show_path(Path(others[0])), "more": len(others) - 1}
            raise ValueError(sentence("other_files", folder=show_path(folder), **words))
    if save is not None and save.exists() and not force:
        raise ValueError(sentence("earlier_posterior", file=show_path(save)))
    for path in (folder, *([save] if save else [])):
        # If the output folder does not exist yet, its first existing parent must be writable.
        inside = _real(path) if path == folder else path.parent.absolute()
        parent = next(p for p in (inside, *inside.parents) if p.exists())
        if not parent.is_dir():
            raise ValueError(f"{show_path(parent)} is a file, so nothing can be written below it.")
        try:
            with tempfile.TemporaryDirectory(prefix=UNFINISHED, dir=parent) as made:
                Path(made, POSTERIOR).touch()
        except OSError as error:
            raise ValueError(
                f"Nothing can be written to {show_path(parent)}: {error.strerror}."
            ) from error


def _holds(folder: Path, posterior: Path) -> bool:
    """Whether a posterior is in the folder, or in the hidden folder of a run that did not end."""
    home = _real(posterior).parent
    return _real(folder) in (home, *([home.parent] if home.name.startswith(UNFINISHED) else []))


def new_folder(folder: Path) -> Path:
    """Make a hidden folder inside the output folder."""
    folder = _real(folder)
    folder.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=folder))


def put_in_place(made: Path) -> None:
    """Move the files of a hidden folder up, the posterior first, and remove files of older runs."""
    folder, names = made.parent, {path.name for path in made.iterdir()}
    for name in sorted(names, key=lambda name: (name != POSTERIOR, name)):
        try:
            (made / name).replace(folder / name)
        except OSError as error:
            if not made.is_dir():
                raise
            words = {"file": show_path(folder / name), "made": show_path(made)}
            raise OSError(sentence("not_replaced", why=error.strerror, **words)) from error
    for name in FILES:
        if name not in names:
            (folder / name).unlink(missing_ok=True)
    made.rmdir()


def left_by_others(folder: Path) -> list[str]:
    """Report what killed runs left in a folder; remove it if it is old and has no posterior."""
    messages = []
    for hidden in _unfinished(folder):
        try:
            changes = [path.stat().st_mtime for path in (hidden, *hidden.iterdir())]
        except FileNotFoundError:  # its run has just ended
            continue
        if (hidden / POSTERIOR).exists():
            words = {"folder": show_path(hidden), "posterior": show_path(hidden / POSTERIOR)}
            messages.append(sentence("unfinished", **words))
        elif time.time() - max(changes) > OLD:
            shutil.rmtree(hidden, ignore_errors=True)
            messages.append(
                f"Removed {show_path(hidden)}, which a killed run left without a posterior."
            )
    return messages


def _unfinished(folder: Path) -> list[Path]:
    """List the hidden folders of killed runs and of runs that are still going."""
    return sorted(path for path in folder.glob(f"{UNFINISHED}*") if path.is_dir())


def _real(folder: Path) -> Path:
    """Follow links, so that a link to a folder that does not exist yet stays a link."""
    return Path(os.path.realpath(folder))


@contextmanager
def signals_later() -> Iterator[None]:
    """Delay signals until the files are in place."""
    came: list[int] = []
    before = {n: signal.signal(n, lambda number, _: came.append(number)) for n in stopping()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if came:
        os.kill(os.getpid(), came[0])


def show_path(path: Path) -> str:
    """Name a file in a sentence."""
    return str(click.format_filename(path))
