"""Whether intervals are right if a judge votes on the same two answers in both orders.

Many tables are simulated, and both models are sampled by NUTS for each of them. An interval covers
if it contains the true difference of two systems. "Coverage" is the mean over all pairs of systems
and all tables of 90 % intervals, and its standard error is over tables.

The utilities of the model without deviations are those of the mean over prompts. Its intervals are
therefore compared with the true utilities times the factor that fits them best over all tables.

Run ``python -m models.swaps.study``. It writes its table into ``RESULTS.md``.
"""

from functools import partial

import numpy as np
import pandas as pd

from models.shared.results import Run, Table, run
from models.shared.sampler import Sampler
from models.swaps.model import JOINED, MODELS, build, simulate

SPREADS = (2.0, 0.0)
TABLES_OF, REDUCED = 80, 2
SAMPLING = {"draws": 500, "tune": 500, "chains": 2}
LEVEL = 0.9


def results_of(spread: float, model: str, n: int, seed: int) -> pd.DataFrame:
    """Fit all tables, and return the true differences with their intervals, one per row."""
    rows, sampler = [], None
    for k in range(n):
        judged = simulate(1000 * seed + k, spread)
        if sampler is None:
            sampler = Sampler(build(judged.votes, model), ["utility"])
        draws = sampler.sample(judged.votes, seed, **SAMPLING)["utility"].to_numpy()
        one, other = np.triu_indices(len(judged.utility), 1)
        lead = draws[..., one] - draws[..., other]
        tail = (1 - LEVEL) / 2
        low, high = np.quantile(lead, [tail, 1 - tail], axis=(0, 1))
        true = judged.utility[one] - judged.utility[other]
        values = {"table": k, "true": true, "mean": lead.mean((0, 1)), "low": low, "high": high}
        rows.append(pd.DataFrame(values))
    return pd.concat(rows)


def coverage_table(how: Run) -> Table:
    """Compare the models at each size of the deviations."""
    rows = {}
    n = REDUCED if how.quick else TABLES_OF
    for spread in SPREADS[:1] if how.quick else SPREADS:
        for model in MODELS:
            compute = partial(results_of, spread, model, n, how.seed)
            found = how.once(f"{spread} {model}", compute)
            factor = 1.0
            if model != JOINED:
                factor = (found["true"] @ found["mean"]) / (found["true"] @ found["true"])
            true = factor * found["true"]
            covered = (found["low"] <= true) & (true <= found["high"])
            by_table = covered.groupby(found["table"]).mean()
            width = (found["high"] - found["low"]).mean() / factor
            rows[f"{model}, spread {spread:g}"] = {
                "tables": n,
                "factor": factor,
                "coverage": by_table.mean(),
                "standard error": by_table.std(ddof=1) / np.sqrt(n),
                "width": width,
            }
    digits = {"tables": 0, "coverage": 3, "standard error": 3}
    return Table(
        pd.DataFrame.from_dict(rows, orient="index"), digits=digits, corner="votes", files=()
    )


TABLES = {"swaps": coverage_table}


def main(arguments: list[str] | None = None) -> dict[str, Table]:
    """Compute the table and write it into ``RESULTS.md``."""
    return run("swaps", TABLES, arguments=arguments)


if __name__ == "__main__":
    main()
