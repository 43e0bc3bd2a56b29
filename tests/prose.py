"""The sentences of the project, and the words that they avoid.

`python -m tests.prose docs --seed 3` draws 100 sentences of the documentation, `messages` (with the
help texts), `docstrings` or `comments`. Read them aloud: a native reader should stumble over five
at most. `python -m tests.prose check` lists sentences with words to avoid or more than 25 words.
"""

import argparse
import ast
import functools
import io
import random
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]

PATTERNS = {
    r"(?<!ahead )\b(?:of|for|by|in|to|with) whom\b": "name the person: 'a judge whose votes ...'",
    r"\b(?:some|most|all|many|none|two|each) of which\b": "two sentences",
    r"\b(?:for|of|to) who\b": "'for people who'",
    r"\bmade-up\b|\bmake up (?:data|matches|boards|rankings)\b": "simulated, simulate",
    r"\bbeside\b": "next to, besides, compared with",
    r"\bin the place of\b": "instead of",
    r"\bsum(?:s|med|ming)? out\b": "marginalise",
    r"\bfound out\b": "detect, determine",
    r"\bthe folder that you are in\b": "the current directory",
    r"(?<!there )(?<!There )\b(?:is|are) no (?!longer\b|more\b|less\b|data\b)\w+": "is not a",
    r", too[,.;:]": "also",
    r"\b(?:has|have|had) (?:a|an) \w+ of (?:its|their|his|her) own\b": "has a separate ...",
    r"\bkinds? of (?:rankers|people|users|judges)\b": "component",
    r"\bis known of\b": "we know about",
    r"\bwhat (?:there is|is there)\b": "name it",
    r"\bthat of\b(?= (?:the|a|an|all|its|one)\b)": "repeat the noun",
    r"\bso many\b": "this number of",
}
"""What the text avoids, and what it says instead."""


class Sentence(NamedTuple):
    """A sentence and where it stands."""

    text: str
    place: str


def documentation() -> Iterator[Sentence]:
    """Yield the sentences of the Markdown pages, without code, tables and headings."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "models").rglob("*.md")]
    for page in sorted(pages):
        if page.name in ("CHANGELOG.md", "RESULTS.md"):
            continue
        text = page.read_text(encoding="utf-8")
        text = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
        text = re.sub(r"^(?:#|\||!\[).*$", "", text, flags=re.M)
        for number, paragraph in _paragraphs(text):
            yield from _sentences(paragraph, f"{page.relative_to(ROOT)}:{number}")


def docstrings() -> Iterator[Sentence]:
    """Yield the sentences of the package's docstrings, without examples and tables."""
    for file, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                text = ast.get_docstring(node) or ""
                text = re.sub("^\b\n(?:.+\n?)+", "\n", text, flags=re.M)  # tables of click
                text = re.sub(r"^ *(?:>>>|\.\.\. ).*(?:\n.+)*$", "", text, flags=re.M)
                text = re.sub(r"^ *=+ +=[ =]*\n(?:.*\S.*\n?)*", "\n", text, flags=re.M)
                text = re.sub(r"^.*(?:===|---).*$", "\n", text, flags=re.M)
                text = re.sub(r"^[\w, *]+ : .*$", "\n", text, flags=re.M)
                text = re.sub(r"^ *\.\. math::.*\n(?: +.+\n)*", "\n", text, flags=re.M)
                text = re.sub(r"may import\s[^.]*\.", "", text)  # a list of names
                line = getattr(node, "lineno", 1)
                for _, paragraph in _paragraphs(text):
                    yield from _sentences(paragraph, f"{file}:{line}")


def messages() -> Iterator[Sentence]:
    """Yield the sentences of messages and help texts: long strings that are not docstrings."""
    for file, tree in trees():
        for node in _strings(tree):
            text = _text_of(node)
            if len(text.split()) >= 4 and "\ndef " not in text:  # no code
                yield from _sentences(text, f"{file}:{node.lineno}")


def texts() -> Iterator[Sentence]:
    """Yield the sentences of the texts of the commands."""
    file = Path("bayesrank/texts/texts.jinja")
    text = (ROOT / file).read_text(encoding="utf-8")
    text = re.sub(r"\{#.*?#\}|\{%.*?%\}", "\n\n", text, flags=re.S)
    text = re.sub(r"\{\{.*?\}\}", "{...}", text, flags=re.S)
    for number, paragraph in _paragraphs(text):
        yield from _sentences(paragraph, f"{file}:{number}")


def comments() -> Iterator[Sentence]:
    """Yield the comments of the package."""
    for file, _ in trees():
        source = (ROOT / file).read_text(encoding="utf-8")
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                yield Sentence(token.string.lstrip("# "), f"{file}:{token.start[0]}")


SOURCES = {
    "docs": documentation,
    "messages": messages,
    "docstrings": docstrings,
    "texts": texts,
    "comments": comments,
}


MOST_WORDS = 25


def violations() -> Iterator[tuple[Sentence, str]]:
    """Yield sentences that use a word to avoid or are too long, with advice."""
    for sentences in SOURCES.values():
        for sentence in sentences():
            for pattern, advice in PATTERNS.items():
                if re.search(pattern, sentence.text):
                    yield sentence, advice
            words = re.sub(r"`+[^`]*`+|:math:`[^`]*`", "x", sentence.text).split()
            if len(words) > MOST_WORDS:
                yield sentence, f"{len(words)} words: write two sentences"


@functools.cache
def trees() -> list[tuple[Path, ast.Module]]:
    """Parse the modules of the package once."""
    files = sorted((ROOT / "bayesrank").rglob("*.py"))
    return [(file.relative_to(ROOT), ast.parse(file.read_text("utf-8"))) for file in files]


def _strings(tree: ast.Module) -> Iterator[ast.JoinedStr | ast.Constant]:
    """Yield the strings of a module, those inside f-strings as parts of them."""
    skip: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skip.add(node.value)  # a docstring
        if isinstance(node, ast.JoinedStr):
            skip.update(node.values)
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if node not in skip and (is_text or isinstance(node, ast.JoinedStr)):
            yield node


def _text_of(node: ast.JoinedStr | ast.Constant) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    parts = (x.value if isinstance(x, ast.Constant) else "{...}" for x in node.values)
    return "".join(map(str, parts))


def _paragraphs(text: str) -> Iterator[tuple[int, str]]:
    line = 1
    for part in re.split(r"(\n\s*\n|\n(?=\s*(?:[-*]|\d+\.)\s|[a-z_]+: ))", text):  # and lists
        if part.strip():
            yield line, part
        line += part.count("\n")


def _sentences(paragraph: str, place: str) -> Iterator[Sentence]:
    text = " ".join(paragraph.split())
    for sentence in re.split(r"(?<=[.!?])[)*\"]?\s+(?=[A-Z`*\[({\"])", text):
        if len(sentence.split()) >= 4:
            yield Sentence(sentence, place)


def main() -> None:
    """Draw sentences at random."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("source", choices=[*SOURCES, "check"])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-n", type=int, default=100)
    given = parser.parse_args()
    if given.source == "check":
        for sentence, advice in violations():
            print(f"{sentence.place}\n    {sentence.text}\n    -> {advice}")
        return
    found = sorted(SOURCES[given.source]())
    for text, place in random.Random(given.seed).sample(found, min(given.n, len(found))):
        print(f"{place}\n    {text}")


if __name__ == "__main__":
    main()
