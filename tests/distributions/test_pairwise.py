"""Pair outcomes as arrays: definitions, limits, and what is refused; the battery has the rest."""

import functools
import itertools
import warnings

import numpy as np
import pandas as pd
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest

import bayesrank as br
from tests.cases import BACKENDS
from tests.distributions.pair_examples import FAMILIES, WITH_TIES, table
from tests.oracles import gradient

QUICK = "FAST_COMPILE"

every_family = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)


def logp_of(dist, value):
    return pm.logp(dist, value).eval(mode=QUICK)


@functools.cache
def compiled(name, mode):
    """Log-probability (n_pairs,), and its gradients by utilities, order effects and ties."""
    family = FAMILIES[name]
    utility, effect, value = pt.dmatrix("utility"), pt.dvector("effect"), pt.lmatrix("value")
    tie = pt.dvector("tie")
    dist = family.distribution.dist(utility, order_effect=effect, **family.options(tie))
    logp = pm.logp(dist, value)
    wrt = [utility, effect, *([tie] if family.parameter else [])]
    outputs = [logp, *pt.grad(logp.sum(), wrt)]
    inputs = [utility, effect, tie, value]
    return pm.compile(inputs, outputs, mode=mode, on_unused_input="ignore")


def evaluate(name, utility, value, *, effect=0.0, tie=None, mode=QUICK):
    family, value = FAMILIES[name], np.array(value, dtype=np.int64)
    n = len(value)
    tie = family.tie if tie is None else tie
    arrays = [np.broadcast_to(utility, (n, 2)), np.broadcast_to(effect, n), np.broadcast_to(tie, n)]
    out = compiled(name, mode)(*(np.array(x, dtype=float, order="C") for x in arrays), value)
    return [np.asarray(part) for part in out]


# Values


@every_family
def test_all_counts_of_a_total_sum_to_one_and_are_multinomial(family):
    for total, options in itertools.product(range(4), ({}, {"order_effect": 0.4})):
        counts = table(total, family.n_outcomes)
        dist = family.distribution.dist([0.5, -0.3], **family.parameter, **options)
        logp = logp_of(dist, counts)
        assert np.exp(logp).sum() == pytest.approx(1.0, abs=1e-14)
        lead = 0.8 + options.get("order_effect", 0.0)
        np.testing.assert_allclose(logp, family.logp(counts, lead), atol=1e-13)


POINTS = np.array([[-3.0, 0.0], [0.2, 0.9], [0.5, 0.5], [0.0, 0.0], [2.5, -0.5]])
COUNTS = np.array([[3, 1, 2], [0, 4, 1], [2, 2, 0], [0, 0, 5], [7, 0, 0]])


@pytest.mark.parametrize("name", FAMILIES)
def test_values_and_gradients_are_those_of_the_definition(name):
    family = FAMILIES[name]
    counts, effect = COUNTS[:, : family.n_outcomes], np.array([0.3, -0.7, 0.0, 0.0, 0.1])

    def exact(x):
        lead = x[:, 0] - x[:, 1] + x[:, 2]
        return family.logp(counts, lead, x[:, 3])

    x = np.column_stack([POINTS, effect, np.full(5, family.tie)])
    logp, *slopes = evaluate(name, POINTS, counts, effect=effect)
    assert logp.dtype == np.float64
    np.testing.assert_allclose(logp, exact(x), rtol=1e-12)
    numeric = gradient(lambda x: exact(x).sum(), x)
    np.testing.assert_allclose(slopes[0], numeric[:, :2], atol=1e-8)
    np.testing.assert_allclose(slopes[1], numeric[:, 2], atol=1e-8)
    if family.parameter:
        np.testing.assert_allclose(slopes[2], numeric[:, 3], atol=1e-8)


@pytest.mark.parametrize("mode", BACKENDS)
@pytest.mark.parametrize("name", FAMILIES)
def test_values_and_gradients_are_exact_at_leads_of_1000(name, mode):
    family = FAMILIES[name]
    counts = np.array([[2, 0, 0], [0, 3, 0], [0, 0, 4], [0, 0, 0]])[:, : family.n_outcomes]
    # with ν = 0.7 and θ = 1.6 where ties are, and what is left of both at a lead of the first
    upset, tie = {
        "BradleyTerry": (-1000.0, None),
        "Thurstone": (-500007.826694812185, None),  # −1000²/2 − log(1000 √2π) + ...
        "Davidson": (-1000.0, np.log(0.7) - 500),
        "RaoKupper": (-1000 - np.log(1.6), np.log(1.56 / 1.6) - 1000),
    }[name]
    expected = [0.0, 3 * upset, 0.0 if tie is None else 4 * tie, 0.0]
    logp, *slopes = evaluate(name, [1000.0, 0.0], counts, mode=mode)
    np.testing.assert_allclose(logp, expected, rtol=1e-14, atol=1e-12)
    assert all(np.isfinite(slope).all() for slope in slopes)
    swapped = counts[:, [1, 0, 2][: family.n_outcomes]]
    other, *_ = evaluate(name, [-1000.0, 0.0], swapped, mode=mode)
    np.testing.assert_array_equal(other, logp)


@pytest.mark.parametrize("name", ["BradleyTerry", *WITH_TIES])
def test_second_derivatives_are_right_where_items_are_equal(name):
    # an absolute value of the lead would have lost them there
    family = FAMILIES[name]
    lead, tie = pt.dscalar("lead"), pt.dscalar("tie")
    counts = np.array([3, 1, 2][: family.n_outcomes])
    dist = family.distribution.dist(pt.stack([lead, 0.0]), **family.options(tie))
    slope = pt.grad(pm.logp(dist, counts), lead)
    inputs = [lead, tie]
    first, second = pytensor.function(
        inputs, [slope, pt.grad(slope, lead)], mode=QUICK, on_unused_input="ignore"
    )(0.0, family.tie)
    f = functools.partial(family.logp, counts)
    h = 1e-4
    assert first == pytest.approx((f(h) - f(-h)) / (2 * h), abs=1e-7)
    assert second == pytest.approx((f(h) - 2 * f(0.0) + f(-h)) / h**2, abs=1e-5)


# Limits and symmetries


@pytest.mark.parametrize("mode", BACKENDS)
@pytest.mark.parametrize(("name", "limit"), [("Davidson", 0.0), ("RaoKupper", 1.0)])
def test_without_ties_the_models_of_ties_are_bradley_terry(name, limit, mode):
    counts = COUNTS * [1, 1, 0]
    for scale in (1.0, 400.0):
        bare, *slopes = evaluate("BradleyTerry", scale * POINTS, counts[:, :2], mode=mode)
        logp, *others = evaluate(name, scale * POINTS, counts, tie=limit, mode=mode)
        np.testing.assert_allclose(logp, bare, rtol=1e-14, atol=1e-14)
        for slope, other in zip(slopes, others[:2], strict=True):
            np.testing.assert_allclose(other, slope, rtol=1e-14, atol=1e-14)
        assert np.isfinite(others[2]).all()
    impossible, *slopes = evaluate(name, POINTS, COUNTS, tie=limit, mode=mode)
    np.testing.assert_array_equal(np.isneginf(impossible), COUNTS[:, 2] > 0)
    assert all(np.isfinite(slope).all() for slope in slopes)


def test_plackett_luce_of_two_items_is_bradley_terry():
    utility = [0.9, -0.4]
    ranks = logp_of(br.PlackettLuce.dist(utility), [[1, 2], [2, 1]])
    np.testing.assert_allclose(logp_of(br.BradleyTerry.dist(utility), np.eye(2, dtype=int)), ranks)


@pytest.mark.parametrize("name", FAMILIES)
def test_swapping_the_items_and_their_wins_changes_nothing_but_signs(name):
    n = FAMILIES[name].n_outcomes
    swapped = COUNTS[:, [1, 0, 2]]
    logp, slope, effect, *_ = evaluate(name, POINTS, COUNTS[:, :n], effect=0.4)
    other, mirrored, opposite, *_ = evaluate(name, POINTS[:, ::-1], swapped[:, :n], effect=-0.4)
    np.testing.assert_allclose(other, logp, rtol=1e-13)
    np.testing.assert_allclose(mirrored, slope[:, ::-1], rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(opposite, -effect, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", WITH_TIES)
def test_equal_items_that_only_tie_stay_equal(name):
    _, slope, *_ = evaluate(name, [0.3, 0.3], [[0, 0, 10]])
    np.testing.assert_allclose(slope, 0.0, atol=1e-15)
    with pm.Model():
        utility = pm.Normal("utility", 0, 1, shape=2, initval=[0.9, -0.2])
        FAMILIES[name].distribution("y", utility, observed=[0, 0, 10], **FAMILIES[name].parameter)
        found = pm.find_MAP(progressbar=False, return_inferencedata=True, jitter=False)
    np.testing.assert_allclose(found.posterior["utility"], 0.0, atol=1e-5)


@pytest.mark.parametrize("name", WITH_TIES)
def test_a_tie_counts_once(name):
    family = FAMILIES[name]
    tie, first, second, drawn_out = evaluate(
        name, [0.8, 0.0], [[0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 0, 2]]
    )[0]
    assert np.exp(tie) == pytest.approx(family.probabilities(0.8)[2], rel=1e-13)
    assert drawn_out == pytest.approx(2 * tie, rel=1e-13)
    # neither half a win of each nor a win and a loss
    assert tie != pytest.approx((first + second) / 2, abs=0.1)
    assert tie != pytest.approx(first + second, abs=0.1)


@pytest.mark.parametrize("name", FAMILIES)
def test_counts_have_the_gradient_of_their_matches_one_by_one(name):
    n = FAMILIES[name].n_outcomes
    counts = np.array([[3, 1, 2][:n]])
    rows = np.repeat(np.eye(n, dtype=int), counts[0], axis=0)
    logp, slope, *_ = evaluate(name, [0.8, 0.1], counts)
    each, slopes, *_ = evaluate(name, [0.8, 0.1], rows)
    orders = 60 if n == 3 else 4  # 6! / (3! 1! 2!), 4! / (3! 1!)
    assert logp[0] == pytest.approx(np.log(orders) + each.sum(), rel=1e-13)
    np.testing.assert_allclose(slope[0], slopes.sum(axis=0), rtol=1e-12)


# Impossible parameters and values


def make_davidson(nu):
    return br.Davidson.dist([0.0, 0.0], nu=nu)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: make_davidson(-0.5), "`nu` holds -0.5; it must be finite and 0 or more"),
        (lambda: make_davidson([1.0, np.nan]), "`nu` holds nan; it must be finite"),
        (
            lambda: br.RaoKupper.dist([0.0, 0.0], theta=0.5),
            "`theta` holds 0.5; it must be finite and 1 or more. 1 is no ties, Bradley-Terry",
        ),
        (
            lambda: br.BradleyTerry.dist(0.0),
            r"`utility` has shape \(\); its last axis must be the first and the second item",
        ),
        (
            lambda: br.Thurstone.dist(np.zeros((4, 3))),
            r"`utility` has shape \(4, 3\); .* One utility per item goes with observed=Pairs",
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
    with pm.Model(), pytest.raises(TypeError, match=f"'{parameter}'"):
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


@pytest.mark.parametrize("mode", BACKENDS)
def test_what_is_certain_is_drawn(mode):
    for name, lead, tie, expected in CERTAIN if mode == QUICK else CERTAIN[4:5]:
        family = FAMILIES[name]
        dist = family.distribution.dist([lead, 0.0], total=7, size=5, **family.options(tie))
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The RandomType SharedVariables")
            drawn = np.asarray(pm.compile([], dist, mode=mode, random_seed=1)())
        np.testing.assert_array_equal(drawn, np.tile(expected, (5, 1)), err_msg=name)


SHAPES = [
    ({}, (), 1),
    ({"size": 4}, (4,), 1),
    ({"size": (2, 4), "total": 5}, (2, 4), 5),
    ({"utility": np.zeros((2, 1, 2)), "order_effect": np.ones(4)}, (2, 4), 1),
    ({"order_effect": np.ones(4), "total": [0, 1, 2, 3]}, (4,), [0, 1, 2, 3]),
    ({"utility": np.zeros((0, 2))}, (0,), 1),
    ({"utility": np.zeros((2, 2)), "total": 4}, (2,), 4),
    ({"tie": np.array([1.0, 2.0, 3.0]), "total": 4}, (3,), 4),
]


@pytest.mark.parametrize(("arguments", "batch", "total"), SHAPES)
@every_family
def test_shapes_and_totals_follow_from_the_parameters(family, arguments, batch, total):
    arguments = {"utility": [0.3, 0.1]} | arguments
    tie = arguments.pop("tie", family.tie)
    if np.ndim(tie) and not family.parameter:
        arguments["order_effect"] = tie
    dist = family.distribution.dist(**family.options(tie), **arguments)
    shape = (*batch, family.n_outcomes)
    assert tuple(dist.shape.eval(mode=QUICK)) == shape
    point = pm.distributions.distribution.support_point(dist).eval(mode=QUICK)
    for value in (pm.draw(dist, random_seed=1, mode=QUICK), point):
        assert value.shape == shape
        np.testing.assert_array_equal(value.sum(axis=-1), np.broadcast_to(total, batch))
    assert np.isfinite(logp_of(dist, point)).all()


def test_shape_is_an_alternative_to_size():
    drawn = pm.draw(br.Davidson.dist([0.0, 0.0], nu=1.0, shape=(4, 3)), random_seed=1, mode=QUICK)
    assert drawn.shape == (4, 3)


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


def test_priors_and_predictions_of_arrays():
    coords = {"match": list("vwxyz"), "result": ["first", "second", "tie"]}
    with pm.Model(coords=coords):
        utility = pm.Normal("utility", 0, 1, shape=2)
        nu = pm.LogNormal("nu", 0, 1)
        br.Davidson("y", utility, nu=nu, observed=COUNTS, dims=("match", "result"))
        idata = pm.sample_prior_predictive(50, random_seed=1)
        pm.sample_posterior_predictive(
            idata.prior, extend_inferencedata=False, progressbar=False, random_seed=1
        )
    drawn = idata.prior_predictive["y"]
    assert drawn.dims == ("chain", "draw", "match", "result")
    np.testing.assert_array_equal(drawn.sum("result")[0, 7], COUNTS.sum(axis=1))


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
        ("rank_weights", lambda x: br.PMOP.dist([0.0, 1.0], rank_weights=x)),
        ("utility", lambda x: br.BPR.dist(x)),
        ("weight", lambda x: br.BPR.dist([0.0, 1.0], weight=x)),
    ],
)
def test_labels_that_nothing_aligns_are_refused(what, build):
    series = pd.Series({"a": 1.0, "b": 1.0})
    for x in (series, series.to_dict(), series.to_xarray(), pd.DataFrame({"c": series})):
        message = rf"^`{what}` is a {type(x).__name__}, and its labels would be lost"
        with pm.Model(), pytest.raises(TypeError, match=message):
            build(x)
