"""What the page of verbs says is so."""

import re
from functools import cache

import arviz as az
import matplotlib.pyplot as plt
import numpy as np
import pymc as pm
import pymc.testing
import pytest

import bayesrank as br
from tests.builders import model_of
from tests.verbs import FAMILIES, PAGE, TRACEBACK, VERBS, cell, is_not_installed, page, read_page

SAID = read_page(PAGE.read_text(encoding="utf-8"))


def test_the_page_has_a_cell_of_every_verb_and_family_and_none_is_a_traceback():
    assert list(SAID) == list(FAMILIES)
    assert all(list(column) == list(VERBS) for column in SAID.values())
    cells = [text for column in SAID.values() for text in column.values()]
    assert [text for text in cells if text.startswith(TRACEBACK)] == []
    assert read_page(page(SAID)) == SAID


# Both see through a verb that does not do what it says
@pytest.mark.parametrize("verb", ["draw", "debug", "set_observed"])
def test_verbs_that_cost_little_do_what_the_page_says(verb):
    assert cell("BradleyTerry", verb) == SAID["BradleyTerry"][verb]


def test_a_sentence_is_told_from_a_traceback():
    assert cell("BPR", "LOO") == SAID["BPR"]["LOO"]
    assert SAID["BPR"]["LOO"].startswith("BPR is a composite likelihood of pairs of items")


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("verb", VERBS)
def test_a_cell_is_what_the_page_says(name, verb):
    found, expected = cell(name, verb), SAID[name][verb]
    if is_not_installed(found) or is_not_installed(expected):
        pytest.skip(f"here: {found}, on the page: {expected}")
    assert found == expected


# The sections below the table


@cache
def small():
    """Thirty rankings of four of six items, and their model."""
    rng = np.random.default_rng(3)
    items, utility = np.array([*"abcdef"]), np.array([1.2, 0.7, 0.2, -0.2, -0.6, -1.3])
    shown = [rng.permutation(6)[:4] for _ in range(30)]
    orders = [k[np.argsort(-(utility[k] + rng.gumbel(size=4)))] for k in shown]
    return br.Rankings.from_orderings([items[k].tolist() for k in orders], rest=())


def small_model():
    rankings = small()
    with pm.Model(coords=rankings.coords) as model:
        s = pm.HalfNormal("s", 1.5)
        br.PlackettLuce("y", pm.Normal("u", 0, s, dims="item"), observed=rankings)
    return model


@cache
def reference():
    with small_model():
        return pm.sample(
            1000, tune=1000, chains=4, cores=1, random_seed=1, nuts_sampler="nutpie",
            progressbar=False,
        )  # fmt: skip


def test_draws_for_tests_of_pymc_are_summarised():
    with model_of(small(), br.PlackettLuce):
        idata = pymc.testing.mock_sample(draws=10, random_seed=1)
    assert br.rank_summary(idata).shape[0] == 6


SCALAR = re.findall(
    r"`(\w+)`", re.search(r"about shapes: (.*?)\.", PAGE.read_text("utf-8"), re.S)[1]
)


@cache
def checked():
    idata = reference().isel(draw=slice(50))
    with small_model():
        pm.sample_posterior_predictive(
            idata, extend_inferencedata=True, random_seed=1, progressbar=False
        )
        pm.compute_log_likelihood(idata, progressbar=False)
    return idata


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of few draws and discrete values
@pytest.mark.parametrize("name", SCALAR)
def test_checks_of_scalars_take_a_statistic_and_no_rankings(name):
    function = getattr(az, name)
    with pytest.raises((ValueError, TypeError, IndexError)):
        function(checked())
    function(br.predicted_statistic(checked(), lambda ranks: ranks.sel(item="a")))
    plt.close("all")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_moments_are_matched_with_the_result_of_arviz():
    before = az.loo(checked(), pointwise=True)
    found = az.loo_moment_match(
        checked(), before, model=small_model(), k_threshold=float(before.pareto_k.median())
    )
    assert found.elpd == pytest.approx(before.elpd, abs=before.se)
