"""What ``bayesrank matches`` says beside the ranks: the leader, the judges, the categories."""

import contextlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from bayesrank.audit import audit
from bayesrank.cli.marked import marked_csv, marked_png
from bayesrank.cli.run import Fit, Part
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


def leader(posterior: Any, summary: pd.DataFrame, n_others: int) -> Part:
    """Set the leader against the next few."""
    first, *others = summary.index[: n_others + 1]
    draws = posterior["posterior"].to_dataset().sel(item=[first, *others])
    chances = match_probability(draws).sel(item=first)
    found = [matches_between(draws, first, other) for other in others]
    names = {"win": "Leader wins", "tie": "Tie", "loss": "Leader loses"}
    table = pd.DataFrame({"P(leader better)": [f"{one.p_better:.2f}" for one in found]})
    for result in chances["result"].values:
        chance = chances.sel(item_other=others, result=result).values
        table[names[str(result)]] = [f"{p:.2f}" for p in chance]
    table["Matches to separate"] = [_matches(one.matches, one.table.index[-1]) for one in found]
    table.index = pd.Index(others, name=f"{first} against")
    text = (
        "Leader wins, tie and leader loses: the probabilities of the next match between the two"
        + (", a typical judge deciding" if "adherence" in draws else "")
        + (", neither being favoured for coming first." if "order_effect" in draws else ".")
        + " Matches to separate: how many more matches between the two it takes until one of them "
        f"is better with probability {found[0].prob:g} or more, in at least "
        f"{100 * found[0].power:g} of 100 cases."
    )
    csv = pd.DataFrame(
        {
            "p_leader_better": [one.p_better for one in found],
            **{
                f"p_{result}": chances.sel(item_other=others, result=result).to_numpy()
                for result in map(str, chances["result"].to_numpy())
            },
            "matches_to_separate": [one.matches for one in found],
        },
        index=pd.Index(others, name="item"),
    )
    section = Section("The leader and the next", [str(found[0]), text], table, file="leader.csv")
    return Part(section, {"leader.csv": marked_csv(csv, posterior)})


def _matches(n: float, most: int) -> str:
    return "separated" if n == 0 else f"more than {most:,}" if np.isinf(n) else f"{int(n):,}"


def judges(posterior: Any, pairs: "Pairs", most: int, fit: Fit) -> Part:
    """Say how closely judges follow the utilities, and how much being first gains with them."""
    summary = adherence_summary(posterior, dim="judge", prob=fit.interval)[::-1]
    plot = plot_adherence(posterior, dim="judge", prob=fit.interval, max_rankers=most)
    axes = plot.get_target("adherence", {})
    axes.set_xlabel("Adherence (0 = nothing to do with the utilities)")
    picture = marked_png(plot, posterior)
    csv = summary.copy()
    n_matches = np.bincount(pairs.judge_idx, pairs.counts.sum(axis=1), len(pairs.judges))
    csv["matches"] = pd.Series(n_matches.astype(int), pairs.coords["judge"])[csv.index]
    table = pd.DataFrame(index=pd.Index(csv.index, name="Judge"))
    table["Matches"] = [f"{n:,}" for n in csv["matches"]]
    table["Adherence"] = [f"{x:.2f}" for x in csv["mean"]]
    table["From"] = [f"{x:.2f}" for x in csv["low"]]
    table["To"] = [f"{x:.2f}" for x in csv["high"]]
    text = [
        "Adherence says how closely a judge follows the utilities: the log odds of a judgement are "
        "the difference of utilities times the adherence, 0 for judgements that have nothing to do "
        f"with them; it lies between From and To with probability {fit.interval:g}. The geometric "
        "mean of all judges is 1. In the table the least adherent come first.",
        _off(csv.index[csv["outlier"]]),
    ]
    if "judge_deviation" in posterior["posterior"]:
        csv["agrees"] = _agreement(posterior, pairs)[csv.index]
        table["Agrees"] = [f"{x:.2f}" for x in csv["agrees"]]
        spread = posterior["posterior"]["judge_spread"]
        text.append(
            "Judges have opinions of their own beside the utilities, so that none who is sure "
            f"decides alone: an item varies by {float(spread.mean()):.2f} ± "
            f"{float(spread.std()):.2f} from judge to judge. Adherence is then how closely a judge "
            "follows the utilities and its own opinions together, and Agrees the correlation of "
            "the two together with the utilities alone."
        )
    if "judge_order_effect" in posterior["posterior"]:
        order = posterior["posterior"]["judge_order_effect"]
        draws = order.transpose("judge", "chain", "draw").values.reshape(len(csv), -1)
        labels = order["judge"].values
        csv["order_effect"] = pd.Series(draws.mean(1), labels)[csv.index]
        csv["order_effect_sd"] = pd.Series(draws.std(1), labels)[csv.index]
        table["First gains"] = [
            f"{mean:.2f} ± {sd:.2f}"
            for mean, sd in zip(csv["order_effect"], csv["order_effect_sd"], strict=True)
        ]
        text.append("First gains: what being the first of the two adds to the log odds.")
    if "judge_nu" in posterior["posterior"]:
        nu = posterior["posterior"]["judge_nu"]
        share = (nu / (2 + nu)).mean(("chain", "draw"))
        csv["equals_tie"] = pd.Series(share.values, share["judge"].values)[csv.index]
        table["Equals tie"] = [f"{x:.2f}" for x in csv["equals_tie"]]
        text.append("Equals tie: how often the judge calls a tie between items that are equal.")
    if len(table) > most:
        text.append(
            f"The table has the {most} least adherent of {len(table)} judges; see the file."
        )
    alt = "Adherence of the judges, the highest on top; the lowest: " + ", ".join(
        f"{name} {mean}" for name, mean in table["Adherence"].head(3).items()
    )
    section = Section("Judges", text, table.head(most), picture, alt, "judges.csv")
    files = {"adherence.png": picture, "judges.csv": marked_csv(csv, posterior)}
    return Part(section, files, data={"judges": csv})


def features(posterior: Any, summary: pd.DataFrame, raw: Any, fit: Fit) -> list[Part]:
    """Say what features are worth, and set the ranks with them equal beside those as they are."""
    draws = posterior["posterior"]
    found = _intervals(draws["feature_effect"], fit)
    unit = posterior["constant_data"]["feature_unit"]
    found.insert(0, "unit", pd.Series(unit.to_numpy(), unit["feature"].to_numpy()))
    table = pd.DataFrame(index=pd.Index(found.index, name="Feature"))
    table["A usual difference"] = [f"{x:.3g}" for x in found["unit"]]
    table["Adds"] = [f"{x:.2f}" for x in found["mean"]]
    table["From"] = [f"{x:.2f}" for x in found["low"]]
    table["To"] = [f"{x:.2f}" for x in found["high"]]
    text = [
        "The ranks are those of items that are alike in these. A usual difference: the root mean "
        "square of all matches, in what the column counts. Adds: what being ahead by so much adds "
        "to the log odds"
        + (" with a typical judge" if "judge_feature_effect" in draws else "")
        + f", between From and To with probability {fit.interval:g}."
    ]
    data = {"features": found}
    if "judge_feature_effect" in draws:
        each = draws["judge_feature_effect"]
        found = pd.concat(
            {str(judge): _intervals(each.sel(judge=judge), fit) for judge in each["judge"].values},
            names=["judge", "feature"],
        )
        data["features_by_judge"] = found.reorder_levels(["feature", "judge"]).sort_index()
        least, most = found["mean"].groupby("feature").agg(["min", "max"]).T.to_numpy()
        table["Of judges"] = [f"{x:.2f} to {y:.2f}" for x, y in zip(least, most, strict=True)]
        text.append("Of judges: what it adds with the judge who minds it least, and most.")

    ranks = rank_summary(raw, top=fit.top, prob=fit.interval)
    both = pd.DataFrame(
        {
            name: [f"{r.mean_rank:.1f} ({r.rank_low}–{r.rank_high})" for r in one.itertuples()]
            for name, one in (("Held equal", summary), ("As they are", ranks.loc[summary.index]))
        },
        index=pd.Index(summary.index, name="Item"),
    )
    moved = (ranks["mean_rank"][summary.index] - summary["mean_rank"]).abs()
    beside = [
        "Mean rank, and from where to where: with the features held equal, and as they are. "
        + _moves(moved)
    ]
    files = {f"{name}.csv": marked_csv(found, posterior) for name, found in data.items()}
    return [
        Part(Section("Features", text, table, file="features.csv"), files, data=data),
        Part(
            Section(
                "Ranks with features held equal or not", beside, both, file="ranks_as_they_are.csv"
            ),
            {"ranks_as_they_are.csv": marked_csv(ranks, raw)},
            data={"ranks_as_they_are": ranks},
        ),
    ]


def _moves(ranks: pd.Series) -> str:
    """Say which item moves the most, by so many ranks."""
    if ranks.max() < LEAST_MOVE:
        return "None moves by a tenth of a rank on the average."
    return f"{ranks.idxmax()} moves the most, by {ranks.max():.1f} ranks on the average."


def _intervals(draws: Any, fit: Fit) -> pd.DataFrame:
    """Mean, standard deviation and interval of every number, by its label."""
    tail = (1 - fit.interval) / 2
    over = ("chain", "draw")
    (dim,) = (dim for dim in draws.dims if dim not in over)
    low, high = draws.quantile([tail, 1 - tail], dim=over).to_numpy()
    return pd.DataFrame(
        {"mean": draws.mean(over).to_numpy(), "sd": draws.std(over).to_numpy()}
        | {"low": low, "high": high},
        index=pd.Index(draws[dim].to_numpy(), name=str(dim)),
    )


def together(posterior: Any, pairs: "Pairs", groups: Sequence[str], fit: Fit) -> Part:
    """Say how much matches of one label of a group go together."""
    draws = posterior["posterior"]
    tail = (1 - fit.interval) / 2
    text = [
        "Matches of one label go together: an item may be better or worse there than elsewhere. An "
        "item varies by: the standard deviation of its utility from label to label. The more it "
        "is, the less another match of the same label tells."
    ]
    rows = {}
    for group in groups:
        matches = pairs.counts.sum(axis=1)
        n = np.bincount(pairs.group_idx(group), matches, len(pairs.group_labels(group)))
        ties = f"{group}_tie_spread"
        rows[group] = {
            "labels": int((n > 0).sum()),
            "matches_each": float(n.sum() / max(int((n > 0).sum()), 1)),
            "spread": float(draws[f"{group}_spread"].mean()),
            "spread_sd": float(draws[f"{group}_spread"].std()),
            "tie_spread": float(draws[ties].mean()) if ties in draws else np.nan,
            "effective_judges": np.nan,
        }
        if (families := _families(pairs, group)) and "judge_spread" in draws:
            worth = effective_judges(posterior, families, family=group)
            rows[group]["effective_judges"] = float(worth.mean())
            low, high = worth.quantile([tail, 1 - tail]).to_numpy()
            text.append(
                f"Of {group}: the {len(families)} judges are worth {float(worth.mean()):.1f} of "
                f"their own minds (between {low:.1f} and {high:.1f} with probability "
                f"{fit.interval:g}), as judges of one {group} err alike."
            )
    found = pd.DataFrame.from_dict(rows, orient="index")
    found.index.name = "group"
    table = pd.DataFrame(index=pd.Index(found.index, name="Group"))
    table["Labels"] = [f"{n:,}" for n in found["labels"]]
    table["Matches each"] = [f"{n:,.1f}" for n in found["matches_each"]]
    table["An item varies by"] = [f"{r.spread:.2f} ± {r.spread_sd:.2f}" for r in found.itertuples()]
    section = Section("What goes together", text, table, file="groups.csv")
    return Part(section, {"groups.csv": marked_csv(found, posterior)}, data={"groups": found})


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
    found = _intervals(draws["item_tie_effect"], fit).loc[summary.index]
    found["tied"] = _share_of_ties(pairs)[found.index]
    table = pd.DataFrame(index=pd.Index(found.index, name="Item"))
    table["Tied"] = ["" if np.isnan(x) else f"{x:.2f}" for x in found["tied"]]
    table["Odds times"] = [f"{x:.2f}" for x in np.exp(found["mean"])]
    table["From"] = [f"{x:.2f}" for x in np.exp(found["low"])]
    table["To"] = [f"{x:.2f}" for x in np.exp(found["high"])]
    text = [
        "Tied: the share of the item's matches that were ties. Odds times: by what the item "
        "multiplies the odds of a tie against a win of either side, whoever it meets; it lies "
        f"between From and To with probability {fit.interval:g}."
    ]
    data = {"ties": found}
    if "strength_tie_slope" in draws:
        one = _intervals(draws["strength_tie_slope"].expand_dims(by=["strength"]), fit)
        data["ties_by_strength"] = one
        times = np.exp(one.loc["strength"])
        more = float((draws["strength_tie_slope"] > 0).mean())
        text.append(
            f"Where the utility of both is higher by 1, these odds are {times['mean']:.2f} times "
            f"as high (between {times['low']:.2f} and {times['high']:.2f}). With probability "
            f"{max(more, 1 - more):.2f} the strong tie {'more' if more > 0.5 else 'less'} often "
            "among themselves than the weak do."
        )
    section = Section("Ties", text, table, file="ties.csv")
    return Part(section, {"ties.csv": marked_csv(found, posterior)}, data=data)


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


def audit_of(pairs: "Pairs", predicted: Any, *, order: bool, time: str | None = None) -> Part:
    """Say what the ranks hang on, as far as matches tell, and what of it the model accounts for.

    A reader is to learn of both: that votes go together by prompt, and that the model knows.
    """
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
    """Say who leads in each group, of which `sizes` has labels and sizes, and show all ranks."""
    heading, file = OF[group]
    summaries = rank_summary(posterior, f"{group}_utility", top=fit.top, prob=fit.interval)
    rows, ranks = [], {}
    for label, size in zip(sizes.index.tolist(), sizes.tolist(), strict=True):
        here = summaries.loc[label]
        others = here.index[1:][here["tied_with_leader"].iloc[1:]]
        more = f" and {len(others) - 3} more" if len(others) > 3 else ""
        rows.append(
            {
                str(sizes.name): size,
                "Leader": str(here.index[0]),
                "P(best)": f"{here['p_best'].iloc[0]:.2f}",
                "Not told from it": ", ".join(map(str, others[:3])) + more,
            }
        )
        name = str(label) if group == "category" else f"{group.capitalize()} {label}"
        ranks[name] = [
            f"{r.mean_rank:.1f} ({r.rank_low}–{r.rank_high})"
            for r in here.loc[summary.index].itertuples()
        ]
    leaders = pd.DataFrame(rows, index=pd.Index(list(sizes.index), name=group.capitalize()))
    table = pd.DataFrame(ranks, index=pd.Index(summary.index, name="Item"))
    return [
        Part(
            Section(heading, text, leaders, file=file),
            {file: marked_csv(summaries, posterior)},
            data={file.removesuffix(".csv"): summaries},
        ),
        Part(
            Section(f"Ranks by {group}", ["Mean rank, and from where to where."], table, file=file),
            {},
            printed=False,
        ),
    ]


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
