"""What all tests share: how graphs are compiled, cores, data sets, seeds, no display.

It stands at the top because the doctests in the package need it as well.
"""

import os
import re
from pathlib import Path

import numpy as np
import pytest

# Before anything imports pyplot: figures are drawn into memory, with or without a display.
os.environ["MPLBACKEND"] = "Agg"

# Before anything imports PyTensor: graphs run in Python, calling the same `perform` as other modes,
# because compiling them by numba (27 CPU seconds for one log-probability) is what a suite of small
# examples would spend its time on. Tests that are about a backend name it. Workers and the
# processes that tests start inherit this; a mode in the flags that are given wins.
FLAGS = os.environ.get("PYTENSOR_FLAGS", "")
if not re.search(r"(^|,)\s*mode\s*=", FLAGS):
    os.environ["PYTENSOR_FLAGS"] = ",".join(filter(None, [FLAGS, "mode=FAST_COMPILE"]))


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Run the whole suite on all cores, and tests that are named in this process alone."""
    if config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return 0
    # The workers inherit this: a core each, not all cores each.
    libraries = ("OMP", "OPENBLAS", "MKL", "NUMBA")
    os.environ.update({f"{library}_NUM_THREADS": "1" for library in libraries})
    return None  # as many as there are cores


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Give the folder of data sets that may not be redistributed."""
    name = os.environ.get("BAYESRANK_DATA")
    if not name:
        pytest.skip("needs the data sets that are not bundled: set BAYESRANK_DATA to their folder")
    folder = Path(name)
    # A wrong name must not pass for a missing one.
    assert folder.is_dir(), f"BAYESRANK_DATA is {name!r}, which is not a folder"
    return folder


@pytest.fixture
def rng() -> np.random.Generator:
    """Give a fresh generator with a fixed seed to each test."""
    return np.random.default_rng(20020217)
