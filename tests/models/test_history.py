"""The study of forecasts, and of intervals in simulated tables."""

import numpy as np
import pytest

from models.history.study import DYNAMICS, PROB, SIZES, covered, main


@pytest.mark.slow
def test_the_study_in_its_reduced_size(data_dir):
    tables = main([str(data_dir / "football"), "--quick"])
    rows = tables["forecasts"].rows
    assert {"Elo", "Glicko-style", *DYNAMICS} <= {*rows.index}
    # three outcomes; the last 76 matches, standard error .055
    assert (rows["log loss"].astype(float) < 1.2).all()
    assert list(tables["evidence"].rows.index) == list(DYNAMICS)
    assert (tables["evidence"].rows["log loss of later matches"] < 1.1).all()
    assert list(tables["intervals"].rows.index) == list(SIZES)


@pytest.mark.slow
@pytest.mark.parametrize("size", [*SIZES.values()][:2], ids=[*SIZES][:2])
def test_intervals_contain_the_truth_as_often_as_they_say(size):
    found = covered(size, 150, seed=31)
    error = found.std(axis=0) / np.sqrt(len(found))
    assert (abs(found.mean(axis=0) - PROB) < 5 * error + 0.01).all()
