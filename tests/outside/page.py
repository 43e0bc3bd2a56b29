r"""Numbers of other packages on small data, translated into utilities and next to ours.

``python -m tests.outside.page`` computes our numbers and writes the tables of
``docs/coming_from.md`` from ``recorded.json``. With ``--run`` it first makes a temporary
environment from ``requirements.txt``. It runs ``measure.py`` in it and, if R is there,
``measure.R``, and records what they print. Rows of R packages that are not installed stay.

A line of code translates the scores `x` of a package. The page shows this line, and this file
evaluates it. Utilities are centred afterwards.
"""

import argparse
import csv
import functools
import io
import json
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
from scipy.optimize import minimize

import bayesrank as br
from models.shared.results import replace_between

__all__ = ["CASES", "PAGE", "RECORDED", "Case", "mode", "score_rows", "tables", "translate"]

HERE = Path(__file__).parent
RECORDED = HERE / "recorded.json"
PAGE = HERE.parents[1] / "docs" / "coming_from.md"
Utilities = dict[str, float]

ELO = "x * np.log(10) / 400"
PROBIT = 1.702  # logistic curve closest to the normal one: they differ by less than 0.0095
TTT_LINE = "1.702 * x / np.sqrt(2)"
TRUESKILL = "1.702 * x / (np.sqrt(2) * 25 / 6)"
OPENSKILL = "x / (np.sqrt(2) * 25 / 6)"
GHOST = "half a win and half a loss against 0"


class Case(NamedTuple):
    """A call of a package on a set of data, the line that translates it, and our fit."""

    package: str
    call: str
    data: str
    line: str = ""  # empty: no line translates these scores
    ours: str = ""  # empty: no model of ours has this likelihood or prior
    equal: bool = False  # whether both are one estimator, so that only the optimiser differs


UNIT, WIDE, TTT, GLICKO2 = (f"Normal(0, {sd})" for sd in ("1", "1.414", "4.243", "2.015"))
FLAT, NORMAL = "BradleyTerry, flat", f"BradleyTerry, {UNIT}"
SHRUNK = "BradleyTerry, {} Σ(u − eᵘ)"
HALF_WINS, DAVIDSON = "BradleyTerry, ties as half wins", "Davidson, flat"
RANKINGS = "PlackettLuce, flat"

CASES = [
    Case("choix", "ilsr_pairwise(alpha=0)", "matches", "x", FLAT, True),
    Case("choix", "opt_pairwise(alpha=0.5)", "matches", "x", NORMAL, True),
    Case("choix", "mm_pairwise(alpha=0.5)", "matches", "x", SHRUNK.format(0.5), True),
    Case("choix", "ilsr_pairwise(alpha=0.5)", "matches", "x", SHRUNK.format(2), True),
    Case("evalica", "bradley_terry", "matches", "np.log(x)", FLAT, True),
    Case("evalica", "newman", "matches", "np.log(x)", FLAT, True),
    Case("evalica", "eigen", "matches"),
    Case("arena-rank", "BradleyTerry", "matches", ELO, FLAT, True),
    Case("whole-history-rating", "WHR", "matches", ELO, f"BradleyTerry, {GHOST}", True),
    Case("kickscore", "logit", "matches", "x", NORMAL),
    Case("kickscore", "probit", "matches", "1.702 * x", "Thurstone, Normal(0, 1)"),
    Case("trueskillthroughtime", "History", "matches", TTT_LINE, f"Thurstone, {TTT}"),
    Case("glicko2", "Player", "matches", ELO, f"BradleyTerry, {GLICKO2}"),
    Case("trueskill", "rate", "matches", TRUESKILL, f"Thurstone, {WIDE}"),
    Case("openskill", "BradleyTerryFull", "matches", OPENSKILL, f"BradleyTerry, {WIDE}"),
    Case("BradleyTerry2", "BTm(br = FALSE)", "matches", "x", FLAT, True),
    Case("BradleyTerry2", "BTm(br = TRUE)", "matches", "x"),
    Case("psychotools", "btmodel", "matches", "x", FLAT, True),
    # with ties
    Case("evalica", "bradley_terry", "ties", "np.log(x)", HALF_WINS, True),
    Case("arena-rank", "BradleyTerry", "ties", ELO, HALF_WINS, True),
    Case("BradleyTerry2", "BTm(br = FALSE)", "ties", "x", HALF_WINS, True),
    Case("evalica", "newman", "ties", "np.log(x)", DAVIDSON, True),
    Case("psychotools", "btmodel", "ties", "x", DAVIDSON, True),
    Case("whole-history-rating", "WHR", "ties", ELO, f"Davidson, {GHOST}", True),
    Case("kickscore", "logit", "ties", "x", "RaoKupper, log θ = 0.5, Normal(0, 1)"),
    Case("kickscore", "probit", "ties", "1.702 * x"),
    Case("trueskillthroughtime", "History", "ties", TTT_LINE),
    Case("glicko2", "Player", "ties", ELO),
    Case("trueskill", "rate", "ties", TRUESKILL),
    Case("openskill", "BradleyTerryFull", "ties", OPENSKILL),
    # one item never loses
    Case("choix", "ilsr_pairwise(alpha=0)", "unbeaten", "x"),
    Case("choix", "opt_pairwise(alpha=0)", "unbeaten", "x"),
    Case("choix", "opt_pairwise(alpha=0.5)", "unbeaten", "x", NORMAL, True),
    Case("evalica", "bradley_terry", "unbeaten"),
    Case("evalica", "newman", "unbeaten"),
    Case("arena-rank", "BradleyTerry", "unbeaten", ELO),
    Case("whole-history-rating", "WHR", "unbeaten", ELO, f"BradleyTerry, {GHOST}", True),
    Case("kickscore", "logit", "unbeaten", "x", NORMAL),
    Case("kickscore", "probit", "unbeaten", "1.702 * x", "Thurstone, Normal(0, 1)"),
    Case("trueskillthroughtime", "History", "unbeaten", TTT_LINE, f"Thurstone, {TTT}"),
    Case("glicko2", "Player", "unbeaten", ELO, f"BradleyTerry, {GLICKO2}"),
    Case("trueskill", "rate", "unbeaten", TRUESKILL, f"Thurstone, {WIDE}"),
    Case("openskill", "BradleyTerryFull", "unbeaten", OPENSKILL, f"BradleyTerry, {WIDE}"),
    Case("BradleyTerry2", "BTm(br = FALSE)", "unbeaten", "x"),
    Case("BradleyTerry2", "BTm(br = TRUE)", "unbeaten", "x"),
    Case("psychotools", "btmodel", "unbeaten", "x"),
    # rankings
    Case("choix", "ilsr_rankings(alpha=0)", "rankings", "x", RANKINGS, True),
    Case("choix", "opt_rankings(alpha=0.5)", "rankings", "x", f"PlackettLuce, {UNIT}", True),
    Case("survival", "coxph(ties = 'exact')", "rankings", "x", RANKINGS, True),
    Case("survival", "coxph(ties = 'efron')", "rankings", "x", RANKINGS, True),
    Case("survival", "coxph(ties = 'breslow')", "rankings", "x", RANKINGS, True),
    Case("trueskill", "rate", "rankings", TRUESKILL),
    Case("trueskillthroughtime", "History", "rankings", TTT_LINE),
    Case("openskill", "PlackettLuce", "rankings", "x / (np.sqrt(4) * 25 / 6)"),
    Case("choix", "ilsr_rankings of reversed", "rankings", "x"),
    Case("choix", "ilsr_rankings", "opposite", "x", RANKINGS, True),
    # rankings with ties
    *(
        Case("survival", f"coxph(ties = '{ties}'){last}", data, "x", RANKINGS)
        for data in ("blocks", "twos")
        for last in ("", " with censored last block")
        for ties in ("exact", "efron", "breslow")
    ),
]  # fmt: skip


# What was recorded


@functools.cache
def recorded() -> dict[tuple[str, str, str], dict[str, Any]]:
    """Return the recorded rows by package, call and data."""
    rows = json.loads(RECORDED.read_text("utf-8"))
    return {(row["package"], row["call"], row["data"]): row for row in rows}


def score_rows(case: Case) -> Utilities:
    """Return the scores of a case, by item."""
    return dict(recorded()[case.package, case.call, case.data]["scores"])


def translate(scores: Utilities, line: str) -> Utilities:
    """Apply a line to the scores x of items, and centre the result.

    Names in parentheses are other parameters, such as psychotools' "(undecided)".

    >>> shown(translate({"a": 1200.0, "b": 800.0}, "x * np.log(10) / 400"))
    'a 1.151, b -1.151'
    """
    of_items = {name: value for name, value in scores.items() if not name.startswith("(")}
    u = eval(line, {"np": np, "x": np.array([*of_items.values()])})
    return dict(zip(of_items, (u - u.mean()).tolist(), strict=True))


# Ours


def read(name: str) -> br.Pairs | br.Rankings:
    """Read the data of a case."""
    if name == "opposite":
        return br.Rankings.from_orderings([["a", "b", "c"], ["c", "b", "a"]])
    table = pd.read_csv(HERE / "data" / f"{name}.csv")
    if "rank" in table:
        count = "count" if "count" in table else None
        return br.Rankings.from_long_ranks(
            table, ranker="ranking", item="item", rank="rank", count=count
        )
    return br.Pairs.from_frame(table, first="first", second="second", outcome="outcome")


def halved(pairs: str) -> br.Pairs:
    """Read matches twice, with a tie as one win of each item: the same mode as half wins."""
    table = pd.read_csv(HERE / "data" / f"{pairs}.csv")
    twice = pd.concat([table.replace("tie", "first"), table.replace("tie", "second")])
    return br.Pairs.from_frame(twice, first="first", second="second", outcome="outcome")


LIKELIHOODS: dict[str, Callable[..., object]] = {
    "BradleyTerry": br.BradleyTerry,
    "Thurstone": br.Thurstone,
    "PlackettLuce": br.PlackettLuce,
    "Davidson": lambda *a, **k: br.Davidson(*a, nu=pt.exp(pm.Flat("log_nu")), **k),
    "RaoKupper": lambda *a, **k: br.RaoKupper(*a, theta=1 + pt.exp(pm.Flat("log")), **k),
    "RaoKupper, log θ = 0.5": lambda *a, **k: br.RaoKupper(*a, theta=np.exp(0.5), **k),
}


def declare_prior(prior: str) -> None:
    """Add the log density of a prior to the model with a flat `utility`."""
    u = pm.modelcontext(None)["utility"]
    if prior.startswith("Normal"):
        sd = float(prior.removesuffix(")").split(", ")[1])
        pm.Potential("prior", -pt.sum(u**2) / (2 * sd**2))
    elif prior == GHOST:
        pm.Potential("prior", -pt.sum(pt.softplus(u) + pt.softplus(-u)) / 2)
    elif prior.endswith("Σ(u − eᵘ)"):
        pm.Potential("prior", float(prior.split(" ")[0]) * pt.sum(u - pt.exp(u)))
    elif prior not in ("flat", "ties as half wins"):
        raise ValueError(f"There is no prior {prior!r}.")


@functools.cache
def mode(fit: str, name: str) -> Utilities:
    """Return the centred utilities of a fit at its mode; those of Thurstone times 1.702."""
    likelihood, prior = fit.rsplit(", Normal", 1) if ", Normal" in fit else fit.rsplit(", ", 1)
    prior = f"Normal{prior}" if ", Normal" in fit else prior
    data = halved(name) if prior == "ties as half wins" else read(name)
    with pm.Model(coords=data.coords) as model:
        utility = pm.Flat("utility", dims="item")
        LIKELIHOODS[likelihood]("y", utility, observed=data)
        declare_prior(prior)
    density = model.logp_dlogp_function(ravel_inputs=True, mode="FAST_COMPILE")
    density.set_extra_values({})

    def minus(x: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = density(x)
        return -float(value), -np.asarray(slope)

    size = sum(model.initial_point()[v.name].size for v in model.value_vars)
    found = minimize(minus, np.zeros(size), jac=True, method="BFGS", options={"gtol": 1e-8}).x
    u = found[: data.n_items] * (PROBIT if likelihood == "Thurstone" else 1.0)
    return {str(k): float(v) for k, v in zip(data.coords["item"], u - u.mean(), strict=True)}


# The tables


def shown(values: Utilities, digits: int = 3) -> str:
    """Write values by item, in alphabetical order.

    >>> shown({"b": 1.0, "a": -1e-12, "c": 1e-6})
    'a 0.000, b 1.000, c 1e-06'
    """

    def number(value: float) -> str:
        tiny = 1e-9 < abs(value) < 0.5 * 10**-digits
        return f"{value:.0e}" if tiny else f"{value:z.{digits}f}"

    return ", ".join(f"{item} {number(values[item])}" for item in sorted(values))


def row(case: Case, ours: Callable[[str, str], Utilities]) -> list[str]:
    """Write the cells of a case."""
    kept = recorded()[case.package, case.call, case.data]
    scores = score_rows(case)
    cells = [f"{case.package} {kept['version']}", f"`{case.call}`"]
    cells.append(shown(scores) if scores else str(kept["error"]))
    utilities = translate(scores, case.line) if case.line and scores else {}
    cells.append(shown(utilities))
    if not case.ours:
        return [*cells, "", ""]
    own = ours(case.ours, case.data)
    return [*cells, case.ours, shown(own)]


HEADS = ("package", "call", "scores", "utilities", "our fit", "ours")


def table_of(names: tuple[str, ...], ours: Callable[[str, str], Utilities]) -> str:
    """Write the cases of some data as a table in Markdown."""
    lines = [f"| {' | '.join(HEADS)} |", "|---" * len(HEADS) + "|"]
    lines += [f"| {' | '.join(row(case, ours))} |" for case in CASES if case.data in names]
    return "\n".join(lines)


def line_table() -> str:
    """Write the line of every call that has one."""
    lines = ["| package | call | u |", "|---|---|---|"]
    calls: dict[tuple[str, str], dict[str, None]] = {}
    for case in CASES:
        if case.line:
            name = re.split(r"\W", case.call)[0]  # without its arguments
            calls.setdefault((case.package, case.line), {})[f"`{name}`"] = None
    lines += [f"| {p} | {', '.join(names)} | `{line}` |" for (p, line), names in calls.items()]
    return "\n".join(lines)


TABLES: dict[str, tuple[str, ...]] = {
    "matches": ("matches",),
    "ties": ("ties",),
    "unbeaten": ("unbeaten",),
    "rankings": ("rankings", "opposite"),
    "blocks": ("blocks",),
    "twos": ("twos",),
}


TIE_FITS = (HALF_WINS, "RaoKupper, flat", DAVIDSON)


def tie_table(ours: Callable[[str, str], Utilities]) -> str:
    """Write what our models of ties return."""
    lines = ["| our fit | ours |", "|---|---|"]
    return "\n".join([*lines, *(f"| {fit} | {shown(ours(fit, 'ties'))} |" for fit in TIE_FITS)])


def tables(ours: Callable[[str, str], Utilities] = mode) -> dict[str, str]:
    """Write all tables of the page, by name."""
    found = {"lines": line_table(), "models of ties": tie_table(ours)}
    return found | {name: table_of(of, ours) for name, of in TABLES.items()}


# The command


def record() -> None:
    """Run the packages, and write what they return."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder) / ("Scripts" if sys.platform == "win32" else "bin") / "python"
        pinned = ["-r", str(HERE / "requirements.txt")]
        subprocess.run([python, "-m", "pip", "install", "--quiet", *pinned], check=True)
        done = subprocess.run([python, HERE / "measure.py"], check=True, stdout=subprocess.PIPE)
        rows += json.loads(done.stdout)
    rows += _measured_in_r()
    found = {(row["package"], row["call"], row["data"]) for row in rows}
    old = json.loads(RECORDED.read_text("utf-8")) if RECORDED.exists() else []
    for kept in old:
        if (kept["package"], kept["call"], kept["data"]) not in found:
            print(f"as recorded: {kept['package']}, {kept['call']}, {kept['data']}")
            rows.append(kept)
    text = json.dumps(rows, indent=1, ensure_ascii=False)
    RECORDED.write_text(f"{text}\n", encoding="utf-8")


def _measured_in_r() -> list[dict[str, Any]]:
    if (command := shutil.which("Rscript")) is None:
        return []
    script = [command, str(HERE / "measure.R"), str(HERE / "data")]
    done = subprocess.run(script, check=True, stdout=subprocess.PIPE, text=True)
    rows: dict[tuple[str, ...], dict[str, float]] = {}
    for package, version, call, data, item, value in csv.reader(io.StringIO(done.stdout)):
        rows.setdefault((package, version, call, data), {})[item] = float(value)
    return [
        {"package": p, "version": v, "call": c, "data": d, "scores": scores, "error": None}
        for (p, v, c, d), scores in rows.items()
    ]


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(prog="python -m tests.outside.page")
    parser.add_argument("--run", action="store_true", help="run the packages first")
    if parser.parse_args().run:
        record()
    for name, table in tables().items():
        replace_between(PAGE, name, table)


if __name__ == "__main__":
    main()
