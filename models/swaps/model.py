r"""Votes in both orders: one judge sees the same two answers twice, and prefers the same one.

Story: a judge model compares two answers to each prompt, in both orders. Its opinion
of the two answers to a prompt differs from its opinion of the two systems. Both votes show this
opinion, so they are not two independent votes.

    utility[i]       ~ Normal(0, 1), centred
    deviation[q]     ~ Normal(0, spread), for each prompt q and its two systems i < j
    lead[q]          = utility[i] - utility[j] + deviation[q]
    P(first, tie, second) in proportion to exp(d / 2), 1, exp(-d / 2),
                     d = lead[q] + order if i is first, and -lead[q] + order otherwise

=================  ====================  =====
symbol             variable              dims
=================  ====================  =====
:math:`w_i`        ``utility``           item
:math:`v_q`        ``swap_deviation``    swap
:math:`\sigma_v`   ``swap_spread``
votes              ``y``                 pair
=================  ====================  =====

Utilities are those of one prompt, so the mean lead over prompts is smaller than it would be without
deviations. A model that takes the votes as independent has no such deviations: its utilities are
closer to zero, and its intervals too narrow.

Run ``python -m models.swaps.study``. It writes its table into ``RESULTS.md``.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd
import pymc as pm
from numpy.typing import NDArray

import bayesrank as br

JOINED, APART = "joined by a deviation", "as independent votes"
MODELS = (JOINED, APART)
ORDER = 0.3


class Judged(NamedTuple):
    """Votes in both orders, and the true utilities."""

    votes: br.Pairs
    utility: NDArray[np.float64]  # (n_items,), centred


def simulate(seed: int, spread: float, *, n_items: int = 6, prompts: int = 150) -> Judged:
    """Simulate two votes on each prompt; all simulations have the same pairs."""
    rng = np.random.default_rng(seed)
    utility = rng.normal(0, 1, n_items)
    utility -= utility.mean()
    low, high = np.triu_indices(n_items, 1)
    pair = np.arange(prompts) % len(low)
    i, j = low[pair], high[pair]
    lead = utility[i] - utility[j] + rng.normal(0, spread, prompts)
    d = np.concatenate([lead + ORDER, -lead + ORDER])
    odds = np.stack([np.exp(d / 2), np.exp(-d / 2), np.ones(len(d))], axis=1)
    p = odds / odds.sum(axis=1, keepdims=True)
    outcome = (rng.random((len(d), 1)) > p.cumsum(axis=1)).sum(axis=1)
    items = np.array([f"system {k + 1}" for k in range(n_items)])
    table = pd.DataFrame(
        {
            "first": items[np.concatenate([i, j])],
            "second": items[np.concatenate([j, i])],
            "outcome": np.array(["first", "second", "tie"])[outcome],
            "prompt": np.tile(np.arange(prompts), 2),
        }
    )
    votes = br.Pairs.from_frame(
        table, first="first", second="second", outcome="outcome", prompt="prompt"
    )
    return Judged(votes, utility)


def build(votes: br.Pairs, model: str) -> pm.Model:
    """Build one of the models."""
    return br.leaderboard_model(votes, swaps=model == JOINED)
