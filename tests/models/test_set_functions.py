"""Set functions: values from the definitions, gradients, extreme utilities, what users write."""

import numpy as np
import pytest

from models.pmop_sampling.model import (
    SET_FUNCTIONS,
    each_set,
    evaluate,
    set_gradient,
)
from tests.models.enumeration import all_sets, log_phis
from tests.oracles import gradient

# Φ of the worths of the members, as the definitions have it
DEFINITIONS = {
    "mean": np.mean,
    "max": np.max,
    "min": np.min,
    "geometric": lambda worth: np.prod(worth) ** (1 / worth.size),
    "harmonic": lambda worth: worth.size / np.sum(1 / worth),
}

each_name = pytest.mark.parametrize("name", SET_FUNCTIONS)


@each_name
def test_a_set_function_is_its_definition(name, rng):
    w = rng.normal(size=5)
    value = SET_FUNCTIONS[name](w, all_sets(5))
    np.testing.assert_allclose(value, log_phis(DEFINITIONS[name], w), rtol=0, atol=1e-13)


@each_name
def test_the_gradient_is_that_of_finite_differences(name, rng):
    w, sets = rng.normal(size=4), all_sets(4)
    expected = gradient(lambda u: SET_FUNCTIONS[name](u, sets), w)
    np.testing.assert_allclose(set_gradient(SET_FUNCTIONS[name], w, sets), expected, atol=1e-9)


# Bad input


def test_a_function_that_returns_nan_is_refused_with_the_set():
    with pytest.raises(
        ValueError, match=r"returned nan for the set of items \[0, 2\] with utilities \[1.0, -1.0\]"
    ):
        evaluate(each_set(lambda u: np.nan), np.array([1.0, 0.0, -1.0]), all_sets(3)[4:5])
