r"""How do I divide rankings among devices?

Story: many rankings depend on the utilities of the items. Each process has one part of the
rankings. Every process builds the same model on a few rankings and puts its part on its own
devices. An evaluation exchanges only one sum between devices, which contains the log density and
its gradient.

    utility[i]   ~ Normal(0, 1)
    ranking      ~ PlackettLuce(utility)

Then find the mode (`br.jax.find_map`), fit normals around it with NumPyro's SVI, or sample with the
NUTS of NumPyro or blackjax. All of them take the log density as a function of values and data. Pass
data as arguments, never as constants. Create random keys inside compiled functions, because no
process can put them on the devices of another.

The search for the mode saves checkpoints. If a process is lost, the others stop after the heartbeat
timeout, and all of them start again from the file.

Independent normals have conditional standard deviations, which are too small for correlated
variables. Their means move by at most half the learning rate times the number of steps, so start at
the mode.

Parameters of rankers or judges are stored on every device; a million of them need 8 MB. A parameter
with the dim of the rows is refused: give it a separate dim, and select each row's value with a
`pm.Data` of codes.

Run ``python shards.py`` for 20,000 simulated rankings on the devices of one process. On a cluster,
run it in every process, for example ``srun -N 4 --ntasks-per-node 1 python shards.py slurm``; JAX
detects Slurm, Open MPI and Cloud TPU. Without them, run ``python shards.py HOST:PORT N K`` in the
K-th of N processes. To try it on one machine, set
``XLA_FLAGS=--xla_force_host_platform_device_count=2``.

Each row is an item with the mean and the standard deviation of its utility. On several processes,
only the first one prints the table.
"""

import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pandas as pd
import pymc as pm
from jax.sharding import Mesh

import bayesrank as br

ITEMS = [f"i{k}" for k in range(30)]
HEARTBEAT = 60  # seconds after which a lost process is noticed where collectives do not


def part(process: int, n_processes: int, n_rankings: int = 20_000) -> br.Rankings:
    """Simulate a part of the rankings; a real process would read this part from a file."""
    utility = np.linspace(1.5, -1.5, len(ITEMS))
    rng = np.random.default_rng(process)
    n = len(range(process, n_rankings, n_processes))
    item = rng.permuted(np.tile(np.arange(len(ITEMS)), (n, 1)), axis=1)[:, :5]
    order = np.argsort(-(utility[item] + rng.gumbel(size=item.shape)), axis=1)
    ranks = np.tile(np.arange(1, 6), (n, 1))
    return br.Rankings(np.take_along_axis(item, order, axis=1), ranks, items=ITEMS)


def build(few: br.Rankings) -> pm.Model:
    """Build the model on a few rankings, which the full data replace later."""
    with pm.Model(coords=few.coords) as model:
        utility = pm.Normal("utility", 0, 1, dims="item")
        br.PlackettLuce("y", utility, observed=few)
    return model


def divided(mine: br.Rankings) -> tuple[br.jax.LogDensity, dict[str, Any]]:
    """Compile the model for all devices, and put this process's part on its devices."""
    mesh = Mesh(np.array(jax.devices()), ("rows",))
    density = br.jax.compile(build(mine.subset([0])), mesh=mesh)
    return density, density.put({"y": mine})


def by_svi(
    density: br.jax.LogDensity,
    data: dict[str, Any],
    start: dict[str, Any],
    *,
    n_steps: int = 2000,
    draws: int = 4000,
    seed: int = 1,
) -> dict[str, np.ndarray]:
    """Draw from independent normals around the mode: values by name, (draw, ...)."""
    import optax
    from numpyro.infer import SVI, Trace_ELBO, init_to_value
    from numpyro.infer.autoguide import AutoNormal

    model = density.numpyro_model
    optimiser = optax.adam(optax.cosine_decay_schedule(0.02, n_steps))

    @jax.jit
    def run(seed: int, data: dict[str, Any]) -> Any:
        guide = AutoNormal(model, init_loc_fn=init_to_value(values=start))
        svi = SVI(model, guide, optimiser, Trace_ELBO())
        for_start, for_draws = jax.random.split(jax.random.key(seed))
        state = svi.init(for_start, data)
        state, _ = jax.lax.scan(lambda at, _: svi.update(at, data), state, length=n_steps)
        return guide.sample_posterior(for_draws, svi.get_params(state), sample_shape=(draws,))

    return {name: np.asarray(x) for name, x in run(seed, data).items()}


def by_numpyro(
    density: br.jax.LogDensity, data: dict[str, Any], *, draws: int = 500, seed: int = 1
) -> dict[str, np.ndarray]:
    """Draw by NumPyro's NUTS: unconstrained values by name, (draw, ...)."""
    from numpyro.infer import MCMC, NUTS

    kernel = NUTS(density.numpyro_model)
    sampler = MCMC(kernel, num_warmup=draws, num_samples=draws, progress_bar=False)
    sampler.run(jax.random.key(seed), data)
    return {name: np.asarray(x) for name, x in sampler.get_samples().items()}


def by_blackjax(
    density: br.jax.LogDensity, data: dict[str, Any], *, draws: int = 500, seed: int = 1
) -> dict[str, np.ndarray]:
    """Draw by blackjax's NUTS, with its warm-up in one program, in the form of `by_numpyro`."""
    import blackjax

    start = density.start()

    @jax.jit
    def run(seed: int, data: dict[str, Any]) -> Any:
        def logp(values: dict[str, Any]) -> Any:
            return density.logp(values, data)

        for_warmup, for_draws = jax.random.split(jax.random.key(seed))
        warmup = blackjax.window_adaptation(blackjax.nuts, logp)
        (state, found), _ = warmup.run(for_warmup, start, num_steps=draws)
        step = blackjax.nuts(logp, **found).step

        def one(state: Any, key: Any) -> Any:
            state, _ = step(key, state)
            return state, state.position

        return jax.lax.scan(one, state, jax.random.split(for_draws, draws))[1]

    return {name: np.asarray(x) for name, x in run(seed, data).items()}


def table(draws: dict[str, np.ndarray]) -> pd.DataFrame:
    """Return the means and standard deviations of the utilities."""
    utility = draws["utility"]
    return pd.DataFrame({"mean": utility.mean(0), "sd": utility.std(0)}, index=ITEMS)


def main(where: list[str]) -> None:
    """Join the other processes, if any. Find the mode, and fit independent normals around it."""
    if where == ["slurm"]:
        jax.distributed.initialize(heartbeat_timeout_seconds=HEARTBEAT)
    elif where:
        address, n, k = where
        jax.distributed.initialize(address, int(n), int(k), heartbeat_timeout_seconds=HEARTBEAT)
    density, data = divided(part(jax.process_index(), jax.process_count()))
    mode = br.jax.find_map(density, data, checkpoint=Path.cwd() / "mode.npz")
    draws = by_svi(density, data, mode.values)
    if jax.process_index() == 0:
        print(table(draws).round(3).to_string())


if __name__ == "__main__":
    main(sys.argv[1:])
