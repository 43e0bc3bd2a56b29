"""Bradley-Terry of the gallery: Agresti's baseball, modes known exactly, features, new items."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayesrank as br
from models.bradley_terry import study, sushi
from models.bradley_terry.model import build, with_new_items
from tests.builders import mode_of, results

# Baseball: Agresti, Categorical Data Analysis (2002), Table 10.11


def relative(utility):
    return np.sort((utility - utility.sel(item="Baltimore")).to_numpy())


def test_baseball_at_home_has_the_published_estimates():
    model = build(br.load_baseball(), prior_scale=100.0, order_effect=True, order_scale=100.0)
    found = mode_of(model, ftol=1e-15, gtol=1e-8)
    worth = np.exp(relative(found["utility"]))
    published = [0.044, 0.088, 0.137, 0.157, 0.164, 0.190, 0.220]
    np.testing.assert_allclose(worth / worth.sum(), published, atol=0.00051)
    assert found["order_effect"] == pytest.approx(0.302, abs=0.00051)


# New items


def posterior(n=4000):
    rng = np.random.default_rng(0)
    return results(
        {"item": ["a", "b"], "feature": ["price", "year"]},
        posterior={
            "utility": ("item", rng.normal(size=(2, n, 2))),
            "coefficient": ("feature", rng.normal([1.0, -2.0], 0.1, (2, n, 2))),
            "prior_scale": ((), np.full((2, n), 0.5)),
        },
    )


def test_new_items_stand_beside_the_old_as_wide_as_the_scale_says():
    known = posterior()
    new = pd.DataFrame({"year": [1.0, 0.0], "price": [3.0, 0.0], "name": "x"}, index=["c", "d"])
    draws = with_new_items(known, new)
    assert draws["item"].to_numpy().tolist() == ["a", "b", "c", "d"]
    xr.testing.assert_equal(
        draws["utility"].sel(item=["a", "b"]), known["posterior"].dataset["utility"]
    )
    mean = draws["utility"].mean(("chain", "draw")).to_series()
    sd = draws["utility"].std(("chain", "draw")).to_series()
    # 3 - 2 = 1 with variance 0.25 + 0.01 (9 + 1); nothing with 0.25: errors of 0.007
    assert mean["c"] == pytest.approx(1.0, abs=0.03)
    assert mean["d"] == pytest.approx(0.0, abs=0.03)
    assert sd["c"] == pytest.approx(np.sqrt(0.35), abs=0.02)
    assert sd["d"] == pytest.approx(0.5, abs=0.02)
    assert br.rank_summary(draws).shape[0] == 4


# As a program


# With few draws, Pareto k of a pair is near its limit; its side depends on the processor.
@pytest.mark.filterwarnings("ignore::bayesrank.results.ParetoKWarning")
@pytest.mark.slow
def test_the_studies_in_their_reduced_size(data_dir):
    home = study.main(["--quick"])["home"].rows["1987"]
    unmet = sushi.main([str(data_dir / "sushi3"), "--quick"])["unmet"].rows["sushi"]
    assert (home["first"], home["last"]) == ("Milwaukee", "Baltimore")
    assert 0.2 < home["home advantage"] < 0.36
    assert unmet["correlation of predicted and played"] > 0.9
    assert -0.63 < unmet["log score of their matches, predicted"] < -0.59
