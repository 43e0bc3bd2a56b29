"""Compare recommendations of BPR, ListRank-MF, EigenRank and others on MovieLens 100K.

Protocol of the ua split: 943 users, 10 ratings of each held out, 90,570 to learn from. Three
questions to each method. Which of all movies not known (some 1,586 per user) did the user rate:
AUC and NDCG@10, any rating counting. In what order, of those ten: NDCG@5 of the stars. And, of
models that say so, how probable was it that a movie held out would be preferred to one that the
user has not: the log score.

BPR learns from which movies were rated; EigenRank, ListRank-MF, neighbours and means from the
stars. Penalties and scales of BPR were chosen, by NDCG@10 or by AUC, on five ratings of each user
held out of ``ua.base``; the ridges of ListRank-MF are all shown.

Run ``python -m models.bpr.study [FOLDER]`` with the folder of MovieLens 100K, by default
``ml-100k`` below ``BAYESRANK_DATA``; it writes its tables into ``RESULTS.md``, and its picture.
"""

import time
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import expit

import bayesrank as br
from bayesrank.results import query_metrics, recommendation_metrics
from models.bpr.eigenrank import eigenrank
from models.bpr.learn_bpr import NeighbourPenalties, Penalties, learn_bpr, learn_bpr_neighbours
from models.bpr.model import build, fit_advi, fit_map
from models.bpr.rating_neighbours import predict_ratings
from models.list_rank_mf.model import build as list_rank_model
from models.list_rank_mf.model import fit_map as list_rank_modes
from models.list_rank_mf.model import scores as list_rank_scores
from models.shared.results import Run, Table, run

Array = NDArray[Any]
N_FACTORS = 64
MF = {  # by what they were chosen
    "NDCG": Penalties(user=0.01, positive=0.01, negative=0.01, bias=0.003),
    "AUC": Penalties(user=0.015, positive=0.015, negative=0.015, bias=0.01),
}
KNN = NeighbourPenalties(positive=0.01, negative=0.01, bias=0.001)
EASE_RIDGE = 500.0  # the best of four on the test part itself
SEEDS = (1, 2, 3)
N_PAIRS = 200  # of a held-out item and one that the user has not, for each user
QUICK_USERS = 100  # in a reduced size, the first


class Split(NamedTuple):
    """Ratings to learn from and those held out, (n_users, n_items), on the same axes."""

    train: csr_array
    test: csr_array

    def interactions(self) -> tuple[br.Interactions, br.Interactions]:
        """Read both as signs of interest, whatever the stars."""
        users, items = (range(n) for n in self.train.shape)
        tables = (
            pd.DataFrame({"user": cells.row, "item": cells.col})
            for cells in (part.tocoo() for part in self)
        )
        one, other = (
            br.Interactions.from_frame(table, user="user", item="item", users=users, items=items)
            for table in tables
        )
        return one, other


def read_split(folder: str | Path, name: str = "ua") -> Split:
    """Read the ratings to learn from and those held out, users by movies."""
    columns = ["user", "movie", "rating", "time"]
    train, test = (
        pd.read_csv(Path(folder) / f"{name}.{part}", sep="\t", names=columns)
        for part in ("base", "test")
    )
    both = pd.concat([train, test])
    shape = int(both["user"].max()), int(both["movie"].max())
    return Split(_matrix(train, shape), _matrix(test, shape))


def _matrix(table: pd.DataFrame, shape: tuple[int, int]) -> csr_array:
    cells = table["user"].to_numpy() - 1, table["movie"].to_numpy() - 1
    return csr_array((table["rating"].to_numpy(np.float64), cells), shape=shape)


# ---------------------------------------------------------------------------------------------
# Methods: from the ratings and a seed to the utilities of all items to all users
# ---------------------------------------------------------------------------------------------

Method = Callable[[Split, int], Array]


def popularity(split: Split, seed: int = 1) -> Array:
    """How many users rated it."""
    count = np.bincount(split.train.indices, minlength=split.train.shape[1]).astype(np.float64)
    return np.tile(count, (split.train.shape[0], 1))


def item_mean(split: Split, seed: int = 1) -> Array:
    """Mean rating of each item; of those without any, that of all ratings."""
    items, stars, (n_users, n) = split.train.indices, split.train.data, split.train.shape
    count = np.bincount(items, minlength=n)
    total = np.bincount(items, stars, n)
    mean = np.divide(total, count, out=np.full(n, stars.mean()), where=count > 0)
    return np.tile(mean, (n_users, 1))


def by_user(of_user: Callable[..., Array], split: Split, seed: int = 1, **options: Any) -> Array:
    """Ask for one user after the other, of those who are tested."""
    table = np.full(split.train.shape, np.nan)
    for user in np.flatnonzero(np.diff(split.test.indptr)).tolist():
        table[user] = of_user(split.train, user, **options)
    return table


def list_rank(split: Split, seed: int = 1, *, ridge: float, n_factors: int = 10) -> Array:
    """ListRank-MF at its mode."""
    n_users, n_items = split.train.shape
    count = np.diff(split.train.indptr)
    if not count.all():
        raise ValueError("A user has no ratings to learn from: leave the user out of the data.")
    table = pd.DataFrame(
        {
            "user": np.repeat(np.arange(n_users), count),
            "item": split.train.indices,
            "rating": split.train.data,
        }
    )
    rankings = br.Rankings.from_ratings(
        table, ranker="user", item="item", rating="rating", features=["rating"],
        items=range(n_items),
    )  # fmt: skip
    (point,) = list_rank_modes(list_rank_model(rankings, n_factors=n_factors), [ridge], seed=seed)
    of_user = list_rank_scores(point)
    return np.stack([of_user(user) for user in range(n_users)])


def ease(split: Split, seed: int = 1) -> Array:
    """EASE: a ridge regression of each item on all others (Steck, WWW 2019)."""
    had = (split.train > 0).astype(np.float64).toarray()
    gram = had.T @ had
    inverse = np.linalg.inv(gram + EASE_RIDGE * np.eye(len(gram)))
    weights = -inverse / np.diag(inverse)
    np.fill_diagonal(weights, 0.0)
    return had @ weights


def factors(split: Split, seed: int, *, chosen_by: str) -> Array:
    """LearnBPR with biases and factors."""
    have, _ = split.interactions()
    fit = learn_bpr(have, n_factors=N_FACTORS, last_rate=0.0, penalties=MF[chosen_by], seed=seed)
    return fit.utility()


def neighbours(split: Split, seed: int) -> Array:
    """LearnBPR with similarities of items."""
    have, _ = split.interactions()
    fit = learn_bpr_neighbours(
        have, n_epochs=60, learning_rate=0.003, last_rate=0.0, penalties=KNN, seed=seed
    )
    return fit.utility(have.to_matrix())


def mode(split: Split, seed: int) -> Array:
    """Posterior mode of `models.bpr.model`."""
    return utilities(fit_map(split.interactions()[0], n_factors=N_FACTORS, seed=seed))[0]


def advi(split: Split, seed: int = 1, *, n_steps: int = 8000) -> Array:
    """Draws of mean-field ADVI from the mode, (n_draws, n_users, n_items)."""
    have, _ = split.interactions()
    model = build(have, n_factors=N_FACTORS, batch_size=5000)
    start = fit_map(have, n_factors=N_FACTORS, seed=seed)
    return utilities(fit_advi(model, start, n_steps=n_steps, draws=40, seed=seed))


def utilities(idata: Any) -> Array:
    """Give utilities of all items to all users in every draw, (n_draws, n_users, n_items)."""
    parts = [
        idata["posterior"][name].values for name in ("user_factor", "item_factor", "item_bias")
    ]
    W, H, b = (x.reshape(-1, *x.shape[2:]).astype(np.float32) for x in parts)
    return W @ H.transpose(0, 2, 1) + b[:, None]


METHODS: dict[str, Method] = {
    "popularity": popularity,
    "item mean": item_mean,
    "Pearson neighbours": partial(by_user, predict_ratings),
    "EigenRank, greedy": partial(by_user, eigenrank),
    "EigenRank, walk": partial(by_user, eigenrank, order="walk"),
    "ListRank-MF, ridge 0.003": partial(list_rank, ridge=0.003),
    "ListRank-MF, ridge 0.01": partial(list_rank, ridge=0.01),
    "ListRank-MF, ridge 0.03": partial(list_rank, ridge=0.03),
    "EASE": ease,
    "BPR, factors, by NDCG": partial(factors, chosen_by="NDCG"),
    "BPR, factors, by AUC": partial(factors, chosen_by="AUC"),
    "BPR, neighbours": neighbours,
    "BPR, posterior mode": mode,
    "BPR, ADVI": advi,
}
RANDOM = tuple(name for name in METHODS if name.startswith("BPR") and name != "BPR, ADVI")
QUICK = ("popularity", "EigenRank, greedy", "ListRank-MF, ridge 0.01", "BPR, factors, by NDCG")


# ---------------------------------------------------------------------------------------------
# Comparing
# ---------------------------------------------------------------------------------------------


def held_out_pairs(
    have: br.Interactions, test: br.Interactions, *, seed: int = 1
) -> NDArray[np.int32]:
    """Draw pairs of a held-out item and one the user has neither, (n, 3)."""
    drawn = test.sample_triples(2 * N_PAIRS * test.n_users, random_seed=seed)
    return drawn[~have.to_matrix()[drawn[:, 0], drawn[:, 2]]][: N_PAIRS * test.n_users]


def preferred(x: Array, pairs: NDArray[np.int32]) -> NDArray[np.float64]:
    """Probability of held-out preferences, averaged over draws (n_draws, ...)."""
    u, i, j = pairs.T
    return np.asarray(expit(x[:, u, i] - x[:, u, j]).mean(axis=0))


def judge(split: Split, name: str, seed: int, *, k: int = 10, **options: Any) -> dict[str, Any]:
    """Metrics of a method under a seed, means over users; and CPU seconds.

    What says how probable preferences are has in "said" what it says of pairs held out.
    """
    begin = time.process_time()
    found = METHODS[name](split, seed, **options)
    seconds = time.process_time() - begin
    draws = found if found.ndim == 3 else found[None]
    table = draws.mean(axis=0).astype(float)
    users = np.flatnonzero(np.diff(split.test.indptr)).tolist()
    which = recommendation_metrics(table, split.test > 0, split.train > 0, k=k)
    stars, theirs = [], []
    for u in users:
        cells = slice(split.test.indptr[u], split.test.indptr[u + 1])
        stars.append(split.test.data[cells])
        theirs.append(table[u, split.test.indices[cells]])
    order = query_metrics(stars, theirs, k=(5,)).queries["ndcg@5"]
    of_users = which.queries[f"ndcg@{k}"].to_numpy()[users]
    row: dict[str, Any] = {
        "AUC": float(which.means["auc"]),
        f"NDCG@{k}": float(which.means[f"ndcg@{k}"]),
        "s.e.": float(of_users.std() / len(users) ** 0.5),
        "stars NDCG@5": float(order.mean()),
        "s.e. ": float(order.std() / len(users) ** 0.5),
        "log score": np.nan,
        "CPU s": seconds,
    }
    if name.startswith("BPR"):
        row["said"] = preferred(draws, held_out_pairs(*split.interactions()))
        row["log score"] = float(np.log(row["said"]).mean())
    return row


@lru_cache
def _split(how: Run) -> Split:
    split = read_split(how.folder)
    return Split(*(part[:QUICK_USERS] for part in split)) if how.quick else split


@lru_cache
def _judged(how: Run, name: str, seed: int) -> dict[str, Any]:
    """Judge once for both tables."""
    options = {"n_steps": 50} if how.quick and name == "BPR, ADVI" else {}
    return how.once(f"{name}, {seed}", partial(judge, _split(how), name, seed, **options))


def compared(how: Run) -> Table:
    """All methods by all questions, means over seeds where there is chance in a method."""
    rows = {}
    for name in how.chosen(QUICK if how.quick else METHODS):
        seeds = SEEDS if name in RANDOM and not how.quick else SEEDS[:1]
        judged = pd.DataFrame([_judged(how, name, seed) for seed in seeds])
        rows[name] = judged.drop(columns="said", errors="ignore").mean()
    table = pd.DataFrame(rows).T
    digits = dict.fromkeys(map(str, table), 3) | {"AUC": 4, "CPU s": 1}
    shown = pd.DataFrame(index=table.index, columns=["AUC", "NDCG@10", "stars NDCG@5", "log score"])
    figures = {"recommendation.png": plot(table)}
    return Table(table, digits=digits, figures=figures, shown=shown)


def plot(table: pd.DataFrame) -> Figure:
    """Draw both questions, a panel for each, with two standard errors."""
    figure, axes = plt.subplots(1, 2, figsize=(10, 0.6 + 0.3 * len(table)), sharey=True,
                                layout="constrained")  # fmt: skip
    place = np.arange(len(table))[::-1]
    colours = np.where(table.index.str.startswith("BPR"), "#0072B2", "#D55E00")
    for ax, (metric, error), title in zip(
        axes,
        (("NDCG@10", "s.e."), ("stars NDCG@5", "s.e. ")),
        ("NDCG@10 of the held-out movies", "NDCG@5 of their order by stars"),
        strict=True,
    ):
        ax.hlines(
            place, table[metric] - 2 * table[error], table[metric] + 2 * table[error], color=colours
        )
        ax.scatter(table[metric], place, c=colours, s=24, zorder=3)
        ax.set(title=title, yticks=place)
        ax.set_yticklabels(table.index)
        ax.grid(axis="x", color="0.9")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_xlim(left=-0.008)  # with room for a point at zero
    return figure


def calibration(how: Run) -> Table:
    """Compare predicted probabilities of held-out pairs with how many of them came true."""
    rows: dict[str, dict[str, float]] = {}
    for name in ("posterior mode", "ADVI"):
        p = _judged(how, f"BPR, {name}", SEEDS[0])["said"]
        both, right = np.concatenate([p, 1 - p]), np.repeat([1.0, 0.0], len(p))
        for low, high in ((0.5, 0.75), (0.75, 0.9), (0.9, 1.0)):
            cell = (both > low) & (both <= high)
            rows.setdefault(f"{low:g} to {high:g}", {})[f"{name}, predicted"] = both[cell].mean()
            rows[f"{low:g} to {high:g}"][f"{name}, observed"] = right[cell].mean()
    return Table(pd.DataFrame(rows).T, corner="probability")


TABLES = {
    "compared": compared,
    "calibration": calibration,
}


def main(arguments: list[str] | None = None) -> dict[str, Table]:
    """Compute the tables and write them into ``RESULTS.md``."""
    return run("bpr", TABLES, data="ml-100k", files="ua.*", arguments=arguments)


if __name__ == "__main__":
    main()
