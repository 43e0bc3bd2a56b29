"""What the data say without a model: counts, beside which a reader sees what the model adds."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesrank.cli.parts import Part, formatted
from bayesrank.data import Pairs, Rankings
from bayesrank.results import (
    PairWins,
    Section,
    borda,
    condorcet,
    csv_bytes,
    first_places,
    pair_wins,
)

MOST_ITEMS = 2_000  # of which pairs are counted
MOST_PAIRS = 300_000_000  # in all rankings
SHOWN = 15  # items of the table of pairs
WHAT = (
    "These are counts of what was observed, without a model. They take no account of whom an item "
    "was set against, nor of how much is chance, which is what the model adds."
)


def counted_rankings(rankings: Rankings, summary: pd.DataFrame) -> list[Part]:
    """Say who stands first how often, Borda's count, and who is ahead of whom."""
    # in the order of the table of ranks
    labels = rankings.coords["item"]
    held = rankings.mask.sum(axis=1) > 0
    row, slot = np.nonzero(rankings.mask & held[:, None])
    n = np.bincount(rankings.item[row, slot], rankings.weight[row], rankings.n_items)
    first = first_places(rankings).to_numpy()
    score = borda(rankings).to_numpy()
    table = pd.DataFrame({"rankings": n, "first": first, "borda": score}, index=labels)
    table.index.name = "item"
    total = float(rankings.weight.sum())
    by_first, by_borda = labels[first.argmax()], labels[np.nan_to_num(score, nan=-1).argmax()]
    text = [
        f"By first places {by_first} leads, with {first.max():,.6g} of {total:,.6g} "
        f"({_percent(first.max(), total)}); by Borda's count, the mean share of the others that an "
        f"item is ahead of, {by_borda} does."
    ]
    pairs = None
    entries = float((rankings.mask.sum(axis=1).astype(float) ** 2).sum() / 2)
    if rankings.n_items <= MOST_ITEMS and entries <= MOST_PAIRS:
        pairs = pair_wins(rankings)
        text[0] += _condorcet(pairs, labels, "rankings")
        won = pairs.wins.sum(axis=1) + pairs.ties.sum(axis=1) / 2
        met = pairs.met.sum(axis=1)
        table["ahead"] = np.divide(won, met, out=np.full(len(won), np.nan), where=met > 0)
    table = table.loc[summary.index]
    columns = {"Rankings": "{rankings:,.6g}", "First": "{first:,.6g}"}
    columns |= {"Share first": "{share:.0%}", "Borda": "{borda:.2f}"}
    if pairs is not None:
        columns["Ahead in pairs"] = "{ahead:.0%}"
        text.append(
            "Ahead in pairs: of all pairs of the item with another in a ranking, the share in "
            "which it is ahead; a tie counts half."
        )
    share = (table["first"] / table["rankings"]).where(table["rankings"] > 0)
    out = [_counts(table, formatted(table.assign(share=share), "Item", columns), text)]
    return out if pairs is None else [*out, *_pairs(pairs, summary)]


def _counts(table: pd.DataFrame, shown: pd.DataFrame, text: list[str]) -> Part:
    section = Section("Without a model", [*text, WHAT], shown, file="counts.csv")
    return Part(section, {"counts.csv": csv_bytes(table)}, printed=False)


def counted_matches(matches: Pairs, summary: pd.DataFrame) -> list[Part]:
    """Say how many matches each item won, and who beat whom."""
    if matches.n_items > MOST_ITEMS:
        return []
    labels = matches.coords["item"]
    pairs = pair_wins(matches)
    won, tied, lost = pairs.wins.sum(axis=1), pairs.ties.sum(axis=1), pairs.wins.sum(axis=0)
    met = won + tied + lost
    points = np.divide(won + tied / 2, met, out=np.full(len(met), np.nan), where=met > 0)
    table = pd.DataFrame(
        {"matches": met, "won": won, "tied": tied, "lost": lost, "points": points}, index=labels
    )
    table.index.name = "item"
    best = int(np.nan_to_num(points, nan=-1).argmax())
    text = (
        f"By the share of points, a tie counting half, {labels[best]} leads, with "
        f"{_percent(points[best], 1)} of {met[best]:,.6g} matches."
    ) + _condorcet(pairs, labels, "matches")
    table = table.loc[summary.index]
    columns = {name.capitalize(): f"{{{name}:,.6g}}" for name in ("matches", "won", "tied", "lost")}
    shown = formatted(table, "Item", columns | {"Points": "{points:.0%}"})
    return [_counts(table, shown, [text]), *_pairs(pairs, summary)]


def _pairs(pairs: PairWins, summary: pd.DataFrame) -> list[Part]:
    """Show who was ahead of whom how often, for the first items."""
    position = {str(item): k for k, item in enumerate(pairs.items)}
    order = np.array([position[str(item)] for item in summary.index])
    wins, ties = pairs.wins[np.ix_(order, order)], pairs.ties[np.ix_(order, order)]
    n = min(len(order), SHOWN)
    if n < 2:
        return []
    if not (wins % 1).any() and not (ties % 1).any():  # no weights: whole numbers
        wins, ties = wins.astype(np.int64), ties.astype(np.int64)
    level = bool(ties.any())
    names = [str(item) for item in summary.index[:n]]
    rows = [[_score(wins, ties, i, j, level) for j in range(n)] for i in range(n)]
    table = pd.DataFrame(rows, index=pd.Index(names, name="Ahead"), columns=names)
    what = "ahead, level and behind" if level else "ahead and behind"
    some = f", for the first {n} items" if n < len(order) else ""
    text = f"How often the row item was {what} of the column item{some}."
    one, other = np.nonzero(np.triu(wins + wins.T + ties))
    csv = pd.DataFrame(
        {
            "item": summary.index[one],
            "other": summary.index[other],
            "ahead": wins[one, other],
            "level": ties[one, other],
            "behind": wins[other, one],
        }
    ).set_index("item")
    section = Section("Who was ahead of whom", [text], table, file="pairs.csv")
    return [Part(section, {"pairs.csv": csv_bytes(csv)}, printed=False)]


def _score(wins: NDArray[Any], ties: NDArray[Any], i: int, j: int, level: bool) -> str:
    """Write how often one item was ahead of another, level with it if that occurs, and behind."""
    if i == j or not wins[i, j] + wins[j, i] + ties[i, j]:
        return ""
    counts = [wins[i, j], ties[i, j], wins[j, i]] if level else [wins[i, j], wins[j, i]]
    return "–".join(f"{x:,.6g}" for x in counts)


def _condorcet(pairs: PairWins, labels: NDArray[Any], what: str) -> str:
    """Say whether one is ahead of every other one."""
    if len(pairs.items) < 3 or not (pairs.met + np.eye(len(pairs.items)) > 0).all():
        return ""
    best = condorcet(pairs)
    if best is None:
        return f" No item is ahead of every other one in most {what} (no Condorcet winner)."
    return f" {labels[best]} is ahead of every other one in most {what} (the Condorcet winner)."


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.0f}%" if whole > 0 and np.isfinite(part) else ""
