"""What ``bayesrank matches`` says besides the ranks: the leader, the judges, the categories."""

import contextlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from bayesrank.audit import audit
from bayesrank.cli.job import Fit
from bayesrank.cli.parts import (
    SAMPLE,
    Part,
    formatted,
    interval_table,
    marked_csv,
    marked_png,
    table_part,
)
from bayesrank.data.read import Group, label_times
from bayesrank.plots import plot_adherence
from bayesrank.results import (
    Section,
    adherence_summary,
    csv_bytes,
    effective_judges,
    match_probability,
    matches_between,
    rank_summary,
)

if TYPE_CHECKING:
    from bayesrank.data import Pairs

LEAST_MOVE = 0.05  # ranks that are not written as none
RANKS = "{mean_rank:.1f} ({rank_low}–{rank_high})"


def leader(posterior: Any, summary: pd.DataFrame, n_others: int) -> Part:
    """Set the leader against the next few."""
    first, *others = summary.index[: n_others + 1]
    draws = posterior["posterior"].to_dataset().sel(item=[first, *others])
    chances = match_probability(draws).sel(item=first, item_other=others)
    found = [matches_between(draws, first, other) for other in others]
    results = {
        f"p_{result}": chances.sel(result=result).to_numpy()
        for result in map(str, chances["result"].to_numpy())
    }
    csv = pd.DataFrame(
        {
            "p_leader_better": [one.p_better for one in found],
            **results,
            "matches_to_separate": [one.matches for one in found],
        },
        index=pd.Index(others, name="item"),
    )
    headings = {"p_win": "Leader wins", "p_tie": "Tie", "p_loss": "Leader loses"}
    columns = {"P(leader better)": "{p_leader_better:.2f}"}
    columns |= {headings[name]: f"{{{name}:.2f}}" for name in results}
    table = formatted(csv, f"{first} against", columns)
    table["Matches to separate"] = [_matches(one.matches, one.table.index[-1]) for one in found]
    conditions = ["the probabilities of the next match between the two"]
    if "adherence" in draws:
        conditions.append("a typical judge deciding")
    if "order_effect" in draws:
        conditions.append("neither being favoured for coming first")
    text = (
        f"Leader wins, tie and leader loses: {', '.join(conditions)}. Matches to separate: how "
        "many more matches between the two it takes until one of them is better with probability "
        f"{found[0].prob:g} or more, in at least {100 * found[0].power:g} of 100 cases."
    )
    section = Section("The leader and the next", [str(found[0]), text], table, file="leader.csv")
    return table_part(section, csv, posterior)


def _matches(n: float, most: int) -> str:
    if n == 0:
        return "separated"
    return f"more than {most:,}" if np.isinf(n) else f"{int(n):,}"


def judges(posterior: Any, pairs: "Pairs", most: int, fit: Fit) -> Part:
    """Say how closely judges follow the utilities, and how much being first gains with them."""
    csv = adherence_summary(posterior, dim="judge", prob=fit.interval)[::-1]
    plot = plot_adherence(posterior, dim="judge", prob=fit.interval, max_rankers=most)
    axes = plot.get_target("adherence", {})
    axes.set_xlabel("Adherence (0 = nothing to do with the utilities)")
    picture = marked_png(plot, posterior)
    n_matches = np.bincount(pairs.judge_idx, pairs.counts.sum(axis=1), len(pairs.judges))
    csv["matches"] = pd.Series(n_matches.astype(int), pairs.coords["judge"])[csv.index]
    columns = {"Matches": "{matches:,}", "Adherence": "{mean:.2f}"}
    columns |= {"From": "{low:.2f}", "To": "{high:.2f}"}
    text = [
        "Adherence says how closely a judge follows the utilities: the log odds of a judgement are "
        "the difference of utilities times the adherence, 0 for judgements that have nothing to do "
        f"with them; it lies between From and To with probability {fit.interval:g}. The geometric "
        "mean of all judges is 1. In the table the least adherent come first.",
        _off(csv.index[csv["outlier"]]),
    ]
    draws = posterior["posterior"]
    if "judge_deviation" in draws:
        csv["agrees"] = _agreement(posterior, pairs)[csv.index]
        columns["Agrees"] = "{agrees:.2f}"
        spread = draws["judge_spread"]
        text.append(
            "Judges have opinions of their own beside the utilities, so that none who is sure "
            f"decides alone: an item varies by {float(spread.mean()):.2f} ± "
            f"{float(spread.std()):.2f} from judge to judge. Adherence is then how closely a judge "
            "follows the utilities and its own opinions together, and Agrees the correlation of "
            "the two together with the utilities alone."
        )
    if "judge_order_effect" in draws:
        order = draws["judge_order_effect"]
        csv["order_effect"] = order.mean(SAMPLE).to_series()[csv.index]
        csv["order_effect_sd"] = order.std(SAMPLE).to_series()[csv.index]
        columns["First gains"] = "{order_effect:.2f} ± {order_effect_sd:.2f}"
        text.append("First gains: what being the first of the two adds to the log odds.")
    if "judge_nu" in draws:
        nu = draws["judge_nu"]
        csv["equals_tie"] = (nu / (2 + nu)).mean(SAMPLE).to_series()[csv.index]
        columns["Equals tie"] = "{equals_tie:.2f}"
        text.append("Equals tie: how often the judge calls a tie between items that are equal.")
    table = formatted(csv, "Judge", columns)
    if len(table) > most:
        text.append(
            f"The table has the {most} least adherent of {len(table)} judges; see the file."
        )
    lowest = [f"{name} {mean}" for name, mean in table["Adherence"].head(3).items()]
    alt = f"Adherence of the judges, the highest on top; the lowest: {', '.join(lowest)}"
    section = Section("Judges", text, table.head(most), picture, alt, "judges.csv")
    files = {"adherence.png": picture, "judges.csv": marked_csv(csv, posterior)}
    return Part(section, files, data={"judges": csv})


def features(posterior: Any, summary: pd.DataFrame, raw: Any, fit: Fit) -> list[Part]:
    """Say what features are worth, and set the ranks with them equal beside those as they are."""
    draws = posterior["posterior"]
    csv = interval_table(draws["feature_effect"], fit.interval)
    unit = posterior["constant_data"]["feature_unit"]
    csv.insert(0, "unit", pd.Series(unit.to_numpy(), unit["feature"].to_numpy()))
    columns = {"A usual difference": "{unit:.3g}", "Adds": "{mean:.2f}"}
    table = formatted(csv, "Feature", columns | {"From": "{low:.2f}", "To": "{high:.2f}"})
    judged = "judge_feature_effect" in draws
    where = "the log odds with a typical judge" if judged else "the log odds"
    text = [
        "The ranks are those of items that are alike in these. A usual difference: the root mean "
        "square of all matches, in what the column counts. Adds: what being ahead by so much adds "
        f"to {where}, between From and To with probability {fit.interval:g}."
    ]
    data = {"features": csv}
    if judged:
        effects = draws["judge_feature_effect"]
        by_judge = pd.concat(
            {
                str(judge): interval_table(effects.sel(judge=judge), fit.interval)
                for judge in effects["judge"].values
            },
            names=["judge", "feature"],
        )
        data["features_by_judge"] = by_judge.reorder_levels(["feature", "judge"]).sort_index()
        least, most = by_judge["mean"].groupby("feature").agg(["min", "max"]).T.to_numpy()
        table["Of judges"] = [f"{x:.2f} to {y:.2f}" for x, y in zip(least, most, strict=True)]
        text.append("Of judges: what it adds with the judge who minds it least, and most.")
    files = {f"{name}.csv": marked_csv(found, posterior) for name, found in data.items()}
    section = Section("Features", text, table, file="features.csv")
    return [Part(section, files, data=data), _as_they_are(summary, raw, fit)]


def _as_they_are(summary: pd.DataFrame, raw: Any, fit: Fit) -> Part:
    """Set the ranks with features held equal beside those as they are."""
    ranks = rank_summary(raw, top=fit.top, prob=fit.interval)
    both = formatted(summary, "Item", {"Held equal": RANKS})
    both["As they are"] = formatted(ranks.loc[summary.index], "Item", {"": RANKS})[""]
    moved = (ranks["mean_rank"][summary.index] - summary["mean_rank"]).abs()
    text = [
        "Mean rank, and from where to where: with the features held equal, and as they are. "
        + _moves(moved)
    ]
    heading, file = "Ranks with features held equal or not", "ranks_as_they_are.csv"
    return table_part(
        Section(heading, text, both, file=file), ranks, raw, data={"ranks_as_they_are": ranks}
    )


def _moves(ranks: pd.Series) -> str:
    """Say which item moves the most, by so many ranks."""
    if ranks.max() < LEAST_MOVE:
        return "None moves by a tenth of a rank on the average."
    return f"{ranks.idxmax()} moves the most, by {ranks.max():.1f} ranks on the average."


def together(posterior: Any, pairs: "Pairs", groups: Sequence[str], fit: Fit) -> Part:
    """Say how much matches of one label of a group go together."""
    text = [
        "Matches of one label go together: an item may be better or worse there than elsewhere. An "
        "item varies by: the standard deviation of its utility from label to label. The more it "
        "is, the less another match of the same label tells."
    ]
    rows = {group: _spread_by(posterior, pairs, group) for group in groups}
    if "judge_spread" in posterior["posterior"]:
        for group in groups:
            if families := _families(pairs, group):
                worth = effective_judges(posterior, families, family=group)
                rows[group]["effective_judges"] = float(worth.mean())
                text.append(_in_families(worth, group, len(families), fit.interval))
    csv = pd.DataFrame.from_dict(rows, orient="index")
    csv.index.name = "group"
    columns = {"Labels": "{labels:,.0f}", "Matches each": "{matches_each:,.1f}"}
    columns["An item varies by"] = "{spread:.2f} ± {spread_sd:.2f}"
    table = formatted(csv, "Group", columns)
    section = Section("What goes together", text, table, file="groups.csv")
    return table_part(section, csv, posterior, data={"groups": csv})


def _spread_by(posterior: Any, pairs: "Pairs", group: str) -> dict[str, float]:
    """How many labels and matches a group has, and how far items vary between labels."""
    draws = posterior["posterior"]
    n = np.bincount(
        pairs.group_idx(group), pairs.counts.sum(axis=1), len(pairs.group_labels(group))
    )
    labels, ties = int((n > 0).sum()), f"{group}_tie_spread"
    return {
        "labels": labels,
        "matches_each": float(n.sum() / max(labels, 1)),
        "spread": float(draws[f"{group}_spread"].mean()),
        "spread_sd": float(draws[f"{group}_spread"].std()),
        "tie_spread": float(draws[ties].mean()) if ties in draws else np.nan,
        "effective_judges": np.nan,
    }


def _in_families(worth: Any, group: str, n_judges: int, prob: float) -> str:
    """Say how many independent judges those of a few families are worth."""
    tail = (1 - prob) / 2
    low, high = worth.quantile([tail, 1 - tail]).to_numpy()
    return (
        f"Of {group}: the {n_judges} judges are worth {float(worth.mean()):.1f} of their own minds "
        f"(between {low:.1f} and {high:.1f} with probability {prob:g}), as judges of one {group} "
        "err alike."
    )


def _families(pairs: "Pairs", group: str) -> dict[str, str]:
    """Return the label of every judge, if judges of one label are of one family."""
    played = pairs.counts.any(axis=1)
    both = pd.DataFrame({"judge": pairs.judge_idx, "family": pairs.group_idx(group)})[played]
    both = both.drop_duplicates()
    families = both["family"].nunique()
    if both["judge"].duplicated().any() or not 1 < families < len(both):
        return {}
    judges, labels = pairs.judges, pairs.group_labels(group)
    return {str(judges[i]): str(labels[k]) for i, k in both.to_numpy()}


def ties(posterior: Any, pairs: "Pairs", summary: pd.DataFrame, fit: Fit) -> Part:
    """Say which items tie more often than others, and whether the strong or the weak do."""
    draws = posterior["posterior"]
    csv = interval_table(draws["item_tie_effect"], fit.interval).loc[summary.index]
    csv["tied"] = _share_of_ties(pairs)[csv.index]
    odds = csv[["mean", "low", "high"]].apply(np.exp).assign(tied=csv["tied"])
    columns = {"Tied": "{tied:.2f}", "Odds times": "{mean:.2f}"}
    table = formatted(odds, "Item", columns | {"From": "{low:.2f}", "To": "{high:.2f}"})
    text = [
        "Tied: the share of the item's matches that were ties. Odds times: by what the item "
        "multiplies the odds of a tie against a win of either side, whoever it meets; it lies "
        f"between From and To with probability {fit.interval:g}."
    ]
    data = {"ties": csv}
    if "strength_tie_slope" in draws:
        slope = draws["strength_tie_slope"].expand_dims(by=["strength"])
        data["ties_by_strength"] = interval_table(slope, fit.interval)
        times = np.exp(data["ties_by_strength"].loc["strength"])
        more = float((slope > 0).mean())
        text.append(
            f"Where the utility of both is higher by 1, these odds are {times['mean']:.2f} times "
            f"as high (between {times['low']:.2f} and {times['high']:.2f}). With probability "
            f"{max(more, 1 - more):.2f} the strong tie {'more' if more > 0.5 else 'less'} often "
            "among themselves than the weak do."
        )
    section = Section("Ties", text, table, file="ties.csv")
    return table_part(section, csv, posterior, data=data)


def _share_of_ties(pairs: "Pairs") -> pd.Series:
    """Share of each item's matches that were ties, NaN if it is in none."""
    both = np.concatenate([pairs.first, pairs.second])
    played, tied = (
        np.bincount(both, np.tile(n, 2), pairs.n_items)
        for n in (pairs.counts.sum(axis=1), pairs.counts[:, 2])
    )
    share = np.divide(tied, played, out=np.full(len(played), np.nan), where=played > 0)
    return pd.Series(share, pairs.coords["item"])


# What is said of a probe that fires, but not any more beside what the model predicts. A judge who
# goes against all others is to be looked at in any case.
HELD = {
    "cycles": "This model allows for it.",
    "order": "This model has such an effect.",
    "ties": "In this model it does.",
    "clusters": "This model takes those of one group together.",
}
CHANGING = {  # the same beside a model of strengths that change
    "order": HELD["order"],
    "drift": "In this model strengths change.",
}
OF_ANY_TIME = ("connection", "order", "ties", "selection", "duplicates", "drift")
"""Probes that do not take strengths for constant, and that of whether they are."""

DATE = re.compile(r"\d{4}-\d\d(-\d\d.*)?")


def audit_of(pairs: "Pairs", predicted: Any, groups: Sequence[str], *, order: bool) -> Part:
    """Say what the ranks hang on, as far as matches tell, and what of it the model accounts for.

    A reader is to learn of both: that votes go together by prompt, and that the model knows.
    """
    time = dated_group(pairs, groups)
    if time is not None:
        pairs = in_time(pairs, time)
    found = audit(pairs, order_effect=order, time=time)
    asked = [str(probe) for probe in found.index[found["fires"]] if probe in HELD]
    left = audit(pairs, predicted, order_effect=order, probes=asked)["fires"]
    if time is not None and found.loc["drift", "fires"]:
        way_out = f" With --date {time} in place of --group they may change."
        found["says"] = found["says"].where(found.index != "drift", found["says"] + way_out)
    return _audited(found, {probe: HELD[str(probe)] for probe in left.index[~left.astype(bool)]})


def audit_of_dated(pairs: "Pairs", *, order: bool) -> Part:
    """Say the same of matches whose model has strengths that change."""
    found = audit(in_time(pairs, "date"), time="date", order_effect=order, probes=OF_ANY_TIME)
    return _audited(found, {k: text for k, text in CHANGING.items() if found.loc[k, "fires"]})


def dated_group(pairs: "Pairs", groups: Sequence[str]) -> str | None:
    """Find the first group whose labels are all dates; numbers are none, as prompts have them."""
    for group in groups:
        labels = list(map(str, pairs.group_labels(group)))
        if len(labels) > 1 and all(map(DATE.fullmatch, labels)):
            with contextlib.suppress(ValueError):
                label_times(pd.Index(labels), group)
                return group
    return None


def in_time(pairs: "Pairs", group: str) -> "Pairs":
    """Put the labels of a group in the order of time."""
    labels = pd.Index(pairs.group_labels(group))
    order = np.argsort(label_times(labels, group), kind="stable")
    idx = np.argsort(order)[pairs.group_idx(group)].astype(np.int32)
    return replace(pairs, groups={**pairs.groups, group: Group(labels[order], idx)})


def _audited(found: pd.DataFrame, held: Mapping[Any, str]) -> Part:
    """Write the section of an audit, of which the model accounts for some."""
    found["in_model"] = found.index.isin(list(held))
    looked = found[found["value"].notna()]
    says = [f"{r.says} {held[r.Index]}" if r.in_model else str(r.says) for r in looked.itertuples()]
    fires = [text for text, fired in zip(says, looked["fires"], strict=True) if fired]
    missed = looked["says"][looked["fires"] & ~looked["in_model"]].tolist()
    words = np.where(looked["in_model"], "in the model", "look at this")
    table = pd.DataFrame(
        {"Found": np.where(looked["fires"], words, "as expected"), "In words": says},
        index=pd.Index(looked.index.str.capitalize(), name="Probe"),
    )
    text = [
        "Probes of the matches, not of the ranks: each looks for one thing that would make a table "
        "less trustworthy than its intervals say. One that fires does not say that anybody "
        "cheated, but what to look at.",
        *(fires or ["None of them fires."]),
    ]
    section = Section("What the table hangs on", text, table, file="audit.csv")
    files, data = {"audit.csv": csv_bytes(found)}, {"audit": found}
    return Part(section, files, printed=False, notes=missed, data=data)


def _agreement(posterior: Any, pairs: "Pairs") -> pd.Series:
    """Correlate what judges think of the items that they judged with the utilities, in the mean."""
    draws, seen = posterior["posterior"], pairs.seen("judge")
    shared, own = (
        draws[name].transpose(dim, "chain", "draw").values.reshape(draws.sizes[dim], -1)
        for name, dim in (("utility", "item"), ("judge_deviation", "judge_item"))
    )
    whose = np.empty(len(seen.labels), dtype=np.int64)
    whose[seen.first], whose[seen.second] = pairs.judge_idx, pairs.judge_idx
    found = {}
    for k, judge in enumerate(pairs.coords["judge"]):
        mine = np.flatnonzero(whose == k)
        both = shared[seen.item[mine]], shared[seen.item[mine]] + own[mine]
        one, other = (x - x.mean(axis=0) for x in both)
        size = np.sqrt((one**2).sum(axis=0) * (other**2).sum(axis=0))
        found[judge] = float(((one * other).sum(axis=0) / size).mean())
    return pd.Series(found)


def _off(outliers: pd.Index) -> str:
    if not len(outliers):
        return (
            "No judge is off: none has less than half the adherence of the median judge with "
            "probability 0.95 or more."
        )
    named = ", ".join(map(str, outliers[:10])) + (", ..." if len(outliers) > 10 else "")
    return (
        f"Off {'is' if len(outliers) == 1 else 'are'} {named}: less than half the adherence of the "
        "median judge with probability 0.95 or more."
    )


OF = {  # heading and file of what there is by group
    "category": ("Categories", "categories.csv"),
    "kind": ("Kinds of rankers", "kinds.csv"),
}


def by_group(
    posterior: Any,
    group: Literal["category", "kind"],
    sizes: pd.Series,
    summary: pd.DataFrame,
    fit: Fit,
    text: Sequence[str],
) -> list[Part]:
    """Say who leads in each group, whose labels and sizes `sizes` has, and show all ranks."""
    heading, file = OF[group]
    csv = rank_summary(posterior, f"{group}_utility", top=fit.top, prob=fit.interval)
    rows, ranks = [], {}
    for label, size in zip(sizes.index.tolist(), sizes.tolist(), strict=True):
        here = csv.loc[label]
        rows.append({str(sizes.name): size, **_leader_of(here)})
        name = str(label) if group == "category" else f"Kind {label}"
        ranks[name] = formatted(here.loc[summary.index], "Item", {"": RANKS})[""]
    leaders = pd.DataFrame(rows, index=pd.Index(list(sizes.index), name=group.capitalize()))
    found = Section(heading, text, leaders, file=file)
    table = pd.DataFrame(ranks, index=pd.Index(summary.index, name="Item"))
    whole = ["Mean rank, and from where to where."]
    return [
        table_part(found, csv, posterior, data={file.removesuffix(".csv"): csv}),
        Part(Section(f"Ranks by {group}", whole, table, file=file), printed=False),
    ]


def _leader_of(summary: pd.DataFrame) -> dict[str, str]:
    """Name the leader of a group, and who cannot be told from it."""
    tied = summary.index[1:][summary["tied_with_leader"].iloc[1:]]
    more = f" and {len(tied) - 3} more" if len(tied) > 3 else ""
    return {
        "Leader": str(summary.index[0]),
        "P(best)": f"{summary['p_best'].iloc[0]:.2f}",
        "Not told from it": ", ".join(map(str, tied[:3])) + more,
    }


def categories(
    posterior: Any,
    labels: Iterable[Any],
    times: Iterable[float],
    noun: str,
    summary: pd.DataFrame,
    fit: Fit,
) -> list[Part]:
    """Say who leads in each category, and show the ranks in all of them."""
    sizes = pd.Series([f"{n:,.6g}" for n in times], list(labels), name=noun)
    text = [
        "Utilities of an item in the categories are drawn together as much as the data allow; the "
        "ranks above are those of their mean, in which each category counts the same."
    ]
    return by_group(posterior, "category", sizes, summary, fit, text)
