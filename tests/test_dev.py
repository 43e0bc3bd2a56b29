"""The script `dev`: where commands run, and when the environment is kept."""

import shutil
import subprocess
import sys

import pytest

from tests.builders import PACKAGE

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
LOCKS = ("requirements.lock", "requirements-dev.lock")


@pytest.fixture
def project(tmp_path):
    """Copy the script beside an environment that pretends to be made from a lock file."""
    root = tmp_path / "project"
    (root / ".venv" / "bin").mkdir(parents=True)
    shutil.copy(PACKAGE.parent / "dev", root / "dev")
    for name in LOCKS:
        (root / name).write_text(f"# {name}\n", encoding="utf-8")
    (root / ".venv" / "bin" / "python").symlink_to(sys.executable)
    return root


def made_from(root, lock):
    stamp = f'printf "%s %s %s\\n" {lock} "$(cksum <{lock})" "$PWD" >.venv/made-from'
    subprocess.run(["bash", "-c", stamp], cwd=root, check=True)


def call(root, folder, *args, path="/usr/bin:/bin"):
    return subprocess.run(
        ["bash", str(root / "dev"), *args], cwd=folder, env={"PATH": path, "HOME": str(root)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_a_command_runs_in_the_folder_of_the_caller(project, tmp_path):
    made_from(project, "requirements-dev.lock")
    elsewhere = tmp_path / "else where"
    elsewhere.mkdir()
    done = call(project, elsewhere, "run", "bash", "-c", "pwd; echo $PATH")
    assert done.returncode == 0, done.stderr
    folder, path = done.stdout.splitlines()
    assert folder == str(elsewhere)
    assert path.startswith(f"{project}/.venv/bin:")
    assert done.stderr == ""


def test_the_quickstart_takes_the_environment_of_the_tests_and_runs_where_it_is_called(
    project, tmp_path
):
    made_from(project, "requirements-dev.lock")
    command = project / ".venv" / "bin" / "bayesrank"
    command.write_text('#!/bin/sh\necho "$PWD" "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    done = call(project, tmp_path, "quickstart", "--top", "5")
    assert done.stdout == f"{tmp_path} quickstart --top 5\n"
    assert done.stderr == ""


def test_the_environment_of_the_quickstart_grows_and_is_not_made_anew(project, tmp_path):
    made_from(project, "requirements.lock")
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    (bin_ / "uv").write_text('#!/bin/sh\necho "$@" >>"$HOME/asked"\n', encoding="utf-8")
    (bin_ / "uv").chmod(0o755)
    done = call(project, tmp_path, "run", "true", path=f"{bin_}:/usr/bin:/bin")
    assert done.returncode == 0, done.stderr
    assert done.stderr == "dev: adding to .venv what requirements-dev.lock has more\n"
    asked = (project / "asked").read_text(encoding="utf-8")
    assert "requirements-dev.lock" in asked
    assert "venv --quiet" not in asked.replace("--python .venv", "")
    assert (project / ".venv" / "bin" / "python").exists()
    assert call(project, tmp_path, "run", "true").stderr == ""  # nor asked for again


def test_requirements_of_the_site_are_added_once(project, tmp_path):
    made_from(project, "requirements-dev.lock")
    (project / "requirements-docs.lock").write_text("# more\n", encoding="utf-8")
    python = project / ".venv" / "bin" / "python"
    python.unlink()
    python.write_text('#!/bin/sh\necho "$@" >>"$HOME/asked"\n', encoding="utf-8")
    python.chmod(0o755)
    for message in ("adding to .venv what requirements-docs.lock has more\n", "the first page is"):
        done = call(project, tmp_path, "docs")
        assert done.returncode == 0, done.stderr
        assert done.stderr.startswith(f"dev: {message}")
    asked = (project / "asked").read_text(encoding="utf-8").splitlines()
    assert ["-r requirements-docs.lock" in line for line in asked] == [True, False, False]
    assert all("--fail-on-warning" in line for line in asked[1:])


@pytest.mark.parametrize(
    ("command", "called"),
    [("lint", "ruff check . --fix"), ("format", "ruff format . --fix"), ("types", "mypy --fix")],
)
def test_style_and_types_are_commands(project, tmp_path, command, called):
    made_from(project, "requirements-dev.lock")
    for name in ("ruff", "mypy"):
        tool = project / ".venv" / "bin" / name
        tool.write_text('#!/bin/sh\necho "${0##*/}" "$@"\n', encoding="utf-8")
        tool.chmod(0o755)
    assert call(project, tmp_path, command, "--fix").stdout == f"{called}\n"
