r"""Weak orders in a few blocks: the exact likelihood and other objectives.

Story: every item has a utility. A ranking orders all items by utility plus Gumbel noise, but shows
only blocks: the first few items, the next few, and so on. The last block contains all other items.

    utility[i]  ~ Normal(0, prior_scale), or flat
    ranking[n]  = order of utility + Gumbel, cut into blocks
    share[i]    = exp(utility[i]) / sum_j exp(utility[j]),
                  the probability of the first place

=====================  =============  ==============
symbol                 variable       dims
=====================  =============  ==============
:math:`w_i`            ``utility``    item
softmax of :math:`w`   ``share``      item
weak order             ``y``          ranking, slot
=====================  =============  ==============

The model differs from the paper in the prior, in the optimiser (L-BFGS until a step gains less than
1e-9 of the objective), and in the nodes of the integral, which are placed where its mass is.

`models.partitioned_preference.study` compares the objectives, and writes ``RESULTS.md``.

Run ``python -m models.partitioned_preference.model`` for the mean squared error of the shares by
each objective, with 100 simulated rankings of 100 items.

References
----------
Ma et al., Learning-to-rank with partitioned preference: fast estimation for the Plackett-Luce
model, AISTATS 2021.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray
from pytensor.tensor import TensorVariable

import bayesrank as br
from bayesrank.inference import climb
from bayesrank.inference import objective as log_density
from bayesrank.likelihoods.pairs import FIRST, bradley_terry_log_probabilities
from models.partitioned_preference.simulate import simulate_partitions
from models.shared.losses import attention_rank_loss
from models.shared.weak_order_bound import weak_order_bound

# From the utilities of the slots and their ranks to one number per ranking
OF_RANKINGS: dict[str, Callable[[Any, Any], TensorVariable]] = {
    "PL-LB": weak_order_bound,
    "AttRank": lambda utility, ranks: -attention_rank_loss(utility, ranks),
}
# From the utilities of the better and the worse item of pairs to one number per pair
OF_PAIRS: dict[str, Callable[[Any, Any], TensorVariable]] = {
    "RankNet": lambda better, worse: bradley_terry_log_probabilities(better - worse)[FIRST],
    "RankSVM": lambda better, worse: -pt.maximum(1 - (better - worse), 0.0),
}
OBJECTIVES = ("exact", *OF_RANKINGS, *OF_PAIRS)


def build(
    rankings: br.Rankings, *, objective: str = "exact", prior_scale: float | None = 2.0
) -> pm.Model:
    """Build the model.

    Parameters
    ----------
    rankings : Rankings
        Observed rankings. PL-TopK needs the order inside the upper blocks.
    objective : {"exact", "PL-LB", "AttRank", "RankNet", "RankSVM"}
        Function to maximise: the log-probability, or a potential that replaces it.
    prior_scale : float, optional
        Standard deviation of the utilities, positive. With None their prior is flat, and only
        their differences are identified.

    Returns
    -------
    pm.Model
        Model with the variables of the table above.

    Raises
    ------
    ValueError
        If there is no such objective, or `prior_scale` is not positive.

    Examples
    --------
    >>> model = build(br.Rankings.from_orderings([["a", {"b", "c"}]]), objective="PL-LB")
    >>> [rv.name for rv in model.free_RVs], [p.name for p in model.potentials]
    (['utility'], ['y'])
    """
    if objective not in OBJECTIVES:
        raise ValueError(f"`objective` must be one of {', '.join(OBJECTIVES)}; got {objective!r}.")
    if prior_scale is not None and not 0 < prior_scale < np.inf:
        raise ValueError(f"`prior_scale` must be positive, or None for none; got {prior_scale}.")
    with pm.Model(coords=rankings.coords) as model:
        if prior_scale is None:
            w = pm.Flat("utility", dims="item", initval=np.zeros(rankings.n_items))
        else:
            w = pm.Normal("utility", 0, prior_scale, dims="item")
        pm.Deterministic("share", pm.math.softmax(w), dims="item")
        if objective == "exact":
            br.PlackettLuce("y", w, observed=rankings)
        elif objective in OF_RANKINGS:
            item = pm.Data("item_idx", rankings.item)
            ranks, weight = pm.Data("ranks", rankings.ranks), pm.Data("weight", rankings.evidence)
            pm.Potential("y", pt.sum(weight * OF_RANKINGS[objective](w[item], ranks)))
        else:
            better, counts = pairs_above(rankings)
            better, counts = pm.Data("better", better), pm.Data("counts", counts)
            pairs = OF_PAIRS[objective](w[better][:, None], w[None, :])
            pm.Potential("y", pt.sum(counts * pairs))
    return model


def pairs_above(rankings: br.Rankings) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Count how often an item is in a higher block than another.

    Parameters
    ----------
    rankings : Rankings
        Observed rankings. Each counts with its weight.

    Returns
    -------
    better : array of int, (n_better,)
        Items that are above at least one other item.
    counts : array, (n_better, n_items)
        How often each of them is above each item.

    Notes
    -----
    The counts are dense: 7e7 numbers for 1,000 rankings of 10,000 items.

    Examples
    --------
    >>> r = br.Rankings.from_orderings([["a", {"b", "c"}], ["b", "a"]], rest=())
    >>> better, counts = pairs_above(r)
    >>> better.tolist(), counts.tolist()
    ([0, 1], [[0.0, 1.0, 1.0], [1.0, 0.0, 0.0]])
    """
    last = rankings.ranks.max(axis=1, keepdims=True)
    better = np.unique(rankings.item[rankings.mask & (rankings.ranks < last)])
    counts = np.zeros((len(better), rankings.n_items))
    where = np.zeros(rankings.n_items, dtype=np.int64)
    where[better] = np.arange(len(better))
    above_all = np.zeros(len(better))  # first counted above all items, then corrected
    for item, sizes, weight in zip(
        rankings.item, rankings.block_sizes, rankings.evidence, strict=True
    ):
        end = np.cumsum(sizes)
        for begin, stop in zip(end - sizes, end, strict=True):
            if not begin < stop < end[-1]:
                continue
            block = where[item[begin:stop]]
            if end[-1] == rankings.n_items:  # subtract the few items that are not below
                above_all[block] += weight
                counts[np.ix_(block, item[:stop])] -= weight
            else:
                counts[np.ix_(block, item[stop : end[-1]])] += weight
    counts += above_all[:, None]
    return better.astype(np.int64), counts


def fit(
    rankings: br.Rankings,
    *,
    objective: str = "exact",
    prior_scale: float | None = None,
    max_iterations: int = 15_000,
) -> NDArray[np.float64]:
    """Maximise an objective by L-BFGS from equal utilities.

    Parameters
    ----------
    rankings, objective, prior_scale
        As in `build`; by default no prior.
    max_iterations : int
        Largest number of iterations. Without a prior the maximum may be at infinity.

    Returns
    -------
    array, (n_items,)
        Utilities, as logarithms of shares.

    Examples
    --------
    >>> two = br.Rankings.from_orderings([["a", "b"], ["b", "a"], ["a", "b"], ["a", "b"]])
    >>> np.exp(fit(two)).round(3).tolist()
    [0.75, 0.25]
    """
    model = build(rankings, objective=objective, prior_scale=prior_scale)
    logp, start = log_density(model)
    w = climb(logp, start.data, max_iterations=max_iterations, least_gain=1e-13, tolerance=np.inf)
    return w - np.logaddexp.reduce(w)


def main() -> None:
    """Print the errors of the shares by each objective."""
    drawn = simulate_partitions(100, 100, seed=1)
    truth = np.exp(drawn.utility)
    for name, rankings, objective in (
        ("PL-TopK", drawn.top, "exact"),
        *((name, drawn.rankings, name) for name in OBJECTIVES),
    ):
        error = np.exp(fit(rankings, objective=objective)) - truth
        print(f"{name:8} mean squared error of the shares {np.mean(error**2):.2e}")


if __name__ == "__main__":
    main()
