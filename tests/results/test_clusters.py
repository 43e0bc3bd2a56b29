"""Clusters of ranks: the partition of items into groups of equal strength."""

from math import lgamma, sqrt

import numpy as np
import pytest
import xarray as xr
from scipy.special import expit, logsumexp

from bayesrank.results.ranks.clusters import rank_clusters
from bayesrank.results.ranks.rank_table import rank_summary, tied_sets, tied_with_leader


def partitions(items):
    """Yield all partitions of a list into groups."""
    if not items:
        yield []
        return
    first, *rest = items
    for groups in partitions(rest):
        yield [[first], *groups]
        for k, group in enumerate(groups):
            yield [*groups[:k], [first, *group], *groups[k + 1 :]]


def log_prior(groups, prior_equal):
    """Compute the prior of a partition, without its constant."""
    alpha = 1 / prior_equal - 1
    return len(groups) * np.log(alpha) + sum(lgamma(len(group)) for group in groups)


def members(groups, n):
    return np.array([[float(i in group) for group in groups] for i in range(n)])


def posterior_of(log_evidence, n, prior_equal):
    """Compute exact probabilities of equality and of each number of groups, by enumeration."""
    found = [*partitions([*range(n)])]
    log_p = np.array([log_prior(groups, prior_equal) + log_evidence(groups) for groups in found])
    p = np.exp(log_p - logsumexp(log_p))
    equal, sizes = np.zeros((n, n)), np.zeros(n)
    for groups, weight in zip(found, p, strict=True):
        z = members(groups, n)
        equal += weight * (z @ z.T)
        sizes[len(groups) - 1] += weight
    return equal, sizes, found[int(p.argmax())], p.max()


def normal_draws(mean, precision, n_draws, rng):
    """Draw utilities whose mean and covariance are exact."""
    z = rng.normal(size=(n_draws, len(mean)))
    z -= z.mean(axis=0)
    z = z @ np.linalg.inv(np.linalg.cholesky(np.cov(z, rowvar=False))).T
    return mean + z @ np.linalg.cholesky(np.linalg.inv(precision)).T


def as_posterior(draws):
    items = [f"i{k}" for k in range(draws.shape[1])]
    return xr.DataArray(draws[None], {"item": items}, ("chain", "draw", "item"))


@pytest.mark.parametrize("prior_equal", [0.5, 0.2])
def test_a_normal_likelihood_gives_the_enumerated_probabilities(prior_equal):
    n, tau, rng = 4, 1.3, np.random.default_rng(2)
    centre = np.eye(n) - 1 / n
    noise = rng.normal(size=(9, n)) @ centre
    precision = 2 * noise.T @ noise  # tells nothing about the mean of all items
    linear = precision @ np.array([0.9, 0.7, 0.1, -0.8])

    def log_evidence(groups):
        z = members(groups, n)
        a = z.T @ precision @ z + np.eye(len(groups)) / tau**2
        b = z.T @ linear
        return (
            -len(groups) * np.log(tau) - np.linalg.slogdet(a)[1] / 2 + b @ np.linalg.solve(a, b) / 2
        )

    equal, sizes, best, p_best = posterior_of(log_evidence, n, prior_equal)
    whole = precision + np.eye(n) / tau**2
    draws = normal_draws(np.linalg.solve(whole, linear), whole, 20_000, rng)
    sweeps = 1000
    found = rank_clusters(
        as_posterior(draws), prior_sd=tau, prior_equal=prior_equal, draws=sweeps, random_seed=3
    )
    # sweeps are correlated: as if there were a quarter of them
    error = 5.2 * sqrt(0.25 / (sweeps / 4))
    assert np.abs(found["p_equal"].values - equal).max() < error
    assert np.abs(found["p_groups"].values - sizes).max() < error
    assert abs(float(found["p_partition"]) - p_best) < error
    label = found["group"].values
    assert {frozenset(map(int, np.flatnonzero(label == g))) for g in {*label}} == {
        *map(frozenset, best)
    }
    better = found["p_better"].values
    assert np.allclose(better + better.T + found["p_equal"].values, 1)


def test_matches_give_the_probabilities_of_quadrature():
    """The independent route integrates the likelihood of Bradley-Terry on a grid."""
    wins = np.array([[0, 18, 24], [12, 0, 20], [6, 10, 0]])
    tau, n = 1.0, 3
    grid = np.linspace(-4, 4, 61) * tau
    weight = np.exp(-(grid**2) / (2 * tau**2))
    weight /= weight.sum()

    def log_likelihood(w):
        lead = w[..., :, None] - w[..., None, :]
        return (wins * np.log(expit(lead))).sum((-1, -2))

    def points(k):
        axes = np.stack(np.meshgrid(*[grid] * k, indexing="ij"), axis=-1).reshape(-1, k)
        masses = np.stack(np.meshgrid(*[weight] * k, indexing="ij"), axis=-1).reshape(-1, k)
        return axes, masses.prod(axis=1)

    def log_evidence(groups):
        theta, mass = points(len(groups))
        return logsumexp(log_likelihood(theta @ members(groups, n).T), b=mass)

    equal, *_ = posterior_of(log_evidence, n, 0.5)
    rng = np.random.default_rng(4)
    w, mass = points(n)
    log_p = log_likelihood(w) + np.log(mass)
    p = np.exp(log_p - logsumexp(log_p))
    chosen = rng.choice(len(w), 20_000, p=p)
    spread = (rng.random((20_000, n)) - 0.5) * (grid[1] - grid[0])
    found = rank_clusters(as_posterior(w[chosen] + spread), prior_sd=tau, draws=1000, random_seed=5)
    # the normal approximation is good to two digits here
    assert np.abs(found["p_equal"].values - equal).max() < 5.2 * sqrt(0.25 / 250) + 0.02
    assert 0.2 < equal[0, 1] < 0.8


@pytest.mark.slow
def test_probabilities_of_equality_are_calibrated():
    """Truths come from the prior, so the sum of probabilities is the expected number of pairs."""
    rng, n, tau, prior_equal = np.random.default_rng(6), 6, 1.0, 0.5
    alpha, off, variance, said, right = 1 / prior_equal - 1, 0.0, 0.0, 0, 0
    for _ in range(60):
        label = [0]
        for i in range(1, n):  # the Chinese restaurant process
            sizes = np.append(np.bincount(label), alpha)
            label.append(int(rng.choice(len(sizes), p=sizes / (i + alpha))))
        truth = rng.normal(0, tau, n)[label]
        precision = 15.0 * (np.eye(n) - 1 / n)
        data = precision @ truth + np.linalg.cholesky(precision + 1e-9 * np.eye(n)) @ rng.normal(
            size=n
        )
        whole = precision + np.eye(n) / tau**2
        draws = normal_draws(np.linalg.solve(whole, data), whole, 2000, rng)
        found = rank_clusters(
            as_posterior(draws),
            prior_sd=tau,
            prior_equal=prior_equal,
            draws=200,
            tune=50,
            random_seed=7,
        )
        p = found["p_equal"].values[0, 1]  # one pair of each table, so that tables are independent
        off += p - (label[0] == label[1])
        variance += p * (1 - p)
        sure = found["p_better"].values > 0.9
        said += sure.sum()
        right += (sure & (truth[:, None] > truth)).sum()
    assert abs(off) < 5.2 * sqrt(variance)
    assert said > 40
    assert right / said > 0.9


def test_the_scale_is_the_learned_one_unless_it_is_given():
    utility = as_posterior(np.random.default_rng(0).normal(size=(100, 3)))
    scale = 0 * utility.isel(item=0, drop=True) + 0.7
    posterior = xr.Dataset({"utility": utility, "utility_scale": scale})
    options = {"draws": 50, "tune": 10, "random_seed": 1}
    learned = rank_clusters(posterior, **options)
    xr.testing.assert_allclose(learned, rank_clusters(utility, prior_sd=0.7, **options))
    with pytest.raises(ValueError, match=r"no learned scale 'utility_scale', so give prior_sd="):
        rank_clusters(utility)


def test_equal_items_are_not_called_better():
    """The draws of groups decide the status, also in tied sets; labels may be in another order."""
    rng = np.random.default_rng(1)
    centre = [0.0, 2.0, -0.35, -0.4, -0.45]
    utility = as_posterior(centre + 0.2 * rng.normal(size=(2000, 5)))
    equal = rank_clusters(utility, prior_sd=1.0, random_seed=1)["utility"]
    strict = rank_summary(utility, equal=equal.isel(item=[4, 3, 2, 1, 0]))
    assert strict["status"].to_dict() == {
        "i1": "leads",
        **{f"i{k}": "behind" for k in (0, 2, 3, 4)},
    }
    found = tied_with_leader(utility, equal=equal)
    assert (found["status"].to_series()[strict.index] == strict["status"]).all()
    sets = tied_sets(utility, equal=equal).sel(item="i0").values
    assert sets.tolist() == [True, False, True, True, True]
    p = (equal.sel(item="i1") > equal.sel(item="i0")).mean()
    assert strict.loc["i0", "p_leader_better"] == pytest.approx(float(p))
    with pytest.raises(ValueError, match=r"`equal` must have draws of the same items.*4 items"):
        rank_summary(utility, equal=equal.isel(item=slice(4)))


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"prior_sd": 0}, "`prior_sd` is 0; it must be positive"),
        ({"prior_sd": 1, "prior_equal": 1}, "`prior_equal` is 1"),
        ({"prior_sd": 1, "draws": 0}, "`draws` is 0"),
    ],
)
def test_arguments_are_checked(given, match):
    with pytest.raises(ValueError, match=match):
        rank_clusters(as_posterior(np.random.default_rng(0).normal(size=(100, 3))), **given)


def test_sizes_are_checked():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"2 to 200 items; there are 1"):
        rank_clusters(as_posterior(rng.normal(size=(100, 1))), prior_sd=1)
    with pytest.raises(ValueError, match=r"5 draws of 3 items, too few.*at least 30"):
        rank_clusters(as_posterior(rng.normal(size=(5, 3))), prior_sd=1)
