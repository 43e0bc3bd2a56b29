"""Section on other choices that the analyst could have made."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from bayesrank.analysis.sensitivity import AS_MADE
from bayesrank.reporting.page.report import page_variant
from bayesrank.reporting.parts import Part
from bayesrank.results.ranks.rank_table import BEHIND
from bayesrank.texts import paragraphs, sentence

CLEAR = 0.05  # difference in P(best) from which another item leads clearly


def choices_section(
    found: Mapping[str, pd.DataFrame], leader: Any, *, scores: bool = False
) -> Part | None:
    """Write the table of choices, and a warning if one of them changes the leader.

    For scores it also counts the items that may be better, as the rope changes their number.
    """
    if not found:
        return None
    expected = found[AS_MADE].index[0]
    rows: dict[str, list[str]] = {}
    changed: list[tuple[str, str]] = []
    for label, summary in found.items():
        p_best = summary["p_best"]
        first = p_best.index[0]
        # two items that lead by turns are one answer: neither is clearly ahead
        lead = p_best.iloc[0] - p_best.get(expected, 0.0)
        differs = first not in (expected, leader) and lead > CLEAR
        if differs:
            changed.append((label, str(first)))
        others = [f"{int((summary['status'] != BEHIND).sum()) - 1}"] if scores else []
        rows[label] = [
            str(first), f"{p_best.iloc[0]:.2f}", *others, "yes" if differs else ""
        ]  # fmt: skip
    columns = ["Leader", "P(best)", "Changes the leader"]
    if scores:
        columns.insert(2, "Others that may be better")
    table = pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("Choice")
    return Part(
        "Other choices",
        paragraphs("choices", changed=changed),
        table,
        printed=False,
        warnings=[sentence("choice_decides", changed=changed)] if changed else (),
    )


def variants_of(found: Mapping[str, pd.DataFrame]) -> list[dict[str, Any]] | None:
    """Return the choices for the script of the page."""
    return [page_variant(label, summary) for label, summary in found.items()] or None
