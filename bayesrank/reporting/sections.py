"""Sections of all commands: places, wins, predictions and checks of the model.

Pictures show only the first items, because a larger matrix is unreadable on a page.
"""

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.text import Text

from bayesrank.analysis.fitting import REPLICATES
from bayesrank.plots import plot_match_checks, plot_places, plot_ranking_checks, plot_wins
from bayesrank.reporting.parts import Part, formatted, marked_svg
from bayesrank.results import (
    ParetoKWarning,
    component_checks,
    loo_by_ranker,
    match_checks,
    ranking_checks,
    worst_checks,
)
from bayesrank.results.checks.families import FAMILIES as FAMILY_OF
from bayesrank.schema import COUNT, RANKER, Kept
from bayesrank.tables.words import with_noun
from bayesrank.texts import Words, paragraphs, sentence, some

SHOWN = 30  # most items in a matrix
GOOD_K = 0.7  # Pareto k up to which LOO is reliable
NAMED = 3  # items in alternative texts
WORST = 10  # rows in the table of bad predictions, and respondents named
SURPRISING = 15  # rows in the table of failed checks
STATISTICS = {  # names of the checked statistics in the table
    "Kendall distance": "distance to the common order",
    "top item": "share of rankings in which it is first",
    "last item": "share of rankings in which it is last",
    "pair order": "share of rankings in this order",
    "block size": "ties",
    "points": "share of points",
    "pair": "share of matches with this result",
    "outcome": "share of matches",
    "group outcome": "share of matches in the group",
    "group points": "share of points in the group",
    "share": "share of rankings",
}
FAMILIES = {  # what the families of checks are about
    "winners": "which item is first",
    "losers": "which item is last",
    "pairs": "the order of pairs of items",
    "distances": "how much rankings agree",
    "ties": "ties",
    "rankers": "how much rankers differ",
    "items": "how many matches each item wins",
    "outcomes": "how often the first item wins",
    "groups": "how judges or categories differ",
    "shares": "how large the components are",
}
WORDS = Words()


def places(posterior: Any, summary: pd.DataFrame) -> Part:
    """Show the probability of each rank."""
    picture = marked_svg(plot_places(posterior, max_items=SHOWN), posterior)
    return Part(
        "Probability of each rank",
        paragraphs("places"),
        picture=picture,
        alt=f"Probability of each rank for the first {min(SHOWN, len(summary))} items; "
        f"rank 1: {_figures_of(summary['p_best'].iloc[:NAMED])}",
        files={"places.svg": picture},
        printed=False,
    )


def wins(posterior: Any, summary: pd.DataFrame) -> list[Part]:
    """Show the probability that each item is better than each other one."""
    if len(summary) < 2:
        return []
    picture = marked_svg(plot_wins(posterior, max_items=SHOWN), posterior)
    part = Part(
        "Who beats whom",
        paragraphs("wins"),
        picture=picture,
        alt=f"Probabilities that one of the first {min(SHOWN, len(summary))} items beats another; "
        f"that {summary.index[0]} is better than "
        f"{_figures_of(summary['p_leader_better'].iloc[1 : NAMED + 1])}",
        files={"wins.svg": picture},
        printed=False,
    )
    return [part]


def _figures_of(probability: pd.Series) -> str:
    return ", ".join(f"{name} {p:.2f}" for name, p in probability.items())


def predictions(
    posterior: Any,
    group: str,
    words: Words = WORDS,
    *,
    among: int = 0,
    survey: str | None = None,
) -> Part:
    """Compare the model's predictions of new rankings or matches with random order.

    `among` is the number of all rankings, if only some were predicted. `survey` is the column of
    the respondents of a survey. Those who answer at random are named.
    """
    heading, file = "How well it predicts", "predictions.csv"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ParetoKWarning)  # the text below replaces it
            table, kept = loo_by_ranker(posterior, group=group), Kept(posterior, "y")
            if survey is not None and group == "ranking":
                table, group = _by_respondent(table, kept), "ranker"
    except ValueError as error:  # too few draws, or infinite numbers
        return Part(heading, [str(error)], printed=False)
    # a row that counts several rankings stands for several rankers
    times = kept.times(group)
    weight = np.ones(len(table)) if times is None else times.to_series()[table.index].to_numpy()
    gain, spread = _mean_gain(table, weight)
    if times is not None and group == RANKER:  # rankers without names are shown as their rows
        row = np.argsort(kept.codes(RANKER))
        labels = kept.rows().to_numpy()[row]
        table.index = pd.Index(labels[table.index], name=table.index.name)
    rows = table.head(WORST)
    who = {"ranker": words.ranker, "ranking": words.ranking}.get(group, group)
    worse = with_noun(who, table.index)[: int((table["gain"] < 0).sum())]
    named = {"names": worse, "n": len(table), "some": some(worse, WORST)}
    values = {
        "words": words,
        "gain": gain,
        "figures": f"{gain:.2f} ± {spread:.2f}" if np.isfinite(spread) else f"{gain:.2f}",
    }
    text = paragraphs(
        "predictions",
        **values,
        times=f"{np.exp(gain):.1f}" if gain < 7 else f"{np.exp(min(gain, 300)):.0e}",
        group=who,
        several=len(table) > 1,
        worse=float(weight[(table["gain"] < 0).to_numpy()].sum()),
        total=weight.sum(),
        rows=len(rows),
        **_which_rankings(posterior, among),
        good_k=GOOD_K,
        rough=int((table["pareto_k"] > GOOD_K).sum()),
        predicted=len(table),
        column=survey,
    )
    columns = {words.rankings.capitalize(): "{n:,g}", "Gain": "{gain:.2f}"}
    if group == "ranking":
        columns = {"Gain": columns["Gain"]}
    finite = rows.assign(pareto_k=rows["pareto_k"].where(np.isfinite(rows["pareto_k"])))
    finite.index = pd.Index(with_noun(who, table.index)[: len(rows)])
    shown = formatted(finite, who.capitalize(), columns | {"Pareto k": "{pareto_k:.2f}"})
    return Part(
        heading,
        text,
        shown if len(table) > 1 else None,
        file=file,
        files={file: table},
        printed=False,
        failures=paragraphs("no_better_than_random", **values) if gain <= 0 else (),
        notes=paragraphs("at_random", **named) if survey and len(worse) else (),
    )


def _by_respondent(table: pd.DataFrame, kept: Kept) -> pd.DataFrame:
    """Add up the tasks of each respondent; Pareto k is the largest of its tasks."""
    ranker = kept[RANKER].to_series().loc[table.index].to_numpy()
    by = table.assign(ranker=kept.labels(RANKER)[ranker]).groupby("ranker")
    out = by[["n", "elpd", "elpd_random"]].sum()
    out["gain"] = (out["elpd"] - out["elpd_random"]) / out["n"]
    return out.assign(pareto_k=by["pareto_k"].max()).sort_values("gain", kind="stable")


def _mean_gain(table: pd.DataFrame, weight: Any) -> tuple[float, float]:
    """Mean gain per ranking or match, and its standard error (NaN for a single ranker)."""
    total, n = (table["elpd"] - table["elpd_random"]) / weight, float(table["n"].sum())
    rankers = float(weight.sum())
    gain = float(weight @ total) / n
    off = weight @ (total - weight @ total / rankers) ** 2
    return gain, float(np.sqrt(rankers * off / (rankers - 1))) / n if rankers > 1 else np.nan


def _which_rankings(posterior: Any, among: int) -> dict[str, int]:
    """Count the rankings that were predicted, and all of them."""
    kept = Kept(posterior, "y")
    if COUNT in kept:
        return {"n": int(kept[COUNT].sum()), "among": among}
    return {"n": posterior["observed_data"].sizes.get("ranking", among), "among": among}


def checks(posterior: Any, remedy: str, words: Words = WORDS, *, among: int = 0) -> Part:
    """Compare simulated with observed rankings, the largest deviations first.

    `among` is the number of all rankings, if only some were predicted.
    """
    posterior = replicates(posterior)
    table = ranking_checks(posterior, draws=None)
    plot = plot_ranking_checks(table)
    for axes in plot.viz["figure"].item().axes:
        titles = [x for x in axes.get_children() if isinstance(x, Text)]
        for text in (*titles, axes.xaxis.label):  # not the names of items
            text.set_text(words.of(text.get_text()))
    picture = marked_svg(plot, posterior)
    losers = "last item" in table.index.get_level_values("statistic")
    what = sentence("checks", losers=losers, words=words, **_which_rankings(posterior, among))
    return _checked(table, what, remedy, picture, words=words)


def replicates(posterior: Any) -> Any:
    """Return the tree with one simulated ranking for each that was observed."""
    return posterior[REPLICATES] if REPLICATES in posterior.children else posterior


def checks_of_components(posterior: Any, membership: xr.Dataset, words: Words = WORDS) -> Part:
    """Compare simulated with observed rankings of each component."""
    table = component_checks(posterior, membership, order="component_utility")
    what, where = sentence("checks_of_components", words=words), " within the components"
    return _checked(table, what, "within components", where=where, words=words)


def checks_of_matches(posterior: Any, by: Sequence[str] = (), *, remedy: str = "matches") -> Part:
    """Compare simulated with observed matches, the largest deviations first."""
    table = match_checks(posterior, draws=None, by=by)
    picture = marked_svg(plot_match_checks(table), posterior)
    return _checked(table, sentence("checks_of_matches", by=by), remedy, picture)


def _checked(
    table: pd.DataFrame,
    what: str,
    remedy: str,
    picture: bytes | None = None,
    where: str = "",
    words: Words = WORDS,
) -> Part:
    """Write the section of checks, and say whether the model fits."""
    fits = worst_checks(table)
    count = fits.message(table.attrs["ci_prob"])
    rows = fits.worst.head(SURPRISING)
    # a check is about all rankings, those of some length, or those of a component
    which = "component {}" if "component" in table.index.names else "{} items"
    keys = [
        (str(statistic), label, "" if n == "all" else which.format(n))
        for statistic, label, n in rows.index
    ]
    worst = _check_sentence(*keys[0], rows.iloc[0], words) if keys else ""
    values: dict[str, Any] = {"fits": fits, "count": count, "where": where, "remedy": remedy}
    values["words"] = words
    failing = fits.families[fits.families["fails"]]
    leads = keys and FAMILY_OF[keys[0][0]] == next(iter(failing.index), None)
    values["families"] = [
        _family_sentence(*row, worst if leads else "", words) for row in failing.iterrows()
    ]
    values["seen"], values["unseen"] = (
        [_about(family, words) for family in some] for some in (fits.seen, fits.unseen)
    )
    file = "component_checks.csv" if where else "checks.csv"
    named = {"component_fit" if where else "fit": fits.families}
    return Part(
        f"What it misses{where}",
        paragraphs("checked", what=what, worst=worst, **values),
        _shown_checks(keys, rows, words) if keys else None,
        picture,
        f"Predictive checks: {count}",
        file,
        files={file: table} | ({} if picture is None else {"checks.svg": picture}),
        printed=False,
        failures=() if fits.ok else paragraphs("misfit", **values),
        fit=sentence("good_fit", **values),
        unclear=fits.fits is None,
        data=named,
    )


def _family_sentence(family: Any, row: pd.Series, worst: str, words: Words) -> tuple[str, str]:
    """Say what a failing family of checks is about, and what was observed and is expected."""
    label = str(row["check"])
    counts = label in ("different items", "cyclic triples")
    form = "{:,.0f}" if counts else "{:.2g}"
    figures = [form.format(float(row[name])) for name in ("observed", "low", "high")]
    given = {"family": family, "label": label, "figures": figures, "worst": worst}
    return _about(family, words), sentence("family", words=words, **given)


def _about(family: Any, words: Words) -> str:
    """Say what a family of checks is about."""
    group = str(family).removeprefix("groups by ")
    about = FAMILIES.get(str(family))
    return f"how much {words.rankings} differ by {group}" if about is None else words.of(about)


def _shown_checks(
    keys: list[tuple[str, Any, str]], rows: pd.DataFrame, words: Words
) -> pd.DataFrame:
    """Write a table of the failed checks."""
    names = pd.Index([_label(label, which, words) for _, label, which in keys])
    figures = [_figures(row) for _, row in rows.iterrows()]
    table = pd.DataFrame(figures, names, ["Observed", "Predicted", "From", "To"])
    table.insert(0, "Statistic", [words.of(STATISTICS[name]) for name, *_ in keys])
    return table.rename_axis("Failed check")


def _check_sentence(statistic: str, label: Any, which: str, row: Any, words: Words) -> str:
    """Say what was observed, and what the model predicts."""
    outcome, comma, group = str(label).partition(", ")
    one, _, other = str(label).rpartition(" > ")
    return sentence(
        "check",
        words=words,
        statistic=statistic,
        label=label,
        which=which,
        more=row["observed"] < row["mean"],
        outcome=outcome,
        group=comma + group,
        one=one,
        other=other,
        figures=_figures(row),
    )


def _figures(row: Any) -> list[str]:
    """Write observed, mean and interval, with enough decimals to show the deviation."""
    apart = [row["high"] - row["low"], abs(row["observed"] - row["low"])]
    apart.append(abs(row["observed"] - row["high"]))
    least = min((width for width in apart if width > 0), default=1.0)
    decimals = min(max(2, math.ceil(-math.log10(least))), 5)
    return [f"{row[name]:.{decimals}f}" for name in ("observed", "mean", "low", "high")]


def _label(label: Any, which: str, words: Words) -> str:
    """Name a check in the table."""
    if label in ("mean", "spread"):
        label = f"{label} over {words.rankings}"
    return f"{label}, {which}" if which else f"{label}"
