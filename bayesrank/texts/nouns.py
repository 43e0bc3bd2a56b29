"""Words of the data's world: columns name what is ranked, and who or what ranks.

A column that is called by a plain word gives a noun: ``driver`` gives "87 drivers". Codes, such as
``q7`` or ``user_id``, and words with an uncertain plural give none, and the general word stays.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def _words(*texts: str) -> frozenset[str]:
    """Return the words of texts."""
    return frozenset(" ".join(texts).split())


PLAIN = re.compile(r"(?=.{3})([A-Z]?[a-z]+|[A-Z]+)")
VOWEL = re.compile(r"[aeiouy]")
# Words for any column, and values instead of things
GENERAL = _words(
    "item items ranker rankers ranking label name title code key number value column row line",
    "text type kind group rank rating score result place position order date day time best",
    "worst uid guid uuid",
)
# "36 races of 87 drivers", but not "36 users of 87 films"
OCCASIONS = _words(
    "race heat event round session tournament contest competition championship game match stage",
    "season week month year trial election poll survey ballot query list experiment",
)
# Sides of a match, which say nothing about what plays
SIDES = _words(
    "home away first second left right winner loser winning losing white black host guest",
    "visitor a b x y one two i j 1 2",
)
IRREGULAR = {"person": "people", "child": "children", "man": "men", "woman": "women"}
UNCERTAIN = re.compile(
    r".*([^s]s|f|fe|o|z|ex|ix|man|goose|tooth|foot|mouse|deer|sheep|data|media|criteria|software|music)"
)
AN = re.compile(r"[aeio]|u(?!ni|s)")  # nouns with the article "an"
HISSING = re.compile(r".*(ss|x|ch|sh)")
# Labels, arguments, code and headings of columns, which stay as they are
FIXED = re.compile(r"""((?<!\w)'(?:[^'\\]|\\.)*'|"[^"]*"|`[^`]*`)""")
WORDS = ("item", "ranker", "judge", "ranking")  # general words that may have nouns
# The word with its article, but not in the name of an option, a file or an argument
SAID = re.compile(
    rf"(?<![\w./=-])(?:(?P<article>an?) )?(?P<word>{'|'.join(WORDS)})(?P<many>s?)(?![\w/=(-]|\.\w)",
    re.IGNORECASE,
)
COUNT = r"(?P<n>\d[\d,]*)"
BALLOTS = rf"^(?P<all>{COUNT} rankings?\b.*?) by (?P=n) rankers?\b"
ONCE = rf"^{COUNT} rankings? of (?P<what>[\d,]+ items?) by (?P=n) rankers?\b"


def noun_of(column: str | None) -> str | None:
    """Return the noun that a column is called by, None if it is a code or a general word.

    >>> noun_of("Driver"), noun_of("user_id"), noun_of("q7"), noun_of("name")
    ('driver', None, None, None)
    """
    if column is None or not PLAIN.fullmatch(column) or not VOWEL.search(column.lower()):
        return None
    noun = column.lower()
    return None if noun in GENERAL or plural_of(noun) is None else noun


def plural_of(noun: str) -> str | None:
    """Return the plural of a noun, None if it is uncertain.

    >>> [plural_of(noun) for noun in ("driver", "country", "dish", "person", "wolf", "news")]
    ['drivers', 'countries', 'dishes', 'people', None, None]
    """
    if noun in IRREGULAR:
        return IRREGULAR[noun]
    if UNCERTAIN.fullmatch(noun):
        return None
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if HISSING.fullmatch(noun) else f"{noun}s"


def shared_noun(columns: Sequence[str | None]) -> str | None:
    """Return the noun of the columns of the two sides of a match.

    >>> shared_noun(["home_team", "away_team"]), shared_noun(["model_a", "model_b"])
    ('team', 'model')
    >>> shared_noun(["winner", "loser"]), shared_noun(["player", "opponent"])
    (None, None)
    """
    found = set()
    for column in columns:
        parts = re.findall(r"[A-Za-z]+|\d+", column or "")
        rest = [part for part in parts if part.lower() not in SIDES]
        found.add(noun_of(rest[0]) if len(rest) == 1 else None)
    return found.pop() if len(found) == 1 else None


def nouns_of(roles: Mapping[str, str]) -> dict[str, str | None]:
    """Return nouns for items, rankers and judges, from the columns by role.

    A column of ballots makes the rankings ballots.

    >>> nouns_of({"item": "driver", "ranker": "race"})
    {'item': 'driver', 'ranker': 'race', 'judge': None, 'ranking': None}
    """
    nouns = {role: noun_of(roles.get(role)) for role in ("item", "ranker", "judge")}
    nouns["ranking"] = "ballot" if "ballot" in roles else None
    if {"first", "winner"} & roles.keys():
        one = roles.get("first", roles.get("winner"))
        nouns["item"] = shared_noun([one, roles.get("second", roles.get("loser"))])
    return nouns


def in_words(
    text: str,
    *,
    item: str | None = None,
    ranker: str | None = None,
    judge: str | None = None,
    ranking: str | None = None,
) -> str:
    """Write a count of rankings or matches with the nouns of the data.

    Parameters
    ----------
    text : str
        A count in general words, as the data objects print it.
    item, ranker, judge, ranking : str, optional
        Nouns from `noun_of`; the general word stays without one.

    Examples
    --------
    >>> in_words("Rankings: 24 rankings of 21 items by 24 rankers", item="driver", ranker="race")
    '24 races of 21 drivers'
    >>> in_words("Rankings: 24 rankings of 21 items by 8 rankers", item="film", ranker="user")
    '24 rankings of 21 films by 8 users'
    >>> in_words("Rankings: 9 rankings, 4 different, of 3 items by 9 rankers", ranking="ballot")
    '9 ballots, 4 different, of 3 items'
    >>> in_words("Pairs: 9 pairs of 5 items by 1 judge", item="team")
    '9 pairs of 5 teams by 1 judge'
    """
    nouns = {"item": item, "ranker": ranker, "judge": judge, "ranking": ranking}
    if not any(nouns.values()):
        return text
    text = re.sub(r"^(Rankings|Pairs): ", "", text)
    if ranker in OCCASIONS:  # each may be one ranking, or have several
        text = re.sub(ONCE, lambda found: f"{_count(found['n'], ranker)} of {found['what']}", text)
        text = re.sub(rf"by (?={COUNT} rankers?\b)", "in ", text)
    if ranking is not None and ranker is None:  # each ballot has its own voter
        text = re.sub(BALLOTS, r"\g<all>", text)
    return with_nouns(text, **nouns)


def with_nouns(text: str, **nouns: str | None) -> str:
    """Write nouns for the general words of a text: item, ranker, judge and ranking.

    Text in quotes stays, as do options, files and arguments.

    >>> print(with_nouns("An item beats two items of 'item 3'; see --item.", item="driver"))
    A driver beats two drivers of 'item 3'; see --item.
    """
    parts = FIXED.split(text)
    parts[::2] = [SAID.sub(lambda found: _noun_for(found, nouns), part) for part in parts[::2]]
    return "".join(parts)


def _noun_for(found: re.Match[str], nouns: Mapping[str, str | None]) -> str:
    """Return the noun for a general word, with its article and capital."""
    noun = nouns.get(found["word"].lower())
    if noun is None:
        return found[0]
    said = str(plural_of(noun)) if found["many"] else noun
    if found["article"]:
        said = f"{'an' if AN.match(noun) else 'a'} {said}"
    return f"{said[0].upper()}{said[1:]}" if found[0][0].isupper() else said


def unused_nouns(nouns: Mapping[str, str | None], labels: Iterable[Any]) -> dict[str, str | None]:
    """Leave out the nouns of general words that a label contains, such as "item 3".

    >>> unused_nouns({"item": "driver", "ranker": "race"}, ["item 3", "ann"])
    {'item': None, 'ranker': 'race'}
    """
    told = "\n".join(map(str, labels)).lower()
    return {word: None if word in told else noun for word, noun in nouns.items()}


def _count(n: str, noun: str) -> str:
    """Write a number with its noun."""
    return f"{n} {noun if n == '1' else plural_of(noun)}"
