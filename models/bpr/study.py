"""The figures in ``RESULTS.md``: MovieLens 100K, ua split, every rating an interaction.

``python -m models.bpr.study FOLDER``, with the folder of ``ua.base`` and ``ua.test``: about five
minutes. Penalties and scales were chosen, by NDCG@10 or by AUC, on five ratings of each user held
out of ``ua.base``.
"""

import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit

import bayesrank as br
from bayesrank.inference import NeighbourPenalties, Penalties, learn_bpr, learn_bpr_neighbours
from bayesrank.results import recommendation_metrics
from models.bpr.model import build, fit_advi, fit_map

N_FACTORS = 64
MF = {  # by what they were chosen
    "BPR-MF, NDCG": Penalties(user=0.01, positive=0.01, negative=0.01, bias=0.003),
    "BPR-MF, AUC": Penalties(user=0.015, positive=0.015, negative=0.015, bias=0.01),
}
KNN = NeighbourPenalties(positive=0.01, negative=0.01, bias=0.001)
N_PAIRS = 200  # of a held-out item and one that the user has not, for each user


def load(folder: Path) -> tuple[br.Interactions, br.Interactions]:
    """Read the interactions to learn from and those to find, on the same axes."""
    columns = ["user", "movie", "rating", "time"]
    base, test = (
        pd.read_csv(folder / name, sep="\t", names=columns) for name in ("ua.base", "ua.test")
    )
    both = pd.concat([base, test])
    users, items = np.unique(both["user"]), np.unique(both["movie"])
    one, other = (
        br.Interactions.from_frame(table, user="user", item="movie", users=users, items=items)
        for table in (base, test)
    )
    return one, other


def methods(have: br.Interactions) -> dict[str, Callable[[int], NDArray[Any]]]:
    """Give the methods by name: from a seed to the utilities of all items to all users."""
    popularity = np.bincount(have.item, minlength=have.n_items).astype(float)

    def neighbours(seed: int) -> NDArray[Any]:
        fit = learn_bpr_neighbours(
            have, n_epochs=60, learning_rate=0.003, last_rate=0.0, penalties=KNN, seed=seed
        )
        return fit.utility(have.to_matrix())

    def factors(seed: int, penalties: Penalties) -> NDArray[Any]:
        fit = learn_bpr(have, n_factors=N_FACTORS, last_rate=0.0, penalties=penalties, seed=seed)
        return fit.utility()

    return {
        "popularity": lambda seed: np.tile(popularity, (have.n_users, 1)),
        **{name: partial(factors, penalties=penalties) for name, penalties in MF.items()},
        "BPR-kNN": neighbours,
        "MAP": lambda seed: utilities(fit_map(have, n_factors=N_FACTORS, seed=seed))[0],
    }


def utilities(idata: Any) -> NDArray[Any]:
    """Give utilities of all items to all users in every draw, (n_draws, n_users, n_items)."""
    parts = [
        idata["posterior"][name].values for name in ("user_factor", "item_factor", "item_bias")
    ]
    W, H, b = (x.reshape(-1, *x.shape[2:]).astype(np.float32) for x in parts)
    return W @ H.transpose(0, 2, 1) + b[:, None]


def held_out_pairs(
    have: br.Interactions, test: br.Interactions, *, seed: int = 1
) -> NDArray[np.int32]:
    """Draw pairs of a held-out item and one the user has neither, (n, 3)."""
    drawn = test.sample_triples(2 * N_PAIRS * test.n_users, seed=seed)
    return drawn[~have.to_matrix()[drawn[:, 0], drawn[:, 2]]][: N_PAIRS * test.n_users]


def log_score(x: NDArray[Any], pairs: NDArray[np.int32]) -> float:
    """Mean log probability of held-out preferences, averaged over draws (n_draws, ...)."""
    u, i, j = pairs.T
    return float(np.log(expit(x[:, u, i] - x[:, u, j]).mean(axis=0)).mean())


def main(folder: Path) -> None:
    """Print the tables."""
    have, test = load(folder)
    known, wanted = have.to_matrix(), test.to_matrix()
    pairs = held_out_pairs(have, test)

    def row(name: str, scores: NDArray[Any], seconds: float, pair_score: float) -> None:
        means = recommendation_metrics(scores.astype(float), wanted, known, k=10).means
        print(
            f"{name:15} AUC {means['auc']:.4f}  NDCG@10 {means['ndcg@10']:.4f}  "
            f"log score {pair_score:.4f}  {seconds:.1f} CPU s",
            flush=True,
        )

    for name, method in methods(have).items():
        for seed in (1, 2, 3):
            begin = time.process_time()
            x = method(seed)
            row(f"{name} {seed}", x, time.process_time() - begin, log_score(x[None], pairs))

    begin = time.process_time()
    model = build(have, n_factors=N_FACTORS, batch_size=5000)
    idata = fit_advi(model, fit_map(have, n_factors=N_FACTORS), n_steps=8000, draws=40)
    x = utilities(idata)
    row("ADVI mean", x.mean(axis=0), time.process_time() - begin, log_score(x, pairs))
    u, i, j = pairs.T
    for label, draws in (("MAP", utilities(fit_map(have, n_factors=N_FACTORS))), ("ADVI", x)):
        p = expit(draws[:, u, i] - draws[:, u, j]).mean(axis=0)
        both = np.concatenate([p, 1 - p])
        right = np.repeat([1.0, 0.0], len(p))
        cell = np.digitize(both, [0.1, 0.25, 0.5, 0.75, 0.9])
        shown = [f"{both[cell == c].mean():.2f} {right[cell == c].mean():.2f}" for c in range(3, 6)]
        print(f"{label} said, and was: {'; '.join(shown)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
