r"""Tables as people have them: what the command makes of each, or the sentence that refuses it.

Every row runs the real command up to the fit, which is put aside: what would be fitted is compared
with what is expected. Rankings are written as the blocks of each ranker, best first, with the
count times the weight if it is not 1 (``ann: ale > bock = cider``). Matches are written as the
counts of the first winning, the second winning, and ties (``ale-bock 2:0:1``).
"""

import bz2
import gzip
import io
import lzma
import re
import shlex
import zipfile
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pyarrow as pa
import pytest
from click.testing import CliRunner

from bayesrank import cli
from bayesrank.cli import commands
from bayesrank.data import Rankings

LONG = ("--ranker", "judge", "--item", "beer")
STARS = (*LONG, "--rating", "stars")
PLACE = (*LONG, "--rank", "place")
AB = ("--first", "a", "--second", "b", "--outcome", "won")
DATED = (*AB, "--date", "day")
RACES = (*PLACE, "--date", "day", "--next", "next.csv")


class Case(NamedTuple):
    """A file and the options: the golden file has what becomes of it.

    Tables of plain text are in cli_tables.txt, each below its command; the others are here.
    """

    content: str | bytes
    args: tuple[str, ...]
    name: str = "t.csv"
    coming: str = ""  # a second table, next.csv
    command: str = ""  # if the options do not tell


def stars(*rows):
    return "\n".join(["judge,beer,stars", *rows]) + "\n"


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
SOC = """# DATA TYPE: soc
# NUMBER ALTERNATIVES: 3
# NUMBER VOTERS: 5
# ALTERNATIVE NAME 1: Ann
# ALTERNATIVE NAME 2: Bo\u2028the second
# ALTERNATIVE NAME 3: Cy
3: 2,1,3
2: 1,{2,3}
"""
DAYS = "a,b,won,day\nx,y,first,2021-01-03\ny,z,second,2021-02-03\nz,x,first,2022-11-24\n"
DRIVEN = "judge,beer,place,day\n" + "".join(
    f"race {day},{driver},{place},{day}\n"
    for day in (1, 2, 3)
    for place, driver in enumerate("ab", 1)
)

CASES = {
    # labels are text
    "names of far away": Case(
        stars("ann,\u9752\u5cf6,5", "ann,\u0628\u064a\u0631\u0629,4", "ann,\U0001f37a,3"), STARS,
    ),
    "a name of 100,000 characters": Case(stars(f"ann,{'x' * 100_000},5", "ann,ale,4"), STARS),
    "formulas and escapes in names": Case(
        stars("ann,=cmd|' /C calc'!A0,5", "ann,\x1b[31mred,3"), STARS,
    ),
    "accents in two ways": Case(
        stars("ann,K\u00f6lsch,5", "ann,Ko\u0308lsch,4", "ben,bock,3", "ben,K\u00f6lsch,2"), STARS,
    ),
    "accents in two ways that are merged": Case(
        stars("ann,K\u00f6lsch,5", "ann,bock,4", "ben,bock,3", "ben,Ko\u0308lsch,2"),
        (*STARS, "--merge"),
    ),
    "accents in two ways that are merged, in matches": Case(
        "a,b,won\nJose\u0301,Ann,first\nJos\u00e9,Bo,second\nBo,Jos\u00e9,first\n",
        (*AB, "--merge"),
    ),
    # numbers
    "digits of other scripts": Case(stars("ann,ale,\u0664", "ann,bock,\uff15"), STARS),
    "a minus sign of typesetters": Case(stars("ann,ale,\u22125", "ann,bock,4"), STARS),
    # files
    "tabs in a csv": Case(TWO.replace(",", "\t"), STARS),
    "a byte order mark": Case(TWO.encode("utf-8-sig"), STARS),
    "UTF-16": Case(TWO.encode("utf-16"), STARS),
    "UTF-16 without a mark": Case(TWO.encode("utf-16-le"), STARS),
    "Latin-1": Case(stars("ann,Café,5").encode("latin-1"), STARS),
    "Latin-1 that is said": Case(
        stars("ann,Café,5", "ann,ale,4").encode("latin-1"), (*STARS, "--encoding", "latin-1"),
    ),
    "ends of lines of old": Case(TWO.replace("\n", "\r"), STARS),
    "ends of lines of Windows, and empty lines": Case(
        "\r\n" + TWO.replace("\n", "\r\n\r\n") + ",,\r\n", STARS,
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
    "an empty file": Case("", STARS),
    "empty lines alone": Case("\n\n", STARS),
    "a title above the header": Case("Tasting of 2024\n\njudge,beer,stars\nann,ale,5\n", STARS),
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
    "a count of 400 digits": Case(SOC.replace("3: 2", f"{'9' * 400}: 2"), (), name="t.soc"),
    "a count of 5000 digits": Case(SOC.replace("3: 2", f"{'9' * 5000}: 2"), (), name="t.soc"),
    "a long name of a column": Case(f"judge,beer,{'s' * 140_000}\nann,ale,1\n", STARS),
    # other ways to write rankings
    "PrefLib with orders that differ in length": Case(
        SOC.replace("2: 1,{2,3}", "2: 1,3"), (), name="t.soi",
    ),
    "PrefLib with orders that differ in length, the rest not presented": Case(
        SOC.replace("2: 1,{2,3}", "2: 1,3"), ("--missing", "drop"), name="t.soi",
    ),
    "PrefLib with orders that differ in length, the rest last": Case(
        SOC.replace("2: 1,{2,3}", "2: 1,3"), ("--missing", "last"), name="t.soi",
    ),
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
    # data that cannot be ranked
    "Parquet that is none": Case(b"PAR1 is how it begins", PLACE, name="t.parquet"),
    # dates
    "matches to come": Case(
        DAYS, (*DATED, "--next", "next.csv"), coming="day,a,b\n2023-02-01,x,y\n2023-01-01,y,z\n",
    ),
    "a match to come that has been": Case(
        DAYS, (*DATED, "--next", "next.csv"), coming="day,a,b\n2022-01-01,x,y\n",
    ),
    "a match to come of somebody new": Case(
        DAYS, (*DATED, "--next", "next.csv"), coming="day,a,b\n2023-01-01,x,nobody\n",
    ),
    "rankings to come": Case(DRIVEN, RACES, coming="judge,beer,day\nfar,a,9\nfar,b,9\n"),
    "a ranking to come of somebody new": Case(
        DRIVEN, RACES, coming="judge,beer,day\nx,a,9\nx,e,9\n",
    ),
    "an item twice in a ranking to come": Case(
        DRIVEN, RACES, coming="judge,beer,day\nx,a,9\nx,a,9\n",
    ),
    "a ranking to come at two dates": Case(
        DRIVEN, RACES, coming="judge,beer,day\nx,a,9\nx,b,10\n",
    ),
    "a ranking to come that has been": Case(
        DRIVEN, RACES, coming="judge,beer,day\nx,a,2\nx,b,2\n",
    ),
}  # fmt: skip
for text in (
    (Path(__file__).parent / "golden" / "cli_tables.txt").read_text("utf-8").split("### ")[1:]
):
    title, line, table = text.split("\n", 2)
    command, file, *options = shlex.split(line.removeprefix("$ "))
    CASES[title] = Case(table, tuple(options), file, command=command)


def written(data):
    """Write rankings or matches as the table of cases does."""
    if isinstance(data, Rankings):
        out = []
        for row in range(data.n_rankings):
            blocks = [
                " = ".join(sorted(data.items[data.item[row][data.ranks[row] == rank]]))
                for rank in range(1, data.ranks[row].max() + 1)
            ]
            weight = f" ({data.evidence[row]:g})" if data.evidence[row] != 1 else ""
            group = data.groups.get("category")
            kind = f" [{group.labels[group.idx[row]]}]" if group else ""
            who = data.labels[row] if data.are_anonymous else data.rankers[data.ranker_idx[row]]
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
    """Work in an empty folder, and put the fit aside, but for what is said before it."""
    monkeypatch.chdir(tmp_path)
    jobs = []

    def run(job, fit, talk, **_):
        for sentence in job.cautions():
            talk.note(sentence)
        jobs.append(job)

    monkeypatch.setattr(commands, "run", run)
    return jobs


@pytest.mark.parametrize("case", CASES)
def test_a_table_is_read_or_refused_with_a_sentence(fitted, tmp_path, case, golden):
    content, args, name, coming, command = CASES[case]
    content = content if isinstance(content, bytes) else content.encode()
    if name != "-":
        (tmp_path / name).write_bytes(content)
    if coming:
        (tmp_path / "next.csv").write_text(coming)
    matches = {"--first", "--second", "--winner"} & set(args)
    command = command or ("matches" if matches else "rank")
    result = CliRunner().invoke(cli.main, [command, name, *args], input=content)
    shown_lines = [
        line for line in result.stderr.splitlines() if line.startswith(("Note: ", "Error: "))
    ]
    # what a library says of a file that is broken is its own affair
    theirs = r"(is not a readable \w+ table): (?!it |there |line |.* it has ).*"
    shown_lines = [re.sub(theirs, r"\1", line) for line in shown_lines]
    if command == "look" and result.exit_code == 0:
        shown_lines.insert(0, result.stdout.rstrip())
    elif result.exit_code == 0:
        (job,) = fitted
        shown_lines.insert(0, written(job.data))
        ahead = getattr(job, "coming", None)
        if ahead is not None:
            shown_lines.insert(1, ahead.to_csv(index=False).replace("\n", "; "))
        assert job.seen().sum() > 0
    else:
        assert isinstance(result.exception, SystemExit)
        assert fitted == []
        assert sum(line.startswith("Error: ") for line in shown_lines) == 1
    golden(case, "\n".join([f"exit {result.exit_code}", *shown_lines]))
