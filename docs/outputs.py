"""Run the pages of the site, and store what their programs print and draw.

``./dev run python docs/outputs.py [PAGE ...]`` runs the tutorials, the how-to guides, the pages of
families, and the pictures, unless pages are named. Below a program stands what it gives, as a
notebook would show it: what it prints, its warnings and the value of its last line, as a block of
the language ``output``. If that value is a plot, the image that follows is drawn again. A command
of the shell is run if such a block follows it. The programs of one page share their names, and
begin without any. Do not edit a page while it runs.

A Python file of ``models/howto`` is run as a script, and what it prints is written into a text file
with its name. ``--matches FILE.csv`` is what a page calls ``england.csv`` (date, home, away,
home_goals, away_goals). Without it, programs about these clubs are left out. Lines are broken at
80 characters, as a terminal does. NUTS is compiled by JAX here, in seconds.
"""

import argparse
import ast
import contextlib
import functools
import io
import logging
import os
import re
import runpy
import subprocess
import sys
import tempfile
import textwrap
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import pandas as pd
import pymc as pm
from arviz import PlotCollection

from bayesrank.reporting.page.files import figure_png

HERE = Path(__file__).parent
GUIDES = HERE.parent / "models" / "howto"
WIDTH = 80  # characters of a sentence: what the page of a laptop shows beside its sidebars
TABLE = 100  # characters of a table, which scrolls
CLUBS = re.compile(r"england\.csv|clubs")
# a program, and below it what it printed, what it drew, or both
BLOCK = re.compile(
    r"(?m)^```(?P<language>python|bash)\n(?P<code>(?s:.*?))^```\n"
    r"(?P<output>\n```output\n(?s:.*?)^```\n)?"
    r"(?P<image>\n!\[[^\]]*\]\((?P<file>[\w./-]+\.png)\)\n)?"
)


class Given(NamedTuple):
    """What a program gave: the text that it printed, and the value of its last line."""

    text: str
    value: Any


def pages() -> list[Path]:
    """List the pages whose programs are run."""
    folders = [
        path for name in ("start", "howto", "families") for path in (HERE / name).glob("*.md")
    ]
    return [HERE / "gallery.md", *sorted(folders)]


def programs(text: str) -> Iterator[re.Match[str]]:
    """Find the programs of a page that are run, in their order."""
    for block in BLOCK.finditer(text):
        if block["language"] == "python" or block["output"]:
            yield block


class Printed(logging.Handler):
    """Print what PyMC logs as a warning, which a reader sees in a terminal."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print the message."""
        print(record.getMessage())


def run_python(code: str, names: dict[str, Any]) -> Given:
    """Run a program as a notebook does: what it prints, and the value of its last line."""
    tree, value, printed = ast.parse(code), None, io.StringIO()
    last, final = tree.body[-1], None
    if isinstance(last, ast.Expr):
        final = ast.Expression(last.value)
        del tree.body[-1]

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        print(f"{category.__name__}: {message}")

    logger, handler = logging.getLogger("pymc"), Printed(logging.WARNING)
    logger.addHandler(handler)
    try:
        with contextlib.redirect_stdout(printed), warnings.catch_warnings():
            warnings.simplefilter("default")
            warnings.showwarning = show
            exec(compile(tree, "a page", "exec"), names)
            if final is not None:
                value = eval(compile(final, "a page", "eval"), names)
            if value is not None and not isinstance(value, PlotCollection):
                with pd.option_context("display.width", TABLE, "display.max_columns", None):
                    print(value if isinstance(value, str) else repr(value))
    finally:
        logger.removeHandler(handler)
    if isinstance(last, ast.Assign) and isinstance(last.targets[0], ast.Name):
        value = names[last.targets[0].id]
    return Given(broken(printed.getvalue()), value)


def run_bash(code: str, folder: Path) -> str:
    """Run commands in a folder, with the programs of this environment: what they print."""
    paths = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-ec", code], cwd=folder, env=os.environ | {"PATH": paths, "COLUMNS": str(WIDTH)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"This command fails:\n{code}\n{done.stderr}")
    return done.stdout


def broken(text: str) -> str:
    """Break long sentences as a terminal does; leave the rows of tables as they are."""
    lines = []
    for line in text.rstrip().splitlines():
        is_row = "   " in line.strip() or len(line) <= WIDTH
        lines += [line.rstrip()] if is_row else textwrap.wrap(line, WIDTH, break_on_hyphens=False)
    return "\n".join(lines) + "\n" if lines else ""


def run_page(page: Path, matches: str | None = None) -> Iterator[tuple[re.Match[str], Given]]:
    """Run the programs of a page one after the other, in a folder of its own: what each gave."""
    names: dict[str, Any] = {"__name__": "a page"}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for block in programs(page.read_text("utf-8")):
            code = block["code"].replace('"england.csv"', repr(matches))
            if matches is None and CLUBS.search(code):
                continue
            if block["language"] == "bash":
                given = Given(broken(run_bash(code, Path(folder))), None)
            else:
                given = run_python(code, names)
            drawn = isinstance(given.value, PlotCollection)
            if drawn and not block["image"]:
                raise RuntimeError(
                    f"{page.name}: no image follows the plot of this program:\n{code}"
                )
            yield block, given
            plt.close("all")


def with_outputs(page: Path, matches: str | None = None) -> str:
    """Run a page, and draw its pictures: its text with what its programs printed."""
    text, parts, end = page.read_text("utf-8"), [], 0
    for block, given in run_page(page, matches):
        if isinstance(given.value, PlotCollection):
            (page.parent / block["file"]).write_bytes(figure_png(given.value, dpi=110))
        shown = f"\n```output\n{given.text}```\n" if given.text else ""
        parts += [text[end : block.start()], f"```{block['language']}\n{block['code']}```\n"]
        parts += [shown, block["image"] or ""]
        end = block.end()
    return "".join([*parts, text[end:]])


def run_guide(guide: Path) -> str:
    """Run a guide as a script, in a folder of its own and outside the checkout: what it prints."""
    printed = io.StringIO()
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        contextlib.redirect_stdout(printed),
    ):
        runpy.run_path(str(guide), run_name="__main__")
    return broken(printed.getvalue())


def main() -> None:
    """Write the pages, the pictures and what the guides print."""
    parser = argparse.ArgumentParser(description="Run the pages and store what they give.")
    parser.add_argument("pages", nargs="*", type=Path, metavar="PAGE")
    parser.add_argument("--matches", metavar="FILE.csv")
    given = parser.parse_args()
    matches = given.matches and str(Path(given.matches).resolve())
    for page in given.pages or [*pages(), *sorted(GUIDES.glob("*.py"))]:
        page, start = page.resolve(), time.perf_counter()
        sys.argv = [str(page)]
        if page.suffix == ".py":
            page.with_suffix(".txt").write_text(run_guide(page), encoding="utf-8")
        else:
            page.write_text(with_outputs(page, matches), encoding="utf-8")
        print(f"{page.name}: {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    quick = {"nuts_sampler": "nutpie", "backend": "jax", "progressbar": False}
    pm.sample = functools.partial(pm.sample, **quick)
    for verb in (
        "sample_posterior_predictive",
        "compute_log_likelihood",
        "sample_prior_predictive",
    ):
        setattr(pm, verb, functools.partial(getattr(pm, verb), progressbar=False))
    main()
