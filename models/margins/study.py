"""Do margins predict who wins better than who won does? Forward validation on football.

For each season from the second on, the models learn from the season before and from the matches
until the end of December, and predict who wins the other matches. The log loss of a match is minus
the logarithm of the mean probability of what happened, over the draws of the posterior. The gain is
the log loss of "who won" minus the log loss of a model, match by match.

Run ``python -m models.margins.study [FOLDER]`` with the folder of ``england.csv``, by default
``football`` in ``BAYESRANK_DATA``. It writes its table into ``RESULTS.md``. ``--table leagues``
predicts other leagues, from the package football.json 1.0.0 of the npm registry (public domain),
unpacked into the folder ``football.json`` beside ``england.csv``.
"""

import json
from collections.abc import Mapping
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesrank.inference import sample
from models.margins.model import MODELS, build, pairs_of, who_wins
from models.shared.results import Run, Table, run

SAMPLING = {"draws": 500, "tune": 500, "chains": 2}
REDUCED = {"draws": 100, "tune": 200, "chains": 2}


def read(path: Path) -> pd.DataFrame:
    """Read matches with date, season, home, away and margin, in the order of time."""
    table = pd.read_csv(path, parse_dates=["date"]).sort_values("date", kind="stable")
    return table.assign(margin=table["home_goals"] - table["away_goals"])


LEAGUES = {"at": "Austria", "de": "Germany", "es": "Spain", "it": "Italy"}


def read_league(folder: Path, league: str) -> pd.DataFrame:
    """Read all matches of a league with a score, from the files of football.json."""
    rows = []
    for path in sorted(folder.glob(f"*/{league}.1.json")):
        for matches in json.loads(path.read_text("utf-8"))["rounds"]:
            rows += [
                (x["date"], path.parent.name, x["team1"]["key"], x["team2"]["key"], margin)
                for x in matches["matches"]
                if x["score1"] is not None
                for margin in [x["score1"] - x["score2"]]
            ]
    table = pd.DataFrame(rows, columns=["date", "season", "home", "away", "margin"])
    return table.assign(date=pd.to_datetime(table["date"])).sort_values("date", kind="stable")


def parts(
    table: pd.DataFrame, season: str, before: str | None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the matches to learn from, and those of the rest of a season to predict."""
    january = pd.Timestamp(year=int(season[:4]) + 1, month=1, day=1)
    here = table["season"] == season
    early = table["date"] < january
    return table[(table["season"] == before) | (here & early)], table[here & ~early]


def log_losses(
    known: pd.DataFrame, coming: pd.DataFrame, model: str, seed: int, **options: Any
) -> NDArray[np.float64]:
    """Fit a model, and return the log loss of who wins each coming match."""
    pairs = pairs_of(known, model)
    with build(pairs, model):
        draws = sample(random_seed=seed, progressbar=False, **options)["posterior"]
    utility = draws["utility"].to_numpy().reshape(-1, len(pairs.items)).T
    cutpoint = draws["cutpoint"].to_numpy().reshape(-1, len(pairs.boundaries))
    one, other = (pairs.items.get_indexer(pd.Index(coming[side])) for side in ("home", "away"))
    lead = utility[one] - utility[other] + draws["home"].to_numpy().ravel()
    p = who_wins(lead, cutpoint, MODELS[model][1]).mean(axis=1)
    happened = 1 - np.sign(coming["margin"].to_numpy()).astype(int)
    return -np.log(p[np.arange(len(p)), happened])


def compared(how: Run, seasons: Mapping[str, tuple[pd.DataFrame, pd.DataFrame]]) -> pd.DataFrame:
    """Compare the models over seasons, each with the matches to learn from and to predict."""
    options = REDUCED if how.quick else SAMPLING
    losses: dict[str, list[NDArray[np.float64]]] = {model: [] for model in MODELS}
    for season, (known, coming) in seasons.items():
        for model, found in losses.items():
            compute = partial(log_losses, known, coming, model, how.seed, **options)
            found.append(how.once(f"{season} {model}", compute))
    rows = {}
    for model, found in losses.items():
        gains = [a - b for a, b in zip(losses["who won"], found, strict=True)]
        gain, n = np.concatenate(gains), sum(map(len, found))
        rows[model] = {
            "matches": n,
            "log loss": np.concatenate(found).mean(),
            "gain": gain.mean(),
            "standard error": gain.std(ddof=1) / np.sqrt(n),
            "seasons with a gain": f"{sum(x.mean() > 0 for x in gains)} of {len(gains)}",
        }
    rows["who won"] |= {"gain": np.nan, "standard error": np.nan, "seasons with a gain": ""}
    return pd.DataFrame.from_dict(rows, orient="index")


DIGITS = {"matches": 0, "log loss": 4, "gain": 4, "standard error": 4}


def football_table(how: Run) -> Table:
    """Compare the models season by season."""
    table = read(how.folder / "england.csv")
    pairs = list(pairwise(sorted(table["season"].unique())))[: 1 if how.quick else None]
    seasons = {season: parts(table, season, before) for before, season in pairs}
    return Table(compared(how, seasons), digits=DIGITS, corner="model")


def leagues_table(how: Run) -> Table:
    """Compare the models on other leagues; a league's first season has none before it."""
    seasons = {}
    for league, name in LEAGUES.items():
        table = read_league(how.folder / "football.json", league)
        names = sorted(table["season"].unique())
        for before, season in pairwise([None, *names]):
            known, coming = parts(table, season, before)
            if len(coming) and {*coming["home"], *coming["away"]} <= {
                *known["home"],
                *known["away"],
            }:
                seasons[f"{name} {season}"] = known, coming
    some = [*seasons][: 1 if how.quick else None]
    found = compared(how, {season: seasons[season] for season in some})
    files = [how.folder / "football.json" / "package.json"]
    return Table(found, digits=DIGITS, corner="model", files=files)


TABLES = {"football": football_table}


def main(arguments: list[str] | None = None) -> dict[str, Table]:
    """Compute the table and write it into ``RESULTS.md``."""
    on_demand = {"leagues": leagues_table}
    return run(
        "margins", TABLES, on_demand=on_demand, data="football", files="england.csv",
        arguments=arguments,
    )  # fmt: skip


if __name__ == "__main__":
    main()
