"""Checkpoints, from which a search continues after a process is lost.

A file holds the whole state of a search. It is written under a temporary name and then moved, so a
killed process leaves the previous file intact. With several processes, the first one writes and
reads the file and sends the state to the others.
"""

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.experimental import multihost_utils

from bayesrank.jax.log_density import LogDensity

__all__ = ["Checkpoint"]

SAME = 1e-9  # relative difference of log densities of the same data on different devices


class Checkpoint:
    """The file of a search, identified by the shapes of its variables and its first log density.

    Without a path, nothing is read or written.
    """

    def __init__(
        self, path: str | os.PathLike[str] | None, density: LogDensity, data: Mapping[str, Any]
    ) -> None:
        self.path = None if path is None else Path(path)
        if path is not None:
            start = density.start()
            self.shapes = json.dumps({name: list(np.shape(x)) for name, x in start.items()})
            self.logp = float(jax.jit(density.logp)(start, dict(data)))

    def read(self, begin: Any) -> Any:
        """Return the state in the file, or the initial state."""
        if self.path is None:
            return begin
        leaves, tree = jax.tree.flatten(jax.tree.map(np.asarray, begin))
        first = jax.process_index() == 0
        found = self._load() if first and self.path.exists() else None
        if jax.process_count() > 1:
            if not multihost_utils.broadcast_one_to_all(np.array(found is not None)):
                return begin
            found = multihost_utils.broadcast_one_to_all(found or leaves)
        if found is None:
            return begin
        same = zip(leaves, found, strict=True)
        return jax.tree.unflatten(tree, [np.asarray(y, dtype=x.dtype) for x, y in same])

    def write(self, state: Any) -> None:
        """Replace the file, completely or not at all."""
        if self.path is None or jax.process_index() != 0:
            return
        leaves = {f"leaf_{k}": np.asarray(x) for k, x in enumerate(jax.tree.leaves(state))}
        folder, prefix = self.path.parent, f".{self.path.name}."
        with tempfile.NamedTemporaryFile(dir=folder, prefix=prefix, delete=False) as file:
            try:
                np.savez(file, shapes=self.shapes, logp=self.logp, **leaves)  # type: ignore[arg-type]
                file.flush()
                os.fsync(file.fileno())
                Path(file.name).replace(self.path)
            except BaseException:
                Path(file.name).unlink(missing_ok=True)
                raise

    def _load(self) -> list[Any]:
        with np.load(self.path) as file:  # type: ignore[arg-type]
            shapes, logp = str(file["shapes"]), float(file["logp"])
            if shapes != self.shapes or not np.isclose(logp, self.logp, rtol=SAME, atol=SAME):
                raise ValueError(
                    f"{str(self.path)!r} belongs to another search. Expected the shapes "
                    f"{self.shapes} and the initial log density {self.logp:.10g}; the file has "
                    f"{shapes} and {logp:.10g}. Delete it to start again, or give another "
                    "`checkpoint`."
                )
            return [file[f"leaf_{k}"] for k in range(len(file.files) - 2)]
