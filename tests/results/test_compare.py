"""Only models of the same data and the same outcomes are compared."""

from dataclasses import replace

import arviz as az
import numpy as np
import pandas as pd
import pytest
import xarray as xr

from bayesrank.plots import plot_compare
from bayesrank.results import FewUnitsWarning, ParetoKWarning, compare
from tests.builders import results

GIVEN_SIZES = "weak orders given their block sizes"
N_RANKINGS = 30
LABELS = [f"r{i}" for i in range(N_RANKINGS)]
RANKS = np.tile([1, 2, 2], (N_RANKINGS, 1))
ITEM = np.random.default_rng(1).permuted(np.tile([0, 1, 2], (N_RANKINGS, 1)), axis=1)
ITEM[:, 1:].sort(axis=1)


def tree(outcome=GIVEN_SIZES, better=0.0, *, seed=0, items="abc", order=None, chains=2, **changed):
    """What a sampled model leaves, with a log-likelihood that is `better` by so much."""
    rng = np.random.default_rng(seed)
    utility = rng.normal(size=(chains, 200, 3))
    logp = better - 3 + 0.1 * rng.normal(size=(chains, 200, N_RANKINGS))
    data = {
        "y_ranks": (("ranking", "slot"), RANKS),
        "y_item": (("ranking", "slot"), ITEM),
        "y_weight": (("ranking",), np.ones(N_RANKINGS)),
        "y_outcomes": (("y_outcome",), [N_RANKINGS]),
        "y_item_rankings": (("item",), np.full(3, N_RANKINGS)),
        "y_ranker": (("ranking",), np.arange(N_RANKINGS) // 3),
        "y_ranker_rankings": (("ranker",), np.full(N_RANKINGS // 3, 3)),
    }
    data |= {f"y_{part}": (data[f"y_{part}"][0], value) for part, value in changed.items()}
    out = results(
        {"y_outcome": [outcome], "ranking": LABELS, "item": list(items)},
        posterior={"utility": ("item", utility)},
        log_likelihood={"y": ("ranking", logp)},
        constant_data=data,
    )
    return out if order is None else out.isel(ranking=order, missing_dims="ignore")


def constant(data, value=-2.0):
    """The same of a model without parameters."""
    out = data.copy()
    logp = data["log_likelihood"].dataset
    out["log_likelihood"] = xr.DataTree(xr.full_like(logp, value))
    del out["posterior"]
    return out


def kfold(better=0.0, *, n_folds=10, folds=None, labels=LABELS, outcome=GIVEN_SIZES):
    """What `bayesrank.kfold` leaves."""
    values = better - 3 + 0.1 * np.random.default_rng(2).normal(size=len(labels))
    elpd_i = xr.DataArray(values, dims="ranking", coords={"ranking": labels})
    folds = np.arange(len(labels)) % n_folds if folds is None else folds
    elpd_i.attrs = {"outcome": outcome, "folds": list(folds)}
    return az.ELPDDataLOOKFold(
        elpd=values.sum(), se=1.0, p=np.nan, n_samples=400, n_data_points=len(labels), scale="log",
        warning=False, good_k=None, elpd_i=elpd_i, n_folds=n_folds,
    )  # fmt: skip


# What the table says


def test_the_better_of_two_models_comes_first_as_arviz_has_it():
    models = {"worse": tree(), "better": tree(better=1.0)}
    table = compare(models, baseline=False)
    assert table.index.tolist() == ["better", "worse"]
    exact = az.compare(models, var_name="y", round_to="none")
    pd.testing.assert_frame_equal(table, exact, rtol=1e-9, atol=1e-9)


def test_random_ranking_is_a_row():
    table = compare({"good": tree(better=2.5), "bad": tree()})
    assert table.index.tolist() == ["good", "random ranking", "bad"]
    row = table.loc["random ranking"]
    assert row["elpd"] == pytest.approx(-N_RANKINGS * np.log(3))  # 3 orders of blocks of 1 and 2
    assert (row["p"], row["se"]) == (0, pytest.approx(0, abs=1e-12))
    difference = table.loc["good", "elpd"] - row["elpd"]
    assert row["elpd_diff"] == pytest.approx(-difference)


def test_random_ranking_can_be_the_reference():
    table = compare({"good": tree(better=2.5)}, reference="random ranking")
    assert table.loc["random ranking", "elpd_diff"] == 0
    assert table.loc["good", "elpd_diff"] > 0
    taken = {"random ranking": tree(), "x": tree(better=1)}  # a name, if there is no baseline
    assert len(compare(taken, baseline=False)) == 2


def test_a_model_without_parameters_is_worth_its_log_likelihood():
    table = compare({"sampled": tree(), "fixed": constant(tree())})
    assert table.loc["fixed", "elpd"] == pytest.approx(-2 * N_RANKINGS, rel=1e-14)
    assert table.loc["fixed", "p"] == 0


def test_rankers_are_left_out_together():
    models = {"worse": tree(), "better": tree(better=0.5)}
    table = compare(models, group="ranker")
    assert table.loc["random ranking", "elpd"] == pytest.approx(-N_RANKINGS * np.log(3))
    single = compare(models)
    assert table.loc["better", "p"] > single.loc["better", "p"]


def test_weights_survive_rankings_so_long_that_their_probabilities_are_zero():
    rng = np.random.default_rng(3)
    gain = 0.3 * rng.normal(size=N_RANKINGS)
    one, other = kfold(), kfold()
    other.elpd_i = one.elpd_i + gain
    models = {"one": one, "other": other}
    other.elpd_i.attrs = one.elpd_i.attrs
    near = compare(models, baseline=False)
    far = {
        name: replace(x, elpd_i=(x.elpd_i - 2000).assign_attrs(x.elpd_i.attrs))
        for name, x in models.items()
    }
    table = compare(far, baseline=False)
    assert 0.05 < table.loc["one", "weight"] < 0.95
    np.testing.assert_allclose(table["weight"], near["weight"], atol=1e-3)
    np.testing.assert_allclose(table["dse"], near["dse"], rtol=1e-9)


# Alignment


def test_one_observation_says_nothing_about_uncertainty():
    both = {"a": tree(better=1.0), "b": tree()}
    one = {name: x.isel(ranking=[0], ranker=[0]) for name, x in both.items()}
    with pytest.warns(FewUnitsWarning, match=r"by one ranking\. How much .* are NaN\. Use more d"):
        table = compare(one, baseline=False)
    assert table.loc["b", "elpd_diff"] == pytest.approx(-1, abs=0.1)
    assert table[["se", "p_worse", "weight"]].isna().all().all()
    assert table["dse"].isna().tolist() == [False, True]
    with pytest.raises(ValueError, match="dse is NaN, because the models were compared by one"):
        plot_compare(table)
    two = {name: x.isel(ranking=[0, 1], ranker=[0]) for name, x in both.items()}
    assert compare(two, baseline=False)["dse"].notna().all()


def test_rankings_in_another_order_are_put_in_the_order_of_the_first_model():
    order = np.random.default_rng(4).permutation(N_RANKINGS)
    one, other = tree(), tree(better=0.1, seed=5)
    moved = tree(better=0.1, seed=5, order=order)
    expected = compare({"one": one, "other": other})
    table = compare({"one": one, "other": moved})
    np.testing.assert_allclose(table["dse"], expected["dse"], rtol=1e-12)
    np.testing.assert_allclose(table["elpd"], expected["elpd"], rtol=1e-12)
    naive = az.compare({"one": one, "other": moved}, var_name="y", round_to="none")
    assert abs(naive.loc["one", "dse"] - table["dse"].sort_values().iloc[1]) > 1e-3


def test_one_more_empty_slot_is_the_same_data():
    other = tree()
    data = other["constant_data"].dataset
    wider = data.drop_vars(["y_ranks", "y_item"])
    for part in ("y_ranks", "y_item"):
        wider[part] = (("ranking", "slot"), np.pad(data[part].values, ((0, 0), (0, 1))))
    other["constant_data"] = xr.DataTree(wider)
    assert len(compare({"one": tree(), "other": other})) == 3


def test_labels_that_stand_there_twice_are_matched_in_order():
    twice = ["r", *LABELS[1:-1], "r"]
    one, other = (kfold(labels=twice) for _ in range(2))
    assert compare({"one": one, "two": other}, baseline=False)["elpd_diff"].tolist() == [0, 0]


# K-fold


def test_results_of_kfold_are_compared():
    table = compare({"worse": kfold(), "better": kfold(0.5)}, baseline=tree())
    assert table.index.tolist() == ["random ranking", "better", "worse"]
    assert table.loc["random ranking", "elpd"] == pytest.approx(-N_RANKINGS * np.log(3))


def test_results_of_kfold_by_ranker_have_random_rankers():
    rankers = np.arange(N_RANKINGS // 3)
    by_ranker = kfold(labels=rankers, n_folds=5)
    by_ranker.elpd_i = by_ranker.elpd_i.rename(ranking="ranker")
    table = compare({"one": by_ranker}, baseline=tree())
    assert table.loc["random ranking", "elpd"] == pytest.approx(-N_RANKINGS * np.log(3))


def test_different_folds_are_not_compared():
    folds = np.arange(N_RANKINGS) % 10
    renumbered = kfold(0.5, folds=9 - folds)
    assert len(compare({"one": kfold(), "two": renumbered}, baseline=False)) == 2
    moved = kfold(0.5, folds=np.sort(folds))
    with pytest.raises(ValueError, match=r"^'one' and 'two' were predicted in different folds"):
        compare({"one": kfold(), "two": moved}, baseline=False)


# What is refused


def silent():
    data = tree()
    del data["constant_data"]
    return data


def with_value(value):
    data = tree()
    data["log_likelihood"]["y"][1, 7, 5] = value
    return data


def folds_with(elpd_i):
    out = kfold()
    out.elpd_i = elpd_i
    return out


UNLABELLED = xr.DataArray(np.zeros(N_RANKINGS), dims="ranking")
PSEUDO = "nothing: rank_weights make a pseudo-likelihood"
# models by name, options of compare, what is said
REFUSED = [
    (
        lambda: {"one": tree(), "two": tree("weak orders")}, {},
        r"^'one' \(weak orders given their block sizes\) and 'two' \(weak orders\) describe "
        r"different data: their expected log predictive densities cannot be compared\.$",
    ),
    (
        lambda: {"one": tree(), "two": tree(PSEUDO)}, {},
        r"^'two' describes nothing: rank_weights make a pseudo-likelihood\. It has no log",
    ),
    (
        lambda: {"one": kfold()}, {"baseline": tree("weak orders")},
        r"'random ranking' \(weak orders\) describe different",
    ),
    (
        lambda: {"all": tree(), "few": tree(order=np.arange(N_RANKINGS - 4))}, {},
        r"^'all' and 'few' describe different rankings: 'all' has 30 and 'few' has 26\. Fit both",
    ),
    (lambda: {"one": kfold()}, {}, "^None of these results contains the observations, which the"),
    (
        lambda: {"loo": tree(), "kfold": kfold()}, {},
        r"^'loo' was predicted by leave-one-out and 'kfold' by 10-fold cross-validation\. .* "
        r"training sets have different sizes",
    ),
    (
        lambda: {"ten": kfold(), "five": kfold(n_folds=5)}, {"baseline": False},
        r"by 10-fold cross-validation and 'five' by 5-fold",
    ),
    (
        lambda: {"one": folds_with(UNLABELLED)}, {"baseline": tree()},
        r"^'one' does not declare its outcomes\. Pass the DataTree instead, or a result of",
    ),
    (
        lambda: {"one": folds_with(None)}, {},
        r"^'one' has no pointwise values\. Compute it with pointwise=True\.$",
    ),
    (
        lambda: {"one": folds_with((np.nan * UNLABELLED).assign_attrs(outcome=GIVEN_SIZES))}, {},
        r"^'one' has pointwise values that are not finite",
    ),
    (
        lambda: {"one": tree(), "two": with_value(np.nan)}, {},
        "^The results of 'two' have the log-likelihood nan for ranking 'r5' of 'y', in 1 of 400",
    ),
    (lambda: {"x": with_value(-np.inf)}, {}, "^The results of 'x' have the log-likelihood -inf"),
    (
        lambda: {"MAP": tree().isel(chain=[0], draw=[0])}, {},
        "^The results of 'MAP' have 1 draws; leave-one-out by importance sampling needs 100 or",
    ),
    (lambda: {"x": tree(), "two": silent()}, {}, r"^'two' does not declare the outcomes of 'y'\."),
    (lambda: {"one": tree()}, {"baseline": False}, "^A comparison needs two models or more, or"),
    (dict, {}, r"^A comparison needs one model or more; got no models\.$"),
    (lambda: {"random ranking": tree()}, {}, "^A model is called 'random ranking', which is the"),
    (tree, {}, r'^compare needs a dict of results by name; got DataTree\. Use'),
    (lambda: {"x": xr.Dataset()}, {}, "^'x' is of type Dataset; it must be a DataTree from"),
]  # fmt: skip


@pytest.mark.parametrize(("models", "options", "message"), REFUSED)
def test_models_that_cannot_be_compared_are_refused_with_the_reason(models, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        compare(models(), **options)


# Pareto k


def test_rankings_that_change_the_posterior_too_much_warn():
    heavy = tree(better=1.0)
    rng = np.random.default_rng(6)
    for label, scale in (("r4", 1.5), ("r9", 3.0)):
        logp = -3 - scale * rng.exponential(size=(2, 200))
        heavy["log_likelihood"]["y"].loc[{"ranking": label}] = logp
    with pytest.warns(ParetoKWarning) as caught:
        table = compare({"light": tree(), "heavy": heavy})
    (warning,) = caught
    text = str(warning.message)
    assert text.startswith("2 of 30 rankings of 'heavy' have Pareto k above 0.62 (the largest, ")
    assert "is 'r9'). Leaving them out changes the posterior too much for importance" in text
    assert text.endswith(
        "Refit without them, using bayesrank.kfold, or improve the weights with "
        "arviz.loo_moment_match."
    )
    assert table.loc["heavy", "diag_elpd"].startswith("2 ")
    assert warning.filename == __file__
