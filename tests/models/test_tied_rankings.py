"""Ties by chance and ties by judgement, compared on rankings of which the answer is known."""

from contextlib import nullcontext

import numpy as np
import pymc as pm
import pytest

import bayesrank as br
from models.ties.rankings import PLACKETT_LUCE, compared, main
from tests.models.normal_draws import normal_posteriors

SAMPLING = {
    "draws": 200,
    "tune": 200,
    "chains": 2,
    "cores": 1,
    "random_seed": 1,
    "progressbar": False,
}


@pytest.fixture(scope="module")
def judged():
    """Rankings drawn from PMOP with the maximum: the best of a block is there for its worth."""
    rng = np.random.default_rng(3)
    utility = np.tile([2.0, 1.0, 0.0, -1.0, -2.0, -3.0], (150, 1))
    sizes = rng.permuted(np.tile([3, 2, 1], (150, 1)), axis=1)
    dist = br.PMOP.dist(utility, aggregate="max", given_sizes=True, sizes=sizes)
    item = np.tile(np.arange(6), (150, 1))
    return br.Rankings(item, pm.draw(dist, random_seed=3), items=range(6))


@pytest.mark.slow
@pytest.mark.parametrize("nuts", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_leave_one_out_finds_the_model_that_made_the_ties(judged, nuts):
    with nullcontext() if nuts else normal_posteriors():
        few = SAMPLING | ({} if nuts else {"draws": 100})
        table = compared(judged, ("Plackett-Luce", "PMOP max"), **few)
    assert table.index[0] == "PMOP max"
    assert -table.loc["Plackett-Luce", "elpd_diff"] > 4 * table.loc["Plackett-Luce", "dse"]


@pytest.mark.slow
def test_the_table_in_its_reduced_size(data_dir):
    rows = main([str(data_dir / "ml-100k"), "--quick"])["movies"].rows
    assert rows.index[0] == PLACKETT_LUCE
    # measured with more draws: 89.6, standard error 15.6
    assert -100 < rows.loc["PMOP mean", "elpd_diff"] < -80
