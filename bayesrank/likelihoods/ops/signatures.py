r"""Signatures of compiled Ops: which axes the arrays have, and the lengths that must agree.

A signature is written as NumPy writes it, ``"(r,s),(r,s)->(r)"``. Axes of one name have one length.

==============  ================================================================================
``r``           the length of the first axis of this name
``...``         leading axes, the same in all inputs that have them
``3``           a length of 3
``n+1``         one more than the axis ``n``
==============  ================================================================================

An input may also be absent, or one value may serve for a whole axis. `or_length` says so: ``("v",
"n", 0)`` lets the axis ``v`` have the length of ``n`` or the length 0.

A kernel does not look at lengths. If they disagree, it reads and writes memory of something else,
so that every call of a kernel is preceded by a comparison of these lengths.

>>> rules = rules_of("(r,j),(r,n),(r)->(r)", (), (2, 2, 1))
>>> check(rules, [(60, 3), (60, 4), (20,)], "Example", ["alpha", "ranks", "weight"])
Traceback (most recent call last):
...
bayesrank.likelihoods.ops.signatures.LengthError: The lengths of parameters and data do not fit ...
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
    "fits",
    "output_shape",
    "rules_of",
    "sentence",
]

Axes = tuple[str, ...]
Alternatives = tuple[tuple[str, str, int], ...]  # an axis, another, and a length


class LengthError(ValueError):
    """Raised where arrays of different lengths meet in a compiled Op.

    The text has two places for the lengths.
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
        [tuple(re.findall(r"[\w+]+|\.\.\.", group)) for group in re.findall(r"\(([^)]*)\)", side)]
        for side in signature.split("->")
    ]
    return sides[0], sides[1][0]


def fits(signature: str, ndims: Sequence[int]) -> bool:
    """Tell whether inputs have as many axes as the signature, and leading ones all alike."""
    taken, _ = axes_of(signature)
    lead = {n - len(axes) + 1 for n, axes in zip(ndims, taken, strict=True) if "..." in axes}
    own = [n == len(axes) for n, axes in zip(ndims, taken, strict=True) if "..." not in axes]
    return all(own) and len(lead) <= 1 and min(lead, default=0) >= 0


def output_shape(signature: str, shapes: Sequence[Any]) -> tuple[Any, ...]:
    """Return the shape of the first output from those of the inputs."""
    taken, given = axes_of(signature)
    length: dict[str, tuple[Any, ...]] = {}
    for axes, shape in zip(taken, shapes, strict=True):
        for name, places in _places(axes, len(shape)).items():
            own = places if name == "..." else places[:1]
            length.setdefault(name, tuple(shape[axis] for axis in own))
    return tuple(n for name in given for n in length[name])


@functools.cache
def rules_of(signature: str, or_length: Alternatives, ndims: tuple[int, ...]) -> list[Rule]:
    """List the comparisons that inputs with `ndims` axes must pass."""
    taken, _ = axes_of(signature)
    others = {axis: (base, allowed) for axis, base, allowed in or_length}
    places: list[tuple[str, tuple[int, int]]] = []  # name, input and axis
    for which, (axes, ndim) in enumerate(zip(taken, ndims, strict=True)):
        for name, found in _places(axes, ndim).items():
            keys = [f"...{k}" if name == "..." else name for k in range(len(found))]
            places += [(key, (which, axis)) for key, axis in zip(keys, found, strict=True)]
    length_of: dict[str, tuple[int, int]] = {}
    for key, place in places:
        if key not in others and "+" not in key:
            length_of.setdefault(key, place)

    rules = []
    alike: dict[str, list[tuple[int, int]]] = {}  # optional axes that are like no other
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


def check(rules: Sequence[Rule], shapes: Sequence[Any], op_name: str, names: Sequence[str]) -> None:
    """Raise where lengths that are known disagree; None is a length that is not known.

    Raises
    ------
    LengthError
        Naming two inputs, their axes and lengths.
    """
    for rule in rules:
        found = shapes[rule.which][rule.axis]
        other = 0 if rule.as_of is None else shapes[rule.as_of][rule.as_axis]
        if found is None or other is None:
            continue
        allowed = {rule.allowed} if rule.allowed is not None else set()
        if found == other + rule.more or found in allowed or (rule.either and other in allowed):
            continue
        raise LengthError(sentence(rule, op_name, names), found, other)


def sentence(rule: Rule, op_name: str, names: Sequence[str]) -> str:
    """Write the message of a rule, with places for the two lengths."""
    text = (
        "The lengths of parameters and data do not fit each other: "
        f"`{names[rule.which]}` has length {{0}} along its axis {rule.axis}"
    )
    if rule.as_of is None:
        return f"{text}, and {op_name} needs a length of {rule.more}."
    needs = "equal lengths" if rule.more == 0 else f"{rule.more} more than that"
    return (
        f"{text}, and `{names[rule.as_of]}` has length {{1}} along its axis {rule.as_axis}. "
        f"{op_name} needs {needs}. If data of the model were replaced, replace all that has one "
        "value per row together, by br.set_observed, or build the model again."
    )


def _places(axes: Axes, ndim: int) -> dict[str, list[int]]:
    """Return the axes of an input by their names; a repeated name has several."""
    batch = ndim - len(axes) + 1  # where there are leading axes
    found: dict[str, list[int]] = {}
    for k, name in enumerate(axes):
        own = range(batch) if name == "..." else [ndim - len(axes) + k]
        found.setdefault(name, []).extend(own)
    return found
