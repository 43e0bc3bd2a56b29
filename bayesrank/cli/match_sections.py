"""What ``bayesrank matches`` says beside the ranks: the leader, the judges, the categories."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from bayesrank.audit import audit
from bayesrank.cli.marked import marked_csv, marked_png
from bayesrank.cli.run import Fit, Part
from bayesrank.plots import plot_adherence
from bayesrank.results import (
    Section,
    adherence_summary,
    csv_bytes,
    match_probability,
    matches_between,
    rank_summary,
)

if TYPE_CHECKING:
    from bayesrank.data import Pairs


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


def judges(posterior: Any, pairs: "Pairs", most: int) -> Part:
    """Say how closely judges follow the utilities, and how much being first gains with them."""
    summary = adherence_summary(posterior, dim="judge")[::-1]
    plot = plot_adherence(posterior, dim="judge", max_rankers=most)
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
        "with them. The geometric mean of all judges is 1. In the table the least adherent come "
        "first.",
        _off(csv.index[csv["outlier"]]),
    ]
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


def audit_of(pairs: "Pairs", *, order: bool) -> Part:
    """Say what the ranks hang on, as far as matches tell."""
    found = audit(pairs, order_effect=order)
    looked = found[found["value"].notna()]
    fires = looked[looked["fires"]]
    table = pd.DataFrame(
        {
            "Found": ["look at this" if fired else "as expected" for fired in looked["fires"]],
            "In words": looked["says"].to_numpy(),
        },
        index=pd.Index(looked.index.str.capitalize(), name="Probe"),
    )
    text = [
        "Probes of the matches, not of the ranks: each looks for one thing that would make a table "
        "less trustworthy than its intervals say. One that fires does not say that anybody "
        "cheated, but what to look at.",
        *(fires["says"] if len(fires) else ["None of them fires."]),
    ]
    section = Section("What the table hangs on", text, table, file="audit.csv")
    return Part(section, {"audit.csv": csv_bytes(found)}, printed=False, data={"audit": found})


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
