"""Layouts of public tables, as wide as the originals, with invented values.

Each layout has the command that is right and what that command must read. What matters to the
reading is written here by hand; cells of other columns are drawn at random. No layout contains
data of the original or of a person.
"""

# ruff: noqa: E501, SIM905 - rows of tables stay in one line, as in the files

import csv
import io
import json
import random
import re
from collections.abc import Callable
from itertools import permutations
from typing import Any, NamedTuple

from tests.tables.reading import rankings_written, wins

TEAMS = ["Arden", "Belmont", "Carrow", "Dunmore", "Elsham"]


class Layout(NamedTuple):
    """A published table: the name of the file, its text, the command, and a check of the data."""

    file: str
    text: str
    command: str
    right: Callable[[Any], str]  # what is wrong, "" if nothing


# Checks


def matches_are(n: int, **options: Any) -> Callable[[Any], str]:
    """Return a check of matches: their number, and how often some items beat others.

    ``wins`` has counts by winner and loser. ``firsts`` has the counts (wins, losses, ties) of
    pairs in which the first item comes first. ``also`` gives other names of the items, such as ids.
    """

    def check(pairs: Any) -> str:
        names = dict(zip(options.get("also", {}).values(), options.get("also", {}), strict=True))
        found = {
            tuple(names.get(x, x) for x in key) if isinstance(key, tuple) else key: count
            for key, count in wins(pairs).items()
        }
        if int(pairs.counts.sum()) != n:
            return f"{pairs.counts.sum()} matches instead of {n}"
        for key, count in options.get("wins", {}).items():
            if found.get(key, 0) != count:
                return f"{key[0]} beats {key[1]} {found.get(key, 0)} times instead of {count}"
        if "firsts" in options:
            firsts: dict[tuple[str, str], list[int]] = {}
            for a, b, row in zip(pairs.first, pairs.second, pairs.counts.tolist(), strict=True):
                one, other = str(pairs.items[a]), str(pairs.items[b])
                pair = (names.get(one, one), names.get(other, other))
                before = firsts.get(pair, [0, 0, 0])
                firsts[pair] = [x + y for x, y in zip(before, row, strict=True)]
            for pair, counts in options["firsts"].items():
                if firsts.get(pair) != [*counts]:
                    return f"{pair} has {firsts.get(pair)} instead of {counts}"
        return ""

    return check


def rankings_are(n: int | None, *orders: dict[str, str], strip: str = "") -> Callable[[Any], str]:
    """Return a check of rankings: their number, and the orders of some rankers.

    Several orders are equally right. ``strip`` is a pattern whose first group is the item.
    """

    def plain(text: str) -> str:
        return re.sub(strip, r"\1", text) if strip else text

    def check(rankings: Any) -> str:
        if n is not None and rankings.n_rankings != n:
            return f"{rankings.n_rankings} rankings instead of {n}"
        found = {*map(plain, rankings_written(rankings))}
        orders_found = {row.partition(": ")[2] for row in found}
        for wanted in orders:
            rows = {f"{ranker}: {order}" for ranker, order in wanted.items() if ranker[:1] != "*"}
            free = {order for ranker, order in wanted.items() if ranker[:1] == "*"}
            if rows <= found and free <= orders_found:
                return ""
        return f"{sorted(found)[:4]} instead of {orders[0]}"

    return check


# Writing


def text_of(names: list[str], rows: list[list[Any]], separator: str = ",") -> str:
    """Write a table of text."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=separator, lineterminator="\n")
    writer.writerows([names, *rows])
    return buffer.getvalue()


def filled(
    header: str, known: list[dict[str, Any]], **drawn: Callable[[random.Random], Any]
) -> str:
    """Write rows from known columns; a function draws the others, or they are numbers up to 15.

    ``header`` has the names separated by commas; names of ``drawn`` are patterns of names.
    """
    rng = random.Random(header)
    names = header.split(",")
    ways = {re.compile(pattern.replace("__", ".*")): way for pattern, way in drawn.items()}

    def cell(name: str, row: dict[str, Any]) -> Any:
        if name in row:
            return row[name]
        for pattern, way in ways.items():
            if pattern.fullmatch(name):
                return way(rng)
        return rng.randint(0, 15)

    return text_of(names, [[cell(name, row) for name in names] for row in known])


def odds(rng: random.Random) -> str:
    return f"{rng.uniform(1.2, 9):.2f}"


def share(rng: random.Random) -> str:
    return f"{rng.uniform(0.2, 0.6):.3f}"


def word(*words: str) -> Callable[[random.Random], str]:
    return lambda rng: rng.choice(words)


# Matches


def league_football() -> Layout:
    """Results of a league with odds, as on football-data.co.uk."""
    goals = [  # of the home team and the away team, for each pair in both directions
        (2, 0), (1, 1), (0, 3), (4, 2), (1, 0), (0, 0), (2, 2), (3, 1), (0, 1), (1, 2),
        (2, 1), (1, 3), (0, 2), (5, 0), (1, 1), (2, 3), (0, 0), (1, 0), (2, 1), (0, 4),
    ]  # fmt: skip
    rows = []
    for n, ((home, away), (h, a)) in enumerate(zip(permutations(TEAMS, 2), goals, strict=True)):
        rows.append({
            "Div": "E0", "Date": f"{1 + n:02}/{8 + n // 10:02}/2023", "Time": "15:00",
            "HomeTeam": home, "AwayTeam": away, "FTHG": h, "FTAG": a,
            "FTR": "H" if h > a else "A" if a > h else "D",
        })  # fmt: skip
    bets = "B365 BW IW PS WH VC Max Avg".split()
    more = [f"{bet}{c}{x}" for c in ("", "C") for bet in bets for x in "HDA"]
    more += [
        f"{bet}{c}{x}2.5" for c in ("", "C") for bet in ("B365", "P", "Max", "Avg") for x in "><"
    ]
    header = (
        "Div,Date,Time,HomeTeam,AwayTeam,FTHG,FTAG,FTR,HTHG,HTAG,HTR,Referee,HS,AS,HST,AST,HF,AF,"
    )
    header += f"HC,AC,HY,AY,HR,AR,{','.join(more)},AHh,B365AHH,B365AHA,PAHH,PAHA,AvgAHH,AvgAHA"
    text = filled(
        header, rows, HTR=word("H", "D", "A"), Referee=word("R One", "R Two"),
        **{"(B365|BW|IW|PS|WH|VC|Max|Avg|P).+": odds, "AHh": word("-0.5", "0", "0.25")},
    )  # fmt: skip
    firsts = {
        ("Arden", "Belmont"): (1, 0, 0), ("Arden", "Carrow"): (0, 0, 1),
        ("Arden", "Dunmore"): (0, 1, 0), ("Elsham", "Dunmore"): (0, 1, 0),
    }  # fmt: skip
    return Layout("E0.csv", text, "matches", matches_are(20, firsts=firsts))


def tennis() -> Layout:
    """Matches of a tour with statistics, as in the tables of tennis_atp."""
    won = [
        ("Abel", "Bruno"), ("Carl", "Dirk"), ("Abel", "Carl"), ("Dirk", "Abel"), ("Bruno", "Carl"),
        ("Abel", "Dirk"), ("Emil", "Bruno"), ("Emil", "Carl"), ("Abel", "Emil"), ("Abel", "Bruno"),
        ("Dirk", "Bruno"), ("Carl", "Emil"),
    ]  # fmt: skip
    ids = {
        "Abel": "104925",
        "Bruno": "105777",
        "Carl": "106421",
        "Dirk": "200000",
        "Emil": "126774",
    }
    header = "tourney_id,tourney_name,surface,draw_size,tourney_level,tourney_date,match_num,"
    for side in ("winner", "loser"):
        header += "".join(f"{side}_{x}," for x in "id seed entry name hand ht ioc age".split())
    header += "score,best_of,round,minutes,"
    for side in "wl":
        stats = "ace df svpt 1stIn 1stWon 2ndWon SvGms bpSaved bpFaced".split()
        header += "".join(f"{side}_{x}," for x in stats)
    header += "winner_rank,winner_rank_points,loser_rank,loser_rank_points"
    rows = [
        {
            "tourney_id": f"2023-{400 + n // 4}", "tourney_name": f"Open {n // 4}",
            "tourney_date": f"2023{1 + n // 4:02}15", "match_num": 300 - n, "draw_size": 32,
            "winner_name": w, "winner_id": ids[w], "loser_name": lost, "loser_id": ids[lost],
            "winner_entry": "" if n % 3 else "Q", "loser_entry": "", "winner_seed": "" if n % 2 else 1,
            "score": ("6-4 6-3", "7-6(5) 3-6 6-2", "6-1 RET")[n % 3], "best_of": 3,
        }
        for n, (w, lost) in enumerate(won)
    ]  # fmt: skip
    text = filled(
        header, rows, surface=word("Hard", "Clay"), tourney_level=word("A", "M"),
        __hand=word("R", "L"), __ioc=word("SUI", "FRA", "USA"), round=word("R32", "QF", "F"),
        __ht=lambda r: r.randint(175, 198), __age=lambda r: f"{r.uniform(19, 36):.1f}",
        __rank=lambda r: r.randint(1, 300), __rank_points=lambda r: r.randint(100, 9000),
        minutes=lambda r: r.randint(60, 200),
    )  # fmt: skip
    expected = {
        ("Abel", "Bruno"): 2,
        ("Abel", "Dirk"): 1,
        ("Dirk", "Abel"): 1,
        ("Emil", "Bruno"): 1,
    }
    return Layout("atp_matches_2023.csv", text, "matches", matches_are(12, wins=expected, also=ids))


PLAYERS = ["Aue", "Bork", "Calw", "Daun"]
CHESS = dict(
    zip(
        permutations(PLAYERS, 2),
        "1-0 1/2 0-1 1-0 1-0 1/2 0-1 0-1 1-0 1/2 1-0 0-1".split(),
        strict=True,
    )
)
IN_CHESS = {
    ("Aue", "Bork"): (1, 0, 0), ("Aue", "Calw"): (0, 0, 1), ("Aue", "Daun"): (0, 1, 0),
    ("Daun", "Aue"): (0, 0, 1), ("Daun", "Calw"): (0, 1, 0),
}  # fmt: skip


def chess(half: str = "1/2-1/2", dash: str = "-") -> Layout:
    """Games of a tournament, with the tags of PGN as columns."""
    header = "Event,Site,Date,Round,White,Black,Result,WhiteTitle,BlackTitle,WhiteElo,BlackElo,"
    header += "WhiteFideId,BlackFideId,EventDate,ECO,Opening,Variation,PlyCount,TimeControl,Moves"
    rows = [
        {
            "Event": "Open", "Site": "Town", "Date": f"2023.05.{1 + n:02}", "Round": 1 + n // 2,
            "White": white, "Black": black, "EventDate": "2023.05.01", "TimeControl": "5400+30",
            "Result": half if result == "1/2" else result.replace("-", dash),
        }
        for n, ((white, black), result) in enumerate(CHESS.items())
    ]  # fmt: skip
    text = filled(
        header, rows, __Title=word("GM", "IM", ""), __Elo=lambda r: r.randint(2300, 2700),
        __FideId=lambda r: r.randint(10**6, 10**7), ECO=word("B90", "C42", "D37"),
        Opening=word("Sicilian", "Petrov"), Variation=word("Najdorf", "", "4.e3"),
        Moves=word("1. e4 c5 2. Nf3 d6", "1. d4 d5"), PlyCount=lambda r: r.randint(20, 150),
    )  # fmt: skip
    return Layout("games.csv", text, "matches", matches_are(12, firsts=IN_CHESS))


def lichess() -> Layout:
    """Games of a server, as on Kaggle."""
    header = "id,rated,created_at,last_move_at,turns,victory_status,winner,increment_code,white_id,"
    header += "white_rating,black_id,black_rating,moves,opening_eco,opening_name,opening_ply"
    won = {"1-0": "white", "0-1": "black", "1/2": "draw"}
    rows = [
        {
            "id": f"g{n:03}x", "winner": won[result], "white_id": white, "black_id": black,
            "victory_status": "draw" if result == "1/2" else ("mate", "resign", "outoftime")[n % 3],
            "created_at": f"{1.50421 + n / 1000:.5f}E+12", "last_move_at": f"{1.50422 + n / 1000:.5f}E+12",
            "turns": 20 + 3 * n,
        }
        for n, ((white, black), result) in enumerate(CHESS.items())
    ]  # fmt: skip
    text = filled(
        header, rows, rated=word("TRUE", "FALSE"), increment_code=word("15+2", "5+10", "10+0"),
        __rating=lambda r: r.randint(1100, 2100), moves=word("d4 d5 c4 c6", "e4 e5 Nf3 d6"),
        opening_eco=word("D10", "C41"), opening_name=word("Slav Defense", "Philidor Defense: Hanham"),
    )  # fmt: skip
    return Layout("lichess.csv", text, "matches", matches_are(12, firsts=IN_CHESS))


VOTES = [  # of two models, and the answer
    ("kestrel-7b", "merlin-13b", "model_a"), ("merlin-13b", "osprey", "model_b"),
    ("osprey", "kestrel-7b", "tie"), ("kestrel-7b", "merlin-13b", "model_b"),
    ("merlin-13b", "kestrel-7b", "tie (bothbad)"), ("osprey", "merlin-13b", "model_a"),
    ("kestrel-7b", "osprey", "model_b"), ("kestrel-7b", "merlin-13b", "model_a"),
    ("osprey", "kestrel-7b", "model_a"), ("merlin-13b", "osprey", "tie (bothbad)"),
    ("osprey", "merlin-13b", "model_a"), ("merlin-13b", "kestrel-7b", "model_a"),
]  # fmt: skip
VOTED = {
    ("kestrel-7b", "merlin-13b"): (2, 1, 0), ("merlin-13b", "kestrel-7b"): (1, 0, 1),
    ("merlin-13b", "osprey"): (0, 1, 1), ("osprey", "merlin-13b"): (2, 0, 0),
}  # fmt: skip


def arena() -> Layout:
    """Votes on answers of two models, as JSON lines with the conversations."""
    lines = []
    for n, (a, b, winner) in enumerate(VOTES):
        talk = [
            {"content": "Why is the sky blue?", "role": "user"},
            {"content": "x", "role": "assistant"},
        ]
        lines.append({
            "question_id": f"q{n % 7:04}", "model_a": a, "model_b": b, "winner": winner,
            "judge": f"arena_user_{n % 5}", "conversation_a": talk, "conversation_b": talk,
            "turn": 1 + n % 2, "anony": True, "language": ("English", "German")[n % 2],
            "tstamp": 1682351591.1322 + n, "openai_moderation": {"flagged": False, "categories": {"hate": False}},
            "toxic_chat_tag": {"roberta-large": {"flagged": False, "probability": 0.01}},
        })  # fmt: skip
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    return Layout("arena.jsonl", text, "matches", matches_are(12, firsts=VOTED))


def mt_bench() -> Layout:
    """Judgements of experts on two answers."""
    rows = [
        [81 + n % 8, a, b, w.replace(" (bothbad)", ""), f"expert_{n % 4}", "[{'content': 'x', 'role': 'user'}]",
         "[{'content': 'y', 'role': 'user'}]", 1 + n % 2]
        for n, (a, b, w) in enumerate(VOTES)
    ]  # fmt: skip
    names = "question_id,model_a,model_b,winner,judge,conversation_a,conversation_b,turn".split(",")
    return Layout(
        "human_judgments.csv", text_of(names, rows), "matches", matches_are(12, firsts=VOTED)
    )


def basketball() -> Layout:
    """Games of a league with statistics of both teams, as on Kaggle."""
    ids = {team: f"16106127{37 + n}" for n, team in enumerate(TEAMS)}
    header = "GAME_DATE_EST,GAME_ID,GAME_STATUS_TEXT,HOME_TEAM_ID,VISITOR_TEAM_ID,SEASON,"
    for side in ("home", "away"):
        header += "".join(
            f"{x}_{side}," for x in "TEAM_ID PTS FG_PCT FT_PCT FG3_PCT AST REB".split()
        )
    header += "HOME_TEAM_WINS"
    rows = []
    for n, (home, away) in enumerate(permutations(TEAMS, 2)):
        points = (101 + n + (n == 3), 95 + 3 * (n % 5))  # 101:95, then 102:98; never equal
        rows.append({
            "GAME_DATE_EST": f"2022-12-{1 + n:02}", "GAME_ID": 22200400 + n, "GAME_STATUS_TEXT": "Final",
            "SEASON": 2022, "HOME_TEAM_ID": ids[home], "TEAM_ID_home": ids[home],
            "VISITOR_TEAM_ID": ids[away], "TEAM_ID_away": ids[away],
            "PTS_home": points[0], "PTS_away": points[1], "HOME_TEAM_WINS": int(points[0] > points[1]),
        })  # fmt: skip
    text = filled(header, rows, __PCT__=share, AST__=lambda r: r.randint(15, 35))
    firsts = {  # 101:95, 105:104, 105:107 and 120:107
        ("Arden", "Belmont"): (1, 0, 0), ("Arden", "Elsham"): (1, 0, 0), ("Belmont", "Arden"): (0, 1, 0),
        ("Elsham", "Dunmore"): (1, 0, 0),
    }  # fmt: skip
    return Layout("nba_games.csv", text, "matches", matches_are(20, firsts=firsts, also=ids))


def international_football() -> Layout:
    """Results of national teams, as on Kaggle."""
    played = [
        ("Atlantia", "Borduria", 2, 0, "FALSE"), ("Borduria", "Costaguana", 1, 1, "TRUE"),
        ("Costaguana", "Atlantia", 0, 4, "FALSE"), ("Atlantia", "Borduria", 0, 1, "TRUE"),
        ("Borduria", "Atlantia", 2, 2, "FALSE"), ("Costaguana", "Borduria", 3, 1, "FALSE"),
        ("Atlantia", "Costaguana", 1, 0, "TRUE"), ("Borduria", "Costaguana", 0, 2, "FALSE"),
        ("Costaguana", "Atlantia", 1, 1, "FALSE"), ("Atlantia", "Costaguana", 5, 2, "FALSE"),
        ("Borduria", "Atlantia", 1, 0, "FALSE"), ("Costaguana", "Borduria", 0, 0, "TRUE"),
    ]  # fmt: skip
    names = "date,home_team,away_team,home_score,away_score,tournament,city,country,neutral"
    rows = [
        [f"20{10 + n}-06-{10 + n}", a, b, h, w, ("Friendly", "Cup, final stage")[n % 2], "Port", a, ground]
        for n, (a, b, h, w, ground) in enumerate(played)
    ]  # fmt: skip
    firsts = {
        ("Atlantia", "Borduria"): (1, 1, 0), ("Borduria", "Atlantia"): (1, 0, 1),
        ("Costaguana", "Atlantia"): (0, 1, 1), ("Costaguana", "Borduria"): (1, 0, 1),
    }  # fmt: skip
    return Layout(
        "results.csv", text_of(names.split(","), rows), "matches", matches_are(12, firsts=firsts)
    )


def pair_columns() -> Layout:
    """Paired comparisons of four items, a column per pair, as R's prefmod has them."""
    answers = [
        (1, 1, 1, -1, 1, 1), (1, -1, 1, 1, 1, 1), (-1, 1, 1, 1, -1, 1), (1, 1, -1, 1, 1, -1),
        (1, 1, 1, 1, 1, 1), (-1, -1, 1, 1, 1, 1), (1, 1, 1, -1, -1, 1), (1, -1, -1, 1, 1, 1),
        (1, 1, 1, 1, -1, -1), (-1, 1, 1, 1, 1, 1), (1, 1, 1, 1, 1, -1), (1, -1, 1, -1, 1, 1),
    ]  # fmt: skip
    names = ["V12", "V13", "V23", "V14", "V24", "V34", "SEX", "AGE"]
    rows = [[*row, 1 + n % 2, 1 + n % 3] for n, row in enumerate(answers)]
    expected = {("1", "2"): 9, ("2", "1"): 3, ("1", "3"): 8, ("3", "1"): 4, ("3", "4"): 9}
    return Layout("paircomp.csv", text_of(names, rows), "matches", matches_are(72, wins=expected))


def crosstable() -> Layout:
    """Wins of the team in the row against the team in the column, with an empty diagonal."""
    won = {pair: (3 * n + 1) % 6 for n, pair in enumerate(permutations(TEAMS, 2))}
    rows = [[a, *("" if a == b else won[a, b] for b in TEAMS)] for a in TEAMS]
    expected = {("Arden", "Belmont"): 1, ("Arden", "Carrow"): 4, ("Belmont", "Arden"): 1}
    check = matches_are(sum(won.values()), wins=expected | won)
    return Layout("crosstable.csv", text_of(["", *TEAMS], rows), "matches", check)


def baseball() -> Layout:
    """Wins of the home team and of the visitors, as in R's BradleyTerry2."""
    rows = []
    for n, (home, away) in enumerate(permutations(TEAMS, 2)):
        rows.append([n + 1, home, away, 2 + n % 5, n % 4])
    lines = ['"home.team" "away.team" "home.wins" "away.wins"']
    lines += [f'"{n}" "{home}" "{away}" {won} {lost}' for n, home, away, won, lost in rows]
    n = sum(row[3] + row[4] for row in rows)
    firsts = {("Arden", "Belmont"): (2, 0, 0), ("Arden", "Carrow"): (3, 1, 0)}
    return Layout("baseball.txt", "\n".join(lines) + "\n", "matches", matches_are(n, firsts=firsts))


# Rankings


def races() -> Layout:
    """Results of races of a season, as in the tables of Ergast, with drivers joined."""
    finish = {
        "1074": ("vine weld york zeal", "ulm(R)"), "1075": ("weld vine york", "zeal(R) ulm(R)"),
        "1076": ("vine york ulm weld zeal", ""), "1077": ("york zeal vine", "weld(D) ulm(R)"),
    }  # fmt: skip
    header = "resultId,raceId,year,round,circuitId,name,date,driverId,driverRef,code,constructorId,constructorRef,"
    header += "number,grid,position,positionText,positionOrder,points,laps,time,milliseconds,"
    header += "fastestLap,rank,fastestLapTime,fastestLapSpeed,statusId,status"
    ids = {"ulm": "830", "vine": "844", "weld": "815", "york": "832", "zeal": "1"}
    rows = []
    for r, (race, (ended, out)) in enumerate(finish.items()):
        order = [*ended.split(), *out.split()]
        for place, entry in enumerate(order, 1):
            driver, _, code = entry.partition("(")
            rows.append({
                "resultId": 25000 + len(rows), "raceId": race, "year": 2022, "round": r + 1, "circuitId": 3 + r,
                "name": f"Grand Prix {r + 1}", "date": f"2022-0{r + 3}-20", "driverId": ids[driver],
                "driverRef": driver, "code": driver[:3].upper(), "constructorId": 6 + place % 3,
                "constructorRef": ("red", "blue", "green")[place % 3], "grid": place % 5 + 1,
                "position": r"\N" if code else place, "positionText": code[:1] or place,
                "positionOrder": place, "points": max(0, 26 - 5 * place) if not code else 0,
                "time": r"\N" if code else "1:33:56.4" if place == 1 else f"+{5 * place}.598",
                "milliseconds": r"\N" if code else 5636400 + 5598 * place,
                "rank": 1 + (place * 2 + r) % 5, "fastestLapTime": f"1:3{place}.012",
                "fastestLapSpeed": f"{206 - place}.018", "status": "Engine" if code else "Finished",
            })  # fmt: skip
    text = filled(header, rows, laps=lambda r: r.randint(50, 57))
    whole = {"1074": "vine > weld > york > zeal > ulm", "1076": "vine > york > ulm > weld > zeal"}
    only = {"1074": "vine > weld > york > zeal", "1075": "weld > vine > york"}
    last = {"1074": "vine > weld > york > zeal > ulm", "1075": "weld > vine > york > ulm = zeal"}
    orders = []
    for order in (whole, only, last):
        numbers = {r: re.sub(r"\w+", lambda x: ids[x[0]], text) for r, text in order.items()}
        codes = {r: re.sub(r"\w+", lambda x: x[0][:3].upper(), text) for r, text in order.items()}
        for rows_of in (order, numbers, codes):
            resorted = {
                f"*{r}": " > ".join(" = ".join(sorted(b.split(" = "))) for b in text.split(" > "))
                for r, text in rows_of.items()
            }
            orders.append(resorted)
    return Layout("f1_results.csv", text, "rank", rankings_are(4, *orders))


def movielens() -> Layout:
    """Ratings of films by users."""
    given = {
        "1": {"1": "4.0", "3": "4.0", "6": "4.5", "47": "5.0"}, "2": {"1": "2.5", "47": "3.0", "318": "0.5"},
        "3": {"3": "5.0", "6": "1.0", "318": "3.5", "1": "2.0"}, "4": {"47": "2.0", "6": "5.0"},
    }  # fmt: skip
    rows = [
        [user, film, stars, 964982703 + 37 * n]
        for user, entries in given.items()
        for n, (film, stars) in enumerate(entries.items())
    ]
    right = {"1": "47 > 6 > 1 = 3", "2": "47 > 1 > 318", "3": "3 > 318 > 1 > 6", "4": "6 > 47"}
    names = ["userId", "movieId", "rating", "timestamp"]
    return Layout("ratings.csv", text_of(names, rows), "rank", rankings_are(4, right))


def preflib() -> Layout:
    """Complete orders of sushi, as PrefLib has them."""
    names = "ebi anago maguro ika uni".split()
    lines = [
        "# FILE NAME: 00014-00000001.soc", "# TITLE: Sushi Data", "# DESCRIPTION: Sushi: 5 items",
        "# DATA TYPE: soc", "# MODIFICATION TYPE: original", "# RELATES TO: 00014-00000002.soi",
        "# RELATED FILES: 00014-00000002.soi", "# PUBLICATION DATE: 2013-08-17",
        "# MODIFICATION DATE: 2022-09-16", "# NUMBER ALTERNATIVES: 5", "# NUMBER VOTERS: 30",
        "# NUMBER UNIQUE ORDERS: 4",
        *(f"# ALTERNATIVE NAME {n}: {name}" for n, name in enumerate(names, 1)),
        "12: 3,1,2,4,5", "9: 5,3,1,4,2", "6: 1,3,2,5,4", "3: 2,4,1,3,5",
    ]  # fmt: skip
    right = {
        "0 (12)": "maguro > ebi > anago > ika > uni",
        "1 (9)": "uni > maguro > ebi > ika > anago",
    }
    return Layout("00014-00000001.soc", "\n".join(lines) + "\n", "rank", rankings_are(4, right))


def marathon() -> Layout:
    """Results of a marathon in several years, with splits, overall places and places in classes."""
    order = {2015: "K2 K1 K4 K3 K5", 2016: "K1 K2 K3 K5 K4", 2017: "K4 K2 K1 K5 K3"}
    splits = "5K,10K,15K,20K,Half,25K,30K,35K,40K"
    header = (
        f"Year,Bib,Name,Age,M/F,City,State,Country,Citizen,{splits},Pace,Proj Time,Official Time,"
    )
    header += "Overall,Gender,Division"
    women = {"K2", "K5"}
    rows = []
    for year, text in order.items():
        seen = {"M": 0, "F": 0}
        for place, runner in enumerate(text.split(), 1):
            sex = "F" if runner in women else "M"
            seen[sex] += 1
            rows.append({
                "Year": year, "Bib": 100 * place + year % 10, "Name": f"Runner {runner}", "M/F": sex,
                "Age": 20 + place, "City": "Town", "State": "MA", "Country": "USA", "Citizen": "",
                "Pace": f"0:05:{10 + place}", "Proj Time": "-", "Overall": place, "Gender": seen[sex],
                "Official Time": f"2:{8 + 3 * place:02}:{37 - place}", "Division": seen[sex],
            })  # fmt: skip
    minutes = dict(zip(splits.split(","), (15, 30, 46, 62, 65, 77, 92, 107, 122), strict=True))
    clocks = {
        name: (lambda r, m=m: f"{m // 60}:{m % 60 + r.randint(0, 1):02}:{r.randint(10, 59)}")
        for name, m in minutes.items()
    }
    right = {
        str(year): " > ".join(f"Runner {runner}" for runner in text.split())
        for year, text in order.items()
    }
    return Layout("marathon.csv", filled(header, rows, **clocks), "rank", rankings_are(3, right))


def regatta() -> Layout:
    """Results of a regatta, with the worst race of each boat in brackets, total and net points."""
    points = {
        "GBR 1": "1.0 (3.0) 1.0 2.0 1.0", "GBR 22": "2.0 1.0 3.0 (6.0 DNF) 2.0",
        "IRL 5": "(4.0) 2.0 2.0 1.0 4.0", "NED 77": "3.0 4.0 (6.0 DNC) 3.0 3.0",
        "FRA 9": "5.0 5.0 4.0 4.0 (6.0 OCS)",
    }  # fmt: skip
    rows = []
    for n, (sail, text) in enumerate(points.items(), 1):
        cells = re.findall(r"\([^)]*\)|\S+", text)
        values = [float(re.findall(r"[\d.]+", cell)[0]) for cell in cells]
        place = f"{n}{'st' if n == 1 else 'nd' if n == 2 else 'rd' if n == 3 else 'th'}"
        rows.append([place, "Gold", sail, f"Helm {n}", f"Crew {n}", "SC", *cells, sum(values),
                     sum(values) - max(values)])  # fmt: skip
    names = "Rank,Fleet,SailNo,HelmName,CrewName,Club,R1,R2,R3,R4,R5,Total,Nett".split(",")
    by_sail = {
        "R1": "GBR 1 > GBR 22 > NED 77 > IRL 5 > FRA 9", "R2": "GBR 22 > IRL 5 > GBR 1 > NED 77 > FRA 9",
        "R3": "GBR 1 > IRL 5 > GBR 22 > FRA 9 > NED 77", "R5": "GBR 1 > GBR 22 > NED 77 > IRL 5 > FRA 9",
    }  # fmt: skip
    orders = []
    for word_ in ("", "Helm", "Crew"):
        alike = {sail: f"{word_} {n}" if word_ else sail for n, sail in enumerate(points, 1)}
        orders.append({
            race: " > ".join(alike[sail] for sail in order.split(" > ")) for race, order in by_sail.items()
        })  # fmt: skip
    return Layout("regatta.csv", text_of(names, rows), "rank", rankings_are(5, *orders))


def minneapolis() -> Layout:
    """Cast votes of a city by precinct, with counts."""
    names = ["Precinct", *(f"{x} CHOICE MAYOR MINNEAPOLIS" for x in ("1ST", "2ND", "3RD")), "Count"]
    votes = [
        ("P-01", "ALDER, A", "BIRCH, B", "CEDAR, C", 17), ("P-01", "BIRCH, B", "undervote", "undervote", 9),
        ("P-01", "CEDAR, C", "BIRCH, B", "undervote", 4), ("P-01", "UWI", "ALDER, A", "BIRCH, B", 1),
        ("P-02", "ALDER, A", "undervote", "undervote", 21), ("P-02", "BIRCH, B", "CEDAR, C", "ALDER, A", 8),
        ("P-02", "CEDAR, C", "ALDER, A", "overvote", 3), ("P-02", "ALDER, A", "CEDAR, C", "BIRCH, B", 6),
        ("P-03", "BIRCH, B", "ALDER, A", "CEDAR, C", 5), ("P-03", "undervote", "CEDAR, C", "undervote", 1),
        ("P-03", "CEDAR, C", "UWI", "undervote", 2), ("P-03", "BIRCH, B", "ALDER, A", "undervote", 12),
    ]  # fmt: skip
    drop = {"*1": "ALDER, A > BIRCH, B > CEDAR, C", "*2": "CEDAR, C > BIRCH, B", "*3": "CEDAR, C"}
    last = {
        "*1": "ALDER, A > BIRCH, B > CEDAR, C > UWI",
        "*2": "CEDAR, C > BIRCH, B > ALDER, A = UWI",
    }

    def check(rankings: Any) -> str:
        if rankings.count.sum() != 89:
            return f"{rankings.count.sum()} ballots instead of 89"
        if {*rankings.items} != {"ALDER, A", "BIRCH, B", "CEDAR, C", "UWI"}:
            return f"items {[*rankings.items]}"
        return rankings_are(None, drop, last)(rankings)

    return Layout("2021-mayor-cvr.csv", text_of(names, votes), "rank", check)


def new_york() -> Layout:
    """Cast votes of a city with five choices, some of them of one candidate."""
    names = ["Cast Vote Record", "Precinct", "Ballot Style"]
    names += [f"DEM Mayor Choice {n} of 5 Citywide (0{n}6916)" for n in range(1, 6)]
    votes = [
        "Ada Bo Cy Di Eli", "Bo Ada undervote undervote undervote", "Cy Cy Cy Cy Cy", "Ada Cy Bo Eli Di",
        "Di Bo Ada undervote undervote", "Bo Cy Bo Ada undervote", "Eli undervote undervote undervote undervote",
        "Ada Di overvote undervote undervote", "Bo Di Cy Ada Eli", "Cy Ada Di undervote undervote",
        "Ada undervote undervote undervote undervote", "Di Eli Ada Bo Cy",
    ]  # fmt: skip
    rows = [
        [1000 + n, f"AD: {23 + n % 3} ED: 00{n % 9}", 101, *v.split()] for n, v in enumerate(votes)
    ]
    drop = {"*1": "Ada > Bo > Cy > Di > Eli", "*2": "Bo > Ada", "*3": "Cy", "*4": "Bo > Cy > Ada"}
    last = {"*1": "Ada > Bo > Cy > Di > Eli", "*2": "Bo > Ada > Cy = Di = Eli",
            "*3": "Cy > Ada = Bo = Di = Eli", "*4": "Bo > Cy > Ada > Di = Eli"}  # fmt: skip

    def check(rankings: Any) -> str:
        if {*rankings.items} != {"Ada", "Bo", "Cy", "Di", "Eli"}:
            return f"items {[*rankings.items]}"
        return rankings_are(12, drop, last)(rankings)

    return Layout("nyc_cvr.csv", text_of(names, rows), "rank", check)


def song_contest() -> Layout:
    """Points that countries give to songs of others, in two years."""
    names = "year,round,from_country_id,to_country_id,from_country,to_country,total_points,"
    names += "tele_points,jury_points"
    order = {
        (2018, "Aland"): "Borne Corse Delos Elba", (2018, "Borne"): "Aland Delos Corse Elba",
        (2018, "Corse"): "Borne Aland Elba Delos", (2019, "Aland"): "Elba Borne Corse Delos",
        (2019, "Borne"): "Elba Aland Delos Corse", (2019, "Corse"): "Aland Elba Borne Delos",
    }  # fmt: skip
    rows = []
    for (year, giver), text in order.items():
        for item, points in zip(text.split(), (24, 17, 9, 0), strict=True):
            rows.append([year, "final", giver[:2].lower(), item[:2].lower(), giver, item, points,
                         points // 2, points - points // 2])  # fmt: skip
    right = {f"*{key}": text.replace(" ", " > ") for key, text in order.items()}
    short = {key: re.sub(r"\w+", lambda x: x[0][:2].lower(), text) for key, text in right.items()}
    check = rankings_are(6, right, short)
    return Layout("votes.csv", text_of(names.split(","), rows), "rank", check)


def judgement_of_wines() -> Layout:
    """Marks of eleven judges for ten wines."""
    wines = ["Ridge Hill", "Clos Aubel", "Vieux Mont", "Hafner", "Stone Leap", "Chateau Lys"]
    marks = {
        "Ridge Hill": "14 16 12 17 13 10 12 14 5", "Clos Aubel": "16 15 10 9.5 10 7 11 8 7",
        "Vieux Mont": "12 11.5 14 13.5 8 14 12 16 14", "Hafner": "17 12 8 11 12 15 17 9 12",
        "Stone Leap": "10 13 17 15 16 11 9 11 15", "Chateau Lys": "13 9 11 8 11 12 10 10 9",
    }  # fmt: skip
    rows = []
    for n, wine in enumerate(wines):
        given = [float(x) for x in marks[wine].split()]
        rows.append(
            [wine, ("US", "FR")[n % 2], 1970 + n % 4, *marks[wine].split(), f"{sum(given) / 9:.2f}"]
        )
    names = ["Wine", "Origin", "Vintage", *(f"Judge {x}" for x in "ABCDEFGHI"), "Average"]
    right = {
        "Judge A": "Hafner > Clos Aubel > Ridge Hill > Chateau Lys > Vieux Mont > Stone Leap",
        "Judge C": "Stone Leap > Vieux Mont > Ridge Hill > Chateau Lys > Clos Aubel > Hafner",
    }
    return Layout("wines.csv", text_of(names, rows), "rank", rankings_are(9, right))


def restaurants() -> Layout:
    """Three ratings per user and restaurant, as in the UCI repository."""
    given = {
        "U1077": {"135085": "2 2 2", "135038": "2 2 1", "132825": "1 2 2"},
        "U1068": {"135104": "1 1 2", "132740": "0 0 0", "132663": "2 1 1"},
        "U1067": {"132733": "1 1 1", "132668": "1 0 1", "132580": "2 2 2", "135085": "0 1 0"},
    }
    rows = [
        [user, place, *marks.split()]
        for user, all_ in given.items()
        for place, marks in all_.items()
    ]
    names = "userID,placeID,rating,food_rating,service_rating".split(",")
    right = {"U1077": "135038 = 135085 > 132825", "U1068": "132663 > 135104 > 132740",
             "U1067": "132580 > 132668 = 132733 > 135085"}  # fmt: skip
    return Layout("rating_final.csv", text_of(names, rows), "rank", rankings_are(3, right))


def google_forms() -> Layout:
    """Answers to a grid of ranks, a column per item."""
    items = ["Ale", "Bock", "Cider", "Dubbel"]
    said = {1: "1st choice", 2: "2nd choice", 3: "3rd choice", 4: "4th choice"}
    answers = ["1 2 3 4", "2 1 3 4", "4 3 2 1", "1 3 2 4", "3 1 2 4", "1 2 4 3", "2 1 4 3", "1 4 3 2",
               "3 2 1 4", "1 2 3 4", "2 3 1 4", "4 1 2 3"]  # fmt: skip
    rows = [
        [f"3/{n + 2}/2024 9:{10 + n}:12", *(said[int(x)] for x in text.split()), "18-29", ""]
        for n, text in enumerate(answers)
    ]
    names = ["Timestamp", *(f"Rank the following [{x}]" for x in items), "Your age", "Comments"]
    right = {
        "*1": "Ale > Bock > Cider > Dubbel",
        "*2": "Dubbel > Cider > Bock > Ale",
        "*3": "Bock > Cider > Ale > Dubbel",
    }
    check = rankings_are(12, right, strip=r"(?:Rank the following )?\[?(Ale|Bock|Cider|Dubbel)\]?")
    return Layout("form_responses.csv", text_of(names, rows), "rank", check)


def microsoft_forms() -> Layout:
    """Answers to a question with ranks, a list with semicolons in each cell."""
    answers = ["Pizza;Pasta;Salad;Soup;", "Pasta;Pizza;Soup;Salad;", "Soup;Pizza;Pasta;Salad;",
               "Pizza;Salad;Pasta;Soup;", "Pizza;Soup;Salad;Pasta;", "Salad;Pizza;Pasta;Soup;",
               "Pasta;Salad;Pizza;Soup;", "Pizza;Pasta;Soup;Salad;", "Soup;Pasta;Pizza;Salad;",
               "Pizza;Pasta;Salad;Soup;", "Pasta;Soup;Pizza;Salad;", "Salad;Soup;Pizza;Pasta;"]  # fmt: skip
    rows = [
        [n + 1, f"2/{n + 1}/24 10:12:44", f"2/{n + 1}/24 10:15:02", "anonymous", "", text, "Monday"]
        for n, text in enumerate(answers)
    ]
    names = [
        "ID",
        "Start time",
        "Completion time",
        "Email",
        "Name",
        "Please rank the dishes",
        "Best day",
    ]
    right = {"*1": "Pizza > Pasta > Salad > Soup", "*2": "Salad > Soup > Pizza > Pasta"}
    return Layout("Lunch(1-12).csv", text_of(names, rows), "rank", rankings_are(12, right))


def kobo() -> Layout:
    """Ticked boxes: the ticked names in one cell, and a column of 0 and 1 for each."""
    items = ["cheese", "ham", "olives", "onion"]
    ticks = ["cheese ham", "ham olives", "cheese olives onion", "olives", "cheese ham onion", "ham",
             "cheese olives", "cheese ham olives onion", "ham onion", "cheese", "ham olives onion",
             "cheese onion"]  # fmt: skip
    rows = [
        [f"2024-01-{n + 1:02}T10:00:00", f"2024-01-{n + 1:02}T10:04:00", text,
         *(int(x in text.split()) for x in items), 5000 + n, f"uuid:{n:04}-aa", f"2024-01-{n + 1:02}T10:05:00",
         "", n + 1]
        for n, text in enumerate(ticks)
    ]  # fmt: skip
    names = ["start", "end", "toppings", *(f"toppings/{x}" for x in items), "_id", "_uuid",
             "_submission_time", "_tags", "_index"]  # fmt: skip
    right = {"*1": "cheese = ham > olives = onion", "*2": "olives > cheese = ham = onion"}
    check = rankings_are(12, right, strip=r"(?:toppings/)?(cheese|ham|olives|onion)")
    return Layout("kobo.csv", text_of(names, rows), "rank", check)


def accuracies() -> Layout:
    """Accuracies of algorithms on data sets, as for critical difference diagrams."""
    values = {
        "adult (sample)": "0.763 0.768 0.771 0.798", "breast cancer": "0.599 0.591 0.590 0.569",
        "ionosphere": "0.876 0.891 0.886 0.883", "iris": "0.966 0.933 0.966 0.920",
        "liver disorders": "0.631 0.662 0.629 0.619", "lymphography": "0.778 0.750 0.794 0.772",
        "mushroom": "1.000 1.000 1.000 0.999", "primary tumor": "0.937 0.948 0.935 0.901",
        "rheum": "0.619 0.625 0.620 0.617", "voting": "0.972 0.975 0.970 0.971",
        "wine": "0.957 0.952 0.956 0.958", "zoo": "0.941 0.934 0.940 0.939",
    }  # fmt: skip
    names = ["Dataset", "C4.5", "C4.5+m", "C4.5+cf", "Forest"]
    rows = [[name, *text.split()] for name, text in values.items()]
    right = {"adult (sample)": "Forest > C4.5+cf > C4.5+m > C4.5", "iris": "C4.5 = C4.5+cf > C4.5+m > Forest",
             "mushroom": "C4.5 = C4.5+cf = C4.5+m > Forest"}  # fmt: skip
    return Layout("accuracy.csv", text_of(names, rows), "rank", rankings_are(12, right))


def civs() -> Layout:
    """Ballots of an internet voting service: ranks of all options, with - for no opinion."""
    names = ["Oak Room", "Pine Hall", "Quay", "Roof"]
    ballots = ["1 2 3 4", "2 1 - 3", "4 3 2 1", "1 1 2 3", "3 - 1 2", "1 2 - -", "2 3 1 4", "1 3 2 2",
               "4 1 2 3", "2 2 1 3", "1 4 3 2", "3 1 2 4"]  # fmt: skip
    rows = [text.split() for text in ballots]
    drop = {"*1": "Oak Room > Pine Hall > Quay > Roof", "*2": "Pine Hall > Oak Room > Roof",
            "*3": "Oak Room = Pine Hall > Quay > Roof", "*4": "Oak Room > Pine Hall"}  # fmt: skip
    last = {"*1": "Oak Room > Pine Hall > Quay > Roof", "*2": "Pine Hall > Oak Room > Roof > Quay",
            "*4": "Oak Room > Pine Hall > Quay = Roof"}  # fmt: skip
    return Layout("civs_ballots.csv", text_of(names, rows), "rank", rankings_are(12, drop, last))


# Choices


def qualtrics() -> Layout:
    """Best-worst questions of a survey: three header rows, 2 is best and 1 is worst."""
    first = (
        "StartDate,EndDate,Status,IPAddress,Progress,Duration (in seconds),Finished,RecordedDate,"
    )
    first += "ResponseId,DistributionChannel,UserLanguage"
    names = first.split(",")
    items = {"Q1": ["Ale", "Bock", "Cider", "Dubbel"], "Q2": ["Bock", "Dubbel", "Elder", "Ale"],
             "Q3": ["Cider", "Elder", "Ale", "Bock"]}  # fmt: skip
    answers = ["2__1 _2_1 12__", "_2_1 2__1 1__2", "21__ 2_1_ _2_1", "2_1_ _12_ _12_", "_21_ 21__ __21",
               "2__1 12__ 1_2_", "1_2_ _2_1 _2_1", "2__1 2__1 21__", "_2_1 __12 1__2", "2_1_ 2_1_ 1_2_",
               "12__ _1_2 _1_2", "2__1 2_1_ _12_"]  # fmt: skip
    questions = [f"{q}_{n}" for q, shown in items.items() for n in range(1, len(shown) + 1)]
    texts = [f"Which is best and which is worst? - {x}" for shown in items.values() for x in shown]
    said = ["Start Date", "End Date", "Response Type", "IP Address", "Progress", "Duration (in seconds)",
            "Finished", "Recorded Date", "Response ID", "Distribution Channel", "User Language"]  # fmt: skip
    ids = [*("startDate endDate status ipAddress progress duration finished recordedDate _recordId "
             "distributionChannel userLanguage").split()]  # fmt: skip
    ids += [f"QID{q[1:]}" for q in questions]
    rows: list[list[Any]] = [[*said, *texts], [json.dumps({"ImportId": x}) for x in ids]]
    for n, text in enumerate(answers):
        day = f"2024-02-{n + 1:02} 10:0{n % 6}:00"
        cells = ["" if x == "_" else x for x in text.replace(" ", "")]
        rows.append(
            [
                day,
                day,
                "IP Address",
                "",
                100,
                60 + n,
                "True",
                day,
                f"R_{n:03}aB",
                "anonymous",
                "EN",
                *cells,
            ]
        )
    right = {  # of the first and the third row
        "R_000aB": "Ale > Bock = Cider > Dubbel", "R_002aB": "Ale > Cider = Dubbel > Bock",
    }  # fmt: skip
    check = rankings_are(
        36, right, strip=r"(?:Which is best and which is worst\? - )?(Ale|Bock|Cider|Dubbel|Elder)"
    )
    return Layout("maxdiff_qualtrics.csv", text_of([*names, *questions], rows), "choices", check)


def sawtooth() -> Layout:
    """A row per task: numbers of the items shown, and of the best and the worst."""
    rng = random.Random(5)
    names = ["Respondent", "Version", "Task", *(f"Item{n}" for n in range(1, 6)), "Best", "Worst"]
    rows: list[list[Any]] = [
        [1001, 1, 1, 8, 3, 12, 6, 10, 12, 3], [1001, 1, 2, 2, 9, 11, 7, 4, 9, 4], [1001, 1, 3, 1, 5, 8, 12, 9, 12, 1],
    ]  # fmt: skip
    for n in range(9):
        shown = rng.sample(range(1, 13), 5)
        rows.append(
            [1002 + n // 3, 1 + n // 3, 1 + n % 3, *shown, shown[n % 5], shown[(n + 2) % 5]]
        )
    right = {"*1": "12 > 10 = 6 = 8 > 3", "*2": "9 > 11 = 2 = 7 > 4", "*3": "12 > 5 = 8 = 9 > 1"}
    return Layout("maxdiff.csv", text_of(names, rows), "choices", rankings_are(12, right))


def travel_modes() -> Layout:
    """A row per person and mode of travel, with the mode chosen."""
    chosen = ["car", "train", "bus", "air", "car", "car", "train", "air"]
    rows = []
    rng = random.Random(2)
    for person, mode in enumerate(chosen, 1):
        for one in ("air", "train", "bus", "car"):
            rows.append([4 * person - 3 + len(rows) % 4, person, one, "yes" if one == mode else "no",
                         rng.randint(0, 69), rng.randint(20, 99), rng.randint(90, 600),
                         rng.randint(40, 160), 35, 1 + person % 2])  # fmt: skip
    names = "rownames,individual,mode,choice,wait,vcost,travel,gcost,income,size".split(",")
    right = {
        "1": "car > air = bus = train",
        "2": "train > air = bus = car",
        "8": "air > bus = car = train",
    }
    return Layout("TravelMode.csv", text_of(names, rows), "choices", rankings_are(8, right))


LAYOUTS = {
    "league football": league_football(),
    "tennis": tennis(),
    "chess": chess(),
    "chess with signs of typesetters": chess("½–½", " – "),
    "games of a server": lichess(),
    "arena": arena(),
    "judgements of experts": mt_bench(),
    "basketball": basketball(),
    "international football": international_football(),
    "a column per pair": pair_columns(),
    "crosstable": crosstable(),
    "wins of both teams": baseball(),
    "races": races(),
    "films": movielens(),
    "PrefLib": preflib(),
    "marathon": marathon(),
    "regatta": regatta(),
    "cast votes with counts": minneapolis(),
    "cast votes with five choices": new_york(),
    "song contest": song_contest(),
    "wines": judgement_of_wines(),
    "restaurants": restaurants(),
    "a grid of ranks": google_forms(),
    "lists with semicolons": microsoft_forms(),
    "ticked boxes": kobo(),
    "accuracies": accuracies(),
    "ballots with no opinion": civs(),
    "best and worst of a survey": qualtrics(),
    "best and worst by number": sawtooth(),
    "modes of travel": travel_modes(),
}


# Tables that no command reads: one row per item, or offers that differ in their attributes


def standings() -> str:
    """Write the table of a league."""
    names = "Team,GP,W,L,OTL,PTS,ROW,GF,GA,DIFF,HOME,AWAY,STRK".split(",")
    rows = [
        [team, 82, 50 - 4 * n, 20 + 3 * n, 12 + n, 112 - 7 * n, 48 - 4 * n, 290 - 9 * n, 230 + 6 * n,
         60 - 15 * n, "25-10-6", "25-10-6", f"W{n + 1}"]
        for n, team in enumerate(TEAMS * 3)
    ]  # fmt: skip
    rows = [[f"{row[0]} {n}", *row[1:]] for n, row in enumerate(rows)]
    return text_of(names, rows)


def conjoint() -> str:
    """Write choices among three offers each, which differ in their attributes."""
    rng = random.Random(3)
    rows = []
    for person in range(1, 5):
        for task in range(1, 4):
            best = rng.randint(1, 3)
            for alternative in range(1, 4):
                rows.append([person, task, alternative, rng.choice(["yes", "no"]), rng.choice([6, 7, 8]),
                             rng.choice(["2ft", "3ft"]), rng.choice(["gas", "hyb", "elec"]),
                             rng.choice([30, 35, 40]), int(alternative == best)])  # fmt: skip
    return text_of("resp.id,ques,alt,carpool,seat,cargo,eng,price,choice".split(","), rows)


TRAPS = {"standings": ("standings.csv", standings()), "conjoint": ("conjoint.csv", conjoint())}
