"""Measuring and writing down: interleaved rounds, fresh processes, demands and table rows.

Times are CPU seconds (`time.process_time`, all threads), with wall seconds beside them: CPU
seconds are what a busy machine disturbs least. Contenders are timed in one process, in turn.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pymc as pm

ROOT = Path(__file__).parents[2]
LEAST = 0.02  # seconds that one measurement takes at least, by repeating short calls


@dataclass(frozen=True)
class Seconds:
    """Time of one call."""

    cpu: float
    wall: float

    def per(self, n: int) -> "Seconds":
        """Time of one of `n` equal parts."""
        return Seconds(self.cpu / n, self.wall / n)


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    what: str
    measured: str
    wall: str
    peer: str
    ratio: str
    demand: str
    met: bool


def seconds(call: Callable[[], object], number: int = 1) -> Seconds:
    """Time a call, averaged over `number` calls in a row."""
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(number):
        call()
    return Seconds((time.process_time() - cpu) / number, (time.perf_counter() - wall) / number)


def time_text(s: float) -> str:
    """Write seconds with three digits in a readable unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if s >= size:
            return f"{s / size:.3g} {unit}"
    return f"{s / 1e-6:.3g} µs"


class Book:
    """Measures, checks demands, and writes rows of the table and `benchmark.extra_info`."""

    def __init__(self, benchmark: Any, rows: list[Row]) -> None:
        self.benchmark = benchmark
        self.rows = rows

    def race(
        self,
        ours: Callable[[], object],
        rounds: int = 9,
        pick: Callable[[Iterable[float]], float] = median,
        **peers: Callable[[], object],
    ) -> dict[str, Seconds]:
        """Time contenders in turn; medians (or what `pick` says) by name, ours as "ours".

        Ratios compare medians. A budget takes the least, `pick=min`: what else runs on the
        machine can only add to a time.
        """
        contenders = {"ours": ours, **peers}
        for call in contenders.values():
            call()  # compiles, fills caches
        numbers = {
            name: max(1, round(LEAST / max(seconds(call).wall, 1e-7)))
            for name, call in contenders.items()
        }
        times: dict[str, list[Seconds]] = {name: [] for name in contenders}

        def time_one(name: str) -> None:
            times[name].append(seconds(contenders[name], numbers[name]))

        def time_peers() -> None:
            for name in peers:
                time_one(name)

        self.benchmark.pedantic(time_one, args=("ours",), setup=time_peers, rounds=rounds)
        return {
            name: Seconds(pick(t.cpu for t in rows), pick(t.wall for t in rows))
            for name, rows in times.items()
        }

    def once(self, call: Callable[[], object]) -> Seconds:
        """Time a single call."""
        return self.benchmark.pedantic(seconds, args=(call,), rounds=1)

    def cost(
        self,
        what: str,
        call: Callable[[], object],
        *,
        rounds: int = 9,
        at_most: float = np.inf,
        peer: str = "",
    ) -> Seconds:
        """Write the least time of several calls, or of one call, and demand it."""
        least = self.race(call, rounds, min)["ours"] if rounds > 1 else self.once(call)
        self.budget(what, least.cpu, time_text, wall=least.wall, at_most=at_most, peer=peer)
        return least

    def beat(
        self,
        what: str,
        ours: Callable[[], object],
        name: str,
        peer: Callable[[], object],
        *,
        rounds: int = 9,
        pick: Callable[[Iterable[float]], float] = median,
        at_least: float = 0.0,
    ) -> dict[str, Seconds]:
        """Time two contenders in turn, write how many times faster ours is, and demand it."""
        times = self.race(ours, rounds, pick, peer=peer)
        self.ratio(what, times["ours"], times["peer"], name, at_least=at_least)
        return times

    def ratio(
        self, what: str, ours: Seconds, peer: Seconds, name: str, *, at_least: float = 0.0
    ) -> None:
        """Write how many times faster than a peer, and demand it."""
        times = peer.cpu / ours.cpu
        self._write(
            what,
            f"{time_text(ours.cpu)}",
            time_text(ours.wall),
            f"{name}: {time_text(peer.cpu)}",
            f"{times:.3g}×",
            f"ratio ≥ {at_least:.3g}×" if at_least else "",
            times >= at_least,
        )
        assert times >= at_least, (
            f"{what}: {time_text(ours.cpu)} against {time_text(peer.cpu)} of {name} is "
            f"{times:.3g} times as fast; at least {at_least:.3g} is demanded."
        )

    def budget(
        self,
        what: str,
        value: float,
        unit: Callable[[float], str],
        *,
        wall: float | None = None,
        at_most: float = np.inf,
        at_least: float = -np.inf,
        peer: str = "",
        ratio: float | None = None,
    ) -> None:
        """Write an absolute figure, and demand it."""
        met = at_least <= value <= at_most
        bounds = [f"≤ {unit(at_most)}"] if at_most < np.inf else []
        bounds += [f"≥ {unit(at_least)}"] if at_least > -np.inf else []
        demand = "budget " + " and ".join(bounds) if bounds else ""
        self._write(
            what,
            unit(value),
            "" if wall is None else unit(wall),
            peer,
            "" if ratio is None else f"{ratio:.3g}×",
            demand,
            met,
        )
        assert met, f"{what}: {unit(value)} misses the {demand} (two Zen 4 cores)."

    def exponent(
        self,
        what: str,
        sizes: Sequence[int],
        figures: Sequence[float],
        *,
        unit: Callable[[float], str] = time_text,
        at_least: float = -np.inf,
        at_most: float = np.inf,
    ) -> None:
        """Write the power of the size that fits the figures best, and demand it."""
        power = float(np.polyfit(np.log(sizes), np.log(figures), 1)[0])
        bounds = {"at_least": at_least, "at_most": at_most}
        peer = ", ".join(map(unit, figures))
        self.budget(f"{what}: exponent", power, "{:.2f}".format, peer=peer, **bounds)

    def note(self, what: str, cpu: str, wall: str) -> None:
        """Write a part of what is measured, of which nothing is demanded."""
        self._write(what, cpu, wall, "", "", "", True)

    def _write(self, what: str, *cells: str | bool) -> None:
        row = Row(what, *cells)
        self.rows.append(row)
        self.benchmark.extra_info[what] = {k: v for k, v in vars(row).items() if k != "what" and v}


def megabytes(n: float) -> str:
    """Write a number of bytes."""
    return f"{n / 1e6:.0f} MB"


def rate(x: float) -> str:
    """Write effective draws per second."""
    return f"{x:,.0f} /s"


def plain(x: float) -> str:
    """Write a bare number."""
    return f"{x:.2g}"


def gradient_function(model: pm.Model) -> Callable[[np.ndarray], object]:
    """Compile the value and gradient of a model as its samplers do."""
    function = model.logp_dlogp_function(ravel_inputs=True)
    function.set_extra_values({})
    return function


def run_fresh(
    environment: dict[str, str],
    *arguments: str,
    checkout: Path | None = None,
    timeout: float | None = None,
) -> dict[str, float]:
    """Run a function of `fresh.py` in a new process; its figures, and the wall seconds of all.

    With another checkout, the package is imported from there.
    """
    start = time.perf_counter()
    command = ["-m", "tests.benchmarks.fresh"]
    if checkout is not None:
        command = [str(Path(__file__).with_name("fresh.py"))]
        environment = environment | {"PYTHONPATH": str(checkout)}
    done = subprocess.run(
        [sys.executable, *command, *arguments],
        cwd=ROOT if checkout is None else checkout,
        env=os.environ | environment,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        timeout=timeout,
    )
    return json.loads(done.stdout.splitlines()[-1]) | {"wall": time.perf_counter() - start}
