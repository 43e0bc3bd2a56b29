r"""Weak orders in a few blocks: the exact likelihood and what else is maximised in its place.

Story: every item has a utility. A ranking orders all items by utility plus Gumbel noise, but shows
blocks of them only: the first few, the next few, and so on, and all the rest.

    utility[i]  ~ Normal(0, prior_scale), or flat
    ranking[n]  = order of utility + Gumbel, cut into blocks
    share[i]    = exp(utility[i]) / sum_j exp(utility[j]), the probability to be first

=====================  =============  ==============
symbol                 variable       dims
=====================  =============  ==============
:math:`w_i`            ``utility``    item
softmax of :math:`w`   ``share``      item
weak order             ``y``          ranking, slot
=====================  =============  ==============

Differs from the paper in the nodes of the integral, which go where it has its mass, in the
optimiser (L-BFGS until nothing is gained), and in the prior.

**Simulated rankings** of N items, ``simulate_partitions``: mean squared errors of the shares, means
over five seeds; in the last row all shares are guessed to be equal.

================  ========  ========  ========  ========  ========
objective         N = 100   N = 100   N = 100   N = 1,000 N = 1,000
rankings          10        100       1,000     10        100
================  ========  ========  ========  ========  ========
PL-TopK           2.6e-5    2.5e-6    2.6e-7    5.2e-7    3.8e-8
exact             2.0e-3    4.4e-6    4.2e-7    1.6e-6    5.4e-8
exact, prior      1.3e-4    4.3e-6    4.2e-7    7.5e-7    5.2e-8
PL-LB             3.8e-5    3.5e-5    3.4e-5    4.4e-7    3.2e-7
AttRank           5.0e-5    4.5e-5    4.4e-5    7.4e-7    6.2e-7
RankNet           2.5e-3    2.9e-5    1.6e-5    3.0e-5    3.8e-7
RankNet, 3 steps  2.5e-5                        3.7e-7
RankSVM           1.3e-4    2.1e-5    9.9e-6    1.0e-6    2.7e-7
equal shares      1.3e-4    1.3e-4    1.3e-4    2.4e-6    2.4e-6
================  ========  ========  ========  ========  ========

From 100 to 1,000 rankings of 100 items the errors of the exact likelihood and of the oracle fall
tenfold, those of PL-LB and AttRank not at all: their maxima are elsewhere. With few rankings that
matters less than noise. At 10 rankings the maximum of the exact likelihood is at infinity or far
out (of five seeds one has an error of 9.5e-3, the others 5e-5 to 3e-4), a prior Normal(0, 2)
takes a quarter to 95% off, that most from that seed (4.4e-4), and the bound, and RankNet after
three steps of L-BFGS, are still ahead, the latter level with the oracle. The number of steps was
chosen by the true shares, as only a simulation can: after 8 its error of 100 items is 24 times as
large. 1,000 rankings of 1,000 items (one seed) give the oracle 4.0e-9 and the exact likelihood
5.8e-9, a tenth of what 100 do.
Of 10,000 items 10 rankings tell little (one seed): oracle 2.8e-8, exact 2.9e-8, with the prior
2.1e-8, PL-LB 2.5e-8, AttRank 2.4e-8, RankNet 3.4e-8, equal shares 3.6e-8.

**Calibration**, 10 rankings of 100 items, five seeds, NUTS, 2 chains of 500 + 500 draws, 14 CPU s
each: of the central intervals of 50% and 90% of utilities, relative to their mean, 52% and 91% hold
the truth; of shares 41% and 80%, presumably because the prior is wider than the utilities are (a
standard deviation of 1.3), and what the best items have too much all others have too little. The
posterior mean of the shares has a larger error (1.9e-4) than the mode above.

References
----------
Ma et al., Learning-to-rank with partitioned preference: fast estimation for the Plackett-Luce
model, AISTATS 2021.

Run ``python -m models.partitioned_preference``: 100 simulated rankings of 100 items, the mean
squared error of the shares by each objective.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray
from pytensor.tensor import TensorVariable

import bayesrank as br
from bayesrank.data.simulate_partitions import simulate_partitions
from bayesrank.inference.modes import climb
from bayesrank.inference.modes import objective as log_density
from bayesrank.likelihoods.pairwise import FIRST, bradley_terry_logp
from bayesrank.likelihoods.pairwise_losses import hinge_loss
from bayesrank.likelihoods.partition_objectives import attention_rank_loss, plackett_luce_bound

# From the utilities of the slots and their ranks to one number per ranking
OF_RANKINGS: dict[str, Callable[[Any, Any], TensorVariable]] = {
    "PL-LB": plackett_luce_bound,
    "AttRank": lambda utility, ranks: -attention_rank_loss(utility, ranks),
}
# From the utilities of the better and the worse item of pairs to one number per pair
OF_PAIRS: dict[str, Callable[[Any, Any], TensorVariable]] = {
    "RankNet": lambda better, worse: bradley_terry_logp(better, worse, FIRST),
    "RankSVM": lambda better, worse: -hinge_loss(better, worse, FIRST),
}
OBJECTIVES = ("exact", *OF_RANKINGS, *OF_PAIRS)


def build(
    rankings: br.Rankings, *, objective: str = "exact", prior_scale: float | None = 2.0
) -> pm.Model:
    """Build the model.

    Parameters
    ----------
    rankings : Rankings
        What was observed. With the order inside the upper blocks it is what PL-TopK needs.
    objective : {"exact", "PL-LB", "AttRank", "RankNet", "RankSVM"}
        What to maximise: the log-probability, or a potential in its place, which is none.
    prior_scale : float, optional
        Standard deviation of the utilities, positive; with None they are flat, and only their
        differences are known.

    Returns
    -------
    pm.Model
        With the variables of the table above.

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
            ranks, weight = pm.Data("ranks", rankings.ranks), pm.Data("weight", rankings.weight)
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
        Each counts with its weight.

    Returns
    -------
    better : array of int, (n_better,)
        The items that are above another at all.
    counts : array, (n_better, n_items)
        How often each of them is above each item.

    Examples
    --------
    >>> better, counts = pairs_above(br.Rankings.from_orderings([["a", {"b", "c"}], ["b", "a"]]))
    >>> better.tolist(), counts.tolist()
    ([0, 1], [[0.0, 1.0, 1.0], [1.0, 0.0, 0.0]])
    """
    last = rankings.ranks.max(axis=1, keepdims=True)
    better = np.unique(rankings.item[rankings.mask & (rankings.ranks < last)])
    counts = np.zeros((len(better), rankings.n_items))
    where = np.zeros(rankings.n_items, dtype=np.int64)
    where[better] = np.arange(len(better))
    for item, sizes, weight in zip(
        rankings.item, rankings.block_sizes, rankings.weight, strict=True
    ):
        end = np.cumsum(sizes)
        for begin, stop in zip(end - sizes, end, strict=True):
            if stop > begin and stop < end[-1]:
                counts[np.ix_(where[item[begin:stop]], item[stop : end[-1]])] += weight
    return better.astype(np.int64), counts


def fit(
    rankings: br.Rankings,
    *,
    objective: str = "exact",
    prior_scale: float | None = None,
    max_iterations: int = 15_000,
) -> NDArray[np.float64]:
    """Climb an objective by L-BFGS from equal utilities.

    Parameters
    ----------
    rankings, objective, prior_scale
        As in `build`; by default no prior.
    max_iterations : int
        Where to end at the latest. Without a prior the maximum may be at infinity.

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
    w = climb(logp, start.data, max_iterations=max_iterations, tolerance=1e-13)
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
