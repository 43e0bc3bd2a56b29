r"""How do I tell drivers from their cars?

Story: a driver races for one constructor in each season, and may change it between seasons. The
utility of a driver in a season is the driver's skill plus the quality of the car. The car of a
constructor is a little different in every season.

    skill[d]          ~ Normal(0, 1), summing to zero
    car[c, t]         ~ Normal(constructor[c], 0.3),    constructor[c] ~ Normal(0, 1)
    utility[d, t]     = skill[d] + car[constructor of d in t, t]
    race in season t  ~ PlackettLuce(utility[:, t])

Group the races with ``by="season"``. The likelihood then finds the utilities of each race by their
dims, item and season. The same model separates riders from horses, or authors from translators.

Drivers who change their constructor, and drivers who share one, connect the two effects. If
nobody changed, the data would not separate skills from cars, and both would keep wide intervals.

Run ``python constructors.py`` for four simulated seasons of twelve drivers.

The first table ranks the drivers after the cars are taken into account, and the second one the
cars. Compare the first one with ``truth``. Intervals are wide where drivers never changed the car.
"""

import numpy as np
import pandas as pd
import pymc as pm
import xarray as xr

import bayesrank as br


def simulate(n_races: int = 15, *, seed: int = 1) -> tuple[br.Rankings, pd.DataFrame, xr.Dataset]:
    """Simulate races, the constructor of every driver in each season, and the true parameters."""
    rng = np.random.default_rng(seed)
    drivers, seasons = [f"driver {d}" for d in range(12)], np.arange(2021, 2025)
    constructors = np.array(list("ABCDEF"))
    seat = np.array([rng.permutation(np.arange(12) % 6) for _ in seasons])  # (season, driver)
    skill, quality = np.linspace(-1, 1, 12), np.linspace(1.5, -1.5, 6)
    car = quality[:, None] + 0.3 * rng.normal(size=(6, 4))
    utility = skill + np.array([car[seat[t], t] for t in range(4)])
    noisy = utility[:, None] + rng.gumbel(size=(4, n_races, 12))
    results = pd.DataFrame(
        {
            "race": np.repeat(np.arange(4 * n_races), 12),
            "season": np.repeat(seasons, n_races * 12),
            "driver": np.tile(drivers, 4 * n_races),
            "score": noisy.ravel(),
        }
    )
    rankings = br.Rankings.from_ratings(
        results, ranker="race", item="driver", rating="score", by="season"
    )
    team = pd.DataFrame(constructors[seat.T], index=drivers, columns=seasons)
    truth = xr.Dataset(
        {"skill": ("item", skill), "car": (("constructor", "season"), car)},
        coords={"item": drivers, "constructor": constructors, "season": seasons},
    )
    return rankings, team, truth


def build(rankings: br.Rankings, team: pd.DataFrame) -> pm.Model:
    """Build the model, given the constructor of every driver (rows) in each season (columns)."""
    team = team.loc[rankings.coords["item"], rankings.coords["season"]]
    constructors = sorted(set(team.to_numpy().ravel()))
    seat = pd.Index(constructors).get_indexer(team.to_numpy().ravel()).reshape(team.shape)
    with pm.Model(coords={**rankings.coords, "constructor": constructors}) as model:
        skill = pm.ZeroSumNormal("skill", 1, dims="item")
        constructor = pm.Normal("quality", 0, 1, dims="constructor")
        change = pm.Normal("change", 0, 0.3, dims=("constructor", "season"))
        car = pm.Deterministic("car", constructor[:, None] + change, dims=("constructor", "season"))
        utility = pm.Deterministic(
            "utility",
            skill[:, None] + car[seat, np.arange(team.shape[1])],
            dims=("item", "season"),
        )
        br.PlackettLuce("y", utility, observed=rankings)
    return model


if __name__ == "__main__":
    rankings, team, truth = simulate()
    with build(rankings, team):
        posterior = pm.sample(random_seed=1)
    summary = br.rank_summary(posterior, "skill")
    print(summary.assign(truth=truth["skill"].to_series()).round(2).to_string())
    print(br.rank_summary(posterior, "quality", dim="constructor").round(2).to_string())
