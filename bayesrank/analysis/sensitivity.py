"""Whether the leader depends on a choice: the prior scale, or what omitted items and codes mean.

Other choices are fitted with a normal around the mode, which takes about a second. They are
compared with the same fit of the choices that were made.
"""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from bayesrank.analysis.analysis import Analysis
from bayesrank.analysis.matches import MatchAnalysis
from bayesrank.data import Pairs, Rankings
from bayesrank.results import comparisons, countable, rank_clusters, rank_summary

MOST_ENTRIES, MOST_ITEMS = 20_000, 200  # beyond, another fit is not cheap
CHAINS, DRAWS = 4, 500  # for probabilities with two digits
SWEEPS, TUNE = 200, 20  # of `rank_clusters`, at most
MOVES = 6_000  # of items in these sweeps: half a second
SCALES = {"prior scale halved": 0.5, "prior scale doubled": 2.0}
AS_MADE = "as analysed"


def compare_choices(
    analysis: Analysis,
    scale: float,
    random_seed: int,
    others: Mapping[str, Rankings],
    **summary: Any,
) -> dict[str, pd.DataFrame]:
    """Summarise the ranks under other choices; empty if that is not cheap.

    The first entry has the choices that were made. `summary` has arguments of `rank_summary`.
    """
    data = analysis.data
    cheap = analysis.entries <= MOST_ENTRIES and 2 < data.n_items <= MOST_ITEMS
    if not analysis.simple or not cheap:
        return {}
    order = isinstance(analysis, MatchAnalysis) and analysis.order_effect

    def ranks(data: Pairs | Rankings, scale: float) -> pd.DataFrame:
        utility = _utility(data, scale, random_seed, order_effect=order)
        compared = comparisons(data) if countable(data) else None
        equal = None
        if "case" in analysis.columns:  # as in the report
            sweeps = min(SWEEPS, MOVES // data.n_items)
            equal = rank_clusters(
                utility, prior_sd=scale, draws=sweeps, tune=TUNE, random_seed=random_seed
            )["utility"]
        return rank_summary(utility, prior_sd=scale, compared=compared, equal=equal, **summary)

    out = {AS_MADE: ranks(data, scale)}
    for label, factor in SCALES.items():
        out[label] = ranks(data, factor * scale)
    for label, read in others.items():
        out[label] = ranks(read, scale)
    return out


def _utility(data: Pairs | Rankings, scale: float, random_seed: int, *, order_effect: bool) -> Any:
    """Fit one choice, and return draws of the utilities."""
    from bayesrank.inference import fit_pairs, fit_rankings

    settings = {"draws": DRAWS, "chains": CHAINS, "random_seed": random_seed}
    if isinstance(data, Pairs):
        fit = fit_pairs(data, utility_scale=scale, order_effect=order_effect, **settings)
    else:
        fit = fit_rankings(data, utility_scale=scale, **settings)
    return fit["posterior"]["utility"]
