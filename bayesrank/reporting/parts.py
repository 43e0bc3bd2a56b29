"""Parts of a report after the ranks: sections of the page with their files.

The files of a quick answer say that it is one.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from string import Formatter
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from bayesrank.reporting.page.files import figure_svg, table_bytes
from bayesrank.reporting.page.report import Section

MARK = "Quick answer: an approximation"
SAMPLE = ("chain", "draw")


@dataclass(frozen=True)
class Part(Section):
    """A section of the page, with its files and messages."""

    files: Mapping[str, bytes | pd.DataFrame] = field(default_factory=dict)
    printed: bool = True  # whether it is also printed on the terminal
    failures: Sequence[str] = ()  # misfits of the model, for the verdict
    warnings: Sequence[str] = ()  # other warnings, for the verdict
    fit: str = ""  # sentence for the verdict if there are no failures
    unclear: bool = False  # whether the checks cannot tell if the model fits
    notes: Sequence[str] = ()  # notes on the data
    data: Mapping[str, pd.DataFrame] = field(default_factory=dict)  # for JSON

    def spelled(self, spell: Callable[[str], str]) -> "Part":
        """Rewrite the texts, for example with options of the command instead of arguments."""
        return replace(
            self,
            heading=spell(self.heading),
            alt=spell(self.alt),
            paragraphs=list(map(spell, self.paragraphs)),
            failures=list(map(spell, self.failures)),
            warnings=list(map(spell, self.warnings)),
            fit=spell(self.fit),
        )


def is_quick(posterior: Any) -> bool:
    """Whether a posterior is an approximation."""
    return "approximation" in posterior["posterior"].attrs


def prior_sd_of(posterior: Any, prior_scale: float | None) -> float:
    """Prior standard deviation of the utilities, learned or given."""
    if "utility_scale" in posterior["posterior"]:
        return float(posterior["posterior"]["utility_scale"].mean())
    assert prior_scale is not None  # otherwise the posterior has a learned scale
    return prior_scale


def marked_svg(plot: Any, posterior: Any) -> bytes:
    """Render a picture, with a mark if the answer is approximate."""
    if is_quick(posterior):
        figure = plot if isinstance(plot, Figure) else plot.viz["figure"].item()
        figure.supxlabel(MARK, fontsize=9, color="#555555", x=0.01, ha="left")
    return figure_svg(plot)


def marked_table(table: pd.DataFrame, posterior: Any, form: str) -> bytes:
    """Write a table; for a quick answer a column says so, unless the table counts."""
    marked = is_quick(posterior) and not table.attrs.get("counted")
    return table_bytes(table.assign(answer="quick") if marked else table, form)


def mark_counted(table: pd.DataFrame) -> pd.DataFrame:
    """Mark a table as counts or checks of the data, which no approximation changes."""
    out = table.copy()
    out.attrs["counted"] = True
    return out


def formatted(table: pd.DataFrame, index: str, columns: Mapping[str, str]) -> pd.DataFrame:
    """Write numbers as text for the page.

    `columns` maps headings to the format of their cells, such as ``"{mean_rank:.1f}"``. A cell is
    empty if a number in it is missing. A number that rounds to zero has no minus.
    """
    rows = table.to_dict("records")
    out = pd.DataFrame(index=pd.Index(table.index, name=index))
    for heading, form in columns.items():
        form = re.sub(r"(?<=[:+])\.\d+f", r"z\g<0>", form)
        fields = [field for _, field, _, _ in Formatter().parse(form) if field]
        missing = table[fields].isna().any(axis=1)
        out[heading] = [
            "" if empty else form.format_map(row) for row, empty in zip(rows, missing, strict=True)
        ]
    return out


def interval_table(draws: Any, prob: float) -> pd.DataFrame:
    """Compute mean, standard deviation and interval of each element of a variable."""
    tail = (1 - prob) / 2
    low, high = draws.quantile([tail, 1 - tail], SAMPLE, skipna=False)
    mean, sd = draws.mean(SAMPLE, skipna=False), draws.std(SAMPLE, skipna=False)
    columns = {"mean": mean, "sd": sd, "low": low, "high": high}
    return pd.DataFrame({name: values.to_series() for name, values in columns.items()})
