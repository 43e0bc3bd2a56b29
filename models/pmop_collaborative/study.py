"""Compare likelihoods for collaborative filtering on MovieLens 100K.

Story: a part of each user's ratings is held out. A model learns from the other ratings and orders
the held-out movies by their utilities. All models have five factors and, unless a row says
otherwise, a bias for each movie. They treat the stars as numbers (ALS), as pairs (BPR), or as a
weak order. Each is fitted to its posterior mode.

Each user has n training ratings, and the rest are for testing. Users need at least n + 10 ratings
of the movies of `models.pmop_collaborative.protocol`. The paper's Table 3 uses MovieLens 10M, so
only the order of rows is comparable. Its Figure 2 shows the probability of the order of unseen
movies; see `models.pmop_collaborative.figure`.

Run ``python -m models.pmop_collaborative.study [FOLDER]`` with the folder of MovieLens 100K, by
default ``ml-100k`` in ``BAYESRANK_DATA``. It writes the tables into ``RESULTS.md``, and draws
the figure.
"""

import math
import resource
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pymc as pm

import bayesrank as br
from bayesrank.inference import Point
from bayesrank.results import query_metrics
from models.pmop_collaborative.cofi_rank import fit_cofi_rank, ordinal_loss, regression_loss
from models.pmop_collaborative.figure import SCORES, figure_table, plot_figure
from models.pmop_collaborative.model import Scales, build, fit_adam, fit_map, predict
from models.pmop_collaborative.protocol import grid, modes, movielens, split, to_rankings
from models.shared.rating_factors import als, item_mean, ratings_of
from models.shared.results import Run, Table, run

TOP = 5  # stars
REFERENCE = "rating factors (ALS)"

# ---------------------------------------------------------------------------------------------
# Methods: how each is fitted, and the prior scales it chooses from
# ---------------------------------------------------------------------------------------------

Fit = Callable[[br.Rankings, Sequence[Scales]], list[Point]]


def steps(
    rankings: br.Rankings, scales: Sequence[Scales], *, likelihood: str, **options: Any
) -> list[Point]:
    """Fit `build(rankings, likelihood=likelihood)` by Adam for each of the scales."""
    model, found = build(rankings, likelihood=likelihood), []
    for values in scales:
        pm.set_data(dict(values), model=model)
        found.append(fit_adam(model, rankings, **options))
    return found


def by_scales(method: Callable[..., Point]) -> Fit:
    """Fit a method for each of the scales."""
    return lambda rankings, scales: [method(rankings, **values) for values in scales]


STARS = grid(item_bias_scale=(0.15, 0.3), ranker_scale=(0.07, 0.1, 0.14))
# A margin of NDCG is at most one, and a margin between neighbouring places is a fraction of it.
MARGINS = grid(item_bias_scale=(0.3, 1.0), ranker_scale=(0.1, 0.3))
# Blocks chosen as a whole say little about their items, so utilities must differ more.
SETS = grid(item_bias_scale=(0.25, 0.5, 1.0), ranker_scale=(0.35, 0.7))

METHODS: dict[str, tuple[Fit, list[Scales]]] = {
    "shrunken item mean": (by_scales(item_mean), grid(item_bias_scale=(0.15, 0.2, 0.3, 0.5))),
    REFERENCE: (by_scales(als), STARS),
    "pairs (BPR)": (
        partial(modes, likelihood="pairs"),
        grid(item_bias_scale=(0.1, 0.2), ranker_scale=(0.01, 0.02)),
    ),
    "CoFiRank's loss": (by_scales(fit_cofi_rank), MARGINS),
    "CoFiRank, regression": (
        by_scales(partial(fit_cofi_rank, loss=regression_loss)),
        grid(item_bias_scale=(0.3,), ranker_scale=(0.07, 0.1, 0.14)),
    ),
    "CoFiRank, ordinal": (by_scales(partial(fit_cofi_rank, loss=ordinal_loss)), MARGINS),
    "PMOP, no item bias": (
        partial(modes, item_bias_scale=None), grid(ranker_scale=(0.35, 0.7, 1.4))
    ),
    "PMOP": (modes, SETS),
    "PMOP, beta 0.01": (partial(modes, beta=0.01), STARS),
    "PMOP, beta 0.3": (partial(modes, beta=0.3), STARS),
    "Plackett-Luce, ties sorted": (partial(modes, likelihood="plackett_luce", sort=True), STARS),
    "Plackett-Luce, tied denominators": (partial(modes, likelihood="tied_denominators"), STARS),
    "Plackett-Luce": (partial(modes, likelihood="plackett_luce"), STARS),
    "Plackett-Luce, by Adam": (partial(steps, likelihood="plackett_luce"), STARS),
    "Plackett-Luce, beta 0.3": (
        partial(modes, likelihood="plackett_luce", beta=0.3), STARS
    ),
}  # fmt: skip


# ---------------------------------------------------------------------------------------------
# Protocol
# ---------------------------------------------------------------------------------------------


def evaluate(point: Point, rankings: br.Rankings) -> pd.DataFrame:
    """Compute ERR and NDCG of each user."""
    score = predict(point, rankings.ranker_idx[:, None], rankings.item)
    return query_metrics(
        ratings_of(rankings),
        score,
        where=rankings.mask,
        labels=rankings.rankers,
        max_grade=TOP,
    ).queries


def compare(
    ratings: pd.DataFrame,
    n_train: int,
    at_least: int,
    *,
    methods: Mapping[str, tuple[Fit, Sequence[Scales]]] = METHODS,
    seeds: Iterable[int] = (1, 2),
    reference: str = REFERENCE,
    once: Callable[[str, Callable[[], pd.DataFrame]], pd.DataFrame] = lambda _, compute: compute(),
) -> pd.DataFrame:
    """Train each method on `n_train` ratings of each user, and compute metrics on the rest.

    The scales are chosen across users: for each fifth of them, by the test ratings of the others.
    With several seeds, each user is tested on several splits but counts once. `se` is the standard
    error over users of the mean difference of NDCG@5 from `reference`. `once` may keep the result
    of a method on a split, by its name.
    """
    items = pd.Index(np.unique(ratings["movie"]))
    tested: dict[str, list[pd.DataFrame]] = {method: [] for method in methods}
    for seed in seeds:
        parts = split(ratings, [n_train], at_least=at_least, seed=seed)
        train, test = (to_rankings(part, items) for part in parts)
        for method, (fit, scales) in methods.items():
            compute = partial(_tested, fit, scales, train, test, seed)
            tested[method].append(once(f"{method}, {n_train}, {seed}", compute))
    joined = {method: pd.concat(queries) for method, queries in tested.items()}
    return pd.DataFrame(
        {method: _row(queries, joined[reference]) for method, queries in joined.items()}
    ).T


def _tested(
    fit: Fit, scales: Sequence[Scales], train: br.Rankings, test: br.Rankings, seed: int
) -> pd.DataFrame:
    fifth = np.random.default_rng(seed).permutation(test.n_rankings) % 5
    results = [evaluate(point, test) for point in fit(train, scales)]
    found = []
    for part in range(5):
        marks = [result[fifth != part].mean().sum() for result in results]
        found.append(results[int(np.argmax(marks))][fifth == part])
    return pd.concat(found)


def _row(queries: pd.DataFrame, reference: pd.DataFrame) -> dict[str, float]:
    lead = (queries["ndcg@5"] - reference["ndcg@5"]).groupby(level=0).mean()
    return {str(name): float(mean) for name, mean in queries.mean().items()} | {
        "ndcg@5 lead": float(lead.mean()),
        "se": float(lead.std()) / math.sqrt(len(lead)),
    }


# ---------------------------------------------------------------------------------------------
# Starts
# ---------------------------------------------------------------------------------------------

# The objectives have many modes: models, and their options
STARTED: dict[str, dict[str, Any]] = {
    "PMOP, beta 0.01": {"beta": 0.01},
    "Plackett-Luce": {"likelihood": "plackett_luce"},
    "Plackett-Luce, beta 0.3": {"likelihood": "plackett_luce", "beta": 0.3},
}
BY_ADAM = ("Plackett-Luce",)
EPOCHS = (100, 400)
N_STARTS = 4
ITEM_BIAS_SCALE = 0.3
RANKER_SCALES = (0.1, 0.14)  # two of the candidates


def starts(
    train: br.Rankings,
    test: br.Rankings,
    name: str,
    scale: float,
    *,
    n_starts: int = N_STARTS,
) -> pd.DataFrame:
    """Fit a model from several starts; return its log posterior and metrics, a row per fit."""
    model = build(train, **STARTED[name])
    scales = {"item_bias_scale": ITEM_BIAS_SCALE, "ranker_scale": scale}
    pm.set_data(scales, model=model)
    logp = model.compile_logp()
    rows = []
    for seed in range(1, n_starts + 1):
        found = {"L-BFGS": fit_map(model, [scales], seed=seed)[0]}
        for epochs in EPOCHS if name in BY_ADAM else ():
            point = fit_adam(model, train, n_epochs=epochs, seed=seed)
            found[f"Adam, {epochs} epochs"] = point
        for how, point in found.items():
            marks = evaluate(point, test).mean().to_dict()
            rows.append({"by": how, "log posterior": float(logp(point)), **marks})
    return pd.DataFrame(rows)


# ---------------------------------------------------------------------------------------------
# Tables
# ---------------------------------------------------------------------------------------------

QUICK = (
    REFERENCE,
    "shrunken item mean",
    "CoFiRank's loss",
    "PMOP, beta 0.3",
    "Plackett-Luce, beta 0.3",
)


@lru_cache
def _ratings(folder: Path) -> pd.DataFrame:
    return movielens(folder)


def _table(how: Run, n_train: int, *, on_page: bool = False) -> Table:
    """Compute metrics of all methods, and differences of NDCG@5 from ALS by user."""
    chosen = [REFERENCE, *(name for name in how.chosen(METHODS) if name != REFERENCE)]
    names = QUICK if how.quick else [name for name in METHODS if name in chosen]
    methods = {name: METHODS[name] for name in names}
    if how.quick:
        methods = {name: (fit, scales[-1:]) for name, (fit, scales) in methods.items()}
    rows = compare(
        _ratings(how.folder), n_train, n_train + 10, methods=methods,
        seeds=(1,) if how.quick else (1, 2), once=how.once,
    )  # fmt: skip
    shown = pd.DataFrame({"ERR": rows["err"], "NDCG@1": rows["ndcg@1"], "NDCG@5": rows["ndcg@5"]})
    both = zip(rows["ndcg@5 lead"], rows["se"], strict=True)
    shown["difference (s.e.)"] = [f"{lead:+.4f} ({se:.4f})" for lead, se in both]
    return Table(shown, digits=4, shown=shown if on_page else None)


def starts_table(how: Run) -> Table:
    """Compute the range of results over several starts, for one split.

    "short" is the best log posterior of all starts minus the mean over the starts.
    """
    ratings = _ratings(how.folder)
    items = pd.Index(np.unique(ratings["movie"]))
    parts = split(ratings, [50], at_least=60, seed=1)
    train, test = (to_rankings(part, items) for part in parts)
    rows = {}
    names = ("Plackett-Luce, beta 0.3",) if how.quick else STARTED
    for name, scale in product(names, RANKER_SCALES):
        compute = partial(starts, train, test, name, scale, n_starts=2 if how.quick else N_STARTS)
        found = how.once(f"starts {name} {scale}", compute)
        best = found["log posterior"].max()
        for by, each_fit in found.groupby("by", sort=False):
            spread = each_fit.drop(columns="by").agg(np.ptp)
            rows[f"{name}, scale {scale}, by {by}"] = {
                "log posterior": spread["log posterior"],
                "short": best - each_fit["log posterior"].mean(),
                "ERR": spread["err"],
                "NDCG@1": spread["ndcg@1"],
                "NDCG@5": spread["ndcg@5"],
            }
    digits = {"log posterior": 1, "short": 1} | dict.fromkeys(("ERR", "NDCG@1", "NDCG@5"), 3)
    return Table(pd.DataFrame(rows).T, digits=digits)


def orders(how: Run) -> Table:
    """Compute the log-probability of the order of unseen movies, and its gain over equal utilities.

    For users with at least 60 ratings who did not choose the scales, by the number of movies.
    """
    sizes = (5, 10) if how.quick else (5, 10, 20, 30)
    found = how.once("orders", partial(figure_table, _ratings(how.folder), sizes))
    cells = {
        name: [
            f"{value:.2f} ({value - equal:.2f})"
            for value, equal in zip(found[name], found[f"{name}: equal utilities"], strict=True)
        ]
        for name in SCORES
    }
    rows = pd.DataFrame(cells, index=[f"{n} movies" for n in found.index]).T
    figures = {"pmop_collaborative.png": plot_figure(found)}
    return Table(rows, corner="likelihood", figures=figures)


def simulated(n_users: int, n_movies: int, n_each: int, *, seed: int = 1) -> br.Rankings:
    """Simulate 1 to 5 stars by each user for `n_each` movies, from five factors with noise."""
    rng = np.random.default_rng(seed)
    # distinct movies: steps of a length that has no divisor in common with their number
    steps = np.flatnonzero(np.gcd(np.arange(n_movies), n_movies) == 1)
    first, step = rng.integers(n_movies, size=n_users), rng.choice(steps, size=n_users)
    item = (first[:, None] + step[:, None] * np.arange(n_each)) % n_movies
    W, H = rng.normal(size=(n_users, 5)), rng.normal(size=(n_movies, 5))
    liking = np.stack([H[row] @ w for row, w in zip(item, W, strict=True)])
    stars = np.clip(np.round(3 + 0.5 * liking + 0.5 * rng.normal(size=item.shape)), 1, TOP)
    given = np.stack([(stars == s).any(axis=1) for s in range(TOP, 0, -1)], axis=1)
    place = np.cumsum(given, axis=1)  # of the stars of each user among those given
    ranks = np.take_along_axis(place, (TOP - stars).astype(int), axis=1)
    return br.Rankings(
        item, ranks, items=range(n_movies), features=stars[..., None], feature_names=["rating"]
    )


def size_table(how: Run) -> Table:
    """Time an epoch of Adam on simulated tables, up to the paper's: 100 factors, beta 0.01."""
    n_movies, n_each = (200, 20) if how.quick else (5_247, 462)
    sizes = (64, 128) if how.quick else (2_165, 6_846, 21_649)
    rows: dict[str, dict[str, float]] = {}
    for n_users in sizes:
        rankings = simulated(n_users, n_movies, n_each)
        model = build(rankings, beta=0.01, n_factors=100)
        begin = time.process_time()
        fit_adam(model, rankings, n_epochs=1)
        rows[f"{n_users:,} users"] = {
            "ratings": n_users * n_each,
            "CPU s": time.process_time() - begin,
            "peak MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }
    table = pd.DataFrame(rows).T
    steps = table[["ratings", "CPU s"]].map(math.log).diff()
    table["exponent"] = steps["CPU s"] / steps["ratings"]
    shown = table.astype(object)
    for name in ("ratings", "peak MB"):
        shown[name] = table[name].map("{:,.0f}".format)
    return Table(shown, digits={"CPU s": 1}, corner="simulated", files=())


# Table 3 of the paper, of MovieLens 10M, with 100 factors
PUBLISHED = {
    "fifty": pd.DataFrame(
        {
            "PMOP, beta 0.01": ["0.684", "0.576", "0.602"],
            "CoFiRank's loss": ["0.598", "0.471", "0.487"],
            "CoFiRank, regression": ["0.683", "0.574", "0.592"],
            "CoFiRank, ordinal": ["0.631", "0.504", "0.528"],
        },
        index=["ERR", "NDCG@1", "NDCG@5"],
    ).T
}

TABLES: dict[str, Callable[[Run], Table]] = {
    "ten": partial(_table, n_train=10),
    "fifty": partial(_table, n_train=50, on_page=True),
    "starts": starts_table,
    "orders": orders,
}


def main(arguments: list[str] | None = None) -> dict[str, Table]:
    """Compute the tables and write them into ``RESULTS.md``."""
    return run(
        "pmop_collaborative", TABLES, on_demand={"size": size_table}, published=PUBLISHED,
        data="ml-100k", files="u.data", arguments=arguments,
    )  # fmt: skip


if __name__ == "__main__":
    main()
