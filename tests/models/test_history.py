"""The study of forecasts."""

import pytest

from models.history.study import DYNAMICS, main


@pytest.mark.slow
def test_the_study_in_its_reduced_size(data_dir):
    tables = main([str(data_dir / "football"), "--quick"])
    rows = tables["forecasts"].rows
    assert {"Elo", "Glicko-style", *DYNAMICS} <= {*rows.index}
    # three outcomes; the last 76 matches, standard error .055
    assert (rows["log loss"].astype(float) < 1.2).all()
    assert list(tables["evidence"].rows.index) == list(DYNAMICS)
    assert (tables["evidence"].rows["log loss of later matches"] < 1.1).all()
