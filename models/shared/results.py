"""Write the tables of a study between markers, with the published value next to each number.

A study names its tables and gives a function that computes each of them. `run` is the command
``python -m models.PAPER.study [FOLDER]``. It writes every table into ``models/PAPER/RESULTS.md``,
and some of them into ``docs/papers.md``. It replaces only the text between the markers

    <!-- table NAME -->
    <!-- end of NAME -->

Tables that take too long for every run are computed only if you name them. A line below each table
states the seed, the files, the CPU seconds and the date. ``--table NAME`` computes only some
tables. ``--quick`` computes small forms of all, prints them, and writes nothing. ``--row NAME``
computes some rows of tables by method; they replace the old ones, and all other rows stay. Pictures
show all rows, so they do not change then. ``--keep FOLDER`` stores finished parts, so that an
interrupted run can continue. ``--published`` computes nothing. It updates the published values in
the tables and keeps our results.

"32.40 (32.49)" shows our result and the published value. "(26.52)" shows a published value where we
have no result. Published text is shown as printed.

>>> ours = pd.DataFrame({"N@1": [0.5]}, index=["Borda"])
>>> theirs = pd.DataFrame({"N@1": [0.49, 0.52]}, index=["Borda", "SVP"])
>>> print(Table(ours, published=theirs).markdown())
| method | N@1 |
|---|---:|
| Borda | 0.50 (0.49) |
| SVP | (0.52) |
"""

import argparse
import hashlib
import os
import pickle
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from bayesrank.reporting.page.files import figure_png, whole_file

__all__ = ["Run", "Table", "between", "replace_between", "run"]

ROOT = Path(__file__).parents[2]


def write_whole(path: Path, content: bytes) -> None:
    """Write the content of a file completely or not at all."""
    with whole_file(path) as temporary:
        temporary.write_bytes(content)


class Run(NamedTuple):
    """Options for computing the tables."""

    folder: Path  # of the data
    quick: bool  # in a reduced size, for tests
    seed: int
    rows: tuple[str, ...] = ()  # of tables by method: which; all without
    keep: Path | None = None  # where what is computed is kept from one run to the next

    def chosen(self, names: Iterable[str]) -> list[str]:
        """Return the requested ones of some rows."""
        return [name for name in names if not self.rows or name in self.rows]

    def once(self, name: str, compute: Callable[[], Any]) -> Any:
        """Compute a result, unless an earlier run with the same data saved it."""
        if self.keep is None:
            return compute()
        key = f"{self.folder.resolve()} {self.quick} {self.seed} {name}"
        path = self.keep / f"{hashlib.sha256(key.encode()).hexdigest()[:16]}.pickle"
        if not path.exists():
            begin = _cpu_seconds()
            value = compute()
            write_whole(path, pickle.dumps((value, _cpu_seconds() - begin)))
            print(f"{name}: kept after {_cpu_seconds() - begin:.0f} CPU s", flush=True)
            return value
        value, seconds = pickle.loads(path.read_bytes())
        _SPENT_BEFORE.append(seconds)
        return value


_SPENT_BEFORE: list[float] = []  # CPU seconds of what earlier runs kept


class Table(NamedTuple):
    """A table of a study."""

    rows: pd.DataFrame  # text stays as it is, numbers are rounded; the index names the rows
    published: pd.DataFrame | None = None  # cells of the same names; NaN where there is none
    digits: int | Mapping[str, int] = 2  # of all columns, or by column
    corner: str = "method"  # what the index names
    shown: pd.DataFrame | None = None  # rows and columns of those in docs/papers.md, if any are
    figures: Mapping[str, Figure] = {}  # names of files in docs/
    files: Sequence[Path] | None = None  # its data, if not those of the study; () if simulated

    def markdown(self, part: pd.DataFrame | None = None) -> str:
        """Return the table as Markdown, or only the rows and columns of `part`.

        Rows that only the publication has are in every part.
        """
        rows, published = self.rows, self.published
        more: list[Any] = []
        if published is not None:
            more = [*published.index.difference(rows.index, sort=False)]
            columns = [*rows, *published.columns.difference(rows.columns, sort=False)]
            rows = rows.reindex(index=[*rows.index, *more], columns=columns)
        if part is not None:
            names = [*part.index, *(name for name in more if name not in part.index)]
            rows = rows.loc[names, part.columns]
        known = published.reindex_like(rows) if published is not None else None
        cells = [
            [
                _cell(
                    rows.iloc[i, j],
                    None if known is None else known.iloc[i, j],
                    self.digits if isinstance(self.digits, int) else self.digits.get(name, 2),
                )
                for j, name in enumerate(rows.columns)
            ]
            for i in range(len(rows))
        ]
        # numbers to the right, words to the left
        text = [any(re.search(r"[A-Za-z]{2}", row[j]) for row in cells) for j in range(len(rows.T))]
        head = " | ".join([self.corner, *map(str, rows.columns)])
        lines = [f"| {head} |", "|---|" + "|".join("---" if t else "---:" for t in text) + "|"]
        lines += [
            f"| {' | '.join([str(name), *row])} |"
            for name, row in zip(rows.index, cells, strict=True)
        ]
        return "\n".join(lines)


def _cell(value: Any, known: Any, digits: int) -> str:
    shown = "" if pd.isna(value) else _number(value, digits)
    if known is not None and not pd.isna(known):
        shown = f"{shown} ({_number(known, digits)})".strip()
    return shown


def _number(value: Any, digits: int) -> str:
    return value if isinstance(value, str) else f"{value:z.{digits}f}"


# ---------------------------------------------------------------------------------------------
# Files
# ---------------------------------------------------------------------------------------------


def between(text: str, name: str) -> str | None:
    """Return the text between the markers of a name, or None without markers.

    >>> between("a <!-- table x -->b<!-- end of x --> c", "x")
    'b'
    """
    found = re.search(_markers(name), text, re.DOTALL)
    return None if found is None else found[2]


def replace_between(path: Path, name: str, content: str) -> None:
    """Put a table where its markers are.

    Raises
    ------
    ValueError
        If the file has no such markers, or has them several times.
    """
    text = _with_markers(path, name)
    new = re.sub(_markers(name), lambda m: f"{m[1]}\n{content}\n{m[3]}", text, flags=re.DOTALL)
    write_whole(path, new.encode())


def _merged(old: str, table: Table, new: str, below: str) -> str:
    """Put the computed rows of a new table into the old one, and their sources below it."""
    lines = [line for line in old.split("\n") if line]
    n_lines = sum(line.startswith("|") for line in lines)
    head, rows, notes = lines[:2], lines[2:n_lines], lines[n_lines:]
    if not head:
        return f"{new}\n\n{below}".rstrip()
    if _cells(head[0]) != _cells(new.split("\n")[0]):
        raise ValueError(
            f"The table has the columns {_cells(head[0])}, and its new rows have "
            f"{_cells(new.splitlines()[0])}. Compute the whole table, without --row."
        )
    computed = {str(name) for name in table.rows.index}
    added = {_cells(line)[0]: line for line in new.split("\n")[2:] if _cells(line)[0] in computed}
    place = {_cells(line)[0]: n for n, line in enumerate(rows)}
    at = len(rows)
    for name, line in reversed(added.items()):
        if name in place:
            at = place[name]
            rows[at] = line
        else:
            rows.insert(at, line)  # before the row that follows it
    begin = f"*{', '.join(added)}: "
    kept = [note for note in notes if not note.startswith(begin)]
    added_notes = [begin + below.removeprefix("*")] if below and added else []
    return "\n".join([*head, *rows]) + "".join(f"\n\n{note}" for note in [*kept, *added_notes])


def _as_it_stands(text: str, published: pd.DataFrame) -> tuple[Table, list[str]]:
    """Read a table without its published values, and its notes."""
    published = published.rename(index=str, columns=str)
    lines = [line for line in text.split("\n") if line]
    notes = [line for line in lines if not line.startswith("|")]
    cells = [_cells(line) for line in lines if line.startswith("|")]
    corner, *columns = cells[0] if cells else ["method", *published.columns]
    rows = pd.DataFrame([row[1:] for row in cells[2:]], [row[0] for row in cells[2:]], columns)
    for name in rows.columns.intersection(published.columns):
        old = rows[name].str.replace(r" ?\((?=\S)[-+±.\d ]+\)$", "", regex=True)
        known = published[name].reindex(rows.index)
        rows[name] = [c.removesuffix(f"({k})").strip() for c, k in zip(old, known, strict=True)]
    rows = rows[~(rows == "").all(axis=1)]
    decimals = {
        name: rows[name].astype(str).str.extract(r"^[-+\d]*\.(\d+)")[0].str.len().max()
        for name in columns
    }
    digits = {name: int(n) for name, n in decimals.items() if not pd.isna(n)}
    return Table(rows, published, digits=digits, corner=corner), notes


def _write_published(results: Path, page: Path, place: str, published: pd.DataFrame) -> None:
    """Write published values next to the numbers of a table, and of its part on the page."""
    name = place.split(": ")[1]
    table, notes = _as_it_stands(
        between(results.read_text(encoding="utf-8"), name) or "", published
    )
    notes = notes or ["*Published values only; nothing was computed.*"]
    replace_between(results, name, "\n\n".join([table.markdown(), *notes]))
    shown = between(page.read_text(encoding="utf-8"), place)
    if shown is not None:
        part = _as_it_stands(shown, published)[0].rows
        replace_between(page, place, table.markdown(part))


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def _with_markers(path: Path, name: str) -> str:
    text = path.read_text(encoding="utf-8")
    n = len(re.findall(_markers(name), text, re.DOTALL))
    if n != 1:
        raise ValueError(
            f"{path} has {n} pairs of markers of {name!r}; put '<!-- table {name} -->' and "
            f"'<!-- end of {name} -->' where the table is to stand, once."
        )
    return text


def _markers(name: str) -> str:
    begin, end = (re.escape(f"<!-- {word} {name} -->") for word in ("table", "end of"))
    return f"({begin})(.*?)({end})"


def _made_of(run: Run, files: Sequence[Path], seconds: float) -> str:
    """Seed, data, CPU seconds and day, in a line below the table."""
    parts = [f"Seed {run.seed}"]
    if files:
        digest = hashlib.sha256()
        for file in files:
            digest.update(file.read_bytes())
        parts.append(f"{', '.join(f.name for f in files)} (sha256 {digest.hexdigest()[:8]})")
    parts += [f"{seconds:.0f} CPU s", f"computed on {datetime.now(UTC):%Y-%m-%d}"]
    return f"*{'; '.join(parts)}.*"


def _write(path: Path, name: str, table: Table, text: str, below: str, how: Run) -> None:
    """Replace the old table, or only its requested rows."""
    if how.rows:
        old = between(path.read_text(encoding="utf-8"), name) or ""
        replace_between(path, name, _merged(old, table, text, below))
    else:
        replace_between(path, name, f"{text}\n\n{below}".rstrip())


def _cpu_seconds() -> float:
    """CPU seconds of this process and of those it waited for."""
    return sum(os.times()[:4]) + sum(_SPENT_BEFORE)


# ---------------------------------------------------------------------------------------------
# The command
# ---------------------------------------------------------------------------------------------


def run(
    paper: str,
    tables: Mapping[str, Callable[[Run], Table]],
    *,
    on_demand: Mapping[str, Callable[[Run], Table]] | None = None,
    published: Mapping[str, pd.DataFrame] | None = None,
    module: str = "study",
    data: str | None = None,
    files: str = "*",
    seed: int = 1,
    arguments: Sequence[str] | None = None,
    root: Path = ROOT,
) -> dict[str, Table]:
    """Compute the tables of a study and write them where they belong.

    Parameters
    ----------
    paper : str
        Folder of the study in ``models``. Its ``RESULTS.md`` contains the markers.
    tables : mapping of functions
        For each table, the function that computes it.
    on_demand : mapping of functions, optional
        Tables that are computed only with ``--table NAME``.
    published : mapping of DataFrame, optional
        Published values of each table, as in `Table`.
    module : str
        Name of the Python file that runs the study.
    data : str, optional
        Default folder of the data in ``BAYESRANK_DATA``; None if the study simulates its data.
    files : str
        Pattern of the names of the data files.
    seed : int
        Random seed.
    arguments : list of str, optional
        Arguments of the command line, by default those of the process.
    root : Path
        Folder of the repository.

    Returns
    -------
    dict
        The tables that were computed.
    """
    parser = argparse.ArgumentParser(prog=f"python -m models.{paper}.{module}")
    every = {**tables, **(on_demand or {})}
    if data is not None:
        default = Path(os.environ.get("BAYESRANK_DATA", ".")) / data
        parser.add_argument(
            "folder", nargs="?", type=Path, default=default, help="folder with the data"
        )
    help_of_table = "compute only this table; repeatable"
    if on_demand:
        help_of_table += f"; {', '.join(on_demand)} only if named"
    parser.add_argument("--table", action="append", choices=list(every), help=help_of_table)
    parser.add_argument("--quick", action="store_true", help="compute small tables; write nothing")
    parser.add_argument(
        "--row", action="append", default=[], help="compute only this row; repeatable"
    )
    parser.add_argument("--keep", type=Path, help="folder of finished parts, to continue later")
    help_of_published = "update the published values; compute nothing"
    parser.add_argument("--published", action="store_true", help=help_of_published)
    given = parser.parse_args(arguments)
    results, page = root / "models" / paper / "RESULTS.md", root / "docs/papers.md"
    known = published or {}
    if given.published:
        for name in [name for name in given.table or known if name in known]:
            _write_published(results, page, f"{paper}: {name}", known[name])
        return {}
    if given.keep is not None:
        given.keep.mkdir(parents=True, exist_ok=True)
    folder = given.folder if data is not None else Path()
    how = Run(folder, given.quick, seed, tuple(given.row), given.keep)
    of = sorted(folder.glob(files)) if data is not None else []
    if data is not None and not of:
        parser.error(f"{folder} has no files {files}; name the folder of the data.")

    made: dict[str, Table] = {}
    if not how.quick:
        for name in given.table or tables:  # before hours are spent
            _with_markers(results, name)
    for name in given.table or tables:
        begin = _cpu_seconds()
        table = every[name](how)
        made[name] = table = table._replace(published=known.get(name, table.published))
        data_files = of if table.files is None else table.files
        below = _made_of(how, data_files, _cpu_seconds() - begin)
        print(f"\n{name}\n\n{table.markdown()}\n\n{below}", flush=True)
        if not how.quick:
            _write(results, name, table, table.markdown(), below, how)
            place = f"{paper}: {name}"
            if table.shown is not None and f"<!-- table {place} -->" in page.read_text("utf-8"):
                _write(page, place, table, table.markdown(table.shown), "", how)
            for file, figure in table.figures.items():
                if how.rows:
                    print(f"docs/{file} stays as it is: it is drawn without --row.")
                else:
                    write_whole(root / "docs" / file, figure_png(figure, dpi=110))
        plt.close("all")
    return made
