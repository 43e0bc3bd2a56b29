"""Results: what posteriors say about ranks, as tables, pictures and a page.

This room may import numpy, scipy, pandas, xarray, scikit-learn, arviz, matplotlib and
schema, and no other room of bayesrank.
"""

from bayesrank.results.adherence import adherence_summary
from bayesrank.results.baseline import random_elpd
from bayesrank.results.checks import ranking_checks
from bayesrank.results.compare import compare
from bayesrank.results.consensus import consensus_ordering, expected_kendall
from bayesrank.results.diagnostics import Convergence, convergence, precise
from bayesrank.results.files import figure_png, whole_file, write_whole
from bayesrank.results.groups import group_log_likelihood
from bayesrank.results.location import redraw_location
from bayesrank.results.loo import ParetoKWarning, loo_by_ranker
from bayesrank.results.matches import (
    Separation,
    match_probability,
    matches_between,
    matches_to_separate,
    outcome_probability,
)
from bayesrank.results.metrics import QueryMetrics, err, ndcg, query_metrics
from bayesrank.results.probabilities import place_probability, top_probability, win_probability
from bayesrank.results.ranks import rank_draws, rank_summary, tied_with_leader
from bayesrank.results.recommendation import leave_one_out, recommendation_metrics
from bayesrank.results.report import Section, report_html, table_text, verdict

__all__ = [
    "Convergence",
    "ParetoKWarning",
    "QueryMetrics",
    "Section",
    "Separation",
    "adherence_summary",
    "compare",
    "consensus_ordering",
    "convergence",
    "err",
    "expected_kendall",
    "figure_png",
    "group_log_likelihood",
    "leave_one_out",
    "loo_by_ranker",
    "match_probability",
    "matches_between",
    "matches_to_separate",
    "ndcg",
    "outcome_probability",
    "place_probability",
    "precise",
    "query_metrics",
    "random_elpd",
    "rank_draws",
    "rank_summary",
    "ranking_checks",
    "recommendation_metrics",
    "redraw_location",
    "report_html",
    "table_text",
    "tied_with_leader",
    "top_probability",
    "verdict",
    "whole_file",
    "win_probability",
    "write_whole",
]
