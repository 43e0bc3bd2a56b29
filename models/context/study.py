"""Study FATE and FETA: medoid, hypervolume, sets of other sizes, and posteriors of networks.

``python -m models.context.study`` writes its tables into ``RESULTS.md`` and draws the figure. Each
fit learns from 10,000 simulated sets and is tested on 90,000 others. Settings were chosen on sets
of another seed. All tables take 28 CPU minutes. ``--keep FOLDER`` saves finished parts, and
``--row FATE`` computes only that row. The paper learns the hypervolume from 100,000 sets. The table
``many`` does the same, with as many steps as the others (a tenth of the epochs).

References
----------
Pfannschmidt, Gupta & Hüllermeier, Deep architectures for learning context-dependent ranking
functions, arXiv:1803.05796, 2018.
"""

import functools
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytensor.tensor as pt
import xarray as xr
from matplotlib.figure import Figure

import bayesrank as br
from models.context import posteriors
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
from models.shared.losses import (
    expected_rank_loss,
    hinge_rank_loss,
    list_net_loss,
    rank_net_loss,
)
from models.shared.results import Run, Table, run

Simulate = Callable[..., br.Rankings]
N_TRAIN, N_TEST, N_TEST_SIZES = 10_000, 90_000, 10_000
SIZES = (3, 4, 5, 7, 10, 15, 24)
SEEN_IN_SIZES = ("FATE", "DeepSets")
SEEDS = (1, 2, 3)
EPOCHS = 100
MANY = 100_000  # sets to learn from, as in the paper


class Problem(NamedTuple):
    """A simulated problem, and the augmentation that keeps its order."""

    simulate: Simulate
    augment: Callable[..., dict[str, Any]]


PROBLEMS = {
    "medoid": Problem(simulate_medoid, square_symmetries),
    "hypervolume": Problem(simulate_hypervolume, swaps),
}


def linear_network() -> Network:
    """Make a linear utility of features, relative to their mean in the set.

    Losses of differences do not change. `expected_rank_loss` needs utilities that sum to zero.
    """
    network = dense_network(2)

    def utility(features: Any, weights: Mapping[str, Any], **options: Any) -> Any:
        centre = pt.mean(features, axis=-2, keepdims=True)  # all sets have one size
        return network.utility(features - centre, weights, **options)

    return network._replace(utility=utility)


def bounded_network(*, worth: bool) -> Network:
    """Make the bounded FETA, with or without a worth of the item alone."""
    return feta_network(
        2,
        item_widths=(64,) * 2 if worth else None,
        pair_widths=(64,) * 3,
        bounded=True,
        activation="silu",
    )


# Models to train, with the settings that differ from the common ones
BOUNDED = {"learning_rate": 5e-3, "prior_scale": 100.0}
BLIND = {"augment": None, "epochs": 20}  # symmetries do not help if the context is not used
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
        lambda: bounded_network(worth=False),
        BOUNDED,
    ),
    "FETA, mirrored": (
        lambda: feta_network(
            2,
            item_widths=None,
            pair_widths=(64,) * 3,
            bounded=True,
            mirrored=True,
            activation="silu",
        ),
        BOUNDED,
    ),
    "FETA": (
        lambda: feta_network(2, item_widths=(64,) * 2, pair_widths=(64,) * 3),
        {"learning_rate": 5e-3},
    ),
    "FATE": (lambda: fate_network(2), {}),
    "DeepSets": (lambda: deep_sets_network(2, 64, 6), DEEP),
}
# Other settings, on the medoid
TRIED: dict[str, tuple[Callable[[], Network], dict[str, Any]]] = {
    "FATE, prior scale 1": (lambda: fate_network(2), {"prior_scale": 1.0}),
    "FATE, prior scale 3": (lambda: fate_network(2), {"prior_scale": 3.0}),
    "FATE, prior scale 10": (lambda: fate_network(2), {"prior_scale": 10.0}),
    "DeepSets, ReLU, 100 epochs": (
        lambda: deep_sets_network(2, 64, 6, activation="relu"), {**DEEP, "epochs": 100}
    ),
    "DeepSets, SiLU, 100 epochs": (lambda: deep_sets_network(2, 64, 6), {**DEEP, "epochs": 100}),
    "FETA, bounded, item worth": (lambda: bounded_network(worth=True), BOUNDED),
    "FETA, bounded, hinge": (
        lambda: bounded_network(worth=False), {**BOUNDED, "loss": hinge_rank_loss}
    ),
    "FETA, bounded, item worth, hinge": (
        lambda: bounded_network(worth=True), {**BOUNDED, "loss": hinge_rank_loss}
    ),
}  # fmt: skip


@functools.cache  # the figure shows fits of the table
def train(
    row: str, problem: str, seed: int, *, n_train: int = N_TRAIN, **settings: Any
) -> tuple[xr.DataTree, Network, float]:
    """Fit a row of the table; also return its CPU seconds, including compilation."""
    make, changes = {**ROWS, **TRIED}[row]
    simulate, augment = PROBLEMS[problem]
    options: dict[str, Any] = {
        "epochs": EPOCHS,
        "validation": 0,
        "prior_scale": PRIOR_SCALE,
        "progressbar": False,
    }
    options |= {"augment": augment, "seed": seed, **changes, **settings}
    sets, network = simulate(n_train, seed=seed), make()
    start = time.process_time()
    fitted = fit(sets, network, **options)
    return fitted, network, time.process_time() - start


def judged(
    row: str, problem: str, seed: int, *, n_test: int | None = None, **settings: Any
) -> dict[str, float]:
    """Train a row on a problem, and evaluate it on sets of another seed."""
    fitted, network, cpu = train(row, problem, seed, **settings)
    new = PROBLEMS[problem].simulate(n_test or N_TEST, seed=1000 + seed)
    found = metrics(predict(fitted, network, features_of(new)), new.ranks)
    return {**found, "CPU s": cpu}


def by_size(
    fits: Mapping[str, tuple[xr.DataTree, Network]],
    problem: str,
    *,
    sizes: Iterable[int] = SIZES,
    n_test: int = N_TEST_SIZES,
    seed: int = 1000,
) -> pd.DataFrame:
    """Evaluate fits on sets of other sizes: ranking accuracy, with a row for each size."""
    table = {}
    for size in sizes:
        new = PROBLEMS[problem].simulate(n_test, size, seed=seed)
        table[size] = {
            name: metrics(predict(*fitted, features_of(new)), new.ranks)["RA"]
            for name, fitted in fits.items()
        }
    return pd.DataFrame.from_dict(table, orient="index").rename_axis("points")


def draw(tables: Mapping[str, pd.DataFrame]) -> Figure:
    """Draw ranking accuracy by the size of sets, a panel for each problem."""
    figure, axes = plt.subplots(
        1, len(tables), figsize=(4.2 * len(tables), 3.2), sharey=True, squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for ax, (problem, table) in zip(axes[0], tables.items(), strict=True):
        for name, line in table.items():
            ax.plot(table.index, line, marker="o", markersize=4, label=name)
        ax.axvline(5, color="0.8", zorder=0)
        ax.set(xscale="log", title=problem, xlabel="points in a set (5 in training)")
        ax.set_xticks(table.index, [str(size) for size in table.index])
        ax.minorticks_off()
        ax.legend(frameon=False)
    axes[0, 0].set_ylabel("pairs in the right order")
    return figure


# ---------------------------------------------------------------------------------------------
# Tables
# ---------------------------------------------------------------------------------------------

FIGURES = ["RA", "ACC", "Spearman"]
NETWORKS = ("FETA, bounded", "FETA, mirrored", "FETA", "FATE", "DeepSets")
LEARNERS = ("linear, expected rank", "linear, hinge", "RankNet", "ListNet")
ON_PAGE = (*LEARNERS, *NETWORKS)
QUICK = ("linear", "ListNet", "FATE")
REDUCED = {"n_train": 500, "n_test": 2_000, "epochs": 20}  # for a run of reduced size
# Pfannschmidt, Gupta & Hüllermeier (2018), Table 1: the linear methods are ERR and RankSVM
PUBLISHED = {
    "medoid": pd.DataFrame(
        {
            "linear, expected rank": ["0.500", "0.008", "-0.001"],
            "linear, hinge": ["0.500", "0.008", "0.000"],
            "RankNet": ["0.682", "0.088", "0.417"],
            "ListNet": ["0.681", "0.087", "0.361"],
            "FETA, bounded": ["0.759 ± 0.014", "0.088", "0.594 ± 0.032"],
            "FATE": ["0.901 ± 0.004", "0.443 ± 0.016", "0.861 ± 0.007"],
        },
        index=FIGURES,
    ).T,
    "many": pd.DataFrame(  # of the hypervolume, from 100,000 sets
        {
            "linear, expected rank": ["0.500", "0.008", "0.001"],
            "linear, hinge": ["0.500", "0.008", "-0.001"],
            "RankNet": ["0.683", "0.089", "0.419"],
            "ListNet": ["0.683", "0.07", "0.418"],
            "FETA, bounded": ["0.802 ± 0.002", "0.192 ± 0.004", "0.682 ± 0.005"],
            "FATE": ["0.920 ± 0.003", "0.508 ± 0.013", "0.894 ± 0.004"],
        },
        index=FIGURES,
    ).T,
    "depth": pd.DataFrame(  # Table 2, regions of images: the data are not available
        {
            "ERR": ["0.792", "0.659"],
            "RankSVM": ["0.778", "0.656"],
            "RankNet": ["0.770", "0.633"],
            "ListNet": ["0.802", "0.693"],
            "RankBoost": ["0.806", None],
            "FETA": ["0.813", "0.729"],
            "FATE": ["0.814", "0.721"],
        },
        index=["RA", "Spearman"],
    ).T,
}


def problem_table(how: Run, problem: str) -> Table:
    """Evaluate all rows on a problem: means over seeds, and the largest standard deviation."""
    rows = {}
    options: dict[str, Any] = REDUCED if how.quick else {}
    for name in how.chosen(QUICK if how.quick else ROWS):
        by_seed = [
            how.once(
                f"{name} {problem} {seed}",
                functools.partial(judged, name, problem, seed, **options),
            )
            for seed in (SEEDS[:1] if how.quick else SEEDS)
        ]
        found = pd.DataFrame(by_seed)
        spread = "" if how.quick else f"{found[FIGURES].std().max():.3f}"
        rows[name] = {**found.mean(), "s.d., at most": spread}
    table = pd.DataFrame(rows).T
    table = table[[*FIGURES, "s.d., at most", "CPU s"]]
    shown = pd.DataFrame(index=[name for name in ON_PAGE if name in table.index], columns=FIGURES)
    digits = dict.fromkeys(FIGURES, 3) | {"CPU s": 0}
    return Table(table, digits=digits, corner=problem, shown=shown)


def many_table(how: Run) -> Table:
    """Learn the hypervolume from ten times as many sets, in as many steps; one seed."""
    options: dict[str, Any] = {"n_train": MANY, **(REDUCED if how.quick else {})}
    rows = {}
    for name in how.chosen(["FATE"] if how.quick else [*LEARNERS, *NETWORKS]):
        epochs = max(1, ROWS[name][1].get("epochs", EPOCHS) * N_TRAIN // MANY)
        given = {"epochs": epochs} | options
        compute = functools.partial(judged, name, "hypervolume", 1, **given)
        rows[name] = how.once(f"{name} many", compute)
    digits = dict.fromkeys(FIGURES, 3) | {"CPU s": 0}
    table = pd.DataFrame(rows).T
    shown = pd.DataFrame(index=table.index, columns=FIGURES)
    corner = f"hypervolume, {options['n_train']:,} sets"
    return Table(table, digits=digits, corner=corner, shown=shown)


def linear_table(how: Run) -> Table:
    """Evaluate linear scores of the hypervolume in all directions, on 20,000 sets."""
    new = PROBLEMS["hypervolume"].simulate(1_000 if how.quick else 20_000, seed=1001)
    features = features_of(new)
    features = (features - features.mean(axis=(0, 1))) / features.std(axis=(0, 1))
    found = {}
    for degrees in range(0, 360, 5):
        weights = np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))])
        weighed = metrics(features @ weights, new.ranks)
        found[degrees] = {"weights": f"{weights[0]:.2f}, {weights[1]:.2f}", **weighed}
    table = pd.DataFrame(found).T
    best = 5 * int(table["RA"].to_numpy(float).argmax())
    rows = table.loc[[best, 180, 270, (best + 180) % 360]]
    names = ["best of 72 directions", "first objective", "second objective", "opposite of the best"]
    digits = dict.fromkeys(FIGURES, 4)
    return Table(rows.set_axis(names), digits=digits, corner="linear score of the hypervolume")


def tried_table(how: Run) -> Table:
    """Evaluate settings that were tried, with one seed, and baselines without learning."""
    options: dict[str, Any] = REDUCED if how.quick else {}
    rows: dict[str, dict[str, float]] = {}
    for name in how.chosen(["FATE, prior scale 1"] if how.quick else TRIED):
        compute = functools.partial(judged, name, "medoid", 1, **options)
        rows[f"medoid: {name}"] = how.once(f"{name} tried", compute)
    n_test = options.get("n_test", N_TEST)
    new = PROBLEMS["hypervolume"].simulate(n_test, seed=1001)
    rows["hypervolume: sum of the objectives"] = metrics(-features_of(new).sum(axis=-1), new.ranks)
    new = PROBLEMS["medoid"].simulate(n_test, seed=1001)
    rows["medoid: distance to the middle"] = metrics(
        -((features_of(new) - 0.5) ** 2).sum(axis=-1), new.ranks
    )
    digits = dict.fromkeys(FIGURES, 3) | {"CPU s": 0}
    return Table(pd.DataFrame(rows).T, digits=digits, corner="one seed")


def size_table(how: Run) -> Table:
    """Evaluate networks trained on sets of five on other sizes: share of pairs in order."""
    names: tuple[str, ...] = SEEN_IN_SIZES
    n_test, options = N_TEST_SIZES, dict[str, Any]()
    if how.quick:
        names, n_test, options = ("FATE",), 1_000, {"n_train": 500, "epochs": 20}

    def compute(problem: str) -> pd.DataFrame:
        fits = {name: train(name, problem, 1, **options)[:2] for name in names}
        return by_size(fits, problem, n_test=n_test)

    tables = {}
    for problem in PROBLEMS:
        tables[problem] = how.once(f"sizes {problem}", functools.partial(compute, problem))
    joined = pd.concat(tables, axis=1)
    joined.columns = [f"{name}, {problem}" for problem, name in joined.columns]
    figures = {"context_sizes.png": draw(tables)}
    return Table(joined.T, digits=3, corner="points in a set", figures=figures)


def posterior_table(how: Run) -> Table:
    """Compute the mean log density of held-out sets for modes, Laplace, NUTS and ADVI."""
    sizes = (100,) if how.quick else (100, 1_000, 10_000)
    seeds = (1,) if how.quick else (1, 2, 3)
    columns = {
        f"{n:,} sets": how.once(
            f"posteriors {n}", functools.partial(posteriors.compare, n, advi_seeds=seeds)
        )
        for n in sizes
    }
    return Table(pd.DataFrame(columns), corner="weights")


TABLES: dict[str, Callable[[Run], Table]] = {
    "medoid": functools.partial(problem_table, problem="medoid"),
    "hypervolume": functools.partial(problem_table, problem="hypervolume"),
    "many": many_table,
    "linear": linear_table,
    "tried": tried_table,
    "sizes": size_table,
    "posteriors": posterior_table,
}


def main(arguments: list[str] | None = None) -> dict[str, Table]:
    """Compute the tables and write them into ``RESULTS.md``."""
    return run("context", TABLES, published=PUBLISHED, arguments=arguments)


if __name__ == "__main__":
    main()
