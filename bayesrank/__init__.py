"""Ranking models as ordinary probability distributions in PyMC.

>>> import bayesrank as br
>>> br.Rankings.from_orderings([["a", "b"], ["b", "c"]]).n_items
3

Names load on first use, so that ``bayesrank --help`` does not wait for PyMC.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bayesrank.data import (
        Interactions,
        PairCounts,
        Pairs,
        Rankings,
        load_baseball,
        load_movielens,
        load_nascar,
        load_pudding,
        load_sushi,
    )
    from bayesrank.distributions import (
        BPR,
        MPM,
        PMOP,
        BradleyTerry,
        Davidson,
        PlackettLuce,
        RaoKupper,
        Thurstone,
        set_counts,
        set_pairs,
        set_rankings,
    )
    from bayesrank.inference import kfold, train
    from bayesrank.leaderboard import leaderboard_model
    from bayesrank.plots import (
        plot_adherence,
        plot_compare,
        plot_places,
        plot_ranking_checks,
        plot_ranks,
        plot_wins,
    )
    from bayesrank.results import (
        adherence_summary,
        compare,
        consensus_ordering,
        err,
        expected_kendall,
        group_log_likelihood,
        loo_by_ranker,
        match_probability,
        matches_between,
        matches_to_separate,
        ndcg,
        place_probability,
        query_metrics,
        random_elpd,
        rank_draws,
        rank_summary,
        ranking_checks,
        recommendation_metrics,
        tied_with_leader,
        top_probability,
        win_probability,
    )

__version__ = "0.1.0"

__all__ = [
    "BPR",
    "MPM",
    "PMOP",
    "BradleyTerry",
    "Davidson",
    "Interactions",
    "PairCounts",
    "Pairs",
    "PlackettLuce",
    "Rankings",
    "RaoKupper",
    "Thurstone",
    "adherence_summary",
    "compare",
    "consensus_ordering",
    "err",
    "expected_kendall",
    "group_log_likelihood",
    "kfold",
    "leaderboard_model",
    "load_baseball",
    "load_movielens",
    "load_nascar",
    "load_pudding",
    "load_sushi",
    "loo_by_ranker",
    "match_probability",
    "matches_between",
    "matches_to_separate",
    "ndcg",
    "place_probability",
    "plot_adherence",
    "plot_compare",
    "plot_places",
    "plot_ranking_checks",
    "plot_ranks",
    "plot_wins",
    "query_metrics",
    "random_elpd",
    "rank_draws",
    "rank_summary",
    "ranking_checks",
    "recommendation_metrics",
    "set_counts",
    "set_pairs",
    "set_rankings",
    "tied_with_leader",
    "top_probability",
    "train",
    "win_probability",
]

_ROOMS = {
    "bayesrank.data": (
        "Interactions",
        "PairCounts",
        "Pairs",
        "Rankings",
        "load_baseball",
        "load_movielens",
        "load_nascar",
        "load_pudding",
        "load_sushi",
    ),
    "bayesrank.distributions": (
        "BPR",
        "MPM",
        "PMOP",
        "BradleyTerry",
        "Davidson",
        "PlackettLuce",
        "RaoKupper",
        "Thurstone",
        "set_counts",
        "set_pairs",
        "set_rankings",
    ),
    "bayesrank.inference": ("kfold", "train"),
    "bayesrank.leaderboard": ("leaderboard_model",),
    "bayesrank.plots": (
        "plot_adherence",
        "plot_compare",
        "plot_places",
        "plot_ranking_checks",
        "plot_ranks",
        "plot_wins",
    ),
    "bayesrank.results": (
        "adherence_summary",
        "compare",
        "consensus_ordering",
        "err",
        "expected_kendall",
        "group_log_likelihood",
        "loo_by_ranker",
        "match_probability",
        "matches_between",
        "matches_to_separate",
        "ndcg",
        "place_probability",
        "query_metrics",
        "random_elpd",
        "rank_draws",
        "rank_summary",
        "ranking_checks",
        "recommendation_metrics",
        "tied_with_leader",
        "top_probability",
        "win_probability",
    ),
}
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _ROOM_OF:
        raise AttributeError(f"module 'bayesrank' has no attribute {name!r}")
    value = getattr(importlib.import_module(_ROOM_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
