"""The gallery as a whole: what its files import, which files a folder has, which commands exist."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.builders import GALLERY, ROOT

FILES = sorted(GALLERY.rglob("*.py"))
FOLDERS = sorted({path.parent for path in FILES})

# What other folders use: no model of its own
SHARED = {"shared"}
# Pages, each with a model of its own
PAGES = {"howto"}
# Wings are rooms below a room; what else of the package is no folder is imported as it is.
WINGS = {"data", "likelihoods"}
# Files that the public names come from, since their rooms import nothing at once
FILES_OF_NAMES = {"analysis.leaderboard", "analysis.auditing", "reporting.page.files"}


def imported(source: str) -> Iterator[tuple[str, str]]:
    """Modules and names that a file imports, the whole module as "*"."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "*") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", alias.name) for alias in node.names)


def is_door(module: str) -> bool:
    """Whether a module of the package is a room, a wing, or a file beside the rooms or wings."""
    _, *rest = module.split(".")
    if ".".join(rest) in FILES_OF_NAMES:
        return True
    n_folders = 2 if rest and rest[0] in WINGS else 1
    return len(rest) <= n_folders


def is_exported(module: str, name: str) -> bool:
    """Whether a room or wing lists the name, or a file has it."""
    path = ROOT / Path(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    if name == "*":
        return path.exists()
    public = re.search(r"__all__ = \[(.*?)\]", path.read_text(encoding="utf-8"), re.DOTALL)
    return public is not None and f'"{name}"' in public[1]


def texts() -> Iterator[tuple[str, str]]:
    """Everything that may name a command."""
    for folder in (ROOT, ROOT / "docs", ROOT / "notebooks", GALLERY, ROOT / "bayesrank"):
        below = folder.rglob if folder != ROOT else folder.glob
        for suffix in ("*.md", "*.py", "*.ipynb"):
            for path in below(suffix):
                yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")


def has_main(source: str) -> bool:
    return re.search(r'^if __name__ == "__main__":$', source, re.MULTILINE) is not None


def test_the_gallery_imports_rooms_and_wings_only():
    for path in FILES:
        for module, name in imported(path.read_text(encoding="utf-8")):
            if not module.startswith("bayesrank."):
                continue
            assert is_door(module), f"{path} reaches into {module}"
            assert is_exported(module, name), f"{path}: {module} does not export {name}"


def test_an_import_below_a_room_is_caught():
    assert is_door("bayesrank.data")
    assert is_door("bayesrank.data.read")
    assert is_door("bayesrank.likelihoods.pairs")
    assert not is_door("bayesrank.data.read.labels")
    assert not is_door("bayesrank.inference.approximation.modes")
    assert is_exported("bayesrank.inference", "climb")
    assert is_exported("bayesrank.analysis.leaderboard", "nuts_settings")
    assert not is_exported("bayesrank.inference", "constrained")


def test_every_folder_has_a_model_and_a_line_in_the_list():
    lines = (GALLERY / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| \[(\w+)\]\((\w+)\)", lines, re.MULTILINE)
    assert all(name == link for name, link in listed)
    names = {folder.name for folder in FOLDERS} - SHARED
    assert sorted(name for name, _ in listed) == sorted(names)
    for name in names - PAGES:
        assert (GALLERY / name / "model.py").is_file()


def test_figures_stand_in_results_and_not_in_docstrings():
    for path in FILES:
        source = path.read_text(encoding="utf-8")
        text = ast.get_docstring(ast.parse(source)) or ""
        assert len(text.splitlines()) <= 75, path
        assert not re.search(r"^Results[^\n]*\n-", text, re.MULTILINE), path
        if "``RESULTS.md``" in text:
            assert (path.parent / "RESULTS.md").is_file(), path
    for folder in FOLDERS:
        if (folder / "RESULTS.md").is_file():
            model = (folder / "model.py").read_text(encoding="utf-8")
            others = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.py"))
            assert "``RESULTS.md``" in model + others, folder


def test_rows_of_tables_of_results_have_as_many_cells_as_their_heads():
    for path in GALLERY.rglob("*.md"):
        width = 0
        for line in path.read_text(encoding="utf-8").splitlines():
            cells = line.count("|") if line.startswith("|") else 0
            assert cells in (0, width) or not width, (path, line)
            width = cells


def test_every_command_that_is_named_exists():
    named: dict[str, str] = {}
    for where, text in texts():
        named |= dict.fromkeys(re.findall(r"python -m (models(?:\.[a-z_]+)+)", text), where)
    assert len(named) > 20
    for module, where in named.items():
        path = ROOT / Path(*module.split(".")).with_suffix(".py")
        assert path.is_file(), f"{where} names {module}"
        assert has_main(path.read_text(encoding="utf-8")), f"{module} is no program"


def test_every_program_says_how_it_is_run():
    for path in FILES:
        source = path.read_text(encoding="utf-8")
        if has_main(source):
            module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            # guides run without a checkout
            command = path.name if path.parent.name == "howto" else f"-m {module}"
            assert f"``python {command}" in (ast.get_docstring(ast.parse(source)) or ""), module


def test_every_link_to_the_gallery_leads_somewhere():
    for folder in (ROOT, ROOT / "docs", ROOT / "notebooks", GALLERY):
        for path in folder.rglob("*.md") if folder == GALLERY else folder.glob("*.md"):
            for link in re.findall(r"\]\(([^)#:]+)\)", path.read_text(encoding="utf-8")):
                if link.startswith("api/"):  # pages that the site's command makes
                    continue
                assert (path.parent / link).exists(), f"{path} links to {link}"
