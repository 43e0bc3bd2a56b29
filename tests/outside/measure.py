"""Fit small data with other Python packages: what each returns, by item, as JSON.

``python -m tests.outside.page --run`` starts this file in an environment that has the packages and
neither bayesrank nor the tests. Data are read from ``data``, next to this file. Filters that learn
match by match read the rows in the order of the file.
"""

import csv
import importlib.metadata
import itertools
import json
import sys
from collections.abc import Callable
from pathlib import Path

import arena_rank.models.bradley_terry as arena
import choix
import evalica
import glicko2
import kickscore
import numpy as np
import openskill.models as openskill
import pandas as pd
import trueskill
import trueskillthroughtime as ttt
import whr
from arena_rank.utils.data_utils import PairDataset

DATA = Path(__file__).parent / "data"
Scores = dict[str, float]


def read(name: str) -> list[dict[str, str]]:
    """Read the rows of a file."""
    with (DATA / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def matches(name: str) -> list[tuple[str, str, str]]:
    """Read matches: first, second, outcome."""
    return [(row["first"], row["second"], row["outcome"]) for row in read(name)]


def orders() -> list[list[str]]:
    """Read rankings without ties, best first."""
    by_ranking = itertools.groupby(read("rankings"), key=lambda row: row["ranking"])
    return [[row["item"] for row in rows] for _, rows in by_ranking]


def items(name: str) -> list[str]:
    """Return the labels in alphabetical order."""
    if name == "rankings":
        return sorted({item for order in orders() for item in order})
    return sorted({item for first, second, _ in matches(name) for item in (first, second)})


def won_lost(name: str) -> list[tuple[int, int]]:
    """Return the indices of winner and loser of each match."""
    index = {item: k for k, item in enumerate(items(name))}
    pairs = [(a, b) if won == "first" else (b, a) for a, b, won in matches(name)]
    return [(index[winner], index[loser]) for winner, loser in pairs]


# Fits that use all matches at once


def choix_pairs(name: str, fit: str, alpha: float) -> Scores:
    """Fit matches with choix."""
    labels = items(name)
    found = getattr(choix, fit)(len(labels), won_lost(name), alpha=alpha, max_iter=1000)
    return dict(zip(labels, found, strict=True))


def choix_rankings(fit: str, alpha: float) -> Scores:
    """Fit rankings with choix."""
    labels = items("rankings")
    data = [tuple(labels.index(item) for item in order) for order in orders()]
    found = getattr(choix, fit)(len(labels), data, alpha=alpha, max_iter=1000)
    return dict(zip(labels, found, strict=True))


def evalica_scores(name: str, fit: str) -> Scores:
    """Fit matches with evalica."""
    rows = matches(name)
    winner = {"first": evalica.Winner.X, "second": evalica.Winner.Y, "tie": evalica.Winner.Draw}
    fitted = getattr(evalica, fit)(
        [first for first, _, _ in rows],
        [second for _, second, _ in rows],
        [winner[outcome] for _, _, outcome in rows],
    )
    return dict(fitted.scores)


def arena_ratings(name: str) -> Scores:
    """Fit matches with arena-rank."""
    rows = pd.DataFrame(matches(name), columns=["model_a", "model_b", "outcome"])
    rows["winner"] = rows["outcome"].map({"first": "model_a", "second": "model_b", "tie": "tie"})
    dataset = PairDataset.from_pandas(rows)
    fitted = arena.BradleyTerry(len(dataset.competitors)).compute_ratings_and_cis(dataset)
    return dict(zip(dataset.competitors, np.asarray(fitted["ratings"]), strict=True))


def kickscore_means(name: str, noise: str) -> Scores:
    """Fit matches with kickscore: scores that do not change, with prior variance 1."""
    ties = any(outcome == "tie" for _, _, outcome in matches(name))
    model = kickscore.TernaryModel(0.5, noise) if ties else kickscore.BinaryModel(noise)
    for item in items(name):
        model.add_item(item, kernel=kickscore.kernel.Constant(1.0))
    for first, second, outcome in matches(name):
        won, lost = ([second], [first]) if outcome == "second" else ([first], [second])
        model.observe(won, lost, t=0.0, **({"tie": outcome == "tie"} if ties else {}))
    model.fit(tol=1e-8, max_iter=1000)
    return {item: model.item[item].predict([0.0])[0][0] for item in items(name)}


def whr_elo(name: str) -> Scores:
    """Fit matches of one day with whole-history-rating."""
    base = whr.WHR()
    for first, second, outcome in matches(name):
        base.create_game(first, second, {"first": "B", "second": "W", "tie": "D"}[outcome], 1, 0)
    base.auto_iterate(precision=1e-9)
    # `ratings_for_player` rounds to whole points
    return {item: base.players[item].days[-1].elo for item in items(name)}


def ttt_means(name: str) -> Scores:
    """Fit matches or rankings of one time with TrueSkill Through Time."""
    if name == "rankings":
        teams = [[[item] for item in order] for order in orders()]
        results = []
    else:
        teams = [[[first], [second]] for first, second, _ in matches(name)]
        results = [
            {"first": [1, 0], "second": [0, 1], "tie": [0, 0]}[o] for _, _, o in matches(name)
        ]
    ties = any(result == [0, 0] for result in results)
    history = ttt.History(
        teams, results, times=[1] * len(teams), gamma=0.0, p_draw=0.4 if ties else 0.0
    )
    history.convergence(epsilon=1e-8, iterations=200, verbose=False)
    curves = history.learning_curves()
    return {item: curves[item][-1][1].mu for item in items(name)}


# Filters: one pass through the rows


def glicko2_ratings(name: str) -> Scores:
    """Update all players once, from the ratings before this period."""
    players = {item: glicko2.Player() for item in items(name)}
    seen = {item: ([], [], []) for item in players}
    points = {"first": 1.0, "second": 0.0, "tie": 0.5}
    for first, second, outcome in matches(name):
        for one, other, score in (
            (first, second, points[outcome]),
            (second, first, 1 - points[outcome]),
        ):
            for known, value in zip(
                seen[one], (players[other].rating, players[other].rd, score), strict=True
            ):
                known.append(value)
    for item, player in players.items():
        player.update_player(*seen[item])
    return {item: player.rating for item, player in players.items()}


def trueskill_means(name: str) -> Scores:
    """Rate match by match, or ranking by ranking, with trueskill's default values."""
    ratings = {item: trueskill.Rating() for item in items(name)}
    if name == "rankings":
        games = [(order, list(range(len(order)))) for order in orders()]
    else:
        ranks = {"first": [0, 1], "second": [1, 0], "tie": [0, 0]}
        games = [([first, second], ranks[outcome]) for first, second, outcome in matches(name)]
    for players, ranks_of in games:
        rated = trueskill.rate([(ratings[item],) for item in players], ranks=ranks_of)
        ratings.update({item: new for item, (new,) in zip(players, rated, strict=True)})
    return {item: rating.mu for item, rating in ratings.items()}


def openskill_means(name: str, kind: str) -> Scores:
    """Rate match by match, or ranking by ranking, with openskill's default values."""
    model = getattr(openskill, kind)()
    ratings = {item: model.rating() for item in items(name)}
    if name == "rankings":
        games = [(order, list(range(len(order)))) for order in orders()]
    else:
        ranks = {"first": [0, 1], "second": [1, 0], "tie": [0, 0]}
        games = [([first, second], ranks[outcome]) for first, second, outcome in matches(name)]
    for players, ranks_of in games:
        rated = model.rate([[ratings[item]] for item in players], ranks=ranks_of)
        ratings.update({item: new for item, (new,) in zip(players, rated, strict=True)})
    return {item: rating.mu for item, rating in ratings.items()}


# What a guess gets wrong


def opposite_orders(fit: str) -> Scores:
    """Fit an order and its opposite with choix."""
    return dict(zip("abc", getattr(choix, fit)(3, [(0, 1, 2), (2, 1, 0)]), strict=True))


def reversed_rankings() -> Scores:
    """Fit rankings from worst to best with choix, and change the sign."""
    labels = items("rankings")
    data = [tuple(labels.index(item) for item in reversed(order)) for order in orders()]
    return dict(zip(labels, -choix.ilsr_rankings(len(labels), data), strict=True))


def whr_labels() -> Scores:
    """Let "W" meet "B", and name "B" as the winner."""
    base = whr.WHR()
    base.create_game("W", "B", "B", 1, 0)
    base.auto_iterate(precision=1e-9)
    return {item: base.players[item].days[-1].elo for item in ("B", "W")}


def newman_of_two() -> Scores:
    """Six wins of one item, three of the other."""
    won = [evalica.Winner.X] * 6 + [evalica.Winner.Y] * 3
    return dict(evalica.newman(["pear"] * 9, ["fig"] * 9, won).scores)


def arena_names() -> Scores:
    """Write the winner's name into the column of winners."""
    rows = pd.DataFrame({"model_a": ["pear"] * 9, "model_b": ["fig"] * 9})
    rows["winner"] = ["pear"] * 6 + ["fig"] * 3
    dataset = PairDataset.from_pandas(rows)
    fitted = arena.BradleyTerry(2).compute_ratings_and_cis(dataset)
    return dict(zip(dataset.competitors, np.asarray(fitted["ratings"]), strict=True))


def openskill_probabilities() -> Scores:
    """Compare two probabilities that 30 beats 25: `predict_win`, and the one `rate` assumes.

    A rating stays the same on average if the model is right. So the assumed probability p solves
    p * gain + (1 - p) * loss = 0.
    """
    model = openskill.BradleyTerryFull(tau=0)
    strong, weak = model.rating(30, 0.1), model.rating(25, 0.1)
    gain = model.rate([[strong], [weak]], ranks=[0, 1])[0][0].mu - 30
    loss = model.rate([[strong], [weak]], ranks=[1, 0])[0][0].mu - 30
    return {
        "predict_win": model.predict_win([[strong], [weak]])[0],
        "rate": -loss / (gain - loss),
    }


def openskill_tau() -> Scores:
    """Return the sd after one win, with tau=0 nowhere, in `rate`, and in the model."""
    usual, without = openskill.BradleyTerryFull(), openskill.BradleyTerryFull(tau=0)

    def sd(model: openskill.BradleyTerryFull, **how: float) -> float:
        return model.rate([[model.rating()], [model.rating()]], **how)[0][0].sigma

    return {"rate()": sd(usual), "rate(tau=0)": sd(usual, tau=0), "model": sd(without)}


def glicko2_in_turn() -> Scores:
    """Update one player after the other, from ratings that are already new."""
    first, second = glicko2.Player(), glicko2.Player()
    first.update_player([second.rating], [second.rd], [1])
    second.update_player([first.rating], [first.rd], [0])
    return {"first": first.rating, "second": second.rating}


def cases() -> dict[str, tuple[str, str, Callable[[], Scores]]]:
    """Return package, data and fit of every case, by name."""
    found: dict[str, tuple[str, str, Callable[[], Scores]]] = {}

    def add(package: str, call: str, name: str, fit: Callable[..., Scores], *how: object) -> None:
        found[f"{package}: {call} of {name}"] = (package, name, lambda: fit(*how))

    for alpha in (0.0, 0.5):
        for fit in ("ilsr_pairwise", "mm_pairwise", "opt_pairwise"):
            add("choix", f"{fit}(alpha={alpha:g})", "matches", choix_pairs, "matches", fit, alpha)
        for fit in ("ilsr_rankings", "mm_rankings", "opt_rankings"):
            add("choix", f"{fit}(alpha={alpha:g})", "rankings", choix_rankings, fit, alpha)
    for name in ("matches", "ties", "unbeaten"):
        for fit in ("bradley_terry", "newman", "eigen"):
            add("evalica", fit, name, evalica_scores, name, fit)
        add("arena-rank", "BradleyTerry", name, arena_ratings, name)
        add("kickscore", "logit", name, kickscore_means, name, "logit")
        add("kickscore", "probit", name, kickscore_means, name, "probit")
        add("whole-history-rating", "WHR", name, whr_elo, name)
        add("trueskillthroughtime", "History", name, ttt_means, name)
        add("glicko2", "Player", name, glicko2_ratings, name)
        add("trueskill", "rate", name, trueskill_means, name)
        add("openskill", "BradleyTerryFull", name, openskill_means, name, "BradleyTerryFull")
    for fit, alpha in (("ilsr_pairwise", 0.0), ("opt_pairwise", 0.0), ("opt_pairwise", 0.5)):
        add("choix", f"{fit}(alpha={alpha:g})", "unbeaten", choix_pairs, "unbeaten", fit, alpha)
    add("trueskill", "rate", "rankings", trueskill_means, "rankings")
    add("trueskillthroughtime", "History", "rankings", ttt_means, "rankings")
    add("openskill", "PlackettLuce", "rankings", openskill_means, "rankings", "PlackettLuce")
    add("choix", "ilsr_rankings", "opposite", opposite_orders, "ilsr_rankings")
    add("choix", "ilsr_rankings of reversed", "rankings", reversed_rankings)
    add("whole-history-rating", "create_game('W', 'B', 'B')", "one match", whr_labels)
    add("evalica", "newman", "6 of 9", newman_of_two)
    add("arena-rank", "BradleyTerry", "6 of 9, by name", arena_names)
    add("openskill", "BradleyTerryFull", "30 against 25", openskill_probabilities)
    add("openskill", "BradleyTerryFull", "one match, tau", openskill_tau)
    add("glicko2", "Player", "one match, in turn", glicko2_in_turn)
    return found


def main() -> None:
    """Print one JSON object."""
    rows = []
    for case, (package, name, fit) in cases().items():
        try:
            scores = {item: float(value) for item, value in sorted(fit().items())}
            error = None
        except (ValueError, RuntimeError, ArithmeticError) as raised:
            scores, error = {}, f"{type(raised).__name__}: {raised}"
        rows.append(
            {
                "package": package,
                "version": importlib.metadata.version(package),
                "call": case.removeprefix(f"{package}: ").removesuffix(f" of {name}"),
                "data": name,
                "scores": scores,
                "error": error,
            }
        )
    json.dump(rows, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
