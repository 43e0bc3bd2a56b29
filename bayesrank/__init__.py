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
    from bayesrank.leaderboard import leaderboard_model
    from bayesrank.results import (
        adherence_summary,
        compare,
        err,
        group_log_likelihood,
        match_probability,
        matches_between,
        matches_to_separate,
        ndcg,
        plot_adherence,
        plot_ranks,
        query_metrics,
        rank_draws,
        rank_summary,
        recommendation_metrics,
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
    "err",
    "group_log_likelihood",
    "leaderboard_model",
    "load_baseball",
    "load_movielens",
    "load_nascar",
    "load_pudding",
    "load_sushi",
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
    "set_counts",
    "set_pairs",
    "set_rankings",
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
    "bayesrank.leaderboard": ("leaderboard_model",),
    "bayesrank.results": (
        "adherence_summary",
        "compare",
        "err",
        "group_log_likelihood",
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
