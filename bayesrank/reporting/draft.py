"""What the sections of a report start from: a posterior, its analysis, and the table of ranks."""

from functools import cached_property
from typing import Any

import pandas as pd

from bayesrank.analysis.analysis import Analysis, Settings
from bayesrank.analysis.fitting import fit_analysis, predict
from bayesrank.analysis.listener import Listener
from bayesrank.reporting.options import Layout
from bayesrank.reporting.parts import interval_table, is_quick, prior_sd_of
from bayesrank.results import comparisons, countable, elo_scale, rank_clusters, rank_summary
from bayesrank.results.draws import centred
from bayesrank.results.ranks.clusters import LEAST_DRAWS, MOST_ITEMS
from bayesrank.texts import sentence

__all__ = ["Draft"]

DIMS = {"chain", "draw", "item"}
SWEEPS, TUNE = 400, 50  # of `rank_clusters`; a probability of 0.95 has a standard error of 0.01


class Draft:
    """A report without its sections.

    Attributes
    ----------
    posterior : DataTree
    analysis : Analysis
    settings : Settings
        How it was fitted.
    layout : Layout
    listener : Listener
    quick : bool
        Whether the posterior is an approximation.
    seen : Series
        Number of rankings or matches of each item.
    compared : PairWins or None
        Comparisons of each two items, if they can be counted.
    summary : DataFrame
        From `rank_summary`, with counts and the columns that the layout asks for.
    """

    def __init__(
        self,
        posterior: Any,
        analysis: Analysis,
        settings: Settings,
        layout: Layout,
        listener: Listener,
    ) -> None:
        items = analysis.data.coords["item"]
        if layout.anchor is not None and layout.anchor not in items:
            raise ValueError(f"`anchor` must be an item, but there is no {layout.anchor!r}.")
        self.posterior, self.analysis, self.settings = posterior, analysis, settings
        self.layout, self.listener = layout, listener
        self.quick = is_quick(posterior)
        self.compared = comparisons(analysis.data) if countable(analysis.data) else None
        self.seen = analysis.seen()
        self.summary = self._summary()

    def _summary(self) -> pd.DataFrame:
        """Table of ranks with counts and the columns that the layout asks for."""
        layout, posterior, seen = self.layout, self.posterior, self.seen
        table = rank_summary(
            posterior,
            top=layout.top,
            ci_prob=layout.ci_prob,
            prior_sd=self.prior_sd,
            compared=self.compared,
            equal=self.equal,
        )
        table.insert(list(table.columns).index("mean"), str(seen.name), seen[table.index])
        if (last_seen := self.analysis.last_seen()) is not None:
            table["last_seen"] = last_seen[table.index]
        if layout.scale == "elo":
            table = table.join(self._elo())
        if layout.sort == "lower":
            table["lower"] = table["elo_low"] if layout.scale == "elo" else self._lower()
        return table

    @cached_property
    def equal(self) -> Any:
        """Draws in which items can be equal, for rankings by scores; None for other data.

        Without them, the leader of equal items would be called better than another in more than 5%
        of the tables (``models/scores``).
        """
        posterior = self.posterior["posterior"]
        if "case" not in self.analysis.columns or set(posterior["utility"].dims) - DIMS:
            return None
        n, n_draws = posterior.sizes["item"], posterior.sizes["chain"] * posterior.sizes["draw"]
        if n < 2:
            return None
        if n > MOST_ITEMS or n_draws < LEAST_DRAWS * n:
            self.listener.note(sentence("never_equal", most=MOST_ITEMS, least=LEAST_DRAWS * n))
            return None
        self.listener.stage("Comparing with equal items ...")
        seed = self.settings.random_seed
        return rank_clusters(
            posterior, prior_sd=self.prior_sd, draws=SWEEPS, tune=TUNE, random_seed=seed
        )["utility"]

    @cached_property
    def prior_sd(self) -> float:
        """Prior standard deviation of the utilities."""
        return prior_sd_of(self.posterior, self.analysis.utility_scale)

    def _elo(self) -> pd.DataFrame:
        """Elo ratings with intervals."""
        ratings = elo_scale(self.posterior, anchor=self.layout.anchor)
        table = interval_table(ratings, self.layout.ci_prob)
        columns = {"mean": "elo", "low": "elo_low", "high": "elo_high"}
        return table.drop(columns="sd").rename(columns=columns)

    def _lower(self) -> pd.Series:
        """Lower ends of the intervals of the centred utilities."""
        utility = self.posterior["posterior"]["utility"]
        return interval_table(centred(utility, "item"), self.layout.ci_prob)["low"]

    @cached_property
    def predicted(self) -> Any:
        """Return the posterior with its log-likelihood and predictions."""
        if self.analysis.accuracy:
            return self.posterior
        self.listener.stage("Predicting ...")
        return predict(self.analysis, self.posterior, self.settings.random_seed)

    def sample(self, analysis: Analysis) -> Any:
        """Draw from the posterior of another analysis, for a section that compares the two."""
        self.listener.stage("Fitting another model for comparison:")
        other = fit_analysis(analysis, self.settings, self.listener)
        self.listener.heed()
        return other
