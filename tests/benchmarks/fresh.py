"""What needs a process of its own: first calls, and peaks of memory.

``python -m tests.benchmarks.fresh FUNCTION [ARGUMENT ...]`` prints a JSON object. Imports are
inside the functions, because importing is part of what is measured.

Memory is the resident set, numba's and NumPy's allocations alike: its peak during the measured
part, as Linux keeps it for the process, less its size before. `resource.getrusage` would not do:
its peak cannot be set back, and a process inherits that of the one which started it.
"""

import contextlib
import io
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

KEPT = Path("/proc/self")


def resident(field: str) -> int:
    """Bytes: `VmRSS` is the size now, `VmHWM` the largest since the peak was set back."""
    status = (KEPT / "status").read_text()
    line = next(line for line in status.splitlines() if line.startswith(field + ":"))
    return int(line.split()[1]) * 1024


def added(call: Callable[[], object]) -> int:
    """Bytes that a call needs at its peak, above what is resident before it."""
    (KEPT / "clear_refs").write_text("5")  # sets the peak back to the present size
    before = resident("VmRSS")
    call()
    return resident("VmHWM") - before


def first_map(path: str) -> dict[str, float]:
    """Import, build, compile and find the MAP; CPU seconds since the process began."""
    import numpy as np
    import pymc as pm

    import bayesrank as br

    start = time.process_time()
    item = np.load(path)
    ranks = np.broadcast_to(np.arange(1, item.shape[1] + 1), item.shape)
    rankings = br.Rankings(item, ranks, items=range(item.max() + 1))
    with pm.Model(coords=rankings.coords):
        br.PlackettLuce("y", pm.Normal("utility", 0, 1, dims="item"), observed=rankings)
        pm.find_MAP(progressbar=False, return_inferencedata=True, jitter=False)
    return {"cpu": time.process_time(), "imports": start}


def movielens_memory(folder: str) -> dict[str, float]:
    """Bytes that building and compiling the model, and then evaluations, add to the data."""
    import numpy as np
    import pymc as pm

    import bayesrank as br
    from tests.benchmarks.book import gradient_function
    from tests.benchmarks.peers import our_model

    # A toy of the same kind, so that the libraries and compilers are there before
    toy = our_model(br.Rankings.from_orderings([["a", {"b", "c"}, "d"]]), pm.Normal)
    gradient_function(toy)(np.zeros(4))

    rankings = br.load_movielens(folder)
    utility = np.random.default_rng(0).normal(size=rankings.n_items)

    def build_and_evaluate() -> None:
        function = gradient_function(our_model(rankings, pm.Normal))
        functions.append(function)
        function(utility)

    functions: list[Callable[[np.ndarray], object]] = []
    everything = added(build_and_evaluate)
    return {
        "everything": everything,
        "evaluation": added(lambda: [functions[0](utility) for _ in range(3)]),
    }


def growth_memory(n_rankings: str, ties: str) -> dict[str, float]:
    """Bytes that building rankings, model and function of one size adds, and an evaluation."""
    import numpy as np
    import pymc as pm

    import bayesrank as br
    from tests.benchmarks.book import gradient_function
    from tests.benchmarks.peers import our_model, random_rankings

    def build_and_evaluate(item: np.ndarray, ranks: np.ndarray) -> None:
        rankings = br.Rankings(item, ranks, items=range(5_000))
        function = gradient_function(our_model(rankings, pm.Normal))
        function(np.zeros(rankings.n_items))

    build_and_evaluate(*random_rankings(100, ties=ties == "ties"))
    data = random_rankings(int(n_rankings), ties=ties == "ties")
    return {"bytes": added(lambda: build_and_evaluate(*data))}


def from_files(kind: str, path: str, toy: str) -> dict[str, float]:
    """Read a table of Parquet and find the mode of its model: CPU seconds, and peaks of memory.

    A small table of the same kind comes first, and compiles; "least" is what it takes when that is
    done. "held" are the bytes of the arrays that were read, "reading" the peak while they were,
    above what was there; "peak" is all of the process.
    """
    import pandas as pd

    from bayesrank.data.frozen import contents
    from bayesrank.inference import climb, objective
    from models.bpr.learn_bpr import learn_bpr
    from tests.benchmarks.files import model_of, read

    def to_mode(path: str) -> dict[str, float]:
        found: dict[str, float] = {}
        data: list[Any] = []
        spent = [time.process_time()]
        found["reading"] = added(lambda: data.append(read(kind, path)))
        spent.append(time.process_time())
        (table,) = data
        held = [x for x in contents(vars(table)) if isinstance(x, np.ndarray | pd.Index)]
        found["held"] = sum(x.nbytes for x in held)
        if kind == "clicks":
            spent.append(time.process_time())
            learn_bpr(table, n_factors=32, n_epochs=1)
        else:
            logp, start = objective(model_of(kind, table), random_seed=1)
            spent.append(time.process_time())
            climb(logp, start.data, tolerance=np.inf)
        spent.append(time.process_time())
        steps = dict(zip(("read", "build", "mode"), np.diff(spent).tolist(), strict=True))
        return found | steps | {"peak": resident("VmHWM")}

    to_mode(toy)
    least = to_mode(toy)
    return to_mode(path) | {"least": least["read"] + least["build"] + least["mode"]}


def rank_summary_memory(simultaneous: str) -> dict[str, float]:
    """Bytes that the summary of 4,000 draws of 2,000 items adds to the draws."""
    import numpy as np
    import xarray as xr

    import bayesrank as br

    def summarise(draws: np.ndarray) -> None:
        u = xr.DataArray(draws[None], dims=("chain", "draw", "item"))
        br.rank_summary(u, simultaneous=simultaneous == "1")

    summarise(np.zeros((5, 4)))
    draws = np.random.default_rng(0).normal(size=(4_000, 2_000))
    return {"bytes": added(lambda: summarise(draws))}


def now() -> NDArray[np.float64]:
    """CPU and wall seconds since the process began."""
    ticks = (KEPT / "stat").read_text().rpartition(")")[2].split()[19]
    began = int(ticks) / os.sysconf("SC_CLK_TCK")
    return np.array([time.process_time(), time.clock_gettime(time.CLOCK_BOOTTIME) - began])


# Of a command: what its stages call, by module and name
STAGES = {
    "reading": ("bayesrank.cli.read_matches:read_matches",
                "bayesrank.cli.read_rankings:read_rankings", "bayesrank.data:load_nascar"),
    "building": ("bayesrank.analysis.leaderboard:leaderboard_model",
                 "bayesrank.priors:utility_prior",
                 "bayesrank.distributions:PlackettLuce"),
    "compiling": (
        "bayesrank.inference:compile_density",
        "bayesrank.inference.sampling.nuts:nutpie_model",
    ),
    "NUTS": ("nutpie:sample", "bayesrank.inference.sampling.nuts:_until"),
    "quick": ("bayesrank.inference:fit_inla",),
    "predictions": ("bayesrank.analysis.fitting:predict",),
    "LOO": ("bayesrank.results.evaluation.loo:loo_of",),
    "figures": ("bayesrank.reporting.page.files:figure_png", "bayesrank.plots:plot_ranks",
                "bayesrank.plots:plot_places", "bayesrank.plots:plot_wins",
                "bayesrank.plots:plot_adherence", "bayesrank.plots:plot_ranking_checks"),
}  # fmt: skip


def command_stages(*arguments: str) -> dict[str, float]:
    """Run a command of the package; CPU seconds of its stages, and wall seconds of "stage wall"."""
    import importlib

    import bayesrank.cli.commands
    import bayesrank.inference
    import bayesrank.plots
    import bayesrank.results

    spent = {"imports": now()}
    running: list[str] = []

    def timed(stage: str, call: Callable[..., object]) -> Callable[..., object]:
        def wrapper(*args: object, **kwargs: object) -> object:
            start = now()
            running.append(stage)
            try:
                return call(*args, **kwargs)
            finally:
                running.pop()
                taken = now() - start
                spent[stage] = spent.get(stage, 0.0) + taken
                for outer in running[-1:]:  # what is inside is not its own
                    spent[outer] = spent.get(outer, 0.0) - taken

        return wrapper

    for stage, places in STAGES.items():
        for place in places:
            module, name = place.split(":")
            home = importlib.import_module(module)
            setattr(home, name, timed(stage, getattr(home, name)))
    with contextlib.redirect_stdout(io.StringIO()):
        bayesrank.cli.commands.main([*arguments], standalone_mode=False)
    total = now()
    spent["rest"] = total - sum(spent.values())
    spent["total"] = total
    return {
        f"{stage} {clock}".strip(): float(x)
        for stage, both in spent.items()
        for clock, x in zip(("", "wall"), both, strict=True)
    }


def compiled_functions(*arguments: str) -> dict[str, float]:
    """Run a command of the package; CPU seconds of numba for each function, and of PyTensor's C.

    Functions that the compilation of another one needs count for themselves.
    """
    from numba.core import event
    from pytensor.link.c.cmodule import GCC_compiler

    import bayesrank.cli.commands

    spent: dict[str, float] = {}
    running: list[tuple[str, float]] = []

    def begin(name: str) -> None:
        running.append((name, time.process_time()))

    def end() -> None:
        name, start = running.pop()
        taken = time.process_time() - start
        spent[name] = spent.get(name, 0.0) + taken
        for outer, _ in running[-1:]:  # what is inside is not its own
            spent[outer] = spent.get(outer, 0.0) - taken

    class Compiling(event.Listener):
        def on_start(self, begun: event.Event) -> None:
            function = begun.data["dispatcher"].py_func
            begin(f"{function.__module__}.{function.__qualname__}")

        def on_end(self, _: event.Event) -> None:
            end()

    def by_compiler(*args: Any, **kwargs: Any) -> Any:
        before = os.times()
        try:
            return compile_str(*args, **kwargs)
        finally:
            after = os.times()
            taken = after.children_user + after.children_system
            taken -= before.children_user + before.children_system
            spent["C compiler"] = spent.get("C compiler", 0.0) + taken

    compile_str = GCC_compiler.compile_str
    GCC_compiler.compile_str = staticmethod(by_compiler)
    with (
        event.install_listener("numba:compile", Compiling()),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        bayesrank.cli.commands.main([*arguments], standalone_mode=False)
    return spent


def dated_matches(n: int, n_items: int, n_days: int, *, ties: bool = True) -> Any:
    """Make up matches of items that walk at random: a table of text, and utilities on the last day.

    Davidson's model with nu = 0.5, the first having an advantage of 0.2; walks of 0.03 a day.
    """
    import pandas as pd

    rng = np.random.default_rng(1)
    day = np.sort(rng.integers(n_days, size=n))
    first = rng.integers(n_items, size=n)
    second = (first + rng.integers(1, n_items, size=n)) % n_items
    utility = rng.normal(size=n_items) + 0.03 * rng.normal(size=(n_days, n_items)).cumsum(axis=0)
    lead = utility[day, first] - utility[day, second] + 0.2
    log_p = np.stack([lead / 2, -lead / 2, np.full(n, np.log(0.5) if ties else -np.inf)], axis=1)
    share = np.exp(log_p) / np.exp(log_p).sum(axis=1, keepdims=True)
    outcome = (rng.random(n)[:, None] > share.cumsum(axis=1)).sum(axis=1)
    days = (pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(n_days), "D")).strftime("%F")
    names = np.array([f"item {i}" for i in range(n_items)])
    table = {
        "x": names[first],
        "y": names[second],
        "won": np.array(["first", "second", "tie"])[outcome],
        "day": days.to_numpy()[day],
    }
    return pd.DataFrame(table), pd.Series(utility[-1], names)


def fit_dynamic(*sizes: str) -> dict[str, float]:
    """Find today's ranks of matches with dates, from the table on: seconds of the stages, memory.

    How far the truth is off, too: root mean square, in standard deviations.
    """
    import bayesrank as br

    table, truth = dated_matches(*map(int, sizes))
    spent, found = [time.process_time()], {}
    start = time.perf_counter()
    (KEPT / "clear_refs").write_text("5")
    pairs = br.Pairs.from_frame(table, first="x", second="y", outcome="won", by="day")
    spent.append(time.process_time())
    fit = br.fit_dynamic(pairs, time="day", random_seed=1)
    spent.append(time.process_time())
    draws = fit.draws(random_seed=1)
    spent.append(time.process_time())
    br.rank_summary(draws)
    spent.append(time.process_time())
    found["seconds"] = time.perf_counter() - start
    found |= dict(zip(("read", "fit", "draws", "ranks"), np.diff(spent).tolist(), strict=True))
    utility = draws["posterior"]["utility"]
    mean, sd = (
        x.to_series() for x in (utility.mean(["chain", "draw"]), utility.std(["chain", "draw"]))
    )
    off = (mean - (truth - truth.mean())[mean.index]) / sd
    found["off"] = float(np.sqrt((off**2).mean()))
    return found | {"cpu": spent[-1] - spent[0], "peak": float(resident("VmHWM"))}


def graded(n_films: int, n_people: int, n_ratings: int) -> Any:
    """Make up ratings in ten grades: a table of people, films and grades.

    Numbers of ratings have heavy tails: a Pareto distribution of the films' popularity, and a
    log-normal one of the people's activity, with at least 20 ratings each.
    """
    import pandas as pd

    rng = np.random.default_rng(0)
    popular = np.log(rng.pareto(1.0, n_films) + 0.3)
    active = rng.lognormal(0.0, 1.1, n_people)
    spare = n_ratings - 20 * n_people
    size = 20 + np.floor(spare * active / active.sum()).astype(int)
    size[: n_ratings - size.sum()] += 1  # what rounding left
    utility = rng.normal(size=n_films)
    person = np.repeat(np.arange(n_people), size)
    film = np.concatenate([np.argsort(-popular - rng.gumbel(size=n_films))[:n] for n in size])
    noisy = utility[film] + rng.gumbel(size=n_ratings) + rng.normal(size=n_people)[person]
    grade = np.clip(np.round(1.6 * noisy + 6.5), 1, 10)
    return pd.DataFrame({"person": person, "film": film, "grade": grade})


def many_items(function: str, *sizes: str) -> dict[str, float]:
    """Fit many items by a quick answer: seconds, and the peak memory of the process.

    "mode" are the seconds of the mode of matches alone.
    """
    import pandas as pd

    import bayesrank as br
    from bayesrank.inference import fit_matches

    n, *more = map(int, sizes)

    def rankings(*sizes: int) -> br.Rankings:
        columns = {"ranker": "person", "item": "film", "rating": "grade"}
        return br.Rankings.from_ratings(graded(*sizes), items=range(sizes[0]), **columns)

    def fit(data: Any) -> None:
        if function == "matches":
            br.fit_pairs(data, random_seed=1)
        elif function == "fit_rankings":
            br.fit_rankings(data, random_seed=1)
        else:  # a quarter of the draws, as `br.fit` takes first
            br.fit_inla(draws=250, random_seed=1, model=br.ranking_model(data))

    if function == "matches":
        rng = np.random.default_rng(0)
        first = rng.integers(n, size=3 * n)
        second = (first + rng.integers(1, n, size=3 * n)) % n
        utility = rng.normal(size=n)
        wins = rng.random(3 * n) < 1 / (1 + np.exp(utility[second] - utility[first]))
        won = np.where(wins, "first", "second")
        table = pd.DataFrame({"x": first, "y": second, "won": won})
        data = br.Pairs.from_frame(table, first="x", second="y", outcome="won", items=range(n))
        spent = [time.process_time()]
        fit_matches(data)
        spent.append(time.process_time())
    else:
        fit(rankings(2_100, 30, 1_000))  # compiles
        data = rankings(n, *more)
        spent = [time.process_time()] * 2
    start = time.perf_counter()
    fit(data)
    spent.append(time.process_time())
    mode, cpu = np.diff(spent).tolist()
    wall = time.perf_counter() - start
    return {"mode": mode, "cpu": cpu, "seconds": wall, "peak": float(resident("VmHWM"))}


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]](*sys.argv[2:])))
