"""One of two processes, each with its own part of the rankings; prints the mode as JSON.

With a folder it keeps checkpoints there. With a last iteration it kills itself then, without a word
to the other process.
"""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np

import bayesrank as br

ITEMS = [f"i{k}" for k in range(12)]
HEARTBEAT = 20  # seconds


def part(*ks: int) -> br.Rankings:
    """Rankings of some of the processes: one has not as many as the other."""
    orderings = []
    for k in ks:
        rng = np.random.default_rng(k)
        orderings += [list(rng.permutation(ITEMS)[:5]) for _ in range((700, 431)[k])]
    return br.Rankings.from_orderings(orderings, items=ITEMS)


def kill_at(last: int) -> None:
    """Keep checkpoints every two iterations, and die at the last one."""
    from bayesrank.jax import checkpoints, modes

    write = checkpoints.Checkpoint.write

    def until(self: checkpoints.Checkpoint, state: Any) -> None:
        write(self, state)
        if state.n == last:
            os.kill(os.getpid(), signal.SIGKILL)

    checkpoints.Checkpoint.write = until
    modes.EVERY = 2


def main(port: int, k: int, folder: str | None = None, last: int = -1) -> None:
    """Join the other process, and climb to the mode."""
    import jax

    jax.distributed.initialize(
        f"127.0.0.1:{port}",
        num_processes=2,
        process_id=k,
        heartbeat_timeout_seconds=HEARTBEAT,
    )
    import pymc as pm

    kept = None
    if folder is not None:  # a file of its own for each, where only the first is asked for it
        kept = Path(folder, str(k), "mode.npz")
        kept.parent.mkdir(parents=True, exist_ok=True)
        kill_at(last)
    mine = part(k)
    stub = mine.subset([0])
    with pm.Model(coords=stub.coords) as model:
        br.PlackettLuce("y", pm.Normal("utility", dims="item"), observed=stub)
    mesh = jax.sharding.Mesh(jax.devices(), ("rows",))
    density = br.jax.compile(model, chunk=100, mesh=mesh)
    mode = br.jax.find_map(density, density.put({"y": mine}), tolerance=1e-10, checkpoint=kept)
    print(json.dumps({name: x.tolist() for name, x in mode.values.items()}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:4], *map(int, sys.argv[4:]))
