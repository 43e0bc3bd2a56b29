"""MPM: what every distribution must do, in every backend."""

from tests.cases import MPM
from tests.distributions.battery import battery

globals().update(battery(MPM))
