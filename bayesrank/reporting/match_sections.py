"""Sections of ``bayesrank matches``: the leader, judges, features, groups, ties, the audit."""

import contextlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from scipy.special import expit

from bayesrank.analysis.auditing import audit
from bayesrank.analysis.matches import MatchAnalysis
from bayesrank.data.read import BOTH_BAD, ONE_ORDER, SWAP, label_times
from bayesrank.match_outcomes import grade_probabilities
from bayesrank.plots import outcome_bars, plot_adherence
from bayesrank.reporting import sections
from bayesrank.reporting.counted_sections import counted_matches
from bayesrank.reporting.draft import Draft
from bayesrank.reporting.next_matches import coming
from bayesrank.reporting.options import Layout
from bayesrank.reporting.parts import (
    SAMPLE,
    Part,
    formatted,
    interval_table,
    mark_counted,
    marked_svg,
)
from bayesrank.reporting.target_sections import target
from bayesrank.results import (
    adherence_summary,
    effective_judges,
    flip_rates,
    match_probability,
    matches_needed,
    rank_summary,
)
from bayesrank.results.ranks.rank_table import BEHIND, TIED, UNCLEAR
from bayesrank.tables.words import with_noun
from bayesrank.texts import MATCHES, paragraphs, some

if TYPE_CHECKING:
    from bayesrank.data import Pairs

SURE = 0.95  # probability from which an item differs between two categories
SHOWN = 10  # differences in the table
MOST_DIFFERENCES = 100_000  # most differences of items between categories
OPEN = 0.05  # probability that the leader is not better than all items that are behind
COMPARED = 5  # items compared with the leader
MOST_AUDITED = 1000  # most items to audit, because its matrices have a cell per pair
LEADERS = 5  # categories whose leader the headline names
FEW_DRAWS = 500  # draws from which probabilities of matches are averaged
MOST_BARS = 30  # most items or pairs of items in the picture of outcomes
MOST_JUDGES = 100  # most judges in the picture and the table of the page
# A list of more judges shows the outliers and this number of others; the rest folds.
MOST_JUDGES_AT_ONCE, FEW_JUDGES = 20, 10
RARE = 0.005  # probability below which a flip rate is not as expected, on each side
LEAST_MOVE = 0.05  # smallest change of a mean rank that does not round to 0.0
RANKS = "{mean_rank:.1f} ({rank_low}–{rank_high})"


def match_parts(report: Draft, analysis: MatchAnalysis) -> list[Part]:
    """Return the sections after the ranks."""
    pairs, layout = analysis.pairs, report.layout
    posterior, predicted, summary = report.posterior, report.predicted, report.summary
    out = []
    if len(summary) > 1:
        out.append(leader(posterior, summary, COMPARED))
        out.append(coming(posterior, summary, layout.top, analysis.groups, analysis.target))
    if analysis.kinds is not None:
        out.append(target(report, analysis))
    if analysis.adjusted:
        raw = report.sample(MatchAnalysis(pairs, **analysis.arguments | {"features": False}))
        out += features(posterior, summary, raw, layout)
    if analysis.groups:
        out.append(together(posterior, pairs, analysis.groups, layout))
    if analysis.ties_by:
        out.append(ties(posterior, pairs, summary, layout))
    if analysis.both_bad:
        out.append(both_bad(posterior, predicted, pairs, summary, layout))
    if analysis.graded:
        out.append(grades(posterior, predicted, pairs, summary))
    if (part := stated(posterior, pairs)) is not None:
        out.append(part)
    if analysis.judges:
        out.append(judges(posterior, pairs, MOST_JUDGES, layout, analysis.kinds))
    joined = analysis.joins and ONE_ORDER not in pairs.group_labels(SWAP)
    if analysis.joins:
        out.append(swaps(posterior, predicted))
    by = ["judge"] if analysis.judges else []
    if analysis.categories:
        group = str(analysis.category)
        by.append(group)
        n = np.bincount(pairs.group_idx(group), pairs.matches)
        labels, name = pairs.coords[group], analysis.category_name
        out += categories(posterior, name, labels, n, "Matches", summary, layout)
    # votes on a pair in both orders are left out together
    out.append(sections.predictions(predicted, SWAP if joined else "pair", MATCHES))
    out.append(sections.checks_of_matches(predicted, by))
    if len(summary) <= MOST_AUDITED:
        out.append(
            audit_of(
                pairs,
                analysis.all_groups,
                order=analysis.order_effect,
                opinions=analysis.differ,
                leader=summary.index[0],
            )
        )
    return [
        *out,
        *counted_matches(pairs, summary),
        sections.places(posterior, summary),
        *sections.wins(posterior, summary),
    ]


def leader(posterior: Any, summary: pd.DataFrame, n_others: int) -> Part:
    """Compare the leader with the next items."""
    first, *others = summary.index[: n_others + 1]
    draws = posterior["posterior"].to_dataset().sel(item=[first, *others])
    chances = match_probability(draws).sel(item=first, item_other=others)
    # so sure of each close item that the leader is better than all of them at once
    sure = 1 - OPEN / max(int((summary["status"] != BEHIND).sum()) - 1, 1)
    found = [
        matches_needed(draws, between=(first, other), prob=sure, random_seed=0) for other in others
    ]
    results = [str(result) for result in chances["result"].to_numpy()]
    columns = {
        "p_leader_better": [one.p_better for one in found],
        **{
            f"p_{result.replace(' ', '_')}": chances.sel(result=result).to_numpy()
            for result in results
        },
        "matches_to_separate": [one.matches for one in found],
    }
    csv = pd.DataFrame(columns, index=pd.Index(others, name="item"))
    headings = {"win": "Leader wins", "tie": "Tie", "both bad": "Both bad", "loss": "Leader loses"}
    shown = {headings[result]: f"{{p_{result.replace(' ', '_')}:.2f}}" for result in results}
    table = formatted(
        csv, f"{first} against", {"P(leader better)": "{p_leader_better:.2f}"} | shown
    )
    table["Status"] = summary["status"][others]
    close = (summary["status"][others] != BEHIND).to_numpy()
    table["Matches to tell apart"] = [
        _matches(one.matches, one.table.index[-1]) if near else ""
        for one, near in zip(found, close, strict=True)
    ]
    text = paragraphs(
        "leader",
        first=found[0],
        judged="adherence" in draws,
        order="order_effect" in draws,
        prob=found[0].prob,
        power=found[0].power,
    )
    file = "leader.csv"
    return Part("The leader and its closest rivals", text, table, file=file, files={file: csv})


def _matches(n: float, most: int) -> str:
    return f"more than {most:,}" if np.isinf(n) else f"{int(n):,}"


def judges(posterior: Any, pairs: "Pairs", most: int, layout: Layout, kinds: Any = None) -> Part:
    """Show the adherence of judges, and their bias towards the first item."""
    csv = adherence_summary(posterior, dim="judge", ci_prob=layout.ci_prob)[::-1]
    csv = csv.sort_values("outlier", ascending=False, kind="stable")
    outliers = int(csv["outlier"].sum())
    first = outliers + FEW_JUDGES if len(csv) > MOST_JUDGES_AT_ONCE else 0
    names = dict(zip(csv.index, with_noun("judge", csv.index), strict=True))
    adherence = posterior["posterior"].to_dataset()[["adherence"]]
    adherence = adherence.assign_coords(judge=[names[x] for x in adherence["judge"].to_numpy()])
    chosen = {"judge": [names[x] for x in csv.index[:first][::-1]]} if first else None
    plot = plot_adherence(
        adherence, dim="judge", ci_prob=layout.ci_prob, coords=chosen, max_rankers=most
    )
    axes = plot.get_target("adherence", {})
    axes.set_xlabel("Adherence (0 = unrelated to the utilities)")
    picture = marked_svg(plot, posterior)
    n_matches = np.bincount(pairs.judge_idx, pairs.matches, len(pairs.judges))
    csv["matches"] = pd.Series(n_matches.astype(int), pairs.coords["judge"])[csv.index]
    columns = {"Matches": "{matches:,}", "Adherence": "{mean:.2f}"}
    columns |= {"From": "{low:.2f}", "To": "{high:.2f}"}
    draws, spread = posterior["posterior"], None
    if "judge_deviation" in draws or kinds is not None:
        csv["agrees"] = _agreement(posterior, pairs, kinds)[csv.index]
        columns["Agrees"] = "{agrees:.2f}"
    if "judge_spread" in draws:
        spread = float(draws["judge_spread"].mean()), float(draws["judge_spread"].std())
    if "judge_order_effect" in draws:
        order = draws["judge_order_effect"]
        csv["order_effect"] = order.mean(SAMPLE).to_series()[csv.index]
        csv["order_effect_sd"] = order.std(SAMPLE).to_series()[csv.index]
        columns["First gains"] = "{order_effect:.2f} ± {order_effect_sd:.2f}"
    if "judge_nu" in draws:
        nu = draws["judge_nu"]
        csv["equals_tie"] = (nu / (2 + nu)).mean(SAMPLE).to_series()[csv.index]
        columns["Equals tie"] = "{equals_tie:.2f}"
    if "judge_threshold" in draws:
        bar = draws["judge_threshold"] - draws["utility"].mean("item")
        csv["threshold"] = bar.mean(SAMPLE).to_series()[csv.index]
        csv["threshold_sd"] = bar.std(SAMPLE).to_series()[csv.index]
        columns["Threshold"] = "{threshold:.2f} ± {threshold_sd:.2f}"
    if "judge_theta" in draws:
        theta = draws["judge_theta"]
        csv["equals_tie"] = ((theta - 1) / (theta + 1)).mean(SAMPLE).to_series()[csv.index]
        columns["Equals tie"] = "{equals_tie:.2f}"
    if "judge_cutpoint" in draws:
        of_equals = _equal_items(draws["judge_cutpoint"])[csv.index]
        csv["equals_extreme"] = of_equals.iloc[0] + of_equals.iloc[-1]
        if len(of_equals) % 2:
            csv["equals_tie"] = of_equals.iloc[len(of_equals) // 2]
            columns["Equals tie"] = "{equals_tie:.2f}"
        columns["Equals extreme"] = "{equals_extreme:.2f}"
    table = formatted(csv.rename(index=names), "Judge", columns)
    text = paragraphs(
        "judges",
        prob=layout.ci_prob,
        outliers=list(table.index[:outliers]),
        target=None if kinds is None else kinds.target,
        spread=spread,
        order="judge_order_effect" in draws,
        ties="Equals tie" in columns,
        graded="judge_cutpoint" in draws,
        bars="judge_threshold" in draws,
        n=len(table),
        most=most,
    )
    lowest = [f"{name} {mean}" for name, mean in table["Adherence"].head(3).items()]
    alt = f"Adherence of the judges, the highest on top; the lowest: {', '.join(lowest)}"
    return Part(
        "Judges",
        text,
        table.head(most),
        picture,
        alt,
        "judges.csv",
        first,
        files={"adherence.svg": picture, "judges.csv": csv},
        data={"judges": csv},
    )


def swaps(posterior: Any, predicted: Any) -> Part:
    """Show how often verdicts flip with the order of the two items, by judge."""
    csv = flip_rates(predicted)
    columns = {"Pairs": "{pairs:,}", "Flips": "{flips:.2f}", "Reversed": "{reversed:.2f}"}
    columns |= {"Expected": "{expected:.2f}", "From": "{low:.2f}", "To": "{high:.2f}"}
    table = formatted(csv, "Judge", columns)
    table.index = pd.Index(with_noun("judge", csv.index), name="Judge")
    spread = posterior["posterior"]["swap_spread"]
    p_more = csv["p_more"].to_numpy()
    odd = list(table.index[np.minimum(p_more, 1 - p_more) < RARE])
    return Part(
        "Verdicts in both orders",
        paragraphs("swaps", spread=(float(spread.mean()), float(spread.std())), odd=some(odd, 5)),
        table.head(MOST_JUDGES),
        file="flips.csv",
        files={"flips.csv": mark_counted(csv)},
        data={"flips": csv},
    )


def both_bad(
    posterior: Any, predicted: Any, pairs: "Pairs", summary: pd.DataFrame, layout: Layout
) -> Part:
    """Show how probably each item alone is bad, and how often both were bad in its matches."""
    draws = posterior["posterior"]
    csv = interval_table(draws["p_bad"], layout.ci_prob)
    order = [0, 2, 1, 3]  # a tie is between a win and a loss
    drawn = predicted["posterior_predictive"]["y"].mean(SAMPLE).to_numpy()[:, order]
    names, counts = ["wins", "tie", "loses", BOTH_BAD], pairs.with_both_bad[:, order]
    seen, expected = (_by_item(pairs, x, [2, 1, 0, 3], names) for x in (counts, drawn))
    csv["in_votes"], csv["predicted"] = seen[BOTH_BAD], expected[BOTH_BAD]
    csv = csv.sort_values("mean", kind="stable")
    shown = seen.dropna().index.intersection(summary.index)[:MOST_BARS]
    shown = summary.index[summary.index.isin(shown)]
    figure = outcome_bars(
        seen.loc[shown], expected.loc[shown], [BOTH_BAD], csv.loc[shown], "P(bad)"
    )
    picture = marked_svg(figure, posterior)
    bar = draws["threshold"] - draws["utility"].mean("item")
    columns = {"P(bad)": "{mean:.2f}", "From": "{low:.2f}", "To": "{high:.2f}"}
    columns |= {"In votes": "{in_votes:.2f}", "Predicted": "{predicted:.2f}"}
    text = paragraphs(
        "both_bad",
        prob=layout.ci_prob,
        judged="judge_threshold" in draws,
        threshold=(float(bar.mean()), float(bar.std())),
    )
    file = "both_bad.csv"
    return Part(
        "Both bad",
        text,
        formatted(csv, "Item", columns),
        picture,
        "Shares of the outcomes in the votes of each item, and the probability that it is bad",
        file,
        files={file: csv, "outcomes.svg": picture},
        data={"both_bad": csv},
    )


def _by_item(
    pairs: "Pairs", counts: Any, mirrored: Sequence[int], names: Sequence[str]
) -> pd.DataFrame:
    """Sum the outcomes of each item, seen from its side, to shares; NaN without matches."""
    total = np.zeros((pairs.n_items, len(names)))
    np.add.at(total, pairs.first, counts)
    np.add.at(total, pairs.second, counts[:, mirrored])
    n = total.sum(axis=1, keepdims=True)
    shares = np.divide(total, n, out=np.full(total.shape, np.nan), where=n > 0)
    return pd.DataFrame(shares, pd.Index(pairs.coords["item"], name="item"), list(names))


def _by_pair(
    pairs: "Pairs", counts: Any, mirrored: Sequence[int], names: Sequence[str], order: Sequence[Any]
) -> pd.DataFrame:
    """Sum the outcomes of each two items to shares, seen from the item that is ahead."""
    place = pd.Index(order).get_indexer(pd.Index(pairs.coords["item"]))
    one, other = place[pairs.first], place[pairs.second]
    turned = np.where((one < other)[:, None], counts, counts[:, mirrored])
    keys = [np.minimum(one, other), np.maximum(one, other)]
    total = pd.DataFrame(turned, columns=list(names)).groupby(keys).sum()
    total.index = pd.Index([f"{order[i]} – {order[j]}" for i, j in total.index])
    total = total[total.sum(axis=1) > 0]
    return total.div(total.sum(axis=1), axis=0)


def grades(posterior: Any, predicted: Any, pairs: "Pairs", summary: pd.DataFrame) -> Part:
    """Show how often each grade was given, in all matches and to each item."""
    labels, counts = pairs.by_grade
    names = [str(label) for label in labels]
    total = counts.sum(axis=0)
    drawn = predicted["posterior_predictive"]["y"]
    of_model = drawn.sum("pair").mean(SAMPLE).to_numpy() / total.sum()
    of_equals = _equal_items(posterior["posterior"]["cutpoint"])
    csv = pd.DataFrame(
        {
            "votes": total, "share": total / total.sum(), "predicted": of_model,
            "equal_items": of_equals.to_numpy(),
        },
        index=pd.Index(names, name="grade"),
    )  # fmt: skip
    of_items = np.zeros((pairs.n_items, len(names)))
    np.add.at(of_items, pairs.first, counts)
    np.add.at(of_items, pairs.second, counts[:, ::-1])  # seen from the second item
    by_item = pd.DataFrame(of_items, pd.Index(pairs.coords["item"], name="item"), names)
    columns = {"Votes": "{votes:,}", "Share": "{share:.2f}", "Predicted": "{predicted:.2f}"}
    table = formatted(csv, "Grade", columns | {"Equal items": "{equal_items:.2f}"})
    order, turned = [*summary.index], range(len(names))[::-1]
    both = counts, drawn.mean(SAMPLE).to_numpy()
    met = np.minimum(pairs.first, pairs.second).astype(np.int64) * pairs.n_items
    of_pairs = len(np.unique(met + np.maximum(pairs.first, pairs.second))) <= MOST_BARS
    if of_pairs:
        shares, expected = (_by_pair(pairs, x, turned, names, order) for x in both)
    else:
        shares, expected = (_by_item(pairs, x, turned, names).dropna() for x in both)
        shares = shares.loc[summary.index[summary.index.isin(shares.index)][:MOST_BARS]]
    figure = outcome_bars(shares, expected.loc[shares.index])
    picture = marked_svg(figure, posterior)
    files: dict[str, bytes | pd.DataFrame] = {
        "grades.csv": csv,
        "grades_by_item.csv": mark_counted(by_item),
        "grades.svg": picture,
    }
    return Part(
        "Grades",
        paragraphs("grades", judged="judge_cutpoint" in posterior["posterior"], of_pairs=of_pairs),
        table,
        picture,
        f"Shares of the grades in the votes of each {'two items' if of_pairs else 'item'}",
        file="grades.csv",
        files=files,
        data={"grades": csv},
    )


def stated(posterior: Any, pairs: "Pairs") -> Part | None:
    """Compare the probabilities that judges state with the other judges and with the model.

    Returns None if there are other weights, which hide the probabilities, or one judge.
    """
    votes = _stated_votes(pairs)
    if votes is None:
        return None
    utility = posterior["posterior"]["utility"].transpose("item", *SAMPLE).to_numpy()
    utility = utility.reshape(len(utility), -1)
    utility = utility[:, :: max(1, utility.shape[1] // FEW_DRAWS)]
    met, at = np.unique(votes[["one", "other"]].to_numpy(), axis=0, return_inverse=True)
    chance = [expit(utility[i] - utility[j]).mean() for i, j in met]
    votes["model"] = np.array(chance)[at]
    # what the other judges say of the same two items, on average
    votes["sum"] = votes["n"] * votes["stated"]
    of_pair = votes.groupby(["one", "other"])[["sum", "n"]].transform("sum")
    of_judge = votes.groupby(["one", "other", "judge"])[["sum", "n"]].transform("sum")
    rest = of_pair - of_judge
    votes["others"] = (rest["sum"] / rest["n"]).where(rest["n"] > 0)
    # from the item that the judge favours
    for name in ("stated", "model", "others"):
        votes[name] = votes[name].where(~votes["turned"], 1 - votes[name])
    ends = np.append(np.arange(0.5, 0.95, 0.1), 0.95)
    low = ends[np.searchsorted(ends, votes["stated"] + 1e-9) - 1]
    csv = _in_bins(votes.assign(bin=low), ["bin"])
    names = [f"{a:.2f} to {b:.2f}" for a, b in pairwise([*ends, 1.0])]
    csv.index = pd.Index([names[k] for k in np.searchsorted(ends, csv.index)], name="stated")
    by_judge = _in_bins(votes, ["judge"]).set_axis(
        pd.Index(pairs.coords["judge"], name="judge")[np.unique(votes["judge"])]
    )
    columns = {"Votes": "{votes:,}", "Mean": "{mean:.2f}", "Other judges": "{others:.2f}"}
    table = formatted(csv, "Stated", columns | {"Model": "{model:.2f}"})
    text = paragraphs(
        "stated",
        mean=float(np.average(votes["stated"], weights=votes["n"])),
        model=float(np.average(votes["model"], weights=votes["n"])),
    )
    files = {"stated.csv": csv, "stated_by_judge.csv": by_judge}
    return Part(
        "Stated probabilities",
        text,
        table,
        file="stated.csv",
        files=files,
        data={"stated": csv, "stated_by_judge": by_judge},
    )


def _stated_votes(pairs: "Pairs") -> pd.DataFrame | None:
    """Return a row per kind of vote: its items, judge, number, and stated probability.

    The first item is that with the lower number. `turned` says that the judge favours the other.
    """
    if pairs.votes is None or len(pairs.judges) < 2:
        return None
    is_vote = pairs.votes > 0
    total = float((pairs.weight * pairs.counts.sum(axis=1)).sum())
    if not np.isclose(total, pairs.n_matches) or pairs.weight[is_vote].min() < 0.5 - 1e-9:
        return None
    first, second, n = (x[is_vote] for x in (pairs.first, pairs.second, pairs.votes))
    won, weight = pairs.counts[is_vote, 0] > 0, pairs.weight[is_vote]
    ordered = first < second
    p = np.where(won == ordered, weight, 1 - weight)  # of the item with the lower number
    columns = {"one": np.minimum(first, second), "other": np.maximum(first, second)}
    columns |= {"judge": pairs.judge_idx[is_vote], "n": n, "stated": p, "turned": p < 0.5}
    return pd.DataFrame(columns)


def _in_bins(votes: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Average stated probabilities, those of the other judges, and those of the model."""

    def mean(name: str) -> pd.Series:
        known = votes[votes[name].notna()]
        sums = (known[name] * known["n"]).groupby([known[x] for x in by]).sum()
        return sums / known["n"].groupby([known[x] for x in by]).sum()

    table = pd.DataFrame({"votes": votes.groupby(by)["n"].sum(), "mean": mean("stated")})
    return table.assign(others=mean("others"), model=mean("model"))


def _equal_items(cutpoint: Any) -> Any:
    """Compute the probabilities of the grades of equal items, from the best for the first on.

    Returns a series by grade, or a table of grades and judges.
    """
    cut = cutpoint.transpose(*SAMPLE, ..., "boundary").to_numpy()
    mean = grade_probabilities(0.0, cut, "cumulative_logit").mean(axis=(0, 1)).T
    return pd.DataFrame(mean, columns=cutpoint["judge"]) if mean.ndim > 1 else pd.Series(mean)


def features(posterior: Any, summary: pd.DataFrame, raw: Any, layout: Layout) -> list[Part]:
    """Show the effects of features, and the ranks with and without them."""
    draws = posterior["posterior"]
    csv = interval_table(draws["feature_effect"], layout.ci_prob)
    unit = posterior["constant_data"]["feature_unit"]
    csv.insert(0, "unit", pd.Series(unit.to_numpy(), unit["feature"].to_numpy()))
    columns = {"A usual difference": "{unit:.3g}", "Effect": "{mean:.2f}"}
    table = formatted(csv, "Feature", columns | {"From": "{low:.2f}", "To": "{high:.2f}"})
    data = {"features": csv}
    judged = "judge_feature_effect" in draws
    if judged:
        effects = draws["judge_feature_effect"].transpose(..., "feature", "judge")
        by_judge = interval_table(effects, layout.ci_prob).sort_index()
        data["features_by_judge"] = by_judge
        least, most = by_judge["mean"].groupby("feature").agg(["min", "max"]).T.to_numpy()
        table["Of judges"] = [f"{x:.2f} to {y:.2f}" for x, y in zip(least, most, strict=True)]
    text = paragraphs("features", prob=layout.ci_prob, judged=judged)
    files = {f"{name}.csv": found for name, found in data.items()}
    part = Part("Features", text, table, file="features.csv", files=files, data=data)
    return [part, _as_they_are(summary, raw, layout)]


def _as_they_are(summary: pd.DataFrame, raw: Any, layout: Layout) -> Part:
    """Compare the ranks adjusted for features with the unadjusted ones."""
    ranks = rank_summary(raw, top=layout.top, ci_prob=layout.ci_prob)
    both = formatted(summary, "Item", {"Adjusted": RANKS})
    both["Unadjusted"] = formatted(ranks.loc[summary.index], "Item", {"": RANKS})[""]
    moved = (ranks["mean_rank"][summary.index] - summary["mean_rank"]).abs()
    text = paragraphs("as_they_are", item=moved.idxmax(), most=moved.max(), least=LEAST_MOVE)
    file = "ranks_as_they_are.csv"
    return Part(
        "Ranks with and without features",
        text,
        both,
        file=file,
        files={file: ranks},
        data={"ranks_as_they_are": ranks},
    )


def together(posterior: Any, pairs: "Pairs", groups: Sequence[str], layout: Layout) -> Part:
    """Show how much items vary between the labels of each group."""
    rows = {group: _spread_by(posterior, pairs, group) for group in groups}
    families, tail = [], (1 - layout.ci_prob) / 2
    if "judge_spread" in posterior["posterior"]:
        for group in groups:
            if kin := _families(pairs, group):
                worth = effective_judges(posterior, kin, family=group)
                rows[group]["effective_judges"] = mean = float(worth.mean())
                low, high = worth.quantile([tail, 1 - tail]).to_numpy()
                families.append((group, len(kin), mean, low, high))
    csv = pd.DataFrame.from_dict(rows, orient="index").rename_axis("group")
    columns = {"Labels": "{labels:,.0f}", "Matches each": "{matches_each:,.1f}"}
    columns["An item varies by"] = "{spread:.2f} ± {spread_sd:.2f}"
    table, file = formatted(csv, "Group", columns), "groups.csv"
    text = paragraphs("together", families=families, prob=layout.ci_prob)
    return Part(
        "Groups of matches", text, table, file=file, files={file: csv}, data={"groups": csv}
    )


def _spread_by(posterior: Any, pairs: "Pairs", group: str) -> dict[str, float]:
    """Count the labels and matches of a group, and measure how much items vary between labels."""
    draws = posterior["posterior"]
    n = np.bincount(pairs.group_idx(group), pairs.matches, len(pairs.group_labels(group)))
    labels, ties = int((n > 0).sum()), f"{group}_tie_spread"
    return {
        "labels": labels,
        "matches_each": float(n.sum() / max(labels, 1)),
        "spread": float(draws[f"{group}_spread"].mean()),
        "spread_sd": float(draws[f"{group}_spread"].std()),
        "tie_spread": float(draws[ties].mean()) if ties in draws else np.nan,
        "effective_judges": np.nan,
    }


def _families(pairs: "Pairs", group: str) -> dict[str, str]:
    """Return the label of each judge, if every judge has one label and some share it."""
    played = pairs.counts.any(axis=1)
    both = pd.DataFrame({"judge": pairs.judge_idx, "family": pairs.group_idx(group)})[played]
    both = both.drop_duplicates()
    families = both["family"].nunique()
    if both["judge"].duplicated().any() or not 1 < families < len(both):
        return {}
    judges, labels = pairs.judges, pairs.group_labels(group)
    return {str(judges[i]): str(labels[k]) for i, k in both.to_numpy()}


def ties(posterior: Any, pairs: "Pairs", summary: pd.DataFrame, layout: Layout) -> Part:
    """Show which items tie more often, and whether strong or weak items do."""
    draws = posterior["posterior"]
    csv = interval_table(draws["item_tie_effect"], layout.ci_prob).loc[summary.index]
    csv["tied"] = _share_of_ties(pairs)[csv.index]
    odds = csv[["mean", "low", "high"]].apply(np.exp).assign(tied=csv["tied"])
    columns = {"Tied": "{tied:.2f}", "Odds times": "{mean:.2f}"}
    table = formatted(odds, "Item", columns | {"From": "{low:.2f}", "To": "{high:.2f}"})
    data, times, more = {"ties": csv}, None, 0.0
    if "strength_tie_slope" in draws:
        slope = draws["strength_tie_slope"].expand_dims(by=["strength"])
        data["ties_by_strength"] = interval_table(slope, layout.ci_prob)
        times = np.exp(data["ties_by_strength"].loc["strength"])
        more = float((slope > 0).mean())
    text = paragraphs("ties", prob=layout.ci_prob, times=times, more=more)
    return Part("Ties", text, table, file="ties.csv", files={"ties.csv": csv}, data=data)


def _share_of_ties(pairs: "Pairs") -> pd.Series:
    """Share of ties among the matches of each item, NaN without matches."""
    played = pairs.matches_by_item
    return pairs.sum_by_item(pairs.counts[:, 2]) / played.where(played > 0)


DATED = ("connection", "duplicates")  # probes that do not assume constant strengths
DATE = re.compile(r"\d{4}[-/\N{EN DASH}]\d.*")  # a year and more


def audit_of(
    pairs: "Pairs",
    groups: Sequence[str],
    *,
    order: bool,
    opinions: bool = False,
    leader: Any = None,
) -> Part:
    """Audit the matches; correlated votes may belong to groups of the model.

    In categories, groups and for judges with opinions, items have separate utilities.
    """
    time = dated_group(pairs, groups)
    found = audit(pairs, order_effect=order, leader=leader, time=time, random_seed=0)
    if time is not None and found.loc["drift", "fires"]:
        way_out = f" Use `time={time!r}` instead of `groups` to let them change."
        found.loc["drift", "says"] = str(found.loc["drift", "says"]) + way_out
    found["in_model"] = False
    if found.loc["clusters", "fires"]:
        rest = {name: x for name, x in pairs.groups.items() if name not in ("category", *groups)}
        others = replace(pairs, groups=rest)
        if opinions:
            others = replace(
                others, judges=pairs.judges[:1], judge_idx=np.zeros_like(pairs.judge_idx)
            )
        left = audit(others, order_effect=order, probes=["clusters"], random_seed=0)
        if not left.loc["clusters", "fires"]:
            found.loc["clusters", "in_model"] = True
            says = str(found.loc["clusters", "says"])
            found.loc["clusters", "says"] = f"{says} The model groups these matches."
    return _audited(found, pairs.detail)


def audit_of_dated(pairs: "Pairs", *, order: bool) -> Part:
    """Audit matches whose model has dynamic strengths."""
    found = audit(pairs, order_effect=order, probes=DATED, random_seed=0)
    return _audited(found.assign(in_model=False), pairs.detail)


def dated_group(pairs: "Pairs", groups: Sequence[str]) -> str | None:
    """Find the first group of dates or seasons; numbers may be prompts and do not count."""
    for group in groups:
        labels = list(map(str, pairs.group_labels(group)))
        if len(labels) > 1 and all(map(DATE.fullmatch, labels)):
            with contextlib.suppress(ValueError):
                label_times(pd.Index(labels), group)
                return group
    return None


def _audited(found: pd.DataFrame, detail: str) -> Part:
    """Write the section of an audit."""
    looked = found[found["value"].notna()]
    words = np.where(looked["in_model"], "in the model", "look at this")
    table = pd.DataFrame(
        {
            "Found": np.where(looked["fires"], words, "as expected"),
            "In words": looked["says"].to_numpy(),
        },
        index=pd.Index(looked.index.str.capitalize(), name="Probe"),
    )
    return Part(
        "What the result depends on",
        paragraphs(
            "audit",
            detail=detail,
            fires=table["In words"][looked["fires"].to_numpy()].tolist(),
        ),
        table,
        file="audit.csv",
        files={"audit.csv": mark_counted(found)},
        printed=False,
        notes=looked["says"][looked["fires"] & ~looked["in_model"]].tolist(),
        data={"audit": found},
    )


def _agreement(posterior: Any, pairs: "Pairs", kinds: Any = None) -> pd.Series:
    """Correlate the opinions of each judge with the utilities of the judged items, on average.

    Opinions of judges of other kinds than the target include the bias of their kind.
    """
    draws, seen = posterior["posterior"], pairs.seen("judge")

    def drawn(name: str, *dims: str) -> Any:
        found = draws[name].transpose(*dims, *SAMPLE).to_numpy()
        return found.reshape(*found.shape[:-2], -1)

    shared, deviation = drawn("utility", "item"), np.zeros(1)
    if "judge_deviation" in draws:
        deviation = drawn("judge_deviation", "judge_item")
    whose = np.empty(len(seen.labels), dtype=np.int64)
    whose[seen.first], whose[seen.second] = pairs.judge_idx, pairs.judge_idx
    if kinds is not None:
        bias = np.append(drawn("bias", "other_kind", "item"), 0 * shared[None], axis=0)
        deviation = deviation + bias[kinds.of_judge[whose], seen.item]  # the last is the target
    found = {}
    for k, judge in enumerate(pairs.coords["judge"]):
        mine = np.flatnonzero(whose == k)
        both = shared[seen.item[mine]], shared[seen.item[mine]] + deviation[mine]
        one, other = (x - x.mean(axis=0) for x in both)
        size = np.sqrt((one**2).sum(axis=0) * (other**2).sum(axis=0))
        found[judge] = float(((one * other).sum(axis=0) / size).mean())
    return pd.Series(found)


def compare_groups(
    posterior: Any,
    group: Literal["category", "component"],
    sizes: pd.Series,
    summary: pd.DataFrame,
    layout: Layout,
    text: Sequence[str],
    column: str = "component",
) -> list[Part]:
    """Name the leader of each group, and show all ranks; `sizes` has labels and sizes."""
    name = "categories" if group == "category" else "components"
    heading = f"Leaders by {column}" if group == "category" else "Components"
    file = f"{name}.csv"
    csv = rank_summary(posterior, f"{group}_utility", top=layout.top, ci_prob=layout.ci_prob)
    rows, ranks = [], {}
    for label, size in zip(sizes.index.tolist(), sizes.tolist(), strict=True):
        ranks_here = csv.loc[label]
        rows.append({str(sizes.name): size, **_leader_of(ranks_here)})
        label = str(label) if group == "category" else f"Component {label}"
        ranks[label] = formatted(ranks_here.loc[summary.index], "Item", {"": RANKS})[""]
    title = column if group == "category" else group.capitalize()
    leaders = pd.DataFrame(rows, index=pd.Index(list(sizes.index), name=title))
    table = pd.DataFrame(ranks, index=pd.Index(summary.index, name="Item"))
    whole = ["Mean rank and interval."]
    return [
        Part(
            heading, text, leaders, file=file, files={file: _named(csv, column)}, data={name: csv}
        ),
        Part(f"Ranks by {column}", whole, table, file=file, printed=False),
    ]


def _leader_of(summary: pd.DataFrame) -> dict[str, str]:
    """Name the leader of a group, and the items that may be better."""
    close = summary.index[summary["status"].isin([TIED, UNCLEAR])]
    return {
        "Leader": str(summary.index[0]),
        "P(best)": f"{summary['p_best'].iloc[0]:.2f}",
        "May be better": some(close, 3),
    }


def _named(csv: pd.DataFrame, column: str) -> pd.DataFrame:
    """Give the groups of a table the name of their column, unless another column has it."""
    taken = {*csv.columns, *csv.index.names[1:]}
    return csv if column in taken else csv.rename_axis([column, *csv.index.names[1:]])


def categories_headline(posterior: Any, layout: Layout, column: str) -> str:
    """Name the leader of each category."""
    summary = rank_summary(posterior, "category_utility", top=layout.top, ci_prob=layout.ci_prob)
    labels = summary.index.get_level_values(0).unique()
    leaders = []
    for label in labels[:LEADERS]:
        first = summary.loc[label].iloc[0]
        leaders.append(f"{first.name} in {label} ({first['p_best']:.2f})")
    more = f" and in {len(labels) - LEADERS} more" if len(labels) > LEADERS else ""
    return f"First by {column}, with the probability of being best: {', '.join(leaders)}{more}."


def categories(
    posterior: Any,
    column: str,
    labels: Iterable[Any],
    times: Iterable[float],
    noun: str,
    summary: pd.DataFrame,
    layout: Layout,
) -> list[Part]:
    """Name the leader of each category, show the ranks in all categories, and compare them."""
    sizes = pd.Series([f"{n:,.6g}" for n in times], list(labels), name=noun)
    text = paragraphs("categories")
    found = compare_groups(posterior, "category", sizes, summary, layout, text, column)
    return [*found, *_differences(posterior, column, layout)]


def _differences(posterior: Any, column: str, layout: Layout) -> list[Part]:
    """Compare each item between each two categories, relative to the mean item."""
    utility = posterior["posterior"]["category_utility"]
    (dim,) = {*map(str, utility.dims)} - {*SAMPLE, "item"}  # the name of the group
    utility = utility.rename({} if dim == "category" else {dim: "category"})
    utility = utility.transpose(*SAMPLE, "category", "item")
    utility = utility - utility.mean("item")
    labels = utility["category"].to_numpy()
    if len(labels) * (len(labels) - 1) * utility.sizes["item"] > 2 * MOST_DIFFERENCES:
        return []
    tables = {}
    for one, other in combinations(labels.tolist(), 2):
        apart = utility.sel(category=one, drop=True) - utility.sel(category=other, drop=True)
        better = (apart > 0).mean(SAMPLE).to_series().rename("p_better")
        tables[(str(one), str(other))] = interval_table(apart, layout.ci_prob).assign(
            p_better=better
        )
    csv = pd.concat(tables, names=["category", "category_other"]).reorder_levels([2, 0, 1])
    sure = (csv["p_better"] - 0.5).abs()
    order = np.lexsort((-(csv["mean"] / csv["sd"]).abs(), -sure))
    csv = csv.iloc[order].reset_index(["category", "category_other"])
    clear = csv[sure.to_numpy()[order] >= SURE - 0.5]
    shown = csv.head(SHOWN)
    columns = {"Better in": "{category}", "Than in": "{category_other}"}
    columns |= {"By": "{mean:.2f} ({low:.2f} to {high:.2f})", "Probability": "{p_better:.2f}"}
    turned = shown["mean"] < 0
    swapped = shown.assign(
        category=shown["category"].where(~turned, shown["category_other"]),
        category_other=shown["category_other"].where(~turned, shown["category"]),
        mean=shown["mean"].abs(),
        low=shown["low"].where(~turned, -shown["high"]),
        high=shown["high"].where(~turned, -shown["low"]),
        p_better=shown["p_better"].where(~turned, 1 - shown["p_better"]),
    )
    text = paragraphs(
        "differences", n=len(clear), total=len(csv), shown=len(shown), sure=SURE,
        prob=layout.ci_prob, column=column,
    )  # fmt: skip
    table, file = formatted(swapped, "Item", columns), "differences.csv"
    heading = f"Differences by {column}"
    return [Part(heading, text, table, file=file, files={file: csv}, data={"differences": csv})]
