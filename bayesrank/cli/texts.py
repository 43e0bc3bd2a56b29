"""The texts of the commands: blocks of ``texts.jinja``, which get numbers and names."""

import functools
import re
from typing import Any


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
    return environment.get_template("texts.jinja")


def paragraphs(name: str, /, **values: Any) -> list[str]:
    """Write a block of the texts: paragraphs, with empty lines between them."""
    template = _texts()
    text = "".join(template.blocks[name](template.new_context(values)))
    parts = [part.strip() for part in re.split(r"\n\s*\n", text)]
    return [re.sub(r"\s*\n\s*", " ", part) for part in parts if part]


def sentence(name: str, /, **values: Any) -> str:
    """Write a block of the texts that has one paragraph."""
    return " ".join(paragraphs(name, **values))


def some(items: Any, most: int) -> str:
    """List the first items, and count the others."""
    shown = ", ".join(map(str, items[:most]))
    return f"{shown} and {len(items) - most} more" if len(items) > most else shown
