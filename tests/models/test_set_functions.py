"""Set functions: values from the definitions, gradients, extreme utilities, what users write."""

import numpy as np
import pytest

from models.pmop_sampling.model import (
    SET_FUNCTIONS,
    SetFunction,
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


def test_the_table_has_the_aggregates_of_the_paper():
    assert list(SET_FUNCTIONS) == list(DEFINITIONS)


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


@each_name
def test_a_function_without_a_gradient_gets_one_by_differences(name, rng):
    w, sets = rng.normal(size=4), all_sets(4)
    function = SET_FUNCTIONS[name]
    differences = set_gradient(function.log_phi, w, sets)
    np.testing.assert_allclose(differences, set_gradient(function, w, sets), atol=1e-9)


@pytest.mark.parametrize(
    ("name", "value", "slope"),
    [
        ("mean", 1000 - np.log(3), [1.0, 0.0, 0.0]),
        ("max", 1000.0, [1.0, 0.0, 0.0]),
        ("min", -1000.0, [0.0, 0.0, 1.0]),
        ("geometric", 0.0, [1 / 3, 1 / 3, 1 / 3]),
        ("harmonic", -1000 + np.log(3), [0.0, 0.0, 1.0]),
    ],
)
def test_utilities_of_a_thousand_are_no_trouble(name, value, slope):
    w, everyone = np.array([1000.0, 0.0, -1000.0]), np.ones(3, dtype=bool)
    assert evaluate(SET_FUNCTIONS[name], w, everyone) == pytest.approx(value, abs=1e-12)
    np.testing.assert_allclose(set_gradient(SET_FUNCTIONS[name], w, everyone), slope, atol=1e-15)


@each_name
def test_items_outside_a_set_do_not_matter(name):
    member = np.array([[True, True, False]])
    values = [SET_FUNCTIONS[name](np.array([0.3, 1.2, x]), member)[0] for x in (-1e3, 0.0, 1e3)]
    assert values == [values[0]] * 3
    assert set_gradient(SET_FUNCTIONS[name], np.array([0.3, 1.2, 1e3]), member)[0, 2] == 0


def test_equal_utilities_share_the_slope_of_the_largest():
    member = np.array([True, True, True, False])
    slope = set_gradient(SET_FUNCTIONS["max"], np.array([2.0, 1.0, 2.0, 2.0]), member)
    assert slope.tolist() == [0.5, 0.0, 0.5, 0.0]


def test_a_function_of_one_set_serves_many_in_any_shape():
    w = np.array([1.0, 2.0, 4.0])
    member = np.array([[[True, True, True]], [[False, True, True]]])
    value = each_set(np.median)(w, member)
    assert value.tolist() == [[2.0], [3.0]]


def test_utilities_may_differ_from_set_to_set():
    w = np.array([[1.0, 2.0], [5.0, 3.0]])
    assert each_set(np.max)(w, np.ones((2, 2), dtype=bool)).tolist() == [2.0, 5.0]
    assert SET_FUNCTIONS["max"](w, np.ones((2, 2), dtype=bool)).tolist() == [2.0, 5.0]


# Bad input


def test_a_function_that_does_not_reduce_is_refused():
    with pytest.raises(ValueError, match=r"returned shape \(7, 3\) for sets of shape \(7, 3\).*"):
        evaluate(lambda u, s: u * s, np.zeros(3), all_sets(3))


def test_a_function_that_returns_nan_is_refused_with_the_set():
    with pytest.raises(
        ValueError, match=r"returned nan for the set of items \[0, 2\] with utilities \[1.0, -1.0\]"
    ):
        evaluate(each_set(lambda u: np.nan), np.array([1.0, 0.0, -1.0]), all_sets(3)[4:5])


def test_a_function_that_overflows_is_refused():
    with pytest.raises(ValueError, match=r"returned inf .* Compute it in log space"):
        evaluate(each_set(lambda u: np.inf), np.zeros(2), all_sets(2))


def test_a_set_that_cannot_be_chosen_is_allowed():
    assert evaluate(each_set(lambda u: -np.inf), np.zeros(2), all_sets(2)).tolist() == [-np.inf] * 3


def test_a_gradient_of_the_wrong_shape_is_refused():
    function = SetFunction(SET_FUNCTIONS["max"].log_phi, lambda u, s: np.ones(2))
    with pytest.raises(ValueError, match=r"gradient .* shape \(2,\) for sets of shape \(7, 3\)"):
        set_gradient(function, np.zeros(3), all_sets(3))


def test_a_gradient_that_is_not_finite_is_refused():
    function = SetFunction(SET_FUNCTIONS["max"].log_phi, lambda u, s: np.full(s.shape, np.nan))
    with pytest.raises(ValueError, match="not finite everywhere"):
        set_gradient(function, np.zeros(3), all_sets(3))
