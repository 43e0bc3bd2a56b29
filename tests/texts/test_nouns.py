"""Words of the data's world: nouns from names of columns, and sentences that use them."""

import pytest

import bayesrank as br
from bayesrank.analysis.models import analysis_of
from bayesrank.data import Pairs, Rankings, load_nascar
from bayesrank.texts.nouns import (
    GENERAL,
    OCCASIONS,
    SIDES,
    in_words,
    noun_of,
    nouns_of,
    plural_of,
    with_nouns,
)


@pytest.mark.parametrize(
    "column",
    [None, "", "id", "UID", "q7", "user_id", "userId", "A1", "Race Nr.", "xyz", "TBD", "name",
     "Item", "films", "news", "r\u00e9union", "3", "wolf", "photo"],
)  # fmt: skip
def test_codes_general_words_and_uncertain_plurals_give_no_noun(column):
    assert noun_of(column) is None


@pytest.mark.parametrize(
    ("column", "noun", "plural"),
    [
        ("driver", "driver", "drivers"), ("Race", "race", "races"), ("BEER", "beer", "beers"),
        ("city", "city", "cities"), ("play", "play", "plays"), ("dish", "dish", "dishes"),
        ("class", "class", "classes"), ("box", "box", "boxes"), ("person", "person", "people"),
        ("house", "house", "houses"), ("book", "book", "books"), ("judge", "judge", "judges"),
    ],
)  # fmt: skip
def test_plain_words_give_a_noun_with_its_plural(column, noun, plural):
    assert noun_of(column) == noun
    assert plural_of(noun) == plural


def test_occasions_are_nouns_and_no_other_word():
    assert all(plural_of(noun) for noun in OCCASIONS)
    assert not OCCASIONS & (GENERAL | SIDES)


def test_a_count_has_the_nouns_of_the_data():
    assert in_words(repr(load_nascar()), item="driver", ranker="race") == (
        "36 races of 87 drivers, 43 drivers in each, no ties"
    )
    votes = Rankings.from_orderings([["a", "b"], ["b", "a"]])
    told = in_words(repr(votes), item="film", ranker="user")
    assert told == "2 rankings of 2 films by 2 users, 2 films in each, no ties"
    assert in_words(repr(votes)) == repr(votes)
    one = in_words("Rankings: 1 ranking of 1 item by 1 ranker", item="city", ranker="race")
    assert one == "1 race of 1 city"
    several = in_words("Rankings: 48 rankings of 21 items by 24 rankers", ranker="race")
    assert several == "48 rankings of 21 items in 24 races"
    counted = in_words("1,200 ballots, 16 different, of 5 items by 1,200 rankers", item="city")
    assert counted == "1,200 ballots, 16 different, of 5 cities by 1,200 rankers"


def test_labels_in_quotes_stay():
    text = (
        "Rankings: 2 rankings of 3 items by 2 rankers and 2 labels of '3 items, it\\'s 2 rankers'"
    )
    told = in_words(text, item="driver", ranker="race")
    assert told == "2 races of 3 drivers and 2 labels of '3 items, it\\'s 2 rankers'"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("An item is ahead of two items.", "An athlete is ahead of two athletes."),
        ("Each ranker has a ranking.", "Each user has a ballot."),
        ("A ranker and an item's rankings", "A user and an athlete's ballots"),
        ("Rankings of judges, items (all)", "Ballots of referees, athletes (all)"),
        ("Use --item, --judge=x or `items`, see items.csv", None),
        ("Name item='judge' and \"An item varies by\"", None),
        ("The column item_id, and rank-ranking/item", None),
        ("Items are 'two items'", "Athletes are 'two items'"),
    ],
)
def test_general_words_become_nouns_but_names_stay(text, told):
    nouns = {"item": "athlete", "ranker": "user", "judge": "referee", "ranking": "ballot"}
    assert with_nouns(text, **nouns) == (text if told is None else told)
    assert with_nouns(text) == text
    assert with_nouns(text, **dict.fromkeys(nouns)) == text


def test_nouns_replace_each_other_only_once():
    assert with_nouns("A ranker and a judge", ranker="judge", judge="ranker") == (
        "A judge and a ranker"
    )


@pytest.mark.parametrize(
    ("races", "drivers", "told"),
    [
        (["r1", "r2"], ["ann", "bo"], "Races of a driver by a race"),
        (["r1", "r2"], ["item 1", "bo"], "Races of an item by a race"),  # a label has the word
        (["r1", "r1"], ["ann", "bo"], "Rankings of a driver by a race"),  # two per ranker
    ],
)
def test_a_text_of_a_report_has_the_nouns_of_its_data(races, drivers, told):
    rows = [
        {"race": race, "lap": lap, "driver": driver, "place": place}
        for lap, race in enumerate(races)
        for place, driver in enumerate(drivers, 1)
    ]
    columns = {"ranker": "race", "ranking": ["race", "lap"], "item": "driver", "rank": "place"}
    model = br.ranking_model(br.read_rankings(rows, **columns))
    assert analysis_of(model).named("Rankings of an item by a ranker") == told


def test_matches_and_tasks_have_nouns_if_their_columns_have():
    pairs = Pairs.from_matrix([[0, 3], [1, 0]], items=["a", "b"])
    nouns = nouns_of({"first": "home_team", "second": "away_team", "judge": "referee"})
    assert (nouns["item"], nouns["judge"]) == ("team", "referee")
    assert in_words(repr(pairs), **nouns).startswith("1 pair of 2 teams by 1 referee, 4 mat")
    for sides in (("home", "away"), ("first", "second"), ("left", "right"), ("white", "black")):
        assert nouns_of(dict(zip(("first", "second"), sides, strict=True)))["item"] is None
    assert nouns_of({"winner": "winner", "loser": "loser"})["item"] is None
    assert nouns_of({"winner": "winning_player", "loser": "losing_player"})["item"] == "player"
    assert nouns_of({"ranker": "user", "item": "claim"})["item"] == "claim"
    assert nouns_of({})["item"] is None
    assert nouns_of({"item": "film", "ranker": "user_id"})["ranker"] is None
