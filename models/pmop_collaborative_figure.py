"""Figure 2 of the paper again: what factor models say about the order of movies not seen.

RESULTS

Run ``python -m models.pmop_collaborative_figure FOLDER`` with the folder of MovieLens 100K: the
table, and a figure in the folder where it is run.
"""

import argparse
from collections.abc import Callable, Sequence
from functools import cache, partial

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytensor
import pytensor.tensor as pt
from matplotlib.axes import Axes
from numpy.typing import NDArray
from pytensor.tensor import TensorVariable

import bayesrank as br
from bayesrank.inference.modes import Point
from bayesrank.likelihoods.pmop_op import pmop_logp
from bayesrank.likelihoods.stage_op import weak_order_logp
from models.pmop_collaborative import Scales, break_ties, predict
from models.pmop_collaborative_study import grid, modes, movielens, split, to_rankings

# Name: what is fitted (likelihood, ties broken by sort?), what is asked of it
SCORES: dict[str, tuple[str, bool, str]] = {
    "PMOP mean": ("pmop", False, "pmop"),
    "Plackett-Luce, ties sorted": ("plackett_luce", True, "plackett_luce"),
    "PMOP mean, given sizes": ("pmop_given_sizes", False, "pmop_given_sizes"),
    "Plackett-Luce, given sizes": ("plackett_luce", False, "plackett_luce"),
}
FREE = ("PMOP mean", "Plackett-Luce, ties sorted")  # the paper's; the others are on equal terms
GAPS = grid(item_bias_scale=(0.3, 1.0), ranker_scale=(0.1, 0.2, 0.5))
OUTCOMES: dict[str, Callable[..., TensorVariable]] = {
    "pmop": pmop_logp,
    "pmop_given_sizes": partial(pmop_logp, given_sizes=True),
    "plackett_luce": weak_order_logp,
}


def log_likelihood(point: Point, rankings: br.Rankings, outcome: str) -> NDArray[np.float64]:
    """Log-probability of each ranking, (n_rankings,)."""
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
    """Held-out log-likelihood per user, trained on n movies of each user, tested on n others.

    The users are the same throughout, those with twice the largest size. One in five chooses the
    scales, by the same test. Beside each column stands what equal utilities give: outcome spaces
    differ, so only columns of one space may be compared, and each with its own zero.
    """
    items = pd.Index(np.unique(ratings["movie"]))
    rows: dict[int, dict[str, float]] = {}
    for n in sizes:
        train, test, _ = split(ratings, [n, n], at_least=2 * max(sizes), seed=seed)
        fitted, asked = to_rankings(train, items), to_rankings(test, items)
        chooses = np.random.default_rng(seed).random(asked.n_rankings) < 0.2
        rows[n] = {}
        for name, (likelihood, sort, outcome) in SCORES.items():
            target = break_ties(asked) if sort else asked
            points = modes(fitted, scales, sort=sort, likelihood=likelihood)
            logps = [log_likelihood(point, target, outcome) for point in points]
            best = int(np.argmax([logp[chooses].mean() for logp in logps]))
            nothing = {name: np.zeros_like(value) for name, value in points[best].items()}
            equal = log_likelihood(nothing, target, outcome)
            rows[n][name] = logps[best][~chooses].mean()
            rows[n][f"{name}: equal utilities"] = equal[~chooses].mean()
    return pd.DataFrame(rows).T.rename_axis("movies")


def plot_figure(table: pd.DataFrame) -> Sequence[Axes]:
    """Draw the table: the paper's comparison, and what the utilities gain over equal ones."""
    _, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharex=True)
    paper, gain = axes
    for name in SCORES:
        colour = "#0072B2" if name.startswith("PMOP") else "#D55E00"
        style = {"color": colour, "marker": "o", "mfc": "w" if name in FREE else colour}
        equal = table[f"{name}: equal utilities"]
        if name in FREE:
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
    return axes


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Draw Figure 2 of the paper again.")
    parser.add_argument("folder", help="of MovieLens 100K, with u.data")
    parser.add_argument("--figure", default="pmop_collaborative.png", help="where to write it")
    arguments = parser.parse_args()
    table = figure_table(movielens(arguments.folder))
    print(table.T.round(3).to_string())
    plot_figure(table)
    plt.savefig(arguments.figure, dpi=150)
