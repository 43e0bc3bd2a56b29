r"""Consensus by the multinomial preference model (Volkovs & Zemel, WWW 2012).

Story: items have consensus scores. A ranker gives a fixed amount of evidence (differences in stars
or in ranks) and divides it among ordered pairs. Pairs whose scores differ more get more evidence,
and more of it in the direction of the consensus. Rankers follow the consensus more or less closely,
and they disagree more about some items than about others.

    z[i]         ~ Normal(0, 1), summing to zero
    score[i]     = scale * z[i]
    variance[i]  ~ LogNormal(log 1/2, log_variance_scale), or 1/2 for all
    adherence[n] ~ HalfNormal(1), scale = 1 / rms(z)              if "free"
    adherence[n] ~ Beta(2, 2), scale ~ HalfNormal(score_scale)    if "unit"
    adherence[n] = 1, scale = score_scale                         if None
    counts of n  ~ MPM(score, variance, adherence[n])

======================  =========================  ===============
symbol                  variable                   dims
======================  =========================  ===============
:math:`s`               ``score``                  item
:math:`\gamma`          ``variance``               item
:math:`\theta`          ``adherence``              ranker
:math:`C_n`             ``y`` (net counts)         ranker, item
======================  =========================  ===============

The model differs from the paper's in priors, multinomial constants and posteriors. The variances
need priors, because the likelihood alone lets some of them vanish. Priors also fix the scale that
scores, variances and adherences share. With the constants, LOO can compare models. The data
determine only ratios of adherences. With "free", adherences are unbounded and scores have unit
size; this samples well. With "unit", adherences are in [0, 1], as in the paper. Then the posterior
has a ridge, on which samplers are slow for large data.

Run ``python -m models.mpm.model`` to find the judges, among twelve simulated ones, who do not
follow the consensus.

References
----------
Volkovs & Zemel, A flexible generative model for preference aggregation, WWW 2012.
"""

import math
from typing import Literal

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray

import bayesrank as br


def build(
    counts: br.PairCounts,
    *,
    adherence: Literal["free", "unit"] | None = None,
    score_scale: float = 1.0,
    log_variance_scale: float | None = None,
) -> pm.Model:
    """Build the model.

    Parameters
    ----------
    counts : PairCounts
        The observed counts.
    adherence : {"free", "unit"}, optional
        Whether adherences are learned, and which prior they have; with None they are 1.
    score_scale : float
        Standard deviation of the scores, or of its half-normal prior, positive. Not used by
        "free" adherences.
    log_variance_scale : float, optional
        Standard deviation of the logarithm of the variances, positive; with None they are 1/2.

    Returns
    -------
    pm.Model
        With the variables of the table above.

    Raises
    ------
    ValueError
        If a scale is not positive, or `adherence` is another value.

    Examples
    --------
    >>> model = build(br.Rankings.from_orderings([["a", "b"], ["b", "a"]]).counts())
    >>> [rv.name for rv in model.free_RVs]
    ['z']
    """
    if adherence not in ("free", "unit", None):
        raise ValueError(f"`adherence` is {adherence!r}; it is 'free', 'unit' or None.")
    for name, scale in {
        "score_scale": score_scale,
        "log_variance_scale": log_variance_scale,
    }.items():
        if scale is not None and not 0 < scale < math.inf:
            raise ValueError(f"`{name}` is {scale}; it must be positive.")

    with pm.Model(coords=counts.coords) as model:
        z = pm.ZeroSumNormal("z", 1.0, dims="item", initval=_start(counts))
        variance = follows = None
        scale = 1.0 / pt.sqrt(pt.mean(z**2))
        if adherence == "free":
            follows = pm.HalfNormal("adherence", 1.0, dims="ranker")
        else:
            scale = pm.Data("score_scale", score_scale)
        if adherence == "unit":
            follows = pm.Beta("adherence", 2.0, 2.0, dims="ranker")
            scale = pm.HalfNormal("scale", scale)
        if log_variance_scale is not None:
            spread = pm.Data("log_variance_scale", log_variance_scale)
            variance = pm.LogNormal("variance", np.log(0.5), spread, dims="item")
        score = pm.Deterministic("score", scale * z, dims="item")
        br.MPM("y", score, variance=variance, adherence=follows, observed=counts)
    return model


def _start(counts: br.PairCounts) -> NDArray[np.float64]:
    """Return the net counts of all rankers, scaled to a root mean square of one.

    The start z = 0 would not work, because it cannot be scaled.
    """
    net = counts.net().sum(axis=0)
    if not net.any():
        net = np.linspace(1.0, -1.0, len(net))
    return net / np.sqrt(np.mean(net**2))


def judges(n_items: int = 8, n_judges: int = 12, *, seed: int = 1) -> br.Rankings:
    """Simulate judges; the first two of them order the items at random."""
    rng = np.random.default_rng(seed)
    utility = np.linspace(2, -2, n_items)
    follows = np.arange(n_judges) >= 2
    noisy = follows[:, None] * utility + rng.gumbel(size=(n_judges, n_items))
    names = [f"item {i + 1}" for i in range(n_items)]
    return br.Rankings.from_orderings(
        [[names[i] for i in row] for row in np.argsort(-noisy, axis=1)],
        rankers=[f"judge {n + 1}" for n in range(n_judges)],
        items=names,
    )


if __name__ == "__main__":
    with build(judges().counts("binary"), adherence="free"):
        posterior = pm.sample(random_seed=1)
    print(br.rank_summary(posterior, "score").round(2).to_string())
    print(br.adherence_summary(posterior).round(2).to_string())
