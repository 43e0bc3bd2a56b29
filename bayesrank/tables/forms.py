"""Forms: the table of forms that a table may have, each with a test of names and cells.

Each form suggests readings of a table: a function, its arguments, and the reason. A reading is only
a suggestion: `look` tries it, and drops it if the function refuses it. New forms are new rows of
`FORMS`.
"""

import re
from collections.abc import Callable, Iterator
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesrank.tables.matches import two_of
from bayesrank.tables.outcomes import (
    CODES,
    codes_of,
    fold_code,
    known_grades,
    meanings_of,
    of_scores,
    winners,
)
from bayesrank.tables.profile import WORDS, Column, Profile, agree, coded, only
from bayesrank.tables.rankings import NOTHING, SUMS, are_weak_orders
from bayesrank.tables.select import ORDINALS, counts_rows, read_places

SIDES = (
    ("home", "away"), ("first", "second"), ("a", "b"), ("1", "2"), ("left", "right"),
    ("white", "black"), ("one", "two"), ("0", "1"), ("home", "visitor"),
    ("team", "opponent"), ("player", "opponent"), ("for", "against"), ("red", "blue"), ("r", "b"),
)  # fmt: skip
WON = (
    ("winner", "loser"), ("chosen", "rejected"), ("preferred", "rejected"), ("better", "worse"),
    ("w", "l"), ("winning", "losing"),
)  # fmt: skip
OTHER = ("ranker", "ranking", "task", "best", "worst", "weight", "about")  # columns without items
FLAGS = frozenset(("0", "1", "x", "true", "false", "yes", "no"))  # marks of items chosen
SCORED = WORDS["score"] | {"label", "preference", "preferred", "prob", "probability"}
BALLOTS = frozenset(
    (
        "ballot",
        "vote",
        "ranking",
        "rank",
        "order",
        "ordering",
        "preference",
        "preferences",
        "pref",
        "prefs",
        "ranked",
    )
)  # names of columns with whole rankings
PLACES = WORDS["rank"] | {"choice", "preference", "pick"}  # names of columns with the items
FOLDS = frozenset(("fold", "folds", "seed", "seeds", "repeat", "replicate", "rep"))
CASES = frozenset(("task", "tasks", "dataset", "benchmark", "case", "problem", "corpus"))
MISTAKES = 0.01  # share of entries that may repeat others
MOST_UNNAMED = 8  # columns that are tried if no name suggests a ranker or an item
MOST_ROLES = 3  # choices of columns that are suggested for one column of numbers
FEW = 3  # most columns that are named one by one
LEAST_LISTS = 0.5  # share of the cells of ballots that have several items
FIT = 0.8  # share of rankings whose ranks must be 1, 2, ...
SIGNS = (">", ",", ";", "|", " ")  # between the items of a ballot


class Reading(NamedTuple):
    """A way to read a table.

    `decided` tells whether names of columns say all that values cannot, such as a direction.
    """

    function: str
    arguments: dict[str, Any]
    why: str
    decided: bool = True


class Form(NamedTuple):
    """A form of table: its name, and the function that suggests readings."""

    name: str
    suggest: Callable[[Profile], Iterator[Reading]]


# Choices


def _tasks(table: Profile) -> Iterator[Reading]:
    """Suggest best-worst tasks, or choices with flags of the item chosen."""
    best, worst = (
        only(c for c in table.once if c.called(role) or (c.words == (role[0],) and _flags(c)))
        for role in ("best", "worst")
    )
    flags = (
        c for c in table.once if "choice" in c.words and {x.casefold() for x in c.labels} <= FLAGS
    )
    best = best or only(c for c in flags if len(c.labels) == 2)
    answers = {label.casefold() for c in (best, worst) if c is not None for label in c.labels}
    rest = [c for c in table.once if c.is_label and c not in (best, worst)]
    ranker = only(c for c in rest if c.called("ranker") and not c.called("task")) or only(
        c for c in rest if c.words in (("id",), ("resp", "id"), ("response", "id"))
    )
    if best is None or ranker is None or (worst is None and not answers <= FLAGS):
        return
    task = only(c for c in rest if c.called("task") and c is not ranker)
    roles = (ranker, task, best, worst)
    named = {"respondent": ranker, "task": task, "best": best, "worst": worst}
    given = {role: c.name for role, c in named.items() if c is not None}
    weight = _times(table)
    if answers <= FLAGS:
        rest = [c for c in rest if c not in roles and not counts_rows(c.name, c.cells)]
        item = only(c for c in rest if c.called("item")) or only(rest)
        if item is not None:
            why = f"{best.name!r} marks the item of {item.name!r} that was chosen"
            yield Reading("read_choices", {**given, "item": item.name, **weight}, why)
        return
    numbered = [c for c in table.once if any(map(str.isdigit, c.words)) and c not in roles]
    items = _in_order([c for c in numbered if c.type in ("text", "whole numbers")])
    labels = {label.casefold() for c in items for label in c.labels}
    by_label = answers <= labels
    by_place = answers <= {*map(str, range(1, len(items) + 1))}
    for positions, fits in ((False, by_label), (True, by_place)):
        if fits and len(items) > 1:
            what = "the position" if positions else "the label"
            why = f"{best.name!r} has {what} of an item in {_span(items)}"
            more = {"positions": True} if positions else {}
            shown = {"item": _columns(items)}
            decided = by_label != by_place
            yield Reading("read_choices", {**given, **shown, **more, **weight}, why, decided)


def _flags(column: Column) -> bool:
    """Whether a column has only flags."""
    return {*map(str.casefold, column.labels)} <= FLAGS


def _survey(table: Profile) -> Iterator[Reading]:
    """Suggest a survey with one column of codes for each item of each task."""
    ranker = only(c for c in table.once if c.words[-2:] in (("response", "id"), ("respondent",)))
    ranker = ranker or only(c for c in table.once if c.names_rows and "id" in c.words)
    found: dict[str, list[Column]] = {}
    for c in table.once:
        split = re.fullmatch(r"([A-Za-z]+)\d*[_.].*?\d+", c.name)
        if split and 0 < len(c.labels) <= 2 and c.n_empty > 0 and c is not ranker:
            found.setdefault(split[1], []).append(c)
    for prefix, columns in found.items():
        codes = {label for c in columns for label in c.labels}
        numbers = [int(n) for n in re.findall(r"\d+", " ".join(c.name for c in columns))]
        if ranker is not None and len(codes) == 2 and len(columns) > 3 and len({*numbers}) > 1:
            why = f"{_span(columns)} have two codes, at most one of each in a task"
            given = {"respondent": ranker.name, "codes": f"{prefix}*"}
            yield Reading("read_choices", given, why, decided=False)


def _counts(table: Profile) -> Iterator[Reading]:
    """Suggest sets of items, with counts of choices."""
    columns = table.columns
    whole = all(c.type in ("whole numbers", "empty") for c in columns)
    empty = any(c.n_empty for c in columns)
    if whole and empty and len(columns) > 2 and not _numbered(columns):
        shown = np.isfinite(np.column_stack([c.numbers for c in columns])).sum(axis=1)
        if shown.min() > 1 and min(np.nanmin(c.numbers) for c in columns if c.labels) >= 0:
            why = "each row has whole numbers, and is empty where an item was not shown"
            yield Reading("read_choices", {"counts": True}, why, decided=False)


# Whole rankings in one row


def _ballots(table: Profile) -> Iterator[Reading]:
    """Suggest a column with whole rankings."""
    if _two_sides(table) or _shares(table):
        return
    if any(c.called("best", "worst") for c in table.once):
        return  # the lists may be the items shown
    places = _named_places(table)
    for column in (c for c in table.once if c not in places):
        sign = ">" if column.nested else _sign(column)
        if sign is None or any("{" in label for label in column.labels[:1]):
            continue
        more = {} if sign in (">", ",") else {"between": sign}
        why = f"cells such as {short(column.labels[0], 30)!r} list items"
        roles = {**_ranker(table, column), **_times(table)}
        decided = bool({*column.words} & BALLOTS) and not table.may_lack_header
        yield Reading("read_rankings", {"ballot": column.name, **more, **roles}, why, decided)


def _sign(column: Column) -> str | None:
    """Find the sign between the items of the lists in a column."""
    for sign in SIGNS if column.type == "text" else ():
        between = f"[{sign}=]"
        cells = column.labels  # lists share items, unlike sentences that come again
        lists = [[x.strip() for x in re.split(between, y) if x.strip()] for y in cells]
        several = [one for one in lists if len(one) > 1]
        items = {item for one in several for item in one}
        alone = {item for one in lists if len(one) == 1 for item in one}
        share = FIT if sign == "," and alone - items else LEAST_LISTS
        if len(several) < share * len(lists) or any(len({*one}) < len(one) for one in several):
            continue
        if sign == " ":  # names also contain blanks: the lists must have nearly the same items
            longest = max(map(len, several), default=0)
            if longest < 3 or len(items) > 1.5 * longest or alone - items:
                continue
        if sign == ">" or sum(map(len, several)) >= 2 * len(items):
            return sign
    return None


def _places(table: Profile) -> Iterator[Reading]:
    """Suggest columns of text that name places, such as choice 1 or first choice."""
    if _two_sides(table) or _shares(table):
        return
    places = _named_places(table)
    if not places or not {*places[0].labels} & {*places[1].labels} or _partly(table, places):
        return
    given = {"wide": "places", **_ranker(table), **_times(table)}
    labels = dict.fromkeys(label for column in places for label in column.labels)
    empty = [label for label in labels if label.casefold() in NOTHING]
    why = f"the names of {_span(places)} number the places"
    codes = {"empty": empty} if empty else {}
    said = all({*c.words} & (PLACES | {*ORDINALS, "st", "nd", "rd", "th"}) for c in places)
    rows = pd.concat([c.cells for c in places], axis=1)
    again = rows.apply(lambda row: row.dropna().duplicated().any(), axis=1).mean()
    if not said and again > 1 - FIT:
        return  # answers that come again, not items
    reading = {**given, "column": _columns(places), **codes}
    yield Reading("read_rankings", reading, why, said and not table.may_lack_header)


def _named_places(table: Profile) -> list[Column]:
    """Find columns of text whose names number the places, best first."""
    texts = [c for c in table.columns if c.type == "text" or (c.type == "empty" and c.words)]
    for found in (
        [c for c in texts if any(map(str.isdecimal, c.words))],
        [c for c in texts if not {*ORDINALS}.isdisjoint(c.words)],
    ):
        if read_places([c.name for c in found]):
            return _in_order(found)
    return []


def _partly(table: Profile, places: list[Column]) -> bool:
    """Whether columns of places may give only part of a ranking, or one ranker's places each."""
    labels = {label for column in places for label in column.labels}
    rest = [c for c in table.once if c not in places and c.labels]
    answers = [c for c in rest if c.called("best", "worst")]
    more = any(c.is_number for c in answers) or any({*c.labels} <= labels for c in rest)
    turned = all(
        {word for word in c.words if not word.isdecimal()} <= WORDS["ranker"] and c.words[1:]
        for c in places
    )
    return more or turned


def _items(table: Profile) -> Iterator[Reading]:
    """Suggest one row per ranking, and one column of numbers per item."""
    if _two_sides(table):
        return
    known = {**_ranker(table), **_times(table)}
    rest = [c for c in table.columns if c.name not in known.values()]
    numbers = [c for c in rest if c.is_number and not counts_rows(c.name, c.cells)]
    numbers = _without_others(numbers)
    texts = [c for c in rest if c.type == "text" and c.is_label and not c.called("ranking")]
    alone = len(texts) == 1 and texts[0].names_rows and not texts[0].called("item")
    if not known.get("ranker") and alone:
        known["ranker"] = texts.pop().name
    named = [c for c in table.once if c.name == known.get("ranker")]
    mixed = texts and not (named and named[0].names_rows)
    left = [c for c in rest if c not in numbers and c.is_label and not c.called("ranking", "about")]
    mixed = mixed or bool(named and not named[0].names_rows and left)
    mixed = mixed or any(c.called("item") for c in left)
    numbers = _one_question(numbers)
    answers = any(c.called("outcome", "best", "worst") for c in rest)
    if len(numbers) < 2 or mixed or answers or _is_square(table):
        return
    yield from _wide(table, numbers, known, "one column per item", axis=0)


def _one_question(numbers: list[Column]) -> list[Column]:
    """Keep the columns of one question, such as Q5_1 to Q5_4, if there is one among others."""
    stems: dict[str, list[Column]] = {}
    for c in numbers:
        stems.setdefault(re.sub(r"[\s_.]?\d+$", "", c.name), []).append(c)
    series = [found for found in stems.values() if len(found) > FEW - 1]
    return series[0] if len(series) == 1 and len(series[0]) > 2 else numbers


def _rows_of_items(table: Profile) -> Iterator[Reading]:
    """Suggest one row per item, and one column of numbers per ranker."""
    items = [c for c in table.once if c.type == "text" and (c.names_rows or c.called("item"))]
    first = (c for c in items[:1] if c.names_rows and c is table.columns[0])
    item = only(c for c in items if c.called("item")) or only(items) or only(first)
    if _two_sides(table):
        return
    numbers = [c for c in table.columns if c.is_number and not counts_rows(c.name, c.cells)]
    judged = [c for c in numbers if c.called("ranker")]
    series = [c for c in numbers if read_places([x.name for x in numbers if _stem(x) == _stem(c)])]
    columns = judged if len(judged) > 1 else series if len(series) > 1 else numbers
    columns = [c for c in columns if not c.called("about", "weight")]
    unnamed = not (len(judged) > 1 or len(series) > 1)
    if unnamed:  # statistics of an item, such as its points or its number
        stated = ("rank", "rating", "result", "weight", "when", "standing", "other", "score")
        alike = any(all(c.called(kind) for c in columns) for kind in ("rank", "rating", "result"))
        if any(c.called(*stated) for c in columns) and not alike:
            return
    if item is None or not item.names_rows or len(columns) < 2 or _is_square(table):
        return
    if sum(bool(c.words) and {*c.words} <= WORDS["standing"] for c in columns) > 2:
        return  # a table of a league: its columns are not rankers
    if unnamed and not item.called("item"):
        return
    yield from _wide(table, columns, {"item": item.name}, "one row per item", axis=1)


def _wide(
    table: Profile, numbers: list[Column], known: dict[str, str], what: str, *, axis: int
) -> Iterator[Reading]:
    """Say what the numbers of a wide table may be."""
    all_others = len(numbers) + len(known) == len(table.columns)
    values = np.column_stack([c.numbers for c in numbers])
    values = values if axis == 0 else values.T
    kinds = [kind for kind in ("rank", "rating", "result") if all(c.called(kind) for c in numbers)]
    if all(c.type == "times" for c in numbers):
        kinds = ["result"]
    ranked = _are_wide_ranks(values)
    may_be_counts = any(_counts(table))
    decided = len(kinds) == 1 and (kinds[0] == "rank") == ranked
    if not decided:
        kinds = ["rank", "rating"] if ranked else ["rating", "result"]
    for kind in kinds:
        says = {"rank": "1 is best", "rating": "high is good", "result": "low is good"}[kind]
        named = " and their names say so" if decided else ""
        if kind == "rating" and may_be_counts:
            named = " (numbers of choices are not ratings)"
        why = f"{what}: {_span(numbers)}, if {says}{named}"
        column = {} if all_others else {"column": _columns(numbers)}
        given = {"wide": f"{kind}s", **known, **column}
        yield Reading("read_rankings", given, why, decided)


def _are_wide_ranks(values: NDArray[np.float64]) -> bool:
    """Whether most rows are ranks 1, 2, ..., perhaps shared."""
    several = np.isfinite(values).sum(axis=1) > 1
    if not several.any() or np.nanmin(values) < 1:
        return False
    return bool(are_weak_orders(values[several]).mean() > FIT)


# Scores of items in cases


def _scores(table: Profile) -> Iterator[Reading]:
    """Suggest scores of items in cases with folds or seeds, which no ranker tells apart."""
    fold = only(c for c in table.once if {*c.words} & FOLDS and c.is_label)
    case = only(c for c in table.once if {*c.words} & CASES and c.is_label)
    item = only(c for c in table.once if c.called("item") and c.is_label and c is not case)
    numbers = [c for c in table.once if c.is_number and c not in (fold, case, item)]
    score = only(numbers) or only(c for c in numbers if c.called("rating", "result", "score"))
    if fold is None or case is None or item is None or score is None:
        return
    given = {"item": item.name, "case": case.name, "score": score.name, "fold": fold.name}
    why = f"a score per {item.name}, {case.name} and {fold.name}; {score.name!r}: high is good"
    yield Reading("read_scores", given, why, score.is_plain("rating"))


# One row per ranker and item


def _entries(table: Profile) -> Iterator[Reading]:
    """Suggest one row per ranker and item, with a column of numbers."""
    if _two_sides(table):
        return
    named = [c for c in table.once if c.is_number and c.called("rank", "rating", "result")]
    named = named or [c for c in table.once if c.type == "times"]
    plain = [c for c in named if len(c.words) == 1] or named
    known = ("item", "by", "when", *OTHER)
    unnamed = [c for c in table.once if c.is_number and not c.called(*known)]
    unnamed = [c for c in unnamed if not counts_rows(c.name, c.cells)]
    for value in plain or unnamed[:MOST_ROLES]:
        roles = _roles(table, value)
        for columns in roles[:MOST_ROLES]:
            ranker, *within, item = columns
            roles_named = ranker.called("ranker") and item.called("item")
            if not plain and len(unnamed) > 1 and not roles_named:
                continue  # neither the roles nor the numbers have a name that says something
            kinds = [kind for kind in ("rank", "result", "rating") if value.called(kind)]
            kinds = kinds or (["result"] if value.type == "times" else [])
            ranked = _are_ranks(value, coded(ranker, *within))
            decided = len(kinds) == 1 and (kinds[0] == "rank") == ranked
            decided = decided and (value.type == "times" or value.is_plain(kinds[0]))
            labels = {label.casefold() for c in columns for label in c.labels}
            decided = decided and labels.isdisjoint(SUMS)
            if not decided:
                kinds = [*kinds, *(["rank", "rating"] if ranked else ["rating", "result"])]
            for kind in dict.fromkeys(kinds):
                given: dict[str, Any] = {"ranker": ranker.name, "item": item.name, kind: value.name}
                if within:
                    given["ranking"] = [c.name for c in within]
                    given |= {"category": within[0].name} if within[0].called("by") else {}
                says = {"rank": "1 is best", "rating": "high is good", "result": "low is good"}
                why = f"one row per {ranker.name} and {item.name}; {value.name!r}: {says[kind]}"
                yield Reading("read_rankings", given, why, decided and len(roles) == 1)


def _roles(table: Profile, value: Column) -> list[list[Column]]:
    """Find columns of rankers and items for a column of numbers, those with the best names."""
    values = [c for c in table.once if c.called("rank", "rating", "result") and c.is_number]
    left = [c for c in table.once if c not in (value, *values) and not c.called("about")]
    labels = [
        c for c in left
        if (c.is_label and len(c.labels) > 1) or (c.called("ranker", "item") and c.labels)
    ]  # fmt: skip
    rankers = [c for c in labels if c.called("ranker")] or labels[:MOST_UNNAMED]
    items = [c for c in labels if c.called("item")] or labels[:MOST_UNNAMED]
    within: list[tuple[Column, ...]] = [(), *((c,) for c in labels if c.called("ranking"))]
    found: dict[tuple[int, ...], dict[tuple[frozenset[str], str], list[Column]]] = {}
    for ranker, between, item in product(rankers, within, items):
        groups, named = [ranker, *between], ranker.called("ranker") + item.called("item")
        turned = ranker.called("item") or item.type == "dates" or item.names_rows
        turned = turned or (item.called("ranker") and not item.called("item"))
        names = {c.name for c in (*groups, item)}
        if turned or len(names) < len(groups) + 1:
            continue
        ranking = coded(*groups)
        large = table.n_rows >= 2 * len(np.unique(ranking))
        distinct = np.unique(ranking * (2 + len(item.labels)) + item.index)
        if not large or len(distinct) < table.n_rows * (1 - MISTAKES):
            continue
        plain = item.type == "whole numbers" and "id" not in item.words
        alike = found.setdefault((len(groups), -named, plain), {})
        key = (frozenset(c.name for c in groups), item.name)
        alike.setdefault(key, [*groups, item])
    return list(found[min(found)].values()) if found else []


def _are_ranks(value: Column, ranking: NDArray[np.int64]) -> bool:
    """Whether numbers are 1, 2, ... within rankings; some cells may be codes."""
    known = ~np.isnan(value.numbers)
    numbers = pd.Series(value.numbers[known])
    table = numbers.groupby(ranking[known]).agg(["min", "max", "count", "nunique"])
    fits = (table["min"] == 1) & (table["nunique"] >= FIT * table["count"])
    fits &= (table["max"] <= 1.5 * table["count"] + 1) & (table["count"] > 1)
    return bool(len(table)) and bool((numbers % 1 == 0).all() and fits.mean() > FIT)


# Matches


def _matches(table: Profile) -> Iterator[Reading]:
    """Suggest two items in each row, and who won."""
    sides = _sides(table, WON)
    if sides is not None:
        if {"tie", "draw"} & {*sides[0].words}:
            return  # such as winner/tie: no column says which matches are ties
        given = {"winner": sides[0].name, "loser": sides[1].name}
        why = f"{sides[0].name!r} beat {sides[1].name!r}"
        decided = _recur(*sides) and not table.may_lack_header
        yield Reading("read_matches", {**given, **_beside(table, sides)}, why, decided)
        return
    named = _sides(table, SIDES)
    sides = named or _alike(table)
    if sides is None:
        return
    given = {"first": sides[0].name, "second": sides[1].name}
    neutral = only(c for c in table.once if "neutral" in c.words and c.type == "yes or no")
    more = {} if neutral is None else {"neutral": neutral.name}
    for results, why in _results(table, sides):
        plain = results.get("outcome") is None or any(
            c.is_plain("outcome")
            or {*c.words} <= WORDS["score"] | {"final"}
            or {*c.words} <= WORDS["outcome"] | {*sides[0].words, *sides[1].words}
            for c in table.once if c.name == results["outcome"]
        )  # fmt: skip
        decided = named is not None and plain and not table.may_lack_header
        reading = {**given, **results, **more, **_beside(table, sides)}
        yield Reading("read_matches", reading, why, decided)


def _recur(one: Column, other: Column) -> bool:
    """Whether some label of two columns occurs in several rows, as items do."""
    return len({*one.labels} | {*other.labels}) < len(one.text) + len(other.text)


def _beside(table: Profile, sides: tuple[Column, Column]) -> dict[str, str]:
    """Find the column of counts, and the one of judges."""
    judge = only(
        c for c in table.once
        if c.called("judge") and c.is_label and c not in sides and not c.names_rows
    )  # fmt: skip
    found = {} if judge is None or judge.called("item") else {"judge": judge.name}
    return {**_weight(table, "count"), **found}


def _sides(table: Profile, markers: tuple[tuple[str, str], ...]) -> tuple[Column, Column] | None:
    """Find the columns of the two items by their names."""
    found: dict[int, list[tuple[Column, Column]]] = {}
    for one, other, rest in table.pairs(markers):
        ids = one.is_label and other.is_label and "id" in rest
        texts = one.type == other.type == "text"
        whole = one.n_empty == other.n_empty
        if (ids or texts) and whole and not agree(one, other):
            order = 3 if ids else 0 if not rest else 1 if rest <= WORDS["plain"] else 2
            order += 0 if _recur(one, other) else 4  # texts of answers are not items
            found.setdefault(order, []).append((one, other))
    best = found[min(found)] if found else []
    alike = best and all(
        one.labels == best[0][0].labels and other.labels == best[0][1].labels for one, other in best
    )
    return best[0] if alike else None


def _two_sides(table: Profile) -> bool:
    """Whether the names of two columns suggest the items of matches; rank1 and rank2 do not."""
    sides = _sides(table, SIDES)
    return sides is not None and not PLACES.intersection(sides[0].words)


def _alike(table: Profile) -> tuple[Column, Column] | None:
    """Find the only two columns of text that share most labels and never agree in a row."""

    def enough(one: Column, other: Column) -> bool:
        least = max(2, min(len(one.labels), len(other.labels)) / 2)
        return len({*one.labels} & {*other.labels}) >= least and not agree(one, other)

    texts = [c for c in table.once if c.type == "text" and c.is_label and "vs" not in c.words]
    texts = texts[: 4 * MOST_UNNAMED]
    return only(pair for pair in combinations(texts, 2) if enough(*pair))


def _results(table: Profile, sides: tuple[Column, Column]) -> Iterator[tuple[dict[str, str], str]]:
    """Find columns of outcomes, and those of scores."""
    items = pd.DataFrame({"first": sides[0].text, "second": sides[1].text})
    both = (sides[0].name, sides[1].name)
    found, named_too, in_cells = list[Column](), list[Column](), list[Column]()
    for column in (c for c in table.once if c not in sides and c.type not in ("list", "empty")):
        coded_well = len(column.labels) > 1 and _are_codes(column, both)
        usual = column.called("outcome") or column.type == "text"
        scored = column.called("outcome", "score")
        named = winners(column.text, items.reindex(column.text.index)) is not None
        # in a cell such as 2-1 the first column has the first number
        scored &= sides[0].number < sides[1].number and all(map(of_scores, column.labels))
        if column.called("other"):
            continue  # who won the toss, or the first half
        if (coded_well and usual) or scored or column.words in (("winner",), ("outcome",)):
            found.append(column)
        elif (
            len(column.labels) > 1
            and sides[0].number < sides[1].number
            and all(map(of_scores, column.labels))
        ):
            in_cells.append(column)
        elif named:
            named_too.append(column)
    found = [
        c for c in [*found, *named_too] if c.called("outcome") and not c.called("worst")
    ] or found
    outcome = only([c for c in found if len(c.words) == 1] or found)
    scored_sides = [
        (one, other)
        for one, other, rest in table.pairs((*SIDES, *WON))
        if "numbers" in one.type and "numbers" in other.type and rest & SCORED
    ]
    least = min((len(one.words) for one, _ in scored_sides), default=0)  # not the half-time score
    scores = only(pair for pair in scored_sides if len(pair[0].words) == least)
    wins = only(
        (one, other)
        for one, other, rest in table.pairs(SIDES)
        if one.type == other.type == "whole numbers" and rest & {"wins", "won", "win"}
    )
    graded = only(
        c for c in table.once
        if c not in sides and c.type == "text" and len(c.labels) > 1 and known_grades(c.labels)
    )  # fmt: skip
    if graded is not None and outcome in (None, graded):
        yield {"grade": graded.name}, f"{graded.name!r} grades {_span([*sides])}"
    elif outcome is not None:
        yield {"outcome": outcome.name}, f"{outcome.name!r} says who of {_span([*sides])} won"
    elif wins is not None:
        tied = only(c for c in table.once if {*c.words} & {"ties", "draws"})
        names = {"wins_a": wins[0].name, "wins_b": wins[1].name}
        names |= {} if tied is None else {"ties": tied.name}
        yield names, f"{_span([*wins])} count the wins of both"
    elif scores is None and in_cells:
        for column in in_cells:
            yield {"outcome": column.name}, f"{column.name!r} has the scores of {_span([*sides])}"
    elif scores is None and (winner := only(named_too)) is not None:
        yield {"outcome": winner.name}, f"{winner.name!r} names one of {_span([*sides])}"
    elif scores is not None:
        names = {"score_a": scores[0].name, "score_b": scores[1].name}
        yield names, f"the higher of {_span([*scores])} won"


def _are_codes(column: Column, sides: tuple[str, str]) -> bool:
    """Whether most labels of a column are codes of outcomes."""
    if codes_of(column.labels, column.name, sides) is not None:
        return True
    known = max(sum(fold_code(x) in meanings_of(codes) for x in column.labels) for codes in CODES)
    return known > 1 and known >= len(column.labels) / 2


def _matrix(table: Profile) -> Iterator[Reading]:
    """Suggest a square matrix of wins."""
    if _is_square(table):
        why = "rows and columns have the same names, if the row beat the column"
        yield Reading("read_matches", {"matrix": True}, why, decided=False)


def _is_square(table: Profile) -> bool:
    """Whether rows and columns have the same names, or the diagonal is empty or zero."""
    if any(c.nested for c in table.columns):
        return False
    texts = [c for c in table.columns if c.type == "text"]
    cells = [c for c in table.columns if c not in texts]
    n = len(cells)
    if table.n_rows != n or n < 2 or len(texts) > 1:
        return False
    if texts and {*texts[0].labels} != {c.name for c in cells}:
        return False
    order = [c.name for c in cells] if not texts else list(texts[0].cells)
    names = [c.name for c in cells]
    diagonal = [cells[names.index(name)].numbers[k] for k, name in enumerate(order)]
    clear = all(np.isnan(x) or x == 0 for x in diagonal)
    return clear and all(c.type in ("whole numbers", "numbers and codes", "empty") for c in cells)


def _pair_columns(table: Profile) -> Iterator[Reading]:
    """Suggest one column per pair of items."""
    found: dict[str, list[Column]] = {}
    for c in table.once:
        if (name := re.fullmatch(r"([A-Za-z]+)_?(\d)_?(\d)", c.name)) and name[2] != name[3]:
            found.setdefault(f"{name[1]}*", []).append(c)
        elif re.fullmatch(r".+[\s_.\-]vs[\s_.\-]+.+", c.name):
            found.setdefault("*vs*", []).append(c)
    for pattern, columns in found.items():
        pairs = [two_of(c.name) for c in columns]
        items = {item for pair in pairs for item in pair}
        labels = {label for c in columns for label in c.labels}
        whole = len(columns) == len(items) * (len(items) - 1) // 2 > 1
        coded_well = codes_of([*labels], "", ("first", "second")) is not None
        if whole and (coded_well or labels & items):
            why = f"the names of {_span(columns)} are pairs of {len(items)} items"
            judge = only(c for c in table.once if c.names_rows and c not in columns)
            given: dict[str, Any] = {"pair": pattern}
            given |= {} if judge is None else {"judge": judge.name}
            yield Reading("read_matches", given, why, decided=False)


# Helpers


def _ranker(table: Profile, ballot: Column | None = None) -> dict[str, str]:
    """Find the column that names the ranker of each row; a ranker may have several rows."""
    ids = [c for c in table.once if c.words == ("response", "id") and c.names_rows]
    labels = [c for c in table.once if c.called("ranker") and c.is_label and c is not ballot]
    labels = ids or labels
    # a column of scores may be called "user score"
    ranker = only(
        c for c in labels
        if c.names_rows or not (c.n_empty or {*c.words} - {"id"} - WORDS["ranker"])
    )  # fmt: skip
    return {} if ranker is None else {"ranker": ranker.name}


def _times(table: Profile) -> dict[str, str]:
    """Find the column that counts rankings or, if it is called so, has their sampling weights."""
    found = _weight(table, "weight")
    for column in table.once:
        if column.name in found.values() and not {"weight", "weights"} & {*column.words}:
            return {"count": column.name}
    return found


def _weight(table: Profile, option: str) -> dict[str, str]:
    """Find the column of weights or counts."""
    whole = [c for c in table.once if c.type == "whole numbers" and np.nanmin(c.numbers) >= 0]
    said = WORDS["weight"] | ({"times", "wins", "games", "matches"} if option == "count" else set())
    words = said | WORDS["count"]
    weight = only(c for c in whole if {*c.words} <= words and said.intersection(c.words))
    return {} if weight is None else {option: weight.name}


def _shares(table: Profile) -> bool:
    """Whether a column may give shares of voters, or counts of them by another name."""
    weights = [c for c in table.columns if "numbers" in c.type and not c.called("ranker")]
    weights = [c for c in weights if c.called("share") or c.words[-1:] == ("weight",)]
    known = _times(table).values()
    return any(c.name not in known and not counts_rows(c.name, c.cells) for c in weights)


def _without_others(columns: list[Column]) -> list[Column]:
    """Leave out columns whose names say that they contain no items."""
    if not columns:
        return []
    shared = frozenset.intersection(*(frozenset(c.words) for c in columns))
    other = frozenset().union(*(WORDS[role] for role in OTHER)) - (shared - WORDS["ranker"])
    kinds = [kind for kind in ("rank", "rating", "result") if any(c.called(kind) for c in columns)]
    some = [kind for kind in kinds if not all(c.called(kind) for c in columns)]
    return [
        c for c in columns
        if other.isdisjoint(c.words) and c.name.casefold() not in SUMS
        and not any(c.called(kind) for kind in some)
    ]  # fmt: skip


def _numbered(columns: list[Column]) -> bool:
    return any(counts_rows(c.name, c.cells) for c in columns)


def _stem(column: Column) -> tuple[str, ...]:
    return tuple(word for word in column.words if not word.isdecimal())


def _in_order(columns: list[Column]) -> list[Column]:
    """Sort columns by the places in their names, if they have places."""
    places = read_places([c.name for c in columns]) or range(len(columns))
    return [columns[n] for n in np.argsort(places, kind="stable")]


def _columns(found: list[Column]) -> list[str] | str:
    """Name columns, or give the range of their numbers if there are many."""
    numbers = [column.number for column in found]
    in_turn = numbers == list(range(numbers[0], numbers[-1] + 1))
    names = [column.name for column in found]
    if in_turn and (len(found) > FEW or len({*names}) < len(names)) and not _are_digits(names):
        return f"{numbers[0]}-{numbers[-1]}"
    return names


def _are_digits(names: list[str]) -> bool:
    return any(name.isdigit() for name in names)


def _span(columns: list[Column]) -> str:
    """Name the first and the last of some columns."""
    first, last = columns[0].name, columns[-1].name
    return f"{first!r} and {last!r}" if len(columns) == 2 else f"{first!r} to {last!r}"


def short(text: str, most: int) -> str:
    """Shorten a text to one line."""
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 3]}..."


FORMS = (
    Form("best-worst tasks", _tasks),
    Form("survey of best and worst", _survey),
    Form("ballots", _ballots),
    Form("matches", _matches),
    Form("matrix of wins", _matrix),
    Form("pairs in columns", _pair_columns),
    Form("places", _places),
    Form("scores with folds", _scores),
    Form("one row per ranker and item", _entries),
    Form("one row per item", _rows_of_items),
    Form("counts of choices", _counts),
    Form("one row per ranking", _items),
)
