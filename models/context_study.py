"""The figures of `models.fate` and `models.feta`: medoid and hypervolume, and sets of other sizes.

``python -m models.context_study FIGURE [N_SEEDS] [ROW ...]`` prints the table, means and standard
deviations over seeds, and draws how well the order of sets of 3 to 24 points is found by networks
that were trained on five. Each fit has 10,000 sets of its seed to learn from and is judged by
90,000 others. The scale of the prior was chosen for FATE on the medoid, on sets of other seeds. The
rate of the linear row was raised after its first fit had not converged; nothing else was chosen.
"""

import sys
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import pandas as pd
import xarray as xr

import bayesrank as br
from bayesrank.data.simulate import simulate_hypervolume, simulate_medoid
from bayesrank.utility import deep_sets_utility, deep_sets_weights, dense_utility, dense_weights
from models.context_networks import (
    Network,
    features_of,
    fit,
    metrics,
    predict,
    square_symmetries,
    swaps,
)
from models.fate import PRIOR_SCALE, fate_network
from models.feta import feta_network

Simulate = Callable[..., br.Rankings]
N_TRAIN, N_TEST = 10_000, 90_000
SIZES = (3, 4, 5, 7, 10, 15, 24)


class Problem(NamedTuple):
    """What is simulated, and what may be done to it without changing the order."""

    simulate: Simulate
    augment: Callable[..., dict[str, Any]]


PROBLEMS = {
    "medoid": Problem(simulate_medoid, square_symmetries),
    "hypervolume": Problem(simulate_hypervolume, swaps),
}


def deep_sets_network(width: int, n_layers: int, activation: str) -> Network:
    """Make a network of residual layers that all see the mean of the set."""
    specs = deep_sets_weights(2, width, n_layers, activation=activation)
    return Network(specs, partial(deep_sets_utility, activation=activation))


def dense_network(*widths: int) -> Network:
    """Make a network that sees one item at a time."""

    def utility(features: Any, weights: Mapping[str, Any], *, mask: Any, dtype: Any) -> Any:
        return dense_utility(features, weights, dtype=dtype)  # in sets of one size

    return Network(dense_weights(2, widths), utility)


# What is trained, and with which settings if not those of all
ROWS: dict[str, tuple[Callable[[], Network], dict[str, Any]]] = {
    "linear": (lambda: dense_network(), {"epochs": 10, "learning_rate": 0.1}),
    "dense": (lambda: dense_network(64, 64, 64), {"epochs": 20}),
    "FETA, bounded": (lambda: feta_network(2, bounded=True), {}),
    "FETA": (lambda: feta_network(2), {}),
    "FATE": (lambda: fate_network(2), {}),
    "DeepSets, 6 of 64": (lambda: deep_sets_network(64, 6, "relu"), {}),
    "DeepSets, 4 of 64": (lambda: deep_sets_network(64, 4, "silu"), {}),
}
BLIND = ("linear", "dense")  # what sees no company learns nothing from symmetries


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
    options |= {"augment": None if row in BLIND else augment, "seed": seed, **own, **settings}
    sets, network = simulate(n_train, seed=seed), make()
    start = time.process_time()
    fitted = fit(sets, network, **options)
    return fitted, network, time.process_time() - start


def compare(
    rows: Iterable[str],
    seeds: Iterable[int],
    *,
    problems: Iterable[str] = tuple(PROBLEMS),
    n_test: int = N_TEST,
    **settings: Any,
) -> pd.DataFrame:
    """Train and judge: a line for each row, problem and seed."""
    lines = []
    for problem in problems:
        for row in rows:
            for seed in seeds:
                fitted, network, cpu = train(row, problem, seed, **settings)
                new = PROBLEMS[problem].simulate(n_test, seed=1000 + seed)
                found = metrics(predict(fitted, network, features_of(new)), new.ranks)
                lines.append({"problem": problem, "row": row, "seed": seed, **found, "cpu": cpu})
                print(*lines[-1].values(), flush=True)
    return pd.DataFrame(lines)


def by_size(
    fits: Mapping[str, tuple[xr.DataTree, Network]],
    problem: str,
    *,
    sizes: Iterable[int] = SIZES,
    n_test: int = 10_000,
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


def main(path: Path, n_seeds: int = 5, rows: Iterable[str] = tuple(ROWS)) -> None:
    """Print the table and draw the figure."""
    lines = compare(rows, range(1, n_seeds + 1))
    figures = ["RA", "ACC", "Spearman", "cpu"]
    print(lines.groupby(["problem", "row"], sort=False)[figures].agg(["mean", "std"]).round(3))
    tables = {}
    for problem, deep in (("medoid", "DeepSets, 6 of 64"), ("hypervolume", "DeepSets, 4 of 64")):
        fits = {name: train(name, problem, 1)[:2] for name in ("FATE", deep)}
        tables[problem] = by_size(fits, problem)
        print(problem, tables[problem].round(3), sep="\n")
    draw(tables, path)


if __name__ == "__main__":
    wanted = tuple(sys.argv[3:]) or tuple(ROWS)
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 5, wanted)
