r"""A leaderboard of systems from the votes of judges: Davidson's model with judges.

Story: two systems answer a prompt of some category, and a judge says which answer is better, or
that neither is. A system is better at some categories than at others. Judges differ in reliability,
in their preference for the answer shown first, and in how often they call a tie.

    utility_scale            ~ HalfNormal(3)
    utility[i]               ~ Normal(0, utility_scale), summing to zero
    category_utility[c, i]   = utility[i] + category_spread × Normal(0, 1)
    log adherence[j]         = adherence_spread × Normal(0, 1)
    judge_order_effect[j]    = order_effect + order_spread × Normal(0, 1)
    log judge_nu[j]          = log nu + tie_spread × Normal(0, 1)
    match k of the systems f and s in category c by judge j:
        lead[k]  = adherence[j] × (category_utility[c, f] - category_utility[c, s])
                   + judge_order_effect[j]
        y[k]     ~ Davidson(lead[k], judge_nu[j]):
                   (first, tie, second) ∝ (e^(lead/2), judge_nu[j], e^(-lead/2))

======================  ======================  ==============
symbol                  variable                dims
======================  ======================  ==============
:math:`w_i`             ``utility``             item
:math:`w_{ci}`          ``category_utility``    category, item
:math:`a_j`             ``adherence``           judge
:math:`o`               ``order_effect``
:math:`o_j`             ``judge_order_effect``  judge
:math:`\nu`             ``nu``
:math:`\nu_j`           ``judge_nu``            judge
outcomes                ``y``                   pair, result
======================  ======================  ==============

Deviations sum to zero, over categories and over judges. So ``utility`` and ``order_effect`` are
means. The geometric mean of the adherences is one, and the geometric mean of ``judge_nu`` is
``nu``. `bayesrank.analysis.leaderboard` builds the model with its priors and scales, and
`bayesrank matches` fits it to any table.

The model differs from public leaderboards in three ways. It has a posterior of ranks instead of
bootstrap intervals of scores. Ties are separate outcomes instead of half wins. Judges may differ.
The report also estimates how many more matches would separate two systems.

The model differs from Davidson and Beaver (1977) in the order effect, which shifts the lead and
does not change the tie term. With one order effect this is the same model, with a different nu.

Run ``python -m models.leaderboard.model`` for simulated systems. For your own table, run
``python -m models.leaderboard.model FILE.csv``. Its columns are first, second, outcome, judge and
category.

References
----------
Davidson, On extending the Bradley-Terry model to accommodate ties in paired comparison
experiments, JASA 65, 1970.

Davidson, Beaver, On extending the Bradley-Terry model to incorporate within-pair order effects,
Biometrics 33, 1977.

Chiang et al., Chatbot Arena: an open platform for evaluating LLMs by human preference, ICML 2024.
"""

import argparse
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

import bayesrank as br
from bayesrank.analysis.leaderboard import leaderboard_model as build
from bayesrank.analysis.leaderboard import nuts_settings
from bayesrank.inference import sample
from bayesrank.results import outcome_probability
from bayesrank.tables import open_table

__all__ = ["Truth", "build", "fit", "report", "simulate", "to_pairs"]

JUDGES = {  # adherence, order effect, and factor of nu
    "ann": (1.0, 0.0, 1.0),
    "bob": (1.0, 0.1, 2.0),
    "careless": (0.1, 0.0, 1.0),
    "first-lover": (1.0, 1.0, 2.0),
    "strict": (2.5, 0.0, 0.25),
}
CATEGORIES = ("code", "maths", "prose")
SYSTEMS = ("Alder", "Birch", "Cedar", "Dogwood", "Elm", "Fir", "Ginkgo", "Hazel")


class Truth(NamedTuple):
    """True values of simulated matches, in the units of the model."""

    utility: pd.DataFrame  # category by item; rows and columns are centred
    adherence: pd.Series  # by judge, with geometric mean one
    order_effect: pd.Series  # by judge
    nu: pd.Series  # by judge


def simulate(n_matches: int = 4000, *, nu: float = 0.6, seed: int = 1) -> tuple[br.Pairs, Truth]:
    """Simulate matches of eight systems in three categories, decided by five judges.

    Parameters
    ----------
    n_matches : int
        Number of matches. Categories, judges and systems are drawn at random.
    nu : float
        Tie parameter of a typical judge, >= 0. Equal systems tie with probability nu / (2 + nu).
    seed : int
        Random seed.

    Returns
    -------
    pairs : Pairs
        The matches.
    truth : Truth
        True values of the parameters.

    Examples
    --------
    >>> pairs, truth = simulate(1000)
    >>> pairs.n_matches, truth.adherence.idxmin()
    (1000, 'careless')
    """
    rng = np.random.default_rng(seed)
    n_items, n_categories = len(SYSTEMS), len(CATEGORIES)
    overall = np.linspace(1.2, -1.2, n_items)
    by_category = rng.normal(0, 0.4, (n_categories, n_items))
    by_category += by_category.mean() - by_category.mean(0) - by_category.mean(1, keepdims=True)
    adherence, order, ties = np.array(list(JUDGES.values())).T
    size = np.exp(np.log(adherence).mean())
    truth = Truth(
        pd.DataFrame((overall + by_category) * size, index=list(CATEGORIES), columns=list(SYSTEMS)),
        pd.Series(adherence / size, index=list(JUDGES)),
        pd.Series(order, index=list(JUDGES)),
        pd.Series(nu * ties, index=list(JUDGES)),
    )

    category = rng.integers(n_categories, size=n_matches)
    judge = rng.integers(len(JUDGES), size=n_matches)
    first = rng.integers(n_items, size=n_matches)
    second = (first + rng.integers(1, n_items, size=n_matches)) % n_items
    w = truth.utility.to_numpy()
    lead = truth.adherence.to_numpy()[judge] * (w[category, first] - w[category, second])
    lead += truth.order_effect.to_numpy()[judge]
    above = outcome_probability(lead, truth.nu.to_numpy()[judge]).cumsum(
        axis=1
    )  # first, tie, second
    result = (rng.random((n_matches, 1)) > above[:, :2]).sum(axis=1)
    table = pd.DataFrame(
        {
            "first": np.array(SYSTEMS)[first],
            "second": np.array(SYSTEMS)[second],
            "outcome": np.array(["first", "tie", "second"])[result],
            "judge": np.array(list(JUDGES))[judge],
            "category": np.array(CATEGORIES)[category],
        }
    )
    return to_pairs(table), truth


def to_pairs(table: pd.DataFrame) -> br.Pairs:
    """Read a table with the columns first, second, outcome, and optionally judge and category."""
    return br.Pairs.from_frame(
        table,
        first="first",
        second="second",
        outcome="outcome",
        judge="judge" if "judge" in table else None,
        by=[name for name in ("category",) if name in table],
    )


def fit(pairs: br.Pairs, **sampling: Any) -> xr.DataTree:
    """Sample the posterior by NUTS; `sampling` contains options of `bayesrank.inference.sample`."""
    options = {"draws": 1000, "tune": 500, "chains": 2, "random_seed": 1} | sampling
    with build(pairs, category="category" if "category" in pairs.groups else None) as model:
        return sample(nuts=nuts_settings(model), **options)


def report(posterior: xr.DataTree) -> str:
    """Write a report: ranks, pairs, judges, categories, and the next matches."""
    draws = posterior["posterior"].to_dataset()
    summary = br.rank_summary(posterior, top=3)
    best = summary.index[:4].tolist()
    few = draws.sel(item=best)
    better = br.win_probability(few).to_pandas()
    first, second = best[:2]
    chance = br.match_probability(few).sel(item=first, item_other=second).to_pandas()
    tied = summary.index[summary["status"] != "behind"]
    parts: dict[str, Any] = {
        "Ranks": summary[["mean_rank", "rank_low", "rank_high", "p_best", "p_top3"]],
        "Tied with the leader": ", ".join(tied),
        "P(row is better than column)": better,
        f"Next match of {first} and {second}": pd.DataFrame([chance]),
        "Number of further matches": str(br.matches_needed(few, between=(first, second))),
    }
    if "adherence" in draws:
        judges = br.adherence_summary(draws, dim="judge")[["mean", "low", "high", "outlier"]]
        bias = draws["judge_order_effect"].mean(("chain", "draw")).to_series()
        parts["Judges"] = judges.assign(first_gains=bias)
        if "judge_nu" in draws:
            share = draws["judge_nu"] / (2 + draws["judge_nu"])
            parts["Judges"]["equals_tie"] = share.mean(("chain", "draw")).to_series()
    if "category_utility" in draws:
        ranks = br.rank_summary(draws, "category_utility")["mean_rank"]
        table = ranks.reset_index().pivot_table("mean_rank", "item", "category")
        parts["Mean ranks by category"] = table.loc[summary.index]
    return "\n\n".join(
        f"{heading}\n{text if isinstance(text, str) else text.round(2).to_string()}"
        for heading, text in parts.items()
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Rank systems, with uncertainty.")
    parser.add_argument("file", nargs="?", help="with first, second, outcome, judge, category")
    file = parser.parse_args().file
    matches = to_pairs(open_table(file).cells()) if file else simulate(1000)[0]
    print(matches)
    print(report(fit(matches)))
