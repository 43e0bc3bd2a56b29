"""Draw the pictures of the site: ``./dev run python docs/pictures.py [MATCHES.csv]``.

What is run stands in ``gallery.md``: every picture has the name of the variable that it is drawn
into, and is written as soon as it is there. MATCHES.csv is what the page calls ``england.csv``
(date, home, away, home_goals, away_goals); without it, the pictures of histories are left as they
are. Sampling is compiled by JAX, in seconds; five minutes in all on one processor.
"""

import functools
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymc as pm

from bayesrank.results import figure_png, write_whole

HERE = Path(__file__).parent
PAGE = HERE / "gallery.md"


def pictures(matches: str | None) -> Iterator[tuple[str, Any]]:
    """Run the programs of the page one after the other, as a reader would: what each draws."""
    text = PAGE.read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    for program in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
        if matches is None and re.search(r"england\.csv|clubs", program):
            continue
        exec(compile(program.replace('"england.csv"', repr(matches)), str(PAGE), "exec"), names)
        drawn = re.findall(r"(?m)^(\w+) = br\.plot_", program)
        yield drawn[-1], names[drawn[-1]]


def main(matches: str | None) -> None:
    """Write the pictures beside the page."""
    for name, picture in pictures(matches):
        write_whole(HERE / f"{name}.png", figure_png(picture, dpi=110))
        print(name, flush=True)


if __name__ == "__main__":
    quick = {"nuts_sampler": "nutpie", "backend": "jax", "quiet": True, "progressbar": False}
    pm.sample = functools.partial(pm.sample, **quick)
    for verb in ("sample_posterior_predictive", "compute_log_likelihood"):
        setattr(pm, verb, functools.partial(getattr(pm, verb), progressbar=False))
    main(sys.argv[1] if len(sys.argv) > 1 else None)
