"""Orders: files of rankings that have no columns.

These are the files of PrefLib, the ballots of an election in a .blt file, and the Condorcet
election format.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from bayesrank.data.read.formats import suffix_of
from bayesrank.data.read.labels import counted, label_repr, quoted
from bayesrank.data.read.text import existing, read_lines

PREFLIB = (".soc", ".soi", ".toc", ".toi")
ORDERS = (*PREFLIB, ".cat", ".blt", ".cvotes")

type Ordering = list[str | frozenset[str]]


class FileOrders(NamedTuple):
    """Orders of alternatives, best first, and their numbers of voters."""

    alternatives: list[str]
    orderings: list[Ordering]
    voters: list[int]
    rest: Literal["items"] | tuple[()] | None = None  # what the format says of omitted items
    notes: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()  # of a .cat file, in its order
    weights: list[int] | None = None  # of the votes of each order


def read_orders(path: str | Path, name: str | None = None, suffix: str | None = None) -> FileOrders:
    """Read a file of orders; messages call it `name`."""
    path = existing(path)
    name = name or str(path)
    suffix = suffix_of(path) if suffix is None else suffix
    if suffix not in ORDERS:
        raise ValueError(
            f"{name} is not a supported file of orders; expected .soc, .soi, .toc, .toi, .cat, "
            ".blt or .cvotes."
        )
    lines = read_lines(path, name)
    if suffix == ".blt":
        return _election(lines, name)
    return _condorcet(lines, name) if suffix == ".cvotes" else _preflib(lines, name)


def read_preflib(path: str | Path) -> FileOrders:
    """Read a file of orders for `Rankings.from_preflib`."""
    path = existing(path)
    if suffix_of(path) not in (*PREFLIB, ".blt"):
        raise ValueError(
            f"{path} is not a supported PrefLib file; expected .soc, .soi, .toc or .toi. Read "
            "other files with br.read_rankings."
        )
    return read_orders(path)


# PrefLib

# Numbers have at most 15 digits, so that a float holds them exactly
_ALTERNATIVE = re.compile(r"#\s*ALTERNATIVE NAME (\d{1,15}):\s*(.*?)\s*$")
_CATEGORY = re.compile(r"#\s*CATEGORY NAME \d{1,15}:\s*(.*?)\s*$")
_VOTERS = re.compile(r"#\s*NUMBER VOTERS:\s*(\d{1,15})\s*$")
_ORDER = re.compile(r"(\d{1,15})\s*:\s*(\S.*)$")
_BLOCK = re.compile(r"\s*(?:\{((?:\s*\d{1,15}\s*(?:,|(?=\})))*\s*)\}|(\d{1,15}))\s*(?:,|$)")


def _preflib(lines: list[str], name: str) -> FileOrders:
    """Read orders or categories of numbered alternatives."""
    names: dict[int, str] = {}
    categories: list[str] = []
    orderings: list[Ordering] = []
    voters: list[int] = []
    announced = None
    for number, line in enumerate(lines, start=1):
        if match := _ALTERNATIVE.match(line):
            alternative = int(match[1])
            if alternative in names:
                raise ValueError(f"{name}, line {number} names alternative {match[1]} again.")
            if match[2] in names.values():
                raise ValueError(
                    f"{name}, line {number} repeats the name {match[2]!r} of another alternative: "
                    "rename one of the two."
                )
            names[alternative] = match[2]
        elif match := _CATEGORY.match(line):
            categories.append(match[1])
        elif match := _VOTERS.match(line):
            announced = int(match[1])
        elif match := _ORDER.match(line):
            where = f"{name}, line {number}"
            blocks = [*_blocks(match[2], names, where, empty=bool(categories))]
            if categories and len(blocks) != len(categories):
                raise ValueError(
                    f"{where} must have a block for each of the {len(categories)} categories; got "
                    f"{label_repr(match[2])}."
                )
            voters.append(int(match[1]))
            orderings.append([block for block in blocks if block])
        elif line.strip() and not line.startswith("#"):
            raise ValueError(
                f"{name}, line {number} must read 'count: 1,2,{{3,4}}'; got {label_repr(line)}. "
                f"A file without '# ALTERNATIVE NAME' lines has the old format; download the "
                f"new format from PrefLib."
            )
    if not orderings:
        raise ValueError(f"{name} contains no orders.")
    if announced is not None and announced != sum(voters):
        raise ValueError(
            f"{name} announces {counted(announced, 'voter')} but contains {sum(voters)}. It may "
            f"be truncated; download it again."
        )
    kept = [n for n, order in enumerate(orderings) if order]
    return FileOrders(
        [*names.values()],
        [orderings[n] for n in kept],
        [voters[n] for n in kept],
        notes=_blank_ballots(sum(voters) - sum(voters[n] for n in kept)),
        categories=tuple(categories),
    )


def _blocks(
    text: str, names: dict[int, str], where: str, *, empty: bool
) -> Iterator[str | frozenset[str]]:
    """Parse ``1,2,{3,4}``."""
    seen: set[int] = set()
    at = 0
    while at < len(text):
        match = _BLOCK.match(text, at)
        if match is None:
            raise ValueError(f"{where} is not an order such as 1,2,{{3,4}}: {label_repr(text)}.")
        numbers = [int(n) for n in (match[1] or match[2] or "").split(",") if n.strip()]
        if not numbers and not empty:
            raise ValueError(f"{where} has an empty block: {label_repr(text)}.")
        for n in numbers:
            if n not in names:
                raise ValueError(f"{where} uses alternative {n}, which the header does not name.")
        if len(seen | set(numbers)) < len(seen) + len(numbers):
            again = next(n for n in numbers if n in seen or numbers.count(n) > 1)
            raise ValueError(f"{where} uses alternative {again} twice.")
        seen |= set(numbers)
        yield names[numbers[0]] if match[2] else frozenset(names[n] for n in numbers)
        at = match.end()


def _blank_ballots(n: int) -> tuple[str, ...]:
    return (f"Ballots that name no candidate are left out: {n:,}.",) if n else ()


# Ballots of an election

_BALLOT = re.compile(r"(?:\([^)]*\)\s*)?(\d{1,15})((?:\s+(?:-|\d{1,15}(?:=\d{1,15})*))*)\s+0")
_QUOTED = re.compile(r'"((?:[^"]|"")*)"\s*(?:#.*)?')


def _election(lines: list[str], name: str) -> FileOrders:
    """Read the ballots of an election, in the format of OpenSTV; withdrawn candidates are removed.

    The first line has the numbers of candidates and seats. In the ballot ``3 2 1=4 0``, three
    voters prefer 2 to 1 and 4. A line with 0 ends the ballots, and the names follow.
    """
    rows = []
    for n, text in enumerate(lines, start=1):
        line = text.strip() if text.lstrip().startswith('"') else text.split("#")[0].strip()
        if line:
            rows.append((n, line))
    sizes = re.fullmatch(r"(\d{1,9})\s+\d{1,9}", rows[0][1]) if rows else None
    end = next((k for k, (_, line) in enumerate(rows) if line == "0"), None)
    if sizes is None or end is None:
        raise ValueError(
            f"{name} is not a .blt file: expected the numbers of candidates and seats in its first "
            "line, and a line with 0 after the ballots."
        )
    names = [_candidate(line) for _, line in rows[end + 1 :]][: int(sizes[1])]
    if len(set(names)) < int(sizes[1]):
        raise ValueError(
            f"{name} must name {counted(int(sizes[1]), 'candidate')} after its ballots, each name "
            f"once; got {counted(len(set(names)), 'name')}."
        )
    gone = {int(n) for _, line in rows[1:end] if line[0] == "-" for n in re.findall(r"\d+", line)}
    orderings: list[Ordering] = []
    voters: list[int] = []
    n_blank = 0
    for number, line in rows[1:end]:
        if line[0] == "-":
            continue
        match = _BALLOT.fullmatch(line)
        if match is None:
            raise ValueError(
                f"{name}, line {number} must read 'voters first second ... 0', such as 3 2 1 4 0; "
                f"got {label_repr(line)}."
            )
        chosen = [[int(n) for n in block.split("=")] for block in match[2].split() if block != "-"]
        named = [n for block in chosen for n in block]
        if len(set(named)) < len(named) or not all(1 <= n <= len(names) for n in named):
            raise ValueError(
                f"{name}, line {number} must name each candidate from 1 to {len(names)} at most "
                f"once; got {label_repr(line)}."
            )
        left = [[names[n - 1] for n in block if n not in gone] for block in chosen]
        order = [block[0] if len(block) == 1 else frozenset(block) for block in left if block]
        if order:
            orderings.append(order)
            voters.append(int(match[1]))
        else:
            n_blank += int(match[1])
    if not orderings:
        raise ValueError(f"{name} contains no ballots with a candidate.")
    notes = _blank_ballots(n_blank)
    if left_out := [names[n - 1] for n in sorted(gone) if 1 <= n <= len(names)]:
        notes = (f"Withdrawn candidates are out of every ballot: {quoted(left_out)}.", *notes)
    alternatives = [label for n, label in enumerate(names, start=1) if n not in gone]
    return FileOrders(alternatives, orderings, voters, notes=notes)


def _candidate(line: str) -> str:
    """Read a name; a quotation mark inside a quoted name is doubled."""
    if match := _QUOTED.fullmatch(line):
        return match[1].replace('""', '"')
    return line[1:-1] if line[0] in "\"'" and line[-1] == line[0] and line[1:] else line


# Condorcet election format

_VOTE = re.compile(r"(.*?)\s*(?:\^\s*(\d{1,15})\s*)?(?:\*\s*(\d{1,15})\s*)?")
_NO_CANDIDATE = re.compile(r"[;,/*^<|]")
_BLANK = ("/empty_ranking/", "/empty/")


def _condorcet(lines: list[str], name: str) -> FileOrders:
    """Read votes such as ``tag || a > b = c ^7 * 42``: 42 votes of weight 7.

    Parameters such as ``#/Candidates: a ; b ; c`` come first. Omitted candidates share the last
    rank unless ``#/Implicit Ranking: false``. Weights count if ``#/Weight Allowed: true``.
    """
    parameters: dict[str, str] = {}
    votes: list[tuple[list[list[str]], int, int]] = []
    n_blank = 0
    for number, line in enumerate(lines, start=1):
        if line.startswith("#/"):
            key, _, value = line[2:].partition(":")
            parameters[key.strip().casefold()] = value.strip()
            continue
        text = line.split("#")[0].strip()
        if not text:
            continue
        match = _VOTE.fullmatch(text.partition("||")[2].strip() if "||" in text else text)
        ranking = match[1] if match else ""
        weight, n = (int(match[k] or 1) if match else 0 for k in (2, 3))
        if ranking.casefold() in _BLANK:
            n_blank += n
            continue
        blocks = [[label.strip() for label in rank.split("=")] for rank in ranking.split(">")]
        named = [label for block in blocks for label in block]
        if not all(named) or any(map(_NO_CANDIDATE.search, named)) or not weight or not n:
            raise ValueError(
                f"{name}, line {number} must read like 'a > b = c ^7 * 42', with positive numbers; "
                f"got {label_repr(line)}."
            )
        if len(set(named)) < len(named):
            again = next(label for label in named if named.count(label) > 1)
            raise ValueError(f"{name}, line {number} names {label_repr(again)} twice.")
        votes.append((blocks, n, weight))
    if not votes:
        raise ValueError(f"{name} contains no votes with a candidate.")
    return _counted_votes(votes, parameters, name, n_blank)


def _counted_votes(
    votes: list[tuple[list[list[str]], int, int]],
    parameters: dict[str, str],
    name: str,
    n_blank: int,
) -> FileOrders:
    """Apply the parameters of a file to its votes."""
    notes = []
    implicit = _is_true(parameters, "implicit ranking", name, default=True)
    weighted = _is_true(parameters, "weight allowed", name, default=False)
    listed = [label.strip() for label in parameters.get("candidates", "").split(";")]
    candidates = [label for label in listed if label]
    if len(set(candidates)) < len(candidates):
        raise ValueError(f"{name} lists a candidate twice: {quoted(candidates, 20)}.")
    if not candidates:
        candidates = [*dict.fromkeys(x for blocks, *_ in votes for block in blocks for x in block)]
    known, strangers = {*candidates}, dict[str, None]()
    orderings: list[Ordering] = []
    voters: list[int] = []
    weights: list[int] = []
    for blocks, n, weight in votes:
        strangers |= dict.fromkeys(x for block in blocks for x in block if x not in known)
        left = [[x for x in block if x in known] for block in blocks]
        order = [block[0] if len(block) == 1 else frozenset(block) for block in left if block]
        if order:
            orderings.append(order)
            voters.append(n)
            weights.append(weight)
        else:
            n_blank += n
    if strangers:
        notes.append(f"Names that are not among the candidates are left out: {quoted(strangers)}.")
    if any(weight > 1 for *_, weight in votes):
        notes.append(
            "The weight of a vote multiplies its log-likelihood; it is not a number of votes."
            if weighted
            else "Weights of votes are ignored, as the file does not allow them."
        )
    if not orderings:
        raise ValueError(f"{name} contains no votes with a candidate.")
    notes += _blank_ballots(n_blank)
    rest: Literal["items"] | tuple[()] = "items" if implicit else ()
    found = FileOrders(candidates, orderings, voters, rest, tuple(notes))
    return found._replace(weights=weights) if weighted else found


def _is_true(parameters: dict[str, str], key: str, name: str, *, default: bool) -> bool:
    value = parameters.get(key, str(default)).casefold()
    if value not in ("true", "false"):
        raise ValueError(f"{name} must say true or false for '{key}'; got {value!r}.")
    return value == "true"
