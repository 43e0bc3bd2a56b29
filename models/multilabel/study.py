"""Compare four objectives on the texts of Delicious and Bibtex.

``python -m models.multilabel.study [FOLDER]`` writes the tables into ``RESULTS.md``. FOLDER
contains ``delicious`` and ``bibtex``; by default it is ``BAYESRANK_DATA``. ``--row Bibtex``
computes the results of one data set only.

Every tenth training sample is held out. These samples decide when a fit stops, by its objective.
They also choose the learning rate and the width of the priors for each objective and data set, by
the precision of the first five labels. Using them twice makes their precision slightly optimistic,
equally for all settings, but no reported metric uses them. Reported metrics come from the test
part, with other seeds. The choice takes half an hour, so its table is computed only on request
(``--table choices``), and `CHOSEN` stores the result.
"""

import time
import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bayesrank.data import UninformativeRankingWarning
from models.multilabel.data import Multilabel, read_multilabel
from models.multilabel.metrics import label_propensities, multilabel_metrics
from models.multilabel.model import fit, predict
from models.shared.results import Run, Table, run

NAMES = {"Delicious": "delicious", "Bibtex": "bibtex"}
WORDS = {"exact": "exact", "bound": "PL-LB", "RankNet": "RankNet", "RankSVM": "RankSVM"}
# Largest numbers of epochs by rate. Each rate falls to zero over them, and low rates need more
EPOCHS = {1e-2: 20, 1e-3: 40, 1e-4: 100}
WEIGHT_SCALES = (1.0, 2.0, 4.0)
# a loss of pairs sums thousands of terms per sample, so the same prior has less weight
WEIGHT_SCALES_OF = {"RankNet": (0.25, 0.5, 1.0), "RankSVM": (0.25, 0.5, 1.0)}
CHOSEN = {  # rate and width, as `choices` finds them
    ("Delicious", "exact"): (1e-2, 2.0),
    ("Delicious", "bound"): (1e-2, 2.0),
    ("Delicious", "RankNet"): (1e-2, 0.25),
    ("Delicious", "RankSVM"): (1e-2, 1.0),
    ("Bibtex", "exact"): (1e-3, 8.0),
    ("Bibtex", "bound"): (1e-3, 16.0),
    ("Bibtex", "RankNet"): (1e-3, 4.0),
    ("Bibtex", "RankSVM"): (1e-2, 4.0),
}
# The optimiser of the paper: no prior (one so wide that it has no effect), and a quarter held out
PAPER: dict[str, Any] = {"weight_scale": 1000.0, "every": 4}
CHOOSING_SEED, SEEDS = 0, (1, 2, 3)
DEPTHS = (1, 3, 5, 10)
QUICK_SAMPLES, QUICK_UNITS = 600, 16  # for a run of reduced size

Row = dict[str, float]

# Ma et al. (AISTATS 2021), Table 1 and, for SLEEC and LEML, Table 2
PUBLISHED = {
    "precision": pd.DataFrame(
        {
            "Delicious, exact": [66.72, 61.30, 56.63, 47.61],
            "Delicious, PL-LB": [66.12, 60.13, 54.72, 45.76],
            "Delicious, RankNet": [64.11, 58.46, 53.60, 45.62],
            "Delicious, RankSVM": [61.95, 57.05, 52.74, 44.57],
            "Delicious, SLEEC": [67.59, 61.38, 56.56, None],
            "Delicious, LEML": [65.67, 60.55, 56.08, None],
        },
        index=[f"P@{k}" for k in DEPTHS],
    ).T,
    "propensities": pd.DataFrame(
        {
            "Delicious, exact": [33.22, 34.23, 35.02, 35.26],
            "Delicious, PL-LB": [30.36, 31.69, 31.82, 31.91],
            "Delicious, RankNet": [32.02, 32.76, 32.85, 33.27],
            "Delicious, RankSVM": [31.03, 31.61, 32.20, 32.71],
            "Delicious, SLEEC": [32.11, 33.21, 33.83, None],
            "Delicious, LEML": [30.73, 32.43, 33.26, None],
        },
        index=[f"PSP@{k}" for k in DEPTHS],
    ).T,
    "elsewhere": pd.DataFrame(  # rest of Table 1: the data are not available
        {
            "Eurlex-4K, exact": [78.12, 51.75, 41.93, 45.70],
            "Eurlex-4K, PL-LB": [66.46, 41.35, 34.55, 34.44],
            "Eurlex-4K, RankNet": [77.57, 52.55, 42.81, 48.61],
            "Eurlex-4K, RankSVM": [76.46, 50.95, 42.71, 47.43],
            "Wiki10-31K, exact": [85.97, 63.01, 13.01, 14.03],
            "Wiki10-31K, PL-LB": [80.73, 44.88, 9.24, 7.62],
            "Wiki10-31K, RankNet": [82.35, 56.96, 12.90, 13.18],
            "Wiki10-31K, RankSVM": [80.88, 50.81, 12.55, 12.20],
            "Delicious-200K, exact": [47.58, 39.23, 8.72, 9.82],
            "Delicious-200K, PL-LB": [40.38, 35.65, 6.79, 8.46],
            "Delicious-200K, RankNet": [41.93, 36.94, 7.06, 8.93],
            "Delicious-200K, RankSVM": [41.41, 36.67, 7.13, 8.92],
        },
        index=["P@1", "P@5", "PSP@1", "PSP@5"],
    ).T,
}


def load(folder: Path, name: str, part: str) -> Multilabel:
    """Read the part "train" or "test", without samples that have no labels."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UninformativeRankingWarning)
        return read_multilabel(folder / name / f"{name}-{part}.txt")


def held_back(data: Multilabel, every: int = 10) -> NDArray[np.int64]:
    """Return every tenth sample, or every n-th."""
    return np.arange(0, data.n_samples, every)


def figures_of_test(train: Multilabel, test: Multilabel, **settings: Any) -> Row:
    """Fit; return precision and weighted precision of the first labels of the test part."""
    fitted, row = _fit(train, **settings)
    scores, propensities = predict(fitted, test.features), label_propensities(train.labels)
    means = multilabel_metrics(scores, test.labels, k=DEPTHS, propensities=propensities)
    return {str(name): float(value) for name, value in means.items()} | row


def _fit(
    train: Multilabel, learning_rate: float, every: int = 10, **settings: Any
) -> tuple[xr.DataTree, Row]:
    """Fit; the row contains the precision of the first five labels of held-out samples."""
    begin, rows = time.process_time(), held_back(train, every)
    fitted = fit(
        train, learning_rate=learning_rate, epochs=EPOCHS[learning_rate],
        validation=rows, progressbar=False, **settings,
    )  # fmt: skip
    training = fitted["training"].dataset
    means = multilabel_metrics(predict(fitted, train.features[rows]), train.labels[rows], k=[5])
    return fitted, {
        "held out": float(means["precision@5"]),
        "best_epoch": int(training.attrs["best_epoch"]) + 1,
        "epochs": training.sizes["epoch"],
        "seconds": time.process_time() - begin,
    }


def choose(
    precision: Callable[[float, float], float],
    rates: Sequence[float] = tuple(EPOCHS),
    widths: Sequence[float] = WEIGHT_SCALES,
) -> tuple[float, float]:
    """Choose a learning rate and a width of the priors.

    The search compares the widths at the first rate, then the rates at the best width, and so on
    until neither changes. Low rates take long, so it does not try every width with them.

    Parameters
    ----------
    precision : callable
        Function of rate and width that returns the precision on held-out samples.
    rates, widths : list of float
        Values to try. While the best width is the smallest or largest, half or twice it is also
        tried.

    Returns
    -------
    (float, float)
        Rate and width; the first ones if several are equally good.
    """
    known = lru_cache(precision)
    listed, rate, last = list(widths), rates[0], None
    while True:
        while (width := _best({w: known(rate, w) for w in listed})) in (min(listed), max(listed)):
            listed.append(width / 2 if width == min(listed) else width * 2)
        rate = _best({r: known(r, width) for r in rates})
        if (rate, width) == last:
            return rate, width
        last = rate, width


def _best(scores: dict[float, float]) -> float:
    return max(scores, key=scores.__getitem__)


def settings_of(how: Run, name: str, objective: str) -> Row:
    """Choose the rate and the width for a data set and an objective, on held-out samples.

    The result also contains the precision in percent: with these settings, with the lowest rate,
    and with the worst of all settings tried.
    """
    train = load(how.folder, NAMES[name], "train")
    tried: dict[tuple[float, float], float] = {}

    def precision(rate: float, scale: float) -> float:
        options: dict[str, Any] = {
            "learning_rate": rate,
            "weight_scale": scale,
            "seed": CHOOSING_SEED,
        }
        _, row = how.once(
            f"choice {name} {objective} {rate} {scale}",
            partial(_fit, train, objective=objective, **options),
        )
        tried[rate, scale] = 100 * row["held out"]
        return tried[rate, scale]

    rate, width = choose(precision, tuple(EPOCHS), WEIGHT_SCALES_OF.get(objective, WEIGHT_SCALES))
    return {
        "rate": rate,
        "width": width,
        "P@5": tried[rate, width],
        f"at rate {min(EPOCHS):g}": tried[min(EPOCHS), width],
        "at worst": min(tried.values()),
    }


# ---------------------------------------------------------------------------------------------
# Tables
# ---------------------------------------------------------------------------------------------


def _parts(how: Run, name: str) -> list[Multilabel]:
    """Read the training part and the test part."""
    parts = [load(how.folder, NAMES[name], part) for part in ("train", "test")]
    if how.quick:
        some = slice(QUICK_SAMPLES)
        parts = [Multilabel(part.features[some], part.labels[some]) for part in parts]
    return parts


@lru_cache
def _figures(how: Run) -> pd.DataFrame:
    """Compute means (standard deviations) over seeds, in percent, and CPU seconds of a fit."""
    rows: dict[str, dict[str, Any]] = {}
    for name in how.chosen(NAMES):
        train, test = _parts(how, name)
        for objective, word in WORDS.items():
            rate, scale = CHOSEN[name, objective]
            options: dict[str, Any] = {"learning_rate": rate, "weight_scale": scale}
            if how.quick:
                options |= {"n_units": QUICK_UNITS}
            found = pd.DataFrame(
                [
                    how.once(
                        f"{name} {objective} {rate} {scale} {seed}",
                        partial(
                            figures_of_test, train, test, objective=objective, seed=seed, **options
                        ),
                    )
                    for seed in (SEEDS[:1] if how.quick else SEEDS)
                ]
            )
            rows[f"{name}, {word}"] = {"rate": rate, "width": scale} | summary(found)
    return pd.DataFrame.from_dict(rows, orient="index")


def summary(found: pd.DataFrame) -> dict[str, Any]:
    """Return means and standard deviations over seeds, in percent, and CPU seconds of a fit."""
    percent = [str(name) for name in found if "@" in str(name)]
    means, sds = 100 * found[percent].mean(), 100 * found[percent].std()
    out: dict[str, Any] = {"CPU s": found["seconds"].mean(), "epochs": found["epochs"].mean()}
    return out | {n: means[n] for n in percent} | {f"{n} sd": sds[n] for n in percent}


def _table(how: Run, *, metrics: dict[str, str], on_page: Sequence[str] = ()) -> Table:
    """Show metrics at all depths."""
    found, shown = _figures(how), {}
    for metric, short in metrics.items():
        for k in DEPTHS:
            column = f"{short}@{k}"
            cells = zip(found[f"{metric}@{k}"], found[f"{metric}@{k} sd"], strict=True)
            shown[column] = [_cell(mean, sd) for mean, sd in cells]
    table = pd.DataFrame(shown, index=found.index)
    delicious = [name for name in table.index if name.startswith("Delicious")]
    part = pd.DataFrame(index=delicious, columns=list(on_page)) if on_page and delicious else None
    return Table(table, corner="data, objective", shown=part)


def _cell(mean: float, sd: float) -> str:
    return f"{mean:.2f}" if pd.isna(sd) else f"{mean:.2f} ± {sd:.2f}"


def fits(how: Run) -> Table:
    """List the settings of each fit, its epochs and CPU seconds."""
    table = _figures(how)[["rate", "width", "epochs", "CPU s"]]
    return Table(table, digits={"rate": 3, "width": 2, "epochs": 0, "CPU s": 0}, corner="fit")


def choices(how: Run) -> Table:
    """Choose rate and width for all fits, in half an hour."""
    rows = {
        f"{name}, {WORDS[objective]}": settings_of(how, name, objective)
        for name, objective in CHOSEN
        if name in how.chosen(NAMES)
    }
    table = pd.DataFrame.from_dict(rows, orient="index")
    digits = dict.fromkeys(table.columns, 1) | {"rate": 3, "width": 2}
    return Table(table, digits=digits, corner="fit")


def optimiser(how: Run) -> Table:
    """Fit by the optimiser of the paper at all its rates, with one seed."""
    tried = {f"{WORDS[o]}, rate {r:g}": (o, r) for o, r in product(("bound", "RankNet"), EPOCHS)}
    rows: dict[str, Row] = {}
    for name in how.chosen(tried):
        objective, rate = tried[name]
        options = {**PAPER, "objective": objective, "learning_rate": rate, "seed": SEEDS[0]}
        compute = partial(figures_of_test, *_parts(how, "Delicious"), **options)
        row = how.once(f"optimiser {name}", compute)
        percent = {
            f"{short}@{k}": 100 * row[f"{metric}@{k}"]
            for metric, short in (("precision", "P"), ("psp", "PSP"))
            for k in DEPTHS
        }
        rows[name] = {"epochs": row["epochs"], "held out P@5": 100 * row["held out"]} | percent
    table = pd.DataFrame.from_dict(rows, orient="index")
    return Table(table, digits={"epochs": 0}, corner="Delicious")


TABLES: dict[str, Callable[[Run], Table]] = {
    "precision": partial(
        _table, metrics={"precision": "P", "ndcg": "nDCG"}, on_page=("P@1", "P@5")
    ),
    "propensities": partial(
        _table, metrics={"psp": "PSP", "psndcg": "PSnDCG"}, on_page=("PSP@1", "PSP@5")
    ),
    "fits": fits,
}


def main(arguments: list[str] | None = None) -> dict[str, Table]:
    """Compute the tables and write them into ``RESULTS.md``."""
    return run(
        "multilabel", TABLES, on_demand={"choices": choices, "optimiser": optimiser},
        published=PUBLISHED, data="", files="[bd]*/*-t*.txt", arguments=arguments,
    )  # fmt: skip


if __name__ == "__main__":
    main()
