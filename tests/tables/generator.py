"""Tables with a known meaning: all forms, in all formats and dialects.

A form draws rankings, matches or tasks, and writes them as cells of text. A dialect changes the
cells without a change of meaning, and a format makes a file or a frame of them. What must be read
is computed from what was drawn, never from the table.

>>> example = generated(7)
>>> example.command in ("rank", "matches", "choices")
True
"""

import csv
import gzip
import io
import json
import random
import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

PLAIN = ["ale", "bock", "cider", "dubbel", "elder", "fir", "gose", "helles"]
NUMERIC = ["007", "7", "1.10", "1.1", "1e5", "100000", "10", "12345678901234567"]
WORDY = ["Smith, John", "Köln", "O'Neil", "the two", "Zoë; or not", "青島", "R&D", "half/half"]
ODD = ["NA", "null", "2024-05-01", "True", 'the "best"', "None", "1,5", "-"]
RANKERS = ["ann", "ben", "cat", "dan", "eve", "fay", "gus"]
NUMBERED = ["1", "2", "3", "10", "01", "1.0", "20"]


@dataclass
class Form:
    """Cells of text, the call that reads them, and what must come of it.

    Attributes
    ----------
    reading : callable
        The rows that must be read under some arguments, or None if nobody knows.
    quantities : set of str
        Columns of numbers. The cells of other columns are labels or codes.
    directed : bool
        Whether it matters which item of a match comes first.
    named : bool
        Whether the rankers have names in the table.
    free : bool
        Whether columns may be added anywhere without a change of meaning.
    """

    names: list[str]
    rows: list[list[str | None]]
    command: str
    arguments: dict[str, Any]
    reading: Callable[[dict[str, Any]], list[str] | None]
    quantities: set[str] = field(default_factory=set)
    directed: bool = True
    named: bool = True
    free: bool = True
    ordered: bool = False  # whether the order of the rows is part of the meaning
    repeats: bool = False  # whether a row may be there twice


class Example(NamedTuple):
    """A table, the call that reads it, and what must come of it."""

    seed: int
    form: str
    format: str
    dialect: tuple[str, ...]
    name: str  # of the file; empty for frames
    source: Any  # content of the file, or the frame
    command: str
    arguments: dict[str, Any]
    reading: Callable[[dict[str, Any]], list[str] | None]
    directed: bool
    named: bool
    cells: str  # the table as it was drawn

    def __str__(self) -> str:
        content = self.source
        if isinstance(content, bytes):
            packed = content[:2] == b"\x1f\x8b"
            content = gzip.decompress(content) if packed else content
            binary = content[:4] in (b"PAR1", b"PK\x03\x04")
            content = self.cells if binary else repr(content.decode("utf-8", "backslashreplace"))
        title = f"seed {self.seed}: {self.form} as {self.format} ({', '.join(self.dialect)})"
        return f"{title}\n{self.command} {self.arguments}\n{content}"


# What must be read


def ranking_rows(rankings: list[tuple[str, float, list[list[str]]]]) -> list[str]:
    """Write rankings as rows: the ranker, the weight and the blocks, best first."""
    rows = []
    for ranker, weight, blocks in rankings:
        text = " > ".join(" = ".join(sorted(block)) for block in blocks)
        rows.append(f"{ranker}: {text}" if weight == 1 else f"{ranker} ({weight:g}): {text}")
    return sorted(rows)


def match_rows(matches: list[tuple[str, str, int]], directed: bool = True) -> list[str]:
    """Write matches (first, second, and 0, 1 or 2 for the winner or a tie) as rows of counts."""
    counts: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    for first, second, outcome in matches:
        turned = not directed and second < first
        pair = (second, first) if turned else (first, second)
        counts[pair][(1, 0, 2)[outcome] if turned else outcome] += 1
    shown = 3 if any(row[2] for row in counts.values()) else 2
    return sorted(f"{a}-{b} {':'.join(map(str, row[:shown]))}" for (a, b), row in counts.items())


def blocks_of(values: dict[str, float], low: bool, last: list[str] = ()) -> list[list[str]]:
    """Group items by value, the best first; `last` come behind all."""
    levels = sorted(set(values.values()), reverse=not low)
    blocks = [[item for item, value in values.items() if value == level] for level in levels]
    return blocks + ([[*last]] if last else [])


# Drawing


def labels(rng: random.Random, n: int, *pools: list[str]) -> list[str]:
    """Draw different labels, often plain ones."""
    pool = rng.choice([PLAIN, *pools]) if pools else PLAIN
    few = rng.sample(pool, min(n, len(pool)))
    rest = [label for label in PLAIN if label not in few]
    return few + rng.sample(rest, n - len(few))


def ranks_of(rng: random.Random, n: int, ties: bool) -> list[int]:
    """Draw dense ranks."""
    if not ties:
        return rng.sample(range(1, n + 1), n)
    drawn = [rng.randrange(n) for _ in range(n)]
    return [sorted(set(drawn)).index(x) + 1 for x in drawn]


def spelled_ranks(rng: random.Random, dense: list[int]) -> list[str]:
    """Write ranks densely, with gaps behind ties (1, 2, 2, 4), or with shared places (2.5)."""
    way = rng.choice(["dense", "gaps", "shared"])
    if way == "dense":
        return [*map(str, dense)]
    above = [sum(other < rank for other in dense) for rank in dense]
    if way == "gaps":
        return [str(n + 1) for n in above]
    size = [dense.count(rank) for rank in dense]
    return [f"{n + (k + 1) / 2:g}" for n, k in zip(above, size, strict=True)]


def clock(seconds: float) -> str:
    """Write seconds as a time such as 1:02:03 or 3:45.2."""
    hours, rest = divmod(round(seconds * 10), 36_000)
    minutes, tenths = divmod(rest, 600)
    if hours:
        return f"{hours}:{minutes:02}:{tenths // 10:02}"
    return f"{minutes}:{tenths // 10:02}.{tenths % 10}"


# Forms of rankings


def long_table(rng: random.Random, value: str) -> Form:
    """One row per ranker and item, with a rating, a rank or a result."""
    rankers = labels(rng, rng.randint(2, 5), RANKERS, NUMBERED, WORDY)
    items = labels(rng, rng.randint(3, 6), NUMERIC, WORDY, ODD)
    column = rng.choice({
        "rating": ["rating", "stars", "score", "points", "grade"],
        "rank": ["rank", "place", "position", "pos"],
        "result": ["time", "seconds", "error", "result"],
    }[value])  # fmt: skip
    names = [rng.choice(["judge", "user", "race"]), rng.choice(["beer", "item", "model"]), column]
    code = rng.choice(["DNF", "Ret", "dsq"]) if value != "rating" and rng.random() < 0.3 else None
    hole = rng.random() < 0.3
    weighted = rng.random() < 0.2
    timed = value == "result" and rng.random() < 0.5
    drawn: dict[str, dict[str, Any]] = {}
    rows: list[list[str | None]] = []
    weights = {ranker: rng.randint(1, 9) if weighted else 1 for ranker in rankers}
    for ranker in rankers:
        some = rng.sample(items, rng.randint(3, len(items)))
        dense = ranks_of(rng, len(some), rng.random() < 0.4)
        texts = spelled_ranks(rng, dense)
        if value == "rating":
            texts = [f"{7 - r if rng.random() < 2 else r}" for r in dense]
            texts = [f"{7.5 - r}" for r in dense] if rng.random() < 0.4 else texts
        elif value == "result":
            step = 3600 if timed and rng.random() < 0.3 else 61.3
            texts = [clock(r * step) if timed else f"{r * 3.25:g}" for r in dense]
        drawn[ranker] = {}
        for item, rank, text in zip(some, dense, texts, strict=True):
            known: Any = rank
            shown: str | None = text
            if code and rank == max(dense) and len(set(dense)) > 1:
                known, shown = code, code
            elif hole and rng.random() < 0.15:
                known, shown = None, None
            drawn[ranker][item] = known
            rows.append([ranker, item, shown])
            if weighted:
                rows[-1].append(str(weights[ranker]))
    holes = any(known is None for single in drawn.values() for known in single.values())
    coded = any(known == code for single in drawn.values() for known in single.values() if code)
    direction = {"rating": -1, "rank": 1, "result": 1}

    def reading(given: dict[str, Any]) -> list[str] | None:
        asked = [name for name in direction if given.get(name) == column]
        if len(asked) != 1 or (
            coded and given.get("last_block") != code and not _is(given, "empty", code)
        ):
            return None
        turned = direction[asked[0]] != direction[value]
        if turned and (coded or timed):
            return None
        missing = given.get("missing") or ("drop" if asked[0] == "rating" else None)
        if holes and missing is None:
            return None
        out = []
        for ranker, entries in drawn.items():
            values = {x: r for x, r in entries.items() if r is not None and r != code}
            codes = [x for x, r in entries.items() if code and r == code]
            empty = [x for x, r in entries.items() if r is None]
            if _is(given, "empty", code):
                empty, codes = empty + codes, []
                if missing is None:
                    return None
            last = codes + (empty if missing == "last" else [])
            if codes and empty and missing == "last":
                return None  # one block or two
            blocks = blocks_of({x: -r if turned else r for x, r in values.items()}, True, last)
            if blocks:
                out.append((ranker, weights[ranker], blocks))
        return ranking_rows(out)

    arguments = {"ranker": names[0], "item": names[1], value: column}
    if weighted:
        names.append("n")
        arguments["count"] = "n"
    if coded:
        arguments["last_block"] = code
    if holes and rng.random() < 0.7:
        arguments["missing"] = "drop" if coded else rng.choice(["drop", "last"])
    numbers = set() if timed or coded else {column}
    form = Form(names, rows, "rank", arguments, reading, numbers | ({"n"} if weighted else set()))
    form.repeats = True
    return form


def _is(given: dict[str, Any], name: str, value: str | None) -> bool:
    """Whether an argument has a value, perhaps as one of several."""
    found = given.get(name)
    return value is not None and (
        found == value or (isinstance(found, list | tuple) and value in found)
    )


def wide_table(rng: random.Random, value: str, *, turned: bool = False) -> Form:
    """One row per ranking and one column per item, or the other way round."""
    items = labels(rng, rng.randint(3, 6), *([NUMERIC, WORDY, ODD] if turned else [WORDY]))
    rankers = labels(rng, rng.randint(2, 6), RANKERS, *([WORDY] if turned else [WORDY, NUMBERED]))
    hole = rng.random() < 0.4
    table: dict[str, dict[str, int | None]] = {}
    texts: dict[str, dict[str, str | None]] = {}
    for ranker in rankers:
        dense = ranks_of(rng, len(items), rng.random() < 0.4)
        if value == "ranks":
            shown = spelled_ranks(rng, dense)
        elif value == "ratings":
            shown = [f"{8 - rank}" for rank in dense]
        else:
            shown = [f"{10 + 2.5 * rank:g}" for rank in dense]
        table[ranker] = dict(zip(items, dense, strict=True))
        texts[ranker] = dict(zip(items, shown, strict=True))
        if hole and rng.random() < 0.5:
            item = rng.choice(items)
            table[ranker][item], texts[ranker][item] = None, None
    holes = any(rank is None for row in table.values() for rank in row.values())
    known = [[float(x) for x in row.values() if x is not None] for row in texts.values()]
    gaps = any(row and max(row) > len(row) for row in known)
    gaps |= len({*map(len, known)}) == 1  # or, if all are as long, how many were ranked

    def reading(given: dict[str, Any]) -> list[str] | None:
        way = given.get("wide")
        if way not in ("ranks", "ratings", "results"):
            return None
        missing = given.get("missing") or ("drop" if way == "ratings" else None)
        # gaps show that the ranks are positions in a longer list
        missing = missing or ("drop" if way == value == "ranks" and gaps else None)
        if holes and missing is None:
            return None
        low = (way == "ratings") == (value == "ratings")
        out = []
        for ranker, row in table.items():
            values = {x: float(r) for x, r in row.items() if r is not None}
            last = [x for x, r in row.items() if r is None and missing == "last"]
            out.append((ranker, 1, blocks_of(values, low, last)))
        return ranking_rows(out)

    arguments: dict[str, Any] = {"wide": value}
    if turned:
        names = [rng.choice(["beer", "item", "rider"]), *rankers]
        rows: list[list[str | None]] = [
            [item, *(texts[ranker][item] for ranker in rankers)] for item in items
        ]
        arguments["item"] = names[0]
    else:
        names = [rng.choice(["judge", "voter", "id"]), *items]
        rows = [[ranker, *texts[ranker].values()] for ranker in rankers]
        arguments["ranker"] = names[0]
    arguments["column"] = names[1:]
    if holes and rng.random() < 0.7:
        arguments["missing"] = rng.choice(["drop", "last"])
    return Form(names, rows, "rank", arguments, reading, set(names[1:]))


def orders(rng: random.Random, ties: bool) -> tuple[list[str], list[list[list[str]]]]:
    """Draw items, and ballots of some of them."""
    items = labels(
        rng, rng.randint(3, 6), ["Ann Lee", "Bo", "Cy Roe", "Di"], ["11", "12", "2", "4"]
    )
    whole = rng.random() < 0.4
    ballots = []
    for _ in range(rng.randint(3, 7)):
        some = rng.sample(items, len(items) if whole else rng.randint(1, len(items)))
        blocks: list[list[str]] = []
        for item in some:
            if ties and blocks and rng.random() < 0.25:
                blocks[-1].append(item)
            else:
                blocks.append([item])
        ballots.append(blocks)
    return items, ballots


def omitted(ballots: list[list[list[str]]], missing: str | None) -> list[list[list[str]]] | None:
    """Complete ballots: omitted items come last, or were not there; None if nobody said it.

    If all ballots have one length, nothing is asked: each voter had to name that many items.
    """
    lengths = {sum(map(len, blocks)) for blocks in ballots}
    missing = missing or ("drop" if len(lengths) == 1 else None)
    named = {item for blocks in ballots for block in blocks for item in block}
    out = []
    for blocks in ballots:
        rest = sorted(named - {item for block in blocks for item in block})
        if rest and missing not in ("drop", "last"):
            return None
        out.append([*blocks, rest] if rest and missing == "last" else blocks)
    return out


def voters(rng: random.Random, n: int) -> list[str]:
    """Name the voters by text or by numbers."""
    return [str(k + 1) for k in range(n)] if rng.random() < 0.5 else [f"v{k:02}" for k in range(n)]


def places(rng: random.Random) -> Form:
    """One row per ballot and one column per place, with an item in each cell."""
    _, ballots = orders(rng, ties=False)
    again = rng.random() < 0.2
    most = max(map(len, ballots))
    style = rng.choice([
        lambda k: f"{k}{'st' if k == 1 else 'nd' if k == 2 else 'rd' if k == 3 else 'th'} choice",
        lambda k: f"rank{k}",
        lambda k: f"choice {k}",
        lambda k: f"Pick_{k}",
    ])  # fmt: skip
    who = voters(rng, len(ballots))
    rows: list[list[str | None]] = []
    for voter, blocks in zip(who, ballots, strict=True):
        cells: list[str | None] = [voter, *(block[0] for block in blocks)]
        cells += [None] * (most + 1 - len(cells))
        if again and cells[-1] is None and len(blocks) > 1:
            cells[len(blocks) + 1] = blocks[0][0]  # the first mention counts
        rows.append(cells)

    def reading(given: dict[str, Any]) -> list[str] | None:
        done = omitted(ballots, given.get("missing"))
        if given.get("wide") != "places" or done is None:
            return None
        return ranking_rows([(v, 1, b) for v, b in zip(who, done, strict=True)])

    names = ["voter", *(style(k + 1) for k in range(most))]
    arguments: dict[str, Any] = {"wide": "places", "ranker": "voter", "column": names[1:]}
    if rng.random() < 0.7:
        arguments["missing"] = rng.choice(["drop", "last"])
    return Form(names, rows, "rank", arguments, reading)


def ballots(rng: random.Random) -> Form:
    """One ballot in a cell, perhaps with a count in the cell or in a column."""
    sign = rng.choice([" > ", ">", ", ", ",", ";", "; ", " | "])
    ties = ">" in sign and rng.random() < 0.6
    _, drawn = orders(rng, ties=ties)
    who = voters(rng, len(drawn))
    counts = [rng.randint(1, 40) for _ in drawn]
    where = rng.choice(["no", "no", "column", "* {}", ":{}", " ({})"])
    rows: list[list[str | None]] = []
    for voter, blocks, n in zip(who, drawn, counts, strict=True):
        cell = sign.join((" = " if " " in sign else "=").join(block) for block in blocks)
        cell += ";" if sign == ";" and where in ("no", "column") else ""
        cell += "" if where in ("no", "column") else f" {where}".format(n)
        rows.append([voter, cell, *([str(n)] if where == "column" else [])])
    if where == "no":
        counts = [1] * len(drawn)

    def reading(given: dict[str, Any]) -> list[str] | None:
        done = omitted(drawn, given.get("missing"))
        between = given.get("between")
        if done is None or (between is not None and between.strip() != sign.strip()):
            return None
        if given.get("listed") == "ticked":
            flat = [[[x for block in blocks for x in block]] for blocks in drawn]
            done = omitted(flat, given.get("missing")) or []
        return ranking_rows([*zip(who, counts, done, strict=True)])

    names = [
        "voter",
        rng.choice(["ballot", "vote", "order"]),
        *(["n"] if where == "column" else []),
    ]
    arguments: dict[str, Any] = {"ballot": names[1], "ranker": "voter"}
    if where == "column":
        arguments["count"] = "n"
    if rng.random() < 0.7:
        arguments["missing"] = rng.choice(["drop", "last"])
    if rng.random() < 0.5:
        arguments["between"] = sign.strip()
    if ">" not in sign and rng.random() < 0.5:
        arguments["listed"] = "ranked"
    return Form(names, rows, "rank", arguments, reading)


# Forms of matches

CODINGS: list[tuple[str, str, str, tuple[str, str, str | None], dict[str, Any]]] = [
    ("first", "second", "outcome", ("first", "second", "tie"), {}),
    ("a", "b", "result", ("1", "0", "0.5"), {}),
    ("home", "away", "result", ("H", "A", "D"), {}),
    ("home_team", "away_team", "result", ("1", "2", "X"), {}),
    ("HomeTeam", "AwayTeam", "FTR", ("H", "A", "D"), {}),
    ("White", "Black", "Result", ("1-0", "0-1", "1/2-1/2"), {}),
    ("White", "Black", "Result", ("1-0", "0-1", "½-½"), {}),
    ("White", "Black", "Result", ("1 – 0", "0 – 1", "½–½"), {}),
    ("white", "black", "winner", ("white", "black", "draw"), {}),
    ("black", "white", "winner", ("black", "white", "draw"), {}),
    ("black", "white", "result", ("0-1", "1-0", "1/2-1/2"), {}),
    ("visitor", "home", "result", ("A", "H", "D"), {}),
    ("model_a", "model_b", "winner", ("model_a", "model_b", "tie"), {}),
    ("model_a", "model_b", "winner", ("A", "B", "tie"), {}),
    ("left", "right", "preferred", ("left", "right", None), {}),
    ("team", "opponent", "result", ("W", "L", "D"), {}),
    ("p", "q", "won", ("1", "-1", "0"), {}),
    ("x", "y", "first_won", ("True", "False", None), {}),
    ("x", "y", "won", ("yes", "no", None), {}),
    ("red", "blue", "winner", ("red", "blue", "draw"), {}),
    ("one", "two", "verdict", ("I", "II", "both"),
     {"first_wins": "I", "second_wins": "II", "tie": "both"}),
    ("one", "two", "verdict", ("-", "+", "o"), {"first_wins": "-", "second_wins": "+", "tie": "o"}),
]  # fmt: skip


def draw_matches(rng: random.Random, ties: bool, *pools: list[str]) -> list[tuple[str, str, int]]:
    """Draw matches between items of different strength."""
    items = labels(rng, rng.randint(3, 6), *pools)
    out = []
    for _ in range(rng.randint(4, 14)):
        first, second = rng.sample(items, 2)
        out.append((first, second, rng.choices([0, 1, 2], [5, 4, 3 if ties else 0])[0]))
    return out


def sides(rng: random.Random, *, by_name: bool = False) -> Form:
    """Two items and the outcome, as a code or as the name of the winner."""
    first, second, column, codes, extra = rng.choice(CODINGS)
    if by_name:
        first, second, column = rng.choice(
            [("a", "b", "winner"), ("player 1", "player 2", "winner")]
        )
        codes, extra = ("", "", "draw"), {}
    matches = draw_matches(rng, codes[2] is not None, WORDY, *([] if by_name else [NUMERIC, ODD]))
    if codes[1] == "-1" and not any(outcome == 1 for *_, outcome in matches):
        return sides(rng)  # 1 and 0 alone mean something else
    rows: list[list[str | None]] = []
    for a, b, outcome in matches:
        rows.append([a, b, (a, b, "draw")[outcome] if by_name else codes[outcome]])
    ways = ("first_wins", "second_wins", "tie")

    def reading(given: dict[str, Any]) -> list[str] | None:
        for outcome, way in enumerate(ways):
            said = given.get(way) or ()
            said = [said] if isinstance(said, str) else [*said]
            if any(one != codes[outcome] for one in said):
                return None  # another meaning of the codes
        way = "winner" if by_name and given.get("winner") else "outcome"
        if given.get("first") != first or given.get(way) != column:
            return None
        return match_rows(matches)

    arguments = {"first": first, "second": second, "outcome": column, **extra}
    return Form([first, second, column], rows, "matches", arguments, reading)


def winners(rng: random.Random) -> Form:
    """The winner and the loser, perhaps with a count."""
    matches = draw_matches(rng, False, WORDY, NUMERIC, ODD)
    names = [*rng.choice([("winner", "loser"), ("chosen", "rejected"), ("better", "worse")])]
    counted = rng.random() < 0.4
    rows: list[list[str | None]] = []
    every = []
    for a, b, outcome in matches:
        n = rng.randint(1, 9) if counted else 1
        won, lost = (b, a) if outcome else (a, b)
        rows.append([won, lost, *([str(n)] if counted else [])])
        every += [(won, lost, 0)] * n
    arguments = {"winner": names[0], "loser": names[1]}
    if counted:
        names.append(rng.choice(["n", "times", "count"]))
        arguments["count"] = names[-1]
    form = Form(
        names, rows, "matches", arguments, lambda _: match_rows(every, False), set(names[2:])
    )
    form.directed = False
    return form


def scores(rng: random.Random, *, one_cell: bool = False) -> Form:
    """Two items and their scores, in two columns or in one cell."""
    matches = draw_matches(rng, True, WORDY, NUMERIC, ODD)
    hole = not one_cell and rng.random() < 0.25
    rows: list[list[str | None]] = []
    kept = []
    sign = rng.choice(["-", ":", " - ", "–"])
    for a, b, outcome in matches:
        low, more = rng.randint(0, 3), rng.randint(1, 9)
        pair = {0: (low + more, low), 1: (low, low + more), 2: (low, low)}[outcome]
        if hole and rng.random() < 0.2:
            rows.append([a, b, None, None])
            continue
        kept.append((a, b, outcome))
        rows.append([a, b, sign.join(map(str, pair))] if one_cell else [a, b, *map(str, pair)])
    if not kept:
        return scores(rng, one_cell=one_cell)
    names = ["home", "away", *(["score"] if one_cell else ["home_score", "away_score"])]
    arguments = {"first": "home", "second": "away"}
    arguments |= {"outcome": "score"} if one_cell else {"score_a": names[2], "score_b": names[3]}
    holes = len(kept) < len(matches)
    if holes and rng.random() < 0.5:
        arguments["missing"] = "drop"

    def reading(given: dict[str, Any]) -> list[str] | None:
        return None if holes and given.get("missing") != "drop" else match_rows(kept)

    return Form(names, rows, "matches", arguments, reading, set() if one_cell else {*names[2:]})


def matrix(rng: random.Random) -> Form:
    """A square table of wins: the row beat the column."""
    items = labels(rng, rng.randint(3, 6), WORDY)
    named = rng.random() < 0.7
    down = rng.sample(items, len(items)) if named else items
    diagonal = rng.choice([None, "0", None])
    wins = {(a, b): rng.randint(0, 9) for a in items for b in items if a != b}
    rows: list[list[str | None]] = []
    for a in down:
        cells = [diagonal if a == b else str(wins[a, b]) for b in items]
        rows.append([a, *cells] if named else [*cells])
    every = [(a, b, 0) for (a, b), n in wins.items() for _ in range(n)]
    if not every:
        return matrix(rng)
    names = [*([rng.choice(["item", "winner", "team"])] if named else []), *items]
    form = Form(names, rows, "matches", {"matrix": True}, lambda _: match_rows(every, False))
    form.quantities = {*items}
    form.directed, form.free, form.ordered = False, False, not named
    return form


def pair_columns(rng: random.Random) -> Form:
    """A column per pair of items, with 1 if the first is better, -1 if the second is."""
    n = rng.randint(3, 5)
    pairs = [(a, b) for a in range(1, n + 1) for b in range(a + 1, n + 1)]
    ties = rng.random() < 0.4
    rows: list[list[str | None]] = []
    matches = []
    for row in range(rng.randint(3, 8)):
        cells: list[str | None] = [str(row + 1)]
        for a, b in pairs:
            outcome = rng.choice([0, 1, 2] if ties else [0, 1])
            cells.append(("1", "-1", "0")[outcome])
            matches.append((str(a), str(b), outcome))
        rows.append(cells)
    names = ["judge", *(f"V{a}{b}" for a, b in pairs)]
    form = Form(names, rows, "matches", {"pair": names[1:]}, lambda _: match_rows(matches, False))
    form.quantities = {*names[1:]}
    form.directed = False
    return form


# Forms of choices


def tasks(rng: random.Random, style: str) -> Form:
    """Best-worst tasks or choices, with a row per item or per task."""
    items = labels(rng, rng.randint(5, 7), WORDY, *([] if style == "labels" else [NUMERIC]))
    size = rng.randint(3, 4)
    worst = style in ("codes", "worst") or rng.random() < 0.6
    long = style in ("flags", "codes")
    respondents = labels(rng, rng.randint(2, 4), RANKERS, NUMBERED)
    rows: list[list[str | None]] = []
    drawn = []
    mark = rng.choice([("1", "0"), ("x", None), ("yes", "no")])
    code = rng.choice([("best", "worst", None), ("1", "-1", "0"), ("most", "least", None)])
    for respondent in respondents:
        for task in range(1, rng.randint(2, 3) + 1):
            shown = rng.sample(items, size)
            best, least = rng.sample(range(size), 2)
            middle = [x for k, x in enumerate(shown) if k != best and not (worst and k == least)]
            blocks = [[shown[best]], middle, *([[shown[least]]] if worst else [])]
            drawn.append((respondent, 1, blocks))
            if long:
                for k, item in enumerate(shown):
                    if style == "codes":
                        answer = [code[0] if k == best else code[1] if k == least else code[2]]
                    else:
                        answer = [mark[k != best], *([mark[k != least]] if worst else [])]
                    rows.append([respondent, str(task), item, *answer])
            else:
                chosen = [best, *([least] if worst else [])]
                cells = [str(k + 1) if style == "positions" else shown[k] for k in chosen]
                rows.append([respondent, str(task), *shown, *cells])
    answers = ["best", *(["worst"] if worst else [])]
    arguments: dict[str, Any] = {"respondent": "id", "task": "set"}
    if style == "codes":
        names = ["id", "set", "snack", "answer"]
        arguments |= {"item": "snack", "codes": "answer"}
        if rng.random() < 0.5 or code[0] == "most":
            arguments |= {"best_code": code[0], "worst_code": code[1]}
    elif long:
        names = ["id", "set", "snack", *answers]
        arguments |= {"item": "snack", **{name: name for name in answers}}
    else:
        shown_names = [f"item{k + 1}" for k in range(size)]
        names = ["id", "set", *shown_names, *answers]
        arguments |= {"item": shown_names, **{name: name for name in answers}}
        arguments |= {"positions": True} if style == "positions" else {}

    def reading(given: dict[str, Any]) -> list[str] | None:
        if style == "codes" and (given.get("best_code") or code[0]) != code[0]:
            return None
        if bool(given.get("positions")) != (style == "positions"):
            return None
        return ranking_rows(drawn)

    return Form(names, rows, "choices", arguments, reading)


def choice_counts(rng: random.Random) -> Form:
    """A row per set of items shown, with the number of times that each was chosen."""
    items = labels(rng, rng.randint(4, 6), WORDY)
    rows: list[list[str | None]] = []
    drawn = []
    for _ in range(rng.randint(3, 6)):
        shown = rng.sample(items, rng.randint(2, len(items) - 1))
        counts = {item: rng.randint(1, 12) for item in shown}
        rows.append([str(counts[item]) if item in counts else None for item in items])
        for item in shown:
            rest = [x for x in shown if x != item]
            drawn.append(("", counts[item], [[item], rest]))
    form = Form(items, rows, "choices", {"counts": True}, lambda _: ranking_rows(drawn), {*items})
    form.named, form.free = False, False
    return form


FORMS: dict[str, Callable[[random.Random], Form]] = {
    "long ratings": lambda rng: long_table(rng, "rating"),
    "long ranks": lambda rng: long_table(rng, "rank"),
    "long results": lambda rng: long_table(rng, "result"),
    "wide ratings": lambda rng: wide_table(rng, "ratings"),
    "wide ranks": lambda rng: wide_table(rng, "ranks"),
    "wide results": lambda rng: wide_table(rng, "results"),
    "items in rows, ratings": lambda rng: wide_table(rng, "ratings", turned=True),
    "items in rows, ranks": lambda rng: wide_table(rng, "ranks", turned=True),
    "items in rows, results": lambda rng: wide_table(rng, "results", turned=True),
    "places": places,
    "ballots": ballots,
    "sides": sides,
    "name of the winner": lambda rng: sides(rng, by_name=True),
    "winner and loser": winners,
    "scores": scores,
    "scores in one cell": lambda rng: scores(rng, one_cell=True),
    "matrix": matrix,
    "pair columns": pair_columns,
    "flags": lambda rng: tasks(rng, "flags"),
    "codes": lambda rng: tasks(rng, "codes"),
    "tasks in rows": lambda rng: tasks(rng, "labels"),
    "positions": lambda rng: tasks(rng, "positions"),
    "counts of choices": choice_counts,
}


# Dialects of the cells


def settings(rng: random.Random, form: Form) -> list[str]:
    """Have cells and names that only make sense with further arguments."""
    used = []
    empty = any(cell is None for row in form.rows for cell in row)
    if empty and form.command == "rank" and rng.random() < 0.3:
        code = rng.choice(["skipped", "n.a.", "?", "no, thanks", "99"])
        form.rows = [[code if cell is None else cell for cell in row] for row in form.rows]
        form.arguments["empty"] = code
        used.append("a code for nothing")
    if form.free and rng.random() < 0.1:
        decoys = [
            [rng.choice(form.rows)[k] for k in range(len(form.names))]
            for _ in range(rng.randint(1, 4))
        ]
        form.rows = [[*row, "1.10"] for row in form.rows] + [[*row, "1.1"] for row in decoys]
        form.names.append("version")
        form.arguments["where"] = "version=1.10"
        used.append("rows of another version")
    named = [name for name in form.names if name in form.arguments.values()]
    if named and rng.random() < 0.1:
        name = rng.choice(named)
        form.names[form.names.index(name)] = f"my {name}"
        form.quantities |= {f"my {name}"} if name in form.quantities else set()
        form.arguments["rename"] = f"my {name}={name}"
        used.append("a column by another name")
    return used


def more_columns(rng: random.Random, form: Form) -> list[str]:
    """Add columns that mean nothing here, and rows in another order."""
    used = []
    if form.free and rng.random() < 0.5:
        n = len(form.rows)
        extra: dict[str, list[str | None]] = {
            "record": [str(k + 101) for k in range(n)],
            "remark": [rng.choice(["fine", "late, again", None, "ok"]) for _ in range(n)],
            "when": [f"2024-0{rng.randint(1, 9)}-{rng.randint(10, 28)}" for _ in range(n)],
            "total": [str(rng.randint(20, 99)) for _ in range(n)],
            "price": [f"{rng.randint(10, 99)}.5" for _ in range(n)],
        }
        for name in rng.sample([*extra], rng.randint(1, 3)):
            at = rng.randint(0, len(form.names))
            form.names.insert(at, name)
            for row, cell in zip(form.rows, extra[name], strict=True):
                row.insert(at, cell)
            if name in ("total", "price"):
                form.quantities.add(name)
            used.append(f"column {name}")
    elif form.repeats and rng.random() < 0.2:
        form.rows.append([*rng.choice(form.rows)])
        used.append("a row twice")
    if not form.ordered and rng.random() < 0.5:
        rng.shuffle(form.rows)
        used.append("shuffled")
    return used


# Formats


def text_file(rng: random.Random, form: Form, separator: str, used: list[str]) -> bytes:
    """Write text with a separator, in one of many dialects; arguments say what is needed."""
    rows = [[*form.names], *([cell or "" for cell in row] for row in form.rows)]
    if separator in ";\t" and rng.random() < 0.4:
        fractions = [
            k for k, name in enumerate(form.names)
            if name in form.quantities and any("." in row[k] for row in rows[1:])
        ]  # fmt: skip
        if fractions:
            for row in rows[1:]:
                for k in fractions:
                    row[k] = row[k].replace(".", ",") if is_number(row[k]) else row[k]
            used.append("decimal commas")
            if rng.random() < 0.5:
                form.arguments["decimal"] = ","
    if rng.random() < 0.2:
        for row in rows[1:]:
            for k, name in enumerate(form.names):
                if name in form.quantities and not row[k] and form.command == "rank":
                    row[k] = "NA"
        used.append("NA")
    every = rng.random() < 0.25
    buffer = io.StringIO()
    ends = rng.choice(["\n", "\n", "\r\n"])
    quoting = csv.QUOTE_ALL if every else csv.QUOTE_MINIMAL
    writer = csv.writer(buffer, delimiter=separator, lineterminator=ends, quoting=quoting)
    spaced = not every and separator in ",;|" and rng.random() < 0.2
    trailing = rng.random() < 0.15
    if trailing:
        rows = [[*row, ""] for row in rows]
        used.append("trailing separators")
    for row in rows:
        cells = row
        if spaced:
            plain = re.compile(r'[^",;|\n]+')
            cells = [f" {cell}" if plain.fullmatch(cell) else cell for cell in row]
        if len(cells) == 1 and not cells[0]:
            cells = [""]
        writer.writerow(cells)
    used += ["quoted"] * every + ["spaces"] * spaced + ["CRLF"] * (ends == "\r\n")
    text = buffer.getvalue()
    if rng.random() < 0.15:
        text = text.rstrip("\r\n")
        used.append("no last line end")
    if rng.random() < 0.15:
        text += ends * 2
        used.append("empty lines")
    if rng.random() < 0.1:
        title = rng.choice(["Results of 2024", "Results, all"])
        text = f"{title}{ends}{ends}{text}"
        form.arguments["header"] = 3
        used.append("a title")
    encoding = rng.choice(["utf-8"] * 6 + ["utf-8-sig", "utf-16", "cp1252"])
    if encoding == "cp1252":
        if not text.isascii() and text.encode("cp1252", "ignore").decode("cp1252") == text:
            form.arguments["encoding"] = "cp1252"
        else:
            encoding = "utf-8"
    used += [encoding] * (encoding != "utf-8")
    return text.encode(encoding)


def blank_file(rng: random.Random, form: Form, used: list[str]) -> bytes | None:
    """Write columns of text that blanks align, if no cell is empty or contains a blank."""
    rows = [[*form.names], *form.rows]
    if any(cell is None or re.search(r"[\s\"',;|]|^$", cell) for row in rows for cell in row):
        return None
    if len(form.names) < 2:
        return None
    widths = [
        max(len(str(row[k])) for row in rows) + rng.randint(1, 3) for k in range(len(rows[0]))
    ]
    right = rng.random() < 0.5
    lines = [
        "".join(
            (str(c).rjust(w) if right else str(c).ljust(w))
            for c, w in zip(row, widths, strict=True)
        )
        for row in rows
    ]
    used.append("right" if right else "left")
    return "\n".join(line.rstrip() if rng.random() < 2 else line for line in lines).encode() + b"\n"


def r_file(rng: random.Random, form: Form, used: list[str]) -> bytes | None:
    """Write what R's write.table writes: the header is one shorter, and text is quoted."""
    cells = [*zip(*form.rows, strict=True)]
    texts = [
        k for k, name in enumerate(form.names)
        if name not in form.quantities or not all(map(is_number, filter(None, cells[k])))
    ]  # fmt: skip
    if any(row[k] is None or '"' in row[k] or row[k] == "NA" for row in form.rows for k in texts):
        return None
    if any('"' in name for name in form.names) or not form.free:
        return None
    quoted = rng.random() < 0.7 or any(re.search(r"\s", row[k]) for row in form.rows for k in texts)
    quoted = quoted or any(re.search(r"\s", name) for name in form.names)

    def said(text: str) -> str:
        return f'"{text}"' if quoted else text

    lines = [" ".join(map(said, form.names))]
    for n, row in enumerate(form.rows, start=1):
        cells = [said(cell) if k in texts else (cell or "NA") for k, cell in enumerate(row)]
        lines.append(" ".join([said(str(n)), *cells]))
    used.append("quoted" if quoted else "bare")
    return "\n".join(lines).encode() + b"\n"


def is_number(cell: str | None) -> bool:
    """Whether a cell is written as programs write a number."""
    return cell is not None and re.fullmatch(r"-?(0|[1-9]\d{0,16})(\.\d*[1-9])?", cell) is not None


def typed_column(rng: random.Random, form: Form, name: str, exact: bool) -> list[Any]:
    """Return the cells of a column as numbers, if all are written as numbers, or as text.

    Labels that are whole numbers may be numbers, too; `exact` says that empty cells keep them so.
    """
    k = form.names.index(name)
    cells = [row[k] for row in form.rows]
    known = [cell for cell in cells if cell is not None]
    numeric = bool(known) and all(map(is_number, known))
    whole = numeric and all("." not in cell for cell in known)
    likely = name in form.quantities or whole
    if not numeric or not likely or rng.random() < 0.2:
        return cells
    if whole and (exact or len(known) == len(cells)):
        return [None if cell is None else int(cell) for cell in cells]
    if whole and any(len(cell) > 15 for cell in known):
        return cells
    return [None if cell is None else float(cell) for cell in cells]


def json_file(rng: random.Random, form: Form, used: list[str], *, lines: bool) -> bytes:
    """Write objects; numbers as they are spelled."""
    columns = [typed_column(rng, form, name, True) for name in form.names]
    objects = []
    for n, row in enumerate(form.rows):
        parts = []
        for name, column, cell in zip(form.names, columns, row, strict=True):
            if cell is None:
                if rng.random() < 0.5 and n:
                    continue  # a key that is left out
                text = "null"
            else:
                text = cell if isinstance(column[n], int | float) else json.dumps(cell)
            parts.append(f"{json.dumps(name, ensure_ascii=False)}: {text}")
        objects.append("{" + ", ".join(parts) + "}")
    used.append(
        "numbers" if any(isinstance(x, int | float) for c in columns for x in c) else "text"
    )
    if lines:
        return "\n".join(objects).encode() + b"\n"
    return f"[{', '.join(objects)}]".encode()


def columns_of(rng: random.Random, form: Form, exact: bool) -> dict[str, list[Any]]:
    """Return the columns of a form, as numbers or text."""
    return {name: typed_column(rng, form, name, exact) for name in form.names}


def pandas_frame(rng: random.Random, form: Form, used: list[str]) -> pd.DataFrame:
    """Make a frame, perhaps with an index and with categories."""
    exact = rng.random() < 0.3
    columns = columns_of(rng, form, exact)
    frame = pd.DataFrame(columns)
    if exact:
        frame = frame.convert_dtypes()
        used.append("nullable")
    elif rng.random() < 0.3:
        for name in frame.columns:
            if name not in form.quantities and frame[name].map(lambda x: isinstance(x, str)).all():
                frame[name] = pd.Categorical(frame[name])
        used.append("categories")
    if form.free and rng.random() < 0.2:
        frame = frame.set_index(frame.columns[0])
        used.append("index")
    elif rng.random() < 0.2:
        frame.index = pd.Index(np.arange(len(frame)) * 3 + 5)
        used.append("numbered index")
    return frame


def parquet_file(rng: random.Random, form: Form, used: list[str]) -> bytes:
    """Write a Parquet file by pandas, with its index, or by pyarrow."""
    buffer = io.BytesIO()
    if rng.random() < 0.5:
        pandas_frame(rng, form, used).to_parquet(buffer)
        used.append("by pandas")
    else:
        pq.write_table(pa.table(columns_of(rng, form, True)), buffer)
    return buffer.getvalue()


def sheet(rng: random.Random, form: Form, used: list[str]) -> bytes:
    """Write an Excel sheet."""
    import openpyxl

    columns = columns_of(rng, form, True)
    book = openpyxl.Workbook()
    book.active.append(form.names)
    for row in zip(*columns.values(), strict=True):
        # Excel keeps 15 digits, so longer identifiers are text
        book.active.append([str(x) if isinstance(x, int) and x >= 10**15 else x for x in row])
    for row in book.active.iter_rows():
        for cell in row:
            if isinstance(cell.value, str):
                cell.data_type = "s"  # also what looks like a formula
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def arrow_or_polars(rng: random.Random, form: Form, library: str) -> Any:
    """Make a table of pyarrow or polars."""
    columns = columns_of(rng, form, True)
    if library == "polars":
        import polars as pl

        return pl.DataFrame(columns)
    return pa.table(columns)


def dicts(rng: random.Random, form: Form) -> list[dict[str, Any]]:
    """Make a list of dicts."""
    columns = columns_of(rng, form, True)
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def made(rng: random.Random, form: Form, used: list[str]) -> tuple[str, str, Any]:
    """Make a file or a frame of a form: the format, the name of the file, and the content."""
    formats = ["csv", "csv", "semicolon", "tsv", "bar", "blanks", "R", "json", "jsonl", "parquet"]
    formats += ["pandas", "pyarrow", "dicts"]
    formats += ["polars"] * (find_spec("polars") is not None)
    formats += ["xlsx"] * (find_spec("openpyxl") is not None)
    way = rng.choice(formats)
    if way in ("blanks", "R"):
        write = blank_file if way == "blanks" else r_file
        content = write(rng, form, used)
        if content is not None:
            return way, "t.txt", content
        way = "csv"
    if way == "json":
        return way, "t.json", json_file(rng, form, used, lines=False)
    if way == "jsonl":
        return way, "t.jsonl", json_file(rng, form, used, lines=True)
    if way == "parquet":
        return way, "t.parquet", parquet_file(rng, form, used)
    if way == "xlsx":
        return way, "t.xlsx", sheet(rng, form, used)
    if way == "pandas":
        return way, "", pandas_frame(rng, form, used)
    if way in ("polars", "pyarrow"):
        return way, "", arrow_or_polars(rng, form, way)
    if way == "dicts":
        return way, "", dicts(rng, form)
    separator = {"csv": ",", "semicolon": ";", "tsv": "\t", "bar": "|"}[way]
    content = text_file(rng, form, separator, used)
    name = "t.tsv" if way == "tsv" else rng.choice(["t.csv", "t.csv", "t.txt"])
    if rng.random() < 0.05:
        return way, f"{name}.gz", gzip.compress(content)
    return way, name, content


def generated(seed: int) -> Example:
    """Generate the table of a seed."""
    rng = random.Random(seed)
    name = [*FORMS][seed % len(FORMS)]
    form = FORMS[name](rng)
    used = [*settings(rng, form), *more_columns(rng, form)]
    way, file, content = made(rng, form, used)
    return Example(
        seed, name, way, tuple(used), file, content, form.command, form.arguments,
        form.reading, form.directed, form.named, "\n".join(map(repr, [form.names, *form.rows])),
    )  # fmt: skip
