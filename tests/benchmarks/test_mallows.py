"""Mallows models: the consensus summed out, and effective draws of alpha per CPU second.

The peer of the gradient is the same recursion as one writes it: a loop over sets and their items,
in numba and in logarithms, the value alone. The peer of the sampler is Metropolis' algorithm in
numba over consensus and alpha together: an item leaps to another place and the items between shift,
ten times for each step of alpha, with the exact normaliser.

Steps of Metropolis' algorithm take microseconds. So do ours where all rankings have one
concentration, once the sum over orders is interpolated, which is not counted; there the time is
that of NUTS around it.
"""

import math
from collections.abc import Callable

import arviz as az
import numba
import numpy as np
import nutpie
import pymc as pm
import pytensor.tensor as pt
import pytest
import xarray as xr

import bayesrank as br
from bayesrank.likelihoods.mallows.footrule import footrule_table
from tests.benchmarks.book import Book, rate, seconds

N_RANKINGS = 12
ALPHA = 5.0
BUDGET = 0.1  # seconds, value and gradient at 20 items


def model_of(n: int, distance: str) -> tuple[pm.Model, np.ndarray]:
    """Rankings around a consensus, and their ranks by item."""
    dist = br.Mallows.dist(np.arange(1, n + 1), ALPHA, distance=distance, size=N_RANKINGS)
    ranks = pm.draw(dist, random_seed=n)
    items = [f"{i:02d}" for i in range(n)]
    rankings = br.Rankings.from_orderings(
        [[items[i] for i in np.argsort(r)] for r in ranks], items=items
    )
    with pm.Model(coords=rankings.coords) as model:
        alpha = pm.Exponential("alpha", 0.1)
        br.Mallows("y", alpha=alpha, distance=distance, observed=rankings)
    return model, ranks


@numba.njit
def over_sets(cost: np.ndarray, pairs: bool) -> float:
    """Logarithm of the sum over orders of exp(-cost), set by set."""
    n = cost.shape[0]
    table = np.full(1 << n, -np.inf)
    table[0] = 0.0
    for s in range(1, table.size):
        size = 0
        for i in range(n):
            size += s >> i & 1
        most, total = -np.inf, 0.0
        for i in range(n):
            if s >> i & 1:
                p = s ^ (1 << i)
                x = table[p]
                if pairs:
                    for j in range(n):
                        if p >> j & 1:
                            x -= cost[i, j]
                else:
                    x -= cost[i, size - 1]
                if x > most:
                    total = total * math.exp(most - x) + 1.0
                    most = x
                else:
                    total += math.exp(x - most)
        table[s] = most + math.log(total)
    return table[-1]


def costs(ranks: np.ndarray, distance: str) -> np.ndarray:
    if distance == "kendall":
        return (ranks[:, :, None] < ranks[:, None, :]).sum(axis=0).astype(float)
    return np.abs(ranks[:, :, None] - np.arange(1, ranks.shape[1] + 1)).sum(axis=0).astype(float)


@pytest.mark.parametrize("distance", ["footrule", "kendall"])
@pytest.mark.parametrize("n", [10, 15, 20])
def test_value_and_gradient_with_the_consensus_summed_out(book: Book, n: int, distance: str):
    _, ranks = model_of(n, distance)
    alpha = pt.dscalar("alpha")
    logp = pm.logp(br.Mallows.dist(alpha=alpha, distance=distance, shape=ranks.shape), ranks)
    gradient = pm.compile([alpha], [logp, pt.grad(logp, alpha)], mode="NUMBA")
    gradient.trust_input, at = True, np.array(ALPHA)
    cost, pairs = costs(ranks, distance), distance == "kendall"
    what = f"gradient, consensus of {n} summed out, {distance}"
    peer, theirs = "a plain loop, value alone", lambda: over_sets(ALPHA / n * cost, pairs)
    at_least = 2.0 if n > 10 else 0.0
    times = book.beat(what, lambda: gradient(at), peer, theirs, rounds=5, at_least=at_least)
    assert n < 20 or times["ours"].cpu < BUDGET


@numba.njit
def metropolis(
    cost: np.ndarray, n_rankings: int, prior_rate: float, steps: int, seed: int
) -> np.ndarray:
    """Draws of alpha under the footrule; leaps of the consensus between them."""
    np.random.seed(seed)  # noqa: NPY002, numba's own
    n = cost.shape[0]
    order = np.arange(n)  # item at each place
    np.random.shuffle(order)  # noqa: NPY002
    log_alpha, draws = 0.0, np.empty(steps)
    total = 0.0
    for place in range(n):
        total += cost[order[place], place]
    log_z = footrule_table(1.0 / n, n)[n, 0]
    proposal = order.copy()
    for step in range(steps):
        t = math.exp(log_alpha) / n
        for _ in range(10):
            a, b = np.random.randint(n), np.random.randint(n)  # noqa: NPY002
            if a == b:
                continue
            proposal[:] = order
            sign = 1 if b > a else -1
            for place in range(a, b, sign):
                proposal[place] = order[place + sign]
            proposal[b] = order[a]
            after = 0.0
            for place in range(n):
                after += cost[proposal[place], place]
            if math.log(np.random.random()) < -t * (after - total):  # noqa: NPY002
                order[:] = proposal
                total = after
        new = log_alpha + 0.3 * np.random.randn()  # noqa: NPY002
        new_log_z = footrule_table(math.exp(new) / n, n)[n, 0]
        change = -(math.exp(new) - math.exp(log_alpha)) * (total / n + prior_rate)
        change += new - log_alpha - n_rankings * (new_log_z - log_z)
        if math.log(np.random.random()) < change:  # noqa: NPY002
            log_alpha, log_z = new, new_log_z
        draws[step] = math.exp(log_alpha)
    return draws


def effective(run: Callable[[int], np.ndarray]) -> tuple[float, np.ndarray]:
    """Effective draws of alpha per CPU second, and the draws (2, n)."""
    run(0)
    kept: list[np.ndarray] = []
    time = seconds(lambda: kept.append(run(1)))
    draws = xr.DataArray(kept[0], dims=("chain", "draw"))
    assert float(az.rhat(draws)) < 1.02
    return float(az.ess(draws)) / time.cpu, kept[0]


@pytest.mark.parametrize("n", [8, 12, 16, 20])
def test_effective_draws_of_alpha(book: Book, n: int):
    model, ranks = model_of(n, "footrule")
    cost = costs(ranks, "footrule")
    compiled = nutpie.compile_pymc_model(model)

    def nuts(seed: int) -> np.ndarray:
        # so many that the start of the sampler, 20 ms, does not count
        settings = {"tune": 300, "draws": 7_000, "chains": 2, "cores": 1, "seed": seed}
        found = nutpie.sample(compiled, progress_bar=False, save_warmup=False, **settings)
        return found.posterior["alpha"].to_numpy()

    def walk(seed: int) -> np.ndarray:
        draws = [metropolis(cost, N_RANKINGS, 0.1, 40_000, 2 * seed + c) for c in range(2)]
        return np.array(draws)[:, 4_000:]

    results: dict[str, tuple[float, np.ndarray]] = {}
    book.once(lambda: results.update(nuts=effective(nuts), walk=effective(walk)))
    (ours, draws), (theirs, others) = results["nuts"], results["walk"]
    assert abs(draws.mean() - others.mean()) < 0.35 * others.std()
    book.budget(
        f"effective draws of alpha, consensus of {n}",
        ours,
        rate,
        peer=f"Metropolis over orders: {rate(theirs)}",
        ratio=ours / theirs,
    )
