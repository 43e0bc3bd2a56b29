"""The study of forecasts, and of intervals in simulated tables."""

import numpy as np
import pytest
from scipy import stats

from models.history.study import DESIGNS, DYNAMICS, OF_THESE, PROB, WHEN, Design, covered, main


@pytest.mark.slow
def test_the_study_in_its_reduced_size(data_dir):
    tables = main([str(data_dir / "football"), "--quick"])
    rows = tables["forecasts"].rows
    assert {"Elo", "Glicko-style", *DYNAMICS} <= {*rows.index}
    # three outcomes; the last 76 matches, standard error .055
    assert (rows["log loss"].astype(float) < 1.2).all()
    assert list(tables["evidence"].rows.index) == list(DYNAMICS)
    assert (tables["evidence"].rows["log loss of later matches"] < 1.1).all()
    assert list(tables["intervals"].rows.index) == [*DESIGNS, OF_THESE]


@pytest.mark.slow
@pytest.mark.parametrize("name", DESIGNS)
def test_intervals_contain_the_truth_as_often_as_they_say(name):
    found = covered(DESIGNS[name], range(150), seed=31)
    error = found[[*WHEN]].std() / np.sqrt(len(found))
    assert (abs(found[[*WHEN]].mean() - PROB) < 5 * error + 0.01).all()


def test_intervals_contain_strengths_that_change_fast():
    """A thin tail of the prior of the drift, or the normal around the mode, cover about half."""
    n_items, n_tables = 4, 8
    found = covered(Design(n_items, 60, 6, scale=2.0, drift=4.0), range(n_tables), seed=7)
    # utilities of one table sum to zero, so one item less is independent
    n = (n_items - 1) * n_tables
    assert found["last day"].mean() * n > stats.binom.ppf(1e-6, n, PROB)
