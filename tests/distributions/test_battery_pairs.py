"""Models of pair outcomes: what every distribution must do, in every backend."""

from tests.cases import PAIRS
from tests.distributions.battery import battery

globals().update(battery(PAIRS))
