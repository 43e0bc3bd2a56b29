"""Data: rankings, pairs and interactions, read, checked and laid out.

Four classes hold observed data: `Rankings`, `Pairs`, `PairCounts` and `Interactions`.
`bayesrank.data.read` reads their input, and `bayesrank.data.derive` computes quantities from their
arrays. Both contain functions only and do not import the classes. Other rooms import from these
three packages and not from the modules inside them.

This room may import fsspec, numpy, pandas, pyarrow and scipy, and no other room of bayesrank.
"""

from bayesrank.data.datasets import (
    load_baseball,
    load_movielens,
    load_nascar,
    load_pudding,
    load_sushi,
)
from bayesrank.data.derive.graph import Connectivity
from bayesrank.data.derive.layout import UninformativeRankingWarning
from bayesrank.data.interactions import (
    Interactions,
    RepeatedInteractionWarning,
    UninformativeUserWarning,
)
from bayesrank.data.pair_counts import PairCounts
from bayesrank.data.pairs import Pairs, UncomparedItemWarning
from bayesrank.data.rankings import Rankings

__all__ = [
    "Connectivity",
    "Interactions",
    "PairCounts",
    "Pairs",
    "Rankings",
    "RepeatedInteractionWarning",
    "UncomparedItemWarning",
    "UninformativeRankingWarning",
    "UninformativeUserWarning",
    "load_baseball",
    "load_movielens",
    "load_nascar",
    "load_pudding",
    "load_sushi",
]
