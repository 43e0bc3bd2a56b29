r"""Choices from the whole catalogue: recommend items by the exact softmax, instead of pairs.

Story: every interaction is a choice of one item among all. BPR compares the item with each of the
others separately, although these pairs are not independent. Here the choice is one observation, the
first place of a Plackett-Luce ranking of the catalogue (the exact softmax):

    utility[u, i]   = item_bias[i] + sum_k user_factor[u, k] item_factor[i, k]
    P(u takes i)    = exp(utility[u, i]) / sum_j exp(utility[u, j])

The priors and the names of the variables are the same as in `models.bpr.model`, so its `recommend`,
`fold_in` and `fit_advi` also work here. The likelihood sums to one over the catalogue. So it needs
no weight, and LOO is available. The model allows a user to choose the same item again.

`build` converts small data into rankings (`choices`), and uses batches for large data. `fit_map`
finds the mode by L-BFGS. It computes the sum over the catalogue once for each user, not for each
interaction.

>>> clicks = br.Rankings.from_orderings([[{"a", "b"}, "c"], ["b", {"a", "c"}]])
>>> have = br.Interactions.from_rankings(clicks)

The first user chooses a and b, and the second user chooses b:

>>> rankings = choices(have)
>>> rankings.ranks.tolist(), rankings.item[:, 0].tolist()
([[1, 2, 2], [1, 2, 2], [1, 2, 2]], [0, 1, 1])
"""

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray
from pymc.blocking import DictToArrayBijection
from scipy.optimize import minimize
from scipy.special import logsumexp

import bayesrank as br
from models.bpr.learn_bpr import FactorFit, random_start
from models.bpr.model import Priors

__all__ = ["build", "choices", "fit_map", "learn_choice"]


def choices(interactions: br.Interactions) -> br.Rankings:
    """Rank the item of each interaction before all others, which are tied."""
    n, n_items = len(interactions), interactions.n_items
    ranks = np.full((n, n_items), 2)
    ranks[np.arange(n), interactions.item] = 1
    return br.Rankings(
        np.broadcast_to(np.arange(n_items), (n, n_items)), ranks, items=interactions.items,
        rankers=interactions.users, ranker_idx=interactions.user_idx,
    )  # fmt: skip


def build(
    interactions: br.Interactions, *, batch_size: int | None = None, **priors: Any
) -> pm.Model:
    """Build the model.

    Parameters
    ----------
    interactions : Interactions
        The items of every user.
    batch_size : int, optional
        Number of interactions in each step of `pm.fit`. By default, the model contains all of
        them, which suits small data.
    **priors
        Fields of `Priors`; here the standard deviation of the biases is 1 by default.

    Returns
    -------
    pm.Model
        Model with the variables of `models.bpr.model`.
    """
    with _checked(interactions, priors).model(interactions) as (model, W, H, b):
        if batch_size is None:
            rankings = choices(interactions)
            model.add_coord("ranker", interactions.users)
            utility = W @ H.T + b
            br.PlackettLuce("y", utility, utility_dims=("ranker", "item"), observed=rankings)
        else:
            both = interactions.user_idx.astype("int64"), interactions.item.astype("int64")
            user, item = pm.Minibatch(*both, batch_size=batch_size)
            utility = W[user] @ H.T + b
            # swap the item with the first one, so that all rows have the same ranks
            row, first = pt.arange(batch_size), utility[:, 0]
            chosen = utility[row, item]
            in_place = utility[row, item].set(first)[:, 0].set(chosen)
            ranks = np.full((batch_size, interactions.n_items), 2)
            ranks[:, 0] = 1
            br.PlackettLuce("y", in_place, observed=ranks, total_size=len(interactions))
    return model


def _checked(interactions: br.Interactions, priors: dict[str, Any]) -> Priors:
    prior = Priors(**{"bias_scale": 1.0, **priors})
    prior.check(interactions)
    return prior


def learn_choice(
    interactions: br.Interactions, *, n_iterations: int = 100, seed: int = 1, **priors: Any
) -> FactorFit:
    r"""Find a posterior mode of the model by L-BFGS.

    .. math:: \sum_u \left( \sum_{i \in I_u^+} x_{ui} - n_u \log \sum_j e^{x_{uj}} \right)
              - \sum_\theta \frac{\theta^2}{2 s_\theta^2}

    The priors are as in `build`. The search takes at most `n_iterations` steps and starts at
    normal factors. The time and memory of a step grow with the number of users times items.

    Examples
    --------
    >>> clicks = br.Rankings.from_orderings([[{"a", "b"}, "c"], ["b", {"a", "c"}]])
    >>> fit = learn_choice(br.Interactions.from_rankings(clicks), n_factors=1)
    >>> clicks.items[int(fit.item_bias.argmax())]
    'b'
    """
    prior = _checked(interactions, priors)
    shape = interactions.n_users, interactions.n_items, prior.n_factors
    start = DictToArrayBijection.map(random_start(*shape, scale=0.1, seed=seed)._asdict())
    had = interactions.to_matrix().astype(float)
    n_of_user = interactions.n_items_of_user[:, None]

    def loss(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        at = DictToArrayBijection.rmap(start._replace(data=flat))
        x = FactorFit(**at).utility()
        log_sum = logsumexp(x, axis=1, keepdims=True)
        logp = float((had * x).sum() - (n_of_user * log_sum).sum())
        slope = had - n_of_user * np.exp(x - log_sum)
        W, H = at["user_factor"], at["item_factor"]
        by = {"user_factor": slope @ H, "item_factor": slope.T @ W, "item_bias": slope.sum(axis=0)}
        for (name, value), scale in zip(at.items(), prior.scales.values(), strict=True):
            logp -= float((value**2).sum()) / 2 / scale**2
            by[name] -= value / scale**2
        return -logp, -DictToArrayBijection.map(by).data

    found = minimize(
        loss, start.data, jac=True, method="L-BFGS-B", options={"maxiter": n_iterations}
    )
    return FactorFit(**DictToArrayBijection.rmap(start._replace(data=found.x)))


def fit_map(interactions: br.Interactions, **options: Any) -> Any:
    """Return the mode of `learn_choice` as results, like `models.bpr.model.fit_map`."""
    priors = {name: value for name, value in options.items() if name in Priors._fields}
    fit = learn_choice(interactions, **options)
    return _checked(interactions, priors).results(fit, interactions)
