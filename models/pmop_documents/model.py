r"""Document ranking with ordered partitions, beside other likelihoods (Tran et al.).

Story: a query is a ranker, the documents retrieved for it are the items, and a judge has graded
each (0, 1 or 2 in LETOR). Documents of one grade are a block: judged equal. A document's utility
is linear in its features, some of them products of two; what differs between the methods is the
likelihood of the graded list.

    coefficient[f]  ~ Normal(0, coefficient_scale)
    utility[q, s]   = sum_f features[q, s, f] coefficient[f]
    blocks of query q ~ PMOP(utility[q, :])        or any other row of `METHODS`

======================  =========================  ===============
symbol                  variable                   dims
======================  =========================  ===============
:math:`\beta`           ``coefficient``            feature
weak order              ``y``                      ranking, slot
======================  =========================  ===============

Differs from the paper in having a Normal prior whose scale the validation part chooses, in the
constants of the likelihood, and in what it is compared with: the exact Plackett-Luce likelihood
of weak orders stands beside ListMLE, which breaks ties, at random and in the order of the file.

Results on MQ2008
-----------------
Means over the 784 test queries of five folds; then how far NDCG@5 is from that of PMOP mean, query
by query, with the standard error of that. (Of the means themselves it is 0.011, 0.016 and 0.014.)

==============================  ======  ======  ======  ==================
method                          ERR     NDCG@1  NDCG@5  difference (s.e.)
==============================  ======  ======  ======  ==================
PMOP mean                       0.3057  0.3771  0.4579  0
  weighted                      0.3037  0.3695  0.4577  -0.0002 (0.0024)
  posterior mean                0.3048  0.3746  0.4567  -0.0011 (0.0010)
PMOP geometric                  0.3049  0.3712  0.4568  -0.0011 (0.0033)
PMOP minimum                    0.3026  0.3665  0.4547  -0.0032 (0.0045)
PMOP harmonic                   0.3003  0.3610  0.4505  -0.0074 (0.0038)
PMOP maximum                    0.2981  0.3648  0.4481  -0.0098 (0.0042)
rank regression                 0.3000  0.3567  0.4469  -0.0110 (0.0046)
RankNet                         0.3058  0.3759  0.4581  +0.0002 (0.0042)
Thurstone pairs                 0.3040  0.3724  0.4557  -0.0022 (0.0043)
ranking SVM                     0.3036  0.3695  0.4541  -0.0037 (0.0042)
Davidson pairs                  0.3030  0.3733  0.4509  -0.0070 (0.0045)
Rao-Kupper pairs                0.3003  0.3678  0.4476  -0.0103 (0.0046)
ListMLE, ties as in the file    0.2556  0.2768  0.3580  -0.0999 (0.0089)
ListMLE, ties at random         0.3012  0.3695  0.4517  -0.0062 (0.0046)
Plackett-Luce                   0.3065  0.3750  0.4597  +0.0018 (0.0041)
*with products of features*
PMOP mean                       0.3076  0.3776  0.4634  +0.0055 (0.0036)
  weighted                      0.3081  0.3856  0.4666  +0.0087 (0.0039)
rank regression                 0.3048  0.3635  0.4617  +0.0039 (0.0042)
RankNet                         0.3040  0.3707  0.4613  +0.0034 (0.0047)
Plackett-Luce                   0.3107  0.3839  0.4641  +0.0062 (0.0043)
==============================  ======  ======  ======  ==================

Of what the paper claims, this holds here: the mean is the best of the five set functions (the
maximum and the harmonic mean are two standard errors behind, the minimum and the geometric mean
less than one); rank regression is worse (2.4, but not with products); and ListMLE is far worse, by
eleven, if ties are broken as the file has them. At random it is 1.3 behind: the gap is the order of
the file. Not shown here: that pairwise methods are worse (RankNet, Thurstone and the SVM are within
one, Davidson and Rao-Kupper 1.6 and 2.2 behind), and that weights help by themselves. With products
the weighted form has the highest NDCG, 1.3 above the plain one: of so many rows one will. Posterior
means are no better than modes. Plackett-Luce, exact, which the paper did not have, is on a par with
PMOP.

References
----------
Tran, Phung & Venkatesh, Modelling human preferences for ranking and collaborative filtering: a
probabilistic ordered partition approach.
Qin & Liu, Introducing LETOR 4.0 datasets, arXiv:1306.2597, 2013.

Run ``python -m models.pmop_documents.model FOLDER`` with the folder of MQ2008 (S1.txt to S5.txt).
"""

import argparse
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray
from pytensor.tensor import TensorVariable
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bayesrank as br
from bayesrank.inference.modes import posterior_modes
from bayesrank.likelihoods.losses import hinge_rank_loss
from bayesrank.likelihoods.pairs.graph import (
    bradley_terry_logp,
    davidson_logp,
    rao_kupper_logp,
    thurstone_logp,
)
from bayesrank.likelihoods.pairs.of_rankings import pairs_logp, weak_order_pairs
from bayesrank.results.metrics import query_metrics
from bayesrank.utility import SecondOrderFeatures, linear_utility
from models.shared.letor import Part, folds, read_parts

# Scales of the coefficients (of standardised features) that the validation part chooses from
SCALES = (0.003, 0.006, 0.01, 0.02, 0.03, 0.06, 0.1, 0.2, 0.3, 0.6)
THRESHOLDS = (0.25, 0.2, 0.15)  # of the correlation of a product of features with the grade
MAX_GRADE = 2  # of MQ2008
DEPTHS = (1, 5)  # of NDCG


# ---------------------------------------------------------------------------------------------
# Methods: what the utilities of the slots say about the grades
# ---------------------------------------------------------------------------------------------

Likelihood = Callable[[TensorVariable, Part], Any]


def composite(
    pair_logp: Callable[..., TensorVariable], *, ties: Literal["keep", "drop"]
) -> Likelihood:
    """Add all pairs of each query, each as if it had been compared by itself."""

    def likelihood(utility: TensorVariable, part: Part) -> None:
        pairs = weak_order_pairs(part.rankings.ranks, ties=ties)
        pm.Potential("y", pt.sum(pairs_logp(utility, pairs, pair_logp)))

    return likelihood


def ranking_svm(utility: TensorVariable, part: Part) -> None:
    """Hinge loss of all pairs of each query."""
    ranks = part.rankings.ranks
    pairs = weak_order_pairs(ranks, ties="drop")
    pm.Potential("y", -pt.sum(hinge_rank_loss(utility, ranks, pairs=pairs)))


def davidson(utility: TensorVariable, part: Part) -> None:
    """Pairs with ties, whose prevalence is fitted as well."""
    nu = pt.exp(pm.Normal("log_nu", 0, 3))
    composite(partial(davidson_logp, nu=nu), ties="keep")(utility, part)


def rao_kupper(utility: TensorVariable, part: Part) -> None:
    """Pairs with ties, whose threshold is fitted as well."""
    theta = 1 + pt.exp(pm.Normal("log_excess", 0, 3))
    composite(partial(rao_kupper_logp, theta=theta), ties="keep")(utility, part)


def list_mle(utility: TensorVariable, part: Part, *, seed: int | None) -> None:
    """Plackett-Luce after breaking ties: at random, or as the file stands without a seed."""
    ranks, mask = part.rankings.ranks, part.rankings.mask
    order = np.arange(ranks.size).reshape(ranks.shape)
    if seed is not None:
        order = np.random.default_rng(seed).permuted(order, axis=1)
    # places of the slots by (block, order), empty slots last
    by_place = np.lexsort((order, np.where(mask, ranks, ranks.max() + 1)))
    full = np.where(mask, np.argsort(by_place, axis=1) + 1, 0)
    br.PlackettLuce("y", utility, where=mask, observed=full)


def rank_regression(utility: TensorVariable, part: Part) -> None:
    """Grades as numbers with normal noise."""
    grades = part.grades[part.rankings.mask]
    used = utility[part.rankings.mask.nonzero()]
    pm.Normal("y", grades.mean() + used, 1.0, observed=grades)


def plackett_luce(utility: TensorVariable, part: Part) -> None:
    """Plackett-Luce, the order inside a block unknown."""
    br.PlackettLuce("y", utility, observed=part.rankings)


def pmop(utility: TensorVariable, part: Part, *, aggregate: str, weighted: bool = False) -> None:
    """Ordered partitions; weighted, high grades count more (a pseudo-likelihood)."""
    weights = grade_weights(part) if weighted else None
    br.PMOP("y", utility, aggregate=aggregate, rank_weights=weights, observed=part.rankings)


def grade_weights(part: Part) -> NDArray[np.float64]:
    r"""Weights :math:`1 + \log r` of the blocks, r being the grade counted from one.

    Of grades 2, 1 and 0 that is r = 3, 2 and 1: weights fall from the first block to the last.
    The shape is (n_rankings, n_blocks), for a query need not have all grades.
    """
    row, slot = part.rankings.mask.nonzero()
    weights = np.zeros(part.rankings.block_sizes.shape)
    weights[row, part.rankings.ranks[row, slot] - 1] = 1 + np.log1p(part.grades[row, slot])
    return weights


AGGREGATES = ("mean", "max", "min", "geometric", "harmonic")

METHODS: dict[str, Likelihood] = {
    **{f"PMOP {name}": partial(pmop, aggregate=name) for name in AGGREGATES},
    "PMOP mean, weighted": partial(pmop, aggregate="mean", weighted=True),
    "rank regression": rank_regression,
    "RankNet": composite(bradley_terry_logp, ties="drop"),
    "Thurstone pairs": composite(thurstone_logp, ties="drop"),
    "ranking SVM": ranking_svm,
    "Davidson pairs": davidson,
    "Rao-Kupper pairs": rao_kupper,
    "ListMLE, ties as in the file": partial(list_mle, seed=None),
    "ListMLE, ties at random": partial(list_mle, seed=1),
    "Plackett-Luce": plackett_luce,
}


SLOW = ("PMOP geometric", "PMOP harmonic", "Davidson pairs", "Rao-Kupper pairs")
WITH_PRODUCTS = ("PMOP mean", "PMOP mean, weighted", "rank regression", "RankNet", "Plackett-Luce")


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
        utility = empty[part.rankings.mask.nonzero()].set(linear_utility(x, coefficient))
        METHODS[method](utility, part)
    return model


# ---------------------------------------------------------------------------------------------
# Fitting and comparing
# ---------------------------------------------------------------------------------------------


def map_path(model: pm.Model, scales: Iterable[float]) -> list[NDArray[np.float64]]:
    """Coefficients at the posterior mode for each prior scale, each starting from the last."""
    modes = posterior_modes(model, [{"coefficient_scale": scale} for scale in scales])
    return [mode["coefficient"] for mode in modes]


def evaluate(part: Part, coefficient: NDArray[np.float64]) -> pd.DataFrame:
    """ERR and NDCG of each query under linear utilities."""
    score = np.zeros(part.grades.shape)
    score[part.rankings.mask] = part.features @ coefficient
    return query_metrics(
        part.grades,
        score,
        where=part.rankings.mask,
        labels=part.rankings.labels,
        k=DEPTHS,
        max_grade=MAX_GRADE,
    ).queries


def posterior_mean(model: pm.Model, scale: float, **sampling: Any) -> NDArray[np.float64]:
    """Coefficients averaged over the posterior at one prior scale, by NUTS.

    Utilities are linear in them: they are the coefficients of the posterior mean utilities too.
    `sampling` goes to `pm.sample`.
    """
    model.set_data("coefficient_scale", scale)
    options = {"draws": 300, "tune": 300, "chains": 2, "random_seed": 1} | sampling
    with model:
        posterior = pm.sample(nuts_sampler="nutpie", nuts={"adaptation": "low_rank"}, **options)
    return posterior["posterior"]["coefficient"].mean(("chain", "draw")).to_numpy()


def compare(
    documents: pd.DataFrame,
    methods: Iterable[str],
    *,
    prepare: Sequence[BaseEstimator] = (StandardScaler(),),
    scales: Sequence[float] = SCALES,
    sampled: Container[str] = (),
) -> dict[str, pd.DataFrame]:
    """Metrics of every test query under every method.

    The features (one of `prepare`) and the prior scale are chosen on the validation part, for
    each method by itself. Methods in `sampled` have a second row: posterior means where the
    first has posterior modes.
    """
    tested: dict[str, list[pd.DataFrame]] = defaultdict(list)
    turns = zip(*(folds(documents, transformer) for transformer in prepare), strict=True)
    for number, prepared in enumerate(turns, start=1):
        for method in methods:
            fits = []
            for fold in prepared:
                model = build(fold.train, method)
                for scale, beta in zip(scales, map_path(model, scales), strict=True):
                    gain = evaluate(fold.validation, beta).mean().sum()
                    fits.append((gain, model, scale, fold.test, beta))
            _, model, scale, test, beta = max(fits, key=lambda fit: fit[0])
            found = {method: beta}
            if method in sampled:
                found[f"{method}, posterior mean"] = posterior_mean(model, scale)
            for name, beta in found.items():
                tested[name].append(pd.concat({number: evaluate(test, beta)}, names=["fold"]))
    return {name: pd.concat(rows) for name, rows in tested.items()}


def table(tested: Mapping[str, pd.DataFrame], reference: str) -> pd.DataFrame:
    """Means over queries, how far each is from `reference`, and the standard error of that.

    The differences are paired: query by query.
    """
    rows = {}
    for method, queries in tested.items():
        lead = queries - tested[reference]
        paired = lead.mean().add_suffix(" difference"), lead.sem().add_suffix(" se")
        rows[method] = pd.concat([queries.mean(), *paired])
    return pd.DataFrame(rows).T


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compare likelihoods of judged documents.")
    parser.add_argument("folder", help="with S1.txt to S5.txt of MQ2008")
    parser.add_argument("method", nargs="*", help="which; the differences are from the first")
    parser.add_argument("--all", action="store_true", help="also the methods that take minutes")
    arguments = parser.parse_args()

    documents = read_parts(arguments.folder)
    quick = [method for method in METHODS if method not in SLOW]
    chosen = arguments.method or (list(METHODS) if arguments.all else quick)
    tested = compare(documents, chosen, sampled=["PMOP mean"])
    products = [make_pipeline(SecondOrderFeatures(rho), StandardScaler()) for rho in THRESHOLDS]
    again = [method for method in chosen if method in WITH_PRODUCTS]
    # with more features each coefficient is smaller: the large scales would only take time
    second = compare(documents, again, prepare=products, scales=SCALES[:7])
    tested |= {f"{method}, products": queries for method, queries in second.items()}
    print(table(tested, chosen[0]).round(4).to_string())
