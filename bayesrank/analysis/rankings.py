"""The analysis of rankings, ratings, best-worst tasks and choices."""

from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

from bayesrank.analysis.analysis import Analysis, open_ranks, times_ranked
from bayesrank.analysis.size import Size
from bayesrank.texts import TASKS, sentence
from bayesrank.texts.nouns import in_words

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from bayesrank.data import Rankings

# PyMC takes seconds to import. Functions import what they need, so that --help is instant.

# Most items for which NUTS needs small steps to learn the scale of the utilities. With 300 ballots
# of five items it diverges at its default `target_accept` (0.8), but not at 0.95 in the same time.
FEW_ITEMS = 20
MOST_ENTRIES = 100_000  # most entries of simulated rankings, if rows count several
LEAST_RANKERS = 1000  # fewest rankers that can represent all
# Rankers have opinions by default if several can show how much they differ, and the number of
# parameters (rankers times items) is small.
LEAST_CLUSTERS = 5
MOST_OPINIONS, MOST_OPINIONS_OF_TASKS = 5_000, 50_000


class RankingAnalysis(Analysis):
    """Plackett-Luce, with utilities by category if the rankings have categories.

    Rankers with several rankings, or the labels of a group, deviate from the common utilities
    (opinions).

    Parameters
    ----------
    rankings : Rankings
    category, cluster : str, optional
        Groups of the rankings: categories, and rankings that are not independent.
    opinions : bool, optional
        By default decided by the number of rankers with several rankings.
    prior, utility_scale
        As in `bayesrank.ranking_model`.
    tasks, threshold : bool
        Whether the rankings are best-worst tasks or choices, and whether they have a threshold.
    """

    KIND = "rankings"
    ARGUMENTS: ClassVar[tuple[str, ...]] = (
        "category", "cluster", "opinions", "prior", "utility_scale", "tasks", "threshold",
    )  # fmt: skip

    remedy = "no column"  # what to try if the model does not fit, as in the texts
    has_categories = True
    can_differ = True  # whether the model can have opinions

    def __init__(
        self,
        rankings: "Rankings",
        *,
        category: str | None = None,
        cluster: str | None = None,
        opinions: bool | None = None,
        prior: str = "normal",
        utility_scale: float | None = None,
        tasks: bool = False,
        threshold: bool = False,
    ) -> None:
        self.data = self.rankings = rankings
        self.category, self.cluster, self.opinions = category, cluster, opinions
        self.prior, self.utility_scale = prior, utility_scale
        self.tasks, self.threshold = tasks, threshold
        self.entries = rankings.item.size
        if "case" in rankings.roles:
            self.remedy = "scores"
        self.simple = not rankings.groups
        family = "Plackett-Luce"
        if tasks:
            self.words, family = TASKS, "Rank-ordered logit with ties (Plackett-Luce)"
            self.reading = (
                "in a task of two items, one is best with probability 1 / (1 + exp(−difference))"
            )
        self.description = (
            f"{family}: items are chosen one after the other, each with a probability proportional "
            "to its worth; the order inside ties is unknown"
        )
        if self.categories is not None:
            self.description += "; utilities by category"
            self.checked = [*self.checked, ("category_utility", "item")]
        self.differ = self.can_differ and self._differ()
        if self.differ:
            self.description += f"; opinions of each {self.cluster_name}"
            self.groups = (self.cluster_name,)

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of the class that a saved posterior records, without what has no effect."""
        used = {
            "category": self.category if self.categories is not None else None,
            "cluster": self.cluster if self.differ else None,
            # without its cluster, the default would be about the rankers
            "opinions": self.opinions if self.cluster is None or self.differ else False,
        }
        return {name: used.get(name, getattr(self, name)) for name in self.ARGUMENTS}

    @property
    def categories(self) -> Any:
        """The group of categories, if there are several."""
        if self.category is None:
            return None
        group = self.rankings.groups[self.category]
        return group if len(group.labels) > 1 else None

    @property
    def category_name(self) -> str:
        """The name of the column of categories."""
        return self.columns.get("category", str(self.category))

    @property
    def data_text(self) -> str:
        """The data in words."""
        rankings, words = self.rankings, self.words
        if words.ranking == "ranking":
            return super().data_text
        text = (
            f"{int(rankings.count.sum()):,} {words.rankings} of {rankings.n_items:,} items by "
            f"{rankings.n_rankers:,} {words.ranker}s"
        )
        return in_words(text, item=self.nouns["item"])

    @property
    def unit(self) -> str:
        """The dim of the labels with opinions."""
        return self.cluster or "ranker"

    @property
    def cluster_name(self) -> str:
        """The name of the column of clusters, or ranker."""
        if self.cluster is None:
            return self.words.ranker
        return self.columns.get("cluster", self.cluster)

    @cached_property
    def cluster_sizes(self) -> "NDArray[Any]":
        """Number of informative rankings of every ranker or label of the clusters."""
        import numpy as np

        rankings = self.rankings
        codes = rankings.ranker_idx if self.cluster is None else rankings.groups[self.cluster].idx
        informative = rankings.mask.sum(axis=1) > 1
        # a row that counts rankings of several rankers is one ranking for each of them
        one_each = self.cluster is None and rankings.are_anonymous
        times = np.where(informative, 1 if one_each else rankings.count, 0)
        n = np.bincount(codes, times, minlength=len(rankings.coords[self.unit]))
        return n.astype(np.int64)

    @property
    def folds(self) -> bool:
        """Whether the rankings of a ranker are folds, which share the weight of their case."""
        return "fold" in self.columns

    def _differ(self) -> bool:
        """Whether rankers, or labels of the clusters, deviate from the common utilities."""
        several, asked = self.cluster_sizes > 1, self.opinions
        if asked is not None:
            return asked and bool(several.any())
        if self.folds and self.cluster is None:  # the weights say already that folds are not apart
            return False
        few = several.sum() < LEAST_CLUSTERS and self.cluster is None
        most = MOST_OPINIONS_OF_TASKS if self.tasks else MOST_OPINIONS
        many = len(several) * self.rankings.n_items > most
        return bool(several.any()) and not few and not many

    @cached_property
    def model(self) -> Any:
        """Build the model."""
        import pymc as pm

        from bayesrank.distributions import PlackettLuce
        from bayesrank.priors import deviations, sampled_deviations, utility_prior

        dims: tuple[str, ...] = ("item",)
        given: Any = self.utility_scale
        with pm.Model(coords=self.rankings.coords) as model:
            utility = utility_prior(self.prior, "utility", sigma=given, dims="item")
            scale = model["utility_scale"] if given is None else given
            if self.categories is not None:
                dims = (str(self.category), "item")
                apart = deviations(utility, "category", scale, dims)
                utility = pm.Deterministic("category_utility", apart, dims=dims)
            if self.differ:
                where = (self.unit, "item")
                utility = utility[..., None, :] + sampled_deviations(self.unit, scale, where)
                dims = (*dims[:-1], *where)
            PlackettLuce("y", utility, utility_dims=dims, observed=self.rankings)
        return model

    def nuts(self, model: Any) -> dict[str, Any]:
        """Choose smaller steps if the scale is learned from few items."""
        few = self.rankings.n_items <= FEW_ITEMS
        if self.differ:  # the spread is learned from few rankers
            return {"target_accept": 0.95}
        return {"target_accept": 0.95} if few and self.utility_scale is None else {}

    def size(self) -> Size:
        """Count the parameters, for an estimate of the memory."""
        n, blocks = self.rankings.n_items, 0
        kept = 2 * n
        if self.categories is not None:
            kept += 2 * n * len(self.categories.labels)
        if self.differ:
            blocks = n * len(self.cluster_sizes)
        return Size(self.entries, kept // 2 + blocks, kept + 2 * blocks, blocks, n)

    def seen(self) -> "pd.Series":
        """Count the rankings with each item."""
        return times_ranked(self.rankings, self.words.rankings)

    def cautions(self) -> list[str]:
        """Say what a reader should know about the data."""
        rankings = self.rankings
        found = rankings.connectivity()
        if len(found.uncompared) == rankings.n_items:
            raise ValueError(sentence("no_order"))
        out = open_ranks(found, self.prior_text)
        if self.category is not None and self.categories is None:
            label = rankings.groups[self.category].labels[0]
            out.append(sentence("one_category", label=label))
        if rankings.count.sum() == 1 or rankings.n_rankers == 1:
            who = self.words.ranker
            out.append(sentence("one_alone", who=who, name=rankings.rankers[0]))
        several = self.cluster_sizes > 1
        if self.opinions and not self.differ:
            out.append(sentence("needless_opinions", words=self.words))
        unasked = self.can_differ and self.opinions is None and not self.folds
        if unasked and not self.differ and several.any() and len(several) > 1:
            counts: dict[str, Any] = {"labels": len(several), "rankings": self.cluster_sizes.sum()}
            few, words = several.sum() < LEAST_CLUSTERS, self.words
            counts |= {"few": few, "least": LEAST_CLUSTERS, "items": rankings.n_items}
            out.append(sentence("no_opinions", cluster=self.cluster_name, words=words, **counts))
        return out

    def moved(self, posterior: Any, random_seed: int) -> Any:
        """Resample the location, which the data do not determine if utilities are independent."""
        from bayesrank.results import resample_location

        if self.prior != "normal":
            return posterior
        if self.utility_scale is not None:
            out = resample_location(posterior, sigma=self.utility_scale, random_seed=random_seed)
            draws = out["posterior"]
        else:
            # If the scale is learned, the location of the standardized utilities is resampled.
            out = resample_location(posterior, "utility_z", random_seed=random_seed)
            draws = out["posterior"]
            moved = draws["utility_scale"] * draws["utility_z"]
            draws["utility"] = moved.transpose(*draws["utility"].dims)
        if self.categories is not None:  # these utilities move with the mean
            before = posterior["posterior"]
            moved = before["category_utility"] + (draws["utility"] - before["utility"])
            draws["category_utility"] = moved.transpose(*before["category_utility"].dims)
        return out

    def some(self, entries: int, random_seed: int) -> "RankingAnalysis | None":
        """Return the same analysis with the rankings of some rankers."""
        n = self.rankings.n_rankers * entries // self._entries_of_each
        return self._on(self._some_rankers(n, random_seed)) if n >= LEAST_RANKERS else None

    @cached_property
    def each(self) -> "RankingAnalysis | None":
        """Return the analysis with a row for each ranking, or for each ranking of some rankers.

        A prediction of a row is one ranking, but a check needs as many as the row counts. Folds are
        not independent, so there is one fold of each case.
        """
        rankings = self.rankings
        if self.folds:
            import numpy as np

            first = np.sort(np.unique(rankings.ranker_idx, return_index=True)[1])
            return self._on(rankings[first]) if len(first) < len(rankings) else None
        if (rankings.count == 1).all():
            return None
        if self._entries_of_each > MOST_ENTRIES:
            n = rankings.n_rankers * MOST_ENTRIES // self._entries_of_each
            rankings = self._some_rankers(n, 0)
        return self._on(rankings.expand())

    @property
    def _entries_of_each(self) -> int:
        """Number of entries of all rankings, where a row may count several."""
        return int(self.rankings.count.sum()) * self.rankings.n_slots

    def _some_rankers(self, n: int, random_seed: int) -> "Rankings":
        """Choose rankers at random."""
        import numpy as np

        rankings, rng = self.rankings, np.random.default_rng(random_seed)
        if rankings.are_anonymous and (rankings.count > 1).any():  # a count is a number of rankers
            times = rng.multivariate_hypergeometric(rankings.count, n, method="marginals")
            rows = np.flatnonzero(times)
            return rankings.subset(rows)._with(count=times[rows])
        chosen = rng.permutation(len(rankings.rankers))[:n]
        return rankings.subset(np.isin(rankings.ranker_idx, chosen))

    def _on(self, rankings: "Rankings") -> Self:
        """Return the same analysis of other rankings."""
        arguments = self.arguments
        if "opinions" in arguments:  # some rankings must not change the model
            arguments["opinions"] = self.differ
        return type(self)(rankings, **arguments)
