"""What only `MPM` has, in the form that takes tables of counts; the rest is in the battery."""

import functools

import numpy as np
import pymc as pm
import pytest

import bayesrank as br
from tests.distributions.mpm_examples import (
    COUNTS,
    FORMS,
    PAIRS,
    SCORE,
    exact_logp,
)
from tests.likelihoods.count_tables import count_tables

QUICK = "FAST_COMPILE"


def logp_of(dist, value):
    return pm.logp(dist, value).eval(mode=QUICK)


# Tables


def test_all_tables_of_a_total_sum_to_one_if_none_is_given():
    options = FORMS["both"]
    dist = br.MPM.dist(SCORE, **options)
    for total in (1, 3):
        tables = count_tables(3, total)
        logp = logp_of(dist, tables)
        assert np.exp(logp).sum() == pytest.approx(1.0, abs=1e-13)
        np.testing.assert_allclose(logp, exact_logp(counts=tables, **options), atol=1e-13)


# Tables as observed data


def test_tables_may_be_data_and_be_replaced():
    with pm.Model() as model:
        counts = pm.Data("counts", COUNTS)
        br.MPM("y", pm.Flat("score", shape=3), observed=counts)
    y = pm.do(model, {"score": SCORE})["y"]
    logp = model.compile_logp(sum=False)
    np.testing.assert_allclose(logp({"score": SCORE})[-1], exact_logp(), rtol=1e-13)
    sums = pm.draw(y, random_seed=1).sum(axis=(1, 2))
    np.testing.assert_array_equal(sums, COUNTS.sum(axis=(1, 2)))
    with model:
        pm.set_data({"counts": 2 * COUNTS})
    np.testing.assert_allclose(logp({"score": SCORE})[-1], exact_logp(counts=2 * COUNTS))
    y = pm.do(model, {"score": SCORE})["y"]
    sums = pm.draw(y, random_seed=1).sum(axis=(1, 2))
    np.testing.assert_array_equal(sums, 2 * COUNTS.sum(axis=(1, 2)))


BAD_COUNTS = [
    (np.where(COUNTS == 7, -7, COUNTS), r"observed count -7 at \[3, 2, 0\] is negative"),
    (np.where(COUNTS == 7, 0.5, COUNTS), r"observed count 0.5 at \[3, 2, 0\] is not a whole"),
    (np.where(COUNTS == 7, np.nan, COUNTS), r"observed count nan at .* is not a whole"),
    (np.where(COUNTS == 7, np.inf, COUNTS), r"observed count inf at .* is not a whole"),
    (COUNTS + np.eye(3, dtype=int), r"observed count 1 at \[0, 0, 0\] is on the diagonal"),
    (COUNTS[..., :2], r"counts have shape \(4, 3, 2\); their last two axes must be the preferred"),
    ([1, 2, 3], r"counts have shape \(3,\); their last two axes"),
    (np.zeros((2, 4, 4)), "counts have 4 items, but `score` has 3. Give one score per item"),
]


@pytest.mark.parametrize(("observed", "message"), BAD_COUNTS)
def test_bad_counts_are_refused_with_the_cell(observed, message):
    with pm.Model(), pytest.raises(ValueError, match=message):
        br.MPM("y", SCORE, observed=observed)


BAD_OPTIONS = [
    ({"adherence": -1.0}, "`adherence` holds -1; it must be finite and zero or positive"),
    ({"adherence": [1, np.nan, 1, 1]}, "`adherence` holds nan; it must be finite"),
    ({"adherence": np.inf}, "`adherence` holds inf; it must be finite"),
    ({"variance": [0.5, 0.0, 1.0]}, "`variance` holds 0; it must be finite and positive"),
    ({"variance": [0.5, -2.0, 1.0]}, "`variance` holds -2; it must be finite and positive"),
    ({"variance": [0.5, np.inf, 1.0]}, "`variance` holds inf; it must be finite"),
]


@pytest.mark.parametrize(("options", "message"), BAD_OPTIONS)
@pytest.mark.parametrize(
    "make",
    [
        functools.partial(br.MPM, "y", SCORE, observed=PAIRS),
        functools.partial(br.MPM, "y", SCORE, observed=COUNTS),
        functools.partial(br.MPM.dist, SCORE),
    ],
    ids=["pairs", "array", "dist"],
)
def test_a_bad_option_is_refused_with_the_reason(make, options, message):
    with pm.Model(), pytest.raises(ValueError, match=message):
        make(**options)


def test_a_negative_total_is_refused():
    with pytest.raises(ValueError, match="`total` holds -2; it must be finite and zero or"):
        br.MPM.dist(SCORE, total=-2)


@pytest.mark.parametrize("variance", [0.7, np.full((2, 1), 0.7)])
def test_one_variance_is_that_of_all_items(variance):
    counts, score = np.array([[0, 2, 1], [1, 0, 3], [0, 0, 0]]), [0.0, 1.0, 0.5]
    expected = pm.logp(br.MPM.dist(score, variance=np.full(3, 0.7)), counts).eval()
    y = br.MPM.dist(score, variance=variance, total=7)
    np.testing.assert_allclose(pm.logp(y, counts).eval(), expected, rtol=1e-12)
    assert (pm.draw(y, random_seed=1).sum(axis=(-2, -1)) == 7).all()
