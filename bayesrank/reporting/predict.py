"""The command ``bayesrank predict``: who wins the next match or ranking, from a saved posterior."""

from collections.abc import Sequence
from difflib import get_close_matches
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, softmax

from bayesrank.data import Pairs, Rankings
from bayesrank.reporting.parts import SAMPLE, Part, formatted, prior_sd_of
from bayesrank.results import comparisons, countable, matches_of, rank_summary
from bayesrank.results.draws import interval_probability
from bayesrank.texts import paragraphs

NEUTRAL = "neither"  # the item that has the advantage of the first


def check_items(items: Sequence[str], known: Sequence[str]) -> None:
    """Refuse items that the posterior does not have, and items named twice."""
    for item in items:
        if item not in known:
            alike = get_close_matches(item, known, 1, 0.6)
            meant = f" Did you mean {alike[0]!r}?" if alike else ""
            raise ValueError(f"There is no item {item!r} in the posterior.{meant}")
    if len(set(items)) < max(len(items), 2):
        raise ValueError("Name two or more different items.")


def at_new_labels(draws: Any) -> tuple[Any, list[str]]:
    """Let the utilities deviate as at the labels of each group, and name the groups.

    The next ranking has a new ranker, and the next match perhaps a new judge or prompt.
    """
    rng, utility, names = np.random.default_rng(0), draws.get("utility"), []
    for name in sorted(str(one) for one in draws if str(one).endswith("_deviation")):
        names.append(name.removesuffix("_deviation"))
        noise = utility.copy(data=rng.normal(size=utility.shape))
        utility = utility + noise * draws[f"{names[-1]}_spread"]
    return (draws.assign(utility=utility) if names else draws), names


def statuses(
    posterior: Any, data: Rankings | Pairs, items: Sequence[str], utility_scale: float | None
) -> list[str]:
    """Say which status these items have in the table of ranks of all items."""
    compared = comparisons(data) if countable(data) else None
    draws, prior_sd = posterior["posterior"], prior_sd_of(posterior, utility_scale)
    summary = rank_summary(draws, prior_sd=prior_sd, compared=compared)
    words = {str(item): word for item, word in summary["status"].items()}
    return paragraphs("statuses", statuses=[(item, words[item]) for item in items])


def next_match(
    draws: Any, items: Sequence[str], prob: float | None, new: Sequence[str] = ()
) -> Part:
    """Predict the outcome of a match of each two items."""
    prob = interval_probability(prob)
    found, labels = matches_of(draws, "utility", "nu", "item")
    place = pd.Index(labels).get_indexer(pd.Index(items))
    order = (
        draws["order_effect"].transpose(*SAMPLE).values.ravel() if "order_effect" in draws else 0
    )
    rows = []
    for i, j in combinations(range(len(items)), 2):
        one, other = place[i], place[j]
        ways = {NEUTRAL: 0.0}
        if "order_effect" in draws and len(items) == 2:
            ways |= {items[i]: 1.0, items[j]: -1.0}
        for advantage, sign in ways.items():
            p = found.outcomes(one, other, sign * order)
            row: dict[str, Any] = {"item": items[i], "item_other": items[j]}
            row["advantage"] = advantage
            row |= _interval("p_win", p[:, 0], prob) | _interval("p_loss", p[:, -1], prob)
            for k, name in enumerate(found.results[1:-1], 1):
                row |= _interval(f"p_{name.replace(' ', '_')}", p[:, k], prob)
            rows.append(row)
    csv = pd.DataFrame(rows).set_index("item")
    columns = {"Against": "{item_other}"}
    if (csv["advantage"] != NEUTRAL).any():
        columns["Advantage of the first"] = "{advantage}"
    headings = {"p_win": "Wins", "p_tie": "Tie", "p_both_bad": "Both bad", "p_loss": "Loses"}
    shown = [name for name in headings if name in csv]
    columns |= {headings[x]: f"{{{x}:.2f}} ({{{x}_low:.2f}}–{{{x}_high:.2f}})" for x in shown}
    text = paragraphs("next_match", rows=rows, prob=prob, judged="adherence" in draws, new=new)
    return _part("The next match", text, csv, columns)


def next_ranking(
    draws: Any, items: Sequence[str], prob: float | None, new: Sequence[str] = ()
) -> Part:
    """Predict who is first if these items are ranked."""
    prob = interval_probability(prob)
    mixed = "component_utility" in draws
    utility = draws["component_utility" if mixed else "utility"].sel(item=list(items))
    weight = draws["share"] if mixed else 1.0
    values = utility.transpose(..., "item")
    first = (values.copy(data=softmax(values.values, axis=-1)) * weight).transpose(..., "item")
    # Under Plackett-Luce j is ahead of i with probability 1 / (1 + exp(u_i - u_j)).
    ahead = expit(values.values[..., None, :] - values.values[..., :, None]).sum(axis=-1) + 0.5
    rank = (values.copy(data=ahead) * weight).transpose(..., "item")
    if mixed:
        first, rank = first.sum("component"), rank.sum("component")
    rows: list[dict[str, Any]] = [
        {"item": item, **_interval("p_first", first.sel(item=item).values.ravel(), prob),
         "mean_rank": float(rank.sel(item=item).mean())}
        for item in items
    ]  # fmt: skip
    rows.sort(key=lambda row: -row["p_first"])
    csv = pd.DataFrame(rows).set_index("item")
    columns = {"First": "{p_first:.2f} ({p_first_low:.2f}–{p_first_high:.2f})"}
    columns["Mean rank"] = "{mean_rank:.1f}"
    text = paragraphs("next_ranking", rows=rows, prob=prob, mixed=mixed, new=new)
    return _part("The next ranking", text, csv, columns)


def _interval(name: str, p: Any, prob: float) -> dict[str, float]:
    """Compute the mean and the interval of a probability."""
    low, high = np.quantile(p, [(1 - prob) / 2, (1 + prob) / 2])
    return {name: float(p.mean()), f"{name}_low": float(low), f"{name}_high": float(high)}


def _part(heading: str, text: Sequence[str], csv: pd.DataFrame, columns: dict[str, str]) -> Part:
    return Part(heading, text, formatted(csv, "Item", columns), data={"predictions": csv})
