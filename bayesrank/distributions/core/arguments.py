"""Check the call of a distribution before PyMC sees it, so that messages name the mistake."""

import inspect
from collections.abc import Mapping
from functools import cache
from typing import Any, get_args

from pymc.distributions.distribution import DistributionMeta

from bayesrank.data import Interactions, PairCounts, Pairs, Rankings

__all__ = ["NamedArguments"]

DATA_TYPES = (Interactions, PairCounts, Pairs, Rankings)


class NamedArguments(DistributionMeta):
    """Metaclass of our distributions, which checks their arguments by name and kind."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        _check(cls, args, kwargs)
        return super().__call__(*args, **kwargs)


@cache
def _arguments(cls: Any) -> tuple[list[str], set[str], set[str]]:
    """Return the names of arguments by position, those required, and all of them."""
    parameters = [*inspect.signature(cls.__new__).parameters.values()][1:]
    positional = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    required = {x.name for x in parameters if x.default is x.empty and x.kind != x.VAR_KEYWORD}
    known = {p.name for p in parameters if p.kind is not p.VAR_KEYWORD}
    for p in parameters:
        for options in get_args(p.annotation) if p.kind is p.VAR_KEYWORD else ():
            known |= {*options.__required_keys__, *options.__optional_keys__}
    return positional, required, known


def _check(cls: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Raise TypeError for data given as a parameter, and for missing or unknown ones."""
    positional, required, known = _arguments(cls)
    family = cls.__name__
    call = f"{family}('y', {', '.join(positional[1:])}, observed=...)"
    given = {**dict(zip(positional, args, strict=False)), **kwargs}
    others = [x for name, x in given.items() if name != "observed"]
    for x in (*others, *args[len(positional) :]):
        if isinstance(x, DATA_TYPES):
            raise TypeError(
                f"{family} got {type(x).__name__} as a parameter. Give the data as "
                f"observed=: {call}."
            )
    if "name" in given and not isinstance(given["name"], str):
        raise TypeError(
            f"{family} got {type(given['name']).__name__} as the name of the variable. Give a text "
            f"first: {call}."
        )
    missing = [name for name in positional if name in required and name not in given]
    if missing:
        raise TypeError(f"{family} needs {' and '.join(missing)}: {call}.")
    if len(args) > len(positional):
        raise TypeError(
            f"{family} takes {' and '.join(positional)} by position, and got {len(args)} "
            f"arguments. Give the others by name: {call}."
        )
    # the classes say where counts and weights belong
    if unknown := [name for name in kwargs if name not in known | {"count", "weight"}]:
        raise TypeError(
            f"{family} got an unexpected keyword argument {unknown[0]!r}. It takes "
            f"{', '.join(sorted(known - {'name'}))}."
        )
