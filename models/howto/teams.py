r"""How do I rate players by the matches of their teams?

Story: two teams play a match, with line-ups that change from match to match. A team is as strong
as the sum of the skills of its players. Teams may have different numbers of players.

    skill[p]       ~ Normal(0, 1)
    utility[t]     = sum of the skills of the players of line-up t
    first wins     ~ BradleyTerry(utility[first] - utility[second])

Each line-up is an item, and the matrix `lineup` marks its players. So the utilities of the items
are the product of this matrix and the skills, and every function for matches still applies. Use the
mean instead of the sum if larger teams are not stronger.

If players always play together, the data determine only the sum of their skills. The prior then
divides this sum equally.

Run ``python teams.py`` for 400 simulated matches of two against two.

Compare the order of the players with the column ``truth``. No player ever played alone, and yet
the model orders them, because the line-ups change.
"""

import numpy as np
import pandas as pd
import pymc as pm
import xarray as xr
from scipy.special import expit

import bayesrank as br


def simulate(n_matches: int = 400, *, seed: int = 1) -> tuple[br.Pairs, xr.Dataset]:
    """Simulate matches of two against two out of eight players, and their skills."""
    rng = np.random.default_rng(seed)
    players = np.array([f"player {p}" for p in range(8)])
    skill = np.linspace(-1, 1, 8)
    teams = np.array([rng.permutation(8)[:4] for _ in range(n_matches)]).reshape(-1, 2, 2)
    strength = skill[teams].sum(axis=-1)
    first_wins = rng.random(n_matches) < expit(strength[:, 0] - strength[:, 1])
    names = [[" + ".join(sorted(players[team])) for team in match] for match in teams]
    table = pd.DataFrame(names, columns=["home", "away"])
    table["winner"] = np.where(first_wins, "first", "second")
    pairs = br.Pairs.from_frame(table, first="home", second="away", outcome="winner")
    return pairs, xr.Dataset({"skill": ("player", skill)}, coords={"player": players})


def build(pairs: br.Pairs) -> pm.Model:
    """Build the model of matches of line-ups, such as ``"ann + bob"``."""
    lineup = pd.Series(pairs.items, index=pairs.items).str.get_dummies(" + ")
    with pm.Model(coords={**pairs.coords, "player": lineup.columns}) as model:
        skill = pm.Normal("skill", 0, 1, dims="player")
        utility = pm.Deterministic("utility", lineup.to_numpy() @ skill, dims="item")
        br.BradleyTerry("y", utility, observed=pairs)
    return model


if __name__ == "__main__":
    pairs, truth = simulate()
    with build(pairs):
        posterior = pm.sample(random_seed=1)
    summary = br.rank_summary(posterior, "skill", dim="player")
    print(summary.assign(truth=truth["skill"].to_series()).round(2).to_string())
