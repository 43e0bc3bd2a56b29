"""Run the commands on small tables, so that later runs find their compiled code.

Numba compiles for models and types of data, so a few rows compile what a million rows need. The
commands themselves run, so that no function that they call is missed.
"""

import signal
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from itertools import combinations, product
from pathlib import Path

import click

from bayesrank.cli.caches import find_cache
from bayesrank.cli.console import Talk

RANKED = "ranker,item,rank\n" + "".join(
    f"r{r},{item},{1 + (k + r) % 4}\n" for r, (k, item) in product(range(6), enumerate("abcd"))
)
TIED = RANKED.replace(",4\n", ",3\n")
MATCHES = "first,second,outcome,judge\n" + "".join(
    f"{a},{b},{('first', 'tie', 'second', 'first')[(k + j) % 4]},j{j}\n"
    for j, (k, (a, b)) in product(range(3), enumerate(combinations("abcd", 2)))
)
BY_RANK = ["--ranker", "ranker", "--item", "item", "--rank", "rank"]
BY_MATCH = ["--first", "first", "--second", "second", "--outcome", "outcome"]
QUICK = ["--quick"]
SHORT = ["--draws", "250", "--tune", "50", "--chains", "2"]
RUNS = {
    "rankings": (RANKED, ["rank", *BY_RANK, *SHORT]),
    "rankings with ties": (TIED, ["rank", *BY_RANK, *SHORT]),
    "rankings, quick": (TIED, ["rank", *BY_RANK, *QUICK]),
    "matches": (MATCHES, ["matches", *BY_MATCH, *SHORT]),
    "matches, quick": (MATCHES, ["matches", *BY_MATCH, *QUICK]),
    "matches with judges": (MATCHES, ["matches", *BY_MATCH, "--judge", "judge", *SHORT]),
    "matches with judges, quick": (
        MATCHES,
        ["matches", *BY_MATCH, "--judge", "judge", *QUICK],
    ),
}


def compile_all(main: click.Group, talk: Talk) -> None:
    """Run all `RUNS` in a folder that is deleted.

    Raises
    ------
    ValueError
        If a run fails, with its output.
    """
    if sentence := find_cache():
        talk.stage(sentence)
    with tempfile.TemporaryDirectory() as folder:
        for name, (text, (command, *options)) in RUNS.items():
            talk.stage(f"Compiling for {name} ...")
            path = Path(folder) / "table.csv"
            path.write_text(text, "utf-8")
            where = ["--output-dir", str(Path(folder) / "out"), "--force", "--seed", "1"]
            output = StringIO()
            try:
                with redirect_stdout(output), redirect_stderr(output):
                    main.main([command, str(path), *options, *where], standalone_mode=False)
            except SystemExit as error:
                if isinstance(error.code, int) and error.code > 128:
                    signal.raise_signal(error.code - 128)
                raise ValueError(f"The run for {name} failed: {output.getvalue()}") from error
    talk.stage("Done.")
