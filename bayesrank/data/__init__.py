"""Data: rankings and pairs, read, checked and laid out.

This room may import numpy, pandas, scipy and scikit-learn, and no other room of bayesrank.
"""

from bayesrank.data.connectivity import Connectivity
from bayesrank.data.datasets import load_movielens, load_nascar, load_sushi
from bayesrank.data.formats import read_table
from bayesrank.data.pair_counts import PairCounts
from bayesrank.data.pairs import Pairs, UncomparedItemWarning
from bayesrank.data.rankings import Rankings, UninformativeRankingWarning

__all__ = [
    "Connectivity",
    "PairCounts",
    "Pairs",
    "Rankings",
    "UncomparedItemWarning",
    "UninformativeRankingWarning",
    "load_movielens",
    "load_nascar",
    "load_sushi",
    "read_table",
]
