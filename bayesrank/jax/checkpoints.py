"""Files from which a search goes on: after a lost process, or on another day.

A file holds the whole state of a search after some of its steps. It is written beside its place
and then moved there, so that whoever is killed while writing leaves the file of before. Steps are
the same whether the state comes from a file or from the step before: a search that was cut off ends
where it would have ended, up to the rounding by which runs of several processes differ.

With several processes all have the same state. The first one writes, reads and tells the others,
so that they need no folder in common.
"""

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import jax
import numpy as np
from jax.experimental import multihost_utils

from bayesrank.jax.log_density import LogDensity

__all__ = ["Checkpoint"]

SAME = 1e-9  # relative difference of log densities of the same data, on other devices


class Checkpoint:
    """The file of a search, and what says that it is this search: model, data and settings."""

    def __init__(self, path: Path | None, told: str, height: float) -> None:
        self.path, self.told, self.height = path, told, height

    @classmethod
    def of(
        cls,
        path: str | os.PathLike[str] | None,
        density: LogDensity,
        data: Mapping[str, Any],
        settings: Mapping[str, Any],
    ) -> Self:
        """Describe a search; without a path nothing is read or written."""
        if path is None:
            return cls(None, "", 0.0)
        at = density.start()
        shapes = {name: list(np.shape(x)) for name, x in at.items()}
        # of other data the log density is another
        height = float(jax.jit(density.logp)(at, dict(data)))
        return cls(Path(path), json.dumps({"variables": shapes, **settings}), height)

    def read(self, begin: Any) -> Any:
        """Give the state in the file; where there is none yet, the one to begin with."""
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
        """Put a state in the place of the last one: all of it, or nothing."""
        if self.path is None or jax.process_index() != 0:
            return
        leaves: dict[str, Any] = {
            f"leaf_{k}": np.asarray(x) for k, x in enumerate(jax.tree.leaves(state))
        }
        with tempfile.NamedTemporaryFile(
            dir=self.path.parent, prefix=f".{self.path.name}.", delete=False
        ) as file:
            try:
                np.savez(file, told=self.told, height=self.height, **leaves)
                file.flush()
                os.fsync(file.fileno())
                Path(file.name).replace(self.path)
            except BaseException:
                Path(file.name).unlink(missing_ok=True)
                raise

    def _load(self) -> list[Any]:
        with np.load(self.path) as file:  # type: ignore[arg-type]
            told, height = str(file["told"]), float(file["height"])
            if told != self.told or not np.isclose(height, self.height, rtol=SAME, atol=SAME):
                raise ValueError(
                    f"{str(self.path)!r} is of another search: of {told} with the log density "
                    f"{height:.10g} at the start, and this one is of {self.told} with "
                    f"{self.height:.10g}. Delete the file to begin anew, or name another."
                )
            return [file[f"leaf_{k}"] for k in range(len(file.files) - 2)]
