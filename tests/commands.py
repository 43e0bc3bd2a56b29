"""Commands in tests: run in this process or as a user does, and what they print.

Most tests put draws of their own in the place of the sampler, which takes seconds to compile; the
model is built and everything else runs.
"""

import html
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import pymc as pm
from click.testing import CliRunner

from bayesrank import cli, inference
from tests.builders import PACKAGE, ROOT
from tests.fake_draws import fake_draws

# A table to rank, by stars or places
BEERS = """judge,beer,stars,place
ann,ale,5,1
ann,bock,4,2
ann,cider,3,3
ben,bock,5,1
ben,ale,4,2
ben,cider,1,3
cat,cider,2,2
cat,ale,2,2
cat,bock,3,1
"""
SCHEMA = json.loads((PACKAGE / "reporting" / "result.schema.json").read_text(encoding="utf-8"))


def run(*args):
    return CliRunner().invoke(cli.main, [str(a) for a in args])


def ran(*args):
    """Run a command that must succeed."""
    result = run(*args)
    assert result.exit_code == 0, result.output
    return result


def command(*args, flags=None):
    """Run a command as a user does, in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "bayesrank.cli", *map(str, args)],
        env=os.environ | ({"PYTENSOR_FLAGS": flags} if flags else {}),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self):
        return True


def few(*, chains, draws, **settings):
    """Fake draws, as few as convergence checks accept, because each of them is predicted from."""
    return fake_draws(chains=min(chains, 2), draws=min(draws, 400), **settings)


def few_predicted(monkeypatch):
    """Predict at a few of the draws, one by one in Python, by one seed where none is given.

    Other choices and matches to come need no digits either.
    """
    monkeypatch.setattr("bayesrank.analysis.fitting.PREDICTED", 100)  # what leave-one-out needs
    monkeypatch.setattr("bayesrank.analysis.fitting.SIMULATED", 50)
    monkeypatch.setattr("bayesrank.analysis.sensitivity.DRAWS", 50)
    monkeypatch.setattr("bayesrank.results.matches.needed._Futures.futures", 64)
    monkeypatch.setattr("bayesrank.cli.commands.SEEDS", 1)


def no_sampling(monkeypatch, sample):
    """Have `sample` draw, at once, with predictions at a few of the draws and no pictures."""
    monkeypatch.setattr(inference, "sample", sample)
    monkeypatch.setattr(inference, "compile_density", lambda _: None)
    monkeypatch.setattr(inference, "nuts_seconds", lambda *_, **__: 1.0)
    monkeypatch.setattr("bayesrank.reporting.parts.figure_svg", lambda _: b"a picture")
    few_predicted(monkeypatch)


def asked(monkeypatch, *args):
    """What a run asks of the sampler, and the model in context; the run ends there."""
    found = {}

    def sample(**settings):
        found.update(settings, model=pm.modelcontext(None))
        raise KeyboardInterrupt

    no_sampling(monkeypatch, sample)
    result = run(*args)
    assert result.exit_code == 130, result.output
    return found


def refuses(result, sentence, code=1):
    """Whether a run ended with this sentence, and no traceback."""
    assert result.exit_code == code, result.output
    assert isinstance(result.exception, SystemExit)
    errors = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
    assert len(errors) == 1
    assert sentence in errors[0]
    assert "Traceback" not in result.output
    return True


def data_of(result):
    """Read what a run printed with --json, which must be as the schema says."""
    output = json.loads(result.stdout)
    jsonschema.validate(output, SCHEMA)  # which nbformat brings
    return output


def notes(result):
    assert result.exit_code == 0, result.output
    found = [line[6:] for line in result.stderr.splitlines() if line.startswith("Note: ")]
    assert len(set(found)) == len(found)
    (page,) = Path().glob("*-ranks/report.html")
    page = html.unescape(page.read_text(encoding="utf-8"))
    assert all(f"<li>{note}</li>" in page for note in found)
    return found


def shown(result, folder):
    """What a run printed, and the texts of its page; of numbers that hang on draws the places."""
    page = (folder / "report.html").read_text(encoding="utf-8")
    page = re.sub(r'<img alt="([^"]*)"', r"[\1] <", page)
    page = re.sub(r"<(style|script)[^>]*>.*?</\1>|<[^>]*>", " ", page, flags=re.DOTALL)
    lines = [" ".join(line.split()) for line in html.unescape(page).splitlines()]
    notes = [line for line in result.stderr.splitlines() if not line.startswith("[")]
    parts = [*notes, result.stdout, "PAGE", *filter(None, lines)]
    text = re.sub(r"20\d\d-\d\d-\d\d, bayesrank [\d.]+", "TODAY", "\n".join(parts))
    text = re.sub(r"-?\d+\.\d+", "#", text)
    return re.sub(r"least [\d,]+ effective", "least # effective", text)
