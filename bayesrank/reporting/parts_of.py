"""Which sections and which headline a report has, by the kind of its analysis."""

from collections.abc import Callable
from typing import Any

from bayesrank.reporting.draft import Draft
from bayesrank.reporting.dynamic_sections import dynamic_parts
from bayesrank.reporting.match_sections import categories_headline, match_parts
from bayesrank.reporting.mixture_sections import components_headline, mixture_parts
from bayesrank.reporting.parts import Part
from bayesrank.reporting.ranking_sections import ranking_parts

PARTS: dict[str, Callable[[Any, Any], list[Part]]] = {
    "rankings": ranking_parts,
    "mixture": mixture_parts,
    "matches": match_parts,
    "dynamic": dynamic_parts,
}


def parts_of(report: Draft) -> list[Part]:
    """Return the sections after the ranks."""
    return PARTS[report.analysis.KIND](report, report.analysis)


def headline_of(report: Draft) -> str:
    """Return sentences to add to the verdict."""
    analysis: Any = report.analysis
    if analysis.KIND == "mixture":
        return components_headline(report.posterior, report.layout, analysis.words.ranker)
    if analysis.KIND in ("rankings", "matches") and analysis.categories:
        return categories_headline(report.posterior, report.layout, analysis.category_name)
    if analysis.KIND == "dynamic":
        return str(analysis.leader_left(report.posterior))
    return ""
