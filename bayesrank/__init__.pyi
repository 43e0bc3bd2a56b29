# The public names, listed once: what `bayesrank/__init__.py` loads on first use, and what type
# checkers and editors read. In a stub "as" makes a name public.

from . import jax as jax, utility as utility
from .analysis.auditing import audit as audit
from .analysis.fit import fit as fit
from .analysis.leaderboard import leaderboard_model as leaderboard_model
from .analysis.models import (
    choice_model as choice_model,
    dynamic_model as dynamic_model,
    ranking_model as ranking_model,
)
from .analysis.scores import scores_model as scores_model
from .data import (
    Interactions as Interactions,
    PairCounts as PairCounts,
    Pairs as Pairs,
    Rankings as Rankings,
    load_baseball as load_baseball,
    load_movielens as load_movielens,
    load_nascar as load_nascar,
    load_pudding as load_pudding,
    load_sushi as load_sushi,
)
from .distributions import (
    BPR as BPR,
    MPM as MPM,
    PMOP as PMOP,
    BradleyTerry as BradleyTerry,
    Davidson as Davidson,
    GeneralizedMallows as GeneralizedMallows,
    GroundedRaoKupper as GroundedRaoKupper,
    Mallows as Mallows,
    MaxDiff as MaxDiff,
    Mixture as Mixture,
    OrderedPairs as OrderedPairs,
    PlackettLuce as PlackettLuce,
    RaoKupper as RaoKupper,
    Thurstone as Thurstone,
    cutpoints as cutpoints,
    declare_outcomes as declare_outcomes,
    set_observed as set_observed,
)
from .inference import (
    ForwardValidation as ForwardValidation,
    DynamicFit as DynamicFit,
    LeapAndShift as LeapAndShift,
    consensus_log_likelihood as consensus_log_likelihood,
    sample_consensus as sample_consensus,
    fit_mixture as fit_mixture,
    forward_validation as forward_validation,
    fit_dynamic as fit_dynamic,
    kfold as kfold,
    find_MAP_many as find_MAP_many,
    component_probabilities as component_probabilities,
    fit_pairs as fit_pairs,
    fit_rankings as fit_rankings,
    fit_inla as fit_inla,
    fit_minibatch as fit_minibatch,
)
from .tables import (
    look as look,
    read_choices as read_choices,
    read_matches as read_matches,
    read_rankings as read_rankings,
    read_scores as read_scores,
)
from .plots import (
    plot_adherence as plot_adherence,
    plot_compare as plot_compare,
    plot_dynamic as plot_dynamic,
    plot_components as plot_components,
    plot_places as plot_places,
    plot_match_checks as plot_match_checks,
    plot_ranking_checks as plot_ranking_checks,
    plot_ranks as plot_ranks,
    plot_tied as plot_tied,
    plot_wins as plot_wins,
)
from .reporting.report import report as report
from .results import (
    adherence_summary as adherence_summary,
    attribute_importance as attribute_importance,
    column_checks as column_checks,
    column_notes as column_notes,
    compare as compare,
    compare_components as compare_components,
    consensus_ordering as consensus_ordering,
    convergence as convergence,
    effective_judges as effective_judges,
    elo_scale as elo_scale,
    expected_reciprocal_rank as expected_reciprocal_rank,
    expected_kendall as expected_kendall,
    component_checks as component_checks,
    flip_rates as flip_rates,
    loo as loo,
    loo_by_ranker as loo_by_ranker,
    match_checks as match_checks,
    match_probability as match_probability,
    matches_needed as matches_needed,
    ndcg as ndcg,
    next_matches as next_matches,
    place_probability as place_probability,
    predicted_ranks as predicted_ranks,
    predicted_statistic as predicted_statistic,
    query_metrics as query_metrics,
    baseline_elpd as baseline_elpd,
    rank_clusters as rank_clusters,
    rank_draws as rank_draws,
    rank_summary as rank_summary,
    ranking_checks as ranking_checks,
    rankings_needed as rankings_needed,
    resample_location as resample_location,
    recommendation_metrics as recommendation_metrics,
    relabel_components as relabel_components,
    share_of_preference as share_of_preference,
    target_check as target_check,
    tied_sets as tied_sets,
    tied_with_leader as tied_with_leader,
    tiers as tiers,
    votes_worth as votes_worth,
    willingness_to_pay as willingness_to_pay,
    win_probability as win_probability,
    worst_checks as worst_checks,
)
from .utility import (
    part_worths as part_worths,
)

__version__: str
