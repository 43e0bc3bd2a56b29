"""Draw the pictures of the README: ``./dev run python docs/pictures.py``, half a minute.

NASCAR 2002, Plackett-Luce with independent normal utilities. With the path of a table of matches
(date, home, away, home_goals, away_goals) those of ``history.md`` instead, from it.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pymc as pm

import bayesrank as br
from bayesrank.results import figure_png, write_whole

HERE = Path(__file__).parent


def main() -> None:
    """Sample, draw, and write the files whole."""
    races = br.load_nascar()
    with pm.Model(coords=races.coords):
        utility = pm.Normal("utility", 0, 1, dims="item")
        br.PlackettLuce("y", utility, observed=races)
        posterior = pm.sample(
            random_seed=1, nuts={"adaptation": "low_rank"}, progressbar=False, quiet=True
        )
        pm.sample_posterior_predictive(
            posterior, extend_inferencedata=True, random_seed=1, progressbar=False
        )
    pictures = {
        "ranks.png": br.plot_ranks(posterior, max_items=20),
        "places.png": br.plot_places(posterior, max_items=15),
        "checks.png": br.plot_ranking_checks(posterior),
    }
    write(pictures)


def of_history(path: Path) -> None:
    """Fit the matches of a table by the defaults, and draw how strengths went."""
    table = pd.read_csv(path)
    goals = table["home_goals"] - table["away_goals"]
    table["result"] = np.select([goals > 0, goals < 0], ["first", "second"], "tie")
    pairs = br.Pairs.from_frame(table, first="home", second="away", outcome="result", by="date")
    fit = br.history(pairs, time="date")
    days = pd.date_range(table["date"].min(), table["date"].max(), 150)
    draws = fit.draws(at=list(days), draws=250)
    write(
        {
            "history.png": br.plot_history(draws, max_items=5),
            "best.png": br.plot_history(draws, show="best", max_items=6),
        }
    )


def write(pictures: dict[str, Any]) -> None:
    """Write files beside this one."""
    for name, picture in pictures.items():
        write_whole(HERE / name, figure_png(picture, dpi=110))


if __name__ == "__main__":
    of_history(Path(sys.argv[1])) if len(sys.argv) > 1 else main()
