"""PMOP: what every distribution must do, in every backend."""

from tests.cases import PMOP
from tests.distributions.battery import battery

globals().update(battery(PMOP))
