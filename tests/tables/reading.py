"""Read a table by the functions and by the commands, and write what was read as text.

Rankings are written as the blocks of each ranker, best first: ``ann: ale > bock = cider``, with the
category in brackets and the count in parentheses. Matches are written as the pair with its wins,
losses and, if there are any, ties: ``ale-bock 2:0:1``.
"""

import math
import warnings
from collections import Counter
from typing import NamedTuple

from click.testing import CliRunner

import bayesrank as br
from bayesrank import cli
from bayesrank.cli import commands
from bayesrank.data import Rankings
from bayesrank.data.derive.layout import UninformativeRankingWarning

FUNCTIONS = {
    "rank": "read_rankings",
    "matches": "read_matches",
    "choices": "read_choices",
    "benchmark": "read_scores",
}
NEGATED = {"day_first": "--month-first"}
DEPTH = 4  # remedies that are followed one after another


# What was read, as text


def rankings_written(rankings, *, named=True):
    """Write each ranking of some rankings, perhaps without its ranker."""
    category = rankings.groups.get("category")
    out = []
    for row in range(rankings.n_rankings):
        shown = rankings.mask[row]
        items, ranks = rankings.items[rankings.item[row][shown]], rankings.ranks[row][shown]
        blocks = [
            " = ".join(sorted(map(str, items[ranks == rank]))) for rank in range(1, ranks.max() + 1)
        ]
        kind = f" [{category.labels[category.idx[row]]}]" if category else ""
        times = f" ({rankings.evidence[row]:g})" if rankings.evidence[row] != 1 else ""
        ranker = rankings.rankers[rankings.ranker_idx[row]] if named else ""
        if named and rankings.are_anonymous:
            ranker = rankings.labels[row]
        out.append(f"{ranker}{kind}{times}: {' > '.join(blocks)}")
    return out


def pairs_written(pairs, *, directed=True):
    """Write each row of some pairs, with the labels of its groups.

    If they are not directed, the item whose name comes first in the alphabet is written first.
    """
    counts = Counter()
    for row in range(len(pairs.first)):
        one, other = str(pairs.items[pairs.first[row]]), str(pairs.items[pairs.second[row]])
        labels = [
            f" [{name}={group.labels[group.idx[row]]}]"
            for name, group in sorted(pairs.groups.items())
        ]
        judge = f" [judge={pairs.judges[pairs.judge_idx[row]]}]" if len(pairs.judges) > 1 else ""
        turned = not directed and other < one
        for outcome, n in enumerate(pairs.counts[row].tolist()):
            pair = f"{other}-{one}" if turned else f"{one}-{other}"
            counts[pair + judge + "".join(labels), (1, 0, 2)[outcome] if turned else outcome] += n
    shown = (0, 1, 2) if pairs.counts[:, 2].any() else (0, 1)  # without ties, none are written
    rows = dict.fromkeys(row for row, _ in counts)
    return [f"{row} {':'.join(str(counts[row, k]) for k in shown)}" for row in rows]


def written(data, *, ordered=False):
    """Write rankings or matches; the rows are sorted, unless their order is part of the case."""
    rows = rankings_written(data) if isinstance(data, Rankings) else pairs_written(data)
    return "; ".join(rows if ordered else sorted(rows))


def wins(pairs):
    """Count how often each item beat another, and ties of each pair in both directions."""
    out = Counter()
    for first, second, counts in zip(pairs.first, pairs.second, pairs.counts, strict=True):
        one, other = str(pairs.items[first]), str(pairs.items[second])
        out[one, other] += int(counts[0])
        out[other, one] += int(counts[1])
        if counts[2]:
            out[f"{one} = {other}"] += int(counts[2])
            out[f"{other} = {one}"] += int(counts[2])
    return +out


# Options of the commands


def options(arguments):
    """Write the arguments of a function as the options of its command."""
    out = []
    for name, value in arguments.items():
        flag = f"--{name.replace('_', '-')}"
        if value is None or value == ():
            continue
        if value is False:
            out.append(NEGATED.get(name, f"--no-{flag[2:]}"))
        elif value is True:
            out.append(flag)
        elif isinstance(value, dict):
            out += [word for old, new in value.items() for word in (flag, f"{old}={new}")]
        elif isinstance(value, list | tuple):
            out += [word for single in value for word in (flag, str(single))]
        else:
            out += [flag, str(value)]
    return out


class Ran(NamedTuple):
    """What a command did: its data, its sentences, and the sentence that refuses."""

    data: object
    notes: tuple[str, ...]
    error: str
    output: str


def by_command(monkeypatch, command, *args, stdin=None):
    """Run a command up to the fit, which is put aside."""
    jobs = []
    monkeypatch.setattr(commands, "run", lambda job, *_, **__: jobs.append(job))
    result = CliRunner().invoke(cli.main, [command, *map(str, args)], input=stdin)
    notes = tuple(
        line.removeprefix("Note: ")
        for line in result.stderr.splitlines()
        if line.startswith("Note: ")
    )
    errors = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
    if result.exit_code:
        assert isinstance(result.exception, SystemExit), result.exception
        assert len(errors) == 1, result.output
        assert jobs == []
        return Ran(None, notes, errors[0].removeprefix("Error: "), result.output)
    data = jobs[0].data if jobs else None
    return Ran(data, notes, "", result.stdout)


def by_function(command, source, arguments):
    """Call the function of a command; return its data, or the error."""
    try:
        with warnings.catch_warnings():
            # such rankings are part of many cases
            warnings.simplefilter("ignore", UninformativeRankingWarning)
            return getattr(br, FUNCTIONS[command])(source, **arguments), None
    except ValueError as error:  # a `TableError` if there is a way out
        return None, error


# Remedies


class Outcome(NamedTuple):
    """Arguments that led to a reading or to a refusal without a remedy."""

    arguments: dict
    data: object
    error: Exception | None


def followed(command, source, arguments, depth=DEPTH):
    """Follow the remedies of a refusal until each is a reading or a refusal without a remedy."""
    data, error = by_function(command, source, arguments)
    remedies = getattr(error, "remedies", ())
    if error is None or not remedies or depth == 0:
        return [Outcome(arguments, data, error)]
    return [
        outcome
        for remedy in remedies
        for outcome in followed(command, source, arguments | dict(remedy), depth - 1)
    ]


def same(one, other):
    """Whether two data objects are equal in all that a model sees."""
    if isinstance(one, Rankings):
        weights = all(map(math.isclose, one.weight, other.weight))
        return one == other and weights
    return one == other
