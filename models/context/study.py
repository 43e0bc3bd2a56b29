"""The figures in ``RESULTS.md``: FATE and FETA, medoid and hypervolume, and sets of other sizes.

``python -m models.context.study FOLDER`` writes a line for each fit (``fits.csv``), prints means
and standard deviations over five seeds, and draws how well networks that were trained on sets of
five find the order of sets of 3 to 24 points (``sizes.csv``, ``sizes.png``). Each fit has 10,000
sets of its seed to learn from and is judged by 90,000 others. Settings were chosen on sets of
another seed.
"""

import argparse
import functools
import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import pandas as pd
import pytensor.tensor as pt
import xarray as xr

import bayesrank as br
from bayesrank.likelihoods.losses import (
    expected_rank_loss,
    hinge_rank_loss,
    list_net_loss,
    rank_net_loss,
)
from models.context.fate import PRIOR_SCALE, fate_network
from models.context.feta import feta_network
from models.context.model import (
    Network,
    deep_sets_network,
    dense_network,
    features_of,
    fit,
    metrics,
    predict,
    square_symmetries,
    swaps,
)
from models.context.simulate import simulate_hypervolume, simulate_medoid
from models.shared.study_rows import write_rows

Simulate = Callable[..., br.Rankings]
N_TRAIN, N_TEST, N_TEST_SIZES = 10_000, 90_000, 10_000
SIZES = (3, 4, 5, 7, 10, 15, 24)
SEEN_IN_SIZES = ("FATE", "DeepSets")


class Problem(NamedTuple):
    """What is simulated, and what may be done to it without changing the order."""

    simulate: Simulate
    augment: Callable[..., dict[str, Any]]


PROBLEMS = {
    "medoid": Problem(simulate_medoid, square_symmetries),
    "hypervolume": Problem(simulate_hypervolume, swaps),
}


def linear_network() -> Network:
    """Make a linear utility, of features relative to those of the set.

    To losses of differences that makes no difference; expected ranks have to add up to nothing.
    """
    network = dense_network(2)

    def utility(features: Any, weights: Mapping[str, Any], **options: Any) -> Any:
        centre = pt.mean(features, axis=-2, keepdims=True)  # in sets of one size
        return network.utility(features - centre, weights, **options)

    return network._replace(utility=utility)


# What is trained, and with which settings if not those of all
BLIND = {"augment": None, "epochs": 20}  # what sees no company learns nothing from symmetries
LINEAR = {"augment": None, "epochs": 10, "learning_rate": 0.1}
DEEP = {"epochs": 200, "learning_rate": 5e-3, "prior_scale": 100.0}
ROWS: dict[str, tuple[Callable[[], Network], dict[str, Any]]] = {
    "linear": (linear_network, LINEAR),
    "linear, hinge": (linear_network, {**LINEAR, "loss": hinge_rank_loss}),
    "linear, expected rank": (linear_network, {**LINEAR, "loss": expected_rank_loss}),
    "dense": (lambda: dense_network(2, 64, 64, 64), BLIND),
    "RankNet": (lambda: dense_network(2, 64, 64, 64), {**BLIND, "loss": rank_net_loss}),
    "ListNet": (
        lambda: dense_network(2, 64, 64, 64),
        {**BLIND, "loss": functools.partial(list_net_loss, k=3)},
    ),
    "FETA, bounded": (
        lambda: feta_network(
            2, item_widths=None, pair_widths=(64,) * 3, bounded=True, activation="silu"
        ),
        {"learning_rate": 5e-3, "prior_scale": 100.0},
    ),
    "FETA": (
        lambda: feta_network(2, item_widths=(64,) * 2, pair_widths=(64,) * 3),
        {"learning_rate": 5e-3},
    ),
    "FATE": (lambda: fate_network(2), {}),
    "DeepSets": (lambda: deep_sets_network(2, 64, 6), DEEP),
}


@functools.cache  # the figure shows fits of the table
def train(
    row: str, problem: str, seed: int, *, n_train: int = N_TRAIN, **settings: Any
) -> tuple[xr.DataTree, Network, float]:
    """Fit a row of the table; and the CPU seconds that it took, all that is compiled among them."""
    make, own = ROWS[row]
    simulate, augment = PROBLEMS[problem]
    options: dict[str, Any] = {
        "epochs": 100,
        "validation": 0,
        "prior_scale": PRIOR_SCALE,
        "progressbar": False,
    }
    options |= {"augment": augment, "seed": seed, **own, **settings}
    sets, network = simulate(n_train, seed=seed), make()
    start = time.process_time()
    fitted = fit(sets, network, **options)
    return fitted, network, time.process_time() - start


def compare(
    rows: Iterable[str],
    seeds: Iterable[int],
    *,
    problems: Iterable[str] = tuple(PROBLEMS),
    n_test: int | None = None,
    **settings: Any,
) -> Iterator[dict[str, Any]]:
    """Train and judge: a line for each row, problem and seed."""
    for problem, row, seed in itertools.product(problems, rows, seeds):
        fitted, network, cpu = train(row, problem, seed, **settings)
        new = PROBLEMS[problem].simulate(n_test or N_TEST, seed=1000 + seed)
        found = metrics(predict(fitted, network, features_of(new)), new.ranks)
        yield {"problem": problem, "row": row, "seed": seed, **found, "cpu": cpu}


def by_size(
    fits: Mapping[str, tuple[xr.DataTree, Network]],
    problem: str,
    *,
    sizes: Iterable[int] = SIZES,
    n_test: int = N_TEST_SIZES,
    seed: int = 1000,
) -> pd.DataFrame:
    """Judge fits in sets of other sizes: ranking accuracy, a row for each size."""
    table = {}
    for size in sizes:
        new = PROBLEMS[problem].simulate(n_test, size, seed=seed)
        table[size] = {
            name: metrics(predict(*fitted, features_of(new)), new.ranks)["RA"]
            for name, fitted in fits.items()
        }
    return pd.DataFrame.from_dict(table, orient="index").rename_axis("points")


def draw(tables: Mapping[str, pd.DataFrame], path: Path) -> None:
    """Draw ranking accuracy by the size of sets, a panel for each problem."""
    figure, axes = plt.subplots(
        1, len(tables), figsize=(4.2 * len(tables), 3.2), sharey=True, squeeze=False
    )
    for ax, (problem, table) in zip(axes[0], tables.items(), strict=True):
        for name, line in table.items():
            ax.plot(table.index, line, marker="o", markersize=4, label=name)
        ax.axvline(5, color="0.8", zorder=0)
        ax.set(xscale="log", title=problem, xlabel="points in a set (5 in training)")
        ax.set_xticks(table.index, [str(size) for size in table.index])
        ax.minorticks_off()
        ax.legend(frameon=False)
    axes[0, 0].set_ylabel("pairs in the right order")
    figure.tight_layout()
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> None:
    """Write the tables and the figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rows", nargs="*", choices=ROWS, default=list(ROWS))
    given = parser.parse_args(arguments)
    given.folder.mkdir(parents=True, exist_ok=True)

    fits = write_rows(compare(given.rows, range(1, given.seeds + 1)), given.folder / "fits.csv")
    figures = ["RA", "ACC", "Spearman", "cpu"]
    table = fits.groupby(["problem", "row"], sort=False)[figures].agg(["mean", "std"])
    print(table.round(3).to_string())

    tables: dict[str, pd.DataFrame] = {}

    def in_sizes() -> Iterator[dict[str, Any]]:
        for problem in PROBLEMS:
            trained = {name: train(name, problem, 1)[:2] for name in SEEN_IN_SIZES}
            tables[problem] = by_size(trained, problem, sizes=SIZES, n_test=N_TEST_SIZES)
            for size, line in tables[problem].to_dict("index").items():
                yield {"problem": problem, "points": size} | {str(k): x for k, x in line.items()}

    write_rows(in_sizes(), given.folder / "sizes.csv")
    draw(tables, given.folder / "sizes.png")


if __name__ == "__main__":
    main()
