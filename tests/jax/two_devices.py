"""On two devices of this machine: what `test_log_density` asks of them, as JSON."""

import json

import jax
import numpy as np
import pymc as pm
from jax.sharding import Mesh

import bayesrank as br


def compare() -> dict[str, object]:
    rng = np.random.default_rng(5)
    items = [f"i{k}" for k in range(30)]
    rankings = br.Rankings.from_orderings(
        [list(rng.choice(items, 4, replace=False)) for _ in range(1001)], items=items
    )
    with pm.Model(coords=rankings.coords) as model:
        br.PlackettLuce("y", pm.Normal("utility", dims="item"), observed=rankings)
    mesh = Mesh(jax.devices(), ("rows",))
    density = br.jax.compile(model, chunk=100, mesh=mesh)
    data = density.put()
    values = {"utility": rng.normal(size=len(items))}
    value, slope = jax.jit(jax.value_and_grad(density.logp))(values, data)
    expected, expected_slope = model.compile_logp()(values), model.compile_dlogp()(values)
    program = jax.jit(jax.value_and_grad(density.logp)).lower(values, data).compile().as_text()

    dropped = density.put({"y": rankings.subset(np.arange(1, 1001))})
    _, other = jax.jit(jax.value_and_grad(density.logp))(values, dropped)
    moved = np.flatnonzero(abs(np.asarray(other["utility"] - slope["utility"])) > 1e-12)
    mode = br.jax.find_map(density, data, tolerance=1e-10)
    alone = br.jax.compile(model)

    return {
        "devices": len(jax.devices()),
        "value": abs(float(value) / float(expected) - 1),
        "slope": float(abs(slope["utility"] - expected_slope).max()),
        "all_reduce": program.count(" all-reduce("),
        "all_gather": program.count(" all-gather("),
        "moved": moved.tolist(),
        "of_the_row": sorted(rankings.item[0].tolist()),
        "mode": float(
            abs(
                mode.values["utility"]
                - br.jax.find_map(alone, alone.put(), tolerance=1e-10).values["utility"]
            ).max()
        ),
    }


if __name__ == "__main__":
    print(json.dumps(compare()))
