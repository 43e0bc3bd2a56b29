"""The command ``bayesrank rank``: its model and its report."""

from functools import cached_property
from typing import TYPE_CHECKING, Any

from bayesrank.cli.job import Job, open_ranks, times_ranked
from bayesrank.cli.options import Fit
from bayesrank.cli.texts import sentence

if TYPE_CHECKING:
    import pandas as pd

    from bayesrank.cli.parts import Part
    from bayesrank.cli.report import Report
    from bayesrank.data import Rankings

# PyMC takes seconds to import. Functions import what they need, so that --help is instant.

# Most items for which NUTS needs small steps to learn the scale of the utilities. With 300 ballots
# of five items it diverges at its default `target_accept` (0.8), but not at 0.95 in the same time.
FEW_ITEMS = 20
LEAST_RANKERS = 1000  # fewest rankers that can represent all


class RankJob(Job):
    """Plackett-Luce, with utilities by category if the rankings have categories."""

    remedy = "no column"  # what to try if the model does not fit, as in the texts

    def __init__(self, rankings: "Rankings", title: str, fit: Fit) -> None:
        super().__init__(title, fit)
        self.data = self.rankings = rankings
        self.entries = rankings.item.size
        group = rankings.groups.get("category")
        self.category = group if group is not None and len(group.labels) > 1 else None
        self.model = (
            "Plackett-Luce: items are chosen one after the other, each with a probability "
            "proportional to its worth; the order inside ties is unknown"
        )
        if self.category is not None:
            self.model += "; utilities by category"
            self.checked = [*self.checked, ("category_utility", "item")]

    @cached_property
    def pymc_model(self) -> Any:
        """Build the model."""
        import pymc as pm

        from bayesrank.distributions import PlackettLuce
        from bayesrank.priors import deviations, utility_prior

        fit = self.fit
        with pm.Model(coords=self.rankings.coords) as model:
            utility = utility_prior(fit.prior, "utility", sigma=fit.prior_scale, dims="item")
            if self.category is not None:
                scale = model["utility_scale"] if fit.prior_scale is None else fit.prior_scale
                dims = ("category", "item")
                apart = deviations(utility, "category", scale / 2, dims)
                utility = pm.Deterministic("category_utility", apart, dims=dims)
            PlackettLuce("y", utility, observed=self.rankings)
        return model

    def nuts(self, model: Any) -> dict[str, Any]:
        """Choose smaller steps if the scale is learned from few items."""
        few = self.rankings.n_items <= FEW_ITEMS
        return {"target_accept": 0.95} if few and self.fit.prior_scale is None else {}

    def seen(self) -> "pd.Series":
        """Count the rankings with each item."""
        return times_ranked(self.rankings)

    def cautions(self) -> list[str]:
        """Say what a reader should know about the data."""
        rankings = self.rankings
        found = rankings.connectivity()
        if len(found.uncompared) == rankings.n_items:
            raise ValueError(sentence("no_order"))
        out = open_ranks(found, self.fit)
        if "category" in rankings.groups and self.category is None:
            label = rankings.groups["category"].labels[0]
            out.append(sentence("one_category", label=label, option="--by"))
        if rankings.n_rankings == 1 or len(rankings.rankers) == 1:
            out.append(sentence("one_alone", who="ranker", name=rankings.rankers[0]))
        return out

    def moved(self, posterior: Any) -> Any:
        """Resample the location, which the data do not determine if utilities are independent."""
        from bayesrank.results import resample_location

        if self.fit.prior != "normal":
            return posterior
        if self.fit.prior_scale is not None:
            out = resample_location(
                posterior, sigma=self.fit.prior_scale, random_seed=self.fit.seed
            )
            draws = out["posterior"]
        else:
            # If the scale is learned, the location of the standardized utilities is resampled.
            out = resample_location(posterior, "utility_z", random_seed=self.fit.seed)
            draws = out["posterior"]
            moved = draws["utility_scale"] * draws["utility_z"]
            draws["utility"] = moved.transpose(*draws["utility"].dims)
        if self.category is not None:  # these utilities move with the mean
            before = posterior["posterior"]
            moved = before["category_utility"] + (draws["utility"] - before["utility"])
            draws["category_utility"] = moved.transpose(*before["category_utility"].dims)
        return out

    def some(self, entries: int) -> "RankJob | None":
        """Return the same job with the rankings of some rankers."""
        import numpy as np

        rankings = self.rankings
        n = len(rankings.rankers) * entries // rankings.item.size
        if n < LEAST_RANKERS:
            return None
        chosen = np.random.default_rng(self.fit.seed).permutation(len(rankings.rankers))[:n]
        rows = np.isin(rankings.ranker_idx, chosen)
        return RankJob(rankings.subset(rows), self.title, self.fit)

    def parts(self, report: "Report") -> "list[Part]":
        """Return the sections of the report after the ranks."""
        import numpy as np

        from bayesrank.cli import counted_sections, match_sections, sections

        rankings, posterior, summary = self.rankings, report.posterior, report.summary
        out = []
        if self.category is not None:
            n = np.bincount(self.category.idx, rankings.weight, len(self.category.labels))
            labels = rankings.coords["category"]
            out += match_sections.categories(posterior, labels, n, "Rankings", summary, self.fit)
        out += [
            sections.predictions(report.predicted, "ranker", "ranking", among=rankings.n_rankings),
            sections.checks(report.predicted, self.remedy, among=rankings.n_rankings),
            *counted_sections.counted_rankings(rankings, summary),
            sections.places(posterior, summary),
            *sections.wins(posterior, summary),
        ]
        return out
