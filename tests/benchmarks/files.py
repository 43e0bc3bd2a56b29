"""Made-up tables of any length, written to Parquet a million rows at a time, and read to a mode.

Labels are text, in no order, as in a log. What is drawn depends on the number of the row alone,
so that a table is never in memory as a whole.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

AT_A_TIME = 1_000_000
N_ITEMS, N_EACH = 20_000, 50  # items, and how many of them each ranker rates
N_PLAYERS, N_JUDGES = 10_000, 100

Columns = dict[str, Any]


def _names(what: str, number: np.ndarray) -> pa.Array:
    """Write numbers as labels."""
    distinct, code = np.unique(number, return_inverse=True)
    names = pa.array([f"{what} {k:08d}" for k in distinct])
    return names.take(pa.array(code))


def _own_items(who: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Return the k-th item of some people, who have each of theirs once."""
    return (who * 7919 + (who % 390 + 1) * k) % N_ITEMS


def ratings(row: np.ndarray, rng: np.random.Generator) -> Columns:
    """Half stars, one to ten of them."""
    who, k = np.divmod(row, N_EACH)
    item = _own_items(who, k)
    worth = np.random.default_rng(1).normal(size=N_ITEMS)
    stars = np.clip(np.rint(6 + 2 * (worth[item] + rng.normal(size=len(row)))), 1, 10) / 2
    return {"user": _names("user", who), "film": _names("film", item), "stars": stars}


def clicks(row: np.ndarray, rng: np.random.Generator) -> Columns:
    who, k = np.divmod(row, N_EACH)
    return {"user": _names("user", who), "page": _names("page", _own_items(who, k))}


def counts(row: np.ndarray, rng: np.random.Generator) -> Columns:
    """Preferences of each ranker among items of its own."""
    who, k = np.divmod(row, N_EACH)
    one, other = _own_items(who, k), _own_items(who, k + 1)
    worth = np.random.default_rng(1).normal(size=N_ITEMS)
    turned = rng.random(len(row)) > 1 / (1 + np.exp(worth[other] - worth[one]))
    better, worse = np.where(turned, other, one), np.where(turned, one, other)
    return {
        "user": _names("user", who),
        "better": _names("film", better),
        "worse": _names("film", worse),
        "n": rng.integers(1, 5, size=len(row)),
    }


def matches(row: np.ndarray, rng: np.random.Generator) -> Columns:
    """Results with ties between players, each watched by one of the judges."""
    one = rng.integers(N_PLAYERS, size=len(row))
    other = (one + rng.integers(1, N_PLAYERS, size=len(row))) % N_PLAYERS
    worth = np.random.default_rng(1).normal(size=N_PLAYERS)
    lead = worth[one] - worth[other] + rng.logistic(size=len(row))
    result = np.where(np.abs(lead) < 0.3, 2, np.where(lead > 0, 0, 1))
    return {
        "white": _names("player", one),
        "black": _names("player", other),
        "result": pa.array(["first", "second", "tie"]).take(pa.array(result)),
        "judge": _names("judge", rng.integers(N_JUDGES, size=len(row))),
    }


KINDS: dict[str, Callable[[np.ndarray, np.random.Generator], Columns]] = {
    "ratings": ratings, "counts": counts, "matches": matches, "clicks": clicks,
}  # fmt: skip


def write(kind: str, n: int, path: Path) -> None:
    """Write a table of `n` rows."""
    writer = None
    for part in _in_disorder(n):
        table = pa.table(KINDS[kind](part, np.random.default_rng(int(part[0]))))
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def _in_disorder(n: int) -> Iterator[np.ndarray]:
    """Yield the numbers up to `n`, far from each other those that were near."""
    step = next(s for s in range(int(0.618 * n), n) if np.gcd(s, n) == 1)
    for start in range(0, n, AT_A_TIME):
        yield (np.arange(start, min(start + AT_A_TIME, n)) * step) % n


# From a file to a mode


def read(kind: str, path: str) -> Any:
    """Read a table by the constructor for it."""
    import bayesrank as br

    match kind:
        case "ratings":
            columns = {"ranker": "user", "item": "film", "rating": "stars"}
            return br.Rankings.from_ratings(path, **columns)
        case "counts":
            columns = {"ranker": "user", "first": "better", "second": "worse", "count": "n"}
            return br.PairCounts.from_frame(path, **columns)
        case "matches":
            columns = {"first": "white", "second": "black", "outcome": "result", "judge": "judge"}
            return br.Pairs.from_frame(path, **columns)
    return br.Interactions.from_frame(path, user="user", item="page")


def model_of(kind: str, data: Any) -> Any:
    """Build the model of what was read."""
    import pymc as pm

    import bayesrank as br

    if kind == "counts":  # of a ranker each, they would be a table of rankers by items
        data = data.pooled()
    with pm.Model(coords=data.coords) as model:
        utility = pm.Normal("utility", dims="item")
        if kind == "ratings":
            br.PlackettLuce("y", utility, observed=data)
        elif kind == "counts":
            br.MPM("y", utility, observed=data)
        else:
            adherence = pm.LogNormal("adherence", 0, 0.5, dims="judge")
            br.Davidson("y", utility, nu=pm.LogNormal("nu"), adherence=adherence, observed=data)
    return model
