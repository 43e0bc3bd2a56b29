"""Compare recommendations of BPR, choices, ListRank-MF, EigenRank and others on two data sets.

The protocol uses the ua split: 943 users, 10 held-out ratings of each, and 90,570 ratings for
training. It asks three questions of each method. Which unknown movies did the user rate (AUC and
NDCG@10)? In which order are the ten held-out movies by stars (NDCG@5)? For models with
probabilities: how probable is it that the user prefers a held-out movie to a movie without a rating
(log score)?

BPR learns from the set of rated movies. EigenRank, ListRank-MF, neighbours and means learn from the
stars. Penalties and scales of BPR were chosen, by NDCG@10 or by AUC, on five ratings of each user
held out of ``ua.base``. The table shows all ridges of ListRank-MF.

The study also compares methods without stars on Delicious. Every eighth text with at least 8 of 983
labels is a user, and its labels are the items. Three labels of each text are held out. The settings
are chosen on items that are held out of the training parts (`defaults`).

Run ``python -m models.bpr.study [FOLDER]`` with the folder of MovieLens 100K, by default
``ml-100k`` in ``BAYESRANK_DATA``. Its parent folder contains ``delicious``. The command writes the
tables into ``RESULTS.md``, and the picture.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import pairwise
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
from models.bpr import choice as from_catalogue
from models.bpr.eigenrank import eigenrank
from models.bpr.learn_bpr import NeighbourPenalties, Penalties, learn_bpr, learn_bpr_neighbours
from models.bpr.model import build, fit_advi, fit_map
from models.bpr.rating_neighbours import predict_ratings
from models.list_rank_mf.model import build as list_rank_model
from models.list_rank_mf.model import fit_map as list_rank_modes
from models.list_rank_mf.model import scores as list_rank_scores
from models.multilabel.study import load
from models.shared.results import Run, Table, run

Array = NDArray[Any]
N_FACTORS = 64
MF = {  # by the metric that chose them
    "NDCG": Penalties(user=0.01, positive=0.01, negative=0.01, bias=0.003),
    "AUC": Penalties(user=0.015, positive=0.015, negative=0.015, bias=0.01),
}
KNN = NeighbourPenalties(positive=0.01, negative=0.01, bias=0.001)
EASE_RIDGE = 500.0  # the best of four on the test part itself
MOVIES, TEXTS = "MovieLens 100K", "Delicious"
FILES = "ua.*"  # of the movies
# Settings that `defaults` tries; `learn_bpr` has the best by the geometric mean of both data sets
BPR_TRIED: dict[str, dict[str, Any]] = {
    f"factors {p:g}, biases {b:g}": {"penalties": Penalties(p, p, p, b)}
    for p, biases in (
        (0.003, (0.003, 0.01)),
        (0.01, (0.003, 0.01, 0.03, 0.1)),
        (0.03, (0.003, 0.01)),
    )
    for b in biases
}
BPR_TRIED["factors 0.01, biases 0.01, rate not falling"] = {
    "penalties": Penalties(0.01, 0.01, 0.01, 0.01), "last_rate": 0.05,
}  # fmt: skip
EASE_TRIED = {f"ridge {x:g}": {"ridge": x} for x in (100, 300, 1000)}
ALS_TRIED = {f"weight 3, ridge {x:g}": {"weight": 3, "ridge": x} for x in (10, 30, 100)}
CHOICE_TRIED = {f"scale {x:g}": {"scale": x} for x in (0.2, 0.3, 0.5, 0.8)}
CHOSEN: dict[str, dict[str, str]] = {  # best setting for each data set
    MOVIES: {"EASE": "ridge 300", "ALS": "weight 3, ridge 30", "choice": "scale 0.3"},
    TEXTS: {"EASE": "ridge 100", "ALS": "weight 3, ridge 10", "choice": "scale 0.5"},
}
GAIN = "NDCG@10 - BPR (s.e.)"  # the mean difference over users
INTERVAL = 1.96  # standard errors: an interval of 95%
SEEDS = (1, 2, 3)
N_ITERATIONS, N_STEPS = 60, 500  # of L-BFGS and of ADVI, for choices
N_PAIRS = 200  # pairs of a held-out item and an item in neither part, for each user
QUICK_USERS = 100  # number of users in a run of reduced size


class Split(NamedTuple):
    """Training and held-out ratings, (n_users, n_items), on the same axes."""

    train: csr_array
    test: csr_array
    name: str = MOVIES

    def interactions(self) -> tuple[br.Interactions, br.Interactions]:
        """Convert both parts into interactions, whatever the stars."""
        users, items = (range(n) for n in self.train.shape)
        tables = (
            pd.DataFrame({"user": cells.row, "item": cells.col})
            for cells in (part.tocoo() for part in self[:2])
        )
        one, other = (
            br.Interactions.from_frame(table, user="user", item="item", users=users, items=items)
            for table in tables
        )
        return one, other


def read_split(folder: str | Path, name: str = "ua") -> Split:
    """Read the training and held-out ratings, users by movies."""
    columns = ["user", "movie", "rating", "time"]
    train, test = (
        pd.read_csv(Path(folder) / f"{name}.{part}", sep="\t", names=columns)
        for part in ("base", "test")
    )
    both = pd.concat([train, test])
    shape = int(both["user"].max()), int(both["movie"].max())
    return Split(_matrix(train, shape), _matrix(test, shape))


def read_texts(folder: str | Path) -> Split:
    """Read every eighth text with at least 8 labels, and hold out 3 labels of each."""
    labels = load(Path(folder), "delicious", "train").labels[::8]
    return hold_out(labels[np.diff(labels.indptr) >= 8], 3, TEXTS)


def hold_out(cells: csr_array, n: int, name: str, *, seed: int = 1) -> Split:
    """Hold out n random items of each user."""
    rng, test = np.random.default_rng(seed), np.zeros(cells.nnz, dtype=bool)
    for first, last in pairwise(cells.indptr.tolist()):
        test[first + rng.permutation(last - first)[:n]] = True
    row = np.repeat(np.arange(cells.shape[0]), np.diff(cells.indptr))
    train, held = (
        csr_array((cells.data[some], (row[some], cells.indices[some])), shape=cells.shape)
        for some in (~test, test)
    )
    return Split(train, held, name)


def _matrix(table: pd.DataFrame, shape: tuple[int, int]) -> csr_array:
    cells = table["user"].to_numpy() - 1, table["movie"].to_numpy() - 1
    return csr_array((table["rating"].to_numpy(np.float64), cells), shape=shape)


# ---------------------------------------------------------------------------------------------
# Methods: from the ratings and a seed to the utilities of all items to all users
# ---------------------------------------------------------------------------------------------

Method = Callable[[Split, int], Array]


def popularity(split: Split, seed: int = 1) -> Array:
    """Score each item by the number of users who rated it."""
    count = np.bincount(split.train.indices, minlength=split.train.shape[1]).astype(np.float64)
    return np.tile(count, (split.train.shape[0], 1))


def item_mean(split: Split, seed: int = 1) -> Array:
    """Compute the mean rating of each item; items without ratings get the overall mean."""
    items, stars, (n_users, n) = split.train.indices, split.train.data, split.train.shape
    count = np.bincount(items, minlength=n)
    total = np.bincount(items, stars, n)
    mean = np.divide(total, count, out=np.full(n, stars.mean()), where=count > 0)
    return np.tile(mean, (n_users, 1))


def by_user(score_user: Callable[..., Array], split: Split, seed: int = 1, **options: Any) -> Array:
    """Score the items for each test user."""
    table = np.full(split.train.shape, np.nan)
    for user in np.flatnonzero(np.diff(split.test.indptr)).tolist():
        table[user] = score_user(split.train, user, **options)
    return table


def list_rank(split: Split, seed: int = 1, *, ridge: float, n_factors: int = 10) -> Array:
    """Fit ListRank-MF at its mode."""
    n_users, n_items = split.train.shape
    count = np.diff(split.train.indptr)
    if not count.all():
        raise ValueError("A user has no training ratings: omit this user.")
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
    score_user = list_rank_scores(point)
    return np.stack([score_user(user) for user in range(n_users)])


def ease(split: Split, seed: int = 1, *, ridge: float = EASE_RIDGE) -> Array:
    """Fit EASE: a ridge regression of each item on all others (Steck, WWW 2019)."""
    had = (split.train > 0).astype(np.float64).toarray()
    gram = had.T @ had
    inverse = np.linalg.inv(gram + ridge * np.eye(len(gram)))
    weights = -inverse / np.diag(inverse)
    np.fill_diagonal(weights, 0.0)
    return had @ weights


def als(split: Split, seed: int = 1, *, weight: float, ridge: float, n_sweeps: int = 10) -> Array:
    """Factorise ones and zeros, with higher weights of ones (Hu, Koren & Volinsky, ICDM 2008)."""
    had = csr_array((split.train > 0).astype(np.float64))
    H = 0.1 * np.random.default_rng(seed).normal(size=(had.shape[1], N_FACTORS))
    for _ in range(n_sweeps):
        W = ones_and_zeros(had, H, weight=weight, ridge=ridge)
        H = ones_and_zeros(csr_array(had.T), W, weight=weight, ridge=ridge)
    return W @ H.T


def ones_and_zeros(had: csr_array, other: Array, *, weight: float, ridge: float) -> Array:
    """Regress each row on the factors of the other side; a one has the weight 1 + `weight`."""
    gram = other.T @ other + ridge * np.eye(other.shape[1])
    found = np.zeros((had.shape[0], other.shape[1]))
    for row, (first, last) in enumerate(pairwise(had.indptr.tolist())):
        x = other[had.indices[first:last]]
        found[row] = np.linalg.solve(gram + weight * x.T @ x, (1 + weight) * x.sum(axis=0))
    return found


def factors(split: Split, seed: int = 1, **options: Any) -> Array:
    """Fit LearnBPR with biases and factors, by default with its default options."""
    return learn_bpr(split.interactions()[0], n_factors=N_FACTORS, seed=seed, **options).utility()


def choice(split: Split, seed: int = 1, *, scale: float, n_steps: int = 0) -> Array:
    """Find the mode of `models.bpr.choice`; with steps, the mean of 20 draws of ADVI."""
    have, _ = split.interactions()
    priors = {"n_factors": N_FACTORS, "user_scale": scale, "item_scale": scale}
    fit = from_catalogue.fit_map(have, n_iterations=N_ITERATIONS, seed=seed, **priors)
    if n_steps:
        model = from_catalogue.build(have, batch_size=500, **priors)
        fit = fit_advi(model, fit, n_steps=n_steps, draws=20, seed=seed)
    return np.asarray(utilities(fit).mean(axis=0))


def neighbours(split: Split, seed: int) -> Array:
    """Fit LearnBPR with correlations of items."""
    have, _ = split.interactions()
    fit = learn_bpr_neighbours(
        have, n_epochs=60, learning_rate=0.003, last_rate=0.0, penalties=KNN, seed=seed
    )
    return fit.utility(have.to_matrix())


def mode(split: Split, seed: int) -> Array:
    """Find the posterior mode of `models.bpr.model`."""
    return utilities(fit_map(split.interactions()[0], n_factors=N_FACTORS, seed=seed))[0]


def advi(split: Split, seed: int = 1, *, n_steps: int = 8000) -> Array:
    """Draw from mean-field ADVI, started at the mode, (n_draws, n_users, n_items)."""
    have, _ = split.interactions()
    model = build(have, n_factors=N_FACTORS, batch_size=5000)
    start = fit_map(have, n_factors=N_FACTORS, seed=seed)
    return utilities(fit_advi(model, start, n_steps=n_steps, draws=40, seed=seed))


def utilities(idata: Any) -> Array:
    """Return utilities of all items to all users in every draw, (n_draws, n_users, n_items)."""
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
    "BPR, factors, by NDCG": partial(factors, penalties=MF["NDCG"]),
    "BPR, factors, by AUC": partial(factors, penalties=MF["AUC"]),
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
    """Draw users with a held-out item and an item in neither part, (n, 3)."""
    drawn = test.sample_triples(2 * N_PAIRS * test.n_users, random_seed=seed)
    return drawn[~have.to_matrix()[drawn[:, 0], drawn[:, 2]]][: N_PAIRS * test.n_users]


def preferred(x: Array, pairs: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return probabilities of held-out preferences, averaged over draws (n_draws, ...)."""
    u, i, j = pairs.T
    return np.asarray(expit(x[:, u, i] - x[:, u, j]).mean(axis=0))


def judge(split: Split, name: str, seed: int, *, k: int = 10, **options: Any) -> dict[str, Any]:
    """Compute the metrics of a method for one seed, as means over users, and CPU seconds.

    Methods of BPR also return the probabilities of held-out preferences, as "preferred".
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
    ndcg = which.queries[f"ndcg@{k}"].to_numpy()[users]
    row: dict[str, Any] = {
        "AUC": float(which.means["auc"]),
        f"NDCG@{k}": float(which.means[f"ndcg@{k}"]),
        "s.e.": float(ndcg.std() / len(users) ** 0.5),
        "stars NDCG@5": float(order.mean()),
        "s.e. ": float(order.std() / len(users) ** 0.5),
        "log score": np.nan,
        "CPU s": seconds,
    }
    if name.startswith("BPR"):
        row["preferred"] = preferred(draws, held_out_pairs(*split.interactions()))
        row["log score"] = float(np.log(row["preferred"]).mean())
    return row


@lru_cache
def _data(how: Run, name: str) -> Split:
    split = read_split(how.folder) if name == MOVIES else read_texts(how.folder.parent)
    train, test = (part[:QUICK_USERS] if how.quick else part for part in split[:2])
    return Split(train, test, name)


def _files(how: Run, *names: str) -> list[Path]:
    """List the files of the data."""
    texts = how.folder.parent / "delicious" / "delicious-train.txt"
    of = {MOVIES: sorted(how.folder.glob(FILES)), TEXTS: [texts]}
    return [file for name in names for file in of[name]]


@lru_cache
def _judged(how: Run, name: str, seed: int) -> dict[str, Any]:
    """Evaluate once for both tables."""
    options = {"n_steps": 50} if how.quick and name == "BPR, ADVI" else {}
    return how.once(f"{name}, {seed}", partial(judge, _data(how, MOVIES), name, seed, **options))


def compared(how: Run) -> Table:
    """Compare all methods by all metrics; random methods are means over seeds."""
    rows = {}
    for name in how.chosen(QUICK if how.quick else METHODS):
        seeds = SEEDS if name in RANDOM and not how.quick else SEEDS[:1]
        judged = pd.DataFrame([_judged(how, name, seed) for seed in seeds])
        rows[name] = judged.drop(columns="preferred", errors="ignore").mean()
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
    axes[0].set_xlim(left=-0.008)  # room for a point at zero
    return figure


# Methods that use no stars, with the settings that `defaults` tries
FAMILIES: dict[str, tuple[Callable[..., Array], Mapping[str, dict[str, Any]]]] = {
    "EASE": (ease, EASE_TRIED),
    "ALS": (als, ALS_TRIED),
    "BPR": (factors, BPR_TRIED),
    "choice": (choice, CHOICE_TRIED),
}


def defaults(how: Run) -> Table:
    """Compute NDCG@10 of all settings on items held out of the training part."""
    known = {
        name: hold_out(_data(how, name).train, n, name) for name, n in ((MOVIES, 5), (TEXTS, 2))
    }
    rows: dict[str, dict[str, float]] = {}
    for family, (method, tried) in FAMILIES.items():
        for setting, options in [*tried.items()][: 1 if how.quick else None]:
            row = f"{family}, {setting}"
            if how.rows and family not in how.rows and row not in how.rows:
                continue
            for name, split in known.items():
                compute = partial(_metrics_by_user, method, split, options, depths=(10,))
                found = how.once(f"default {name} {row}", compute)
                rows.setdefault(row, {})[name] = float(found["NDCG@10"].mean())
    table = pd.DataFrame(rows).T
    table["geometric mean"] = np.exp(np.log(table).mean(axis=1))
    return Table(table, digits=4, corner="setting", files=_files(how, MOVIES, TEXTS))


def catalogue(how: Run, data: str) -> Table:
    """Compare methods without stars by how well they find the items of a user."""
    split, chosen = _data(how, data), CHOSEN[data]
    methods: dict[str, tuple[Callable[..., Array], dict[str, Any]]] = {
        "popularity": (popularity, {})
    }
    for family, (method, tried) in FAMILIES.items():
        methods[family] = method, tried[chosen[family]] if family in chosen else {}
    methods["BPR, posterior mode"] = mode, {}
    if not how.quick:
        methods["choice, ADVI"] = choice, methods["choice"][1] | {"n_steps": N_STEPS}

    @lru_cache
    def judged(name: str) -> pd.DataFrame:
        method, options = methods[name]
        return how.once(f"{data} {name}", partial(_metrics_by_user, method, split, options))

    rows: dict[str, dict[str, Any]] = {}
    for name in how.chosen(methods):
        found = judged(name)
        half = INTERVAL * found.std() / len(found) ** 0.5
        rows[name] = {
            str(metric): f"{mean:.3f} ± {half[metric]:.3f}" for metric, mean in found.mean().items()
        }
        # the same users: the standard error of a difference is smaller than two intervals suggest
        gain = found["NDCG@10"] - judged("BPR")["NDCG@10"]
        rows[name][GAIN] = f"{gain.mean():+.3f} ({gain.std() / len(gain) ** 0.5:.3f})"
    table = pd.DataFrame(rows).T
    return Table(table, corner=data, shown=table, files=_files(how, data))


def _metrics_by_user(
    method: Callable[..., Array],
    split: Split,
    options: dict[str, Any],
    depths: Sequence[int] = (10, 20),
) -> pd.DataFrame:
    """Compute AUC, NDCG@10 and recall@20 of each test user."""
    scores, known, held_out = method(split, seed=1, **options), split.train > 0, split.test > 0
    queries = [recommendation_metrics(scores, held_out, known, k=k).queries for k in depths]
    found = pd.concat(queries, axis=1).rename(columns={"auc": "AUC", "ndcg@10": "NDCG@10"})
    found = found.loc[:, ~found.columns.duplicated()]
    return found.filter(["AUC", "NDCG@10", "recall@20"])[np.diff(split.test.indptr) > 0]


def calibration(how: Run) -> Table:
    """Compare predicted probabilities of held-out pairs with observed shares."""
    rows: dict[str, dict[str, float]] = {}
    for name in ("posterior mode", "ADVI"):
        p = _judged(how, f"BPR, {name}", SEEDS[0])["preferred"]
        both, right = np.concatenate([p, 1 - p]), np.repeat([1.0, 0.0], len(p))
        for low, high in ((0.5, 0.75), (0.75, 0.9), (0.9, 1.0)):
            cell = (both > low) & (both <= high)
            rows.setdefault(f"{low:g} to {high:g}", {})[f"{name}, predicted"] = both[cell].mean()
            rows[f"{low:g} to {high:g}"][f"{name}, observed"] = right[cell].mean()
    return Table(pd.DataFrame(rows).T, corner="probability")


TABLES: dict[str, Callable[[Run], Table]] = {
    "compared": compared,
    "movies": partial(catalogue, data=MOVIES),
    "texts": partial(catalogue, data=TEXTS),
    "defaults": defaults,
    "calibration": calibration,
}


def main(arguments: list[str] | None = None) -> dict[str, Table]:
    """Compute the tables and write them into ``RESULTS.md``."""
    return run("bpr", TABLES, data="ml-100k", files=FILES, arguments=arguments)


if __name__ == "__main__":
    main()
