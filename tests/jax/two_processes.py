"""One of two processes, each with its own part of the rankings; prints the mode as JSON."""

import json
import sys

import numpy as np

import bayesrank as br

ITEMS = [f"i{k}" for k in range(12)]


def part(*ks: int) -> br.Rankings:
    """Rankings of some of the processes: one has not as many as the other."""
    orderings = []
    for k in ks:
        rng = np.random.default_rng(k)
        orderings += [list(rng.permutation(ITEMS)[:5]) for _ in range((700, 431)[k])]
    return br.Rankings.from_orderings(orderings, items=ITEMS)


def main(port: int, k: int) -> None:
    """Join the other process, and climb."""
    import jax

    jax.distributed.initialize(f"127.0.0.1:{port}", num_processes=2, process_id=k)
    import pymc as pm

    mine = part(k)
    stub = mine.subset([0])
    with pm.Model(coords=stub.coords) as model:
        br.PlackettLuce("y", pm.Normal("utility", dims="item"), observed=stub)
    mesh = jax.sharding.Mesh(jax.devices(), ("rows",))
    density = br.jax.compile(model, chunk=100, mesh=mesh)
    mode = br.jax.find_map(density, density.put({"y": mine}), tolerance=1e-10)
    print(json.dumps({name: x.tolist() for name, x in mode.values.items()}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
