"""What commands say beside the ranks: places, wins, what the model predicts and what it misses.

The pictures of many items show the first ones: a matrix of more cannot be read on a page.
"""

import math
import warnings
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr

from bayesrank.cli.marked import marked_csv, marked_png
from bayesrank.cli.run import Part
from bayesrank.plots import plot_match_checks, plot_places, plot_ranking_checks, plot_wins
from bayesrank.results import (
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


def wins(posterior: Any, summary: pd.DataFrame, of: Literal["utility", "match"]) -> Part | None:
    """Show the probability that each item beats each other one."""
    if len(summary) < 2:
        return None
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
    return Part(section, {"wins.png": picture}, printed=False)


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
        return Part(Section(heading, [str(error)]), {}, printed=False)
    # rankers of one row that counts several times are so many rankers
    weight = np.ones(len(table)) if times is None else times[table.index].to_numpy()
    total, n = table["elpd"] - table["elpd_random"], float((weight * table["n"]).sum())
    rankers = float(weight.sum())
    gain = float(weight @ total) / n
    off = weight @ (total - weight @ total / rankers) ** 2
    spread = float(np.sqrt(rankers * off / (rankers - 1))) / n if rankers > 1 else np.nan
    table["n"] = (weight * table["n"]).astype(table["n"].dtype if times is None else float)
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
        worse = float(weight[(table["gain"] < 0).to_numpy()].sum())
        text.append(
            f"{worse:,.6g} of {rankers:,.6g} {group}s are predicted worse than by random order. "
            f"The table has the {len(rows)} that fit least."
        )
    text += _some(posterior, among)
    text.append(
        "Pareto k says how much the fit hangs on what is left out: up to "
        f"{GOOD_K:g} the prediction without it is sound."
    )
    rough = int((table["pareto_k"] > GOOD_K).sum())
    if rough:
        text.append(
            f"{rough:,} of the {len(table):,} {'weighs' if rough == 1 else 'weigh'} so much that "
            f"the fit without {'it' if rough == 1 else 'them'} is a rough guess (Pareto k above "
            f"{GOOD_K:g})."
        )
    shown = pd.DataFrame(index=pd.Index(rows.index, name=group.capitalize()))
    shown[f"{noun.capitalize()}{'es' * (noun == 'match') or 's'}"] = [f"{x:,g}" for x in rows["n"]]
    shown["Gain"] = [f"{x:.2f}" for x in rows["gain"]]
    shown["Pareto k"] = [f"{k:.2f}" if np.isfinite(k) else "" for k in rows["pareto_k"]]
    csv = {"predictions.csv": marked_csv(table, posterior)}
    failures = [
        f"The model predicts a {noun} no better than random order does (mean gain {figures} nats): "
        "do not rely on these ranks."
    ]
    section = Section(heading, text, shown if len(table) > 1 else None, file="predictions.csv")
    return Part(section, csv, printed=False, failures=failures if gain <= 0 else ())


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


def _some(posterior: Any, among: int) -> list[str]:
    """Say which rankings were predicted, if not all."""
    n = posterior["observed_data"].sizes.get("ranking", among)
    whose = "those of rankers drawn at random"
    return [f"These are {n:,} of the {among:,} rankings, {whose}."] if n < among else []


def _times(gain: float) -> str:
    return f"{np.exp(gain):.1f}" if gain < 7 else f"{np.exp(min(gain, 300)):.0e}"


def checks(posterior: Any, *, kinds: bool = False, among: int = 0) -> Part:
    """Say whether rankings drawn from the model look like the observed ones, the worst first.

    `among` is how many rankings there are, if they may be more than those predicted.
    """
    what = (
        "Rankings drawn from the model are held against the observed ones: which item is on top, "
        "who is above whom, how far rankings are from the common order."
    )
    what = " ".join([what, *_some(posterior, among)])
    table = ranking_checks(posterior, draws=None)
    picture = marked_png(plot_ranking_checks(table), posterior)
    remedy = REMEDY.format(OTHER_KINDS if kinds else NO_COLUMN)
    return _checked(table, what, remedy, posterior, picture)


def checks_of_kinds(posterior: Any, membership: xr.Dataset) -> Part:
    """Say whether rankings of each kind look like those drawn from the model."""
    what = (
        "Rankings drawn from the model are held against the observed ones, each kind by itself: "
        "every ranking counts as much as it is of the kind."
    )
    table = kind_checks(posterior, membership, order="kind_utility").assign(note="")
    return _checked(table, what, f"What to do: {OTHER_KINDS}.", posterior, where="within the kinds")


def checks_of_matches(posterior: Any, by: Sequence[str] = ()) -> Part:
    """Say whether matches drawn from the model look like the observed ones, the worst first."""
    where = [{"judge": "with every judge", "category": "in every category"}[name] for name in by]
    what = (
        "As many matches of each pair as were played are drawn from the model and held against the "
        "observed ones: how many points each item makes, who beats whom, how often the first wins "
        "or nobody" + ", also " * bool(by) + " and ".join(where) + "."
    )
    table = match_checks(posterior, draws=None, by=by)
    picture = marked_png(plot_match_checks(table), posterior)
    return _checked(table, what, REMEDY.format(BY), posterior, picture)


def _checked(
    table: pd.DataFrame,
    what: str,
    remedy: str,
    posterior: Any,
    picture: bytes | None = None,
    where: str = "",
) -> Part:
    """Say what the checks say, the worst first, and whether the model fits."""
    where = f" {where}" if where else ""
    fits, prob = worst_checks(table), table.attrs["prob"]
    count = fits.said(prob)
    chance = f"{fits.by_chance:.0f}" if fits.by_chance >= 1 else "none or one"
    text = [count, what]
    rows = fits.worst.head(SURPRISING)
    # of which rankings checks are: of all, of some length, of a kind
    which = "kind {}" if "kind" in table.index.names else "{} items"
    keys = [
        (statistic, label, "" if n == "all" else which.format(n))
        for statistic, label, n in rows.index
    ]
    failures, shown, good = [], None, ""
    if len(rows):
        first = rows.iloc[0]
        worst = _check_sentence(*keys[0], first)
        text.insert(0, f"The worst: {worst}")
        if not fits.ok and fits.failed <= fits.by_chance:
            failures.append(
                f"The model does not fit{where}: {worst} That is {first['far']:.0f} standard "
                f"deviations off, too many for chance. (Of all {fits.n} checks {fits.failed} fail, "
                f"and {chance} would by chance.) {remedy}"
            )
        elif not fits.ok:
            failures.append(f"The model does not fit{where}. {count} The worst: {worst} {remedy}")
        names = [_label(label, which) for _, label, which in keys]
        shown = pd.DataFrame(index=pd.Index(names, name="Outside, the worst first"))
        shown["What"] = [STATISTICS[str(statistic)] for statistic, *_ in keys]
        figures = [_figures(row) for _, row in rows.iterrows()]
        shown["Observed"], shown["Predicted"], shown["From"], shown["To"] = zip(
            *figures, strict=True
        )
    if not fits.n:
        good = f"Whether the model fits{where} cannot be checked: too little was observed."
    elif fits.ok:
        good = (
            f"The model fits{where}, as far as {fits.n} checks tell: {fits.failed} of them "
            f"{'fails' if fits.failed == 1 else 'fail'}, {chance} would by chance."
        )
    file = "kind_checks.csv" if where else "checks.csv"
    alt = f"Predictive checks: {count}"
    section = Section(f"What it misses{where}", text, shown, picture, alt, file)
    files = {file: marked_csv(table, posterior)}
    if picture is not None:
        files["checks.png"] = picture
    return Part(section, files, printed=False, failures=failures, fit=good)


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
    if statistic == "Kendall distance":
        return f"how much the distances of rankings to the common order vary{lists}"
    if statistic == "top item":
        return f"how often {label} is first{lists}"
    if statistic in ("points", "group points"):
        return f"the share of points of {label}"
    if statistic in ("outcome", "group outcome"):
        outcome, comma, where = str(label).partition(", ")
        what = "there is a tie" if outcome == "tie" else f"the {outcome} wins"
        return f"how often {what}{comma}{where}"
    if statistic == "pair":
        return f"how often {' beats '.join(str(label).rsplit(' > ', 1))}"
    if statistic == "pair order":
        return f"how often {' is ahead of '.join(str(label).rsplit(' > ', 1))}{lists}"
    if statistic == "share":
        return f"the share of {which}"
    return f"the share of {label} among the blocks{lists}"


def _label(label: Any, which: str) -> str:
    """Name a check in the table."""
    label = {"mean": "mean over rankings", "spread": "spread over rankings"}.get(label, label)
    return f"{label}, {which}" if which else f"{label}"
