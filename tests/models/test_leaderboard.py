"""Made-up systems and judges, of which the truth is known, and what is found of it."""

import functools
import runpy
import sys

import numpy as np
import pandas as pd
import pytest

import bayesrank as br
import models.leaderboard
from models.leaderboard.model import build, fit, simulate
from tests.fake_draws import fake_draws
from tests.models.normal_draws import normal_posteriors


@pytest.fixture(scope="module")
def found():
    """Fit 1,000 matches of eight systems in three categories, by five judges."""
    pairs, truth = simulate(1000, seed=1)
    # a scale that is learned is no parameter for a normal posterior: the product of scale and
    # standard utilities is known, and not the two; nor of opinions, which here nobody has
    fixed = functools.partial(build, utility_scale=1.0, opinions=False)
    with normal_posteriors(), pytest.MonkeyPatch.context() as patch:
        patch.setattr("models.leaderboard.model.build", fixed)
        return truth, fit(pairs, draws=100, cores=1, progressbar=False)["posterior"].to_dataset()


def apart(draws, truth):
    """How many posterior standard deviations the truth is from the mean, one by one."""
    mean, sd = draws.mean(("chain", "draw")), draws.std(("chain", "draw"))
    return np.abs((mean.values - truth) / sd.values)


# Weighted draws in tests/test_leaderboard_posterior.py are the short test of this model.
# 24 utilities, and 5 adherences, order effects and tie parameters: 39 values, which a normal
# posterior has all within 4 standard deviations but once in 400 truths.
@pytest.mark.slow
def test_the_truth_is_within_the_posterior(found):
    truth, draws = found
    assert apart(draws["category_utility"], truth.utility.to_numpy()).max() < 4
    assert apart(np.log(draws["adherence"]), np.log(truth.adherence.to_numpy())).max() < 4
    assert apart(draws["judge_order_effect"], truth.order_effect.to_numpy()).max() < 4
    assert apart(np.log(draws["judge_nu"]), np.log(truth.nu.to_numpy())).max() < 4


@pytest.mark.slow
def test_the_judge_who_favours_the_first_and_the_one_who_calls_few_ties_are_found(found):
    mean = found[1].mean(("chain", "draw"))
    order, nu = mean["judge_order_effect"].to_series(), mean["judge_nu"].to_series()
    assert order.idxmax() == "first-lover"
    assert order["first-lover"] > 0.7
    assert order.drop("first-lover").abs().max() < 0.4
    assert nu.idxmin() == "strict"
    assert nu["bob"] > 2 * nu["strict"]


# Other tables


def test_the_file_runs_on_another_table(tmp_path, monkeypatch, capsys):
    rows = [("a", "b", "first"), ("b", "c", "second"), ("c", "a", "first")]
    table = pd.DataFrame(rows, columns=["first", "second", "outcome"])
    table.to_csv(tmp_path / "matches.csv", index=False)
    monkeypatch.setattr(br.inference, "sample", fake_draws)
    monkeypatch.setattr(sys, "argv", ["leaderboard", str(tmp_path / "matches.csv")])
    runpy.run_path(models.leaderboard.model.__file__, run_name="__main__")
    out = capsys.readouterr().out
    assert out.startswith("Pairs: 3 pairs of 3 items by 1 judge, 3 matches")
    assert "\nNext match of a and b\n" in out
    assert "Judges" not in out
    assert out.split("Next match of a and b\n")[1].split()[:3] == ["result", "win", "loss"]
