"""Mixtures of arrays: what every distribution must do."""

from tests.cases import MIXTURE
from tests.distributions.battery import battery

globals().update(battery(MIXTURE))
