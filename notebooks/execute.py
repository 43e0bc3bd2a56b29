"""Execute the notebooks, and store them with their outputs.

Run ``./dev run python notebooks/execute.py``, which does all of them, or name some:
``./dev run python notebooks/execute.py notebooks/1_first_ranking.ipynb``. A file is written whole,
after its last cell has run, or not at all. What changes from run to run and says nothing (times,
versions, ids) is not stored.
"""

import argparse
import os
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parent
STRICT = """import warnings
warnings.simplefilter("error")  # as pytest is configured
warnings.filterwarnings("ignore", module="ipykernel")  # the kernel's own, as it shuts down
"""
KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}


def notebooks() -> list[Path]:
    """All notebooks, in their order."""
    return sorted(FOLDER.glob("*.ipynb"))


def execute(path: Path, *, toy: bool = False) -> nbformat.NotebookNode:
    """Run all cells of a notebook in a fresh kernel, in which warnings are errors.

    Parameters
    ----------
    path : path
        The notebook, which is read and not written.
    toy : bool
        Few draws: whether it runs, rather than what it shows.

    Returns
    -------
    NotebookNode
        With its outputs.

    Raises
    ------
    CellExecutionError
        If a cell raises, as an assertion that does not hold does.
    """
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(STRICT))
    client = NotebookClient(
        notebook,
        timeout=900,
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": str(FOLDER)}},  # where it runs
        extra_arguments=["--log-level=ERROR"],  # of the kernel itself
    )
    # Figures become outputs of cells, whatever this process draws with.
    backend = {"MPLBACKEND": "module://matplotlib_inline.backend_inline"}
    # This package, installed or not
    packages = os.pathsep.join(filter(None, [str(FOLDER.parent), os.environ.get("PYTHONPATH")]))
    client.execute(
        env=os.environ | backend | {"PYTHONPATH": packages, "BAYESRANK_TOY": "1" if toy else "0"}
    )
    del notebook.cells[0]
    return notebook


def tidy(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Keep what a reader sees: cells, outputs and counts, without what only a machine knows."""
    notebook.metadata = nbformat.from_dict(
        {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    )
    run = 0
    for number, cell in enumerate(notebook.cells, start=1):
        cell.id = f"cell-{number}"
        cell.metadata = nbformat.from_dict({})
        if cell.cell_type != "code" or cell.execution_count is None:
            continue
        run += 1
        cell.execution_count = run
        for output in cell.outputs:
            if "metadata" in output:
                output.metadata = nbformat.from_dict({})
            if "execution_count" in output:
                output.execution_count = run
    nbformat.validate(notebook)
    return notebook


def write(notebook: nbformat.NotebookNode, path: Path) -> None:
    """Put the file in place when all of it is written."""
    part = path.with_suffix(".part")
    try:
        part.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Execute notebooks and store their outputs.")
    parser.add_argument("notebook", nargs="*", type=Path, help="which; all by default")
    for path in parser.parse_args().notebook or notebooks():
        start = time.perf_counter()
        write(tidy(execute(path)), path)
        print(
            f"{path.name}: {time.perf_counter() - start:.0f} s, {path.stat().st_size / 1000:.0f} kB"
        )
