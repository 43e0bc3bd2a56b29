r"""Compare the consensus of MovieLens 100K by MPM, Bradley-Terry and Plackett-Luce.

The count of a preference is the difference of the two ratings in stars. The ratings of 1,682 movies
by 943 users give 7 million ordered pairs, and 11 million counts.

Run ``python -m models.mpm.study [FOLDER]`` with the folder of MovieLens 100K, by default
``ml-100k`` in ``BAYESRANK_DATA``. It writes the tables into ``RESULTS.md``, and draws the figures.

References
----------
Volkovs & Zemel, A flexible generative model for preference aggregation, WWW 2012, Tables 2 and 3,
Figures 4 and 5.
"""

import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import arviz as az
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pymc as pm
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.stats import spearmanr

import bayesrank as br
from bayesrank.data import UninformativeRankingWarning
from models.metasearch.early import ascend
from models.mpm import model as mpm
from models.pmop_collaborative.model import break_ties, predict
from models.shared.pairs_of_counts import pairs_of_counts
from models.shared.rating_factors import als
from models.shared.results import Run, Table, run

# Priors of the variances: eleven million counts favour large variances of movies with few ratings,
# so the priors have to be tight (a penalty of 50 on scales of 1 and 0.1).
SCORE_SCALE, LOG_VARIANCE_SCALE = 0.14, 0.014
DEPTHS = (1, 5, 10)  # of NDCG
DRAWN_DEPTHS = (1, 2, 3, 5, 7, 10, 15, 20)  # in the figure
IMPUTED = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5)  # stars of movies that a user has not rated
OFTEN = {  # largest number of ratings in each class
    "1": 1, "2 to 10": 10, "11 to 30": 30, "31 to 100": 100, "101 to 300": 300,
    "more than 300": np.inf,
}  # fmt: skip
SURE = 0.95  # probability
RATE = 1e-4  # of the hundred steps that give the published list of Bradley-Terry
TIED = 1e-6  # difference of scores that is the optimiser's
QUICK_MOVIES = 150  # those rated most, in a reduced size


def read(folder: str | Path) -> tuple[pd.DataFrame, pd.Series]:
    """Read the ratings (user, movie, rating), and the titles of the movies."""
    names = ["user", "movie", "rating", "time"]
    ratings = pd.read_csv(Path(folder) / "u.data", sep="\t", names=names)
    items = pd.read_csv(
        Path(folder) / "u.item", sep="|", header=None, encoding="latin1", index_col=0
    )
    return ratings[names[:3]], items[1].rename_axis("movie").rename("title")


def to_counts(ratings: pd.DataFrame) -> br.PairCounts:
    """Count differences in stars."""
    return br.PairCounts.from_ratings(ratings, ranker="user", item="movie", rating="rating")


def to_rankings(ratings: pd.DataFrame) -> br.Rankings:
    """Rank the movies of each user, and keep the stars as a feature."""
    with warnings.catch_warnings():
        # a user with the same stars for all movies says nothing, and is in the means all the same
        warnings.simplefilter("ignore", UninformativeRankingWarning)
        return br.Rankings.from_ratings(
            ratings, ranker="user", item="movie", rating="rating", features=["rating"]
        )


# ---------------------------------------------------------------------------------------------
# Scores
# ---------------------------------------------------------------------------------------------


def bradley_terry(counts: br.PairCounts, *, flat: bool = False) -> pm.Model:
    """Give the same counts to Bradley-Terry, which takes scores twice as large."""
    with pm.Model(coords=counts.coords) as model:
        score = _score(len(counts.items), flat)
        br.BradleyTerry("y", 2.0 * score, observed=pairs_of_counts(counts))
    return model


def plackett_luce(rankings: br.Rankings, *, flat: bool = False) -> pm.Model:
    """Rank the movies of each user."""
    with pm.Model(coords=rankings.coords) as model:
        br.PlackettLuce("y", _score(rankings.n_items, flat), observed=rankings)
    return model


def _score(n_items: int, flat: bool) -> Any:
    if flat:
        return pm.Flat("score", dims="item", initval=np.zeros(n_items))
    return pm.ZeroSumNormal("score", 1.0, dims="item")


def _mode(model: pm.Model) -> dict[str, NDArray[np.float64]]:
    with model:
        found = pm.find_MAP(return_inferencedata=True, jitter=False, progressbar=False)
    mode = found["posterior"]
    return {name: mode[name].to_numpy().ravel() for name in ("score", "variance") if name in mode}


def _steps(model: pm.Model, rate: float) -> dict[str, NDArray[np.float64]]:
    """Stop after a hundred steps."""
    return {"score": ascend(model, [rate])[0]}


# All users have the same adherence here, so models of pairs need only the sums of their counts
MODELS: dict[str, Callable[[br.PairCounts, br.Rankings], dict[str, NDArray[np.float64]]]] = {
    "MPM": lambda counts, _: _mode(mpm.build(counts)),
    "MPM, variances": lambda counts, _: _mode(
        mpm.build(counts, score_scale=SCORE_SCALE, log_variance_scale=LOG_VARIANCE_SCALE)
    ),
    "Bradley-Terry": lambda counts, _: _mode(bradley_terry(counts)),
    # a utility is twice the score, so a gradient step in utilities equals four steps in scores
    "Bradley-Terry, 100 steps": lambda counts, _: _steps(
        bradley_terry(counts, flat=True), RATE / 4
    ),
    "Plackett-Luce": lambda _, rankings: _mode(plackett_luce(rankings)),
    "Plackett-Luce, ties sorted": lambda _, rankings: _mode(plackett_luce(break_ties(rankings))),
    "Plackett-Luce, ties sorted, 100 steps": lambda _, rankings: _steps(
        plackett_luce(break_ties(rankings), flat=True),
        1 / float(np.bincount(rankings.item[rankings.mask]).max()),
    ),
}


def scores(
    ratings: pd.DataFrame,
    *,
    models: Mapping[str, Any] = MODELS,
    once: Callable[[str, Callable[[], Any]], Any] = lambda _, compute: compute(),
) -> pd.DataFrame:
    """Compute the score and the variance of every movie under each model; `once` may store them."""
    counts, rankings = to_counts(ratings).pooled(), to_rankings(ratings)
    found = {}
    for name, fit in models.items():
        fitted = once(name, partial(fit, counts, rankings))
        found[name] = fitted["score"]
        if "variance" in fitted:
            found["variance"] = fitted["variance"]
    return pd.DataFrame(found, index=rankings.items)


# ---------------------------------------------------------------------------------------------
# Table 3: best and worst movies
# ---------------------------------------------------------------------------------------------


def contests(ratings: pd.DataFrame) -> pd.DataFrame:
    """Count the users of every movie, and the pairs within a user that it won and lost.

    >>> contests(pd.DataFrame({"user": 1, "movie": [7, 8, 9], "rating": [5, 3, 3]}))
           u  won  lost
    movie
    7      1    2     0
    8      1    0     1
    9      1    0     1
    """
    by_user = ratings.groupby("user")["rating"]
    won = by_user.rank(method="min") - 1
    lost = by_user.transform("size") - by_user.rank(method="max")
    table = ratings.assign(u=1, won=won.astype(int), lost=lost.astype(int))
    return table.groupby("movie")[["u", "won", "lost"]].sum()


def best_and_worst(
    found: pd.DataFrame, titles: pd.Series, counts: pd.DataFrame, n: int = 5
) -> pd.DataFrame:
    """List the first and last movies of each model, with users, and contests won and lost.

    Equal scores give no order. The row of a movie states the number of movies that tie with it,
    "= 3 others". Tied movies are in the order of their numbers, whatever the rounding of sums.
    """
    places = [*range(1, n + 1), *range(len(found) - n + 1, len(found) + 1)]
    lists = {}
    for name in found.columns.drop("variance", errors="ignore"):
        score = found[name].sort_values(ascending=False)
        score = score.iloc[np.lexsort((score.index, (score.diff() < -TIED).cumsum()))]
        shown = []
        for place in places:
            movie = score.index[place - 1]
            alike = int(np.sum(np.abs(score - score.iloc[place - 1]) < TIED)) - 1
            ties = f", = {alike} other{'s' if alike > 1 else ''}" if alike else ""
            u, won, lost = counts.loc[movie, ["u", "won", "lost"]]
            shown.append(f"{_title(titles[movie])} ({u}; {won} : {lost}{ties})")
        lists[name] = shown
    return pd.DataFrame(lists, places)


def _title(title: str) -> str:
    """Remove the year, and put the article first."""
    name = re.sub(r" \(\d{4}\)$", "", title)
    moved = re.fullmatch(r"(.*), (The|A|An)( \(.*\))?", name)
    return f"{moved[2]} {moved[1]}{moved[3] or ''}" if moved else name


# ---------------------------------------------------------------------------------------------
# Table 2 and Figure 4: how well the consensus suits each user
# ---------------------------------------------------------------------------------------------


def with_constant(ratings: pd.DataFrame, movies: pd.Index, stars: float) -> NDArray[np.float64]:
    """Fill missing ratings with a constant, (n_users, n_movies)."""
    rated: pd.DataFrame = ratings.pivot_table(
        "rating", index="user", columns="movie", fill_value=stars
    )
    return rated[movies].to_numpy(np.float64)


def with_factors(ratings: pd.DataFrame, movies: pd.Index, **options: Any) -> NDArray[np.float64]:
    """Fill missing ratings by factors of the ratings, between 1 and 5, (n_users, n_movies).

    By default five factors, levels of users and biases of movies, by alternating least squares.
    """
    rankings = to_rankings(ratings)
    point = als(rankings, **options)
    user, movie = np.indices((rankings.n_rankings, rankings.n_items))
    filled = predict(point, user.ravel(), movie.ravel()).reshape(user.shape)
    filled = np.clip(filled + point["ranker_level"][:, None], 1, 5)
    table = pd.DataFrame(filled, rankings.labels, rankings.items)
    known = ratings.pivot_table("rating", index="user", columns="movie")
    return known.combine_first(table).loc[rankings.labels, movies].to_numpy(np.float64)


def suits(
    found: pd.DataFrame, stars: NDArray[np.float64], depths: Iterable[int] = DEPTHS
) -> pd.DataFrame:
    """Compute the mean NDCG over users of one order per model."""
    rows = {}
    for name in found.columns.drop("variance", errors="ignore"):
        score = found[name].to_numpy()
        rows[name] = {
            f"NDCG@{k}": np.mean([br.ndcg(row, score, k=k) for row in stars]) for k in depths
        }
    return pd.DataFrame(rows).T


def halved(
    score: NDArray[np.float64], stars: NDArray[np.float64], k: int = 10
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute the mean NDCG at 1 to k of one order, in full and with later places halved.

    Later places are all places except the first. Their terms count half in the sum. The ideal order
    counts all places in full in both.

    >>> [x.round(3).tolist() for x in halved(np.array([1.0, 2]), np.array([[2, 1]]), 2)]
    [[0.333, 0.797], [0.333, 0.536]]
    """
    discount = 1 / np.log2(np.arange(k) + 2)
    gain = 2.0 ** stars[:, np.argsort(-score, kind="stable")[:k]] - 1
    ideal = np.cumsum((2.0 ** -np.sort(-stars, axis=1)[:, :k] - 1) * discount, axis=1)
    total = np.cumsum(gain * discount, axis=1)
    return (total / ideal).mean(axis=0), ((total + gain[:, :1]) / 2 / ideal).mean(axis=0)


def plot_constants(by_constant: Mapping[float, pd.DataFrame]) -> Figure:
    """Draw NDCG against the constant for missing ratings, with a panel for each depth."""
    figure, axes = plt.subplots(
        1, len(DEPTHS), figsize=(12, 3.8), layout="constrained", sharey=True
    )
    constants = list(by_constant)
    for ax, k in zip(axes, DEPTHS, strict=True):
        for name, (colour, marker, line) in LOOKS.items():
            values = [table[f"NDCG@{k}"].get(name, np.nan) for table in by_constant.values()]
            ax.plot(constants, values, color=colour, marker=marker, ls=line, ms=5, label=name)
        ax.set(title=f"NDCG@{k}", xlabel="Stars of movies that were not rated", xticks=constants)
        ax.set_ylim(0, 1)
        ax.spines[["top", "right"]].set_visible(False)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right center", frameon=False)
    return figure


def plot_depths(suited: pd.DataFrame) -> Figure:
    """Draw NDCG of every model against its depth."""
    figure, ax = plt.subplots(figsize=(8.4, 3.8), layout="constrained")
    depths = [int(str(name).removeprefix("NDCG@")) for name in suited]
    for name, (colour, marker, line) in LOOKS.items():
        if name in suited.index:
            values = suited.loc[name]
            ax.plot(depths, values, color=colour, marker=marker, ls=line, ms=5, label=name)
    ax.set(xlabel="Depth", ylabel="NDCG, ratings filled in by factors", xticks=depths)
    ax.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside right center", frameon=False)
    return figure


# Colour, marker, line (Okabe and Ito)
LOOKS = {
    "MPM": ("#0072B2", "o", "-"),
    "MPM, variances": ("#56B4E9", "s", "-"),
    "Bradley-Terry": ("#D55E00", "^", "-"),
    "Bradley-Terry, 100 steps": ("#D55E00", "^", ":"),
    "Plackett-Luce": ("#009E73", "D", "-"),
    "Plackett-Luce, ties sorted": ("#000000", "v", "-"),
    "Plackett-Luce, ties sorted, 100 steps": ("#000000", "v", ":"),
}


# ---------------------------------------------------------------------------------------------
# Figure 5: which movies users differ about
# ---------------------------------------------------------------------------------------------


def plot_variances(found: pd.DataFrame, n_ratings: pd.Series) -> Figure:
    """Draw the variance of every movie against its number of ratings, and against its rank."""
    rank = found["MPM, variances"].rank(ascending=False)
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
    for ax, x, label in (
        (axes[0], n_ratings[found.index], "Number of ratings (log scale)"),
        (axes[1], rank, "Rank in the consensus (1 = best)"),
    ):
        ax.scatter(x, found["variance"], s=8, alpha=0.5, color="#0072B2", linewidths=0)
        rho = spearmanr(x, found["variance"]).statistic
        ax.set(xlabel=label, title=f"Spearman correlation {rho:.2f}")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set(xscale="log", ylabel="Variance of the movie, γ")
    return figure


# ---------------------------------------------------------------------------------------------
# Tables
# ---------------------------------------------------------------------------------------------

# Volkovs & Zemel (WWW 2012), Table 3: five movies from the top and five to the bottom, with users
TABLE_3 = pd.DataFrame(
    {
        "Bradley-Terry": [
            "Pather Panchali, 8", "Wallace & Gromit: The Best of Aardman Animation, 67",
            "Casablanca, 243", "A Close Shave, 112", "Rear Window, 209",
            "Best of the Best 3: No Turning Back, 6", "Kazaam, 10",
            "Free Willy 3: The Rescue, 27", "Lawnmower Man 2: Beyond Cyberspace, 21",
            "Children of the Corn: The Gathering, 19",
        ],
        "Plackett-Luce": [
            "The Shawshank Redemption, 283", "Wallace & Gromit: The Best of Aardman Animation, 67",
            "The Usual Suspects, 267", "Star Wars, 583", "The Wrong Trousers, 118",
            "Ready to Wear (Pret-A-Porter), 18", "Highlander III: The Sorcerer, 16",
            "Gone Fishin', 11", "Robocop 3, 11", "Barb Wire, 30",
        ],
        "MPM": [
            "Star Wars, 583", "Raiders of the Lost Ark, 420", "The Godfather, 413",
            "The Silence of the Lambs, 390", "The Shawshank Redemption, 283",
            "The Island of Dr. Moreau, 57", "Jungle2Jungle, 132", "A Very Brady Sequel, 93",
            "Striptease, 67", "The Cable Guy, 106",
        ],
    },
    index=[1, 2, 3, 4, 5, 1678, 1679, 1680, 1681, 1682],
).add_suffix(", published")  # fmt: skip
# Table 2: NDCG at 1 to 10 of the consensus, ratings filled in by probabilistic factorisation
TABLE_2 = pd.DataFrame(
    {
        "Bradley-Terry, 100 steps": [
            40.09, 36.00, 35.20, 34.96, 34.49, 34.40, 31.63, 32.08, 32.46, 32.35
        ],
        "Plackett-Luce, ties sorted, 100 steps": [
            69.56, 54.17, 48.97, 46.58, 44.89, 43.44, 42.50, 41.25, 40.64, 40.03
        ],
        "MPM": [69.15, 54.29, 49.72, 46.98, 45.52, 44.13, 43.25, 42.62, 42.04, 41.57],
    },
    index=[f"NDCG@{k}" for k in range(1, 11)],
).T.map(lambda percent: f"{percent / 100:.4f}")  # fmt: skip
PUBLISHED = {
    "best": TABLE_3,
    "filled": TABLE_2[["NDCG@1"]],
    "halved": pd.concat([TABLE_2[["NDCG@1"]], TABLE_2.add_suffix(", halved", axis=0)]),
}
# The paper does not state its factorisation: these scales were chosen by its Table 2
CHOSEN = {"item_bias_scale": 0.16, "item_scale": 0.3, "n_sweeps": 30}
ON_PAGE = [  # the published lists of the other two models are those after 100 steps
    "Bradley-Terry, 100 steps", "Bradley-Terry", "Plackett-Luce, ties sorted, 100 steps",
    "MPM, published", "MPM", "MPM, variances",
]  # fmt: skip


@lru_cache
def _read(how: Run) -> tuple[pd.DataFrame, pd.Series, pd.Series]:
    """Read ratings, titles and numbers of ratings; only the most rated movies in a quick run."""
    ratings, titles = read(how.folder)
    n_ratings = ratings.groupby("movie").size()
    if how.quick:
        most = n_ratings.nlargest(QUICK_MOVIES).index
        ratings = ratings[ratings["movie"].isin(most)]
    return ratings, titles, n_ratings


@lru_cache
def _scores(how: Run) -> pd.DataFrame:
    return scores(_read(how)[0], once=how.once)


def best(how: Run) -> Table:
    """List the first and last five movies of all models, with their users and contests."""
    ratings, titles, _ = _read(how)
    rows = best_and_worst(_scores(how), titles, contests(ratings))
    return Table(rows, corner="place", shown=pd.DataFrame(index=rows.index, columns=ON_PAGE))


def filled_in(how: Run) -> Table:
    """Compute NDCG of the consensus; factors of the ratings fill missing ratings."""
    found = _scores(how)
    stars = how.once("factors", lambda: with_factors(_read(how)[0], found.index))
    rows = suits(found, stars, sorted({*range(1, 11), *DRAWN_DEPTHS}))
    shown, drawn = ([f"NDCG@{k}" for k in depths] for depths in (range(1, 11), DRAWN_DEPTHS))
    figures = {"mpm_depths.png": plot_depths(rows[drawn])}
    return Table(rows[shown], digits=4, corner="model", figures=figures)


def table_2(how: Run) -> Table:
    """Compute NDCG by the equations of Table 2, and with all places but the first halved."""
    found = _scores(how)
    stars = how.once("chosen scales", lambda: with_factors(_read(how)[0], found.index, **CHOSEN))
    rows = {name: halved(found[name].to_numpy(), stars) for name in TABLE_2.index}
    table = {name: plain for name, (plain, _) in rows.items()}
    table |= {f"{name}, halved": half for name, (_, half) in rows.items()}
    return Table(pd.DataFrame(table, index=TABLE_2.columns).T, digits=4, corner="model")


def constants(how: Run) -> Table:
    """Compute NDCG of the consensus for several constants in place of missing ratings."""
    found, rows = _scores(how), {}
    for stars in IMPUTED[::3] if how.quick else IMPUTED:
        rows[stars] = suits(found, with_constant(_read(how)[0], found.index, stars))
    table = pd.concat({f"{s:g} star{'s' * (s != 1)}": x["NDCG@5"] for s, x in rows.items()}, axis=1)
    return Table(
        table, digits=3, corner="NDCG@5", figures={"mpm_constants.png": plot_constants(rows)}
    )


def variances(how: Run) -> Table:
    """Compute the variances of the movies by number of ratings, and draw them."""
    found, n_ratings = _scores(how), _read(how)[2]
    often = pd.cut(n_ratings[found.index], [0, *OFTEN.values()], labels=list(OFTEN))
    rows = found["variance"].groupby(often, observed=True).agg(["size", "min", "median", "max"])
    rows = rows.rename(columns={"size": "movies"})
    figures = {"mpm_variances.png": plot_variances(found, n_ratings)}
    digits = {"movies": 0, "min": 4, "median": 4, "max": 4}
    return Table(rows, digits=digits, corner="ratings", figures=figures)


def sample(counts: br.PairCounts, **options: Any) -> Any:
    """Sample the scores and the adherence of every user by NUTS."""
    chosen = {"draws": 1000, "tune": 500, "chains": 4, "random_seed": 1} | options
    with warnings.catch_warnings():
        # the adherence of such a user is its prior
        warnings.simplefilter("ignore", UninformativeRankingWarning)
        model = mpm.build(counts, adherence="free")
    with model:
        return pm.sample(nuts_sampler="nutpie", progressbar=False, **chosen)


def posterior(how: Run) -> Table:
    """Summarise the scores and adherences sampled by NUTS, and the diagnostics."""
    options: dict[str, Any] = {"draws": 200, "tune": 300, "chains": 2} if how.quick else {}
    draws = how.once("draws", lambda: sample(to_counts(_read(how)[0]), **options))
    rows = {}
    for name in ("score", "adherence"):
        quality = az.summary(draws, var_names=[name], kind="diagnostics", round_to="none")
        value = draws["posterior"][name]
        mean = value.mean(("chain", "draw"))
        low, quarter, half, three, high = mean.quantile([0, 0.25, 0.5, 0.75, 1]).to_numpy()
        rows[name] = {
            "R-hat, at most": f"{quality['r_hat'].max():.3f}",
            "bulk ESS, at least": f"{quality['ess_bulk'].min():.0f}",
            "smallest mean": low, "first quartile": quarter, "median": half,
            "third quartile": three, "largest mean": high,
        }  # fmt: skip
        if name == "adherence":
            half = value.median("ranker") / 2
            surely = (value < half).mean(("chain", "draw")) >= SURE
            rows[name]["below half the median"] = f"{int(surely.sum())} users"
    return Table(pd.DataFrame(rows).T, corner="variable")


TABLES = {
    "best": best,
    "filled": filled_in,
    "halved": table_2,
    "constants": constants,
    "variances": variances,
    "posterior": posterior,
}


def main(arguments: list[str] | None = None) -> dict[str, Table]:
    """Compute the tables and write them into ``RESULTS.md``."""
    return run(
        "mpm", TABLES, published=PUBLISHED, data="ml-100k", files="u.[di]*t[ae]*",
        arguments=arguments,
    )  # fmt: skip


if __name__ == "__main__":
    main()
