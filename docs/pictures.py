"""Draw the pictures of the site: ``./dev run python docs/pictures.py [PAGE ...]``.

What is run stands in the pages, ``gallery.md`` and those of families unless others are named: every
picture has the name of the variable that it is drawn into, and is written as soon as it is there.
``--matches FILE.csv`` is what a page calls ``england.csv`` (date, home, away, home_goals,
away_goals); without it, the pictures of histories are left as they are. Sampling is compiled by
JAX, in seconds; six minutes in all on one processor.
"""

import argparse
import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymc as pm

from bayesrank.results import figure_png

HERE = Path(__file__).parent
PAGES = [HERE / "gallery.md", *sorted((HERE / "families").glob("*.md"))]
DRAWN = re.compile(r"(?m)^(\w+) = (?:az|br)\.plot_")


def pictures(page: Path, matches: str | None) -> Iterator[tuple[str, Any]]:
    """Run the programs of a page one after the other, as a reader would: what each draws."""
    names: dict[str, Any] = {}
    for program in re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), flags=re.DOTALL):
        drawn = DRAWN.findall(program)
        if not drawn or (matches is None and re.search(r"england\.csv|clubs", program)):
            continue
        exec(compile(program.replace('"england.csv"', repr(matches)), str(page), "exec"), names)
        yield drawn[-1], names[drawn[-1]]


def main() -> None:
    """Write the pictures beside this file."""
    parser = argparse.ArgumentParser(description="Draw the pictures of the site.")
    parser.add_argument("pages", nargs="*", type=Path, default=PAGES, metavar="PAGE")
    parser.add_argument("--matches", metavar="FILE.csv")
    given = parser.parse_args()
    for page in given.pages:
        for name, picture in pictures(page, given.matches):
            (HERE / f"{name}.png").write_bytes(figure_png(picture, dpi=110))
            print(name, flush=True)


if __name__ == "__main__":
    quick = {"nuts_sampler": "nutpie", "backend": "jax", "quiet": True, "progressbar": False}
    pm.sample = functools.partial(pm.sample, **quick)
    for verb in ("sample_posterior_predictive", "compute_log_likelihood"):
        setattr(pm, verb, functools.partial(getattr(pm, verb), progressbar=False))
    main()
