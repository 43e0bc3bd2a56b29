"""Sections of ``bayesrank choices``: shares, the threshold, the design."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr

from bayesrank.analysis.fitting import spaced
from bayesrank.reporting.draft import Draft
from bayesrank.reporting.parts import SAMPLE, Part, formatted, interval_table
from bayesrank.results import share_of_preference
from bayesrank.texts import paragraphs

if TYPE_CHECKING:
    from bayesrank.analysis.rankings import RankingAnalysis
    from bayesrank.data import Rankings

THRESHOLD = "threshold"  # the item that `Rankings.from_best_worst` adds


def choice_parts(report: Draft, analysis: "RankingAnalysis") -> list[Part]:
    """Return the sections that only surveys have."""
    anchored, shown, prob = analysis.threshold, shown_items(analysis), report.layout.ci_prob
    items = [item for item in report.summary.index if not anchored or item != THRESHOLD]
    draws = spaced(report.posterior)["posterior"].dataset
    utilities = list(_utilities(analysis, draws))
    above = [_threshold(draws, utilities, items, analysis, prob)] if anchored else []
    shares = _shares(utilities, items, analysis, prob, anchored=anchored)
    return [shares, *above, _design(shown)]


def shown_items(analysis: "RankingAnalysis") -> "Rankings":
    """Return the tasks with the items that were shown, without the threshold."""
    rankings = analysis.rankings
    return rankings.drop_items([THRESHOLD]) if analysis.threshold else rankings


def _utilities(
    analysis: "RankingAnalysis", draws: xr.Dataset
) -> Iterator[tuple[str, Any, xr.DataArray]]:
    """Return the name, the share and the utilities of each group, by respondent if they differ."""
    if "component_utility" in draws:
        for k in draws["component"].to_numpy():
            share = draws["share"].sel(component=k, drop=True)
            yield f"Component {k}", share, draws["component_utility"].sel(component=k, drop=True)
        return
    rankings = analysis.rankings
    apart: Any = draws["ranker_deviation"] if analysis.differ else 0.0
    if analysis.categories is None:
        yield "All", 1.0, draws["utility"] + apart
        return
    for k, label in enumerate(analysis.categories.labels):
        who = np.unique(rankings.ranker_idx[analysis.categories.idx == k])
        utility = draws["category_utility"].isel(category=k, drop=True)
        if analysis.differ:
            utility = utility + draws["ranker_deviation"].isel(ranker=who)
        yield str(label), len(who), utility


def _of_groups(values: list[Any], prob: float, name: str) -> dict[str, pd.DataFrame]:
    """Summarise draws by item, over all respondents and, if there are several groups, by group."""
    total: Any = sum(share for _, share, _ in values)
    tables = {"All": sum(share / total * found for _, share, found in values)}
    tables |= {group: found for group, _, found in values} if len(values) > 1 else {}
    return {
        group: interval_table(found, prob).drop(columns="sd").rename(columns={"mean": name})
        for group, found in tables.items()
    }


def _shares(
    utilities: Any, items: list[Any], analysis: "RankingAnalysis", prob: float, *, anchored: bool
) -> Part:
    """Show the shares of preference of all items, overall and by group."""
    found = [(g, n, share_of_preference(u, sets=items)) for g, n, u in utilities]
    tables = _of_groups(found, prob, "share")
    form = {"": "{share:.0%} ({low:.0%}–{high:.0%})"}
    shown = {group: formatted(table, "Item", form)[""] for group, table in tables.items()}
    table = pd.DataFrame(shown).rename(columns={"All": "Share"} if len(tables) == 1 else {})
    csv, file = pd.concat(tables, names=["group", "item"]), "shares.csv"
    words = {"n": len(items), "prob": prob, "threshold": anchored}
    text = paragraphs("shares", persons=analysis.differ, **words)
    data = {"preference": csv}
    return Part("Shares of preference", text, table, file=file, files={file: csv}, data=data)


def _threshold(
    draws: xr.Dataset, utilities: Any, items: list[Any], analysis: "RankingAnalysis", prob: float
) -> Part:
    """Show which items are above the threshold."""

    def above(utility: xr.DataArray) -> xr.DataArray:
        is_above = utility.sel(item=items) > utility.sel(item=THRESHOLD, drop=True)
        return is_above.mean("ranker") if "ranker" in is_above.dims else is_above.astype(float)

    csv = pd.DataFrame({"p_above": above(draws["utility"]).mean(SAMPLE).to_series()})
    columns, persons = {"P(above)": "{p_above:.2f}"}, analysis.differ or len(utilities) > 1
    if persons:
        found = [(group, share, above(u)) for group, share, u in utilities]
        csv = csv.join(_of_groups(found, prob, "respondents")["All"])
        columns["Respondents"] = "{respondents:.0%} ({low:.0%}–{high:.0%})"
    words = {"threshold": THRESHOLD, "n": len(items), "persons": persons}
    text = paragraphs("threshold", above=int((csv["p_above"] > 0.5).sum()), **words)
    table, file = formatted(csv, "Item", columns), "threshold.csv"
    return Part("Items that matter", text, table, file=file, files={file: csv})


def _design(rankings: "Rankings") -> Part:
    """Say what the design can tell: how often items and pairs were shown."""
    design = rankings.design()
    columns = {"Tasks": "{shown:,.6g}", "Respondents": "{rankers:,}", "Never with": "{never}"}
    table = design.items.assign(never=(design.pairs == 0).sum(axis=1) - 1)
    file = "design.csv"
    text = [line.replace("ranking", "task") for line in design.balance]
    return Part(
        "What the design can tell",
        text,
        formatted(table, "Item", columns),
        file=file,
        files={file: table},
        printed=False,
        notes=text[1:2] if table["never"].any() else (),
    )
