"""Only models of the same data and the same outcomes are compared."""

import arviz as az
import numpy as np
import pytest
import xarray as xr

from bayesrank.results import compare

GIVEN_SIZES = "weak orders given their block sizes"
N_RANKINGS = 30


def tree(outcome=GIVEN_SIZES, better=0.0, **changed):
    """What a sampled model leaves, with a log-likelihood that is `better` by so much."""
    rng = np.random.default_rng(0)
    utility = rng.normal(size=(2, 200, 3))
    logp = better - 3 + 0.1 * rng.normal(size=(2, 200, N_RANKINGS))
    data = {
        "y_ranks": (("ranking", "slot"), np.tile([1, 2, 3], (N_RANKINGS, 1))),
        "y_item": (("ranking", "slot"), np.tile([2, 0, 1], (N_RANKINGS, 1))),
        "y_weight": (("ranking",), np.ones(N_RANKINGS)),
        "y_outcomes": (("y_outcome",), [N_RANKINGS]),
    }
    data |= {f"y_{part}": (data[f"y_{part}"][0], value) for part, value in changed.items()}
    groups = {
        "posterior": xr.Dataset({"utility": (("chain", "draw", "item"), utility)}),
        "log_likelihood": xr.Dataset({"y": (("chain", "draw", "ranking"), logp)}),
        "constant_data": xr.Dataset(data, coords={"y_outcome": [outcome]}),
    }
    return xr.DataTree.from_dict(groups)


def test_the_better_of_two_models_comes_first_as_arviz_has_it():
    models = {"worse": tree(), "better": tree(better=1.0)}
    table = compare(models)
    assert table.index.tolist() == ["better", "worse"]
    assert table["elpd"].tolist() == az.compare(models, var_name="y")["elpd"].tolist()


def test_models_of_different_outcomes_are_not_compared():
    with pytest.raises(
        ValueError,
        match=r"^'one' \(weak orders given their block sizes\) and 'two' \(weak orders\) describe "
        r"different data: their expected log predictive densities cannot be compared\.$",
    ):
        compare({"one": tree(), "two": tree("weak orders")})


def test_a_pseudo_likelihood_is_refused_with_the_reason():
    outcome = "nothing: rank_weights make a pseudo-likelihood"
    with pytest.raises(
        ValueError, match=r"^'two' describes nothing: rank_weights make .* compare predictions by"
    ):
        compare({"one": tree(), "two": tree(outcome)})


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("ranks", np.tile([1, 2, 2], (N_RANKINGS, 1))),
        ("item", np.tile([0, 1, 2], (N_RANKINGS, 1))),
        ("weight", np.full(N_RANKINGS, 2.0)),
    ],
)
def test_models_of_different_data_are_not_compared(part, value):
    with pytest.raises(ValueError, match=rf"fitted to different data: y_{part} differs\. Fit both"):
        compare({"one": tree(), "two": tree(**{part: value})})


def test_a_missing_log_likelihood_is_asked_for():
    without = tree()
    del without["log_likelihood"]
    with pytest.raises(ValueError, match=r"^'two' has no log-likelihood of 'y': call pm\.compute"):
        compare({"one": tree(), "two": without})
    with pytest.raises(ValueError, match=r"^'one' has no log-likelihood of 'z'"):
        compare({"one": tree(), "two": tree()}, var="z")


def test_a_model_that_does_not_say_what_its_outcomes_are_is_refused():
    silent = tree()
    del silent["constant_data"]
    with pytest.raises(ValueError, match=r"^'two' does not say what the outcomes of 'y' are: obse"):
        compare({"one": tree(), "two": silent})


def test_one_model_is_no_comparison():
    with pytest.raises(ValueError, match=r"^There is nothing to compare: got 1 model, needs two"):
        compare({"one": tree()})
