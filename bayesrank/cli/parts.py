"""Parts of a report besides the ranks: a section of the page, and the files beside it.

Files of a quick answer say so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from string import Formatter
from typing import Any

import pandas as pd

from bayesrank.results import Section, csv_bytes, figure_png

MARK = "Quick answer: an approximation"
SAMPLE = ("chain", "draw")


@dataclass(frozen=True)
class Part(Section):
    """A section of the page, and what belongs to it."""

    files: Mapping[str, bytes | pd.DataFrame] = field(default_factory=dict)
    printed: bool = True  # on the terminal as well
    failures: Sequence[str] = ()  # of the model, which stand in the verdict
    fit: str = ""  # what stands there if there are none
    notes: Sequence[str] = ()  # on the data
    data: Mapping[str, pd.DataFrame] = field(default_factory=dict)  # for --json


def is_quick(posterior: Any) -> bool:
    """Whether a posterior is an approximation, not sampled."""
    return "approximation" in posterior["posterior"].attrs


def marked_png(plot: Any, posterior: Any) -> bytes:
    """Render a picture."""
    if is_quick(posterior):
        figure = plot.viz["figure"].item()
        figure.supxlabel(MARK, fontsize=9, color="#555555", x=0.01, ha="left")
    return figure_png(plot)


def marked_csv(table: pd.DataFrame, posterior: Any) -> bytes:
    """Write a table; one of a quick answer has a column that says so."""
    return csv_bytes(table.assign(answer="quick") if is_quick(posterior) else table)


def formatted(table: pd.DataFrame, index: str, columns: Mapping[str, str]) -> pd.DataFrame:
    """Write numbers as text for the page.

    `columns` has headings, and the format of a row below each, such as ``"{mean_rank:.1f}"``; where
    a number is missing the cell is empty.
    """
    rows = table.to_dict("records")
    out = pd.DataFrame(index=pd.Index(table.index, name=index))
    for heading, form in columns.items():
        fields = [field for _, field, _, _ in Formatter().parse(form) if field]
        missing = table[fields].isna().any(axis=1)
        out[heading] = [
            "" if empty else form.format_map(row) for row, empty in zip(rows, missing, strict=True)
        ]
    return out


def interval_table(draws: Any, prob: float) -> pd.DataFrame:
    """Mean, standard deviation and interval of every number, by its labels."""
    tail = (1 - prob) / 2
    low, high = draws.quantile([tail, 1 - tail], SAMPLE, skipna=False)
    mean, sd = draws.mean(SAMPLE, skipna=False), draws.std(SAMPLE, skipna=False)
    columns = {"mean": mean, "sd": sd, "low": low, "high": high}
    return pd.DataFrame({name: values.to_series() for name, values in columns.items()})
