r"""Tables as people have them: what the command makes of each, or the sentence that refuses it.

Every row runs the real command up to the fit, which is put aside: what would be fitted is compared
with what is expected. Rankings are written as the blocks of each ranker, best first, with the
weight if it is not 1 (``ann: ale > bock = cider``); matches as the counts of the first winning, the
second winning, and ties (``ale-bock 2:0:1``).
"""

import bz2
import gzip
import io
import json
import lzma
import zipfile
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from click.testing import CliRunner

from bayesrank import cli
from bayesrank.cli import commands
from bayesrank.data import Rankings
from tests.test_cli import command, refuses

LONG = ("--ranker", "judge", "--item", "beer")
STARS = (*LONG, "--rating", "stars")
PLACE = (*LONG, "--rank", "place")
AB = ("--first", "a", "--second", "b", "--outcome", "won")


class Case(NamedTuple):
    """A file, the options, and what becomes of it."""

    content: str | bytes
    args: tuple[str, ...]
    becomes: str = ""  # rankings or matches, or else it is refused
    says: tuple[str, ...] = ()  # notes, or the error; without any there must be no note
    name: str = "t.csv"
    code: int = 1


def stars(*rows):
    return "\n".join(["judge,beer,stars", *rows]) + "\n"


def places(*rows):
    return "\n".join(["judge,beer,place", *rows]) + "\n"


def matches(*rows, head="a,b,won"):
    return "\n".join([head, *rows]) + "\n"


def zipped(*names):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in names:
            archive.writestr(name, TWO)
    return buffer.getvalue()


def parquet(**columns):
    buffer = io.BytesIO()
    pd.DataFrame(columns).to_parquet(buffer)
    return buffer.getvalue()


TWO = stars("ann,ale,5", "ann,bock,4", "ben,bock,3", "ben,ale,1")
CATEGORIES = {
    "a": pd.Categorical(["y", "x", "z"]),
    "b": pd.Categorical(["x", "y", "x"], categories=["y", "x"]),
    "won": pd.Categorical(["first", "second", "second"]),
}
BECOMES = "ann: ale > bock; ben: bock > ale"
SOC = """# DATA TYPE: soc
# NUMBER ALTERNATIVES: 3
# NUMBER VOTERS: 5
# ALTERNATIVE NAME 1: Ann
# ALTERNATIVE NAME 2: Bo\u2028the second
# ALTERNATIVE NAME 3: Cy
3: 2,1,3
2: 1,{2,3}
"""
WIDE = "who,ale,bock,cider,n\nann,1,2,3,2\nben,2,1,,1\n"
LINES = "line 2: ale > bock; line 3: bock > ale"

CASES = {
    # labels are text
    "numbers with leading zeros": Case(
        stars("ann,007,5", "ann,7,4", "ben,7,3", "ben,007,1"), STARS,
        "ann: 007 > 7; ben: 7 > 007",
    ),
    "numbers in two notations": Case(
        stars("ann,1e1,5", "ann,10,4", "ann,10.0,3"), STARS, "ann: 1e1 > 10 > 10.0"
    ),
    "truth values": Case(stars("ann,True,5", "ann,1,4", "ann,TRUE,2"), STARS,
                         "ann: True > 1 > TRUE"),
    "identifiers of 17 digits": Case(
        stars("ann,12345678901234567,5", "ann,12345678901234568,4"), STARS,
        "ann: 12345678901234567 > 12345678901234568",
    ),
    "words for missing values are labels": Case(
        stars("ann,NA,5", "ann,nan,4", "ann,null,3"), STARS, "ann: NA > nan > null"
    ),
    "dates": Case(stars("ann,2024-01-02,5", "ann,01/02/2024,4"), STARS,
                  "ann: 2024-01-02 > 01/02/2024"),
    "rankers that are numbers": Case(
        stars("01,ale,5", "01,bock,4", "1,bock,3", "1,ale,1"), STARS,
        "01: ale > bock; 1: bock > ale",
    ),
    "spaces around cells": Case(
        "judge, beer, stars\nann, ale, 5\nann, bock, 4\n", STARS, "ann: ale > bock",
        ("the spaces around 6 cells left out",),
    ),
    "quotes, commas and ends of lines in names": Case(
        stars('ann,"a ""b"", c",5', 'ann,"two\nlines",4'), STARS, 'ann: a "b", c > two\nlines'
    ),
    "a missing label": Case(
        stars("ann,ale,5", "ann,,4", ",bock,4"), STARS,
        says=("Column 'judge' has a missing label in line 4. Write it, or leave such rows out",),
    ),
    "a missing label that may go": Case(
        stars("ann,ale,5", "ann,,4", "ann,bock,3"), (*STARS, "--missing", "drop"),
        "ann: ale > bock", ("1 of 3 rows is without a label in 'judge' or 'beer', and left out.",),
    ),
    "a missing label in another column that may go": Case(
        "judge,beer,stars,kind\nann,ale,5,x\nann,bock,4,x\nann,cider,3,\n",
        (*STARS, "--by", "kind", "--missing", "drop"), "ann [x]: ale > bock",
        ("1 of 3 rows is without a label in 'judge', 'beer' or 'kind', and left out.",),
    ),
    "names of far away": Case(
        stars("ann,\u9752\u5cf6,5", "ann,\u0628\u064a\u0631\u0629,4", "ann,\U0001f37a,3"), STARS,
        "ann: \u9752\u5cf6 > \u0628\u064a\u0631\u0629 > \U0001f37a",
    ),
    "names that differ in case": Case(stars("ann,Ale,5", "ann,ale,4"), STARS, "ann: Ale > ale"),
    "a name of 100,000 characters": Case(
        stars(f"ann,{'x' * 100_000},5", "ann,ale,4"), STARS, f"ann: {'x' * 100_000} > ale"
    ),
    "formulas and escapes in names": Case(
        stars("ann,=cmd|' /C calc'!A0,5", "ann,\x1b[31mred,3"), STARS,
        "ann: =cmd|' /C calc'!A0 > \x1b[31mred",
    ),
    "no such column": Case("Judge,Beer\nann,ale\n", STARS,
                           says=("t.csv has no column 'judge'; its columns are 'Judge', 'Beer'",)),
    # numbers
    "digits of other scripts": Case(stars("ann,ale,\u0664", "ann,bock,\uff15"), STARS,
                                    "ann: bock > ale"),
    "ranks that are shared and leave gaps": Case(
        places("a,ale,1.5", "a,bock,1.5", "a,cider,9"), PLACE, "a: ale = bock > cider"
    ),
    "ratings of 400 digits": Case(
        stars(f"ann,ale,{'9' * 400}", "ann,bock,4"), STARS,
        says=("A rating must be a number between 1e-308 and 1e308 in size, or 0; column 'stars'",),
    ),
    "ratings beyond what a number holds apart": Case(
        stars("ann,ale,1.00000000000000001", "ann,bock,1.00000000000000002"), STARS,
        says=("which agree in the first 16 digits: a rating holds no more.",),
    ),
    "whole ratings of 17 digits": Case(
        stars("ann,ale,12345678901234567", "ann,bock,12345678901234568"), STARS,
        "ann: bock > ale",
    ),
    "whole ratings of 17 digits, and one that is missing": Case(
        stars("ann,ale,12345678901234567", "ann,bock,12345678901234568", "ann,cider,"), STARS,
        says=("which agree in the first 16 digits",),
    ),
    "a rating that is none": Case(
        stars("ann,ale,5", "ann,bock,good"), STARS,
        says=("column 'stars' has 'good' in line 3. Correct the 1 row without a number",),
    ),
    "a minus sign of typesetters": Case(stars("ann,ale,\u22125", "ann,bock,4"), STARS,
                                        "ann: bock > ale"),
    "decimal commas": Case(
        "judge;beer;stars\nann;ale;4,5\nann;bock;4,25\n", STARS, "ann: ale > bock",
        ("semicolons between columns", "Column 'stars' is read with decimal commas."),
    ),
    "commas that may be thousands": Case(
        stars('ann,ale,"1,500"', 'ann,bock,"2,500"'), STARS,
        says=("'1,500' in line 2, which may be 1500 or 1.500.",),
    ),
    "commas that are said to be decimal": Case(
        stars('ann,ale,"1,500"', 'ann,bock,"2,500"'), (*STARS, "--decimal", ","),
        "ann: bock > ale",
    ),
    "places as they are said": Case(
        places("a,ale,1st", "a,bock,T2", "a,cider,=2", "a,mead,4", "a,port,5th"), PLACE,
        "a: ale > bock = cider > mead > port", ("Column 'place' is read with '1st' as 1,",),
    ),
    "places as they are said, and retirements": Case(
        places("a,ale,1.", "a,bock,2.", "a,cider,Ret"), (*PLACE, "--last-block", "Ret"),
        "a: ale > bock > cider", ("with '1.' as 1,", "1 of 3 entries is put last"),
    ),
    "places and codes that nobody named": Case(
        places("a,ale,1", "a,bock,T2", "a,cider,Ret", "a,mead,DNF"), PLACE,
        says=("has 'Ret' in line 4. Correct the 2 rows",),
    ),
    "places that are given as ratings": Case(
        places("a,ale,1", "a,bock,2"), (*LONG, "--rating", "place"), "a: bock > ale",
        ("Column 'place' is read as a rating, high being good: if 1 is best, it is --rank.",),
    ),
    "codes for what is not there": Case(
        stars("a,ale,5", "a,bock,skip", "a,cider,4", "a,mead,?"),
        (*STARS, "--empty", "skip, ?"), "a: ale > cider",
        ("2 cells hold skip, ? and are taken for empty.", "2 of 4 entries have no rating"),
    ),
    "codes for what is not there, which nobody wrote": Case(
        TWO, (*STARS, "--empty", "skip"), BECOMES, ("No cell holds skip: --empty changes nothing",)
    ),
    "decimal commas beside a code": Case(
        "judge;beer;stars\nann;ale;4,5\nann;bock;k.A.\nann;cider;4,25\n", STARS,
        says=("has 'k.A.' in line 3. Correct the 1 row without a number, or leave it out. If",),
    ),
    "decimal commas beside a code that is named": Case(
        "judge;beer;stars\nann;ale;4,5\nann;bock;k.A.\nann;cider;4,25\n",
        (*STARS, "--empty", "k.A."), "ann: ale > cider", ("1 cell holds k.A. and is taken for",),
    ),
    "shares": Case(stars("a,ale,45%", "a,bock,7.5 %"), STARS, "a: ale > bock",
                   ("with '45%' as 45,",)),
    "shares and numbers": Case(stars("a,ale,45%", "a,bock,0.5"), STARS,
                               says=("column 'stars' has '45%' in line 2",)),
    "times": Case(stars("a,ale,3:45.2", "a,bock,4:01.0"), STARS,
                  says=("No value in it is one: name another column.",)),
    "infinite": Case(stars("ann,ale,inf", "ann,bock,4"), STARS, says=("has 'inf' in line 2",)),
    "a column of words": Case(stars("ann,ale,x", "ann,bock,y"), STARS,
                              says=("No value in it is one: name another column.",)),
    # missing values, repeats, codes
    "ratings that are missing": Case(
        stars("ann,ale,5", "ann,bock,", "ann,cider,NA", "ann,mead,1"), STARS, "ann: ale > mead",
        ("2 of 4 entries have no rating and are left out, as not ranked; with --missing last",),
    ),
    "ratings that are missing and refused": Case(
        stars("ann,ale,5", "ann,bock,"), (*STARS, "--missing", "refuse"),
        says=("1 of 2 entries has no rating, the first in line 3. Say what that means: --missing",),
    ),
    "ranks that are missing": Case(
        places("ann,ale,1", "ann,bock,2", "ann,cider,"), PLACE,
        says=("1 of 3 entries has no rank, the first in line 4. Say what that means",),
    ),
    "ranks that are missing and last": Case(
        places("ann,ale,1", "ann,bock,2", "ann,cider,", "ann,mead,"),
        (*PLACE, "--missing", "last"), "ann: ale > bock > cider = mead",
        ("2 of 4 entries have no rank: they are put last",),
    ),
    "ranks that are missing and dropped": Case(
        places("ann,ale,1", "ann,bock,2", "ben,ale,"), (*PLACE, "--missing", "drop"),
        "ann: ale > bock", ("1 of 3 entries has no rank and is left out", "1 of 2 rankings is"),
    ),
    "nothing but missing": Case(stars("ann,ale,", "ann,bock,"), STARS,
                                says=("No row has a rating, so the data say nothing",)),
    "retirements without a word on them": Case(
        places("a,ale,1", "a,bock,Ret"), PLACE,
        says=("name it: --last-block 'Ret'. If it says nothing: --empty 'Ret'.",),
    ),
    "retirements": Case(
        places("a,ale,1", "a,bock,Ret", "a,cider,2", "a,mead,dnf"),
        (*PLACE, "--last-block", "Ret,DNF"), "a: ale > cider > bock = mead",
        ("2 of 4 entries are put last in their rankings, in one block: Ret, DNF.",),
    ),
    "retirements that nobody had": Case(
        places("a,ale,1", "a,bock,2"), (*PLACE, "--last-block", "DSQ"), "a: ale > bock",
        ("No cell holds DSQ: --last-block changes nothing.",),
    ),
    "rows that repeat": Case(
        stars("ann,ale,5", "ann,bock,4", "ann,ale,5"), STARS, "ann: ale > bock",
        ("1 row repeats another exactly and is left out.",),
    ),
    "rows that contradict": Case(
        stars("ann,ale,5", "ann,bock,4", "ann,ale,3"), STARS,
        says=("Ranking 'ann' holds item 'ale' twice, with 5 in line 2 and 3 in line 4.",),
    ),
    "several rankings of a ranker": Case(
        "judge,day,beer,stars\nann,1,ale,5\nann,1,bock,4\nann,2,ale,3\nann,2,bock,4\n",
        (*STARS, "--ranking", "day"), "ann: ale > bock; ann: bock > ale",
    ),
    "weights": Case(
        "judge,beer,stars,n\nann,ale,5,7\nann,bock,4,7\nben,ale,3,2\nben,bock,4,2\n",
        (*STARS, "--weight", "n"), "ann (7): ale > bock; ben (2): bock > ale",
    ),
    "weights that differ in a ranking": Case(
        "judge,beer,stars,n\nann,ale,5,7\nann,bock,4,8\n", (*STARS, "--weight", "n"),
        says=("The weight of a ranking must be the same in all its rows",),
    ),
    "categories": Case(
        "judge,beer,stars,kind\nann,ale,5,x\nann,bock,4,x\nben,ale,1,y\nben,bock,2,y\n",
        (*STARS, "--by", "kind"), "ann [x]: ale > bock; ben [y]: bock > ale",
    ),
    "categories of a table that is wide": Case(
        "kind,ale,bock\nx,1,2\ny,2,1\n", ("--wide", "ranks", "--by", "kind"),
        "line 2 [x]: ale > bock; line 3 [y]: bock > ale",
    ),
    "a ranking in two categories": Case(
        "judge,beer,stars,kind\nann,ale,5,x\nann,bock,4,y\n", (*STARS, "--by", "kind"),
        says=("ranking 'ann' has 'y' in column 'kind' of line 3, and another one before.",),
    ),
    "one category": Case(
        "judge,beer,stars,kind\nann,ale,5,x\nann,bock,4,x\n", (*STARS, "--by", "kind"),
        "ann [x]: ale > bock",
    ),
    "a weight below zero": Case(
        "judge,beer,stars,n\nann,ale,5,-7\nann,bock,4,-7\n", (*STARS, "--weight", "n"),
        says=("A weight must be positive and finite; ranking 'ann' has -7.0.",),
    ),
    "a date that is none": Case(
        "judge,beer,stars,day\nann,ale,5,May\nann,bock,4,May\n", (*STARS, "--date", "day"),
        says=("In line 2: The day 'May' is no date that can be read in one way only.",),
    ),
    "a weight that is missing": Case(
        "judge,beer,stars,n\nann,ale,5,7\nann,bock,4,\n", (*STARS, "--weight", "n"),
        says=("column 'n' is empty in line 3.",),
    ),
    # files
    "tabs in a csv": Case(TWO.replace(",", "\t"), STARS, BECOMES, ("tabs between columns",)),
    "bars": Case(TWO.replace(",", "|"), STARS, BECOMES, ("bars between columns",)),
    "commas in a tsv": Case(TWO, STARS, BECOMES, ("commas between columns",), "t.tsv"),
    "a separator that is said": Case(TWO.replace(",", "~"), (*STARS, "--separator", "~"), BECOMES,
                                     ("'~' between columns",)),
    "a byte order mark": Case(TWO.encode("utf-8-sig"), STARS, BECOMES),
    "UTF-16": Case(TWO.encode("utf-16"), STARS, BECOMES, ("read with UTF-16",)),
    "UTF-16 without a mark": Case(TWO.encode("utf-16-le"), STARS, BECOMES, ("UTF-16-LE",)),
    "Latin-1": Case(
        stars("ann,Café,5").encode("latin-1"), STARS,
        says=("it is not UTF-8: line 2 has the byte 0xe9. In Latin-1 the line reads 'ann,Café,5'",),
    ),
    "Latin-1 that is said": Case(
        stars("ann,Café,5", "ann,ale,4").encode("latin-1"), (*STARS, "--encoding", "latin-1"),
        "ann: Café > ale", ("LATIN-1",),
    ),
    "an encoding that is none": Case(TWO, (*STARS, "--encoding", "klingon"),
                                     says=("there is no encoding 'klingon'.",)),
    "ends of lines of old": Case(TWO.replace("\n", "\r"), STARS, BECOMES),
    "ends of lines of Windows, and empty lines": Case(
        "\r\n" + TWO.replace("\n", "\r\n\r\n") + ",,\r\n", STARS, BECOMES
    ),
    "lines are counted behind names of two lines": Case(
        stars('ann,"two\nlines",4', "ann,ale,x"), STARS, says=("has 'x' in line 4.",)
    ),
    "gz": Case(gzip.compress(TWO.encode()), STARS, BECOMES, name="t.csv.gz"),
    "bz2": Case(bz2.compress(TWO.encode()), STARS, BECOMES, name="t.csv.bz2"),
    "xz": Case(lzma.compress(TWO.encode()), STARS, BECOMES, name="t.csv.xz"),
    "zst": Case(pa.compress(TWO.encode(), "zstd", asbytes=True), STARS, BECOMES,
                name="t.csv.zst"),
    "zip": Case(zipped("t.csv"), STARS, BECOMES, name="t.csv.zip"),
    "zip of two": Case(zipped("t.csv", "u.csv"), STARS, says=("it holds 2 files, not one.",),
                       name="t.csv.zip"),
    "gz that is cut off": Case(gzip.compress(TWO.encode())[:30], STARS,
                               says=("t.csv.gz is not a readable csv table",), name="t.csv.gz"),
    "Parquet": Case(
        parquet(judge=["ann", "ann"], beer=[7, 10], stars=[5.0, 4.0]), STARS, "ann: 7 > 10",
        name="t.parquet",
    ),
    "a sheet that is none": Case(b"PK", STARS, says=("t.xlsx",), name="t.xlsx"),
    "an old sheet": Case(b"\xd0\xcf", STARS, says=("t.xls is none of the tables known",),
                         name="t.xls"),
    "a sheet that is a table of text": Case(TWO, STARS, says=("it is not an Excel sheet",),
                                             name="t.xlsx"),
    "a sheet that is called a table of text": Case(
        b"PK\x03\x04\0\0", STARS, says=("but an Excel sheet (.xlsx) or an archive (.zip): give it",)
    ),
    "Parquet that is called a table of text": Case(
        parquet(judge=["a"], beer=["b"], stars=[1]), STARS, says=("but a Parquet file (.parquet)",)
    ),
    "gz without its name": Case(gzip.compress(TWO.encode()), STARS,
                                says=("but what gzip (.gz) compresses: give it a name",)),
    "bytes of zero": Case(TWO.replace("ale", "a\0le"), STARS, says=("line 2 has a byte of zero",)),
    "tabs that are compressed": Case(gzip.compress(TWO.replace(",", "\t").encode()), STARS, BECOMES,
                                     name="t.tsv.gz"),
    "another kind of file": Case("[]", STARS, says=("t.json is none of the tables known",),
                                 name="t.json"),
    "a line of Excel that says what separates": Case(
        "sep=;\n" + TWO.replace(",", ";"), STARS, BECOMES, ("semicolons between columns",)
    ),
    "an empty file": Case("", STARS, says=("t.csv is empty.",)),
    "empty lines alone": Case("\n\n", STARS, says=("t.csv is empty.",)),
    "a header alone": Case("judge,beer,stars\n", STARS, says=("has a header and no rows.",)),
    "rows longer than the header": Case(
        stars("ann,ale,5,7", "ann,bock,4"), STARS,
        says=("line 2 has 4 fields, and the header in line 1 has 3 names",),
    ),
    "a column twice": Case("judge,beer,stars,stars\nann,ale,5,1\n", STARS,
                           says=("has 2 columns called 'stars'; rename them.",)),
    "a title above the header": Case(
        "Tasting of 2024\n\njudge,beer,stars\nann,ale,5\n", STARS,
        says=("line 3 has 3 fields, and the header in line 1 has 1 name: 'Tasting of 2024'. C",),
    ),
    "an index without a name": Case(",judge,beer,stars\n0,ann,ale,5\n1,ann,bock,4\n", STARS,
                                    "ann: ale > bock"),
    "a quote that is not closed": Case('judge,beer,stars\nann,"ale,5\nann,bock,4\n', STARS,
                                       says=("t.csv is not a readable csv table",)),
    "a separator of two characters": Case(
        TWO, (*STARS, "--separator", "ab"), says=("A separator must be one character, such as",),
    ),
    "matches by a separator of two characters": Case(
        matches("x,y,first"), (*AB, "--separator", "ab"), says=("A separator must be one char",),
    ),
    "a group with a slash": Case(
        matches("x,y,first,1", head="a,b,won,day/month"), (*AB, "--group", "day/month"),
        says=("--group 'day/month' cannot be a name in the file of the results: it has '/', or",),
        code=2,
    ),
    "a group of the name of an axis": Case(
        matches("x,y,first,1", head="a,b,won,draw"), (*AB, "--group", "draw"),
        says=("--group 'draw' cannot be a name in the file of the results: it has '/', or is one",),
        code=2,
    ),
    "Parquet with categories": Case(
        parquet(judge=pd.Categorical(["b", "b", "a"]), beer=pd.Categorical(["x", "y", "x"]),
                stars=pd.Categorical(["1", "2", "3"])),
        STARS, "b: y > x; a: x", ("1 of 2 rankings holds one item",), name="t.parquet",
    ),
    "matches in Parquet with categories": Case(
        parquet(**CATEGORIES), (*AB, "--no-order"), "x-y 0:2:0; x-z 1:0:0", name="t.parquet",
    ),
    "winners in Parquet with categories": Case(
        parquet(**CATEGORIES), ("--winner", "a", "--loser", "b"), "x-y 1:1:0; x-z 0:1:0",
        name="t.parquet",
    ),
    "Parquet with lists": Case(
        parquet(judge=["ann"], beer=[["ale"]], stars=[1]), STARS, name="t.parquet",
        says=("Column 'beer' of t.parquet must hold text, numbers or dates; it has ['ale'] in",),
    ),
    "Parquet with lists of numbers": Case(
        parquet(judge=["ann"], beer=["ale"], stars=[[1, 2]]), STARS, name="t.parquet",
        says=("Column 'stars' of t.parquet must hold text, numbers or dates; it has [1, 2] in",),
    ),
    "Parquet with structs": Case(
        parquet(a=[{"x": 1}], b=["y"], won=["first"]), AB, name="t.parquet",
        says=("Column 'a' of t.parquet must hold text, numbers or dates; it has {'x': 1} in",),
    ),
    "Parquet with lists in other columns": Case(
        parquet(judge=["ann", "ann"], beer=["ale", "bock"], stars=[2, 1], more=[[1], [2]]), STARS,
        "ann: ale > bock", name="t.parquet",
    ),
    "Parquet with bytes": Case(
        parquet(judge=["ann"], beer=[b"ale"], stars=[1]), STARS, name="t.parquet",
        says=("Column 'beer' of t.parquet must hold text, numbers or dates; it has b'ale' in",),
    ),
    "a number beyond all": Case(
        stars("ann,ale,1e99999999999999999999"), STARS,
        says=("A rating must be a number between 1e-308 and 1e308 in size, or 0; column 'stars'",),
    ),
    "a count of 400 digits": Case(
        SOC.replace("3: 2", f"{'9' * 400}: 2"), (), name="t.soc",
        says=("has a number of 400 digits; numbers of voters and alternatives have 15 or fewer",),
    ),
    "a count of 5000 digits": Case(
        SOC.replace("3: 2", f"{'9' * 5000}: 2"), (), name="t.soc",
        says=("has a number of 5000 digits; numbers of voters and alternatives have 15 or fewer",),
    ),
    "a long name of a column": Case(
        f"judge,beer,{'s' * 140_000}\nann,ale,1\n", STARS,
        says=("t.csv has no column 'stars'; its columns are 'judge', 'beer', 'ssss",),
    ),
    # other ways to write rankings
    "a column per item": Case(
        WIDE, ("--wide", "ranks", "--ranker", "who", "--weight", "n", "--missing", "drop"),
        "ann (2): ale > bock > cider; ben: bock > ale",
        ("1 of 6 entries has no rank and is left out, as not ranked",),
    ),
    "a column per item, what is missing last": Case(
        WIDE, ("--wide", "ranks", "--ranker", "who", "--weight", "n", "--missing", "last"),
        "ann (2): ale > bock > cider; ben: bock > ale > cider", ("they are put last",),
    ),
    "ratings, a column per item": Case("ale,bock\n5,4\n1,3\n", ("--wide", "ratings"), LINES),
    "some of the columns": Case(
        "ale,bock,age\n1,2,33\n2,1,44\n",
        ("--wide", "ranks", "--column", "ale", "--column", "bock"), LINES,
    ),
    "a row per item": Case(
        "beer,ann,ben\nale,1,3\nbock,2,1\ncider,3,2\n", ("--wide", "ranks", "--item", "beer"),
        "ann: ale > bock > cider; ben: bock > cider > ale",
    ),
    "ratings, a row per item": Case(
        "beer,ann,ben\nale,5,3\nbock,2,\n", ("--wide", "ratings", "--item", "beer"),
        "ann: ale > bock; ben: ale", ("1 of 4 entries has no rating", "1 of 2 rankings holds one"),
    ),
    "a row per item, taken for a row per ranking": Case(
        "beer,ann,ben\nale,1,3\nbock,2,1\ncider,3,2\n", ("--wide", "ranks", "--ranker", "beer"),
        says=("Each column has the ranks 1 to 3, and the rows have not: a row is an item here",),
    ),
    "a row per item, with who ranks": Case(
        "beer,ann\nale,1\n", ("--wide", "ranks", "--item", "beer", "--ranker", "beer"),
        says=("With --wide and --item a row is an item, and the columns are the rankers: leave",),
        code=2,
    ),
    "a column per place": Case(
        "1st,2nd,3rd\nale,bock,\nbock,ale,cider\n", ("--wide", "places", "--missing", "drop"),
        "line 2: ale > bock; line 3: bock > ale > cider",
    ),
    "a column per place, what is not named last": Case(
        "1st,2nd\nale,bock\nbock,cider\n", ("--wide", "places", "--missing", "last"),
        "line 2: ale > bock > cider; line 3: bock > cider > ale",
        ("Items that a ballot does not name are put last in it, in one block: 2 in all.",),
    ),
    "a code for no item": Case(
        "1st,2nd,3rd\nale,skipped,skipped\nbock,ale,skipped\n", ("--wide", "places"),
        says=("leave one out. If that stands for no item: --empty 'skipped'.",),
    ),
    "a code for no item, which is named": Case(
        "1st,2nd,3rd\nale,skipped,skipped\nbock,ale,skipped\n",
        ("--wide", "places", "--empty", "skipped", "--missing", "drop"),
        "line 2: ale; line 3: bock > ale",
        ("3 cells hold skipped and are taken for empty.", "1 of 2 rankings holds one item"),
    ),
    "a column of words beside those of items": Case(
        "who,ale,bock\nann,1,2\nben,2,1\n", ("--wide", "ranks"),
        says=("'who' has 'ann' in line 2. No value in it is one: name another column. Name those",),
    ),
    "a place twice": Case("1st,2nd\nale,ale\n", ("--wide", "places"),
                          says=("holds item 'ale' twice, with 1st in line 2 and 2nd in line 2",)),
    "ballots": Case(
        "ballot,n\nale > bock = cider,3\nbock,2\n",
        ("--ballot", "ballot", "--weight", "n", "--missing", "drop"),
        "line 2 (3): ale > bock = cider; line 3 (2): bock",
        ("1 of 2 rankings holds one item or one block",),
    ),
    "ballots that differ in length": Case(
        "b\nale > bock = cider\nbock > ale\n", ("--ballot", "b"),
        says=(
            "Rankings leave out items and differ in length: line 2 names 3 and line 3 names 2. Say",
            "With --missing last, these items come after all that the ranking names, as on",
            "With --missing drop, they were not presented, and the ranking says nothing about",
        ),
    ),
    "ballots that differ in length, what is not named last": Case(
        "b\nale > bock = cider\nbock > ale\n", ("--ballot", "b", "--missing", "last"),
        "line 2: ale > bock = cider; line 3: bock > ale > cider",
        ("Items that a ballot does not name are put last in it, in one block: 1 in all.",),
    ),
    "ballots that leave out as many": Case(
        "b\nale > bock\nbock > cider\n", ("--ballot", "b"),
        "line 2: ale > bock; line 3: bock > cider",
    ),
    "places without any item": Case(
        "n,1st,2nd\n2,ale,bock\n3,,\n1,bock,ale\n", ("--wide", "places", "--weight", "n"),
        "line 2 (2): ale > bock; line 4: bock > ale",
        ("1 of 3 rankings is without an item, and left out.",),
    ),
    "places that differ in number": Case(
        "1st,2nd,3rd\nale,bock,\nbock,ale,cider\n", ("--wide", "places"),
        says=("Rankings leave out items and differ in length: line 2 names 2 and line 3 names 3.",),
    ),
    "places that differ in number, refused": Case(
        "1st,2nd,3rd\nale,bock,\nbock,ale,cider\n", ("--wide", "places", "--missing", "refuse"),
        says=("Rankings leave out items and differ in length: line 2 names 2 and line 3 names 3.",),
    ),
    "a column per item, and rows that differ in length": Case(
        WIDE, ("--wide", "ranks", "--ranker", "who", "--weight", "n"),
        says=("Rankings leave out items and differ in length: line 2 names 3 and line 3 names 2.",),
    ),
    "positions in longer lists": Case(
        "ale,bock,cider\n4,7,9\n2,,8\n", ("--wide", "ranks"),
        "line 2: ale > bock > cider; line 3: ale > cider", ("1 of 6 entries has no rank and is",),
    ),
    "races with different numbers of starters": Case(
        places("ann,ale,1", "ann,bock,2", "ann,cider,3", "ben,bock,1", "ben,ale,2"), PLACE,
        "ann: ale > bock > cider; ben: bock > ale",
    ),
    "PrefLib with orders that differ in length": Case(
        SOC.replace("2: 1,{2,3}", "2: 1,3"), (), name="t.soi",
        says=("Rankings leave out items and differ in length: order 1 names 3 and order 2",),
    ),
    "PrefLib with orders that differ in length, the rest not presented": Case(
        SOC.replace("2: 1,{2,3}", "2: 1,3"), ("--missing", "drop"),
        "0 (3): Bo\u2028the second > Ann > Cy; 1 (2): Ann > Cy", name="t.soi",
    ),
    "PrefLib with orders that differ in length, the rest last": Case(
        SOC.replace("2: 1,{2,3}", "2: 1,3"), ("--missing", "last"),
        "0 (3): Bo\u2028the second > Ann > Cy; 1 (2): Ann > Cy > Bo\u2028the second", name="t.soi",
    ),
    "ballots with commas": Case('b\n"ale,bock"\n"bock,ale"\n', ("--ballot", "b"), LINES),
    "a ballot with nothing between signs": Case("b\nale>>bock\n", ("--ballot", "b"),
                                                says=("has 'ale>>bock' in line 2;",)),
    "PrefLib": Case(SOC, (), "0 (3): Bo\u2028the second > Ann > Cy; "
                    "1 (2): Ann > Bo\u2028the second = Cy", name="t.soc"),
    "PrefLib with an alternative twice": Case(
        SOC.replace("NAME 3", "NAME 1"), (), says=("line 6 names alternative 1 again",),
        name="t.toc",
    ),
    "PrefLib with columns": Case(SOC, PLACE, says=("leave the columns out",), name="t.soc", code=2),
    "PrefLib, incomplete": Case(
        SOC.replace("3: 2,1,3", "3: 2,3").replace("2: 1,{2,3}", "2: {1,3}"), (),
        "0 (3): Bo\u2028the second > Cy; 1 (2): Ann = Cy", ("no item is above another there",),
        name="t.toi",
    ),
    "PrefLib that is compressed": Case(
        gzip.compress(SOC.encode()), (),
        "0 (3): Bo\u2028the second > Ann > Cy; 1 (2): Ann > Bo\u2028the second = Cy",
        name="t.toc.gz",
    ),
    "PrefLib with a name twice": Case(
        SOC.replace("3: Cy", "3: Ann"), (),
        says=("line 6 names an alternative 'Ann', as another one before",), name="t.soc",
    ),
    "PrefLib with an alternative twice in an order": Case(
        SOC.replace("3: 2,1,3", "3: 2,1,2"), (), says=("line 7 names alternative 2 twice.",),
        name="t.soi",
    ),
    "LETOR": Case("2 qid:1 1:0.5 # d\n0 qid:1 1:0.1\n", STARS,
                  says=("t.txt holds judged documents (LETOR)",), name="t.txt"),
    # matches
    "first, second, tie": Case(matches("x,y,first", "x,y,second", "x,y,tie"), AB, "x-y 1:1:1"),
    "upper case": Case(matches("x,y,FIRST", "x,y,Second", "x,y,Draw"), AB, "x-y 1:1:1"),
    "1, 0, 0.5": Case(matches("x,y,1", "x,y,0", "x,y,0.5", "x,y,1.0"), AB, "x-y 2:1:1",
                      ("read with 1 as the first wins, 1.0 as the first wins, 0 as the second",)),
    "1, 2, X": Case(matches("x,y,1", "x,y,2", "x,y,X"), AB, "x-y 1:1:1", ("2 as the second wins",)),
    "1, 0, -1": Case(matches("x,y,1", "x,y,0", "x,y,-1"), AB, "x-y 1:1:1", ("0 as a tie",)),
    "H, D, A": Case(matches("x,y,H", "x,y,D", "x,y,A"), AB, "x-y 1:1:1", ("A as the second wins",)),
    "white and black": Case(matches("x,y,White", "x,y,black", "x,y,draw"), AB, "x-y 1:1:1",
                            ("White as the first wins",)),
    "whether the first won": Case(matches("x,y,True", "x,y,False"), AB, "x-y 1:1:0",
                                  ("True as the first wins",)),
    "won, lost": Case(matches("x,y,W", "x,y,L", "x,y,D"), AB, "x-y 1:1:1", ("W as the first",)),
    "results of chess": Case(matches("x,y,1-0", "x,y,1/2-1/2"), AB, "x-y 1:0:1", ("1-0 as the",)),
    "the name of the winner": Case(
        matches("x,y,x", "y,x,x", "x,y,draw"), AB, "x-y 1:0:1; y-x 0:1:0",
        ("is read as the name of the winner",),
    ),
    "a winner who did not play": Case(matches("x,y,x", "x,y,z"), AB,
                                      says=("column 'won' has 'x' in line 2",)),
    "names that may be sides": Case(matches("a,b,a", "b,a,a"), AB,
                                    says=("may hold the names of the winners, or say whether",)),
    "words that are said": Case(
        matches("x,y,Left", "x,y,right"), (*AB, "--first-wins", "left", "--second-wins", "Right"),
        "x-y 1:1:0",
    ),
    "words that nobody said": Case(matches("x,y,hooray"), AB,
                                   says=("must be 'first' (the first wins), 'second'",)),
    "winner and loser": Case(
        matches("x,y", "y,x", "x,y", head="w,l"), ("--winner", "w", "--loser", "l"), "x-y 2:1:0"
    ),
    "a winner without a loser": Case(matches("x,y", head="w,l"), ("--winner", "w"),
                                     says=("Missing option '--loser'",), code=2),
    "scores": Case(
        matches("x,y,3,1", "x,y,0,0", "y,x,2,10", head="a,b,s,t"),
        ("--first", "a", "--second", "b", "--score-a", "s", "--score-b", "t"),
        "x-y 1:0:1; y-x 0:1:0",
    ),
    "a match without a score": Case(
        matches("x,y,3,1", "x,y,,", head="a,b,s,t"),
        ("--first", "a", "--second", "b", "--score-a", "s", "--score-b", "t"),
        says=("Column 's' is empty in line 3: 1 of 2 matches has no outcome. With --missing drop",),
    ),
    "a match without an outcome that may go": Case(
        matches("x,y,first", "x,y,"), (*AB, "--missing", "drop"), "x-y 1:0:0",
        ("1 of 2 matches has an empty cell and is left out.",),
    ),
    "scores with decimal commas": Case(
        matches("x;y;3,5;2,5", head="a;b;s;t"),
        ("--first", "a", "--second", "b", "--score-a", "s", "--score-b", "t"), "x-y 1:0:0",
        ("Column 't' is read with decimal commas.",),
    ),
    "a winner that is missing": Case(
        matches("x,y", ",y", head="w,l"), ("--winner", "w", "--loser", "l"),
        says=("Column 'w' has a missing label in line 3.",),
    ),
    "neutral ground": Case(
        matches("x,y,first,no", "x,y,first,yes", "x,y,second,", head="a,b,won,n"),
        (*AB, "--neutral", "n"), "x-y (no) 1:1:0; x-y (yes) 1:0:0",
    ),
    "neutral ground that is neither": Case(
        matches("x,y,first,maybe", head="a,b,won,n"), (*AB, "--neutral", "n"),
        says=("column 'n' has 'maybe' in line 2",),
    ),
    "an item against itself": Case(matches("x,x,first"), AB, says=("with itself in line 2",)),
    "counts": Case(matches("x,y,first,3", head="a,b,won,n"), (*AB, "--count", "n"), "x-y 3:0:0"),
    "a count below zero": Case(
        matches("x,y,first,-2", head="a,b,won,n"), (*AB, "--count", "n"),
        says=("column 'n' has -2 in line 2",),
    ),
    "a count that is not whole": Case(
        matches("x,y,first,2.5", head="a,b,won,n"), (*AB, "--count", "n"),
        says=("column 'n' has 2.5 in line 2",),
    ),
}  # fmt: skip


def written(data):
    """Write rankings or matches as the table of cases does."""
    if isinstance(data, Rankings):
        out = []
        for row in range(data.n_rankings):
            blocks = [
                " = ".join(sorted(data.items[data.item[row][data.ranks[row] == rank]]))
                for rank in range(1, data.ranks[row].max() + 1)
            ]
            weight = f" ({data.weight[row]:g})" if data.weight[row] != 1 else ""
            group = data.groups.get("category")
            kind = f" [{group.labels[group.idx[row]]}]" if group else ""
            who = data.rankers[data.ranker_idx[row]]
            out.append(f"{who}{kind}{weight}: {' > '.join(blocks)}")
        return "; ".join(out)
    neutral = data.groups.get("neutral")
    rows = []
    for k, (one, other) in enumerate(zip(data.first, data.second, strict=True)):
        where = f" ({neutral.labels[neutral.idx[k]]})" if neutral else ""
        counts = ":".join(map(str, data.counts[k]))
        rows.append(f"{data.items[one]}-{data.items[other]}{where} {counts}")
    return "; ".join(rows)


@pytest.fixture
def fitted(tmp_path, monkeypatch):
    """Work in an empty folder, and put the fit aside."""
    monkeypatch.chdir(tmp_path)
    jobs = []
    monkeypatch.setattr(commands, "run", lambda job, talk: jobs.append(job))
    return jobs


@pytest.mark.parametrize("case", CASES)
def test_a_table_is_read_or_refused_with_a_sentence(fitted, tmp_path, case):
    content, args, becomes, says, name, code = CASES[case]
    content = content if isinstance(content, bytes) else content.encode()
    (tmp_path / name).write_bytes(content)
    of_matches = {"--first", "--winner"} & set(args)
    result = CliRunner().invoke(cli.main, ["matches" if of_matches else "rank", name, *args])
    if becomes:
        assert result.exit_code == 0, result.output
        (job,) = fitted
        assert written(job.data) == becomes
        assert says or "Note:" not in result.stderr
        assert job.seen().sum() > 0
    else:
        refuses(result, says[0], code)
        assert fitted == []
    for sentence in says:
        assert sentence in result.stderr


def test_the_table_of_cases_is_long_and_both_ends_are_in_it():
    ends = np.array([bool(case.becomes) for case in CASES.values()])
    assert len(ends) >= 60
    assert 20 <= ends.sum() <= len(ends) - 20


WHOLE = {  # what follows the name of the file, and the first and last of the table
    "retirements": (
        "race;car;place\n" + "".join(
            f"{race};ale;1\n{race};bock;2\n{race};007;3\n{race};7;DNF\n" for race in range(12)
        ),
        ("rank", "--ranker", "race", "--item", "car", "--rank", "place", "--last-block", "DNF"),
        ("ale", "7"),
    ),
    "ballots": (
        "ballot,n\nale > bock = cider,9\nbock > cider,5\n",
        ("rank", "--ballot", "ballot", "--weight", "n", "--missing", "last"),
        ("ale", "cider"),
    ),
    "winners": (
        "w,l\n" + "ale,bock\n" * 9 + "bock,cider\n" * 9 + "cider,ale\n",
        ("matches", "--winner", "w", "--loser", "l"),
        ("ale", "cider"),
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", WHOLE)
def test_a_whole_run_of_a_table_that_is_not_usual(tmp_path, case):
    content, (name, *args), ends = WHOLE[case]
    (tmp_path / "t.csv").write_text(content, encoding="utf-8")
    out = tmp_path / "out"
    few = ("--draws", 400, "--tune", 300, "--chains", 2, "--seed", 1, "--output-dir", out)
    result = command(name, tmp_path / "t.csv", *args, *few)
    table = pd.read_csv(out / "ranks.csv", dtype={"item": str})
    assert (table["item"].iloc[0], table["item"].iloc[-1]) == ends
    assert f"{ends[0]} leads: mean rank" in result.stdout
    again = command("report", out / "posterior.nc", "--output-dir", tmp_path / "again", "--json")
    said = json.loads(again.stdout)
    assert [row["item"] for row in said["ranks"]] == table["item"].tolist()
    assert (tmp_path / "again" / "ranks.csv").read_bytes() == (out / "ranks.csv").read_bytes()
