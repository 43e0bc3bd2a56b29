"""Davidson and Rao-Kupper side by side: published estimates, checks, and ties of known origin."""

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pymc as pm
import pytest

import bayesrank as br
from models.ties.model import MODELS, build, fitted
from tests.models.normal_draws import normal_posteriors

PUDDING = json.loads((Path(__file__).parents[1] / "published/pudding.json").read_text("utf-8"))
SHORT = {
    "draws": 500,
    "tune": 300,
    "cores": 1,
    "progressbar": False,
}


@pytest.fixture(scope="module")
def puddings():
    return fitted(br.load_pudding(), **SHORT)


def test_with_a_wide_prior_the_mode_is_the_published_estimate():
    # The density of nu, the only prior left, has the slope -1 - log nu = -0.71 in log nu, which a
    # standard error of 0.0825 makes a shift of 0.0048. Utilities go with 2 + nu, by 0.13%.
    with build(br.load_pudding(), "Davidson", prior_scale=30.0):
        found = pm.find_MAP(
            progressbar=False, jitter=False, return_inferencedata=True, ftol=0.0, gtol=1e-10
        )["posterior"].isel(chain=0, draw=0)
    log_worth = np.array(PUDDING["mle"]["log_worth"])
    np.testing.assert_allclose(found["utility"], log_worth - log_worth.mean(), atol=3e-4)
    assert np.log(found["nu"]) == pytest.approx(PUDDING["mle"]["log_nu"] - 0.0048, abs=3e-4)


@pytest.mark.slow
def test_the_models_cannot_be_told_apart_on_puddings(puddings):
    table = br.compare(puddings, baseline=False)
    assert set(table.index) == set(MODELS)
    last = table.iloc[1]
    assert abs(last["elpd_diff"]) < max(2 * last["dse"], 0.2)


def matches(distribution, **tie):
    """Eight items far apart, of which each two met 30 times before each of ten judges."""
    pair = list(combinations(range(8), 2))
    utility = np.linspace(3.0, -3.0, 8)
    counts = pm.draw(
        distribution.dist(np.tile(utility[pair], (10, 1)), total=30, **tie), random_seed=1
    )
    rows = pd.DataFrame(counts, columns=["first", "second", "tie"])
    rows[["one", "two"]] = np.tile(pair, (10, 1))
    rows["judge"] = np.repeat(np.arange(10), len(pair))
    long = rows.melt(["one", "two", "judge"], var_name="outcome", value_name="n")
    return br.Pairs.from_frame(
        long, first="one", second="two", outcome="outcome", count="n", judge="judge"
    )


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("Davidson", lambda: matches(br.Davidson, nu=1.0)),
        ("Rao-Kupper", lambda: matches(br.RaoKupper, theta=2.0)),
    ],
)
@pytest.mark.slow
def test_leave_one_out_finds_the_model_that_made_the_ties(name, made):
    with normal_posteriors():
        table = br.compare(fitted(made(), prior_scale=2.0, **SHORT | {"draws": 200}))
    assert table.index[0] == name
    assert -table.iloc[1]["elpd_diff"] > 2 * table.iloc[1]["dse"]
