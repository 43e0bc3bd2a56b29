"""The figures of `models.multilabel`: Delicious and Bibtex, four objectives.

``python -m models.multilabel_study FOLDER [NAME ...]``, with the folder of ``delicious`` and
``bibtex``. A learning rate is chosen for each objective by the precision of the first five labels
on every tenth training sample, held back; the same samples say when to stop.
"""

import sys
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesrank.data.layout import UninformativeRankingWarning
from bayesrank.data.multilabel import Multilabel, read_multilabel
from bayesrank.results.multilabel_metrics import label_propensities, multilabel_metrics
from models.multilabel import OBJECTIVES, fit, predict

LEARNING_RATES = (1e-4, 1e-3, 1e-2)
SEEDS = (1, 2, 3)
EPOCHS = 20
DEPTHS = (1, 3, 5, 10)


class Run(NamedTuple):
    """One fit."""

    chosen_by: float  # precision@5 of what was held back
    means: "pd.Series[float]"  # of the test part
    seconds: float  # CPU


def load(folder: Path, name: str) -> tuple[Multilabel, Multilabel]:
    """Read the training and the test part; samples without labels are no news."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UninformativeRankingWarning)
        train, test = (
            read_multilabel(folder / name / f"{name}-{part}.txt") for part in ("train", "test")
        )
    return train, test


def held_back(data: Multilabel) -> NDArray[np.int64]:
    """Every tenth sample."""
    return np.arange(0, data.n_samples, 10)


def run(
    train: Multilabel,
    test: Multilabel,
    objective: str,
    learning_rate: float,
    seed: int,
    *,
    epochs: int = EPOCHS,
    n_units: int = 256,
) -> Run:
    """Fit once, and measure."""
    begin, rows = time.process_time(), held_back(train)
    fitted = fit(
        train, objective=objective, learning_rate=learning_rate, epochs=epochs, n_units=n_units,
        validation=rows, seed=seed, progressbar=False,
    )  # fmt: skip
    seconds = time.process_time() - begin
    own = multilabel_metrics(predict(fitted, train.features[rows]), train.labels[rows], k=[5])
    means = multilabel_metrics(
        predict(fitted, test.features),
        test.labels,
        k=DEPTHS,
        propensities=label_propensities(train.labels),
    )
    return Run(float(own["precision@5"]), means, seconds)


def main(folder: Path, names: list[str]) -> None:
    """Print a row for every fit."""
    for name in names:
        train, test = load(folder, name)
        for objective in OBJECTIVES:
            first = []
            for rate in LEARNING_RATES:
                first.append(run(train, test, objective, rate, SEEDS[0]))
                print(name, objective, row(rate, SEEDS[0], first[-1]), flush=True)
            rate = LEARNING_RATES[int(np.argmax([one.chosen_by for one in first]))]
            for seed in SEEDS[1:]:
                one = run(train, test, objective, rate, seed)
                print(name, objective, row(rate, seed, one), flush=True)


def row(rate: float, seed: int, one: Run) -> str:
    """Write a fit in percent: precision and scored precision, at 1, 3, 5 and 10."""
    cells = " ".join(f"{100 * x:.2f}" for x in one.means)
    return (
        f"{rate:.0e} seed {seed}: {cells}; held back {100 * one.chosen_by:.2f}; "
        f"{one.seconds:.0f} CPU s"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:] or ["delicious", "bibtex"])
