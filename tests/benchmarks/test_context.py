"""Training a network with context effects: a step compared with JAX by hand, and a whole fit."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pymc.blocking import DictToArrayBijection, RaveledVars

import bayesrank as br
from bayesrank.inference import adam
from bayesrank.inference.sampling.minibatch_logp import divided
from bayesrank.utility import draw_weights
from models.context.fate import fate_network
from models.context.model import build
from models.context.simulate import simulate_medoid
from models.context.study import train
from tests.benchmarks.book import Book

jax = pytest.importorskip("jax", reason="needs JAX, to train with and to compare with")
jnp = jax.numpy

N_SETS, WIDTH, N_STEPS = 256, 128, 20
NETWORK = fate_network(2)
SLOWER = 1.5  # times that a step may take as long as the faster of the two by hand


def our_slope(sets: br.Rankings, dtype: str | None) -> tuple[Callable[..., Any], RaveledVars]:
    """Compile the mean log posterior of the first sets, as `bayesrank.fit_minibatch` does."""
    problem = divided(build(sets, NETWORK, dtype=dtype), "ranking")
    start = draw_weights(NETWORK.weights, random_seed=1)
    at = DictToArrayBijection.map({rv.name: start[rv.name] for rv in problem.model.free_RVs})
    climb = problem.compile_slope(N_SETS, sets.n_rankings, at, "JAX")
    return lambda x: climb(x, problem.rows(np.arange(N_SETS)))[1], at


def our_steps(sets: br.Rankings, dtype: str | None) -> Callable[[], object]:
    """Take steps: batch, compiled gradient, Adam."""
    slope, at = our_slope(sets, dtype)
    return lambda: adam(slope, at.data, n_steps=N_STEPS, learning_rate=2e-3)


def by_hand(sets: br.Rankings, dtype: str) -> Callable[[dict[str, Any], Any], Any]:
    """Write the same mean log posterior in JAX, up to a constant."""
    specs = NETWORK.weights

    def objective(weights: dict[str, Any], features: Any) -> Any:
        w, items = {n: v.astype(dtype) for n, v in weights.items()}, features.astype(dtype)
        h = items
        for k in range(3):
            h = jax.nn.relu(h @ w[f"set_{k}_W"] + w[f"set_{k}_b"])
        context = h.mean(-2, keepdims=True)
        h = jax.nn.relu(items @ w["score_0_W"] + context @ w["score_0_V"] + w["score_0_b"])
        for k in (1, 2):
            h = jax.nn.relu(h @ w[f"score_{k}_W"] + w[f"score_{k}_b"])
        u = (h @ w["score_out_W"]).astype("float64")  # slots sorted best first
        log_p = (u - jax.lax.cumlogsumexp(u, axis=1, reverse=True)).sum(1).mean()
        prior = sum(-((v / specs[n].scale) ** 2).sum() / 2 for n, v in weights.items())
        return log_p + prior / sets.n_rankings

    return objective


def jax_steps(sets: br.Rankings, dtype: str) -> Callable[[], object]:
    """Take steps of Adam in JAX, each compiled as one."""
    slope = jax.grad(by_hand(sets, dtype))
    features = jnp.asarray(sets.features[:N_SETS])
    each = jax.tree_util.tree_map

    @jax.jit
    def step(weights: Any, mean: Any, square: Any, t: Any, x: Any) -> Any:
        gradient = slope(weights, x)
        mean = each(lambda m, g: 0.9 * m + 0.1 * g, mean, gradient)
        square = each(lambda s, g: 0.999 * s + 0.001 * g**2, square, gradient)

        def moved(w: Any, m: Any, s: Any) -> Any:
            return w + 2e-3 * m / (1 - 0.9**t) / (jnp.sqrt(s / (1 - 0.999**t)) + 1e-8)

        return each(moved, weights, mean, square), mean, square

    def run() -> None:
        weights = {
            n: jnp.asarray(v) for n, v in draw_weights(NETWORK.weights, random_seed=1).items()
        }
        zero = {n: jnp.zeros_like(v) for n, v in weights.items()}
        state = weights, zero, zero
        for t in range(N_STEPS):
            state = step(*state, t + 1.0, features)
        jax.block_until_ready(state)

    return run


def test_the_gradient_by_hand_is_the_same():
    # else the race would be one of different steps
    sets = simulate_medoid(1_000, seed=1)
    slope, at = our_slope(sets, None)
    weights = {n: jnp.asarray(v) for n, v in draw_weights(NETWORK.weights, random_seed=1).items()}
    peer = jax.grad(by_hand(sets, "float64"))(weights, jnp.asarray(sets.features[:N_SETS]))
    ours = DictToArrayBijection.rmap(at._replace(data=slope(at.data)))
    for name, expected in peer.items():
        np.testing.assert_allclose(ours[name], expected, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_step_is_about_as_fast_as_by_hand(book: Book, dtype: str):
    sets = simulate_medoid(1_000, seed=1)
    single = "float32" if dtype == "float32" else None
    costs = book.race(our_steps(sets, single), 5, jax=jax_steps(sets, dtype))
    costs = {name: cost.per(N_STEPS) for name, cost in costs.items()}
    name, peer = min(list(costs.items())[1:], key=lambda named: named[1].cpu)
    what = f"step of FATE, {N_SETS} sets of five, 83,328 weights, {dtype}"
    book.ratio(what, costs["ours"], peer, name, at_least=1 / SLOWER)


def test_the_medoid_is_learned_in_a_minute(book: Book):
    what = "FATE, medoid, 10,000 sets, 100 epochs, compilation included"
    book.cost(what, lambda: train("FATE", "medoid", 1), rounds=1, at_most=60.0)
