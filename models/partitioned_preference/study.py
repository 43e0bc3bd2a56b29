"""The study of partitioned preferences: errors of simulated shares, and their posteriors.

``python -m models.partitioned_preference.study FOLDER`` writes ``errors.csv``, ``items.csv`` and
``posteriors.csv`` and three figures into the folder. The largest cell takes most of the time:
``--items 100,1000`` leaves it and its neighbours out.
"""

import argparse
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import arviz as az
import numpy as np
import pandas as pd
import pymc as pm
from numpy.typing import NDArray
from scipy.optimize import minimize

import bayesrank as br
from bayesrank.inference import climb
from bayesrank.inference import objective as log_density
from models.partitioned_preference.figures import along_figure, posterior_figure
from models.partitioned_preference.model import OBJECTIVES, OF_RANKINGS, build, pairs_above
from models.partitioned_preference.simulate import SimulatedPartitions, simulate_partitions
from models.shared.study_rows import write_rows, write_table

ITEMS, RANKINGS, SEEDS = (100, 1000, 10_000), (10, 100, 1000), (1, 2, 3, 4, 5)
MAX_ITERATIONS = 1000  # without a prior some maxima are at infinity
# Relative gain of the last step. Errors are settled long before: of 100 rankings, 1e-13 takes up to
# twice the steps and changes none by more than 0.03% (RankSVM, whose objective has edges, 1%); of
# 10, where a maximum is at infinity, by 3%.
TOLERANCE = 1e-9
STOPS = (1, 2, 3, 5, 8, 12, 20, 30)  # iterations after which RankNet is looked at
FOLDS = 5  # of rankings held out in turn, to choose among iterations without the truth
PRIOR_SCALE = 2.0
MOST_SAMPLED = 100  # rankings of which a posterior is drawn; time is linear in them


class Objective:
    """An objective compiled once, for collections of rankings of as many items."""

    def __init__(self, name: str, rankings: br.Rankings) -> None:
        """Compile it."""
        self.name = name
        self.model = build(rankings, objective=name, prior_scale=None)
        self.logp, self.start = log_density(self.model)

    def of(self, rankings: br.Rankings) -> None:
        """Make it that of other rankings."""
        if self.name in OF_RANKINGS:
            data: dict[str, Any] = {
                "item_idx": rankings.item,
                "ranks": rankings.ranks,
                "weight": rankings.weight,
            }
        else:
            data = dict(zip(("better", "counts"), pairs_above(rankings), strict=True))
        pm.set_data(data, model=self.model)

    def highest(self) -> NDArray[np.float64]:
        """Give the shares where it is highest."""
        return shares(_climb(self.logp, self.start.data))

    def steps(self) -> list[NDArray[np.float64]]:
        """Give the utilities at the start and after each of the first steps on the way there."""

        def loss(x: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            value, slope = self.logp(x)
            return -float(value), -slope

        passed = [self.start.data]
        minimize(
            loss,
            self.start.data,
            jac=True,
            method="L-BFGS-B",
            callback=lambda x: passed.append(x.copy()),
            options={"maxiter": max(STOPS), "ftol": 0, "gtol": 0},
        )
        return passed + passed[-1:] * (max(STOPS) + 1 - len(passed))


def shares(utility: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give the probabilities to be first."""
    worth = np.exp(utility - utility.max())
    return worth / worth.sum()


def exact_shares(rankings: br.Rankings, prior_scale: float | None) -> NDArray[np.float64]:
    """Maximise the exact likelihood or posterior."""
    logp, start = log_density(build(rankings, prior_scale=prior_scale))
    return shares(_climb(logp, start.data))


def _climb(logp: Any, start: NDArray[np.float64]) -> NDArray[np.float64]:
    return climb(logp, start, max_iterations=MAX_ITERATIONS, least_gain=TOLERANCE, tolerance=np.inf)


def errors(
    n_items: int, n_rankings: Iterable[int], seeds: Iterable[int] = SEEDS
) -> Iterator[dict[str, Any]]:
    """Give the mean squared error of the shares, one row per collection and objective."""
    compiled: dict[str, Objective] = {}
    for n in n_rankings:
        for seed in seeds:
            drawn = simulate_partitions(n_items, n, seed=seed)
            truth, begin = np.exp(drawn.utility), time.process_time()
            for name, found in _fits(drawn, compiled):
                yield {
                    "n_items": n_items,
                    "n_rankings": n,
                    "seed": seed,
                    "objective": name,
                    "error": float(np.mean((found - truth) ** 2)),
                    "seconds": time.process_time() - begin,
                }
                begin = time.process_time()


def _fits(
    drawn: SimulatedPartitions, compiled: dict[str, Objective]
) -> Iterator[tuple[str, NDArray[np.float64]]]:
    yield "equal shares", np.full(len(drawn.utility), 1 / len(drawn.utility))
    yield "PL-TopK", exact_shares(drawn.top, None)
    yield "exact", exact_shares(drawn.rankings, None)
    yield "exact, prior", exact_shares(drawn.rankings, PRIOR_SCALE)
    for name in OBJECTIVES[1:]:
        if name in compiled:
            compiled[name].of(drawn.rankings)
        else:
            compiled[name] = Objective(name, drawn.rankings)
        fit = compiled[name]
        yield name, fit.highest()
        if name == "RankNet" and len(drawn.rankings) == min(RANKINGS):
            passed = fit.steps()
            for stop in STOPS:
                yield f"RankNet, {stop} steps", shares(passed[stop])
            yield "RankNet, stopped", shares(passed[_best_step(fit, drawn.rankings)])


def _best_step(fit: Objective, rankings: br.Rankings) -> int:
    """Give the step after which rankings left out are told best."""
    told = np.zeros(max(STOPS) + 1)
    for train, test in rankings.split(FOLDS, seed=1):
        fit.of(train)
        passed = fit.steps()
        fit.of(test)
        told += [float(fit.logp(utility)[0]) for utility in passed]
    return int(told.argmax())


def posteriors(
    n_items: int,
    n_rankings: Iterable[int],
    seeds: Iterable[int] = SEEDS,
    *,
    draws: int = 1000,
    tune: int = 500,
    chains: int = 4,
) -> Iterator[dict[str, Any]]:
    """Give the posterior of each share and its true place in it, one row per item."""
    for n in n_rankings:
        for seed in seeds:
            drawn = simulate_partitions(n_items, n, seed=seed)
            truth, begin = np.exp(drawn.utility), time.process_time()
            with build(drawn.rankings, prior_scale=PRIOR_SCALE):
                trace = pm.sample(
                    draws=draws, tune=tune, chains=chains, cores=1, random_seed=seed,
                    progressbar=False,
                )  # fmt: skip
            seconds = time.process_time() - begin
            share, w = (
                trace["posterior"][name].values.reshape(-1, n_items)
                for name in ("share", "utility")
            )
            centred = w - w.mean(axis=1, keepdims=True)
            low, high = np.percentile(share, (5, 95), axis=0)
            columns = {
                "truth": truth,
                "mode": exact_shares(drawn.rankings, PRIOR_SCALE),
                "mean": share.mean(axis=0),
                "low": low,
                "high": high,
                # the share of draws below the truth
                "place of share": (share < truth).mean(axis=0),
                "place of utility": (centred < drawn.utility - drawn.utility.mean()).mean(axis=0),
                # of utilities it would be that of their common level, which rankings do not tell
                "rhat": az.rhat(trace)["share"].values,
            }
            for item in range(n_items):
                row = {name: float(values[item]) for name, values in columns.items()}
                where = {"n_items": n_items, "n_rankings": n, "seed": seed, "item": item}
                yield where | row | {"seconds": seconds}


def calibration(items: pd.DataFrame, percents: Sequence[int] = (50, 90)) -> pd.DataFrame:
    """Sum up `posteriors` by the number of rankings.

    Parameters
    ----------
    items : DataFrame
        What `posteriors` gives.
    percents : sequence of int
        Of central intervals.

    Returns
    -------
    DataFrame
        Mean squared errors of posterior mean and mode, how many intervals hold the truth, the worst
        R-hat, and CPU seconds of a collection.
    """
    rows = {}
    for n, group in items.groupby("n_rankings"):
        row = {
            f"error of {what}": ((group[what] - group["truth"]) ** 2).mean()
            for what in ("mean", "mode")
        }
        for what in ("share", "utility"):
            off = (group[f"place of {what}"] - 0.5).abs()
            row |= {f"{what} in {p}%": (off <= p / 200).mean() for p in percents}
        rows[n] = row | {"worst rhat": group["rhat"].max(), "seconds": group["seconds"].mean()}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("n_rankings").reset_index()


def main(arguments: list[str] | None = None) -> None:
    """Write tables and figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    for name, default in (("items", ITEMS), ("rankings", RANKINGS), ("seeds", SEEDS)):
        parser.add_argument(f"--{name}", type=_numbers, default=default)
    given = parser.parse_args(arguments)
    given.folder.mkdir(parents=True, exist_ok=True)
    if few := [n for n in given.rankings if n <= MOST_SAMPLED]:
        rows = posteriors(min(given.items), few, given.seeds)
        items = write_rows(rows, given.folder / "items.csv", show=False)
        write_table(calibration(items), given.folder / "posteriors.csv")
        posterior_figure(items).savefig(given.folder / "posteriors.png", dpi=150)
    table = write_rows(
        (row for n in given.items for row in errors(n, given.rankings, given.seeds)),
        given.folder / "errors.csv",
    )
    for along, across in (("n_rankings", "n_items"), ("n_items", "n_rankings")):
        figure = along_figure(table, along, across)
        figure.savefig(given.folder / f"errors_by_{along}.png", dpi=150)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in text.split(","))


if __name__ == "__main__":
    main()
