r"""Compare dynamic strengths with static ones, Elo, Glicko and kickscore on football.

Story: matches are predicted day by day, each from all matches before its day. Hyperparameters
(scales, drifts, step sizes) are chosen on the first part of the matches only. The log loss is
computed on the rest.

    utility[i](t) ~ random walk, or another dynamics of bayesrank.utility
    outcome       ~ Davidson(
                        utility[first](t) - utility[second](t) + order_effect, nu)

================  ==================================================================================
model             description, and the settings chosen on the first part
================  ==================================================================================
constant          `br.forward_validation` uses one utility for all times. The evidence determines
                  its scale.
random_walk, ...  The same function uses dynamics. The evidence determines the hyperparameters.
Elo               Each item has one number, which moves by k times the unexpected part of the
                  result. The log loss determines k, the order effect and the ties.
Glicko-style      Each item has a mean and a variance, treated as independent (Glickman 1999) and
                  updated by one Newton step. The log loss determines scale, drift, order effect
                  and ties.
kickscore         It uses expectation propagation (Maystre, Kristof & Grossglauser 2019). The random
                  walk of Rao and Kupper's model determines its hyperparameters. The row is omitted
                  if kickscore is not installed.
================  ==================================================================================

All models except kickscore use Davidson's probabilities, or Bradley-Terry's if the data have no
ties. kickscore uses Rao and Kupper's ties. CPU seconds count this process only.

Run ``python -m models.history.study [FOLDER]`` with the folder of ``england.csv``, by default
``football`` in ``BAYESRANK_DATA``. The file has one row per match with date, home, away,
home_goals and away_goals. The command writes the tables into ``RESULTS.md``. For any other table of
matches, ``compared(read(path, date="played", first="x", second="y", outcome="won"))`` returns the
same rows.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, softmax

import bayesrank as br
from bayesrank.data.read import label_times
from models.shared.results import Run, Table, run

OUTCOMES = ("first", "second", "tie")
DYNAMICS = ("constant", "random_walk", "matern12", "constant + matern32")


def read(
    path: Path,
    *,
    date: str,
    first: str,
    second: str,
    outcome: str | None = None,
    scores: tuple[str, str] | None = None,
    last: int | None = None,
) -> br.Pairs:
    """Read a table of matches, or only its last ones; each pair is one match."""
    table = pd.read_csv(path)
    if last is not None:
        table = table.tail(last).reset_index(drop=True)
    if outcome is None:
        if scores is None:
            raise ValueError("Give outcome=, a column, or scores=, two columns of scores.")
        one, other = table[scores[0]], table[scores[1]]
        table["outcome"] = np.select([one > other, one < other], OUTCOMES[:2], "tie")
        outcome = "outcome"
    table = table.rename(columns={date: "date"})
    return br.Pairs.from_frame(
        table, first=first, second=second, outcome=outcome, by="date", collapse=False
    )


class Matches:
    """Matches as arrays in the order of time; `days` has the positions of each day's matches."""

    def __init__(self, pairs: br.Pairs, start: float) -> None:
        group = pairs.groups["date"]
        years = label_times(group.labels, "date")[group.idx]
        order = np.argsort(years, kind="stable")
        self.years = years[order]
        self.first, self.second = pairs.first[order], pairs.second[order]
        self.outcome = pairs.counts[order].argmax(axis=1)
        self.n_items = pairs.n_items
        self.ties = bool(pairs.counts[:, 2].any())
        begin = np.searchsorted(self.years, self.years[int(start * len(years))])
        self.n_first = int(begin)
        bounds = np.flatnonzero(np.diff(self.years)) + 1
        self.days = np.split(np.arange(len(years)), bounds)

    def probabilities(self, lead: Any, nu: float) -> NDArray[np.float64]:
        """Return Davidson's probabilities (..., 3): the first wins, the second wins, a tie."""
        tie = np.full(np.shape(lead), np.log(nu) if self.ties else -np.inf)
        return np.exp(log_softmax(np.stack([lead / 2, -lead / 2, tie], axis=-1), axis=-1))


def elo(m: Matches, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Predict all matches by Elo's ratings; x contains log k, the order effect and log nu."""
    k, order, nu = np.exp(x[0]), x[1], np.exp(x[2])
    rating, found = np.zeros(m.n_items), np.empty((len(m.years), 3))
    score = np.array([1.0, 0.0, 0.5])[m.outcome]
    for day in m.days:
        i, j = m.first[day], m.second[day]
        found[day] = p = m.probabilities(rating[i] - rating[j] + order, nu)
        step = k * (score[day] - p[:, 0] - p[:, 2] / 2)
        np.add.at(rating, i, step)
        np.subtract.at(rating, j, step)
    return found


def glicko(m: Matches, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Predict by means and variances; x is log scale, log drift, order effect and log nu."""
    scale, drift, order, nu = np.exp(x[0]), np.exp(x[1]), x[2], np.exp(x[3])
    mean, variance = np.zeros(m.n_items), np.full(m.n_items, scale**2)
    last = np.full(m.n_items, np.nan)
    found = np.empty((len(m.years), 3))
    nodes, weights = np.polynomial.hermite_e.hermegauss(11)
    weights = weights / weights.sum()
    score = np.array([1.0, 0.0, 0.5])[m.outcome]
    for day in m.days:
        i, j, now = m.first[day], m.second[day], m.years[day[0]]
        playing = np.unique(np.concatenate([i, j]))
        variance[playing] += drift**2 * np.nan_to_num(now - last[playing])
        last[playing] = now
        lead, spread = mean[i] - mean[j] + order, variance[i] + variance[j]
        p = m.probabilities(lead[:, None] + np.sqrt(spread)[:, None] * nodes, nu)
        found[day] = np.einsum("k,nkr->nr", weights, p)
        # slope and curvature, given the uncertainty of the opponent
        gain, bend = np.zeros(m.n_items), np.zeros(m.n_items)
        at = m.probabilities(lead, nu)
        slope = score[day] - at[:, 0] - at[:, 2] / 2
        ahead = at[:, 0] - at[:, 1]
        curvature = (at[:, 0] + at[:, 1] - ahead**2) / 4
        for one, other, sign in ((i, j, 1.0), (j, i, -1.0)):
            shrink = 1 / (1 + curvature * variance[other])
            np.add.at(gain, one, sign * slope * shrink)
            np.add.at(bend, one, curvature * shrink)
        variance[playing] = 1 / (1 / variance[playing] + bend[playing])
        mean[playing] += variance[playing] * gain[playing]
    return found


def tuned(
    predict: Callable[..., NDArray[np.float64]], m: Matches, start: list[float]
) -> NDArray[np.float64]:
    """Predict all matches with the best parameters for the first part, after its first tenth."""
    part = slice(m.n_first // 10, m.n_first)
    judged = np.arange(len(m.years))[part]

    def loss(x: NDArray[np.float64]) -> float:
        p = predict(m, x)[judged, m.outcome[part]]
        return -float(np.log(np.maximum(p, 1e-12)).mean())

    options = {"xatol": 0.02, "fatol": 1e-5, "maxfev": 200}
    found: Any = minimize(loss, start, method="Nelder-Mead", options=options)  # type: ignore[call-overload]
    return predict(m, found.x)


def kickscore(m: Matches, pairs: br.Pairs, *, every: int) -> NDArray[np.float64]:
    """Predict by kickscore, which is fitted again at regular intervals of days."""
    import kickscore as ks  # type: ignore[import-not-found]

    likelihood = "rao_kupper" if m.ties else "bradley_terry"
    counts = pairs.counts.copy()
    years = label_times(pairs.groups["date"].labels, "date")[pairs.groups["date"].idx]
    counts[years >= m.years[m.n_first]] = 0  # later matches are unknown
    fit = br.fit_dynamic(
        replace(pairs, counts=counts),
        time="date",
        dynamics="random_walk",
        likelihood=likelihood,
        random_seed=1,
    )
    scale, drift = fit.hyperparameters["scale"], fit.hyperparameters["drift"]
    theta = float(fit.draws(random_seed=1)["posterior"]["theta"].mean()) if m.ties else 1.0
    model = (
        ks.TernaryModel(margin=np.log(theta), obs_type="logit")
        if m.ties
        else ks.BinaryModel(obs_type="logit")
    )
    model.add_item("order", kernel=ks.kernel.Constant(var=0.25))
    for i in range(m.n_items):
        begin = m.years[(m.first == i) | (m.second == i)].min()
        kernel = ks.kernel.Wiener(var=drift**2, t0=begin, var_t0=scale**2)
        model.add_item(str(i), kernel=kernel)
    found, fitted = np.full((len(m.years), 3), np.nan), False
    waiting: list[int] = []  # kickscore cannot predict while it has matches that are not fitted
    for number, day in enumerate(m.days):
        now, is_test = float(m.years[day[0]]), day[0] >= m.n_first
        if is_test and (number % every == 0 or not fitted):
            for k in waiting:
                winners, losers = [str(m.first[k]), "order"], [str(m.second[k])]
                if m.outcome[k] == 1:
                    winners, losers = losers, winners
                tie = {"tie": bool(m.outcome[k] == 2)} if m.ties else {}
                model.observe(winners, losers, t=float(m.years[k]), **tie)
            model.fit()
            fitted, waiting = True, []
        for match in day if is_test else ():
            ends = [str(m.first[match]), "order"], [str(m.second[match])]
            p = model.probabilities(*ends, t=now)
            found[match] = (p[0], p[2], p[1]) if m.ties else (*p, 0.0)
        waiting += day.tolist()
    return found


def compared(
    pairs: br.Pairs, *, start: float = 0.7, every: int = 1, dynamics: tuple[str, ...] = DYNAMICS
) -> Iterator[dict[str, Any]]:
    """Predict by every model; yield name, log loss, standard error, accuracy and CPU seconds."""
    m = Matches(pairs, start)
    test = slice(m.n_first, None)
    came = m.outcome[test]

    def row(name: str, p: NDArray[np.float64], begin: float) -> dict[str, Any]:
        loss = -np.log(p[test][np.arange(len(came)), came])
        return {
            "model": name,
            "log_loss": float(loss.mean()),
            "error": float(loss.std() / np.sqrt(len(loss))),
            "accuracy": float((p[test].argmax(axis=1) == came).mean()),
            "cpu_seconds": time.process_time() - begin,
        }

    begin = time.process_time()
    yield row("Elo", tuned(elo, m, [-2.0, 0.0, -0.5]), begin)
    begin = time.process_time()
    yield row("Glicko-style", tuned(glicko, m, [-0.5, -1.0, 0.0, -0.5]), begin)
    for text in dynamics:
        begin = time.process_time()
        found = br.forward_validation(pairs, time="date", start=start, dynamics=text, random_seed=1)
        yield {
            "model": text,
            "log_loss": found.log_loss,
            "error": found.error,
            "accuracy": found.accuracy,
            "cpu_seconds": time.process_time() - begin,
        }
    begin = time.process_time()
    try:
        yield row("kickscore", kickscore(m, pairs, every=every), begin)
    except ImportError:
        print("kickscore is not installed, so its row is omitted: pip install kickscore.")


# ---------------------------------------------------------------------------------------------
# Tables
# ---------------------------------------------------------------------------------------------

LAST, MIDDLE = 0.9, 0.7  # shares of the matches in the first part
DIGITS = {"log loss": 3, "standard error": 3, "accuracy": 3, "CPU s": 0}


def matches(how: Run) -> br.Pairs:
    """Read the matches; only the last 760 for a quick run."""
    return read(
        how.folder / "england.csv", date="date", first="home", second="away",
        scores=("home_goals", "away_goals"), last=760 if how.quick else None,
    )  # fmt: skip


def forecasts(how: Run) -> Table:
    """Compare all models on the last tenth of the matches."""
    every = 10 if how.quick else 1  # days between fits of kickscore
    found = how.once("forecasts", lambda: list(compared(matches(how), start=LAST, every=every)))
    heads = ["model", *DIGITS]
    rows = pd.DataFrame(found).set_axis(heads, axis=1).set_index("model")
    return Table(rows.sort_values("log loss", ascending=False), digits=DIGITS, corner="model")


def evidence(how: Run) -> Table:
    """Compare dynamics by the evidence of the first part, and by the log loss of later matches."""
    pairs = matches(how)
    m = Matches(pairs, MIDDLE)
    counts = pairs.counts.copy()
    years = label_times(pairs.groups["date"].labels, "date")[pairs.groups["date"].idx]
    counts[years >= m.years[m.n_first]] = 0
    first = replace(pairs, counts=counts)

    def row(dynamics: str) -> dict[str, float]:
        fit = br.fit_dynamic(first, time="date", dynamics=dynamics, random_seed=1)
        found = br.forward_validation(
            pairs, time="date", start=MIDDLE, dynamics=dynamics, random_seed=1
        )
        return {
            "log evidence": fit.log_evidence,
            "log loss of later matches": found.log_loss,
            "standard error": found.error,
        }

    rows = {name: how.once(f"evidence {name}", partial(row, name)) for name in DYNAMICS}
    digits = {"log evidence": 1, "log loss of later matches": 3, "standard error": 3}
    return Table(pd.DataFrame(rows).T, digits=digits, corner="dynamics")


# ---------------------------------------------------------------------------------------------
# Coverage in simulated tables
# ---------------------------------------------------------------------------------------------

PROB = 0.9
WHEN = ("halfway", "last day", "half a span later")
PART = 25  # tables computed at once
FAST = 1.5  # drifts above it let the better item win most matches


class Design(NamedTuple):
    """Simulated tables: their size, and medians and log standard deviations of scale and drift."""

    n_items: int
    n_matches: int
    n_days: int
    scale: float = 1.0  # standard deviation of the strengths on the first day
    drift: float = 0.5
    sds: tuple[float, float] = (0.0, 0.0)
    n_tables: int = 100


DESIGNS = {
    "5 items, 120 matches": Design(5, 120, 10),
    "12 items, 600 matches": Design(12, 600, 20),
    "5 items, 120 matches, scale 3": Design(5, 120, 10, scale=3.0),
    "5 items, 120 matches, any scale and drift": Design(5, 120, 10, sds=(1.0, 1.5), n_tables=300),
}


class Row(NamedTuple):
    """A row of the table: tables of a design, and the prior of scale and drift."""

    design: str
    fast: bool = False  # only tables with a drift above FAST
    true_prior: bool = False  # instead of the prior of `br.fit_dynamic`


FEW, MANY, LARGE, ANY = DESIGNS
ROWS = {
    FEW: Row(FEW),
    MANY: Row(MANY),
    "the same, scale and drift known": Row(MANY, true_prior=True),
    LARGE: Row(LARGE),
    ANY: Row(ANY),
    "of these, drift above 1.5": Row(ANY, fast=True),
    "the same, with the true prior": Row(ANY, fast=True, true_prior=True),
}


def season(
    design: Design, rng: np.random.Generator
) -> tuple[br.Pairs, NDArray[np.float64], NDArray[np.float64], float]:
    """Simulate matches on evenly spaced days from 0 to 1, one of them or more on the last day.

    Also return the three times of `WHEN`, the utilities (3, n_items) at them minus their mean, and
    the drift.
    """
    n_items, n_matches, n_days, *medians = design[:5]
    scale, drift = medians * np.exp(np.array(design.sds) * rng.normal(size=2))
    days = np.append(np.linspace(0, 1, n_days), 1.5)
    sd = np.append(scale, drift * np.sqrt(np.diff(days)))
    u = (rng.normal(size=(len(days), n_items)) * sd[:, None]).cumsum(axis=0)
    first = rng.integers(n_items, size=n_matches)
    second = (first + rng.integers(1, n_items, size=n_matches)) % n_items
    day = np.append(rng.integers(n_days, size=n_matches - 1), n_days - 1)
    wins = rng.random(n_matches) < expit(u[day, first] - u[day, second])
    table = pd.DataFrame({"x": first, "y": second, "day": days[day]})
    table["won"] = np.where(wins, "first", "second")
    options: dict[str, Any] = {"outcome": "won", "by": "day", "items": range(n_items)}
    pairs = br.Pairs.from_frame(table, first="x", second="y", **options)
    when = np.array([n_days // 2, n_days - 1, n_days])
    return pairs, days[when], u[when] - u[when].mean(axis=1, keepdims=True), float(drift)


def covered(
    design: Design, tables: Iterable[int], seed: int, *, true_prior: bool = False
) -> pd.DataFrame:
    """Return the share of the items in their intervals at every time, in numbered tables.

    Scale and drift are learned. Their prior is that of `br.fit_dynamic` or, with `true_prior`, the
    distribution from which the design draws them. If this is one value, it is known. The columns
    are those of `WHEN`, the mean width of an interval on the last day, and the drift.
    """
    rows = []
    for number in tables:
        rng = np.random.default_rng([seed, number])
        pairs, when, truth, drift = season(design, rng)
        learn = partial(br.fit_dynamic, pairs, time="day", order_effect=False, random_seed=1)
        given: Any = None
        if true_prior:
            known = {"scale": design.scale, "drift": design.drift}
            given = true_nodes(learn(), design) if any(design.sds) else known
        fit = learn(hyperparameters=given)
        u = fit.draws(at=when.tolist(), random_seed=1)["posterior"]["utility"]
        low, high = u.quantile([(1 - PROB) / 2, (1 + PROB) / 2], ["chain", "draw"]).to_numpy()
        inside = ((low < truth) & (truth < high)).mean(axis=1)
        rows.append([*inside, (high - low)[1].mean(), drift])
    return pd.DataFrame(rows, columns=[*WHEN, "width", "drift"])


def true_nodes(fit: br.DynamicFit, design: Design) -> pd.DataFrame:
    """Weight the nodes of a fit as if the design's distribution were the prior of scale and drift.

    The weight of a node is the evidence times the prior, so the ratio of the priors changes it.
    """
    nodes = fit.nodes
    logs = np.log(nodes[["scale", "drift"]].to_numpy())
    z = (logs - np.log([design.scale, design.drift])) / design.sds
    span = float(np.ptp(fit.observations.time))
    usual = np.array([fit.dynamics.log_prior(row, span) for row in logs])
    log_weight = np.log(nodes["weight"].to_numpy()) - (z**2).sum(axis=1) / 2 - usual
    return nodes.assign(weight=softmax(log_weight))


def intervals(how: Run) -> Table:
    """Count how often intervals contain the truth."""
    rows = {}
    for name in how.chosen(ROWS):
        row, design = ROWS[name], DESIGNS[ROWS[name].design]
        numbers: Sequence[int] = range(10 if how.quick else design.n_tables)
        if row.fast:
            rngs = {k: np.random.default_rng([how.seed, k]) for k in numbers}
            numbers = [k for k in numbers if season(design, rngs[k])[3] > FAST]
        found = []
        for first in range(0, len(numbers), PART):
            part = numbers[first : first + PART]
            compute = partial(covered, design, part, how.seed, true_prior=row.true_prior)
            found.append(how.once(f"intervals {name} {[*part]}", compute))
        rows[name] = _shares(pd.concat(found))
    return Table(pd.DataFrame(rows).T, corner="simulated tables", files=())


def _shares(found: pd.DataFrame) -> dict[str, Any]:
    """Describe the coverage in simulated tables, with standard errors."""
    shares, error = found[[*WHEN]].mean(), found[[*WHEN]].std(ddof=0) / np.sqrt(len(found))
    cells = {name: f"{shares[name]:.3f} ({error[name]:.3f})" for name in WHEN}
    return {"tables": str(len(found)), **cells, "median width": float(found["width"].median())}


TABLES: dict[str, Callable[[Run], Table]] = {
    "forecasts": forecasts, "evidence": evidence, "intervals": intervals,
}  # fmt: skip


def main(arguments: list[str] | None = None) -> dict[str, Table]:
    """Compute the tables and write them into ``RESULTS.md``."""
    return run("history", TABLES, data="football", files="england.csv", arguments=arguments)


if __name__ == "__main__":
    main()
