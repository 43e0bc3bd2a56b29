r"""Consensus of MovieLens 100K by MPM, beside Bradley-Terry and Plackett-Luce.

A preference of a user counts as many times as the two ratings are stars apart: 7 million ordered
pairs of 1,682 movies by 943 users, 11 million counts in all.

References
----------
Volkovs & Zemel, A flexible generative model for preference aggregation, WWW 2012, Table 3, Figures
4 and 5.

Figures are in ``RESULTS.md``. Run ``python -m models.mpm.study FOLDER`` with the folder of
MovieLens 100K, by default ``ml-100k`` below ``BAYESRANK_DATA``.
"""

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import arviz as az
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pymc as pm
from matplotlib.axes import Axes
from scipy.stats import spearmanr

import bayesrank as br
from bayesrank.inference import laplace
from models.mpm import model as mpm
from models.pmop_collaborative.model import break_ties

# Priors of the variances: the likelihood has eleven million counts to say that movies with few
# ratings have none, so that these have to be tight (a penalty of 50 on scales of 1 and 0.1).
SCORE_SCALE, LOG_VARIANCE_SCALE = 0.14, 0.014
DEPTHS = (1, 5, 10)  # of NDCG
IMPUTED = (0, 3)  # stars of movies that a user has not rated


def read(folder: str | Path) -> tuple[pd.DataFrame, pd.Series]:
    """Ratings (user, movie, rating), and the titles of the movies."""
    names = ["user", "movie", "rating", "time"]
    ratings = pd.read_csv(Path(folder) / "u.data", sep="\t", names=names)
    items = pd.read_csv(
        Path(folder) / "u.item", sep="|", header=None, encoding="latin1", index_col=0
    )
    return ratings[names[:3]], items[1].rename_axis("movie").rename("title")


def to_counts(ratings: pd.DataFrame) -> br.PairCounts:
    """Count stars apart."""
    return br.PairCounts.from_ratings(ratings, ranker="user", item="movie", rating="rating")


# ---------------------------------------------------------------------------------------------
# Table 3: best and worst movies
# ---------------------------------------------------------------------------------------------


def scores(ratings: pd.DataFrame) -> pd.DataFrame:
    """Score of every movie at the posterior mode of each model, and its variance.

    All users adhere alike here, so that MPM and Bradley-Terry need only the sums of their counts.
    """
    counts = to_counts(ratings).pooled()
    rankings = br.Rankings.from_ratings(ratings, ranker="user", item="movie", rating="rating")
    models = {
        "MPM": mpm.build(counts),
        "MPM, variances": mpm.build(
            counts, score_scale=SCORE_SCALE, log_variance_scale=LOG_VARIANCE_SCALE
        ),
        "Bradley-Terry": bradley_terry(counts),
        "Plackett-Luce": plackett_luce(rankings),
        "Plackett-Luce, ties sorted": plackett_luce(break_ties(rankings)),
    }
    found = {}
    for name, model in models.items():
        with model:
            mode = pm.find_MAP(return_inferencedata=True, jitter=False, progressbar=False)[
                "posterior"
            ]
        found[name] = mode["score"].to_numpy().ravel()
        if "variance" in mode:
            found["variance"] = mode["variance"].to_numpy().ravel()
    return pd.DataFrame(found, index=rankings.items)


def bradley_terry(counts: br.PairCounts) -> pm.Model:
    """Give the same counts to MPM given how often each pair was compared."""
    with pm.Model(coords=counts.coords) as model:
        score = pm.ZeroSumNormal("score", 1.0, dims="item")
        br.MPM("y", score, given_pairs=True, observed=counts)
    return model


def plackett_luce(rankings: br.Rankings) -> pm.Model:
    """Rank the movies of each user."""
    with pm.Model(coords=rankings.coords) as model:
        score = pm.ZeroSumNormal("score", 1.0, dims="item")
        br.PlackettLuce("y", score, observed=rankings)
    return model


def best_and_worst(found: pd.DataFrame, titles: pd.Series, n: int = 5) -> pd.DataFrame:
    """Titles of the first and last movies of each model."""
    places = [*range(1, n + 1), *range(len(found) - n + 1, len(found) + 1)]
    lists = {
        name: titles[found[name].sort_values(ascending=False).index].to_numpy()
        for name in found
        if name != "variance"
    }
    return pd.DataFrame(
        {name: order[np.array(places) - 1] for name, order in lists.items()}, places
    )


# ---------------------------------------------------------------------------------------------
# Figure 4: how well the consensus suits each user
# ---------------------------------------------------------------------------------------------


def suits(found: pd.DataFrame, ratings: pd.DataFrame, *, imputed: float) -> pd.DataFrame:
    """Mean NDCG over users of one order of all movies, those not rated having `imputed` stars."""
    rated: pd.DataFrame = ratings.pivot_table(
        "rating", index="user", columns="movie", fill_value=imputed
    )
    stars = rated[found.index].to_numpy()
    rows = {}
    for name in found.columns.drop("variance", errors="ignore"):
        score = np.broadcast_to(found[name].to_numpy(), stars.shape)
        rows[name] = br.query_metrics(stars, score, k=DEPTHS, max_grade=5).queries.mean()
    return pd.DataFrame(rows).T


# ---------------------------------------------------------------------------------------------
# Figure 5: which movies users differ about
# ---------------------------------------------------------------------------------------------


def plot_variances(found: pd.DataFrame, ratings: pd.DataFrame) -> Sequence[Axes]:
    """Draw the variance of every movie against its number of ratings, and against its rank."""
    n_ratings = ratings.groupby("movie").size()[found.index]
    rank = found["MPM, variances"].rank(ascending=False)
    _, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
    for ax, x, label in (
        (axes[0], n_ratings, "Number of ratings (log scale)"),
        (axes[1], rank, "Rank in the consensus (1 = best)"),
    ):
        ax.scatter(x, found["variance"], s=8, alpha=0.5, color="#0072B2", linewidths=0)
        rho = spearmanr(x, found["variance"]).statistic
        ax.set(xlabel=label, title=f"Spearman correlation {rho:.2f}")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set(xscale="log", ylabel="Variance of the movie, γ")
    return axes


# ---------------------------------------------------------------------------------------------
# Posterior
# ---------------------------------------------------------------------------------------------


def sample(counts: br.PairCounts, **options: Any) -> Any:
    """Scores and the adherence of every user, by NUTS."""
    chosen = {"draws": 1000, "tune": 500, "chains": 4, "random_seed": 1} | options
    with mpm.build(counts, adherence="free"):
        return pm.sample(nuts_sampler="nutpie", **chosen)


def main(folder: str | Path) -> None:
    """Print the tables, draw the figures and sample."""
    ratings, titles = read(folder)
    found = scores(ratings)
    print(best_and_worst(found, titles).to_string())
    for stars in IMPUTED:
        print(f"\nmovies not rated count as {stars} stars")
        print(suits(found, ratings, imputed=stars).round(4).to_string())
    plot_variances(found, ratings)
    plt.savefig("mpm_movielens_variances.png", dpi=150)

    counts = to_counts(ratings)
    started = time.perf_counter()
    posterior = sample(counts)
    seconds = time.perf_counter() - started
    summary = az.summary(posterior, var_names=["score", "adherence"], kind="diagnostics")
    print(f"\nNUTS over scores and adherences in {seconds:.0f} s")
    print(summary.agg({"r_hat": "max", "ess_bulk": "min"}).to_string())
    br.plot_adherence(posterior).savefig("mpm_movielens_adherence.png", dpi=150)

    started = time.perf_counter()
    model = mpm.build(counts, adherence="free", log_variance_scale=LOG_VARIANCE_SCALE)
    posterior = laplace(model)["posterior"]
    print(f"\nLaplace with variances in {time.perf_counter() - started:.0f} s")
    print(posterior["variance"].std("draw").to_dataframe("sd").describe().to_string())


if __name__ == "__main__":
    default = Path(os.environ.get("BAYESRANK_DATA", "."), "ml-100k")
    main(sys.argv[1] if len(sys.argv) > 1 else default)
