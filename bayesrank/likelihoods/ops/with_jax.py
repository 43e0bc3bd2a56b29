"""What is done as soon as PyTensor's translations to JAX are imported, and not before.

JAX takes a second to import. Whoever evaluates a model by it imports these translations, and then
ours have to be among them; whoever does not should not wait for it.
"""

import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

__all__ = ["with_jax"]

DISPATCH = "pytensor.link.jax.dispatch"
_waiting: list[Callable[[], None]] = []


def with_jax(translate: Callable[[], None]) -> Callable[[], None]:
    """Call a function once PyTensor's translations to JAX are imported: now, if they are."""
    if DISPATCH in sys.modules:
        translate()
    else:
        _waiting.append(translate)
    return translate


class _Watch(MetaPathFinder):
    """Finds the translations as others do, and has those that wait called after their import."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != DISPATCH:
            return None
        sys.meta_path.remove(self)  # the others find it, and it is imported once
        spec = find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        loader: Any = spec.loader
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            try:
                execute(module)
            except ImportError:  # JAX is not there, and may be later
                sys.meta_path.insert(0, self)
                raise
            while _waiting:
                _waiting.pop(0)()

        loader.exec_module = exec_module
        return spec


sys.meta_path.insert(0, _Watch())
