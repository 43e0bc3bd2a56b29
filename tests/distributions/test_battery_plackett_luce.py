"""Plackett-Luce: what every distribution must do, in every backend."""

from tests.cases import PLACKETT_LUCE
from tests.distributions.battery import battery

globals().update(battery(PLACKETT_LUCE))
