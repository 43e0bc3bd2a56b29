"""What tests of pictures share: no figure is left open."""

import matplotlib.pyplot as plt
import pytest


@pytest.fixture(autouse=True)
def no_figure_left():
    """Close what a test drew."""
    yield
    plt.close("all")
