r"""How do I find the modes of many small problems at once on a GPU?

Story: each of many queries has the same number of rankings, and its own utility for each item.

    utility[q, i]   ~ Normal(0, 1)
    ranking         ~ PlackettLuce(utility[q])

`br.find_MAP_many` fits the problems one after another, in as many processes as you like, and
accepts problems of any shape. On a GPU, `jax.vmap` compiles one program for all problems with the
same number of rows and slots: the log density of `br.jax.compile` is a function of values and data,
and both get another axis. Newton's method with step halving is a good choice for few utilities,
because all problems take the same number of steps.

Run ``python vmapped.py`` for 100 simulated queries.

Each of the 100 queries has its own utilities. The means over the queries show that the best and
the worst items were found.
"""

from collections.abc import Hashable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pymc as pm
from jax.flatten_util import ravel_pytree

import bayesrank as br

ITEMS = [f"i{k}" for k in range(30)]


def simulate(query: int, n_rankings: int = 50) -> br.Rankings:
    """Simulate the rankings of a query, of five of thirty items each."""
    utility, rng = np.linspace(1.5, -1.5, len(ITEMS)), np.random.default_rng(query)
    item = rng.permuted(np.tile(np.arange(len(ITEMS)), (n_rankings, 1)), axis=1)[:, :5]
    order = np.argsort(-(utility[item] + rng.gumbel(size=item.shape)), axis=1)
    ranks = np.tile(np.arange(1, 6), (n_rankings, 1))
    return br.Rankings(np.take_along_axis(item, order, axis=1), ranks, items=ITEMS)


def build(rankings: br.Rankings) -> pm.Model:
    """Build the model of one query."""
    with pm.Model(coords=rankings.coords) as model:
        utility = pm.Normal("utility", 0, 1, dims="item")
        br.PlackettLuce("y", utility, observed=rankings)
    return model


def modes(
    density: br.jax.LogDensity, problems: Mapping[Hashable, br.Rankings], *, n_steps: int = 30
) -> dict[str, np.ndarray]:
    """Find the modes of problems of one shape: values by name, (problem, ...)."""
    data = [density.put({"y": problem}) for problem in problems.values()]
    stacked = jax.tree.map(lambda *x: jnp.stack(x), *data)
    first, unravel = ravel_pytree(density.start())
    lengths = 0.5 ** jnp.arange(20)  # of a step

    def mode(data: Any) -> Any:
        def logp(x: Any) -> Any:
            return density.logp(unravel(x), data)

        def hessian_product(x: Any, v: Any) -> Any:
            return ravel_pytree(density.hessian_vector(unravel(x), unravel(v), data))[0]

        def step(x: Any, _: Any) -> Any:
            hessian = jax.vmap(lambda v: hessian_product(x, v))(jnp.eye(x.size))
            direction = -jnp.linalg.solve(hessian, jax.grad(logp)(x))
            heights = jax.vmap(lambda length: logp(x + length * direction))(lengths)
            best = jnp.argmax(heights)
            return jnp.where(heights[best] > logp(x), x + lengths[best] * direction, x), None

        return unravel(jax.lax.scan(step, first, length=n_steps)[0])

    return {name: np.asarray(x) for name, x in jax.jit(jax.vmap(mode))(stacked).items()}


def main() -> None:
    """Find the modes of 100 queries."""
    problems: dict[Hashable, br.Rankings] = {k: simulate(k) for k in range(100)}
    density = br.jax.compile(build(problems[0]))
    utility = modes(density, problems)["utility"]
    print(f"Mean utility of the best item {utility[:, 0].mean():.2f}")
    print(f"Mean utility of the worst item {utility[:, -1].mean():.2f}")


if __name__ == "__main__":
    main()
