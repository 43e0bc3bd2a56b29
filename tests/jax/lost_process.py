"""One of two processes that keep checkpoints; prints where it ended, as JSON.

Told to, it kills itself after some iterations, without a word to the other.
"""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from tests.jax.two_processes import part

HEARTBEAT = 20  # seconds


def main(port: int, k: int, folder: Path, last: int) -> None:
    """Join the other process, and climb to the mode."""
    import jax

    jax.distributed.initialize(
        f"127.0.0.1:{port}",
        num_processes=2,
        process_id=k,
        heartbeat_timeout_seconds=HEARTBEAT,
    )
    import pymc as pm

    import bayesrank as br
    from bayesrank.jax import checkpoints, modes

    write = checkpoints.Checkpoint.write

    def until(self: checkpoints.Checkpoint, state: Any) -> None:
        write(self, state)
        if state.n == last:
            os.kill(os.getpid(), signal.SIGKILL)

    checkpoints.Checkpoint.write = until
    modes.EVERY = 2
    mine = part(k)
    stub = mine.subset([0])
    with pm.Model(coords=stub.coords) as model:
        br.PlackettLuce("y", pm.Normal("utility", dims="item"), observed=stub)
    mesh = jax.sharding.Mesh(jax.devices(), ("rows",))
    density = br.jax.compile(model, chunk=100, mesh=mesh)
    data = density.put({"y": mine})
    # a file of its own for each, where only the first is asked for it
    kept = folder / str(k)
    kept.mkdir(parents=True, exist_ok=True)
    mode = br.jax.find_map(density, data, tolerance=1e-10, checkpoint=kept / "mode.npz")
    print(json.dumps({"mode": mode.values["utility"].tolist()}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))
