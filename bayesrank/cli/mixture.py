"""``bayesrank rank --components``: a mixture whose components have separate preferences.

The component of each ranker is unknown, and the model marginalises it.
"""

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
import xarray as xr

from bayesrank.cli.estimate import Size
from bayesrank.cli.match_sections import by_group
from bayesrank.cli.options import Fit, RankColumns, Words
from bayesrank.cli.parts import SAMPLE, Part, formatted, interval_table, marked_svg
from bayesrank.cli.rank import RankJob
from bayesrank.cli.sections import checks_of_components
from bayesrank.cli.texts import paragraphs, sentence
from bayesrank.distributions import Mixture, PlackettLuce
from bayesrank.inference import MixtureWarning, component_probabilities, fit_mixture
from bayesrank.plots import plot_components
from bayesrank.priors import utility_prior
from bayesrank.results import LabelWarning, rank_summary, relabel_components

if TYPE_CHECKING:
    from bayesrank.cli.report import Report
    from bayesrank.data import Rankings

STARTS = 20  # random starts of EM
MOST_DRAWN = 20_000  # most rankers with a bar each in the picture
MOST_ROWS = 100  # most rankers in the table of the page
CHECKED = 200  # draws for checks by component
MOST_CHECKED = 10_000_000  # most numbers per draw, one per pair of items in each ranking
SURE = 0.9  # probability from which the component of a ranker is called certain


class MixtureJob(RankJob):
    """A mixture of Plackett-Luce models: each component has separate utilities."""

    finds_start = True
    remedy = "components"
    has_opinions = False
    has_categories = False

    def __init__(
        self,
        rankings: "Rankings",
        title: str,
        fit: Fit,
        n_components: int,
        columns: RankColumns | None = None,
    ) -> None:
        # NUTS has no free location to explore, and the prior of differences stays the same.
        super().__init__(rankings, title, replace(fit, prior="zero-sum"), columns)
        self.n_components = n_components
        who = self.columns.words.ranker
        self.model += f"; {n_components} components of {who}s with separate utilities"
        self.checked = [*self.checked, ("component_utility", "item")]
        self.entries *= n_components

    @cached_property
    def pymc_model(self) -> pm.Model:
        """Build the model."""
        fit, rankings, n_components = self.fit, self.rankings, self.n_components
        several = len(rankings.rankers) < rankings.n_rankings
        coords = {**rankings.coords, "component": np.arange(1, n_components + 1)}
        with pm.Model(coords=coords) as model:
            share = pm.Dirichlet("share", np.full(n_components, 2.0), dims="component")
            component_utility = utility_prior(
                fit.prior, "component_utility", sigma=fit.prior_scale, dims=("component", "item")
            )
            scale = model["component_utility_scale"] if fit.prior_scale is None else fit.prior_scale
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
        n = self.n_components * (self.rankings.n_items + 1)
        return Size(self.entries, n, 2 * n + self.rankings.n_items)

    def start(self, model: Any, note: Callable[[str], None]) -> dict[str, Any]:
        """Start at the best mode."""
        return first_components(model, self.fit.seed, note)

    def moved(self, posterior: Any) -> Any:
        """Give the components of all draws the same order."""
        return in_order(posterior, self.rankings)

    def some(self, entries: int) -> None:
        """Return None: mixtures predict all rankings."""

    def headline(self, posterior: Any) -> str:
        """Name the leader of each component."""
        return _headline(posterior, self.fit, self.columns.words.ranker)

    def cautions(self) -> list[str]:
        """Refuse too many components, and say what a reader should know about the data."""
        rankings, n_components = self.rankings, self.n_components
        n = len(rankings.rankers)
        if n_components >= n:
            words = {"components": n_components, "n": n, "who": self.columns.words.ranker}
            raise ValueError(sentence("too_many_components", **words))
        if n < rankings.n_rankings and (rankings.weight != 1).any():
            raise ValueError(sentence("components_and_weights"))
        return super().cautions()

    def parts(self, report: "Report") -> list[Part]:
        """Describe the preferences and rankers of each component, then all rankers together."""
        posterior, predicted = report.posterior, report.predicted
        model, rankings = self.pymc_model, self.rankings
        shares = _shares(posterior, self.fit.interval)
        columns = {"Share": "{share:.0%} ({low:.0%} to {high:.0%})"}
        sizes = formatted(shares, "component", columns)["Share"]
        words = self.columns.words
        text = paragraphs("components", alike=_are_alike(posterior), words=words)
        leaders, ranks = by_group(posterior, "component", sizes, report.summary, self.fit, text)
        return [
            replace(leaders, data={**leaders.data, "shares": shares}),
            ranks,
            _memberships(model, predicted, rankings, words),
            *_checks(model, predicted, rankings, words),
            *super().parts(report),
        ]


def first_components(model: pm.Model, seed: int, note: Callable[[str], None]) -> dict[str, Any]:
    """Find initial values for sampling: the best mode."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MixtureWarning)  # the note below replaces it
        found = fit_mixture(n_starts=STARTS, random_seed=seed, model=model)
    if found.n_reached == 1:
        note(
            f"Only one of {STARTS} starts reached the best components, so there may be better "
            "ones. Try another --seed, or fewer components."
        )
    return found.initvals


def in_order(posterior: xr.DataTree, rankings: "Rankings") -> xr.DataTree:
    """Give the components of all draws the same order, the most frequent one first."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelWarning)  # `_are_alike` reports it
        out = relabel_components(posterior, var_name="component_utility")
    draws = out["posterior"].to_dataset()
    order = np.argsort(-draws["share"].mean(SAMPLE).to_numpy(), kind="stable")
    labels = {"component": np.arange(1, len(order) + 1), "item": rankings.coords["item"]}
    out["posterior"] = xr.DataTree(draws.isel(component=order).assign_coords(labels))
    return out


def _checks(model: pm.Model, some: xr.DataTree, rankings: "Rankings", words: Words) -> list[Part]:
    """Compare simulated with observed rankings by component, unless there are too many."""
    if rankings.n_rankings * rankings.n_items**2 > MOST_CHECKED:
        return []
    found = some["posterior_predictive"].dataset
    every = max(found.sizes["chain"] * found.sizes["draw"] // CHECKED, 1)
    few = some.copy()
    few["posterior_predictive"] = xr.DataTree(found.isel(draw=slice(None, None, every)))
    membership = component_probabilities(few, predicted=True, model=model)
    return [checks_of_components(few, membership, words)]


def _headline(posterior: xr.DataTree, fit: Fit, who: str) -> str:
    """Name the leader of each component."""
    by_component = rank_summary(posterior, "component_utility", top=fit.top, ci_prob=fit.interval)
    shares = _shares(posterior, fit.interval)["share"]
    leaders = []
    for number, share in zip(shares.index.tolist(), shares.tolist(), strict=True):
        ranks = by_component.loc[number]
        name, row = ranks.index[0], ranks.iloc[0]
        leaders.append(
            f"for {share:.0%} of them {name} leads (best with probability {row['p_best']:.2f})"
        )
    return f"There are {len(shares)} components of {who}s: {', '.join(leaders)}."


def _shares(posterior: xr.DataTree, prob: float) -> pd.DataFrame:
    """Share of the rankers in each component, with an interval."""
    found = interval_table(posterior["posterior"]["share"], prob).drop(columns="sd")
    return found.rename(columns={"mean": "share"})


def _are_alike(posterior: xr.DataTree) -> bool:
    """Whether the draws do not distinguish the components."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", LabelWarning)
        relabel_components(posterior, var_name="component_utility")
    return any(issubclass(one.category, LabelWarning) for one in found)


def _memberships(model: pm.Model, some: xr.DataTree, rankings: "Rankings", words: Words) -> Part:
    """Show the component probabilities of each ranker."""
    found = component_probabilities(some, model=model)
    (row,) = set(map(str, found.dims)) - {"component"}
    labels = rankings.rankers
    if row == "ranking":  # each ranking has a different ranker
        labels = labels[rankings.ranker_idx]
    values = found.transpose(row, "component").to_numpy()
    times = np.ones(len(values)) if row == "ranker" else rankings.weight
    surely = float(times @ (values.max(axis=1) >= SURE))
    table = pd.DataFrame(values, index=pd.Index(labels, name="ranker"))
    table.columns = pd.Index([f"component_{number}" for number in found["component"].to_numpy()])

    # A ranking with a weight stands for this number of unnamed rankers.
    drawn, names = values, labels
    if (times != 1).any() and (times == times.round()).all() and times.sum() <= MOST_DRAWN:
        drawn = np.repeat(values, times.astype(int), axis=0)
        names = pd.RangeIndex(1, len(drawn) + 1)
    coords = {"ranker": names, "component": found["component"].to_numpy()}
    plot = plot_components(xr.DataArray(drawn, dims=("ranker", "component"), coords=coords))
    picture = marked_svg(plot, some)
    text = paragraphs("memberships", total=times.sum(), surely=surely, sure=SURE, words=words)
    shown = None
    if len(table) <= MOST_ROWS:
        columns = {
            f"Component {n}": f"{{component_{n}:.2f}}" for n in found["component"].to_numpy()
        }
        shown = formatted(table, words.ranker.capitalize(), columns)
    many = f"{len(drawn):,} {words.ranker}s"
    alt = f"Probability of each component for {many}, side by side, by component"
    return Part(
        f"Which {words.ranker} belongs to which component",
        text,
        shown,
        picture,
        alt,
        "component_probabilities.csv",
        files={"component_probabilities.csv": table, "component_probabilities.svg": picture},
        printed=False,
    )
