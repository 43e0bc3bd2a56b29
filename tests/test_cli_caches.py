"""Where compiled code is kept: elsewhere, if it must be, and anew if it cannot be read."""

import os
import subprocess
import sys
import tempfile
import warnings
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numba
import pytest
from numba.core.caching import IndexDataCacheFile

from bayesrank import kernel_cache
from bayesrank.analysis.fitting import tell_compiling
from bayesrank.cli.caches import FLAGS, find_cache
from bayesrank.cli.console import Talk, errors_as_sentences
from bayesrank.cli.warm_up import RUNS


@pytest.fixture
def fresh(monkeypatch, tmp_path):
    """Make a process that has not imported PyTensor, with a home and a temporary folder."""
    monkeypatch.delitem(sys.modules, "pytensor", raising=False)
    monkeypatch.delenv(FLAGS, raising=False)
    monkeypatch.delenv("MPLCONFIGDIR", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", os.environ["PATH"])
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return monkeypatch


def test_a_home_that_can_be_written_to_changes_nothing(fresh, tmp_path):
    assert find_cache() is None
    assert FLAGS not in os.environ
    assert (tmp_path / ".pytensor").is_dir()


@pytest.mark.parametrize("flags", ["", "floatX=float64", "base_compiledir=/dev/null/x,cxx="])
def test_without_a_home_compiled_code_goes_to_a_folder_that_is_named(fresh, tmp_path, flags):
    fresh.setenv("HOME", "/dev/null")
    fresh.setenv(FLAGS, flags)
    note = find_cache()
    (made,) = tmp_path.glob("bayesrank-*")
    assert "/dev/null/" in note
    assert f"so this run compiles it again in {made}." in note
    given = os.environ[FLAGS].split(",")
    assert given[-1] == f"base_compiledir={made}"
    assert given[:-1] == [part for part in flags.split(",") if part and "dir" not in part]


def test_a_user_whom_the_system_does_not_know_needs_no_home(fresh, tmp_path):
    fresh.delenv("HOME")
    fresh.setattr(os.path, "expanduser", lambda path: path)  # as for a user without a name
    fresh.chdir(tmp_path)
    note = find_cache()
    assert "cannot be kept in ~/.pytensor (Could not determine home directory), so" in note
    assert not Path("~").exists()
    assert os.environ["HOME"] == os.environ["MPLCONFIGDIR"]  # PyTensor does not start without one


def test_a_path_is_there_for_the_compiler(fresh):
    fresh.delenv("PATH")
    find_cache()
    assert os.environ["PATH"] == os.defpath


def kept_function(path):
    """Compile a function, and return its files: the index, then the code."""
    module = module_from_spec(spec_from_file_location("twice", path))
    module.__spec__.loader.exec_module(module)
    assert module.twice(2) == 4
    files = [*path.parent.rglob("twice.twice-*")]
    return sorted(files, key=lambda file: file.suffix, reverse=True)


@pytest.mark.parametrize("cut", [0, 1])
@pytest.mark.parametrize("length", [0, 40, -1])
def test_compiled_code_that_is_cut_off_is_compiled_again_with_a_note(
    monkeypatch, tmp_path, capsys, cut, length
):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    path = tmp_path / "twice.py"
    path.write_text("import numba\n@numba.njit(cache=True)\ndef twice(x): return 2 * x\n")
    files = kept_function(path)
    assert [file.suffix for file in files] == [".nbi", ".nbc"]
    whole = [file.read_bytes() for file in files]
    files[cut].write_bytes(whole[cut][:length])
    with errors_as_sentences() as talk:
        kept_function(path)
    assert talk.notes == []  # it is about the computer, not about the data
    stderr = capsys.readouterr().err
    assert f"Some compiled code in {files[0].parent} could not be read (" in stderr
    assert stderr.endswith("), so it is compiled again.\n")
    with warnings.catch_warnings(action="error"):
        kept_function(path)
    assert files[0].read_bytes() == whole[0]


def test_compiled_code_that_may_not_be_read_stays(monkeypatch, tmp_path):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    path = tmp_path / "twice.py"
    path.write_text("import numba\n@numba.njit(cache=True)\ndef twice(x): return 2 * x\n")
    index, _ = kept_function(path)

    def closed(*_):
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(IndexDataCacheFile, "load", closed)
        with pytest.raises(PermissionError):
            kept_function(path)
    assert index.exists()


@pytest.mark.slow
def test_a_run_with_a_cache_that_is_cut_off_ends_well(tmp_path):
    environment = os.environ | {
        FLAGS: f"base_compiledir={tmp_path / 'compiled'}",
        "NUMBA_CACHE_DIR": str(tmp_path / "numba"),
    }
    command = [sys.executable, "-m", "bayesrank", "quickstart", "--force", "--seed", "1"]

    def stderr():
        done = subprocess.run(
            command, env=environment, cwd=tmp_path, check=True, capture_output=True, text=True
        )
        return done.stderr

    stderr()
    cut = [path for path in tmp_path.rglob("*") if path.suffix in (".nbi", ".nbc", ".pkl")]
    assert len(cut) > 10
    for path in cut:
        os.truncate(path, path.stat().st_size // 2)
    again = stderr()
    assert "could not be read (" in again
    assert "Compiling once" in again
    assert "Compiling once" not in stderr()


@pytest.mark.parametrize("installed", [True, False])
def test_kernels_of_an_installed_package_are_kept_outside_of_it(monkeypatch, tmp_path, installed):
    home = tmp_path / ("site-packages" if installed else "checkout") / "bayesrank"
    home.mkdir(parents=True)
    source = "import numba\n@numba.njit(cache=True)\ndef twice(x): return 2 * x\n"
    (home / "twice.py").write_text(source)
    monkeypatch.setattr(kernel_cache, "PACKAGE", home)
    monkeypatch.setattr(kernel_cache, "NUMBA_CACHE_PATH", tmp_path / "kept")
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    spec = spec_from_file_location("twice", home / "twice.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.twice(2) == 4
    folder, other = (tmp_path / "kept", home) if installed else (home, tmp_path / "kept")
    assert {path.suffix for path in folder.rglob("twice.twice-*")} == {".nbi", ".nbc"}
    assert not [*other.rglob("twice.twice-*")]


def test_compiling_is_reported_once_and_only_with_a_cache(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    talk, kept = Talk(), numba.njit(cache=True)
    doubled = kept(lambda x: 2 * x)
    tripled = kept(lambda x: 3 * x)
    with tell_compiling(talk.compiling):
        assert doubled(1) + tripled(1) == 5
    assert capsys.readouterr().err.count("Compiling once; later runs skip this step") == 1
    with tell_compiling(lambda: pytest.fail("there was nothing to compile")):
        assert doubled(2) == 4
    with tell_compiling(lambda: pytest.fail("the next run will compile it again")):
        assert numba.njit(lambda x: 4 * x)(1) == 4


@pytest.mark.slow
def test_a_run_after_warming_up_compiles_nothing(tmp_path):
    environment = os.environ | {
        FLAGS: f"base_compiledir={tmp_path / 'compiled'}",
        "NUMBA_CACHE_DIR": str(tmp_path / "numba"),
    }

    def messages(*args):
        command = [sys.executable, "-m", "bayesrank", *args]
        done = subprocess.run(
            command, env=environment, cwd=tmp_path, check=True, capture_output=True, text=True
        )
        return done.stderr

    table = tmp_path / "table.csv"
    text, (command, *options) = RUNS["matches with judges"]
    table.write_text(text, "utf-8")
    once = "Compiling once"
    assert once in messages(command, str(table), *options)
    warming = messages("warm-up")
    assert all(f"Compiling for {name} ..." in warming for name in RUNS)
    for again in (["quickstart"], [command, str(table), *options, "--force"]):
        assert once not in messages(*again)
