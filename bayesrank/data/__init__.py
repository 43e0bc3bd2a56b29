"""Data: rankings, pairs and interactions, read, checked and laid out.

This room may import numpy, pandas, scipy and scikit-learn, and no other room of bayesrank.
"""

from bayesrank.data.datasets import (
    load_baseball,
    load_movielens,
    load_nascar,
    load_pudding,
    load_sushi,
)
from bayesrank.data.derive.connectivity import Connectivity
from bayesrank.data.interactions import (
    Interactions,
    RepeatedInteractionWarning,
    UninformativeUserWarning,
)
from bayesrank.data.pair_counts import PairCounts
from bayesrank.data.pairs import Pairs, UncomparedItemWarning
from bayesrank.data.rankings import Rankings, UninformativeRankingWarning
from bayesrank.data.read.formats import read_table
from bayesrank.data.read.preferences import LostPreferenceWarning

__all__ = [
    "Connectivity",
    "Interactions",
    "LostPreferenceWarning",
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
    "read_table",
]
