r"""Daily updates compared with one fit of all days, and with the exact posterior.

Story: a normal distribution replaces the posterior every night, and the errors of these
replacements may add up. `br.fit_dynamic` uses all days at once and has the same prior. For two
items, a grid gives the exact posterior.

Run ``python -m models.online.study``. It writes the table into ``RESULTS.md``.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import logsumexp

import bayesrank as br
from models.online.model import follow, simulate, start
from models.shared.results import Run, Table, run

Floats = NDArray[np.float64]

# items, days, matches per day, and the drift
SEASONS = (
    (8, 10, 100, 0.05), (8, 10, 100, 0.2), (8, 60, 40, 0.05), (8, 60, 40, 0.2), (8, 200, 2, 0.05),
    (2, 20, 8, 0.05), (2, 20, 8, 0.2),
)  # fmt: skip
QUICK = ((3, 3, 10, 0.2), (2, 3, 8, 0.2))
HEADS = ("daily updates and one fit", "daily updates and exact", "one fit and exact")


def filtered(days: Sequence[br.Pairs], drift: float) -> tuple[Floats, Floats]:
    """Compute means and standard deviations of the last day's utilities, by daily updates.

    Both (n_items,) refer to utilities minus their mean, in the order of the names.
    """
    names = sorted({str(item) for day in days for item in day.items})
    *_, state = follow(days, start(names), drift=drift)
    contrast = np.eye(len(names)) - 1 / len(names)
    spread = np.diag(contrast @ state.covariance[:-2, :-2] @ contrast)
    return contrast @ state.mean[:-2], np.sqrt(spread)


def smoothed(days: Sequence[br.Pairs], drift: float) -> Floats:
    """Compute the same means by `br.fit_dynamic`."""
    table = pd.concat([day.to_frame().assign(day=float(k)) for k, day in enumerate(days)])
    pairs = br.Pairs.from_frame(
        table, first="first", second="second", outcome="outcome", count="count", by="day"
    )
    fit = br.fit_dynamic(
        pairs, time="day", likelihood="davidson", hyperparameters={"scale": 1.0, "drift": drift},
        random_seed=1,
    )  # fmt: skip
    names = sorted(map(str, pairs.items))
    others = names[1:]
    lead = fit.predict(others, [names[0]] * len(others))["lead"].to_numpy()
    utility = np.append(0.0, lead - float(fit.normal.x[-2]))
    return utility - utility.mean()


def exact_lead(days: Sequence[br.Pairs], drift: float) -> tuple[float, float]:
    """Compute mean and standard deviation of the lead of item 0 on the last day, on a grid."""
    lead, order, log_nu = np.ogrid[-8:8:201j, -2:2:17j, -3:3:19j]
    p = np.exp(-(lead**2) / 4 - order**2 / 0.5 - log_nu**2 / 2)
    step = np.exp(-((lead[:, 0] - lead[:, 0].T) ** 2) / (4 * drift**2))
    step /= step.sum(axis=0)
    for number, day in enumerate(days):
        p = np.tensordot(step, p, 1) if number else p
        log_p = np.log(p)
        for first, counts in zip(day.items[day.first], day.counts, strict=True):
            z = lead * (1 if first == "item 0" else -1) + order
            weights = np.broadcast_arrays(z / 2, -z / 2, log_nu)
            log_p = log_p + np.tensordot(counts, weights - logsumexp(weights, axis=0), 1)
        p = np.exp(log_p - log_p.max())
        p /= p.sum()
    mean = float((p * lead).sum())
    return mean, float(np.sqrt((p * lead**2).sum() - mean**2))


def agreement(how: Run) -> Table:
    """Compare the means of the last day, in standard deviations."""

    def row(n_items: int, n_days: int, n_matches: int, drift: float) -> dict[str, Any]:
        days, _ = simulate(n_items, n_days, n_matches, drift=drift, seed=how.seed)
        daily, spread = filtered(days, drift)
        at_once = smoothed(days, drift)
        found: dict[str, Any] = dict.fromkeys(HEADS, "")
        found[HEADS[0]] = float(np.abs((daily - at_once) / spread).max())
        if n_items == 2:
            mean, sd = exact_lead(days, drift)
            for head, means in zip(HEADS[1:], (daily, at_once), strict=True):
                found[head] = float(abs(means[0] - means[1] - mean) / sd)
        return found

    rows = {}
    for season in QUICK if how.quick else SEASONS:
        n_items, n_days, n_matches, drift = season
        name = f"{n_items} items, {n_days} days of {n_matches} matches, drift {drift:g}"
        rows[name] = how.once(name, partial(row, *season))
    return Table(pd.DataFrame(rows).T, digits=dict.fromkeys(HEADS, 2), corner="season")


TABLES: dict[str, Callable[[Run], Table]] = {"agreement": agreement}


def main(arguments: list[str] | None = None) -> dict[str, Table]:
    """Compute the table and write it into ``RESULTS.md``."""
    return run("online", TABLES, arguments=arguments)


if __name__ == "__main__":
    main()
