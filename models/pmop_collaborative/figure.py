"""Repeat the paper's Figure 2: the probability of the order of unseen movies.

Models learn from the stars of n movies per user and give a probability to the order of n others.
The paper compares PMOP with Plackett-Luce after sorting breaks the ties. These outcomes differ.
Plackett-Luce predicts one of n! full orders, and PMOP a weak order of a few large blocks. The weak
order is probable under PMOP even with equal utilities, because PMOP then chooses uniformly among
all subsets. We add two models that are comparable, because both are given the sizes of the blocks.
One is the exact Plackett-Luce likelihood, which the paper did not have. We also add Plackett-Luce
with ties broken at random and, for every model, the baseline with equal utilities.

`models.pmop_collaborative.study` draws the figure. ``RESULTS.md`` contains and explains the table.
"""

from collections.abc import Callable, Sequence
from functools import cache, partial

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytensor
import pytensor.tensor as pt
from matplotlib.figure import Figure
from numpy.typing import NDArray
from pytensor.tensor import TensorVariable

import bayesrank as br
from bayesrank.inference import Point
from bayesrank.likelihoods.plackett_luce import weak_order_logp
from bayesrank.likelihoods.pmop import pmop_logp
from models.pmop_collaborative.model import Scales, break_ties, predict
from models.pmop_collaborative.protocol import grid, modes, split, to_rankings

Rank = Callable[[pd.DataFrame, pd.Index], br.Rankings]


def sort_ties(ratings: pd.DataFrame, items: pd.Index) -> br.Rankings:
    """Order movies of equal stars by their numbers."""
    return break_ties(to_rankings(ratings, items))


def draw_lots(ratings: pd.DataFrame, items: pd.Index) -> br.Rankings:
    """Order movies of equal stars by the column lot, from 0 to 1."""
    return to_rankings(ratings.assign(rating=ratings["rating"] + ratings["lot"] / 2), items)


# Name: fitted likelihood, conversion of the rankings, and likelihood of the test
SCORES: dict[str, tuple[str, Rank, str]] = {
    "PMOP mean": ("pmop", to_rankings, "pmop"),
    "Plackett-Luce, ties sorted": ("plackett_luce", sort_ties, "plackett_luce"),
    "Plackett-Luce, ties at random": ("plackett_luce", draw_lots, "plackett_luce"),
    "PMOP mean, given sizes": ("pmop_given_sizes", to_rankings, "pmop_given_sizes"),
    "Plackett-Luce, given sizes": ("plackett_luce", to_rankings, "plackett_luce"),
}
PAPER = ("PMOP mean", "Plackett-Luce, ties sorted")  # compared in the paper
GAPS = grid(item_bias_scale=(0.3, 1.0), ranker_scale=(0.1, 0.2, 0.5))
OUTCOMES: dict[str, Callable[..., TensorVariable]] = {
    "pmop": pmop_logp,
    "pmop_given_sizes": partial(pmop_logp, given_sizes=True),
    "plackett_luce": weak_order_logp,
}


def log_likelihood(point: Point, rankings: br.Rankings, outcome: str) -> NDArray[np.float64]:
    """Compute the log-probability of each ranking, (n_rankings,)."""
    utility = predict(point, rankings.ranker_idx[:, None], rankings.item)
    ranks = rankings.ranks.astype("int64")
    return _compiled(outcome)(np.where(rankings.mask, utility, 0.0), ranks)


@cache
def _compiled(outcome: str) -> Callable[..., NDArray[np.float64]]:
    utility, ranks = pt.dmatrix(), pt.lmatrix()
    return pytensor.function([utility, ranks], OUTCOMES[outcome](utility, ranks))


def figure_table(
    ratings: pd.DataFrame,
    sizes: Sequence[int] = (5, 10, 20, 30),
    *,
    scales: Sequence[Scales] = GAPS,
    seed: int = 1,
) -> pd.DataFrame:
    """Compute the held-out log-likelihood per user, of n movies after training on n others.

    All sizes use the same users, who have at least twice the largest number of movies. One user in
    five determines the scales, by the same test. A second column for each model contains the values
    of equal utilities. Outcome spaces differ, so compare only columns of the same space, and each
    column with its values at equal utilities.
    """
    items = pd.Index(np.unique(ratings["movie"]))
    ratings = ratings.assign(lot=np.random.default_rng(seed).random(len(ratings)))
    rows: dict[int, dict[str, float]] = {}
    for n in sizes:
        train, test, _ = split(ratings, [n, n], at_least=2 * max(sizes), seed=seed)
        chooses = np.random.default_rng(seed).random(train["user"].nunique()) < 0.2
        rows[n] = {}
        for name, (likelihood, rank, outcome) in SCORES.items():
            fitted, target = rank(train, items), rank(test, items)
            points = modes(fitted, scales, likelihood=likelihood)
            logps = [log_likelihood(point, target, outcome) for point in points]
            best = int(np.argmax([logp[chooses].mean() for logp in logps]))
            nothing = {name: np.zeros_like(value) for name, value in points[best].items()}
            equal = log_likelihood(nothing, target, outcome)
            rows[n][name] = logps[best][~chooses].mean()
            rows[n][f"{name}: equal utilities"] = equal[~chooses].mean()
    return pd.DataFrame(rows).T.rename_axis("movies")


def plot_figure(table: pd.DataFrame) -> Figure:
    """Draw the table: the paper's comparison, and the gain over equal utilities."""
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharex=True)
    paper, gain = axes
    for name in SCORES:
        colour = "#0072B2" if name.startswith("PMOP") else "#D55E00"
        full = name.startswith("Plackett-Luce, ties")
        style = {
            "color": colour,
            "marker": "s" if name.endswith("random") else "o",
            "mfc": "w" if full else colour,
        }
        equal = table[f"{name}: equal utilities"]
        if name in PAPER:
            paper.plot(table.index, table[name], label=name, **style)
            paper.plot(table.index, equal, ":", color=colour, label="the same, equal utilities")
        if name != "PMOP mean":  # the same line as given sizes
            label = "PMOP mean, given sizes or not" if name.startswith("PMOP") else name
            gain.plot(table.index, table[name] - equal, label=label, **style)
    paper.set(
        title="As in the paper: weak orders against full orders",
        ylabel="Held-out log-likelihood per user",
    )
    gain.set(title="What the utilities add to it", ylabel="Gain over equal utilities")
    gain.axhline(0, color="0.5", lw=0.8, zorder=0)
    for ax in axes:
        ax.set(xlabel="Movies per user, to train and as many to test", xticks=table.index)
        ax.legend(fontsize=8, frameon=False)
        ax.spines[["top", "right"]].set_visible(False)
    return figure
