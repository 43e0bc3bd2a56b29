"""Where a run writes: its files are made in a folder beside, and take their place together."""

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from bayesrank.cli.talk import stopping

# All that a run may write. What else is in the folder is not touched.
FILES = (
    "adherence.png", "audit.csv", "best.png", "categories.csv", "changes.csv", "checks.csv",
    "checks.png", "counts.csv", "features.csv", "features_by_judge.csv", "forecasts.csv",
    "groups.csv", "history.csv", "history.png", "judges.csv", "kind_checks.csv", "kinds.csv",
    "leader.csv", "memberships.csv", "memberships.png", "next.csv",
    "pairs.csv", "places.png", "posterior.nc", "predictions.csv", "ranks.csv", "ranks.png",
    "ranks_as_they_are.csv", "report.html", "ties.csv", "wins.png",
)  # fmt: skip
POSTERIOR = "posterior.nc"


def default_folder(file: Path) -> Path:
    """Name the folder of the results after the input, beside which it does not lie."""
    stem = file.name.split(".")[0] or "table"
    return Path(f"{stem}-ranks")


def check_places(folder: Path, save: Path | None, *, force: bool) -> None:
    """Fail before sampling, not after, where nothing can be written."""
    if save is not None and not save.parent.is_dir():
        raise ValueError(
            f"The folder {_name(save.parent)} does not exist; make it, or choose another."
        )
    files = [folder / name for name in FILES]
    for path in (*files, *([save] if save else [])):
        if path.is_dir():
            raise ValueError(f"{_name(path)} is a folder; a file is to be written there.")
    if folder.is_dir() and not force:
        others = sorted(path.name for path in folder.iterdir() if path.name not in FILES)
        if others:
            raise ValueError(
                f"{_name(folder)} holds what is not of a report ({_name(Path(others[0]))}"
                + (f" and {len(others) - 1} more" if len(others) > 1 else "")
                + "): choose another --output-dir, or write beside it with --force."
            )
    for path in (folder, *([save] if save else [])):
        # The folder of the outputs may not exist yet: then the one it will be made in counts.
        inside = path if path == folder else path.parent
        there = next(p for p in (inside.absolute(), *inside.absolute().parents) if p.exists())
        if not there.is_dir():
            raise ValueError(f"{_name(there)} is a file, so nothing can be written below it.")
        try:
            tempfile.TemporaryFile(dir=there).close()
        except OSError as error:
            raise ValueError(
                f"Nothing can be written to {_name(there)}: {error.strerror}."
            ) from error


def new_folder(folder: Path) -> Path:
    """Make an empty folder beside the one that the files are to be in."""
    folder = folder.absolute()
    folder.parent.mkdir(parents=True, exist_ok=True)
    # not named after a file whose name is no text: netCDF writes to names that are text
    name = folder.name if folder.name.isprintable() else "bayesrank"
    made = Path(tempfile.mkdtemp(prefix=f"{name}.unfinished-", dir=folder.parent))
    made.chmod(0o777 & ~_umask())
    return made


def put_in_place(made: Path, folder: Path) -> None:
    """Have a folder take the place of another, of whose files those of other origin stay.

    Files are seen together, or not at all; where a folder cannot be moved, as that in which the
    command runs, one after another.
    """
    folder = folder.absolute()
    with _signals_later():
        if folder.exists() and Path.cwd().is_relative_to(folder.resolve()):
            _move_files(made, folder)
            return
        folder = folder.resolve()  # a link stays a link
        aside = None
        if folder.exists():
            aside = made.with_name(f"{made.name}.before")
            folder.rename(aside)
        try:
            made.rename(folder)
        except OSError:
            if aside is not None:
                aside.rename(folder)
            raise
        if aside is not None:
            for path in aside.iterdir():
                if path.name not in FILES:
                    path.rename(folder / path.name)
            shutil.rmtree(aside)


def _move_files(made: Path, folder: Path) -> None:
    for name in FILES:
        if (made / name).exists():
            (made / name).replace(folder / name)
        else:
            (folder / name).unlink(missing_ok=True)
    made.rmdir()


@contextmanager
def _signals_later() -> Iterator[None]:
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


def _umask() -> int:
    umask = os.umask(0)
    os.umask(umask)
    return umask


def _name(path: Path) -> str:
    return str(click.format_filename(path))
