"""Shares, importance and willingness to pay: small posteriors worked out by hand."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pymc as pm
import pytest
import xarray as xr

import bayesrank as br
from bayesrank.results import (
    PriceWarning,
    attribute_importance,
    share_of_preference,
    willingness_to_pay,
)
from tests.results.small_posteriors import posterior

FEATURES = ["brand[B]", "brand[C]", "price"]


def worths(values, dim="item", labels="abc", **more):
    """Draws of utilities whose exponentials are given, (draw, ranker, item)."""
    return xr.DataArray(
        np.log(np.asarray(values, dtype=float))[None],
        dims=("chain", "draw", "ranker", dim),
        coords={dim: list(labels), "ranker": [f"r{k}" for k in range(np.shape(values)[1])], **more},
        name="utility",
    )


def part_worths(values):
    """Draws of part-worths, (draw, ranker, feature)."""
    dims = ("chain", "draw", "ranker", "feature")
    return xr.DataArray(
        np.asarray(values, dtype=float)[None], dims=dims, coords={"feature": FEATURES}
    )


# Shares


def test_the_share_is_the_average_of_the_shares_of_rankers():
    draws = worths([[[8, 1, 1], [1, 8, 1]], [[2, 1, 1], [2, 1, 1]]])
    shares = share_of_preference(draws)
    assert shares.dims == ("chain", "draw", "item")
    np.testing.assert_allclose(shares[0], [[0.45, 0.45, 0.1], [0.5, 0.25, 0.25]])
    # c is second best for nobody; the share at the average utility would be another
    average = share_of_preference(draws.mean("ranker"))
    assert float(average[0, 0, 2]) == pytest.approx(1 / (2 * np.sqrt(8) + 1))


def test_shares_by_ranker_are_parts_of_the_average():
    draws = worths([[[8, 1, 1], [1, 8, 1], [2, 2, 4]]])
    one_by_one = share_of_preference(draws, by="ranker")
    np.testing.assert_allclose(
        one_by_one[0, 0], [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5]]
    )


def test_sets_share_draws_so_that_changes_have_intervals():
    draws = worths([[[4, 2, 2]], [[1, 1, 2]]])
    shares = share_of_preference(draws, sets={"now": ["a", "b"], "with c": ["c", "a", "b"]})
    assert shares["item"].values.tolist() == ["a", "b", "c"]
    assert float(shares.sel(set="now", item="c").max()) == 0
    change = (shares.sel(set="with c") - shares.sel(set="now")).sel(item="a")
    np.testing.assert_allclose(change[0], [4 / 8 - 4 / 6, 1 / 4 - 1 / 2])
    np.testing.assert_allclose(shares.sum("item"), 1)


def test_profiles_are_rows_of_features():
    draws = part_worths([[[1.0, 0.0, -2.0], [0.0, 1.0, -1.0]]])
    cars = pd.DataFrame([[1, 0, 0.5], [0, 0, 0]], ["new", "old"], FEATURES).rename_axis("car")
    shares = share_of_preference(draws, "part_worth", sets=cars, by="ranker")
    assert shares.dims == ("chain", "draw", "ranker", "car")
    expected = 1 / (1 + np.exp([-0.0, 0.5]))  # utilities 1 - 1 and 0 - 0.5, against 0
    np.testing.assert_allclose(shares.sel(car="new")[0, 0], expected)
    cheaper = cars.assign(price=[0.25, 0])[FEATURES[::-1]]
    moved = share_of_preference(draws, sets={"now": cars, "cheaper": cheaper})
    assert moved.dims == ("chain", "draw", "set", "car")
    assert (moved.sel(set="cheaper", car="new") > moved.sel(set="now", car="new")).all()
    np.testing.assert_allclose(moved.sel(set="now"), shares.mean("ranker"))


def test_profiles_may_be_a_table_of_polars_or_pyarrow():
    draws = part_worths([[[1.0, 0.0, -2.0]]])
    cars = pd.DataFrame([[1, 0, 0.5], [0, 0, 0]], columns=FEATURES)
    expected = share_of_preference(draws, "part_worth", sets=cars)
    for table in (pl.DataFrame(cars), pa.table(cars)):
        xr.testing.assert_equal(share_of_preference(draws, "part_worth", sets=table), expected)


def test_other_dims_are_kept_and_extreme_utilities_have_shares():
    draws = posterior([[[1000.0, -1000.0, 999.0]]]).expand_dims(season=[1, 2])
    shares = share_of_preference(draws)
    assert shares.dims == ("chain", "draw", "season", "item")
    np.testing.assert_allclose(shares[0, 0, 0], [1 / (1 + np.exp(-1)), 0, 1 / (1 + np.exp(1))])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sets": []}, r"^`sets` is empty\. Give"),
        ({"sets": {}}, r"^`sets` must be lists of items only, .* it is empty"),
        ({"sets": {"x": ["a", "a"]}}, r"^`sets\['x'\]` must be distinct, but 'a' occurs twice"),
        ({"sets": ["a", "d"]}, r"^Unknown item 'd': the items are 'a', 'b', 'c'\."),
        ({"sets": {"x": ["a"], "y": pd.DataFrame({"a": [1]})}}, "it has both"),
    ],
)
def test_invalid_arguments_of_shares_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        share_of_preference(worths([[[4, 2, 2], [1, 1, 2]]]), **options)


def test_profiles_must_have_the_features_of_the_model():
    draws, cars = part_worths([[[1, 0, -2]]]), pd.DataFrame({"brand": ["B"], "price": [1.0]})
    with pytest.raises(ValueError, match=r"lacks \['brand\[B\]', 'brand\[C\]'\], and \['brand'\]"):
        share_of_preference(draws, sets=cars)
    row = [[1, 0, 2]]
    twice = pd.DataFrame([[1, 0, 2, 3]], columns=[*FEATURES, FEATURES[0]])
    with pytest.raises(ValueError, match=r"`sets` has two columns 'brand\[B\]'"):
        share_of_preference(draws, sets=twice)
    with pytest.raises(ValueError, match="not numbers: could not convert string to float: 'low'"):
        share_of_preference(draws, sets=pd.DataFrame([[1, 0, "low"]], columns=FEATURES))
    # a dim of the draws would be matched with the profiles, one profile for each ranker
    named = pd.DataFrame(row, columns=FEATURES, index=pd.Index(["car"], name="ranker"))
    with pytest.raises(ValueError, match="The shares would have two dims 'ranker'"):
        share_of_preference(draws, sets=named)
    gap = pd.DataFrame([[1, 0, np.nan]], columns=FEATURES)
    with pytest.raises(ValueError, match="not finite"):
        attribute_importance(draws, profiles=gap)


def test_shares_by_ranker_need_rankers():
    message = r"^`by` must be None, or 'ranker' if the variable has this dim; got "
    with pytest.raises(ValueError, match=message + "'ranker' for"):
        share_of_preference(posterior(), by="ranker")
    with pytest.raises(ValueError, match=message + "'age' for"):
        share_of_preference(worths([[[1, 1, 1]]]), by="age")


# Importance


def test_importance_is_the_range_that_the_profiles_span():
    draws = part_worths([[[1.0, 3.0, -0.5], [-1.0, 0.0, 0.25]]])
    cars = pd.DataFrame([[0, 0, 10], [1, 0, 12], [0, 1, 16]], columns=FEATURES)
    found = attribute_importance(draws, profiles=cars, by="ranker")
    assert found["attribute"].values.tolist() == ["brand", "price"]
    # ranges of the first ranker: 3 and 0.5 * 6; of the second: 1 and 0.25 * 6
    np.testing.assert_allclose(found[0, 0], [[0.5, 0.5], [0.4, 0.6]])
    np.testing.assert_allclose(attribute_importance(draws, profiles=cars)[0, 0], [0.45, 0.55])


def test_importance_does_not_depend_on_the_coding_of_levels():
    reference = part_worths([[[1.0, 3.0, -0.5]]])
    cars = pd.DataFrame([[0, 0, 10], [1, 0, 12], [0, 1, 16]], columns=FEATURES)
    # part-worths of levels that sum to zero: A has minus the sum of the others
    effects = part_worths([[[1 - 4 / 3, 3 - 4 / 3, -0.5]]])
    coded = pd.DataFrame([[-1, -1, 10], [1, 0, 12], [0, 1, 16]], columns=FEATURES)
    np.testing.assert_allclose(
        attribute_importance(effects, profiles=coded),
        attribute_importance(reference, profiles=cars),
    )


def test_profiles_of_rankings_are_their_features():
    cars = pd.DataFrame([[0, 0, 10], [1, 0, 12], [0, 1, 16]], list("abc"), FEATURES)
    rankings = br.Rankings.from_orderings([["a", "b"], ["b", "c", "a"]], rest=(), features=cars)
    draws = part_worths([[[1.0, 3.0, -0.5]]])
    np.testing.assert_allclose(
        attribute_importance(draws, profiles=rankings), attribute_importance(draws, profiles=cars)
    )
    with pytest.raises(ValueError, match=r"^The rankings have no features"):
        attribute_importance(draws, profiles=br.Rankings.from_orderings([["a", "b"]]))
    with pytest.raises(ValueError, match=r"^The profiles are identical"):
        attribute_importance(draws, profiles=cars.iloc[:1])


def test_products_of_columns_are_an_attribute_of_their_own():
    names = ["brand[B]", "price", "brand[B]:price"]
    draws = xr.DataArray([[[1.0, -0.5, 0.25]]], dims=("chain", "draw", "feature"))
    draws = draws.assign_coords(feature=names)
    cars = pd.DataFrame([[0, 1, 0], [1, 1, 1], [0, 3, 0], [1, 3, 3]], columns=names)
    found = attribute_importance(draws, profiles=cars)
    assert found["attribute"].values.tolist() == ["brand", "price", "brand:price"]
    np.testing.assert_allclose(found[0, 0], np.array([1, 1, 0.75]) / 2.75)


# Willingness to pay


def test_willingness_to_pay_is_a_median_of_ratios():
    draws = part_worths([[[2, 0, -1]], [[2, 1, -2]], [[2, 8, -4]]])
    found = willingness_to_pay(draws, "price", ci_prob=0.5)
    assert found.index.tolist() == ["brand[B]", "brand[C]"]
    assert found.columns.tolist() == ["median", "low", "high"]
    assert found.loc["brand[B]"].tolist() == [1, 0.75, 1.5]  # of 2, 1, 0.5
    assert found.loc["brand[C]"].tolist() == [0.5, 0.25, 1.25]  # of 0, 0.5, 2


def test_over_rankers_it_is_the_median_ranker_in_each_draw():
    draws = part_worths([[[2, 0, -1], [3, 0, -1], [100, 0, -1]]])
    assert willingness_to_pay(draws, "price").loc["brand[B]", "median"] == 3
    by_ranker = willingness_to_pay(draws, "price", by="ranker")
    assert by_ranker.loc[(2, "brand[B]"), "median"] == 100


def test_a_price_that_may_please_is_a_warning():
    draws = part_worths([[[2, 0, -1]], [[2, 1, 2]], [[2, 8, -4]], [[2, 2, -1]]])
    with pytest.warns(PriceWarning, match=r"^The coefficient of 'price' is zero or positive in 25"):
        found = willingness_to_pay(draws, "price")
    assert found.loc["brand[B]", "median"] == 1.25  # of 2, -1, 0.5, 2
    with pytest.raises(ValueError, match=r"^Unknown feature 'cost': the features are "):
        willingness_to_pay(draws, "cost")
    with pytest.raises(ValueError, match="has no feature besides 'price'"):
        willingness_to_pay(draws.sel(feature=["price"]), "price")


# Respondents


def best_worst_survey(people, tasks, items, shown, *, at_random, seed):
    """Simulate a best-worst survey; the first people answer at random."""
    rng = np.random.default_rng(seed)
    names = np.array([f"i{k}" for k in range(items)])
    utility = np.linspace(1.5, -1.5, items) + 0.7 * rng.normal(size=(people, items))
    utility[:at_random] = 0
    rows = []
    for person in range(people):
        for task in range(tasks):
            some = rng.permutation(items)[:shown]
            order = some[np.argsort(-(utility[person, some] + rng.gumbel(size=shown)))]
            rows += [(f"p{person}", task, names[i], i == order[0], i == order[-1]) for i in some]
    return pd.DataFrame(rows, columns=["id", "task", "item", "best", "worst"])


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_respondents_who_answer_at_random_are_predicted_worst(seed):
    frame = best_worst_survey(60, 10, 10, 5, at_random=6, seed=seed)
    tasks = br.Rankings.from_best_worst(
        frame, respondent="id", task="task", item="item", best="best", worst="worst"
    )
    with pm.Model(coords=tasks.coords):
        br.PlackettLuce("y", pm.ZeroSumNormal("utility", 1.5, dims="item"), observed=tasks)
        posterior = br.fit_inla(random_seed=1)
        pm.compute_log_likelihood(posterior, progressbar=False)
    people = br.loo_by_ranker(posterior)
    assert {f"p{k}" for k in range(6)} <= set(people.index[:9])
    assert people["gain"].iloc[:6].max() < 0 < people["gain"].median()
    assert (people["pareto_k"] < 0.7).all()
