"""The figures in ``RESULTS.md``: Delicious and Bibtex, four objectives, three seeds.

``python -m models.multilabel.study DATA FOLDER``, with DATA the folder of ``delicious`` and
``bibtex``, writes ``choices.csv`` and ``figures.csv`` into FOLDER and prints means and standard
deviations. A run that ended early goes on where it was.

Every tenth training sample is held back. They say when a fit stops, by its own objective, and,
for each objective and data set, which learning rate and width of the priors are taken, by the
precision of the first five labels. That the same samples do both makes their precision a little too
good, for all settings alike; none of the figures comes from them. The test part is read for the
figures alone, which come from other seeds than the choice.
"""

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bayesrank.data import UninformativeRankingWarning
from models.multilabel.data import Multilabel, read_multilabel
from models.multilabel.metrics import label_propensities, multilabel_metrics
from models.multilabel.model import OBJECTIVES, fit, predict
from models.shared.study_rows import write_table

NAMES = ("delicious", "bibtex")
# Rates and for how many epochs, at most: each falls to zero over them, and low ones need more
EPOCHS = {1e-2: 20, 1e-3: 40, 1e-4: 100}
WEIGHT_SCALES = (1.0, 2.0, 4.0)
# a loss of pairs sums thousands of terms a sample, beside which the same prior weighs less
WEIGHT_SCALES_OF = {"RankNet": (0.25, 0.5, 1.0), "RankSVM": (0.25, 0.5, 1.0)}
CHOOSING_SEED, SEEDS = 0, (1, 2, 3)
DEPTHS = (1, 3, 5, 10)

Row = dict[str, Any]


class Table:
    """Rows that are written as they come, and not computed again."""

    def __init__(self, path: Path) -> None:
        """Read what there is."""
        self.path = path
        self.rows: list[Row] = []
        if path.exists():
            rows = pd.read_csv(path).to_dict("records")
            self.rows = [{str(name): x for name, x in row.items()} for row in rows]

    def row(self, key: Row, compute: Callable[[], Row]) -> Row:
        """Look a row up, or compute it and write the table anew, whole or not at all."""
        for known in self.rows:
            if all(known[name] == value for name, value in key.items()):
                return known
        self.rows.append(key | compute())
        print(self.rows[-1], flush=True)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_table(pd.DataFrame(self.rows), self.path)
        return self.rows[-1]


def load(folder: Path, name: str, part: str) -> Multilabel:
    """Read the part "train" or "test"; samples without labels are no news."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UninformativeRankingWarning)
        return read_multilabel(folder / name / f"{name}-{part}.txt")


def held_back(data: Multilabel) -> NDArray[np.int64]:
    """Every tenth sample."""
    return np.arange(0, data.n_samples, 10)


def precision_of_held_back(train: Multilabel, **settings: Any) -> Row:
    """Fit, and give the precision of the first five labels of the samples held back."""
    fitted, row = _fit(train, **settings)
    rows = held_back(train)
    means = multilabel_metrics(predict(fitted, train.features[rows]), train.labels[rows], k=[5])
    return {"precision@5": float(means["precision@5"])} | row


def figures_of_test(train: Multilabel, test: Multilabel, **settings: Any) -> Row:
    """Fit, and give the precision and scored precision of the first labels of the test part."""
    fitted, row = _fit(train, **settings)
    scores, propensities = predict(fitted, test.features), label_propensities(train.labels)
    means = multilabel_metrics(scores, test.labels, k=DEPTHS, propensities=propensities)
    return {str(name): float(value) for name, value in means.items()} | row


def _fit(train: Multilabel, learning_rate: float, **settings: Any) -> tuple[xr.DataTree, Row]:
    begin = time.process_time()
    fitted = fit(
        train, learning_rate=learning_rate, epochs=EPOCHS[learning_rate],
        validation=held_back(train), progressbar=False, **settings,
    )  # fmt: skip
    training = fitted["training"].dataset
    return fitted, {
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

    The widths are compared at the first rate, then the rates at the best width, and so on until
    neither changes: low rates take long, and not every width is tried with them.

    Parameters
    ----------
    precision : callable
        From rate and width to the precision of what is held back.
    rates, widths : list of float
        What is tried. While the best width is at an end, the next beyond it, half or twice it, is
        tried too.

    Returns
    -------
    (float, float)
        Rate and width; of equals the first.
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


def summary(figures: pd.DataFrame) -> pd.DataFrame:
    """Give means (standard deviations) over seeds, in percent, and CPU seconds of a fit."""
    groups = figures.groupby(["data", "objective", "learning_rate", "weight_scale"], sort=False)
    percent = [name for name in figures if "@" in str(name)]
    means, sds = 100 * groups[percent].mean(), 100 * groups[percent].std()
    out = pd.DataFrame(
        {
            name: [f"{m:.2f} ({s:.2f})" for m, s in zip(means[name], sds[name], strict=True)]
            for name in percent
        },
        index=means.index,
    )
    return out.assign(seconds=groups["seconds"].mean().round(), epochs=groups["epochs"].mean())


def main(arguments: list[str] | None = None) -> None:
    """Choose, fit, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--names", type=_words, default=NAMES)
    parser.add_argument("--objectives", type=_words, default=tuple(OBJECTIVES))
    parser.add_argument("--rates", type=_numbers, default=tuple(EPOCHS))
    parser.add_argument("--units", type=int, default=256)
    given = parser.parse_args(arguments)
    choices, figures = (Table(given.folder / f"{x}.csv") for x in ("choices", "figures"))
    rows: list[Row] = []
    for name in given.names:
        for objective in given.objectives:
            rows += _study(given, name, objective, choices, figures)
    print(summary(pd.DataFrame(rows)).to_string())


def _study(
    given: argparse.Namespace, name: str, objective: str, choices: Table, figures: Table
) -> list[Row]:
    train = load(given.data, name, "train")

    def row(table: Table, compute: Callable[..., Row], *data: Multilabel, **own: Any) -> Row:
        key = {"data": name, "objective": objective} | own
        settings = {"objective": objective, "n_units": given.units} | own
        return table.row(key, lambda: compute(*data, **settings))

    def precision(rate: float, scale: float) -> float:
        own = {"learning_rate": rate, "weight_scale": scale, "seed": CHOOSING_SEED}
        return float(row(choices, precision_of_held_back, train, **own)["precision@5"])

    rate, scale = choose(precision, given.rates, WEIGHT_SCALES_OF.get(objective, WEIGHT_SCALES))
    test = load(given.data, name, "test")
    best = {"learning_rate": rate, "weight_scale": scale}
    return [row(figures, figures_of_test, train, test, **best, seed=seed) for seed in SEEDS]


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(map(float, _words(text)))


if __name__ == "__main__":
    main()
