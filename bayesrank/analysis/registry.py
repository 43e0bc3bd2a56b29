"""Which data and arguments a model was built from, for `bayesrank.fit`."""

from collections.abc import Mapping
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

__all__ = ["Made", "find_group", "recall", "remember"]


class Made(NamedTuple):
    """What a model was built from: the kind of its analysis, data and arguments."""

    kind: str
    data: Any
    arguments: Mapping[str, Any]


_MADE: WeakKeyDictionary[Any, Made] = WeakKeyDictionary()


def remember(model: Any, kind: str, data: Any, arguments: Mapping[str, Any]) -> None:
    """Keep what a model was built from, as long as the model exists."""
    _MADE[model] = Made(kind, data, arguments)


def recall(model: Any) -> Made:
    """Return what a model was built from.

    Raises
    ------
    ValueError
        If no function of bayesrank built it.
    """
    try:
        return _MADE[model]
    except (KeyError, TypeError):
        raise ValueError(
            "The model must come from br.ranking_model, br.choice_model, br.leaderboard_model or "
            "br.dynamic_model. Sample other models with pm.sample, and summarise them with "
            "br.rank_summary."
        ) from None


def find_group(data: Any, role: str, name: str | None) -> str | None:
    """Return the group of this name, or the group that was read from the column of this name."""
    if name is None or name in data.groups:
        return name
    if data.roles.get(role) == name:
        return role
    known = ", ".join(map(repr, data.groups)) or "none"
    raise ValueError(
        f"`{role}` is {name!r}, but the groups of the data are {known}. Name the column when you "
        "read the table."
    )
