"""The command line: whole runs, exit codes, and a sentence instead of a traceback.

Most tests put draws of their own in the place of the sampler, which takes seconds to compile; the
model is built and everything else runs. One whole run is a process of its own: numba compiles the
model for nutpie, which samples, and what is predicted is computed in Python. In the slow set, numba
compiles all, as a user has it.
"""

import ctypes
import errno
import io
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from functools import partial
from http.server import HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path
from types import SimpleNamespace

import arviz as az
import jsonschema
import netCDF4
import numpy as np
import nutpie
import pandas as pd
import pymc as pm
import pytest
import xarray as xr

import bayesrank
from bayesrank import cli, inference
from bayesrank.analysis.fitting import predict
from bayesrank.cli import run as cli_run
from bayesrank.cli.console import Talk, count_columns, errors_as_sentences, stopping, wrapped
from bayesrank.reporting import sections
from bayesrank.reporting.page.files import figure_svg
from bayesrank.reporting.parts import Part, formatted
from tests import commands
from tests.builders import PACKAGE
from tests.commands import asked, command, data_of, few, no_sampling, notes, ran, refuses, run
from tests.flags import flags_of_users

ROOT = PACKAGE.parent
TABLES = {"beers.csv": commands.BEERS}
COLUMNS = ("--ranker", "judge", "--item", "beer")
FILES = [
    "checks.csv", "checks.svg", "counts.csv", "pairs.csv", "places.svg", "posterior.nc",
    "predictions.csv", "ranks.csv", "ranks.svg", "report.html", "wins.svg",
]  # fmt: skip
SMALL = ("rank", "beers.csv", *COLUMNS, "--rank", "place")
QUICK = ("--draws", "100", "--tune", "50", "--chains", "2")


@pytest.fixture(autouse=True)
def _listening():
    """Signals are heard, also where the tests run in the background, which ignores some."""
    handlers = {signal.SIGINT: signal.default_int_handler, signal.SIGHUP: signal.SIG_DFL}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def sampler(monkeypatch):
    """Draw independent normals instead of a posterior, and record what was asked for."""
    seen = []

    def sample(**settings):
        model = pm.modelcontext(None)
        assert [rv.name for rv in model.free_RVs][-1] in ("utility", "utility_z")
        seen.append(settings | {"model": model})
        return few(**settings)

    no_sampling(monkeypatch, sample)
    return seen


PREDICTIONS = "bayesrank.reporting.draft.predict"


@pytest.fixture
def light(sampler, monkeypatch):
    """Leave out predictions, and what is beside the ranks but for its files."""
    lighten(monkeypatch)
    return sampler


def lighten(monkeypatch):
    names = {
        "predictions": ["predictions.csv"], "checks": ["checks.csv", "checks.svg"],
        "places": ["places.svg"], "wins": ["wins.svg"],
    }  # fmt: skip
    for name, files in names.items():
        part = Part(name, files=dict.fromkeys(files, b"x"), printed=False)
        made = [part] if name == "wins" else part
        monkeypatch.setattr(sections, name, lambda *_, made=made, **__: made)
    monkeypatch.setattr(PREDICTIONS, lambda *_: None)


@pytest.fixture(scope="module")
def run_once(tmp_path_factory):
    """Run once for all tests of what is there already."""
    folder = tmp_path_factory.mktemp("saved")
    (folder / "beers.csv").write_text(commands.BEERS, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        no_sampling(patch, few)
        lighten(patch)
        assert run(*SMALL, "--seed", 5).exit_code == 0
    return folder


@pytest.fixture
def earlier(run_once, folder):
    """Copy the results of that run into the folder."""
    shutil.copytree(run_once, folder, dirs_exist_ok=True)


# Whole runs


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """Run `bayesrank rank` on the beers, once for several tests."""
    folder = tmp_path_factory.mktemp("rank")
    (folder / "beers.csv").write_text(commands.BEERS, encoding="utf-8")
    out = ("--output-dir", folder / "out", "--save", folder / "draws.nc")
    result = command(
        "rank", folder / "beers.csv", *COLUMNS, "--rating", "stars", *QUICK, "--seed", 3, *out
    )
    return folder, result


def test_progress_goes_to_the_error_stream_with_times(first):
    _, result = first
    progress = [line for line in result.stderr.splitlines() if line.startswith("[")]
    messages = [line.partition("] ")[2] for line in progress]
    # which is said in the first run of all
    assert [line for line in messages if not line.startswith("Compiling once")] == [
        "Loading PyMC ...",
        "Building the model ...",
        "Compiling ...",
        "Sampling 2 chains of 100 draws after 50 tuning steps at most ...",
        "Predicting ...",
        "Checking and drawing ...",
        "Done.",
    ]
    assert "[" not in result.stdout.replace("[cider]", "")


def test_the_files_agree_with_the_table_printed(first):
    folder, result = first
    table = pd.read_csv(folder / "out" / "ranks.csv", index_col="item")
    for name, row in table.iterrows():
        assert f"{name:<5}  {row['mean_rank']:9.1f}" in result.stdout
    assert sorted(p.name for p in (folder / "out").iterdir()) == FILES
    assert (folder / "out" / "ranks.svg").read_bytes().startswith(b"<?xml")
    text = (folder / "out" / "report.html").read_text(encoding="utf-8")
    assert "<h1>Ranks of beer in beers.csv</h1>" in text
    assert "2 chains of 100 draws after 50 tuning steps; seed 3." in text
    assert re.search(r'<p class="made">20\d\d-\d\d-\d\d, bayesrank [\d.]+, seed 3</p>', text)
    assert "<code>bayesrank rank " in text
    assert f'<p class="answer">{table.index[0]} leads, and is the best' in text


def test_the_page_says_how_well_the_model_predicts_and_what_it_misses(first):
    folder, _ = first
    page = (folder / "out" / "report.html").read_text(encoding="utf-8")
    assert page.count('src="data:image/svg+xml;base64,') == 3
    judges = pd.read_csv(folder / "out" / "predictions.csv", index_col="ranker")
    assert sorted(judges.index) == ["ann", "ben", "cat"]
    gain = (judges["elpd"] - judges["elpd_random"]).sum() / 3
    assert f"The mean gain per ranking is {gain:.2f} ±" in page
    checks = pd.read_csv(folder / "out" / "checks.csv")
    checks = checks[checks["note"].isna()]  # no omnibus checks
    odd = checks["surprising"]
    varies = checks["note"].isna() & ((checks["low"] < checks["high"]) | odd)
    assert f"{odd.sum()} of {varies.sum()} checks fail" in page
    body = page.split("<script")[0]  # the results in the page say it again
    verdicts = (
        "The model fits, as far as", "The model does not describe", "There are too few data to",
    )  # fmt: skip
    assert sum(map(body.count, verdicts)) == 1
    linked = re.findall('href="([^#"]+)"', page)
    assert linked == ["ranks.csv", "predictions.csv", "checks.csv", "counts.csv", "pairs.csv"]
    assert all((folder / "out" / name).exists() for name in linked)
    assert '<th scope="col" class="text">Status</th>' in page


WIDTHS = 390, 1100


@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs chromium")
def test_a_browser_shows_the_page_without_scrolling_sideways(first, tmp_path):
    # a page in a frame as wide as a phone, because windows of a browser are wider
    page = (first[0] / "out" / "report.html").as_uri()
    frames = (f"<iframe src='{page}' style='width:{w}px;height:800px'></iframe>" for w in WIDTHS)
    (tmp_path / "frame.html").write_text(
        f"<style>iframe {{ border: 0 }}</style>{''.join(frames)}"
        "<script>onload = () => { document.title = [...document.querySelectorAll('iframe')].map("
        "f => { const d = f.contentDocument; const r = d.documentElement;"
        "return [r.scrollWidth, r.clientWidth,"
        " [...d.images].every(i => i.complete && i.naturalWidth > 100)].join(' ') }).join(';')"
        " }</script>",
        encoding="utf-8",
    )
    quiet = ["gpu", "background-networking", "component-update", "sync"]
    shown = subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--allow-file-access-from-files",
         "--no-first-run", *(f"--disable-{what}" for what in quiet),
         f"--user-data-dir={tmp_path / 'profile'}", "--window-size=1300,900",
         "--virtual-time-budget=5000", "--dump-dom", (tmp_path / "frame.html").as_uri()],
        capture_output=True, text=True, timeout=120, check=True,
    ).stdout  # fmt: skip
    titles = shown.split("<title>")[1].split("</title>")[0].split(";")
    for width, title in zip(WIDTHS, titles, strict=True):
        assert title in (f"{width} {width} true", f"{width - 15} {width - 15} true")


def test_the_posterior_that_was_saved_reads_back_with_its_names(first):
    folder, _ = first
    with xr.open_datatree(folder / "draws.nc") as tree:
        utility = tree["posterior"]["utility"]
        assert utility.sizes == {"chain": 2, "draw": 100, "item": 3}
        assert utility["item"].values.tolist() == ["ale", "bock", "cider"]
        assert {"sample_stats", "observed_data"} <= set(tree.children)
        scale = float(tree["posterior"]["utility_scale"].mean())
        summary = bayesrank.rank_summary(tree, prior_sd=scale)
    table = pd.read_csv(folder / "out" / "ranks.csv", index_col="item")
    assert table.pop("rankings").tolist() == [3, 3, 3]
    assert table["status"].iloc[0] == "leads"
    pd.testing.assert_frame_equal(summary, table, check_names=False, check_index_type=False)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_result(first, folder):
    command(
        "rank", Path("beers.csv").absolute(), *COLUMNS, "--rank", "place", *QUICK, "--seed", 3,
        "--output-dir", folder / "again", flags=flags_of_users(),
    )  # fmt: skip
    before, now = first[0] / "out" / "ranks.csv", folder / "again" / "ranks.csv"
    assert now.read_bytes() == before.read_bytes()


def test_ctrl_c_while_tuning_ends_with_130_and_writes_nothing(folder, monkeypatch):
    with pm.Model():
        pm.Normal("x")
        compiled = inference.sampling.nuts.nutpie_model(pm.modelcontext(None), {})
    monkeypatch.setattr(inference.sampling.nuts, "nutpie_model", lambda *_: compiled)
    monkeypatch.setattr("bayesrank.analysis.fitting.SURELY_SHORT", np.inf)
    real = nutpie.sample

    def interrupted(*args, **kwargs):
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        return real(*args, **kwargs)

    monkeypatch.setattr(nutpie, "sample", interrupted)
    before = signal.getsignal(signal.SIGINT)
    result = run(*SMALL, "--full", "--tune", 10_000_000, "--save", "d.nc")
    assert result.exit_code == 130, result.output
    assert result.stderr.splitlines()[-1] == "Interrupted. Nothing was written."
    assert [path.name for path in folder.iterdir()] == ["beers.csv"]
    assert signal.getsignal(signal.SIGINT) is before


def test_the_quickstart_ranks_the_bundled_drivers(folder, light):
    result = ran("quickstart", *QUICK, "--seed", 1, "--output-dir", "out", "--top", 5)
    assert result.stdout.startswith("36 races of 87 drivers, ")
    table = pd.read_csv("out/ranks.csv", index_col="item")
    assert len(table) == 87
    assert table["p_top5"].sum() == pytest.approx(5)
    assert "... and 67 more\n" in result.stdout
    # four drivers were last in all their races; nothing else is to be noted
    notes = [line for line in result.stderr.splitlines() if line.startswith("Note: ")]
    assert ["were never ahead" in notes[0], notes[1].startswith("Note: The prior")] == [True, True]
    assert len(notes) == 2


# Start and help


def test_help_does_not_wait_for_pymc():
    code = "import sys, bayesrank.cli; print([m for m in ('pymc', 'pytensor', 'arviz', 'pandas', 'matplotlib') if m in sys.modules])"  # fmt: skip # noqa: E501
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_module_runs_and_tells_its_version():
    done = subprocess.run(
        [sys.executable, "-m", "bayesrank.cli", "--version"], capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert done.stdout == f"bayesrank, version {bayesrank.__version__}\n"


# Wrong use, and data that cannot be ranked; the sentences are in the table of test_cli_inputs.py

HEAD = "judge,beer,stars,place\n"


@pytest.mark.parametrize(("args", "code"), [((*SMALL, "--burn", 9), 2), (("rank", "no.csv"), 1)])
def test_wrong_use_ends_with_an_error_and_writes_nothing(folder, sampler, args, code):
    refuses(run(*args), "", code)
    assert sampler == []
    assert [path.name for path in folder.iterdir()] == ["beers.csv"]


@pytest.mark.parametrize("text", [None, "", HEAD, f"{HEAD}ann,ale,1,1\nann,bock,1,1\n"])
def test_bad_data_end_with_1_and_write_nothing(folder, sampler, text):
    (folder / "bad.csv").mkdir() if text is None else (folder / "bad.csv").write_text(text)
    before = set(folder.iterdir())
    refuses(run("rank", "bad.csv", *COLUMNS, "--rating", "stars"), "")
    assert sampler == []
    assert set(folder.iterdir()) == before


def test_names_with_any_characters_are_shown(folder, sampler):
    table = pd.read_csv("beers.csv")
    # the last of the characters for private use is in no font
    names = {"ale": "<b>& $5 or $6", "bock": f"=\x1b[31m{'x' * 90}", "cider": "寿\U0010fffd"}
    table.assign(beer=table["beer"].map(names)).to_csv("odd.csv", index=False)
    result = run("rank", "odd.csv", *COLUMNS, "--rating", "stars")
    found = notes(result)
    assert found[-1].startswith("No installed font has some characters of the names (")
    assert "\ufffd)" in found[-1]
    assert f"\n=\ufffd[31m{'x' * 33}…  " in result.stdout
    assert "\x1b" not in result.output
    for name in ("ranks.csv", "checks.csv"):
        cells = re.split("[\n,]", Path("odd-ranks", name).read_text(encoding="utf-8"))
        assert not any(cell.startswith("=") for cell in cells)
        assert any(cell.startswith("'=\ufffd[31mx") for cell in cells)
    page = (folder / "odd-ranks" / "report.html").read_text(encoding="utf-8")
    assert '<th scope="row">&lt;b&gt;&amp; $5 or $6</th>' in page
    assert '<th scope="row">寿\ufffd</th>' in page


# Options


def test_options_reach_the_sampler_and_the_model(folder, monkeypatch):
    options = ("--seed", 7, "--draws", 30, "--tune", 60, "--chains", 3, "--prior-scale", 0.5)
    found = asked(monkeypatch, "quickstart", *options, "--prior", "zero-sum")
    assert found["nuts"] == {}
    assert [found[key] for key in ("random_seed", "draws", "tune", "chains")] == [7, 30, 60, 3]
    model = found["model"]
    assert model["utility"].owner.op.__class__.__name__ == "ZeroSumNormalRV"
    logp = model.compile_logp(vars=[model["utility"]])({"utility_zerosum__": np.zeros(86)})
    # 86 free directions, each normal with standard deviation one half
    assert logp == pytest.approx(-86 * (0.5 * np.log(2 * np.pi) + np.log(0.5)))


# Places to write to


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--output-dir", "beers.csv"], "beers.csv is a file, so nothing can be written below it."),
        (["--output-dir", "beers.csv/sub"], "beers.csv is a file, so nothing"),
        (["--save", "nowhere/draws.nc"], "The folder nowhere does not exist. Make it, or choose"),
        (["--save", "taken"], "taken is a folder, but a file with this name must be written."),
        (
            ["--output-dir", "full"],
            "report.html is a folder, but a file with this name must be written.",
        ),
        (
            ["--output-dir", "other"],
            "other already contains files that are not part of a report (letter.txt). Choose ano",
        ),
    ],
)
def test_places_that_cannot_be_written_are_found_before_sampling(
    folder, sampler, options, sentence
):
    (folder / "taken").mkdir()
    (folder / "full" / "report.html").mkdir(parents=True)
    (folder / "other").mkdir()
    (folder / "other" / "letter.txt").touch()
    before = sorted(folder.rglob("*"))
    refuses(run("rank", "beers.csv", *COLUMNS, "--rank", "place", *options), sentence)
    assert sampler == []
    assert sorted(folder.rglob("*")) == before


def closed(monkeypatch, folder):
    """Have every change to the entries of a folder fail, as root may write anywhere."""
    for name in ("mkdir", "open", "rename", "replace", "rmdir", "unlink"):
        real = getattr(os, name)

        def change(path, *more, real=real, name=name, **options):
            paths = [path, *more[:1]] if name in ("rename", "replace") else [path]
            changes = name != "open" or more[0] & os.O_CREAT
            if changes and any(Path(p).absolute().parent == folder for p in paths):
                raise PermissionError(errno.EACCES, "Permission denied", os.fspath(path))
            return real(path, *more, **options)

        monkeypatch.setattr(os, name, change)


def test_a_folder_without_permission_is_found_before_sampling(folder, sampler, monkeypatch):
    with monkeypatch.context() as patch:
        closed(patch, folder)
        refuses(run("quickstart"), f"Nothing can be written to {folder}: Permission denied.")
    assert sampler == []
    assert [path.name for path in folder.iterdir()] == ["beers.csv"]


def test_nothing_but_the_folder_of_the_results_need_be_written_to(folder, light, monkeypatch):
    """Its parent is closed, as of a mount point, from which nothing can be moved either."""
    (folder / "mine" / "out").mkdir(mode=0o700, parents=True)
    closed(monkeypatch, folder / "mine")
    for seed in (1, 2):
        ran(*SMALL, "--output-dir", "mine/out", "--seed", seed, *(["--force"] if seed > 1 else []))
        assert sorted(path.name for path in (folder / "mine" / "out").iterdir()) == FILES
    assert f"seed {seed}</p>" in (folder / "mine/out/report.html").read_text(encoding="utf-8")
    assert stat.S_IMODE((folder / "mine" / "out").stat().st_mode) == 0o700  # closed to others
    assert run("report", "mine/out/posterior.nc").exit_code == 0


@pytest.fixture
def elsewhere(folder):
    """Make a folder on another file system, if there is one."""
    shm = Path("/dev/shm")
    if not os.access(shm, os.W_OK) or shm.stat().st_dev == folder.stat().st_dev:
        pytest.skip("needs another file system")
    with tempfile.TemporaryDirectory(dir=shm) as made:
        yield Path(made)


@pytest.mark.slow
def test_the_folder_of_the_results_may_be_a_link_to_another_file_system(folder, light, elsewhere):
    for name in ("out", "not made yet"):
        (folder / name).symlink_to(elsewhere / name)
    (elsewhere / "out").mkdir()
    for name in ("out", "out", "not made yet"):
        ran(*SMALL, "--output-dir", name, "--force")
        assert (folder / name).is_symlink()
        assert sorted(path.name for path in (elsewhere / name).iterdir()) == FILES
    assert run("report", "out/posterior.nc").exit_code == 0


def test_a_file_that_cannot_be_replaced_leaves_the_new_ones_complete(
    earlier, folder, light, monkeypatch
):
    real = os.replace

    def replace(path, target):
        if Path(path).name == "ranks.svg":
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
        real(path, target)

    monkeypatch.setattr(os, "replace", replace)
    result = run(*SMALL, "--seed", 2, "--force")
    made = left(folder)
    refuses(
        result,
        f"ranks.svg cannot be replaced: Device or resource busy. The new files are complete in "
        f"{made}; copy them from there.",
    )
    # those before it are in their place, and the others are where the sentence says
    out = {path.name: path for path in (folder / "beers-ranks").glob("[!.]*")}
    assert sorted(out) == FILES
    assert sorted(path.name for path in made.iterdir()) == ["ranks.svg", "report.html", "wins.svg"]
    assert "seed 2</p>" in (made / "report.html").read_text(encoding="utf-8")


def test_files_of_killed_runs_are_reported_and_removed_if_useless(run_once, folder, light):
    hidden = folder / "beers-ranks" / ".unfinished-"
    old, young, saved = (hidden.with_name(hidden.name + name) for name in ("old", "young", "fit"))
    for path in (old, young, saved):
        path.mkdir(parents=True)
    for path in (old, young):
        (path / ".posterior.nc.abc").touch()
    for path in (old / ".posterior.nc.abc", old, saved):
        os.utime(path, (time.time() - 4000,) * 2)
    shutil.copy(run_once / "beers-ranks" / "posterior.nc", saved)
    result = ran(*SMALL)
    assert (
        f"Removed {old.relative_to(folder)}, which a killed run left without a pos" in result.stderr
    )
    posterior = (saved / "posterior.nc").relative_to(folder)
    assert f"or write its report: bayesrank report '{posterior}'\n" in result.stderr
    assert sorted(path for path in hidden.parent.iterdir() if path.is_dir()) == [saved, young]

    assert run("report", posterior).exit_code == 0
    assert [path for path in hidden.parent.iterdir() if path.is_dir()] == [young]


def test_a_disk_that_fills_up_leaves_the_earlier_files_and_the_table_is_printed(
    earlier, folder, light, monkeypatch
):
    before = {path.name: path.read_bytes() for path in (folder / "beers-ranks").iterdir()}
    (folder / "d.nc").write_bytes(b"old")

    def full(self, path, **_):
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(xr.DataTree, "to_netcdf", full)
    result = run(*SMALL, "--save", "d.nc", "--force")
    assert result.exit_code == 1
    errors = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
    assert errors[0].endswith("No space left on device.")
    assert errors[-1].endswith("The earlier results in beers-ranks are unchanged.")
    assert "mean rank" in result.stdout
    assert run("report", "beers-ranks/posterior.nc").exit_code == 1
    assert {path.name: path.read_bytes() for path in (folder / "beers-ranks").iterdir()} == before
    assert (folder / "d.nc").read_bytes() == b"old"
    assert sorted(p.name for p in folder.iterdir()) == ["beers-ranks", "beers.csv", "d.nc"]


# Failures on the way


def test_a_sampler_that_fails_is_reported_in_a_sentence(folder, monkeypatch):
    def fail(**_):
        raise RuntimeError("All initialization points failed")

    monkeypatch.setattr(inference, "sample", fail)
    refuses(
        run("quickstart", "--full"),
        "The sampler failed. Try another --prior-scale. All initialization",
    )
    assert [path.name for path in folder.iterdir()] == ["beers.csv"]


def assert_interrupted(work, number, capsys):
    """Run work of a command, which must end as a signal asks it to."""
    with pytest.raises(SystemExit) as end, errors_as_sentences() as talk:
        work(talk)
    assert end.value.code == 128 + number
    assert capsys.readouterr().err == "Interrupted. Nothing was written.\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_that_a_c_library_ignores_ends_the_run_all_the_same(capsys, number):
    """As LLVM does, whose callbacks Python's compilers hear of compiled code by."""
    callback = ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(number))
    hook = sys.unraisablehook

    def ignore(_):
        callback()
        until = time.monotonic() + 10
        while time.monotonic() < until:
            sum(range(100))
        pytest.fail("the run went on")

    assert_interrupted(ignore, number, capsys)
    assert sys.unraisablehook is hook


def test_an_interrupt_that_a_library_takes_for_its_own_ends_the_run_at_the_next_stage(capsys):
    def ignore(talk):
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        talk.stage("Drawing ...")

    assert_interrupted(ignore, signal.SIGTERM, capsys)


def test_draws_made_before_an_interrupt_are_kept(folder, light, monkeypatch):
    def interrupted(**settings):
        try:
            signal.raise_signal(signal.SIGTERM)
        except KeyboardInterrupt:
            return few(**settings | {"draws": 30})

    with monkeypatch.context() as patch:
        patch.setattr(inference, "sample", interrupted)
        result = run(*SMALL)
    assert result.exit_code == 128 + signal.SIGTERM
    posterior = left(folder) / "posterior.nc"
    note = "Sampling was interrupted after 30 draws."
    assert result.stderr.splitlines()[-3:] == [
        f"Note: {note}",
        "Interrupted.",
        f"The posterior is saved. To continue: bayesrank report '{posterior}'",
    ]
    assert run("report", posterior).exit_code == 0
    page = (folder / "beers-ranks" / "report.html").read_text(encoding="utf-8")
    assert f"<li>{note}</li>" in page
    assert "2 chains of 30 draws" in page.replace("4 chains", "2 chains")
    assert sorted(path.name for path in (folder / "beers-ranks").iterdir()) == FILES


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "number"), [("quickstart", signal.SIGTERM), ("warm-up", signal.SIGINT)]
)
@pytest.mark.parametrize("seconds", [1, 4, 8])
def test_a_signal_while_code_is_compiled_ends_the_run(tmp_path, command, number, seconds):
    flags = f"base_compiledir={tmp_path / 'compiled'},{flags_of_users()}"
    environment = {"PYTENSOR_FLAGS": flags, "NUMBA_CACHE_DIR": str(tmp_path / "numba")}
    options = ["--output-dir", tmp_path / "out"] if command == "quickstart" else []
    with subprocess.Popen(
        [sys.executable, "-m", "bayesrank", command, *options],
        cwd=ROOT, env=os.environ | environment, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        stderr = next(line for line in process.stderr if "Compiling" in line)
        time.sleep(seconds)
        process.send_signal(number)
        stderr += process.stderr.read()
    assert process.returncode == 128 + number, stderr
    assert stderr.splitlines()[-1] == "Interrupted. Nothing was written."
    assert "Exception ignored" not in stderr
    assert not (tmp_path / "out").exists()


def test_files_are_written_even_when_the_reader_of_the_table_has_gone(folder, light, monkeypatch):
    echo = cli.commands.click.echo

    def gone(text="", err=False):
        if not err and "mean rank" in str(text):
            raise BrokenPipeError(32, "Broken pipe")
        echo(text, err=err)

    monkeypatch.setattr(cli.commands.click, "echo", gone)
    result = run(*SMALL)
    assert result.exit_code == 0
    assert "pipe" not in result.stderr
    assert (folder / "beers-ranks" / "ranks.csv").exists()


# Nothing is lost


def broken(*_, **__):
    raise RuntimeError("broken")


def left(folder):
    """Say what a run that was cut short has left beside the table."""
    (made,) = folder.glob("*/.unfinished-*")
    return made


def test_a_run_that_breaks_has_saved_its_posterior_and_says_how_to_go_on(
    folder, light, monkeypatch
):
    with monkeypatch.context() as patch:
        patch.setattr("bayesrank.reporting.report.report_html", broken)
        result = run(*SMALL, "--top", 2, "--seed", 5, "--title", "Beers", "--interval", 0.8)
    assert isinstance(result.exception, RuntimeError)
    assert "mean rank" in result.stdout  # the table comes first
    posterior = left(folder) / "posterior.nc"
    assert f"The posterior is saved. To continue: bayesrank report '{posterior}'" in result.stderr
    assert [path.name for path in (folder / "beers-ranks").iterdir()] == [posterior.parent.name]

    result = ran("report", posterior)
    assert len(light) == 1  # nothing is sampled again
    assert sorted(path.name for path in (folder / "beers-ranks").iterdir()) == FILES
    assert sorted(path.name for path in folder.iterdir()) == ["beers-ranks", "beers.csv"]
    page = (folder / "beers-ranks" / "report.html").read_text(encoding="utf-8")
    assert "<h1>Beers</h1>" in page
    assert "P(top 2)" in page
    assert "seed 5</p>" in page
    assert "\nwith probability 0.8. The circle" in page


def test_a_report_of_a_report_is_the_same(earlier, folder, light):
    before = {p.name: p.read_bytes() for p in (folder / "beers-ranks").glob("*.[ch]*")}
    assert run("report", "beers-ranks/posterior.nc").exit_code == 0
    assert {p.name: p.read_bytes() for p in (folder / "beers-ranks").glob("*.[ch]*")} == before
    result = run("report", "beers-ranks/posterior.nc", "--top", 1, "--output-dir", "b")
    assert result.exit_code == 0
    assert "p_top1" in pd.read_csv("b/ranks.csv").columns


def test_a_posterior_of_something_else_is_refused(folder):
    xr.Dataset({"x": 1}).to_netcdf("x.nc", engine="netcdf4")
    refuses(
        run("report", "x.nc"), "x.nc: The posterior does not come from br.fit or from a command of "
    )
    (folder / "y.nc").write_bytes(b"no netCDF")
    refuses(run("report", "y.nc"), "y.nc is not a readable netCDF file:")


@pytest.fixture
def saved(earlier, light):
    """Copy the posterior of a run, and read its settings."""
    shutil.copy("beers-ranks/posterior.nc", "strange.nc")
    with netCDF4.Dataset("strange.nc") as file:
        return json.loads(file.bayesrank)


def report_with(settings):
    """Report on the copy with other settings."""
    with netCDF4.Dataset("strange.nc", "a") as file:
        file.bayesrank = settings
    return run("report", "strange.nc")


HOSTILE = {
    "open": True, "force": True, "output_dir": "/", "save": "/x", "__class__": 1, "made": None,
    "version": 7, "notes": "none", "command": 1, "kind": "report", "columns": [1], "ordered": 1,
    "top": 0, "ci_prob": 1, "scale": "elf", "sort": "up", "tables": "exe", "title": 7,
}  # fmt: skip
STRANGE_SETTINGS = {"random_seed": -1, "draws": "100", "tune": 1.5, "method": "guess", "x": 1}
STRANGE_ARGUMENTS = {"prior": "flat", "utility_scale": -1, "opinions": "yes", "category": 1, "x": 1}


NO_RUN = "strange.nc: The posterior has a record that no fit writes: "


def test_the_record_of_a_file_has_a_fixed_list_of_names_and_types(saved):
    for name, value in HOSTILE.items():
        result = report_with(json.dumps(saved | {name: value}))
        assert refuses(result, f"{NO_RUN}{name!r} "), name
    for part, strange in (("settings", STRANGE_SETTINGS), ("arguments", STRANGE_ARGUMENTS)):
        for name, value in strange.items():
            result = report_with(json.dumps(saved | {part: saved[part] | {name: value}}))
            assert refuses(result, f"{NO_RUN}{name!r} "), name
    for name in ("settings", "notes", "kind"):
        result = report_with(json.dumps({key: saved[key] for key in saved if key != name}))
        refuses(result, f"{NO_RUN}{name!r} is missing.")


@pytest.mark.parametrize(
    "record",
    ["", "[", "7", "[]", "null", "[" * 100_000, "9" * 5000, '{"seed": NaN}', 7, [1.5, 2.5]],
)
def test_a_record_that_is_not_a_json_object_is_refused(saved, record):
    refuses(report_with(record), NO_RUN)


def test_a_command_of_a_file_is_one_of_bayesrank_and_nothing_else(saved):
    for text in ("rm -r /", "bayesrank rank x; rm -r /", "bayesrank $(x)", "bayesrank 'x"):
        refuses(
            report_with(json.dumps(saved | {"command": text})),
            f"{NO_RUN}'command' cannot be ",
        )


def test_arguments_of_a_file_must_suit_its_data(saved):
    for change in ({"category": "kind"}, {"cluster": "kind"}):
        result = report_with(json.dumps(saved | {"arguments": saved["arguments"] | change}))
        refuses(result, "strange.nc is damaged: KeyError: 'kind'")


def put(group, name, at, value):
    """Change an entry of the copy."""
    with netCDF4.Dataset("strange.nc", "a") as file:
        file[group][name][at] = value


def drop(group, *names):
    """Leave variables out of the copy, or all of a group."""
    with xr.open_datatree("strange.nc", engine="netcdf4") as tree:
        tree.load()
    found = tree[group].to_dataset()
    tree[group] = xr.DataTree(found.drop_vars(names) if names else xr.Dataset())
    tree.to_netcdf("strange.nc", engine="netcdf4")


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda: put("posterior", "utility", (0, 0, 0), np.nan), "utility has invalid draws"),
        (lambda: put("posterior", "utility", (0, 0, 0), 1e200), "utility has invalid draws"),
        (lambda: put("posterior", "item", 0, "stout"), "item has other labels in the post"),
        (lambda: put("constant_data", "y_data", (0, -2, 0), 99), "ValueError: "),
        (lambda: put("constant_data", "y_contents", 0, "{}"), "KeyError: "),
        (lambda: drop("posterior", "utility_scale"), "utility_scale has no draws with"),
        (lambda: drop("constant_data"), "KeyError: "),
        (lambda: drop("observed_data"), "y does not agree with the other data."),
    ],
)  # fmt: skip
def test_a_posterior_that_does_not_fit_its_data_is_refused(saved, damage, sentence):
    damage()
    result = run("report", "strange.nc")
    refuses(result, f"strange.nc is damaged: {sentence}")
    again = "Run the command again: bayesrank rank beers.csv --ranker judge --item beer --rank pl"
    assert again in result.stderr
    assert "To go on" not in result.stderr


def test_numbers_that_round_to_zero_have_no_minus():
    table = pd.DataFrame({"change": [-0.001, -0.2], "n": [1000, 2]}, index=["x", "y"])
    shown = formatted(table, "Item", {"Change": "{change:+.2f}", "N": "{n:,}"})
    assert shown.to_numpy().tolist() == [["+0.00", "1,000"], ["-0.20", "2"]]


def test_changed_bytes_are_a_sentence_or_change_nothing_that_matters(saved):
    content = Path("beers-ranks/posterior.nc").read_bytes()
    rng = np.random.default_rng(9)
    codes = []
    for k in range(6):
        changed = np.frombuffer(content, np.uint8).copy()
        # where there are texts, not the numbers of draws
        texts = np.flatnonzero((changed >= 32) & (changed < 127))
        changed[rng.choice(texts, 3)] = rng.integers(256, size=3)
        # each in a file of its own, as HDF5 remembers those that it has open
        Path(f"strange{k}.nc").write_bytes(changed.tobytes())
        result = run("report", f"strange{k}.nc")
        codes.append(result.exit_code)
        if result.exit_code:
            assert refuses(result, f"strange{k}.nc ")
    assert any(codes)
    Path("half.nc").write_bytes(content[: len(content) // 2])
    refuses(run("report", "half.nc"), "half.nc is not a readable netCDF file: ")


def test_files_of_a_run_change_together_and_those_of_others_stay(
    earlier, folder, light, monkeypatch
):
    out = folder / "beers-ranks"
    (out / "judges.csv").write_text("of an older run", encoding="utf-8")
    (out / "letter.txt").write_text("mine", encoding="utf-8")
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    with monkeypatch.context() as patch:
        patch.setattr("bayesrank.reporting.report.report_html", broken)
        assert run(*SMALL, "--force").exit_code == 1
    shutil.rmtree(left(folder))
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    assert run(*SMALL, "--force").exit_code == 0
    assert sorted(path.name for path in out.iterdir()) == sorted([*FILES, "letter.txt"])


def test_a_second_run_replaces_an_earlier_result_only_when_that_is_asked_for(
    earlier, folder, light, monkeypatch
):
    out = folder / "beers-ranks"
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    monkeypatch.setattr(cli_run, "_fit", lambda *_: pytest.fail("nothing is fitted"))
    words = (
        "Folder beers-ranks already contains an earlier result (checks.csv and 10 more files). "
        "Choose another --output-dir, or replace that result with --force."
    )
    refuses(run(*SMALL), words)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    for path in out.iterdir():
        if path.name != "posterior.nc":
            path.unlink()
    refuses(run(*SMALL), "already contains an earlier result (posterior.nc). Choose")
    (out / "posterior.nc").rename(out / "letter.txt")
    words = "beers-ranks already contains files that are not part of a report (letter.txt)"
    refuses(run(*SMALL), words)


def test_a_saved_posterior_is_replaced_only_when_that_is_asked_for(earlier, folder, light):
    (folder / "mine.nc").write_bytes(b"old")
    given = ("--output-dir", "new", "--save", "mine.nc")
    refuses(run(*SMALL, *given), "File mine.nc already exists. Choose another name for --save, or")
    assert ran(*SMALL, *given, "--force").exit_code == 0
    assert (folder / "mine.nc").stat().st_size > 1000


def test_a_report_may_replace_its_own_files_and_no_others(earlier, folder, light):
    ran("report", "beers-ranks")
    assert light == []  # nothing is sampled again
    shutil.copytree("beers-ranks", "other-ranks")
    words = "Folder other-ranks already contains an earlier result"
    refuses(run("report", "beers-ranks", "--output-dir", "other-ranks"), words)
    ran("report", "beers-ranks", "--output-dir", "other-ranks", "--force")


def test_a_folder_of_a_result_stands_for_its_posterior(earlier, folder, light):
    for name in ("beers-ranks", "beers-ranks/"):
        by_folder = ran("predict", name, "ale", "bock").stdout
        assert by_folder == ran("predict", "beers-ranks/posterior.nc", "ale", "bock").stdout
    (folder / "empty").mkdir()
    for words in (("report", "empty"), ("predict", "empty", "ale", "bock")):
        refuses(run(*words), "Folder empty contains no posterior.nc. Name the folder of a result")
    (folder / "empty/.unfinished-1").mkdir()
    (folder / "beers-ranks/posterior.nc").rename("empty/.unfinished-1/posterior.nc")
    left = "A run that did not finish left empty/.unfinished-1/posterior.nc; name that file"
    refuses(run("report", "empty"), left)


REMOVED_AT = {  # where a run stands when its folder is removed
    "after the fit": "_save_and_report",
    "before it saves": "_write_posterior",
    "after it saved": "_print_ranks",
    "before files are moved": "put_in_place",
}


@pytest.mark.parametrize("where", list(REMOVED_AT))
@pytest.mark.parametrize("ended", [False, True])
def test_a_folder_that_is_removed_during_a_run_does_not_lose_the_posterior(
    earlier, folder, light, monkeypatch, tmp_path_factory, where, ended
):
    temporary = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    name = REMOVED_AT[where]
    real, times = getattr(cli_run, name), []

    def removing(*args, **more):
        if not times:
            times.append(1)
            shutil.rmtree(folder / "beers-ranks")
            if ended and where == "before files are moved":  # another run has ended there
                shutil.copytree(copy, folder / "beers-ranks")
        return real(*args, **more)

    copy = shutil.copytree("beers-ranks", "copy")
    with monkeypatch.context() as patch:
        patch.setattr(cli_run, name, removing)
        result = run(*SMALL, "--force", "--seed", 3)
    assert times == [1]
    if where == "after the fit":
        assert result.exit_code == 0, result.output
        assert not [*temporary.glob("*.nc")]
        return
    assert result.exit_code == 1
    assert "Error: Folder beers-ranks was removed during the run, so the report could not be" in (
        result.stderr
    )
    (kept,) = temporary.glob("bayesrank-*.nc")
    last = result.stderr.splitlines()[-1]
    assert last == f"The posterior is saved. To continue: bayesrank report '{kept}'"
    ran("report", kept)
    page = Path(f"{kept.stem}-ranks/report.html").read_text(encoding="utf-8")
    assert "seed 3</p>" in page


def test_a_folder_that_cannot_be_made_any_more_does_not_lose_the_posterior(
    folder, light, monkeypatch, tmp_path_factory
):
    temporary = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))

    def save(*args):
        (folder / "beers-ranks").write_text("a file", encoding="utf-8")
        return real(*args)

    real = cli_run._save_and_report
    monkeypatch.setattr(cli_run, "_save_and_report", save)
    result = run(*SMALL)
    refuses(result, "Folder beers-ranks cannot be made: File exists.")
    (kept,) = temporary.glob("bayesrank-*.nc")
    assert f"To continue: bayesrank report '{kept}'\n" in result.stderr


def test_results_may_go_into_the_current_folder_or_one_that_is_made(folder, light):
    for place, others in (("a/b", []), (".", ["a", "beers.csv"]), (".", ["a", "beers.csv"])):
        assert run(*SMALL, "--output-dir", place, "--force").exit_code == 0
        names = sorted(path.name for path in (folder / place).iterdir())
        assert names == sorted([*FILES, *others])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_files_are_made_leaves_the_posterior(folder, light, monkeypatch, number):
    monkeypatch.setattr(PREDICTIONS, lambda *_, **__: os.kill(os.getpid(), number))
    result = run(*SMALL)
    assert result.exit_code == 128 + number
    assert result.stderr.splitlines()[-2] == "Interrupted."
    assert "bayesrank report '" in result.stderr.splitlines()[-1]
    assert (left(folder) / "posterior.nc").exists()


def test_a_signal_that_compiled_code_makes_an_error_of_is_still_one(folder, light, monkeypatch):
    def compiled(*_, **__):
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(10)
        except BaseException as interruption:
            raise SystemError("returned a result with an exception set") from interruption

    monkeypatch.setattr(PREDICTIONS, compiled)
    result = run(*SMALL)
    assert result.exit_code == 128 + signal.SIGTERM
    assert "Traceback" not in result.output
    assert "bayesrank report '" in result.stderr.splitlines()[-1]


def test_a_closed_terminal_ends_no_run_that_is_to_go_on_without_one(monkeypatch):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        assert signal.SIGHUP not in stopping()
    finally:
        signal.signal(signal.SIGHUP, before)
    assert {signal.SIGINT, signal.SIGTERM, signal.SIGHUP} == set(stopping())


def test_a_signal_while_files_take_their_place_waits(folder, light, monkeypatch):
    real = os.replace

    def interrupted(path, target):
        if Path(target).parent.name == "beers-ranks":
            os.kill(os.getpid(), signal.SIGTERM)
        real(path, target)

    monkeypatch.setattr(os, "replace", interrupted)
    result = run(*SMALL)
    assert result.exit_code == 128 + signal.SIGTERM
    assert result.stderr.splitlines()[-2] == "Interrupted."
    assert result.stderr.splitlines()[-1].endswith("bayesrank report 'beers-ranks/posterior.nc'")
    assert sorted(path.name for path in (folder / "beers-ranks").iterdir()) == FILES


def test_a_file_name_that_is_not_unicode_is_used(folder, light):
    name = os.fsdecode(b"b\xe9ers.csv")
    (folder / "beers.csv").rename(folder / name)
    ran("rank", name, *COLUMNS, "--rank", "place")
    assert (folder / os.fsdecode(b"b\xe9ers-ranks") / "report.html").exists()


def test_a_posterior_that_cannot_be_saved_beside_the_results_is_saved_elsewhere(
    folder, light, monkeypatch
):
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(elsewhere))
    real = xr.DataTree.to_netcdf

    def full(self, path, **options):
        if path.parent != elsewhere:
            raise OSError(28, "No space left on device", str(path))
        real(self, path, **options)

    monkeypatch.setattr(xr.DataTree, "to_netcdf", full)
    result = run(*SMALL)
    (saved,) = elsewhere.glob("*.nc")
    refuses(result, f"posterior.nc: No space left on device; it is in {saved}.")
    with xr.open_datatree(saved) as tree:
        assert "bayesrank" in tree.attrs
    assert (folder / "beers-ranks" / "report.html").exists()


# What is asked for


def test_results_may_be_data(folder, light):
    result = ran(*SMALL, "--json", "--seed", 1, "--scale", "elo", "--anchor", "bock")
    output = data_of(result)
    for wrong in ({"ranks": [{"item": "ale"}]}, {"fits": "yes"}, {"unheard": 1}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(output | wrong, commands.SCHEMA)
    table = pd.read_csv("beers-ranks/ranks.csv")
    assert [row["item"] for row in output["ranks"]] == table["item"].tolist()
    assert output["ranks"][0]["status"] == "leads"
    assert output["verdict"].startswith(f"{table['item'][0]} leads: mean rank")
    assert output["files"] == [f"beers-ranks/{name}" for name in FILES]
    elo = {row["item"]: (row["elo_low"], row["elo"], row["elo_high"]) for row in output["ranks"]}
    assert elo["bock"] == (1000, 1000, 1000)
    points = 400 / np.log(10) * (table.set_index("item")["mean"] - table["mean"][1])
    assert table["item"][1] == "bock"
    assert [row["elo"] for row in output["ranks"]] == pytest.approx(1000 + points, abs=0.1)
    text = run(*SMALL, "--seed", 1, "--scale", "elo", "--force").stdout
    assert "  P(top 3)  rankings   elo  status\n" in text
    assert int(text.splitlines()[3].split()[-2]) > 1000  # the leader, above the mean
    page = Path("beers-ranks/report.html").read_text(encoding="utf-8")
    assert '<th scope="col">Elo</th>' in page
    assert "<b>Elo</b>: a beer that is d points ahead wins" in page
    assert "a beer beats another with probability 1 / (1 + exp(−difference))" in page
    wrong = run(*SMALL, "--anchor", "stout", "--force")
    refuses(wrong, "--anchor must be an item, but there is no 'stout'.")


def test_the_page_is_shown_when_that_is_asked_for_and_states_the_seed(folder, light, monkeypatch):
    shown = []
    monkeypatch.setattr("click.launch", shown.append)
    assert run(*SMALL, "--open").exit_code == 0
    page = folder / "beers-ranks" / "report.html"
    assert shown == [str(page)]
    assert f"seed {light[0]['random_seed']}</p>" in page.read_text(encoding="utf-8")


# Counts


def two_blocs(rng, folder):
    """Write 240 ballots of two blocs with opposite orders of three islands of items."""
    ballots = ["a > b > c > d"] * 100 + ["d > c > b > a"] * 80 + ["b > a > d > c"] * 40
    ballots += ["c > d > a > b"] * 20
    rng.shuffle(ballots)
    (folder / "each.csv").write_text("\n".join(["ballot", *ballots]), encoding="utf-8")
    counted = [f"{ballot},{ballots.count(ballot)}" for ballot in sorted(set(ballots))]
    (folder / "counted.csv").write_text("\n".join(["ballot,n", *counted]), encoding="utf-8")
    return ("each.csv",), ("counted.csv", "--count", "n")


def test_counted_ballots_and_one_per_line_have_one_verdict(folder, monkeypatch):
    def close(**settings):  # draws close to the mode, as those of 240 ballots
        tree = few(**settings)
        draws = tree["posterior"].to_dataset()
        near = np.array([0.1, 0.0, -0.1, -0.2]) + 0.05 * draws["utility"]
        tree["posterior"] = xr.DataTree(draws.assign(utility=near - near.mean("item")))
        return tree

    no_sampling(monkeypatch, close)
    said = []
    for args in two_blocs(np.random.default_rng(1), folder):
        text = ran("rank", *args, "--ballot", "ballot", "--prior", "zero-sum", "--seed", 1).output
        said.append(re.findall(r"The model (?:does not describe|fits)", text))
        page = Path(args[0].replace(".csv", "-ranks"), "report.html").read_text(encoding="utf-8")
        said.append(re.search(r"The mean gain per ballot is ([-\d.]+ ± [\d.]+)", page)[1])
    assert said[:2] == said[2:]
    assert said[0] == ["The model does not describe"]
    assert "240 ballots, 4 different, of 4 items" in text


@pytest.mark.slow
def test_sampled_answers_for_counted_ballots_have_the_verdict_of_one_per_line(folder):
    said = []
    for args in two_blocs(np.random.default_rng(1), folder):
        text = ran("rank", *args, "--ballot", "ballot", "--seed", 1).output
        said.append(re.findall(r"The model (?:does not describe|fits)", text))
    assert said == [["The model does not describe"]] * 2


def test_ballots_that_count_several_times_are_predicted_as_ballots_of_so_many_voters(
    folder, sampler
):
    ballots = {"a > b > c": 6, "b > a > c": 3, "c > a > b": 2}
    once = [ballot for ballot, n in ballots.items() for _ in range(n)]
    (folder / "many.csv").write_text("\n".join(["ballot", *once]), encoding="utf-8")
    counted = [f"{ballot},{n}" for ballot, n in ballots.items()]
    (folder / "few.csv").write_text("\n".join(["ballot,n", *counted]), encoding="utf-8")
    texts = []
    for args in (("many.csv",), ("few.csv", "--count", "n")):
        ran("rank", *args, "--ballot", "ballot", "--quiet", "--seed", 1)
        page = Path(args[0].replace(".csv", "-ranks"), "report.html").read_text(encoding="utf-8")
        texts.append(re.search(r"The mean gain per ballot is ([-\d.]+ ± [\d.]+)", page)[1])
        texts.append(re.search(r"([\d]+ of 11) rankers worse", page)[1])
    assert texts[:2] == texts[2:]


# Tables in other formats, narrow terminals, predictions, tables elsewhere


def test_tables_may_be_markdown_or_excel(folder, light, monkeypatch):
    assert run(*SMALL, "--tables", "md", "--seed", 1).exit_code == 0
    names = {path.name for path in (folder / "beers-ranks").iterdir()}
    assert {"ranks.md", "counts.md", "pairs.md"} < names
    assert {"ranks.csv", "counts.csv", "pairs.csv"}.isdisjoint(names)
    head, line, first, *_ = Path("beers-ranks/ranks.md").read_text("utf-8").splitlines()
    assert head.startswith("| item | mean_rank | rank_low |")
    assert line.startswith("| :--- | ---: | ---: |")
    assert " | leads | " in first
    page = Path("beers-ranks/report.html").read_text("utf-8")
    assert "ranks.md" in page
    assert "ranks.csv" not in page
    monkeypatch.setattr("bayesrank.cli.run.find_spec", lambda _: None)
    refuses(run(*SMALL, "--tables", "xlsx"), "Install it with pip install 'bayesrank[excel]'")


def test_a_table_in_excel_is_the_table(earlier, light):
    pytest.importorskip("openpyxl")
    assert run(*SMALL, "--tables", "xlsx", "--seed", 5, "--output-dir", "x").exit_code == 0
    sheet = pd.read_excel("x/ranks.xlsx")
    pd.testing.assert_frame_equal(sheet, pd.read_csv("beers-ranks/ranks.csv"), check_dtype=False)


def test_tables_are_as_wide_as_the_terminal_and_whole_in_a_file(earlier, light, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    assert count_columns(commands.Terminal()) == 40
    assert count_columns(io.StringIO()) is None
    whole = ran("report", "beers-ranks", "--force").stdout
    assert "P(top 3)  rankings  status\n" in whole
    monkeypatch.setattr(Talk, "width", 40)
    narrow = ran("report", "beers-ranks", "--force").stdout
    assert "Not shown: rankings, P(top 3)" in narrow
    table = narrow.split("\n\n")[1].splitlines()
    assert max(map(len, table[:4])) <= 40
    assert [row.split()[0] for row in table[1:4]] == [
        row.split()[0] for row in whole.split("\n\n")[1].splitlines()[1:4]
    ]


def test_a_narrow_terminal_breaks_lines_at_spaces(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    text = "item    mean rank\n" + "a note of some length, " * 8 + "x" * 70
    out = wrapped(text, commands.Terminal()).split("\n")
    assert out[0] == "item    mean rank"
    assert max(map(len, out[:-1])) <= 60
    assert out[-1].strip() == "x" * 70
    assert " ".join(" ".join(out[1:]).split()) == " ".join(text.split("\n")[1].split())
    assert wrapped(text, io.StringIO()) == text  # a file gets whole lines


def test_the_next_ranking_is_predicted_from_a_saved_run(saved, folder):
    with xr.open_datatree("strange.nc", engine="netcdf4") as tree:
        draws = tree["posterior"]["utility"].load()
    wanted = 1 / (1 + np.exp(draws.sel(item="cider") - draws.sel(item="ale")))
    result = ran("predict", "strange.nc", "cider", "ale", "--json")
    found = {row["item"]: row for row in json.loads(result.stdout)["predictions"]}
    assert found["ale"]["p_first"] == pytest.approx(float(wanted.mean()), abs=1e-6)
    low, high = wanted.quantile([0.055, 0.945]).values
    assert found["ale"]["p_first_low"] == pytest.approx(low, abs=1e-6)
    assert found["ale"]["p_first_high"] == pytest.approx(high, abs=1e-6)
    assert found["ale"]["mean_rank"] == pytest.approx(2 - found["ale"]["p_first"], abs=1e-5)
    text = run("predict", "strange.nc", "ale", "bock", "cider").stdout
    leader = bayesrank.rank_summary(draws).index[0]
    (sentence,) = re.findall(r"^Among all items.*\.$", text, re.M)
    assert f" {leader} leads" in sentence
    assert len(re.findall("(?:ale|bock|cider) is (?:tied|unclear|behind)", sentence)) == 2
    assert re.search(r"^(bock|ale|cider) is first with probability 0\.\d\d \(0", text, re.M)
    refuses(run("predict", "strange.nc", "ale", "bok"), "no item 'bok' in the posterior. Did you")
    refuses(run("predict", "strange.nc", "ale"), "Name two or more different items.")


def test_a_folder_of_files_is_one_table(earlier, light):
    lines = commands.BEERS.splitlines(keepends=True)
    Path("judges").mkdir()
    for k in range(3):
        rows = "".join([lines[0], *lines[1 + 3 * k : 4 + 3 * k]])
        Path("judges", f"part{k}.csv").write_text(rows, encoding="utf-8")
    options = (*COLUMNS, "--rank", "place", "--seed", 5, "--output-dir", "together")
    result = ran("rank", "judges", *options)
    assert "Note: 3 tables of the folder judges are read as one." in result.stderr
    for name in ("counts.csv", "pairs.csv", "ranks.csv"):
        assert Path("together", name).read_bytes() == Path("beers-ranks", name).read_bytes()


def test_a_table_may_be_at_an_address(earlier, folder, light):
    options = (*COLUMNS, "--rank", "place", "--seed", 5)
    handler = partial(SimpleHTTPRequestHandler, directory=str(folder))
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        result = run("rank", f"{address}/beers.csv", *options, "--output-dir", "there")
        refuses(run("rank", f"{address}/none.csv", *options), "/none.csv cannot be read: ")
        server.shutdown()
    assert result.exit_code == 0, result.output
    for name in ("counts.csv", "pairs.csv", "ranks.csv"):
        assert Path("there", name).read_bytes() == Path("beers-ranks", name).read_bytes()


# Quick answers


@pytest.fixture
def quick(light, monkeypatch):
    """Make an approximation up, and record what was asked for."""
    seen = []

    def fit_inla(model, **settings):
        seen.append(settings)
        with model:
            posterior = few(**settings)
        posterior["posterior"].attrs["approximation"] = "Laplace"
        return posterior

    monkeypatch.setattr(inference, "fit_inla", fit_inla)
    return seen


def test_a_quick_answer_is_marked_as_such_everywhere(folder, light, quick, monkeypatch):
    monkeypatch.setattr("bayesrank.reporting.parts.figure_svg", figure_svg)
    result = ran(*SMALL, "--quick", "--seed", 4)
    enough, watch = (quick[0].pop(name) for name in ("enough", "watch"))
    assert (light, quick) == ([], [{"draws": 1000, "chains": 4, "random_seed": 4}])
    watch(1, 60)
    u = np.random.default_rng(1).normal([0.0, 0.5], size=(4, 1000, 2))
    u = xr.DataArray(u, dims=("chain", "draw", "item"), coords={"item": ["ale", "beer"]})
    drawn = xr.Dataset({"utility": u, "utility_z": u, "utility_scale": xr.ones_like(u[..., 0])})
    assert not enough(drawn.isel(draw=slice(100)))  # probabilities have errors of .02
    assert enough(drawn)
    assert "\nQuick answer: ale leads: mean rank" in result.stdout
    assert "\nThis answer is approximate: a normal distribution around" in result.stdout
    assert "R-hat" not in result.stdout
    page = (folder / "beers-ranks" / "report.html").read_text(encoding="utf-8")
    assert '<p class="made">Quick answer. 20' in page
    assert "<summary>This answer is approximate" in page
    assert pd.read_csv("beers-ranks/ranks.csv")["answer"].unique().tolist() == ["quick"]
    before = (folder / "beers-ranks" / "ranks.svg").read_bytes()
    assert json.loads(run(*SMALL, "--quick", "--json", "--force").stdout)["quick"] is True

    assert run("report", "beers-ranks/posterior.nc").exit_code == 0
    again = (folder / "beers-ranks" / "report.html").read_text(encoding="utf-8")
    assert "This answer is approximate" in again
    assert (folder / "beers-ranks" / "ranks.svg").read_bytes() == before
    full = run(*SMALL, "--full", "--json", "--force")
    assert json.loads(full.stdout)["quick"] is False
    assert (folder / "beers-ranks" / "ranks.svg").read_bytes() != before


def test_a_quick_answer_replaces_long_sampling_and_states_how_to_sample(
    folder, light, quick, monkeypatch
):
    monkeypatch.setattr(inference, "nuts_seconds", lambda *_, **__: 3 * 3600)
    assert run(*SMALL).exit_code == 0  # so small a table is not asked about
    assert (len(light), len(quick)) == (1, 0)
    light.clear()
    monkeypatch.setattr("bayesrank.analysis.fitting.SURELY_SHORT", 0)
    result = ran(*SMALL, "--force")
    assert (len(light), len(quick)) == (0, 1)
    note = notes(result)[-1]
    assert note == (
        "Sampling would take up to 3 hours, and the quick answer about 4 seconds, so this is the "
        "quick answer. To sample, use --full."
    )
    result = run(*SMALL, "--full", "--force")
    assert (len(light), len(quick)) == (1, 1)
    monkeypatch.setattr(inference, "nuts_seconds", lambda *_, **__: 2)
    run(*SMALL, "--force")
    assert (len(light), len(quick)) == (2, 1)
    monkeypatch.setattr(inference, "nuts_seconds", lambda *_, **__: 599)
    run(*SMALL, "--force")  # importance weights are cheaper, but do not certify the draws
    assert (len(light), len(quick)) == (3, 2)


def test_without_a_quick_answer_the_full_one_is_sampled(folder, light, monkeypatch, capsys):
    def no_mode(*_, **__):
        raise ValueError("The data leave the scales open.")

    monkeypatch.setattr(inference, "fit_inla", no_mode)
    result = run(*SMALL, "--quick")
    assert len(light) == 1
    note = notes(result)[-1]
    assert note.endswith("no quick answer, so it is sampled. The data leave the scales open.")
    assert "Quick answer" not in result.output
    light[0]["watch"](0, 6000)
    stderr = result.stderr + capsys.readouterr().err
    assert "Sampling 4 chains of 1,000 draws after 500 tuning steps at most ..." in stderr


# Progress


def test_a_terminal_shows_a_bar_with_rate_and_time_left_that_goes_away(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(sys, "stderr", commands.Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    talk = Talk(start=100.0)
    for done in (0, 1000, 1001, 3000):
        talk.progress(done, 6000)
        now[0] += 0.1 if done == 1000 else 5.0
    talk.stage("Predicting ...")
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", sys.stderr.getvalue())
    lines = [re.sub(r"[\s━╸╺]+", " ", line).strip() for line in re.split("[\r\n]+", plain)]
    assert list(dict.fromkeys(filter(None, lines))) == [
        "[ 0.0 s] 0 of at most 6,000 steps",
        "[ 5.0 s] 1,000 of at most 6,000 steps, 200 a second, at most 0:00:25 left",
        # nothing within a fifth of a second
        "[ 10.1 s] 3,000 of at most 6,000 steps, 297 a second, at most 0:00:11 left",
        "[ 15.1 s] Predicting ...",
        "0:00:00",  # of the stage that begins
    ]
    talk.end_bar()


def test_a_terminal_counts_the_seconds_of_a_stage_without_steps(monkeypatch):
    monkeypatch.setattr(sys, "stderr", commands.Terminal())
    monkeypatch.setenv("TERM", "xterm")
    talk = Talk()
    talk.stage("Approximating ...")
    talk.stage("Done.")
    assert talk.bar is None
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", sys.stderr.getvalue())
    lines = [line.strip() for line in re.split("[\r\n]+", plain) if line.strip()]
    assert re.fullmatch(r"\[ *[\d.]+ s\] Approximating \.\.\.", lines[0])
    assert re.fullmatch(r"\d:\d\d:\d\d", lines[1])
    assert re.fullmatch(r"\[ *[\d.]+ s\] Done\.", lines[-1])


def test_a_log_has_a_plain_line_now_and_then(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    talk = Talk(start=0.0)
    for done in range(0, 6000, 60):
        talk.progress(done, 6000)
        now[0] += 1.0
    assert sys.stderr.getvalue().splitlines() == [
        "[ 30.0 s] 1,800 of at most 6,000 steps, 60 a second, at most 0:01:10 left",
        "[ 60.0 s] 3,600 of at most 6,000 steps, 60 a second, at most 0:00:40 left",
        "[ 90.0 s] 5,400 of at most 6,000 steps, 60 a second, at most 0:00:10 left",
    ]
    quiet = Talk(quiet=True)
    quiet.progress(1, 2)
    assert quiet.bar is None


# What is refused before anything is loaded


def test_bad_tables_are_refused_without_loading_pymc(folder):
    (folder / "bad.csv").write_text("judge,beer,stars\nann,ale,x\n", encoding="utf-8")
    (folder / "empty.csv").touch()
    code = (
        "import sys\nfrom bayesrank.cli import main\n"
        "heavy = 'pymc pytensor arviz matplotlib sklearn numba pandas'.split()\n"
        "for name in ('empty.csv', 'bad.csv'):\n"
        "    try: main(['rank', name, *sys.argv[1:]])\n"
        "    except SystemExit: pass\n"
        "    print([m for m in heavy if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *COLUMNS, "--rating", "stars"], capture_output=True, text=True,
        check=True, env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert [line.split()[0] for line in done.stderr.splitlines()] == ["Error:", "Error:"]
    assert done.stdout.splitlines() == ["[]", "['pandas']"]


# Names that others wrote


def test_predictions_are_of_draws_that_have_a_log_likelihood():
    """Of 1,500 draws every second has one, and of these every second is predicted from."""

    with pm.Model() as model:
        pm.Normal("y", pm.Normal("x"), 1, observed=[0.5])
    draws = {"x": np.zeros((3, 500))}
    posterior = az.from_dict({"posterior": draws})
    job = SimpleNamespace(entries=1, model=model, each=None)
    found = predict(job, posterior, 1)
    kept, drawn = (
        found[group]["draw"].to_numpy() for group in ("log_likelihood", "posterior_predictive")
    )
    assert (len(kept), len(drawn)) == (250, 125)
    assert set(drawn) < set(kept) == set(found["posterior"]["draw"].to_numpy())


@pytest.mark.parametrize(
    ("observed", "figures"),
    [(1.0, ["1.000", "0.990", "0.974", "0.998"]), (0.3, ["0.30", "0.99", "0.97", "1.00"])],
)
def test_values_outside_an_interval_have_enough_digits_to_show_it(observed, figures):
    row = {"observed": observed, "mean": 0.9897, "low": 0.9738, "high": 0.9976}
    assert sections._figures(row) == figures
