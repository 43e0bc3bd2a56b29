"""Summaries of adherences: who is an outlier, and that the scale of the scores does not matter."""

import math

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from bayesrank.results import adherence_summary, effective_judges

NAMES = ["ann", "bob", "cy"]


def posterior(draws, names=NAMES):
    """One chain of rows, one per draw."""
    return xr.DataArray([draws], dims=("chain", "draw", "ranker"), coords={"ranker": names})


# medians 2, 4, 2, 1
BY_HAND = posterior([[0.5, 2.0, 5.0], [1.0, 4.0, 6.0], [0.5, 2.0, 3.0], [0.6, 1.0, 2.0]])


def test_every_column_is_as_by_hand():
    table = adherence_summary(BY_HAND, ci_prob=0.5)
    assert table.index.tolist() == ["cy", "bob", "ann"]
    assert table.index.name == "ranker"
    expected = pd.DataFrame(
        {
            "mean": [4.0, 2.25, 0.65],
            "sd": [math.sqrt(10 / 3), math.sqrt(4.75 / 3), math.sqrt(0.17 / 3)],
            "low": [2.75, 1.75, 0.5],
            "high": [5.25, 2.5, 0.7],
            "p_below_median": [0.0, 0.0, 1.0],
            "p_far_below": [0.0, 0.0, 0.75],  # not in the last draw: 0.6 is no less than 1 / 2
            "p_far_above": [0.25, 0.0, 0.0],  # 2 is not more than 2 times 1
            "outlier": [False, False, False],
        },
        index=table.index,
    )
    pd.testing.assert_frame_equal(table, expected)


@pytest.mark.parametrize(("outlier_prob", "outliers"), [(0.75, ["ann"]), (0.76, [])])
def test_an_outlier_is_far_below_with_at_least_the_probability(outlier_prob, outliers):
    table = adherence_summary(BY_HAND, outlier_prob=outlier_prob)
    assert table.index[table["outlier"]].tolist() == outliers


def test_the_factor_says_what_is_far():
    assert adherence_summary(BY_HAND, factor=1)["p_far_above"].tolist() == [1.0, 0.0, 0.0]
    assert adherence_summary(BY_HAND, factor=1)["p_far_below"].tolist() == [0.0, 0.0, 1.0]
    assert adherence_summary(BY_HAND, factor=5)["p_far_below"].tolist() == [0.0, 0.0, 0.0]


def test_the_median_of_an_even_number_lies_between_the_middle_two():
    table = adherence_summary(posterior([[1.0, 2.0, 4.0, 9.0]], list("abcd")))  # median 3
    assert table["p_below_median"].to_dict() == {"d": 0.0, "c": 0.0, "b": 1.0, "a": 1.0}
    assert table["p_far_below"].to_dict() == {"d": 0.0, "c": 0.0, "b": 0.0, "a": 1.0}
    assert table["sd"].isna().all()  # of one draw


def test_names_dims_and_their_order_are_free():
    data = BY_HAND.rename(ranker="engine").transpose("engine", "draw", "chain")
    found = adherence_summary(data.to_dataset(name="theta"), "theta", dim="engine")
    assert found.index.name == "engine"
    pd.testing.assert_frame_equal(found, adherence_summary(BY_HAND), check_names=False)


@pytest.mark.parametrize(
    ("data", "option", "message"),
    [
        (
            posterior([[1, -0.5, 0.3]]),
            {},
            r"^The array of ranker bob is -0\.5 .* with var_name=\.$",
        ),
        (xr.concat([BY_HAND, BY_HAND], "year"), {}, "^The array has the additional dims"),
        (BY_HAND, {"ci_prob": 94}, r"^`ci_prob` is 94; it must lie between 0\.0 and 1\.$"),
        (BY_HAND, {"outlier_prob": 0.5}, r"^`outlier_prob` is 0\.5; it must lie between 0\.5 and"),
        (BY_HAND, {"factor": 0.5}, r"^`factor` is 0\.5; it must be finite, 1 or more\.$"),
        (BY_HAND, {"factor": math.inf}, r"^`factor` is inf; it must be finite"),
        (BY_HAND, {"factor": math.nan}, r"^`factor` is nan; it must be finite"),
    ],
)
def test_bad_draws_and_numbers_raise(data, option, message):
    with pytest.raises(ValueError, match=message):
        adherence_summary(data, **option)


# How many judges of their own minds


def spreads(judge, shared):
    values = {"judge_spread": judge, "family_spread": shared}
    return xr.Dataset({name: (("chain", "draw"), [[x]]) for name, x in values.items()})


def test_effective_judges_are_all_of_them_or_the_families_and_what_a_simulation_says():
    families = dict(zip("abcdef", "xxxyyz", strict=True))
    assert effective_judges(spreads(0.5, 0.0), families).item() == pytest.approx(6)
    alike = 1 / ((3 / 6) ** 2 + (2 / 6) ** 2 + (1 / 6) ** 2)
    assert effective_judges(spreads(0.0, 0.5), families).item() == pytest.approx(alike)
    rng = np.random.default_rng(1)
    family_error = 0.6 * rng.normal(size=(100_000, 3))[:, [0, 0, 0, 1, 1, 2]]
    errors = (family_error + 0.4 * rng.normal(size=(100_000, 6))).mean(axis=1)
    found = effective_judges(spreads(0.4, 0.6), families).item()
    # the variance of 100,000 draws is right to 0.45 %
    assert (0.4**2 + 0.6**2) / errors.var() == pytest.approx(found, rel=0.025)


def test_effective_judges_need_families_and_the_spreads_of_a_model():
    with pytest.raises(ValueError, match=r"^`families` is empty"):
        effective_judges(spreads(0.5, 0.5), {})
    with pytest.raises(ValueError, match=r"^The posterior has no variable 'kin_spread'\. Pass"):
        effective_judges(spreads(0.5, 0.5), {"a": "x"}, family="kin")


def test_probabilities_compare_within_a_draw_whatever_its_scale():
    # in the second draw the scores are a thousandth as far apart
    joint = posterior([[0.1, 1.0, 1.1], [100.0, 1000.0, 1100.0]])
    table = adherence_summary(joint).loc["ann"]
    assert (table["p_below_median"], table["p_far_below"]) == (1.0, 1.0)
    assert table["outlier"]
