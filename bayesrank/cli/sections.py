"""What commands say besides the ranks: places, wins, what the model predicts and what it misses.

The pictures of many items show the first ones: a matrix of more cannot be read on a page.
"""

import math
import warnings
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bayesrank.cli.parts import Part, formatted, marked_csv, marked_png, table_part
from bayesrank.plots import plot_match_checks, plot_places, plot_ranking_checks, plot_wins
from bayesrank.results import (
    Fits,
    ParetoKWarning,
    Section,
    kind_checks,
    loo_by_ranker,
    match_checks,
    ranking_checks,
    worst_checks,
)
from bayesrank.results.ranks.consensus_ordering import copeland_ordering, kemeny_ordering
from bayesrank.results.ranks.probabilities import times_above
from bayesrank.schema import RANKER, WEIGHT, Kept, name_of

SHOWN = 30  # items of a matrix
GOOD_K = 0.7  # Pareto k up to which leaving out is no guess
NAMED = 3  # items of which alternative texts have the figures
WORST = 10  # rows of what is predicted badly
SURPRISING = 15  # rows of checks
STATISTICS = {  # what the checks are of, in the table
    "Kendall distance": "distance to the common order",
    "top item": "share of first places",
    "pair order": "share of rankings so",
    "block size": "ties",
    "points": "share of points",
    "pair": "share of matches so",
    "outcome": "share of matches",
    "group outcome": "share of matches there",
    "group points": "share of points there",
    "share": "share of rankings",
}
REMEDY = (
    "What to do: take the ranks as a rough order only; {}; or use a model of what items and "
    "rankers differ in."
)
BY = "if there are kinds of rankers or occasions, name their column with --by"
NO_COLUMN = f"{BY}, or, if no column says who is of which, have them found with --kinds 2 or more"
OTHER_KINDS = "try another number of --kinds"
SORTS = {"judge": "with every judge", "category": "in every category"}
PLURALS = {"match": "matches", "ranking": "rankings"}


def places(posterior: Any, summary: pd.DataFrame) -> Part:
    """Show the probability of every place, and what other rules than the mean rank would say."""
    picture = marked_png(plot_places(posterior, max_items=SHOWN), posterior)
    text = ["How probable each place is for each item: the darker, the more."]
    if len(summary) > 2:
        text.append(_other_rules(posterior, summary))
    section = Section(
        "Places",
        text,
        picture=picture,
        alt=f"Probability of every place, for the first {min(SHOWN, len(summary))} items; of the "
        f"first place {_of_each(summary['p_best'].iloc[:NAMED])}",
    )
    return Part(section, {"places.png": picture}, printed=False)


def _other_rules(posterior: Any, summary: pd.DataFrame) -> str:
    """Say who is first by rules other than the mean rank."""
    rules = {
        "by most items beaten": copeland_ordering,
        "by least expected disagreement": kemeny_ordering,
    }
    utility = posterior["posterior"]["utility"].sel(item=summary.index.to_numpy())
    draws = utility.transpose("chain", "draw", "item").to_numpy()
    above = times_above(draws.reshape(-1, len(summary)))  # in the order of mean ranks
    first = list(summary.index[:3])
    same, other = [], []
    for rule, ordering in rules.items():
        try:
            order = summary.index[ordering(above)[:3]]
        except ValueError:  # too many items of which each may beat each
            continue
        if list(order) == first:
            same.append(rule)
        else:
            other.append(f"{rule} they are {', '.join(map(str, order))}")
    said = [f"the same {' and '.join(same)}"] if same else []
    return (
        f"The first three by mean rank are {', '.join(map(str, first))}: {'; '.join(said + other)}."
    )


def wins(posterior: Any, summary: pd.DataFrame, of: Literal["utility", "match"]) -> list[Part]:
    """Show the probability that each item beats each other one, if there are two."""
    if len(summary) < 2:
        return []
    picture = marked_png(plot_wins(posterior, of=of, max_items=SHOWN), posterior)
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
        alt=f"Probabilities that one of the first {min(SHOWN, len(summary))} items beats another; "
        f"that {summary.index[0]} is better than "
        f"{_of_each(summary['p_leader_better'].iloc[1 : NAMED + 1])}",
    )
    return [Part(section, {"wins.png": picture}, printed=False)]


def _of_each(probability: pd.Series) -> str:
    return ", ".join(f"{name} {p:.2f}" for name, p in probability.items())


def predictions(posterior: Any, group: str, noun: str, *, among: int = 0) -> Part:
    """Say how much better than random order the model predicts what it has not seen.

    `among` is how many rankings there are, if they may be more than those predicted.
    """
    heading = "How well it predicts"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ParetoKWarning)  # said below, in other words
            single, times = _apiece(posterior)
            table = loo_by_ranker(single, group=group)
    except ValueError as error:  # few draws, or numbers that are not finite: the sentence says so
        return Part(Section(heading, [str(error)]), printed=False)
    # rankers of one row that counts several times are so many rankers
    weight = np.ones(len(table)) if times is None else times[table.index].to_numpy()
    gain, spread = _mean_gain(table, weight)
    table["n"] = (weight * table["n"]).astype(table["n"].dtype if times is None else float)
    figures = f"{gain:.2f} ± {spread:.2f}" if np.isfinite(spread) else f"{gain:.2f}"
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
        worse = float(weight[(table["gain"] < 0).to_numpy()].sum())
        text.append(
            f"{worse:,.6g} of {weight.sum():,.6g} {group}s are predicted worse than by random "
            f"order. The table has the {len(rows)} that fit least."
        )
    text += [*_which_rankings(posterior, among), *_about_pareto_k(table)]
    columns = {PLURALS[noun].capitalize(): "{n:,g}", "Gain": "{gain:.2f}"}
    finite = rows.assign(pareto_k=rows["pareto_k"].where(np.isfinite(rows["pareto_k"])))
    shown = formatted(finite, group.capitalize(), columns | {"Pareto k": "{pareto_k:.2f}"})
    failures = [
        f"The model predicts a {noun} no better than random order does (mean gain {figures} nats): "
        "do not rely on these ranks."
    ]
    section = Section(heading, text, shown if len(table) > 1 else None, file="predictions.csv")
    return table_part(
        section, table, posterior, printed=False, failures=failures if gain <= 0 else ()
    )


def _mean_gain(table: pd.DataFrame, weight: NDArray[np.float64]) -> tuple[float, float]:
    """Mean gain per ranking or match, and its standard error, NaN of a single ranker."""
    total, n = table["elpd"] - table["elpd_random"], float((weight * table["n"]).sum())
    rankers = float(weight.sum())
    gain = float(weight @ total) / n
    off = weight @ (total - weight @ total / rankers) ** 2
    return gain, float(np.sqrt(rankers * off / (rankers - 1))) / n if rankers > 1 else np.nan


def _about_pareto_k(table: pd.DataFrame) -> list[str]:
    """Say how much the fit hangs on what is left out."""
    out = [
        "Pareto k says how much the fit hangs on what is left out: up to "
        f"{GOOD_K:g} the prediction without it is sound."
    ]
    rough = int((table["pareto_k"] > GOOD_K).sum())
    if rough:
        weigh, them = ("weighs", "it") if rough == 1 else ("weigh", "them")
        out.append(
            f"{rough:,} of the {len(table):,} {weigh} so much that the fit without {them} is a "
            f"rough guess (Pareto k above {GOOD_K:g})."
        )
    return out


def _apiece(data: Any) -> tuple[Any, pd.Series | None]:
    """Have rows that count several times count once, and say how often, by ranker.

    Of 40 voters with the same ballot one is to be predicted from the other 39, not all of them from
    those of other ballots. Only where each ranker has one row.
    """
    kept = Kept(data, "y")
    if WEIGHT not in kept or RANKER not in kept:
        return data, None
    weight, ranker = kept[WEIGHT].to_numpy(), kept[RANKER].to_numpy()
    if (weight <= 1).all() or len(np.unique(ranker)) < len(ranker):
        return data, None
    out = data.copy()
    constant, found = data["constant_data"].to_dataset(), data["log_likelihood"].to_dataset()
    once = kept[WEIGHT].copy(data=np.ones(len(weight)))
    out["constant_data"] = xr.DataTree(constant.assign({name_of("y", WEIGHT): once}))
    by_row = xr.DataArray(weight, dims=found["y"].dims[-1])
    out["log_likelihood"] = xr.DataTree(found.assign(y=found["y"] / by_row))
    return out, pd.Series(weight, constant["ranker"].to_numpy()[ranker])


def _which_rankings(posterior: Any, among: int) -> list[str]:
    """Say which rankings were predicted, if not all."""
    n = posterior["observed_data"].sizes.get("ranking", among)
    whose = "those of rankers drawn at random"
    return [f"These are {n:,} of the {among:,} rankings, {whose}."] if n < among else []


def _times(gain: float) -> str:
    return f"{np.exp(gain):.1f}" if gain < 7 else f"{np.exp(min(gain, 300)):.0e}"


def checks(posterior: Any, remedy: str, *, among: int = 0) -> Part:
    """Say whether rankings drawn from the model look like the observed ones, the worst first.

    `among` is how many rankings there are, if they may be more than those predicted.
    """
    what = [
        "Rankings drawn from the model are held against the observed ones: which item is on top, "
        "who is above whom, how far rankings are from the common order.",
        *_which_rankings(posterior, among),
    ]
    table = ranking_checks(posterior, draws=None)
    picture = marked_png(plot_ranking_checks(table), posterior)
    return _checked(table, " ".join(what), REMEDY.format(remedy), posterior, picture)


def checks_of_kinds(posterior: Any, membership: xr.Dataset) -> Part:
    """Say whether rankings of each kind look like those drawn from the model."""
    what = (
        "Rankings drawn from the model are held against the observed ones, each kind by itself: "
        "every ranking counts as much as it is of the kind."
    )
    table = kind_checks(posterior, membership, order="kind_utility").assign(note="")
    return _checked(
        table, what, f"What to do: {OTHER_KINDS}.", posterior, where=" within the kinds"
    )


def checks_of_matches(posterior: Any, by: Sequence[str] = ()) -> Part:
    """Say whether matches drawn from the model look like the observed ones, the worst first."""
    what = (
        "As many matches of each pair as were played are drawn from the model and held against the "
        "observed ones: how many points each item makes, who beats whom, how often the first wins "
        "or nobody"
    )
    if by:
        what += f", also {' and '.join(SORTS[name] for name in by)}"
    table = match_checks(posterior, draws=None, by=by)
    picture = marked_png(plot_match_checks(table), posterior)
    return _checked(table, f"{what}.", REMEDY.format(BY), posterior, picture)


def _checked(
    table: pd.DataFrame,
    what: str,
    remedy: str,
    posterior: Any,
    picture: bytes | None = None,
    where: str = "",
) -> Part:
    """Say what the checks say, the worst first, and whether the model fits."""
    fits = worst_checks(table)
    count = fits.said(table.attrs["prob"])
    rows = fits.worst.head(SURPRISING)
    # of all rankings, of those of some length, or of a kind
    which = "kind {}" if "kind" in table.index.names else "{} items"
    keys = [
        (str(statistic), label, "" if n == "all" else which.format(n))
        for statistic, label, n in rows.index
    ]
    text, failures, shown = [count, what], [], None
    if len(rows):
        worst = _check_sentence(*keys[0], rows.iloc[0])
        text.insert(0, f"The worst: {worst}")
        shown = _shown_checks(keys, rows)
        if not fits.ok:
            failures.append(_misfit(fits, count, worst, where, remedy))
    file = "kind_checks.csv" if where else "checks.csv"
    alt = f"Predictive checks: {count}"
    section = Section(f"What it misses{where}", text, shown, picture, alt, file)
    files = {file: marked_csv(table, posterior)}
    if picture is not None:
        files["checks.png"] = picture
    return Part(section, files, printed=False, failures=failures, fit=_good_fit(fits, where))


def _misfit(fits: Fits, count: str, worst: str, where: str, remedy: str) -> str:
    """Say that the model does not fit: too many checks fail, or one of them by too much."""
    if fits.failed > fits.by_chance:
        return f"The model does not fit{where}. {count} The worst: {worst} {remedy}"
    return (
        f"The model does not fit{where}: {worst} That is {fits.worst.iloc[0]['far']:.0f} standard "
        f"deviations off, too many for chance. (Of all {fits.n} checks {fits.failed} fail, and "
        f"{_by_chance(fits)} would by chance.) {remedy}"
    )


def _good_fit(fits: Fits, where: str) -> str:
    """Say that the model fits, if it does, or that this cannot be checked."""
    if not fits.n:
        return f"Whether the model fits{where} cannot be checked: too little was observed."
    if not fits.ok:
        return ""
    fail = "fails" if fits.failed == 1 else "fail"
    return (
        f"The model fits{where}, as far as {fits.n} checks tell: {fits.failed} of them {fail}, "
        f"{_by_chance(fits)} would by chance."
    )


def _by_chance(fits: Fits) -> str:
    return f"{fits.by_chance:.0f}" if fits.by_chance >= 1 else "none or one"


def _shown_checks(keys: list[tuple[str, Any, str]], rows: pd.DataFrame) -> pd.DataFrame:
    """Write the checks that fail as a table."""
    names = pd.Index([_label(label, which) for _, label, which in keys])
    figures = [_figures(row) for _, row in rows.iterrows()]
    table = pd.DataFrame(figures, names, ["Observed", "Predicted", "From", "To"])
    table.insert(0, "What", [STATISTICS[statistic] for statistic, *_ in keys])
    return table.rename_axis("Outside, the worst first")


def _check_sentence(statistic: str, label: Any, which: str, row: Any) -> str:
    """Say what is observed, and what the model predicts."""
    figures = "observed {}, predicted {} ({} to {}).".format(*_figures(row))
    if statistic == "Kendall distance" and label == "mean":
        more = "more" if row["observed"] < row["mean"] else "less"
        lists = f" of {which}" if which else ""
        return (
            f"rankings{lists} agree {more} with each other than those of the model do. Of the "
            f"pairs in a ranking, the share that is not in the common order: {figures}"
        )
    return f"{_check_name(statistic, label, which)}: {figures}"


def _figures(row: Any) -> list[str]:
    """Write observed, mean and interval, with decimals enough to tell what lies outside of it."""
    apart = [row["high"] - row["low"], abs(row["observed"] - row["low"])]
    apart.append(abs(row["observed"] - row["high"]))
    least = min((width for width in apart if width > 0), default=1.0)
    decimals = min(max(2, math.ceil(-math.log10(least))), 5)
    return [f"{row[name]:.{decimals}f}" for name in ("observed", "mean", "low", "high")]


def _check_name(statistic: str, label: Any, which: str) -> str:
    """Name a check in a sentence."""
    lists = f" ({which})" if which else ""
    outcome, comma, where = str(label).partition(", ")
    happens = "there is a tie" if outcome == "tie" else f"the {outcome} wins"
    one, _, other = str(label).rpartition(" > ")
    names = {
        "Kendall distance": f"how much the distances of rankings to the common order vary{lists}",
        "top item": f"how often {label} is first{lists}",
        "points": f"the share of points of {label}",
        "group points": f"the share of points of {label}",
        "outcome": f"how often {happens}{comma}{where}",
        "group outcome": f"how often {happens}{comma}{where}",
        "pair": f"how often {one} beats {other}",
        "pair order": f"how often {one} is ahead of {other}{lists}",
        "share": f"the share of {which}",
        "block size": f"the share of {label} among the blocks{lists}",
    }
    return names[statistic]


def _label(label: Any, which: str) -> str:
    """Name a check in the table."""
    label = {"mean": "mean over rankings", "spread": "spread over rankings"}.get(label, label)
    return f"{label}, {which}" if which else f"{label}"
