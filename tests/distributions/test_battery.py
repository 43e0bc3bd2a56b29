"""What every distribution must do, in every backend."""

from tests.cases import CASES
from tests.distributions.battery import battery

globals().update(battery(CASES))
