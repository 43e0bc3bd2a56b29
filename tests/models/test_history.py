"""The study of forecasts."""

import numpy as np
import pandas as pd
import pytest

from models.history.study import DYNAMICS, compared, main, read


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(1)
    n = 80
    first = rng.integers(4, size=n)
    second = (first + rng.integers(1, 4, size=n)) % 4
    lead = 1.5 * (second - first)
    frame = pd.DataFrame({"home": first, "away": second, "day": np.repeat(np.arange(n // 4), 4)})
    goals = rng.poisson(np.exp(np.stack([lead, -lead]) / 4))
    frame["home_goals"], frame["away_goals"] = goals
    frame.sample(frac=1, random_state=1).to_csv(tmp_path / "matches.csv", index=False)
    return tmp_path / "matches.csv"


@pytest.mark.slow
def test_all_forecasts_beat_chance_where_strengths_differ(table):
    columns = {"date": "day", "first": "home", "second": "away"}
    pairs = read(table, **columns, scores=("home_goals", "away_goals"))
    rows = pd.DataFrame(compared(pairs, start=0.6, dynamics=("constant",))).set_index("model")
    assert {"Elo", "Glicko-style", "constant"} <= {*rows.index}
    assert (rows["log_loss"] < np.log(3)).all()
    with pytest.raises(ValueError, match="Say which column has the outcome"):
        read(table, **columns)


@pytest.mark.slow
def test_the_study_in_its_reduced_size(data_dir):
    tables = main([str(data_dir / "football"), "--quick"])
    rows = tables["forecasts"].rows
    assert {"Elo", "Glicko-style", *DYNAMICS} <= {*rows.index}
    # three outcomes; the last 76 matches, standard error .055
    assert (rows["log loss"].astype(float) < 1.2).all()
    assert list(tables["evidence"].rows.index) == list(DYNAMICS)
    assert (tables["evidence"].rows["log loss of the others"] < 1.1).all()
