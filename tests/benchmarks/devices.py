"""Value and gradient on whatever JAX runs on: the same tables on a GPU machine and on a laptop.

``python -m tests.benchmarks.devices [ENTRIES ...]`` makes up data of so many entries (slots of
rankings, or matches; by default a million, ten million and a hundred million), and prints how long
a value and gradient takes in double precision, the least of five, what came before it, and what it
ran on. A GPU is taken where jax finds one: ``pip install "jax[cuda12]"``. Programs that call back
to the host are refused.
"""

import platform
import sys
import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pandas as pd
import pymc as pm

import bayesrank as br
from tests.benchmarks.peers import random_rankings
from tests.builders import model_of

ENTRIES = (1_000_000, 10_000_000, 100_000_000)
CHUNK = {"cpu": 10_000, "gpu": 1_000_000}  # rows at a time
N_SLOTS, N_PLAYERS = 10, 10_000
ROUNDS = 5


def rankings(n_entries: int, *, ties: bool) -> br.Rankings:
    """Ten of 5,000 items each, in full or in blocks of 3, 4 and 3."""
    item, ranks = random_rankings(n_entries // N_SLOTS, n_slots=N_SLOTS, ties=ties)
    return br.Rankings(item, ranks, items=range(5_000))


def matches(n_entries: int) -> br.Pairs:
    """Matches of 10,000 players, a row for each."""
    rng = np.random.default_rng(0)
    first = rng.integers(N_PLAYERS, size=n_entries)
    second = (first + rng.integers(1, N_PLAYERS, size=n_entries)) % N_PLAYERS
    outcome = np.array(["first", "second", "tie"])[rng.integers(3, size=n_entries)]
    table = pd.DataFrame({"first": first, "second": second, "outcome": outcome})
    return br.Pairs.from_frame(
        table, first="first", second="second", outcome="outcome", items=range(N_PLAYERS)
    )


def matches_model(data: br.Pairs) -> pm.Model:
    with pm.Model(coords=data.coords) as model:
        utility = pm.Normal("utility", dims="item")
        br.Davidson("y", utility, nu=pm.Gamma("nu", 2.0, 2.0), observed=data)
    return model


CASES: dict[str, tuple[str, Callable[[int], Any], Callable[[Any], pm.Model]]] = {
    "Plackett-Luce, full": ("ranking", lambda n: rankings(n, ties=False), model_of),
    "Plackett-Luce, blocks": ("ranking", lambda n: rankings(n, ties=True), model_of),
    "Davidson": ("pair", matches, matches_model),
}


def measure(name: str, n_entries: int) -> str:
    """Give a row of the table."""
    rows, make, build = CASES[name]
    data = make(n_entries)
    device = jax.devices()[0]
    density = br.jax.compile(
        build(make(10 * N_SLOTS)), rows, chunk=CHUNK.get(device.platform, 10_000)
    )

    begin = time.perf_counter()
    put = jax.block_until_ready(density.put({"y": data}))
    placed = time.perf_counter() - begin
    values = density.start()
    function = jax.jit(jax.value_and_grad(density.logp))
    if "callback" in function.lower(values, put).as_text():
        raise RuntimeError(f"The program of {name} calls back to the host.")
    begin = time.perf_counter()
    value, slope = jax.block_until_ready(function(values, put))
    first = time.perf_counter() - begin
    assert value.dtype == np.float64
    assert all(x.dtype == np.float64 and np.isfinite(x).all() for x in slope.values())
    least = np.inf
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        jax.block_until_ready(function(values, put))
        least = min(least, time.perf_counter() - begin)
    held = sum(x.nbytes for x in put.values())
    peak = (device.memory_stats() or {}).get("peak_bytes_in_use")
    return " | ".join(
        [
            name,
            f"{n_entries:,}",
            f"{placed:.1f} s",
            f"{first:.1f} s",
            f"{1e3 * least:.1f} ms",
            f"{1e9 * least / n_entries:.1f} ns",
            f"{held / 1e6:,.0f} MB",
            "" if peak is None else f"{peak / 1e6:,.0f} MB",
        ]
    )


def main(sizes: tuple[int, ...]) -> None:
    device = jax.devices()[0]
    print(
        f"{device.device_kind} ({device.platform}, one of {jax.device_count()}), "
        f"{platform.machine()} with {platform.system()}, jax {jax.__version__}, double precision\n"
    )
    print("| model | entries | put | first call | value and gradient | an entry | data | peak |")
    print("|---|---|---|---|---|---|---|---|")
    for name in CASES:
        for n_entries in sizes:
            print(f"| {measure(name, n_entries)} |", flush=True)


if __name__ == "__main__":
    main(tuple(int(float(x)) for x in sys.argv[1:]) or ENTRIES)
