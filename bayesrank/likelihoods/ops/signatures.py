r"""Signatures of compiled Ops: the axes of their arrays, and the lengths that must agree.

A signature uses NumPy's notation, ``"(r,s),(r,s)->(r)"``. Axes with the same name have the same
length.

==============  ================================================================================
``r``           the length of the first axis with this name
``3``           a length of 3
``n+1``         one more than the axis ``n``
==============  ================================================================================

An input may also be absent, or one value may serve for a whole axis. `or_length` declares this:
``("v", "n", 0)`` lets the axis ``v`` have the length of ``n`` or the length 0.

A kernel does not check lengths. If they disagree, it would read and write memory out of bounds.
Therefore lengths are compared before every call of a kernel.

>>> rules = rules_of("(r,j),(r,n),(r)->(r)")
>>> check(rules, [(60, 3), (60, 4), (20,)], ["alpha", "ranks", "weight"])
Traceback (most recent call last):
...
bayesrank.likelihoods.ops.signatures.LengthError: Lengths of parameters and data differ: the...
"""

import functools
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

__all__ = [
    "Axes",
    "LengthError",
    "Rule",
    "axes_of",
    "check",
    "matches_signature",
    "output_shape",
    "rules_of",
    "write_message",
]

Axes = tuple[str, ...]
Alternatives = tuple[tuple[str, str, int], ...]  # an axis, another axis, and an alternative length


class LengthError(ValueError):
    """Raised when the lengths of a compiled Op's inputs disagree.

    The text has two placeholders for the lengths.
    """

    def __init__(self, text: str, *lengths: int) -> None:
        super().__init__(text.format(*lengths) if lengths else text)


class Rule(NamedTuple):
    """One axis of an input, and the length that it must have."""

    which: int
    axis: int
    as_of: int | None  # another input; None: the length is `more`
    as_axis: int = 0
    more: int = 0
    allowed: int | None = None  # another length that the first may have
    either: bool = False  # whether the second may have it as well


@functools.cache
def axes_of(signature: str) -> tuple[list[Axes], Axes]:
    """Return the names of the axes of all inputs, and of the output."""
    sides = [
        [tuple(re.findall(r"[\w+]+", group)) for group in re.findall(r"\(([^)]*)\)", side)]
        for side in signature.split("->")
    ]
    return sides[0], sides[1][0]


def matches_signature(signature: str, ndims: Sequence[int]) -> bool:
    """Return whether the numbers of axes match the signature."""
    inputs, _ = axes_of(signature)
    return all(n == len(axes) for n, axes in zip(ndims, inputs, strict=True))


def output_shape(signature: str, shapes: Sequence[Any]) -> tuple[Any, ...]:
    """Return the shape of the first output from the shapes of the inputs."""
    inputs, output = axes_of(signature)
    length: dict[str, Any] = {}
    for axes, shape in zip(inputs, shapes, strict=True):
        for name, n in zip(axes, shape, strict=True):
            length.setdefault(name, n)
    return tuple(length[name] for name in output)


@functools.cache
def rules_of(signature: str, or_length: Alternatives = ()) -> list[Rule]:
    """List the comparisons that inputs must pass."""
    inputs, _ = axes_of(signature)
    others = {axis: (base, allowed) for axis, base, allowed in or_length}
    # names of axes, and positions of the input and the axis
    places = [(key, (k, axis)) for k, axes in enumerate(inputs) for axis, key in enumerate(axes)]
    length_of: dict[str, tuple[int, int]] = {}
    for key, place in places:
        if key not in others and "+" not in key:
            length_of.setdefault(key, place)

    rules = []
    alike: dict[str, list[tuple[int, int]]] = {}  # optional axes whose base axis does not exist
    for key, place in places:
        name, _, more = key.partition("+")
        base, allowed = others.get(name, (name, None))
        if base.isdigit():
            rules.append(Rule(*place, None, more=int(base)))
        elif base not in length_of:
            before = alike.setdefault(base, [])
            rules += [Rule(*place, *other, allowed=allowed, either=True) for other in before]
            before.append(place)
        elif place != length_of[base]:
            rules.append(Rule(*place, *length_of[base], int(more or 0), allowed))
    return rules


def check(rules: Sequence[Rule], shapes: Sequence[Any], names: Sequence[str]) -> None:
    """Raise if known lengths disagree; None is an unknown length.

    Raises
    ------
    LengthError
        With the names of two inputs, their axes and lengths.
    """
    for rule in rules:
        found = shapes[rule.which][rule.axis]
        other = 0 if rule.as_of is None else shapes[rule.as_of][rule.as_axis]
        if found is None or other is None:
            continue
        allowed = {rule.allowed} if rule.allowed is not None else set()
        if found == other + rule.more or found in allowed or (rule.either and other in allowed):
            continue
        raise LengthError(write_message(rule, names), found, other)


def write_message(rule: Rule, names: Sequence[str]) -> str:
    """Write the message of a rule, with placeholders for the two lengths."""
    name, other = (names[k or 0].replace("_", " ") for k in (rule.which, rule.as_of))
    text = (
        f"Lengths of parameters and data differ: the {name} has length {{0}} along its axis "
        f"{rule.axis}"
    )
    if rule.as_of is None:
        return f"{text}, and needs a length of {rule.more}."
    needs = "They must be equal" if rule.more == 0 else f"The first must be {rule.more} more"
    return (
        f"{text}, and the {other} has length {{1}} along its axis {rule.as_axis}. {needs}. If you "
        "replaced data of the model, use br.set_observed to replace all data with one value per "
        "row together, or build the model again."
    )
