"""The calls of Python that repeat a report."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from bayesrank.analysis.analysis import Analysis, Settings
from bayesrank.analysis.fit import fit
from bayesrank.analysis.leaderboard import leaderboard_model
from bayesrank.analysis.models import choice_model, dynamic_model, ranking_model
from bayesrank.reporting.options import Layout

__all__ = ["python_calls"]

MODELS: dict[str, Callable[..., Any]] = {
    "rankings": ranking_model,
    "mixture": ranking_model,
    "matches": leaderboard_model,
    "dynamic": dynamic_model,
}
# arguments of a report
SHOWN = ("title", "top", "ci_prob", "scale", "anchor", "sort", "tables", "same_units")


def python_calls(analysis: Analysis, settings: Settings, layout: Layout) -> str:
    """Write the calls that read the data, build the model, fit it and make the report.

    The reader's call is ``layout.reader``; if it is unknown, three dots stand for it.
    """
    build = MODELS[analysis.KIND]
    given = {name: getattr(analysis, name) for name in analysis.ARGUMENTS}
    if given.get("tasks"):
        build = choice_model
    model = _arguments(given, _defaults(build))
    fitted = _arguments(settings._asdict(), _defaults(fit))
    shown = {name: getattr(layout, name) for name in SHOWN}
    made = _arguments(shown, Layout.of(None)._asdict())
    return "\n".join(
        [
            "import bayesrank as br",
            "",
            f"data = {layout.reader or '...'}",
            f"model = br.{build.__name__}(data{model})",
            f"posterior = br.fit(model{fitted})",
            f'report = br.report(posterior, "report"{made})',
        ]
    )


def _defaults(function: Callable[..., Any]) -> dict[str, Any]:
    parameters = inspect.signature(function).parameters.values()
    return {one.name: one.default for one in parameters}


def _arguments(given: Mapping[str, Any], defaults: Mapping[str, Any]) -> str:
    """Write the arguments that differ from their defaults."""
    differ = {
        name: value
        for name, value in given.items()
        if name in defaults and value != defaults[name] and value not in ([], ())
    }
    return "".join(f", {name}={value!r}" for name, value in differ.items())
