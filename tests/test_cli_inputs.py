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
import re
import zipfile
from typing import NamedTuple

import pandas as pd
import pyarrow as pa
import pytest
from click.testing import CliRunner

from bayesrank import cli
from bayesrank.cli import commands
from bayesrank.data import Rankings
from tests.commands import command

LONG = ("--ranker", "judge", "--item", "beer")
STARS = (*LONG, "--rating", "stars")
PLACE = (*LONG, "--rank", "place")
AB = ("--first", "a", "--second", "b", "--outcome", "won")


class Case(NamedTuple):
    """A file and the options: the golden file has what becomes of it."""

    content: str | bytes
    args: tuple[str, ...]
    name: str = "t.csv"


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
    ),
    "numbers in two notations": Case(stars("ann,1e1,5", "ann,10,4", "ann,10.0,3"), STARS),
    "truth values": Case(stars("ann,True,5", "ann,1,4", "ann,TRUE,2"), STARS),
    "identifiers of 17 digits": Case(
        stars("ann,12345678901234567,5", "ann,12345678901234568,4"), STARS,
    ),
    "words for missing values are labels": Case(
        stars("ann,NA,5", "ann,nan,4", "ann,null,3"), STARS,
    ),
    "dates": Case(stars("ann,2024-01-02,5", "ann,01/02/2024,4"), STARS),
    "rankers that are numbers": Case(stars("01,ale,5", "01,bock,4", "1,bock,3", "1,ale,1"), STARS),
    "spaces around cells": Case("judge, beer, stars\nann, ale, 5\nann, bock, 4\n", STARS),
    "quotes, commas and ends of lines in names": Case(
        stars('ann,"a ""b"", c",5', 'ann,"two\nlines",4'), STARS,
    ),
    "a missing label": Case(stars("ann,ale,5", "ann,,4", ",bock,4"), STARS),
    "a missing label that may go": Case(
        stars("ann,ale,5", "ann,,4", "ann,bock,3"), (*STARS, "--missing", "drop"),
    ),
    "a missing label in another column that may go": Case(
        "judge,beer,stars,kind\nann,ale,5,x\nann,bock,4,x\nann,cider,3,\n",
        (*STARS, "--by", "kind", "--missing", "drop"),
    ),
    "names of far away": Case(
        stars("ann,\u9752\u5cf6,5", "ann,\u0628\u064a\u0631\u0629,4", "ann,\U0001f37a,3"), STARS,
    ),
    "names that differ in case": Case(stars("ann,Ale,5", "ann,ale,4"), STARS),
    "a name of 100,000 characters": Case(stars(f"ann,{'x' * 100_000},5", "ann,ale,4"), STARS),
    "formulas and escapes in names": Case(
        stars("ann,=cmd|' /C calc'!A0,5", "ann,\x1b[31mred,3"), STARS,
    ),
    "no such column": Case("Judge,Beer\nann,ale\n", STARS),
    # numbers
    "digits of other scripts": Case(stars("ann,ale,\u0664", "ann,bock,\uff15"), STARS),
    "ranks that are shared and leave gaps": Case(
        places("a,ale,1.5", "a,bock,1.5", "a,cider,9"), PLACE,
    ),
    "ratings of 400 digits": Case(stars(f"ann,ale,{'9' * 400}", "ann,bock,4"), STARS),
    "ratings beyond what a number holds apart": Case(
        stars("ann,ale,1.00000000000000001", "ann,bock,1.00000000000000002"), STARS,
    ),
    "whole ratings of 17 digits": Case(
        stars("ann,ale,12345678901234567", "ann,bock,12345678901234568"), STARS,
    ),
    "whole ratings of 17 digits, and one that is missing": Case(
        stars("ann,ale,12345678901234567", "ann,bock,12345678901234568", "ann,cider,"), STARS,
    ),
    "a rating that is none": Case(stars("ann,ale,5", "ann,bock,good"), STARS),
    "a minus sign of typesetters": Case(stars("ann,ale,\u22125", "ann,bock,4"), STARS),
    "decimal commas": Case("judge;beer;stars\nann;ale;4,5\nann;bock;4,25\n", STARS),
    "commas that may be thousands": Case(stars('ann,ale,"1,500"', 'ann,bock,"2,500"'), STARS),
    "commas that are said to be decimal": Case(
        stars('ann,ale,"1,500"', 'ann,bock,"2,500"'), (*STARS, "--decimal", ","),
    ),
    "places as they are said": Case(
        places("a,ale,1st", "a,bock,T2", "a,cider,=2", "a,mead,4", "a,port,5th"), PLACE,
    ),
    "places as they are said, and retirements": Case(
        places("a,ale,1.", "a,bock,2.", "a,cider,Ret"), (*PLACE, "--last-block", "Ret"),
    ),
    "places and codes that nobody named": Case(
        places("a,ale,1", "a,bock,T2", "a,cider,Ret", "a,mead,DNF"), PLACE,
    ),
    "places that are given as ratings": Case(
        places("a,ale,1", "a,bock,2"), (*LONG, "--rating", "place"),
    ),
    "codes for what is not there": Case(
        stars("a,ale,5", "a,bock,skip", "a,cider,4", "a,mead,?"), (*STARS, "--empty", "skip, ?"),
    ),
    "codes for what is not there, which nobody wrote": Case(TWO, (*STARS, "--empty", "skip")),
    "decimal commas beside a code": Case(
        "judge;beer;stars\nann;ale;4,5\nann;bock;k.A.\nann;cider;4,25\n", STARS,
    ),
    "decimal commas beside a code that is named": Case(
        "judge;beer;stars\nann;ale;4,5\nann;bock;k.A.\nann;cider;4,25\n",
        (*STARS, "--empty", "k.A."),
    ),
    "shares": Case(stars("a,ale,45%", "a,bock,7.5 %"), STARS),
    "shares and numbers": Case(stars("a,ale,45%", "a,bock,0.5"), STARS),
    "times": Case(stars("a,ale,3:45.2", "a,bock,4:01.0"), STARS),
    "infinite": Case(stars("ann,ale,inf", "ann,bock,4"), STARS),
    "a column of words": Case(stars("ann,ale,x", "ann,bock,y"), STARS),
    # missing values, repeats, codes
    "ratings that are missing": Case(
        stars("ann,ale,5", "ann,bock,", "ann,cider,NA", "ann,mead,1"), STARS,
    ),
    "ratings that are missing and refused": Case(
        stars("ann,ale,5", "ann,bock,"), (*STARS, "--missing", "refuse"),
    ),
    "ranks that are missing": Case(places("ann,ale,1", "ann,bock,2", "ann,cider,"), PLACE),
    "ranks that are missing and last": Case(
        places("ann,ale,1", "ann,bock,2", "ann,cider,", "ann,mead,"), (*PLACE, "--missing", "last"),
    ),
    "ranks that are missing and dropped": Case(
        places("ann,ale,1", "ann,bock,2", "ben,ale,"), (*PLACE, "--missing", "drop"),
    ),
    "nothing but missing": Case(stars("ann,ale,", "ann,bock,"), STARS),
    "retirements without a word on them": Case(places("a,ale,1", "a,bock,Ret"), PLACE),
    "retirements": Case(
        places("a,ale,1", "a,bock,Ret", "a,cider,2", "a,mead,dnf"),
        (*PLACE, "--last-block", "Ret,DNF"),
    ),
    "retirements that nobody had": Case(
        places("a,ale,1", "a,bock,2"), (*PLACE, "--last-block", "DSQ"),
    ),
    "rows that repeat": Case(stars("ann,ale,5", "ann,bock,4", "ann,ale,5"), STARS),
    "rows that contradict": Case(stars("ann,ale,5", "ann,bock,4", "ann,ale,3"), STARS),
    "several rankings of a ranker": Case(
        "judge,day,beer,stars\nann,1,ale,5\nann,1,bock,4\nann,2,ale,3\nann,2,bock,4\n",
        (*STARS, "--ranking", "day"),
    ),
    "weights": Case(
        "judge,beer,stars,n\nann,ale,5,7\nann,bock,4,7\nben,ale,3,2\nben,bock,4,2\n",
        (*STARS, "--weight", "n"),
    ),
    "weights that differ in a ranking": Case(
        "judge,beer,stars,n\nann,ale,5,7\nann,bock,4,8\n", (*STARS, "--weight", "n"),
    ),
    "categories": Case(
        "judge,beer,stars,kind\nann,ale,5,x\nann,bock,4,x\nben,ale,1,y\nben,bock,2,y\n",
        (*STARS, "--by", "kind"),
    ),
    "categories of a table that is wide": Case(
        "kind,ale,bock\nx,1,2\ny,2,1\n", ("--wide", "ranks", "--by", "kind"),
    ),
    "a ranking in two categories": Case(
        "judge,beer,stars,kind\nann,ale,5,x\nann,bock,4,y\n", (*STARS, "--by", "kind"),
    ),
    "one category": Case(
        "judge,beer,stars,kind\nann,ale,5,x\nann,bock,4,x\n", (*STARS, "--by", "kind"),
    ),
    "a weight below zero": Case(
        "judge,beer,stars,n\nann,ale,5,-7\nann,bock,4,-7\n", (*STARS, "--weight", "n"),
    ),
    "a date that is none": Case(
        "judge,beer,stars,day\nann,ale,5,May\nann,bock,4,May\n", (*STARS, "--date", "day"),
    ),
    "a weight that is missing": Case(
        "judge,beer,stars,n\nann,ale,5,7\nann,bock,4,\n", (*STARS, "--weight", "n"),
    ),
    # files
    "tabs in a csv": Case(TWO.replace(",", "\t"), STARS),
    "bars": Case(TWO.replace(",", "|"), STARS),
    "commas in a tsv": Case(TWO, STARS, name="t.tsv"),
    "a separator that is said": Case(TWO.replace(",", "~"), (*STARS, "--separator", "~")),
    "a byte order mark": Case(TWO.encode("utf-8-sig"), STARS),
    "UTF-16": Case(TWO.encode("utf-16"), STARS),
    "UTF-16 without a mark": Case(TWO.encode("utf-16-le"), STARS),
    "Latin-1": Case(stars("ann,Café,5").encode("latin-1"), STARS),
    "Latin-1 that is said": Case(
        stars("ann,Café,5", "ann,ale,4").encode("latin-1"), (*STARS, "--encoding", "latin-1"),
    ),
    "an encoding that is none": Case(TWO, (*STARS, "--encoding", "klingon")),
    "ends of lines of old": Case(TWO.replace("\n", "\r"), STARS),
    "ends of lines of Windows, and empty lines": Case(
        "\r\n" + TWO.replace("\n", "\r\n\r\n") + ",,\r\n", STARS,
    ),
    "lines are counted behind names of two lines": Case(
        stars('ann,"two\nlines",4', "ann,ale,x"), STARS,
    ),
    "gz": Case(gzip.compress(TWO.encode()), STARS, name="t.csv.gz"),
    "bz2": Case(bz2.compress(TWO.encode()), STARS, name="t.csv.bz2"),
    "xz": Case(lzma.compress(TWO.encode()), STARS, name="t.csv.xz"),
    "zst": Case(pa.compress(TWO.encode(), "zstd", asbytes=True), STARS, name="t.csv.zst"),
    "zip": Case(zipped("t.csv"), STARS, name="t.csv.zip"),
    "zip of two": Case(zipped("t.csv", "u.csv"), STARS, name="t.csv.zip"),
    "gz that is cut off": Case(gzip.compress(TWO.encode())[:30], STARS, name="t.csv.gz"),
    "Parquet": Case(
        parquet(judge=["ann", "ann"], beer=[7, 10], stars=[5.0, 4.0]), STARS, name="t.parquet",
    ),
    "a sheet that is none": Case(b"PK", STARS, name="t.xlsx"),
    "an old sheet": Case(b"\xd0\xcf", STARS, name="t.xls"),
    "a sheet that is a table of text": Case(TWO, STARS, name="t.xlsx"),
    "a sheet that is called a table of text": Case(b"PK\x03\x04\0\0", STARS),
    "Parquet that is called a table of text": Case(
        parquet(judge=["a"], beer=["b"], stars=[1]), STARS,
    ),
    "gz without its name": Case(gzip.compress(TWO.encode()), STARS),
    "bytes of zero": Case(TWO.replace("ale", "a\0le"), STARS),
    "tabs that are compressed": Case(
        gzip.compress(TWO.replace(",", "\t").encode()), STARS, name="t.tsv.gz",
    ),
    "another kind of file": Case("[]", STARS, name="t.json"),
    "a line of Excel that says what separates": Case("sep=;\n" + TWO.replace(",", ";"), STARS),
    "an empty file": Case("", STARS),
    "empty lines alone": Case("\n\n", STARS),
    "a header alone": Case("judge,beer,stars\n", STARS),
    "rows longer than the header": Case(stars("ann,ale,5,7", "ann,bock,4"), STARS),
    "a column twice": Case("judge,beer,stars,stars\nann,ale,5,1\n", STARS),
    "a title above the header": Case("Tasting of 2024\n\njudge,beer,stars\nann,ale,5\n", STARS),
    "an index without a name": Case(",judge,beer,stars\n0,ann,ale,5\n1,ann,bock,4\n", STARS),
    "a quote that is not closed": Case('judge,beer,stars\nann,"ale,5\nann,bock,4\n', STARS),
    "a separator of two characters": Case(TWO, (*STARS, "--separator", "ab")),
    "matches by a separator of two characters": Case(
        matches("x,y,first"), (*AB, "--separator", "ab"),
    ),
    "a group with a slash": Case(
        matches("x,y,first,1", head="a,b,won,day/month"), (*AB, "--group", "day/month"),
    ),
    "a group of the name of an axis": Case(
        matches("x,y,first,1", head="a,b,won,draw"), (*AB, "--group", "draw"),
    ),
    "Parquet with categories": Case(
        parquet(judge=pd.Categorical(["b", "b", "a"]), beer=pd.Categorical(["x", "y", "x"]),
                stars=pd.Categorical(["1", "2", "3"])),
        STARS,
        name="t.parquet",
    ),
    "matches in Parquet with categories": Case(
        parquet(**CATEGORIES), (*AB, "--no-order"), name="t.parquet",
    ),
    "winners in Parquet with categories": Case(
        parquet(**CATEGORIES), ("--winner", "a", "--loser", "b"), name="t.parquet",
    ),
    "Parquet with lists": Case(
        parquet(judge=["ann"], beer=[["ale"]], stars=[1]), STARS, name="t.parquet",
    ),
    "Parquet with lists of numbers": Case(
        parquet(judge=["ann"], beer=["ale"], stars=[[1, 2]]), STARS, name="t.parquet",
    ),
    "Parquet with structs": Case(
        parquet(a=[{"x": 1}], b=["y"], won=["first"]), AB, name="t.parquet",
    ),
    "Parquet with lists in other columns": Case(
        parquet(judge=["ann", "ann"], beer=["ale", "bock"], stars=[2, 1], more=[[1], [2]]),
        STARS,
        name="t.parquet",
    ),
    "Parquet with bytes": Case(
        parquet(judge=["ann"], beer=[b"ale"], stars=[1]), STARS, name="t.parquet",
    ),
    "a number beyond all": Case(stars("ann,ale,1e99999999999999999999"), STARS),
    "a count of 400 digits": Case(SOC.replace("3: 2", f"{'9' * 400}: 2"), (), name="t.soc"),
    "a count of 5000 digits": Case(SOC.replace("3: 2", f"{'9' * 5000}: 2"), (), name="t.soc"),
    "a long name of a column": Case(f"judge,beer,{'s' * 140_000}\nann,ale,1\n", STARS),
    # other ways to write rankings
    "a column per item": Case(
        WIDE, ("--wide", "ranks", "--ranker", "who", "--weight", "n", "--missing", "drop"),
    ),
    "a column per item, what is missing last": Case(
        WIDE, ("--wide", "ranks", "--ranker", "who", "--weight", "n", "--missing", "last"),
    ),
    "ratings, a column per item": Case("ale,bock\n5,4\n1,3\n", ("--wide", "ratings")),
    "some of the columns": Case(
        "ale,bock,age\n1,2,33\n2,1,44\n",
        ("--wide", "ranks", "--column", "ale", "--column", "bock"),
    ),
    "a row per item": Case(
        "beer,ann,ben\nale,1,3\nbock,2,1\ncider,3,2\n", ("--wide", "ranks", "--item", "beer"),
    ),
    "ratings, a row per item": Case(
        "beer,ann,ben\nale,5,3\nbock,2,\n", ("--wide", "ratings", "--item", "beer"),
    ),
    "a row per item, taken for a row per ranking": Case(
        "beer,ann,ben\nale,1,3\nbock,2,1\ncider,3,2\n", ("--wide", "ranks", "--ranker", "beer"),
    ),
    "a row per item, with who ranks": Case(
        "beer,ann\nale,1\n", ("--wide", "ranks", "--item", "beer", "--ranker", "beer"),
    ),
    "a column per place": Case(
        "1st,2nd,3rd\nale,bock,\nbock,ale,cider\n", ("--wide", "places", "--missing", "drop"),
    ),
    "a column per place, what is not named last": Case(
        "1st,2nd\nale,bock\nbock,cider\n", ("--wide", "places", "--missing", "last"),
    ),
    "a code for no item": Case(
        "1st,2nd,3rd\nale,skipped,skipped\nbock,ale,skipped\n", ("--wide", "places"),
    ),
    "a code for no item, which is named": Case(
        "1st,2nd,3rd\nale,skipped,skipped\nbock,ale,skipped\n",
        ("--wide", "places", "--empty", "skipped", "--missing", "drop"),
    ),
    "a column of words beside those of items": Case(
        "who,ale,bock\nann,1,2\nben,2,1\n", ("--wide", "ranks"),
    ),
    "a place twice": Case("1st,2nd\nale,ale\n", ("--wide", "places")),
    "ballots": Case(
        "ballot,n\nale > bock = cider,3\nbock,2\n",
        ("--ballot", "ballot", "--weight", "n", "--missing", "drop"),
    ),
    "ballots that differ in length": Case("b\nale > bock = cider\nbock > ale\n", ("--ballot", "b")),
    "ballots that differ in length, what is not named last": Case(
        "b\nale > bock = cider\nbock > ale\n", ("--ballot", "b", "--missing", "last"),
    ),
    "ballots that leave out as many": Case("b\nale > bock\nbock > cider\n", ("--ballot", "b")),
    "places without any item": Case(
        "n,1st,2nd\n2,ale,bock\n3,,\n1,bock,ale\n", ("--wide", "places", "--weight", "n"),
    ),
    "places that differ in number": Case(
        "1st,2nd,3rd\nale,bock,\nbock,ale,cider\n", ("--wide", "places"),
    ),
    "places that differ in number, refused": Case(
        "1st,2nd,3rd\nale,bock,\nbock,ale,cider\n", ("--wide", "places", "--missing", "refuse"),
    ),
    "a column per item, and rows that differ in length": Case(
        WIDE, ("--wide", "ranks", "--ranker", "who", "--weight", "n"),
    ),
    "positions in longer lists": Case("ale,bock,cider\n4,7,9\n2,,8\n", ("--wide", "ranks")),
    "races with different numbers of starters": Case(
        places("ann,ale,1", "ann,bock,2", "ann,cider,3", "ben,bock,1", "ben,ale,2"), PLACE,
    ),
    "PrefLib with orders that differ in length": Case(
        SOC.replace("2: 1,{2,3}", "2: 1,3"), (), name="t.soi",
    ),
    "PrefLib with orders that differ in length, the rest not presented": Case(
        SOC.replace("2: 1,{2,3}", "2: 1,3"), ("--missing", "drop"), name="t.soi",
    ),
    "PrefLib with orders that differ in length, the rest last": Case(
        SOC.replace("2: 1,{2,3}", "2: 1,3"), ("--missing", "last"), name="t.soi",
    ),
    "ballots with commas": Case('b\n"ale,bock"\n"bock,ale"\n', ("--ballot", "b")),
    "a ballot with nothing between signs": Case("b\nale>>bock\n", ("--ballot", "b")),
    "PrefLib": Case(SOC, (), name="t.soc"),
    "PrefLib with an alternative twice": Case(SOC.replace("NAME 3", "NAME 1"), (), name="t.toc"),
    "PrefLib with columns": Case(SOC, PLACE, name="t.soc"),
    "PrefLib, incomplete": Case(
        SOC.replace("3: 2,1,3", "3: 2,3").replace("2: 1,{2,3}", "2: {1,3}"), (), name="t.toi",
    ),
    "PrefLib that is compressed": Case(gzip.compress(SOC.encode()), (), name="t.toc.gz"),
    "PrefLib with a name twice": Case(SOC.replace("3: Cy", "3: Ann"), (), name="t.soc"),
    "PrefLib with an alternative twice in an order": Case(
        SOC.replace("3: 2,1,3", "3: 2,1,2"), (), name="t.soi",
    ),
    "LETOR": Case("2 qid:1 1:0.5 # d\n0 qid:1 1:0.1\n", STARS, name="t.txt"),
    # matches
    "first, second, tie": Case(matches("x,y,first", "x,y,second", "x,y,tie"), AB),
    "upper case": Case(matches("x,y,FIRST", "x,y,Second", "x,y,Draw"), AB),
    "1, 0, 0.5": Case(matches("x,y,1", "x,y,0", "x,y,0.5", "x,y,1.0"), AB),
    "1, 2, X": Case(matches("x,y,1", "x,y,2", "x,y,X"), AB),
    "1, 0, -1": Case(matches("x,y,1", "x,y,0", "x,y,-1"), AB),
    "H, D, A": Case(matches("x,y,H", "x,y,D", "x,y,A"), AB),
    "white and black": Case(matches("x,y,White", "x,y,black", "x,y,draw"), AB),
    "whether the first won": Case(matches("x,y,True", "x,y,False"), AB),
    "won, lost": Case(matches("x,y,W", "x,y,L", "x,y,D"), AB),
    "results of chess": Case(matches("x,y,1-0", "x,y,1/2-1/2"), AB),
    "the name of the winner": Case(matches("x,y,x", "y,x,x", "x,y,draw"), AB),
    "a winner who did not play": Case(matches("x,y,x", "x,y,z"), AB),
    "names that may be sides": Case(matches("a,b,a", "b,a,a"), AB),
    "words that are said": Case(
        matches("x,y,Left", "x,y,right"), (*AB, "--first-wins", "left", "--second-wins", "Right"),
    ),
    "words that nobody said": Case(matches("x,y,hooray"), AB),
    "winner and loser": Case(
        matches("x,y", "y,x", "x,y", head="w,l"), ("--winner", "w", "--loser", "l"),
    ),
    "a winner without a loser": Case(matches("x,y", head="w,l"), ("--winner", "w")),
    "scores": Case(
        matches("x,y,3,1", "x,y,0,0", "y,x,2,10", head="a,b,s,t"),
        ("--first", "a", "--second", "b", "--score-a", "s", "--score-b", "t"),
    ),
    "a match without a score": Case(
        matches("x,y,3,1", "x,y,,", head="a,b,s,t"),
        ("--first", "a", "--second", "b", "--score-a", "s", "--score-b", "t"),
    ),
    "a match without an outcome that may go": Case(
        matches("x,y,first", "x,y,"), (*AB, "--missing", "drop"),
    ),
    "scores with decimal commas": Case(
        matches("x;y;3,5;2,5", head="a;b;s;t"),
        ("--first", "a", "--second", "b", "--score-a", "s", "--score-b", "t"),
    ),
    "a winner that is missing": Case(
        matches("x,y", ",y", head="w,l"), ("--winner", "w", "--loser", "l"),
    ),
    "neutral ground": Case(
        matches("x,y,first,no", "x,y,first,yes", "x,y,second,", head="a,b,won,n"),
        (*AB, "--neutral", "n"),
    ),
    "neutral ground that is neither": Case(
        matches("x,y,first,maybe", head="a,b,won,n"), (*AB, "--neutral", "n"),
    ),
    "an item against itself": Case(matches("x,x,first"), AB),
    "counts": Case(matches("x,y,first,3", head="a,b,won,n"), (*AB, "--count", "n")),
    "a count below zero": Case(matches("x,y,first,-2", head="a,b,won,n"), (*AB, "--count", "n")),
    "a count that is not whole": Case(
        matches("x,y,first,2.5", head="a,b,won,n"), (*AB, "--count", "n"),
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
def test_a_table_is_read_or_refused_with_a_sentence(fitted, tmp_path, case, golden):
    content, args, name = CASES[case]
    content = content if isinstance(content, bytes) else content.encode()
    (tmp_path / name).write_bytes(content)
    command = "matches" if {"--first", "--winner"} & set(args) else "rank"
    result = CliRunner().invoke(cli.main, [command, name, *args])
    said = [line for line in result.stderr.splitlines() if line.startswith(("Note: ", "Error: "))]
    # what a library says of a file that is broken is its own affair
    theirs = r"(is not a readable \w+ table): (?!it |there |line |.* it has ).*"
    said = [re.sub(theirs, r"\1", line) for line in said]
    if result.exit_code == 0:
        (job,) = fitted
        said.insert(0, written(job.data))
        assert job.seen().sum() > 0
    else:
        assert isinstance(result.exception, SystemExit)
        assert fitted == []
        assert sum(line.startswith("Error: ") for line in said) == 1
    golden(case, "\n".join([f"exit {result.exit_code}", *said]))


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
