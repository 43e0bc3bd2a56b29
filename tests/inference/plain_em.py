"""A mixture of Plackett-Luce models of full rankings as one would write it in NumPy: EM with MM.

The E-step has every ranking under every component; the M-step is one step of Hunter's MM algorithm
(Annals of Statistics 2004), as in Mollica & Tardella (Psychometrika 2017). No priors.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp


class PlainFit(NamedTuple):
    weights: np.ndarray  # (n_components,)
    utility: np.ndarray  # (n_components, n_items), of sum zero
    log_likelihood: float


def plain_em(
    ordering: np.ndarray, members: np.ndarray, *, tolerance: float = 1e-3, n_steps: int = 10_000
) -> PlainFit:
    """Climb from responsibilities (n_rankings, n_components), until gains are below `tolerance`."""
    n_components = members.shape[1]
    worth, before = np.ones((n_components, ordering.shape[1])), -np.inf
    for _ in range(n_steps):
        worth = np.stack([mm_step(ordering, members[:, g], worth[g]) for g in range(n_components)])
        weights = members.mean(axis=0)
        joint = np.log(weights) + np.stack([plain_logp(ordering, w) for w in worth], axis=1)
        logps = logsumexp(joint, axis=1)
        members = np.exp(joint - logps[:, None])
        height = logps.sum()
        if height - before < tolerance:
            break
        before = height
    utility = np.log(worth)
    return PlainFit(weights, utility - utility.mean(axis=1, keepdims=True), float(height))


def plain_logp(ordering: np.ndarray, worth: np.ndarray) -> np.ndarray:
    """Log-probability of every ranking."""
    w = worth[ordering]
    left = np.cumsum(w[:, ::-1], axis=1)[:, ::-1]
    return np.log(w[:, :-1] / left[:, :-1]).sum(axis=1)


def mm_step(ordering: np.ndarray, member: np.ndarray, worth: np.ndarray) -> np.ndarray:
    """One step of MM: chosen so often, over the sum of 1 / worth of what it was chosen from."""
    n_items = worth.size
    left = np.cumsum(worth[ordering][:, ::-1], axis=1)[:, ::-1]
    chosen = np.bincount(
        ordering[:, :-1].ravel(), np.repeat(member, n_items - 1), minlength=n_items
    )
    share = np.cumsum(member[:, None] / left[:, :-1], axis=1)  # of the stages at which it was there
    share = np.concatenate([share, share[:, -1:]], axis=1)
    expected = np.bincount(ordering.ravel(), share.ravel(), minlength=n_items)
    new = chosen / expected
    return new / new.mean()
