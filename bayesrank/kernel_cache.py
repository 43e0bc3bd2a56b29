"""Where numba keeps compiled kernels: of an installed package, in PyTensor's folder.

By default numba keeps them in the ``__pycache__`` folders of the package, where ``pip uninstall``
does not find them. A checkout keeps them there, so that they go when it goes.

Whatever has kernels imports this module before it compiles any. It also imports PyTensor's cache,
which gives compiled functions names that no other process gives. Numba counts them anew in each
process, and kernels loaded from its cache under one name are taken for one another, which crashes
(numba issue 10486).
"""

from pathlib import Path
from typing import Any

import numba
from numba.core.caching import CacheImpl, UserWideCacheLocator
from pytensor.link.numba.cache import NUMBA_CACHE_PATH

PACKAGE = Path(__file__).parent


class InstalledKernels(UserWideCacheLocator):
    """Kernels of the package, if it stands where installers put packages."""

    def __init__(self, py_func: Any, py_file: str) -> None:
        super().__init__(py_func, py_file)
        self._cache_path = str(NUMBA_CACHE_PATH / self.get_suitable_cache_subpath(py_file))

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> "InstalledKernels | None":
        """Find the folder of a function; None leaves it to numba, as if it cannot be written to."""
        ours = Path(py_file).is_relative_to(PACKAGE)
        installed = {"site-packages", "dist-packages"}.intersection(PACKAGE.parts)
        if not ours or not installed or numba.config.CACHE_DIR:
            return None
        found: InstalledKernels | None = super().from_function(py_func, py_file)
        return found


CacheImpl._locator_classes.insert(0, InstalledKernels)
