"""Sections of scores in many cases: who is practically equivalent, which cases disagree, and more.

The ranks use only the order of the items in each case. If the user says
that all cases have the same units, a model of the scores themselves (`scores_model`) follows.
"""

from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import kendalltau
from xarray import DataTree

from bayesrank.analysis.readings import with_scores
from bayesrank.analysis.scores import scores_model
from bayesrank.data import Rankings
from bayesrank.inference import sample
from bayesrank.plots import plot_tied
from bayesrank.reporting.draft import SWEEPS, TUNE, Draft
from bayesrank.reporting.parts import Part, formatted, mark_counted, marked_svg
from bayesrank.results import (
    convergence,
    precise,
    rank_clusters,
    rank_summary,
    rankings_needed,
    win_probability,
)
from bayesrank.results.ranks.clusters import LEAST_DRAWS, MOST_ITEMS
from bayesrank.texts import paragraphs, sentence, some

__all__ = ["pair_table", "score_parts"]

TIED_FILE = "tied.svg"
SHOWN = 60  # most items in the picture of tied items
PROB = 0.95  # as in `rank_summary`
EVEN = float(np.log(0.55 / 0.45))  # difference of utilities with which two items win 55% and 45%
MATRIX = 8  # most items in the matrix of the page
WORST = 10  # cases in the table of those that disagree
LEVEL = 0.01  # probability that a case is said to disagree if all cases agree only by chance
ROWS = 15  # rows of a table before it folds
DRAWS, STEPS = 500, 500  # of the model of scores, per chain: at most, and for tuning


def score_parts(report: Draft, rankings: Rankings) -> list[Part]:
    """Return the sections that only scores have."""
    if len(report.summary) < 2:
        return []
    parts = [_tied_sets(report, rankings), _equivalent(report), _disagreeing(report, rankings)]
    if (missing := _missing(report, rankings)) is not None:
        parts.append(missing)
    if report.layout.same_units:
        parts.append(_by_scores(report))
    return parts


def pair_table(posterior: Any, order: pd.Index, rope: float) -> pd.DataFrame:
    """Compute the probabilities of better, equivalent and worse of all pairs of items.

    The item, which is the index, comes before the other in `order`.

    >>> import pandas as pd
    >>> import xarray as xr
    >>> from bayesrank.reporting.score_sections import pair_table
    >>> u = xr.DataArray([[[1.0, 0.9], [2.0, 0.0]]], dims=("chain", "draw", "item"),
    ...                  coords={"item": ["a", "b"]})
    >>> pair_table(u, pd.Index(["a", "b"]), 0.5).loc["a"].to_dict()["p_equivalent"]
    0.5
    """
    better = win_probability(posterior, rope=rope).sel(item=order, item_other=order).values
    first, second = np.triu_indices(len(order), 1)
    return pd.DataFrame(
        {
            "other": order[second],
            "p_better": better[first, second],
            "p_equivalent": (1 - better - better.T)[first, second].clip(0, 1),
            "p_worse": better[second, first],
        },
        index=pd.Index(order[first], name="item"),
    )


def _tied_sets(report: Draft, rankings: Rankings) -> Part:
    """Show which items cannot be separated, and how many more cases would separate the best two."""
    posterior, equal = report.posterior, report.equal
    picture = marked_svg(plot_tied(posterior, max_items=SHOWN, equal=equal), posterior)
    one, other = report.summary.index[:2]
    codes = np.flatnonzero(np.isin(rankings.coords["item"], [one, other]))
    both = [((rankings.item == code) & rankings.mask).any(axis=1) for code in codes]
    so_far = float(rankings.evidence[both[0] & both[1]].sum())
    needed, p_equal = None, None
    if so_far:
        needed = rankings_needed(
            posterior, so_far, between=(one, other), prior_sd=report.prior_sd, prob=PROB
        )
    if equal is not None:
        p_equal = float((equal.sel(item=one) == equal.sel(item=other)).mean())
    text = paragraphs("tied_sets", prob=PROB, needed=needed, one=one, other=other, p_equal=p_equal)
    n = min(SHOWN, len(report.summary))
    alt = f"Mean ranks of the first {n} items, with bars over items that are not separated"
    return Part(
        "Items that are not separated",
        text,
        picture=picture,
        alt=alt,
        files={TIED_FILE: picture},
        printed=False,
    )


def _equivalent(report: Draft) -> Part:
    """Show how probable it is that two items are practically equivalent, by their ranks."""
    order = report.summary.index
    table, file = pair_table(report.posterior, order, EVEN), "pairs.csv"
    leader = order[0]
    of_leader = table[table.index == leader].set_index("other")["p_equivalent"]
    same = [str(item) for item in of_leader.index[of_leader >= PROB]]
    text = paragraphs(
        "equivalent",
        leader=leader,
        same=some(same, WORST),
        n=len(same),
        prob=PROB,
        shown=MATRIX,
        total=len(order),
    )
    return Part(
        "Who is practically equivalent",
        text,
        _matrix(table, order[:MATRIX]),
        file=file,
        files={file: table},
        printed=False,
        data={"pairs": table},
    )


def _matrix(table: pd.DataFrame, order: pd.Index) -> pd.DataFrame:
    """Write the three probabilities of each pair: the row is better, equivalent, or worse."""
    out = pd.DataFrame("", index=order.rename("Item"), columns=[str(item) for item in order])
    place = {item: k for k, item in enumerate(order)}
    for one, other, *p in table.itertuples():
        if one in place and other in place:
            texts = [f"{100 * x:.0f}" for x in p]
            out.iloc[place[one], place[other]] = " / ".join(texts)
            out.iloc[place[other], place[one]] = " / ".join(texts[::-1])
    return out


def _disagreeing(report: Draft, rankings: Rankings) -> Part:
    """List the cases whose order agrees least with the order of all cases."""
    order = report.summary.index
    place = pd.Series(np.arange(len(order)), order)[rankings.coords["item"]].to_numpy()
    rows: list[tuple[Any, ...]] = []
    for case, label in enumerate(rankings.rankers):
        mine = np.flatnonzero(rankings.ranker_idx == case)
        # folds of a case are not independent, so their mean rank counts once
        total, times = np.zeros(len(place)), np.zeros(len(place))
        for row in mine:
            used = rankings.mask[row]
            total[rankings.item[row, used]] += rankings.ranks[row, used]
            times[rankings.item[row, used]] += 1
        run = times > 0
        rank = total[run] / times[run]
        if len(np.unique(rank)) < 2:
            continue
        test = kendalltau(rank, place[run], alternative="less")
        best = rankings.coords["item"][run][rank.argmin()]
        rows.append((label, int(run.sum()), test.statistic, test.pvalue, best))
    table = pd.DataFrame(rows, columns=["case", "items", "tau", "p", "first"]).set_index("case")
    table = table.sort_values("tau", kind="stable")
    against = table.index[table["p"] * max(len(table), 1) < LEVEL]
    name, file = rankings.roles.get("case", "case"), "disagreement.csv"
    columns = {"Items": "{items}", "Kendall's tau": "{tau:.2f}", "First": "{first}"}
    return Part(
        "Rankers that disagree with the rest",
        paragraphs(
            "disagreeing",
            names=some([*map(str, against)], WORST),
            n=len(against),
            negative=int((table["tau"] < 0).sum()),
            total=len(table),
            level=LEVEL,
            rows=WORST,
        ),
        formatted(table.head(WORST), name.capitalize(), columns) if len(table) else None,
        file=file,
        files={file: mark_counted(table)},
        printed=False,
        data={"disagreement": table},
    )


def _missing(report: Draft, rankings: Rankings) -> Part | None:
    """Count the missing scores of each item."""
    run = np.zeros((len(rankings), len(rankings.coords["item"])), dtype=bool)
    row, slot = np.nonzero(rankings.mask)
    run[row, rankings.item[row, slot]] = True
    if run.all():
        return None
    lacking = pd.Series((~run).sum(axis=0), rankings.coords["item"])[report.summary.index]
    table = pd.DataFrame({"missing": lacking, "share": lacking / len(run)})
    table.index.name = "item"
    test = kendalltau(table["share"], np.arange(len(table)), alternative="greater")
    file = "missing.csv"
    return Part(
        "Missing scores",
        paragraphs(
            "missing_scores",
            n=int(lacking.sum()),
            total=run.size,
            p=test.pvalue,
            level=LEVEL,
            items=int((lacking > 0).sum()),
        ),
        formatted(table, "Item", {"Missing": "{missing}", "Share": "{share:.0%}"}),
        first=ROWS,
        file=file,
        files={file: mark_counted(table)},
        printed=False,
        data={"missing": table},
    )


def _by_scores(report: Draft) -> Part:
    """Compare the model of the scores with the ranks, and say where the two differ."""
    rankings = with_scores(report.analysis.data, report.posterior)
    assert rankings.scores is not None
    rope, seed = float(rankings.scores.rope[0]), report.settings.random_seed
    report.listener.stage("Sampling the model of the scores ...")
    top = report.layout.top
    posterior = sample(
        DRAWS,
        tune=STEPS,
        chains=4,
        random_seed=seed,
        nuts={"target_accept": 0.9},
        enough=lambda so_far: precise(DataTree.from_dict({"posterior": so_far}), top=top),
        model=scores_model(rankings),
    )
    report.listener.heed()
    checked, draws = convergence(posterior, "utility"), posterior["posterior"]
    n, equal = len(report.summary), None
    if n <= MOST_ITEMS and draws.sizes["chain"] * draws.sizes["draw"] >= LEAST_DRAWS * n:
        equal = rank_clusters(posterior, draws=SWEEPS, tune=TUNE, random_seed=seed)["utility"]
    found = rank_summary(posterior, top=top, ci_prob=report.layout.ci_prob, rope=0.0, equal=equal)
    order = report.summary.index
    pairs = pair_table(posterior, order, rope)
    leader = order[0]
    with_leader = pairs[pairs.index == leader].set_index("other")
    table = found.loc[order].join(with_leader[["p_better", "p_equivalent", "p_worse"]])
    table.insert(0, "rank_status", report.summary["status"])
    table.insert(0, "rank_mean", report.summary["mean_rank"])
    other_status = [str(x) for x in order[(table["status"] != table["rank_status"]).to_numpy()]]
    reversed_pairs = _reversed(report, pairs)
    text = paragraphs(
        "by_scores", leader=leader, by_scores=found.index[0], rope=rope, n=len(other_status),
        names=some(other_status, WORST), total=n, reversed=reversed_pairs, prob=PROB,
        families="cluster" in rankings.groups,
        folds=float(draws["fold_sd"].mean()) if "fold_sd" in draws else None,
        deviation=float(draws["deviation_sd"].mean()), degrees=float(draws["degrees"].mean()),
    )  # fmt: skip
    columns = {
        "Mean rank": "{rank_mean:.1f}", "Status by ranks": "{rank_status}",
        "Mean score": "{mean:+.3g} ± {sd:.2g}", "Status by scores": "{status}",
        f"{leader} better": "{p_better:.2f}", "Equivalent": "{p_equivalent:.2f}",
        "Worse": "{p_worse:.2f}",
    }  # fmt: skip
    files = {"scores.csv": table, "score_pairs.csv": pairs}
    return Part(
        "By the scores themselves",
        text,
        formatted(table, "Item", columns),
        first=ROWS,
        file="scores.csv",
        files=files,
        warnings=() if checked.ok else list(checked.sentences),
        data={"scores": table.rename_axis("item"), "score_pairs": pairs},
    )


def _reversed(report: Draft, pairs: pd.DataFrame) -> list[str]:
    """Name the pairs that both routes are sure about, in opposite directions."""
    by_rank = pair_table(report.posterior, report.summary.index, 0.0)
    sure = [x >= PROB for x in (by_rank["p_better"], by_rank["p_worse"])]
    by_scores = [x >= PROB for x in (pairs["p_better"], pairs["p_worse"])]
    rows = pairs[(sure[0] & by_scores[1]) | (sure[1] & by_scores[0])]
    return [sentence("pair", one=one, other=other) for one, other in rows["other"].items()]
