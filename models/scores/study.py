"""How often equal items are called better, by our rule and by those of other packages.

Run ``python -m models.scores.study``. It simulates its data, and writes its tables into
``RESULTS.md``.
"""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

import bayesrank as br
from bayesrank.inference import sample
from bayesrank.priors import LEARNED
from models.scores.model import PROB, Scenario, autorank, baycomp, bbtcomp, describe, simulate
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
ROPE = 0.2  # of scores
N_PRIOR = 400
N_SCORES = 24
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
    if values.isin([0, 1]).all():
        # with few errors, the standard error of the rate that adds two successes and two failures
        p = (float(values.sum()) + 2) / (len(values) + 4)
        spread = float(np.sqrt(p * (1 - p) / (len(values) + 4)))
    else:
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
    utility = rng.normal(0, abs(rng.normal(0, LEARNED)), 8)
    rankings, means, _ = simulate(rng, Scenario(tuple(utility), n_folds=n_folds))
    posterior, items = posterior_of(rankings, seed), [str(item) for item in means.columns]
    table = br.rank_summary(posterior, ci_prob=CI_PROB).loc[items]
    low, high = table["rank_low"].to_numpy(), table["rank_high"].to_numpy()
    rank = _ranks(utility)
    draws = posterior["posterior"]["utility"].sel(item=items).transpose(..., "item").values
    drawn = _ranks(draws.reshape(-1, 8))
    return {
        "ranks in their intervals": ((low <= rank) & (rank <= high)).mean(),
        "probability of the intervals": ((low <= drawn) & (drawn <= high)).mean(),
    } | equivalence(posterior, items, utility, EVEN)


def _ranks(utility: Any) -> Any:
    return (-utility).argsort(axis=-1).argsort(axis=-1) + 1


def equivalence(posterior: Any, items: list[str], utility: Any, rope: float) -> dict[str, float]:
    """Compare P(equivalent) of all pairs with the truth."""
    p = br.win_probability(posterior, rope=rope).sel(item=items, item_other=items)
    pairs = np.triu_indices(len(items), 1)
    equivalent = (1 - p.values - p.values.T)[pairs]
    truth = np.abs(utility[:, None] - utility)[pairs] <= rope
    likely = equivalent >= 0.5
    return {
        "P(equivalent)": equivalent.mean(),
        "equivalent pairs": truth.mean(),
        "likely": equivalent[likely].mean() if likely.any() else np.nan,
        "likely and true": truth[likely].mean() if likely.any() else np.nan,
        "n likely": likely.sum(),
    }


def described(found: pd.DataFrame) -> dict[str, str]:
    """Write the rows about P(equivalent)."""
    some, weight = found["n likely"] > 0, found["n likely"]
    gap = found["likely"] - found["likely and true"]
    return {
        "mean P(equivalent)": text(found["P(equivalent)"]),
        "equivalent pairs": text(found["equivalent pairs"]),
        "mean P(equivalent) minus equivalent pairs": text(
            found["P(equivalent)"] - found["equivalent pairs"]
        ),
        "the same of pairs with P(equivalent) of 0.5 or more": by_table(gap[some], weight[some]),
    }


def by_table(values: Any, weight: Any) -> str:
    """Write a weighted mean in percent with its standard error; tables are independent."""
    values, weight = np.asarray(values), np.asarray(weight, float)
    mean = weight @ values / weight.sum()
    spread = np.sqrt((weight**2) @ (values - mean) ** 2) / weight.sum()
    return f"{100 * mean:.1f} ({100 * spread:.1f})"


def coverage_table(how: Run) -> Table:
    """Compare intervals of ranks and P(equivalent) with the truth, over many tables."""
    rows = {}
    for name, n_folds in {"one fold": 1, "3 folds": 3}.items():
        n = QUICK if how.quick else N_PRIOR
        found = pd.DataFrame([coverage_of(5000 * how.seed + k, n_folds) for k in range(n)])
        rows[name] = {
            "ranks in their intervals": text(found["ranks in their intervals"]),
            "probability of the intervals": text(found["probability of the intervals"]),
        } | described(found)
    return Table(pd.DataFrame(rows), corner="in percent", files=())


def scores_of(seed: int, n_folds: int, scale: float) -> dict[str, float]:
    """Simulate a table of scores with normal noise, and fit the model of the scores."""
    rng = np.random.default_rng(seed)
    utility = scale * rng.normal(size=8)
    utility -= utility.mean()
    case = rng.normal(size=(20, 1, 1)) + utility + rng.normal(size=(20, 1, 8))
    score = case + (0.5 * rng.normal(size=(20, n_folds, 8)) if n_folds > 1 else 0)
    frame = pd.DataFrame(
        [(f"i{i}", f"c{c}", f, z) for (c, f, i), z in np.ndenumerate(score)],
        columns=["item", "case", "fold", "score"],
    )
    rankings = br.Rankings.from_scores(
        frame, item="item", case="case", score="score", fold="fold" if n_folds > 1 else None
    )
    # these folds are independent, so their correlation is known
    correlation = 0.0 if n_folds > 1 else None
    with br.scores_model(rankings, fold_correlation=correlation):
        posterior = sample(
            500, tune=500, chains=2, cores=1, random_seed=seed, nuts={"target_accept": 0.9}
        )
    items = [f"i{k}" for k in range(8)]
    draws = posterior["posterior"]["utility"].sel(item=items).transpose(..., "item").values
    draws = draws.reshape(-1, 8)
    low, high = np.quantile(draws, [(1 - CI_PROB) / 2, (1 + CI_PROB) / 2], axis=0)
    best = int(draws.mean(axis=0).argmax())
    better = br.win_probability(posterior, rope=ROPE).sel(item=items, item_other=items).values
    equal = br.rank_clusters(posterior, draws=200, tune=30, random_seed=seed)["utility"]
    status = br.tied_with_leader(posterior, equal=equal)["status"].sel(item=items)
    return {
        "utilities in their intervals": ((low <= utility) & (utility <= high)).mean(),
        "P(better) of 0.95 or more": (better[best] >= PROB).any(),
        "separated": (status == "behind").values.any(),
    } | equivalence(posterior, items, utility, ROPE)


def fitted_scores(how: Run, n_folds: int, scale: float) -> pd.DataFrame:
    """Fit many tables of scores, one row each."""
    n = 2 if how.quick else N_SCORES
    return pd.DataFrame([scores_of(9000 * how.seed + k, n_folds, scale) for k in range(n)])


def scores_table(how: Run) -> Table:
    """Compare the model of the scores with the truth."""
    rows = {}
    for name, n_folds, scale in (("utilities differ", 3, 0.5), ("all equal", 3, 0.0)):
        found = how.once(f"scores {name}", partial(fitted_scores, how, n_folds, scale))
        row = {
            "utilities in their intervals": text(found["utilities in their intervals"]),
            "leader called better than another item": text(found["separated"]),
            "P(better) of 0.95 or more, for some item": text(found["P(better) of 0.95 or more"]),
        }
        rows[name] = row | described(found)
    return Table(pd.DataFrame(rows), corner="in percent", files=())


TABLES = {"errors": errors_table, "coverage": coverage_table, "scores": scores_table}


def main(arguments: list[str] | None = None) -> dict[str, Table]:
    """Compute the tables and write them into ``RESULTS.md``."""
    return run("scores", TABLES, arguments=arguments)


if __name__ == "__main__":
    main()
