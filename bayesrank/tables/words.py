"""Words: errors with remedies, and the two ways to write an argument.

Messages write arguments as Python does, such as ``missing='last'``. On the command line the same
argument is the option ``--missing last``; `on_shell` rewrites a message.
"""

import ast
import re
import shlex
from collections.abc import Iterable, Mapping
from typing import Any

COMMANDS = {  # by the function that reads the table
    "read_rankings": "rank",
    "read_matches": "matches",
    "read_choices": "choices",
    "read_scores": "benchmark",
}
FALSE = {"day_first": "--month-first"}  # options whose negation has a separate name

_LITERAL = re.compile(
    r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\[[^\]]*\]|True|False|-?\d+(?:\.\d+)?|[A-Z]{3,}"""
)
_ARGUMENT = re.compile(
    rf"(?<![\w.\-`'\"])([a-z]+(?:_[a-z]+)*)=(?:({_LITERAL.pattern})|(?=[.,;) ]|$))"
)
_SEVERAL = re.compile(rf"{_ARGUMENT.pattern}(?:, {_ARGUMENT.pattern})+")
_NUMBER = re.compile(r"#?\d+(?:\.0)?")
_NAMED = re.compile(r"`([a-z]+(?:_[a-z]+)*)`")


class TableError(ValueError):
    """A table that cannot be read as asked, and the arguments that would help.

    Attributes
    ----------
    remedies : tuple of dict
        Arguments; adding those of one dict to the call gives a reading, or asks the next question.
    """

    def __init__(self, message: str, remedies: Iterable[Mapping[str, Any]] = ()) -> None:
        super().__init__(message)
        self.remedies = tuple(dict(remedy) for remedy in remedies)

    def __reduce__(self) -> Any:
        """Keep the remedies when the error is pickled, as between processes."""
        return type(self), (str(self), self.remedies)


class MissingColumnsError(TableError):
    """The arguments do not say what the columns are."""


def with_noun(noun: str, labels: Iterable[Any]) -> list[str]:
    """Write labels for a sentence; if all are numbers, each gets a noun.

    >>> with_noun("judge", [15, 7])
    ['Judge 15', 'Judge 7']
    >>> with_noun("judge", ["ann", "7"])
    ['ann', '7']
    """
    names = [str(label) for label in labels]
    if not all(_NUMBER.fullmatch(name) for name in names):
        return names
    return [f"{noun[:1].upper()}{noun[1:]} {name}" for name in names]


def spelled(**arguments: Any) -> str:
    """Write arguments as in a call of Python.

    >>> spelled(missing="last", column=["a", "b"])
    "missing='last', column=['a', 'b']"
    """
    return ", ".join(f"{name}={_literal(value)}" for name, value in arguments.items())


def _literal(value: Any) -> str:
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(repr, value))}]"
    return repr(value)


def options_of(arguments: Mapping[str, Any]) -> list[str]:
    """Write arguments as options of the command.

    >>> options_of({"missing": "last", "merge": True, "column": ["a", "b"]})
    ['--missing', 'last', '--merge', '--column', 'a', '--column', 'b']
    """
    words: list[str] = []
    for name, value in arguments.items():
        flag = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(flag)
        elif value is False:
            words.append(FALSE.get(name, f"--no-{flag[2:]}"))
        else:
            several = value if isinstance(value, tuple | list) else [value]
            for one in map(str, several):
                words += [f"{flag}={one}"] if one.startswith("-") and one[1:] else [flag, one]
    return words


def on_shell(message: str, names: Iterable[str]) -> str:
    """Rewrite the arguments in a message as options of the command line.

    >>> on_shell("Use empty=['n.a.', '-'], missing='drop' here.", ["empty", "missing"])
    "Use --empty 'n.a.' --empty - --missing drop here."
    """
    known = {*names}

    def option(found: re.Match[str]) -> str:
        name, literal = found[1], found[2]
        if name not in known:
            return found[0]
        if literal is None:
            return f"--{name.replace('_', '-')}"
        if literal.isupper() and literal.isalpha():  # a placeholder, such as COLUMN
            return f"--{name.replace('_', '-')} {literal}"
        return " ".join(map(_quoted, options_of({name: _value(literal)})))

    joined = _SEVERAL.sub(lambda found: _joined(found[0]), message)
    text = _ARGUMENT.sub(option, joined)
    return _NAMED.sub(
        lambda found: f"--{found[1].replace('_', '-')}" if found[1] in known else found[0], text
    )


def _joined(arguments: str) -> str:
    """Separate the arguments of one call by blanks, as options are."""
    return " ".join(found[0] for found in _ARGUMENT.finditer(arguments))


def _value(literal: str) -> Any:
    """Read a literal of Python: text, a number, a truth value or a list of these."""
    return ast.literal_eval(literal)


def _quoted(word: str) -> str:
    """Quote a word for a shell; also one that a full stop may follow, such as n.a."""
    if re.fullmatch(r"[\w/+*=-]+", word, re.ASCII) and "*" not in word:
        return word
    return shlex.quote(word) if shlex.quote(word) != word else f"'{word}'"


def command_of(function: str, source: str, arguments: Mapping[str, Any]) -> str:
    """Write a reading as a command, such as ``bayesrank rank votes.csv --ballot vote``."""
    name = COMMANDS[function]
    source = f"./{source}" if source.startswith("-") and source != "-" else source
    return shlex.join(["bayesrank", name, source, *options_of(arguments)])


def call_of(function: str, source: str | None, arguments: Mapping[str, Any]) -> str:
    """Write a reading as a call of Python, such as ``br.read_rankings('votes.csv', ...)``."""
    given = f", {spelled(**arguments)}" if arguments else ""
    return f"br.{function}({'table' if source is None else repr(source)}{given})"
