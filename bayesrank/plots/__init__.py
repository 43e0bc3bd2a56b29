"""Plots of ranks, places, wins, checks and model comparisons.

Every function ``plot_*`` returns a `PlotCollection` of arviz_plots, drawn with matplotlib. Use its
methods ``show`` and ``savefig``; its axes are in ``viz["plot"]``. A variable with other dims, such
as a category, gets one panel per label.

This room may import numpy, pandas, xarray, arviz, arviz_base, arviz_plots, matplotlib and the room
results.
"""

from bayesrank.plots.adherence import plot_adherence
from bayesrank.plots.checks import plot_match_checks, plot_ranking_checks
from bayesrank.plots.compare import plot_compare
from bayesrank.plots.components import plot_components
from bayesrank.plots.dynamic import plot_dynamic
from bayesrank.plots.fonts import use_fonts_for
from bayesrank.plots.matrix import plot_places, plot_wins
from bayesrank.plots.outcome_bars import outcome_bars
from bayesrank.plots.ranks import plot_ranks
from bayesrank.plots.tied import plot_tied

__all__ = [
    "outcome_bars",
    "plot_adherence",
    "plot_compare",
    "plot_components",
    "plot_dynamic",
    "plot_match_checks",
    "plot_places",
    "plot_ranking_checks",
    "plot_ranks",
    "plot_tied",
    "plot_wins",
    "use_fonts_for",
]
