"""Whether machines sharpen the utilities of people, with intervals that are still right.

Many arenas are simulated, and each model is sampled by NUTS for each of them. An interval covers if
it contains the true utility, centred, of a system for people. "Coverage" is the mean over systems
and arenas of 90 % intervals. Its standard error is over arenas, whose systems are not independent.

Run ``python -m models.target.study``. It writes its table into ``RESULTS.md``.
"""

from functools import partial

import numpy as np
import pandas as pd

from models.shared.results import Run, Table, run
from models.shared.sampler import Sampler
from models.target.model import MODELS, PEOPLE, build, simulate, votes_of

BIASES = (0.5, 0.0)
ARENAS, REDUCED = 80, 2
SAMPLING = {"draws": 500, "tune": 500, "chains": 2, "target_accept": 0.9}
LEVEL = 0.9


def results_of(bias_sd: float, model: str, n: int, seed: int) -> pd.DataFrame:
    """Fit all arenas, and return coverage, width and squared error by arena."""
    rows, sampler = [], None
    for k in range(n):
        arena = simulate(1000 * seed + k, bias_sd)
        votes = votes_of(arena, model)
        if sampler is None:
            sampler = Sampler(build(votes, model), ["utility"])
        found = sampler.sample(votes, seed, **SAMPLING, adaptation="low_rank")
        draws = found["utility"].to_numpy().reshape(-1, len(arena.utility))
        draws -= draws.mean(axis=1, keepdims=True)
        low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
        rows.append(
            {
                "coverage": ((low <= arena.utility) & (arena.utility <= high)).mean(),
                "width": (high - low).mean(),
                "squared": ((draws.mean(axis=0) - arena.utility) ** 2).mean(),
            }
        )
    return pd.DataFrame(rows)


def coverage_table(how: Run) -> Table:
    """Compare the models at each size of the bias."""
    rows = {}
    n = REDUCED if how.quick else ARENAS
    for bias_sd in BIASES[:1] if how.quick else BIASES:
        alone = None
        for model in MODELS:
            compute = partial(results_of, bias_sd, model, n, how.seed)
            found = how.once(f"{bias_sd} {model}", compute)
            alone = found if model == PEOPLE else alone
            assert alone is not None  # for the type checker
            rows[f"{model}, bias {bias_sd:g}"] = {
                "arenas": n,
                "coverage": found["coverage"].mean(),
                "standard error": found["coverage"].std(ddof=1) / np.sqrt(n),
                "width": found["width"].mean(),
                "width / alone": (found["width"] / alone["width"]).mean(),
                "RMSE / alone": np.sqrt(found["squared"].mean() / alone["squared"].mean()),
            }
    digits = {"arenas": 0, "coverage": 3, "standard error": 3}
    return Table(
        pd.DataFrame.from_dict(rows, orient="index"), digits=digits, corner="model", files=()
    )


TABLES = {"coverage": coverage_table}


def main(arguments: list[str] | None = None) -> dict[str, Table]:
    """Compute the table and write it into ``RESULTS.md``."""
    return run("target", TABLES, arguments=arguments)


if __name__ == "__main__":
    main()
