"""Where a run writes: into a hidden folder inside the folder of the results, then moved up.

All is written before anything is moved, and nothing is moved out of the folder of the results. It
may be the only place that can be written to, a mount point, or a link to another file system.
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
from bayesrank.cli.texts import sentence

# All that a run may write. What else is in the folder is not touched.
FILES = (
    "adherence.png", "audit.csv", "best.png", "categories.csv", "changes.csv", "checks.csv",
    "checks.png", "counts.csv", "features.csv", "features_by_judge.csv", "forecasts.csv",
    "groups.csv", "history.csv", "history.png", "judges.csv", "component_checks.csv",
    "components.csv",
    "leader.csv", "component_probabilities.csv", "component_probabilities.png", "next.csv",
    "pairs.csv", "places.png", "posterior.nc", "predictions.csv", "ranks.csv", "ranks.png",
    "ranks_as_they_are.csv", "report.html", "ties.csv", "wins.png",
)  # fmt: skip
POSTERIOR = "posterior.nc"
UNFINISHED = ".unfinished-"  # how the names of hidden folders begin
OLD = 3600  # seconds after its last change, from which no run still writes a posterior


def check_places(folder: Path, save: Path | None, *, force: bool) -> None:
    """Fail before sampling, not after, where nothing can be written."""
    if save is not None and not save.parent.is_dir():
        raise ValueError(
            f"The folder {name_of(save.parent)} does not exist; make it, or choose another."
        )
    files = [folder / name for name in FILES]
    for path in (*files, *([save] if save else [])):
        if path.is_dir():
            raise ValueError(f"{name_of(path)} is a folder; a file is to be written there.")
    if folder.is_dir() and not force:
        hidden = _unfinished(folder)
        others = sorted(
            path.name for path in folder.iterdir() if path.name not in FILES and path not in hidden
        )
        if others:
            words = {"first": name_of(Path(others[0])), "more": len(others) - 1}
            raise ValueError(sentence("other_files", folder=name_of(folder), **words))
    for path in (folder, *([save] if save else [])):
        # The folder of the outputs may not exist yet: then the one it will be made in counts.
        inside = _real(path) if path == folder else path.parent.absolute()
        there = next(p for p in (inside, *inside.parents) if p.exists())
        if not there.is_dir():
            raise ValueError(f"{name_of(there)} is a file, so nothing can be written below it.")
        try:
            with tempfile.TemporaryDirectory(prefix=UNFINISHED, dir=there) as made:
                Path(made, POSTERIOR).touch()
        except OSError as error:
            raise ValueError(
                f"Nothing can be written to {name_of(there)}: {error.strerror}."
            ) from error


def new_folder(folder: Path) -> Path:
    """Make a hidden folder inside the one that the files are to be in."""
    folder = _real(folder)
    folder.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=folder))


def put_in_place(made: Path) -> None:
    """Move the files of a hidden folder up, the posterior first, and remove those of older runs."""
    folder, names = made.parent, {path.name for path in made.iterdir()}
    for name in sorted(names, key=lambda name: (name != POSTERIOR, name)):
        try:
            (made / name).replace(folder / name)
        except OSError as error:
            words = {"file": name_of(folder / name), "made": name_of(made)}
            raise OSError(sentence("not_replaced", why=error.strerror, **words)) from error
    made.rmdir()
    for name in FILES:
        if name not in names:
            (folder / name).unlink(missing_ok=True)


def left_by_others(folder: Path) -> list[str]:
    """Say what killed runs have left in a folder; remove it if it has no posterior and is old."""
    said = []
    for hidden in _unfinished(folder):
        try:
            changes = [path.stat().st_mtime for path in (hidden, *hidden.iterdir())]
        except FileNotFoundError:  # its run has just ended
            continue
        if (hidden / POSTERIOR).exists():
            words = {"folder": name_of(hidden), "posterior": name_of(hidden / POSTERIOR)}
            said.append(sentence("unfinished", **words))
        elif time.time() - max(changes) > OLD:
            shutil.rmtree(hidden, ignore_errors=True)
            said.append(f"Removed {name_of(hidden)}, which a killed run left without a posterior.")
    return said


def _unfinished(folder: Path) -> list[Path]:
    """List the hidden folders of runs that did not end, or have not yet."""
    return sorted(path for path in folder.glob(f"{UNFINISHED}*") if path.is_dir())


def _real(folder: Path) -> Path:
    """Follow links, so that a link to a folder that does not exist yet stays a link."""
    return Path(os.path.realpath(folder))


@contextmanager
def signals_later() -> Iterator[None]:
    """Let signals wait until the files are in their place."""
    came: list[int] = []
    before = {n: signal.signal(n, lambda number, _: came.append(number)) for n in stopping()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if came:
        os.kill(os.getpid(), came[0])


def name_of(path: Path) -> str:
    """Name a file in a sentence."""
    return str(click.format_filename(path))
