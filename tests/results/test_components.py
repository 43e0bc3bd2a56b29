"""Relabelled draws, and how many components there are: by hand."""

from types import SimpleNamespace

import arviz as az
import numpy as np
import pandas as pd
import pytest
import xarray as xr

from bayesrank.results import LabelWarning, compare, compare_components, relabel_components
from tests.builders import results

TRUTH = np.array([[2.0, 0.0, -2.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 1.0]])
WEIGHTS = np.array([0.5, 0.3, 0.2])


def posterior(n_draws=60, sd=0.2, seed=1):
    """Draws of three components, each draw with its components in an order of its own."""
    rng = np.random.default_rng(seed)
    order = np.stack([rng.permutation(3) for _ in range(2 * n_draws)])
    utility = (TRUTH + rng.normal(0, sd, (2 * n_draws, 3, 3)))[
        np.arange(2 * n_draws)[:, None], order
    ]
    utility, weights = utility.reshape(2, n_draws, 3, 3), WEIGHTS[order].reshape(2, n_draws, 3)
    return results(
        {"component": ["x", "y", "z"], "item": list("abc")},
        posterior={
            "utility": (("component", "item"), utility),
            "weights": ("component", weights),
            "slope": (("feature", "component"), order.reshape(2, n_draws, 1, 3) * 1.0),
            "scale": ((), np.ones((2, n_draws))),
        },
        log_likelihood={"y": ("ranking", np.zeros((2, n_draws, 4)))},
    )


def reference(utility=TRUTH):
    return results(posterior={"utility": (("component", "item"), utility[None, None])})


def test_all_that_has_components_is_put_in_the_order_of_the_reference():
    before = posterior()
    found = relabel_components(before, reference())["posterior"]
    np.testing.assert_allclose(found["utility"].mean(("chain", "draw")), TRUTH, atol=0.15)
    assert (found["weights"] == WEIGHTS).all()
    assert (found["slope"] == np.arange(3.0)).all()
    assert found["slope"].dims == ("chain", "draw", "feature", "component")
    assert found["component"].to_numpy().tolist() == ["x", "y", "z"]  # names stay
    xr.testing.assert_identical(found["scale"], before["posterior"]["scale"])
    xr.testing.assert_identical(before["posterior"].dataset, posterior()["posterior"].dataset)


def test_a_reference_is_read_by_label():
    named = reference()
    labels = {"component": ["x", "y", "z"], "item": [*"abc"]}
    named["posterior"] = named["posterior"].to_dataset().assign_coords(labels)
    wanted = relabel_components(posterior(), named)["posterior"]["utility"]
    moved = named.copy()
    moved["posterior"] = named["posterior"].to_dataset().isel(component=[2, 0, 1], item=[1, 2, 0])
    xr.testing.assert_identical(
        relabel_components(posterior(), moved)["posterior"]["utility"], wanted
    )
    moved["posterior"] = moved["posterior"].to_dataset().assign_coords(item=[*"abd"])
    with pytest.raises(ValueError, match="The reference has the labels 'a', 'b', 'd' of 'item'"):
        relabel_components(posterior(), moved)


def test_without_a_reference_all_draws_have_the_same_order():
    found = relabel_components(posterior())["posterior"]
    assert (found["weights"] == found["weights"][0, 0]).all()
    assert sorted(found["weights"].to_numpy()[0, 0]) == sorted(WEIGHTS)


def test_components_that_draws_cannot_distinguish_warn():
    close = TRUTH.copy()
    close[1] = close[0] + 0.1
    draws = close + np.random.default_rng(2).normal(0, 1.0, (1, 200, 3, 3))
    tree = results(posterior={"utility": (("component", "item"), draws)})
    with pytest.warns(
        LabelWarning, match=r"in \d+% of the draws, component [01] is .* most often [01]"
    ):
        relabel_components(tree, reference(close))


def test_missing_variables_and_references_of_other_models_raise():
    with pytest.raises(ValueError, match="has no variable 'taste'"):
        relabel_components(posterior(), var_name="taste")
    with pytest.raises(ValueError, match="has no dim 'cluster'"):
        relabel_components(posterior(), dim="cluster")
    with pytest.raises(ValueError, match="has 2 components with 3 values of 'utility'; the"):
        relabel_components(posterior(), reference(TRUTH[:2]))


# How many


def fitted(mean, seed):
    """Results with a log-likelihood of 40 rankings."""
    rng = np.random.default_rng(seed)
    logp = mean + rng.normal(0, 0.5, 40) + rng.normal(0, 0.05, (2, 200, 40))
    return results(
        {"y_outcome": ["weak orders given their block sizes"]},
        posterior={"u": ((), rng.normal(size=(2, 200)))},
        log_likelihood={"y": ("ranking", logp)},
        constant_data={
            "y_ranks": (("ranking", "slot"), np.tile([1, 2, 3], (40, 1))),
            "y_item": (("ranking", "slot"), np.tile([0, 1, 2], (40, 1))),
            "y_weight": ("ranking", np.ones(40)),
            "y_outcomes": ("y_outcome", [40]),
        },
    )


def mode(height, n_parameters):
    bic = -2 * height + n_parameters * np.log(40)
    return SimpleNamespace(
        log_likelihood=height, n_parameters=n_parameters, bic=bic, n_reached=3,
        log_posterior=np.zeros(4),
    )  # fmt: skip


def test_one_table_has_what_can_be_had_of_each_model():
    loo = {"1": fitted(-3.0, 1), "3": fitted(-2.0, 2)}
    modes = {"1": mode(-120.0, 2), "2": mode(-80.0, 5), "3": mode(-79.0, 8)}
    table = compare_components(loo, modes=modes)
    assert table.index.tolist() == ["1", "2", "3"]
    exact = compare(loo, baseline=False)
    for column, arviz_column in {"elpd": "elpd", "elpd_se": "se", "elpd_diff": "elpd_diff"}.items():
        np.testing.assert_allclose(
            table.loc[["1", "3"], column], exact.loc[["1", "3"], arviz_column]
        )
    assert table["elpd"].isna().tolist() == [False, True, False]
    assert table["bic"].tolist() == [x.bic for x in modes.values()]
    assert table["reached"].tolist() == [0.75] * 3


def test_k_fold_columns_follow_those_of_leave_one_out():
    loo = {"1": fitted(-3.0, 1), "2": fitted(-2.0, 2)}
    folds = {}
    for name, height in {"1": -130.0, "2": -90.0}.items():
        pointwise = xr.DataArray(
            np.linspace(height - 1, height + 1, 40) / 40, dims="ranking", name="elpd_i"
        )
        pointwise.attrs = {"outcome": "weak orders given their block sizes", "folds": [0, 1] * 20}
        folds[name] = az.ELPDDataLOOKFold(
            elpd=float(pointwise.sum()), se=1.0, p=np.nan, n_samples=10, n_data_points=40,
            scale="log", warning=False, good_k=None, elpd_i=pointwise, n_folds=2,
        )  # fmt: skip
    table = compare_components(loo, kfold=folds)
    np.testing.assert_allclose(table["elpd_kfold"], [-130.0, -90.0])
    assert list(table.columns) == [
        *("elpd", "elpd_se", "elpd_diff", "elpd_diff_se"),
        *("elpd_kfold", "elpd_se_kfold", "elpd_diff_kfold", "elpd_diff_se_kfold"),
    ]
    assert isinstance(table, pd.DataFrame)


def test_a_single_model_is_compared_with_nothing():
    table = compare_components({"1": fitted(-3.0, 1)}, modes={"1": mode(-120.0, 2)})
    assert table.loc["1", "elpd_diff"] == 0.0
    with pytest.raises(ValueError, match="give loo=, kfold= or modes="):
        compare_components()
