"""Texts of the commands: the blocks of ``texts.jinja``, filled with numbers and names."""

import functools
import re
from typing import Any

from bayesrank.cli.options import Words


@functools.cache
def _texts() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined  # so that --help is instant

    environment = Environment(
        loader=PackageLoader("bayesrank.cli", ""),
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
