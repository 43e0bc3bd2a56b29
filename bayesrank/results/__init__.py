"""Results: posteriors of ranks as tables, checks, and model comparisons.

This room may import numpy, scipy, pandas, xarray, arviz, threadpoolctl, match_outcomes, schema and
the room data.
"""

from bayesrank.results.checks.columns import column_checks, column_notes
from bayesrank.results.checks.component_checks import component_checks
from bayesrank.results.checks.match_checks import match_checks
from bayesrank.results.checks.predicted import predicted_ranks, predicted_statistic
from bayesrank.results.checks.ranking_checks import Fits, ranking_checks, worst_checks
from bayesrank.results.choices.attributes import (
    PriceWarning,
    attribute_importance,
    willingness_to_pay,
)
from bayesrank.results.choices.shares import share_of_preference
from bayesrank.results.diagnostics import Convergence, convergence, precise
from bayesrank.results.evaluation.baseline import baseline_elpd
from bayesrank.results.evaluation.comparison import RANDOM, FewUnitsWarning, compare
from bayesrank.results.evaluation.component_labels import (
    LabelWarning,
    compare_components,
    relabel_components,
)
from bayesrank.results.evaluation.loo import ParetoKWarning, loo, loo_by_ranker
from bayesrank.results.evaluation.metrics import (
    QueryMetrics,
    expected_reciprocal_rank,
    ndcg,
    query_metrics,
)
from bayesrank.results.evaluation.recommendation import recommendation_metrics
from bayesrank.results.evaluation.target import TargetCheck, target_check
from bayesrank.results.matches.adherence import adherence_summary, effective_judges
from bayesrank.results.matches.needed import MatchesNeeded, matches_needed, rankings_needed
from bayesrank.results.matches.outcomes import match_probability, matches_of, outcome_probability
from bayesrank.results.matches.planning import next_matches
from bayesrank.results.matches.swaps import flip_rates
from bayesrank.results.matches.worth import VotesWorth, votes_worth
from bayesrank.results.ranks.borda import borda
from bayesrank.results.ranks.clusters import rank_clusters
from bayesrank.results.ranks.consensus_ordering import consensus_ordering, expected_kendall
from bayesrank.results.ranks.counted import (
    PairWins,
    comparisons,
    condorcet,
    countable,
    first_places,
    pair_wins,
)
from bayesrank.results.ranks.elo import elo_scale
from bayesrank.results.ranks.location import resample_location
from bayesrank.results.ranks.probabilities import place_probability, win_probability
from bayesrank.results.ranks.rank_table import (
    rank_draws,
    rank_summary,
    tied_sets,
    tied_with_leader,
)
from bayesrank.results.ranks.tiers import tiers

__all__ = [
    "RANDOM",
    "Convergence",
    "FewUnitsWarning",
    "Fits",
    "LabelWarning",
    "MatchesNeeded",
    "PairWins",
    "ParetoKWarning",
    "PriceWarning",
    "QueryMetrics",
    "TargetCheck",
    "VotesWorth",
    "adherence_summary",
    "attribute_importance",
    "baseline_elpd",
    "borda",
    "column_checks",
    "column_notes",
    "compare",
    "compare_components",
    "comparisons",
    "component_checks",
    "condorcet",
    "consensus_ordering",
    "convergence",
    "countable",
    "effective_judges",
    "elo_scale",
    "expected_kendall",
    "expected_reciprocal_rank",
    "first_places",
    "flip_rates",
    "loo",
    "loo_by_ranker",
    "match_checks",
    "match_probability",
    "matches_needed",
    "matches_of",
    "ndcg",
    "next_matches",
    "outcome_probability",
    "pair_wins",
    "place_probability",
    "precise",
    "predicted_ranks",
    "predicted_statistic",
    "query_metrics",
    "rank_clusters",
    "rank_draws",
    "rank_summary",
    "ranking_checks",
    "rankings_needed",
    "recommendation_metrics",
    "relabel_components",
    "resample_location",
    "share_of_preference",
    "target_check",
    "tied_sets",
    "tied_with_leader",
    "tiers",
    "votes_worth",
    "willingness_to_pay",
    "win_probability",
    "worst_checks",
]
