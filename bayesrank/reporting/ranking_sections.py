"""Sections of rankings and of tasks."""

from typing import Any

import numpy as np
import pandas as pd

from bayesrank.analysis.rankings import RankingAnalysis
from bayesrank.reporting import sections
from bayesrank.reporting.choice_sections import choice_parts, shown_items
from bayesrank.reporting.counted_sections import counted_rankings
from bayesrank.reporting.draft import Draft
from bayesrank.reporting.match_sections import categories
from bayesrank.reporting.parts import Part
from bayesrank.reporting.score_sections import score_parts
from bayesrank.texts import sentence


def ranking_parts(report: Draft, analysis: RankingAnalysis) -> list[Part]:
    """Return the sections after the ranks."""
    rankings, words = analysis.rankings, analysis.words
    posterior, summary, layout = report.posterior, report.summary, report.layout
    out, survey, n_rankings = [], None, int(rankings.count.sum())
    if analysis.tasks:
        several = rankings.n_rankings > len(rankings.rankers)
        survey = analysis.columns.get("ranker", words.ranker) if several else None
        out += choice_parts(report, analysis)
    if "case" in rankings.roles:
        out += score_parts(report, rankings)
    if analysis.differ:
        out.append(_opinions(analysis, posterior))
    group = analysis.categories
    if group is not None:
        n = np.bincount(group.idx, rankings.evidence, len(group.labels))
        many = words.rankings.capitalize()
        out += categories(posterior, analysis.category_name, group.labels, n, many, summary, layout)
    return [
        *out,
        # opinions predict a ranking from others of the same ranker
        sections.predictions(
            report.predicted,
            "ranking" if analysis.differ and not analysis.folds else "ranker",
            words,
            among=n_rankings,
            survey=survey,
        ),
        sections.checks(report.predicted, analysis.remedy, words, among=n_rankings),
        *counted_rankings(shown_items(analysis), summary, words),
        sections.places(posterior, summary),
        *sections.wins(posterior, summary),
    ]


def _opinions(analysis: RankingAnalysis, posterior: Any) -> Part:
    """Say how much rankers differ."""
    spread = posterior["posterior"][f"{analysis.unit}_spread"]
    mean, sd, noun = float(spread.mean()), float(spread.std()), analysis.cluster_name
    n = len(analysis.cluster_sizes)
    row = {"labels": n, "rankings_each": float(analysis.cluster_sizes.mean())}
    row |= {"spread": mean, "spread_sd": sd}
    table = pd.DataFrame(row, index=pd.Index([noun], name="group"))
    text = [sentence("opinions", noun=noun, words=analysis.words, mean=mean, sd=sd, n=n)]
    file = "opinions.csv"
    return Part(
        f"Opinions by {noun}", text, file=file, files={file: table}, data={"opinions": table}
    )
