"""Whether the leader depends on a choice: the prior scale, or what omitted items and codes mean.

Other choices are fitted with a normal around the mode, which takes about a second. They are
compared with the same fit of the choices that were made.
"""

from collections.abc import Mapping

import pandas as pd

from bayesrank.analysis.analysis import Analysis
from bayesrank.analysis.matches import MatchAnalysis
from bayesrank.data import Pairs, Rankings
from bayesrank.results import rank_summary

MOST_ENTRIES, MOST_ITEMS = 20_000, 200  # beyond, another fit is not cheap
CHAINS, DRAWS = 4, 500  # for probabilities with two digits
SCALES = {"prior scale halved": 0.5, "prior scale doubled": 2.0}
AS_MADE = "as analysed"


def compare_choices(
    analysis: Analysis, scale: float, random_seed: int, others: Mapping[str, Rankings]
) -> dict[str, pd.Series]:
    """Compute P(best) under other choices, the leader first; empty if that is not cheap.

    The first entry has the choices that were made.
    """
    data = analysis.data
    cheap = analysis.entries <= MOST_ENTRIES and 2 < data.n_items <= MOST_ITEMS
    if not analysis.simple or not cheap:
        return {}
    order = isinstance(analysis, MatchAnalysis) and analysis.order_effect

    def leaders(data: Pairs | Rankings, scale: float) -> pd.Series:
        return _leaders(data, scale, random_seed, order_effect=order)

    out = {AS_MADE: leaders(data, scale)}
    for label, factor in SCALES.items():
        out[label] = leaders(data, factor * scale)
    for label, read in others.items():
        out[label] = leaders(read, scale)
    return out


def _leaders(
    data: Pairs | Rankings, scale: float, random_seed: int, *, order_effect: bool
) -> pd.Series:
    """Fit one choice, and return P(best) by mean rank."""
    from bayesrank.inference import fit_pairs, fit_rankings

    settings = {"draws": DRAWS, "chains": CHAINS, "random_seed": random_seed}
    if isinstance(data, Pairs):
        fit = fit_pairs(data, utility_scale=scale, order_effect=order_effect, **settings)
    else:
        fit = fit_rankings(data, utility_scale=scale, **settings)
    return rank_summary(fit["posterior"]["utility"], top=1)["p_best"]
