"""What commands say beside the ranks: places, wins, what the model predicts and what it misses.

The pictures of many items show the first ones: a matrix of more cannot be read on a page.
"""

import warnings
from typing import Any, Literal

import numpy as np
import pandas as pd

from bayesrank.cli.run import Part
from bayesrank.plots import plot_places, plot_ranking_checks, plot_wins
from bayesrank.results import (
    Section,
    consensus_ordering,
    csv_bytes,
    figure_png,
    loo_by_ranker,
    match_checks,
    ranking_checks,
    worst_checks,
)

SHOWN = 30  # items of a matrix
WORST = 10  # rows of what is predicted badly
SURPRISING = 15  # rows of checks
CHECKED = 500  # draws that checks are made with
REMEDY = (
    "What to do: take the ranks as a rough order only; rank kinds of rankers apart, if there are "
    "such; bring in what items and rankers differ in (covariates); or try another model."
)


def places(posterior: Any, summary: pd.DataFrame) -> Part:
    """Show the probability of every place, and what other rules than the mean rank would say."""
    picture = figure_png(plot_places(posterior, max_items=SHOWN))
    text = ["How probable each place is for each item: the darker, the more."]
    if len(summary) > 2:
        text.append(_other_rules(posterior, summary))
    section = Section(
        "Places",
        text,
        picture=picture,
        alt=f"Probability of every place, for the first {min(SHOWN, len(summary))} items",
    )
    return Part(section, {"places.png": picture}, printed=False)


def _other_rules(posterior: Any, summary: pd.DataFrame) -> str:
    """Say who is first by rules other than the mean rank."""
    rules: dict[Literal["copeland", "kendall"], str] = {
        "copeland": "by most items beaten",
        "kendall": "by least expected disagreement",
    }
    first = list(summary.index[:3])
    same, other = [], []
    for method, rule in rules.items():
        try:
            place = consensus_ordering(posterior, method=method)
        except ValueError:  # too many items of which each may beat each
            continue
        order = place.to_series().sort_values(kind="stable").index[:3]
        if list(order) == first:
            same.append(rule)
        else:
            other.append(f"{rule} they are {', '.join(map(str, order))}")
    said = [f"the same {' and '.join(same)}"] if same else []
    return (
        f"The first three by mean rank are {', '.join(map(str, first))}: {'; '.join(said + other)}."
    )


def wins(posterior: Any, summary: pd.DataFrame, of: Literal["utility", "match"]) -> Part | None:
    """Show the probability that each item beats each other one."""
    if len(summary) < 2:
        return None
    picture = figure_png(plot_wins(posterior, of=of, max_items=SHOWN))
    text = {
        "utility": "How probable it is that the item of the row is better than that of the column, "
        "as far as these data tell. It is no forecast of the next comparison, which chance decides "
        "as well.",
        "match": "How probable it is that the item of the row wins the next match against that of "
        "the column, if the two do not tie.",
    }
    section = Section(
        "Who beats whom",
        [text[of]],
        picture=picture,
        alt=f"Probabilities that one of the first {min(SHOWN, len(summary))} items beats another",
    )
    return Part(section, {"wins.png": picture}, printed=False)


def predictions(posterior: Any, group: str, noun: str) -> Part:
    """Say how much better than random order the model predicts what it has not seen."""
    heading = "How well it predicts"
    try:
        with warnings.catch_warnings(record=True) as said:
            table = loo_by_ranker(posterior, group=group)
    except ValueError as error:  # few draws, or numbers that are not finite: the sentence says so
        return Part(Section(heading, [str(error)]), {}, printed=False)
    total, n = table["elpd"] - table["elpd_random"], table["n"].sum()
    gain = total.sum() / n
    spread = np.sqrt(len(total) * total.var(ddof=1)) / n if len(total) > 1 else np.nan
    figures = f"{gain:.2f}" + (f" ± {spread:.2f}" if np.isfinite(spread) else "")
    text = [
        "Each is predicted from the others, as if it had not been seen. The gain is how much more "
        f"probable a {noun} is under this model than under random order: its logarithm, in nats.",
        f"The mean gain per {noun} is {figures}, a probability {_times(gain)} times as high."
        if gain > 0
        else f"The mean gain per {noun} is {figures}: no better than random order. Either these "
        "preferences have little to do with each other, or the prior is too wide.",
    ]
    rows = table.head(WORST)
    if len(table) > 1:
        worse = int((table["gain"] < 0).sum())
        text.append(
            f"{worse} of {len(table)} {group}s are predicted worse than by random order. The table "
            f"has the {len(rows)} that fit least."
        )
    text += [str(one.message) for one in said]
    shown = pd.DataFrame(index=pd.Index(rows.index, name=group.capitalize()))
    shown[f"{noun.capitalize()}{'es' * (noun == 'match') or 's'}"] = [f"{x:,g}" for x in rows["n"]]
    shown["Gain"] = [f"{x:.2f}" for x in rows["gain"]]
    shown["Pareto k"] = [f"{k:.2f}" if np.isfinite(k) else "" for k in rows["pareto_k"]]
    csv = {"predictions.csv": csv_bytes(table)}
    failures = [
        f"The model predicts a {noun} no better than random order does (mean gain {figures} nats): "
        "do not rely on these ranks."
    ]
    section = Section(heading, text, shown if len(table) > 1 else None)
    return Part(section, csv, printed=False, failures=failures if gain <= 0 else ())


def _times(gain: float) -> str:
    return f"{np.exp(gain):.1f}" if gain < 7 else f"{np.exp(min(gain, 300)):.0e}"


def checks(posterior: Any) -> Part:
    """Say whether rankings drawn from the model look like the observed ones, the worst first."""
    picture = figure_png(plot_ranking_checks(posterior, draws=CHECKED))
    what = (
        "Rankings drawn from the model are held against the observed ones: which item is on top, "
        "who is above whom, how far rankings are from the common order."
    )
    return _checked(ranking_checks(posterior, draws=CHECKED), what, picture)


def checks_of_matches(posterior: Any) -> Part:
    """Say whether matches drawn from the model look like the observed ones, the worst first."""
    what = (
        "As many matches of each pair as were played are drawn from the model and held against the "
        "observed ones: how many points each item makes, who beats whom, how often the first wins "
        "or nobody."
    )
    return _checked(match_checks(posterior, draws=CHECKED), what, None)


def _checked(table: pd.DataFrame, what: str, picture: bytes | None) -> Part:
    """Say what the checks say, the worst first, and whether the model fits."""
    fits, prob = worst_checks(table), table.attrs["prob"]
    count = (
        f"{fits.failed} of {fits.n} checks fail: what is observed lies outside the {100 * prob:g}% "
        f"interval of what the model predicts. By chance it would be at most about "
        f"{fits.by_chance:.0f}."
    )
    text = [count, what]
    rows = fits.worst.head(SURPRISING)
    failures = []
    shown = None
    if len(rows):
        first = rows.iloc[0]
        worst = (
            f"The worst is {_check_name(rows.index[0])}: observed {first['observed']:.2f}, "
            f"predicted {first['mean']:.2f} ({first['low']:.2f} to {first['high']:.2f})."
        )
        text.insert(0, worst)
        if not fits.ok:
            failures.append(f"The model does not fit. {count} {worst} {REMEDY}")
        names = [_label(label, n) for _, label, n in rows.index]
        shown = pd.DataFrame(index=pd.Index(names, name="Outside, the worst first"))
        shown["What"] = [str(statistic) for statistic, *_ in rows.index]
        shown["Observed"] = [f"{x:.2f}" for x in rows["observed"]]
        shown["Predicted"] = [f"{x:.2f}" for x in rows["mean"]]
        shown["From"] = [f"{x:.2f}" for x in rows["low"]]
        shown["To"] = [f"{x:.2f}" for x in rows["high"]]
    section = Section("What it misses", text, shown, picture, "Predictive checks of rankings")
    files = {"checks.csv": csv_bytes(table)} | ({} if picture is None else {"checks.png": picture})
    return Part(section, files, printed=False, failures=failures)


def _check_name(key: Any) -> str:
    """Name a check in a sentence."""
    statistic, label, n = key
    lists = "" if n == "all" else f" ({n} items)"
    if statistic == "Kendall distance":
        what = {"mean": "the mean distance", "spread": "the spread of the distances"}[label]
        return f"{what} of rankings to the common order{lists}"
    if statistic == "top item":
        return f"how often {label} is first{lists}"
    if statistic == "points":
        return f"the share of points of {label}"
    if statistic == "outcome":
        return f"how often {f'the {label} wins' if label != 'tie' else 'there is a tie'}"
    if statistic == "pair":
        return f"how often {' beats '.join(str(label).rsplit(' > ', 1))}"
    if statistic == "pair order":
        return f"how often {' is ahead of '.join(str(label).rsplit(' > ', 1))}{lists}"
    return f"the share of {label} among the blocks{lists}"


def _label(label: Any, n: Any) -> str:
    return f"{label}" + ("" if n == "all" else f", {n} items")
