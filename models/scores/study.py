"""How often equal items are called better, by our rule and by those of other packages.

Run ``python -m models.scores.study``. It simulates its data, and writes its tables into
``RESULTS.md``.
"""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

import bayesrank as br
from models.scores.model import Scenario, autorank, baycomp, bbtcomp, describe, simulate
from models.shared.results import Run, Table, run

EQUAL = (0.0,) * 8
SCENARIOS = {
    "all equal": Scenario(EQUAL),
    "all equal, one fold": Scenario(EQUAL, n_folds=1),
    "all equal, low scores hidden": Scenario(EQUAL, hidden=0.5),
    "all equal, four items hide": Scenario(EQUAL, hidden=0.5, hiders=4),
    "all equal, 5 families": Scenario(EQUAL, families=5),
    "four of eight equal at the top": Scenario((1.0,) * 4 + (0.0,) * 4),
    "all differ": Scenario((1.75, 1.25, 0.75, 0.25, -0.25, -0.75, -1.25, -1.75)),
}
OURS = {"without equality": 0.0, "bayesrank": 0.5, "prior 0.2": 0.2}
OTHERS = ("autorank", "bbtcomp", "baycomp")
N_TABLES = 60
QUICK = 4
EVEN = float(np.log(0.55 / 0.45))  # the rope of the page
CI_PROB = 0.94


def posterior_of(rankings: br.Rankings, seed: int) -> Any:
    """Fit as the quick answer does; families have opinions, as in the command."""
    if not rankings.groups:
        return br.fit_rankings(rankings, draws=250, random_seed=seed)
    model = br.ranking_model(rankings, cluster="family")
    return br.fit_inla(draws=250, chains=4, random_seed=seed, model=model)


def rules_of(scenario: Scenario, seed: int) -> dict[str, dict[str, Any]]:
    """Simulate a table, and judge each rule."""
    rng = np.random.default_rng(seed)
    rankings, means, utility = simulate(rng, scenario)
    posterior = posterior_of(rankings, seed)
    rules: dict[str, Any] = {}
    for name, prior_equal in OURS.items():
        draws = None
        if prior_equal:
            draws = br.rank_clusters(
                posterior, prior_equal=prior_equal, draws=200, tune=30, random_seed=seed
            )["utility"]
        status = br.tied_with_leader(posterior, equal=draws)["status"].sel(item=list(means))
        rules[name] = int((status == "leads").values.argmax()), (status == "behind").values
    rules |= zip(OTHERS, (autorank(means), bbtcomp(means, seed), baycomp(means, rng)), strict=True)
    return {name: describe(found, utility) for name, found in rules.items()}


def simulated(how: Run, name: str) -> pd.DataFrame:
    """Judge the rules in many tables of a scenario: columns of rules, wrong and found."""
    n = QUICK if how.quick else N_TABLES
    rows = [rules_of(SCENARIOS[name], 1000 * how.seed + k) for k in range(n)]
    columns = {(rule, x): [row[rule][x] for row in rows] for rule in rows[0] for x in rows[0][rule]}
    return pd.DataFrame(columns)


def text(values: Any) -> str:
    """Write a mean in percent with its standard error."""
    values = pd.Series(values).dropna().astype(float)
    mean = float(values.mean())
    # with few errors, the standard error of the rate that adds two successes and two failures
    p = (float(values.sum()) + 2) / (len(values) + 4)
    spread = float(np.sqrt(p * (1 - p) / (len(values) + 4)))
    if not values.isin([0, 1]).all():
        spread = float(np.std(values, ddof=1) / np.sqrt(len(values)))
    return f"{100 * mean:.1f} ({100 * spread:.1f})"


def errors_table(how: Run) -> Table:
    """Count the tables in which an item that is not worse is called worse than the leader."""
    rows, power, equal = {}, {}, []
    for name, scenario in SCENARIOS.items():
        found = how.once(f"rules {name}", partial(simulated, how, name))
        by_rule = found.xs("wrong", axis=1, level=1)
        rows[name] = {rule: text(by_rule[rule]) for rule in by_rule}
        equal += [by_rule] if scenario.utility == EQUAL else []
        share = found.xs("found", axis=1, level=1)
        if share.notna().any(axis=None):
            power[f"{name}: worse items found"] = {rule: text(share[rule]) for rule in share}
    together = pd.concat(equal)
    rows["all equal, together"] = {rule: text(together[rule]) for rule in together}
    table = pd.DataFrame.from_dict(rows | power, orient="index")
    return Table(table, corner="tables (in percent)", files=())


def coverage_of(seed: int, n_folds: int) -> dict[str, float]:
    """Simulate a table with utilities from the prior; count intervals and equivalent pairs."""
    rng = np.random.default_rng(seed)
    utility = rng.normal(0, 0.7, 8)
    rankings, means, _ = simulate(rng, Scenario(tuple(utility), n_folds=n_folds))
    posterior = posterior_of(rankings, seed)
    table = br.rank_summary(posterior, ci_prob=CI_PROB).loc[list(means)]
    rank = (-utility).argsort().argsort() + 1
    inside = (table["rank_low"] <= rank) & (rank <= table["rank_high"])
    p = br.win_probability(posterior, rope=EVEN).sel(item=list(means), item_other=list(means))
    pairs = np.triu_indices(8, 1)
    equivalent = (1 - p.values - p.values.T)[pairs]
    truth = np.abs(utility[:, None] - utility)[pairs] <= EVEN
    likely = equivalent >= 0.5
    return {
        "ranks in their intervals": inside.mean(),
        "P(equivalent)": equivalent.mean(),
        "pairs that are equivalent": truth.mean(),
        "likely": equivalent[likely].sum(),
        "likely and true": truth[likely].sum(),
        "n likely": likely.sum(),
    }


def coverage_table(how: Run) -> Table:
    """Compare intervals of ranks and P(equivalent) with the truth, over many tables."""
    rows = {}
    for name, n_folds in {"one fold": 1, "3 folds": 3}.items():
        n = QUICK if how.quick else N_TABLES
        found = pd.DataFrame([coverage_of(5000 * how.seed + k, n_folds) for k in range(n)])
        likely = max(found["n likely"].sum(), 1)
        gap = found["P(equivalent)"] - found["pairs that are equivalent"]
        rows[name] = {
            "nominal": 100 * CI_PROB,
            "ranks in their intervals": text(found["ranks in their intervals"]),
            "mean P(equivalent)": 100 * found["P(equivalent)"].mean(),
            "equivalent pairs": 100 * found["pairs that are equivalent"].mean(),
            "difference": text(gap),
            "P(equivalent) if 0.5 or more": 100 * found["likely"].sum() / likely,
            "equivalent pairs of these": 100 * found["likely and true"].sum() / likely,
        }
    return Table(pd.DataFrame(rows), digits=1, corner="in percent", files=())


TABLES = {"errors": errors_table, "coverage": coverage_table}


def main(arguments: list[str] | None = None) -> dict[str, Table]:
    """Compute the tables and write them into ``RESULTS.md``."""
    return run("scores", TABLES, arguments=arguments)


if __name__ == "__main__":
    main()
