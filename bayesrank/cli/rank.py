"""The command ``bayesrank rank``: its model and its report."""

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from bayesrank.cli.estimate import Size
from bayesrank.cli.job import Job, open_ranks, times_ranked
from bayesrank.cli.options import ChoiceColumns, Fit, RankColumns
from bayesrank.cli.texts import sentence

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from bayesrank.cli.parts import Part
    from bayesrank.cli.report import Report
    from bayesrank.data import Rankings

# PyMC takes seconds to import. Functions import what they need, so that --help is instant.

# Most items for which NUTS needs small steps to learn the scale of the utilities. With 300 ballots
# of five items it diverges at its default `target_accept` (0.8), but not at 0.95 in the same time.
FEW_ITEMS = 20
LEAST_RANKERS = 1000  # fewest rankers that can represent all
# Rankers have opinions by default if several can show how much they differ, and the number of
# parameters (rankers times items) is small.
LEAST_CLUSTERS = 5


class RankJob(Job):
    """Plackett-Luce, with utilities by category if the rankings have categories.

    Rankers with several rankings deviate from the common utilities (opinions), or the labels of
    ``--group``.
    """

    remedy = "no column"  # what to try if the model does not fit, as in the texts
    has_opinions = True  # whether the model can have them
    has_categories = True

    def __init__(
        self, rankings: "Rankings", title: str, fit: Fit, columns: RankColumns | None = None
    ) -> None:
        super().__init__(title, fit)
        self.columns = RankColumns() if columns is None else columns
        self.data = self.rankings = rankings
        self.reading = self.columns.reading
        self.entries = rankings.item.size
        group = rankings.groups.get("category")
        self.category = group if group is not None and len(group.labels) > 1 else None
        self.model = (
            f"{self.columns.family}: items are chosen one after the other, each with a probability "
            "proportional to its worth; the order inside ties is unknown"
        )
        if self.category is not None:
            self.model += "; utilities by category"
            self.checked = [*self.checked, ("category_utility", "item")]
        self.cluster = "cluster" if "cluster" in rankings.groups else "ranker"
        self.opinions = self.has_opinions and self._opinions()
        if self.opinions:
            self.model += f"; opinions of each {self.cluster_name}"
            self.groups = (self.cluster_name,)

    @property
    def data_text(self) -> str:
        """The data in words."""
        rankings, words = self.rankings, self.columns.words
        if words.ranking == "ranking":
            return repr(rankings)
        return (
            f"{rankings.n_rankings:,} {words.rankings} of {rankings.n_items:,} items by "
            f"{len(rankings.rankers):,} {words.ranker}s"
        )

    @property
    def cluster_name(self) -> str:
        """The name of the column of --group, or ranker."""
        return self.columns.group or self.columns.words.ranker

    @cached_property
    def _clusters(self) -> "NDArray[Any]":
        """Number of informative rankings of every ranker or label of --group."""
        import numpy as np

        rankings = self.rankings
        group = rankings.groups.get("cluster")
        codes = rankings.ranker_idx if group is None else group.idx
        informative = rankings.mask.sum(axis=1) > 1
        return np.bincount(codes[informative], minlength=len(rankings.coords[self.cluster]))

    def _opinions(self) -> bool:
        """Whether rankers, or labels of --group, deviate from the common utilities."""
        several, asked = self._clusters > 1, self.columns.opinions
        if asked is not None:
            return asked and bool(several.any())
        few = several.sum() < LEAST_CLUSTERS and self.columns.group is None
        many = len(several) * self.rankings.n_items > self.columns.most_opinions
        return bool(several.any()) and not few and not many

    @cached_property
    def pymc_model(self) -> Any:
        """Build the model."""
        import pymc as pm

        from bayesrank.distributions import PlackettLuce
        from bayesrank.priors import deviations, sampled_deviations, utility_prior

        fit = self.fit
        dims: tuple[str, ...] = ("item",)
        with pm.Model(coords=self.rankings.coords) as model:
            utility = utility_prior(fit.prior, "utility", sigma=fit.prior_scale, dims="item")
            scale = model["utility_scale"] if fit.prior_scale is None else fit.prior_scale
            if self.category is not None:
                dims = ("category", "item")
                apart = deviations(utility, "category", scale / 2, dims)
                utility = pm.Deterministic("category_utility", apart, dims=dims)
            if self.opinions:
                where = (self.cluster, "item")
                utility = utility[..., None, :] + sampled_deviations(self.cluster, scale / 2, where)
                dims = (*dims[:-1], *where)
            PlackettLuce("y", utility, utility_dims=dims, observed=self.rankings)
        return model

    def nuts(self, model: Any) -> dict[str, Any]:
        """Choose smaller steps if the scale is learned from few items."""
        few = self.rankings.n_items <= FEW_ITEMS
        if self.opinions:  # the spread is learned from few rankers
            return {"target_accept": 0.95}
        return {"target_accept": 0.95} if few and self.fit.prior_scale is None else {}

    def size(self) -> Size:
        """Count the parameters, for an estimate of the memory."""
        n, blocks = self.rankings.n_items, 0
        kept = 2 * n
        if self.category is not None:
            kept += 2 * n * len(self.category.labels)
        if self.opinions:
            blocks = n * len(self._clusters)
        return Size(self.entries, kept // 2 + blocks, kept + 2 * blocks, blocks, n)

    def seen(self) -> "pd.Series":
        """Count the rankings with each item."""
        return times_ranked(self.rankings, self.columns.words.rankings)

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
            who = self.columns.words.ranker
            out.append(sentence("one_alone", who=who, name=rankings.rankers[0]))
        several = self._clusters > 1
        if self.columns.opinions and not self.opinions:
            out.append(sentence("needless_opinions", words=self.columns.words))
        unasked = self.has_opinions and self.columns.opinions is None
        if unasked and not self.opinions and several.any() and len(several) > 1:
            counts: dict[str, Any] = {"labels": len(several), "rankings": self._clusters.sum()}
            few, words = several.sum() < LEAST_CLUSTERS, self.columns.words
            counts |= {"few": few, "least": LEAST_CLUSTERS, "items": rankings.n_items}
            out.append(sentence("no_opinions", cluster=self.cluster_name, words=words, **counts))
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
        columns = replace(self.columns, opinions=self.opinions)
        return RankJob(rankings.subset(rows), self.title, self.fit, columns)

    def parts(self, report: "Report") -> "list[Part]":
        """Return the sections of the report after the ranks."""
        import numpy as np

        from bayesrank.cli import counted_sections, match_sections, sections

        rankings, posterior, summary = self.rankings, report.posterior, report.summary
        words, counted = self.columns.words, rankings
        out, survey = [], None
        if isinstance(self.columns, ChoiceColumns):
            from bayesrank.cli.choice_sections import choice_parts, without_threshold

            survey = self.columns.ranker if rankings.n_rankings > len(rankings.rankers) else None
            out += choice_parts(self, self.columns, report)
            counted = without_threshold(rankings, self.columns)
        if self.opinions:
            out.append(self._opinions_part(posterior))
        if self.category is not None:
            n = np.bincount(self.category.idx, rankings.weight, len(self.category.labels))
            labels = rankings.coords["category"]
            name = str(self.columns.by)
            out += match_sections.categories(
                posterior, name, labels, n, words.rankings.capitalize(), summary, self.fit
            )
        out += [
            # opinions predict a ranking from others of the same ranker
            sections.predictions(
                report.predicted,
                "ranking" if self.opinions else "ranker",
                words,
                among=rankings.n_rankings,
                survey=survey,
            ),
            sections.checks(report.predicted, self.remedy, words, among=rankings.n_rankings),
            *counted_sections.counted_rankings(counted, summary, words),
            sections.places(posterior, summary),
            *sections.wins(posterior, summary),
        ]
        return out

    def _opinions_part(self, posterior: Any) -> "Part":
        """Say how much rankers differ."""
        import pandas as pd

        from bayesrank.cli.parts import Part

        spread = posterior["posterior"][f"{self.cluster}_spread"]
        mean, sd, noun = float(spread.mean()), float(spread.std()), self.cluster_name
        n = len(self._clusters)
        row = {"labels": n, "rankings_each": float(self._clusters.mean())}
        row |= {"spread": mean, "spread_sd": sd}
        table = pd.DataFrame(row, index=pd.Index([noun], name="group"))
        text = [sentence("opinions", noun=noun, words=self.columns.words, mean=mean, sd=sd, n=n)]
        file = "opinions.csv"
        return Part(
            f"Opinions by {noun}", text, file=file, files={file: table}, data={"opinions": table}
        )
