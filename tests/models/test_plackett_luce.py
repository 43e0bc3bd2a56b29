"""The Plackett-Luce model of the gallery: its variables, its priors, and modes known exactly."""

import runpy

import numpy as np
import pandas as pd

import bayesrank as br
import models.plackett_luce
from models.plackett_luce.model import build
from tests.builders import mode_of
from tests.models.normal_draws import normal_draws

LN2 = np.log(2)


def three_to_one(**more):
    """Item "a" beats "b" three times and loses once."""
    return br.Rankings.from_orderings([["a", "b"], ["b", "a"]], weight=[3, 1], **more)


FEATURES = pd.DataFrame({"price": [1.0, 0.0], "year": [0.5, -0.5]}, index=["a", "b"])


# With difference d and p = 1 / (1 + exp(-d)), the log-likelihood 3 log p + log(1 - p) has the
# derivative 3 - 4p in d. At d = log 2, p = 2/3 and the derivative is 1/3: the scales below make
# the prior pull back by exactly that.


def test_the_mode_of_two_items_is_where_data_and_prior_balance():
    # effects +-d/2, pull (d/2) / scale^2 = 1/3
    found = mode_of(build(three_to_one(), prior_scale=np.sqrt(1.5 * LN2)))
    np.testing.assert_allclose(found["utility"], [LN2 / 2, -LN2 / 2], atol=1e-7)
    np.testing.assert_allclose(found["item_effect"], found["utility"])


def test_features_share_the_difference_with_the_items_by_their_scales():
    # "price" is 1 for a and 0 for b; d = coefficient + effect_a - effect_b, each pulled by 1/3
    # over its scale squared: d = (coefficient_scale^2 + 2 prior_scale^2) / 3 = log 2
    scales = {"coefficient_scale": np.sqrt(2 * LN2), "prior_scale": np.sqrt(LN2 / 2)}
    found = mode_of(build(three_to_one(), FEATURES[["price"]], **scales))
    np.testing.assert_allclose(found["coefficient"], [2 / 3 * LN2], atol=1e-7)
    np.testing.assert_allclose(found["item_effect"], [LN2 / 6, -LN2 / 6], atol=1e-7)
    np.testing.assert_allclose(found["utility"], [5 / 6 * LN2, -LN2 / 6], atol=1e-7)


def test_the_file_runs_and_prints_the_ten_best_drivers(monkeypatch, capsys):
    monkeypatch.setattr(br.inference, "sample", normal_draws)
    runpy.run_path(models.plackett_luce.model.__file__, run_name="__main__")
    rows = capsys.readouterr().out.splitlines()
    assert rows[0].split()[0] == "mean_rank"
    names = [" ".join(row.split()[:2]) for row in rows[2:]]
    assert len(names) == 10
    assert {"Mark Martin", "Rusty Wallace"} <= set(names)
