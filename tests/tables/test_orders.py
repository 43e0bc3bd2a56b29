"""Files of orders: PrefLib, elections and the Condorcet election format."""

import gzip

import numpy as np
import pytest

from bayesrank.data import Rankings
from bayesrank.tables.opening import is_orders, open_orders
from bayesrank.tables.words import TableError

HEADER = """\
# FILE NAME: 00000-00000001.toi
# TITLE: Elections
# DATA TYPE: toi
# NUMBER ALTERNATIVES: 4
# NUMBER VOTERS: 6
# NUMBER UNIQUE ORDERS: 3
# ALTERNATIVE NAME 1: Ann
# ALTERNATIVE NAME 2: Bo: the second
# ALTERNATIVE NAME 3: Cy
# ALTERNATIVE NAME 4: Dee
"""
TOI = HEADER + "3: 2,1\n2: {1,3},2\n1: 4,{1, 2}, 3\n"


@pytest.fixture
def file(tmp_path):
    """Write text to a file of this name and return its path."""

    def write(name, text):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_preflib_orders_become_counted_rankings(file):
    r = Rankings.from_preflib(file("votes.toi", TOI), rest=())
    assert r.items.tolist() == ["Ann", "Bo: the second", "Cy", "Dee"]
    np.testing.assert_array_equal(r.count, [3, 2, 1])
    np.testing.assert_array_equal(r.weight, [1.0, 1.0, 1.0])
    np.testing.assert_array_equal(r.item, [[1, 0, 0, 0], [0, 2, 1, 0], [3, 0, 1, 2]])
    np.testing.assert_array_equal(r.ranks, [[1, 2, 0, 0], [1, 1, 2, 0], [1, 2, 2, 3]])


def test_preflib_alternatives_left_out_may_be_the_last_block(file):
    r = Rankings.from_preflib(file("votes.toi", TOI), rest="items")
    np.testing.assert_array_equal(r.item, [[1, 0, 2, 3], [0, 2, 1, 3], [3, 0, 1, 2]])
    np.testing.assert_array_equal(r.ranks, [[1, 2, 3, 3], [1, 1, 2, 3], [1, 2, 2, 3]])


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("v.toi", "", "contains no orders"),
        ("v.toi", HEADER, "contains no orders"),
        ("v.cat", TOI, "not a supported PrefLib file; .* Read other files with br.read_rankings"),
        (
            "v.toi",
            TOI.replace("3: 2,1\n", ""),
            "announces 6 voters but contains 3. It may be truncated",
        ),
        ("v.toi", TOI.replace("3: 2,1", "3: 2,5"), "line 11 uses alternative 5, which the header"),
        ("v.toi", TOI.replace("3: 2,1", "3: 2;1"), "line 11 is not an order such as"),
        ("v.toi", TOI.replace("3: 2,1", "3: {2,1"), "line 11 is not an order such as"),
        ("v.toi", TOI.replace("3: 2,1", "3: {2,2},1"), "line 11 uses alternative 2 twice"),
        ("v.toi", TOI.replace("3: 2,1", "3: {},1"), "line 11 has an empty block"),
        ("v.toi", TOI.replace("3: 2,1", f"{'9' * 16}: 2,1"), "line 11 must read 'count: 1,2,"),
        ("v.toi", TOI.replace("3: 2,1", f"3: {{2,{'9' * 16}}},1"), "line 11 is not an order"),
        ("v.toi", TOI.replace("NAME 4", "NAME 3"), "line 10 names alternative 3 again"),
        ("v.toi", TOI.replace("3: 2,1", "3: 2,1,2"), "line 11 uses alternative 2 twice"),
        ("v.toi", TOI.replace("3: 2,1", "3,2,1"), "line 11 must read 'count: 1,2,"),
        ("v.soc", "2\n1,Ann\n2,Bo\n5,5,1\n5,1,2\n", "line 1 must read .* the old format"),
        (
            "v.toi",
            TOI.replace("3: 2,1", "0: 2,1").replace("RS: 6", "RS: 3"),
            "must be a whole number, 1",
        ),
    ],
)
def test_a_preflib_file_that_does_not_read_is_refused(file, name, text, message):
    with pytest.raises(ValueError, match=message):
        Rankings.from_preflib(file(name, text), rest=())


def test_orders_of_preflib_that_differ_in_length_need_a_rest(file):
    path = file("v.toi", TOI)
    with pytest.raises(ValueError, match=r"number 0 has 2 items, and number 1 has 3\. Use rest"):
        Rankings.from_preflib(path)
    assert Rankings.from_preflib(path, rest=()).mask.sum(axis=1).tolist() == [2, 3, 4]
    assert Rankings.from_preflib(path, rest="items").mask.sum(axis=1).tolist() == [4, 4, 4]
    assert Rankings.from_preflib(file("v.soc", HEADER + "6: 4,3,2,1\n")).n_rankings == 1


def test_names_of_preflib_may_hold_what_unicode_calls_an_end_of_line(file):
    text = TOI.replace("Bo: the second", "Bo\u2028the second").replace("Cy", "Cy\x85")
    assert Rankings.from_preflib(file("v.toi", text), rest=()).items[1] == "Bo\u2028the second"


@pytest.mark.parametrize("name", ["v.toi", "v.cat", "v.blt"])
def test_a_missing_file_or_a_folder_is_named(tmp_path, name):
    assert is_orders(tmp_path / name)
    with pytest.raises(FileNotFoundError, match=f"There is no file .*{name}"):
        open_orders(tmp_path / name)
    (tmp_path / name).mkdir()
    with pytest.raises(ValueError, match=f"{name} is a folder, not a file"):
        open_orders(tmp_path / name)


# Categories


CAT = """\
# DATA TYPE: cat
# NUMBER VOTERS: 7
# NUMBER CATEGORIES: 3
# CATEGORY NAME 1: Yes
# CATEGORY NAME 2: Maybe
# CATEGORY NAME 3: No
# ALTERNATIVE NAME 1: ash
# ALTERNATIVE NAME 2: elm
# ALTERNATIVE NAME 3: fir
# ALTERNATIVE NAME 4: oak
4: 1, {2,3}, 4
2: {}, 4, {1, 2}
1: {}, {}, {}
"""


def test_categories_are_read_in_order_only_if_that_is_said(file):
    path = file("v.cat", CAT)
    with pytest.raises(TableError, match=r"'Yes', 'Maybe', 'No'.*use listed='ranked'") as caught:
        open_orders(path)
    assert caught.value.remedies == ({"listed": "ranked"},)
    orders = open_orders(path, **caught.value.remedies[0])
    assert orders.alternatives == ["ash", "elm", "fir", "oak"]
    assert orders.orderings == [
        ["ash", frozenset({"elm", "fir"}), "oak"],
        ["oak", frozenset({"ash", "elm"})],
    ]
    assert orders.voters == [4, 2]
    assert orders.rest is None
    assert orders.notes == [
        "Ballots that name no candidate are left out: 1.",
        "Categories are read from best to worst: 'Yes', 'Maybe', 'No'.",
    ]


def test_a_line_with_too_few_categories_is_refused(file):
    with pytest.raises(ValueError, match=r"line 11 must have a block for each of the 3 categ"):
        open_orders(file("v.cat", CAT.replace("4: 1, {2,3}, 4", "4: 1, {2,3}")), listed="ranked")


# Elections

BLT = """\
4 2
-3
12 1 2 0
9 2 4=1 0
7 4 - 2 0  # a skipped place
5 3 0
2 0
0
"Ann ""Vote Green"" ASH"
"Bob #1 ELM"
'Cy FIR'
Di OAK
"Ward 1"
"""


def test_the_names_of_an_election_may_have_quotation_marks(file):
    orders = open_orders(file("v.blt", BLT))
    ann, bob, di = orders.alternatives
    assert (ann, bob, di) == ('Ann "Vote Green" ASH', "Bob #1 ELM", "Di OAK")
    assert orders.orderings == [[ann, bob], [bob, frozenset({di, ann})], [di, bob]]
    assert orders.voters == [12, 9, 7]
    assert orders.notes == [
        "Withdrawn candidates are out of every ballot: 'Cy FIR'.",
        "Ballots that name no candidate are left out: 7.",
    ]


# Condorcet election format

CVOTES = """\
# My election
#/Candidates: ash ; elm; fir ;Old Oak
#/Number of Seats: 1
#/implicit ranking: false
#/Weight Allowed: true

ash > elm > fir * 42
ann@example.org , signature:55 || ash > Old Oak = fir # a comment
fir > ash = elm ^7 * 8
elm>ash
/EMPTY_RANKING/ * 3
yew > elm
yew ^2
"""


def test_votes_of_the_condorcet_election_format_are_read(file):
    orders = open_orders(file("v.cvotes", CVOTES))
    assert orders.alternatives == ["ash", "elm", "fir", "Old Oak"]
    assert orders.orderings == [
        ["ash", "elm", "fir"],
        ["ash", frozenset({"Old Oak", "fir"})],
        ["fir", frozenset({"ash", "elm"})],
        ["elm", "ash"],
        ["elm"],
    ]
    assert orders.voters == [42, 1, 8, 1, 1]
    assert orders.weights == [1, 1, 7, 1, 1]
    assert orders.rest == ()
    assert orders.notes == [
        "Names that are not among the candidates are left out: 'yew'.",
        "The weight of a vote multiplies its log-likelihood; it is not a number of votes.",
        "Ballots that name no candidate are left out: 4.",
    ]


def test_the_defaults_of_the_format_hold(file):
    orders = open_orders(file("v.cvotes", "b > a ^3\nc\n"))
    assert orders.alternatives == ["b", "a", "c"]
    assert orders.voters == [1, 1]
    assert orders.weights is None
    assert orders.rest == "items"
    assert orders.notes == ["Weights of votes are ignored, as the file does not allow them."]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a > b > a", "line 1 names 'a' twice"),
        ("a > b * 8 ^7", "line 1 must read like"),
        ("a < b", "line 1 must read like"),
        ("a > > b", "line 1 must read like"),
        ("a > b * 0", "line 1 must read like"),
        ("a > /EMPTY_RANKING/", "line 1 must read like"),
        ("tag ||", "line 1 must read like"),
        ("# nothing", "contains no votes"),
        ("#/Implicit Ranking: yes\na > b", "must say true or false for 'implicit ranking'"),
        ("#/Candidates: a;b;a\na > b", "lists a candidate twice"),
        ("#/Candidates: a;b\nc > d", "contains no votes with a candidate"),
    ],
)
def test_votes_that_do_not_read_are_refused(file, text, message):
    with pytest.raises(ValueError, match=message):
        open_orders(file("v.cvotes", text))


# Sources


@pytest.mark.parametrize(
    ("name", "text"), [("v.toi", TOI), ("v.blt", BLT), ("v.cvotes", CVOTES), ("v.cat", CAT)]
)
def test_orders_are_unpacked(tmp_path, file, name, text):
    plain = open_orders(file(name, text), listed="ranked")
    packed = tmp_path / f"{name}.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    assert is_orders(packed)
    assert open_orders(packed, listed="ranked") == plain
    assert is_orders(plain)
    assert open_orders(plain) is plain


def test_orders_come_by_standard_input(file, standard_input):
    for name, text in [("v.toi", TOI), ("v.blt", BLT), ("v.cvotes", CVOTES)]:
        standard_input(text.encode())
        assert is_orders("-")
        assert open_orders("-") == open_orders(file(name, text))
    standard_input(b"a,b\n1 2,3\n")
    assert not is_orders("-")
