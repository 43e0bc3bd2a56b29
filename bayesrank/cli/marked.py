"""Files of a posterior: pictures and tables, that say so where they are of a quick answer."""

from typing import Any

import pandas as pd

from bayesrank.results import csv_bytes, figure_png

__all__ = ["is_quick", "marked_csv", "marked_png"]

MARK = "Quick answer: an approximation"


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
