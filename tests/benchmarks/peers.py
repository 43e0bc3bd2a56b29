"""Peers, by name: what others do for the same numbers.

============================  =================================================================
`paper_rule`                  block probability by 10,000 equal intervals, Ma et al. 2021
`plain_model`                 padded Plackett-Luce graph in PyMC, every ranking on its own
`numpyro_draws`               Plackett-Luce written by hand in NumPyro
`gibbs_draws`                 gamma-augmented Gibbs sampler, Caron & Doucet 2012
`choix_map`                   choix's optimiser at its prior, to the last digits
============================  =================================================================
"""

from collections.abc import Callable

import choix
import numpy as np
import pandas as pd
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from scipy.optimize import root_scalar
from scipy.special import polygamma

import bayesrank as br

CENTRE = 5.0
INTERVALS = 10_000


def paper_rule(w: np.ndarray) -> float:
    r"""Value of a block by the midpoints of equal intervals, with shifted logits.

    .. math:: P = e^c \int_0^1 v^{e^c - 1} \prod_i (1 - v^{\exp(w_i + c)})\, dv, \qquad c = 5

    where the remainder is at 0 in `w`, which the substitution moves to c. Ma et al., AISTATS 2021.
    In logarithms, the fastest and most accurate form of it that NumPy has.
    """
    log_v = np.log((np.arange(INTERVALS) + 0.5) / INTERVALS)
    log_g = (np.exp(CENTRE) - 1) * log_v
    with np.errstate(divide="ignore"):  # a factor that rounds to zero is a node without mass
        log_g += np.log(-np.expm1(np.exp(w + CENTRE)[:, None] * log_v)).sum(0)
    peak = log_g.max()
    return CENTRE + peak + np.log(np.exp(log_g - peak).sum() / INTERVALS)


def our_model(rankings: br.Rankings, prior: type) -> pm.Model:
    """Utilities with standard deviation 1, and the rankings: what the peers are compared with."""
    with pm.Model(coords=rankings.coords) as model:
        br.PlackettLuce("y", prior("utility", sigma=1, dims="item"), observed=rankings)
    return model


def plain_model(rankings: br.Rankings, prior: type) -> pm.Model:
    r"""Full rankings as the sum of :math:`w_j - \log \sum_{i \ge j} e^{w_i}` over a padded matrix.

    It exponentiates the items, not the entries, which makes it 2.4 times faster than the usual
    form and unusable at large utilities.
    """
    item = pytensor.shared(rankings.item.astype(np.int64), name="item")
    with pm.Model(coords=rankings.coords) as model:
        utility = prior("utility", sigma=1, dims="item")
        worth = pt.exp(utility)[item]
        remainder = pt.log(pt.cumsum(worth[:, ::-1], axis=1)[:, ::-1])
        pm.Potential("y", pt.sum(utility[item][:, :-1] - remainder[:, :-1]))
    return model


def numpyro_draws(
    rankings: br.Rankings, prior: str, *, tune: int, draws: int
) -> Callable[[int], np.ndarray]:
    """Compile NUTS of two chains in NumPyro; seed -> utilities (2, draws, n_items).

    In double precision, as PyMC has it, and in the form of `plain_model`: with
    `jax.lax.cumlogsumexp` it is a third as fast. Chains run one after the other, which costs no
    more CPU seconds than vectorised ones.
    """
    numpyro = pytest.importorskip("numpyro", reason="NumPyro, a peer, is not installed")
    import jax

    n_items, item = rankings.n_items, jax.numpy.asarray(rankings.item)
    normal = numpyro.distributions.Normal(0.0, 1.0).expand([n_items]).to_event(1)
    zero_sum = numpyro.distributions.ZeroSumNormal(1.0, event_shape=(n_items,))

    def model() -> None:
        utility = numpyro.sample("utility", {"Normal": normal, "ZeroSumNormal": zero_sum}[prior])
        worth = jax.numpy.exp(utility)[item]
        remainder = jax.numpy.log(jax.lax.cumsum(worth, axis=1, reverse=True))
        numpyro.factor("y", jax.numpy.sum(utility[item] - remainder))

    sampler = numpyro.infer.MCMC(
        numpyro.infer.NUTS(model),
        num_warmup=tune,
        num_samples=draws,
        num_chains=2,
        chain_method="sequential",
        progress_bar=False,
    )

    def run(seed: int) -> np.ndarray:
        with jax.enable_x64(True):
            sampler.run(jax.random.key(seed))
            return np.asarray(sampler.get_samples(group_by_chain=True)["utility"])

    return run


def gibbs_draws(
    rankings: br.Rankings, *, tune: int, draws: int, distinct: bool = False
) -> Callable[[int], np.ndarray]:
    r"""Gamma-augmented Gibbs sampler of full rankings; seed -> utilities (2, draws, n_items).

    With worths :math:`\lambda_i \sim \text{Gamma}(a, 1)` and, for every stage, a latent
    :math:`z \sim \text{Exponential}(\sum_{i \in R} \lambda_i)`,

    .. math:: \lambda_i \mid z \sim \text{Gamma}(a + n_i,\ 1 + \sum_{R \ni i} z),

    then the free total :math:`\sum_i \lambda_i` is drawn anew. Here :math:`\psi'(a) = 1`: the
    prior variance of a log worth is that of the normal priors it is compared with.

    With `distinct`, remainders that rankings share have one latent, the sum of theirs: the idea
    of `bayesrank.data.derive.stages`, given to the peer.
    """
    item, n_items = rankings.item, rankings.n_items
    a = root_scalar(lambda x: polygamma(1, x) - 1, bracket=(0.5, 5)).root
    n_first = np.bincount(item[:, :-1].ravel(), minlength=n_items)
    if distinct:
        sets = np.cumsum((1 << item.astype(np.int64))[:, ::-1], axis=1)[:, ::-1][:, :-1]
        sets, times = np.unique(sets, return_counts=True)
        inside = ((sets[:, None] >> np.arange(n_items)) & 1).astype(float)

    def exposure_of_all(worth: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        remainder = np.cumsum(worth[item][:, ::-1], axis=1)[:, ::-1][:, :-1]
        z = np.cumsum(rng.standard_exponential(remainder.shape) / remainder, axis=1)
        z = np.concatenate([z, z[:, -1:]], axis=1)  # the last item was there until the last stage
        return np.bincount(item.ravel(), z.ravel(), minlength=n_items)

    def exposure_of_distinct(worth: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        z = rng.standard_gamma(times) / np.einsum("si,i->s", inside, worth)
        return np.einsum("si,s->i", inside, z)

    exposure = exposure_of_distinct if distinct else exposure_of_all

    def run(seed: int) -> np.ndarray:
        out = np.empty((2, draws, n_items))
        for chain, rng in enumerate(np.random.default_rng(seed).spawn(2)):
            worth = rng.gamma(a, size=n_items)
            for step in range(-tune, draws):
                worth = rng.standard_gamma(a + n_first) / (1 + exposure(worth, rng))
                worth *= rng.standard_gamma(n_items * a) / worth.sum()
                if step >= 0:
                    out[chain, step] = np.log(worth)
        return out

    return run


def choix_map(rankings: br.Rankings, *, tol: float = 1e-10) -> np.ndarray:
    """MAP under N(0, 1) by choix's optimiser.

    Its penalty is alpha |u|², so that a variance of one is alpha = 1/2 (its documentation says
    1 / alpha).
    """
    orderings = [tuple(row) for row in rankings.item.tolist()]
    return choix.opt_rankings(rankings.n_items, orderings, alpha=0.5, tol=tol)


def random_matches(n_matches: int, n_systems: int) -> pd.DataFrame:
    """Draw matches of Bradley-Terry's model, and judgements of which a fifth are ties."""
    rng = np.random.default_rng(1)
    worth = rng.normal(size=n_systems)
    one = rng.integers(0, n_systems, n_matches)
    other = (one + rng.integers(1, n_systems, n_matches)) % n_systems
    won = rng.random(n_matches) < 1 / (1 + np.exp(worth[other] - worth[one]))
    names = np.array([f"system {i:03d}" for i in range(n_systems)])
    table = pd.DataFrame({"left": names[one], "right": names[other]})
    table["winner"] = np.where(won, "first", "second")
    table["judged"] = np.where(rng.random(n_matches) < 0.2, "tie", table["winner"])
    return table


def read_matches(table: pd.DataFrame, outcome: str = "judged") -> br.Pairs:
    """Read them."""
    return br.Pairs.from_frame(table, first="left", second="right", outcome=outcome)


def random_rankings(
    n_rankings: int, *, n_items: int = 5_000, n_slots: int = 10, ties: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Draw Plackett-Luce rankings of random items: `item` and `ranks`, (n_rankings, n_slots).

    With ties, the ten places are cut into blocks of 3, 4 and 3.
    """
    rng = np.random.default_rng(0)
    item = rng.integers(n_items, size=(n_rankings, n_slots))
    while len(again := np.flatnonzero((np.diff(np.sort(item, axis=1), axis=1) == 0).any(1))):
        item[again] = rng.integers(n_items, size=(again.size, n_slots))
    utility = rng.normal(size=n_items)
    order = np.argsort(-(utility[item] + rng.gumbel(size=item.shape)), axis=1)
    ranks = np.arange(1, n_slots + 1)
    if ties:
        ranks = np.searchsorted([3, 7], ranks - 1, side="right") + 1
    return np.take_along_axis(item, order, axis=1), np.tile(ranks, (n_rankings, 1))
