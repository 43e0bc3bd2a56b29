"""Log-likelihoods summed by judge, so that LOO leaves out judges."""

import arviz as az
import numpy as np
import pytest
import xarray as xr

from bayesrank.results import compare
from bayesrank.results.evaluation.groups import group_log_likelihood
from tests.builders import results


def tree(seed=0):
    """Two chains of three draws, five pairs by judges b, a, b, c, a; nobody is judged by d."""
    logp = np.random.default_rng(seed).normal(-1, 0.1, size=(2, 3, 5))
    found = results(
        {
            "chain": [0, 1], "draw": [0, 1, 2], "judge": "abcd", "day": [8, 9],
            "y_outcome": ["pair outcomes"],
        },
        posterior={"x": ((), np.zeros((2, 3)))},
        log_likelihood={"y": ("pair", logp), "z": ((), logp[..., 0])},
        constant_data={
            "y_judge": ("pair", [1, 0, 1, 2, 0]),
            "y_judge_matches": ("judge", [5, 3, 1, 0]),
            "y_day": ("pair", [0, 0, 0, 1, 1]),
            "y_day_matches": ("day", [6, 3]),
            "y_item_matches": ("item", [9, 9]),
            "y_outcomes": ("y_outcome", [5]),
        },
    )  # fmt: skip
    return found, logp


def test_pairs_of_a_judge_are_added_up():
    data, logp = tree()
    found = group_log_likelihood(data, group="judge")["log_likelihood"]["y"]
    assert found.dims == ("chain", "draw", "judge")
    assert found["judge"].values.tolist() == ["a", "b", "c"]  # d has no pairs to leave out
    expected = np.stack(
        [logp[..., 1] + logp[..., 4], logp[..., 0] + logp[..., 2], logp[..., 3]], -1
    )
    np.testing.assert_allclose(found, expected, rtol=1e-15)


def test_the_total_stays_and_so_does_the_rest():
    data, logp = tree()
    found = group_log_likelihood(data, group="day")
    np.testing.assert_allclose(found["log_likelihood"]["y"].sum("day"), logp.sum(-1), rtol=1e-14)
    xr.testing.assert_equal(found["log_likelihood"]["z"], data["log_likelihood"]["z"])
    xr.testing.assert_equal(found["posterior"]["x"], data["posterior"]["x"])
    assert data["log_likelihood"]["y"].dims == ("chain", "draw", "pair")  # untouched


def test_models_are_compared_by_judge():
    rng, models = np.random.default_rng(1), {}
    for name, better in {"worse": 0.0, "better": 0.5}.items():
        models[name] = results(
            {"judge": np.arange(20), "y_outcome": ["pair outcomes given the pairs"]},
            posterior={"x": ("i", rng.normal(size=(2, 200, 2)))},
            log_likelihood={"y": ("pair", better - 2 + 0.1 * rng.normal(size=(2, 200, 60)))},
            constant_data={
                "y_judge": ("pair", np.arange(60) % 20),
                "y_judge_matches": ("judge", np.full(20, 3)),
                "y_counts": (("pair", "result"), np.tile([1, 0], (60, 1))),
                "y_outcomes": ("y_outcome", [60]),
            },
        )
    table = compare(models, group="judge")
    assert table.index.tolist() == ["random ranking", "better", "worse"]
    assert table.loc["random ranking", "elpd"] == pytest.approx(-60 * np.log(2))
    alone = az.loo(group_log_likelihood(models["better"], group="judge"), var_name="y")
    assert table.loc["better", "elpd"] == pytest.approx(alone.elpd, abs=1e-9)
    assert alone.n_data_points == 20


def rankings():
    """Four rankings by rankers y, x, y, y; z ranked nothing."""
    logp = np.random.default_rng(0).normal(-1, 0.1, size=(2, 3, 4))
    found = results(
        {"ranker": "xyz"},
        log_likelihood={"y": ("ranking", logp)},
        constant_data={
            "y_ranks": (("ranking", "slot"), np.tile([1, 2], (4, 1))),
            "y_item": (("ranking", "slot"), np.tile([0, 1], (4, 1))),
            "y_item_rankings": ("item", [4, 4]),
            "y_ranker": ("ranking", [1, 0, 1, 1]),
            "y_ranker_rankings": ("ranker", [1, 3, 0]),
        },
    )
    return found, logp


def test_one_number_per_ranker_stays_and_more_axes_or_items_are_refused():
    data, _ = rankings()
    assert group_log_likelihood(data, group="ranking") is data
    with pytest.raises(
        ValueError, match=r"^'y' is not grouped by 'item'; its groups are 'ranker'\.$"
    ):
        group_log_likelihood(data, group="item")
    data["log_likelihood"] = data["log_likelihood"].dataset.expand_dims("fold", -1)
    with pytest.raises(ValueError, match=r"dims \['chain', 'draw', 'ranking', 'fold'\]"):
        group_log_likelihood(data, group="ranker")


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (
            {"group": "prompt"},
            r"^'y' is not grouped by 'prompt'; its groups are 'judge', 'day'\. Name the column in",
        ),
        ({"group": "item"}, r"^'y' is not grouped by 'item'; its groups are 'judge', 'day'\."),
        ({"group": "judge", "var_name": "v"}, "^The results have a log-likelihood of 'y', 'z'"),
        ({"group": "judge", "var_name": "z"}, r"^'z' is not grouped by 'judge'; it has no groups"),
    ],
    ids=str,
)
def test_unknown_groups_and_variables_are_named(change, match):
    data, _ = tree()
    with pytest.raises(ValueError, match=match):
        group_log_likelihood(data, **change)


def test_rankings_of_a_ranker_are_added_up():
    data, logp = rankings()
    found = group_log_likelihood(data, group="ranker")["log_likelihood"]["y"]
    assert found["ranker"].values.tolist() == ["x", "y"]
    expected = np.stack([logp[..., 1], logp[..., [0, 2, 3]].sum(-1)], -1)
    np.testing.assert_allclose(found, expected, rtol=1e-15)
