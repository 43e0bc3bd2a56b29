"""Texts of analyses and reports: the blocks of ``texts.jinja``, filled with numbers and names.

They name arguments as Python does; the command rewrites them as options. This room may import
jinja2 and no other room.
"""

import functools
import re
from typing import Any, NamedTuple

__all__ = ["MATCHES", "TASKS", "Words", "paragraphs", "sentence", "some"]


class Words(NamedTuple):
    """What a report calls a ranker, a ranking, the ends of a ranking, and chance."""

    ranker: str = "ranker"
    ranking: str = "ranking"
    rankings: str = "rankings"
    first: str = "first"
    last: str = "last"
    chance: str = "random order"

    def of(self, text: str) -> str:
        """Replace the words of rankings in a text."""
        words = r"\b(rankings?|ranker|first|last)(?=s?\b)"
        return re.sub(words, lambda found: str(getattr(self, found[1])), text)


MATCHES = Words("judge", "match", "matches")
TASKS = Words("respondent", "task", "tasks", "best", "worst", "random answers")


@functools.cache
def _texts() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined  # so that --help is instant

    environment = Environment(
        loader=PackageLoader(__name__, ""),
        undefined=StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": format, "repr": repr}
    environment.globals["words"] = Words()  # unless a text is given others
    environment.globals["sentence"] = sentence
    return environment.get_template("texts.jinja")


def paragraphs(name: str, /, **values: Any) -> list[str]:
    """Render a block of the texts as a list of paragraphs."""
    template = _texts()
    text = "".join(template.blocks[name](template.new_context(values)))
    parts = [part.strip() for part in re.split(r"\n\s*\n", text)]
    return [re.sub(r"\s*\n\s*", " ", part) for part in parts if part]


def sentence(name: str, /, **values: Any) -> str:
    """Render a block of the texts as one paragraph."""
    return " ".join(paragraphs(name, **values))


def some(items: Any, most: int) -> str:
    """Name the first items, and count the others."""
    shown = ", ".join(map(str, items[:most]))
    return f"{shown} and {len(items) - most} more" if len(items) > most else shown
