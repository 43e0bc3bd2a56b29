"""What every distribution of the tables in `tests/cases.py` must do, in every backend.

A test file of a family is `globals().update(battery(CASES_OF_THE_FAMILY))`. One function per family
and backend takes any utilities, values and parameters, so that a property costs an evaluation and
not a compilation.
"""

import functools
import warnings
from collections.abc import Callable, Sequence
from itertools import groupby
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from pymc.logprob.utils import ParameterValueError

from tests.cases import CASES as ALL
from tests.cases import WITH_NUMBA, Case, PairCase
from tests.oracles import frequency_p_value, gradient, places_in

TOLERANCE = 1e-9  # what the graph promises for blocks of up to fifteen; the kernel does better
N_ROWS = max(len(case.values) for case in ALL)
N_DRAWS = 20_000
FALSE_ALARM = 1e-8  # of each frequency test, so 1e-6 for the battery with room for siblings

# One case for each set of parameters of a family, the first: for other shapes
FORMS = {(case.family, *case.parameters): case.name for case in reversed(ALL)}.values()
# One case of each family for JAX, the first of those with the most parameters. Models of pairs
# share their random variable, and their formulas are tested under JAX by themselves.
RICHEST = {
    max(cases, key=lambda case: len(case.parameters)).name
    for _, cases in groupby(
        (c for c in ALL if "JAX" in c.backends),
        lambda case: "pairs" if isinstance(case, PairCase) else case.family,
    )
}


class Property(NamedTuple):
    """A test, the cases that it is of, and what it costs."""

    test: Callable[..., None]
    applies: Callable[[Case], Any]
    draws: bool
    reshapes: bool

    def is_slow(self, case: Case, mode: str) -> bool:
        """Whether a compiler works too long for the short suite, or a sibling is in it.

        Numba takes half a minute for a log-probability, and its kernels are tested with their Ops:
        it draws only. JAX compiles each case anew: one of each family is in the short suite, and
        none of other shapes.
        """
        if not case.quick:
            return True
        if mode == "NUMBA":
            return not self.draws
        return mode == "JAX" and (self.reshapes or case.name not in RICHEST)


PROPERTIES: list[Property] = []


def property_of(
    applies: Callable[[Case], Any] = bool, *, draws: bool = False, reshapes: bool = False
) -> Any:
    """Make a property of a function: of which cases, whether it draws or has other shapes."""

    def add(test: Callable[..., None]) -> Callable[..., None]:
        PROPERTIES.append(Property(test, applies, draws, reshapes))
        return test

    return add


def battery(cases: Sequence[Case]) -> dict[str, Callable[..., None]]:
    """Tests of these cases, backend by backend, for the namespace of a test file."""
    tests = {}
    for prop in PROPERTIES:
        params = [
            pytest.param(
                case,
                mode,
                id=f"{case.name}-{mode}",
                marks=[pytest.mark.slow] if prop.is_slow(case, mode) else [],
            )
            for mode in WITH_NUMBA
            for case in cases
            if mode in case.backends and prop.applies(case)
        ]
        # a function of its own, because marks stay on it
        test = prop.test
        copy = FunctionType(test.__code__, test.__globals__, test.__name__, test.__defaults__)
        if params:
            tests[test.__name__] = pytest.mark.parametrize(("case", "mode"), params)(copy)
    return tests


def has_bad_parameters(case: Case) -> bool:
    return bool(case.bad_parameters)


def has_conditions(case: Case) -> bool:
    return has_bad_parameters(case) and case.name in FORMS


def has_masked_slots(case: Case) -> bool:
    return not case.where.all()


def has_a_mask(case: Case) -> bool:
    return "where" in case.parameters


@functools.cache
def compiled(dist, shapes, parameters, mode):
    """Log-probability (rows,), and gradients by the utility (rows, slots) and real parameters.

    `parameters` are (name, dtype, shape), and `shapes` those of the utility and the value.
    """
    utility = pt.tensor("utility", dtype="float64", shape=shapes[0])
    value = pt.tensor("value", dtype="int64", shape=shapes[1])
    extra = tensors(parameters)
    logp = pm.logp(dist(utility, **extra), value)
    real = [utility, *(x for x in extra.values() if x.dtype == "float64")]
    outputs = [logp, *pt.grad(logp.sum(), real)]
    with warnings.catch_warnings():
        # JAX cannot raise: PyTensor says that it leaves out the checks of shapes
        warnings.filterwarnings("ignore", message="Skipping Assert")
        # pm.compile, as a model does: parameters out of their range give -inf instead of raising
        return pm.compile([utility, value, *extra.values()], outputs, mode=mode)


@functools.cache
def compiled_with_checks(dist, shapes, parameters):
    """Log-probability, which raises for parameters out of their range."""
    utility, value = pt.tensor(shape=shapes[0]), pt.tensor(dtype="int64", shape=shapes[1])
    extra = tensors(parameters)
    logp = pm.logp(dist(utility, **extra), value)
    return pytensor.function([utility, value, *extra.values()], logp, mode="FAST_COMPILE")


def tensors(parameters):
    return {name: pt.tensor(name, dtype=dtype, shape=shape) for name, dtype, shape in parameters}


@functools.cache
def compiled_draw(dist, parameters, mode):
    utility = pt.dmatrix("utility")
    extra = tensors(parameters)
    with warnings.catch_warnings():
        # PyTensor says under JAX that it copies the generator, which is all right for one function,
        # and leaves out the checks of shapes
        warnings.filterwarnings("ignore", message="The RandomType SharedVariables|Skipping Assert")
        return pm.compile(
            [utility, *extra.values()], dist(utility, **extra), mode=mode, random_seed=20020217
        )


def rows(case, n_rows, **changed):
    """Utility and parameters of a case, repeated."""
    arrays = {"utility": case.utility} | dict(case.parameters) | changed
    # in C order and writeable: numba compiles anew for any other layout
    return [
        np.array(np.broadcast_to(x, (n_rows, *np.shape(x))), order="C") for x in arrays.values()
    ]


def shape_of(case, x, n_rows):
    """What is known of a shape: padding may make slots more, but JAX broadcasts what it knows."""
    return (None,) * (1 + np.ndim(x)) if case.has_slots else (n_rows, *np.shape(x))


def types(case, n_rows):
    parameters = case.parameters.items()
    return tuple((name, x.dtype.name, shape_of(case, x, n_rows)) for name, x in parameters)


def shapes_of(case):
    return tuple(shape_of(case, x, N_ROWS) for x in (case.utility, case.support[0]))


def evaluate(case, mode, values, **changed):
    """Log-probability and gradients of values (rows, slots), in one call."""
    # Always as many rows, because JAX compiles anew for every shape
    value = np.resize(np.array(values, dtype=np.int64), (N_ROWS, *case.support.shape[1:]))
    utility, *parameters = rows(case, N_ROWS, **changed)
    f = compiled(case.dist, shapes_of(case), types(case, N_ROWS), mode)
    return tuple(np.asarray(out)[: len(values)] for out in f(utility, value, *parameters))


# Values


@property_of()
def test_log_probabilities_are_those_of_the_oracle(case, mode):
    logp, *_ = evaluate(case, mode, case.values)
    np.testing.assert_allclose(logp, case.exact(case.values), atol=TOLERANCE)


@property_of()
def test_the_support_sums_to_one(case, mode):
    logp, *_ = evaluate(case, mode, case.support)
    assert np.exp(logp).sum() == pytest.approx(1.0, abs=TOLERANCE)


@property_of(draws=True)
def test_draws_have_the_frequencies_of_their_probabilities(case, mode):
    draw = compiled_draw(case.dist, types(case, N_DRAWS), mode)
    draws = np.asarray(draw(*rows(case, N_DRAWS)))
    assert draws.shape == (N_DRAWS, *case.support.shape[1:])
    assert draws.dtype == np.int64
    drawn = places_in(case.support, draws)  # none outside the support
    assert frequency_p_value(drawn, np.exp(case.exact(case.support))) > FALSE_ALARM
    # and another utility is told apart
    item = min(2, case.utility.size - 1)
    other = case.utility + np.where(np.arange(case.utility.size) == item, 0.5, 0.0)
    exact = case.exact(case.support, utility=other)
    assert frequency_p_value(drawn, np.exp(exact)) < FALSE_ALARM


@property_of()
def test_an_impossible_value_has_probability_zero(case, mode):
    values = np.array([*case.bad_values.values(), case.support[0]])
    logp, slope, *_ = evaluate(case, mode, values)
    impossible = dict(zip(case.bad_values, np.isneginf(logp[:-1]).tolist(), strict=True))
    assert impossible == dict.fromkeys(case.bad_values, True)
    assert np.isfinite(logp[-1])
    assert np.isfinite(slope).all()


@property_of(has_bad_parameters)
def test_a_parameter_out_of_its_range_gives_minus_infinity(case, mode):
    for _, changed in case.bad_parameters.values():
        logp, *_ = evaluate(case, mode, case.support[:1], **changed)
        np.testing.assert_array_equal(logp, [-np.inf])


@property_of(has_conditions)
def test_a_parameter_out_of_its_range_names_its_condition(case, mode):
    if mode != "FAST_COMPILE":
        return  # PyTensor's own checks
    f = compiled_with_checks(case.dist, shapes_of(case), types(case, N_ROWS))
    value = np.resize(case.support[0], (N_ROWS, *case.support.shape[1:]))
    for message, changed in case.bad_parameters.values():
        utility, *parameters = rows(case, N_ROWS, **changed)
        with pytest.raises(ParameterValueError, match=message):
            f(utility, value, *parameters)


# Masks, padding, batches


@property_of(has_masked_slots, reshapes=True)
def test_masking_slots_is_removing_them(case, mode):
    bare = case.on_slots(case.where)
    masked, slope, *_ = evaluate(case, mode, case.values)
    removed, bare_slope, *_ = evaluate(bare, mode, bare.values)
    np.testing.assert_allclose(masked, removed, atol=1e-12)
    np.testing.assert_allclose(slope[:, case.where], bare_slope, atol=1e-12)
    np.testing.assert_array_equal(slope[:, ~case.where], 0.0)


@property_of(has_masked_slots)
def test_values_in_masked_slots_do_not_matter(case, mode):
    logp, slope, *_ = evaluate(case, mode, case.support[:3])
    for filler in (0.0, 1e6, -1e6, np.nan, np.inf):
        utility = np.where(case.where, case.utility, filler)
        filled, filled_slope, *_ = evaluate(case, mode, case.support[:3], utility=utility)
        np.testing.assert_allclose(filled, logp, atol=TOLERANCE, err_msg=str(filler))
        np.testing.assert_allclose(filled_slope, slope, atol=TOLERANCE, err_msg=str(filler))


@property_of(has_a_mask, reshapes=True)
def test_the_width_of_the_padding_does_not_matter(case, mode):
    n = case.utility.size
    logp, slope, *_ = evaluate(case, mode, case.support[:3])
    wide = case.on_slots(np.append(np.arange(n), [0] * 5), where=np.append(case.where, [False] * 5))
    value = np.pad(case.support[:3], ((0, 0), (0, 5)))
    padded, padded_slope, *_ = evaluate(wide, mode, value)
    np.testing.assert_allclose(padded, logp, atol=1e-11)
    np.testing.assert_allclose(padded_slope, np.pad(slope, ((0, 0), (0, 5))), atol=1e-11)


@property_of(has_a_mask)
def test_a_ranking_of_nothing_is_certain_and_has_no_gradient(case, mode):
    n = case.utility.size
    slots = set(case.parameters) - set(case.real_parameters)
    empty = {name: np.zeros_like(case.parameters[name]) for name in slots}
    nothing = case.on_slots(np.arange(n), **empty)
    logp, slope, *_ = evaluate(nothing, mode, np.zeros((2, n)))
    np.testing.assert_array_equal(logp, [0.0, 0.0])
    np.testing.assert_array_equal(slope, np.zeros((2, n)))


@property_of(lambda case: case.name in {*FORMS, *RICHEST}, reshapes=True)
def test_any_leading_axes_are_a_batch_and_broadcast(case, mode):
    # no axis, three, and one utility and one parameter for four values; the other tests have one
    shapes = [((), (), ()), ((2, 1, 3), (2, 1, 3), (2, 1, 3)), ((), (4,), ())]
    values = np.resize(case.support, (6, *case.support.shape[1:]))
    exact = case.exact(values)
    outputs, expected = [], []
    for utility, value, parameter in shapes:
        n = int(np.prod(value))
        arguments = {name: known(x, parameter) for name, x in case.parameters.items()}
        dist = case.dist(known(case.utility, utility), **arguments)
        core = values.ndim - 1
        outputs.append(pm.logp(dist, known(values[:n], value, core)))
        expected.append(exact[:n].reshape(value))
    for found, logp in zip(pm.compile([], outputs, mode=mode)(), expected, strict=True):
        assert np.shape(found) == logp.shape
        np.testing.assert_allclose(found, logp, atol=TOLERANCE)


def known(x, batch, core=None):
    """A variable of known shape: JAX broadcasts no other without a warning."""
    ndim = np.ndim(x) if core is None else core
    value = np.resize(x, (*batch, *np.shape(x)[np.ndim(x) - ndim :]))
    return pytensor.shared(value, shape=value.shape)


# Symmetries and extremes


@property_of(lambda case: not case.absolute)
def test_a_shift_of_all_utilities_changes_nothing(case, mode):
    logp, slope, *_ = evaluate(case, mode, case.values)
    shifted, *_ = evaluate(case, mode, case.values, utility=case.utility + 37.5)
    np.testing.assert_allclose(shifted, logp, atol=TOLERANCE)
    np.testing.assert_allclose(slope.sum(axis=1), 0.0, atol=TOLERANCE)


@property_of()
def test_the_order_of_the_slots_does_not_matter(case, mode):
    order = np.roll(np.arange(case.utility.size), 1)
    other = case.relabelled(order)
    logp, slope, *_ = evaluate(case, mode, case.values)
    relabelled, permuted, *_ = evaluate(other, mode, other.values)
    np.testing.assert_allclose(relabelled, logp, atol=TOLERANCE)
    np.testing.assert_allclose(permuted, slope[:, order], atol=TOLERANCE)


@property_of()
def test_utilities_of_plus_and_minus_1000_stay_finite(case, mode):
    n, x = case.utility.size, case.largest
    for utility in (np.resize([x, -x], n), np.resize([-x, 0.0, x], n)):
        logp, slope, *_ = evaluate(case, mode, case.values, utility=utility)
        exact = case.exact(case.values, utility=utility)
        np.testing.assert_allclose(logp, exact, rtol=1e-9, atol=1e-8)
        assert np.isfinite(slope).all()


@property_of()
def test_the_gradients_are_those_of_finite_differences_of_the_oracle(case, mode):
    _, *slopes = evaluate(case, mode, case.values)
    real = {"utility": case.utility} | case.real_parameters
    for (name, x), slope in zip(real.items(), slopes, strict=True):
        numeric = gradient(lambda x, name=name: case.exact(case.values, **{name: x}), x)
        np.testing.assert_allclose(slope, numeric, atol=1e-8, err_msg=name)
