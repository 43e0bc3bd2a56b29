"""Sections of mixtures: the preferences and the rankers of each component."""

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pymc as pm
import xarray as xr

from bayesrank.analysis.mixtures import MixtureAnalysis
from bayesrank.analysis.rankings import RankingAnalysis
from bayesrank.inference import component_probabilities
from bayesrank.plots import plot_components
from bayesrank.reporting.draft import Draft
from bayesrank.reporting.match_sections import compare_groups
from bayesrank.reporting.options import Layout
from bayesrank.reporting.page.report import CLEAR
from bayesrank.reporting.parts import Part, formatted, interval_table, marked_svg
from bayesrank.reporting.ranking_sections import ranking_parts
from bayesrank.reporting.sections import checks_of_components, replicates
from bayesrank.results import LabelWarning, rank_summary, relabel_components
from bayesrank.texts import Words, paragraphs

if TYPE_CHECKING:
    from bayesrank.data import Rankings

MOST_DRAWN = 20_000  # most rankers with a bar each in the picture
MOST_ROWS = 100  # most rankers in the table of the page
CHECKED = 200  # draws for checks by component
MOST_CHECKED = 10_000_000  # most numbers per draw, one per pair of items in each ranking
SURE = 0.9  # probability from which the component of a ranker is called certain


def mixture_parts(report: Draft, analysis: MixtureAnalysis) -> list[Part]:
    """Describe the preferences and rankers of each component, then all rankers together."""
    posterior, predicted, layout = report.posterior, report.predicted, report.layout
    model, rankings, words = analysis.model, analysis.rankings, analysis.words
    shares = _shares(posterior, layout.ci_prob)
    columns = {"Share": "{share:.0%} ({low:.0%} to {high:.0%})"}
    sizes = formatted(shares, "component", columns)["Share"]
    text = paragraphs("components", alike=_are_alike(posterior), words=words)
    leaders, ranks = compare_groups(posterior, "component", sizes, report.summary, layout, text)
    return [
        replace(leaders, data={**leaders.data, "shares": shares}),
        ranks,
        _memberships(model, predicted, rankings, words),
        *_checks(analysis.each or analysis, replicates(predicted), words),
        *ranking_parts(report, analysis),
    ]


def _checks(analysis: RankingAnalysis, some: xr.DataTree, words: Words) -> list[Part]:
    """Compare simulated with observed rankings by component, unless there are too many."""
    model, rankings = analysis.model, analysis.rankings
    if rankings.n_rankings * rankings.n_items**2 > MOST_CHECKED:
        return []
    found = some["posterior_predictive"].dataset
    every = max(found.sizes["chain"] * found.sizes["draw"] // CHECKED, 1)
    few = some.copy()
    few["posterior_predictive"] = xr.DataTree(found.isel(draw=slice(None, None, every)))
    membership = component_probabilities(few, predicted=True, model=model)
    return [checks_of_components(few, membership, words)]


def components_headline(posterior: xr.DataTree, layout: Layout, who: str) -> str:
    """Name the leader of each component."""
    by_component = rank_summary(
        posterior, "component_utility", top=layout.top, ci_prob=layout.ci_prob
    )
    shares = _shares(posterior, layout.ci_prob)["share"]
    leaders = []
    for number, share in zip(shares.index.tolist(), shares.tolist(), strict=True):
        ranks = by_component.loc[number]
        name, row = ranks.index[0], ranks.iloc[0]
        leads = "leads" if row["p_best"] >= CLEAR else "has the lowest mean rank, not clearly"
        leaders.append(
            f"for {share:.0%} of them {name} {leads} (best with probability {row['p_best']:.2f})"
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
    times = np.ones(len(values), dtype=np.int64) if row == "ranker" else rankings.count
    surely = float(times @ (values.max(axis=1) >= SURE))
    table = pd.DataFrame(values, index=pd.Index(labels, name="ranker"))
    table.columns = pd.Index([f"component_{number}" for number in found["component"].to_numpy()])

    # A ranking with a count stands for this number of unnamed rankers.
    drawn, names = values, labels
    if (times != 1).any() and times.sum() <= MOST_DRAWN:
        drawn = np.repeat(values, times, axis=0)
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
