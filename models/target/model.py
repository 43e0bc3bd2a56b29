r"""People as the target: few votes of people, many of machines that see the items with a bias.

Story: people and machines compare answers of systems. The question is which system people prefer.
Machines are cheap, so they give most votes. They agree with people to some extent, but they share a
bias for some systems, and each machine has opinions of its own. Machines may also be more or less
consistent than people.

    utility[i]                 ~ Normal(0, 1), centred
    bias[i]                    ~ Normal(0, bias_sd), centred
    opinion[m, i]              ~ Normal(0, 0.3)
    adherence[m]               ~ LogNormal(0.3, 0.3)
    order[k], of any judge     ~ Normal(0.1, 0.2)
    seen[k, i]                 = utility[i]                                      of people
                               = adherence[m] (utility[i] + bias[i] + opinion[m, i])  of machines
    lead                       = seen[k, first] - seen[k, second] + order[k]
    P(first, tie, second)      in proportion to exp(lead / 2), 1, exp(-lead / 2)

=====================  ===================  ==================
symbol                 variable             dims
=====================  ===================  ==================
:math:`w_i`            ``utility``          item
:math:`b_i`            ``bias``             other_kind, item
:math:`c_{mi}`         ``judge_deviation``  judge_item
:math:`a_m`            ``adherence``        judge
votes                  ``y``                pair, result
=====================  ===================  ==================

Three models answer the question: people alone, all votes with people as the target, and all votes
as if all judges were alike. The second and third are `bayesrank.leaderboard_model` with and without
``target="people"``.

Run ``python -m models.target.study``. It writes its table into ``RESULTS.md``.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd
import pymc as pm
from numpy.typing import NDArray

import bayesrank as br

PEOPLE = "people alone"
TARGET = "all votes, people as the target"
ALIKE = "all votes, all judges alike"
MODELS = (PEOPLE, TARGET, ALIKE)


class Arena(NamedTuple):
    """Votes on systems, and the true utilities for people."""

    votes: br.Pairs
    utility: NDArray[np.float64]  # (n_items,), centred


def simulate(
    seed: int,
    bias_sd: float,
    *,
    n_items: int = 8,
    people: int = 400,
    machines: int = 4000,
    n_machines: int = 3,
) -> Arena:
    """Simulate an arena: its machines, its biases and its votes."""
    rng = np.random.default_rng(seed)
    utility, bias = rng.normal(0, 1, n_items), rng.normal(0, bias_sd, n_items)
    utility, bias = utility - utility.mean(), bias - bias.mean()
    opinion = rng.normal(0, 0.3, (n_machines, n_items))
    adherence = np.exp(rng.normal(0.3, 0.3, n_machines))
    order = rng.normal(0.1, 0.2, 1 + n_machines)
    seen = np.vstack([utility, adherence[:, None] * (utility + bias + opinion)])
    judge = np.repeat([0, 1], [people, machines])
    judge[judge > 0] = rng.integers(1, 1 + n_machines, machines)
    first, second = rng.permuted(np.tile(np.arange(n_items), (len(judge), 1)), axis=1)[:, :2].T
    lead = seen[judge, first] - seen[judge, second] + order[judge]
    p = outcomes_of(lead)
    outcome = (rng.random((len(judge), 1)) > p.cumsum(axis=1)).sum(axis=1)
    items = np.array([f"system {i + 1}" for i in range(n_items)])
    names = np.array(["crowd", *(f"machine {m + 1}" for m in range(n_machines))])
    table = pd.DataFrame(
        {
            "first": items[first],
            "second": items[second],
            "outcome": np.array(["first", "second", "tie"])[outcome],
            "judge": names[judge],
            "kind": np.where(judge > 0, "machines", "people"),
        }
    )
    votes = br.Pairs.from_frame(
        table, first="first", second="second", outcome="outcome", judge="judge", by="kind"
    )
    return Arena(votes, utility)


def outcomes_of(lead: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probabilities that the first wins, the second wins, and of a tie."""
    odds = np.stack([np.exp(lead / 2), np.exp(-lead / 2), np.ones(len(lead))], axis=1)
    return odds / odds.sum(axis=1, keepdims=True)


def votes_of(arena: Arena, model: str) -> br.Pairs:
    """Return the votes that a model takes."""
    if model != PEOPLE:
        return arena.votes
    votes = arena.votes
    mine = votes[votes.judges[votes.judge_idx] == "crowd"]
    return mine.reindex({"judge": ["crowd"]})


def build(votes: br.Pairs, model: str) -> pm.Model:
    """Build one of the models."""
    if model == TARGET:
        return br.leaderboard_model(votes, target="people")
    return br.leaderboard_model(votes)
