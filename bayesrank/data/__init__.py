"""Data: rankings, pairs and interactions, read, checked and laid out.

This room may import numpy, pandas, scipy and scikit-learn, and no other room of bayesrank.
"""

from bayesrank.data.connectivity import Connectivity
from bayesrank.data.datasets import (
    load_baseball,
    load_movielens,
    load_nascar,
    load_pudding,
    load_sushi,
)
from bayesrank.data.formats import read_table
from bayesrank.data.interactions import (
    Interactions,
    RepeatedInteractionWarning,
    UninformativeUserWarning,
)
from bayesrank.data.multilabel import Multilabel, read_multilabel
from bayesrank.data.pair_counts import PairCounts
from bayesrank.data.pairs import Pairs, UncomparedItemWarning
from bayesrank.data.partial_orders import LostPreferenceWarning
from bayesrank.data.rankings import Rankings, UninformativeRankingWarning
from bayesrank.data.simulate import context_effect, simulate_hypervolume, simulate_medoid
from bayesrank.data.simulate_partitions import simulate_partitions

__all__ = [
    "Connectivity",
    "Interactions",
    "LostPreferenceWarning",
    "Multilabel",
    "PairCounts",
    "Pairs",
    "Rankings",
    "RepeatedInteractionWarning",
    "UncomparedItemWarning",
    "UninformativeRankingWarning",
    "UninformativeUserWarning",
    "context_effect",
    "load_baseball",
    "load_movielens",
    "load_nascar",
    "load_pudding",
    "load_sushi",
    "read_multilabel",
    "read_table",
    "simulate_hypervolume",
    "simulate_medoid",
    "simulate_partitions",
]
