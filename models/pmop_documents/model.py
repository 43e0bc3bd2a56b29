r"""Document ranking with ordered partitions and other likelihoods (Tran et al.).

Story: a query is a ranker, the documents retrieved for it are the items, and a judge has graded
each of them (0, 1 or 2 in LETOR). Documents of one grade form a block: they are judged equal. A
document's utility is linear in its features, which may include products of two features. The
methods differ in the likelihood of the graded list.

    coefficient[f]    ~ Normal(0, coefficient_scale)
    utility[q, s]     = sum_f features[q, s, f] coefficient[f]
    blocks of query q ~ PMOP(utility[q, :]), or another of `METHODS`

======================  =========================  ===============
symbol                  variable                   dims
======================  =========================  ===============
:math:`\beta`           ``coefficient``            feature
weak order              ``y``                      ranking, slot
======================  =========================  ===============

The model differs from the paper's in its normal prior, whose scale is chosen on the validation
part. It also differs in the constants of the likelihood, and in the comparisons. They include the
exact Plackett-Luce likelihood of weak orders, and ListMLE, which breaks ties at random or in the
order of the file. The paper fits the geometric and the harmonic mean by contrastive divergence,
because it does not know their normalisers. `contrastive_path` does the same, to show the loss in
accuracy. The paper's rank regression is the squared loss of differences in pairs. We also include
regression on the grades.

`models.pmop_documents.study` compares the methods on MQ2008, and writes ``RESULTS.md``.

References
----------
Tran, Phung & Venkatesh, Modelling human preferences for ranking and collaborative filtering: a
probabilistic ordered partition approach.

Qin & Liu, Introducing LETOR 4.0 datasets, arXiv:1306.2597, 2013.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray
from pytensor.tensor import TensorVariable

import bayesrank as br
from bayesrank.likelihoods.pairs import (
    LogProbabilities,
    bradley_terry_log_probabilities,
    davidson_log_probabilities,
    rao_kupper_log_probabilities,
    thurstone_log_probabilities,
)
from bayesrank.likelihoods.pmop import pmop_logp
from models.pmop_sampling.contrastive import fit_cd
from models.pmop_sampling.model import SET_FUNCTIONS
from models.shared.letor import Part
from models.shared.losses import (
    exponential_rank_loss,
    hinge_rank_loss,
    squared_rank_loss,
)
from models.shared.modes import posterior_modes
from models.shared.pairs_of_rankings import pairs_logp, weak_order_pairs

# ---------------------------------------------------------------------------------------------
# Methods: what the utilities of the slots say about the grades
# ---------------------------------------------------------------------------------------------

Likelihood = Callable[[TensorVariable, Part], Any]


def composite(
    log_probabilities: Callable[[Any], LogProbabilities], *, ties: Literal["keep", "drop"]
) -> Likelihood:
    """Add all pairs of each query, each as a separate comparison."""

    def likelihood(utility: TensorVariable, part: Part) -> None:
        pairs = weak_order_pairs(part.rankings.ranks, ties=ties)
        pm.Potential("y", pt.sum(pairs_logp(utility, pairs, log_probabilities)))

    return likelihood


def pair_loss(loss: Callable[..., TensorVariable]) -> Likelihood:
    """Add a loss of all pairs of each query that are of different grades."""

    def likelihood(utility: TensorVariable, part: Part) -> None:
        ranks = part.rankings.ranks
        pairs = weak_order_pairs(ranks, ties="drop")
        pm.Potential("y", -pt.sum(loss(utility, ranks, pairs=pairs)))

    return likelihood


def davidson(utility: TensorVariable, part: Part) -> None:
    """Use pairs with ties, and fit their prevalence."""
    nu = pt.exp(pm.Normal("log_nu", 0, 3))
    composite(partial(davidson_log_probabilities, nu=nu), ties="keep")(utility, part)


def rao_kupper(utility: TensorVariable, part: Part) -> None:
    """Use pairs with ties, and fit their threshold."""
    theta = 1 + pt.exp(pm.Normal("log_excess", 0, 3))
    composite(partial(rao_kupper_log_probabilities, theta=theta), ties="keep")(utility, part)


def list_mle(utility: TensorVariable, part: Part, *, seed: int | None) -> None:
    """Use Plackett-Luce after breaking ties: at random, or as in the file without a seed."""
    ranks, mask = part.rankings.ranks, part.rankings.mask
    order = np.arange(ranks.size).reshape(ranks.shape)
    if seed is not None:
        order = np.random.default_rng(seed).permuted(order, axis=1)
    # places of the slots by (block, order), empty slots last
    by_place = np.lexsort((order, np.where(mask, ranks, ranks.max() + 1)))
    full = np.where(mask, np.argsort(by_place, axis=1) + 1, 0)
    br.PlackettLuce("y", utility, where=mask, observed=full)


def grade_regression(utility: TensorVariable, part: Part) -> None:
    """Treat grades as numbers with normal noise, document by document."""
    grades = part.grades[part.rankings.mask]
    used = utility[part.rankings.mask.nonzero()]
    pm.Normal("y", grades.mean() + used, 1.0, observed=grades)


def plackett_luce(utility: TensorVariable, part: Part) -> None:
    """Use Plackett-Luce; the order inside a block is unknown."""
    br.PlackettLuce("y", utility, utility_dims=("ranking", "slot"), observed=part.rankings)


def pmop(utility: TensorVariable, part: Part, *, aggregate: str, weighted: bool = False) -> None:
    """Use ordered partitions; with weights, high grades count more (a pseudo-likelihood)."""
    if weighted:
        ranks, weights = part.rankings.ranks, grade_weights(part)
        logp = pmop_logp(utility, ranks, aggregate=aggregate, stage_weight=weights)
        pm.Potential("y", pt.dot(part.rankings.evidence, logp))
        return
    slots = ("ranking", "slot")
    br.PMOP("y", utility, utility_dims=slots, aggregate=aggregate, observed=part.rankings)


def backwards(utility: TensorVariable, part: Part) -> None:
    """Use ordered partitions from the worst block to the best, by elimination."""
    ranks = part.rankings.ranks
    turned = np.where(ranks > 0, ranks.max(axis=1, keepdims=True) + 1 - ranks, 0)
    br.PMOP("y", -utility, where=part.rankings.mask, observed=turned)


def grade_weights(part: Part) -> NDArray[np.float64]:
    r"""Compute the weights :math:`1 + \log r` of the blocks; r is the grade plus one.

    Grades 2, 1 and 0 have r = 3, 2 and 1, so weights fall from the first block to the last. The
    shape is (n_rankings, n_blocks), because a query need not have all grades.
    """
    row, slot = part.rankings.mask.nonzero()
    weights = np.zeros(part.rankings.block_sizes.shape)
    weights[row, part.rankings.ranks[row, slot] - 1] = 1 + np.log1p(part.grades[row, slot])
    return weights


AGGREGATES = ("mean", "max", "min", "geometric", "harmonic")

METHODS: dict[str, Likelihood] = {
    **{f"PMOP {name}": partial(pmop, aggregate=name) for name in AGGREGATES},
    "PMOP mean, weighted": partial(pmop, aggregate="mean", weighted=True),
    "PMOP mean, backwards": backwards,
    "rank regression": pair_loss(squared_rank_loss),
    "regression on grades": grade_regression,
    "RankNet": composite(bradley_terry_log_probabilities, ties="drop"),
    "Thurstone pairs": composite(thurstone_log_probabilities, ties="drop"),
    "ranking SVM": pair_loss(hinge_rank_loss),
    "RankBoost": pair_loss(exponential_rank_loss),
    "Davidson pairs": davidson,
    "Rao-Kupper pairs": rao_kupper,
    "ListMLE, ties as in the file": partial(list_mle, seed=None),
    "ListMLE, ties at random": partial(list_mle, seed=1),
    "Plackett-Luce": plackett_luce,
}


def build(part: Part, method: str = "PMOP mean", *, coefficient_scale: float = 0.1) -> pm.Model:
    """Build the model.

    Parameters
    ----------
    part : Part
        Training queries.
    method : str
        One of `METHODS`.
    coefficient_scale : float
        Standard deviation of the coefficients, positive; the data variable of this name.

    Returns
    -------
    pm.Model
        With the variables of the table above.

    Raises
    ------
    ValueError
        If the method is unknown or the scale not positive.
    """
    if method not in METHODS:
        raise ValueError(f"`method` is {method!r}; it is one of {', '.join(map(repr, METHODS))}.")
    if not coefficient_scale > 0:
        raise ValueError(f"`coefficient_scale` is {coefficient_scale}; it must be positive.")
    coords = {**part.rankings.coords, "feature": part.rankings.feature_names}
    with pm.Model(coords=coords) as model:
        scale = pm.Data("coefficient_scale", coefficient_scale)
        x = pm.Data("features", part.features)
        coefficient = pm.Normal("coefficient", 0, scale, dims="feature")
        # by entry, then into slots: padded features would be several times as many
        empty = pt.alloc(np.zeros((1, 1)), *part.rankings.mask.shape)
        utility = empty[part.rankings.mask.nonzero()].set((x * coefficient).sum(axis=-1))
        METHODS[method](utility, part)
    return model


def map_path(model: pm.Model, scales: Iterable[float]) -> list[NDArray[np.float64]]:
    """Find the modes of the coefficients for each prior scale, each starting from the last."""
    # the maximum of a set and the hinge have kinks, where no slope is zero
    settings = [{"coefficient_scale": scale} for scale in scales]
    modes = posterior_modes(model, settings, tolerance=np.inf, random_seed=1)
    return [mode["coefficient"] for mode in modes]


def contrastive_path(
    part: Part,
    scales: Iterable[float],
    *,
    aggregate: str,
    kernel: Literal["gibbs", "metropolis"],
    epochs: int = 40,
    seed: int = 1,
) -> list[NDArray[np.float64]]:
    """Fit by contrastive divergence with one step of a chain, for each prior scale."""
    return [
        fit_cd(
            SET_FUNCTIONS[aggregate], part.rankings, by="feature", kernel=kernel, epochs=epochs,
            learning_rate=0.1, ridge=scale**-2.0, rng=seed,
        ).coefficient
        for scale in scales
    ]  # fmt: skip


# The paper's estimators of set functions with unknown normalisers
CONTRASTIVE: dict[str, Callable[..., list[NDArray[np.float64]]]] = {
    "PMOP geometric, CD-Gibbs": partial(contrastive_path, aggregate="geometric", kernel="gibbs"),
    "PMOP geometric, CD-MH": partial(contrastive_path, aggregate="geometric", kernel="metropolis"),
    "PMOP harmonic, CD-Gibbs": partial(contrastive_path, aggregate="harmonic", kernel="gibbs"),
}


def path_of(method: str, part: Part, scales: Sequence[float]) -> list[NDArray[np.float64]]:
    """Fit a method for each prior scale, to its mode or by contrastive divergence."""
    if method in CONTRASTIVE:
        return CONTRASTIVE[method](part, scales)
    return map_path(build(part, method), scales)


def posterior_mean(model: pm.Model, scale: float, **sampling: Any) -> NDArray[np.float64]:
    """Average the coefficients over the posterior at one prior scale, by NUTS.

    Utilities are linear in the coefficients, so the result also gives the posterior mean utilities.
    `bayesrank.inference.sample` accepts `sampling`.
    """
    model.set_data("coefficient_scale", scale)
    options = {"draws": 300, "tune": 300, "chains": 2, "random_seed": 1} | sampling
    with model:
        posterior = br.inference.sample(nuts={"adaptation": "low_rank"}, **options)
    return posterior["posterior"]["coefficient"].mean(("chain", "draw")).to_numpy()
