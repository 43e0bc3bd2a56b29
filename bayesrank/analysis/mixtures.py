"""The analysis of rankings with components: a mixture whose components have separate preferences.

The component of each ranker is unknown, and the model marginalises it.
"""

import warnings
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from bayesrank.analysis.rankings import RankingAnalysis
from bayesrank.analysis.size import Size
from bayesrank.texts import sentence

if TYPE_CHECKING:
    import pymc as pm
    import xarray as xr

    from bayesrank.data import Rankings

# PyMC takes seconds to import. Functions import what they need, so that --help is instant.

STARTS = 20  # random starts of EM


class MixtureAnalysis(RankingAnalysis):
    """A mixture of Plackett-Luce models: each component has separate utilities.

    Parameters
    ----------
    rankings : Rankings
    components : int
        Their number.
    utility_scale, tasks, threshold
        As in `RankingAnalysis`.
    """

    KIND = "mixture"
    ARGUMENTS: ClassVar[tuple[str, ...]] = ("components", "utility_scale", "tasks", "threshold")

    finds_start = True
    remedy = "components"
    has_categories = False
    can_differ = False

    def __init__(
        self,
        rankings: "Rankings",
        *,
        components: int,
        utility_scale: float | None = None,
        tasks: bool = False,
        threshold: bool = False,
    ) -> None:
        # NUTS has no free location to explore, and the prior of differences stays the same.
        if len(rankings.rankers) < rankings.n_rankings:  # a ranker has one component
            rankings = rankings.expand()
        super().__init__(
            rankings, prior="zero-sum", utility_scale=utility_scale, tasks=tasks,
            threshold=threshold,
        )  # fmt: skip
        self.components, self.simple = components, False
        self.description += (
            f"; {components} components of {self.words.ranker}s with separate utilities"
        )
        self.checked = [*self.checked, ("component_utility", "item")]
        self.entries *= components

    @cached_property
    def model(self) -> Any:
        """Build the model."""
        import numpy as np
        import pymc as pm
        import pytensor.tensor as pt

        from bayesrank.distributions import Mixture, PlackettLuce
        from bayesrank.priors import utility_prior

        rankings, given = self.rankings, self.utility_scale
        several = len(rankings.rankers) < rankings.n_rankings
        coords = {**rankings.coords, "component": np.arange(1, self.components + 1)}
        with pm.Model(coords=coords) as model:
            share = pm.Dirichlet("share", np.full(self.components, 2.0), dims="component")
            component_utility = utility_prior(
                self.prior, "component_utility", sigma=given, dims=("component", "item")
            )
            scale: Any = model["component_utility_scale"] if given is None else given
            # utility over all rankers, and its prior standard deviation
            pm.Deterministic("utility", share @ component_utility, dims="item")
            pm.Deterministic("utility_scale", scale * pt.sqrt(pt.sum(share**2)))
            Mixture(
                "y",
                share,
                PlackettLuce.dist(component_utility),
                unit="ranker" if several else "ranking",
                observed=rankings,
            )
        return model

    def nuts(self, model: Any) -> dict[str, Any]:
        """Keep the default settings of NUTS."""
        return {}

    def size(self) -> Size:
        """Count the parameters, for an estimate of the memory."""
        n = self.components * (self.rankings.n_items + 1)
        return Size(self.entries, n, 2 * n + self.rankings.n_items)

    def start(self, model: Any, random_seed: int, note: Callable[[str], None]) -> dict[str, Any]:
        """Start at the best mode."""
        return first_components(model, random_seed, note)

    def moved(self, posterior: Any, random_seed: int) -> Any:
        """Give the components of all draws the same order."""
        return in_order(posterior, self.rankings)

    def some(self, entries: int, random_seed: int) -> "RankingAnalysis | None":
        """Return None: mixtures predict all rankings."""
        return None

    def cautions(self) -> list[str]:
        """Refuse too many components, and say what a reader should know about the data."""
        rankings, components = self.rankings, self.components
        n = rankings.n_rankers
        if components >= n:
            words = {"components": components, "n": n, "who": self.words.ranker}
            raise ValueError(sentence("too_many_components", **words))
        if len(rankings.rankers) < rankings.n_rankings and (rankings.weight != 1).any():
            raise ValueError(sentence("components_and_weights"))
        return super().cautions()


def first_components(
    model: "pm.Model", random_seed: int, note: Callable[[str], None]
) -> dict[str, Any]:
    """Find initial values for sampling: the best mode."""
    from bayesrank.inference import MixtureWarning, fit_mixture

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MixtureWarning)  # the note below replaces it
        found = fit_mixture(n_starts=STARTS, random_seed=random_seed, model=model)
    if found.n_reached == 1:
        note(
            f"Only one of {STARTS} starts reached the best components, so there may be better "
            "ones. Try another `random_seed`, or fewer components."
        )
    return found.initvals


def in_order(posterior: "xr.DataTree", rankings: "Rankings") -> "xr.DataTree":
    """Give the components of all draws the same order, the most frequent one first."""
    import numpy as np
    import xarray as xr

    from bayesrank.results import LabelWarning, relabel_components

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelWarning)  # the report says so
        out = relabel_components(posterior, var_name="component_utility")
    draws = out["posterior"].to_dataset()
    order = np.argsort(-draws["share"].mean(("chain", "draw")).to_numpy(), kind="stable")
    labels = {"component": np.arange(1, len(order) + 1), "item": rankings.coords["item"]}
    out["posterior"] = xr.DataTree(draws.isel(component=order).assign_coords(labels))
    return out
