"""Results: what posteriors say about ranks, as tables, pictures and a page.

This room may import numpy, scipy, pandas, xarray, scikit-learn, arviz, matplotlib, threadpoolctl
and schema, and no other room of bayesrank.
"""

from bayesrank.results.adherence import adherence_summary, effective_judges
from bayesrank.results.baseline import random_elpd
from bayesrank.results.checks import Fits, ranking_checks, worst_checks
from bayesrank.results.compare import compare
from bayesrank.results.consensus import consensus_ordering, expected_kendall
from bayesrank.results.cuts import tiers
from bayesrank.results.diagnostics import Convergence, convergence, precise
from bayesrank.results.elo import elo_scale
from bayesrank.results.files import csv_bytes, figure_png, plain, whole_file, write_whole
from bayesrank.results.groups import group_log_likelihood
from bayesrank.results.kind_checks import kind_checks
from bayesrank.results.kinds import LabelWarning, compare_kinds, relabel
from bayesrank.results.location import redraw_location
from bayesrank.results.loo import ParetoKWarning, loo_by_ranker
from bayesrank.results.match_checks import match_checks
from bayesrank.results.matches import (
    Separation,
    match_probability,
    matches_between,
    matches_to_separate,
    outcome_probability,
)
from bayesrank.results.metrics import QueryMetrics, err, ndcg, query_metrics
from bayesrank.results.planning import Settling, matches_to_settle, next_matches
from bayesrank.results.predicted import predicted_ranks
from bayesrank.results.probabilities import place_probability, top_probability, win_probability
from bayesrank.results.ranks import rank_draws, rank_summary, standing, tied_with_leader
from bayesrank.results.recommendation import leave_one_out, recommendation_metrics
from bayesrank.results.report import Section, report_html, table_text, verdict

__all__ = [
    "Convergence",
    "Fits",
    "LabelWarning",
    "ParetoKWarning",
    "QueryMetrics",
    "Section",
    "Separation",
    "Settling",
    "adherence_summary",
    "compare",
    "compare_kinds",
    "consensus_ordering",
    "convergence",
    "csv_bytes",
    "effective_judges",
    "elo_scale",
    "err",
    "expected_kendall",
    "figure_png",
    "group_log_likelihood",
    "kind_checks",
    "leave_one_out",
    "loo_by_ranker",
    "match_checks",
    "match_probability",
    "matches_between",
    "matches_to_separate",
    "matches_to_settle",
    "ndcg",
    "next_matches",
    "outcome_probability",
    "place_probability",
    "plain",
    "precise",
    "predicted_ranks",
    "query_metrics",
    "random_elpd",
    "rank_draws",
    "rank_summary",
    "ranking_checks",
    "recommendation_metrics",
    "redraw_location",
    "relabel",
    "report_html",
    "standing",
    "table_text",
    "tied_with_leader",
    "tiers",
    "top_probability",
    "verdict",
    "whole_file",
    "win_probability",
    "worst_checks",
    "write_whole",
]
