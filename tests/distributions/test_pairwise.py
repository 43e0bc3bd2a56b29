"""Pair outcomes as arrays: draws, shapes, and what is refused; the battery has the rest."""

import numpy as np
import pandas as pd
import pymc as pm
import pytest

import bayesrank as br
from tests.distributions.pair_examples import FAMILIES, WITH_TIES

QUICK = "FAST_COMPILE"

every_family = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)


POINTS = np.array([[-3.0, 0.0], [0.2, 0.9], [0.5, 0.5], [0.0, 0.0], [2.5, -0.5]])
COUNTS = np.array([[3, 1, 2], [0, 4, 1], [2, 2, 0], [0, 0, 5], [7, 0, 0]])


def test_the_order_effect_is_what_the_first_item_gains():
    dist = br.Davidson.dist([0.5, -0.3], order_effect=0.4, nu=0.7)
    found = pm.logp(dist, COUNTS).eval(mode=QUICK)
    np.testing.assert_allclose(found, FAMILIES["Davidson"].logp(COUNTS, 1.2), rtol=1e-12)


# Impossible parameters and values


def make_davidson(nu):
    return br.Davidson.dist([0.0, 0.0], nu=nu)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: make_davidson(-0.5), "`nu` holds -0.5; it must be finite and at least 0"),
        (lambda: make_davidson([1.0, np.nan]), "`nu` holds nan; it must be finite"),
        (
            lambda: br.RaoKupper.dist([0.0, 0.0], theta=0.5),
            "`theta` holds 0.5; it must be finite and at least 1. At 1, there are no ties",
        ),
        (
            lambda: br.BradleyTerry.dist(0.0),
            r"`utility` has shape \(\); its last axis must be the first and the second item",
        ),
        (
            lambda: br.Thurstone.dist(np.zeros((4, 3))),
            r"`utility` has shape \(4, 3\); .* For one utility per item, use observed=Pairs",
        ),
    ],
)
def test_a_bad_parameter_is_refused_with_the_reason(make, message):
    with pytest.raises(ValueError, match=message):
        make()


BAD_COUNTS = [
    ("BradleyTerry", [[3, 1], [2, -1]], r"observed count -1 at \[1, 1\] is negative"),
    ("BradleyTerry", [3.0, 0.5], r"observed count 0.5 at \[1\] is not a whole number"),
    ("Davidson", [3.0, np.nan, 0.0], r"observed count nan at \[1\] is not a whole number"),
    ("Davidson", [3.0, np.inf, 0.0], r"observed count inf at \[1\] is not a whole number"),
    ("Davidson", [[3, 1]], r"have shape \(1, 2\); .* the 3 outcomes: first wins, second wins, tie"),
    ("Thurstone", [[3, 1, 1]], r"the 2 outcomes: .* Davidson and RaoKupper have ties"),
    ("Thurstone", 3, r"have shape \(\); their last axis must be"),
]


@pytest.mark.parametrize(("name", "observed", "message"), BAD_COUNTS)
def test_bad_counts_are_refused_with_the_cell(name, observed, message):
    family = FAMILIES[name]
    with pm.Model(), pytest.raises(ValueError, match=message):
        family.distribution("y", [0.0, 0.0], observed=observed, **family.parameter)


@every_family
def test_unknown_arguments_are_refused(family):
    with pm.Model(), pytest.raises(TypeError, match="temperature"):
        family.distribution("y", [0.0, 0.0], temperature=2.0, **family.parameter)
    with pm.Model(), pytest.raises(TypeError, match="eta"):
        family.distribution("y", [0.0, 0.0], eta=2.0, **family.parameter)


@pytest.mark.parametrize("name", WITH_TIES)
def test_models_of_ties_need_their_parameter(name):
    (parameter,) = FAMILIES[name].parameter
    with pm.Model(), pytest.raises(TypeError, match=f"needs {parameter}="):
        FAMILIES[name].distribution("y", [0.0, 0.0])


# Draws


# name, lead, parameter of ties, and how 7 matches end
CERTAIN = [
    ("BradleyTerry", 1000.0, None, [7, 0]),
    ("Thurstone", -1000.0, None, [0, 7]),
    ("Davidson", 1000.0, 0.0, [7, 0, 0]),
    ("Davidson", -1000.0, 3.0, [0, 7, 0]),
    ("Davidson", 0.3, 1e250, [0, 0, 7]),
    ("RaoKupper", 1000.0, 1.0, [7, 0, 0]),
    ("RaoKupper", 0.3, 1e250, [0, 0, 7]),
]


def test_certain_outcomes_are_drawn():
    for name, lead, tie, expected in CERTAIN:
        family = FAMILIES[name]
        dist = family.distribution.dist([lead, 0.0], total=7, size=5, **family.options(tie))
        drawn = pm.draw(dist, mode=QUICK, random_seed=1)
        np.testing.assert_array_equal(drawn, np.tile(expected, (5, 1)), err_msg=name)


# Arrays as observed data


@pytest.mark.parametrize("observed", [COUNTS, COUNTS.tolist(), COUNTS * 1.0, COUNTS.astype("u1")])
def test_counts_of_any_numbers_are_observed(observed):
    with pm.Model() as model:
        br.Davidson("y", POINTS, nu=0.7, observed=observed)
    (logp,) = model.compile_logp(sum=False, mode=QUICK)({})
    exact = FAMILIES["Davidson"].logp(COUNTS, POINTS[:, 0] - POINTS[:, 1])
    np.testing.assert_allclose(logp, exact, rtol=1e-12)


def test_counts_may_be_data_and_be_replaced():
    with pm.Model() as model:
        counts = pm.Data("counts", COUNTS)
        br.Davidson("y", POINTS, nu=0.7, observed=counts)
    logp = model.compile_logp(sum=False, mode=QUICK)
    for k in (1, 2):
        with model:
            pm.set_data({"counts": k * COUNTS})
        exact = FAMILIES["Davidson"].logp(k * COUNTS, POINTS[:, 0] - POINTS[:, 1])
        np.testing.assert_allclose(logp({})[0], exact, rtol=1e-12)
        drawn = pm.draw(model["y"], random_seed=1, mode=QUICK)
        np.testing.assert_array_equal(drawn.sum(axis=1), k * COUNTS.sum(axis=1))


@pytest.mark.parametrize(
    ("what", "build"),
    [
        ("utility", lambda x: br.Davidson.dist(x, nu=1.0)),
        ("nu", lambda x: br.Davidson.dist([0.0, 1.0], nu=x)),
        ("theta", lambda x: br.RaoKupper.dist([0.0, 1.0], theta=x)),
        ("adherence", lambda x: br.BradleyTerry.dist([0.0, 1.0], adherence=x)),
        ("order_effect", lambda x: br.Thurstone.dist([0.0, 1.0], order_effect=x)),
        ("total", lambda x: br.Thurstone.dist([0.0, 1.0], total=x)),
        ("nu", lambda x: br.Davidson("y", [0.0, 1.0], nu=x, observed=[1, 0, 0])),
        ("score", lambda x: br.MPM.dist(x)),
        ("variance", lambda x: br.MPM.dist([0.0, 1.0], variance=x)),
        ("adherence", lambda x: br.MPM.dist([0.0, 1.0], adherence=x)),
        ("total", lambda x: br.MPM.dist([0.0, 1.0], total=x)),
        ("tie_prevalence", lambda x: br.PMOP.dist([0.0, 1.0], tie_prevalence=x)),
        ("utility", lambda x: br.BPR.dist(x)),
        ("utility", lambda x: br.PlackettLuce.dist(x)),
        ("consensus", lambda x: br.Mallows.dist(x, 1.0)),
        ("alpha", lambda x: br.Mallows.dist([1, 2], x)),
        ("weights", lambda x: br.Mixture.dist(x, br.PlackettLuce.dist(np.zeros((2, 2))))),
        ("weight", lambda x: br.BPR.dist([0.0, 1.0], weight=x)),
    ],
)
def test_labels_that_nothing_aligns_are_refused(what, build):
    series = pd.Series({"a": 1.0, "b": 1.0})
    for x in (series, series.to_dict(), series.to_xarray(), pd.DataFrame({"c": series})):
        message = rf"^`{what}` is a {type(x).__name__}, and its labels would be lost"
        with pm.Model(), pytest.raises(TypeError, match=message):
            build(x)
