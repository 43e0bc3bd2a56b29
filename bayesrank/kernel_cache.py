"""Keep the compiled kernels of an installed package in PyTensor's cache folder.

By default, numba keeps kernels in the ``__pycache__`` folders of the package, which ``pip
uninstall`` does not remove. A checkout keeps them there, so that deleting it removes them.

Modules with kernels import this module before they compile any. It also imports PyTensor's cache,
which gives compiled functions names that are unique across processes. Numba itself numbers them per
process. Kernels loaded from its cache under the same name are then confused, and the process
crashes (numba issue 10486).

A full disk may cut off files of the cache. Kernels that cannot be read are compiled again.
"""

import warnings
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import Cache, CacheImpl, UserWideCacheLocator
from pytensor.link.numba.cache import NUMBA_CACHE_PATH

PACKAGE = Path(__file__).parent


class DamagedCacheWarning(UserWarning):
    """Compiled code could not be read, and is compiled again."""


class InstalledKernels(UserWideCacheLocator):
    """Cache of the kernels of an installed package."""

    def __init__(self, py_func: Any, py_file: str) -> None:
        super().__init__(py_func, py_file)
        self._cache_path = str(NUMBA_CACHE_PATH / self.get_suitable_cache_subpath(py_file))

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> "InstalledKernels | None":
        """Find the folder of a function; None, as for a read-only folder, leaves it to numba."""
        ours = Path(py_file).is_relative_to(PACKAGE)
        installed = {"site-packages", "dist-packages"}.intersection(PACKAGE.parts)
        if not ours or not installed or numba.config.CACHE_DIR:
            return None
        found: InstalledKernels | None = super().from_function(py_func, py_file)
        return found


def load_or_discard(cache: Any, sig: Any, target_context: Any) -> Any:
    """Load a kernel; if that fails, discard what is kept of the function, and return None.

    Numba then compiles the function and keeps it again.
    """
    try:
        return _load(cache, sig, target_context)
    except (MemoryError, OSError):  # the files may be complete
        raise
    except Exception as error:  # pickle and LLVM raise errors of many types
        Path(cache._cache_file._index_path).unlink(missing_ok=True)
        # The text names no function, so that Python shows it once for a folder.
        warnings.warn(
            f"Some compiled code in {cache.cache_path} could not be read "
            f"({type(error).__name__}), so it is compiled again.",
            DamagedCacheWarning,
            stacklevel=1,
        )
        return None


CacheImpl._locator_classes.insert(0, InstalledKernels)
_load = Cache._load_overload
Cache._load_overload = load_or_discard
