"""Study partitioned preferences: errors of simulated shares, posteriors, and costs.

Run ``python -m models.partitioned_preference.study``. It writes the tables into ``RESULTS.md``, and
the figures. The largest cell, 1,000 rankings of 10,000 items, takes most of the time. It has one
seed; the other cells have five.

References
----------
Ma et al., Learning-to-rank with partitioned preference: fast estimation for the Plackett-Luce
model, AISTATS 2021, Figures 1 and 2. The paper does not print the values of its figures, so our
tables have no published values.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
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
from models.partitioned_preference.figures import along_figure, cost_figure, posterior_figure
from models.partitioned_preference.model import OBJECTIVES, OF_RANKINGS, build, pairs_above
from models.partitioned_preference.simulate import SimulatedPartitions, simulate_partitions
from models.shared.results import Run, Table, run

ITEMS, RANKINGS, SEEDS = (100, 1000, 10_000), (10, 100, 1000), (1, 2, 3, 4, 5)
QUICK_ITEMS, QUICK_RANKINGS, QUICK_SEEDS = (30,), (10, 100), (1, 2)  # for a run of reduced size
LARGEST_SEEDS = (1,)  # for the largest cell
MAX_ITERATIONS = 1000  # without a prior some maxima are at infinity
# Relative gain of the last step. The errors converge long before. With 1e-13, fits take up to twice
# the steps. With 100 rankings, this changes errors by at most 0.03% (RankSVM, whose objective has
# kinks: 1%); with 10 rankings, where some maxima are at infinity, by at most 3%.
TOLERANCE = 1e-9
STOPS = (1, 2, 3, 5, 8, 12, 20, 30)  # iterations after which RankNet is evaluated
FOLDS = 5  # of rankings held out in turn, to choose among iterations without the truth
PRIOR_SCALE = 2.0
MOST_SAMPLED = 100  # most rankings for a posterior; its time is linear in their number
COST_ITEMS = (100, 300, 1000, 3000, 10_000)
COST_RANKINGS = 20  # in a step


class Objective:
    """An objective compiled once, for collections of rankings with the same number of items."""

    def __init__(self, name: str, rankings: br.Rankings) -> None:
        """Compile it."""
        self.name = name
        self.model = build(rankings, objective=name, prior_scale=None)
        self.logp, self.start = log_density(self.model)

    def of(self, rankings: br.Rankings) -> None:
        """Replace the rankings."""
        if self.name in OF_RANKINGS:
            data: dict[str, Any] = {
                "item_idx": rankings.item,
                "ranks": rankings.ranks,
                "weight": rankings.evidence,
            }
        else:
            data = dict(zip(("better", "counts"), pairs_above(rankings), strict=True))
        pm.set_data(data, model=self.model)

    def highest(self) -> NDArray[np.float64]:
        """Return the shares at the maximum."""
        return shares(_climb(self.logp, self.start.data))

    def steps(self) -> list[NDArray[np.float64]]:
        """Return the utilities at the start and after each of the first steps."""

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
    """Return the probabilities of the first place."""
    worth = np.exp(utility - utility.max())
    return worth / worth.sum()


def exact_shares(rankings: br.Rankings, prior_scale: float | None) -> NDArray[np.float64]:
    """Maximise the exact likelihood or posterior."""
    logp, start = log_density(build(rankings, prior_scale=prior_scale))
    return shares(_climb(logp, start.data))


def _climb(logp: Any, start: NDArray[np.float64]) -> NDArray[np.float64]:
    return climb(logp, start, max_iterations=MAX_ITERATIONS, least_gain=TOLERANCE, tolerance=np.inf)


def errors(
    n_items: int,
    n_rankings: Iterable[int],
    seeds: Iterable[int] = SEEDS,
    *,
    compiled: dict[str, Objective] | None = None,
) -> Iterator[dict[str, Any]]:
    """Compute the mean squared error of the shares, one row per collection and objective.

    `compiled` stores compiled objectives for later calls with the same number of items.
    """
    compiled = {} if compiled is None else compiled
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
                yield f"RankNet, {stop} step{'s' * (stop > 1)}", shares(passed[stop])
            yield "RankNet, stopped", shares(passed[_best_step(fit, drawn.rankings)])


def _best_step(fit: Objective, rankings: br.Rankings) -> int:
    """Return the step that predicts held-out rankings best."""
    held_out = np.zeros(max(STOPS) + 1)
    for train, test in rankings.split(FOLDS, random_seed=1):
        fit.of(train)
        passed = fit.steps()
        fit.of(test)
        held_out += [float(fit.logp(utility)[0]) for utility in passed]
    return int(held_out.argmax())


def posteriors(
    n_items: int,
    n_rankings: Iterable[int],
    seeds: Iterable[int] = SEEDS,
    *,
    draws: int = 1000,
    tune: int = 500,
    chains: int = 4,
) -> Iterator[dict[str, Any]]:
    """Return the posterior of each share, and the place of the truth in it, one row per item."""
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
                # R-hat of utilities would reflect their mean, which rankings do not determine
                "rhat": az.rhat(trace)["share"].values,
            }
            for item in range(n_items):
                row = {name: float(values[item]) for name, values in columns.items()}
                where = {"n_items": n_items, "n_rankings": n, "seed": seed, "item": item}
                yield where | row | {"seconds": seconds}


def calibration(items: pd.DataFrame, percents: Sequence[int] = (50, 90)) -> pd.DataFrame:
    """Summarise `posteriors` by the number of rankings.

    Parameters
    ----------
    items : DataFrame
        Result of `posteriors`.
    percents : sequence of int
        Percentages of central intervals.

    Returns
    -------
    DataFrame
        Mean squared errors of posterior mean and mode, how many intervals contain the truth, the
        worst R-hat, and CPU seconds of a collection.
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


def cost(n_items: int, name: str, *, repeats: int = 5) -> float:
    """Measure CPU milliseconds of a value and gradient: the minimum over repeats."""
    rankings = simulate_partitions(n_items, COST_RANKINGS, seed=1).rankings
    logp, start = log_density(build(rankings, objective=name, prior_scale=None))
    logp(start.data)  # compile before timing
    least = np.inf
    for _ in range(repeats):
        begin, n = time.process_time(), 0
        while (spent := time.process_time() - begin) < 0.1:
            logp(start.data)
            n += 1
        least = min(least, spent / n)
    return 1e3 * least


# ---------------------------------------------------------------------------------------------
# Tables
# ---------------------------------------------------------------------------------------------


@lru_cache
def _errors(how: Run) -> pd.DataFrame:
    """Compute all rows of `errors`, one combination of items and rankings at a time."""
    listed = []
    for n_items in QUICK_ITEMS if how.quick else ITEMS:
        compiled: dict[str, Objective] = {}
        for n in QUICK_RANKINGS if how.quick else RANKINGS:
            largest = n_items == max(ITEMS) and n == max(RANKINGS)
            seeds = QUICK_SEEDS if how.quick else LARGEST_SEEDS if largest else SEEDS
            listed += how.once(f"{n_items} {n}", partial(_rows, n_items, n, seeds, compiled))
    return pd.DataFrame(listed)


def _rows(
    n_items: int, n: int, seeds: Sequence[int], compiled: dict[str, Objective]
) -> list[dict[str, Any]]:
    return list(errors(n_items, [n], seeds, compiled=compiled))


def shares_table(how: Run) -> Table:
    """Compute mean squared errors of the shares, averaged over seeds."""
    found = _errors(how)
    found = found[~found["objective"].str.contains(r" steps?$")]
    table = found.pivot_table("error", "objective", ["n_items", "n_rankings"], sort=False)
    table = table[sorted(table.columns)].map(_scientific)
    table.columns = ["{:,} × {:,}".format(*both) for both in table.columns.tolist()]
    figures = {
        "partitions.png": along_figure(found, "n_rankings", "n_items"),
        "partitions_by_items.png": along_figure(found, "n_items", "n_rankings"),
    }
    shown = ["PL-TopK", "exact", "exact, prior", "PL-LB", "RankNet"]
    return Table(
        table, corner="objective, items × rankings", figures=figures,
        shown=pd.DataFrame(index=shown, columns=table.columns[: len(RANKINGS)]),
    )  # fmt: skip


def stopped(how: Run) -> Table:
    """Compute the errors of RankNet after its first steps, with few rankings."""
    found = _errors(how)
    early = found[found["objective"].str.match("RankNet, |RankNet$|exact")]
    early = early[early["n_rankings"] == min(RANKINGS)]
    means = early.pivot_table("error", "objective", "n_items", sort=False)
    means.columns = [f"{items:,} items" for items in means.columns]
    return Table(means.map(_scientific), corner="objective")


def _scientific(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.1e}".replace("e-0", "e-")


def posterior_table(how: Run) -> Table:
    """Summarise posteriors of the shares: errors of mean and mode, and coverage of intervals."""
    n_items, few = min(QUICK_ITEMS if how.quick else ITEMS), [n for n in RANKINGS if n <= 100]
    options: dict[str, Any] = {"draws": 200, "tune": 200, "chains": 2} if how.quick else {}
    seeds = QUICK_SEEDS if how.quick else SEEDS
    rows = [how.once(f"posteriors {n}", partial(_listed, n_items, n, seeds, options)) for n in few]
    items = pd.DataFrame([row for some in rows for row in some])
    table = calibration(items).set_index("n_rankings")
    shown = table.map(lambda x: f"{x:.0%}")
    for name in ("error of mean", "error of mode"):
        shown[name] = table[name].map(_scientific)
    shown["worst rhat"] = table["worst rhat"].map("{:.3f}".format)
    shown["seconds"] = table["seconds"].map("{:.0f}".format)
    shown = shown.rename(columns={"worst rhat": "worst R-hat", "seconds": "CPU s each"})
    figures = {"partition_posteriors.png": posterior_figure(items)}
    return Table(shown, corner="rankings", figures=figures)


def _listed(n_items: int, n: int, seeds: Sequence[int], options: dict[str, Any]) -> list[Any]:
    return list(posteriors(n_items, [n], seeds, **options))


def costs(how: Run) -> Table:
    """Measure CPU milliseconds of a value and gradient of 20 rankings, by the number of items."""
    sizes = COST_ITEMS[:2] if how.quick else COST_ITEMS
    rows = {
        name: {n: how.once(f"cost {name} {n}", partial(cost, n, name)) for n in sizes}
        for name in OBJECTIVES
    }
    table = pd.DataFrame(rows).T
    figures = {"partition_cost.png": cost_figure(table)}
    return Table(table.rename(columns="{:,}".format), corner="objective, items", figures=figures)


TABLES: dict[str, Callable[[Run], Table]] = {
    "shares": shares_table,
    "stopped": stopped,
    "posteriors": posterior_table,
    "cost": costs,
}


def main(arguments: list[str] | None = None) -> dict[str, Table]:
    """Compute the tables and write them into ``RESULTS.md``."""
    return run("partitioned_preference", TABLES, arguments=arguments)


if __name__ == "__main__":
    main()
