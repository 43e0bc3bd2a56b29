"""Load PyMC for one command."""

import atexit
import gc
import importlib
import sys


def load_pymc() -> None:
    """Import what fits need, and make garbage collection rare, which saves a fifth of the time.

    Imports leave no garbage, and the graphs of one command leave little. PyTensor does not record
    the lines of code that make each variable, which takes a tenth of the time of building graphs.
    """
    if "bayesrank.inference" in sys.modules:
        return
    gc.disable()
    try:
        importlib.import_module("bayesrank.inference")
        importlib.import_module("pytensor").config.traceback__limit = 0
    finally:
        gc.freeze()  # imported modules stay in memory
        gc.set_threshold(200_000, 100, 100)
        gc.enable()
    atexit.register(gc.freeze)  # a last collection at exit would take half a second
    if "jaxlib" not in sys.modules:
        # ArviZ puts a lazy module there, which imports JAX when matplotlib inspects it.
        sys.modules.pop("jax", None)
