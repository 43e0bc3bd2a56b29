"""Sections of simple counts, which need no model."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesrank.analysis.analysis import times_ranked
from bayesrank.data import Pairs, Rankings
from bayesrank.reporting.parts import Part, formatted, mark_counted
from bayesrank.results import PairWins, borda, condorcet, countable, first_places, pair_wins
from bayesrank.texts import Words, paragraphs, sentence

SHOWN = 15  # items in the table of pairs


def counted_rankings(rankings: Rankings, summary: pd.DataFrame, words: Words) -> list[Part]:
    """Count first places, Borda scores, and how often each item is ahead of each other one."""
    labels = rankings.coords["item"]
    first, score = first_places(rankings).to_numpy(), borda(rankings).to_numpy()
    columns = {"rankings": times_ranked(rankings).to_numpy(), "first": first, "borda": score}
    survey = words.last == "worst"
    if survey:  # the last item of a task, unless several are
        last = (rankings.ranks > 1) & (rankings.ranks == rankings.ranks.max(axis=1, keepdims=True))
        alone = last.sum(axis=1) == 1
        worst = rankings.item[last & alone[:, None]]
        columns["worst"] = np.bincount(worst, rankings.evidence[alone], rankings.n_items)
    table = pd.DataFrame(columns, index=pd.Index(labels, name="item"))
    pairs = None
    if countable(rankings):
        pairs = pair_wins(rankings)
        table["ahead"] = _share(
            pairs.wins.sum(axis=1) + pairs.ties.sum(axis=1) / 2, pairs.met.sum(axis=1)
        )
    text = paragraphs(
        "counted_rankings",
        words=words,
        by_first=labels[first.argmax()],
        first=first.max(),
        total=float(rankings.evidence.sum()),
        by_borda=labels[np.nan_to_num(score, nan=-1).argmax()],
        condorcet=_condorcet(pairs, labels, words.rankings),
        pairs=pairs is not None,
        survey=survey,
    )
    many, first_name = words.rankings.capitalize(), words.first.capitalize()
    headings = {many: "{rankings:,.6g}", first_name: "{first:,.6g}"}
    headings |= {"Worst": "{worst:,.6g}"} if survey else {}
    headings |= {f"Share {words.first}": "{share:.0%}", "Borda": "{borda:.2f}"}
    if pairs is not None and not survey:  # of best-worst tasks it is about the Borda count
        headings["Ahead in pairs"] = "{ahead:.0%}"
    share = (table["first"] / table["rankings"]).where(table["rankings"] > 0)
    return _counts(table, {"share": share}, headings, text, pairs, summary, survey=survey)


def counted_matches(matches: Pairs, summary: pd.DataFrame) -> list[Part]:
    """Count the wins of each item, in all and against each other item."""
    if not countable(matches):
        return []
    labels = matches.coords["item"]
    pairs = pair_wins(matches)
    won, tied, lost = pairs.wins.sum(axis=1), pairs.ties.sum(axis=1), pairs.wins.sum(axis=0)
    met = won + tied + lost
    points = _share(won + tied / 2, met)
    columns = {"matches": met, "won": won, "tied": tied, "lost": lost, "points": points}
    table = pd.DataFrame(columns, index=pd.Index(labels, name="item"))
    best = int(np.nan_to_num(points, nan=-1).argmax())
    text = paragraphs(
        "counted_matches",
        best=labels[best],
        points=points[best],
        met=met[best],
        condorcet=_condorcet(pairs, labels, "matches"),
    )
    headings = {n.capitalize(): f"{{{n}:,.6g}}" for n in ("matches", "won", "tied", "lost")}
    headings["Points"] = "{points:.0%}"
    return _counts(table, {}, headings, text, pairs, summary)


def _share(part: NDArray[Any], whole: NDArray[Any]) -> NDArray[Any]:
    return np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0)


def _counts(
    table: pd.DataFrame,
    more: Mapping[str, pd.Series],
    headings: Mapping[str, str],
    text: Sequence[str],
    pairs: PairWins | None,
    summary: pd.DataFrame,
    *,
    survey: bool = False,
) -> list[Part]:
    """Write the counts of items, in the order of the table of ranks, and of pairs."""
    summary = summary.loc[summary.index.isin(table.index)]
    shown = formatted(table.assign(**more).loc[summary.index], "Item", headings)
    file, content = "counts.csv", mark_counted(table.loc[summary.index])
    part = Part("Simple counts", text, shown, file=file, files={file: content}, printed=False)
    return [part] if pairs is None else [part, *_pairs(pairs, summary, survey)]


def _pairs(pairs: PairWins, summary: pd.DataFrame, survey: bool) -> list[Part]:
    """Show how often each of the first items was ahead of the others."""
    position = {str(item): k for k, item in enumerate(pairs.items)}
    order = np.array([position[str(item)] for item in summary.index])
    wins, ties = pairs.wins[np.ix_(order, order)], pairs.ties[np.ix_(order, order)]
    n = min(len(order), SHOWN)
    if n < 2:
        return []
    if not (wins % 1).any() and not (ties % 1).any():  # without weights, counts are whole numbers
        wins, ties = wins.astype(np.int64), ties.astype(np.int64)
    level = bool(ties.any())
    names = [str(item) for item in summary.index[:n]]
    rows = [[_score(wins, ties, i, j, level) for j in range(n)] for i in range(n)]
    table = pd.DataFrame(rows, index=pd.Index(names, name="Ahead"), columns=names)
    one, other = np.nonzero(np.triu(wins + wins.T + ties))
    columns = {
        "other": summary.index[other],
        "ahead": wins[one, other],
        "level": ties[one, other],
        "behind": wins[other, one],
    }
    csv = pd.DataFrame(columns, index=pd.Index(summary.index[one], name="item"))
    text = paragraphs("pairs", level=level, n=n, total=len(order), survey=survey)
    file, files = "pairs.csv", {"pairs.csv": mark_counted(csv)}
    return [Part("Head to head", text, table, file=file, files=files, printed=False)]


def _score(wins: NDArray[Any], ties: NDArray[Any], i: int, j: int, level: bool) -> str:
    """Write how often one item was ahead of another, level with it (if any are), and behind."""
    if i == j or not wins[i, j] + wins[j, i] + ties[i, j]:
        return ""
    counts = [wins[i, j], ties[i, j], wins[j, i]] if level else [wins[i, j], wins[j, i]]
    return "–".join(f"{x:,.6g}" for x in counts)


def _condorcet(pairs: PairWins | None, labels: NDArray[Any], noun: str) -> str:
    """Name the Condorcet winner, if every two items met."""
    if pairs is None or len(pairs.items) < 3 or not (pairs.met + np.eye(len(pairs.items))).all():
        return ""
    best = condorcet(pairs)
    return sentence("condorcet", best=None if best is None else labels[best], what=noun)
