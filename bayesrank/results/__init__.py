"""Results: what posteriors say about ranks, as tables, pictures and a page.

This room may import numpy, scipy, pandas, xarray, scikit-learn, arviz and matplotlib, and no
other room of bayesrank.
"""

from bayesrank.results.adherence import adherence_summary
from bayesrank.results.compare import compare
from bayesrank.results.diagnostics import Convergence, convergence
from bayesrank.results.files import figure_png, whole_file, write_whole
from bayesrank.results.groups import group_log_likelihood
from bayesrank.results.metrics import QueryMetrics, err, ndcg, query_metrics
from bayesrank.results.next_match import match_probability
from bayesrank.results.plot_adherence import plot_adherence
from bayesrank.results.plots import plot_ranks
from bayesrank.results.ranks import rank_draws, rank_summary, win_probability
from bayesrank.results.recommendation import leave_one_out, recommendation_metrics
from bayesrank.results.report import report_html, table_text, verdict
from bayesrank.results.sections import Section
from bayesrank.results.separation import Separation, matches_between, matches_to_separate

__all__ = [
    "Convergence",
    "QueryMetrics",
    "Section",
    "Separation",
    "adherence_summary",
    "compare",
    "convergence",
    "err",
    "figure_png",
    "group_log_likelihood",
    "leave_one_out",
    "match_probability",
    "matches_between",
    "matches_to_separate",
    "ndcg",
    "plot_adherence",
    "plot_ranks",
    "query_metrics",
    "rank_draws",
    "rank_summary",
    "recommendation_metrics",
    "report_html",
    "table_text",
    "verdict",
    "whole_file",
    "win_probability",
    "write_whole",
]
