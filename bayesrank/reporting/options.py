"""How a report is laid out, and what its page says of the run."""

import shlex
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from bayesrank import __version__

__all__ = ["FORMS", "LAYOUT", "Layout"]

Form = Literal["csv", "md", "xlsx"]
FORMS = ("csv", "md", "xlsx")
SCALES = ("utility", "elo")
ORDERS = ("mean", "lower")


class Layout(NamedTuple):
    """Arguments of `bayesrank.report`, then what the page says of the run.

    ``ci_prob`` is a number here, so that a saved run is reported again with the same intervals.
    ``reader`` is the call of the function that read the data.
    """

    ci_prob: float
    title: str = ""
    top: int = 3
    scale: Literal["utility", "elo"] = "utility"
    anchor: str | None = None
    sort: Literal["mean", "lower"] = "mean"
    tables: Form = "csv"
    same_units: bool = False
    command: str = ""
    reader: str = ""
    made: str = ""
    version: str = __version__

    @classmethod
    def of(cls, ci_prob: float | None, **given: Any) -> "Layout":
        """Lay out a report with the intervals of ArviZ's setting, if no probability is given."""
        if ci_prob is None:  # ArviZ takes seconds to import, which --help does without
            from bayesrank.results.draws import interval_probability

            ci_prob = interval_probability(None)
        return cls(ci_prob, **given)


def _is_command(text: Any) -> bool:
    """Whether a shell reads a text as a single call of bayesrank."""
    try:
        words = shlex.split(text)
    except (AttributeError, TypeError, ValueError):
        return False
    return words[:1] == ["bayesrank"] and shlex.join(words) == text


# Checks of the values in a file that a stranger may have written
LAYOUT: dict[str, Callable[[Any], bool]] = {
    "title": lambda value: isinstance(value, str),
    "top": lambda value: type(value) is int and value > 0,
    "ci_prob": lambda value: type(value) is float and 0 < value < 1,
    "scale": lambda value: value in SCALES,
    "anchor": lambda value: value is None or isinstance(value, str),
    "sort": lambda value: value in ORDERS,
    "tables": lambda value: value in FORMS,
    "same_units": lambda value: isinstance(value, bool),
    "command": lambda value: value == "" or _is_command(value),
    "reader": lambda value: isinstance(value, str),
    "made": lambda value: isinstance(value, str),
    "version": lambda value: isinstance(value, str),
}
