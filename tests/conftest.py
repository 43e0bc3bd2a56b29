"""What all tests share: the data sets that are not in the repository, seeds, and no display."""

import os
from pathlib import Path

import numpy as np
import pytest

# Before anything imports pyplot: figures are drawn into memory, with or without a display.
os.environ["MPLBACKEND"] = "Agg"


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
