"""The figures of `models.partitioned_preference`: errors of simulated shares, and their intervals.

``python -m models.partitioned_preference_study FOLDER`` writes ``errors.csv``, ``posteriors.csv``
and the two figures of the paper into the folder. The largest cells take most of the time:
``--items 100,1000`` leaves them out.
"""

import argparse
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pymc as pm
from numpy.typing import NDArray

import bayesrank as br
from bayesrank.data.simulate_partitions import SimulatedPartitions, simulate_partitions
from bayesrank.inference.modes import climb
from bayesrank.inference.modes import objective as log_density
from models.partitioned_preference import OBJECTIVES, OF_PAIRS, OF_RANKINGS, build, pairs_above

ITEMS, RANKINGS, SEEDS = (100, 1000, 10_000), (10, 100, 1000), (1, 2, 3, 4, 5)
MAX_ITERATIONS = 1000  # without a prior some maxima are at infinity
STOPS = (1, 2, 3, 5, 8, 12, 20, 30)  # iterations after which RankNet is looked at
MOST_PAIRS = 3e7  # of items above others; more would fill the memory


class Objective:
    """An objective compiled once, for collections of rankings of as many items."""

    def __init__(self, name: str, rankings: br.Rankings, prior_scale: float | None = None) -> None:
        """Compile it."""
        self.name = name
        self.model = build(rankings, objective=name, prior_scale=prior_scale)
        self.logp, self.start = log_density(self.model)

    def shares(self, rankings: br.Rankings, max_iterations: int) -> NDArray[np.float64]:
        """Give the shares where the objective of these rankings is highest."""
        if self.name in OF_RANKINGS:
            data: dict[str, Any] = {
                "item_idx": rankings.item,
                "ranks": rankings.ranks,
                "weight": rankings.weight,
            }
        else:
            data = dict(zip(("better", "counts"), pairs_above(rankings), strict=True))
        pm.set_data(data, model=self.model)
        return shares(
            climb(self.logp, self.start.data, max_iterations=max_iterations, tolerance=1e-13)
        )


def shares(utility: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give the probabilities to be first."""
    worth = np.exp(utility - utility.max())
    return worth / worth.sum()


def exact_shares(
    rankings: br.Rankings, prior_scale: float | None, max_iterations: int
) -> NDArray[np.float64]:
    """Maximise the exact likelihood or posterior."""
    logp, start = log_density(build(rankings, prior_scale=prior_scale))
    return shares(climb(logp, start.data, max_iterations=max_iterations, tolerance=1e-13))


def errors(
    n_items: int,
    n_rankings: Iterable[int],
    seeds: Iterable[int] = SEEDS,
    max_iterations: int = MAX_ITERATIONS,
) -> Iterator[dict[str, Any]]:
    """Give the mean squared error of the shares, one row per collection and objective."""
    compiled: dict[str, Objective] = {}
    for n in n_rankings:
        for seed in seeds:
            drawn = simulate_partitions(n_items, n, seed=seed)
            truth = np.exp(drawn.utility)
            for name, found, seconds in _fits(drawn, compiled, max_iterations):
                yield {
                    "n_items": n_items,
                    "n_rankings": n,
                    "seed": seed,
                    "objective": name,
                    "error": float(np.mean((found - truth) ** 2)),
                    "seconds": seconds,
                }


def _fits(
    drawn: SimulatedPartitions, compiled: dict[str, Objective], max_iterations: int
) -> Iterator[tuple[str, NDArray[np.float64], float]]:
    clock = time.process_time
    for name, rankings, scale in (
        ("PL-TopK", drawn.top, None),
        ("exact", drawn.rankings, None),
        ("exact, prior", drawn.rankings, 2.0),
    ):
        begin = clock()
        yield name, exact_shares(rankings, scale, max_iterations), clock() - begin
    for name in OBJECTIVES[1:]:
        if name in OF_PAIRS:
            last = drawn.rankings.ranks < drawn.rankings.n_blocks
            if len(np.unique(drawn.rankings.item[last])) * drawn.rankings.n_items > MOST_PAIRS:
                continue
        if name not in compiled:
            compiled[name] = Objective(name, drawn.rankings)
        fit = compiled[name]
        begin = clock()
        yield name, fit.shares(drawn.rankings, max_iterations), clock() - begin
        if name == "RankNet" and len(drawn.rankings) == 10:
            for stop in STOPS:
                yield f"RankNet, {stop} steps", fit.shares(drawn.rankings, stop), 0.0


def posteriors(
    n_items: int,
    n_rankings: Iterable[int],
    seeds: Iterable[int] = SEEDS,
    *,
    prior_scale: float = 2.0,
    draws: int = 500,
    tune: int = 500,
) -> Iterator[dict[str, Any]]:
    """Give the error of the posterior mean of the shares, and how many intervals hold the truth."""
    for n in n_rankings:
        for seed in seeds:
            drawn = simulate_partitions(n_items, n, seed=seed)
            truth, begin = np.exp(drawn.utility), time.process_time()
            with build(drawn.rankings, prior_scale=prior_scale):
                trace = pm.sample(
                    draws=draws, tune=tune, chains=2, cores=1, random_seed=seed, progressbar=False
                )
            posterior = trace["posterior"]
            share = posterior["share"].values.reshape(-1, n_items)
            row: dict[str, Any] = {
                "n_items": n_items,
                "n_rankings": n,
                "seed": seed,
                "error": float(np.mean((share.mean(axis=0) - truth) ** 2)),
                "seconds": time.process_time() - begin,
            }
            w = posterior["utility"].values.reshape(-1, n_items)
            centred = w - w.mean(axis=1, keepdims=True), drawn.utility - drawn.utility.mean()
            for what, (draws_of, true) in {"share": (share, truth), "utility": centred}.items():
                for percent in (50, 90):
                    edges = [50 - percent / 2, 50 + percent / 2]
                    low, high = np.percentile(draws_of, edges, axis=0)
                    row[f"{what} in {percent}%"] = float(np.mean((low <= true) & (true <= high)))
            yield row


def write(rows: Iterable[dict[str, Any]], path: Path) -> pd.DataFrame:
    """Write rows as they come, so that a run that ends early leaves what it found."""
    listed = []
    for row in rows:
        listed.append(row)
        print(row, flush=True)
        pd.DataFrame(listed).to_csv(path.with_suffix(".part"), index=False)
        path.with_suffix(".part").replace(path)
    return pd.DataFrame(listed)


def figure(table: pd.DataFrame, along: str, across: str) -> Any:
    """Draw the errors along the number of rankings or of items, a panel for each of the other.

    Parameters
    ----------
    table : DataFrame
        What `errors` gives.
    along, across : {"n_items", "n_rankings"}
        What is on the axis, and what has panels.

    Returns
    -------
    Figure
    """
    panels = sorted(table[across].unique())
    size, words = (4 * len(panels), 3.6), {"n_items": "items", "n_rankings": "rankings"}
    fig, axes = plt.subplots(1, len(panels), figsize=size, squeeze=False, layout="constrained")
    table = table[~table["objective"].str.contains("steps")]
    for ax, panel in zip(axes[0], panels, strict=True):
        for name, rows in table[table[across] == panel].groupby("objective", sort=False):
            logs = np.log10(rows["error"]).groupby(rows[along]).mean()
            ax.plot(logs.index, 10**logs, marker="o", markersize=4, label=name)
        ax.set(
            xscale="log",
            yscale="log",
            xlabel=f"number of {words[along]}",
            title=f"{panel:,} {words[across]}",
        )
    axes[0, 0].set_ylabel("mean squared error of the shares")
    handles, names = axes[0, 0].get_legend_handles_labels()
    fig.legend(handles, names, loc="outside right center", fontsize="small", frameon=False)
    return fig


def main(arguments: list[str] | None = None) -> None:
    """Write tables and figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    for name, default in (("items", ITEMS), ("rankings", RANKINGS), ("seeds", SEEDS)):
        parser.add_argument(f"--{name}", type=_numbers, default=default)
    given = parser.parse_args(arguments)
    given.folder.mkdir(parents=True, exist_ok=True)
    table = write(
        (row for n in given.items for row in errors(n, given.rankings, given.seeds)),
        given.folder / "errors.csv",
    )
    for along, across in (("n_rankings", "n_items"), ("n_items", "n_rankings")):
        figure(table, along, across).savefig(given.folder / f"errors_by_{along}.png")
    write(posteriors(100, given.rankings, given.seeds), given.folder / "posteriors.csv")


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in text.split(","))


if __name__ == "__main__":
    main()
